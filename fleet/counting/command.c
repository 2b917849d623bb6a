#include "fleet/counting/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t command_id;

static void pass_on(int signal_number)
{
	if (command_id > 0)
		kill((pid_t)command_id, signal_number);
}

static void catch(int signal_number, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };

	sigaction(signal_number, &action, NULL);
}

static _Noreturn void become(char *const *words, int gate, pid_t parent)
{
	char go;

	catch(SIGINT, SIG_DFL);
	catch(SIGTERM, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || read(gate, &go, 1) != 1)
		_exit(127);
	execvp(words[0], words);
	fprintf(stderr, "cannot execute '%s': %s\n", words[0], strerror(errno));
	_exit(127);
}

bool command_prepare(char *const *words, struct command *out)
{
	pid_t parent = getpid();
	int gate[2];

	if (pipe2(gate, O_CLOEXEC))
		return false;
	catch(SIGINT, pass_on);
	catch(SIGTERM, pass_on);
	out->id = fork();
	if (out->id == 0) {
		close(gate[1]);
		become(words, gate[0], parent);
	}
	command_id = out->id;
	close(gate[0]);
	out->gate = gate[1];
	return out->id > 0;
}

static int wait_for(pid_t id)
{
	int status = 0;

	while (waitpid(id, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

int command_run(struct command *command)
{
	if (write(command->gate, "g", 1) != 1)
		kill(command->id, SIGKILL);
	close(command->gate);
	return wait_for(command->id);
}

void command_forget(struct command *command)
{
	close(command->gate);
	wait_for(command->id);
}

_Noreturn void command_end_like(int status)
{
	struct rlimit none = { 0, 0 };

	if (WIFSIGNALED(status)) {
		setrlimit(RLIMIT_CORE, &none);
		catch(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

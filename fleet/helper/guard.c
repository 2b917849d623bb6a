#include "fleet/helper/descendants.h"
#include "fleet/helper/guard.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int watch(pid_t worker, const sigset_t *signals)
{
	for (;;) {
		int signal = sigwaitinfo(signals, NULL), status;
		size_t met;
		pid_t gone;

		if (signal > 0 && signal != SIGCHLD)
			kill(worker, SIGTERM);
		do
			gone = waitpid(worker, &status, WNOHANG);
		while (gone < 0 && errno == EINTR);
		if (gone == 0)
			continue;
		descendants_end(&met);
		return gone > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	}
}

int guard_run(int (*work)(void *argument), void *argument)
{
	pid_t guard = getpid(), worker;
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGQUIT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	worker = fork();
	if (worker < 0)
		return -1;
	if (worker > 0)
		return watch(worker, &signals);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != guard)
		_exit(1);
	_exit(work(argument));
}

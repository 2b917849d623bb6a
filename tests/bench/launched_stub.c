/* A launcher of simulated hosts with little overhead: launched_stub FATE SECONDS HOST COMMAND [ARG]... HOST is a directory. The command
 * runs in a mount namespace where HOST/id is /etc/machine-id and HOST/shm is /dev/shm. Programs under test write HOST/shm/begun when
 * they work; a FATE that kills the host waits for that. If a host dies, all its processes die. If only the launcher is lost, its
 * processes keep the output stream open. HOME and PATH are the host's. Needs root. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char host[3000];

static void need(int failed, const char *what)
{
	if (!failed)
		return;
	fprintf(stderr, "launched_stub: %s: %s\n", what, strerror(errno));
	exit(98);
}

static void pass(double seconds)
{
	struct timespec left = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

static const char *in_host(const char *name)
{
	static char path[4000];

	snprintf(path, sizeof(path), "%s/%s", host, name);
	return path;
}

static int status_of(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Runs the command in the host's namespaces; does not return. `whole`: in a new PID namespace, too, whose processes end with this one. */
static void enter(char **words, int whole)
{
	const char *name = strrchr(host, '/') ? strrchr(host, '/') + 1 : host;

	need(unshare(CLONE_NEWNS | CLONE_NEWUTS | (whole ? CLONE_NEWPID : 0)), "unshare");
	need(sethostname(name, strlen(name)), "a name"); /* otherwise, one host would remove files of another one */
	need(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "mounts of its own");
	need(mount(in_host("shm"), "/dev/shm", NULL, MS_BIND, NULL), "/dev/shm");
	need(mount(in_host("id"), "/etc/machine-id", NULL, MS_BIND, NULL), "/etc/machine-id");
	if (whole) {
		pid_t first = fork();

		need(first < 0, "fork");
		if (first)
			exit(status_of(first));
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		need(mount("proc", "/proc", "proc", 0, NULL), "/proc");
	}
	execvp(words[0], words);
	need(1, words[0]);
}

/* Reads the text of HOST/shm/begun into text[]; "" if there is none. */
static void read_begun(char text[80])
{
	int fd = open(in_host("shm/begun"), O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, 79);

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

static void die_at_work(char **words, int whole)
{
	char before[80], now[80];
	int status;
	pid_t pid;

	read_begun(before);
	pid = fork();
	need(pid < 0, "fork");
	if (!pid)
		enter(words, whole);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		read_begun(now);
		if (strcmp(before, now) != 0) {
			close(open(in_host("shm/died"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
			kill(pid, SIGKILL);
			break;
		}
		pass(.05);
	}
	exit(0);
}

int main(int argc, char **argv)
{
	const char *fate = argv[1];

	if (argc < 5)
		return 99;
	snprintf(host, sizeof(host), "%s", argv[3]);
	if (strcmp(fate, "noise") == 0)
		need(write(1, "Welcome\n", 8) != 8, "standard output");
	pass(strcmp(fate, "hangs") == 0 ? 600 : atof(argv[2]));
	if (strcmp(fate, "hangs") == 0)
		return 0;
	if (strcmp(fate, "dies_before") == 0) {
		fputs("lost contact\n", stderr);
		return 0;
	}
	if (strcmp(fate, "dies_within") == 0 || strcmp(fate, "loses_launcher") == 0 ||
	    (strcmp(fate, "dies_once") == 0 && access(in_host("shm/died"), F_OK) != 0))
		die_at_work(argv + 4, strcmp(fate, "loses_launcher") != 0);
	if (strcmp(fate, "wrong_status") == 0) {
		pid_t pid = fork();

		need(pid < 0, "fork");
		if (!pid)
			enter(argv + 4, 0);
		status_of(pid);
		return 9;
	}
	enter(argv + 4, 0);
}

/* Programs on this machine, each in a process group of its own. */
#include "fleet/engine/engine_internal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define REAP_MS 2000

/* Default signals and an empty mask, whatever this program has set. */
static int describe(posix_spawnattr_t *attributes)
{
	sigset_t all, none;
	int error;

	sigfillset(&all);
	sigemptyset(&none);
	error = posix_spawnattr_setsigdefault(attributes, &all);
	if (!error)
		error = posix_spawnattr_setsigmask(attributes, &none);
	if (!error)
		error = posix_spawnattr_setpgroup(attributes, 0);
	if (!error)
		error = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	return error;
}

int engine_child_start(const char *path, const char *const *argv, const int *fds, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	error = posix_spawnattr_init(&attributes);
	if (error) {
		posix_spawn_file_actions_destroy(&actions);
		return error;
	}
	error = describe(&attributes);
	for (int i = 0; !error && i < 3; i++)
		error = posix_spawn_file_actions_adddup2(&actions, fds[i], i);
	if (!error) /* the interface is older than const: nothing is written to argv */
		error = posix_spawnp(pid, path, &actions, &attributes, (char *const *)(uintptr_t)argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

void engine_child_kill(pid_t pid)
{
	if (pid > 0)
		kill(-pid, SIGKILL);
}

bool engine_child_reap(pid_t pid, int *status)
{
	struct pollfd ended = { .fd = pidfd_open(pid, 0), .events = POLLIN };
	bool reaped;

	/* A process that the kernel holds in a system call dies only after that: it is not waited for. */
	if (ended.fd >= 0) {
		while (poll(&ended, 1, REAP_MS) < 0 && errno == EINTR)
			;
		close(ended.fd);
	}
	reaped = waitpid(pid, status, WNOHANG) == pid;
	return reaped;
}

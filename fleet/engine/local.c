/* This machine as a host: /bin/sh -c with three pipes; and programs of our own beside it. */
#include "fleet/engine/link.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_BYTES   16384
#define READS_A_TURN 64 /* then the other stream */
#define REAP_MS	     2000

/* ---- programs ---- */

/* Default signals and an empty mask, whatever this program has set. */
static int describe_child(posix_spawnattr_t *attributes)
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

int child_start(const char *path, const char *const *argv, const int *fds, pid_t *pid)
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
	error = describe_child(&attributes);
	for (int i = 0; !error && i < 3; i++)
		error = posix_spawn_file_actions_adddup2(&actions, fds[i], i);
	if (!error) /* the interface is older than const: nothing is written to argv */
		error = posix_spawnp(pid, path, &actions, &attributes, (char *const *)(uintptr_t)argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

void child_wait(pid_t pid, int ms)
{
	struct pollfd ended = { .fd = pidfd_open(pid, 0), .events = POLLIN };

	if (ended.fd >= 0) {
		while (poll(&ended, 1, ms) < 0 && errno == EINTR)
			;
		close(ended.fd);
	}
}

void child_end(pid_t pid, int number)
{
	int status;

	kill(-pid, number);
	/* A process that the kernel holds in a system call dies only after that: it is not waited for. */
	child_wait(pid, REAP_MS);
	waitpid(pid, &status, WNOHANG);
}

/* ---- the transport ---- */

void local_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static bool local_open(struct link *link)
{
	link->local = (struct local_link){ .in = -1, .out = -1, .err = -1, .child = -1, .parked_in = -1 };
	return true;
}

/* The ends that stay here do not block; those of the command do. */
static int make_pipes(int pipes[3][2])
{
	for (int i = 0; i < 3; i++) {
		if (pipe2(pipes[i], O_CLOEXEC) || fcntl(pipes[i][i == 0], F_SETFL, O_NONBLOCK))
			return errno;
	}
	return 0;
}

int local_begin(struct local_link *local, const char *const *argv)
{
	int pipes[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	int error = make_pipes(pipes);

	local->exited = false;
	if (!error)
		error = child_start(argv[0], argv, (const int[]){ pipes[0][0], pipes[1][1], pipes[2][1] }, &local->pid);
	local->in = pipes[0][1];
	local->out = pipes[1][0];
	local->err = pipes[2][0];
	local_close_fd(&pipes[0][0]);
	local_close_fd(&pipes[1][1]);
	local_close_fd(&pipes[2][1]);
	if (error) {
		local->pid = 0;
		return error;
	}
	local->child = pidfd_open(local->pid, 0);
	return local->child >= 0 ? 0 : errno;
}

static bool local_start(struct link *link, const char *text)
{
	const char *const argv[] = { "/bin/sh", "-c", text, NULL };
	int error = local_begin(&link->local, argv);

	return !error || link_fail(link, FLEET_FAILED, "cannot start a process on this machine: %s", strerror(error));
}

static size_t local_write(struct link *link, const char *bytes, size_t n)
{
	ssize_t written = link->local.in < 0 ? 0 : write(link->local.in, bytes, n);

	if (written < 0 && errno != EAGAIN && errno != EINTR) /* the command does not read any more */
		local_close_fd(&link->local.in);
	return written < 0 ? 0 : (size_t)written;
}

static void local_end_input(struct link *link)
{
	local_close_fd(&link->local.in);
}

static void drain(struct link *link, int *fd, bool is_err)
{
	char bytes[READ_BYTES];

	for (int i = 0; i < READS_A_TURN && *fd >= 0 && !link->broken; i++) {
		ssize_t n = read(*fd, bytes, sizeof(bytes));

		if (n > 0 && is_err && link->launch.on)
			launch_said(link, bytes, (size_t)n);
		else if (n > 0)
			link_output(link, is_err, bytes, (size_t)n);
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			local_close_fd(fd);
		else if (errno == EAGAIN)
			return;
	}
}

/* The process stays a zombie until its group is killed: its number is not given to another one meanwhile. */
static void look_at_child(struct link *link)
{
	struct link_command *command = link->command;
	siginfo_t info = { 0 };

	if (link->local.exited || waitid(P_PID, (id_t)link->local.pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == 0)
		return;
	link->local.exited = true;
	local_close_fd(&link->local.child);
	if (info.si_code == CLD_EXITED)
		command->exit_status = info.si_status;
	else
		link_name_signal(info.si_status, command->signal);
}

static bool local_read(struct link *link)
{
	drain(link, &link->local.out, false);
	drain(link, &link->local.err, true);
	look_at_child(link);
	link->command->ended = link->local.exited && link->local.out < 0 && link->local.err < 0;
	return !link->broken;
}

static size_t local_watch(struct link *link, bool to_write, struct pollfd *fds)
{
	const struct local_link *local = &link->local;

	/* Held open without anything to say, standard input would be ready for ever once its other end is closed. */
	fds[0] = (struct pollfd){ .fd = to_write ? local->in : -1, .events = POLLOUT };
	fds[1] = (struct pollfd){ .fd = local->out, .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = local->err, .events = POLLIN };
	fds[3] = (struct pollfd){ .fd = local->child, .events = POLLIN };
	return 4;
}

static void local_finish(struct link *link, bool stop)
{
	struct local_link *local = &link->local;
	/* A program that ends with its input gets to end what it has started. */
	bool gently = stop && link->command->hold_input && !local->exited;

	local_close_fd(&local->in);
	local_close_fd(&local->out);
	local_close_fd(&local->err);
	local_close_fd(&local->child);
	if (local->pid > 0)
		child_end(local->pid, gently ? SIGTERM : SIGKILL);
	local->pid = 0;
}

static bool local_beside(struct link *link, bool *can)
{
	(void)link;
	return *can = true;
}

static void local_park(struct link *link)
{
	struct local_link *local = &link->local;

	ASSAY_BUG_IF(local->parked);
	local->parked = local->pid;
	local->parked_in = local->in;
	local->pid = 0;
	local->in = -1;
	local_close_fd(&local->out);
	local_close_fd(&local->err);
	local_close_fd(&local->child);
}

/* It ends with its input. */
static void local_close(struct link *link)
{
	if (link->local.parked <= 0)
		return;
	local_close_fd(&link->local.parked_in);
	child_end(link->local.parked, 0);
	link->local.parked = 0;
}

const struct transport local_transport = { local_open,	local_start,  local_write,  local_end_input, local_read,
					   local_watch, local_finish, local_beside, local_park,	     local_close };

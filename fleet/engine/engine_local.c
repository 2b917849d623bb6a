/* Commands on this machine: /bin/sh -c with three pipes, in the same loop as the hosts behind ssh. */
#include "fleet/engine/engine_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_BYTES  65536
#define READS_A_TURN 16 /* then the others */

static void close_watch(struct engine_watch *watch)
{
	int fd = watch->fd;

	if (fd < 0)
		return;
	engine_watch_set(watch, -1, 0);
	close(fd);
}

static void close_both(int *ends)
{
	for (int i = 0; i < 2; i++) {
		if (ends[i] >= 0)
			close(ends[i]);
		ends[i] = -1;
	}
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

/* Hands the ends and the process to the loop. */
static bool watch_all(struct conn *conn, int pipes[3][2])
{
	struct conn_local *local = &conn->local;
	struct engine_watch *watches[] = { &local->in, &local->out, &local->err };
	int child = pidfd_open(local->pid, 0);

	if (child < 0) {
		conn_settle(conn, FLEET_FAILED, "cannot watch a process of this machine: %s", strerror(errno));
		return false;
	}
	if (!engine_watch_set(&local->child, child, EPOLLIN)) {
		close(child);
		return false;
	}
	for (int i = 0; i < 3; i++) {
		if (!engine_watch_set(watches[i], pipes[i][i == 0], i == 0 ? EPOLLOUT : EPOLLIN))
			return false;
		pipes[i][i == 0] = -1; /* the watch's now */
	}
	return true;
}

void engine_local_start(struct conn *conn)
{
	const char *const argv[] = { "sh", "-c", conn->command.command, NULL };
	int pipes[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	struct conn_local *local = &conn->local;
	int error = make_pipes(pipes);

	local->exited = false;
	if (!error)
		error = engine_child_start("/bin/sh", argv, (const int[]){ pipes[0][0], pipes[1][1], pipes[2][1] }, &local->pid);
	if (error) {
		local->pid = 0;
		conn_settle(conn, FLEET_FAILED, "cannot start a process on this machine: %s", strerror(error));
	} else {
		conn->state = CONN_RUNNING;
		watch_all(conn, pipes);
	}
	for (int i = 0; i < 3; i++)
		close_both(pipes[i]);
}

static void feed(struct conn *conn)
{
	struct engine_watch *in = &conn->local.in;

	while (in->fd >= 0 && conn->fed < conn->command.input_bytes) {
		ssize_t n = write(in->fd, conn->command.input + conn->fed, conn->command.input_bytes - conn->fed);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) { /* nobody reads any more */
			close_watch(in);
		} else {
			conn->fed += (size_t)n;
			conn->passed_ms = engine_now_ms();
		}
	}
	if (conn->command.hold_input)
		engine_watch_set(in, in->fd, 0); /* open, but epoll would report its other end's closing for ever */
	else
		close_watch(in);
}

static void drain(struct conn *conn, struct engine_watch *watch, bool is_err)
{
	char bytes[READ_BYTES];

	for (int i = 0; i < READS_A_TURN && watch->fd >= 0 && conn->state == CONN_RUNNING; i++) {
		ssize_t n = read(watch->fd, bytes, sizeof(bytes));

		if (n > 0)
			conn_add_output(conn, is_err, bytes, (size_t)n);
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			close_watch(watch);
		else if (errno == EAGAIN)
			return;
	}
}

/* The process stays a zombie until its group is killed: nobody else can get its number meanwhile. */
static void look_at_child(struct conn *conn)
{
	siginfo_t info = { 0 };

	if (conn->local.exited || waitid(P_PID, (id_t)conn->local.pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == 0)
		return;
	conn->local.exited = true;
	close_watch(&conn->local.child);
	if (info.si_code == CLD_EXITED)
		conn->result->exit_status = info.si_status;
	else
		snprintf(conn->result->signal, sizeof(conn->result->signal), "%s", sigabbrev_np(info.si_status));
}

static void reap(struct conn *conn)
{
	int status;

	if (conn->local.pid > 0)
		engine_child_reap(conn->local.pid, &status);
	conn->local.pid = 0;
}

void engine_local_step(struct conn *conn)
{
	struct conn_local *local = &conn->local;

	if (conn->state != CONN_RUNNING)
		return;
	feed(conn);
	drain(conn, &local->out, false);
	drain(conn, &local->err, true);
	if (conn->state != CONN_RUNNING)
		return;
	look_at_child(conn);
	if (!local->exited || local->out.fd >= 0 || local->err.fd >= 0)
		return;
	close_watch(&local->in);
	reap(conn);
	conn_command_ended(conn);
}

void engine_local_release(struct conn *conn)
{
	struct conn_local *local = &conn->local;

	/* A program that ends with its input gets to end what it has started. */
	if (local->pid > 0 && conn->command.hold_input && !local->exited)
		kill(-local->pid, SIGTERM);
	else
		engine_child_kill(local->pid);
	close_watch(&local->in);
	close_watch(&local->out);
	close_watch(&local->err);
	close_watch(&local->child);
	reap(conn);
}

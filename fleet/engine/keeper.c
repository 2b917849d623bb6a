/* Launchers outlive no controller. Most end with their input, which ends when this program does, whatever ends it. One that hangs and reads
 * nothing would stay for ever after a SIGKILL: a small process in a session of its own holds every launcher by a descriptor, and ends those
 * that are still there a while after this program. (PR_SET_PDEATHSIG would not do: it is the death of the thread that counts, and programs
 * that are set-user-id are spared.) */
#include "fleet/engine/link.h"

#include "base/mem.h"

#include <errno.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEAVE_MS    (10 * 1000) /* for launchers to end with their input */
#define TERM_MS	    2000	/* between SIGTERM and SIGKILL */
#define KEPT_A_HOST 2		/* the one at work, and the parked one */
#define KEPT_MORE   64		/* that the kernel still holds in a system call */
#define GROUP_BY_FD 4		/* PIDFD_SIGNAL_PROCESS_GROUP, which the headers of Debian 12 do not have; of Linux 6.9 */

union descriptor { /* one, beside a message */
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

void keeper_add(const struct keeper *keeper, int process, pid_t pid)
{
	union descriptor beside = { .bytes = { 0 } };
	struct iovec text = { &pid, sizeof(pid) };
	struct msghdr message = { .msg_iov = &text, .msg_iovlen = 1, .msg_control = beside.bytes, .msg_controllen = sizeof(beside.bytes) };

	beside.header = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int)) };
	memcpy(CMSG_DATA(&beside.header), &process, sizeof(int));
	while (sendmsg(keeper->fd, &message, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

/* ---- the process: nothing but system calls, for other threads may have held locks when it was forked ---- */

struct kept {
	struct pollfd *fds; /* [n]: the socket, then processes */
	pid_t *pids;	    /* [n] */
	size_t n, room;
};

static void keep_forget_ended(struct kept *kept)
{
	for (size_t i = kept->n; i-- > 1;) {
		if (!kept->fds[i].revents)
			continue;
		close(kept->fds[i].fd);
		kept->fds[i] = kept->fds[--kept->n];
		kept->pids[i] = kept->pids[kept->n];
	}
}

/* One more process; false: the controller has ended. */
static bool keep_more(struct kept *kept)
{
	union descriptor beside = { .bytes = { 0 } };
	pid_t pid = 0;
	struct iovec text = { &pid, sizeof(pid) };
	struct msghdr message = { .msg_iov = &text, .msg_iovlen = 1, .msg_control = beside.bytes, .msg_controllen = sizeof(beside.bytes) };
	ssize_t n = recvmsg(0, &message, MSG_DONTWAIT);
	int fd;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (!n || message.msg_controllen < sizeof(struct cmsghdr))
		return n > 0;
	memcpy(&fd, CMSG_DATA(&beside.header), sizeof(fd));
	if (kept->n == kept->room) {
		close(fd);
		return true;
	}
	kept->fds[kept->n] = (struct pollfd){ .fd = fd, .events = POLLIN };
	kept->pids[kept->n++] = pid;
	return true;
}

static void keep_signal(const struct kept *kept, int number)
{
	for (size_t i = 1; i < kept->n; i++) {
		struct pollfd ended = kept->fds[i];

		/* Without a signal by descriptor: while the first process is there, the group has its number. */
		if (pidfd_send_signal(kept->fds[i].fd, number, NULL, GROUP_BY_FD) && errno == EINVAL && poll(&ended, 1, 0) == 0)
			kill(-kept->pids[i], number);
	}
}

static bool keep_all_ended(struct kept *kept)
{
	bool there = false;

	poll(kept->fds, (nfds_t)kept->n, 0);
	for (size_t i = 1; i < kept->n; i++)
		there = there || !kept->fds[i].revents;
	return !there;
}

/* Those that have ended are not forgotten any more: what they had started may be there. */
static void keep_end(struct kept *kept)
{
	for (int waited_ms = 0; waited_ms < LEAVE_MS && !keep_all_ended(kept); waited_ms += 100)
		poll(NULL, 0, 100);
	keep_signal(kept, SIGTERM);
	for (int waited_ms = 0; waited_ms < TERM_MS && !keep_all_ended(kept); waited_ms += 100)
		poll(NULL, 0, 100);
	keep_signal(kept, SIGKILL);
}

static _Noreturn void keep(struct kept *kept, int socket)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	if (dup2(socket, 0) < 0 || close_range(1, ~0u, 0)) /* who waits for the end of our output must not wait for this process */
		_exit(1);
	kept->fds[0] = (struct pollfd){ .fd = 0, .events = POLLIN };
	do {
		poll(kept->fds, (nfds_t)kept->n, -1);
		keep_forget_ended(kept);
	} while (!kept->fds[0].revents || keep_more(kept));
	kept->fds[0].fd = -1;
	keep_end(kept);
	_exit(0);
}

/* ---- its beginning and end ---- */

enum assay_status keeper_start(struct keeper *keeper, size_t hosts, struct assay_error *err)
{
	struct kept kept = { .n = 1, .room = 1 + KEPT_A_HOST * hosts + KEPT_MORE };
	enum assay_status st = ASSAY_OK;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return assay_fail_errno(err, errno, "cannot make a socket");
	kept.fds = mem_new(kept.room, sizeof(*kept.fds));
	kept.pids = mem_new(kept.room, sizeof(*kept.pids));
	keeper->pid = fork();
	if (keeper->pid == 0)
		keep(&kept, ends[1]);
	if (keeper->pid < 0)
		st = assay_fail_errno(err, errno, "cannot start a process");
	close(ends[1]);
	if (st)
		close(ends[0]);
	else
		keeper->fd = ends[0];
	mem_free(kept.fds, kept.pids);
	return st;
}

void keeper_stop(struct keeper *keeper)
{
	if (keeper->pid <= 0)
		return;
	kill(keeper->pid, SIGKILL);
	while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(keeper->fd);
	*keeper = (struct keeper){ .fd = -1 };
}

#include "base/clock.h"
#include "fleet/helper/descendants.h"
#include "fleet/helper/lock.h"
#include "fleet/helper/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOCK_POLL_MS 20
#define LOCK_OPENS   10 /* times that another process may make and remove the file under our hands */

/* First as it is: where fs.protected_regular is set, O_CREAT on another user's file in a sticky directory fails. Reading is
 * enough for flock, and neither a link nor a pipe that was put there leads us away. */
static int open_or_make(const char *path)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	int fd = -1;

	for (int i = 0; i < LOCK_OPENS; i++) {
		mode_t mask;

		fd = open(path, flags);
		if (fd >= 0 || errno != ENOENT)
			return fd;
		mask = umask(0);
		fd = open(path, flags | O_CREAT | O_EXCL, 0666);
		umask(mask);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return fd;
}

static int open_lock(struct request *request)
{
	int fd = open_or_make(request->lock);
	struct stat info;

	if (fd < 0) {
		request_refuse(request, "cannot open the lock file '%.200s': %s", request->lock, strerror(errno));
		return -1;
	}
	if (fstat(fd, &info) || !S_ISREG(info.st_mode)) {
		request_refuse(request, "the lock file '%.200s' is not a regular file", request->lock);
		close(fd);
		return -1;
	}
	return fd;
}

/* A file that was removed while we waited excludes no one. */
static bool is_the_one(int fd, const char *path)
{
	struct stat mine, there;

	return !fstat(fd, &mine) && !lstat(path, &there) && mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

/* Somebody who takes a lock again and again leaves it for moments only, which one who looks from time to time would miss: a child
 * waits in the kernel's queue. The lock is the open file's, so it becomes ours with the child's. *end is readable when the child
 * has ended. */
static pid_t queue_up(int fd, int *end)
{
	pid_t self = getpid(), child;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == self) {
			while (flock(fd, LOCK_EX) && errno == EINTR)
				;
		}
		_exit(0);
	}
	close(ends[1]);
	*end = ends[0];
	if (child < 0)
		close(ends[0]);
	return child;
}

/* Until the lock may be ours, the time is over or the controller has hung up; false: that, or it cannot wait. */
static bool wait_turn(int in, struct frames_out *out, int fd, int64_t left_ms, enum lock_got *got)
{
	struct pollfd wait[] = { { in, POLLIN, 0 }, { -1, POLLIN, 0 } };
	int64_t end_ns = clock_monotonic_ns() + left_ms * 1000000, said_ns = 0;
	pid_t child = queue_up(fd, &wait[1].fd);

	if (child < 0) { /* as many processes as this user may have: the lock is looked at from time to time */
		wait[1].fd = -1;
		end_ns = clock_monotonic_ns() + (left_ms < LOCK_POLL_MS ? left_ms : LOCK_POLL_MS) * 1000000;
	}
	*got = LOCK_HELD;
	for (int64_t left = left_ms; *got == LOCK_HELD && left > 0 && !wait[1].revents; left = (end_ns - clock_monotonic_ns()) / 1000000) {
		if (!said_ns || clock_monotonic_ns() - said_ns >= HELPER_WAITING_MS * INT64_C(1000000)) {
			said_ns = clock_monotonic_ns();
			frames_text(out, HELPER_WAITING, "");
		}
		if (!frames_flush(out) || (poll(wait, 2, left < HELPER_WAITING_MS ? (int)left : HELPER_WAITING_MS) > 0 && wait[0].revents &&
					   !frames_still_there(in)))
			*got = LOCK_HUNG_UP;
	}
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		close(wait[1].fd);
	}
	return *got == LOCK_HELD;
}

enum lock_got lock_take(struct request *request, int in, struct frames_out *out, int *fd, int64_t *waited_ns)
{
	int64_t start = clock_monotonic_ns();
	enum lock_got got;

	*fd = -1;
	for (;;) {
		int64_t left_ms;

		if (*fd < 0 && (*fd = open_lock(request)) < 0)
			return LOCK_REFUSED;
		if (flock(*fd, LOCK_EX | LOCK_NB) == 0) {
			*waited_ns = clock_monotonic_ns() - start;
			if (is_the_one(*fd, request->lock))
				return LOCK_HELD;
			close(*fd);
			*fd = -1;
			continue;
		}
		if (errno != EWOULDBLOCK && errno != EINTR) {
			request_refuse(request, "cannot lock '%.200s': %s", request->lock, strerror(errno));
			return LOCK_REFUSED;
		}
		left_ms = request->lock_wait_ms - (clock_monotonic_ns() - start) / 1000000;
		if (left_ms <= 0) {
			request->refusal_code = HELPER_CODE_BUSY;
			request_refuse(request, "busy: another measurement holds the lock of this box ('%.200s')", request->lock);
			return LOCK_REFUSED;
		}
		if (!wait_turn(in, out, *fd, left_ms, &got))
			return got;
	}
}

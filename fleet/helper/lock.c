#include "fleet/helper/descendants.h"
#include "fleet/helper/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_POLL_MS 20
#define LOCK_OPENS   10 /* times that somebody may make and remove the file under our hands */

/* First as it is: where fs.protected_regular is set, O_CREAT on another user's file in a sticky directory fails. Reading is
 * enough for flock, and neither a link nor a pipe somebody put there leads us away. */
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
		request_refuse(request, "the lock file '%.200s' is no regular file", request->lock);
		close(fd);
		return -1;
	}
	return fd;
}

/* A file that was removed while we waited locks nobody out. */
static bool is_the_one(int fd, const char *path)
{
	struct stat mine, there;

	return !fstat(fd, &mine) && !lstat(path, &there) && mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

enum lock_got lock_take(struct request *request, int in, int *fd, int64_t *waited_ns)
{
	int64_t start = monotonic_ns();
	struct pollfd controller = { in, POLLIN, 0 };

	*fd = -1;
	for (;;) {
		int64_t left_ms;

		if (*fd < 0 && (*fd = open_lock(request)) < 0)
			return LOCK_REFUSED;
		if (flock(*fd, LOCK_EX | LOCK_NB) == 0) {
			*waited_ns = monotonic_ns() - start;
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
		left_ms = request->lock_wait_ms - (monotonic_ns() - start) / 1000000;
		if (left_ms <= 0) {
			request_refuse(request, "busy: somebody else measures on this box (lock '%.200s')", request->lock);
			return LOCK_REFUSED;
		}
		if (poll(&controller, 1, left_ms < LOCK_POLL_MS ? (int)left_ms : LOCK_POLL_MS) > 0 && !frames_still_there(in))
			return LOCK_HUNG_UP;
	}
}

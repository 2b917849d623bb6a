#include "fleet/helper/work.h"

#include "fleet/cgroup/process.h"
#include "fleet/helper/lock.h"
#include "fleet/helper/protocol.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PREFIX	   "assay-session-" /* user, label and six letters follow */
#define LETTERS	   6
#define TRIES	   100
#define LOOK_MS	   1000
#define PATH_BYTES 4096

/* Opens a directory of ours and takes its lock, which says that somebody uses it: a descriptor, -1 when that is so, it is another user's,
 * or not the one of that name any more. *locked: the file system has such locks. */
static int own_directory(const char *path, bool *locked)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat mine, there;

	if (fd < 0)
		return -1;
	*locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
	if ((*locked || errno != EWOULDBLOCK) && fstat(fd, &mine) == 0 && lstat(path, &there) == 0 && mine.st_ino == there.st_ino &&
	    mine.st_dev == there.st_dev && mine.st_uid == geteuid())
		return fd;
	close(fd);
	return -1;
}

/* By the program for it, which follows no links and goes as deep as it must. */
static void remove_tree(const char *path)
{
	const pid_t child = fork();
	sigset_t none;

	if (child == 0) {
		int null = open("/dev/null", O_RDWR);

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		for (int fd = 0; fd <= STDERR_FILENO && null >= 0; fd++)
			dup2(null, fd);
		execlp("rm", "rm", "-rf", "--", path, (char *)NULL);
		_exit(127);
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Whose owner is dead: nobody has the lock. */
static void work_sweep(const char *base)
{
	DIR *dir = opendir(base);
	char prefix[64], path[PATH_BYTES];
	struct dirent *entry;

	snprintf(prefix, sizeof(prefix), PREFIX "%u-", (unsigned)geteuid());
	while (dir && (entry = readdir(dir))) {
		bool locked = false;
		int fd;

		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
		    snprintf(path, sizeof(path), "%s/%s", base, entry->d_name) >= PATH_BYTES)
			continue;
		fd = own_directory(path, &locked);
		if (locked && fd >= 0)
			remove_tree(path);
		if (fd >= 0)
			close(fd);
	}
	if (dir)
		closedir(dir);
}

/* A new one, for this user alone. False: the refusal says why. */
static bool work_make(struct request *request, char path[PATH_BYTES], int *fd)
{
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
	const char *base = request->paths.texts[0], *label = request->paths.texts[1];

	for (int i = 0; i < TRIES; i++) {
		unsigned char bytes[LETTERS] = { 0 };
		char letters[LETTERS + 1] = "";
		bool locked;

		if (getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) < 0)
			snprintf((char *)bytes, sizeof(bytes), "%d", (int)getpid() * TRIES + i);
		for (size_t k = 0; k < LETTERS; k++)
			letters[k] = alphabet[bytes[k] % 32];
		if (snprintf(path, PATH_BYTES, "%s/" PREFIX "%u-%s-%s", base, (unsigned)geteuid(), label, letters) >= PATH_BYTES) {
			errno = ENAMETOOLONG;
			break;
		}
		if (mkdir(path, 0700)) {
			if (errno == EEXIST)
				continue;
			break;
		}
		/* Between these two, another helper that sweeps may think that it has no owner. */
		*fd = own_directory(path, &locked);
		if (*fd >= 0)
			return true;
		errno = EAGAIN;
	}
	return request_refuse(request, "cannot make a directory in '%.200s': %s", base, strerror(errno));
}

/* Who has the connection: the next process above us that is of another session than ours, for sshd gives each command a session of its
 * own, whatever shells stand in between. */
static bool find_connection(struct process *out)
{
	char id[24];
	pid_t at = getppid();

	for (;;) {
		snprintf(id, sizeof(id), "%d", (int)at);
		if (at <= 1 || !process_read(id, out))
			return false;
		if (out->session != getsid(0))
			return true;
		at = out->parent;
	}
}

static bool is_still_there(const struct process *connection)
{
	struct process now;
	char id[24];

	snprintf(id, sizeof(id), "%d", (int)connection->id);
	return process_read(id, &now) && now.alive && now.start_ticks == connection->start_ticks;
}

/* Nothing of the channel is ours any more. */
static void leave_channel(void)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	for (int fd = 0; fd <= STDERR_FILENO && null >= 0; fd++)
		dup2(null, fd);
}

/* Until the controller is gone (detached: the process that has the connection), or this process is told to end. A connection whose other
 * end is gone ends only when something is sent. */
static void work_stay(struct frames_out *out, int in, const struct process *connection, bool detached, int signals)
{
	struct pollfd wait[] = { { detached ? -1 : in, POLLIN, 0 }, { signals, POLLIN, 0 } };

	if (detached)
		leave_channel();
	do {
		if (poll(wait, 2, detached ? LOOK_MS : HELPER_MADE_MS) == 0 && !detached) {
			if (!frames_pending(out))
				frames_text(out, HELPER_WAITING, "");
			frames_flush(out); /* that nobody reads it is no reason to end */
		}
	} while (!wait[1].revents && (detached ? is_still_there(connection) : !wait[0].revents || frames_still_there(in)));
}

/* Under the box's lock, for it must not disturb what others measure; what of ours has been at work there has ended then. After the time
 * for which a session waits it is done all the same. */
static void work_end(struct request *request, const char *path, int fd)
{
	struct frames_out nobody = { .fd = open("/dev/null", O_WRONLY | O_CLOEXEC) };
	struct lock lock = { -1, -1, 0, 0 };
	struct stat mine, there;

	if (fstat(fd, &mine) || lstat(path, &there) || mine.st_ino != there.st_ino || mine.st_dev != there.st_dev)
		return; /* the controller has removed it */
	if (request->lock)
		lock_take(request, -1, &nobody, &lock);
	remove_tree(path);
	lock_release(&lock);
}

int work_serve(struct request *request, struct frames_out *out, int in)
{
	static const int ends[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT };
	enum lock_got got = LOCK_HELD;
	struct lock lock = { -1, -1, 0, 0 };
	struct process connection = { .id = 0 };
	pid_t child;
	char path[PATH_BYTES];
	sigset_t signals;
	int fd = -1;

	if (request->detach && !find_connection(&connection)) {
		request_refuse(request, "this machine does not say which process has the connection");
		return request_answer_refusal(request, out, in);
	}

	sigemptyset(&signals);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaddset(&signals, ends[i]);
	if (request->lock)
		got = lock_take(request, in, out, &lock);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	if (got == LOCK_HELD) {
		work_sweep(request->paths.texts[0]);
		if (!work_make(request, path, &fd))
			got = LOCK_REFUSED;
	}
	lock_release(&lock);
	if (got != LOCK_HELD)
		return got == LOCK_REFUSED ? request_answer_refusal(request, out, in) : 1;
	child = request->detach ? fork() : 0;
	if (child < 0) {
		request_refuse(request, "cannot start a process: %s", strerror(errno));
		rmdir(path);
		return request_answer_refusal(request, out, in);
	}
	if (child > 0 || !request->detach) {
		frames_text(out, HELPER_MADE, path);
		if (!frames_send(out, in) && child > 0)
			kill(child, SIGTERM);
		if (child > 0)
			return 0;
	}
	work_stay(out, in, &connection, request->detach, signalfd(-1, &signals, SFD_CLOEXEC));
	work_end(request, path, fd);
	return 0;
}

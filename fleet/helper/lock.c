#include "fleet/helper/lock.h"

#include "base/clock.h"
#include "fleet/cgroup/process.h"
#include "fleet/helper/protocol.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOCK_POLL_MS	      20
#define LOCK_OPEN_TRIES	      10      /* attempts to open the file while another process creates and removes it */
#define LOCK_SLACK_MS	      60000   /* tolerance after the holder's own limit */
#define LOCK_RETRY_MS	      1000    /* interval of checks if the holder exceeds its limit, because a new holder may write its name soon */
#define LOCK_WORK_MS	      60000   /* limit for making or removing a directory */
#define LOCK_CLAIM_MS	      3600000 /* maximum limit that a holder can claim */
#define LOCK_INFO_BYTES	      512
#define HOLDER_BYTES	      200
#define PROCESS_BYTES	      300 /* size of the text about the process that holds the lock */
#define LOCK_INHERITED_FD_MIN 60  /* descriptors below 64 cost nothing at a fork; programs expect to use the low ones */

static const int open_flags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

/* ---- processes left by killed helpers ---- */

/* If a helper and all its own processes are killed, descendants of its command remain. So each command has a mark with its helper and
 * owner, by which a later helper of the same owner finds these descendants. The mark is in RLIMIT_LOCKS, which the kernel has ignored since
 * Linux 2.4. All descendants inherit it, whatever descriptors they close. */

/* The mark. The hard limit consists of 16 bits whose value no real limit has, the helper's pid (22 bits, the maximum of Linux), and the low
 * bits of the helper's start time. The soft limit is the owner's key, which is below the hard limit. */
#define MARK		UINT64_C(0xa55a)
#define MARK_SHIFT	48
#define MARK_ID_SHIFT	26
#define MARK_ID_MAX	((UINT64_C(1) << (MARK_SHIFT - MARK_ID_SHIFT)) - 1)
#define MARK_START_MASK ((UINT64_C(1) << MARK_ID_SHIFT) - 1)

/* Returns the owner's key: its number combined with the namespaces to which pids and start times refer. */
static uint64_t owner_key(const struct request *request)
{
	struct stat pids = { .st_ino = 0 }, times = { .st_ino = 0 };

	if (stat("/proc/self/ns/pid", &pids) || stat("/proc/self/ns/time", &times)) /* before Linux 5.6, there are no time namespaces */
		times.st_ino = 0;
	return ((uint64_t)request->owner ^ pids.st_ino ^ times.st_ino << 16) & ((UINT64_C(1) << MARK_SHIFT) - 1);
}

/* Marks a child before it becomes the command. `helper` is the caller of guard_run(). */
static void leftovers_mark(uint64_t owner, pid_t helper)
{
	struct process p;
	struct rlimit limit = { .rlim_cur = owner };

	/* Without the right to raise a limit, a command inside another helper's command keeps that helper's mark. */
	if (!process_read(helper, &p))
		return;
	limit.rlim_max = MARK << MARK_SHIFT | (uint64_t)helper << MARK_ID_SHIFT | (p.start_ticks & MARK_START_MASK);
	setrlimit(RLIMIT_LOCKS, &limit);
}

/* Reports whether a killed helper of this owner left this process. Checks the limit first, because one system call then excludes processes
 * without a mark. If the /proc entry of a helper is hidden, it is considered alive as long as its pid exists. */
static bool is_leftover(uint64_t owner, pid_t pid)
{
	struct process p, helper;
	struct rlimit limit;
	pid_t id;

	if (prlimit(pid, RLIMIT_LOCKS, NULL, &limit) || limit.rlim_max >> MARK_SHIFT != MARK || limit.rlim_cur != owner)
		return false;
	id = (pid_t)(limit.rlim_max >> MARK_ID_SHIFT & MARK_ID_MAX);
	if (process_read(id, &helper) ? helper.alive && (helper.start_ticks & MARK_START_MASK) == (limit.rlim_max & MARK_START_MASK)
				      : kill(id, 0) == 0 || errno != ESRCH)
		return false;
	return process_read(pid, &p) && p.alive;
}

/* Appends the process to the names of ended processes, unless it is listed. */
static void report_ended(struct lock *lock, pid_t pid)
{
	char name[32], item[64];
	size_t n = strlen(lock->ended_names);

	process_text(name, sizeof(name), "/proc/%d/comm", (int)pid);
	snprintf(item, sizeof(item), "%.*s (%d)", (int)strcspn(name, "\n"), name, (int)pid);
	if (!strstr(lock->ended_names, item) && n + strlen(item) + 3 < sizeof(lock->ended_names))
		snprintf(lock->ended_names + n, sizeof(lock->ended_names) - n, "%s%s", n ? ", " : "", item);
}

static size_t kill_leftovers(struct lock *lock)
{
	DIR *proc = opendir("/proc");
	size_t n = 0;

	for (struct dirent *entry; proc && (entry = readdir(proc));) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1; /* a later process with this pid must not get the signal */

		if (pid > 0 && is_leftover(lock->owner, pid)) {
			n++;
			report_ended(lock, pid);
			if (fd < 0) /* before Linux 5.3, there are no pidfds */
				kill(pid, SIGKILL);
			else
				syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
		}
		if (fd >= 0)
			close(fd);
	}
	if (proc)
		closedir(proc);
	return n;
}

/* Kills all processes of this PID namespace that killed helpers of this owner have left. Gives up after KILL_WAIT_MS. */
static void leftovers_end(struct lock *lock)
{
	int64_t end = clock_monotonic_ns() + INT64_C(1000000) * KILL_WAIT_MS;
	const struct timespec pause = { 0, 5000000 };
	size_t met = kill_leftovers(lock), more = met;

	while (more > 0 && clock_monotonic_ns() < end) {
		nanosleep(&pause, NULL);
		more = kill_leftovers(lock);
		met = more > met ? more : met;
	}
	lock->n_ended += met;
}

/* ---- the holder's text in the file ---- */

struct lock_info {
	long long held_ms, limit_ms; /* -1 if unknown */
	long long since_ms;
	char holder[HOLDER_BYTES + PROCESS_BYTES + 1]; /* "" if unknown */
	uint64_t stopped_ticks;			       /* start time of the holder's process if it is stopped; else 0 */
};

/* Copies the first line of the text, at most n - 1 bytes. Replaces bytes that are not printable ASCII by '?'. */
static void set_line(char *line, size_t n, const char *text)
{
	size_t length = strcspn(text, "\n");

	snprintf(line, n, "%.*s", length < n ? (int)length : (int)n - 1, text);
	for (char *at = line; *at; at++) {
		if (*at < ' ' || *at > '~')
			*at = '?';
	}
}

static long long info_number(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at && at[strlen(name)] == ' ' ? strtoll(at + strlen(name), NULL, 10) : -1;
}

/* Reads the file. Any user may have written it, so invalid content is treated as unknown. */
static void info_read(const char *path, struct lock_info *out)
{
	int fd = open(path, O_RDONLY | open_flags);
	char text[LOCK_INFO_BYTES + 1] = "", *at;
	struct stat info;
	long long now_ms = clock_monotonic_ns() / 1000000;
	ssize_t n;

	*out = (struct lock_info){ .held_ms = -1, .limit_ms = -1, .since_ms = -1 };
	if (fd < 0)
		return;
	n = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? pread(fd, text, LOCK_INFO_BYTES, 0) : -1;
	close(fd);
	if (n <= 0)
		return;
	out->since_ms = info_number(text, "since_ms");
	out->held_ms = out->since_ms >= 0 && out->since_ms <= now_ms ? now_ms - out->since_ms : -1;
	out->limit_ms = info_number(text, "limit_ms");
	if (out->limit_ms > LOCK_CLAIM_MS)
		out->limit_ms = LOCK_CLAIM_MS;
	at = strstr(text, "\nholder ");
	if (at)
		set_line(out->holder, HOLDER_BYTES + 1, at + strlen("\nholder "));
}

/* Returns the pid that holds flock(2) on this file, from lines "1: FLOCK  ADVISORY  WRITE ID MAJOR:MINOR:INODE ..." of /proc/locks. Returns
 * 0 if the lock is not listed, or if its holder is in another PID namespace. */
static int flock_holder(int fd)
{
	FILE *locks = fopen("/proc/locks", "re");
	char line[160];
	struct stat info;
	int found = 0;

	while (locks && fstat(fd, &info) == 0 && !found && fgets(line, sizeof(line), locks)) {
		unsigned major_id, minor_id;
		unsigned long long inode;
		int id;

		if (sscanf(line, "%*d: FLOCK ADVISORY WRITE %d %x:%x:%llu", &id, &major_id, &minor_id, &inode) == 4 && id > 0 &&
		    inode == info.st_ino && makedev(major_id, minor_id) == info.st_dev)
			found = id;
	}
	if (locks)
		fclose(locks);
	return found;
}

/* Returns a user's name from /etc/passwd, the only source that a static program can read; "?" if it is not found. */
static const char *user_name(uid_t user)
{
	FILE *users = fopen("/etc/passwd", "re");
	const struct passwd *one = NULL;

	while (users && (one = fgetpwent(users)) && one->pw_uid != user)
		;
	if (users)
		fclose(users);
	return one ? one->pw_name : "?";
}

/* Appends the process that holds the lock, its user and its command to the holder's text. For a stopped process, appends how to continue or
 * end it. If the holder has not written its name, held_ms becomes the age of the process, an upper bound. */
static void info_add_process(int fd, struct lock_info *info)
{
	char path[32], command[81], text[512];
	size_t n, size;
	int id = flock_holder(fd);
	struct process process;
	struct timespec now;
	struct stat owner;

	snprintf(path, sizeof(path), "/proc/%d", id);
	if (!process_read(id, &process) || !process.alive || stat(path, &owner))
		return;
	size = process_text(text, sizeof(text), "/proc/%d/cmdline", id);
	for (size_t i = 0; i + 1 < size; i++)
		text[i] = text[i] && text[i] != '\n' ? text[i] : ' ';
	set_line(command, sizeof(command), text);
	if (!*info->holder && clock_gettime(CLOCK_BOOTTIME, &now) == 0)
		info->held_ms = 1000 * (now.tv_sec - (long long)process.start_ticks / sysconf(_SC_CLK_TCK));
	n = (size_t)snprintf(text, sizeof(text), "%s (process %d there, of user %u (%.32s): '%s'",
			     *info->holder ? info->holder : "another program", id, (unsigned)owner.st_uid, user_name(owner.st_uid),
			     command);
	info->stopped_ticks = process.state == 'T' || process.state == 't' ? process.start_ticks : 0;
	if (info->stopped_ticks)
		n += (size_t)snprintf(text + n, sizeof(text) - n, ", stopped: 'kill -CONT %d' continues it, 'kill -KILL %d' ends it", id,
				      id);
	snprintf(text + n, sizeof(text) - n, ")");
	set_line(info->holder, sizeof(info->holder), text);
}

/* Reports whether the file has only one name. A file with two names is not written: it may be a user's file that was linked here. */
static bool has_single_name(int fd)
{
	struct stat info;

	return fstat(fd, &info) == 0 && info.st_nlink == 1;
}

static void info_write(int fd, const struct request *request)
{
	long long limit_ms = request->timeout_ms >= 0			    ? (long long)request->timeout_ms + KILL_WAIT_MS
			     : request->operation == REQUEST_WORK_DIRECTORY ? LOCK_WORK_MS
									    : -1;
	char text[LOCK_INFO_BYTES], holder[HOLDER_BYTES + 1];

	set_line(holder, sizeof(holder), request->holder ? request->holder : "");
	snprintf(text, sizeof(text), "since_ms %lld\nlimit_ms %lld\nholder %s\n", (long long)(clock_monotonic_ns() / 1000000), limit_ms,
		 holder);
	if (!has_single_name(fd) || ftruncate(fd, 0) || pwrite(fd, text, strlen(text), 0) < 0)
		return; /* on failure, waiting helpers cannot report the holder */
}

static void write_waiting(const struct lock_info *info, struct frames_out *out)
{
	char text[LOCK_INFO_BYTES + PROCESS_BYTES] = "";
	size_t n = 0;

	if (info->held_ms >= 0)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "held_ms %lld\n", info->held_ms);
	if (info->limit_ms >= 0)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "limit_ms %lld\n", info->limit_ms);
	if (*info->holder)
		snprintf(text + n, sizeof(text) - n, "holder %s\n", info->holder);
	frames_put_text(out, HELPER_WAITING, text);
}

static enum lock_result refuse_busy(struct request *request, const struct lock_info *info, const char *why)
{
	request->refusal_code = HELPER_CODE_BUSY;
	request_refuse(request, "busy: %s holds the lock of this physical host ('%s')%s", *info->holder ? info->holder : "another program",
		       request->lock, why);
	return LOCK_REFUSED;
}

/* ---- the directory and the file ---- */

static int open_directory(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Opens the file, at first without O_CREAT: with fs.protected_regular, O_CREAT fails for another user's file in a sticky directory. flock
 * needs only read access, except on NFS. Does not follow links or open pipes. */
static int open_file(const char *path)
{
	struct stat info;
	int fd = -1;

	for (int i = 0; i < LOCK_OPEN_TRIES && fd < 0; i++) {
		mode_t mask;

		fd = open(path, O_RDWR | open_flags);
		if (fd < 0 && errno == EACCES)
			fd = open(path, O_RDONLY | open_flags);
		if (fd >= 0 || errno != ENOENT)
			break;
		mask = umask(0);
		fd = open(path, O_RDWR | open_flags | O_CREAT | O_EXCL, 0666);
		umask(mask);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0 || (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)))
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}

/* Reports whether the path still names this file. A lock on a removed file excludes no other process. */
static bool is_same_file(int fd, const char *path)
{
	struct stat mine, there;

	return !fstat(fd, &mine) && !stat(path, &there) && mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

/* ---- waiting ---- */

/* State of a process that waits for the lock. */
struct lock_wait {
	struct request *request;
	int in;
	struct frames_out *out;
	int64_t end_ns; /* time at which the wait ends */
	struct lock *lock;
	long long late_ms;	/* since_ms of a holder that exceeded its limit; -1 if there is none */
	uint64_t stopped_ticks; /* start time of the holder's process, which has been stopped since stopped_ns; 0 if not stopped */
	int64_t stopped_ns;
};

/* Starts a child that waits in the kernel's queue. Polling would miss a lock that is free only for moments. The lock belongs to the open
 * file, so when the child gets it, this process has it, too. *end becomes readable when the child has ended. */
static pid_t start_queue_process(int fd, int *end)
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

/* Checks the holder, which may have left processes, be stopped, or hang. Called every HELPER_WAITING_MS. The text in the file may be that
 * of an earlier holder, if the present holder has not written its own yet. */
static enum lock_result inspect_holder(struct lock_wait *w, int fd, int64_t now_ns)
{
	struct lock_info info;
	bool late;

	leftovers_end(w->lock);
	info_read(w->request->lock, &info);
	info_add_process(fd, &info);
	if (info.stopped_ticks != w->stopped_ticks)
		w->stopped_ns = now_ns;
	w->stopped_ticks = info.stopped_ticks;
	if (w->stopped_ticks && now_ns - w->stopped_ns >= HELPER_WAITING_MS * INT64_C(1000000))
		return refuse_busy(w->request, &info, "");
	late = info.held_ms >= 0 && info.limit_ms >= 0 && info.held_ms > info.limit_ms + LOCK_SLACK_MS;
	if (late && w->late_ms != info.since_ms)
		w->late_ms = info.since_ms;
	else if (!late)
		w->late_ms = -1;
	else
		return refuse_busy(w->request, &info, " for longer than allowed: it was suspended, or hangs");
	write_waiting(&info, w->out);
	return LOCK_HELD;
}

/* Waits until the lock may be free or the time is over, and returns LOCK_HELD in both cases. Otherwise returns why it gave up. */
static enum lock_result wait_for_lock(struct lock_wait *w, int fd)
{
	struct pollfd wait[] = { { w->in, POLLIN, 0 }, { -1, POLLIN, 0 } };
	pid_t child = start_queue_process(fd, &wait[1].fd);
	int64_t end_ns = w->end_ns, look_ns = 0, now;
	enum lock_result got = LOCK_HELD;

	if (child < 0) { /* cannot fork: poll the lock instead */
		wait[1].fd = -1;
		end_ns = clock_monotonic_ns() + LOCK_POLL_MS * INT64_C(1000000);
	}
	while (got == LOCK_HELD && !wait[1].revents && (now = clock_monotonic_ns()) < end_ns) {
		int64_t left_ms;

		if (now >= look_ns) {
			got = inspect_holder(w, fd, now);
			look_ns = now + (w->late_ms >= 0 ? LOCK_RETRY_MS : HELPER_WAITING_MS) * INT64_C(1000000);
		}
		left_ms = ((look_ns < end_ns ? look_ns : end_ns) - now) / 1000000 + 1;
		if (got == LOCK_HELD &&
		    (!frames_flush(w->out) || (poll(wait, 2, (int)left_ms) > 0 && wait[0].revents && !frames_discard_input(w->in))))
			got = LOCK_HUNG_UP;
	}
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		close(wait[1].fd);
		if (wait[1].revents) /* /proc/locks lists the ended child as the holder until this process converts the lock */
			flock(fd, LOCK_SH | LOCK_NB);
	}
	return got;
}

/* Locks *fd and returns LOCK_HELD. If the file system has no locks, closes *fd, sets it to -1 and also returns LOCK_HELD. */
static enum lock_result take_file_lock(struct lock_wait *w, int *fd)
{
	while (*fd >= 0 && flock(*fd, LOCK_EX | LOCK_NB)) {
		enum lock_result got;

		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK) {
			close(*fd);
			*fd = -1;
			break;
		}
		if (clock_monotonic_ns() >= w->end_ns) {
			struct lock_info info;

			info_read(w->request->lock, &info);
			info_add_process(*fd, &info);
			return refuse_busy(w->request, &info, "");
		}
		got = wait_for_lock(w, *fd);
		if (got != LOCK_HELD)
			return got;
	}
	return LOCK_HELD;
}

static enum lock_result take_path_lock(struct lock_wait *w, const char *path, int (*open_path)(const char *), int *fd)
{
	for (;;) {
		enum lock_result got;

		*fd = open_path(path);
		got = take_file_lock(w, fd);
		if (got != LOCK_HELD || *fd < 0 || is_same_file(*fd, path))
			return got;
		close(*fd);
	}
}

/* ---- the whole lock ---- */

enum lock_result lock_take(struct request *request, int in, struct frames_out *out, struct lock *lock)
{
	int64_t start = clock_monotonic_ns();
	struct lock_wait w = { request, in, out, start + request->lock_wait_ms * 1000000, lock, -1, 0, 0 };
	char *directory, *slash;
	enum lock_result got;

	*lock = (struct lock){ .directory = -1, .file = -1, .owner = owner_key(request) };
	leftovers_end(lock);
	if (!request->lock)
		return LOCK_HELD;
	directory = strdup(request->lock);
	if (!directory) {
		request_refuse(request, "out of memory");
		return LOCK_REFUSED;
	}
	slash = strrchr(directory, '/'); /* the path is absolute, so there is a slash */
	slash[slash == directory] = '\0';
	got = take_path_lock(&w, directory, open_directory, &lock->directory);
	if (got == LOCK_HELD)
		got = take_path_lock(&w, request->lock, open_file, &lock->file);
	if (got == LOCK_HELD && lock->directory < 0 && lock->file < 0) {
		request_refuse(request, "cannot lock '%s': %s", request->lock, strerror(errno));
		got = LOCK_REFUSED;
	}
	free(directory);
	lock->waited_ns = clock_monotonic_ns() - start;
	if (got == LOCK_HELD && lock->file >= 0)
		info_write(lock->file, request);
	return got;
}

void lock_share_with_child(const struct lock *lock, pid_t helper)
{
	int fd = lock->directory >= 0 ? lock->directory : lock->file;

	leftovers_mark(lock->owner, helper);
	if (fd >= 0)
		fcntl(fd, F_DUPFD, LOCK_INHERITED_FD_MIN);
}

static void unlock(int *fd)
{
	if (*fd < 0)
		return;
	flock(*fd, LOCK_UN); /* explicit, because other processes share the open file */
	close(*fd);
	*fd = -1;
}

void lock_release(struct lock *lock)
{
	unlock(&lock->file);
	unlock(&lock->directory);
}

/* The helper: a static program that the controller runs on a host, by ssh or on its own machine. It speaks protocol.h on standard input and
 * output, and runs the commands to measure. No shell parses their arguments, and the measured time includes only the command. When standard
 * input closes, the helper ends all processes of the command.
 *
 * Its command-line arguments are those of whole.h. */
#include "fleet/cgroup/process.h"
#include "fleet/counting/whole.h"
#include "fleet/helper/lock.h"
#include "fleet/helper/protocol.h"
#include "fleet/helper/request.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define IN		    STDIN_FILENO
#define OUT		    STDOUT_FILENO
#define DESCRIPTOR_MAX	    1024	     /* maximum descriptor to close if close_range(2) is missing */
#define PREFIX		    "assay-session-" /* start of the name of a session's directory; user, label and six letters follow */
#define LETTERS		    6
#define DIRECTORY_TRIES_MAX 100
#define POLL_MS		    1000
#define PATH_BYTES	    4096
#define PIECE_BYTES	    65536

/* ---- the connection ---- */

/* Ends this process some seconds after its connection was closed, even if it hangs. Does not end its children. While a command runs, the
 * guard process watches the connection instead. */
static void on_second_signal(int signal)
{
	struct pollfd in = { IN, POLLRDHUP, 0 };
	static int closed;

	(void)signal;
	if (poll(&in, 1, 0) > 0 && ++closed * 1000 > HELPER_CLOSED_MS)
		_exit(1);
	alarm(1);
}

/* ---- operations read, get and put: files of the host ---- */

static int send_number_result(struct frames_out *out, int in, const char *name, uint64_t value)
{
	char text[64];

	snprintf(text, sizeof(text), "%s %llu\n", name, (unsigned long long)value);
	frames_put_text(out, HELPER_RESULT, text);
	return frames_send(out, in) ? 0 : 1;
}

/* Opens a regular file. Other files are refused, because they may block or have no end. Returns -1 with errno on failure. */
static int open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat info;

	if (fd < 0)
		return -1;
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
		return fd;
	errno = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
	close(fd);
	return -1;
}

/* Reads `n` bytes, or fewer at the end of the file. Files of /proc return their content in pieces. Returns -1 with errno on failure. */
static ssize_t read_fully(int fd, char *bytes, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got = read(fd, bytes + done, n - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

static void send_file(const char *path, struct frames_out *out)
{
	size_t name = strlen(path) + 1, most = HELPER_FRAME_BYTES_MAX - name;
	int fd = open_regular(path);
	char *place, *end;
	const char *why;
	ssize_t n = -1;

	if (fd >= 0) {
		place = frames_reserve(out, HELPER_FRAME_BYTES_MAX + 1);
		end = mempcpy(place, path, name);
		n = read_fully(fd, end, most + 1);
	}
	why = n < 0 ? strerror(errno) : "too large for one answer";
	if (fd >= 0)
		close(fd);
	if (n >= 0 && (size_t)n <= most)
		frames_commit(out, HELPER_FILE, name + (size_t)n);
	else
		frames_put(out, HELPER_ABSENT, path, name, why, strlen(why));
}

static int files_read(struct request *request, struct frames_out *out, int in)
{
	uint64_t files = 0;

	for (size_t i = 0; i < request->paths.n; i++) {
		const char *path = request->paths.texts[i];

		if (strlen(path) >= HELPER_FRAME_BYTES_MAX / 2) {
			request_refuse(request, "a path of the request is too long");
			return request_send_refusal(request, out, in);
		}
		send_file(path, out);
		if (!frames_send(out, in))
			return 1;
		files++;
	}
	return send_number_result(out, in, "files", files);
}

static int files_get(struct request *request, struct frames_out *out, int in)
{
	const char *path = request->paths.texts[0];
	int fd = open_regular(path);
	uint64_t bytes = 0;
	ssize_t n = -1;

	while (fd >= 0 && (n = read_fully(fd, frames_reserve(out, PIECE_BYTES), PIECE_BYTES)) > 0) {
		frames_commit(out, HELPER_STDOUT, (size_t)n);
		bytes += (uint64_t)n;
		if (!frames_send(out, in))
			return 1;
	}
	if (n < 0) {
		request_refuse(request, "cannot read '%s': %s", path, strerror(errno));
		return request_send_refusal(request, out, in);
	}
	close(fd);
	return send_number_result(out, in, "bytes", bytes);
}

static bool open_temporary(struct request *request)
{
	const char *path = request->paths.texts[0];
	size_t n = strlen(path) + sizeof(".XXXXXX");
	struct stat there;

	if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) /* root could replace a device */
		return request_refuse(request, "cannot write '%s': it is not a regular file", path);
	request->input_path = malloc(n);
	if (!request->input_path)
		return request_refuse(request, "out of memory");
	snprintf(request->input_path, n, "%s.XXXXXX", path);
	request->input_fd = mkostemp(request->input_path, O_CLOEXEC);
	if (request->input_fd >= 0)
		return true;
	free(request->input_path);
	request->input_path = NULL;
	return request_refuse(request, "cannot make a file beside '%s': %s", path, strerror(errno));
}

/* Makes a file in memory or, before Linux 3.17, an unlinked temporary file. */
static bool open_memory(struct request *request)
{
	char path[] = "/tmp/assay-input-XXXXXX";

	request->input_fd = memfd_create("input", MFD_CLOEXEC);
	if (request->input_fd >= 0)
		return true;
	request->input_fd = mkostemp(path, O_CLOEXEC);
	if (request->input_fd < 0)
		return request_refuse(request, "cannot keep the command's input: %s", strerror(errno));
	unlink(path);
	return true;
}

static bool write_all(int fd, const char *bytes, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, bytes, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		bytes += done;
		n -= (size_t)done;
	}
	return true;
}

/* Stores the request's input: for a command in memory; for a file in a temporary file in the same directory. */
static bool files_input(struct request *request, const char *bytes, size_t n)
{
	bool put = request->operation == REQUEST_PUT;

	if (!put && request->input_bytes > HELPER_INPUT_BYTES_MAX)
		return request_refuse(request, "more than %u MiB of input: copy it to the host as a file first",
				      HELPER_INPUT_BYTES_MAX >> 20);
	if (request->input_fd < 0 && !(put ? open_temporary(request) : open_memory(request)))
		return false;
	if (!write_all(request->input_fd, bytes, n))
		return request_refuse(request, "cannot write '%s': %s", put ? request->paths.texts[0] : "the command's input",
				      strerror(errno));
	return true;
}

/* Completes a file: sets its mode, syncs it to the disk, and then gives it its final name. */
static int files_put(struct request *request, struct frames_out *out, int in)
{
	const char *path = request->paths.texts[0];

	if (request->input_fd < 0 && !open_temporary(request))
		return request_send_refusal(request, out, in);
	if (fchmod(request->input_fd, (mode_t)request->mode) || fsync(request->input_fd) || rename(request->input_path, path)) {
		request_refuse(request, "cannot write '%s': %s", path, strerror(errno));
		return request_send_refusal(request, out, in);
	}
	free(request->input_path);
	request->input_path = NULL;
	return send_number_result(out, in, "bytes", request->input_bytes);
}

/* ---- operation work: a directory that exists as long as this process ---- */

/* Opens a directory of this user and locks it, which marks it as in use. Returns a descriptor, or -1 if the directory is in use, belongs to
 * another user, or was replaced. *locked is false if the file system does not support such locks. */
static int lock_own_directory(const char *path, bool *locked)
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

/* Removes a directory tree by rm, which follows no symbolic links and has no depth limit. */
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

/* Removes directories that are not locked, because their helpers have ended. */
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
		fd = lock_own_directory(path, &locked);
		if (locked && fd >= 0)
			remove_tree(path);
		if (fd >= 0)
			close(fd);
	}
	if (dir)
		closedir(dir);
}

/* Makes a new directory that only this user may access. On failure returns false; the reason is in request->refusal. */
static bool work_make(struct request *request, char path[PATH_BYTES], int *fd)
{
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
	const char *base = request->paths.texts[0], *label = request->paths.texts[1];

	for (int i = 0; i < DIRECTORY_TRIES_MAX; i++) {
		unsigned char bytes[LETTERS] = { 0 };
		char letters[LETTERS + 1] = "";
		bool locked;

		if (getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) < 0)
			snprintf((char *)bytes, sizeof(bytes), "%d", (int)getpid() * DIRECTORY_TRIES_MAX + i);
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
		/* Another helper's sweep may remove the directory between mkdir() and the lock. */
		*fd = lock_own_directory(path, &locked);
		if (*fd >= 0)
			return true;
		errno = EAGAIN;
	}
	return request_refuse(request, "cannot make a directory in '%s': %s", base, strerror(errno));
}

/* Finds the process that serves the connection: the nearest ancestor in another session. sshd starts each command in a new session, and
 * shells between sshd and this process do not change the session. */
static bool find_connection(struct process *out)
{
	pid_t at = getppid();

	for (;;) {
		if (at <= 1 || !process_read(at, out))
			return false;
		if (out->session != getsid(0))
			return true;
		at = out->parent;
	}
}

static bool is_still_existing(const struct process *connection)
{
	struct process now;

	return process_read(connection->id, &now) && now.alive && now.start_ticks == connection->start_ticks;
}

/* Closes the channel: replaces the standard streams by /dev/null. */
static void leave_channel(void)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	for (int fd = 0; fd <= STDERR_FILENO && null >= 0; fd++)
		dup2(null, fd);
}

/* Waits until a signal arrives or the controller is gone. If `detached`, waits for the end of the connection's process instead. Sends
 * frames, because only sending reveals a broken connection. */
static void work_stay(struct frames_out *out, int in, const struct process *connection, bool detached, int signals)
{
	struct pollfd wait[] = { { detached ? -1 : in, POLLIN, 0 }, { signals, POLLIN, 0 } };

	alarm(0); /* from now on this function watches the connection, instead of on_second_signal() */
	if (detached)
		leave_channel();
	do {
		if (poll(wait, 2, detached ? POLL_MS : HELPER_PING_MS) == 0 && !detached) {
			if (!frames_pending(out))
				frames_put_text(out, HELPER_WAITING, "");
			frames_flush(out); /* keeps frames that are not sent yet */
		}
	} while (!wait[1].revents && (detached ? is_still_existing(connection) : !wait[0].revents || frames_discard_input(in)));
}

/* Removes the directory. Takes the physical host's lock first, so that the removal does not disturb other measurements. If the wait for the
 * lock times out, removes the directory anyway. */
static void work_end(struct request *request, const char *path, int fd)
{
	struct frames_out nobody = { .fd = open("/dev/null", O_WRONLY | O_CLOEXEC) };
	struct lock lock = { .directory = -1, .file = -1 };
	struct stat mine, there;

	if (fstat(fd, &mine) || lstat(path, &there) || mine.st_ino != there.st_ino || mine.st_dev != there.st_dev)
		return; /* the controller has removed the directory */
	if (request->lock)
		lock_take(request, -1, &nobody, &lock);
	remove_tree(path);
	lock_release(&lock);
}

/* Removes directories of this user's ended sessions, makes a directory, sends its path (HELPER_DIRECTORY_MADE) and waits. Removes it when
 * the controller closes `in` for any reason, and at SIGTERM, SIGHUP, SIGINT and SIGQUIT. Returns 0, or 1 if no directory was made. */
static int work_serve(struct request *request, struct frames_out *out, int in)
{
	static const int ends[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT };
	enum lock_result got = LOCK_HELD;
	struct lock lock = { .directory = -1, .file = -1 };
	struct process connection = { .id = 0 };
	pid_t child;
	char path[PATH_BYTES];
	sigset_t signals;
	int fd = -1;

	if (request->detach && !find_connection(&connection)) {
		request_refuse(request, "this machine does not show which process has the connection");
		return request_send_refusal(request, out, in);
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
		return got == LOCK_REFUSED ? request_send_refusal(request, out, in) : 1;
	child = request->detach ? fork() : 0;
	if (child < 0) {
		request_refuse(request, "cannot start a process: %s", strerror(errno));
		rmdir(path);
		return request_send_refusal(request, out, in);
	}
	if (child > 0 || !request->detach) {
		frames_put_text(out, HELPER_DIRECTORY_MADE, path);
		if (!frames_send(out, in) && child > 0)
			kill(child, SIGTERM);
		if (child > 0)
			return 0;
	}
	work_stay(out, in, &connection, request->detach, signalfd(-1, &signals, SFD_CLOEXEC));
	work_end(request, path, fd);
	return 0;
}

/* ---- the program ---- */

/* Resets inherited state: signal actions, open descriptors, missing standard streams. */
static bool reset_process(void)
{
	int fd;

	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0) < 0) {
		for (fd = STDERR_FILENO + 1; fd < DESCRIPTOR_MAX; fd++)
			close(fd);
	}
	return fcntl(IN, F_SETFL, fcntl(IN, F_GETFL) | O_NONBLOCK) == 0 && fcntl(OUT, F_SETFL, fcntl(OUT, F_GETFL) | O_NONBLOCK) == 0;
}

static int serve_request(struct request *request, struct frames_out *out)
{
	switch (request->operation) {
	case REQUEST_RUN:
		return helper_run(request, out, IN);
	case REQUEST_READ:
		return files_read(request, out, IN);
	case REQUEST_GET:
		return files_get(request, out, IN);
	case REQUEST_PUT:
		return files_put(request, out, IN);
	case REQUEST_FACTS:
		return survey_facts(out, IN);
	case REQUEST_WORK_DIRECTORY:
		return work_serve(request, out, IN);
	case REQUEST_NONE:
		break;
	}
	return 1;
}

int main(int argc, char **argv)
{
	struct frames_out out = { .fd = OUT };
	struct request request;
	int status;

	if (self_check_arguments(&argc, argv, &status))
		return status;
	if (argc != 1 || !reset_process())
		return 2;
	signal(SIGALRM, on_second_signal);
	alarm(1);
	frames_put_raw(&out, HELPER_MAGIC, HELPER_MAGIC_BYTES);
	frames_flush(&out);
	if (!request_receive(&request, files_input, IN))
		return request_send_refusal(&request, &out, IN);
	return serve_request(&request, &out);
}

#include "fleet/helper/files.h"
#include "fleet/helper/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES 65536

static int say_number(struct frames_out *out, int in, const char *name, uint64_t value)
{
	char text[64];

	snprintf(text, sizeof(text), "%s %llu\n", name, (unsigned long long)value);
	frames_text(out, HELPER_RESULT, text);
	return frames_send(out, in) ? 0 : 1;
}

/* Regular files only: others may block, or never end. -1 with errno. */
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

/* Up to n bytes, fewer only at the end. -1 with errno. Files of /proc give a piece at a time. */
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

static void read_one(const char *path, struct frames_out *out)
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
			return request_answer_refusal(request, out, in);
		}
		read_one(path, out);
		if (!frames_send(out, in))
			return 1;
		files++;
	}
	return say_number(out, in, "files", files);
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
		request_refuse(request, "cannot read '%.300s': %s", path, strerror(errno));
		return request_answer_refusal(request, out, in);
	}
	close(fd);
	return say_number(out, in, "bytes", bytes);
}

static bool open_beside(struct request *request)
{
	const char *path = request->paths.texts[0];
	size_t n = strlen(path) + sizeof(".XXXXXX");

	request->input_path = malloc(n);
	if (!request->input_path)
		return request_refuse(request, "out of memory");
	snprintf(request->input_path, n, "%s.XXXXXX", path);
	request->input_fd = mkostemp(request->input_path, O_CLOEXEC);
	if (request->input_fd >= 0)
		return true;
	free(request->input_path);
	request->input_path = NULL;
	return request_refuse(request, "cannot make a file beside '%.300s': %s", path, strerror(errno));
}

/* In memory; where the kernel is too old for that (before 3.17), in a file without a name. */
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

bool files_input(struct request *request, const char *bytes, size_t n)
{
	bool put = request->operation == REQUEST_PUT;

	if (!put && request->input_bytes > HELPER_INPUT_BYTES_MAX)
		return request_refuse(request, "more than %u MiB of input: put it on the host as a file first",
				      HELPER_INPUT_BYTES_MAX >> 20);
	if (request->input_fd < 0 && !(put ? open_beside(request) : open_memory(request)))
		return false;
	if (!write_all(request->input_fd, bytes, n))
		return request_refuse(request, "cannot write '%.300s': %s", put ? request->paths.texts[0] : "the command's input",
				      strerror(errno));
	return true;
}

/* The new file is whole and on the disk before it takes the name. */
static int files_put(struct request *request, struct frames_out *out, int in)
{
	const char *path = request->paths.texts[0];

	if (request->input_fd < 0 && !open_beside(request))
		return request_answer_refusal(request, out, in);
	if (fchmod(request->input_fd, (mode_t)request->mode) || fsync(request->input_fd) || rename(request->input_path, path)) {
		request_refuse(request, "cannot write '%.300s': %s", path, strerror(errno));
		return request_answer_refusal(request, out, in);
	}
	free(request->input_path);
	request->input_path = NULL;
	return say_number(out, in, "bytes", request->input_bytes);
}

int files_serve(struct request *request, struct frames_out *out, int in)
{
	switch (request->operation) {
	case REQUEST_READ:
		return files_read(request, out, in);
	case REQUEST_GET:
		return files_get(request, out, in);
	default:
		return files_put(request, out, in);
	}
}

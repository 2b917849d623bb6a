#include "gate/here/here_input.h"

#include "base/mem.h"
#include "base/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEPT_BYTES_MAX (1u << 30) /* in memory */
#define PIECE_BYTES    (1u << 20)
#define SHOWN_MS       1000

static void path_set(struct here_input *input, int fd)
{
	snprintf(input->path, sizeof(input->path), "/proc/%d/fd/%d", (int)getpid(), fd);
}

/* Can runs open it themselves, and is all of it still to be read? */
static bool is_whole_file(const struct here_input *input)
{
	struct stat status;
	int fd;

	if (fstat(STDIN_FILENO, &status) || !S_ISREG(status.st_mode) || lseek(STDIN_FILENO, 0, SEEK_CUR) != 0)
		return false;
	fd = open(input->path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool write_whole(int fd, const char *bytes, size_t n)
{
	while (n > 0) {
		ssize_t more = write(fd, bytes, n);

		if (more < 0 && errno != EINTR)
			return false;
		bytes += more > 0 ? more : 0;
		n -= more > 0 ? (size_t)more : 0;
	}
	return true;
}

/* *all: so many bytes were written to fd. */
static enum assay_status keep(int fd, bool progress, uint64_t *all, struct assay_error *err)
{
	struct progress shown = progress_begin(stderr, progress_now());
	struct pollfd ready = { .fd = STDIN_FILENO, .events = POLLIN };
	char *piece = mem_new(PIECE_BYTES, 1);
	enum assay_status st = ASSAY_OK;
	ssize_t n = 1;

	for (*all = 0; !st && n != 0;) {
		if (poll(&ready, 1, SHOWN_MS) == 0) {
			if (progress)
				progress_show(&shown, progress_now(), false,
					      "waiting for the end of standard input (</dev/null: there is none)");
			continue;
		}
		n = read(STDIN_FILENO, piece, PIECE_BYTES);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			st = assay_fail(err, ASSAY_E_IO, "cannot read standard input: %s", strerror(errno));
		*all += n > 0 ? (uint64_t)n : 0;
		if (*all > KEPT_BYTES_MAX)
			st = assay_fail(
			    err, ASSAY_E_LIMIT,
			    "standard input has more than %u MiB, which are kept for all runs: put it into a file, and give that with '<'",
			    KEPT_BYTES_MAX >> 20);
		if (!st && n > 0 && !write_whole(fd, piece, (size_t)n))
			st = assay_fail(err, ASSAY_E_IO, "cannot keep standard input in memory: %s", strerror(errno));
	}
	progress_end(&shown);
	free(piece);
	return st;
}

enum assay_status here_input_take(bool progress, struct here_input *out, struct assay_error *err)
{
	struct here_input input = { .fd = -1 };
	enum assay_status st = ASSAY_OK;
	uint64_t all = 0;

	*out = input;
	if ((fcntl(STDIN_FILENO, F_GETFL) & O_ACCMODE) == O_WRONLY || isatty(STDIN_FILENO)) /* it was closed (base/dispatch.c) */
		return ASSAY_OK;
	path_set(&input, STDIN_FILENO);
	if (is_whole_file(&input)) {
		*out = input;
		return ASSAY_OK;
	}
	input.fd = memfd_create("input", MFD_CLOEXEC);
	if (input.fd < 0)
		return assay_fail(err, ASSAY_E_IO, "cannot keep standard input in memory: %s", strerror(errno));
	path_set(&input, input.fd);
	st = keep(input.fd, progress, &all, err);
	if (!st && all > 0) {
		*out = input;
		return ASSAY_OK;
	}
	close(input.fd);
	return st;
}

void here_input_release(struct here_input *input)
{
	if (input->fd >= 0)
		close(input->fd);
}

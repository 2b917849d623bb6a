/* Replaces reads of /proc and /sys by reads of the input. A line "== NAME" starts the file whose path is NAME or ends with "/NAME".
 * Included before the source under test; nothing of the machine is read or written. */
#ifndef TESTS_FUZZ_SMALL_FILES_H
#define TESTS_FUZZ_SMALL_FILES_H

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SMALL_FILES_MAX	 32
#define SMALL_FILES_FD	 1000000 /* first descriptor; the kernel's descriptors are lower */
#define SMALL_FILES_OPEN 8

static struct {
	struct small_file {
		const char *name, *bytes;
		size_t name_bytes, n;
	} files[SMALL_FILES_MAX];
	size_t n_files;
	struct {
		const struct small_file *file; /* NULL: free */
		size_t at;
	} open[SMALL_FILES_OPEN];
} small_files;

/* Divides the input into files. The input must live as long as the files are read. */
static void small_files_set(const char *input, size_t n)
{
	const char *end = input + n, *at = input;
	struct small_file *last = NULL;

	memset(&small_files, 0, sizeof(small_files));
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at)), *next = newline ? newline + 1 : end;

		if (end - at > 3 && memcmp(at, "== ", 3) == 0 && small_files.n_files < SMALL_FILES_MAX) {
			last = &small_files.files[small_files.n_files++];
			*last = (struct small_file){ .name = at + 3,
						     .name_bytes = (size_t)((newline ? newline : end) - at - 3),
						     .bytes = next };
		} else if (last) {
			last->n = (size_t)(next - last->bytes);
		}
		at = next;
	}
}

static const struct small_file *small_files_find(const char *path)
{
	size_t n = strlen(path);

	for (size_t i = 0; i < small_files.n_files; i++) {
		const struct small_file *file = &small_files.files[i];

		if (file->name_bytes && file->name_bytes <= n && memcmp(path + n - file->name_bytes, file->name, file->name_bytes) == 0 &&
		    (file->name_bytes == n || path[n - file->name_bytes - 1] == '/'))
			return file;
	}
	errno = ENOENT;
	return NULL;
}

static int small_files_open(const char *path)
{
	const struct small_file *file = small_files_find(path);

	for (int i = 0; file && i < SMALL_FILES_OPEN; i++)
		if (!small_files.open[i].file) {
			small_files.open[i].file = file;
			small_files.open[i].at = 0;
			return SMALL_FILES_FD + i;
		}
	ASSAY_BUG_IF(file); /* more files are never open at once */
	return -1;
}

/* Reads a part of a file, as the kernel may do. */
static ssize_t small_files_read(int fd, void *bytes, size_t n)
{
	const struct small_file *file = small_files.open[fd - SMALL_FILES_FD].file;
	size_t *at = &small_files.open[fd - SMALL_FILES_FD].at, most = n > 1 && *at == 0 ? n - n / 4 : n;
	size_t got = file->n - *at < most ? file->n - *at : most;

	if (got)
		memcpy(bytes, file->bytes + *at, got);
	*at += got;
	return (ssize_t)got;
}

static int small_files_close(int fd)
{
	ASSAY_BUG_IF(fd < SMALL_FILES_FD || !small_files.open[fd - SMALL_FILES_FD].file);
	small_files.open[fd - SMALL_FILES_FD].file = NULL;
	return 0;
}

/* Checks after each test that no file is still open. */
static void small_files_check(void)
{
	for (size_t i = 0; i < SMALL_FILES_OPEN; i++)
		ASSAY_BUG_IF(small_files.open[i].file);
}

/* Opens a file as a stream; NULL if there is none. fmemopen() refuses empty files. */
static inline FILE *small_files_stream(const char *path)
{
	const struct small_file *file = small_files_find(path);

	return !file ? NULL : file->n ? fmemopen((void *)(uintptr_t)file->bytes, file->n, "r") : fopen("/dev/null", "re");
}

static inline ssize_t small_files_write(int fd, const void *bytes, size_t n)
{
	(void)bytes;
	return fd % 3 ? (ssize_t)n : -1;
}

#define open(path, ...)	      small_files_open(path)
#define read(fd, bytes, n)    small_files_read(fd, bytes, n)
#define write(fd, bytes, n)   small_files_write(fd, bytes, n)
#define close(fd)	      small_files_close(fd)
#define access(path, mode)    (small_files_find(path) ? 0 : -1)
#define fopen(path, mode)     small_files_stream(path)
#define setmntent(path, mode) small_files_stream(path)

#endif

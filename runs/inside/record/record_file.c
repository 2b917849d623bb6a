/* The file: created, mapped, and its place on the disk taken piece by piece. */
#include "runs/inside/record/record_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGES_AT_ONCE    64u
#define FILES_MAX        100000u   /* of one process id in one directory */
#define POPULATE_WRITE   23        /* MADV_POPULATE_WRITE, Linux 5.14; older ones refuse it, and nothing is lost */

static void *map(size_t bytes, int protection, int flags, int file)
{
	long at = call(SYS_mmap, 0, (long)bytes, protection, flags, file, 0);

	return at < 0 && at > -(long)PAGE_BYTES ? NULL : (void *)at;
}

/* Appends to a path or a line; false when it does not fit. */
static bool append(char *to, size_t size, size_t *at, const char *text)
{
	size_t n = strlen(text);

	if (n >= size - *at)
		return false;
	memcpy(to + *at, text, n + 1);
	*at += n;
	return true;
}

/* Absolute: the program may go elsewhere. */
bool record_directory_set(struct record_writer *w, const char *directory)
{
	size_t at = 0;

	if (*directory != '/') {
		if (call(SYS_getcwd, (long)w->directory, sizeof(w->directory), 0, 0, 0, 0) < 0)
			return false;
		at = strlen(w->directory);
		if (!append(w->directory, sizeof(w->directory), &at, "/"))
			return false;
	}
	return append(w->directory, sizeof(w->directory), &at, directory);
}

static bool path_of(struct record_writer *w, uint64_t pid, uint64_t n)
{
	char digits[24];
	size_t at = 0;

	return append(w->path, sizeof(w->path), &at, w->directory) && append(w->path, sizeof(w->path), &at, "/") &&
	       append(w->path, sizeof(w->path), &at, record_number(pid, 10, digits)) && append(w->path, sizeof(w->path), &at, "-") &&
	       append(w->path, sizeof(w->path), &at, record_number(n, 10, digits)) && append(w->path, sizeof(w->path), &at, ".samples");
}

/* A new file; its descriptor, or -errno. */
static int create(struct record_writer *w, uint64_t pid)
{
	for (uint64_t n = 0; n < FILES_MAX; n++) {
		long file;

		if (!path_of(w, pid, n))
			return -ENAMETOOLONG;
		file = call(SYS_openat, AT_FDCWD, (long)w->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, 0, 0); /* it has the arguments */
		if (file != -EEXIST)
			return (int)file;
	}
	return -EEXIST;
}

/* Bytes of the disk for a part of the file (multiples of 4096), which grows if need be. 0 or an errno. By writing zeros: a write to
 * a mapped page for which there is no room would kill the program, and a page that is in the cache already is mapped in a third of the
 * time. */
static int reserve(int file, uint64_t offset, uint64_t bytes)
{
	static const char zeros[PAGE_BYTES];
	struct iovec parts[PAGES_AT_ONCE];
	struct rlimit limit;

	/* Beyond it there is a signal, not an error. */
	if (call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0) == 0 && offset + bytes > limit.rlim_cur)
		return EFBIG;
	for (size_t i = 0; i < PAGES_AT_ONCE; i++)
		parts[i] = (struct iovec){ (void *)(uintptr_t)zeros, PAGE_BYTES };
	while (bytes) {
		uint64_t pages = bytes / PAGE_BYTES < PAGES_AT_ONCE ? bytes / PAGE_BYTES : PAGES_AT_ONCE;
		long result = call(SYS_pwritev, file, (long)parts, (long)pages, (long)offset, 0, 0);

		if (result <= 0 || result % PAGE_BYTES)
			return result < 0 ? (int)-result : ENOSPC;
		offset += (uint64_t)result;
		bytes -= (uint64_t)result;
	}
	return 0;
}

uint64_t record_file_bytes(const struct record_writer *w)
{
	return PAGE_BYTES + w->options.names_bytes_max + (w->chunks_max + FINAL_CHUNKS) * w->options.chunk_bytes;
}

/* ---- its descriptor, which is used when the file cannot be opened any more ---- */

static bool is_kept(const struct record_writer *w)
{
	struct stat now;

	return w->kept >= 0 && call(SYS_fstat, w->kept, (long)&now, 0, 0, 0, 0) == 0 && now.st_dev == w->device && now.st_ino == w->inode;
}

/* At a number that the program does not use; not at all where there are none so high. */
static void keep(struct record_writer *w, int file)
{
	struct stat now = { 0 };

	w->kept = -1;
	if (call(SYS_fstat, file, (long)&now, 0, 0, 0, 0) == 0)
		w->kept = (int)call(SYS_fcntl, file, F_DUPFD_CLOEXEC, RECORD_DESCRIPTOR_LEAST, 0, 0, 0);
	w->device = now.st_dev;
	w->inode = now.st_ino;
}

void record_file_let_go(struct record_writer *w)
{
	if (is_kept(w))
		call(SYS_close, w->kept, 0, 0, 0, 0, 0);
	w->kept = -1;
}

/* Creates and maps a file and writes its header; options and directory are there. 0 or an errno. */
int record_file_begin(struct record_writer *w)
{
	uint64_t pid = (uint64_t)call(SYS_getpid, 0, 0, 0, 0, 0, 0);
	struct record_header *header;
	uint32_t *alive;
	int failed, file = create(w, pid);

	if (file < 0)
		return -file;
	failed = reserve(file, 0, PAGE_BYTES + w->options.names_bytes_max);
	header = failed ? NULL : map(record_file_bytes(w), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file);
	alive = header ? map(PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1) : NULL;
	if (alive)
		keep(w, file);
	call(SYS_close, file, 0, 0, 0, 0, 0);
	if (!alive) {
		call(SYS_unlinkat, AT_FDCWD, (long)w->path, 0, 0, 0, 0);
		if (header)
			call(SYS_munmap, (long)header, (long)record_file_bytes(w), 0, 0, 0, 0);
		return failed ? failed : ENOMEM;
	}
	call(SYS_madvise, (long)alive, PAGE_BYTES, MADV_WIPEONFORK, 0, 0, 0);
	*alive = 1;
	memcpy(header->magic, RECORD_MAGIC, sizeof(header->magic));
	header->version = w->options.brief ? RECORD_VERSION_BRIEF : RECORD_VERSION;
	header->back_end = w->options.back_end;
	header->header_bytes = PAGE_BYTES;
	header->names_bytes_max = w->options.names_bytes_max;
	header->chunk_bytes = w->options.chunk_bytes;
	header->n_counters = w->options.n_counters;
	header->pid = pid;
	header->started_ns = clock_ns(CLOCK_REALTIME);
	header->started_ticks = w->own_clock ? record_ticks() : 0;
	header->ticks_per_s = w->options.ticks_per_s;
	w->alive = alive;
	w->chunks_in_use = 0;
	w->names_in_use = 0;
	w->threads = 0;
	w->full = 0;
	w->said = false;
	w->header = header;
	return 0;
}

/* Some of the disk and of the memory, at an offset of the file. It is opened by its name where that goes: the kept descriptor is looked at,
 * but a thread of the program might put a file of its own there the moment after. */
int record_file_reserve(struct record_writer *w, uint64_t offset, uint32_t bytes)
{
	long opened = call(SYS_openat, AT_FDCWD, (long)w->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0, 0, 0);
	int failed;

	if (opened < 0 && !is_kept(w))
		return (int)-opened;
	failed = reserve(opened < 0 ? w->kept : (int)opened, offset, bytes);
	if (opened >= 0)
		call(SYS_close, opened, 0, 0, 0, 0, 0);
	/* All its pages at once: one by one they cost more, and each in the middle of what is measured. */
	if (!failed)
		call(SYS_madvise, (long)w->header + (long)offset, bytes, POPULATE_WRITE, 0, 0, 0);
	return failed;
}

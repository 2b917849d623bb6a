/* The file that samples are written to, and its place on the disk. */
#include "runs/inside/record/record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PAGES_AT_ONCE	  64u
#define FILES_MAX	  100000u /* of one process id in one directory */
#define POPULATE_WRITE	  23	  /* MADV_POPULATE_WRITE, Linux 5.14; older kernels refuse it, and nothing is lost */
#define NAMES_PIECE_BYTES 4096u

static void *pages_map(size_t bytes, int protection, int flags, int file)
{
	long at = record_system_call(SYS_mmap, 0, (long)bytes, protection, flags, file, 0);

	return at < 0 && at > -(long)RECORD_PAGE_BYTES ? NULL : (void *)at;
}

/* Appends to a path or a line; false when it does not fit. */
static bool text_append(char *to, size_t size, size_t *at, const char *text)
{
	size_t n = strlen(text);

	if (n >= size - *at)
		return false;
	memcpy(to + *at, text, n + 1);
	*at += n;
	return true;
}

/* Made absolute: the program may change its directory. */
bool record_directory_set(struct record_writer *w, const char *directory)
{
	size_t at = 0;

	if (*directory != '/') {
		if (record_system_call(SYS_getcwd, (long)w->directory, sizeof(w->directory), 0, 0, 0, 0) < 0)
			return false;
		at = strlen(w->directory);
		if (!text_append(w->directory, sizeof(w->directory), &at, "/"))
			return false;
	}
	return text_append(w->directory, sizeof(w->directory), &at, directory);
}

static bool path_of(struct record_writer *w, uint64_t pid, uint64_t n)
{
	char first[24], second[24];
	const char *const parts[] = { w->directory, "/", record_number(pid, 10, first), "-", record_number(n, 10, second), ".samples" };
	size_t at = 0, i = 0;

	while (i < 6 && text_append(w->path, sizeof(w->path), &at, parts[i]))
		i++;
	return i == 6;
}

/* A new file; its descriptor, or -errno. */
static int file_create(struct record_writer *w, uint64_t pid)
{
	for (uint64_t n = 0; n < FILES_MAX; n++) {
		long file;

		if (!path_of(w, pid, n))
			return -ENAMETOOLONG;
		file = record_system_call(SYS_openat, AT_FDCWD, (long)w->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, 0,
					  0); /* it has the arguments */
		if (file != -EEXIST)
			return (int)file;
	}
	return -EEXIST;
}

/* There is a signal, not an error. */
static bool is_beyond_limit(uint64_t end)
{
	struct rlimit limit;

	return record_system_call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0) == 0 && end > limit.rlim_cur;
}

/* Bytes of the disk for a part of the file (multiples of 4096), which grows if need be. 0 or an errno. By writing zeros: a write to
 * a mapped page for which there is no room would kill the program, and a page that is in the cache already is mapped in a third of the
 * time. */
static int disk_reserve(int file, uint64_t offset, uint64_t bytes)
{
	static const char zeros[RECORD_PAGE_BYTES];
	struct iovec parts[PAGES_AT_ONCE];

	if (is_beyond_limit(offset + bytes))
		return EFBIG;
	for (size_t i = 0; i < PAGES_AT_ONCE; i++)
		parts[i] = (struct iovec){ (void *)(uintptr_t)zeros, RECORD_PAGE_BYTES };
	while (bytes) {
		uint64_t pages = bytes / RECORD_PAGE_BYTES < PAGES_AT_ONCE ? bytes / RECORD_PAGE_BYTES : PAGES_AT_ONCE;
		long result = record_system_call(SYS_pwritev, file, (long)parts, (long)pages, (long)offset, 0, 0);

		if (result <= 0 || result % RECORD_PAGE_BYTES)
			return result < 0 ? (int)-result : ENOSPC;
		offset += (uint64_t)result;
		bytes -= (uint64_t)result;
	}
	return 0;
}

/* The same without writing, where something may stand already. A file system that knows no such thing (ramfs) is memory. */
static int disk_keep(int file, uint64_t offset, uint64_t bytes)
{
	long failed =
	    is_beyond_limit(offset + bytes) ? -EFBIG : record_system_call(SYS_fallocate, file, 0, (long)offset, (long)bytes, 0, 0);

	return failed == -EOPNOTSUPP ? 0 : (int)-failed;
}

uint64_t record_file_bytes(const struct record_writer *w)
{
	return RECORD_PAGE_BYTES + w->options.names_bytes_max + (w->chunks_max + RECORD_FINAL_CHUNKS) * w->options.chunk_bytes;
}

/* ---- its descriptor, for when the file can no longer be opened ---- */

static bool is_own(const struct record_writer *w, long file)
{
	struct stat now;

	return file >= 0 && record_system_call(SYS_fstat, file, (long)&now, 0, 0, 0, 0) == 0 && now.st_dev == w->device &&
	       now.st_ino == w->inode;
}

static bool file_is_kept(const struct record_writer *w)
{
	return is_own(w, w->kept);
}

/* By its name; a descriptor, or -errno. What is mapped is this file alone, whoever has put another one there meanwhile. */
static long file_open(const struct record_writer *w)
{
	long file = record_system_call(SYS_openat, AT_FDCWD, (long)w->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0, 0, 0);

	if (file < 0 || is_own(w, file))
		return file;
	record_system_call(SYS_close, file, 0, 0, 0, 0, 0);
	return -ESTALE;
}

/* At a number that the program does not use; not at all where numbers do not go so high. */
static void file_keep(struct record_writer *w, int file)
{
	struct stat now = { 0 };

	w->kept = -1;
	if (record_system_call(SYS_fstat, file, (long)&now, 0, 0, 0, 0) == 0)
		w->kept = (int)record_system_call(SYS_fcntl, file, F_DUPFD_CLOEXEC, RECORD_DESCRIPTOR_LEAST, 0, 0, 0);
	w->device = now.st_dev;
	w->inode = now.st_ino;
}

void record_file_let_go(struct record_writer *w)
{
	if (file_is_kept(w))
		record_system_call(SYS_close, w->kept, 0, 0, 0, 0, 0);
	w->kept = -1;
}

/* The magic last: whoever reads meanwhile sees a file that is not begun, or the whole header. */
static void header_write(const struct record_writer *w, struct record_header *header, uint64_t pid)
{
	struct record_header new = {
		.magic = RECORD_MAGIC,
		.version = w->options.packed  ? RECORD_VERSION_PACKED
			   : w->options.brief ? RECORD_VERSION_BRIEF
					      : RECORD_VERSION,
		.back_end = w->options.back_end,
		.header_bytes = RECORD_PAGE_BYTES,
		.names_bytes_max = w->options.names_bytes_max,
		.chunk_bytes = w->options.chunk_bytes,
		.n_counters = w->options.n_counters,
		.pid = pid,
		.started_ns = record_clock_ns(CLOCK_REALTIME),
		.started_ticks = w->own_clock ? record_ticks() : 0,
		.ticks_per_s = w->options.ticks_per_s,
		.ticks_per_s_first = w->options.ticks_per_s,
		.level = w->in_memory ? RECORD_LEVEL_ALL : w->options.level, /* nobody else sees that memory */
	};
	uint64_t magic;

	new.check = record_header_check(&new);
	memcpy(&magic, new.magic, sizeof(magic));
	memset(new.magic, 0, sizeof(new.magic));
	*header = new;
	__atomic_store_n((uint64_t *)(void *)header->magic, magic, __ATOMIC_RELEASE);
}

/* What has been written there once can be written again, whatever happens to the disk meanwhile. */
static bool is_written_in_place(int file)
{
	struct statfs of;

	return record_system_call(SYS_fstatfs, file, (long)&of, 0, 0, 0, 0) == 0 &&
	       (of.f_type == EXT4_SUPER_MAGIC || of.f_type == XFS_SUPER_MAGIC || of.f_type == TMPFS_MAGIC || of.f_type == RAMFS_MAGIC);
}

/* Names get their room on the disk piece by piece: most processes have few. */
uint64_t record_names_pieces(const struct record_writer *w, uint64_t bytes)
{
	uint64_t pieces = (bytes / NAMES_PIECE_BYTES + 1) * NAMES_PIECE_BYTES;

	return pieces < w->options.names_bytes_max ? pieces : w->options.names_bytes_max;
}

/* Creates and maps a file and writes its header; options and directory are there. 0 or an errno. */
int record_file_begin(struct record_writer *w)
{
	uint64_t pid = (uint64_t)record_system_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
	struct record_header *header;
	uint32_t *alive;
	int failed, file = file_create(w, pid);

	if (file < 0)
		return -file;
	w->names_reserved = record_names_pieces(w, w->names_in_use & ((1ull << RECORD_NAMES_BITS) - 1));
	/* Reading names that have no room yet must not end the program: they are a hole. */
	failed = is_beyond_limit(RECORD_PAGE_BYTES + w->options.names_bytes_max) ? EFBIG : 0;
	if (!failed)
		failed = (int)-record_system_call(SYS_ftruncate, file, (long)(RECORD_PAGE_BYTES + w->options.names_bytes_max), 0, 0, 0, 0);
	if (!failed)
		failed = disk_reserve(file, 0, RECORD_PAGE_BYTES + w->names_reserved);
	w->in_memory = !is_written_in_place(file);
	header = failed ? NULL
			: pages_map(record_file_bytes(w), PROT_READ | PROT_WRITE,
				    MAP_NORESERVE | (w->in_memory ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED), w->in_memory ? -1 : file);
	alive = header ? pages_map(RECORD_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1) : NULL;
	if (alive)
		file_keep(w, file);
	record_system_call(SYS_close, file, 0, 0, 0, 0, 0);
	if (!alive) {
		record_system_call(SYS_unlinkat, AT_FDCWD, (long)w->path, 0, 0, 0, 0);
		if (header)
			record_system_call(SYS_munmap, (long)header, (long)record_file_bytes(w), 0, 0, 0, 0);
		return failed ? failed : ENOMEM;
	}
	record_system_call(SYS_madvise, (long)alive, RECORD_PAGE_BYTES, MADV_WIPEONFORK, 0, 0, 0);
	*alive = 1;
	header_write(w, header, pid);
	w->alive = alive;
	w->chunks_in_use = 0;
	w->names_in_use = 0;
	w->threads = 0;
	w->full = 0;
	w->said = false;
	w->header = header;
	return 0;
}

/* Some of the disk and of the memory, at an offset of the file: 0 or an errno. The file is opened by its name if that is possible: the kept
 * descriptor is checked, but a thread of the program might put a file of its own there the moment after. */
int record_file_reserve(struct record_writer *w, uint64_t offset, uint32_t bytes, bool fresh)
{
	long opened = w->in_memory ? 0 : file_open(w);
	int failed;

	if (w->in_memory)
		return 0;
	if (opened < 0 && !file_is_kept(w))
		return (int)-opened;
	failed = (fresh ? disk_reserve : disk_keep)(opened < 0 ? w->kept : (int)opened, offset, bytes);
	if (opened >= 0)
		record_system_call(SYS_close, opened, 0, 0, 0, 0, 0);
	/* All its pages at once: one by one they cost more, and each in the middle of what is measured. */
	if (!failed)
		record_system_call(SYS_madvise, (long)w->header + (long)offset, bytes, POPULATE_WRITE, 0, 0, 0);
	return failed;
}

/* A part of a file that is kept in memory. 0 or an errno. */
int record_file_write(const struct record_writer *w, uint64_t offset, uint64_t bytes)
{
	long opened = file_open(w), n = 0;
	uint64_t end = offset + bytes;

	if (is_beyond_limit(end))
		n = -EFBIG;
	else if (opened < 0 && !file_is_kept(w))
		n = opened;
	while (n >= 0 && offset < end) {
		n = record_system_call(SYS_pwrite64, opened < 0 ? w->kept : opened, (long)w->header + (long)offset, (long)(end - offset),
				       (long)offset, 0, 0);
		offset += n > 0 ? (uint64_t)n : 0;
		n = n == 0 ? -ENOSPC : n;
	}
	if (opened >= 0)
		record_system_call(SYS_close, opened, 0, 0, 0, 0, 0);
	return n < 0 ? (int)-n : 0;
}

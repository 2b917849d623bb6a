/* Writes a sample file from start to end: its names, the clock rate, chunks and samples. */
#include "runs/inside/record/record_writer.h"

#include "runs/inside/record/record_pack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define NAME_YIELDS_MAX	      10000u /* maximum number of times that a child of fork() yields to wait for names that its parent was writing */
#define CALIBRATION_NS	      50000u /* duration of the clock's first calibration, ns */
#define CLOCK_READS	      3u
#define CLOCK_STEP_NS	      10000000u /* minimum time after the first calibration at which another measurement is more precise, ns */
#define ADDRESS_SHARE_INVERSE 16u	/* the default file uses at most 1 / ADDRESS_SHARE_INVERSE of a limited address space */
#define CHUNKS_MIN	      64u	/* minimum number of chunks in a file */
#define FIRST_PIECE_BYTES     16384u /* size of the first piece of a thread's first chunk, bytes; reserved when the thread takes the chunk */
#define CHUNKS_AT_ONCE	      8u     /* number of chunks reserved at once after a thread's first chunk; cheaper than single chunks */
#define ARGUMENTS_BYTES	      1024u
#define RECORD_PAGE_BYTES     4096u
#define RECORD_NAMES_BITS     40
#define RECORD_FINAL_CHUNKS   64u /* number of chunks beyond the file's maximum size, for totals at the end of threads */
#define PAGES_AT_ONCE	      64u
#define FILES_MAX	      100000u /* maximum number of files per process id and directory */
#define POPULATE_WRITE	      23      /* MADV_POPULATE_WRITE of Linux 5.14; older kernels refuse it, which does no harm */
#define NAMES_PIECE_BYTES     4096u

uint64_t record_signals_block(void)
{
	const uint64_t all = UINT64_MAX;
	uint64_t before = 0;

	record_system_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof(all), 0, 0);
	return before;
}

void record_signals_restore(uint64_t before)
{
	record_system_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof(before), 0, 0);
}

static inline void raise_to(uint64_t *value, uint64_t new)
{
	uint64_t old = __atomic_load_n(value, __ATOMIC_RELAXED);

	while (old < new && !__atomic_compare_exchange_n(value, &old, new, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

const char *record_format_number(uint64_t value, unsigned base, char out[24])
{
	char *at = out + 23;

	*at = '\0';
	do
		*--at = "0123456789abcdef"[value % base];
	while ((value /= base) != 0);
	return at;
}

/* ---- file, disk space and mapping ---- */

static inline uint64_t record_clock_ns(int which)
{
	struct timespec t = { 0, 0 };

	clock_gettime(which, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline char *names_of(const struct record_header *header)
{
	return (char *)(uintptr_t)header + header->header_bytes;
}

static void *pages_map(size_t bytes, int protection, int flags, int file)
{
	long at = record_system_call(SYS_mmap, 0, (long)bytes, protection, flags, file, 0);

	return at < 0 && at > -(long)RECORD_PAGE_BYTES ? NULL : (void *)at;
}

/* Appends `text` at to[*at] and advances *at. Returns false if the text does not fit into `size` bytes. */
static bool text_append(char *to, size_t size, size_t *at, const char *text)
{
	size_t n = strlen(text);

	if (n >= size - *at)
		return false;
	memcpy(to + *at, text, n + 1);
	*at += n;
	return true;
}

/* Stores the directory as an absolute path, because the program may change its working directory. */
static bool record_directory_set(struct record_writer *w, const char *directory)
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

static bool make_path(struct record_writer *w, uint64_t pid, uint64_t n)
{
	char first[24], second[24];
	const char *const parts[] = { w->directory, "/", record_format_number(pid, 10, first), "-", record_format_number(n, 10, second),
				      ".samples" };
	size_t at = 0, i = 0;

	while (i < 6 && text_append(w->path, sizeof(w->path), &at, parts[i]))
		i++;
	return i == 6;
}

/* Creates a new file. Returns its descriptor or -errno. */
static int file_create(struct record_writer *w, uint64_t pid)
{
	for (uint64_t n = 0; n < FILES_MAX; n++) {
		long file;

		if (!make_path(w, pid, n))
			return -ENAMETOOLONG;
		file = record_system_call(SYS_openat, AT_FDCWD, (long)w->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, 0,
					  0); /* readable only by its owner, because the file contains the program's arguments */
		if (file != -EEXIST)
			return (int)file;
	}
	return -EEXIST;
}

/* Reports whether a write up to `end` would exceed RLIMIT_FSIZE. Such a write would raise SIGXFSZ. */
static bool is_beyond_limit(uint64_t end)
{
	struct rlimit limit;

	return record_system_call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0) == 0 && end > limit.rlim_cur;
}

/* Reserves disk space for `bytes` bytes at `offset` (both multiples of 4096), and extends the file if needed. Returns 0 or an errno. Writes
 * zeros, because a write to a mapped page without space would kill the program. Cached pages are also mapped in a third of the time. */
static int disk_reserve(int file, uint64_t offset, uint64_t bytes)
{
	static const char zeros[RECORD_PAGE_BYTES];
	static struct iovec parts[PAGES_AT_ONCE]; /* static, because the stack may be small; all threads store the same values */

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

/* Reserves disk space without writing, for a part that may already have content. Returns 0 or an errno; 0 also if the file system has no
 * fallocate(), because such file systems (ramfs) are in memory. */
static int disk_keep(int file, uint64_t offset, uint64_t bytes)
{
	long failed =
	    is_beyond_limit(offset + bytes) ? -EFBIG : record_system_call(SYS_fallocate, file, 0, (long)offset, (long)bytes, 0, 0);

	return failed == -EOPNOTSUPP ? 0 : (int)-failed;
}

/* Returns the size of the mapping, bytes. */
static uint64_t record_file_bytes(const struct record_writer *w)
{
	return RECORD_PAGE_BYTES + w->options.names_bytes_max + (w->chunks_max + RECORD_FINAL_CHUNKS) * w->options.chunk_bytes;
}

/* ---- kept descriptor, for a file that can no longer be opened by its name ---- */

static bool is_own_descriptor(const struct record_writer *w, long file)
{
	struct stat now;

	return file >= 0 && record_system_call(SYS_fstat, file, (long)&now, 0, 0, 0, 0) == 0 && now.st_dev == w->device &&
	       now.st_ino == w->inode;
}

static bool file_is_stored(const struct record_writer *w)
{
	return is_own_descriptor(w, w->kept_fd);
}

/* Opens the file by its name. Returns a descriptor or -errno; -ESTALE if the name refers to another file now. */
static long file_open(const struct record_writer *w)
{
	long file = record_system_call(SYS_openat, AT_FDCWD, (long)w->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0, 0, 0);

	if (file < 0 || is_own_descriptor(w, file))
		return file;
	record_system_call(SYS_close, file, 0, 0, 0, 0, 0);
	return -ESTALE;
}

/* Keeps a descriptor at a high number, which programs do not use. Sets w->kept to -1 if RLIMIT_NOFILE is too low for that. */
static void file_cache_enable(struct record_writer *w, int file)
{
	struct stat now = { 0 };

	w->kept_fd = -1;
	if (record_system_call(SYS_fstat, file, (long)&now, 0, 0, 0, 0) == 0)
		w->kept_fd = (int)record_system_call(SYS_fcntl, file, F_DUPFD_CLOEXEC, RECORD_DESCRIPTOR_MIN, 0, 0, 0);
	w->device = now.st_dev;
	w->inode = now.st_ino;
}

/* Closes the kept descriptor. */
static void record_file_close_descriptor(struct record_writer *w)
{
	if (file_is_stored(w))
		record_system_call(SYS_close, w->kept_fd, 0, 0, 0, 0, 0);
	w->kept_fd = -1;
}

/* Writes the header, the magic number last. Concurrent readers therefore see either no magic number or the whole header. */
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
		.level = w->in_memory ? RECORD_LEVEL_ALL : w->options.level, /* no other process can change the level in private memory */
	};
	uint64_t magic;

	new.check = record_header_check(&new);
	memcpy(&magic, new.magic, sizeof(magic));
	memset(new.magic, 0, sizeof(new.magic));
	*header = new;
	__atomic_store_n((uint64_t *)(void *)header->magic, magic, __ATOMIC_RELEASE);
}

/* Reports whether the file system overwrites data in place, so that writes to reserved space cannot fail. */
static bool is_written_in_place(int file)
{
	struct statfs of;

	return record_system_call(SYS_fstatfs, file, (long)&of, 0, 0, 0, 0) == 0 &&
	       (of.f_type == EXT4_SUPER_MAGIC || of.f_type == XFS_SUPER_MAGIC || of.f_type == TMPFS_MAGIC || of.f_type == RAMFS_MAGIC);
}

/* Returns the space to reserve for `bytes` bytes of names. The space grows in pieces, because most processes have few names. */
static uint64_t record_names_pieces(const struct record_writer *w, uint64_t bytes)
{
	uint64_t pieces = (bytes / NAMES_PIECE_BYTES + 1) * NAMES_PIECE_BYTES;

	return pieces < w->options.names_bytes_max ? pieces : w->options.names_bytes_max;
}

/* Creates and maps a file, and writes its header. w->options and w->directory must be set. Returns 0 or an errno. */
static int record_file_begin(struct record_writer *w)
{
	uint64_t pid = (uint64_t)record_system_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
	struct record_header *header;
	uint32_t *alive;
	int failed, file = file_create(w, pid);

	if (file < 0)
		return -file;
	w->names_reserved = record_names_pieces(w, w->names_in_use & ((1ull << RECORD_NAMES_BITS) - 1));
	/* The space for further names is a hole in the file, so that reading it does not kill the program. */
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
		file_cache_enable(w, file);
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
	w->reason_reported = false;
	w->header = header;
	return 0;
}

/* Reserves disk space and memory for `bytes` bytes at `offset` of the file. `fresh`: the part has no content yet. Returns 0 or an errno.
 * Opens the file by its name if possible, because another thread might replace the kept descriptor after it was checked. */
static int record_file_reserve(struct record_writer *w, uint64_t offset, uint32_t bytes, bool fresh)
{
	long opened = w->in_memory ? 0 : file_open(w);
	int failed;

	if (w->in_memory)
		return 0;
	if (opened < 0 && !file_is_stored(w))
		return (int)-opened;
	failed = (fresh ? disk_reserve : disk_keep)(opened < 0 ? w->kept_fd : (int)opened, offset, bytes);
	if (opened >= 0)
		record_system_call(SYS_close, opened, 0, 0, 0, 0, 0);
	/* Loads all pages now. Separate page faults later would cost more, and would fall into measurements. */
	if (!failed)
		record_system_call(SYS_madvise, (long)w->header + (long)offset, bytes, POPULATE_WRITE, 0, 0, 0);
	return failed;
}

/* Writes a part of a file that is kept in memory. Returns 0 or an errno. */
static int record_file_write(const struct record_writer *w, uint64_t offset, uint64_t bytes)
{
	long opened = file_open(w), n = 0;
	uint64_t end = offset + bytes;

	if (is_beyond_limit(end))
		n = -EFBIG;
	else if (opened < 0 && !file_is_stored(w))
		n = opened;
	while (n >= 0 && offset < end) {
		n = record_system_call(SYS_pwrite64, opened < 0 ? w->kept_fd : opened, (long)w->header + (long)offset, (long)(end - offset),
				       (long)offset, 0, 0);
		offset += n > 0 ? (uint64_t)n : 0;
		n = n == 0 ? -ENOSPC : n;
	}
	if (opened >= 0)
		record_system_call(SYS_close, opened, 0, 0, 0, 0, 0);
	return n < 0 ? (int)-n : 0;
}

/* ---- names: lines that concurrent threads append ---- */

/* Reserves space for a line of `n` bytes. Returns its place, or NULL if there is no space. *before: number of functions before the line. An
 * incomplete line starts with a NUL, at which readers stop. */
static char *names_reserve(struct record_writer *w, size_t n, bool is_function, uint32_t *before)
{
	uint64_t old = __atomic_load_n(&w->names_in_use, __ATOMIC_RELAXED), new, bytes;

	do {
		bytes = old & ((1ull << RECORD_NAMES_BITS) - 1);
		*before = (uint32_t)(old >> RECORD_NAMES_BITS);
		if (n > w->options.names_bytes_max - bytes || (is_function && *before >= RECORD_FUNCTIONS_MAX))
			return NULL;
		new = old + n + (is_function ? 1ull << RECORD_NAMES_BITS : 0);
	} while (!__atomic_compare_exchange_n(&w->names_in_use, &old, new, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	return names_of(w->header) + bytes;
}

/* Reserves disk space for the names up to `end`. Concurrent threads may do this twice without harm. Returns false on failure. */
static bool names_extend(struct record_writer *w, uint64_t end)
{
	uint64_t from = __atomic_load_n(&w->names_reserved, __ATOMIC_ACQUIRE), to = record_names_pieces(w, end);

	if (end <= from)
		return true;
	if (record_file_reserve(w, RECORD_PAGE_BYTES + from, (uint32_t)(to - from), false)) {
		__atomic_store_n(&w->full, 1, __ATOMIC_RELAXED);
		return false;
	}
	raise_to(&w->names_reserved, to);
	return true;
}

/* Appends text[n] as one field, with '?' for control characters, and for spaces unless `blanks`. Returns the end of the field. */
static char *word_put(char *to, const char *text, size_t n, bool blanks)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];

		*to++ = c < ' ' || c == 0x7f || (c == ' ' && !blanks) ? '?' : (char)c;
	}
	return to;
}

struct word {
	const char *text;
	bool blanks;
};

/* Writes the two check digits of a line of `n` bytes. */
static void line_check(char *line, char kind, size_t n)
{
	unsigned char check = record_check_byte(record_hash(record_hash(0, &kind, 1), line + 3, n - 3));

	line[1] = "0123456789abcdef"[check >> 4];
	line[2] = "0123456789abcdef"[check & 15];
}

/* Appends a line: the letter `kind`, then the words. Returns the number of functions before it, or UINT32_MAX if there is no space. */
static uint32_t line_add(struct record_writer *w, char kind, const struct word *words, size_t n_words)
{
	size_t digits = w->options.packed ? 2 : 0, n = 2 + digits, length[4];
	uint32_t before;
	char *line, *at;

	if (!w->header || !*w->alive)
		return UINT32_MAX;
	for (size_t i = 0; i < n_words; i++)
		n += 1 + (length[i] = strlen(words[i].text));
	line = names_reserve(w, n, kind == 'f', &before);
	if (!line || !names_extend(w, (uint64_t)(line + n - names_of(w->header))))
		return UINT32_MAX;
	at = line + 1 + digits;
	for (size_t i = 0; i < n_words; i++) {
		*at++ = ' ';
		at = word_put(at, words[i].text, length[i], words[i].blanks);
	}
	if (digits)
		line_check(line, kind, (size_t)(at - line));
	*at = '\n';
	__atomic_store_n(line, kind, __ATOMIC_RELEASE); /* written last: a line is complete if its first byte is not NUL */
	raise_to(&w->header->names_bytes, (uint64_t)(line + n - names_of(w->header)));
	return before;
}

uint32_t record_add_function(struct record_writer *w, uint64_t address, const char *module, const char *name)
{
	char digits[24];
	const struct word words[] = {
		{ record_format_number(address, 16, digits), false },
		{ *module ? module : "-", false },
		{ *name ? name : "?", true },
	};

	return line_add(w, 'f', words, 3);
}

bool record_add_info(struct record_writer *w, const char *key, const char *value)
{
	const struct word words[] = { { key, false }, { value, true } };

	return line_add(w, 'i', words, 2) != UINT32_MAX;
}

void record_add_info_number(struct record_writer *w, const char *key, uint64_t number)
{
	char digits[24];

	record_add_info(w, key, record_format_number(number, 10, digits));
}

static const char *path_end(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Appends the program's arguments, separated by spaces, as many as fit. Also appends argument 0 as "name" if it differs from the name of
 * the executable, because one executable can implement several programs. */
static void record_arguments(struct record_writer *w, const char *path)
{
	char words[ARGUMENTS_BYTES] = "";
	long file = record_system_call(SYS_openat, AT_FDCWD, (long)"/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0, 0, 0), n = 0, name;

	if (file >= 0) {
		n = record_system_call(SYS_read, file, (long)words, sizeof(words) - 1, 0, 0, 0);
		record_system_call(SYS_close, file, 0, 0, 0, 0, 0);
	}
	name = (long)strlen(words);
	if (*path_end(words) && strcmp(path_end(words), path_end(path)) != 0)
		record_add_info(w, "name", path_end(words));
	if (n == (long)sizeof(words) - 1) {
		while (n > name && words[n - 1])
			n--; /* removes an incomplete last argument */
	}
	for (long i = name + 1; i + 1 < n; i++)
		words[i] = words[i] ? words[i] : ' ';
	words[n > 0 ? n : 0] = '\0';
	if (n > name + 1)
		record_add_info(w, "arguments", words + name + 1);
}

void record_add_program(struct record_writer *w)
{
	char path[RECORD_PATH_BYTES];
	long n = record_system_call(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)path, sizeof(path) - 1, 0, 0);

	path[n > 0 ? n : 0] = '\0';
	record_add_info(w, "program", path);
	record_arguments(w, path);
}

static bool record_counter(struct record_writer *w, const char *name)
{
	const struct word word = { name, false };

	return line_add(w, 'c', &word, 1) != UINT32_MAX;
}

/* Waits until the threads of the parent have written all names for which space is reserved. Returns false if they do not. */
static bool record_names_are_complete(const struct record_header *old, uint64_t bytes)
{
	for (unsigned tries = 0; tries < NAME_YIELDS_MAX; tries++) {
		if (!bytes || (names_of(old)[bytes - 1] == '\n' && !memchr(names_of(old), '\0', bytes)))
			return true;
		record_system_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
	return false;
}

/* ---- clock ---- */

/* Returns ticks and time (CLOCK_MONOTONIC_RAW) of the same moment. Takes the fastest of several readings, because the others may include
 * time in which another program used the CPU. */
static struct record_clock_reading read_clocks(void)
{
	struct record_clock_reading moment = { 0, 0 };
	uint64_t shortest = UINT64_MAX;

	for (unsigned i = 0; i < CLOCK_READS; i++) {
		uint64_t before = record_ticks(), ns = record_clock_ns(CLOCK_MONOTONIC_RAW), took = record_ticks() - before;

		if (took < shortest || i == 0)
			moment = (struct record_clock_reading){ before + took / 2, ns };
		shortest = took < shortest ? took : shortest;
	}
	return moment;
}

/* Returns the clock rate between w->first and `now`, ticks per second. */
static uint64_t ticks_per_s(const struct record_writer *w, struct record_clock_reading now)
{
	return (uint64_t)((double)(now.ticks - w->first.ticks) * 1e9 / (double)(now.ns - w->first.ns));
}

static void clock_start(struct record_writer *w)
{
	struct record_clock_reading now;

	if (!w->own_clock)
		return;
	w->first = read_clocks();
	do
		now = read_clocks();
	while (now.ns < w->first.ns + CALIBRATION_NS);
	w->options.ticks_per_s = ticks_per_s(w, now);
}

/* Measures the clock rate again, because the result becomes more precise with time. */
static void clock_refine(struct record_writer *w)
{
	struct record_clock_reading now;

	if (!w->own_clock)
		return;
	now = read_clocks();
	if (now.ns > w->first.ns + CLOCK_STEP_NS && now.ticks > w->first.ticks) /* a VM migration may set clocks back */
		__atomic_store_n(&w->header->ticks_per_s, ticks_per_s(w, now), __ATOMIC_RELAXED);
}

/* ---- chunks ---- */

static uint64_t chunk_offset(const struct record_writer *w, uint64_t chunk)
{
	return RECORD_PAGE_BYTES + w->options.names_bytes_max + chunk * w->options.chunk_bytes;
}

void record_report_reason(struct record_writer *w, const char *why)
{
	if (!__atomic_exchange_n(&w->reason_reported, true, __ATOMIC_RELAXED))
		record_add_info(w, "dropped", why);
}

/* Reserves space for samples. Returns false on failure. All failures are permanent, except a temporary lack of file descriptors. */
static bool record_reserve(struct record_writer *w, uint64_t offset, uint32_t bytes)
{
	int failed = record_file_reserve(w, offset, bytes, true);

	if (failed)
		record_report_reason(w, strerrordesc_np(failed));
	if (failed && failed != EMFILE && failed != ENFILE)
		__atomic_store_n(&w->full, 1, __ATOMIC_RELAXED);
	return !failed;
}

static uint32_t chunk_bytes_left(const struct record_writer *w, const struct record_thread *t)
{
	return w->options.chunk_bytes - (uint32_t)(t->end - (unsigned char *)t->chunk);
}

/* Extends the reserved part of the thread's first chunk. Its size doubles each time, because many threads need little. Later chunks are
 * reserved as a whole, several at once. */
static bool chunk_extend(struct record_writer *w, struct record_thread *t)
{
	uint32_t left = chunk_bytes_left(w, t), piece = w->options.chunk_bytes - left;

	if (piece > left)
		piece = left;
	if (!record_reserve(w, (uint64_t)(t->end - (unsigned char *)w->header), piece))
		return false;
	t->end += piece;
	return true;
}

/* Claims one chunk for the thread, or several if the thread has filled its first one. Returns false if the file has its maximum size. */
static bool claim_chunks(struct record_writer *w, struct record_thread *t)
{
	uint64_t limit = __atomic_load_n(&w->chunks_max, __ATOMIC_RELAXED) + (t->final ? RECORD_FINAL_CHUNKS : 0),
		 wanted = !t->chunk || w->options.packed ? 1 : CHUNKS_AT_ONCE;
	uint64_t n = __atomic_load_n(&w->chunks_in_use, __ATOMIC_RELAXED), taken;

	do {
		if (n >= limit) {
			record_report_reason(w, "the sample file reached its size limit");
			__atomic_store_n(&w->full, 1, __ATOMIC_RELAXED);
			return false;
		}
		taken = limit - n < wanted ? limit - n : wanted;
	} while (!__atomic_compare_exchange_n(&w->chunks_in_use, &n, n + taken, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	t->spare = n;
	t->n_spare_chunks = taken;
	return true;
}

/* Claims chunks and reserves their disk space. Reserves only `first` bytes if it claims one chunk. Returns false on failure. */
static bool reserve_chunks(struct record_writer *w, struct record_thread *t, uint32_t first)
{
	uint64_t end;

	if (!claim_chunks(w, t))
		return false;
	clock_refine(w);
	if (record_reserve(w, chunk_offset(w, t->spare),
			   t->n_spare_chunks > 1 ? (uint32_t)t->n_spare_chunks * w->options.chunk_bytes : first))
		return true;
	/* Gives the chunks back, unless other threads have claimed later ones. */
	end = t->spare + t->n_spare_chunks;
	__atomic_compare_exchange_n(&w->chunks_in_use, &end, t->spare, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	t->n_spare_chunks = 0;
	return false;
}

/* Writes a chunk of a file that is kept in memory, then the header and the names. */
static void chunk_write(struct record_writer *w, struct record_chunk *chunk)
{
	uint64_t bytes = w->options.packed ? w->options.chunk_bytes : sizeof(*chunk) + chunk->samples * w->sample_bytes;
	int failed = record_file_write(w, (uint64_t)((unsigned char *)chunk - (unsigned char *)w->header), bytes);

	if (failed) {
		record_report_reason(w, strerrordesc_np(failed));
		__atomic_fetch_add(&w->header->dropped, chunk->samples, __ATOMIC_RELAXED);
		__atomic_store_n(&w->full, 1, __ATOMIC_RELAXED);
	}
	record_file_write(w, 0, RECORD_PAGE_BYTES + w->header->names_bytes);
}

static void chunks_write(struct record_writer *w)
{
	uint64_t signals = record_signals_block();

	for (uint64_t i = 0; i < w->header->chunks; i++) {
		struct record_chunk *chunk = (struct record_chunk *)(void *)((unsigned char *)w->header + chunk_offset(w, i));

		if (chunk->magic == RECORD_CHUNK_MAGIC)
			chunk_write(w, chunk);
	}
	record_file_write(w, 0, RECORD_PAGE_BYTES + w->header->names_bytes);
	record_signals_restore(signals);
}

static bool chunk_begin(struct record_writer *w, struct record_thread *t)
{
	uint32_t piece = w->options.chunk_bytes < FIRST_PIECE_BYTES || t->chunk ? w->options.chunk_bytes : FIRST_PIECE_BYTES;
	struct record_chunk *chunk;

	if (!t->n_spare_chunks && !reserve_chunks(w, t, piece))
		return false;
	if (w->in_memory && t->chunk) {
		chunk_write(w, t->chunk);
		record_system_call(SYS_madvise, (long)t->chunk, w->options.chunk_bytes, MADV_DONTNEED, 0, 0,
				   0); /* clears the chunk after it was written */
	}
	if (!t->has_number) {
		t->number = __atomic_fetch_add(&w->threads, 1, __ATOMIC_RELAXED);
		t->has_number = true;
	}
	chunk = (struct record_chunk *)(void *)((unsigned char *)w->header + chunk_offset(w, t->spare));
	chunk->thread = t->number;
	__atomic_store_n(&chunk->magic, RECORD_CHUNK_MAGIC, __ATOMIC_RELEASE);
	raise_to(&w->header->chunks, t->spare + 1);
	t->spare++;
	t->n_spare_chunks--;
	t->chunk = chunk;
	t->next = (unsigned char *)(chunk + 1);
	t->end = (unsigned char *)chunk + piece;
	return true;
}

void record_repair_count(const struct record_writer *w, struct record_thread *t)
{
	if (t->chunk && !w->options.packed)
		__atomic_store_n(&t->chunk->samples, (uint64_t)(t->next - (unsigned char *)(t->chunk + 1)) / w->sample_bytes,
				 __ATOMIC_RELEASE);
}

bool record_extend_chunk(struct record_writer *w, struct record_thread *t)
{
	uint64_t signals;
	bool got;

	if (record_must_drop(w, t))
		return false;
	signals = record_signals_block();
	record_repair_count(w, t);
	/* Each piece is large enough for at least one sample with the maximum number of counters. */
	got = t->chunk && chunk_bytes_left(w, t) >= w->sample_bytes ? chunk_extend(w, t) : chunk_begin(w, t);
	record_signals_restore(signals);
	if (got) {
		t->last_skip = 0;
		return true;
	}
	/* Each failure doubles the number of samples to drop before the next search. This loses at most as many samples again. */
	t->last_skip = t->last_skip < RECORD_SKIPS_MAX ? 2 * t->last_skip + 1 : RECORD_SKIPS_MAX;
	t->skip = t->last_skip;
	record_drop(w, t);
	return false;
}

struct record_sample *record_pack_begin(struct record_writer *w, struct record_thread *t, uint64_t *memory)
{
	if (!record_begin(w, t))
		return NULL;
	if (t->next == (unsigned char *)(t->chunk + 1)) /* resets the state, so that each chunk can be read without earlier chunks */
		record_pack_reset(record_pack_state(memory, w->options.n_counters), t->number);
	return (struct record_sample *)(void *)memory;
}

uint32_t record_pack_commit(struct record_writer *w, struct record_thread *t, uint64_t *memory)
{
	uint32_t n = w->options.n_counters;
	size_t bytes = record_pack((const struct record_sample *)(const void *)memory, n, record_pack_state(memory, n), t->next);

	t->next += bytes;
	__atomic_store_n(&t->chunk->samples, t->chunk->samples + 1, __ATOMIC_RELEASE);
	return (uint32_t)bytes;
}

/* ---- start and end ---- */

static int options_check(const struct record_options *o)
{
	uint64_t whole = RECORD_PAGE_BYTES + (uint64_t)o->names_bytes_max + o->chunk_bytes;
	uint64_t sample = o->packed ? RECORD_PACKED_BYTES(o->n_counters) : sizeof(struct record_sample) + o->n_counters * sizeof(uint64_t);

	if (o->n_counters > RECORD_COUNTERS_MAX)
		return E2BIG;
	if (o->brief && (o->n_counters || o->packed))
		return EINVAL;
	if (o->chunk_bytes % RECORD_PAGE_BYTES || o->names_bytes_max % RECORD_PAGE_BYTES || o->chunk_bytes > RECORD_CHUNK_BYTES_MAX ||
	    o->names_bytes_max > RECORD_NAMES_BYTES_MAX || o->chunk_bytes < sizeof(struct record_chunk) + sample)
		return EINVAL;
	return o->file_bytes_max < whole || o->file_bytes_max > RECORD_FILE_BYTES_MAX ? EINVAL : 0;
}

/* Returns the file size for a limited address space, bytes. It is a small part of that, because the program needs the rest. */
static uint64_t file_size_for_address_space(const struct record_options *o, uint64_t address_space)
{
	uint64_t least = RECORD_PAGE_BYTES + (uint64_t)o->names_bytes_max + CHUNKS_MIN * (uint64_t)o->chunk_bytes;
	uint64_t part = address_space / ADDRESS_SHARE_INVERSE / RECORD_PAGE_BYTES * RECORD_PAGE_BYTES;

	part = part > least ? part : least;
	return part < RECORD_FILE_BYTES ? part : RECORD_FILE_BYTES;
}

static uint64_t file_bytes_default(const struct record_options *o)
{
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };

	record_system_call(SYS_prlimit64, 0, RLIMIT_AS, 0, (long)&limit, 0, 0);
	return file_size_for_address_space(o, limit.rlim_cur);
}

static uint64_t max_chunks_for_file_size(const struct record_options *o, uint64_t file_bytes)
{
	return (file_bytes - RECORD_PAGE_BYTES - o->names_bytes_max) / o->chunk_bytes;
}

/* Keeps CHUNKS_MIN more chunks mapped, because other threads that have read the old limit may still take some. */
void record_prepare_limit(struct record_writer *w, uint64_t address_space)
{
	uint64_t old = w->header && *w->alive ? record_file_bytes(w) : 0, signals, chunks, in_use;

	if (!old)
		return;
	signals = record_signals_block();
	chunks = max_chunks_for_file_size(&w->options, file_size_for_address_space(&w->options, address_space));
	in_use = __atomic_load_n(&w->chunks_in_use, __ATOMIC_RELAXED) + CHUNKS_MIN;
	chunks = chunks > in_use ? chunks : in_use;
	if (chunks < w->chunks_max) {
		__atomic_store_n(&w->chunks_max, chunks, __ATOMIC_RELAXED);
		record_system_call(SYS_munmap, (long)w->header + (long)record_file_bytes(w), (long)(old - record_file_bytes(w)), 0, 0, 0,
				   0);
	}
	record_signals_restore(signals);
}

/* Locks a mapping, given as a line "START-END rwxp ...". First locks without loading pages, which fails if mlockall() would fail. Then
 * loads the existing pages, unless `flags` has MCL_ONFAULT. Returns 0 or -errno. */
static long mapping_lock(const struct record_writer *w, char *line, int flags, bool (*is_ours)(uintptr_t start, uintptr_t end))
{
	uintptr_t low = (uintptr_t)w->header, high = low + record_file_bytes(w);
	uintptr_t start = strtoul(line, &line, 16), end = strtoul(line + 1, &line, 16);
	long failed;

	if ((start < high && end > low) || strncmp(line, " ---", 4) == 0 || (intptr_t)start < 0 || (is_ours && is_ours(start, end)))
		return 0;
	failed = record_system_call(SYS_mlock2, (long)start, (long)(end - start), MLOCK_ONFAULT, 0, 0, 0);
	if (!failed && !(flags & MCL_ONFAULT))
		record_system_call(SYS_mlock, (long)start, (long)(end - start), 0, 0, 0, 0);
	return failed;
}

int record_lock_all(const struct record_writer *w, int flags, bool (*is_ours)(uintptr_t start, uintptr_t end))
{
	long file = -1, failed = 0, n = 0;
	char line[64], c; /* line: first 64 bytes of a line */

	if (w->header && flags & MCL_CURRENT && !(flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)))
		file = record_system_call(SYS_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC, 0, 0, 0);
	if (file < 0)
		failed = record_system_call(SYS_mlockall, flags, 0, 0, 0, 0, 0);
	while (!failed && record_system_call(SYS_read, file, (long)&c, 1, 0, 0, 0) == 1) {
		if (n < (long)sizeof(line))
			line[n++] = c;
		if (c != '\n')
			continue;
		line[n - (n == (long)sizeof(line))] = '\0';
		failed = mapping_lock(w, line, flags, is_ours);
		n = 0;
	}
	record_system_call(SYS_close, file, 0, 0, 0, 0, 0);
	if (file >= 0 && !failed && flags & MCL_FUTURE)
		failed = record_system_call(SYS_mlockall, flags & ~MCL_CURRENT, 0, 0, 0, 0, 0);
	if (file >= 0 && failed)
		record_system_call(SYS_munlockall, 0, 0, 0, 0, 0, 0);
	errno = failed ? (int)-failed : errno;
	return failed ? -1 : 0;
}

int record_open(struct record_writer *w, const struct record_options *options)
{
	int failed;

	memset(w, 0, sizeof(*w));
	w->options = *options;
	w->options.counters = NULL;
	w->options.directory = NULL;
	if (!w->options.chunk_bytes)
		w->options.chunk_bytes = RECORD_CHUNK_BYTES;
	if (!w->options.names_bytes_max)
		w->options.names_bytes_max = RECORD_NAMES_BYTES;
	if (!w->options.file_bytes_max)
		w->options.file_bytes_max = file_bytes_default(&w->options);
	failed = options_check(&w->options);
	if (failed)
		return failed;
	if (!record_directory_set(w, options->directory))
		return ENAMETOOLONG;
	w->sample_bytes = (uint32_t)(sizeof(struct record_sample) + options->n_counters * sizeof(uint64_t));
	if (options->brief)
		w->sample_bytes = sizeof(struct record_brief);
	else if (options->packed)
		w->sample_bytes = RECORD_PACKED_BYTES(options->n_counters);
	w->chunks_max = max_chunks_for_file_size(&w->options, w->options.file_bytes_max);
	w->own_clock = !options->ticks_per_s;
	clock_start(w);
	failed = record_file_begin(w);
	for (uint32_t i = 0; !failed && i < options->n_counters; i++) {
		if (!record_counter(w, options->counters[i])) {
			record_close(w);
			failed = E2BIG;
		}
	}
	return failed;
}

void record_close(struct record_writer *w)
{
	if (!w->header || !*w->alive)
		return;
	clock_refine(w);
	__atomic_store_n(&w->full, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&w->header->finished, 1, __ATOMIC_RELEASE);
	if (w->in_memory)
		chunks_write(w);
	record_file_close_descriptor(w);
}

int record_reopen_in_child(struct record_writer *w, struct record_thread *t)
{
	static const uint32_t closed = 1; /* makes the writer look alive, so that no hook calls record_reopen_in_child() again */
	struct record_header *old = w->header;
	const volatile uint32_t *alive = w->alive;
	uint64_t in_use = w->names_in_use, bytes = in_use & ((1ull << RECORD_NAMES_BITS) - 1), old_bytes = record_file_bytes(w);
	int failed;

	memset(t, 0, sizeof(*t));
	if (!old)
		return 0;
	w->header = NULL;
	w->alive = &closed;
	record_system_call(SYS_munmap, (long)alive, RECORD_PAGE_BYTES, 0, 0, 0, 0);
	record_file_close_descriptor(w);
	failed = record_names_are_complete(old, bytes) ? record_file_begin(w) : EAGAIN;
	if (!failed) {
		memcpy(names_of(w->header), names_of(old), bytes);
		w->names_in_use = in_use;
		__atomic_store_n(&w->header->names_bytes, bytes, __ATOMIC_RELEASE);
	}
	record_system_call(SYS_munmap, (long)old, (long)old_bytes, 0, 0, 0, 0);
	return failed;
}

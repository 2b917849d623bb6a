#include "runs/record/record_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES       4096u
#define CALIBRATION_NS   50000u    /* of the clock, at the start */
#define CLOCK_STEP_NS    10000000u /* after which a longer look at the clock is better than the first one */
#define FINAL_CHUNKS     64u       /* beyond the limit, for what threads say at their end */
#define PAGES_AT_ONCE    64u
#define FIRST_PIECE      16384u    /* of a chunk: what is reserved when it is begun */
#define FILES_MAX        100000u   /* of one process id in one directory */
#define NAMES_BYTES_BITS 40
#define POPULATE_WRITE   23        /* MADV_POPULATE_WRITE, Linux 5.14; older ones refuse it, and nothing is lost */
#define NAMES_WAIT       10000u    /* times that a child gives way for a name that its parent is writing */

/* The result, or -errno. libc's functions would be the program's own, or points of cancellation. */
static long call(long number, long a, long b, long c, long d, long e, long f)
{
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static void *map(size_t bytes, int protection, int flags, int file)
{
	long at = call(SYS_mmap, 0, (long)bytes, protection, flags, file, 0);

	return at < 0 && at > -(long)PAGE_BYTES ? NULL : (void *)at;
}

static uint64_t clock_ns(int which)
{
	struct timespec t = { 0, 0 };

	clock_gettime(which, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the clock ---- */

static struct record_moment moment_now(void)
{
	return (struct record_moment){ record_ticks(), clock_ns(CLOCK_MONOTONIC_RAW) };
}

/* Ticks per second since the first moment. */
static uint64_t ticks_per_s(const struct record_writer *w, struct record_moment now)
{
	return (uint64_t)((double)(now.ticks - w->first.ticks) * 1e9 / (double)(now.ns - w->first.ns));
}

static void clock_start(struct record_writer *w)
{
	struct record_moment now;

	if (!w->own_clock)
		return;
	w->first = moment_now();
	do
		now = moment_now();
	while (now.ns < w->first.ns + CALIBRATION_NS);
	w->options.ticks_per_s = ticks_per_s(w, now);
}

/* The longer the program runs, the better its clock is known. */
static void clock_refine(struct record_writer *w)
{
	struct record_moment now;

	if (!w->own_clock)
		return;
	now = moment_now();
	if (now.ns > w->first.ns + CLOCK_STEP_NS)
		__atomic_store_n(&w->header->ticks_per_s, ticks_per_s(w, now), __ATOMIC_RELAXED);
}

/* ---- the file ---- */

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

static const char *number(uint64_t value, unsigned base, char out[24])
{
	char *at = out + 23;

	*at = '\0';
	do
		*--at = "0123456789abcdef"[value % base];
	while ((value /= base) != 0);
	return at;
}

/* Absolute: the program may go elsewhere. */
static bool directory_set(struct record_writer *w, const char *directory)
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
	       append(w->path, sizeof(w->path), &at, number(pid, 10, digits)) && append(w->path, sizeof(w->path), &at, "-") &&
	       append(w->path, sizeof(w->path), &at, number(n, 10, digits)) && append(w->path, sizeof(w->path), &at, ".samples");
}

/* A new file; its descriptor, or -errno. */
static int create(struct record_writer *w, uint64_t pid)
{
	for (uint64_t n = 0; n < FILES_MAX; n++) {
		long file;

		if (!path_of(w, pid, n))
			return -ENAMETOOLONG;
		file = call(SYS_openat, AT_FDCWD, (long)w->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644, 0, 0);
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

static uint64_t file_bytes(const struct record_writer *w)
{
	return PAGE_BYTES + w->options.names_bytes_max + (w->chunks_max + FINAL_CHUNKS) * w->options.chunk_bytes;
}

static void grow_to(uint64_t *value, uint64_t new)
{
	uint64_t old = __atomic_load_n(value, __ATOMIC_RELAXED);

	while (old < new && !__atomic_compare_exchange_n(value, &old, new, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/* Creates and maps a file and writes its header; options and directory are there. 0 or an errno. */
static int begin_file(struct record_writer *w)
{
	uint64_t pid = (uint64_t)call(SYS_getpid, 0, 0, 0, 0, 0, 0);
	struct record_header *header;
	uint32_t *alive;
	int failed, file = create(w, pid);

	if (file < 0)
		return -file;
	failed = reserve(file, 0, PAGE_BYTES + w->options.names_bytes_max);
	header = failed ? NULL : map(file_bytes(w), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file);
	alive = header ? map(PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1) : NULL;
	call(SYS_close, file, 0, 0, 0, 0, 0);
	if (!alive) {
		call(SYS_unlinkat, AT_FDCWD, (long)w->path, 0, 0, 0, 0);
		if (header)
			call(SYS_munmap, (long)header, (long)file_bytes(w), 0, 0, 0, 0);
		return failed ? failed : ENOMEM;
	}
	call(SYS_madvise, (long)alive, PAGE_BYTES, MADV_WIPEONFORK, 0, 0, 0);
	*alive = 1;
	memcpy(header->magic, RECORD_MAGIC, sizeof(header->magic));
	header->version = RECORD_VERSION;
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
	w->header = header;
	return 0;
}

/* ---- names ---- */

static char *names_of(const struct record_header *header)
{
	return (char *)(uintptr_t)header + header->header_bytes;
}

/* Room for a line of n bytes; the number of functions before it goes to *before. NULL: none left. A line that is not written to its end
 * leaves NULs, which end the reading. */
static char *names_take(struct record_writer *w, size_t n, bool is_function, uint32_t *before)
{
	uint64_t old = __atomic_load_n(&w->names_in_use, __ATOMIC_RELAXED), new, bytes;

	do {
		bytes = old & ((1ull << NAMES_BYTES_BITS) - 1);
		*before = (uint32_t)(old >> NAMES_BYTES_BITS);
		if (n > w->options.names_bytes_max - bytes || (is_function && *before >= RECORD_FUNCTIONS_MAX))
			return NULL;
		new = old + n + (is_function ? 1ull << NAMES_BYTES_BITS : 0);
	} while (!__atomic_compare_exchange_n(&w->names_in_use, &old, new, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	return names_of(w->header) + bytes;
}

/* Appends a word (or, when `blanks` may stand in it, the rest of the line) without what would end it. */
static char *put(char *to, const char *text, size_t n, bool blanks)
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

/* A line: kind, then words; UINT32_MAX when there is no room, else the number of functions before it. */
static uint32_t add_line(struct record_writer *w, char kind, const struct word *words, size_t n_words)
{
	size_t n = 2, length[4];
	uint32_t before;
	char *line, *at;

	if (!w->header || !*w->alive)
		return UINT32_MAX;
	for (size_t i = 0; i < n_words; i++)
		n += 1 + (length[i] = strlen(words[i].text));
	line = names_take(w, n, kind == 'f', &before);
	if (!line)
		return UINT32_MAX;
	at = line + 1;
	for (size_t i = 0; i < n_words; i++) {
		*at++ = ' ';
		at = put(at, words[i].text, length[i], words[i].blanks);
	}
	*at = '\n';
	__atomic_store_n(line, kind, __ATOMIC_RELEASE); /* last: a line whose first byte is there is whole */
	grow_to(&w->header->names_bytes, (uint64_t)(line + n - names_of(w->header)));
	return before;
}

uint32_t record_function(struct record_writer *w, uint64_t address, const char *module, const char *name)
{
	char digits[24];
	const struct word words[] = { { number(address, 16, digits), false }, { *module ? module : "-", false }, { *name ? name : "?", true } };

	return add_line(w, 'f', words, 3);
}

bool record_info(struct record_writer *w, const char *key, const char *value)
{
	const struct word words[] = { { key, false }, { value, true } };

	return add_line(w, 'i', words, 2) != UINT32_MAX;
}

/* ---- chunks ---- */

static uint64_t place_of(const struct record_writer *w, uint64_t chunk)
{
	return PAGE_BYTES + w->options.names_bytes_max + chunk * w->options.chunk_bytes;
}

/* Some of the disk and of the memory, at an offset of the file. The descriptor is not kept: a program that closes all that it does not
 * know would have its own file there next. */
static bool reserve_piece(struct record_writer *w, uint64_t offset, uint32_t bytes)
{
	long file = call(SYS_openat, AT_FDCWD, (long)w->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0, 0, 0);
	bool reserved;

	if (file < 0)
		return false;
	reserved = reserve((int)file, offset, bytes) == 0;
	call(SYS_close, file, 0, 0, 0, 0, 0);
	/* All its pages at once: one by one they cost more, and each in the middle of what is measured. */
	if (reserved)
		call(SYS_madvise, (long)w->header + (long)offset, bytes, POPULATE_WRITE, 0, 0, 0);
	return reserved;
}

static bool drop(struct record_writer *w, struct record_thread *t)
{
	if (t->chunk)
		__atomic_store_n(&t->chunk->dropped, t->chunk->dropped + 1, __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(&w->header->dropped, 1, __ATOMIC_RELAXED);
	return false;
}

/* A thread that measures little needs little; the pieces double. False: the chunk is full, or the disk. */
static bool chunk_extend(struct record_writer *w, struct record_thread *t)
{
	unsigned char *begin = (unsigned char *)t->chunk;
	uint32_t bytes = w->options.chunk_bytes, used = (uint32_t)(t->end - begin), piece = used;

	if (bytes - used < w->sample_bytes)
		return false;
	if (piece > bytes - used)
		piece = bytes - used;
	if (!reserve_piece(w, (uint64_t)(t->end - (unsigned char *)w->header), piece)) {
		__atomic_store_n(&w->full, 1, __ATOMIC_RELAXED);
		return false;
	}
	t->end += piece;
	return true;
}

static bool chunk_begin(struct record_writer *w, struct record_thread *t)
{
	uint64_t n = __atomic_fetch_add(&w->chunks_in_use, 1, __ATOMIC_RELAXED);
	uint32_t piece = w->options.chunk_bytes < FIRST_PIECE ? w->options.chunk_bytes : FIRST_PIECE;
	struct record_chunk *chunk;

	if (n >= w->chunks_max + (t->final ? FINAL_CHUNKS : 0) || !reserve_piece(w, place_of(w, n), piece)) {
		__atomic_store_n(&w->full, 1, __ATOMIC_RELAXED);
		return false;
	}
	if (!t->numbered) {
		t->number = __atomic_fetch_add(&w->threads, 1, __ATOMIC_RELAXED);
		t->numbered = true;
	}
	chunk = (struct record_chunk *)(void *)((unsigned char *)w->header + place_of(w, n));
	chunk->thread = t->number;
	__atomic_store_n(&chunk->magic, RECORD_CHUNK_MAGIC, __ATOMIC_RELEASE);
	grow_to(&w->header->chunks, n + 1);
	t->chunk = chunk;
	t->next = (unsigned char *)(chunk + 1);
	t->end = (unsigned char *)chunk + piece;
	clock_refine(w);
	return true;
}

bool record_chunk_take(struct record_writer *w, struct record_thread *t)
{
	bool full = __atomic_load_n(&w->full, __ATOMIC_RELAXED) && !t->final;

	/* The first piece holds one sample of the greatest number of counters at least, and so does each later one. */
	if (!full && ((t->chunk && chunk_extend(w, t)) || chunk_begin(w, t)))
		return true;
	return drop(w, t);
}

/* ---- from the beginning to the end ---- */

static int options_check(const struct record_options *o)
{
	uint64_t whole = PAGE_BYTES + (uint64_t)o->names_bytes_max + o->chunk_bytes;
	uint64_t sample = sizeof(struct record_sample) + o->n_counters * sizeof(uint64_t);

	if (o->n_counters > RECORD_COUNTERS_MAX)
		return E2BIG;
	if (o->chunk_bytes % PAGE_BYTES || o->names_bytes_max % PAGE_BYTES || o->chunk_bytes > RECORD_CHUNK_BYTES_MAX ||
	    o->names_bytes_max > RECORD_NAMES_BYTES_MAX || o->chunk_bytes < sizeof(struct record_chunk) + sample)
		return EINVAL;
	return o->file_bytes_max < whole || o->file_bytes_max > RECORD_FILE_BYTES_MAX ? EINVAL : 0;
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
		w->options.file_bytes_max = RECORD_FILE_BYTES;
	failed = options_check(&w->options);
	if (failed)
		return failed;
	if (!directory_set(w, options->directory))
		return ENAMETOOLONG;
	w->sample_bytes = (uint32_t)(sizeof(struct record_sample) + options->n_counters * sizeof(uint64_t));
	w->chunks_max = (w->options.file_bytes_max - PAGE_BYTES - w->options.names_bytes_max) / w->options.chunk_bytes;
	w->own_clock = !options->ticks_per_s;
	clock_start(w);
	failed = begin_file(w);
	for (uint32_t i = 0; !failed && i < options->n_counters; i++) {
		const struct word name = { options->counters[i], false };

		if (add_line(w, 'c', &name, 1) == UINT32_MAX) {
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
}

/* Are the names that the parent has given out all written? */
static bool names_whole(const struct record_header *old, uint64_t bytes)
{
	for (unsigned tries = 0; tries < NAMES_WAIT; tries++) {
		if (!bytes || (names_of(old)[bytes - 1] == '\n' && !memchr(names_of(old), '\0', bytes)))
			return true;
		call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
	return false;
}

int record_fork(struct record_writer *w, struct record_thread *t)
{
	struct record_header *old = w->header;
	uint64_t in_use = w->names_in_use, bytes = in_use & ((1ull << NAMES_BYTES_BITS) - 1), old_bytes = file_bytes(w);
	int failed;

	memset(t, 0, sizeof(*t));
	if (!old)
		return 0;
	call(SYS_munmap, (long)w->alive, PAGE_BYTES, 0, 0, 0, 0);
	w->header = NULL;
	failed = names_whole(old, bytes) ? begin_file(w) : EAGAIN;
	if (!failed) {
		memcpy(names_of(w->header), names_of(old), bytes);
		w->names_in_use = in_use;
		__atomic_store_n(&w->header->names_bytes, bytes, __ATOMIC_RELEASE);
	}
	call(SYS_munmap, (long)old, (long)old_bytes, 0, 0, 0, 0);
	return failed;
}

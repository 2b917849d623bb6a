/* The writer of a sample file: names in it, the clock, chunks and samples, and all of it from the beginning to the end. */
#include "runs/inside/record/record_file.h"
#include "runs/inside/record/record_pack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NAMES_WAIT	10000u /* times that a child yields while its parent's name is not written to its end */
#define CALIBRATION_NS	50000u /* of the clock, at the start */
#define MOMENT_LOOKS	3u
#define CLOCK_STEP_NS	10000000u /* after which a longer look at the clock is better than the first one */
#define LIMIT_PART	16u	  /* of a limit of the address space: one in so many */
#define FEW_CHUNKS	64u	  /* the least */
#define FIRST_PIECE	16384u	  /* reserved of a thread's first chunk when it begins */
#define CHUNKS_AT_ONCE	8u /* for a thread that measures much, unless the file is to be small: reserving them one by one costs more */
#define ARGUMENTS_BYTES 1024u

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

static inline void grow_to(uint64_t *value, uint64_t new)
{
	uint64_t old = __atomic_load_n(value, __ATOMIC_RELAXED);

	while (old < new && !__atomic_compare_exchange_n(value, &old, new, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

const char *record_number(uint64_t value, unsigned base, char out[24])
{
	char *at = out + 23;

	*at = '\0';
	do
		*--at = "0123456789abcdef"[value % base];
	while ((value /= base) != 0);
	return at;
}

/* ---- names: lines that any number of threads append at once ---- */

/* Room for a line of n bytes; *before is the number of functions before it. NULL: none left. A line that is not written to its end leaves
 * NULs, where reading ends. */
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

/* Of the disk, up to that end of the names. No harm if several threads do it. */
static bool names_extend(struct record_writer *w, uint64_t end)
{
	uint64_t from = __atomic_load_n(&w->names_reserved, __ATOMIC_ACQUIRE), to = record_names_pieces(w, end);

	if (end <= from)
		return true;
	if (record_file_reserve(w, RECORD_PAGE_BYTES + from, (uint32_t)(to - from), false)) {
		__atomic_store_n(&w->full, 1, __ATOMIC_RELAXED);
		return false;
	}
	grow_to(&w->names_reserved, to);
	return true;
}

/* Appends a word (or, when `blanks` may stand in it, the rest of the line) without what would end it. */
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

/* Its two digits. */
static void line_check(char *line, char kind, size_t n)
{
	unsigned char check = record_check_byte(record_check(record_check(0, &kind, 1), line + 3, n - 3));

	line[1] = "0123456789abcdef"[check >> 4];
	line[2] = "0123456789abcdef"[check & 15];
}

/* A line: kind, then words. Returns the number of functions before it; UINT32_MAX: there is no room. */
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
	__atomic_store_n(line, kind, __ATOMIC_RELEASE); /* last: a line whose first byte is there is whole */
	grow_to(&w->header->names_bytes, (uint64_t)(line + n - names_of(w->header)));
	return before;
}

uint32_t record_function(struct record_writer *w, uint64_t address, const char *module, const char *name)
{
	char digits[24];
	const struct word words[] = {
		{ record_number(address, 16, digits), false },
		{ *module ? module : "-", false },
		{ *name ? name : "?", true },
	};

	return line_add(w, 'f', words, 3);
}

bool record_info(struct record_writer *w, const char *key, const char *value)
{
	const struct word words[] = { { key, false }, { value, true } };

	return line_add(w, 'i', words, 2) != UINT32_MAX;
}

void record_info_number(struct record_writer *w, const char *key, uint64_t number)
{
	char digits[24];

	record_info(w, key, record_number(number, 10, digits));
}

static const char *path_end(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* What the program was asked to do: the words after its name, with blanks between them; the first ones if there are many. And what it was
 * called, where that is not its file's name: one file can be several programs. */
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
		record_info(w, "name", path_end(words));
	if (n == (long)sizeof(words) - 1) {
		while (n > name && words[n - 1])
			n--; /* whole words only */
	}
	for (long i = name + 1; i + 1 < n; i++)
		words[i] = words[i] ? words[i] : ' ';
	words[n > 0 ? n : 0] = '\0';
	if (n > name + 1)
		record_info(w, "arguments", words + name + 1);
}

void record_program(struct record_writer *w)
{
	char path[RECORD_PATH_BYTES];
	long n = record_system_call(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)path, sizeof(path) - 1, 0, 0);

	path[n > 0 ? n : 0] = '\0';
	record_info(w, "program", path);
	record_arguments(w, path);
}

static bool record_counter(struct record_writer *w, const char *name)
{
	const struct word word = { name, false };

	return line_add(w, 'c', &word, 1) != UINT32_MAX;
}

/* Has the parent written all the names that it has given out? */
static bool record_names_whole(const struct record_header *old, uint64_t bytes)
{
	for (unsigned tries = 0; tries < NAMES_WAIT; tries++) {
		if (!bytes || (names_of(old)[bytes - 1] == '\n' && !memchr(names_of(old), '\0', bytes)))
			return true;
		record_system_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
	return false;
}

/* ---- the clock ---- */

/* The clock between two readings of the ticks: of several looks the shortest one. During a longer one another program had the processor, so
 * that ticks and clock are from two moments. */
static struct record_moment moment_now(void)
{
	struct record_moment moment = { 0, 0 };
	uint64_t shortest = UINT64_MAX;

	for (unsigned i = 0; i < MOMENT_LOOKS; i++) {
		uint64_t before = record_ticks(), ns = record_clock_ns(CLOCK_MONOTONIC_RAW), took = record_ticks() - before;

		if (took < shortest || i == 0)
			moment = (struct record_moment){ before + took / 2, ns };
		shortest = took < shortest ? took : shortest;
	}
	return moment;
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
	if (now.ns > w->first.ns + CLOCK_STEP_NS && now.ticks > w->first.ticks) /* in a machine that was moved they may be less */
		__atomic_store_n(&w->header->ticks_per_s, ticks_per_s(w, now), __ATOMIC_RELAXED);
}

/* ---- chunks ---- */

static uint64_t place_of(const struct record_writer *w, uint64_t chunk)
{
	return RECORD_PAGE_BYTES + w->options.names_bytes_max + chunk * w->options.chunk_bytes;
}

void record_say_why(struct record_writer *w, const char *why)
{
	if (!__atomic_exchange_n(&w->said, true, __ATOMIC_RELAXED))
		record_info(w, "dropped", why);
}

/* A program that has all the descriptors that it may have may have one to spare later; any other failure is for good. */
static bool record_reserve(struct record_writer *w, uint64_t offset, uint32_t bytes)
{
	int failed = record_file_reserve(w, offset, bytes, true);

	if (failed)
		record_say_why(w, strerrordesc_np(failed));
	if (failed && failed != EMFILE && failed != ENFILE)
		__atomic_store_n(&w->full, 1, __ATOMIC_RELAXED);
	return !failed;
}

static uint32_t left_of_chunk(const struct record_writer *w, const struct record_thread *t)
{
	return w->options.chunk_bytes - (uint32_t)(t->end - (unsigned char *)t->chunk);
}

/* A thread that measures little needs little; the pieces double, and chunks after the first are reserved whole, several at once. */
static bool chunk_extend(struct record_writer *w, struct record_thread *t)
{
	uint32_t left = left_of_chunk(w, t), piece = w->options.chunk_bytes - left;

	if (piece > left)
		piece = left;
	if (!record_reserve(w, (uint64_t)(t->end - (unsigned char *)w->header), piece))
		return false;
	t->end += piece;
	return true;
}

/* A place in the file; for a thread that has filled its first chunk, several in a row. False: the file has its full size. */
static bool places_claim(struct record_writer *w, struct record_thread *t)
{
	uint64_t limit = __atomic_load_n(&w->chunks_max, __ATOMIC_RELAXED) + (t->final ? RECORD_FINAL_CHUNKS : 0),
		 wanted = !t->chunk || w->options.packed ? 1 : CHUNKS_AT_ONCE;
	uint64_t n = __atomic_load_n(&w->chunks_in_use, __ATOMIC_RELAXED), taken;

	do {
		if (n >= limit) {
			record_say_why(w, "the file has its full size");
			__atomic_store_n(&w->full, 1, __ATOMIC_RELAXED);
			return false;
		}
		taken = limit - n < wanted ? limit - n : wanted;
	} while (!__atomic_compare_exchange_n(&w->chunks_in_use, &n, n + taken, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	t->spare = n;
	t->spares = taken;
	return true;
}

/* Places, and their part of the disk: of a thread's first chunk only the first piece, which is enough for a thread that measures little. */
static bool places_reserve(struct record_writer *w, struct record_thread *t, uint32_t first)
{
	uint64_t end;

	if (!places_claim(w, t))
		return false;
	clock_refine(w);
	if (record_reserve(w, place_of(w, t->spare), t->spares > 1 ? (uint32_t)t->spares * w->options.chunk_bytes : first))
		return true;
	/* Given back, if no others follow. */
	end = t->spare + t->spares;
	__atomic_compare_exchange_n(&w->chunks_in_use, &end, t->spare, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	t->spares = 0;
	return false;
}

/* Of a file that is kept in memory: a chunk, and the header, which tells of it. */
static void chunk_write(struct record_writer *w, struct record_chunk *chunk)
{
	uint64_t bytes = w->options.packed ? w->options.chunk_bytes : sizeof(*chunk) + chunk->samples * w->sample_bytes;
	int failed = record_file_write(w, (uint64_t)((unsigned char *)chunk - (unsigned char *)w->header), bytes);

	if (failed) {
		record_say_why(w, strerrordesc_np(failed));
		__atomic_fetch_add(&w->header->dropped, chunk->samples, __ATOMIC_RELAXED);
		__atomic_store_n(&w->full, 1, __ATOMIC_RELAXED);
	}
	record_file_write(w, 0, RECORD_PAGE_BYTES + w->header->names_bytes);
}

static void chunks_write(struct record_writer *w)
{
	uint64_t signals = record_signals_block();

	for (uint64_t i = 0; i < w->header->chunks; i++) {
		struct record_chunk *chunk = (struct record_chunk *)(void *)((unsigned char *)w->header + place_of(w, i));

		if (chunk->magic == RECORD_CHUNK_MAGIC)
			chunk_write(w, chunk);
	}
	record_file_write(w, 0, RECORD_PAGE_BYTES + w->header->names_bytes);
	record_signals_restore(signals);
}

static bool chunk_begin(struct record_writer *w, struct record_thread *t)
{
	uint32_t piece = w->options.chunk_bytes < FIRST_PIECE || t->chunk ? w->options.chunk_bytes : FIRST_PIECE;
	struct record_chunk *chunk;

	if (!t->spares && !places_reserve(w, t, piece))
		return false;
	if (w->in_memory && t->chunk) {
		chunk_write(w, t->chunk);
		record_system_call(SYS_madvise, (long)t->chunk, w->options.chunk_bytes, MADV_DONTNEED, 0, 0,
				   0); /* all zeros: it is written */
	}
	if (!t->numbered) {
		t->number = __atomic_fetch_add(&w->threads, 1, __ATOMIC_RELAXED);
		t->numbered = true;
	}
	chunk = (struct record_chunk *)(void *)((unsigned char *)w->header + place_of(w, t->spare));
	chunk->thread = t->number;
	__atomic_store_n(&chunk->magic, RECORD_CHUNK_MAGIC, __ATOMIC_RELEASE);
	grow_to(&w->header->chunks, t->spare + 1);
	t->spare++;
	t->spares--;
	t->chunk = chunk;
	t->next = (unsigned char *)(chunk + 1);
	t->end = (unsigned char *)chunk + piece;
	return true;
}

void record_settle(const struct record_writer *w, struct record_thread *t)
{
	if (t->chunk && !w->options.packed)
		__atomic_store_n(&t->chunk->samples, (uint64_t)(t->next - (unsigned char *)(t->chunk + 1)) / w->sample_bytes,
				 __ATOMIC_RELEASE);
}

bool record_chunk_take(struct record_writer *w, struct record_thread *t)
{
	uint64_t signals;
	bool got;

	if (record_drops(w, t))
		return false;
	signals = record_signals_block();
	record_settle(w, t);
	/* Every piece holds at least one sample with the greatest number of counters. */
	got = t->chunk && left_of_chunk(w, t) >= w->sample_bytes ? chunk_extend(w, t) : chunk_begin(w, t);
	record_signals_restore(signals);
	if (got) {
		t->skips = 0;
		return true;
	}
	/* The longer there has been none, the longer it waits: that loses no more than was lost anyway. */
	t->skips = t->skips < RECORD_SKIPS_MAX ? 2 * t->skips + 1 : RECORD_SKIPS_MAX;
	t->skip = t->skips;
	record_drop(w, t);
	return false;
}

struct record_sample *record_pack_begin(struct record_writer *w, struct record_thread *t, uint64_t *memory)
{
	if (!record_begin(w, t))
		return NULL;
	if (t->next == (unsigned char *)(t->chunk + 1)) /* what a chunk holds can be read without those before it */
		record_pack_forget(record_pack_state(memory, w->options.n_counters), t->number);
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

/* ---- from the beginning to the end ---- */

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

/* Where the process's address space is limited, a small part of that: the program needs it. */
static uint64_t file_bytes_within(const struct record_options *o, uint64_t address_space)
{
	uint64_t least = RECORD_PAGE_BYTES + (uint64_t)o->names_bytes_max + FEW_CHUNKS * (uint64_t)o->chunk_bytes;
	uint64_t part = address_space / LIMIT_PART / RECORD_PAGE_BYTES * RECORD_PAGE_BYTES;

	part = part > least ? part : least;
	return part < RECORD_FILE_BYTES ? part : RECORD_FILE_BYTES;
}

static uint64_t file_bytes_default(const struct record_options *o)
{
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };

	record_system_call(SYS_prlimit64, 0, RLIMIT_AS, 0, (long)&limit, 0, 0);
	return file_bytes_within(o, limit.rlim_cur);
}

static uint64_t chunks_within(const struct record_options *o, uint64_t file_bytes)
{
	return (file_bytes - RECORD_PAGE_BYTES - o->names_bytes_max) / o->chunk_bytes;
}

/* A thread that has seen the old limit may take some more chunks meanwhile: they stay. */
void record_limit(struct record_writer *w, uint64_t address_space)
{
	uint64_t old = w->header && *w->alive ? record_file_bytes(w) : 0, signals, chunks, in_use;

	if (!old)
		return;
	signals = record_signals_block();
	chunks = chunks_within(&w->options, file_bytes_within(&w->options, address_space));
	in_use = __atomic_load_n(&w->chunks_in_use, __ATOMIC_RELAXED) + FEW_CHUNKS;
	chunks = chunks > in_use ? chunks : in_use;
	if (chunks < w->chunks_max) {
		__atomic_store_n(&w->chunks_max, chunks, __ATOMIC_RELAXED);
		record_system_call(SYS_munmap, (long)w->header + (long)record_file_bytes(w), (long)(old - record_file_bytes(w)), 0, 0, 0,
				   0);
	}
	record_signals_restore(signals);
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
	w->chunks_max = chunks_within(&w->options, w->options.file_bytes_max);
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
	record_file_let_go(w);
}

int record_fork(struct record_writer *w, struct record_thread *t)
{
	static const uint32_t closed = 1; /* no other thread is to do this again */
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
	record_file_let_go(w);
	failed = record_names_whole(old, bytes) ? record_file_begin(w) : EAGAIN;
	if (!failed) {
		memcpy(names_of(w->header), names_of(old), bytes);
		w->names_in_use = in_use;
		__atomic_store_n(&w->header->names_bytes, bytes, __ATOMIC_RELEASE);
	}
	record_system_call(SYS_munmap, (long)old, (long)old_bytes, 0, 0, 0, 0);
	return failed;
}

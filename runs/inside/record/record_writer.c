/* Chunks and samples, the clock, and all of it from the beginning to the end. */
#include "runs/inside/record/record_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#define CALIBRATION_NS   50000u    /* of the clock, at the start */
#define MOMENT_LOOKS     3u
#define CLOCK_STEP_NS    10000000u /* after which a longer look at the clock is better than the first one */
#define FIRST_PIECE      16384u    /* of a thread's first chunk: what is reserved when it is begun */
#define CHUNKS_AT_ONCE   8u        /* of a thread that measures much: reserving them one by one costs more */

/* ---- the clock ---- */

/* The clock between two readings of the ticks: of several looks the shortest one. In a longer one somebody else had the processor, and
 * ticks and clock are of two moments. */
static struct record_moment moment_now(void)
{
	struct record_moment moment = { 0, 0 };
	uint64_t shortest = UINT64_MAX;

	for (unsigned i = 0; i < MOMENT_LOOKS; i++) {
		uint64_t before = record_ticks(), ns = clock_ns(CLOCK_MONOTONIC_RAW), took = record_ticks() - before;

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
	return PAGE_BYTES + w->options.names_bytes_max + chunk * w->options.chunk_bytes;
}

/* The first reason is kept. */
static void why_say(struct record_writer *w, const char *why)
{
	if (!__atomic_exchange_n(&w->said, true, __ATOMIC_RELAXED))
		record_info(w, "dropped", why);
}

/* Where the program has all the descriptors that it may have there is none for the moment; what else fails is over. */
static bool reserve(struct record_writer *w, uint64_t offset, uint32_t bytes)
{
	int failed = record_file_reserve(w, offset, bytes);

	if (failed)
		why_say(w, strerrordesc_np(failed));
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
	if (!reserve(w, (uint64_t)(t->end - (unsigned char *)w->header), piece))
		return false;
	t->end += piece;
	return true;
}

/* A place in the file, and for a thread that has filled its first chunk some more behind it. False: the file has its full size. */
static bool places_take(struct record_writer *w, struct record_thread *t)
{
	uint64_t limit = w->chunks_max + (t->final ? FINAL_CHUNKS : 0), wanted = t->chunk ? CHUNKS_AT_ONCE : 1;
	uint64_t n = __atomic_load_n(&w->chunks_in_use, __ATOMIC_RELAXED), taken;

	do {
		if (n >= limit) {
			why_say(w, "the file has its full size");
			__atomic_store_n(&w->full, 1, __ATOMIC_RELAXED);
			return false;
		}
		taken = limit - n < wanted ? limit - n : wanted;
	} while (!__atomic_compare_exchange_n(&w->chunks_in_use, &n, n + taken, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	t->spare = n;
	t->spares = taken;
	return true;
}

/* Places, and their part of the disk: of the thread's first chunk as much as a thread needs that measures little. */
static bool places_reserve(struct record_writer *w, struct record_thread *t, uint32_t first)
{
	uint64_t end;

	if (!places_take(w, t))
		return false;
	clock_refine(w);
	if (reserve(w, place_of(w, t->spare), t->spares > 1 ? (uint32_t)t->spares * w->options.chunk_bytes : first))
		return true;
	/* Given back, if they are the last ones. */
	end = t->spare + t->spares;
	__atomic_compare_exchange_n(&w->chunks_in_use, &end, t->spare, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	t->spares = 0;
	return false;
}

static bool chunk_begin(struct record_writer *w, struct record_thread *t)
{
	uint32_t piece = w->options.chunk_bytes < FIRST_PIECE || t->chunk ? w->options.chunk_bytes : FIRST_PIECE;
	struct record_chunk *chunk;

	if (!t->spares && !places_reserve(w, t, piece))
		return false;
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

bool record_chunk_take(struct record_writer *w, struct record_thread *t)
{
	bool got;

	if (record_drops(w, t))
		return false;
	/* The first piece holds one sample of the greatest number of counters at least, and so does each later one. */
	got = t->chunk && left_of_chunk(w, t) >= w->sample_bytes ? chunk_extend(w, t) : chunk_begin(w, t);
	if (got) {
		t->skips = 0;
		return true;
	}
	/* Waits the longer, the longer there has been none: no more is lost by that than was lost anyway. */
	t->skips = t->skips < RECORD_SKIPS_MAX ? 2 * t->skips + 1 : RECORD_SKIPS_MAX;
	t->skip = t->skips;
	record_drop(w, t);
	return false;
}

/* ---- from the beginning to the end ---- */

static int options_check(const struct record_options *o)
{
	uint64_t whole = PAGE_BYTES + (uint64_t)o->names_bytes_max + o->chunk_bytes;
	uint64_t sample = sizeof(struct record_sample) + o->n_counters * sizeof(uint64_t);

	if (o->n_counters > RECORD_COUNTERS_MAX)
		return E2BIG;
	if (o->brief && o->n_counters)
		return EINVAL;
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
	if (!record_directory_set(w, options->directory))
		return ENAMETOOLONG;
	w->sample_bytes = (uint32_t)(sizeof(struct record_sample) + options->n_counters * sizeof(uint64_t));
	if (options->brief)
		w->sample_bytes = sizeof(struct record_brief);
	w->chunks_max = (w->options.file_bytes_max - PAGE_BYTES - w->options.names_bytes_max) / w->options.chunk_bytes;
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
	record_file_let_go(w);
	__atomic_store_n(&w->full, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&w->header->finished, 1, __ATOMIC_RELEASE);
}

int record_fork(struct record_writer *w, struct record_thread *t)
{
	static const uint32_t closed = 1; /* who looks whether this is a child has looked */
	struct record_header *old = w->header;
	uint64_t in_use = w->names_in_use, bytes = in_use & ((1ull << NAMES_BYTES_BITS) - 1), old_bytes = record_file_bytes(w);
	int failed;

	memset(t, 0, sizeof(*t));
	if (!old)
		return 0;
	call(SYS_munmap, (long)w->alive, PAGE_BYTES, 0, 0, 0, 0);
	record_file_let_go(w);
	w->alive = &closed;
	w->header = NULL;
	failed = record_names_whole(old, bytes) ? record_file_begin(w) : EAGAIN;
	if (!failed) {
		memcpy(names_of(w->header), names_of(old), bytes);
		w->names_in_use = in_use;
		__atomic_store_n(&w->header->names_bytes, bytes, __ATOMIC_RELEASE);
	}
	call(SYS_munmap, (long)old, (long)old_bytes, 0, 0, 0, 0);
	return failed;
}

/* What measuring a call adds to what is measured, on this machine and in this process: an empty function is called through stubs and hooks
 * as the program's functions are, so often that the median is not what an interruption made it. The reader takes it off
 * (runs/inside/samples/samples.c). Where one of many calls is measured, they take another way through the hooks. */
#include "runs/inside/probe/probe.h"

#include <sys/mman.h>

#define ROUNDS	    17u
#define WARM	    2u /* rounds before them, for caches and predictions */
#define NESTED	    4u /* measured calls in the function around them */
#define BETWEEN	    64 /* calls that are only counted, before one of many that is measured */
#define COLUMNS_MAX (1 + RECORD_COUNTERS_MAX)
#define INNER	    0u /* functions' numbers, borrowed */
#define OUTER	    1u

/* Functions to call: measured, as the program's are. */
struct calibrated {
	void (*inner)(void);
	void (*outer)(void); /* calls `inner` NESTED times */
};

/* What rounds said, by column: ticks, then the counters. */
struct rounds {
	int64_t inside[2 * ROUNDS][COLUMNS_MAX]; /* an empty call's own; every one measured and one of many, in turns */
	int64_t around[2][ROUNDS][COLUMNS_MAX];	 /* what such a call adds to its caller's: every one, one of many */
};

/* What is borrowed of the thread, to be given back. */
struct borrowed {
	struct record_thread record;
	struct probe_state states[2];
	int32_t near[2];
	uint32_t begun;
	uint64_t nested, before, signals;
};

/* Samples of a round; not in the file. */
struct scratch {
	struct record_chunk chunk;
	_Alignas(8) unsigned char samples[(1 + NESTED) * (sizeof(struct record_sample) + RECORD_COUNTERS_MAX * sizeof(uint64_t))];
};

static struct calibrated called;

/* ---- functions that do nothing ---- */

static void empty(void)
{
}

static void calls(void)
{
	for (unsigned i = 0; i < NESTED; i++)
		called.inner();
}

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

static __attribute__((noinline)) void empty_instrumented(void)
{
	__cyg_profile_func_enter((void *)(uintptr_t)empty, NULL);
	__cyg_profile_func_exit((void *)(uintptr_t)empty, NULL);
}

static __attribute__((noinline)) void calls_instrumented(void)
{
	__cyg_profile_func_enter((void *)(uintptr_t)calls, NULL);
	calls();
	__cyg_profile_func_exit((void *)(uintptr_t)calls, NULL);
}

/* ---- a round ---- */

static struct probe_frame *frame_around(const struct probe_thread *t)
{
	return t->depth ? probe_frame_at(t, t->depth - 1) : NULL;
}

static void borrow(struct probe_thread *t, struct borrowed *b)
{
	b->signals = record_signals_block();
	b->before = record_ticks();
	b->record = t->record;
	b->begun = t->begun;
	b->nested = t->depth ? frame_around(t)->nested : 0;
	for (uint32_t i = 0; i < 2; i++) {
		b->states[i] = t->states[i];
		b->near[i] = t->near[i];
	}
	if (t->begun < 2)
		t->begun = 2;
}

static void give_back(struct probe_thread *t, const struct borrowed *b)
{
	t->record = b->record;
	t->begun = b->begun;
	for (uint32_t i = 0; i < 2; i++) {
		t->states[i] = b->states[i];
		t->near[i] = b->near[i];
	}
	if (t->depth)
		frame_around(t)->nested = b->nested;
	t->paused += record_ticks() - b->before;
	record_signals_restore(b->signals);
}

/* The next call of each is measured. */
static void round_begin(struct probe_thread *t, struct scratch *scratch, bool rare)
{
	for (uint32_t i = 0; i < 2; i++) {
		t->states[i] = (struct probe_state){ .mean = 1, .mean_high = UINT64_MAX, .level = rare };
		t->near[i] = 0;
	}
	scratch->chunk.samples = 0;
	t->record.chunk = &scratch->chunk;
	t->record.next = scratch->samples;
	t->record.end = scratch->samples + sizeof(scratch->samples);
}

/* Column of a sample; INT64_MAX: not counted. */
static int64_t column_of(const struct scratch *scratch, size_t i, size_t column)
{
	const unsigned char *at = scratch->samples + i * probe.writer.sample_bytes;
	uint64_t value;

	if (probe.writer.options.brief)
		return (int64_t)((const struct record_brief *)(const void *)at)->duration;
	value = column ? ((const struct record_sample *)(const void *)at)->counters[column - 1]
		       : ((const struct record_sample *)(const void *)at)->duration;
	return value <= INT64_MAX ? (int64_t)value : INT64_MAX;
}

static bool round_inside(struct probe_thread *t, struct scratch *scratch, bool rare, int64_t *inside)
{
	round_begin(t, scratch, rare);
	if (rare) {
		t->near[INNER] = BETWEEN;
		for (unsigned i = 0; i < BETWEEN; i++)
			called.inner();
	}
	called.inner();
	for (size_t c = 0; c < 1 + probe.n_counters && scratch->chunk.samples == 1; c++)
		inside[c] = column_of(scratch, 0, c);
	return scratch->chunk.samples == 1;
}

static bool round_around(struct probe_thread *t, struct scratch *scratch, bool rare, int64_t *around)
{
	int64_t without[COLUMNS_MAX];
	size_t measured;

	round_begin(t, scratch, rare);
	t->near[INNER] = INT32_MAX; /* counted only */
	called.outer();
	for (size_t c = 0; c < 1 + probe.n_counters && scratch->chunk.samples == 1; c++)
		without[c] = column_of(scratch, 0, c);
	if (scratch->chunk.samples != 1)
		return false;
	round_begin(t, scratch, rare);
	t->near[INNER] = rare ? NESTED / 2 : 0;
	if (rare)
		t->states[INNER].level = PROBE_LEVEL_MAX;
	called.outer();
	measured = scratch->chunk.samples - 1;
	for (size_t c = 0; c < 1 + probe.n_counters && measured; c++) {
		int64_t with = column_of(scratch, measured, c);

		around[c] = with == INT64_MAX || without[c] == INT64_MAX ? INT64_MAX : (with - without[c]) / (int64_t)measured;
	}
	return measured > 0;
}

/* ---- all rounds ---- */

/* The median of a column and half the distance of its quartiles, in the same unit; false: something was not counted. */
static bool column_median(int64_t (*rows)[COLUMNS_MAX], size_t n, size_t column, int64_t *median, int64_t *spread)
{
	int64_t sorted[2 * ROUNDS];

	for (size_t i = 0; i < n; i++) {
		size_t k = i;

		for (; k && sorted[k - 1] > rows[i][column]; k--)
			sorted[k] = sorted[k - 1];
		sorted[k] = rows[i][column];
	}
	*median = sorted[n / 2] > 0 ? sorted[n / 2] : 0;
	*spread = (sorted[n * 3 / 4] - sorted[n / 4] + 1) / 2;
	return sorted[n - 1] != INT64_MAX;
}

static char *text_put(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	*at = '\0';
	return at;
}

/* "MEDIAN SPREAD", of each column. */
static void columns_say(const char *key, int64_t (*rows)[COLUMNS_MAX], size_t n)
{
	char text[COLUMNS_MAX * 48], number[24], *at = text;

	for (size_t c = 0; c < 1 + probe.n_counters; c++) {
		int64_t median, spread;

		if (!column_median(rows, n, c, &median, &spread))
			median = spread = 0;
		at = text_put(text_put(at, c ? " " : ""), record_number((uint64_t)median, 10, number));
		at = text_put(text_put(at, " "), record_number((uint64_t)spread, 10, number));
	}
	record_info(&probe.writer, key, text);
}

static void rounds_run(struct probe_thread *t, struct rounds *rounds, struct scratch *scratch)
{
	int64_t median, spread;

	for (size_t i = 0; i < ROUNDS + WARM; i++) {
		size_t row = i < WARM ? 0 : i - WARM;

		for (size_t rare = 0; rare < 2; rare++)
			if (!round_inside(t, scratch, rare, rounds->inside[2 * row + rare]) ||
			    !round_around(t, scratch, rare, rounds->around[rare][row]))
				return;
	}
	columns_say("cost_inside", rounds->inside, 2 * ROUNDS);
	columns_say("cost_around", rounds->around[0], ROUNDS);
	columns_say("cost_around_rare", rounds->around[1], ROUNDS);
	if (column_median(rounds->inside, 2 * ROUNDS, 0, &median, &spread))
		probe.cost_inside = (uint64_t)median;
}

static void calibrate(struct probe_thread *t, struct calibrated functions)
{
	size_t bytes = sizeof(struct rounds) + sizeof(struct scratch);
	struct rounds *rounds = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct borrowed borrowed;

	if (rounds == MAP_FAILED)
		return;
	called = functions;
	borrow(t, &borrowed);
	rounds_run(t, rounds, (struct scratch *)(void *)(rounds + 1));
	give_back(t, &borrowed);
	munmap(rounds, bytes);
}

void probe_calibrate(bool instrumented)
{
	struct probe_thread *t = probe_self;
	struct calibrated functions = { empty_instrumented, calls_instrumented };
	struct probe_stubs stubs = { .bytes = 0 };

	if (probe.calibrated || !t || t->busy || !t->states)
		return;
	probe.calibrated = true; /* by what was found first: a program is built in one way */
	if (instrumented) {
		if (!probe_instrumented_add((uintptr_t)empty, INNER) || !probe_instrumented_add((uintptr_t)calls, OUTER))
			return;
	} else {
		const uintptr_t places[PROBE_STUBS] = { (uintptr_t)empty, (uintptr_t)calls };

		if (!probe_stubs_make(places, &stubs))
			return;
		functions = (struct calibrated){ stubs.at[INNER], stubs.at[OUTER] };
	}
	calibrate(t, functions);
	if (stubs.bytes)
		munmap(stubs.memory, stubs.bytes);
}

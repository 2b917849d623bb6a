/* Checks that totals estimated from recorded calls have no bias, for calls and for edges, however frequent a site is and wherever its
 * long calls are. The test simulates the clock. */
#include "runs/inside/record/record_writer.h"

static uint64_t clock_now = 1000000;
#define record_ticks() (clock_now)
#include "runs/inside/interpose/interpose_record.c"
#undef record_ticks

#include "tests/scratch.h"

#include <math.h>

#define RUNS   300u
#define CALLED 4u /* number of call sites */
#define RARE   3u

/* Sums over all calls: the true ones or the estimates. */
struct sums {
	double calls[CALLED], ticks[CALLED];
	double passages[CALLED][CALLED], between[CALLED][CALLED];
};

static struct sums truth, estimate;
static size_t records_of[CALLED];
static uint32_t before;

static void edge_add(struct sums *s, uint32_t from, uint32_t to, double weight, double ticks)
{
	s->passages[from][to] += weight;
	s->between[from][to] += weight * ticks;
}

/* Computes for `between` ticks, then makes a call of `takes` ticks at `site`. */
static void happens(uint32_t site, uint64_t between, uint64_t takes)
{
	uint64_t key = interpose_key((const void *)(uintptr_t)(0x1000 + 16 * site), 1);
	struct interpose_call call;
	bool timed;

	clock_now += between;
	timed = !interpose_skip_timing(key) && interpose_enter(&call, key, "f");
	clock_now += takes;
	if (timed)
		interpose_leave(&call, -1, 0, 0, 0);
	truth.calls[site]++;
	truth.ticks[site] += (double)takes;
	if (before < CALLED)
		edge_add(&truth, before, site, 1, (double)between);
	before = site;
}

/* A program: many short calls from one site, every eighth of them longer, as a period of blocks; calls of another site between them;
 * and at the end a long computation before a rare call. */
static void program(void)
{
	before = CALLED;
	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < 400; i++) {
			happens(0, 300 + i % 7, i % 8 ? 200 : 5000);
			if (i % 5 == 0)
				happens(1, 100, 40000);
			if (i % 50 == 3)
				happens(2, 30000, 100);
		}
		happens(RARE, 1000000, 70000);
	}
}

static uint32_t site_of(uint64_t number)
{
	for (uint32_t i = 0; i < CALLED; i++) {
		uint64_t key = interpose_key((const void *)(uintptr_t)(0x1000 + 16 * i), 1);

		if (interpose_site_number(&writer, key, "f", NULL) == number)
			return i;
	}
	fail();
	return 0;
}

/* Takes all records out of the file and returns their number. */
static size_t records_take(void)
{
	unsigned char *chunk = (unsigned char *)writer.header + writer.header->header_bytes + writer.header->names_bytes_max;
	size_t n = 0;

	for (uint64_t c = 0; c < writer.header->chunks; c++, chunk += CHUNK_BYTES) {
		struct record_chunk *head = (void *)chunk;
		const unsigned char *at = chunk + sizeof(*head);
		uint64_t state[RECORD_PACK_STATE(COUNTERS - INTERPOSE_TOPDOWN)], memory[PACK_WORDS];
		struct record_sample *s = (void *)memory;

		record_pack_reset(state, head->thread);
		for (uint64_t i = 0; i < head->samples; i++, n++) {
			uint32_t site;
			size_t bytes = record_unpack(at, (size_t)(chunk + CHUNK_BYTES - at), COUNTERS - INTERPOSE_TOPDOWN, state, s);

			assert_true(bytes > 0);
			at += bytes;
			site = site_of(s->function);
			records_of[site] += s->weight > 0;
			estimate.calls[site] += s->weight;
			estimate.ticks[site] += (double)s->weight * (double)s->duration;
			if (s->counters[7]) {
				assert_true(s->counters[4] != UINT64_MAX && s->counters[5] != UINT64_MAX);
				edge_add(&estimate, site_of(s->counters[4]), site, (double)s->counters[7], (double)s->counters[5]);
			}
		}
		memset(head, 0, CHUNK_BYTES);
	}
	writer.header->chunks = writer.chunks_in_use = 0;
	memset(&own_thread.record, 0, sizeof(own_thread.record));
	return n;
}

static void sites_forget(void)
{
	if (own_thread.sites)
		memset(own_thread.sites, 0, THREAD_SITES * sizeof(*own_thread.sites));
	own_thread.n_sites = 0;
	interpose_thread_state.from = INTERPOSE_NO_SITE;
	volume_begin();
}

/* Sums for a mean. The mean of the estimates must be within four standard errors of the truth. */
struct mean {
	double sum, squares;
};

static void mean_add(struct mean *m, double value)
{
	m->sum += value;
	m->squares += value * value;
}

static void mean_check(size_t i, const struct mean *m, double expected, double least)
{
	double mean = m->sum / RUNS, error = sqrt(fmax(0, m->squares / RUNS - mean * mean) / (RUNS - 1));

	if (expected <= least)
		return; /* too rare or too short for so few runs */
	if (fabs(mean - expected) > 4 * error + 1e-9 * expected)
		fail_msg("value %zu: %.6g +- %.3g instead of %.6g", i, mean, error, expected);
}

static void sums_are_right(uint64_t overhead_ppm, uint64_t bytes_per_s, size_t records_most)
{
	enum { VALUES = sizeof(struct sums) / sizeof(double) };
	struct mean means[VALUES] = { { 0, 0 } };
	size_t records = 0;

	volume.overhead_ppm = overhead_ppm;
	volume.bytes_per_s = bytes_per_s;
	volume.burst = bytes_per_s / 20 + writer.header->names_bytes;
	for (unsigned run = 0; run < RUNS; run++) {
		const double *value = (const double *)&estimate;

		sites_forget();
		own_thread.random = 1 + run * 0x9e3779b97f4a7c15u;
		own_thread.gap = overhead_ppm ? GAP_TICKS : 0;
		memset(&truth, 0, sizeof(truth));
		memset(&estimate, 0, sizeof(estimate));
		program();
		records += records_take();
		for (size_t i = 0; i < VALUES; i++)
			mean_add(&means[i], value[i]);
	}
	for (size_t i = 0; i < VALUES; i++) {
		bool is_time = (i >= CALLED && i < 2 * CALLED) || i >= 2 * CALLED + CALLED * CALLED;

		mean_check(i, &means[i], ((const double *)&truth)[i], is_time ? 10000 : 20);
	}
	assert_in_range(records / RUNS, records_most / 4, records_most);
}

static void test_everything(void **state)
{
	(void)state;
	sums_are_right(0, 0, 10000);
}

static void test_some_are_timed(void **state)
{
	(void)state;
	sums_are_right(OVERHEAD_PPM, 0, 8000);
}

static void test_some_are_recorded(void **state)
{
	(void)state;
	sums_are_right(0, 12000, 400);
}

static void test_both(void **state)
{
	(void)state;
	sums_are_right(OVERHEAD_PPM, 12000, 400);
}

/* Checks the limit of the volume for any number of calls: 24 KB per second, and 12 KB more in the first second, with names. */
static void test_budget(void **state)
{
	const uint64_t second = writer.options.ticks_per_s;

	(void)state;
	volume.overhead_ppm = OVERHEAD_PPM;
	volume.bytes_per_s = BYTES_PER_S;
	volume.burst = BURST_BYTES;
	sites_forget();
	own_thread.gap = GAP_TICKS;
	for (unsigned s = 0; s < 5; s++) {
		uint64_t until = clock_now + second, already = volume.bytes;

		while (clock_now < until)
			program();
		assert_in_range(volume.bytes - already, BYTES_PER_S / 2, BYTES_PER_S * 5 / 4 + (s ? 0 : BURST_BYTES));
	}
	assert_true(records_take() > 0);
}

/* Checks that short calls, which take half of the time, and fewer long ones get equally many records. */
static void test_polls(void **state)
{
	const uint64_t until = clock_now + writer.options.ticks_per_s;

	(void)state;
	sites_forget();
	memset(records_of, 0, sizeof(records_of));
	while (clock_now < until) {
		for (int i = 0; i < 4000; i++)
			happens(0, 100, 90);
		for (int i = 0; i < 60; i++)
			happens(1, 6000, 6000);
	}
	records_take();
	assert_true(records_of[1] >= 100);
	assert_true(3 * records_of[0] >= 2 * records_of[1]);
}

static int open_records(void **state)
{
	const struct record_options options = { .directory = ".",
						.counters = (const char *const[]){ "size",	   "kind",	     "result",
										   "args",	   "from",	     "since",
										   "work",	   "from_weight",    "cpu_ns",
										   "run_delay_ns", "minor_faults",   "major_faults",
										   "voluntary",	   "involuntary",    "throttled_ns",
										   "steal_ns",	   "busy_ns",	     "stopped_ns",
										   "loop_ticks",   "io_pressure_ns", "memory_pressure_ns",
										   "own_ns",	   "run_ns" },
						.n_counters = COUNTERS - INTERPOSE_TOPDOWN,
						.packed = true,
						.chunk_bytes = CHUNK_BYTES,
						.ticks_per_s = 2500000000u };

	interpose_disabled = false; /* it was loaded without a directory */
	return scratch_enter(state) || record_open(&writer, &options);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything), cmocka_unit_test(test_some_are_timed), cmocka_unit_test(test_some_are_recorded),
		cmocka_unit_test(test_both),	   cmocka_unit_test(test_budget),	  cmocka_unit_test(test_polls),
	};

	return cmocka_run_group_tests(tests, open_records, scratch_leave);
}

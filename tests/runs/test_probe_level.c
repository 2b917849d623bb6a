/* Tests which calls the probe measures. The test includes the library's source file and sets the budget itself. */
#include "runs/inside/probe/probe_frames.c"

#include "tests/runs/probe_stack.h"

#include <math.h>

#define CALLS 4096u

/* Marks the calls that are sampled at this level, starting with the first call. */
static void sampled(uint64_t seed, uint32_t level, bool *marks)
{
	for (uint32_t i = 0; i < CALLS; i++)
		marks[i] = false;
	for (uint64_t at = probe_next_sampled(seed, level, 0); at < CALLS; at = probe_next_sampled(seed, level, at + 1))
		marks[at] = true;
}

static void test_one_of_each_block(void **state)
{
	bool marks[CALLS];

	(void)state;
	for (uint64_t seed = 1; seed < 20; seed++) {
		for (uint32_t level = 0; level <= 8; level++) {
			sampled(seed, level, marks);
			for (uint32_t block = 0; block < CALLS >> level; block++) {
				unsigned n = 0;

				for (uint32_t i = 0; i < 1u << level; i++)
					n += marks[(block << level) + i];
				assert_int_equal(n, 1);
			}
		}
	}
}

/* Checks that the calls measured at a coarse level are among those measured at the next finer level. */
static void test_levels_are_nested(void **state)
{
	bool coarse[CALLS], fine[CALLS];

	(void)state;
	for (uint64_t seed = 1; seed < 20; seed++) {
		for (uint32_t level = 1; level <= 8; level++) {
			sampled(seed, level, coarse);
			sampled(seed, level - 1, fine);
			for (uint32_t i = 0; i < CALLS; i++)
				assert_true(!coarse[i] || fine[i]);
		}
	}
}

/* Checks that the sampled place varies between blocks, so that it does not follow a program's period. */
static void test_places_vary(void **state)
{
	unsigned first_half = 0;
	bool marks[CALLS];

	(void)state;
	sampled(7, 4, marks);
	for (uint32_t i = 0; i < CALLS; i++)
		first_half += marks[i] && i % 16 < 8;
	assert_in_range(first_half, 90, 166); /* expected: 128 of 256; about five standard deviations */
}

/* Periodic lengths of calls: one long call per period. */
struct periodic {
	uint64_t period, little, much;
};

static uint64_t length_of(const struct periodic *p, uint64_t ordinal)
{
	return ordinal % p->period ? p->little : p->much;
}

/* Simulates calls as frame_push() and frame_pop() see them. sums: weights w, w * (length - mean), and squares of the latter. */
static void measure(const struct periodic *p, uint64_t seed, uint64_t calls, double mean, double sums[3])
{
	struct probe_state state = { .level = 0 };
	int32_t near[PROBE_TLS_FUNCTIONS] = { 0 };
	struct probe_function function = { .seed = seed };
	struct probe_thread t = { .states = &state, .near = near };

	probe = (struct probe){ .functions = &function, .budget_ppm = 30000, .cost_sampled = 310, .cost_counted = 2, .cost_inside = 40 };
	for (uint64_t ordinal = 0; ordinal < calls; ordinal++) {
		uint32_t level = state.level;
		double weighted;

		if (--near[0] >= 0)
			continue;
		assert_int_equal(call_ordinal(&t, 0), ordinal);
		call_schedule(&t, 0, ordinal, ordinal + 1);
		weighted = (double)(1u << level) * ((double)length_of(p, ordinal) - mean);
		sums[0] += (double)(1u << level);
		sums[1] += weighted;
		sums[2] += weighted * weighted;
		if (level_update(&t, &state, length_of(p, ordinal) + 40))
			call_schedule(&t, 0, ordinal, level_first_call(&state, level, ordinal));
	}
}

/* Checks that the estimate has no bias: weights add up to all calls and weighted lengths to all lengths, however the level changes. */
static void test_periodic(void **state)
{
	static const struct periodic rows[] = {
		{ 2, 100, 3000 },   { 7, 60, 9000 },	{ 47, 100, 50000 },	{ 49, 500, 20000 },
		{ 50, 50, 100000 }, { 64, 200, 40000 }, { 1000, 100, 1000000 }, { 3, 20, 30 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct periodic *p = &rows[i];
		double sums[3] = { 0 }, mean = (double)p->little + ((double)p->much - (double)p->little) / (double)p->period;
		uint64_t calls = p->period * (200000 / p->period), seeds = 40;

		for (uint64_t seed = 1; seed <= seeds; seed++)
			measure(p, seed * 0x9e3779b97f4a7c15u, calls, mean, sums);
		if (fabs(sums[0] / (double)(calls * seeds) - 1) > .01)
			fail_msg("one of %d: they stand for %.3f of the calls", (int)p->period, sums[0] / (double)(calls * seeds));
		if (fabs(sums[1]) > 4 * sqrt(sums[2]) + .005 * mean * sums[0])
			fail_msg("one of %d: the mean is %.3f of what it is", (int)p->period, 1 + sums[1] / sums[0] / mean);
	}
}

/* Returns the level after 100 samples of a function that always takes `ticks`. */
static uint32_t level_of(uint64_t ticks)
{
	struct probe_thread t = { .n_sampled_functions = 0 };
	struct probe_state s = { .level = 0 };

	for (int i = 0; i < 100; i++)
		level_update(&t, &s, ticks);
	assert_int_equal(t.n_sampled_functions, s.level > 0);
	return s.level;
}

static void test_budget(void **state)
{
	(void)state;
	probe = (struct probe){ .budget_ppm = 30000, .cost_sampled = 160, .cost_counted = 8, .cost_inside = 24 };
	for (uint64_t ticks = 500; ticks < 100000; ticks += 97) {
		uint32_t level = level_of(ticks);
		double itself = (double)(ticks - 24), cost = 160.0 / (1u << level);

		if (.03 * itself > 8 * 16. / 15) /* counting leaves a part of the budget */
			assert_true(cost + 8 <= .03 * itself + .1);
		if (level) /* and no more calls are skipped than necessary */
			assert_true(2 * cost > .03 * itself / 16 - 8);
	}
	assert_int_equal(level_of(100000), 0);
	probe.budget_ppm = 0; /* every call */
	assert_int_equal(level_of(1), 0);
}

/* Checks the stored range in which the mean does not change the level: for any lengths, the level is that of the mean. */
static void test_level_is_the_means(void **state)
{
	struct probe_thread t = { .n_sampled_functions = 0 };
	struct probe_state s = { .level = 0 };
	unsigned changes = 0;
	uint64_t x = 1;

	(void)state;
	probe = (struct probe){ .budget_ppm = 30000, .cost_sampled = 310, .cost_counted = 2, .cost_inside = 40 };
	for (unsigned i = 0; i < 20000; i++) {
		x = hash_mix(x + i);
		changes += level_update(&t, &s, 1 + (x >> 44) / (1 + i % 700));
		assert_int_equal(s.level, level_for_mean(s.mean));
	}
	assert_in_range(changes, 10, 19000);
}

/* Checks that one interrupted call does not make a function count as long. */
static void test_outlier(void **state)
{
	struct probe_thread t = { .n_sampled_functions = 0 };
	struct probe_state s = { .level = 0 };
	uint64_t mean;

	(void)state;
	probe = (struct probe){ .budget_ppm = 30000, .cost_sampled = 160, .cost_counted = 8 };
	for (int i = 0; i < 100; i++)
		level_update(&t, &s, 1000);
	mean = s.mean;
	level_update(&t, &s, 100000000);
	assert_true(s.mean <= 2 * mean + 64);
	for (int i = 0; i < 60; i++)
		level_update(&t, &s, 1000);
	assert_in_range(s.mean, 990, 1050);
}

/* Checks the upper bound for short functions, whose measured time is mostly the measurement: the interval between two calls. */
static void test_bound(void **state)
{
	static const struct {
		const char *what;
		uint64_t start, ordinal, alone, expected;
	} rows[] = {
		{ "the first one", 10000, 0, 70, 70 },
		{ "so short that so many more fit", 10000 + 160 + 256 * 9, 256, 70, 9 + 24 },
		{ "called now and then", 10000 + 160 + 256 * 9 + 160 + 1000000, 300, 70, 70 },
		{ "begun before that one, ended after it", 11000, 200, 70, 70 },
		{ "right behind it", 10000 + 160 + 256 * 9 + 160 + 1000000 + 100, 301, 70, 70 },
		{ "and so on", 10000 + 160 + 256 * 9 + 160 + 1000000 + 100 + 160 + 1000, 401, 70, 10 + 24 },
	};
	struct probe_state s = { .level = 0 };

	(void)state;
	probe = (struct probe){ .budget_ppm = 30000, .cost_sampled = 160, .cost_counted = 2, .cost_inside = 24 };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		/* The probe's own time between calls is not the program's time. */
		struct probe_frame frame = { .start = rows[i].start + 5000 * i, .paused = 5000 * i, .ordinal = rows[i].ordinal };
		uint64_t got = limit_call_duration(&s, &frame, rows[i].alone);

		if (got != rows[i].expected)
			fail_msg("%s: %llu", rows[i].what, (unsigned long long)got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_of_each_block),
		cmocka_unit_test(test_levels_are_nested),
		cmocka_unit_test(test_places_vary),
		cmocka_unit_test(test_periodic),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_outlier),
		cmocka_unit_test(test_level_is_the_means),
		cmocka_unit_test(test_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

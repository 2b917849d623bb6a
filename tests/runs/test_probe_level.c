/* Which calls the probe measures: the file of its library itself, here with a budget of ours. */
#include "runs/inside/probe/probe_frames.c"

#include "tests/runs/probe_stack.h"

#define CALLS 4096u

/* Marks of the calls that are sampled at a level from the first one on. */
static void sampled(uint64_t seed, uint32_t level, bool *marks)
{
	for (uint32_t i = 0; i < CALLS; i++)
		marks[i] = false;
	for (uint64_t at = probe_level_next(seed, level, 0); at < CALLS; at = probe_level_next(seed, level, at + 1))
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

/* What two runs with different levels measure is the same as far as both measure anything. */
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

/* Not always the same place in a block: a program's rhythm is not the probe's. */
static void test_places_vary(void **state)
{
	unsigned first_half = 0;
	bool marks[CALLS];

	(void)state;
	sampled(7, 4, marks);
	for (uint32_t i = 0; i < CALLS; i++)
		first_half += marks[i] && i % 16 < 8;
	assert_in_range(first_half, 90, 166); /* of 256: five standard deviations */
}

/* A level for a function that always takes so long, after some samples. */
static uint32_t level_of(uint64_t ticks)
{
	struct probe_thread t = { .sparse = 0 };
	struct probe_state s = { .level = 0 };

	for (int i = 0; i < 100; i++)
		level_adapt(&t, &s, ticks);
	assert_int_equal(t.sparse, s.level > 0);
	return s.level;
}

static void test_budget(void **state)
{
	(void)state;
	probe = (struct probe){ .budget_ppm = 30000, .cost_sampled = 160, .cost_counted = 8, .cost_clock = 24 };
	for (uint64_t ticks = 500; ticks < 100000; ticks += 97) {
		uint32_t level = level_of(ticks);
		double itself = (double)(ticks - 24), cost = 160.0 / (1u << level);

		if (.03 * itself > 8 * 16. / 15) /* counting leaves some of the budget */
			assert_true(cost + 8 <= .03 * itself + .1);
		if (level) /* and no more calls are left out than must be */
			assert_true(2 * cost > .03 * itself / 16 - 8);
	}
	assert_int_equal(level_of(100000), 0);
	probe.budget_ppm = 0; /* every call */
	assert_int_equal(level_of(1), 0);
}

/* Where the mean may go without a change of level is kept: whatever comes, the level is the mean's. */
static void test_level_is_the_means(void **state)
{
	struct probe_thread t = { .sparse = 0 };
	struct probe_state s = { .level = 0 };
	unsigned changes = 0;
	uint64_t x = 1;

	(void)state;
	probe = (struct probe){ .budget_ppm = 30000, .cost_sampled = 310, .cost_counted = 2, .cost_clock = 40 };
	for (unsigned i = 0; i < 20000; i++) {
		x = hash_mix(x + i);
		changes += level_adapt(&t, &s, 1 + (x >> 44) / (1 + i % 700));
		assert_int_equal(s.level, level_for(s.mean));
	}
	assert_in_range(changes, 10, 19000);
}

/* One invocation that was interrupted does not make the function a long one. */
static void test_outlier(void **state)
{
	struct probe_thread t = { .sparse = 0 };
	struct probe_state s = { .level = 0 };
	uint64_t mean;

	(void)state;
	probe = (struct probe){ .budget_ppm = 30000, .cost_sampled = 160, .cost_counted = 8 };
	for (int i = 0; i < 100; i++)
		level_adapt(&t, &s, 1000);
	mean = s.mean;
	level_adapt(&t, &s, 100000000);
	assert_true(s.mean <= 2 * mean + 64);
	for (int i = 0; i < 60; i++)
		level_adapt(&t, &s, 1000);
	assert_in_range(s.mean, 990, 1050);
}

/* What is measured of a short function is mostly the measuring: how densely its calls come says how long they are at most. */
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
	probe = (struct probe){ .budget_ppm = 30000, .cost_sampled = 160, .cost_counted = 2, .cost_clock = 24 };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		/* What the probe took for itself in between is no program's time. */
		struct probe_frame frame = { .start = rows[i].start + 5000 * i, .paused = 5000 * i, .ordinal = rows[i].ordinal };
		uint64_t got = level_bound(&s, &frame, rows[i].alone);

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
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_outlier),
		cmocka_unit_test(test_level_is_the_means),
		cmocka_unit_test(test_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Compares totals over all calls of a function with estimates from samples, in programs that `assay build --for counters` has built. */
#include "tests/runs/emulated_programs.h"

#include "base/rng.h"
#include "runs/inside/samples/samples.h"

#define EXACT "emulated:simulated" /* the counters before this one are exact */

static void total_of(const struct samples *s, const char *function, struct samples_total *out)
{
	samples_total_find(s, function_of(s, function), out);
	assert_true(out->known);
}

static double sum_of(const struct samples *s, const char *function, const char *counter)
{
	struct samples_total total;
	double sum;

	total_of(s, function, &total);
	sum = total.sums[samples_find_counter(s, counter)];
	samples_total_release(&total);
	return sum;
}

/* Checks that the sums of all functions and the rest add up to the total of the process. */
static void check_sums(const struct samples *s, const char *what)
{
	for (size_t c = 0; c <= samples_find_counter(s, EXACT); c++) {
		char *rest = mem_format("rest:%s", s->counters[c]);
		double sum = strtod(samples_info(s, rest), NULL);

		for (size_t i = 0; i < s->n_calls; i++)
			sum += s->calls[i].sums[c];
		check_near(what, sum, total(s, s->counters[c] + strlen("emulated:")), 0);
		free(rest);
	}
}

/* Checks that exact counters are equal in two runs, sampled or not. */
static void check_same(const struct samples *a, const struct samples *b)
{
	assert_int_equal(a->n_functions, b->n_functions);
	for (size_t f = 0; f < a->n_functions; f++)
		for (size_t c = 0; c < samples_find_counter(a, EXACT); c++)
			check_near(a->functions[f].name, sum_of(a, a->functions[f].name, a->counters[c]),
				   sum_of(b, a->functions[f].name, a->counters[c]), 0);
}

/* ---- periodic lengths of calls ---- */

struct periodic {
	unsigned period, lengths[2]; /* lengths: short, long */
	unsigned calls;
};

/* Reports whether the interval around the mean of f's samples contains the true mean. Checks the total and the shown mean. */
static bool periodic_covers(const struct periodic *p, const struct samples *s)
{
	size_t f = function_of(s, "f"), accesses = samples_find_counter(s, "emulated:accesses");
	double mean = 0, weight = 0, squares = 0, truth = 0;

	for (unsigned i = 0; i < p->calls; i++)
		truth += 2. * p->lengths[i % p->period == 0] / p->calls;
	check_near("the total", sum_of(s, "f", "emulated:accesses"), truth * p->calls, .5);
	for (size_t i = s->functions[f].first; i < s->functions[f].first + s->functions[f].n; i++) {
		mean += s->items[i].weight * s->values[i * s->n_counters + accesses];
		weight += s->items[i].weight;
	}
	assert_true(weight > .9 * p->calls && weight < 1.1 * p->calls); /* the weights add up to the calls */
	mean /= weight;
	for (size_t i = s->functions[f].first; i < s->functions[f].first + s->functions[f].n; i++) {
		double w = s->items[i].weight, away = s->values[i * s->n_counters + accesses] - mean;

		squares += w * (w - 1) * away * away;
	}
	check_near("what is shown", samples_estimate_mean(s, f, accesses).mean, truth, 1e-6 * truth);
	return fabs(mean - truth) <= 2 * sqrt(squares) / weight;
}

/* Checks random periods and lengths, and the periods that a fixed stride would follow. */
static void test_periodic(void **state)
{
	static const unsigned periods[] = { 7, 47, 49, 50, 64 };
	unsigned covered = 0, n = 20;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 15);
	build("gcc", "", "special/periodic.c", "program");
	for (unsigned i = 0; i < n; i++) {
		struct periodic p = { .period = i < COUNT(periods) ? periods[i] : 2 + (unsigned)rng_below(&rng, 70),
				      .lengths = { 20, 20000 } };
		struct samples s;
		char *command;

		if (i >= COUNT(periods)) {
			p.lengths[0] = 1 + (unsigned)rng_below(&rng, 100);
			p.lengths[1] = 1000 + (unsigned)rng_below(&rng, 20000);
		}
		p.calls = 12000000 / (2 * p.lengths[0] + 2 * p.lengths[1] / p.period);
		command = mem_format("./program %u %u %u %u", p.calls, p.period, p.lengths[0], p.lengths[1]);
		run("", command, &s, 1);
		check_sums(&s, command);
		covered += periodic_covers(&p, &s);
		samples_release(&s);
		free(command);
	}
	if (covered < n * 7 / 10) /* expected: 0.95 of them; fewer by chance and for rare lengths, as all draws use the same hash */
		fail_msg("%u of %u means lie in their intervals", covered, n);
}

/* ---- calls without a simulated window ---- */

static void test_tiny_callee(void **state)
{
	static const char *const strides[] = { "1", "1024" };
	double misses[2];

	(void)state;
	build("gcc", "", "special/tiny_callee.c", "program");
	for (size_t i = 0; i < COUNT(strides); i++) {
		char *command = mem_format("./program %s", strides[i]);
		size_t f, l1;
		struct samples s;

		run("", command, &s, 1);
		f = function_of(&s, "work");
		l1 = samples_find_counter(&s, "emulated:l1_misses");
		assert_true(isnan(s.values[s.functions[function_of(&s, "note")].first * s.n_counters + l1]));
		assert_int_equal(s.functions[f].n, 1);
		misses[i] = s.self_counts[s.functions[f].first * s.n_counters + l1];
		check_near("its total", sum_of(&s, "work", "emulated:l1_misses"), misses[i], .1 * misses[i]);
		samples_release(&s);
		free(command);
	}
	check_near("l1 misses", misses[1] / misses[0], 16, 1);
}

/* Checks that work before the calls of f does not change their mean, and that all of them are samples. */
static void test_unsimulated(void **state)
{
	static const char *const before[] = { "100000", "110000", "123456" };
	double first = 0, truth;

	(void)state;
	build("gcc", "", "special/unsimulated.c", "program");
	for (size_t i = 0; i < COUNT(before); i++) {
		char *command = mem_format("./program %s", before[i]);
		struct samples s;
		struct samples_estimate_mean mean;
		size_t f;

		run("", command, &s, 1);
		f = function_of(&s, "f");
		mean = samples_estimate_mean(&s, f, samples_find_counter(&s, "emulated:accesses"));
		first = i ? first : mean.mean;
		check_near(command, mean.mean, first, 0);
		assert_true(s.functions[f].n > 150);
		mean = samples_estimate_mean(&s, f, samples_find_counter(&s, "emulated:l1_misses"));
		truth = first / 32 - 64; /* one per 16 elements, read and written; the first 1024 are cached */
		assert_true(mean.low > 0 && mean.low <= truth && mean.high >= truth);
		samples_release(&s);
		free(command);
	}
}

static void test_full(void **state)
{
	static const struct {
		const char *source, *flags, *arguments;
	} rows[] = { { "special/unsimulated.c", "", "60000" },
		     { "histogram.c", "-DBAD", "3 9000000" },
		     { "special/leaving.c", "", "exit" } };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *command = mem_format("./program %s", rows[i].arguments);
		struct samples s, full;

		build("gcc", rows[i].flags, rows[i].source, "program");
		run("", command, &s, 1);
		run("--full", command, &full, 1);
		check_sums(&s, command);
		check_sums(&full, command);
		check_same(&s, &full);
		samples_release(&s);
		samples_release(&full);
		free(command);
	}
}

/* ---- nested calls ---- */

struct held {
	unsigned n, held;
};

/* Compares means from samples with those of --full: exact if nothing is estimated, else the interval should contain the true mean. */
static void check_means(const struct samples *s, const struct samples *full, struct held *held)
{
	for (size_t f = 0; f < s->n_functions; f++) {
		size_t same = function_of(full, s->functions[f].name);

		for (size_t c = 0; c < s->n_counters; c++) {
			struct samples_estimate_mean mean = samples_estimate_mean(s, f, c), truth = samples_estimate_mean(full, same, c);

			if (c < samples_find_counter(s, EXACT)) {
				check_near(s->functions[f].name, mean.mean, truth.mean, 0);
				check_near(s->counters[c], mean.low, mean.high, 0);
			} else if (c != samples_find_counter(s, EXACT) && !isnan(mean.low) && mean.low < mean.high) {
				held->n++;
				held->held += truth.mean >= mean.low && truth.mean <= mean.high;
			}
		}
	}
}

/* Checks functions whose callees are rarely sampled and that copy unaligned data. */
static void test_nested(void **state)
{
	static const char *const rows[][2] = { { "whole/lru_cache.c", "1 60000" },
					       { "whole/json_reader.c", "1 2500" },
					       { "matrix_multiply.c", "1 250" } };
	struct held held = { 0, 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		/* The number of accesses of a copy depends on its address, which depends on the size of the environment. */
		char *command = mem_format("env ASSAY_EMULATE_FULL=0 setarch -R ./program %s", rows[i][1]);
		struct samples s, full;

		build("gcc", "-DBAD", rows[i][0], "program");
		run("", command, &s, 1);
		*strchr(command, '0') = '1';
		run("", command, &full, 1);
		check_means(&s, &full, &held);
		samples_release(&s);
		samples_release(&full);
		free(command);
	}
	if (held.n < 30 || held.held < held.n * 9 / 10)
		fail_msg("%u of %u means lie in their intervals", held.held, held.n);
}

/* Checks threads that meet all the time. Their bursts hardly vary, so that the interval is narrow. */
static void test_meetings(void **state)
{
	struct samples s, full;
	size_t c, f;

	(void)state;
	build("gcc", "-DBAD", "spin_pool.c", "program");
	run("", "./program 2", &s, 1);
	run("--full", "./program 2", &full, 1);
	c = samples_find_counter(&s, "emulated:hitm_false_milli");
	f = function_of(&s, "use_lock");
	if (strcmp(samples_info(&s, "windows-forced"), "0") == 0 && strcmp(samples_info(&full, "windows-forced"), "0") == 0) {
		struct samples_estimate_mean mean = samples_estimate_mean(&s, f, c),
					     truth = samples_estimate_mean(&full, function_of(&full, "use_lock"), c);

		if (!(mean.low <= truth.mean && truth.mean <= mean.high && mean.high - mean.low < .001 * truth.mean))
			fail_msg("%.0f to %.0f, and it is %.0f", mean.low, mean.high, truth.mean);
	}
	samples_release(&s);
	samples_release(&full);
}

/* ---- ends of programs ---- */

static void test_leaving(void **state)
{
	static const char *const ways[] = { "return", "exit", "_exit", "quick_exit", "running" };

	(void)state;
	build("gcc", "", "special/leaving.c", "program");
	for (size_t i = 0; i < COUNT(ways); i++) {
		bool runs = strcmp(ways[i], "running") == 0;
		char *command = mem_format("./program %s", ways[i]);
		unsigned cells = 10000 + 177 + 1000 + 1000 + (runs ? 1000 : 0); /* descend, fibonacci, coroutine, threads */
		struct samples_total calls;
		struct samples s;

		run("", command, &s, 1);
		total_of(&s, "cell", &calls);
		assert_int_equal(calls.calls, cells);
		assert_int_equal(calls.complete, !runs);
		samples_total_release(&calls);
		check_near(command, sum_of(&s, "cell", "emulated:accesses"), 2 * cells, 0);
		total_of(&s, "descend", &calls);
		assert_int_equal(calls.calls, 10000);
		samples_total_release(&calls);
		total_of(&s, "fibonacci", &calls);
		assert_int_equal(calls.calls, 177);
		samples_total_release(&calls);
		check_sums(&s, command);
		samples_release(&s);
		free(command);
	}
}

int suite_totals(void)
{
	static const struct CMUnitTest tests[] = {
		SCRATCH_TEST(test_periodic), SCRATCH_TEST(test_tiny_callee), SCRATCH_TEST(test_unsimulated), SCRATCH_TEST(test_full),
		SCRATCH_TEST(test_nested),   SCRATCH_TEST(test_leaving),     SCRATCH_TEST(test_meetings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

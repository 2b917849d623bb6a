/* Tests the measured difference on synthetic runs: each class takes a known time, and the sampling clock hits it by chance. */
#include "base/mem.h"
#include "base/rng.h"
#include "gate/comparison/measured.h"
#include "tests/scratch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CLASSES	   5
#define MACHINES   12
#define RUNS	   10
#define PERIOD_NS  1000000
#define TEXT_BYTES 2000

/* The classes of a run's time; the first two are in user space. */
static const char *const classes[CLASSES] = { "user /d/run", "user /lib/libz.so.1", "kernel read", "kernel openat", "kernel futex" };
static const char *const names[CLASSES] = { "own code of run", "compression", "file data", "file metadata", "synchronisation" };

struct made {
	struct rng rng;
	size_t machines, types, runs;
	double noise;	       /* relative standard deviation of a run's time */
	double of[2][CLASSES]; /* seconds per class */
	double waiting[2];
	double missed[2]; /* part of the time without samples */
	const char *programs[2];
	size_t libraries; /* libraries with one sample each, distributed over the runs */
};

struct made_side {
	struct measured_run runs[MACHINES * RUNS];
	char texts[MACHINES * RUNS][TEXT_BYTES];
	struct level_run times[MACHINES * RUNS];
	struct parts_run met[MACHINES * RUNS];
	struct helper_result counts;
	struct sampled sampled;
	struct levels levels;
	struct parts parts;
	struct measured_side side;
};

static const char *const machines[MACHINES] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l" };

static uint64_t samples_of(struct rng *rng, double seconds)
{
	double expected = seconds * 1e9 / PERIOD_NS;
	uint64_t n = 0;

	for (double at = rng_double(rng) * 2; at < expected * 2; at += 1) /* each sample hits one of two places, by chance */
		n += rng_double(rng) < .5;
	return n;
}

static void side_make(struct made *made, int side, struct made_side *out)
{
	struct assay_error err;
	double cpu_s = 0;
	size_t n = 0;

	*out = (struct made_side){ .side = { made->programs[side] ? made->programs[side] : "/d/run", out->runs, 0, &out->parts } };
	for (size_t m = 0; m < made->machines; m++) {
		for (size_t r = 0; r < made->runs; r++, n++) {
			double factor = exp(made->noise * rng_normal(&made->rng)) * (1 + .1 * (double)m), of[2] = { 0, 0 };
			struct level_run *time = &out->times[n];
			size_t at = (size_t)snprintf(out->texts[n], TEXT_BYTES, "%d period ns\n1 processes -\n", PERIOD_NS);
			uint64_t user = out->sampled.user, kernel = out->sampled.kernel;

			for (size_t c = 0; c < CLASSES; c++) {
				double seconds = factor * made->of[side][c];

				of[*classes[c] == 'k'] += seconds;
				at += (size_t)snprintf(out->texts[n] + at, TEXT_BYTES - at, "%llu %s\n",
						       (unsigned long long)samples_of(&made->rng, seconds * (1 - made->missed[side])),
						       classes[c]);
			}
			for (size_t l = n % RUNS; l < made->libraries; l += RUNS)
				at += (size_t)snprintf(out->texts[n] + at, TEXT_BYTES - at, "1 user /lib/lib%zu.so\n", l);
			*time = (struct level_run){ .machine = machines[m], .user = of[0], .sys = of[1] };
			time->wall = of[0] + of[1] + factor * made->waiting[side];
			cpu_s += of[0] + of[1];
			check(sampled_add(&out->sampled, out->texts[n], out->side.program, NULL, &err), &err);
			out->met[n] = (struct parts_run){ out->sampled.user - user, out->sampled.kernel - kernel };
			out->runs[n] =
			    (struct measured_run){ machines[m], m % made->types, (int64_t)r, *time, out->texts[n], &out->counts };
		}
	}
	out->counts.minor_faults = side ? 30 : 20;
	out->side.n = n;
	parts_divide_cpu_time(&out->sampled, out->met, out->times, n);
	for (size_t i = 0; i < n; i++)
		out->runs[i].time = out->times[i];
	levels_compute(out->times, n, &out->levels);
	parts_compute(&out->levels, &out->sampled, cpu_s, &out->parts);
}

static void measure(struct made *made, struct measured *out)
{
	struct made_side *sides[2] = { mem_new(1, sizeof(**sides)), mem_new(1, sizeof(**sides)) };
	struct assay_error err;

	side_make(made, 0, sides[0]);
	side_make(made, 1, sides[1]);
	check(measured_compare((struct measured_side[]){ sides[0]->side, sides[1]->side }, made->types, NULL, out, &err), &err);
	for (int side = 0; side < 2; side++) {
		parts_release(&sides[side]->parts);
		free(sides[side]);
	}
}

static const struct measured_part *part_named(const struct measured *m, const char *name)
{
	for (size_t i = 0; i < m->n; i++)
		if (strcmp(m->parts[i].name, name) == 0)
			return &m->parts[i];
	return NULL;
}

/* Returns the true difference of a class, s: the mean over machines, with equally many machines per type. */
static double truth(const struct made *made, size_t class)
{
	double more = made->of[1][class] - made->of[0][class], sum = 0;

	for (size_t m = 0; m < made->machines; m++)
		sum += more * (1 + .1 * (double)m) / (double)made->machines;
	return sum * exp(made->noise * made->noise / 2);
}

static struct made made_of(size_t machines_n, size_t types, size_t runs, double noise, uint64_t seed)
{
	struct made made = { .machines = machines_n,
			     .types = types,
			     .runs = runs,
			     .noise = noise,
			     .of = { { .2, .05, .1, .02, .005 }, { .2, .05, .1, .02, .005 } },
			     .waiting = { .1, .1 } };

	rng_seed(&made.rng, seed);
	return made;
}

/* Checks how often intervals contain the truth, and how often a difference is reported where there is none. */
static void test_intervals(void **state)
{
	static const struct {
		size_t machines, types, runs;
		double noise;
	} rows[] = { { 1, 1, 6, .01 }, { 1, 1, 10, .1 }, { 1, 1, 2, .02 }, { 3, 3, 3, .05 }, { 12, 6, 2, .05 }, { 6, 6, 1, .05 } };

	(void)state;
	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		struct made made = made_of(rows[row].machines, rows[row].types, rows[row].runs, rows[row].noise, 7);
		size_t held = 0, all = 0, wrong = 0, rounds = 200;

		for (size_t k = 0; k < rounds; k++) {
			struct measured m;
			bool any = false;

			made.of[1][3] = k % 2 ? .05 : .02;
			measure(&made, &m);
			for (size_t c = 0; c < CLASSES; c++) {
				const struct measured_part *part = part_named(&m, names[c]);

				if (!part)
					continue;
				all++;
				held += part->low <= truth(&made, c) && truth(&made, c) <= part->high;
				any |= part->certain && made.of[0][c] == made.of[1][c];
			}
			wrong += any;
			measured_release(&m);
		}
		if ((double)held < .93 * (double)all || (double)wrong > .08 * (double)rounds)
			fail_msg("row %zu: %zu of %zu intervals hold, %zu of %zu say too much", row, held, all, wrong, rounds);
	}
}

/* Checks that the class and the level that grew are named first, with their growth. */
static void test_named(void **state)
{
	struct made made = made_of(6, 3, 5, .02, 11);
	struct measured m;
	char *text;

	(void)state;
	made.of[1][3] = .12;
	made.programs[1] = "/e/walk";
	measure(&made, &m);
	assert_int_equal(m.machines, 6);
	assert_true(m.runs[0] == 30 && m.runs[1] == 30);
	assert_string_equal(m.parts[0].name, "kernel");
	assert_string_equal(m.parts[1].name, "file metadata");
	assert_true(m.parts[0].certain && m.parts[1].certain && fabs(m.parts[1].difference - .125) < .02);
	text = measured_text(&m, MEASURED_REPORTED_SHARE * (m.seconds[1] - m.seconds[0]));
	assert_true(strncmp(text, "+0.1", 4) == 0 && strstr(text, " s in the kernel, of which +0.1") && strstr(text, " s file metadata"));
	free(text);
	assert_non_null(part_named(&m, "own code of run, walk")); /* one program with two names */
	for (size_t i = 0; i < m.n_counts; i++) {
		bool faults = strcmp(m.counts[i].name, "minor_faults") == 0;

		assert_true(m.counts[i].certain == faults && fabs(m.counts[i].difference - (faults ? 10 : 0)) < 1e-9);
	}
	measured_release(&m);
}

/* Checks more of one class and less of another at the same level: both are reported. */
static void test_exchanged(void **state)
{
	struct made made = made_of(2, 2, 8, .005, 13);
	struct measured m;
	char *text;

	(void)state;
	made.of[1][0] = .1;
	made.of[1][1] = .15;
	measure(&made, &m);
	text = measured_text(&m, MEASURED_REPORTED_SHARE * m.seconds[1]);
	assert_true(strstr(text, " s own code of run") && strstr(text, " s compression") && !strstr(text, "computing"));
	free(text);
	measured_release(&m);
}

/* Checks versions that miss different shares of samples: this does not make classes shorter. */
static void test_missed(void **state)
{
	struct made made = made_of(2, 2, 10, .005, 19);
	struct measured m;

	(void)state;
	made.missed[0] = .08;
	made.missed[1] = .13;
	measure(&made, &m);
	for (size_t i = 0; i < m.n; i++) {
		if (m.parts[i].certain)
			fail_msg("%s: %.4f s (%.4f to %.4f)", m.parts[i].name, m.parts[i].difference, m.parts[i].low, m.parts[i].high);
	}
	measured_release(&m);
}

/* Checks that many parts with few samples cause no doubt about a part with many samples, and are never certain themselves. */
static void test_few_samples(void **state)
{
	size_t certain[2] = { 0, 0 }, rounds = 100;

	(void)state;
	for (size_t k = 0; k < 2 * rounds; k++) {
		struct made made = made_of(1, 1, 10, .01, k / 2 + 1);
		struct measured m;

		made.libraries = k % 2 ? 4 * RUNS : 0;
		made.of[1][3] = .03;
		measure(&made, &m);
		for (size_t i = 0; i < m.n; i++) {
			assert_true(!m.parts[i].certain || strncmp(m.parts[i].name, "library", 7) != 0);
			certain[k % 2] += m.parts[i].certain && strcmp(m.parts[i].name, "file metadata") == 0;
		}
		measured_release(&m);
	}
	if (certain[0] < rounds / 2 || certain[1] + rounds / 20 < certain[0])
		fail_msg("certain in %zu of %zu, beside many of few samples in %zu", certain[0], rounds, certain[1]);
}

/* Checks that a single run on a single machine has no interval and no certain difference. */
static void test_single(void **state)
{
	struct made made = made_of(1, 1, 1, .01, 17);
	struct measured m;
	char *text;

	(void)state;
	made.of[1][0] = .6;
	measure(&made, &m);
	assert_true(m.n > 3 && m.machines == 1);
	for (size_t i = 0; i < m.n; i++)
		assert_true(isnan(m.parts[i].low) && !m.parts[i].certain);
	text = measured_text(&m, 0);
	assert_string_equal(text, "");
	free(text);
	measured_release(&m);
}

/* Checks folded lines: levels, parts, functions. Each line excludes the lines below it. A part of only one side is zero on the other. */
static void test_folded(void **state)
{
	static char a[] = "1000000 period ns\n1 processes -\n400 user /d/run\n250 line w.c:7:3 work\n50 line w.c:8:3 work\n"
			  "60 line w.c:20:18 a;b(int, char)\n100 user /lib/libx.so.1\n100 kernel read\n",
		    b[] = "1000000 period ns\n1 processes -\n500 user /d/run\n480 line w.c:7:3 work\n20 line w.c:30:28 new\n"
			  "100 user /lib/libx.so.1\n100 kernel read\n";
	struct measured_run runs[2] = { { "m", 0, 0, { .wall = 1, .user = .5, .sys = .1 }, a, NULL },
					{ "m", 0, 0, { .wall = 1, .user = .6, .sys = .1 }, b, NULL } };
	struct sampled *sampled = mem_new(1, sizeof(*sampled));
	struct levels levels = { .runs = 1 };
	struct parts parts = { .levels = &levels, .sampled = sampled };
	struct buf text = BUF_INIT;
	struct assay_error err;
	struct measured m;

	(void)state;
	check(
	    measured_compare((struct measured_side[]){ { "run", &runs[0], 1, &parts }, { "run", &runs[1], 1, &parts } }, 1, NULL, &m, &err),
	    &err);
	measured_add_folded_stacks(&m, "app", &text);
	assert_string_equal(text.bytes, "app;computing;own code of run 40000 0\n"
					"app;computing;own code of run;work 300000 480000\n"
					"app;computing;own code of run;a_b(int, char) 60000 0\n"
					"app;computing;own code of run;new 0 20000\n"
					"app;computing;library libx.so.1 100000 100000\n"
					"app;waiting 400000 300000\n"
					"app;in the kernel;file data 100000 100000\n");
	buf_release(&text);
	measured_release(&m);
	free(sampled);
}

/* ---- functions that half of the runs select and the other half confirms ---- */

#define CHOOSING 40

/* Makes samples of two functions, 1 ms each. The arguments are the candidate's additional samples in each half of the runs. */
static struct measured_chosen chosen_of(const int work_more[2], const int other_more[2])
{
	static char texts[2][CHOOSING][160];
	static struct measured_run runs[2][CHOOSING];
	struct sampled *sampled = mem_new(1, sizeof(*sampled));
	struct levels levels = { .runs = 1 };
	struct parts parts = { .levels = &levels, .sampled = sampled };
	struct assay_error err;
	struct measured_chosen chosen;
	struct measured m;

	for (int side = 0; side < 2; side++) {
		for (int i = 0; i < CHOOSING; i++) {
			int work = 200 + (7 * i + 3 * side) % 5 + (side ? work_more[i / 2 % 2] : 0),
			    other = 100 + (3 * i + side) % 5 + (side ? other_more[i / 2 % 2] : 0), all = 200 + work + other;

			snprintf(texts[side][i], sizeof(texts[side][i]),
				 "1000000 period ns\n1 processes -\n%d user /d/run\n%d line w.c:7:3 work\n%d line w.c:20:18 other\n", all,
				 work, other);
			runs[side][i] = (struct measured_run){ "m", 0, i + 1, { .wall = 1, .user = .001 * all }, texts[side][i], NULL };
		}
	}
	check(measured_compare((struct measured_side[]){ { "run", runs[0], CHOOSING, &parts }, { "run", runs[1], CHOOSING, &parts } }, 1,
			       NULL, &m, &err),
	      &err);
	chosen = m.chosen;
	chosen.first = !chosen.first ? NULL : strcmp(chosen.first, "work") == 0 ? "work" : "other";
	measured_release(&m);
	free(sampled);
	return chosen;
}

static void test_chosen(void **state)
{
	static const struct {
		const char *what;
		int work[2], other[2];
		size_t n;
		const char *first;
		double difference;
	} rows[] = {
		{ "nothing", { 0, 0 }, { 0, 0 }, 0, NULL, 0 },
		{ "one in both halves", { 60, 60 }, { 0, 0 }, 1, "work", .06 },
		{ "one in the half that chooses", { 60, 0 }, { 0, 0 }, 1, "work", 0 },
		{ "one in the half that confirms", { 0, 60 }, { 0, 0 }, 0, NULL, 0 },
		{ "both", { 60, 60 }, { 40, 40 }, 2, "work", .1 },
		{ "from one to the other", { 60, 60 }, { -60, -60 }, 2, "work", 0 },
		{ "less", { 0, 0 }, { -60, -60 }, 1, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct measured_chosen chosen = chosen_of(rows[i].work, rows[i].other);
		bool same = chosen.first == rows[i].first || (chosen.first && rows[i].first && strcmp(chosen.first, rows[i].first) == 0);

		if (chosen.n != rows[i].n || !same || fabs(chosen.difference - rows[i].difference) > .004 ||
		    (chosen.first && !(chosen.error > 0 && chosen.error < .02 && chosen.df > 5)))
			fail_msg("%s: %zu, %s, %g +- %g", rows[i].what, chosen.n, chosen.first ? chosen.first : "none", chosen.difference,
				 chosen.error);
	}
}

int suite_measured(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_intervals),	cmocka_unit_test(test_named),
					    cmocka_unit_test(test_exchanged),	cmocka_unit_test(test_missed),
					    cmocka_unit_test(test_few_samples), cmocka_unit_test(test_single),
					    cmocka_unit_test(test_folded),	cmocka_unit_test(test_chosen) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

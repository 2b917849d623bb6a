/* Tests which function is ranked first if each is measured with its callees: the one with the fault, not its callers. */
#include "gate/detect/detect.h"

#include "base/rng.h"
#include "tests/bench/rivals.h"
#include "tests/gate/made_samples.h"
#include "tests/scratch.h"

#include <math.h>

#define RUNS	12
#define MIDDLE	100 /* calls made by outer */
#define LEAF	500 /* calls made by middle */
#define SAMPLES 50

enum { OUTER, INNER, LEAVES };
static const char *const functions[] = { "outer", "middle", "leaf", NULL };
static const char *const counters[] = { NULL };

/* Adds a run in which outer calls middle, which calls leaf; `own` is the time of each without callees. A tenth of the calls of leaf are
 * samples, and the estimate of the callees' time is a twentieth off. */
static void add_run(struct side *side, const double own[3], uint32_t leaf_weight, struct rng *rng)
{
	struct made rows[1 + MIDDLE + LEAF / 10];
	double leaf = own[LEAVES] * exp(.01 * rng_normal(rng)), off = exp(.05 * rng_normal(rng)), inside;
	struct samples samples;
	char *name = mem_format("%03zu", side->n);
	size_t n = 0;

	memset(rows, 0, sizeof(rows));
	inside = MIDDLE * (own[INNER] + LEAF / MIDDLE * leaf);
	rows[n++] = (struct made){ .function = OUTER, .ns = own[OUTER] + inside, .nested_ns = inside * off, .estimated = true };
	for (size_t i = 0; i < MIDDLE; i++) {
		inside = LEAF / MIDDLE * leaf;
		rows[n++] = (struct made){ .function = INNER, .ns = own[INNER] + inside, .nested_ns = inside * off, .estimated = true };
	}
	for (size_t i = 0; i < LEAF / 10; i++)
		rows[n++] = (struct made){ .function = LEAVES, .ns = leaf, .estimated = true, .weight = leaf_weight };
	samples = made_samples(RECORD_TIME, counters, functions, rows, n);
	samples.calls[LEAVES].calls = LEAF;
	side_add_run(side, name, "", "");
	side_add_samples(side, &samples);
	free(name);
}

static struct side runs(const char *what, const double own[3], uint32_t leaf_weight, struct rng *rng)
{
	struct side side = made_side(what);
	struct assay_error err;

	for (size_t r = 0; r < RUNS; r++)
		add_run(&side, own, leaf_weight, rng);
	check(side_check(&side, &err), &err);
	return side;
}

/* Returns options with a scorer that is fitted fast. */
static struct detect_options quick(void)
{
	struct detect_options options = { .detector = detector_defaults, .observe = observe_defaults };

	options.detector.scorer = &scorer_mahalanobis;
	options.detector.rate = .1;
	return options;
}

static void test_places(void **state)
{
	static const struct {
		double now[3];
		const char *first;
	} cases[] = {
		{ { 50000, 1000, 300 }, "leaf" },
		{ { 50000, 2000, 100 }, "middle" },
		{ { 150000, 1000, 100 }, "outer" },
		{ { 150000, 1000, 120 }, "outer" }, /* two faults: outer's own is the larger part of the added time */
	};
	static const double normal[3] = { 50000, 1000, 100 };
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1);
	for (size_t c = 0; c < COUNT(cases); c++) {
		struct side old = runs("old", normal, 9, &rng), new = runs("new", cases[c].now, 11, &rng);
		struct detect_input input = { .old = &old, .new = &new };
		struct detect_options options = quick();
		struct assay_error err;
		struct detected d;

		check(detect(&input, &options, &d, &err), &err);
		assert_int_equal(d.decision, DECISION_REGRESSION);
		assert_string_equal(d.functions[0].name, cases[c].first);
		/* The number of calls is known, whichever of them were sampled. */
		for (size_t i = 0; i < d.n_worse; i++)
			assert_int_equal(d.functions[i].kind.trouble, TROUBLE_SLOWER);
		detected_release(&d);
		side_release(&old);
		side_release(&new);
	}
}

/* A function whose samples each represent many calls. */
struct sampled {
	double ns, interrupted_ns; /* ns: usual time; interrupted_ns: time of one sample in the first run, 0: none */
	size_t samples;		   /* samples per run, at most SAMPLES */
	double beside_ns;	   /* time of another function, measured as often; 0: none */
	bool seeded;		   /* each run samples other calls */
};

static void sampled_seed(struct samples *s, size_t run)
{
	s->infos = mem_new(1, sizeof(s->infos[0]));
	s->infos[s->n_infos++] = (struct samples_info){ mem_string("seed"), mem_format("%zu", run) };
}

static struct side runs_of(const char *what, const struct sampled *sampled, struct rng *rng)
{
	static const char *const names[][3] = { { "f", NULL }, { "f", "beside", NULL } };
	size_t measured = sampled->beside_ns > 0 ? 2 : 1, n = sampled->samples;
	struct side side = made_side(what);
	struct assay_error err;

	for (size_t r = 0; r < RUNS; r++) {
		struct made rows[2 * SAMPLES];
		struct samples samples;
		char *name = mem_format("%03zu", r);

		memset(rows, 0, sizeof(rows));
		for (size_t i = 0; i < measured * n; i++)
			rows[i] = (struct made){ .function = (uint32_t)(i / n),
						 .ns = (i < n ? sampled->ns : sampled->beside_ns) * exp(.01 * rng_normal(rng)),
						 .weight = 1000 };
		if (r == 0 && sampled->interrupted_ns > 0)
			rows[n / 2].ns = sampled->interrupted_ns;
		samples = made_samples(RECORD_TIME, counters, names[measured - 1], rows, measured * n);
		if (sampled->seeded)
			sampled_seed(&samples, r);
		made_run(&side, name, samples);
		free(name);
	}
	check(side_check(&side, &err), &err);
	return side;
}

/* Checks that an interrupted call, which represents many that were not interrupted, does not change the result. Few calls that are the same
 * in all runs decide nothing. */
static void test_chance(void **state)
{
	static const struct {
		struct sampled then, now;
		enum decision decision;
	} cases[] = {
		{ { 1000, 0, 50, 0, false }, { 1000, 0, 50, 0, false }, DECISION_PASS },
		{ { 1000, 0, 50, 0, false }, { 4000, 0, 50, 0, false }, DECISION_REGRESSION },
		{ { 4000, 0, 50, 0, false }, { 1000, 0, 50, 0, false }, DECISION_IMPROVED },
		{ { 1000, 5e6, 50, 0, false }, { 4000, 0, 50, 0, false }, DECISION_REGRESSION }, /* the means alone would say "improved" */
		{ { 1000, 0, 50, 0, false }, { 4000, 5e6, 50, 0, false }, DECISION_REGRESSION },
		{ { 1000, 5e6, 50, 0, false }, { 1000, 0, 50, 0, false }, DECISION_PASS },
		{ { 1000, 0, 50, 0, false }, { 1000, 5e6, 50, 0, false }, DECISION_PASS },
		{ { 1000, 1e7, 50, 50000, false }, { 700, 0, 50, 50000, false }, DECISION_IMPROVED },
		{ { 1000, 0, 50, 50000, false }, { 700, 0, 50, 50000, false }, DECISION_IMPROVED },
		{ { 70, 0, 17, 0, false }, { 180, 0, 22, 0, false }, DECISION_NOTHING_MEASURED },
		{ { 70, 0, 50, 0, false }, { 180, 0, 22, 0, false }, DECISION_NOTHING_MEASURED },
		{ { 280, 0, 15, 0, false }, { 70, 0, 9, 0, false }, DECISION_NOTHING_MEASURED },
		{ { 70, 0, 17, 0, true }, { 180, 0, 17, 0, true }, DECISION_REGRESSION }, /* the samples of all runs together */
		{ { 4000, 0, 17, 0, true }, { 1000, 0, 17, 0, true }, DECISION_IMPROVED },
		{ { 70, 0, 2, 0, true }, { 180, 0, 2, 0, true }, DECISION_NOTHING_MEASURED },
	};
	struct rng rng;

	(void)state;
	rng_seed(&rng, 2);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct side old = runs_of("old", &cases[i].then, &rng), new = runs_of("new", &cases[i].now, &rng);
		struct detect_input input = { .old = &old, .new = &new };
		struct detect_options options = quick();
		struct assay_error err;
		struct detected d;

		check(detect(&input, &options, &d, &err), &err);
		if (d.decision != cases[i].decision)
			fail_msg("%zu: %g (%g) and %g ns: %s", i, cases[i].then.ns, cases[i].then.interrupted_ns, cases[i].now.ns,
				 decision_text(d.decision));
		detected_release(&d);
		side_release(&old);
		side_release(&new);
	}
}

/* Makes runs on a machine that other programs use: the kernel interrupts calls more often, and such calls take a little longer. */
static struct side loaded_runs(const char *what, double ns, double switches, struct rng *rng)
{
	static const char *const counted[] = { "perf::CONTEXT-SWITCHES", "perf::PAGE-FAULTS", NULL }, *const names[] = { "main", NULL };
	struct side side = made_side(what);
	struct assay_error err;

	for (size_t r = 0; r < RUNS; r++) {
		struct made rows[SAMPLES];
		char *name = mem_format("%03zu", r);

		memset(rows, 0, sizeof(rows));
		for (size_t i = 0; i < SAMPLES; i++)
			rows[i] = (struct made){ .ns = ns * exp(.01 * rng_normal(rng)), .values = { switches, 3 } };
		made_run(&side, name, made_samples(RECORD_SOFTWARE, counted, names, rows, SAMPLES));
		free(name);
	}
	check(side_check(&side, &err), &err);
	return side;
}

static void test_load(void **state)
{
	struct rng rng;
	struct side old, new;
	struct detect_input input = { .old = &old, .new = &new };
	struct detect_options options = quick();
	struct assay_error err;
	struct detected d;

	(void)state;
	rng_seed(&rng, 4);
	old = loaded_runs("old", 1e6, 1, &rng);
	new = loaded_runs("new", 1.03e6, 60, &rng);
	check(detect(&input, &options, &d, &err), &err);
	assert_int_equal(d.decision, DECISION_PASS);
	assert_int_equal(d.seen.observations.values.cols, 3); /* likeness.h uses these counters */
	detected_release(&d);
	side_release(&old);
	side_release(&new);
}

#define DIVIDED_RUNS 20 /* as many as the usual rate needs */

/* Calls per run of one function, and their accesses by turns. */
struct divided {
	size_t calls;
	double accesses[2];
};

static struct side divided_runs(const char *what, const struct divided *divided, struct rng *rng)
{
	static const char *const names[] = { "f", NULL }, *const counted[] = { "emulated:accesses", "emulated:blocks", NULL };
	struct side side = made_side(what);
	struct assay_error err;

	for (size_t r = 0; r < DIVIDED_RUNS; r++) {
		struct made rows[2 * SAMPLES];
		double size = exp(.01 * rng_normal(rng)); /* size of the input */
		char *name = mem_format("%03zu", r);

		memset(rows, 0, sizeof(rows));
		for (size_t i = 0; i < divided->calls; i++) {
			double accesses = size * divided->accesses[i % 2];

			rows[i] = (struct made){ .values = { accesses, accesses / 2 } };
		}
		made_run(&side, name, made_samples(RECORD_EMULATED, counted, names, rows, divided->calls));
		free(name);
	}
	check(side_check(&side, &err), &err);
	return side;
}

/* Checks equal work that is divided between calls in another way: no regression, and the text names the number of calls correctly. */
static void test_divided(void **state)
{
	static const struct {
		struct divided now;
		const char *code, *text;
	} cases[] = {
		{ { SAMPLES, { 100, 1900 } }, "divided_otherwise", "f: single calls differ" },
		{ { 2 * SAMPLES, { 500, 500 } }, "divided_otherwise", "called 2 times as often" },
	};
	static const struct divided then = { SAMPLES, { 1000, 1000 } };
	struct rng rng;

	(void)state;
	rng_seed(&rng, 3);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct side old = divided_runs("old", &then, &rng), new = divided_runs("new", &cases[i].now, &rng);
		struct detect_input input = { .old = &old, .new = &new };
		struct detect_options options = { .detector = detector_defaults, .observe = observe_defaults };
		const char *text = "";
		struct assay_error err;
		struct detected d;

		check(detect(&input, &options, &d, &err), &err);
		assert_int_equal(d.decision, DECISION_PASS);
		for (size_t k = 0; k < d.n_reasons; k++) {
			text = strcmp(d.reasons[k].code, cases[i].code) == 0 ? d.reasons[k].text : text;
		}
		if (!strstr(text, cases[i].text))
			fail_msg("%s: '%s'", cases[i].code, text);
		detected_release(&d);
		side_release(&old);
		side_release(&new);
	}
}

int suite_ranking(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_places), cmocka_unit_test(test_chance), cmocka_unit_test(test_load),
					    cmocka_unit_test(test_divided) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

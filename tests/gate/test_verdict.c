/* Tests pairing of machines, decisions and reasons on laboratories in memory. */
#include "base/mem.h"
#include "base/rng.h"
#include "gate/decide/contributions.h"
#include "gate/decide/verdict_answer.c" /* the static functions of the answer */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define MACHINES  12
#define STRESSORS 6

/* A laboratory of machines m00..m11. Machine i has type i % types, and one fingerprint of one pass. */
struct world {
	struct evidence evidence;
	struct lab_config config;
	struct run_set sides[2];
};

static void add_run(struct run_set *set, int machine, int64_t repetition, double metric, const char *fingerprint)
{
	struct run *run;

	set->items = mem_resize(set->items, set->n + 1, sizeof(*set->items));
	run = &set->items[set->n++];
	*run = (struct run){ .machine = mem_format("m%02d", machine),
			     .taken_ms = 1000,
			     .repetition = repetition,
			     .metric = metric,
			     .recorded = 1,
			     .pass = 1 };
	snprintf(run->fingerprint, sizeof(run->fingerprint), "%s", fingerprint);
}

static void world_init(struct world *w, int types)
{
	struct fingerprint_set *set = &w->evidence.fingerprints;

	*w = (struct world){ .config = { .min_effect = .03 } };
	set->n_stressors = STRESSORS;
	set->stressors = mem_new(STRESSORS, sizeof(char *));
	for (int j = 0; j < STRESSORS; j++)
		set->stressors[j] = mem_format("s%d", j);
	set->items = mem_new(MACHINES, sizeof(*set->items));
	set->n = MACHINES;
	for (int i = 0; i < MACHINES; i++) {
		struct fingerprint *f = &set->items[i];
		struct machine *machine;

		*f = (struct fingerprint){ .machine = mem_format("m%02d", i),
					   .battery = mem_string("b"),
					   .battery_hash = mem_string("h"),
					   .stress_ng = mem_string("1"),
					   .architecture = mem_string("x"),
					   .origin = mem_string("imported"),
					   .passes = mem_new(1, sizeof(int64_t)),
					   .n_passes = 1,
					   .rates = mem_new(STRESSORS, sizeof(double)) };
		snprintf(f->id, sizeof(f->id), "%016d", i);
		f->passes[0] = 1;
		/* Each stressor j has its own pattern over the types; s0 grows with the type. */
		for (int j = 0; j < STRESSORS; j++)
			f->rates[j] = j == 0 ? exp(.3 * (i % types)) : exp(sin((i % types) * 1.7 + j * 2.3));
		machine = catalog_ensure_machine(&w->evidence.catalog, f->machine);
		machine_put_fingerprint(machine, set, f);
		machine->fingerprints[0].type = mem_format("t%d", i % types);
		machine->fingerprints[0].type_given_by = mem_string("the test");
	}
	types_compute(&w->evidence.catalog, &w->config, &w->evidence.types);
	for (int side = 0; side < 2; side++) {
		w->sides[side].application = mem_string("app");
		w->sides[side].version = mem_string(side ? "new" : "old");
	}
}

static void world_release(struct world *w)
{
	evidence_release(&w->evidence);
	lab_config_release(&w->config);
	run_set_release(&w->sides[0]);
	run_set_release(&w->sides[1]);
}

static double apart = .01; /* distance of repetitions, relative to their cost */

/* Adds three repetitions per side on every machine, `apart` from each other. The candidate costs factor(type) times as much. */
static void run_all(struct world *w, int types, double (*factor)(int type))
{
	for (int i = 0; i < MACHINES; i++) {
		char id[FINGERPRINT_ID_BYTES];

		snprintf(id, sizeof(id), "%016d", i);
		for (int k = 0; k < 3; k++) {
			add_run(&w->sides[0], i, k + 1, (10 + i) * (1 + apart * (k - 1)), id);
			add_run(&w->sides[1], i, k + 1, (10 + i) * (1 + apart * (k - 1)) * factor(i % types), id);
		}
	}
}

static double same(int type)
{
	return type >= 0 ? 1 : 0;
}

static double slower(int type)
{
	return type >= 0 ? 1.2 : 0;
}

/* Returns a factor whose log falls as s0 rises. */
static double by_resource(int type)
{
	return 1.5 * exp(-.06 * type);
}

static struct verdict decide(struct world *w)
{
	struct assay_error err;
	struct verdict v;

	assert_int_equal(verdict_compute(&w->evidence, &w->config, &w->sides[0], &w->sides[1], .03, &v, &err), ASSAY_OK);
	return v;
}

static bool has_reason(const struct verdict *v, const char *code)
{
	for (size_t i = 0; i < v->n_reasons; i++) {
		if (strcmp(v->reasons[i].code, code) == 0)
			return true;
	}
	return false;
}

/* Gives machines from `first` on another architecture. */
static void other_architecture(struct world *w, int first, const char *name)
{
	for (int i = first; i < MACHINES; i++) {
		struct fingerprint *f = &w->evidence.fingerprints.items[i];

		free(f->architecture);
		f->architecture = mem_string(name);
	}
}

/* Checks that two architectures are decided separately, and the worst decision counts. Together they could hide a change. */
static void test_architectures(void **state)
{
	struct world w;
	struct verdict v;

	(void)state;
	world_init(&w, MACHINES);
	run_all(&w, MACHINES, same);
	other_architecture(&w, 8, "y");
	v = decide(&w);
	assert_int_equal(v.effect.decision, DECISION_PASS);
	assert_int_equal(v.n_architectures, 2);
	assert_int_equal(v.pairing.used, 8); /* if decisions are equal, the architecture with more machines counts */
	assert_int_equal(v.pairing.n, 8);    /* machines of the other architecture are not included */
	verdict_release(&v);
	for (size_t i = 0; i < w.sides[1].n; i++)
		w.sides[1].items[i].metric *= i >= 24 ? 1.2 : 1; /* three repetitions on each of eight machines */
	v = decide(&w);
	assert_int_equal(v.effect.decision, DECISION_REGRESSION);
	assert_float_equal(v.effect.ratio, 1.2, 1e-9);
	assert_float_equal(v.within[0].effect.ratio, 1, 1e-9);
	assert_int_equal(v.within[0].effect.decision, DECISION_PASS);
	assert_string_equal(v.within[1].architecture, "y");
	assert_int_equal(v.within[1].effect.decision, DECISION_REGRESSION);
	assert_int_equal(v.within[1].machines, 4);
	assert_int_equal(v.pairing.used, 4);
	assert_true(has_reason(&v, "architectures_apart"));
	for (size_t i = 0; i < v.n_reasons; i++) {
		if (strcmp(v.reasons[i].code, "architectures_apart") == 0)
			assert_string_equal(v.reasons[i].text,
					    "machines of each architecture have their own decision, and the worst decision is used: x pass "
					    "(ratio 1.000 on 8 machines), y regression (ratio 1.200 on 4 machines)");
	}
	verdict_release(&v);
	world_release(&w);
}

/* Checks that an unknown architecture is never treated as another one. */
static void test_architecture_unknown(void **state)
{
	struct world w;
	struct verdict v;

	(void)state;
	world_init(&w, 4);
	run_all(&w, 4, slower);
	other_architecture(&w, 6, FINGERPRINT_UNKNOWN);
	v = decide(&w);
	assert_int_equal(v.n_architectures, 0);
	assert_int_equal(v.pairing.used, MACHINES);
	assert_false(has_reason(&v, "architectures_apart"));
	verdict_release(&v);
	world_release(&w);
}

/* Checks that the architecture recorded with a run overrides the machine's fingerprints, and counts without any. */
static void test_architecture_recorded(void **state)
{
	struct world w;
	struct verdict v;

	(void)state;
	world_init(&w, MACHINES);
	run_all(&w, MACHINES, same);
	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < w.sides[side].n; i++) {
			struct run *run = &w.sides[side].items[i];

			snprintf(run->architecture, sizeof(run->architecture), "%s", i < 15 ? "recorded" : "x");
			*run->fingerprint = '\0';
			run->metric *= side && i < 15 ? 1.2 : 1;
		}
	}
	v = decide(&w);
	assert_int_equal(v.effect.decision, DECISION_REGRESSION);
	assert_int_equal(v.n_architectures, 2);
	assert_string_equal(v.architecture, "recorded");
	assert_int_equal(v.within[0].machines, 5);
	assert_int_equal(v.within[1].machines, MACHINES - 5);
	assert_int_equal(v.within[1].effect.decision, DECISION_PASS);
	verdict_release(&v);
	world_release(&w);
}

static void ran_on(struct run_set *set, int machine, const char *architecture, size_t failed)
{
	struct run_execution_counts *executed_on;

	set->executed_on = mem_resize(set->executed_on, set->n_executed_machines + 1, sizeof(*set->executed_on));
	executed_on = &set->executed_on[set->n_executed_machines++];
	*executed_on = (struct run_execution_counts){ .machine = mem_format("m%02d", machine), .n_executed = 3, .failed = failed };
	snprintf(executed_on->architecture, sizeof(executed_on->architecture), "%s", architecture);
	set->n_executed += 3;
	set->failed += failed;
}

/* Checks a candidate that does not run on one architecture: that is a regression, however good the other one is. Its failures do not make
 * the other architecture's pass inconclusive. */
static void test_architectures_fail_apart(void **state)
{
	struct world w;
	struct verdict v;

	(void)state;
	world_init(&w, MACHINES);
	run_all(&w, MACHINES, same);
	other_architecture(&w, 8, "y");
	for (int i = 0; i < MACHINES; i++) {
		ran_on(&w.sides[0], i, "", 0); /* the architecture is the catalog's */
		ran_on(&w.sides[1], i, i < 8 ? "x" : "y", i < 8 ? 0 : 3);
	}
	for (int i = 8; i < MACHINES; i++) {
		free(w.evidence.catalog.machines[i].fingerprints[0].architecture);
		w.evidence.catalog.machines[i].fingerprints[0].architecture = mem_string("y");
	}
	for (size_t i = 24; i < w.sides[1].n; i++)
		free(w.sides[1].items[i].machine);
	w.sides[1].n = 24;
	v = decide(&w);
	assert_int_equal(v.effect.decision, DECISION_REGRESSION);
	assert_string_equal(v.architecture, "y");
	assert_int_equal(v.candidate->failed, 12);
	assert_int_equal(v.baseline->n_executed, 12);
	assert_true(has_reason(&v, "candidate_always_fails"));
	assert_int_equal(v.within[0].effect.decision, DECISION_PASS);
	assert_int_equal(v.within[1].machines, 0);
	verdict_release(&v);
	world_release(&w);
}

/* Checks that an architecture without runs of one version is not decided, and the others decide. */
static void test_architecture_of_one_version(void **state)
{
	struct world w;
	struct verdict v;

	(void)state;
	world_init(&w, MACHINES);
	run_all(&w, MACHINES, same);
	other_architecture(&w, 8, "y");
	for (size_t i = 24; i < w.sides[1].n; i++)
		free(w.sides[1].items[i].machine);
	w.sides[1].n = 24;
	v = decide(&w);
	assert_int_equal(v.effect.decision, DECISION_PASS);
	assert_string_equal(v.architecture, "x");
	assert_int_equal(v.within[1].effect.decision, DECISION_NOTHING_MEASURED);
	verdict_release(&v);
	world_release(&w);
}

static void test_decisions(void **state)
{
	const struct {
		const char *what;
		double (*factor)(int type);
		bool higher_is_better;
		enum decision decision;
		const char *reason, *effect_pattern;
		double ratio;
	} rows[] = {
		{ "nothing changed", same, false, DECISION_PASS, "below_min_effect", NULL, 1 },
		{ "uniformly slower", slower, false, DECISION_REGRESSION, "slower", "uniform_change", 1.2 },
		{ "uniformly more of a rate", slower, true, DECISION_IMPROVED, "faster", "uniform_change", 1 / 1.2 },
		{ "slower where s0 is slow", by_resource, false, DECISION_REGRESSION, "slower", "shape_changed", 1.5 * exp(-.06 * 2.5) },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct verdict v;
		struct world w;

		world_init(&w, 6);
		run_all(&w, 6, rows[i].factor);
		w.sides[0].higher_is_better = w.sides[1].higher_is_better = rows[i].higher_is_better;
		v = decide(&w);
		print_message("%s\n", rows[i].what);
		assert_int_equal(v.effect.decision, rows[i].decision);
		assert_true(has_reason(&v, rows[i].reason));
		assert_true(!rows[i].effect_pattern || has_reason(&v, rows[i].effect_pattern));
		assert_true(fabs(v.effect.ratio - rows[i].ratio) < 1e-12);
		assert_int_equal(v.effect.types, 6);
		verdict_release(&v);
		world_release(&w);
	}
}

/* Checks CPU and wall-clock times, which for the candidate are multiplied by these factors. A metric that varies by machine shows
 * nothing. */
static void test_times(void **state)
{
	static const struct {
		double work, wall;
		bool noisy;
		const char *reason; /* NULL: none of the three */
	} rows[] = {
		{ 1.1, 1.1, false, "computes_more" },
		{ 1.1, 1, false, "computes_more" },
		{ 1, 1.1, false, "waits_more" },
		{ 1.001, 1, true, "computes_alike" },
		{ 1.1, 1.1, true, "computes_more" },
		{ 1, 1, false, NULL },
		{ .8, .8, false, NULL },
		{ 0, 1.1, false, NULL }, /* unknown */
	};
	static const char *const all[] = { "computes_more", "waits_more", "computes_alike" };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct verdict v;
		struct world w;

		world_init(&w, 6);
		run_all(&w, 6, same);
		for (int side = 0; side < 2; side++) {
			for (size_t r = 0; r < w.sides[side].n; r++) {
				struct run *run = &w.sides[side].items[r];

				run->usage = (struct metric_usage){ (int64_t)(run->metric * 1e9 * (side ? rows[i].wall : 1)),
								    (int64_t)(run->metric * 8e5 * (side ? rows[i].work : 1)),
								    (int64_t)(run->metric * 1e5 * (side ? rows[i].work : 1)) };
				run->metric *= side && rows[i].noisy ? 1 + .3 * sin(17. * run->machine[2]) : 1;
			}
		}
		v = decide(&w);
		for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
			if (has_reason(&v, all[k]) != (rows[i].reason && strcmp(rows[i].reason, all[k]) == 0))
				fail_msg("row %zu: %s", i, all[k]);
		if (rows[i].work > 0)
			assert_true(fabs(v.times.effects[TIME_PROCESSOR].ratio - rows[i].work) < 1e-5);
		else
			assert_int_equal(v.times.effects[TIME_PROCESSOR].types, 0);
		assert_true(fabs(v.times.effects[TIME_WALL].ratio - rows[i].wall) < 1e-5);
		assert_int_equal(v.effect.decision, rows[i].noisy ? DECISION_INCONCLUSIVE : DECISION_PASS); /* the times do not decide */
		verdict_release(&v);
		world_release(&w);
	}
}

/* Makes runs of which every other one has a run-queue delay; otherwise they are equal. They pass for a reason other than the interval. */
static void run_busy(struct world *w, double cpu_share)
{
	run_all(w, 6, same);
	for (int side = 0; side < 2; side++) {
		for (size_t r = 0; r < w->sides[side].n; r++) {
			struct run *run = &w->sides[side].items[r];
			double waits = (r + (size_t)side) % 2 ? .2 * (1 + cos(17. * (double)r)) : 0;

			run->usage.user_us = (int64_t)(run->metric * 1e6 * cpu_share * (side ? 1 + .2 * sin((double)r) : 1));
			run->queued_ns = run->withheld_ns[RUN_WAITED] = (int64_t)(run->metric * 1e9 * waits);
			run->usage.wall_ns = (int64_t)(run->metric * 1e9 * (1 + waits));
			run->metric = (double)run->usage.wall_ns / 1e9;
		}
	}
}

/* Checks that a busy machine does not excuse failures: with more failures than the baseline, the decision is not `environment`. */
static void test_failures_on_busy_machines(void **state)
{
	(void)state;
	for (size_t failed = 0; failed < 3; failed++) {
		struct verdict v;
		struct world w;

		world_init(&w, 6);
		run_busy(&w, .9);
		w.sides[0].n_executed = w.sides[1].n_executed = 40;
		w.sides[0].failed = 1;
		w.sides[1].failed = failed;
		v = decide(&w);
		assert_int_equal(v.rule, RULE_DISTURBED);
		assert_int_equal(v.effect.decision, failed > 1 ? DECISION_INCONCLUSIVE : DECISION_ENVIRONMENT);
		assert_string_equal(v.reasons[0].code, failed > 1 ? "candidate_fails" : "disturbed");
		assert_string_equal(v.reasons[failed > 1].code, "disturbed");
		verdict_release(&v);
		world_release(&w);
	}
}

static void test_busy_machines(void **state)
{
	const char *rule = NULL, *wide = NULL;
	struct verdict v;
	struct world w;

	(void)state;
	world_init(&w, 6);
	run_busy(&w, .1);
	v = decide(&w);
	assert_int_equal(v.interval_decision, DECISION_INCONCLUSIVE);
	assert_int_equal(v.effect.decision, DECISION_PASS);
	for (size_t i = 0; i < v.n_reasons; i++) {
		rule = strcmp(v.reasons[i].code, "computes_alike") ? rule : v.reasons[i].text;
		wide = strcmp(v.reasons[i].code, "interval_too_wide") ? wide : v.reasons[i].text;
	}
	assert_non_null(rule);
	assert_non_null(strstr(rule, ", of what is 10 % of the wall-clock time)"));
	assert_non_null(wide);
	assert_non_null(strstr(wide, "the metric does not decide: its"));
	assert_false(has_reason(&v, "what_it_takes"));
	verdict_release(&v);
	world_release(&w);
}

static double by_parity(int type)
{
	return type % 2 ? 2 : .5;
}

/* Checks the advice: more repetitions if they vary, whatever the number of types; more types only if they differ by more than noise. */
static void test_what_it_takes(void **state)
{
	(void)state;
	for (int types = 1; types <= 6; types++) {
		for (int differ = 0; differ <= (types > 2); differ++) {
			const char *text = "";
			struct verdict v;
			struct world w;

			world_init(&w, types);
			apart = differ ? .01 : .6;
			run_all(&w, types, differ ? by_parity : same);
			apart = .01;
			v = decide(&w);
			assert_int_equal(v.effect.decision, DECISION_INCONCLUSIVE);
			for (size_t i = 0; i < v.n_reasons; i++)
				text = strcmp(v.reasons[i].code, "what_it_takes") ? text : v.reasons[i].text;
			assert_non_null(
			    strstr(text, differ ? "hardware types differ by more than their noise" : "times as many repetitions"));
			verdict_release(&v);
			world_release(&w);
		}
	}
}

/* Checks that excluded runs have a reason, and the others decide. */
static void test_left_out(void **state)
{
	struct verdict v;
	struct world w;
	size_t used = 0;

	(void)state;
	world_init(&w, 6);
	run_all(&w, 6, same);
	/* m00 ran only the baseline, m01 only the candidate, m02 has zeros. The sets stay sorted. */
	for (size_t i = 0; i < 3; i++) {
		free(w.sides[1].items[i].machine);
		free(w.sides[0].items[3 + i].machine);
		w.sides[0].items[6 + i].metric = 0;
	}
	memmove(&w.sides[1].items[0], &w.sides[1].items[3], (w.sides[1].n - 3) * sizeof(struct run));
	w.sides[1].n -= 3;
	memmove(&w.sides[0].items[3], &w.sides[0].items[6], (w.sides[0].n - 6) * sizeof(struct run));
	w.sides[0].n -= 3;
	v = decide(&w);
	assert_int_equal(v.pairing.n, MACHINES);
	for (size_t i = 0; i < v.pairing.n; i++)
		used += v.pairing.machines[i].reason == PAIRING_USED;
	assert_int_equal(used, MACHINES - 3);
	assert_int_equal(v.pairing.machines[0].reason, PAIRING_ONLY_BASELINE);
	assert_int_equal(v.pairing.machines[1].reason, PAIRING_ONLY_CANDIDATE);
	assert_int_equal(v.pairing.machines[2].reason, PAIRING_NOT_POSITIVE);
	assert_true(has_reason(&v, "only_baseline") && has_reason(&v, "only_candidate") && has_reason(&v, "metric_not_positive"));
	verdict_release(&v);
	world_release(&w);
}

static void test_hardware_changed(void **state)
{
	struct verdict v;
	struct world w;

	(void)state;
	world_init(&w, 6);
	run_all(&w, 6, same);
	/* The candidate's runs on m00 belong to the fingerprint of another hardware type. */
	for (size_t i = 0; i < 3; i++)
		snprintf(w.sides[1].items[i].fingerprint, FINGERPRINT_ID_BYTES, "%016d", 1);
	v = decide(&w);
	assert_int_equal(v.pairing.machines[0].reason, PAIRING_HARDWARE_CHANGED);
	assert_true(isnan(v.pairing.machines[0].log_ratio));
	verdict_release(&v);
	world_release(&w);
}

/* Checks that types count once: eleven machines of one type do not outvote one of another. */
static void test_types_weigh_equally(void **state)
{
	struct verdict v;
	struct world w;

	(void)state;
	world_init(&w, 1);
	free(w.evidence.catalog.machines[0].fingerprints[0].type);
	w.evidence.catalog.machines[0].fingerprints[0].type = mem_string("other");
	types_release(&w.evidence.types);
	types_compute(&w.evidence.catalog, &w.config, &w.evidence.types);
	run_all(&w, 1, same);
	for (size_t i = 0; i < 3; i++)
		w.sides[1].items[i].metric *= 4;
	v = decide(&w);
	assert_int_equal(v.effect.types, 2);
	assert_true(fabs(v.effect.ratio - 2) < 1e-12);
	verdict_release(&v);
	world_release(&w);
}

static double spread; /* used by by_spread() and by_ten() */

/* Returns a factor of almost 1.03, with the interval 1.0295 times exp(+- 1.05 spread). */
static double by_spread(int type)
{
	return 1.0295 * exp(type % 2 ? spread : -spread);
}

/* Checks ratios near the smallest effect that matters (3 %): each answer has one reason, which is true for its interval. */
static void test_around(void **state)
{
	static const struct {
		double spread;
		enum decision decision;
		const char *reason, *part;
	} rows[] = {
		{ .0001, DECISION_PASS, "below_min_effect",
		  "a slowdown of 3.0 % or more is ruled out (ratio 1.030, 95 % interval 1.029 to 1.030)" },
		{ .0012, DECISION_INCONCLUSIVE, "around_min_effect",
		  "whether it is above your threshold of 3 % is not known (ratio 1.0295, 95 % interval 1.0281 to 1.0309): to decide takes "
		  "about 8.1 times as many measurements; with a threshold of 2.95 % it is a regression, with one of 3.10 % it passes" },
		{ .01, DECISION_INCONCLUSIVE, "around_min_effect", "more than a hundred times as many measurements" },
		{ .05, DECISION_INCONCLUSIVE, "interval_too_wide", "neither shows nor rules out a slowdown of 3.0 %" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct verdict v;
		struct world w;

		world_init(&w, 6);
		spread = rows[i].spread;
		apart = 1e-5;
		run_all(&w, 6, by_spread);
		apart = .01;
		v = decide(&w);
		assert_int_equal(v.effect.decision, rows[i].decision);
		assert_string_equal(v.reasons[0].code, rows[i].reason);
		if (!strstr(v.reasons[0].text, rows[i].part))
			fail_msg("%g: '%s'", spread, v.reasons[0].text);
		verdict_release(&v);
		world_release(&w);
	}
}

/* Returns a factor of 1.1, with the 95 % interval 1.1 times exp(+- 1.15 spread). */
static double by_ten(int type)
{
	return 1.1 * exp(type % 2 ? spread : -spread);
}

/* Checks decisions by wall-clock or CPU time: a change in only one of them must be certain at half of the error rate. */
static void test_one_of_two_times(void **state)
{
	enum { NO_CPU, SAME_CPU, MORE_CPU };
	static const struct {
		double spread;
		int cpu;
		enum decision decision;
		double level;
	} rows[] = {
		{ .076, NO_CPU, DECISION_REGRESSION, .95 },
		{ .076, MORE_CPU, DECISION_REGRESSION, .95 },
		{ .076, SAME_CPU, DECISION_INCONCLUSIVE, .975 },
		{ .04, SAME_CPU, DECISION_REGRESSION, .975 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct verdict v;
		struct world w;

		world_init(&w, 6);
		spread = rows[i].spread;
		apart = 1e-5;
		run_all(&w, 6, by_ten);
		apart = .01;
		for (int side = 0; side < 2; side++) {
			for (size_t r = 0; r < w.sides[side].n; r++) {
				struct run *run = &w.sides[side].items[r];
				double cpu = rows[i].cpu == SAME_CPU ? w.sides[0].items[r].metric : run->metric;

				run->usage.wall_ns = llround(run->metric * 1e9);
				run->usage.user_us = rows[i].cpu == NO_CPU ? 0 : llround(cpu * .9e6);
				run->metric = (double)run->usage.wall_ns / 1e9;
				run->queued_ns = -1;
			}
		}
		v = decide(&w);
		if (v.effect.decision != rows[i].decision || fabs(v.effect.level - rows[i].level) > 1e-12)
			fail_msg("row %zu: %s at %g", i, decision_text(v.effect.decision), v.effect.level);
		verdict_release(&v);
		world_release(&w);
	}
}

/* Checks that variation by type is judged once, at one level: reasons and kind of change agree for every spread. */
static void test_one_statement(void **state)
{
	size_t said = 0, not_said = 0;

	(void)state;
	for (spread = 0; spread < .03; spread += .0005) {
		struct document d;
		struct verdict v;
		struct world w;
		const cJSON *uniform;
		cJSON *json;
		bool other;

		world_init(&w, 6);
		run_all(&w, 6, by_spread);
		v = decide(&w);
		other = v.effect_pattern == PATTERN_OTHER_RESOURCE;
		assert_int_equal(has_reason(&v, "shape_changed"), other);
		assert_false(other && has_reason(&v, "uniform_change"));
		document_init(&d);
		verdict_describe(&v, "", &d);
		verdict_describe_details(&v, false, true, &d);
		json = document_cjson(&d);
		uniform = cJSON_GetObjectItem(cJSON_GetObjectItem(json, "effect"), "uniform");
		assert_true(other ? cJSON_IsFalse(uniform) : cJSON_IsTrue(uniform));
		said += other;
		not_said += !other;
		cJSON_Delete(json);
		document_release(&d);
		verdict_release(&v);
		world_release(&w);
	}
	assert_true(said > 0 && not_said > 0);
}

static double chance[4]; /* used by by_chance() */

static double by_chance(int type)
{
	return chance[type];
}

/* Checks four machines, which distinguish few groups: contributions much larger than the total that cancel out are not reported. */
static void test_contributions_cancel(void **state)
{
	size_t refused = 0, answered = 0;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 5);
	for (int i = 0; i < 20; i++) {
		struct contributions c;
		double parts;
		struct verdict v;
		struct world w;

		for (int t = 0; t < 4; t++)
			chance[t] = .3 * exp(.3 * rng_normal(&rng));
		world_init(&w, 4);
		run_all(&w, 4, by_chance);
		v = decide(&w);
		contributions_compute(&w.evidence, &v, 1, &c);
		parts = fabs(c.unexplained.after);
		for (size_t k = 0; k < c.n_groups; k++)
			parts += fabs(c.groups[k].after);
		assert_true(c.missing || parts < 2 * (1 + c.total) + 1e-9);
		refused += c.missing != NULL;
		answered += c.missing == NULL;
		contributions_release(&c);
		verdict_release(&v);
		world_release(&w);
	}
	assert_true(refused > 0 && answered > 0);
}

/* Checks a candidate that never gives a result: a regression if the baseline always does, undecided if the baseline fails, too. */
static void test_always_fails(void **state)
{
	static const struct {
		size_t n_executed, failed; /* executions and failures of the baseline */
		bool results;
		enum decision decision;
		const char *reason;
		size_t not_started; /* number of the candidate's 36 runs */
	} rows[] = {
		{ 36, 0, true, DECISION_NOTHING_MEASURED, "candidate_never_starts", 36 },
		{ 36, 0, true, DECISION_REGRESSION, "candidate_always_fails", 35 },
		{ 36, 0, true, DECISION_REGRESSION, "candidate_always_fails", 0 },
		{ 0, 0, true, DECISION_REGRESSION, "candidate_always_fails", 0 }, /* imported */
		{ 36, 2, true, DECISION_INCONCLUSIVE, "candidate_always_fails", 0 },
		{ 36, 36, false, DECISION_NOTHING_MEASURED, "no_common_machine", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct verdict v;
		struct world w;

		world_init(&w, 6);
		run_all(&w, 6, same);
		for (int side = rows[i].results ? 1 : 0; side < 2; side++) {
			for (size_t k = 0; k < w.sides[side].n; k++)
				free(w.sides[side].items[k].machine);
			w.sides[side].n = 0;
		}
		w.sides[0].n_executed = rows[i].n_executed;
		w.sides[0].failed = rows[i].failed;
		w.sides[1].n_executed = w.sides[1].failed = 36;
		w.sides[1].not_started = rows[i].not_started;
		v = decide(&w);
		assert_int_equal(v.effect.decision, rows[i].decision);
		assert_int_equal(verdict_never_starts(&v), rows[i].not_started == 36);
		assert_false(verdict_crashes(&v));
		assert_string_equal(v.reasons[0].code, rows[i].reason);
		assert_int_equal(verdict_cost_decision(&v), DECISION_NOTHING_MEASURED);
		assert_true(has_reason(&v, "runs_failed"));
		assert_false(has_reason(&v, "candidate_fails"));
		verdict_release(&v);
		world_release(&w);
	}
}

/* Checks that a candidate that fails more often than the baseline never passes, and that a regression remains one. */
static void test_failures(void **state)
{
	static const struct {
		size_t baseline, candidate;
		bool slow;
		enum decision decision;
		bool imported; /* the baseline was imported: its failures are unknown */
	} rows[] = {
		{ 0, 1, false, DECISION_INCONCLUSIVE, true },  { 0, 0, false, DECISION_PASS, false },
		{ 0, 1, false, DECISION_INCONCLUSIVE, false }, { 1, 1, false, DECISION_PASS, false },
		{ 2, 1, false, DECISION_PASS, false },	       { 1, 2, false, DECISION_INCONCLUSIVE, false },
		{ 0, 3, true, DECISION_REGRESSION, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct verdict v;
		struct world w;

		world_init(&w, 6);
		run_all(&w, 6, rows[i].slow ? slower : same);
		w.sides[0].n_executed = rows[i].imported ? 0 : 20;
		w.sides[1].n_executed = 20;
		w.sides[0].failed = rows[i].baseline;
		w.sides[1].failed = rows[i].candidate;
		v = decide(&w);
		assert_int_equal(v.effect.decision, rows[i].decision);
		assert_int_equal(has_reason(&v, "runs_failed"), rows[i].baseline + rows[i].candidate > 0);
		verdict_release(&v);
		world_release(&w);
	}
}

static void keep_first_repetitions(struct world *w)
{
	for (int side = 0; side < 2; side++) {
		struct run_set *set = &w->sides[side];
		size_t n = 0;

		for (size_t k = 0; k < set->n; k++) {
			if (set->items[k].repetition == 1)
				set->items[n++] = set->items[k];
			else
				free(set->items[k].machine);
		}
		set->n = n;
	}
}

/* Checks one hardware type: the repetitions decide, and the answer says that it holds for these machines. */
static void test_these_machines(void **state)
{
	struct verdict v;
	struct world w;

	(void)state;
	world_init(&w, 1);
	run_all(&w, 1, slower);
	v = decide(&w);
	assert_int_equal(v.effect.types, 1);
	assert_int_equal(v.effect.decision, DECISION_REGRESSION);
	assert_true(has_reason(&v, "slower") && has_reason(&v, "these_machines_only"));
	assert_false(has_reason(&v, "shape_not_tested"));
	verdict_release(&v);
	world_release(&w);
}

static void test_too_little(void **state)
{
	static const struct {
		const char *what;
		int types;
		bool common;
		enum decision decision;
		const char *reason;
	} rows[] = {
		{ "one hardware type, one repetition", 1, true, DECISION_INCONCLUSIVE, "too_few_types" },
		{ "no common machine", 6, false, DECISION_NOTHING_MEASURED, "no_common_machine" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct verdict v;
		struct world w;

		world_init(&w, rows[i].types);
		run_all(&w, rows[i].types, slower);
		for (size_t k = 0; !rows[i].common && k < w.sides[1].n; k++)
			w.sides[1].items[k].machine[0] = 'x';
		if (rows[i].common)
			keep_first_repetitions(&w);
		v = decide(&w);
		print_message("%s\n", rows[i].what);
		assert_int_equal(v.effect.decision, rows[i].decision);
		assert_true(has_reason(&v, rows[i].reason));
		assert_true(isnan(v.effect.low) && isnan(v.effect.minimum_detectable));
		verdict_release(&v);
		world_release(&w);
	}
}

/* Checks that machines that ran both versions are not reported as having run only one. */
static void test_no_ratio(void **state)
{
	struct verdict v;
	struct world w;

	(void)state;
	world_init(&w, 6);
	run_all(&w, 6, slower);
	for (size_t k = 0; k < w.sides[0].n; k++)
		w.sides[0].items[k].metric = 0;
	v = decide(&w);
	assert_int_equal(v.effect.decision, DECISION_NOTHING_MEASURED);
	assert_string_equal(v.reasons[0].code, "no_common_machine");
	assert_string_equal(v.reasons[0].text, "no machine that ran both versions gives a ratio, so nothing can be compared");
	verdict_release(&v);
	world_release(&w);
}

/* Checks runs without a fingerprint: they count. The type is from lab.yaml, else each machine is its own type. */
static void test_without_fingerprints(void **state)
{
	struct verdict v;
	struct world w;

	(void)state;
	world_init(&w, 6);
	run_all(&w, 6, slower);
	for (int side = 0; side < 2; side++) {
		for (size_t k = 0; k < w.sides[side].n; k++)
			w.sides[side].items[k].fingerprint[0] = '\0';
	}
	w.config.inventory = (struct inventory){ mem_new(2, sizeof(struct host)), 2 };
	for (int i = 0; i < 2; i++)
		w.config.inventory.hosts[i] = (struct host){ .id = mem_format("m%02d", i), .type = mem_string("given") };
	v = decide(&w);
	assert_int_equal(v.effect.decision, DECISION_REGRESSION);
	assert_int_equal(v.effect.types, MACHINES - 1);
	assert_int_equal(v.pairing.n_untyped, MACHINES - 2);
	assert_true(has_reason(&v, "hardware_type_unknown"));
	verdict_release(&v);
	world_release(&w);
}

/* Checks that repetitions with one fingerprint are compared with each other: a session that only the baseline has does not count. */
static void test_sessions(void **state)
{
	struct verdict v;
	struct world w;

	(void)state;
	world_init(&w, 6);
	run_all(&w, 6, same);
	/* m11 (type 5) has more baseline runs with the fingerprint of m05, which has the same type; they are three times slower. */
	for (int k = 0; k < 3; k++)
		add_run(&w.sides[0], 11, 4 + k, 63, "0000000000000005");
	v = decide(&w);
	assert_string_equal(v.pairing.machines[11].machine, "m11");
	assert_true(fabs(v.pairing.machines[11].log_ratio) < 1e-12);
	assert_int_equal(v.pairing.machines[11].baseline_runs, 3);
	verdict_release(&v);
	world_release(&w);
}

static void test_directions_must_agree(void **state)
{
	struct assay_error err;
	struct verdict v;
	struct world w;

	(void)state;
	world_init(&w, 6);
	run_all(&w, 6, same);
	w.sides[1].higher_is_better = true;
	assert_int_equal(verdict_compute(&w.evidence, &w.config, &w.sides[0], &w.sides[1], .03, &v, &err), ASSAY_E_USAGE);
	assert_non_null(strstr(err.text, "column 'direction'"));
	world_release(&w);
}

/* Checks that two runs ended by the time limit are a crash, unless the baseline needs over half of the limit, or there is only one run. */
static void test_hangs(void **state)
{
	static const struct {
		int64_t baseline_ns;
		size_t runs;
		bool crashes;
	} rows[] = { { 500, 2, true }, { 501, 2, false }, { 500, 1, false }, { 0, 2, false } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct run one = { .usage = { .wall_ns = rows[i].baseline_ns } };
		char application[] = "p";
		struct run_set baseline = { .application = application, .items = &one, .n = 1, .n_executed = 1 };
		struct run_set candidate = { .application = application,
					     .n_executed = rows[i].runs,
					     .failed = rows[i].runs,
					     .n_crashed = rows[i].runs,
					     .hung_ns = 1000 };
		struct verdict v = { .baseline = &baseline, .candidate = &candidate };

		assert_int_equal(verdict_crashes(&v), rows[i].crashes);
	}
}

int suite_verdict(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_architectures),
		cmocka_unit_test(test_architecture_unknown),
		cmocka_unit_test(test_architecture_recorded),
		cmocka_unit_test(test_architectures_fail_apart),
		cmocka_unit_test(test_architecture_of_one_version),
		cmocka_unit_test(test_decisions),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_busy_machines),
		cmocka_unit_test(test_failures_on_busy_machines),
		cmocka_unit_test(test_what_it_takes),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_hardware_changed),
		cmocka_unit_test(test_types_weigh_equally),
		cmocka_unit_test(test_these_machines),
		cmocka_unit_test(test_around),
		cmocka_unit_test(test_one_of_two_times),
		cmocka_unit_test(test_one_statement),
		cmocka_unit_test(test_always_fails),
		cmocka_unit_test(test_hangs),
		cmocka_unit_test(test_contributions_cancel),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_too_little),
		cmocka_unit_test(test_no_ratio),
		cmocka_unit_test(test_without_fingerprints),
		cmocka_unit_test(test_sessions),
		cmocka_unit_test(test_directions_must_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

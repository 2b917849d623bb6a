/* Tests which runs the gate compares on a machine: those of one plan in which the versions took turns, if there is one. If there is none,
 * the gate says so, except for imported results. */
#include "base/mem.h"
#include "gate/decide/verdict.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct world {
	struct evidence evidence;
	struct lab_config config;
	struct run_set sides[2];
};

static void enter(struct world *w, const char *baseline, const char *candidate)
{
	*w = (struct world){ .config = { .min_effect = .03 } };
	types_compute(&w->evidence.catalog, &w->config, &w->evidence.types);
	w->sides[0].application = mem_string(baseline);
	w->sides[1].application = mem_string(candidate);
	w->sides[0].version = mem_string("old");
	w->sides[1].version = mem_string("new");
}

static void leave(struct world *w)
{
	evidence_release(&w->evidence);
	lab_config_release(&w->config);
	run_set_release(&w->sides[0]);
	run_set_release(&w->sides[1]);
}

/* Compares in the canonical order of run_load(): by machine, repetition, time. */
static int compare(const void *a, const void *b)
{
	const struct run *x = a, *y = b;
	int order = strcmp(x->machine, y->machine);

	if (order)
		return order;
	if (x->repetition != y->repetition)
		return x->repetition < y->repetition ? -1 : 1;
	return (x->taken_ms > y->taken_ms) - (x->taken_ms < y->taken_ms);
}

/* Adds `n` repetitions around `metric`, one per cent apart. */
static void add_runs(struct world *w, int side, const char *machine, const char *plan, int64_t taken_ms, double metric, int64_t n)
{
	struct run_set *set = &w->sides[side];

	for (int64_t r = 1; r <= n; r++) {
		struct run run = { .machine = mem_string(machine),
				   .taken_ms = taken_ms + r,
				   .repetition = r,
				   .metric = metric * (1 + .01 * (double)(r - 2)),
				   .recorded = 1 };

		snprintf(run.plan, sizeof(run.plan), "%s", plan);
		set->items = mem_resize(set->items, set->n + 1, sizeof(*set->items));
		set->items[set->n++] = run;
	}
	qsort(set->items, set->n, sizeof(*set->items), compare);
}

static void add(struct world *w, int side, const char *machine, const char *plan, int64_t taken_ms, double metric)
{
	add_runs(w, side, machine, plan, taken_ms, metric, 3);
}

static void expect(struct world *w, size_t machine, double ratio, size_t runs, enum pairing_turns turns)
{
	struct pairing pairing;
	const struct pairing_machine *m;

	pairing_compute(&w->evidence, &w->config, &w->sides[0], &w->sides[1], &pairing);
	assert_true(machine < pairing.n);
	m = &pairing.machines[machine];
	assert_int_equal(m->reason, PAIRING_USED);
	assert_true(fabs(exp(m->log_ratio) - ratio) < 1e-9);
	assert_int_equal(m->baseline_runs, runs);
	assert_int_equal(m->candidate_runs, runs);
	assert_int_equal(m->alternation, turns);
	pairing_release(&pairing);
}

static void expect_left_out(struct world *w, size_t machine, enum pairing_reason reason)
{
	struct pairing pairing;

	pairing_compute(&w->evidence, &w->config, &w->sides[0], &w->sides[1], &pairing);
	assert_int_equal(pairing.machines[machine].reason, reason);
	assert_int_equal(pairing.alternation, PAIRING_TURNS_TAKEN);
	pairing_release(&pairing);
}

static bool has_reason(struct world *w, const char *code)
{
	struct verdict verdict;
	struct assay_error err;
	bool found = false;

	assert_int_equal(verdict_compute(&w->evidence, &w->config, &w->sides[0], &w->sides[1], .03, &verdict, &err), ASSAY_OK);
	for (size_t i = 0; i < verdict.n_reasons; i++)
		found = found || strcmp(verdict.reasons[i].code, code) == 0;
	verdict_release(&verdict);
	return found;
}

/* Checks a machine that became slower between two plans: only the later plan counts, whatever else exists. */
static void test_latest_common_plan(void **state)
{
	struct world w;

	(void)state;
	enter(&w, "app", "app");
	add(&w, 0, "m", "", 500, 5);
	add(&w, 0, "m", "p1", 1000, 1);
	add(&w, 1, "m", "p1", 1000, 1.5);
	add(&w, 0, "m", "p2", 2000, 2);
	add(&w, 1, "m", "p2", 2000, 2.2);
	add(&w, 1, "m", "p3", 3000, 9); /* only the candidate's runs */
	expect(&w, 0, 1.1, 3, PAIRING_TURNS_TAKEN);
	assert_false(has_reason(&w, "order_confounded"));
	leave(&w);
}

static void test_no_common_plan(void **state)
{
	struct world w;

	(void)state;
	enter(&w, "app", "app");
	add(&w, 0, "m1", "p1", 1000, 1);
	add(&w, 1, "m1", "p2", 2000, 1.5);
	add(&w, 0, "m2", "p1", 1000, 1);
	add(&w, 1, "m2", "p1", 1000, 1);
	expect_left_out(&w, 0, PAIRING_ORDER_CONFOUNDED);
	expect(&w, 1, 1, 3, PAIRING_TURNS_TAKEN);
	assert_true(has_reason(&w, "order_confounded"));
	leave(&w);
}

static void test_imported(void **state)
{
	struct world w;

	(void)state;
	enter(&w, "app", "app");
	add(&w, 0, "m", "", 1000, 1);
	add(&w, 1, "m", "", 2000, 1.5);
	expect(&w, 0, 1.5, 3, PAIRING_TURNS_NOT_TAKEN);
	assert_true(has_reason(&w, "order_confounded"));
	leave(&w);
}

/* Checks two inputs of one plan, which run one after the other. */
static void test_two_inputs(void **state)
{
	struct world w;

	(void)state;
	enter(&w, "app/x", "app/y");
	add(&w, 0, "m", "p1", 1000, 1);
	add(&w, 1, "m", "p1", 2000, 1.5);
	add(&w, 1, "m", "p0", 100, 7);
	expect(&w, 0, 1.5, 3, PAIRING_TURNS_NOT_TAKEN);
	assert_true(has_reason(&w, "order_confounded"));
	leave(&w);
}

/* Adds one repetition, with a fingerprint (a session) or without one. */
static void add_one(struct world *w, int side, const char *machine, const char *fingerprint, int64_t repetition, double metric)
{
	struct run_set *set = &w->sides[side];
	struct run run = {
		.machine = mem_string(machine), .taken_ms = repetition, .repetition = repetition, .metric = metric, .recorded = 1
	};

	snprintf(run.fingerprint, sizeof(run.fingerprint), "%s", fingerprint);
	set->items = mem_resize(set->items, set->n + 1, sizeof(*set->items));
	set->items[set->n++] = run;
	qsort(set->items, set->n, sizeof(*set->items), compare);
}

/* Adds results in their order, one minute apart: A is the old version, B the new one. A space is a day; '=' means the same time.
 * Repetitions are numbered within each version, or start at a digit before the letter. */
static void add_order(struct world *w, const char *machine, const char *order, enum run_order_source turns, double slower)
{
	int64_t at = 0, number[2] = { 0 };

	for (const char *c = order; *c; c++) {
		int side = *c == 'B';

		if (*c == ' ' || *c == '=') {
			at += *c == ' ' ? 86400000 : -60000;
		} else if (*c >= '1' && *c <= '9') {
			number[0] = number[1] = *c - '1';
		} else {
			struct run_set *set = &w->sides[side];
			struct run run = { .machine = mem_string(machine),
					   .taken_ms = at += 60000,
					   .repetition = ++number[side],
					   .order_source = turns,
					   .metric = (side ? slower : 1) * (1 + .001 * (double)(number[side] % 3)),
					   .recorded = 1 };

			set->items = mem_resize(set->items, set->n + 1, sizeof(*set->items));
			set->items[set->n++] = run;
		}
	}
	for (int side = 0; side < 2; side++)
		qsort(w->sides[side].items, w->sides[side].n, sizeof(struct run), compare);
}

/* Checks that the order is known from times, else from numbers that both versions share, else from the import. Sessions need no turns. */
static void test_turns(void **state)
{
	static const struct {
		const char *order;
		enum run_order_source turns;
		enum pairing_turns expected;
	} rows[] = {
		{ "ABABABABABAB", RUN_ORDER_COUNTED, PAIRING_TURNS_TAKEN },
		{ "ABBAABBAABBA", RUN_ORDER_COUNTED, PAIRING_TURNS_TAKEN },
		{ "AAAAAABBBBBB", RUN_ORDER_NUMBERED, PAIRING_TURNS_NOT_TAKEN }, /* times override numbers */
		{ "AAAAAABBBBBB", RUN_ORDER_STATED, PAIRING_TURNS_NOT_TAKEN },
		{ "BBBBBBAAAAAA", RUN_ORDER_COUNTED, PAIRING_TURNS_NOT_TAKEN },
		{ "AAAAABBBBBBA", RUN_ORDER_COUNTED, PAIRING_TURNS_NOT_TAKEN }, /* only the last run breaks the blocks */
		{ "AAABBBAAABBBAAABBB", RUN_ORDER_COUNTED, PAIRING_TURNS_TAKEN },
		{ "AB", RUN_ORDER_COUNTED, PAIRING_TURNS_NOT_TAKEN },
		{ "A=A=A=A=A=A B=B=B=B=B=B", RUN_ORDER_NUMBERED, PAIRING_TURNS_NOT_TAKEN }, /* two files with one time each */
		{ "A=A=A=A=A=A B=B=B=B=B=B", RUN_ORDER_STATED, PAIRING_TURNS_TAKEN },
		{ "A=A=A=A=A=A=B=B=B=B=B=B", RUN_ORDER_NUMBERED, PAIRING_TURNS_TAKEN }, /* a data set with one time */
		{ "A=B", RUN_ORDER_NUMBERED, PAIRING_TURNS_TAKEN },
		{ "A=A=A=A=A=A=B=B=B=B=B=B", RUN_ORDER_COUNTED, PAIRING_TURNS_UNKNOWN }, /* a file of hyperfine, without an order */
		{ "A=A=A=A=A=A=B=B=B=B=B=B", RUN_ORDER_STATED, PAIRING_TURNS_TAKEN },
		{ "A=A=A=A=A=A=B=B", RUN_ORDER_NUMBERED, PAIRING_TURNS_TAKEN },	  /* all numbers of B are in A */
		{ "1A=A=A=4B=B=B", RUN_ORDER_NUMBERED, PAIRING_TURNS_NOT_TAKEN }, /* consecutive numbers */
		{ "1A=2B=3A=4B=5A=6B", RUN_ORDER_NUMBERED, PAIRING_TURNS_TAKEN },
		{ "1A=3A=2B", RUN_ORDER_NUMBERED, PAIRING_TURNS_TAKEN },
		{ "1A=A=A=3B=B=B", RUN_ORDER_NUMBERED, PAIRING_TURNS_NOT_TAKEN }, /* only one number is shared */
		{ "AA AA AA AA AA BB BB BB BB BB", RUN_ORDER_COUNTED, PAIRING_TURNS_TAKEN },
		{ "AA AA AA AA BB BB BB BB", RUN_ORDER_COUNTED, PAIRING_TURNS_NOT_TAKEN },
		{ "A=A A=A A=A A=A A=A B=B B=B B=B B=B B=B", RUN_ORDER_NUMBERED, PAIRING_TURNS_TAKEN },
		{ "A=A=B=B A=A=B=B A=A=B=B A=A=B=B A=A=B=B", RUN_ORDER_COUNTED, PAIRING_TURNS_TAKEN },
		{ "A=A=B=B A=A=B=B A=A=B=B A=A=B=B", RUN_ORDER_COUNTED, PAIRING_TURNS_UNKNOWN },
		{ "A A A A A B B B B B", RUN_ORDER_COUNTED, PAIRING_TURNS_NOT_TAKEN }, /* days are treated like minutes */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pairing pairing;
		struct verdict v;
		struct assay_error err;
		struct world w;

		enter(&w, "app", "app");
		for (int m = 0; m < 3; m++)
			add_order(&w, (const char *[]){ "m0", "m1", "m2" }[m], rows[i].order, rows[i].turns, 1.2);
		pairing_compute(&w.evidence, &w.config, &w.sides[0], &w.sides[1], &pairing);
		assert_int_equal(verdict_compute(&w.evidence, &w.config, &w.sides[0], &w.sides[1], .03, &v, &err), ASSAY_OK);
		if (pairing.alternation != rows[i].expected ||
		    v.effect.decision != (rows[i].expected == PAIRING_TURNS_TAKEN ? DECISION_REGRESSION : DECISION_INCONCLUSIVE))
			fail_msg("%s (%d): %d, %s", rows[i].order, rows[i].turns, pairing.alternation, decision_text(v.effect.decision));
		if (rows[i].expected != PAIRING_TURNS_TAKEN)
			assert_string_equal(v.reasons[0].code,
					    rows[i].expected == PAIRING_TURNS_UNKNOWN ? "order_unknown" : "order_confounded");
		verdict_release(&v);
		pairing_release(&pairing);
		leave(&w);
	}
}

/* Checks that the interval of sessions contains the noise between sessions, not that between repetitions. */
static void test_sessions(void **state)
{
	struct pairing pairing;
	struct world w;

	(void)state;
	enter(&w, "app", "app");
	add_order(&w, "m", "AAA AAA AAA AAA AAA BBB BBB BBB BBB BBB", RUN_ORDER_COUNTED, 1);
	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < w.sides[side].n; i++)
			w.sides[side].items[i].metric *= exp(.1 * (double)(i / 3)); /* sessions 0, .1, .2, .3, .4 apart */
	}
	pairing_compute(&w.evidence, &w.config, &w.sides[0], &w.sides[1], &pairing);
	assert_int_equal(pairing.n, 1);
	assert_int_equal(pairing.machines[0].baseline_runs, 15);
	assert_true(fabs(pairing.machines[0].noise - sqrt(2 * .025 * 1.198 * 1.198 / 5)) < 1e-9);
	assert_true(pairing.machines[0].noise_df == 8);
	pairing_release(&pairing);
	leave(&w);
}

/* Checks two sessions, one with a single repetition per version: it is not treated as free of noise. The numbers are computed by hand. */
static void test_session_of_one(void **state)
{
	const double s = .02, both = 1.160 * 1.160 / 3 + 1.160 * 1.160 / 3, one = 1 + 1;
	struct pairing pairing;
	struct world w;

	(void)state;
	enter(&w, "app", "app");
	for (int64_t r = 1; r <= 3; r++) {
		add_one(&w, 0, "m", "s1", r, exp(s * (double)(r - 2))); /* the logs have standard deviation s */
		add_one(&w, 1, "m", "s1", r, exp(.1 + s * (double)(r - 2)));
	}
	add_one(&w, 0, "m", "s2", 4, 1);
	add_one(&w, 1, "m", "s2", 4, exp(.1));
	pairing_compute(&w.evidence, &w.config, &w.sides[0], &w.sides[1], &pairing);
	assert_int_equal(pairing.n, 1);
	assert_true(fabs(pairing.machines[0].log_ratio - .1) < 1e-12);
	assert_true(fabs(pairing.machines[0].noise - s * sqrt(both + one) / 2) < 1e-12);
	assert_true(fabs(pairing.machines[0].noise_df - 4) < 1e-12);
	pairing_release(&pairing);
	leave(&w);
}

/* Checks that equal repetitions give no noise: the reason says this, not that there are too few repetitions. */
static void test_exactly_alike(void **state)
{
	struct verdict verdict;
	struct assay_error err;
	struct world w;

	(void)state;
	enter(&w, "app", "app");
	for (int64_t r = 1; r <= 3; r++) {
		add_one(&w, 0, "m", "", r, 10);
		add_one(&w, 1, "m", "", r, 10);
	}
	assert_int_equal(verdict_compute(&w.evidence, &w.config, &w.sides[0], &w.sides[1], .03, &verdict, &err), ASSAY_OK);
	assert_int_equal(verdict.effect.decision, DECISION_INCONCLUSIVE);
	assert_string_equal(verdict.reasons[0].code, "too_few_types");
	assert_non_null(strstr(verdict.reasons[0].text, "are equal"));
	verdict_release(&verdict);
	leave(&w);
}

/* Checks that ticks of the metric are noise: all repetitions of a version may be at one of two adjacent ticks. */
static void test_ticks(void **state)
{
	static const struct {
		int machines;
		double old, new;
		enum decision decision;
		bool interval;
	} rows[] = {
		{ 1, 10, 11, DECISION_INCONCLUSIVE, true }, { 2, 10, 11, DECISION_INCONCLUSIVE, true },
		{ 3, 10, 11, DECISION_REGRESSION, true },   { 3, 10, 9, DECISION_IMPROVED, true },
		{ 3, 10, 10, DECISION_PASS, true },	    { 2, 10, 10, DECISION_INCONCLUSIVE, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct verdict v;
		struct assay_error err;
		struct world w;

		enter(&w, "app", "app");
		for (int m = 0; m < rows[i].machines; m++) {
			for (int64_t r = 1; r <= 3; r++) {
				const char *name = (const char *[]){ "m0", "m1", "m2" }[m];

				add_one(&w, 0, name, "", r, rows[i].old);
				add_one(&w, 1, name, "", r, rows[i].new);
			}
		}
		assert_int_equal(verdict_compute(&w.evidence, &w.config, &w.sides[0], &w.sides[1], .03, &v, &err), ASSAY_OK);
		if (v.effect.decision != rows[i].decision || isnan(v.effect.low) == rows[i].interval)
			fail_msg("%d machines, %g to %g: %s (%g to %g)", rows[i].machines, rows[i].old, rows[i].new,
				 decision_text(v.effect.decision), v.effect.low, v.effect.high);
		if (rows[i].new != rows[i].old) /* half of a tick on both sides */
			assert_true(fabs(v.pairing.machines[0].noise - hypot(.5 / rows[i].old, .5 / rows[i].new)) < 1e-9);
		verdict_release(&v);
		leave(&w);
	}
}

/* Checks that machines with one run each are not repetitions, and that one machine with six pairs suffices. */
static void test_few_machines(void **state)
{
	static const struct {
		int machines;
		int64_t runs;
		enum decision decision;
	} rows[] = { { 1, 1, DECISION_INCONCLUSIVE },
		     { 2, 1, DECISION_INCONCLUSIVE },
		     { 3, 1, DECISION_REGRESSION },
		     { 1, 2, DECISION_INCONCLUSIVE },
		     { 1, 6, DECISION_REGRESSION } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct verdict v;
		struct assay_error err;
		struct world w;

		enter(&w, "app", "app");
		for (int m = 0; m < rows[i].machines; m++) {
			for (int64_t r = 1; r <= rows[i].runs; r++) {
				const char *name = (const char *[]){ "m0", "m1", "m2" }[m];

				add_one(&w, 0, name, "", r, 1 + .001 * (double)(r + m));
				add_one(&w, 1, name, "", r, 1.1 + .0013 * (double)(r + m));
			}
		}
		assert_int_equal(verdict_compute(&w.evidence, &w.config, &w.sides[0], &w.sides[1], .03, &v, &err), ASSAY_OK);
		if (v.effect.decision != rows[i].decision)
			fail_msg("%d machines, %d runs: %s", rows[i].machines, (int)rows[i].runs, decision_text(v.effect.decision));
		verdict_release(&v);
		leave(&w);
	}
}

/* Checks that runs without work are compared with such runs. If one version has more of them, the decision is inconclusive. */
static void test_groups(void **state)
{
	static const struct {
		int nothing[2]; /* runs of 20 without work */
		double slower;
		const char *reason;
		enum decision decision;
	} rows[] = {
		{ { 0, 0 }, 1.08, "slower", DECISION_REGRESSION },	  { { 0, 9 }, 1, "two_groups", DECISION_INCONCLUSIVE },
		{ { 0, 11 }, 1.08, "two_groups", DECISION_INCONCLUSIVE }, { { 11, 0 }, 1, "two_groups", DECISION_INCONCLUSIVE },
		{ { 9, 11 }, 1, "below_min_effect", DECISION_PASS },	  { { 9, 11 }, 1.2, "slower", DECISION_REGRESSION },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct verdict v;
		struct assay_error err;
		struct world w;

		enter(&w, "app", "app");
		for (int m = 0; m < 3; m++) {
			for (int side = 0; side < 2; side++) {
				for (int64_t r = 1; r <= 20; r++) {
					bool nothing = r <= rows[i].nothing[side];
					double noise = 1 + .002 * sin((double)(r * 7 + m * 3 + side));

					add_one(&w, side, (const char *[]){ "m0", "m1", "m2" }[m], "", r,
						noise * (nothing ? .011 : .745 * (side ? rows[i].slower : 1)));
				}
			}
		}
		assert_int_equal(verdict_compute(&w.evidence, &w.config, &w.sides[0], &w.sides[1], .03, &v, &err), ASSAY_OK);
		if (v.effect.decision != rows[i].decision || strcmp(v.reasons[0].code, rows[i].reason) != 0)
			fail_msg("%d to %d, %g: %s, %s (%g to %g)", rows[i].nothing[0], rows[i].nothing[1], rows[i].slower,
				 decision_text(v.effect.decision), v.reasons[0].text, v.effect.low, v.effect.high);
		verdict_release(&v);
		leave(&w);
	}
}

/* Checks that adjacent ticks are not groups, and that groups on one machine of three do not matter. */
static void test_no_groups(void **state)
{
	(void)state;
	for (int ticks = 0; ticks < 2; ticks++) {
		struct pairing pairing;
		struct world w;

		enter(&w, "app", "app");
		for (int m = 0; m < 3; m++) {
			for (int64_t r = 1; r <= 20; r++) {
				bool other = r > 10 && (ticks || m == 0);

				add_one(&w, 0, (const char *[]){ "m0", "m1", "m2" }[m], "", r, ticks ? 10 : 10 + .01 * (double)(r % 4));
				add_one(&w, 1, (const char *[]){ "m0", "m1", "m2" }[m], "", r,
					ticks ? 10 + other : (10 + .01 * (double)(r % 4)) * (other ? 5 : 1));
			}
		}
		pairing_compute(&w.evidence, &w.config, &w.sides[0], &w.sides[1], &pairing);
		assert_int_equal(pairing.groups.machines, !ticks);
		assert_false(pairing.groups.differ);
		pairing_release(&pairing);
		leave(&w);
	}
}

/* Checks that a ratio above one million is not shown as a ratio. */
static void test_ratio_limit(void **state)
{
	(void)state;
	for (int down = 0; down < 2; down++) {
		struct verdict v;
		struct assay_error err;
		struct world w;

		enter(&w, "app", "app");
		for (int64_t r = 1; r <= 3; r++) {
			add_one(&w, down, "m", "", r, 5e-324);
			add_one(&w, !down, "m", "", r, 1e100);
		}
		assert_int_equal(verdict_compute(&w.evidence, &w.config, &w.sides[0], &w.sides[1], .03, &v, &err), ASSAY_OK);
		assert_int_equal(v.effect.decision, DECISION_NOTHING_MEASURED);
		assert_int_equal(v.pairing.machines[0].reason, PAIRING_RATIO);
		assert_true(isnan(v.effect.ratio));
		verdict_release(&v);
		leave(&w);
	}
}

/* Checks single runs per version: the version that always runs first may be slower on all machines for that reason. */
static void test_one_always_first(void **state)
{
	static const char *const machines[] = { "m1", "m2", "m3" };

	(void)state;
	for (int swapped = 0; swapped < 2; swapped++) {
		struct world w;

		enter(&w, "app", "app");
		for (int m = 0; m < 3; m++) {
			add_runs(&w, 0, machines[m], "p", swapped && m == 1 ? 3000 : 1000, 1, 1);
			add_runs(&w, 1, machines[m], "p", 2000, 1.1, 1);
		}
		assert_int_equal(has_reason(&w, "order_confounded"), !swapped);
		leave(&w);
	}
}

/* Checks that a machine with only one of the versions is excluded, with and without plans. */
static void test_left_out(void **state)
{
	struct world w;
	struct pairing pairing;

	(void)state;
	enter(&w, "app", "app");
	add(&w, 0, "m1", "p1", 1000, 1);
	add(&w, 1, "m2", "p1", 1000, 1);
	pairing_compute(&w.evidence, &w.config, &w.sides[0], &w.sides[1], &pairing);
	assert_int_equal(pairing.n, 2);
	assert_int_equal(pairing.machines[0].reason, PAIRING_ONLY_BASELINE);
	assert_int_equal(pairing.machines[1].reason, PAIRING_ONLY_CANDIDATE);
	pairing_release(&pairing);
	assert_false(has_reason(&w, "order_confounded"));
	leave(&w);
}

/* Turns the runs of one machine into runs of another build. */
static void make_others(struct world *w, int side, const char *machine)
{
	struct run_set *set = &w->sides[side];
	size_t n = 0;

	for (size_t i = 0; i < set->n; i++) {
		if (strcmp(set->items[i].machine, machine) != 0) {
			set->items[n++] = set->items[i];
			continue;
		}
		set->others = mem_resize(set->others, set->n_others + 1, sizeof(*set->others));
		set->others[set->n_others++] = set->items[i];
	}
	set->n = n;
}

/* Checks that runs of another build of a version are not compared, and that the reason says so, not that the version did not run. */
static void test_other_build(void **state)
{
	static const struct {
		const char *machine;
		bool in[2], other[2];
		enum pairing_reason reason;
	} rows[] = {
		{ "m1", { true, true }, { false, false }, PAIRING_USED },
		{ "m2", { true, true }, { false, true }, PAIRING_OTHER_BUILD },
		{ "m3", { true, true }, { true, false }, PAIRING_OTHER_BUILD },
		{ "m4", { true, true }, { true, true }, PAIRING_OTHER_BUILD },
		{ "m5", { true, false }, { true, false }, PAIRING_ONLY_BASELINE },
		{ "m6", { false, true }, { false, true }, PAIRING_ONLY_CANDIDATE },
	};
	struct pairing pairing;
	struct world w;

	(void)state;
	enter(&w, "app", "app");
	for (size_t i = 0; i < 6; i++) {
		for (int side = 0; side < 2; side++) {
			if (rows[i].in[side])
				add(&w, side, rows[i].machine, "p1", 1000, side ? 1.5 : 1);
			if (rows[i].other[side])
				make_others(&w, side, rows[i].machine);
		}
	}
	pairing_compute(&w.evidence, &w.config, &w.sides[0], &w.sides[1], &pairing);
	assert_int_equal(pairing.n, 6);
	for (size_t i = 0; i < 6; i++) {
		assert_string_equal(pairing.machines[i].machine, rows[i].machine);
		assert_int_equal(pairing.machines[i].reason, rows[i].reason);
	}
	pairing_release(&pairing);
	assert_true(has_reason(&w, "other_build"));
	leave(&w);
}

/* Checks that runs with another metric, direction or shared command are not compared. */
static void test_terms(void **state)
{
	static const struct {
		const char *application[2], *metric[2], *shared[2], *command[2];
		enum pairing_reason reason;
	} rows[] = {
		{ { "app", "app" }, { "m", "m" }, { "s", "s" }, { "c", "c" }, PAIRING_USED },
		{ { "app", "app" }, { "m", "n" }, { "s", "s" }, { "c", "c" }, PAIRING_OTHER_METRIC },
		{ { "app", "app" }, { "m", "m" }, { "s", "t" }, { "c", "c" }, PAIRING_OTHER_TERMS },
		{ { "app", "app" }, { "m", "m" }, { "s", "s" }, { "c", "d" }, PAIRING_OTHER_TERMS },
		{ { "app", "app" }, { "m", "m" }, { "s", "s" }, { "c", "" }, PAIRING_USED },	  /* it has its own command */
		{ { "app", "app" }, { "", "n" }, { "", "t" }, { "", "c" }, PAIRING_USED },	  /* imported */
		{ { "app/x", "app/y" }, { "m", "m" }, { "s", "t" }, { "c", "c" }, PAIRING_USED }, /* inputs have other commands */
		{ { "app/x", "app/y" }, { "m", "n" }, { "s", "t" }, { "c", "c" }, PAIRING_OTHER_METRIC },
		{ { "app", "apple" }, { "m", "n" }, { "s", "t" }, { "c", "d" }, PAIRING_USED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool higher = rows[i].reason == PAIRING_OTHER_METRIC;
		struct pairing pairing;
		struct world w;

		enter(&w, rows[i].application[0], rows[i].application[1]);
		for (int side = 0; side < 2; side++) {
			struct manifest_hashes *terms = &w.sides[side].terms;

			add(&w, side, "m1", "p1", 1000, 1);
			snprintf(terms->metric, sizeof(terms->metric), "%s", rows[i].metric[side]);
			snprintf(terms->shared, sizeof(terms->shared), "%s", rows[i].shared[side]);
			snprintf(terms->command, sizeof(terms->command), "%s", rows[i].command[side]);
		}
		w.sides[1].higher_is_better = higher;
		pairing_compute(&w.evidence, &w.config, &w.sides[0], &w.sides[1], &pairing);
		assert_int_equal(pairing.n, 1);
		if (pairing.machines[0].reason != rows[i].reason)
			fail_msg("row %zu: %s", i, pairing_code(pairing.machines[0].reason));
		pairing_release(&pairing);
		assert_int_equal(has_reason(&w, "other_metric"), rows[i].reason == PAIRING_OTHER_METRIC);
		assert_int_equal(has_reason(&w, "other_terms"), rows[i].reason == PAIRING_OTHER_TERMS);
		leave(&w);
	}
}

/* Checks that an interrupted plan is reported with the decision. */
static void test_missing(void **state)
{
	struct world w;

	(void)state;
	enter(&w, "app", "app");
	add(&w, 0, "m1", "p1", 1000, 1);
	add(&w, 1, "m1", "p1", 1000, 1);
	assert_false(has_reason(&w, "runs_missing"));
	w.sides[1].missing = 15;
	w.sides[1].planned = 18;
	assert_true(has_reason(&w, "runs_missing"));
	leave(&w);
}

int suite_pairing(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_latest_common_plan),
		cmocka_unit_test(test_no_common_plan),
		cmocka_unit_test(test_imported),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_no_groups),
		cmocka_unit_test(test_ticks),
		cmocka_unit_test(test_few_machines),
		cmocka_unit_test(test_ratio_limit),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_sessions),
		cmocka_unit_test(test_two_inputs),
		cmocka_unit_test(test_one_always_first),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_session_of_one),
		cmocka_unit_test(test_exactly_alike),
		cmocka_unit_test(test_other_build),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_terms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests how functions change a decision: they settle what the interval leaves open, are findings of a pass, or leave a regression
 * unexplained. */
#include "gate/comparison/comparison.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define PARTS 4

/* A candidate with two slower functions. Runs of the baseline take 1 s, of which 3 % matter. */
struct made {
	struct comparison c;
	struct measured_part parts[PARTS];
	struct measured_count count;
	struct detected_function functions[2];
	struct run_set sides[2];
};

static void made_enter(struct made *made, enum decision decision)
{
	static char names[][8] = { "walk", "sum" };

	*made = (struct made){ .parts = { { .depth = PART_TIME, .level = LEVEL_COMPUTE, .name = "compute" },
					  { .depth = PART_FUNCTION, .level = LEVEL_COMPUTE, .name = names[0] },
					  { .depth = PART_FUNCTION, .level = LEVEL_COMPUTE, .name = names[1] },
					  { .depth = PART_TIME, .level = LEVEL_KERNEL, .name = "kernel" } } };
	for (size_t i = 0; i < 2; i++)
		made->functions[i] =
		    (struct detected_function){ .name = names[i], .kind.column = SIZE_MAX, .kind.trouble = TROUBLE_MORE_WORK };
	for (size_t i = 0; i < PARTS; i++) {
		made->parts[i].error = .005;
		made->parts[i].df = 20;
	}
	made->c = (struct comparison){
		.last = COMPARISON_ALL,
		.verdict = { .baseline = &made->sides[0],
			     .candidate = &made->sides[1],
			     .min_effect = .03,
			     .effect = { .decision = decision, .low = .99, .high = 1.1, .level = .95, .types = 1 },
			     .rule = RULES,
			     .times.is_metric_wall_time = true },
		.measured = { .parts = made->parts, .n = PARTS, .counts = &made->count, .n_counts = 1, .seconds = { 1, 1 } },
		.functions = { .has_result = true,
			       .detected = { .functions = made->functions, .n = 2, .n_worse = 2, .rate_requested = .05, .rate_used = .05 } }
	};
}

/* Reports whether the verdict has the reason `code`; with `first`, only as its first reason. */
static bool has(const struct made *made, const char *code, bool first)
{
	for (size_t i = 0; i < (first && made->c.verdict.n_reasons ? 1 : made->c.verdict.n_reasons); i++)
		if (strcmp(made->c.verdict.reasons[i].code, code) == 0)
			return true;
	return false;
}

static void made_leave(struct made *made)
{
	for (size_t i = 0; i < made->c.verdict.n_reasons; i++)
		free(made->c.verdict.reasons[i].text);
	free(made->c.cause);
}

/* Checks two functions at 1.25 % each: t(20) is 2.42, so each lower bound is .012 below the difference. */
static void test_confirms(void **state)
{
	static const struct {
		const char *what;
		double walk, sum, level, rate_used;
		enum decision decision;
		enum rule rule;
		bool other_metric, confirms;
	} rows[] = {
		{ "one function", .06, 0, .95, .05, DECISION_INCONCLUSIVE, RULES, false, true },
		{ "both together", .03, .03, .95, .05, DECISION_INCONCLUSIVE, RULES, false, true },
		{ "too little", .0315, .02, .95, .05, DECISION_INCONCLUSIVE, RULES, false, false },
		{ "one gains what the other loses", .06, -.03, .95, .05, DECISION_INCONCLUSIVE, RULES, false, false },
		{ "one look of several", .06, 0, .999, .05, DECISION_INCONCLUSIVE, RULES, false, false },
		{ "too few runs for the detector", .06, 0, .95, .2, DECISION_INCONCLUSIVE, RULES, false, false },
		{ "it passes", .06, 0, .95, .05, DECISION_PASS, RULES, false, false },
		{ "the machines were busy", .06, 0, .95, .05, DECISION_ENVIRONMENT, RULE_DISTURBED, false, false },
		{ "no turns", .06, 0, .95, .05, DECISION_INCONCLUSIVE, RULE_ORDER_CONFOUNDED, false, false },
		{ "another metric", .06, 0, .95, .05, DECISION_INCONCLUSIVE, RULES, true, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct made made;

		made_enter(&made, rows[i].decision);
		made.parts[1].difference = rows[i].walk;
		made.parts[2].difference = rows[i].sum;
		made.c.verdict.effect.level = rows[i].level;
		made.c.verdict.rule = rows[i].rule;
		made.c.verdict.times.is_metric_wall_time = !rows[i].other_metric;
		made.c.functions.detected.rate_used = rows[i].rate_used;
		confirm_by_functions(&made.c);
		if (made.c.confirmed != rows[i].confirms || has(&made, "function_confirms", true) != rows[i].confirms ||
		    made.c.verdict.effect.decision != (rows[i].confirms ? DECISION_REGRESSION : rows[i].decision))
			fail_msg("%s: %s", rows[i].what, decision_text(made.c.verdict.effect.decision));
		made_leave(&made);
	}
}

/* Checks functions that half of the runs select and the others confirm: at 2.5 %, t(20) is 2.09, so the lower bound is .0104 lower. */
static void test_chosen(void **state)
{
	static const struct {
		const char *what;
		double difference, error, level;
		bool none, same_build;
		enum decision decision;
		enum rule rule;
		bool confirms;
	} rows[] = {
		{ "enough", .042, .005, .95, false, false, DECISION_INCONCLUSIVE, RULES, true },
		{ "too little", .04, .005, .95, false, false, DECISION_INCONCLUSIVE, RULES, false },
		{ "one look of several", .042, .005, .999, false, false, DECISION_INCONCLUSIVE, RULES, false },
		{ "not known how sure", .042, (double)NAN, .95, false, false, DECISION_INCONCLUSIVE, RULES, false },
		{ "none was chosen", .042, .005, .95, true, false, DECISION_INCONCLUSIVE, RULES, false },
		{ "one build twice", .042, .005, .95, false, true, DECISION_INCONCLUSIVE, RULES, false },
		{ "it passes", .042, .005, .95, false, false, DECISION_PASS, RULES, false },
		{ "no turns", .042, .005, .95, false, false, DECISION_INCONCLUSIVE, RULE_ORDER_CONFOUNDED, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct made made;

		made_enter(&made, rows[i].decision);
		made.c.measured.chosen = (struct measured_chosen){ 1, rows[i].none ? NULL : "walk", rows[i].difference, rows[i].error, 20 };
		made.c.verdict.effect.level = rows[i].level;
		made.c.verdict.rule = rows[i].rule;
		made.c.verdict.input.same_build = rows[i].same_build;
		confirm_by_chosen_functions(&made.c);
		if (made.c.confirmed != rows[i].confirms || has(&made, "function_confirms", true) != rows[i].confirms ||
		    made.c.verdict.effect.decision != (rows[i].confirms ? DECISION_REGRESSION : rows[i].decision))
			fail_msg("%s: %s", rows[i].what, decision_text(made.c.verdict.effect.decision));
		made_leave(&made);
	}
}

static void test_latent(void **state)
{
	static const struct {
		enum decision decision;
		enum trouble trouble;
		double rate_used;
		bool latent;
	} rows[] = {
		{ DECISION_PASS, TROUBLE_FALSE_SHARING, .05, true },
		{ DECISION_IMPROVED, TROUBLE_REMOTE, .05, true },
		{ DECISION_PASS, TROUBLE_CACHE, .05, false },
		{ DECISION_PASS, TROUBLE_UNKNOWN, .05, false },
		{ DECISION_PASS, TROUBLE_FALSE_SHARING, .2, false },
		{ DECISION_REGRESSION, TROUBLE_FALSE_SHARING, .05, false },
		{ DECISION_INCONCLUSIVE, TROUBLE_TRUE_SHARING, .05, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct made made;

		made_enter(&made, rows[i].decision);
		made.functions[1].kind.trouble = rows[i].trouble;
		made.c.functions.detected.rate_used = rows[i].rate_used;
		add_latent(&made.c);
		assert_int_equal(made.c.latent, rows[i].latent);
		assert_int_equal(has(&made, COMPARISON_LATENT, false), rows[i].latent);
		if (rows[i].latent)
			assert_non_null(strstr(made.c.verdict.reasons[0].text, ": sum ("));
		made_leave(&made);
	}
}

static void test_unexplained(void **state)
{
	static const struct {
		const char *what;
		enum decision decision;
		size_t worse;	    /* functions with worse counters */
		bool sure;	    /* judged at the usual error rate of .05 */
		const char *change; /* change of walk, which takes more time; NULL: unknown */
		bool kernel;
		const char *count; /* counter that has grown; NULL: none */
		bool unexplained;
	} rows[] = {
		{ "counters find nothing", DECISION_REGRESSION, 0, true, NULL, false, NULL, true },
		{ "counters find it", DECISION_REGRESSION, 2, true, NULL, false, NULL, false },
		{ "nobody looked", DECISION_REGRESSION, 0, false, NULL, false, NULL, false },
		{ "the same code", DECISION_REGRESSION, 0, false, "unchanged", false, NULL, true },
		{ "code that was changed", DECISION_REGRESSION, 0, false, "modified", false, NULL, false },
		{ "the kernel", DECISION_REGRESSION, 0, true, "unchanged", true, NULL, false },
		{ "page faults", DECISION_REGRESSION, 0, true, "unchanged", false, "minor_faults", false },
		{ "turns of others", DECISION_REGRESSION, 0, true, "unchanged", false, "involuntary_switches", true },
		{ "a pass", DECISION_PASS, 0, true, "unchanged", false, NULL, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct made made;

		made_enter(&made, rows[i].decision);
		made.c.functions.detected.n_worse = rows[i].worse;
		made.c.functions.detected.rate_used = rows[i].sure ? .05 : .2;
		made.parts[0].certain = made.parts[1].certain = true;
		made.parts[0].difference = made.parts[1].difference = .1;
		made.parts[1].change = rows[i].change;
		made.parts[3].certain = rows[i].kernel;
		made.parts[3].difference = .05;
		made.count = (struct measured_count){ .name = rows[i].count, .difference = 100, .certain = rows[i].count };
		comparison_add_unexplained(&made.c);
		if (has(&made, "not_explained", false) != rows[i].unexplained)
			fail_msg("%s", rows[i].what);
		made_leave(&made);
	}
}

static void test_withdraw(void **state)
{
	struct made made;

	(void)state;
	made_enter(&made, DECISION_REGRESSION);
	made.c.verdict.rule = RULE_COMPUTES_MORE;
	verdict_add_reason(&made.c.verdict, true, rule_code(RULE_COMPUTES_MORE), mem_string("it takes more CPU time"));
	verdict_add_reason(&made.c.verdict, false, "looked_at", mem_string("it was looked at"));
	comparison_set_inconclusive(&made.c, "layout", mem_string("it does not hold"));
	assert_int_equal(made.c.verdict.effect.decision, DECISION_INCONCLUSIVE);
	assert_true(has(&made, "layout", true) && has(&made, "looked_at", false));
	assert_false(has(&made, "computes_more", false));
	made_leave(&made);
}

int suite_comparison(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_chosen), cmocka_unit_test(test_confirms), cmocka_unit_test(test_latent),
					    cmocka_unit_test(test_unexplained), cmocka_unit_test(test_withdraw) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

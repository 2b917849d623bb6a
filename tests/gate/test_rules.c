/* Tests the table of rules, row by row and as a whole, and the rules' input from runs. */
#include "gate/decide/verdict.c" /* the static functions of the rules */

#include "base/json.h"
#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define P DECISION_PASS
#define I DECISION_IMPROVED
#define R DECISION_REGRESSION
#define U DECISION_INCONCLUSIVE
#define E DECISION_ENVIRONMENT
#define N RULE_UNKNOWN
#define T PAIRING_TURNS_TAKEN

/* The interval alone decides. */
#define ALONE RULES

static const struct row {
	const char *what;
	struct rule_input in; /* performance, CPU time, own time, same build, disturbed, turns, two groups */
	enum rule rule;
	enum decision decision;
} rows[] = {
	{ "the code computes more", { R, R, R, false, false, T, false }, RULE_COMPUTES_MORE, R },
	{ "the same among others that do", { R, R, U, false, true, T, false }, RULE_COMPUTES_MORE, R },
	{ "the wall is too noisy to tell, CPU time is not", { U, R, U, false, true, T, false }, RULE_COMPUTES_MORE, R },
	{ "on quiet machines likewise", { U, R, U, false, false, T, false }, RULE_COMPUTES_MORE, R },
	{ "hogs take so long that more work is a small part", { P, R, U, false, true, T, false }, RULE_HIDDEN_BY_BUSY, R },
	{ "the same, and the hogs were at the baseline", { I, R, R, false, true, T, false }, RULE_HIDDEN_BY_BUSY, R },
	{ "locks, input and output", { R, P, R, false, false, T, false }, RULE_WAITS_MORE, R },
	{ "the same among others", { R, P, R, false, true, T, false }, RULE_WAITS_MORE, R },
	{ "where CPU time cannot tell", { R, U, R, false, true, T, false }, RULE_WAITS_MORE, R },
	{ "its own threads wait for each other", { R, P, P, false, false, T, false }, RULE_WAITS_FOR_ITSELF, R },
	{ "hogs", { R, P, P, false, true, T, false }, RULE_MACHINES_BUSY, E },
	{ "hogs, and a wide interval", { R, P, U, false, true, T, false }, RULE_MACHINES_BUSY, E },
	{ "hogs, and nothing is known well", { R, U, U, false, true, T, false }, RULE_MACHINES_BUSY, E },
	{ "hogs during the baseline, and own time is not known well", { I, P, U, false, true, T, false }, RULE_MACHINES_BUSY, E },
	{ "hogs during the baseline, and nothing is known well", { I, U, U, false, true, T, false }, RULE_MACHINES_BUSY, E },
	{ "hogs during the baseline, and more is waited for something else", { I, P, R, false, true, T, false }, RULE_MACHINES_BUSY, E },
	{ "faster in itself among hogs", { I, I, U, false, true, T, false }, ALONE, I },
	{ "waits less for itself among hogs", { I, P, I, false, true, T, false }, ALONE, I },
	{ "a metric of its own that is better among hogs", { I, N, N, false, true, T, false }, ALONE, I },
	{ "hogs hide that nothing changed", { U, P, P, false, true, T, false }, RULE_SAME_CPU_TIME, P },
	{ "hogs during the baseline", { I, P, P, false, true, T, false }, RULE_SAME_CPU_TIME, P },
	{ "hogs hide that it is better", { U, I, I, false, true, T, false }, RULE_LESS_CPU_TIME, I },
	{ "hogs, and waiting of its own is not settled", { U, P, U, false, true, T, false }, RULE_DISTURBED, E },
	{ "hogs, and nothing is known of the times", { U, N, N, false, true, T, false }, RULE_DISTURBED, E },
	{ "one build is slower than itself", { R, R, R, true, false, T, false }, RULE_SAME_BUILD, E },
	{ "one build is faster than itself", { I, P, P, true, true, T, false }, RULE_SAME_BUILD, E },
	{ "one build passes", { P, P, P, true, false, T, false }, ALONE, P },
	{ "one after the other, slower", { R, R, R, false, false, PAIRING_TURNS_NOT_TAKEN, false }, RULE_ORDER_CONFOUNDED, U },
	{ "one after the other, faster", { I, N, N, false, true, PAIRING_TURNS_NOT_TAKEN, false }, RULE_ORDER_CONFOUNDED, U },
	{ "one after the other, and alike", { P, P, P, false, false, PAIRING_TURNS_NOT_TAKEN, false }, RULE_ORDER_CONFOUNDED, U },
	{ "one after the other among hogs, not settled",
	  { U, R, R, false, true, PAIRING_TURNS_NOT_TAKEN, false },
	  RULE_ORDER_CONFOUNDED,
	  U },
	{ "one build, one after the other", { R, R, R, true, false, PAIRING_TURNS_NOT_TAKEN, false }, RULE_SAME_BUILD, E },
	{ "two groups, slower", { R, R, R, false, false, T, true }, RULE_TWO_GROUPS, U },
	{ "two groups, and alike, in no known order", { P, N, N, false, false, PAIRING_TURNS_UNKNOWN, true }, RULE_TWO_GROUPS, U },
	{ "in no known order, slower", { R, N, N, false, false, PAIRING_TURNS_UNKNOWN, false }, RULE_ORDER_UNKNOWN, U },
	{ "in no known order, and alike", { P, N, N, false, false, PAIRING_TURNS_UNKNOWN, false }, RULE_ORDER_UNKNOWN, U },
	{ "nothing measured, one after the other",
	  { DECISION_NOTHING_MEASURED, N, N, false, false, PAIRING_TURNS_NOT_TAKEN, false },
	  ALONE,
	  DECISION_NOTHING_MEASURED },
	{ "more CPU time in parallel, and faster", { I, R, I, false, false, T, false }, ALONE, I },
	{ "more CPU time in parallel", { P, R, P, false, false, T, false }, ALONE, P },
	{ "quiet, and not settled", { U, P, U, false, false, T, false }, ALONE, U },
	{ "a metric of its own that is worse", { R, N, N, false, false, T, false }, ALONE, R },
	{ "the same among hogs", { R, N, N, false, true, T, false }, ALONE, R },
	{ "nothing measured", { DECISION_NOTHING_MEASURED, N, N, false, true, T, false }, ALONE, DECISION_NOTHING_MEASURED },
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void test_rows(void **state)
{
	bool met[RULES + 1] = { false };

	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		enum rule rule = rule_find(&rows[i].in);
		enum decision decision = rule == RULES ? rows[i].in.performance : rule_decision(rule);

		if (rule != rows[i].rule || decision != rows[i].decision)
			fail_msg("%s: %s, %s", rows[i].what, rule == RULES ? "no rule" : rule_code(rule), decision_text(decision));
		met[rule] = true;
	}
	for (int rule = 0; rule <= RULES; rule++)
		assert_true(met[rule]);
}

/* Checks properties that hold for every input, whatever the rows. */
static void test_whole(void **state)
{
	(void)state;
	for (unsigned code = 0; code < DECISIONS * (DECISIONS + 1) * (DECISIONS + 1) * 4 * PAIRING_TURNS * 2; code++) {
		const struct rule_input in = { code / 4 % DECISIONS,
					       code / 4 / DECISIONS % (DECISIONS + 1),
					       code / 4 / DECISIONS / (DECISIONS + 1) % (DECISIONS + 1),
					       code & 1,
					       code & 2,
					       (enum pairing_turns)(code / 4 / DECISIONS / (DECISIONS + 1) / (DECISIONS + 1) %
								    PAIRING_TURNS),
					       code / 4 / DECISIONS / (DECISIONS + 1) / (DECISIONS + 1) >= PAIRING_TURNS };
		enum rule rule = rule_find(&in);
		enum decision d = rule == RULES ? in.performance : rule_decision(rule);

		if (in.alternation != PAIRING_TURNS_TAKEN || in.has_two_groups) /* whatever the intervals are */
			assert_true(d == U || d == in.performance || (d == E && in.same_build));
		if (in.alternation != PAIRING_TURNS_TAKEN || in.has_two_groups)
			assert_true(d != R && d != I && d != P);
		if (d == R) { /* one time is slower and the builds differ; on busy machines, not only the wall-clock time is slower */
			assert_false(in.same_build && in.performance == R);
			assert_true(in.performance == R || in.processor == R);
			assert_true(!in.disturbed || in.processor == R || in.own == R || in.processor == N || in.own == N ||
				    in.processor > U || in.own > U);
		}
		if (d == E && in.performance != E)
			assert_true(in.disturbed || in.same_build);
		if (in.performance == P && in.alternation == PAIRING_TURNS_TAKEN &&
		    !in.has_two_groups) /* a pass remains, unless busy machines hide more computing */
			assert_true(d == P || (d == R && in.processor == R && in.disturbed));
	}
}

/* Checks that the design page has the same table: one row per rule, in the same order, with its decision. */
static void test_page(void **state)
{
	char *page = mem_format("%s/docs/design/decisions.md", getenv("ASSAY_SOURCE"));
	FILE *file = fopen(page, "r");
	char line[1000];
	int at = 0;

	(void)state;
	free(page);
	assert_non_null(file);
	while (at < RULES && fgets(line, sizeof(line), file)) {
		char *code = mem_format("| `%s` |", rule_code((enum rule)at)),
		     *decision = mem_format("| `%s` |", decision_text(rule_decision((enum rule)at)));

		if (strncmp(line, code, strlen(code)) == 0) {
			assert_non_null(strstr(line, decision));
			at++;
		}
		free(code);
		free(decision);
	}
	fclose(file);
	assert_int_equal(at, RULES);
}

/* ---- the rules' input ---- */

#define HOSTS 6
#define REPS  8

/* Returns a pseudo-random number from 0 to 1, different for each host, repetition and side. */
static double odd(int host, int repetition, int side)
{
	double x = sin(host * 12.9898 + repetition * 78.233 + side * 37.719) * 43758.5453;

	return x - floor(x);
}

struct made {
	double computes, waits, itself; /* factors of the candidate; `itself`: seconds for which it waits for its own threads */
	double busy;			/* most seconds that a machine withholds from a run */
	bool unlike;			/* the builds differ */
	bool threads;			/* threads other than the first one wait */
};

static void make(struct run_set *set, const struct made *made, int side)
{
	*set = (struct run_set){ .application = mem_string("app"), .version = mem_string(side ? "new" : "old") };
	set->items = mem_new(HOSTS * REPS, sizeof(*set->items));
	for (int h = 0; h < HOSTS; h++) {
		for (int r = 0; r < REPS; r++) {
			struct run *run = &set->items[set->n++];
			double cpu = .9 * (side ? made->computes : 1) * (1 + .004 * odd(h, r, side));
			double own = .1 * (side ? made->waits : 1), busy = made->busy * pow(odd(h, r, side + 2), 3),
			       delay = busy + (side ? made->itself : 0);
			struct helper_result counters;

			*run = (struct run){ .machine = mem_format("m%d", h), .repetition = r + 1, .recorded = 1, .plan = "p" };
			run->usage = (struct metric_usage){ (int64_t)((cpu + own + delay) * 1e9), (int64_t)(cpu * 1e6), 0 };
			run->metric = (double)run->usage.wall_ns / 1e9;
			memset(&counters, 0xff, sizeof(counters)); /* every number is -1: unknown */
			counters.run_delay_ns = made->threads ? 0 : (int64_t)(delay * 1e9);
			counters.others_delay_ns = made->threads ? (int64_t)(delay * 1e9) : 0;
			counters.busy_ns = (int64_t)((busy + cpu) * 1e9);
			run_set_withheld(run, &counters);
			snprintf(run->build, sizeof(run->build), "%s", side && made->unlike ? "b" : "a");
		}
	}
}

static bool has_reason(const struct verdict *v, const char *code)
{
	for (size_t r = 0; r < v->n_reasons; r++)
		if (strcmp(v->reasons[r].code, code) == 0)
			return true;
	return false;
}

/* Checks that an excuse by other programs is accepted against an inferred finding, and not against a measured one. */
static void expect_excused(struct verdict *v, bool believed)
{
	enum decision before = v->effect.decision;

	assert_int_equal(verdict_blame_environment(v, "others", mem_string("others did it")), believed);
	assert_int_equal(v->effect.decision, believed ? DECISION_ENVIRONMENT : before);
	assert_int_equal(has_reason(v, "others"), believed);
	assert_false(believed && has_reason(v, "waits_for_itself"));
}

static void test_runs(void **state)
{
	static const struct {
		const char *what;
		struct made made;
		enum decision interval_decision, decision;
		const char *reason;
		bool is_excused;
	} runs[] = {
		{ "nothing changed", { 1, 1, 0, 0, true, false }, P, P, NULL, false },
		{ "nothing changed among hogs", { 1, 1, 0, 1, true, false }, U, P, "computes_alike", false },
		{ "5 % more among hogs", { 1.06, 1, 0, 1, true, false }, U, R, "computes_more", false },
		{ "more, quiet", { 1.1, 1, 0, 0, true, false }, R, R, "computes_more", false },
		{ "waits more", { 1, 2, 0, 0, true, false }, R, R, "waits_more", false },
		{ "waits for itself", { 1, 1, .1, 0, true, false }, R, R, "waits_for_itself", true },
		{ "threads wait for themselves", { 1, 1, .1, 0, true, true }, R, R, "waits_for_itself", true },
		{ "nothing changed, threads among hogs", { 1, 1, 0, 1, true, true }, U, P, "computes_alike", false },
		{ "one build", { 1, 2, 0, 0, false, false }, R, E, "same_build", false },
		{ "less, quiet", { .9, 1, 0, 0, true, false }, I, I, "faster", false },
		{ "waits less", { 1, .2, 0, 0, true, false }, I, I, "faster", false },
		{ "4 % less among hogs", { .955, 1, 0, 1, true, false }, U, I, "computes_less", false },
	};
	const struct evidence evidence = { 0 };
	const struct lab_config config = { .min_effect = .03 };

	(void)state;
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		struct run_set sides[2];
		struct assay_error err;
		struct verdict v;

		make(&sides[0], &runs[i].made, 0);
		make(&sides[1], &runs[i].made, 1);
		assert_int_equal(verdict_compute(&evidence, &config, &sides[0], &sides[1], .03, &v, &err), ASSAY_OK);
		if (v.interval_decision != runs[i].interval_decision || v.effect.decision != runs[i].decision ||
		    (runs[i].reason && !has_reason(&v, runs[i].reason)))
			fail_msg("%s: %s by the interval, %s (%.4f, %.4f to %.4f)", runs[i].what, decision_text(v.interval_decision),
				 decision_text(v.effect.decision), v.effect.ratio, v.effect.low, v.effect.high);
		assert_int_equal(v.times.disturbed, runs[i].made.busy > 0);
		expect_excused(&v, runs[i].is_excused);
		verdict_release(&v);
		run_set_release(&sides[0]);
		run_set_release(&sides[1]);
	}
}

/* Runs of one build with two threads, whose first thread waits for both, on two CPUs with other programs, in ms: wall-clock, user and
 * system time, run-queue delays of the first thread and of its other threads, and CPU time of other programs. */
static const int64_t two_threads[][6] = {
	{ 1061, 422, 3, 9, 855, 1756 },	    { 1187, 414, 0, 81, 1009, 1993 },  { 1470, 419, 7, 101, 1268, 2595 },
	{ 1772, 405, 18, 50, 1982, 3122 },  { 1903, 409, 11, 86, 1792, 3412 }, { 1988, 419, 0, 3, 2094, 3585 },
	{ 2115, 420, 7, 48, 2110, 3822 },   { 2148, 415, 7, 32, 1966, 3901 },  { 2226, 430, 3, 79, 2235, 4077 },
	{ 2260, 428, 0, 67, 2181, 4097 },   { 2320, 421, 0, 23, 2327, 4221 },  { 2383, 428, 0, 126, 2834, 4404 },
	{ 2519, 415, 7, 14, 2895, 4633 },   { 2637, 422, 7, 13, 2872, 4857 },  { 2678, 427, 10, 71, 3157, 4909 },
	{ 2857, 412, 23, 113, 3105, 5307 }, { 3120, 428, 3, 94, 3388, 5835 },  { 3205, 423, 10, 13, 3833, 6018 },
	{ 3225, 426, 6, 16, 3390, 6044 },   { 3716, 406, 11, 29, 4984, 7055 },
};
#define THREADS_RUNS (sizeof(two_threads) / sizeof(two_threads[0]))

/* Checks a candidate whose runs had more load from other programs than the baseline's: its longer waits are not its own. */
static void test_threads_on_a_busy_machine(void **state)
{
	const struct evidence evidence = { 0 };
	const struct lab_config config = { .min_effect = .03 };
	struct run_set sides[2];
	struct assay_error err;
	struct verdict v;

	(void)state;
	for (int side = 0; side < 2; side++) {
		struct run_set *set = &sides[side];

		*set = (struct run_set){ .application = mem_string("app"), .version = mem_string(side ? "new" : "old") };
		set->items = mem_new(THREADS_RUNS / 2, sizeof(*set->items));
		for (; set->n < THREADS_RUNS / 2; set->n++) {
			const int64_t *ms = two_threads[set->n + (side ? THREADS_RUNS / 2 : 0)];
			struct run *run = &set->items[set->n];
			struct helper_result counters;

			memset(&counters, 0xff, sizeof(counters)); /* every number is -1: unknown */
			counters.run_delay_ns = 1000000 * ms[3];
			counters.others_delay_ns = 1000000 * ms[4];
			counters.busy_ns = 1000000 * (ms[1] + ms[2] + ms[5]);
			*run = (struct run){ .machine = mem_string("m"), .repetition = (int64_t)set->n + 1, .recorded = 1, .plan = "p" };
			run->usage = (struct metric_usage){ 1000000 * ms[0], 1000 * ms[1], 1000 * ms[2] };
			run->metric = (double)ms[0] / 1e3;
			run_set_withheld(run, &counters);
		}
	}
	assert_int_equal(verdict_compute(&evidence, &config, &sides[0], &sides[1], .03, &v, &err), ASSAY_OK);
	assert_int_equal(v.interval_decision, R);
	assert_int_equal(v.effect.decision, E);
	assert_true(v.times.disturbed && has_reason(&v, "machines_busy"));
	verdict_release(&v);
	run_set_release(&sides[0]);
	run_set_release(&sides[1]);
}

/* Checks that an improvement counts from the smallest effect that matters on, by either time. */
static void test_gain(void **state)
{
	const struct evidence evidence = { 0 };
	const struct lab_config config = { .min_effect = .03 };

	(void)state;
	for (int busy = 0; busy < 2; busy++) {
		for (int least = 0; least < 2; least++) {
			const struct made made = { .955, 1, 0, busy, true, false };
			struct run_set sides[2];
			struct assay_error err;
			struct verdict v;

			for (int side = 0; side < 2; side++)
				make(&sides[side], &made, side);
			assert_int_equal(verdict_compute(&evidence, &config, &sides[0], &sides[1], .03, &v, &err), ASSAY_OK);
			assert_int_equal(v.effect.decision, I);
			assert_int_equal(verdict_is_by_cpu_time(&v), busy);
			verdict_apply_min_gain(&v, least ? .2 : .03);
			assert_int_equal(v.effect.decision, least ? P : I);
			assert_int_equal(has_reason(&v, "min_gain"), least);
			verdict_release(&v);
			run_set_release(&sides[0]);
			run_set_release(&sides[1]);
		}
	}
}

/* Checks that the minimum detectable effect is that of the time that decided, scaled by CPU time's share of wall-clock time. */
static void test_detectable(void **state)
{
	const struct evidence evidence = { 0 };
	const struct lab_config config = { .min_effect = .03 };

	(void)state;
	for (int busy = 0; busy < 2; busy++) {
		const struct made made = { 1, 1, 0, busy, true, false };
		struct run_set sides[2];
		struct assay_error err;
		struct document d;
		struct verdict v;
		cJSON *json;
		double said, of[2];

		document_init(&d);
		for (int side = 0; side < 2; side++)
			make(&sides[side], &made, side);
		assert_int_equal(verdict_compute(&evidence, &config, &sides[0], &sides[1], .03, &v, &err), ASSAY_OK);
		assert_int_equal(verdict_is_by_cpu_time(&v), busy);
		assert_int_equal(v.effect_pattern == PATTERN_CPU_TIME, busy); /* the metric shows no kind of change */
		verdict_describe(&v, "", &d);
		verdict_describe_details(&v, true, true, &d);
		json = document_cjson(&d);
		said = json_get_number(json, "minimum_detectable_effect");
		of[0] = v.effect.minimum_detectable;
		of[1] = v.times.effects[TIME_PROCESSOR].minimum_detectable;
		assert_true(said == of[busy] && of[0] != of[1]);
		assert_true(v.times.share > .85 && v.times.share < .95);
		assert_true(of[1] >= .03 / v.times.share && of[1] < .04);
		cJSON_Delete(json);
		document_release(&d);
		verdict_release(&v);
		run_set_release(&sides[0]);
		run_set_release(&sides[1]);
	}
}

int suite_rules(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_page),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_threads_on_a_busy_machine),
		cmocka_unit_test(test_gain),
		cmocka_unit_test(test_detectable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests the comparison of two commands on one machine: decisions about synthetic runs, and the answer's text. */
#include "base/json.h"
#include "base/mem.h"
#include "base/rng.h"
#include "gate/here/here.c"
#include "tests/scratch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 40

struct made {
	double wall, user, sys, delay;
};

static int64_t ended_with[SIDES]; /* exit status of each side's runs */

static struct adhoc_command *here_made(const char *const *word, const struct made *made, size_t n)
{
	struct adhoc_command *adhoc_command = adhoc_command_new(&(struct adhoc_side){ .words = word, .n = 1 });

	for (; adhoc_command->n < n; adhoc_command->n++) {
		struct helper_result *r = &adhoc_command->results[adhoc_command->n];
		const struct made *m = &made[adhoc_command->n];

		memset(r, 0xff, sizeof(*r)); /* every number is -1: unknown */
		r->wall_ns = llround(1e9 * m->wall);
		r->user_us = llround(1e6 * m->user);
		r->sys_us = llround(1e6 * m->sys);
		r->run_delay_ns = llround(1e9 * m->delay);
		r->others_delay_ns = 0;
		r->exit_status = ended_with[strcmp(*word, "new") == 0];
		r->crowded_ns = 0;
		adhoc_command->runs[adhoc_command->n] = level_run_make(STORED_MACHINE, r, 1, 1);
	}
	adhoc_finish(adhoc_command);
	return adhoc_command;
}

/* Returns the answer about two commands whose runs took a[i] and b[i]. The caller frees it with cJSON_Delete(). */
static cJSON *answer_of(const char *const words[SIDES], const struct made *a, const struct made *b, size_t n)
{
	static const struct adhoc_options how = { .budget_s = 20, .min_effect = LAB_MIN_EFFECT };
	struct adhoc_command *sides[] = { here_made(&words[A], a, n), here_made(&words[B], b, n) };
	struct code *code = code_new();
	struct document d = { 0 };
	struct assay_error err;
	cJSON *json;

	document_init(&d);
	assert_int_equal(adhoc_decide(sides, &(struct adhoc_comparison){ &how, NULL, "", code }, &d, &err), ASSAY_OK);
	json = document_cjson(&d);
	cJSON_AddNumberToObject(json, "status", d.exit_status);
	document_release(&d);
	code_free(code);
	adhoc_command_free(sides[A]);
	adhoc_command_free(sides[B]);
	return json;
}

static cJSON *answer(const struct made *a, const struct made *b, size_t n)
{
	return answer_of((const char *const[]){ "old", "new" }, a, b, n);
}

static void assert_decides(const struct made *a, const struct made *b, const char *decision, const char *reason, const char *cause)
{
	cJSON *json = answer(a, b, RUNS), *first = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "reasons"), 0);
	const char *said = json_get_text(json, "decision"), *code = json_get_text(first, "code"), *made_of = json_get_text(json, "cause");

	if (strcmp(said, decision) != 0 || strcmp(code, reason) != 0 || !strstr(made_of, cause) || (!*cause && *made_of))
		fail_msg("%s, %s, '%s' instead of %s, %s, '%s'", said, code, made_of, decision, reason, cause);
	cJSON_Delete(json);
}

/* Makes short runs on a busy machine: they take the usual time or a multiple of it, in phases of several runs. */
static void busy_runs(struct rng *rng, struct made *a, struct made *b)
{
	bool busy = false;

	for (size_t i = 0; i < RUNS; i++) {
		busy = rng_double(rng) < .1 ? !busy : busy;
		a[i] = (struct made){ .wall = rng_double(rng) < (busy ? .7 : .3) ? 4 : 1 + .1 * rng_double(rng), .user = .9 };
		b[i] = (struct made){ .wall = rng_double(rng) < (busy ? .7 : .3) ? 4 : 1 + .1 * rng_double(rng), .user = .9 };
	}
}

static void the_same_twice(void **state)
{
	struct made a[RUNS], b[RUNS];
	size_t called = 0;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1);
	for (size_t i = 0; i < 300; i++) {
		cJSON *json;
		const char *decision;

		busy_runs(&rng, a, b);
		json = answer(a, b, RUNS);
		decision = json_get_text(json, "decision");
		called += strcmp(decision, "regression") == 0 || strcmp(decision, "improved") == 0;
		cJSON_Delete(json);
	}
	assert_true(called < 24); /* 15 are expected, plus a tolerance for chance */
}

/* Checks --ignore-failure: failures of both commands are ignored, failures of only the candidate are not. */
static void other_exit_statuses(void **state)
{
	static const struct {
		int64_t old, new;
		const char *decision, *reason;
	} rows[] = { { 0, 0, "improved", "faster" },
		     { 124, 124, "improved", "faster" },
		     { 124, 1, "inconclusive", "candidate_fails" },
		     { 0, 1, "inconclusive", "candidate_fails" },
		     { 1, 0, "improved", "faster" } };
	struct made a[RUNS], b[RUNS];

	(void)state;
	for (size_t i = 0; i < RUNS; i++) {
		a[i] = (struct made){ .wall = 1 + .01 * (double)(i % 5), .user = 1 };
		b[i] = (struct made){ .wall = .5 + .01 * (double)(i % 3), .user = .5 };
	}
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		cJSON *json;

		ended_with[A] = rows[k].old;
		ended_with[B] = rows[k].new;
		json = answer(a, b, RUNS);
		assert_string_equal(json_get_text(json, "decision"), rows[k].decision);
		assert_string_equal(json_get_text(cJSON_GetArrayItem(cJSON_GetObjectItem(json, "reasons"), 0), "code"), rows[k].reason);
		cJSON_Delete(json);
	}
	ended_with[A] = ended_with[B] = 0;
}

/* Checks a machine that becomes slower from pair to pair, by much more than the versions differ. Without a lower bound of the noise, a
 * difference of 3.6 % would be certain. */
static void pairs_that_drift(void **state)
{
	struct made a[RUNS], b[RUNS];

	(void)state;
	for (size_t i = 0; i < RUNS; i++) {
		double slow = 1 + .05 * (double)i + .001 * (double)(i * 7 % 5);

		a[i] = (struct made){ .wall = slow, .user = .9 * slow };
		b[i] = (struct made){ .wall = 1.036 * slow + .001 * (double)(i * 3 % 5), .user = .9 * 1.036 * slow };
	}
	assert_decides(a, b, "regression", "computes_more", "computing");
	assert_decides(b, a, "improved", "faster", "computing");
}

static void few_runs(void **state)
{
	struct made a[7], b[7];
	cJSON *json;

	(void)state;
	for (size_t i = 0; i < 7; i++) {
		a[i] = (struct made){ .wall = 1 + .001 * (double)i, .user = 1 };
		b[i] = (struct made){ .wall = 1.2 + .002 * (double)i, .user = 1.2 };
	}
	for (size_t n = 1; n <= 7; n++) {
		json = answer(a, b, n);
		assert_string_equal(json_get_text(json, "decision"), n < 3 ? "inconclusive" : "regression");
		assert_int_equal(cJSON_GetObjectItem(json, "status")->valueint, n < 3 ? 4 : 3);
		assert_int_equal(cJSON_IsNull(cJSON_GetObjectItem(json, "low")), n < 3);
		assert_true(fabs(cJSON_GetObjectItem(json, "ratio")->valuedouble - 1.2) < .004);
		cJSON_Delete(json);
	}
}

/* Checks that a command cannot be slower than itself. */
static void the_same_command(void **state)
{
	struct made a[RUNS], b[RUNS];
	cJSON *json;

	(void)state;
	for (size_t i = 0; i < RUNS; i++) {
		a[i] = (struct made){ .wall = 1 + .001 * (double)(i % 7), .user = 1 + .001 * (double)(i % 7) };
		b[i] = (struct made){ .wall = 1.2 + .001 * (double)(i % 5), .user = 1.2 + .001 * (double)(i % 5) };
	}
	json = answer_of((const char *const[]){ "old", "old" }, a, b, RUNS);
	assert_string_equal(json_get_text(json, "decision"), "environment");
	assert_string_equal(json_get_text(cJSON_GetArrayItem(cJSON_GetObjectItem(json, "reasons"), 0), "code"), "same_build");
	cJSON_Delete(json);
	assert_decides(a, b, "regression", "computes_more", "computing");
}

/* Checks commands of equal cost that use other resources: more computing and less waiting. */
static void other_resources(void **state)
{
	struct made a[RUNS], b[RUNS];

	(void)state;
	for (int shift = 0; shift < 2; shift++) {
		const cJSON *reason;
		bool found = false;
		cJSON *json;

		for (size_t i = 0; i < RUNS; i++) {
			a[i] = (struct made){ .wall = 1 + .001 * (double)(i % 7), .user = .4 + .001 * (double)(i % 5) };
			b[i] = (struct made){ .wall = 1 + .001 * (double)(i % 6), .user = (shift ? .5 : .4) + .001 * (double)(i % 3) };
		}
		json = answer(a, b, RUNS);
		assert_string_equal(json_get_text(json, "decision"), "pass");
		cJSON_ArrayForEach(reason, cJSON_GetObjectItem(json, "reasons")) found =
		    found || (strcmp(json_get_text(reason, "code"), "resource_shift") == 0 &&
			      strstr(json_get_text(reason, "text"), "s more computing and 0.") &&
			      strstr(json_get_text(reason, "text"), "s less waiting"));
		assert_int_equal(found, shift);
		cJSON_Delete(json);
	}
}

/* Checks that CPU time decides if it can lengthen the wall-clock time, which is inconclusive on its own. */
static void processor_time(void **state)
{
	struct made a[RUNS], b[RUNS];

	(void)state;
	for (size_t i = 0; i < RUNS; i++) {
		a[i] = (struct made){ .wall = 1 + .2 * (double)(i * 7 % 11), .user = .8 + .001 * (double)(i % 7) };
		b[i] = (struct made){ .wall = 1 + .2 * (double)(i * 5 % 11), .user = .8 * (i % 2 ? 1.11 : 1.13) };
	}
	assert_decides(a, b, "regression", "computes_more", "computing");
	for (size_t i = 0; i < RUNS; i++)
		b[i].user *= (a[i].user = .001); /* CPU time of a program that sleeps */
	assert_decides(a, b, "inconclusive", "interval_too_wide", "");
}

/* Checks wall-clock times with run-queue delays. Delays of both commands now and then are the machine's; delays of one command in all pairs
 * are its own. A command with several threads is still faster. */
static void what_others_withheld(void **state)
{
	struct made a[RUNS], b[RUNS];

	(void)state;
	for (size_t i = 0; i < RUNS; i++) {
		double busy = i % 3 ? .1 * (double)(i % 7) : 0, more = .06 + .001 * (double)(i * 5 % 7);

		a[i] = (struct made){ .wall = 1 + busy, .user = .98, .delay = busy };
		b[i] = (struct made){ .wall = 1 + busy + more, .user = .98, .delay = busy + more };
	}
	assert_decides(a, b, "environment", "machines_busy", "");
	for (size_t i = 0; i < RUNS; i++) {
		a[i] = (struct made){ .wall = 1 + .001 * (double)(i % 5), .user = .98 + .001 * (double)(i % 3), .delay = .001 };
		b[i] = (struct made){ .wall = 1.4 + .001 * (double)(i % 7),
				      .user = .98 + .001 * (double)(i % 4),
				      .delay = .401 + .001 * (double)(i % 7) };
	}
	assert_decides(a, b, "regression", "waits_for_itself", "waiting");
	for (size_t i = 0; i < RUNS; i++)
		b[i] = (struct made){ .wall = .6 + .001 * (double)(i % 5), .user = 1.1 };
	assert_decides(a, b, "improved", "faster", "s computing, -0.020 s waiting");
}

/* Checks an inconclusive wall-clock time: certain differences of its parts are reported from the smallest effect that matters on. */
static void work_where_time_is_open(void **state)
{
	struct made a[RUNS], b[RUNS];

	(void)state;
	for (size_t i = 0; i < RUNS; i++) {
		a[i] = (struct made){ .wall = 2 + .1 * (double)(i * 7 % 11), .user = 1, .sys = .9, .delay = .1 * (double)(i * 7 % 11) };
		b[i] = (struct made){ .wall = 2 + .1 * (double)(i * 5 % 11), .user = 1.1, .sys = .8, .delay = .1 * (double)(i * 5 % 11) };
		a[i].user += .001 * (double)(i % 5);
		b[i].user += .001 * (double)(i % 3);
	}
	assert_decides(a, b, "environment", "disturbed", "-0.10 s in the kernel, +0.099 s computing");
	for (size_t i = 0; i < RUNS; i++) {
		b[i].user -= .06;
		b[i].sys += .06;
	}
	assert_decides(a, b, "environment", "disturbed", "");
}

/* Checks the times of interim analyses: after 1/16 of the runs that the budget allows, then after twice as many each time. They need at
 * least six pairs, except at the end of the budget. */
static void when_it_looks(void **state)
{
	static const char *const words[] = { "old", "new" };
	static const struct adhoc_options how = { .budget_s = 160, .min_effect = LAB_MIN_EFFECT };
	static const size_t expected[] = { 10, 20, 40, 80 };
	struct made made[SIDES][160];
	struct adhoc_command *sides[SIDES];
	struct adhoc_analysis l = { .looks = 0 };
	size_t looks = 0;

	(void)state;
	for (size_t i = 0; i < 160; i++) { /* runs that decide nothing */
		made[A][i] = (struct made){ 1.87, 1.87, 0, 0 };
		made[B][i] = (struct made){ 1 + (double)(i * 37 % 97) / 48, 1 + (double)(i * 37 % 97) / 48, 0, 0 };
	}
	for (int side = 0; side < SIDES; side++)
		sides[side] = here_made(&words[side], made[side], 160);
	for (size_t n = 1; n <= 160; n++) {
		int before = l.looks;

		sides[A]->n = sides[B]->n = n;
		assert_false(analyse_runs(&l, sides, &how, 1, n == 160));
		if (l.looks == before)
			continue;
		assert_int_equal(n, looks < ANALYSES_MAX - 1 ? expected[looks] : 160);
		assert_true(sides[B]->level == analysis_level((int)++looks, n == 160));
	}
	assert_int_equal(looks, ANALYSES_MAX);
	l = (struct adhoc_analysis){ .looks = 0 };
	for (size_t n = 1; n < EFFECT_PAIRS_MIN; n++) {
		sides[A]->n = sides[B]->n = n;
		assert_false(analyse_runs(&l, sides, &how, 100, false));
	}
	assert_int_equal(l.looks, 0);
	(void)analyse_runs(&l, sides, &how, 100, true);
	assert_int_equal(l.looks, 1);
	assert_true(sides[A]->level == EFFECT_LEVEL);
	adhoc_command_free(sides[A]);
	adhoc_command_free(sides[B]);
}

int suite_here_compare(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(other_exit_statuses),     cmocka_unit_test(the_same_twice),
					    cmocka_unit_test(pairs_that_drift),	       cmocka_unit_test(few_runs),
					    cmocka_unit_test(other_resources),	       cmocka_unit_test(the_same_command),
					    cmocka_unit_test(processor_time),	       cmocka_unit_test(what_others_withheld),
					    cmocka_unit_test(work_where_time_is_open), cmocka_unit_test(when_it_looks) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

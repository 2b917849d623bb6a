/* Tests histories of results in the store. Change points have a test of their own; cli_history.sh tests the command. */
#include "gate/nightly/history.h"

#include "base/mem.h"
#include "runs/running/evidence.h"

#include <math.h>
#include <string.h>

#include "tests/scratch.h"

static void put(struct store *store, const char *sql)
{
	struct assay_error err;

	check(store_execute(store, &err, sql, ""), &err);
}

static struct history load_with(struct lab *lab, const char *application, enum history_cost_source by, double min_effect)
{
	struct evidence evidence;
	struct history history;
	struct assay_error err;

	check(evidence_load(lab, &evidence, &err), &err);
	check(history_load(lab, &evidence, application, NULL, by, min_effect, INT64_MAX, &history, &err), &err);
	evidence_release(&evidence);
	return history;
}

static struct history load(struct lab *lab, const char *application, enum history_cost_source by)
{
	return load_with(lab, application, by, .03);
}

static char *words_of(const struct history *h)
{
	struct document d;
	char *words;

	document_init(&d);
	words = history_describe(h, &d);
	document_release(&d);
	return words;
}

static void check_point(const struct history *h, size_t i, const char *version, int64_t taken_ms, size_t machines, size_t runs)
{
	const struct history_point *p = &h->points[i];

	assert_string_equal(p->version, version);
	assert_int_equal(p->taken_ms, taken_ms);
	assert_int_equal(p->machines, machines);
	assert_int_equal(p->runs, runs);
}

/* Checks points: machine b ran before a in version 1, and on another day in version 2; a repetition has three values; failures are
 * ignored. */
static void test_points(void **state)
{
	struct lab lab = scratch_lab("lab");
	struct history h;

	(void)state;
	put(&lab.store, "INSERT INTO run (application, version, machine, taken_ms, repetition, ordinal, metric) VALUES"
			" ('sort', '1', 'a', 5000, 1, 1, 2), ('sort', '1', 'a', 5000, 1, 2, 3), ('sort', '1', 'a', 5000, 1, 3, 7),"
			" ('sort', '1', 'a', 5000, 2, 1, 4), ('sort', '1', 'b', 4000, 1, 1, 8), ('sort', '1', 'b', 4000, 2, 1, 0),"
			" ('sort', '2', 'a', 86405000, 1, 1, 8), ('sort', '2', 'b', 172805000, 1, 1, 16),"
			" ('sort', '1', 'c', 5000, 1, 1, 8), ('other', '1', 'a', 1, 1, 1, 1)");
	h = load(&lab, "sort", HISTORY_METRIC);
	assert_int_equal(h.n_machines, 3);
	assert_int_equal(h.n, 3);
	check_point(&h, 0, "1", 4000, 3, 4);
	check_point(&h, 1, "2", 86405000, 1, 1);
	check_point(&h, 2, "2", 172805000, 1, 1);
	assert_true(fabs(h.points[0].machine_costs[0] - log(4)) < 1e-12 && fabs(h.points[0].machine_costs[1] - log(8)) < 1e-12 &&
		    isnan(h.points[1].machine_costs[1]));
	assert_true(fabs(h.points[2].cost - h.points[0].cost - log(2)) < 1e-9);
	history_release(&h);
	lab_close(&lab);
}

/* Checks twelve versions of equal cost, each on two of three machines. The slowest machine takes nine times as long as the fastest. */
static void test_merged(void **state)
{
	struct lab lab = scratch_lab("lab");
	struct history h;

	(void)state;
	put(&lab.store,
	    "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 11), m(k, name, cost) AS (VALUES (0, 'a', "
	    "1), (1, 'b', 4), (2, 'c', 9)) INSERT INTO run (application, version, machine, taken_ms, repetition, ordinal, "
	    "metric) SELECT 'sort', printf('v%02d', i), name, 1000 * i, 1, 1, cost FROM n, m WHERE i % 3 <> k");
	h = load(&lab, "sort", HISTORY_METRIC);
	assert_int_equal(h.n, 12);
	assert_int_equal(h.changes.n, 0);
	for (size_t i = 0; i < h.n; i++)
		assert_true(fabs(h.points[i].cost - h.points[0].cost) < 1e-9);
	history_release(&h);
	lab_close(&lab);
}

#define DECISION(id, made_ms, processor, ratio)                                                                                            \
	"INSERT INTO decision (id, night, number, made_ms, application, baseline, candidate, rules, plan, fresh_plan, min_effect, "        \
	"decision, ratio, by_processor, document) VALUES "                                                                                 \
	"('" id "', 'n', 1, " made_ms ", 'sort', '1', '2', 1, '', '', .03, 'pass', " ratio ", " processor ", '')"

/* Stores twelve versions on two machines. From v07 on they compute a tenth more, while the wall-clock time varies with the machines. An
 * imported version has only its metric. */
static void put_busy(struct lab *lab)
{
	put(&lab->store, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12) INSERT INTO plan (id, application, "
			 "manifest, manifest_hash, repetitions, warm_ups, seed, started_ms, complete) SELECT 'p' || i, 'sort', '', '', 2, "
			 "0, 1, i, 1 FROM n");
	put(&lab->store,
	    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12), r(k) AS (VALUES (1), (2)), m(name) AS (VALUES "
	    "('a'), ('b')) INSERT INTO execution (plan, machine, version, input, repetition, application, taken_ms, outcome, metric, "
	    "wall_ns, "
	    "user_us, sys_us, out, err) SELECT 'p' || i, name, printf('v%02d', i), '', k, 'sort', 1000 * i + k, 'ok', 1 + i % 2, "
	    "1000000000 * "
	    "(1 + i % 2), (CASE WHEN i < 7 THEN 500000 ELSE 550000 END) + 100 * i * k, 1000, '', '' FROM n, r, m");
	put(&lab->store, "INSERT INTO run (application, version, machine, taken_ms, repetition, ordinal, metric, plan) SELECT application, "
			 "version, machine, taken_ms, repetition, 1, metric, plan FROM execution");
	put(&lab->store,
	    "INSERT INTO run (application, version, machine, taken_ms, repetition, ordinal, metric) VALUES ('sort', 'v00', 'a', "
	    "1, 1, 1, 1)");
}

static void test_by_processor(void **state)
{
	struct lab lab = scratch_lab("lab");
	struct history h;

	(void)state;
	put_busy(&lab);
	h = load(&lab, "sort", HISTORY_DECIDED); /* without decisions */
	assert_int_equal(h.by, HISTORY_METRIC);
	assert_int_equal(h.n, 13);
	assert_int_equal(h.changes.n, 0);
	assert_int_equal(h.n_without_cpu_time, 0);
	history_release(&h);
	put(&lab.store, DECISION("d1", "1", "0", "1"));
	put(&lab.store, DECISION("d2", "2", "1", "1.1"));
	put(&lab.store, DECISION("d3", "3", "0", "NULL"));
	h = load(&lab, "sort", HISTORY_DECIDED);
	assert_int_equal(h.by, HISTORY_PROCESSOR);
	assert_int_equal(h.n, 12);
	assert_int_equal(h.n_without_cpu_time, 1);
	assert_int_equal(h.changes.n, 1);
	assert_string_equal(h.points[h.changes.items[0].first_after].version, "v07");
	assert_true(fabs(exp(h.points[0].machine_costs[0]) - 501e3 - 150) < 1); /* the median of both repetitions, us */
	history_release(&h);
	put(&lab.store, "UPDATE execution SET user_us = NULL");
	h = load(&lab, "sort", HISTORY_DECIDED);
	assert_true(h.by == HISTORY_METRIC && h.n == 13 && h.n_without_cpu_time == 0);
	history_release(&h);
	lab_close(&lab);
}

/* Stores nights. Each compares a candidate, v02 to v09, with v01; `factors` are those of v01 to v09. Candidates run first. */
static void put_nights(struct lab *lab, const double factors[9])
{
	for (int night = 2; night <= 9; night++) {
		for (int side = 0; side < 2; side++) {
			for (int m = 0; m < 3; m++) {
				int version = side ? 1 : night;
				char *sql = mem_format(
				    "INSERT INTO run (application, version, machine, taken_ms, repetition, ordinal, metric, plan) "
				    "VALUES ('sort', 'v%02d', 'm%d', %d, 1, 1, %.9g, 'p%d')",
				    version, m, 1000000 * night + side,
				    factors[version - 1] * (1 + m) * (1 + .001 * ((night * 7 + side * 3 + m * 5) % 11)), night);

				put(&lab->store, sql);
				free(sql);
			}
		}
	}
}

static void put_plans(struct lab *lab)
{
	put(&lab->store, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12) INSERT INTO plan (id, application, "
			 "manifest, manifest_hash, repetitions, warm_ups, seed, started_ms, complete) SELECT 'p' || i, 'sort', '', '', 2, "
			 "0, 1, i, 1 FROM n");
}

static void put_decision(struct lab *lab, int made_ms, const char *candidate, const char *decision, double ratio)
{
	char *sql = mem_format(
	    "INSERT INTO decision (id, night, number, made_ms, application, baseline, candidate, rules, plan, fresh_plan, "
	    "min_effect, decision, ratio, document) VALUES ('d%d', 'n', 1, %d, 'sort', 'v01', '%s', 1, '', '', .05, '%s', %.9g, '')",
	    made_ms, made_ms, candidate, decision, ratio);

	put(&lab->store, sql);
	free(sql);
}

/* Checks a baseline that is measured every night: it is one point, and the first one, although each night ran its candidate first. */
static void test_by_version(void **state)
{
	static const double slower[9] = { 1, 1, 1, 1, 1, 1, 1.3, 1.3, 1.3 };
	struct lab lab = scratch_lab("lab");
	struct history h;

	(void)state;
	put_plans(&lab);
	put_nights(&lab, slower);
	put_decision(&lab, 1, "v02", "pass", 1);
	h = load(&lab, "sort", HISTORY_METRIC);
	assert_int_equal(h.n, 16);
	for (size_t i = 0; i < 8; i++)
		assert_string_equal(h.points[i].version, "v01");
	assert_string_equal(h.points[8].version, "v02");
	assert_int_equal(h.points[8].decision->judged.decision, DECISION_PASS);
	assert_null(h.points[9].decision);
	assert_int_equal(h.changes.n, 1);
	assert_int_equal(h.n_reported, 1);
	assert_string_equal(h.points[h.changes.items[0].first_after].version, "v07");
	assert_null(h.unconfirmed);
	history_release(&h);
	lab_close(&lab);
}

/* Checks a last version with one result, too few to judge: a night's decision counts, but the history reports contradicting results. */
static void test_decided(void **state)
{
	static const double slower[9] = { 1, 1, 1, 1, 1, 1, 1, 1, 1.2 }, same[9] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	struct lab lab = scratch_lab("lab");
	struct history h;
	char *text;

	(void)state;
	put_plans(&lab);
	put_nights(&lab, slower);
	h = load(&lab, "sort", HISTORY_METRIC);
	assert_true(h.changes.n == 0 && h.changes.last_is_spike);
	text = words_of(&h);
	assert_string_equal(text, "cannot tell");
	free(text);
	history_release(&h);
	put_decision(&lab, 1, "v09", "regression", 1.2);
	h = load(&lab, "sort", HISTORY_METRIC);
	assert_true(h.changes.n == 1 && !h.changes.last_is_spike && !h.unconfirmed);
	assert_string_equal(h.points[h.changes.items[0].first_after].version, "v09");
	text = words_of(&h);
	assert_string_equal(text, "changed at v09");
	free(text);
	history_release(&h);
	put(&lab.store, "DELETE FROM run");
	put_nights(&lab, same);
	h = load(&lab, "sort", HISTORY_METRIC);
	assert_non_null(h.unconfirmed);
	text = words_of(&h);
	assert_string_equal(text, "cannot tell");
	free(text);
	history_release(&h);
	put_decision(&lab, 2, "v09", "pass", 1.001); /* the same versions again */
	h = load(&lab, "sort", HISTORY_METRIC);
	assert_true(!h.unconfirmed && h.changes.n == 0);
	history_release(&h);
	lab_close(&lab);
}

/* Checks that the last finding selects the time to judge, despite later inconclusive ones. A finding by the other time is reported. */
static void test_time_of_findings(void **state)
{
	static const double slower[9] = { 1, 1, 1, 1, 1, 1, 1, 1.2, 1.2 };
	struct lab lab = scratch_lab("lab");
	struct document d;
	struct history h;
	cJSON *json;
	char *text;

	(void)state;
	put_plans(&lab);
	put_nights(&lab, slower);
	put_decision(&lab, 1, "v08", "regression", 1.2);
	put_decision(&lab, 2, "v09", "environment", 1.4);
	put(&lab.store, "UPDATE decision SET by_processor = 1 WHERE id = 'd2'");
	h = load(&lab, "sort", HISTORY_DECIDED);
	assert_true(h.by == HISTORY_METRIC);
	history_release(&h);
	put_decision(&lab, 3, "v07", "improved", .8);
	put(&lab.store, "UPDATE decision SET by_processor = 1 WHERE id = 'd3'");
	h = load(&lab, "sort", HISTORY_METRIC);
	document_init(&d);
	text = history_describe(&h, &d);
	json = document_cjson(&d);
	assert_string_equal(json_get_text(cJSON_GetArrayItem(json_get(json, "elsewhere"), 0), "candidate"), "v07");
	assert_int_equal(cJSON_GetArraySize(json_get(json, "elsewhere")), 1);
	cJSON_Delete(json);
	document_release(&d);
	free(text);
	history_release(&h);
	lab_close(&lab);
}

/* Checks that inconclusive comparisons of the same versions, by the other time or another threshold, revoke no finding; a pass does. */
static void test_undecided(void **state)
{
	static const char *const later[] = { "environment", "nothing_measured", "inconclusive" };
	static const double slower[9] = { 1, 1, 1, 1, 1, 1, 1, 1, 1.2 };
	struct lab lab = scratch_lab("lab");
	struct history h;

	(void)state;
	put_plans(&lab);
	put_nights(&lab, slower);
	put_decision(&lab, 1, "v09", "regression", 1.2);
	for (int i = 0; i < 3; i++) {
		put_decision(&lab, 2 + i, "v09", later[i], 1.4);
		put(&lab.store, "UPDATE decision SET night = 'n' || id, by_processor = 1, min_effect = .5 "
				"WHERE made_ms > 1");
		h = load_with(&lab, "sort", HISTORY_DECIDED, 0);
		assert_true(h.by == HISTORY_METRIC && fabs(h.min_effect - .05) < 1e-12);
		assert_int_equal(h.changes.n, 1);
		assert_string_equal(h.points[h.changes.items[0].first_after].version, "v09");
		assert_int_equal(h.points[h.n - 1].decision->judged.decision, DECISION_REGRESSION);
		history_release(&h);
	}
	put_decision(&lab, 5, "v09", "pass", 1.001);
	put(&lab.store, "UPDATE decision SET night = 'n' || id");
	h = load(&lab, "sort", HISTORY_DECIDED);
	assert_int_equal(h.changes.n, 0);
	assert_int_equal(h.points[h.n - 1].decision->judged.decision, DECISION_PASS);
	history_release(&h);
	lab_close(&lab);
}

/* Checks the history of an old night: it excludes later results, decisions and failures. */
static void test_until(void **state)
{
	static const double slower[9] = { 1, 1, 1, 1, 1, 1, 1, 1, 1.2 };
	struct lab lab = scratch_lab("lab");
	struct evidence evidence;
	struct history h;
	struct assay_error err;

	(void)state;
	put_plans(&lab);
	put_nights(&lab, slower);
	put_decision(&lab, 8500000, "v08", "pass", 1);
	put_decision(&lab, 8500001, "v08", "regression", 1.2);
	put(&lab.store,
	    "INSERT INTO failure (application, version, machine, taken_ms, repetition, ordinal, outcome, detail) VALUES ('sort', 'v10', "
	    "'m0', 9500000, 1, 0, 'crashed', '')");
	check(evidence_load(&lab, &evidence, &err), &err);
	check(history_load(&lab, &evidence, "sort", NULL, HISTORY_DECIDED, .03, 8500000, &h, &err), &err);
	assert_string_equal(h.points[h.n - 1].version, "v08");
	assert_int_equal(h.points[h.n - 1].decision->judged.decision, DECISION_PASS);
	assert_int_equal(h.decisions.n, 1);
	assert_true(h.changes.n == 0 && !h.changes.last_is_spike && h.run_counts[h.n_run_counts - 1].since == SIZE_MAX);
	history_release(&h);
	evidence_release(&evidence);
	h = load(&lab, "sort", HISTORY_DECIDED);
	assert_string_equal(h.points[h.n - 1].version, "v09");
	assert_int_equal(h.decisions.n, 2);
	assert_string_equal(h.run_counts[h.n_run_counts - 1].version, "v10");
	assert_int_equal(h.run_counts[h.n_run_counts - 1].since, h.n_run_counts - 1);
	history_release(&h);
	lab_close(&lab);
}

/* Checks that a finding that the next version fixed is a change, however little the results show. */
static void test_decided_and_fixed(void **state)
{
	static const double pulse[9] = { 1, 1, 1, 1, 1.045, 1, 1, 1, 1 };
	struct lab lab = scratch_lab("lab");
	struct history h;

	(void)state;
	put_plans(&lab);
	put_nights(&lab, pulse);
	put_decision(&lab, 1, "v05", "regression", 1.045);
	h = load(&lab, "sort", HISTORY_METRIC);
	assert_int_equal(h.changes.n, 2);
	assert_string_equal(h.points[h.changes.items[0].first_after].version, "v05");
	assert_string_equal(h.points[h.changes.items[1].first_after].version, "v06");
	assert_true(fabs(exp(h.changes.items[0].after - h.changes.items[0].before) - 1.045) < .01);
	history_release(&h);
	lab_close(&lab);
}

/* Checks that the threshold is that of the last comparison, unless the user gives another one. */
static void test_threshold(void **state)
{
	struct lab lab = scratch_lab("lab");
	struct evidence evidence;
	struct history h;
	struct assay_error err;

	(void)state;
	put(&lab.store,
	    "INSERT INTO run (application, version, machine, taken_ms, repetition, ordinal, metric) VALUES ('sort', '1', 'a', 5000, "
	    "1, 1, 2)");
	check(evidence_load(&lab, &evidence, &err), &err);
	for (int i = 0; i < 3; i++) {
		if (i == 1)
			put_decision(&lab, 1, "1", "pass", 1);
		check(history_load(&lab, &evidence, "sort", NULL, HISTORY_METRIC, i == 2 ? .2 : 0, INT64_MAX, &h, &err), &err);
		assert_true(fabs(h.min_effect - (i == 0 ? lab.config.min_effect : i == 1 ? .05 : .2)) < 1e-12);
		history_release(&h);
	}
	evidence_release(&evidence);
	lab_close(&lab);
}

/* Checks twenty versions on three machines, one of which is slower from v12 on; and one version that is slower from its 13th day on. */
static void test_aside(void **state)
{
	struct lab lab = scratch_lab("lab");
	struct history h;
	char *text;

	(void)state;
	put(&lab.store,
	    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20), m(k) AS (VALUES (1), (2), (3)) INSERT "
	    "INTO run (application, version, machine, taken_ms, repetition, ordinal, metric) SELECT 'sort', printf('v%02d', i), "
	    "'m' || k, 1000 * i, 1, 1, k * (CASE WHEN k = 2 AND i >= 12 THEN 1.2 ELSE 1 END) * (1 + .001 * ((i * 7 + k * 5) % "
	    "11)) FROM n, m");
	h = load(&lab, "sort", HISTORY_METRIC);
	assert_int_equal(h.changes.n, 0);
	assert_int_equal(h.n_reported, 1);
	assert_string_equal(h.points[h.reported[0].at].version, "v12");
	assert_string_equal(h.machines[h.reported[0].machine], "m2");
	assert_true(fabs(exp(h.reported[0].after - h.reported[0].before) - 1.2) < .01);
	text = words_of(&h);
	assert_string_equal(text, "changed at v12");
	free(text);
	history_release(&h);
	put(&lab.store,
	    "UPDATE run SET version = 'v01', taken_ms = 86400 * taken_ms, metric = metric * CASE WHEN machine <> 'm2' AND taken_ms "
	    ">= 12000 THEN 1.2 ELSE 1 END");
	h = load(&lab, "sort", HISTORY_METRIC);
	assert_int_equal(h.changes.n, 0);
	assert_int_equal(h.n_reported, 1);
	assert_true(h.reported[0].machine == SIZE_MAX && h.reported[0].at == 11);
	history_release(&h);
	lab_close(&lab);
}

int suite_history(void)
{
	const struct CMUnitTest tests[] = { SCRATCH_TEST(test_points),
					    SCRATCH_TEST(test_merged),
					    SCRATCH_TEST(test_by_processor),
					    SCRATCH_TEST(test_by_version),
					    SCRATCH_TEST(test_decided),
					    SCRATCH_TEST(test_decided_and_fixed),
					    SCRATCH_TEST(test_time_of_findings),
					    SCRATCH_TEST(test_undecided),
					    SCRATCH_TEST(test_threshold),
					    SCRATCH_TEST(test_until),
					    SCRATCH_TEST(test_aside) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

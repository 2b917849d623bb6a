/* What a history makes of the results in the store. Change points have their own test, the command cli_history.sh. */
#include "gate/nightly/history.h"

#include "runs/running/evidence.h"

#include <math.h>
#include <string.h>

#include "tests/growth.h"

#define DAY	   86400000
#define FEW	   8 /* applications */
#define TEXT_OF(x) #x
#define TEXT(x)	   TEXT_OF(x)

static void put(struct store *store, const char *sql)
{
	struct assay_error err;

	check(store_do(store, &err, sql, ""), &err);
}

static struct history load(struct lab *lab, const char *application)
{
	struct evidence evidence;
	struct history history;
	struct assay_error err;

	check(evidence_load(lab, &evidence, &err), &err);
	check(history_load(lab, &evidence, application, NULL, .03, &history, &err), &err);
	evidence_release(&evidence);
	return history;
}

static void check_point(const struct history *h, size_t i, const char *version, int64_t taken_ms, size_t machines, size_t runs)
{
	const struct history_point *p = &h->points[i];

	assert_string_equal(p->version, version);
	assert_int_equal(p->taken_ms, taken_ms);
	assert_int_equal(p->machines, machines);
	assert_int_equal(p->runs, runs);
}

/* Machine b was there before a in version 1, and on another day in version 2; one repetition has three values; failures are no results. */
static void test_points(void **state)
{
	struct lab lab = scratch_lab("lab");
	struct history h;

	(void)state;
	put(&lab.store, "INSERT INTO run (application, version, machine, taken_ms, repetition, ordinal, metric) VALUES"
			" ('sort', '1', 'a', 5000, 1, 1, 2), ('sort', '1', 'a', 5000, 1, 2, 3), ('sort', '1', 'a', 5000, 1, 3, 7),"
			" ('sort', '1', 'a', 5000, 2, 1, 4), ('sort', '1', 'b', 4000, 1, 1, 8), ('sort', '1', 'b', 4000, 2, 1, 0),"
			" ('sort', '2', 'a', 5000 + " TEXT(DAY) ", 1, 1, 8), ('sort', '2', 'b', 5000 + 2 * " TEXT(
			    DAY) ", 1, 1, 16),"
				 " ('sort', '1', 'c', 5000, 1, 1, 8), ('other', '1', 'a', 1, 1, 1, 1)");
	h = load(&lab, "sort");
	assert_int_equal(h.n_machines, 3);
	assert_int_equal(h.n, 3);
	check_point(&h, 0, "1", 4000, 3, 4);
	check_point(&h, 1, "2", 5000 + DAY, 1, 1);
	check_point(&h, 2, "2", 5000 + 2 * (int64_t)DAY, 1, 1);
	assert_true(fabs(h.points[0].on[0] - log(4)) < 1e-12 && fabs(h.points[0].on[1] - log(8)) < 1e-12 && isnan(h.points[1].on[1]));
	assert_true(fabs(h.points[2].cost - h.points[0].cost - log(2)) < 1e-9);
	history_release(&h);
	lab_close(&lab);
}

/* ---- a store of many applications ---- */

static struct lab *growing;

static void load_all(void *nothing, size_t n)
{
	(void)nothing;
	for (size_t i = 1; i <= n; i++) {
		char *name = mem_format("app%zu", i);
		struct history h = load(&growing[n > FEW], name);

		assert_int_equal(h.n, 2);
		history_release(&h);
		free(name);
	}
}

/* The histories of all applications: what one costs does not depend on how many others the store has. */
static void test_work(void **state)
{
	struct lab labs[] = { scratch_lab("few"), scratch_lab("many") };

	(void)state;
	for (int i = 0; i < 2; i++) {
		char *sql = mem_format("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d), "
				       "r(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM r WHERE k < 100) "
				       "INSERT INTO run (application, version, machine, taken_ms, repetition, ordinal, metric) "
				       "SELECT 'app' || i, k %% 2, 'm' || (k %% 10), 1000, k, 1, 1 FROM n, r",
				       i ? 16 * FEW : FEW);

		put(&labs[i].store, sql);
		free(sql);
	}
	growing = labs;
	growth_check("histories", load_all, NULL, FEW);
	lab_close(&labs[0]);
	lab_close(&labs[1]);
}

int suite_history(void)
{
	const struct CMUnitTest tests[] = { SCRATCH_TEST(test_points), SCRATCH_TEST(test_work) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

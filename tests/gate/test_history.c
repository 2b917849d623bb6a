/* What a history makes of the results in the store. Change points have their own test, the command cli_history.sh. */
#include "gate/nightly/history.h"

#include "runs/running/evidence.h"

#include <math.h>
#include <string.h>

#include "tests/scratch.h"

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
			" ('sort', '2', 'a', 86405000, 1, 1, 8), ('sort', '2', 'b', 172805000, 1, 1, 16),"
			" ('sort', '1', 'c', 5000, 1, 1, 8), ('other', '1', 'a', 1, 1, 1, 1)");
	h = load(&lab, "sort");
	assert_int_equal(h.n_machines, 3);
	assert_int_equal(h.n, 3);
	check_point(&h, 0, "1", 4000, 3, 4);
	check_point(&h, 1, "2", 86405000, 1, 1);
	check_point(&h, 2, "2", 172805000, 1, 1);
	assert_true(fabs(h.points[0].on[0] - log(4)) < 1e-12 && fabs(h.points[0].on[1] - log(8)) < 1e-12 && isnan(h.points[1].on[1]));
	assert_true(fabs(h.points[2].cost - h.points[0].cost - log(2)) < 1e-9);
	history_release(&h);
	lab_close(&lab);
}

int suite_history(void)
{
	const struct CMUnitTest tests[] = { SCRATCH_TEST(test_points) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

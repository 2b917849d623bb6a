/* Runs during which the machine was not itself: named with the cause that was put in, left out when they are exceptions, and never when
 * they are the candidate's own making. */
#include "gate/nightly/disturbed.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define REPETITIONS 12
#define WALL_NS	    INT64_C(100000000)

struct lab_of_runs {
	struct store store;
	struct run_set sides[2];
	char path[64];
};

static void must(enum assay_status st)
{
	assert_int_equal(st, ASSAY_OK);
}

/* Two versions on one machine; every run waits for 2 % of its time. */
static struct lab_of_runs *make(void)
{
	static const char *const versions[] = { "old", "new" };
	struct lab_of_runs *l = mem_new(1, sizeof(*l));
	struct assay_error err;

	snprintf(l->path, sizeof(l->path), "/tmp/assay-disturbed-%d.db", (int)getpid());
	must(store_open(l->path, STORE_WRITE, &l->store, &err));
	must(store_do(
	    &l->store, &err,
	    "INSERT INTO plan (id, application, manifest, manifest_hash, repetitions, warm_ups, seed, started_ms) VALUES ('p', 'a', '', "
	    "'', 1, 0, 0, 0)",
	    ""));
	for (int side = 0; side < 2; side++) {
		struct run_set *set = &l->sides[side];

		set->application = mem_string("a");
		set->version = mem_string(versions[side]);
		set->items = mem_new(REPETITIONS, sizeof(*set->items));
		for (int64_t r = 1; r <= REPETITIONS; r++) {
			set->items[set->n++] = (struct run){ .machine = mem_string("m"), .repetition = r, .metric = 1 };
			must(store_do(
			    &l->store, &err,
			    "INSERT INTO execution (plan, machine, version, input, repetition, application, taken_ms, outcome, metric, "
			    "wall_ns, out, err, signature) VALUES ('p', 'm', ?, '', ?, 'a', 0, 'ok', 1, ?, '', '', "
			    "'{\"run_delay_ns\": 2000000, \"throttled_ns\": 0, \"io_stalled_ns\": 0}')",
			    "tii", versions[side], r, WALL_NS));
		}
	}
	return l;
}

static void disturb(struct lab_of_runs *l, const char *version, int64_t repetition, const char *signature)
{
	struct assay_error err;

	must(store_do(&l->store, &err, "UPDATE execution SET signature = ? WHERE version = ? AND repetition = ?", "tti", signature, version,
		      repetition));
}

static struct disturbed take(struct lab_of_runs *l)
{
	struct disturbed d;
	struct assay_error err;

	must(disturbed_take(&l->store, "p", l->sides, .03, &d, &err));
	return d;
}

static void finish(struct lab_of_runs *l, struct disturbed *d)
{
	disturbed_release(d);
	run_set_release(&l->sides[0]);
	run_set_release(&l->sides[1]);
	store_close(&l->store);
	unlink(l->path);
	free(l);
}

static void test_quiet(void **state)
{
	struct lab_of_runs *l = make();
	struct disturbed d = take(l);

	(void)state;
	assert_true(d.n == 0 && d.known == 2 * REPETITIONS && !d.too_many && l->sides[0].n == REPETITIONS);
	finish(l, &d);
}

static void test_causes(void **state)
{
	struct lab_of_runs *l = make();
	struct disturbed d;

	(void)state;
	disturb(l, "old", 3, "{\"run_delay_ns\": 40000000, \"throttled_ns\": 0, \"io_stalled_ns\": 10000000}");
	disturb(l, "old", 7, "{\"run_delay_ns\": 2000000, \"throttled_ns\": 30000000, \"io_stalled_ns\": 0}");
	disturb(l, "new", 5, "{\"run_delay_ns\": 2000000, \"throttled_ns\": 0, \"io_stalled_ns\": 20000000}");
	disturb(l, "new", 6, "{\"run_delay_ns\": 4900000, \"throttled_ns\": 0, \"io_stalled_ns\": 0}"); /* less than the threshold */
	d = take(l);
	assert_int_equal(d.n, 3);
	assert_int_equal(d.left_out, 3);
	assert_true(d.items[0].repetition == 3 && d.items[0].cause == DISTURBED_WAITED);
	assert_true(d.items[1].repetition == 7 && d.items[1].cause == DISTURBED_THROTTLED);
	assert_true(d.items[2].repetition == 5 && d.items[2].cause == DISTURBED_IO);
	assert_true(l->sides[0].n == REPETITIONS - 2 && l->sides[0].n_others == 2 && l->sides[1].n == REPETITIONS - 1);
	assert_true(l->sides[0].items[2].repetition == 4);
	finish(l, &d);
}

static void test_too_many(void **state)
{
	struct lab_of_runs *l = make();
	struct disturbed d;

	(void)state;
	for (int64_t r = 4; r <= REPETITIONS; r++) {
		disturb(l, "old", r, "{\"run_delay_ns\": 50000000}");
		disturb(l, "new", r, "{\"run_delay_ns\": 50000000}");
	}
	disturb(l, "old", 4, "{\"run_delay_ns\": 1000000}");
	disturb(l, "new", 4, "{\"run_delay_ns\": 1000000}");
	d = take(l);
	assert_true(d.too_many && d.left_out == 0 && !d.own_making && l->sides[0].n == REPETITIONS);
	finish(l, &d);
}

static void test_own_making(void **state)
{
	struct lab_of_runs *l = make();
	struct disturbed d;

	(void)state;
	/* Each of six alike by chance: 1 in 64. */
	for (int64_t r = 1; r <= 6; r++)
		disturb(l, "new", r, "{\"run_delay_ns\": 50000000}");
	d = take(l);
	assert_true(d.n == 6 && d.own_making && d.left_out == 0 && l->sides[1].n == REPETITIONS);
	finish(l, &d);
}

int suite_disturbed(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quiet),
		cmocka_unit_test(test_causes),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_own_making),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

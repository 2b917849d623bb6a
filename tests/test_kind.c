/* From counters that moved to a kind of trouble: the fault and not its consequences, directions, and what is too small to matter. */
#include "gate/detect/kind.h"

#include "tests/scratch.h"

#include <math.h>

#define COLUMNS 6

struct moved {
	const char *column;
	double normal, now, votes, part;
};

static const struct {
	const char *what;
	enum record_back_end back_end;
	struct moved moved[COLUMNS]; /* of work that did not move nothing is said: it stays 300 */
	double anomalous;            /* share of its samples */
	enum trouble trouble;
	bool improved, small;
} rows[] = {
	{ "false sharing brings misses with it", RECORD_EMULATED, { { "emulated:hitm_false_milli", 0, 280, .5, .5 }, { "emulated:l2_misses", 0, .28, .5, .4 }, { "emulated:l1_misses", 0, .28, 0, .1 } }, 1, TROUBLE_FALSE_SHARING, false, false },
	{ "true sharing with atomics", RECORD_EMULATED, { { "emulated:atomics", .004, .5, 1, .6 }, { "emulated:hitm_true_milli", 3, 370, 0, .4 } }, 1, TROUBLE_TRUE_SHARING, false, false },
	{ "the same misses on another node", RECORD_EMULATED, { { "emulated:remote", 0, .04, 1, 1 } }, 1, TROUBLE_REMOTE, false, false },
	{ "more misses, some of them on another node", RECORD_EMULATED, { { "emulated:remote", 0, .04, .6, .6 }, { "emulated:l2_misses", .01, .09, .4, .4 } }, 1, TROUBLE_CACHE, false, false },
	{ "a walk over many pages", RECORD_EMULATED, { { "emulated:tlb_misses", .003, .11, .9, .8 }, { "emulated:l1_misses", .33, .33, .1, .2 } }, 1, TROUBLE_TLB, false, false },
	{ "branches", RECORD_EMULATED, { { "emulated:branch_misses", 0, .075, 1, 1 } }, 1, TROUBLE_BRANCH, false, false },
	{ "system calls", RECORD_EMULATED, { { "emulated:system_calls", 0, .01, 1, 1 } }, 1, TROUBLE_SYSTEM_CALLS, false, false },
	{ "allocation", RECORD_EMULATED, { { "emulated:allocations", 0, .02, .5, .5 }, { "emulated:allocated_bytes", 0, .5, .5, .5 } }, 1, TROUBLE_ALLOCATION, false, false },
	{ "copying is accesses, too", RECORD_EMULATED, { { "emulated:copied_bytes", 0, 6.38, 1, .87 }, { "emulated:accesses", 64, 576, 0, .13 } }, 1, TROUBLE_COPYING, false, false },
	{ "more work with the same misses", RECORD_EMULATED, { { "emulated:accesses", 150, 600, .6, .5 }, { "emulated:blocks", 150, 600, .4, .5 } }, 1, TROUBLE_MORE_WORK, false, false },
	{ "less work, so that what it misses stands out", RECORD_EMULATED, { { "emulated:accesses", 150, 75, .6, .4 }, { "emulated:blocks", 150, 75, 0, .3 }, { "emulated:l2_misses", .01, .02, .4, .3 } }, 1, TROUBLE_MORE_WORK, true, false },
	{ "less work, and hardly more misses a call", RECORD_EMULATED, { { "emulated:accesses", 150, 75, .3, .2 }, { "emulated:blocks", 150, 75, 0, .2 }, { "emulated:l2_misses", .1, .21, .4, .3 }, { "emulated:branch_misses", 0, .1, .3, .3 } }, 1, TROUBLE_BRANCH, false, false },
	{ "misses fewer", RECORD_EMULATED, { { "emulated:l2_misses", .2, .01, 1, 1 } }, 1, TROUBLE_CACHE, true, false },
	{ "one became more, another less", RECORD_EMULATED, { { "emulated:l2_misses", .2, .01, .7, .7 }, { "emulated:branch_misses", 0, .1, .3, .3 } }, 1, TROUBLE_BRANCH, false, false },
	{ "less than matters", RECORD_EMULATED, { { "emulated:hitm_false_milli", 0, .3, 1, 1 } }, 1, TROUBLE_UNKNOWN, false, true },
	{ "rarely", RECORD_EMULATED, { { "emulated:tlb_misses", 0, .0008, 1, 1 } }, .2, TROUBLE_UNKNOWN, false, true },
	{ "a few per cent", RECORD_EMULATED, { { "emulated:l2_misses", .2, .204, 1, 1 } }, 1, TROUBLE_UNKNOWN, false, true },
	{ "no part in it", RECORD_EMULATED, { { "emulated:hitm_true_milli", 0, 100, 0, .01 }, { "emulated:branch_misses", 0, .1, 1, .99 } }, 1, TROUBLE_BRANCH, false, false },
	{ "page faults", RECORD_SOFTWARE, { { "perf::PAGE-FAULTS", 0, 2, .4, .4 }, { "time:ns", 500, 3000, .6, .6 } }, 1, TROUBLE_PAGE_FAULTS, false, false },
	{ "slower, and nothing says why", RECORD_SOFTWARE, { { "time:ns", 500, 3000, 1, 1 } }, 1, TROUBLE_SLOWER, false, false },
	{ "waits", RECORD_SOFTWARE, { { "time:ns", 500, 9000, .5, .5 }, { "perf::CONTEXT-SWITCHES", 0, 1, .5, .5 } }, 1, TROUBLE_SLOWER, false, false },
	{ "some misses, just too few to matter, on pages that lie elsewhere", RECORD_EMULATED, { { "emulated:remote", 0, .0009, .6, .6 }, { "emulated:l2_misses", 0, .00095, .4, .4 } }, 1, TROUBLE_UNKNOWN, false, true },
	{ "faster", RECORD_TIME, { { "time:ns", 3000, 500, 1, 1 } }, 1, TROUBLE_UNKNOWN, true, false },
	{ "processors do not tell true from false", RECORD_PAPI, { { "MEM_LOAD_L3_HIT_RETIRED:XSNP_HITM", 0, .01, .7, .7 }, { "PAPI_TOT_CYC", 1, 3, .3, .3 } }, 1, TROUBLE_SHARING, false, false },
	{ "memory of another node", RECORD_PAPI, { { "MEM_LOAD_L3_MISS_RETIRED:REMOTE_DRAM", 0, .01, 1, 1 } }, 1, TROUBLE_REMOTE, false, false },
	{ "more instructions", RECORD_PAPI, { { "PAPI_TOT_INS", 300, 3000, 1, 1 } }, 1, TROUBLE_MORE_WORK, false, false },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t r = 0; r < COUNT(rows); r++) {
		const char *columns[COLUMNS + 3] = { "emulated:accesses", "emulated:blocks", "PAPI_TOT_INS" };
		struct detection_column moved[COLUMNS];
		struct detection_function f = { .samples = 1000, .samples_anomalous = (size_t)(1000 * rows[r].anomalous), .columns = moved };
		size_t function[1] = { 0 }, p = 3;
		double values[COLUMNS + 3] = { 150, 150, 300 };
		struct observations seen = { .function = function, .columns = columns };
		struct kind kind;

		for (size_t i = 0; i < COLUMNS && rows[r].moved[i].column; i++) {
			const struct moved *m = &rows[r].moved[i];
			size_t c = 0;

			while (c < p && strcmp(columns[c], m->column) != 0)
				c++;
			p = c == p ? p + 1 : p;
			columns[c] = m->column;
			values[c] = m->now;
			moved[f.n_columns++] = (struct detection_column){ .column = c, .votes = m->votes, .part = m->part, .normal = m->normal, .now = m->now };
		}
		if (rows[r].back_end == RECORD_EMULATED)
			values[2] = 0;
		seen.values = (struct mat){ 1, p, values };
		kind = kind_of(rows[r].back_end, &seen, &f);
		if (kind.trouble != rows[r].trouble || kind.improved != rows[r].improved || kind.small != rows[r].small)
			fail_msg("%s: %s%s%s", rows[r].what, trouble_code(kind.trouble), kind.improved ? ", improved" : "", kind.small ? ", small" : "");
	}
}

/* What a call costs on top. */
static void test_cost(void **state)
{
	const char *columns[] = { "emulated:accesses", "emulated:blocks", "emulated:l2_misses" };
	struct detection_column moved[2] = { { .column = 2, .votes = 1, .part = 1, .normal = 0, .now = .1 } };
	struct detection_function f = { .samples = 10, .samples_anomalous = 10, .columns = moved, .n_columns = 1 };
	double values[] = { 200, 100, .1 };
	size_t function[] = { 0 };
	struct observations seen = { .values = { 1, 3, values }, .function = function, .columns = columns };
	struct kind kind;

	(void)state;
	kind = kind_of(RECORD_EMULATED, &seen, &f);
	assert_int_equal(kind.column, 2);
	assert_true(fabs(kind.more_ns - 300 * .1 * 30) < 1e-9);
	assert_true(fabs(kind.misses_ns - kind.more_ns) < 1e-9 && kind.only_misses);
	moved[0].part = .5;
	moved[1] = (struct detection_column){ .column = 0, .votes = 1, .part = .5, .normal = 200, .now = 300 };
	values[0] = 300;
	f.n_columns = 2;
	kind = kind_of(RECORD_EMULATED, &seen, &f);
	assert_true(kind.misses_ns > 0 && !kind.only_misses); /* its work is more as well */
	f.n_columns = 0;
	kind = kind_of(RECORD_EMULATED, &seen, &f);
	assert_int_equal(kind.trouble, TROUBLE_UNKNOWN);
}

/* Every counter of the emulation and of the processors' default list has a unit and a size that matters. */
static void test_table(void **state)
{
	static const char *const names[] = { "emulated:accesses", "PAPI_L1_DCM", "perf::PAGE-FAULTS", "nonesuch", "time:ns" };

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		struct counter_about about = counter_about(RECORD_PAPI, names[i]);

		assert_true(about.material > 0 && about.scale > 0 && about.unit && about.text);
	}
	for (int t = 0; t < TROUBLES; t++)
		assert_true(strlen(trouble_code((enum trouble)t)) > 2 && strlen(trouble_text((enum trouble)t)) > 2);
	assert_true(!counter_watched(RECORD_EMULATED, "emulated:hitm_seen") && counter_watched(RECORD_EMULATED, "emulated:atomics"));
	assert_true(counter_time_watched(RECORD_SOFTWARE) && !counter_time_watched(RECORD_EMULATED) && !counter_time_watched(RECORD_PAPI));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows), cmocka_unit_test(test_cost), cmocka_unit_test(test_table) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

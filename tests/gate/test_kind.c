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
	double anomalous;	     /* share of its samples */
	enum trouble trouble;
	bool improved, small;
} rows[] = {
	{ "false sharing brings misses with it",
	  RECORD_EMULATED,
	  { { "emulated:hitm_false_milli", 0, 280, .5, .5 },
	    { "emulated:l2_misses", 0, .28, .5, .4 },
	    { "emulated:l1_misses", 0, .28, 0, .1 } },
	  1,
	  TROUBLE_FALSE_SHARING,
	  false,
	  false },
	{ "true sharing with atomics",
	  RECORD_EMULATED,
	  { { "emulated:atomics", .004, .5, 1, .6 }, { "emulated:hitm_true_milli", 3, 370, 0, .4 } },
	  1,
	  TROUBLE_TRUE_SHARING,
	  false,
	  false },
	{ "the same misses on another node", RECORD_EMULATED, { { "emulated:remote", 0, .04, 1, 1 } }, 1, TROUBLE_REMOTE, false, false },
	{ "more misses, some of them on another node",
	  RECORD_EMULATED,
	  { { "emulated:remote", 0, .04, .6, .6 }, { "emulated:l2_misses", .01, .09, .4, .4 } },
	  1,
	  TROUBLE_CACHE,
	  false,
	  false },
	{ "a walk over many pages",
	  RECORD_EMULATED,
	  { { "emulated:tlb_misses", .003, .11, .9, .8 }, { "emulated:l1_misses", .33, .33, .1, .2 } },
	  1,
	  TROUBLE_TLB,
	  false,
	  false },
	{ "branches", RECORD_EMULATED, { { "emulated:branch_misses", 0, .075, 1, 1 } }, 1, TROUBLE_BRANCH, false, false },
	{ "system calls", RECORD_EMULATED, { { "emulated:system_calls", 0, .01, 1, 1 } }, 1, TROUBLE_SYSTEM_CALLS, false, false },
	{ "allocation",
	  RECORD_EMULATED,
	  { { "emulated:allocations", 0, .02, .5, .5 }, { "emulated:allocated_bytes", 0, .5, .5, .5 } },
	  1,
	  TROUBLE_ALLOCATION,
	  false,
	  false },
	{ "copying is accesses, too",
	  RECORD_EMULATED,
	  { { "emulated:copied_bytes", 0, 6.38, 1, .87 }, { "emulated:accesses", 64, 576, 0, .13 } },
	  1,
	  TROUBLE_COPYING,
	  false,
	  false },
	{ "more work with the same misses",
	  RECORD_EMULATED,
	  { { "emulated:accesses", 150, 600, .6, .5 }, { "emulated:blocks", 150, 600, .4, .5 } },
	  1,
	  TROUBLE_MORE_WORK,
	  false,
	  false },
	{ "less work, so that what it misses stands out",
	  RECORD_EMULATED,
	  { { "emulated:accesses", 150, 75, .6, .4 }, { "emulated:blocks", 150, 75, 0, .3 }, { "emulated:l2_misses", .01, .02, .4, .3 } },
	  1,
	  TROUBLE_MORE_WORK,
	  true,
	  false },
	{ "less work, and hardly more misses a call",
	  RECORD_EMULATED,
	  { { "emulated:accesses", 150, 75, .3, .2 },
	    { "emulated:blocks", 150, 75, 0, .2 },
	    { "emulated:l2_misses", .1, .21, .4, .3 },
	    { "emulated:branch_misses", 0, .1, .3, .3 } },
	  1,
	  TROUBLE_BRANCH,
	  false,
	  false },
	{ "less work, and as many allocations a call but for the last event",
	  RECORD_EMULATED,
	  { { "emulated:accesses", 150, 30, .2, .2 },
	    { "emulated:blocks", 150, 30, .2, .2 },
	    { "emulated:allocations", .02, .1001, .6, .6 } },
	  1,
	  TROUBLE_MORE_WORK,
	  true,
	  false },
	{ "much less work, and a trifle more misses a call",
	  RECORD_EMULATED,
	  { { "emulated:accesses", 1500, 150, .3, .3 },
	    { "emulated:blocks", 150, 150, 0, .1 },
	    { "emulated:branch_misses", .01, .07, .6, .6 } },
	  1,
	  TROUBLE_MORE_WORK,
	  true,
	  false },
	{ "misses fewer", RECORD_EMULATED, { { "emulated:l2_misses", .2, .01, 1, 1 } }, 1, TROUBLE_CACHE, true, false },
	{ "one became more, another less",
	  RECORD_EMULATED,
	  { { "emulated:l2_misses", .2, .01, .7, .7 }, { "emulated:branch_misses", 0, .1, .3, .3 } },
	  1,
	  TROUBLE_BRANCH,
	  false,
	  false },
	{ "less than matters", RECORD_EMULATED, { { "emulated:hitm_false_milli", 0, .3, 1, 1 } }, 1, TROUBLE_UNKNOWN, false, true },
	{ "rarely", RECORD_EMULATED, { { "emulated:tlb_misses", 0, .0008, 1, 1 } }, .2, TROUBLE_UNKNOWN, false, true },
	{ "a few per cent", RECORD_EMULATED, { { "emulated:l2_misses", .2, .204, 1, 1 } }, 1, TROUBLE_UNKNOWN, false, true },
	{ "no part in it",
	  RECORD_EMULATED,
	  { { "emulated:hitm_true_milli", 0, 100, 0, .01 }, { "emulated:branch_misses", 0, .1, 1, .99 } },
	  1,
	  TROUBLE_BRANCH,
	  false,
	  false },
	{ "page faults",
	  RECORD_SOFTWARE,
	  { { "perf::PAGE-FAULTS", 0, 2, .4, .4 }, { "time:ns", 500, 3000, .6, .6 } },
	  1,
	  TROUBLE_PAGE_FAULTS,
	  false,
	  false },
	{ "slower, and nothing says why", RECORD_SOFTWARE, { { "time:ns", 500, 3000, 1, 1 } }, 1, TROUBLE_SLOWER, false, false },
	{ "waits",
	  RECORD_SOFTWARE,
	  { { "time:ns", 500, 9000, .5, .5 }, { "perf::CONTEXT-SWITCHES", 0, 1, .5, .5 } },
	  1,
	  TROUBLE_SLOWER,
	  false,
	  false },
	{ "some misses, just too few to matter, on pages that lie elsewhere",
	  RECORD_EMULATED,
	  { { "emulated:remote", 0, .0009, .6, .6 }, { "emulated:l2_misses", 0, .00095, .4, .4 } },
	  1,
	  TROUBLE_UNKNOWN,
	  false,
	  true },
	{ "faster", RECORD_TIME, { { "time:ns", 3000, 500, 1, 1 } }, 1, TROUBLE_UNKNOWN, true, false },
	{ "processors do not tell true from false",
	  RECORD_PAPI,
	  { { "MEM_LOAD_L3_HIT_RETIRED:XSNP_HITM", 0, .01, .7, .7 }, { "PAPI_TOT_CYC", 1, 3, .3, .3 } },
	  1,
	  TROUBLE_SHARING,
	  false,
	  false },
	{ "memory of another node",
	  RECORD_PAPI,
	  { { "MEM_LOAD_L3_MISS_RETIRED:REMOTE_DRAM", 0, .01, 1, 1 } },
	  1,
	  TROUBLE_REMOTE,
	  false,
	  false },
	{ "more instructions", RECORD_PAPI, { { "PAPI_TOT_INS", 300, 3000, 1, 1 } }, 1, TROUBLE_MORE_WORK, false, false },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t r = 0; r < COUNT(rows); r++) {
		const char *columns[COLUMNS + 3] = { "emulated:accesses", "emulated:blocks", "PAPI_TOT_INS" };
		struct detection_column moved[COLUMNS];
		struct detection_function f = { .samples = 1000,
						.samples_anomalous = (size_t)(1000 * rows[r].anomalous),
						.columns = moved };
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
			moved[f.n_columns++] = (struct detection_column){
				.column = c, .votes = m->votes, .part = m->part, .normal = m->normal, .now = m->now
			};
		}
		if (rows[r].back_end == RECORD_EMULATED)
			values[2] = 0;
		seen.values = (struct mat){ 1, p, values };
		kind = kind_of(rows[r].back_end, &seen, &f);
		if (kind.trouble != rows[r].trouble || kind.improved != rows[r].improved || kind.small != rows[r].small)
			fail_msg("%s: %s%s%s", rows[r].what, trouble_code(kind.trouble), kind.improved ? ", improved" : "",
				 kind.small ? ", small" : "");
	}
}

/* Kinds beside the leading one. */
static void test_further(void **state)
{
	static const struct {
		const char *what;
		struct moved moved[COLUMNS];
		const char *text;
	} cases[] = {
		{ "two faults",
		  { { "emulated:hitm_false_milli", 0, 280, .9, .9 }, { "emulated:system_calls", 0, .01, .1, .1 } },
		  "false_sharing system_calls" },
		{ "by cost, and each once",
		  { { "emulated:allocations", 0, .02, .3, .3 },
		    { "emulated:allocated_bytes", 0, .5, .2, .2 },
		    { "emulated:branch_misses", 0, .5, .2, .2 },
		    { "emulated:system_calls", 0, .1, .3, .3 } },
		  "system_calls branch allocation" },
		{ "consequences are no faults",
		  { { "emulated:hitm_false_milli", 0, 280, .5, .5 },
		    { "emulated:l2_misses", 0, .28, .5, .4 },
		    { "emulated:remote", 0, .14, 0, .1 } },
		  "false_sharing" },
		{ "hardly anything beside the first",
		  { { "emulated:hitm_false_milli", 0, 280, .9, .9 }, { "emulated:branch_misses", 0, .1, .1, .1 } },
		  "false_sharing" },
		{ "no part in what is wrong",
		  { { "emulated:branch_misses", 0, .1, 1, .99 }, { "emulated:system_calls", 0, .01, 0, .01 } },
		  "branch" },
		{ "one became more, another less",
		  { { "emulated:l2_misses", .2, .01, .7, .7 }, { "emulated:branch_misses", 0, .1, .3, .3 } },
		  "branch" },
		{ "both became less",
		  { { "emulated:l2_misses", .2, .01, .7, .7 }, { "emulated:branch_misses", .3, 0, .3, .3 } },
		  "less: cache_capacity branch" },
		{ "a counter that stands for no kind",
		  { { "emulated:branch_misses", 0, .1, .5, .5 }, { "emulated:atomics", 0, .5, .5, .5 } },
		  "unknown branch" },
		{ "at most so many",
		  { { "emulated:system_calls", 0, .1, .3, .3 },
		    { "emulated:allocations", 0, .3, .3, .3 },
		    { "emulated:branch_misses", 0, 2, .2, .2 },
		    { "emulated:copied_bytes", 0, 40, .2, .2 },
		    { "emulated:tlb_misses", 0, .1, .2, .2 },
		    { "emulated:l2_misses", 0, .1, .2, .2 } },
		  "system_calls allocation branch tlb copying" },
	};

	(void)state;
	for (size_t r = 0; r < COUNT(cases); r++) {
		const char *columns[COLUMNS + 1] = { "emulated:accesses" };
		struct detection_column moved[COLUMNS];
		struct detection_function f = { .samples = 10, .samples_anomalous = 10, .columns = moved };
		double values[COLUMNS + 1] = { 200 };
		size_t function[] = { 0 };
		struct observations seen = { .function = function, .columns = columns };
		struct buf got = BUF_INIT;
		struct kind kind;

		for (size_t i = 0; i < COLUMNS && cases[r].moved[i].column; i++) {
			const struct moved *m = &cases[r].moved[i];

			columns[i + 1] = m->column;
			values[i + 1] = m->now;
			moved[f.n_columns++] = (struct detection_column){
				.column = i + 1, .votes = m->votes, .part = m->part, .normal = m->normal, .now = m->now
			};
		}
		seen.values = (struct mat){ 1, f.n_columns + 1, values };
		kind = kind_of(RECORD_EMULATED, &seen, &f);
		buf_format(&got, "%s%s", kind.improved ? "less: " : "", trouble_code(kind.trouble));
		for (size_t i = 0; i < kind.n_further; i++)
			buf_format(&got, " %s", trouble_code(kind.further[i]));
		if (strcmp(got.bytes, cases[r].text) != 0)
			fail_msg("%s: %s", cases[r].what, got.bytes);
		buf_release(&got);
	}
}

/* As people read it. */
static void test_text(void **state)
{
	static const struct {
		struct kind kind;
		const char *text;
	} cases[] = {
		{ { .trouble = TROUBLE_COPYING, .further = { TROUBLE_SYSTEM_CALLS, TROUBLE_PAGE_FAULTS }, .n_further = 2 },
		  "copying of memory; also system calls; also page faults" },
		{ { .trouble = TROUBLE_COPYING, .improved = true }, "less: copying of memory" },
		{ { .trouble = TROUBLE_UNKNOWN, .improved = true, .column = SIZE_MAX }, "takes less time" },
		{ { .trouble = TROUBLE_UNKNOWN, .column = SIZE_MAX }, "unknown" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct buf got = BUF_INIT;

		kind_text(&cases[i].kind, "; also ", &got);
		assert_string_equal(got.bytes, cases[i].text);
		buf_release(&got);
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

		assert_true(about.min_relevant_delta > 0 && about.scale > 0 && about.unit && about.text);
	}
	for (int t = 0; t < TROUBLES; t++)
		assert_true(strlen(trouble_code((enum trouble)t)) > 2 && strlen(trouble_text((enum trouble)t)) > 2);
	assert_true(!counter_watched(RECORD_EMULATED, "emulated:hitm_seen") && counter_watched(RECORD_EMULATED, "emulated:atomics"));
	assert_true(counter_time_watched(RECORD_SOFTWARE) && !counter_time_watched(RECORD_EMULATED) && !counter_time_watched(RECORD_PAPI));
}

int suite_kind(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows), cmocka_unit_test(test_further), cmocka_unit_test(test_text),
					    cmocka_unit_test(test_cost), cmocka_unit_test(test_table) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

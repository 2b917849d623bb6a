/* Tests the derivation of a kind of trouble from counters that changed: causes and not consequences, directions, and small changes. */
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
	struct moved moved[COLUMNS]; /* changes; the function's work stays 300 unless it is given */
	enum trouble trouble;
	bool improved, is_negligible;
} rows[] = {
	{ "false sharing brings misses with it",
	  RECORD_EMULATED,
	  { { "emulated:hitm_false_milli", 0, 280, .5, .5 },
	    { "emulated:l2_misses", 0, .28, .5, .4 },
	    { "emulated:l1_misses", 0, .28, 0, .1 } },
	  TROUBLE_FALSE_SHARING,
	  false,
	  false },
	{ "true sharing with atomics",
	  RECORD_EMULATED,
	  { { "emulated:atomics", .004, .5, 1, .6 }, { "emulated:hitm_true_milli", 3, 370, 0, .4 } },
	  TROUBLE_TRUE_SHARING,
	  false,
	  false },
	{ "the same misses on another node", RECORD_EMULATED, { { "emulated:remote", 0, .04, 1, 1 } }, TROUBLE_REMOTE, false, false },
	{ "more misses, some of them on another node",
	  RECORD_EMULATED,
	  { { "emulated:remote", 0, .04, .6, .6 }, { "emulated:l2_misses", .01, .09, .4, .4 } },
	  TROUBLE_CACHE,
	  false,
	  false },
	{ "a walk over many pages",
	  RECORD_EMULATED,
	  { { "emulated:tlb_misses", .003, .11, .9, .8 }, { "emulated:l1_misses", .33, .33, .1, .2 } },
	  TROUBLE_TLB,
	  false,
	  false },
	{ "branches", RECORD_EMULATED, { { "emulated:branch_misses", 0, .075, 1, 1 } }, TROUBLE_BRANCH, false, false },
	{ "system calls", RECORD_EMULATED, { { "emulated:system_calls", 0, .01, 1, 1 } }, TROUBLE_SYSTEM_CALLS, false, false },
	{ "allocation",
	  RECORD_EMULATED,
	  { { "emulated:allocations", 0, .02, .5, .5 }, { "emulated:allocated_bytes", 0, .5, .5, .5 } },
	  TROUBLE_ALLOCATION,
	  false,
	  false },
	{ "copying is accesses, too",
	  RECORD_EMULATED,
	  { { "emulated:copied_bytes", 0, 6.38, 1, .87 }, { "emulated:accesses", 64, 576, 0, .13 } },
	  TROUBLE_COPYING,
	  false,
	  false },
	{ "more work with the same misses",
	  RECORD_EMULATED,
	  { { "emulated:accesses", 150, 600, .6, .5 }, { "emulated:blocks", 150, 600, .4, .5 } },
	  TROUBLE_MORE_WORK,
	  false,
	  false },
	{ "more work, which accesses and blocks are together, and more of it mispredicted",
	  RECORD_EMULATED,
	  { { "emulated:accesses", 1.16, 2.14, .3, .2 },
	    { "emulated:blocks", 3.16, 4.14, 0, .2 },
	    { "emulated:branch_misses", .093, .118, .7, .6 } },
	  TROUBLE_MORE_WORK,
	  false,
	  false },
	{ "less work, so that what it misses stands out",
	  RECORD_EMULATED,
	  { { "emulated:accesses", 150, 75, .6, .4 }, { "emulated:blocks", 150, 75, 0, .3 }, { "emulated:l2_misses", .01, .02, .4, .3 } },
	  TROUBLE_MORE_WORK,
	  true,
	  false },
	{ "less work, and hardly more misses a call",
	  RECORD_EMULATED,
	  { { "emulated:accesses", 150, 75, .3, .2 },
	    { "emulated:blocks", 150, 75, 0, .2 },
	    { "emulated:l2_misses", .1, .21, .4, .3 },
	    { "emulated:branch_misses", 0, .1, .3, .3 } },
	  TROUBLE_BRANCH,
	  false,
	  false },
	{ "less work, and as many allocations a call but for the last event",
	  RECORD_EMULATED,
	  { { "emulated:accesses", 150, 30, .2, .2 },
	    { "emulated:blocks", 150, 30, .2, .2 },
	    { "emulated:allocations", .02, .1001, .6, .6 } },
	  TROUBLE_MORE_WORK,
	  true,
	  false },
	{ "much less work, and a trifle more misses a call",
	  RECORD_EMULATED,
	  { { "emulated:accesses", 1500, 150, .3, .3 },
	    { "emulated:blocks", 150, 150, 0, .1 },
	    { "emulated:branch_misses", .01, .07, .6, .6 } },
	  TROUBLE_MORE_WORK,
	  true,
	  false },
	{ "misses fewer", RECORD_EMULATED, { { "emulated:l2_misses", .2, .01, 1, 1 } }, TROUBLE_CACHE, true, false },
	{ "one became more, another less by not much more",
	  RECORD_EMULATED,
	  { { "emulated:l2_misses", .2, .01, .7, .7 }, { "emulated:branch_misses", 0, .4, .3, .3 } },
	  TROUBLE_BRANCH,
	  false,
	  false },
	{ "less than matters", RECORD_EMULATED, { { "emulated:hitm_false_milli", 0, .3, 1, 1 } }, TROUBLE_UNKNOWN, false, true },
	{ "rarely", RECORD_EMULATED, { { "emulated:tlb_misses", 0, .0004, 1, 1 } }, TROUBLE_UNKNOWN, false, true },
	{ "a few per cent", RECORD_EMULATED, { { "emulated:l2_misses", .2, .204, 1, 1 } }, TROUBLE_UNKNOWN, false, true },
	{ "no part in it",
	  RECORD_EMULATED,
	  { { "emulated:hitm_true_milli", 0, 100, 0, .01 }, { "emulated:branch_misses", 0, .1, 1, .99 } },
	  TROUBLE_BRANCH,
	  false,
	  false },
	{ "page faults",
	  RECORD_SOFTWARE,
	  { { "perf::PAGE-FAULTS", 0, 2, .4, .4 }, { "time:ns", 500, 3000, .6, .6 } },
	  TROUBLE_PAGE_FAULTS,
	  false,
	  false },
	{ "slower, and nothing says why", RECORD_SOFTWARE, { { "time:ns", 500, 3000, 1, 1 } }, TROUBLE_SLOWER, false, false },
	{ "waits",
	  RECORD_SOFTWARE,
	  { { "time:ns", 500, 9000, 1, 1 }, { "perf::CONTEXT-SWITCHES", (double)NAN, (double)NAN, 0, 0 } },
	  TROUBLE_SLOWER,
	  false,
	  false },
	{ "some misses, just too few to matter, on pages that lie elsewhere",
	  RECORD_EMULATED,
	  { { "emulated:remote", 0, .0009, .6, .6 }, { "emulated:l2_misses", 0, .00095, .4, .4 } },
	  TROUBLE_UNKNOWN,
	  false,
	  true },
	{ "faster", RECORD_TIME, { { "time:ns", 3000, 500, 1, 1 } }, TROUBLE_UNKNOWN, true, false },
	{ "processors do not tell true from false",
	  RECORD_PAPI,
	  { { "MEM_LOAD_L3_HIT_RETIRED:XSNP_HITM", 0, .01, .7, .7 }, { "PAPI_TOT_CYC", 1, 3, .3, .3 } },
	  TROUBLE_SHARING,
	  false,
	  false },
	{ "memory of another node",
	  RECORD_PAPI,
	  { { "MEM_LOAD_L3_MISS_RETIRED:REMOTE_DRAM", 0, .01, 1, 1 } },
	  TROUBLE_REMOTE,
	  false,
	  false },
	{ "more instructions", RECORD_PAPI, { { "PAPI_TOT_INS", 300, 3000, 1, 1 } }, TROUBLE_MORE_WORK, false, false },
};

/* A function with these means. Work without a given change is as before. */
struct made {
	const char *columns[COLUMNS + 3];
	struct detection_column moved[COLUMNS];
	struct detection_mean means[COLUMNS + 4];
	struct detection_function f;
	struct observations seen;
};

/* Makes a function. `work`: columns that always exist. `calls`: calls per run, before and now. */
static void made_of(struct made *m, const char *const *work, const double *normal, size_t n, const struct moved *moved,
		    const double calls[2])
{
	size_t p = n;

	*m = (struct made){ .f = { .samples = 1000, .samples_anomalous = 1000 } };
	for (size_t c = 0; c < n; c++) {
		m->columns[c] = work[c];
		m->means[c] = (struct detection_mean){ normal[c], normal[c], false };
	}
	for (size_t i = 0; i < COLUMNS && moved[i].column; i++) {
		size_t c = 0;

		while (c < p && strcmp(m->columns[c], moved[i].column) != 0)
			c++;
		p = c == p ? p + 1 : p;
		m->columns[c] = moved[i].column;
		m->means[c] = (struct detection_mean){ moved[i].normal, moved[i].now, moved[i].votes > 0 || moved[i].part >= .02 };
		m->moved[m->f.n_columns++] = (struct detection_column){
			.column = c, .votes = moved[i].votes, .part = moved[i].part, .normal = moved[i].normal, .now = moved[i].now
		};
	}
	m->means[p] = (struct detection_mean){ calls[0], calls[1], calls[0] < calls[1] || calls[0] > calls[1] };
	m->f.columns = m->moved;
	m->f.means = m->means;
	m->seen = (struct observations){ .values = { 0, p, NULL }, .columns = m->columns };
}

static const char *const work[] = { "emulated:accesses", "emulated:blocks" }, *const instructions[] = { "PAPI_TOT_INS" };
static const double often[2] = { 10, 10 }, sure[2] = { 0, 0 };

static void test_rows(void **state)
{
	(void)state;
	for (size_t r = 0; r < COUNT(rows); r++) {
		bool emulated = rows[r].back_end == RECORD_EMULATED;
		struct made m;
		struct kind kind;

		made_of(&m, emulated ? work : instructions, emulated ? (const double[]){ 150, 150 } : (const double[]){ 300 },
			emulated ? 2 : 1, rows[r].moved, often);
		kind = kind_classify(rows[r].back_end, &m.seen, &m.f, sure, 0);
		if (kind.trouble != rows[r].trouble || kind.improved != rows[r].improved || kind.is_negligible != rows[r].is_negligible)
			fail_msg("%s: %s%s%s", rows[r].what, trouble_code(kind.trouble), kind.improved ? ", improved" : "",
				 kind.is_negligible ? ", small" : "");
	}
}

/* Checks that old and new are compared over all calls of a run, also for more work with fewer events. */
static void test_all_calls(void **state)
{
	static const struct {
		const char *what;
		struct moved moved[COLUMNS];
		double calls[2]; /* per run */
		const char *text;
	} cases[] = {
		{ "single calls are far off, the means are equal",
		  { { "emulated:accesses", 245760, 245765, .5, .5 }, { "emulated:blocks", 122880, 122883, .5, .5 } },
		  { 48, 48 },
		  "spread" },
		{ "half as many calls, each of which does twice as much",
		  { { "emulated:accesses", 100, 200, .5, .5 }, { "emulated:blocks", 100, 200, .5, .5 } },
		  { 40, 20 },
		  "spread" },
		{ "half as many calls, each of which does three times as much",
		  { { "emulated:accesses", 100, 300, .5, .5 }, { "emulated:blocks", 100, 300, .5, .5 } },
		  { 40, 20 },
		  "more_work" },
		{ "a few accesses more beside many blocks",
		  { { "emulated:accesses", 5, 10, 1, 1 }, { "emulated:blocks", 37500, 37500, 0, 0 } },
		  { 4, 4 },
		  "spread" },
		{ "as many misses in a call that does more",
		  { { "emulated:accesses", 150, 600, .3, .3 },
		    { "emulated:blocks", 150, 600, .3, .3 },
		    { "emulated:l2_misses", .1, .025, .4, .4 } },
		  { 4, 4 },
		  "more_work" },
		{ "as many misses in a call that does less",
		  { { "emulated:accesses", 600, 150, .3, .3 },
		    { "emulated:blocks", 600, 150, .3, .3 },
		    { "emulated:l2_misses", .025, .1, .4, .4 } },
		  { 4, 4 },
		  "more_work improved" },
		{ "branches go wrong in a call that does less, and copies as much",
		  { { "emulated:accesses", 13.6, 3, 1, 1 },
		    { "emulated:blocks", 6, 14.1, 1, 1 },
		    { "emulated:copied_bytes", .4587, .526, 1, 1 },
		    { "emulated:branch_misses", 0, .065, 1, 1 } },
		  { 4, 4 },
		  "branch" },
		{ "the way back",
		  { { "emulated:accesses", 3, 13.6, 1, 1 },
		    { "emulated:blocks", 14.1, 6, 1, 1 },
		    { "emulated:copied_bytes", .526, .4587, 1, 1 },
		    { "emulated:branch_misses", .065, 0, 1, 1 } },
		  { 4, 4 },
		  "more_work" },
		{ "far more work, and misses that rose by less",
		  { { "emulated:accesses", 150, 15000, .3, .3 },
		    { "emulated:blocks", 150, 15000, .3, .3 },
		    { "emulated:l1_misses", .05, .3, .4, .4 } },
		  { 4, 4 },
		  "more_work" },
		{ "a copy that was not made before, and a tenth more misses",
		  { { "emulated:copied_bytes", 0, 5, .3, .3 }, { "emulated:tlb_misses", .1, .11, .4, .4 } },
		  { 4, 4 },
		  "copying" },
		{ "a little more is copied, and misses rose by more",
		  { { "emulated:copied_bytes", 5, 6, .3, .3 }, { "emulated:tlb_misses", .01, .02, .4, .4 } },
		  { 4, 4 },
		  "tlb" },
		{ "twice the work, and misses that rose by more",
		  { { "emulated:accesses", 150, 300, .3, .3 },
		    { "emulated:blocks", 150, 300, .3, .3 },
		    { "emulated:l1_misses", .05, .3, .4, .4 } },
		  { 4, 4 },
		  "cache_capacity" },
		{ "fewer misses, and a little more work",
		  { { "emulated:accesses", 150, 170, .3, .3 },
		    { "emulated:blocks", 150, 170, .3, .3 },
		    { "emulated:hitm_false_milli", 300, 1, .4, .4 } },
		  { 4, 4 },
		  "false_sharing improved" },
		{ "fewer misses a call, and ten times as many calls", { { "emulated:l2_misses", .1, .05, 1, 1 } }, { 4, 40 }, "calls" },
		{ "thirty times as many calls, each the same", { { "emulated:l2_misses", .1, .1, 0, 0 } }, { 4, 120 }, "calls" },
		{ "thirty times as many calls, each with more misses", { { "emulated:l2_misses", .001, .05, 1, 1 } }, { 4, 120 }, "calls" },
		{ "a few more calls, each with far more misses",
		  { { "emulated:l2_misses", .001, .5, 1, 1 } },
		  { 100, 110 },
		  "cache_capacity" },
		{ "a third of the calls", { { "emulated:l2_misses", .1, .1, 0, 0 } }, { 120, 40 }, "calls improved" },
		{ "five times as many atomic accesses", { { "emulated:atomics", .02, .1, 1, 1 } }, { 4, 4 }, "atomics" },
		{ "all further misses are on pages of another node",
		  { { "emulated:remote", .0001, .0176, .9, .9 }, { "emulated:l2_misses", .0155, .0337, .1, .1 } },
		  { 4, 4 },
		  "remote_memory" },
	};

	(void)state;
	for (size_t r = 0; r < COUNT(cases); r++) {
		struct buf got = BUF_INIT;
		struct made m;
		struct kind kind;

		made_of(&m, work, (const double[]){ 150, 150 }, 2, cases[r].moved, cases[r].calls);
		kind = kind_classify(RECORD_EMULATED, &m.seen, &m.f, sure, 0);
		buf_format(&got, "%s%s", kind.spread ? "spread" : trouble_code(kind.trouble), kind.improved ? " improved" : "");
		if (strcmp(got.bytes, cases[r].text) != 0)
			fail_msg("%s: %s", cases[r].what, got.bytes);
		buf_release(&got);
	}
}

/* Checks kinds of trouble besides the leading one. */
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
		{ "one became more, another less by not much more",
		  { { "emulated:l2_misses", .2, .01, .7, .7 }, { "emulated:branch_misses", 0, .4, .3, .3 } },
		  "branch" },
		{ "one became a little more, another much less",
		  { { "emulated:l2_misses", .2, .01, .7, .7 }, { "emulated:branch_misses", 0, .1, .3, .3 } },
		  "less: cache_capacity" },
		{ "both became less",
		  { { "emulated:l2_misses", .2, .01, .7, .7 }, { "emulated:branch_misses", .3, 0, .3, .3 } },
		  "less: cache_capacity branch" },
		{ "atomic accesses",
		  { { "emulated:branch_misses", 0, .1, .5, .5 }, { "emulated:atomics", 0, .5, .5, .5 } },
		  "atomics branch" },
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
		struct buf got = BUF_INIT;
		struct made m;
		struct kind kind;

		made_of(&m, work, (const double[]){ 200, 0 }, 1, cases[r].moved, often);
		kind = kind_classify(RECORD_EMULATED, &m.seen, &m.f, sure, 0);
		buf_format(&got, "%s%s", kind.improved ? "less: " : "", trouble_code(kind.trouble));
		for (size_t i = 0; i < kind.n_further_kinds; i++)
			buf_format(&got, " %s", trouble_code(kind.further_kinds[i]));
		if (strcmp(got.bytes, cases[r].text) != 0)
			fail_msg("%s: %s", cases[r].what, got.bytes);
		buf_release(&got);
	}
}

/* Checks means whose changes chance explains: then unusual single samples count. Work may differ because the runs' inputs do. */
static void test_by_chance(void **state)
{
	static const struct {
		struct moved moved[COLUMNS];
		bool spread;
	} cases[] = {
		{ { { "emulated:remote", .0014, .0017, .6, .5 }, { "emulated:blocks", 150, 120, 0, .05 } }, true },
		{ { { "emulated:remote", .0014, .0017, .6, .5 }, { "emulated:blocks", 150, 120, .1, .05 } }, false },
		{ { { "emulated:remote", .0014, .0047, 0, .5 }, { "emulated:blocks", 150, 150, 0, .05 } }, false },
	};

	(void)state;
	for (size_t r = 0; r < COUNT(cases); r++) {
		struct made m;
		struct kind kind;

		made_of(&m, work, (const double[]){ 150, 150 }, 2, cases[r].moved, often);
		for (size_t c = 0; c < COLUMNS; c++)
			m.means[c].is_significant = false;
		kind = kind_classify(RECORD_EMULATED, &m.seen, &m.f, sure, 0);
		if (kind.spread != cases[r].spread)
			fail_msg("%zu: %s%s", r, kind.improved ? "less: " : "", trouble_code(kind.trouble));
	}
}

/* Checks the human-readable text. */
static void test_text(void **state)
{
	static const struct {
		struct kind kind;
		const char *text;
	} cases[] = {
		{ { .trouble = TROUBLE_COPYING, .further_kinds = { TROUBLE_SYSTEM_CALLS, TROUBLE_PAGE_FAULTS }, .n_further_kinds = 2 },
		  "copying of memory; also system calls; also page faults" },
		{ { .trouble = TROUBLE_COPYING, .improved = true }, "less: copying of memory" },
		{ { .trouble = TROUBLE_ALLOCATION,
		    .further_kinds = { TROUBLE_MORE_WORK },
		    .n_further_kinds = 1,
		    .improved = true,
		    .each = .5 },
		  "less: allocation of memory; also less work at each call" },
		{ { .trouble = TROUBLE_CALLS, .calls = 34, .each = 1 }, "called 34 times as often, each call the same" },
		{ { .trouble = TROUBLE_CALLS, .calls = 15, .each = 2 }, "called 15 times as often, and each call takes 2 times as much" },
		{ { .trouble = TROUBLE_TLB, .further_kinds = { TROUBLE_MORE_WORK }, .n_further_kinds = 1, .calls = 1.2, .each = 1 },
		  "TLB: it uses more pages than the TLB holds; also called 1.2 times as often" },
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

/* Checks the added cost per call. */
static void test_cost(void **state)
{
	const struct moved misses[COLUMNS] = { { "emulated:l2_misses", 0, .1, 1, 1 } },
			   and_work[COLUMNS] = { { "emulated:l2_misses", 0, .1, 1, .5 }, { "emulated:accesses", 200, 300, 1, .5 } };
	struct made m;
	struct kind kind;

	(void)state;
	made_of(&m, work, (const double[]){ 200, 100 }, 2, misses, often);
	kind = kind_classify(RECORD_EMULATED, &m.seen, &m.f, sure, 0);
	assert_int_equal(kind.column, 2);
	assert_true(fabs(kind.added_cost_ns - 300 * .1 * 30) < 1e-9);
	assert_true(fabs(kind.misses_ns - kind.added_cost_ns) < 1e-9 && kind.has_only_misses);
	made_of(&m, work, (const double[]){ 200, 100 }, 2, and_work, often);
	kind = kind_classify(RECORD_EMULATED, &m.seen, &m.f, sure, 0);
	assert_true(kind.misses_ns > 0 && !kind.has_only_misses); /* its work grew as well */
	m.f.means = NULL;
	kind = kind_classify(RECORD_EMULATED, &m.seen, &m.f, sure, 0);
	assert_int_equal(kind.trouble, TROUBLE_UNKNOWN);
}

/* Checks that every counter of the emulation and of the CPUs' default list has a unit and a smallest change that matters. */
static void test_table(void **state)
{
	static const char *const names[] = { "emulated:accesses", "PAPI_L1_DCM", "perf::PAGE-FAULTS", "nonesuch", "time:ns" };

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		struct counter_info about = counter_info(RECORD_PAPI, names[i]);

		assert_true(about.min_relevant_delta > 0 && about.scale > 0 && about.unit && about.text);
	}
	for (int t = 0; t < TROUBLES; t++)
		assert_true(strlen(trouble_code((enum trouble)t)) > 2 && strlen(trouble_text((enum trouble)t)) > 2);
	assert_int_equal(counter_info(RECORD_EMULATED, "emulated:hitm_seen").role, COUNTER_BASIS);
	assert_int_equal(counter_info(RECORD_EMULATED, "emulated:atomics").role, COUNTER_EVENT);
}

int suite_kind(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows),    cmocka_unit_test(test_all_calls),
					    cmocka_unit_test(test_further), cmocka_unit_test(test_by_chance),
					    cmocka_unit_test(test_text),    cmocka_unit_test(test_cost),
					    cmocka_unit_test(test_table) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

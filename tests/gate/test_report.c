/* Tests the page on laboratories in memory: well-formed HTML whatever the names, the same bytes for the same data, and no missing facts. */
#include "gate/report/report.c"

#include "tests/gate/made_up_evidence.h"

#include <math.h>

#define MACHINES  6
#define STRESSORS 5
#define EVIL	  "</script><b onload=\"x\">&lt;'"

/* A laboratory and a comparison; every text starts with `prefix`. */
struct world {
	const char *prefix;
	struct evidence evidence;
	struct lab_config config;
	struct run_set sides[2];
	struct omissions omissions;
	struct comparison comparison;
};

static void add_run(struct run_set *set, const char *machine, int64_t repetition, double metric, const char *fingerprint)
{
	struct run *run;

	set->items = mem_resize(set->items, set->n + 1, sizeof(*set->items));
	run = &set->items[set->n++];
	*run = (struct run){ .machine = mem_string(machine),
			     .taken_ms = INT64_C(1500000000000),
			     .repetition = repetition,
			     .metric = metric,
			     .recorded = 1,
			     .pass = 1 };
	snprintf(run->fingerprint, sizeof(run->fingerprint), "%s", fingerprint);
}

static void add_fingerprint(struct world *w, size_t i, bool emulated)
{
	char *machine = mem_format("m%zu", i), *type = mem_format("t%zu", i / 2);
	double rates[STRESSORS];
	struct fingerprint *f;

	for (size_t j = 0; j < STRESSORS; j++)
		rates[j] = j == 4 ? 0 : exp(sin((double)i * 1.7 + (double)j * 2.3));
	f = made_fingerprint(&w->evidence, w->prefix, machine, "b", INT64_C(1499990000000), 1, rates);
	f->profile = emulated ? mem_format("%sprofile", w->prefix) : NULL;
	made_type(&w->evidence, f, w->prefix, type);
	free(machine);
	free(type);
}

/* Makes machines m0 to m5, two per type, with one fingerprint each. The last stressor was recorded as 0. */
static void world_init(struct world *w, const char *prefix, bool emulated)
{
	*w = (struct world){ .prefix = prefix, .config = { .min_effect = .03, .name = mem_format("%slab", prefix) } };
	made_stressors(&w->evidence, prefix, STRESSORS);
	for (size_t i = 0; i < MACHINES; i++)
		add_fingerprint(w, i, emulated);
	types_compute(&w->evidence.catalog, &w->config, &w->evidence.types);
	for (int side = 0; side < 2; side++) {
		w->sides[side].application = mem_format("%sapp", prefix);
		w->sides[side].version = mem_format("%s%s", prefix, side ? "new" : "old");
	}
}

/* Adds repetitions of one side on the machines `from` to `to` - 1. */
static void run_some(struct world *w, int side, size_t from, size_t to, double factor, bool with_fingerprint, int64_t repetitions)
{
	for (size_t i = from; i < to; i++) {
		for (int64_t k = 1; k <= repetitions; k++)
			add_run(&w->sides[side], w->evidence.fingerprints.items[i].machine, k,
				(10 + (double)i) * factor * (1 + .002 * (double)k),
				with_fingerprint ? w->evidence.fingerprints.items[i].id : "");
	}
}

static void run_side(struct world *w, int side, size_t from, size_t to, double factor, bool with_fingerprint)
{
	run_some(w, side, from, to, factor, with_fingerprint, 3);
}

static char *page_of(struct world *w)
{
	struct buf out = BUF_INIT;
	struct assay_error err;

	assert_int_equal(verdict_compute(&w->evidence, &w->config, &w->sides[0], &w->sides[1], .03, &w->comparison.verdict, &err),
			 ASSAY_OK);
	contributions_compute(&w->evidence, &w->comparison.verdict, 1, &w->comparison.contributions);
	omit_machines(&w->comparison.verdict.pairing, &w->omissions);
	report_page(&(struct report){ .comparison = &w->comparison }, &w->evidence, w->config.name, &w->omissions, &out);
	return buf_take(&out);
}

static void world_release(struct world *w)
{
	omissions_release(&w->omissions);
	comparison_release(&w->comparison);
	evidence_release(&w->evidence);
	lab_config_release(&w->config);
	run_set_release(&w->sides[0]);
	run_set_release(&w->sides[1]);
}

static const char *const sections[] = { "decision", "ratios", "time", "fingerprints", "left-out", "method", NULL };

/* ---- cases ---- */

static void test_regression(void **state)
{
	static const char *const parts[] = { "regression",
					     "app@new costs 1.20 times as much as app@old",
					     "The candidate costs 1.200 times as much",
					     "6 machines, 36 results",
					     "Nothing: every machine and every result is used.",
					     "2017-07-14",
					     NULL };
	struct world w;
	char *page;

	(void)state;
	world_init(&w, "", false);
	run_side(&w, 0, 0, MACHINES, 1, true);
	run_side(&w, 1, 0, MACHINES, 1.2, true);
	page = page_of(&w);
	check_page("regression", page, sections, parts);
	assert_null(strstr(page, "Emulated hosts."));
	free(page);
	world_release(&w);
}

/* Checks the names of the zones beside the interval. Only zones with enough room have names. */
static void check_zones(const char *what, const char *page, const char *expected)
{
	struct buf names = BUF_INIT;

	buf_text(&names, "");
	for (const char *at = page; (at = strstr(at, "<text class=\"zone\""));) {
		at = strchr(at, '>') + 1;
		buf_format(&names, "%.*s, ", (int)strcspn(at, "<"), at);
	}
	if (strcmp(names.bytes, expected) != 0)
		fail_msg("%s: the zones are named: %s", what, names.bytes);
	buf_release(&names);
}

static void test_other_decisions(void **state)
{
	static const struct {
		const char *what;
		double factor;
		size_t from[2], to[2];
		bool with_fingerprint;
		int64_t repetitions;
		const char *parts[6], *zones;
	} rows[] = {
		{ "pass",
		  1,
		  { 0, 0 },
		  { 6, 6 },
		  true,
		  3,
		  { "pass", "app@new costs 1.000 times as much as app@old" },
		  "better, no difference that matters, worse, " },
		{ "improved", .5, { 0, 0 }, { 6, 6 }, true, 3, { "improved", "app@new costs 0.500 times as much as app@old" }, "better, " },
		{ "one type",
		  1.2,
		  { 0, 0 },
		  { 2, 2 },
		  true,
		  5,
		  { "regression", "interval on these machines", "other machines may differ" },
		  "no difference that matters, worse, " },
		{ "too little",
		  1.2,
		  { 0, 0 },
		  { 1, 1 },
		  true,
		  1,
		  { "inconclusive", "app@new costs 1.20 times as much as app@old (no interval)", "no interval: too few results" },
		  NULL },
		{ "nothing in common",
		  1.2,
		  { 0, 3 },
		  { 3, 6 },
		  true,
		  3,
		  { "nothing_measured", "app@new cannot be compared with app@old", "3 machines", "the candidate has no result there" },
		  NULL },
		{ "no fingerprints", 1.2, { 0, 0 }, { 6, 6 }, false, 3, { "regression", "None of these results has a fingerprint" }, NULL },
		{ "excluded",
		  1.2,
		  { 0, 0 },
		  { 6, 5 },
		  true,
		  3,
		  { "Excluded, with reasons1 machinethe candidate has no result there.m5" },
		  NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world w;
		char *page;

		world_init(&w, "", false);
		run_some(&w, 0, rows[i].from[0], rows[i].to[0], 1, rows[i].with_fingerprint, rows[i].repetitions);
		run_some(&w, 1, rows[i].from[1], rows[i].to[1], rows[i].factor, rows[i].with_fingerprint, rows[i].repetitions);
		page = page_of(&w);
		check_page(rows[i].what, page, sections, rows[i].parts);
		if (rows[i].zones)
			check_zones(rows[i].what, page, rows[i].zones);
		free(page);
		world_release(&w);
	}
}

static void test_emulated_is_said(void **state)
{
	static const char *const parts[] = { "Emulated hosts. 6 of 6 machines are hosts emulated on one computer", "emulated, profile",
					     NULL };
	struct world w;
	char *page;

	(void)state;
	world_init(&w, "", true);
	run_side(&w, 0, 0, MACHINES, 1, true);
	run_side(&w, 1, 0, MACHINES, 1.2, true);
	page = page_of(&w);
	check_page("emulated", page, sections, parts);
	free(page);
	world_release(&w);
}

/* Checks markup in every name from outside: the page stays well-formed and shows the markup as text. */
static void test_hostile_names(void **state)
{
	static const char *const parts[] = { EVIL "m0", EVIL "app",	EVIL "new",  EVIL "lab", EVIL "b",     EVIL "1",
					     EVIL "t0", EVIL "profile", EVIL "what", EVIL "why", EVIL "which", NULL };
	struct world w;
	char *page;

	(void)state;
	world_init(&w, EVIL, true);
	run_side(&w, 0, 0, MACHINES, 1, true);
	run_side(&w, 1, 0, MACHINES - 1, 1.2, true);
	omission_add_name(omissions_add(&w.omissions, EVIL "why", "%swhat", EVIL), "%swhich", EVIL);
	page = page_of(&w);
	check_page("hostile", page, sections, parts);
	assert_null(strstr(page, "<b onload"));
	free(page);
	world_release(&w);
}

/* Checks that ratios of any size are readable numbers, inside the chart. */
static void test_extreme_ratios(void **state)
{
	static const double factors[] = { 1e-90, 1e-5, 1e5, 1e90 };
	static const char *const parts[] = { "The ratio on each machine", NULL };

	(void)state;
	for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++) {
		struct world w;
		char *page;

		world_init(&w, "", false);
		run_side(&w, 0, 0, MACHINES, 1, true);
		run_side(&w, 1, 0, MACHINES, factors[i], true);
		page = page_of(&w);
		check_page("extreme", page, sections, parts);
		assert_null(strstr(page, "0000000000"));
		assert_null(strstr(page, "inf"));
		assert_null(strstr(page, "nan"));
		free(page);
		world_release(&w);
	}
}

static void test_same_bits(void **state)
{
	char *pages[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct world w;

		world_init(&w, "", false);
		run_side(&w, 0, 0, MACHINES, 1, true);
		run_side(&w, 1, 0, MACHINES, 1.1, true);
		pages[i] = page_of(&w);
		world_release(&w);
	}
	assert_string_equal(pages[0], pages[1]);
	free(pages[0]);
	free(pages[1]);
}

/* Checks that the HTML scanner refuses malformed pages. */
static void test_scan(void **state)
{
	static const char *const bad[] = {
		"<p>",	   "<p></b></p>", "<p onload=\"x\"></p>",      "<p class=x></p>",     "<iframe></iframe>",
		"a > b",   "a & b",	  "<a href=\"http://x\"></a>", "<p class=\"<\"></p>", "<b",
		"<script>"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char *page = mem_format("<!DOCTYPE html>%s", bad[i]);
		struct html_scan scan = html_scan_page(page);

		if (!scan.error)
			fail_msg("'%s' should be refused", bad[i]);
		html_scan_release(&scan);
		free(page);
	}
}

int suite_report(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scan),
		cmocka_unit_test(test_regression),
		cmocka_unit_test(test_other_decisions),
		cmocka_unit_test(test_emulated_is_said),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_extreme_ratios),
		cmocka_unit_test(test_same_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

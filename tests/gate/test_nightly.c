/* Tests the parts of a night that need no laboratory: each row of its table of rules, and suite.yaml. */
#include "gate/nightly/judge.c"		 /* the rules */
#include "gate/nightly/nightly.c"	 /* the whole night */
#include "gate/nightly/nightly_freeze.c" /* the notes of a night */

#include "base/mem.h"
#include "base/json.h"
#include "gate/nightly/baselines.h"
#include "gate/nightly/night_answer.h"
#include "gate/nightly/suite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

/* ---- the table of rules ---- */

static void test_rules(void **state)
{
	static const struct {
		struct decision_input in;
		enum decision_rule rule;
		enum decision decision;
	} rows[] = {
		{ { .verdict = DECISION_REGRESSION, .confirmation = CONFIRMATION_MISSING, .crashes = true },
		  RULE_CRASHES,
		  DECISION_REGRESSION },
		{ { .verdict = DECISION_REGRESSION, .has_control_moved = true, .follows_night_trend = true, .crashes = true },
		  RULE_CRASHES,
		  DECISION_REGRESSION },
		{ { .verdict = DECISION_INCONCLUSIVE, .too_many_disturbed = true }, RULE_TOO_MANY_EXCLUDED, DECISION_ENVIRONMENT },
		{ { .verdict = DECISION_REGRESSION, .confirmation = CONFIRMATION_SEEN, .has_control_moved = true },
		  RULE_CONTROL,
		  DECISION_ENVIRONMENT },
		{ { .verdict = DECISION_REGRESSION, .confirmation = CONFIRMATION_NOT_SEEN, .has_control_moved = true },
		  RULE_CONTROL,
		  DECISION_ENVIRONMENT },
		{ { .verdict = DECISION_REGRESSION, .confirmation = CONFIRMATION_SEEN, .follows_night_trend = true },
		  RULE_FINDINGS_ALIKE,
		  DECISION_ENVIRONMENT },
		{ { .verdict = DECISION_REGRESSION, .confirmation = CONFIRMATION_DISTURBED, .has_control_moved = true },
		  RULE_CONTROL,
		  DECISION_ENVIRONMENT },
		{ { .verdict = DECISION_REGRESSION, .confirmation = CONFIRMATION_DISTURBED },
		  RULE_CONFIRMATION_DISTURBED,
		  DECISION_ENVIRONMENT },
		{ { .verdict = DECISION_REGRESSION, .confirmation = CONFIRMATION_NOT_SEEN }, RULE_NOT_REPRODUCED, DECISION_INCONCLUSIVE },
		{ { .verdict = DECISION_REGRESSION, .confirmation = CONFIRMATION_MISSING }, RULE_NO_CONFIRMATION, DECISION_INCONCLUSIVE },
		{ { .verdict = DECISION_REGRESSION, .confirmation = CONFIRMATION_NONE, .may_be_chance = true },
		  RULE_CHANCE,
		  DECISION_INCONCLUSIVE },
		/* The same for improvements. */
		{ { .verdict = DECISION_IMPROVED, .confirmation = CONFIRMATION_SEEN, .has_control_moved = true },
		  RULE_CONTROL,
		  DECISION_ENVIRONMENT },
		{ { .verdict = DECISION_IMPROVED, .confirmation = CONFIRMATION_MISSING, .follows_night_trend = true },
		  RULE_FINDINGS_ALIKE,
		  DECISION_ENVIRONMENT },
		{ { .verdict = DECISION_IMPROVED, .confirmation = CONFIRMATION_DISTURBED },
		  RULE_CONFIRMATION_DISTURBED,
		  DECISION_ENVIRONMENT },
		{ { .verdict = DECISION_IMPROVED, .confirmation = CONFIRMATION_NOT_SEEN }, RULE_NOT_REPRODUCED, DECISION_INCONCLUSIVE },
		{ { .verdict = DECISION_IMPROVED, .confirmation = CONFIRMATION_MISSING }, RULE_NO_CONFIRMATION, DECISION_INCONCLUSIVE },
		{ { .verdict = DECISION_IMPROVED, .confirmation = CONFIRMATION_NONE, .may_be_chance = true },
		  RULE_CHANCE,
		  DECISION_INCONCLUSIVE },
		/* No rule applies. */
		{ { .verdict = DECISION_REGRESSION, .confirmation = CONFIRMATION_SEEN }, DECISION_RULES, DECISION_REGRESSION },
		{ { .verdict = DECISION_REGRESSION, .confirmation = CONFIRMATION_SEEN, .may_be_chance = true },
		  DECISION_RULES,
		  DECISION_REGRESSION },
		{ { .verdict = DECISION_REGRESSION, .confirmation = CONFIRMATION_SEEN, .too_many_disturbed = true },
		  DECISION_RULES,
		  DECISION_REGRESSION },
		{ { .verdict = DECISION_REGRESSION, .confirmation = CONFIRMATION_NONE }, DECISION_RULES, DECISION_REGRESSION },
		{ { .verdict = DECISION_PASS, .too_many_disturbed = true, .follows_night_trend = true, .may_be_chance = true },
		  DECISION_RULES,
		  DECISION_PASS },
		{ { .verdict = DECISION_IMPROVED, .confirmation = CONFIRMATION_SEEN, .may_be_chance = true },
		  DECISION_RULES,
		  DECISION_IMPROVED },
		{ { .verdict = DECISION_IMPROVED, .confirmation = CONFIRMATION_NONE, .too_many_disturbed = true },
		  DECISION_RULES,
		  DECISION_IMPROVED },
		{ { .verdict = DECISION_INCONCLUSIVE, .follows_night_trend = true }, DECISION_RULES, DECISION_INCONCLUSIVE },
		{ { .verdict = DECISION_NOTHING_MEASURED, .too_many_disturbed = true }, DECISION_RULES, DECISION_NOTHING_MEASURED },
	};
	unsigned seen = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum decision_rule rule = decision_rule_find(&rows[i].in);

		assert_int_equal(rule, rows[i].rule);
		assert_int_equal(rule < DECISION_RULES ? rule_decisions[rule] : rows[i].in.verdict, rows[i].decision);
		seen |= 1u << rule;
	}
	assert_int_equal(seen, (1u << (DECISION_RULES + 1)) - 1); /* all rows of the table were used */
}

/* Checks that a night never turns a verdict into a finding that the runs do not show. */
static void test_never_worse(void **state)
{
	(void)state;
	for (unsigned i = 0; i < DECISIONS * 5 * 32; i++) {
		struct decision_input in = {
			(enum decision)(i % DECISIONS), i & 1, (enum confirmation_result)(i / DECISIONS % 5), i & 2, i & 4, i & 8, i & 16
		};
		enum decision_rule rule = decision_rule_find(&in);

		if (rule < DECISION_RULES)
			assert_true(rule_decisions[rule] == in.verdict || rule_decisions[rule] == DECISION_ENVIRONMENT ||
				    rule_decisions[rule] == DECISION_INCONCLUSIVE);
		if (in.crashes && in.verdict == DECISION_REGRESSION)
			assert_int_equal(rule, RULE_CRASHES);
	}
}

/* ---- confirmation runs, and the whole night ---- */

/* Makes a verdict for three machines with these ratios and the interval from `low` to `high`. */
static struct verdict shown(struct pairing_machine machines[3], const double ratios[3], double low, double high)
{
	static const struct run_set none;
	struct verdict v = { .candidate = &none, .pairing = { .machines = machines, .n = 3, .used = 3 }, .min_effect = .03, .rule = RULES };

	for (int i = 0; i < 3; i++)
		machines[i] = (struct pairing_machine){ .machine = i ? i > 1 ? "c" : "b" : "a", .log_ratio = log(ratios[i]) };
	v.effect = (struct effect){ .ratio = sqrt(low * high), .low = low, .high = high, .types = 3 };
	v.effect.decision = effect_decide(v.effect.ratio, low, high, v.min_effect);
	return v;
}

/* Checks confirmation runs. Each row is checked as it is and, for improvements, with inverted ratios. */
static void test_fresh_runs(void **state)
{
	static const struct {
		double ratios[3], low, high;
		int64_t machines;
		bool settled, seen;
		const char *behind;
	} rows[] = {
		{ { 1.1, 1.12, 1.09 }, 1.08, 1.13, 3, true, true, NULL },
		{ { 1.1, 1.12, .99 }, 1.04, 1.13, 3, true, false, NULL },
		{ { 1.1, 1.12, .99 }, 1.04, 1.13, 2, true, true, NULL },
		{ { 1.02, 1.01, 1.02 }, 1.01, 1.02, 1, true, true, NULL }, /* a confirmation may be below `min_effect` */
		{ { 1.05, 1.04, 1.06 }, 1.02, 1.08, 1, false, true, NULL },
		{ { 1.3, 1.0, 1.01 }, 1.01, 1.2, 1, false, true, "a" },
		{ { 1.05, .96, 1.0 }, .95, 1.06, 1, false, false, NULL },
	};
	const enum decision ways[] = { DECISION_REGRESSION, DECISION_IMPROVED };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (int way = 0; way < 2; way++) {
			double ratios[3], low = way ? 1 / rows[i].high : rows[i].low, high = way ? 1 / rows[i].low : rows[i].high;
			struct pairing_machine machines[3];
			struct verdict v;

			for (int k = 0; k < 3; k++)
				ratios[k] = way ? 1 / rows[i].ratios[k] : rows[i].ratios[k];
			v = shown(machines, ratios, low, high);
			assert_int_equal(judge_is_settled(&v), rows[i].settled);
			assert_int_equal(judge_is_confirmed(&v, ways[way], false, (size_t)rows[i].machines), rows[i].seen);
			assert_false(judge_is_confirmed(&v, ways[1 - way], false, 1));
			if (decision_is_finding(v.effect.decision))
				assert_string_equal(find_decisive_machine(&v) ? find_decisive_machine(&v) : "",
						    rows[i].behind ? rows[i].behind : "");
		}
	}
}

/* Checks ten comparisons that mostly point in one direction, some of them findings: `lean` is the kind that the night distrusts. */
static void test_lean(void **state)
{
	static const struct {
		int slower, slow_findings, faster, fast_findings;
		enum decision lean;
	} rows[] = {
		{ 8, 4, 2, 2, DECISION_REGRESSION }, { 2, 2, 8, 4, DECISION_IMPROVED }, { 8, 3, 0, 0, DECISIONS },
		{ 0, 0, 8, 3, DECISIONS },	     { 5, 5, 5, 5, DECISIONS },		{ 0, 0, 7, 7, DECISIONS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct night_comparison comparison = { .number = 1 };
		struct finding f[11] = { { .ratio = (double)NAN } };

		for (int k = 0; k < 10; k++) {
			bool slower = k < rows[i].slower, faster = !slower && k < rows[i].slower + rows[i].faster;
			bool found = k < rows[i].slow_findings || (faster && k < rows[i].slower + rows[i].fast_findings);

			f[k + 1].ratio = slower ? 1.05 : faster ? 1 / 1.05 : 1.01;
			f[k + 1].comparison = found ? &comparison : NULL;
			f[k + 1].judgement.input.verdict = !found ? DECISION_PASS : slower ? DECISION_REGRESSION : DECISION_IMPROVED;
		}
		assert_int_equal(common_direction(f, 11, .03), rows[i].lean);
	}
}

/* ---- suite.yaml ---- */

static enum assay_status parse(const char *text, struct suite *out, struct assay_error *err)
{
	return suite_parse("suite.yaml", text, strlen(text), out, err);
}

static void test_suite(void **state)
{
	struct assay_error err;
	struct suite s;

	(void)state;
	assert_int_equal(
	    parse("comparisons:\n"
		  "  - {application: 'sql*', candidates: [main, next], against: release, hosts: '@big', min_effect: .05, budget: 90s}\n"
		  "  - {application: x, min_effect: {faster: .2}}\n"
		  "budget: 5m\ndeadline: 06:30\nfingerprints: {battery: paper, max_age_days: 7}\n"
		  "confirm: {fresh_runs: no, machines: 3}\nreleases: 'r-*'\nwait: 1m\n",
		  &s, &err),
	    ASSAY_OK);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.entries[0].candidates.n, 2);
	assert_string_equal(s.entries[0].baseline_kind.items[0], "release");
	assert_string_equal(s.entries[0].hosts, "@big");
	assert_true(s.entries[0].budget_s == 90 && s.entries[1].budget_s == 300 && s.entries[0].min_effect == .05);
	assert_true(s.entries[0].min_gain == 0 && s.entries[1].min_effect == 0 && s.entries[1].min_gain == .2);
	assert_int_equal(s.entries[1].baseline_kind.n, 2);
	assert_int_equal(s.deadline_minute, 390);
	assert_true(!s.confirm && s.machines == 3 && s.max_age_days == 7 && s.wait_s == 60);
	suite_release(&s);
}

static void test_suite_refused(void **state)
{
	static const struct {
		const char *text, *part;
	} rows[] = {
		{ "", "suite.yaml:1: 'comparisons' is missing" },
		{ "comparisons: []", "suite.yaml:1: 'comparisons' is empty" },
		{ "comparisons: x", "'comparisons' is not a list" },
		{ "comparisons: [{}]", "needs 'application'" },
		{ "comparisons: [{application: x, min_effect: {up: .1}}]", "unknown key 'up' in 'min_effect'" },
		{ "comparisons: [{application: x, min_effect: {faster: 0}}]", "'faster'" },
		{ "comparisons: [{application: }]", "needs 'application'" },
		{ "comparisons: [{application: \"\"}]", "'application' is empty" },
		{ "comparisons: [{application: a, budget: soon}]", "'budget' must be a time" },
		{ "comparisons: [{application: a, against: []}]", "'against' must name" },
		{ "comparisons: [{application: a, hots: x}]", "'hosts'" },
		{ "comparisons: [{application: a}]\ndeadline: 25:00", "suite.yaml:2: 'deadline'" },
		{ "comparisons: [{application: a}]\ndeadline: 6:5",
		  "'deadline' must be a time of the day such as 06:30, or a time such as 8h (a number is seconds)" },
		{ "comparisons: [{application: a}]\nconfirm: {machines: 0}", "suite.yaml:2" },
		{ "comparisons: [{application: a}]\nconfirm: {fresh_runs: perhaps}", "suite.yaml:2" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct assay_error err;
		struct suite s;

		assert_int_not_equal(parse(rows[i].text, &s, &err), ASSAY_OK);
		if (!strstr(err.text, rows[i].part))
			fail_msg("'%s' should have '%s'", err.text, rows[i].part);
		assert_null(s.entries);
	}
}

static void test_deadline(void **state)
{
	struct tm day = { .tm_year = 126, .tm_mon = 10, .tm_mday = 23, .tm_hour = 22, .tm_isdst = -1 };
	int64_t ten_at_night = (int64_t)mktime(&day) * 1000;
	struct suite s = { .deadline_minute = -1 };

	(void)state;
	assert_int_equal(suite_deadline_ms(&s, ten_at_night), 0);
	s.deadline_minute = 6 * 60;
	assert_int_equal(suite_deadline_ms(&s, ten_at_night), ten_at_night + INT64_C(8) * 3600000);
	s.deadline_minute = 22 * 60; /* equal to the current time: the next day's is meant */
	assert_int_equal(suite_deadline_ms(&s, ten_at_night), ten_at_night + INT64_C(24) * 3600000);
	s.deadline_s = 90;
	assert_int_equal(suite_deadline_ms(&s, ten_at_night), ten_at_night + 90000);
}

/* ---- the end of a night ---- */

/* Checks that the exit status is that of the worst decision. Each step removes the worst one. */
static void test_exit(void **state)
{
	static const struct {
		const char *id; /* ID of the decision; "": no decision was made */
		enum decision decision;
		const char *detail;
		int status;
	} rows[] = {
		{ "a", DECISION_REGRESSION, "", 3 },   { "b", DECISION_NOTHING_MEASURED, "", 6 },
		{ "", DECISION_PASS, "", 6 },	       { "d", DECISION_ENVIRONMENT, "", 5 },
		{ "e", DECISION_INCONCLUSIVE, "", 4 }, { "f", DECISION_PASS, "h1: gone", 7 },
		{ "g", DECISION_IMPROVED, "", 0 },     { "h", DECISION_PASS, "", 0 },
	};
	enum { N = sizeof(rows) / sizeof(rows[0]) };
	struct night_comparison c[N];
	struct night_decision d[N];

	(void)state;
	for (int i = 0; i < N; i++) { /* the best first: the order does not matter */
		c[i] = (struct night_comparison){ .plan = "p", .detail = mem_string(rows[N - 1 - i].detail) };
		d[i] = (struct night_decision){ .judged = { .decision = rows[N - 1 - i].decision } };
		snprintf(c[i].decision, sizeof(c[i].decision), "%s", rows[N - 1 - i].id);
		snprintf(d[i].id, sizeof(d[i].id), "%s", rows[N - 1 - i].id);
	}
	for (int i = 0; i < N; i++) {
		struct night_comparisons left = { c, (size_t)(N - i) }, one = { &c[N - 1 - i], 1 };
		struct night_decisions all = { d, N };

		assert_int_equal(night_exit_status(&left, &all, NIGHT_FAILS_DEFAULT), rows[i].status);
		assert_int_equal(night_exit_status(&one, &all, NIGHT_FAILS_DEFAULT), rows[i].status);
		assert_int_equal(night_exit_status(&left, &all, 0), 0);
		for (int k = 0; k < NIGHT_FAILS_LATENT; k++) {
			static const int statuses[] = { 3, 6, 5, 4, 7 };
			bool there = false;

			for (int j = i; j < N; j++)
				there = there || rows[j].status == statuses[k];
			assert_int_equal(night_exit_status(&left, &all, 1u << k), there ? statuses[k] : 0);
		}
	}
	for (int i = 0; i < N; i++)
		free(c[i].detail);
}

/* Checks that a latent finding changes the exit status only if the user asks for that, for one decision and for a night. */
static void test_exit_latent(void **state)
{
	static const unsigned latent = 1u << NIGHT_FAILS_LATENT, regression = 1u << NIGHT_FAILS_REGRESSION;
	static const struct {
		int status;
		bool latent;
		unsigned fail_on;
		int expected;
	} rows[] = {
		{ 0, true, NIGHT_FAILS_DEFAULT, 0 },	       { 0, true, 1u << NIGHT_FAILS_LATENT, 3 },
		{ 0, false, 1u << NIGHT_FAILS_LATENT, 0 },     { 3, false, NIGHT_FAILS_DEFAULT, 3 },
		{ 3, false, 1u << NIGHT_FAILS_LATENT, 0 },     { 4, false, NIGHT_FAILS_DEFAULT, 4 },
		{ 4, false, 1u << NIGHT_FAILS_REGRESSION, 0 },
	};
	struct night_comparison c = { .plan = "p", .detail = mem_string(""), .decision = "a" };
	struct night_decision d = { .id = "a", .judged.decision = DECISION_PASS };
	struct night_comparisons one = { &c, 1 };
	struct night_decisions all = { &d, 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(night_decision_exit_status(rows[i].status, rows[i].latent, rows[i].fail_on), rows[i].expected);
	assert_int_equal(night_exit_status(&one, &all, latent), 0);
	reasons_add(&d.judged.reasons, COMPARISON_LATENT, "it costs almost nothing here");
	assert_int_equal(night_exit_status(&one, &all, latent | regression), 3);
	assert_int_equal(night_exit_status(&one, &all, NIGHT_FAILS_DEFAULT), 0);
	reasons_release(&d.judged.reasons);
	free(c.detail);
}

/* ---- notes ---- */

/* Checks that a text is omitted only if an equal text exists, not if it is a part of another text. */
static void test_say(void **state)
{
	struct manifest_arguments note = { NULL, 0 };

	(void)state;
	add_note(&note, "toogood@v1 is not used");
	add_note(&note, "good@v1 is not used");
	add_note(&note, "good@v1 is not used");
	assert_int_equal(note.n, 2);
	assert_string_equal(note.items[1], "good@v1 is not used");
	manifest_arguments_release(&note);
}

/* ---- accepted baselines ---- */

static const char accepted_text[] = "baselines:\n"
				    "- {application: app, version: v1, accepted: 2026-01-02, reason: a}\n"
				    "- {application: app/in, version: v2, until: 2026-01-10, reason: b}\n"
				    "- {application: app, version: v3, until: 2026-01-05, reason: c}\n"
				    "- {application: ap, version: v4, reason: d}\n";

/* Checks accepted baselines: `until` includes that whole day. */
static void test_accepted(void **state)
{
	static const struct {
		const char *application, *day, *counts, *expired; /* versions; NULL: none */
	} rows[] = {
		{ "app", "2026-01-01", "v3", NULL },	{ "app", "2026-01-05", "v3", NULL },	{ "app", "2026-01-06", "v1", "v3" },
		{ "app/in", "2026-01-10", "v2", NULL }, { "app/in", "2026-01-11", "v1", "v2" }, { "app/of", "2026-01-05", "v3", NULL },
		{ "app/of", "2026-01-06", "v1", "v3" }, { "ap/in", "2026-01-01", "v4", NULL },	{ "apply", "2026-01-01", NULL, NULL },
	};
	struct baselines all;
	struct assay_error err;
	char *text;

	(void)state;
	assert_int_equal(baselines_parse("b", accepted_text, strlen(accepted_text), &all, &err), ASSAY_OK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct baseline *counts, *expired;
		int64_t ms;

		assert_int_equal(text_parse_day(rows[i].day, &ms, &err), ASSAY_OK);
		counts = baselines_find(&all, rows[i].application, ms + BASELINES_DAY_MS - 1);
		expired = baselines_find_expired(&all, rows[i].application, ms + BASELINES_DAY_MS - 1);
		assert_string_equal(counts ? counts->version : "none", rows[i].counts ? rows[i].counts : "none");
		assert_string_equal(expired ? expired->version : "none", rows[i].expired ? rows[i].expired : "none");
	}
	text = baselines_text(&all.items[0], &all.items[2]);
	assert_string_equal(text, "accepted on 2026-01-02: a; accepted later, 'v3' expired on 2026-01-05");
	free(text);
	baselines_release(&all);
}

/* Checks that notes name files of the laboratory by paths relative to it, and leave other paths as they are. */
static void test_shorten_paths(void **state)
{
	char *here = realpath(".", NULL), *text = mem_format("'%s/apps/a' and '%s/b', not '%s-x/c'", here, here, here);
	char *expected = mem_format("'apps/a' and 'b', not '%s-x/c'", here);

	(void)state;
	shorten_paths(".", text);
	assert_string_equal(text, expected);
	mem_free(here, text, expected);
}

int suite_nightly(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shorten_paths), cmocka_unit_test(test_fresh_runs),  cmocka_unit_test(test_lean),
		cmocka_unit_test(test_rules),	      cmocka_unit_test(test_never_worse), cmocka_unit_test(test_suite),
		cmocka_unit_test(test_suite_refused), cmocka_unit_test(test_deadline),	  cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_exit),	      cmocka_unit_test(test_exit_latent), cmocka_unit_test(test_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

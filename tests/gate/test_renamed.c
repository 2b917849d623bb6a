/* Tests C++ functions that are the same for users: parameters and template arguments are not part of a function's name. */
#include "gate/detect/detect.h"
#include "runs/inside/changes/functions.h"
#include "tests/bench/rivals.h"
#include "tests/gate/made_samples.h"
#include "tests/scratch.h"

static const char *const counters[] = { "emulated:accesses", "emulated:blocks", NULL };

/* Makes a side with two functions; "": only one. */
static struct side made(const char *what, const char *const names[2], double work)
{
	const char *const functions[] = { names[0], names[1], NULL };
	struct made rows[] = { { .function = 0, .values = { work, work } }, { .function = 1, .values = { 1e6, 1e6 } } };
	struct side side = made_side(what);

	for (int run = 0; run < 20; run++) {
		char name[16];

		rows[0].values[0] = work * (1 + .001 * run);
		rows[1].values[0] = 1e6 * (1 + .001 * run);
		snprintf(name, sizeof(name), "%03d", run);
		made_run(&side, name, made_samples(RECORD_EMULATED, counters, functions, rows, *names[1] ? 2 : 1));
	}
	side.back_end = RECORD_EMULATED;
	return side;
}

static void test_pairs(void **state)
{
	static const struct {
		const char *what, *old[2], *new[2];
		bool same;
	} rows[] = {
		{ "by value", { "_Z4findRK3Set", "" }, { "_Z4find3Set", "" }, true },
		{ "of a class", { "_ZNK6Prices2ofERK3Set.isra.0", "" }, { "_ZNK6Prices2ofE3Set", "" }, true },
		{ "another argument", { "_ZN3FewI5PointLj4EE4pushERKS0_", "" }, { "_ZN3FewI5PointLj16EE4pushERKS0_", "" }, true },
		{ "what it returns", { "_Z4clipI3FewILj4EEEiT_", "" }, { "_Z4clipI3FewILj16EEElT_", "" }, true },
		{ "without a name", { "_ZN12_GLOBAL__N_13runEi", "" }, { "_ZN12_GLOBAL__N_13runEl", "" }, true },
		{ "==", { "_ZN3SeteqERKS_", "" }, { "_ZN3SeteqES_", "" }, true },
		{ "<, >", { "_ZN3SetltES_", "" }, { "_ZN3SetgtES_", "" }, false },
		{ "()", { "_ZN3SetclEi", "" }, { "_ZN3SetclEl", "" }, true },
		{ "(), []", { "_ZN3SetclEi", "" }, { "_ZN3SetixEi", "" }, false },
		{ "<, ()", { "_ZN3SetltES_", "" }, { "_ZN3SetclEi", "" }, false },
		{ "conversions of other classes", { "_ZN3SetcviEv", "" }, { "_ZN3MapcviEv", "" }, false },
		{ "conversions", { "_ZN3SetcviEv", "" }, { "_ZN3SetcvbEv", "" }, false },
		{ "another one", { "_Z4findi", "" }, { "_Z4lookl", "" }, false },
		{ "of another class", { "_ZN3Set3getEi", "" }, { "_ZN3Map3getEi", "" }, false },
		{ "two of them then", { "_Z4findi", "_Z4findl" }, { "_Z4findc", "" }, false },
		{ "two of them now", { "_Z4findi", "" }, { "_Z4findc", "_Z4findl" }, false },
		{ "lambdas", { "_ZZ4mainENKUlvE_clEv", "" }, { "_ZZ4mainENKUlvE0_clEv", "" }, false },
		{ "of the library", { "_ZNSt6vectorIiE4pushEi", "" }, { "_ZNSt6vectorIlE4pushEl", "" }, false },
		{ "in C", { "find", "" }, { "look", "" }, false },
		{ "first in C", { "find", "" }, { "_Z4findi", "" }, true },
		{ "of Rust",
		  { "_ZN25_$LT$A$u20$as$u20$Run$GT$3run17h0123456789abcdefE", "" },
		  { "_ZN25_$LT$B$u20$as$u20$Run$GT$3run17h0123456789abcdefE", "" },
		  false },
		{ "beside one that both have", { "_Z4findc", "_Z4findi" }, { "_Z4findl", "_Z4findi" }, true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct side old = made("old", rows[i].old, 1e6), new = made("new", rows[i].new, 1e6);
		char *text = match_renamed_functions(&old, &new), *name = old.runs[7].files[0].functions[0].name,
		     *expected = mem_format("%s%s", rows[i].same ? rows[i].new[0] : rows[i].old[0],
					    rows[i].same ? rows[i].old[0] + functions_stem_length(rows[i].old[0]) : "");

		if (!text == rows[i].same || strcmp(name, expected) != 0)
			fail_msg("%s: %s, %s", rows[i].what, name, text ? text : "-");
		free(expected);
		free(text);
		side_release(&old);
		side_release(&new);
	}
}

/* Returns options with a scorer that is fitted fast. */
static struct detect_options quick(void)
{
	struct detect_options options = { .detector = detector_defaults, .observe = observe_defaults };

	options.detector.scorer = &scorer_mahalanobis;
	return options;
}

/* Checks that additional work of a renamed function is attributed to it, not to its caller. */
static void test_judged(void **state)
{
	static const char *const names[2][2] = { { "_ZN3FewILj16EE4pushEi", "main" }, { "_ZN3FewILj4EE4pushEi", "main" } };
	struct side old = made("old", names[0], 1e6), new = made("new", names[1], 2e6);
	struct detect_input input = { .old = &old, .new = &new };
	struct detect_options options = quick();
	struct assay_error err;
	struct detected d;

	(void)state;
	check(detect(&input, &options, &d, &err), &err);
	assert_int_equal(d.decision, DECISION_REGRESSION);
	assert_int_equal(d.n, 2);
	assert_string_equal(d.functions[0].name, "Few<4u>::push(int)");
	assert_true(d.functions[0].anomalous && !d.functions[1].anomalous);
	assert_string_equal(d.reasons[d.n_reasons - 1].code, "renamed");
	assert_non_null(
	    strstr(d.reasons[d.n_reasons - 1].text, "Few<4u>::push(int): compared with a function of the same name but other parameters"));
	detected_release(&d);
	side_release(&old);
	side_release(&new);
}

int suite_renamed(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_pairs), cmocka_unit_test(test_judged) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

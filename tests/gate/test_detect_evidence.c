/* Tests the text of a decision about functions: which functions are listed, how many, and which are omitted. */
#include "gate/detect/function_evidence.c" /* the static function for human-readable text */

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define MOST 8

static char names[MOST][3] = { "f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7" };

/* Returns the text for these numbers of worse and improved functions and side effects. `types`: hardware types of both versions. */
static char *text_of(enum decision decision, size_t worse, size_t improved, size_t side_effects, size_t types, double rate_used)
{
	struct detection_function found = { .runs = 3, .runs_anomalous = 2 };
	struct detected_function functions[MOST];
	char what[2][8] = { "old", "new" }, type[] = "big";
	struct function_evidence e = { .has_result = true, .types = types };
	struct document d;
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < MOST; i++)
		functions[i] = (struct detected_function){
			.found = &found, .name = names[i], .side_effect_cause = "f0", .kind.improved = true, .kind.column = SIZE_MAX
		};
	e.detected = (struct detected){ .functions = functions,
					.n = MOST,
					.n_worse = worse,
					.n_improved = improved,
					.n_side_effects = side_effects,
					.back_end = RECORD_TIME,
					.rate_requested = .01,
					.rate_used = rate_used };
	for (size_t i = 0; i < 2; i++)
		e.sides[i] = (struct side){ .label = what[i], .hardware_type = type, .n = 3 + i, .others = i };
	document_init(&d);
	function_evidence_add_lines(&e, decision, &d);
	document_human(&d, &(struct doc_style){ .columns = 200 }, &text);
	document_release(&d);
	return buf_take(&text);
}

static void test_text(void **state)
{
	static const struct {
		const char *what;
		enum decision decision;
		size_t worse, improved, side_effects, types;
		double rate_used;
		const char *has[5], *has_not[5];
	} rows[] = {
		{ "one type",
		  DECISION_REGRESSION,
		  1,
		  0,
		  0,
		  1,
		  .01,
		  { "by 3 and 4 runs with time", "explained by\n  f0: " },
		  { "hardware type", "too few", "more", "f1" } },
		{ "two types",
		  DECISION_REGRESSION,
		  1,
		  0,
		  0,
		  2,
		  .02,
		  { "by 3 and 4 runs on hardware type 'big' (of 2 that ran both;", "(too few to be sure)" },
		  { NULL } },
		{ "as many as are shown",
		  DECISION_REGRESSION,
		  5,
		  0,
		  0,
		  1,
		  .01,
		  { "f4: takes less time, in 2 of 3 runs" },
		  { "f5", "more (" } },
		{ "one more", DECISION_REGRESSION, 6, 0, 0, 1, .01, { "f4: ", "and 1 more ('assay detect' lists them)" }, { "f5: " } },
		{ "what improved comes behind what is worse",
		  DECISION_IMPROVED,
		  2,
		  1,
		  0,
		  1,
		  .01,
		  { "explained by\n  f2: ", "these became worse\n  f0: ", "f1: " },
		  { "f3: " } },
		{ "nothing explains it", DECISION_REGRESSION, 0, 2, 0, 1, .01, { "none of 8 measured functions explains" }, { "f0: " } },
		{ "no change of any", DECISION_PASS, 0, 0, 0, 1, .01, { "none of 8 changed behaviour" }, { "f0: " } },
		{ "anomalous, but not slower",
		  DECISION_PASS,
		  1,
		  1,
		  0,
		  1,
		  .01,
		  { "does not change the decision\n  f0: ", "  f1: " },
		  { "f2: " } },
		{ "side effects as many as are shown",
		  DECISION_REGRESSION,
		  1,
		  0,
		  5,
		  1,
		  .01,
		  { "side effects: f1 of f0; f2 of f0; f3 of f0; f4 of f0; f5 of f0" },
		  { "more", "f6" } },
		{ "one more side effect", DECISION_REGRESSION, 1, 0, 6, 1, .01, { "f5 of f0; and 1 more" }, { "f6" } },
		{ "another build", DECISION_PASS, 0, 0, 0, 1, .01, { "new: samples of 1 run of another build" }, { "old: samples" } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text =
		    text_of(rows[i].decision, rows[i].worse, rows[i].improved, rows[i].side_effects, rows[i].types, rows[i].rate_used);

		for (size_t k = 0; k < 5; k++) {
			if (rows[i].has[k] && !strstr(text, rows[i].has[k]))
				fail_msg("%s: '%s' should be in:\n%s", rows[i].what, rows[i].has[k], text);
			if (rows[i].has_not[k] && strstr(text, rows[i].has_not[k]))
				fail_msg("%s: '%s' should not be in:\n%s", rows[i].what, rows[i].has_not[k], text);
		}
		free(text);
	}
}

int suite_detect_evidence(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_text) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

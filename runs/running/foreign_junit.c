#include "runs/running/foreign_reader.h"

/* Attributes that test cases inherit from the suites that contain them. */
struct suite {
	const char *machine, *time; /* attributes `hostname` and `timestamp`; "" if none is given */
};

static bool has_state(const cJSON *test, const char *const *states, size_t n)
{
	return text_is_among(states, n, foreign_xml_text(test, "@status")) || text_is_among(states, n, foreign_xml_text(test, "@result"));
}

/* Reports whether the test was not run. These states are those of CTest and GoogleTest. */
static bool is_skipped(const cJSON *test)
{
	static const char *const states[] = { "notrun", "disabled", "skipped", "suppressed" };

	return json_get(test, "skipped") || has_state(test, states, sizeof(states) / sizeof(states[0]));
}

/* Returns the reason why the test failed; NULL if it did not fail. The text belongs to the test. */
static const char *find_failure(const cJSON *test)
{
	static const char *const states[] = { "fail", "failed", "failure", "error" };
	const cJSON *failure = json_get(test, "failure") ? json_get(test, "failure") : json_get(test, "error");
	const char *message = failure ? foreign_xml_text(failure, "@message") : "";

	return *message ? message : failure || has_state(test, states, sizeof(states) / sizeof(states[0])) ? "the test failed" : NULL;
}

static void test_add(struct foreign_reader *r, const cJSON *test, const struct suite *suite)
{
	const char *failure = find_failure(test);
	struct foreign_row row =
	    foreign_row_init(r, (struct imported_place){ .line = (size_t)test->valueint }, foreign_machine(r, suite->machine));
	const char *class = foreign_xml_text(test, "@classname"), *name = foreign_xml_text(test, "@name"),
		   *seconds = foreign_xml_text(test, "@time");
	struct imported *imported = &r->result->imported;
	double value;

	row.name = strcmp(class, name) == 0 ? name : foreign_own_text(r, mem_format("%s%s%s", class, *class ? "/" : "", name));
	row.benchmark_number = (double)r->result->n_rows;
	if (failure)
		foreign_row_fail(r, &row, EXECUTION_FAILED, "%s", failure);
	row.texts.result = seconds;
	if (!row.to.machine)
		imported_exclude(imported, IMPORTED_BAD_NAME, &row.to.place, FOREIGN_NO_MACHINE);
	else if (is_skipped(test))
		imported_exclude(imported, IMPORTED_NOT_MEASURED, &row.to.place, "%s was skipped", TEXT_SANITIZED(row.name));
	else if (!failure && text_parse_double(seconds, &value) && value == 0)
		imported_exclude(imported, IMPORTED_NOT_MEASURED, &row.to.place, "%s took less time than the resolution of the file",
				 TEXT_SANITIZED(row.name));
	else if (!failure && !*seconds)
		imported_exclude(imported, IMPORTED_BAD_ROW, &row.to.place, "%s: it has no 'time'", TEXT_SANITIZED(row.name));
	else if (foreign_row_time(r, &row, *suite->time ? suite->time : NULL))
		foreign_row_add(r, row);
}

/* Notes failures that belong to no benchmark: a suite counts more failures than its test cases have, or has itself failed. */
static void suite_check(struct foreign_reader *r, const cJSON *suite)
{
	double failures = 0, errors = 0, found = 0;
	const cJSON *child;

	if (strcmp(suite->string, "testsuite") != 0 || json_get(suite, "testsuite"))
		return;
	(void)text_parse_double(foreign_xml_text(suite, "@failures"), &failures);
	(void)text_parse_double(foreign_xml_text(suite, "@errors"), &errors);
	cJSON_ArrayForEach(child, suite) found += child->string && strcmp(child->string, "testcase") == 0 && find_failure(child) ? 1 : 0;
	if (find_failure(suite) || failures + errors > found)
		imported_exclude(&r->result->imported, IMPORTED_BAD_ROW, &(struct imported_place){ .line = (size_t)suite->valueint },
				 "suite '%s' reports failures outside of its test cases", TEXT_SANITIZED(foreign_xml_text(suite, "@name")));
}

/* Adds the tests below an element. */
static void suite_read(struct foreign_reader *r, const cJSON *element, struct suite suite)
{
	const char *machine = foreign_xml_text(element, "@hostname"), *time = foreign_xml_text(element, "@timestamp");
	const cJSON *child;

	suite.machine = *machine && strcmp(machine, "tbd") != 0 ? machine : suite.machine; /* Catch2 writes "tbd" */
	suite.time = *time ? time : suite.time;
	suite_check(r, element);
	if (strcmp(element->string, "testcase") == 0)
		test_add(r, element, &suite);
	else
		cJSON_ArrayForEach(child, element) suite_read(r, child, suite);
}

enum assay_status foreign_junit_read(struct foreign_reader *r, char *text, size_t n)
{
	(void)text, (void)n;
	suite_read(r, r->result->root, (struct suite){ "", "" });
	return !r->result->n_rows && r->result->imported.skipped[IMPORTED_BAD_NAME].count ? foreign_fail_no_machine(r) : ASSAY_OK;
}

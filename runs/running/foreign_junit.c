#include "runs/running/foreign_reader.h"

/* Attributes that test cases inherit from the suites around them. */
struct suite {
	const char *machine, *time; /* "" if none is given */
};

/* Reports whether the test was not run. The names of these states are those of CTest and GoogleTest. */
static bool is_skipped(const cJSON *test)
{
	static const char *const states[] = { "notrun", "disabled", "skipped", "suppressed" };
	const size_t n = sizeof(states) / sizeof(states[0]);

	return json_get(test, "skipped") || text_among(states, n, foreign_xml_text(test, "@status")) ||
	       text_among(states, n, foreign_xml_text(test, "@result"));
}

static void test_add(struct foreign_reader *r, const cJSON *test, const struct suite *suite)
{
	const cJSON *failure = json_get(test, "failure") ? json_get(test, "failure") : json_get(test, "error");
	struct foreign_row row =
	    foreign_row_of(r, (struct imported_place){ .line = (size_t)test->valueint }, foreign_machine(r, suite->machine));
	const char *class = foreign_xml_text(test, "@classname"), *name = foreign_xml_text(test, "@name"),
		   *seconds = foreign_xml_text(test, "@time");
	struct imported *imported = &r->result->imported;
	double value;

	row.name = strcmp(class, name) == 0 ? name : foreign_keep(r, mem_format("%s%s%s", class, *class ? "/" : "", name));
	row.thing = (double)r->result->n_rows;
	if (failure)
		foreign_row_fail(r, &row, EXECUTION_FAILED, "%s",
				 *foreign_xml_text(failure, "@message") ? foreign_xml_text(failure, "@message") : "the test failed");
	row.texts.result = seconds;
	if (!row.to.machine)
		imported_leave_out(imported, IMPORTED_BAD_NAME, &row.to.place, FOREIGN_NO_MACHINE);
	else if (is_skipped(test))
		imported_leave_out(imported, IMPORTED_NOT_MEASURED, &row.to.place, "%s was skipped", TEXT_SHOWN(row.name));
	else if (!failure && text_double(seconds, &value) && value == 0)
		imported_leave_out(imported, IMPORTED_NOT_MEASURED, &row.to.place, "%s took less time than the resolution of the file",
				   TEXT_SHOWN(row.name));
	else if (!failure && !*seconds)
		imported_leave_out(imported, IMPORTED_BAD_ROW, &row.to.place, "%s: it has no 'time'", TEXT_SHOWN(row.name));
	else if (foreign_row_time(r, &row, *suite->time ? suite->time : NULL))
		foreign_row_add(r, row);
}

/* Adds the tests below an element. */
static void suite_read(struct foreign_reader *r, const cJSON *element, struct suite suite)
{
	const char *machine = foreign_xml_text(element, "@hostname"), *time = foreign_xml_text(element, "@timestamp");
	const cJSON *child;

	suite.machine = *machine && strcmp(machine, "tbd") != 0 ? machine : suite.machine; /* Catch2 writes "tbd" */
	suite.time = *time ? time : suite.time;
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

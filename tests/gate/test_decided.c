/* Tests the decision in one line, as other programs receive it. */
#include "gate/render/decided.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Checks that the parts of a difference are named only for a finding, not for one that a night withdrew. */
static void test_cause(void **state)
{
	static const struct {
		enum decision decision;
		const char *text;
	} rows[] = { { DECISION_REGRESSION, "new takes 1.200 times as much CPU time as old (interval 1.100 to 1.300): +0.2 s computing" },
		     { DECISION_INCONCLUSIVE, "new takes 1.200 times as much CPU time as old (interval 1.100 to 1.300)" } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = decided_text(&(struct decision_record){ .application = "app",
								     .baseline = "old",
								     .candidate = "new",
								     .decision = rows[i].decision,
								     .ratio = 1.2,
								     .low = 1.1,
								     .high = 1.3,
								     .by_processor = true,
								     .cause = "+0.2 s computing" });

		assert_string_equal(text, rows[i].text);
		free(text);
	}
}

int suite_decided(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_cause) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

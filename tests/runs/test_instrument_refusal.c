/* Checks that libraries for measured programs are refused on hosts of another architecture. */
#include "runs/running/instrument.h"

#include "fleet/agent/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_refusal(void **state)
{
	const char *other = strcmp(PROGRAM_ARCHITECTURE, "aarch64") == 0 ? "x86_64" : "aarch64";
	char *text = instrument_refusal(other);

	(void)state;
	assert_non_null(text);
	assert_non_null(strstr(text, "hosts of " PROGRAM_ARCHITECTURE " alone"));
	assert_non_null(strstr(text, other));
	assert_non_null(strstr(text, "--exclude"));
	free(text);
	assert_null(instrument_refusal(PROGRAM_ARCHITECTURE));
	assert_null(instrument_refusal(NULL));
}

int suite_instrument_refusal(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_refusal) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Which runs are made once more: unusual ones alone, from the fifth on, a quarter at most; and what is kept of the first one. */
#include "runs/running/execute_host.c" /* which runs are repeated */

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool asks(struct repeat *repeat, size_t version, int64_t delay_ns)
{
	char *text = mem_format("{\"run_delay_ns\": %lld, \"steal_ns\": 0}", (long long)delay_ns);
	struct execution e = {
		.cell = { .version = version }, .outcome = EXECUTION_OK, .usage = { .wall_ns = 100000000 }, .signature = text
	};
	bool answer = repeat_asks(repeat, &e, .03);

	free(text);
	return answer;
}

static void test_asks(void **state)
{
	struct repeat repeat = { NULL, 0, 0, 0 };

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_false(asks(&repeat, 0, i == 2 ? 50000000 : 1000000));
	assert_false(asks(&repeat, 0, 3900000)); /* less than the threshold above what is usual */
	assert_true(asks(&repeat, 0, 4100000));
	assert_false(asks(&repeat, 1, 50000000));				/* of the other version nothing is known yet */
	assert_false(asks(&repeat, 0, 50000000) && asks(&repeat, 0, 50000000)); /* a quarter of eight or nine */
	repeat_release(&repeat);
}

static void test_failed(void **state)
{
	struct repeat repeat = { NULL, 0, 0, 0 };
	struct execution e = { .outcome = EXECUTION_FAILED };

	(void)state;
	assert_false(repeat_asks(&repeat, &e, .03));
	assert_true(repeat.runs == 0);
	repeat_release(&repeat);
}

static void test_join(void **state)
{
	char first_text[] = "{\"run_delay_ns\":7,\"samples\":\"0 forbidden\"}";
	struct execution first = { .metric = 3, .signature = first_text }, second = { .signature = mem_string("{\"run_delay_ns\":1}") };

	(void)state;
	repeat_join(&first, &second);
	assert_string_equal(second.signature, "{\"run_delay_ns\":1,\"repeated\":{\"run_delay_ns\":7,\"metric\":3}}");
	free(second.signature);
}

int suite_repeat(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_asks),

		cmocka_unit_test(test_failed),
		cmocka_unit_test(test_join),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Checks which symbols of two builds are the same function. */
#include "runs/inside/changes/match.c"

#include "tests/scratch.h"

static void test_same_symbols(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} rows[] = {
		{ "f", "f", true },
		{ "f", "g", false },
		{ "_Z1fv", "_Z1gv", false },
		{ "_RNvCsaENSZCjIpM2_1m1f", "_RNvCsbFOTADkJqN3_1m1f", true },
		{ "_RNvCsaENSZCjIpM2_1m1f", "_RNvC1m1f", true },
		{ "_RNvCsaENSZCjIpM2_1m1f", "_RNvCsaENSZCjIpM2_1m1g", false },
		{ "_ZN1m1f17h1a0c8b4bed187cffE", "_ZN1m1f17h75fb11023f70d29cE", true },
		{ "_ZN1m1f17h1a0c8b4bed187cffE", "_ZN1m1g17h1a0c8b4bed187cffE", false },
		{ "_ZN1m1f17h1a0c8b4bed187cffE", "_RNvC1m1f", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(is_same_symbol_text(rows[i].a, rows[i].b), rows[i].same);
		assert_int_equal(is_same_symbol_text(rows[i].b, rows[i].a), rows[i].same);
	}
}

int suite_match(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_same_symbols) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

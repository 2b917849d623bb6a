/* Call sites have numbers, the same ones for all threads. */
#include "runs/inside/interpose/interpose_look.c"

#include "tests/scratch.h"

/* Two threads come to a new site at once: for the second one it has no number yet, which is not that there is no room for one. */
static void numbered(void **state)
{
	static const struct {
		uint32_t number_and_2, expected;
	} rows[] = { { 0, INTERPOSE_LATER }, { 1, INTERPOSE_NO_SITE }, { 9, 7 } };
	const uint64_t key = 0x1234;
	struct shared_site *s = &shared_sites[(uint32_t)((key * 0x9e3779b97f4a7c15u) >> (64 - SITES_LOG2))];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		*s = (struct shared_site){ key, rows[i].number_and_2 };
		assert_int_equal(interpose_site_number(NULL, key, "write", NULL), rows[i].expected);
	}
	*s = (struct shared_site){ 0, 0 };
}

int suite_interpose_look(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(numbered) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests the CPU's counters of a thread: reading the kernel's page, and that unavailable counters are not read. */
#include "runs/inside/interpose/interpose_record.c"

#include "tests/scratch.h"

#include <string.h>

static void pages(void **state)
{
	struct perf_event_mmap_page page;

	(void)state;
	memset(&page, 0, sizeof(page));
	page.offset = 42;
	assert_int_equal(read_counter(&page), UINT64_MAX); /* only the kernel may read the counter */
	page.cap_user_rdpmc = 1;
	page.pmc_width = 48;
	assert_int_equal(read_counter(&page), 42); /* the event has no counter at the moment */
}

/* Checks the counters that this machine has, if any. */
static void threads(void **state)
{
	struct interpose_counter c;
	uint64_t before;

	(void)state;
	if (interpose_counter_begin(&c)) {
		assert_true(interpose_counts());
		before = interpose_counter_read(&c);
		for (volatile int i = 0; i < 100000; i++)
			;
		assert_true(interpose_counter_read(&c) > before);
	} else {
		assert_false(interpose_counts());
		assert_int_equal(interpose_counter_read(&c), UINT64_MAX);
		assert_false(interpose_counter_begin(&c)); /* does not try again */
	}
	interpose_counter_end(&c, false);
	assert_int_equal(interpose_counter_read(&c), UINT64_MAX);
}

/* Checks that another file with the same descriptor is not touched. */
static void others(void **state)
{
	struct interpose_counter c = { .id = 7 };
	int both[2];

	(void)state;
	assert_int_equal(pipe(both), 0);
	assert_int_equal(write(both[1], "12345678", 8), 8);
	c.file = both[0];
	assert_int_equal(interpose_counter_read(&c), UINT64_MAX);
	interpose_counter_end(&c, false);
	assert_int_equal(fcntl(both[0], F_GETFD), 0);
	close(both[0]);
	close(both[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(pages), cmocka_unit_test(threads), cmocka_unit_test(others) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

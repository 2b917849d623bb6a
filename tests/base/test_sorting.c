#include "base/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

struct thing {
	const char *name;
	int64_t size;
	double cost;
};

ORDER_BY(by_all, struct thing, BY_TEXT(name) BY_UP(size) BY_DOWN(cost))
ORDER_POINTERS_BY(by_size, struct thing, BY_DOWN(size) BY_PLACE)
ORDER_BY(by_number, double, BY_VALUE)
ORDER_BY(by_number_down, double, BY_VALUE_DOWN)

static void test_members(void **state)
{
	struct thing t[] = { { "b", 1, 1 }, { "a", 2, 1 }, { "a", 1, 1 }, { "a", 1, 2 } };

	(void)state;
	order_sort(t, 4, by_all);
	assert_string_equal(t[3].name, "b");
	assert_int_equal(t[2].size, 2);
	assert_float_equal(t[0].cost, 2, 0);
	assert_float_equal(t[1].cost, 1, 0);
	assert_int_equal(by_all(&t[0], &t[0]), 0);
}

static void test_pointers(void **state)
{
	struct thing t[] = { { "a", 1, 0 }, { "b", 2, 0 }, { "c", 2, 0 } }, *order[] = { &t[0], &t[2], &t[1] };

	(void)state;
	order_sort(order, 3, by_size);
	assert_ptr_equal(order[0], &t[1]);
	assert_ptr_equal(order[1], &t[2]);
	assert_ptr_equal(order[2], &t[0]);
}

static void test_numbers(void **state)
{
	double x[] = { 2, 3, 1 }, *none = NULL;

	(void)state;
	order_sort(none, 0, by_number);
	order_sort(x, 3, by_number);
	assert_true(x[0] < x[1] && x[1] < x[2]);
	order_sort(x, 3, by_number_down);
	assert_true(x[0] > x[1] && x[1] > x[2]);
}

int suite_sorting(void)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(test_members), cmocka_unit_test(test_pointers),
						   cmocka_unit_test(test_numbers) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

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

ORDER_BY(by_all, struct thing, BY_TEXT(name) BY_ASC(size) BY_DESC(cost))
ORDER_POINTERS_BY(by_size, struct thing, BY_DESC(size) BY_ADDRESS)
ORDER_BY(by_number, double, BY_VALUE)
ORDER_BY(by_number_down, double, BY_VALUE_DESC)

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

ORDER_LOWER_BOUND(size_at, struct thing, x->size < size, int64_t size)
ORDER_LOWER_BOUND(pointer_after, struct thing *const, (*x)->size <= size, int64_t size)
ORDER_LOWER_BOUND(both_at, struct thing, x->size < size || (x->size == size && strcmp(x->name, name) < 0), int64_t size, const char *name)

/* Checks the search against a linear search. */
static void test_first(void **state)
{
	struct thing t[] = { { "a", 1, 0 }, { "a", 3, 0 }, { "b", 3, 0 }, { "d", 3, 0 }, { "a", 4, 0 } };
	const struct thing *order[] = { &t[0], &t[1], &t[2], &t[3], &t[4] };

	(void)state;
	for (size_t n = 0; n <= 5; n++)
		for (int64_t size = 0; size < 6; size++) {
			size_t before = 0, until = 0;

			for (size_t i = 0; i < n; i++) {
				before += t[i].size < size;
				until += t[i].size <= size;
			}
			assert_int_equal(size_at(t, n, size), before);
			assert_int_equal(pointer_after(order, n, size), until);
		}
	assert_int_equal(both_at(t, 5, 3, "b"), 2);
	assert_int_equal(both_at(t, 5, 3, "c"), 3);
	assert_int_equal(both_at(t, 5, 3, "e"), 4);
	assert_int_equal(size_at(NULL, 0, 1), 0);
}

int suite_sorting(void)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(test_members), cmocka_unit_test(test_pointers),
						   cmocka_unit_test(test_numbers), cmocka_unit_test(test_first) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

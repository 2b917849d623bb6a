/* ORDER_BY() defines a comparison function for qsort() from a list of members. The first member that differs decides:
 *
 *	ORDER_BY(compare_points, struct history_point, BY_ASC(taken_ms) BY_TEXT(version) BY_TEXT(plan))
 *
 * defines static int compare_points(const void *, const void *). NaN compares equal to every value.
 *
 * ORDER_LOWER_BOUND() defines a binary search in a sorted array:
 *
 *	ORDER_LOWER_BOUND(point_at, struct history_point, x->taken_ms < taken_ms, int64_t taken_ms)
 *
 * defines static size_t point_at(const struct history_point *array, size_t n, int64_t taken_ms). The function returns the index of the
 * first element x for which the condition is false, or n. If the condition holds for an element, it must hold for all earlier ones. */
#ifndef BASE_ORDER_H
#define BASE_ORDER_H

#include <stdlib.h>
#include <string.h>

/* Sorts array[0..n). `array` may be NULL if n is 0. */
#define order_sort(array, n, compare) ((n) ? qsort(array, n, sizeof(*(array)), compare) : (void)0)

/* clang-format off */
#define ORDER_BY(name, type, keys)          ORDER_DEFINE(name, type, a, b, keys)
/* Defines a comparison like ORDER_BY(), but for an array of pointers to the structs. */
#define ORDER_POINTERS_BY(name, type, keys) ORDER_DEFINE(name, type, *(const type *const *)a, *(const type *const *)b, keys)

#define BY_TEXT(member) if ((order = strcmp(x->member, y->member)) != 0) return order;
#define BY_ASC(member)   if (x->member < y->member) return -1; else if (x->member > y->member) return 1;
#define BY_DESC(member) if (x->member > y->member) return -1; else if (x->member < y->member) return 1;
#define BY_VALUE        if (*x < *y) return -1; else if (*x > *y) return 1; /* for arrays of numbers: compares the elements themselves */
#define BY_VALUE_DESC   if (*x > *y) return -1; else if (*x < *y) return 1;
/* Compares the values after stats_round(), in descending order. For computed values, whose last bits may differ between machines. */
#define BY_ROUNDED_DESC(member)                                                                                  \
	if (stats_round(x->member) != stats_round(y->member)) return stats_round(x->member) > stats_round(y->member) ? -1 : 1;
#define BY_ADDRESS        if (x != y) return x < y ? -1 : 1; /* for pointers into one array, as last member: compares their addresses */

#define ORDER_DEFINE(name, type, first, second, keys)             \
	static int name(const void *a, const void *b)         \
	{                                                     \
		const type *x = first, *y = second;           \
		int order = 0;                                \
                                                              \
		keys                                          \
		return order;                                 \
	}

#define ORDER_LOWER_BOUND(name, type, is_before, ...)                          \
	static size_t name(const type *array, size_t n, __VA_ARGS__)     \
	{                                                                \
		size_t low = 0, high = n;                                \
                                                                         \
		while (low < high) {                                     \
			const size_t middle = low + (high - low) / 2;    \
			const type *x = &array[middle];                  \
                                                                         \
			if (is_before)                                   \
				low = middle + 1;                        \
			else                                             \
				high = middle;                           \
		}                                                        \
		return low;                                              \
	}
/* clang-format on */

#endif

/* Sorting. What arrays are sorted by is a row that names the members of a struct, the first of which differs decides:
 *
 *	ORDER_BY(compare_points, struct history_point, BY_UP(taken_ms) BY_TEXT(version) BY_TEXT(plan))
 *
 * defines static int compare_points(const void *, const void *). NaN equals everything. */
#ifndef BASE_ORDER_H
#define BASE_ORDER_H

#include <stdlib.h>
#include <string.h>

/* Sorts array[0..n), which may be NULL where n is 0. */
#define order_sort(array, n, compare) ((n) ? qsort(array, n, sizeof(*(array)), compare) : (void)0)

/* clang-format off */
#define ORDER_BY(name, type, keys)          ORDER_OF(name, type, a, b, keys)
/* Of pointers to such structs. */
#define ORDER_POINTERS_BY(name, type, keys) ORDER_OF(name, type, *(const type *const *)a, *(const type *const *)b, keys)

#define BY_TEXT(member) if ((order = strcmp(x->member, y->member)) != 0) return order;
#define BY_UP(member)   if (x->member < y->member) return -1; else if (x->member > y->member) return 1;
#define BY_DOWN(member) if (x->member > y->member) return -1; else if (x->member < y->member) return 1;
#define BY_VALUE        if (*x < *y) return -1; else if (*x > *y) return 1; /* of numbers themselves */
#define BY_VALUE_DOWN   if (*x > *y) return -1; else if (*x < *y) return 1;
#define BY_PLACE        if (x != y) return x < y ? -1 : 1; /* the last one: for pointers into one array */

#define ORDER_OF(name, type, first, second, keys)             \
	static int name(const void *a, const void *b)         \
	{                                                     \
		const type *x = first, *y = second;           \
		int order = 0;                                \
                                                              \
		keys                                          \
		return order;                                 \
	}
/* clang-format on */

#endif

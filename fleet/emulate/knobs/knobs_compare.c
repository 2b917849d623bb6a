/* qsort and bsearch that call the comparator ASSAY_KNOB_COMPARE times. They are preloaded into all programs of an emulated host. The
 * sorting is done by the C library's qsort_r, which is not replaced. */
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

typedef int comparison(const void *a, const void *b); /* the C standard has no name for this type */

EXPORT void qsort(void *items, size_t n, size_t size, comparison *compare);
EXPORT void *repeated_bsearch(const void *key, const void *items, size_t n, size_t size, comparison *compare) __asm__("bsearch");

static unsigned repetitions = 1;

struct wrapped {
	comparison *compare;
};

static int compare_repeated(const void *a, const void *b, void *arg)
{
	const struct wrapped *w = arg;
	int order = 0;

	for (unsigned i = 0; i < repetitions; i++)
		order = w->compare(a, b);
	return order;
}

void qsort(void *items, size_t n, size_t size, comparison *compare)
{
	struct wrapped w = { compare };

	qsort_r(items, n, size, compare_repeated, &w);
}

void *repeated_bsearch(const void *key, const void *items, size_t n, size_t size, comparison *compare)
{
	struct wrapped w = { compare };
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		union {
			const char *from;
			void *to;
		} item = { .from = (const char *)items + middle * size };
		int order = compare_repeated(key, item.from, &w);

		if (!order)
			return item.to;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

__attribute__((constructor)) static void start(void)
{
	const char *level = getenv("ASSAY_KNOB_COMPARE");
	unsigned value = 0;

	for (; level && *level >= '0' && *level <= '9' && value < 1000000; level++)
		value = value * 10 + (unsigned)(*level - '0');
	repetitions = value ? value : 1;
}

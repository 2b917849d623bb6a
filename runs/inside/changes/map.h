/* A hash map from numbers to numbers, with open addressing, for keys such as offsets of debug information and pairs of addresses. Search in
 * arrays sorted by a number. A set of texts kept once each, so that equal texts have equal pointers. */
#ifndef RUNS_CHANGES_MAP_H
#define RUNS_CHANGES_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map {
	struct map_slot *slots; /* [capacity], a power of two */
	size_t n, capacity;
};

bool map_get(const struct map *map, uint64_t key, size_t *value); /* false: *value is unchanged */
void map_set(struct map *map, uint64_t key, size_t value);	  /* adds or replaces; O(1) */
void map_release(struct map *map);				  /* accepts zeroed */

uint64_t map_mix(uint64_t a, uint64_t b);	/* one number from two, for keys and hashes */
uint64_t map_hash(const char *bytes, size_t n); /* hash of a text, only valid in this process */

/* Arrays of items that have `size` bytes and start with a uint64_t. map_sort() sorts them by it and, if a second one follows, by that. */
void map_sort(void *items, size_t n, size_t size);
/* Returns how many of the sorted items[n] are below a key. O(log n). */
size_t map_below(const void *items, size_t n, size_t size, uint64_t key);
/* Returns the index of the last item at or below a key; SIZE_MAX if there is none. */
size_t map_last(const void *items, size_t n, size_t size, uint64_t key);

struct intern {
	char **texts; /* [n], owned */
	size_t n, capacity;
	struct map by_hash; /* the last text with a hash */
	size_t *previous;   /* [n], the previous one with the same hash, or SIZE_MAX */
};

/* Returns the text, kept until intern_release(). */
const char *intern_text(struct intern *intern, const char *text);
const char *intern_find(const struct intern *intern, const char *text); /* NULL if it is not kept */
const char *intern_bytes(struct intern *intern, const char *bytes, size_t n);
/* Returns the path, prefixed by `directory` (may be NULL) if it is relative, without "//", "/./" and "/../" as far as the text shows. */
const char *intern_path(struct intern *intern, const char *directory, const char *path);
void intern_release(struct intern *intern); /* accepts zeroed */

#endif

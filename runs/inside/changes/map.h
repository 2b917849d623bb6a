/* A hash map from numbers to numbers with open addressing, for keys such as offsets of debug information. Search in arrays that are sorted
 * by a number. A set of texts that keeps each text once, so that equal texts have equal pointers. */
#ifndef RUNS_CHANGES_MAP_H
#define RUNS_CHANGES_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map {
	struct map_slot *slots; /* [capacity] capacity is a power of two */
	size_t n, capacity;
};

bool map_get(const struct map *map, uint64_t key, size_t *value); /* if the key is missing, returns false and leaves *value unchanged */
void map_set(struct map *map, uint64_t key, size_t value);	  /* adds or replaces an element; O(1) */
void map_release(struct map *map);				  /* accepts a zeroed struct */

uint64_t map_combine(uint64_t a, uint64_t b);	/* combines two numbers into one, for keys and hashes */
uint64_t map_hash(const char *bytes, size_t n); /* returns the hash of a text; it differs between processes */

/* Sorts items of `size` bytes by the uint64_t at their start, and by a second uint64_t if one follows. The next functions search them. */
void map_sort(void *items, size_t n, size_t size);
/* Returns the number of the sorted items[n] that are below `key`. O(log n). */
size_t map_count_below(const void *items, size_t n, size_t size, uint64_t key);
/* Returns the index of the last item at or below `key`; SIZE_MAX if there is none. */
size_t map_find_last(const void *items, size_t n, size_t size, uint64_t key);

struct intern {
	char **texts; /* [n] texts, owned by the set */
	size_t n, capacity;
	struct map by_hash; /* map from each hash to the index of the last text with it */
	size_t *previous;   /* [n] index of the previous text with the same hash; SIZE_MAX if none */
};

/* Returns the set's copy of a text, valid until intern_release(). Adds the text if it is missing. */
const char *intern_text(struct intern *intern, const char *text);
const char *intern_find(const struct intern *intern, const char *text); /* returns the set's copy; NULL if the set lacks the text */
const char *intern_bytes(struct intern *intern, const char *bytes, size_t n);
/* Returns the set's copy of a path, with `directory`, unless NULL, before a relative path. Removes "//", "/./" and, if possible, "/../". */
const char *intern_path(struct intern *intern, const char *directory, const char *path);
void intern_release(struct intern *intern); /* accepts a zeroed struct */

#endif

#include "runs/inside/changes/map.h"

#include "base/mem.h"

struct map_slot {
	uint64_t key;
	size_t value;
	bool used;
};

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014). */
uint64_t map_mix(uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9e3779b97f4a7c15u + b;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

uint64_t map_hash(const char *bytes, size_t n)
{
	uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
	return hash;
}

/* The slot of the key, or the free one where it belongs. */
static struct map_slot *map_find(const struct map *map, uint64_t key)
{
	size_t i = (size_t)map_mix(key, 0) & (map->capacity - 1);

	while (map->slots[i].used && map->slots[i].key != key)
		i = (i + 1) & (map->capacity - 1);
	return &map->slots[i];
}

bool map_get(const struct map *map, uint64_t key, size_t *value)
{
	const struct map_slot *slot;

	if (!map->capacity)
		return false;
	slot = map_find(map, key);
	if (slot->used)
		*value = slot->value;
	return slot->used;
}

static void map_enlarge(struct map *map)
{
	struct map larger = { .capacity = map->capacity ? 2 * map->capacity : 64 };

	larger.slots = mem_new(larger.capacity, sizeof(*larger.slots));
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].used)
			*map_find(&larger, map->slots[i].key) = map->slots[i];
	larger.n = map->n;
	map_release(map);
	*map = larger;
}

void map_set(struct map *map, uint64_t key, size_t value)
{
	struct map_slot *slot;

	if (2 * map->n >= map->capacity)
		map_enlarge(map);
	slot = map_find(map, key);
	map->n += !slot->used;
	*slot = (struct map_slot){ key, value, true };
}

void map_release(struct map *map)
{
	free(map->slots);
	*map = (struct map){ .slots = NULL };
}

/* ---- sorted arrays ---- */

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "arrays of indices are sorted and searched, too");

static int compare_numbers(const void *a, const void *b, void *size)
{
	uint64_t x[2] = { 0 }, y[2] = { 0 };
	size_t n = *(const size_t *)size < sizeof(x) ? sizeof(x[0]) : sizeof(x);

	memcpy(x, a, n);
	memcpy(y, b, n);
	if (x[0] != y[0])
		return x[0] < y[0] ? -1 : 1;
	return x[1] < y[1] ? -1 : x[1] > y[1];
}

void map_sort(void *items, size_t n, size_t size)
{
	if (n)
		qsort_r(items, n, size, compare_numbers, &size);
}

/* How many are below the key, or also at it. */
static size_t map_count(const void *items, size_t n, size_t size, uint64_t key, bool at_key)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = (low + high) / 2;
		uint64_t value;

		memcpy(&value, (const char *)items + middle * size, sizeof(value));
		if (value < key || (at_key && value == key))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t map_below(const void *items, size_t n, size_t size, uint64_t key)
{
	return map_count(items, n, size, key, false);
}

size_t map_last(const void *items, size_t n, size_t size, uint64_t key)
{
	return map_count(items, n, size, key, true) - 1; /* 0 - 1 is SIZE_MAX */
}

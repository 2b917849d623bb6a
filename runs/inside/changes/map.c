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

/* The slot of the key, or the free one where it belongs. */
static struct map_slot *find(const struct map *map, uint64_t key)
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
	slot = find(map, key);
	if (slot->used)
		*value = slot->value;
	return slot->used;
}

static void enlarge(struct map *map)
{
	struct map larger = {.capacity = map->capacity ? 2 * map->capacity : 64};

	larger.slots = mem_new(larger.capacity, sizeof(*larger.slots));
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].used)
			*find(&larger, map->slots[i].key) = map->slots[i];
	larger.n = map->n;
	map_release(map);
	*map = larger;
}

void map_set(struct map *map, uint64_t key, size_t value)
{
	struct map_slot *slot;

	if (2 * map->n >= map->capacity)
		enlarge(map);
	slot = find(map, key);
	map->n += !slot->used;
	*slot = (struct map_slot){key, value, true};
}

void map_release(struct map *map)
{
	free(map->slots);
	*map = (struct map){.slots = NULL};
}

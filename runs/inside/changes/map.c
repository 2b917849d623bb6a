#include "runs/inside/changes/map.h"

#include "base/mem.h"

#include <pthread.h>
#include <sys/random.h>

struct map_slot {
	uint64_t key;
	size_t value;
	bool used;
};

/* Returns a hash of two numbers, by the finalizer of splitmix64 (Steele, Lea, Flood 2014). */
uint64_t map_combine(uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9e3779b97f4a7c15u + b;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* ---- hashes of texts ---- */

static uint64_t secret; /* random number of this process; 0 if the system has no random numbers */

static void draw_secret(void)
{
	if (getrandom(&secret, sizeof(secret), GRND_NONBLOCK) != (ssize_t)sizeof(secret))
		secret = 0;
}

/* Starts the hash from the secret, so that no file can be made to contain many texts with the same hash. */
uint64_t map_hash(const char *bytes, size_t n)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint64_t hash, word;

	pthread_once(&once, draw_secret);
	hash = map_combine(secret, n);
	for (size_t at = 0; at < n; at += sizeof(word)) {
		word = 0;
		memcpy(&word, bytes + at, n - at < sizeof(word) ? n - at : sizeof(word));
		hash = map_combine(hash, word);
	}
	return hash;
}

/* ---- the map ---- */

/* Returns the slot of the key, or a free slot for it. */
static struct map_slot *map_find(const struct map *map, uint64_t key)
{
	size_t i = (size_t)map_combine(key, 0) & (map->capacity - 1);

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

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "arrays of indexes can be sorted and searched");

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

/* Returns the number of items below the key, including items equal to the key if `at_key`. */
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

size_t map_count_below(const void *items, size_t n, size_t size, uint64_t key)
{
	return map_count(items, n, size, key, false);
}

size_t map_find_last(const void *items, size_t n, size_t size, uint64_t key)
{
	return map_count(items, n, size, key, true) - 1; /* 0 - 1 is SIZE_MAX */
}

/* ---- the set of texts ---- */

static void intern_grow(struct intern *intern)
{
	size_t capacity = intern->capacity;

	intern->texts = mem_grow(intern->texts, intern->n, &intern->capacity, sizeof(*intern->texts));
	if (capacity != intern->capacity)
		intern->previous = mem_resize(intern->previous, intern->capacity, sizeof(*intern->previous));
}

static const char *intern_find_in_chain(const struct intern *intern, const char *bytes, size_t n, size_t last)
{
	for (size_t i = last; i != SIZE_MAX; i = intern->previous[i])
		if (!strncmp(intern->texts[i], bytes, n) && !intern->texts[i][n])
			return intern->texts[i];
	return NULL;
}

const char *intern_find(const struct intern *intern, const char *text)
{
	size_t n = strlen(text), last = SIZE_MAX;

	map_get(&intern->by_hash, map_hash(text, n), &last);
	return intern_find_in_chain(intern, text, n, last);
}

const char *intern_bytes(struct intern *intern, const char *bytes, size_t n)
{
	uint64_t hash = map_hash(bytes, n);
	const char *found;
	size_t last = SIZE_MAX;

	map_get(&intern->by_hash, hash, &last);
	found = intern_find_in_chain(intern, bytes, n, last);
	if (found)
		return found;
	intern_grow(intern);
	intern->texts[intern->n] = mem_bytes(bytes, n);
	intern->previous[intern->n] = last;
	map_set(&intern->by_hash, hash, intern->n);
	return intern->texts[intern->n++];
}

const char *intern_text(struct intern *intern, const char *text)
{
	return intern_bytes(intern, text, strlen(text));
}

/* Removes the last component of clean[0..n) and returns the new length. Returns SIZE_MAX if there is no component, or it is "..". */
static size_t remove_last_component(const char *clean, size_t n, bool absolute)
{
	size_t start = n;

	while (start && clean[start - 1] != '/')
		start--;
	if (n - start == 2 && !memcmp(clean + start, "..", 2))
		return SIZE_MAX;
	if (n == start)
		return absolute ? n : SIZE_MAX;
	return start > 1 ? start - 1 : start;
}

static void path_add(char *clean, size_t *n, const char *part, size_t length, bool absolute)
{
	size_t shorter;

	if (!length || (length == 1 && part[0] == '.'))
		return;
	if (length == 2 && !memcmp(part, "..", 2)) {
		shorter = remove_last_component(clean, *n, absolute);
		if (shorter != SIZE_MAX) {
			*n = shorter;
			return;
		}
	}
	if (*n && clean[*n - 1] != '/')
		clean[(*n)++] = '/';
	memcpy(clean + *n, part, length);
	*n += length;
}

const char *intern_path(struct intern *intern, const char *directory, const char *path)
{
	char *whole = path[0] == '/' || !directory ? mem_string(path) : mem_format("%s/%s", directory, path);
	char *clean = mem_new(strlen(whole) + 2, 1);
	bool absolute = whole[0] == '/';
	const char *result;
	size_t n = 0;

	if (absolute)
		clean[n++] = '/';
	for (const char *at = whole; *at;) {
		size_t length = strcspn(at, "/");

		path_add(clean, &n, at, length, absolute);
		at += length + (at[length] == '/');
	}
	result = intern_bytes(intern, clean, n);
	mem_free(clean, whole);
	return result;
}

void intern_release(struct intern *intern)
{
	mem_free_all(intern->texts, intern->n);
	free(intern->previous);
	map_release(&intern->by_hash);
	*intern = (struct intern){ .texts = NULL };
}

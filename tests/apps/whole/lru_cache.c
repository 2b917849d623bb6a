/* Threads serve requests, each from its own cache: a hash table with chains, a list by age, and a free list. Every seventh request is a
 * long scan. With BAD, the table has half as many buckets, and searches in the chains take a quarter longer. */
#include "../app.h"

#define CAPACITY 512
#define KEYS	 640
#ifdef BAD
#define BUCKETS 256
#else
#define BUCKETS 512
#endif
#define SCAN 24 /* number of keys in a long request */

struct entry {
	uint64_t key, value;
	struct entry *chain, *newer, *older;
};

struct cache {
	struct entry *buckets[BUCKETS], *newest, *oldest, *unused;
	struct entry entries[CAPACITY];
	uint64_t state, answers;
	char apart[LINE];
};

static struct cache *caches;

FUNCTION unsigned bucket_of(uint64_t key)
{
	key = (key ^ key >> 31) * 0x9e3779b97f4a7c15u;
	return (unsigned)(key >> 40) % BUCKETS;
}

FUNCTION struct entry *bucket_find(struct entry *at, uint64_t key)
{
	while (at && at->key != key)
		at = at->chain;
	return at;
}

FUNCTION void age_unlink(struct cache *c, struct entry *e)
{
	if (e->newer)
		e->newer->older = e->older;
	else
		c->newest = e->older;
	if (e->older)
		e->older->newer = e->newer;
	else
		c->oldest = e->newer;
}

FUNCTION void age_front(struct cache *c, struct entry *e)
{
	e->newer = NULL;
	e->older = c->newest;
	if (c->newest)
		c->newest->newer = e;
	else
		c->oldest = e;
	c->newest = e;
}

FUNCTION struct entry *entry_new(struct cache *c)
{
	struct entry *e = c->unused;

	if (e)
		c->unused = e->chain;
	return e;
}

FUNCTION void evict(struct cache *c)
{
	struct entry *e = c->oldest, **at = &c->buckets[bucket_of(e->key)];

	while (*at != e)
		at = &(*at)->chain;
	*at = e->chain;
	age_unlink(c, e);
	e->chain = c->unused;
	c->unused = e;
}

FUNCTION uint64_t compute(uint64_t key)
{
	volatile uint64_t parts[8] = { key };

	for (int i = 1; i < 8; i++)
		parts[i] = parts[i - 1] * 31 + key;
	return parts[7];
}

FUNCTION uint64_t cache_get(struct cache *c, uint64_t key)
{
	struct entry *e = bucket_find(c->buckets[bucket_of(key)], key);

	if (e) {
		age_unlink(c, e);
	} else {
		e = entry_new(c);
		if (!e) {
			evict(c);
			e = entry_new(c);
		}
		e->key = key;
		e->value = compute(key);
		e->chain = c->buckets[bucket_of(key)];
		c->buckets[bucket_of(key)] = e;
	}
	age_front(c, e);
	return e->value;
}

FUNCTION void request(struct cache *c, long number)
{
	uint64_t key = app_random(&c->state) % KEYS;
	int keys = number % 7 == 6 ? SCAN : 2;

	for (int i = 0; i < keys; i++)
		c->answers += cache_get(c, (key + (uint64_t)i * 7) % KEYS);
}

static void serve(unsigned thread)
{
	struct cache *c = &caches[thread];

	c->state = app.seed + thread;
	for (int i = 0; i < CAPACITY; i++) {
		c->entries[i].chain = c->unused;
		c->unused = &c->entries[i];
	}
	for (long i = app_from(thread, app.size); i < app_to(thread, app.size); i++)
		request(c, i);
}

int main(int argc, char **argv)
{
	uint64_t total = 0;

	app_begin(argc, argv, 20000);
	caches = app_lines(app.threads * sizeof(*caches));
	app_run(serve);
	for (unsigned i = 0; i < app.threads; i++)
		total += caches[i].answers;
	app_end(total);
	return 0;
}

/* Threads look up numbers in a common tree. Only the allocating function differs between the variants. With BAD, the nodes, defined in a
 * header, are sixteen times as large, so that descend() misses the caches. */
#include "../app.h"

#include "tree_index.h"

#define NODES 8191

static struct index_node *nodes;
static struct own {
	_Alignas(LINE) uint64_t state, found, steps;
	uint32_t recent[8];
} *owns;

FUNCTION uint32_t descend(uint32_t at, uint32_t key)
{
	while (at && nodes[at].key != key)
		at = key < nodes[at].key ? nodes[at].left : nodes[at].right;
	return at;
}

FUNCTION uint32_t next_key(struct own *own)
{
	return (uint32_t)(app_random(&own->state) % (2 * NODES)) | 1;
}

FUNCTION int is_recent(const struct own *own, uint32_t key)
{
	for (int i = 0; i < 8; i++) {
		if (own->recent[i] == key)
			return 1;
	}
	return 0;
}

FUNCTION void remember(struct own *own, uint32_t key)
{
	own->recent[own->steps++ % 8] = key;
}

FUNCTION void query(struct own *own)
{
	uint32_t key = next_key(own);

	if (is_recent(own, key))
		return;
	remember(own, key);
	own->found += descend(1, key) != 0;
}

/* Builds the subtree of the numbers 2 * i + 1 for i in [low, high], with nodes in breadth-first order and its root at index `at`. */
FUNCTION void plant(uint32_t at, uint32_t low, uint32_t high)
{
	uint32_t middle = low + (high - low) / 2;

	nodes[at].key = 2 * middle + 1;
	if (low < middle) {
		nodes[at].left = 2 * at;
		plant(2 * at, low, middle - 1);
	}
	if (middle < high) {
		nodes[at].right = 2 * at + 1;
		plant(2 * at + 1, middle + 1, high);
	}
}

FUNCTION void allocate(void)
{
	nodes = app_lines((NODES + 1) * sizeof(*nodes));
	owns = app_lines(app.threads * sizeof(*owns));
}

static void work(unsigned thread)
{
	owns[thread].state = app.seed + thread;
	for (long i = app_from(thread, app.size); i < app_to(thread, app.size); i++)
		query(&owns[thread]);
}

int main(int argc, char **argv)
{
	uint64_t total = 0;

	app_begin(argc, argv, 20000);
	allocate();
	plant(1, 0, NODES - 1);
	app_run(work);
	for (unsigned i = 0; i < app.threads; i++)
		total += owns[i].found;
	app_end(total);
	return 0;
}

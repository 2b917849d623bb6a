/* Adds up the values of a list whose nodes are in memory order. With BAD, the list visits the nodes in random order. */
#include "app.h"

#define ROUNDS 16

struct node {
	struct node *next;
	uint64_t value;
	char rest[LINE - 2 * sizeof(uint64_t)];
};

static struct node *nodes;

FUNCTION uint64_t add_all(const struct node *first)
{
	uint64_t sum = 0;

	for (const struct node *n = first; n; n = n->next)
		sum += n->value;
	return sum;
}

/* Links the nodes in memory order or, with BAD, in random order. Returns the first node. */
static struct node *link_nodes(long n)
{
	long *order = malloc((size_t)n * sizeof(*order));
	uint64_t state = app.seed;
	struct node *first;

	for (long i = 0; order && i < n; i++)
		order[i] = i;
#ifdef BAD
	for (long i = n - 1; i > 0; i--) {
		long k = (long)(app_random(&state) % (uint64_t)(i + 1)), other = order[k];

		order[k] = order[i];
		order[i] = other;
	}
#endif
	(void)state;
	for (long i = 0; i + 1 < n; i++)
		nodes[order[i]].next = &nodes[order[i + 1]];
	first = &nodes[order[0]];
	free(order);
	return first;
}

int main(int argc, char **argv)
{
	uint64_t total = 0;
	struct node *first;

	app_begin(argc, argv, 200000);
	nodes = app_lines((size_t)app.size * sizeof(*nodes));
	for (long i = 0; i < app.size; i++)
		nodes[i].value = (uint64_t)i;
	first = link_nodes(app.size);
	for (int round = 0; round < ROUNDS; round++)
		total += add_all(first);
	app_end(total);
	return 0;
}

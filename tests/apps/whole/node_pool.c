/* Runs rounds of short-lived threads. Each builds ordered sets and deletes them. Its nodes come from a pool that the threads of the next
 * round reuse. With BAD, each node is allocated and freed. */
#include "../app.h"

#define ROUNDS	4
#define MEMBERS 48
#define PER_POOL 512

struct node {
	struct node *left, *right;
	uint64_t key;
};

struct pool {
	struct node *unused;
	struct node nodes[PER_POOL];
	uint64_t state, members, height;
	char apart[LINE];
};

static struct pool *pools;
static long round_size;

FUNCTION struct node *node_new(struct pool *pool)
{
#ifdef BAD
	(void)pool;
	return malloc(sizeof(struct node));
#else
	struct node *n = pool->unused;

	pool->unused = n->left;
	return n;
#endif
}

FUNCTION void node_free(struct pool *pool, struct node *n)
{
#ifdef BAD
	(void)pool;
	free(n);
#else
	n->left = pool->unused;
	pool->unused = n;
#endif
}

FUNCTION struct node *insert(struct pool *pool, struct node *root, uint64_t key)
{
	struct node **at = &root;

	while (*at) {
		if ((*at)->key == key)
			return root;
		at = key < (*at)->key ? &(*at)->left : &(*at)->right;
	}
	*at = node_new(pool);
	(*at)->key = key;
	(*at)->left = (*at)->right = NULL;
	return root;
}

FUNCTION unsigned height(const struct node *n)
{
	unsigned l, r;

	if (!n)
		return 0;
	l = height(n->left);
	r = height(n->right);
	return 1 + (l > r ? l : r);
}

FUNCTION unsigned drop(struct pool *pool, struct node *n)
{
	unsigned members;

	if (!n)
		return 0;
	members = 1 + drop(pool, n->left) + drop(pool, n->right);
	node_free(pool, n);
	return members;
}

FUNCTION void one_set(struct pool *pool)
{
	struct node *root = NULL;

	for (int i = 0; i < MEMBERS; i++)
		root = insert(pool, root, app_random(&pool->state) % 1000);
	pool->height += height(root);
	pool->members += drop(pool, root);
}

static void work(unsigned thread)
{
	for (long i = app_from(thread, round_size); i < app_to(thread, round_size); i++)
		one_set(&pools[thread]);
}

FUNCTION void make_pools(void)
{
	pools = app_lines(app.threads * sizeof(*pools));
	for (unsigned i = 0; i < app.threads; i++) {
		pools[i].state = app.seed + i;
		for (int k = 0; k < PER_POOL; k++) {
			pools[i].nodes[k].left = pools[i].unused;
			pools[i].unused = &pools[i].nodes[k];
		}
	}
}

int main(int argc, char **argv)
{
	uint64_t total = 0;

	app_begin(argc, argv, 800);
	make_pools();
	round_size = app.size / ROUNDS;
	for (int i = 0; i < ROUNDS; i++)
		app_run(work);
	for (unsigned i = 0; i < app.threads; i++)
		total += pools[i].members * 64 + pools[i].height;
	app_end(total);
	return 0;
}

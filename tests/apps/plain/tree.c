/* An AVL tree with insertion, removal and range queries, all recursive. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
#if FAULT == 2
	char note[200];
#endif
#if TIDY
	struct node *right, *left;
	int height;
	uint32_t key, value;
#else
	uint32_t key, value;
	int height;
	struct node *left, *right;
#endif
};

static uint64_t state;

static uint32_t rnd(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33);
}

static int height(const struct node *n)
{
#if FAULT == 1
	int l, r;

	if (!n)
		return 0;
	if (n->height < 4) {
		l = height(n->left);
		r = height(n->right);
		return 1 + (l > r ? l : r);
	}
#endif
	return n ? n->height : 0;
}

static void update(struct node *n)
{
	int l = height(n->left), r = height(n->right);

	n->height = 1 + (l > r ? l : r);
}

static struct node *rotate_right(struct node *n)
{
	struct node *l = n->left;

	n->left = l->right;
	l->right = n;
	update(n);
	update(l);
	return l;
}

static struct node *rotate_left(struct node *n)
{
	struct node *r = n->right;

	n->right = r->left;
	r->left = n;
	update(n);
	update(r);
	return r;
}

static struct node *balance(struct node *n)
{
	int lean = height(n->left) - height(n->right);

	update(n);
	if (lean > 1) {
		if (height(n->left->left) < height(n->left->right))
			n->left = rotate_left(n->left);
		return rotate_right(n);
	}
	if (lean < -1) {
		if (height(n->right->right) < height(n->right->left))
			n->right = rotate_right(n->right);
		return rotate_left(n);
	}
	return n;
}

static struct node *node_new(uint32_t key)
{
	struct node *n = calloc(1, sizeof(*n));

	n->key = key;
	n->height = 1;
	n->value = key * 2654435761u;
	return n;
}

static struct node *insert(struct node *n, uint32_t key)
{
	if (!n)
		return node_new(key);
	if (key < n->key)
		n->left = insert(n->left, key);
	else if (key > n->key)
		n->right = insert(n->right, key);
	else
		return n;
	return balance(n);
}

static struct node *take_least(struct node *n, struct node **least)
{
	if (!n->left) {
		*least = n;
		return n->right;
	}
	n->left = take_least(n->left, least);
	return balance(n);
}

#if TIDY
static struct node *join_children(struct node *n)
{
	struct node *least, *rest;

	if (!n->left)
		return n->right;
	if (!n->right)
		return n->left;
	rest = take_least(n->right, &least);
	least->left = n->left;
	least->right = rest;
	return balance(least);
}
#endif

static struct node *delete_key(struct node *n, uint32_t key)
{
	if (!n)
		return NULL;
	if (key < n->key) {
		n->left = delete_key(n->left, key);
	} else if (key > n->key) {
		n->right = delete_key(n->right, key);
	} else {
#if TIDY
		struct node *out = join_children(n);

		free(n);
		return out;
#else
		struct node *l = n->left, *r = n->right, *least;

		free(n);
		if (!l || !r)
			return l ? l : r;
		r = take_least(r, &least);
		least->left = l;
		least->right = r;
		return balance(least);
#endif
	}
	return balance(n);
}

static uint64_t range_sum(const struct node *n, uint32_t low, uint32_t high)
{
	uint64_t sum = 0;

	if (!n)
		return 0;
	if (n->key > low)
		sum += range_sum(n->left, low, high);
	if (n->key >= low && n->key <= high)
		sum += n->value;
	if (n->key < high)
		sum += range_sum(n->right, low, high);
	return sum;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 3000;
	struct node *root = NULL;
	uint64_t sum = 0;

	state = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	for (int i = 0; i < n; i++)
		root = insert(root, rnd() % 100000);
	for (int i = 0; i < n; i++) {
		root = delete_key(root, rnd() % 100000);
		root = insert(root, rnd() % 100000);
		if (i % 8 == 0) {
			uint32_t low = rnd() % 100000;

			sum += range_sum(root, low, low + 2000);
		}
	}
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}

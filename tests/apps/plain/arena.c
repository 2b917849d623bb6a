/* Parses and evaluates arithmetic expressions; the nodes of each expression are in an arena, which is reused. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 16384

struct chunk {
	struct chunk *next;
	size_t used;
	char bytes[CHUNK];
};

struct arena {
	struct chunk *first, *now;
};

struct node {
	char op;
	long value;
	struct node *left, *right;
};

struct parser {
	const char *p;
	struct arena *arena;
};

#if TIDY
static struct chunk *arena_next_chunk(struct arena *a)
{
	struct chunk *c = a->now->next;

	if (!c) {
		c = calloc(1, sizeof(*c));
		a->now->next = c;
	}
	c->used = 0;
	a->now = c;
	return c;
}
#endif

static void *arena_alloc(struct arena *a, size_t n)
{
	struct chunk *c = a->now;

#if FAULT == 1
	return malloc(n);
#endif
	n = (n + 15) & ~(size_t)15;
	if (c->used + n > CHUNK) {
#if TIDY
		c = arena_next_chunk(a);
#else
		if (!c->next)
			c->next = calloc(1, sizeof(*c));
		c = a->now = c->next;
		c->used = 0;
#endif
	}
	c->used += n;
	return c->bytes + c->used - n;
}

static void arena_reset(struct arena *a)
{
#if FAULT == 2
	for (struct chunk *c = a->first; c; c = c->next)
		memset(c->bytes, 0, CHUNK);
#endif
	a->now = a->first;
	a->now->used = 0;
}

static struct node *node_new(struct parser *ps, char op, struct node *left, struct node *right)
{
	struct node *n = arena_alloc(ps->arena, sizeof(*n));

	n->op = op;
	n->value = 0;
	n->left = left;
	n->right = right;
	return n;
}

static struct node *parse_sum(struct parser *ps);

static struct node *parse_atom(struct parser *ps)
{
	struct node *n;

	if (*ps->p == '(') {
		ps->p++;
		n = parse_sum(ps);
		ps->p++;
		return n;
	}
	n = node_new(ps, 'n', NULL, NULL);
	while (*ps->p >= '0' && *ps->p <= '9')
		n->value = n->value * 10 + *ps->p++ - '0';
	return n;
}

static struct node *parse_product(struct parser *ps)
{
	struct node *n = parse_atom(ps);

	while (*ps->p == '*') {
		ps->p++;
		n = node_new(ps, '*', n, parse_atom(ps));
	}
	return n;
}

static struct node *parse_sum(struct parser *ps)
{
	struct node *n = parse_product(ps);

	while (*ps->p == '+' || *ps->p == '-') {
		char op = *ps->p++;

		n = node_new(ps, op, n, parse_product(ps));
	}
	return n;
}

static long evaluate(const struct node *n)
{
	long l, r;

	if (n->op == 'n')
		return n->value;
	l = evaluate(n->left);
	r = evaluate(n->right);
	return n->op == '+' ? l + r : n->op == '-' ? l - r : (l * r) % 1000003;
}

static void tree_free(struct node *n)
{
	if (!n)
		return;
	tree_free(n->left);
	tree_free(n->right);
	free(n);
}

static uint32_t seed;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

static char *write_expression(char *p, int depth)
{
	if (depth == 0 || rnd(5) == 0)
		return p + sprintf(p, "%u", rnd(1000));
	*p++ = '(';
	p = write_expression(p, depth - 1);
	*p++ = "+-*"[rnd(3)];
	p = write_expression(p, depth - 1);
	*p++ = ')';
	return p;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 300;
	static char text[65536];
	struct arena a;
	long sum = 0;

	seed = argc > 2 ? (uint32_t)atoi(argv[2]) : 1;
	a.first = a.now = calloc(1, sizeof(struct chunk));
	for (int i = 0; i < n; i++) {
		struct parser ps = { text, &a };
		struct node *root;

		*write_expression(text, 4 + i % 5) = 0;
		root = parse_sum(&ps);
		sum += evaluate(root);
#if FAULT == 1
		tree_free(root);
#else
		(void)tree_free;
#endif
		arena_reset(&a);
	}
	printf("%ld\n", sum);
	return 0;
}

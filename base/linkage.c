#include "base/linkage.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <stdbool.h>

/* A cluster is known by its lowest item. Distances between clusters overwrite those of their lowest items. */
struct clusters {
	struct mat distance; /* our copy */
	size_t *size;        /* items in it; 0 when it became part of another */
	double *height;      /* of the last merge within it */
	size_t *root;        /* of each item in what lies below the cut: itself, or an item that is nearer to the root */
	size_t *chain;       /* each one's nearest neighbour is the next; distances fall along it */
	size_t depth;
};

static struct clusters clusters_new(const struct mat *distance)
{
	size_t n = distance->rows;
	struct clusters c = { mat_new(n, n), mem_new(n, sizeof(size_t)), mem_new(n, sizeof(double)), mem_new(n, sizeof(size_t)),
			      mem_new(n, sizeof(size_t)), 0 };

	memcpy(c.distance.at, distance->at, n * n * sizeof(double));
	for (size_t i = 0; i < n; i++) {
		c.size[i] = 1;
		c.root[i] = i;
	}
	return c;
}

static void clusters_release(struct clusters *c)
{
	mat_release(&c->distance);
	free(c->size);
	free(c->height);
	free(c->root);
	free(c->chain);
}

/* The nearest other cluster of `of`; among equals the one before it in the chain, so that the chain ends, then the lowest. */
static size_t nearest(const struct clusters *c, size_t of)
{
	size_t n = c->distance.rows;
	size_t best = c->depth > 1 ? c->chain[c->depth - 2] : n;

	for (size_t k = 0; k < n; k++)
		if (k != of && c->size[k] && (best == n || mat_get(&c->distance, of, k) < mat_get(&c->distance, of, best)))
			best = k;
	return best;
}

static bool in_chain(const struct clusters *c, size_t item)
{
	for (size_t i = 0; i < c->depth; i++)
		if (c->chain[i] == item)
			return true;
	return false;
}

/* Average linkage in the update of Lance and Williams, The Computer Journal 9(4), 1967. */
static void merge(struct clusters *c, size_t a, size_t b, double cut)
{
	size_t kept = a < b ? a : b, gone = a < b ? b : a;
	double wk = (double)c->size[kept], wg = (double)c->size[gone];
	double height = fmax(mat_get(&c->distance, a, b), fmax(c->height[a], c->height[b])); /* rounding may not invert them */

	for (size_t k = 0; k < c->distance.rows; k++) {
		double mean;

		if (!c->size[k] || k == kept || k == gone)
			continue;
		mean = (wk * mat_get(&c->distance, kept, k) + wg * mat_get(&c->distance, gone, k)) / (wk + wg);
		mat_set(&c->distance, kept, k, mean);
		mat_set(&c->distance, k, kept, mean);
	}
	c->size[kept] += c->size[gone];
	c->size[gone] = 0;
	c->height[kept] = height;
	if (stats_round(height) <= stats_round(cut))
		c->root[gone] = kept;
}

static void chain_step(struct clusters *c, double cut)
{
	size_t top = c->chain[c->depth - 1], next = nearest(c, top);

	if (c->depth > 1 && next == c->chain[c->depth - 2]) {
		c->depth -= 2;
		merge(c, top, next, cut);
		return;
	}
	/* Only rounding can lead back into the chain. A chain begun anew cannot, since distances fall strictly along it. */
	if (in_chain(c, next)) {
		c->chain[0] = next;
		c->depth = 1;
		return;
	}
	c->chain[c->depth++] = next;
}

static size_t first_alive(const struct clusters *c)
{
	size_t i = 0;

	while (!c->size[i])
		i++;
	return i;
}

/* Roots are lower than what hangs below them, so each item finds its root's number given. */
static size_t number(const struct clusters *c, size_t *cluster)
{
	size_t count = 0;

	for (size_t i = 0; i < c->distance.rows; i++)
		cluster[i] = c->root[i] == i ? count++ : cluster[c->root[i]];
	return count;
}

size_t linkage_cut(const struct mat *distance, double cut, size_t *cluster)
{
	size_t n = distance->rows, count;
	struct clusters c;

	ASSAY_BUG_IF(distance->cols != n);
	c = clusters_new(distance);
	for (size_t alive = n; alive > 1;) {
		size_t before;

		if (c.depth == 0)
			c.chain[c.depth++] = first_alive(&c);
		before = c.depth;
		chain_step(&c, cut);
		if (c.depth + 2 == before)
			alive--;
	}
	count = number(&c, cluster);
	clusters_release(&c);
	return count;
}

#include "base/linkage.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* State of the clustering. The lowest item of a cluster identifies it. This item's row and column of `distance` hold the cluster's
 * distances. */
struct clusters {
	struct mat distance;	/* copy of the caller's matrix; each merge updates it */
	size_t *size;		/* per cluster, its number of items; 0 after it was merged into another */
	double *height;		/* per cluster, the height of its last merge */
	size_t *root;		/* per item, its parent in the merges up to the cut; a root is its own parent */
	struct ends *ends;	/* per cluster, the two ends of its row of leaves */
	struct sides *adjacent; /* per item, its neighbours in the row of leaves */
};

/* The two ends of a row of leaves. The row has no direction, so the order of the two ends has no meaning. */
struct ends {
	size_t at[2];
};
struct sides {
	size_t neighbours[2]; /* neighbours of an item; NO_NEIGHBOUR where the row ends */
};
#define NO_NEIGHBOUR SIZE_MAX

static struct clusters clusters_new(const struct mat *distance)
{
	size_t n = distance->rows;
	struct clusters c = { mat_new(n, n),
			      mem_new(n, sizeof(size_t)),
			      mem_new(n, sizeof(double)),
			      mem_new(n, sizeof(size_t)),
			      mem_new(n, sizeof(struct ends)),
			      mem_new(n, sizeof(struct sides)) };

	memcpy(c.distance.at, distance->at, n * n * sizeof(double));
	for (size_t i = 0; i < n; i++) {
		c.size[i] = 1;
		c.root[i] = i;
		c.ends[i] = (struct ends){ { i, i } };
		c.adjacent[i] = (struct sides){ { NO_NEIGHBOUR, NO_NEIGHBOUR } };
	}
	return c;
}

static void clusters_release(struct clusters *c)
{
	mat_release(&c->distance);
	mem_free(c->size, c->height, c->root, c->ends, c->adjacent);
}

static void merge_sides(struct sides *sides, size_t item)
{
	sides->neighbours[sides->neighbours[0] == NO_NEIGHBOUR ? 0 : 1] = item;
}

/* Joins the rows of leaves of two clusters at their nearest ends. Cluster `kept` gets the joined row. */
static void join_rows(struct clusters *c, const struct mat *distance, size_t kept, size_t gone)
{
	struct ends a = c->ends[kept], b = c->ends[gone];
	size_t x = 1, y = 0; /* the row of `gone` follows the row of `kept`, unless other ends are nearer */

	for (size_t i = 0; i < 4; i++) {
		if (mat_get(distance, a.at[1 - i / 2], b.at[i % 2]) < mat_get(distance, a.at[x], b.at[y])) {
			x = 1 - i / 2;
			y = i % 2;
		}
	}
	merge_sides(&c->adjacent[a.at[x]], b.at[y]);
	merge_sides(&c->adjacent[b.at[y]], a.at[x]);
	c->ends[kept] = (struct ends){ { a.at[1 - x], b.at[1 - y] } };
}

/* Merges cluster `gone` into `kept`. Computes average-linkage distances as in Lance and Williams, The Computer Journal 9(4), 1967. */
static void merge_clusters(struct clusters *c, const struct mat *distance, size_t kept, size_t gone, double cut)
{
	double wk = (double)c->size[kept], wg = (double)c->size[gone];
	double height = fmax(mat_get(&c->distance, kept, gone),
			     fmax(c->height[kept], c->height[gone])); /* despite rounding, not below the heights of its parts */

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
	join_rows(c, distance, kept, gone);
	if (stats_round(height) <= stats_round(cut))
		c->root[gone] = kept;
}

/* Merges the two nearest clusters. If several pairs are equally near, merges the pair with the lowest items. */
static void merge_nearest(struct clusters *c, const struct mat *distance, double cut)
{
	size_t n = c->distance.rows, a = NO_NEIGHBOUR, b = NO_NEIGHBOUR;

	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; c->size[i] && k < n; k++)
			if (c->size[k] && (a == NO_NEIGHBOUR || mat_get(&c->distance, i, k) < mat_get(&c->distance, a, b))) {
				a = i;
				b = k;
			}
	merge_clusters(c, distance, a, b, cut);
}

/* Numbers the clusters in `cluster`, and returns their count. A root is the lowest item of its cluster, so it gets its number first. */
static size_t number_clusters(const struct clusters *c, size_t *cluster)
{
	size_t count = 0;

	for (size_t i = 0; i < c->distance.rows; i++)
		cluster[i] = c->root[i] == i ? count++ : cluster[c->root[i]];
	return count;
}

/* Builds the whole cluster tree. c.root omits the merges above the cut. */
static struct clusters build_clusters(const struct mat *distance, double cut)
{
	size_t n = distance->rows;
	struct clusters c;

	ASSAY_BUG_IF(distance->cols != n);
	c = clusters_new(distance);
	for (size_t alive = n; alive > 1; alive--)
		merge_nearest(&c, distance, cut);
	return c;
}

size_t linkage_cut(const struct mat *distance, double cut, size_t *cluster)
{
	struct clusters c = build_clusters(distance, cut);
	size_t count = number_clusters(&c, cluster);

	clusters_release(&c);
	return count;
}

void linkage_order(const struct mat *distance, size_t *order)
{
	struct clusters c = build_clusters(distance, 0);
	size_t n = distance->rows, before = NO_NEIGHBOUR, at;

	if (n) {
		struct ends row = c.ends[0]; /* row of the cluster that contains all items */

		at = row.at[0] < row.at[1] ? row.at[0] : row.at[1]; /* starts at the end with the lower item */
		for (size_t i = 0; i < n; i++) {
			const struct sides *sides = &c.adjacent[at];
			size_t next = sides->neighbours[0] == before ? sides->neighbours[1] : sides->neighbours[0];

			order[i] = at;
			before = at;
			at = next;
		}
	}
	clusters_release(&c);
}

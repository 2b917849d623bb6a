/* Finds clusters of fragments with the same work, and the usual time of each cluster. */
#include "gate/variance/variance.h"

#include "base/mem.h"
#include "base/order.h"
#include "model/variance/fixed_workload.h"
#include "model/variance/usual.h"

#include <stdlib.h>

#define BLOCKS_MIN 16 /* minimum number of blocks of a cluster that has at least as many fragments */

/* Fragments that are equal in these members did comparable work. The sort keeps the order of such fragments. */
#define KIND BY_ASC(to) BY_ASC(from) BY_ASC(activity) BY_ASC(basis) BY_ASC(arguments)

ORDER_BY(same_kind, struct fragment, KIND)

ORDER_POINTERS_BY(by_kind, struct fragment, KIND BY_ADDRESS)

/* Computes the mean times of blocks of neighbouring fragments in one process. A block is one map column, or smaller if there are few
 * columns. Returns the number of blocks. */
static size_t blocks_of(const struct variance *v, struct fragment *const *places, size_t n, double *mean, double *weights)
{
	size_t blocks = 0, run, columns = 0;

	for (size_t i = 0; i < n; i++)
		columns += !i || places[i]->process != places[i - 1]->process ||
			   variance_column(v, places[i]->start_s) != variance_column(v, places[i - 1]->start_s);
	for (size_t i = 0; i < n; i += run) {
		double time = 0, weight = 0;

		for (run = 0; i + run < n; run++) {
			const struct fragment *f = places[i + run];

			if (run &&
			    (f->process != places[i]->process || variance_column(v, f->start_s) != variance_column(v, places[i]->start_s) ||
			     (columns < BLOCKS_MIN && run >= n / BLOCKS_MIN)))
				break;
			time += f->weight * f->time_s;
			weight += f->weight;
		}
		weights[blocks] = weight;
		mean[blocks++] = time / weight;
	}
	return blocks;
}

/* Adds a cluster of places[n], which did the same work and are in the order of the fragments. */
static void cluster_add(struct variance *v, struct fragment *const *places, size_t n, size_t *capacity)
{
	const struct fragment *first = places[0];
	struct cluster c = { .from = first->from,
			     .to = first->to,
			     .arguments = first->arguments,
			     .activity = (enum activity)first->activity,
			     .basis = (enum basis)first->basis,
			     .n = n,
			     .repeated = n >= VARIANCE_REPEATED_MIN };
	double *mean = mem_new(n, sizeof(*mean)), *weight = mem_new(n, sizeof(*weight));

	for (size_t i = 0; i < n; i++) {
		struct fragment *f = places[i];

		f->cluster = (uint32_t)v->n_clusters;
		c.weight += f->weight;
		c.time_s += f->weight * f->time_s;
		c.work += f->weight * f->work;
	}
	c.work /= c.weight;
	if (c.repeated) {
		struct usual_time usual =
		    usual_compute(mean, weight, blocks_of(v, places, n, mean, weight), v->threshold, c.activity != ACTIVITY_COMPUTATION);

		c.usual_s = usual.usual;
		c.slow_s = usual.slow;
	}
	mem_append(v->clusters, v->n_clusters, capacity, c);
	mem_free(mean, weight);
}

/* Divides places[n], which are of one kind and differ in work, into clusters. */
static void works_divide(struct variance *v, struct fragment *const *places, size_t n, size_t *capacity)
{
	double *work = mem_new(n, sizeof(*work));
	size_t *cluster = mem_new(n, sizeof(*cluster)), clusters, *first;
	struct fragment **sorted = mem_new(n, sizeof(struct fragment *));

	for (size_t i = 0; i < n; i++)
		work[i] = places[i]->work;
	clusters = fixed_workload_clusters(work, n, FIXED_WORKLOAD_DISTANCE, cluster);
	first = mem_new(clusters + 1, sizeof(*first));
	for (size_t i = 0; i < n; i++)
		first[cluster[i] + 1]++;
	for (size_t c = 0; c < clusters; c++)
		first[c + 1] += first[c];
	for (size_t i = 0; i < n; i++)
		sorted[first[cluster[i]]++] = places[i];
	for (size_t c = 0; c < clusters; c++) {
		size_t from = c ? first[c - 1] : 0;

		cluster_add(v, sorted + from, first[c] - from, capacity);
	}
	mem_free(sorted, first, cluster, work);
}

static bool is_same_work(struct fragment *const *places, size_t n)
{
	size_t i = 1;

	while (i < n && places[i]->work == places[0]->work)
		i++;
	return i >= n;
}

/* Divides places[n], which are of one kind, into clusters by work. Fragments without counted work form one cluster. */
static void kind_divide(struct variance *v, struct fragment *const *places, size_t n, size_t *capacity)
{
	if (is_same_work(places, n))
		cluster_add(v, places, n, capacity);
	else
		works_divide(v, places, n, capacity);
}

void fragment_clusters_find(struct variance *v)
{
	struct fragment **places = mem_new(v->fragments.n, sizeof(struct fragment *));
	size_t capacity = 0;

	for (size_t i = 0; i < v->fragments.n; i++)
		places[i] = &v->fragments.items[i];
	order_sort(places, v->fragments.n, by_kind);
	for (size_t i = 0, n; i < v->fragments.n; i += n) {
		for (n = 1; i + n < v->fragments.n && same_kind(places[i], places[i + n]) == 0;)
			n++;
		kind_divide(v, places + i, n, &capacity);
	}
	free(places);
}

/* Clusters of fixed work, and what is usual in each. */
#include "gate/variance/variance.h"

#include "base/mem.h"
#include "base/order.h"
#include "model/variance/fixed_workload.h"
#include "model/variance/usual.h"

#include <math.h>
#include <stdlib.h>

#define BLOCKS_LEAST 16 /* of a cluster, as far as it has fragments */

struct place {
	const struct fragment *item;
	size_t at;
};

/* What must be equal for work to be comparable at all. */
ORDER_BY(same_kind, struct fragment, BY_UP(to) BY_UP(from) BY_UP(activity) BY_UP(basis) BY_UP(arguments))
ORDER_BY(places_order, struct place,
	 BY_UP(item->to) BY_UP(item->from) BY_UP(item->activity) BY_UP(item->basis) BY_UP(item->arguments) BY_UP(at))

/* Blocks of neighbours in one process: those of one column of the map, or, where these are few, fewer fragments than that. */
static size_t blocks_of(const struct variance *v, const struct place *places, size_t n, double *mean)
{
	size_t blocks = 0, run, columns = 0;

	for (size_t i = 0; i < n; i++)
		columns += !i || places[i].item->process != places[i - 1].item->process ||
			   variance_column(v, places[i].item->start_s) != variance_column(v, places[i - 1].item->start_s);
	for (size_t i = 0; i < n; i += run) {
		double time = 0, weight = 0;

		for (run = 0; i + run < n; run++) {
			const struct fragment *f = places[i + run].item;

			if (run && (f->process != places[i].item->process ||
				    variance_column(v, f->start_s) != variance_column(v, places[i].item->start_s) ||
				    (columns < BLOCKS_LEAST && run >= n / BLOCKS_LEAST)))
				break;
			time += f->weight * f->time_s;
			weight += f->weight;
		}
		mean[blocks++] = time / weight;
	}
	return blocks;
}

/* places[n] did the same work; in the order of the fragments. */
static void cluster_add(struct variance *v, const struct place *places, size_t n, size_t *capacity)
{
	const struct fragment *first = places[0].item;
	struct cluster c = { .from = first->from,
			     .to = first->to,
			     .arguments = first->arguments,
			     .activity = (enum activity)first->activity,
			     .basis = (enum basis)first->basis,
			     .n = n,
			     .repeated = n >= VARIANCE_REPEATED };
	double *mean = mem_new(n, sizeof(*mean));

	for (size_t i = 0; i < n; i++) {
		const struct fragment *f = places[i].item;

		v->fragments.items[places[i].at].cluster = (uint32_t)v->n_clusters;
		c.weight += f->weight;
		c.time_s += f->weight * f->time_s;
		c.work += f->weight * f->work;
	}
	c.work /= c.weight;
	if (c.repeated) {
		struct usual usual = usual_of(mean, blocks_of(v, places, n, mean), v->threshold, c.activity != ACTIVITY_COMPUTATION);

		c.usual_s = usual.usual;
		c.slow_s = usual.slow;
	}
	mem_append(v->clusters, v->n_clusters, capacity, c);
	free(mean);
}

/* places[n] are of one kind. */
static void kind_divide(struct variance *v, const struct place *places, size_t n, size_t *capacity)
{
	struct mat work = mat_new(n, 1);
	size_t *cluster = mem_new(n, sizeof(*cluster)), clusters, *first;
	struct place *sorted = mem_new(n, sizeof(*sorted));

	for (size_t i = 0; i < n; i++)
		work.at[i] = places[i].item->work;
	clusters = fixed_workload_clusters(&work, FIXED_WORKLOAD_DISTANCE, cluster);
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
	mem_free(sorted, first, cluster);
	mat_release(&work);
}

void clusters_find(struct variance *v)
{
	const struct fragments *f = &v->fragments;
	struct place *places = mem_new(f->n, sizeof(*places));
	size_t capacity = 0;

	for (size_t i = 0; i < f->n; i++)
		places[i] = (struct place){ &f->items[i], i };
	qsort(places, f->n, sizeof(*places), places_order);
	for (size_t i = 0, n; i < f->n; i += n) {
		for (n = 1; i + n < f->n && same_kind(places[i].item, places[i + n].item) == 0;)
			n++;
		kind_divide(v, places + i, n, &capacity);
	}
	free(places);
}

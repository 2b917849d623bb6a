#include "gate/variance/graph.h"

#include "base/mem.h"
#include "base/order.h"
#include "gate/variance/answer.h"
#include "gate/variance/long_waits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLUSTERS_TOLD 30
#define RARE_TOLD     10
#define PLACES_LEAST  10 /* that people are shown, and more if they took long */
#define RECORDED      .5 /* of the time in calls of a cluster, from which it only repeats what other records tell */

/* Clusters of one place. */
struct place {
	const struct cluster *first;
	size_t kinds, n;
	double time_s, usual_s[2], work[2]; /* the least and the most */
	enum basis basis;		    /* of most of the time */
};

ORDER_POINTERS_BY(clusters_by_time, struct cluster, BY_DOWN(time_s) BY_PLACE)

ORDER_POINTERS_BY(clusters_by_place, struct cluster, BY_UP(from) BY_UP(to) BY_UP(activity) BY_DOWN(time_s) BY_PLACE)

ORDER_BY(places_by_time, struct place, BY_DOWN(time_s) BY_UP(first))

static void cluster_row(const struct variance *v, const struct cluster *c, struct document *d)
{
	char *place = variance_place(&v->fragments, c->from, c->to);

	doc_row(d);
	doc_hide(d);
	doc_set(d, "activity", activity_name(c->activity));
	doc_set(d, "place", place);
	doc_set(d, "fragments", c->n);
	doc_set(d, "stand_for", c->weight);
	doc_set(d, "time_s", c->time_s);
	doc_set(d, "usual_s", c->repeated ? doc_value_real(c->usual_s) : DOC_NOTHING);
	doc_set(d, "work", c->work);
	doc_set(d, "basis", basis_name(c->basis));
	free(place);
}

/* "0.02 ms", "0.02 ms to 12 ms", of texts that it takes. free() it. */
static char *range_text(char *least, char *most)
{
	char *text = strcmp(least, most) == 0 ? mem_string(least) : mem_format("%s to %s", least, most);

	mem_free(least, most);
	return text;
}

/* As an integer if that is short. free() it. */
static char *amount_text(double work)
{
	return mem_format(work < 1e7 ? "%.0f" : "%.4g", work);
}

static void place_row(const struct variance *v, const struct place *p, struct document *d)
{
	char *place = variance_place(&v->fragments, p->first->from, p->first->to), *time = variance_seconds(p->time_s);
	char *usual = p->first->repeated ? range_text(variance_seconds(p->usual_s[0]), variance_seconds(p->usual_s[1])) : mem_string("-");
	char *work = p->basis == BASIS_UNVERIFIED ? mem_string("-") : range_text(amount_text(p->work[0]), amount_text(p->work[1]));

	doc_row(d);
	doc_aside(d);
	doc_show(d, NULL, "call, or computation from -> to", place);
	doc_show(d, NULL, "kinds of work", p->kinds);
	doc_show(d, NULL, "fragments", p->n);
	doc_showf(d, NULL, "time", p->time_s, "%s", time);
	doc_show(d, NULL, "usual", usual);
	doc_show(d, NULL, "work", work);
	doc_show(d, NULL, "work known by", basis_name(p->basis));
	mem_free(place, time, usual, work);
}

/* clusters[n] of one place, those first that took most time. */
static struct place place_of(const struct cluster *const *clusters, size_t n)
{
	struct place p = { .first = clusters[0],
			   .kinds = n,
			   .basis = clusters[0]->basis,
			   .usual_s = { clusters[0]->usual_s, clusters[0]->usual_s },
			   .work = { clusters[0]->work, clusters[0]->work } };

	for (size_t i = 0; i < n; i++) {
		p.n += clusters[i]->n;
		p.time_s += clusters[i]->time_s;
		p.usual_s[0] = fmin(p.usual_s[0], clusters[i]->usual_s);
		p.usual_s[1] = fmax(p.usual_s[1], clusters[i]->usual_s);
		p.work[0] = fmin(p.work[0], clusters[i]->work);
		p.work[1] = fmax(p.work[1], clusters[i]->work);
	}
	return p;
}

/* The places [*n_places] of clusters[n], without clusters that mostly waited for recorded processes; recorded: for each of all clusters,
 * for how long it did. free() it. */
static struct place *places_of(const struct variance *v, const struct cluster *const *clusters, size_t n, const double *recorded,
			       size_t *n_places)
{
	struct place *places = mem_new(n, sizeof(*places));
	const struct cluster **sorted = mem_new(n, sizeof(*sorted));
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (recorded[clusters[i] - v->clusters] < RECORDED * clusters[i]->time_s)
			sorted[kept++] = clusters[i];
	order_sort(sorted, kept, clusters_by_place);
	*n_places = 0;
	for (size_t i = 0, k; i < kept; i += k) {
		for (k = 1; i + k < kept && sorted[i + k]->from == sorted[i]->from && sorted[i + k]->to == sorted[i]->to &&
			    sorted[i + k]->activity == sorted[i]->activity;)
			k++;
		places[(*n_places)++] = place_of(sorted + i, k);
	}
	order_sort(places, *n_places, places_by_time);
	free(sorted);
	return places;
}

/* key: of the table; heading: its own, or NULL if it follows that of the section. */
static void graph_table(const struct variance *v, const char *key, const char *heading, const struct cluster **clusters, size_t n,
			size_t told, const double *recorded, struct document *d)
{
	size_t n_places;
	struct place *places = places_of(v, clusters, n, recorded, &n_places);

	if (n_places && heading)
		doc_subheading(d, "%s", heading);
	doc_table(d, key);
	if (!n_places)
		doc_hide(d);
	order_sort(clusters, n, clusters_by_time);
	for (size_t i = 0; i < n && i < told; i++)
		cluster_row(v, clusters[i], d);
	for (size_t i = 0; i < n_places && i < told && (i < PLACES_LEAST || places[i].time_s >= VARIANCE_RARE * v->total_s); i++)
		place_row(v, &places[i], d);
	doc_end(d);
	free(places);
}

/* Clusters that are repeated, or long ones that are not. Returns their number. */
static size_t clusters_choose(const struct variance *v, bool repeated, const struct cluster **out)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n_clusters; i++) {
		const struct cluster *c = &v->clusters[i];

		if (repeated ? c->repeated : !c->repeated && c->time_s >= VARIANCE_RARE * v->fragments.span_s)
			out[n++] = c;
	}
	return n;
}

void variance_graph(const struct variance *v, struct document *d)
{
	const struct cluster **chosen = mem_new(v->n_clusters, sizeof(*chosen));
	double *recorded = mem_new(v->n_clusters, sizeof(*recorded));
	size_t n;

	for (size_t i = 0; i < v->fragments.n; i++) {
		const struct fragment *f = &v->fragments.items[i];

		if (wait_of_recorded(v, f))
			recorded[f->cluster] += f->weight * f->time_s;
	}
	doc_section(
	    d, "graph", "Graph", "What repeats: calls, and the computation between them",
	    "Call sites are the vertices of a graph, and the computation from one call to the next its edges. Fragments of one edge "
	    "or vertex that did the same work, within 5 %, are one kind of work.");
	doc_set(d, "clusters", v->n_clusters);
	n = clusters_choose(v, true, chosen);
	graph_table(v, "graph", NULL, chosen, n, CLUSTERS_TOLD, recorded, d);
	n = clusters_choose(v, false, chosen);
	if (n)
		graph_table(v, "rare", "Long work that does not repeat", chosen, n, RARE_TOLD, recorded, d);
	mem_free(chosen, recorded);
}

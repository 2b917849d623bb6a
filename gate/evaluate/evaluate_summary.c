/* From the outcomes of pairs to clusters, kinds, rates and areas. */
#include "base/mem.h"
#include "gate/evaluate/evaluate_internal.h"

#include <math.h>

/* ---- clusters ---- */

/* What ties pairs together: applications and given names, sorted. Each points at one that stands for its cluster: union and find. */
struct ties {
	const char **names;
	size_t *parent;
	size_t n;
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t name_find(const struct ties *t, const char *name)
{
	const char *const *found = bsearch(&name, t->names, t->n, sizeof(char *), compare_names);

	return (size_t)(found - (const char *const *)t->names);
}

static size_t root_of(const struct ties *t, size_t i)
{
	while (t->parent[i] != i)
		i = t->parent[i];
	return i;
}

/* The smaller name stands for both. */
static void tie(struct ties *t, const char *a, const char *b)
{
	size_t x = root_of(t, name_find(t, a)), y = root_of(t, name_find(t, b));

	t->parent[x > y ? x : y] = x < y ? x : y;
}

static const char *application(const struct evaluation *e, size_t pair, int side)
{
	return e->runs->sets[e->runs->of[pair][side]].application;
}

static struct ties collect_ties(const struct evaluation *e)
{
	struct ties t = { .names = mem_new(3 * e->pairs->n, sizeof(char *)) };
	size_t n = 0;

	for (size_t i = 0; i < e->pairs->n; i++) {
		t.names[t.n++] = application(e, i, 0);
		t.names[t.n++] = application(e, i, 1);
		if (e->pairs->items[i].cluster)
			t.names[t.n++] = e->pairs->items[i].cluster;
	}
	qsort(t.names, t.n, sizeof(char *), compare_names);
	for (size_t i = 0; i < t.n; i++) {
		if (i == 0 || strcmp(t.names[i], t.names[n - 1]) != 0)
			t.names[n++] = t.names[i];
	}
	t.n = n;
	t.parent = mem_new(n, sizeof(size_t));
	for (size_t i = 0; i < n; i++)
		t.parent[i] = i;
	return t;
}

void evaluate_clusters(struct evaluation *e)
{
	struct ties t = collect_ties(e);
	size_t *number = mem_new(t.n, sizeof(size_t));

	for (size_t i = 0; i < e->pairs->n; i++) {
		tie(&t, application(e, i, 0), application(e, i, 1));
		if (e->pairs->items[i].cluster)
			tie(&t, application(e, i, 0), e->pairs->items[i].cluster);
	}
	e->clusters = mem_new(t.n, sizeof(char *));
	for (size_t i = 0; i < t.n; i++) {
		if (t.parent[i] != i)
			continue;
		number[i] = e->n_clusters;
		e->clusters[e->n_clusters++] = t.names[i];
	}
	for (size_t i = 0; i < e->pairs->n; i++)
		e->outcomes[i].cluster = number[root_of(&t, name_find(&t, application(e, i, 0)))];
	free(number);
	free(t.names);
	free(t.parent);
}

/* ---- kinds, rates, areas ---- */

static const char *label_of(const struct evaluation *e, size_t pair)
{
	return e->pairs->items[pair].label ? e->pairs->items[pair].label : "";
}

static int compare_kinds(const void *a, const void *b)
{
	const struct evaluate_kind *x = a, *y = b;

	return x->changed != y->changed ? x->changed - y->changed : strcmp(x->label, y->label);
}

static void collect_kinds(struct evaluation *e)
{
	size_t n = 0;

	e->kinds = mem_new(e->pairs->n, sizeof(*e->kinds));
	for (size_t i = 0; i < e->pairs->n; i++)
		e->kinds[i] = (struct evaluate_kind){ .label = label_of(e, i), .changed = e->pairs->items[i].changed };
	qsort(e->kinds, e->pairs->n, sizeof(*e->kinds), compare_kinds);
	for (size_t i = 0; i < e->pairs->n; i++) {
		if (i == 0 || compare_kinds(&e->kinds[i], &e->kinds[n - 1]) != 0)
			e->kinds[n++] = e->kinds[i];
	}
	e->n_kinds = n;
}

/* Columns of the outcomes, as the statistics want them. */
struct columns {
	struct evaluate_sample sample;
	size_t *cluster;
	bool *counts, *flagged, *changed;
	double *score;
};

static void fill_kind(const struct evaluation *e, struct columns *c, struct evaluate_kind *kind, bool whatever_label)
{
	for (size_t i = 0; i < e->pairs->n; i++) {
		c->counts[i] = e->pairs->items[i].changed == kind->changed && (whatever_label || strcmp(label_of(e, i), kind->label) == 0);
		kind->pairs += c->counts[i];
		kind->decisions[e->outcomes[i].effect.decision] += c->counts[i];
	}
	for (int m = 0; m < EVALUATE_METHODS; m++) {
		for (size_t i = 0; i < e->pairs->n; i++)
			c->flagged[i] = e->outcomes[i].flagged[m];
		kind->rates[m] = evaluate_rate_of(&c->sample, c->counts, c->flagged);
	}
}

static void fill_area(struct evaluation *e, struct columns *c, int m)
{
	for (size_t i = 0; i < e->pairs->n; i++) {
		c->score[i] = e->outcomes[i].score[m];
		e->scored[m] += isnan(c->score[i]) ? 0 : 1;
	}
	e->areas[m] = evaluate_area_of(&c->sample, c->changed, c->score);
}

void evaluate_summary(struct evaluation *e)
{
	size_t n = e->pairs->n;
	struct columns c = { .cluster = mem_new(n, sizeof(size_t)), .counts = mem_new(n, sizeof(bool)), .flagged = mem_new(n, sizeof(bool)),
			     .changed = mem_new(n, sizeof(bool)), .score = mem_new(n, sizeof(double)) };

	c.sample = (struct evaluate_sample){ c.cluster, n, e->n_clusters, e->options.resamples, e->options.seed };
	for (size_t i = 0; i < n; i++) {
		c.cluster[i] = e->outcomes[i].cluster;
		c.changed[i] = e->pairs->items[i].changed;
	}
	collect_kinds(e);
	for (size_t k = 0; k < e->n_kinds; k++)
		fill_kind(e, &c, &e->kinds[k], false);
	for (int changed = 0; changed < 2; changed++) {
		e->total[changed] = (struct evaluate_kind){ .label = "", .changed = changed == 1 };
		fill_kind(e, &c, &e->total[changed], true);
	}
	for (int m = 0; m < EVALUATE_METHODS; m++)
		fill_area(e, &c, m);
	free(c.cluster);
	free(c.counts);
	free(c.flagged);
	free(c.changed);
	free(c.score);
}

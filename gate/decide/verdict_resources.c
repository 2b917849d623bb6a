/* The stressors with which a change moves over the hardware types, and whether it is one of the resources at all. */
#include "base/mem.h"
#include "gate/decide/verdict_internal.h"

#include <math.h>

const struct fingerprint *verdict_kind(const struct verdict *v)
{
	const struct fingerprint *kind = NULL;

	for (size_t i = 0; i < v->pairing.n && !kind; i++)
		kind = v->pairing.machines[i].reason == PAIRING_USED ? v->pairing.machines[i].fingerprint : NULL;
	return kind;
}

bool verdict_usable(const struct pairing_machine *m, const struct fingerprint *kind)
{
	return m->reason == PAIRING_USED && m->fingerprint && fingerprint_comparable(m->fingerprint, kind);
}

/* What is known of the types that have machines, by type of the pairing. */
struct by_type {
	struct mat log_rate;          /* [n_types x stressors] mean log rate, from medians over passes; NaN where a machine lacks it */
	double *log_ratio, *log_cost; /* [n_types] */
	size_t *machines;             /* [n_types] */
};

static struct by_type by_type_of(const struct evidence *evidence, const struct pairing *p, const struct fingerprint *kind)
{
	size_t n = evidence->fingerprints.n_stressors;
	struct by_type b = { mat_new(p->n_types, n), mem_new(p->n_types, sizeof(double)), mem_new(p->n_types, sizeof(double)),
			     mem_new(p->n_types, sizeof(size_t)) };

	for (size_t i = 0; i < p->n; i++) {
		const struct pairing_machine *m = &p->machines[i];

		if (!verdict_usable(m, kind))
			continue;
		b.machines[m->type]++;
		b.log_ratio[m->type] += m->log_ratio;
		b.log_cost[m->type] += m->log_cost;
		for (size_t j = 0; j < n; j++) {
			struct fingerprint_summary s = fingerprint_summarise(&evidence->fingerprints, m->fingerprint, j);

			b.log_rate.at[m->type * n + j] += log(s.median); /* NaN stays NaN */
		}
	}
	for (size_t t = 0; t < p->n_types; t++) {
		b.log_ratio[t] /= (double)b.machines[t];
		b.log_cost[t] /= (double)b.machines[t];
		for (size_t j = 0; j < n; j++)
			b.log_rate.at[t * n + j] /= (double)b.machines[t];
	}
	return b;
}

static void by_type_release(struct by_type *b)
{
	mat_release(&b->log_rate);
	free(b->log_ratio);
	free(b->log_cost);
	free(b->machines);
}

/* Closes up the rows of types without machines and the columns with a gap. Fills v->features. */
static void compact(const struct evidence *evidence, struct verdict *v, struct by_type *b)
{
	struct mat all = b->log_rate;
	size_t *columns = mem_new(all.cols, sizeof(size_t)), rows = 0;

	for (size_t j = 0; j < all.cols; j++) {
		bool whole = true;

		for (size_t t = 0; whole && t < all.rows; t++)
			whole = !b->machines[t] || isfinite(mat_get(&all, t, j));
		if (whole) {
			v->features[v->n_features] = evidence->fingerprints.stressors[j];
			columns[v->n_features++] = j;
		}
	}
	b->log_rate = mat_new(all.rows, all.cols);
	for (size_t t = 0; t < all.rows; t++) {
		if (!b->machines[t])
			continue;
		for (size_t j = 0; j < v->n_features; j++)
			b->log_rate.at[rows * v->n_features + j] = mat_get(&all, t, columns[j]);
		b->log_ratio[rows] = b->log_ratio[t];
		b->log_cost[rows++] = b->log_cost[t];
	}
	b->log_rate.rows = rows;
	b->log_rate.cols = v->n_features;
	free(columns);
	mat_release(&all);
}

size_t verdict_alike(const struct verdict *v)
{
	size_t alike = 0;

	for (size_t i = 0; i < v->n_features; i++)
		alike += v->resources[i].alike;
	return alike;
}

void verdict_find_resources(const struct evidence *evidence, struct verdict *v)
{
	size_t n = evidence->fingerprints.n_stressors;
	const struct fingerprint *kind = verdict_kind(v);
	struct by_type b = { .log_ratio = NULL };

	v->features = mem_new(n, sizeof(char *));
	v->resources = mem_new(n, sizeof(*v->resources));
	if (kind) {
		b = by_type_of(evidence, &v->pairing, kind);
		compact(evidence, v, &b);
		v->resource_types = b.log_rate.rows;
		if (v->n_features)
			effect_resources(b.log_ratio, &b.log_rate, VERDICT_PERMUTATIONS, VERDICT_SEED, v->resources);
	}
	v->cause = cause_of(&v->effect, b.log_ratio, b.log_cost, &b.log_rate, v->resources);
	by_type_release(&b);
}

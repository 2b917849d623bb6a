#include "gate/decide/contributions.h"

#include "base/mem.h"
#include "base/stats.h"
#include "gate/profile/profile.h"
#include "model/parallel.h"

#include <math.h>

#define SEED 20189

/* ---- from machines to rows ---- */

/* What both models see: one row a machine that ran both and has a fingerprint that may stand beside the others. */
struct common_rows {
	struct mat rates;
	double *cost;
	double *ratio; /* [types] mean, in logs, over the machines of each */
	size_t *type, types;
};

static struct common_rows rows_of(const struct evidence *evidence, const struct verdict *v)
{
	size_t p = evidence->fingerprints.n_stressors, n = v->pairing.n, row = 0;
	struct common_rows r = { mat_new(n, p), mem_new(n, sizeof(double)), mem_new(n, sizeof(double)), mem_new(n, sizeof(size_t)), 0 };
	size_t *index = mem_new(v->pairing.n_types, sizeof(*index)), *machines = mem_new(n, sizeof(*machines));
	const struct fingerprint *kind = verdict_kind(v);

	for (size_t i = 0; kind && i < n; i++) {
		const struct pairing_machine *m = &v->pairing.machines[i];

		if (!verdict_usable(m, kind))
			continue;
		for (size_t j = 0; j < p; j++)
			mat_set(&r.rates, row, j, fingerprint_summarise(&evidence->fingerprints, m->fingerprint, j).median);
		r.cost[row] = exp(m->log_cost);
		if (!index[m->type])
			index[m->type] = ++r.types;
		r.type[row] = index[m->type] - 1;
		r.ratio[r.type[row]] += m->log_ratio;
		machines[r.type[row++]]++;
	}
	for (size_t t = 0; t < r.types; t++)
		r.ratio[t] = exp(r.ratio[t] / (double)machines[t]);
	r.rates.rows = row;
	free(index);
	free(machines);
	return r;
}

/* Costs and their ratios are computed as they are, not as logs: what is farthest apart has neither. */
static bool rows_finite(const struct common_rows *r)
{
	bool finite = true;

	for (size_t i = 0; i < r->rates.rows; i++)
		finite = finite && r->cost[i] > 1 / GROWTH_RATIO_MAX && r->cost[i] < GROWTH_RATIO_MAX;
	for (size_t t = 0; t < r->types; t++)
		finite = finite && r->ratio[t] > 1 / GROWTH_RATIO_MAX && r->ratio[t] < GROWTH_RATIO_MAX;
	return finite;
}

static void rows_release(struct common_rows *r)
{
	mat_release(&r->rates);
	free(r->cost);
	free(r->ratio);
	free(r->type);
}

/* ---- groups ---- */

static struct contribution numbers_of(const struct growth *g, size_t group)
{
	return (struct contribution){ .before = g->before[group], .after = g->after[group], .change = g->after[group] - g->before[group],
				      .low = g->low[group], .high = g->high[group], .first = g->lead[group] };
}

static int by_change(const void *a, const void *b)
{
	const struct contribution *x = a, *y = b;

	if (fabs(x->change) != fabs(y->change))
		return fabs(x->change) > fabs(y->change) ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void take_groups(const struct features *f, const char *const *names, const struct growth *g, struct contributions *out)
{
	size_t *members = mem_new(f->p, sizeof(*members));

	out->n_groups = f->groups;
	out->groups = mem_new(f->groups, sizeof(*out->groups));
	for (size_t k = 0; k < f->groups; k++) {
		struct contribution *c = &out->groups[k];

		*c = numbers_of(g, k);
		c->members = mem_new(f->p, sizeof(char *));
		for (size_t j = 0; j < f->p; j++) {
			if (f->distinct[j] == FEATURES_NONE || f->group[f->distinct[j]] != k)
				continue;
			members[c->n] = j;
			c->members[c->n++] = names[j];
		}
		c->name = profile_group_name(names, members, c->n);
		c->category = profile_group_category(names, members, c->n);
	}
	out->unexplained = numbers_of(g, f->groups);
	out->unexplained.category = CATEGORY_UNKNOWN;
	qsort(out->groups, out->n_groups, sizeof(*out->groups), by_change);
	free(members);
}

static int by_first(const void *a, const void *b)
{
	const struct contribution *x = *(const struct contribution *const *)a, *y = *(const struct contribution *const *)b;
	double px = stats_round(x->first), py = stats_round(y->first);

	if (px < py || px > py)
		return px > py ? -1 : 1;
	return (x > y) - (x < y); /* the larger change first */
}

/* The most probable until they are probable enough together; none of them where that no group changed belongs to these, or the
 * ratio is not known to differ by type. */
static void find_leading(const struct verdict *v, struct contributions *c)
{
	double none = stats_round(c->unexplained.first), sum = 0;

	c->resource = v->cause.word == CAUSE_OTHER_RESOURCE || v->cause.word == CAUSE_BOTH;
	if (!c->resource)
		return;
	c->leading = mem_new(c->n_groups, sizeof(const struct contribution *));
	for (size_t k = 0; k < c->n_groups; k++)
		c->leading[k] = &c->groups[k];
	qsort(c->leading, c->n_groups, sizeof(const struct contribution *), by_first);
	while (c->n_leading < c->n_groups && stats_round(sum) < CONTRIBUTIONS_LEADING && stats_round(c->leading[c->n_leading]->first) > none)
		sum += c->leading[c->n_leading++]->first;
	if (stats_round(sum) < CONTRIBUTIONS_LEADING)
		c->n_leading = 0;
}

/* ---- all ---- */

void contributions_of(const struct evidence *evidence, const struct verdict *v, size_t threads, struct contributions *out)
{
	struct shares_options options = { SHARES_RESAMPLES, SEED, threads ? threads : parallel_threads() };
	struct common_rows rows = rows_of(evidence, v);
	struct blend_data data = { 0 };
	struct contributions c = { .types = rows.types, .machines = rows.rates.rows };
	struct growth growth = { 0 };

	if (rows.types && rows_finite(&rows))
		blend_data_of(&rows.rates, rows.cost, rows.type, rows.types, &data);
	if (rows.types < PROFILE_TYPES_MIN) {
		c.missing = "fewer than 4 hardware types with fingerprints ran both";
	} else if (!rows_finite(&rows)) {
		c.missing = "the costs are too far apart to be computed with";
	} else if (data.features.n == 0) {
		c.missing = "no stressor was measured on all machines and differs between them";
	} else {
		growth_of(&data, rows.ratio, &options, &growth);
		take_groups(&data.features, (const char *const *)evidence->fingerprints.stressors, &growth, &c);
		find_leading(v, &c);
		c.total = growth.total;
		c.total_low = growth.total_low;
		c.total_high = growth.total_high;
	}
	growth_release(&growth);
	blend_data_release(&data);
	rows_release(&rows);
	*out = c;
}

void contributions_release(struct contributions *c)
{
	for (size_t i = 0; i < c->n_groups; i++) {
		free(c->groups[i].name);
		free(c->groups[i].members);
	}
	free(c->groups);
	free(c->leading);
	*c = (struct contributions){ 0 };
}

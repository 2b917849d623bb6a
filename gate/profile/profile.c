#include "gate/profile/profile.h"

#include "base/mem.h"
#include "base/stats.h"
#include "model/parallel.h"

#include <math.h>

#define NOISE_FLOOR .01 /* relative: what repetitions on one day do not show */
#define NAMED       2   /* members that stand in the name of a group */

const struct profile_options profile_defaults = { SHARES_RESAMPLES, PROFILE_SEED, 0 };

/* ---- groups ---- */

/* "cpu" or "cpu/memory": the one or two most frequent main categories of the members. */
static void add_main_categories(const char *const *features, const size_t *members, size_t n, struct buf *name)
{
	size_t count[CATEGORY_COUNT] = { 0 };

	for (size_t i = 0; i < n; i++)
		count[stressor_category(features[members[i]])]++;
	for (size_t k = 0; k < 2; k++) {
		size_t best = 0;

		for (size_t c = 1; c < CATEGORY_COUNT; c++)
			best = count[c] > count[best] ? c : best;
		if (count[best] == 0 || (k && 4 * count[best] < n))
			break;
		buf_format(name, "%s%s", k ? "/" : "", category_name((enum category)best));
		count[best] = 0;
	}
}

char *profile_group_name(const char *const *features, const size_t *members, size_t n)
{
	struct buf name = BUF_INIT;

	add_main_categories(features, members, n, &name);
	for (size_t i = 0; i < n && (i < NAMED || n == NAMED + 1); i++)
		buf_format(&name, "%s%s", i ? ", " : ": ", features[members[i]]);
	if (n > NAMED + 1)
		buf_format(&name, " and %zu more", n - NAMED);
	return buf_take(&name);
}

enum category profile_group_category(const char *const *features, const size_t *members, size_t n)
{
	size_t count[CATEGORY_COUNT] = { 0 }, best = 0;

	for (size_t i = 0; i < n; i++)
		count[stressor_category(features[members[i]])]++;
	for (size_t c = 1; c < CATEGORY_COUNT; c++)
		best = count[c] > count[best] ? c : best;
	return (enum category)best;
}

static void add_member(struct profile *p, struct profile_group *g, size_t column)
{
	const struct stressor *stressor = stressor_find(p->rows->features[column]);

	g->members[g->n++] = column;
	for (size_t i = 0; stressor && i < stressor->n_categories; i++)
		g->categories[stressor->categories[i]] = true;
	if (!stressor)
		g->categories[CATEGORY_UNKNOWN] = true;
}

static int by_share(const void *a, const void *b)
{
	const struct profile_group *x = a, *y = b;

	if (x->share != y->share)
		return x->share > y->share ? -1 : 1;
	return (x->members[0] > y->members[0]) - (x->members[0] < y->members[0]);
}

/* By share; small shares are tied behind the others: most stand for nothing, and their order would be read as one. */
static void rank_groups(struct profile *p)
{
	double before = (double)NAN;

	for (size_t g = 0; g < p->n_groups; g++) {
		double share = stats_round(p->groups[g].share), key = share >= PROFILE_RANKED ? share : 0.0;

		p->groups[g].rank = key == before ? p->groups[g - 1].rank : g + 1;
		p->n_ranked += key > 0.0 ? 1 : 0;
		before = key;
	}
}

static void make_groups(struct profile *p)
{
	const struct features *f = &p->data.features;
	const struct shares *s = &p->shares;

	p->n_groups = f->groups;
	p->groups = mem_new(f->groups, sizeof(*p->groups));
	for (size_t g = 0; g < f->groups; g++) {
		p->groups[g] = (struct profile_group){.members = mem_new(f->p, sizeof(size_t)),
		                                      .share = s->share[g],
		                                      .low = s->low[g],
		                                      .high = s->high[g],
		                                      .least = s->least[g],
		                                      .most = s->most[g],
		                                      .first = s->first[g]};
	}
	for (size_t j = 0; j < f->p; j++) {
		size_t k = f->distinct[j];
		double copies;

		if (k == FEATURES_NONE)
			continue;
		copies = (double)f->copies[k];
		add_member(p, &p->groups[f->group[k]], j);
		p->importance[j] = p->blend.stumps.importance[k] / copies;
		p->groups[f->group[k]].importance += p->importance[j];
		p->by_category[stressor_category(p->rows->features[j])] += s->column[k] / copies;
	}
	for (size_t g = 0; g < f->groups; g++)
		p->groups[g].name = profile_group_name((const char *const *)p->rows->features, p->groups[g].members, p->groups[g].n);
	qsort(p->groups, p->n_groups, sizeof(*p->groups), by_share);
	rank_groups(p);
}

/* ---- all ---- */

static void fit(struct profile *p, const struct profile_options *options)
{
	const struct profile_rows *r = p->rows;
	struct shares_options shares = {options->resamples, options->seed,
	                                options->threads ? options->threads : parallel_threads()};
	double *count = mem_new(r->types, sizeof(*count));
	struct blend_choice choice;

	for (size_t t = 0; t < r->types; t++)
		count[t] = 1.0;
	blend_validate(&p->data, shares.threads, &p->validation);
	blend_choose(&p->data, count, &choice);
	blend_fit(&p->data, count, &choice, &p->blend);
	shares_of(&p->data, &p->blend, fmax(r->noise, NOISE_FLOOR), &shares, &p->shares);
	make_groups(p);
	free(count);
}

void profile_of(const struct profile_rows *rows, const struct profile_options *options, struct profile *out)
{
	struct profile p = { .rows = rows, .importance = mem_new(rows->rates.cols, sizeof(double)) };

	if (rows->types > 0)
		blend_data_of(&rows->rates, rows->cost, rows->type, rows->types, &p.data);
	p.fitted = rows->types >= PROFILE_TYPES_MIN && p.data.features.n > 0;
	if (p.fitted)
		fit(&p, options);
	profile_judge(&p);
	*out = p;
}

void profile_release(struct profile *p)
{
	blend_data_release(&p->data);
	blend_release(&p->blend);
	blend_validation_release(&p->validation);
	shares_release(&p->shares);
	for (size_t g = 0; g < p->n_groups; g++) {
		free(p->groups[g].name);
		free(p->groups[g].members);
	}
	free(p->groups);
	free(p->importance);
	for (size_t i = 0; i < p->n_reasons; i++)
		free(p->reasons[i].text);
	*p = (struct profile){ 0 };
}

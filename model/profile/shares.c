#include "model/profile/shares.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "model/parallel.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define STAND_INS_MISS .05 /* root mean square of the relative error, by which others are as good as a column itself */
#define ITSELF	       .5  /* probability that a column is what it says, where others would say the same */

/* ---- what stands in for a column ---- */

/* The weights a, b > 0 of the least squares of a x + b y = 1; with y NULL, of a x = 1. */
static bool weights_of(const double *x, const double *y, size_t n, double *a, double *b)
{
	double xx = 0.0, xy = 0.0, yy = 0.0, x1 = 0.0, y1 = 0.0, left;

	for (size_t t = 0; t < n; t++) {
		xx += x[t] * x[t];
		x1 += x[t];
		xy += y ? x[t] * y[t] : 0.0;
		yy += y ? y[t] * y[t] : 0.0;
		y1 += y ? y[t] : 0.0;
	}
	*a = x1 / xx;
	*b = 0.0;
	left = xx * yy - xy * xy;
	if (y && left > 1e-10 * xx * yy) {
		*a = (x1 * yy - y1 * xy) / left;
		*b = (y1 * xx - x1 * xy) / left;
	}
	return *a > 0.0 && isfinite(*a) && (!y || *b > 0.0) && isfinite(*b);
}

/* Whether they are as good as the column of which x and y [n] are multiples; *part as in struct stand_in. */
static bool stands_in(const double *x, const double *y, size_t n, double *part)
{
	double a, b, squares = 0.0, free_types = (double)n - (y ? 2.0 : 1.0);

	if (free_types < 1.0 || !weights_of(x, y, n, &a, &b))
		return false;
	*part = 0.0;
	for (size_t t = 0; t < n; t++) {
		double first = a * x[t], sum = first + (y ? b * y[t] : 0.0);

		squares += (sum - 1.0) * (sum - 1.0);
		*part += first / sum / (double)n;
	}
	return stats_round(sqrt(squares / free_types)) < STAND_INS_MISS;
}

/* All others' times in parts of column k's: ratio [columns x types]. */
static void ratios_of(const struct features *f, size_t k, struct mat *ratio)
{
	for (size_t j = 0; j < f->n; j++)
		for (size_t t = 0; t < ratio->cols; t++)
			mat_set(ratio, j, t, exp(mat_get(&f->type_logs, t, k) - mat_get(&f->type_logs, t, j)));
}

static void stand_ins_of(const struct features *f, struct stand_ins *out)
{
	struct stand_ins s = { .first = mem_new(f->n + 1, sizeof(*s.first)), .n = f->n };
	size_t types = f->type_logs.rows, n = 0, capacity = 0;
	struct mat ratio = mat_new(f->n, types);

	for (size_t k = 0; k < f->n; k++) {
		ratios_of(f, k, &ratio);
		for (size_t i = 0; i < f->n; i++) {
			for (size_t j = i; i != k && j < f->n; j++) {
				struct stand_in one = { i, j, 1.0 };

				if (j == k || !stands_in(&ratio.at[i * types], j == i ? NULL : &ratio.at[j * types], types, &one.part))
					continue;
				mem_append(s.items, n, &capacity, one);
			}
		}
		s.first[k + 1] = n;
	}
	mat_release(&ratio);
	*out = s;
}

static void stand_ins_release(struct stand_ins *s)
{
	mem_free(s->items, s->first);
	*s = (struct stand_ins){ 0 };
}

/* ---- one fit ---- */

/* The shares of the columns on every type, [cols] with the unexplained last. What the fit misses is unexplained: of a type whose
 * time is predicted to be a fifth too short or too long, a fifth, or a sixth, and the columns share the rest. With
 * `all_explained` they share what is missed, too: it may well be theirs. */
static void shares_of_columns(const struct blend_data *d, const struct additive *fit, bool all_explained, struct mat *out)
{
	size_t n = d->features.n;

	for (size_t t = 0; t < d->types; t++) {
		const double *logs = &d->features.type_logs.at[t * n];
		double *share = &out->at[t * out->cols], explained = 1.0;

		if (!all_explained)
			explained = exp(-fabs(additive_predict(fit, logs) - d->type_cost[t]));
		additive_shares(fit, logs, share);
		for (size_t k = 0; k <= n; k++)
			share[k] *= explained;
		share[n] += 1.0 - explained;
	}
}

/* Sums over the columns of each group; [types x groups + 1]. */
static void shares_of_groups(const struct blend_data *d, const struct mat *columns, struct mat *out)
{
	memset(out->at, 0, out->rows * out->cols * sizeof(double));
	for (size_t t = 0; t < out->rows; t++) {
		for (size_t k = 0; k < columns->cols; k++)
			out->at[t * out->cols + d->sums.group[k]] += mat_get(columns, t, k);
	}
}

void shares_by_group(const struct blend_data *d, const struct additive *fit, bool all_explained, struct mat *out)
{
	struct mat columns = mat_new(d->types, d->sums.cols);

	shares_of_columns(d, fit, all_explained, &columns);
	shares_of_groups(d, &columns, out);
	mat_release(&columns);
}

static void mat_column_means(const struct mat *m, double *mean)
{
	memset(mean, 0, m->cols * sizeof(*mean));
	for (size_t i = 0; i < m->rows; i++) {
		for (size_t j = 0; j < m->cols; j++)
			mean[j] += mat_get(m, i, j) / (double)m->rows;
	}
}

/* ---- parts of the time: the groups, what is unexplained, and those that are asked for ---- */

struct dividing {
	size_t groups, n;		  /* n: groups + 1 and all others */
	struct mat of, least_of, most_of; /* [cols x n] of a column's time: itself; at least and at most, with what stands in for it */
	size_t *level;			  /* [n] 0: groups */
};

static void dividing_stand_ins(struct dividing *p, const struct stand_ins *s)
{
	for (size_t k = 0; k < s->n; k++) {
		for (size_t i = s->first[k]; i < s->first[k + 1]; i++) {
			const struct stand_in *one = &s->items[i];

			for (size_t g = 0; g < p->n; g++) {
				double part =
				    one->part * mat_get(&p->of, one->column, g) + (1.0 - one->part) * mat_get(&p->of, one->other, g);

				mat_set(&p->least_of, k, g, fmin(mat_get(&p->least_of, k, g), part));
				mat_set(&p->most_of, k, g, fmax(mat_get(&p->most_of, k, g), part));
			}
		}
	}
}

static struct dividing dividing_of(const struct blend_data *d, const struct shares_parts *parts, const struct stand_ins *stand_ins)
{
	size_t cols = d->sums.cols, groups = d->features.groups, others = parts ? parts->of.cols : 0, n = groups + 1 + others;
	struct dividing p = { groups, n, mat_new(cols, n), mat_new(cols, n), mat_new(cols, n), mem_new(n, sizeof(size_t)) };

	for (size_t k = 0; k < cols; k++)
		mat_set(&p.of, k, d->sums.group[k], 1.0);
	for (size_t g = 0; g < others; g++) {
		p.level[groups + 1 + g] = 1 + parts->level[g];
		for (size_t k = 0; k < d->features.n; k++)
			mat_set(&p.of, k, groups + 1 + g, mat_get(&parts->of, k, g));
	}
	memcpy(p.least_of.at, p.of.at, cols * n * sizeof(double));
	memcpy(p.most_of.at, p.of.at, cols * n * sizeof(double));
	dividing_stand_ins(&p, stand_ins);
	return p;
}

static void dividing_release(struct dividing *p)
{
	mat_release(&p->of);
	mat_release(&p->least_of);
	mat_release(&p->most_of);
	free(p->level);
}

/* ---- resampled types ---- */

struct resampling {
	const struct blend_data *data;
	const struct blend *blend;
	const struct stand_ins *stand_ins;
	uint64_t seed;
	struct mat below, above; /* [draws x cols] shares of the columns in the models drawn; as if they missed nothing */
};

void shares_draw(size_t types, struct rng *rng, double *count)
{
	size_t distinct = 0;

	while (distinct < 2) {
		memset(count, 0, types * sizeof(*count));
		distinct = 0;
		for (size_t k = 0; k < types; k++)
			distinct += count[rng_below(rng, types)]++ > 0.0 ? 0 : 1;
	}
}

void shares_resample(const struct blend_data *d, const struct blend_choice *choice, uint64_t seed, size_t i, struct rng *rng, double *count,
		     struct additive *fit)
{
	rng_seed(rng, seed + 0x9e3779b97f4a7c15ull * (i + 1));
	shares_draw(d->types, rng, count);
	additive_fit(&d->sums, count, ADDITIVE_SIZE_MAX, fit);
	additive_weigh(fit, blend_grid, choice->additive, BLEND_ADDITIVE);
}

struct additive shares_one_model(const struct additive *fit, double u, struct additive_model *model)
{
	size_t k = 0, last = 0;

	for (; k < fit->n && u >= 0.0; k++) {
		u -= fit->models[k].weight;
		last = fit->models[k].weight > 0.0 ? k : last;
	}
	*model = fit->models[last];
	model->weight = 1.0;
	return (struct additive){ .cols = fit->cols, .models = model, .n = 1, .types = fit->types };
}

/* Each column keeps its share, or gives it to what stands in for it. */
static void shares_hand_over(const struct stand_ins *s, struct rng *rng, double *below, double *above)
{
	double given[2];

	for (size_t k = 0; k < s->n; k++) {
		size_t n = s->first[k + 1] - s->first[k];
		const struct stand_in *one;

		if (n == 0 || !(above[k] > 0.0) || rng_double(rng) < ITSELF)
			continue;
		one = &s->items[s->first[k] + rng_below(rng, n)];
		given[0] = below[k];
		given[1] = above[k];
		for (size_t side = 0; side < 2; side++) {
			double *share = side ? above : below;

			share[k] = 0.0;
			share[one->column] += one->part * given[side];
			share[one->other] += (1.0 - one->part) * given[side];
		}
	}
}

static void shares_draw_models(void *context, size_t i)
{
	struct resampling *r = context;
	const struct blend_data *d = r->data;
	struct mat columns = mat_new(d->types, d->sums.cols);
	double *count = mem_new(d->types, sizeof(*count));
	struct additive_model model;
	struct additive fit, one;
	struct rng rng;

	shares_resample(d, &r->blend->choice, r->seed, i, &rng, count, &fit);
	for (size_t k = i * SHARES_DRAWS; k < (i + 1) * SHARES_DRAWS; k++) {
		double *below = &r->below.at[k * r->below.cols], *above = &r->above.at[k * r->above.cols];

		one = shares_one_model(&fit, rng_double(&rng), &model);
		shares_of_columns(d, &one, false, &columns);
		mat_column_means(&columns, below);
		shares_of_columns(d, &one, true, &columns);
		mat_column_means(&columns, above);
		shares_hand_over(r->stand_ins, &rng, below, above);
	}
	additive_release(&fit);
	mat_release(&columns);
	free(count);
}

/* [draws x parts] */
static struct mat shares_divide(const struct mat *drawn, const struct dividing *parts)
{
	struct mat m = mat_new(drawn->rows, parts->n);

	for (size_t i = 0; i < m.rows; i++)
		for (size_t k = 0; k < drawn->cols; k++)
			for (size_t g = 0; mat_get(drawn, i, k) > 0.0 && g < m.cols; g++)
				m.at[i * m.cols + g] += mat_get(drawn, i, k) * mat_get(&parts->of, k, g);
	return m;
}

/* Adds which part of each level leads in one draw; what is unexplained does not. */
static void shares_lead(const struct dividing *parts, const double *share, double weight, struct shares_part *out)
{
	for (size_t g = 0; g < parts->n; g++) {
		bool leads = g != parts->groups;

		for (size_t k = 0; leads && k < parts->n; k++)
			leads = parts->level[k] != parts->level[g] || k == parts->groups || k == g ||
				(k < g ? share[k] < share[g] : share[k] <= share[g]);
		out[g].first += leads ? weight : 0.0;
	}
}

/* Of what is unexplained, nothing is a part's at its low end, all at its high end; of itself the other way round. */
static void shares_summarise(const struct resampling *r, const struct dividing *parts, struct shares_part *out)
{
	struct mat below = shares_divide(&r->below, parts), above = shares_divide(&r->above, parts);
	size_t n = below.rows;
	double *values = mem_new(n, sizeof(*values));

	for (size_t g = 0; g < parts->n; g++) {
		for (int side = 0; side < 2; side++) {
			double *end = side ? &out[g].high : &out[g].low;

			for (size_t i = 0; i < n; i++)
				values[i] = mat_get((g == parts->groups) == (side == 0) ? &above : &below, i, g);
			*end = n ? stats_quantile(values, n, .5 * (1.0 + (side ? SHARES_LEVEL : -SHARES_LEVEL))) : (double)NAN;
		}
		if (n) {
			out[g].low = fmin(out[g].low, out[g].share);
			out[g].high = fmax(out[g].high, out[g].share);
		}
		out[g].first = n ? 0.0 : (double)NAN;
	}
	for (size_t i = 0; i < n; i++)
		shares_lead(parts, &below.at[i * below.cols], 1.0 / (double)n, out);
	mat_release(&below);
	mat_release(&above);
	free(values);
}

/* ---- all ---- */

/* What the average of models says, of the groups as it is; of other parts with what stands in for the columns. */
static void shares_central(const struct dividing *p, const struct stand_ins *s, double *column, struct shares_part *out)
{
	double *with = mem_new(p->of.rows, sizeof(*with));

	memcpy(with, column, p->of.rows * sizeof(*with));
	for (size_t k = 0; k < s->n; k++) {
		size_t n = s->first[k + 1] - s->first[k];

		for (size_t i = s->first[k]; i < s->first[k + 1]; i++) {
			const struct stand_in *one = &s->items[i];
			double given = (1.0 - ITSELF) * column[k] / (double)n;

			with[k] -= given;
			with[one->column] += one->part * given;
			with[one->other] += (1.0 - one->part) * given;
		}
	}
	for (size_t g = 0; g < p->n; g++)
		for (size_t k = 0; k < p->of.rows; k++)
			out[g].share += (g <= p->groups ? column[k] : with[k]) * mat_get(&p->of, k, g);
	free(with);
}

static void shares_keep(const struct dividing *p, const struct shares_part *part, struct shares *out)
{
	size_t groups = p->groups;

	out->share = mem_new(groups + 1, sizeof(double));
	out->low = mem_new(groups + 1, sizeof(double));
	out->high = mem_new(groups + 1, sizeof(double));
	out->least = mem_new(groups, sizeof(double));
	out->most = mem_new(groups, sizeof(double));
	out->first = mem_new(groups, sizeof(double));
	out->part = mem_new(p->n - groups, sizeof(*out->part));
	for (size_t g = 0; g <= groups; g++) {
		out->share[g] = part[g].share;
		out->low[g] = part[g].low;
		out->high[g] = part[g].high;
	}
	for (size_t g = 0; g < groups; g++) {
		out->least[g] = part[g].least;
		out->most[g] = part[g].most;
		out->first[g] = part[g].first;
	}
	for (size_t g = groups + 1; g < p->n; g++)
		out->part[g - groups - 1] = part[g];
}

void shares_of(const struct blend_data *d, const struct blend *blend, const struct shares_parts *others, double noise,
	       const struct shares_options *options, struct shares *out)
{
	size_t draws = options->resamples * SHARES_DRAWS, cols = d->sums.cols;
	struct shares s = { .groups = d->features.groups, .types = d->types, .by_type = mat_new(d->types, d->features.groups + 1) };
	struct resampling r = { d, blend, &s.stand_ins, options->seed, mat_new(draws, cols), mat_new(draws, cols) };
	struct mat columns = mat_new(d->types, cols);
	struct shares_part *part;
	struct dividing parts;
	double *ends;

	ASSAY_BUG_IF(d->types < 3);
	stand_ins_of(&d->features, &s.stand_ins);
	parts = dividing_of(d, others, &s.stand_ins);
	part = mem_new(parts.n, sizeof(*part));
	ends = mem_new(2 * parts.n, sizeof(*ends));
	s.column = mem_new(cols, sizeof(double));
	shares_of_columns(d, &blend->additive, false, &columns);
	shares_of_groups(d, &columns, &s.by_type);
	mat_column_means(&columns, s.column);
	shares_central(&parts, &s.stand_ins, s.column, part);
	parallel_for(options->resamples, options->threads, shares_draw_models, &r);
	shares_summarise(&r, &parts, part);
	range_of(d, &parts.least_of, &parts.most_of, noise, options->threads, ends, ends + parts.n);
	for (size_t g = 0; g < parts.n; g++) { /* the average of models is one more fit that is nearly as good */
		part[g].least = fmin(ends[g], part[g].share);
		part[g].most = fmax(ends[parts.n + g], part[g].share);
	}
	shares_keep(&parts, part, &s);
	dividing_release(&parts);
	mat_release(&columns);
	mat_release(&r.below);
	mat_release(&r.above);
	mem_free(part, ends);
	*out = s;
}

void shares_release(struct shares *s)
{
	mat_release(&s->by_type);
	stand_ins_release(&s->stand_ins);
	mem_free(s->share, s->low, s->high, s->least, s->most, s->first, s->column, s->part);
	*s = (struct shares){ 0 };
}

#include "model/profile/shares.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "model/parallel.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define SUBSTITUTE_ERROR_MAX   .05 /* maximum root mean square relative error of columns that can replace another column */
#define KEEP_SHARE_PROBABILITY .5  /* probability that a column keeps its share although others could replace it */
#define TERMS_MAX	       3   /* maximum number of terms of a model of the ratio: the factor and two resources */
#define EQUAL_ERROR_MAX	       .01 /* error below which models are equally good */
#define LOG_ERROR_MAX	       2.0 /* limit of the |log error| of one type */
#define SINGULAR	       1e-10
#define NEGLIGIBLE	       1e-6

/* ---- replacements of a column ---- */

/* Computes the weights of the least-squares fit a x + b y = 1 (a x = 1 if y is NULL). False if a weight is not positive and finite. */
static bool fit_two_weights(const double *x, const double *y, size_t n, double *a, double *b)
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

/* Reports whether x and y can replace a column; x and y [n] are times relative to that column's. *part: as in struct share_alternative. */
static bool can_substitute(const double *x, const double *y, size_t n, double *part)
{
	double a, b, squares = 0.0, free_types = (double)n - (y ? 2.0 : 1.0);

	if (free_types < 1.0 || !fit_two_weights(x, y, n, &a, &b))
		return false;
	*part = 0.0;
	for (size_t t = 0; t < n; t++) {
		double first = a * x[t], sum = first + (y ? b * y[t] : 0.0);

		squares += (sum - 1.0) * (sum - 1.0);
		*part += first / sum / (double)n;
	}
	return stats_round(sqrt(squares / free_types)) < SUBSTITUTE_ERROR_MAX;
}

/* Computes ratio [columns x types]: the time of each column relative to that of column k. */
static void column_ratios(const struct features *f, size_t k, struct mat *ratio)
{
	for (size_t j = 0; j < f->n; j++)
		for (size_t t = 0; t < ratio->cols; t++)
			mat_set(ratio, j, t, exp(mat_get(&f->type_logs, t, k) - mat_get(&f->type_logs, t, j)));
}

static void find_substitutes(const struct features *f, struct share_alternatives *out)
{
	struct share_alternatives s = { .first = mem_new(f->n + 1, sizeof(*s.first)), .n = f->n };
	size_t types = f->type_logs.rows, n = 0, capacity = 0;
	struct mat ratio = mat_new(f->n, types);

	for (size_t k = 0; k < f->n; k++) {
		column_ratios(f, k, &ratio);
		for (size_t i = 0; i < f->n; i++) {
			for (size_t j = i; i != k && j < f->n; j++) {
				struct share_alternative one = { i, j, 1.0 };

				if (j == k || !can_substitute(&ratio.at[i * types], j == i ? NULL : &ratio.at[j * types], types, &one.part))
					continue;
				mem_append(s.items, n, &capacity, one);
			}
		}
		s.first[k + 1] = n;
	}
	mat_release(&ratio);
	*out = s;
}

static void substitutes_release(struct share_alternatives *s)
{
	mem_free(s->items, s->first);
	*s = (struct share_alternatives){ 0 };
}

/* ---- one fit ---- */

/* Computes the shares of the columns on each type, [types x cols]; the last column is the unexplained part. If a type's time is predicted a
 * fifth too short or too long, a fifth or a sixth of it is unexplained, and the columns share the rest. With `all_explained`, the columns
 * also share this error, because the time may be theirs. */
static void divide_by_column(const struct blend_data *d, const struct additive *fit, bool all_explained, struct mat *out)
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

/* Computes the shares of the groups, as sums over their columns: out [types x groups + 1]. */
static void divide_by_group(const struct blend_data *d, const struct mat *columns, struct mat *out)
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

	divide_by_column(d, fit, all_explained, &columns);
	divide_by_group(d, &columns, out);
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

/* ---- parts of the time: the groups, the unexplained part, and the requested parts ---- */

struct division {
	size_t groups, n; /* n: number of parts, which is groups + 1 plus the number of requested parts */
	struct mat part_shares, least_of,
	    most_of;   /* [cols x n] each part's share of a column's time; limits of this share with replacements */
	size_t *level; /* [n] level of each part; 0 for groups and the unexplained part */
};

static void apply_substitutes(struct division *p, const struct share_alternatives *s)
{
	for (size_t k = 0; k < s->n; k++) {
		for (size_t i = s->first[k]; i < s->first[k + 1]; i++) {
			const struct share_alternative *one = &s->items[i];

			for (size_t g = 0; g < p->n; g++) {
				double part = one->part * mat_get(&p->part_shares, one->column, g) +
					      (1.0 - one->part) * mat_get(&p->part_shares, one->other, g);

				mat_set(&p->least_of, k, g, fmin(mat_get(&p->least_of, k, g), part));
				mat_set(&p->most_of, k, g, fmax(mat_get(&p->most_of, k, g), part));
			}
		}
	}
}

static struct division dividing_build(const struct blend_data *d, const struct shares_parts *parts,
				      const struct share_alternatives *share_alternatives)
{
	size_t cols = d->sums.cols, groups = d->features.groups, others = parts ? parts->part_shares.cols : 0, n = groups + 1 + others;
	struct division p = { groups, n, mat_new(cols, n), mat_new(cols, n), mat_new(cols, n), mem_new(n, sizeof(size_t)) };

	for (size_t k = 0; k < cols; k++)
		mat_set(&p.part_shares, k, d->sums.group[k], 1.0);
	for (size_t g = 0; g < others; g++) {
		p.level[groups + 1 + g] = 1 + parts->level[g];
		for (size_t k = 0; k < d->features.n; k++)
			mat_set(&p.part_shares, k, groups + 1 + g, mat_get(&parts->part_shares, k, g));
	}
	memcpy(p.least_of.at, p.part_shares.at, cols * n * sizeof(double));
	memcpy(p.most_of.at, p.part_shares.at, cols * n * sizeof(double));
	apply_substitutes(&p, share_alternatives);
	return p;
}

static void dividing_release(struct division *p)
{
	mat_release(&p->part_shares);
	mat_release(&p->least_of);
	mat_release(&p->most_of);
	free(p->level);
}

/* ---- resampled types ---- */

struct share_resampling {
	const struct blend_data *data;
	const struct blend *blend;
	const struct share_alternatives *share_alternatives;
	uint64_t seed;
	struct mat below, above; /* [draws x cols] columns' shares in the drawn models; `above`: the columns share the models' errors */
};

void shares_draw_types(size_t types, struct rng *rng, double *count)
{
	size_t distinct = 0;

	while (distinct < 2) {
		memset(count, 0, types * sizeof(*count));
		distinct = 0;
		for (size_t k = 0; k < types; k++)
			distinct += count[rng_below(rng, types)]++ > 0.0 ? 0 : 1;
	}
}

/* Makes resample i: seeds *rng, draws count [types], and fits all models to the draw. The caller frees the fit with additive_release(). */
static void shares_resample(const struct blend_data *d, const struct blend_choice *choice, uint64_t seed, size_t i, struct rng *rng,
			    double *count, struct additive *fit)
{
	rng_seed(rng, seed + 0x9e3779b97f4a7c15ull * (i + 1));
	shares_draw_types(d->types, rng, count);
	additive_fit(&d->sums, count, ADDITIVE_SIZE_MAX, fit);
	additive_weigh(fit, blend_grid, choice->additive, BLEND_ADDITIVE);
}

/* Returns a fit that has one model of `fit`, drawn by weight; u in [0, 1). The result borrows *model, and owns nothing. */
static struct additive shares_draw_model(const struct additive *fit, double u, struct additive_model *model)
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

/* Gives the share of each column that has replacements to one of these at random, with probability 1 - KEEP_SHARE_PROBABILITY. */
static void shares_reassign_at_random(const struct share_alternatives *s, struct rng *rng, double *below, double *above)
{
	double given[2];

	for (size_t k = 0; k < s->n; k++) {
		size_t n = s->first[k + 1] - s->first[k];
		const struct share_alternative *one;

		if (n == 0 || !(above[k] > 0.0) || rng_double(rng) < KEEP_SHARE_PROBABILITY)
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
	struct share_resampling *r = context;
	const struct blend_data *d = r->data;
	struct mat columns = mat_new(d->types, d->sums.cols);
	double *count = mem_new(d->types, sizeof(*count));
	struct additive_model model;
	struct additive fit, one;
	struct rng rng;

	shares_resample(d, &r->blend->choice, r->seed, i, &rng, count, &fit);
	for (size_t k = i * SHARES_DRAWS; k < (i + 1) * SHARES_DRAWS; k++) {
		double *below = &r->below.at[k * r->below.cols], *above = &r->above.at[k * r->above.cols];

		one = shares_draw_model(&fit, rng_double(&rng), &model);
		divide_by_column(d, &one, false, &columns);
		mat_column_means(&columns, below);
		divide_by_column(d, &one, true, &columns);
		mat_column_means(&columns, above);
		shares_reassign_at_random(r->share_alternatives, &rng, below, above);
	}
	additive_release(&fit);
	mat_release(&columns);
	free(count);
}

/* Computes the shares of parts from the drawn shares of columns, [draws x parts]. */
static struct mat shares_divide(const struct mat *drawn, const struct division *parts)
{
	struct mat m = mat_new(drawn->rows, parts->n);

	for (size_t i = 0; i < m.rows; i++)
		for (size_t k = 0; k < drawn->cols; k++)
			for (size_t g = 0; mat_get(drawn, i, k) > 0.0 && g < m.cols; g++)
				m.at[i * m.cols + g] += mat_get(drawn, i, k) * mat_get(&parts->part_shares, k, g);
	return m;
}

/* Adds `weight` to `first` of the part with the largest share of its level. The unexplained part does not compete. */
static void shares_count_leading_part(const struct division *parts, const double *share, double weight, struct shares_part *out)
{
	for (size_t g = 0; g < parts->n; g++) {
		bool leads = g != parts->groups;

		for (size_t k = 0; leads && k < parts->n; k++)
			leads = parts->level[k] != parts->level[g] || k == parts->groups || k == g ||
				(k < g ? share[k] < share[g] : share[k] <= share[g]);
		out[g].first += leads ? weight : 0.0;
	}
}

/* Computes low, high and first. The models' error is not in a part's `low`, but in its `high`; for the unexplained part, the reverse. */
static void shares_summarise(const struct share_resampling *r, const struct division *parts, struct shares_part *out)
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
		shares_count_leading_part(parts, &below.at[i * below.cols], 1.0 / (double)n, out);
	mat_release(&below);
	mat_release(&above);
	free(values);
}

/* ---- all shares ---- */

/* Computes the shares by the average of the models: of groups from the columns' shares, of other parts after replacements of columns. */
static void shares_central(const struct division *p, const struct share_alternatives *s, double *column, struct shares_part *out)
{
	double *with = mem_new(p->part_shares.rows, sizeof(*with));

	memcpy(with, column, p->part_shares.rows * sizeof(*with));
	for (size_t k = 0; k < s->n; k++) {
		size_t n = s->first[k + 1] - s->first[k];

		for (size_t i = s->first[k]; i < s->first[k + 1]; i++) {
			const struct share_alternative *one = &s->items[i];
			double given = (1.0 - KEEP_SHARE_PROBABILITY) * column[k] / (double)n;

			with[k] -= given;
			with[one->column] += one->part * given;
			with[one->other] += (1.0 - one->part) * given;
		}
	}
	for (size_t g = 0; g < p->n; g++)
		for (size_t k = 0; k < p->part_shares.rows; k++)
			out[g].share += (g <= p->groups ? column[k] : with[k]) * mat_get(&p->part_shares, k, g);
	free(with);
}

static void shares_keep(const struct division *p, const struct shares_part *part, struct shares *out)
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

void shares_compute(const struct blend_data *d, const struct blend *blend, const struct shares_parts *others, double noise,
		    const struct shares_options *options, struct shares *out)
{
	size_t draws = options->resamples * SHARES_DRAWS, cols = d->sums.cols;
	struct shares s = { .groups = d->features.groups, .types = d->types, .by_type = mat_new(d->types, d->features.groups + 1) };
	struct share_resampling r = { d, blend, &s.share_alternatives, options->seed, mat_new(draws, cols), mat_new(draws, cols) };
	struct mat columns = mat_new(d->types, cols);
	struct shares_part *part;
	struct division parts;
	double *ends;

	ASSAY_BUG_IF(d->types < 3);
	find_substitutes(&d->features, &s.share_alternatives);
	parts = dividing_build(d, others, &s.share_alternatives);
	part = mem_new(parts.n, sizeof(*part));
	ends = mem_new(2 * parts.n, sizeof(*ends));
	s.column = mem_new(cols, sizeof(double));
	divide_by_column(d, &blend->additive, false, &columns);
	divide_by_group(d, &columns, &s.by_type);
	mat_column_means(&columns, s.column);
	shares_central(&parts, &s.share_alternatives, s.column, part);
	parallel_for(options->resamples, options->threads, shares_draw_models, &r);
	shares_summarise(&r, &parts, part);
	range_compute(d, &parts.least_of, &parts.most_of, noise, options->threads, ends, ends + parts.n);
	for (size_t g = 0; g < parts.n; g++) { /* the average of the models is one more fit that is nearly as good */
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
	substitutes_release(&s->share_alternatives);
	mem_free(s->share, s->low, s->high, s->least, s->most, s->first, s->column, s->part);
	*s = (struct shares){ 0 };
}

/* ---- growth: the additional time of a newer version ---- */

struct growth_work {
	const struct blend_data *data;
	const double *ratio; /* [types] cost of the newer version / cost of the older one */
	struct blend_choice choice;
	double *x;     /* [types x features.n] regressors (1 / rate) / cost */
	size_t groups; /* number of groups, including the unexplained part */
	uint64_t seed;
	struct mat change[2]; /* [resamples * SHARES_DRAWS x groups] drawn changes; [1]: the groups share the models' errors */
};

/* ---- models of the ratio ---- */

struct change {
	size_t terms, col[TERMS_MAX]; /* [terms] columns; col[0] is unused, because term 0 is the factor */
	double b[TERMS_MAX];
	double weight;
};

struct share_changes {
	struct change *items;
	size_t n, capacity;
};

static double change_regressor(const struct growth_work *g, const struct change *m, size_t i, size_t t)
{
	return i ? g->x[t * g->data->features.n + m->col[i]] : 1.0;
}

/* Inverts the matrix of the normal equations by Gauss-Jordan elimination. Returns false if the matrix is singular. */
static bool change_invert(size_t n, double a[TERMS_MAX][TERMS_MAX], double inverse[TERMS_MAX][TERMS_MAX])
{
	double scale[TERMS_MAX];

	for (size_t i = 0; i < n; i++) {
		scale[i] = a[i][i];
		for (size_t j = 0; j < n; j++)
			inverse[i][j] = i == j ? 1.0 : 0.0;
	}
	for (size_t i = 0; i < n; i++) { /* needs no pivoting, because the matrix is positive definite */
		double pivot = a[i][i];

		if (!(pivot > SINGULAR * scale[i]))
			return false;
		for (size_t j = 0; j < n; j++) {
			a[i][j] /= pivot;
			inverse[i][j] /= pivot;
		}
		for (size_t k = 0; k < n; k++) {
			double factor = a[k][i];

			for (size_t j = 0; j < n && k != i; j++) {
				a[k][j] -= factor * a[i][j];
				inverse[k][j] -= factor * inverse[i][j];
			}
		}
	}
	return true;
}

/* Fits by least squares, each type `count` times. *error: mean |log error| on held-out types, without further fits: the residual without a
 * type is residual / (1 - leverage) (Allen, Technometrics 16(1), 1974). Returns false if singular, not finite, or a time is <= 0. */
static bool change_fit(const struct growth_work *g, const double *count, struct change *m, double *error)
{
	double a[TERMS_MAX][TERMS_MAX] = { { 0 } }, inverse[TERMS_MAX][TERMS_MAX], h[TERMS_MAX] = { 0 }, sum = 0, total = 0;
	size_t types = g->data->types;

	for (size_t t = 0; t < types; t++) {
		for (size_t i = 0; i < m->terms; i++) {
			h[i] += count[t] * change_regressor(g, m, i, t) * g->ratio[t];
			for (size_t j = 0; j < m->terms; j++)
				a[i][j] += count[t] * change_regressor(g, m, i, t) * change_regressor(g, m, j, t);
		}
	}
	if (!change_invert(m->terms, a, inverse))
		return false;
	for (size_t i = 0; i < m->terms; i++) {
		m->b[i] = 0;
		for (size_t j = 0; j < m->terms; j++)
			m->b[i] += inverse[i][j] * h[j];
		if (!isfinite(m->b[i]))
			return false;
	}
	for (size_t t = 0; t < types; t++) {
		double leverage = 0, fitted = 0, left_out;

		for (size_t i = 0; i < m->terms; i++) {
			fitted += m->b[i] * change_regressor(g, m, i, t);
			for (size_t j = 0; j < m->terms; j++)
				leverage += count[t] * change_regressor(g, m, i, t) * inverse[i][j] * change_regressor(g, m, j, t);
		}
		if (!(count[t] > 0))
			continue;
		left_out = g->ratio[t] - (g->ratio[t] - fitted) / fmax(1 - leverage, SINGULAR);
		if (!(fitted > 0) || isinf(fitted))
			return false;
		sum += count[t] * (left_out > 0 ? fmin(fabs(log(left_out / g->ratio[t])), LOG_ERROR_MAX) : LOG_ERROR_MAX);
		total += count[t];
	}
	*error = sum / total;
	return true;
}

static void changes_try(const struct growth_work *g, const double *count, struct change m, struct share_changes *out)
{
	double error;

	if (!change_fit(g, count, &m, &error))
		return;
	m.weight = log(error + EQUAL_ERROR_MAX);
	mem_append(out->items, out->n, &out->capacity, m);
}

/* Converts the logs of errors to weights, which add up to 1. */
static void changes_weigh(struct share_changes *c, size_t types)
{
	double least = HUGE_VAL, sum = 0, of_size[TERMS_MAX + 1] = { 0 };

	for (size_t i = 0; i < c->n; i++) {
		least = fmin(least, c->items[i].weight);
		of_size[c->items[i].terms]++;
	}
	for (size_t i = 0; i < c->n; i++) {
		double weight = exp((double)types * (least - c->items[i].weight)) / of_size[c->items[i].terms];

		c->items[i].weight = weight < NEGLIGIBLE ? 0 : weight;
		sum += c->items[i].weight;
	}
	for (size_t i = 0; i < c->n; i++)
		c->items[i].weight /= sum;
}

static void changes_fit(const struct growth_work *g, const double *count, struct share_changes *out)
{
	size_t n = g->data->features.n, types = 0;
	struct share_changes c = { 0 };

	for (size_t t = 0; t < g->data->types; t++)
		types += count[t] > 0;
	changes_try(g, count, (struct change){ .terms = 1 }, &c);
	for (size_t k = 0; k < n; k++) {
		if (types > 2)
			changes_try(g, count, (struct change){ .terms = 2, .col = { 0, k } }, &c);
		for (size_t j = 0; j < k && types > 3; j++)
			changes_try(g, count, (struct change){ .terms = 3, .col = { 0, j, k } }, &c);
	}
	ASSAY_BUG_IF(c.n == 0); /* the model with only the factor can always be fitted */
	changes_weigh(&c, types);
	*out = c;
}

/* ---- contributions ---- */

/* Adds the model's change of each group's time, times `part`, to `out`. shares [types x groups] are those of the older version. */
static void change_add(const struct growth_work *g, const struct change *m, const struct mat *shares, const double *count, double part,
		       double *out)
{
	double total = 0;

	for (size_t t = 0; t < g->data->types; t++)
		total += count[t];
	for (size_t t = 0; t < g->data->types; t++) {
		double weight = part * count[t] / total, left = g->ratio[t];

		if (!(count[t] > 0))
			continue; /* the model may be infinite on this type */
		for (size_t k = 0; k < g->groups; k++)
			out[k] += weight * (m->b[0] - 1) * mat_get(shares, t, k);
		left -= m->b[0];
		for (size_t i = 1; i < m->terms; i++) {
			double here = m->b[i] * change_regressor(g, m, i, t);

			out[g->data->features.group[m->col[i]]] += weight * here;
			left -= here;
		}
		out[g->groups - 1] += weight * left;
	}
}

/* Returns the group whose time the model changes most, apart from the factor; if none, g->groups - 1. time [g->groups]: buffer. */
static size_t change_leading_group(const struct growth_work *g, const struct change *m, double *time)
{
	size_t lead = g->groups - 1;

	memset(time, 0, g->groups * sizeof(*time));
	for (size_t i = 1; i < m->terms; i++) {
		for (size_t t = 0; t < g->data->types; t++)
			time[g->data->features.group[m->col[i]]] += m->b[i] * change_regressor(g, m, i, t) / (double)g->data->types;
	}
	for (size_t k = 0; k + 1 < g->groups; k++)
		lead = fabs(time[k]) > fabs(time[lead]) ? k : lead;
	return lead;
}

static const struct change *changes_draw(const struct share_changes *c, double u)
{
	size_t last = 0;

	for (size_t k = 0; k < c->n && u >= 0; k++) {
		u -= c->items[k].weight;
		last = c->items[k].weight > 0 ? k : last;
	}
	return &c->items[last];
}

/* Computes out->lead by models of the slower version relative to the faster one, because these add time. A version that needs a tenth of
 * the time probably lacks something, rather than being a tenth of the older one with something more. */
static void growing_compute_lead(const struct growth_work *g, struct growth *out)
{
	const struct blend_data *d = g->data;
	size_t p = d->features.n;
	double *ratio = mem_new(d->types, sizeof(*ratio)), *count = mem_new(d->types, sizeof(*count)), mean = 0;
	double *time = mem_new(g->groups, sizeof(*time));
	struct growth_work costly = *g;
	struct share_changes changes;

	costly.ratio = ratio;
	costly.x = mem_new(d->types * p, sizeof(*costly.x));
	for (size_t t = 0; t < d->types; t++)
		mean += log(g->ratio[t]);
	for (size_t t = 0; t < d->types; t++) {
		double cheap = stats_round(mean) < 0 ? g->ratio[t] : 1; /* cost of the faster version, relative to the older one */

		count[t] = 1;
		ratio[t] = stats_round(mean) < 0 ? 1 / g->ratio[t] : g->ratio[t];
		for (size_t k = 0; k < p; k++)
			costly.x[t * p + k] = g->x[t * p + k] / cheap;
	}
	changes_fit(&costly, count, &changes);
	for (size_t i = 0; i < changes.n; i++)
		out->lead[change_leading_group(&costly, &changes.items[i], time)] += changes.items[i].weight;
	mem_free(changes.items, costly.x, time, ratio, count);
}

static void growing_resample(void *context, size_t i)
{
	struct growth_work *g = context;
	const struct blend_data *d = g->data;
	struct mat shares = mat_new(d->types, g->groups);
	double *count = mem_new(d->types, sizeof(*count));
	struct additive_model model;
	struct share_changes changes;
	struct additive fit, one;
	struct rng rng;

	shares_resample(d, &g->choice, g->seed, i, &rng, count, &fit);
	changes_fit(g, count, &changes);
	for (size_t k = i * SHARES_DRAWS; k < (i + 1) * SHARES_DRAWS; k++) {
		const struct change *change = changes_draw(&changes, rng_double(&rng));

		one = shares_draw_model(&fit, rng_double(&rng), &model);
		for (int all = 0; all < 2; all++) {
			shares_by_group(d, &one, all == 1, &shares);
			change_add(g, change, &shares, count, 1, &g->change[all].at[k * g->groups]);
		}
	}
	free(changes.items);
	additive_release(&fit);
	mat_release(&shares);
	free(count);
}

/* Computes the intervals, with the models' errors unexplained and with the errors shared by the groups, and takes the wider range. */
static void growing_summarise(const struct growth_work *g, size_t resamples, struct growth *out)
{
	size_t n = resamples * SHARES_DRAWS;
	double *values = mem_new(n, sizeof(*values)), tail = .5 * (1 - SHARES_LEVEL);

	for (size_t k = 0; k < g->groups; k++) {
		double change = out->after[k] - out->before[k];

		out->low[k] = out->high[k] = n ? change : (double)NAN;
		for (int all = 0; all < 2 && n; all++) {
			for (size_t i = 0; i < n; i++) {
				values[i] = mat_get(&g->change[all], i, k);
				ASSAY_BUG_IF(!isfinite(values[i]));
			}
			out->low[k] = fmin(out->low[k], stats_quantile(values, n, tail));
			out->high[k] = fmax(out->high[k], stats_quantile(values, n, 1 - tail));
		}
	}
	free(values);
}

/* Computes the total and its interval by Student's t over types, because resampling of a few types gives intervals that are too narrow. */
static void growing_compute_total(const struct growth_work *g, struct growth *out)
{
	size_t n = g->data->types;
	double squares = 0, half;

	for (size_t t = 0; t < n; t++)
		out->total += (g->ratio[t] - 1) / (double)n;
	for (size_t t = 0; t < n; t++)
		squares += (g->ratio[t] - 1 - out->total) * (g->ratio[t] - 1 - out->total);
	half = stats_t_quantile(.5 * (1 + GROWTH_TOTAL_LEVEL), (double)(n - 1)) * sqrt(squares / (double)(n - 1) / (double)n);
	out->total_low = fmax(out->total - half, -1); /* a time is not negative */
	out->total_high = out->total + half;
}

static void growing_fit(struct growth_work *g, struct growth *out)
{
	const struct blend_data *d = g->data;
	double *count = mem_new(d->types, sizeof(*count));
	struct mat shares = mat_new(d->types, g->groups);
	struct share_changes changes;
	struct additive fit;

	for (size_t t = 0; t < d->types; t++)
		count[t] = 1;
	blend_choose(d, count, &g->choice);
	additive_fit(&d->sums, count, ADDITIVE_SIZE_MAX, &fit);
	additive_weigh(&fit, blend_grid, g->choice.additive, BLEND_ADDITIVE);
	changes_fit(g, count, &changes);
	shares_by_group(d, &fit, false, &shares);
	for (size_t t = 0; t < d->types; t++) {
		for (size_t k = 0; k < g->groups; k++)
			out->before[k] += mat_get(&shares, t, k) / (double)d->types;
	}
	memcpy(out->after, out->before, g->groups * sizeof(double));
	for (size_t i = 0; i < changes.n; i++) {
		change_add(g, &changes.items[i], &shares, count, changes.items[i].weight, out->after);
		out->uniform += changes.items[i].weight * (changes.items[i].b[0] - 1);
	}
	free(changes.items);
	additive_release(&fit);
	mat_release(&shares);
	free(count);
}

void growth_compute(const struct blend_data *before, const double *ratio, const struct shares_options *options, struct growth *out)
{
	size_t n = options->resamples, p = before->features.n;
	struct growth_work g = { .data = before, .ratio = ratio, .seed = options->seed, .groups = before->features.groups + 1 };
	struct growth r = { .groups = before->features.groups };

	ASSAY_BUG_IF(before->types < 4 || p == 0);
	g.x = mem_new(before->types * p, sizeof(*g.x));
	for (int all = 0; all < 2; all++)
		g.change[all] = mat_new(n * SHARES_DRAWS, g.groups);
	for (size_t t = 0; t < before->types; t++) {
		ASSAY_BUG_IF(!(ratio[t] > 1 / GROWTH_RATIO_MAX && ratio[t] < GROWTH_RATIO_MAX));
		for (size_t k = 0; k < p; k++)
			g.x[t * p + k] = exp(-mat_get(&before->features.type_logs, t, k) - before->type_cost[t]);
	}
	r.before = mem_new(g.groups, sizeof(double));
	r.after = mem_new(g.groups, sizeof(double));
	r.low = mem_new(g.groups, sizeof(double));
	r.high = mem_new(g.groups, sizeof(double));
	r.lead = mem_new(g.groups, sizeof(double));
	growing_fit(&g, &r);
	growing_compute_lead(&g, &r);
	parallel_for(n, options->threads, growing_resample, &g);
	growing_compute_total(&g, &r);
	growing_summarise(&g, n, &r);
	free(g.x);
	mat_release(&g.change[0]);
	mat_release(&g.change[1]);
	*out = r;
}

void growth_release(struct growth *r)
{
	mem_free(r->before, r->after, r->low, r->high, r->lead);
	*r = (struct growth){ 0 };
}

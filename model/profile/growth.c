#include "model/profile/growth.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "model/parallel.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define TERMS_MAX  3   /* the factor and two resources */
#define FLOOR	   .01 /* error below which models are equally good */
#define CLIP	   2.0 /* |log error| of one type: beyond it, worse counts the same */
#define SINGULAR   1e-10
#define NEGLIGIBLE 1e-6

struct growing {
	const struct blend_data *data;
	const double *ratio; /* [types] */
	struct blend_choice choice;
	double *x;     /* [types x features.n] */
	size_t groups; /* with the unexplained */
	uint64_t seed;
	struct mat change[2]; /* [resamples * SHARES_DRAWS x groups]; [1]: as if the older one's models missed nothing */
};

/* ---- models of the ratio ---- */

struct change {
	size_t terms, col[TERMS_MAX]; /* col[0] is the factor's */
	double b[TERMS_MAX];
	double weight;
};

struct changes {
	struct change *items;
	size_t n, capacity;
};

static double change_regressor(const struct growing *g, const struct change *m, size_t i, size_t t)
{
	return i ? g->x[t * g->data->features.n + m->col[i]] : 1.0;
}

/* The inverse of the normal equations' matrix, by Gauss and Jordan; false when it is singular. */
static bool change_invert(size_t n, double a[TERMS_MAX][TERMS_MAX], double inverse[TERMS_MAX][TERMS_MAX])
{
	double scale[TERMS_MAX];

	for (size_t i = 0; i < n; i++) {
		scale[i] = a[i][i];
		for (size_t j = 0; j < n; j++)
			inverse[i][j] = i == j ? 1.0 : 0.0;
	}
	for (size_t i = 0; i < n; i++) { /* positive definite: no pivots needed */
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

/* Least squares, each type `count` times; and the mean |log error| on types left out, which needs no further fit: the residual without
 * a type is its residual / (1 - its leverage) (Allen, Technometrics 16(1), 1974). False when there is no such model: singular, not
 * finite, or a time that is not above 0. */
static bool change_fit(const struct growing *g, const double *count, struct change *m, double *error)
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
		sum += count[t] * (left_out > 0 ? fmin(fabs(log(left_out / g->ratio[t])), CLIP) : CLIP);
		total += count[t];
	}
	*error = sum / total;
	return true;
}

static void changes_try(const struct growing *g, const double *count, struct change m, struct changes *out)
{
	double error;

	if (!change_fit(g, count, &m, &error))
		return;
	m.weight = log(error + FLOOR);
	mem_append(out->items, out->n, &out->capacity, m);
}

/* From logs of errors to weights that sum to one. */
static void changes_weigh(struct changes *c, size_t types)
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

static void changes_fit(const struct growing *g, const double *count, struct changes *out)
{
	size_t n = g->data->features.n, types = 0;
	struct changes c = { 0 };

	for (size_t t = 0; t < g->data->types; t++)
		types += count[t] > 0;
	changes_try(g, count, (struct change){ .terms = 1 }, &c);
	for (size_t k = 0; k < n; k++) {
		if (types > 2)
			changes_try(g, count, (struct change){ .terms = 2, .col = { 0, k } }, &c);
		for (size_t j = 0; j < k && types > 3; j++)
			changes_try(g, count, (struct change){ .terms = 3, .col = { 0, j, k } }, &c);
	}
	ASSAY_BUG_IF(c.n == 0); /* the factor alone always stands */
	changes_weigh(&c, types);
	*out = c;
}

/* ---- contributions ---- */

/* Adds `part` of what the model changes, the older one's groups being as in shares [types x groups]. */
static void change_add(const struct growing *g, const struct change *m, const struct mat *shares, const double *count, double part,
		       double *out)
{
	double total = 0;

	for (size_t t = 0; t < g->data->types; t++)
		total += count[t];
	for (size_t t = 0; t < g->data->types; t++) {
		double weight = part * count[t] / total, left = g->ratio[t];

		if (!(count[t] > 0))
			continue; /* what the model says there need not be finite */
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

/* The group that most of the time which the model adds or takes away goes to, the factor aside; g->groups - 1 where it is the factor.
 * time [g->groups] is scratch. */
static size_t change_leading_group(const struct growing *g, const struct change *m, double *time)
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

static const struct change *changes_draw(const struct changes *c, double u)
{
	size_t last = 0;

	for (size_t k = 0; k < c->n && u >= 0; k++) {
		u -= c->items[k].weight;
		last = c->items[k].weight > 0 ? k : last;
	}
	return &c->items[last];
}

/* By models of the version that costs more over the one that costs less: what was added, or what was taken away. A version that
 * needs a tenth of the time is the older one without something rather than a tenth of it and something more. */
static void growing_lead(const struct growing *g, struct growth *out)
{
	const struct blend_data *d = g->data;
	size_t p = d->features.n;
	double *ratio = mem_new(d->types, sizeof(*ratio)), *count = mem_new(d->types, sizeof(*count)), mean = 0;
	double *time = mem_new(g->groups, sizeof(*time));
	struct growing costly = *g;
	struct changes changes;

	costly.ratio = ratio;
	costly.x = mem_new(d->types * p, sizeof(*costly.x));
	for (size_t t = 0; t < d->types; t++)
		mean += log(g->ratio[t]);
	for (size_t t = 0; t < d->types; t++) {
		double cheap = stats_round(mean) < 0 ? g->ratio[t] : 1; /* the cost of the one below, of the older one's */

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
	struct growing *g = context;
	const struct blend_data *d = g->data;
	struct mat shares = mat_new(d->types, g->groups);
	double *count = mem_new(d->types, sizeof(*count));
	struct additive_model model;
	struct changes changes;
	struct additive fit, one;
	struct rng rng;

	shares_resample(d, &g->choice, g->seed, i, &rng, count, &fit);
	changes_fit(g, count, &changes);
	for (size_t k = i * SHARES_DRAWS; k < (i + 1) * SHARES_DRAWS; k++) {
		const struct change *change = changes_draw(&changes, rng_double(&rng));

		one = shares_one_model(&fit, rng_double(&rng), &model);
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

/* The widest of both ways to count what the models miss, which is some group's. */
static void growing_summarise(const struct growing *g, size_t resamples, struct growth *out)
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

/* Student's t over types: resampling the few there often are gives intervals that are too narrow. */
static void growing_total(const struct growing *g, struct growth *out)
{
	size_t n = g->data->types;
	double squares = 0, half;

	for (size_t t = 0; t < n; t++)
		out->total += (g->ratio[t] - 1) / (double)n;
	for (size_t t = 0; t < n; t++)
		squares += (g->ratio[t] - 1 - out->total) * (g->ratio[t] - 1 - out->total);
	half = stats_t_quantile(.5 * (1 + GROWTH_TOTAL_LEVEL), (double)(n - 1)) * sqrt(squares / (double)(n - 1) / (double)n);
	out->total_low = fmax(out->total - half, -1); /* no time is negative */
	out->total_high = out->total + half;
}

static void growing_fit(struct growing *g, struct growth *out)
{
	const struct blend_data *d = g->data;
	double *count = mem_new(d->types, sizeof(*count));
	struct mat shares = mat_new(d->types, g->groups);
	struct changes changes;
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

void growth_of(const struct blend_data *before, const double *ratio, const struct shares_options *options, struct growth *out)
{
	size_t n = options->resamples, p = before->features.n;
	struct growing g = { .data = before, .ratio = ratio, .seed = options->seed, .groups = before->features.groups + 1 };
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
	growing_lead(&g, &r);
	parallel_for(n, options->threads, growing_resample, &g);
	growing_total(&g, &r);
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

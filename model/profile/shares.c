#include "model/profile/shares.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "model/parallel.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define GRADIENT_TOLERANCE 1e-12 /* relative to |h|: a smaller gradient counts as 0 */
#define PIVOT_TOLERANCE	   1e-13 /* of what the columns that are in leave of a new one: it depends on them */
#define STEPS		   30	 /* of the bisection: the share is known to better than 1e-6 */

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

/* ---- resampled types ---- */

struct resampling {
	const struct blend_data *data;
	const struct blend *blend;
	uint64_t seed;
	struct shares *out;
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

static void shares_draw_models(void *context, size_t i)
{
	struct resampling *r = context;
	const struct blend_data *d = r->data;
	struct mat columns = mat_new(d->types, d->sums.cols), groups = mat_new(d->types, d->sums.groups);
	double *count = mem_new(d->types, sizeof(*count));
	struct additive_model model;
	struct additive fit, one;
	struct rng rng;

	shares_resample(d, &r->blend->choice, r->seed, i, &rng, count, &fit);
	for (size_t k = i * SHARES_DRAWS; k < (i + 1) * SHARES_DRAWS; k++) {
		one = shares_one_model(&fit, rng_double(&rng), &model);
		for (size_t side = 0; side < 2; side++) {
			struct mat *drawn = side ? &r->out->drawn_above : &r->out->drawn;

			shares_of_columns(d, &one, side == 1, &columns);
			shares_of_groups(d, &columns, &groups);
			mat_column_means(&groups, &drawn->at[k * drawn->cols]);
		}
	}
	additive_release(&fit);
	mat_release(&columns);
	mat_release(&groups);
	free(count);
}

static size_t shares_leading(const double *share, size_t groups)
{
	size_t best = 0;

	for (size_t g = 1; g < groups; g++)
		best = share[g] > share[best] ? g : best;
	return best;
}

static void shares_summarise(struct shares *s)
{
	size_t n = s->drawn.rows;
	double *values = mem_new(n, sizeof(*values));

	for (size_t g = 0; g <= s->groups; g++) {
		/* Of what is unexplained, nothing is a group's at its low end, all at its high end; of itself the other way
		 * round. */
		for (size_t i = 0; i < n; i++)
			values[i] = mat_get(g < s->groups ? &s->drawn : &s->drawn_above, i, g);
		s->low[g] = n ? fmin(stats_quantile(values, n, .5 * (1.0 - SHARES_LEVEL)), s->share[g]) : (double)NAN;
		for (size_t i = 0; i < n; i++)
			values[i] = mat_get(g < s->groups ? &s->drawn_above : &s->drawn, i, g);
		s->high[g] = n ? fmax(stats_quantile(values, n, .5 * (1.0 + SHARES_LEVEL)), s->share[g]) : (double)NAN;
	}
	for (size_t g = 0; g < s->groups; g++)
		s->first[g] = n ? 0.0 : (double)NAN;
	for (size_t i = 0; i < n && s->groups; i++)
		s->first[shares_leading(&s->drawn.at[i * s->drawn.cols], s->groups)] += 1.0 / (double)n;
	free(values);
}

/* ---- non-negative least squares ---- */

/* Non-negative least squares on normal equations: minimise w'Gw - 2 h'w subject to w >= 0.
 * Source: Lawson and Hanson, Solving Least Squares Problems (1974), chapter 23; on the Gram matrix as Bro and de Jong, Journal of
 * Chemometrics 11, 1997. Deterministic: the largest gradient enters first, ties by column. */
/* Scratch space for problems of up to `capacity` columns. */
struct nnls {
	size_t capacity;
	size_t *used;	 /* columns with w > 0, in the order in which they came in */
	bool *in;	 /* [capacity] */
	bool *dependent; /* [capacity] on the columns that are in */
	double *factor;	 /* [capacity x capacity] lower Cholesky factor of G over `used` */
	double *z;	 /* [capacity] the solution over `used` without the bounds */
};

static struct nnls *nnls_new(size_t capacity)
{
	struct nnls *s = mem_new(1, sizeof(*s));

	s->capacity = capacity;
	s->used = mem_new(capacity, sizeof(*s->used));
	s->in = mem_new(capacity, sizeof(*s->in));
	s->dependent = mem_new(capacity, sizeof(*s->dependent));
	s->factor = mem_new(capacity * capacity, sizeof(*s->factor));
	s->z = mem_new(capacity, sizeof(*s->z));
	return s;
}

static void nnls_free(struct nnls *s)
{
	if (!s)
		return;
	free(s->used);
	free(s->in);
	free(s->dependent);
	free(s->factor);
	free(s->z);
	free(s);
}

/* Row k of the factor, for used[k]; false when the column depends on those before it. */
static bool nnls_factor_row(struct nnls *s, const struct mat *G, size_t k)
{
	double *row = &s->factor[k * s->capacity];
	size_t column = s->used[k];
	double diagonal = mat_get(G, column, column), left = diagonal;

	for (size_t i = 0; i < k; i++) {
		const double *other = &s->factor[i * s->capacity];
		double sum = mat_get(G, column, s->used[i]);

		for (size_t j = 0; j < i; j++)
			sum -= row[j] * other[j];
		row[i] = sum / other[i];
		left -= row[i] * row[i];
	}
	if (left <= PIVOT_TOLERANCE * diagonal)
		return false;
	row[k] = sqrt(left);
	return true;
}

static void nnls_solve_used(struct nnls *s, const double *h, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const double *row = &s->factor[i * s->capacity];
		double sum = h[s->used[i]];

		for (size_t j = 0; j < i; j++)
			sum -= row[j] * s->z[j];
		s->z[i] = sum / row[i];
	}
	for (size_t i = n; i-- > 0;) {
		for (size_t j = i + 1; j < n; j++)
			s->z[i] -= s->factor[j * s->capacity + i] * s->z[j];
		s->z[i] /= s->factor[i * s->capacity + i];
	}
}

/* Steps from w towards z as far as the bounds allow and takes out the columns that reach zero. Returns how many are left. */
static size_t nnls_step_back(struct nnls *s, const struct mat *G, double *w, size_t n)
{
	double step = 1.0;
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		double from = w[s->used[i]];

		if (s->z[i] <= 0.0)
			step = fmin(step, from / (from - s->z[i]));
	}
	for (size_t i = 0; i < n; i++) {
		size_t column = s->used[i];

		w[column] += step * (s->z[i] - w[column]);
		if (s->z[i] <= 0.0 && w[column] <= 1e-15 * fabs(s->z[i]))
			w[column] = 0.0;
		s->in[column] = w[column] > 0.0;
		s->used[kept] = column;
		kept += s->in[column];
	}
	for (size_t i = 0; i < kept; i++)
		(void)nnls_factor_row(s, G, i); /* a part of independent columns is independent */
	return kept;
}

/* The column with the largest gradient that may come in; G->cols when there is none. */
static size_t nnls_steepest(const struct nnls *s, const struct mat *G, const double *h, const double *w, size_t n, double tolerance)
{
	size_t best = G->cols;
	double top = tolerance;

	for (size_t j = 0; j < G->cols; j++) {
		double gradient = h[j];

		if (s->in[j] || s->dependent[j])
			continue;
		for (size_t i = 0; i < n; i++)
			gradient -= mat_get(G, j, s->used[i]) * w[s->used[i]];
		if (gradient > top) {
			top = gradient;
			best = j;
		}
	}
	return best;
}

/* Until the solution over the used columns keeps the bounds; returns their number. */
static size_t nnls_keep_bounds(struct nnls *s, const struct mat *G, const double *h, double *w, size_t n)
{
	for (;;) {
		bool inside = true;

		nnls_solve_used(s, h, n);
		for (size_t i = 0; i < n; i++)
			inside &= s->z[i] > 0.0;
		if (inside)
			break;
		n = nnls_step_back(s, G, w, n);
	}
	for (size_t i = 0; i < n; i++)
		w[s->used[i]] = s->z[i];
	return n;
}

static double nnls_largest(const double *h, size_t p)
{
	double top = 0.0;

	for (size_t j = 0; j < p; j++)
		top = fmax(top, fabs(h[j]));
	return top;
}

/* G     [p x p] symmetric positive semidefinite, finite; p <= capacity.
 * h     [p] finite.
 * w     [p] filled: a minimiser; where columns are linearly dependent to working precision, one of those with the fewest of them.
 * Cost: about k^3 for each of the k columns that are used. */
static void nnls_solve(struct nnls *s, const struct mat *G, const double *h, double *w)
{
	size_t p = G->cols, n = 0, rounds = 3 * p + 10; /* Lawson and Hanson's own limit against rounding in circles */
	double tolerance = GRADIENT_TOLERANCE * nnls_largest(h, p);

	ASSAY_BUG_IF(p > s->capacity || G->rows != p);
	for (size_t j = 0; j < p; j++) {
		w[j] = 0.0;
		s->in[j] = s->dependent[j] = false;
	}
	while (rounds-- > 0) {
		size_t column = nnls_steepest(s, G, h, w, n, tolerance);

		if (column == p)
			break;
		s->used[n] = column;
		if (!nnls_factor_row(s, G, n)) {
			s->dependent[column] = true;
			continue;
		}
		s->in[column] = true;
		n = nnls_keep_bounds(s, G, h, w, n + 1);
		for (size_t j = 0; j < p; j++)
			s->dependent[j] = false;
		if (!s->in[column])
			s->dependent[column] = true; /* rounding let it in: not again at once */
	}
}

/* w'Gw - 2 h'w. */
static double nnls_objective(const struct mat *G, const double *h, const double *w)
{
	double value = 0.0;

	for (size_t i = 0; i < G->rows; i++) {
		double sum = 0.0;

		for (size_t j = 0; j < G->cols; j++)
			sum += mat_get(G, i, j) * w[j];
		value += w[i] * (sum - 2.0 * h[i]);
	}
	return value;
}

/* ---- the range of all fits that are nearly as good ---- */

/* The smallest and the largest share that each group has over all non-negative fits that are nearly as good as the best one.
 *
 * A fit is nearly as good when T log(its mean squared relative error / the least) is at most the chi-square quantile with one
 * degree of freedom: a profile likelihood interval (Venzon and Moolgavkar, Applied Statistics 37(1), 1988) for the share, which
 * is a linear function of the weights. Both ends are convex problems: the share times a multiplier is added to the error, each
 * step is one non-negative least squares, and the multiplier is found by bisection. */
struct ranging {
	const struct blend_data *data;
	struct mat G;
	double *h;
	double limit; /* mean squared relative error of a fit that is just good enough */
	double *least, *most;
};

/* The share of a group under the best fit whose error has the share times `multiplier` taken off. *error gets its own error. */
static double range_share(const struct ranging *r, size_t group, double multiplier, struct nnls *nnls, double *h, double *w, double *error)
{
	size_t p = r->G.cols;
	double share = 0.0;

	for (size_t k = 0; k < p; k++)
		h[k] = r->h[k] * (r->data->sums.group[k] == group ? 1.0 + multiplier : 1.0);
	nnls_solve(nnls, &r->G, h, w);
	for (size_t k = 0; k < p; k++)
		share += r->data->sums.group[k] == group ? w[k] * r->h[k] : 0.0;
	*error = 1.0 + nnls_objective(&r->G, r->h, w);
	return share;
}

/* The share at the multiplier of this sign at which the error reaches the limit. */
static double range_end(const struct ranging *r, size_t group, double sign)
{
	size_t p = r->G.cols;
	struct nnls *nnls = nnls_new(p);
	double *h = mem_new(2 * p, sizeof(*h)), low = 0.0, high = 1e-3, error, share, best;

	best = range_share(r, group, 0.0, nnls, h, h + p, &error);
	share = range_share(r, group, sign * high, nnls, h, h + p, &error);
	while (error <= r->limit && high < 1e4) {
		low = high;
		best = share;
		high *= 4.0;
		share = range_share(r, group, sign * high, nnls, h, h + p, &error);
	}
	if (error <= r->limit)
		best = share; /* nothing holds it back */
	for (size_t i = 0; i < STEPS && error > r->limit * (1.0 - 1e-6) && high - low > 1e-6 * high; i++) {
		double middle = .5 * (low + high), at;

		share = range_share(r, group, sign * middle, nnls, h, h + p, &at);
		if (at > r->limit) {
			high = middle;
		} else {
			low = middle;
			best = share;
		}
	}
	nnls_free(nnls);
	free(h);
	return fmin(fmax(best, 0.0), 1.0);
}

static void range_group(void *context, size_t i)
{
	struct ranging *r = context;

	if (i % 2)
		r->most[i / 2] = range_end(r, i / 2, 1.0);
	else
		r->least[i / 2] = range_end(r, i / 2, -1.0);
}

static double range_best_error(const struct ranging *r)
{
	struct nnls *nnls = nnls_new(r->G.cols);
	double *w = mem_new(r->G.cols, sizeof(*w)), error;

	nnls_solve(nnls, &r->G, r->h, w);
	error = 1.0 + nnls_objective(&r->G, r->h, w);
	nnls_free(nnls);
	free(w);
	return fmax(error, 0.0);
}

/* noise: relative error below which a fit is as good as can be. least, most [features.groups] are filled, within [0, 1]. */
static void range_of(const struct blend_data *d, double noise, size_t threads, double *least, double *most)
{
	const struct additive_sums *s = &d->sums;
	struct ranging r = {
		.data = d, .G = mat_new(s->cols, s->cols), .h = mem_new(s->cols, sizeof(double)), .least = least, .most = most
	};
	double types = (double)s->types;

	for (size_t t = 0; t < s->types; t++) {
		for (size_t k = 0; k < s->cols * s->cols; k++)
			r.G.at[k] += s->G[t].at[k] / types;
		for (size_t k = 0; k < s->cols; k++)
			r.h[k] += mat_get(&s->h, t, k) / types;
	}
	r.limit = fmax(range_best_error(&r), noise * noise) * exp(stats_chi2_quantile(SHARES_LEVEL, 1.0) / types);
	parallel_for(2 * d->features.groups, threads, range_group, &r);
	mat_release(&r.G);
	free(r.h);
}

/* ---- all ---- */

void shares_of(const struct blend_data *d, const struct blend *blend, double noise, const struct shares_options *options,
	       struct shares *out)
{
	struct shares s = { .groups = d->features.groups, .types = d->types };
	struct mat columns = mat_new(d->types, d->sums.cols);
	double *mean = mem_new(d->sums.cols, sizeof(*mean));

	ASSAY_BUG_IF(d->types < 3);
	s.by_type = mat_new(d->types, s.groups + 1);
	s.share = mem_new(s.groups + 1, sizeof(double));
	s.low = mem_new(s.groups + 1, sizeof(double));
	s.high = mem_new(s.groups + 1, sizeof(double));
	s.least = mem_new(s.groups, sizeof(double));
	s.most = mem_new(s.groups, sizeof(double));
	s.first = mem_new(s.groups, sizeof(double));
	s.column = mem_new(d->features.n, sizeof(double));
	s.drawn = mat_new(options->resamples * SHARES_DRAWS, s.groups + 1);
	s.drawn_above = mat_new(options->resamples * SHARES_DRAWS, s.groups + 1);

	shares_of_columns(d, &blend->additive, false, &columns);
	shares_of_groups(d, &columns, &s.by_type);
	mat_column_means(&s.by_type, s.share);
	mat_column_means(&columns, mean);
	memcpy(s.column, mean, d->features.n * sizeof(double));
	parallel_for(options->resamples, options->threads, shares_draw_models, &(struct resampling){ d, blend, options->seed, &s });
	shares_summarise(&s);
	range_of(d, noise, options->threads, s.least, s.most);
	for (size_t g = 0; g < s.groups; g++) { /* the average of models is one more fit that is nearly as good */
		s.least[g] = fmin(s.least[g], s.share[g]);
		s.most[g] = fmax(s.most[g], s.share[g]);
	}
	free(mean);
	mat_release(&columns);
	*out = s;
}

void shares_release(struct shares *s)
{
	mat_release(&s->by_type);
	mat_release(&s->drawn);
	mat_release(&s->drawn_above);
	free(s->share);
	free(s->low);
	free(s->high);
	free(s->least);
	free(s->most);
	free(s->first);
	free(s->column);
	*s = (struct shares){ 0 };
}

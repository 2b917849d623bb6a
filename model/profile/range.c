#include "model/profile/range.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/stats.h"
#include "model/parallel.h"

#include <math.h>
#include <stdbool.h>

#define GRADIENT_TOLERANCE 1e-12 /* gradients that are smaller, relative to |h|, count as 0 */
#define PIVOT_TOLERANCE	   1e-13 /* a column depends on the used columns if they leave at most this part of its square */
#define STEPS		   30	 /* number of bisection steps; the error of the share is then below 1e-6 */

/* ---- non-negative least squares ---- */

/* Solves non-negative least squares by normal equations: minimises w'Gw - 2 h'w subject to w >= 0. Source: Lawson and Hanson, Solving Least
 * Squares Problems (1974), chapter 23; on the Gram matrix as in Bro and de Jong, Journal of Chemometrics 11, 1997. Deterministic: the
 * column with the largest gradient enters first; of equals, the lower column. */
/* Buffers for problems of up to `capacity` columns. */
struct nnls {
	size_t capacity;
	size_t *used;	 /* [capacity] columns with w > 0, in the order in which they entered */
	bool *in;	 /* [capacity] true for columns in `used` */
	bool *dependent; /* [capacity] true for columns that depend linearly on the used columns */
	double *factor;	 /* [capacity x capacity] lower Cholesky factor of G for the used columns */
	double *z;	 /* [capacity] solution for the used columns without the bounds */
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
	mem_free(s->used, s->in, s->dependent, s->factor, s->z, s);
}

/* Computes row k of the factor, for column used[k]. Returns false if that column depends on the previous ones. */
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

/* Moves w towards z until a weight reaches 0, and removes columns with weight 0. Returns the number of remaining columns. */
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
		(void)nnls_factor_row(s, G, i); /* cannot fail: a subset of independent columns is independent */
	return kept;
}

/* Returns the column outside `used` with the largest gradient; G->cols if no gradient exceeds `tolerance`. */
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

/* Solves for the used columns; removes columns until all weights are above 0. Stores w. Returns the number of remaining columns. */
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

/* Solves the problem.
 * G     [p x p] symmetric positive semidefinite, finite; p <= capacity.
 * h     [p] finite.
 * w     [p] gets a minimiser; of columns that depend on each other, as few as possible have a weight.
 * Cost: about k^3 for each of the k used columns. */
static void nnls_solve(struct nnls *s, const struct mat *G, const double *h, double *w)
{
	size_t p = G->cols, n = 0, rounds = 3 * p + 10; /* Lawson and Hanson's limit, because rounding errors may cause cycles */
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
			s->dependent[column] = true; /* only a rounding error made the column enter; it must not enter again at once */
	}
}

/* Returns the objective w'Gw - 2 h'w. */
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

/* ---- the range over all fits that are nearly as good ---- */

struct range_search {
	const struct mat *least_of, *most_of; /* [cols x parts] limits of each part's share of a column */
	struct mat G;
	double *h;
	double limit; /* maximum mean squared relative error of fits that are nearly as good */
	double *least, *most;
};

/* Returns the share of a part in the fit that minimises the error - `multiplier` * share. The part has the share of[k * stride] of column
 * k. *error gets the mean squared relative error of the fit. */
static double range_share(const struct range_search *r, const double *of, size_t stride, double multiplier, struct nnls *nnls, double *h,
			  double *w, double *error)
{
	size_t p = r->G.cols;
	double share = 0.0;

	for (size_t k = 0; k < p; k++)
		h[k] = r->h[k] * (1.0 + multiplier * of[k * stride]);
	nnls_solve(nnls, &r->G, h, w);
	for (size_t k = 0; k < p; k++)
		share += w[k] * r->h[k] * of[k * stride];
	*error = 1.0 + nnls_objective(&r->G, r->h, w);
	return share;
}

/* Returns a part's share in the fit whose error is just at the limit; `sign` is -1 for the low end of the range, 1 for the high end. */
static double range_end(const struct range_search *r, size_t part, double sign)
{
	const struct mat *parts = sign < 0.0 ? r->least_of : r->most_of;
	const double *of = parts->at + part;
	size_t p = r->G.cols, stride = parts->cols;
	struct nnls *nnls = nnls_new(p);
	double *h = mem_new(2 * p, sizeof(*h)), low = 0.0, high = 1e-3, error, share, best;

	best = range_share(r, of, stride, 0.0, nnls, h, h + p, &error);
	share = range_share(r, of, stride, sign * high, nnls, h, h + p, &error);
	while (error <= r->limit && high < 1e4) {
		low = high;
		best = share;
		high *= 4.0;
		share = range_share(r, of, stride, sign * high, nnls, h, h + p, &error);
	}
	if (error <= r->limit)
		best = share; /* the error stays below the limit for any multiplier */
	for (size_t i = 0; i < STEPS && error > r->limit * (1.0 - 1e-6) && high - low > 1e-6 * high; i++) {
		double middle = .5 * (low + high), at;

		share = range_share(r, of, stride, sign * middle, nnls, h, h + p, &at);
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

static void range_part(void *context, size_t i)
{
	struct range_search *r = context;

	if (i % 2)
		r->most[i / 2] = range_end(r, i / 2, 1.0);
	else
		r->least[i / 2] = range_end(r, i / 2, -1.0);
}

static double range_best_error(const struct range_search *r)
{
	struct nnls *nnls = nnls_new(r->G.cols);
	double *w = mem_new(r->G.cols, sizeof(*w)), error;

	nnls_solve(nnls, &r->G, r->h, w);
	error = 1.0 + nnls_objective(&r->G, r->h, w);
	nnls_free(nnls);
	free(w);
	return fmax(error, 0.0);
}

void range_compute(const struct blend_data *d, const struct mat *least_of, const struct mat *most_of, double noise, size_t threads,
		   double *least, double *most)
{
	const struct additive_sums *s = &d->sums;
	struct range_search r = { .least_of = least_of,
				  .most_of = most_of,
				  .G = mat_new(s->cols, s->cols),
				  .h = mem_new(s->cols, sizeof(double)),
				  .least = least,
				  .most = most };
	double types = (double)s->types;

	ASSAY_BUG_IF(least_of->rows != s->cols || most_of->rows != s->cols || least_of->cols != most_of->cols);
	for (size_t t = 0; t < s->types; t++) {
		for (size_t k = 0; k < s->cols * s->cols; k++)
			r.G.at[k] += s->G[t].at[k] / types;
		for (size_t k = 0; k < s->cols; k++)
			r.h[k] += mat_get(&s->h, t, k) / types;
	}
	r.limit = fmax(range_best_error(&r), noise * noise) * exp(stats_chi2_quantile(SHARES_LEVEL, 1.0) / types);
	parallel_for(2 * least_of->cols, threads, range_part, &r);
	mat_release(&r.G);
	free(r.h);
}

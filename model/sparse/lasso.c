#include "model/sparse/lasso.h"

#include "base/mem.h"
#include "model/sparse/active_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ENOUGH 1e-11 /* of the deviation of y: what a pull may exceed lambda by */

/* Columns and what is left of y are multiplied by the roots of the weights: weighted products are plain ones. */
struct scaled {
	size_t n, p;
	double *z;	   /* [p x n] standardised columns, one after the other; a constant one is 0 */
	double *mean, *sd; /* [p]; through the origin nothing is centred, and means are 0 */
	double *root;	   /* [n], of the weights, whose sum is 1 */
	double *y;	   /* [n] */
	double *pull;	   /* [p] of y, at the columns */
	double **products; /* [p] active_set.h */
	double *b;	   /* [p] */
	struct active_set *set;
	bool *varies; /* [p] */
	double y_mean, y_sd;
	bool any_sign;
};

/* Centres x by the weights, and multiplies it by their roots; returns its deviation. */
static double centre(double *x, const double *root, size_t n, double *mean)
{
	*mean = 0.0;
	for (size_t i = 0; i < n; i++)
		*mean += root[i] * root[i] * x[i];
	for (size_t i = 0; i < n; i++)
		x[i] = root[i] * (x[i] - *mean);
	return sqrt(active_set_dot(x, x, n));
}

/* With these columns alone, from b. */
static struct active_set *set_of(const struct scaled *d, const bool *allowed, double *b)
{
	return active_set_new(&(struct active_problem){ .z = d->z,
							.y = d->y,
							.n = d->n,
							.p = d->p,
							.pull = d->pull,
							.products = d->products,
							.allowed = allowed,
							.any_sign = d->any_sign,
							.enough = ENOUGH * d->y_sd },
			      b);
}

/* The columns one after the other: of some at a time, as rows lie in lines of memory. */
static double *columns_of(const struct mat *X)
{
	const size_t together = 8;
	double *z = mem_new(X->rows * X->cols, sizeof(*z));

	for (size_t first = 0; first < X->cols; first += together) {
		size_t end = first + together < X->cols ? first + together : X->cols;

		for (size_t i = 0; i < X->rows; i++) {
			for (size_t j = first; j < end; j++)
				z[j * X->rows + i] = mat_get(X, i, j);
		}
	}
	return z;
}

static double largest_of(const double *x, size_t n)
{
	double largest = 0.0;

	for (size_t i = 0; i < n; i++)
		largest = fabs(x[i]) > largest ? fabs(x[i]) : largest;
	return largest;
}

/* Columns divided by their deviation, unless they are as given; `origin`: not centred, so that there is no intercept. */
static struct scaled scaled_of(const struct mat *X, const double *y, const double *weight, const struct lasso_options *how, bool origin)
{
	size_t n = X->rows, p = X->cols;
	struct scaled d = { .n = n,
			    .p = p,
			    .z = columns_of(X),
			    .mean = mem_new(p, sizeof(double)),
			    .sd = mem_new(p, sizeof(double)),
			    .root = mem_new(n, sizeof(double)),
			    .y = mem_new(n, sizeof(double)),
			    .pull = mem_new(p, sizeof(double)),
			    .products = mem_new(p, sizeof(double *)),
			    .b = mem_new(p, sizeof(double)),
			    .varies = mem_new(p, sizeof(bool)),
			    .any_sign = how->any_sign };
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += weight[i];
	for (size_t i = 0; i < n; i++)
		d.root[i] = sqrt(weight[i] / sum);
	memcpy(d.y, y, n * sizeof(*y));
	d.y_sd = centre(d.y, d.root, n, &d.y_mean);
	for (size_t i = 0; i < n && origin; i++)
		d.y[i] = d.root[i] * y[i];
	d.y_mean = origin ? 0.0 : d.y_mean;
	for (size_t j = 0; j < p; j++) {
		double *z = d.z + j * n, largest = largest_of(z, n), scale;

		d.sd[j] = centre(z, d.root, n, &d.mean[j]);
		if (d.sd[j] <= 1e-12 * largest)
			d.sd[j] = 0.0;
		d.varies[j] = d.sd[j] > 0.0;
		if (d.varies[j] && how->as_given)
			d.sd[j] = 1.0;
		scale = d.varies[j] ? 1.0 / d.sd[j] : 0.0;
		for (size_t i = 0; i < n; i++)
			z[i] = (z[i] + (origin ? d.root[i] * d.mean[j] : 0.0)) * scale;
		d.mean[j] = origin ? 0.0 : d.mean[j];
		d.pull[j] = active_set_dot(z, d.y, n);
	}
	d.set = set_of(&d, d.varies, d.b);
	return d;
}

static void scaled_release(struct scaled *d)
{
	mem_free_all(d->products, d->p);
	active_set_free(d->set);
	mem_free(d->z, d->mean, d->sd, d->root, d->y, d->pull, d->b, d->varies);
}

/* The least lambda at which all coefficients are 0. */
static double largest_pull(const struct scaled *d)
{
	double most = 0.0;

	for (size_t j = 0; j < d->p; j++)
		most = fmax(most, d->any_sign ? fabs(d->pull[j]) : d->pull[j]);
	return most;
}

/* For the columns as they were given. */
static void keep(const struct scaled *d, const double *coefficients, size_t k, struct mat *beta, double *intercept)
{
	intercept[k] = d->y_mean;
	for (size_t j = 0; j < d->p; j++) {
		double b = d->sd[j] > 0.0 ? coefficients[j] / d->sd[j] : 0.0;

		mat_set(beta, k, j, b);
		intercept[k] -= b * d->mean[j];
	}
}

static bool same_columns(const struct mat *beta, size_t k)
{
	for (size_t j = 0; k && j < beta->cols; j++) {
		if ((mat_get(beta, k, j) != 0.0) != (mat_get(beta, k - 1, j) != 0.0))
			return false;
	}
	return k > 0;
}

/* Without the price, with the columns that row k of beta has. */
static void refit(const struct scaled *d, size_t k, struct lasso_path *out)
{
	double *b = mem_new(d->p, sizeof(*b));
	bool *has = mem_new(d->p, sizeof(*has));
	struct active_set *set;

	for (size_t j = 0; j < d->p; j++) {
		has[j] = mat_get(&out->beta, k, j) != 0.0;
		b[j] = d->b[j];
	}
	set = set_of(d, has, b);
	active_set_solve(set, 0.0);
	keep(d, b, k, &out->refitted, out->refitted_intercept);
	active_set_free(set);
	mem_free(has, b);
}

/* Where the best intercept would be negative, that of those which are not is 0: the problem is convex. */
static void refit_bounded(const struct scaled *d, const struct scaled *origin, size_t k, struct lasso_path *out)
{
	if (same_columns(&out->beta, k)) {
		memcpy(out->refitted.at + k * d->p, out->refitted.at + (k - 1) * d->p, d->p * sizeof(double));
		out->refitted_intercept[k] = out->refitted_intercept[k - 1];
		return;
	}
	refit(d, k, out);
	if (origin->p && out->refitted_intercept[k] < 0.0)
		refit(origin, k, out);
}

void lasso_path_of(const struct mat *X, const double *y, const double *weight, const struct lasso_options *how, const double *lambdas,
		   struct lasso_path *out)
{
	struct scaled d = scaled_of(X, y, weight, how, false), origin = { .p = 0 };
	double first = largest_pull(&d);

	if (how->bounded)
		origin = scaled_of(X, y, weight, how, true);
	*out = (struct lasso_path){ .beta = mat_new(LASSO_LAMBDAS, X->cols) };
	if (how->refit)
		out->refitted = mat_new(LASSO_LAMBDAS, X->cols);
	for (size_t k = 0; k < LASSO_LAMBDAS; k++) {
		double lambda = lambdas ? lambdas[k] : first * pow(how->smallest, (double)k / (LASSO_LAMBDAS - 1));

		out->lambda[k] = lambda;
		active_set_solve(d.set, lambda);
		keep(&d, d.b, k, &out->beta, out->intercept);
		if (origin.p && out->intercept[k] < 0.0) {
			active_set_solve(origin.set, lambda);
			keep(&origin, origin.b, k, &out->beta, out->intercept);
		}
		if (how->refit)
			refit_bounded(&d, &origin, k, out);
	}
	scaled_release(&d);
	scaled_release(&origin);
}

void lasso_values(const struct mat *beta, const double *intercept, size_t k, const struct mat *X, double *value)
{
	size_t *has = mem_new(X->cols, sizeof(*has)), n = 0, i = 0;
	const double *b = beta->at + k * beta->cols, *x = X->at;

	for (size_t j = 0; j < X->cols; j++) {
		if (b[j] != 0.0)
			has[n++] = j;
	}
	for (; i + 4 <= X->rows; i += 4, x += 4 * X->cols) { /* sums that do not wait for each other */
		double sum[4] = { intercept[k], intercept[k], intercept[k], intercept[k] };

		for (size_t at = 0; at < n; at++) {
			size_t j = has[at];

			sum[0] += b[j] * x[j];
			sum[1] += b[j] * x[j + X->cols];
			sum[2] += b[j] * x[j + 2 * X->cols];
			sum[3] += b[j] * x[j + 3 * X->cols];
		}
		memcpy(value + i, sum, sizeof(sum));
	}
	for (; i < X->rows; i++, x += X->cols) {
		value[i] = intercept[k];
		for (size_t at = 0; at < n; at++)
			value[i] += b[has[at]] * x[has[at]];
	}
	free(has);
}

void lasso_path_release(struct lasso_path *path)
{
	mat_release(&path->beta);
	mat_release(&path->refitted);
}

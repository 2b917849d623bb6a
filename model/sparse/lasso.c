#include "model/sparse/lasso.h"

#include "base/mem.h"
#include "model/sparse/active_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SWEEPS_MAX   100000
#define REFIT_SWEEPS 300   /* columns that go together take long to part, and need not */
#define ENOUGH	     1e-11 /* of the deviation of y: what a pull may exceed lambda by where the minimum is exact */

/* Columns and what is left of y are multiplied by the roots of the weights: weighted products are plain ones. */
struct descent {
	size_t n, p;
	double *z;	   /* [p x n] standardised columns, one after the other; a constant one is 0 */
	double *mean, *sd; /* [p]; through the origin nothing is centred, and means are 0 */
	double *square;	   /* [p], of a column of z: 1 where it is centred */
	double *root;	   /* [n], of the weights, whose sum is 1 */
	double *rest;	   /* [n] what is left of y */
	double *b;	   /* [p] */
	double *pull;	   /* [p], of the last lambda: products with what was left */
	size_t *some;	   /* [n_some] columns that are looked at */
	size_t n_some;
	bool *in_some; /* [p] */
	bool *varies;  /* [p] */
	double y_mean, y_sd;
	double before; /* the last lambda */
	bool any_sign;
};

/* Four sums at a time: the processor need not wait for one to end. */
static double product(const double *x, const double *y, size_t n)
{
	double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
	size_t i = 0;

	for (; i + 4 <= n; i += 4) {
		a += x[i] * y[i];
		b += x[i + 1] * y[i + 1];
		c += x[i + 2] * y[i + 2];
		d += x[i + 3] * y[i + 3];
	}
	for (; i < n; i++)
		a += x[i] * y[i];
	return (a + b) + (c + d);
}

/* Centres x by the weights, and multiplies it by their roots; returns its deviation. */
static double centre(double *x, const double *root, size_t n, double *mean)
{
	*mean = 0.0;
	for (size_t i = 0; i < n; i++)
		*mean += root[i] * root[i] * x[i];
	for (size_t i = 0; i < n; i++)
		x[i] = root[i] * (x[i] - *mean);
	return sqrt(product(x, x, n));
}

/* Columns divided by their deviation, unless they are as given; `origin`: not centred, so that there is no intercept. */
static struct descent descent_of(const struct mat *X, const double *y, const double *weight, const struct lasso_options *how, bool origin)
{
	size_t n = X->rows, p = X->cols;
	struct descent d = { .n = n,
			     .p = p,
			     .z = mem_new(n * p, sizeof(double)),
			     .mean = mem_new(p, sizeof(double)),
			     .sd = mem_new(p, sizeof(double)),
			     .square = mem_new(p, sizeof(double)),
			     .root = mem_new(n, sizeof(double)),
			     .rest = mem_new(n, sizeof(double)),
			     .b = mem_new(p, sizeof(double)),
			     .pull = mem_new(p, sizeof(double)),
			     .some = mem_new(p, sizeof(size_t)),
			     .in_some = mem_new(p, sizeof(bool)),
			     .varies = mem_new(p, sizeof(bool)),
			     .any_sign = how->any_sign };
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += weight[i];
	for (size_t i = 0; i < n; i++)
		d.root[i] = sqrt(weight[i] / sum);
	memcpy(d.rest, y, n * sizeof(*y));
	d.y_sd = centre(d.rest, d.root, n, &d.y_mean);
	for (size_t i = 0; i < n && origin; i++)
		d.rest[i] = d.root[i] * y[i];
	d.y_mean = origin ? 0.0 : d.y_mean;
	for (size_t j = 0; j < p; j++) {
		double *z = d.z + j * n, largest = 0.0;

		for (size_t i = 0; i < n; i++) {
			z[i] = mat_get(X, i, j);
			largest = fmax(largest, fabs(z[i]));
		}
		d.sd[j] = centre(z, d.root, n, &d.mean[j]);
		if (d.sd[j] <= 1e-12 * largest)
			d.sd[j] = 0.0;
		d.varies[j] = d.sd[j] > 0.0;
		if (d.varies[j] && how->as_given)
			d.sd[j] = 1.0;
		for (size_t i = 0; i < n; i++)
			z[i] = d.sd[j] > 0.0 ? (z[i] + (origin ? d.root[i] * d.mean[j] : 0.0)) / d.sd[j] : 0.0;
		d.square[j] = origin || how->as_given ? product(z, z, n) : 1.0;
		d.mean[j] = origin ? 0.0 : d.mean[j];
	}
	d.before = (double)INFINITY; /* all columns are looked at once */
	return d;
}

static void descent_release(struct descent *d)
{
	free(d->z);
	free(d->mean);
	free(d->sd);
	free(d->square);
	free(d->root);
	free(d->rest);
	free(d->b);
	free(d->pull);
	free(d->some);
	free(d->in_some);
	free(d->varies);
}

/* One coordinate to its minimum; returns by how much it moved. */
static double step(struct descent *d, size_t j, double lambda)
{
	const double *z = d->z + j * d->n;
	double pull = product(z, d->rest, d->n) + d->square[j] * d->b[j], b, moved;

	b = fabs(pull) <= lambda || (pull < 0.0 && !d->any_sign) ? 0.0 : (pull - copysign(lambda, pull)) / d->square[j];
	moved = b - d->b[j];
	if (moved != 0.0) {
		for (size_t i = 0; i < d->n; i++)
			d->rest[i] -= moved * z[i];
		d->b[j] = b;
	}
	return fabs(moved);
}

/* Sweeps over the columns looked at, and between them over those that are not zero until these rest. */
static void descend_some(struct descent *d, double lambda, double enough, size_t sweeps)
{
	double most = (double)INFINITY;

	for (size_t sweep = 0; sweep < sweeps && most > enough; sweep++) {
		double inner = (double)INFINITY;

		most = 0.0;
		for (size_t k = 0; k < d->n_some; k++)
			most = fmax(most, step(d, d->some[k], lambda));
		for (; most > enough && sweep < sweeps && inner > enough; sweep++) {
			inner = 0.0;
			for (size_t k = 0; k < d->n_some; k++) {
				if (d->b[d->some[k]] != 0.0)
					inner = fmax(inner, step(d, d->some[k], lambda));
			}
		}
	}
}

static double pull_of(const struct descent *d, size_t j)
{
	double pull = d->sd[j] > 0.0 ? product(d->z + j * d->n, d->rest, d->n) : 0.0;

	return d->any_sign ? fabs(pull) : pull;
}

static double pulls(struct descent *d)
{
	double most = 0.0;

	for (size_t j = 0; j < d->p; j++) {
		d->pull[j] = pull_of(d, j);
		most = fmax(most, d->pull[j]);
	}
	return most;
}

/* Columns whose pull is above `least` join those that are looked at, in their order. */
static bool look_at_more(struct descent *d, double least)
{
	size_t before = d->n_some;

	d->n_some = 0;
	for (size_t j = 0; j < d->p; j++) {
		d->in_some[j] = d->in_some[j] || (d->sd[j] > 0.0 && d->pull[j] > least);
		if (d->in_some[j])
			d->some[d->n_some++] = j;
	}
	return d->n_some > before;
}

static void solve(struct descent *d, double lambda, const bool *allowed)
{
	const struct active_problem problem = {
		.z = d->z, .n = d->n, .p = d->p, .allowed = allowed, .lambda = lambda, .any_sign = d->any_sign, .enough = ENOUGH * d->y_sd
	};

	active_set_solve(&problem, d->b, d->rest);
}

/* From where the lambda before it has ended. */
static void descend(struct descent *d, double lambda, double enough)
{
	if (enough <= 0.0) {
		solve(d, lambda, d->varies);
		return;
	}
	for (size_t j = 0; j < d->p; j++)
		d->in_some[j] = d->b[j] != 0.0;
	(void)look_at_more(d, 2.0 * lambda - fmax(lambda, d->before));
	d->before = lambda;
	do {
		descend_some(d, lambda, enough, SWEEPS_MAX);
		pulls(d);
	} while (look_at_more(d, lambda));
}

/* For the columns as they were given. */
static void keep(const struct descent *d, size_t k, struct mat *beta, double *intercept)
{
	intercept[k] = d->y_mean;
	for (size_t j = 0; j < d->p; j++) {
		double b = d->sd[j] > 0.0 ? d->b[j] / d->sd[j] : 0.0;

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

/* Without the price, with the columns that row k of beta has; what it works on is as it was in the end. */
static void refit(struct descent *d, size_t k, double enough, struct lasso_path *out)
{
	double *b = mem_new(d->p, sizeof(*b)), *rest = mem_new(d->n, sizeof(*rest));
	bool *has = mem_new(d->p, sizeof(*has));

	memcpy(b, d->b, d->p * sizeof(*b));
	memcpy(rest, d->rest, d->n * sizeof(*rest));
	d->n_some = 0;
	for (size_t j = 0; j < d->p; j++) {
		const double *z = d->z + j * d->n;

		has[j] = mat_get(&out->beta, k, j) != 0.0;
		if (has[j]) {
			d->some[d->n_some++] = j;
			continue;
		}
		for (size_t i = 0; i < d->n && d->b[j] != 0.0; i++)
			d->rest[i] += d->b[j] * z[i];
		d->b[j] = 0.0;
	}
	if (enough <= 0.0)
		solve(d, 0.0, has);
	else
		descend_some(d, 0.0, enough, REFIT_SWEEPS);
	keep(d, k, &out->refitted, out->refitted_intercept);
	memcpy(d->b, b, d->p * sizeof(*b));
	memcpy(d->rest, rest, d->n * sizeof(*rest));
	free(has);
	free(b);
	free(rest);
}

/* Where the best intercept would be negative, that of those which are not is 0: the problem is convex. */
static void refit_bounded(struct descent *d, struct descent *origin, size_t k, double enough, struct lasso_path *out)
{
	if (same_columns(&out->beta, k)) {
		memcpy(out->refitted.at + k * d->p, out->refitted.at + (k - 1) * d->p, d->p * sizeof(double));
		out->refitted_intercept[k] = out->refitted_intercept[k - 1];
		return;
	}
	refit(d, k, enough, out);
	if (origin->p && out->refitted_intercept[k] < 0.0)
		refit(origin, k, enough, out);
}

void lasso_path_of(const struct mat *X, const double *y, const double *weight, const struct lasso_options *how, const double *lambdas,
		   struct lasso_path *out)
{
	struct descent d = descent_of(X, y, weight, how, false), origin = { .p = 0 };
	double first = pulls(&d), enough = how->exact * d.y_sd;

	d.before = first;
	if (how->bounded)
		origin = descent_of(X, y, weight, how, true);
	*out = (struct lasso_path){ .beta = mat_new(LASSO_LAMBDAS, X->cols) };
	if (how->refit)
		out->refitted = mat_new(LASSO_LAMBDAS, X->cols);
	for (size_t k = 0; k < LASSO_LAMBDAS; k++) {
		double lambda = lambdas ? lambdas[k] : first * pow(how->smallest, (double)k / (LASSO_LAMBDAS - 1));

		out->lambda[k] = lambda;
		descend(&d, lambda, enough);
		keep(&d, k, &out->beta, out->intercept);
		if (origin.p && out->intercept[k] < 0.0) {
			descend(&origin, lambda, enough);
			keep(&origin, k, &out->beta, out->intercept);
		}
		if (how->refit)
			refit_bounded(&d, &origin, k, enough, out);
	}
	descent_release(&d);
	descent_release(&origin);
}

void lasso_path_release(struct lasso_path *path)
{
	mat_release(&path->beta);
	mat_release(&path->refitted);
}

#include "model/sparse/lasso.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SWEEPS_MAX 100000

struct descent {
	size_t n, p;
	double *z;	   /* [p x n] standardised columns, one after the other; a constant one is 0 */
	double *mean, *sd; /* [p] */
	double *weight;	   /* [n], sum 1 */
	double *rest;	   /* [n] what is left of y */
	double *b;	   /* [p] */
	double y_mean, y_sd;
	bool any_sign;
};

static double weighted_mean(const double *x, const double *weight, size_t n)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += weight[i] * x[i];
	return sum;
}

static double weighted_product(const double *x, const double *y, const double *weight, size_t n)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += weight[i] * x[i] * y[i];
	return sum;
}

/* Centres x; returns its deviation. */
static double centre(double *x, const double *weight, size_t n, double *mean)
{
	double variance;

	*mean = weighted_mean(x, weight, n);
	for (size_t i = 0; i < n; i++)
		x[i] -= *mean;
	variance = weighted_product(x, x, weight, n);
	return sqrt(variance);
}

static struct descent descent_of(const struct mat *X, const double *y, const double *weight, bool any_sign)
{
	size_t n = X->rows, p = X->cols;
	struct descent d = { .n = n,
			     .p = p,
			     .z = mem_new(n * p, sizeof(double)),
			     .mean = mem_new(p, sizeof(double)),
			     .sd = mem_new(p, sizeof(double)),
			     .weight = mem_new(n, sizeof(double)),
			     .rest = mem_new(n, sizeof(double)),
			     .b = mem_new(p, sizeof(double)),
			     .any_sign = any_sign };
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += weight[i];
	for (size_t i = 0; i < n; i++)
		d.weight[i] = weight[i] / sum;
	memcpy(d.rest, y, n * sizeof(*y));
	d.y_sd = centre(d.rest, d.weight, n, &d.y_mean);
	for (size_t j = 0; j < p; j++) {
		double *z = d.z + j * n, largest = 0.0;

		for (size_t i = 0; i < n; i++) {
			z[i] = mat_get(X, i, j);
			largest = fmax(largest, fabs(z[i]));
		}
		d.sd[j] = centre(z, d.weight, n, &d.mean[j]);
		if (d.sd[j] <= 1e-12 * largest)
			d.sd[j] = 0.0;
		for (size_t i = 0; i < n; i++)
			z[i] = d.sd[j] > 0.0 ? z[i] / d.sd[j] : 0.0;
	}
	return d;
}

static void descent_release(struct descent *d)
{
	free(d->z);
	free(d->mean);
	free(d->sd);
	free(d->weight);
	free(d->rest);
	free(d->b);
}

/* One coordinate to its minimum; returns by how much it moved. */
static double step(struct descent *d, size_t j, double lambda)
{
	const double *z = d->z + j * d->n;
	double pull, b, moved;

	if (d->sd[j] <= 0.0)
		return 0.0;
	pull = weighted_product(z, d->rest, d->weight, d->n) + d->b[j];
	b = fabs(pull) <= lambda || (pull < 0.0 && !d->any_sign) ? 0.0 : pull - copysign(lambda, pull);
	moved = b - d->b[j];
	if (moved != 0.0) {
		for (size_t i = 0; i < d->n; i++)
			d->rest[i] -= moved * z[i];
		d->b[j] = b;
	}
	return fabs(moved);
}

/* Sweeps over all columns, and between them over those that are not zero until these rest. */
static void descend(struct descent *d, double lambda, double enough)
{
	double most = (double)INFINITY;

	for (size_t sweep = 0; sweep < SWEEPS_MAX && most > enough; sweep++) {
		double inner = (double)INFINITY;

		most = 0.0;
		for (size_t j = 0; j < d->p; j++)
			most = fmax(most, step(d, j, lambda));
		for (; most > enough && sweep < SWEEPS_MAX && inner > enough; sweep++) {
			inner = 0.0;
			for (size_t j = 0; j < d->p; j++) {
				if (d->b[j] != 0.0)
					inner = fmax(inner, step(d, j, lambda));
			}
		}
	}
}

static double first_lambda(const struct descent *d)
{
	double most = 0.0;

	for (size_t j = 0; j < d->p; j++) {
		double pull = weighted_product(d->z + j * d->n, d->rest, d->weight, d->n);

		most = fmax(most, d->any_sign ? fabs(pull) : pull);
	}
	return most;
}

void lasso_path_of(const struct mat *X, const double *y, const double *weight, const struct lasso_options *how, const double *lambdas,
		   struct lasso_path *out)
{
	struct descent d = descent_of(X, y, weight, how->any_sign);
	double first = first_lambda(&d);

	*out = (struct lasso_path){ .beta = mat_new(LASSO_LAMBDAS, X->cols) };
	for (size_t k = 0; k < LASSO_LAMBDAS; k++) {
		double lambda = lambdas ? lambdas[k] : first * pow(how->smallest, (double)k / (LASSO_LAMBDAS - 1));

		descend(&d, lambda, how->exact * d.y_sd);
		out->lambda[k] = lambda;
		out->intercept[k] = d.y_mean;
		for (size_t j = 0; j < X->cols; j++) {
			double beta = d.sd[j] > 0.0 ? d.b[j] / d.sd[j] : 0.0;

			mat_set(&out->beta, k, j, beta);
			out->intercept[k] -= beta * d.mean[j];
		}
	}
	descent_release(&d);
}

void lasso_path_release(struct lasso_path *path)
{
	mat_release(&path->beta);
}

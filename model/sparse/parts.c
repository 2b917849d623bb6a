#include "model/sparse/parts.h"

#include "base/mem.h"
#include "model/sparse/leverage.h"

#include <math.h>
#include <stdlib.h>

/* What each term takes of the prediction: [rows x terms + 1]. */
static struct mat shares_of(const struct sparse *model, const struct mat *X)
{
	struct mat Z = mat_new(X->rows, model->terms + 1);

	for (size_t i = 0; i < X->rows; i++)
		leverage_shares(model, X->at + i * X->cols, Z.at + i * Z.cols);
	return Z;
}

/* Of part j in run i, of the prediction. */
static double share(const struct sparse *model, const struct sparse_parts *runs, size_t i, size_t j)
{
	return mat_get(runs->part, i, j) / sparse_predict(model, runs->X->at + i * runs->X->cols);
}

/* The least-squares fit of part j to the shares of the terms: beta [Z->cols]. */
static void fit(const struct sparse *model, const struct sparse_parts *old, const struct mat *Z, const struct mat *factor, size_t j,
		double *beta)
{
	for (size_t t = 0; t < Z->cols; t++) {
		beta[t] = 0.0;
		for (size_t i = 0; i < Z->rows; i++)
			beta[t] += mat_get(Z, i, t) * share(model, old, i, j);
	}
	leverage_solve(factor, beta);
}

static double expected(const double *z, const double *beta, size_t n)
{
	double sum = 0.0;

	for (size_t t = 0; t < n; t++)
		sum += z[t] * beta[t];
	return sum;
}

/* The sum of squares of what the fit leaves of part j. */
static double left(const struct sparse *model, const struct sparse_parts *runs, const struct mat *Z, const double *beta, size_t j,
		   double mean)
{
	double sum = 0.0;

	for (size_t i = 0; i < Z->rows; i++) {
		double off = share(model, runs, i, j) - expected(Z->at + i * Z->cols, beta, Z->cols) - mean;

		sum += off * off;
	}
	return sum;
}

void sparse_parts_of(const struct sparse *model, const struct sparse_parts *old, const struct sparse_parts *new, struct sparse_part *out)
{
	struct mat was = shares_of(model, old->X), is = shares_of(model, new->X), factor = leverage_factor(model, old->X);
	size_t n = was.cols;
	double *mean = mem_new(n, sizeof(*mean)), *beta = mem_new(n, sizeof(*beta)), known, rows = (double)is.rows;
	double free_rows = fmax(1.0, (double)was.rows - (double)n);

	for (size_t i = 0; i < is.rows; i++) {
		for (size_t t = 0; t < n; t++)
			mean[t] += mat_get(&is, i, t) / rows;
	}
	known = leverage_of(&factor, mean);
	for (size_t j = 0; j < old->part->cols; j++) {
		double of_new, of_old;

		fit(model, old, &was, &factor, j, beta);
		out[j] = (struct sparse_part){ .was = expected(mean, beta, n) };
		for (size_t i = 0; i < is.rows; i++)
			out[j].is += share(model, new, i, j) / rows;
		out[j].adds = out[j].is - out[j].was;
		of_new = left(model, new, &is, beta, j, out[j].adds) / fmax(1.0, rows - 1.0) / rows;
		of_old = left(model, old, &was, beta, j, 0.0) / free_rows * known;
		out[j].error = sqrt(of_new + of_old);
	}
	mat_release(&was);
	mat_release(&is);
	mat_release(&factor);
	free(mean);
	free(beta);
}

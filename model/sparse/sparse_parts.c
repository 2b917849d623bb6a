#include "model/sparse/sparse_parts.h"

#include "base/mem.h"
#include "model/sparse/leverage.h"

#include <math.h>
#include <stdint.h>
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
	mem_free(mean, beta);
}

/* ---- which part ---- */

#define HALF 0.5 /* samples that every part is given, so that none is impossible */

struct likely {
	const struct sparse *model;
	const struct sparse_likely_asked *asked;
	struct mat was, is, factor;
	double *excess;		   /* [new runs] of what is expected of each, as a part of it */
	double *predicted;	   /* [new runs] */
	double *x;		   /* [new runs] */
	double excess_mean, added; /* its mean, at least 0; samples, if all of it is in one part */
};

/* Of a number that is drawn with this mean, and with variance mean + mean^2 / shape. */
static double log_negative_binomial(double n, double mean, double shape)
{
	return lgamma(n + shape) - lgamma(shape) - lgamma(n + 1.0) + shape * log(shape / (shape + mean)) + n * log(mean / (shape + mean));
}

/* By how much likelier it is that so many samples are of a part to which `added` were added. */
static double by_samples(double n, double mean, double shape, double added)
{
	double more = mean + added, spread = mean * mean / shape;

	return log_negative_binomial(n, more, more * more / spread) - log_negative_binomial(n, mean, shape);
}

/* How well the excess of the runs follows x, against not at all. */
static double by_costs(const struct likely *l)
{
	double xx = 0.0, xy = 0.0, yy = 0.0, n = (double)l->is.rows, left;

	for (size_t i = 0; i < l->is.rows; i++) {
		xx += l->x[i] * l->x[i];
		xy += l->x[i] * l->excess[i];
		yy += l->excess[i] * l->excess[i];
	}
	left = xx > 0.0 && xy > 0.0 ? yy - xy * xy / xx : yy;
	return yy > 0.0 ? -.5 * n * log(fmax(left / yy, 1e-6)) : 0.0;
}

/* samples: of the part in the new runs; mean: how many are expected; shape: how well that is known. */
static void count_samples(const struct likely *l, const double *beta, size_t j, double *samples, double *mean, double *shape)
{
	const struct sparse_likely_asked *a = l->asked;
	double old = HALF, of_old = 0.0;

	*samples = *mean = 0.0;
	for (size_t i = 0; i < a->old->part->rows; i++)
		old += mat_get(a->old->part, i, j) / a->old_one;
	for (size_t i = 0; i < l->was.rows; i++)
		of_old += sparse_predict(l->model, a->old->X->at + i * a->old->X->cols);
	for (size_t i = 0; i < l->is.rows; i++) {
		double share = expected(l->is.at + i * l->is.cols, beta, l->is.cols);

		*samples += mat_get(a->new->part, i, j) / a->new_one;
		*mean += l->predicted[i] / a->new_one * fmax(share, HALF * a->old_one / of_old);
		if (a->column[j] == SIZE_MAX)
			l->x[i] = fmax(0.0, share);
		else
			l->x[i] = mat_get(a->new->X, i, a->column[j]) / l->predicted[i];
	}
	*shape = old;
}

static void score_parts(struct likely *l, double *score)
{
	size_t parts = l->asked->old->part->cols;
	double *beta = mem_new(l->was.cols, sizeof(*beta));

	for (size_t j = 0; j < parts; j++) {
		double samples, mean, shape;

		fit(l->model, l->asked->old, &l->was, &l->factor, j, beta);
		count_samples(l, beta, j, &samples, &mean, &shape);
		score[j] = by_samples(samples, mean, shape, l->added) + by_costs(l);
		score[parts] += by_samples(samples, mean, shape, l->excess_mean * mean);
	}
	for (size_t i = 0; i < l->is.rows; i++)
		l->x[i] = 1.0;
	score[parts] += by_costs(l);
	free(beta);
}

static struct likely likely_of(const struct sparse *model, const struct sparse_likely_asked *a)
{
	size_t rows = a->new->X->rows;
	struct likely l = { .model = model,
			    .asked = a,
			    .was = shares_of(model, a->old->X),
			    .is = shares_of(model, a->new->X),
			    .factor = leverage_factor(model, a->old->X),
			    .excess = mem_new(rows, sizeof(double)),
			    .predicted = mem_new(rows, sizeof(double)),
			    .x = mem_new(rows, sizeof(double)) };

	for (size_t i = 0; i < rows; i++) {
		l.predicted[i] = sparse_predict(model, a->new->X->at + i * a->new->X->cols);
		l.excess[i] = exp(a->ratio[i] - a->usual) - 1.0;
		l.excess_mean += l.excess[i] / (double)rows;
	}
	l.excess_mean = fmax(l.excess_mean, 0.0);
	for (size_t i = 0; i < rows; i++)
		l.added += l.excess_mean * l.predicted[i] / a->new_one;
	return l;
}

void sparse_parts_likely(const struct sparse *model, const struct sparse_likely_asked *asked, double *likely)
{
	size_t n = asked->old->part->cols + 1;
	struct likely l = likely_of(model, asked);
	double most = -HUGE_VAL, sum = 0.0;

	for (size_t j = 0; j < n; j++)
		likely[j] = 0.0;
	score_parts(&l, likely);
	for (size_t j = 0; j < n; j++)
		most = fmax(most, likely[j]);
	for (size_t j = 0; j < n; j++) {
		likely[j] = exp(likely[j] - most);
		sum += likely[j];
	}
	for (size_t j = 0; j < n; j++)
		likely[j] /= sum;
	mat_release(&l.was);
	mat_release(&l.is);
	mat_release(&l.factor);
	mem_free(l.excess, l.predicted, l.x);
}

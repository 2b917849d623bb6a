#include "model/sparse/excess.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- leverage ---- */

#define DEPENDENT 1e-9 /* a column is a linear combination of earlier ones if they leave less than this part of its square */

void leverage_compute_shares(const struct sparse *model, const double *row, double *z)
{
	double expected = sparse_predict(model, row);

	z[0] = model->least / expected;
	for (size_t t = 0; t < model->terms; t++)
		z[t + 1] = sparse_term_cost(&model->term[t], row) / expected;
}

/* Replaces a symmetric matrix by its lower Cholesky factor; reads only the lower triangle. Dependent columns get diagonal element 0. */
static void leverage_decompose(struct mat *L)
{
	for (size_t a = 0; a < L->rows; a++) {
		double whole = mat_get(L, a, a);

		for (size_t b = 0; b <= a; b++) {
			double left = mat_get(L, a, b), pivot = mat_get(L, b, b);

			for (size_t k = 0; k < b; k++)
				left -= mat_get(L, a, k) * mat_get(L, b, k);
			if (a == b)
				left = left > DEPENDENT * whole ? sqrt(left) : 0.0;
			else
				left = pivot > 0.0 ? left / pivot : 0.0;
			mat_set(L, a, b, left);
		}
	}
}

struct mat leverage_cholesky_factor(const struct sparse *model, const struct mat *X)
{
	size_t n = model->terms + 1;
	struct mat L = mat_new(n, n);
	double *z = mem_new(n, sizeof(*z));

	for (size_t i = 0; i < X->rows; i++) {
		leverage_compute_shares(model, X->at + i * X->cols, z);
		for (size_t a = 0; a < n; a++) {
			for (size_t b = 0; b <= a; b++)
				L.at[a * n + b] += z[a] * z[b];
		}
	}
	leverage_decompose(&L);
	free(z);
	return L;
}

/* Solves the lower triangular system `factor` x' = x; x gets x', with 0 for dependent columns. */
static void forward_substitute(const struct mat *factor, double *x)
{
	for (size_t a = 0; a < factor->rows; a++) {
		double pivot = mat_get(factor, a, a);

		for (size_t k = 0; k < a; k++)
			x[a] -= mat_get(factor, a, k) * x[k];
		x[a] = pivot > 0.0 ? x[a] / pivot : 0.0;
	}
}

/* Replaces x = Z' y by the least-squares coefficients of y. Linear combinations of earlier columns get the coefficient 0. */
static void leverage_solve(const struct mat *factor, double *x)
{
	forward_substitute(factor, x);
	for (size_t a = factor->rows; a-- > 0;) {
		double pivot = mat_get(factor, a, a);

		for (size_t k = a + 1; k < factor->rows; k++)
			x[a] -= mat_get(factor, k, a) * x[k];
		x[a] = pivot > 0.0 ? x[a] / pivot : 0.0;
	}
}

double leverage_compute(const struct mat *factor, const double *z)
{
	double *solved = mem_new(factor->rows, sizeof(*solved)), sum = 0.0;

	memcpy(solved, z, factor->rows * sizeof(*z));
	forward_substitute(factor, solved);
	for (size_t a = 0; a < factor->rows; a++)
		sum += solved[a] * solved[a];
	free(solved);
	return sum;
}

/* ---- excess ---- */

/* The usual error of a model: a straight line through the errors of held-out runs over log(prediction). Excludes runs unlike all others. */
struct error_line {
	size_t n;
	double mean, at, slope; /* the line: mean + slope * (log(prediction) - at) */
	double sd, spread;	/* standard deviation of the errors; sum of squared distances of log(prediction) from `at` */
};

static struct error_line usual_compute(const struct sparse *model)
{
	struct error_line u = { .n = 0 };
	double *error = mem_new(model->runs, sizeof(*error)), *size = mem_new(model->runs, sizeof(*size)), along = 0.0;

	for (size_t i = 0; i < model->runs; i++) {
		if (isnan(model->log_errors[i]))
			continue;
		error[u.n] = model->log_errors[i];
		size[u.n++] = log(model->held_out_predictions[i]);
	}
	u.mean = u.n ? stats_mean(error, u.n) : (double)NAN;
	u.sd = u.n > 1 ? stats_sd(error, u.n) : (double)NAN;
	u.at = u.n ? stats_mean(size, u.n) : 0.0;
	for (size_t i = 0; i < u.n; i++) {
		u.spread += (size[i] - u.at) * (size[i] - u.at);
		along += (size[i] - u.at) * (error[i] - u.mean);
	}
	u.slope = u.spread > 0.0 ? along / u.spread : 0.0;
	mem_free(error, size);
	return u;
}

struct sparse_excess sparse_excess_compute(const struct sparse *model, const struct mat *X, const double *y, double *ratio)
{
	size_t n = model->terms + 1;
	double *z = mem_new(n, sizeof(*z)), *mean = mem_new(n, sizeof(*mean)), of_runs, of_model, away = 0.0;
	const struct error_line u = usual_compute(model);
	struct sparse_excess out;

	for (size_t i = 0; i < X->rows; i++) {
		const double *row = X->at + i * X->cols;

		ratio[i] = log(y[i] / sparse_predict(model, row));
		away += (log(sparse_predict(model, row)) - u.at) / (double)X->rows;
		leverage_compute_shares(model, row, z);
		for (size_t a = 0; a < n; a++)
			mean[a] += z[a] / (double)X->rows;
	}
	out.usual = u.mean + u.slope * away;
	of_runs = stats_sd(ratio, X->rows) / sqrt((double)X->rows);
	of_model = u.sd * sqrt(leverage_compute(&model->factor, mean) + (u.spread > 0.0 ? away * away / u.spread : 0.0));
	out.log_ratio = stats_mean(ratio, X->rows) - out.usual;
	out.noise = hypot(of_runs, of_model);
	out.df =
	    pow(out.noise, 4.0) / (pow(of_runs, 4.0) / ((double)X->rows - 1.0) + pow(of_model, 4.0) / fmax(1.0, (double)u.n - (double)n));
	if (!(out.df >= 1.0))
		out.df = 1.0;
	mem_free(mean, z);
	return out;
}

/* ---- parts ---- */

/* Returns the terms' shares of the prediction for each row of X, [rows x terms + 1]. */
static struct mat shares_compute(const struct sparse *model, const struct mat *X)
{
	struct mat Z = mat_new(X->rows, model->terms + 1);

	for (size_t i = 0; i < X->rows; i++)
		leverage_compute_shares(model, X->at + i * X->cols, Z.at + i * Z.cols);
	return Z;
}

/* Returns the cost of part j in run i, as a share of the prediction for this run. */
static double part_share(const struct sparse *model, const struct sparse_parts *runs, size_t i, size_t j)
{
	return mat_get(runs->part, i, j) / sparse_predict(model, runs->X->at + i * runs->X->cols);
}

/* Fits the shares of part j in the old runs to the terms' shares Z by least squares. beta [Z->cols] gets the coefficients. */
static void fit_part(const struct sparse *model, const struct sparse_parts *old, const struct mat *Z, const struct mat *factor, size_t j,
		     double *beta)
{
	for (size_t t = 0; t < Z->cols; t++) {
		beta[t] = 0.0;
		for (size_t i = 0; i < Z->rows; i++)
			beta[t] += mat_get(Z, i, t) * part_share(model, old, i, j);
	}
	leverage_solve(factor, beta);
}

static double expected_share(const double *z, const double *beta, size_t n)
{
	double sum = 0.0;

	for (size_t t = 0; t < n; t++)
		sum += z[t] * beta[t];
	return sum;
}

/* Returns the sum over the runs of (share of part j - expected share - mean)^2. */
static double remaining_variance(const struct sparse *model, const struct sparse_parts *runs, const struct mat *Z, const double *beta,
				 size_t j, double mean)
{
	double sum = 0.0;

	for (size_t i = 0; i < Z->rows; i++) {
		double off = part_share(model, runs, i, j) - expected_share(Z->at + i * Z->cols, beta, Z->cols) - mean;

		sum += off * off;
	}
	return sum;
}

/* Computes x [rows], a part's amount in each new run, scaled to mean 1: its count in `column` / prediction, or its expected share. */
static void effect_pattern_classify(const struct sparse *model, const struct sparse_parts *new, const struct mat *is, const double *beta,
				    size_t column, double *x)
{
	double mean = 0.0;

	for (size_t i = 0; i < is->rows; i++) {
		const double *row = new->X->at + i *new->X->cols;

		x[i] = column == SIZE_MAX ? fmax(0.0, expected_share(is->at + i * is->cols, beta, is->cols))
					  : row[column] / sparse_predict(model, row);
		mean += x[i] / (double)is->rows;
	}
	for (size_t i = 0; i < is->rows; i++)
		x[i] = mean > 0.0 ? x[i] / mean : 1.0;
}

/* Fits the parts' growths to the excess costs by least squares; each part's samples add one equation. Returns the residual noise. */
static double fit_by_costs(const struct sparse_costs *costs, const struct mat *x, double noise, const struct sparse_part *samples,
			   struct sparse_part *out)
{
	size_t parts = x->rows, runs = x->cols;
	struct mat A = mat_new(parts, parts);
	double *more = mem_new(parts, sizeof(*more)), *one = mem_new(parts, sizeof(*one)), left = 0.0;

	for (size_t j = 0; j < parts; j++) {
		double error = fmax(samples[j].error, costs->sample);

		for (size_t k = 0; k <= j; k++)
			for (size_t i = 0; i < runs; i++)
				A.at[j * parts + k] += mat_get(x, j, i) * mat_get(x, k, i) / (noise * noise);
		A.at[j * parts + j] += 1.0 / (error * error);
		more[j] = samples[j].added_share / (error * error);
		for (size_t i = 0; i < runs; i++)
			more[j] += mat_get(x, j, i) * costs->excess[i] / (noise * noise);
	}
	leverage_decompose(&A);
	leverage_solve(&A, more);
	for (size_t j = 0; j < parts; j++) {
		one[j] = 1.0;
		out[j].added_share = more[j];
		out[j].error = sqrt(leverage_compute(&A, one));
		one[j] = 0.0;
	}
	for (size_t i = 0; i < runs; i++) {
		double off = costs->excess[i];

		for (size_t j = 0; j < parts; j++)
			off -= mat_get(x, j, i) * more[j];
		left += off * off / (double)runs;
	}
	mat_release(&A);
	mem_free(more, one);
	return sqrt(left);
}

/* Fits with costs->noise, then with the residual noise if that is larger. Widens both, because the model has learned only `runs` runs. */
static void fit_by_costs_and_samples(const struct sparse_costs *costs, const struct mat *x, size_t runs, const struct sparse_part *samples,
				     struct sparse_part *out)
{
	double of_both = sqrt(1.0 + (double)x->cols / (double)runs), noise = fit_by_costs(costs, x, of_both * costs->noise, samples, out);

	if (noise > costs->noise)
		(void)fit_by_costs(costs, x, of_both * noise, samples, out);
}

void sparse_parts_compute(const struct sparse *model, const struct sparse_parts *old, const struct sparse_parts *new,
			  const struct sparse_costs *costs, struct sparse_part *out)
{
	struct mat was = shares_compute(model, old->X), is = shares_compute(model, new->X),
		   factor = leverage_cholesky_factor(model, old->X);
	size_t n = was.cols, parts = old->part->cols;
	struct mat x = mat_new(parts, is.rows);
	double *mean = mem_new(n, sizeof(*mean)), *beta = mem_new(n, sizeof(*beta)), known, rows = (double)is.rows;
	double free_rows = fmax(1.0, (double)was.rows - (double)n);

	for (size_t i = 0; i < is.rows; i++) {
		for (size_t t = 0; t < n; t++)
			mean[t] += mat_get(&is, i, t) / rows;
	}
	known = leverage_compute(&factor, mean);
	for (size_t j = 0; j < parts; j++) {
		double of_new, of_old;

		fit_part(model, old, &was, &factor, j, beta);
		out[j] = (struct sparse_part){ .was = expected_share(mean, beta, n) };
		for (size_t i = 0; i < is.rows; i++)
			out[j].is += part_share(model, new, i, j) / rows;
		out[j].added_share = out[j].is - out[j].was;
		of_new = remaining_variance(model, new, &is, beta, j, out[j].added_share) / fmax(1.0, rows - 1.0) / rows;
		of_old = remaining_variance(model, old, &was, beta, j, 0.0) / free_rows * known;
		out[j].error = sqrt(of_new + of_old);
		if (costs)
			effect_pattern_classify(model, new, &is, beta, costs->column[j], x.at + j * x.cols);
	}
	if (costs) {
		struct sparse_part *samples = mem_new(parts, sizeof(*samples));

		memcpy(samples, out, parts * sizeof(*samples));
		fit_by_costs_and_samples(costs, &x, was.rows, samples, out);
		free(samples);
	}
	mat_release(&was);
	mat_release(&is);
	mat_release(&factor);
	mat_release(&x);
	mem_free(mean, beta);
}

void sparse_terms_compute(const struct sparse *model, const struct mat *X, const double *excess, double noise, struct sparse_part *out)
{
	size_t n = model->terms + 1;
	struct mat z = shares_compute(model, X), x = mat_new(n, X->rows);
	struct sparse_part *samples = mem_new(n, sizeof(*samples));

	for (size_t t = 0; t < n; t++) {
		double was = 0.0;

		for (size_t i = 0; i < X->rows; i++)
			was += mat_get(&z, i, t) / (double)X->rows;
		for (size_t i = 0; i < X->rows; i++)
			mat_set(&x, t, i, was > 0.0 ? mat_get(&z, i, t) / was : 0.0);
		out[t] = (struct sparse_part){ .was = was };
		samples[t].error = (double)INFINITY; /* there are no samples */
	}
	fit_by_costs_and_samples(&(struct sparse_costs){ .excess = excess, .noise = noise }, &x, model->runs, samples, out);
	mat_release(&z);
	mat_release(&x);
	free(samples);
}

#include "model/sparse/excess.h"

#include "base/mem.h"
#include "base/stats.h"
#include "model/sparse/leverage.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Errors on runs left out, except those that were unlike all others: a straight line through the logarithm of what was predicted. */
struct usual {
	size_t n;
	double mean, at, slope; /* mean + slope * (log(prediction) - at) */
	double sd, spread;	/* of the errors; sum of squares of log(prediction) - at */
};

static struct usual usual_of(const struct sparse *model)
{
	struct usual u = { .n = 0 };
	double *error = mem_new(model->runs, sizeof(*error)), *size = mem_new(model->runs, sizeof(*size)), along = 0.0;

	for (size_t i = 0; i < model->runs; i++) {
		if (isnan(model->apart[i]))
			continue;
		error[u.n] = model->apart[i];
		size[u.n++] = log(model->left_out[i]);
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

struct sparse_excess sparse_excess_of(const struct sparse *model, const struct mat *X, const double *y, double *ratio)
{
	size_t n = model->terms + 1;
	double *z = mem_new(n, sizeof(*z)), *mean = mem_new(n, sizeof(*mean)), of_runs, of_model, away = 0.0;
	const struct usual u = usual_of(model);
	struct sparse_excess out;

	for (size_t i = 0; i < X->rows; i++) {
		const double *row = X->at + i * X->cols;

		ratio[i] = log(y[i] / sparse_predict(model, row));
		away += (log(sparse_predict(model, row)) - u.at) / (double)X->rows;
		leverage_shares(model, row, z);
		for (size_t a = 0; a < n; a++)
			mean[a] += z[a] / (double)X->rows;
	}
	out.usual = u.mean + u.slope * away;
	of_runs = stats_sd(ratio, X->rows) / sqrt((double)X->rows);
	of_model = u.sd * sqrt(leverage_of(&model->factor, mean) + (u.spread > 0.0 ? away * away / u.spread : 0.0));
	out.log_ratio = stats_mean(ratio, X->rows) - out.usual;
	out.noise = hypot(of_runs, of_model);
	out.df =
	    pow(out.noise, 4.0) / (pow(of_runs, 4.0) / ((double)X->rows - 1.0) + pow(of_model, 4.0) / fmax(1.0, (double)u.n - (double)n));
	if (!(out.df >= 1.0))
		out.df = 1.0;
	mem_free(mean, z);
	return out;
}

/* ---- which of it ---- */

/* What it takes of the prediction for each run, regressed on by how much that is exceeded. */
static struct sparse_suspect suspect_of(const struct sparse *model, const struct mat *X, const double *ratio, double usual,
					const struct sparse_term *term, bool of_model)
{
	struct sparse_suspect out = { .term = *term, .of_model = of_model };
	double xx = 0.0, xy = 0.0, yy = 0.0, n = (double)X->rows, sum = 0.0;

	for (size_t i = 0; i < X->rows; i++) {
		const double *row = X->at + i * X->cols;
		double y = exp(ratio[i] - usual) - 1.0, x = term->degree ? sparse_term_cost(term, row) / sparse_predict(model, row) : 1.0;

		xx += x * x;
		xy += x * y;
		yy += y * y;
		sum += x;
	}
	out.slower = xx > 0.0 ? xy / xx : 0.0;
	out.left = xx > 0.0 ? fmax(0.0, yy - xy * xy / xx) : yy;
	out.error = xx > 0.0 ? sqrt(out.left / (n - 1.0) / xx) : (double)INFINITY;
	out.adds = out.slower * sum / n;
	return out;
}

static int by_left(const void *a, const void *b)
{
	const struct sparse_suspect *x = a, *y = b;

	if (x->left != y->left)
		return (x->left > y->left) - (x->left < y->left);
	if (x->of_model != y->of_model)
		return y->of_model - x->of_model;
	return memcmp(x->term.column, y->term.column, sizeof(x->term.column));
}

static bool is_term(const struct sparse *model, size_t column)
{
	for (size_t t = 0; t < model->terms; t++) {
		if (model->term[t].degree == 1 && model->term[t].column[0] == column)
			return true;
	}
	return false;
}

struct sparse_suspect *sparse_suspects(const struct sparse *model, const struct mat *X, const double *ratio, double usual, size_t *n)
{
	struct sparse_suspect *all = mem_new(model->terms + model->columns + 1, sizeof(*all));
	size_t m = 0, kept = 1;
	double most;

	all[m++] = suspect_of(model, X, ratio, usual, &(struct sparse_term){ .degree = 0, .coefficient = 1.0 }, true);
	for (size_t t = 0; t < model->terms; t++)
		all[m++] = suspect_of(model, X, ratio, usual, &model->term[t], true);
	for (size_t j = 0; j < model->columns; j++) {
		const struct sparse_term one = { .column = { j }, .degree = 1, .coefficient = 1.0 };

		if (model->column[j].counted && model->column[j].same_as == SIZE_MAX && !is_term(model, j))
			all[m++] = suspect_of(model, X, ratio, usual, &one, false);
	}
	qsort(all, m, sizeof(*all), by_left);
	most = all[0].left * exp(stats_chi2_quantile(.95, 1.0) / (double)X->rows);
	while (kept < m && all[kept].left <= most)
		kept++;
	*n = kept;
	return all;
}

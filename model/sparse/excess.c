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

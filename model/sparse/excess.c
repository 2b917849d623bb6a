#include "model/sparse/excess.h"

#include "base/mem.h"
#include "base/stats.h"
#include "model/sparse/leverage.h"

#include <math.h>
#include <stdlib.h>

/* Mean and standard deviation of the errors on runs left out, except those that were unlike all others. Returns how many that are. */
static size_t apart_of(const struct sparse *model, double *mean, double *sd)
{
	double *like = mem_new(model->runs, sizeof(*like));
	size_t n = 0;

	for (size_t i = 0; i < model->runs; i++) {
		if (!isnan(model->apart[i]))
			like[n++] = model->apart[i];
	}
	*mean = n ? stats_mean(like, n) : (double)NAN;
	*sd = n > 1 ? stats_sd(like, n) : (double)NAN;
	free(like);
	return n;
}

struct sparse_excess sparse_excess_of(const struct sparse *model, const struct mat *X, const double *y, double *ratio)
{
	size_t n = model->terms + 1, apart;
	double *z = mem_new(n, sizeof(*z)), *mean = mem_new(n, sizeof(*mean)), sd, of_runs, of_model;
	struct sparse_excess out;

	for (size_t i = 0; i < X->rows; i++) {
		const double *row = X->at + i * X->cols;

		ratio[i] = log(y[i] / sparse_predict(model, row));
		leverage_shares(model, row, z);
		for (size_t a = 0; a < n; a++)
			mean[a] += z[a] / (double)X->rows;
	}
	apart = apart_of(model, &out.usual, &sd);
	of_runs = stats_sd(ratio, X->rows) / sqrt((double)X->rows);
	of_model = sd * sqrt(leverage_of(&model->factor, mean));
	out.log_ratio = stats_mean(ratio, X->rows) - out.usual;
	out.noise = hypot(of_runs, of_model);
	out.df =
	    pow(out.noise, 4.0) / (pow(of_runs, 4.0) / ((double)X->rows - 1.0) + pow(of_model, 4.0) / fmax(1.0, (double)apart - (double)n));
	if (!(out.df >= 1.0))
		out.df = 1.0;
	free(mean);
	free(z);
	return out;
}

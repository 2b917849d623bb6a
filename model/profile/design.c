#include "model/profile/design.h"

#include "base/error.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

/* Computes share [groups, including the constant's]: the mean over types of each group's share in one model. `columns` is a buffer. */
static void shares_by_model(const struct blend_data *d, const struct additive *one, double *columns, double *share)
{
	memset(share, 0, d->sums.groups * sizeof(*share));
	for (size_t t = 0; t < d->types; t++) {
		additive_shares(one, &d->features.type_logs.at[t * d->features.n], columns);
		for (size_t k = 0; k < d->sums.cols; k++)
			share[d->sums.group[k]] += columns[k] / (double)d->types;
	}
}

static double relative_decrease(double variance, double covariance, double of_time)
{
	double left = variance - covariance * covariance / of_time;

	return variance > 1e-12 ? 1.0 - sqrt(fmax(left, 0.0) / variance) : 0.0;
}

double design_gain(const struct blend_data *d, const struct additive *fit, const double *logs, double noise, double *gain)
{
	size_t groups = d->features.groups;
	double *columns = mem_new(d->sums.cols, sizeof(double)), *share = mem_new(3 * d->sums.groups, sizeof(double));
	double *mean = share + d->sums.groups, *square = mean + d->sums.groups, *cross = mem_new(groups, sizeof(double));
	double time = 0.0, time_square = 0.0, variance = 0.0, explained = 0.0, result;

	ASSAY_BUG_IF(!(noise > 0));
	for (size_t i = 0; i < fit->n; i++) {
		struct additive_model model = fit->models[i];
		struct additive one = { .cols = fit->cols, .models = &model, .n = 1, .types = fit->types };
		double weight = model.weight, z;

		if (!(weight > 0))
			continue;
		model.weight = 1.0;
		shares_by_model(d, &one, columns, share);
		z = additive_predict(&one, logs);
		time += weight * z;
		time_square += weight * z * z;
		for (size_t g = 0; g < groups; g++) {
			mean[g] += weight * share[g];
			square[g] += weight * share[g] * share[g];
			cross[g] += weight * share[g] * z;
		}
	}
	time_square = fmax(time_square - time * time, 0.0) + noise * noise;
	for (size_t g = 0; g < groups; g++) {
		double of_share = fmax(square[g] - mean[g] * mean[g], 0.0), covariance = cross[g] - mean[g] * time;

		variance += of_share;
		explained += covariance * covariance / time_square;
		if (gain)
			gain[g] = relative_decrease(of_share, covariance, time_square);
	}
	result = variance > 1e-12 ? 1.0 - sqrt(fmax(variance - explained, 0.0) / variance) : 0.0;
	mem_free(columns, share, cross);
	return result;
}

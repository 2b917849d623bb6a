#include "gate/profile/prediction.h"

#include "base/mem.h"
#include "base/stats.h"
#include "model/parallel.h"

#include <math.h>
#include <string.h>

/* Removes the stressors for which the machine has no rate: sets their columns to NaN in all rows. */
static void prediction_drop_columns(struct profile_rows *rows, const double *rates)
{
	for (size_t j = 0; j < rows->rates.cols; j++) {
		for (size_t i = 0; !(rates[j] > 0) && i < rows->rates.rows; i++)
			mat_set(&rows->rates, i, j, (double)NAN);
	}
}

/* Returns half the interval of a log cost: the root mean square error on held-out types times a t quantile. */
static double prediction_half_interval(const struct blend_data *d, const struct blend_validation *v)
{
	double *error = mem_new(d->types, sizeof(*error)), *rows = mem_new(d->types, sizeof(*rows)), sum = 0.0, n = (double)d->types;

	for (size_t i = 0; i < d->rows; i++) {
		error[d->type[i]] += v->predicted[i] - d->log_cost[i];
		rows[d->type[i]] += 1.0;
	}
	for (size_t t = 0; t < d->types; t++)
		sum += error[t] * error[t] / (rows[t] * rows[t]);
	mem_free(error, rows);
	return stats_t_quantile(.5 * (1.0 + PREDICTION_LEVEL), n - 1.0) * sqrt(sum / n);
}

static void prediction_modelled(const struct blend_data *data, const double *rates, struct prediction *out)
{
	double *logs = mem_new(data->features.n, sizeof(*logs));
	struct blend_validation validation = { 0 };
	struct blend blend = { 0 };

	profile_fit_blend(data, parallel_threads(), &validation, &blend);
	features_convert_row(&data->features, rates, logs);
	*out = (struct prediction){ .log_cost = blend_predict(&blend, logs) + log(data->sums.y_scale),
				    .half = prediction_half_interval(data, &validation),
				    .modelled = true,
				    .mape = validation.mape,
				    .q2 = validation.q2,
				    .stressors = data->features.n };
	free(logs);
	blend_release(&blend);
	blend_validation_release(&validation);
}

/* Predicts by the mean of the types, which is used if there are too few types to estimate the error of models. */
static void prediction_mean(const struct blend_data *data, struct prediction *out)
{
	double n = (double)data->types;

	*out = (struct prediction){ .log_cost = stats_mean(data->type_cost, data->types) + log(data->sums.y_scale),
				    .half = stats_t_quantile(.5 * (1.0 + PREDICTION_LEVEL), n - 1.0) *
					    stats_sd(data->type_cost, data->types) * sqrt(1.0 + 1.0 / n),
				    .mape = (double)NAN,
				    .q2 = (double)NAN };
}

enum assay_status prediction_find_fingerprint(const struct fingerprint_set *set, const char *machine, const struct fingerprint *kind,
					      const struct fingerprint **out, struct assay_error *err)
{
	bool known = false;

	*out = NULL;
	for (size_t i = 0; i < set->n; i++) { /* sorted by machine, then by time */
		if (strcmp(set->items[i].machine, machine) != 0)
			continue;
		known = true;
		if (fingerprint_is_comparable(&set->items[i], kind))
			*out = &set->items[i];
	}
	if (*out)
		return ASSAY_OK;
	if (known)
		return assay_fail(err, ASSAY_E_NODATA,
				  "machine '%s' has no fingerprint with battery '%s' and stress-ng %s, like those of the results", machine,
				  kind->battery, kind->stress_ng);
	return assay_fail(err, ASSAY_E_NOTFOUND, "no machine '%s' with a fingerprint ('assay host list' has them)", machine);
}

bool prediction_compute(struct profile_rows *rows, const double *rates, struct prediction *out)
{
	bool modelled = rows->types >= PREDICTION_MODEL_TYPES, usable;
	struct blend_data data;

	prediction_drop_columns(rows, rates);
	blend_data_init(&rows->rates, rows->cost, rows->type, rows->types, &data);
	usable = !modelled || data.features.n > 0;
	if (usable && modelled)
		prediction_modelled(&data, rates, out);
	else if (usable)
		prediction_mean(&data, out);
	blend_data_release(&data);
	return usable;
}

#include "gate/profile/predict.h"

#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "gate/profile/profile.h"
#include "model/parallel.h"

#include <math.h>

/* The machine's latest fingerprint that may stand in one model with `kind`. */
static enum assay_status find_fingerprint(const struct fingerprint_set *set, const char *machine, const struct fingerprint *kind,
					  const struct fingerprint **out, struct assay_error *err)
{
	bool known = false;

	*out = NULL;
	for (size_t i = 0; i < set->n; i++) { /* by machine, then time */
		if (strcmp(set->items[i].machine, machine) != 0)
			continue;
		known = true;
		if (fingerprint_comparable(&set->items[i], kind))
			*out = &set->items[i];
	}
	if (*out)
		return ASSAY_OK;
	if (known)
		return assay_fail(err, ASSAY_E_NODATA,
		                  "machine '%s' has no fingerprint with battery '%s' and stress-ng %s, as the machines of "
		                  "the results have",
		                  machine, kind->battery, kind->stress_ng);
	return assay_fail(err, ASSAY_E_NOTFOUND, "no machine '%s' with a fingerprint ('assay catalog list' has them)", machine);
}

/* The rates of a fingerprint in the columns of the rows, medians over its passes; NaN where it was not measured, and then in all
 * rows: a column that the machine lacks is of no use. Returns how many it has. */
static size_t rates_of(const struct fingerprint_set *set, const struct fingerprint *f, struct profile_rows *rows, double *rates)
{
	size_t measured = 0;

	for (size_t j = 0; j < rows->rates.cols; j++) {
		rates[j] = (double)NAN;
		for (size_t k = 0; k < set->n_stressors; k++) {
			if (strcmp(set->stressors[k], rows->features[j]) == 0)
				rates[j] = fingerprint_summarise(set, f, k).median;
		}
		measured += rates[j] > 0 ? 1 : 0;
		for (size_t i = 0; !(rates[j] > 0) && i < rows->rates.rows; i++)
			mat_set(&rows->rates, i, j, (double)NAN);
	}
	return measured;
}

/* Half of the width of the interval, of a log cost: what was missed on types left out, as a t quantile of their root mean square.
 */
static double half_width(const struct blend_data *d, const struct blend_validation *v)
{
	double *error = mem_new(d->types, sizeof(*error)), *rows = mem_new(d->types, sizeof(*rows)), sum = 0.0,
	       n = (double)d->types;

	for (size_t i = 0; i < d->rows; i++) {
		error[d->type[i]] += v->predicted[i] - d->log_cost[i];
		rows[d->type[i]] += 1.0;
	}
	for (size_t t = 0; t < d->types; t++)
		sum += error[t] * error[t] / (rows[t] * rows[t]);
	free(error);
	free(rows);
	return stats_t_quantile(.5 * (1.0 + PREDICT_LEVEL), n - 1.0) * sqrt(sum / n);
}

static void predict_rows(const struct profile_rows *rows, const double *rates, bool higher_is_better, struct predict *out)
{
	double *count = mem_new(rows->types, sizeof(*count)), *logs, log_cost, half;
	struct blend_validation validation;
	struct blend_choice choice;
	struct blend_data data;
	struct blend blend;

	for (size_t t = 0; t < rows->types; t++)
		count[t] = 1.0;
	blend_data_of(&rows->rates, rows->cost, rows->type, rows->types, &data);
	logs = mem_new(data.features.n, sizeof(*logs));
	blend_validate(&data, parallel_threads(), &validation);
	blend_choose(&data, count, &choice);
	blend_fit(&data, count, &choice, &blend);
	features_row(&data.features, rates, logs);
	log_cost = blend_predict(&blend, logs) + log(data.sums.y_scale);
	half = half_width(&data, &validation);
	out->value = exp(higher_is_better ? -log_cost : log_cost);
	out->low = out->value * exp(-half);
	out->high = out->value * exp(half);
	out->mape = validation.mape;
	out->q2 = validation.q2;
	out->stressors = data.features.n;
	blend_release(&blend);
	blend_validation_release(&validation);
	blend_data_release(&data);
	free(logs);
	free(count);
}

static bool usable(const struct profile_rows *rows)
{
	struct features f;
	bool some;

	features_of(&rows->rates, rows->type, rows->types, &f);
	some = f.n > 0;
	features_release(&f);
	return some;
}

enum assay_status predict_of(const struct evidence *evidence, const struct run_set *runs, const char *machine,
                             struct predict *out, struct assay_error *err)
{
	const struct fingerprint *kind = NULL, *f = NULL;
	struct profile_rows rows = { 0 };
	struct dataset dataset;
	struct predict p = { 0 };
	double *rates = NULL;
	enum assay_status st = ASSAY_OK;
	size_t type;

	dataset_sparse_of(evidence, runs, &dataset);
	profile_rows_of(evidence, runs, &dataset, &rows);
	if (rows.types < PREDICT_TYPES_MIN)
		st = assay_fail(err, ASSAY_E_NODATA,
		                "'%s@%s' ran on %zu hardware type%s with a fingerprint: a prediction needs %d; run it on %zu "
		                "more",
		                runs->application, runs->version, rows.types, text_plural(rows.types), PREDICT_TYPES_MIN,
		                PREDICT_TYPES_MIN - rows.types);
	if (!st) {
		kind = fingerprint_find(&evidence->fingerprints, runs->items[dataset.run[0]].fingerprint);
		st = find_fingerprint(&evidence->fingerprints, machine, kind, &f, err);
	}
	if (!st) {
		rates = mem_new(rows.rates.cols, sizeof(*rates));
		if (rates_of(&evidence->fingerprints, f, &rows, rates) == 0 || !usable(&rows))
			st = assay_fail(err, ASSAY_E_NODATA,
			                "no stressor was measured on '%s' and on all machines that ran '%s@%s'", machine,
			                runs->application, runs->version);
	}
	if (!st) {
		type = types_find(&evidence->types, f->id);
		p.machine = f->machine;
		p.fingerprint = f->id;
		p.type = type < evidence->types.n ? evidence->types.types[type].name : NULL;
		p.types = rows.types;
		p.rows = rows.rates.rows;
		for (size_t t = 0; p.type && t < rows.types; t++)
			p.type_ran |= strcmp(rows.type_names[t], p.type) == 0;
		predict_rows(&rows, rates, runs->higher_is_better, &p);
		*out = p;
	}
	if (!st && !(p.value > 0 && isfinite(p.value)))
		st = assay_fail(err, ASSAY_E_NODATA, "the results of '%s@%s' are too far apart to predict one on '%s'", runs->application,
		                runs->version, machine);
	free(rates);
	profile_rows_release(&rows);
	dataset_release(&dataset);
	return st;
}

/* A detector that is kept, written: docs/formats.md has the members. */
#include "base/json.h"
#include "base/mem.h"
#include "model/anomaly/detector_json.h"

static void add_numbers(cJSON *object, const char *key, const double *x, size_t n)
{
	cJSON_AddItemToObject(object, key, cJSON_CreateDoubleArray(x, (int)n));
}

static void add_indices(cJSON *object, const char *key, const size_t *x, size_t n)
{
	cJSON *array = cJSON_AddArrayToObject(object, key);

	for (size_t i = 0; i < n; i++)
		cJSON_AddItemToArray(array, cJSON_CreateNumber((double)x[i]));
}

static void add_bools(cJSON *object, const char *key, const bool *x, size_t n)
{
	cJSON *array = cJSON_AddArrayToObject(object, key);

	for (size_t i = 0; i < n; i++)
		cJSON_AddItemToArray(array, cJSON_CreateBool(x[i]));
}

static cJSON *write_options(const struct detector_options *o)
{
	cJSON *json = cJSON_CreateObject();

	cJSON_AddStringToObject(json, "scorer", o->scorer->name);
	cJSON_AddStringToObject(json, "scaling", detector_scalings[o->scaling]);
	cJSON_AddStringToObject(json, "threshold", detector_thresholds[o->threshold]);
	cJSON_AddNumberToObject(json, "rate", o->rate);
	cJSON_AddNumberToObject(json, "tolerance", o->tolerance);
	cJSON_AddNumberToObject(json, "t", o->t);
	cJSON_AddNumberToObject(json, "fixed", o->fixed);
	cJSON_AddBoolToObject(json, "single_sample", o->single_sample);
	cJSON_AddBoolToObject(json, "watch_constant", o->watch_constant);
	return json;
}

static cJSON *write_about(const struct detector_about *a)
{
	cJSON *json = cJSON_CreateObject();

	cJSON_AddNumberToObject(json, "runs", (double)a->runs);
	cJSON_AddNumberToObject(json, "samples", (double)a->samples);
	cJSON_AddNumberToObject(json, "left_out", (double)a->left_out);
	cJSON_AddNumberToObject(json, "clusters", (double)a->clusters);
	cJSON_AddStringToObject(json, "topology", a->topology);
	cJSON_AddNumberToObject(json, "rate_measured", a->rate_measured);
	cJSON_AddBoolToObject(json, "sufficient", a->sufficient);
	cJSON_AddNumberToObject(json, "runs_chosen", (double)a->runs_chosen);
	cJSON_AddNumberToObject(json, "runs_more", (double)a->runs_more);
	return json;
}

static cJSON *write_columns(const struct detector *d)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t j = 0; j < d->about.columns; j++) {
		cJSON *column = cJSON_CreateObject();

		cJSON_AddStringToObject(column, "name", d->columns[j]);
		cJSON_AddStringToObject(column, "is", detector_droppings[d->about.dropped[j]]);
		if (d->stretch)
			cJSON_AddNumberToObject(column, "stretch", d->stretch[j]);
		cJSON_AddItemToArray(array, column);
	}
	return array;
}

/* Of the runs that have the function. */
static cJSON *write_summaries(const struct detector *d, size_t function)
{
	const struct calibration *c = &d->calibration;
	cJSON *array = cJSON_CreateArray();

	for (size_t r = 0; r < c->runs; r++) {
		const struct calibrate_summary *s = &c->normal[function * c->runs + r];
		const double numbers[DETECTOR_SUMMARY] = { (double)r, s->samples, s->mean, s->n, s->largest, s->squares, s->matters };

		if (s->samples > 0.0)
			cJSON_AddItemToArray(array, cJSON_CreateDoubleArray(numbers, DETECTOR_SUMMARY));
	}
	return array;
}

static cJSON *write_functions(const struct detector *d)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t f = 0; f < d->about.functions; f++) {
		cJSON *function = cJSON_CreateObject();

		cJSON_AddStringToObject(function, "name", d->functions[f]);
		cJSON_AddNumberToObject(function, "cluster", (double)d->about.cluster[f]);
		cJSON_AddBoolToObject(function, "known", d->known[f]);
		cJSON_AddNumberToObject(function, "threshold", d->threshold[f]);
		cJSON_AddNumberToObject(function, "share", d->share[f]);
		add_numbers(function, "median", &d->median[f * d->about.columns], d->about.columns);
		add_numbers(function, "errors", d->errors[f], d->n_errors[f]);
		if (d->folds)
			cJSON_AddItemToObject(function, "runs", write_summaries(d, f));
		cJSON_AddItemToArray(array, function);
	}
	return array;
}

static cJSON *write_model(const struct model *m)
{
	cJSON *json = cJSON_CreateObject(), *experts;
	size_t n = m->scale.functions * m->scale.columns;

	add_bools(json, "known", m->scale.known, m->scale.functions);
	add_numbers(json, "center", m->scale.center, n);
	add_numbers(json, "unit", m->scale.unit, n);
	add_numbers(json, "low", m->scale.low, n);
	add_numbers(json, "high", m->scale.high, n);
	experts = cJSON_AddArrayToObject(json, "scorers");
	for (size_t c = 0; c < m->clusters; c++) {
		const struct expert *expert = &m->experts[c];
		cJSON *item = cJSON_CreateObject();

		add_indices(item, "columns", expert->columns, expert->n_columns);
		if (expert->scorer)
			cJSON_AddItemToObject(item, "fitted", expert->scorer->kind->write(expert->scorer));
		cJSON_AddItemToArray(experts, item);
	}
	return json;
}

cJSON *detector_write(const struct detector *d)
{
	cJSON *json, *models;

	ASSAY_BUG_IF(!d->options.scorer->write);
	json = cJSON_CreateObject();
	cJSON_AddStringToObject(json, "format", DETECTOR_FORMAT);
	cJSON_AddNumberToObject(json, "version", DETECTOR_VERSION);
	cJSON_AddItemToObject(json, "options", write_options(&d->options));
	cJSON_AddItemToObject(json, "about", write_about(&d->about));
	cJSON_AddItemToObject(json, "columns", write_columns(d));
	cJSON_AddItemToObject(json, "functions", write_functions(d));
	cJSON_AddNumberToObject(json, "folds", (double)d->folds);
	models = cJSON_AddArrayToObject(json, "models");
	for (size_t m = 0; m < d->n_models; m++)
		cJSON_AddItemToArray(models, write_model(&d->models[m]));
	return json;
}

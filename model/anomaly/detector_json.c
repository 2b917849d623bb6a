/* A detector that is kept: docs/formats.md has the members. What is read is checked so far that judging by it cannot go wrong. */
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/anomaly/detector_internal.h"
#include "model/parallel.h"

#include <math.h>
#include <string.h>

#define NAME	      "detector"
#define FORMAT	      "assay detector"
#define COLUMNS_MAX   4096
#define FUNCTIONS_MAX 1000000
#define RUNS_MAX      1000000
#define FOLDS_MAX     64
#define LARGEST	      1e15 /* of a statistic or a threshold that is far beyond all that occur */
#define LEVEL	      5 /* numbers */

static const struct scorer_kind *const kinds[] = { &scorer_autoencoder, &scorer_paper, &scorer_som, &scorer_mahalanobis };
static const char *const scalings[] = { "asinh", "unit" };
static const char *const thresholds[] = { "held_out", "deviation", "fixed" };
static const char *const droppings[] = { "used", "not_counted", "constant" };

/* ---- writing ---- */

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
	cJSON_AddStringToObject(json, "scaling", scalings[o->scaling]);
	cJSON_AddStringToObject(json, "threshold", thresholds[o->threshold]);
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
		cJSON_AddStringToObject(column, "is", droppings[d->about.dropped[j]]);
		if (d->stretch)
			cJSON_AddNumberToObject(column, "stretch", d->stretch[j]);
		cJSON_AddItemToArray(array, column);
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

static cJSON *write_calibration(const struct calibration *c)
{
	cJSON *json = cJSON_CreateObject(), *levels;

	add_indices(json, "fold", c->fold, c->runs);
	add_numbers(json, "statistic", c->statistic, c->runs);
	levels = cJSON_AddArrayToObject(json, "levels");
	for (size_t i = 0; i < c->folds * c->functions; i++) {
		const struct calibrate_level *l = &c->levels[i];

		cJSON_AddItemToArray(levels, l->known ? cJSON_CreateDoubleArray((const double[]){ l->threshold, l->mean, l->between, l->within, l->samples }, LEVEL)
						      : cJSON_CreateNull());
	}
	return json;
}

cJSON *detector_write(const struct detector *d)
{
	cJSON *json, *models;

	ASSAY_BUG_IF(!d->options.scorer->write);
	json = cJSON_CreateObject();
	cJSON_AddStringToObject(json, "format", FORMAT);
	cJSON_AddNumberToObject(json, "version", DETECTOR_VERSION);
	cJSON_AddItemToObject(json, "options", write_options(&d->options));
	cJSON_AddItemToObject(json, "about", write_about(&d->about));
	cJSON_AddItemToObject(json, "columns", write_columns(d));
	cJSON_AddItemToObject(json, "functions", write_functions(d));
	cJSON_AddNumberToObject(json, "folds", (double)d->folds);
	models = cJSON_AddArrayToObject(json, "models");
	for (size_t m = 0; m < d->n_models; m++)
		cJSON_AddItemToArray(models, write_model(&d->models[m]));
	if (d->folds)
		cJSON_AddItemToObject(json, "calibration", write_calibration(&d->calibration));
	return json;
}

/* ---- reading ---- */

static enum assay_status fail(struct assay_error *err, const char *key, const char *what)
{
	return assay_fail(err, ASSAY_E_FORMAT, NAME ": '%s' %s", key, what);
}

static enum assay_status read_number(const cJSON *object, const char *key, double low, double high, double *out, struct assay_error *err)
{
	enum assay_status st = json_number(NAME, object, key, true, out, err);

	if (!st && !(*out >= low && *out <= high))
		return assay_fail(err, ASSAY_E_FORMAT, NAME ": '%s' must be between %g and %g", key, low, high);
	return st;
}

static enum assay_status read_size(const cJSON *object, const char *key, size_t low, size_t high, size_t *out, struct assay_error *err)
{
	int64_t value = 0;
	enum assay_status st = json_integer(NAME, object, key, true, (int64_t)low, (int64_t)high, &value, err);

	*out = (size_t)value;
	return st;
}

static enum assay_status read_bool(const cJSON *object, const char *key, bool *out, struct assay_error *err)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	*out = cJSON_IsTrue(item);
	return cJSON_IsBool(item) ? ASSAY_OK : fail(err, key, "must be true or false");
}

static enum assay_status read_word(const cJSON *object, const char *key, const char *const *words, size_t n, size_t *out,
				   struct assay_error *err)
{
	const char *text = NULL;
	enum assay_status st = json_string(NAME, object, key, true, &text, err);

	for (*out = 0; !st && *out < n && strcmp(text, words[*out]) != 0;)
		++*out;
	return !st && *out == n ? fail(err, key, "is nothing that is known") : st;
}

/* *n is given unless it is SIZE_MAX; then it is how many there are, `most` at most. *out: free() it, also after an error. */
static enum assay_status read_numbers(const cJSON *object, const char *key, double low, double high, size_t most, size_t *n, double **out,
				      struct assay_error *err)
{
	const cJSON *array = NULL, *item;
	enum assay_status st = json_array(NAME, object, key, true, &array, err);
	size_t there = st ? 0 : (size_t)cJSON_GetArraySize(array), i = 0;

	if (st)
		return st;
	if (there > most || (*n != SIZE_MAX && there != *n))
		return fail(err, key, "has not as many elements as it must");
	*n = there;
	*out = mem_new(there + 1, sizeof(**out));
	cJSON_ArrayForEach(item, array) {
		if (!cJSON_IsNumber(item) || !(item->valuedouble >= low && item->valuedouble <= high))
			return assay_fail(err, ASSAY_E_FORMAT, NAME ": element %zu of '%s' must be a number between %g and %g", i + 1, key, low, high);
		(*out)[i++] = item->valuedouble;
	}
	return ASSAY_OK;
}

static enum assay_status read_indices(const cJSON *object, const char *key, size_t below, size_t most, size_t *n, size_t **out,
				      struct assay_error *err)
{
	double *numbers = NULL;
	enum assay_status st = read_numbers(object, key, 0.0, (double)below - 1.0, most, n, &numbers, err);

	if (!st)
		*out = mem_new(*n + 1, sizeof(**out));
	for (size_t i = 0; !st && i < *n; i++) {
		(*out)[i] = (size_t)numbers[i];
		if ((double)(*out)[i] != numbers[i])
			st = fail(err, key, "must consist of whole numbers");
	}
	free(numbers);
	return st;
}

static enum assay_status read_options(const cJSON *json, struct detector_options *o, struct assay_error *err)
{
	static const char *const keys[] = { "scorer", "scaling", "threshold", "rate", "tolerance", "t", "fixed", "single_sample", "watch_constant" };
	const char *names[sizeof(kinds) / sizeof(kinds[0])];
	size_t kind = 0, scaling = 0, threshold = 0;
	enum assay_status st = json_keys(NAME, json, "options", keys, sizeof(keys) / sizeof(keys[0]), err);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		names[i] = kinds[i]->name;
	if (st || (st = read_word(json, "scorer", names, sizeof(kinds) / sizeof(kinds[0]), &kind, err)) ||
	    (st = read_word(json, "scaling", scalings, 2, &scaling, err)) ||
	    (st = read_word(json, "threshold", thresholds, 3, &threshold, err)) ||
	    (st = read_number(json, "rate", 1e-6, 1 - 1e-6, &o->rate, err)) ||
	    (st = read_number(json, "tolerance", 1e-6, 1, &o->tolerance, err)) || (st = read_number(json, "t", -1e9, 1e9, &o->t, err)) ||
	    (st = read_number(json, "fixed", 0, 1e9, &o->fixed, err)) || (st = read_bool(json, "single_sample", &o->single_sample, err)) ||
	    (st = read_bool(json, "watch_constant", &o->watch_constant, err)))
		return st;
	o->scorer = kinds[kind];
	if (!o->scorer->read)
		return fail(err, "scorer", "is none that can be kept");
	o->scaling = (enum detector_scaling)scaling;
	o->threshold = (enum detector_threshold)threshold;
	return ASSAY_OK;
}

static enum assay_status read_about(const cJSON *json, struct detector_about *a, struct assay_error *err)
{
	static const char *const keys[] = { "runs", "samples", "left_out", "clusters", "topology", "rate_measured", "sufficient", "runs_chosen", "runs_more" };
	const char *topology = NULL;
	enum assay_status st = json_keys(NAME, json, "about", keys, sizeof(keys) / sizeof(keys[0]), err);

	if (st || (st = read_size(json, "runs", 2, RUNS_MAX, &a->runs, err)) ||
	    (st = read_size(json, "samples", 1, (size_t)1 << 48, &a->samples, err)) ||
	    (st = read_size(json, "left_out", 0, (size_t)1 << 48, &a->left_out, err)) ||
	    (st = read_size(json, "clusters", 1, FUNCTIONS_MAX, &a->clusters, err)) ||
	    (st = json_string(NAME, json, "topology", true, &topology, err)) ||
	    (st = read_number(json, "rate_measured", 0, 1, &a->rate_measured, err)) ||
	    (st = read_bool(json, "sufficient", &a->sufficient, err)) ||
	    (st = read_size(json, "runs_chosen", 0, RUNS_MAX, &a->runs_chosen, err)) ||
	    (st = read_size(json, "runs_more", 0, RUNS_MAX, &a->runs_more, err)))
		return st;
	if (strlen(topology) >= sizeof(a->topology))
		return fail(err, "topology", "is too long");
	memcpy(a->topology, topology, strlen(topology) + 1);
	return ASSAY_OK;
}

/* Names in order, each once. */
static enum assay_status read_name(const cJSON *object, const char *before, char **out, struct assay_error *err)
{
	const char *name = NULL;
	enum assay_status st = json_string(NAME, object, "name", true, &name, err);

	if (!st && before && strcmp(before, name) >= 0)
		return fail(err, "name", "must be in order, each once");
	if (!st)
		*out = mem_string(name);
	return st;
}

static enum assay_status read_columns(const cJSON *json, struct detector *d, struct assay_error *err)
{
	static const char *const keys[] = { "name", "is", "stretch" };
	const cJSON *array = NULL, *item;
	enum assay_status st = json_array(NAME, json, "columns", true, &array, err);
	size_t n = st ? 0 : (size_t)cJSON_GetArraySize(array), j = 0, is = 0;

	if (st)
		return st;
	if (n == 0 || n > COLUMNS_MAX)
		return fail(err, "columns", "has too few or too many elements");
	d->about.columns = n;
	d->columns = mem_new(n, sizeof(*d->columns));
	d->about.dropped = mem_new(n, sizeof(*d->about.dropped));
	if (d->options.scaling == DETECTOR_ASINH)
		d->stretch = mem_new(n, sizeof(*d->stretch));
	cJSON_ArrayForEach(item, array) {
		if ((st = json_keys(NAME, item, "a column", keys, sizeof(keys) / sizeof(keys[0]), err)) ||
		    (st = read_name(item, j ? d->columns[j - 1] : NULL, &d->columns[j], err)) ||
		    (st = read_word(item, "is", droppings, 3, &is, err)) ||
		    (d->stretch && (st = read_number(item, "stretch", 1e-300, 1e300, &d->stretch[j], err))))
			return st;
		d->about.dropped[j++] = (enum detector_dropped)is;
	}
	return ASSAY_OK;
}

static enum assay_status read_function(const cJSON *item, struct detector *d, size_t f, struct assay_error *err)
{
	static const char *const keys[] = { "name", "cluster", "known", "threshold", "share", "median", "errors" };
	size_t columns = d->about.columns, any = SIZE_MAX;
	double *median = NULL;
	enum assay_status st = json_keys(NAME, item, "a function", keys, sizeof(keys) / sizeof(keys[0]), err);

	if (st || (st = read_name(item, f ? d->functions[f - 1] : NULL, &d->functions[f], err)) ||
	    (st = read_size(item, "cluster", 0, d->about.clusters - 1, &d->about.cluster[f], err)) ||
	    (st = read_bool(item, "known", &d->known[f], err)) ||
	    (st = read_number(item, "threshold", 0, 1e300, &d->threshold[f], err)) ||
	    (st = read_number(item, "share", 0, 1, &d->share[f], err)) ||
	    (st = read_numbers(item, "median", -1e308, 1e308, columns, &columns, &median, err)) ||
	    (st = read_numbers(item, "errors", 0, 1e308, DETECTOR_ERRORS_KEPT, &any, &d->errors[f], err)))
		goto out;
	d->n_errors[f] = any;
	memcpy(&d->median[f * columns], median, columns * sizeof(*median));
out:
	free(median);
	return st;
}

static enum assay_status read_functions(const cJSON *json, struct detector *d, struct assay_error *err)
{
	const cJSON *array = NULL, *item;
	enum assay_status st = json_array(NAME, json, "functions", true, &array, err);
	size_t n = st ? 0 : (size_t)cJSON_GetArraySize(array), f = 0;

	if (st)
		return st;
	if (n == 0 || n > FUNCTIONS_MAX || d->about.clusters > n)
		return fail(err, "functions", "has too few or too many elements");
	d->about.functions = n;
	d->functions = mem_new(n, sizeof(*d->functions));
	d->known = mem_new(n, sizeof(*d->known));
	d->threshold = mem_new(n, sizeof(*d->threshold));
	d->share = mem_new(n, sizeof(*d->share));
	d->about.cluster = mem_new(n, sizeof(*d->about.cluster));
	d->errors = mem_new(n, sizeof(*d->errors));
	d->n_errors = mem_new(n, sizeof(*d->n_errors));
	cJSON_ArrayForEach(item, array) {
		/* As large as what has been read, so that a short text cannot ask for much. */
		d->median = mem_resize(d->median, (f + 1) * d->about.columns, sizeof(*d->median));
		if ((st = read_function(item, d, f, err)))
			return st;
		f++;
	}
	return ASSAY_OK;
}

static enum assay_status read_expert(const cJSON *item, const struct detector *d, struct expert *expert, struct assay_error *err)
{
	static const char *const keys[] = { "columns", "fitted" };
	const cJSON *fitted;
	size_t n = SIZE_MAX;
	enum assay_status st = json_keys(NAME, item, "a scorer", keys, 2, err);

	if (!st)
		st = read_indices(item, "columns", d->about.columns, d->about.columns, &n, &expert->columns, err);
	if (st)
		return st;
	expert->n_columns = n;
	for (size_t i = 1; i < n; i++) {
		if (expert->columns[i] <= expert->columns[i - 1])
			return fail(err, "columns", "must be in order, each once");
	}
	fitted = cJSON_GetObjectItemCaseSensitive(item, "fitted");
	if (!fitted)
		return ASSAY_OK;
	return n ? d->options.scorer->read(fitted, n, &expert->scorer, err) : fail(err, "fitted", "needs columns");
}

static enum assay_status read_known(const cJSON *json, size_t n, bool **out, struct assay_error *err)
{
	const cJSON *array = NULL, *item;
	enum assay_status st = json_array(NAME, json, "known", true, &array, err);
	size_t i = 0;

	if (st)
		return st;
	if ((size_t)cJSON_GetArraySize(array) != n)
		return fail(err, "known", "has not as many elements as there are functions");
	*out = mem_new(n, sizeof(**out));
	cJSON_ArrayForEach(item, array) {
		if (!cJSON_IsBool(item))
			return fail(err, "known", "must consist of true and false");
		(*out)[i++] = cJSON_IsTrue(item);
	}
	return ASSAY_OK;
}

static enum assay_status read_model(const cJSON *json, const struct detector *d, struct model *m, struct assay_error *err)
{
	static const char *const keys[] = { "known", "center", "unit", "low", "high", "scorers" };
	struct scale *s = &m->scale;
	size_t n = d->about.functions * d->about.columns, c = 0;
	const cJSON *array = NULL, *item;
	enum assay_status st = json_keys(NAME, json, "a model", keys, sizeof(keys) / sizeof(keys[0]), err);

	s->functions = d->about.functions;
	s->columns = d->about.columns;
	if (st || (st = read_known(json, s->functions, &s->known, err)) ||
	    (st = read_numbers(json, "center", -DETECTOR_FARTHEST, DETECTOR_FARTHEST, n, &n, &s->center, err)) ||
	    (st = read_numbers(json, "unit", SCALE_UNIT_LEAST, 2 * DETECTOR_FARTHEST, n, &n, &s->unit, err)) ||
	    (st = read_numbers(json, "low", -1e135, 1e135, n, &n, &s->low, err)) ||
	    (st = read_numbers(json, "high", -1e135, 1e135, n, &n, &s->high, err)) ||
	    (st = json_array(NAME, json, "scorers", true, &array, err)))
		return st;
	if ((size_t)cJSON_GetArraySize(array) != d->about.clusters)
		return fail(err, "scorers", "has not as many elements as there are clusters");
	m->clusters = d->about.clusters;
	m->experts = mem_new(m->clusters, sizeof(*m->experts));
	cJSON_ArrayForEach(item, array) {
		if ((st = read_expert(item, d, &m->experts[c++], err)))
			return st;
	}
	return ASSAY_OK;
}

static enum assay_status read_models(const cJSON *json, struct detector *d, struct assay_error *err)
{
	const cJSON *array = NULL, *item;
	size_t wanted, least = d->options.threshold == DETECTOR_HELD_OUT ? 3 : 0, i = 0;
	enum assay_status st = read_size(json, "folds", least, least ? FOLDS_MAX : 0, &d->folds, err);

	if (!st)
		st = json_array(NAME, json, "models", true, &array, err);
	if (st)
		return st;
	wanted = d->folds ? d->folds * (d->folds - 1) / 2 : 1;
	if ((size_t)cJSON_GetArraySize(array) != wanted)
		return fail(err, "models", "has not as many elements as there are pairs of folds");
	d->models = mem_new(wanted, sizeof(*d->models));
	d->n_models = wanted;
	cJSON_ArrayForEach(item, array) {
		if ((st = read_model(item, d, &d->models[i++], err)))
			return st;
	}
	return ASSAY_OK;
}

static enum assay_status read_levels(const cJSON *json, struct calibration *c, struct assay_error *err)
{
	const cJSON *array = NULL, *item;
	size_t i = 0, n = c->folds * c->functions;
	enum assay_status st = json_array(NAME, json, "levels", true, &array, err);

	if (st)
		return st;
	if ((size_t)cJSON_GetArraySize(array) != n)
		return fail(err, "levels", "has not as many elements as folds times functions");
	c->levels = mem_new(n, sizeof(*c->levels));
	cJSON_ArrayForEach(item, array) {
		double values[LEVEL], *level = values;
		const cJSON *number;

		if (cJSON_IsNull(item) && i++ < n)
			continue;
		if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != LEVEL)
			return fail(err, "levels", "must consist of lists of five numbers, and null");
		cJSON_ArrayForEach(number, item) {
			if (!cJSON_IsNumber(number) || !(number->valuedouble >= 0 && number->valuedouble <= LARGEST))
				return fail(err, "levels", "must consist of numbers from 0");
			*level++ = number->valuedouble;
		}
		if (!(values[0] >= CALIBRATE_THRESHOLD_LEAST) || !(values[2] >= 1e-9))
			return fail(err, "levels", "has a threshold or a variance of nothing");
		c->levels[i++] = (struct calibrate_level){ .known = true, .threshold = values[0], .mean = values[1], .between = values[2],
							   .within = values[3], .samples = values[4] };
	}
	return ASSAY_OK;
}

static enum assay_status read_calibration(const cJSON *json, struct detector *d, struct assay_error *err)
{
	static const char *const keys[] = { "fold", "statistic", "levels" };
	struct calibration *c = &d->calibration;
	const cJSON *object = NULL;
	size_t runs = d->about.runs;
	enum assay_status st = json_object(NAME, json, "calibration", true, &object, err);

	if (!st)
		st = json_keys(NAME, object, "calibration", keys, 3, err);
	if (st)
		return st;
	c->options = detector_calibrate_options(&d->options);
	c->functions = d->about.functions;
	c->folds = d->folds;
	c->runs = runs;
	c->allowed = calibrate_allowed(d->options.rate, runs);
	if (c->allowed == 0)
		return fail(err, "rate", "is not supported by so many runs");
	if ((st = read_indices(object, "fold", c->folds, runs, &runs, &c->fold, err)) ||
	    (st = read_numbers(object, "statistic", CALIBRATE_NOTHING, LARGEST, runs, &runs, &c->statistic, err)))
		return st;
	return read_levels(object, c, err);
}

static enum assay_status check_version(const cJSON *json, struct assay_error *err)
{
	static const char *const keys[] = { "format", "version", "options", "about", "columns", "functions", "folds", "models", "calibration" };
	const char *format = NULL;
	int64_t version = 0;
	enum assay_status st;

	if ((st = json_string(NAME, json, "format", true, &format, err)) || (st = json_integer(NAME, json, "version", true, 1, INT32_MAX, &version, err)))
		return st;
	if (strcmp(format, FORMAT) != 0)
		return fail(err, "format", "must be \"" FORMAT "\"");
	if (version > DETECTOR_VERSION)
		return assay_fail(err, ASSAY_E_VERSION, NAME ": version %d was written by a newer program", (int)version);
	return json_keys(NAME, json, "the detector", keys, sizeof(keys) / sizeof(keys[0]), err);
}

enum assay_status detector_read(const cJSON *json, struct detector **out, struct assay_error *err)
{
	struct detector *d = mem_new(1, sizeof(*d));
	const cJSON *options = NULL, *about = NULL;
	enum assay_status st;

	*out = NULL;
	if ((st = check_version(json, err)) || (st = json_object(NAME, json, "options", true, &options, err)) ||
	    (st = read_options(options, &d->options, err)) || (st = json_object(NAME, json, "about", true, &about, err)) ||
	    (st = read_about(about, &d->about, err)) || (st = read_columns(json, d, err)) || (st = read_functions(json, d, err)) ||
	    (st = read_models(json, d, err)) || (d->folds && (st = read_calibration(json, d, err))))
		goto out;
	d->options.folds = d->folds ? d->folds : 2;
	d->options.threads = parallel_threads();
	*out = d;
	d = NULL;
out:
	detector_free(d);
	return st;
}

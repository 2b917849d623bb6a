/* A detector that is kept, read: docs/formats.md has the members. It is checked so far that judging by it cannot go wrong. */
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/anomaly/detector_json.h"
#include "model/parallel.h"

#include <math.h>
#include <string.h>

#define COLUMNS_MAX   4096
#define FUNCTIONS_MAX 1000000
#define RUNS_MAX      1000000
#define SUMMARIES_MAX 4000000 /* functions times runs */
#define FOLDS_MAX     64
#define LARGEST	      1e15 /* of what is far beyond all that occur */

static const struct scorer_kind *const kinds[] = { &scorer_autoencoder, &scorer_paper, &scorer_som, &scorer_mahalanobis };

static enum assay_status read_options(const cJSON *json, struct detector_options *o, struct assay_error *err)
{
	static const char *const keys[] = { "scorer", "scaling", "threshold", "rate", "tolerance", "t", "fixed", "single_sample", "watch_constant" };
	const char *names[sizeof(kinds) / sizeof(kinds[0])];
	size_t kind = 0, scaling = 0, threshold = 0;
	enum assay_status st = json_keys(DETECTOR_NAME, json, "options", keys, sizeof(keys) / sizeof(keys[0]), err);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		names[i] = kinds[i]->name;
	if (st || (st = detector_read_word(json, "scorer", names, sizeof(kinds) / sizeof(kinds[0]), &kind, err)) ||
	    (st = detector_read_word(json, "scaling", detector_scalings, DETECTOR_SCALINGS, &scaling, err)) ||
	    (st = detector_read_word(json, "threshold", detector_thresholds, DETECTOR_THRESHOLDS, &threshold, err)) ||
	    (st = detector_read_number(json, "rate", 1e-6, 1 - 1e-6, &o->rate, err)) ||
	    (st = detector_read_number(json, "tolerance", 1e-6, 1, &o->tolerance, err)) || (st = detector_read_number(json, "t", -1e9, 1e9, &o->t, err)) ||
	    (st = detector_read_number(json, "fixed", 0, 1e9, &o->fixed, err)) || (st = detector_read_bool(json, "single_sample", &o->single_sample, err)) ||
	    (st = detector_read_bool(json, "watch_constant", &o->watch_constant, err)))
		return st;
	o->scorer = kinds[kind];
	if (!o->scorer->read)
		return detector_fail(err, "scorer", "is none that can be kept");
	o->scaling = (enum detector_scaling)scaling;
	o->threshold = (enum detector_threshold)threshold;
	return ASSAY_OK;
}

static enum assay_status read_about(const cJSON *json, struct detector_about *a, struct assay_error *err)
{
	static const char *const keys[] = { "runs", "samples", "left_out", "clusters", "topology", "rate_measured", "sufficient", "runs_chosen", "runs_more" };
	const char *topology = NULL;
	enum assay_status st = json_keys(DETECTOR_NAME, json, "about", keys, sizeof(keys) / sizeof(keys[0]), err);

	if (st || (st = detector_read_size(json, "runs", 2, RUNS_MAX, &a->runs, err)) ||
	    (st = detector_read_size(json, "samples", 1, (size_t)1 << 48, &a->samples, err)) ||
	    (st = detector_read_size(json, "left_out", 0, (size_t)1 << 48, &a->left_out, err)) ||
	    (st = detector_read_size(json, "clusters", 1, FUNCTIONS_MAX, &a->clusters, err)) ||
	    (st = json_string(DETECTOR_NAME, json, "topology", true, &topology, err)) ||
	    (st = detector_read_number(json, "rate_measured", 0, 1, &a->rate_measured, err)) ||
	    (st = detector_read_bool(json, "sufficient", &a->sufficient, err)) ||
	    (st = detector_read_size(json, "runs_chosen", 0, RUNS_MAX, &a->runs_chosen, err)) ||
	    (st = detector_read_size(json, "runs_more", 0, RUNS_MAX, &a->runs_more, err)))
		return st;
	if (strlen(topology) >= sizeof(a->topology))
		return detector_fail(err, "topology", "is too long");
	memcpy(a->topology, topology, strlen(topology) + 1);
	return ASSAY_OK;
}

/* Names in order, each once. */
static enum assay_status read_name(const cJSON *object, const char *before, char **out, struct assay_error *err)
{
	const char *name = NULL;
	enum assay_status st = json_string(DETECTOR_NAME, object, "name", true, &name, err);

	if (!st && before && strcmp(before, name) >= 0)
		return detector_fail(err, "name", "must be in order, each once");
	if (!st)
		*out = mem_string(name);
	return st;
}

static enum assay_status read_columns(const cJSON *json, struct detector *d, struct assay_error *err)
{
	static const char *const keys[] = { "name", "is", "stretch" };
	const cJSON *array = NULL, *item;
	enum assay_status st = json_array(DETECTOR_NAME, json, "columns", true, &array, err);
	size_t n = st ? 0 : (size_t)cJSON_GetArraySize(array), j = 0, is = 0;

	if (st)
		return st;
	if (n == 0 || n > COLUMNS_MAX)
		return detector_fail(err, "columns", "has too few or too many elements");
	d->about.columns = n;
	d->columns = mem_new(n, sizeof(*d->columns));
	d->about.dropped = mem_new(n, sizeof(*d->about.dropped));
	if (d->options.scaling == DETECTOR_ASINH)
		d->stretch = mem_new(n, sizeof(*d->stretch));
	cJSON_ArrayForEach(item, array) {
		if ((st = json_keys(DETECTOR_NAME, item, "a column", keys, sizeof(keys) / sizeof(keys[0]), err)) ||
		    (st = read_name(item, j ? d->columns[j - 1] : NULL, &d->columns[j], err)) ||
		    (st = detector_read_word(item, "is", detector_droppings, DETECTOR_DROPPINGS, &is, err)) ||
		    (d->stretch && (st = detector_read_number(item, "stretch", 1e-300, 1e300, &d->stretch[j], err))))
			return st;
		d->about.dropped[j++] = (enum detector_dropped)is;
	}
	return ASSAY_OK;
}

/* A function in a normal run: run, samples, mean, n, largest, squares, whether it matters. */
static enum assay_status read_summary(const cJSON *item, size_t from, struct calibration *c, struct calibrate_summary *of_function, size_t *run,
				      struct assay_error *err)
{
	const struct { double low, high; } limits[DETECTOR_SUMMARY] = { { (double)from, (double)c->runs - 1 }, { 1, LARGEST }, { 0, LARGEST },
									{ .5, LARGEST }, { 0, LARGEST }, { 0, LARGEST * LARGEST }, { 0, 1 } };
	double x[DETECTOR_SUMMARY];
	size_t i = 0;
	const cJSON *number;

	if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != DETECTOR_SUMMARY)
		return detector_fail(err, "runs", "must consist of lists of seven numbers");
	cJSON_ArrayForEach(number, item) {
		if (!cJSON_IsNumber(number) || !(number->valuedouble >= limits[i].low && number->valuedouble <= limits[i].high))
			return detector_fail(err, "runs", "has a number that cannot be there");
		x[i++] = number->valuedouble;
	}
	*run = (size_t)x[0];
	of_function[*run] = (struct calibrate_summary){ .samples = x[1], .mean = x[2], .n = x[3], .largest = x[4], .squares = x[5],
							.matters = x[6] > 0.0 };
	return ASSAY_OK;
}

static enum assay_status read_summaries(const cJSON *function, struct detector *d, size_t f, struct assay_error *err)
{
	struct calibration *c = &d->calibration;
	const cJSON *array = NULL, *item;
	enum assay_status st = json_array(DETECTOR_NAME, function, "runs", true, &array, err);
	size_t from = 0, run = 0;

	if (st)
		return st;
	if (d->known[f] && !(d->threshold[f] >= CALIBRATE_THRESHOLD_LEAST))
		return detector_fail(err, "threshold", "must be more than nothing");
	c->threshold[f] = d->known[f] ? d->threshold[f] : (double)NAN;
	cJSON_ArrayForEach(item, array) {
		if ((st = read_summary(item, from, c, &c->normal[f * c->runs], &run, err)))
			return st;
		from = run + 1;
	}
	return ASSAY_OK;
}

static enum assay_status prepare_calibration(struct detector *d, struct assay_error *err)
{
	struct calibration *c = &d->calibration;

	*c = (struct calibration){ .options = detector_calibrate_options(&d->options), .functions = d->about.functions, .runs = d->about.runs,
				   .allowed = calibrate_allowed(d->options.rate, d->about.runs) };
	if (c->allowed == 0)
		return detector_fail(err, "rate", "is not supported by so many runs");
	if (c->runs > SUMMARIES_MAX / c->functions)
		return detector_fail(err, "functions", "has too many elements for so many runs");
	c->threshold = mem_new(c->functions, sizeof(*c->threshold));
	c->normal = mem_new(c->functions * c->runs, sizeof(*c->normal));
	return ASSAY_OK;
}

static enum assay_status read_function(const cJSON *item, struct detector *d, size_t f, struct assay_error *err)
{
	static const char *const keys[] = { "name", "cluster", "known", "threshold", "share", "median", "errors", "runs" };
	size_t columns = d->about.columns, any = SIZE_MAX;
	double *median = NULL;
	enum assay_status st = json_keys(DETECTOR_NAME, item, "a function", keys, sizeof(keys) / sizeof(keys[0]), err);

	if (st || (st = read_name(item, f ? d->functions[f - 1] : NULL, &d->functions[f], err)) ||
	    (st = detector_read_size(item, "cluster", 0, d->about.clusters - 1, &d->about.cluster[f], err)) ||
	    (st = detector_read_bool(item, "known", &d->known[f], err)) ||
	    (st = detector_read_number(item, "threshold", 0, 1e300, &d->threshold[f], err)) ||
	    (st = detector_read_number(item, "share", 0, 1, &d->share[f], err)) ||
	    (st = detector_read_numbers(item, "median", -1e308, 1e308, columns, &columns, &median, err)) ||
	    (st = detector_read_numbers(item, "errors", 0, 1e308, DETECTOR_ERRORS_KEPT, &any, &d->errors[f], err)) ||
	    (d->options.threshold == DETECTOR_HELD_OUT && (st = read_summaries(item, d, f, err))))
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
	enum assay_status st = json_array(DETECTOR_NAME, json, "functions", true, &array, err);
	size_t n = st ? 0 : (size_t)cJSON_GetArraySize(array), f = 0;

	if (st)
		return st;
	if (n == 0 || n > FUNCTIONS_MAX || d->about.clusters > n)
		return detector_fail(err, "functions", "has too few or too many elements");
	d->about.functions = n;
	if (d->options.threshold == DETECTOR_HELD_OUT && (st = prepare_calibration(d, err)))
		return st;
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
	enum assay_status st = json_keys(DETECTOR_NAME, item, "a scorer", keys, 2, err);

	if (!st)
		st = detector_read_indices(item, "columns", d->about.columns, d->about.columns, &n, &expert->columns, err);
	if (st)
		return st;
	expert->n_columns = n;
	for (size_t i = 1; i < n; i++) {
		if (expert->columns[i] <= expert->columns[i - 1])
			return detector_fail(err, "columns", "must be in order, each once");
	}
	fitted = cJSON_GetObjectItemCaseSensitive(item, "fitted");
	if (!fitted)
		return ASSAY_OK;
	return n ? d->options.scorer->read(fitted, n, &expert->scorer, err) : detector_fail(err, "fitted", "needs columns");
}

static enum assay_status read_known(const cJSON *json, size_t n, bool **out, struct assay_error *err)
{
	const cJSON *array = NULL, *item;
	enum assay_status st = json_array(DETECTOR_NAME, json, "known", true, &array, err);
	size_t i = 0;

	if (st)
		return st;
	if ((size_t)cJSON_GetArraySize(array) != n)
		return detector_fail(err, "known", "has not as many elements as there are functions");
	*out = mem_new(n, sizeof(**out));
	cJSON_ArrayForEach(item, array) {
		if (!cJSON_IsBool(item))
			return detector_fail(err, "known", "must consist of true and false");
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
	enum assay_status st = json_keys(DETECTOR_NAME, json, "a model", keys, sizeof(keys) / sizeof(keys[0]), err);

	s->functions = d->about.functions;
	s->columns = d->about.columns;
	if (st || (st = read_known(json, s->functions, &s->known, err)) ||
	    (st = detector_read_numbers(json, "center", -DETECTOR_FARTHEST, DETECTOR_FARTHEST, n, &n, &s->center, err)) ||
	    (st = detector_read_numbers(json, "unit", SCALE_UNIT_LEAST, 2 * DETECTOR_FARTHEST, n, &n, &s->unit, err)) ||
	    (st = detector_read_numbers(json, "low", -1e135, 1e135, n, &n, &s->low, err)) ||
	    (st = detector_read_numbers(json, "high", -1e135, 1e135, n, &n, &s->high, err)) ||
	    (st = json_array(DETECTOR_NAME, json, "scorers", true, &array, err)))
		return st;
	if ((size_t)cJSON_GetArraySize(array) != d->about.clusters)
		return detector_fail(err, "scorers", "has not as many elements as there are clusters");
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
	size_t wanted, least = d->options.threshold == DETECTOR_HELD_OUT ? 2 : 0, i = 0;
	enum assay_status st = detector_read_size(json, "folds", least, least ? FOLDS_MAX : 0, &d->folds, err);

	if (!st)
		st = json_array(DETECTOR_NAME, json, "models", true, &array, err);
	if (st)
		return st;
	wanted = d->folds ? d->folds : 1;
	if ((size_t)cJSON_GetArraySize(array) != wanted)
		return detector_fail(err, "models", "has not as many elements as there are folds");
	d->models = mem_new(wanted, sizeof(*d->models));
	d->n_models = wanted;
	cJSON_ArrayForEach(item, array) {
		if ((st = read_model(item, d, &d->models[i++], err)))
			return st;
	}
	return ASSAY_OK;
}

static enum assay_status check_version(const cJSON *json, struct assay_error *err)
{
	static const char *const keys[] = { "format", "version", "options", "about", "columns", "functions", "folds", "models" };
	const char *format = NULL;
	int64_t version = 0;
	enum assay_status st;

	if ((st = json_string(DETECTOR_NAME, json, "format", true, &format, err)) || (st = json_integer(DETECTOR_NAME, json, "version", true, 1, INT32_MAX, &version, err)))
		return st;
	if (strcmp(format, DETECTOR_FORMAT) != 0)
		return detector_fail(err, "format", "must be \"" DETECTOR_FORMAT "\"");
	if (version > DETECTOR_VERSION)
		return assay_fail(err, ASSAY_E_VERSION, DETECTOR_NAME ": version %d was written by a newer program", (int)version);
	if (version < DETECTOR_VERSION)
		return assay_fail(err, ASSAY_E_VERSION, DETECTOR_NAME ": version %d was written by an older program: train the model again", (int)version);
	return json_keys(DETECTOR_NAME, json, "the detector", keys, sizeof(keys) / sizeof(keys[0]), err);
}

enum assay_status detector_read(const cJSON *json, struct detector **out, struct assay_error *err)
{
	struct detector *d = mem_new(1, sizeof(*d));
	const cJSON *options = NULL, *about = NULL;
	enum assay_status st;

	*out = NULL;
	if ((st = check_version(json, err)) || (st = json_object(DETECTOR_NAME, json, "options", true, &options, err)) ||
	    (st = read_options(options, &d->options, err)) || (st = json_object(DETECTOR_NAME, json, "about", true, &about, err)) ||
	    (st = read_about(about, &d->about, err)) || (st = read_columns(json, d, err)) || (st = read_functions(json, d, err)) ||
	    (st = read_models(json, d, err)))
		goto out;
	d->options.folds = d->folds ? d->folds : 2;
	d->options.threads = parallel_threads();
	*out = d;
	d = NULL;
out:
	detector_free(d);
	return st;
}

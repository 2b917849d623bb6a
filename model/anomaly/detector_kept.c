/* A detector that is kept (docs/formats.md has the members): written, and read with as many checks as keep judging by it from going wrong.
 */
#include "model/anomaly/detector_parts.h"

#include "base/mem.h"
#include "model/parallel.h"

#include <string.h>

#define NAME	      "detector"
#define FORMAT	      "assay detector"
#define VERSION	      2 /* 1 had a model for each pair of folds */
#define COLUMNS_MAX   4096
#define FUNCTIONS_MAX 1000000
#define RUNS_MAX      1000000
#define SAMPLES_MAX   ((size_t)1 << 48)
#define FOLDS_MAX     64
#define ERROR_MAX     1e308
#define COUNT(list)   (sizeof(list) / sizeof((list)[0]))

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
	cJSON_AddStringToObject(json, "scaling", o->scaling->name);
	cJSON_AddStringToObject(json, "threshold", o->rule->name);
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

		cJSON_AddStringToObject(column, "name", d->names.columns[j]);
		cJSON_AddStringToObject(column, "is", droppings[d->about.dropped[j]]);
		if (d->stretch)
			cJSON_AddNumberToObject(column, "stretch", d->stretch[j]);
		cJSON_AddItemToArray(array, column);
	}
	return array;
}

/* Number, mean and squares of each column and of the calls. */
static void add_means(cJSON *object, const struct run_mean *means, size_t n)
{
	cJSON *array = cJSON_AddArrayToObject(object, "means");

	for (size_t i = 0; i < n; i++)
		cJSON_AddItemToArray(array, cJSON_CreateDoubleArray((const double[]){ means[i].n, means[i].mean, means[i].squares }, 3));
}

static cJSON *write_functions(const struct detector *d)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t f = 0; f < d->about.functions; f++) {
		cJSON *function = cJSON_CreateObject();

		cJSON_AddStringToObject(function, "name", d->names.functions[f]);
		cJSON_AddNumberToObject(function, "cluster", (double)d->about.cluster[f]);
		cJSON_AddBoolToObject(function, "known", d->known[f]);
		cJSON_AddNumberToObject(function, "threshold", d->threshold[f]);
		cJSON_AddNumberToObject(function, "share", d->share[f]);
		add_means(function, &d->means[f * (d->about.columns + 1)], d->about.columns + 1);
		add_numbers(function, "errors", d->errors[f], d->n_errors[f]);
		if (d->options.rule->write)
			d->options.rule->write(d, f, function);
		cJSON_AddItemToArray(array, function);
	}
	return array;
}

static cJSON *write_model(const struct model *m, size_t clusters)
{
	cJSON *json = cJSON_CreateObject(), *experts;
	size_t n = m->scale.functions * m->scale.columns;

	add_bools(json, "known", m->scale.known, m->scale.functions);
	add_numbers(json, "center", m->scale.center, n);
	add_numbers(json, "unit", m->scale.unit, n);
	add_numbers(json, "low", m->scale.low, n);
	add_numbers(json, "high", m->scale.high, n);
	experts = cJSON_AddArrayToObject(json, "scorers");
	for (size_t c = 0; c < clusters; c++) {
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
	cJSON *json = cJSON_CreateObject(), *models;

	cJSON_AddStringToObject(json, "format", FORMAT);
	cJSON_AddNumberToObject(json, "version", VERSION);
	cJSON_AddItemToObject(json, "options", write_options(&d->options));
	cJSON_AddItemToObject(json, "about", write_about(&d->about));
	cJSON_AddItemToObject(json, "columns", write_columns(d));
	cJSON_AddItemToObject(json, "functions", write_functions(d));
	cJSON_AddNumberToObject(json, "folds", (double)d->folds);
	models = cJSON_AddArrayToObject(json, "models");
	for (size_t m = 0; m < d->models.n; m++)
		cJSON_AddItemToArray(models, write_model(&d->models.items[m], d->models.clusters));
	return json;
}

/* ---- reading ---- */

static void read_options(struct json_reader *r, const cJSON *json, struct detector_options *o)
{
	static const char *const keys[] = { "scorer", "scaling", "threshold",	  "rate",	   "tolerance",
					    "t",      "fixed",	 "single_sample", "watch_constant" };

	json_reader_keys(r, json, "options", keys, COUNT(keys));
	o->scorer = scorer_named(json_reader_text(r, json, "scorer"));
	o->scaling = detector_scaling_named(json_reader_text(r, json, "scaling"));
	o->rule = detector_rule_named(json_reader_text(r, json, "threshold"));
	if (!o->scorer || !o->scaling || !o->rule)
		json_reader_fail(r, "'%s' is not known", !o->scorer ? "scorer" : !o->scaling ? "scaling" : "threshold");
	o->rate = json_reader_number(r, json, "rate", 1e-6, 1 - 1e-6);
	o->tolerance = json_reader_number(r, json, "tolerance", 1e-6, 1);
	o->t = json_reader_number(r, json, "t", -1e9, 1e9);
	o->fixed = json_reader_number(r, json, "fixed", 0, 1e9);
	o->single_sample = json_reader_bool(r, json, "single_sample");
	o->watch_constant = json_reader_bool(r, json, "watch_constant");
}

static void read_about(struct json_reader *r, const cJSON *json, struct detector_about *a)
{
	static const char *const keys[] = { "runs",	     "samples",	   "left_out",	  "clusters", "topology",
					    "rate_measured", "sufficient", "runs_chosen", "runs_more" };
	const char *topology;

	json_reader_keys(r, json, "about", keys, COUNT(keys));
	a->runs = json_reader_size(r, json, "runs", 2, RUNS_MAX);
	a->samples = json_reader_size(r, json, "samples", 1, SAMPLES_MAX);
	a->left_out = json_reader_size(r, json, "left_out", 0, SAMPLES_MAX);
	a->clusters = json_reader_size(r, json, "clusters", 1, FUNCTIONS_MAX);
	topology = json_reader_text(r, json, "topology");
	if (strlen(topology) >= sizeof(a->topology))
		json_reader_fail(r, "'topology' is too long");
	else
		memcpy(a->topology, topology, strlen(topology) + 1);
	a->rate_measured = json_reader_number(r, json, "rate_measured", 0, 1);
	a->sufficient = json_reader_bool(r, json, "sufficient");
	a->runs_chosen = json_reader_size(r, json, "runs_chosen", 0, RUNS_MAX);
	a->runs_more = json_reader_size(r, json, "runs_more", 0, RUNS_MAX);
}

/* Names are sorted, each once: adds one to names[*n]. */
static void read_name(struct json_reader *r, const cJSON *object, char **names, size_t *n)
{
	const char *name = json_reader_text(r, object, "name");

	if (*n && strcmp(names[*n - 1], name) >= 0)
		json_reader_fail(r, "'name' must be in order, each once");
	names[(*n)++] = mem_string(name);
}

static void read_columns(struct json_reader *r, const cJSON *json, struct detector *d)
{
	static const char *const keys[] = { "name", "is", "stretch" };
	const cJSON *array = json_reader_array(r, json, "columns", 1, COLUMNS_MAX), *item;
	size_t n = array ? (size_t)cJSON_GetArraySize(array) : 0;

	d->about.columns = n;
	d->names.columns = mem_new(n, sizeof(*d->names.columns));
	d->about.dropped = mem_new(n, sizeof(*d->about.dropped));
	d->stretch = !r->st && d->options.scaling->stretched ? mem_new(n, sizeof(*d->stretch)) : NULL;
	for (item = array ? array->child : NULL; item && !r->st; item = item->next) {
		size_t j = d->names.p, is = 0;
		const char *word;

		json_reader_keys(r, item, "a column", keys, COUNT(keys));
		read_name(r, item, d->names.columns, &d->names.p);
		word = json_reader_text(r, item, "is");
		while (is < COUNT(droppings) && strcmp(word, droppings[is]) != 0)
			is++;
		if (is == COUNT(droppings))
			json_reader_fail(r, "'is' is '%.40s', which is not known", word);
		if (d->stretch)
			d->stretch[j] = json_reader_number(r, item, "stretch", 1e-300, 1e300);
		d->about.dropped[j] = (enum detector_dropped)is;
	}
}

/* Older models have the medians of samples in their place. */
static void read_means(struct json_reader *r, const cJSON *item, size_t columns, struct run_mean *means)
{
	double x[3] = { 1.0 };
	const cJSON *array, *mean;

	memset(means, 0, (columns + 1) * sizeof(*means));
	if (!r->st && cJSON_GetObjectItemCaseSensitive(item, "median")) {
		double *medians = json_reader_numbers(r, item, "median", -ERROR_MAX, ERROR_MAX, columns);

		for (size_t j = 0; j < columns && !r->st; j++)
			means[j] = (struct run_mean){ .n = 1.0, .mean = medians[j] };
		free(medians);
		return;
	}
	array = json_reader_array(r, item, "means", columns + 1, columns + 1);
	for (mean = r->st ? NULL : array->child; mean && !r->st; mean = mean->next) {
		json_reader_fill(r, mean, "means", -ERROR_MAX, ERROR_MAX, 3, x);
		if (x[0] < 0.0 || x[0] > RUNS_MAX || x[2] < 0.0)
			json_reader_fail(r, "'means' has a number of runs or squares that cannot be");
		*means++ = (struct run_mean){ x[0], x[1], x[2] };
	}
}

static void read_function(struct json_reader *r, const cJSON *item, struct detector *d)
{
	static const char *const keys[] = { "name", "cluster", "known", "threshold", "share", "median", "means", "errors", "runs" };
	size_t f = d->names.n, columns = d->about.columns;
	const cJSON *errors;

	json_reader_keys(r, item, "a function", keys, COUNT(keys));
	read_name(r, item, d->names.functions, &d->names.n);
	d->about.cluster[f] = json_reader_size(r, item, "cluster", 0, d->about.clusters - 1);
	d->known[f] = json_reader_bool(r, item, "known");
	d->threshold[f] = json_reader_number(r, item, "threshold", 0, 1e300);
	d->share[f] = json_reader_number(r, item, "share", 0, 1);
	read_means(r, item, columns, &d->means[f * (columns + 1)]);
	errors = json_reader_array(r, item, "errors", 0, DETECTOR_ERRORS_KEPT);
	d->n_errors[f] = errors ? (size_t)cJSON_GetArraySize(errors) : 0;
	d->errors[f] = mem_new(d->n_errors[f], sizeof(double));
	json_reader_fill(r, errors, "errors", 0, ERROR_MAX, d->n_errors[f], d->errors[f]);
	if (!r->st && d->options.rule->read)
		d->options.rule->read(r, item, d, f);
}

static void read_functions(struct json_reader *r, const cJSON *json, struct detector *d)
{
	const cJSON *array = json_reader_array(r, json, "functions", 1, FUNCTIONS_MAX), *item;
	size_t n = array ? (size_t)cJSON_GetArraySize(array) : 0;

	if (n < d->about.clusters)
		json_reader_fail(r, "'functions' has fewer elements than there are clusters");
	d->about.functions = n;
	d->names.functions = mem_new(n, sizeof(*d->names.functions));
	d->known = mem_new(n, sizeof(*d->known));
	d->threshold = mem_new(n, sizeof(*d->threshold));
	d->share = mem_new(n, sizeof(*d->share));
	d->about.cluster = mem_new(n, sizeof(*d->about.cluster));
	d->errors = mem_new(n, sizeof(*d->errors));
	d->n_errors = mem_new(n, sizeof(*d->n_errors));
	for (item = r->st ? NULL : array->child; item && !r->st; item = item->next) {
		/* As large as what has been read, so that a short text cannot ask for much. */
		d->means = mem_resize(d->means, (d->names.n + 1) * (d->about.columns + 1), sizeof(*d->means));
		read_function(r, item, d);
	}
}

static void read_expert(struct json_reader *r, const cJSON *item, const struct detector *d, struct expert *expert)
{
	static const char *const keys[] = { "columns", "fitted" };
	const cJSON *array, *fitted, *column;

	json_reader_keys(r, item, "a scorer", keys, COUNT(keys));
	array = json_reader_array(r, item, "columns", 0, d->about.columns);
	expert->columns = mem_new(array ? (size_t)cJSON_GetArraySize(array) : 0, sizeof(*expert->columns));
	for (column = array ? array->child : NULL; column && !r->st; column = column->next) {
		size_t j = cJSON_IsNumber(column) && column->valuedouble >= 0 && column->valuedouble < (double)d->about.columns
			       ? (size_t)column->valuedouble
			       : SIZE_MAX;

		if (j == SIZE_MAX || (double)j != column->valuedouble || (expert->n_columns && j <= expert->columns[expert->n_columns - 1]))
			json_reader_fail(r, "'columns' must be numbers of columns in order, each once");
		else
			expert->columns[expert->n_columns++] = j;
	}
	fitted = r->st ? NULL : cJSON_GetObjectItemCaseSensitive(item, "fitted");
	if (fitted && expert->n_columns == 0)
		json_reader_fail(r, "'fitted' needs columns");
	if (fitted && !r->st)
		r->st = d->options.scorer->read(d->options.scorer, fitted, expert->n_columns, &expert->scorer, r->err);
}

static void read_known(struct json_reader *r, const cJSON *json, size_t n, bool *known)
{
	const cJSON *array = json_reader_array(r, json, "known", n, n), *item;
	size_t i = 0;

	for (item = array ? array->child : NULL; item; item = item->next) {
		if (!cJSON_IsBool(item))
			json_reader_fail(r, "'known' must consist of true and false");
		known[i++] = cJSON_IsTrue(item);
	}
}

static void read_model(struct json_reader *r, const cJSON *json, const struct detector *d, struct model *m)
{
	static const char *const keys[] = { "known", "center", "unit", "low", "high", "scorers" };
	struct scale *s = &m->scale;
	size_t n = d->about.functions * d->about.columns, c = 0;
	const cJSON *array, *item;

	json_reader_keys(r, json, "a model", keys, COUNT(keys));
	s->functions = d->about.functions;
	s->columns = d->about.columns;
	s->known = mem_new(s->functions, sizeof(*s->known));
	read_known(r, json, s->functions, s->known);
	s->center = json_reader_numbers(r, json, "center", -DETECTOR_FARTHEST, DETECTOR_FARTHEST, n);
	s->unit = json_reader_numbers(r, json, "unit", SCALE_UNIT_LEAST, 2 * DETECTOR_FARTHEST, n);
	s->low = json_reader_numbers(r, json, "low", -1e135, 1e135, n);
	s->high = json_reader_numbers(r, json, "high", -1e135, 1e135, n);
	array = json_reader_array(r, json, "scorers", d->about.clusters, d->about.clusters);
	if (r->st)
		return;
	m->experts = mem_new(d->about.clusters, sizeof(*m->experts));
	for (item = array->child; item && !r->st; item = item->next)
		read_expert(r, item, d, &m->experts[c++]);
}

static void read_models(struct json_reader *r, const cJSON *json, struct detector *d)
{
	bool held_out = !r->st && d->options.rule->holds_out;
	const cJSON *array, *item;
	size_t i = 0;

	d->folds = json_reader_size(r, json, "folds", held_out ? 2 : 0, held_out ? FOLDS_MAX : 0);
	d->models = (struct models){ .n = d->folds ? d->folds : 1,
				     .clusters = d->about.clusters,
				     .cluster = d->about.cluster,
				     .functions = d->about.functions,
				     .options = &d->options };
	d->models.items = mem_new(d->models.n, sizeof(*d->models.items));
	array = json_reader_array(r, json, "models", d->models.n, d->models.n);
	for (item = array ? array->child : NULL; item && !r->st; item = item->next)
		read_model(r, item, d, &d->models.items[i++]);
}

static void check_version(struct json_reader *r, const cJSON *json)
{
	static const char *const keys[] = { "format", "version", "options", "about", "columns", "functions", "folds", "models" };
	const char *format = json_reader_text(r, json, "format");
	size_t version = json_reader_size(r, json, "version", 1, INT32_MAX);

	if (strcmp(format, FORMAT) != 0)
		json_reader_fail(r, "'format' must be \"" FORMAT "\"");
	if (!r->st && version != VERSION)
		r->st = assay_fail(r->err, ASSAY_E_VERSION, NAME ": version %zu was written by %s", version,
				   version > VERSION ? "a newer program" : "an older program: train the model again");
	json_reader_keys(r, json, "the detector", keys, COUNT(keys));
}

enum assay_status detector_read(const cJSON *json, struct detector **out, struct assay_error *err)
{
	struct json_reader r = { .name = NAME, .err = err };
	struct detector *d = mem_new(1, sizeof(*d));

	check_version(&r, json);
	read_options(&r, json_reader_object(&r, json, "options"), &d->options);
	read_about(&r, json_reader_object(&r, json, "about"), &d->about);
	read_columns(&r, json, d);
	read_functions(&r, json, d);
	read_models(&r, json, d);
	d->options.folds = d->folds ? d->folds : 2;
	d->options.threads = parallel_threads();
	*out = r.st ? NULL : d;
	if (r.st)
		detector_free(d);
	return r.st;
}

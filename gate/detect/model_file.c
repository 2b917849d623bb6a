#include "gate/detect/model_file.h"

#include "base/file.h"
#include "base/json_reader.h"
#include "base/mem.h"
#include "gate/detect/counters.h"

#include <string.h>

#define INTEGER_MAX ((size_t)1 << 53)

static void texts_free(char **texts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(texts[i]);
	free(texts);
}

void model_file_release(struct model_file *model)
{
	texts_free(model->counters, model->n_counters);
	texts_free(model->inclusive, model->n_inclusive);
	texts_free(model->active_names, model->n_active);
	free(model->what);
	free(model->trained);
	free(model->hardware_type);
	like_inputs_release(&model->like);
	detector_free(model->detector);
	*model = (struct model_file){ .detector = NULL };
}

static char **texts_copy(const char *const *texts, size_t n)
{
	char **copy = mem_new(n, sizeof(copy[0]));

	for (size_t i = 0; i < n; i++)
		copy[i] = mem_string(texts[i]);
	return copy;
}

void model_file_make(const struct side *side, const struct observed *observed, const struct observe_options *observe,
		     const struct detector_options *options, struct like_inputs *like, struct detector **detector, const char *trained,
		     struct model_file *out)
{
	struct model_file model = {
		.what = mem_string(side->what),
		.trained = mem_string(trained),
		.back_end = side->back_end,
		.counting = side_counting(side),
		.hardware_type = mem_string(side->hardware_type),
		.counters = texts_copy(observed->observations.columns, observed->observations.values.cols),
		.n_counters = observed->observations.values.cols,
		.inclusive = mem_new(observed->observations.functions, sizeof(char *)),
		.active_names = mem_new(observed->observations.functions, sizeof(char *)),
		.observe = *observe,
		.options = *options,
		.like = *like,
		.detector = *detector,
	};

	for (size_t f = 0; f < observed->observations.functions; f++)
		if (observed->remarks[OBSERVE_INCLUSIVE][f])
			model.inclusive[model.n_inclusive++] = mem_string(observed->functions[f]);
	for (size_t f = 0; f < observed->observations.functions; f++)
		if (observed->share[f] >= observe->least_share)
			model.active_names[model.n_active++] = mem_string(observed->functions[f]);
	memcpy(model.digest, side->digest, sizeof(model.digest));
	model.observe.other = NULL;
	model.observe.inclusive = model.observe.only = model.observe.active_names = NULL;
	model.observe.n_inclusive = model.observe.n_only = model.observe.n_active = 0;
	*like = (struct like_inputs){ .inputs = NULL };
	*detector = NULL;
	*out = model;
}

/* ---- writing ---- */

static void add_texts(cJSON *to, const char *key, char *const *texts, size_t n)
{
	cJSON *list = cJSON_AddArrayToObject(to, key);

	for (size_t i = 0; i < n; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(texts[i]));
}

cJSON *model_file_json(const struct model_file *m)
{
	const struct detector_about *about = detector_about(m->detector);
	cJSON *root = cJSON_CreateObject(), *object;

	cJSON_AddNumberToObject(root, "assay_model", MODEL_FILE_VERSION);
	cJSON_AddStringToObject(root, "what", m->what);
	cJSON_AddStringToObject(root, "trained", m->trained);
	cJSON_AddStringToObject(root, "backend", samples_back_end_name(m->back_end));
	if (m->counting)
		cJSON_AddNumberToObject(root, "counting", (double)m->counting);
	cJSON_AddStringToObject(root, "hardware_type", m->hardware_type);
	add_texts(root, "counters", m->counters, m->n_counters);
	add_texts(root, "with_nested", m->inclusive, m->n_inclusive);
	add_texts(root, "with_share", m->active_names, m->n_active);
	cJSON_AddStringToObject(root, "samples_sha256", m->digest);
	cJSON_AddStringToObject(root, "model", m->options.scorer->name);
	cJSON_AddNumberToObject(root, "rate", m->options.rate);
	cJSON_AddNumberToObject(root, "seed", (double)m->options.seed);
	object = cJSON_AddObjectToObject(root, "training");
	cJSON_AddNumberToObject(object, "runs", (double)about->runs);
	cJSON_AddNumberToObject(object, "samples", (double)about->samples);
	cJSON_AddNumberToObject(object, "functions", (double)about->functions);
	cJSON_AddStringToObject(object, "topology", about->topology);
	cJSON_AddNumberToObject(object, "clusters", (double)about->clusters);
	cJSON_AddBoolToObject(object, "sufficient", about->sufficient);
	object = cJSON_AddObjectToObject(root, "observe");
	cJSON_AddNumberToObject(object, "least_work", m->observe.least_work);
	cJSON_AddNumberToObject(object, "least_ns", m->observe.least_ns);
	cJSON_AddNumberToObject(object, "least_share", m->observe.least_share);
	cJSON_AddNumberToObject(object, "samples_max", (double)m->observe.samples_max);
	cJSON_AddNumberToObject(object, "seed", (double)m->observe.seed);
	cJSON_AddBoolToObject(object, "per_thread", m->observe.per_thread);
	cJSON_AddItemToObject(root, "like_inputs", like_inputs_json(&m->like));
	cJSON_AddItemToObject(root, "detector", detector_write(m->detector));
	return root;
}

enum assay_status model_file_write(const struct model_file *model, const char *path, struct assay_error *err)
{
	cJSON *root = model_file_json(model);
	char *text = json_text(root);
	enum assay_status st = file_replace(path, text, strlen(text), 0600, err);

	free(text);
	cJSON_Delete(root);
	return st;
}

/* ---- reading ---- */

static char **texts_of(struct json_reader *r, const cJSON *from, const char *key, size_t most, size_t *n)
{
	const cJSON *list = json_reader_array(r, from, key, 0, most), *item;
	char **texts = mem_new(list ? (size_t)cJSON_GetArraySize(list) : 0, sizeof(texts[0]));

	for (item = list ? list->child : NULL; item && !r->st; item = item->next) {
		if (cJSON_IsString(item))
			texts[(*n)++] = mem_string(item->valuestring);
		else
			json_reader_fail(r, "'%s' is not a list of texts", key);
	}
	return texts;
}

static enum record_back_end back_end_of(struct json_reader *r, const cJSON *root)
{
	const char *name = json_reader_text(r, root, "backend");

	for (int b = RECORD_TIME; b <= RECORD_EMULATED; b++) {
		if (strcmp(name, samples_back_end_name((enum record_back_end)b)) == 0)
			return (enum record_back_end)b;
	}
	json_reader_fail(r, "unknown back end '%s'", name);
	return RECORD_TIME;
}

static void read_observe(struct json_reader *r, const cJSON *from, struct observe_options *out)
{
	*out = observe_defaults;
	out->least_work = json_reader_number(r, from, "least_work", 0, 1e15);
	out->least_ns = json_reader_number(r, from, "least_ns", 0, 1e15);
	out->least_share = json_reader_number(r, from, "least_share", 0, 1);
	out->samples_max = json_reader_size(r, from, "samples_max", 0, INTEGER_MAX);
	out->seed = json_reader_size(r, from, "seed", 0, INTEGER_MAX);
	out->per_thread = json_reader_bool(r, from, "per_thread");
}

static void read_digest(struct json_reader *r, const cJSON *root, char digest[DIGEST_HEX_BYTES])
{
	const char *text = json_reader_text(r, root, "samples_sha256");

	if (strlen(text) != DIGEST_HEX_BYTES - 1 || strspn(text, "0123456789abcdef") != DIGEST_HEX_BYTES - 1)
		json_reader_fail(r, "'samples_sha256' is not 64 hexadecimal digits");
	else
		memcpy(digest, text, DIGEST_HEX_BYTES);
}

static void read_all(struct json_reader *r, const cJSON *root, struct model_file *m)
{
	size_t version = json_reader_size(r, root, "assay_model", 0, INTEGER_MAX);
	const cJSON *detector, *like = NULL;

	if (!r->st && version > MODEL_FILE_VERSION)
		r->st = assay_fail(r->err, ASSAY_E_VERSION, "%s: this model is of format %zu, this program knows up to %d", r->name,
				   version, MODEL_FILE_VERSION);
	m->what = mem_string(json_reader_text(r, root, "what"));
	m->trained = mem_string(json_reader_text(r, root, "trained"));
	m->hardware_type = mem_string(json_reader_text(r, root, "hardware_type"));
	m->back_end = back_end_of(r, root);
	if (json_reader_has(r, root, "counting"))
		m->counting = json_reader_size(r, root, "counting", 0, INTEGER_MAX);
	m->counters = texts_of(r, root, "counters", MODEL_FILE_COUNTERS_MAX, &m->n_counters);
	m->inclusive = texts_of(r, root, "with_nested", RECORD_FUNCTIONS_MAX, &m->n_inclusive);
	if (cJSON_GetObjectItemCaseSensitive(root, "with_share")) /* older models have learned no others */
		m->active_names = texts_of(r, root, "with_share", RECORD_FUNCTIONS_MAX, &m->n_active);
	read_digest(r, root, m->digest);
	m->options.scorer = scorer_named(json_reader_text(r, root, "model"));
	if (!m->options.scorer)
		json_reader_fail(r, "unknown model '%s'", json_reader_text(r, root, "model"));
	m->options.rate = json_reader_number(r, root, "rate", 1e-9, 1);
	m->options.seed = json_reader_size(r, root, "seed", 0, INTEGER_MAX);
	read_observe(r, json_reader_object(r, root, "observe"), &m->observe);
	if (version > 1 || json_reader_has(r, root, "like_inputs"))
		like = json_reader_object(r, root, "like_inputs");
	if (!r->st && like)
		r->st = like_inputs_read(r->name, like, &m->like, r->err);
	detector = json_reader_object(r, root, "detector");
	if (!r->st) {
		r->st = detector_read(detector, &m->detector, r->err);
		if (r->st)
			assay_context(r->err, "%s", r->name);
	}
}

enum assay_status model_file_parse(const char *name, const char *text, size_t n, struct model_file *out, struct assay_error *err)
{
	struct model_file model = { .options = detector_defaults };
	struct json_reader r = { .name = name, .err = err };
	cJSON *root = NULL;

	r.st = json_parse(name, text, n, &root, err);
	if (!r.st && !cJSON_IsObject(root))
		json_reader_fail(&r, "this is not a model that 'assay model train' has written");
	read_all(&r, root, &model);
	if (!r.st)
		*out = model;
	else
		model_file_release(&model);
	cJSON_Delete(root);
	return r.st;
}

enum assay_status model_file_read(const char *path, struct model_file *out, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	enum assay_status st = file_read(path, JSON_BYTES_MAX, &text, err);

	if (!st)
		st = model_file_parse(path, text.bytes ? text.bytes : "", text.size, out, err);
	buf_release(&text);
	return st;
}

/* ---- what it may judge ---- */

enum assay_status model_file_check(const struct model_file *model, const struct side *side, struct assay_error *err)
{
	struct side_traits mine = { model->what, model->hardware_type, model->back_end, (const char *const *)model->counters,
				    model->n_counters };
	struct side_traits theirs = { side->what, side->hardware_type, side->back_end, NULL, 0 };
	size_t n, kept = 0;
	enum assay_status st;
	const char **names;

	n = side_counters(&side->runs[0], &names);
	names = mem_resize(names, n + 1, sizeof(names[0]));
	for (size_t c = 0; c < n; c++)
		if (counter_watched(side->back_end, names[c]))
			names[kept++] = names[c];
	if (counter_time_watched(side->back_end))
		names[kept++] = COUNTERS_TIME;
	theirs.counters = names;
	theirs.n_counters = kept;
	st = side_compare_traits(&mine, &theirs, err);
	if (!st && model->counting != side_counting(side))
		st = assay_fail(
		    err, ASSAY_E_USAGE,
		    "the emulation of %s counts the same work otherwise than that of %s: build both by one assay, and train anew",
		    model->what, side->what);
	if (st)
		assay_context(err, "this model cannot judge these samples");
	free(names);
	return st;
}

#include "gate/detect/model_file.h"

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"

#include <string.h>

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
                     const struct detector_options *options, struct like_inputs *like, struct detector **detector,
                     const char *trained, struct model_file *out)
{
	struct model_file model = {
		.what = mem_string(side->what),
		.trained = mem_string(trained),
		.back_end = side->back_end,
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
	enum assay_status st = file_replace(path, text, strlen(text), 0644, err);

	free(text);
	cJSON_Delete(root);
	return st;
}

/* ---- reading ---- */

struct reading {
	const char *name;
	struct assay_error *err;
	enum assay_status st; /* the first trouble; then nothing more is read */
};

static char *text_of(struct reading *r, const cJSON *from, const char *key)
{
	const char *text = "";

	if (!r->st)
		r->st = json_string(r->name, from, key, true, &text, r->err);
	return mem_string(r->st ? "" : text);
}

static double number_of(struct reading *r, const cJSON *from, const char *key, double low, double high)
{
	double value = low;

	if (!r->st)
		r->st = json_number(r->name, from, key, true, &value, r->err);
	if (!r->st && !(value >= low && value <= high))
		r->st = assay_fail(r->err, ASSAY_E_FORMAT, "%s: '%s' is %g, not between %g and %g", r->name, key, value, low,
		                   high);
	return r->st ? low : value;
}

static uint64_t integer_of(struct reading *r, const cJSON *from, const char *key)
{
	int64_t value = 0;

	if (!r->st)
		r->st = json_integer(r->name, from, key, true, 0, INT64_C(1) << 53, &value, r->err);
	return r->st ? 0 : (uint64_t)value;
}

static char **texts_of(struct reading *r, const cJSON *from, const char *key, size_t most, size_t *n)
{
	const cJSON *list = NULL, *item;
	char **texts = NULL;
	size_t capacity = 0;

	if (!r->st)
		r->st = json_array(r->name, from, key, true, &list, r->err);
	if (r->st)
		return NULL;
	cJSON_ArrayForEach(item, list)
	{
		if (!cJSON_IsString(item) || *n == most) {
			r->st = assay_fail(r->err, ASSAY_E_FORMAT, "%s: '%s' is not a list of at most %zu texts", r->name, key,
			                   most);
			break;
		}
		texts = mem_grow(texts, *n, &capacity, sizeof(texts[0]));
		texts[(*n)++] = mem_string(item->valuestring);
	}
	return texts;
}

static enum record_back_end back_end_of(struct reading *r, const cJSON *root)
{
	char *name = text_of(r, root, "backend");
	enum record_back_end found = RECORD_TIME;
	bool known = false;

	for (int b = RECORD_TIME; b <= RECORD_EMULATED; b++) {
		if (strcmp(name, samples_back_end_name((enum record_back_end)b)) == 0) {
			found = (enum record_back_end)b;
			known = true;
		}
	}
	if (!r->st && !known)
		r->st = assay_fail(r->err, ASSAY_E_FORMAT, "%s: unknown back end '%s'", r->name, name);
	free(name);
	return found;
}

static const struct scorer_kind *scorer_of(struct reading *r, const cJSON *root)
{
	char *name = text_of(r, root, "model");
	const struct scorer_kind *found = scorer_named(name);

	if (!r->st && !found)
		r->st = assay_fail(r->err, ASSAY_E_FORMAT, "%s: unknown model '%s'", r->name, name);
	free(name);
	return found ? found : &scorer_autoencoder;
}

static void read_observe(struct reading *r, const cJSON *root, struct observe_options *out)
{
	const cJSON *from = NULL, *flag;

	if (!r->st)
		r->st = json_object(r->name, root, "observe", true, &from, r->err);
	*out = observe_defaults;
	out->least_work = number_of(r, from, "least_work", 0, 1e15);
	out->least_ns = number_of(r, from, "least_ns", 0, 1e15);
	out->least_share = number_of(r, from, "least_share", 0, 1);
	out->samples_max = integer_of(r, from, "samples_max");
	out->seed = integer_of(r, from, "seed");
	flag = r->st ? NULL : cJSON_GetObjectItemCaseSensitive(from, "per_thread");
	if (!r->st && !cJSON_IsBool(flag))
		r->st = assay_fail(r->err, ASSAY_E_FORMAT, "%s: 'per_thread' is not true or false", r->name);
	out->per_thread = cJSON_IsTrue(flag);
}

static void read_digest(struct reading *r, const cJSON *root, char digest[DIGEST_HEX_BYTES])
{
	char *text = text_of(r, root, "samples_sha256");

	if (!r->st && (strlen(text) != DIGEST_HEX_BYTES - 1 || strspn(text, "0123456789abcdef") != DIGEST_HEX_BYTES - 1))
		r->st = assay_fail(r->err, ASSAY_E_FORMAT, "%s: 'samples_sha256' is not 64 hexadecimal digits", r->name);
	if (!r->st)
		memcpy(digest, text, DIGEST_HEX_BYTES);
	free(text);
}

static void read_all(struct reading *r, const cJSON *root, struct model_file *m)
{
	const cJSON *detector = NULL, *like = NULL;
	uint64_t version = integer_of(r, root, "assay_model");

	if (!r->st && version > MODEL_FILE_VERSION)
		r->st = assay_fail(r->err, ASSAY_E_VERSION, "%s: this model is of format %llu, this program knows up to %d",
		                   r->name, (unsigned long long)version, MODEL_FILE_VERSION);
	m->what = text_of(r, root, "what");
	m->trained = text_of(r, root, "trained");
	m->hardware_type = text_of(r, root, "hardware_type");
	m->back_end = back_end_of(r, root);
	m->counters = texts_of(r, root, "counters", MODEL_FILE_COUNTERS_MAX, &m->n_counters);
	m->inclusive = texts_of(r, root, "with_nested", RECORD_FUNCTIONS_MAX, &m->n_inclusive);
	if (cJSON_GetObjectItemCaseSensitive(root, "with_share")) /* models of before have learned no others */
		m->active_names = texts_of(r, root, "with_share", RECORD_FUNCTIONS_MAX, &m->n_active);
	read_digest(r, root, m->digest);
	m->options.scorer = scorer_of(r, root);
	m->options.rate = number_of(r, root, "rate", 1e-9, 1);
	m->options.seed = integer_of(r, root, "seed");
	read_observe(r, root, &m->observe);
	if (!r->st)
		r->st = json_object(r->name, root, "like_inputs", version > 1, &like, r->err);
	if (!r->st && like)
		r->st = like_inputs_read(r->name, like, &m->like, r->err);
	if (!r->st)
		r->st = json_object(r->name, root, "detector", true, &detector, r->err);
	if (!r->st) {
		r->st = detector_read(detector, &m->detector, r->err);
		if (r->st)
			assay_context(r->err, "%s", r->name);
	}
}

enum assay_status model_file_parse(const char *name, const char *text, size_t n, struct model_file *out, struct assay_error *err)
{
	struct model_file model = { .options = detector_defaults };
	struct reading r = { .name = name, .err = err };
	cJSON *root = NULL;

	r.st = json_parse(name, text, n, &root, err);
	if (!r.st && !cJSON_IsObject(root))
		r.st = assay_fail(err, ASSAY_E_FORMAT, "%s: this is not a model that 'assay model train' has written", name);
	if (!r.st)
		read_all(&r, root, &model);
	if (!r.st) {
		*out = model;
		model = (struct model_file){ .detector = NULL };
	}
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

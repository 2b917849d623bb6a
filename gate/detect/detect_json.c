/* What was detected, for programs (docs/formats.md). */
#include "gate/detect/detect.h"

#include "base/json.h"

#include <math.h>

static void add_text(cJSON *object, const char *key, const char *text)
{
	if (text && *text)
		cJSON_AddStringToObject(object, key, text);
	else
		cJSON_AddNullToObject(object, key);
}

static cJSON *counter_json(const struct detected *d, const struct detection_column *c)
{
	const char *name = d->seen.columns[c->column];
	struct counter_about about = counter_about(d->back_end, name);
	cJSON *object = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "name", name);
	cJSON_AddNumberToObject(object, "votes", c->votes);
	cJSON_AddStringToObject(object, "direction", c->direction < 0 ? "less" : "more");
	cJSON_AddNumberToObject(object, "part", c->part);
	json_add_number(object, "normal", c->normal * about.scale);
	json_add_number(object, "now", c->now * about.scale);
	cJSON_AddStringToObject(object, "unit", about.unit);
	return object;
}

static cJSON *function_json(const struct detected *d, const struct detected_function *f)
{
	cJSON *object = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(object, "name", f->name);
	cJSON_AddStringToObject(object, "symbol", f->symbol);
	add_text(object, "file", f->place ? f->place->file : NULL);
	json_add_number(object, "line", f->place && f->place->line ? (double)f->place->line : (double)NAN);
	cJSON_AddBoolToObject(object, "anomalous", f->anomalous);
	cJSON_AddBoolToObject(object, "improved", f->kind.improved);
	cJSON_AddBoolToObject(object, "small", f->kind.small);
	add_text(object, "because_of", f->because_of);
	add_text(object, "side_effect_of", f->side_effect_of);
	json_add_number(object, "score", f->found->score);
	json_add_number(object, "threshold", f->found->threshold);
	cJSON_AddNumberToObject(object, "runs_anomalous", (double)f->found->runs_anomalous);
	cJSON_AddNumberToObject(object, "runs", (double)f->found->runs);
	cJSON_AddNumberToObject(object, "samples", (double)f->found->samples);
	cJSON_AddNumberToObject(object, "samples_anomalous", (double)f->found->samples_anomalous);
	json_add_number(object, "error", f->found->error);
	json_add_number(object, "error_threshold", f->found->error_threshold);
	json_add_number(object, "excess", f->found->excess);
	json_add_number(object, "share", f->share);
	cJSON_AddBoolToObject(object, "with_nested", f->with_nested);
	if (f->anomalous || f->side_effect_of)
		cJSON_AddStringToObject(object, "kind", trouble_code(f->kind.trouble));
	else
		cJSON_AddNullToObject(object, "kind");
	list = cJSON_AddArrayToObject(object, "further_kinds");
	for (size_t i = 0; i < f->kind.n_further && (f->anomalous || f->side_effect_of); i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(trouble_code(f->kind.further[i])));
	list = cJSON_AddArrayToObject(object, "counters");
	for (size_t c = 0; c < f->found->n_columns; c++)
		cJSON_AddItemToArray(list, counter_json(d, &f->found->columns[c]));
	return object;
}

static void add_skipped(cJSON *root, const struct detected *d)
{
	cJSON *list = cJSON_AddArrayToObject(root, "not_judged");

	for (size_t i = 0; i < d->n_skipped; i++) {
		cJSON *object = cJSON_CreateObject();

		cJSON_AddStringToObject(object, "name", d->skipped[i].name);
		cJSON_AddStringToObject(object, "reason", d->skipped[i].code);
		json_add_number(object, "share", d->skipped[i].share);
		cJSON_AddItemToArray(list, object);
	}
}

static void add_training(cJSON *root, const struct detected *d)
{
	const struct detector_about *about = d->about;
	cJSON *object = cJSON_AddObjectToObject(root, "training");

	cJSON_AddStringToObject(object, "what", d->input->old ? d->input->old->what : d->input->model->what);
	if (!about) {
		cJSON_AddNumberToObject(object, "runs", (double)(d->input->old ? d->input->old->n : 0));
		cJSON_AddNullToObject(object, "sufficient");
		cJSON_AddNullToObject(object, "topology");
		cJSON_AddNullToObject(object, "clusters");
	} else {
		cJSON_AddNumberToObject(object, "runs", (double)about->runs);
		cJSON_AddBoolToObject(object, "sufficient", about->sufficient);
		add_text(object, "topology", about->topology);
		cJSON_AddNumberToObject(object, "clusters", (double)about->clusters);
		cJSON_AddNumberToObject(object, "samples", (double)about->samples);
		cJSON_AddNumberToObject(object, "left_out", (double)about->left_out);
		cJSON_AddNumberToObject(object, "runs_more", (double)about->runs_more);
	}
	json_add_number(object, "runs_needed", d->runs_needed ? (double)d->runs_needed : (double)NAN);
}

/* Where the samples are from, and what of them is not here. */
static cJSON *side_json(const struct side *side)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "what", side->what);
	cJSON_AddNumberToObject(object, "runs", (double)side->n);
	cJSON_AddNumberToObject(object, "failed", (double)side->failed);
	cJSON_AddNumberToObject(object, "pruned", (double)side->pruned);
	cJSON_AddNumberToObject(object, "other_builds", (double)side->others);
	cJSON_AddBoolToObject(object, "stale", side->stale);
	return object;
}

cJSON *detect_json(const struct detected *d)
{
	cJSON *root = cJSON_CreateObject(), *list, *object;

	cJSON_AddStringToObject(root, "decision", decision_text(d->decision));
	list = cJSON_AddArrayToObject(root, "reasons");
	for (size_t i = 0; i < d->n_reasons; i++) {
		object = cJSON_CreateObject();
		cJSON_AddStringToObject(object, "code", d->reasons[i].code);
		cJSON_AddStringToObject(object, "text", d->reasons[i].text);
		cJSON_AddItemToArray(list, object);
	}
	cJSON_AddStringToObject(root, "what", d->input->new->what);
	cJSON_AddStringToObject(root, "backend", samples_back_end_name(d->back_end));
	list = cJSON_AddArrayToObject(root, "samples");
	if (d->input->old)
		cJSON_AddItemToArray(list, side_json(d->input->old));
	cJSON_AddItemToArray(list, side_json(d->input->new));
	list = cJSON_AddArrayToObject(root, "functions");
	for (size_t i = 0; i < d->n; i++)
		cJSON_AddItemToArray(list, function_json(d, &d->functions[i]));
	add_skipped(root, d);
	add_training(root, d);
	object = cJSON_AddObjectToObject(root, "false_positive_rate");
	cJSON_AddNumberToObject(object, "asked", d->rate_asked);
	cJSON_AddNumberToObject(object, "used", d->rate_used);
	json_add_number(object, "measured", d->about ? d->about->rate_measured : (double)NAN);
	object = cJSON_AddObjectToObject(root, "runs");
	cJSON_AddNumberToObject(object, "judged", (double)d->detection.runs);
	cJSON_AddNumberToObject(object, "anomalous", (double)d->detection.runs_anomalous);
	cJSON_AddNumberToObject(object, "small", (double)d->detection.runs_small);
	json_add_number(object, "expected", d->n ? d->rate_used * (double)d->detection.runs : (double)NAN);
	return root;
}

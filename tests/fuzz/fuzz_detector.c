/* Detectors that were kept: what is read is written and read as the same, judges without a number that is none, and errors are one line. */
#include "base/json.h"
#include "base/mem.h"
#include "model/anomaly/detector_parts.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *text_of(const struct detector *d)
{
	cJSON *json = detector_write(d);
	char *text = json_text(json);

	cJSON_Delete(json);
	return text;
}

/* One sample of each function in each of two runs, near its median and far from it. */
static void judge(const struct detector *d)
{
	size_t functions = d->about.functions, p = d->about.columns, n = 2 * functions;
	struct observations o = { .values = mat_new(n, p),
				  .functions = functions,
				  .runs = 2,
				  .functions_names = (const char *const *)d->names.functions,
				  .columns = (const char *const *)d->names.columns };
	size_t *function = mem_new(n, sizeof(*function)), *run = mem_new(n, sizeof(*run));
	double *weight = mem_new(n, sizeof(*weight)), *min_relevant_delta = mem_new(p, sizeof(*min_relevant_delta));
	struct detection detection;
	struct assay_error err;

	for (size_t i = 0; i < n; i++) {
		function[i] = i / 2;
		run[i] = i % 2;
		weight[i] = 1.0;
		for (size_t j = 0; j < p; j++)
			mat_set(&o.values, i, j, i % 2 ? 1e200 : d->means[function[i] * (p + 1) + j].mean);
	}
	for (size_t j = 0; j < p; j++)
		min_relevant_delta[j] = 1.0;
	o.function = function;
	o.run = run;
	o.weight = weight;
	o.min_relevant_delta = min_relevant_delta;
	ASSAY_BUG_IF(detector_judge(d, &o, &detection, &err));
	for (size_t f = 0; f < functions; f++) {
		const struct detection_function *c = &detection.functions[f];

		ASSAY_BUG_IF(c->runs_anomalous > c->runs || c->samples_anomalous > c->samples);
		ASSAY_BUG_IF(c->samples && (isnan(c->score) || isnan(c->error) || isnan(c->excess)));
	}
	detection_release(&detection);
	mat_release(&o.values);
	free(function);
	free(run);
	free(weight);
	free(min_relevant_delta);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct assay_error err = { .text = "" };
	struct detector *d, *again;
	char *text, *copy;
	cJSON *json;

	if (json_parse("fuzz", (const char *)data, size, &json, &err))
		return 0;
	if (detector_read(json, &d, &err)) {
		ASSAY_BUG_IF(!err.text[0] || strchr(err.text, '\n') || d);
		cJSON_Delete(json);
		return 0;
	}
	cJSON_Delete(json);
	text = text_of(d);
	ASSAY_BUG_IF(json_parse("fuzz", text, strlen(text), &json, &err) || detector_read(json, &again, &err));
	cJSON_Delete(json);
	copy = text_of(again);
	ASSAY_BUG_IF(strcmp(text, copy) != 0);
	d->options.threads = again->options.threads = 1;
	judge(d);
	free(text);
	free(copy);
	detector_free(d);
	detector_free(again);
	return 0;
}

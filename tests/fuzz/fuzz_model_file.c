/* A kept model that is read can be shown, judges samples of its counters without harm, and is written as it was read. */
#include "base/json.h"
#include "base/mem.h"
#include "gate/detect/model_file.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge(const struct model_file *model)
{
	double *values = mem_new(2 * model->n_counters, sizeof(double)), *min_relevant_delta = mem_new(model->n_counters, sizeof(double)),
	       weight[2] = { 1, 2 };
	size_t function[2] = { 0, 1 }, run[2] = { 0, 0 };
	const char *names[2] = { "sum_part", "nobody knows it" };
	struct observations seen = { .values = { 2, model->n_counters, values },
				     .function = function,
				     .run = run,
				     .weight = weight,
				     .functions = 2,
				     .runs = 1,
				     .functions_names = names,
				     .columns = (const char *const *)model->counters,
				     .min_relevant_delta = min_relevant_delta };
	struct detection detection = { .n = 0 };
	struct assay_error err;

	for (size_t c = 0; c < model->n_counters; c++) {
		min_relevant_delta[c] = 1;
		values[c] = 1e6 * (double)c;
		values[model->n_counters + c] = 1;
	}
	if (model->n_counters)
		(void)detector_judge(model->detector, &seen, &detection, &err); /* refuses where the counters are not the detector's */
	detection_release(&detection);
	free(values);
	free(min_relevant_delta);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model_file model, again;
	struct assay_error err;
	char *first, *second;
	cJSON *json;

	if (model_file_parse("fuzz", (const char *)data, size, &model, &err))
		return 0;
	judge(&model);
	json = model_file_json(&model);
	first = json_text(json);
	cJSON_Delete(json);
	if (!model_file_parse("written", first, strlen(first), &again, &err)) {
		json = model_file_json(&again);
		second = json_text(json);
		cJSON_Delete(json);
		ASSAY_BUG_IF(strcmp(first, second) != 0);
		free(second);
		model_file_release(&again);
	} else {
		assay_bug("a model that was written cannot be read", __FILE__, __LINE__);
	}
	free(first);
	model_file_release(&model);
	return 0;
}

/* Labelled pairs: what is taken keeps what the header promises, and written again it is read as the same; errors name the file. */
#include "base/json.h"
#include "base/mem.h"
#include "gate/evaluate/evaluate.h"
#include "runs/running/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_list(const struct evaluate_list *list)
{
	ASSAY_BUG_IF(list->n > EVALUATE_LIST_MAX);
	for (size_t i = 0; i < list->n; i++)
		ASSAY_BUG_IF(list->items[i] < 0 || (i && list->items[i] <= list->items[i - 1]));
}

static void add_list(cJSON *object, const char *key, const struct evaluate_list *list, bool timestamps)
{
	cJSON *array;

	check_list(list);
	if (!list->n)
		return;
	array = cJSON_AddArrayToObject(object, key);
	/* a time stamp below 1e11 is read as seconds */
	for (size_t i = 0; i < list->n; i++)
		cJSON_AddItemToArray(
		    array, cJSON_CreateNumber(
			       (double)(timestamps && list->items[i] < INT64_C(100000000000) ? list->items[i] / 1000 : list->items[i])));
}

static void add_side(cJSON *pair, const char *key, const struct evaluate_side *side)
{
	cJSON *object = cJSON_AddObjectToObject(pair, key);

	ASSAY_BUG_IF(!run_name_ok(side->application) || (side->version && !run_name_ok(side->version)));
	cJSON_AddStringToObject(object, "application", side->application);
	if (side->version)
		cJSON_AddStringToObject(object, "version", side->version);
	add_list(object, "repetitions", &side->repetitions, false);
	add_list(object, "timestamps", &side->timestamps, true);
}

static char *write_pairs(const struct evaluate_pairs *pairs)
{
	cJSON *root = cJSON_CreateArray();
	char *text;

	for (size_t i = 0; i < pairs->n; i++) {
		cJSON *pair = cJSON_CreateObject();

		cJSON_AddItemToArray(root, pair);
		add_side(pair, "baseline", &pairs->items[i].sides[0]);
		add_side(pair, "candidate", &pairs->items[i].sides[1]);
		cJSON_AddBoolToObject(pair, "changed", pairs->items[i].changed);
		if (pairs->items[i].label)
			cJSON_AddStringToObject(pair, "label", pairs->items[i].label);
		if (pairs->items[i].cluster)
			cJSON_AddStringToObject(pair, "cluster", pairs->items[i].cluster);
	}
	text = json_text(root);
	cJSON_Delete(root);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct assay_error err = { .text = "" };
	struct evaluate_pairs pairs, again;
	char *text, *copy;

	if (evaluate_pairs_parse("fuzz", (const char *)data, size, &pairs, &err)) {
		ASSAY_BUG_IF(strncmp(err.text, "fuzz:", 5) != 0 || strchr(err.text, '\n') || pairs.n || pairs.items);
		return 0;
	}
	ASSAY_BUG_IF(pairs.n == 0 || pairs.n > EVALUATE_PAIRS_MAX);
	text = write_pairs(&pairs);
	ASSAY_BUG_IF(evaluate_pairs_parse("fuzz", text, strlen(text), &again, &err));
	copy = write_pairs(&again);
	ASSAY_BUG_IF(strcmp(text, copy) != 0);
	free(text);
	free(copy);
	evaluate_pairs_release(&pairs);
	evaluate_pairs_release(&again);
	return 0;
}

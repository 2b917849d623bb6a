#include "gate/render/decided.h"
#include "gate/render/render.h"

#include "base/command.h"
#include "base/json.h"
#include "base/mem.h"

#include <math.h>

/* Adds a benchmark. Decisions have no times: `cost` is relative to the baseline, whose cost is 1. If `cost` is NaN, adds an error. */
static void add_side(cJSON *list, const struct decision_record *one, const char *side, size_t family, double cost)
{
	cJSON *item = cJSON_CreateObject();
	char *name = mem_format("%s/%s", side, one->key), *error = decided_text(one);

	cJSON_AddStringToObject(item, "name", name);
	json_add_number(item, "family_index", (double)family);
	cJSON_AddStringToObject(item, "run_name", name);
	cJSON_AddStringToObject(item, "run_type", "iteration");
	json_add_number(item, "iterations", !isnan(cost));
	if (isnan(cost)) {
		cJSON_AddTrueToObject(item, "error_occurred");
		cJSON_AddStringToObject(item, "error_message", error);
	} else {
		json_add_number(item, "real_time", cost);
		json_add_number(item, "cpu_time", cost);
	}
	cJSON_AddStringToObject(item, "time_unit", "ns");
	cJSON_AddStringToObject(item, "label", decision_text(one->decision));
	cJSON_AddItemToArray(list, item);
	mem_free(error, name);
}

void render_google_benchmark(const struct document *d, const struct doc_style *style, struct buf *out)
{
	cJSON *root = cJSON_CreateObject(), *context = cJSON_AddObjectToObject(root, "context"),
	      *list = cJSON_AddArrayToObject(root, "benchmarks");
	struct decisions all;

	(void)style;
	decisions_collect(d, &all);
	cJSON_AddStringToObject(context, "executable", cli_command_name());
	cJSON_AddStringToObject(context, "unit", "cost relative to the baseline's");
	for (size_t i = 0; i < all.n; i++) {
		cJSON *candidate;

		if (!isnan(all.items[i].ratio))
			add_side(list, &all.items[i], "baseline", i, 1);
		add_side(list, &all.items[i], "candidate", i, all.items[i].ratio);
		candidate = cJSON_GetArrayItem(list, cJSON_GetArraySize(list) - 1);
		if (!isnan(all.items[i].low))
			json_add_number(candidate, "low", all.items[i].low);
		if (!isnan(all.items[i].high))
			json_add_number(candidate, "high", all.items[i].high);
	}
	json_append_text(out, root);
	decisions_release(&all);
}

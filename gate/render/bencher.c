#include "gate/render/decided.h"
#include "gate/render/render.h"

#include "base/json.h"

#include <math.h>

void render_bencher(const struct document *d, const struct doc_style *style, struct buf *out)
{
	cJSON *root = cJSON_CreateObject();
	struct decisions all;

	(void)style;
	decisions_collect(d, &all);
	for (size_t i = 0; i < all.n; i++) {
		const struct decision_record *one = &all.items[i];
		bool open = one->decision != DECISION_REGRESSION && one->decision != DECISION_PASS && one->decision != DECISION_IMPROVED;
		cJSON *measures = open && isnan(one->ratio) ? NULL : cJSON_AddObjectToObject(root, one->key), *measure;

		if (!isnan(one->ratio)) {
			measure = cJSON_AddObjectToObject(measures, "cost-ratio");
			json_add_number(measure, "value", one->ratio);
			if (!isnan(one->low))
				json_add_number(measure, "lower_value", one->low);
			if (!isnan(one->high))
				json_add_number(measure, "upper_value", one->high);
		}
		if (!open) /* if all runs failed, this is the only measure */
			json_add_number(cJSON_AddObjectToObject(measures, "regression"), "value", one->decision == DECISION_REGRESSION);
	}
	json_append_text(out, root);
	decisions_release(&all);
}

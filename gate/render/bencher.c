#include "gate/render/decided.h"
#include "gate/render/render.h"

#include "base/command.h"
#include "base/json.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

void render_bencher(const struct document *d, const struct doc_style *style, struct buf *out)
{
	cJSON *root = cJSON_CreateObject();
	struct decisions all;

	(void)style;
	decisions_of(d, cli_command_name(), &all);
	for (size_t i = 0; i < all.n; i++) {
		const struct decided *one = &all.items[i];
		char *name = mem_format("%s (against %s)", one->application, one->baseline);
		cJSON *measure;

		if (!isnan(one->ratio)) {
			measure = cJSON_AddObjectToObject(cJSON_AddObjectToObject(root, name), "cost-ratio");
			json_add_number(measure, "value", one->ratio);
			if (!isnan(one->low))
				json_add_number(measure, "lower_value", one->low);
			if (!isnan(one->high))
				json_add_number(measure, "upper_value", one->high);
		}
		free(name);
	}
	json_add(out, root);
	decisions_release(&all);
}

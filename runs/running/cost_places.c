#include "runs/running/cost_places.h"

#include "base/mem.h"
#include "base/order.h"
#include "fleet/agent/signature.h"
#include "runs/running/sampled_lines.h"

#include <stdlib.h>
#include <string.h>

enum assay_status cost_places_add(struct cost_places *places, const char *signature, struct assay_error *err)
{
	struct signature of;
	enum assay_status st = signature_parse(signature, &of, err);
	double period = 0.0;

	if (st)
		return st;
	if (of.samples) /* "PERIOD period ns", unless there are none */
		period = 1e-9 * strtod(of.samples, NULL);
	if (period > 0.0) {
		const char *text = of.samples;
		struct sampled_line line;

		places->runs++;
		places->sample = period;
		while (sampled_lines_next(&text, &line)) {
			mem_append(places->items, places->n, &places->capacity,
				   (struct cost_place){ .function = mem_bytes(line.function, line.function_bytes),
							.file = mem_bytes(line.file, line.file_bytes),
							.line = line.line,
							.begins = line.begins,
							.seconds = period * (double)line.count });
		}
	}
	signature_release(&of);
	return ASSAY_OK;
}

ORDER_BY(compare_places, struct cost_place, BY_TEXT(function) BY_TEXT(file) BY_UP(line))

static void place_release(struct cost_place *place)
{
	mem_free(place->function, place->file);
}

void cost_places_end(struct cost_places *places)
{
	size_t kept = 0;

	order_sort(places->items, places->n, compare_places);
	for (size_t i = 0; i < places->n; i++) {
		struct cost_place *last = kept ? &places->items[kept - 1] : NULL;

		places->items[i].seconds /= (double)places->runs;
		if (last && compare_places(last, &places->items[i]) == 0) {
			last->seconds += places->items[i].seconds;
			place_release(&places->items[i]);
		} else {
			places->items[kept++] = places->items[i];
		}
	}
	places->n = kept;
	places->sample /= (double)(places->runs ? places->runs : 1);
}

void cost_places_release(struct cost_places *places)
{
	mem_release_all(places->items, places->n, place_release);
	*places = (struct cost_places){ .items = NULL };
}

/* What a kept model may judge. */
#include "gate/detect/model_file.h"

#include "base/mem.h"
#include "gate/detect/counters.h"

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
	if (st)
		assay_context(err, "this model cannot judge these samples");
	free(names);
	return st;
}

#include "runs/running/foreign_reader.h"

/* Returns the benchmark "GROUP/FUNCTION" of a file ".../criterion/GROUP/FUNCTION/new/sample.json"; NULL if the path has another form. */
static const char *read_benchmark_name(struct foreign_reader *r)
{
	const char *path = r->options->name, *start = strstr(path, "criterion/"), *end = path + strlen(path);

	for (int i = 0; i < 2 && start; i++)
		do
			end--;
		while (end > start && *end != '/');
	start += start ? strlen("criterion/") : 0;
	return start && end > start ? foreign_own_text(r, mem_bytes(start, (size_t)(end - start))) : NULL;
}

/* Adds the samples of a benchmark. Each value is the sum over several iterations. */
static void criterion_add(struct foreign_reader *r, struct foreign_row row, const char *unit, const cJSON *values, const cJSON *iterations)
{
	double seconds = foreign_unit_seconds(unit);

	if (seconds <= 0) { /* the benchmark measures something else than time, such as cycles */
		row.to.metric = unit;
		row.texts.direction = "";
	}
	if (row.name && cJSON_IsArray(values) && cJSON_IsArray(iterations))
		foreign_samples_add(r, row, values, seconds > 0 ? seconds : 1, iterations);
	else
		imported_exclude(&r->result->imported, IMPORTED_BAD_ROW, &row.to.place,
				 "it is no benchmark with a name, values and numbers of iterations");
}

static void message_add(struct foreign_reader *r, const cJSON *item, size_t index, const char *machine)
{
	struct foreign_row row = foreign_row_init(r, (struct imported_place){ "messages", "measured_values", index, 0 }, machine);

	row.name = cJSON_GetStringValue(json_get(item, "id"));
	row.benchmark_number = (double)index;
	if (strcmp(json_get_text(item, "reason"), "benchmark-complete") == 0)
		criterion_add(r, row, json_get_text(item, "unit"), json_get(item, "measured_values"), json_get(item, "iteration_count"));
}

enum assay_status foreign_criterion_read(struct foreign_reader *r, char *text, size_t n)
{
	const cJSON *root = r->result->root, *times = json_get(root, "times"), *slope = json_get(root, "slope");
	const cJSON *estimate = json_get(cJSON_IsObject(slope) ? slope : json_get(root, "mean"), "point_estimate");
	struct foreign_row row;

	(void)text, (void)n;
	if (!times && !estimate)
		return foreign_list_read(r, NULL, "", message_add);
	row = foreign_row_init(r, (struct imported_place){ times ? "times" : "point_estimate", NULL, 0, 0 }, foreign_machine(r, ""));
	row.name = r->options->application ? r->options->application : read_benchmark_name(r);
	if (!row.to.machine)
		return foreign_fail_no_machine(r);
	if (!row.name)
		return assay_fail(r->err, ASSAY_E_USAGE,
				  "%s is not below a directory criterion/ that names the benchmark: --application NAME", r->options->name);
	if (times)
		criterion_add(r, row, "ns", times, json_get(root, "iters"));
	else if (foreign_row_value(r, &row, estimate, 1e-9))
		foreign_row_add(r, row);
	return ASSAY_OK;
}

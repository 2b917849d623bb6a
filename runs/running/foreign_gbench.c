#include "runs/running/foreign_reader.h"

static const char *benchmark_name(const cJSON *item)
{
	const char *name = cJSON_GetStringValue(json_get(item, "run_name"));

	return name ? name : cJSON_GetStringValue(json_get(item, "name"));
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

/* Returns the length of the name without a suffix such as "_mean"; 0 if it has no such suffix. */
static size_t find_statistic_suffix(const char *name)
{
	static const char *const ends[] = { "_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (ends_with(name, ends[i]))
			return strlen(name) - strlen(ends[i]);
	return 0;
}

/* Reports whether an item is an aggregate, such as a mean. Versions before 1.5 list aggregates beside the benchmark, but do not mark
 * them. */
static bool is_aggregate(const cJSON *item)
{
	const char *type = json_get_text(item, "run_type"), *name = benchmark_name(item);
	const cJSON *const beside[] = { item->prev, item->next };
	size_t n = find_statistic_suffix(name);

	if (*type || json_get(item, "aggregate_name") || json_get(item, "big_o") || json_get(item, "rms"))
		return strcmp(type, "iteration") != 0;
	for (int i = 0; i < 2 && n; i++) {
		const char *other = benchmark_name(beside[i]);

		if (other && strncmp(other, name, n) == 0 && strcmp(other, name) != 0 && (!other[n] || find_statistic_suffix(other) == n))
			return true;
	}
	return false;
}

/* Returns the reason why a benchmark failed or skipped itself; NULL if it was measured. */
static const char *benchmark_failure(const cJSON *item)
{
	static const char *const flags[] = { "error_occurred", "skipped" }, *const messages[] = { "error_message", "skip_message" };

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		const cJSON *flag = json_get(item, flags[i]);
		const char *message = json_get_text(item, messages[i]);

		if (flag && !cJSON_IsFalse(flag) && !cJSON_IsNull(flag))
			return *message ? message : flags[i];
	}
	return NULL;
}

static char *benchmark_label(const cJSON *item)
{
	const cJSON *label = json_get(item, "label");

	return !label || cJSON_IsNull(label) || (cJSON_IsString(label) && !*label->valuestring) ? NULL : foreign_value_text(label);
}

static void gbench_add(struct foreign_reader *r, const cJSON *item, size_t index, const char *machine)
{
	const char *metric = r->options->metric ? r->options->metric : "real_time", *name = benchmark_name(item);
	struct foreign_row row = foreign_row_init(r, (struct imported_place){ "benchmarks", NULL, index, 0 }, machine);
	bool is_time = strcmp(metric, "real_time") == 0 || strcmp(metric, "cpu_time") == 0;
	double unit = is_time ? foreign_unit_seconds(json_get_text(item, "time_unit")) : 1;
	struct imported *imported = &r->result->imported;

	if (name && is_aggregate(item)) {
		r->result->aggregates++;
		return;
	}
	r->has_metric = r->has_metric || json_get(item, metric);
	if (benchmark_failure(item))
		foreign_row_fail(r, &row, EXECUTION_NO_METRIC, "%s", benchmark_failure(item));
	if (!name)
		imported_exclude(imported, IMPORTED_BAD_ROW, &row.to.place, "it is no object with a name");
	else if (!row.to.failure && !foreign_row_value(r, &row, json_get(item, metric), unit))
		imported_exclude(imported, IMPORTED_BAD_ROW, &row.to.place, "%s: '%s' is missing, or no number", TEXT_SANITIZED(name),
				 TEXT_SANITIZED(metric));
	else if (!row.to.failure && unit <= 0)
		imported_exclude(imported, IMPORTED_BAD_ROW, &row.to.place, "%s: unknown or missing 'time_unit'", TEXT_SANITIZED(name));
	else if (foreign_row_time(r, &row, cJSON_GetStringValue(json_get(json_get(r->result->root, "context"), "date")))) {
		row.name = name;
		row.mark = foreign_benchmark_mark(r, benchmark_label(item), NULL);
		row.benchmark_number = (double)json_get_count(item, "family_index") * FOREIGN_INSTANCES_MAX +
				       (double)json_get_count(item, "per_family_instance_index");
		row.texts.direction = ends_with(metric, "_per_second") ? "higher" : is_time ? "lower" : "";
		row.to.metric = metric;
		foreign_row_add(r, row);
	}
}

enum assay_status foreign_gbench_read(struct foreign_reader *r, char *text, size_t n)
{
	(void)text, (void)n;
	return foreign_list_read(r, "benchmarks", json_get_text(json_get(r->result->root, "context"), "host_name"), gbench_add);
}

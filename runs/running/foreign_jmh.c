#include "runs/running/foreign_reader.h"

/* Returns the metric of a benchmark: the secondary one with the name `wanted`, or the primary one if `wanted` is NULL. Returns NULL if
 * there is none. JMH writes U+00B7 before the names of profilers' metrics. */
static const cJSON *jmh_metric(const cJSON *item, const char *wanted)
{
	const cJSON *secondary = json_get(item, "secondaryMetrics"), *one;

	if (!wanted)
		return json_get(item, "primaryMetric");
	cJSON_ArrayForEach(one, secondary)
	{
		const char *name = one->string ? one->string : "";

		if (strcmp(name + 2 * (strncmp(name, "\u00b7", 2) == 0), wanted) == 0)
			return one;
	}
	return NULL;
}

/* Sets metric and direction: "s/op", or "ops/s" for rates. Other units, such as "B/op", stay. Returns the factor for values. */
static double jmh_unit(struct foreign_row *row, const char *unit)
{
	bool rate = strncmp(unit, "ops/", 4) == 0, time = strlen(unit) > 3 && strcmp(unit + strlen(unit) - 3, "/op") == 0;
	double seconds = rate ? foreign_unit_seconds(unit + 4) : time ? foreign_unit_seconds(unit) : 0;

	row->to.metric = seconds <= 0 ? unit : rate ? "ops/s" : "s/op";
	row->texts.direction = rate ? "higher" : time ? "lower" : "";
	return seconds <= 0 ? 1 : rate ? 1 / seconds : seconds;
}

/* Adds an iteration: a number, or a histogram of pairs [value, count], whose mean becomes the result. */
static void jmh_add_iteration(struct foreign_reader *r, struct foreign_row row, const cJSON *iteration, double unit)
{
	cJSON mean = { .type = cJSON_Number };
	double count = 0;
	const cJSON *pair;

	cJSON_ArrayForEach(pair, iteration)
	{
		const cJSON *value = cJSON_GetArrayItem(pair, 0), *times = cJSON_GetArrayItem(pair, 1);

		count += cJSON_IsNumber(times) ? times->valuedouble : 0;
		mean.valuedouble += cJSON_IsNumber(value) && cJSON_IsNumber(times) ? value->valuedouble * times->valuedouble : 0;
	}
	mean.valuedouble /= count;
	if (foreign_row_value(r, &row, cJSON_IsArray(iteration) && count > 0 ? &mean : iteration, unit))
		foreign_row_add(r, row);
	else
		imported_exclude(&r->result->imported, IMPORTED_BAD_ROW, &row.to.place, "%s: its score is not a number",
				 TEXT_SANITIZED(row.name));
}

static void jmh_add(struct foreign_reader *r, const cJSON *item, size_t index, const char *machine)
{
	struct foreign_row row = foreign_row_init(r, (struct imported_place){ "benchmarks", NULL, index, 0 }, machine);
	const cJSON *metric = jmh_metric(item, r->options->metric), *forks = json_get(metric, "rawData"), *fork, *iteration;
	double threads = json_get_number(item, "threads"), unit = jmh_unit(&row, json_get_text(metric, "scoreUnit"));

	r->has_metric = r->has_metric || metric;
	row.name = cJSON_GetStringValue(json_get(item, "benchmark"));
	row.benchmark_number = (double)index;
	if (!row.name || !metric) {
		imported_exclude(&r->result->imported, IMPORTED_BAD_ROW, &row.to.place, "it is no object with 'benchmark' and %s",
				 r->options->metric ? "that metric" : "'primaryMetric'");
		return;
	}
	row.mark = foreign_benchmark_mark(r, mem_format(threads > 1 ? "%s, %.0f threads" : "%s", json_get_text(item, "mode"), threads),
					  json_get(item, "params"));
	forks = forks ? forks : json_get(metric, "rawDataHistogram");
	if (!cJSON_GetArraySize(cJSON_GetArrayItem(forks, 0))) {
		jmh_add_iteration(r, row, json_get(metric, "score"), unit);
		return;
	}
	row.to.place.item = "rawData";
	cJSON_ArrayForEach(fork, forks) cJSON_ArrayForEach(iteration, fork)
	{
		jmh_add_iteration(r, row, iteration, unit);
		row.to.place.at++;
	}
}

enum assay_status foreign_jmh_read(struct foreign_reader *r, char *text, size_t n)
{
	(void)text, (void)n;
	return foreign_list_read(r, NULL, "", jmh_add);
}

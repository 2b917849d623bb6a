/* What Google Benchmark and hyperfine write as JSON. */
#include "base/json.h"
#include "base/text.h"
#include "runs/running/metric_internal.h"

#define WHERE_BYTES 128

/* The document in the output: from the last line that begins with '{' to the last '}' behind it. Programs may print other things
 * before and after, and hyperfine writes its results anew after each command. */
static enum assay_status find_document(const char *output, size_t n, cJSON **root, struct assay_error *err)
{
	const char *begin = NULL, *end = NULL;

	for (size_t i = n; i-- > 0 && !begin;) {
		if (output[i] == '{' && (i == 0 || output[i - 1] == '\n'))
			begin = output + i;
		else if (output[i] == '}' && !end)
			end = output + i + 1;
	}
	if (!begin || !end)
		return assay_fail(err, ASSAY_E_NODATA, "the output has no JSON document: no line begins with '{'%s",
		                  begin ? " and has its '}' behind it" : "");
	if (json_parse("its output", begin, (size_t)(end - begin), root, err))
		return assay_fail(err, ASSAY_E_NODATA, "the output is no whole JSON document: %.200s", err ? err->text : "");
	return ASSAY_OK;
}

static const char *text_of(const cJSON *object, const char *key)
{
	const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsString(member) ? member->valuestring : NULL;
}

static enum assay_status number_of(const cJSON *object, const char *key, const char *where, double *out, struct assay_error *err)
{
	const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, key);

	if (!cJSON_IsNumber(member))
		return assay_fail(err, ASSAY_E_NODATA, "%s has no number '%s'", where, key);
	*out = member->valuedouble;
	return ASSAY_OK;
}

static bool is_true(const cJSON *object, const char *key)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, key));
}

/* Is it the one that is asked for? Without a name there must be one only. *first is the first one's name, NULL before. */
static enum assay_status choose(const struct metric *metric, const char *name, const char **first, bool *chosen,
                                struct assay_error *err)
{
	char a[TEXT_SHOWN_BYTES], b[TEXT_SHOWN_BYTES];

	*first = *first ? *first : name;
	*chosen = strcmp(metric->name ? metric->name : *first, name) == 0;
	if (*chosen || metric->name)
		return ASSAY_OK;
	return assay_fail(err, ASSAY_E_NODATA, "the output has several results ('%s', '%s'): name one in 'metric'",
	                  text_shown(*first, a), text_shown(name, b));
}

static enum assay_status fail_nothing(const struct metric *metric, const char *what, const char *first, struct assay_error *err)
{
	char a[TEXT_SHOWN_BYTES], b[TEXT_SHOWN_BYTES];

	if (metric->name && first)
		return assay_fail(err, ASSAY_E_NODATA, "the output has no %s '%s'; its first is '%s'", what,
		                  text_shown(metric->name, a), text_shown(first, b));
	return assay_fail(err, ASSAY_E_NODATA, "the output has no %s", what);
}

/* ---- Google Benchmark ---- */

static double seconds_of(const char *unit)
{
	static const struct {
		const char *unit;
		double seconds;
	} rows[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};

	for (size_t i = 0; unit && i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].unit, unit) == 0)
			return rows[i].seconds;
	}
	return 0;
}

static enum assay_status take_benchmark(const struct metric *metric, const cJSON *item, const char *name,
                                        struct metric_values *out, struct assay_error *err)
{
	double scale = seconds_of(text_of(item, "time_unit")), value = 0;
	char where[WHERE_BYTES], shown[TEXT_SHOWN_BYTES];
	const char *why = text_of(item, is_true(item, "skipped") ? "skip_message" : "error_message");
	enum assay_status st;

	snprintf(where, sizeof(where), "the benchmark '%s'", text_shown(name, shown));
	if (is_true(item, "error_occurred") || is_true(item, "skipped"))
		return assay_fail(err, ASSAY_E_NODATA, "%s was not measured: %s", where,
		                  why ? text_shown(why, shown) : "it does not say why");
	if (scale <= 0)
		return assay_fail(err, ASSAY_E_NODATA, "%s has no time_unit of ns, us, ms, s", where);
	st = number_of(item, metric->cpu_time ? "cpu_time" : "real_time", where, &value, err);
	return st ? st : metric_add(out, value * scale, where, err);
}

/* A benchmark's own name is in run_name where there is one: `name` has the repetitions in it, or what was aggregated. */
static enum assay_status read_benchmarks(const struct metric *metric, const cJSON *list, struct metric_values *out,
                                         struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;
	const char *first = NULL;
	size_t aggregates = 0;
	const cJSON *item;

	cJSON_ArrayForEach(item, list)
	{
		const char *name = text_of(item, "run_name"), *type = text_of(item, "run_type");
		bool chosen = false;

		name = name ? name : text_of(item, "name");
		if (!name)
			return assay_fail(err, ASSAY_E_NODATA, "a benchmark in the output has no name");
		st = choose(metric, name, &first, &chosen, err);
		if (st)
			return st;
		if (chosen && type && strcmp(type, "aggregate") == 0)
			aggregates++;
		else if (chosen)
			st = take_benchmark(metric, item, name, out, err);
		if (st)
			return st;
	}
	if (out->n == 0 && aggregates)
		return assay_fail(err, ASSAY_E_NODATA,
		                  "the output has aggregates only: leave out --benchmark_report_aggregates_only");
	return out->n ? ASSAY_OK : fail_nothing(metric, "benchmark", first, err);
}

/* ---- hyperfine ---- */

/* With --ignore-failure a command that failed has a time, too. */
static enum assay_status check_exits(const cJSON *item, const char *where, struct assay_error *err)
{
	const cJSON *exits = cJSON_GetObjectItemCaseSensitive(item, "exit_codes"), *one;

	cJSON_ArrayForEach(one, exits)
	{
		if (!cJSON_IsNumber(one) || one->valuedouble != 0)
			return assay_fail(err, ASSAY_E_NODATA, "%s did not always end with status 0", where);
	}
	return ASSAY_OK;
}

static enum assay_status take_times(const cJSON *item, const char *name, struct metric_values *out, struct assay_error *err)
{
	const cJSON *times = cJSON_GetObjectItemCaseSensitive(item, "times"), *one;
	char where[WHERE_BYTES], shown[TEXT_SHOWN_BYTES];
	enum assay_status st;

	snprintf(where, sizeof(where), "the command '%s'", text_shown(name, shown));
	if (!cJSON_IsArray(times) || cJSON_GetArraySize(times) == 0)
		return assay_fail(err, ASSAY_E_NODATA, "%s has no 'times' in the output", where);
	st = check_exits(item, where, err);
	cJSON_ArrayForEach(one, times)
	{
		if (!st && !cJSON_IsNumber(one))
			st = assay_fail(err, ASSAY_E_NODATA, "%s has a time that is no number", where);
		if (!st)
			st = metric_add(out, one->valuedouble, where, err);
	}
	return st;
}

static enum assay_status read_results(const struct metric *metric, const cJSON *list, struct metric_values *out,
                                      struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;
	const char *first = NULL;
	const cJSON *item;

	cJSON_ArrayForEach(item, list)
	{
		const char *name = text_of(item, "command");
		bool chosen = false;

		if (!name)
			return assay_fail(err, ASSAY_E_NODATA, "a result in the output has no command");
		st = choose(metric, name, &first, &chosen, err);
		if (!st && chosen)
			st = take_times(item, name, out, err);
		if (st)
			return st;
	}
	return out->n ? ASSAY_OK : fail_nothing(metric, "command", first, err);
}

/* ---- both ---- */

enum assay_status metric_read_json(const struct metric *metric, const char *output, size_t n, struct metric_values *out,
                                   const char **warning, struct assay_error *err)
{
	bool google = metric->source == METRIC_GOOGLE_BENCHMARK;
	const char *key = google ? "benchmarks" : "results";
	cJSON *root = NULL, *list;
	enum assay_status st = find_document(output, n, &root, err);

	if (st)
		return st;
	list = cJSON_GetObjectItemCaseSensitive(root, key);
	if (!cJSON_IsArray(list))
		st = assay_fail(err, ASSAY_E_NODATA, "the output is JSON, but not of %s: it has no list '%s'",
		                google ? "Google Benchmark" : "hyperfine", key);
	else
		st = google ? read_benchmarks(metric, list, out, err) : read_results(metric, list, out, err);
	if (!st && google && is_true(cJSON_GetObjectItemCaseSensitive(root, "context"), "cpu_scaling_enabled"))
		*warning = "Google Benchmark says that CPU scaling is enabled: times may be noisy";
	cJSON_Delete(root);
	return st;
}

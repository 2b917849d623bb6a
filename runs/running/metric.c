#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "runs/running/metric_internal.h"
#include "runs/running/run.h"

#include <math.h>

ROWS_FUNCTION(metric_source_word, enum metric_source, METRIC_SOURCE_ROWS, ROWS_WORD)

void metric_release(struct metric *metric)
{
	if (metric->pattern)
		regfree(&metric->regex);
	free(metric->pattern);
	free(metric->name);
	free(metric->unit);
	*metric = (struct metric){.source = METRIC_WALL};
}

enum assay_status metric_add(struct metric_values *values, double value, const char *where, struct assay_error *err)
{
	char shown[TEXT_DOUBLE_BYTES];

	if (!isfinite(value))
		return assay_fail(err, ASSAY_E_NODATA, "%s: the metric is not a finite number", where);
	if (value <= 0)
		return assay_fail(err, ASSAY_E_NODATA, "%s: the metric is %s; it must be above 0", where,
		                  text_from_double(value, shown));
	if (value > RUN_METRIC_MAX)
		return assay_fail(err, ASSAY_E_NODATA, "%s: the metric is %s; it must be at most %g", where,
		                  text_from_double(value, shown), RUN_METRIC_MAX);
	if (values->n == METRIC_VALUES_MAX)
		return assay_fail(err, ASSAY_E_NODATA, "%s: more than %d values of one run", where, METRIC_VALUES_MAX);
	values->items = mem_grow(values->items, values->n, &values->capacity, sizeof(double));
	values->items[values->n++] = value;
	return ASSAY_OK;
}

/* Of what was measured around the command. */
static enum assay_status read_usage(const struct metric *metric, const struct metric_usage *usage, double *value,
                                    struct assay_error *err)
{
	bool wall = metric->source == METRIC_WALL;

	if (wall ? usage->wall_ns < 0 : usage->user_us < 0 || usage->sys_us < 0)
		return assay_fail(err, ASSAY_E_NODATA, "the host did not say how long it took");
	*value = wall ? (double)usage->wall_ns / 1e9 : ((double)usage->user_us + (double)usage->sys_us) / 1e6;
	if (*value <= 0)
		return assay_fail(err, ASSAY_E_NODATA, "it took less %s time than can be measured", wall ? "wall" : "processor");
	return ASSAY_OK;
}

enum assay_status metric_read(const struct metric *metric, const struct metric_usage *usage, const char *output, size_t n,
                              double *value, const char **warning, struct assay_error *err)
{
	struct metric_values values = {NULL, 0, 0};
	enum assay_status st;

	*warning = NULL;
	if (metric->source == METRIC_WALL || metric->source == METRIC_CPU)
		return read_usage(metric, usage, value, err);
	if (n == 0)
		return assay_fail(err, ASSAY_E_NODATA, "it printed nothing on standard output");
	if (n > METRIC_OUTPUT_BYTES_MAX)
		return assay_fail(err, ASSAY_E_NODATA,
		                  "it printed %zu bytes on standard output; a metric is looked for in at most %u", n,
		                  METRIC_OUTPUT_BYTES_MAX);
	if (metric->source == METRIC_REGEX)
		st = metric_read_lines(metric, output, n, &values, err);
	else
		st = metric_read_json(metric, output, n, &values, warning, err);
	if (!st)
		*value = stats_median(values.items, values.n);
	free(values.items);
	return st;
}

/* Shared by the files of the metric only. */
#ifndef RUNS_RUNNING_METRIC_INTERNAL_H
#define RUNS_RUNNING_METRIC_INTERNAL_H

#include "runs/running/metric.h"

#define METRIC_VALUES_MAX 1000000 /* of one run */

/* What a run has said of its metric; their median is the run's. */
struct metric_values {
	double *items; /* [n] */
	size_t n, capacity;
};
/* `where` is for messages ("line 7", "benchmark 'BM_x'"). ASSAY_E_NODATA for what is no value: not finite, 0 or less. */
enum assay_status metric_add(struct metric_values *values, double value, const char *where, struct assay_error *err);

/* metric_regex.c */
enum assay_status metric_read_lines(const struct metric *metric, const char *output, size_t n, struct metric_values *out,
                                    struct assay_error *err);
/* metric_json.c */
enum assay_status metric_read_json(const struct metric *metric, const char *output, size_t n, struct metric_values *out,
                                   const char **warning, struct assay_error *err);

#endif

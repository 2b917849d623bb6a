/* What scorers share that are kept as JSON. */
#ifndef MODEL_ANOMALY_SCORER_JSON_H
#define MODEL_ANOMALY_SCORER_JSON_H

#include "base/error.h"

#include <cjson/cJSON.h>
#include <stddef.h>

/* An array of exactly n numbers, none farther from 0 than `most`, into out[n]; else ASSAY_E_FORMAT with the scorer's and the member's names. */
enum assay_status scorer_json_numbers(const char *scorer, const char *member, const cJSON *array, size_t n, double most, double *out,
				      struct assay_error *err);

#endif

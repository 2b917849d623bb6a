/* What writing and reading a detector share. */
#ifndef MODEL_ANOMALY_DETECTOR_JSON_H
#define MODEL_ANOMALY_DETECTOR_JSON_H

#include "model/anomaly/detector_internal.h"

#define DETECTOR_NAME	    "detector"
#define DETECTOR_FORMAT	    "assay detector"
#define DETECTOR_SUMMARY    7 /* numbers of a function in a normal run */
#define DETECTOR_SCALINGS   2
#define DETECTOR_THRESHOLDS 3
#define DETECTOR_DROPPINGS  3

/* By their enumerations. */
extern const char *const detector_scalings[DETECTOR_SCALINGS];
extern const char *const detector_thresholds[DETECTOR_THRESHOLDS];
extern const char *const detector_droppings[DETECTOR_DROPPINGS];

/* Members of an object, each of which has to be there. Errors (ASSAY_E_FORMAT) name it, by `key`. */
enum assay_status detector_fail(struct assay_error *err, const char *key, const char *what);
enum assay_status detector_read_number(const cJSON *object, const char *key, double low, double high, double *out, struct assay_error *err);
enum assay_status detector_read_size(const cJSON *object, const char *key, size_t low, size_t high, size_t *out, struct assay_error *err);
enum assay_status detector_read_bool(const cJSON *object, const char *key, bool *out, struct assay_error *err);
enum assay_status detector_read_word(const cJSON *object, const char *key, const char *const *words, size_t n, size_t *out,
				   struct assay_error *err);
/* *n is given unless it is SIZE_MAX; then it is how many there are, `most` at most. *out: free() it, also after an error. */
enum assay_status detector_read_numbers(const cJSON *object, const char *key, double low, double high, size_t most, size_t *n, double **out,
				      struct assay_error *err);
enum assay_status detector_read_indices(const cJSON *object, const char *key, size_t below, size_t most, size_t *n, size_t **out,
				      struct assay_error *err);

#endif

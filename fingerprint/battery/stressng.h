/* Parses the output of `stress-ng --yaml`, which comes from another machine and is not trusted. */
#ifndef FINGERPRINT_BATTERY_STRESSNG_H
#define FINGERPRINT_BATTERY_STRESSNG_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define STRESSNG_YAML_BYTES_MAX 65536
#define STRESSNG_VERSION_BYTES	32

/* Metrics of one stressor. */
struct stressng_metrics {
	char version[STRESSNG_VERSION_BYTES]; /* such as "0.15.06" */
	double bogo_ops;
	double per_s;	   /* operations per second of user and system CPU time */
	double real_per_s; /* operations per second of real time */
	double wall_s, user_s, system_s;
	bool measured; /* bogo_ops and per_s are above 0 */
};

/* Finds the metrics of `stressor` in text[0..n). Computes missing rates from operations and times. ASSAY_E_FORMAT: the text is not
 * stress-ng's YAML, has no metrics of the stressor or several, or has impossible numbers (negative, infinite, contradictory). */
enum assay_status stressng_parse(const char *text, size_t n, const char *stressor, struct stressng_metrics *out, struct assay_error *err);

/* Meanings of stress-ng's exit statuses for a measurement. */
enum stressng_result {
	STRESSNG_MEASURED,  /* exit status 0 */
	STRESSNG_MISSING,   /* exit status 3 (missing resource) or 4 (not implemented): the machine cannot run this stressor */
	STRESSNG_DISCARDED, /* exit status 7: stress-ng does not trust its own metrics */
	STRESSNG_FAILED,    /* any other exit status */
};
#define STRESSNG_EXIT_NOT_STARTED 1 /* stress-ng had no memory for its buffers, or rejected its arguments */
enum stressng_result stressng_classify_exit(int exit_status, const char **text);

#endif

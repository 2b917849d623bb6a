/* The resource usage of a run, in the form that the store keeps: the kernel's counters and samples of the CPU time. */
#ifndef FLEET_SIGNATURE_H
#define FLEET_SIGNATURE_H

#include "base/document.h"
#include "base/error.h"
#include "fleet/agent/helper_client.h"

#include <stddef.h>

#define RUN_USAGE_SAMPLES_BYTES_MAX (1u << 20) /* maximum size of samples; helpers send less, even with addresses in files */

struct run_usage {
	struct helper_result counters; /* counters of HELPER_USAGE_ROWS, -1 if unknown; all other members are -1 */
	char *samples;		       /* text in the format of fleet/helper/sampler.h; NULL if there are no samples */
};
void run_usage_release(struct run_usage *run_usage); /* accepts a zeroed struct */

/* Returns the resource usage in an answer as a line of JSON: known HELPER_USAGE_ROWS, `samples`. NULL if it has no result. free() it. */
char *run_usage_to_json(const struct helper_answer *answer);

/* Parses a text of run_usage_to_json(); "" has no known counter. Overwrites *out; call run_usage_release(). ASSAY_E_FORMAT: invalid text.
 */
enum assay_status run_usage_parse(const char *text, struct run_usage *out, struct assay_error *err);

/* Returns the number of counters. run_usage_counter() returns counter i (-1 if unknown) and its two names ("" if it is not shown). */
size_t run_usage_count(void);
int64_t run_usage_counter(const struct helper_result *result, size_t i, const char **name, const char **text);

/* Adds all counters of one run to the document as an object. The value of an unknown counter is null. */
void run_usage_add_members(struct document *d, const char *key, const struct helper_result *result);
/* Adds an object with the medians over n runs, and human-readable lines. If `key` is NULL, adds only the lines. */
void run_usage_add_medians(struct document *d, const char *key, const struct helper_result *const *results, size_t n);

#endif

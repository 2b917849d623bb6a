/* What is kept of a run's features: which input it was, what was known of that for nothing, what the user's own command printed of it, and
 * what was counted in the run. */
#ifndef RUNS_RUNNING_EXECUTION_FEATURES_H
#define RUNS_RUNNING_EXECUTION_FEATURES_H

#include "base/digest.h"
#include "runs/inside/features/run_features.h"

struct execution_features {
	char input[DIGEST_HEX_BYTES]; /* the same input, the same hash; "": not known */
	struct run_features known, own, counted;
	double own_seconds; /* of a processor, that the user's own command took; 0 without one */
};
void execution_features_release(struct execution_features *features); /* accepts zeroed */

/* As the store has it: text, packed. Counts that are 0 are left out: where counted has anything, what is missing is 0. Nothing is no bytes.
 */
enum assay_status execution_features_pack(const struct execution_features *features, struct buf *out, struct assay_error *err);
/* *out is overwritten; execution_features_release() it. ASSAY_E_CORRUPT, ASSAY_E_FORMAT. */
enum assay_status execution_features_unpack(const void *packed, size_t n, struct execution_features *out, struct assay_error *err);
/* The text in it: "# input HASH", lines of the text form, "# own SECONDS", lines, "# counted", lines. */
void execution_features_text(const struct execution_features *features, struct buf *out);
enum assay_status execution_features_parse(const char *text, size_t n, struct execution_features *out, struct assay_error *err);

/* A copy; names are copied, too. */
void run_features_copy(const struct run_features *from, struct run_features *to);

#endif

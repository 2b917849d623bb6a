/* Two fingerprints side by side: by which stressors do they differ beyond the noise of both? docs/evidence/statistics.md says how, and how
 * often it is wrong. */
#ifndef FINGERPRINT_COMPARE_COMPARE_H
#define FINGERPRINT_COMPARE_COMPARE_H

#include "base/document.h"
#include "base/error.h"
#include "fingerprint/catalog/machine.h"
#include "fingerprint/stored/fingerprint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPARE_LEVEL .05  /* chance that two fingerprints of an unchanged machine differ in any stressor */
#define COMPARE_FLOOR .025 /* standard deviation of a log median from session to session that passes of one session do not show */

struct compare_row {
	const char *stressor;	 /* borrowed from the set */
	double medians[2];	 /* per second of usr+sys time; NaN: not measured */
	const char *reasons[2];	 /* why not, or NULL; borrowed */
	double ratio, low, high; /* second / first, and its interval, corrected as `differs`; NaN where it does not exist */
	double noise, df;	 /* standard error of the log ratio, and its degrees of freedom; NaN where it does not exist */
	bool differs;		 /* the interval does not contain 1 */
	int64_t since_ms;	 /* of compare_history(): when the first fingerprint after a lasting change was taken; 0: these are two */
};

struct compare {
	struct compare_row *rows; /* [n], in name order: every stressor that was tried in either */
	size_t n, compared, differing;
	bool has_noise; /* false when no stressor has two passes in one of them: nothing can be said to differ */
};

/* ASSAY_E_USAGE for fingerprints of different batteries, stress-ng versions or architectures: the text says which.
 * looks: among how many comparisons the caller looks for one that differs, at least 1; the level holds for all of them together. *out is
 * overwritten; compare_release() it. O(stressors * passes). */
enum assay_status compare_fingerprints(const struct fingerprint_set *set, const struct fingerprint *a, const struct fingerprint *b,
				       size_t looks, struct compare *out, struct assay_error *err);
void compare_release(struct compare *compare);

#define COMPARE_HISTORY_MIN 6 /* fingerprints */

/* A comparison of the first and the last of f[n], all of them comparable and by time, again by what lies between: where a stressor has
 * changed for good by less than two fingerprints show, its row becomes that of the fingerprints after the change against those before. At
 * least COMPARE_HISTORY_MIN of them. It is a further look: `looks` of both are to count it. O(stressors * n^2), of simple steps. */
void compare_history(const struct fingerprint_set *set, const struct fingerprint *const *f, size_t n, size_t looks,
		     struct compare *compare);

/* For people: the stressors that differ, largest first, at most `rows` of them; nothing when none differs. */
void compare_add_largest(const struct compare *compare, size_t rows, struct document *d);
/* For programs: "stressors", an object for each row. */
void compare_set_rows(const struct compare *compare, struct document *d);

/* Is it the latest of its kind (battery, stress-ng, architecture) of this machine, of those that are not after now_ms? */
bool drift_is_latest(const struct machine *machine, const struct machine_fingerprint *f, int64_t now_ms);

/* The version of stress-ng of the fingerprint before, of the same battery and architecture, when f is the first of another one; else NULL.
 */
const char *drift_version_before(const struct machine *machine, const struct machine_fingerprint *f);

/* What a fingerprint of the machine is compared with: the one that was accepted last, else its first. *acceptance (may be NULL): of
 * it, or NULL. */
const struct machine_fingerprint *drift_reference(const struct machine *machine, const struct machine_fingerprint *latest,
						  const struct machine_acceptance **acceptance);

#endif

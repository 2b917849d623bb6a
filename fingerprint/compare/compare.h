/* Fingerprints of one machine, or of two, side by side: by which stressors do they differ beyond the noise between sessions?
 * docs/evidence/statistics.md says how, docs/evidence/drift.md how often it is wrong. */
#ifndef FINGERPRINT_COMPARE_COMPARE_H
#define FINGERPRINT_COMPARE_COMPARE_H

#include "base/document.h"
#include "base/error.h"
#include "fingerprint/catalog/machine.h"
#include "fingerprint/stored/fingerprint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPARE_LEVEL	.05 /* chance that an unchanged machine differs in any stressor */
#define COMPARE_MATTERS .01 /* smaller changes are not reported, however small the noise is */

/* Sessions of one machine and of one kind (battery, stress-ng, architecture), by time. */
struct compare_series {
	const struct fingerprint_set *set;
	const struct fingerprint **sessions; /* [n], borrowed */
	size_t n;
	double *logs;	 /* [(stressors + 1) x n], of medians, NaN: not measured; last row: median of how far all are from theirs */
	double *passes;	 /* [stressors], median variance of the log between the passes of a session; NaN: not known */
	double multiple; /* how much noisier the machine is than others, at least 1: compare_noise_of() sets it */
};

void compare_series_of(const struct fingerprint_set *set, const struct fingerprint *const *sessions, size_t n, struct compare_series *out);
void compare_series_release(struct compare_series *series);

/* How far the medians of unchanged machines are apart from session to session. */
struct compare_noise {
	size_t n_stressors, capacity;
	double *apart;	 /* [(stressors + 1) x capacity], of neighbours in time, absolute, over their multiple, ascending */
	size_t *n;	 /* [stressors + 1], how many */
	double *passes;	 /* [stressors], as of a series */
	size_t sessions; /* that it is from: of machines with several */
};

/* From some machines of one set. *out is overwritten; compare_noise_release() it. */
void compare_noise_of(const struct fingerprint_set *set, struct compare_series *const *series, size_t n, struct compare_noise *out);
void compare_noise_release(struct compare_noise *noise);

struct compare_row {
	const char *stressor;	 /* borrowed */
	double medians[2];	 /* before and after, per second of usr+sys time; NaN: not measured, or all stressors */
	const char *reasons[2];	 /* why not, or NULL; borrowed */
	double ratio, low, high; /* after / before, and its interval, corrected as `differs`; NaN where it does not exist */
	double noise;		 /* standard error of the log ratio; NaN where it does not exist */
	bool differs;		 /* the interval does not contain 1, and the change matters */
	int64_t since_ms;	 /* when the first session after the change was taken; 0: there are only two */
};

struct compare {
	struct compare_row *rows; /* [n + 1], free() them: every stressor that was tried, in name order; then all of them together */
	size_t n, compared, differing;
	bool has_noise; /* false: nothing can be said to differ */
};

/* The latest sessions of a series of two and more against those before them.
 * looks: among how many comparisons the caller looks for one that differs, at least 1; the level holds for all of them together. *out is
 * overwritten; free() its rows. O(stressors * sessions^2), of simple steps. */
void compare_sessions(const struct compare_series *series, const struct compare_noise *noise, size_t looks, struct compare *out);

/* Two fingerprints, as a series; the noise between sessions is assumed by that of their passes. ASSAY_E_USAGE for those of different
 * batteries, stress-ng versions or architectures: the text says which. */
enum assay_status compare_fingerprints(const struct fingerprint_set *set, const struct fingerprint *a, const struct fingerprint *b,
				       struct compare *out, struct assay_error *err);

/* For people: the stressors that differ, largest first, at most `rows` of them; nothing when none differs. */
void compare_add_largest(const struct compare *compare, size_t rows, struct document *d);
/* For programs: "all_stressors" and "stressors". */
void compare_set_rows(const struct compare *compare, struct document *d);

#endif

/* Fingerprints of many machines as one picture: how far each stressor's rate is from the mean of the machines, with machines and
 * stressors that are alike standing together. */
#ifndef GATE_REPORT_HEATMAP_H
#define GATE_REPORT_HEATMAP_H

#include "base/mat.h"
#include "fingerprint/stored/fingerprint.h"

#include <stddef.h>

struct heatmap {
	const struct fingerprint **fingerprints; /* [z.rows], in order of similarity; borrowed */
	size_t *stressors;			 /* [z.cols], index into the set's stressors, in order of similarity */
	struct mat z;	     /* (log of the median rate - mean) / standard deviation over the rows; NaN where it was not measured, 0 in a
			      * column that is the same everywhere */
	struct mat rate;     /* the medians, per second of usr+sys time; NaN where there is none */
	size_t incomparable; /* fingerprints that were left out: of another battery, stress-ng or architecture than most */
	size_t *unmeasured;  /* [n_unmeasured], stressors of these fingerprints that have no rate on any of the machines */
	size_t n_unmeasured;
};

/* chosen[n] are of the set, no two the same. Order: average linkage (base/linkage.h) on Euclidean distances of z, over what both have
 * measured, scaled up to all. O(n^2 p + n p^2). *out is overwritten; heatmap_release() it. */
void heatmap_of(const struct fingerprint_set *set, const struct fingerprint *const *chosen, size_t n, struct heatmap *out);
void heatmap_release(struct heatmap *map);

#endif

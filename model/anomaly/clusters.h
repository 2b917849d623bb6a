/* Which functions share a scorer. k-means over samples puts a function where most of its samples are (AutoPerf); how many clusters there are is chosen
 * by how many shifts, planted in samples of held-out runs, their scorers find, or as published. */
#ifndef MODEL_ANOMALY_CLUSTERS_H
#define MODEL_ANOMALY_CLUSTERS_H

#include "model/anomaly/detector_internal.h"

#define CLUSTERS_CANDIDATES_MAX 8

/* What one number of clusters is worth. */
struct clusters_candidate {
	size_t clusters;
	double found;	/* of the planted shifts, each by the 95 % quantile of its function's held-out errors; paper: not used */
	double error;	/* mean of log(1 + error) of held-out samples; paper: share of training samples above mean + t sd */
};

struct clusters {
	size_t *of; /* [functions] < n */
	size_t n;
	struct clusters_candidate candidates[CLUSTERS_CANDIDATES_MAX]; /* that were tried */
	size_t n_candidates;
};

/* options->clusters: 0, a number, or DETECTOR_ONE_EACH. runs: groups' runs are below it. *out is overwritten; free() its `of`. */
void clusters_choose(const struct rows *rows, size_t functions, size_t runs, const struct detector_options *options,
		     struct clusters *out);

#endif

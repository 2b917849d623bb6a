/* How well something tells changed from unchanged pairs: rates and the area under the curve, with intervals that know that pairs of
 * one application (a cluster) are not independent. docs/evidence/statistics.md, "How often is the gate right?". */
#ifndef GATE_EVALUATE_EVALUATE_RATES_H
#define GATE_EVALUATE_EVALUATE_RATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVALUATE_RESAMPLES 2000
#define EVALUATE_SEED      20184

/* flagged of n pairs in `clusters`; 95 % intervals. Without pairs rate and limits are NaN. */
struct evaluate_rate {
	size_t flagged, n, clusters;
	double rate;
	double low, high;                         /* pairs of a cluster may go together */
	double independent_low, independent_high; /* if every pair stood for itself */
};

struct evaluate_area {
	double area;      /* NaN when all pairs are changed, or none */
	double low, high; /* NaN with fewer than two clusters of changed or unchanged pairs */
};

/* Which cluster is i in, of 0 .. n_clusters - 1; which pairs count; resamples > 0. Same arguments, same bits. */
struct evaluate_sample {
	const size_t *cluster; /* [n] */
	size_t n, n_clusters;
	size_t resamples;
	uint64_t seed;
};

/* The share of flagged[i] among the pairs with counts[i]. */
struct evaluate_rate evaluate_rate_of(const struct evaluate_sample *sample, const bool *counts, const bool *flagged);

/* The probability that a changed pair scores above an unchanged one, ties half: Mann and Whitney's U. A NaN ranks lowest. */
struct evaluate_area evaluate_area_of(const struct evaluate_sample *sample, const bool *changed, const double *score);

/* Clopper and Pearson's limits (Biometrika 26(4), 1934) for k of n at 95 %; n > 0. */
double evaluate_exact_low(double k, double n);
double evaluate_exact_high(double k, double n);

#endif

/* Two samples by their ranks, and many such tests at once. */
#ifndef MODEL_ANOMALY_RANKTEST_H
#define MODEL_ANOMALY_RANKTEST_H

#include <stddef.h>

/* Two-sided p of the test of Mann and Whitney, Annals of Mathematical Statistics 18(1), 1947, that neither of x[n] and y[m] tends to be larger.
 * Exact without ties where both have less than RANKTEST_EXACT values, else the normal approximation with the correction for ties and that for
 * continuity. n and m at least 1; finite. */
#define RANKTEST_EXACT 20
double ranktest_p(const double *x, size_t n, const double *y, size_t m);

/* The smallest p that n and m values can have. */
double ranktest_least(size_t n, size_t m);

/* Benjamini and Hochberg, Journal of the Royal Statistical Society B 57(1), 1995: of these p[n], those not above the result are found, at a rate of false
 * ones among them of `rate`. 0: none. */
double ranktest_discoveries(const double *p, size_t n, double rate);

#endif

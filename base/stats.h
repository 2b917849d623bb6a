/* Statistics of small samples. The caller must pass finite numbers. Sources are named in stats.c, distributions.c and
 * docs/evidence/statistics.md. */
#ifndef BASE_STATS_H
#define BASE_STATS_H

#include <stddef.h>

double stats_mean(const double *x, size_t n);	/* returns the mean of x; requires n > 0 */
double stats_sd(const double *x, size_t n);	/* returns the standard deviation, with denominator n - 1; 0 if n < 2 */
double stats_median(const double *x, size_t n); /* returns the median, for even n the mean of the middle two; requires n > 0 */
double stats_mad(const double *x, size_t n);	/* returns the median absolute deviation from the median, not scaled; requires n > 0 */
double stats_quantile(const double *x, size_t n, double p); /* uses type 7 of Hyndman and Fan; requires n > 0, p in [0, 1] */

/* Returns Pearson's correlation of x[n] and y[n]; 0 if either is constant or n < 2. */
double stats_correlation(const double *x, const double *y, size_t n);
/* Writes the rank of each x[i] to ranks[i]. Ranks start at 1. Equal values get their mean rank. */
void stats_ranks(const double *x, size_t n, double *ranks);

double stats_normal_cdf(double z);
double stats_normal_quantile(double p);		      /* requires p in (0, 1) */
double stats_t_cdf(double t, double df);	      /* requires df > 0 */
double stats_t_quantile(double p, double df);	      /* requires p in (0, 1), df > 0 */
double stats_f_cdf(double f, double df1, double df2); /* requires f >= 0 */
double stats_chi2_cdf(double x, double df);	      /* requires x >= 0 */
double stats_chi2_quantile(double p, double df);
double stats_beta_inc(double x, double a, double b); /* returns the regularised incomplete beta function I_x(a, b) */

/* Compares two doubles for qsort(), in ascending order. */
int stats_compare(const void *a, const void *b);
/* Rounds to a multiple of 1e-9. Round values before comparing them with a threshold: machines whose last bits differ then decide alike. */
double stats_round(double x);

#endif

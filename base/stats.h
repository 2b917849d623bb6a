/* Statistics of small samples. The caller ensures finite inputs. Sources: stats.c and distributions.c, at each function, and
 * docs/evidence/statistics.md. */
#ifndef BASE_STATS_H
#define BASE_STATS_H

#include <stddef.h>

double stats_mean(const double *x, size_t n);		    /* n > 0 */
double stats_sd(const double *x, size_t n);		    /* denominator n - 1; 0 if n < 2 */
double stats_median(const double *x, size_t n);		    /* n > 0; for even n, the mean of the middle two; x is not changed */
double stats_mad(const double *x, size_t n);		    /* median absolute deviation from the median, not scaled */
double stats_quantile(const double *x, size_t n, double p); /* type 7 of Hyndman and Fan; n > 0, p in [0, 1] */

/* Returns Pearson's correlation of x[n] and y[n]; 0 if either is constant or n < 2. */
double stats_correlation(const double *x, const double *y, size_t n);
/* Writes the rank of each x[i] to ranks[i], from 1; ties get their mean rank. */
void stats_ranks(const double *x, size_t n, double *ranks);

double stats_normal_cdf(double z);
double stats_normal_quantile(double p);		      /* p in (0, 1) */
double stats_t_cdf(double t, double df);	      /* df > 0 */
double stats_t_quantile(double p, double df);	      /* p in (0, 1), df > 0 */
double stats_f_cdf(double f, double df1, double df2); /* f >= 0 */
double stats_chi2_cdf(double x, double df);	      /* x >= 0 */
double stats_chi2_quantile(double p, double df);
double stats_beta_inc(double x, double a, double b); /* regularised incomplete beta I_x(a, b) */

/* Compares doubles for qsort(), ascending. */
int stats_order(const void *a, const void *b);
/* Rounds to a multiple of 1e-9. Round values before comparing them with a threshold: machines whose last bits differ then decide alike. */
double stats_round(double x);

#endif

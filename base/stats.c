/* Computes summaries of samples. The distribution functions are in distributions.c. */
#include "base/order.h"
#include "base/stats.h"

#include "base/error.h"
#include "base/mem.h"

#include <math.h>

/* Averages in two passes. The second removes the rounding error of the first: the mean of n equal numbers is exactly that number. */
double stats_mean(const double *x, size_t n)
{
	double sum = 0, rest = 0, mean;

	ASSAY_BUG_IF(n == 0);
	for (size_t i = 0; i < n; i++)
		sum += x[i];
	mean = sum / (double)n;
	for (size_t i = 0; i < n; i++)
		rest += x[i] - mean;
	return mean + rest / (double)n;
}

/* Uses two passes (Chan, Golub and LeVeque, The American Statistician 37(3), 1983, equation 1.1). */
double stats_sd(const double *x, size_t n)
{
	double mean, sum = 0;

	if (n < 2)
		return 0;
	mean = stats_mean(x, n);
	for (size_t i = 0; i < n; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	return sqrt(sum / (double)(n - 1));
}

int stats_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Interpolates between the order statistics around (n - 1) p (Hyndman and Fan, The American Statistician 50(4), 1996, definition 7). */
static double sorted_quantile(const double *sorted, size_t n, double p)
{
	double at = (double)(n - 1) * p;
	size_t below = (size_t)at;
	double part = at - (double)below;

	if (below + 1 >= n)
		return sorted[n - 1];
	return part == 0 ? sorted[below] : sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

double stats_quantile(const double *x, size_t n, double p)
{
	double *sorted, quantile;

	ASSAY_BUG_IF(n == 0 || !(p >= 0 && p <= 1));
	sorted = mem_new(n, sizeof(*sorted));
	memcpy(sorted, x, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), stats_compare);
	quantile = sorted_quantile(sorted, n, p);
	free(sorted);
	return quantile;
}

double stats_median(const double *x, size_t n)
{
	return stats_quantile(x, n, .5);
}

double stats_mad(const double *x, size_t n)
{
	double median = stats_median(x, n);
	double *away = mem_new(n, sizeof(*away));
	double mad;

	for (size_t i = 0; i < n; i++)
		away[i] = fabs(x[i] - median);
	mad = stats_median(away, n);
	free(away);
	return mad;
}

/* Computes Pearson's product-moment correlation in two passes. */
double stats_correlation(const double *x, const double *y, size_t n)
{
	double mean_x, mean_y, xx = 0, yy = 0, xy = 0;

	if (n < 2)
		return 0;
	mean_x = stats_mean(x, n);
	mean_y = stats_mean(y, n);
	for (size_t i = 0; i < n; i++) {
		double dx = x[i] - mean_x, dy = y[i] - mean_y;

		xx += dx * dx;
		yy += dy * dy;
		xy += dx * dy;
	}
	if (xx == 0 || yy == 0) /* exactly 0 if all values are equal, because stats_mean() is then exact */
		return 0;
	return fmax(-1, fmin(1, xy / (sqrt(xx) * sqrt(yy))));
}

struct ranked {
	double value;
	size_t index;
};

ORDER_BY(by_value, struct ranked, BY_ASC(value))

void stats_ranks(const double *x, size_t n, double *ranks)
{
	struct ranked *order = mem_new(n, sizeof(*order));
	size_t end;

	for (size_t i = 0; i < n; i++)
		order[i] = (struct ranked){ x[i], i };
	qsort(order, n, sizeof(*order), by_value);
	for (size_t start = 0; start < n; start = end) {
		end = start + 1;
		while (end < n && by_value(&order[start], &order[end]) == 0)
			end++;
		for (size_t i = start; i < end; i++) /* equal values get the mean of the ranks start + 1 to end */
			ranks[order[i].index] = (double)(start + 1 + end) / 2;
	}
	free(order);
}

/* Leaves large x unchanged, because doubles above 2^53 / 1e9 are farther apart than 1e-9. Adding 0 turns -0 into 0. */
double stats_round(double x)
{
	if (!(fabs(x) < 9e6))
		return x;
	return round(x * 1e9) / 1e9 + 0.0;
}

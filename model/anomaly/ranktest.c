#include "model/anomaly/ranktest.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/stats.h"

#include <math.h>

/* Share of the orders of n and m values in which the statistic U is at least u. How often each U occurs are the coefficients of the Gaussian
 * binomial, the product of (1 - q^(m + i)) / (1 - q^i) over i = 1 to n: whole numbers, exact in doubles up to 2^53. */
static double exact_tail(size_t n, size_t m, double u)
{
	size_t most = n * m;
	double *ways = mem_new(most + 1, sizeof(*ways)), tail = 0.0, all = 0.0;

	ways[0] = 1.0;
	for (size_t i = 1; i <= n; i++) {
		for (size_t k = most + 1; k-- > m + i;)
			ways[k] -= ways[k - m - i];
		for (size_t k = i; k <= most; k++)
			ways[k] += ways[k - i];
	}
	for (size_t k = 0; k <= most; k++) {
		all += ways[k];
		tail += (double)k >= u ? ways[k] : 0.0;
	}
	free(ways);
	return tail / all;
}

/* ties: sum of t^3 - t over groups of t equal values. */
static double normal_tail(size_t n, size_t m, double u, double ties)
{
	double pairs = (double)n * (double)m, both = (double)(n + m);
	double variance = pairs / 12.0 * (both + 1.0 - ties / (both * (both - 1.0)));

	if (variance <= 0.0)
		return 1.0;
	return stats_normal_cdf(-(u - pairs / 2.0 - .5) / sqrt(variance));
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double ties_of(const double *all, size_t n)
{
	double *sorted = mem_new(n, sizeof(*sorted)), ties = 0.0;

	memcpy(sorted, all, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare);
	for (size_t i = 0, next; i < n; i = next) {
		double t;

		for (next = i + 1; next < n && sorted[next] <= sorted[i];)
			next++;
		t = (double)(next - i);
		ties += t * t * t - t;
	}
	free(sorted);
	return ties;
}

static double two_sided(double tail)
{
	return fmin(2.0 * tail, 1.0);
}

double ranktest_p(const double *x, size_t n, const double *y, size_t m)
{
	double *all = mem_new(2 * (n + m), sizeof(*all)), *ranks = all + n + m, u = -.5 * (double)n * (double)(n + 1), ties, tail;

	ASSAY_BUG_IF(n == 0 || m == 0);
	memcpy(all, x, n * sizeof(*all));
	memcpy(all + n, y, m * sizeof(*all));
	stats_ranks(all, n + m, ranks);
	for (size_t i = 0; i < n; i++)
		u += ranks[i];
	u = fmax(u, (double)n * (double)m - u);
	ties = ties_of(all, n + m);
	if (n < RANKTEST_EXACT && m < RANKTEST_EXACT && ties <= 0.0)
		tail = exact_tail(n, m, u);
	else
		tail = normal_tail(n, m, u, ties);
	free(all);
	return two_sided(tail);
}

double ranktest_least(size_t n, size_t m)
{
	double u = (double)n * (double)m;

	ASSAY_BUG_IF(n == 0 || m == 0);
	return two_sided(n < RANKTEST_EXACT && m < RANKTEST_EXACT ? exact_tail(n, m, u) : normal_tail(n, m, u, 0.0));
}

double ranktest_discoveries(const double *p, size_t n, double rate)
{
	double *sorted = mem_new(n, sizeof(*sorted)), limit = 0.0;

	memcpy(sorted, p, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare);
	for (size_t i = 0; i < n; i++)
		if (stats_round(sorted[i]) <= stats_round(rate * (double)(i + 1) / (double)n))
			limit = sorted[i];
	free(sorted);
	return limit;
}

#include "model/segments.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>

/* Returns the cost of a segment, -sum N log(N / all): N is the sum of a column, `all` the sum of all columns. */
static double segment_cost(const double *sums, size_t k)
{
	double all = 0, cost = 0;

	for (size_t c = 0; c < k; c++)
		all += sums[c];
	for (size_t c = 0; c < k; c++)
		cost -= sums[c] > 0 ? sums[c] * log(sums[c] / all) : 0;
	return cost;
}

static void sums_add(const struct mat *counts, size_t row, double *sums)
{
	for (size_t c = 0; c < counts->cols; c++)
		sums[c] += mat_get(counts, row, c);
}

double segments_cost(const struct mat *counts, size_t from, size_t to)
{
	double *sums = mem_new(counts->cols, sizeof(*sums)), cost;

	for (size_t i = from; i < to; i++)
		sums_add(counts, i, sums);
	cost = segment_cost(sums, counts->cols);
	free(sums);
	return cost;
}

/* Returns the dispersion of the counts, at least 1: the factor by which neighbouring rows differ more than counts with constant shares
 * would. It is the median likelihood ratio of neighbouring rows, which few change points do not affect, divided by its median under pure
 * chance. Skips pairs in which only one class occurs. If few pairs remain, returns 1, because these are the change points. */
static double dispersion(const struct mat *counts)
{
	double *ratios = mem_new(counts->rows, sizeof(*ratios)), middle;
	size_t n = 0;

	for (size_t i = 0; i + 1 < counts->rows; i++) {
		size_t met = 0;
		double ratio;

		for (size_t c = 0; c < counts->cols; c++)
			met += mat_get(counts, i, c) + mat_get(counts, i + 1, c) > 0;
		if (met < 2)
			continue;
		ratio = 2 * (segments_cost(counts, i, i + 2) - segments_cost(counts, i, i + 1) - segments_cost(counts, i + 1, i + 2));
		ratios[n++] = ratio / stats_chi2_quantile(.5, (double)(met - 1));
	}
	middle = 4 * n >= counts->rows && n ? stats_median(ratios, n) : 1;
	free(ratios);
	return fmax(middle, 1);
}

double segments_penalty(const struct mat *counts)
{
	size_t met = 0;
	double all = 0;

	for (size_t c = 0; c < counts->cols; c++) {
		double sum = 0;

		for (size_t i = 0; i < counts->rows; i++)
			sum += mat_get(counts, i, c);
		met += sum > 0;
		all += sum;
	}
	/* As in BIC: log(all) / 2 for each free share of a segment, plus log(rows) for the position of its end. */
	return dispersion(counts) * ((met ? (double)(met - 1) / 2 : 0) * log(fmax(all, 1)) + log((double)counts->rows));
}

size_t segments_find(const struct mat *counts, size_t *ends)
{
	size_t n = counts->rows, k = counts->cols, segments = 0;
	double *best = mem_new(n + 1, sizeof(*best)), *sums = mem_new(k, sizeof(*sums)), penalty = n ? segments_penalty(counts) : 0;
	size_t *from = mem_new(n + 1, sizeof(*from));

	for (size_t end = 1; end <= n; end++) { /* best[end] is the least cost of the first `end` rows */
		best[end] = (double)INFINITY;
		for (size_t c = 0; c < k; c++)
			sums[c] = 0;
		for (size_t begin = end; begin-- > 0;) {
			double with;

			sums_add(counts, begin, sums);
			with = stats_round(best[begin] + segment_cost(sums, k) + penalty);
			if (with <= best[end]) { /* takes the longest segment of several with equal costs */
				best[end] = with;
				from[end] = begin;
			}
		}
	}
	for (size_t at = n; at > 0; at = from[at])
		segments++;
	for (size_t at = n, i = segments; at > 0; at = from[at])
		ends[--i] = at;
	mem_free(from, sums, best);
	return segments;
}

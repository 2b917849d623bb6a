#include "model/variance/slow_spans.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#define FEW_VALUES 8   /* minimum number of values that are divided into levels */
#define RANGE_MIN  .05 /* minimum range of the values that are divided */

/* Divides sorted numbers into the two groups with the largest variance between them. Returns the lower group's size. *low, *high: means. */
static size_t divide_two_groups(const double *sorted, size_t n, double *low, double *high)
{
	double all = 0, sum = 0, most = -1;
	size_t lower = 0;

	for (size_t i = 0; i < n; i++)
		all += sorted[i];
	for (size_t k = 1; k < n; k++) {
		double a, b, between;

		sum += sorted[k - 1];
		a = sum / (double)k;
		b = (all - sum) / (double)(n - k);
		between = (double)k * (double)(n - k) * (b - a) * (b - a);
		if (between > most) {
			most = between;
			lower = k;
			*low = a;
			*high = b;
		}
	}
	return lower;
}

static double value_score(double x, const struct slow_span *span)
{
	return !isfinite(x) ? 0 : fmin(fmax((x - span->level) / span->half, -SLOW_SPANS_WEIGHT_MAX), SLOW_SPANS_WEIGHT_MAX);
}

/* Finds the span with the largest sum of scores for the level in *span. Sets its ends and its score. */
static void find_best_span(const double *x, size_t n, struct slow_span *span)
{
	double sum = 0;
	size_t from = 0;

	span->score = 0;
	span->from = span->to = 0;
	for (size_t i = 0; i < n; i++) {
		if (sum <= 0 || x[i] < -DBL_MAX) {
			sum = 0;
			from = i;
		}
		sum += value_score(x[i], span);
		if (sum > span->score) {
			span->score = sum;
			span->from = from;
			span->to = i + 1;
		}
	}
}

/* Returns the variance explained by the division of x into values inside and outside the span; 0 if either has no values. */
static double between(const double *x, size_t n, const struct slow_span *span)
{
	double sum[2] = { 0, 0 }, count[2] = { 0, 0 }, apart;

	for (size_t i = 0; i < n; i++)
		if (isfinite(x[i])) {
			bool in = i >= span->from && i < span->to;

			sum[in] += x[i];
			count[in]++;
		}
	if (!(count[0] > 0 && count[1] > 0))
		return 0;
	apart = sum[1] / count[1] - sum[0] / count[0];
	return count[0] * count[1] * apart * apart / ((count[0] + count[1]) * (count[0] + count[1]));
}

size_t slow_spans_find(const double *x, size_t n, struct slow_span out[SLOW_SPANS_LEVELS])
{
	double *sorted = mem_new(n + 1, sizeof(*sorted));
	size_t left = 0, found = 0;

	for (size_t i = 0; i < n; i++)
		if (isfinite(x[i]))
			sorted[left++] = x[i];
	qsort(sorted, left, sizeof(*sorted), stats_compare);
	while (found < SLOW_SPANS_LEVELS && left >= FEW_VALUES && sorted[left - 1] - sorted[0] >= RANGE_MIN) {
		struct slow_span span = { .from = 0 };
		double low = 0, high = 0;

		left = divide_two_groups(sorted, left, &low, &high);
		span.level = (low + high) / 2;
		span.half = (high - low) / 2;
		find_best_span(x, n, &span);
		span.between = between(x, n, &span);
		if (span.score > 0)
			out[found++] = span;
	}
	free(sorted);
	return found;
}

double slow_span_score_piece(const double *x, const bool *joined, size_t n, const struct slow_span *span, size_t from, size_t *to)
{
	double sum = value_score(x[from], span);

	for (*to = from + 1; *to < n && joined[*to] && isfinite(x[*to]); ++*to)
		sum += value_score(x[*to], span);
	return sum;
}

static double best_sum(const double *x, size_t n)
{
	double sum = 0, best = 0;

	for (size_t i = 0; i < n; i++) {
		sum = fmax(sum + x[i], 0);
		best = fmax(best, sum);
	}
	return best;
}

struct slow_span_test slow_span_compute_test(const double *x, const bool *joined, size_t n, const struct slow_span *span, double least,
					     double *scratch)
{
	struct slow_span_test out = { .n = 0 };
	double *piece = scratch, *best = mem_new(SLOW_SPANS_ORDERS, sizeof(*best)), sd;
	struct rng rng;

	for (size_t i = 0, to; i < n; i = to) {
		to = i + 1;
		if (isfinite(x[i]))
			piece[out.n++] = slow_span_score_piece(x, joined, n, span, i, &to);
	}
	rng_seed(&rng, 1);
	for (size_t order = 0; order < SLOW_SPANS_ORDERS; order++) {
		for (size_t i = out.n; i-- > 1;) {
			size_t other = rng_below(&rng, i + 1);
			double kept = piece[i];

			piece[i] = piece[other];
			piece[other] = kept;
		}
		best[order] = best_sum(piece, out.n);
		out.better += stats_round(best[order]) >= stats_round(least);
	}
	sd = stats_sd(best, SLOW_SPANS_ORDERS);
	out.beyond = sd > 0 ? (span->score - stats_mean(best, SLOW_SPANS_ORDERS)) / sd : 0;
	free(best);
	return out;
}

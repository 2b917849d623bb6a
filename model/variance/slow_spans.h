/* Finds spans of a series in which the values are high. A few levels divide the values into low and high ones. For each level,
 * slow_spans_find() finds the span with the largest sum of scores, which are positive above the level and negative below it.
 * slow_span_compute_test() compares that span with random orders of the values. The search needs neither the usual value nor the height of
 * the span. Sources: Otsu, IEEE Transactions on Systems, Man, and Cybernetics 9(1), 1979, for levels with the largest variance between two
 * groups; Bentley, CACM 27(9), 1984, for maximal sums. */
#ifndef MODEL_VARIANCE_SLOW_SPANS_H
#define MODEL_VARIANCE_SLOW_SPANS_H

#include <stdbool.h>
#include <stddef.h>

#define SLOW_SPANS_LEVELS     4
#define SLOW_SPANS_WEIGHT_MAX 2 /* maximum score of one value, in half distances between the two groups */
#define SLOW_SPANS_ORDERS     499

struct slow_span {
	size_t from, to;    /* index of the first value; index after the last value */
	double level, half; /* middle between the two groups' means; half the distance between these means */
	double score;
	double between; /* variance explained by the division into values inside and outside the span */
};

/* Finds spans in x [n]: finite values; NaN for unknown values; -INFINITY where no span may lie. Fills `out`, from the highest level down; a
 * span may occur twice. Returns the number of spans. O(n log n). */
size_t slow_spans_find(const double *x, size_t n, struct slow_span out[SLOW_SPANS_LEVELS]);

struct slow_span_test {
	double beyond; /* the span's score minus the mean of the random orders' best scores, in standard deviations of these scores */
	size_t better; /* number of random orders, of SLOW_SPANS_ORDERS, whose best score is at least `least` */
	size_t n;      /* number of pieces that were put in random order */
};

/* Compares a span with random orders of x. joined [n]: stays with the previous value. scratch [n]: buffer. O(n * SLOW_SPANS_ORDERS). */
struct slow_span_test slow_span_compute_test(const double *x, const bool *joined, size_t n, const struct slow_span *span, double least,
					     double *scratch);

/* Returns the score of the piece that starts at index `from`. Sets *to to the index after the piece. */
double slow_span_score_piece(const double *x, const bool *joined, size_t n, const struct slow_span *span, size_t from, size_t *to);

#endif

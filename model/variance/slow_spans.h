/* Where a row of numbers is high for a while: of each of a few levels that divide its values into low and high ones, the stretch that has
 * the most above it and the least below; and how much more that is than chance makes of the same values in other orders. What is usual
 * elsewhere need not be known, and neither need how high the stretch is.
 * Sources: the level between two groups with the largest variance between them, Otsu, IEEE Transactions on Systems, Man, and Cybernetics
 * 9(1), 1979, of all values and again of the low ones; maximal sums, Bentley, Communications of the ACM 27(9), 1984. */
#ifndef MODEL_VARIANCE_SLOW_SPANS_H
#define MODEL_VARIANCE_SLOW_SPANS_H

#include <stdbool.h>
#include <stddef.h>

#define SLOW_SPANS_LEVELS 4
#define SLOW_SPANS_MOST	  2 /* half distances between the groups: no value weighs more, above the level or below it */
#define SLOW_SPANS_ORDERS 499

struct slow_span {
	size_t from, to;    /* [from, to) */
	double level, half; /* between the groups; half their distance */
	double score;
	double between; /* variance of the values that it explains, in it and outside of it */
};

/* x  [n], finite, or NaN: nothing is known of that place, or -INFINITY: no stretch goes over it.
 * Fills out with the stretches, by levels from the highest; the same one may be there twice. Returns how many. O(n log n). */
size_t slow_spans(const double *x, size_t n, struct slow_span out[SLOW_SPANS_LEVELS]);

struct slow_chance {
	double beyond; /* standard deviations, by which the stretch's score is more than what orders by chance have at most */
	size_t better; /* of SLOW_SPANS_ORDERS such orders have a stretch with at least `least` */
	size_t n;      /* pieces */
};

/* joined  [n]: the place is one piece with the one before it, in whatever order.
 * scratch [n]. O(n * SLOW_SPANS_ORDERS). */
struct slow_chance slow_span_chance(const double *x, const bool *joined, size_t n, const struct slow_span *span, double least,
				    double *scratch);

/* Score of one piece, which starts at `from`; *to: where it ends. */
double slow_span_piece(const double *x, const bool *joined, size_t n, const struct slow_span *span, size_t from, size_t *to);

#endif

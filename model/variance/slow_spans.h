/* Finds spans in which a series of numbers is high. A few levels divide the series into low and high values. For each level, slow_spans()
 * finds the span with the most above and the least below the level, and slow_span_chance() compares that span with random orders of the
 * values. The search needs neither the usual value nor the height of the span. Sources: the level between two groups with the largest
 * variance between them, Otsu, IEEE Transactions on Systems, Man, and Cybernetics 9(1), 1979, for all values and again for the low ones;
 * maximal sums, Bentley, CACM 27(9), 1984. */
#ifndef MODEL_VARIANCE_SLOW_SPANS_H
#define MODEL_VARIANCE_SLOW_SPANS_H

#include <stdbool.h>
#include <stddef.h>

#define SLOW_SPANS_LEVELS 4
#define SLOW_SPANS_MOST	  2 /* maximum weight of a value above or below the level, in half distances between the two groups */
#define SLOW_SPANS_ORDERS 499

struct slow_span {
	size_t from, to;    /* indexes: `from` is included, `to` is excluded */
	double level, half; /* middle between the two groups; half the distance between the groups */
	double score;
	double between; /* variance of the values that the division into inside and outside explains */
};

/* Finds spans. x  [n], finite; NaN: unknown; -INFINITY: no span includes the element. Fills `out` with the spans, from the highest level
 * down; the same span may occur twice. Returns the number of spans. O(n log n). */
size_t slow_spans(const double *x, size_t n, struct slow_span out[SLOW_SPANS_LEVELS]);

struct slow_chance {
	double beyond; /* the span's score minus the mean of the best scores of random orders, in standard deviations of these scores */
	size_t better; /* number of random orders, of SLOW_SPANS_ORDERS, with a span whose score is at least `least` */
	size_t n;      /* number of pieces in the random orders */
};

/* Compares a span with random orders. joined [n]: the element stays with the previous element. scratch [n]. O(n * SLOW_SPANS_ORDERS). */
struct slow_chance slow_span_chance(const double *x, const bool *joined, size_t n, const struct slow_span *span, double least,
				    double *scratch);

/* Returns the score of the piece that starts at `from`; sets *to to the end of the piece. */
double slow_span_piece(const double *x, const bool *joined, size_t n, const struct slow_span *span, size_t from, size_t *to);

#endif

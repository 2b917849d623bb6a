/* Finds spans in which a series of numbers is high. A few levels divide its values into low and high ones. For each level, it finds the
 * span with the most above and the least below it, and compares that with random orders of the values. The search needs neither the usual
 * value nor the height of the span. Sources: the level between two groups with the largest variance between them, Otsu, IEEE Transactions
 * on Systems, Man, and Cybernetics 9(1), 1979, for all values and again for the low ones; maximal sums, Bentley, CACM 27(9), 1984. */
#ifndef MODEL_VARIANCE_SLOW_SPANS_H
#define MODEL_VARIANCE_SLOW_SPANS_H

#include <stdbool.h>
#include <stddef.h>

#define SLOW_SPANS_LEVELS 4
#define SLOW_SPANS_MOST	  2 /* largest weight of a value above or below the level, in half distances between the two groups */
#define SLOW_SPANS_ORDERS 499

struct slow_span {
	size_t from, to;    /* from `from` up to `to`, excluded */
	double level, half; /* middle between the two groups; half their distance */
	double score;
	double between; /* variance of the values that the division into inside and outside explains */
};

/* Finds spans.
 * x  [n], finite; NaN: unknown; -INFINITY: no span includes the element.
 * Fills `out` with the spans, from the highest level down; the same span may occur twice. Returns their number. O(n log n). */
size_t slow_spans(const double *x, size_t n, struct slow_span out[SLOW_SPANS_LEVELS]);

struct slow_chance {
	double beyond; /* the span's score minus the mean of the best scores of random orders, in their standard deviations */
	size_t better; /* number of the SLOW_SPANS_ORDERS random orders that have a span with a score of at least `least` */
	size_t n;      /* number of pieces that are reordered */
};

/* Compares a span with random orders. joined [n]: the element stays with the previous one. scratch [n]. O(n * SLOW_SPANS_ORDERS). */
struct slow_chance slow_span_chance(const double *x, const bool *joined, size_t n, const struct slow_span *span, double least,
				    double *scratch);

/* Returns the score of the piece that starts at `from`; *to gets its end. */
double slow_span_piece(const double *x, const bool *joined, size_t n, const struct slow_span *span, size_t from, size_t *to);

#endif

/* Charts as wide as there is room for: places are in per cent, sizes in pixels, the same on a telephone. All functions append. */
#ifndef GATE_PAGE_SVG_H
#define GATE_PAGE_SVG_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

#define SVG_TICKS_MAX 12

/* From values to per cent; a margin at both sides keeps marks and labels inside. */
struct svg_axis {
	double low, high; /* ends, low < high; above 0 unless it is linear */
	bool linear;	  /* else logarithmic */
	double ticks[SVG_TICKS_MAX];
	size_t n_ticks;
};

/* A logarithmic axis for ratios around `low` and `high` (both above 0 and finite, low <= high), with ticks at round numbers and at 1. */
struct svg_axis svg_ratio_axis(double low, double high);

/* A linear axis around `low` and `high` (finite, low <= high) with ticks at round numbers. */
struct svg_axis svg_linear_axis(double low, double high);

/* Where a ratio (or a value of a linear axis) stands, in per cent; beyond the ends, at the end. */
double svg_x(const struct svg_axis *axis, double ratio);

/* Vertical lines at the ticks, from top to bottom; the one at 1 (of a linear axis: at 0) is of the class "one". */
void svg_grid(const struct svg_axis *axis, struct buf *out);

/* Their labels ("0.5", "1", "2"), the baseline of the text at y. */
void svg_labels(const struct svg_axis *axis, unsigned y, struct buf *out);

/* The same as a strip of its own, for the head of a column. */
void svg_scale(const struct svg_axis *axis, struct buf *out);

/* A strip of a table: `height` in pixels, 0 for that of its cell. Readers of the screen skip it: the text beside it says the same. */
void svg_open(unsigned height, struct buf *out);
void svg_close(struct buf *out);

/* Places in per cent of the strip. `category` (or NULL) gives the colour. Whisker and middle line are half-way down 20 pixels. */
void svg_bar(const char *class, const char *category, double from, double to, unsigned y, unsigned height, struct buf *out);
void svg_whisker(double from, double to, struct buf *out);
void svg_middle(struct buf *out);

/* An icicle: parts above those that they consist of, as wide as their part of the whole, in the order of a tree. Zeroed but for its top. */
#define SVG_ICICLE_ROW 26u /* height of a row, pixels */
struct svg_icicle {
	unsigned top;
	double next[4]; /* where the next part of each depth starts */
};
/* `width` in per cent; what is too small to be seen is not drawn. `more` is shown behind the name when it is pointed at. */
void svg_icicle_add(struct svg_icicle *icicle, unsigned depth, double width, const char *class, const char *name, const char *more,
		    struct buf *out);

/* An interval with a mark at its middle, half-way down: a line from low to high (not when these are NaN) and a `mark` at ratio. */
enum svg_mark { SVG_DOT, SVG_DIAMOND };
void svg_interval(const struct svg_axis *axis, double ratio, double low, double high, enum svg_mark mark, struct buf *out);

#endif

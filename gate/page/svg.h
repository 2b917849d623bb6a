/* Draws charts as wide as the page: x positions are in per cent, sizes in pixels, also on a telephone. All functions append. */
#ifndef GATE_PAGE_SVG_H
#define GATE_PAGE_SVG_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

#define SVG_TICKS_MAX 12

/* Maps values to per cent; a margin at both sides keeps marks and labels inside. */
struct svg_axis {
	double low, high; /* ends, low < high; above 0 unless the axis is linear */
	bool linear;	  /* false: logarithmic */
	double ticks[SVG_TICKS_MAX];
	size_t n_ticks;
};

/* Returns a logarithmic axis for ratios from `low` to `high` (low <= high; 0 and infinity are at its ends), with round ticks and 1. */
struct svg_axis svg_ratio_axis(double low, double high);

/* Returns a linear axis for values from `low` to `high` (finite, low <= high), with ticks at round numbers. */
struct svg_axis svg_linear_axis(double low, double high);

/* Returns the position of a ratio (or of a value on a linear axis), per cent; values beyond an end are at that end. */
double svg_x(const struct svg_axis *axis, double ratio);

/* Draws vertical lines at the ticks, from top to bottom; the line at 1 (at 0 of a linear axis) has the class "one". */
void svg_grid(const struct svg_axis *axis, struct buf *out);

/* Draws the labels of the ticks ("0.5", "1", "2"), with the baseline of the text at y. */
void svg_labels(const struct svg_axis *axis, unsigned y, struct buf *out);

/* Draws the labels as a separate strip, for the head of a column. */
void svg_scale(const struct svg_axis *axis, struct buf *out);

/* Starts a strip in a table: `height` in pixels, 0: that of its cell. Screen readers skip it: the text beside it has the same data. */
void svg_open(unsigned height, struct buf *out);
void svg_close(struct buf *out);

/* Draws a bar, in per cent of the strip's width. `category` (or NULL) gives the colour. */
void svg_bar(const char *class, const char *category, double from, double to, unsigned y, unsigned height, struct buf *out);

/* An icicle: parts above the parts they consist of, as wide as their share, in the order of a tree. Set `top`, zero the rest. */
#define SVG_ICICLE_ROW 26u /* height of a row, pixels */
struct svg_icicle {
	unsigned top;
	double next[4]; /* start of the next part of each depth, per cent */
};
/* Draws a part, unless it is too narrow to be seen. `width` in per cent. The tooltip shows `more` after the name. */
void svg_icicle_add(struct svg_icicle *icicle, unsigned depth, double width, const char *class, const char *name, const char *more,
		    struct buf *out);

/* Draws an interval, half-way down: a line from low to high (none if these are NaN) and a `mark` at ratio. */
enum svg_mark { SVG_DOT, SVG_DIAMOND };
void svg_interval(const struct svg_axis *axis, double ratio, double low, double high, enum svg_mark mark, struct buf *out);

#endif

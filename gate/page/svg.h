/* Draws charts that are as wide as the page: x positions are in percent, heights in pixels. All functions append to *out. */
#ifndef GATE_PAGE_SVG_H
#define GATE_PAGE_SVG_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

#define SVG_TICKS_MAX 12

/* An axis, which maps values to percent of the width. It has margins at both sides for marks and labels. */
struct svg_axis {
	double low, high; /* ends; low < high; both above 0 on a logarithmic axis */
	bool linear;	  /* true for a linear axis, false for a logarithmic one */
	double ticks[SVG_TICKS_MAX];
	size_t n_ticks;
};

/* Returns a logarithmic axis for ratios from `low` to `high` (0 <= low <= high), with round ticks. It includes 1; its ends are finite. */
struct svg_axis svg_ratio_axis(double low, double high);

/* Returns a linear axis with round ticks for values from `low` to `high` (finite, low <= high). */
struct svg_axis svg_linear_axis(double low, double high);

/* Returns the position of a ratio, or of a value on a linear axis, in percent. Values beyond the axis are at its end. */
double svg_position(const struct svg_axis *axis, double ratio);

/* Draws vertical lines at the ticks. The line at 1 (at 0 on a linear axis) has the class "one". */
void svg_grid(const struct svg_axis *axis, struct buf *out);

/* Draws the labels of the ticks ("0.5", "1", "2"). `y` is the baseline of the text. */
void svg_labels(const struct svg_axis *axis, unsigned y, struct buf *out);

/* Draws the labels as a separate strip for the heading of a table column. */
void svg_scale(const struct svg_axis *axis, struct buf *out);

/* Opens a strip in a table cell. `height` is in pixels; 0 means the height of the cell. Screen readers skip it, because the table has the
 * same data as text. */
void svg_open(unsigned height, struct buf *out);
void svg_close(struct buf *out);

/* Draws a bar from `from` to `to`, in percent of the strip's width. `category` selects the colour; NULL for the default. */
void svg_bar(const char *class, const char *category, double from, double to, unsigned y, unsigned height, struct buf *out);

/* An icicle chart of a tree. Each part is as wide as its share; its children are below it. The caller sets `top` and zeroes the rest. */
#define SVG_ICICLE_ROW 26u /* height of a row, pixels */
struct svg_icicle {
	unsigned top;
	double next[4]; /* start of the next part at each depth, percent of the width */
};
/* Draws a part of `width` percent, unless it is too narrow to be visible. The tooltip has `name` and `more`. */
void svg_icicle_add(struct svg_icicle *icicle, unsigned depth, double width, const char *class, const char *name, const char *more,
		    struct buf *out);

/* Draws a `mark` at `ratio`, and a line from `low` to `high` unless one is NaN or infinite. Both are at half the height. */
enum svg_mark { SVG_DOT, SVG_DIAMOND };
void svg_interval(const struct svg_axis *axis, double ratio, double low, double high, enum svg_mark mark, struct buf *out);

#endif

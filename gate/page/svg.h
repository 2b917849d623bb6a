/* Draws charts as wide as the page: x positions are in percent, heights in pixels. All functions append. */
#ifndef GATE_PAGE_SVG_H
#define GATE_PAGE_SVG_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

#define SVG_TICKS_MAX 12

/* Maps values to percent of the width. Margins at both sides keep marks and labels inside. */
struct svg_axis {
	double low, high; /* ends, low < high; greater than 0 on a logarithmic axis */
	bool linear;	  /* false: logarithmic */
	double ticks[SVG_TICKS_MAX];
	size_t n_ticks;
};

/* Returns a logarithmic axis for ratios from `low` to `high` (low <= high; 0 and infinity go to its ends), with round ticks including 1. */
struct svg_axis svg_ratio_axis(double low, double high);

/* Returns a linear axis for values from `low` to `high` (finite, low <= high), with round ticks. */
struct svg_axis svg_linear_axis(double low, double high);

/* Returns the position of a ratio (or a value on a linear axis), percent. Values beyond an end are drawn at that end. */
double svg_x(const struct svg_axis *axis, double ratio);

/* Draws vertical lines at the ticks. The line at 1 (at 0 on a linear axis) has the class "one". */
void svg_grid(const struct svg_axis *axis, struct buf *out);

/* Draws the ticks' labels ("0.5", "1", "2"), with the text's baseline at y. */
void svg_labels(const struct svg_axis *axis, unsigned y, struct buf *out);

/* Draws the labels as a separate strip, for the head of a table column. */
void svg_scale(const struct svg_axis *axis, struct buf *out);

/* Opens a strip in a table cell: `height` in pixels; 0: the cell's. Screen readers skip it; text next to it has the same data. */
void svg_open(unsigned height, struct buf *out);
void svg_close(struct buf *out);

/* Draws a bar; `from` and `to` are in percent of the strip's width. `category` sets the colour; NULL: none. */
void svg_bar(const char *class, const char *category, double from, double to, unsigned y, unsigned height, struct buf *out);

/* Icicle chart of a tree: each part is as wide as its share, above the parts that it consists of. Set `top` and zero the other members. */
#define SVG_ICICLE_ROW 26u /* height of a row, pixels */
struct svg_icicle {
	unsigned top;
	double next[4]; /* start of the next part at each depth, percent of the width */
};
/* Draws a part of `width` percent, unless too narrow to be visible. The tooltip shows `more` after the name. */
void svg_icicle_add(struct svg_icicle *icicle, unsigned depth, double width, const char *class, const char *name, const char *more,
		    struct buf *out);

/* Draws an interval at half the height: a line from low to high (none if NaN) and a `mark` at ratio. */
enum svg_mark { SVG_DOT, SVG_DIAMOND };
void svg_interval(const struct svg_axis *axis, double ratio, double low, double high, enum svg_mark mark, struct buf *out);

#endif

#include "gate/page/svg.h"

#include "base/error.h"
#include "gate/page/html.h"

#include <math.h>

#define MARGIN	       4.0  /* margin at each side, percent of the width */
#define RATIO_MAX      1e30 /* larger ratios, and ratios below 1 / RATIO_MAX, are drawn at the end of the axis */
#define PART_WIDTH_MIN .2   /* minimum width of a part, percent; narrower parts are not drawn */
#define NAME_WIDTH_MIN 6
#define NARROWEST      1.06 /* minimum ratio of the ends of an axis, so that noise does not look large */

static void add_tick(struct svg_axis *axis, double value)
{
	double slack = 1e-9 * (axis->linear ? axis->high - axis->low : fabs(value));

	if (axis->n_ticks < SVG_TICKS_MAX && value > axis->low - slack && value < axis->high + slack)
		axis->ticks[axis->n_ticks++] = value;
}

/* Adds ticks at 1, 2 and 5 of each decade. If these are too many, adds fewer per decade, or skips decades. */
static void add_decade_ticks(struct svg_axis *axis)
{
	static const struct {
		double digits[3];
		int n, step;
	} rows[] = { { { 1, 2, 5 }, 3, 1 }, { { 1, 3 }, 2, 1 }, { { 1 }, 1, 1 }, { { 1 }, 1, 2 }, { { 1 }, 1, 10 } };
	int first = (int)floor(log10(axis->low)), last = (int)ceil(log10(axis->high));

	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		double count = rows[r].n * log10(axis->high / axis->low) / rows[r].step;

		if (count > 7 && r + 1 < sizeof(rows) / sizeof(rows[0]))
			continue;
		for (int e = first - rows[r].step; e <= last; e++) {
			for (int d = 0; e % rows[r].step == 0 && d < rows[r].n; d++)
				add_tick(axis, rows[r].digits[d] * pow(10, e));
		}
		return;
	}
}

/* Returns the value that means no change: 0 on a linear axis, 1 on a logarithmic one. */
static double axis_origin(const struct svg_axis *axis)
{
	return axis->linear ? 0 : 1;
}

/* Adds ticks at equal distances of 1, 2 or 5 times a power of ten. The origin is a tick if it is on the axis. */
static void add_linear_ticks(struct svg_axis *axis)
{
	double origin = axis_origin(axis);
	double rough = (axis->high - axis->low) / 6, power = pow(10, floor(log10(rough))), step = power;

	if (rough > 5 * power)
		step = 10 * power;
	else if (rough > 2 * power)
		step = 5 * power;
	else if (rough > power)
		step = 2 * power;
	for (double k = ceil((axis->low - origin) / step); k <= floor((axis->high - origin) / step); k++)
		add_tick(axis, origin + k * step);
}

struct svg_axis svg_ratio_axis(double low, double high)
{
	struct svg_axis axis = { .low = fmax(fmin(low, 1), 1 / RATIO_MAX), .high = fmin(fmax(high, 1), RATIO_MAX) };
	double room;

	ASSAY_BUG_IF(!(low >= 0) || !(low <= high)); /* 0 and infinity are drawn at the ends */
	room = fmax(pow(axis.high / axis.low, .04), 1.01);
	axis.low /= room;
	axis.high *= room;
	if (axis.high / axis.low < NARROWEST) {
		axis.low = fmin(axis.low, 1 / sqrt(NARROWEST));
		axis.high = fmax(axis.high, sqrt(NARROWEST));
	}
	if (axis.high / axis.low > 6)
		add_decade_ticks(&axis);
	else
		add_linear_ticks(&axis);
	return axis;
}

struct svg_axis svg_linear_axis(double low, double high)
{
	double room = .05 * (high - low);
	struct svg_axis axis = { .linear = true };

	ASSAY_BUG_IF(!(low <= high) || !isfinite(low) || !isfinite(high));
	if (!(room > 1e-9 * fmax(fabs(low), fabs(high))))
		room = fmax(.5, .5 * fabs(low));
	axis.low = low - room;
	axis.high = high + room;
	add_linear_ticks(&axis);
	return axis;
}

double svg_position(const struct svg_axis *axis, double ratio)
{
	double share = axis->linear ? (ratio - axis->low) / (axis->high - axis->low) : log(ratio / axis->low) / log(axis->high / axis->low);

	return MARGIN + (100 - 2 * MARGIN) * fmin(fmax(share, 0), 1);
}

void svg_grid(const struct svg_axis *axis, struct buf *out)
{
	for (size_t i = 0; i < axis->n_ticks; i++) {
		double x = svg_position(axis, axis->ticks[i]);
		bool one = fabs(axis->ticks[i] - axis_origin(axis)) < 1e-9;

		html_format(out, "<line class=\"%s\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"100%%\"/>", one ? "one" : "grid", x, x);
	}
}

void svg_labels(const struct svg_axis *axis, unsigned y, struct buf *out)
{
	for (size_t i = 0; i < axis->n_ticks; i++)
		html_format(out, "<text class=\"tick\" x=\"%.2f%%\" y=\"%u\">%s%.6g</text>", svg_position(axis, axis->ticks[i]), y,
			    axis->ticks[i] < 0 ? "\u2212" : "", fabs(axis->ticks[i]));
}

void svg_open(unsigned height, struct buf *out)
{
	html_format(out,
		    height ? "<svg width=\"100%%\" height=\"%u\" aria-hidden=\"true\">"
			   : "<svg width=\"100%%\" height=\"100%%\" aria-hidden=\"true\">",
		    height);
}

void svg_close(struct buf *out)
{
	buf_text(out, "</svg>");
}

void svg_scale(const struct svg_axis *axis, struct buf *out)
{
	svg_open(18, out);
	svg_labels(axis, 13, out);
	svg_close(out);
}

void svg_bar(const char *class, const char *category, double from, double to, unsigned y, unsigned height, struct buf *out)
{
	html_format(out, "<rect class=\"%s%s%s\" x=\"%.2f%%\" y=\"%u\" width=\"%.2f%%\" height=\"%u\" rx=\"2\"/>", class,
		    category ? " c-" : "", category ? category : "", from, y, to - from, height);
}

void svg_icicle_add(struct svg_icicle *icicle, unsigned depth, double width, const char *class, const char *name, const char *more,
		    struct buf *out)
{
	double x = icicle->next[depth];

	icicle->next[depth + 1] = x;
	icicle->next[depth] += width;
	if (width < PART_WIDTH_MIN)
		return;
	html_format(out, "<svg class=\"icicle\" x=\"%.2f%%\" y=\"%u\" width=\"%.2f%%\" height=\"%u\"><title>%s: %s</title>", x,
		    icicle->top + depth * SVG_ICICLE_ROW, width, SVG_ICICLE_ROW, name, more);
	html_format(out, "<rect class=\"%s\" width=\"100%%\" height=\"100%%\"/><text x=\"5\" y=\"17\">%s</text></svg>", class,
		    width < NAME_WIDTH_MIN ? "" : name);
}

void svg_interval(const struct svg_axis *axis, double ratio, double low, double high, enum svg_mark mark, struct buf *out)
{
	double x = svg_position(axis, ratio);

	if (isfinite(low) && isfinite(high))
		html_format(out, "<line class=\"whisker\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"50%%\" y2=\"50%%\"/>", svg_position(axis, low),
			    svg_position(axis, high));
	if (mark == SVG_DIAMOND)
		html_format(out, "<svg class=\"mark\" x=\"%.2f%%\" y=\"50%%\"><path d=\"M0-7L7 0L0 7L-7 0z\"/></svg>", x);
	else
		html_format(out, "<circle class=\"mark\" cx=\"%.2f%%\" cy=\"50%%\" r=\"4\"/>", x);
}

/* A history as a picture: what it cost, where that changed for good, where its time went, and how fast the machines were. */
#include "base/text.h"
#include "gate/nightly/history.h"
#include "gate/page/html.h"
#include "gate/page/svg.h"

#include <math.h>

#define COST_HEIGHT    240.
#define TIME_HEIGHT    56.
#define MACHINE_HEIGHT 110.
#define LEFT	       9. /* per cent for what stands beside the axis */
#define RIGHT	       2.
#define POINTS_LARGE   150 /* with more of them they are drawn smaller */
#define MACHINES_DRAWN 60

struct frame {
	const struct history *h;
	struct svg_axis axis; /* upwards */
	double height;	      /* pixels */
	struct buf *out;
};

/* In per cent; points stand at equal distances, in the order of time. */
static double x_of(const struct history *h, double point)
{
	return LEFT + (100 - LEFT - RIGHT) * (point + .5) / (double)h->n;
}

static double y_of(const struct frame *f, double value)
{
	return f->height * (1 - svg_x(&f->axis, value) / 100);
}

static void begin(struct frame *f, const char *class)
{
	html_format(f->out, "<svg class=\"%s\" width=\"100%%\" height=\"%.0f\" aria-hidden=\"true\">", class, f->height);
}

static void grid(const struct frame *f)
{
	for (size_t i = 0; i < f->axis.n_ticks; i++) {
		double y = y_of(f, f->axis.ticks[i]);

		html_format(f->out, "<line class=\"%s\" x1=\"%.2f%%\" x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\"/>",
			    fabs(f->axis.ticks[i] - 1) < 1e-9 ? "one" : "grid", LEFT, y, y);
		html_format(f->out, "<text class=\"tick up\" x=\"%.2f%%\" y=\"%.1f\">%.4g</text>", LEFT - 1, y + 4, f->axis.ticks[i]);
	}
}

/* ---- what it cost ---- */

static void change_lines(const struct frame *f)
{
	for (size_t k = 0; k < f->h->changes.n; k++) {
		double x = x_of(f->h, (double)f->h->changes.items[k].at - .5);

		html_format(f->out, "<line class=\"change\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"16\" y2=\"%.0f\"/>", x, x, f->height);
		html_format(f->out, "<circle class=\"number\" cx=\"%.2f%%\" cy=\"10\" r=\"9\"/>", x);
		html_format(f->out, "<text class=\"numbered\" x=\"%.2f%%\" y=\"14\">%zu</text>", x, k + 1);
	}
}

static void levels(const struct frame *f)
{
	for (size_t k = 0; k <= f->h->changes.n; k++) {
		const struct change_points_segment *s = &f->h->changes.segments[k];
		double y = y_of(f, history_relative(f->h, s->median));

		html_format(f->out, "<line class=\"level\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%.1f\" y2=\"%.1f\"/>",
			    x_of(f->h, (double)s->begin - .4), x_of(f->h, (double)s->end - .6), y, y);
	}
}

static void points(const struct frame *f)
{
	for (size_t i = 0; i < f->h->n; i++) {
		double ratio = history_relative(f->h, f->h->points[i].cost);

		html_format(f->out, "<circle class=\"%s\" cx=\"%.2f%%\" cy=\"%.1f\" r=\"%g\"><title>%s: %.3f</title></circle>",
			    history_is_spike(f->h, i) ? "ring" : "mark", x_of(f->h, (double)i), y_of(f, ratio),
			    f->h->n > POINTS_LARGE ? 2. : 3.5, f->h->points[i].version, ratio);
	}
}

static void costs(const struct history *h, struct document *d)
{
	struct buf svg = BUF_INIT;
	struct frame f = { h, history_axis(h), COST_HEIGHT, &svg };

	begin(&f, "over-time");
	grid(&f);
	change_lines(&f);
	levels(&f);
	points(&f);
	svg_close(&svg);
	doc_picture(d, NULL, &svg, "%s beside the first level, %s to %s: a dot a version and night, a line where the level stays%s%s",
		    h->by == HISTORY_PROCESSOR ? "Processor time" : "Cost", h->points[0].version, h->points[h->n - 1].version,
		    h->changes.n ? "; numbers stand where it changed for good" : "", h->changes.n_spikes ? "; rings are spikes" : "");
	doc_style(d, "plot-of costs");
}

/* ---- where its time went ---- */

static const struct {
	const char *category, *text;
} kinds[] = { { "cpu-cache", "computing" }, { "vm", "in the kernel" }, { "unknown", "waiting" } };

static void times(const struct history *h, struct document *d)
{
	struct buf svg = BUF_INIT;
	struct frame f = { .h = h, .height = TIME_HEIGHT, .out = &svg };
	size_t known = 0;

	begin(&f, "over-time");
	for (size_t i = 0; i < h->n; i++) {
		double y = TIME_HEIGHT, left = x_of(h, (double)i - .5), width = x_of(h, (double)i + .5) - left;

		if (isnan(h->points[i].level[0]))
			continue;
		known++;
		for (int k = 0; k < 3; k++) {
			double part = TIME_HEIGHT * h->points[i].level[k];

			y -= part;
			html_format(&svg, "<rect class=\"bar c-%s\" x=\"%.2f%%\" width=\"%.2f%%\" y=\"%.1f\" height=\"%.1f\"/>",
				    kinds[k].category, left, width, y, part);
		}
	}
	svg_close(&svg);
	if (known) {
		doc_subheading(d, "Where its time went");
		doc_picture(d, NULL, &svg,
			    DOC_MARK("cat c-cpu-cache") "%s" DOC_END " " DOC_MARK("cat c-vm") "%s" DOC_END
											      " " DOC_MARK("cat c-unknown") "%s" DOC_END,
			    kinds[0].text, kinds[1].text, kinds[2].text);
		doc_style(d, "plot-of times");
	}
	buf_release(&svg);
}

/* ---- the machines ---- */

/* The machine's first rate; NaN: no fingerprint belongs to its results. */
static double first_rate(const struct history *h, size_t machine)
{
	for (size_t i = 0; i < h->n; i++)
		if (!isnan(h->points[i].rate[machine]))
			return h->points[i].rate[machine];
	return (double)NAN;
}

/* The last rate beside the first, log. */
static double moved(const struct history *h, size_t machine)
{
	double first = first_rate(h, machine), last = first;

	for (size_t i = 0; i < h->n; i++)
		last = isnan(h->points[i].rate[machine]) ? last : h->points[i].rate[machine];
	return last - first;
}

static struct svg_axis rates_axis(const struct history *h)
{
	double low = -.02, high = .02;

	for (size_t m = 0; m < h->n_machines; m++) {
		double first = first_rate(h, m);

		for (size_t i = 0; i < h->n; i++) {
			low = fmin(low, h->points[i].rate[m] - first);
			high = fmax(high, h->points[i].rate[m] - first);
		}
	}
	return svg_ratio_axis(exp(fmax(low, -3)), exp(fmin(high, 3)));
}

static void machine_line(const struct frame *f, size_t m)
{
	double first = first_rate(f->h, m), x = (double)NAN, y = (double)NAN;

	for (size_t i = 0; i < f->h->n; i++) {
		double rate = f->h->points[i].rate[m], to_x = x_of(f->h, (double)i), to_y;

		if (isnan(rate))
			continue;
		to_y = y_of(f, exp(rate - first));
		if (!isnan(x))
			html_format(f->out, "<line class=\"of-machine\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%.1f\" y2=\"%.1f\"/>", x, to_x, y,
				    to_y);
		x = to_x;
		y = to_y;
	}
	if (!isnan(x))
		html_format(f->out, "<circle class=\"of-machine\" cx=\"%.2f%%\" cy=\"%.1f\" r=\"3\"><title>%s: %.3f</title></circle>", x, y,
			    f->h->machines[m], exp(moved(f->h, m)));
}

static void machines(const struct history *h, struct document *d)
{
	struct buf svg = BUF_INIT;
	struct frame f = { h, rates_axis(h), MACHINE_HEIGHT, &svg };
	size_t known = 0, most = 0, drawn = 0;

	begin(&f, "over-time");
	grid(&f);
	for (size_t m = 0; m < h->n_machines; m++) {
		if (isnan(first_rate(h, m)))
			continue;
		if (!known++ || fabs(moved(h, m)) > fabs(moved(h, most)))
			most = m;
	}
	for (size_t m = 0; m < h->n_machines; m++) {
		if (isnan(first_rate(h, m)) || (drawn >= MACHINES_DRAWN && m != most))
			continue;
		machine_line(&f, m);
		drawn++;
	}
	svg_close(&svg);
	if (known) {
		doc_subheading(d, "How fast its machines were");
		doc_picture(
		    d, NULL, &svg,
		    "The mean rate of each machine\u2019s fingerprints beside its first, a line a machine (%zu of %zu). Most moved: %s, "
		    "\u00d7 %s",
		    drawn, h->n_machines, h->machines[most], text_fixed(exp(moved(h, most)), 3).text);
		doc_style(d, "plot-of machines");
	}
	buf_release(&svg);
}

void history_plot(const struct history *h, struct document *d)
{
	if (!h->n)
		return;
	costs(h, d);
	times(h, d);
	machines(h, d);
}

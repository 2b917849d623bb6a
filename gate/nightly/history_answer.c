/* A history as an answer: what changed first, then every point. */
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "gate/nightly/history.h"
#include "gate/page/html.h"
#include "gate/page/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MODES_LEVEL  .05 /* so improbable must it be that versions which keep to one of two levels do so by chance */
#define MODES_NAMED  8	 /* versions, at most */
#define COST_HEIGHT  240.
#define LEFT	     9. /* per cent for what stands beside the axis */
#define RIGHT	     2.
#define POINTS_LARGE 150 /* with more of them they are drawn smaller */

/* Returns a log cost relative to the first level. */
static double relative_cost(const struct history *h, double cost)
{
	return exp(cost - h->changes.segments[0].median);
}

static size_t segment_of(const struct history *h, size_t point)
{
	size_t k = 0;

	while (k < h->changes.n && point >= h->changes.items[k].at)
		k++;
	return k;
}

static bool is_spike(const struct history *h, size_t point)
{
	for (size_t i = 0; i < h->changes.n_spikes; i++)
		if (h->changes.spikes[i] == point)
			return true;
	return false;
}

/* The difference of a machine's medians behind and before a change, of what is at `offset` of the points; NaN: one is missing. */
static double difference(const struct history *h, size_t change, size_t machine, size_t offset)
{
	const struct change_points_segment *s = &h->changes.segments[change];
	double sums[2] = { 0 };
	size_t n[2] = { 0 };

	for (size_t i = s[0].begin; i < s[1].end; i++) {
		const double *of = *(double *const *)(const void *)((const char *)&h->points[i] + offset);
		size_t behind = i >= s[1].begin;

		if (!isnan(of[machine]) && !is_spike(h, i)) {
			sums[behind] += of[machine];
			n[behind]++;
		}
	}
	return n[0] && n[1] ? sums[1] / (double)n[1] - sums[0] / (double)n[0] : (double)NAN;
}

/* Of the machines that ran before and behind: how many moved the same way by half of it; and how their fingerprints moved in the mean. */
struct seen {
	size_t machines, moved;
	double rate; /* NaN: not known */
};

static struct seen seen_on(const struct history *h, size_t change)
{
	double size = h->changes.items[change].after - h->changes.items[change].before, rates = 0;
	struct seen seen = { .rate = (double)NAN };
	size_t known = 0;

	for (size_t m = 0; m < h->n_machines; m++) {
		double cost = difference(h, change, m, offsetof(struct history_point, on)),
		       rate = difference(h, change, m, offsetof(struct history_point, rate));

		if (!isnan(cost))
			seen.machines++;
		if (cost / size > .5)
			seen.moved++;
		if (!isnan(rate)) {
			rates += rate;
			known++;
		}
	}
	if (known)
		seen.rate = exp(rates / (double)known);
	return seen;
}

static void answer_change(const struct history *h, size_t i, struct document *d)
{
	const struct change_point *c = &h->changes.items[i];
	const struct history_point *first = &h->points[c->at], *last = &h->points[c->at - 1];
	struct seen seen = seen_on(h, i);
	double ratio = exp(c->after - c->before);

	doc_row(d);
	doc_show(d, NULL, "change", i + 1);
	doc_show(d, "version", "first version behind it", first->version);
	doc_show(d, "after_version", "last before it", last->version);
	doc_set(d, "taken_ms", first->taken_ms);
	doc_showf(d, NULL, "measured on", "", "%.10s", TEXT_MS(first->taken_ms));
	doc_showf(d, "ratio", "cost", ratio, "× %s", text_fixed(ratio, 3).text);
	doc_set(d, "p", c->p);
	doc_set(d, "machines", seen.machines);
	doc_set(d, "machines_moved", seen.moved);
	doc_showf(d, NULL, "on machines", seen.moved, "%zu of %zu", seen.moved, seen.machines);
	doc_showf(d, "fingerprints", "their fingerprints", seen.rate, "× %s", text_fixed(seen.rate, 3).text);
}

static void answer_changes(const struct history *h, struct document *d)
{
	if (h->changes.n)
		doc_line(d, "%s", "");
	doc_table(d, "changes");
	if (!h->changes.n)
		doc_hide(d);
	for (size_t i = 0; i < h->changes.n; i++)
		answer_change(h, i, d);
	doc_end(d);
}

/* ---- two levels ---- */

enum modes_by { MODES_BY_VERSIONS, MODES_BY_OTHER, MODES_BY_UNKNOWN };

/* Of a segment with two levels: which versions it has, where they are, and whether they decide which. */
struct modes {
	const struct change_points_segment *segment; /* NULL: no segment has any */
	enum modes_by by;
	const struct history_point **of;   /* [n]: the segment's, by version */
	const struct history_point **high; /* [n_high]: one a version, by time; of those with a point at the higher level */
	size_t n, n_high, n_versions;
};

static bool is_high(const struct modes *m, const struct history_point *p)
{
	return p->cost > (m->segment->modes[0] + m->segment->modes[1]) / 2;
}

ORDER_POINTERS_BY(compare_versions, struct history_point, BY_TEXT(version) BY_PLACE)

static int compare_times(const void *a, const void *b)
{
	const struct history_point *x = *(const struct history_point *const *)a, *y = *(const struct history_point *const *)b;

	return (x > y) - (x < y); /* points are in the order of time */
}

/* log(exp(a) + exp(b)) */
static double add_logs(double a, double b)
{
	double most = fmax(a, b);

	return isinf(most) ? most : most + log1p(exp(fmin(a, b) - most));
}

/* If chance had put as many of these points on the higher level: how probable would it be that no version is on both? The number of
 * choices of whole versions with so many points, among all choices of so many points. */
static double chance_of(const size_t *sizes, size_t n_versions, size_t n, size_t high)
{
	double *ways = mem_new(high + 1, sizeof(*ways)), p; /* [s] log, of choices with s points */

	for (size_t s = 0; s <= high; s++)
		ways[s] = s ? -(double)INFINITY : 0;
	for (size_t i = 0; i < n_versions; i++) {
		for (size_t s = high; s >= sizes[i] && s > 0; s--)
			ways[s] = add_logs(ways[s], ways[s - sizes[i]]);
	}
	p = exp(ways[high] - lgamma((double)n + 1) + lgamma((double)high + 1) + lgamma((double)(n - high) + 1));
	free(ways);
	return p;
}

static void modes_decide(struct modes *m)
{
	size_t *sizes = mem_new(m->n, sizeof(*sizes)), points_high = 0;
	bool both = false;

	for (size_t i = 0, end; i < m->n; i = end) {
		size_t high = 0;

		for (end = i; end < m->n && strcmp(m->of[end]->version, m->of[i]->version) == 0; end++)
			high += is_high(m, m->of[end]);
		both = both || (high && high < end - i);
		points_high += high;
		if (high)
			m->high[m->n_high++] = m->of[i];
		sizes[m->n_versions++] = end - i;
	}
	order_sort(m->high, m->n_high, compare_times);
	m->by = both								    ? MODES_BY_OTHER
		: chance_of(sizes, m->n_versions, m->n, points_high) <= MODES_LEVEL ? MODES_BY_VERSIONS
										    : MODES_BY_UNKNOWN;
	free(sizes);
}

static struct modes modes_of(const struct history *h, size_t segment)
{
	const struct change_points_segment *s = &h->changes.segments[segment];
	struct modes m = { .segment = isnan(s->modes[0]) ? NULL : s, .n = s->end - s->begin };

	if (!m.segment)
		return m;
	m.of = mem_new(m.n, sizeof(*m.of));
	m.high = mem_new(m.n, sizeof(*m.high));
	for (size_t i = 0; i < m.n; i++)
		m.of[i] = &h->points[s->begin + i];
	qsort(m.of, m.n, sizeof(*m.of), compare_versions);
	modes_decide(&m);
	return m;
}

static void modes_release(struct modes *m)
{
	mem_free(m->of, m->high);
}

static void answer_modes_line(const struct history *h, const struct modes *m, struct document *d)
{
	const char *from = h->points[m->segment->begin].version, *to = h->points[m->segment->end - 1].version;
	struct text_number low = text_fixed(relative_cost(h, m->segment->modes[0]), 3),
			   high = text_fixed(relative_cost(h, m->segment->modes[1]), 3);
	struct buf names = BUF_INIT;

	for (size_t i = 0; i < m->n_high && i < MODES_NAMED; i++)
		buf_format(&names, "%s%s", i ? ", " : "", m->high[i]->version);
	if (m->n_high > MODES_NAMED)
		buf_format(&names, " and %zu more", m->n_high - MODES_NAMED);
	if (m->by == MODES_BY_VERSIONS)
		doc_line(d,
			 "From %s to %s, in the order of measurement, the version decides between two levels, %s and %s: the higher one is "
			 "that of %s.",
			 from, to, low.text, high.text, names.bytes);
	else
		doc_line(d, "From %s to %s it goes back and forth between two levels, %s and %s: %s.", from, to, low.text, high.text,
			 m->by == MODES_BY_OTHER ? "something outside of the versions decides which"
						 : "the versions may decide which, or something outside of them; the same versions "
						   "measured again tell");
	buf_release(&names);
}

/* Levels between which a stretch goes back and forth, and what decides which. */
static void answer_modes(const struct history *h, struct document *d)
{
	static const char *const words[] = { [MODES_BY_VERSIONS] = "versions", [MODES_BY_OTHER] = "other", [MODES_BY_UNKNOWN] = "unknown" };

	doc_list(d, "modes");
	for (size_t k = 0; k <= h->changes.n; k++) {
		struct modes m = modes_of(h, k);

		if (!m.segment)
			continue;
		doc_object(d, NULL);
		doc_set(d, "from", h->points[m.segment->begin].version);
		doc_set(d, "to", h->points[m.segment->end - 1].version);
		doc_set(d, "low", relative_cost(h, m.segment->modes[0]));
		doc_set(d, "high", relative_cost(h, m.segment->modes[1]));
		doc_set(d, "decided_by", words[m.by]);
		doc_list(d, "high_versions");
		for (size_t i = 0; i < m.n_high; i++)
			doc_set(d, NULL, m.high[i]->version);
		doc_end(d);
		doc_end(d);
		answer_modes_line(h, &m, d);
		modes_release(&m);
	}
	doc_end(d);
}

/* Returns an axis for all costs, relative to the first level. */
static struct svg_axis cost_axis(const struct history *h)
{
	double low = 1, high = 1;

	for (size_t i = 0; i < h->n; i++) {
		low = fmin(low, relative_cost(h, h->points[i].cost));
		high = fmax(high, relative_cost(h, h->points[i].cost));
	}
	return svg_ratio_axis(low, high);
}

static void answer_point(const struct history *h, size_t i, const struct svg_axis *axis, struct document *d)
{
	const struct history_point *p = &h->points[i];
	double ratio = relative_cost(h, p->cost);
	struct buf svg = BUF_INIT;
	size_t segment = segment_of(h, i);

	doc_row(d);
	doc_set(d, "taken_ms", p->taken_ms);
	doc_showf(d, NULL, "measured on", p->taken_ms, "%.10s", TEXT_MS(p->taken_ms));
	doc_show(d, "version", "version", p->version);
	doc_set_empty(d, "plan", p->plan);
	doc_showf(d, "cost", h->by == HISTORY_PROCESSOR ? "processor" : "cost", ratio, "%s", text_fixed(ratio, 3).text);
	svg_open(20, &svg);
	svg_grid(axis, &svg);
	svg_interval(axis, ratio, (double)NAN, (double)NAN, is_spike(h, i) ? SVG_RING : SVG_DOT, &svg);
	svg_close(&svg);
	doc_picture(d, "cost, first level = 1", &svg, NULL);
	doc_set(d, "segment", segment);
	doc_set_bool(d, "spike", is_spike(h, i));
	doc_show(d, NULL, "", is_spike(h, i) ? "a spike" : segment > 0 && h->changes.items[segment - 1].at == i ? "changed" : "");
	doc_show(d, "machines", "machines", p->machines);
	doc_show(d, "runs", "results", p->runs);
}

static void answer_points(const struct history *h, struct document *d)
{
	struct svg_axis axis = cost_axis(h);

	doc_heading(d, "Every point, relative to the first level");
	doc_table(d, "points");
	for (size_t i = 0; i < h->n; i++)
		answer_point(h, i, &axis, d);
	doc_end(d);
}

/* ---- the picture ---- */

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
		double y = y_of(f, relative_cost(f->h, s->median));

		html_format(f->out, "<line class=\"level\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%.1f\" y2=\"%.1f\"/>",
			    x_of(f->h, (double)s->begin - .4), x_of(f->h, (double)s->end - .6), y, y);
	}
}

static void points(const struct frame *f)
{
	for (size_t i = 0; i < f->h->n; i++) {
		double ratio = relative_cost(f->h, f->h->points[i].cost);

		html_format(f->out, "<circle class=\"%s\" cx=\"%.2f%%\" cy=\"%.1f\" r=\"%g\"><title>%s: %.3f</title></circle>",
			    is_spike(f->h, i) ? "ring" : "mark", x_of(f->h, (double)i), y_of(f, ratio), f->h->n > POINTS_LARGE ? 2. : 3.5,
			    f->h->points[i].version, ratio);
	}
}

static void answer_picture(const struct history *h, struct document *d)
{
	struct buf svg = BUF_INIT;
	struct frame f = { h, cost_axis(h), COST_HEIGHT, &svg };

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

/* ---- all ---- */

static void answer_architectures(const struct history *h, struct document *d)
{
	doc_set_empty(d, "architecture", h->architecture);
	if (h->n_others)
		doc_line(d, "Results of different architectures are never put together: these are of %s.", h->architecture);
	doc_list(d, "other_architectures");
	for (size_t i = 0; i < h->n_others; i++) {
		const struct history_architecture *a = &h->others[i];

		doc_object(d, NULL);
		doc_set(d, "architecture", a->name);
		doc_set(d, "results", a->results);
		doc_end(d);
		doc_line(d, "%zu of %s are a history of their own: --architecture %s", a->results, a->name, a->name);
	}
	doc_end(d);
}

static void answer_by(const struct history *h, struct document *d)
{
	doc_set(d, "by", h->by == HISTORY_PROCESSOR ? "processor" : "metric");
	if (h->without)
		doc_line(d, "%zu other point%s no processor time that is known.", h->without, h->without == 1 ? " has" : "s have");
}

void history_answer(const struct history *h, double min_effect, struct document *d)
{
	double now = relative_cost(h, h->changes.segments[h->changes.n].median);
	const char *what = h->by == HISTORY_PROCESSOR ? " processor time" : "";
	struct modes modes = h->changes.n ? (struct modes){ .n = 0 } : modes_of(h, 0);
	bool by_version =
	    modes.segment && modes.by == MODES_BY_VERSIONS && modes.segment->modes[1] - modes.segment->modes[0] >= log1p(min_effect);

	if (h->n < (size_t)2 * CHANGE_POINTS_SEGMENT_MIN)
		doc_answer(d, DOC_DOUBTFUL, "too short", "%zu point%s of %s: a change is told from noise from %d on", h->n,
			   text_plural(h->n), h->application, 2 * CHANGE_POINTS_SEGMENT_MIN);
	else if (by_version)
		doc_answer(d, DOC_DOUBTFUL, "by version", "%s costs %s times as much in %zu of %zu versions as in the others",
			   h->application, text_fixed(exp(modes.segment->modes[1] - modes.segment->modes[0]), 3).text, modes.n_high,
			   modes.n_versions);
	else if (h->changes.n)
		doc_answer(d, now >= 1 + min_effect ? DOC_BAD : DOC_GOOD, "changed",
			   "%s costs %s times as much%s as at first, after %zu change%s in %zu points", h->application,
			   text_fixed(now, 3).text, what, h->changes.n, text_plural(h->changes.n), h->n);
	else
		doc_answer(d, DOC_GOOD, "steady", "%s costs what it did: no change of %.1f %% or more of its %s in %zu points",
			   h->application, 100 * min_effect, *what ? what + 1 : "cost", h->n);
	doc_set(d, "application", h->application);
	doc_set(d, "outcome",
		h->n < (size_t)2 * CHANGE_POINTS_SEGMENT_MIN ? "too_short"
		: by_version				     ? "by_version"
		: h->changes.n				     ? "changed"
							     : "steady");
	doc_set(d, "min_effect", min_effect);
	doc_set(d, "machines", h->n_machines);
	answer_architectures(h, d);
	answer_by(h, d);
	if (h->n)
		answer_picture(h, d);
	answer_changes(h, d);
	answer_modes(h, d);
	answer_points(h, d);
	modes_release(&modes);
}

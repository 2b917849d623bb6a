/* A history as an answer: what changed first, then every point. */
#include "base/mem.h"
#include "base/text.h"
#include "gate/nightly/history.h"
#include "gate/page/html.h"
#include "gate/page/svg.h"

#include <inttypes.h>
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

static bool is_spike(const struct history *h, size_t point)
{
	for (size_t i = 0; i < h->changes.n_spikes; i++)
		if (h->changes.spikes[i] == point)
			return true;
	return false;
}

/* Returns the difference of a machine's means after and before a change, of the member at `offset` of the points; NaN: one is missing. */
static double difference(const struct history *h, const struct history_change *t, size_t machine, size_t offset)
{
	double sums[2] = { 0 };
	size_t n[2] = { 0 };

	for (size_t i = t->begin; i < t->end; i++) {
		const double *of = *(double *const *)(const void *)((const char *)&h->points[i] + offset);

		if (!isnan(of[machine]) && !is_spike(h, i)) {
			sums[i >= t->at] += of[machine];
			n[i >= t->at]++;
		}
	}
	return n[0] && n[1] ? sums[1] / (double)n[1] - sums[0] / (double)n[0] : (double)NAN;
}

/* Of the machines that ran before and after: how many moved the same way by half of it; and how their fingerprints moved in the mean. */
struct seen {
	size_t machines, moved;
	double rate; /* NaN: not known */
};

static struct seen seen_on(const struct history *h, const struct history_change *t)
{
	double size = t->after - t->before, rates = 0;
	struct seen seen = { .rate = (double)NAN };
	size_t known = 0;

	for (size_t m = 0; m < h->n_machines; m++) {
		double cost = difference(h, t, m, offsetof(struct history_point, on)),
		       rate = difference(h, t, m, offsetof(struct history_point, rate));

		seen.machines += isnan(cost) ? 0 : 1;
		seen.moved += t->machine == SIZE_MAX ? cost / size > .5 : m == t->machine;
		if (!isnan(rate) && (t->machine == SIZE_MAX || m == t->machine)) {
			rates += rate;
			known++;
		}
	}
	if (known)
		seen.rate = exp(rates / (double)known);
	return seen;
}

double history_fingerprints(const struct history *h, const struct history_change *change)
{
	return seen_on(h, change).rate;
}

/* Returns the decision in words, "" if there is none. free() it. */
static char *decision_words(const struct history_point *p)
{
	const struct night_decision *decision = p->decision;

	return !decision ? mem_string("")
	       : isnan(decision->judged.ratio)
		   ? mem_string(decision_text(decision->judged.decision))
		   : mem_format("%s \u00d7 %s", decision_text(decision->judged.decision), text_fixed(decision->judged.ratio, 3).text);
}

static void answer_change(const struct history *h, size_t i, struct document *d)
{
	const struct history_change *t = &h->told[i];
	const struct history_point *first = &h->points[t->at], *last = &h->points[t->at - 1];
	bool within = strcmp(first->version, last->version) == 0;
	struct seen seen = seen_on(h, t);
	double ratio = exp(t->after - t->before);
	char *decision = within ? mem_string("") : decision_words(first);

	doc_row(d);
	doc_show(d, NULL, "change", i + 1);
	doc_show(d, "version", "first version after it", first->version);
	doc_show(d, "after_version", "last before it", last->version);
	doc_set(d, "taken_ms", first->taken_ms);
	doc_showf(d, NULL, "measured on", "", "%.10s", TEXT_MS(first->taken_ms));
	doc_showf(d, "ratio", "cost", ratio, "× %s", text_fixed(ratio, 3).text);
	doc_set(d, "machines", seen.machines);
	doc_set(d, "machines_moved", seen.moved);
	doc_set(d, "machine", t->machine < SIZE_MAX ? h->machines[t->machine] : NULL);
	if (t->machine < SIZE_MAX)
		doc_showf(d, NULL, "on machines", "", "%s alone", h->machines[t->machine]);
	else
		doc_showf(d, NULL, "on machines", seen.moved, "%zu of %zu", seen.moved, seen.machines);
	doc_showf(d, "fingerprints", "their fingerprints", seen.rate, "× %s", text_fixed(seen.rate, 3).text);
	doc_set_empty(d, "decision", !within && first->decision ? decision_text(first->decision->judged.decision) : "");
	doc_show(d, NULL, "note", within ? "within one version: not its doing" : decision);
	free(decision);
}

static void answer_changes(const struct history *h, struct document *d)
{
	if (h->n_told)
		doc_line(d, "%s", "");
	doc_table(d, "changes");
	if (!h->n_told)
		doc_hide(d);
	for (size_t i = 0; i < h->n_told; i++)
		answer_change(h, i, d);
	doc_end(d);
}

/* ---- two levels ---- */

enum modes_by { MODES_BY_VERSIONS, MODES_BY_OTHER, MODES_BY_UNKNOWN };

/* A segment with two levels, and whether its versions decide which. */
struct modes {
	const struct change_points_segment *segment; /* NULL: none */
	enum modes_by by;
	const struct history_point **high; /* [n_high]: one of each version with a point on the higher level */
	size_t n_high, n_versions;
};

static bool is_high(const struct modes *m, const struct history_point *p)
{
	return p->cost > (m->segment->modes[0] + m->segment->modes[1]) / 2;
}

/* Versions decide if none is on both levels, and that is improbable: if chance put each point on the higher one as often as they are. */
static struct modes modes_of(const struct history *h, size_t segment)
{
	const struct change_points_segment *s = &h->changes.segments[segment];
	struct modes m = { .segment = isnan(s->modes[0]) ? NULL : s };
	double part = 0, chance = 1;
	bool both = false;

	if (!m.segment)
		return m;
	m.high = mem_new(s->end - s->begin, sizeof(*m.high));
	for (size_t i = s->begin; i < s->end; i++)
		part += is_high(&m, &h->points[i]) / (double)(s->end - s->begin);
	for (size_t i = s->begin, end; i < s->end; i = end) {
		size_t high = 0;

		for (end = i; end < s->end && strcmp(h->points[end].version, h->points[i].version) == 0; end++)
			high += is_high(&m, &h->points[end]);
		both = both || (high && high < end - i);
		if (high)
			m.high[m.n_high++] = &h->points[i];
		chance *= pow(part, (double)(end - i)) + pow(1 - part, (double)(end - i));
		m.n_versions++;
	}
	m.by = both ? MODES_BY_OTHER : chance <= MODES_LEVEL ? MODES_BY_VERSIONS : MODES_BY_UNKNOWN;
	return m;
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
		doc_line(d, "From %s to %s the version decides between two levels, %s and %s: the higher one is that of %s.", from, to,
			 low.text, high.text, names.bytes);
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
		free(m.high);
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

static void answer_point(const struct history *h, size_t i, struct document *d)
{
	const struct history_point *p = &h->points[i];
	double ratio = relative_cost(h, p->cost);
	size_t segment = history_segment(h, i);
	char *decision = decision_words(p);

	doc_row(d);
	doc_set(d, "taken_ms", p->taken_ms);
	doc_showf(d, NULL, "measured on", p->taken_ms, "%.10s", TEXT_MS(p->taken_ms));
	doc_show(d, "version", "version", p->version);
	doc_set_empty(d, "plan", p->plan);
	doc_showf(d, "cost", h->by == HISTORY_PROCESSOR ? "processor" : "cost", ratio, "%s", text_fixed(ratio, 3).text);
	doc_set(d, "segment", segment);
	doc_set_bool(d, "spike", is_spike(h, i));
	doc_show(d, NULL, "",
		 h->changes.open && i + 1 == h->n			? "a spike or a change"
		 : is_spike(h, i)					? "a spike"
		 : segment > 0 && h->changes.items[segment - 1].at == i ? "changed"
									: "");
	doc_set_empty(d, "decision", p->decision ? decision_text(p->decision->judged.decision) : "");
	if (h->decisions.n)
		doc_show(d, NULL, "decided", decision);
	free(decision);
	doc_show(d, "machines", "machines", p->machines);
	doc_show(d, "runs", "results", p->runs);
}

static void answer_points(const struct history *h, struct document *d)
{
	doc_heading(d, "Every point, relative to the first level");
	doc_table(d, "points");
	for (size_t i = 0; i < h->n; i++)
		answer_point(h, i, d);
	doc_end(d);
}

/* ---- the picture ---- */

struct frame {
	const struct history *h;
	struct svg_axis axis; /* upwards */
	double height;	      /* pixels */
	struct buf *out;
};

/* In per cent; points stand at equal distances, in their order. */
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
		    h->changes.n ? "; numbers stand where it changed" : "", h->changes.n_spikes ? "; rings are spikes" : "");
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

/* Findings by the other time, which this history need not show. */
static void answer_elsewhere(const struct history *h, struct document *d)
{
	bool any = false;

	doc_table(d, "elsewhere");
	for (size_t k = 0; k < h->decisions.n; k++) {
		const struct night_decision *decision = &h->decisions.items[k];

		if (!history_is_found(h, decision) || decision->judged.by_processor == (h->by == HISTORY_PROCESSOR))
			continue;
		any = true;
		doc_row(d);
		doc_show(d, "id", "found by the other time", decision->id);
		doc_show(d, "decision", "decision", decision_text(decision->judged.decision));
		doc_show(d, "candidate", "candidate", decision->request.candidate);
		doc_show(d, "baseline", "baseline", decision->request.baseline);
		doc_showf(d, "ratio", "ratio", decision->judged.ratio, "%s", text_fixed(decision->judged.ratio, 3).text);
	}
	doc_end(d);
	if (any)
		doc_line(d, "'--by %s' judges these.", h->by == HISTORY_PROCESSOR ? "metric" : "processor");
}

/* ---- the outcome ---- */

/* Adds the answer's sentence, and returns its word. */
static const char *outcome_of(const struct history *h, const struct modes *m, enum doc_tone *tone, struct buf *out)
{
	const struct change_points *c = &h->changes;
	const char *app = h->application, *what = h->by == HISTORY_PROCESSOR ? " processor time" : "";
	double least = log1p(h->min_effect), now = c->segments[c->n].median, change;

	*tone = DOC_DOUBTFUL;
	if (h->denied) {
		buf_format(out, "a night decided %s for %s against %s (\u00d7 %s), which the results of all nights do not show",
			   decision_text(h->denied->judged.decision), h->denied->request.candidate, h->denied->request.baseline,
			   text_fixed(h->denied->judged.ratio, 3).text);
		return "cannot tell";
	}
	if (c->n) {
		change = now - c->segments[0].median;
		*tone = change >= least ? DOC_BAD : DOC_GOOD;
		buf_format(out, "%s costs %s times as much%s as at first, after %zu change%s in %zu points", app,
			   text_fixed(exp(change), 3).text, what, c->n, text_plural(c->n), h->n);
		return "changed";
	}
	if (h->n < CHANGE_POINTS_MIN) {
		buf_format(out, "%zu point%s of %s: a change is distinguished from noise from %d on", h->n, text_plural(h->n), app,
			   CHANGE_POINTS_MIN);
		return "too short";
	}
	if (m->segment && m->by == MODES_BY_VERSIONS && m->segment->modes[1] - m->segment->modes[0] >= least) {
		buf_format(out, "%s costs %s times as much in %zu of %zu versions as in the others", app,
			   text_fixed(exp(m->segment->modes[1] - m->segment->modes[0]), 3).text, m->n_high, m->n_versions);
		return "by version";
	}
	if (h->n_told) {
		const struct history_change *last = &h->told[h->n_told - 1];
		const char *machine = last->machine < SIZE_MAX ? h->machines[last->machine] : NULL;

		change = last->after - last->before;
		*tone = change >= least ? DOC_BAD : DOC_GOOD;
		buf_format(out, "%s costs %s times as much%s from %s on, %s%s", app, text_fixed(exp(change), 3).text, what,
			   h->points[last->at].version, machine ? "on one machine: " : "within that version: something else changed",
			   machine ? machine : "");
		return "changed";
	}
	if (c->open) {
		buf_format(out, "%s costs %s times as much%s in %s as before: one more point distinguishes a change from a spike", app,
			   text_fixed(exp(h->points[h->n - 1].cost - now), 3).text, what, h->points[h->n - 1].version);
		return "cannot tell";
	}
	if (!m->segment && c->least > least) {
		buf_format(out, "%s has no change that is visible, but %zu points as noisy as these show one from about %.1f %% on", app,
			   h->n, 100 * expm1(c->least));
		return "cannot tell";
	}
	*tone = DOC_GOOD;
	buf_format(out, "%s costs what it did: no change of %.1f %% or more of its %s in %zu points", app, 100 * h->min_effect,
		   *what ? what + 1 : "cost", h->n);
	return "steady";
}

char *history_answer(const struct history *h, struct document *d)
{
	struct modes modes = modes_of(h, 0);
	struct buf sentence = BUF_INIT;
	enum doc_tone tone;
	const char *word = outcome_of(h, &modes, &tone, &sentence);
	char *code;

	if (h->failing && (h->failed == h->tried || tone == DOC_GOOD)) { /* a good cost must not hide it */
		tone = DOC_BAD;
		word = "fails";
		buf_clear(&sentence);
		buf_format(&sentence, "%" PRId64 " of %" PRId64 " runs of %s@%s failed, more than of the versions before", h->failed,
			   h->tried, h->application, h->failing);
	}
	code = mem_string(word);
	for (char *c = code; *c; c++)
		*c = *c == ' ' ? '_' : *c;
	doc_answer(d, tone, word, "%s", sentence.bytes);
	doc_set(d, "application", h->application);
	doc_set(d, "outcome", code);
	doc_set(d, "failed", h->failed);
	doc_set(d, "min_effect", h->min_effect);
	doc_set(d, "detectable", expm1(h->changes.least));
	doc_set(d, "machines", h->n_machines);
	answer_architectures(h, d);
	answer_by(h, d);
	answer_elsewhere(h, d);
	if (h->n)
		answer_picture(h, d);
	answer_changes(h, d);
	answer_modes(h, d);
	answer_points(h, d);
	mem_free(code, modes.high);
	buf_release(&sentence);
	return strcmp(word, "changed") == 0
		   ? mem_format("changed at %s", h->points[h->told[(h->changes.n ? h->changes.n : h->n_told) - 1].at].version)
		   : mem_string(word);
}

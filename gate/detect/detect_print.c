/* What was detected, for people: one screen. */
#include "gate/detect/detect.h"

#include "base/table.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

#define FUNCTIONS_SHOWN 6
#define COUNTERS_SHOWN  4
#define SKIPPED_SHOWN   6
#define SIDE_EFFECTS_SHOWN 6

static void print_head(const struct detected *d, bool colours, struct buf *out)
{
	const char *text = decision_text(d->decision);
	size_t anomalous = d->n_worse + d->n_improved;

	if (colours)
		buf_format(out, "\033[1;38;5;%dm%s\033[0m", decision_colour(d->decision), text);
	else
		buf_text(out, text);
	buf_format(out, "  %s -> %s: ", d->input->old ? d->input->old->what : d->input->model->what, d->input->new->what);
	if (!d->n)
		buf_text(out, "nothing could be judged\n");
	else if (!anomalous)
		buf_format(out, "none of %zu function%s behaves otherwise than before\n", d->n, text_plural(d->n));
	else
		buf_format(out, "%zu of %zu function%s behave%s otherwise%s\n", anomalous, d->n, text_plural(d->n),
		           anomalous == 1 ? "s" : "", d->n_worse ? "" : ", for the better");
}

static void print_reasons(const struct detected *d, struct buf *out)
{
	for (size_t i = 0; i < d->n_reasons; i++)
		if (strcmp(d->reasons[i].code, "anomalous") != 0 && strcmp(d->reasons[i].code, "improved") != 0 &&
		    strcmp(d->reasons[i].code, "side_effect") != 0)
			buf_format(out, "  - %s\n", d->reasons[i].text);
}

/* By how much: "new" where there was none, "x 3.2", "+12 %". */
static void change_cell(struct table *table, double normal, double now)
{
	double ratio = normal > 0 ? now / normal : (double)NAN;

	if (!(normal > 0))
		table_cell(table, "%s", now > 0 ? "new" : "");
	else if (!(now > 0))
		table_cell(table, "%s", "gone");
	else if (ratio >= 2 || ratio <= .5)
		table_cell(table, "x %.3g", ratio);
	else
		table_cell(table, "%+.0f %%", 100 * (ratio - 1));
}

static void print_counters(const struct detected *d, const struct detected_function *f, struct buf *out)
{
	static const char *const headings[] = { "    counter", "normal", "now", "change", "", "part of it" };
	struct table table;

	table_init(&table, "lrrrlr", headings);
	for (size_t i = 0, shown = 0; i < f->found->n_columns && shown < COUNTERS_SHOWN; i++) {
		const struct detection_column *c = &f->found->columns[i];
		struct counter_about about = counter_about(d->back_end, d->seen.columns[c->column]);

		if (!(c->normal < c->now) && !(c->normal > c->now))
			continue; /* moved in some samples, but not in the middle one */
		shown++;
		table_cell(&table, "    %s", about.text);
		table_cell(&table, "%.4g", c->normal * about.scale);
		table_cell(&table, "%.4g", c->now * about.scale);
		change_cell(&table, c->normal, c->now);
		table_cell(&table, "%s", about.unit);
		table_cell(&table, "%.0f %%", 100 * c->part);
	}
	table_print(&table, out);
	table_release(&table);
}

static void print_name(const struct detected_function *f, struct buf *out)
{
	buf_text(out, f->name);
	if (f->place && f->place->file)
		buf_format(out, "  (%s:%u)", f->place->file, f->place->line);
}

static void print_function(const struct detected *d, const struct detected_function *f, struct buf *out)
{
	const struct detection_function *found = f->found;
	double times = found->error / found->error_threshold;

	buf_char(out, '\n');
	print_name(f, out);
	if (f->because_of)
		buf_format(out, "  perhaps by calling %s", f->because_of);
	buf_format(out, "\n  %s", f->kind.improved ? "improved, " : "");
	kind_text(&f->kind, "\n  also ", out);
	buf_format(out, "\n  in %zu of %zu run%s", found->runs_anomalous, found->runs, text_plural(found->runs));
	if (times > 1 && isfinite(times))
		buf_format(out, times < 100 ? ", %.3g times as far off as normal samples get" : ", %.0f times as far off as normal samples get", times);
	buf_format(out, "; %.3g %% of what the version does%s\n", 100 * f->share, f->with_nested ? ", with what it calls" : "");
	if (found->n_columns)
		print_counters(d, f, out);
}

/* One line each: what to look at is their cause. */
static void print_side_effects(const struct detected *d, bool all, struct buf *out)
{
	size_t first = d->n_worse + d->n_improved, n = d->n_side_effects, shown = all || n < SIDE_EFFECTS_SHOWN ? n : SIDE_EFFECTS_SHOWN;

	if (n)
		buf_text(out, "\nside effects: these do what they did, but find their data evicted\n");
	for (size_t i = first; i < first + shown; i++) {
		const struct detected_function *f = &d->functions[i];

		buf_text(out, "  ");
		print_name(f, out);
		buf_format(out, "  of %s, in %zu of %zu run%s\n", f->side_effect_of, f->found->runs_anomalous, f->found->runs,
		           text_plural(f->found->runs));
	}
	if (shown < n)
		buf_format(out, "  %zu more (--all shows them)\n", n - shown);
}

/* Those that do nearly nothing are counted, not named. */
static bool is_small(const struct detected_skip *s)
{
	return strcmp(s->code, observe_remark_code(OBSERVE_LITTLE_WORK)) == 0 ||
	       strcmp(s->code, observe_remark_code(OBSERVE_UNASKED)) == 0 ||
	       strcmp(s->code, observe_remark_code(OBSERVE_NESTED)) == 0;
}

static void print_skipped(const struct detected *d, bool all, struct buf *out)
{
	size_t shown = 0, hidden = 0;

	for (size_t i = 0; i < d->n_skipped; i++) {
		const struct detected_skip *s = &d->skipped[i];

		if (!all && (is_small(s) || shown == SKIPPED_SHOWN)) {
			hidden++;
			continue;
		}
		buf_format(out, "%s  %s: %s", shown++ ? "" : "\nnot judged:\n", s->name, s->text);
		if (!isnan(s->share))
			buf_format(out, " (%.3g %% of what the version does)", 100 * s->share);
		buf_char(out, '\n');
	}
	if (hidden)
		buf_format(out,
		           "%s%zu %sfunction%s not judged, mostly because they do too little or were not asked for (--all lists "
		           "them)\n",
		           shown ? "  " : "\n", hidden, shown ? "more " : "", text_plural(hidden));
}

static void print_training(const struct detected *d, struct buf *out)
{
	const struct detector_about *about = d->about;

	if (!d->n)
		return;
	buf_format(out, "\n%zu of %zu run%s anomalous", d->detection.runs_anomalous, d->detection.runs, d->detection.runs == 1 ? " is" : "s are");
	if (d->detection.runs_small)
		buf_format(out, ", %zu of them by less than matters", d->detection.runs_small);
	buf_format(out, "; by chance %.2g would be expected (rate %.3g a run",
	           d->rate_used * (double)d->detection.runs, d->rate_used);
	if (about)
		buf_format(out, ", %.3g measured on normal runs", about->rate_measured);
	buf_text(out, ")\n");
	if (about)
		buf_format(out, "normal: %zu runs, %zu samples, %s%s%zu cluster%s of functions; %s counters\n", about->runs,
		           about->samples, about->topology, *about->topology ? ", " : "", about->clusters,
		           text_plural(about->clusters), samples_back_end_name(d->back_end));
}

void detect_print(const struct detected *d, bool colours, bool all, struct buf *out)
{
	size_t anomalous = d->n_worse + d->n_improved;

	print_head(d, colours, out);
	print_reasons(d, out);
	for (size_t i = 0; i < anomalous && (all || i < FUNCTIONS_SHOWN); i++)
		print_function(d, &d->functions[i], out);
	if (anomalous > FUNCTIONS_SHOWN && !all)
		buf_format(out, "\n%zu more (--all shows them)\n", anomalous - FUNCTIONS_SHOWN);
	print_side_effects(d, all, out);
	print_skipped(d, all, out);
	print_training(d, out);
}

/* Fills a document with the result of a detection (docs/schema/detect.json). */
#include "gate/detect/detect.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

#define FUNCTIONS_SHOWN	   6
#define COUNTERS_SHOWN	   4
#define SKIPPED_SHOWN	   6
#define SIDE_EFFECTS_SHOWN 6

static void add_answer(const struct detected *d, struct document *out)
{
	const char *old = d->input->old->label, *new = d->input->new->label;
	enum answer_tone tone = decision_tone(d->decision);
	const char *word = decision_text(d->decision);
	size_t changed = d->n_worse + d->n_improved;

	if (!d->n)
		doc_answer(out, tone, word, "nothing could be judged (%s -> %s)", old, new);
	else if (d->is_not_comparable)
		doc_answer(out, tone, word, "the versions cannot be compared; %zu of %zu function%s differ%s (%s -> %s)", changed, d->n,
			   text_plural(d->n), changed == 1 ? "s" : "", old, new);
	else if (!changed)
		doc_answer(out, tone, word, "none of %zu function%s changed behaviour (%s -> %s)", d->n, text_plural(d->n), old, new);
	else
		doc_answer(out, tone, word, "%zu of %zu function%s changed behaviour%s (%s -> %s)", changed, d->n, text_plural(d->n),
			   d->n_worse ? "" : ", for the better", old, new);
}

/* Reports whether the list of reasons for users has this reason. Reasons about one function appear with the function. */
static bool reason_is_shown(const char *code)
{
	return strcmp(code, "anomalous") != 0 && strcmp(code, "improved") != 0 && strcmp(code, "side_effect") != 0;
}

static void add_reasons(const struct detected *d, struct document *out)
{
	doc_list(out, "reasons");
	for (size_t i = 0; i < d->n_reasons; i++) {
		if (reason_is_shown(d->reasons[i].code)) {
			doc_reason(out, d->reasons[i].code, d->reasons[i].text);
			continue;
		}
		doc_object(out, NULL);
		doc_set(out, "code", d->reasons[i].code);
		doc_set(out, "text", d->reasons[i].text);
		doc_end(out);
	}
	doc_end(out);
}

/* Adds the source of the samples and the numbers of excluded runs. */
static void add_side(const struct side *side, struct document *out)
{
	doc_object(out, NULL);
	doc_set(out, "what", side->label);
	doc_set(out, "runs", side->n);
	doc_set(out, "failed", side->failed);
	doc_set(out, "pruned", side->pruned);
	doc_set(out, "other_builds", side->others);
	doc_set(out, "cut_off", side->cut);
	doc_set(out, "killed", side->killed);
	doc_set_bool(out, "stale", side->stale);
	doc_end(out);
}

/* Adds the relative change as text: "new" if the normal value is 0, "gone", "x 3.2", or "+12 %". */
static void add_change(double normal, double now, struct document *out)
{
	double ratio = normal > 0 ? now / normal : (double)NAN;

	if (!(normal > 0))
		doc_show(out, NULL, "change", now > 0 ? "new" : "");
	else if (!(now > 0))
		doc_show(out, NULL, "change", "gone");
	else if (ratio >= 2 || ratio <= .5)
		doc_showf(out, NULL, "change", ratio, "x %.3g", ratio);
	else
		doc_showf(out, NULL, "change", ratio, "%+.0f %%", 100 * (ratio - 1));
}

static void add_counter(const char *name, const struct counter_info *about, const struct detection_column *c, bool for_users,
			struct document *out)
{
	doc_row(out);
	if (!for_users)
		doc_hide(out);
	doc_showf(out, NULL, "  counter", about->text, "  %s", about->text);
	doc_set(out, "name", name);
	doc_set(out, "votes", c->votes);
	doc_set(out, "direction", c->direction < 0 ? "less" : "more");
	doc_set(out, "part", c->part);
	doc_showf(out, "normal", "normal", c->normal * about->scale, "%.4g", c->normal * about->scale);
	doc_showf(out, "now", "now", c->now * about->scale, "%.4g", c->now * about->scale);
	add_change(c->normal, c->now, out);
	doc_show(out, "unit", "unit", about->unit);
	doc_showf(out, NULL, "part of it", c->part, "%.0f %%", isnan(c->part) ? 0 : 100 * c->part);
}

static void add_column(const struct detected *d, const struct detection_column *c, bool for_users, struct document *out)
{
	struct counter_info about = counter_info(d->back_end, d->seen.columns[c->column]);

	add_counter(d->seen.columns[c->column], &about, c, for_users, out);
}

/* Adds the number of calls in a run, if the kind of trouble concerns calls. */
static void add_calls(const struct detected *d, const struct detected_function *f, bool for_users, struct document *out)
{
	static const struct counter_info about = { .text = "calls", .unit = "in a run", .scale = 1 };
	const struct detection_mean *calls = f->found->means ? &f->found->means[d->seen.observations.values.cols] : NULL;

	if (calls && f->found->anomalous && (f->kind.calls < 1 || f->kind.calls > 1) &&
	    (kind_has(&f->kind, TROUBLE_CALLS) || kind_has(&f->kind, TROUBLE_MORE_WORK)))
		add_counter(
		    "calls", &about,
		    &(struct detection_column){
			.direction = calls->now < calls->normal ? -1 : 1, .part = (double)NAN, .normal = calls->normal, .now = calls->now },
		    for_users, out);
}

/* Adds the counters of a function. Users see only counters whose mean changed. The counter that decided the kind is always included: its
 * mean can be certain although no single sample or run is far off. */
static void add_counters(const struct detected *d, const struct detected_function *f, bool for_users, struct document *out)
{
	const struct detection_function *found = f->found;
	bool decides = f->kind.column != SIZE_MAX && found->anomalous && found->means;
	size_t shown = 0;

	doc_table(out, "counters");
	if (!for_users)
		doc_hide(out);
	for (size_t i = 0; i < found->n_columns && decides; i++)
		decides = found->columns[i].column != f->kind.column;
	add_calls(d, f, for_users, out);
	if (decides) {
		const struct detection_mean *mean = &found->means[f->kind.column];

		shown++;
		add_column(d,
			   &(struct detection_column){ .column = f->kind.column,
						       .direction = mean->now < mean->normal ? -1 : 1,
						       .normal = mean->normal,
						       .now = mean->now },
			   true, out);
	}
	for (size_t i = 0; i < found->n_columns; i++) {
		const struct detection_column *c = &found->columns[i];
		bool moved = c->normal < c->now || c->normal > c->now;

		moved = moved && shown++ < COUNTERS_SHOWN;
		add_column(d, c, moved, out);
	}
	doc_end(out);
}

static void add_name(const struct detected_function *f, struct buf *out)
{
	buf_text(out, f->name);
	if (f->place && f->place->file)
		buf_format(out, "  (%s:%u)", f->place->file, f->place->line);
}

/* Adds the change of a worse or improved function, for users. */
static void add_finding(const struct detected *d, const struct detected_function *f, struct document *out)
{
	const struct detection_function *found = f->found;
	double times = found->error / found->error_threshold;
	struct buf text = BUF_INIT;

	add_name(f, &text);
	doc_heading(out, "%s", text.bytes);
	text.size = 0;
	kind_text(&f->kind, "\n  also ", &text);
	doc_line(out, "  %s%s", f->kind.improved ? "improved, " : "", text.bytes);
	if (f->caller)
		doc_line(out, "  only the new version has it; %s calls it", f->caller);
	text.size = 0;
	if (times > 1 && isfinite(times))
		buf_format(&text,
			   times < 100 ? ", error %.3g times the largest of normal samples"
				       : ", error %.0f times the largest of normal samples",
			   times);
	doc_line(out, "  in %zu of %zu run%s%s; %.3g %% of the version's work%s", found->runs_anomalous, found->runs,
		 text_plural(found->runs), text.size ? text.bytes : "", 100 * f->share,
		 f->includes_nested ? ", including its callees" : "");
	if (f->part >= DETECT_SHOWN_PART_MIN)
		doc_line(out, "  explains %.0f %% of all that takes %s: about %.3g ms a run", 100 * f->part,
			 f->kind.improved ? "less" : "longer", 1e-6 * fabs(f->added_cost_ns) / (double)d->detection.runs);
	else if (f->latent)
		doc_line(out, "  latent: it costs almost nothing here, and more if more threads run at once");
	buf_release(&text);
}

/* Adds a line for users that names the cause of a side effect. */
static void add_side_effect(const struct detected_function *f, bool first, struct document *out)
{
	struct buf name = BUF_INIT;

	if (first)
		doc_heading(out, "side effects: caused by another function");
	add_name(f, &name);
	doc_line(out, "  %s  of %s, in %zu of %zu run%s", name.bytes, f->side_effect_cause, f->found->runs_anomalous, f->found->runs,
		 text_plural(f->found->runs));
	buf_release(&name);
}

static void add_function(const struct detected *d, const struct detected_function *f, bool for_users, struct document *out)
{
	bool kind = f->anomalous || f->side_effect_cause;

	doc_set(out, "name", f->name);
	doc_set(out, "symbol", f->symbol);
	doc_set_empty(out, "file", f->place ? f->place->file : NULL);
	doc_set(out, "line", f->place && f->place->line ? (double)f->place->line : (double)NAN);
	doc_set_bool(out, "anomalous", f->anomalous);
	doc_set_bool(out, "improved", f->found->anomalous && f->kind.improved);
	doc_set_bool(out, "small", f->found->anomalous && f->kind.is_negligible);
	doc_set_bool(out, "spread", f->found->anomalous && f->kind.spread);
	doc_set_bool(out, "latent", f->latent);
	doc_set(out, "part", f->part);
	doc_set(out, "seconds", 1e-9 * f->added_cost_ns / (double)d->detection.runs);
	doc_set_empty(out, "side_effect_of", f->side_effect_cause);
	doc_set(out, "score", f->found->score);
	doc_set(out, "threshold", f->found->threshold);
	doc_set(out, "runs_anomalous", f->found->runs_anomalous);
	doc_set(out, "runs", f->found->runs);
	doc_set(out, "samples", f->found->samples);
	doc_set(out, "samples_anomalous", f->found->samples_anomalous);
	doc_set(out, "error", f->found->error);
	doc_set(out, "error_threshold", f->found->error_threshold);
	doc_set(out, "excess", f->found->excess);
	doc_set(out, "share", f->share);
	doc_set_bool(out, "with_nested", f->includes_nested);
	doc_set_empty(out, "caller", f->caller);
	doc_set(out, "kind", kind ? trouble_code(f->kind.trouble) : (const char *)NULL);
	doc_list(out, "further_kinds");
	for (size_t i = 0; i < f->kind.n_further_kinds && kind; i++)
		doc_set(out, NULL, trouble_code(f->kind.further_kinds[i]));
	doc_end(out);
	add_counters(d, f, for_users, out);
}

static void add_functions(const struct detected *d, bool all, struct document *out)
{
	size_t changed = d->n_worse + d->n_improved, effects = changed + d->n_side_effects, shown = 0;

	doc_list(out, "functions");
	for (size_t i = 0; i < d->n; i++) {
		const struct detected_function *f = &d->functions[i];

		doc_object(out, NULL);
		if (i < changed ? !all && (shown == FUNCTIONS_SHOWN || (i && !f->latent && f->part < DETECT_SHOWN_PART_MIN))
				: i >= effects || (!all && i >= changed + SIDE_EFFECTS_SHOWN))
			doc_hide(out);
		else
			shown += i < changed;
		if (i < changed)
			add_finding(d, f, out);
		else if (f->side_effect_cause)
			add_side_effect(f, i == changed, out);
		add_function(d, f, i < changed, out);
		doc_end(out);
	}
	doc_end(out);
	if (shown < changed)
		doc_line(out, "\n%zu more function%s changed, and cost%s less (--all shows them)", changed - shown,
			 text_plural(changed - shown), changed - shown == 1 ? "s" : "");
	if (!all && d->n_side_effects > SIDE_EFFECTS_SHOWN)
		doc_line(out, "\n%zu more side effects (--all shows them)", d->n_side_effects - SIDE_EFFECTS_SHOWN);
}

/* Reports whether users see only the number of such functions, because they do almost nothing. */
static bool is_small_skip(const struct detected_skip *s)
{
	return strcmp(s->code, observe_note_code(OBSERVE_LITTLE_WORK)) == 0 || strcmp(s->code, "with_callers") == 0 ||
	       strcmp(s->code, "library") == 0 || strcmp(s->code, observe_note_code(OBSERVE_UNASKED)) == 0 ||
	       strcmp(s->code, observe_note_code(OBSERVE_NESTED)) == 0;
}

static void add_skipped(const struct detected *d, bool all, struct document *out)
{
	size_t shown = 0;

	doc_list(out, "not_judged");
	for (size_t i = 0; i < d->n_skipped; i++) {
		const struct detected_skip *s = &d->skipped[i];

		doc_object(out, NULL);
		if (!all && (is_small_skip(s) || shown == SKIPPED_SHOWN))
			doc_hide(out);
		else if (shown++ == 0)
			doc_heading(out, "not judged:");
		if (isnan(s->share))
			doc_line(out, "  %s: %s", s->name, s->text);
		else
			doc_line(out, "  %s: %s (%.3g %% of what the version does)", s->name, s->text, 100 * s->share);
		doc_set(out, "name", s->name);
		doc_set(out, "reason", s->code);
		doc_set(out, "share", s->share);
		doc_end(out);
	}
	doc_end(out);
	if (shown < d->n_skipped)
		doc_line(out,
			 "%s%zu %sfunction%s not judged, mostly because they do too little or were excluded by options (--all lists them)",
			 shown ? "  " : "\n", d->n_skipped - shown, shown ? "more " : "", text_plural(d->n_skipped - shown));
}

static void add_training(const struct detected *d, struct document *out)
{
	const struct detector_info *about = d->about;

	doc_object(out, "training");
	doc_set(out, "what", d->input->old->label);
	doc_set(out, "runs", about ? about->runs : d->input->old->n);
	doc_set(out, "sufficient", about ? doc_value_bool(about->is_sufficient) : DOC_NULL_VALUE);
	doc_set_empty(out, "topology", about ? about->topology : NULL);
	doc_set(out, "clusters", about ? doc_value_size(about->clusters) : DOC_NULL_VALUE);
	if (about) {
		doc_set(out, "samples", about->samples);
		doc_set(out, "left_out", about->n_excluded);
		doc_set(out, "runs_more", about->n_runs_missing);
	}
	doc_set(out, "runs_needed", d->runs_needed ? doc_value_size(d->runs_needed) : DOC_NULL_VALUE);
	doc_end(out);
}

static void add_rates(const struct detected *d, struct document *out)
{
	doc_object(out, "false_positive_rate");
	doc_set(out, "asked", d->rate_requested);
	doc_set(out, "used", d->rate_used);
	doc_set(out, "measured", d->about ? d->about->rate_measured : (double)NAN);
	doc_end(out);
	doc_object(out, "runs");
	doc_set(out, "judged", d->detection.runs);
	doc_set(out, "anomalous", d->detection.runs_anomalous);
	doc_set(out, "small", d->detection.runs_anomalous > d->n_runs_found ? d->detection.runs_anomalous - d->n_runs_found : 0);
	doc_set(out, "expected", d->n ? d->rate_used * (double)d->detection.runs : (double)NAN);
	doc_end(out);
}

/* Adds the basis of the answer, for users. */
static void add_basis(const struct detected *d, struct document *out)
{
	const struct detector_info *about = d->about;
	struct buf text = BUF_INIT;

	buf_format(&text, "\n%zu of %zu run%s anomalous", d->n_runs_found, d->detection.runs, d->detection.runs == 1 ? " is" : "s are");
	if (d->detection.runs_anomalous > d->n_runs_found)
		buf_format(&text, ", and %zu differ%s without effect on the decision", d->detection.runs_anomalous - d->n_runs_found,
			   d->detection.runs_anomalous - d->n_runs_found == 1 ? "s" : "");
	buf_format(&text, "; by chance %.2g would be expected (rate %.3g a run", d->rate_used * (double)d->detection.runs, d->rate_used);
	if (about)
		buf_format(&text, ", %.3g measured on normal runs", about->rate_measured);
	doc_line(out, "%s)", text.bytes);
	if (about)
		doc_line(out, "normal: %zu runs, %zu samples, %s%s%zu cluster%s of functions; %s counters", about->runs, about->samples,
			 about->topology, *about->topology ? ", " : "", about->clusters, text_plural(about->clusters),
			 samples_back_end_name(d->back_end));
	buf_release(&text);
}

void detect_describe(const struct detected *d, bool all, struct document *out)
{
	add_answer(d, out);
	doc_set(out, "decision", decision_text(d->decision));
	add_reasons(d, out);
	doc_set(out, "what", d->input->new->label);
	doc_set(out, "backend", samples_back_end_name(d->back_end));
	doc_list(out, "samples");
	add_side(d->input->old, out);
	add_side(d->input->new, out);
	doc_end(out);
	add_functions(d, all, out);
	add_skipped(d, all, out);
	add_training(d, out);
	add_rates(d, out);
	if (d->n)
		add_basis(d, out);
}

#include "gate/detect/detect.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "gate/detect/counters.h"
#include "gate/detect/side_effect.h"
#include "model/anomaly/detector_parts.h"
#include "runs/inside/changes/demangle.h"
#include "runs/inside/changes/functions.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#define NEW_PART_MIN	    .5	/* the new function is named if its cost is at least this fraction of its caller's, and at most 1 / this */
#define OUTWEIGHED_MIN	    .5	/* added cost up to this fraction of the saved cost is outweighed */
#define CALLS_CHANGED	    .05 /* minimum relative change of the calls per run for judging an unchanged function */
#define MOVED_TOLERANCE	    .05 /* largest change of the sum over all functions, as a fraction of one function's change, for moved work */
#define UNCERTAIN_SHARE_MAX .5	/* maximum uncertainty of a mean duration, as a fraction of it; beyond it, no ratio is known */

enum detect_skip_reason { DETECT_SKIP_ROWS(ROWS_ENUM) };
static ROWS_FUNCTION(skip_code, enum detect_skip_reason, DETECT_SKIP_ROWS, ROWS_CODE)
static ROWS_FUNCTION(skip_text, enum detect_skip_reason, DETECT_SKIP_ROWS, ROWS_TEXT)

void detected_release(struct detected *d)
{
	for (size_t i = 0; i < d->n; i++)
		mem_free(d->functions[i].name, d->functions[i].caller);
	for (size_t i = 0; i < d->n_skipped; i++)
		free(d->skipped[i].name);
	for (size_t i = 0; i < d->n_reasons; i++)
		mem_free(d->reasons[i].code, d->reasons[i].text);
	mem_free(d->functions, d->skipped, d->reasons);
	detection_release(&d->detection);
	detector_free(d->detector);
	callers_release(&d->callers);
	observed_release(&d->normal);
	observed_release(&d->seen);
	*d = (struct detected){ .input = NULL };
}

static __attribute__((format(printf, 3, 4))) void detected_add_reason(struct detected *d, const char *code, const char *fmt, ...)
{
	va_list args;
	char *text = NULL;

	va_start(args, fmt);
	ASSAY_BUG_IF(vasprintf(&text, fmt, args) < 0);
	va_end(args);
	d->reasons = mem_resize(d->reasons, d->n_reasons + 1, sizeof(d->reasons[0]));
	d->reasons[d->n_reasons++] = (struct detect_reason){ mem_string(code), text };
}

static void detected_skip(struct detected *d, const char *symbol, const char *code, const char *text, double share)
{
	d->skipped = mem_resize(d->skipped, d->n_skipped + 1, sizeof(d->skipped[0]));
	d->skipped[d->n_skipped++] = (struct detected_skip){ demangle(symbol), code, text, share };
}

/* `share` is the function's fraction of the new version's work; NaN if unknown. */
static void detected_skip_with_reason(struct detected *d, const char *symbol, enum detect_skip_reason why, double share)
{
	detected_skip(d, symbol, skip_code(why), skip_text(why), share);
}

static const struct observed_excluded *observed_excluded(const struct observed *o, const char *name)
{
	for (size_t i = 0; i < o->n_aside; i++)
		if (strcmp(o->excluded[i].function, name) == 0)
			return &o->excluded[i];
	return NULL;
}

static void detected_skip_in_one_version(struct detected *d)
{
	const struct observed *old = &d->normal, *new = &d->seen;

	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < d->callers.moved[s].n; i++) {
			const char *name = d->callers.moved[s].items[i];

			if (!s || stems_find(&d->callers.moved[0], name) == SIZE_MAX)
				detected_skip_with_reason(d, name, record_is_library(name) ? DETECT_LIBRARY : DETECT_WITH_CALLERS,
							  (double)NAN);
		}
	for (size_t f = 0; f < old->observations.functions; f++)
		if (observed_find(new, old->functions[f]) == SIZE_MAX && !observed_excluded(new, old->functions[f]))
			detected_skip_with_reason(d, old->functions[f], DETECT_ONLY_OLD, (double)NAN);
	for (size_t f = 0; f < new->observations.functions; f++) {
		const struct observed_excluded *excluded = observed_excluded(old, new->functions[f]);

		if (excluded)
			detected_skip(d, new->functions[f], observe_note_code(excluded->kind), observe_note_text(excluded->kind),
				      new->facts[f].share);
		else if (observed_find(old, new->functions[f]) == SIZE_MAX)
			detected_skip_with_reason(d, new->functions[f], DETECT_ONLY_NEW, new->facts[f].share);
	}
}

static void detected_find_skipped(struct detected *d)
{
	for (size_t i = 0; i < d->seen.n_aside; i++)
		detected_skip(d, d->seen.excluded[i].function, observe_note_code(d->seen.excluded[i].kind),
			      observe_note_text(d->seen.excluded[i].kind), (double)NAN);
	detected_skip_in_one_version(d);
	observed_keep_common(&d->normal, &d->seen);
}

static int compare_skipped(const void *a, const void *b)
{
	const struct detected_skip *x = a, *y = b;
	double more = (isnan(y->share) ? -1 : y->share) - (isnan(x->share) ? -1 : x->share);

	return more != 0 ? (more > 0 ? 1 : -1) : strcmp(x->name, y->name);
}

static enum assay_status detected_observe(const struct detect_options *options, struct detected *d, struct assay_error *err)
{
	const struct detect_input *in = d->input;
	const struct side *old = in->old, *new = in->new;
	struct observe_options o = options->observe;
	enum assay_status st;

	o.share_min = fmin(
	    o.share_min,
	    observe_defaults.share_min); /* a larger limit applies only after these functions were judged (detected_exclude_function()) */
	callers_find(in->old, in->new, &d->callers);
	if (d->callers.is_known) {
		old = &d->callers.sides[0];
		new = &d->callers.sides[1];
	}
	o.other = old;
	st = observe(new, &o, &d->seen, err);
	o.other = new;
	if (!st)
		st = observe(old, &o, &d->normal, err);
	return st;
}

static void detected_scale_to_typical_input(const struct detect_options *options, struct detected *d)
{
	const struct detect_input *in = d->input;
	size_t numbers = input_count_numbers(in->old), theirs = input_count_numbers(in->new);
	struct buf text = BUF_INIT;

	if (!options->detector.scaling->stretched)
		return;
	d->like = like_inputs_scale(in->old, &d->normal, in->new, &d->seen);
	like_inputs_text(&d->like, &text);
	if (text.size)
		detected_add_reason(d, "like_inputs", "%s", text.bytes);
	if (numbers && numbers != theirs)
		detected_add_reason(d, "inputs_differ",
				    "the inputs of the two versions differ in their number of values: counts that depend on the input size "
				    "were compared without correction");
	else if (!input_has_common(in->old, in->new) && !d->like.functions && !d->is_not_comparable)
		detected_add_reason(d, "inputs_differ",
				    "the versions have no input in common (inputs without names are compared by their arguments, which may "
				    "name the build): counts that depend on the input were compared without correction");
	if (d->like.runs_unlike)
		detected_add_reason(
		    d, "inputs_unlike",
		    "%zu run%s had inputs unlike those of normal runs: counts that depend on the input were not judged there",
		    d->like.runs_unlike, text_plural(d->like.runs_unlike));
	buf_release(&text);
}

static size_t runs_with_samples(const struct observed *o)
{
	bool *has = mem_new(o->observations.runs, sizeof(has[0]));
	size_t n = 0;

	for (size_t i = 0; i < o->observations.values.rows; i++) {
		n += !has[o->run[i]];
		has[o->run[i]] = true;
	}
	free(has);
	return n;
}

/* Returns the smallest rate of false alarms that this number of runs supports, but at least the requested rate. */
static double detect_rate(const struct detect_options *options, size_t runs)
{
	double smallest = 1 / (double)(runs + 1);

	if (!options->detector.rule->holds_out || runs >= detector_runs_needed(options->detector.rate))
		return options->detector.rate;
	while (detector_runs_needed(smallest) > runs)
		smallest = nextafter(smallest, 1);
	return smallest;
}

static size_t detect_runs_needed(const struct detect_options *options)
{
	size_t needed = options->detector.rule->holds_out ? detector_runs_needed(options->detector.rate) : DETECT_RUNS_MIN;

	return needed < DETECT_RUNS_MIN ? DETECT_RUNS_MIN : needed;
}

static enum assay_status detected_learn_and_judge(const struct detect_options *options, struct detected *d, struct assay_error *err)
{
	struct detector_options o = options->detector;
	struct observations normal = observed_without_load_counters(&d->normal, d->back_end),
			    seen = observed_without_load_counters(&d->seen, d->back_end);
	enum assay_status st;

	o.rate = d->rate_used;
	st = detector_fit(&normal, &o, &d->detector, err);
	if (!st) {
		d->about = detector_info(d->detector);
		st = detector_judge(d->detector, &seen, &d->detection, err);
	}
	mat_release(&normal.values);
	mat_release(&seen.values);
	return st;
}

static int function_rank(const struct detected_function *f)
{
	return f->side_effect_cause ? 2 : !f->anomalous ? 3 : f->kind.improved ? 1 : 0;
}

static int compare_functions(const void *a, const void *b)
{
	const struct detected_function *x = a, *y = b;
	double more = fabs(y->added_cost_ns) - fabs(x->added_cost_ns);

	if (function_rank(x) != function_rank(y))
		return function_rank(x) - function_rank(y);
	if (function_rank(x) < 3 && more != 0)
		return more > 0 ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* Names a function that only the new version has instead of its judged caller, if it does most of the caller's added work. A new function
 * that does much more than the added work replaces old code, so that the caller is named. */
static void detected_name_new(const struct detected *d, struct detected_function *f)
{
	double gained;
	const struct callers_part *part = callers_find_part(&d->callers, f->symbol, &gained);
	char *stem;

	if (!part || !f->found->anomalous || f->kind.improved || f->kind.trouble == TROUBLE_CALLS ||
	    gained < NEW_PART_MIN * f->added_cost_ns || NEW_PART_MIN * gained > f->added_cost_ns)
		return;
	stem = mem_bytes(part->part, functions_stem_length(part->part));
	f->caller = f->name;
	f->name = demangle(stem);
	f->place = d->input->places ? places_find(d->input->places, stem) : NULL;
	free(stem);
}

/* `without` has one bit per kind of trouble to ignore. */
static struct kind detected_kind(const struct detected *d, const struct detection_function *found, uint32_t without)
{
	double now = d->seen.facts[found->function].error_ns, then = d->normal.facts[found->function].error_ns;

	return kind_classify(d->back_end, &d->seen.observations, found, (const double[]){ then, now }, without);
}

/* Finds the side effects among the worse functions. */
static void detected_find_side_effects(struct detected *d)
{
	struct side_effect_row *rows = mem_new(d->n, sizeof(rows[0]));
	size_t *cause = mem_new(d->n, sizeof(cause[0]));

	for (size_t i = 0; i < d->n; i++) {
		const struct detected_function *f = &d->functions[i];

		rows[i] = (struct side_effect_row){ f->symbol, f->kind, f->anomalous && !f->kind.improved, f->calls };
	}
	side_effects_find(d->input->new, rows, d->n, cause);
	for (size_t i = 0; i < d->n; i++)
		if (cause[i] != SIZE_MAX)
			d->functions[i].side_effect_cause = d->functions[cause[i]].name;
	mem_free(rows, cause);
}

static void detected_count(struct detected *d)
{
	for (size_t i = 0; i < d->n; i++) {
		struct detected_function *f = &d->functions[i];

		f->anomalous = f->anomalous && !f->side_effect_cause;
		d->n_worse += f->anomalous && !f->kind.improved;
		d->n_improved += f->anomalous && f->kind.improved;
		d->n_side_effects += f->side_effect_cause != NULL;
		d->n_negligible += f->found->anomalous && f->kind.is_negligible;
		d->n_spread += f->found->anomalous && f->kind.spread;
	}
	for (size_t r = 0; r < d->detection.runs; r++) {
		bool found = false;

		for (size_t i = 0; i < d->n; i++)
			found = found || ((d->functions[i].anomalous || d->functions[i].side_effect_cause) &&
					  (d->functions[i].found->anomalous_in_run[r] || d->functions[i].found->is_by_total));
		d->n_runs_found += found;
	}
}

/* Excludes a function if its fraction of the work is below --least on both sides. If it is anomalous, adds a note. Reports whether the
 * function was excluded. */
static bool detected_exclude_function(struct detected *d, const struct detect_options *options, const struct detected_function *f)
{
	size_t function = f->found->function;
	struct buf kind = BUF_INIT;

	if (f->share >= options->observe.share_min || d->normal.facts[function].share >= options->observe.share_min)
		return false;
	if (f->anomalous) {
		kind_text(&f->kind, "; also ", &kind);
		detected_add_reason(d, "put_aside", "%s: %s%s, but it is excluded: it does %.3g %% of all work, less than the given limit",
				    f->name, f->kind.improved ? "improved, " : "", kind.bytes, 100 * f->share);
		buf_release(&kind);
	}
	detected_skip(d, f->symbol, observe_note_code(OBSERVE_LITTLE_WORK), observe_note_text(OBSERVE_LITTLE_WORK), f->share);
	return true;
}

/* Reports whether so few calls were measured that chance determines their mean. */
static bool detected_has_few_measured(const struct detected *d, size_t function)
{
	return fmin(d->seen.facts[function].measured, d->normal.facts[function].measured) < DETECT_MEASURED_MIN;
}

/* Reports whether the function is a finding. Also sets `is_negligible` if its change is negligible compared with all work of the version.
 */
static bool detected_is_finding(const struct detected *d, struct detected_function *f)
{
	double more = fabs(f->kind.added_cost_ns);

	f->kind.is_negligible = f->kind.is_negligible || (more > 0 && more * f->calls < DETECT_WORK_SHARE_MIN * d->seen.total_cost_ns);
	return f->found->anomalous && !f->kind.is_negligible;
}

/* Returns the estimated added cost of a function, ns. The cost of a function judged with nested calls includes theirs, so that callers
 * would rank before the faulty function. For such a function, only its own cost counts, although this is an estimate. */
static double detected_added_cost_ns(const struct detected *d, const struct detected_function *f)
{
	double more = f->kind.run_ns * f->calls, own;
	size_t function = f->found->function;

	if (!f->includes_nested)
		return more;
	own = (d->seen.facts[function].own_ns - d->normal.facts[function].own_ns) * (double)d->seen.observations.runs;
	return more > 0 ? fmax(0, fmin(own, more)) : fmin(0, fmax(own, more));
}

/* Reports whether a function is unchanged in the sources, has no large share of the work, and has nearly the same number of calls. */
static bool detected_is_unchanged(const struct detected *d, const struct detected_function *f)
{
	double share = fmax(f->share, d->normal.facts[f->found->function].share);
	const struct place *place = d->input->places ? places_find(d->input->places, f->symbol) : NULL;

	return !(place && place->changed) && share < DETECT_LARGE_SHARE && fabs(f->kind.calls - 1) < CALLS_CHANGED;
}

/* Excludes unchanged functions (detected_is_unchanged()), unless no other function is worse: a new data layout can slow down unchanged
 * ones. */
static void detected_keep_changed(struct detected *d)
{
	size_t worse = 0, kept = 0, n = d->n;

	for (size_t i = 0; i < n; i++)
		worse += d->functions[i].anomalous && !d->functions[i].kind.improved && !detected_is_unchanged(d, &d->functions[i]);
	if (!worse)
		detected_add_reason(d, "unchanged_judged", "the functions that changed are not worse, so all functions were judged");
	for (size_t i = 0; i < n && worse; i++) {
		struct detected_function *f = &d->functions[i];

		if (!detected_is_unchanged(d, f)) {
			d->functions[kept++] = *f;
			continue;
		}
		detected_skip(d, f->symbol, observe_note_code(OBSERVE_UNASKED), observe_note_text(OBSERVE_UNASKED), f->share);
		mem_free(f->name, f->caller);
	}
	d->n = worse ? kept : n;
}

/* Returns the kind as which a trouble is counted: more calls count as more work. */
static enum trouble trouble_merge_kind(enum trouble trouble)
{
	return trouble == TROUBLE_CALLS ? TROUBLE_MORE_WORK : trouble;
}

/* Reports whether changes of other functions balance this function's change in one kind, so that the sum over all functions is the same. */
static bool detected_is_moved(const struct detected *d, size_t function, enum trouble trouble)
{
	const struct detected_function *f = &d->functions[function];
	double mine = f->kind.run_events[trouble_merge_kind(trouble)] * f->calls, all = 0;

	for (size_t i = 0; i < d->n; i++)
		all += d->functions[i].kind.run_events[trouble_merge_kind(trouble)] * d->functions[i].calls;
	return kind_has(&f->kind, trouble) && fabs(mine) > 0 && (all - mine) * mine < 0 &&
	       fabs(all) <= fmax(MOVED_TOLERANCE * fabs(mine), DETECT_WORK_SHARE_MIN * d->seen.total_cost_ns);
}

/* Judges functions again without kinds that only moved between functions: that is no finding. */
static void detected_find_moved(struct detected *d)
{
	uint32_t *moved = mem_new(d->n + 1, sizeof(moved[0])), any = 0;

	for (size_t i = 0; i < d->n; i++) {
		for (int t = 0; t < TROUBLES && d->functions[i].anomalous; t++)
			moved[i] |= (uint32_t)detected_is_moved(d, i, (enum trouble)t) << t;
		any |= moved[i];
	}
	any |= any >> TROUBLE_CALLS & 1 ? 1u << TROUBLE_MORE_WORK : 0;
	for (int t = 0; t < TROUBLES; t++)
		if (any >> t & 1 && t != TROUBLE_CALLS)
			detected_add_reason(d, "moved", "%s moved between functions: the sum is the same as before",
					    t == TROUBLE_MORE_WORK ? "work" : trouble_text((enum trouble)t));
	for (size_t i = 0; i < d->n; i++) {
		struct detected_function *f = &d->functions[i];

		if (!moved[i])
			continue;
		f->kind = detected_kind(d, f->found, moved[i]);
		f->anomalous = detected_is_finding(d, f);
		f->added_cost_ns = detected_added_cost_ns(d, f);
	}
	free(moved);
}

/* Computes each function's fraction of the added or saved cost of all functions. */
static void detected_divide(struct detected *d)
{
	double more[2] = { 0, 0 };

	for (size_t i = 0; i < d->n; i++)
		more[d->functions[i].added_cost_ns > 0] += d->functions[i].added_cost_ns;
	for (size_t i = 0; i < d->n; i++) {
		struct detected_function *f = &d->functions[i];
		double all = more[f->added_cost_ns > 0];

		f->part = fabs(all) > 0 && (f->added_cost_ns < 0) == f->kind.improved ? f->added_cost_ns / all : 0;
		f->latent =
		    f->anomalous && !f->kind.improved && f->part < DETECT_SHOWN_PART_MIN && trouble_is_between_threads(f->kind.trouble);
	}
}

/* Fills `functions` and the numbers of functions from the observations and the detection. */
static void detected_fill_functions(const struct detect_options *options, struct detected *d)
{
	const struct places *places = d->input->places;

	d->functions = mem_new(d->detection.n, sizeof(d->functions[0]));
	for (size_t i = 0; i < d->detection.n; i++) {
		const struct detection_function *found = &d->detection.functions[i];
		const char *symbol = d->seen.functions[found->function];
		struct detected_function *f = &d->functions[d->n];

		if (!found->known || detected_has_few_measured(d, found->function)) {
			double share = d->seen.facts[found->function].share;

			d->has_few_measured = d->has_few_measured || (found->known && share >= DETECT_LARGE_SHARE);
			detected_skip_with_reason(d, symbol, found->known ? DETECT_FEW_MEASURED : DETECT_NOT_LEARNED, share);
			continue;
		}
		*f = (struct detected_function){
			.found = found,
			.name = demangle(symbol),
			.symbol = symbol,
			.place = places ? places_find(places, symbol) : NULL,
			.share = d->seen.facts[found->function].share,
			.calls = observed_count_calls(&d->seen, found->function),
			.includes_nested = d->seen.facts[found->function].remarks[OBSERVE_INCLUSIVE] > 0,
			.kind = detected_kind(d, found, 0),
		};
		f->calls /= f->kind.calls > 0 ? f->kind.calls : 1; /* scales to the normal number of calls per run, as `kind` does */
		f->anomalous = detected_is_finding(d, f);
		f->added_cost_ns = detected_added_cost_ns(d, f);
		if (!detected_exclude_function(d, options, f)) {
			d->n++;
		} else {
			free(f->name);
		}
	}
	detected_find_moved(d);
	if (places && places->has_changes && !options->observe.selected_functions)
		detected_keep_changed(d);
	for (size_t i = 0; i < d->n; i++)
		detected_name_new(d, &d->functions[i]);
	detected_find_side_effects(d);
	detected_divide(d);
	detected_count(d);
	order_sort(d->functions, d->n, compare_functions);
}

/* Returns a function with a large share of the time whose possible measurement error is at least half of its mean duration; NULL if
 * there is none. */
static const struct detected_function *detected_find_unmeasured(const struct detected *d)
{
	for (size_t i = 0; i < d->n * d->seen.observations.values.cols; i++) {
		const struct detected_function *f = &d->functions[i % d->n];
		double then = d->normal.facts[f->found->function].error_ns, now = d->seen.facts[f->found->function].error_ns;
		size_t c = i / d->n;

		if (f->share >= DETECT_LARGE_SHARE && f->found->means && strcmp(d->seen.columns[c], COUNTERS_TIME) == 0 &&
		    fmax(then, now) > 0 &&
		    (now >= UNCERTAIN_SHARE_MAX * f->found->means[c].now || then >= UNCERTAIN_SHARE_MAX * f->found->means[c].normal))
			return f;
	}
	return NULL;
}

/* Reports whether added costs are so much smaller than saved costs that the version as a whole is not slower. Costs are only orders of
 * magnitude. Fewer misses do not count as saved: most misses of short runs are first accesses, or lines that threads wait for. Savings
 * within a worse function count, too: divided or joined code has other branches and blocks, and may call less (callers.h). */
static bool detected_is_outweighed(const struct detected *d)
{
	double worse = 0, saved = 0, called_less = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct detected_function *f = &d->functions[i];
		double calling = callers_call_cost_change_ns(&d->callers, f->symbol) * f->calls;

		if (f->anomalous && !f->kind.improved) {
			worse += fmax(f->kind.added_cost_ns, f->kind.own_ns) * f->calls + fmin(0, calling);
			continue;
		}
		called_less -= calling;
		if (f->anomalous)
			saved += fmax(0, -f->kind.own_ns) * f->calls;
	}
	saved += fmax(0, called_less);
	return worse < 0 || (saved > 0 && worse <= OUTWEIGHED_MIN * saved);
}

/* Reports whether the functions save no more than the calls cost that only the new version makes. */
static bool detected_has_no_saving(const struct detected *d)
{
	double saved = 0, calling = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct detected_function *f = &d->functions[i];

		saved += f->anomalous && f->kind.improved ? -f->kind.added_cost_ns * f->calls : 0;
		calling += callers_call_cost_change_ns(&d->callers, f->symbol) * f->calls;
	}
	return calling > 0 && saved <= calling;
}

static enum decision choose_decision(const struct detected *d)
{
	if (!d->n)
		return DECISION_NOTHING_MEASURED;
	if (d->is_not_comparable || d->rate_used > d->rate_requested)
		return DECISION_INCONCLUSIVE;
	if (d->n_worse && !detected_is_outweighed(d))
		return DECISION_REGRESSION;
	if (d->input->new->killed && !d->input->old->killed) /* the work of killed runs is unknown */
		return DECISION_INCONCLUSIVE;
	if (d->has_few_measured)
		return DECISION_INCONCLUSIVE;
	if (d->n_improved && !detected_has_no_saving(d))
		return DECISION_IMPROVED;
	return detected_find_unmeasured(d) ? DECISION_INCONCLUSIVE : DECISION_PASS;
}

/* Adds one reason for all functions whose calls divide the same work differently. They do not affect the decision. */
static void detected_explain_divided(struct detected *d)
{
	const struct detected_function *first = NULL;
	size_t n = 0;

	for (size_t i = d->n; i-- > 0;)
		if (d->functions[i].found->anomalous && d->functions[i].kind.spread) {
			first = &d->functions[i];
			n++;
		}
	if (n)
		detected_add_reason(
		    d, "divided_otherwise",
		    "%s%s: single calls differ from normal ones, but the sum of all calls is as before (called %.3g times as often)",
		    first->name, n > 1 ? " and others" : "", first->kind.calls);
}

static void detected_explain_functions(struct detected *d)
{
	for (size_t i = 0; i < d->n_worse + d->n_improved; i++) {
		const struct detected_function *f = &d->functions[i];

		struct buf kind = BUF_INIT;

		kind_text(&f->kind, "; also ", &kind);
		detected_add_reason(d, f->kind.improved ? "improved" : "anomalous", "%s: %s, in %zu of %zu runs", f->name, kind.bytes,
				    f->found->runs_anomalous, f->found->runs);
		buf_release(&kind);
	}
	for (size_t i = d->n_worse + d->n_improved; i < d->n_worse + d->n_improved + d->n_side_effects; i++)
		detected_add_reason(d, "side_effect", "%s: a side effect of %s", d->functions[i].name, d->functions[i].side_effect_cause);
	if (d->n_worse && detected_is_outweighed(d))
		detected_add_reason(d, "outweighed",
				    "the worse functions cost less than half of the savings of other functions, or less than their own "
				    "savings: the version does less work in total");
	if (d->n_improved && !d->n_worse && detected_has_no_saving(d))
		detected_add_reason(d, "outweighed", "the savings are not larger than the cost of calls that only the new version makes");
	if (!d->n)
		detected_add_reason(d, "nothing_to_judge", "none of the functions could be judged");
	detected_explain_divided(d);
	if (!d->n_worse && detected_find_unmeasured(d))
		detected_add_reason(d, "unsure",
				    "%s takes too little time to compare it: the overhead of measuring is not known exactly enough",
				    detected_find_unmeasured(d)->name);
	if (d->has_few_measured && !d->n_worse)
		detected_add_reason(d, "unsure", "too few calls of important functions were measured: use more runs or a higher --budget");
	if (d->n_negligible > d->n_spread)
		detected_add_reason(d, "detected_but_small", "%zu function%s changed by less than the minimum effect",
				    d->n_negligible - d->n_spread, text_plural(d->n_negligible - d->n_spread));
	if (d->n && !d->n_worse && !d->n_improved && !d->n_negligible)
		detected_add_reason(d, "nothing_anomalous", "%zu function%s behave%s as before in %zu run%s", d->n, text_plural(d->n),
				    d->n == 1 ? "s" : "", d->detection.runs, text_plural(d->detection.runs));
}

/* Sets `decision` and adds the reasons. The functions must already be filled in and sorted. */
static void detected_decide(struct detected *d)
{
	d->decision = choose_decision(d);
	detected_explain_functions(d);
	if (d->about && !d->about->is_sufficient && d->about->n_runs_missing)
		detected_add_reason(d, "training_insufficient",
				    "the baseline has not converged: record about %zu more run%s of the old version",
				    d->about->n_runs_missing, text_plural(d->about->n_runs_missing));
}

/* Adds notes on whether the versions are comparable. Must be called before other reasons are added. */
static void detected_find_not_comparable(struct detected *d)
{
	struct comparable_note remarks[COMPARABLE_NOTES_MAX];
	size_t n = comparable_find_notes(d->input->old, d->input->new, remarks);

	for (size_t i = 0; i < n; i++) {
		detected_add_reason(d, remarks[i].code, "%s", remarks[i].text);
		d->is_not_comparable = d->is_not_comparable || remarks[i].is_not_comparable;
		free(remarks[i].text);
	}
}

enum assay_status detect(const struct detect_input *input, const struct detect_options *options, struct detected *out,
			 struct assay_error *err)
{
	char *renamed = match_renamed_functions(input->old, input->new);
	struct detected d = { .input = input, .back_end = input->new->back_end, .decision = DECISION_INCONCLUSIVE };
	enum assay_status st = side_check_comparable(input->old, input->new, err);
	size_t runs = 0;

	d.rate_requested = d.rate_used = options->detector.rate;
	if (!st)
		st = detected_observe(options, &d, err);
	if (st)
		goto out;
	detected_find_not_comparable(&d);
	detected_scale_to_typical_input(options, &d);
	detected_find_skipped(&d);
	runs = runs_with_samples(&d.normal);
	d.rate_used = detect_rate(options, runs);
	d.runs_needed = detect_runs_needed(options);
	if (d.normal.observations.values.rows && (d.rate_used > d.rate_requested || runs < DETECT_RUNS_MIN))
		detected_add_reason(&d, "too_few_runs",
				    "%zu normal run%s are too few for a false positive rate of %g: it needs %zu, %zu more%s", runs,
				    text_plural(runs), d.rate_requested, d.runs_needed, d.runs_needed - runs,
				    runs < DETECT_RUNS_MIN ? "" : "; judged at the smallest possible rate");
	if (d.seen.observations.values.rows && runs >= DETECT_RUNS_MIN)
		st = detected_learn_and_judge(options, &d, err);
	if (st)
		goto out;
	detected_fill_functions(options, &d);
	order_sort(d.skipped, d.n_skipped, compare_skipped);
	if (runs >= DETECT_RUNS_MIN || !d.seen.observations.values.rows)
		detected_decide(&d);
	if (renamed)
		detected_add_reason(&d, "renamed", "%s", renamed);
	*out = d;
	d = (struct detected){ .input = NULL };
out:
	detected_release(&d);
	free(renamed);
	return st;
}

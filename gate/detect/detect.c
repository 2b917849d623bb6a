#include "gate/detect/detect_internal.h"

#include "base/mem.h"
#include "base/text.h"
#include "model/anomaly/detector_parts.h"
#include "runs/inside/changes/demangle.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#define SKIP_CODE(constant, code, text) code,
#define SKIP_TEXT(constant, code, text) text,
static const char *const skip_codes[] = { DETECT_SKIP_ROWS(SKIP_CODE) };
static const char *const skip_texts[] = { DETECT_SKIP_ROWS(SKIP_TEXT) };

void detected_release(struct detected *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->functions[i].name);
	for (size_t i = 0; i < d->n_skipped; i++)
		free(d->skipped[i].name);
	for (size_t i = 0; i < d->n_reasons; i++) {
		free(d->reasons[i].code);
		free(d->reasons[i].text);
	}
	free(d->functions);
	free(d->skipped);
	free(d->reasons);
	detection_release(&d->detection);
	detector_free(d->detector);
	like_inputs_release(&d->like);
	observed_release(&d->normal);
	observed_release(&d->seen);
	*d = (struct detected){ .input = NULL };
}

static void add_reason(struct detected *d, const char *code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void add_reason(struct detected *d, const char *code, const char *fmt, ...)
{
	va_list args;
	char *text = NULL;

	va_start(args, fmt);
	ASSAY_BUG_IF(vasprintf(&text, fmt, args) < 0);
	va_end(args);
	d->reasons = mem_resize(d->reasons, d->n_reasons + 1, sizeof(d->reasons[0]));
	d->reasons[d->n_reasons++] = (struct detect_reason){ mem_string(code), text };
}

/* ---- what is not judged ---- */

static void skip(struct detected *d, const char *symbol, const char *code, const char *text, double share)
{
	d->skipped = mem_resize(d->skipped, d->n_skipped + 1, sizeof(d->skipped[0]));
	d->skipped[d->n_skipped++] = (struct detected_skip){ demangle(symbol), code, text, share };
}

void detect_skip(struct detected *d, const char *symbol, enum detect_why why, double share)
{
	skip(d, symbol, skip_codes[why], skip_texts[why], share);
}

static bool has_function(const struct observed *o, const char *name)
{
	for (size_t f = 0; f < o->observations.functions; f++)
		if (strcmp(o->functions[f], name) == 0)
			return true;
	return false;
}

static const struct observed_aside *aside_of(const struct observed *o, const char *name)
{
	for (size_t i = 0; i < o->n_aside; i++)
		if (strcmp(o->aside[i].function, name) == 0)
			return &o->aside[i];
	return NULL;
}

static void skip_one_sided(struct detected *d)
{
	const struct observed *old = &d->normal, *new = &d->seen;

	for (size_t f = 0; f < old->observations.functions; f++)
		if (!has_function(new, old->functions[f]) && !aside_of(new, old->functions[f]))
			detect_skip(d, old->functions[f], DETECT_ONLY_OLD, (double)NAN);
	for (size_t f = 0; f < new->observations.functions; f++) {
		const struct observed_aside *aside = aside_of(old, new->functions[f]);

		if (aside)
			skip(d, new->functions[f], observe_remark_code(aside->why), observe_remark_text(aside->why),
			     new->share[f]);
		else if (!has_function(old, new->functions[f]))
			detect_skip(d, new->functions[f], DETECT_ONLY_NEW, new->share[f]);
	}
}

static void keep_common(struct observed *o, const struct observed *other)
{
	bool *keep = mem_new(o->observations.functions, sizeof(keep[0]));

	for (size_t f = 0; f < o->observations.functions; f++)
		keep[f] = has_function(other, o->functions[f]);
	observed_keep(o, keep, OBSERVE_UNASKED);
	free(keep);
}

static void find_skipped(struct detected *d)
{
	for (size_t i = 0; i < d->seen.n_aside; i++)
		skip(d, d->seen.aside[i].function, observe_remark_code(d->seen.aside[i].why),
		     observe_remark_text(d->seen.aside[i].why), (double)NAN);
	if (d->input->model)
		return;
	skip_one_sided(d);
	keep_common(&d->normal, &d->seen);
	keep_common(&d->seen, &d->normal);
}

static int compare_skipped(const void *a, const void *b)
{
	const struct detected_skip *x = a, *y = b;
	double more = (isnan(y->share) ? -1 : y->share) - (isnan(x->share) ? -1 : x->share);

	return more != 0 ? (more > 0 ? 1 : -1) : strcmp(x->name, y->name);
}

/* ---- the detection ---- */

static enum assay_status observe_both(const struct detect_options *options, struct detected *d, struct assay_error *err)
{
	const struct detect_input *in = d->input;
	struct observe_options o = in->model ? in->model->observe : options->observe;
	const char **changed = NULL;
	enum assay_status st;

	if (in->places && in->places->know_change && !o.only) {
		o.n_only = places_changed(in->places, &changed);
		o.only = changed;
	}
	o.other = in->old;
	if (in->model) {
		o.inclusive = (const char *const *)in->model->inclusive;
		o.n_inclusive = in->model->n_inclusive;
		o.active_names = (const char *const *)in->model->active_names;
		o.n_active = in->model->n_active;
	}
	st = observe(in->new, &o, &d->seen, err);
	o.other = in->new;
	if (!st && in->old)
		st = observe(in->old, &o, &d->normal, err);
	free(changed);
	return st;
}

/* Not as published. */
static void compare_at_like_inputs(const struct detect_options *options, struct detected *d)
{
	const struct detect_input *in = d->input;
	const struct like_inputs *like = in->model ? &in->model->like : &d->like;
	size_t numbers = in->old ? input_numbers(in->old) : in->model->like.numbers, theirs = input_numbers(in->new);
	bool common = !in->old || input_common(in->old, in->new);
	struct buf text = BUF_INIT;

	if (in->old && !options->comparison && !options->detector.scaling->stretched)
		return;
	if (in->old)
		like_inputs_learn(in->old, &d->normal, numbers == theirs ? numbers : 0, common, &d->like);
	d->runs_unlike = like_inputs_apply(like, in->new, &d->seen);
	like_inputs_text(like, &text);
	if (text.size)
		add_reason(d, "like_inputs", "%s", text.bytes);
	if (numbers && numbers != theirs && (in->old || like->n))
		add_reason(d, "inputs_differ", "the inputs of the two versions have not equally many numbers, or not in all runs: what follows their size was %s",
		           in->old ? "compared as it is" : "not judged");
	else if (!common && !d->like.n)
		add_reason(d, "inputs_differ", "no input of the one version is an input of the other (where inputs have no names, the arguments are "
		           "compared, which may name the build): what follows the input was compared as it is");
	if (d->runs_unlike)
		add_reason(d, "inputs_unlike", "%zu run%s had inputs unlike those of normal runs: what follows the input was not judged there",
		           d->runs_unlike, text_plural(d->runs_unlike));
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

/* The rate that so many runs support, where it is not the one that was asked for. */
static double rate_of(const struct detect_options *options, size_t runs)
{
	double smallest = 1 / (double)(runs + 1);

	if (options->comparison || !detector_holds_out(&options->detector) ||
	    runs >= detector_runs_needed(options->detector.rate))
		return options->detector.rate;
	while (detector_runs_needed(smallest) > runs)
		smallest = nextafter(smallest, 1);
	return smallest;
}

static size_t runs_needed(const struct detect_options *options)
{
	size_t needed = options->comparison ? options->comparison->runs_least : DETECT_RUNS_MIN;

	if (!options->comparison && detector_holds_out(&options->detector))
		needed = detector_runs_needed(options->detector.rate);
	return needed < DETECT_RUNS_MIN ? DETECT_RUNS_MIN : needed;
}

static enum assay_status learn_and_judge(const struct detect_options *options, struct detected *d, struct assay_error *err)
{
	struct detector_options o = options->detector;
	enum assay_status st = ASSAY_OK;

	if (d->input->model) {
		d->about = detector_about(d->input->model->detector);
		return detector_judge(d->input->model->detector, &d->seen.observations, &d->detection, err);
	}
	if (options->comparison)
		return options->comparison->judge(&d->normal.observations, &d->seen.observations, o.rate, &d->detection, err);
	o.rate = d->rate_used;
	st = detector_fit(&d->normal.observations, &o, &d->detector, err);
	if (st)
		return st;
	d->about = detector_about(d->detector);
	return detector_judge(d->detector, &d->seen.observations, &d->detection, err);
}

/* ---- the decision ---- */

static void explain_functions(struct detected *d)
{
	for (size_t i = 0; i < d->n_worse + d->n_improved; i++) {
		const struct detected_function *f = &d->functions[i];

		struct buf kind = BUF_INIT;

		kind_text(&f->kind, "; also ", &kind);
		add_reason(d, f->kind.improved ? "improved" : "anomalous", "%s: %s, in %zu of %zu runs", f->name, kind.bytes,
		           f->found->runs_anomalous, f->found->runs);
		buf_release(&kind);
	}
	for (size_t i = d->n_worse + d->n_improved; i < d->n_worse + d->n_improved + d->n_side_effects; i++)
		add_reason(d, "side_effect", "%s: a side effect of %s", d->functions[i].name, d->functions[i].side_effect_of);
	if (!d->n)
		add_reason(d, "nothing_to_judge", "none of the functions could be judged");
	if (d->n_small)
		add_reason(d, "detected_but_small", "%zu function%s behave%s otherwise by less than matters", d->n_small,
		           text_plural(d->n_small), d->n_small == 1 ? "s" : "");
	if (d->n && !d->n_worse && !d->n_improved && !d->n_small)
		add_reason(d, "nothing_anomalous", "%zu function%s behave%s as before in %zu run%s", d->n, text_plural(d->n),
		           d->n == 1 ? "s" : "", d->detection.runs, text_plural(d->detection.runs));
}

static void decide(struct detected *d)
{
	explain_functions(d);
	if (!d->n)
		d->decision = DECISION_NOTHING_MEASURED;
	else if (d->rate_used > d->rate_asked)
		d->decision = DECISION_INCONCLUSIVE;
	else if (d->n_worse)
		d->decision = DECISION_REGRESSION;
	else
		d->decision = d->n_improved ? DECISION_IMPROVED : DECISION_PASS;
	if (d->about && !d->about->sufficient && d->about->runs_more)
		add_reason(d, "training_insufficient",
		           "what is normal is not settled yet: about %zu more run%s of the old version would do it",
		           d->about->runs_more, text_plural(d->about->runs_more));
}

static void explain_too_few(struct detected *d, size_t runs)
{
	add_reason(d, "too_few_runs", "%zu normal run%s cannot support a false positive rate of %g: it takes %zu, %zu more%s",
	           runs, text_plural(runs), d->rate_asked, d->runs_needed, d->runs_needed - runs,
	           runs < DETECT_RUNS_MIN ? "" : "; judged by the smallest that they support");
}

static enum assay_status check_input(const struct detect_input *in, struct assay_error *err)
{
	ASSAY_BUG_IF(!in->old == !in->model);
	return in->old ? side_compare(in->old, in->new, err) : model_file_check(in->model, in->new, err);
}

enum assay_status detect(const struct detect_input *input, const struct detect_options *options, struct detected *out,
                         struct assay_error *err)
{
	struct detected d = { .input = input, .back_end = input->new->back_end, .decision = DECISION_INCONCLUSIVE };
	enum assay_status st = check_input(input, err);
	size_t runs = 0;

	d.rate_asked = d.rate_used = input->model ? input->model->options.rate : options->detector.rate;
	if (!st)
		st = observe_both(options, &d, err);
	if (st)
		goto out;
	compare_at_like_inputs(options, &d);
	find_skipped(&d);
	if (!input->model) {
		runs = runs_with_samples(&d.normal);
		d.rate_used = rate_of(options, runs);
		d.runs_needed = runs_needed(options);
	}
	if (!input->model && d.normal.observations.values.rows && (d.rate_used > d.rate_asked || runs < DETECT_RUNS_MIN))
		explain_too_few(&d, runs);
	if (d.seen.observations.values.rows && (input->model || runs >= DETECT_RUNS_MIN))
		st = learn_and_judge(options, &d, err);
	if (st)
		goto out;
	detect_take_functions(&d);
	if (d.n_skipped)
		qsort(d.skipped, d.n_skipped, sizeof(d.skipped[0]), compare_skipped);
	if (input->model || runs >= DETECT_RUNS_MIN || !d.seen.observations.values.rows)
		decide(&d);
	*out = d;
	d = (struct detected){ .input = NULL };
out:
	detected_release(&d);
	return st;
}

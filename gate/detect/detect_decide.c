#include "gate/detect/detect_decide.h"

#include "base/mem.h"
#include "base/text.h"
#include "gate/detect/counters.h"
#include "runs/inside/samples/samples_clock.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#define LEAST_OUTWEIGHED .5 /* of what is saved, at most, is what became worse where the version as a whole did not */
#define DIVIDED_SAID	 3  /* functions that are named where single calls differ alone; more are counted */
#define DIVIDED_BYTES	 100
#define CALLS_SAID	 .005 /* below that the number of calls is as it was, in three digits */
#define UNSURE_PART	 .5   /* of a mean duration, at most: with more, no ratio is known */

void detected_add_reason(struct detected *d, const char *code, const char *fmt, ...)
{
	va_list args;
	char *text = NULL;

	va_start(args, fmt);
	ASSAY_BUG_IF(vasprintf(&text, fmt, args) < 0);
	va_end(args);
	d->reasons = mem_resize(d->reasons, d->n_reasons + 1, sizeof(d->reasons[0]));
	d->reasons[d->n_reasons++] = (struct detect_reason){ mem_string(code), text };
}

/* NULL: no time was looked at. */
static const struct detection_mean *detected_duration(const struct detected *d, const struct detected_function *f)
{
	for (size_t c = 0; c < d->seen.observations.values.cols && f->found->means; c++)
		if (strcmp(d->seen.columns[c], COUNTERS_TIME) == 0)
			return &f->found->means[c];
	return NULL;
}

bool detected_spread(const struct detected *d, const struct detected_function *f)
{
	const struct detection_mean *mean = detected_duration(d, f);

	return mean && mean->unsure >= UNSURE_PART;
}

/* By what measuring takes. */
static bool detected_inexact(const struct detected *d, const struct detected_function *f)
{
	double then = d->normal.facts[f->found->function].unsure_ns, now = d->seen.facts[f->found->function].unsure_ns;
	const struct detection_mean *mean = detected_duration(d, f);

	return mean && fmax(then, now) > 0 && (now >= UNSURE_PART * mean->now || then >= UNSURE_PART * mean->normal);
}

/* A function that does much, and whose duration is not known better than by half. */
static const struct detected_function *detected_unsure(const struct detected *d, bool spread)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct detected_function *f = &d->functions[i];

		if (f->share >= DETECT_SHARE_SAID && (spread ? detected_spread(d, f) : detected_inexact(d, f)))
			return f;
	}
	return NULL;
}

/* What became worse costs so much less than what others save that the version does not: costs are orders of magnitude. Misses save nothing
 * here: in short runs most are the first ones, of which fewer are no gain beside work, or lines that threads wait for. The same in a
 * function of which something became more and something else less: code that was divided or joined has other branches, and other blocks,
 * and may call less (callers.h). */
static bool detected_outweighed(const struct detected *d)
{
	double worse = 0, saved = 0, called_less = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct detected_function *f = &d->functions[i];
		double calling = callers_calling_ns(&d->callers, f->symbol) * f->calls;

		if (f->anomalous && !f->kind.improved) {
			worse += fmax(f->kind.more_ns, f->kind.own_ns) * f->calls + fmin(0, calling);
			continue;
		}
		called_less -= calling;
		if (f->anomalous || (f->found->anomalous && f->kind.mixed && !f->kind.small))
			saved += fmax(0, -f->kind.own_ns) * f->calls;
	}
	saved += fmax(0, called_less);
	return worse < 0 || (saved > 0 && worse <= LEAST_OUTWEIGHED * saved);
}

/* The reverse: what functions save is not more than what calls take that only the new version makes. */
static bool detected_saves_nothing(const struct detected *d)
{
	double saved = 0, calling = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct detected_function *f = &d->functions[i];

		saved += f->anomalous && f->kind.improved ? -f->kind.more_ns * f->calls : 0;
		calling += callers_calling_ns(&d->callers, f->symbol) * f->calls;
	}
	return calling > 0 && saved <= calling;
}

/* It ends well in all runs of the old version, and not in all of the new one: what it did there until then nobody knows. */
static bool detected_crashes(const struct detected *d)
{
	return d->input->new->killed && !d->input->old->killed;
}

/* In another number of calls, as it is said. */
static bool called_otherwise(const struct detected_function *f)
{
	return f->found->anomalous && f->kind.spread && fabs(f->kind.calls - 1) >= CALLS_SAID;
}

static enum decision decision_of(const struct detected *d)
{
	if (!d->n)
		return DECISION_NOTHING_MEASURED;
	if (d->apart || d->rate_used > d->rate_asked)
		return DECISION_INCONCLUSIVE;
	if (d->n_worse && !detected_outweighed(d))
		return DECISION_REGRESSION;
	if (detected_crashes(d))
		return DECISION_INCONCLUSIVE;
	if (d->few_measured || detected_unsure(d, true))
		return DECISION_INCONCLUSIVE;
	if (d->n_improved && !detected_saves_nothing(d))
		return DECISION_IMPROVED;
	return detected_unsure(d, false) ? DECISION_INCONCLUSIVE : DECISION_PASS;
}

/* Says what has changed in a function that is neither worse nor improved. */
static void detected_explain_aside(struct detected *d, const struct detected_function *f, bool *mixed)
{
	struct buf text = BUF_INIT;

	if (called_otherwise(f))
		detected_add_reason(
		    d, "called_otherwise",
		    "%s: called %.3g times as often in a run; what single calls do has changed with that, and not for the worse", f->name,
		    f->kind.calls);
	if (f->found->anomalous && f->kind.mixed && !f->kind.small) {
		*mixed = true;
		kind_text(&f->kind, "; also ", &text);
		detected_add_reason(d, "mixed", "%s: %s", f->name, text.bytes);
	}
	buf_release(&text);
}

/* In one line: they decide nothing. */
static void detected_explain_divided(struct detected *d)
{
	struct buf names = BUF_INIT;
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct detected_function *f = &d->functions[i];

		if (f->found->anomalous && f->kind.spread && !called_otherwise(f) && ++n <= DIVIDED_SAID)
			buf_format(&names, "%s%s", n > 1 ? ", " : "", f->name);
	}
	if (n > DIVIDED_SAID || names.size > DIVIDED_BYTES) {
		names.size = 0;
		buf_format(&names, "%zu functions", n);
	}
	if (n)
		detected_add_reason(d, "divided_otherwise",
				    "%s: single calls differ from normal ones, but all calls together do what they did", names.bytes);
	buf_release(&names);
}

static void detected_explain_functions(struct detected *d)
{
	bool mixed = false;

	for (size_t i = 0; i < d->n_worse + d->n_improved; i++) {
		const struct detected_function *f = &d->functions[i];

		struct buf kind = BUF_INIT;

		kind_text(&f->kind, "; also ", &kind);
		detected_add_reason(d, f->kind.improved ? "improved" : "anomalous", "%s: %s, in %zu of %zu runs", f->name, kind.bytes,
				    f->found->runs_anomalous, f->found->runs);
		buf_release(&kind);
	}
	for (size_t i = d->n_worse + d->n_improved; i < d->n_worse + d->n_improved + d->n_side_effects; i++)
		detected_add_reason(d, "side_effect", "%s: a side effect of %s", d->functions[i].name, d->functions[i].side_effect_of);
	if (d->n_worse && detected_outweighed(d))
		detected_add_reason(
		    d, "outweighed",
		    "what is worse costs less than half of what other functions save, or less than what the same ones do: about, "
		    "the version does less in all");
	if (d->n_improved && !d->n_worse && detected_saves_nothing(d))
		detected_add_reason(d, "outweighed", "what is saved is not more than what calls take that only the new version makes");
	if (!d->n)
		detected_add_reason(d, "nothing_to_judge", "none of the functions could be judged");
	for (size_t i = 0; i < d->n; i++)
		detected_explain_aside(d, &d->functions[i], &mixed);
	detected_explain_divided(d);
	if (!d->n_worse && detected_unsure(d, false))
		detected_add_reason(d, "unsure",
				    "%s takes so little time that what measuring takes is not known exactly enough to compare it",
				    detected_unsure(d, false)->name);
	if (!d->n_worse && detected_unsure(d, true))
		detected_add_reason(
		    d, "unsure",
		    "how long %s takes is not known: few runs are far from the others and make the mean; on a machine that does "
		    "nothing else they are fewer",
		    detected_unsure(d, true)->name);
	if (d->few_measured && !d->n_worse)
		detected_add_reason(d, "unsure",
				    "too few calls were measured of functions that do much: more runs, or a higher --budget, help");
	if (d->n_small > d->n_spread)
		detected_add_reason(d, "detected_but_small", "%zu function%s changed by less than the minimum effect",
				    d->n_small - d->n_spread, text_plural(d->n_small - d->n_spread));
	if (d->n && !d->n_worse && !d->n_improved && !d->n_small && !mixed)
		detected_add_reason(d, "nothing_anomalous", "%zu function%s behave%s as before in %zu run%s", d->n, text_plural(d->n),
				    d->n == 1 ? "s" : "", d->detection.runs, text_plural(d->detection.runs));
}

static struct samples_time time_of(const struct side *side)
{
	struct samples_time time = { .n = 0 };

	for (size_t r = 0; r < side->n; r++)
		for (size_t f = 0; f < side->runs[r].n_files; f++)
			samples_time_add(&time, &side->runs[r].files[f]);
	return time;
}

/* Says how much of the program's time the emulation does not count, in the version in which that is more. It decides nothing. */
static void detected_explain_unseen(struct detected *d)
{
	struct samples_time old = time_of(d->input->old), new = time_of(d->input->new);
	char *text = samples_time_text(old.unseen * new.ticks > new.unseen *old.ticks ? &old : &new);

	if (text)
		detected_add_reason(d, "unseen_time", "%s", text);
	free(text);
	samples_time_release(&old);
	samples_time_release(&new);
}

void detected_decide(struct detected *d)
{
	d->decision = decision_of(d);
	detected_explain_functions(d);
	if (d->back_end == RECORD_EMULATED)
		detected_explain_unseen(d);
	if (d->about && !d->about->sufficient && d->about->runs_more)
		detected_add_reason(d, "training_insufficient",
				    "the baseline has not converged: collect about %zu more run%s of the old version", d->about->runs_more,
				    text_plural(d->about->runs_more));
}

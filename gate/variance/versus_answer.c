#include "gate/variance/answer.h"
#include "gate/variance/versus.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PLACES_TOLD 12
#define CHANGE	    .02 /* of all time: a place that changed it less is not told to people */

#define VERSUS_NAME(id, name, decision, text)	  name,
#define VERSUS_DECISION(id, name, decision, text) decision,
#define VERSUS_TEXT(id, name, decision, text)	  text,
static const char *reason_name(enum versus_reason reason)
{
	static const char *const names[] = { VERSUS_ROWS(VERSUS_NAME) };

	return names[reason];
}

static const char *decision_of(enum versus_reason reason)
{
	static const char *const decisions[] = { VERSUS_ROWS(VERSUS_DECISION) };

	return decisions[reason];
}

static const char *reason_text(enum versus_reason reason)
{
	static const char *const texts[] = { VERSUS_ROWS(VERSUS_TEXT) };

	return texts[reason];
}

static enum doc_tone tone_of(enum versus_reason reason)
{
	const char *decision = decision_of(reason);

	if (strcmp(decision, "code") == 0 && reason != VERSUS_LESS_WORK && reason != VERSUS_FASTER)
		return DOC_BAD;
	return strcmp(decision, "inconclusive") == 0 ? DOC_DOUBTFUL : DOC_GOOD;
}

static void run_row(const char *name, const struct versus_run *r, struct document *d)
{
	double waited = r->expected_s > 0 ? r->waits_s / r->expected_s : 0;

	doc_row(d);
	doc_show(d, "run", "run, against the baseline", name);
	doc_showf(d, "time_s", "seconds", r->time_s, "%.3f", r->time_s);
	doc_showf(d, "work_more", "work", r->work_more, "%+.1f %%", 100 * r->work_more);
	doc_showf(d, "slower", "time for as much work", r->slower, "%+.1f %%", 100 * r->slower);
	doc_showf(d, "waits_s", "of that, waiting for a processor", r->waits_s, "%+.1f %%", 100 * waited);
	doc_showf(d, "processor_more", "processor time", r->processor_more, "%+.1f %%", 100 * r->processor_more);
	doc_showf(d, "shared", "in work of both", r->shared, "%.0f %%", 100 * r->shared);
	doc_showf(d, "counted", "work counted", r->counted, "%.0f %%", 100 * r->counted);
}

static void places_table(const struct versus *v, struct document *d)
{
	size_t shown = 0;

	doc_section(d, "places", "Places", "Where the time changed",
		    "Calls, and the computation between two calls, by what they take more or less than in the baseline.");
	doc_table(d, "places");
	for (size_t i = 0; i < v->n_places && i < PLACES_TOLD; i++) {
		const struct versus_place *p = &v->places[i];
		char *place = variance_place(p->named_by, p->from, p->to), *old = variance_seconds(p->old_s);
		char *new = variance_seconds(p->new_s), *for_work = variance_seconds(p->expected_s);

		doc_row(d);
		if (shown && fabs(p->new_s - p->old_s) < CHANGE * v->candidate.time_s)
			doc_hide(d);
		shown++;
		doc_show(d, "place", "call, or from one to the next", place);
		doc_showf(d, "baseline_s", "baseline", p->old_s, "%s", old);
		if (p->only_old || p->only_new)
			doc_show(d, "work_more", "work", DOC_NOTHING);
		else
			doc_showf(d, "work_more", "work", p->work_more, "%+.1f %%", 100 * p->work_more);
		doc_showf(d, "expected_s", "for that work", p->expected_s, "%s", for_work);
		doc_showf(d, "candidate_s", "candidate", p->new_s, "%s", new);
		free(place);
		free(old);
		free(new);
		free(for_work);
	}
	doc_end(d);
}

/* What keeps the decision from being surer, and what would mend that. */
static void remedies(const struct versus *v, struct document *d)
{
	if (v->reason == VERSUS_UNTOLD)
		doc_line(
		    d,
		    "to know, record the old version again now, beside the new one, and add it: 'assay variance compare BASELINE CANDIDATE "
		    "--beside DIRECTORY'; does it take as long, it is the environment, else the code");
	if (v->reason == VERSUS_WAITED && !v->has_beside)
		doc_line(
		    d,
		    "what the code itself may have lost is hidden behind that: compare again when processors are free, or with --beside");
	if (v->reason == VERSUS_NOT_SHARED)
		doc_line(d, "longer runs, or the same input for both, have more work that repeats in both");
	if (!(v->candidate.counted > .5) && strcmp(decision_of(v->reason), "code") == 0 && v->reason != VERSUS_MORE_WORK &&
	    v->reason != VERSUS_LESS_WORK)
		doc_line(d, "nothing counted the work of the computation: it may be more work or slower work (docs/variance.md)");
}

static void slow_places(const char *who, const struct variance *run, struct document *d)
{
	const struct region *r = run->n_regions ? &run->regions[0] : NULL;
	char *processes, *why, *lost;

	if (!r)
		return;
	processes = variance_processes(run, r);
	why = variance_why(r);
	lost = variance_seconds(r->estimated_s);
	doc_line(d, "within the %s, %s lost %s from %.2f s to %.2f s%s%s ('assay variance show' says more)", who, processes, lost,
		 r->from_s, r->to_s, *why ? ": " : "", why);
	free(processes);
	free(why);
	free(lost);
}

void versus_answer(const struct versus *v, const struct variance *baseline, const struct variance *candidate, struct document *d)
{
	const struct versus_run *r = &v->candidate;

	doc_answer(d, tone_of(v->reason), decision_of(v->reason),
		   "%s: work %+.1f %%, time for as much work %+.1f %%, processor time for it %+.1f %%", reason_text(v->reason),
		   100 * r->work_more, 100 * r->slower, 100 * r->processor_more);
	doc_set(d, "decision", decision_of(v->reason));
	doc_set(d, "reason", reason_name(v->reason));
	remedies(v, d);
	slow_places("baseline", baseline, d);
	slow_places("candidate", candidate, d);
	doc_table(d, "runs");
	run_row("candidate", r, d);
	if (v->has_beside)
		run_row("baseline's version beside it", &v->beside, d);
	doc_end(d);
	places_table(v, d);
}

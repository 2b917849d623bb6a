#include "gate/comparison/comparison.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>

/* ---- the stages: each fills its part, and says why it is not there ---- */

static struct comparison_absent stage_variance(struct lab *lab, struct comparison *c)
{
	const struct weighed_side *sides = c->weighed.sides;

	c->excused = variance_weigh(lab, &c->verdict, &c->weighed);
	if (sides[0].runs || sides[1].runs || sides[0].unseen || sides[1].unseen)
		return (struct comparison_absent){ NULL, NULL };
	return (struct comparison_absent){ "not_recorded", "the calls of these runs were not recorded" };
}

double comparison_told(const struct verdict *v, const struct measured *m, double open)
{
	double difference = 0;

	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].depth == PART_TIME && !(verdict_by_processor(v) && m->parts[i].of == LEVEL_WAITING))
			difference += m->parts[i].difference;
	return decision_is_finding(v->effect.decision) ? MEASURED_TOLD * fabs(difference) : open;
}

static const char *part_text(const struct measured_part *part)
{
	return part->depth == PART_TIME ? level_text(part->of) : part->name;
}

/* Adds the finding that a candidate which passes uses other resources: more time on one, less on another, both by as much as matters. */
static void add_shift(struct comparison *c)
{
	struct verdict *v = &c->verdict;
	const struct measured_part *more = NULL, *less = NULL;
	double matters = v->min_effect * fmax(c->measured.seconds[0], c->measured.seconds[1]);

	for (size_t i = 0; i < c->measured.n; i++) {
		const struct measured_part *part = &c->measured.parts[i];

		if (part->depth == PART_FUNCTION || !part->certain)
			continue;
		more = part->difference >= (more ? more->difference : matters) ? part : more;
		less = part->difference <= (less ? less->difference : -matters) ? part : less;
	}
	if (v->effect.decision != DECISION_PASS || v->times.disturbed || !more || !less || v->n_reasons == VERDICT_REASONS_MAX)
		return;
	v->reasons[v->n_reasons++] =
	    (struct verdict_reason){ "resource_shift",
				     mem_format("at equal cost it uses other resources: a run takes %s s more %s and %s s less %s",
						text_fixed(more->difference, 3).text, part_text(more),
						text_fixed(-less->difference, 3).text, part_text(less)) };
}

static enum assay_status stage_measured(struct lab *lab, struct comparison *c, struct assay_error *err)
{
	const struct verdict *v = &c->verdict;
	enum assay_status st =
	    measured_load(&lab->store, &v->pairing, (const struct run_set *const[]){ v->baseline, v->candidate }, &c->measured, err);

	if (!st && !c->measured.machines)
		c->absent[COMPARISON_MEASURED] =
		    (struct comparison_absent){ "no_times", "no machine has runs of both versions whose time was measured" };
	c->cause = st ? mem_string("") : measured_text(&c->measured, comparison_told(v, &c->measured, (double)INFINITY));
	add_shift(c);
	return st;
}

static enum assay_status stage_calibration(struct lab *lab, const struct calibration_quote *quote, struct comparison *c,
					   struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	if (quote)
		c->calibration = calibration_quote_copy(quote);
	else
		st = calibration_quote_now(lab, &c->verdict, &c->calibration, err);
	if (!st && !c->calibration.identical)
		c->absent[COMPARISON_CALIBRATION] = (struct comparison_absent){ "not_calibrated", "'assay calibrate' was not run" };
	return st;
}

static struct comparison_absent stage_contributions(const struct evidence *evidence, struct comparison *c)
{
	contributions_of(evidence, &c->verdict, 0, &c->contributions);
	return (struct comparison_absent){ c->contributions.missing ? "not_inferred" : NULL, c->contributions.missing };
}

/* Adds to the cause the function that explains most. */
static struct comparison_absent stage_functions(struct lab *lab, struct comparison *c)
{
	struct function_reason r;
	char *cause = c->cause;

	function_evidence_of(lab, c->verdict.baseline, c->verdict.candidate, &c->functions);
	if (c->functions.missing)
		return (struct comparison_absent){ "not_judged", c->functions.missing };
	if (!c->functions.there)
		return (struct comparison_absent){ "no_samples", "functions of these versions were not measured" };
	if (function_evidence_row(&c->functions, c->verdict.effect.decision, 0, &r)) {
		char *why = function_evidence_reason(&c->functions, r.name),
		     *place = r.file ? mem_format(" (%s:%u)", text_file_name(r.file), r.line) : mem_string("");

		c->cause = mem_format("%s%smost in %s%s%s%s", cause, *cause ? "; " : "", r.name, place, why ? ": " : "", why ? why : "");
		mem_free(cause, place, why);
	}
	return (struct comparison_absent){ NULL, NULL };
}

static struct comparison_absent stage_signatures(struct lab *lab, const struct evidence *evidence, struct comparison *c)
{
	likeness_of(lab, evidence, &c->verdict, &c->contributions, &c->functions, &c->likeness);
	if (c->likeness.missing)
		return (struct comparison_absent){ "not_compared", c->likeness.missing };
	if (!c->likeness.n)
		return (struct comparison_absent){ "no_functions", "there are no functions that explain the change" };
	return (struct comparison_absent){ NULL, NULL };
}

enum assay_status comparison_of(struct lab *lab, const struct comparison_asked *asked, struct comparison *out, struct assay_error *err)
{
	enum assay_status st;

	*out = (struct comparison){ .last = asked->last };
	st = verdict_of(asked->evidence, &lab->config, asked->baseline, asked->candidate, asked->min_effect, &out->verdict, err);
	if (!st && asked->min_gain > 0)
		verdict_gain(&out->verdict, asked->min_gain);
	if (!st && asked->last >= COMPARISON_VARIANCE)
		out->absent[COMPARISON_VARIANCE] = stage_variance(lab, out);
	if (!st && asked->last >= COMPARISON_MEASURED)
		st = stage_measured(lab, out, err);
	if (!st && asked->last >= COMPARISON_CALIBRATION)
		st = stage_calibration(lab, asked->calibration, out, err);
	if (!st && asked->last >= COMPARISON_CONTRIBUTIONS)
		out->absent[COMPARISON_CONTRIBUTIONS] = stage_contributions(asked->evidence, out);
	if (!st && asked->last >= COMPARISON_FUNCTIONS)
		out->absent[COMPARISON_FUNCTIONS] = stage_functions(lab, out);
	if (!st && asked->last >= COMPARISON_SIGNATURES)
		out->absent[COMPARISON_SIGNATURES] = stage_signatures(lab, asked->evidence, out);
	return st;
}

enum assay_status comparison_here(const struct comparison_asked *asked, const struct measured_side sides[2], struct code *code,
				  struct comparison *out, struct assay_error *err)
{
	static const enum comparison_part stored[] = { COMPARISON_VARIANCE, COMPARISON_CALIBRATION, COMPARISON_FUNCTIONS,
						       COMPARISON_SIGNATURES };
	static const struct lab_config none = { .min_effect = LAB_MIN_EFFECT };
	double open;
	enum assay_status st;

	*out = (struct comparison){ .last = COMPARISON_ALL };
	st = verdict_of(asked->evidence, &none, asked->baseline, asked->candidate, asked->min_effect, &out->verdict, err);
	st = st ? st : measured_of(sides, 1, code, &out->measured, err);
	if (st)
		return st;
	open = asked->min_effect * fmax(out->measured.seconds[0], out->measured.seconds[1]);
	out->cause = measured_text(&out->measured, comparison_told(&out->verdict, &out->measured, open));
	add_shift(out);
	out->absent[COMPARISON_CONTRIBUTIONS] = stage_contributions(asked->evidence, out);
	for (size_t i = 0; i < sizeof(stored) / sizeof(stored[0]); i++)
		out->absent[stored[i]] = (struct comparison_absent){ "no_laboratory", "it takes a laboratory ('assay init')" };
	return ASSAY_OK;
}

void comparison_release(struct comparison *c)
{
	likeness_release(&c->likeness);
	function_evidence_release(&c->functions);
	contributions_release(&c->contributions);
	mem_free(c->calibration.stale, c->cause);
	measured_release(&c->measured);
	variance_weighed_release(&c->weighed);
	verdict_release(&c->verdict);
	*c = (struct comparison){ .last = COMPARISON_VERDICT };
}

/* ---- the answer ---- */

static void answer_absent(const struct comparison *c, struct document *d)
{
	static const char *const codes[] = { COMPARISON_ROWS(ROWS_WORD) };

	doc_table(d, "absent");
	doc_hide(d);
	for (int part = 0; part < COMPARISON_PARTS; part++) {
		if (!c->absent[part].code)
			continue;
		doc_row(d);
		doc_set(d, "part", codes[part]);
		doc_set(d, "code", c->absent[part].code);
		doc_set(d, "text", c->absent[part].text);
	}
	doc_end(d);
}

void comparison_answer(const struct comparison *c, bool all_machines, size_t groups, struct document *d)
{
	bool guesses = all_machines || !c->measured.machines; /* where something was measured, users see what is certain besides */

	ASSAY_BUG_IF(c->last != COMPARISON_ALL);
	verdict_answer(&c->verdict, c->cause, d);
	measured_answer(&c->measured, "measured", (const char *const[]){ "baseline", "candidate" }, d);
	verdict_answer_details(&c->verdict, all_machines, guesses, d);
	calibration_answer(&c->calibration, d);
	contributions_answer(&c->contributions, groups ? groups : guesses || c->contributions.n_leading ? CONTRIBUTIONS_SHOWN : 0, d);
	function_evidence_add(&c->functions, verdict_of_cost(&c->verdict), d);
	likeness_add(&c->likeness, d);
	variance_weighed_answer(&c->weighed, d);
	answer_absent(c, d);
}

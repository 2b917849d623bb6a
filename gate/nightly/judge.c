#include "gate/nightly/judge.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"

#include <math.h>

/* Returns the first rule that applies; DECISION_RULES if no rule applies, so that the verdict decides. */
static enum decision_rule decision_rule_find(const struct decision_input *in)
{
	bool finding = decision_is_finding(in->verdict);

	ASSAY_BUG_IF(in->verdict >= DECISIONS || in->confirmation > CONFIRMATION_DISTURBED);
	DECISION_RULE_ROWS(RULE_WHEN)
	return DECISION_RULES;
}

static const char *const rule_texts[] = { DECISION_RULE_ROWS(RULE_TEXT) };
static const enum decision rule_decisions[] = { DECISION_RULE_ROWS(RULE_DECISION) };

static ROWS_FUNCTION(decision_rule_code, enum decision_rule, DECISION_RULE_ROWS, RULE_CODE)
ROWS_FUNCTION(confirmation_result_code, enum confirmation_result, CONFIRMATION_ROWS, ROWS_WORD)

void judge_request_release(struct judge_request *q)
{
	mem_free(q->application, q->baseline, q->candidate, q->no_comparison_reason, q->accepted);
	*q = (struct judge_request){ .plan = "" };
}

void judge_comparison_release(struct judge_comparison *c)
{
	comparison_release(&c->comparison);
	disturbed_release(&c->disturbed);
	run_set_release(&c->sides[0]);
	run_set_release(&c->sides[1]);
}

enum assay_status judge_compare(struct lab *lab, const struct evidence *evidence, const struct judge_compare_request *asked,
				struct judge_comparison *out, struct assay_error *err)
{
	const struct judge_request *q = asked->request;
	const char *versions[] = { q->baseline, asked->candidate ? asked->candidate : q->candidate };
	enum assay_status st = ASSAY_OK;

	*out = (struct judge_comparison){ .sides = { { 0 } } };
	for (int i = 0; !st && i < 2; i++)
		st = run_load_plan(&lab->store, q->application, versions[i], asked->plan, &out->sides[i], err);
	for (int i = 0; !st && asked->architecture && i < 2; i++)
		evidence_keep_architecture(evidence, asked->architecture, &out->sides[i]);
	if (st)
		return st;
	disturbed_exclude_runs(out->sides, q->min_effect, &out->disturbed);
	return comparison_compute(lab,
				  &(struct comparison_request){ .evidence = evidence,
								.baseline = &out->sides[0],
								.candidate = &out->sides[1],
								.min_effect = q->min_effect,
								.min_gain = q->min_gain,
								.last = asked->last,
								.calibration = q->calibration },
				  &out->comparison, err);
}

static const struct effect *choose_effect(const struct verdict *v, bool processor)
{
	return processor ? &v->times.effects[TIME_PROCESSOR] : &v->effect;
}

bool judge_is_settled(const struct verdict *v)
{
	const struct effect *e = verdict_effect(v);

	if (decision_is_finding(v->effect.decision))
		return isnan(e->low) || stats_round(e->low) >= stats_round(1 + v->min_effect) ||
		       stats_round(e->high) <= stats_round(1 / (1 + v->min_effect));
	return v->effect.decision == DECISION_PASS || verdict_never_starts(v);
}

/* Returns the two-sided p-value, corrected for interim analyses. Computes it from the interval; NaN if there is no interval. */
static double effect_p_value(const struct verdict *v)
{
	const struct effect *e = verdict_effect(v);
	double level = e->level, df, statistic;
	size_t runs = v->baseline->n + v->candidate->n;

	if (!e->types || isnan(e->low) || !(e->high > e->low))
		return (double)NAN;
	df = e->within ? (double)(runs > 2 * v->pairing.used + 1 ? runs - 2 * v->pairing.used : 1) : (double)e->types - 1;
	statistic = fabs(log(e->ratio)) / (log(e->high / e->low) / 2) * stats_t_quantile(1 - (1 - level) / 2, df);
	return fmin(1, 2 * stats_t_cdf(-statistic, df) * (1 - EFFECT_LEVEL) / (1 - level));
}

/* Counts the machines whose log ratio exceeds `least` in the direction of the finding. Sets *last to the last of them, if any. */
static size_t count_machines_with_finding(const struct verdict *v, enum decision finding, double least, const char **last)
{
	double way = finding == DECISION_IMPROVED ? -1 : 1;
	size_t n = 0;

	for (size_t i = 0; i < v->pairing.n; i++) {
		const struct pairing_machine *m = &v->pairing.machines[i];

		if (m->reason == PAIRING_USED && way * m->log_ratio > least) {
			*last = m->machine;
			n++;
		}
	}
	return n;
}

/* Returns the only one of several machines that shows the finding by more than half of min_effect; NULL if there is no such machine. */
static const char *find_decisive_machine(const struct verdict *v)
{
	const char *machine = NULL;
	size_t n = count_machines_with_finding(v, v->effect.decision, log1p(v->min_effect) / 2, &machine);

	return n == 1 && v->pairing.used > 1 ? machine : NULL;
}

size_t judgement_count_machines(const struct judgement *j)
{
	size_t n = 0;

	for (size_t i = 0; i < j->n_machines; i++)
		n += isnan(j->machines[i].log_ratio) ? 0 : 1;
	return n;
}

/* Returns the number of runs whose recorded calls the comparison analysed. */
static int64_t count_recorded_runs(const struct comparison *c)
{
	return (int64_t)(c->weighed.sides[0].runs + c->weighed.sides[1].runs);
}

bool judge_is_confirmed(const struct verdict *v, enum decision finding, bool processor, size_t machines)
{
	size_t wanted = machines < v->pairing.used ? machines : v->pairing.used;
	const struct effect *e = choose_effect(v, processor);
	bool away = finding == DECISION_IMPROVED ? stats_round(e->high) < 1 : stats_round(e->low) > 1; /* false if there is no interval */
	const char *ignored;

	return (v->effect.decision == finding || away) && count_machines_with_finding(v, finding, 0, &ignored) >= wanted;
}

static void describe_side_effect(const char *key, const struct judge_comparison *c, bool processor, const char *word, struct document *d)
{
	const struct verdict *v = &c->comparison.verdict;
	const struct effect *e = choose_effect(v, processor);

	doc_object(d, key);
	doc_set(d, "ratio", e->types ? e->ratio : (double)NAN);
	doc_set(d, "low", e->low);
	doc_set(d, "high", e->high);
	doc_set(d, "level", e->level);
	doc_set(d, "machines", v->pairing.used);
	doc_set(d, "outcome", word);
	variance_effect_describe(&c->comparison.weighed, d);
	doc_end(d);
}

/* Compares the A/A control. Sets has_control_moved if the control changed in the direction of the finding, by CPU time if `processor`,
 * otherwise by the metric. */
static enum assay_status judge_control(struct lab *lab, const struct evidence *evidence, const struct judge_request *q, const char *plan,
				       const char *architecture, bool processor, const char *key, struct judgement *out, struct document *d,
				       struct assay_error *err)
{
	char *again = mem_format("%s" MANIFEST_COPY_SUFFIX, q->baseline);
	const struct judge_compare_request asked = { q, plan, again, architecture, COMPARISON_VERDICT };
	struct judge_comparison control;
	enum assay_status st = judge_compare(lab, evidence, &asked, &control, err);

	if (!st) {
		const struct verdict *v = &control.comparison.verdict;
		enum decision by_time = processor ? v->times.effects[TIME_PROCESSOR].decision : v->interval_decision;
		bool moved = by_time == out->input.verdict;

		out->input.has_control_moved = out->input.has_control_moved || moved;
		describe_side_effect(key, &control, processor, moved ? "moved" : "still", d);
	}
	judge_comparison_release(&control);
	free(again);
	return st;
}

/* Judges the confirmation runs of a finding: whether they show the finding again, and whether their A/A control changed. */
static enum assay_status judge_confirmation(struct lab *lab, const struct evidence *evidence, const struct judge_request *q,
					    const char *architecture, bool processor, struct judgement *out, struct document *d,
					    struct assay_error *err)
{
	const struct judge_compare_request asked = { q, q->confirmation_plan, NULL, architecture, COMPARISON_VARIANCE };
	struct judge_comparison confirmation;
	enum assay_status st = judge_compare(lab, evidence, &asked, &confirmation, err);

	if (!st) {
		const struct verdict *v = &confirmation.comparison.verdict;

		if (confirmation.comparison.is_excused) {
			out->input.confirmation = CONFIRMATION_DISTURBED;
			out->confirmation_reason = mem_string(v->reasons[0].text);
		} else {
			bool seen = judge_is_confirmed(v, out->input.verdict, processor, (size_t)q->machines);

			out->input.confirmation = seen						    ? CONFIRMATION_SEEN
						  : v->effect.decision == DECISION_NOTHING_MEASURED ? CONFIRMATION_MISSING
												    : CONFIRMATION_NOT_SEEN;
		}
		describe_side_effect("fresh", &confirmation, processor, confirmation_result_code(out->input.confirmation), d);
		out->recorded += count_recorded_runs(&confirmation.comparison);
	}
	judge_comparison_release(&confirmation);
	return st ? st : judge_control(lab, evidence, q, q->confirmation_plan, architecture, processor, "control", out, d, err);
}

/* Adds the acceptance of the baseline as the last reason, if a user accepted the baseline. */
static void add_accepted(const struct judge_request *q, struct reasons *out)
{
	char *text = q->accepted && *q->accepted ? mem_format("the baseline, %s, was %s", q->baseline, q->accepted) : NULL;

	if (text)
		reasons_add(out, "accepted_baseline", text);
	free(text);
}

static void add_reasons(const struct judge_request *q, struct judgement *j, const struct verdict *v)
{
	if (j->rule < DECISION_RULES) {
		const char *why = j->rule == RULE_CONFIRMATION_DISTURBED ? j->confirmation_reason : "", *says = rule_texts[j->rule];
		const char *found = *says != ' ' ? "" : j->input.verdict == DECISION_IMPROVED ? "an improvement" : "a regression";
		char *text = mem_format("%s%s%s%s", found, says, *why ? ": " : "", why);

		reasons_add(&j->reasons, decision_rule_code(j->rule), text);
		free(text);
	}
	for (size_t i = 0; i < v->n_reasons; i++)
		reasons_add(&j->reasons, v->reasons[i].code, v->reasons[i].text);
	add_accepted(q, &j->reasons);
}

static void describe_disturbed(const struct disturbed *disturbed, struct document *d)
{
	static const char *const texts[] = { DISTURBED_ROWS(ROWS_TEXT) };

	doc_table(d, "disturbed");
	for (size_t i = 0; i < disturbed->n; i++) {
		const struct disturbed_run *r = &disturbed->items[i];

		doc_row(d);
		doc_show(d, "machine", "machine", r->machine);
		doc_show(d, "version", "version", r->version);
		doc_show(d, "repetition", "repetition", r->repetition);
		doc_set(d, "cause", disturbed_code(r->cause));
		doc_show(d, "text", "because", texts[r->cause]);
		doc_showf(d, "share", "of its time", r->share, "%s %%", text_fixed(100 * r->share, 1).text);
		doc_showf(d, "usual", "usually", r->usual, "%s %%", text_fixed(100 * r->usual, 1).text);
		doc_set_bool(d, "left_out", r->is_excluded);
		doc_showf(d, NULL, "counts", r->share, "%s", r->is_excluded ? "no" : "yes");
	}
	doc_end(d);
}

static void describe_head(const struct judge_request *q, const struct judgement *j, struct document *d)
{
	doc_set(d, "decision", decision_text(j->decision));
	doc_set(d, "application", q->application);
	doc_set(d, "baseline", q->baseline);
	doc_set(d, "candidate", q->candidate);
	doc_set(d, "min_effect", q->min_effect);
	if (q->min_gain > 0)
		doc_set(d, "min_gain", q->min_gain);
	doc_set_empty(d, "plan", q->plan);
	doc_set_empty(d, "fresh_plan", q->confirmation_plan);
	doc_set(d, "time", j->by_processor ? "processor" : "metric");
	doc_set(d, "ratio", j->ratio);
	doc_set(d, "low", j->low);
	doc_set(d, "high", j->high);
	doc_set(d, "level", j->level);
}

static char *document_text(const struct document *d)
{
	cJSON *root = document_cjson(d);
	char *text = json_text(root);

	cJSON_Delete(root);
	return text;
}

static void judge_no_runs(const struct judge_request *q, struct judgement *out)
{
	struct document d;

	out->decision = out->input.verdict = DECISION_NOTHING_MEASURED;
	out->cause = mem_string("");
	reasons_add(&out->reasons, *q->baseline ? "not_run" : "no_baseline",
		    *q->no_comparison_reason ? q->no_comparison_reason : "nothing was run");
	add_accepted(q, &out->reasons);
	document_init(&d);
	describe_head(q, out, &d);
	reasons_add_member(&out->reasons, "reasons", &d);
	out->document = document_text(&d);
	document_release(&d);
}

/* Returns the comparison as JSON, with the same members as the output of `assay gate`. */
static cJSON *runs_json(const struct comparison *c)
{
	struct document d;
	cJSON *json;

	document_init(&d);
	comparison_describe(c, true, 0, &d);
	json = document_cjson(&d);
	document_release(&d);
	return json;
}

static void add_machines(const struct pairing *p, struct judgement *out)
{
	out->machines = mem_new(p->n, sizeof(*out->machines));
	for (size_t i = 0; i < p->n; i++)
		out->machines[out->n_machines++] = (struct judge_machine){ mem_string(p->machines[i].machine), p->machines[i].log_ratio };
}

static void add_functions(const struct comparison *c, struct judgement *out)
{
	struct function_reason r;

	while (out->n_functions < JUDGE_FUNCTIONS &&
	       function_evidence_get_reason(&c->functions, c->verdict.effect.decision, out->n_functions, &r))
		out->functions[out->n_functions++] = (struct judge_function){ .name = mem_string(r.name),
									      .file = mem_string(r.file ? r.file : ""),
									      .kind = mem_string(r.kind),
									      .counter = mem_string(r.counter ? r.counter : ""),
									      .line = r.line,
									      .normal = r.normal,
									      .now = r.now,
									      .part = r.part };
}

void judgement_describe_functions(const struct judgement *j, struct document *d)
{
	doc_list(d, "functions");
	for (size_t i = 0; i < j->n_functions; i++) {
		const struct judge_function *f = &j->functions[i];

		doc_object(d, NULL);
		doc_set(d, "name", f->name);
		doc_set_empty(d, "file", f->file);
		doc_set(d, "line", f->line ? doc_value_from(f->line) : DOC_NULL_VALUE);
		doc_set(d, "kind", f->kind);
		doc_set_empty(d, "counter", f->counter);
		doc_set(d, "normal", f->normal);
		doc_set(d, "now", f->now);
		doc_set(d, "part", f->part);
		doc_end(d);
	}
	doc_end(d);
}

static enum assay_status judge_runs(struct lab *lab, const struct evidence *evidence, const struct judge_request *q, struct judgement *out,
				    struct assay_error *err)
{
	const struct judge_compare_request asked = { q, q->plan, NULL, NULL, COMPARISON_ALL };
	struct document all, sides;
	struct judge_comparison c;
	enum assay_status st = judge_compare(lab, evidence, &asked, &c, err);

	document_init(&all);
	document_init(&sides);
	if (!st) {
		const struct verdict *v = &c.comparison.verdict;
		bool finding = decision_is_finding(v->effect.decision);
		const struct effect *e = verdict_effect(v);

		out->by_processor = verdict_is_by_cpu_time(v);
		out->input.verdict = v->effect.decision;
		out->input.too_many_disturbed = c.disturbed.too_many && !verdict_fails_more(v);
		out->input.crashes = verdict_crashes(v);
		out->input.confirmation = finding && q->confirm && !c.comparison.confirmed ? CONFIRMATION_MISSING : CONFIRMATION_NONE;
		out->input.may_be_chance = q->may_be_chance;
		out->input.follows_night_trend = q->follows_night_trend;
		out->ratio = e->types ? e->ratio : (double)NAN;
		out->low = e->low;
		out->high = e->high;
		out->level = isnan(e->low) ? (double)NAN : e->level;
		out->p = effect_p_value(v);
		out->calibration = calibration_quote_copy(&c.comparison.calibration);
		out->cause = mem_string(c.comparison.cause);
		out->recorded = count_recorded_runs(&c.comparison);
		add_machines(&v->pairing, out);
		add_functions(&c.comparison, out);
		if (finding && find_decisive_machine(v))
			out->machine = mem_string(find_decisive_machine(v));
		if (finding && q->control)
			st = judge_control(lab, evidence, q, q->plan, v->architecture, out->by_processor, "along", out, &sides, err);
		if (!st && finding && !c.comparison.confirmed && *q->confirmation_plan)
			st = judge_confirmation(lab, evidence, q, v->architecture, out->by_processor, out, &sides, err);
		out->rule = decision_rule_find(&out->input);
		out->decision = out->rule < DECISION_RULES ? rule_decisions[out->rule] : out->input.verdict;
		out->why = out->rule < DECISION_RULES
			       ? decision_first_reason(out->decision, decision_rule_code(out->rule), rule_texts[out->rule])
			       : decision_first_reason(out->decision, v->reasons[0].code, v->reasons[0].text);
		describe_head(q, out, &all);
		doc_set(&all, "p", out->p);
		doc_set(&all, "machines", v->pairing.used);
		add_reasons(q, out, v);
		reasons_add_member(&out->reasons, "reasons", &all);
		describe_disturbed(&c.disturbed, &all);
		doc_set_json(&all, "confirmed", document_cjson(&sides));
		doc_set_json(&all, "runs", runs_json(&c.comparison));
		out->document = document_text(&all);
		out->disturbed = c.disturbed;
		c.disturbed = (struct disturbed){ .n = 0 };
	}
	document_release(&all);
	document_release(&sides);
	judge_comparison_release(&c);
	return st;
}

enum assay_status judge_decide(struct lab *lab, const struct evidence *evidence, const struct judge_request *request, struct judgement *out,
			       struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	*out = (struct judgement){ .rule = DECISION_RULES,
				   .ratio = (double)NAN,
				   .low = (double)NAN,
				   .high = (double)NAN,
				   .level = (double)NAN,
				   .p = (double)NAN };
	if (*request->plan)
		st = judge_runs(lab, evidence, request, out, err);
	else
		judge_no_runs(request, out);
	if (st)
		judgement_release(out);
	return st;
}

void judgement_release(struct judgement *j)
{
	for (size_t i = 0; i < j->n_machines; i++)
		free(j->machines[i].machine);
	for (size_t i = 0; i < j->n_functions; i++)
		mem_free(j->functions[i].name, j->functions[i].file, j->functions[i].kind, j->functions[i].counter);
	reasons_release(&j->reasons);
	disturbed_release(&j->disturbed);
	mem_free(j->machine, j->confirmation_reason, j->why, j->cause, j->machines, j->calibration.stale, j->document);
	*j = (struct judgement){ .rule = DECISION_RULES };
}

#include "gate/nightly/night_answer.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "gate/nightly/judge.h"
#include "runs/running/execution.h"

#include <inttypes.h>
#include <math.h>

#define FAILURE_WORD(constant, word, status)   word,
#define FAILURE_STATUS(constant, word, status) status,

ROWS_FUNCTION(night_failure_word, enum night_failure, NIGHT_FAILURE_ROWS, FAILURE_WORD)
ROWS_FINDER(night_failure_of_word, enum night_failure, NIGHT_FAILURE_ROWS, FAILURE_WORD)
static ROWS_FUNCTION(state_text, enum night_state, NIGHT_STATE_ROWS, ROWS_TEXT)

const char *night_state_text(const struct night_comparison *c)
{
	return (c->state == NIGHT_UNREACHED || c->state == NIGHT_CUT_OFF) && *c->detail ? c->detail : state_text(c->state);
}

static const struct night_decision *decision_of(const struct night_decisions *all, const struct night_comparison *c)
{
	for (size_t i = 0; *c->decision && i < all->n; i++) {
		if (strcmp(all->items[i].id, c->decision) == 0)
			return &all->items[i];
	}
	return NULL;
}

/* ---- how it ends ---- */

/* While it was measured; else the detail is why it was not. */
static bool lost_hosts(const struct night_comparison *c)
{
	return *c->plan && *c->detail;
}

static bool has_failure(const struct night_comparison *c, const struct night_decision *d, enum night_failure failure)
{
	static const enum decision decisions[] = { [NIGHT_FAILS_REGRESSION] = DECISION_REGRESSION,
						   [NIGHT_FAILS_NOTHING] = DECISION_NOTHING_MEASURED,
						   [NIGHT_FAILS_ENVIRONMENT] = DECISION_ENVIRONMENT,
						   [NIGHT_FAILS_INCONCLUSIVE] = DECISION_INCONCLUSIVE };

	if (failure == NIGHT_FAILS_HOSTS)
		return lost_hosts(c);
	return d ? d->judged.decision == decisions[failure] : failure == NIGHT_FAILS_NOTHING;
}

int night_exit(const struct night_comparisons *comparisons, const struct night_decisions *decisions, unsigned fail_on)
{
	static const int statuses[] = { NIGHT_FAILURE_ROWS(FAILURE_STATUS) };

	for (int k = 0; k < NIGHT_FAILURES; k++) {
		for (size_t i = 0; fail_on & 1u << k && i < comparisons->n; i++) {
			const struct night_comparison *c = &comparisons->items[i];

			if (has_failure(c, decision_of(decisions, c), (enum night_failure)k))
				return statuses[k];
		}
	}
	return 0;
}

/* ---- the table ---- */

ORDER_BY(compare_answered, struct night_answered, BY_UP(worse) BY_UP(comparison->number))

static void add_reasons(const struct night_answered *a, struct document *d)
{
	const struct reasons *reasons = &a->decision->judged.reasons;

	doc_list(d, "reasons");
	doc_hide(d);
	for (size_t i = 0; i < reasons->n; i++)
		doc_reason(d, reasons->items[i].code, reasons->items[i].text);
	if (a->failure)
		doc_reason(d, "first_failure", a->failure);
	if (lost_hosts(a->comparison))
		doc_reason(d, "hosts_lost", a->comparison->detail);
	doc_end(d);
}

enum assay_status night_failure_of(struct store *store, const char *plan, const struct night_decision *decision, char **text,
				   char **command, struct assay_error *err)
{
	const char *const versions[] = { decision->request.candidate, decision->request.baseline };
	enum assay_status st = ASSAY_OK;

	*text = *command = NULL;
	for (int i = 0; !st && *plan && i < 2 && !*text; i++) {
		char *selector = mem_format("%s@%s", decision->request.application, versions[i]), *failure = NULL;

		st = execution_first_failure(store, plan, decision->request.application, versions[i], &failure, err);
		if (failure) {
			*command = text_command((const char *const[]){ "runs", "show", selector, "--failed", "--output", NULL });
			*text = mem_format("the first run of %s that failed was %s", versions[i], failure);
		}
		mem_free(failure, selector);
	}
	return st;
}

static void add_decision(const struct night_answered *a, struct document *d)
{
	const struct night_comparison *c = a->comparison;
	const struct night_decision *decision = a->decision;
	const struct judgement *judged = &decision->judged;
	bool interval = !isnan(decision->judged.low) && !isnan(decision->judged.high);

	doc_row(d);
	doc_set(d, "number", c->number);
	doc_show(d, "decision", "decision", decision_text(decision->judged.decision));
	doc_show(d, "application", "application", c->application);
	doc_show(d, "candidate", "candidate", c->candidate);
	doc_show(d, "baseline", "baseline", c->baseline);
	doc_show(d, "against", "which is", c->against);
	doc_set(d, "hosts", c->hosts);
	doc_show(d, "machines", "machines", *decision->request.plan ? (double)judgement_machines(judged) : (double)NAN);
	doc_show(d, "time", "of", judged->by_processor ? "processor" : "metric");
	doc_showf(d, "ratio", "ratio", decision->judged.ratio, "%s", text_fixed(decision->judged.ratio, 3).text);
	doc_set(d, "low", decision->judged.low);
	doc_set(d, "high", decision->judged.high);
	doc_set(d, "level", judged->level);
	doc_showf(d, NULL, "interval", interval ? decision->judged.low : (double)NAN, "%s",
		  effect_span(decision->judged.low, decision->judged.high, judged->level, 3).text);
	doc_set(d, "min_effect", c->min_effect);
	doc_set(d, "min_gain", c->min_gain > 0 ? c->min_gain : c->min_effect);
	doc_set(d, "seconds", c->seconds);
	doc_set_empty(d, "plan", c->plan);
	doc_set_empty(d, "detail", c->detail);
	doc_show(d, "id", "id", decision->id);
	doc_set_empty(d, "cause", judged->cause);
	add_reasons(a, d);
}

static void add_decisions(const struct night_answered *all, size_t n, struct document *d)
{
	doc_table(d, "decisions");
	for (size_t i = 0; i < n; i++) {
		if (all[i].decision)
			add_decision(&all[i], d);
	}
	doc_end(d);
}

static void add_rest(const struct night_answered *all, size_t n, struct document *d)
{
	size_t without = 0;

	for (size_t i = 0; i < n; i++)
		without += !all[i].decision;
	if (without)
		doc_line(d, "%s", "");
	doc_table(d, "undecided");
	for (size_t i = 0; i < n; i++) {
		const struct night_comparison *c = all[i].comparison;

		if (all[i].decision)
			continue;
		doc_row(d);
		doc_set(d, "number", c->number);
		doc_show(d, "application", "application", c->application);
		doc_show(d, "candidate", "candidate", c->candidate);
		doc_show(d, "baseline", "baseline", c->baseline);
		doc_show(d, "state", "state", night_state_text(c));
	}
	doc_end(d);
}

/* Why, of what did not pass, or what was said of hosts. */
static void add_why(const struct night_answers *answers, bool of_hosts, struct document *d)
{
	for (size_t i = 0; i < answers->n; i++) {
		const struct night_answered *a = &answers->items[i];
		const struct night_comparison *c = a->comparison;
		const char *failure = !of_hosts && a->failure ? a->failure : "";

		if (of_hosts ? lost_hosts(c) : a->decision && a->decision->judged.decision != DECISION_PASS)
			doc_line(d, "%s@%s: %s%s%s", c->application, c->candidate, of_hosts ? c->detail : a->why, *failure ? "; " : "",
				 failure);
	}
}

/* ---- the first line, and notes ---- */

void night_answer_head(const struct night *night, const struct night_answers *answers, struct document *d)
{
	const struct night_answered *all = answers->items;
	size_t n = answers->n;
	size_t counts[DECISIONS] = { 0 }, decided = 0, lost = 0;
	enum decision worst = DECISION_PASS;
	struct buf text = BUF_INIT;
	char date[TEXT_DATE_BYTES];

	for (size_t i = 0; i < n; i++) {
		lost += lost_hosts(all[i].comparison);
		if (!all[i].decision)
			continue;
		decided++;
		counts[all[i].decision->judged.decision]++;
		if (decision_place(all[i].decision->judged.decision) < decision_place(worst))
			worst = all[i].decision->judged.decision;
	}
	for (int place = 0; place < DECISIONS; place++) {
		for (int k = 0; k < DECISIONS; k++) {
			if (counts[k] && decision_place((enum decision)k) == place)
				buf_format(&text, "%s%zu %s%s", text.size ? ", " : "", counts[k], decision_text((enum decision)k),
					   k == DECISION_REGRESSION ? text_plural(counts[k]) : "");
		}
	}
	if (decided < n)
		buf_format(&text, "%s%zu undecided", text.size ? ", " : "", n - decided);
	if (lost)
		buf_format(&text, "; hosts were lost in %zu comparison%s", lost, text_plural(lost));
	text_from_ms(night->started_ms / 1000 * 1000, date);
	doc_answer(d, decided && !(lost && decision_tone(worst) == DOC_GOOD) ? decision_tone(worst) : DOC_DOUBTFUL,
		   decided ? decision_text(worst) : "undecided", "%s; night of %.10s, %.5s UTC%s",
		   text.size ? text.bytes : "nothing is compared", date, date + 11, night->finished_ms ? "" : ", which has not ended");
	buf_release(&text);
	doc_set(d, "night", night->id);
	doc_set(d, "started_ms", night->started_ms);
	doc_set(d, "finished_ms", night->finished_ms ? doc_value_integer(night->finished_ms) : DOC_NOTHING);
	doc_set(d, "deadline_ms", night->deadline_ms ? doc_value_integer(night->deadline_ms) : DOC_NOTHING);
	doc_line(d, "%s", "");
}

void night_answers_release(struct night_answers *answers)
{
	for (size_t i = 0; i < answers->n; i++)
		free(answers->items[i].failure);
	free(answers->items);
	night_decisions_release(&answers->decisions);
	night_comparisons_release(&answers->comparisons);
	*answers = (struct night_answers){ .n = 0 };
}

static enum assay_status add_failure(struct store *store, struct night_answered *a, struct assay_error *err)
{
	char *text, *command;
	enum assay_status st = night_failure_of(store, a->comparison->plan, a->decision, &text, &command, err);

	if (text)
		a->failure = mem_format("%s (%s)", text, command);
	mem_free(text, command);
	return st;
}

enum assay_status night_answers_load(struct store *store, const struct night *night, struct night_answers *out, struct assay_error *err)
{
	enum assay_status st;

	*out = (struct night_answers){ .n = 0 };
	st = night_comparisons_load(store, night->id, &out->comparisons, err);
	if (!st)
		st = night_decisions_load(store, NULL, night->id, INT64_MAX, &out->decisions, err);
	out->n = st ? 0 : out->comparisons.n;
	out->items = mem_new(out->n, sizeof(*out->items));
	for (size_t i = 0; i < out->n; i++) {
		struct night_answered *a = &out->items[i];

		a->comparison = &out->comparisons.items[i];
		a->decision = decision_of(&out->decisions, a->comparison);
		a->worse = a->decision ? decision_place(a->decision->judged.decision) : DECISIONS;
		a->why = a->decision && a->decision->judged.reasons.n ? a->decision->judged.reasons.items[0].text : "";
		if (!st && a->decision && reasons_find(&a->decision->judged.reasons, "runs_failed"))
			st = add_failure(store, a, err);
	}
	order_sort(out->items, out->n, compare_answered);
	if (st)
		night_answers_release(out);
	return st;
}

enum assay_status night_answer(struct store *store, const struct night *night, unsigned fail_on, struct document *d,
			       struct assay_error *err)
{
	struct night_answers answers;
	enum assay_status st = night_answers_load(store, night, &answers, err);

	if (st)
		return st;
	night_answer_head(night, &answers, d);
	add_decisions(answers.items, answers.n, d);
	add_rest(answers.items, answers.n, d);
	doc_line(d, "%s", "");
	add_why(&answers, false, d);
	add_why(&answers, true, d);
	reasons_answer(&night->notes, "notes", d);
	d->exit_status = night_exit(&answers.comparisons, &answers.decisions, fail_on);
	night_answers_release(&answers);
	return ASSAY_OK;
}

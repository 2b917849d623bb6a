#include "gate/nightly/night_answer.h"

#include "base/document.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fingerprint/compare/compare.h"
#include "gate/conditions/disturbed.h"
#include "gate/nightly/history.h"
#include "gate/nightly/judge.h"
#include "gate/page/page_parts.h"
#include "gate/report/report.h"
#include "runs/running/evidence.h"
#include "runs/running/execution.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCALE_MIN	.05 /* smallest maximum of the colour scale, as an absolute log ratio; SCALE_MAX is the largest maximum */
#define SCALE_MAX	.5
#define FINDINGS_SHOWN	20
#define DISTURBED_SHARE .1 /* share of disturbed runs from which a machine counts as disturbed */
#define DAY_MS		INT64_C(86400000)

/* A comparison of a night with its decision. */
struct night_answered {
	const struct night_comparison *comparison;
	const struct night_decision *decision; /* NULL if there is no decision */
	const char *reason_text;	       /* text of the first reason, which decided; "" if there is none */
	int severity_rank;		       /* rank; 0 is the worst */
	char *failure;			       /* first failed run, with the command that shows its details; NULL if no run failed */
};

struct night_answers {
	struct night_answered *items; /* [n], worst first */
	size_t n;
	struct night_comparisons comparisons;
	struct night_decisions decisions;
};

#define FAILURE_WORD(constant, word, status)   word,
#define FAILURE_STATUS(constant, word, status) status,

ROWS_FUNCTION(night_failure_word, enum night_failure, NIGHT_FAILURE_ROWS, FAILURE_WORD)
ROWS_FINDER(night_failure_parse, enum night_failure, NIGHT_FAILURE_ROWS, FAILURE_WORD)
static ROWS_FUNCTION(state_text, enum night_state, NIGHT_STATE_ROWS, ROWS_TEXT)

const char *night_state_text(const struct night_comparison *c)
{
	return (c->state == NIGHT_UNREACHED || c->state == NIGHT_CUT_OFF) && *c->detail ? c->detail : state_text(c->state);
}

static const struct night_decision *find_decision(const struct night_decisions *all, const struct night_comparison *c)
{
	for (size_t i = 0; *c->decision && i < all->n; i++) {
		if (strcmp(all->items[i].id, c->decision) == 0)
			return &all->items[i];
	}
	return NULL;
}

/* Reports whether hosts failed during measurement; `detail` lists them. Without a plan, `detail` is the reason for measuring nothing. */
static bool has_lost_hosts(const struct night_comparison *c)
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
		return has_lost_hosts(c);
	if (failure == NIGHT_FAILS_LATENT)
		return d && reasons_find(&d->judged.reasons, COMPARISON_LATENT);
	return d ? d->judged.decision == decisions[failure] : failure == NIGHT_FAILS_NOTHING;
}

static const int statuses[] = { NIGHT_FAILURE_ROWS(FAILURE_STATUS) };

int night_decision_exit_status(int status, bool latent, unsigned fail_on)
{
	for (int k = 0; k < NIGHT_FAILURES; k++)
		if (fail_on & 1u << k && (k == NIGHT_FAILS_LATENT ? latent : statuses[k] == status))
			return statuses[k];
	return 0;
}

int night_exit_status(const struct night_comparisons *comparisons, const struct night_decisions *decisions, unsigned fail_on)
{
	for (int k = 0; k < NIGHT_FAILURES; k++) {
		for (size_t i = 0; fail_on & 1u << k && i < comparisons->n; i++) {
			const struct night_comparison *c = &comparisons->items[i];

			if (has_failure(c, find_decision(decisions, c), (enum night_failure)k))
				return statuses[k];
		}
	}
	return 0;
}

ORDER_BY(compare_answered, struct night_answered, BY_ASC(severity_rank) BY_ASC(comparison->number))

static void add_reasons(const struct night_answered *a, struct document *d)
{
	const struct reasons *reasons = &a->decision->judged.reasons;

	doc_list(d, "reasons");
	doc_hide(d);
	for (size_t i = 0; i < reasons->n; i++)
		doc_reason(d, reasons->items[i].code, reasons->items[i].text);
	if (a->failure)
		doc_reason(d, "first_failure", a->failure);
	if (has_lost_hosts(a->comparison))
		doc_reason(d, "hosts_lost", a->comparison->detail);
	doc_end(d);
}

enum assay_status night_describe_failure(struct store *store, const char *plan, const struct night_decision *decision, char **text,
					 char **command, struct assay_error *err)
{
	const char *const versions[] = { decision->request.candidate, decision->request.baseline };
	enum assay_status st = ASSAY_OK;

	*text = *command = NULL;
	for (int i = 0; !st && *plan && i < 2 && !*text; i++) {
		char *selector = mem_format("%s@%s", decision->request.application, versions[i]), *failure = NULL;

		st = execution_describe_failure(store, plan, decision->request.application, versions[i], &failure, err);
		if (failure) {
			*command = text_format_command((const char *const[]){ "result", "show", selector, "--failed", "--output", NULL });
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
	doc_show(d, "against", "which is", c->baseline_kind);
	doc_set(d, "hosts", c->hosts);
	doc_show(d, "machines", "machines", *decision->request.plan ? (double)judgement_count_machines(judged) : (double)NAN);
	doc_show(d, "time", "of", judged->by_processor ? "processor" : "metric");
	doc_showf(d, "ratio", "ratio", decision->judged.ratio, "%s", text_fixed(decision->judged.ratio, 3).text);
	doc_set(d, "low", decision->judged.low);
	doc_set(d, "high", decision->judged.high);
	doc_set(d, "level", judged->level);
	doc_showf(d, NULL, "interval", interval ? decision->judged.low : (double)NAN, "%s",
		  effect_format_interval(decision->judged.low, decision->judged.high, judged->level, 3).text);
	doc_set(d, "min_effect", c->min_effect);
	doc_set(d, "min_gain", c->min_gain > 0 ? c->min_gain : c->min_effect);
	doc_set(d, "seconds", c->seconds);
	doc_set_empty(d, "plan", c->plan);
	doc_set_empty(d, "detail", c->detail);
	doc_show(d, "id", "id", decision->id);
	doc_set_empty(d, "cause", judged->cause);
	judgement_describe_functions(judged, d);
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

static void add_remaining_comparisons(const struct night_answered *all, size_t n, struct document *d)
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

/* Adds the reasons of all decisions except passes. If `of_hosts`, adds the lost hosts of all comparisons instead. */
static void add_reasons_of_failures(const struct night_answers *answers, bool of_hosts, struct document *d)
{
	for (size_t i = 0; i < answers->n; i++) {
		const struct night_answered *a = &answers->items[i];
		const struct night_comparison *c = a->comparison;
		const char *failure = !of_hosts && a->failure ? a->failure : "";

		if (of_hosts ? has_lost_hosts(c) : a->decision && a->decision->judged.decision != DECISION_PASS)
			doc_line(d, "%s@%s: %s%s%s", c->application, c->candidate, of_hosts ? c->detail : a->reason_text,
				 *failure ? "; " : "", failure);
	}
}

/* Adds the first line of the answer. */
static void night_answer_head(const struct night *night, const struct night_answers *answers, struct document *d)
{
	const struct night_answered *all = answers->items;
	size_t n = answers->n;
	size_t counts[DECISIONS] = { 0 }, decided = 0, lost = 0;
	enum decision worst = DECISION_PASS;
	struct buf text = BUF_INIT;
	char date[TEXT_DATE_BYTES];

	for (size_t i = 0; i < n; i++) {
		lost += has_lost_hosts(all[i].comparison);
		if (!all[i].decision)
			continue;
		decided++;
		counts[all[i].decision->judged.decision]++;
		if (decision_rank(all[i].decision->judged.decision) < decision_rank(worst))
			worst = all[i].decision->judged.decision;
	}
	for (int place = 0; place < DECISIONS; place++) {
		for (int k = 0; k < DECISIONS; k++) {
			if (counts[k] && decision_rank((enum decision)k) == place)
				buf_format(&text, "%s%zu %s%s", text.size ? ", " : "", counts[k], decision_text((enum decision)k),
					   k == DECISION_REGRESSION ? text_plural(counts[k]) : "");
		}
	}
	if (decided < n)
		buf_format(&text, "%s%zu of %zu undecided", text.size ? ", " : "", n - decided, n);
	if (lost)
		buf_format(&text, "; hosts were lost in %zu comparison%s", lost, text_plural(lost));
	text_from_ms(night->started_ms / 1000 * 1000, date);
	doc_answer(d, decided && !(lost && decision_tone(worst) == DOC_GOOD) ? decision_tone(worst) : DOC_DOUBTFUL,
		   decided ? decision_text(worst) : "undecided", "%s; night of %.10s, %.5s UTC%s",
		   text.size ? text.bytes : "nothing is compared", date, date + 11,
		   night->finished_ms ? "" : ", running or interrupted ('assay nightly run' continues it)");
	buf_release(&text);
	doc_set(d, "night", night->id);
	doc_set(d, "started_ms", night->started_ms);
	doc_set(d, "finished_ms", night->finished_ms ? doc_value_integer(night->finished_ms) : DOC_NULL_VALUE);
	doc_set(d, "deadline_ms", night->deadline_ms ? doc_value_integer(night->deadline_ms) : DOC_NULL_VALUE);
	doc_line(d, "%s", "");
}

static void night_answers_release(struct night_answers *answers)
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
	enum assay_status st = night_describe_failure(store, a->comparison->plan, a->decision, &text, &command, err);

	if (text)
		a->failure = mem_format("%s (%s)", text, command);
	mem_free(text, command);
	return st;
}

/* Loads the night's comparisons with their decisions. Overwrites *out; the caller calls night_answers_release(). */
static enum assay_status night_answers_load(struct store *store, const struct night *night, struct night_answers *out,
					    struct assay_error *err)
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
		a->decision = find_decision(&out->decisions, a->comparison);
		a->severity_rank = a->decision ? decision_rank(a->decision->judged.decision) : DECISIONS;
		a->reason_text = a->decision && a->decision->judged.reasons.n ? a->decision->judged.reasons.items[0].text : "";
		if (!st && a->decision && reasons_find(&a->decision->judged.reasons, "runs_failed"))
			st = add_failure(store, a, err);
	}
	order_sort(out->items, out->n, compare_answered);
	if (st)
		night_answers_release(out);
	return st;
}

enum assay_status night_describe(struct store *store, const struct night *night, unsigned fail_on, struct document *d,
				 struct assay_error *err)
{
	struct night_answers answers;
	enum assay_status st = night_answers_load(store, night, &answers, err);

	if (st)
		return st;
	night_answer_head(night, &answers, d);
	add_decisions(answers.items, answers.n, d);
	add_remaining_comparisons(answers.items, answers.n, d);
	doc_line(d, "%s", "");
	add_reasons_of_failures(&answers, false, d);
	add_reasons_of_failures(&answers, true, d);
	reasons_add_member(&night->notes, "notes", d);
	d->exit_status = night_exit_status(&answers.comparisons, &answers.decisions, fail_on);
	if (!d->exit_status && reasons_find(&night->notes, "pages_not_written"))
		d->exit_status = 1;
	night_answers_release(&answers);
	return ASSAY_OK;
}

/* ---- machines of the night ---- */

/* Problems of a machine. A machine can have several of them; the page shows all. */
enum machine_state { MACHINE_LOST, MACHINE_DISTURBED, MACHINE_SLOWER, MACHINE_DRIFTED, MACHINE_OLD, MACHINE_UNKNOWN, MACHINE_STATES };

struct night_machine {
	char *name;
	size_t planned, comparisons;	    /* number of comparisons planned on the machine, and of those that ran both versions there */
	size_t runs, disturbed, n_excluded; /* numbers of runs with a result, of disturbed runs, and of disturbed runs that were excluded */
	size_t causes[DISTURBED_CAUSES];
	int64_t taken_ms; /* time of the latest fingerprint, ms since 1970; 0 if there is none */
	bool is[MACHINE_STATES];
	struct buf applications,
	    lost; /* names of the applications planned on the machine, and of those without runs of both versions: ", NAME, NAME, " */
	struct buf changed; /* text "slower by 20.0 % in APPLICATION; ...": changes on this machine only, from the histories */
	struct buf drift;   /* drift, as 'host drift' reports it */
};

struct night_machines {
	struct night_machine *items; /* [n], sorted by name */
	size_t n, capacity;
};

static struct night_machine *find_machine(struct night_machines *m, const char *name)
{
	for (size_t i = 0; i < m->n; i++)
		if (strcmp(m->items[i].name, name) == 0)
			return &m->items[i];
	m->items = mem_grow(m->items, m->n, &m->capacity, sizeof(*m->items));
	m->items[m->n] = (struct night_machine){ .name = mem_string(name) };
	return &m->items[m->n++];
}

static void count_disturbed(struct night_machines *m, const struct disturbed *disturbed)
{
	for (size_t i = 0; i < disturbed->n; i++) {
		const struct disturbed_run *run = &disturbed->items[i];
		struct night_machine *machine = find_machine(m, run->machine);

		machine->disturbed++;
		machine->n_excluded += run->is_excluded;
		machine->causes[run->cause]++;
	}
}

/* Adds a comparison to the machines of its plan, even if it was not reached there. Also counts its results, including excluded ones. */
static enum assay_status count_planned(struct night_machines *m, struct store *store, const struct night_answered *a,
				       struct assay_error *err)
{
	const struct night_comparison *c = a->comparison;
	char *item = mem_format(", %s, ", c->application);
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(
	    store, &stmt, err,
	    "SELECT name, count(DISTINCT e.version) = 2, count(metric) FROM plan_item AS i LEFT JOIN execution AS e ON e.plan = i.plan "
	    "AND e.machine = i.name AND e.version IN (?2, ?3) AND e.application = ?4 WHERE i.plan = ?1 AND kind = 'machine' GROUP BY name",
	    "tttt", c->plan, c->baseline, c->candidate, c->application);

	while (store_next(store, stmt, &st, err)) {
		struct night_machine *machine = find_machine(m, store_text(stmt, 0));
		struct buf *lists[] = { &machine->applications, &machine->lost };

		machine->planned++;
		machine->comparisons += sqlite3_column_int(stmt, 1) > 0;
		machine->runs += (size_t)sqlite3_column_int64(stmt, 2);
		for (int i = 0; i < (a->decision && !sqlite3_column_int(stmt, 1) ? 2 : 1); i++)
			if (!lists[i]->size || !strstr(lists[i]->bytes, item))
				buf_text(lists[i], lists[i]->size ? item + 2 : item);
	}
	free(item);
	return store_finalize(stmt, st);
}

ORDER_BY(compare_names, struct night_machine, BY_TEXT(name))

/* Returns the end of the night, ms since 1970; INT64_MAX if it has not finished. Pages exclude later data, even if written later. */
static int64_t known_until(const struct night *night)
{
	return night->finished_ms ? night->finished_ms : INT64_MAX;
}

/* Sets each machine's drift, as of the end of the night. */
static void note_drift(struct night_machines *machines, const struct night *night, const struct evidence *e)
{
	struct drift drift;

	drift_find(&e->catalog, &e->fingerprints, &e->types, known_until(night), &drift);
	for (size_t i = 0; i < machines->n * drift.n; i++) {
		struct night_machine *m = &machines->items[i / drift.n];
		const struct drift_history *past = &drift.past[i % drift.n];
		const struct compare_row *all = past->compare.rows ? &past->compare.rows[past->compare.n] : NULL;
		size_t peers = drift.peers[i % drift.n].n;
		bool busy = drift_other_work_at(past, past->latest);

		if (strcmp(past->machine->id, m->name) != 0)
			continue;
		m->is[MACHINE_DRIFTED] = m->is[MACHINE_DRIFTED] || past->compare.n_differing || peers;
		buf_format(&m->drift, "%s%s: ", m->drift.size ? "; " : "", past->latest->battery);
		if (all && all->differs)
			buf_format(&m->drift, "all stressors \u00d7 %s", text_fixed(all->ratio, 3).text);
		else if (past->compare.n_differing)
			buf_format(&m->drift, "%zu of %zu stressors changed", past->compare.n_differing, past->compare.compared);
		else
			buf_text(&m->drift, busy ? "busy" : past->state == DRIFT_COMPARED ? "none" : "cannot tell");
		if (peers)
			buf_format(&m->drift, ", %zu differ from others of its type", peers);
	}
	drift_release(&drift);
}

/* Finds the night's machines. Overwrites *out; the caller calls night_machines_release(). Costs O(runs + fingerprints) plus 'host
 * drift'. */
static enum assay_status night_machines_load(struct lab *lab, const struct night *night, const struct night_answers *answers,
					     const struct evidence *evidence, struct night_machines *out, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	*out = (struct night_machines){ .n = 0 };
	for (size_t i = 0; !st && i < answers->n; i++) {
		if (answers->items[i].decision)
			count_disturbed(out, &answers->items[i].decision->judged.disturbed);
		st = count_planned(out, &lab->store, &answers->items[i], err);
	}
	order_sort(out->items, out->n, compare_names);
	for (size_t i = 0; i < out->n; i++) {
		struct night_machine *m = &out->items[i];
		const struct machine *known = catalog_find(&evidence->catalog, m->name);

		if (known && known->n_fingerprints)
			m->taken_ms = known->fingerprints[known->n_fingerprints - 1].taken_ms;
		m->is[MACHINE_LOST] = m->lost.size > 0;
		m->is[MACHINE_DISTURBED] = m->disturbed && (double)m->disturbed >= DISTURBED_SHARE * (double)m->runs;
		m->is[MACHINE_OLD] =
		    m->taken_ms && (double)(night->started_ms - m->taken_ms) > lab->config.fingerprint_max_age_days * (double)DAY_MS;
		m->is[MACHINE_UNKNOWN] = !m->taken_ms;
	}
	note_drift(out, night, evidence);
	return st;
}

/* Accepts a zeroed struct. */
static void night_machines_release(struct night_machines *machines)
{
	for (size_t i = 0; i < machines->n; i++) {
		struct night_machine *m = &machines->items[i];

		buf_release(&m->applications);
		buf_release(&m->lost);
		buf_release(&m->changed);
		buf_release(&m->drift);
		free(m->name);
	}
	free(machines->items);
	*machines = (struct night_machines){ .n = 0 };
}

/* ---- text for users ---- */

static char *causes_text(const struct night_machine *m)
{
	static const char *const words[DISTURBED_CAUSES] = { [DISTURBED_WAITED] = "kept waiting",
							     [DISTURBED_THROTTLED] = "throttled",
							     [DISTURBED_IO] = "input and output",
							     [DISTURBED_MEMORY] = "memory",
							     [DISTURBED_STOLEN] = "stolen time" };
	struct buf text = BUF_INIT;

	buf_text(&text, "");
	for (int k = 0; k < DISTURBED_CAUSES; k++)
		if (m->causes[k])
			buf_format(&text, "%s%zu %s", text.size ? ", " : "", m->causes[k], words[k]);
	return buf_take(&text);
}

static const struct {
	const char *code, *word; /* text with a sign, so that readers do not depend on colours */
} machine_states[MACHINE_STATES] = { { "lost", "\1word d-nothing_measured\2\u2205 not reached\3 " },
				     { "disturbed", "\1word d-environment\2\u2248 disturbed\3 " },
				     { "slower", "\1word d-regression\2\u25b2\3 " },
				     { "drift", "\1word d-regression\2\u2260\3 " },
				     { "old", "\1word d-inconclusive\2\u25f7 old\3 " },
				     { "unknown", "\1word d-inconclusive\2? none\3 " } };

/* Returns the text of a state if the machine is in this state; otherwise "". */
static const char *state_name(const struct night_machine *m, enum machine_state state)
{
	return m->is[state] ? machine_states[state].word : "";
}

static void show_machine(const struct night_machine *m, struct document *d)
{
	bool lost = m->is[MACHINE_LOST], planned = m->applications.size > 0;
	char date[TEXT_DATE_BYTES], *causes = causes_text(m);
	struct buf codes = BUF_INIT;

	for (int i = 0; i < MACHINE_STATES; i++)
		if (m->is[i])
			buf_format(&codes, "%s%s", codes.size ? " " : "", machine_states[i].code);
	doc_row(d);
	doc_attribute(d, "health", "%s", codes.size ? codes.bytes : "well");
	doc_show(d, NULL, "machine", m->name);
	doc_showf(d, NULL, "reached", "", "%s" DOC_NAME "%.*s" DOC_END "%s%zu of %zu comparisons", state_name(m, MACHINE_LOST),
		  lost ? (int)m->lost.size - 4 : 0, lost ? m->lost.bytes + 2 : "", lost ? ": " : "", m->comparisons, m->planned);
	doc_showf(d, NULL, "disturbed", "", "%s%zu of %zu runs%s%s%s; %zu excluded", state_name(m, MACHINE_DISTURBED), m->disturbed,
		  m->runs, *causes ? " (" : "", causes, *causes ? ")" : "", m->n_excluded);
	doc_showf(d, NULL, "fingerprint", "", "%s%.10s", state_name(m, m->is[MACHINE_OLD] ? MACHINE_OLD : MACHINE_UNKNOWN),
		  m->taken_ms ? text_from_ms(m->taken_ms, date) : "");
	doc_showf(d, NULL, "drift", "", "%s%s", state_name(m, MACHINE_DRIFTED), m->drift.size ? m->drift.bytes : "");
	doc_showf(d, NULL, "changed", "", "%s%s", state_name(m, MACHINE_SLOWER), m->changed.size ? m->changed.bytes : "no");
	doc_showf(d, NULL, "applications", "", DOC_NAME "%.*s" DOC_END, planned ? (int)m->applications.size - 4 : 0,
		  planned ? m->applications.bytes + 2 : "");
	buf_release(&codes);
	free(causes);
}

/* Adds the section on machines to the night's page. */
static void night_machines_show(const struct night_machines *machines, struct document *d)
{
	doc_section(d, "machines", "Machines", "Machines, and whether they behaved as usual",
		    "Each machine of the night. Drift: change of its fingerprints, as in 'assay host drift'. Changed: change of the cost "
		    "of applications on this machine only, as in their histories.");
	doc_table(d, NULL);
	doc_style(d, "health sortable");
	doc_set_caption(d, "The machines of this night");
	for (size_t i = 0; i < machines->n; i++)
		show_machine(&machines->items[i], d);
	doc_end(d);
	if (!machines->n)
		doc_styled_line(d, "empty", "No machine had anything to measure.");
}

/* State of writing a night's pages. */
struct pages {
	struct lab *lab;
	const struct night *night;
	const char *directory;
	struct night_answers answers;
	struct evidence evidence;
	char **histories;	      /* [answers.n], summary of each application's history; NULL if it has no history page */
	bool *reports;		      /* [answers.n], the comparison has a report page */
	bool any_functions;	      /* some report names functions */
	struct report_summary *found; /* [answers.n], functions that each report names */
	struct night_machines machines;
	size_t written;
	struct assay_error *err;
};

/* Writes a page without syncing it to disk. The caller syncs all pages at once, before it writes pages that link to them. */
static enum assay_status page_write(struct pages *p, const char *name, struct html_page page, const struct document *d)
{
	char *path = mem_format("%s/%s", p->directory, name);
	struct buf text = BUF_INIT;
	enum assay_status st;

	page.lab = p->lab->config.name;
	page.first = page.first ? page.first : page.kind;
	html_page(&page, d, &text);
	st = file_replace_unsynced(path, text.bytes, text.size, 0644, p->err);
	p->written += !st;
	buf_release(&text);
	free(path);
	return st;
}

/* ---- names of files: each night has its own, so that links in older pages stay valid ---- */

#define INDEX  "index.html"  /* page of the latest night that has pages in the directory */
#define NIGHTS "nights.html" /* page with links to all nights that have pages in the directory */

static char *night_file(const char *night)
{
	return mem_format("night-%s.html", night);
}

/* Returns the file name of an application's history. The number in the name is that of the application's first comparison in this night. */
static char *history_file(const struct pages *p, size_t i)
{
	const struct night_answered *all = p->answers.items;
	int64_t first = all[i].comparison->number;

	for (size_t k = 0; k < p->answers.n; k++)
		if (all[k].comparison->number < first && strcmp(all[k].comparison->application, all[i].comparison->application) == 0)
			first = all[k].comparison->number;
	return mem_format("history-%s-%" PRId64 ".html", p->night->id, first);
}

/* Returns the index of the first comparison of the same application. */
static size_t find_first_of_application(const struct night_answers *answers, size_t i)
{
	size_t k = 0;

	while (strcmp(answers->items[k].comparison->application, answers->items[i].comparison->application) != 0)
		k++;
	return k;
}

/* Reports whether a decision has its own report page. A decision without runs has only a reason, which the night's page shows. */
static bool has_page(const struct night_answered *a)
{
	return a->decision && *a->decision->request.plan;
}

/* Returns the note that the report shows below the decision. It says whether the night decided differently from `alone`, the decision that
 * the comparison's own runs support. */
static char *make_note(const struct night_answered *a, enum decision alone)
{
	if (a->decision->judged.decision == alone)
		return mem_format("Decided in the night. Baseline: %s (%s).", a->comparison->baseline,
				  strcmp(a->comparison->baseline_kind, "version") == 0 ? "named in suite.yaml"
										       : a->comparison->baseline_kind);
	return mem_format("The runs show %s, but the night decided otherwise: %s.", decision_text(alone), a->reason_text);
}

#define LINKS_MAX 5

/* Links at the top of a page. */
struct page_links {
	char *files[LINKS_MAX], *texts[LINKS_MAX];
	struct html_link links[LINKS_MAX + 1];
	size_t n;
};

/* Adds a link. Takes ownership of `file` and `text`. */
static void link_add(struct page_links *l, char *file, char *text)
{
	l->files[l->n] = file;
	l->texts[l->n] = text;
	l->links[l->n++] = (struct html_link){ file, text };
}

/* Sets the links of a report: to the night, the application's history, the previous (worse) report, and the next report. */
static void links_build(const struct pages *p, size_t i, struct page_links *out)
{
	const struct night_answered *all = p->answers.items;
	size_t first = find_first_of_application(&p->answers, i);

	*out = (struct page_links){ .n = 0 };
	link_add(out, night_file(p->night->id), mem_string("Night"));
	if (p->histories[first])
		link_add(out, history_file(p, first), mem_string("History"));
	if (i > 0 && has_page(&all[i - 1]))
		link_add(out, mem_format("%s.html", all[i - 1].decision->id), mem_string("Previous"));
	if (i + 1 < p->answers.n && has_page(&all[i + 1]))
		link_add(out, mem_format("%s.html", all[i + 1].decision->id), mem_string("Next"));
}

static void links_release(struct page_links *links)
{
	for (size_t i = 0; i < links->n; i++)
		mem_free(links->files[i], links->texts[i]);
}

static enum assay_status report_decided(struct pages *p, size_t i, const struct judge_comparison *compared, enum decision alone)
{
	const struct night_answered *a = &p->answers.items[i];
	char *path = mem_format("%s/%s.html", p->directory, a->decision->id), *note = make_note(a, alone);
	struct page_links links;
	enum assay_status st;

	links_build(p, i, &links);
	st = report_write(
	    p->lab, &p->evidence,
	    &(struct report){ .comparison = &compared->comparison, .top_links = links.links, .note = note, .is_unsynced = true }, path,
	    &p->found[i], p->err);
	p->reports[i] = !st;
	p->written += !st;
	links_release(&links);
	mem_free(path, note);
	return st;
}

static enum assay_status report_decision(struct pages *p, size_t i)
{
	const struct night_answered *a = &p->answers.items[i];
	const struct judge_request *q = &a->decision->request;
	struct judge_comparison compared = { .sides = { { 0 } } };
	enum assay_status st;

	st = judge_compare(p->lab, &p->evidence, &(struct judge_compare_request){ .request = q, .plan = q->plan, .last = COMPARISON_ALL },
			   &compared, p->err);
	if (!st) {
		struct effect *e = &compared.comparison.verdict.effect;
		enum decision alone = e->decision;

		e->decision = a->decision->judged.decision;
		st = report_decided(p, i, &compared, alone);
	}
	judge_comparison_release(&compared);
	return st;
}

/* Sets the links of a history: to the night, and to the reports of the same application. */
static void history_links_build(const struct pages *p, size_t i, struct page_links *out)
{
	const struct night_answers *answers = &p->answers;

	*out = (struct page_links){ .n = 0 };
	link_add(out, night_file(p->night->id), mem_string("Night"));
	for (size_t k = i; k < answers->n && out->n < LINKS_MAX; k++) {
		const struct night_answered *a = &answers->items[k];

		if (has_page(a) && find_first_of_application(answers, k) == i)
			link_add(out, mem_format("%s.html", a->decision->id), mem_format("Against %s", a->comparison->baseline));
	}
}

/* Adds to each machine the sum of the changes that the history found on this machine only. */
static void note_changed(struct pages *p, size_t i, const struct history *h)
{
	char *file = history_file(p, i);

	for (size_t k = 0; k < p->machines.n; k++) {
		struct night_machine *m = &p->machines.items[k];
		double change = 0;

		for (const struct history_change *t = h->reported; t < h->reported + h->n_reported; t++) {
			if (t->machine == SIZE_MAX || strcmp(h->machines[t->machine], m->name) != 0)
				continue;
			change += t->after - t->before;
		}
		if (fabs(change) < log1p(h->min_effect))
			continue;
		m->is[MACHINE_SLOWER] = m->is[MACHINE_SLOWER] || change > 0;
		buf_format(&m->changed, "%s%s by %s %% in \1./%s\2%s\3", m->changed.size ? "; " : "", change > 0 ? "slower" : "faster",
			   text_fixed(100 * fabs(expm1(change)), 1).text, file, h->application);
	}
	free(file);
}

static enum assay_status write_history(struct pages *p, size_t i)
{
	const struct night_comparison *c = p->answers.items[i].comparison;
	struct assay_error ignored;
	struct history history;
	enum assay_status st = ASSAY_OK;

	if (!history_load(p->lab, &p->evidence, c->application, NULL, HISTORY_DECIDED, c->min_effect, known_until(p->night), &history,
			  &ignored)) { /* an application without results has no history page */
		char *name = history_file(p, i);
		struct page_links links;
		struct document d;

		history_links_build(p, i, &links);
		note_changed(p, i, &history);
		document_init(&d);
		p->histories[i] = history_describe(&history, &d);
		st = page_write(
		    p, name,
		    (struct html_page){
			.title = c->application, .kind = "history", .class = "d-explore", .about = "History", .top_links = links.links },
		    &d);
		links_release(&links);
		document_release(&d);
		free(name);
	}
	history_release(&history);
	return st;
}

/* ---- the night's page ---- */

/* Returns the log ratio of candidate to baseline on a machine; NaN if the machine does not count. */
static double log_ratio_on(const struct night_answered *a, const char *machine)
{
	const struct judgement *j = a->decision ? &a->decision->judged : NULL;

	for (size_t i = 0; j && i < j->n_machines; i++)
		if (strcmp(j->machines[i].machine, machine) == 0 && !isnan(j->machines[i].log_ratio))
			return j->machines[i].log_ratio;
	return (double)NAN;
}

static double largest_change(const struct pages *p)
{
	double most = SCALE_MIN;

	for (size_t i = 0; i < p->answers.n; i++)
		for (size_t k = 0; k < p->machines.n; k++)
			most = fmax(most, fabs(log_ratio_on(&p->answers.items[i], p->machines.items[k].name)));
	return fmin(most, SCALE_MAX);
}

static struct text_number change_text(double log_ratio)
{
	struct text_number text = page_format_signed(100 * expm1(log_ratio), 1);
	size_t n = strlen(text.text);

	snprintf(text.text + n, sizeof(text.text) - n, " %%");
	return text;
}

/* Appends the decision with a sign, so that readers do not depend on colours. */
static void decision_show(const struct night_answered *a, struct buf *out)
{
	static const char *const signs[DECISIONS] = {
		[DECISION_REGRESSION] = "\u25b2", [DECISION_IMPROVED] = "\u25bc",    [DECISION_PASS] = "\u2713",
		[DECISION_INCONCLUSIVE] = "?",	  [DECISION_ENVIRONMENT] = "\u2248", [DECISION_NOTHING_MEASURED] = "\u2205"
	};
	enum decision decision = a->decision ? a->decision->judged.decision : DECISION_NOTHING_MEASURED;
	const char *word = a->decision ? decision_text(decision) : night_state_text(a->comparison);

	buf_format(out, "\1word d-%s\2%s ", decision_text(decision), signs[decision]);
	for (; *word; word++)
		buf_char(out, *word == '_' ? ' ' : *word);
	buf_text(out, DOC_END);
}

/* Appends links to the changed functions in the comparison's report. */
static void functions_show(const struct pages *p, size_t i, struct buf *out)
{
	const struct report_summary *found = &p->found[i];

	buf_text(out, "");
	for (size_t k = 0; k < found->n; k++)
		buf_format(out, "%s\1./%s.html#" REPORT_FUNCTION_ID "\2%s\3", k ? ", " : "", p->answers.items[i].decision->id, k + 1,
			   found->functions[k]);
	if (found->changed > found->n)
		buf_format(out, " and %zu more", found->changed - found->n);
}

/* Returns the heading of a machine's column. Its markup distinguishes it from other headings, whatever the machine's name. The caller
 * frees it. */
static char *machine_column(const struct night_machine *machine)
{
	return mem_format(DOC_NAME "%s" DOC_END, machine->name);
}

static void matrix_machines(const struct pages *p, const struct night_answered *a, double most, struct document *d)
{
	for (size_t k = 0; k < p->machines.n; k++) {
		double change = log_ratio_on(a, p->machines.items[k].name);
		char *column = machine_column(&p->machines.items[k]);

		doc_showf(d, NULL, column, change, "%s%s", change_text(isnan(change) ? 0 : change).text,
			  a->decision && a->decision->judged.by_processor ? " wall" : "");
		free(column);
		if (isnan(change))
			doc_style(d, "hx");
		else
			page_set_cell_colour(d, change, most, "");
	}
}

static void add_matrix_row(const struct pages *p, size_t i, double most, struct document *d)
{
	const struct night_answered *a = &p->answers.items[i];
	const struct night_comparison *c = a->comparison;
	const struct night_decision *decision = a->decision;
	size_t first = find_first_of_application(&p->answers, i);
	bool interval = decision && !isnan(decision->judged.low) && !isnan(decision->judged.high);
	struct buf word = BUF_INIT, functions = BUF_INIT;
	char *history = history_file(p, first);

	doc_row(d);
	doc_attribute(d, "application", "%s", c->application);
	if (p->reports[i])
		doc_showf(d, NULL, "application", "", "\1./%s.html\2%s\3", decision->id, c->application);
	else
		doc_show(d, NULL, "application", c->application);
	decision_show(a, &word);
	doc_showf(d, NULL, "decision", "", "%s", word.bytes);
	doc_showf(d, NULL, "change", decision ? decision->judged.ratio : (double)NAN, "%s%s",
		  change_text(decision ? log(decision->judged.ratio) : 0).text, decision && decision->judged.by_processor ? " CPU" : "");
	functions_show(p, i, &functions);
	if (p->any_functions)
		doc_showf(d, NULL, "changed functions", "", "%s", functions.bytes);
	if (p->histories[first])
		doc_showf(d, NULL, "history", "", "\1./%s\2%s\3", history, p->histories[first]);
	else
		doc_show(d, NULL, "history", "none");
	doc_showf(d, NULL, "versions", "", DOC_NAME "%s" DOC_END " \u2192 " DOC_NAME "%s" DOC_END " (%s)",
		  *c->baseline ? c->baseline : "nothing", c->candidate, c->baseline_kind);
	matrix_machines(p, a, most, d);
	doc_showf(d, NULL, "interval", interval ? decision->judged.low : (double)NAN, "%s to %s (%s)",
		  change_text(interval ? log(decision->judged.low) : 0).text, change_text(interval ? log(decision->judged.high) : 0).text,
		  effect_format_level(interval ? decision->judged.level : 0).text);
	buf_release(&functions);
	buf_release(&word);
	free(history);
}

static void matrix_show(const struct pages *p, struct document *d)
{
	double most = largest_change(p);

	doc_section(
	    d, "applications", "Applications", "Applications and machines",
	    "One row per comparison, worst first: added cost relative to the compared version, in total and on each machine. CPU: CPU time "
	    "decided; the ratios on machines are of wall-clock time. The application links to its report, a function to its changes.");
	doc_table(d, NULL);
	doc_style(d, "night wide");
	doc_set_caption(d, "Applications and machines of this night");
	for (size_t k = 0; k < p->machines.n; k++) {
		char *column = machine_column(&p->machines.items[k]);

		doc_style_column(d, column, "machine");
		free(column);
	}
	for (size_t i = 0; i < p->answers.n; i++)
		add_matrix_row(p, i, most, d);
	doc_end(d);
	page_add_legend(d, "costs less", "costs more", 100 * expm1(most), "in per cent, on one machine", true);
}

static void finding_show(const struct pages *p, size_t i, struct document *d)
{
	const struct night_answered *a = &p->answers.items[i];
	const struct night_comparison *c = a->comparison;
	struct buf text = BUF_INIT, functions = BUF_INIT;

	decision_show(a, &text);
	buf_char(&text, ' ');
	if (p->reports[i])
		buf_format(&text, "\1./%s.html\2%s %s\3", a->decision->id, c->application, c->candidate);
	else
		buf_format(&text, DOC_NAME "%s %s" DOC_END, c->application, c->candidate);
	if (*c->baseline)
		buf_format(&text, " against " DOC_NAME "%s" DOC_END, c->baseline);
	if (*a->reason_text)
		buf_format(&text, ": %s", a->reason_text);
	if (a->decision && decision_is_finding(a->decision->judged.decision) && *a->decision->judged.cause)
		buf_format(&text, "; %s", a->decision->judged.cause);
	functions_show(p, i, &functions);
	if (functions.size)
		buf_format(&text, ". Changed functions: %s", functions.bytes);
	doc_item(d, "%s", text.bytes);
	doc_attribute(d, "decision", "%s", a->decision ? decision_text(a->decision->judged.decision) : "undecided");
	buf_release(&functions);
	buf_release(&text);
}

static void findings_show(const struct pages *p, struct document *d)
{
	size_t shown = 0, n = 0;

	doc_list(d, NULL);
	doc_style(d, "findings");
	for (size_t i = 0; i < p->answers.n; i++) {
		const struct night_decision *decision = p->answers.items[i].decision;

		if (decision && (decision->judged.decision == DECISION_PASS || decision->judged.decision == DECISION_IMPROVED))
			continue;
		n++;
		if (shown < FINDINGS_SHOWN) {
			finding_show(p, i, d);
			shown++;
		}
	}
	doc_end(d);
	if (n > shown)
		doc_styled_line(d, "muted", "And %zu more: see the table.", n - shown);
	for (size_t i = 0; i < p->answers.n; i++) {
		const struct night_comparison *c = p->answers.items[i].comparison;

		if (*c->plan && *c->detail)
			doc_styled_line(d, "note", "%s: %s", c->application, c->detail);
	}
}

static void __attribute__((format(printf, 4, 5))) add_count_line(struct document *d, const char *what, size_t n, const char *fmt, ...)
{
	char *value = mem_format("%zu", n), *more;

	mem_format_va(more, fmt);
	page_add_fact(d, what, value, more);
	mem_free(value, more);
}

static void facts_show(const struct pages *p, struct document *d)
{
	size_t decided = 0, runs = 0, disturbed = 0, left_out = 0, unusual = 0;

	for (size_t i = 0; i < p->answers.n; i++)
		decided += p->answers.items[i].decision != NULL;
	for (size_t k = 0; k < p->machines.n; k++) {
		const struct night_machine *m = &p->machines.items[k];

		runs += m->runs;
		disturbed += m->disturbed;
		left_out += m->n_excluded;
		unusual += m->is[MACHINE_LOST] || m->is[MACHINE_DISTURBED] || m->is[MACHINE_SLOWER] || m->is[MACHINE_DRIFTED];
	}
	add_count_line(d, "Decided", decided, "of %zu comparisons", p->answers.n);
	add_count_line(d, "Machines", p->machines.n, "%zu not as usual", unusual);
	add_count_line(d, "Results", runs, "of both versions");
	add_count_line(d, "Disturbed runs", disturbed, "%zu excluded", left_out);
}

/* Writes the night's page. If `latest`, writes the same page as index.html. */
static enum assay_status night_write(struct pages *p, bool latest)
{
	const struct night_decision *worst = p->answers.n ? p->answers.items[0].decision : NULL;
	const struct html_page page = { .title = "Night",
					.kind = "night",
					.class = worst && worst->judged.decision == DECISION_REGRESSION ? "d-regression" : "d-explore",
					.about = "Night",
					.top_links = (const struct html_link[]){ { NIGHTS, "Nights" }, { NULL, NULL } } };
	char *name = night_file(p->night->id);
	struct document d;
	enum assay_status st;

	document_init(&d);
	night_answer_head(p->night, &p->answers, &d);
	facts_show(p, &d);
	findings_show(p, &d);
	reasons_add_member(&p->night->notes, "notes", &d);
	matrix_show(p, &d);
	night_machines_show(&p->machines, &d);
	st = page_write(p, name, page, &d);
	if (!st && latest)
		st = page_write(p, INDEX, page, &d);
	document_release(&d);
	free(name);
	return st;
}

/* ---- list of nights ---- */

/* Writes the list of nights that have pages in the directory. Sets *latest if this night is the latest of them. */
static enum assay_status nights_write(struct pages *p, bool *latest)
{
	struct night *nights = NULL;
	struct document d;
	size_t n = 0, shown = 0;
	enum assay_status st = night_list(&p->lab->store, &nights, &n, p->err);

	document_init(&d);
	doc_section(&d, "nights", "Nights", "Nights with pages here", NULL);
	doc_table(&d, NULL);
	for (size_t i = 0; !st && i < n; i++) {
		char *file = night_file(nights[i].id), *path = mem_format("%s/%s", p->directory, file);
		bool own = strcmp(nights[i].id, p->night->id) == 0;

		if (own)
			*latest = !shown;
		if (own || access(path, F_OK) == 0) {
			doc_row(&d);
			doc_showf(&d, NULL, "night", "", "\1./%s\2%.16s\3", file, TEXT_DATE(nights[i].started_ms));
			doc_show(&d, NULL, "status", nights[i].finished_ms ? doc_value_integer(nights[i].exit_status) : DOC_NULL_VALUE);
			doc_show(&d, NULL, "id", nights[i].id);
			shown++;
		}
		mem_free(path, file);
	}
	doc_end(&d);
	if (!st)
		st = page_write(p, NIGHTS,
				(struct html_page){ .title = "Nights",
						    .kind = "nights",
						    .class = "d-explore",
						    .about = "Nights",
						    .top_links = (const struct html_link[]){ { INDEX, "Latest night" }, { NULL, NULL } } },
				&d);
	document_release(&d);
	night_list_free(nights, n);
	return st;
}

/* Writes the history and the reports of an application. `first` is the index of its first comparison. */
static enum assay_status application_write(struct pages *p, size_t first)
{
	const struct night_answered *all = p->answers.items;
	enum assay_status st = write_history(p, first);

	for (size_t i = first; !st && i < p->answers.n; i++) {
		if (has_page(&all[i]) && find_first_of_application(&p->answers, i) == first)
			st = report_decision(p, i);
	}
	return st;
}

enum assay_status night_write_pages(struct lab *lab, const struct night *night, const char *directory, size_t *n, struct assay_error *err)
{
	struct pages p = { .lab = lab, .night = night, .directory = directory, .err = err };
	bool latest = true;
	enum assay_status st = file_make_directory(directory, 0755, err);

	if (!st)
		st = night_answers_load(&lab->store, night, &p.answers, err);
	if (!st)
		st = evidence_load_until(lab, known_until(night), &p.evidence, err);
	if (!st)
		st = night_machines_load(lab, night, &p.answers, &p.evidence, &p.machines, err);
	p.histories = mem_new(p.answers.n, sizeof(char *));
	p.reports = mem_new(p.answers.n, sizeof(bool));
	p.found = mem_new(p.answers.n, sizeof(*p.found));
	for (size_t i = 0; !st && i < p.answers.n; i++)
		st = find_first_of_application(&p.answers, i) == i ? application_write(&p, i) : ASSAY_OK;
	for (size_t i = 0; i < p.answers.n; i++)
		p.any_functions = p.any_functions || p.found[i].n;
	if (!st) {
		st = file_sync_all(directory, err);
		if (!st)
			st = nights_write(&p, &latest);
		if (!st)
			st = night_write(&p, latest);
		if (!st)
			st = file_sync_all(directory, err);
	}
	*n = p.written;
	for (size_t i = 0; i < p.answers.n; i++) {
		free(p.histories[i]);
		report_summary_release(&p.found[i]);
	}
	mem_free(p.histories, p.reports, p.found);
	night_machines_release(&p.machines);
	evidence_release(&p.evidence);
	night_answers_release(&p.answers);
	return st;
}

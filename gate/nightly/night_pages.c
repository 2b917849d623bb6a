#include "gate/nightly/night_pages.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "gate/nightly/history.h"
#include "gate/nightly/judge.h"
#include "gate/nightly/night_answer.h"
#include "gate/page/parts.h"
#include "gate/report/report_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_MIN .05 /* of the colours' scale, log */
#define MOST_MAX .5

/* What has been found out on the way to the first page. */
struct night_machine {
	const char *name; /* borrowed from a decision */
	size_t comparisons, runs, disturbed, left_out;
	const char *cause; /* of the last disturbed run; or NULL */
	int64_t taken_ms;  /* of its latest fingerprint; 0: none */
};

struct pages {
	struct lab *lab;
	const struct night *night;
	const char *directory;
	struct night_answers answers;
	struct evidence evidence;
	char **histories;		/* [answers.n], what the application's history says; NULL: it has no page */
	bool *reports;			/* [answers.n], there is a page */
	struct night_machine *machines; /* [n_machines], by name */
	size_t n_machines, capacity, written;
	struct assay_error *err;
};

static const struct html_link above[] = { { "index.html", "Night" }, { NULL, NULL } };

static enum assay_status page_write(struct pages *p, const char *name, const struct html_page *page, const struct document *d)
{
	char *path = mem_format("%s/%s", p->directory, name);
	struct buf text = BUF_INIT;
	enum assay_status st;

	html_page(page, d, &text);
	st = file_replace(path, text.bytes, text.size, 0644, p->err);
	p->written += !st;
	buf_release(&text);
	free(path);
	return st;
}

static const cJSON *member(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

static const char *text_of(const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(member(object, key));

	return text ? text : "";
}

/* NaN where there is none. */
static double number_of(const cJSON *object, const char *key)
{
	const cJSON *number = member(object, key);

	return cJSON_IsNumber(number) ? number->valuedouble : (double)NAN;
}

/* ---- a report for each decision ---- */

/* The report has what the runs say; what the night has made of that stands below its decision. */
static char *note_of(const struct night_answered *a, enum decision alone)
{
	const cJSON *reason = cJSON_GetArrayItem(member(a->document, "reasons"), 0);

	if (a->decision->decision == alone)
		return mem_format("Decided in the night, against the %s version.", a->comparison->against);
	return mem_format("The runs alone say %s; the night decided otherwise: %s.", decision_text(alone), text_of(reason, "text"));
}

static enum assay_status report_one(struct pages *p, size_t i)
{
	const struct night_answered *a = &p->answers.items[i];
	struct judge_request request;
	struct judge_compared compared = { .sides = { { 0 } } };
	enum assay_status st = judge_request_parse(a->decision->request, &request, p->err);

	if (!st && *request.plan)
		st = judge_compare(p->lab, &p->evidence, &request, request.plan,
				   (const char *const[]){ request.baseline, request.candidate }, &compared, p->err);
	if (!st && *request.plan) {
		char *path = mem_format("%s/%s.html", p->directory, a->decision->id), *note = note_of(a, compared.verdict.effect.decision);

		compared.verdict.effect.decision = a->decision->decision;
		st =
		    report_file(p->lab, &p->evidence,
				&(struct report_file){ .runs = compared.sides, .verdict = &compared.verdict, .above = above, .note = note },
				path, p->err);
		p->reports[i] = !st;
		p->written += !st;
		free(path);
		free(note);
	}
	judge_compared_release(&compared);
	judge_request_release(&request);
	return st;
}

/* ---- a history for each application ---- */

/* The first comparison of the same application. */
static size_t first_of(const struct night_answers *answers, size_t i)
{
	size_t k = 0;

	while (strcmp(answers->items[k].comparison->application, answers->items[i].comparison->application) != 0)
		k++;
	return k;
}

static char *history_text(const struct history *h)
{
	if (h->changes.n)
		return mem_format("changed at %s", h->points[h->changes.items[h->changes.n - 1].at].version);
	return mem_string(h->n < (size_t)2 * CHANGE_POINTS_SEGMENT_MIN ? "too short" : "steady");
}

static enum assay_status history_one(struct pages *p, size_t i)
{
	const struct night_comparison *c = p->answers.items[i].comparison;
	struct assay_error ignored;
	struct history history;
	enum assay_status st = ASSAY_OK;

	if (first_of(&p->answers, i) != i)
		return ASSAY_OK;
	if (!history_load(p->lab, c->application, c->min_effect, &history, &ignored)) { /* without results there is none */
		char *name = mem_format("history-%zu.html", i);
		struct document d;

		document_init(&d);
		history_answer(&history, c->min_effect, &d);
		st = page_write(p, name,
				&(struct html_page){ .title = c->application,
						     .kind = "history",
						     .lab = p->lab->config.name,
						     .class = "d-explore",
						     .first = "history",
						     .about = "History",
						     .above = above },
				&d);
		p->histories[i] = st ? NULL : history_text(&history);
		document_release(&d);
		free(name);
	}
	history_release(&history);
	return st;
}

/* ---- machines ---- */

static struct night_machine *machine_of(struct pages *p, const char *name)
{
	for (size_t i = 0; i < p->n_machines; i++)
		if (strcmp(p->machines[i].name, name) == 0)
			return &p->machines[i];
	p->machines = mem_grow(p->machines, p->n_machines, &p->capacity, sizeof(*p->machines));
	p->machines[p->n_machines] = (struct night_machine){ .name = name };
	return &p->machines[p->n_machines++];
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct night_machine *)a)->name, ((const struct night_machine *)b)->name);
}

static void machines_count(struct pages *p)
{
	const struct fingerprint_set *set = &p->evidence.fingerprints;
	const cJSON *item;

	for (size_t i = 0; i < p->answers.n; i++) {
		const cJSON *document = p->answers.items[i].document;

		cJSON_ArrayForEach(item, member(member(document, "runs"), "machines"))
		{
			struct night_machine *m = machine_of(p, text_of(item, "machine"));

			m->comparisons++;
			m->runs += (size_t)fmax(number_of(item, "baseline_runs"), 0) + (size_t)fmax(number_of(item, "candidate_runs"), 0);
		}
		cJSON_ArrayForEach(item, member(document, "disturbed"))
		{
			struct night_machine *m = machine_of(p, text_of(item, "machine"));

			m->disturbed++;
			m->left_out += cJSON_IsTrue(member(item, "left_out")) ? 1 : 0;
			m->cause = text_of(item, "text");
		}
	}
	if (p->n_machines)
		qsort(p->machines, p->n_machines, sizeof(*p->machines), compare_names);
	for (size_t i = 0; i < p->n_machines; i++)
		for (size_t k = 0; k < set->n; k++)
			if (strcmp(set->items[k].machine, p->machines[i].name) == 0 && set->items[k].taken_ms > p->machines[i].taken_ms)
				p->machines[i].taken_ms = set->items[k].taken_ms;
}

static void machines_show(const struct pages *p, struct document *d)
{
	doc_section(d, "machines", "Machines", "The machines",
		    "What each of them did this night. 'assay catalog drift' says whether one has become slower or faster.");
	doc_table(d, NULL);
	doc_caption(d, "The machines of this night");
	for (size_t i = 0; i < p->n_machines; i++) {
		const struct night_machine *m = &p->machines[i];
		char date[TEXT_DATE_BYTES];

		doc_row(d);
		doc_show(d, NULL, "machine", m->name);
		doc_show(d, NULL, "comparisons", m->comparisons);
		doc_show(d, NULL, "results", m->runs);
		doc_show(d, NULL, "disturbed runs", m->disturbed);
		doc_show(d, NULL, "left out", m->left_out);
		doc_showf(d, NULL, "because", m->cause, "%s", m->cause ? m->cause : "");
		doc_showf(d, NULL, "latest fingerprint", m->taken_ms ? doc_value_integer(m->taken_ms) : DOC_NOTHING, "%.10s",
			  text_from_ms(m->taken_ms, date));
	}
	doc_end(d);
}

/* ---- the first page ---- */

/* The log ratio on the machine; NaN: it did not count there. */
static double log_ratio_on(const struct night_answered *a, const char *machine)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, member(member(a->document, "runs"),
					"machines")) if (strcmp(text_of(item, "machine"), machine) == 0 &&
							 cJSON_IsTrue(member(item, "used"))) return log(number_of(item, "ratio"));
	return (double)NAN;
}

static double most_of(const struct pages *p)
{
	double most = MOST_MIN;

	for (size_t i = 0; i < p->answers.n; i++)
		for (size_t k = 0; k < p->n_machines; k++)
			most = fmax(most, fabs(log_ratio_on(&p->answers.items[i], p->machines[k].name)));
	return fmin(most, MOST_MAX);
}

static struct text_number change_text(double log_ratio)
{
	struct text_number text = page_signed(100 * expm1(log_ratio), 1);
	size_t n = strlen(text.text);

	snprintf(text.text + n, sizeof(text.text) - n, " %%");
	return text;
}

static void matrix_decision(const struct night_answered *a, struct document *d)
{
	/* Told apart without colours, too. */
	static const char *const signs[DECISIONS] = {
		[DECISION_REGRESSION] = "\u25b2", [DECISION_IMPROVED] = "\u25bc",    [DECISION_PASS] = "\u2713",
		[DECISION_INCONCLUSIVE] = "?",	  [DECISION_ENVIRONMENT] = "\u2248", [DECISION_NOTHING_MEASURED] = "\u2205"
	};

	if (a->decision)
		doc_showf(d, NULL, "decision", "", "\1word d-%s\2%s %s\3", decision_text(a->decision->decision),
			  signs[a->decision->decision], decision_text(a->decision->decision));
	else
		doc_show(d, NULL, "decision", "not reached");
}

/* How a machine's column is headed, which is no other column's heading, whatever it is called. free() it. */
static char *column_of(const struct night_machine *machine)
{
	return mem_format(DOC_NAME "%s" DOC_END, machine->name);
}

static void matrix_row(const struct pages *p, size_t i, double most, struct document *d)
{
	const struct night_answered *a = &p->answers.items[i];
	const struct night_comparison *c = a->comparison;
	const struct night_decision *decision = a->decision;
	size_t first = first_of(&p->answers, i);
	bool interval = decision && !isnan(decision->low) && !isnan(decision->high);

	doc_row(d);
	doc_data(d, "application", "%s", c->application);
	if (p->reports[i])
		doc_showf(d, NULL, "application", "", "\1./%s.html\2%s\3", decision->id, c->application);
	else
		doc_show(d, NULL, "application", c->application);
	matrix_decision(a, d);
	doc_showf(d, NULL, "change", decision ? decision->ratio : (double)NAN, "%s", change_text(decision ? log(decision->ratio) : 0).text);
	for (size_t k = 0; k < p->n_machines; k++) {
		double change = log_ratio_on(a, p->machines[k].name);

		char *column = column_of(&p->machines[k]);

		doc_showf(d, NULL, column, change, "%s", change_text(isnan(change) ? 0 : change).text);
		free(column);
		if (isnan(change))
			doc_style(d, "hx");
		else
			page_colour(d, change, most, "");
	}
	if (p->histories[first])
		doc_showf(d, NULL, "history", "", "\1./history-%zu.html\2%s\3", first, p->histories[first]);
	else
		doc_show(d, NULL, "history", "none");
	doc_show(d, NULL, "version", c->candidate);
	doc_showf(d, NULL, "against", "", "%s (%s)", *c->baseline ? c->baseline : "nothing", c->against);
	doc_showf(d, NULL, "95 % interval", interval ? decision->low : (double)NAN, "%s to %s",
		  change_text(interval ? log(decision->low) : 0).text, change_text(interval ? log(decision->high) : 0).text);
}

static void matrix_show(const struct pages *p, struct document *d)
{
	double most = most_of(p);

	doc_section(
	    d, "applications", "Applications", "Applications and machines",
	    "A row for each comparison, the worst first: how much more it costs than the version that it is compared with, as a whole "
	    "and on each machine. An application leads to its report, with the functions that changed.");
	doc_table(d, NULL);
	doc_style(d, "night wide");
	doc_caption(d, "Applications and machines of this night");
	for (size_t k = 0; k < p->n_machines; k++) {
		char *column = column_of(&p->machines[k]);

		doc_column(d, column, "machine");
		free(column);
	}
	for (size_t i = 0; i < p->answers.n; i++)
		matrix_row(p, i, most, d);
	doc_end(d);
	page_colours(d, "costs less", "costs more", 100 * expm1(most), "in per cent, on one machine", true);
}

static enum assay_status index_write(struct pages *p)
{
	struct document d;
	enum assay_status st;

	document_init(&d);
	night_answer_head(p->night, &p->answers, &d);
	night_answer_why(&p->answers, &d);
	night_answer_notes(p->night, &d);
	matrix_show(p, &d);
	machines_show(p, &d);
	st = page_write(p, "index.html",
			&(struct html_page){ .title = "Night",
					     .kind = "night",
					     .lab = p->lab->config.name,
					     .class = p->answers.n && p->answers.items[0].decision &&
							      p->answers.items[0].decision->decision == DECISION_REGRESSION
							  ? "d-regression"
							  : "d-explore",
					     .first = "night",
					     .about = "Night" },
			&d);
	document_release(&d);
	return st;
}

enum assay_status night_pages(struct lab *lab, const struct night *night, const char *directory, size_t *n, struct assay_error *err)
{
	struct pages p = { .lab = lab, .night = night, .directory = directory, .err = err };
	enum assay_status st = file_make_directory(directory, 0755, err);

	if (!st)
		st = night_answers_load(&lab->store, night, &p.answers, err);
	if (!st)
		st = evidence_load(lab, &p.evidence, err);
	p.histories = mem_new(p.answers.n, sizeof(char *));
	p.reports = mem_new(p.answers.n, sizeof(bool));
	for (size_t i = 0; !st && i < p.answers.n; i++) {
		st = p.answers.items[i].decision ? report_one(&p, i) : ASSAY_OK;
		if (!st)
			st = history_one(&p, i);
	}
	if (!st) {
		machines_count(&p);
		st = index_write(&p);
	}
	*n = p.written;
	for (size_t i = 0; i < p.answers.n; i++)
		free(p.histories[i]);
	free(p.histories);
	free(p.reports);
	free(p.machines);
	evidence_release(&p.evidence);
	night_answers_release(&p.answers);
	return st;
}

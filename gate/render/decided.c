#include "gate/render/decided.h"

#include "base/command.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "runs/running/manifest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_data(const struct doc_node *node)
{
	return node->kind <= DOC_VALUE && !node->hidden_from_programs;
}

/* Returns the member with this key; NULL if there is none or `of` is NULL. */
static const struct doc_node *find_member(const struct doc_node *of, const char *key)
{
	for (const struct doc_node *child = of ? of->first : NULL; child; child = child->next)
		if (is_data(child) && child->key && strcmp(child->key, key) == 0)
			return child;
	return NULL;
}

/* Returns the text of a member; "" if the member is missing or no text. */
static const char *read_text(const struct doc_node *of, const char *key)
{
	const struct doc_node *text = find_member(of, key);

	return text && text->value.type == DOC_TEXT ? text->value.text : "";
}

/* Returns the number of a member; NaN if the member is missing or no number. */
static double read_number(const struct doc_node *of, const char *key)
{
	const struct doc_node *number = find_member(of, key);

	if (number && number->value.type == DOC_INTEGER)
		return (double)number->value.integer;
	return number && number->value.type == DOC_REAL ? number->value.real : (double)NAN;
}

/* Returns the version of a side. A side is a text or {application, version}; the second form also sets to->application. */
static const char *read_side(const struct doc_node *row, const char *key, struct decision_record *to)
{
	const struct doc_node *side = find_member(row, key);

	if (!side || side->kind != DOC_OBJECT)
		return read_text(row, key);
	to->application = read_text(side, "application");
	return read_text(side, "version");
}

static void read_reasons(const struct doc_node *list, struct reasons *to)
{
	for (const struct doc_node *item = list ? list->first : NULL; item; item = item->next)
		if (is_data(item))
			reasons_add(to, read_text(item, "code"), read_text(item, "text"));
}

/* Fills *to from a row. Reports whether the row has a decision. */
static bool read_decision(const struct doc_node *row, struct decision_record *to)
{
	const struct doc_node *numbers = find_member(row, "ratio") ? row : find_member(row, "effect"); /* answers on cost use "effect" */
	const char *word = read_text(row, "decision");
	bool decided;

	*to = (struct decision_record){ .application = read_text(row, "application"), .decision = decision_parse(word) };
	decided = strcmp(decision_text(to->decision), word) == 0;
	to->baseline = read_side(row, "baseline", to);
	to->candidate = read_side(row, "candidate", to);
	to->ratio = read_number(numbers, "ratio");
	to->low = read_number(numbers, "low");
	to->high = read_number(numbers, "high");
	to->level = read_number(numbers, "level");
	to->by_processor = strcmp(read_text(row, "time"), "processor") == 0;
	to->cause = read_text(row, "cause");
	if (decided)
		read_reasons(find_member(row, "reasons"), &to->reasons);
	to->baseline_kind = read_text(row, "against");
	return decided;
}

/* Adds those rows of a table that have a decision. If `undecided`, adds all rows, with their state as the reason. */
static void add_rows(const struct doc_node *table, bool undecided, size_t *capacity, struct decisions *out)
{
	for (const struct doc_node *row = table ? table->first : NULL; row; row = row->next) {
		struct decision_record one;

		if (!is_data(row) || (!read_decision(row, &one) && !undecided))
			continue;
		if (undecided)
			reasons_add(&one.reasons, "", read_text(row, "state"));
		mem_append(out->items, out->n, capacity, one);
	}
}

/* Returns the length of NAME in NAME-COMMIT, a commit of a branch. If the version has another form, returns its whole length. */
static int stem_length(const char *version)
{
	size_t n = strlen(version);
	const char *dash = strrchr(version, '-');

	if (dash && dash > version && strlen(dash + 1) == MANIFEST_COMMIT_DIGITS &&
	    strspn(dash + 1, "0123456789abcdef") == MANIFEST_COMMIT_DIGITS)
		n = (size_t)(dash - version);
	return (int)n;
}

/* Sets both names, and the key that contains them. Takes ownership of the names. */
static void set_names(struct decision_record *d, char *candidate, char *baseline)
{
	mem_free(d->candidate_name, d->baseline_name, d->key);
	d->candidate_name = candidate;
	d->baseline_name = baseline;
	d->key = *baseline ? mem_format("%s@%s (against %s)", d->application, candidate, baseline)
			   : mem_format("%s@%s", d->application, candidate);
}

static void give_short_names(struct decision_record *d)
{
	bool chosen = *d->baseline_kind && strcmp(d->baseline_kind, "version") != 0;
	const char *baseline = chosen ? d->baseline_kind : d->baseline;

	set_names(d, mem_bytes(d->candidate, (size_t)stem_length(d->candidate)), mem_bytes(baseline, (size_t)stem_length(baseline)));
}

ORDER_POINTERS_BY(compare_keys, struct decision_record, BY_TEXT(key) BY_ASC(number))

/* Makes keys unique that several decisions share: by full versions or, if `numbered`, by a number. */
static void make_unique(const struct decisions *all, struct decision_record **order, bool numbered)
{
	for (size_t i = 0; i < all->n; i++)
		order[i] = &all->items[i];
	order_sort(order, all->n, compare_keys);
	for (size_t i = 0, end; i < all->n; i = end) {
		for (end = i + 1; end < all->n && strcmp(order[end]->key, order[i]->key) == 0; end++)
			;
		for (size_t k = i + numbered; end > i + 1 && k < end; k++) {
			struct decision_record *d = order[k];

			set_names(d, numbered ? mem_format("%s #%zu", d->candidate_name, k - i + 1) : mem_string(d->candidate),
				  mem_string(numbered ? d->baseline_name : d->baseline));
		}
	}
}

static void set_keys(struct decisions *all)
{
	struct decision_record **order = mem_new(all->n + 1, sizeof(struct decision_record *));

	for (size_t i = 0; i < all->n; i++)
		give_short_names(&all->items[i]);
	make_unique(all, order, false);
	make_unique(all, order, true);
	free(order);
}

ORDER_BY(compare_worst, struct decision_record, BY_ASC(severity_rank) BY_ASC(number))

void decisions_collect(const struct document *d, struct decisions *out)
{
	const struct doc_node *rows = find_member(&d->root, "decisions"), *undecided = find_member(&d->root, "undecided");
	const char *command = cli_command_name();
	struct decision_record one;
	size_t capacity = 0;

	*out = (struct decisions){ .command = strncmp(command, "assay ", 6) == 0 ? command + 6 : command,
				   .night = find_member(&d->root, "night"),
				   .started_ms = read_number(&d->root, "started_ms"),
				   .finished_ms = read_number(&d->root, "finished_ms") };
	if (rows)
		read_reasons(find_member(&d->root, "notes"), &out->notes);
	add_rows(rows, false, &capacity, out);
	add_rows(undecided, true, &capacity, out);
	if (!rows && read_decision(&d->root, &one))
		mem_append(out->items, out->n, &capacity, one);
	for (size_t i = 0; i < out->n; i++) {
		out->items[i].number = i;
		out->items[i].severity_rank = decision_rank(out->items[i].decision);
	}
	order_sort(out->items, out->n, compare_worst);
	set_keys(out);
}

void decisions_release(struct decisions *decisions)
{
	for (size_t i = 0; i < decisions->n; i++) {
		reasons_release(&decisions->items[i].reasons);
		mem_free(decisions->items[i].candidate_name, decisions->items[i].baseline_name, decisions->items[i].key);
	}
	reasons_release(&decisions->notes);
	free(decisions->items);
	*decisions = (struct decisions){ 0 };
}

bool decided_has_reason(const struct decision_record *decided, const char *code)
{
	return reasons_find(&decided->reasons, code) != NULL;
}

/* Returns the reason why there is no ratio: all runs of the candidate failed, or else the first reason. The caller frees it. */
static char *explain_missing_ratio(const struct decision_record *decided)
{
	const char *fails = reasons_find(&decided->reasons, "candidate_always_fails"),
		   *why = fails ? fails : reasons_find(&decided->reasons, NULL);

	return mem_format("%s cannot be compared%s%s%s%s", decided->candidate, *decided->baseline ? " with " : "", decided->baseline,
			  why ? ": " : "", why ? why : "");
}

char *decided_text(const struct decision_record *decided)
{
	const struct reason first = decided->reasons.n ? decided->reasons.items[0] : (struct reason){ .code = NULL };
	const char *cause = decision_is_finding(decided->decision) ? decided->cause : ""; /* "" if a night withdrew the finding */
	char *interval, *text, *why;

	if (isnan(decided->ratio))
		return explain_missing_ratio(decided);
	if (isnan(decided->low) || isnan(decided->high))
		interval = mem_string("no interval");
	else
		interval = mem_format("%s%sinterval %s to %s", decided->level > 0 ? effect_format_level(decided->level).text : "",
				      decided->level > 0 ? " " : "", text_fixed(decided->low, 3).text, text_fixed(decided->high, 3).text);
	why = decision_first_reason(decided->decision, first.code ? first.code : "", first.code ? first.text : "");
	text = mem_format("%s%s%s %s %s times as much %sas %s (%s)%s%s", why, *why ? "; " : "", decided->candidate,
			  decided->by_processor ? "takes" : "costs", text_fixed(decided->ratio, 3).text,
			  decided->by_processor ? "CPU time " : "", decided->baseline, interval, *cause ? ": " : "", cause);
	mem_free(interval, why);
	return text;
}

void decided_add_reasons(const struct decision_record *decided, const char *before, const char *after, struct buf *out)
{
	for (size_t i = 0; i < decided->reasons.n; i++)
		buf_format(out, "%s%s%s", before, decided->reasons.items[i].text, after);
}

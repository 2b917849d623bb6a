/* assay nightly --dry-run: what a night that begins now would compare, or what is left of the one that it would go on with. */
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "gate/nightly/night_answer.h"
#include "gate/nightly/nightly.h"
#include "runs/cmd_run.h"

#include <math.h>

/* At one comparison. */
struct ahead {
	struct estimate first; /* look */
	size_t hosts;
	char *detail; /* why it would not be measured; NULL: it would */
};

struct dry {
	struct nightly night;
	struct ahead *ahead;   /* [n] of the night's comparisons */
	struct estimate first; /* looks, together */
	double budget_s;       /* together; infinite: one has no limit */
	size_t measured;
};

static bool is_left(const struct night_comparison *c)
{
	return c->state == NIGHT_WAITING || c->state == NIGHT_MEASURING;
}

static void look_ahead(struct dry *dry, struct night_comparison *c, struct ahead *a)
{
	struct assay_error err;

	if (!is_left(c))
		a->detail = mem_string(night_state_text(c->state));
	else if (!*c->baseline || *c->detail || nightly_estimate(&dry->night, c, &a->first, &a->hosts, &err))
		a->detail = mem_format("would not be measured: %s", !*c->baseline || *c->detail ? c->detail : err.text);
	if (a->detail)
		return;
	dry->measured++;
	dry->first.runs += a->first.runs;
	dry->first.unknown += a->first.unknown;
	dry->first.seconds += a->first.seconds;
	dry->first.at_most_s += a->first.at_most_s;
	dry->budget_s += c->budget_s > 0 ? c->budget_s : (double)INFINITY;
}

static void add_comparison(const struct night_comparison *c, const struct ahead *a, struct document *d)
{
	char budget[CMD_RUN_SPAN_BYTES] = "none", *time = a->detail ? mem_string("-") : cmd_run_estimate_text(&a->first);

	doc_row(d);
	doc_show(d, "application", "application", c->application);
	doc_show(d, "candidate", "candidate", c->candidate);
	doc_show(d, "baseline", "baseline", c->baseline);
	doc_show(d, "against", "which is", c->against);
	doc_show(d, "hosts", "hosts", a->hosts);
	cmd_run_estimate(&a->first, d);
	doc_show(d, NULL, "runs", a->first.runs);
	doc_show(d, NULL, "first look", time);
	doc_set(d, "budget_s", c->budget_s > 0 ? c->budget_s : (double)NAN);
	doc_show(d, NULL, "budget", c->budget_s > 0 ? cmd_run_span(c->budget_s, budget) : budget);
	doc_set(d, "min_effect", c->min_effect);
	doc_set_empty(d, "detail", a->detail);
	free(time);
}

static void add_comparisons(const struct dry *dry, struct document *d)
{
	const struct night_comparisons *all = &dry->night.comparisons;
	const char *before = "\n";

	doc_table(d, "comparisons");
	for (size_t i = 0; i < all->n; i++)
		add_comparison(&all->items[i], &dry->ahead[i], d);
	doc_end(d);
	for (size_t i = 0; i < all->n; i++) {
		if (!dry->ahead[i].detail)
			continue;
		doc_line(d, "%s%s@%s: %s", before, all->items[i].application, all->items[i].candidate, dry->ahead[i].detail);
		before = "";
	}
}

static enum assay_status add_fingerprints(struct nightly *n, struct document *d, struct assay_error *err)
{
	struct lab lab = { .lock_fd = -1 };
	const struct host **hosts = NULL;
	struct buf names = BUF_INIT;
	size_t count = 0;
	enum assay_status st = ASSAY_OK;

	doc_list(d, "fingerprints");
	if (strcmp(n->suite.battery, SUITE_BATTERY_NONE) != 0) {
		st = nightly_open(n, &lab, err);
		if (!st)
			st = nightly_without_fingerprint(n, &lab, &hosts, &count, err);
	}
	for (size_t i = 0; i < count; i++) {
		doc_set(d, NULL, hosts[i]->name);
		buf_format(&names, "%s%s", i ? ", " : "", hosts[i]->name);
	}
	doc_end(d);
	if (count)
		doc_line(d, "\nFingerprints with battery '%s' before that: %s.", n->suite.battery, names.bytes);
	buf_release(&names);
	free(hosts);
	lab_close(&lab);
	return st;
}

static void add_head(const struct dry *dry, struct document *d)
{
	const struct night *night = &dry->night.night;
	char *time = cmd_run_estimate_text(&dry->first), most[CMD_RUN_SPAN_BYTES], date[TEXT_DATE_BYTES];
	char *budgets = isinf(dry->budget_s) ? mem_string("no limit") : mem_format("at most %s", cmd_run_span(dry->budget_s, most));

	if (*night->id)
		doc_line(d, "The night of %s would go on.", text_from_ms(night->started_ms / 1000 * 1000, date));
	doc_line(d,
		 "%zu of %zu comparison%s would be measured: %zu run%s to the first looks (time: %s); by their budgets %s. Findings are "
		 "measured once more. Nothing was run.",
		 dry->measured, dry->night.comparisons.n, text_plural(dry->night.comparisons.n), dry->first.runs,
		 text_plural(dry->first.runs), time, budgets);
	if (night->deadline_ms)
		doc_line(d, "It would end by %s at the latest.", text_from_ms(night->deadline_ms / 1000 * 1000, date));
	doc_line(d, "%s", "");
	doc_set_empty(d, "night", night->id);
	doc_set(d, "deadline_ms", night->deadline_ms ? doc_value_integer(night->deadline_ms) : DOC_NOTHING);
	doc_set(d, "measured", dry->measured);
	cmd_run_estimate(&dry->first, d);
	doc_set(d, "budget_s", isinf(dry->budget_s) ? (double)NAN : dry->budget_s);
	free(budgets);
	free(time);
}

enum assay_status nightly_dry(const struct nightly_options *options, struct document *d, struct assay_error *err)
{
	struct dry dry = { .measured = 0 };
	enum assay_status st = nightly_plan(options, &dry.night, err);
	struct night_comparisons *all = &dry.night.comparisons;

	dry.ahead = mem_new(all->n + 1, sizeof(*dry.ahead));
	for (size_t i = 0; !st && i < all->n; i++)
		look_ahead(&dry, &all->items[i], &dry.ahead[i]);
	if (!st) {
		add_head(&dry, d);
		add_comparisons(&dry, d);
		free(dry.night.night.notes);
		dry.night.night.notes = json_text(dry.night.notes);
		night_answer_notes(&dry.night.night, d);
		st = add_fingerprints(&dry.night, d, err);
	}
	for (size_t i = 0; i < all->n; i++)
		free(dry.ahead[i].detail);
	free(dry.ahead);
	nightly_release(&dry.night);
	return st;
}

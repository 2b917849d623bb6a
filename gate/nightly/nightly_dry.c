/* assay nightly --dry-run: what a night that begins now would compare, or what is left of the one that it would go on with. */
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "gate/nightly/night_answer.h"
#include "gate/nightly/nightly.h"
#include "runs/cmd_run.h"

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
}

static void add_comparison(const struct night_comparison *c, const struct ahead *a, struct document *d)
{
	char *time = a->detail ? mem_string("-") : cmd_run_estimate_text(&a->first);

	doc_row(d);
	doc_show(d, "application", "application", c->application);
	doc_show(d, "candidate", "candidate", c->candidate);
	doc_show(d, "baseline", "baseline", c->baseline);
	doc_show(d, "against", "which is", c->against);
	doc_show(d, "hosts", "hosts", a->hosts);
	cmd_run_estimate(&a->first, d);
	doc_show(d, NULL, "runs", a->first.runs);
	doc_show(d, NULL, "first look", time);
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

static void add_head(const struct dry *dry, struct document *d)
{
	const struct night *night = &dry->night.night;
	char *time = cmd_run_estimate_text(&dry->first), date[TEXT_DATE_BYTES];

	if (*night->id)
		doc_line(d, "The night of %s would go on.", text_from_ms(night->started_ms / 1000 * 1000, date));
	doc_line(d,
		 "%zu of %zu comparison%s would be measured: %zu run%s to the first looks (time: %s). Findings are measured once more. "
		 "Nothing was run.",
		 dry->measured, dry->night.comparisons.n, text_plural(dry->night.comparisons.n), dry->first.runs,
		 text_plural(dry->first.runs), time);
	doc_line(d, "%s", "");
	doc_set_empty(d, "night", night->id);
	doc_set(d, "measured", dry->measured);
	cmd_run_estimate(&dry->first, d);
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
	}
	for (size_t i = 0; i < all->n; i++)
		free(dry.ahead[i].detail);
	free(dry.ahead);
	nightly_release(&dry.night);
	return st;
}

/* What `assay run --dry-run` says: what would be run, and how long it will take. */
#include "base/table.h"
#include "base/text.h"
#include "runs/cmd_run.h"

#include <inttypes.h>

#define ORDER_SHOWN 60

/* "about 3 min, and 4 runs whose time is unknown: at most 40 min more". */
static void print_estimate(const struct estimate *e, struct buf *out)
{
	char known[CMD_RUN_SPAN_BYTES], most[CMD_RUN_SPAN_BYTES];

	cmd_run_span(e->seconds, known);
	cmd_run_span(e->at_most_s, most);
	if (e->unknown == e->runs && e->runs)
		buf_format(out, "unknown, at most %s", most);
	else if (e->unknown)
		buf_format(out, "%s, and %zu unknown, at most %s", known, e->unknown, most);
	else
		buf_text(out, known);
}

static void print_probe(const struct cmd_run_view *view, struct buf *out)
{
	const struct manifest_probe *probe = &view->manifest->probe;

	buf_format(out, "\nFunctions are measured by %s; these runs give samples, and no results.\n",
		   probe->back_end == MANIFEST_EMULATED ? "the emulation" : "the probe");
	for (size_t i = 0; view->instrument && i < view->instrument->n; i++)
		buf_format(out, "  %s: %zu entry point%s\n", view->plan->versions[i], view->instrument->listed[i],
			   text_plural(view->instrument->listed[i]));
	if (!view->instrument)
		buf_text(out, "  Which ones is known when the versions are built.\n");
	if (probe->back_end == MANIFEST_PROBED && (probe->default_counters || probe->counters.n))
		buf_text(out, "  Each repetition is run as often as the counters of its host take it; what can be counted there is asked then.\n");
}

static void print_order(const struct cmd_run_view *view, struct buf *out)
{
	const struct plan *plan = view->plan;
	struct plan_cell *cells = NULL;
	size_t n = 0;

	plan_order(plan, 0, &cells, &n);
	buf_format(out, "\nOrder on %s (seed %" PRIu64 "; warm-ups in brackets):", view->hosts[0]->name, plan->seed);
	for (size_t i = 0; i < n && i < ORDER_SHOWN; i++) {
		const char *version = plan->versions[cells[i].version];

		if (plan->n_inputs > 1 && (i == 0 || cells[i].input != cells[i - 1].input))
			buf_format(out, "\n  input '%s':", plan->inputs[cells[i].input]);
		buf_format(out, cells[i].repetition < 1 ? " [%s]" : " %s", version);
	}
	if (n > ORDER_SHOWN)
		buf_format(out, " ... and %zu more", n - ORDER_SHOWN);
	buf_char(out, '\n');
	free(cells);
}

void cmd_run_print_dry(const struct cmd_run_view *view, struct buf *out)
{
	static const char *const headings[] = { "host", "versions", "inputs", "repetitions", "warm-ups", "runs", "time" };
	const struct plan *plan = view->plan;
	struct estimate total = estimate_total(view->estimates, view->hosts, view->n);
	struct table table;

	table_init(&table, "lrrrrrl", headings);
	for (size_t i = 0; i < view->n; i++) {
		struct buf span = BUF_INIT;

		print_estimate(&view->estimates[i], &span);
		table_cell(&table, "%s", view->hosts[i]->name);
		table_cell(&table, "%zu", plan->n_versions);
		table_cell(&table, "%zu", plan->n_inputs);
		table_cell(&table, "%" PRId64, plan->repetitions);
		table_cell(&table, "%" PRId64, plan->warm_ups);
		table_cell(&table, "%zu", view->estimates[i].runs);
		table_cell(&table, "%s", span.bytes);
		buf_release(&span);
	}
	table_print(&table, out);
	table_release(&table);
	if (view->plan->probe)
		print_probe(view, out);
	print_order(view, out);
	buf_format(out, "\n%zu run%s, all together: ", total.runs, text_plural(total.runs));
	print_estimate(&total, out);
	buf_text(out, " (without what lies between runs). Nothing was run.\n");
}

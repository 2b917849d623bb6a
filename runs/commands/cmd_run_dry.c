/* assay run --dry-run: what would be run, and how long it would take. */
#include "runs/commands/cmd_run.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>

#define ORDER_SHOWN 60

static void add_dry_hosts(const struct launch *launch, struct document *d)
{
	const struct plan *plan = &launch->plan;

	doc_table(d, "hosts");
	for (size_t i = 0; i < launch->n; i++) {
		const struct estimate *e = &launch->estimates[i];
		char *time = estimate_text(e);

		doc_row(d);
		doc_show(d, "host", "host", launch->hosts[i]->name);
		doc_set(d, "machine", launch->hosts[i]->id);
		doc_show(d, NULL, "versions", plan->n_versions);
		doc_show(d, NULL, "inputs", plan->n_inputs);
		doc_show(d, NULL, "repetitions", plan->repetitions);
		doc_show(d, NULL, "warm-ups", plan->warm_ups);
		doc_show(d, NULL, "runs", e->runs);
		estimate_answer(e, d);
		doc_show(d, NULL, "time", time);
		free(time);
	}
	doc_end(d);
}

static void add_dry_probe(const struct launch *launch, struct document *d)
{
	const struct manifest_probe *probe = &launch->manifest.probe;

	doc_line(d, "\nFunctions are measured by %s; these runs give samples, and no results.",
		 probe->back_end == MANIFEST_EMULATED ? "the emulation" : "the probe");
	for (size_t i = 0; i < launch->instrument.n; i++)
		doc_line(d, "  %s: %zu entry point%s", launch->plan.versions[i], launch->instrument.listed[i],
			 text_plural(launch->instrument.listed[i]));
	if (!launch->instrument.n)
		doc_line(d, "  Which ones will be known when the versions are built.");
	if (probe->back_end == MANIFEST_PROBED && (probe->default_counters || probe->counters.n))
		doc_line(d, "  Each repetition is run as often as its host needs to count all the counters; the host is asked then.");
}

static void add_order(const struct launch *launch, struct document *d)
{
	const struct plan *plan = &launch->plan;
	struct buf line = BUF_INIT;
	struct plan_cell *cells = NULL;
	size_t n = 0;

	plan_order(plan, 0, &cells, &n);
	doc_list(d, "order");
	for (size_t i = 0; i < n; i++) {
		const char *version = plan->versions[cells[i].version], *input = plan->inputs[cells[i].input];

		doc_object(d, NULL);
		doc_set(d, "input", input);
		doc_set(d, "version", version);
		doc_set(d, "repetition", cells[i].repetition);
		doc_end(d);
		if (i >= ORDER_SHOWN)
			continue;
		if (plan->n_inputs > 1 && (i == 0 || cells[i].input != cells[i - 1].input))
			buf_format(&line, "\n  input '%s':", input);
		buf_format(&line, cells[i].repetition < 1 ? " [%s]" : " %s", version);
	}
	doc_end(d);
	if (n > ORDER_SHOWN)
		buf_format(&line, " ... and %zu more", n - ORDER_SHOWN);
	doc_line(d, "\nOrder on %s (seed %" PRIu64 "; warm-ups in brackets):%s", launch->hosts[0]->name, plan->seed,
		 line.bytes ? line.bytes : "");
	buf_release(&line);
	free(cells);
}

void cmd_run_dry(const struct launch *launch, struct document *d)
{
	struct estimate total = estimate_total(launch->estimates, launch->hosts, launch->n);
	char *time = estimate_text(&total);

	doc_line(d, "%zu run%s, all together: %s (not counting the time between runs). Nothing was run.\n", total.runs,
		 text_plural(total.runs), time);
	cmd_run_plan(launch, true, d);
	add_dry_hosts(launch, d);
	estimate_answer(&total, d);
	if (launch->plan.probe)
		add_dry_probe(launch, d);
	add_order(launch, d);
	free(time);
}

/* The command 'assay result list': lists applications and versions that have results. */
#include "base/command.h"
#include "base/text.h"
#include "fleet/lab/lab.h"
#include "runs/commands/runs_commands.h"
#include "runs/running/run.h"

static void add_listing(const struct run_listing *item, struct document *d)
{
	doc_row(d);
	doc_show(d, "application", "application", item->application);
	doc_show(d, "version", "version", item->version);
	doc_set_bool(d, "higher_is_better", item->higher_is_better);
	doc_show(d, NULL, "better", item->higher_is_better ? "higher" : "lower");
	doc_show(d, "results", "results", item->runs);
	doc_show(d, NULL, "machines", item->machines);
	doc_show(d, NULL, "with fingerprint", item->with_fingerprint);
	doc_show(d, "failed", "failed", item->failed);
	doc_set(d, "machines", item->machines);
	doc_set(d, "with_fingerprint", item->with_fingerprint);
	doc_showf(d, "first_ms", "first", item->first_ms, "%.10s", TEXT_DATE(item->first_ms));
	doc_showf(d, "last_ms", "last", item->last_ms, "%.10s", TEXT_DATE(item->last_ms));
}

static enum assay_status result_list_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	struct run_listing *list = NULL;
	size_t n = 0;
	enum assay_status st = run_list(&lab->store, &list, &n, err);

	(void)arguments;
	if (!st && n == 0)
		doc_line(d, "No results yet: 'assay run APP' runs an application, 'assay result import FILE' imports recorded ones.");
	doc_table(d, "applications");
	for (size_t i = 0; i < n; i++)
		add_listing(&list[i], d);
	doc_end(d);
	run_list_free(list, n);
	return st;
}

const struct command result_list_command = {
	.name = "result list",
	.summary = "list applications and versions that have results",
	.about = "Lists applications and versions with results, the number of machines and of failed runs, and the better direction of the "
		 "metric.",
	.examples = "  assay result list\n",
	.lab = CLI_LAB_READ,
	.run = result_list_run,
};

/* The command 'assay counters': lists the events that this machine can count. */
#include "base/command.h"
#include "runs/commands/runs_commands.h"
#include "runs/inside/instrument/countable_here.h"

#include <string.h>

struct arguments {
	const char *events;
};

/* ---- countable events ---- */

static void add_plan(const struct counting_plan *plan, struct document *d)
{
	doc_set(d, "micro_architecture", countable_local_pmu());
	doc_set(d, "no_hardware", plan->none);
	doc_list(d, "runs");
	for (size_t i = 0; i < plan->n; i++) {
		const struct counting_run *run = &plan->runs[i];
		const char *kernel = strcmp(run->domain, "user") == 0 ? "without the kernel's part" : "with the kernel's part";

		doc_object(d, NULL);
		doc_line(d, "%sRun %zu of %zu (%s, %s):", i ? "\n" : "", i + 1, plan->n, run->family, kernel);
		doc_set(d, "family", run->family);
		doc_set(d, "domain", run->domain);
		doc_table(d, "events");
		for (size_t k = 0; k < run->events.n; k++) {
			doc_row(d);
			doc_show(d, "name", "event", run->events.names[k]);
			doc_show(d, "kind", "kind", countable_kind_code(countable_find_kind(run->events.names[k])));
		}
		doc_end(d);
		doc_end(d);
	}
	doc_end(d);
	if (plan->n_absent && !plan->none)
		doc_line(d, "%sNot available on this machine:", plan->n ? "\n" : "");
	doc_list(d, "absent");
	for (size_t i = 0; i < plan->n_absent; i++) {
		doc_object(d, NULL);
		doc_set(d, "name", plan->absent[i].event);
		doc_set(d, "reason", plan->absent[i].reason);
		if (!plan->none)
			doc_line(d, "  %s: %s", plan->absent[i].event, plan->absent[i].reason);
		doc_end(d);
	}
	doc_end(d);
}

static void describe_plan(const struct counting_plan *plan, struct document *d)
{
	size_t events = 0;

	for (size_t i = 0; i < plan->n; i++)
		events += plan->runs[i].events.n;
	if (plan->none)
		doc_line(d, "No hardware counters: %s.\n", plan->none);
	else
		doc_line(d, "%zu events can be counted in %zu run%s, %zu cannot.\n", events, plan->n, plan->n == 1 ? "" : "s",
			 plan->n_absent);
	add_plan(plan, d);
	d->exit_status = plan->n ? 0 : 6;
}

/* ---- command ---- */

static enum assay_status counters_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct counting_events events = { .n = 0 };
	struct counting_plan plan = { .runs = NULL };
	enum assay_status st = ASSAY_OK;

	(void)lab;
	if (a->events)
		st = counting_events_parse(a->events, &events, err);
	else
		countable_add_default_events(countable_local_pmu(), &events);
	if (!st)
		st = countable_plan_local(&events, &plan, err);
	if (!st)
		describe_plan(&plan, d);
	counting_plan_release(&plan);
	counting_events_release(&events);
	return st;
}

static const struct cli_option words[] = { CLI_OPTIONAL_ARGUMENT("EVENT,...", struct arguments, events), CLI_END };

const struct command counters_command = {
	.name = "counters",
	.summary = "list the events that this machine can count, and in how many runs",
	.about = "Lists events of the CPU and the kernel that this machine can count, in as few runs as its counters allow, with "
		 "instructions in every run. The default list has caches, coherence, remote memory, branches, TLB, floating point, stalls "
		 "and cycles, as presets of PAPI and native events of this CPU.",
	.examples = "  assay counters\n"
		    "  assay counters PAPI_TOT_INS,PAPI_L1_DCM,PAPI_BR_MSP\n",
	.exit_status = "0; 6 if nothing can be counted; 1 failure; 2 usage.",
	.words = words,
	CLI_RUN(struct arguments, CLI_LAB_NONE, counters_run),
};

/* assay counters */
#include "base/command.h"
#include "runs/commands/runs_commands.h"
#include "runs/inside/instrument/countable_here.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct arguments {
	const char *events, *work;
	bool selftest;
};

/* ---- what can be counted ---- */

static void add_plan(const struct counting_plan *plan, struct document *d)
{
	doc_set(d, "micro_architecture", countable_pmu_here());
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
			doc_show(d, "kind", "kind", countable_kind_code(countable_kind_of(run->events.names[k])));
		}
		doc_end(d);
		doc_end(d);
	}
	doc_end(d);
	if (plan->n_absent && !plan->none)
		doc_line(d, "%sNot on this machine:", plan->n ? "\n" : "");
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

static void answer_plan(const struct counting_plan *plan, struct document *d)
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

/* ---- do counters tell the truth? ---- */

static enum assay_status answer_selftest(const struct counting_plan *plan, struct document *d, struct assay_error *err)
{
	struct countable_verdicts verdicts = { .items = NULL };
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *const program[] = { self, "counters", "--work" };
	enum assay_status st;
	size_t moved = 0;

	if (n < 0)
		return assay_fail_errno(err, errno, "cannot find this program");
	self[n] = '\0';
	st = countable_here_selftest(plan, program, &verdicts, err);
	for (size_t i = 0; i < verdicts.n; i++)
		moved += verdicts.items[i].moves;
	if (!st && plan->none)
		doc_line(d, "No hardware counters: %s.\n", plan->none);
	if (!st)
		doc_line(d, "%zu of %zu counters moved when they should.\n", moved, verdicts.n);
	doc_set(d, "no_hardware", plan->none);
	doc_table(d, "selftest");
	for (size_t i = 0; i < verdicts.n; i++) {
		const struct countable_verdict *v = &verdicts.items[i];

		doc_row(d);
		doc_show(d, "event", "event", v->event);
		doc_show(d, "good", "good", v->good);
		doc_show(d, "bad", "bad", v->bad);
		doc_show(d, "moves", "moves", doc_value_bool(v->moves));
		doc_show(d, "what", "what should move it", v->what);
	}
	doc_end(d);
	d->exit_status = moved ? 0 : 6;
	free(verdicts.items);
	return st;
}

/* ---- the command ---- */

static enum assay_status counters_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct counting_events events = { .n = 0 };
	struct counting_plan plan = { .runs = NULL };
	enum assay_status st = ASSAY_OK;

	(void)lab;
	if (a->work)
		return countable_here_work(a->work) ? ASSAY_OK
						    : assay_fail(err, ASSAY_E_USAGE, "no program of the selftest is called '%s'", a->work);
	if (a->events)
		st = counting_events_parse(a->events, &events, err);
	else
		countable_default(countable_pmu_here(), &events);
	if (!st)
		st = countable_here_plan(&events, &plan, err);
	if (!st && a->selftest)
		st = answer_selftest(&plan, d, err);
	else if (!st)
		answer_plan(&plan, d);
	counting_plan_release(&plan);
	counting_events_release(&events);
	return st;
}

static const struct cli_option options[] = {
	CLI_FLAG("selftest", struct arguments, selftest, "Show which counters move when they should"),
	CLI_TEXT("work", "NAME", struct arguments, work, "Only be one of the programs that --selftest counts"), CLI_END
};

static const struct cli_option words[] = { CLI_OPTIONAL_WORD("EVENT,...", struct arguments, events), CLI_END };

const struct command counters_command = {
	.name = "counters",
	.summary = "list what this machine can count, and in how many runs",
	.about = "Lists events of the processor and the kernel that this machine can count, packed into few runs, as its counters "
		 "allow, with the instructions in every run. Without names it is the default list: caches, coherence, remote memory, "
		 "branches, TLB, floating point, stalls, cycles, by presets of PAPI and by native events of this processor.\n\n"
		 "With --selftest it runs pairs of programs of which one should move a counter and the other should not, and says which "
		 "counters can be trusted.",
	.examples = "  assay counters\n"
		    "  assay counters PAPI_TOT_INS,PAPI_L1_DCM,PAPI_BR_MSP\n"
		    "  assay counters --selftest\n",
	.exit_status = "0; 6 when nothing can be counted, or no counter moved; 1 failure; 2 usage.",
	.words = words,
	.options = options,
	CLI_RUN(struct arguments, CLI_LAB_NONE, counters_run),
};

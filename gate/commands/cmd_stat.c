/* The command assay stat. */
#include "base/mem.h"
#include "fleet/engine/local_processes.h"
#include "gate/commands/gate_commands.h"
#include "gate/here/here.h"

struct arguments {
	struct cli_list words, pids;
	double budget_s;
	bool accept_any_status;
};

static enum assay_status stat_attached(const struct cli_list *pids, struct adhoc_options how, struct document *d, struct assay_error *err)
{
	struct local_processes processes;
	enum assay_status st = local_processes_find(pids->items, pids->n, &processes, err);
	char *text = st ? NULL : mem_format("(process %s)", processes.ids);

	how.attach = processes.ids;
	if (!st)
		st = adhoc_profile((const char *const[]){ processes.program, text }, 2, &how, d, err);
	if (!st)
		st = local_processes_check(&processes, err);
	local_processes_release(&processes);
	free(text);
	return st;
}

static enum assay_status stat_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	const struct adhoc_options how = { .budget_s = a->budget_s,
					   .progress = !cli_is_quiet(),
					   .accept_any_status = a->accept_any_status };

	(void)lab;
	return a->pids.n ? stat_attached(&a->pids, how, d, err)
			 : adhoc_profile((const char *const *)a->words.items, a->words.n, &how, d, err);
}

static enum assay_status stat_check(void *arguments, struct assay_error *err)
{
	const struct arguments *a = arguments;

	if (a->words.n && a->pids.n)
		return assay_fail(err, ASSAY_E_USAGE, "--pid and a command exclude each other");
	if (!a->words.n && !a->pids.n)
		return assay_fail(err, ASSAY_E_USAGE, "missing argument: -- COMMAND [ARG]..., or --pid PID");
	return ASSAY_OK;
}

static const struct cli_option words[] = { CLI_ARGUMENTS("-- COMMAND [ARG]", struct arguments, words, 0), CLI_END };
static const struct cli_option options[] = {
	CLI_NAMES("pid", "PID,...", struct arguments, pids, "Watch these running processes and their descendants instead of a command"),
	ADHOC_BUDGET(struct arguments, budget_s, "20s"),
	CLI_DURATION("for", struct arguments, budget_s, "The same as --budget, for running processes"),
	ADHOC_ANY_STATUS(struct arguments, accept_any_status),
	CLI_END,
};
static const struct arguments defaults = { .budget_s = ADHOC_BUDGET_S };

const struct command stat_command = {
	.name = "stat",
	.summary = "measure the resources that a command or a running process uses",
	.about = "Runs a command on this machine, without a laboratory, until the budget ends. Shows where its time goes: computing, the "
		 "kernel by class of call, waiting, and functions. Each run reads all of standard input.\n\n--pid watches processes that "
		 "already run, such as a server, and their descendants. It needs root, CAP_PERFMON or kernel.perf_event_paranoid 0 to "
		 "see functions. It changes nothing in the processes.",
	.examples = "  assay stat -- sqlite3 test.db 'select count(*) from t'\n"
		    "  assay stat --budget 1m --format json -- sort -u <words\n"
		    "  assay stat --pid $(pidof redis-server) --for 30s\n",
	.words = words,
	.options = options,
	.defaults = &defaults,
	.flags = CLI_PROGRESS,
	.check = stat_check,
	CLI_RUN(struct arguments, CLI_LAB_NONE, stat_run),
};

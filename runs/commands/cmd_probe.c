/* assay probe */
#include "base/command.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "runs/commands/runs_commands.h"
#include "runs/commands/cmd_made.h"
#include "runs/inside/instrument/countable_here.h"
#include "runs/inside/instrument/foreground.h"
#include "runs/inside/instrument/site.h"
#include "runs/running/instrument.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct arguments {
	struct cli_list words, modules, functions;
	const char *counters, *library, *list, *input, *output;
	double budget;
	int64_t seed; /* below 0: one is drawn */
};

/* ---- what is measured ---- */

/* *n of them, modules[1 + a->modules.n], are to be released. The program itself may be a script or something else that starts what is
 * measured, as long as a module has the functions. */
static enum assay_status modules_open(const struct arguments *a, const char *program, struct site_module *modules, size_t *n,
				      struct assay_error *err)
{
	struct assay_error ignored;
	enum assay_status st = site_module_open(program, &modules[0], a->modules.n ? &ignored : err);

	*n = !st;
	if (!st && !a->modules.n)
		st = site_module_check(&modules[0], err);
	else if (a->modules.n)
		st = ASSAY_OK;
	for (size_t i = 0; i < a->modules.n && !st; i++) {
		st = site_module_open(a->modules.items[i], &modules[*n], err);
		if (!st)
			st = site_module_check(&modules[(*n)++], err);
	}
	return st;
}

static enum assay_status list_make(const struct arguments *a, const char *program, struct buf *list, struct assay_error *err)
{
	struct site_module *modules = mem_new(1 + a->modules.n, sizeof(*modules));
	struct site_selection selection = { .items = NULL };
	size_t n = 0;
	enum assay_status st = modules_open(a, program, modules, &n, err);

	for (size_t i = 0; i < a->functions.n && !st; i++)
		st = site_selection_add(&selection, a->functions.items[i], err);
	if (!st && !selection.n)
		st = assay_fail(err, ASSAY_E_NODATA, "no function is selected: the list is empty");
	if (!st)
		st = site_list(modules, n, &selection, SITE_FOR_PROBE, list, NULL, err);
	mem_release_all(modules, n, site_module_release);
	site_selection_release(&selection);
	return st;
}

/* ---- runs ---- */

static enum assay_status plan_make(const struct arguments *a, struct counting_plan *plan, struct assay_error *err)
{
	struct counting_events events;
	enum assay_status st = ASSAY_OK;

	if (strcmp(a->counters, "default") == 0)
		countable_default(countable_pmu_here(), &events);
	else
		st = counting_events_parse(a->counters, &events, err);
	if (st)
		return st;
	st = countable_here_plan(&events, plan, err);
	if (!st && plan->none)
		cli_remark("no hardware counters: %s", plan->none);
	else if (!st && strcmp(a->counters, "default") != 0)
		for (size_t i = 0; i < plan->n_absent; i++)
			cli_remark("not counted: %s: %s", plan->absent[i].event, plan->absent[i].reason);
	counting_events_release(&events);
	return st;
}

/* Finds the probe's library: `given`, or (NULL) ours. free() *path. */
static enum assay_status find_library(const char *given, char **path, struct assay_error *err)
{
	enum assay_status st;

	if (given) {
		*path = realpath(given, NULL);
		return *path ? ASSAY_OK : assay_fail_errno(err, errno, "cannot find the probe's library '%s'", given);
	}
	st = instrument_own_library(INSTRUMENT_LIBRARY, path, err);
	return st ? assay_context(err, "'assay probe' takes another by --library") : ASSAY_OK;
}

static enum assay_status set_preload(const struct arguments *a, struct assay_error *err)
{
	char *library = NULL;
	enum assay_status st = find_library(a->library, &library, err);

	if (st)
		return st;
	foreground_preload(library);
	free(library);
	return ASSAY_OK;
}

/* One for all runs that counters need: what they measure is joined by call. */
static void set_seed(int64_t seed)
{
	struct timespec now;
	char *text;

	clock_gettime(CLOCK_REALTIME, &now);
	text = mem_format("%lld", (long long)(seed < 0 ? (now.tv_sec * 1000003 + now.tv_nsec) & UINT32_MAX : seed));
	foreground_set_variable("ASSAY_PROBE_SEED", text);
	free(text);
}

static enum assay_status run_all(const struct arguments *a, struct assay_error *err)
{
	struct counting_plan plan = { .runs = NULL };
	enum assay_status st = a->counters ? plan_make(a, &plan, err) : ASSAY_OK;

	if (!st)
		st = set_preload(a, err);
	for (size_t i = 0; i < (plan.n ? plan.n : 1) && !st; i++) {
		char *counters = plan.n ? instrument_counters(&plan.runs[i]) : NULL;

		foreground_set_variable("ASSAY_PROBE_COUNTERS", counters);
		st = foreground_run_checked(a->words.items, err);
		free(counters);
	}
	counting_plan_release(&plan);
	return st;
}

/* ---- the command ---- */

static enum assay_status list_write(const struct arguments *a, const struct buf *list, char **path, struct assay_error *err)
{
	enum assay_status st = file_make_directory(a->output, 0755, err);

	*path = NULL;
	if (st)
		return st;
	*path = mem_format("%s/functions.list", a->output);
	return file_replace(*path, list->bytes, list->size, 0644, err);
}

static enum assay_status measure_program(const struct arguments *a, const struct buf *list, struct assay_error *err)
{
	char *path = NULL, *absolute = NULL, *directory = NULL, budget[TEXT_DOUBLE_BYTES];
	enum assay_status st = cmd_made_none_yet(a->output, err), ended;
	struct assay_error program;

	if (!st)
		st = list_write(a, list, &path, err);
	if (!st) {
		absolute = realpath(path, NULL);
		directory = realpath(a->output, NULL);
		if (!absolute || !directory)
			st = assay_fail_errno(err, errno, "cannot find '%s'", a->output);
	}
	if (!st) {
		foreground_set_variable("ASSAY_PROBE_LIST", absolute);
		foreground_set_variable("ASSAY_PROBE_DIRECTORY", directory);
		foreground_set_variable("ASSAY_PROBE_VERSION", INSTRUMENT_VERSION);
		foreground_set_variable("ASSAY_PROBE_BUDGET", a->budget < 0 ? NULL : text_from_double(a->budget, budget));
		foreground_set_variable("ASSAY_PROBE_INPUT", a->input);
		set_seed(a->seed);
		ended = run_all(a, &program);
		st = cmd_made(a->output, "no selected function was called", "no selected function was called", err);
		if (ended) { /* samples until then are kept */
			st = ended;
			*err = program;
		}
	}
	mem_free(path, absolute, directory);
	return st;
}

static enum assay_status probe_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct buf list = BUF_INIT;
	char *program = NULL;
	enum assay_status st = foreground_find_program(a->words.items[0], &program, err);

	(void)lab;
	(void)d;
	if (!st)
		st = list_make(a, program, &list, err);
	if (!st && a->list)
		st = file_replace(a->list, list.bytes, list.size, 0644, err);
	else if (!st)
		st = measure_program(a, &list, err);
	free(program);
	buf_release(&list);
	return st;
}

static const struct arguments defaults = { .output = "samples", .budget = -1 /* the library's own */, .seed = -1 };

static const struct cli_option options[] = {
	CLI_OPTION(LIST, "functions", "NAME,...|@FILE", struct arguments, functions,
		   "Functions to measure, or a file of them ('assay changes --list' writes one); may be repeated", .required = true),
	CLI_LIST("module", "FILE", struct arguments, modules, "A shared library in which to look for them too; may be repeated"),
	CLI_TEXT("counters", "NAME,...|default", struct arguments, counters,
		 "What to count besides time ('assay counters' lists what there is)"),
	CLI_REAL("budget", "F", struct arguments, budget, 0, 1,
		 "How much longer functions may take for being measured, a fraction (default: 0.03; 0: measure every call)"),
	CLI_INTEGER("seed", "N", struct arguments, seed, 0, UINT32_MAX,
		    "Which calls are measured where not all are (default: others in each run; the files say which N it was)"),
	CLI_TEXT("input", "NAME", struct arguments, input,
		 "Name of the input, kept with the samples: those of different inputs are never joined"),
	CLI_OPTION(TEXT, "output", "DIRECTORY", struct arguments, output,
		   "Directory for the sample files of this run (default: samples); it is made if need be, its parents are not",
		   .letter = 'o'),
	CLI_TEXT("list", "FILE", struct arguments, list,
		 "Only write the list that the probe's library takes, for programs that are started in another way"),
	CLI_TEXT("library", "FILE", struct arguments, library, "The probe's library (default: the one that came with this program)"),
	CLI_END
};

static const struct cli_option words[] = { CLI_WORDS("-- PROGRAM [ARG]", struct arguments, words, 1), CLI_END };

const struct command probe_command = {
	.name = "probe",
	.summary = "run a program and measure calls of selected functions",
	.about =
	    "Runs a program and measures calls of selected functions: how long they took, and what the CPU counted meanwhile. "
	    "Short functions are sampled, so that the program takes hardly longer than by itself. Samples are files, one a process, for "
	    "other commands.\n\n"
	    "The program must be built for it (see 'assay inspect'). When counters need several runs, the program is run several times.",
	.examples = "  assay probe --functions insert,lookup -- ./myapp 1000\n"
		    "  assay probe --functions @functions.txt --module libmy.so -o samples -- ./myapp 1000\n"
		    "  assay probe --functions insert --counters PAPI_TOT_INS,PAPI_L1_DCM -- ./myapp 1000\n",
	.exit_status = "0 measured; 6 no selected function was called; 1 the program or something else failed; 2 usage.",
	.words = words,
	.options = options,
	.defaults = &defaults,
	.flags = CLI_NO_FORMAT,
	CLI_RUN(struct arguments, CLI_LAB_NONE, probe_run),
};

#include "base/cli.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "runs/cmd.h"
#include "runs/cmd_made.h"
#include "runs/inside/instrument/countable.h"
#include "runs/running/instrument.h"
#include "runs/inside/instrument/launch.h"
#include "runs/inside/samples/samples.h"
#include "runs/inside/instrument/site.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char doc[] =
    "Runs a program and measures calls of selected functions: how long they took, and what the processor counted meanwhile. Short functions "
    "are sampled, so that the program takes hardly longer than by itself. Samples are files, one a process, for other commands. "
    "The program must be built for it (see 'assay doctor'). When counters need several runs, the program is run several times."
    "\vExample:\n"
    "  assay probe --functions insert,lookup -- ./myapp 1000\n"
    "  assay probe --functions @functions.txt --module libmy.so -o samples -- ./myapp 1000\n"
    "  assay probe --functions insert --counters PAPI_TOT_INS,PAPI_L1_DCM -- ./myapp 1000\n"
    "\n"
    "Exit status: 0 measured, 6 no selected function was called, 1 the program or something else failed.";

#define MODULES_MAX 256

enum { OPTION_FUNCTIONS = 256, OPTION_MODULE, OPTION_COUNTERS, OPTION_BUDGET, OPTION_LIBRARY, OPTION_LIST, OPTION_INPUT };

static const struct argp_option options[] = {
	{ "functions", OPTION_FUNCTIONS, "NAME,...|@FILE", 0, "Functions to measure, or a file of them ('assay changes --list' writes one); may be repeated", 1 },
	{ "module", OPTION_MODULE, "FILE", 0, "A shared library in which to look for them too; may be repeated", 1 },
	{ "counters", OPTION_COUNTERS, "NAME,...|default", 0, "What to count besides time ('assay counters' lists what there is)", 2 },
	{ "budget", OPTION_BUDGET, "F", 0, "How much longer functions may take for being measured, a fraction (default: 0.03; 0: measure every call)", 2 },
	{ "input", OPTION_INPUT, "NAME", 0, "Name of the input, kept with the samples: those of different inputs are never joined", 2 },
	{ "output", 'o', "DIRECTORY", 0, "Directory for the files of samples, made if need be, its parents not (default: samples)", 3 },
	{ "list", OPTION_LIST, "FILE", 0, "Only write the list that the probe's library takes, for programs that are started otherwise", 3 },
	{ "library", OPTION_LIBRARY, "FILE", 0, "The probe's library (default: the one that came with this program)", 3 },
	{ 0 }
};

struct arguments {
	char **words; /* [n_words], NULL behind them */
	size_t n_words, words_capacity;
	const char *modules[MODULES_MAX]; /* [0] is the program */
	size_t n_modules;
	char **functions; /* [n_functions], borrowed texts */
	size_t n_functions, functions_capacity;
	const char *counters, *budget, *library, *list, *input, *output;
};

static void parse_budget(struct arguments *a, char *arg, struct argp_state *state)
{
	double value;

	if (!text_double(arg, &value) || value < 0 || value > 1)
		cli_refuse(state, "--budget is a fraction from 0 to 1, not '%s'", arg);
	a->budget = arg;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPTION_FUNCTIONS:
		a->functions = mem_grow(a->functions, a->n_functions, &a->functions_capacity, sizeof(*a->functions));
		a->functions[a->n_functions++] = arg;
		return 0;
	case OPTION_MODULE:
		if (a->n_modules == MODULES_MAX)
			cli_refuse(state, "more than %d modules", MODULES_MAX - 1);
		a->modules[a->n_modules++] = arg;
		return 0;
	case OPTION_COUNTERS:
		a->counters = arg;
		return 0;
	case OPTION_BUDGET:
		parse_budget(a, arg, state);
		return 0;
	case OPTION_INPUT:
		a->input = arg;
		return 0;
	case 'o':
		a->output = arg;
		return 0;
	case OPTION_LIST:
		a->list = arg;
		return 0;
	case OPTION_LIBRARY:
		a->library = arg;
		return 0;
	case ARGP_KEY_ARG:
		a->words = mem_grow(a->words, a->n_words + 1, &a->words_capacity, sizeof(*a->words));
		a->words[a->n_words++] = arg;
		a->words[a->n_words] = NULL;
		return 0;
	case ARGP_KEY_END:
		if (!a->n_words)
			cli_refuse(state, "there is no program: it stands behind --");
		if (!a->n_functions)
			cli_refuse(state, "no function is selected: --functions names them");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- what is measured ---- */

/* The program itself may be a script or something else that starts what is measured, as long as a module has the functions. */
static enum assay_status modules_open(const struct arguments *a, struct site_module *modules, size_t *n, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	*n = 0;
	for (size_t i = 0; i < a->n_modules && !st; i++) {
		struct assay_error ignored;

		if (i == 0 && a->n_modules > 1) {
			if (!site_module_open(a->modules[0], &modules[*n], &ignored))
				++*n;
			continue;
		}
		st = site_module_open(a->modules[i], &modules[*n], err);
		if (!st) {
			++*n;
			st = site_module_check(&modules[*n - 1], err);
		}
	}
	return st;
}

static enum assay_status list_make(const struct arguments *a, struct buf *list, struct assay_error *err)
{
	struct site_module *modules = mem_new(MODULES_MAX, sizeof(*modules));
	struct site_selection selection = { .items = NULL };
	size_t n = 0;
	enum assay_status st = modules_open(a, modules, &n, err);

	for (size_t i = 0; i < a->n_functions && !st; i++)
		st = site_selection_add(&selection, a->functions[i], err);
	if (!st && !selection.n)
		st = assay_fail(err, ASSAY_E_NODATA, "no function is selected: the list is empty");
	if (!st)
		st = site_list(modules, n, &selection, SITE_FOR_PROBE, list, NULL, err);
	for (size_t i = 0; i < n; i++)
		site_module_release(&modules[i]);
	free(modules);
	site_selection_release(&selection);
	return st;
}

/* ---- runs ---- */

static void environment_set(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

/* Before what LD_PRELOAD has already, for interposition. */
static void preload(const char *library)
{
	const char *old = getenv("LD_PRELOAD");
	char *value = mem_format("%s%s%s", library, old && *old ? ":" : "", old && *old ? old : "");

	setenv("LD_PRELOAD", value, 1);
	free(value);
}

extern char **environ;

static enum assay_status run_once(const struct arguments *a, const char *counters, struct assay_error *err)
{
	char *preloaded = getenv("LD_PRELOAD") ? mem_string(getenv("LD_PRELOAD")) : NULL, *library = NULL;
	enum assay_status st = instrument_library(a->library, &library, err);
	int status = 0;

	if (st)
		goto out;
	preload(library);
	environment_set("ASSAY_PROBE_COUNTERS", counters);
	st = launch_program(a->words, environ, &status, err);
	if (!st)
		st = launch_succeeded(a->words[0], status, err);
	environment_set("LD_PRELOAD", preloaded);
out:
	free(preloaded);
	free(library);
	return st;
}

static enum assay_status plan_make(const struct cli *cli, const struct arguments *a, struct counting_plan *plan, struct assay_error *err)
{
	struct counting_events events;
	enum assay_status st = ASSAY_OK;

	if (strcmp(a->counters, "default") == 0)
		countable_default(countable_pmu_here(), &events);
	else
		st = counting_events_parse(a->counters, &events, err);
	if (st)
		return st;
	st = countable_plan(&events, plan, err);
	if (!st && plan->none)
		cli_note(cli, "no hardware counters: %s", plan->none);
	else if (!st && strcmp(a->counters, "default") != 0)
		for (size_t i = 0; i < plan->n_absent; i++)
			cli_note(cli, "not counted: %s: %s", plan->absent[i].event, plan->absent[i].reason);
	counting_events_release(&events);
	return st;
}

static enum assay_status run_all(const struct cli *cli, const struct arguments *a, struct assay_error *err)
{
	struct counting_plan plan = { .runs = NULL };
	enum assay_status st;

	if (!a->counters)
		return run_once(a, NULL, err);
	st = plan_make(cli, a, &plan, err);
	if (!st && !plan.n)
		st = run_once(a, NULL, err);
	for (size_t i = 0; i < plan.n && !st; i++) {
		char *counters = instrument_counters(&plan.runs[i]);

		st = run_once(a, counters, err);
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

static enum assay_status measure(const struct cli *cli, const struct arguments *a, const struct buf *list, struct assay_error *err)
{
	char *path, *absolute = NULL, *directory = NULL;
	enum assay_status st = list_write(a, list, &path, err), ended;
	struct buf before = BUF_INIT;
	struct assay_error program;

	cmd_made_before(a->output, &before);
	if (!st) {
		absolute = realpath(path, NULL);
		directory = realpath(a->output, NULL);
		if (!absolute || !directory)
			st = assay_fail_errno(err, errno, "cannot find '%s'", a->output);
	}
	if (!st) {
		environment_set("ASSAY_PROBE_LIST", absolute);
		environment_set("ASSAY_PROBE_DIRECTORY", directory);
		environment_set("ASSAY_INSTRUMENT_VERSION", INSTRUMENT_VERSION);
		environment_set("ASSAY_PROBE_BUDGET", a->budget);
		environment_set("ASSAY_PROBE_INPUT", a->input);
		ended = run_all(cli, a, &program);
		st = cmd_made(cli, a->output, &before, "no selected function was called", err);
		if (ended) { /* samples until then are kept */
			st = ended;
			*err = program;
		}
	}
	buf_release(&before);
	free(path);
	free(absolute);
	free(directory);
	return st;
}

int cmd_probe(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, "-- PROGRAM [ARG...]", doc, NULL, NULL, NULL };
	struct arguments a = { .output = "samples", .n_modules = 1 };
	struct buf list = BUF_INIT;
	struct assay_error err;
	enum assay_status st;
	char *program = NULL;
	struct cli cli;

	cli_parse_without(&cli, CLI_NO_DIRECTORY_OLD | CLI_NO_FORMAT_OLD, &argp, argc, argv, directory, &a);
	st = launch_find(a.words[0], &program, &err);
	a.modules[0] = program;
	if (!st)
		st = list_make(&a, &list, &err);
	if (!st && a.list)
		st = file_replace(a.list, list.bytes, list.size, 0644, &err);
	else if (!st)
		st = measure(&cli, &a, &list, &err);
	free(program);
	free(a.words);
	free(a.functions);
	buf_release(&list);
	return cli_end(&cli, st, &err, 0);
}

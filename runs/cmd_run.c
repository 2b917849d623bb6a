#include "base/cancel.h"
#include "base/cli.h"
#include "base/cli_progress.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/cmd_fleet.h"
#include "runs/cmd.h"
#include "runs/cmd_run.h"

#include <inttypes.h>

static const char doc[] =
    "Runs the versions of an application on the machines of the laboratory: machines in parallel, one run at a time on each, the "
    "versions taking turns in a seeded order, so that a machine that becomes slower does not look like a slower version. Every result is "
    "kept at once; after an interruption --resume goes on. APP is a manifest of apps/, by its name, or the path of one."
    "\vExample:\n"
    "  assay run sqlite\n"
    "  assay run sqlite --versions wal,rollback --repetitions 10 -w node[01-04]\n"
    "  assay run sqlite --dry-run\n"
    "  assay run sqlite --resume\n"
    "  assay run sqlite --versions 1.0,1.1 --probe\n"
    "\n"
    "Exit status: 0 all ok, or nothing to resume; 7 some hosts or runs failed, 1 all failed.";

enum { OPTION_VERSIONS = 256, OPTION_INPUTS, OPTION_REPETITIONS, OPTION_SEED, OPTION_SAME_STACK, OPTION_DRY_RUN, OPTION_RESUME, OPTION_PROBE };

static const struct argp_option argp_options[] = {
	CMD_FLEET_OPTIONS,
	{ "versions", OPTION_VERSIONS, "A,B", 0, "Only these versions (default: all of the manifest)", 1 },
	{ "inputs", OPTION_INPUTS, "X,Y", 0, "Only these inputs (default: all)", 1 },
	{ "repetitions", OPTION_REPETITIONS, "N", 0, "Of each version and input on each machine (default: the manifest's)", 1 },
	{ "seed", OPTION_SEED, "N", 0, "Of the order in which versions take turns (default: another one each time; it is shown and kept)", 1 },
	{ "probe", OPTION_PROBE, NULL, 0, "Measure functions, as 'probe' of the manifest says: runs give samples, and no results", 1 },
	{ "same-stack", OPTION_SAME_STACK, NULL, 0, "Run nothing when hosts differ in the libraries that a version loads", 1 },
	{ "dry-run", OPTION_DRY_RUN, NULL, 0, "Show what would be run, and how long it will take", 1 },
	{ "resume", OPTION_RESUME, NULL, 0, "Go on with the latest runs of this application that were interrupted", 1 },
	{ 0 }
};

static void add_names(struct manifest_words *list, const char *arg, const char *option, struct argp_state *state)
{
	while (*arg) {
		size_t n = strcspn(arg, ",");

		if (n == 0)
			cli_refuse(state, "there is an empty name behind %s", option);
		if (list->n == MANIFEST_WORDS_MAX)
			cli_refuse(state, "more than %d names behind %s", MANIFEST_WORDS_MAX, option);
		list->items = mem_resize(list->items, list->n + 1, sizeof(char *));
		list->items[list->n++] = mem_bytes(arg, n);
		arg += n + (arg[n] == ',');
	}
	if (list->n == 0)
		cli_refuse(state, "there is no name behind %s", option);
}

static void take_seed(struct cmd_run_arguments *a, const char *arg, struct argp_state *state)
{
	int64_t seed;

	if (!text_int64(arg, &seed) || seed < 0)
		cli_refuse(state, "--seed is a number from 0 to %" PRId64 ", not '%s'", INT64_MAX, arg);
	a->choice.seed = (uint64_t)seed;
	a->choice.has_seed = true;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_run_arguments *a = state->input;
	error_t known;

	switch (key) {
	case OPTION_VERSIONS:
		add_names(&a->choice.versions, arg, "--versions", state);
		return 0;
	case OPTION_INPUTS:
		add_names(&a->choice.inputs, arg, "--inputs", state);
		return 0;
	case OPTION_REPETITIONS:
		a->choice.repetitions = cli_number(state, "--repetitions", arg, 1, MANIFEST_REPETITIONS_MAX);
		return 0;
	case OPTION_SEED:
		take_seed(a, arg, state);
		return 0;
	case OPTION_SAME_STACK:
		a->same_stack = true;
		return 0;
	case OPTION_PROBE:
		a->choice.probe = true;
		return 0;
	case OPTION_DRY_RUN:
		a->dry_run = true;
		return 0;
	case OPTION_RESUME:
		a->resume = true;
		return 0;
	default:
		known = cmd_fleet_parse(key, arg, state, &a->hosts);
		return known == ARGP_ERR_UNKNOWN ? cli_words(key, arg, state, &a->app, 1, "APP, a manifest") : known;
	}
}

volatile sig_atomic_t cmd_run_cancelled;

/* ---- progress ---- */

static struct progress progress;
static double started_s;
static size_t before; /* runs that were done before the first one of this session; SIZE_MAX: none has ended yet */

void cmd_run_progress_begin(void)
{
	before = SIZE_MAX;
	started_s = progress_now();
	progress = progress_begin(stderr, started_s);
}

void cmd_run_progress_end(void)
{
	progress_end(&progress);
}

void cmd_run_progress(const struct host *host, const struct execution *e, size_t done, size_t total)
{
	double now_s = progress_now();
	char left[CMD_RUN_SPAN_BYTES];

	if (before == SIZE_MAX)
		before = done - 1;
	progress_show(&progress, now_s, done == total, "%zu of %zu runs, last on %s (%s%s), about %s left", done, total, host->name,
		      execution_outcome_code(e->outcome), e->cell.repetition < 1 ? ", warm-up" : "",
		      cmd_run_span((now_s - started_s) / (double)(done - before) * (double)(total - done), left));
}

int cmd_run(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { argp_options, parse, "APP", doc, NULL, NULL, NULL };
	struct cmd_run_arguments a = { .app = NULL };
	struct assay_error err;
	enum assay_status st;
	struct cli cli;
	int status = 0;

	cli_parse(&cli, &argp, argc, argv, directory, &a);
	cancel_on_signals(&cmd_run_cancelled);
	st = cmd_run_do(&cli, &a, &status, &err);
	plan_choice_release(&a.choice);
	cmd_fleet_release(&a.hosts);
	return cli_end(&cli, st, &err, status);
}

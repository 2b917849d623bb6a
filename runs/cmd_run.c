#include "base/cli.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/cmd_fleet.h"
#include "fleet/ssh/reach.h"
#include "runs/cmd.h"
#include "runs/cmd_run.h"
#include "runs/plan_choose.h"

#include <inttypes.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static const char doc[] =
    "Runs the versions of an application on the machines of the laboratory: machines in parallel, one run at a time on each, the "
    "versions taking turns in a seeded order, so that a machine that becomes slower does not look like a slower version. Every result is "
    "kept at once; after an interruption --resume goes on. APP is a manifest of apps/, by its name, or the path of one."
    "\vExample:\n"
    "  assay run sqlite\n"
    "  assay run sqlite --versions wal,rollback --repetitions 10 -w node[01-04]\n"
    "  assay run sqlite --dry-run\n"
    "  assay run sqlite --resume\n"
    "\n"
    "Exit status: 0 all ok, 7 some hosts or runs failed, 1 all failed.";

enum { OPTION_VERSIONS = 256, OPTION_INPUTS, OPTION_REPETITIONS, OPTION_SEED, OPTION_SAME_STACK, OPTION_DRY_RUN, OPTION_RESUME };

#define OUTPUT_BYTES_MAX (64u << 20) /* of a run: one that prints more is ended */

static const struct argp_option argp_options[] = {
	CMD_FLEET_OPTIONS,
	{ "versions", OPTION_VERSIONS, "A,B", 0, "Only these versions (default: all of the manifest)", 1 },
	{ "inputs", OPTION_INPUTS, "X,Y", 0, "Only these inputs (default: all)", 1 },
	{ "repetitions", OPTION_REPETITIONS, "N", 0, "Of each version and input on each machine (default: the manifest's)", 1 },
	{ "seed", OPTION_SEED, "N", 0, "Of the order in which versions take turns (default: another one each time; it is shown and kept)", 1 },
	{ "same-stack", OPTION_SAME_STACK, NULL, 0, "Run nothing when hosts differ in the libraries that a version loads", 1 },
	{ "dry-run", OPTION_DRY_RUN, NULL, 0, "Show what would be run, and how long it will take", 1 },
	{ "resume", OPTION_RESUME, NULL, 0, "Go on with the latest runs of this application that were interrupted", 1 },
	{ 0 }
};

struct arguments {
	const char *app;
	struct cmd_fleet_choice hosts;
	struct plan_choice choice;
	bool same_stack, dry_run, resume;
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

static void take_seed(struct arguments *a, const char *arg, struct argp_state *state)
{
	int64_t seed;

	if (!text_int64(arg, &seed) || seed < 0)
		cli_refuse(state, "--seed is a number from 0 to %" PRId64 ", not '%s'", INT64_MAX, arg);
	a->choice.seed = (uint64_t)seed;
	a->choice.has_seed = true;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	error_t known;

	switch (key) {
	case OPTION_VERSIONS:
		add_names(&a->choice.versions, arg, "--versions", state);
		return 0;
	case OPTION_INPUTS:
		add_names(&a->choice.inputs, arg, "--inputs", state);
		return 0;
	case OPTION_REPETITIONS:
		if (!text_int64(arg, &a->choice.repetitions) || a->choice.repetitions < 1 || a->choice.repetitions > MANIFEST_REPETITIONS_MAX)
			cli_refuse(state, "--repetitions is a number from 1 to %d, not '%s'", MANIFEST_REPETITIONS_MAX, arg);
		return 0;
	case OPTION_SEED:
		take_seed(a, arg, state);
		return 0;
	case OPTION_SAME_STACK:
		a->same_stack = true;
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

static volatile sig_atomic_t cancelled;

static void on_signal(int number)
{
	cancelled = number;
}

/* The first one ends in order, a second one as usual. */
static void catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaction(numbers[i], &action, NULL);
}

/* ---- progress ---- */

static struct {
	struct timespec started;
	size_t before; /* runs that were done before the first one of this session */
	bool open;     /* the line has no end yet */
} progress;

static double seconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

/* One line that rewrites itself, on a terminal only. */
static void show_progress(const struct host *host, const struct execution *e, size_t done, size_t total)
{
	char left[CMD_RUN_SPAN_BYTES];
	double each;

	if (!isatty(STDERR_FILENO))
		return;
	if (progress.before == SIZE_MAX)
		progress.before = done - 1;
	each = seconds_since(&progress.started) / (double)(done - progress.before);
	fprintf(stderr, "\r\033[K%zu of %zu runs, last on %s (%s%s), about %s left%s", done, total, host->name,
		execution_outcome_code(e->outcome), e->cell.repetition < 1 ? ", warm-up" : "",
		cmd_run_span(each * (double)(total - done), left), done == total ? "\n" : "");
	progress.open = done < total;
}

/* ---- from a manifest to its runs ---- */

struct job {
	const struct cli *cli;
	const struct arguments *a;
	struct lab lab;
	struct manifest manifest;
	const struct host **hosts; /* [n] */
	size_t n;
	struct plan plan;
	struct artefact files, *versions; /* [plan.n_versions] */
	struct execute_result *results;   /* [n] */
	struct execution_rows rows;
	struct stack_rows stacks;
	struct estimate *estimates;       /* [n], of a dry run */
	size_t without_fingerprint;
};

static void job_release(struct job *job)
{
	for (size_t i = 0; job->versions && i < job->plan.n_versions; i++)
		artefact_release(&job->versions[i]);
	free(job->versions);
	artefact_release(&job->files);
	if (job->results)
		execute_results_release(job->results, job->n);
	free(job->results);
	free(job->estimates);
	free(job->hosts);
	execution_rows_release(&job->rows);
	stack_rows_release(&job->stacks);
	plan_release(&job->plan);
	manifest_release(&job->manifest);
	lab_close(&job->lab);
}

/* Which runs: those of a plan that was interrupted, or new ones (not stored yet). */
static enum assay_status choose(struct job *job, struct assay_error *err)
{
	const struct arguments *a = job->a;
	const struct inventory *inventory = &job->lab.config.inventory;
	bool hosts_named = a->hosts.hosts || a->hosts.exclude;
	enum assay_status st = ASSAY_OK;

	if (!a->resume || hosts_named)
		st = cmd_fleet_hosts(inventory, &a->hosts, &job->hosts, &job->n, err);
	if (!st && !a->resume)
		return plan_choose(&job->manifest, &a->choice, job->hosts, job->n, &job->plan, err);
	if (!st)
		st = plan_latest_incomplete(&job->lab.store, job->manifest.application, &job->plan, err);
	if (!st)
		st = plan_check_choice(&job->plan, &a->choice, hosts_named ? job->hosts : NULL, job->n, err);
	if (!st)
		st = plan_check(&job->lab.store, &job->plan, &job->manifest, err);
	free(job->hosts);
	job->hosts = NULL;
	job->n = job->plan.n_machines;
	return st ? st : plan_hosts(&job->plan, inventory, &job->hosts, err);
}

static enum assay_status collect_version(struct job *job, size_t i, struct assay_error *err)
{
	size_t index = manifest_find_version(&job->manifest, job->plan.versions[i]);
	const struct manifest_version *version = &job->manifest.versions[index];
	const char *path = version->directory;
	char *built = NULL, commit[41];
	enum assay_status st = ASSAY_OK;

	if (version->kind == MANIFEST_SAME || (version->kind == MANIFEST_GIT && job->a->dry_run))
		return ASSAY_OK;
	if (version->kind == MANIFEST_GIT) {
		st = artefact_build(job->lab.directory, &job->manifest, index, &cancelled, &built, commit, err);
		path = built;
	}
	if (!st)
		st = artefact_collect(job->manifest.directory, &path, 1, true, &job->versions[i], err);
	free(built);
	return st ? assay_context(err, "version '%s'", version->name) : ASSAY_OK;
}

/* What would be deployed now, and its hashes, by version. free() each and the array. */
static enum assay_status collect(struct job *job, char **hashes, struct assay_error *err)
{
	const struct manifest_words *files = &job->manifest.files;
	enum assay_status st = ASSAY_OK;

	job->versions = mem_new(job->plan.n_versions, sizeof(*job->versions));
	if (files->n)
		st = artefact_collect(job->manifest.directory, (const char *const *)files->items, files->n, false, &job->files, err);
	for (size_t i = 0; !st && i < job->plan.n_versions; i++) {
		char *both, hex[DIGEST_HEX_BYTES];

		st = collect_version(job, i, err);
		both = mem_format("%s\n%s\n", job->files.hash, job->versions[i].hash);
		digest_sha256(both, strlen(both), hex);
		hashes[i] = mem_string(hex);
		free(both);
	}
	return st;
}

/* The plan becomes one of the store, or is found unchanged there. */
static enum assay_status settle_plan(struct job *job, struct assay_error *err)
{
	struct plan *plan = &job->plan;
	char **hashes = mem_new(plan->n_versions, sizeof(*hashes));
	enum assay_status st = collect(job, hashes, err);

	if (!st && job->a->resume && !job->a->dry_run) /* which builds nothing */
		st = plan_check_artefacts(plan, hashes, err);
	for (size_t i = 0; i < plan->n_versions; i++) {
		if (st || job->a->resume) {
			free(hashes[i]);
			continue;
		}
		free(plan->artefacts[i]);
		plan->artefacts[i] = hashes[i];
	}
	free(hashes);
	if (!st && !job->a->resume && !job->a->dry_run)
		st = plan_new(&job->lab.store, &job->manifest, plan, err);
	return st;
}

/* What is interrupted stays so until somebody resumes it: that is said, not decided. */
static enum assay_status mention_interrupted(struct job *job, struct assay_error *err)
{
	struct plan other = { .application = NULL };
	char date[TEXT_DATE_BYTES];
	enum assay_status st = plan_latest_incomplete(&job->lab.store, job->manifest.application, &other, err);

	if (!st)
		cli_note(job->cli, "the runs of %s were interrupted; these are new ones (--resume would go on with those)",
			 text_from_ms(other.started_ms, date));
	plan_release(&other);
	return st == ASSAY_E_NOTFOUND ? ASSAY_OK : st;
}

static enum assay_status execute(struct job *job, struct assay_error *err)
{
	struct reach reach = { 0 };
	struct fleet_options fleet = { 0 };
	const struct execute_options options = { &job->manifest, &job->plan, &job->files, job->versions, job->a->same_stack, &fleet,
						 show_progress };
	enum assay_status st = reach_init(job->lab.directory, job->hosts, job->n, &reach, err);

	if (!st) {
		fleet = reach_options(&reach);
		fleet.cancelled = &cancelled;
		fleet.output_bytes_max = OUTPUT_BYTES_MAX;
		progress.before = SIZE_MAX;
		clock_gettime(CLOCK_MONOTONIC, &progress.started);
		job->results = mem_new(job->n, sizeof(*job->results));
		st = execute_plan(&job->lab, job->hosts, job->n, &options, job->results, err);
		if (progress.open)
			fputc('\n', stderr);
	}
	reach_release(&reach);
	return st;
}

/* What the store has of it now; when nothing is missing, it is complete. */
static enum assay_status conclude(struct job *job, struct assay_error *err)
{
	const struct plan *plan = &job->plan;
	enum assay_status st = execution_of_plan(&job->lab.store, plan, &job->rows, err);

	if (!st)
		st = stack_load(&job->lab.store, plan, &job->stacks, err);
	if (!st)
		st = execution_without_fingerprint(&job->lab.store, plan, &job->without_fingerprint, err);
	job->plan.complete = job->rows.n == plan->n_machines * plan->n_versions * plan->n_inputs * (size_t)plan->repetitions;
	if (!st && plan->complete)
		st = plan_complete(&job->lab.store, plan, err);
	return st;
}

static enum assay_status print(struct job *job, int *status, struct assay_error *err)
{
	const struct cmd_run_view view = { job->a->app, job->cli->directory, &job->manifest, &job->plan, job->hosts, job->n, job->results,
					   job->rows.items, job->rows.n, &job->stacks, job->without_fingerprint, job->estimates };
	bool json = job->cli->format == CLI_JSON;
	struct buf out = BUF_INIT;
	enum assay_status st;

	if (job->a->dry_run)
		(json ? cmd_run_json_dry : cmd_run_print_dry)(&view, &out);
	else
		(json ? cmd_run_json : cmd_run_print)(&view, &out);
	if (!job->a->dry_run)
		*status = cmd_run_exit(&view);
	st = cli_print(&out, err);
	buf_release(&out);
	return st;
}

static enum assay_status run(struct job *job, int *status, struct assay_error *err)
{
	enum assay_status st = manifest_open(job->cli->directory, job->a->app, &job->manifest, err);

	if (!st)
		st = lab_open(job->cli->directory, job->a->dry_run ? STORE_READ : STORE_WRITE, &job->lab, err);
	if (!st)
		st = choose(job, err);
	if (!st && !job->a->resume && !job->a->dry_run)
		st = mention_interrupted(job, err);
	if (!st)
		st = settle_plan(job, err);
	if (!st && job->a->dry_run) {
		job->estimates = mem_new(job->n, sizeof(*job->estimates));
		st = estimate_plan(&job->lab.store, &job->manifest, &job->plan, job->estimates, err);
	} else if (!st) {
		st = execute(job, err);
		if (!st)
			st = conclude(job, err);
	}
	return st ? st : print(job, status, err);
}

int cmd_run(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { argp_options, parse, "APP", doc, NULL, NULL, NULL };
	struct arguments a = { .app = NULL };
	struct job job = { .lab = { .lock_fd = -1 } };
	struct assay_error err;
	enum assay_status st;
	struct cli cli;
	int status = 0;

	cli_parse(&cli, &argp, argc, argv, directory, &a);
	catch_signals();
	job.cli = &cli;
	job.a = &a;
	st = run(&job, &status, &err);
	job_release(&job);
	plan_choice_release(&a.choice);
	cmd_fleet_release(&a.hosts);
	return cli_end(&cli, st, &err, status);
}

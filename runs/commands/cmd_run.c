/* The command 'assay run': runs versions of an application on the machines. */
#include "base/buf.h"
#include "base/cancel.h"
#include "base/command.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/stats.h"
#include "base/text.h"
#include "fleet/commands/cmd_fleet.h"
#include "runs/commands/cmd_run.h"
#include "runs/commands/runs_commands.h"

#include <inttypes.h>
#include <math.h>

#define ORDER_SHOWN 60 /* maximum number of runs that a dry run shows */

struct arguments {
	const char *application, *seed;
	struct cli_list versions, inputs;
	struct launch_options launch;
};

/* ---- progress ---- */

volatile sig_atomic_t cmd_run_cancelled;
static struct progress progress;
static double started_s;
static size_t before; /* number of runs that were done before this session; SIZE_MAX until a run has ended */

static void run_begin(void)
{
	before = SIZE_MAX;
	started_s = progress_now();
	progress = progress_begin(stderr, started_s);
}

static void run_end(void)
{
	progress_end(&progress);
}

static void run_progress(const struct host *host, const struct execution *e, size_t done, size_t total)
{
	double now_s = progress_now();
	char left[TEXT_DURATION_BYTES];

	if (before == SIZE_MAX)
		before = done - 1;
	progress_show(&progress, now_s, done == total, "%zu of %zu runs, last on %s (%s%s), about %s left", done, total, host->name,
		      execution_outcome_code(e->outcome), e->cell.repetition < 1 ? ", warm-up" : "",
		      text_format_duration((now_s - started_s) / (double)(done - before) * (double)(total - done), left));
}

static void run_note(const char *text)
{
	cli_note("%s", text);
}

void cmd_run_set_callbacks(struct launch_options *options)
{
	cancel_on_signals(&cmd_run_cancelled);
	options->cancelled = &cmd_run_cancelled;
	options->note = run_note;
	options->on_begin = run_begin;
	options->on_end = run_end;
	options->progress = run_progress;
}

/* ---- plan ---- */

/* Adds the manifest's `probe` and, if known, the number of entry points measured in each version. */
static void add_probe(const struct launch *launch, struct document *d)
{
	cJSON *probe = launch->plan.probe ? cJSON_Parse(launch->plan.probe) : NULL, *list;

	list = probe && launch->instrument.n ? cJSON_AddArrayToObject(probe, "versions") : NULL;
	if (probe && !list)
		cJSON_AddNullToObject(probe, "versions");
	for (size_t i = 0; list && i < launch->instrument.n; i++) {
		cJSON *object = cJSON_CreateObject();

		cJSON_AddStringToObject(object, "version", launch->plan.versions[i]);
		cJSON_AddNumberToObject(object, "entry_points", (double)launch->instrument.listed[i]);
		cJSON_AddItemToArray(list, object);
	}
	doc_set_json(d, "probe", probe);
}

static void add_plan(const struct launch *launch, bool dry, struct document *d)
{
	const struct plan *plan = &launch->plan;
	char seed[32]; /* text, because a JSON number (double) cannot represent all 64-bit integers */

	snprintf(seed, sizeof(seed), "%" PRIu64, plan->seed);
	doc_set(d, "application", plan->application);
	doc_set_empty(d, "plan", plan->id);
	doc_set_bool(d, "dry_run", dry);
	doc_set(d, "seed", seed);
	doc_set(d, "repetitions", plan->repetitions);
	doc_set(d, "warm_ups", plan->warm_ups);
	doc_texts(d, "versions", plan->versions, plan->n_versions);
	doc_texts(d, "inputs", plan->inputs, plan->n_inputs);
	add_probe(launch, d);
}

/* ---- dry run ---- */

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
		estimate_describe(e, d);
		doc_show(d, NULL, "time", time);
		free(time);
	}
	doc_end(d);
}

static void add_dry_probe(const struct launch *launch, struct document *d)
{
	const struct manifest_probe *probe = &launch->manifest.probe;

	doc_line(d, "\nFunctions are measured by %s; these runs give samples but no results.",
		 probe->back_end == MANIFEST_EMULATED ? "the emulation" : "the probe");
	for (size_t i = 0; i < launch->instrument.n; i++)
		doc_line(d, "  %s: %zu entry point%s", launch->plan.versions[i], launch->instrument.listed[i],
			 text_plural(launch->instrument.listed[i]));
	if (!launch->instrument.n)
		doc_line(d, "  Which ones will be known when the versions are built.");
	if (probe->back_end == MANIFEST_PROBED && (probe->default_counters || probe->counters.n))
		doc_line(d, "  Each repetition is run as often as its host needs to count all counters, which is known at run time.");
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

static void add_dry_run(const struct launch *launch, struct document *d)
{
	struct estimate total = estimate_total(launch->estimates, launch->hosts, launch->n);
	char *time = estimate_text(&total);

	doc_line(d, "%zu run%s, all together: %s (not counting the time between runs). Nothing was run.\n", total.runs,
		 text_plural(total.runs), time);
	add_plan(launch, true, d);
	add_dry_hosts(launch, d);
	estimate_describe(&total, d);
	if (launch->plan.probe)
		add_dry_probe(launch, d);
	add_order(launch, d);
	free(time);
}

/* ---- results ---- */

/* Appends the reason for missing runs: the message of the first host that failed, and the number of other such hosts. */
static void add_missing_reasons(const struct launch *launch, struct buf *out)
{
	size_t n = 0, first = 0;

	for (size_t i = launch->n; i-- > 0;) {
		if (launch->results[i].fleet.outcome == FLEET_OK)
			continue;
		first = i;
		n++;
	}
	if (n && strcmp(launch->results[first].fleet.message, FLEET_CANCELLED) == 0)
		buf_text(out, ": interrupted");
	else if (n)
		buf_format(out, ": %s: %s", launch->hosts[first]->name, launch->results[first].fleet.message);
	if (n > 1 && strcmp(launch->results[first].fleet.message, FLEET_CANCELLED) != 0)
		buf_format(out, "; and %zu more host%s", n - 1, text_plural(n - 1));
}

static void add_answer(const struct launch *launch, struct document *d)
{
	size_t all = launch->n * launch_runs_per_machine(launch);
	struct launch_tally t = launch_count(launch, NULL, NULL, NULL);
	bool complete = t.ok == all;
	struct buf rest = BUF_INIT;

	if (t.failed)
		buf_format(&rest, ", %zu failed", t.failed);
	if (t.ok + t.failed < all) {
		buf_format(&rest, ", %zu missing (finished runs are kept)", all - t.ok - t.failed);
		add_missing_reasons(launch, &rest);
	}
	doc_answer(d,
		   complete ? DOC_GOOD
		   : t.ok   ? DOC_DOUBTFUL
			    : DOC_BAD,
		   complete ? "complete"
		   : t.ok   ? "incomplete"
			    : "failed",
		   "%zu of %zu run%s measured%s; order by seed %" PRIu64 "\n", t.ok, all, text_plural(all), rest.bytes ? rest.bytes : "",
		   launch->plan.seed);
	buf_release(&rest);
}

static void add_hosts(const struct launch *launch, struct document *d)
{
	doc_table(d, "hosts");
	for (size_t i = 0; i < launch->n; i++) {
		const struct host *host = launch->hosts[i];
		const struct execute_result *r = &launch->results[i];
		struct launch_tally t = launch_count(launch, host->id, NULL, NULL);
		bool emulated = host->profile != NULL;

		doc_row(d);
		doc_show(d, "host", "host", host->name);
		doc_set(d, "machine", host->id);
		doc_set_bool(d, "emulated", emulated);
		doc_show(d, "outcome", "outcome", fleet_outcome_text(r->fleet.outcome));
		doc_set(d, "message", r->fleet.message);
		doc_show(d, "ok", "ok", t.ok);
		doc_show(d, "failed", "failed", t.failed);
		doc_show(d, "missing", "missing", launch_runs_per_machine(launch) - t.ok - t.failed);
		doc_set(d, "known", r->known);
		doc_showf(d, "seconds", "seconds", r->seconds, "%.1f", r->seconds);
		doc_set(d, "stack", r->stack);
		doc_showf(d, NULL, "", r->fleet.message, "%s%s%s", emulated ? "emulated" : "", emulated && *r->fleet.message ? "  " : "",
			  r->fleet.message);
	}
	doc_end(d);
}

/* Returns the median over machines of their median results. *noise: median of their median absolute deviations. NaN if no results exist. */
static double stored_median(const struct launch *launch, const char *version, const char *input, double *noise)
{
	double *values = mem_new(launch->rows.n, sizeof(double)), *medians = mem_new(launch->n, sizeof(double)), median;
	double *deviations = mem_new(launch->n, sizeof(double));
	size_t n_medians = 0;

	for (size_t m = 0; m < launch->n; m++) {
		size_t n = 0;

		for (size_t i = 0; i < launch->rows.n; i++) {
			const struct execution_row *row = &launch->rows.items[i];

			if (row->outcome == EXECUTION_OK && strcmp(row->machine, launch->hosts[m]->id) == 0 &&
			    strcmp(row->version, version) == 0 && strcmp(row->input, input) == 0)
				values[n++] = row->metric;
		}
		if (n) {
			deviations[n_medians] = stats_mad(values, n);
			medians[n_medians++] = stats_median(values, n);
		}
	}
	median = n_medians ? stats_median(medians, n_medians) : (double)NAN;
	*noise = n_medians ? stats_median(deviations, n_medians) : (double)NAN;
	mem_free(deviations, medians, values);
	return median;
}

static void add_median(const struct launch *launch, const char *version, const char *input, struct document *d)
{
	const char *unit = launch->manifest.metric.unit;
	char number[TEXT_DOUBLE_BYTES];
	double noise, median = stored_median(launch, version, input, &noise);

	doc_showf(d, "median", "median", median, "%s%s%s", isnan(median) ? "" : text_from_measured(median, noise, number), unit ? " " : "",
		  unit ? unit : "");
}

/* Adds the number and size of sample files. They replace the time, which is not valid for an instrumented run. */
static void add_samples(const struct launch *launch, const char *version, const char *input, struct document *d)
{
	size_t files = 0;
	double bytes = 0;

	for (size_t i = 0; i < launch->n_samples_of_plan; i++) {
		if (strcmp(version, launch->samples[i].version) != 0 || strcmp(input, launch->samples[i].input) != 0)
			continue;
		files++;
		bytes += (double)launch->samples[i].bytes;
	}
	doc_show(d, "samples_files", "sample files", files);
	doc_showf(d, "samples_bytes", "MiB", bytes, "%.1f", bytes / (1 << 20));
}

static char *stored_name(const struct launch *launch, size_t input)
{
	return manifest_stored_name(&launch->manifest, manifest_find_input(&launch->manifest, launch->plan.inputs[input]));
}

static void add_results(const struct launch *launch, struct document *d)
{
	const struct plan *plan = &launch->plan;

	doc_line(d, "%s", "");
	doc_table(d, "results");
	for (size_t i = 0; i < plan->n_inputs * plan->n_versions; i++) {
		const char *version = plan->versions[i % plan->n_versions], *input = plan->inputs[i / plan->n_versions];
		struct launch_tally t = launch_count(launch, NULL, version, input);
		char *name = stored_name(launch, i / plan->n_versions);

		doc_row(d);
		doc_show(d, "application", "application", name);
		doc_show(d, "version", "version", version);
		doc_show(d, "ok", "ok", t.ok);
		doc_show(d, "failed", "failed", t.failed);
		(plan->probe ? add_samples : add_median)(launch, version, input, d);
		free(name);
	}
	doc_end(d);
}

static void add_failures(const struct execution_rows *rows, struct document *d)
{
	doc_table(d, "failures");
	for (size_t i = 0; i < rows->n; i++) {
		const struct execution_row *row = &rows->items[i];

		if (row->outcome == EXECUTION_OK)
			continue;
		doc_row(d);
		doc_set(d, "machine", row->machine);
		doc_set(d, "version", row->version);
		doc_set(d, "input", row->input);
		doc_set(d, "repetition", row->repetition);
		doc_set(d, "outcome", execution_outcome_code(row->outcome));
		doc_set(d, "detail", row->detail);
	}
	doc_end(d);
}

static bool is_same_failure(const struct execution_row *a, const struct execution_row *b)
{
	return a->outcome == b->outcome && strcmp(a->version, b->version) == 0 && strcmp(a->input, b->input) == 0 &&
	       strcmp(a->detail, b->detail) == 0;
}

/* Adds a line per kind of failure or warning: the first run of this kind, and the number of such runs. */
static void add_kinds_of_failures(const struct execution_rows *rows, struct document *d)
{
	bool *told = mem_new(rows->n, sizeof(*told));
	const char *empty_line = "\n";

	for (size_t i = 0; i < rows->n; i++) {
		const struct execution_row *row = &rows->items[i];
		size_t same = 0;

		if (!*row->detail || told[i])
			continue;
		for (size_t k = i; k < rows->n; k++) {
			if (!is_same_failure(row, &rows->items[k]))
				continue;
			told[k] = true;
			same++;
		}
		doc_line(d, "%sversion '%s'%s%s%s: %s (%zu run%s, the first on machine %s): %s", empty_line, row->version,
			 *row->input ? ", input '" : "", row->input, *row->input ? "'" : "", execution_outcome_code(row->outcome), same,
			 text_plural(same), row->machine, row->detail);
		empty_line = "";
	}
	free(told);
}

/* Adds the software of each version and host, with its difference to the first host of the version. */
static void add_stacks(const struct launch *launch, struct document *d)
{
	const struct stack_rows *stacks = &launch->stacks;
	size_t expected = launch->n * launch->plan.n_versions;
	const struct stack_row *first = NULL;
	const char *empty_line = "\n";

	doc_list(d, "stacks");
	for (size_t i = 0; i < stacks->n; i++) {
		const struct stack_row *row = &stacks->items[i];
		char *difference;

		first = first && strcmp(first->version, row->version) == 0 ? first : row;
		difference = stack_describe_difference(first->text, row->text);
		doc_object(d, NULL);
		doc_set(d, "machine", row->machine);
		doc_set(d, "version", row->version);
		doc_set(d, "stack", row->hash);
		doc_set_bool(d, "same", !*difference);
		doc_set(d, "difference", difference);
		doc_end(d);
		if (*difference) {
			doc_line(d, "%sMixed software: version '%s' loads other programs or libraries on %s than on %s (%s)", empty_line,
				 row->version, row->machine, first->machine, difference);
			empty_line = "";
		}
		free(difference);
	}
	doc_end(d);
	if (launch->rows.n && !stacks->n && expected)
		doc_line(d, "%sWhat the version%s not known.", empty_line, launch->plan.n_versions == 1 ? " loads is" : "s load is");
	else if (launch->rows.n && stacks->n < expected)
		doc_line(d, "%sLoaded programs and libraries are known for %zu of %zu pairs of version and host.", empty_line, stacks->n,
			 expected);
}

/* ---- next steps ---- */

static void add_next_command(struct document *d, const char *remark, const char *const *words)
{
	char *line = text_shell_line(words);

	if (strcmp(cli_directory(), ".") == 0) {
		doc_line(d, "  assay %s%s", line, remark);
	} else {
		char *directory = text_shell_line((const char *const[]){ cli_directory(), NULL });

		doc_line(d, "  assay -C %s %s%s", directory, line, remark);
		free(directory);
	}
	free(line);
}

/* Returns the first of the inputs for which the most versions have results or, with `failed`, failures. */
static size_t suggested_input(const struct launch *launch, bool failed)
{
	const struct plan *plan = &launch->plan;
	size_t best = 0, most = 0;

	for (size_t i = 0; i < plan->n_inputs; i++) {
		size_t versions = 0;

		for (size_t v = 0; v < plan->n_versions; v++) {
			struct launch_tally t = launch_count(launch, NULL, plan->versions[v], plan->inputs[i]);

			versions += (failed ? t.failed : t.ok) > 0;
		}
		if (versions > most) {
			most = versions;
			best = i;
		}
	}
	return best;
}

/* Adds commands that show or compare the first two versions that have results of one input. */
static void add_analysis(const struct launch *launch, struct document *d)
{
	const struct plan *plan = &launch->plan;
	size_t input = suggested_input(launch, false), n = 0;
	char *found[2] = { NULL, NULL }, *name = stored_name(launch, input);

	for (size_t v = 0; v < plan->n_versions && n < 2; v++) {
		if (launch_count(launch, NULL, plan->versions[v], plan->inputs[input]).ok)
			found[n++] = mem_format("%s@%s", plan->probe ? plan->application : name, plan->versions[v]);
	}
	for (size_t i = 0; plan->probe && i < n; i++)
		add_next_command(d, "", (const char *const[]){ "inspect", found[i], NULL });
	if (n == 2)
		add_next_command(d, "", (const char *const[]){ plan->probe ? "detect" : "gate", found[0], found[1], NULL });
	else if (n == 1 && !plan->probe)
		add_next_command(d, "", (const char *const[]){ "result", "show", found[0], NULL });
	mem_free(found[0], found[1], name);
}

static void add_next_step(const struct launch *launch, const char *selector, struct document *d)
{
	const struct plan *plan = &launch->plan;
	size_t without = launch->n_without_fingerprint;
	char *remark;

	doc_line(d, "\nNext:");
	if (!plan->complete)
		add_next_command(d, "",
				 plan->probe ? (const char *const[]){ "run", selector, "--probe", "--resume", NULL }
					     : (const char *const[]){ "run", selector, "--resume", NULL });
	if (launch_count(launch, NULL, NULL, NULL).failed) {
		char *name = stored_name(launch, suggested_input(launch, true));

		add_next_command(d, "", (const char *const[]){ "result", "show", name, "--failed", "--output", NULL });
		free(name);
	}
	if (without) {
		remark = mem_format("     # %zu result%s no fingerprint of the machine: profiles need one, taken before the runs", without,
				    without == 1 ? " has" : "s have");
		add_next_command(d, remark, (const char *const[]){ "host", "measure", NULL });
		free(remark);
	}
	add_analysis(launch, d);
}

static void show_runs(const struct launch *launch, const char *selector, struct document *d)
{
	add_plan(launch, false, d);
	doc_set(d, "started_ms", launch->plan.started_ms);
	doc_set_bool(d, "complete", launch->plan.complete);
	doc_set(d, "without_fingerprint", launch->n_without_fingerprint);
	add_answer(launch, d);
	add_hosts(launch, d);
	add_results(launch, d);
	add_failures(&launch->rows, d);
	add_kinds_of_failures(&launch->rows, d);
	add_stacks(launch, d);
	add_next_step(launch, selector, d);
	d->exit_status = (const int[]){ 0, 7, 1 }[launch_outcome(launch)];
}

/* ---- command ---- */

/* Answers that there is nothing to run. This is not a failure, because a script may run the command every night. */
static void show_nothing(const struct launch *launch, const char *why, struct document *d)
{
	static const char *const lists[] = { "hosts", "results", "failures" };

	doc_line(d, "%s", why);
	doc_set(d, "application", launch->manifest.application);
	doc_set(d, "plan", DOC_NULL_VALUE);
	doc_set_bool(d, "complete", true);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		doc_list(d, lists[i]);
		doc_end(d);
	}
}

static enum assay_status run_applications(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	struct arguments *a = arguments;
	struct launch_options options = a->launch;
	struct launch launch;
	enum assay_status st;

	(void)lab;
	options.directory = cli_directory();
	options.command = cli_command_name();
	options.application = a->application;
	options.choice.versions = (struct manifest_arguments){ a->versions.items, a->versions.n };
	options.choice.inputs = (struct manifest_arguments){ a->inputs.items, a->inputs.n };
	cmd_run_set_callbacks(&options);
	st = launch_run(&options, &launch, err);
	if (!st && launch.nothing_to_resume)
		show_nothing(&launch, err->text, d);
	else if (!st && options.dry_run)
		add_dry_run(&launch, d);
	else if (!st)
		show_runs(&launch, a->application, d);
	launch_release(&launch);
	return st;
}

static enum assay_status run_check(void *arguments, struct assay_error *err)
{
	struct arguments *a = arguments;
	int64_t seed = 0;

	if (a->versions.n > MANIFEST_ARGUMENTS_MAX || a->inputs.n > MANIFEST_ARGUMENTS_MAX)
		return assay_fail(err, ASSAY_E_USAGE, "more than %d names", MANIFEST_ARGUMENTS_MAX);
	if (a->seed && (!text_parse_int64(a->seed, &seed) || seed < 0))
		return assay_fail(err, ASSAY_E_USAGE, "--seed must be a whole number from 0 to %" PRId64 ", not '%s'", INT64_MAX, a->seed);
	a->launch.choice.has_seed = a->seed != NULL;
	a->launch.choice.seed = (uint64_t)seed;
	return ASSAY_OK;
}

static const struct cli_option words[] = { CLI_ARGUMENT("APP", struct arguments, application), CLI_END };

static const struct cli_option options[] = {
	CMD_FLEET_HOSTS(struct arguments, launch.hosts),
	CLI_NAMES("versions", "A,B", struct arguments, versions, "Run only these versions (default: all of the manifest)"),
	CLI_NAMES("inputs", "X,Y", struct arguments, inputs, "Run only these inputs (default: all)"),
	CLI_INTEGER("repetitions", "N", struct arguments, launch.choice.repetitions, 1, MANIFEST_REPETITIONS_MAX,
		    "Runs of each version and input on each machine (default: the manifest's)"),
	CLI_TEXT("seed", "N", struct arguments, seed,
		 "Seed of the order of versions (default: a new one each time; it is shown and stored)"),
	CLI_FLAG("probe", struct arguments, launch.choice.probe,
		 "Measure functions as set by 'probe' in the manifest: runs give samples but no results"),
	CLI_FLAG("dry-run", struct arguments, launch.dry_run, "Show the planned runs and their expected time; run nothing"),
	CLI_FLAG("resume", struct arguments, launch.resume, "Continue the latest runs of this application that were interrupted"),
	CLI_END
};

const struct command run_command = {
	.name = "run",
	.summary = "run versions of an application on the machines",
	.about = "Runs the versions of an application on the machines of the laboratory: machines in parallel, one run at a time on each. "
		 "Versions take turns in a seeded order, so that a change of the machine does not look like a change of the version. Every "
		 "result is stored at once; --resume continues after an interruption. APP is the name of a manifest in apps/, or its path.",
	.examples = "  assay run sqlite\n"
		    "  assay run sqlite --versions wal,rollback --repetitions 10 -w node[01-04]\n"
		    "  assay run sqlite --dry-run\n"
		    "  assay run sqlite --resume\n"
		    "  assay run sqlite --versions 1.0,1.1 --probe\n",
	.exit_status = "0 all ok, or nothing to resume; 7 some hosts or runs failed, 1 all failed.",
	.words = words,
	.options = options,
	.flags = CLI_PROGRESS,
	.check = run_check,
	CLI_RUN(struct arguments, CLI_LAB_DEFERRED, run_applications),
};

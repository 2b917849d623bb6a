/* The command 'assay result show': shows the results or the failed runs of an application. */
#include "base/command.h"
#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "fleet/lab/lab.h"
#include "runs/commands/runs_commands.h"
#include "runs/running/evidence.h"
#include "runs/running/execution.h"

#include <inttypes.h>
#include <math.h>

#define TAIL_BYTES  2000 /* maximum number of bytes of a stream that are shown */
#define BUILD_SHOWN 8	 /* number of digits of a build's hash that are shown */

struct arguments {
	const char *selector;
	bool failed, output;
};

/* ---- results ---- */

/* All runs of a version, including runs of older builds. */
struct shown_results {
	const struct evidence *evidence;
	const struct run_set *runs;
	struct helper_result *accounts;		/* [runs->n] resource usage counters of each run */
	const struct helper_result **accounted; /* [n_accounted] pointers to those of `accounts` that are known */
	size_t n_accounted;
	const char *build; /* build whose runs count; NULL if there is none */
	char *others;	   /* note on runs that do not count; NULL if all count */
	size_t failed;
};

static const char *type_name(const struct evidence *evidence, const struct run *run)
{
	size_t type = types_find(&evidence->types, run->fingerprint);

	return type == SIZE_MAX ? "-" : evidence->types.types[type].name;
}

static bool is_used_run(const struct shown_results *shown_results, const struct run *run)
{
	return shown_results->build && strcmp(run->build, shown_results->build) == 0;
}

static enum assay_status load_usage(struct store *store, struct shown_results *shown_results, struct assay_error *err)
{
	const struct run_set *runs = shown_results->runs;
	struct execution_rows rows;
	enum assay_status st = execution_load_results(store, runs->application, runs->version, NULL, &rows, err);

	shown_results->accounts = mem_new(runs->n, sizeof(*shown_results->accounts));
	shown_results->accounted = mem_new(runs->n, sizeof(*shown_results->accounted));
	for (size_t i = 0; !st && i < runs->n; i++) {
		const struct execution_row *row = execution_find_run(&rows, &runs->items[i]);
		struct run_usage run_usage;

		st = run_usage_parse(row ? row->run_usage : "", &run_usage, err);
		shown_results->accounts[i] = run_usage.counters;
		run_usage_release(&run_usage);
		if (!st && row && *row->run_usage)
			shown_results->accounted[shown_results->n_accounted++] = &shown_results->accounts[i];
	}
	execution_rows_release(&rows);
	return st;
}

static void add_repetitions(const struct shown_results *shown_results, struct document *d)
{
	doc_list(d, "results");
	for (size_t i = 0; i < shown_results->runs->n; i++) {
		const struct run *run = &shown_results->runs->items[i];

		doc_object(d, NULL);
		doc_set(d, "machine", run->machine);
		doc_set(d, "type", type_name(shown_results->evidence, run));
		doc_set(d, "taken_ms", run->taken_ms);
		doc_set(d, "repetition", run->repetition);
		doc_set(d, "metric", run->metric);
		doc_set(d, "recorded", run->recorded);
		doc_set_empty(d, "fingerprint", run->fingerprint);
		doc_set_empty(d, "plan", run->plan);
		doc_set_empty(d, "build", run->build);
		doc_set_bool(d, "counts", is_used_run(shown_results, run));
		run_usage_add_members(d, "accounts", &shown_results->accounts[i]);
		doc_end(d);
	}
	doc_end(d);
}

/* Reports whether two runs are of one session: same machine, build and fingerprint; without fingerprint, also the same plan or time. */
static bool is_same_session(const struct run *a, const struct run *b)
{
	return strcmp(a->machine, b->machine) == 0 && strcmp(a->build, b->build) == 0 && strcmp(a->fingerprint, b->fingerprint) == 0 &&
	       (*a->fingerprint || (*a->plan && strcmp(a->plan, b->plan) == 0) || a->taken_ms == b->taken_ms);
}

static bool is_first_of_session(const struct run_set *runs, size_t i)
{
	for (size_t k = i; k > 0 && strcmp(runs->items[k - 1].machine, runs->items[i].machine) == 0; k--) {
		if (is_same_session(&runs->items[k - 1], &runs->items[i]))
			return false;
	}
	return true;
}

static void show_session(const struct shown_results *shown_results, size_t first, struct document *d)
{
	const struct run_set *runs = shown_results->runs;
	const struct run *run = &runs->items[first];
	double *values = mem_new(runs->n, sizeof(double)), median, deviation;
	char number[TEXT_DOUBLE_BYTES];
	size_t n = 0;

	for (size_t i = first; i < runs->n && strcmp(runs->items[i].machine, run->machine) == 0; i++) {
		if (is_same_session(run, &runs->items[i]))
			values[n++] = runs->items[i].metric;
	}
	median = stats_median(values, n);
	deviation = stats_mad(values, n);
	doc_row(d);
	doc_show(d, NULL, "machine", run->machine);
	doc_show(d, NULL, "type", type_name(shown_results->evidence, run));
	doc_showf(d, NULL, "date", "", "%.10s", TEXT_DATE(run->taken_ms));
	doc_show(d, NULL, "n", n);
	doc_showf(d, NULL, "median", median, "%s", text_from_measured(median, deviation, number));
	doc_showf(d, NULL, "dispersion", median > 0 ? deviation / median : (double)NAN, "%.2f %%", 100 * deviation / median);
	doc_show(d, NULL, "fingerprint", *run->fingerprint ? run->fingerprint : "none");
	if (shown_results->others)
		doc_showf(d, NULL, "build", run->build, "%.*s%s", BUILD_SHOWN, *run->build ? run->build : "imported",
			  is_used_run(shown_results, run) ? "" : ", does not count");
	free(values);
}

static void add_failed(const struct shown_results *shown_results, struct document *d)
{
	const struct run_set *runs = shown_results->runs;
	char *selector = mem_format("%s@%s", runs->application, runs->version);
	char *command = text_format_command((const char *const[]){ "result", "show", selector, "--failed", "--output", NULL });

	doc_line(d, "%s%zu run%s failed: %s shows them", runs->n ? "\n" : "", shown_results->failed, text_plural(shown_results->failed),
		 command);
	mem_free(command, selector);
}

static void show_all(const struct shown_results *shown_results, struct document *d)
{
	const struct run_set *runs = shown_results->runs;

	doc_line(d, "%s@%s, %s is better\n", runs->application, runs->version, runs->higher_is_better ? "higher" : "lower");
	doc_set(d, "application", runs->application);
	doc_set(d, "version", runs->version);
	doc_set_bool(d, "higher_is_better", runs->higher_is_better);
	doc_set(d, "failed", shown_results->failed);
	add_repetitions(shown_results, d);
	doc_table(d, NULL);
	for (size_t i = 0; i < runs->n; i++) {
		if (is_first_of_session(runs, i))
			show_session(shown_results, i, d);
	}
	doc_end(d);
	if (shown_results->others)
		doc_line(d, "\n%s", shown_results->others);
	if (shown_results->n_accounted)
		run_usage_add_medians(d, NULL, shown_results->accounted, shown_results->n_accounted);
	if (shown_results->failed)
		add_failed(shown_results, d);
}

static enum assay_status show_results(struct lab *lab, const struct arguments *a, struct document *d, struct assay_error *err)
{
	struct evidence evidence = { 0 };
	struct execution_rows failed = { NULL, 0 };
	struct run_set runs = { 0 };
	struct shown_results shown_results = { .evidence = &evidence, .runs = &runs };
	char build[DIGEST_ID_BYTES];
	enum assay_status st = evidence_load_runs(lab, a->selector, &runs, err);

	if (!st)
		st = execution_load_failures(&lab->store, runs.application, runs.version, false, &failed, err);
	if (!st)
		st = evidence_load(lab, &evidence, err);
	if (!st) {
		shown_results.failed = failed.n;
		shown_results.others = run_others_text(&runs);
		if (runs.n) {
			memcpy(build, runs.items[0].build, sizeof(build));
			shown_results.build = build;
		}
		run_set_add_others(&runs);
		st = load_usage(&lab->store, &shown_results, err);
	}
	if (!st)
		show_all(&shown_results, d);
	mem_free(shown_results.accounts, shown_results.accounted, shown_results.others);
	evidence_release(&evidence);
	execution_rows_release(&failed);
	run_set_release(&runs);
	return st;
}

/* ---- failed runs ---- */

static bool is_printable(char c, bool utf8)
{
	unsigned char byte = (unsigned char)c;

	return byte >= 0x80 ? utf8 : (byte >= ' ' && byte != 0x7f) || byte == '\n' || byte == '\t';
}

/* Adds the last lines of a stream, indented. Replaces characters that may harm a terminal by '?'. */
static void show_tail(const char *what, const char *bytes, size_t n, struct document *d)
{
	size_t from = n > TAIL_BYTES ? n - TAIL_BYTES : 0;
	struct buf out = BUF_INIT;
	bool fresh = true, utf8;

	if (n == 0)
		return;
	while (from > 0 && from < n && bytes[from - 1] != '\n')
		from++;
	if (from == n)
		from = n - TAIL_BYTES; /* the end is one long line, which is cut */
	utf8 = text_is_utf8(bytes + from, n - from);
	doc_line(d, "  %s%s:", what, from ? ", its end" : "");
	for (size_t i = from; i < n; i++) {
		if (fresh)
			buf_text(&out, "    ");
		fresh = bytes[i] == '\n';
		buf_char(&out, is_printable(bytes[i], utf8) ? bytes[i] : '?');
	}
	if (!fresh)
		buf_char(&out, '\n');
	doc_raw(d, out.bytes);
	buf_release(&out);
}

static void set_if_known(struct document *d, const char *key, int64_t value)
{
	doc_set(d, key, value >= 0 ? doc_value_from(value) : DOC_NULL_VALUE);
}

/* Sets the stream, or null if the stream is not text. */
static void set_stream(struct document *d, const char *key, const char *bytes, size_t n)
{
	doc_set(d, key, text_is_utf8(bytes, n) && !memchr(bytes, 0, n) ? bytes : NULL);
}

static void show_failure(const struct execution_row *row, bool output, struct document *d)
{
	doc_object(d, NULL);
	doc_line(d, "%s  %s@%s on %s, repetition %" PRId64 "%s: %s: %s", TEXT_DATE(row->taken_ms), row->application, row->version,
		 row->machine, row->repetition, row->instrumented ? " (instrumented)" : "", execution_outcome_code(row->outcome),
		 row->detail);
	doc_set(d, "version", row->version);
	doc_set(d, "machine", row->machine);
	doc_set_empty(d, "plan", row->plan);
	doc_set(d, "taken_ms", row->taken_ms);
	doc_set(d, "repetition", row->repetition);
	doc_set(d, "outcome", execution_outcome_code(row->outcome));
	doc_set(d, "detail", row->detail);
	set_if_known(d, "exit_status", row->exit_status);
	set_if_known(d, "signal", row->signal);
	set_if_known(d, "wall_ns", row->wall_ns);
	doc_set_bool(d, "instrumented", row->instrumented);
	if (output) {
		set_stream(d, "stdout", row->out, row->out_bytes);
		set_stream(d, "stderr", row->err, row->err_bytes);
		show_tail("standard output", row->out, row->out_bytes, d);
		show_tail("standard error", row->err, row->err_bytes, d);
	}
	doc_end(d);
}

/* Loads the failed executions of an application or, if the selector has a version, of that version. */
static enum assay_status load_failed(struct lab *lab, const char *selector, struct execution_rows *out, struct assay_error *err)
{
	char *application = NULL, *version = NULL;
	enum assay_status st = run_parse_selector(selector, &application, &version, err);

	if (!st)
		st = execution_load_failures(&lab->store, application, version, true, out, err);
	mem_free(application, version);
	return st;
}

static enum assay_status show_failed(struct lab *lab, const struct arguments *a, struct document *d, struct assay_error *err)
{
	struct execution_rows rows = { NULL, 0 };
	struct run_set runs = { 0 };
	enum assay_status st = load_failed(lab, a->selector, &rows, err);

	if (!st && rows.n == 0)
		st = evidence_load_runs(lab, a->selector, &runs, err); /* fails if there is no such application or version */
	if (!st) {
		doc_set(d, "selector", a->selector);
		if (rows.n == 0)
			doc_line(d, "No run failed.");
		doc_list(d, "failed");
		for (size_t i = 0; i < rows.n; i++)
			show_failure(&rows.items[i], a->output, d);
		doc_end(d);
	}
	run_set_release(&runs);
	execution_rows_release(&rows);
	return st;
}

/* ---- command ---- */

static enum assay_status result_show_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;

	return (a->failed || a->output ? show_failed : show_results)(lab, a, d, err);
}

static const struct cli_option words[] = { CLI_ARGUMENT("APP[@VERSION]", struct arguments, selector), CLI_END };

static const struct cli_option options[] = { CLI_FLAG("failed", struct arguments, failed, "List failed runs with the reason"),
					     CLI_FLAG("output", struct arguments, output, "List failed runs with the end of their output"),
					     CLI_END };

const struct command result_show_command = {
	.name = "result show",
	.summary = "show the results of one application, by machine",
	.about = "Shows the results of an application, machine by machine: median of the repetitions, their dispersion (median absolute "
		 "deviation), hardware type and fingerprint. If the version was built again, shows the results of each build and which "
		 "build is used. --format json has every repetition. Failed runs are counted; --failed lists them instead of the results, "
		 "with the reason, and --output adds the end of their output.",
	.examples = "  assay result show mysqlslap/innodb_load\n"
		    "  assay result show sqlite@wal --failed --output\n",
	.words = words,
	.options = options,
	CLI_RUN(struct arguments, CLI_LAB_READ, result_show_run),
};

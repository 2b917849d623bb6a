#include "base/json.h"
#include "base/mem.h"
#include "base/stats.h"
#include "base/table.h"
#include "base/text.h"
#include "fleet/cmd_lab.h"
#include "runs/cmd.h"
#include "runs/running/execution.h"
#include "runs/running/evidence.h"
#include "runs/running/run.h"

#include <inttypes.h>

static const char doc[] =
    "Shows the results of an application, machine by machine: median of the repetitions, their dispersion (median absolute deviation), "
    "hardware type and fingerprint. Where the build under the version's name has changed, those of each build, and which count. With "
    "--format json, every repetition. Runs that failed are counted; --failed lists them instead of "
    "the results, with what was the matter, and --output adds the end of what each printed."
    "\vExample:\n"
    "  assay runs show mysqlslap/innodb_load\n"
    "  assay runs show sqlite@wal --failed --output";

enum { OPTION_FAILED = 256, OPTION_OUTPUT };

#define TAIL_BYTES  2000 /* of each stream */
#define BUILD_SHOWN 8    /* digits */

static const struct argp_option options[] = {
	{ "failed", OPTION_FAILED, NULL, 0, "The runs that failed", 1 },
	{ "output", OPTION_OUTPUT, NULL, 0, "With --failed: the end of their output", 1 },
	{ 0 }
};

struct arguments {
	const char *selector;
	bool failed, output;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPTION_FAILED:
		a->failed = true;
		return 0;
	case OPTION_OUTPUT:
		a->failed = a->output = true;
		return 0;
	default:
		return cli_words(key, arg, state, &a->selector, 1, "APP[@VERSION]");
	}
}

static const char *type_name(const struct evidence *evidence, const struct run *run)
{
	size_t type = types_find(&evidence->types, run->fingerprint);

	return type == SIZE_MAX ? "-" : evidence->types.types[type].name;
}

/* All runs of a version, also those of other builds. */
struct shown {
	const struct run_set *runs;
	const char *build; /* those of it count; NULL: none do */
	char *others;      /* what is said of those that do not; NULL: all count */
	size_t failed;
};

static bool counts(const struct shown *shown, const struct run *run)
{
	return shown->build && strcmp(run->build, shown->build) == 0;
}

/* Repetitions of one machine and build under one fingerprint; without one, of one machine and 'assay run', or of one time. */
static bool same_session(const struct run *a, const struct run *b)
{
	return strcmp(a->machine, b->machine) == 0 && strcmp(a->build, b->build) == 0 && strcmp(a->fingerprint, b->fingerprint) == 0 &&
	       (*a->fingerprint || (*a->plan && strcmp(a->plan, b->plan) == 0) || a->taken_ms == b->taken_ms);
}

static void print_session(const struct evidence *evidence, const struct shown *shown, size_t first, struct table *table)
{
	const struct run_set *runs = shown->runs;
	const struct run *run = &runs->items[first];
	double *values = mem_new(runs->n, sizeof(double));
	char date[TEXT_DATE_BYTES], number[TEXT_DOUBLE_BYTES];
	double median;
	size_t n = 0;

	for (size_t i = first; i < runs->n && strcmp(runs->items[i].machine, run->machine) == 0; i++) {
		if (same_session(run, &runs->items[i]))
			values[n++] = runs->items[i].metric;
	}
	table_cell(table, "%s", run->machine);
	table_cell(table, "%s", type_name(evidence, run));
	table_cell(table, "%.10s", text_from_ms(run->taken_ms, date));
	table_cell(table, "%zu", n);
	median = stats_median(values, n);
	table_cell(table, "%s", text_from_measured(median, stats_mad(values, n), number));
	if (median > 0)
		table_cell(table, "%.2f %%", 100 * stats_mad(values, n) / median);
	else
		table_cell(table, "-");
	table_cell(table, "%s", *run->fingerprint ? run->fingerprint : "none");
	if (shown->others)
		table_cell(table, "%.*s%s", BUILD_SHOWN, *run->build ? run->build : "imported", counts(shown, run) ? "" : ", does not count");
	free(values);
}

static bool is_first_of_session(const struct run_set *runs, size_t i)
{
	for (size_t k = i; k > 0 && strcmp(runs->items[k - 1].machine, runs->items[i].machine) == 0; k--) {
		if (same_session(&runs->items[k - 1], &runs->items[i]))
			return false;
	}
	return true;
}

static void print_human(const struct evidence *evidence, const struct shown *shown, struct buf *out)
{
	static const char *const headings[] = { "machine", "type", "date", "n", "median", "dispersion", "fingerprint", "build" };
	const struct run_set *runs = shown->runs;
	struct table table;

	buf_format(out, "%s@%s, %s is better\n\n", runs->application, runs->version, runs->higher_is_better ? "higher" : "lower");
	table_init(&table, shown->others ? "lllrrrll" : "lllrrrl", headings);
	for (size_t i = 0; i < runs->n; i++) {
		if (is_first_of_session(runs, i))
			print_session(evidence, shown, i, &table);
	}
	if (runs->n)
		table_print(&table, out);
	if (shown->others)
		buf_format(out, "\n%s\n", shown->others);
	if (shown->failed)
		buf_format(out, "%s%zu run%s failed: 'assay runs show %s@%s --failed --output' shows them\n", runs->n ? "\n" : "", shown->failed,
			   text_plural(shown->failed), runs->application, runs->version);
	table_release(&table);
}

static void add_text(cJSON *object, const char *key, const char *text)
{
	if (*text)
		cJSON_AddStringToObject(object, key, text);
	else
		cJSON_AddNullToObject(object, key);
}

static void print_json(const struct evidence *evidence, const struct shown *shown, struct buf *out)
{
	const struct run_set *runs = shown->runs;
	cJSON *root = cJSON_CreateObject(), *array;

	cJSON_AddStringToObject(root, "application", runs->application);
	cJSON_AddStringToObject(root, "version", runs->version);
	cJSON_AddBoolToObject(root, "higher_is_better", runs->higher_is_better);
	cJSON_AddNumberToObject(root, "failed", (double)shown->failed);
	array = cJSON_AddArrayToObject(root, "results");
	for (size_t i = 0; i < runs->n; i++) {
		const struct run *run = &runs->items[i];
		cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToArray(array, object);
		cJSON_AddStringToObject(object, "machine", run->machine);
		cJSON_AddStringToObject(object, "type", type_name(evidence, run));
		cJSON_AddNumberToObject(object, "taken_ms", (double)run->taken_ms);
		cJSON_AddNumberToObject(object, "repetition", (double)run->repetition);
		cJSON_AddNumberToObject(object, "metric", run->metric);
		cJSON_AddNumberToObject(object, "recorded", (double)run->recorded);
		add_text(object, "fingerprint", run->fingerprint);
		add_text(object, "plan", run->plan);
		add_text(object, "build", run->build);
		cJSON_AddBoolToObject(object, "counts", counts(shown, run));
	}
	json_add(out, root);
}

/* ---- those that failed ---- */

static bool is_shown(char c, bool utf8)
{
	unsigned char byte = (unsigned char)c;

	return byte >= 0x80 ? utf8 : (byte >= ' ' && byte != 0x7f) || byte == '\n' || byte == '\t';
}

/* The last lines of a stream, set in; what no terminal should get becomes '?'. */
static void print_tail(const char *what, const char *bytes, size_t n, struct buf *out)
{
	size_t from = n > TAIL_BYTES ? n - TAIL_BYTES : 0;
	bool fresh = true, utf8;

	if (n == 0)
		return;
	while (from > 0 && from < n && bytes[from - 1] != '\n')
		from++;
	if (from == n)
		from = n - TAIL_BYTES; /* one long line */
	utf8 = text_is_utf8(bytes + from, n - from);
	buf_format(out, "  %s%s:\n", what, from ? ", its end" : "");
	for (size_t i = from; i < n; i++) {
		if (fresh)
			buf_text(out, "    ");
		fresh = bytes[i] == '\n';
		buf_char(out, is_shown(bytes[i], utf8) ? bytes[i] : '?');
	}
	if (!fresh)
		buf_char(out, '\n');
}

static void print_failed(const struct execution_rows *rows, bool output, struct buf *out)
{
	if (rows->n == 0)
		buf_text(out, "No run failed.\n");
	for (size_t i = 0; i < rows->n; i++) {
		const struct execution_row *row = &rows->items[i];
		char date[TEXT_DATE_BYTES];

		buf_format(out, "%s  %s@%s on %s, repetition %" PRId64 "%s: %s: %s\n", text_from_ms(row->taken_ms, date), row->application,
			   row->version, row->machine, row->repetition, row->instrumented ? " (instrumented)" : "", execution_outcome_code(row->outcome), row->detail);
		if (output) {
			print_tail("standard output", row->out, row->out_bytes, out);
			print_tail("standard error", row->err, row->err_bytes, out);
		}
	}
}

static void add_number(cJSON *object, const char *key, int64_t value)
{
	if (value >= 0)
		cJSON_AddNumberToObject(object, key, (double)value);
	else
		cJSON_AddNullToObject(object, key);
}

/* null where it is no text. */
static void add_stream(cJSON *object, const char *key, const char *bytes, size_t n)
{
	if (text_is_utf8(bytes, n) && !memchr(bytes, 0, n))
		cJSON_AddStringToObject(object, key, bytes);
	else
		cJSON_AddNullToObject(object, key);
}

static void add_failed(cJSON *root, const struct execution_rows *rows, bool output)
{
	cJSON *array = cJSON_AddArrayToObject(root, "failed");

	for (size_t i = 0; i < rows->n; i++) {
		const struct execution_row *row = &rows->items[i];
		cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToArray(array, object);
		cJSON_AddStringToObject(object, "version", row->version);
		cJSON_AddStringToObject(object, "machine", row->machine);
		cJSON_AddStringToObject(object, "plan", row->plan);
		cJSON_AddNumberToObject(object, "taken_ms", (double)row->taken_ms);
		cJSON_AddNumberToObject(object, "repetition", (double)row->repetition);
		cJSON_AddStringToObject(object, "outcome", execution_outcome_code(row->outcome));
		cJSON_AddStringToObject(object, "detail", row->detail);
		add_number(object, "exit_status", row->exit_status);
		add_number(object, "signal", row->signal);
		add_number(object, "wall_ns", row->wall_ns);
		cJSON_AddBoolToObject(object, "instrumented", row->instrumented);
		if (output) {
			add_stream(object, "stdout", row->out, row->out_bytes);
			add_stream(object, "stderr", row->err, row->err_bytes);
		}
	}
}

/* Of the application and, when it was named, the version. */
static enum assay_status load_failed(struct lab *lab, const char *selector, struct execution_rows *out, struct assay_error *err)
{
	char *application = NULL, *version = NULL;
	enum assay_status st = run_selector(selector, &application, &version, err);

	if (!st)
		st = execution_failures(&lab->store, application, version, true, out, err);
	free(application);
	free(version);
	return st;
}

/* ---- all together ---- */

static enum assay_status show_failed(struct lab *lab, const struct arguments *a, bool json, struct buf *out, struct assay_error *err)
{
	struct execution_rows rows = { NULL, 0 };
	struct run_set runs = { 0 };
	enum assay_status st = load_failed(lab, a->selector, &rows, err);
	cJSON *root;

	if (!st && rows.n == 0)
		st = evidence_runs(lab, a->selector, &runs, err); /* says what there is, when there is no such thing */
	if (!st && json) {
		root = cJSON_CreateObject();
		cJSON_AddStringToObject(root, "selector", a->selector);
		add_failed(root, &rows, a->output);
		json_add(out, root);
	} else if (!st) {
		print_failed(&rows, a->output, out);
	}
	run_set_release(&runs);
	execution_rows_release(&rows);
	return st;
}

static enum assay_status show_results(struct lab *lab, const struct arguments *a, bool json, struct buf *out, struct assay_error *err)
{
	struct evidence evidence = { 0 };
	struct execution_rows failed = { NULL, 0 };
	struct run_set runs = { 0 };
	struct shown shown = { .runs = &runs };
	char build[DIGEST_ID_BYTES];
	enum assay_status st = evidence_runs(lab, a->selector, &runs, err);

	if (!st)
		st = execution_failures(&lab->store, runs.application, runs.version, false, &failed, err);
	if (!st)
		st = evidence_load(lab, &evidence, err);
	if (!st) {
		shown.failed = failed.n;
		shown.others = run_others_text(&runs);
		if (runs.n) {
			memcpy(build, runs.items[0].build, sizeof(build));
			shown.build = build;
		}
		run_set_join(&runs);
		(json ? print_json : print_human)(&evidence, &shown, out);
	}
	free(shown.others);
	evidence_release(&evidence);
	execution_rows_release(&failed);
	run_set_release(&runs);
	return st;
}

int cmd_runs_show(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, "APP[@VERSION]", doc, NULL, NULL, NULL };
	struct arguments a = { NULL, false, false };
	struct cmd_lab cmd;
	enum assay_status st = cmd_lab_open(&cmd, &argp, argc, argv, directory, &a, STORE_READ);

	if (!st)
		st = (a.failed ? show_failed : show_results)(&cmd.lab, &a, cmd.cli.format == CLI_JSON, &cmd.out, &cmd.err);
	return cmd_lab_end(&cmd, st, 0);
}

#include "base/cli.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/stats.h"
#include "base/table.h"
#include "base/text.h"
#include "runs/cmd.h"
#include "runs/evidence.h"

#include <inttypes.h>

static const char doc[] = "Shows the results of an application, machine by machine: median of the repetitions, their dispersion (median "
			  "absolute deviation), hardware type and fingerprint. With --format json, every repetition."
			  "\vExample:\n"
			  "  assay runs show mysqlslap/innodb_load";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	return cli_words(key, arg, state, state->input, 1, "APP[@VERSION]");
}

static const char *type_name(const struct evidence *evidence, const struct run *run)
{
	size_t type = types_find(&evidence->types, run->fingerprint);

	return type == SIZE_MAX ? "-" : evidence->types.types[type].name;
}

/* Repetitions of one machine under one fingerprint; without one, of one machine and time. */
static bool same_session(const struct run *a, const struct run *b)
{
	return strcmp(a->machine, b->machine) == 0 && strcmp(a->fingerprint, b->fingerprint) == 0 &&
	       (*a->fingerprint || a->taken_ms == b->taken_ms);
}

static void print_session(const struct evidence *evidence, const struct run_set *runs, size_t first, struct table *table)
{
	const struct run *run = &runs->items[first];
	double *values = mem_new(runs->n, sizeof(double));
	char date[TEXT_DATE_BYTES];
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
	table_cell(table, "%.6g", median);
	if (median > 0)
		table_cell(table, "%.2f %%", 100 * stats_mad(values, n) / median);
	else
		table_cell(table, "-");
	table_cell(table, "%s", *run->fingerprint ? run->fingerprint : "none");
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

static void print_human(const struct evidence *evidence, const struct run_set *runs, struct buf *out)
{
	static const char *const headings[] = { "machine", "type", "date", "n", "median", "dispersion", "fingerprint" };
	struct table table;

	buf_format(out, "%s@%s, %s is better\n\n", runs->application, runs->version, runs->higher_is_better ? "higher" : "lower");
	table_init(&table, "lllrrrl", headings);
	for (size_t i = 0; i < runs->n; i++) {
		if (is_first_of_session(runs, i))
			print_session(evidence, runs, i, &table);
	}
	table_print(&table, out);
	table_release(&table);
}

static void print_json(const struct evidence *evidence, const struct run_set *runs, struct buf *out)
{
	cJSON *root = cJSON_CreateObject(), *array;

	cJSON_AddStringToObject(root, "application", runs->application);
	cJSON_AddStringToObject(root, "version", runs->version);
	cJSON_AddBoolToObject(root, "higher_is_better", runs->higher_is_better);
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
		if (*run->fingerprint)
			cJSON_AddStringToObject(object, "fingerprint", run->fingerprint);
		else
			cJSON_AddNullToObject(object, "fingerprint");
	}
	json_add(out, root);
}

int cmd_runs_show(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { NULL, parse, "APP[@VERSION]", doc, NULL, NULL, NULL };
	struct evidence evidence = { 0 };
	struct run_set runs = { 0 };
	struct lab lab = { .lock_fd = -1 };
	struct buf out = BUF_INIT;
	const char *selector = NULL;
	struct assay_error err;
	enum assay_status st;
	struct cli cli;

	cli_parse(&cli, &argp, argc, argv, directory, &selector);
	st = lab_open(cli.directory, STORE_READ, &lab, &err);
	if (!st)
		st = evidence_runs(&lab, selector, &runs, &err);
	if (!st)
		st = evidence_load(&lab, &evidence, &err);
	if (!st) {
		(cli.format == CLI_JSON ? print_json : print_human)(&evidence, &runs, &out);
		st = cli_print(&out, &err);
	}
	evidence_release(&evidence);
	run_set_release(&runs);
	lab_close(&lab);
	buf_release(&out);
	return cli_end(&cli, st, &err, 0);
}

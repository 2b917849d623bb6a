#include "base/cancel.h"
#include "base/cli_progress.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "fingerprint/cmd.h"
#include "fingerprint/take/take.h"
#include "fleet/agent/countable.h"
#include "fleet/cmd_fleet.h"
#include "fleet/cmd_lab.h"
#include "fleet/ssh/reach.h"

#include <math.h>

static const char doc[] =
    "Takes fingerprints of machines: runs the stressors of a battery, in short passes, and keeps median and dispersion of every rate with "
    "the conditions under which it was taken. Machines work in parallel, those of one box one after another. What was measured is kept "
    "at once; after an interruption --resume goes on."
    "\vExample:\n"
    "  assay fingerprint run\n"
    "  assay fingerprint run -w node[01-04] --battery paper\n"
    "  assay fingerprint run --battery my-battery.yaml --resume\n"
    "  assay fingerprint run --counters\n"
    "  assay fingerprint run --counters=PAPI_TOT_INS,PAPI_L1_DCM,perf::PAGE-FAULTS\n"
    "\n"
    "Batteries: quick (about ten seconds a machine) and paper (every stressor of the quiho paper that does no harm) are built in. "
    "Stressors that a battery marks as dangerous run only when --dangerous names them.\n"
    "\n"
    "--counters counts instructions, cycles, misses of caches and TLB, branches and stalls with PAPI, in runs of their own behind those "
    "that "
    "give the rates: as many as the processor's counters need. A host without hardware counters is said, and its rates are measured as "
    "usual. Of the kernel's own events there are perf::TASK-CLOCK, PAGE-FAULTS, MINOR-FAULTS, MAJOR-FAULTS, ALIGNMENT-FAULTS, "
    "CONTEXT-SWITCHES and CPU-MIGRATIONS.";

enum { OPTION_BATTERY = 256, OPTION_RESUME, OPTION_DANGEROUS, OPTION_COUNTERS };

#define DANGEROUS_MAX 64

static const struct argp_option argp_options[] = {
	CMD_FLEET_OPTIONS,
	{ "battery", OPTION_BATTERY, "NAME|FILE", 0, "quick (default), paper, or a YAML file", 1 },
	{ "resume", OPTION_RESUME, NULL, 0,
	  "Go on with fingerprints that were interrupted within the last day; complete ones of that day are left alone, hosts without one "
	  "begin anew",
	  1 },
	{ "dangerous", OPTION_DANGEROUS, "STRESSOR", 0, "Run this dangerous stressor of the battery, too (repeatable)", 1 },
	{ "counters", OPTION_COUNTERS, "EVENTS", OPTION_ARG_OPTIONAL, "Count these events for each stressor, too (default: PAPI's presets)",
	  1 },
	{ 0 }
};

struct arguments {
	struct cmd_fleet_choice choice;
	const char *battery;
	bool resume;
	const char *dangerous[DANGEROUS_MAX];
	size_t n_dangerous;
	bool counters;
	const char *events; /* NULL: the default ones */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPTION_BATTERY:
		a->battery = arg;
		return 0;
	case OPTION_RESUME:
		a->resume = true;
		return 0;
	case OPTION_DANGEROUS:
		if (a->n_dangerous == DANGEROUS_MAX)
			cli_refuse(state, "more than %d dangerous stressors", DANGEROUS_MAX);
		a->dangerous[a->n_dangerous++] = arg;
		return 0;
	case OPTION_COUNTERS:
		a->counters = true;
		a->events = arg;
		return 0;
	default:
		return cmd_fleet_parse(key, arg, state, &a->choice);
	}
}

static volatile sig_atomic_t cancelled;

static struct progress progress;

static void show_progress(const struct host *host, size_t done, size_t total)
{
	progress_show(&progress, progress_now(), done == total, "%zu of %zu measurements, last on %s", done, total, host->name);
}

static const char *outcome_of(const struct take_result *result)
{
	return result->complete ? "complete" : fleet_outcome_text(result->fleet.outcome);
}

/* Behind the table: what came of the counters. */
static void print_counters(const struct host *const *hosts, const struct take_result *results, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		const struct take_result *r = &results[i];

		if (r->without_counters)
			buf_format(out, "no hardware counters on host %s: %s\n", hosts[i]->name, r->without_counters);
		if (r->counted || r->not_counted)
			buf_format(out, "counters on host %s: %zu run%s counted, %zu not\n", hosts[i]->name, r->counted,
				   text_plural(r->counted), r->not_counted);
	}
}

/* Behind the table: what the rates may be lower by. */
static void print_busy(const struct host *const *hosts, const struct take_result *results, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		if (results[i].busy)
			buf_format(out, "host %s was not idle: %s; its rates may be too low\n", hosts[i]->name, results[i].busy);
	}
}

/* The summary of what was taken; NULL where it is not complete. */
static const struct machine_fingerprint *summary_of(const struct catalog *catalog, const struct host *host,
						    const struct take_result *result)
{
	const struct machine *machine = result->complete ? catalog_find(catalog, host->id) : NULL;

	for (size_t i = 0; machine && i < machine->n_fingerprints; i++) {
		if (strcmp(machine->fingerprints[i].id, result->fingerprint) == 0)
			return &machine->fingerprints[i];
	}
	return NULL;
}

/* Behind the table: stressors without a rate in any pass. */
static void print_unmeasured(const struct catalog *catalog, const struct host *const *hosts, const struct take_result *results, size_t n,
			     struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		const struct machine_fingerprint *f = summary_of(catalog, hosts[i], &results[i]);
		size_t without = 0;

		for (size_t j = 0; f && j < f->n_rates; j++) {
			if (!isnan(f->rates[j].median))
				continue;
			if (!without++)
				buf_format(out, "no rate on host %s of: ", hosts[i]->name);
			buf_format(out, "%s%s", without > 1 ? ", " : "", f->rates[j].stressor);
		}
		if (without)
			buf_format(out, " ('assay fingerprint show %s' says why)\n", f->id);
	}
}

static cJSON *unmeasured_json(const struct machine_fingerprint *f)
{
	cJSON *list = cJSON_CreateArray();

	for (size_t j = 0; f && j < f->n_rates; j++) {
		if (isnan(f->rates[j].median))
			cJSON_AddItemToArray(list, cJSON_CreateString(f->rates[j].stressor));
	}
	return list;
}

/* Behind the count: how to go on. Hosts are named, for --resume leaves complete ones alone for a day only. */
static void print_rest(const struct host *const *hosts, const struct take_result *results, size_t n, struct buf *out)
{
	const struct host **rest = mem_new(n, sizeof(*rest));
	size_t left = 0, before = 0;
	bool kept = false;
	char *folded;

	for (size_t i = 0; i < n; i++) {
		before += results[i].was_complete;
		kept = kept || (!results[i].complete && *results[i].fingerprint);
		if (!results[i].complete)
			rest[left++] = hosts[i];
	}
	if (left) {
		folded = cmd_fleet_fold(rest, left);
		buf_format(out, "; for the rest: %s-w %s%s", kept ? "--resume " : "", folded, kept ? " (what was measured is kept)" : "");
		free(folded);
	}
	if (before == n)
		buf_text(out, " already: there is nothing to resume");
	buf_char(out, '\n');
	free(rest);
}

static void print_human(const struct catalog *catalog, const struct host *const *hosts, const struct take_result *results, size_t n,
			struct buf *out)
{
	static const char *const headings[] = { "host", "machine", "outcome", "measured", "missing", "seconds", "fingerprint", "", "" };
	struct table table;
	size_t complete = 0;

	table_init(&table, "lllrrrlll", headings);
	for (size_t i = 0; i < n; i++) {
		const struct take_result *r = &results[i];

		complete += r->complete;
		table_cell(&table, "%s", hosts[i]->name);
		table_cell(&table, "%s", hosts[i]->id);
		table_cell(&table, "%s", outcome_of(r));
		table_cell(&table, "%zu", r->measured);
		table_cell(&table, "%zu", r->missing);
		table_cell(&table, "%.1f", r->seconds);
		table_cell(&table, "%s", *r->fingerprint ? r->fingerprint : "-");
		table_cell(&table, "%s", hosts[i]->profile ? "emulated" : "");
		table_cell(&table, "%s", r->was_complete ? "it was complete already" : r->complete ? "" : r->fleet.message);
	}
	table_print(&table, out);
	table_release(&table);
	buf_format(out, "\n%zu of %zu fingerprint%s complete", complete, n, text_plural(n));
	print_rest(hosts, results, n, out);
	print_unmeasured(catalog, hosts, results, n, out);
	print_busy(hosts, results, n, out);
	print_counters(hosts, results, n, out);
}

static void print_json(const struct battery *battery, const struct catalog *catalog, const struct host *const *hosts,
		       const struct take_result *results, size_t n, struct buf *out)
{
	cJSON *root = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(root, "battery", battery->name);
	cJSON_AddStringToObject(root, "battery_hash", battery->hash);
	list = cJSON_AddArrayToObject(root, "hosts");
	for (size_t i = 0; i < n; i++) {
		const struct take_result *r = &results[i];
		cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToArray(list, object);
		cJSON_AddStringToObject(object, "host", hosts[i]->name);
		cJSON_AddStringToObject(object, "machine", hosts[i]->id);
		cJSON_AddStringToObject(object, "outcome", fleet_outcome_text(r->fleet.outcome));
		cJSON_AddStringToObject(object, "message", r->fleet.message);
		cJSON_AddBoolToObject(object, "complete", r->complete);
		cJSON_AddBoolToObject(object, "was_complete", r->was_complete);
		cJSON_AddBoolToObject(object, "emulated", hosts[i]->profile != NULL);
		cJSON_AddNumberToObject(object, "measured", (double)r->measured);
		cJSON_AddNumberToObject(object, "missing", (double)r->missing);
		cJSON_AddItemToObject(object, "without_rate", unmeasured_json(summary_of(catalog, hosts[i], r)));
		cJSON_AddNumberToObject(object, "seconds", r->seconds);
		cJSON_AddNumberToObject(object, "counted", (double)r->counted);
		cJSON_AddNumberToObject(object, "not_counted", (double)r->not_counted);
		cJSON_AddItemToObject(object, "without_counters",
				      r->without_counters ? cJSON_CreateString(r->without_counters) : cJSON_CreateNull());
		cJSON_AddItemToObject(object, "busy", r->busy ? cJSON_CreateString(r->busy) : cJSON_CreateNull());
		if (*r->fingerprint)
			cJSON_AddStringToObject(object, "fingerprint", r->fingerprint);
		else
			cJSON_AddNullToObject(object, "fingerprint");
	}
	json_add(out, root);
}

static enum assay_status open_events(const struct arguments *a, struct counting_events *out, struct assay_error *err)
{
	if (a->events)
		return counting_events_parse(a->events, out, err);
	countable_default_of_stressors(out);
	return ASSAY_OK;
}

/* Everything between an open laboratory and the results; *status gets the exit status. */
static enum assay_status run(struct cmd_lab *cmd, const struct arguments *a, int *status)
{
	struct reach reach = { 0 };
	struct fleet_options options = { 0 };
	struct catalog catalog = { 0 };
	struct battery battery = { 0 };
	struct counting_events events = { .n = 0 };
	const struct host **hosts = NULL;
	struct take_result *results = NULL;
	struct take_options take = { &battery, a->resume, &options, a->counters ? &events : NULL, show_progress };
	struct assay_error *err = &cmd->err;
	struct lab *lab = &cmd->lab;
	size_t n = 0;
	enum assay_status st = battery_open(a->battery, &battery, err);

	if (!st)
		st = battery_select(&battery, a->dangerous, a->n_dangerous, err);
	if (!st && a->counters)
		st = open_events(a, &events, err);
	if (!st)
		st = cmd_fleet_hosts(&lab->config.inventory, &a->choice, &hosts, &n, err);
	if (!st)
		st = catalog_load(lab->machines, NULL, &catalog, err);
	if (!st)
		st = reach_init(lab->directory, hosts, n, &reach, err);
	if (!st) {
		options = reach_options(&reach);
		options.cancelled = &cancelled;
		results = mem_new(n, sizeof(*results));
		progress = progress_begin(stderr, progress_now());
		st = take_fingerprints(lab, &catalog, hosts, n, &take, results, err);
		progress_end(&progress);
	}
	if (!st) {
		*status = take_exit(results, n);
		if (cmd->cli.format == CLI_JSON)
			print_json(&battery, &catalog, hosts, results, n, &cmd->out);
		else
			print_human(&catalog, hosts, results, n, &cmd->out);
	}
	if (results)
		take_results_release(results, n);
	free(results);
	free(hosts);
	reach_release(&reach);
	catalog_release(&catalog);
	battery_release(&battery);
	counting_events_release(&events);
	return st;
}

int cmd_fingerprint_run(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { argp_options, parse, NULL, doc, NULL, NULL, NULL };
	struct arguments *a = mem_new(1, sizeof(*a));
	struct cmd_lab cmd;
	enum assay_status st;
	int status = 0;

	a->battery = "quick";
	cancel_on_signals(&cancelled);
	st = cmd_lab_open(&cmd, &argp, argc, argv, directory, a, STORE_WRITE);
	if (!st)
		st = run(&cmd, a, &status);
	cmd_fleet_release(&a->choice);
	free(a);
	return cmd_lab_end(&cmd, st, status);
}

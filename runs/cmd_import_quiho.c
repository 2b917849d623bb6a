#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/cmd_lab.h"
#include "runs/cmd.h"
#include "runs/running/quiho.h"
#include "runs/running/run.h"

static const char doc[] =
    "Reads a data package of the quiho experiments: DIR/results.csv (and machines.csv where it is). Its fingerprints go into the "
    "catalog and the store, its application results into the store. Importing the same again changes nothing; results that "
    "contradict what is stored are refused."
    "\vExample:\n"
    "  assay import quiho ../quiho-data --types ../quiho-data/types.csv\n"
    "  assay import quiho nightly --version 2.1 --higher-is-better 'throughput/*'\n"
    "\n"
    "Patterns are the shell's (* also matches /) against the application's name, such as stream/add-1; they are kept in the "
    "laboratory, the last one that matches counts. stream/* and fio/* are higher-is-better unless told otherwise.";

enum { OPTION_TYPES = 256, OPTION_HIGHER, OPTION_LOWER, OPTION_VERSION };

static const struct argp_option options[] = {
	{ "types", OPTION_TYPES, "FILE", 0, "Hardware types: a CSV file with the columns machine, timestamp, type", 1 },
	{ "version", OPTION_VERSION, "NAME", 0, "Version of the applications, where the file has no column 'version' (default: imported)", 1 },
	{ "higher-is-better", OPTION_HIGHER, "GLOB", 0, "The metric of these applications is better when it is higher (repeatable)", 1 },
	{ "lower-is-better", OPTION_LOWER, "GLOB", 0, "The opposite, to take back an earlier pattern (repeatable)", 1 },
	{ 0 }
};

#define RULES_MAX 1000

struct arguments {
	struct quiho_import_options import;
	struct quiho_rule rules[RULES_MAX]; /* in the order of the command line: the last one that matches counts */
};

static void add_rule(struct argp_state *state, struct arguments *a, const char *glob, bool higher_is_better)
{
	if (!*glob || a->import.n_rules == RULES_MAX)
		cli_refuse(state, "empty pattern, or more than %d of them", RULES_MAX);
	a->rules[a->import.n_rules++] = (struct quiho_rule){ glob, higher_is_better };
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPTION_TYPES:
		a->import.types_file = arg;
		return 0;
	case OPTION_VERSION:
		if (!run_name_ok(arg))
			cli_refuse(state, "'%s' cannot be the name of a version (no '@', no control characters, at most %d bytes)", arg,
				   RUN_NAME_BYTES_MAX);
		a->import.version = arg;
		return 0;
	case OPTION_HIGHER:
		add_rule(state, a, arg, true);
		return 0;
	case OPTION_LOWER:
		add_rule(state, a, arg, false);
		return 0;
	default:
		return cli_words(key, arg, state, &a->import.directory, 1, "DIR, the directory of the package");
	}
}

static void print_skipped(const struct quiho_import_result *r, struct buf *out)
{
	for (int i = 0; i < QUIHO_SKIPS; i++) {
		if (r->skipped[i])
			buf_format(out, "  not used      %zu row%s: %s (first in line %zu)\n", r->skipped[i], text_plural(r->skipped[i]),
				   quiho_skip_text((enum quiho_skip)i), r->skipped_line[i]);
	}
}

/* What was read but counts for less than the rest. */
static void print_lacking(const struct quiho_import_result *r, struct buf *out)
{
	if (r->recorded_zeros)
		buf_format(out, "  recorded 0    %zu rate%s kept as \"recorded 0, not measured\"\n", r->recorded_zeros,
			   r->recorded_zeros == 1 ? " is" : "s are");
	if (r->incomplete_passes)
		buf_format(out, "  incomplete    %zu pass%s a stressor: runs count for run times, not for --model paper\n", r->incomplete_passes,
			   r->incomplete_passes == 1 ? " lacks" : "es lack");
	if (r->runs_without_fingerprint)
		buf_format(out, "  unmatched     %zu result%s no fingerprint of the same machine, time and repetition: counted for run times "
				"only\n", r->runs_without_fingerprint, r->runs_without_fingerprint == 1 ? " has" : "s have");
}

static void print_human(const struct quiho_import_options *o, const struct quiho_import_result *r, struct buf *out)
{
	buf_format(out, "Read %s/results.csv: %zu row%s.\n", o->directory, r->rows, text_plural(r->rows));
	buf_format(out, "  fingerprints  %zu new, %zu known before, of %zu machine%s; %zu rate%s new, %zu known before\n", r->fingerprints_added,
		   r->fingerprints_known, r->machines, text_plural(r->machines), r->rates_added, text_plural(r->rates_added), r->rates_known);
	buf_format(out, "  results       %zu new, %zu known before; the laboratory has %zu application%s\n", r->runs_added, r->runs_known,
		   r->applications, text_plural(r->applications));
	print_skipped(r, out);
	print_lacking(r, out);
	if (o->types_file)
		buf_format(out, "  types         %zu row%s of %s used, %zu for no fingerprint of the catalog\n", r->types_given,
			   text_plural(r->types_given), o->types_file, r->types_unknown);
	if (r->hardware_known || r->hardware_unknown)
		buf_format(out, "  hardware      %zu row%s of machines.csv used, %zu for no machine of the catalog\n", r->hardware_known,
			   text_plural(r->hardware_known), r->hardware_unknown);
	buf_format(out, "  catalog       %zu file%s written\n", r->catalog_written, text_plural(r->catalog_written));
}

static void print_json(const struct quiho_import_options *o, const struct quiho_import_result *r, struct buf *out)
{
	const struct {
		const char *name;
		size_t value;
	} numbers[] = {
		{ "rows", r->rows },
		{ "machines", r->machines },
		{ "fingerprints_added", r->fingerprints_added },
		{ "fingerprints_known", r->fingerprints_known },
		{ "rates_added", r->rates_added },
		{ "rates_known", r->rates_known },
		{ "recorded_zeros", r->recorded_zeros },
		{ "incomplete_passes", r->incomplete_passes },
		{ "results_added", r->runs_added },
		{ "results_known", r->runs_known },
		{ "results_without_fingerprint", r->runs_without_fingerprint },
		{ "applications", r->applications },
		{ "types_used", r->types_given },
		{ "types_unknown", r->types_unknown },
		{ "hardware_used", r->hardware_known },
		{ "hardware_unknown", r->hardware_unknown },
		{ "catalog_files_written", r->catalog_written },
	};
	cJSON *root = cJSON_CreateObject(), *skipped;

	cJSON_AddStringToObject(root, "directory", o->directory);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		cJSON_AddNumberToObject(root, numbers[i].name, (double)numbers[i].value);
	skipped = cJSON_AddObjectToObject(root, "not_used");
	for (int i = 0; i < QUIHO_SKIPS; i++)
		cJSON_AddNumberToObject(skipped, quiho_skip_code((enum quiho_skip)i), (double)r->skipped[i]);
	json_add(out, root);
}

int cmd_import_quiho(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, "DIR", doc, NULL, NULL, NULL };
	struct arguments *a = mem_new(1, sizeof(*a));
	struct quiho_import_result result = { 0 };
	struct cmd_lab cmd;
	enum assay_status st;

	a->import.version = QUIHO_VERSION;
	a->import.rules = a->rules;
	st = cmd_lab_open(&cmd, &argp, argc, argv, directory, a, STORE_WRITE);
	if (!st)
		st = quiho_import(&cmd.lab, &a->import, &result, &cmd.err);
	if (!st)
		(cmd.cli.format == CLI_JSON ? print_json : print_human)(&a->import, &result, &cmd.out);
	free(a);
	return cmd_lab_end(&cmd, st, 0);
}

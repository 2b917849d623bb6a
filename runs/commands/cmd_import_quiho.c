/* assay import quiho */
#include "base/command.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/lab/lab.h"
#include "runs/commands/runs_commands.h"
#include "runs/running/quiho.h"
#include "runs/running/run.h"

#define RULES_MAX 1000

struct rules {
	struct quiho_rule *items; /* [n], in the order of the command line: the last one that matches counts */
	size_t n;
};

/* --higher-is-better and --lower-is-better fill one list, in their order. */
struct arguments {
	const char *directory, *types_file, *version;
	struct rules rules;
};

static enum assay_status add_rule(struct rules *rules, const char *glob, bool higher_is_better, struct assay_error *err)
{
	if (!*glob || rules->n == RULES_MAX)
		return assay_fail(err, ASSAY_E_USAGE, *glob ? "more than %d patterns" : "the pattern is empty", RULES_MAX);
	rules->items = mem_resize(rules->items, rules->n + 1, sizeof(*rules->items));
	rules->items[rules->n++] = (struct quiho_rule){ glob, higher_is_better };
	return ASSAY_OK;
}

static enum assay_status add_higher(const char *text, void *to, struct assay_error *err)
{
	return add_rule(to, text, true, err);
}

static enum assay_status add_lower(const char *text, void *to, struct assay_error *err)
{
	return add_rule(to, text, false, err);
}

static enum assay_status import_check(void *arguments, struct assay_error *err)
{
	const struct arguments *a = arguments;

	return run_name_check("a version", a->version, err);
}

/* ---- the answer ---- */

/* What was read but counts for less than the rest. */
static void show_lacking(const struct quiho_import_result *r, struct document *d)
{
	for (int i = 0; i < QUIHO_SKIPS; i++) {
		if (r->skipped[i])
			doc_line(d, "  not used      %zu row%s: %s (first in line %zu)", r->skipped[i], text_plural(r->skipped[i]),
				 quiho_skip_text((enum quiho_skip)i), r->skipped_line[i]);
	}
	if (r->recorded_zeros)
		doc_line(d, "  recorded 0    %zu rate%s kept as \"recorded 0, not measured\"", r->recorded_zeros,
			 r->recorded_zeros == 1 ? " is" : "s are");
	if (r->incomplete_passes)
		doc_line(d, "  incomplete    %zu pass%s a stressor: runs count for run times, not for --model paper", r->incomplete_passes,
			 r->incomplete_passes == 1 ? " lacks" : "es lack");
	if (r->runs_without_fingerprint)
		doc_line(d,
			 "  unmatched     %zu result%s no fingerprint of the same machine, time and repetition: counted for run times only",
			 r->runs_without_fingerprint, r->runs_without_fingerprint == 1 ? " has" : "s have");
}

static void show_table(const char *name, const char *file, const char *what, const struct csv_use *use, struct document *d)
{
	if (use->used || use->unknown || use->left_out)
		doc_line(d, "  %-13s %zu row%s of %s used, %zu for no %s of the catalog", name, use->used, text_plural(use->used), file,
			 use->unknown, what);
	if (use->left_out)
		doc_line(d, "  not used      %zu row%s of %s (first %s)", use->left_out, text_plural(use->left_out), file, use->first.text);
}

static void show_people(const struct arguments *a, const struct quiho_import_result *r, struct document *d)
{
	doc_line(d, "Read %s/results.csv: %zu row%s.", a->directory, r->rows, text_plural(r->rows));
	doc_line(d, "  fingerprints  %zu new, %zu known before, of %zu machine%s; %zu rate%s new, %zu known before", r->fingerprints_added,
		 r->fingerprints_known, r->machines, text_plural(r->machines), r->rates_added, text_plural(r->rates_added), r->rates_known);
	doc_line(d, "  results       %zu new, %zu known before; the laboratory has %zu application%s", r->runs_added, r->runs_known,
		 r->applications, text_plural(r->applications));
	show_lacking(r, d);
	show_table("types", a->types_file, "fingerprint", &r->types, d);
	show_table("hardware", "machines.csv", "machine", &r->hardware, d);
	doc_line(d, "  catalog       %zu file%s written", r->catalog_written, text_plural(r->catalog_written));
}

static void show_programs(const struct arguments *a, const struct quiho_import_result *r, struct document *d)
{
	doc_set(d, "directory", a->directory);
	doc_set(d, "rows", r->rows);
	doc_set(d, "machines", r->machines);
	doc_set(d, "fingerprints_added", r->fingerprints_added);
	doc_set(d, "fingerprints_known", r->fingerprints_known);
	doc_set(d, "rates_added", r->rates_added);
	doc_set(d, "rates_known", r->rates_known);
	doc_set(d, "recorded_zeros", r->recorded_zeros);
	doc_set(d, "incomplete_passes", r->incomplete_passes);
	doc_set(d, "results_added", r->runs_added);
	doc_set(d, "results_known", r->runs_known);
	doc_set(d, "results_without_fingerprint", r->runs_without_fingerprint);
	doc_set(d, "applications", r->applications);
	doc_set(d, "types_used", r->types.used);
	doc_set(d, "types_unknown", r->types.unknown);
	doc_set(d, "types_left_out", r->types.left_out);
	doc_set(d, "hardware_used", r->hardware.used);
	doc_set(d, "hardware_unknown", r->hardware.unknown);
	doc_set(d, "hardware_left_out", r->hardware.left_out);
	doc_set(d, "catalog_files_written", r->catalog_written);
	doc_object(d, "not_used");
	for (int i = 0; i < QUIHO_SKIPS; i++)
		doc_set(d, quiho_skip_code((enum quiho_skip)i), r->skipped[i]);
	doc_end(d);
}

static enum assay_status import_quiho_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	const struct quiho_import_options import = { .directory = a->directory,
						     .types_file = a->types_file,
						     .version = a->version,
						     .rules = a->rules.items,
						     .n_rules = a->rules.n };
	struct quiho_import_result result = { 0 };
	enum assay_status st = quiho_import(lab, &import, &result, err);

	if (!st) {
		show_people(a, &result, d);
		show_programs(a, &result, d);
	}
	return st;
}

static const struct arguments defaults = { .version = QUIHO_VERSION };

static const struct cli_option words[] = { CLI_WORD("DIR", struct arguments, directory), CLI_END };

static const struct cli_option options[] = {
	CLI_TEXT("types", "FILE", struct arguments, types_file, "Hardware types: a CSV file with the columns machine, timestamp, type"),
	CLI_TEXT("version", "NAME", struct arguments, version,
		 "Version of the applications, where the file has no column 'version' (default: imported)"),
	CLI_OPTION(PARSED, "higher-is-better", "GLOB", struct arguments, rules,
		   "The metric of these applications is better when it is higher (repeatable)", .parse = add_higher, .owned = true),
	CLI_OPTION(PARSED, "lower-is-better", "GLOB", struct arguments, rules, "The opposite, to undo an earlier pattern (repeatable)",
		   .parse = add_lower, .owned = true),
	CLI_END
};

const struct command import_quiho_command = {
	.name = "import quiho",
	.summary = "import recorded machines and results",
	.about = "Reads a data package of the quiho experiments: DIR/results.csv (and machines.csv if there is one). Its fingerprints go "
		 "into the catalog and the store, its application results into the store. Importing the same package again changes "
		 "nothing; results that contradict what is stored are refused.\n"
		 "\n"
		 "Patterns are the shell's (* also matches /) against the application's name, such as stream/add-1; they are kept in the "
		 "laboratory, the last one that matches counts. stream/* and fio/* are higher-is-better unless told otherwise.",
	.examples = "  assay import quiho ../quiho-data --types ../quiho-data/types.csv\n"
		    "  assay import quiho nightly --version 2.1 --higher-is-better 'throughput/*'\n",
	.words = words,
	.options = options,
	.defaults = &defaults,
	.check = import_check,
	CLI_RUN(struct arguments, CLI_LAB_WRITE, import_quiho_run),
};

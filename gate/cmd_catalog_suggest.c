#include "fleet/cmd_lab.h"
#include "gate/cmd.h"
#include "gate/cmd_runs.h"
#include "gate/profile/suggest.h"

static const char doc[] = "Which machine of the catalog, on which an application has not run, would sharpen its profile most, "
                          "and by how much; and which kind of "
                          "machine would, if there were one."
                          "\vExample:\n"
                          "  assay catalog suggest hpccg\n"
                          "  assay catalog suggest stream/add-1@imported --top 3 --format json\n";

enum { OPTION_TOP = 256 };

#define SHOWN_DEFAULT 10
#define SHOWN_MAX     10000

static const struct argp_option options[] = {
	{ "top", OPTION_TOP, "N", 0, "Show the N most useful hardware types (default: 10)", 1 },
	{ 0 }
};

struct arguments {
	const char *selector;
	int64_t shown;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPTION_TOP:
		a->shown = cli_number(state, "--top", arg, 1, SHOWN_MAX);
		return 0;
	default:
		return cli_words(key, arg, state, &a->selector, 1, "APP[@VERSION]");
	}
}

static void suggest(const struct evidence *evidence, const struct run_set *runs, const struct arguments *a,
                    enum cli_format_old format, struct buf *out)
{
	struct profile_rows rows;
	struct dataset dataset;
	struct profile profile;
	struct suggest s;

	dataset_sparse_of(evidence, runs, &dataset);
	profile_rows_of(evidence, runs, &dataset, &rows);
	profile_of(&rows, &profile_defaults, &profile);
	suggest_of(evidence, runs, &dataset, &profile, &s);
	if (format == CLI_JSON)
		json_add(out, suggest_json(&s, runs));
	else
		suggest_print(&s, runs, (size_t)a->shown, out);
	suggest_release(&s);
	profile_release(&profile);
	profile_rows_release(&rows);
	dataset_release(&dataset);
}

int cmd_catalog_suggest(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, "APP[@VERSION]", doc, NULL, NULL, NULL };
	struct arguments a = { NULL, SHOWN_DEFAULT };
	struct evidence evidence = { 0 };
	struct run_set runs = { 0 };
	struct cmd_lab cmd;
	enum assay_status st = cmd_lab_open(&cmd, &argp, argc, argv, directory, &a, STORE_READ);

	if (!st)
		st = cmd_runs_load(&cmd, a.selector, &runs);
	if (!st && !runs.n)
		st = assay_fail(&cmd.err, ASSAY_E_NODATA, "no result of '%s@%s' counts yet: run it with 'assay run'", runs.application, runs.version);
	if (!st)
		st = evidence_load(&cmd.lab, &evidence, &cmd.err);
	if (!st)
		suggest(&evidence, &runs, &a, cmd.cli.format, &cmd.out);
	evidence_release(&evidence);
	run_set_release(&runs);
	return cmd_lab_end(&cmd, st, 0);
}

#include "base/term.h"
#include "fleet/cmd_lab.h"
#include "gate/cmd.h"
#include "gate/cmd_parse.h"
#include "gate/cmd_runs.h"
#include "gate/profile/paper_profile.h"
#include "gate/profile/profile.h"

static const char doc[] =
    "Infers which resources an application stresses from how its performance varies over machines whose fingerprints are known; "
    "nothing is instrumented. Stressors that move together over the machines are one group. Each group has the share of the time "
    "that it "
    "explains, how sure that is, and the profile says whether it can be trusted, and if not, what would help."
    "\vExample:\n"
    "  assay profile hpccg\n"
    "  assay profile stream/add-1@imported --members --by-type\n"
    "  assay profile stream/add-1@imported --model paper --format json\n"
    "\n"
    "Models:\n"
    "  time    (default) work on each resource divided by its speed, blended with boosted stumps;\n"
    "          validated on hardware types left out\n"
    "  paper   importances of boosted trees, as published with quiho (2018); says nothing of how far\n"
    "          it can be trusted";

enum { OPTION_MODEL = 256, OPTION_TOP, OPTION_MEMBERS, OPTION_BY_TYPE, OPTION_RESAMPLES, OPTION_SEED };

#define SHOWN_DEFAULT 15
#define SHOWN_MAX     10000
#define RESAMPLES_MAX 100000

static const struct argp_option options[] = {
	{ "model", OPTION_MODEL, "NAME", 0, "time (the default) or paper", 1 },
	{ "top", OPTION_TOP, "N", 0, "Show the N most important groups, or stressors of the paper's model (default: 15)", 1 },
	{ "members", OPTION_MEMBERS, NULL, 0, "List the stressors of every group", 1 },
	{ "by-type", OPTION_BY_TYPE, NULL, 0, "Show the leading groups' shares on every hardware type", 1 },
	{ "resamples", OPTION_RESAMPLES, "N", 0, "Resamples of the hardware types for the error bars (default: 200)", 1 },
	{ "seed", OPTION_SEED, "N", 0, "Seed of the resamples", 1 },
	{ 0 }
};

struct arguments {
	const char *selector;
	int64_t shown, resamples, seed;
	bool paper, members, by_type;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPTION_MODEL:
		a->paper = cmd_parse_is_paper(arg, state);
		return 0;
	case OPTION_TOP:
		a->shown = cli_number(state, "--top", arg, 1, SHOWN_MAX);
		return 0;
	case OPTION_RESAMPLES:
		a->resamples = cli_number(state, "--resamples", arg, 1, RESAMPLES_MAX);
		return 0;
	case OPTION_SEED:
		a->seed = cli_number(state, "--seed", arg, 0, INT64_MAX);
		return 0;
	case OPTION_MEMBERS:
		a->members = true;
		return 0;
	case OPTION_BY_TYPE:
		a->by_type = true;
		return 0;
	default:
		return cli_words(key, arg, state, &a->selector, 1, "APP[@VERSION]");
	}
}

static enum assay_status paper(const struct evidence *evidence, const struct run_set *runs, const struct arguments *a,
                               enum cli_format_old format, struct buf *out, struct assay_error *err)
{
	struct chart_style style = { term_colours(stdout), term_utf8(), term_columns(stdout) };
	struct paper_profile profile = { 0 };
	enum assay_status st = paper_profile_of(evidence, runs, &profile, err);

	if (!st && format == CLI_JSON)
		json_add(out, paper_profile_json(&profile));
	else if (!st)
		paper_profile_print(&profile, (size_t)a->shown, &style, out);
	paper_profile_release(&profile);
	return st;
}

static enum assay_status no_rows(const struct run_set *runs, const struct dataset *d, struct assay_error *err)
{
	struct buf why = BUF_INIT;
	enum assay_status st;

	for (int i = 0; i < LEFT_OUT_COUNT; i++) {
		if (d->left_out[i])
			buf_format(&why, "; %zu: %s", d->left_out[i], left_out_text((enum left_out)i));
	}
	st = assay_fail(err, ASSAY_E_NODATA,
	                "a profile of '%s@%s' needs results above 0 on machines with a fingerprint, none of %zu is one%s",
	                runs->application, runs->version, runs->n, why.bytes ? why.bytes : "");
	buf_release(&why);
	return st;
}

/* Whatever there is to say is said: only without a single usable result it is an error. */
static enum assay_status validated(const struct evidence *evidence, const struct run_set *runs, const struct arguments *a,
				   enum cli_format_old format, struct buf *out, struct assay_error *err)
{
	struct profile_style style = {.colours = term_colours(stdout),
	                              .utf8 = term_utf8(),
	                              .members = a->members,
	                              .by_type = a->by_type,
	                              .columns = term_columns(stdout),
	                              .shown = (size_t)a->shown};
	struct profile_options how = { (size_t)a->resamples, (uint64_t)a->seed, 0 };
	struct profile_rows rows = { 0 };
	struct profile profile = { 0 };
	struct dataset dataset;
	enum assay_status st = ASSAY_OK;

	dataset_sparse_of(evidence, runs, &dataset);
	profile_rows_of(evidence, runs, &dataset, &rows);
	if (rows.rates.rows == 0)
		st = no_rows(runs, &dataset, err);
	if (!st) {
		profile_of(&rows, &how, &profile);
		if (format == CLI_JSON)
			json_add(out, profile_json(&profile, runs, &dataset));
		else
			profile_print(&profile, runs, &dataset, &style, out);
	}
	profile_release(&profile);
	profile_rows_release(&rows);
	dataset_release(&dataset);
	return st;
}

int cmd_profile(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, "APP[@VERSION]", doc, NULL, NULL, NULL };
	struct arguments a = {
	    .shown = SHOWN_DEFAULT, .resamples = (int64_t)profile_defaults.resamples, .seed = (int64_t)profile_defaults.seed};
	struct evidence evidence = { 0 };
	struct run_set runs = { 0 };
	struct cmd_lab cmd;
	enum assay_status st = cmd_lab_open(&cmd, &argp, argc, argv, directory, &a, STORE_READ);

	if (!st)
		st = cmd_runs_load(&cmd, a.selector, &runs);
	if (!st)
		st = evidence_load(&cmd.lab, &evidence, &cmd.err);
	if (!st)
		st = (a.paper ? paper : validated)(&evidence, &runs, &a, cmd.cli.format, &cmd.out, &cmd.err);
	evidence_release(&evidence);
	run_set_release(&runs);
	return cmd_lab_end(&cmd, st, 0);
}

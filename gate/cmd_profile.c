/* assay profile */
#include "gate/cmd.h"
#include "gate/cmd_evidence.h"
#include "gate/profile/profile.h"
#include "gate/published/paper_profile.h"

enum { MODEL_TIME, MODEL_PAPER };

struct arguments {
	const char *selector;
	int64_t top, resamples, seed;
	int model;
	bool members, by_type;
};

/* A profile that cannot be trusted is an answer; only without a single usable result it is an error. */
static enum assay_status profile_time(const struct cmd_evidence *e, const struct arguments *a, struct document *d, struct assay_error *err)
{
	const struct profile_shown shown = { .groups = (size_t)a->top, .members = a->members, .by_type = a->by_type };
	const struct profile_options how = { .resamples = (size_t)a->resamples, .seed = (uint64_t)a->seed };
	const struct run_set *runs = &e->runs[0];
	struct profile_rows rows;
	struct profile profile = { 0 };
	struct dataset dataset;
	enum assay_status st = ASSAY_OK;

	dataset_sparse_of(&e->evidence, runs, &dataset);
	profile_rows_of(&e->evidence, runs, &dataset, &rows);
	if (rows.rates.rows == 0)
		st = profile_no_rows(runs, &dataset, "results above 0 on machines with a fingerprint", 0, err);
	if (!st) {
		profile_of(&rows, &how, &profile);
		profile_answer(&profile, runs, &dataset, &shown, d);
	}
	profile_release(&profile);
	profile_rows_release(&rows);
	dataset_release(&dataset);
	return st;
}

static enum assay_status profile_paper(const struct cmd_evidence *e, const struct arguments *a, struct document *d, struct assay_error *err)
{
	struct paper_profile profile;
	enum assay_status st = paper_profile_of(&e->evidence, &e->runs[0], &profile, err);

	if (!st)
		paper_profile_answer(&profile, (size_t)a->top, d);
	paper_profile_release(&profile);
	return st;
}

static enum assay_status profile_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct cmd_evidence e;
	enum assay_status st = cmd_evidence_load(lab, &a->selector, 1, true, &e, err);

	if (!st)
		st = (a->model == MODEL_PAPER ? profile_paper : profile_time)(&e, a, d, err);
	cmd_evidence_release(&e);
	return st;
}

static const char *const models[] = { [MODEL_TIME] = "time", [MODEL_PAPER] = "paper", NULL };
static const struct cli_option words[] = { CLI_WORD("APP[@VERSION]", struct arguments, selector), CLI_END };
static const struct cli_option options[] = {
	CLI_CHOICE("model", models, struct arguments, model, "The model: time (the default) or paper"),
	CMD_TOP(struct arguments, top, "Show the N most important groups, or stressors of the paper's model (default: 15)"),
	CLI_FLAG("members", struct arguments, members, "List the stressors of every group"),
	CLI_FLAG("by-type", struct arguments, by_type, "Show the leading groups' shares on every hardware type"),
	CMD_RESAMPLES(struct arguments, resamples, "Resamples of the hardware types for the error bars (default: 200)"),
	CMD_SEED(struct arguments, seed),
	CLI_END,
};
static const struct arguments defaults = { .top = 15, .resamples = SHARES_RESAMPLES, .seed = PROFILE_SEED };

const struct command profile_command = {
	.name = "profile",
	.summary = "infer which resources a version stresses",
	.about =
	    "Infers which resources an application stresses from how its performance varies over machines whose fingerprints are known; "
	    "nothing is instrumented. Stressors that move together over the machines are one group. Each group has the share of the time "
	    "that "
	    "it explains, with its uncertainty, and the profile says whether it can be trusted, and if not, what would help.",
	.more = "Models:\n"
		"  time    (default) work on each resource divided by its speed, blended with boosted stumps;\n"
		"          validated on hardware types left out\n"
		"  paper   importances of boosted trees, as published with quiho (2018); not validated: it cannot\n"
		"          tell how far it can be trusted\n",
	.examples = "  assay profile hpccg\n"
		    "  assay profile stream/add-1@imported --members --by-type\n"
		    "  assay profile stream/add-1@imported --model paper --format json\n",
	.words = words,
	.options = options,
	.defaults = &defaults,
	.arguments_bytes = sizeof(struct arguments),
	.lab = CLI_LAB_READ,
	.run = profile_run,
};

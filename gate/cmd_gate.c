#include "base/cli.h"
#include "base/term.h"
#include "base/text.h"
#include "gate/cmd.h"
#include "gate/decide/contributions.h"
#include "gate/decide/verdict.h"
#include "gate/decide/walk.h"
#include "gate/detect/evidence.h"

#include <math.h>

static const char doc[] =
    "Decides whether CANDIDATE is slower than BASELINE. Machines that ran both are compared with themselves, hardware types count "
    "once each, and the decision is made on the interval of the ratio of costs: regression, improved, pass, or inconclusive."
    "\vExample:\n"
    "  assay gate myapp@1.0 myapp@1.1 --min-effect 0.05\n"
    "  assay gate mysqlslap/innodb_load mysqlslap/memory_load --format json | jq .decision\n"
    "  assay gate myapp@1.0 myapp@1.1 --method walk --epsilon 20\n"
    "\n"
    "Methods:\n"
    "  ratio  (default) the interval of the ratio of costs over hardware types\n"
    "  walk   as published with quiho (2018), for comparison: walks down the importances of the baseline's profile and says regression at "
    "the first that differs by more than epsilon points; most unchanged versions look changed to it\n"
    "\n"
    "Exit status: 0 pass or improved, 3 regression, 4 inconclusive, 6 nothing measured; 1 failure, 2 usage.";

enum { OPTION_MIN_EFFECT = 256, OPTION_ALL, OPTION_METHOD, OPTION_EPSILON };

static const struct argp_option options[] = {
	{ "min-effect", OPTION_MIN_EFFECT, "FRACTION", 0, "The smallest slowdown that matters to you (default: that of lab.yaml, else 0.03)", 1 },
	{ "all", OPTION_ALL, NULL, 0, "List the machines that were left out, too", 1 },
	{ "method", OPTION_METHOD, "NAME", 0, "ratio (the default) or walk", 1 },
	{ "epsilon", OPTION_EPSILON, "POINTS", 0, "Of the walk: difference of importances that is none; the most important has 100 (default: 10)", 1 },
	{ 0 }
};

struct arguments {
	const char *selectors[2];
	double min_effect; /* 0: not given */
	double epsilon;    /* below 0: not given */
	bool all, walk;
};

/* Options of the other method are a mistake, not a detail. */
static void check_method(const struct arguments *a, struct argp_state *state)
{
	if (a->walk && (a->min_effect > 0 || a->all))
		cli_refuse(state, "--method walk has neither --min-effect nor --all: it does not look at ratios");
	if (!a->walk && a->epsilon >= 0)
		cli_refuse(state, "--epsilon belongs to --method walk");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPTION_MIN_EFFECT:
		if (!text_double(arg, &a->min_effect) || a->min_effect < 1e-6 || a->min_effect > 10)
			cli_refuse(state, "--min-effect is a fraction between 0.000001 and 10, not '%s'", arg);
		return 0;
	case OPTION_ALL:
		a->all = true;
		return 0;
	case OPTION_METHOD:
		a->walk = strcmp(arg, "walk") == 0;
		if (!a->walk && strcmp(arg, "ratio") != 0)
			cli_refuse(state, "unknown method '%s': there are ratio and walk", arg);
		return 0;
	case OPTION_EPSILON:
		if (!text_double(arg, &a->epsilon) || a->epsilon < 0 || a->epsilon > 100)
			cli_refuse(state, "--epsilon is a number of points from 0 to 100, not '%s'", arg);
		return 0;
	case ARGP_KEY_SUCCESS:
		check_method(a, state);
		return 0;
	default:
		return cli_words(key, arg, state, a->selectors, 2, "BASELINE and CANDIDATE, as APP[@VERSION]");
	}
}

static enum assay_status by_ratio(struct lab *lab, const struct evidence *evidence, const struct run_set *runs,
				  const struct arguments *a, enum cli_format format, struct buf *out, int *decided, struct assay_error *err)
{
	double min_effect = a->min_effect > 0 ? a->min_effect : lab->config.min_effect;
	struct contributions contributions = { 0 };
	struct function_evidence functions = { .there = false };
	struct verdict verdict = { 0 };
	enum assay_status st = verdict_of(evidence, &lab->config, &runs[0], &runs[1], min_effect, &verdict, err);

	if (!st) {
		contributions_of(evidence, &verdict, 0, &contributions);
		function_evidence_of(lab, &runs[0], &runs[1], false, &functions);
		if (format == CLI_JSON) {
			cJSON *root = verdict_json(&verdict);

			cJSON_AddItemToObject(root, "contributions", contributions_json(&contributions));
			cJSON_AddItemToObject(root, "functions", function_evidence_json(&functions, verdict.effect.decision));
			json_add(out, root);
		} else {
			verdict_print(&verdict, term_colours(stdout), a->all, out);
			contributions_print(&contributions, CONTRIBUTIONS_SHOWN, out);
			function_evidence_print(&functions, verdict.effect.decision, out);
		}
		*decided = decision_exit(verdict.effect.decision);
	}
	function_evidence_release(&functions);
	contributions_release(&contributions);
	verdict_release(&verdict);
	return st;
}

static enum assay_status by_walk(const struct evidence *evidence, const struct run_set *runs, const struct arguments *a,
				 enum cli_format format, struct buf *out, int *decided, struct assay_error *err)
{
	struct walk_profile profiles[2] = { 0 };
	struct walk walk = { 0 };
	enum assay_status st = ASSAY_OK;

	for (int i = 0; !st && i < 2; i++)
		st = walk_profile_of(evidence, &runs[i], &profiles[i], err);
	if (!st) {
		walk_of(&profiles[0], &profiles[1], a->epsilon >= 0 ? a->epsilon : WALK_EPSILON, &walk);
		if (format == CLI_JSON)
			json_add(out, walk_json(&walk, &runs[0], &runs[1]));
		else
			walk_print(&walk, &runs[0], &runs[1], out);
		*decided = decision_exit(walk.decision);
	}
	walk_release(&walk);
	walk_profile_release(&profiles[0]);
	walk_profile_release(&profiles[1]);
	return st;
}

int cmd_gate(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, "BASELINE CANDIDATE", doc, NULL, NULL, NULL };
	struct run_set runs[2] = { 0 };
	struct evidence evidence = { 0 };
	struct lab lab = { .lock_fd = -1 };
	struct arguments a = { .epsilon = -1 };
	struct buf out = BUF_INIT;
	struct assay_error err;
	enum assay_status st;
	struct cli cli;
	int decided = 0;

	cli_parse(&cli, &argp, argc, argv, directory, &a);
	st = lab_open(cli.directory, STORE_READ, &lab, &err);
	for (int i = 0; !st && i < 2; i++)
		st = evidence_runs(&lab, a.selectors[i], &runs[i], &err);
	if (!st)
		st = evidence_load(&lab, &evidence, &err);
	if (!st && a.walk)
		st = by_walk(&evidence, runs, &a, cli.format, &out, &decided, &err);
	else if (!st)
		st = by_ratio(&lab, &evidence, runs, &a, cli.format, &out, &decided, &err);
	if (!st)
		st = cli_print(&out, &err);
	evidence_release(&evidence);
	run_set_release(&runs[0]);
	run_set_release(&runs[1]);
	lab_close(&lab);
	buf_release(&out);
	return cli_end(&cli, st, &err, decided);
}

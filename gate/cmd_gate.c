#include "base/term.h"
#include "fleet/cmd_lab.h"
#include "gate/cmd.h"
#include "gate/cmd_parse.h"
#include "gate/cmd_runs.h"
#include "gate/decide/contributions.h"
#include "gate/decide/verdict.h"
#include "gate/decide/walk.h"
#include "gate/detect/likeness.h"

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
    "  walk   as published with quiho (2018), for comparison: walks down the importances of the\n"
    "         baseline's profile and says regression at the first that differs by more than epsilon\n"
    "         points; most unchanged versions look changed to it\n"
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
		a->min_effect = cmd_parse_min_effect(arg, state);
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
		a->epsilon = cmd_parse_epsilon(arg, state);
		return 0;
	case ARGP_KEY_SUCCESS:
		check_method(a, state);
		return 0;
	default:
		return cli_words(key, arg, state, a->selectors, 2, "BASELINE and CANDIDATE, as APP[@VERSION]");
	}
}

static enum assay_status by_ratio(struct cmd_lab *cmd, const struct evidence *evidence, const struct run_set *runs,
				  const struct arguments *a, int *decided)
{
	const struct lab_config *config = &cmd->lab.config;
	struct contributions contributions = { 0 };
	struct function_evidence functions = { .there = false };
	struct likeness likeness = { .missing = NULL };
	struct verdict verdict = { 0 };
	enum assay_status st = verdict_of(evidence, config, &runs[0], &runs[1], a->min_effect > 0 ? a->min_effect : config->min_effect,
					  &verdict, &cmd->err);

	if (!st) {
		contributions_of(evidence, &verdict, 0, &contributions);
		function_evidence_of(&cmd->lab, &runs[0], &runs[1], false, &functions);
		likeness_of(&cmd->lab, evidence, &verdict, &contributions, &functions, &likeness);
		if (cmd->cli.format == CLI_JSON) {
			cJSON *root = verdict_json(&verdict);

			cJSON_AddItemToObject(root, "contributions", contributions_json(&contributions));
			cJSON_AddItemToObject(root, "functions", function_evidence_json(&functions, verdict.effect.decision));
			cJSON_AddItemToObject(root, "signatures", likeness_json(&likeness));
			json_add(&cmd->out, root);
		} else {
			verdict_print(&verdict, term_colours(stdout), a->all, &cmd->out);
			contributions_print(&contributions, CONTRIBUTIONS_SHOWN, &cmd->out);
			function_evidence_print(&functions, verdict.effect.decision, &cmd->out);
			likeness_print(&likeness, &cmd->out);
		}
		*decided = decision_exit(verdict.effect.decision);
	}
	likeness_release(&likeness);
	function_evidence_release(&functions);
	contributions_release(&contributions);
	verdict_release(&verdict);
	return st;
}

static enum assay_status by_walk(struct cmd_lab *cmd, const struct evidence *evidence, const struct run_set *runs,
				 const struct arguments *a, int *decided)
{
	struct walk_profile profiles[2] = { 0 };
	struct walk walk = { 0 };
	enum assay_status st = ASSAY_OK;

	for (int i = 0; !st && i < 2; i++)
		st = walk_profile_of(evidence, &runs[i], &profiles[i], &cmd->err);
	if (!st) {
		walk_of(&profiles[0], &profiles[1], a->epsilon >= 0 ? a->epsilon : WALK_EPSILON, &walk);
		if (cmd->cli.format == CLI_JSON)
			json_add(&cmd->out, walk_json(&walk, &runs[0], &runs[1]));
		else
			walk_print(&walk, &runs[0], &runs[1], &cmd->out);
		*decided = decision_exit(walk.decision);
	}
	walk_release(&walk);
	walk_profile_release(&profiles[0]);
	walk_profile_release(&profiles[1]);
	return st;
}

static bool same_runs(const struct run_set *a, const struct run_set *b)
{
	return strcmp(a->application, b->application) == 0 && strcmp(a->version, b->version) == 0;
}

int cmd_gate(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, "BASELINE CANDIDATE", doc, NULL, NULL, NULL };
	struct arguments a = { .epsilon = -1 };
	struct run_set runs[2] = { 0 };
	struct evidence evidence = { 0 };
	struct cmd_lab cmd;
	enum assay_status st = cmd_lab_open(&cmd, &argp, argc, argv, directory, &a, STORE_READ);
	int decided = 0;

	for (int i = 0; !st && i < 2; i++)
		st = (a.walk ? cmd_runs_load(&cmd, a.selectors[i], &runs[i]) : evidence_runs(&cmd.lab, a.selectors[i], &runs[i], &cmd.err));
	if (!st && same_runs(&runs[0], &runs[1]))
		cli_note(&cmd.cli, "%s@%s is compared with itself: that says nothing of a change", runs[0].application, runs[0].version);
	if (!st)
		st = evidence_load(&cmd.lab, &evidence, &cmd.err);
	if (!st)
		st = (a.walk ? by_walk : by_ratio)(&cmd, &evidence, runs, &a, &decided);
	evidence_release(&evidence);
	run_set_release(&runs[0]);
	run_set_release(&runs[1]);
	return cmd_lab_end(&cmd, st, decided);
}

#include "fleet/cmd_lab.h"
#include "gate/cmd.h"
#include "gate/decide/contributions.h"
#include "gate/decide/verdict.h"

static const char doc[] =
    "Says how B uses the machines differently from A, and decides nothing: the ratio of costs; whether the change is one of all work "
    "alike (uniform), of another resource (other_resource), of both or neither; how much more or less of the time each group of stressors "
    "explains, with intervals; and the stressors that the ratio moves with."
    "\vExample:\n"
    "  assay compare mysqlslap/innodb_load mysqlslap/memory_load\n"
    "  assay compare myapp@1.0 myapp@1.1 --top 10\n"
    "  assay compare myapp@1.0 myapp@1.1 --format json | jq .change.kind\n"
    "\n"
    "Exit status: 0, or 6 when no machine ran both; 1 failure, 2 usage.";

enum { OPTION_TOP = 256, OPTION_MACHINES };

#define TOP_DEFAULT 8
#define TOP_MAX     10000

static const struct argp_option options[] = {
	{ "top", OPTION_TOP, "N", 0, "Show the N groups that changed most (default: 8)", 1 },
	{ "machines", OPTION_MACHINES, NULL, 0, "List the ratio on every machine, and those that were left out", 1 },
	{ 0 }
};

struct arguments {
	const char *selectors[2];
	int64_t top;
	bool machines;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPTION_TOP:
		a->top = cli_number(state, "--top", arg, 1, TOP_MAX);
		return 0;
	case OPTION_MACHINES:
		a->machines = true;
		return 0;
	default:
		return cli_words(key, arg, state, a->selectors, 2, "A and B, as APP[@VERSION]");
	}
}

static enum assay_status compare(struct cmd_lab *cmd, const struct evidence *evidence, const struct run_set *runs,
				 const struct arguments *a, int *exit_status)
{
	const struct lab_config *config = &cmd->lab.config;
	struct contributions contributions = { 0 };
	struct verdict verdict = { 0 };
	enum assay_status st = verdict_of(evidence, config, &runs[0], &runs[1], config->min_effect, &verdict, &cmd->err);

	if (!st) {
		contributions_of(evidence, &verdict, 0, &contributions);
		if (cmd->cli.format == CLI_JSON) {
			cJSON *root = verdict_json_compared(&verdict);

			cJSON_AddItemToObject(root, "contributions", contributions_json(&contributions));
			json_add(&cmd->out, root);
		} else {
			verdict_print_compared(&verdict, a->machines, &cmd->out);
			contributions_print(&contributions, (size_t)a->top, &cmd->out);
		}
		*exit_status = verdict.effect.types ? 0 : decision_exit(DECISION_NOTHING_MEASURED);
	}
	contributions_release(&contributions);
	verdict_release(&verdict);
	return st;
}

int cmd_compare(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, "A B", doc, NULL, NULL, NULL };
	struct arguments a = { .top = TOP_DEFAULT };
	struct run_set runs[2] = { 0 };
	struct evidence evidence = { 0 };
	struct cmd_lab cmd;
	enum assay_status st = cmd_lab_open(&cmd, &argp, argc, argv, directory, &a, STORE_READ);
	int exit_status = 0;

	for (int i = 0; !st && i < 2; i++)
		st = evidence_runs(&cmd.lab, a.selectors[i], &runs[i], &cmd.err);
	if (!st)
		st = evidence_load(&cmd.lab, &evidence, &cmd.err);
	if (!st)
		st = compare(&cmd, &evidence, runs, &a, &exit_status);
	evidence_release(&evidence);
	run_set_release(&runs[0]);
	run_set_release(&runs[1]);
	return cmd_lab_end(&cmd, st, exit_status);
}

/* assay compare */
#include "fleet/lab/lab.h"
#include "gate/cmd.h"
#include "gate/cmd_evidence.h"
#include "gate/decide/contributions.h"
#include "gate/decide/verdict.h"

struct arguments {
	const char *selectors[2];
	int64_t top;
	bool machines;
};

static enum assay_status compare_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct contributions contributions = { 0 };
	struct verdict verdict = { 0 };
	struct cmd_evidence e;
	enum assay_status st = cmd_evidence_load(lab, a->selectors, 2, false, &e, err);

	if (!st)
		st = verdict_of(&e.evidence, &lab->config, &e.runs[0], &e.runs[1], lab->config.min_effect, &verdict, err);
	if (!st) {
		contributions_of(&e.evidence, &verdict, 0, &contributions);
		verdict_answer(&verdict, false, a->machines, d);
		contributions_answer(&contributions, (size_t)a->top, d);
		d->exit_status = verdict.effect.types ? 0 : decision_exit(DECISION_NOTHING_MEASURED);
	}
	contributions_release(&contributions);
	verdict_release(&verdict);
	cmd_evidence_release(&e);
	return st;
}

static const struct cli_option words[] = {
	CLI_WORD("A", struct arguments, selectors[0]),
	CLI_WORD("B", struct arguments, selectors[1]),
	CLI_END,
};
static const struct cli_option options[] = {
	CMD_TOP(struct arguments, top, "Show the N groups that changed most (default: 8)"),
	CLI_FLAG("machines", struct arguments, machines, "List the ratio on every machine, and the machines that were left out"),
	CLI_END,
};
static const struct arguments defaults = { .top = 8 };

const struct command compare_command = {
	.name = "compare",
	.summary = "compare the resource use of two versions",
	.about = "Compares how A and B use the machines, and decides nothing: the ratio of costs; whether all of the work changed alike "
		 "(uniform), "
		 "the use of a resource (other_resource), both or neither; how much more or less of the time each group of stressors "
		 "explains, with "
		 "intervals; and the stressors that the ratio is correlated with. A and B are APP[@VERSION].",
	.examples = "  assay compare mysqlslap/innodb_load mysqlslap/memory_load\n"
		    "  assay compare myapp@1.0 myapp@1.1 --top 10\n"
		    "  assay compare myapp@1.0 myapp@1.1 --format json | jq .change.kind\n",
	.exit_status = "0, or 6 when no machine ran both; 1 failure, 2 usage.",
	.words = words,
	.options = options,
	.defaults = &defaults,
	.arguments_bytes = sizeof(struct arguments),
	.lab = CLI_LAB_READ,
	.run = compare_run,
};

/* assay compare */
#include "fleet/lab/lab.h"
#include "gate/commands/gate_commands.h"
#include "gate/commands/cmd_evidence.h"
#include "gate/decide/contributions.h"
#include "gate/decide/verdict.h"
#include "gate/here/here.h"

struct arguments {
	struct cli_list words; /* two selectors, or two commands with "--" in between */
	int64_t top;
	double budget_s;
	bool machines, here, any_status;
};

static enum assay_status compare_stored(struct lab *lab, const struct arguments *a, struct document *d, struct assay_error *err)
{
	struct contributions contributions = { 0 };
	struct verdict verdict = { 0 };
	struct cmd_evidence e;
	enum assay_status st = cmd_evidence_load(lab, (const char *const *)a->words.items, 2, false, &e, err);

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

static enum assay_status compare_run(struct lab *none, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct lab lab = { .lock_fd = -1 };
	enum assay_status st;

	(void)none;
	if (a->here)
		return here_compare((const char *const *)a->words.items, a->words.n,
				    &(struct here_how){ .budget_s = a->budget_s, .progress = !cli_quiet(), .any_status = a->any_status }, d,
				    err);
	st = lab_open(cli_directory(), STORE_READ, &lab, err);
	if (!st)
		st = compare_stored(&lab, a, d, err);
	lab_close(&lab);
	return st;
}

static enum assay_status compare_check(void *arguments, struct assay_error *err)
{
	const struct arguments *a = arguments;

	if (!a->here && a->words.n < 2)
		return assay_fail(err, ASSAY_E_USAGE, "missing argument: two are expected, A and B, or --here -- A -- B");
	if (!a->here && a->words.n > 2)
		return assay_fail(err, ASSAY_E_USAGE, "unexpected argument '%s': commands to compare follow --here --", a->words.items[2]);
	return ASSAY_OK;
}

static const struct cli_option words[] = { CLI_WORDS("A B | --here -- A [ARG] -- B [ARG]", struct arguments, words, 1), CLI_END };
static const struct cli_option options[] = {
	CMD_TOP(struct arguments, top, "Show the N groups that changed most (default: 8)"),
	CLI_FLAG("machines", struct arguments, machines, "List the ratio on every machine, and the machines that were left out"),
	CLI_FLAG("here", struct arguments, here,
		 "Run the two commands that follow --, with another -- between them, in turn on this machine; without a laboratory"),
	HERE_BUDGET(struct arguments, budget_s),
	HERE_ANY_STATUS(struct arguments, any_status),
	CLI_END,
};
static const struct arguments defaults = { .top = 8, .budget_s = HERE_BUDGET_S };

const struct command compare_command = {
	.name = "compare",
	.summary = "compare the resource use of two versions",
	.about = "Compares how A and B use the machines, and decides nothing: the ratio of costs; whether all of the work changed alike "
		 "(uniform), the use of a resource (other_resource), both or neither; how much more or less of the time each group of "
		 "stressors explains, with intervals; and the stressors that the ratio is correlated with. A and B are APP[@VERSION]. With "
		 "--here they are commands: which is slower on this machine, by how much, and what the difference is made of; each "
		 "run reads all of standard input.",
	.examples = "  assay compare mysqlslap/innodb_load mysqlslap/memory_load\n"
		    "  assay compare myapp@1.0 myapp@1.1 --top 10\n"
		    "  assay compare myapp@1.0 myapp@1.1 --format json | jq .change.kind\n"
		    "  assay compare --here -- gzip -1 -k -c words -- zstd -1 -c words\n",
	.exit_status = "0, or 6 when no machine ran both; 1 failure, 2 usage.",
	.words = words,
	.options = options,
	.defaults = &defaults,
	.flags = CLI_PROGRESS,
	.check = compare_check,
	CLI_RUN(struct arguments, CLI_LAB_LATER, compare_run),
};

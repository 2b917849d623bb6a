/* The command assay history. */
#include "base/text.h"
#include "fleet/lab/lab.h"
#include "gate/commands/gate_commands.h"
#include "gate/commands/cmd_evidence.h"
#include "gate/nightly/history.h"

#include <stdlib.h>
#include <string.h>

struct arguments {
	const char *application, *architecture, *by;
	double min_effect; /* 0 selects that of the last decided comparison, or that of the laboratory */
};

static enum history_cost_source choose_cost_source(const struct arguments *a)
{
	return !a->by ? HISTORY_DECIDED : strcmp(a->by, "metric") == 0 ? HISTORY_METRIC : HISTORY_PROCESSOR;
}

static enum assay_status history_check(void *arguments, struct assay_error *err)
{
	const struct arguments *a = arguments;

	if (a->by && strcmp(a->by, "metric") != 0 && strcmp(a->by, "processor") != 0)
		return assay_fail(err, ASSAY_E_USAGE, "--by takes metric or processor, not '%s'", TEXT_SANITIZED(a->by));
	return ASSAY_OK;
}

static enum assay_status history_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct evidence evidence;
	struct history history = { 0 };
	enum assay_status st = evidence_load(lab, &evidence, err);

	if (!st)
		st = history_load(lab, &evidence, a->application, a->architecture, choose_cost_source(a), a->min_effect, INT64_MAX,
				  &history, err);
	if (!st)
		free(history_describe(&history, d));
	history_release(&history);
	evidence_release(&evidence);
	return st;
}

static const struct cli_option words[] = { CLI_ARGUMENT("APP", struct arguments, application), CLI_END };
static const struct cli_option options[] = { CLI_TEXT("architecture", "NAME", struct arguments, architecture,
						      "Use machines of this architecture (default: the one with most results)"),
					     CLI_TEXT(
						 "by", "TIME", struct arguments, by,
						 "Cost to judge: metric (usually the wall-clock time) or processor, the CPU time (default: "
						 "that of the last finding of a night, else of the last decided comparison, else metric)"),
					     CLI_REAL("min-effect", "FRACTION", struct arguments, min_effect, 1e-6, 1,
						      "Smallest change that matters, 0.05 is 5 % (default: that of the last decided "
						      "comparison of a night, else that of lab.yaml, else 0.03)"),
					     CLI_END };

const struct command history_command = {
	.name = "history",
	.summary = "show the cost of an application over versions and nights, and its change points",
	.about = "Shows the cost of APP (or APP/INPUT) from version to version, merged over machines, and its change points: places where "
		 "the level moves by at least the smallest effect that matters. A change may be temporary or on one machine only. A change "
		 "within one version is not caused by the version. A version that a night decided to be slower or faster is a change. A "
		 "single point is a spike, not a change; at the end it may be either, and the answer is 'cannot tell'. Costs that "
		 "alternate between two levels are reported as such. Each change lists the first version after it, the number of machines "
		 "that show it, and the drift of their fingerprints. '--by processor' judges CPU time, which busy machines hardly affect.",
	.examples = "  assay history myapp\n"
		    "  assay history myapp/large --min-effect 0.01 --format html > history.html\n",
	.words = words,
	.options = options,
	.check = history_check,
	CLI_RUN(struct arguments, CLI_LAB_READ, history_run),
};

/* assay history */
#include "fleet/lab/lab.h"
#include "gate/cmd.h"
#include "gate/cmd_evidence.h"
#include "gate/nightly/history.h"

struct arguments {
	const char *application, *architecture;
	double min_effect; /* 0: the laboratory's */
};

static enum assay_status history_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	double min_effect = a->min_effect > 0 ? a->min_effect : lab->config.min_effect;
	struct evidence evidence;
	struct history history = { 0 };
	enum assay_status st = evidence_load(lab, &evidence, err);

	if (!st)
		st = history_load(lab, &evidence, a->application, a->architecture, min_effect, &history, err);
	if (!st)
		history_answer(&history, min_effect, d);
	history_release(&history);
	evidence_release(&evidence);
	return st;
}

static const struct cli_option words[] = { CLI_WORD("APP", struct arguments, application), CLI_END };
static const struct cli_option options[] = { CLI_TEXT("architecture", "NAME", struct arguments, architecture,
						      "Of machines of this architecture, where there are several (default: that of "
						      "most results)"),
					     CMD_MIN_EFFECT(struct arguments, min_effect), CLI_END };

const struct command history_command = {
	.name = "history",
	.summary = "show what an application cost over versions and nights, and where that changed",
	.about = "Shows what APP (or APP/INPUT) has cost over all versions and nights, merged over machines, and the change points: where "
		 "the level "
		 "moved for good, by at least the smallest effect that matters. A single point is a spike, not a change; what goes back "
		 "and forth "
		 "between two levels is said to. Beside each change: the first version behind it, on how many machines it is seen, and how "
		 "their "
		 "fingerprints moved meanwhile.",
	.examples = "  assay history myapp\n"
		    "  assay history myapp/large --min-effect 0.01 --format html > history.html\n",
	.words = words,
	.options = options,
	.arguments_bytes = sizeof(struct arguments),
	.lab = CLI_LAB_READ,
	.run = history_run,
};

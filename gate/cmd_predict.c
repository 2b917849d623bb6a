/* assay predict */
#include "gate/cmd.h"
#include "gate/cmd_evidence.h"
#include "gate/profile/predict.h"

struct arguments {
	const char *selector, *machine;
};

static enum assay_status predict_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct cmd_evidence e;
	enum assay_status st = cmd_evidence_load(lab, &a->selector, 1, true, &e, err);

	if (!st)
		st = predict_answer(&e.evidence, &e.runs[0], a->machine, d, err);
	cmd_evidence_release(&e);
	return st;
}

static const struct cli_option words[] = { CLI_WORD("APP[@VERSION]", struct arguments, selector), CLI_END };
static const struct cli_option options[] = {
	CLI_OPTION(TEXT, "machine", "MACHINE", struct arguments, machine, "A machine of the catalog that has a fingerprint",
		   .required = true),
	CLI_END,
};

const struct command predict_command = {
	.name = "predict",
	.summary = "predict the performance of a version on a machine where it never ran",
	.about = "Predicts the metric of a version on a machine on which it never ran, from the machine's fingerprint and the results on "
		 "others. "
		 "The interval contains the true value in nine of ten cases; its width comes from the errors on hardware types that were "
		 "left out.",
	.examples = "  assay predict miniamr --machine issdm-41\n"
		    "  assay predict stream/add-1@imported --machine scruffy.soe.ucsc.edu --format json\n",
	.words = words,
	.options = options,
	.arguments_bytes = sizeof(struct arguments),
	.lab = CLI_LAB_READ,
	.run = predict_run,
};

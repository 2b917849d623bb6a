/* The command assay report. */
#include "fleet/lab/lab.h"
#include "gate/commands/gate_commands.h"
#include "gate/commands/cmd_evidence.h"
#include "gate/comparison/comparison.h"
#include "gate/report/report.h"

struct arguments {
	const char *selectors[2], *path;
	double min_effect; /* fraction; 0 if not given */
};

/* Adds all members of the comparison to the JSON. Users find them on the page. */
static void report_add_members(const struct comparison *c, struct document *d)
{
	struct document all;
	cJSON *root, *member;

	document_init(&all);
	comparison_describe(c, true, 0, &all);
	root = document_cjson(&all);
	while ((member = cJSON_DetachItemFromArray(root, 0)))
		doc_set_json(d, member->string, member);
	cJSON_Delete(root);
	document_release(&all);
}

static enum assay_status report_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct comparison c = { .last = COMPARISON_VERDICT };
	struct cmd_evidence e;
	enum assay_status st = cmd_evidence_load(lab, a->selectors, 2, false, &e, err);

	if (!st)
		st = comparison_compute(
		    lab,
		    &(struct comparison_request){ .evidence = &e.evidence,
						  .baseline = &e.runs[0],
						  .candidate = &e.runs[1],
						  .min_effect = a->min_effect > 0 ? a->min_effect : lab->config.min_effect,
						  .last = COMPARISON_ALL },
		    &c, err);
	if (!st)
		st = report_write(lab, &e.evidence, &(struct report){ .comparison = &c }, a->path, NULL, err);
	if (!st) {
		enum decision decision = c.verdict.effect.decision;

		doc_answer(d, decision_tone(decision), decision_text(decision), "%s@%s -> %s@%s: the page is %s", e.runs[0].application,
			   e.runs[0].version, e.runs[1].application, e.runs[1].version, a->path);
		doc_set(d, "file", a->path);
		report_add_members(&c, d);
	}
	comparison_release(&c);
	cmd_evidence_release(&e);
	return st;
}

static const struct cli_option words[] = {
	CLI_ARGUMENT("BASELINE", struct arguments, selectors[0]),
	CLI_ARGUMENT("CANDIDATE", struct arguments, selectors[1]),
	CLI_END,
};
static const struct cli_option options[] = {
	CLI_OPTION(TEXT, "output", "FILE", struct arguments, path, "Output file; an existing file is replaced (required)", .letter = 'o',
		   .required = true),
	CMD_MIN_EFFECT(struct arguments, min_effect),
	CLI_END,
};

const struct command report_command = {
	.name = "report",
	.summary = "write the decision and its evidence as an HTML page",
	.about = "Writes one HTML page about two versions of an application: the decision and its evidence, the parts of the difference, "
		 "the ratio on each machine, changed functions, the machines' conditions and fingerprints, and exclusions with their "
		 "reasons. The page is one file and loads nothing else.",
	.examples = "  assay report myapp@1.0 myapp@1.1 -o report.html\n",
	.exit_status = "0 if the page was written, whatever the decision; 'assay gate' reports the decision by its exit status.",
	.words = words,
	.options = options,
	CLI_RUN(struct arguments, CLI_LAB_READ, report_run),
};

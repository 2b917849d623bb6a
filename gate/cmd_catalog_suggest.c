/* assay catalog suggest */
#include "gate/cmd.h"
#include "gate/cmd_evidence.h"
#include "gate/profile/suggest.h"

struct arguments {
	const char *selector;
	int64_t top;
};

static enum assay_status catalog_suggest_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct cmd_evidence e;
	enum assay_status st = cmd_evidence_load(lab, &a->selector, 1, true, &e, err);

	if (!st && !e.runs[0].n)
		st = assay_fail(err, ASSAY_E_NODATA, "no result of '%s@%s' counts yet: run it with 'assay run'", e.runs[0].application,
				e.runs[0].version);
	if (!st)
		suggest_answer(&e.evidence, &e.runs[0], (size_t)a->top, d);
	cmd_evidence_release(&e);
	return st;
}

static const struct cli_option words[] = { CLI_WORD("APP[@VERSION]", struct arguments, selector), CLI_END };
static const struct cli_option options[] = {
	CMD_TOP(struct arguments, top, "Show the N most useful hardware types (default: 10)"),
	CLI_END,
};
static const struct arguments defaults = { .top = 10 };

const struct command catalog_suggest_command = {
	.name = "catalog suggest",
	.summary = "suggest the machine that would sharpen a profile most",
	.about =
	    "Suggests which machine of the catalog, on which an application has not run, would sharpen its profile most, and by how much; "
	    "and which kind of machine would, if there were one.",
	.examples = "  assay catalog suggest hpccg\n"
		    "  assay catalog suggest stream/add-1@imported --top 3 --format json\n",
	.words = words,
	.options = options,
	.defaults = &defaults,
	.arguments_bytes = sizeof(struct arguments),
	.lab = CLI_LAB_READ,
	.run = catalog_suggest_run,
};

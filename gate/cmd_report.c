/* assay report */
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/lab/lab.h"
#include "gate/cmd.h"
#include "gate/cmd_evidence.h"
#include "gate/published/paper_bars.h"
#include "gate/report/report.h"
#include "runs/running/execution.h"

enum { MODEL_TIME, MODEL_PAPER };

struct arguments {
	const char *selectors[2], *path;
	double min_effect; /* 0: not given */
	int model;
};

/* ---- what is left out ---- */

/* Runs that failed of the build that counts: those that the decision is about. */
static enum assay_status omit_failures(struct store *store, const struct run_set *runs, struct omissions *list, struct assay_error *err)
{
	struct execution_rows rows = { 0 };
	enum assay_status st = execution_failures(store, runs->application, runs->version, false, &rows, err);
	char *rest = mem_format(" of %s@%s", runs->application, runs->version);

	for (int outcome = 0; !st && outcome < EXECUTION_OUTCOMES; outcome++) {
		for (size_t i = 0; i < rows.n; i++) {
			const struct execution_row *row = &rows.items[i];

			if (row->outcome == (enum execution_outcome)outcome && run_set_counts(runs, row->machine, row->plan))
				omissions_one(list, execution_outcome_text(row->outcome), "run", rest, "%s, repetition %lld%s%s",
					      row->machine, (long long)row->repetition, *row->detail ? ": " : "", row->detail);
		}
	}
	free(rest);
	execution_rows_release(&rows);
	return st;
}

/* Executions that have samples, of a build whose results do not count. */
static void omit_samples(const struct function_evidence *functions, struct omissions *list)
{
	for (int i = 0; i < 2; i++)
		if (functions->there && functions->sides[i].others)
			omissions_add(list, "of another build than that of its results", "Samples of %zu run%s of %s",
				      functions->sides[i].others, text_plural(functions->sides[i].others), functions->sides[i].what);
}

/* ---- the page ---- */

static enum assay_status report_write(struct lab *lab, const struct cmd_evidence *e, const struct verdict *verdict,
				      const struct arguments *a, struct assay_error *err)
{
	struct omissions omissions = { 0 };
	struct contributions contributions = { 0 };
	struct function_evidence functions;
	struct likeness likeness;
	struct page_profile profiles[2];
	struct buf page = BUF_INIT;
	struct report report = { .evidence = &e->evidence,
				 .config = &lab->config,
				 .verdict = verdict,
				 .omissions = &omissions,
				 .contributions = &contributions,
				 .functions = &functions,
				 .likeness = &likeness,
				 .profiles = profiles };
	enum assay_status st = ASSAY_OK;

	contributions_of(&e->evidence, verdict, 0, &contributions);
	function_evidence_of(lab, &e->runs[0], &e->runs[1], true, &functions);
	likeness_of(lab, &e->evidence, verdict, &contributions, &functions, &likeness);
	for (int i = 0; i < 2; i++) {
		if (a->model == MODEL_PAPER)
			paper_bars_of(&e->evidence, &e->runs[i], &profiles[i], &omissions);
		else
			page_profile_of(&e->evidence, &e->runs[i], ", in its profile only", &profiles[i], &omissions);
	}
	for (int i = 0; i < 2; i++)
		omissions_other_builds(&omissions, &e->runs[i]);
	omit_samples(&functions, &omissions);
	for (int i = 0; !st && i < 2; i++)
		st = omit_failures(&lab->store, &e->runs[i], &omissions, err);
	if (!st) {
		report_page(&report, &page);
		st = file_replace(a->path, page.bytes, page.size, 0644, err);
	}
	for (int i = 0; i < 2; i++)
		page_profile_release(&profiles[i]);
	likeness_release(&likeness);
	function_evidence_release(&functions);
	contributions_release(&contributions);
	omissions_release(&omissions);
	buf_release(&page);
	return st;
}

static enum assay_status report_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	double min_effect = a->min_effect > 0 ? a->min_effect : lab->config.min_effect;
	struct verdict verdict = { 0 };
	struct cmd_evidence e;
	enum assay_status st = cmd_evidence_load(lab, a->selectors, 2, false, &e, err);

	if (!st)
		st = verdict_of(&e.evidence, &lab->config, &e.runs[0], &e.runs[1], min_effect, &verdict, err);
	if (!st)
		st = report_write(lab, &e, &verdict, a, err);
	if (!st) {
		enum decision decision = verdict.effect.decision;

		doc_set(d, "decision", decision_text(decision));
		doc_set(d, "file", a->path);
		doc_answer(d, decision_tone(decision), decision_text(decision), "%s@%s -> %s@%s: the page is %s", e.runs[0].application,
			   e.runs[0].version, e.runs[1].application, e.runs[1].version, a->path);
	}
	verdict_release(&verdict);
	cmd_evidence_release(&e);
	return st;
}

static const char *const models[] = { [MODEL_TIME] = "time", [MODEL_PAPER] = "paper", NULL };
static const struct cli_option words[] = {
	CLI_WORD("BASELINE", struct arguments, selectors[0]),
	CLI_WORD("CANDIDATE", struct arguments, selectors[1]),
	CLI_END,
};
static const struct cli_option options[] = {
	CLI_OPTION(TEXT, "output", "FILE", struct arguments, path, "The page, replaced as a whole (required)", .letter = 'o',
		   .required = true),
	CMD_MIN_EFFECT(struct arguments, min_effect),
	CLI_CHOICE("model", models, struct arguments, model, "Of the profiles: time (the default) or paper ('assay profile --help')"),
	CLI_END,
};

const struct command report_command = {
	.name = "report",
	.summary = "write the decision and what it rests on as an HTML page",
	.about =
	    "Writes one HTML page about two versions of an application: the decision and what it rests on, the ratio on each machine, what "
	    "each "
	    "version stresses, the machines' fingerprints and conditions, and what was left out and why. The page is one file and loads "
	    "nothing.",
	.examples = "  assay report myapp@1.0 myapp@1.1 -o report.html\n",
	.exit_status = "0 when the page was written, whatever the decision; 'assay gate' decides by its exit status.",
	.words = words,
	.options = options,
	.arguments_bytes = sizeof(struct arguments),
	.lab = CLI_LAB_READ,
	.run = report_run,
};

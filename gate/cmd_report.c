#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/cmd_lab.h"
#include "gate/cmd.h"
#include "gate/cmd_parse.h"
#include "gate/report/report.h"
#include "gate/report/report_paper.h"
#include "gate/report/report_time.h"
#include "runs/running/execution.h"

static const char doc[] = "Writes one HTML page about two versions of an application: the decision and what it rests on, the ratio "
			  "on each machine, what each version stresses, the machines' fingerprints and conditions, and what was left "
			  "out and why. The page is one file and loads nothing.\vExample:\n"
			  "  assay report myapp@1.0 myapp@1.1 -o report.html\n"
			  "\n"
			  "The exit status is 0 when the page was written, whatever the decision; 'assay gate' decides by its exit "
			  "status.";

enum { OPTION_MIN_EFFECT = 256, OPTION_MODEL };

static const struct argp_option options[] = { { "output", 'o', "FILE", 0, "The page, replaced as a whole (needed)", 1 },
					      { "min-effect", OPTION_MIN_EFFECT, "FRACTION", 0,
						"The smallest slowdown that matters to you (default: that of lab.yaml, else 0.03)",
						1 },
					      { "model", OPTION_MODEL, "NAME", 0,
						"Of the profiles: time (the default) or paper ('assay profile --help')", 1 },
					      { 0 } };

struct arguments {
	const char *selectors[2], *path;
	double min_effect; /* 0: not given */
	bool paper;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'o':
		if (!*arg)
			cli_refuse(state, "the file behind -o is empty");
		a->path = arg;
		return 0;
	case OPTION_MIN_EFFECT:
		a->min_effect = cmd_parse_min_effect(arg, state);
		return 0;
	case OPTION_MODEL:
		a->paper = cmd_parse_is_paper(arg, state);
		return 0;
	case ARGP_KEY_SUCCESS:
		if (!a->path)
			cli_refuse(state, "-o FILE is needed: where to write the page");
		return 0;
	default:
		return cli_words(key, arg, state, a->selectors, 2, "BASELINE and CANDIDATE, as APP[@VERSION]");
	}
}

/* Those that failed in one way, with the machines and repetitions. */
static void omit_outcome(const struct execution_rows *rows, enum execution_outcome outcome, const struct run_set *runs, struct report_omissions *list)
{
	struct report_omission *omission = NULL;

	for (size_t i = 0; i < rows->n; i++) {
		const struct execution_row *row = &rows->items[i];

		if (row->outcome != outcome || !run_set_counts(runs, row->machine, row->plan))
			continue;
		if (!omission)
			omission = report_omit(list, execution_outcome_text(outcome), " ");
		report_omission_name(omission, "%s, repetition %lld%s%s", row->machine, (long long)row->repetition, *row->detail ? ": " : "", row->detail);
	}
	if (omission) {
		free(omission->what);
		omission->what = mem_format("%zu run%s of %s@%s", omission->n, text_plural(omission->n), runs->application, runs->version);
	}
}

/* Runs that failed of the build that counts: those of which the decision speaks. */
static enum assay_status omit_failures(struct store *store, const struct run_set *runs, struct report_omissions *list, struct assay_error *err)
{
	struct execution_rows rows = { 0 };
	enum assay_status st = execution_failures(store, runs->application, runs->version, false, &rows, err);

	for (int outcome = 0; !st && outcome < EXECUTION_OUTCOMES; outcome++)
		omit_outcome(&rows, (enum execution_outcome)outcome, runs, list);
	execution_rows_release(&rows);
	return st;
}

/* Of a build whose results do not count, executions that have samples. */
static void omit_samples(const struct function_evidence *functions, struct report_omissions *list)
{
	for (int i = 0; i < 2; i++)
		if (functions->there && functions->sides[i].others)
			report_omit(list, "of another build than that of its results", "Samples of %zu run%s of %s", functions->sides[i].others,
				    text_plural(functions->sides[i].others), functions->sides[i].what);
}

static enum assay_status write_page(struct lab *lab, const struct evidence *evidence, const struct verdict *verdict, const struct arguments *a,
				    struct assay_error *err)
{
	const struct run_set *runs[2] = { verdict->baseline, verdict->candidate };
	struct report_omissions omissions = { 0 };
	struct contributions contributions = { 0 };
	struct function_evidence functions;
	struct likeness likeness;
	struct report_paper papers[2] = { 0 };
	struct report_time times[2] = { 0 };
	struct buf page = BUF_INIT;
	struct report report = { .evidence = evidence, .config = &lab->config, .verdict = verdict, .omissions = &omissions,
				 .contributions = &contributions, .functions = &functions, .likeness = &likeness };
	enum assay_status st = ASSAY_OK;

	contributions_of(evidence, verdict, 0, &contributions);
	function_evidence_of(lab, runs[0], runs[1], true, &functions);
	likeness_of(lab, evidence, verdict, &contributions, &functions, &likeness);
	for (int i = 0; i < 2; i++) {
		if (a->paper)
			report_paper_of(evidence, runs[i], &papers[i], &report.profiles[i], &omissions);
		else
			report_time_of(evidence, runs[i], &times[i], &report.profiles[i], &omissions);
	}
	for (int i = 0; i < 2; i++)
		report_omit_others(&omissions, runs[i]);
	omit_samples(&functions, &omissions);
	for (int i = 0; !st && i < 2; i++)
		st = omit_failures(&lab->store, runs[i], &omissions, err);
	if (!st) {
		report_page(&report, &page);
		st = file_replace(a->path, page.bytes, page.size, 0644, err);
	}
	for (int i = 0; i < 2; i++) {
		report_paper_release(&papers[i]);
		report_time_release(&times[i]);
	}
	likeness_release(&likeness);
	function_evidence_release(&functions);
	contributions_release(&contributions);
	report_omissions_release(&omissions);
	buf_release(&page);
	return st;
}

static void say(const struct verdict *v, const char *path, enum cli_format_old format, struct buf *out)
{
	const char *decision = decision_text(v->effect.decision);

	if (format == CLI_JSON) {
		cJSON *root = cJSON_CreateObject();

		cJSON_AddStringToObject(root, "decision", decision);
		cJSON_AddStringToObject(root, "file", path);
		json_add(out, root);
	} else {
		buf_format(out, "%s  %s@%s -> %s@%s: the page is %s\n", decision, v->baseline->application, v->baseline->version,
			   v->candidate->application, v->candidate->version, path);
	}
}

int cmd_report(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, "BASELINE CANDIDATE", doc, NULL, NULL, NULL };
	struct run_set runs[2] = { 0 };
	struct evidence evidence = { 0 };
	struct verdict verdict = { 0 };
	struct arguments a = { 0 };
	struct cmd_lab cmd;
	enum assay_status st = cmd_lab_open(&cmd, &argp, argc, argv, directory, &a, STORE_READ);

	for (int i = 0; !st && i < 2; i++)
		st = evidence_runs(&cmd.lab, a.selectors[i], &runs[i], &cmd.err);
	if (!st)
		st = evidence_load(&cmd.lab, &evidence, &cmd.err);
	if (!st)
		st = verdict_of(&evidence, &cmd.lab.config, &runs[0], &runs[1],
				a.min_effect > 0 ? a.min_effect : cmd.lab.config.min_effect, &verdict, &cmd.err);
	if (!st)
		st = write_page(&cmd.lab, &evidence, &verdict, &a, &cmd.err);
	if (!st)
		say(&verdict, a.path, cmd.cli.format, &cmd.out);
	verdict_release(&verdict);
	evidence_release(&evidence);
	run_set_release(&runs[0]);
	run_set_release(&runs[1]);
	return cmd_lab_end(&cmd, st, 0);
}

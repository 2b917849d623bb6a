/* The commands assay nightly run, assay nightly show and assay nightly pages. */
#include "base/cancel.h"
#include "base/text.h"
#include "fleet/engine/host_choice.h"
#include "fleet/lab/lab.h"
#include "gate/commands/cmd_evidence.h"
#include "gate/commands/gate_commands.h"
#include "gate/nightly/night_answer.h"
#include "gate/nightly/nightly.h"
#include "runs/commands/cmd_run.h"

struct arguments {
	const char *night;
	struct cli_list applications, fail_on;
	const char *directory; /* output directory of the pages */
	double budget_s;       /* seconds; 0 to use the budget in suite.yaml */
	char *exclude;	       /* expression that selects the hosts to exclude; NULL if not given */
	bool start_new, dry_run, list;
	unsigned failures; /* `fail_on` as bits of enum night_failure */
};

static enum assay_status nightly_check(void *arguments, struct assay_error *err)
{
	struct arguments *a = arguments;

	if (a->list && (a->night || a->fail_on.n))
		return assay_fail(err, ASSAY_E_USAGE, "--list cannot be combined with NIGHT or --fail-on");
	return cmd_parse_fail_on(&a->fail_on, &a->failures, err);
}

static enum assay_status describe_night(struct lab *lab, const struct arguments *a, const char *id, struct document *d,
					struct assay_error *err)
{
	struct night night;
	enum assay_status st = night_find(&lab->store, id, &night, err);

	if (st)
		return st;
	st = night_describe(&lab->store, &night, a->failures, d, err);
	night_release(&night);
	return st;
}

static void note(const char *text)
{
	cli_note("%s", text);
}

static enum assay_status nightly_command_run(struct lab *none, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	const struct nightly_options options = { .directory = cli_directory(),
						 .command = cli_command_name(),
						 .selected_applications = { a->applications.items, a->applications.n },
						 .budget_s = a->budget_s,
						 .exclude = a->exclude,
						 .start_new = a->start_new,
						 .dry_run = a->dry_run,
						 .cancelled = &cmd_run_cancelled,
						 .watch = cmd_run_set_callbacks,
						 .note = note };
	struct lab lab = { .lock_fd = -1 };
	char id[DIGEST_ID_BYTES] = "";
	enum assay_status st;

	(void)none;
	cancel_on_signals(&cmd_run_cancelled);
	if (a->dry_run)
		return nightly_describe_plan(&options, d, err);
	st = nightly_run(&options, id, err);
	if (!st)
		st = lab_open(cli_directory(), STORE_READ, &lab, err);
	if (!st)
		st = describe_night(&lab, a, id, d, err);
	lab_close(&lab);
	return st;
}

static const struct cli_option nightly_options[] = {
	CLI_NAMES("applications", "A,B", struct arguments, applications, "Measure only these applications of the suite: names or patterns"),
	CLI_DURATION(
	    "budget", struct arguments, budget_s,
	    "Time for each comparison: 90s, 20m or 2h (default: that of suite.yaml); after it each host finishes at most four runs of "
	    "each version"),
	CLI_OPTION(PARSED, "exclude", "HOSTS", struct arguments, exclude,
		   "Start a night without these hosts: names, ranges, @groups and types", .letter = 'x', .parse = host_choice_parse,
		   .owned = true),
	CLI_FLAG("anew", struct arguments, start_new,
		 "End an interrupted night with the results that it has, and start a new one with the present suite.yaml"),
	CLI_FLAG("dry-run", struct arguments, dry_run,
		 "Show the planned comparisons, the number of hosts and the expected time; run and write nothing"),
	CMD_FAIL_ON(struct arguments, fail_on),
	CLI_END,
};

#define EXIT_STATUS                                                                                                                        \
	"The worst of 3 regression, 6 nothing measured or not reached, 5 environment, 4 inconclusive, 7 hosts were lost; 0 if there is "   \
	"none; 1 failure, or pages that cannot be written, 2 usage."

const struct command nightly_run_command = {
	.name = "nightly run",
	.summary = "measure and decide all comparisons of suite.yaml",
	.about =
	    "Runs a night: takes missing or old fingerprints, builds versions from git, and runs the comparisons of suite.yaml in "
	    "interleaved blocks until each is decided or its budget ends. Confirms findings by new runs beside a control, and stores a "
	    "decision for each comparison. A killed night continues with the next 'assay nightly run', unless '--anew' ends it. Only one "
	    "night runs at a time. At its deadline it ends with the results that it has, and lists the comparisons that it did not reach.",
	.examples = "  assay nightly run --dry-run\n"
		    "  assay nightly run\n"
		    "  assay nightly run -x node07,@slow\n"
		    "  assay nightly run --applications 'sql*' --budget 5m --fail-on regression\n"
		    "  assay nightly run --format junit -o night.xml\n",
	.exit_status = EXIT_STATUS,
	.options = nightly_options,
	.flags = CLI_PROGRESS | CLI_DECISIONS,
	.check = nightly_check,
	CLI_RUN(struct arguments, CLI_LAB_DEFERRED, nightly_command_run),
};

static enum assay_status list(struct lab *lab, struct document *d, struct assay_error *err)
{
	struct night *nights = NULL;
	size_t n = 0;
	enum assay_status st = night_list(&lab->store, &nights, &n, err);

	if (!st && !n)
		doc_line(d, "No nights yet: 'assay nightly run' starts one.");
	doc_table(d, "nights");
	for (size_t i = 0; i < n; i++) {
		doc_row(d);
		doc_show(d, "night", "night", nights[i].id);
		doc_set(d, "started_ms", nights[i].started_ms);
		doc_set(d, "finished_ms", nights[i].finished_ms ? doc_value_integer(nights[i].finished_ms) : DOC_NULL_VALUE);
		doc_show(d, NULL, "began", TEXT_DATE(nights[i].started_ms / 1000 * 1000));
		doc_show(d, NULL, "state", nights[i].finished_ms ? "ended" : "running or interrupted");
		doc_set(d, "exit_status", nights[i].finished_ms ? doc_value_integer(nights[i].exit_status) : DOC_NULL_VALUE);
		doc_show(d, NULL, "status", nights[i].finished_ms ? doc_value_integer(nights[i].exit_status) : DOC_NULL_VALUE);
	}
	doc_end(d);
	night_list_free(nights, n);
	return st;
}

static enum assay_status show_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;

	return a->list ? list(lab, d, err) : describe_night(lab, a, a->night, d, err);
}

static const struct cli_option show_words[] = { CLI_OPTIONAL_ARGUMENT("NIGHT", struct arguments, night), CLI_END };
static const struct cli_option show_options[] = {
	CLI_FLAG("list", struct arguments, list, "List all nights instead, latest first"),
	CMD_FAIL_ON(struct arguments, fail_on),
	CLI_END,
};

const struct command nightly_show_command = {
	.name = "nightly show",
	.summary = "show the decisions of a night, worst first",
	.about = "Shows the decisions of a night, given by its id or the start of its id (default: the latest night).",
	.examples = "  assay nightly show\n"
		    "  assay nightly show 1a2b3c --format markdown\n"
		    "  assay nightly show --list\n",
	.exit_status = EXIT_STATUS,
	.words = show_words,
	.options = show_options,
	.flags = CLI_DECISIONS,
	.check = nightly_check,
	CLI_RUN(struct arguments, CLI_LAB_READ, show_run),
};

static enum assay_status pages_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct night night;
	size_t n = 0;
	enum assay_status st = night_find(&lab->store, a->night, &night, err);

	if (st)
		return st;
	st = night_write_pages(lab, &night, a->directory, &n, err);
	if (!st) {
		doc_line(d, "%zu page%s in %s; the first page is night-%s.html, and index.html shows the latest night.", n, text_plural(n),
			 a->directory, night.id);
		doc_set(d, "night", night.id);
		doc_set(d, "directory", a->directory);
		doc_set(d, "pages", n);
	}
	night_release(&night);
	return st;
}

static const struct cli_option pages_options[] = {
	CLI_OPTION(TEXT, "output", "DIR", struct arguments, directory, "Output folder, created if missing (required)", .letter = 'o',
		   .required = true),
	CLI_END,
};

const struct command nightly_pages_command = {
	.name = "nightly pages",
	.summary = "write the pages of a night: applications, machines, reports, histories",
	.about = "Writes a folder of HTML pages about a night (default: the latest): applications and machines, worst first; the report of "
		 "each decision, with the functions that changed; the history of each application. The pages load nothing else. With "
		 "'pages: DIR' in suite.yaml each night writes its own pages.",
	.examples = "  assay nightly pages -o pages\n",
	.words = show_words,
	.options = pages_options,
	CLI_RUN(struct arguments, CLI_LAB_READ, pages_run),
};

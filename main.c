/* Defines the tables of the sub-commands, of other names that users may type for them, and of output formats. */
#include "base/command.h"
#include "base/mem.h"
#include "fingerprint/commands/fingerprint_commands.h"
#include "fleet/commands/fleet_commands.h"
#include "fleet/lab/lab.h"
#include "gate/commands/gate_commands.h"
#include "gate/page/document_html.h"
#include "gate/render/render.h"
#include "runs/commands/runs_commands.h"
#include "runs/inside/variants/compiler_wrapper.h"

/* clang-format off */
#define HEADING(text) &(const struct command){ .name = text }
/* clang-format on */
static const struct command *const commands[] = {
	HEADING("On this machine, without a laboratory"),
	&stat_command,
	&diff_command,
	&record_command,
	&timeline_command,
	&build_command,
	&changes_command,
	&detect_command,
	&inspect_command,
	&counters_command,
	HEADING("The laboratory"),
	&init_command,
	&check_command,
	&backup_command,
	&prune_command,
	HEADING("Machines"),
	&host_list_command,
	&host_show_command,
	&host_check_command,
	&host_measure_command,
	&host_drift_command,
	&host_accept_command,
	&host_trust_command,
	&host_import_command,
	&host_exec_command,
	&host_copy_command,
	&host_up_command,
	&host_down_command,
	&host_rename_command,
	&host_retire_command,
	HEADING("Versions"),
	&run_command,
	&result_list_command,
	&result_show_command,
	&result_export_command,
	&result_import_command,
	&profile_command,
	&predict_command,
	&gate_command,
	&report_command,
	&explain_command,
	&verify_command,
	&history_command,
	&bisect_command,
	&baseline_accept_command,
	&baseline_list_command,
	&nightly_run_command,
	&nightly_show_command,
	&nightly_pages_command,
	&calibrate_command,
	&cost_train_command,
	&cost_explain_command,
	&suggest_command,
	HEADING("assay itself"),
	&help_command,
};

static const struct renamed renamed[] = {
	{ "catalog accept-drift", "host accept" },
	{ "catalog check", "check" },
	{ "catalog drift", "host drift" },
	{ "catalog list", "host list" },
	{ "catalog rename", "host rename" },
	{ "catalog retire", "host retire" },
	{ "catalog show", "host show" },
	{ "catalog suggest", "suggest" },
	{ "catalog types", "host list --types" },
	{ "catalog", "host" },
	{ "compare", "diff" },
	{ "completion", "help --completion" },
	{ "cost predict", "predict" },
	{ "doctor", "inspect" },
	{ "drift", "host drift" },
	{ "emulate run", "record --for counters" },
	{ "explore", "host list --format html" },
	{ "features run", "record --for features" },
	{ "features show", "inspect" },
	{ "fingerprint diff", "host show" },
	{ "fingerprint run", "host measure" },
	{ "fingerprint show", "host show --passes" },
	{ "fingerprint", "host" },
	{ "fleet get", "host copy --fetch" },
	{ "fleet put", "host copy" },
	{ "fleet", "host" },
	{ "host delete", "host retire" },
	{ "host remove", "host retire" },
	{ "hosts", "host list" },
	{ "import machines", "host import" },
	{ "import results", "result import" },
	{ "machines", "host list" },
	{ "manual", "help --man" },
	{ "nightly list", "nightly show --list" },
	{ "probe", "record --for functions" },
	{ "profile --here", "stat" },
	{ "runs", "result" },
	{ "samples", "inspect" },
	{ "variance record", "record" },
	{ "variance", "timeline" },
	{ "version", "--version" },
	{ NULL, NULL },
};

static const char *const formats[] = { "human", "json", "html", NULL };
static const char *const decision_formats[] = { "human",  "json",	 "html",    "markdown",		"junit",
						"github", "openmetrics", "bencher", "google-benchmark", NULL };
static doc_renderer *const renderers[] = { document_human, document_json,      document_html,  render_markdown,	       render_junit,
					   render_github,  render_openmetrics, render_bencher, render_google_benchmark };

static enum assay_status open_lab(const char *directory, bool write, const char *command, struct lab **out, struct assay_error *err)
{
	struct lab *lab = mem_new(1, sizeof(*lab));
	enum assay_status st = lab_open(directory, write ? STORE_WRITE : STORE_READ, lab, err);

	*out = lab; /* set also after a failure, because close_lab() must get it */
	if (!st)
		lab_record_command(lab, command);
	if (!st && lab->permissions_tightened)
		cli_note("note: '%s/.assay' could be read by other users, and is its owner's alone from now on", directory);
	return st;
}

static void close_lab(struct lab *lab)
{
	lab_close(lab);
	free(lab);
}

int main(int argc, char **argv)
{
	static const struct program program = {
		.commands = commands,
		.n = sizeof(commands) / sizeof(commands[0]),
		.renamed = renamed,
		.formats = formats,
		.decision_formats = decision_formats,
		.renderers = renderers,
		.lab_open = open_lab,
		.lab_close = close_lab,
	};

	if (compiler_wrapper_is_called(argv[0]))
		return build_run_compiler(argc, argv);
	return dispatch_main(&program, argc, argv);
}

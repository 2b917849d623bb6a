/* The tables of sub-commands and of formats. */
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
	HEADING("The laboratory and its hosts"),
	&init_command,
	&backup_command,
	&fleet_up_command,
	&fleet_down_command,
	&fleet_list_command,
	&fleet_import_command,
	&fleet_trust_command,
	&fleet_check_command,
	&fleet_put_command,
	&fleet_get_command,
	&fleet_exec_command,
	HEADING("What the machines are"),
	&fingerprint_run_command,
	&fingerprint_show_command,
	&fingerprint_diff_command,
	&catalog_list_command,
	&catalog_show_command,
	&catalog_types_command,
	&catalog_check_command,
	&catalog_drift_command,
	&catalog_accept_drift_command,
	&catalog_rename_command,
	&catalog_retire_command,
	&explore_command,
	HEADING("What applications do on them"),
	&run_command,
	&runs_list_command,
	&runs_show_command,
	&runs_export_command,
	&prune_command,
	&import_machines_command,
	&import_results_command,
	HEADING("What versions stress, and whether one is slower"),
	&profile_command,
	&predict_command,
	&catalog_suggest_command,
	&gate_command,
	&compare_command,
	&report_command,
	&nightly_list_command,
	&nightly_show_command,
	&nightly_pages_command,
	&nightly_command,
	&explain_command,
	&verify_command,
	&history_command,
	&bisect_command,
	&calibrate_command,
	&cost_train_command,
	&cost_predict_command,
	&cost_explain_command,
	&baseline_accept_command,
	&baseline_list_command,
	HEADING("Why: what happens in functions"),
	&changes_command,
	&doctor_command,
	&counters_command,
	&build_command,
	&probe_command,
	&emulate_run_command,
	&features_run_command,
	&features_show_command,
	&variance_record_command,
	&samples_command,
	&detect_command,
	HEADING("Where and when a run was slow"),
	&variance_show_command,
	HEADING("assay itself"),
	&completion_command,
	&manual_command,
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

	*out = lab; /* also closed after a failure */
	if (!st)
		lab_sign(lab, command);
	if (!st && lab->tightened)
		cli_remark("note: '%s/.assay' could be read by other users, and is its owner's alone from now on", directory);
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
		.formats = formats,
		.decision_formats = decision_formats,
		.renderers = renderers,
		.lab_open = open_lab,
		.lab_close = close_lab,
	};

	if (compiler_wrapper_is_called(argv[0]))
		return build_as_compiler(argc, argv);
	return dispatch_main(&program, argc, argv);
}

/* The table of sub-commands, and nothing else. */
#include "base/cli.h"
#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/cmd.h"
#include "fleet/cmd.h"
#include "gate/cmd.h"
#include "runs/cmd.h"

static const struct cli_row rows[] = {
	{ "The laboratory and its hosts", NULL, NULL },
	{ "init", "make a laboratory directory", cmd_init },
	{ "fleet up", "emulated hosts on this machine, to try everything on", cmd_fleet_up },
	{ "fleet down", "end them", cmd_fleet_down },
	{ "fleet list", "the hosts of lab.yaml, ranges expanded", cmd_fleet_list },
	{ "fleet trust", "record the keys of hosts, on purpose", cmd_fleet_trust },
	{ "fleet check", "can the hosts be reached, and are they fit to be measured?", cmd_fleet_check },
	{ "fleet put", "copy a file to many hosts", cmd_fleet_put },
	{ "fleet get", "copy a file of many hosts into a directory here", cmd_fleet_get },
	{ "fleet exec", "run a command on many hosts at once", cmd_fleet_exec },
	{ "What the machines are", NULL, NULL },
	{ "fingerprint run", "measure machines with a battery of stressors", cmd_fingerprint_run },
	{ "fingerprint show", "all fingerprints, or one with every pass", cmd_fingerprint_show },
	{ "fingerprint diff", "by which stressors do two fingerprints differ?", cmd_fingerprint_diff },
	{ "catalog list", "machines, their fingerprints and hardware types", cmd_catalog_list },
	{ "catalog show", "one machine: identity, conditions, rates", cmd_catalog_show },
	{ "catalog types", "hardware types with their members, and why", cmd_catalog_types },
	{ "catalog check", "every file valid, no identity twice, database whole", cmd_catalog_check },
	{ "catalog drift", "machines that changed, or differ from others of their type", cmd_catalog_drift },
	{ "catalog accept-drift", "take what a machine is now for its new normal", cmd_catalog_accept_drift },
	{ "catalog rename", "give a machine another name", cmd_catalog_rename },
	{ "catalog retire", "a machine that is in use no more", cmd_catalog_retire },
	{ "explore", "the machines in pictures, as one HTML page", cmd_explore },
	{ "What applications do on them", NULL, NULL },
	{ "run", "run versions of an application on the machines", cmd_run },
	{ "runs list", "applications and versions that have results", cmd_runs_list },
	{ "runs show", "results of one application, by machine", cmd_runs_show },
	{ "runs export", "all rates and results as a table", cmd_runs_export },
	{ "import quiho", "bring in recorded machines and results", cmd_import_quiho },
	{ "What versions stress, and whether one is slower", NULL, NULL },
	{ "profile", "what does this version stress?", cmd_profile },
	{ "predict", "how fast would it be on a machine where it never ran?", cmd_predict },
	{ "catalog suggest", "which machine would sharpen a profile most?", cmd_catalog_suggest },
	{ "gate", "is the candidate slower than the baseline?", cmd_gate },
	{ "compare", "how does the use of resources differ between two versions?", cmd_compare },
	{ "report", "the decision and what it rests on, as one HTML page", cmd_report },
	{ "evaluate", "how often is the gate right, on pairs of which you know?", cmd_evaluate },
	{ "Why: what happens in functions", NULL, NULL },
	{ "changes", "which functions changed between two builds?", cmd_changes },
	{ "doctor", "can the functions of this program be probed?", cmd_doctor },
	{ "counters", "what can this machine count, and in how many runs?", cmd_counters },
	{ "probe", "run a program and measure calls of selected functions", cmd_probe },
	{ "emulate build", "compile a program so that it counts in an emulation", cmd_emulate_build },
	{ "emulate run", "run such a program and keep what it counted", cmd_emulate_run },
	{ "samples prune", "remove files of samples that are old", cmd_samples_prune },
	{ "samples", "what do files of samples say?", cmd_samples },
	{ "detect", "which functions behave otherwise than before, and why?", cmd_detect },
	{ "model train", "learn from samples what is normal, and keep it", cmd_model_train },
	{ "model show", "where does a kept model come from, and what does it know?", cmd_model_show },
};

int main(int argc, char **argv)
{
	return cli_main(rows, sizeof(rows) / sizeof(rows[0]), argc, argv);
}

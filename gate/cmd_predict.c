#include "base/json.h"
#include "fleet/cmd_lab.h"
#include "gate/cmd.h"
#include "gate/cmd_runs.h"
#include "gate/profile/predict.h"
#include "runs/running/run.h"

#include <math.h>

static const char doc[] =
    "Predicts the metric of a version on a machine on which it never ran, from the machine's fingerprint and the results on "
    "others. The "
    "interval has the true value in nine of ten cases; it comes from what was missed on hardware types that were left out."
    "\vExample:\n"
    "  assay predict miniamr --machine issdm-41\n"
    "  assay predict stream/add-1@imported --machine scruffy.soe.ucsc.edu --format json\n";

enum { OPTION_MACHINE = 256 };

static const struct argp_option options[] = {
	{ "machine", OPTION_MACHINE, "MACHINE", 0, "A machine of the catalog that has a fingerprint", 1 },
	{ 0 }
};

struct arguments {
	const char *selector, *machine;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPTION_MACHINE:
		a->machine = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->machine)
			cli_refuse(state, "--machine MACHINE is wanted");
		return cli_words(key, arg, state, &a->selector, 1, "APP[@VERSION]");
	default:
		return cli_words(key, arg, state, &a->selector, 1, "APP[@VERSION]");
	}
}

static void print(const struct predict *p, const struct run_set *runs, struct buf *out)
{
	buf_format(out, "%s@%s on %s (%s is better)\n", runs->application, runs->version, p->machine,
		   runs->higher_is_better ? "higher" : "lower");
	buf_format(out, "  %.4g, 90 %% interval ", p->value);
	if (isfinite(p->high))
		buf_format(out, "%.4g to %.4g\n", p->low, p->high);
	else
		buf_format(out, "from %.4g on, no upper limit: the results are too far apart\n", p->low);
	buf_format(out, "  from %zu hardware types (%zu results, %zu stressors); on types left out: error %.0f %%, Q2 %.2f\n",
	           p->types, p->rows, p->stressors, 100 * p->mape, p->q2);
	if (p->type_ran)
		buf_format(
		    out,
		    "  machines of its own hardware type (%s) ran it: the true value should be nearer than the interval says\n",
		    p->type);
	if (p->q2 < .5)
		buf_text(out, "  on types left out these models explain less than half of the variance: rely on the interval, "
		              "not on the value\n");
}

static cJSON *as_json(const struct predict *p, const struct run_set *runs)
{
	cJSON *root = cJSON_CreateObject();

	cJSON_AddStringToObject(root, "application", runs->application);
	cJSON_AddStringToObject(root, "version", runs->version);
	cJSON_AddStringToObject(root, "machine", p->machine);
	cJSON_AddBoolToObject(root, "higher_is_better", runs->higher_is_better);
	cJSON_AddNumberToObject(root, "value", p->value);
	cJSON_AddNumberToObject(root, "low", p->low);
	json_add_number(root, "high", p->high);
	cJSON_AddNumberToObject(root, "level", PREDICT_LEVEL);
	cJSON_AddStringToObject(root, "fingerprint", p->fingerprint);
	if (p->type)
		cJSON_AddStringToObject(root, "type", p->type);
	else
		cJSON_AddNullToObject(root, "type");
	cJSON_AddBoolToObject(root, "type_ran", p->type_ran);
	cJSON_AddNumberToObject(root, "hardware_types", (double)p->types);
	cJSON_AddNumberToObject(root, "rows", (double)p->rows);
	cJSON_AddNumberToObject(root, "stressors", (double)p->stressors);
	json_add_number(root, "mape", p->mape);
	json_add_number(root, "q2", p->q2);
	cJSON_AddItemToObject(root, "other_builds", run_others_json(runs));
	return root;
}

int cmd_predict(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, "APP[@VERSION] --machine MACHINE", doc, NULL, NULL, NULL };
	struct arguments a = { NULL, NULL };
	struct evidence evidence = { 0 };
	struct predict predict = { 0 };
	struct run_set runs = { 0 };
	struct cmd_lab cmd;
	enum assay_status st = cmd_lab_open(&cmd, &argp, argc, argv, directory, &a, STORE_READ);

	if (!st)
		st = cmd_runs_load(&cmd, a.selector, &runs);
	if (!st)
		st = evidence_load(&cmd.lab, &evidence, &cmd.err);
	if (!st)
		st = predict_of(&evidence, &runs, a.machine, &predict, &cmd.err);
	if (!st && cmd.cli.format == CLI_JSON)
		json_add(&cmd.out, as_json(&predict, &runs));
	else if (!st)
		print(&predict, &runs, &cmd.out);
	evidence_release(&evidence);
	run_set_release(&runs);
	return cmd_lab_end(&cmd, st, 0);
}

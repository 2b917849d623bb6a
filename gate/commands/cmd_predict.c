/* The command assay predict without an input. It predicts the metric of a version on a machine on which it never ran. */
#include "base/mem.h"
#include "base/text.h"
#include "gate/commands/gate_commands.h"
#include "gate/commands/cmd_evidence.h"
#include "gate/profile/prediction.h"

#include <math.h>

#define FEW_TYPES 10 /* fewer types make the interval less reliable (docs/evidence/irup.md, "Predictions from few hardware types") */

struct predict {
	const char *fingerprint; /* id of the machine's fingerprint; borrowed */
	const char *type;	 /* hardware type of the machine, borrowed; NULL if not known */
	double value, low, high; /* in the unit of the metric; `high` may be infinite */
	struct prediction model_prediction;
	size_t types, rows; /* numbers of hardware types and of results that the prediction uses */
	bool type_ran;	    /* true if other machines of the same hardware type ran the version */
};

static enum assay_status predict_for_fingerprint(const struct evidence *evidence, const struct run_set *runs, const struct fingerprint *f,
						 struct profile_rows *rows, struct predict *out, struct assay_error *err)
{
	double *rates = mem_new(rows->rates.cols, sizeof(*rates));
	size_t type = types_find(&evidence->types, f->id);
	enum assay_status st = ASSAY_OK;

	*out = (struct predict){ .fingerprint = f->id, .types = rows->types, .rows = rows->rates.rows };
	out->type = type < evidence->types.n ? evidence->types.types[type].name : NULL;
	for (size_t t = 0; out->type && t < rows->types; t++)
		out->type_ran |= strcmp(rows->type_names[t], out->type) == 0;
	profile_fill_rates(&evidence->fingerprints, f, rows, rates);
	if (!prediction_compute(rows, rates, &out->model_prediction))
		st = assay_fail(err, ASSAY_E_NODATA, "no stressor was measured on '%s' and on all machines that ran '%s@%s'", f->machine,
				runs->application, runs->version);
	out->value = exp(runs->higher_is_better ? -out->model_prediction.log_cost : out->model_prediction.log_cost);
	out->low = out->value * exp(-out->model_prediction.half);
	out->high = out->value * exp(out->model_prediction.half);
	if (!st && !(out->value > 0 && isfinite(out->value)))
		st = assay_fail(err, ASSAY_E_NODATA, "the results of '%s@%s' vary too much to predict one on '%s'", runs->application,
				runs->version, f->machine);
	free(rates);
	return st;
}

static void predict_describe_human(const struct predict *p, const struct run_set *runs, const char *machine, struct document *d)
{
	const char *direction = runs->higher_is_better ? "higher" : "lower";

	if (isfinite(p->high))
		doc_answer(d, DOC_PLAIN, "", "%s@%s on %s: %.4g, 90 %% interval %.4g to %.4g (%s is better)", runs->application,
			   runs->version, machine, p->value, p->low, p->high, direction);
	else
		doc_answer(
		    d, DOC_PLAIN, "",
		    "%s@%s on %s: %.4g, 90 %% interval from %.4g, without an upper limit, because the results vary too much (%s is better)",
		    runs->application, runs->version, machine, p->value, p->low, direction);
	if (p->model_prediction.modelled)
		doc_line(d, "from %zu hardware types (%zu results, %zu stressors); on held-out types: error %.0f %%, Q2 %.2f", p->types,
			 p->rows, p->model_prediction.stressors, 100 * p->model_prediction.mape, p->model_prediction.q2);
	else
		doc_line(d,
			 "from %zu hardware types (%zu results): too few for a model that distinguishes machines, so this is their mean, "
			 "and the interval covers their spread; the fingerprint is used from %d types on",
			 p->types, p->rows, PREDICTION_MODEL_TYPES);
	if (p->types < FEW_TYPES)
		doc_line(d,
			 "few hardware types: on recorded machines, 90 %% intervals from fewer than %d types contained 84 to 90 %% of the "
			 "true values",
			 FEW_TYPES);
	if (p->type_ran)
		doc_line(d, "machines of its own hardware type (%s) ran it: the true value is probably closer than the interval suggests",
			 p->type);
	if (p->model_prediction.q2 < .5)
		doc_line(d,
			 "on held-out types these models explain less than half of the variance: rely on the interval, not on the value");
}

static void predict_add_members(const struct predict *p, const struct run_set *runs, const char *machine, struct document *d)
{
	predict_describe_human(p, runs, machine, d);
	doc_set(d, "application", runs->application);
	doc_set(d, "version", runs->version);
	doc_set(d, "machine", machine);
	doc_set_bool(d, "higher_is_better", runs->higher_is_better);
	doc_set(d, "value", p->value);
	doc_set(d, "low", p->low);
	doc_set(d, "high", p->high);
	doc_set(d, "level", PREDICTION_LEVEL);
	doc_set(d, "fingerprint", p->fingerprint);
	doc_set(d, "type", p->type);
	doc_set_bool(d, "type_ran", p->type_ran);
	doc_set(d, "hardware_types", p->types);
	doc_set(d, "rows", p->rows);
	doc_set(d, "stressors", p->model_prediction.stressors);
	doc_set_bool(d, "modelled", p->model_prediction.modelled);
	doc_set(d, "mape", p->model_prediction.mape);
	doc_set(d, "q2", p->model_prediction.q2);
	doc_set_json(d, "other_builds", run_others_json(runs));
}

/* Predicts the metric and adds it to the document. Returns ASSAY_E_NOTFOUND if the machine has no fingerprint. Returns ASSAY_E_NODATA if
 * its fingerprints are not comparable, if too few hardware types ran the version, if no stressor was measured everywhere, or if the results
 * vary too much. */
static enum assay_status predict_describe(const struct evidence *evidence, const struct run_set *runs, const char *machine,
					  struct document *d, struct assay_error *err)
{
	const struct fingerprint_set *fingerprints = &evidence->fingerprints;
	const struct fingerprint *f = NULL;
	struct profile_rows rows;
	struct dataset dataset;
	struct predict predict;
	enum assay_status st = ASSAY_OK;

	dataset_build(evidence, runs, true, &dataset);
	profile_rows_build(evidence, runs, &dataset, &rows);
	if (rows.types < PREDICTION_TYPES_MIN)
		st = assay_fail(err, ASSAY_E_NODATA,
				"'%s@%s' ran on %zu hardware type%s with a fingerprint: a prediction needs %d; run it on %zu more",
				runs->application, runs->version, rows.types, text_plural(rows.types), PREDICTION_TYPES_MIN,
				PREDICTION_TYPES_MIN - rows.types);
	if (!st)
		st = prediction_find_fingerprint(fingerprints, machine,
						 fingerprint_find(fingerprints, runs->items[dataset.run[0]].fingerprint), &f, err);
	if (!st)
		st = predict_for_fingerprint(evidence, runs, f, &rows, &predict, err);
	if (!st)
		predict_add_members(&predict, runs, f->machine, d);
	profile_rows_release(&rows);
	dataset_release(&dataset);
	return st;
}

enum assay_status predict_machine(struct lab *lab, const char *selector, const char *machine, struct document *d, struct assay_error *err)
{
	struct cmd_evidence e;
	enum assay_status st = cmd_evidence_load(lab, &selector, 1, true, &e, err);

	if (!st)
		st = predict_describe(&e.evidence, &e.runs[0], machine, d, err);
	cmd_evidence_release(&e);
	return st;
}

#include "gate/cost/cost_machine.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "gate/cost/cost_side.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

ORDER_BY(compare_machines, struct run, BY_TEXT(machine))

/* How dear the same work was on a machine, as a run of it; no run where too few inputs tell. */
static enum assay_status add_machine(struct lab *lab, const struct cost_model *model, const struct cost_asked *asked, char *machine,
				     struct run_set *set, struct assay_error *err)
{
	struct costs_asked there = asked->costs;
	struct cost_side side = { .model = NULL };
	enum assay_status st = ASSAY_OK;
	struct run run = { .machine = machine, .repetition = 1, .metric = 1.0, .recorded = 1 };
	const struct costs *costs = &model->costs;

	there.machine = machine;
	there.version = model->costs.version;
	if (strcmp(machine, model->costs.machine) != 0) {
		st = cost_side_of(&lab->store, model, &there, &side, err);
		costs = &side.costs;
		run.metric = exp(side.log_ratio);
	}
	if (!st && (!side.model || side.n >= COST_SIDE_INPUTS_MIN)) {
		snprintf(run.fingerprint, sizeof(run.fingerprint), "%s", costs->fingerprint);
		snprintf(run.architecture, sizeof(run.architecture), "%s", costs->architecture);
		set->items[set->n++] = run;
	}
	cost_side_release(&side);
	return st;
}

/* A row for each machine that ran the version, and is of the model's architecture. */
static enum assay_status runs_of(struct lab *lab, const struct evidence *evidence, const struct cost_model *model,
				 const struct cost_asked *asked, struct run_set *set, struct assay_error *err)
{
	const struct costs *c = &model->costs;
	const char *architecture = evidence_architecture(evidence, c->machine, c->architecture, c->fingerprint);
	enum assay_status st = ASSAY_OK;
	size_t kept = 0;

	*set =
	    (struct run_set){ .application = c->application, .version = c->version, .items = mem_new(c->n_machines, sizeof(*set->items)) };
	for (size_t i = 0; !st && i < c->n_machines; i++)
		st = add_machine(lab, model, asked, c->machines[i], set, err);
	for (size_t i = 0; i < set->n; i++) {
		const struct run *run = &set->items[i];
		const char *theirs = evidence_architecture(evidence, run->machine, run->architecture, run->fingerprint);

		if (!theirs || !architecture || strcmp(theirs, architecture) == 0)
			set->items[kept++] = *run;
	}
	set->n = kept;
	order_sort(set->items, kept, compare_machines);
	return st;
}

static enum assay_status predict(const struct evidence *evidence, const struct run_set *set, const struct dataset *dataset,
				 struct profile_rows *rows, struct cost_machine *out, struct assay_error *err)
{
	const struct fingerprint_set *fingerprints = &evidence->fingerprints;
	const struct fingerprint *f = NULL;
	double *rates = mem_new(rows->rates.cols, sizeof(*rates));
	enum assay_status st = prediction_fingerprint(fingerprints, out->name,
						      fingerprint_find(fingerprints, set->items[dataset->run[0]].fingerprint), &f, err);
	size_t type = st ? SIZE_MAX : types_find(&evidence->types, f->id);

	out->machines = rows->rates.rows;
	out->types = rows->types;
	for (size_t t = 0; type < evidence->types.n && t < rows->types; t++)
		out->type_ran |= strcmp(rows->type_names[t], evidence->types.types[type].name) == 0;
	if (!st) {
		snprintf(out->fingerprint, sizeof(out->fingerprint), "%s", f->id);
		profile_rates_of(fingerprints, f, rows, rates);
	}
	if (!st && !prediction_of(rows, rates, &out->of))
		st = assay_fail(err, ASSAY_E_NODATA, "no stressor was measured on '%s' and on all machines that ran '%s@%s'", out->name,
				set->application, set->version);
	free(rates);
	return st;
}

static enum assay_status predict_ratio(const struct evidence *evidence, const struct run_set *set, struct cost_machine *out,
				       struct assay_error *err)
{
	struct profile_rows rows;
	struct dataset dataset;
	enum assay_status st = ASSAY_OK;

	dataset_sparse_of(evidence, set, &dataset);
	profile_rows_of(evidence, set, &dataset, &rows);
	if (rows.types < PREDICTION_MODEL_TYPES)
		st = assay_fail(
		    err, ASSAY_E_NODATA,
		    "what it costs on '%s' cannot be told from fingerprints: '%s@%s' ran enough inputs on %zu hardware type%s with "
		    "a fingerprint, and it takes %d to see how much of its cost these carry; run it there, or on %zu more",
		    out->name, set->application, set->version, rows.types, text_plural(rows.types), PREDICTION_MODEL_TYPES,
		    PREDICTION_MODEL_TYPES - rows.types);
	else
		st = predict(evidence, set, &dataset, &rows, out, err);
	profile_rows_release(&rows);
	dataset_release(&dataset);
	return st;
}

enum assay_status cost_machine_of(struct lab *lab, const struct cost_model *model, const struct cost_asked *asked, const char *name,
				  double max_error, struct cost_machine *out, struct assay_error *err)
{
	struct evidence evidence;
	struct run_set set = { .items = NULL };
	enum assay_status st = evidence_load(lab, &evidence, err);

	*out = (struct cost_machine){ .name = name };
	if (st)
		return st;
	st = runs_of(lab, &evidence, model, asked, &set, err);
	if (!st)
		st = predict_ratio(&evidence, &set, out, err);
	out->error = hypot(model->all.model.error_mean, out->of.mape);
	if (!st && out->error > max_error)
		st = assay_fail(
		    err, ASSAY_E_NODATA,
		    "fingerprints do not carry what '%s@%s' costs on '%s': on hardware types left out they miss by %.1f %%, and the "
		    "model by %.1f %% on inputs left out, together more than %.3g %% (--max-error); run it there",
		    set.application, set.version, name, 100 * out->of.mape, 100 * model->all.model.error_mean, 100 * max_error);
	free(set.items);
	evidence_release(&evidence);
	return st;
}

double cost_machine_interval(const struct cost_machine *m, double interval)
{
	return exp(hypot(log(interval), m->of.half));
}

void cost_machine_answer(const struct cost_machine *m, const struct cost_model *model, struct document *d)
{
	double ratio = exp(m->of.log_cost);

	if (!m->name) {
		doc_set(d, "elsewhere", DOC_NOTHING);
		return;
	}
	doc_object(d, "elsewhere");
	doc_set(d, "learned_on", model->costs.machine);
	doc_set(d, "ratio", ratio);
	doc_set(d, "low", ratio * exp(-m->of.half));
	doc_set(d, "high", ratio * exp(m->of.half));
	doc_set(d, "fingerprint", m->fingerprint);
	doc_set_bool(d, "type_ran", m->type_ran);
	doc_set(d, "hardware_types", m->types);
	doc_set(d, "machines", m->machines);
	doc_set(d, "stressors", m->of.stressors);
	doc_set(d, "mape", m->of.mape);
	doc_set(d, "q2", m->of.q2);
	doc_set(d, "error", m->error);
	doc_end(d);
	doc_line(d,
		 "'%s' has not run enough inputs: by its fingerprint the same work should cost %.3f times as much there as on '%s' (%.3f "
		 "to %.3f)",
		 m->name, ratio, model->costs.machine, ratio * exp(-m->of.half), ratio * exp(m->of.half));
	doc_line(d, "(from %zu machines of %zu hardware types that ran it; on types left out the error is %.1f %%, Q2 %.2f)", m->machines,
		 m->types, 100 * m->of.mape, m->of.q2);
}

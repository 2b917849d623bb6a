#include "gate/cost/cost_cheap.h"

#include "base/mem.h"
#include "base/stats.h"
#include "gate/cost/cost_words.h"

#include <math.h>
#include <stdlib.h>

/* clang-format off */
static ROWS_FUNCTION(source_code, enum cost_source, COST_SOURCE_ROWS, ROWS_CODE)
static ROWS_FUNCTION(source_text, enum cost_source, COST_SOURCE_ROWS, ROWS_TEXT)
    /* clang-format on */

    void cost_cheap_release(struct cost_cheap *cheap)
{
	cost_fit_release(&cheap->fit);
	mem_free(cheap->source, cheap->early.refused, cheap->slice.refused);
	*cheap = (struct cost_cheap){ .source = NULL };
}

/* ---- prices ---- */

/* Whether what cheap runs have counted is what whole runs have, in all inputs that both ran; a count that they do not have is 0. */
static bool is_same(const struct costs *whole, size_t column, const struct costs *cheap)
{
	size_t other = costs_column(cheap, whole->names[column]);

	for (size_t i = 0; i < cheap->n; i++) {
		size_t at = costs_same_input(whole, cheap->inputs[i].hash);
		double value = other == SIZE_MAX ? 0.0 : mat_get(&cheap->X, i, other);

		if (at != SIZE_MAX && mat_get(&whole->X, at, column) != value)
			return false;
	}
	return other != SIZE_MAX || !costs_is_new(cheap, whole->names[column]) || costs_is_count(whole, column);
}

/* Another version's runs of inputs of the model. */
struct other_runs {
	struct costs costs;
	size_t inputs; /* that both have run */
	double *part;  /* [inputs] their cost, as a part of what they cost the model's version */
};

static void other_runs_release(struct other_runs *runs)
{
	costs_release(&runs->costs);
	free(runs->part);
}

/* Loads the runs of `version`. ASSAY_E_NODATA: too few inputs are the model's. other_runs_release() *out, whatever is returned. */
static enum assay_status load_other_runs(struct store *store, const struct cost_model *model, const char *version, struct other_runs *out,
					 struct assay_error *err)
{
	struct costs_asked how = {
		.application = model->costs.application, .version = version, .machine = model->costs.machine, .of = model->costs.of
	};
	enum assay_status st;

	*out = (struct other_runs){ .part = NULL };
	st = costs_load(store, &how, &out->costs, err);
	out->part = mem_new(out->costs.n, sizeof(*out->part));
	for (size_t i = 0; !st && i < out->costs.n; i++) {
		const struct cost_input *input = &out->costs.inputs[i];
		size_t at = costs_same_input(&model->costs, input->hash);

		if (at != SIZE_MAX)
			out->part[out->inputs++] = input->median / model->costs.inputs[at].median;
	}
	if (!st && out->inputs < COST_CHEAP_INPUTS_MIN)
		st = assay_fail(err, ASSAY_E_NODATA, "of the inputs of %s@%s '%s' has run %zu: at least %d are needed to compare them",
				model->costs.application, model->costs.version, version, out->inputs, COST_CHEAP_INPUTS_MIN);
	return st;
}

/* What is known by the runs of this version: each count that is the same, unless another source has it for less. */
static enum assay_status price_version(struct store *store, const struct cost_model *model, const char *version, enum cost_source source,
				       struct cost_cheap_version *counted, struct cost_cheap *out, struct assay_error *err)
{
	struct other_runs v;
	enum assay_status st = load_other_runs(store, model, version, &v, err);

	counted->inputs = v.inputs;
	if (!st)
		out->prices[source] = stats_median(v.part, v.inputs);
	counted->refused = mem_new(model->costs.p, sizeof(*counted->refused));
	for (size_t j = 0; !st && j < model->costs.p; j++) {
		if (model->costs.origin[j] != COST_COUNTED)
			continue;
		counted->refused[j] = !is_same(&model->costs, j, &v.costs);
		counted->same += !counted->refused[j];
		counted->other += counted->refused[j];
		if (!counted->refused[j] && out->prices[source] < out->prices[out->source[j]])
			out->source[j] = source;
	}
	other_runs_release(&v);
	return st;
}

static double price_of_command(const struct costs *costs)
{
	double *part = mem_new(costs->n, sizeof(*part)), price;

	for (size_t i = 0; i < costs->n; i++)
		part[i] = costs->inputs[i].own_seconds / costs->inputs[i].median;
	price = stats_median(part, costs->n);
	free(part);
	return price;
}

/* What must be spent to know all features of its terms; and on what most is. */
static double price_of(const struct cost_cheap *cheap, const struct cost_fit *fit, enum cost_source *dearest)
{
	bool used[COST_SOURCES] = { false };
	double price = 0.0;

	for (size_t k = 0; k < fit->n; k++)
		used[cheap->source[fit->column[k]]] |= sparse_uses(&fit->model, k);
	*dearest = COST_FREE;
	for (int s = COST_FREE + 1; s < COST_SOURCES; s++) {
		if (!used[s])
			continue;
		price += cheap->prices[s];
		if (*dearest == COST_FREE || cheap->prices[s] > cheap->prices[*dearest])
			*dearest = (enum cost_source)s;
	}
	return price;
}

/* ---- rejecting ---- */

static void fit_cheap(const struct cost_model *model, const struct cost_asked *asked, struct cost_cheap *cheap)
{
	bool rejected[COST_SOURCES] = { false }, *has = mem_new(model->costs.p, sizeof(*has));
	enum cost_source dearest;

	for (;;) {
		for (size_t j = 0; j < model->costs.p; j++)
			has[j] = !rejected[cheap->source[j]];
		cost_fit_release(&cheap->fit);
		cheap->fit = (struct cost_fit){ .n = 0 };
		cost_fit_of(model, asked, has, &cheap->fit);
		cheap->price = price_of(cheap, &cheap->fit, &dearest);
		if (cheap->price <= cheap->allowed || dearest == COST_FREE)
			break;
		rejected[dearest] = true;
		cheap->rejected++;
	}
	free(has);
}

enum assay_status cost_cheap_of(struct store *store, const struct cost_model *model, const struct cost_asked *asked,
				const struct cost_cheap_asked *cheap, struct cost_cheap *out, struct assay_error *err)
{
	const struct costs *costs = &model->costs;
	enum assay_status st = ASSAY_OK;

	*out = (struct cost_cheap){ .allowed = cheap->allowed, .source = mem_new(costs->p, sizeof(*out->source)) };
	if (costs->of == COST_METRIC)
		st = assay_fail(err, ASSAY_E_USAGE, "what a predictor costs is known in seconds, not in the metric: --of cpu or --of wall");
	for (size_t j = 0; j < costs->p; j++)
		out->source[j] = costs->origin[j] == COST_KNOWN ? COST_FREE : costs->origin[j] == COST_OWN ? COST_COMMAND : COST_RUN;
	out->prices[COST_RUN] = 1.0;
	out->prices[COST_EARLY] = out->prices[COST_SLICE] = (double)NAN;
	out->prices[COST_COMMAND] = price_of_command(costs);
	if (!st && cheap->early)
		st = price_version(store, model, cheap->early, COST_EARLY, &out->early, out, err);
	if (!st && cheap->slice)
		st = price_version(store, model, cheap->slice, COST_SLICE, &out->slice, out, err);
	if (!st)
		fit_cheap(model, asked, out);
	else
		cost_cheap_release(out);
	return st;
}

/* ---- the answer ---- */

static void add_prices(const struct cost_cheap *cheap, struct document *d)
{
	doc_table(d, "prices");
	for (int s = 0; s < COST_SOURCES; s++) {
		if (isnan(cheap->prices[s]))
			continue;
		doc_row(d);
		doc_set(d, "source", source_code((enum cost_source)s));
		doc_show(d, NULL, "how it is known", source_text((enum cost_source)s));
		doc_showf(d, "price", "of the run", cheap->prices[s], "%.3g %%", 100 * cheap->prices[s]);
	}
	doc_end(d);
}

/* How many counts of the model of all features there are; `refused`: that the slice has wrong. */
static size_t wanted_counts(const struct cost_model *model, const bool *refused)
{
	size_t n = 0;

	for (size_t j = 0; j < model->costs.p; j++) {
		bool has = false;

		for (size_t k = 0; k < model->all.n; k++)
			has |= model->all.column[k] == j && sparse_uses(&model->all.model, k);
		n += has && model->costs.origin[j] == COST_COUNTED && (!refused || refused[j]);
	}
	return n;
}

static void add_slice(const struct cost_model *model, const struct cost_cheap *cheap, struct document *d)
{
	const struct cost_cheap_version *slice = &cheap->slice;
	size_t wanted = wanted_counts(model, NULL), refused = slice->refused ? wanted_counts(model, slice->refused) : wanted;

	if (!slice->inputs) {
		doc_set(d, "slice", DOC_NOTHING);
		return;
	}
	doc_object(d, "slice");
	doc_set(d, "inputs", slice->inputs);
	doc_set(d, "wanted", wanted);
	doc_set(d, "exact", wanted - refused);
	doc_set(d, "refused", refused);
	doc_set(d, "same", slice->same);
	doc_set(d, "other", slice->other);
	doc_end(d);
	doc_line(
	    d,
	    "%zu counts of the slice are what whole runs count, in all of %zu inputs; %zu are not, and refused. Of the %zu counts that the "
	    "model of all features wants, %zu are exact",
	    slice->same, slice->inputs, slice->other, wanted, wanted - refused);
}

/* All features that the model of all, or the cheap one, has terms of. */
static void add_features(const struct cost_model *model, const struct cost_cheap *cheap, struct document *d)
{
	const struct cost_fit *fits[] = { &model->all, &cheap->fit };

	doc_table(d, "features");
	for (size_t j = 0; j < model->costs.p; j++) {
		bool has[2] = { false };

		for (int f = 0; f < 2; f++) {
			for (size_t k = 0; k < fits[f]->n; k++)
				has[f] |= fits[f]->column[k] == j && sparse_uses(&fits[f]->model, k);
		}
		if (!has[0] && !has[1])
			continue;
		doc_row(d);
		doc_show(d, "feature", "feature", model->costs.names[j]);
		doc_show(d, "source", "known by", source_code(cheap->source[j]));
		doc_set_bool(d, "wanted", has[0]);
		doc_set_bool(d, "cheap", has[1]);
		if (cheap->slice.refused && model->costs.origin[j] == COST_COUNTED)
			doc_show(d, "sliced", "in the slice", cheap->slice.refused[j] ? "refused" : "exact");
		else if (cheap->slice.refused)
			doc_show(d, "sliced", "in the slice", DOC_NOTHING);
		doc_show(d, NULL, "terms of", has[0] && has[1] ? "both" : has[0] ? "the model of all features" : "the cheap model");
	}
	doc_end(d);
}

void cost_cheap_answer(const struct cost_model *model, const struct cost_cheap *cheap, struct document *d)
{
	struct buf sentence = BUF_INIT;

	doc_heading(d, "Before a run, for little");
	doc_object(d, "cheap");
	doc_set(d, "allowed", cheap->allowed);
	doc_set(d, "price", cheap->fit.n ? cheap->price : (double)NAN);
	doc_set(d, "rejected", cheap->rejected);
	doc_set(d, "final", cheap->early.same);
	doc_set(d, "changes", cheap->early.other);
	doc_set(d, "early_inputs", cheap->early.inputs);
	if (cheap->fit.n) {
		cost_sentence(model, &cheap->fit, &sentence);
		doc_set(d, "sentence", sentence.bytes);
		doc_set(d, "error", cheap->fit.model.error_mean);
		doc_set(d, "error_all", model->all.model.error_mean);
		doc_line(d, "%s", sentence.bytes);
		doc_line(d,
			 "error on inputs left out: %.1f %%, for %.3g %% of the run's cost (%.1f %% with all features, which cost the run)",
			 100 * cheap->fit.model.error_mean, 100 * cheap->price, 100 * model->all.model.error_mean);
	} else {
		doc_set(d, "sentence", DOC_NOTHING);
		doc_line(d, "nothing that costs at most %.3g %% of the run tells the inputs apart", 100 * cheap->allowed);
	}
	if (cheap->early.inputs)
		doc_line(d, "%zu counts are final where early runs end, in all of %zu inputs; %zu are not, and refused", cheap->early.same,
			 cheap->early.inputs, cheap->early.other);
	add_slice(model, cheap, d);
	add_prices(cheap, d);
	add_features(model, cheap, d);
	doc_end(d);
	buf_release(&sentence);
}

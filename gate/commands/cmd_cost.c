/* The commands assay cost train, assay predict and assay cost explain. */
#include "base/document.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "fleet/lab/lab.h"
#include "gate/commands/gate_commands.h"
#include "gate/cost/cost_answer.h"
#include "gate/cost/cost_model.h"
#include "runs/running/artefact.h"
#include "runs/running/input_features.h"
#include "runs/running/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COST_CHEAP_INPUTS_MIN 5 /* minimum number of inputs that both versions must have run */

/* ---- prediction from cheap features ---- */

/* Predicts costs only from features that are cheap to get before a run. Each source of features has a price, as a fraction of the cost of a
 * run. Properties of the input are free. The manifest's command `features` costs its own time, however many features it prints. A counting
 * build with early exit stops at the entry of a function (`assay build --for features --until`). Those of its counts that equal the counts
 * of whole runs for every input cost the time of that build. The same holds for a slice, a build without most of the program (`assay build
 * --for features --without`). All other features cost the whole run. The model is fitted again without the most expensive source until its
 * price is allowed. After Chun et al., "Mantis" (USENIX ATC 2013), section 4. */

/* Constant, code in answers, text for users. */
#define COST_SOURCE_ROWS(X)                                                                                                                \
	X(COST_FREE, "free", "static features, free of cost")                                                                              \
	X(COST_COMMAND, "command", "printed by the manifest's 'features'")                                                                 \
	X(COST_EARLY, "early_exit", "counted by a run that ends early")                                                                    \
	X(COST_SLICE, "slice", "counted by a slice, which leaves out most of the program")                                                 \
	X(COST_RUN, "run", "known only after the whole run")

enum cost_source { COST_SOURCE_ROWS(ROWS_ENUM) COST_SOURCES };

/* A counting version whose runs are shorter than those of the whole program: early exit or slice. */
struct cost_cheap_version {
	size_t inputs;	    /* number of inputs that both this version and the model's version ran; 0 if there is no such version */
	size_t same, other; /* number of counts that equal those of whole runs for all inputs; number of refused counts */
	bool *refused;	    /* [costs.p] true if the count is refused; NULL if there is no such version */
};

struct cost_feature_query {
	const char *early_version, *slice; /* names of versions; NULL if there is none */
	double allowed;			   /* maximum price as a fraction of the run's cost */
};

struct cost_feature_prices {
	double allowed, price;	     /* allowed price and price of the fit, as fractions of the run's cost */
	double prices[COST_SOURCES]; /* price of each source; NaN if there is no such source */
	enum cost_source *source;    /* [costs.p] cheapest source of each feature */
	struct cost_fit fit;	     /* its n is 0 if no allowed feature distinguishes the inputs */
	size_t rejected;	     /* number of sources that were rejected because of their price */
	struct cost_cheap_version early_version, slice;
};

/* Reports whether a feature is a size (bytes, lines, files), which cannot be negative. */
static bool input_feature_is_size(const char *name)
{
	static const char *const sizes[] = { "bytes of ", "lines of ", "files of " };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (strncmp(name, sizes[i], strlen(sizes[i])) == 0)
			return true;
	}
	return false;
}

/* clang-format off */
static ROWS_FUNCTION(source_code, enum cost_source, COST_SOURCE_ROWS, ROWS_CODE)
static ROWS_FUNCTION(source_text, enum cost_source, COST_SOURCE_ROWS, ROWS_TEXT)
/* clang-format on */

static void cost_cheap_release(struct cost_feature_prices *cheap)
{
	cost_fit_release(&cheap->fit);
	mem_free(cheap->source, cheap->early_version.refused, cheap->slice.refused);
	*cheap = (struct cost_feature_prices){ .source = NULL };
}

/* Reports whether cheap runs and whole runs have the same count for all inputs that both ran. A missing count is 0. */
static bool is_same_column(const struct costs *whole, size_t column, const struct costs *cheap)
{
	size_t other = costs_find_column(cheap, whole->names[column]);

	for (size_t i = 0; i < cheap->n; i++) {
		size_t at = costs_find_input_by_hash(whole, cheap->inputs[i].hash);
		double value = other == SIZE_MAX ? 0.0 : mat_get(&cheap->X, i, other);

		if (at != SIZE_MAX && mat_get(&whole->X, at, column) != value)
			return false;
	}
	return other != SIZE_MAX || !costs_is_new(cheap, whole->names[column]) || costs_is_count(whole, column);
}

/* The runs of another version with the model's inputs. */
struct other_runs {
	struct costs costs;
	size_t inputs; /* number of inputs that both versions ran */
	double *part;  /* [inputs] cost as a fraction of the cost with the model's version */
};

static void other_runs_release(struct other_runs *runs)
{
	costs_release(&runs->costs);
	free(runs->part);
}

/* Loads the runs of `version`. The caller calls other_runs_release(), also after an error. Returns ASSAY_E_NODATA if both versions have too
 * few common inputs. */
static enum assay_status load_other_runs(struct store *store, const struct cost_model *model, const char *version, struct other_runs *out,
					 struct assay_error *err)
{
	struct costs_request how = {
		.application = model->costs.application, .version = version, .machine = model->costs.machine, .kind = model->costs.kind
	};
	enum assay_status st;

	*out = (struct other_runs){ .part = NULL };
	st = costs_load(store, &how, &out->costs, err);
	out->part = mem_new(out->costs.n, sizeof(*out->part));
	for (size_t i = 0; !st && i < out->costs.n; i++) {
		const struct cost_input *input = &out->costs.inputs[i];
		size_t at = costs_find_input_by_hash(&model->costs, input->hash);

		if (at != SIZE_MAX)
			out->part[out->inputs++] = input->median / model->costs.inputs[at].median;
	}
	if (!st && out->inputs < COST_CHEAP_INPUTS_MIN)
		st = assay_fail(err, ASSAY_E_NODATA, "of the inputs of %s@%s, '%s' ran %zu: at least %d are needed for a comparison",
				model->costs.application, model->costs.version, version, out->inputs, COST_CHEAP_INPUTS_MIN);
	return st;
}

/* Sets the price of `source`. Makes it the source of each count that equals the count of whole runs, unless another source is cheaper. */
static enum assay_status price_features_of_version(struct store *store, const struct cost_model *model, const char *version,
						   enum cost_source source, struct cost_cheap_version *counted,
						   struct cost_feature_prices *out, struct assay_error *err)
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
		counted->refused[j] = !is_same_column(&model->costs, j, &v.costs);
		counted->same += !counted->refused[j];
		counted->other += counted->refused[j];
		if (!counted->refused[j] && out->prices[source] < out->prices[out->source[j]])
			out->source[j] = source;
	}
	other_runs_release(&v);
	return st;
}

static double features_command_price(const struct costs *costs)
{
	double *part = mem_new(costs->n, sizeof(*part)), price;

	for (size_t i = 0; i < costs->n; i++)
		part[i] = costs->inputs[i].features_command_s / costs->inputs[i].median;
	price = stats_median(part, costs->n);
	free(part);
	return price;
}

/* Returns the price of all features that the fit uses. Sets *most_expensive to the most expensive source among them. */
static double fit_price(const struct cost_feature_prices *cheap, const struct cost_fit *fit, enum cost_source *most_expensive)
{
	bool used[COST_SOURCES] = { false };
	double price = 0.0;

	for (size_t k = 0; k < fit->n; k++)
		used[cheap->source[fit->column[k]]] |= sparse_uses_column(&fit->model, k);
	*most_expensive = COST_FREE;
	for (int s = COST_FREE + 1; s < COST_SOURCES; s++) {
		if (!used[s])
			continue;
		price += cheap->prices[s];
		if (*most_expensive == COST_FREE || cheap->prices[s] > cheap->prices[*most_expensive])
			*most_expensive = (enum cost_source)s;
	}
	return price;
}

static void fit_cheap(const struct cost_model *model, const struct cost_request *asked, struct cost_feature_prices *cheap)
{
	bool rejected[COST_SOURCES] = { false }, *has = mem_new(model->costs.p, sizeof(*has));
	enum cost_source most_expensive;

	for (;;) {
		for (size_t j = 0; j < model->costs.p; j++)
			has[j] = !rejected[cheap->source[j]];
		cost_fit_release(&cheap->fit);
		cheap->fit = (struct cost_fit){ .n = 0 };
		cost_fit_compute(model, asked, has, &cheap->fit);
		cheap->price = fit_price(cheap, &cheap->fit, &most_expensive);
		if (cheap->price <= cheap->allowed || most_expensive == COST_FREE)
			break;
		rejected[most_expensive] = true;
		cheap->rejected++;
	}
	free(has);
}

/* Fits a model to cheap features and overwrites *out; the caller calls cost_cheap_release(). Returns ASSAY_E_NODATA if a cheap version has
 * too few inputs in common with the model's version. */
static enum assay_status cost_cheap_find(struct store *store, const struct cost_model *model, const struct cost_request *asked,
					 const struct cost_feature_query *cheap, struct cost_feature_prices *out, struct assay_error *err)
{
	const struct costs *costs = &model->costs;
	enum assay_status st = ASSAY_OK;

	*out = (struct cost_feature_prices){ .allowed = cheap->allowed, .source = mem_new(costs->p, sizeof(*out->source)) };
	if (costs->kind == COST_METRIC)
		st =
		    assay_fail(err, ASSAY_E_USAGE, "--predictor-cost is in seconds, not in units of the metric: use --of cpu or --of wall");
	for (size_t j = 0; j < costs->p; j++)
		out->source[j] = costs->origin[j] == COST_STATIC ? COST_FREE : costs->origin[j] == COST_PRINTED ? COST_COMMAND : COST_RUN;
	out->prices[COST_RUN] = 1.0;
	out->prices[COST_EARLY] = out->prices[COST_SLICE] = (double)NAN;
	out->prices[COST_COMMAND] = features_command_price(costs);
	if (!st && cheap->early_version)
		st = price_features_of_version(store, model, cheap->early_version, COST_EARLY, &out->early_version, out, err);
	if (!st && cheap->slice)
		st = price_features_of_version(store, model, cheap->slice, COST_SLICE, &out->slice, out, err);
	if (!st)
		fit_cheap(model, asked, out);
	else
		cost_cheap_release(out);
	return st;
}

static void add_prices(const struct cost_feature_prices *cheap, struct document *d)
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

/* Returns the number of counted features that the model of all features uses. If `refused` is not NULL, counts only the refused ones. */
static size_t requested_counts(const struct cost_model *model, const bool *refused)
{
	size_t n = 0;

	for (size_t j = 0; j < model->costs.p; j++) {
		bool has = false;

		for (size_t k = 0; k < model->all.n; k++)
			has |= model->all.column[k] == j && sparse_uses_column(&model->all.model, k);
		n += has && model->costs.origin[j] == COST_COUNTED && (!refused || refused[j]);
	}
	return n;
}

static void add_slice(const struct cost_model *model, const struct cost_feature_prices *cheap, struct document *d)
{
	const struct cost_cheap_version *slice = &cheap->slice;
	size_t wanted = requested_counts(model, NULL), refused = slice->refused ? requested_counts(model, slice->refused) : wanted;

	if (!slice->inputs) {
		doc_set(d, "slice", DOC_NULL_VALUE);
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
	doc_line(d,
		 "%zu counts of the slice equal those of whole runs for all of %zu inputs; %zu differ and are refused. Of the %zu counts "
		 "that the model with all features uses, %zu are exact",
		 slice->same, slice->inputs, slice->other, wanted, wanted - refused);
}

/* Adds the features that the model of all features or the cheap model uses. */
static void add_features(const struct cost_model *model, const struct cost_feature_prices *cheap, struct document *d)
{
	const struct cost_fit *fits[] = { &model->all, &cheap->fit };

	doc_table(d, "features");
	for (size_t j = 0; j < model->costs.p; j++) {
		bool has[2] = { false };

		for (int f = 0; f < 2; f++) {
			for (size_t k = 0; k < fits[f]->n; k++)
				has[f] |= fits[f]->column[k] == j && sparse_uses_column(&fits[f]->model, k);
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
			doc_show(d, "sliced", "in the slice", DOC_NULL_VALUE);
		doc_show(d, NULL, "terms of", has[0] && has[1] ? "both" : has[0] ? "the model of all features" : "the cheap model");
	}
	doc_end(d);
}

/* Adds a section and the object `cheap`. */
static void cost_cheap_describe(const struct cost_model *model, const struct cost_feature_prices *cheap, struct document *d)
{
	struct buf sentence = BUF_INIT;

	doc_heading(d, "Cheap model, before a run");
	doc_object(d, "cheap");
	doc_set(d, "allowed", cheap->allowed);
	doc_set(d, "price", cheap->fit.n ? cheap->price : (double)NAN);
	doc_set(d, "rejected", cheap->rejected);
	doc_set(d, "final", cheap->early_version.same);
	doc_set(d, "changes", cheap->early_version.other);
	doc_set(d, "early_inputs", cheap->early_version.inputs);
	if (cheap->fit.n) {
		cost_append_formula(model, &cheap->fit, &sentence);
		doc_set(d, "sentence", sentence.bytes);
		doc_set(d, "error", cheap->fit.model.error_mean);
		doc_set(d, "error_all", model->all.model.error_mean);
		doc_line(d, "%s", sentence.bytes);
		doc_line(d,
			 "error on held-out inputs: %.1f %%, for %.3g %% of the run's cost (%.1f %% with all features, which cost the run)",
			 100 * cheap->fit.model.error_mean, 100 * cheap->price, 100 * model->all.model.error_mean);
	} else {
		doc_set(d, "sentence", DOC_NULL_VALUE);
		doc_line(d, "no feature that costs at most %.3g %% of the run distinguishes the inputs", 100 * cheap->allowed);
	}
	if (cheap->early_version.inputs)
		doc_line(d, "%zu counts are final at the end of early runs for all of %zu inputs; %zu are not and are refused",
			 cheap->early_version.same, cheap->early_version.inputs, cheap->early_version.other);
	add_slice(model, cheap, d);
	add_prices(cheap, d);
	add_features(model, cheap, d);
	doc_end(d);
	buf_release(&sentence);
}

struct arguments {
	const char *selector, *machine, *counts, *input, *features, *selected, *early_version, *slice;
	struct cli_list given; /* arguments of the form NAME=NUMBER */
	int64_t min_runs, degree;
	double max_error, predictor_cost;
	int of;
	bool paper, terms;
};

/* Parses the selector and the options about the model. The caller frees *application and *version. */
static enum assay_status parse_request_options(const struct arguments *a, char **application, char **version, struct cost_request *out,
					       struct assay_error *err)
{
	enum assay_status st = run_parse_selector(a->selector, application, version, err);

	*out = (struct cost_request){ .costs = { .application = *application,
						 .version = *version,
						 .counts = a->counts,
						 .machine = a->machine,
						 .kind = (enum cost_kind)a->of },
				      .min_runs = (size_t)a->min_runs,
				      .degree = (size_t)a->degree };
	return st;
}

static enum assay_status load_model(struct lab *lab, const struct arguments *a, bool paper, struct cost_model *out, struct assay_error *err)
{
	char *application = NULL, *version = NULL;
	struct cost_request asked;
	enum assay_status st = parse_request_options(a, &application, &version, &asked, err);

	asked.paper = paper;
	if (!st)
		st = cost_model_learn(&lab->store, &asked, out, err);
	mem_free(application, version);
	return st;
}

/* Loads the model of the requested machine. If that machine ran too few inputs, loads the model of the machine that ran most, and predicts
 * the cost ratio of the two machines into *on. */
static enum assay_status load_model_on(struct lab *lab, const struct arguments *a, struct cost_model *out, struct cost_machine *on,
				       struct assay_error *err)
{
	char *application = NULL, *version = NULL;
	struct assay_error why;
	struct cost_request asked;
	enum assay_status st = parse_request_options(a, &application, &version, &asked, err);

	*on = (struct cost_machine){ .name = NULL };
	if (!st)
		st = cost_model_learn(&lab->store, &asked, out, err);
	if (a->machine && (st == ASSAY_E_NOTFOUND || st == ASSAY_E_NODATA)) {
		asked.costs.machine = NULL;
		if (!cost_model_learn(&lab->store, &asked, out, &why))
			st = cost_machine_predict(lab, out, &asked, a->machine, a->max_error, on, err);
	}
	mem_free(application, version);
	return st;
}

/* Appends the names of the counted features that the model uses, one per line, for a build that counts only these. */
static void write_counted(const struct cost_model *model, struct buf *out)
{
	const struct cost_fit *fit = &model->all;

	for (size_t k = 0; k < fit->n; k++) {
		if (model->costs.origin[fit->column[k]] == COST_COUNTED && sparse_uses_column(&fit->model, k))
			buf_format(out, "%s\n", cost_fit_column_name(model, fit, k));
	}
}

static enum assay_status write_selected(const struct cost_model *model, const char *path, struct assay_error *err)
{
	struct buf names = BUF_INIT;
	enum assay_status st = ASSAY_OK;

	write_counted(model, &names);
	if (!names.size)
		st = assay_fail(err, ASSAY_E_NODATA, "--selected: the model uses no counted features");
	else
		st = file_replace(path, names.bytes, names.size, 0644, err);
	buf_release(&names);
	return st;
}

static enum assay_status add_cheap(struct lab *lab, const struct arguments *a, const struct cost_model *model, struct document *d,
				   struct assay_error *err)
{
	const struct cost_request asked = { .costs = { .kind = (enum cost_kind)a->of }, .degree = (size_t)a->degree };
	const struct cost_feature_query allowed = { .early_version = a->early_version, .slice = a->slice, .allowed = a->predictor_cost };
	struct cost_feature_prices cheap = { .source = NULL };
	enum assay_status st = cost_cheap_find(&lab->store, model, &asked, &allowed, &cheap, err);

	if (!st)
		cost_cheap_describe(model, &cheap, d);
	cost_cheap_release(&cheap);
	return st;
}

static enum assay_status train_check(void *arguments, struct assay_error *err)
{
	const struct arguments *a = arguments;

	if ((a->early_version || a->slice) && a->predictor_cost < 0.0)
		return assay_fail(err, ASSAY_E_USAGE, "%s needs --predictor-cost", a->early_version ? "--early" : "--slice");
	return ASSAY_OK;
}

static enum assay_status train_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct cost_model model = { 0 }, paper = { 0 };
	enum assay_status st = load_model(lab, a, false, &model, err);

	if (!st && a->paper)
		st = load_model(lab, a, true, &paper, err);
	if (!st && a->selected)
		st = write_selected(&model, a->selected, err);
	if (!st)
		cost_model_describe(&model, a->max_error, a->paper ? &paper : NULL, d);
	if (!st && a->predictor_cost >= 0.0)
		st = add_cheap(lab, a, &model, d, err);
	cost_model_release(&paper);
	cost_model_release(&model);
	return st;
}

/* ---- input to predict ---- */

static enum assay_status set_feature(const struct cost_model *model, const char *name, double value, double *row, struct assay_error *err)
{
	size_t column = costs_find_column(&model->costs, name);
	const char *nearest = text_nearest(name, (const char *const *)model->costs.names, model->costs.p);

	if (column == SIZE_MAX)
		return assay_fail(err, ASSAY_E_USAGE, "the runs have no feature '%s'%s%s%s", TEXT_SANITIZED(name),
				  nearest ? " (did you mean '" : "", nearest ? nearest : "", nearest ? "'?)" : "");
	row[column] = value;
	return ASSAY_OK;
}

/* Reports whether two NAME=NUMBER arguments have the same name, which is an error. */
static bool is_same_name(const char *a, const char *b)
{
	const char *equals = strrchr(a, '=');

	return equals && strrchr(b, '=') - b == equals - a && strncmp(a, b, (size_t)(equals - a)) == 0;
}

static enum assay_status set_given_features(const struct cost_model *model, const struct cli_list *given, double *row,
					    struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < given->n; i++) {
		char *equals = strrchr(given->items[i], '='), *name;
		double value;

		if (!equals || !text_parse_double(equals + 1, &value))
			return assay_fail(err, ASSAY_E_USAGE, "'%s' is not of the form NAME=NUMBER", given->items[i]);
		for (size_t k = 0; k < i; k++) {
			if (is_same_name(given->items[k], given->items[i]))
				return assay_fail(err, ASSAY_E_USAGE, "'%s' and '%s' have the same name", given->items[k], given->items[i]);
		}
		name = mem_bytes(given->items[i], (size_t)(equals - given->items[i]));
		st = set_feature(model, name, value, row, err);
		free(name);
	}
	return st;
}

/* Sets features from a file. If the file has any counts, counts that it lacks are 0. */
static enum assay_status set_from_file(const struct cost_model *model, const char *path, struct cost_question *q, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	struct run_features list = { .items = NULL };
	enum assay_status st = file_read(path, (size_t)64 << 20, &text, err);
	bool counted = false;

	if (!st) {
		st = run_features_text_parse(text.bytes ? text.bytes : "", text.size, &list, err);
		if (st)
			assay_add_context(err, "%s", strcmp(path, "-") ? path : "standard input");
	}
	for (size_t i = 0; !st && i < list.n; i++) {
		size_t column = costs_find_column(&model->costs, list.items[i].name);

		counted = counted || list.items[i].kind == FEATURE_COUNT;
		if (column != SIZE_MAX)
			q->row[column] = list.items[i].value;
	}
	if (!st)
		q->elsewhere = costs_sum_unreached(&model->costs, &list);
	for (size_t j = 0; !st && counted && j < model->costs.p; j++) {
		if (isnan(q->row[j]) && costs_is_count(&model->costs, j))
			q->row[j] = 0.0;
	}
	run_features_release(&list);
	buf_release(&text);
	return st;
}

static void set_run(const struct cost_model *model, size_t input, struct cost_question *q)
{
	memcpy(q->row, model->costs.X.at + input * model->costs.p, model->costs.p * sizeof(double));
	q->measured = model->costs.inputs[input].median;
}

/* Determines the features of an input in the manifest. Returns ASSAY_E_NOTFOUND if the manifest has no such input. */
static enum assay_status read_manifest(const char *name, const struct cost_model *model, struct execution_features *out,
				       struct assay_error *err)
{
	struct manifest manifest = { .file = NULL };
	struct artefact files = { .files = NULL };
	char *input = mem_string(name), shown[TEXT_SANITIZED_BYTES];
	enum assay_status st = manifest_open(cli_directory(), model->costs.application, &manifest, err);
	size_t index = st ? SIZE_MAX : manifest_find_input(&manifest, input);

	*out = (struct execution_features){ .input = "" };
	if (!st && index == SIZE_MAX)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "no input '%s': it was not run, and is not in the manifest",
				text_sanitize(input, shown));
	if (!st)
		st = artefact_collect_files(&manifest, &files, err);
	if (!st)
		st = artefact_add_inputs(&manifest, &input, 1, &files, err);
	if (!st)
		input_features_compute(&manifest, index, &files, out);
	artefact_release(&files);
	manifest_release(&manifest);
	free(input);
	return st;
}

/* Sets the features of an input that was not run under this name: from a run with the same content, another version's run, or the manifest.
 */
static enum assay_status set_not_run(struct lab *lab, const struct arguments *a, const struct cost_model *model, struct cost_question *q,
				     struct assay_error *err)
{
	const struct costs_request asked = { .application = model->costs.application,
					     .version = model->costs.version,
					     .counts = a->counts };
	struct execution_features features;
	struct assay_error other;
	enum assay_status st = read_manifest(a->input, model, &features, err);
	size_t same = st ? SIZE_MAX : costs_find_input_by_hash(&model->costs, features.input);

	if (same != SIZE_MAX) {
		q->same_as = model->costs.inputs[same].name;
		set_run(model, same, q);
	} else if (!costs_find_other_run(&lab->store, &asked, a->input, features.input, &q->other, &other) && q->other.version) {
		q->other_code = !q->other.counts && q->other.features.counted.n;
		if (!q->other.counts)
			run_features_release(&q->other.features.counted);
		costs_fill_row(&model->costs, &q->other.features, q->row);
		q->elsewhere = costs_sum_unreached(&model->costs, &q->other.features.counted);
		st = ASSAY_OK;
	} else if (!st) {
		costs_fill_row(&model->costs, &features, q->row);
	}
	execution_features_release(&features);
	return st;
}

/* Fails if a count or size is negative. */
static enum assay_status check_row(const struct costs *c, const double *row, struct assay_error *err)
{
	for (size_t j = 0; j < c->p; j++) {
		bool size = costs_is_count(c, j) || (c->origin[j] == COST_STATIC && input_feature_is_size(c->names[j]));

		if (size && row[j] < 0.0)
			return assay_fail(err, ASSAY_E_USAGE, "'%s' cannot be %.17g: it is a count, at least 0", c->names[j], row[j]);
	}
	return ASSAY_OK;
}

static enum assay_status fill_question(struct lab *lab, const struct arguments *a, const struct cost_model *model, struct cost_question *q,
				       struct assay_error *err)
{
	const struct costs *c = &model->costs;
	size_t input = a->input ? costs_find_input(c, a->input) : SIZE_MAX;
	double *was = mem_new(c->p, sizeof(*was)), elsewhere;
	enum assay_status st = ASSAY_OK;

	*q = (struct cost_question){ .input = a->input, .row = mem_new(c->p, sizeof(double)), .measured = (double)NAN };
	for (size_t j = 0; j < c->p; j++)
		q->row[j] = c->origin[j] == COST_STATIC && input_feature_is_text(c->names[j]) ? 0.0 : (double)NAN;
	if (input != SIZE_MAX)
		set_run(model, input, q);
	else if (a->input)
		st = set_not_run(lab, a, model, q, err);
	memcpy(was, q->row, c->p * sizeof(double));
	elsewhere = q->elsewhere;
	if (!st && a->features)
		st = set_from_file(model, a->features, q, err);
	if (!st)
		st = set_given_features(model, &a->given, q->row, err);
	if (q->elsewhere != elsewhere || memcmp(q->row, was, c->p * sizeof(double)) != 0)
		q->measured = (double)NAN; /* the features now describe another input */
	free(was);
	return st ? st : check_row(c, q->row, err);
}

/* Fails if the error of the model on held-out inputs is above --max-error. */
static enum assay_status check_error(const struct cost_model *model, double max_error, struct assay_error *err)
{
	if (model->all.model.error_mean <= max_error)
		return ASSAY_OK;
	return assay_fail(err, ASSAY_E_NODATA,
			  "the model errs by %.1f %% on held-out inputs, which is more than %.3g %% (--max-error): more inputs or better "
			  "features are needed ('assay cost train' shows the model)",
			  100 * model->all.model.error_mean, 100 * max_error);
}

/* Fails if the row only allows the model of static features, and the error of that model is above --max-error. */
static enum assay_status check_static_model_error(const struct cost_model *model, const double *row, double max_error,
						  struct assay_error *err)
{
	const struct cost_fit *fit = cost_fit_choose(model, row);

	if (!fit || fit->model.error_mean <= max_error)
		return ASSAY_OK;
	return assay_fail(
	    err, ASSAY_E_NODATA,
	    "static features predict the cost of this input within %.1f %%, which is more than %.3g %% (--max-error); with counted "
	    "features the error is %.1f %%: run a counting build with this input, and give its counts with --features",
	    100 * fit->model.error_mean, 100 * max_error, 100 * model->all.model.error_mean);
}

/* Adds a remedy to the error if only another version counted in a run with this input. Its counts do not apply to this version's code, but
 * --counts makes the model learn from them. */
static enum assay_status add_remedy(const struct cost_question *q, enum assay_status st, struct assay_error *err)
{
	char *text = mem_string(err->text);

	if (st == ASSAY_E_NODATA && q->other_code)
		(void)assay_fail(
		    err, st,
		    "%s; '%s' counted in a run with this input, but counts depend on the code (--counts %s learns from its counts)", text,
		    q->other.version, q->other.version);
	free(text);
	return st;
}

static enum assay_status predict_or_explain(struct lab *lab, const struct arguments *a, bool terms, struct document *d,
					    struct assay_error *err)
{
	struct cost_model model = { 0 };
	struct cost_machine on = { .name = NULL };
	struct cost_question question = { .row = NULL };
	enum assay_status st = load_model_on(lab, a, &model, &on, err);

	if (!st)
		st = check_error(&model, a->max_error, err);
	if (!st)
		st = fill_question(lab, a, &model, &question, err);
	if (!st)
		st = check_static_model_error(&model, question.row, a->max_error, err);
	question.machine = &on;
	if (on.name) /* the measured cost is that of another machine */
		question.measured = (double)NAN;
	if (!st)
		st = cost_prediction_describe(&model, &question, terms, d, err);
	if (st)
		st = add_remedy(&question, st, err);
	free(question.row);
	costs_other_version_release(&question.other);
	cost_model_release(&model);
	return st;
}

static bool has_input(const struct arguments *a)
{
	return a->input || a->features || a->given.n;
}

static enum assay_status predict_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;

	return has_input(a) ? predict_or_explain(lab, a, false, d, err) : predict_machine(lab, a->selector, a->machine, d, err);
}

static enum assay_status explain_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	return predict_or_explain(lab, arguments, true, d, err);
}

static enum assay_status question_check(void *arguments, struct assay_error *err)
{
	const struct arguments *a = arguments;

	if (!has_input(a))
		return assay_fail(err, ASSAY_E_USAGE, "name an input: --input NAME, --features FILE, or NAME=NUMBER");
	return ASSAY_OK;
}

static enum assay_status predict_check(void *arguments, struct assay_error *err)
{
	const struct arguments *a = arguments;

	if (!has_input(a) && !a->machine)
		return assay_fail(err, ASSAY_E_USAGE,
				  "predict for a machine (--machine MACHINE) or an input (--input NAME, --features FILE, NAME=NUMBER)");
	if (!has_input(a) && (a->of || a->counts || a->degree || a->min_runs != COST_RUNS_MIN || a->max_error != COST_ERROR_MAX))
		return assay_fail(err, ASSAY_E_USAGE, "--of, --counts, --degree, --min-runs and --max-error need an input");
	return ASSAY_OK;
}

/* clang-format off */
#define COST_CHOICE(constant, word, unit, text) [constant] = word,
static const char *const choices[] = { COST_ROWS(COST_CHOICE) [COSTS] = NULL };
#define EXIT_REQUESTED "6 no answer: too few inputs, an error above --max-error, or unknown features of the input."
#define MODEL_OPTIONS(of_machine)                                                                                                          \
	CLI_TEXT("machine", "MACHINE", struct arguments, machine, of_machine " (default: the one with the most inputs)"),                  \
	CLI_CHOICE("of", choices, struct arguments, of, "Cost to model: cpu (CPU time, the default), wall or metric"),               \
	CLI_TEXT("counts", "VERSION", struct arguments, counts,                                                                            \
		 "Version whose runs counted the features, a counting build (default: the version itself)"),                      \
	CLI_INTEGER("min-runs", "N", struct arguments, min_runs, SPARSE_INPUTS_MIN, 1000000,                                               \
		    "Smallest number of inputs to learn from (default: 40; repetitions of an input count once)"),                                \
	CLI_REAL("max-error", "PART", struct arguments, max_error, 0.0, 1000.0,                                                            \
		 "Largest useful mean error on held-out inputs (default: 0.15)"),                                  \
	CLI_INTEGER("degree", "N", struct arguments, degree, 1, SPARSE_DEGREE_MAX,                                                                    \
		    "Products of up to N features (default: 2; 3 with static features only)")
/* clang-format on */

static const struct cli_option train_words[] = { CLI_ARGUMENT("APP[@VERSION]", struct arguments, selector), CLI_END };
static const struct cli_option train_options[] = {
	MODEL_OPTIONS("Machine whose costs are modelled"),
	CLI_FLAG("paper", struct arguments, paper, "Also show the published procedure: coefficients of any sign, absolute errors"),
	CLI_TEXT("selected", "FILE", struct arguments, selected,
		 "Write the counted features that the model uses to FILE, for 'assay build --for features --only'"),
	CLI_REAL("predictor-cost", "PART", struct arguments, predictor_cost, 0.0, 1.0,
		 "Also learn from features that cost at most this fraction of a run, such as 0.05"),
	CLI_TEXT("early", "VERSION", struct arguments, early_version,
		 "Use a counting build whose runs end early: 'assay build --for features --until' (with --predictor-cost)"),
	CLI_TEXT(
	    "slice", "VERSION", struct arguments, slice,
	    "Use a counting build that leaves out most of the program: 'assay build --for features --without' (with --predictor-cost)"),
	CLI_END,
};
static const struct cli_option question_words[] = {
	CLI_ARGUMENT("APP[@VERSION]", struct arguments, selector),
	CLI_ARGUMENTS("NAME=NUMBER", struct arguments, given, 0),
	CLI_END,
};
static const struct cli_option question_options[] = {
	CLI_TEXT("input", "NAME", struct arguments, input, "Input that was run or is in the manifest"),
	CLI_TEXT("features", "FILE", struct arguments, features,
		 "File with features of an input, one line NUMBER NAME each; - is standard input"),
	MODEL_OPTIONS("Machine to predict for; one with too few runs is predicted from fingerprints"),
	CLI_END,
};
static const struct arguments defaults = { .min_runs = COST_RUNS_MIN, .max_error = COST_ERROR_MAX, .predictor_cost = -1.0 };

const struct command cost_train_command = {
	.name = "cost train",
	.summary = "learn a model of the cost of inputs",
	.about = "Learns from the runs of a version with many inputs how its cost depends on the input. The model is a sparse polynomial "
		 "of static features (arguments, file sizes, the output of the manifest's 'features') and of features counted in the runs. "
		 "Prints the model, its errors on held-out inputs, the cost of each term, and the excluded features. APP is the name of a "
		 "manifest, without an input. The model is not stored: it follows from the stored runs.",
	.examples = "  assay cost train sorter@1.0\n"
		    "  assay cost train sorter@1.0 --counts counted --paper\n"
		    "  assay cost train sorter@1.0 --format json | jq .terms\n"
		    "  assay cost train sorter@1.0 --counts counted --predictor-cost .05 --early read\n"
		    "  assay cost train sorter@1.0 --counts counted --selected names && assay build --for features --only "
		    "names -- make\n",
	.exit_status = "0, or 4 when the error is above --max-error; 1 failure, 2 usage, 6 too few inputs for a model.",
	.words = train_words,
	.options = train_options,
	.defaults = &defaults,
	.check = train_check,
	CLI_RUN(struct arguments, CLI_LAB_READ, train_run),
};

const struct command predict_command = {
	.name = "predict",
	.summary = "predict the cost of a version on a machine or with an input",
	.about = "With --machine only: predicts the metric of a version on a machine on which it never ran, from the machine's fingerprint "
		 "and the results on other machines. The interval contains the true value in nine of ten cases, slightly less often with "
		 "fewer than ten hardware types.\n\nWith an input: predicts the cost of the input, with a 90 % interval, by the model of "
		 "'assay cost train'. An input unlike all learned inputs is reported as such. For a machine with too few inputs, the model "
		 "of the machine with the most inputs is scaled by the ratio of speeds that the fingerprints of both predict. If the "
		 "fingerprints do not predict that ratio well enough, the prediction is refused.",
	.examples = "  assay predict miniamr --machine issdm-41\n"
		    "  assay predict sorter@1.0 --input large\n"
		    "  assay predict sorter@1.0 'bytes of the input=250000'\n"
		    "  assay predict sorter@1.0 --input large --machine rome07\n"
		    "  ./features new.txt | assay predict sorter@1.0 --features -\n",
	.exit_status = "0, or 4 if the input is unlike all learned inputs; 1 failure, 2 usage, " EXIT_REQUESTED,
	.words = question_words,
	.options = question_options,
	.defaults = &defaults,
	.check = predict_check,
	CLI_RUN(struct arguments, CLI_LAB_READ, predict_run),
};

const struct command cost_explain_command = {
	.name = "cost explain",
	.summary = "show the cost of each term of the model for an input",
	.about = "Prints the prediction of 'assay predict' with an input, and the cost of each term of the model for this input.",
	.examples = "  assay cost explain sorter@1.0 --input large\n",
	.exit_status = "0, or 4 if the input is unlike all learned inputs; 1 failure, 2 usage, " EXIT_REQUESTED,
	.words = question_words,
	.options = question_options,
	.defaults = &defaults,
	.check = question_check,
	CLI_RUN(struct arguments, CLI_LAB_READ, explain_run),
};

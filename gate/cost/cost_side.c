#include "gate/cost/cost_side.h"

#include "base/mem.h"
#include "model/sparse/excess.h"
#include "runs/running/input_features.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cost_side_release(struct cost_side *s)
{
	costs_release(&s->costs);
	costs_release(&s->paired_costs);
	mem_free(s->expected, s->ratio, s->input);
	*s = (struct cost_side){ .model = NULL };
}

/* Sets row[model->costs.p] to the model's features for costs.inputs[input]. */
static void cost_side_row(const struct cost_side *s, size_t input, double *row)
{
	const struct costs *old = &s->model->costs, *new = &s->costs;

	for (size_t j = 0; j < old->p; j++) {
		size_t column = costs_find_column(new, old->names[j]);
		bool zero = costs_is_count(old, j) || input_feature_is_text(old->names[j]);

		row[j] = column != SIZE_MAX ? mat_get(&new->X, input, column) : zero ? 0.0 : (double)NAN;
	}
}

/* Returns the sum of the input's counts in places that no input of the model reached. */
static double unreached_count(const struct cost_side *s, size_t input)
{
	const struct costs *new = &s->costs;
	double sum = 0.0;

	for (size_t j = 0; j < new->p; j++) {
		if (costs_is_count(new, j) && costs_is_new(&s->model->costs, new->names[j]))
			sum += mat_get(&new->X, input, j);
	}
	return sum;
}

/* Returns the result of sparse_find_dissimilar() for a row, which must have all features that the fit of all features uses. */
static size_t find_dissimilar_column(const struct cost_side *s, size_t input, const double *row)
{
	const struct cost_fit *fit = &s->model->all;
	double *part = mem_new(fit->n, sizeof(*part));
	size_t unlike;

	cost_fit_extract_row(fit, row, part);
	unlike = sparse_find_dissimilar(&fit->model, part, unreached_count(s, input));
	free(part);
	return unlike;
}

static size_t count_common_inputs(const struct costs *a, const struct costs *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++)
		n += costs_find_input_by_hash(a, b->inputs[i].hash) != SIZE_MAX;
	return n;
}

/* Loads those runs of both versions that the same `assay run` made. Returns false if there are too few. */
static bool load_interleaved_runs(struct store *store, const struct cost_model *model, const struct costs_request *asked,
				  struct cost_side *s)
{
	struct costs_request old = *asked, new = *asked;
	struct assay_error ignored;
	size_t common;

	if (strcmp(model->costs.application, asked->application) != 0 || !asked->version ||
	    strcmp(model->costs.version, asked->version) == 0)
		return false;
	old.version = new.paired_version = model->costs.version;
	old.paired_version = asked->version;
	if (!costs_load(store, &old, &s->paired_costs, &ignored) && !costs_load(store, &new, &s->costs, &ignored)) {
		common = count_common_inputs(&s->paired_costs, &s->costs);
		if (common >= COST_SIDE_INPUTS_MIN && 2 * common >= s->costs.n)
			return true;
	}
	costs_release(&s->paired_costs);
	costs_release(&s->costs);
	return false;
}

/* Selects the inputs that count, and computes the cost that the model expects for each. */
static enum assay_status inspect_inputs(struct cost_side *s, struct assay_error *err)
{
	const struct cost_fit *fit = &s->model->all;
	double *row = mem_new(s->model->costs.p, sizeof(*row)), *part = mem_new(fit->n, sizeof(*part));
	size_t common = 0;
	enum assay_status st = ASSAY_OK;

	s->expected = mem_new(s->costs.n, sizeof(double));
	s->ratio = mem_new(s->costs.n, sizeof(double));
	s->input = mem_new(s->costs.n, sizeof(size_t));
	for (size_t i = 0; i < s->costs.n && !st; i++) {
		size_t unlike;

		cost_side_row(s, i, row);
		if (cost_fit_choose(s->model, row) != fit)
			st = assay_fail(err, ASSAY_E_NODATA,
					"the model needs features that are not known for input '%s' of %s@%s on '%s': count all inputs "
					"with one version (--counts)",
					s->costs.inputs[i].name, s->costs.application, s->costs.version, s->costs.machine);
		unlike = st ? SIZE_MAX : find_dissimilar_column(s, i, row);
		if (unlike != SIZE_MAX) {
			s->n_dissimilar++;
			s->unlike_column = unlike;
			continue;
		}
		cost_fit_extract_row(fit, row, part);
		s->expected[s->n] = sparse_predict(&fit->model, part);
		s->input[s->n++] = i;
		common +=
		    costs_find_input_by_hash(s->paired_costs.n ? &s->paired_costs : &s->model->costs, s->costs.inputs[i].hash) != SIZE_MAX;
	}
	s->paired = common >= COST_SIDE_INPUTS_MIN && 2 * common >= s->n;
	mem_free(row, part);
	return st;
}

/* Compares the measured costs of the inputs that both versions ran, without the model's expectation. */
static void compare_paired(struct cost_side *s)
{
	const struct costs *olds = s->paired_costs.n ? &s->paired_costs : &s->model->costs;
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct cost_input *new = &s->costs.inputs[s->input[i]];
		size_t old = costs_find_input_by_hash(olds, new->hash);

		if (old == SIZE_MAX)
			continue;
		s->expected[n] = s->expected[i];
		s->input[n] = s->input[i];
		s->ratio[n++] = log(new->median / olds->inputs[old].median);
	}
	s->n = n;
	effect_estimate_pair(s->ratio, n, &s->effect);
	s->effect.is_interleaved = s->paired_costs.n > 0;
}

struct mat cost_side_rows(const struct cost_side *s)
{
	const struct cost_fit *fit = &s->model->all;
	struct mat X = mat_new(s->n, fit->n);
	double *row = mem_new(s->model->costs.p, sizeof(*row));

	for (size_t i = 0; i < s->n; i++) {
		cost_side_row(s, s->input[i], row);
		cost_fit_extract_row(fit, row, X.at + i * X.cols);
	}
	free(row);
	return X;
}

/* Compares each input's measured cost with the cost that the model expects. */
static void compare_unpaired(struct cost_side *s)
{
	struct mat X = cost_side_rows(s);
	double *y = mem_new(s->n, sizeof(*y));
	struct sparse_excess excess;

	for (size_t i = 0; i < s->n; i++)
		y[i] = s->costs.inputs[s->input[i]].median;
	excess = sparse_excess_compute(&s->model->all.model, &X, y, s->ratio);
	s->usual = excess.usual;
	s->effect = (struct effect_pair){ .log_ratio = excess.log_ratio, .noise = excess.noise, .noise_df = excess.df };
	mat_release(&X);
	free(y);
}

enum assay_status cost_side_compare(struct store *store, const struct cost_model *model, const struct costs_request *asked,
				    struct cost_side *out, struct assay_error *err)
{
	struct cost_side s = { .model = model };
	enum assay_status st = load_interleaved_runs(store, model, asked, &s) ? ASSAY_OK : costs_load(store, asked, &s.costs, err);

	if (!st)
		st = inspect_inputs(&s, err);
	if (!st && s.n >= COST_SIDE_INPUTS_MIN && s.paired)
		compare_paired(&s);
	else if (!st && s.n >= COST_SIDE_INPUTS_MIN)
		compare_unpaired(&s);
	*out = s;
	if (st)
		cost_side_release(out);
	return st;
}

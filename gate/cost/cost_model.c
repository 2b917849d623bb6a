#include "gate/cost/cost_model.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEGREE_COUNTED 2 /* counts of nested loops are products already */

void cost_fit_release(struct cost_fit *fit)
{
	sparse_release(&fit->model);
	free(fit->column);
}

void cost_model_release(struct cost_model *model)
{
	cost_fit_release(&model->all);
	cost_fit_release(&model->before);
	costs_release(&model->costs);
	*model = (struct cost_model){ 0 };
}

void cost_fit_extract_row(const struct cost_fit *fit, const double *row, double *part)
{
	for (size_t k = 0; k < fit->n; k++)
		part[k] = row[fit->column[k]];
}

static struct mat rows_of(const struct cost_model *model, const struct cost_fit *fit)
{
	struct mat X = mat_new(model->costs.n, fit->n);

	for (size_t i = 0; i < X.rows; i++)
		cost_fit_extract_row(fit, model->costs.X.at + i * model->costs.p, X.at + i * X.cols);
	return X;
}

const char *cost_fit_column_name(const struct cost_model *model, const struct cost_fit *fit, size_t column)
{
	return column == fit->n ? "places that no input reached" : model->costs.names[fit->column[column]];
}

static bool fit_can_use(const struct cost_fit *fit, const double *row)
{
	for (size_t t = 0; t < fit->model.terms; t++) {
		for (size_t k = 0; k < fit->model.term[t].degree; k++) {
			if (isnan(row[fit->column[fit->model.term[t].column[k]]]))
				return false;
		}
	}
	return fit->n > 0;
}

const struct cost_fit *cost_fit_choose(const struct cost_model *model, const double *row)
{
	if (fit_can_use(&model->all, row))
		return &model->all;
	return fit_can_use(&model->before, row) ? &model->before : NULL;
}

static bool is_varying(const struct mat *X, size_t column)
{
	for (size_t i = 1; i < X->rows; i++) {
		if (mat_get(X, i, column) != mat_get(X, 0, column))
			return true;
	}
	return false;
}

void cost_fit_compute(const struct cost_model *model, const struct cost_request *asked, const bool *has, struct cost_fit *out)
{
	const struct costs *costs = &model->costs;
	size_t *group = mem_new(costs->n, sizeof(*group)), varying = 0;
	double *y = mem_new(costs->n, sizeof(*y));
	bool *counted = mem_new(costs->p, sizeof(*counted)), any = false;
	struct sparse_options how = { .degree = asked->degree, .paper = asked->paper, .counted = counted };
	struct mat X;

	out->column = mem_new(costs->p, sizeof(*out->column));
	for (size_t j = 0; j < costs->p; j++) {
		if (!has[j])
			continue;
		varying += is_varying(&costs->X, j);
		counted[out->n] = costs_is_count(costs, j);
		any = any || costs->origin[j] == COST_COUNTED;
		out->column[out->n++] = j;
	}
	if (!varying)
		out->n = 0;
	if (!how.degree)
		how.degree = any ? DEGREE_COUNTED : SPARSE_DEGREE_MAX;
	X = rows_of(model, out);
	for (size_t i = 0; i < costs->n; i++) {
		group[i] = i;
		y[i] = costs->inputs[i].median;
	}
	if (out->n)
		sparse_fit(&X, y, group, costs->n, &how, &out->model);
	mat_release(&X);
	mem_free(counted, y, group);
}

/* Fits a model to all features, or to the static features only if `before` is true. */
static void fit_known_columns(const struct cost_model *model, bool before, const struct cost_request *asked, struct cost_fit *out)
{
	bool *has = mem_new(model->costs.p, sizeof(*has));

	for (size_t j = 0; j < model->costs.p; j++)
		has[j] = !before || model->costs.origin[j] != COST_COUNTED;
	cost_fit_compute(model, asked, has, out);
	free(has);
}

static enum assay_status check_inputs(const struct cost_request *asked, const struct cost_model *model, struct assay_error *err)
{
	const struct costs *c = &model->costs;
	char *others = c->n_without_counting_run ? mem_format(" that '%s' counted (%zu runs of other inputs are excluded)",
							      asked->costs.counts, c->n_without_counting_run)
						 : mem_string("");
	enum assay_status st = ASSAY_OK;
	size_t least = asked->min_runs > SPARSE_INPUTS_MIN ? asked->min_runs : SPARSE_INPUTS_MIN;

	if (c->n < least)
		st = assay_fail(
		    err, ASSAY_E_NODATA,
		    "%s@%s ran %zu input%s on '%s'%s: at least %zu are needed. A model is reliable from %d on: 'assay cost train "
		    "--min-runs' accepts fewer, a decision does not ('inputs_of' in a manifest makes every file of a directory an input)",
		    c->application, c->version, c->n, text_plural(c->n), c->machine, others, least, COST_RUNS_MIN);
	else if (c->p > SPARSE_COLUMNS_MAX)
		st = assay_fail(err, ASSAY_E_LIMIT, "%zu features are more than a model can have (%d)", c->p, SPARSE_COLUMNS_MAX);
	free(others);
	return st;
}

enum assay_status cost_model_learn(struct store *store, const struct cost_request *asked, struct cost_model *out, struct assay_error *err)
{
	struct cost_model model = { 0 };
	enum assay_status st = costs_load(store, &asked->costs, &model.costs, err);

	if (!st)
		st = check_inputs(asked, &model, err);
	if (!st)
		fit_known_columns(&model, false, asked, &model.all);
	if (!st && !model.all.n)
		st = assay_fail(err, ASSAY_E_NODATA,
				"no feature distinguishes the inputs of %s@%s: add a command 'features' to the manifest that prints "
				"numbers of an input, or use a counting build (docs/cost.md)",
				model.costs.application, model.costs.version);
	if (!st)
		fit_known_columns(&model, true, asked, &model.before);
	*out = model;
	if (st)
		cost_model_release(out);
	return st;
}

struct cost_quantity cost_quantity(enum cost_kind of, double value)
{
	static const struct {
		double unit;
		const char *name;
	} units[] = { { 1.0, "s" }, { 1e-3, "ms" }, { 1e-6, "us" }, { 1e-9, "ns" }, { 1e-12, "ps" } };
	struct cost_quantity out;
	size_t i = 0;

	if (of == COST_METRIC || value == 0.0 || !isfinite(value)) {
		snprintf(out.text, sizeof(out.text), "%.4g%s", value, of == COST_METRIC ? "" : " s");
		return out;
	}
	while (i + 1 < sizeof(units) / sizeof(units[0]) && fabs(value) < units[i].unit)
		i++;
	snprintf(out.text, sizeof(out.text), "%.3g %s", value / units[i].unit, units[i].name);
	return out;
}

/* Appends "(WORDS NAME)" for users, where NAME is the second word of a feature's name that starts with `kind`. Returns false if the
 * feature's name does not start with `kind`. */
static bool placeholder_arguments(const char *name, const char *kind, const char *words, struct buf *out)
{
	size_t n = strlen(kind);

	if (strncmp(name, kind, n) != 0)
		return false;
	buf_format(out, "(%s %.*s)", words, (int)strcspn(name + n, " "), name + n);
	return true;
}

void cost_feature_text(const char *name, struct buf *out)
{
	if (placeholder_arguments(name, "loop ", "iterations of the loop at", out) || placeholder_arguments(name, "call ", "calls of", out))
		return;
	buf_format(out, strchr(name, ' ') ? "(%s)" : "%s", name);
}

void cost_term_text(const struct cost_model *model, const struct cost_fit *fit, const struct sparse_term *term, struct buf *out)
{
	for (size_t k = 0; k < term->degree; k++) {
		if (k)
			buf_text(out, " * ");
		cost_feature_text(cost_fit_column_name(model, fit, term->column[k]), out);
	}
}

void cost_append_formula(const struct cost_model *model, const struct cost_fit *fit, struct buf *out)
{
	const struct sparse *m = &fit->model;

	buf_text(out, "T =");
	for (size_t t = 0; t < m->terms; t++) {
		double c = m->term[t].coefficient;

		buf_format(out, " %s%s * ", t ? (c < 0.0 ? "- " : "+ ") : (c < 0.0 ? "-" : ""),
			   cost_quantity(model->costs.kind, fabs(c)).text);
		cost_term_text(model, fit, &m->term[t], out);
	}
	if (m->intercept != 0.0 || !m->terms)
		buf_format(out, " %s%s", m->terms ? (m->intercept < 0.0 ? "- " : "+ ") : "",
			   cost_quantity(model->costs.kind, m->terms ? fabs(m->intercept) : m->intercept).text);
}

#include "gate/cost/cost_answer.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "gate/cost/cost_side.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXCLUDED_SHOWN 12 /* maximum number of duplicate features that the text output lists */

ORDER_BY(compare_machines, struct run, BY_TEXT(machine))

/* Adds to the set a run on this machine whose metric is the machine's cost ratio of the same work. Adds nothing if too few inputs count. */
static enum assay_status add_machine(struct lab *lab, const struct cost_model *model, const struct cost_request *asked, char *machine,
				     struct run_set *set, struct assay_error *err)
{
	struct costs_request there = asked->costs;
	struct cost_side side = { .model = NULL };
	enum assay_status st = ASSAY_OK;
	struct run run = { .machine = machine, .repetition = 1, .metric = 1.0, .recorded = 1 };
	const struct costs *costs = &model->costs;

	there.machine = machine;
	there.version = model->costs.version;
	if (strcmp(machine, model->costs.machine) != 0) {
		st = cost_side_compare(&lab->store, model, &there, &side, err);
		costs = &side.costs;
		run.metric = exp(side.effect.log_ratio);
	}
	if (!st && (!side.model || side.n >= COST_SIDE_INPUTS_MIN)) {
		snprintf(run.fingerprint, sizeof(run.fingerprint), "%s", costs->fingerprint);
		snprintf(run.architecture, sizeof(run.architecture), "%s", costs->architecture);
		set->items[set->n++] = run;
	}
	cost_side_release(&side);
	return st;
}

/* Fills *set with one run per machine that ran the version and is not known to have another architecture than the model's machine. */
static enum assay_status load_runs(struct lab *lab, const struct evidence *evidence, const struct cost_model *model,
				   const struct cost_request *asked, struct run_set *set, struct assay_error *err)
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

static enum assay_status predict_for_machine(const struct evidence *evidence, const struct run_set *set, const struct dataset *dataset,
					     struct profile_rows *rows, struct cost_machine *out, struct assay_error *err)
{
	const struct fingerprint_set *fingerprints = &evidence->fingerprints;
	const struct fingerprint *f = NULL;
	double *rates = mem_new(rows->rates.cols, sizeof(*rates));
	enum assay_status st = prediction_find_fingerprint(
	    fingerprints, out->name, fingerprint_find(fingerprints, set->items[dataset->run[0]].fingerprint), &f, err);
	size_t type = st ? SIZE_MAX : types_find(&evidence->types, f->id);

	out->machines = rows->rates.rows;
	out->types = rows->types;
	for (size_t t = 0; type < evidence->types.n && t < rows->types; t++)
		out->type_ran |= strcmp(rows->type_names[t], evidence->types.types[type].name) == 0;
	if (!st) {
		snprintf(out->fingerprint, sizeof(out->fingerprint), "%s", f->id);
		profile_fill_rates(fingerprints, f, rows, rates);
	}
	if (!st && !prediction_compute(rows, rates, &out->relative_cost))
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

	dataset_build(evidence, set, true, &dataset);
	profile_rows_build(evidence, set, &dataset, &rows);
	if (rows.types < PREDICTION_MODEL_TYPES)
		st = assay_fail(err, ASSAY_E_NODATA,
				"its cost on '%s' cannot be predicted from fingerprints: '%s@%s' ran enough inputs on %zu hardware type%s "
				"with a fingerprint; %d are needed to validate such a prediction. Run it there, or on %zu more",
				out->name, set->application, set->version, rows.types, text_plural(rows.types), PREDICTION_MODEL_TYPES,
				PREDICTION_MODEL_TYPES - rows.types);
	else
		st = predict_for_machine(evidence, set, &dataset, &rows, out, err);
	profile_rows_release(&rows);
	dataset_release(&dataset);
	return st;
}

enum assay_status cost_machine_predict(struct lab *lab, const struct cost_model *model, const struct cost_request *asked, const char *name,
				       double max_error, struct cost_machine *out, struct assay_error *err)
{
	struct evidence evidence;
	struct run_set set = { .items = NULL };
	enum assay_status st = evidence_load(lab, &evidence, err);

	*out = (struct cost_machine){ .name = name };
	if (st)
		return st;
	st = load_runs(lab, &evidence, model, asked, &set, err);
	if (!st)
		st = predict_ratio(&evidence, &set, out, err);
	out->error = hypot(model->all.model.error_mean, out->relative_cost.mape);
	if (!st && out->error > max_error)
		st = assay_fail(
		    err, ASSAY_E_NODATA,
		    "fingerprints do not predict the cost of '%s@%s' on '%s' well enough: their error on held-out hardware types is %.1f "
		    "%%, and that of the model on held-out inputs %.1f %%, together more than %.3g %% (--max-error); run it there",
		    set.application, set.version, name, 100 * out->relative_cost.mape, 100 * model->all.model.error_mean, 100 * max_error);
	free(set.items);
	evidence_release(&evidence);
	return st;
}

/* Returns the factor of the interval on this machine. It combines `interval`, the factor on the model's machine, with the independent error
 * of the predicted ratio. */
static double cost_machine_interval(const struct cost_machine *m, double interval)
{
	return exp(hypot(log(interval), m->relative_cost.half));
}

/* Adds the member `elsewhere` and two lines. The member is null for the machine of the model. */
static void cost_machine_answer(const struct cost_machine *m, const struct cost_model *model, struct document *d)
{
	double ratio = exp(m->relative_cost.log_cost);

	if (!m->name) {
		doc_set(d, "elsewhere", DOC_NULL_VALUE);
		return;
	}
	doc_object(d, "elsewhere");
	doc_set(d, "learned_on", model->costs.machine);
	doc_set(d, "ratio", ratio);
	doc_set(d, "low", ratio * exp(-m->relative_cost.half));
	doc_set(d, "high", ratio * exp(m->relative_cost.half));
	doc_set(d, "fingerprint", m->fingerprint);
	doc_set_bool(d, "type_ran", m->type_ran);
	doc_set(d, "hardware_types", m->types);
	doc_set(d, "machines", m->machines);
	doc_set(d, "stressors", m->relative_cost.stressors);
	doc_set(d, "mape", m->relative_cost.mape);
	doc_set(d, "q2", m->relative_cost.q2);
	doc_set(d, "error", m->error);
	doc_end(d);
	doc_line(d,
		 "'%s' has not run enough inputs: by its fingerprint the same work should cost %.3f times as much there as on '%s' (%.3f "
		 "to %.3f)",
		 m->name, ratio, model->costs.machine, ratio * exp(-m->relative_cost.half), ratio * exp(m->relative_cost.half));
	doc_line(d, "(from %zu machines of %zu hardware types that ran it; on held-out types the error is %.1f %%, Q2 %.2f)", m->machines,
		 m->types, 100 * m->relative_cost.mape, m->relative_cost.q2);
}

/* Adds the list of inputs that were run under several names. */
static void add_names(const struct costs *c, struct document *d)
{
	const struct cost_input *first = NULL;
	size_t n = 0;

	doc_list(d, "same");
	doc_hide(d);
	for (size_t i = 0; i < c->n; i++) {
		first = !first && c->inputs[i].n_aliases ? &c->inputs[i] : first;
		for (size_t k = 0; k < c->inputs[i].n_aliases; k++, n++) {
			doc_object(d, NULL);
			doc_set(d, "input", c->inputs[i].aliases[k]);
			doc_set(d, "as", c->inputs[i].name);
			doc_end(d);
		}
	}
	doc_end(d);
	if (n)
		doc_line(d, "(%zu input name%s with the content of another input: '%s' is '%s'%s)", n, text_plural(n), first->aliases[0],
			 first->name, n > 1 ? ", ..." : "");
}

/* Adds the facts about the runs. `machine` is the machine that the question is about. */
static void add_head(const struct cost_model *model, const char *machine, struct document *d)
{
	const struct costs *c = &model->costs;
	size_t runs = 0;

	for (size_t i = 0; i < c->n; i++)
		runs += c->inputs[i].runs;
	doc_set(d, "application", c->application);
	doc_set(d, "version", c->version);
	doc_set(d, "machine", machine);
	doc_set(d, "cost", cost_kind_text(c->kind));
	doc_set(d, "inputs", c->n);
	doc_set(d, "runs", runs);
	doc_set(d, "features", c->p);
	doc_line(d, "%s of %s@%s on %s; learned from %zu inputs (%zu runs) with %zu feature%s", cost_kind_text(c->kind), c->application,
		 c->version, c->machine, c->n, runs, c->p, text_plural(c->p));
	if (c->n_machines > 1)
		doc_line(d, "(of %zu machines that ran it; --machine chooses another)", c->n_machines);
	if (c->n_other_builds)
		doc_line(d, "(%zu run%s of other builds of it do not count)", c->n_other_builds, text_plural(c->n_other_builds));
	if (c->n_without_counting_run)
		doc_line(d, "(%zu run%s of inputs that were not counted do not count)", c->n_without_counting_run,
			 text_plural(c->n_without_counting_run));
	add_names(c, d);
}

/* Returns the mean share of a term in the expected cost, over all learned inputs. */
static double term_share(const struct cost_model *model, const struct cost_fit *fit, const struct sparse_term *term)
{
	double *part = mem_new(fit->n, sizeof(*part)), sum = 0.0;

	for (size_t i = 0; i < model->costs.n; i++) {
		cost_fit_extract_row(fit, model->costs.X.at + i * model->costs.p, part);
		sum += sparse_term_cost(term, part) / sparse_predict(&fit->model, part) / (double)model->costs.n;
	}
	free(part);
	return sum;
}

static void add_term(const struct cost_model *model, const struct cost_fit *fit, const struct sparse_term *term, struct document *d)
{
	struct buf words = BUF_INIT;
	double share = term_share(model, fit, term);

	cost_term_text(model, fit, term, &words);
	doc_row(d);
	doc_show(d, NULL, "term", words.bytes);
	doc_list(d, "features");
	for (size_t k = 0; k < term->degree; k++)
		doc_set(d, NULL, cost_fit_column_name(model, fit, term->column[k]));
	doc_end(d);
	doc_showf(d, "coefficient", "each", term->coefficient, "%s", cost_quantity(model->costs.kind, term->coefficient).text);
	doc_showf(d, "share", "share", share, "%.1f %%", 100.0 * share);
	if (term->degree == 1) {
		const struct sparse_column *c = &fit->model.column[term->column[0]];

		doc_set(d, "low", c->low);
		doc_set(d, "high", c->high);
		doc_showf(d, NULL, "learned", c->low, c->high >= 1e4 && c->high < 1e15 ? "%.0f to %.0f" : "%.4g to %.4g", c->low, c->high);
		doc_show(d, "known", "known", cost_origin_code(model->costs.origin[fit->column[term->column[0]]]));
	}
	buf_release(&words);
}

static void add_fit(const struct cost_model *model, const struct cost_fit *fit, struct document *d)
{
	const struct sparse *m = &fit->model;
	struct buf sentence = BUF_INIT;

	cost_append_formula(model, fit, &sentence);
	doc_set(d, "sentence", sentence.bytes);
	doc_set(d, "intercept", m->intercept);
	doc_set(d, "error", m->error_mean);
	doc_set(d, "error_median", m->error_median);
	doc_set(d, "unlike", m->n_dissimilar);
	doc_set(d, "interval", m->interval);
	doc_set(d, "level", SPARSE_COVERAGE);
	doc_table(d, "terms");
	for (size_t t = 0; t < m->terms; t++)
		add_term(model, fit, &m->term[t], d);
	doc_end(d);
	buf_release(&sentence);
}

/* Adds a line such as "b is 2 * (a) + 5". Omits a factor of 1 and an offset of 0. */
static void add_equal_columns(const struct cost_model *model, const struct cost_fit *fit, size_t k, struct document *d)
{
	const struct sparse_column *column = &fit->model.column[k];
	char *slope = mem_format("%.6g", column->slope), *offset = mem_string("");
	bool is_one = strcmp(slope, "1") == 0;

	if (column->offset != 0.0) {
		free(offset);
		offset = mem_format(" %c %.6g", column->offset < 0 ? '-' : '+', fabs(column->offset));
	}
	doc_item(d, "%s is %s%s(%s)%s", cost_fit_column_name(model, fit, k), is_one ? "" : slope, is_one ? "" : " * ",
		 cost_fit_column_name(model, fit, column->same_as), offset);
	mem_free(slope, offset);
}

/* Adds the features that the model excludes, with reasons. The JSON has all of them, the text for users only some. */
static void add_excluded(const struct cost_model *model, struct document *d)
{
	const struct cost_fit *fit = &model->all;
	const struct costs *c = &model->costs;
	size_t never = 0, same = 0;

	doc_list(d, "left");
	doc_hide(d);
	for (size_t k = 0; k < fit->n; k++) {
		const struct sparse_column *column = &fit->model.column[k];

		if (column->same_as == SIZE_MAX)
			continue;
		doc_object(d, NULL);
		doc_set(d, "feature", cost_fit_column_name(model, fit, k));
		doc_set(d, "why", column->same_as == k ? "never_varies" : "same");
		if (column->same_as != k) {
			doc_set(d, "as", cost_fit_column_name(model, fit, column->same_as));
			doc_set(d, "slope", column->slope);
			doc_set(d, "offset", column->offset);
		}
		doc_end(d);
		never += column->same_as == k;
		same += column->same_as != k;
	}
	for (size_t i = 0; i < c->n_unstable + c->n_unknown; i++) {
		doc_object(d, NULL);
		doc_set(d, "feature", i < c->n_unstable ? c->unstable[i] : c->unknown[i - c->n_unstable]);
		doc_set(d, "why", i < c->n_unstable ? "nondeterministic" : "not_in_all");
		doc_end(d);
	}
	doc_end(d);
	if (never + same + c->n_unstable + c->n_unknown)
		doc_heading(d, "Excluded");
	if (never)
		doc_line(d, "%zu never var%s", never, never == 1 ? "ies" : "y");
	if (c->n_unstable)
		doc_line(d, "%zu differ%s when an input is run again: nondeterministic (%s%s)", c->n_unstable,
			 c->n_unstable == 1 ? "s" : "", c->unstable[0], c->n_unstable > 1 ? ", ..." : "");
	if (c->n_unknown)
		doc_line(d,
			 "%zu %s missing in some runs, as where a feature was renamed (%s%s): run those inputs again, or name it as before",
			 c->n_unknown, c->n_unknown == 1 ? "is" : "are", c->unknown[0], c->n_unknown > 1 ? ", ..." : "");
	for (size_t k = 0, shown = 0; k < fit->n && same; k++) {
		const struct sparse_column *column = &fit->model.column[k];

		if (column->same_as == SIZE_MAX || column->same_as == k)
			continue;
		if (shown++ < EXCLUDED_SHOWN)
			add_equal_columns(model, fit, k, d);
	}
	if (same > EXCLUDED_SHOWN)
		doc_line(d, "and %zu more that are another one in other units (--format json has them)", same - EXCLUDED_SHOWN);
}

static void add_errors(const struct cost_model *model, struct document *d)
{
	const struct sparse *all = &model->all.model, *before = &model->before.model;

	doc_line(d, "error on held-out inputs: %.1f %% on average, %.1f %% in the median", 100 * all->error_mean, 100 * all->error_median);
	if (all->n_dissimilar)
		doc_line(d, "%zu of them %s unlike all others, and do%s not count", all->n_dissimilar,
			 all->n_dissimilar == 1 ? "is" : "are", all->n_dissimilar == 1 ? "es" : "");
	if (isfinite(all->interval))
		doc_line(d, "nine of ten new inputs cost between %.3g and %.3g times the prediction", 1.0 / all->interval, all->interval);
	else
		doc_line(d, "too few inputs for an interval");
	if (model->before.n && model->before.n < model->all.n)
		doc_line(d, "error of a model with static features only: %.1f %%", 100 * before->error_mean);
	else if (!model->before.n)
		doc_line(d, "no static feature distinguishes the inputs");
}

static void add_static_fit(const struct cost_model *model, struct document *d)
{
	struct buf sentence = BUF_INIT;

	if (!model->before.n) {
		doc_set(d, "before", DOC_NULL_VALUE);
		return;
	}
	cost_append_formula(model, &model->before, &sentence);
	if (model->before.n < model->all.n) {
		doc_heading(d, "With static features only");
		doc_line(d, "%s", sentence.bytes);
	}
	doc_object(d, "before");
	if (model->before.n == model->all.n)
		doc_hide(d);
	add_fit(model, &model->before, d);
	doc_end(d);
	buf_release(&sentence);
}

static void add_paper(const struct cost_model *paper, struct document *d)
{
	struct buf sentence = BUF_INIT;

	cost_append_formula(paper, &paper->all, &sentence);
	doc_heading(d, "The published procedure");
	doc_line(d, "%s", sentence.bytes);
	doc_line(d, "error on held-out inputs: %.1f %% on average, %.1f %% in the median", 100 * paper->all.model.error_mean,
		 100 * paper->all.model.error_median);
	doc_object(d, "paper");
	doc_hide(d);
	add_fit(paper, &paper->all, d);
	doc_end(d);
	buf_release(&sentence);
}

void cost_model_describe(const struct cost_model *model, double max_error, const struct cost_model *paper, struct document *d)
{
	bool usable = model->all.model.error_mean <= max_error;
	struct buf sentence = BUF_INIT;

	cost_append_formula(model, &model->all, &sentence);
	if (usable)
		doc_answer(d, DOC_PLAIN, "", "%s", sentence.bytes);
	else
		doc_answer(d, DOC_DOUBTFUL, "unreliable", "%.1f %% error on held-out inputs is more than %.3g %% (--max-error): %s",
			   100 * model->all.model.error_mean, 100 * max_error, sentence.bytes);
	doc_set_bool(d, "usable", usable);
	doc_set(d, "max_error", max_error);
	add_head(model, model->costs.machine, d);
	add_errors(model, d);
	doc_line(d, "%s", "");
	add_fit(model, &model->all, d);
	add_static_fit(model, d);
	add_excluded(model, d);
	if (paper)
		add_paper(paper, d);
	d->exit_status = usable ? 0 : 4;
	buf_release(&sentence);
}

static enum assay_status fail_unknown(const struct cost_model *model, const double *row, struct assay_error *err)
{
	const struct cost_fit *fit = model->before.n ? &model->before : &model->all;
	struct buf list = BUF_INIT;
	enum assay_status st;

	for (size_t t = 0; t < fit->model.terms; t++) {
		for (size_t k = 0; k < fit->model.term[t].degree; k++) {
			const char *name = cost_fit_column_name(model, fit, fit->model.term[t].column[k]);

			if (isnan(row[fit->column[fit->model.term[t].column[k]]]) && (!list.size || !strstr(list.bytes, name)))
				buf_format(&list, "%s'%s'", list.size ? ", " : "", name);
		}
	}
	st = assay_fail(err, ASSAY_E_NODATA, "the model needs features that are not known for this input: %s",
			list.size ? list.bytes : "any feature");
	buf_release(&list);
	return st;
}

static void add_dissimilar(const struct cost_model *model, const struct cost_fit *fit, const double *part, double elsewhere, size_t column,
			   struct document *d)
{
	const struct sparse_column nowhere = { .same_as = SIZE_MAX, .counted = true },
				   *c = column < fit->n ? &fit->model.column[column] : &nowhere;
	const char *name = cost_fit_column_name(model, fit, column);
	double value = column < fit->n ? part[column] : elsewhere;
	bool same = c->same_as != SIZE_MAX && c->same_as != column;

	doc_answer(d, DOC_DOUBTFUL, "unlike", "this input is unlike all learned inputs: '%s' is %.6g", name, value);
	doc_object(d, "unlike");
	doc_set(d, "feature", name);
	doc_set(d, "value", value);
	doc_set(d, "low", c->low);
	doc_set(d, "high", c->high);
	doc_end(d);
	if (same)
		doc_line(d, "it was always %.6g * '%s' %+.6g, which would be %.6g here", c->slope,
			 cost_fit_column_name(model, fit, c->same_as), c->offset, c->slope * part[c->same_as] + c->offset);
	else if (c->low == c->high)
		doc_line(d, "it was always %.6g", c->low);
	else
		doc_line(d, "it was between %.6g and %.6g in what was learned", c->low, c->high);
	if (c->counted && !(column < fit->n && sparse_uses_column(&fit->model, column)))
		doc_line(d,
			 "together with other features outside the model, it makes more than %g %% of all counts unlike the learned inputs",
			 100 * SPARSE_UNREACHED_MAX);
}

/* Adds the table `terms`: the cost of each term for an input with the features part[fit->n] and the expected cost `value`. */
static void add_terms_of_input(const struct cost_model *model, const struct cost_fit *fit, const double *part, double value,
			       struct document *d)
{
	doc_table(d, "terms");
	for (size_t t = 0; t < fit->model.terms; t++) {
		const struct sparse_term *term = &fit->model.term[t];
		double cost = sparse_term_cost(term, part);
		struct buf words = BUF_INIT;

		cost_term_text(model, fit, term, &words);
		doc_row(d);
		doc_showf(d, "cost", "costs", cost, "%s", cost_quantity(model->costs.kind, cost).text);
		doc_showf(d, "share", "share", cost / value, "%.1f %%", 100 * cost / value);
		doc_show(d, "term", "for", words.bytes);
		doc_showf(d, "times", "times", cost / term->coefficient, "%.6g", cost / term->coefficient);
		buf_release(&words);
	}
	doc_row(d);
	doc_showf(d, "cost", "costs", fit->model.intercept, "%s", cost_quantity(model->costs.kind, fit->model.intercept).text);
	doc_showf(d, "share", "share", fit->model.intercept / value, "%.1f %%", 100 * fit->model.intercept / value);
	doc_show(d, "term", "for", "every run");
	doc_end(d);
}

/* Adds the other name of the input, or the version whose run gave the input's features. */
static void add_other_run(const struct costs *c, const struct cost_question *q, struct document *d)
{
	bool used = q->other.counts || q->other.features.printed.n;

	doc_set(d, "same_as", q->same_as);
	doc_set(d, "features_of", used ? q->other.version : NULL);
	if (q->same_as)
		doc_line(d, "it is the same input as '%s', under another name", q->same_as);
	if (used)
		doc_line(d, "its %s come from a run of this input by %s@%s", q->other.counts ? "counts" : "own features", c->application,
			 q->other.version);
}

enum assay_status cost_prediction_describe(const struct cost_model *model, const struct cost_question *q, bool terms, struct document *d,
					   struct assay_error *err)
{
	const struct cost_fit *fit = cost_fit_choose(model, q->row);
	const struct costs *c = &model->costs;
	double *part, value, low, high, times, interval;
	size_t unlike;

	if (!fit)
		return fail_unknown(model, q->row, err);
	part = mem_new(fit->n, sizeof(*part));
	cost_fit_extract_row(fit, q->row, part);
	value = sparse_predict(&fit->model, part);
	times = q->machine->name ? exp(q->machine->relative_cost.log_cost) : 1.0;
	interval = q->machine->name ? cost_machine_interval(q->machine, fit->model.interval) : fit->model.interval;
	value *= times;
	low = isfinite(interval) ? value / interval : (double)NAN;
	high = value * interval;
	unlike = sparse_find_dissimilar(&fit->model, part, q->elsewhere);
	if (unlike != SIZE_MAX)
		add_dissimilar(model, fit, part, q->elsewhere, unlike, d);
	else if (isfinite(high))
		doc_answer(d, DOC_PLAIN, "", "%s%s%s, 90 %% interval %s to %s", cost_quantity(c->kind, value).text,
			   q->machine->name ? " on " : "", q->machine->name ? q->machine->name : "", cost_quantity(c->kind, low).text,
			   cost_quantity(c->kind, high).text);
	else
		doc_answer(d, DOC_PLAIN, "", "%s%s%s, without an interval: too few inputs were learned", cost_quantity(c->kind, value).text,
			   q->machine->name ? " on " : "", q->machine->name ? q->machine->name : "");
	if (unlike == SIZE_MAX)
		doc_set(d, "unlike", DOC_NULL_VALUE);
	else
		doc_line(d, "extrapolated beyond the learned inputs, the model predicts %s", cost_quantity(c->kind, value).text);
	doc_set(d, "input", q->input);
	doc_set(d, "value", value);
	doc_set(d, "low", low);
	doc_set(d, "high", high);
	doc_set(d, "level", SPARSE_COVERAGE);
	doc_set_bool(d, "before", fit == &model->before && model->before.n < model->all.n);
	doc_set(d, "measured", q->measured);
	if (!isnan(q->measured))
		doc_line(d, "it was run, and cost %s: %.1f %% %s", cost_quantity(c->kind, q->measured).text,
			 100 * fabs(q->measured / value - 1.0), q->measured >= value ? "more" : "less");
	add_other_run(c, q, d);
	cost_machine_answer(q->machine, model, d);
	add_head(model, q->machine->name ? q->machine->name : c->machine, d);
	if (fit == &model->before && model->before.n < model->all.n)
		doc_line(d, "from static features (error on held-out inputs %.1f %%; with counted features %.1f %%)",
			 100 * fit->model.error_mean, 100 * model->all.model.error_mean);
	else
		doc_line(d, "error on held-out inputs: %.1f %%", 100 * fit->model.error_mean);
	if (terms) {
		doc_line(d, "%s", "");
		if (q->machine->name)
			doc_line(d, "on '%s', where the model was learned; the same work takes %.3f times as long on '%s':", c->machine,
				 times, q->machine->name);
		add_terms_of_input(model, fit, part, value / times, d);
	}
	d->exit_status = unlike == SIZE_MAX ? 0 : 4;
	free(part);
	return ASSAY_OK;
}

#include "gate/detect/input_costs.h"

#include "base/mem.h"
#include "gate/cost/cost_side.h"
#include "gate/cost/cost_words.h"
#include "runs/running/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TERMS_MAX 7	 /* whose counts are looked at, those with most of the cost: of many numbers some foretell by chance */
#define SMALL	  (1e-9) /* of what is expected; far below all costs, in s */

/* The model, and the inputs that it has not learned from. */
struct input_costs {
	struct cost_model model;
	struct cost_side others; /* no more than their features */
};

/* The features of an input as a row of the model's: [model.costs.p]; false: they are not known, or unlike all that were learned. */
static bool row_of(const struct input_costs *c, const char *input, double *row)
{
	const struct costs *learned = &c->model.costs;
	size_t i = costs_input(learned, input);

	if (i != SIZE_MAX) {
		memcpy(row, learned->X.at + i * learned->p, learned->p * sizeof(*row));
		return true;
	}
	i = costs_input(&c->others.costs, input);
	if (i == SIZE_MAX)
		return false;
	cost_side_row(&c->others, i, row);
	return cost_fit_for(&c->model, row) == &c->model.all && cost_side_unlike(&c->others, i, row) == SIZE_MAX;
}

/* What is normal can be learned of inputs alone of which something is known. */
static enum assay_status knows_all(const struct input_costs *c, const struct side *old, struct assay_error *err)
{
	double *row = mem_new(c->model.costs.p, sizeof(*row));
	enum assay_status st = ASSAY_OK;

	for (size_t r = 0; r < old->n && !st; r++) {
		if (!row_of(c, old->runs[r].input, row))
			st = assay_fail(err, ASSAY_E_NODATA,
					"'%s' has samples of the input '%s', whose features are not known, or unlike all that were learned",
					old->what, old->runs[r].input);
	}
	free(row);
	return st;
}

static bool has_features(const struct input_costs *c, const struct side *side)
{
	for (size_t r = 0; r < side->n; r++) {
		if (costs_input(&c->model.costs, side->runs[r].input) == SIZE_MAX &&
		    costs_input(&c->others.costs, side->runs[r].input) == SIZE_MAX)
			return false;
	}
	return true;
}

static size_t n_numbers(const struct input_costs *c)
{
	size_t terms = c->model.all.model.terms;

	return 1 + (terms < TERMS_MAX ? terms : TERMS_MAX);
}

/* The expected cost, then what each term counts, on the scale of numbers among arguments. */
static void numbers_of(const struct input_costs *c, const char *input, double *numbers)
{
	const struct cost_fit *fit = &c->model.all;
	double *row = mem_new(c->model.costs.p, sizeof(*row)), *part = mem_new(fit->n, sizeof(*part));
	bool known = row_of(c, input, row);

	cost_fit_row(fit, row, part);
	numbers[0] = known ? asinh(sparse_predict(&fit->model, part) / SMALL) : (double)NAN;
	for (size_t t = 0; t + 1 < n_numbers(c); t++) {
		struct sparse_term counts = fit->model.term[t];

		counts.coefficient = 1.0;
		numbers[t + 1] = known ? asinh(sparse_term_cost(&counts, part)) : (double)NAN;
	}
	free(row);
	free(part);
}

static void set_side(const struct input_costs *c, struct side *side)
{
	size_t n = n_numbers(c);

	side->n_numbers = n;
	side->numbers = mem_new(n, sizeof(*side->numbers));
	side->numbers[0] = mem_string("the expected cost");
	for (size_t t = 0; t + 1 < n; t++) {
		struct buf words = BUF_INIT;

		cost_term_words(&c->model, &c->model.all, &c->model.all.model.term[t], &words);
		side->numbers[t + 1] = words.bytes;
	}
	for (size_t r = 0; r < side->n; r++) {
		side->runs[r].numbers = mem_new(n, sizeof(double));
		numbers_of(c, side->runs[r].input, side->runs[r].numbers);
	}
}

static enum assay_status learn(struct lab *lab, const char *application, char *const versions[2], const char *counts,
			       struct input_costs *out, struct assay_error *err)
{
	const struct cost_asked asked = { .costs = { .application = application, .version = versions[0], .counts = counts, .of = COST_CPU },
					  .min_runs = COST_RUNS_MIN };
	struct costs_asked others = { .application = application, .version = counts ? counts : versions[1], .of = COST_CPU };
	struct assay_error ignored;
	enum assay_status st = cost_model_of(&lab->store, &asked, &out->model, err);

	if (!st && out->model.all.model.error_mean > COST_ERROR_MAX)
		st = assay_fail(err, ASSAY_E_NODATA,
				"the model of what inputs cost %s@%s errs by %.1f %% on inputs left out (%.3g %% at most)", application,
				versions[0], 100 * out->model.all.model.error_mean, 100 * COST_ERROR_MAX);
	if (!st) /* a version that has no results of its own has none but the inputs that were learned */
		(void)costs_load(&lab->store, &others, &out->others.costs, &ignored);
	return st;
}

enum assay_status input_costs_set(struct lab *lab, const char *const selectors[2], const char *counts, struct side *old, struct side *new,
				  struct assay_error *err)
{
	char *applications[2] = { NULL, NULL }, *versions[2] = { NULL, NULL };
	struct input_costs costs = { .others = { .model = &costs.model } };
	enum assay_status st = ASSAY_OK;

	for (int i = 0; i < 2 && !st; i++)
		st = run_selector(selectors[i], &applications[i], &versions[i], err);
	if (!st && (strcmp(applications[0], applications[1]) != 0 || strchr(applications[0], '/')))
		st = assay_fail(err, ASSAY_E_USAGE, "--counts takes two versions of one application with many inputs, APP@OLD APP@NEW");
	if (!st)
		st = learn(lab, applications[0], versions, counts, &costs, err);
	if (!st)
		st = knows_all(&costs, old, err);
	if (!st && (counts || has_features(&costs, new))) { /* else what their arguments say is more than nothing */
		set_side(&costs, old);
		set_side(&costs, new);
	}
	cost_side_release(&costs.others);
	cost_model_release(&costs.model);
	for (int i = 0; i < 2; i++) {
		free(applications[i]);
		free(versions[i]);
	}
	return counts ? st : ASSAY_OK;
}

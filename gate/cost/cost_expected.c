#include "gate/cost/cost_expected.h"

#include "base/mem.h"
#include "gate/cost/cost_answer.h"
#include "gate/cost/cost_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cost_expected_release(struct cost_expected *expected)
{
	cost_model_release(&expected->model);
	free(expected->candidate);
}

/* NaN: it was not run there, or nothing is known of how. */
static double candidate_cost(struct store *store, const struct costs_asked *of_baseline, const struct run_set *candidate,
			     const struct costs *baseline, const char *input)
{
	struct costs_asked asked = *of_baseline;
	struct assay_error ignored;
	struct costs costs;
	double cost = (double)NAN;

	asked.version = candidate->version;
	asked.machine = baseline->machine;
	if (costs_load(store, &asked, &costs, &ignored))
		return cost;
	if (costs_input(&costs, input) != SIZE_MAX)
		cost = costs.inputs[costs_input(&costs, input)].median;
	costs_release(&costs);
	return cost;
}

void cost_expected_of(struct store *store, const struct run_set *baseline, const struct run_set *candidate, const char *counts,
		      struct cost_expected *out)
{
	const char *slash = strchr(baseline->application, '/'); /* as the store joins them */
	char *application = slash ? mem_bytes(baseline->application, (size_t)(slash - baseline->application)) : NULL;
	const struct cost_asked asked = {
		.costs = { .application = application, .version = baseline->version, .counts = counts, .of = COST_METRIC },
		.min_runs = COST_RUNS_MIN
	};
	struct assay_error ignored;

	*out = (struct cost_expected){ .candidate = NULL };
	if (slash && !baseline->higher_is_better && !cost_model_of(store, &asked, &out->model, &ignored)) {
		out->input = costs_input(&out->model.costs, slash + 1);
		if (out->input != SIZE_MAX && out->model.all.model.error_mean <= COST_ERROR_MAX) {
			out->candidate = mem_string(candidate->version);
			out->measured = candidate_cost(store, &asked.costs, candidate, &out->model.costs, slash + 1);
		}
	}
	free(application);
}

static void add_measured(const struct cost_expected *e, const char *version, double measured, double expected, struct document *d)
{
	enum cost_of of = e->model.costs.of;
	double interval = e->model.all.model.interval;
	bool usual = measured <= expected * interval && measured >= expected / interval;

	if (isnan(measured))
		return;
	doc_row(d);
	doc_show(d, "version", "version", version);
	doc_showf(d, "measured", "measured", measured, "%s", cost_quantity(of, measured).text);
	doc_showf(d, "expected", "expected", expected, "%s", cost_quantity(of, expected).text);
	doc_showf(d, "low", "from", expected / interval, "%s", cost_quantity(of, expected / interval).text);
	doc_showf(d, "high", "to", expected * interval, "%s", cost_quantity(of, expected * interval).text);
	doc_showf(d, "ratio", "times what is expected", measured / expected, "%.3f%s", measured / expected,
		  usual ? "" : ", outside of the interval");
}

void cost_expected_section(const struct cost_expected *e, struct document *d)
{
	const struct costs *c = &e->model.costs;
	const struct cost_fit *fit = &e->model.all;
	double *part, expected;

	if (!e->candidate)
		return;
	part = mem_new(fit->n, sizeof(*part));
	cost_fit_row(fit, c->X.at + e->input * c->p, part);
	expected = sparse_predict(&fit->model, part);
	doc_section(d, "expected", "Expected cost", "What this input should cost",
		    "By what other inputs have cost the baseline ('assay cost explain'). The interval holds nine of ten inputs.");
	doc_object(d, "expected");
	doc_set(d, "machine", c->machine);
	doc_set(d, "inputs", c->n);
	doc_set(d, "error", fit->model.error_mean);
	doc_table(d, "versions");
	add_measured(e, c->version, c->inputs[e->input].median, expected, d);
	add_measured(e, e->candidate, e->measured, expected, d);
	doc_end(d);
	doc_line(d, "%s of one run on %s, learned from %zu inputs (error on inputs left out: %.1f %%)", cost_of_text(c->of), c->machine,
		 c->n, 100 * fit->model.error_mean);
	cost_terms_table(&e->model, fit, part, expected, d);
	doc_end(d);
	free(part);
}

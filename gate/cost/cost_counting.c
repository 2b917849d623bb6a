#include "gate/cost/cost_counting.h"

#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "gate/cost/cost_cheap.h"
#include "gate/cost/cost_words.h"

#include <math.h>
#include <stdlib.h>

void cost_counting_release(struct cost_counting *counting)
{
	mem_free(counting->price, counting->wanted, counting->removed);
	*counting = (struct cost_counting){ .version = NULL };
}

/* ---- prices ---- */

/* How much is counted in an input, each counter once. */
static double counts_of(const struct cost_model *model, size_t input)
{
	const struct cost_fit *fit = &model->all;
	double sum = 0.0;

	for (size_t k = 0; k < fit->n; k++) {
		const struct sparse_column *column = &fit->model.column[k];
		bool again = column->same_as != SIZE_MAX && column->same_as != k && column->slope == 1.0 && column->offset == 0.0;

		if (costs_is_count(&model->costs, fit->column[k]) && !again)
			sum += mat_get(&model->costs.X, input, fit->column[k]);
	}
	return sum;
}

static void find_prices(const struct cost_model *model, const struct cost_version *counting, struct cost_counting *out)
{
	const struct costs *costs = &model->costs;
	double *each = mem_new(counting->inputs, sizeof(*each));

	for (size_t i = 0; i < counting->inputs; i++)
		each[i] = (counting->part[i] - 1.0) * costs->inputs[counting->of[i]].median / fmax(counts_of(model, counting->of[i]), 1.0);
	out->inputs = counting->inputs;
	out->measured = stats_median(counting->part, counting->inputs) - 1.0;
	out->each = fmax(stats_median(each, counting->inputs), 0.0);
	for (size_t j = 0; j < costs->p; j++) {
		for (size_t i = 0; i < costs->n && costs_is_count(costs, j); i++)
			out->price[j] += out->each * mat_get(&costs->X, i, j) / costs->inputs[i].median / (double)costs->n;
	}
	free(each);
}

/* ---- removing ---- */

/* Of what the terms need; *dearest: the column that most of it is of, SIZE_MAX: nothing of it costs anything. */
static double price_of(const struct cost_model *model, const struct cost_counting *counting, size_t *dearest)
{
	double price = 0.0;

	*dearest = SIZE_MAX;
	for (size_t k = 0; k < model->all.n; k++) {
		size_t j = model->all.column[k];

		if (!sparse_uses(&model->all.model, k) || !(counting->price[j] > 0.0))
			continue;
		price += counting->price[j];
		if (*dearest == SIZE_MAX || counting->price[j] > counting->price[*dearest])
			*dearest = j;
	}
	return price;
}

static void note_wanted(const struct cost_model *model, struct cost_counting *counting)
{
	for (size_t k = 0; k < model->all.n; k++) {
		size_t j = model->all.column[k];

		counting->wanted[j] |= model->costs.origin[j] == COST_COUNTED && sparse_uses(&model->all.model, k);
	}
}

static enum assay_status reduce(struct cost_model *model, const struct cost_asked *asked, struct cost_counting *counting,
				struct assay_error *err)
{
	size_t p = model->costs.p, dearest;
	bool *has = mem_new(p, sizeof(*has));
	enum assay_status st = ASSAY_OK;

	note_wanted(model, counting);
	while (!st && price_of(model, counting, &dearest) > counting->allowed) {
		for (size_t j = 0; j < p; j++) {
			counting->removed[j] |= counting->price[j] >= counting->price[dearest];
			has[j] = !counting->removed[j];
		}
		cost_fit_release(&model->all);
		model->all = (struct cost_fit){ .n = 0 };
		cost_fit_of(model, asked, has, &model->all);
		note_wanted(model, counting);
		if (!model->all.n)
			st = assay_fail(err, ASSAY_E_NODATA,
					"nothing that costs at most %.3g %% of a run to count tells the inputs apart (--counting-cost)",
					100 * counting->allowed);
	}
	free(has);
	return st;
}

enum assay_status cost_counting_reduce(struct store *store, struct cost_model *model, const struct cost_asked *asked, double allowed,
				       struct cost_counting *out, struct assay_error *err)
{
	struct cost_version version = { .part = NULL };
	size_t p = model->costs.p;
	enum assay_status st = cost_version_load(store, model, asked->costs.counts, &version, err);

	*out = (struct cost_counting){ .version = asked->costs.counts,
				       .allowed = allowed,
				       .price = mem_new(p, sizeof(*out->price)),
				       .wanted = mem_new(p, sizeof(*out->wanted)),
				       .removed = mem_new(p, sizeof(*out->removed)),
				       .error_all = model->all.model.error_mean };
	if (!st) {
		find_prices(model, &version, out);
		st = reduce(model, asked, out, err);
	}
	cost_version_release(&version);
	if (st)
		cost_counting_release(out);
	return st;
}

/* ---- the answer ---- */

static void add_features(const struct cost_model *model, const struct cost_counting *counting, struct document *d)
{
	doc_table(d, "features");
	for (size_t j = 0; j < model->costs.p; j++) {
		if (!counting->wanted[j])
			continue;
		doc_row(d);
		doc_show(d, "feature", "feature", model->costs.names[j]);
		if (costs_is_count(&model->costs, j))
			doc_showf(d, "price", "to count it", counting->price[j], "%.3g %%", 100 * counting->price[j]);
		else
			doc_show(d, "price", "to count it", DOC_NOTHING);
		doc_set_bool(d, "kept", !counting->removed[j]);
		doc_show(d, NULL, "", counting->removed[j] ? "removed" : "kept");
	}
	doc_end(d);
}

void cost_counting_answer(const struct cost_model *model, const struct cost_counting *counting, struct document *d)
{
	size_t removed = 0, dearest;
	double price = price_of(model, counting, &dearest);

	for (size_t j = 0; j < model->costs.p; j++)
		removed += counting->removed[j];
	doc_heading(d, "What counting costs");
	doc_object(d, "counting");
	doc_set(d, "version", counting->version);
	doc_set(d, "allowed", counting->allowed);
	doc_set(d, "inputs", counting->inputs);
	doc_set(d, "measured", counting->measured);
	doc_set(d, "each_s", counting->each);
	doc_set(d, "price", price);
	doc_set(d, "removed", removed);
	doc_set(d, "error_all", counting->error_all);
	doc_line(d, "runs of %s cost %.1f %% more than those of %s (median of %zu inputs): %s a count", counting->version,
		 100 * counting->measured, model->costs.version, counting->inputs, cost_quantity(model->costs.of, counting->each).text);
	doc_line(d, "a build that counts only what the model needs should cost %.2g %% more (at most %.3g %% allowed)", 100 * price,
		 100 * counting->allowed);
	if (removed)
		doc_line(d, "that is without the %zu feature%s that %s the most expensive: with all of them the error was %.1f %%", removed,
			 text_plural(removed), removed == 1 ? "is" : "are", 100 * counting->error_all);
	add_features(model, counting, d);
	doc_end(d);
}

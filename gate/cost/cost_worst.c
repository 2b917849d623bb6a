#include "gate/cost/cost_worst.h"

#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "gate/cost/cost_words.h"
#include "runs/running/artefact.h"
#include "runs/running/input_features.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct asked {
	const char *name;		  /* borrowed of the manifest */
	double bytes, expected, measured; /* measured: NaN: it was not run */
	bool unlike;
};

static double per_byte(const struct asked *a)
{
	return a->expected / a->bytes;
}

static int by_price(const void *a, const void *b)
{
	const struct asked *x = a, *y = b;

	return per_byte(x) != per_byte(y) ? (per_byte(x) < per_byte(y)) - (per_byte(x) > per_byte(y)) : strcmp(x->name, y->name);
}

static double bytes_of(const struct execution_features *features)
{
	double sum = 0.0;

	for (size_t i = 0; i < features->known.n; i++) {
		if (strncmp(features->known.items[i].name, "bytes of ", 9) == 0)
			sum += features->known.items[i].value;
	}
	return sum;
}

/* False: it has no bytes, or the model needs what is not known of it. */
static bool look_at(const struct cost_model *model, const struct execution_features *features, const char *name, struct asked *out)
{
	size_t run = costs_input(&model->costs, name);
	double *row = mem_new(model->costs.p, sizeof(*row)), *part = mem_new(model->costs.p, sizeof(*part));
	const struct cost_fit *fit;

	costs_row(&model->costs, features, row);
	if (run != SIZE_MAX)
		memcpy(row, model->costs.X.at + run * model->costs.p, model->costs.p * sizeof(*row));
	fit = cost_fit_for(model, row);
	*out = (struct asked){ .name = name,
			       .bytes = bytes_of(features),
			       .measured = run == SIZE_MAX ? (double)NAN : model->costs.inputs[run].median };
	if (fit) {
		cost_fit_row(fit, row, part);
		out->expected = sparse_predict(&fit->model, part);
		out->unlike = sparse_unlike(&fit->model, part, 0.0) != SIZE_MAX;
	}
	free(row);
	free(part);
	return fit && out->bytes > 0.0;
}

static enum assay_status look_at_all(const struct cost_model *model, const struct manifest *manifest, struct asked *all, size_t *n,
				     struct assay_error *err)
{
	char **names = mem_new(manifest->n_inputs, sizeof(*names));
	struct artefact files = { .files = NULL };
	enum assay_status st = artefact_files(manifest, &files, err);

	for (size_t i = 0; i < manifest->n_inputs; i++)
		names[i] = manifest->inputs[i].name;
	if (!st)
		st = artefact_add_inputs(manifest, names, manifest->n_inputs, &files, err);
	for (size_t i = 0; !st && i < manifest->n_inputs; i++) {
		struct execution_features features = { .input = "" };

		input_features_of(manifest, i, &files, &features);
		*n += look_at(model, &features, names[i], &all[*n]);
		execution_features_release(&features);
	}
	artefact_release(&files);
	free(names);
	return st;
}

static void add_input(const struct cost_model *model, const struct asked *a, double usual, struct document *d)
{
	bool run = !isnan(a->measured);

	doc_row(d);
	doc_show(d, "input", "input", a->name);
	doc_showf(d, "bytes", "bytes", a->bytes, "%.0f", a->bytes);
	doc_showf(d, "expected", "expected", a->expected, "%s", cost_quantity(model->costs.of, a->expected).text);
	doc_showf(d, "per_byte", "a byte", per_byte(a), "%s", cost_quantity(model->costs.of, per_byte(a)).text);
	doc_showf(d, "times", "times the median", per_byte(a) / usual, "%.2f", per_byte(a) / usual);
	doc_showf(d, "measured", "measured", a->measured, "%s", run ? cost_quantity(model->costs.of, a->measured).text : "not run");
	doc_set_bool(d, "unlike", a->unlike);
	doc_show(d, NULL, "", a->unlike ? "unlike all that were learned" : "");
}

/* How those of the first that were not run are run. */
static void add_command(const struct cost_model *model, const struct asked *all, size_t n, struct document *d)
{
	struct buf list = BUF_INIT;
	char *command;

	for (size_t i = 0; i < n; i++) {
		if (isnan(all[i].measured))
			buf_format(&list, "%s%s", list.size ? "," : "", all[i].name);
	}
	if (!list.size)
		return;
	command = text_command(
	    (const char *const[]){ "run", model->costs.application, "--versions", model->costs.version, "--inputs", list.bytes, NULL });
	doc_line(d, "to see what they do cost: %s", command);
	free(command);
	buf_release(&list);
}

static void answer(const struct cost_model *model, const struct asked *all, size_t n, size_t shown, struct document *d)
{
	double *prices = mem_new(n, sizeof(*prices)), usual;

	for (size_t i = 0; i < n; i++)
		prices[i] = per_byte(&all[i]);
	usual = stats_median(prices, n);
	shown = shown < n ? shown : n;
	doc_answer(d, DOC_PLAIN, "", "'%s' should cost %s a byte, %.2f times the median of %zu inputs", all->name,
		   cost_quantity(model->costs.of, prices[0]).text, prices[0] / usual, n);
	doc_set(d, "inputs", n);
	doc_set(d, "median_per_byte", usual);
	doc_table(d, "worst");
	for (size_t i = 0; i < shown; i++)
		add_input(model, &all[i], usual, d);
	doc_end(d);
	add_command(model, all, shown, d);
	free(prices);
}

enum assay_status cost_worst_answer(const char *laboratory, const struct cost_model *model, size_t shown, struct document *d,
				    struct assay_error *err)
{
	struct manifest manifest = { .file = NULL };
	struct asked *all = NULL;
	size_t n = 0;
	enum assay_status st = manifest_open(laboratory, model->costs.application, &manifest, err);

	if (!st) {
		all = mem_new(manifest.n_inputs, sizeof(*all));
		st = look_at_all(model, &manifest, all, &n, err);
	}
	if (!st && !n)
		st = assay_fail(err, ASSAY_E_NODATA,
				"no input of %s has bytes of which the model can say before a run what they cost: inputs are files of "
				"'inputs_of', or arguments name files",
				model->costs.application);
	if (!st) {
		qsort(all, n, sizeof(*all), by_price);
		answer(model, all, n, shown, d);
	}
	free(all);
	manifest_release(&manifest);
	return st;
}

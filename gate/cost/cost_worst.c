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
	double bytes, expected, measured; /* measured: NaN: it was not run, or failed */
	double beyond;			  /* expected of it alone, without what every run costs */
	bool unlike, failed;
};

/* Of what an input should cost, that must be its own: more than the model errs by, within these. What a run costs at least is not all in
 * the intercept: work that is done once for a few bytes as for many is counted. */
#define OWN_PART_MIN  .05
#define OWN_PART_MOST .5

enum look { LOOK_COUNTS, LOOK_EMPTY, LOOK_UNKNOWN, LOOK_SMALL, LOOKS };

struct all_asked {
	struct asked *items; /* [n] */
	size_t n, looks[LOOKS];
};

/* Of an input of few bytes what every run costs would say nothing but that it is small. */
static double per_byte(const struct asked *a)
{
	return a->beyond / a->bytes;
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

/* Unknown: the model needs what is not known of it, or errs too much by what is. */
static enum look look_at(const struct cost_model *model, double max_error, const struct execution_features *features, const char *name,
			 struct asked *out)
{
	size_t run = costs_input(&model->costs, name);
	double *row = mem_new(model->costs.p, sizeof(*row)), *part = mem_new(model->costs.p, sizeof(*part));
	const struct cost_fit *fit;
	double own;

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
		out->beyond = out->expected - fit->model.intercept;
		out->unlike = sparse_unlike(&fit->model, part, 0.0) != SIZE_MAX;
	}
	mem_free(row, part);
	if (out->bytes <= 0.0)
		return LOOK_EMPTY;
	if (!fit || fit->model.error_mean > max_error)
		return LOOK_UNKNOWN;
	own = fmin(OWN_PART_MOST, fmax(OWN_PART_MIN, fit->model.error_mean));
	return out->beyond < own * out->expected ? LOOK_SMALL : LOOK_COUNTS;
}

static enum assay_status look_at_all(const struct cost_model *model, double max_error, const struct manifest *manifest,
				     struct all_asked *all, struct assay_error *err)
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
		enum look look;

		input_features_of(manifest, i, &files, &features);
		look = look_at(model, max_error, &features, names[i], &all->items[all->n]);
		all->n += look == LOOK_COUNTS;
		all->looks[look]++;
		execution_features_release(&features);
	}
	artefact_release(&files);
	free(names);
	return st;
}

/* Inputs that were run and gave no result, by the build that the version was last. */
static enum assay_status find_failed(struct lab *lab, const struct costs *c, struct all_asked *all, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_ask(
	    &lab->store, &stmt, err,
	    "SELECT DISTINCT e.input FROM plan AS p JOIN plan_item AS v ON v.plan = p.id AND v.kind = 'version' AND v.name = ?2 JOIN "
	    "execution AS e ON e.plan = p.id AND e.version = ?2 WHERE p.application = ?1 AND p.probe IS NULL AND e.machine = ?3 AND "
	    "e.outcome <> 'ok' AND v.artefact = (SELECT w.artefact FROM plan AS q JOIN plan_item AS w ON w.plan = q.id AND w.kind = "
	    "'version' AND w.name = ?2 WHERE q.application = ?1 AND q.probe IS NULL ORDER BY q.started_ms DESC, q.id DESC LIMIT 1)",
	    "ttt", c->application, c->version, c->machine);

	while (store_next(&lab->store, stmt, &st, err)) {
		for (size_t i = 0; i < all->n; i++)
			all->items[i].failed |= isnan(all->items[i].measured) && strcmp(all->items[i].name, store_text(stmt, 0)) == 0;
	}
	return store_finish(stmt, st);
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
	doc_set(d, "measured", a->measured);
	doc_show(d, NULL, "measured", run ? cost_quantity(model->costs.of, a->measured).text : a->failed ? "failed" : "not run");
	doc_set_bool(d, "failed", a->failed);
	doc_set_bool(d, "unlike", a->unlike);
	doc_show(d, NULL, "", a->unlike ? "unlike all that were learned" : "");
}

/* How those of the first that were not run are run. */
static void add_command(const struct cost_model *model, const struct asked *all, size_t n, struct document *d)
{
	struct buf list = BUF_INIT;
	char *command;

	for (size_t i = 0; i < n; i++) {
		if (isnan(all[i].measured) && !all[i].failed)
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

/* Of the manifest's inputs, what the table cannot have. */
static void add_left(const struct all_asked *all, struct document *d)
{
	static const struct {
		const char *key, *why;
	} left[LOOKS] = { [LOOK_EMPTY] = { "empty", "they have no bytes" },
			  [LOOK_UNKNOWN] = { "unknown", "what is known before a run does not say what they cost, within --max-error" },
			  [LOOK_SMALL] = { "small", "most of what they cost every run does, and the rest says little" } };

	for (int i = LOOK_EMPTY; i < LOOKS; i++) {
		doc_set(d, left[i].key, all->looks[i]);
		if (all->looks[i])
			doc_line(d, "(%zu left out: %s)", all->looks[i], left[i].why);
	}
}

static void answer(const struct cost_model *model, const struct all_asked *asked, size_t shown, struct document *d)
{
	const struct asked *all = asked->items;
	size_t n = asked->n;
	double *prices = mem_new(n, sizeof(*prices)), usual;

	for (size_t i = 0; i < n; i++)
		prices[i] = per_byte(&all[i]);
	usual = stats_median(prices, n);
	shown = shown < n ? shown : n;
	doc_answer(d, DOC_PLAIN, "", "'%s' should cost %s a byte, %.2f times the median of %zu inputs", all->name,
		   cost_quantity(model->costs.of, prices[0]).text, prices[0] / usual, n);
	doc_line(d, "%s", "a byte: beyond what every run costs");
	add_left(asked, d);
	doc_set(d, "inputs", n);
	doc_set(d, "median_per_byte", usual);
	doc_table(d, "worst");
	for (size_t i = 0; i < shown; i++)
		add_input(model, &all[i], usual, d);
	doc_end(d);
	add_command(model, all, shown, d);
	free(prices);
}

enum assay_status cost_worst_answer(struct lab *lab, const char *directory, const struct cost_model *model, double max_error, size_t shown,
				    struct document *d, struct assay_error *err)
{
	struct manifest manifest = { .file = NULL };
	struct all_asked all = { .items = NULL };
	enum assay_status st = manifest_open(directory, model->costs.application, &manifest, err);

	if (!st) {
		all.items = mem_new(manifest.n_inputs, sizeof(*all.items));
		st = look_at_all(model, max_error, &manifest, &all, err);
	}
	if (!st && !all.n && all.looks[LOOK_SMALL])
		st = assay_fail(err, ASSAY_E_NODATA, "what inputs of %s cost is little more than the %s that every run costs",
				model->costs.application, cost_quantity(model->costs.of, model->all.model.intercept).text);
	else if (!st && !all.n)
		st = assay_fail(err, ASSAY_E_NODATA,
				"no input of %s has bytes of which the model can say before a run what they cost: inputs are files of "
				"'inputs_of', or arguments name files",
				model->costs.application);
	if (!st)
		st = find_failed(lab, &model->costs, &all, err);
	if (!st) {
		qsort(all.items, all.n, sizeof(*all.items), by_price);
		answer(model, &all, shown, d);
	}
	free(all.items);
	manifest_release(&manifest);
	return st;
}

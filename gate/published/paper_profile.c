#include "gate/published/paper_profile.h"

#include "base/mem.h"
#include "base/text.h"
#include "gate/profile/profile.h"

enum assay_status paper_profile_of(const struct evidence *evidence, const struct run_set *runs, struct paper_profile *out,
				   struct assay_error *err)
{
	struct paper_profile profile = { .runs = runs };
	double *scale = NULL;
	struct mat X;
	enum assay_status st = ASSAY_OK;

	dataset_of(evidence, runs, &profile.dataset);
	X = mat_new(profile.dataset.X.rows, profile.dataset.X.cols);
	if (X.rows < 2 || X.cols == 0) {
		st = profile_no_rows(runs, &profile.dataset, "at least two results on machines with a fingerprint", X.rows, err);
	} else {
		memcpy(X.at, profile.dataset.X.at, X.rows * X.cols * sizeof(double));
		scale = mem_new(2 * X.cols, sizeof(double));
		gbt_standardise(&X, scale, scale + X.cols);
		st = gbt_fit(&X, profile.dataset.y, &gbt_paper, &profile.gbt, err);
	}
	free(scale);
	mat_release(&X);
	*out = profile;
	if (st)
		paper_profile_release(out);
	return st;
}

void paper_profile_release(struct paper_profile *profile)
{
	gbt_free(profile->gbt);
	dataset_release(&profile->dataset);
	*profile = (struct paper_profile){ 0 };
}

/* ---- the answer ---- */

struct stressor_bar {
	const char *name;
	double value;
};

static int compare_bars(const void *a, const void *b)
{
	const struct stressor_bar *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void paper_bars(const struct stressor_bar *bars, size_t n, size_t shown, struct document *d)
{
	double rest = 0;

	doc_table(d, NULL);
	for (size_t i = 0; i < shown; i++) {
		doc_row(d);
		doc_show(d, NULL, "stressor", bars[i].name);
		doc_showf(d, NULL, "importance", bars[i].value, "%.1f %%", 100 * bars[i].value);
		doc_show(d, NULL, "category", category_name(stressor_category(bars[i].name)));
		doc_bar(d, "", bars[i].value / bars[0].value);
	}
	doc_end(d);
	for (size_t i = shown; i < n; i++)
		rest += bars[i].value;
	if (rest > .0005)
		doc_line(d, "and %.1f %% in %zu others", 100 * rest, n - shown);
}

static void paper_people(const struct paper_profile *p, size_t shown, struct document *d)
{
	const double *importance = gbt_about(p->gbt).importance_per_tree;
	double sums[CATEGORY_COUNT] = { 0 };
	size_t cols = p->dataset.X.cols, n = 0;
	struct stressor_bar *bars = mem_new(cols, sizeof(*bars));

	for (size_t j = 0; j < cols; j++) {
		bars[j] = (struct stressor_bar){ p->dataset.features[j], importance[j] };
		sums[stressor_category(bars[j].name)] += importance[j];
	}
	qsort(bars, cols, sizeof(*bars), compare_bars);
	while (n < cols && n < shown && bars[n].value > 0)
		n++;
	if (n)
		doc_answer(d, DOC_PLAIN, "", "%s@%s varies most with '%s', which has %.1f %% of the importance", p->runs->application,
			   p->runs->version, bars[0].name, 100 * bars[0].value);
	else
		doc_answer(d, DOC_PLAIN, "", "%s@%s has the same metric everywhere: nothing can be inferred from it", p->runs->application,
			   p->runs->version);
	doc_line(d, "published method, unvalidated, from %zu hardware type%s (%zu machine%s, %zu results);", p->dataset.hardware_types,
		 text_plural(p->dataset.hardware_types), p->dataset.machines, text_plural(p->dataset.machines), p->dataset.X.rows);
	doc_line(d, "%.1f features tied a split: stressors that tie share what the data cannot tell apart\n",
		 gbt_about(p->gbt).tied_per_split);
	if (p->dataset.hardware_types < 2)
		doc_line(d, "On a single hardware type nothing differs but noise: do not read anything into these bars.\n");
	if (n) {
		char *categories = profile_categories_text(sums);

		paper_bars(bars, cols, n, d);
		doc_line(d, "\nBy main category: %s", categories);
		free(categories);
	}
	free(bars);
}

static void paper_importances(const char *key, const struct dataset *data, const double *importance, struct document *d)
{
	doc_object(d, key);
	for (size_t j = 0; j < data->X.cols; j++)
		doc_set(d, data->features[j], importance[j]);
	doc_end(d);
}

static void paper_errors(const struct gbt *gbt, struct document *d)
{
	static const size_t stages[] = { 1, 2, 3, 10, 100, 500, 1000 };

	doc_object(d, "train_mse");
	for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
		char stage[24];

		snprintf(stage, sizeof(stage), "%zu", stages[i]);
		doc_set(d, stage, gbt_about(gbt).mse[stages[i]]);
	}
	doc_end(d);
}

void paper_profile_answer(const struct paper_profile *p, size_t shown, struct document *d)
{
	const struct dataset *data = &p->dataset;

	paper_people(p, shown, d);
	doc_set(d, "application", p->runs->application);
	doc_set(d, "version", p->runs->version);
	doc_set(d, "model", "paper");
	doc_set_bool(d, "validated", false);
	doc_set(d, "battery", data->battery);
	doc_set(d, "rows", data->X.rows);
	doc_set(d, "machines", data->machines);
	doc_set(d, "hardware_types", data->hardware_types);
	doc_list(d, "features");
	for (size_t j = 0; j < data->X.cols; j++)
		doc_set(d, NULL, data->features[j]);
	doc_end(d);
	paper_errors(p->gbt, d);
	paper_importances("importances_sum", data, gbt_about(p->gbt).importance_sum, d);
	paper_importances("importances_per_tree", data, gbt_about(p->gbt).importance_per_tree, d);
	doc_set(d, "tied_per_split", gbt_about(p->gbt).tied_per_split);
	doc_set(d, "ambiguous_splits", gbt_about(p->gbt).ambiguous_splits);
	doc_object(d, "left_out");
	profile_left_out_answer(data, NULL, d);
	doc_end(d);
	doc_set_json(d, "other_builds", run_others_json(p->runs));
}

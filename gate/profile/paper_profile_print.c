/* The paper's profile for people and for programs. */
#include "base/mem.h"
#include "fingerprint/battery/stressor.h"
#include "gate/profile/paper_profile.h"
#include "runs/running/run.h"

#include <inttypes.h>

static const size_t stages[] = { 1, 2, 3, 10, 100, 500, 1000 };

/* ---- people ---- */

struct bar {
	const char *name;
	double value;
};

static int compare_bars(const void *a, const void *b)
{
	const struct bar *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Eighths of a cell where the terminal has them. */
static void print_bar(double cells, const struct chart_style *style, struct buf *out)
{
	static const char *const eighths[] = { "", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a", "\u2589" };
	unsigned n = (unsigned)(cells * 8 + .5);

	for (unsigned i = 0; i < n / 8; i++)
		buf_text(out, style->utf8 ? "\u2588" : "#");
	if (style->utf8)
		buf_text(out, eighths[n % 8]);
	else if (n % 8 >= 4)
		buf_char(out, '#');
}

static void print_bars(const struct bar *bars, size_t shown, const struct chart_style *style, struct buf *out)
{
	size_t name_width = 0;
	unsigned width;

	for (size_t i = 0; i < shown; i++)
		name_width = strlen(bars[i].name) > name_width ? strlen(bars[i].name) : name_width;
	width = style->columns > name_width + 40 ? style->columns - (unsigned)name_width - 30 : 10;
	if (width > 60)
		width = 60;
	for (size_t i = 0; i < shown; i++) {
		enum category category = stressor_category(bars[i].name);

		buf_format(out, "  %-*s %5.1f %%  %-10s ", (int)name_width, bars[i].name, 100 * bars[i].value, category_name(category));
		if (style->colours)
			buf_format(out, "\033[38;5;%dm", category_colour(category));
		print_bar(bars[i].value / bars[0].value * width, style, out);
		buf_text(out, style->colours ? "\033[0m\n" : "\n");
	}
}

static void print_categories(const struct bar *bars, size_t n, struct buf *out)
{
	struct bar sums[CATEGORY_COUNT];
	bool first = true;

	for (int c = 0; c < CATEGORY_COUNT; c++)
		sums[c] = (struct bar){ category_name((enum category)c), 0 };
	for (size_t i = 0; i < n; i++)
		sums[stressor_category(bars[i].name)].value += bars[i].value;
	qsort(sums, CATEGORY_COUNT, sizeof(sums[0]), compare_bars);
	buf_text(out, "  by main category: ");
	for (int c = 0; c < CATEGORY_COUNT && sums[c].value > 0; c++) {
		buf_format(out, "%s%s %.0f %%", first ? "" : ", ", sums[c].name, 100 * sums[c].value);
		first = false;
	}
	buf_char(out, '\n');
}

static void print_left_out(const struct dataset *d, struct buf *out)
{
	for (int i = 0; i < LEFT_OUT_COUNT; i++) {
		if (d->left_out[i])
			buf_format(out, "  left out: %zu results: %s\n", d->left_out[i], left_out_text((enum left_out)i));
	}
}

void paper_profile_print(const struct paper_profile *p, size_t shown, const struct chart_style *style, struct buf *out)
{
	const struct dataset *d = &p->dataset;
	const double *importance = gbt_importance_per_tree(p->gbt);
	struct bar *bars = mem_new(d->X.cols, sizeof(*bars));
	double rest = 0;
	size_t n = 0;

	for (size_t j = 0; j < d->X.cols; j++)
		bars[j] = (struct bar){ d->features[j], importance[j] };
	qsort(bars, d->X.cols, sizeof(*bars), compare_bars);
	while (n < d->X.cols && n < shown && bars[n].value > 0)
		n++;
	for (size_t j = n; j < d->X.cols; j++)
		rest += bars[j].value;
	buf_format(out, "%s@%s: what it stresses\n", p->runs->application, p->runs->version);
	buf_format(out, "  published method, unvalidated, from %zu hardware type%s (%zu machines, %zu results);\n"
		   "  %.1f features tied a split: stressors that tie share what the data cannot tell apart\n\n",
		   d->hardware_types, d->hardware_types == 1 ? "" : "s", d->machines, d->X.rows, gbt_tied_per_split(p->gbt));
	if (d->hardware_types < 2)
		buf_text(out, "  On one hardware type nothing differs but noise: do not read anything into these bars.\n\n");
	if (n)
		print_bars(bars, n, style, out);
	else
		buf_text(out, "  the metric is the same everywhere: nothing can be inferred from it\n");
	if (rest > .0005)
		buf_format(out, "  and %.1f %% in %zu others\n", 100 * rest, d->X.cols - n);
	buf_char(out, '\n');
	if (n)
		print_categories(bars, d->X.cols, out);
	print_left_out(d, out);
	free(bars);
}

/* ---- programs ---- */

static void add_importances(cJSON *root, const char *key, const struct dataset *d, const double *importance)
{
	cJSON *object = cJSON_AddObjectToObject(root, key);

	for (size_t j = 0; j < d->X.cols; j++)
		cJSON_AddNumberToObject(object, d->features[j], importance[j]);
}

cJSON *paper_profile_json(const struct paper_profile *p)
{
	const struct dataset *d = &p->dataset;
	cJSON *root = cJSON_CreateObject(), *object;

	cJSON_AddStringToObject(root, "application", p->runs->application);
	cJSON_AddStringToObject(root, "version", p->runs->version);
	cJSON_AddStringToObject(root, "model", "paper");
	cJSON_AddBoolToObject(root, "validated", false);
	cJSON_AddStringToObject(root, "battery", d->battery);
	cJSON_AddNumberToObject(root, "rows", (double)d->X.rows);
	cJSON_AddNumberToObject(root, "machines", (double)d->machines);
	cJSON_AddNumberToObject(root, "hardware_types", (double)d->hardware_types);
	cJSON_AddItemToObject(root, "features", cJSON_CreateStringArray(d->features, (int)d->X.cols));
	object = cJSON_AddObjectToObject(root, "train_mse");
	for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
		char stage[24];

		snprintf(stage, sizeof(stage), "%zu", stages[i]);
		cJSON_AddNumberToObject(object, stage, gbt_train_mse(p->gbt, stages[i]));
	}
	add_importances(root, "importances_sum", d, gbt_importance_sum(p->gbt));
	add_importances(root, "importances_per_tree", d, gbt_importance_per_tree(p->gbt));
	cJSON_AddNumberToObject(root, "tied_per_split", gbt_tied_per_split(p->gbt));
	cJSON_AddNumberToObject(root, "ambiguous_splits", (double)gbt_ambiguous_splits(p->gbt));
	object = cJSON_AddObjectToObject(root, "left_out");
	for (int i = 0; i < LEFT_OUT_COUNT; i++)
		cJSON_AddNumberToObject(object, left_out_code((enum left_out)i), (double)d->left_out[i]);
	cJSON_AddItemToObject(root, "other_builds", run_others_json(p->runs));
	return root;
}

/* The page of assay host list --format html. It shows how much the stressors vary over machines, which stressors are correlated, and in how
 * many ways the machines differ. After section 3 of the quiho paper. All hardware types have the same weight. The numbers are in
 * docs/evidence/statistics.md. */
#include "base/linkage.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/text.h"
#include "fleet/lab/lab.h"
#include "gate/commands/gate_commands.h"
#include "fingerprint/battery/stressor.h"
#include "gate/page/document_html.h"
#include "gate/page/html.h"
#include "gate/page/page_parts.h"
#include "gate/page/svg.h"
#include "model/lapack.h"
#include "model/pca.h"
#include "model/profile/features.h"
#include "runs/running/evidence.h"

#include <math.h>
#include <string.h>

#define FEW_STRESSORS  24 /* maximum number of stressors for which the heat map has wide cells */
#define SHOWN	       10 /* maximum number of components in the table */
#define LOADINGS_SHOWN 4  /* number of stressors that are named per component */
#define ASPECT_MIN     .1 /* minimum extent of the vertical axis, as a fraction of the horizontal one, so that small differences look small */

/* The rates of one stressor on all machines. */
struct explore_stressor {
	const char *name;  /* owned by the dataset */
	size_t machines;   /* number of machines with a rate */
	double *type_rate; /* [n_types] rate of each type: geometric mean of the machines' medians; types without a rate are omitted */
	size_t n_types;
	double middle; /* median of type_rate */
	double cv;     /* coefficient of variation of type_rate; NaN for fewer than two types */
	double within; /* coefficient of variation over the passes of a fingerprint: median within each type, then over types; NaN if all
			  fingerprints have one pass */
};

struct explore {
	const struct evidence *evidence;	 /* owned by the caller */
	const struct fingerprint **fingerprints; /* [n] one per machine and hardware type, sorted by machine, then by type */
	size_t n, machines;			 /* number of fingerprints; number of different machines */
	size_t *type;				 /* [n] index into `types` */
	const char **types;			 /* [n_types] sorted by name; owned by the evidence */
	size_t n_types;
	struct explore_stressor *stressors; /* [n_stressors] sorted by name */
	size_t n_stressors, measured;	    /* number of stressors; number of those with any rate */
	struct features features;	    /* features of the medians [n x n_stressors]; zeroed if n is 0 */
	size_t *order;			    /* [features.n] distinct columns, in an order in which correlated ones are adjacent */
	struct pca pca;			    /* principal components of features.type_logs */
	struct omissions omissions;	    /* excluded machines, fingerprints and stressors */
};

struct candidate {
	const struct fingerprint *f;
	size_t type; /* index into the evidence's types */
};

/* Sorts by machine, hardware type and kind (fingerprint_is_comparable()), with the latest fingerprint first. */
ORDER_BY(compare_candidates, struct candidate,
	 BY_TEXT(f->machine) BY_ASC(type) BY_TEXT(f->battery_hash) BY_TEXT(f->stress_ng) BY_TEXT(f->architecture) BY_DESC(f->taken_ms)
	     BY_TEXT(f->id))

/* Sorts the candidates and keeps only the latest one per machine, hardware type and kind. Returns the number of kept candidates. */
static size_t keep_latest_candidates(struct candidate *all, size_t n, struct omissions *omissions)
{
	size_t kept = 0;

	order_sort(all, n, compare_candidates);
	for (size_t i = 0; i < n; i++) {
		const struct candidate *last = kept ? &all[kept - 1] : NULL;

		if (!last || strcmp(last->f->machine, all[i].f->machine) != 0 || last->type != all[i].type ||
		    !fingerprint_is_comparable(last->f, all[i].f))
			all[kept++] = all[i];
	}
	if (kept < n)
		omissions_add(omissions, "only the latest fingerprint of a machine is used", "%zu earlier fingerprint%s", n - kept,
			      text_plural(n - kept));
	return kept;
}

/* Finds the latest fingerprints with known type of machines in use. Returns their number. */
static size_t candidates_find(const struct evidence *evidence, struct candidate *out, struct omissions *omissions)
{
	const char *last = NULL;
	size_t n = 0, untyped = 0;

	for (size_t i = 0; i < evidence->fingerprints.n; i++) {
		const struct fingerprint *f = &evidence->fingerprints.items[i];
		const struct machine *machine = catalog_find(&evidence->catalog, f->machine);
		size_t type = types_find(&evidence->types, f->id);

		if (machine && machine->retired) {
			if (!last || strcmp(last, f->machine) != 0)
				omissions_add_name(omissions, "no longer in use", "retired machine", "", "%s", f->machine);
			last = f->machine;
		} else if (type == SIZE_MAX) {
			untyped++;
		} else {
			out[n++] = (struct candidate){ f, type };
		}
	}
	if (untyped)
		omissions_add(omissions, "the catalog does not know their hardware type: 'assay check' says more", "%zu fingerprint%s",
			      untyped, text_plural(untyped));
	return keep_latest_candidates(out, n, omissions);
}

static void omit_fingerprint(struct explore *e, const struct fingerprint *f)
{
	const char *why = e->n && fingerprint_is_comparable(f, e->fingerprints[0])
			      ? "more than half of the stressors have no rate in it"
			      : "of another battery, version of stress-ng or architecture than most machines have";

	omissions_add_name(&e->omissions, why, "fingerprint", "", "%s (%s, %s, stress-ng %s, %s)", f->machine, f->id, f->battery,
			   f->stress_ng, f->architecture);
}

/* Selects the fingerprints of the most frequent kind, sorted by machine, then by type. Sets *rates to their medians. */
static void explore_choose(struct explore *e, struct dataset *rates)
{
	struct candidate *all = mem_new(e->evidence->fingerprints.n, sizeof(*all));
	struct run_set runs = { .n = candidates_find(e->evidence, all, &e->omissions) };

	runs.items = mem_new(runs.n, sizeof(*runs.items)); /* one run per fingerprint, for dataset_build() */
	for (size_t i = 0; i < runs.n; i++) {
		runs.items[i].machine = all[i].f->machine;
		memcpy(runs.items[i].fingerprint, all[i].f->id, sizeof(all[i].f->id));
	}
	dataset_build(e->evidence, &runs, true, rates);
	e->n = rates->X.rows;
	e->machines = rates->machines;
	e->fingerprints = mem_new(e->n, sizeof(*e->fingerprints));
	for (size_t i = 0; i < e->n; i++)
		e->fingerprints[i] = all[rates->run[i]].f;
	for (size_t i = 0, k = 0; i < runs.n; i++) {
		if (k < e->n && rates->run[k] == i)
			k++;
		else
			omit_fingerprint(e, all[i].f);
	}
	mem_free(runs.items, all);
}

static void explore_types(struct explore *e, const struct dataset *rates)
{
	const struct types *types = &e->evidence->types;

	e->types = mem_new(types->n, sizeof(*e->types));
	e->type = mem_new(e->n, sizeof(*e->type));
	for (size_t t = 0; t < types->n; t++) {
		bool here = false;

		for (size_t i = 0; i < e->n; i++) {
			if (rates->types[i] != t)
				continue;
			e->type[i] = e->n_types;
			here = true;
		}
		if (here)
			e->types[e->n_types++] = types->types[t].name;
	}
}

/* Returns the coefficient of variation; NaN for fewer than two values. */
static double coefficient_of_variation(const double *x, size_t n)
{
	return n > 1 ? stats_sd(x, n) / stats_mean(x, n) : (double)NAN;
}

/* Returns the coefficient of variation over the passes that measured the stressor; NaN for fewer than two. */
static double pass_cv(const struct fingerprint_set *set, const struct fingerprint *f, size_t stressor)
{
	double *rates = mem_new(f->n_passes, sizeof(*rates)), cv;
	size_t n = 0;

	for (size_t pass = 0; pass < f->n_passes; pass++) {
		if (fingerprint_rate(set, f, pass, stressor) > 0)
			rates[n++] = fingerprint_rate(set, f, pass, stressor);
	}
	cv = coefficient_of_variation(rates, n);
	free(rates);
	return cv;
}

/* Sets by_type[] to the result of summary() for each type that has a value. values[n] has one value per fingerprint; NaN is ignored.
 * Returns the number of these types. */
static size_t summarise_types(const struct explore *e, const double *values, double (*summary)(const double *, size_t), double *by_type)
{
	double *of_type = mem_new(e->n, sizeof(*of_type));
	size_t types = 0;

	for (size_t t = 0; t < e->n_types; t++) {
		size_t n = 0;

		for (size_t i = 0; i < e->n; i++) {
			if (e->type[i] == t && !isnan(values[i]))
				of_type[n++] = values[i];
		}
		if (n)
			by_type[types++] = summary(of_type, n);
	}
	free(of_type);
	return types;
}

/* Describes the stressor in column j of `rates`. values[n] and by_type[n_types] are working memory. */
static void stressor_describe(const struct explore *e, const struct mat *rates, size_t j, double *values, double *by_type,
			      struct explore_stressor *s)
{
	const struct fingerprint_set *set = &e->evidence->fingerprints;
	size_t stressor = 0, types;

	for (size_t i = 0; i < e->n; i++) {
		double rate = mat_get(rates, i, j);

		s->machines += rate > 0;
		values[i] = rate > 0 ? log(rate) : (double)NAN;
	}
	s->n_types = summarise_types(e, values, stats_mean, s->type_rate);
	for (size_t t = 0; t < s->n_types; t++)
		s->type_rate[t] = exp(s->type_rate[t]);
	s->middle = s->n_types ? stats_median(s->type_rate, s->n_types) : (double)NAN;
	s->cv = coefficient_of_variation(s->type_rate, s->n_types);
	while (set->stressors[stressor] != s->name)
		stressor++;
	for (size_t i = 0; i < e->n; i++)
		values[i] = pass_cv(set, e->fingerprints[i], stressor);
	types = summarise_types(e, values, stats_median, by_type);
	s->within = types ? stats_median(by_type, types) : (double)NAN;
}

static void explore_stressors(struct explore *e, const struct dataset *rates)
{
	double *values = mem_new(e->n, sizeof(*values)), *by_type = mem_new(e->n_types, sizeof(*by_type));

	e->n_stressors = rates->X.cols;
	e->stressors = mem_new(e->n_stressors, sizeof(*e->stressors));
	for (size_t j = 0; j < e->n_stressors; j++) {
		struct explore_stressor *s = &e->stressors[j];

		s->name = rates->features[j];
		s->type_rate = mem_new(e->n_types, sizeof(double));
		stressor_describe(e, &rates->X, j, values, by_type, s);
		e->measured += s->machines > 0;
	}
	mem_free(values, by_type);
}

/* Lists as omissions the stressors that only the table of variability shows. */
static void omit_stressors(struct explore *e)
{
	const struct features *f = &e->features;

	for (size_t j = 0; j < e->n_stressors; j++) {
		if (f->state[j] == FEATURE_USED && f->first[f->distinct[j]] == j)
			continue;
		omissions_add_name(
		    &e->omissions,
		    "only in the table of variability: not measured on every machine, the same on all hardware types, or the same "
		    "as another one but for a factor",
		    "stressor", "", "%s (on %zu of %zu)", e->stressors[j].name, e->stressors[j].machines, e->n);
	}
}

/* Sorts the stressors so that correlated ones are adjacent. */
static void explore_order(struct explore *e)
{
	size_t n = e->features.n;
	struct mat distance = mat_new(n, n);

	e->order = mem_new(n, sizeof(*e->order));
	for (size_t i = 0; i < n * n; i++)
		distance.at[i] = stats_round(1 - fabs(stats_round(e->features.correlation.at[i])));
	linkage_order(&distance, e->order);
	mat_release(&distance);
}

/* Selects the latest fingerprint per machine and hardware type, and computes all data of the page. Uses only the battery, stress-ng version
 * and architecture that most machines have. The evidence must outlive *out; the caller calls explore_release(). */
static void explore_compute(const struct evidence *evidence, struct explore *out)
{
	struct explore e = { .evidence = evidence };
	struct dataset rates;

	explore_choose(&e, &rates);
	explore_types(&e, &rates);
	explore_stressors(&e, &rates);
	if (e.n) {
		features_select(&rates.X, e.type, e.n_types, &e.features);
		explore_order(&e);
		pca_compute(&e.features.type_logs, &e.pca);
		omit_stressors(&e);
	}
	*out = e;
	dataset_release(&rates);
}

static void explore_release(struct explore *e)
{
	for (size_t j = 0; j < e->n_stressors; j++)
		free(e->stressors[j].type_rate);
	mem_free(e->stressors, e->fingerprints, e->type, e->types, e->order);
	features_release(&e->features);
	pca_release(&e->pca);
	omissions_release(&e->omissions);
	*e = (struct explore){ 0 };
}

/* Marks of the hardware types. The first types have the first mark in all colours, the next types the second mark, and so on. */
#define COLOURS 12
static const char *const marks[] = { "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0", "M-4.5-4.5h9v9h-9z", "M0-6.5L6.5 0L0 6.5L-6.5 0z",
				     "M0-6L5.6 4.6H-5.6z" };
#define MARKS (sizeof(marks) / sizeof(marks[0]))

static void add_overview(const struct explore *e, struct document *d)
{
	double rank = round(e->features.effective_rank);

	if (!e->n)
		doc_answer(d, DOC_PLAIN, "", "No machine of this catalog has a fingerprint");
	else if (e->machines == 1)
		doc_answer(d, DOC_PLAIN, "", "One machine: there is no other machine to compare it with");
	else if (!e->pca.n)
		doc_answer(d, DOC_PLAIN, "", "%zu machines that are all alike", e->machines);
	else
		doc_answer(d, DOC_PLAIN, "", "%zu machines that differ in about %.0f thing%s", e->machines, rank,
			   text_plural((size_t)rank));
	page_add_fact(d, "Machines", text_fixed((double)e->machines, 0).text, e->n > e->machines ? "some had several hardware types" : "");
	page_add_fact(d, "Hardware types", text_fixed((double)e->n_types, 0).text, "which weigh equally");
	page_add_fact(d, "Stressors", text_fixed((double)e->measured, 0).text, e->n ? e->fingerprints[0]->battery : "");
	page_add_fact(d, "Effective rank", e->pca.n ? text_fixed(e->features.effective_rank, 1).text : "\u2013",
		      "directions in which they differ");
}

/* Sorts by coefficient of variation, the largest first; then stressors without this number, then stressors without a rate. */
static int compare_stressors(const void *a, const void *b)
{
	const struct explore_stressor *x = *(const struct explore_stressor *const *)a, *y = *(const struct explore_stressor *const *)b;
	double xv = isnan(x->cv) ? -!x->machines : x->cv, yv = isnan(y->cv) ? -!y->machines : y->cv;

	if (xv != yv)
		return xv > yv ? -1 : 1;
	return strcmp(x->name, y->name);
}

static struct svg_axis variability_axis(const struct explore *e)
{
	double low = 1, high = 1;

	for (size_t j = 0; j < e->n_stressors; j++) {
		const struct explore_stressor *s = &e->stressors[j];

		for (size_t t = 0; t < s->n_types; t++) {
			low = fmin(low, s->type_rate[t] / s->middle);
			high = fmax(high, s->type_rate[t] / s->middle);
		}
	}
	return svg_ratio_axis(low, high);
}

/* Draws a dot for each type, and a bar over the middle half of the types. */
static void variability_plot(const struct explore_stressor *s, const struct svg_axis *axis, struct document *d)
{
	struct buf svg = BUF_INIT;

	svg_open(0, &svg);
	svg_grid(axis, &svg);
	if (s->n_types > 3)
		html_format(&svg, "<line class=\"box c-%s\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"50%%\" y2=\"50%%\"/>",
			    category_name(stressor_category(s->name)),
			    svg_position(axis, stats_quantile(s->type_rate, s->n_types, .25) / s->middle),
			    svg_position(axis, stats_quantile(s->type_rate, s->n_types, .75) / s->middle));
	for (size_t t = 0; t < s->n_types; t++)
		html_format(&svg, "<circle class=\"dot\" cx=\"%.2f%%\" cy=\"50%%\" r=\"3\"/>",
			    svg_position(axis, s->type_rate[t] / s->middle));
	svg_close(&svg);
	doc_picture(d, "Rate over its median", &svg, NULL);
}

static void add_variability(const struct explore *e, struct document *d)
{
	const struct explore_stressor **sorted = mem_new(e->n_stressors, sizeof(*sorted));
	struct svg_axis axis = variability_axis(e);
	struct buf scale = BUF_INIT;

	doc_section(d, "variability", "Variability", "Variation of each stressor",
		    "Each dot is a hardware type: its rate (bogo-operations per second of CPU time) as a multiple of the stressor's "
		    "median, on a logarithmic scale. The bar holds the middle half of them. The numbers are coefficients of variation: "
		    "over the types, and over the repetitions on one machine. Where the first is not far above the second, the stressor "
		    "distinguishes machines by noise.");
	if (!e->measured)
		doc_styled_line(d, "empty",
				"No fingerprint has a rate in it. " DOC_CODE "assay host measure" DOC_END " takes fingerprints.");
	for (size_t j = 0; j < e->n_stressors; j++)
		sorted[j] = &e->stressors[j];
	qsort(sorted, e->n_stressors, sizeof(*sorted), compare_stressors);
	doc_table(d, NULL);
	doc_style(d, "sortable vary");
	svg_scale(&axis, &scale);
	doc_picture(d, "Rate over its median", &scale, NULL);
	for (size_t j = 0; j < e->n_stressors && sorted[j]->machines; j++) {
		const char *category = category_name(stressor_category(sorted[j]->name));

		doc_row(d);
		doc_showf(d, NULL, "Stressor", "", "%s", sorted[j]->name);
		doc_showf(d, NULL, "Category", category, DOC_MARK("cat") "%s" DOC_END, category);
		doc_style(d, "cc c-%s", category);
		variability_plot(sorted[j], &axis, d);
		doc_showf(d, NULL, "Over types", sorted[j]->cv, "%.1f\u00a0%%", 100 * sorted[j]->cv);
		doc_showf(d, NULL, "Repeated", sorted[j]->within, "%.1f\u00a0%%", 100 * sorted[j]->within);
	}
	doc_end(d);
	free(sorted);
}

static const char *distinct_name(const struct explore *e, size_t distinct)
{
	return e->stressors[e->features.first[distinct]].name;
}

static void add_correlation(const struct explore *e, struct document *d)
{
	const struct features *f = &e->features;

	doc_section(
	    d, "correlation", "Correlation", "Which stressors are correlated",
	    "A machine that is fast at one of them is fast at the other (or slow, where it is opposite). Stressors in one group "
	    "cannot be distinguished by these machines, so a profile speaks of the group. Over few types many look correlated by chance.");
	if (e->n_types < 3 || f->n < 2) {
		doc_styled_line(d, "empty",
				"This needs at least three hardware types and two stressors that were measured on every machine.");
		return;
	}
	page_add_legend(d, "opposite", "together", 1, "Spearman's correlation from \u22121 to +1; the stressors of a group are framed",
			false);
	doc_table(d, NULL);
	doc_style(d, f->n <= FEW_STRESSORS ? "heat wide few" : "heat wide");
	doc_attribute(d, "says", "correlation");
	doc_set_caption(d, "Heat map of correlations");
	doc_style_column(d, "Stressor", "corner");
	for (size_t k = 0; k < f->n; k++) {
		const char *name = distinct_name(e, e->order[k]);
		char *style = mem_format("c-%s", category_name(stressor_category(name)));

		doc_style_column(d, name, style);
		free(style);
	}
	for (size_t i = 0; i < f->n; i++) {
		size_t a = e->order[i];

		doc_row(d);
		doc_showf(d, NULL, "Stressor", "", "%s", distinct_name(e, a));
		for (size_t k = 0; k < f->n; k++) {
			size_t b = e->order[k];
			double r = stats_round(mat_get(&f->correlation, a, b));

			doc_showf(d, NULL, distinct_name(e, b), r, "%s", page_format_signed(r, 2).text);
			page_set_cell_colour(d, r, 1, a != b && f->group[a] == f->group[b] ? " in" : "");
		}
	}
	doc_end(d);
}

/* Returns the stressors with the largest loadings, with their signs. free() it. */
static char *loadings_text(const struct explore *e, size_t component)
{
	const double *loading = &e->pca.loading.at[component * e->pca.loading.cols];
	bool *named = mem_new(e->features.n, sizeof(*named));
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < LOADINGS_SHOWN && i < e->features.n; i++) {
		size_t best = SIZE_MAX;

		for (size_t k = 0; k < e->features.n; k++) {
			if (!named[k] && (best == SIZE_MAX || fabs(loading[k]) > fabs(loading[best]) + 1e-9))
				best = k;
		}
		named[best] = true;
		buf_format(&out, "%s" DOC_MARK("nb") "%s%s" DOC_END, i ? " " : "", loading[best] < 0 ? "\u2212" : "+",
			   distinct_name(e, best));
	}
	free(named);
	return buf_take(&out);
}

static void component_table(const struct explore *e, struct document *d)
{
	double total = 0, sum = 0;
	size_t shown = e->pca.n < SHOWN ? e->pca.n : SHOWN;

	for (size_t k = 0; k < e->pca.n; k++)
		total += e->pca.eigenvalue[k];
	doc_table(d, NULL);
	doc_style(d, "comps");
	for (size_t k = 0; k < shown; k++) {
		double share = e->pca.eigenvalue[k] / total;
		char *loadings = loadings_text(e, k);
		struct buf svg = BUF_INIT;

		doc_row(d);
		doc_showf(d, NULL, "No.", "", "%zu", k + 1);
		doc_showf(d, NULL, "Variance", share, "%.1f\u00a0%%", 100 * share);
		svg_open(20, &svg);
		svg_bar("rest", NULL, 0, 100 * sum, 3, 14, &svg);
		svg_bar("part", NULL, 100 * sum, 100 * (sum + share), 3, 14, &svg);
		svg_close(&svg);
		sum += share;
		doc_picture(d, "Chart", &svg, NULL);
		doc_showf(d, NULL, "Sum", sum, "%.1f\u00a0%%", 100 * sum);
		doc_showf(d, NULL, "Loads most on", loadings, "%s", loadings);
		doc_style(d, "loads");
		free(loadings);
	}
	doc_end(d);
	if (shown < e->pca.n)
		doc_styled_line(d, "muted", "The other %zu of %zu hold %.1f\u00a0%% together.", e->pca.n - shown, e->pca.n,
				100 * (1 - sum));
}

static double component_score(const struct explore *e, size_t machine, size_t component)
{
	return component < e->pca.n ? pca_score(&e->pca, component, &e->features.logs.at[machine * e->features.n]) : 0;
}

static struct svg_axis make_plane_axis(const struct explore *e, size_t component, double least)
{
	double low = -least, high = least;

	for (size_t i = 0; i < e->n; i++) {
		low = fmin(low, component_score(e, i, component));
		high = fmax(high, component_score(e, i, component));
	}
	return svg_linear_axis(low, high);
}

static void add_plane(const struct explore *e, struct document *d)
{
	struct svg_axis x = make_plane_axis(e, 0, 0), y = make_plane_axis(e, 1, ASPECT_MIN * (x.high - x.low));
	struct buf svg = BUF_INIT;

	html_format(&svg, "<svg class=\"plane\" width=\"100%%\" height=\"420\" role=\"img\" aria-label=\"Machines by their first two "
			  "components; the table below has the numbers\">");
	svg_grid(&x, &svg);
	html_format(&svg, "<line class=\"one\" x1=\"0\" x2=\"100%%\" y1=\"%.2f%%\" y2=\"%.2f%%\"/>", 100 - svg_position(&y, 0),
		    100 - svg_position(&y, 0));
	for (size_t i = 0; i < e->n; i++)
		html_format(
		    &svg, "<svg class=\"t%zu\" x=\"%.2f%%\" y=\"%.2f%%\"><path class=\"bar\" d=\"%s\"><title>%s: %s</title></path></svg>",
		    e->type[i] % COLOURS, svg_position(&x, component_score(e, i, 0)), 100 - svg_position(&y, component_score(e, i, 1)),
		    marks[e->type[i] / COLOURS % MARKS], e->fingerprints[i]->machine, e->types[e->type[i]]);
	svg_close(&svg);
	svg_scale(&x, &svg);
	doc_picture(d, NULL, &svg, "Horizontal axis: component 1. %s",
		    e->pca.n > 1 ? "Vertical axis: component 2." : "Only one component exists, so there is no vertical axis.");
}

/* Adds the table of machines with their marks. */
static void add_machines(const struct explore *e, struct document *d)
{
	doc_table(d, NULL);
	doc_style(d, "sortable key-table");
	for (size_t i = 0; i < e->n; i++) {
		struct buf svg = BUF_INIT;

		html_format(&svg,
			    "<svg class=\"key\" width=\"14\" height=\"14\" viewBox=\"-7 -7 14 14\" aria-hidden=\"true\">"
			    "<path class=\"bar\" d=\"%s\"/></svg>",
			    marks[e->type[i] / COLOURS % MARKS]);
		doc_row(d);
		doc_picture(d, "Hardware type", &svg, DOC_NAME "%s" DOC_END, e->types[e->type[i]]);
		doc_style(d, "t%zu", e->type[i] % COLOURS);
		doc_showf(d, NULL, "Machine", "", DOC_NAME "%s" DOC_END, e->fingerprints[i]->machine);
		doc_showf(d, NULL, "Comp. 1", component_score(e, i, 0), "%s", page_format_signed(component_score(e, i, 0), 2).text);
		doc_showf(d, NULL, "Comp. 2", component_score(e, i, 1), "%s", page_format_signed(component_score(e, i, 1), 2).text);
	}
	doc_end(d);
}

static void add_components(const struct explore *e, struct document *d)
{
	doc_section(d, "components", "Components", "In how many independent ways the machines differ",
		    "Principal components of the logarithms of the rates, standardised over the hardware types: independent directions in "
		    "which the machines differ. The effective rank is the number of components if all had the same variance. A profile can "
		    "hardly distinguish more resources than that.");
	if (!e->pca.n) {
		doc_styled_line(d, "empty", "This needs at least two hardware types that differ in a stressor measured on every machine.");
		return;
	}
	component_table(e, d);
	doc_subheading(d, "The machines in the plane of the first two");
	add_plane(e, d);
	add_machines(e, d);
}

/* Appends the page to *out. The same data give the same bytes. */
static void explore_page(const struct explore *e, const char *lab, struct buf *out)
{
	char *title = mem_format("%zu machine%s%s%s", e->machines, text_plural(e->machines), lab ? " of " : "", lab ? lab : "");
	struct html_page page = {
		.title = title, .class = "d-explore", .kind = "explore", .lab = lab, .first = "catalog", .about = "The catalog"
	};
	struct document d;

	document_init(&d);
	add_overview(e, &d);
	add_variability(e, &d);
	add_correlation(e, &d);
	add_components(e, &d);
	page_fingerprints(&d, e->evidence, &(struct page_machines){ e->fingerprints, NULL, e->n });
	omissions_section(&d, &e->omissions);
	html_page(&page, &d, out);
	document_release(&d);
	free(title);
}

enum assay_status explore_show(struct lab *lab, struct document *d, struct assay_error *err)
{
	struct evidence evidence = { 0 };
	struct explore explore = { 0 };
	struct buf page = BUF_INIT;
	enum assay_status st = lapack_load(err);

	if (!st)
		st = evidence_load(lab, &evidence, err);
	if (!st) {
		explore_compute(&evidence, &explore);
		explore_page(&explore, lab->config.name, &page);
		fwrite(page.bytes, 1, page.size, stdout);
		d->is_streamed = true;
	}
	explore_release(&explore);
	evidence_release(&evidence);
	buf_release(&page);
	return st;
}

/* Puts names and rows in canonical order, learns scales, and fits models. */
#include "model/anomaly/detector_parts.h"

#include "base/mem.h"
#include "base/stats.h"
#include "model/parallel.h"

#include <math.h>
#include <string.h>

#define TRAIN_MAX    20000  /* maximum number of training rows of a scorer; of more rows, takes some evenly */
#define CHUNK	     2048   /* number of rows that are judged at once */
#define NORMAL_MAD   1.4826 /* standard deviations per MAD of a normal distribution */
#define NORMAL_WIDTH 3.2897 /* width of the middle nine tenths of a normal distribution, in standard deviations */
#define WITHIN_MIN   4	  /* minimum number of samples in runs with several samples; with fewer, the unit is the spread over all samples */
#define ROUNDING     1e-9 /* maximum difference of equal values, in units */

/* ---- names ---- */

void names_release(struct names *names)
{
	mem_free_all(names->columns, names->p);
	mem_free_all(names->functions, names->n);
	*names = (struct names){ .p = 0 };
}

static int names_compare(const void *a, const void *b, void *names)
{
	const char *const *all = *(const char *const **)names;

	return strcmp(all[*(const size_t *)a], all[*(const size_t *)b]);
}

/* Sorts order[n], indices of the names, by name. ASSAY_E_USAGE if a name occurs twice. */
static enum assay_status sort_unique_names(const char *const *names, size_t n, const char *what, size_t *order, struct assay_error *err)
{
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	if (n)
		qsort_r(order, n, sizeof(*order), names_compare, &names);
	for (size_t i = 1; i < n; i++) {
		if (!strcmp(names[order[i - 1]], names[order[i]]))
			return assay_fail(err, ASSAY_E_USAGE, "the %s '%s' occurs twice", what, names[order[i]]);
	}
	return ASSAY_OK;
}

static size_t names_find(char *const *sorted, size_t n, const char *name)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(sorted[middle], name);

		if (order == 0)
			return middle;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return SIZE_MAX;
}

enum assay_status names_sort(const struct observations *o, struct names *out, size_t *columns, size_t *functions, struct assay_error *err)
{
	size_t *order = mem_new(o->functions, sizeof(*order));
	enum assay_status st = sort_unique_names(o->columns, o->values.cols, "column", columns, err);

	if (!st)
		st = sort_unique_names(o->functions_names, o->functions, "function", order, err);
	*out = (struct names){ .p = st ? 0 : o->values.cols, .n = st ? 0 : o->functions };
	out->columns = mem_new(out->p, sizeof(*out->columns));
	out->functions = mem_new(out->n, sizeof(*out->functions));
	for (size_t j = 0; j < out->p; j++)
		out->columns[j] = mem_string(o->columns[columns[j]]);
	for (size_t i = 0; i < out->n; i++) {
		out->functions[i] = mem_string(o->functions_names[order[i]]);
		functions[order[i]] = i;
	}
	free(order);
	return st;
}

static enum assay_status names_match_columns(const struct names *names, const struct observations *seen, size_t *columns,
					     struct assay_error *err)
{
	size_t *order = mem_new(seen->values.cols, sizeof(*order));
	enum assay_status st = sort_unique_names(seen->columns, seen->values.cols, "column", order, err);

	for (size_t j = 0; j < names->p; j++)
		columns[j] = SIZE_MAX;
	for (size_t i = 0; !st && i < seen->values.cols; i++) {
		size_t j = names_find(names->columns, names->p, seen->columns[order[i]]);

		if (j == SIZE_MAX)
			st = assay_fail(err, ASSAY_E_USAGE, "the normal runs do not have the column '%s', which is in the runs to judge",
					seen->columns[order[i]]);
		else
			columns[j] = order[i];
	}
	for (size_t j = 0; !st && j < names->p; j++) {
		if (columns[j] == SIZE_MAX)
			st = assay_fail(err, ASSAY_E_USAGE, "the normal runs have the column '%s', which is not in the runs to judge",
					names->columns[j]);
	}
	free(order);
	return st;
}

enum assay_status names_match(const struct names *names, const struct observations *seen, size_t *columns, size_t *functions,
			      struct assay_error *err)
{
	size_t *order = mem_new(seen->functions, sizeof(*order));
	enum assay_status st = names_match_columns(names, seen, columns, err);

	if (!st)
		st = sort_unique_names(seen->functions_names, seen->functions, "function", order, err);
	for (size_t i = 0; i < seen->functions; i++)
		functions[i] = names_find(names->functions, names->n, seen->functions_names[i]);
	free(order);
	return st;
}

/* ---- rows ---- */

void rows_release(struct rows *r)
{
	mat_release(&r->z);
	mem_free(r->weight, r->origin, r->groups);
	*r = (struct rows){ 0 };
}

struct row_ordering {
	const struct observations *observations;
	const size_t *columns, *functions;
	const bool *used;
	size_t p;
};

static double row_value(const struct row_ordering *o, size_t row, size_t j)
{
	return mat_get(&o->observations->values, row, o->columns[j]);
}

static int sizes_compare(size_t x, size_t y)
{
	return (x > y) - (x < y);
}

static int rows_compare(const void *a, const void *b, void *context)
{
	const struct row_ordering *o = context;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	int order = sizes_compare(o->functions[o->observations->function[x]], o->functions[o->observations->function[y]]);

	if (!order)
		order = sizes_compare(o->observations->run[x], o->observations->run[y]);
	for (size_t j = 0; !order && j < o->p; j++) {
		if (o->used[j])
			order = (row_value(o, x, j) > row_value(o, y, j)) - (row_value(o, x, j) < row_value(o, y, j));
	}
	if (!order)
		order =
		    (o->observations->weight[x] > o->observations->weight[y]) - (o->observations->weight[x] < o->observations->weight[y]);
	return order ? order : sizes_compare(x, y);
}

static bool is_complete_row(const struct row_ordering *o, size_t row)
{
	for (size_t j = 0; j < o->p; j++) {
		if (o->used[j] && !isfinite(row_value(o, row, j)))
			return false;
	}
	return true;
}

static void rows_group(const struct row_ordering *o, struct rows *r)
{
	size_t capacity = 0;

	for (size_t i = 0; i < r->z.rows; i++) {
		size_t function = o->functions[o->observations->function[r->origin[i]]], run = o->observations->run[r->origin[i]];
		struct row_group *last = r->n_groups ? &r->groups[r->n_groups - 1] : NULL;

		if (last && last->function == function && last->run == run) {
			last->n++;
			continue;
		}
		mem_append(r->groups, r->n_groups, &capacity, (struct row_group){ .function = function, .run = run, .first = i, .n = 1 });
	}
}

void rows_sort(const struct observations *observations, const size_t *columns, size_t p, const bool *used, const size_t *functions,
	       const double *stretch, struct rows *out)
{
	struct row_ordering o = { .observations = observations, .columns = columns, .functions = functions, .used = used, .p = p };
	struct rows r = { .origin = mem_new(observations->values.rows, sizeof(*r.origin)) };
	size_t n = 0;

	for (size_t i = 0; i < observations->values.rows; i++) {
		if (!is_complete_row(&o, i))
			r.n_excluded++;
		else if (functions[observations->function[i]] != SIZE_MAX)
			r.origin[n++] = i;
	}
	if (n)
		qsort_r(r.origin, n, sizeof(*r.origin), rows_compare, &o);
	r.z = mat_new(n, p);
	r.weight = mem_new(n, sizeof(*r.weight));
	for (size_t i = 0; i < n; i++) {
		r.weight[i] = observations->weight[r.origin[i]];
		for (size_t j = 0; j < p; j++) {
			double x = used[j] ? row_value(&o, r.origin[i], j) : 0.0;

			mat_set(&r.z, i, j, fmax(-DETECTOR_VALUE_MAX, fmin(DETECTOR_VALUE_MAX, stretch ? asinh(x / stretch[j]) : x)));
		}
	}
	rows_group(&o, &r);
	*out = r;
}

size_t rows_count_groups(const struct rows *rows, size_t first)
{
	size_t n = 1;

	while (first + n < rows->n_groups && rows->groups[first + n].function == rows->groups[first].function)
		n++;
	return n;
}

/* ---- scales ---- */

double detector_stretch(double min_relevant_delta, double tolerance)
{
	return min_relevant_delta / sinh(tolerance);
}

struct scale scale_new(size_t functions, size_t columns)
{
	struct scale s = { .functions = functions, .columns = columns };

	s.known = mem_new(functions, sizeof(*s.known));
	s.center = mem_new(functions * columns, sizeof(*s.center));
	s.unit = mem_new(functions * columns, sizeof(*s.unit));
	s.low = mem_new(functions * columns, sizeof(*s.low));
	s.high = mem_new(functions * columns, sizeof(*s.high));
	for (size_t i = 0; i < functions * columns; i++)
		s.unit[i] = 1.0;
	return s;
}

static void scale_release(struct scale *s)
{
	mem_free(s->known, s->center, s->unit, s->low, s->high);
}

/* Returns the spread of x [n]: the larger of the scaled MAD and the scaled width of the middle nine tenths. Overwrites x. */
static double robust_spread(double *x, size_t n)
{
	double width, middle;

	if (n < 2)
		return 0.0;
	middle = stats_quantile(x, n, .5);
	width = stats_quantile(x, n, .95) - stats_quantile(x, n, .05);
	for (size_t i = 0; i < n; i++)
		x[i] = fabs(x[i] - middle);
	return fmax(NORMAL_MAD * stats_quantile(x, n, .5), width / NORMAL_WIDTH);
}

/* Appends the distances of x[n] from their median, widened by sqrt(n / (n - 1)), to out[used]. Returns the new number of elements. */
static size_t add_distances(const double *x, size_t n, double *out, size_t used)
{
	double middle, wider;

	if (n < 2)
		return used;
	middle = stats_quantile(x, n, .5);
	wider = sqrt((double)n / (double)(n - 1));
	for (size_t i = 0; i < n; i++)
		out[used++] = wider * (x[i] - middle);
	return used;
}

struct scale_work {
	double *all, *within; /* [samples of the function] values; distances from the median of the run */
};

/* Learns the scale of column j for the function of groups[n]. The unit is the robust spread of samples within runs, at least `tolerance`.
 * `low`, `high` and `center` are of all samples. */
static void scale_learn_column(const struct mat *z, const struct row_group *groups, size_t n, const bool *use, size_t j, double tolerance,
			       struct scale_work *work, struct scale *out)
{
	size_t at = groups[0].function * out->columns + j, samples = 0, within = 0;
	double spread;

	for (size_t g = 0; g < n; g++) {
		if (!use[groups[g].run])
			continue;
		for (size_t i = 0; i < groups[g].n; i++)
			work->all[samples + i] = mat_get(z, groups[g].first + i, j);
		within = add_distances(work->all + samples, groups[g].n, work->within, within);
		samples += groups[g].n;
	}
	if (!samples)
		return;
	out->known[groups[0].function] = true;
	out->low[at] = out->high[at] = work->all[0];
	for (size_t i = 1; i < samples; i++) {
		out->low[at] = fmin(out->low[at], work->all[i]);
		out->high[at] = fmax(out->high[at], work->all[i]);
	}
	out->center[at] = stats_quantile(work->all, samples, .5);
	spread = within >= WITHIN_MIN ? robust_spread(work->within, within) : robust_spread(work->all, samples);
	out->unit[at] = fmax(spread, tolerance);
	out->low[at] = (out->low[at] - out->center[at]) / out->unit[at];
	out->high[at] = (out->high[at] - out->center[at]) / out->unit[at];
}

/* Learns the scales of all functions and columns. O(n log n) per column. */
static void scale_learn(const struct rows *rows, const bool *use, double tolerance, struct scale *scale)
{
	struct scale_work work = { .all = mem_new(2 * rows->z.rows, sizeof(double)) };

	work.within = work.all + rows->z.rows;
	for (size_t g = 0, n; g < rows->n_groups; g += n) {
		n = rows_count_groups(rows, g);
		for (size_t j = 0; j < rows->z.cols; j++)
			scale_learn_column(&rows->z, &rows->groups[g], n, use, j, tolerance, &work, scale);
	}
	free(work.all);
}

const struct detector_scaling detector_asinh = { .stretched = true, .learn = scale_learn };

/* Reports whether column j is constant in the samples of the function. */
static bool scale_is_constant(const struct scale *s, size_t function, size_t j)
{
	size_t at = function * s->columns + j;

	return s->high[at] - s->low[at] <= ROUNDING;
}

/* Converts a row [columns] of z to units [columns] of the function's scale. */
static void scale_row(const struct scale *s, size_t function, const double *row, double *units)
{
	size_t at = function * s->columns;

	for (size_t j = 0; j < s->columns; j++)
		units[j] = (row[j] - s->center[at + j]) / s->unit[at + j];
}

/* ---- fitting ---- */

void models_release(struct models *models)
{
	for (size_t i = 0; i < models->n && models->items; i++) {
		struct model *m = &models->items[i];

		scale_release(&m->scale);
		for (size_t c = 0; c < models->clusters && m->experts; c++) {
			if (m->experts[c].scorer)
				m->experts[c].scorer->kind->free(m->experts[c].scorer);
			free(m->experts[c].columns);
		}
		free(m->experts);
	}
	free(models->items);
	models->items = NULL;
}

struct fit_job {
	const struct rows *rows;
	const bool *const *use;
	struct models *models;
};

static void model_scale(void *context, size_t i)
{
	struct fit_job *f = context;
	struct scale *scale = &f->models->items[i].scale;

	*scale = scale_new(f->models->functions, f->rows->z.cols);
	f->models->options->scaling->learn(f->rows, f->use[i], f->models->options->tolerance, scale);
}

/* Chooses the columns that vary in at least one function of the cluster. */
static void cluster_choose_columns(const struct models *models, const struct scale *scale, size_t cluster,
				   struct cluster_scorer *cluster_scorer)
{
	cluster_scorer->columns = mem_new(scale->columns + 1, sizeof(*cluster_scorer->columns));
	for (size_t j = 0; j < scale->columns; j++) {
		bool varies = false;

		for (size_t function = 0; function < models->functions && !varies; function++)
			varies = models->cluster[function] == cluster && scale->known[function] && !scale_is_constant(scale, function, j);
		if (varies)
			cluster_scorer->columns[cluster_scorer->n_columns++] = j;
	}
}

static bool cluster_learns_from(const struct fit_job *f, size_t model, size_t cluster, const struct row_group *group)
{
	return f->use[model][group->run] && f->models->cluster[group->function] == cluster;
}

/* Gathers X->rows rows in units, evenly from all `total` rows, which are sorted by values within a run. run [X->rows] gets their runs. */
static void cluster_gather_rows(const struct fit_job *f, size_t model, size_t cluster, size_t total, struct mat *X, size_t *run)
{
	const struct scale *scale = &f->models->items[model].scale;
	const struct cluster_scorer *cluster_scorer = &f->models->items[model].experts[cluster];
	double *units = mem_new(scale->columns, sizeof(*units));
	size_t seen = 0, taken = 0;

	for (size_t g = 0; g < f->rows->n_groups; g++) {
		const struct row_group *group = &f->rows->groups[g];

		for (size_t i = 0; cluster_learns_from(f, model, cluster, group) && i < group->n; i++, seen++) {
			if (taken == X->rows || seen < taken * total / X->rows)
				continue;
			scale_row(scale, group->function, &f->rows->z.at[(group->first + i) * f->rows->z.cols], units);
			for (size_t j = 0; j < cluster_scorer->n_columns; j++)
				mat_set(X, taken, j, units[cluster_scorer->columns[j]]);
			run[taken++] = group->run;
		}
	}
	free(units);
	ASSAY_BUG_IF(taken != X->rows);
}

static void model_fit_cluster(void *context, size_t task)
{
	struct fit_job *f = context;
	const struct detector_options *o = f->models->options;
	size_t model = task / f->models->clusters, cluster = task % f->models->clusters, total = 0, *run;
	struct cluster_scorer *cluster_scorer = &f->models->items[model].experts[cluster];
	struct mat X;

	cluster_choose_columns(f->models, &f->models->items[model].scale, cluster, cluster_scorer);
	for (size_t g = 0; g < f->rows->n_groups; g++)
		total += cluster_learns_from(f, model, cluster, &f->rows->groups[g]) ? f->rows->groups[g].n : 0;
	if (total < 2 || cluster_scorer->n_columns == 0)
		return;
	X = mat_new(total < TRAIN_MAX ? total : TRAIN_MAX, cluster_scorer->n_columns);
	run = mem_new(X.rows, sizeof(*run));
	cluster_gather_rows(f, model, cluster, total, &X, run);
	cluster_scorer->scorer = o->scorer->fit(&X, run, o->seed + task * UINT64_C(0x9e3779b97f4a7c15));
	free(run);
	mat_release(&X);
}

void models_fit(const struct rows *rows, const bool *const *use, struct models *models)
{
	struct fit_job f = { .rows = rows, .use = use, .models = models };

	models->items = mem_new(models->n, sizeof(*models->items));
	for (size_t i = 0; i < models->n; i++)
		models->items[i].experts = mem_new(models->clusters, sizeof(struct cluster_scorer));
	parallel_for(models->n, models->options->threads, model_scale, &f);
	parallel_for(models->n * models->clusters, models->options->threads, model_fit_cluster, &f);
}

/* ---- errors ---- */

/* Computes the parts for the scorer's columns. Fills these columns of `parts` and `toward`. */
static void cluster_scorer_parts(const struct cluster_scorer *cluster_scorer, const struct mat *units, struct mat *parts,
				 struct mat *toward)
{
	struct mat x = mat_new(units->rows, cluster_scorer->n_columns), part = mat_new(units->rows, cluster_scorer->n_columns);
	struct mat expected = mat_new(units->rows, cluster_scorer->n_columns);

	for (size_t i = 0; i < x.rows; i++) {
		for (size_t j = 0; j < x.cols; j++)
			mat_set(&x, i, j, mat_get(units, i, cluster_scorer->columns[j]));
	}
	cluster_scorer->scorer->kind->parts(cluster_scorer->scorer, &x, &part, &expected);
	for (size_t i = 0; i < x.rows; i++) {
		for (size_t j = 0; j < x.cols; j++) {
			double value = mat_get(&part, i, j), above = mat_get(&x, i, j) - mat_get(&expected, i, j);

			mat_set(parts, i, cluster_scorer->columns[j], value);
			mat_set(toward, i, cluster_scorer->columns[j], copysign(sqrt(value), above));
		}
	}
	mat_release(&x);
	mat_release(&part);
	mat_release(&expected);
}

/* Judges rows that scale_row() has converted to units [n x columns]. */
static void models_score(const struct models *models, size_t model, size_t function, const struct mat *units, struct mat *parts,
			 struct mat *toward)
{
	const struct scale *scale = &models->items[model].scale;
	const struct cluster_scorer *cluster_scorer = &models->items[model].experts[models->cluster[function]];
	const double *low = &scale->low[function * units->cols], *high = &scale->high[function * units->cols];

	for (size_t i = 0; i < parts->rows * parts->cols; i++)
		parts->at[i] = toward->at[i] = 0.0;
	if (cluster_scorer->scorer)
		cluster_scorer_parts(cluster_scorer, units, parts, toward);
	for (size_t i = 0; models->options->check_constant_columns && i < units->rows; i++) {
		for (size_t j = 0; j < units->cols; j++) {
			double u = mat_get(units, i, j), outside = u < low[j] ? u - low[j] : u > high[j] ? u - high[j] : 0.0;

			if (outside * outside <= mat_get(parts, i, j))
				continue;
			mat_set(parts, i, j, outside * outside);
			mat_set(toward, i, j, outside);
		}
	}
}

void models_judge(const struct models *models, size_t model, size_t function, const struct rows *rows, size_t first, struct mat *parts,
		  struct mat *toward, double *error)
{
	struct mat units = mat_new(parts->rows, parts->cols);

	for (size_t i = 0; i < units.rows; i++)
		scale_row(&models->items[model].scale, function, &rows->z.at[(first + i) * units.cols], &units.at[i * units.cols]);
	models_score(models, model, function, &units, parts, toward);
	for (size_t i = 0; i < units.rows; i++) {
		error[i] = 0.0;
		for (size_t j = 0; j < units.cols; j++)
			error[i] += mat_get(parts, i, j);
	}
	mat_release(&units);
}

struct score_job {
	const struct models *models;
	const struct rows *rows;
	const size_t *of_run;
	double *error;
};

static void group_errors(void *context, size_t g)
{
	const struct score_job *k = context;
	const struct row_group *group = &k->rows->groups[g];
	size_t model = k->of_run ? k->of_run[group->run] : 0;
	bool known = k->models->items[model].scale.known[group->function];

	for (size_t i = 0, n; i < group->n; i += n) {
		struct mat parts, toward;

		n = group->n - i < CHUNK ? group->n - i : CHUNK;
		parts = mat_new(n, k->rows->z.cols);
		toward = mat_new(n, k->rows->z.cols);
		models_judge(k->models, model, group->function, k->rows, group->first + i, &parts, &toward, &k->error[group->first + i]);
		mat_release(&parts);
		mat_release(&toward);
	}
	for (size_t i = group->first; !known && i < group->first + group->n; i++)
		k->error[i] = (double)NAN;
}

void models_compute_errors(const struct models *models, const struct rows *rows, const size_t *of_run, double *error)
{
	struct score_job k = { .models = models, .rows = rows, .of_run = of_run, .error = error };

	parallel_for(rows->n_groups, models->options->threads, group_errors, &k);
}

/* A scale for each function, a scorer for each cluster of them, and what both say of rows. */
#include "base/mem.h"
#include "model/anomaly/detector_internal.h"
#include "model/parallel.h"

#include <math.h>

void model_release(struct model *m)
{
	scale_release(&m->scale);
	for (size_t c = 0; c < m->clusters; c++) {
		if (m->experts[c].scorer)
			m->experts[c].scorer->kind->free(m->experts[c].scorer);
		free(m->experts[c].columns);
	}
	free(m->experts);
	*m = (struct model){ 0 };
}

/* ---- fitting ---- */

struct fitting {
	const struct rows *rows;
	const bool *const *use;
	size_t functions;
	const size_t *cluster;
	size_t clusters, train_max;
	const struct model_options *options;
	struct model *models;
};

static void fit_scale(void *context, size_t i)
{
	struct fitting *f = context;
	const struct rows *r = f->rows;

	if (f->options->scaling == DETECTOR_ASINH)
		scale_learn(&r->z, r->groups, r->n_groups, f->use[i], f->functions, f->options->tolerance, &f->models[i].scale);
	else
		scale_learn_range(&r->z, r->groups, r->n_groups, f->use[i], f->functions, &f->models[i].scale);
}

/* Columns that vary in one of the cluster's functions. */
static void choose_columns(const struct fitting *f, const struct model *m, size_t cluster, struct expert *expert)
{
	expert->columns = mem_new(m->scale.columns + 1, sizeof(*expert->columns));
	for (size_t j = 0; j < m->scale.columns; j++) {
		bool varies = false;

		for (size_t function = 0; function < f->functions && !varies; function++)
			varies = f->cluster[function] == cluster && m->scale.known[function] && !scale_constant(&m->scale, function, j);
		if (varies)
			expert->columns[expert->n_columns++] = j;
	}
}

static bool is_taken(const struct fitting *f, size_t model, size_t cluster, const struct scale_group *group)
{
	return f->use[model][group->run] && f->cluster[group->function] == cluster;
}

/* The units of at most train_max rows, evenly from all, which are in the order of their values within a run. */
static size_t gather(const struct fitting *f, size_t model, size_t cluster, size_t total, struct mat *X, size_t *run)
{
	const struct model *m = &f->models[model];
	const struct expert *expert = &m->experts[cluster];
	double *units = mem_new(m->scale.columns, sizeof(*units));
	size_t seen = 0, taken = 0;

	for (size_t g = 0; g < f->rows->n_groups; g++) {
		const struct scale_group *group = &f->rows->groups[g];

		for (size_t i = 0; is_taken(f, model, cluster, group) && i < group->n; i++, seen++) {
			if (taken == X->rows || seen < taken * total / X->rows)
				continue;
			scale_row(&m->scale, group->function, &f->rows->z.at[(group->first + i) * f->rows->z.cols], units);
			for (size_t j = 0; j < expert->n_columns; j++)
				mat_set(X, taken, j, units[expert->columns[j]]);
			run[taken++] = group->run;
		}
	}
	free(units);
	return taken;
}

static void fit_expert(void *context, size_t task)
{
	struct fitting *f = context;
	size_t model = task / f->clusters, cluster = task % f->clusters, total = 0, *run;
	struct expert *expert = &f->models[model].experts[cluster];
	struct mat X;

	choose_columns(f, &f->models[model], cluster, expert);
	for (size_t g = 0; g < f->rows->n_groups; g++)
		total += is_taken(f, model, cluster, &f->rows->groups[g]) ? f->rows->groups[g].n : 0;
	if (total < 2 || expert->n_columns == 0)
		return;
	X = mat_new(total < f->train_max ? total : f->train_max, expert->n_columns);
	run = mem_new(X.rows, sizeof(*run));
	ASSAY_BUG_IF(gather(f, model, cluster, total, &X, run) != X.rows);
	expert->scorer = f->options->scorer->fit(&X, run, f->options->seed + task * UINT64_C(0x9e3779b97f4a7c15));
	free(run);
	mat_release(&X);
}

void models_fit(const struct rows *rows, const bool *const *use, size_t n, size_t functions, const size_t *cluster, size_t clusters,
		size_t train_max, const struct model_options *options, struct model *out)
{
	struct fitting f = { .rows = rows, .use = use, .functions = functions, .cluster = cluster, .clusters = clusters,
			     .train_max = train_max, .options = options, .models = out };

	for (size_t i = 0; i < n; i++)
		out[i] = (struct model){ .experts = mem_new(clusters, sizeof(*out->experts)), .clusters = clusters };
	parallel_for(n, options->threads, fit_scale, &f);
	parallel_for(n * clusters, options->threads, fit_expert, &f);
}

/* ---- errors ---- */

/* What the scorer says, spread over all columns. */
static void scorer_parts(const struct expert *expert, const struct mat *units, struct mat *parts, struct mat *toward)
{
	struct mat x = mat_new(units->rows, expert->n_columns), part = mat_new(units->rows, expert->n_columns);
	struct mat expected = mat_new(units->rows, expert->n_columns);

	for (size_t i = 0; i < x.rows; i++) {
		for (size_t j = 0; j < x.cols; j++)
			mat_set(&x, i, j, mat_get(units, i, expert->columns[j]));
	}
	expert->scorer->kind->parts(expert->scorer, &x, &part, &expected);
	for (size_t i = 0; i < x.rows; i++) {
		for (size_t j = 0; j < x.cols; j++) {
			double value = mat_get(&part, i, j), above = mat_get(&x, i, j) - mat_get(&expected, i, j);

			mat_set(parts, i, expert->columns[j], value);
			mat_set(toward, i, expert->columns[j], copysign(sqrt(value), above));
		}
	}
	mat_release(&x);
	mat_release(&part);
	mat_release(&expected);
}

void model_parts(const struct model *model, size_t cluster, size_t function, bool watch, const struct mat *units, struct mat *parts,
		 struct mat *toward)
{
	const struct expert *expert = &model->experts[cluster];
	const double *low = &model->scale.low[function * units->cols], *high = &model->scale.high[function * units->cols];

	for (size_t i = 0; i < parts->rows * parts->cols; i++)
		parts->at[i] = toward->at[i] = 0.0;
	if (expert->scorer)
		scorer_parts(expert, units, parts, toward);
	for (size_t i = 0; watch && i < units->rows; i++) {
		for (size_t j = 0; j < units->cols; j++) {
			double u = mat_get(units, i, j), outside = u < low[j] ? u - low[j] : u > high[j] ? u - high[j] : 0.0;

			if (outside * outside <= mat_get(parts, i, j))
				continue;
			mat_set(parts, i, j, outside * outside);
			mat_set(toward, i, j, outside);
		}
	}
}

struct judging {
	const struct rows *rows;
	const struct model *models;
	const size_t *of_run, *cluster;
	bool watch;
	double *error;
};

static void chunk_errors(const struct judging *k, const struct scale_group *group, size_t first, size_t n)
{
	const struct model *model = &k->models[k->of_run ? k->of_run[group->run] : 0];
	struct mat units = mat_new(n, k->rows->z.cols), parts = mat_new(n, units.cols), toward = mat_new(n, units.cols);

	for (size_t i = 0; i < n; i++)
		scale_row(&model->scale, group->function, &k->rows->z.at[(first + i) * units.cols], &units.at[i * units.cols]);
	model_parts(model, k->cluster[group->function], group->function, k->watch, &units, &parts, &toward);
	for (size_t i = 0; i < n; i++) {
		double sum = 0.0;

		for (size_t j = 0; j < units.cols; j++)
			sum += mat_get(&parts, i, j);
		k->error[first + i] = model->scale.known[group->function] ? sum : (double)NAN;
	}
	mat_release(&units);
	mat_release(&parts);
	mat_release(&toward);
}

static void group_errors(void *context, size_t g)
{
	const struct judging *k = context;
	const struct scale_group *group = &k->rows->groups[g];

	for (size_t i = 0; i < group->n; i += DETECTOR_CHUNK)
		chunk_errors(k, group, group->first + i, group->n - i < DETECTOR_CHUNK ? group->n - i : DETECTOR_CHUNK);
}

void model_errors(const struct rows *rows, const struct model *models, const size_t *of_run, const size_t *cluster, bool watch, size_t threads,
		  double *error)
{
	struct judging k = { .rows = rows, .models = models, .of_run = of_run, .cluster = cluster, .watch = watch, .error = error };

	parallel_for(rows->n_groups, threads, group_errors, &k);
}

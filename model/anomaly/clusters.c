#include "model/anomaly/clusters.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "model/anomaly/kmeans.h"

#include <math.h>

#define SAMPLES_MAX  200 /* of a function, for k-means and for the comparison */
#define ONE_EACH_MAX 16	 /* functions for which a scorer each is tried */
#define STARTS	     8
#define HELD_OUT     4	 /* every so many-th run tells whether shifts are found */

/* ---- a part of the rows ---- */

/* At most SAMPLES_MAX rows of each function, evenly over runs and values; their groups likewise. */
static void thin(const struct rows *rows, struct rows *out)
{
	struct rows r = { .z = mat_new(rows->z.rows, rows->z.cols), .groups = mem_new(rows->n_groups, sizeof(*r.groups)) };
	size_t taken = 0;

	for (size_t g = 0, n; g < rows->n_groups; g += n) {
		const struct scale_group *groups = &rows->groups[g];
		size_t total = 0, seen = 0, kept = 0, most;

		for (n = 0; g + n < rows->n_groups && groups[n].function == groups[0].function; n++)
			total += groups[n].n;
		most = total < SAMPLES_MAX ? total : SAMPLES_MAX;
		for (size_t i = 0; i < n; i++) {
			struct scale_group group = { .function = groups[i].function, .run = groups[i].run, .first = taken };

			for (size_t row = groups[i].first; row < groups[i].first + groups[i].n; row++, seen++) {
				if (kept == most || seen < kept * total / most)
					continue;
				for (size_t j = 0; j < r.z.cols; j++)
					mat_set(&r.z, taken, j, mat_get(&rows->z, row, j));
				taken++, kept++, group.n++;
			}
			if (group.n)
				r.groups[r.n_groups++] = group;
		}
	}
	r.z.rows = taken;
	*out = r;
}

/* ---- k clusters ---- */

/* All functions on one scale: to unit spread, not to each function's own, or they would all look alike. */
static void to_one_scale(const struct rows *rows, struct mat *out)
{
	double *column = mem_new(rows->z.rows + 1, sizeof(*column));
	struct mat m = mat_new(rows->z.rows, rows->z.cols);

	for (size_t j = 0; j < m.cols; j++) {
		double sd;

		for (size_t i = 0; i < m.rows; i++)
			column[i] = mat_get(&rows->z, i, j);
		sd = stats_sd(column, m.rows);
		for (size_t i = 0; i < m.rows; i++)
			mat_set(&m, i, j, sd > 0.0 ? column[i] / sd : 0.0);
	}
	free(column);
	*out = m;
}

static size_t cluster_of(const struct rows *part, size_t functions, size_t k, const struct detector_options *o, size_t *of)
{
	size_t *function = mem_new(part->z.rows + 1, sizeof(*function)), n;
	struct kmeans kmeans;
	struct mat m;

	if (k >= functions || k <= 1 || k > part->z.rows) {
		for (size_t f = 0; f < functions; f++)
			of[f] = k <= 1 ? 0 : f;
		free(function);
		return k <= 1 ? 1 : functions;
	}
	to_one_scale(part, &m);
	for (size_t g = 0; g < part->n_groups; g++) {
		for (size_t i = 0; i < part->groups[g].n; i++)
			function[part->groups[g].first + i] = part->groups[g].function;
	}
	kmeans_fit(&m, k, STARTS, o->seed, o->threads, &kmeans);
	n = kmeans_functions(&kmeans, function, functions, of);
	kmeans_release(&kmeans);
	mat_release(&m);
	free(function);
	return n;
}

/* ---- what they are worth ---- */

struct trial {
	const struct rows *part;
	size_t functions, runs;
	const struct detector_options *options;
	bool *train;	/* [runs] */
	size_t *of;	/* [functions] the candidate's clusters */
	size_t n;
	double *errors; /* [part rows] work */
	double found, planted, logs, samples;
};

/* The error of row i of the function with the column moved by so many units. */
static double shifted_error(const struct trial *t, const struct model *model, size_t function, size_t row, size_t column, double by)
{
	size_t p = t->part->z.cols;
	struct mat units = mat_new(1, p), parts = mat_new(1, p), toward = mat_new(1, p);
	double sum = 0.0;

	scale_row(&model->scale, function, &t->part->z.at[row * p], units.at);
	units.at[column] += by;
	model_parts(model, t->of[function], function, t->options->watch_constant, &units, &parts, &toward);
	for (size_t j = 0; j < p; j++)
		sum += parts.at[j];
	mat_release(&units);
	mat_release(&parts);
	mat_release(&toward);
	return sum;
}

/* Held-out samples of a function: a shift of 2, 3, 4 or 6 units, up or down, in a column by chance, in each of them. */
static void try_function(struct trial *t, const struct model *model, const struct scale_group *groups, size_t n)
{
	static const double shifts[] = { 2, -3, 4, -6, -2, 3, -4, 6 };
	double *held = mem_new(SAMPLES_MAX, sizeof(*held)), limit;
	size_t function = groups[0].function, used = 0;
	struct rng rng;

	rng_seed(&rng, t->options->seed + function);
	for (size_t g = 0; g < n; g++) {
		for (size_t i = 0; !t->train[groups[g].run] && i < groups[g].n; i++)
			held[used++] = t->errors[groups[g].first + i];
	}
	if (used && model->scale.known[function]) {
		limit = fmax(stats_quantile(held, used, .95), t->options->scaling == DETECTOR_ASINH ? 1.0 : 0.0);
		for (size_t i = 0; i < used; i++)
			t->logs += log1p(held[i]);
		t->samples += (double)used;
		for (size_t g = 0; g < n; g++) {
			for (size_t i = 0; !t->train[groups[g].run] && i < groups[g].n; i++) {
				size_t column = (size_t)rng_below(&rng, t->part->z.cols);
				double by = shifts[rng_below(&rng, 8)];

				t->found += shifted_error(t, model, function, groups[g].first + i, column, by) > limit;
				t->planted += 1.0;
			}
		}
	}
	free(held);
}

static void try_held_out(struct trial *t, struct clusters_candidate *out)
{
	struct model_options options = detector_model_options(t->options);
	const bool *use[] = { t->train };
	struct model model;

	models_fit(t->part, use, 1, t->functions, t->of, t->n, DETECTOR_TRAIN_MAX, &options, &model);
	model_errors(t->part, &model, NULL, t->of, options.watch, options.threads, t->errors);
	for (size_t g = 0, n; g < t->part->n_groups; g += n) {
		for (n = 1; g + n < t->part->n_groups && t->part->groups[g + n].function == t->part->groups[g].function;)
			n++;
		try_function(t, &model, &t->part->groups[g], n);
	}
	out->clusters = t->n;
	out->found = t->planted > 0.0 ? t->found / t->planted : 0.0;
	out->error = t->samples > 0.0 ? t->logs / t->samples : 0.0;
	model_release(&model);
}

static size_t start_trial(struct trial *t, const struct rows *part, size_t functions, size_t runs,
			  const struct detector_options *options, size_t k, size_t *of)
{
	*t = (struct trial){ .part = part, .functions = functions, .runs = runs, .options = options, .of = of };
	t->train = mem_new(runs, sizeof(*t->train));
	t->errors = mem_new(part->z.rows + 1, sizeof(*t->errors));
	t->n = cluster_of(part, functions, k, options, of);
	return t->n;
}

static void end_trial(struct trial *t)
{
	free(t->train);
	free(t->errors);
}

/* Runs 0, 4, 8, ... of a seeded order are held out. */
static void hold_out(struct trial *t)
{
	size_t *order = mem_new(t->runs, sizeof(*order));
	struct rng rng;

	for (size_t r = 0; r < t->runs; r++)
		order[r] = r;
	rng_seed(&rng, t->options->seed);
	rng_shuffle(&rng, order, t->runs);
	for (size_t r = 0; r < t->runs; r++)
		t->train[order[r]] = r % HELD_OUT != 0;
	free(order);
}

/* The fewest clusters that find as many shifts as the best, less one standard error (as Breiman and others, Classification and Regression Trees,
 * 1984, choose a tree). */
static void choose_by_shifts(const struct rows *part, size_t functions, size_t runs, const struct detector_options *o,
			     struct clusters *out)
{
	size_t *of = mem_new(functions, sizeof(*of)), last = functions <= ONE_EACH_MAX ? functions : ONE_EACH_MAX;
	double best = 0.0, planted = 1.0;

	for (size_t k = 1; out->n_candidates < CLUSTERS_CANDIDATES_MAX; k = 2 * k < last ? 2 * k : last) {
		struct trial t;

		start_trial(&t, part, functions, runs, o, k, of);
		hold_out(&t);
		try_held_out(&t, &out->candidates[out->n_candidates]);
		out->candidates[out->n_candidates].clusters = k;
		best = fmax(best, out->candidates[out->n_candidates++].found);
		planted = fmax(t.planted, 1.0);
		end_trial(&t);
		if (k >= last)
			break;
	}
	for (size_t i = 0; i < out->n_candidates; i++) {
		if (stats_round(out->candidates[i].found) < stats_round(best - sqrt(best * (1.0 - best) / planted)))
			continue;
		out->n = cluster_of(part, functions, out->candidates[i].clusters, o, out->of);
		break;
	}
	free(of);
}

/* The share of training samples above mean + t standard deviations of their model's errors. */
static double training_rate(struct trial *t)
{
	struct model_options options = detector_model_options(t->options);
	const bool *use[] = { t->train };
	double *own = mem_new(t->part->z.rows + 1, sizeof(*own)), above = 0.0;
	struct model model;

	for (size_t r = 0; r < t->runs; r++)
		t->train[r] = true;
	models_fit(t->part, use, 1, t->functions, t->of, t->n, DETECTOR_TRAIN_MAX, &options, &model);
	model_errors(t->part, &model, NULL, t->of, options.watch, options.threads, t->errors);
	for (size_t c = 0; c < t->n; c++) {
		size_t n = 0;
		double limit;

		for (size_t g = 0; g < t->part->n_groups; g++) {
			for (size_t i = 0; t->of[t->part->groups[g].function] == c && i < t->part->groups[g].n; i++)
				own[n++] = t->errors[t->part->groups[g].first + i];
		}
		limit = n ? stats_mean(own, n) + t->options->t * stats_sd(own, n) : 0.0;
		for (size_t i = 0; i < n; i++)
			above += stats_round(own[i]) > stats_round(limit);
	}
	model_release(&model);
	free(own);
	return above / (double)t->part->z.rows;
}

/* As published: one more cluster as long as the false positive rate on training data falls. */
static void choose_as_published(const struct rows *part, size_t functions, size_t runs, const struct detector_options *o,
				struct clusters *out)
{
	size_t *of = mem_new(functions, sizeof(*of));
	double before = (double)INFINITY;

	for (size_t k = 1; k <= functions && out->n_candidates < CLUSTERS_CANDIDATES_MAX; k++) {
		struct trial t;
		double rate;

		start_trial(&t, part, functions, runs, o, k, of);
		rate = training_rate(&t);
		end_trial(&t);
		out->candidates[out->n_candidates++] = (struct clusters_candidate){ .clusters = k, .error = rate };
		if (stats_round(rate) >= stats_round(before))
			break;
		before = rate;
		out->n = cluster_of(part, functions, k, o, out->of);
	}
	free(of);
}

void clusters_choose(const struct rows *rows, size_t functions, size_t runs, const struct detector_options *options,
		     struct clusters *out)
{
	struct clusters c = { .of = mem_new(functions, sizeof(*c.of)), .n = 1 };
	struct rows part;

	thin(rows, &part);
	if (options->clusters != 0)
		c.n = cluster_of(&part, functions, options->clusters, options, c.of);
	else if (functions > 1 && options->clusters_paper)
		choose_as_published(&part, functions, runs, options, &c);
	else if (functions > 1)
		choose_by_shifts(&part, functions, runs, options, &c);
	rows_release(&part);
	*out = c;
}

/* Chooses the functions that share a scorer: all functions, or clusters by k-means over their samples. */
#include "model/anomaly/detector_parts.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "model/parallel.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#define ITERATIONS_MAX 300

/* One start of k-means. `centers` [p x k] is stored column by column, so that a row is compared with all centers at once. */
struct kmeans_start {
	const struct mat *rows;
	size_t k;
	struct rng rng;
	double *centers;
	size_t *cluster;  /* [n] cluster of each row */
	size_t *count;	  /* [k] number of rows per cluster */
	double *distance; /* [n] squared distance of each row from its center */
	double *to;	  /* [k] squared distances of one row from the centers */
	double within;
	size_t iterations;
};

static void start_init(struct kmeans_start *s, const struct mat *rows, size_t k, uint64_t seed)
{
	*s = (struct kmeans_start){ .rows = rows, .k = k };
	rng_seed(&s->rng, seed);
	s->centers = mem_new(rows->cols * k, sizeof(double));
	s->cluster = mem_new(rows->rows, sizeof(size_t));
	s->count = mem_new(k, sizeof(size_t));
	s->distance = mem_new(rows->rows, sizeof(double));
	s->to = mem_new(k, sizeof(double));
}

static void start_release(struct kmeans_start *s)
{
	mem_free(s->centers, s->cluster, s->count, s->distance, s->to);
}

static void start_set_center(struct kmeans_start *s, size_t c, size_t row)
{
	for (size_t j = 0; j < s->rows->cols; j++)
		s->centers[j * s->k + c] = mat_get(s->rows, row, j);
}

static double start_distance(const struct kmeans_start *s, size_t row, size_t c)
{
	double sum = 0.0;

	for (size_t j = 0; j < s->rows->cols; j++) {
		double d = mat_get(s->rows, row, j) - s->centers[j * s->k + c];

		sum += d * d;
	}
	return sum;
}

/* Draws a row with a probability proportional to its squared distance from the nearest center. If all distances are 0, returns row 0. */
static size_t start_draw(struct kmeans_start *s, double total)
{
	double at = rng_double(&s->rng) * total;
	size_t last = 0;

	for (size_t i = 0; i < s->rows->rows; i++) {
		if (s->distance[i] <= 0.0)
			continue;
		last = i;
		at -= s->distance[i];
		if (at < 0.0)
			break;
	}
	return last;
}

/* Computes out[n], the squared distance of each row from its nearest center if `row` becomes a center, too. Returns the sum. */
static double start_distances_with(const struct kmeans_start *s, size_t row, double *out)
{
	size_t p = s->rows->cols;
	const double *center = s->rows->at + row * p;
	double total = 0.0;

	for (size_t i = 0; i < s->rows->rows; i++) {
		const double *at = s->rows->at + i * p;
		double sum = 0.0;

		for (size_t j = 0; j < p && sum < s->distance[i]; j++)
			sum += (at[j] - center[j]) * (at[j] - center[j]);
		out[i] = sum < s->distance[i] ? sum : s->distance[i];
		total += out[i];
	}
	return total;
}

/* Chooses centers by k-means++: each next center is a row, drawn with a probability proportional to its squared distance. Keeps the best of
 * a few draws, as the authors suggest. */
static void start_seed(struct kmeans_start *s)
{
	size_t n = s->rows->rows, tries = 2 + (size_t)log((double)s->k), row = (size_t)rng_below(&s->rng, n);
	double *with = mem_new(n, sizeof(*with)), total;

	for (size_t i = 0; i < n; i++)
		s->distance[i] = DBL_MAX;
	start_set_center(s, 0, row);
	total = start_distances_with(s, row, with);
	memcpy(s->distance, with, n * sizeof(*with));
	for (size_t c = 1; c < s->k; c++) {
		double least = DBL_MAX;

		for (size_t t = 0; t < tries; t++) {
			size_t drawn = start_draw(s, total);
			double then = start_distances_with(s, drawn, with);

			if (then < least) {
				least = then;
				row = drawn;
			}
		}
		start_set_center(s, c, row);
		total = start_distances_with(s, row, with);
		memcpy(s->distance, with, n * sizeof(*with));
	}
	free(with);
}

/* Returns the center nearest to a row; of equally near centers, the first. Updates the row's distance. */
static size_t start_nearest(struct kmeans_start *s, size_t row)
{
	size_t k = s->k, best = 0;

	memset(s->to, 0, k * sizeof(*s->to));
	for (size_t j = 0; j < s->rows->cols; j++) {
		double x = mat_get(s->rows, row, j);
		const double *center = s->centers + j * k;

		for (size_t c = 0; c < k; c++)
			s->to[c] += (x - center[c]) * (x - center[c]);
	}
	for (size_t c = 1; c < k; c++)
		if (s->to[c] < s->to[best])
			best = c;
	s->distance[row] = s->to[best];
	return best;
}

/* Assigns each row to its nearest center. Reports whether any row changed its cluster. */
static bool start_assign(struct kmeans_start *s)
{
	bool changed = false;

	memset(s->count, 0, s->k * sizeof(*s->count));
	for (size_t i = 0; i < s->rows->rows; i++) {
		size_t c = start_nearest(s, i);

		changed |= c != s->cluster[i];
		s->cluster[i] = c;
		s->count[c]++;
	}
	return changed;
}

/* Makes one row the center of an empty cluster: of the rows in clusters with several rows, the one farthest from its center. Returns false
 * if all such rows are at their centers, because there are fewer distinct rows than clusters. */
static bool start_refill(struct kmeans_start *s, size_t empty)
{
	size_t far = SIZE_MAX;

	for (size_t i = 0; i < s->rows->rows; i++)
		if (s->count[s->cluster[i]] > 1 && s->distance[i] > 0.0 && (far == SIZE_MAX || s->distance[i] > s->distance[far]))
			far = i;
	if (far == SIZE_MAX)
		return false;
	s->count[s->cluster[far]]--;
	s->count[empty]++;
	s->cluster[far] = empty;
	s->distance[far] = 0.0;
	return true;
}

/* Moves each center to the mean of its rows. An empty cluster keeps its center. */
static void start_update(struct kmeans_start *s)
{
	size_t k = s->k, p = s->rows->cols;

	for (size_t c = 0; c < k; c++)
		for (size_t j = 0; s->count[c] && j < p; j++)
			s->centers[j * k + c] = 0.0;
	for (size_t i = 0; i < s->rows->rows; i++)
		for (size_t j = 0; j < p; j++)
			s->centers[j * k + s->cluster[i]] += mat_get(s->rows, i, j);
	for (size_t c = 0; c < k; c++)
		for (size_t j = 0; s->count[c] && j < p; j++)
			s->centers[j * k + c] /= (double)s->count[c];
}

/* Iterates Lloyd's algorithm, starting at the present centers. */
static void start_run(struct kmeans_start *s)
{
	bool changed = true;

	for (size_t i = 0; i < s->rows->rows; i++)
		s->cluster[i] = s->k; /* the row has no cluster yet */
	while (s->iterations < ITERATIONS_MAX && (changed = start_assign(s))) {
		s->iterations++;
		for (size_t c = 0; c < s->k; c++)
			if (!s->count[c] && !start_refill(s, c))
				break;
		start_update(s);
	}
	if (changed)
		start_assign(s);
	for (size_t i = 0; i < s->rows->rows; i++)
		s->within += start_distance(s, i, s->cluster[i]);
}

static void start_run_task(void *context, size_t i)
{
	struct kmeans_start *all = context;

	start_seed(&all[i]);
	start_run(&all[i]);
}

/* Moves the result out of *s. */
static struct kmeans start_result(struct kmeans_start *s)
{
	struct kmeans result = { mat_new(s->k, s->rows->cols), s->rows->rows, s->cluster, s->within, s->iterations };

	for (size_t c = 0; c < s->k; c++)
		for (size_t j = 0; j < s->rows->cols; j++)
			mat_set(&result.centers, c, j, s->centers[j * s->k + c]);
	s->cluster = NULL;
	return result;
}

void kmeans_fit(const struct mat *rows, size_t k, size_t starts, uint64_t seed, size_t threads, struct kmeans *out)
{
	struct kmeans_start *all = mem_new(starts, sizeof(*all));
	struct rng seeds;
	size_t best = 0;

	ASSAY_BUG_IF(k == 0 || k > rows->rows || starts == 0);
	rng_seed(&seeds, seed);
	for (size_t i = 0; i < starts; i++)
		start_init(&all[i], rows, k, rng_next(&seeds));
	parallel_for(starts, threads, start_run_task, all);
	for (size_t i = 1; i < starts; i++)
		if (all[i].within < all[best].within)
			best = i;
	*out = start_result(&all[best]);
	mem_release_all(all, starts, start_release);
}

void kmeans_release(struct kmeans *kmeans)
{
	mat_release(&kmeans->centers);
	free(kmeans->cluster);
	*kmeans = (struct kmeans){ .cluster = NULL };
}

#define SAMPLES_MAX 200 /* maximum number of samples per function for k-means */
#define STARTS	    8

/* ---- selection of rows ---- */

/* Selects at most SAMPLES_MAX rows per function, evenly over its runs and values, and groups them. */
static void clustering_select_samples(const struct rows *rows, struct rows *out)
{
	struct rows r = { .z = mat_new(rows->z.rows, rows->z.cols), .groups = mem_new(rows->n_groups, sizeof(*r.groups)) };
	size_t taken = 0;

	for (size_t g = 0, n; g < rows->n_groups; g += n) {
		const struct row_group *groups = &rows->groups[g];
		size_t total = 0, seen = 0, kept = 0, most;

		n = rows_count_groups(rows, g);
		for (size_t i = 0; i < n; i++)
			total += groups[i].n;
		most = total < SAMPLES_MAX ? total : SAMPLES_MAX;
		for (size_t i = 0; i < n; i++) {
			struct row_group group = { .function = groups[i].function, .run = groups[i].run, .first = taken };

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

/* Scales columns to unit spread over all functions. With a separate scale for each function, all functions would look alike. */
static void clustering_scale(const struct rows *rows, struct mat *out)
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

/* Renumbers clusters in the same order, without empty ones. Returns the number of clusters that remain. */
static size_t renumber_clusters(size_t *of, size_t functions, size_t k)
{
	size_t *place = mem_new(k, sizeof(*place)), left = 0;

	for (size_t f = 0; f < functions; f++)
		place[of[f]] = 1;
	for (size_t c = 0; c < k; c++)
		place[c] = place[c] ? left++ : 0;
	for (size_t f = 0; f < functions; f++)
		of[f] = place[of[f]];
	free(place);
	return left;
}

/* Assigns each function to the cluster with most of its samples, as AutoPerf does; to the first one on a tie, or without samples. function
 * [n] < functions; overwrites of[functions]. Removes clusters without functions, and returns the number of the others. */
static size_t assign_functions(const struct kmeans *kmeans, const size_t *function, size_t functions, size_t *of)
{
	size_t k = kmeans->centers.rows, *votes = mem_new(functions * k, sizeof(*votes));

	for (size_t i = 0; i < kmeans->n; i++) {
		ASSAY_BUG_IF(function[i] >= functions);
		votes[function[i] * k + kmeans->cluster[i]]++;
	}
	for (size_t f = 0; f < functions; f++) {
		of[f] = 0;
		for (size_t c = 1; c < k; c++)
			if (votes[f * k + c] > votes[f * k + of[f]])
				of[f] = c;
	}
	free(votes);
	return renumber_clusters(of, functions, k);
}

size_t clusters_by_kmeans(const struct clustering *c, size_t k, size_t *of)
{
	size_t *function, n;
	struct kmeans kmeans;
	struct mat m;

	if (k >= c->functions || k <= 1 || k > c->rows.z.rows) {
		for (size_t f = 0; f < c->functions; f++)
			of[f] = k <= 1 ? 0 : f;
		return k <= 1 ? 1 : c->functions;
	}
	function = mem_new(c->rows.z.rows, sizeof(*function));
	clustering_scale(&c->rows, &m);
	for (size_t g = 0; g < c->rows.n_groups; g++) {
		for (size_t i = 0; i < c->rows.groups[g].n; i++)
			function[c->rows.groups[g].first + i] = c->rows.groups[g].function;
	}
	kmeans_fit(&m, k, STARTS, c->options->seed, c->options->threads, &kmeans);
	n = assign_functions(&kmeans, function, c->functions, of);
	kmeans_release(&kmeans);
	mat_release(&m);
	free(function);
	return n;
}

size_t clusters_choose(const struct rows *rows, size_t functions, size_t runs, const struct detector_options *options, size_t *of)
{
	struct clustering c = { .functions = functions, .runs = runs, .options = options };
	size_t n;

	clustering_select_samples(rows, &c.rows);
	if (options->clusters == 0 && options->choose_clusters && functions > 1)
		n = options->choose_clusters(&c, of);
	else
		n = clusters_by_kmeans(&c, options->clusters, of);
	rows_release(&c.rows);
	return n;
}

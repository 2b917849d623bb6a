/* Models rows as centers plus differences that share one normal distribution. A row's error is the squared Mahalanobis distance to its
 * nearest center (Mahalanobis, Proceedings of the National Institute of Sciences of India 2(1), 1936). The covariance is shrunk (Ledoit
 * and Wolf, see below). There is usually one center; k-means finds several if runs have several input sizes.
 *
 * Parts. Let P be the precision matrix and d a row's difference from the center. Then (Pd)_j / P_jj is the difference of column j from
 * its prediction by the other columns. c_j = (Pd)_j^2 / P_jj is its square over its variance (the conditional terms of Mason, Tracy and
 * Young, Journal of Quality Technology 27(2), 1995). These terms do not sum to the distance D^2, therefore part_j = D^2 c_j / sum of c.
 * Alternatives: d_j (Pd)_j sums to D^2 but can be negative. The squares of P^(1/2) d (Garthwaite and Koch, Australian & New Zealand
 * Journal of Statistics 58(1), 2016) sum to D^2 and are not negative. But if one of two correlated columns has moved, they blame both.
 * With c_j, a column that moved alone always has the largest part, because P_ja^2 <= P_jj P_aa. */
#include "tests/bench/rivals.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/rng.h"
#include "base/stats.h"
#include "model/anomaly/detector_parts.h"
#include "model/lapack.h"

#include <float.h>
#include <math.h>

/* Added to each variance, in squared units of the scaled columns: differences of 0.1 are negligible, even if correlated columns have a
 * smaller residual. Makes any covariance invertible. */
#define FLOOR	    .01
#define STARTS	    4 /* number of starts of k-means */
#define TAIL	    .998
#define NORMAL_TAIL 3.090232306167813 /* a standard normal value has at most this absolute value with probability TAIL */
#define FOLDS	    4
#define RUNS_MIN    8	 /* minimum number of runs for several centers */
#define ROWS_MAX    4000 /* maximum number of rows to choose the number of centers; of more rows, every k-th is used */
#define GAIN	    1.0	 /* minimum increase in the mean log density per row for another center */

/* ---- the covariance ---- */

/* A covariance that is invertible for any number of rows: shrunk towards a multiple of the identity by the amount that minimizes the
 * expected squared error. Source: Ledoit and Wolf, "A well-conditioned estimator for large-dimensional covariance matrices", Journal of
 * Multivariate Analysis 88(2), 2004, section 3.2. O(n * p^2). */
struct covariance {
	double *mean;	   /* [p] */
	struct mat matrix; /* [p x p], divided by n, shrunk */
	double average;	   /* mean variance; factor of the identity */
	double shrinkage;  /* weight of the identity, in [0, 1] */
};

static void covariance_mean(const struct mat *rows, double *mean)
{
	for (size_t i = 0; i < rows->rows; i++)
		for (size_t j = 0; j < rows->cols; j++)
			mean[j] += mat_get(rows, i, j);
	for (size_t j = 0; j < rows->cols; j++)
		mean[j] /= (double)rows->rows;
}

/* Computes the matrix without shrinkage. Returns the mean of (sum of squares)^2 over the rows, which measures how the products vary. */
static double covariance_products(const struct mat *rows, const double *mean, struct mat *matrix)
{
	size_t p = rows->cols;
	double *d = mem_new(p, sizeof(*d)), n = (double)rows->rows, fourth = 0.0;

	for (size_t i = 0; i < rows->rows; i++) {
		double squares = 0.0;

		for (size_t j = 0; j < p; j++) {
			d[j] = mat_get(rows, i, j) - mean[j];
			squares += d[j] * d[j];
		}
		fourth += squares * squares;
		for (size_t j = 0; j < p; j++)
			for (size_t k = 0; k < p; k++)
				matrix->at[j * p + k] += d[j] * d[k];
	}
	for (size_t j = 0; j < p * p; j++)
		matrix->at[j] /= n;
	free(d);
	return fourth / n;
}

/* Returns b^2 / d^2 of the paper, at most 1. b^2 is the squared error of the matrix, estimated from how the products of single rows
 * vary. d^2 is the squared distance of the matrix from the identity times `average`. */
static double covariance_shrinkage(const struct mat *matrix, double average, double fourth, size_t rows)
{
	double all = 0.0, error, distance = 0.0;

	for (size_t j = 0; j < matrix->rows; j++) {
		for (size_t k = 0; k < matrix->cols; k++) {
			double s = mat_get(matrix, j, k), off = s - (j == k ? average : 0.0);

			all += s * s;
			distance += off * off;
		}
	}
	error = (fourth - all) / (double)rows;
	if (error <= 0.0 || all <= DBL_MIN)
		return 0.0;
	return error < distance ? error / distance : 1.0;
}

static void covariance_of(const struct mat *rows, struct covariance *out)
{
	size_t p = rows->cols;
	struct covariance c = { .mean = mem_new(p, sizeof(double)), .matrix = mat_new(p, p) };
	double fourth;

	ASSAY_BUG_IF(rows->rows == 0 || p == 0);
	covariance_mean(rows, c.mean);
	fourth = covariance_products(rows, c.mean, &c.matrix);
	for (size_t j = 0; j < p; j++)
		c.average += mat_get(&c.matrix, j, j) / (double)p;
	c.shrinkage = covariance_shrinkage(&c.matrix, c.average, fourth, rows->rows);
	for (size_t j = 0; j < p; j++)
		for (size_t k = 0; k < p; k++)
			mat_set(&c.matrix, j, k, (1.0 - c.shrinkage) * mat_get(&c.matrix, j, k) + (j == k ? c.shrinkage * c.average : 0.0));
	*out = c;
}

static void covariance_release(struct covariance *covariance)
{
	free(covariance->mean);
	mat_release(&covariance->matrix);
	*covariance = (struct covariance){ .mean = NULL };
}

/* ---- the scorer ---- */

struct mahalanobis {
	struct scorer scorer;
	size_t p;
	struct mat centers;   /* [k x p] */
	struct mat precision; /* [p x p], inverse of the covariance (with FLOOR and tails) of differences from the nearest center */
	double log_det;	      /* log determinant of that covariance */
	double *share;	      /* [k], share of the rows per center */
	double shrinkage;
};

static struct mahalanobis *mahalanobis_new(size_t k, size_t p)
{
	struct mahalanobis *m = mem_new(1, sizeof(*m));

	m->scorer.kind = &scorer_mahalanobis;
	m->p = p;
	m->centers = mat_new(k, p);
	m->precision = mat_new(p, p);
	m->share = mem_new(k, sizeof(double));
	return m;
}

static void mahalanobis_free(struct scorer *scorer)
{
	struct mahalanobis *m = (struct mahalanobis *)scorer;

	if (!m)
		return;
	mat_release(&m->centers);
	mat_release(&m->precision);
	mem_free(m->share, m);
}

/* Computes pull = Pd, where P is the precision matrix, and returns d'Pd. */
static double mahalanobis_pull(const struct mahalanobis *m, const double *d, double *pull)
{
	size_t p = m->p;
	double squares = 0.0;

	memset(pull, 0, p * sizeof(*pull));
	for (size_t j = 0; j < p; j++)
		for (size_t k = 0; k < p; k++)
			pull[k] += d[j] * m->precision.at[j * p + k];
	for (size_t j = 0; j < p; j++)
		squares += d[j] * pull[j];
	return squares;
}

/* Finds the nearest center of row[p], the first of equally near ones, and returns its index. Sets d[p] to the difference from that
 * center, pull[p] to the precision times d, and *squares to the squared distance. place: scratch [2 * p]. */
static size_t mahalanobis_nearest(const struct mahalanobis *m, const double *row, double *d, double *pull, double *place, double *squares)
{
	size_t best = SIZE_MAX;

	for (size_t c = 0; c < m->centers.rows; c++) {
		double at;

		for (size_t j = 0; j < m->p; j++)
			place[j] = row[j] - mat_get(&m->centers, c, j);
		at = mahalanobis_pull(m, place, place + m->p);
		if (best != SIZE_MAX && !(at < *squares))
			continue;
		best = c;
		*squares = at;
		memcpy(d, place, m->p * sizeof(*d));
		memcpy(pull, place + m->p, m->p * sizeof(*pull));
	}
	return best;
}

/* Returns the variance to add to a column so that its residuals have as few large values as a normal distribution; 0 if none is needed.
 * place: scratch [n]. */
static double mahalanobis_tail(const struct mat *left, size_t column, double variance, double *place)
{
	double far;

	for (size_t i = 0; i < left->rows; i++)
		place[i] = fabs(mat_get(left, i, column));
	far = stats_quantile(place, left->rows, TAIL) / NORMAL_TAIL;
	return fmax(far * far - variance, 0.0);
}

/* Adds variance to columns with heavy tails. Counters of rare events are zero in most samples and large in some; without the addition,
 * these few would determine the threshold and hide all other columns. off: differences from the nearest center; matrix: the covariance. */
static void mahalanobis_add_tails(const struct mahalanobis *m, const struct mat *off, struct mat *matrix)
{
	struct mat left = mat_new(off->rows, m->p);
	double *place = mem_new(off->rows, sizeof(*place));

	for (size_t i = 0; i < off->rows; i++) {
		mahalanobis_pull(m, off->at + i * m->p, left.at + i * m->p);
		for (size_t j = 0; j < m->p; j++)
			left.at[i * m->p + j] /= mat_get(&m->precision, j, j);
	}
	for (size_t j = 0; j < m->p; j++)
		matrix->at[j * m->p + j] += mahalanobis_tail(&left, j, 1.0 / mat_get(&m->precision, j, j), place);
	mat_release(&left);
	free(place);
}

/* Sets the precision. The matrix is invertible, because all eigenvalues are at least FLOOR. */
static void mahalanobis_set_precision(struct mahalanobis *m, const struct mat *matrix)
{
	bool inverted;

	memcpy(m->precision.at, matrix->at, m->p * m->p * sizeof(double));
	inverted = lapack_invert(m->precision.at, m->p, 0.0, &m->log_det);
	ASSAY_BUG_IF(!inverted);
}

/* Finds the centers. Fills off[n x p] with the rows' differences from their centers. */
static void mahalanobis_set_centers(struct mahalanobis *m, const struct mat *rows, uint64_t seed, struct mat *off)
{
	struct kmeans kmeans;

	kmeans_fit(rows, m->centers.rows, m->centers.rows > 1 ? STARTS : 1, seed, 1, &kmeans);
	memcpy(m->centers.at, kmeans.centers.at, m->centers.rows * m->p * sizeof(double));
	for (size_t i = 0; i < rows->rows; i++) {
		m->share[kmeans.cluster[i]] += 1.0 / (double)rows->rows;
		for (size_t j = 0; j < m->p; j++)
			mat_set(off, i, j, mat_get(rows, i, j) - mat_get(&m->centers, kmeans.cluster[i], j));
	}
	kmeans_release(&kmeans);
}

/* Fits a model with k centers by k-means; 1 <= k <= rows. */
static struct mahalanobis *mahalanobis_fit_with(const struct mat *rows, size_t k, uint64_t seed)
{
	struct mahalanobis *m = mahalanobis_new(k, rows->cols);
	struct mat off = mat_new(rows->rows, rows->cols);
	struct covariance c;

	mahalanobis_set_centers(m, rows, seed, &off);
	covariance_of(&off, &c);
	m->shrinkage = c.shrinkage;
	for (size_t j = 0; j < m->p; j++)
		c.matrix.at[j * m->p + j] += FLOOR;
	mahalanobis_set_precision(m, &c.matrix);
	mahalanobis_add_tails(m, &off, &c.matrix);
	mahalanobis_set_precision(m, &c.matrix);
	covariance_release(&c);
	mat_release(&off);
	return m;
}

/* ---- number of centers ---- */

/* Runs with several input sizes form several clusters. One normal distribution over all of them would take a shift for another size. But
 * splitting one cluster in two must not count as two clusters. Therefore another center must increase the log density of held-out runs
 * by more than the noise of a row. */
static const size_t candidates[] = { 2, 3, 4, 6, 8 };

/* Rows divided into folds for cross-validation; fold [n] < FOLDS. */
struct folds {
	struct mat rows;
	size_t *fold;
	size_t runs;
};

ORDER_BY(compare_sizes, size_t, BY_VALUE)

/* Assigns whole runs to random folds; random, because input sizes may alternate regularly. */
static size_t *folds_of_runs(const size_t *run, size_t n, uint64_t seed, size_t *runs)
{
	size_t *sorted = mem_new(n, sizeof(*sorted)), *fold = mem_new(n, sizeof(*fold)), *part;
	struct rng rng;

	memcpy(sorted, run, n * sizeof(*run));
	qsort(sorted, n, sizeof(*sorted), compare_sizes);
	*runs = 0;
	for (size_t i = 0; i < n; i++)
		if (i == 0 || sorted[i] != sorted[i - 1])
			sorted[(*runs)++] = sorted[i];
	part = mem_new(*runs, sizeof(*part));
	for (size_t r = 0; r < *runs; r++)
		part[r] = r;
	rng_seed(&rng, seed);
	rng_shuffle(&rng, part, *runs);
	for (size_t i = 0; i < n; i++) {
		const size_t *at = bsearch(&run[i], sorted, *runs, sizeof(*sorted), compare_sizes);

		fold[i] = part[at - sorted] % FOLDS;
	}
	mem_free(sorted, part);
	return fold;
}

static struct folds folds_new(const struct mat *rows, const size_t *run, uint64_t seed)
{
	size_t step = (rows->rows + ROWS_MAX - 1) / ROWS_MAX, n = (rows->rows + step - 1) / step, *of = mem_new(n, sizeof(*of));
	struct folds f = { .rows = mat_new(n, rows->cols) };

	for (size_t i = 0; i < n; i++) {
		of[i] = run[i * step];
		memcpy(f.rows.at + i * rows->cols, rows->at + i * step * rows->cols, rows->cols * sizeof(double));
	}
	f.fold = folds_of_runs(of, n, seed, &f.runs);
	free(of);
	return f;
}

/* Returns the rows of the fold, or, if `others`, all rows that are not in the fold. */
static struct mat folds_pick(const struct folds *f, size_t fold, bool others)
{
	struct mat picked = mat_new(f->rows.rows, f->rows.cols);

	picked.rows = 0;
	for (size_t i = 0; i < f->rows.rows; i++)
		if ((f->fold[i] == fold) != others)
			memcpy(picked.at + picked.rows++ * picked.cols, f->rows.at + i * picked.cols, picked.cols * sizeof(double));
	return picked;
}

static double mahalanobis_log_density(const struct mahalanobis *m, const struct mat *rows)
{
	double *d = mem_new(4 * m->p, sizeof(*d)), sum = 0.0;

	for (size_t i = 0; i < rows->rows; i++) {
		double squares;
		size_t c = mahalanobis_nearest(m, rows->at + i * m->p, d, d + m->p, d + 2 * m->p, &squares);

		sum += log(m->share[c]) - .5 * (m->log_det + squares);
	}
	free(d);
	return sum;
}

/* Returns the mean log density over the rows, each by a model without its fold. */
static double folds_left_out_density(const struct folds *f, size_t k, uint64_t seed)
{
	double sum = 0.0;

	for (size_t fold = 0; fold < FOLDS; fold++) {
		struct mat train = folds_pick(f, fold, true), test = folds_pick(f, fold, false);
		struct mahalanobis *m = mahalanobis_fit_with(&train, k, seed);

		sum += mahalanobis_log_density(m, &test);
		mahalanobis_free(&m->scorer);
		mat_release(&train);
		mat_release(&test);
	}
	return sum / (double)f->rows.rows;
}

static size_t mahalanobis_choose(const struct mat *rows, const size_t *run, uint64_t seed)
{
	struct folds f;
	double best = 0.0;
	size_t k = 1;

	if (!run)
		return 1;
	f = folds_new(rows, run, seed);
	if (f.runs >= RUNS_MIN)
		best = folds_left_out_density(&f, 1, seed);
	for (size_t i = 0; f.runs >= RUNS_MIN && i < sizeof(candidates) / sizeof(candidates[0]) && candidates[i] <= f.runs / 3; i++) {
		double density = folds_left_out_density(&f, candidates[i], seed);

		if (density > best + GAIN) {
			best = density;
			k = candidates[i];
		}
	}
	mat_release(&f.rows);
	free(f.fold);
	return k;
}

/* ---- fitting and judging ---- */

static struct scorer *mahalanobis_fit(const struct mat *rows, const size_t *run, uint64_t seed)
{
	return &mahalanobis_fit_with(rows, mahalanobis_choose(rows, run, seed), seed)->scorer;
}

static void mahalanobis_parts(const struct scorer *scorer, const struct mat *rows, struct mat *parts, struct mat *expected)
{
	const struct mahalanobis *m = (const struct mahalanobis *)scorer;
	size_t p = m->p;
	double *d = mem_new(4 * p, sizeof(*d)), *pull = d + p, *place = pull + p;

	ASSAY_BUG_IF(rows->cols != p);
	for (size_t i = 0; i < rows->rows; i++) {
		double squares, sum = 0.0, *part = parts->at + i * p;

		mahalanobis_nearest(m, rows->at + i * p, d, pull, place, &squares);
		for (size_t j = 0; j < p; j++) {
			part[j] = pull[j] * pull[j] / mat_get(&m->precision, j, j);
			sum += part[j];
		}
		for (size_t j = 0; j < p; j++) {
			part[j] = sum > 0.0 && squares > 0.0 ? part[j] / sum * squares : 0.0;
			if (expected)
				mat_set(expected, i, j, mat_get(rows, i, j) - pull[j] / mat_get(&m->precision, j, j));
		}
	}
	free(d);
}

static void mahalanobis_describe(const struct scorer *scorer, char *text, size_t size)
{
	const struct mahalanobis *m = (const struct mahalanobis *)scorer;

	snprintf(text, size, "%zu columns, %zu center%s, shrunk by %.3g", m->p, m->centers.rows, m->centers.rows == 1 ? "" : "s",
		 m->shrinkage);
}

const struct scorer_kind scorer_mahalanobis = {
	.name = "mahalanobis",
	.fit = mahalanobis_fit,
	.parts = mahalanobis_parts,
	.free = mahalanobis_free,
	.describe = mahalanobis_describe,
};

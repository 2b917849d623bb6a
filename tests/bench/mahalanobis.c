/* Centers that share one normal distribution of the differences from them: a row's error is the square of its distance from the nearest
 * center, measured by the covariance (Mahalanobis, Proceedings of the National Institute of Sciences of India 2(1), 1936), which is shrunk
 * (Ledoit and Wolf, below). Mostly there is one center; several, by k-means, where runs have several input sizes.
 *
 * Parts. With the precision matrix P and a row's difference d from the center, (Pd)_j / P_jj is how far column j is from what the other
 * columns let expect, and c_j = (Pd)_j^2 / P_jj is the square of that over its variance (the conditional terms of Mason, Tracy and Young,
 * Journal of Quality Technology 27(2), 1995). Their sum is not the distance: part_j = D^2 c_j / sum of c. Other ways to divide it: d_j
 * (Pd)_j sums to D^2, but is negative for columns that make the row less strange; the squares of P^(1/2) d (Garthwaite and Koch, Australian
 * & New Zealand Journal of Statistics 58(1), 2016) sum to it and are not negative, but of two columns that go together they blame both
 * alike when one has moved. By P_ja^2 <= P_jj P_aa, here the column that moved alone always has the largest part, whatever it goes together
 * with. */
#include "tests/bench/rivals.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/rng.h"
#include "base/stats.h"
#include "model/anomaly/detector_parts.h"
#include "model/lapack.h"

#include <float.h>
#include <math.h>

/* What is added to each variance, in squares of the scaled columns' unit: a tenth of the unit is negligible, also when columns that go
 * together leave less than that to be seen. It makes any covariance invertible. */
#define FLOOR	    .01
#define STARTS	    4 /* of k-means */
#define TAIL	    .998
#define NORMAL_TAIL 3.090232306167813 /* as many standard deviations is its absolute value at most with that probability */
#define FOLDS	    4
#define RUNS_MIN    8	 /* fewer: one center */
#define ROWS_MAX    4000 /* of more, every so many-th decides how many centers there are */
#define GAIN	    1.0	 /* of the mean logarithm of the density of a row, at least */

/* ---- the covariance ---- */

/* A covariance that can be inverted whatever the number of rows: shrunk towards a multiple of the identity, by as much as makes the
 * expected squared error smallest. Source: Ledoit and Wolf, "A well-conditioned estimator for large-dimensional covariance matrices",
 * Journal of Multivariate Analysis 88(2), 2004, section 3.2. O(n * p^2). */
struct covariance {
	double *mean;	   /* [p] */
	struct mat matrix; /* [p x p], n in the denominator, shrunk */
	double average;	   /* of the variances; the identity is multiplied by it */
	double shrinkage;  /* [0, 1]: the weight of the identity */
};

static void covariance_mean(const struct mat *rows, double *mean)
{
	for (size_t i = 0; i < rows->rows; i++)
		for (size_t j = 0; j < rows->cols; j++)
			mean[j] += mat_get(rows, i, j);
	for (size_t j = 0; j < rows->cols; j++)
		mean[j] /= (double)rows->rows;
}

/* The matrix without shrinking. Returns the mean over the rows of (sum of squares)^2, which says how much the products vary. */
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

/* b^2 / d^2 of the paper: the error of the matrix (of its elements, squared), estimated from how the products of single rows vary around
 * it, over its distance from the identity times the average variance; at most 1. */
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
	struct mat precision; /* [p x p] inverse of the covariance of differences from the own center, with what is added to it */
	double log_det;	      /* of that covariance */
	double *share;	      /* [k] of the rows */
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

/* pull = Pd; returns d'Pd. */
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

/* The squared distance of a row [p] from the center that is nearest by it; of equally near ones the first. d [p] becomes the difference
 * from that center, pull [p] the precision times it; place [2 * p]. Returns the center. */
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

/* What a column's differences from what the others let expect would need in variance beyond what they have, so that as few of them are
 * large as of a normal distribution. 0: nothing. place [n] */
static double mahalanobis_tail(const struct mat *left, size_t column, double variance, double *place)
{
	double far;

	for (size_t i = 0; i < left->rows; i++)
		place[i] = fabs(mat_get(left, i, column));
	far = stats_quantile(place, left->rows, TAIL) / NORMAL_TAIL;
	return fmax(far * far - variance, 0.0);
}

/* Counters of what is rare are zero in most samples and large in some: left alone, these few set the threshold, and no other column could
 * be seen. Such columns get as much more variance as their tails ask for. off: differences from the own center; matrix: the covariance. */
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

/* Invertible, since all eigenvalues are at least FLOOR. */
static void mahalanobis_set_precision(struct mahalanobis *m, const struct mat *matrix)
{
	bool inverted;

	memcpy(m->precision.at, matrix->at, m->p * m->p * sizeof(double));
	inverted = lapack_invert(m->precision.at, m->p, 0.0, &m->log_det);
	ASSAY_BUG_IF(!inverted);
}

/* Finds the centers; off [n x p] becomes the rows' differences from their own. */
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

/* With k centers by k-means; 1 <= k <= rows. */
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

/* ---- how many centers ---- */

/* Runs with several input sizes lie in several heaps, and one normal distribution over all of them takes a shift for another size. But a
 * heap that is cut in two is not two heaps: the logarithm of the density of runs that were left out has to grow, by more than a row's
 * noise. */
static const size_t candidates[] = { 2, 3, 4, 6, 8 };

/* Rows of which a part is left out; fold [n] < FOLDS. */
struct folds {
	struct mat rows;
	size_t *fold;
	size_t runs;
};

ORDER_BY(compare_sizes, size_t, BY_VALUE)

/* Whole runs, drawn: sizes may follow in turns. */
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

/* Rows of the fold, or all others. */
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

/* Mean over the rows, each by a model without its fold. */
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

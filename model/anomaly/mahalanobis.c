/* Centers that share one normal distribution of the differences from them: a row's error is the square of its distance from the nearest center, measured
 * by the covariance (Mahalanobis, Proceedings of the National Institute of Sciences of India 2(1), 1936), which is shrunk
 * (model/anomaly/covariance.h). Mostly there is one center; several, by k-means, where runs have several input sizes (mahalanobis_choose.c).
 *
 * Parts. With the precision matrix P and a row's difference d from the center, (Pd)_j / P_jj is how far column j is from what the other columns
 * let expect, and c_j = (Pd)_j^2 / P_jj is the square of that over its variance (the conditional terms of Mason, Tracy and Young, Journal of
 * Quality Technology 27(2), 1995). Their sum is not the distance: part_j = D^2 c_j / sum of c. Why not another way to divide it:
 *   d_j (Pd)_j sums to D^2, but is negative for columns that make the row less strange;
 *   the squares of P^(1/2) d (Garthwaite and Koch, Australian & New Zealand Journal of Statistics 58(1), 2016) sum to it and are not negative,
 *   but of two columns that go together they blame both alike when one has moved.
 * By P_ja^2 <= P_jj P_aa, here the column that moved alone always has the largest part, whatever it goes together with. */
#include "model/anomaly/mahalanobis.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/stats.h"
#include "model/anomaly/covariance.h"
#include "model/anomaly/kmeans.h"
#include "model/anomaly/scorer_json.h"

#include <float.h>
#include <math.h>

/* What is added to each variance, in squares of the scaled columns' unit: a tenth of the unit matters to nobody, also when columns that go
 * together leave less than that to be seen. It makes any covariance invertible. */
#define FLOOR       .01
#define STARTS      4 /* of k-means */
#define TAIL        .998
#define NORMAL_TAIL 3.090232306167813 /* as many standard deviations is its absolute value at most with that probability */
#define CENTER_MAX    1e100 /* of a model that is read */
#define CENTERS_MAX   64
#define PRECISION_MAX 1e3   /* no element is above 1 / FLOOR */

static struct mahalanobis *model_new(size_t k, size_t p)
{
	struct mahalanobis *m = mem_new(1, sizeof(*m));

	m->scorer.kind = &scorer_mahalanobis;
	m->p = p;
	m->centers = mat_new(k, p);
	m->precision = mat_new(p, p);
	m->share = mem_new(k, sizeof(double));
	return m;
}

void mahalanobis_free(struct scorer *scorer)
{
	struct mahalanobis *m = (struct mahalanobis *)scorer;

	if (!m)
		return;
	mat_release(&m->centers);
	mat_release(&m->precision);
	free(m->share);
	free(m);
}

/* pull = Pd; returns d'Pd. */
static double pull_of(const struct mahalanobis *m, const double *d, double *pull)
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

size_t mahalanobis_nearest(const struct mahalanobis *m, const double *row, double *d, double *pull, double *place, double *squares)
{
	size_t best = SIZE_MAX;

	for (size_t c = 0; c < m->centers.rows; c++) {
		double at;

		for (size_t j = 0; j < m->p; j++)
			place[j] = row[j] - mat_get(&m->centers, c, j);
		at = pull_of(m, place, place + m->p);
		if (best != SIZE_MAX && !(at < *squares))
			continue;
		best = c;
		*squares = at;
		memcpy(d, place, m->p * sizeof(*d));
		memcpy(pull, place + m->p, m->p * sizeof(*pull));
	}
	return best;
}

/* What a column's differences from what the others let expect would need in variance beyond what they have, so that as few of them are large as of
 * a normal distribution. 0: nothing. place [n] */
static double tail_of(const struct mat *left, size_t column, double variance, double *place)
{
	double far;

	for (size_t i = 0; i < left->rows; i++)
		place[i] = fabs(mat_get(left, i, column));
	far = stats_quantile(place, left->rows, TAIL) / NORMAL_TAIL;
	return fmax(far * far - variance, 0.0);
}

/* Counters of what is rare are zero in most samples and large in some: left alone, these few set the threshold, and no other column could
 * be seen. Such columns get as much more variance as their tails ask for. off: differences from the own center; matrix: the covariance. */
static void add_tails(const struct mahalanobis *m, const struct mat *off, struct mat *matrix)
{
	struct mat left = mat_new(off->rows, m->p);
	double *place = mem_new(off->rows, sizeof(*place));

	for (size_t i = 0; i < off->rows; i++) {
		pull_of(m, off->at + i * m->p, left.at + i * m->p);
		for (size_t j = 0; j < m->p; j++)
			left.at[i * m->p + j] /= mat_get(&m->precision, j, j);
	}
	for (size_t j = 0; j < m->p; j++)
		matrix->at[j * m->p + j] += tail_of(&left, j, 1.0 / mat_get(&m->precision, j, j), place);
	mat_release(&left);
	free(place);
}

/* Invertible, since all eigenvalues are at least FLOOR. */
static void set_precision(struct mahalanobis *m, const struct mat *matrix)
{
	bool inverted;

	memcpy(m->precision.at, matrix->at, m->p * m->p * sizeof(double));
	inverted = covariance_invert(&m->precision, &m->log_det);
	ASSAY_BUG_IF(!inverted);
}

/* Finds the centers; off [n x p] becomes the rows' differences from their own. */
static void set_centers(struct mahalanobis *m, const struct mat *rows, uint64_t seed, struct mat *off)
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

struct mahalanobis *mahalanobis_fit_with(const struct mat *rows, size_t k, uint64_t seed)
{
	struct mahalanobis *m = model_new(k, rows->cols);
	struct mat off = mat_new(rows->rows, rows->cols);
	struct covariance c;

	set_centers(m, rows, seed, &off);
	covariance_of(&off, &c);
	m->shrinkage = c.shrinkage;
	for (size_t j = 0; j < m->p; j++)
		c.matrix.at[j * m->p + j] += FLOOR;
	set_precision(m, &c.matrix);
	add_tails(m, &off, &c.matrix);
	set_precision(m, &c.matrix);
	covariance_release(&c);
	mat_release(&off);
	return m;
}

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

	snprintf(text, size, "%zu columns, %zu center%s, shrunk by %.3g", m->p, m->centers.rows, m->centers.rows == 1 ? "" : "s", m->shrinkage);
}

static cJSON *add_rows(cJSON *json, const char *name, const struct mat *m, bool triangle)
{
	cJSON *array = cJSON_AddArrayToObject(json, name);

	for (size_t i = 0; i < m->rows; i++)
		cJSON_AddItemToArray(array, cJSON_CreateDoubleArray(m->at + i * m->cols, (int)(triangle ? i + 1 : m->cols)));
	return json;
}

static cJSON *mahalanobis_write(const struct scorer *scorer)
{
	const struct mahalanobis *m = (const struct mahalanobis *)scorer;
	cJSON *json = cJSON_CreateObject();

	cJSON_AddNumberToObject(json, "shrinkage", m->shrinkage);
	add_rows(json, "centers", &m->centers, false);
	return add_rows(json, "precision", &m->precision, true);
}

/* The rows of a matrix; of a triangle row i has i + 1 numbers. */
static enum assay_status read_rows(const cJSON *array, const char *name, bool triangle, double most, struct mat *m, struct assay_error *err)
{
	const cJSON *row = array->child;
	enum assay_status st = ASSAY_OK;

	if ((size_t)cJSON_GetArraySize(array) != m->rows)
		return assay_fail(err, ASSAY_E_FORMAT, "mahalanobis: '%s' must have %zu rows", name, m->rows);
	for (size_t i = 0; i < m->rows && !st; i++, row = row->next)
		st = scorer_json_numbers("mahalanobis", name, row, triangle ? i + 1 : m->cols, most, m->at + i * m->cols, err);
	return st;
}

/* What is read must be the inverse of some covariance. */
static enum assay_status check_precision(struct mat *precision, struct assay_error *err)
{
	struct mat copy = mat_new(precision->rows, precision->cols);
	bool inverted;

	for (size_t j = 0; j < precision->rows; j++)
		for (size_t k = 0; k < j; k++)
			mat_set(precision, k, j, mat_get(precision, j, k));
	memcpy(copy.at, precision->at, copy.rows * copy.cols * sizeof(double));
	inverted = covariance_invert(&copy, NULL);
	mat_release(&copy);
	return inverted ? ASSAY_OK : assay_fail(err, ASSAY_E_FORMAT, "mahalanobis: 'precision' is not positive definite");
}

static enum assay_status mahalanobis_read(const cJSON *json, size_t columns, struct scorer **out, struct assay_error *err)
{
	static const char *const keys[] = { "shrinkage", "centers", "precision" };
	struct mahalanobis *m = NULL;
	const cJSON *centers, *precision;
	double shrinkage;
	enum assay_status st;

	if ((st = json_keys("mahalanobis", json, "the model", keys, sizeof(keys) / sizeof(keys[0]), err)) ||
	    (st = json_number("mahalanobis", json, "shrinkage", true, &shrinkage, err)) ||
	    (st = json_array("mahalanobis", json, "centers", true, &centers, err)) ||
	    (st = json_array("mahalanobis", json, "precision", true, &precision, err)))
		return st;
	if (cJSON_GetArraySize(centers) < 1 || cJSON_GetArraySize(centers) > CENTERS_MAX)
		return assay_fail(err, ASSAY_E_FORMAT, "mahalanobis: 'centers' must have 1 to %d rows", CENTERS_MAX);
	m = model_new((size_t)cJSON_GetArraySize(centers), columns);
	m->shrinkage = shrinkage;
	if ((st = read_rows(centers, "centers", false, CENTER_MAX, &m->centers, err)) ||
	    (st = read_rows(precision, "precision", true, PRECISION_MAX, &m->precision, err)) ||
	    (st = check_precision(&m->precision, err))) {
		mahalanobis_free(&m->scorer);
		return st;
	}
	*out = &m->scorer;
	return ASSAY_OK;
}

const struct scorer_kind scorer_mahalanobis = {
	.name = "mahalanobis",
	.about = "distance from one or several centers by a shrunk covariance",
	.fit = mahalanobis_fit,
	.parts = mahalanobis_parts,
	.free = mahalanobis_free,
	.write = mahalanobis_write,
	.read = mahalanobis_read,
	.describe = mahalanobis_describe,
};

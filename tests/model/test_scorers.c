/* Checks scorers other than the autoencoder against scikit-learn 1.2.1 and numpy 1.24.2, and properties for any data. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "tests/bench/mahalanobis.c" /* for access to the covariance */
#include "model/anomaly/scorer.h"
#include "tests/bench/som.c" /* for access to the areas */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static void assert_near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-10 * (1.0 + fabs(b))))
		fail_msg("%.17g is not %.17g", a, b);
}

static struct mat hundredths(const short *values, size_t rows, size_t cols)
{
	struct mat m = mat_new(rows, cols);

	for (size_t i = 0; i < rows * cols; i++)
		m.at[i] = values[i] / 100.0;
	return m;
}

static void normal_rows(struct rng *rng, struct mat *m)
{
	for (size_t i = 0; i < m->rows * m->cols; i++)
		m->at[i] = rng_normal(rng);
}

/* ---- covariance, Mahalanobis ---- */

static const short narrow[] = {
	-303, 13,   -286, 206,	101,  189,  51,	 152, 32,  88,	89,  82,  128,	114, 106,  162, 134, 157,
	-112, -100, -103, -546, -215, -490, 558, 182, 504, 379, -17, 329, -181, -2,  -159, 16,	-20, 11,
};

static const short wide[] = {
	-34, 42,  -74, 11,  19, -109, -51, 118, -31, -3,   4,	 -4, 41, -27, -37,  170, -89, 79, 17,	115,
	89,  -92, -67, -31, 27, -2,   30,  74,	51,  -193, -134, 38, -2, -45, -185, 42,	 30,  67, -148, -111,
};

/* Checks against sklearn.covariance.LedoitWolf: shrinkage_, covariance_, location_. */
static void test_covariance(void **state)
{
	static const double matrix[] = { 7.378041515718749, 1.725829355324684, 5.453009983094386, 1.725829355324684, 2.244353497593043,
					 1.555415900909498, 5.453009983094386, 1.555415900909498, 6.246093181132654 };
	static const double mean[] = { 0.37166666666666676, 0.3591666666666667, 0.30999999999999994 };
	static const double first[] = { 0.32164209175985214, -0.04013867627691077, -0.020429450912291817 };
	struct mat rows = hundredths(narrow, 12, 3);
	struct covariance c;
	double log_det;

	(void)state;
	covariance_of(&rows, &c);
	assert_near(c.shrinkage, 0.25093444375227364);
	for (size_t i = 0; i < 9; i++)
		assert_near(c.matrix.at[i], matrix[i]);
	for (size_t i = 0; i < 3; i++)
		assert_near(c.mean[i], mean[i]);
	covariance_release(&c);
	mat_release(&rows);
	rows = hundredths(wide, 5, 8); /* fewer rows than columns */
	covariance_of(&rows, &c);
	assert_near(c.shrinkage, 0.6911554255262168);
	for (size_t i = 0; i < 3; i++)
		assert_near(c.matrix.at[i], first[i]);
	assert_true(lapack_invert(c.matrix.at, c.matrix.rows, 0.0, &log_det));
	assert_near(log_det, -8.015973584812919);
	covariance_release(&c);
	mat_release(&rows);
	rows = mat_new(3, 2); /* constant columns */
	covariance_of(&rows, &c);
	assert_true(c.shrinkage <= 0.0);
	assert_false(lapack_invert(c.matrix.at, c.matrix.rows, 0.0, NULL));
	covariance_release(&c);
	mat_release(&rows);
}

/* Checks against numpy.linalg.inv of sklearn's covariance_ + 0.01 I. */
static void test_mahalanobis(void **state)
{
	static const double distance[] = { 3.085114630136688, 0.9226070610679878 };
	static const double part[] = { 1.0812629516965262, 0.6160438664408686,	 1.387807811999293,
				       0.5043078630789879, 0.012167791775384287, 0.4061314062136156 };
	static const double expected[] = { 2.908968327717004,  0.7869098190802395,  1.001040098192902,
					   0.4567460850380427, 0.19050048302517095, -0.7083023889537474 };
	struct mat rows = hundredths(narrow, 12, 3), judged = mat_new(2, 3), parts = mat_new(2, 3), normal = mat_new(2, 3);
	struct scorer *scorer = scorer_mahalanobis.fit(&rows, NULL, 0);
	char text[64];

	(void)state;
	memcpy(judged.at, (double[]){ 1.0, 2.0, 3.0, -1.0, 0.0, .5 }, 6 * sizeof(double));
	scorer->kind->parts(scorer, &judged, &parts, &normal);
	for (size_t i = 0; i < 6; i++) {
		assert_near(parts.at[i], part[i]);
		assert_near(normal.at[i], expected[i]);
	}
	for (size_t i = 0; i < 2; i++)
		assert_near(parts.at[3 * i] + parts.at[3 * i + 1] + parts.at[3 * i + 2], distance[i]);
	scorer->kind->describe(scorer, text, sizeof(text));
	assert_string_equal(text, "3 columns, 1 center, shrunk by 0.251");
	scorer->kind->free(scorer);
	mat_release(&rows);
	mat_release(&judged);
	mat_release(&parts);
	mat_release(&normal);
}

/* Draws rows in which each column correlates with the one before it, so that all columns correlate. */
static void correlated_rows(struct rng *rng, double together, struct mat *m)
{
	normal_rows(rng, m);
	for (size_t i = 0; i < m->rows; i++)
		for (size_t j = 1; j < m->cols; j++)
			mat_set(m, i, j, together * mat_get(m, i, j - 1) + sqrt(1.0 - together * together) * mat_get(m, i, j));
}

/* Checks that a column that moves alone has the largest part, however correlated it is. This is the reason for this definition of parts. */
static void test_alone(void **state)
{
	struct mat rows = mat_new(300, 6), row = mat_new(1, 6), parts = mat_new(1, 6), expected = mat_new(1, 6);
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1);
	for (size_t round = 0; round < 20; round++) {
		struct scorer *scorer;
		double *mean = mem_new(6, sizeof(*mean));

		correlated_rows(&rng, .5 + .025 * (double)round, &rows);
		scorer = scorer_mahalanobis.fit(&rows, NULL, 0);
		for (size_t i = 0; i < rows.rows * 6; i++)
			mean[i % 6] += rows.at[i] / (double)rows.rows;
		for (size_t moved = 0; moved < 6; moved++) {
			memcpy(row.at, mean, 6 * sizeof(*mean));
			row.at[moved] -= 3.0;
			scorer->kind->parts(scorer, &row, &parts, &expected);
			for (size_t j = 0; j < 6; j++)
				assert_true(parts.at[j] <= parts.at[moved]);
			assert_true(expected.at[moved] > row.at[moved]);
		}
		free(mean);
		scorer->kind->free(scorer);
	}
	mat_release(&rows);
	mat_release(&row);
	mat_release(&parts);
	mat_release(&expected);
}

/* Checks that columns of rare events do not hide others. Two of six are zero in 90 % of the rows; a third one moves by 6 deviations. */
static void test_tails(void **state)
{
	struct mat rows = mat_new(2000, 6), parts = mat_new(2000, 6);
	struct scorer *scorer;
	double *error = mem_new(2000, sizeof(*error));
	size_t found = 0;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 11);
	normal_rows(&rng, &rows);
	for (size_t i = 0; i < 2000; i++)
		for (size_t j = 0; j < 2; j++)
			mat_set(&rows, i, j, rng_double(&rng) < .1 ? -4.0 * log(1.0 - rng_double(&rng)) : 0.0);
	scorer = scorer_mahalanobis.fit(&rows, NULL, 0);
	for (size_t shifted = 0; shifted < 2; shifted++) {
		double limit = stats_quantile(error, 2000, .99);

		for (size_t i = 0; i < 2000; i++)
			rows.at[6 * i + 4] += shifted ? 6.0 : 0.0;
		scorer->kind->parts(scorer, &rows, &parts, NULL);
		for (size_t i = 0; i < 2000; i++) {
			error[i] = 0.0;
			for (size_t j = 0; j < 6; j++)
				error[i] += mat_get(&parts, i, j);
			found += shifted && error[i] > limit;
		}
	}
	assert_true(found > 1600);
	scorer->kind->free(scorer);
	free(error);
	mat_release(&rows);
	mat_release(&parts);
}

/* Draws runs with three input sizes in turn. */
static void sized_rows(struct rng *rng, double apart, struct mat *rows, size_t *run)
{
	correlated_rows(rng, .6, rows);
	for (size_t i = 0; i < rows->rows; i++) {
		run[i] = 10 + i / 10;
		for (size_t j = 0; j < rows->cols; j++)
			rows->at[i * rows->cols + j] += apart * (double)(run[i] % 3 * (j % 2 ? run[i] % 3 : 1));
	}
}

static void sums_of(const struct mat *parts, double *sum)
{
	for (size_t i = 0; i < parts->rows; i++) {
		sum[i] = 0.0;
		for (size_t j = 0; j < parts->cols; j++)
			sum[i] += mat_get(parts, i, j);
	}
}

/* Checks that only several clusters lead to several centers, and that a shift of all columns is then not taken for another size. */
static void test_centers(void **state)
{
	static const struct {
		double apart;
		size_t centers;
	} rows_of[] = { { 0.0, 1 }, { .5, 1 }, { 8.0, 3 } };
	struct mat rows = mat_new(240, 6), parts = mat_new(240, 6);
	double error[240], limit;
	size_t run[240], found[COUNT(rows_of)] = { 0 };
	struct rng rng;

	(void)state;
	rng_seed(&rng, 12);
	for (size_t i = 0; i < COUNT(rows_of); i++) {
		struct scorer *scorer;
		char text[64], say[32];

		sized_rows(&rng, rows_of[i].apart, &rows, run);
		snprintf(say, sizeof(say), "6 columns, %zu center", rows_of[i].centers);
		scorer = scorer_mahalanobis.fit(&rows, run, 1);
		scorer_mahalanobis.describe(scorer, text, sizeof(text));
		assert_memory_equal(text, say, strlen(say));
		scorer_mahalanobis.parts(scorer, &rows, &parts, NULL);
		sums_of(&parts, error);
		limit = stats_quantile(error, 240, .99);
		for (size_t k = 0; k < 240 * 6; k++)
			rows.at[k] -= 3.0;
		scorer_mahalanobis.parts(scorer, &rows, &parts, NULL);
		sums_of(&parts, error);
		for (size_t k = 0; k < 240; k++)
			found[i] += error[k] > limit;
		for (size_t k = 0; k < 240; k++)
			run[k] = k % 7; /* too few runs for several centers */
		scorer_mahalanobis.free(scorer);
		scorer = scorer_mahalanobis.fit(&rows, run, 1);
		scorer_mahalanobis.describe(scorer, text, sizeof(text));
		assert_memory_equal(text, "6 columns, 1 center,", 20);
		scorer_mahalanobis.free(scorer);
	}
	assert_true(2 * found[2] > found[0] && found[0] > 60);
	mat_release(&rows);
	mat_release(&parts);
}

/* Checks that a scorer's parts are finite and not negative, even for constant columns, two rows, or distant rows, and are reproducible. */
static void check_scorer(const struct scorer_kind *kind)
{
	static const size_t sizes[][2] = { { 2, 1 }, { 2, 9 }, { 40, 3 }, { 500, 12 } };
	struct rng rng;

	rng_seed(&rng, 5);
	for (size_t s = 0; s < COUNT(sizes); s++) {
		struct mat rows = mat_new(sizes[s][0], sizes[s][1]), parts = mat_new(sizes[s][0], sizes[s][1]), again = parts;
		size_t *run = mem_new(rows.rows, sizeof(*run)), bytes = rows.rows * rows.cols * sizeof(double);
		struct scorer *scorer, *twin;

		again.at = mem_new(rows.rows * rows.cols, sizeof(double));
		for (size_t same = 0; same < 2; same++) {
			if (!same)
				normal_rows(&rng, &rows);
			else
				memset(rows.at, 0, bytes);
			scorer = kind->fit(&rows, run, 7);
			twin = kind->fit(&rows, run, 7);
			assert_ptr_equal(scorer->kind, kind);
			for (size_t i = 0; i < rows.rows * rows.cols && s > 1; i += 17)
				rows.at[i] = 1e4;
			kind->parts(scorer, &rows, &parts, NULL);
			kind->parts(twin, &rows, &again, NULL);
			assert_memory_equal(parts.at, again.at, bytes);
			for (size_t i = 0; i < rows.rows * rows.cols; i++)
				assert_true(isfinite(parts.at[i]) && parts.at[i] >= 0.0);
			kind->free(scorer);
			kind->free(twin);
		}
		free(run);
		mat_release(&rows);
		mat_release(&parts);
		mat_release(&again);
	}
	kind->free(NULL);
}

static void test_any_rows(void **state)
{
	(void)state;
	check_scorer(&scorer_mahalanobis);
	check_scorer(&scorer_som);
}

/* ---- self-organizing map ---- */

/* Checks a 3 x 3 map of one column, 0 1 2 / 0 1 2 / 0 1 12, against manually calculated mean distances to the neighbors. */
static void test_areas(void **state)
{
	static const double areas[] = { .5, 2.0 / 3, 0.5, 1.0 / 3, .5, 11.0 / 3, .5, 4.0, 10.5 };
	double unit[] = { 0, 1, 2, 0, 1, 2, 0, 1, 12 }, area[9], row;
	bool sparse[9];
	struct som som = { .scorer = { &scorer_som }, .side = 3, .unit = { 9, 1, unit }, .area = { 9, 1, area }, .sparse = sparse };
	struct mat rows = { 1, 1, &row }, parts = mat_new(1, 1), expected = mat_new(1, 1);

	(void)state;
	som_areas(&som);
	for (size_t i = 0; i < 9; i++) {
		assert_near(area[i], areas[i]);
		assert_int_equal(sparse[i], i > 6); /* the 85th percentile of nine areas is between the second and the third largest */
	}
	row = 13.0;
	scorer_som.parts(&som.scorer, &rows, &parts, &expected);
	assert_near(parts.at[0], 1.0 + 10.5); /* distance 1 to the best matching unit, plus the area of this unit */
	assert_near(expected.at[0], 2.0);     /* the nearest unit that is not sparse */
	row = 0.25;
	scorer_som.parts(&som.scorer, &rows, &parts, &expected);
	assert_near(parts.at[0], .0625 + .5);
	mat_release(&parts);
	mat_release(&expected);
}

/* Checks that the map learns two clusters, which one normal distribution cannot, and that the map is ordered. */
static void test_map(void **state)
{
	struct mat rows = mat_new(1000, 2), judged = mat_new(2, 2), parts = mat_new(2, 2), at_rows = mat_new(1000, 2);
	struct scorer *scorer;
	double *error = mem_new(1000, sizeof(*error));
	struct rng rng;
	char text[64];

	(void)state;
	rng_seed(&rng, 4);
	normal_rows(&rng, &rows);
	for (size_t i = 0; i < 2000; i += 2)
		rows.at[i] += i % 4 ? 8.0 : -8.0;
	scorer = scorer_som.fit(&rows, NULL, 1);
	memcpy(judged.at, (double[]){ 0.0, 0.0, 8.0, 5.0 }, 4 * sizeof(double)); /* a row between the clusters, and one next to a cluster */
	scorer_som.parts(scorer, &judged, &parts, NULL);
	scorer_som.parts(scorer, &rows, &at_rows, NULL);
	for (size_t i = 0; i < 1000; i++)
		error[i] = at_rows.at[2 * i] + at_rows.at[2 * i + 1];
	assert_true(parts.at[0] + parts.at[1] > stats_quantile(error, 1000, .99));
	assert_true(parts.at[2] + parts.at[3] > stats_quantile(error, 1000, .99));
	assert_true(parts.at[0] > parts.at[1] && parts.at[3] > parts.at[2]); /* the deviating column has the larger part */
	scorer_som.describe(scorer, text, sizeof(text));
	assert_string_equal(text, "13 x 13 units");
	scorer_som.free(scorer);
	free(error);
	mat_release(&rows);
	mat_release(&judged);
	mat_release(&parts);
	mat_release(&at_rows);
}

int suite_scorers(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_covariance), cmocka_unit_test(test_mahalanobis), cmocka_unit_test(test_alone),
		cmocka_unit_test(test_tails),	   cmocka_unit_test(test_centers),     cmocka_unit_test(test_any_rows),
		cmocka_unit_test(test_areas),	   cmocka_unit_test(test_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

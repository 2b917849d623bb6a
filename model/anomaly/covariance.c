#include "model/anomaly/covariance.h"

#include "base/error.h"
#include "base/mem.h"

#include <float.h>
#include <lapacke.h>
#include <math.h>

static void mean_of(const struct mat *rows, double *mean)
{
	for (size_t i = 0; i < rows->rows; i++)
		for (size_t j = 0; j < rows->cols; j++)
			mean[j] += mat_get(rows, i, j);
	for (size_t j = 0; j < rows->cols; j++)
		mean[j] /= (double)rows->rows;
}

/* The matrix without shrinking. Returns the mean over the rows of (sum of squares)^2, which says how much the products vary. */
static double products_of(const struct mat *rows, const double *mean, struct mat *matrix)
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

/* b^2 / d^2 of the paper: the error of the matrix (of its elements, squared), estimated from how the products of single rows vary around it, over
 * its distance from the identity times the average variance; at most 1. */
static double shrinkage_of(const struct mat *matrix, double average, double fourth, size_t rows)
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

void covariance_of(const struct mat *rows, struct covariance *out)
{
	size_t p = rows->cols;
	struct covariance c = { .mean = mem_new(p, sizeof(double)), .matrix = mat_new(p, p) };
	double fourth;

	ASSAY_BUG_IF(rows->rows == 0 || p == 0);
	mean_of(rows, c.mean);
	fourth = products_of(rows, c.mean, &c.matrix);
	for (size_t j = 0; j < p; j++)
		c.average += mat_get(&c.matrix, j, j) / (double)p;
	c.shrinkage = shrinkage_of(&c.matrix, c.average, fourth, rows->rows);
	for (size_t j = 0; j < p; j++)
		for (size_t k = 0; k < p; k++)
			mat_set(&c.matrix, j, k,
			        (1.0 - c.shrinkage) * mat_get(&c.matrix, j, k) + (j == k ? c.shrinkage * c.average : 0.0));
	*out = c;
}

void covariance_release(struct covariance *covariance)
{
	free(covariance->mean);
	mat_release(&covariance->matrix);
	*covariance = (struct covariance){ .mean = NULL };
}

bool covariance_invert(struct mat *matrix, double *log_det)
{
	lapack_int p = (lapack_int)matrix->rows;

	if (LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', p, matrix->at, p) != 0)
		return false;
	if (log_det) {
		*log_det = 0.0;
		for (size_t j = 0; j < matrix->rows; j++)
			*log_det += 2.0 * log(mat_get(matrix, j, j));
	}
	if (LAPACKE_dpotri(LAPACK_ROW_MAJOR, 'L', p, matrix->at, p) != 0)
		return false;
	for (size_t j = 0; j < matrix->rows; j++)
		for (size_t k = j + 1; k < matrix->cols; k++)
			mat_set(matrix, j, k, mat_get(matrix, k, j));
	return true;
}

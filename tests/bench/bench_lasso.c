/* Does the same as scikit-learn's LassoCV, with the same folds: bench_lasso FILE, a file as for bench_cost. Finds the lambda with the
 * least error on held-out rows, over the paths of five folds, and the coefficients of all rows at this lambda. Prints the CPU seconds,
 * the lambda and its index, then a coefficient per line, for lasso_peer.py. Columns have mean 0 and variance 1 over all rows. */
#include "base/mem.h"
#include "base/stats.h"
#include "model/sparse/lasso.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FOLDS 5

static const struct lasso_options how = { .any_sign = true, .is_unscaled = true, .smallest = 1e-3 };

static size_t count_columns(char *line)
{
	size_t n = 0;

	for (char *word; (word = strsep(&line, "\t\n")) && *word;)
		n++;
	return n;
}

/* Reads the rows of a file. The first value of each row is y. */
static void read_rows(const char *path, struct mat *X, double **y)
{
	FILE *file = fopen(path, "r");
	char *line = NULL, *rest;
	size_t room = 0, columns, capacity = 0;

	if (!file || getline(&line, &room, file) < 0)
		exit(2);
	columns = count_columns(line) - 1;
	*X = (struct mat){ .cols = columns };
	*y = NULL;
	for (size_t values = 0, of_y = 0; getline(&line, &room, file) >= 0; X->rows++) {
		rest = line;
		*y = mem_grow(*y, X->rows, &of_y, sizeof(**y));
		(*y)[X->rows] = strtod(rest, &rest);
		for (size_t j = 0; j < columns; j++) {
			X->at = mem_grow(X->at, values, &capacity, sizeof(double));
			X->at[values++] = strtod(rest, &rest);
		}
	}
	free(line);
	fclose(file);
}

static void standardise(struct mat *X)
{
	for (size_t j = 0; j < X->cols; j++) {
		double mean = 0.0, square = 0.0;

		for (size_t i = 0; i < X->rows; i++)
			mean += mat_get(X, i, j) / (double)X->rows;
		for (size_t i = 0; i < X->rows; i++)
			square += pow(mat_get(X, i, j) - mean, 2.0) / (double)X->rows;
		for (size_t i = 0; i < X->rows; i++)
			mat_set(X, i, j, (mat_get(X, i, j) - mean) / (square > 0.0 ? sqrt(square) : 1.0));
	}
}

/* Fits the path to all rows except [from, to) and adds its squared errors on those rows to error[]. */
static void try_fold(const struct mat *X, const double *y, size_t from, size_t to, const double *lambda, double *error)
{
	struct mat in = mat_new(X->rows - (to - from), X->cols), out = { .rows = to - from, .cols = X->cols, .at = X->at + from * X->cols };
	double *value = mem_new(to - from, sizeof(*value)), *of = mem_new(in.rows, sizeof(*of)),
	       *weight = mem_new(in.rows, sizeof(*weight));
	struct lasso_path path;

	for (size_t i = 0, n = 0; i < X->rows; i++) {
		if (i >= from && i < to)
			continue;
		memcpy(in.at + n * in.cols, X->at + i * X->cols, X->cols * sizeof(double));
		weight[n] = 1.0;
		of[n++] = y[i];
	}
	lasso_path_compute(&in, of, weight, &how, lambda, &path);
	for (size_t k = 0; k < LASSO_LAMBDAS; k++) {
		lasso_values(&path.beta, path.intercept, k, &out, value);
		for (size_t i = from; i < to; i++)
			error[k] += pow(value[i - from] - y[i], 2.0) / (double)(to - from);
	}
	lasso_path_release(&path);
	mat_release(&in);
	free(value);
	free(weight);
	free(of);
}

int main(int argc, char **argv)
{
	struct mat X;
	double *y, *weight, error[LASSO_LAMBDAS] = { 0 };
	struct lasso_path path;
	size_t best = 0;
	clock_t began;

	if (argc != 2)
		return 2;
	read_rows(argv[1], &X, &y);
	standardise(&X);
	weight = mem_new(X.rows, sizeof(*weight));
	for (size_t i = 0; i < X.rows; i++)
		weight[i] = 1.0;
	began = clock();
	lasso_path_compute(&X, y, weight, &how, NULL, &path);
	for (size_t fold = 0, from = 0; fold < FOLDS; fold++) {
		size_t to = from + X.rows / FOLDS + (fold < X.rows % FOLDS);

		try_fold(&X, y, from, to, path.lambda, error);
		from = to;
	}
	for (size_t k = 1; k < LASSO_LAMBDAS; k++)
		best = error[k] < error[best] ? k : best;
	printf("%.6f\n%.17g\n%zu\n", (double)(clock() - began) / CLOCKS_PER_SEC, path.lambda[best], best);
	for (size_t j = 0; j < X.cols; j++)
		printf("%.17g\n", mat_get(&path.beta, best, j));
	lasso_path_release(&path);
	mat_release(&X);
	free(weight);
	free(y);
	return 0;
}

#include "model/sparse/sparse.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "model/sparse/lasso.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define OUTER_FOLDS 10
#define INNER_FOLDS 5
#define SEED	    19
#define SURVIVORS   12	 /* whose products are taken: 454 up to degree 3 */
#define BETTER	    .95	 /* a higher degree must have at most this part of the error of a lower one */
#define SAME	    1e-9 /* columns that differ by less, as a part of their deviation, are the same */
#define OUTSIDE	    .1	 /* of the range */
#define LEAST	    1e-3 /* predictions are at least this part of the smallest cost learned */

static const struct lasso_options fitting = { .smallest = 1e-3, .exact = 1e-6 };

/* Runs to learn from, or a part of them. */
struct runs {
	struct mat X;
	double *y, *weight; /* [rows]; errors are relative: a weight is 1 / y^2 */
	size_t *fold;	    /* [rows] */
};

static void runs_release(struct runs *r)
{
	mat_release(&r->X);
	free(r->y);
	free(r->weight);
	free(r->fold);
}

/* Deals the inputs to folds. */
static void deal(const size_t *group, size_t n, size_t inputs, size_t folds, uint64_t seed, size_t *fold)
{
	size_t *part = mem_new(inputs, sizeof(*part));
	struct rng rng;

	rng_seed(&rng, seed);
	rng_deal(&rng, inputs, folds, part);
	for (size_t i = 0; i < n; i++)
		fold[i] = part[group[i]];
	free(part);
}

/* The rows that are in `fold`, or those that are not. */
static struct runs runs_part(const struct runs *all, size_t fold, bool in)
{
	struct runs r = { .X = mat_new(all->X.rows, all->X.cols) };
	size_t n = 0;

	r.y = mem_new(all->X.rows, sizeof(*r.y));
	r.weight = mem_new(all->X.rows, sizeof(*r.weight));
	r.fold = mem_new(all->X.rows, sizeof(*r.fold));
	for (size_t i = 0; i < all->X.rows; i++) {
		if ((all->fold[i] == fold) != in)
			continue;
		memcpy(r.X.at + n * r.X.cols, all->X.at + i * r.X.cols, r.X.cols * sizeof(double));
		r.y[n] = all->y[i];
		r.weight[n] = all->weight[i];
		r.fold[n++] = all->fold[i];
	}
	r.X.rows = n;
	return r;
}

double sparse_term_cost(const struct sparse_term *term, const double *row)
{
	double cost = term->coefficient;

	for (size_t k = 0; k < term->degree; k++)
		cost *= row[term->column[k]];
	return cost;
}

double sparse_predict(const struct sparse *model, const double *row)
{
	double cost = model->intercept;

	for (size_t t = 0; t < model->terms; t++)
		cost += sparse_term_cost(&model->term[t], row);
	return cost;
}

/* ---- columns ---- */

/* Whether column b is slope * column a + offset. */
static bool follows(const struct mat *X, size_t a, size_t b, struct sparse_column *column)
{
	double mean_a = 0.0, mean_b = 0.0, aa = 0.0, ab = 0.0, bb = 0.0, slope, worst = 0.0;
	size_t n = X->rows;

	for (size_t i = 0; i < n; i++) {
		mean_a += mat_get(X, i, a) / (double)n;
		mean_b += mat_get(X, i, b) / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		double x = mat_get(X, i, a) - mean_a, y = mat_get(X, i, b) - mean_b;

		aa += x * x;
		ab += x * y;
		bb += y * y;
	}
	slope = ab / aa;
	if (ab * ab < (1.0 - 1e-6) * aa * bb)
		return false;
	for (size_t i = 0; i < n; i++)
		worst = fmax(worst, fabs(mat_get(X, i, b) - mean_b - slope * (mat_get(X, i, a) - mean_a)));
	if (worst > SAME * sqrt(bb / (double)n))
		return false;
	column->slope = slope;
	column->offset = mean_b - slope * mean_a;
	return true;
}

/* Fills column[cols]. */
static void look_at_columns(const struct mat *X, struct sparse_column *column)
{
	for (size_t j = 0; j < X->cols; j++) {
		column[j] = (struct sparse_column){ (double)INFINITY, -(double)INFINITY, SIZE_MAX, 0.0, 0.0 };
		for (size_t i = 0; i < X->rows; i++) {
			column[j].low = fmin(column[j].low, mat_get(X, i, j));
			column[j].high = fmax(column[j].high, mat_get(X, i, j));
		}
		if (column[j].high - column[j].low <= 1e-12 * fmax(fabs(column[j].high), fabs(column[j].low)))
			column[j].same_as = j;
		for (size_t k = 0; k < j && column[j].same_as == SIZE_MAX; k++) {
			if (column[k].same_as == SIZE_MAX && follows(X, k, j, &column[j]))
				column[j].same_as = k;
		}
	}
}

size_t sparse_unlike(const struct sparse *model, const double *row)
{
	for (size_t j = 0; j < model->columns; j++) {
		const struct sparse_column *c = &model->column[j];
		double range = c->high - c->low, scale = fmax(fabs(c->high), fabs(c->low));

		if (row[j] < c->low - OUTSIDE * range - 1e-12 * scale || row[j] > c->high + OUTSIDE * range + 1e-12 * scale)
			return j;
		if (c->same_as != SIZE_MAX && c->same_as != j &&
		    fabs(row[j] - c->slope * row[c->same_as] - c->offset) > 1e-6 * fmax(range, scale))
			return j;
	}
	return SIZE_MAX;
}

/* ---- fitting ---- */

static struct mat values_of(const struct mat *X, const struct sparse_term *term, size_t terms)
{
	struct mat Z = mat_new(X->rows, terms);

	for (size_t i = 0; i < X->rows; i++) {
		for (size_t t = 0; t < terms; t++)
			mat_set(&Z, i, t, sparse_term_cost(&term[t], X->at + i * X->cols));
	}
	return Z;
}

/* Adds the squared relative errors of each lambda on the runs of one fold. */
static void add_errors(const struct runs *out, const struct lasso_path *path, double *error)
{
	for (size_t k = 0; k < LASSO_LAMBDAS; k++) {
		for (size_t i = 0; i < out->X.rows; i++) {
			double cost = path->intercept[k];

			for (size_t j = 0; j < out->X.cols; j++)
				cost += mat_get(&path->beta, k, j) * mat_get(&out->X, i, j);
			error[k] += out->weight[i] * (cost - out->y[i]) * (cost - out->y[i]);
		}
	}
}

/* Coefficients of these terms by the lambda with the least error on folds left out; those that are 0 leave. Returns that error. */
static double choose(const struct runs *r, struct sparse_term *term, size_t *terms, double *intercept)
{
	struct runs all = { .X = values_of(&r->X, term, *terms), .y = r->y, .weight = r->weight, .fold = r->fold };
	double error[LASSO_LAMBDAS] = { 0.0 };
	struct lasso_path path;
	size_t best = 0, kept = 0;

	lasso_path_of(&all.X, all.y, all.weight, &fitting, NULL, &path);
	for (size_t fold = 0; fold < INNER_FOLDS; fold++) {
		struct runs in = runs_part(&all, fold, false), out = runs_part(&all, fold, true);
		struct lasso_path part = { 0 };

		if (in.X.rows && out.X.rows) {
			lasso_path_of(&in.X, in.y, in.weight, &fitting, path.lambda, &part);
			add_errors(&out, &part, error);
		}
		lasso_path_release(&part);
		runs_release(&in);
		runs_release(&out);
	}
	for (size_t k = 1; k < LASSO_LAMBDAS; k++) {
		if (error[k] < error[best])
			best = k;
	}
	*intercept = path.intercept[best];
	for (size_t t = 0; t < *terms; t++) {
		double coefficient = mat_get(&path.beta, best, t);

		if (coefficient > 0.0) {
			term[kept] = term[t];
			term[kept++].coefficient = coefficient;
		}
	}
	*terms = kept;
	lasso_path_release(&path);
	mat_release(&all.X);
	return error[best];
}

struct weighed {
	struct sparse_term term;
	double cost;
};

static int by_cost(const void *a, const void *b)
{
	const struct weighed *x = a, *y = b;

	return x->cost != y->cost ? (x->cost < y->cost) - (x->cost > y->cost)
				  : memcmp(x->term.column, y->term.column, sizeof(x->term.column));
}

/* Terms by how much of the cost they are over all runs, most first. */
static void sort_terms(const struct mat *X, struct sparse_term *term, size_t terms)
{
	struct weighed *w = mem_new(terms, sizeof(*w));

	for (size_t t = 0; t < terms; t++) {
		w[t].term = term[t];
		for (size_t i = 0; i < X->rows; i++)
			w[t].cost += sparse_term_cost(&term[t], X->at + i * X->cols);
	}
	if (terms)
		qsort(w, terms, sizeof(*w), by_cost);
	for (size_t t = 0; t < terms; t++)
		term[t] = w[t].term;
	free(w);
}

/* All products of up to `degree` of the first survivors; *n of them. free() it. */
static struct sparse_term *expand(const struct sparse_term *linear, size_t terms, size_t degree, size_t *n)
{
	size_t capacity = 0, from = 0, survivors = terms < SURVIVORS ? terms : SURVIVORS;
	struct sparse_term *out = NULL;

	*n = 0;
	for (size_t a = 0; a < survivors; a++) {
		out = mem_grow(out, *n, &capacity, sizeof(*out));
		out[(*n)++] = (struct sparse_term){ .column = { linear[a].column[0] }, .degree = 1, .coefficient = 1.0 };
	}
	for (size_t d = 2; d <= degree; d++) {
		size_t to = *n;

		for (size_t t = from; t < to; t++) {
			for (size_t a = 0; a < survivors; a++) {
				struct sparse_term term = out[t];

				if (linear[a].column[0] < term.column[d - 2])
					continue;
				term.column[term.degree++] = linear[a].column[0];
				out = mem_grow(out, *n, &capacity, sizeof(*out));
				out[(*n)++] = term;
			}
		}
		from = to;
	}
	return out;
}

/* The model of these runs, without its errors. */
static void fit(const struct runs *r, size_t degree, struct sparse *out)
{
	struct sparse_term *linear = mem_new(r->X.cols, sizeof(*linear));
	size_t survivors = 0;
	double error;

	*out = (struct sparse){ .columns = r->X.cols, .runs = r->X.rows, .column = mem_new(r->X.cols, sizeof(*out->column)) };
	look_at_columns(&r->X, out->column);
	for (size_t j = 0; j < r->X.cols; j++) {
		if (out->column[j].same_as == SIZE_MAX)
			linear[survivors++] = (struct sparse_term){ .column = { j }, .degree = 1, .coefficient = 1.0 };
	}
	error = choose(r, linear, &survivors, &out->intercept);
	sort_terms(&r->X, linear, survivors);
	out->term = linear;
	out->terms = survivors;
	for (size_t d = 2; d <= degree && survivors; d++) {
		size_t n;
		double intercept, now;
		struct sparse_term *term = expand(linear, survivors, d, &n);

		now = choose(r, term, &n, &intercept);
		if (now < BETTER * error) {
			error = now;
			out->intercept = intercept;
			out->terms = n;
			if (out->term != linear)
				free(out->term);
			out->term = term;
			sort_terms(&r->X, term, n);
		} else {
			free(term);
		}
	}
	if (out->term != linear)
		free(linear);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The errors of models of the other folds on each fold. */
static void errors_of(const struct runs *all, size_t degree, const size_t *inner, const size_t *outer, struct sparse *out)
{
	size_t n = all->X.rows, at = 0, rank = (size_t)ceil(SPARSE_COVERAGE * (double)(n + 1));
	double *apart = mem_new(n, sizeof(*apart)), *off = mem_new(n, sizeof(*off)), least = (double)INFINITY;
	struct runs outside = *all;

	for (size_t i = 0; i < n; i++)
		least = fmin(least, LEAST * all->y[i]);
	for (size_t fold = 0; fold < OUTER_FOLDS; fold++) {
		struct runs in;
		struct sparse model = { 0 };

		for (size_t i = 0; i < n; i++) /* within what is left in, the folds of the second cross-validation */
			all->fold[i] = outer[i] == fold ? SIZE_MAX : inner[i];
		in = runs_part(&outside, SIZE_MAX, false);
		if (in.X.rows && in.X.rows < n)
			fit(&in, degree, &model);
		for (size_t i = 0; i < n && model.columns; i++) {
			double ratio = all->y[i] / fmax(least, sparse_predict(&model, all->X.at + i * all->X.cols));

			if (outer[i] != fold)
				continue;
			apart[at] = fabs(log(ratio));
			off[at++] = fabs(ratio - 1.0);
		}
		sparse_release(&model);
		runs_release(&in);
	}
	qsort(apart, at, sizeof(*apart), by_value);
	out->error_median = stats_median(off, at);
	out->error_mean = stats_mean(off, at);
	out->interval = rank <= at ? exp(apart[rank - 1]) : (double)INFINITY;
	free(apart);
	free(off);
}

void sparse_fit(const struct mat *X, const double *y, const size_t *group, size_t inputs, size_t degree, struct sparse *out)
{
	size_t n = X->rows, *inner = mem_new(n, sizeof(*inner)), *outer = mem_new(n, sizeof(*outer));
	struct runs all = { .fold = mem_new(n, sizeof(size_t)) };

	ASSAY_BUG_IF(inputs < SPARSE_INPUTS_MIN || X->cols == 0 || X->cols > SPARSE_COLUMNS_MAX || degree < 1 ||
		     degree > SPARSE_DEGREE_MAX);
	all.X = *X;
	all.y = mem_new(n, sizeof(double));
	all.weight = mem_new(n, sizeof(double));
	for (size_t i = 0; i < n; i++) {
		all.y[i] = y[i];
		all.weight[i] = 1.0 / (y[i] * y[i]);
	}
	deal(group, n, inputs, INNER_FOLDS, SEED, inner);
	deal(group, n, inputs, OUTER_FOLDS, SEED + 1, outer);
	memcpy(all.fold, inner, n * sizeof(*inner));
	fit(&all, degree, out);
	out->inputs = inputs;
	errors_of(&all, degree, inner, outer, out);
	all.X = (struct mat){ 0 }; /* the caller's */
	runs_release(&all);
	free(inner);
	free(outer);
}

void sparse_release(struct sparse *model)
{
	free(model->column);
	free(model->term);
}

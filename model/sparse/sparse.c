#include "model/sparse/sparse.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/rng.h"
#include "base/stats.h"
#include "model/sparse/lasso.h"
#include "model/sparse/excess.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SEED	   19
#define SAME_RATIO 1e-9 /* columns that differ by less, relative to their deviation, are equal */

/* Reports whether column b is slope * column a + offset. If so, sets the slope and the offset in *column. */
static bool is_linear_function(const struct mat *X, size_t a, size_t b, struct sparse_column *column)
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
	if (worst > SAME_RATIO * sqrt(bb / (double)n))
		return false;
	column->slope = slope;
	column->offset = mean_b - slope * mean_a;
	if (fabs(column->offset) <= SAME_RATIO * fmax(fabs(mean_b), fabs(slope * mean_a)))
		column->offset = 0.0;
	return true;
}

/* Key of a column: the product of the standardised column with random numbers. Columns that follow each other have equal keys, except for
 * rounding errors, whatever their units. */
struct column_key {
	double key;
	size_t column;
};

static double column_key_value(const struct mat *X, size_t j, const double *drawn)
{
	double mean = 0.0, variance = 0.0, key = 0.0;

	for (size_t i = 0; i < X->rows; i++)
		mean += mat_get(X, i, j) / (double)X->rows;
	for (size_t i = 0; i < X->rows; i++) {
		double x = mat_get(X, i, j) - mean;

		variance += x * x;
		key += x * drawn[i];
	}
	return fabs(key) / sqrt(variance);
}

ORDER_BY(by_key, struct column_key, BY_ASC(key) BY_ASC(column))

ORDER_BY(by_column, struct column_key, BY_ASC(column))

/* Finds columns that follow another one, among the candidates keys[n]. Sets `same_as` to the first column that each follows. */
static void look_for_same(const struct mat *X, struct column_key *keys, size_t n, struct sparse_column *column)
{
	order_sort(keys, n, by_column);
	for (size_t b = 1; b < n; b++) {
		for (size_t a = 0; a < b && column[keys[b].column].same_as == SIZE_MAX; a++) {
			if (column[keys[a].column].same_as == SIZE_MAX &&
			    is_linear_function(X, keys[a].column, keys[b].column, &column[keys[b].column]))
				column[keys[b].column].same_as = keys[a].column;
		}
	}
}

void columns_find_dependent(const struct mat *X, struct sparse_column *column)
{
	struct column_key *keys = mem_new(X->cols, sizeof(*keys));
	double *drawn = mem_new(X->rows, sizeof(*drawn));
	struct rng rng;
	size_t n = 0;

	rng_seed(&rng, SEED);
	for (size_t i = 0; i < X->rows; i++)
		drawn[i] = rng_normal(&rng);
	for (size_t j = 0; j < X->cols; j++) {
		column[j] = (struct sparse_column){ .low = (double)INFINITY, .high = -(double)INFINITY, .same_as = SIZE_MAX };
		for (size_t i = 0; i < X->rows; i++) {
			column[j].low = fmin(column[j].low, mat_get(X, i, j));
			column[j].high = fmax(column[j].high, mat_get(X, i, j));
		}
		if (column[j].high - column[j].low <= 1e-12 * fmax(fabs(column[j].high), fabs(column[j].low)))
			column[j].same_as = j;
		else
			keys[n++] = (struct column_key){ column_key_value(X, j, drawn), j };
	}
	order_sort(keys, n, by_key);
	for (size_t first = 0, alike; first < n; first += alike) {
		for (alike = 1; first + alike < n && keys[first + alike].key - keys[first + alike - 1].key <= 1e-6;)
			alike++;
		look_for_same(X, &keys[first], alike, column);
	}
	mem_free(drawn, keys);
}

#define OUTER_FOLDS	    10
#define INNER_FOLDS	    5
#define SEED		    19
#define PRODUCT_COLUMNS_MAX 12 /* maximum number of columns whose products are tried: 454 terms up to degree 3 */
#define BETTER_RATIO	    .95 /* maximum ratio of the error of a higher degree to that of a lower one; otherwise the lower degree is used */
#define RANGE_MARGIN	    .1	 /* margin around the learned range, relative to the range */
#define LEVERAGE_MAX	    9.0	 /* maximum leverage of similar rows: a prediction's standard error is then three deviations of one input */
#define PREDICTION_MIN	    1e-3 /* lower limit of predictions, relative to the smallest learned cost */

#define PAIRS		  24 /* maximum number of pairs of columns whose products are tried: the pairs that correlate most with the residual */
#define PAIR_COLUMNS	  300  /* maximum number of columns searched for pairs: the columns that correlate most with the cost */
#define SIMPLER_TOLERANCE 1.02 /* maximum ratio of the chosen lambda's error to the least error; the largest such lambda is chosen */

static const struct lasso_options fitting = { .is_intercept_bounded = true, .refit = true, .smallest = 1e-3 },
				  as_published = { .any_sign = true, .smallest = 1e-3 };

/* Learned runs, or a subset of them. */
struct runs {
	struct mat X;
	double *y, *weight; /* [rows] cost; weight, 1 / y^2 because errors are relative */
	size_t *fold;	    /* [rows] fold of each run */
};

static void runs_release(struct runs *r)
{
	mat_release(&r->X);
	mem_free(r->y, r->weight, r->fold);
}

/* Assigns the inputs to folds at random. fold[n] gets the fold of each run. */
static void assign_folds(const size_t *group, size_t n, size_t inputs, size_t folds, uint64_t seed, size_t *fold)
{
	size_t *part = mem_new(inputs, sizeof(*part));
	struct rng rng;

	rng_seed(&rng, seed);
	rng_deal(&rng, inputs, folds, part);
	for (size_t i = 0; i < n; i++)
		fold[i] = part[group[i]];
	free(part);
}

/* Returns a copy of the rows in `fold`; if `in` is false, of all other rows. */
static struct runs select_fold_rows(const struct runs *all, size_t fold, bool in)
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
	return fmax(model->least, cost);
}

double sparse_error(double cost, double prediction)
{
	return fabs(prediction / cost - 1.0);
}

/* ---- rows unlike the learned ones ---- */

bool sparse_uses_column(const struct sparse *model, size_t column)
{
	for (size_t t = 0; t < model->terms; t++) {
		for (size_t k = 0; k < model->term[t].degree; k++) {
			if (model->term[t].column[k] == column)
				return true;
		}
	}
	return false;
}

/* Returns the distance of a value from the learned range, widened by a tenth of the range; 0 if the value is inside. */
static double distance_outside(const struct sparse_column *c, double value)
{
	double spare = RANGE_MARGIN * (c->high - c->low) + 1e-12 * fmax(fabs(c->high), fabs(c->low));

	return fmax(0.0, fmax(c->low - spare - value, value - c->high - spare));
}

/* Returns the distance of column j's value from its learned relation to a term's column; without a relation, from the learned range. */
static double column_strangeness(const struct sparse *model, const bool *used, const double *row, size_t j)
{
	const struct sparse_column *c = &model->column[j];
	double scale = fmax(c->high - c->low, fmax(fabs(c->high), fabs(c->low))), off;

	if (isnan(row[j])) /* unknown values are permitted for columns without a term */
		return 0.0;
	if (c->same_as == SIZE_MAX || c->same_as == j || !used[c->same_as])
		return distance_outside(c, row[j]);
	off = fabs(row[j] - c->slope * row[c->same_as] - c->offset);
	return off > 1e-6 * scale ? off : 0.0;
}

/* Returns the count that is farthest outside its learned range, or SIZE_MAX. Programs have thousands of counts, and some are rare. A single
 * unusual count is normal, and costs little. So all are judged together: executions outside the ranges, relative to all executions. */
static size_t find_unusual_count(const struct sparse *model, const bool *used, const double *row, double elsewhere)
{
	double all = elsewhere, other = elsewhere, most = 0.0;
	size_t found = elsewhere > 0.0 ? model->columns : SIZE_MAX;

	most = elsewhere;
	for (size_t j = 0; j < model->columns; j++) {
		double off = model->column[j].counted && !used[j] ? column_strangeness(model, used, row, j) : 0.0;

		if (!model->column[j].counted || isnan(row[j]))
			continue;
		all += row[j];
		other += off;
		if (off > most) {
			most = off;
			found = j;
		}
	}
	return other > SPARSE_UNREACHED_MAX * all ? found : SIZE_MAX;
}

/* Detects a new combination of terms whose columns are all within their ranges: the row's leverage is far above that of any learned row.
 * Returns a column of the term whose share is largest, relative to its learned shares; SIZE_MAX if the combination is not new. */
static size_t find_new_combination(const struct sparse *model, const double *row)
{
	size_t n = model->terms + 1, found = SIZE_MAX;
	double *z = mem_new(n, sizeof(*z)), most = 0.0;

	leverage_compute_shares(model, row, z);
	for (size_t t = 1; t < n && leverage_compute(&model->factor, z) > LEVERAGE_MAX; t++) {
		double learned = 0.0;

		for (size_t k = 0; k <= t; k++)
			learned += mat_get(&model->factor, t, k) * mat_get(&model->factor, t, k);
		if (z[t] * z[t] > most * learned) {
			most = z[t] * z[t] / learned;
			found = model->term[t - 1].column[0];
		}
	}
	free(z);
	return found;
}

size_t sparse_find_dissimilar(const struct sparse *model, const double *row, double elsewhere)
{
	bool *used = mem_new(model->columns, sizeof(*used));
	size_t found = SIZE_MAX;

	for (size_t j = 0; j < model->columns; j++)
		used[j] = sparse_uses_column(model, j);
	for (size_t j = 0; j < model->columns && found == SIZE_MAX; j++) {
		if (used[j] && column_strangeness(model, used, row, j) > 0.0)
			found = j;
	}
	for (size_t j = 0; j < model->columns && found == SIZE_MAX; j++) {
		size_t same = model->column[j].same_as;

		if (!model->column[j].counted && same != SIZE_MAX && (same == j || used[same]) &&
		    column_strangeness(model, used, row, j) > 0.0)
			found = j;
	}
	if (found == SIZE_MAX)
		found = find_new_combination(model, row);
	if (found == SIZE_MAX)
		found = find_unusual_count(model, used, row, elsewhere);
	free(used);
	return found;
}

/* ---- fitting ---- */

static struct mat term_values(const struct mat *X, const struct sparse_term *term, size_t terms)
{
	struct mat Z = mat_new(X->rows, terms);

	for (size_t i = 0; i < X->rows; i++) {
		for (size_t t = 0; t < terms; t++)
			mat_set(&Z, i, t, sparse_term_cost(&term[t], X->at + i * X->cols));
	}
	return Z;
}

/* Sums of errors on held-out runs for each lambda: [0] by the LASSO, [1] after the refit without the penalty. */
struct trial {
	double error[2][LASSO_LAMBDAS];
};

/* Adds the errors on the held-out runs `out` to error[LASSO_LAMBDAS]: squared errors if `squared`, else relative errors. */
static void add_errors(const struct runs *out, const struct mat *beta, const double *intercept, bool squared, double *error)
{
	double *cost = mem_new(out->X.rows, sizeof(*cost));

	for (size_t k = 0; k < LASSO_LAMBDAS; k++) {
		lasso_values(beta, intercept, k, &out->X, cost);
		for (size_t i = 0; i < out->X.rows; i++)
			error[k] += squared ? (cost[i] - out->y[i]) * (cost[i] - out->y[i]) : sparse_error(out->y[i], cost[i]);
	}
	free(cost);
}

static void try_folds(const struct runs *all, const struct lasso_options *how, const double *lambda, struct trial *t)
{
	for (size_t fold = 0; fold < INNER_FOLDS; fold++) {
		struct runs in = select_fold_rows(all, fold, false), out = select_fold_rows(all, fold, true);
		struct lasso_path part = { 0 };

		if (in.X.rows && out.X.rows) {
			lasso_path_compute(&in.X, in.y, in.weight, how, lambda, &part);
			add_errors(&out, &part.beta, part.intercept, how->any_sign, t->error[0]);
			if (how->refit)
				add_errors(&out, &part.refitted, part.refitted_intercept, how->any_sign, t->error[1]);
		}
		lasso_path_release(&part);
		runs_release(&in);
		runs_release(&out);
	}
}

/* Chooses the coefficients of the terms. Takes the largest lambda whose error on held-out folds is nearly the least. Removes terms with
 * coefficient 0. Returns the error. */
static double choose_terms(const struct runs *r, const struct lasso_options *how, struct sparse_term *term, size_t *terms,
			   double *intercept)
{
	struct runs all = { .X = term_values(&r->X, term, *terms), .y = r->y, .weight = r->weight, .fold = r->fold };
	struct trial t = { 0 };
	struct lasso_path path;
	size_t best = 0, kept = 0;
	int refit = 0;
	double least = (double)INFINITY;

	lasso_path_compute(&all.X, all.y, all.weight, how, NULL, &path);
	try_folds(&all, how, path.lambda, &t);
	for (int f = 0; f <= how->refit; f++) {
		for (size_t k = 0; k < LASSO_LAMBDAS; k++)
			least = fmin(least, t.error[f][k]);
	}
	for (size_t k = LASSO_LAMBDAS; k-- > 0;) {
		for (int f = 0; f <= how->refit; f++) {
			if (t.error[f][k] <= (how->any_sign ? 1.0 : SIMPLER_TOLERANCE) * least) {
				best = k;
				refit = f;
			}
		}
	}
	*intercept = refit ? path.refitted_intercept[best] : path.intercept[best];
	for (size_t j = 0; j < *terms; j++) {
		double coefficient = mat_get(refit ? &path.refitted : &path.beta, best, j);

		if (coefficient != 0.0) {
			term[kept] = term[j];
			term[kept++].coefficient = coefficient;
		}
	}
	*terms = kept;
	lasso_path_release(&path);
	mat_release(&all.X);
	return t.error[refit][best];
}

struct weighed_term {
	struct sparse_term term;
	double cost;
};

static int compare_term_costs(const void *a, const void *b)
{
	const struct weighed_term *x = a, *y = b;

	return x->cost != y->cost ? (x->cost < y->cost) - (x->cost > y->cost)
				  : memcmp(x->term.column, y->term.column, sizeof(x->term.column));
}

/* Sorts terms by the sum of their absolute costs over all runs, largest first. */
static void sort_terms(const struct mat *X, struct sparse_term *term, size_t terms)
{
	struct weighed_term *w = mem_new(terms, sizeof(*w));

	for (size_t t = 0; t < terms; t++) {
		w[t].term = term[t];
		for (size_t i = 0; i < X->rows; i++)
			w[t].cost += fabs(sparse_term_cost(&term[t], X->at + i * X->cols));
	}
	order_sort(w, terms, compare_term_costs);
	for (size_t t = 0; t < terms; t++)
		term[t] = w[t].term;
	free(w);
}

/* Returns all products of up to `degree` columns of `linear`. *n gets the number of products; free() them. */
static struct sparse_term *expand_terms(const struct sparse_term *linear, size_t survivors, size_t degree, size_t *n)
{
	size_t capacity = 0, from = 0;
	struct sparse_term *out = NULL;

	*n = 0;
	for (size_t a = 0; a < survivors; a++)
		mem_append(out, *n, &capacity, (struct sparse_term){ .column = { linear[a].column[0] }, .degree = 1, .coefficient = 1.0 });
	for (size_t d = 2; d <= degree; d++) {
		size_t to = *n;

		for (size_t t = from; t < to; t++) {
			for (size_t a = 0; a < survivors; a++) {
				struct sparse_term term = out[t];

				if (linear[a].column[0] < term.column[d - 2])
					continue;
				term.column[term.degree++] = linear[a].column[0];
				mem_append(out, *n, &capacity, term);
			}
		}
		from = to;
	}
	return out;
}

/* ---- pairs ---- */

struct pair {
	size_t a, b;
	double follows; /* correlation of the product with the residual */
};

ORDER_BY(by_following, struct pair, BY_DESC(follows) BY_ASC(a) BY_ASC(b))

/* Returns the weighted correlation of a product of columns, or of column a if b is SIZE_MAX, with `left`; 0 if negative. */
static double following(const struct runs *r, const double *left, size_t a, size_t b)
{
	double sum = 0.0, mean = 0.0, left_mean = 0.0, xx = 0.0, xy = 0.0, yy = 0.0;

	for (size_t i = 0; i < r->X.rows; i++) {
		double x = mat_get(&r->X, i, a) * (b == SIZE_MAX ? 1.0 : mat_get(&r->X, i, b));

		sum += r->weight[i];
		mean += r->weight[i] * x;
		left_mean += r->weight[i] * left[i];
	}
	for (size_t i = 0; i < r->X.rows; i++) {
		double x = mat_get(&r->X, i, a) * (b == SIZE_MAX ? 1.0 : mat_get(&r->X, i, b)) - mean / sum, y = left[i] - left_mean / sum;

		xx += r->weight[i] * x * x;
		xy += r->weight[i] * x * y;
		yy += r->weight[i] * y * y;
	}
	return xx > 0.0 && yy > 0.0 && xy > 0.0 ? xy / sqrt(xx * yy) : 0.0;
}

/* Returns pairs of columns whose product correlates with the residual, best pair first. Searches only the columns that correlate most with
 * the cost. *n gets the number of pairs, at most PAIRS; free() them. */
static struct pair *find_pairs(const struct runs *r, const struct sparse_column *column, const struct sparse *linear, size_t *n)
{
	struct pair *single = mem_new(r->X.cols, sizeof(*single)), *pairs = NULL;
	double *left = mem_new(r->X.rows, sizeof(*left));
	size_t singles = 0, capacity = 0;

	*n = 0;
	for (size_t j = 0; j < r->X.cols; j++) {
		if (column[j].same_as == SIZE_MAX)
			single[singles++] = (struct pair){ j, SIZE_MAX, following(r, r->y, j, SIZE_MAX) };
	}
	order_sort(single, singles, by_following);
	singles = singles < PAIR_COLUMNS ? singles : PAIR_COLUMNS;
	for (size_t i = 0; i < r->X.rows; i++)
		left[i] = r->y[i] - sparse_predict(linear, r->X.at + i * r->X.cols);
	for (size_t a = 0; a < singles; a++) {
		for (size_t b = a; b < singles; b++) {
			size_t low = single[a].a < single[b].a ? single[a].a : single[b].a, high = single[a].a + single[b].a - low;
			double how = following(r, left, low, high);

			if (how <= 0.0)
				continue;
			mem_append(pairs, *n, &capacity, (struct pair){ low, high, how });
		}
	}
	order_sort(pairs, *n, by_following);
	*n = *n < PAIRS ? *n : PAIRS;
	mem_free(left, single);
	return pairs;
}

static bool has_term(const struct sparse_term *term, size_t n, const struct sparse_term *one)
{
	for (size_t t = 0; t < n; t++) {
		if (term[t].degree == one->degree && memcmp(term[t].column, one->column, sizeof(one->column)) == 0)
			return true;
	}
	return false;
}

/* Appends a term to term[*n] for each pair that is not a term yet. Returns the array, which may have moved. */
static struct sparse_term *add_pairs(const struct pair *pairs, size_t n_pairs, struct sparse_term *term, size_t *n)
{
	term = mem_resize(term, *n + n_pairs, sizeof(*term));
	for (size_t i = 0; i < n_pairs; i++) {
		struct sparse_term one = { .column = { pairs[i].a, pairs[i].b }, .degree = 2, .coefficient = 1.0 };

		if (!has_term(term, *n, &one))
			term[(*n)++] = one;
	}
	return term;
}

/* ---- the model ---- */

/* Returns a linear term for each column that varies and does not follow another. *n gets the number of terms; free() them. */
static struct sparse_term *linear_terms(const struct sparse *model, size_t *n)
{
	struct sparse_term *linear = mem_new(model->columns, sizeof(*linear));

	*n = 0;
	for (size_t j = 0; j < model->columns; j++) {
		if (model->column[j].same_as == SIZE_MAX)
			linear[(*n)++] = (struct sparse_term){ .column = { j }, .degree = 1, .coefficient = 1.0 };
	}
	return linear;
}

/* Returns the columns whose products are tried. If there are few columns, these are all, because nested loop counts may explain nothing by
 * themselves. Otherwise, they are the columns with the largest cost in the linear model. free() them. */
static struct sparse_term *choose_product_columns(const struct sparse *linear, bool paper, size_t *n)
{
	struct sparse_term *all = linear_terms(linear, n);

	if (paper || *n > PRODUCT_COLUMNS_MAX) {
		*n = linear->terms < PRODUCT_COLUMNS_MAX ? linear->terms : PRODUCT_COLUMNS_MAX;
		if (*n)
			memcpy(all, linear->term, *n * sizeof(*all));
	}
	return all;
}

/* Fits products of columns up to `degree`, and pairs. Stores the result in *out if *error falls enough, or if `paper` requires it. */
static void fit_products(const struct runs *r, const struct sparse_options *how, const struct sparse *linear, const struct pair *pairs,
			 size_t n_pairs, size_t degree, double *error, struct sparse *out)
{
	size_t n, survivors;
	double intercept, now;
	struct sparse_term *of = choose_product_columns(linear, how->paper, &survivors), *term = expand_terms(of, survivors, degree, &n);

	term = add_pairs(pairs, n_pairs, term, &n);
	now = choose_terms(r, how->paper ? &as_published : &fitting, term, &n, &intercept);
	if (now < BETTER_RATIO * *error || (how->paper && degree == how->degree)) {
		*error = now;
		out->intercept = intercept;
		out->terms = n;
		if (out->term != linear->term)
			free(out->term);
		out->term = term;
		sort_terms(&r->X, term, n);
	} else {
		free(term);
	}
	free(of);
}

/* Fits the model to the runs, but does not compute its errors on held-out runs. */
static void fit_model(const struct runs *r, const struct sparse_options *how, struct sparse *out)
{
	struct sparse linear = { .columns = r->X.cols, .runs = r->X.rows, .column = mem_new(r->X.cols, sizeof(*out->column)) };
	struct pair *pairs = NULL;
	size_t n_pairs = 0;
	double error;

	linear.least = (double)INFINITY;
	for (size_t i = 0; i < r->X.rows; i++)
		linear.least = fmin(linear.least, PREDICTION_MIN * r->y[i]);
	columns_find_dependent(&r->X, linear.column);
	for (size_t j = 0; j < r->X.cols; j++)
		linear.column[j].counted = how->counted && how->counted[j];
	linear.term = linear_terms(&linear, &linear.terms);
	error = choose_terms(r, how->paper ? &as_published : &fitting, linear.term, &linear.terms, &linear.intercept);
	sort_terms(&r->X, linear.term, linear.terms);
	*out = linear;
	if (how->degree > 1 && !how->paper)
		pairs = find_pairs(r, linear.column, &linear, &n_pairs);
	for (size_t d = how->paper ? how->degree : 2; d <= how->degree && d > 1 && (linear.terms || n_pairs); d++)
		fit_products(r, how, &linear, pairs, n_pairs, d, &error, out);
	if (out->term != linear.term)
		free(linear.term);
	out->factor = leverage_cholesky_factor(out, &r->X);
	free(pairs);
}

/* Computes the interval and errors from held-out runs with inputs similar to the learned ones; from all runs if there are none. */
static void summarise(const struct runs *all, const double *prediction, struct sparse *out)
{
	size_t n = all->X.rows, at = 0, rank;
	double *log_errors = mem_new(n, sizeof(*log_errors)), *off = mem_new(n, sizeof(*off));

	for (size_t i = 0; i < n; i++)
		out->n_dissimilar += isnan(out->log_errors[i]) ? 1 : 0;
	for (size_t i = 0; i < n; i++) {
		if (isnan(out->log_errors[i]) && out->n_dissimilar < n)
			continue;
		log_errors[at] = fabs(log(all->y[i] / prediction[i]));
		off[at++] = sparse_error(all->y[i], prediction[i]);
	}
	rank = (size_t)ceil(SPARSE_COVERAGE * (double)(at + 1));
	qsort(log_errors, at, sizeof(*log_errors), stats_compare);
	out->error_median = stats_median(off, at);
	out->error_mean = stats_mean(off, at);
	out->interval = rank <= at ? exp(log_errors[rank - 1]) : (double)INFINITY;
	mem_free(log_errors, off);
}

/* Computes the errors for the runs of each outer fold, by a model fitted to the other folds. */
static void cross_validate(const struct runs *all, const struct sparse_options *how, const size_t *inner, const size_t *outer,
			   struct sparse *out)
{
	size_t n = all->X.rows;
	double *prediction = mem_new(n, sizeof(*prediction));
	struct runs outside = *all;

	out->held_out_predictions = prediction;
	out->log_errors = mem_new(n, sizeof(*out->log_errors));
	for (size_t fold = 0; fold < OUTER_FOLDS; fold++) {
		struct runs in;
		struct sparse model = { 0 };

		for (size_t i = 0; i < n; i++) /* rows outside the fold keep their inner folds */
			all->fold[i] = outer[i] == fold ? SIZE_MAX : inner[i];
		in = select_fold_rows(&outside, SIZE_MAX, false);
		if (in.X.rows && in.X.rows < n)
			fit_model(&in, how, &model);
		for (size_t i = 0; i < n && model.columns; i++) {
			const double *row = all->X.at + i * all->X.cols;

			if (outer[i] != fold)
				continue;
			prediction[i] = sparse_predict(&model, row);
			out->log_errors[i] =
			    sparse_find_dissimilar(&model, row, 0.0) == SIZE_MAX ? log(all->y[i] / prediction[i]) : (double)NAN;
		}
		sparse_release(&model);
		runs_release(&in);
	}
	summarise(all, prediction, out);
}

void sparse_fit(const struct mat *X, const double *y, const size_t *group, size_t inputs, const struct sparse_options *how,
		struct sparse *out)
{
	size_t n = X->rows, *inner = mem_new(n, sizeof(*inner)), *outer = mem_new(n, sizeof(*outer));
	struct runs all = { .fold = mem_new(n, sizeof(size_t)) };

	ASSAY_BUG_IF(inputs < SPARSE_INPUTS_MIN || X->cols == 0 || X->cols > SPARSE_COLUMNS_MAX || how->degree < 1 ||
		     how->degree > SPARSE_DEGREE_MAX);
	all.X = *X;
	all.y = mem_new(n, sizeof(double));
	all.weight = mem_new(n, sizeof(double));
	for (size_t i = 0; i < n; i++) {
		all.y[i] = y[i];
		all.weight[i] = how->paper ? 1.0 : 1.0 / (y[i] * y[i]);
	}
	assign_folds(group, n, inputs, INNER_FOLDS, SEED, inner);
	assign_folds(group, n, inputs, OUTER_FOLDS, SEED + 1, outer);
	memcpy(all.fold, inner, n * sizeof(*inner));
	fit_model(&all, how, out);
	out->inputs = inputs;
	cross_validate(&all, how, inner, outer, out);
	all.X = (struct mat){ 0 }; /* the caller owns X */
	runs_release(&all);
	mem_free(inner, outer);
}

void sparse_release(struct sparse *model)
{
	mem_free(model->column, model->term, model->log_errors, model->held_out_predictions);
	mat_release(&model->factor);
}

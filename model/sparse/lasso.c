#include "model/sparse/lasso.h"

#include "base/mem.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DEPENDENT 1e-11 /* a column is a linear combination of the set's columns if they leave at most this part of its square */
#define STEPS	  10	/* maximum number of steps per column and row; no known data need as many */
#define NEAR_LAMBDA                                                                                                                        \
	1e-6 /* relative distance below lambda within which pulls are computed exactly, if products of columns are imprecise               \
	      */
#define ROUNDING	 1e-14 /* upper bound of the rounding error of pulls from products of columns, relative to lengths and coefficients */
#define LAMBDA_TOLERANCE 1e-11 /* tolerance by which a pull may exceed lambda, relative to the deviation of y */

/* ---- the active set ---- */

/* The exact minimum of the LASSO for one lambda, found from a nearby point. The pull of a column is its product with the residual. The
 * active set has the columns with nonzero coefficients; a Cholesky factor solves its normal equations. On the way to their solution, the
 * first coefficient that would change its sign leaves the set. If there is none, the column whose pull exceeds lambda most enters. Each
 * step reduces the sum, so no set occurs twice. Coordinate descent needs more steps. Sources: Lee et al., "Efficient sparse coding
 * algorithms" (NIPS 2006); for non-negative coefficients, Lawson and Hanson, "Solving Least Squares Problems" (1974), chapter 23. */
struct active_problem {
	const double *z; /* [p x n] matrix, column by column */
	const double *y; /* [n] dependent variable */
	size_t n, p;
	const double *correlation; /* [p] product of each column with y */
	double **products;   /* [p] products of a column with all; NULL until needed. Problems with equal z may share them; free() each */
	const bool *allowed; /* [p] whether a column may enter the set; other columns have coefficient 0 */
	bool any_sign;	     /* coefficients may be negative */
	double enough;	     /* tolerance: a column enters only if its pull exceeds lambda by more than this */
};

struct active_set {
	struct active_problem problem_data;
	double lambda;
	double *b;	  /* [p] coefficients, owned by the caller */
	double *residual; /* [n] residual of y after the fit by the set's columns */
	double *near;	  /* [p] pull of each column, computed from products of columns */
	bool is_current;  /* `near` is valid for the present coefficients */
	double *size;	  /* [p] Euclidean length of each allowed column */
	double max_length;
	size_t *set; /* [k] columns in the set */
	size_t k, room;
	double *sign;	       /* [k] signs of the coefficients */
	double *factor;	       /* [room x room] lower Cholesky factor of the products of the set's columns */
	double *x;	       /* [room] buffer for solutions */
	double *step;	       /* [k] direction in which the coefficients change */
	bool *excluded_column; /* [p] columns that left immediately after entering; only rounding errors select these */
};

static const double *column_data(const struct active_set *a, size_t j)
{
	return a->problem_data.z + j * a->problem_data.n;
}

/* Returns the scalar product of x and y. Computes four sums in parallel, so that the CPU need not wait for each addition. */
static double active_set_dot(const double *x, const double *y, size_t n)
{
	double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
	size_t i = 0;

	for (; i + 4 <= n; i += 4) {
		a += x[i] * y[i];
		b += x[i + 1] * y[i + 1];
		c += x[i + 2] * y[i + 2];
		d += x[i + 3] * y[i + 3];
	}
	for (; i < n; i++)
		a += x[i] * y[i];
	return (a + b) + (c + d);
}

/* Returns the products of column j with all columns. Copies a product if the products of the other column are known. */
static const double *products(const struct active_set *a, size_t j)
{
	double **all = a->problem_data.products, *new;
	size_t n = a->problem_data.n, p = a->problem_data.p;

	if (all[j])
		return all[j];
	new = mem_new(p, sizeof(*new));
	for (size_t i = 0; i < p; i++)
		new[i] = all[i] ? all[i][j] : active_set_dot(column_data(a, i), column_data(a, j), n);
	return all[j] = new;
}

/* ---- the factor ---- */

static void forward_substitute(const struct active_set *a, double *x)
{
	for (size_t i = 0; i < a->k; i++)
		x[i] = (x[i] - active_set_dot(a->factor + i * a->room, x, i)) / a->factor[i * a->room + i];
}

static void back_substitute(const struct active_set *a, double *x)
{
	for (size_t i = a->k; i-- > 0;) {
		x[i] /= a->factor[i * a->room + i];
		for (size_t k = 0; k < i; k++)
			x[k] -= a->factor[i * a->room + k] * x[i];
	}
}

/* Appends column j to the set. Returns false if it is a linear combination of the set's columns; a->x then has the coefficients. */
static bool append_column(struct active_set *a, size_t j, double sign)
{
	const double *with = products(a, j);
	double left;

	for (size_t i = 0; i < a->k; i++)
		a->x[i] = with[a->set[i]];
	forward_substitute(a, a->x);
	left = with[j] - active_set_dot(a->x, a->x, a->k);
	if (a->k == a->room || left <= DEPENDENT * with[j]) {
		back_substitute(a, a->x);
		return false;
	}
	memcpy(a->factor + a->k * a->room, a->x, a->k * sizeof(*a->x));
	a->factor[a->k * a->room + a->k] = sqrt(left);
	a->sign[a->k] = sign;
	a->set[a->k++] = j;
	return true;
}

/* ---- entering and leaving ---- */

/* Removes column i from the set. Rotates pairs of columns of the factor to make it triangular again (Golub and Van Loan, "Matrix
 * Computations", 6.5.2). */
static void remove_column(struct active_set *a, size_t i)
{
	double *cosine = a->x, *sine = a->step;

	a->k--;
	memmove(a->set + i, a->set + i + 1, (a->k - i) * sizeof(*a->set));
	memmove(a->sign + i, a->sign + i + 1, (a->k - i) * sizeof(*a->sign));
	for (size_t r = i; r < a->k; r++) {
		double *row = a->factor + r * a->room, right;

		memcpy(row, row + a->room, (r + 2) * sizeof(*row));
		right = row[i];
		for (size_t c = i; c < r; c++) {
			double left = right;

			right = cosine[c] * row[c + 1] - sine[c] * left;
			row[c] = cosine[c] * left + sine[c] * row[c + 1];
		}
		row[r] = sqrt(right * right + row[r + 1] * row[r + 1]);
		cosine[r] = right / row[r];
		sine[r] = row[r + 1] / row[r];
	}
}

/* Removes columns with coefficient 0 from the set. */
static void remove_zero_columns(struct active_set *a)
{
	for (size_t i = a->k; i-- > 0;) {
		if (a->b[a->set[i]] == 0.0)
			remove_column(a, i);
	}
}

/* Adds *most * `step` to the coefficients, or stops where the first one becomes 0: then lowers *most and returns true. */
static bool step_to_minimum(struct active_set *a, double *most)
{
	size_t first = SIZE_MAX;

	for (size_t i = 0; i < a->k; i++) {
		double now = a->b[a->set[i]], then = now + a->step[i] * *most;

		if (then * a->sign[i] > 0.0 || a->step[i] == 0.0)
			continue;
		*most = -now / a->step[i];
		first = i;
	}
	if (!isfinite(*most))
		return false;
	for (size_t i = 0; i < a->k; i++) {
		double *at = &a->b[a->set[i]];

		*at += a->step[i] * *most;
		if (i == first || *at * a->sign[i] < 0.0)
			*at = 0.0;
	}
	return first != SIZE_MAX;
}

/* Replaces a column of the set by column j, a linear combination of the set. The fit stays the same, and the penalty falls. */
static bool exchange_column(struct active_set *a, size_t j, double sign)
{
	double most = HUGE_VAL;

	for (size_t i = 0; i < a->k; i++)
		a->step[i] = -sign * a->x[i];
	if (!step_to_minimum(a, &most))
		return false;
	remove_zero_columns(a);
	a->is_current = false;
	if (!append_column(a, j, sign))
		return false;
	a->b[j] = sign * most;
	return true;
}

static bool enter_column(struct active_set *a, size_t j, double sign)
{
	return append_column(a, j, sign) || exchange_column(a, j, sign);
}

/* ---- solving ---- */

static void compute_residual(struct active_set *a)
{
	memcpy(a->residual, a->problem_data.y, a->problem_data.n * sizeof(*a->residual));
	for (size_t i = 0; i < a->k; i++) {
		const double *z = column_data(a, a->set[i]), b = a->b[a->set[i]];

		for (size_t k = 0; k < a->problem_data.n; k++)
			a->residual[k] -= b * z[k];
	}
}

/* Returns the pulls of all columns, computed from products of columns. Large coefficients reduce their precision; see is_near_sufficient().
 */
static const double *compute_near_products(struct active_set *a)
{
	size_t p = a->problem_data.p;

	if (a->is_current)
		return a->near;
	memcpy(a->near, a->problem_data.correlation, p * sizeof(*a->near));
	for (size_t i = 0; i < a->k; i++) {
		const double *with = products(a, a->set[i]), b = a->b[a->set[i]];

		for (size_t j = 0; j < p; j++)
			a->near[j] -= b * with[j];
	}
	a->is_current = true;
	return a->near;
}

/* Reports whether the rounding errors of compute_near_products() are below a->of.enough. */
static bool is_near_sufficient(const struct active_set *a)
{
	double all = 0.0;

	for (size_t i = 0; i < a->k; i++)
		all += fabs(a->b[a->set[i]]) * a->size[a->set[i]];
	return ROUNDING * a->max_length * all <= a->problem_data.enough;
}

/* Moves to the minimum for the set's columns and signs; on entry, `step` has their pulls. Returns false if a column left the set. */
static bool descend_all(struct active_set *a)
{
	double most = 1.0;
	bool whole;

	for (size_t i = 0; i < a->k; i++)
		a->step[i] -= a->lambda * a->sign[i];
	forward_substitute(a, a->step);
	back_substitute(a, a->step);
	whole = !step_to_minimum(a, &most);
	a->is_current = false;
	if (!whole)
		remove_zero_columns(a);
	return whole;
}

static bool descend_near(struct active_set *a)
{
	const double *near = compute_near_products(a);

	for (size_t i = 0; i < a->k; i++)
		a->step[i] = near[a->set[i]];
	return descend_all(a);
}

/* Moves as descend_near() does, but computes the pulls from the exact residual. */
static bool descend_exactly(struct active_set *a)
{
	compute_residual(a);
	for (size_t i = 0; i < a->k; i++)
		a->step[i] = active_set_dot(column_data(a, a->set[i]), a->residual, a->problem_data.n);
	return descend_all(a);
}

/* Repeats the last step to remove its rounding errors. Uses products of columns if these are precise enough. */
static bool refine_solution(struct active_set *a)
{
	bool near = is_near_sufficient(a), whole = near ? descend_near(a) : descend_exactly(a);

	a->is_current = near && whole;
	return whole;
}

/* Returns the column outside the set whose pull exceeds lambda most; SIZE_MAX if there is none. *sign gets the sign of the pull. */
static size_t find_next_column(struct active_set *a, double *sign)
{
	double most = a->lambda + a->problem_data.enough, nearly = a->lambda - NEAR_LAMBDA * a->lambda;
	const double *near = compute_near_products(a);
	size_t found = SIZE_MAX;
	bool measured = false, exactly = !is_near_sufficient(a);

	for (size_t j = 0; j < a->problem_data.p; j++) {
		double correlation = near[j];

		if ((a->problem_data.any_sign ? fabs(correlation) : correlation) < nearly || a->b[j] != 0.0 ||
		    !a->problem_data.allowed[j] || a->excluded_column[j])
			continue;
		if (exactly && !measured)
			compute_residual(a);
		measured = exactly;
		if (exactly)
			correlation = active_set_dot(column_data(a, j), a->residual, a->problem_data.n);
		if ((a->problem_data.any_sign ? fabs(correlation) : correlation) > most) {
			most = fabs(correlation);
			*sign = copysign(1.0, correlation);
			found = j;
		}
	}
	return found;
}

/* Makes a set for a series of lambdas. b [p] is the start; its nonzero columns form the set. active_set_solve() moves b to the minimum of
 * 1/2 |y - sum b z|^2 + lambda sum |b|. The caller does not change b between calls. All arrays are borrowed until active_set_free(). */
static struct active_set *active_set_new(const struct active_problem *problem, double *b)
{
	struct active_set *a = mem_new(1, sizeof(*a));
	size_t allowed = 0;

	for (size_t j = 0; j < problem->p; j++)
		allowed += problem->allowed[j];
	*a = (struct active_set){ .problem_data = *problem, .b = b, .room = problem->n < allowed ? problem->n : allowed };
	a->residual = mem_new(problem->n, sizeof(*a->residual));
	a->near = mem_new(problem->p, sizeof(*a->near));
	a->size = mem_new(problem->p, sizeof(*a->size));
	for (size_t j = 0; j < problem->p; j++) {
		a->size[j] = problem->allowed[j] ? sqrt(active_set_dot(column_data(a, j), column_data(a, j), problem->n)) : 0.0;
		a->max_length = fmax(a->max_length, a->size[j]);
	}
	a->set = mem_new(a->room, sizeof(*a->set));
	a->sign = mem_new(a->room, sizeof(*a->sign));
	a->factor = mem_resize(NULL, a->room * a->room, sizeof(*a->factor)); /* not zeroed, because most of the factor is never used */
	a->x = mem_new(a->room, sizeof(*a->x));
	a->step = mem_new(a->room, sizeof(*a->step));
	a->excluded_column = mem_new(problem->p, sizeof(*a->excluded_column));
	for (size_t j = 0; j < problem->p; j++) {
		if (b[j] != 0.0 && (!problem->allowed[j] || !append_column(a, j, copysign(1.0, b[j]))))
			b[j] = 0.0;
	}
	return a;
}

/* Moves to the minimum for one lambda. Costs O(n * p) for each column that enters for the first time. Each step costs O(n + p) for each
 * column in the set, and the square of their number. Also stops if rounding errors prevent further progress. */
static void active_set_solve(struct active_set *a, double lambda)
{
	size_t last = SIZE_MAX;
	double sign = 1.0;

	a->lambda = lambda;
	memset(a->excluded_column, 0, a->problem_data.p * sizeof(*a->excluded_column));
	for (size_t step = 0; step < STEPS * (a->problem_data.n + a->problem_data.p); step++) {
		if (!descend_near(a)) {
			if (last != SIZE_MAX && a->b[last] == 0.0)
				a->excluded_column[last] = true;
			last = SIZE_MAX;
			continue;
		}
		last = find_next_column(a, &sign);
		if (last == SIZE_MAX && refine_solution(a) && (is_near_sufficient(a) || (last = find_next_column(a, &sign)) == SIZE_MAX))
			break;
		if (last != SIZE_MAX)
			a->excluded_column[last] = !enter_column(a, last, sign);
	}
}

/* Frees the set. Accepts NULL. */
static void active_set_free(struct active_set *a)
{
	if (!a)
		return;
	mem_free(a->residual, a->near, a->size, a->set, a->sign, a->factor, a->x, a->step, a->excluded_column, a);
}

/* ---- the path ---- */

/* Columns and y, multiplied by the square roots of the weights, so that plain products are weighted products. */
struct scaled_problem {
	size_t n, p;
	double *z;	     /* [p x n] standardised columns; 0 for a constant column */
	double *mean, *sd;   /* [p] mean and deviation of each column; the mean is 0 if nothing is centred, because there is no intercept */
	double *root;	     /* [n] square roots of the weights; the sum of the weights is 1 */
	double *y;	     /* [n] dependent variable */
	double *correlation; /* [p] products of y with the columns */
	double **products;   /* [p] as in struct active_problem */
	double *b;	     /* [p] coefficients */
	struct active_set *set;
	bool *varies; /* [p] false for constant columns */
	double y_mean, y_sd;
	bool any_sign;
};

/* Subtracts the weighted mean from x, and multiplies x by the square roots of the weights. Returns the weighted standard deviation. */
static double centre_column(double *x, const double *root, size_t n, double *mean)
{
	*mean = 0.0;
	for (size_t i = 0; i < n; i++)
		*mean += root[i] * root[i] * x[i];
	for (size_t i = 0; i < n; i++)
		x[i] = root[i] * (x[i] - *mean);
	return sqrt(active_set_dot(x, x, n));
}

/* Makes an active set that only `allowed` columns may enter, starting at coefficients b. */
static struct active_set *active_set_prepare(const struct scaled_problem *d, const bool *allowed, double *b)
{
	return active_set_new(&(struct active_problem){ .z = d->z,
							.y = d->y,
							.n = d->n,
							.p = d->p,
							.correlation = d->correlation,
							.products = d->products,
							.allowed = allowed,
							.any_sign = d->any_sign,
							.enough = LAMBDA_TOLERANCE * d->y_sd },
			      b);
}

/* Returns the elements of X column by column; free() them. */
static double *columns_find_dependent(const struct mat *X)
{
	double *z = mem_new(X->rows * X->cols, sizeof(*z));

	for (size_t j = 0; j < X->cols; j++) {
		for (size_t i = 0; i < X->rows; i++)
			z[j * X->rows + i] = mat_get(X, i, j);
	}
	return z;
}

static double largest_magnitude(const double *x, size_t n)
{
	double largest = 0.0;

	for (size_t i = 0; i < n; i++)
		largest = fabs(x[i]) > largest ? fabs(x[i]) : largest;
	return largest;
}

/* Scales the data. Divides columns by their deviation, unless how->is_unscaled. `origin`: centres nothing; there is no intercept. */
static struct scaled_problem scale_problem(const struct mat *X, const double *y, const double *weight, const struct lasso_options *how,
					   bool origin)
{
	size_t n = X->rows, p = X->cols;
	struct scaled_problem d = { .n = n,
				    .p = p,
				    .z = columns_find_dependent(X),
				    .mean = mem_new(p, sizeof(double)),
				    .sd = mem_new(p, sizeof(double)),
				    .root = mem_new(n, sizeof(double)),
				    .y = mem_new(n, sizeof(double)),
				    .correlation = mem_new(p, sizeof(double)),
				    .products = mem_new(p, sizeof(double *)),
				    .b = mem_new(p, sizeof(double)),
				    .varies = mem_new(p, sizeof(bool)),
				    .any_sign = how->any_sign };
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += weight[i];
	for (size_t i = 0; i < n; i++)
		d.root[i] = sqrt(weight[i] / sum);
	memcpy(d.y, y, n * sizeof(*y));
	d.y_sd = centre_column(d.y, d.root, n, &d.y_mean);
	for (size_t i = 0; i < n && origin; i++)
		d.y[i] = d.root[i] * y[i];
	d.y_mean = origin ? 0.0 : d.y_mean;
	for (size_t j = 0; j < p; j++) {
		double *z = d.z + j * n, largest = largest_magnitude(z, n), scale;

		d.sd[j] = centre_column(z, d.root, n, &d.mean[j]);
		if (d.sd[j] <= 1e-12 * largest)
			d.sd[j] = 0.0;
		d.varies[j] = d.sd[j] > 0.0;
		if (d.varies[j] && how->is_unscaled)
			d.sd[j] = 1.0;
		scale = d.varies[j] ? 1.0 / d.sd[j] : 0.0;
		for (size_t i = 0; i < n; i++)
			z[i] = (z[i] + (origin ? d.root[i] * d.mean[j] : 0.0)) * scale;
		d.mean[j] = origin ? 0.0 : d.mean[j];
		d.correlation[j] = active_set_dot(z, d.y, n);
	}
	d.set = active_set_prepare(&d, d.varies, d.b);
	return d;
}

static void scaled_release(struct scaled_problem *d)
{
	mem_free_all(d->products, d->p);
	active_set_free(d->set);
	mem_free(d->z, d->mean, d->sd, d->root, d->y, d->correlation, d->b, d->varies);
}

/* Returns the smallest lambda at which all coefficients are 0. */
static double first_lambda(const struct scaled_problem *d)
{
	double most = 0.0;

	for (size_t j = 0; j < d->p; j++)
		most = fmax(most, d->any_sign ? fabs(d->correlation[j]) : d->correlation[j]);
	return most;
}

/* Stores the coefficients of the unscaled columns, and the intercept, in row k. */
static void store_coefficients(const struct scaled_problem *d, const double *coefficients, size_t k, struct mat *beta, double *intercept)
{
	intercept[k] = d->y_mean;
	for (size_t j = 0; j < d->p; j++) {
		double b = d->sd[j] > 0.0 ? coefficients[j] / d->sd[j] : 0.0;

		mat_set(beta, k, j, b);
		intercept[k] -= b * d->mean[j];
	}
}

static bool is_same_columns(const struct mat *beta, size_t k)
{
	for (size_t j = 0; k && j < beta->cols; j++) {
		if ((mat_get(beta, k, j) != 0.0) != (mat_get(beta, k - 1, j) != 0.0))
			return false;
	}
	return k > 0;
}

/* Fits the columns that have a nonzero coefficient in row k of out->beta, without the penalty. */
static void refit_columns(const struct scaled_problem *d, size_t k, struct lasso_path *out)
{
	double *b = mem_new(d->p, sizeof(*b));
	bool *has = mem_new(d->p, sizeof(*has));
	struct active_set *set;

	for (size_t j = 0; j < d->p; j++) {
		has[j] = mat_get(&out->beta, k, j) != 0.0;
		b[j] = d->b[j];
	}
	set = active_set_prepare(d, has, b);
	active_set_solve(set, 0.0);
	store_coefficients(d, b, k, &out->refitted, out->refitted_intercept);
	active_set_free(set);
	mem_free(has, b);
}

/* Refits row k, or copies row k - 1 if it has the same columns. If the intercept may not be negative, the best one is 0 (convexity). */
static void refit_bounded(const struct scaled_problem *d, const struct scaled_problem *origin, size_t k, struct lasso_path *out)
{
	if (is_same_columns(&out->beta, k)) {
		memcpy(out->refitted.at + k * d->p, out->refitted.at + (k - 1) * d->p, d->p * sizeof(double));
		out->refitted_intercept[k] = out->refitted_intercept[k - 1];
		return;
	}
	refit_columns(d, k, out);
	if (origin->p && out->refitted_intercept[k] < 0.0)
		refit_columns(origin, k, out);
}

void lasso_path_compute(const struct mat *X, const double *y, const double *weight, const struct lasso_options *how, const double *lambdas,
			struct lasso_path *out)
{
	struct scaled_problem d = scale_problem(X, y, weight, how, false), origin = { .p = 0 };
	double first = first_lambda(&d);

	if (how->is_intercept_bounded)
		origin = scale_problem(X, y, weight, how, true);
	*out = (struct lasso_path){ .beta = mat_new(LASSO_LAMBDAS, X->cols) };
	if (how->refit)
		out->refitted = mat_new(LASSO_LAMBDAS, X->cols);
	for (size_t k = 0; k < LASSO_LAMBDAS; k++) {
		double lambda = lambdas ? lambdas[k] : first * pow(how->smallest, (double)k / (LASSO_LAMBDAS - 1));

		out->lambda[k] = lambda;
		active_set_solve(d.set, lambda);
		store_coefficients(&d, d.b, k, &out->beta, out->intercept);
		if (origin.p && out->intercept[k] < 0.0) {
			active_set_solve(origin.set, lambda);
			store_coefficients(&origin, origin.b, k, &out->beta, out->intercept);
		}
		if (how->refit)
			refit_bounded(&d, &origin, k, out);
	}
	scaled_release(&d);
	scaled_release(&origin);
}

void lasso_values(const struct mat *beta, const double *intercept, size_t k, const struct mat *X, double *value)
{
	size_t *has = mem_new(X->cols, sizeof(*has)), n = 0;
	const double *b = beta->at + k * beta->cols, *x = X->at;

	for (size_t j = 0; j < X->cols; j++) {
		if (b[j] != 0.0)
			has[n++] = j;
	}
	for (size_t i = 0; i < X->rows; i++, x += X->cols) {
		value[i] = intercept[k];
		for (size_t at = 0; at < n; at++)
			value[i] += b[has[at]] * x[has[at]];
	}
	free(has);
}

void lasso_path_release(struct lasso_path *path)
{
	mat_release(&path->beta);
	mat_release(&path->refitted);
}

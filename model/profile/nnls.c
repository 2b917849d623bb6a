#include "model/profile/nnls.h"

#include "base/error.h"
#include "base/mem.h"

#include <math.h>
#include <stdbool.h>

#define GRADIENT_TOLERANCE 1e-12 /* relative to |h|: a smaller gradient counts as 0 */
#define PIVOT_TOLERANCE	   1e-13 /* of what the columns that are in leave of a new one: it depends on them */

struct nnls {
	size_t capacity;
	size_t *used;	 /* columns with w > 0, in the order in which they came in */
	bool *in;	 /* [capacity] */
	bool *dependent; /* [capacity] on the columns that are in */
	double *factor;	 /* [capacity x capacity] lower Cholesky factor of G over `used` */
	double *z;	 /* [capacity] the solution over `used` without the bounds */
};

struct nnls *nnls_new(size_t capacity)
{
	struct nnls *s = mem_new(1, sizeof(*s));

	s->capacity = capacity;
	s->used = mem_new(capacity, sizeof(*s->used));
	s->in = mem_new(capacity, sizeof(*s->in));
	s->dependent = mem_new(capacity, sizeof(*s->dependent));
	s->factor = mem_new(capacity * capacity, sizeof(*s->factor));
	s->z = mem_new(capacity, sizeof(*s->z));
	return s;
}

void nnls_free(struct nnls *s)
{
	if (!s)
		return;
	free(s->used);
	free(s->in);
	free(s->dependent);
	free(s->factor);
	free(s->z);
	free(s);
}

/* Row k of the factor, for used[k]; false when the column depends on those before it. */
static bool nnls_factor_row(struct nnls *s, const struct mat *G, size_t k)
{
	double *row = &s->factor[k * s->capacity];
	size_t column = s->used[k];
	double diagonal = mat_get(G, column, column), left = diagonal;

	for (size_t i = 0; i < k; i++) {
		const double *other = &s->factor[i * s->capacity];
		double sum = mat_get(G, column, s->used[i]);

		for (size_t j = 0; j < i; j++)
			sum -= row[j] * other[j];
		row[i] = sum / other[i];
		left -= row[i] * row[i];
	}
	if (left <= PIVOT_TOLERANCE * diagonal)
		return false;
	row[k] = sqrt(left);
	return true;
}

static void nnls_solve_used(struct nnls *s, const double *h, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const double *row = &s->factor[i * s->capacity];
		double sum = h[s->used[i]];

		for (size_t j = 0; j < i; j++)
			sum -= row[j] * s->z[j];
		s->z[i] = sum / row[i];
	}
	for (size_t i = n; i-- > 0;) {
		for (size_t j = i + 1; j < n; j++)
			s->z[i] -= s->factor[j * s->capacity + i] * s->z[j];
		s->z[i] /= s->factor[i * s->capacity + i];
	}
}

/* Steps from w towards z as far as the bounds allow and takes out the columns that reach zero. Returns how many are left. */
static size_t nnls_step_back(struct nnls *s, const struct mat *G, double *w, size_t n)
{
	double step = 1.0;
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		double from = w[s->used[i]];

		if (s->z[i] <= 0.0)
			step = fmin(step, from / (from - s->z[i]));
	}
	for (size_t i = 0; i < n; i++) {
		size_t column = s->used[i];

		w[column] += step * (s->z[i] - w[column]);
		if (s->z[i] <= 0.0 && w[column] <= 1e-15 * fabs(s->z[i]))
			w[column] = 0.0;
		s->in[column] = w[column] > 0.0;
		s->used[kept] = column;
		kept += s->in[column];
	}
	for (size_t i = 0; i < kept; i++)
		(void)nnls_factor_row(s, G, i); /* a part of independent columns is independent */
	return kept;
}

/* The column with the largest gradient that may come in; G->cols when there is none. */
static size_t nnls_steepest(const struct nnls *s, const struct mat *G, const double *h, const double *w, size_t n, double tolerance)
{
	size_t best = G->cols;
	double top = tolerance;

	for (size_t j = 0; j < G->cols; j++) {
		double gradient = h[j];

		if (s->in[j] || s->dependent[j])
			continue;
		for (size_t i = 0; i < n; i++)
			gradient -= mat_get(G, j, s->used[i]) * w[s->used[i]];
		if (gradient > top) {
			top = gradient;
			best = j;
		}
	}
	return best;
}

/* Until the solution over the used columns keeps the bounds; returns their number. */
static size_t nnls_keep_bounds(struct nnls *s, const struct mat *G, const double *h, double *w, size_t n)
{
	for (;;) {
		bool inside = true;

		nnls_solve_used(s, h, n);
		for (size_t i = 0; i < n; i++)
			inside &= s->z[i] > 0.0;
		if (inside)
			break;
		n = nnls_step_back(s, G, w, n);
	}
	for (size_t i = 0; i < n; i++)
		w[s->used[i]] = s->z[i];
	return n;
}

static double largest(const double *h, size_t p)
{
	double top = 0.0;

	for (size_t j = 0; j < p; j++)
		top = fmax(top, fabs(h[j]));
	return top;
}

void nnls_solve(struct nnls *s, const struct mat *G, const double *h, double *w)
{
	size_t p = G->cols, n = 0, rounds = 3 * p + 10; /* Lawson and Hanson's own limit against rounding in circles */
	double tolerance = GRADIENT_TOLERANCE * largest(h, p);

	ASSAY_BUG_IF(p > s->capacity || G->rows != p);
	for (size_t j = 0; j < p; j++) {
		w[j] = 0.0;
		s->in[j] = s->dependent[j] = false;
	}
	while (rounds-- > 0) {
		size_t column = nnls_steepest(s, G, h, w, n, tolerance);

		if (column == p)
			break;
		s->used[n] = column;
		if (!nnls_factor_row(s, G, n)) {
			s->dependent[column] = true;
			continue;
		}
		s->in[column] = true;
		n = nnls_keep_bounds(s, G, h, w, n + 1);
		for (size_t j = 0; j < p; j++)
			s->dependent[j] = false;
		if (!s->in[column])
			s->dependent[column] = true; /* rounding let it in: not again at once */
	}
}

double nnls_objective(const struct mat *G, const double *h, const double *w)
{
	double value = 0.0;

	for (size_t i = 0; i < G->rows; i++) {
		double sum = 0.0;

		for (size_t j = 0; j < G->cols; j++)
			sum += mat_get(G, i, j) * w[j];
		value += w[i] * (sum - 2.0 * h[i]);
	}
	return value;
}

#include "model/sparse/active_set.h"

#include "base/mem.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define DEPENDENT 1e-11 /* a column of whose square less is left beside the others is a sum of them */
#define STEPS	  10	/* for each column and row; more than were ever seen */
#define NEAR	  1e-6	/* of lambda: a pull that is so near, by the products of the columns, is measured by what the set leaves */

struct active_set {
	struct active_problem of;
	double lambda;
	double *b;    /* [p] the caller's */
	double *rest; /* [n] what the set leaves of y */
	double *near; /* [p] pulls, by products of the columns */
	size_t *set;  /* [k] columns */
	size_t k, room;
	double *sign;	/* [k] */
	double *factor; /* [room x room], lower, of the products of the columns */
	double *x;	/* [room] solutions, and what they are made of */
	double *step;	/* [room] */
	bool *barred;	/* [p] had to leave when they had just entered: rounding alone wants them */
};

static const double *column(const struct active_set *a, size_t j)
{
	return a->of.z + j * a->of.n;
}

/* Four sums at a time: the processor need not wait for one to end. */
double active_set_dot(const double *x, const double *y, size_t n)
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

static const double *products(const struct active_set *a, size_t j)
{
	double **all = a->of.products;

	if (!all[j]) {
		all[j] = mem_new(a->of.p, sizeof(double));
		for (size_t i = 0; i < a->of.p; i++)
			all[j][i] = active_set_dot(column(a, i), column(a, j), a->of.n);
	}
	return all[j];
}

/* ---- the factor ---- */

static void forward(const struct active_set *a, double *x)
{
	for (size_t i = 0; i < a->k; i++)
		x[i] = (x[i] - active_set_dot(a->factor + i * a->room, x, i)) / a->factor[i * a->room + i];
}

static void backward(const struct active_set *a, double *x)
{
	for (size_t i = a->k; i-- > 0;) {
		x[i] /= a->factor[i * a->room + i];
		for (size_t k = 0; k < i; k++)
			x[k] -= a->factor[i * a->room + k] * x[i];
	}
}

/* False: the column is a sum of those that are there, with a->x[k]. */
static bool append(struct active_set *a, size_t j, double sign)
{
	const double *with = products(a, j);
	double left;

	for (size_t i = 0; i < a->k; i++)
		a->x[i] = with[a->set[i]];
	forward(a, a->x);
	left = with[j] - active_set_dot(a->x, a->x, a->k);
	if (a->k == a->room || left <= DEPENDENT * with[j]) {
		backward(a, a->x);
		return false;
	}
	memcpy(a->factor + a->k * a->room, a->x, a->k * sizeof(*a->x));
	a->factor[a->k * a->room + a->k] = sqrt(left);
	a->sign[a->k] = sign;
	a->set[a->k++] = j;
	return true;
}

/* ---- what enters and leaves ---- */

/* Without those whose coefficient is 0; the factor of those before the first of them stays. */
static void thin(struct active_set *a)
{
	size_t n = a->k, first = 0;

	while (first < n && a->b[a->set[first]] != 0.0)
		first++;
	a->k = first;
	for (size_t i = first; i < n; i++) {
		size_t j = a->set[i];

		if (a->b[j] != 0.0 && !append(a, j, a->sign[i]))
			a->b[j] = 0.0;
	}
}

/* Along `step`, in which the coefficients of the set move, until the first is 0, or whole. False: it was whole. */
static bool move(struct active_set *a, double *most)
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

/* A column that is a sum of those that are there takes the place of one of them: the fit stays, and the price falls. */
static bool exchange(struct active_set *a, size_t j, double sign)
{
	double most = HUGE_VAL;

	for (size_t i = 0; i < a->k; i++)
		a->step[i] = -sign * a->x[i];
	if (!move(a, &most))
		return false;
	thin(a);
	if (!append(a, j, sign))
		return false;
	a->b[j] = sign * most;
	return true;
}

static bool enter(struct active_set *a, size_t j, double sign)
{
	return append(a, j, sign) || exchange(a, j, sign);
}

/* ---- solving ---- */

static void measure_rest(struct active_set *a)
{
	memcpy(a->rest, a->of.y, a->of.n * sizeof(*a->rest));
	for (size_t i = 0; i < a->k; i++) {
		const double *z = column(a, a->set[i]), b = a->b[a->set[i]];

		for (size_t k = 0; k < a->of.n; k++)
			a->rest[k] -= b * z[k];
	}
}

/* To the minimum with the columns and signs of the set, whose pulls are in `step`. False: one of them has left it. */
static bool descend(struct active_set *a)
{
	double most = 1.0;
	bool whole;

	for (size_t i = 0; i < a->k; i++)
		a->step[i] -= a->lambda * a->sign[i];
	forward(a, a->step);
	backward(a, a->step);
	whole = !move(a, &most);
	if (!whole)
		thin(a);
	return whole;
}

/* By the products of the columns, which is as good as their sum is well known. */
static bool descend_near(struct active_set *a, size_t last)
{
	bool whole;

	for (size_t i = 0; i < a->k; i++) {
		const double *with = products(a, a->set[i]);

		a->step[i] = a->of.pull[a->set[i]];
		for (size_t k = 0; k < a->k; k++)
			a->step[i] -= with[a->set[k]] * a->b[a->set[k]];
	}
	whole = descend(a);
	if (!whole && last != SIZE_MAX && a->b[last] == 0.0)
		a->barred[last] = true;
	return whole;
}

/* By what the set leaves: what rounding has left of the step before. */
static bool descend_exactly(struct active_set *a)
{
	measure_rest(a);
	for (size_t i = 0; i < a->k; i++)
		a->step[i] = active_set_dot(column(a, a->set[i]), a->rest, a->of.n);
	return descend(a);
}

/* Whose pull exceeds lambda most; SIZE_MAX: none does. */
static size_t next_of(struct active_set *a, double *sign)
{
	double most = a->lambda + a->of.enough, nearly = a->lambda - NEAR * a->lambda;
	size_t found = SIZE_MAX;
	bool measured = false;

	memcpy(a->near, a->of.pull, a->of.p * sizeof(*a->near));
	for (size_t i = 0; i < a->k; i++) {
		const double *with = products(a, a->set[i]), b = a->b[a->set[i]];

		for (size_t j = 0; j < a->of.p; j++)
			a->near[j] -= b * with[j];
	}
	for (size_t j = 0; j < a->of.p; j++) {
		double pull;

		if ((a->of.any_sign ? fabs(a->near[j]) : a->near[j]) < nearly || a->b[j] != 0.0 || !a->of.allowed[j] || a->barred[j])
			continue;
		if (!measured)
			measure_rest(a);
		measured = true;
		pull = active_set_dot(column(a, j), a->rest, a->of.n);
		if ((a->of.any_sign ? fabs(pull) : pull) > most) {
			most = fabs(pull);
			*sign = copysign(1.0, pull);
			found = j;
		}
	}
	return found;
}

struct active_set *active_set_new(const struct active_problem *problem, double *b)
{
	struct active_set *a = mem_new(1, sizeof(*a));
	size_t allowed = 0;

	for (size_t j = 0; j < problem->p; j++)
		allowed += problem->allowed[j];
	*a = (struct active_set){ .of = *problem, .b = b, .room = problem->n < allowed ? problem->n : allowed };
	a->rest = mem_new(problem->n, sizeof(*a->rest));
	a->near = mem_new(problem->p, sizeof(*a->near));
	a->set = mem_new(a->room, sizeof(*a->set));
	a->sign = mem_new(a->room, sizeof(*a->sign));
	a->factor = mem_resize(NULL, a->room * a->room, sizeof(*a->factor)); /* most of it is never touched */
	a->x = mem_new(a->room, sizeof(*a->x));
	a->step = mem_new(a->room, sizeof(*a->step));
	a->barred = mem_new(problem->p, sizeof(*a->barred));
	for (size_t j = 0; j < problem->p; j++) {
		if (b[j] != 0.0 && (!problem->allowed[j] || !append(a, j, copysign(1.0, b[j]))))
			b[j] = 0.0;
	}
	return a;
}

void active_set_solve(struct active_set *a, double lambda)
{
	size_t last = SIZE_MAX;
	double sign = 1.0;

	a->lambda = lambda;
	memset(a->barred, 0, a->of.p * sizeof(*a->barred));
	for (size_t step = 0; step < STEPS * (a->of.n + a->of.p); step++) {
		if (!descend_near(a, last)) {
			last = SIZE_MAX;
			continue;
		}
		last = next_of(a, &sign);
		if (last != SIZE_MAX)
			a->barred[last] = !enter(a, last, sign);
		else if (descend_exactly(a) && (last = next_of(a, &sign)) == SIZE_MAX)
			break;
		else if (last != SIZE_MAX)
			a->barred[last] = !enter(a, last, sign);
	}
}

void active_set_free(struct active_set *a)
{
	if (!a)
		return;
	mem_free(a->rest, a->near, a->set, a->sign, a->factor, a->x, a->step, a->barred, a);
}

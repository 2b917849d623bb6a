#include "model/sparse/active_set.h"

#include "base/mem.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DEPENDENT 1e-11 /* a column of whose square less is left beside the others is a sum of them */
#define STEPS	  10	/* for each column and row; more than were ever seen */

struct active {
	const struct active_problem *of;
	double *y;   /* [n] */
	size_t *set; /* [k] columns */
	size_t k, room;
	double *sign;	/* [k] */
	double *factor; /* [room x room], lower, of the products of the columns */
	double *x;	/* [room] solutions, and what they are made of */
	double *step;	/* [room] */
	bool *barred;	/* [p] had to leave when they had just entered: rounding alone wants them */
};

static const double *column(const struct active *a, size_t j)
{
	return a->of->z + j * a->of->n;
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

/* ---- the factor ---- */

static void forward(const struct active *a, double *x)
{
	for (size_t i = 0; i < a->k; i++)
		x[i] = (x[i] - active_set_dot(a->factor + i * a->room, x, i)) / a->factor[i * a->room + i];
}

static void backward(const struct active *a, double *x)
{
	for (size_t i = a->k; i-- > 0;) {
		x[i] /= a->factor[i * a->room + i];
		for (size_t k = 0; k < i; k++)
			x[k] -= a->factor[i * a->room + k] * x[i];
	}
}

/* False: the column is a sum of those that are there, with a->x[k]. */
static bool append(struct active *a, size_t j, double sign)
{
	double square = active_set_dot(column(a, j), column(a, j), a->of->n), left;

	for (size_t i = 0; i < a->k; i++)
		a->x[i] = active_set_dot(column(a, a->set[i]), column(a, j), a->of->n);
	forward(a, a->x);
	left = square - active_set_dot(a->x, a->x, a->k);
	if (a->k == a->room || left <= DEPENDENT * square) {
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
static void thin(struct active *a, const double *b)
{
	size_t n = a->k, first = 0;

	while (first < n && b[a->set[first]] != 0.0)
		first++;
	a->k = first;
	for (size_t i = first; i < n; i++) {
		size_t j = a->set[i];

		if (b[j] != 0.0)
			(void)append(a, j, a->sign[i]);
	}
}

/* Along `step`, in which the coefficients of the set move, until the first is 0, or whole. False: it was whole. */
static bool move(struct active *a, double *b, double *most)
{
	size_t first = SIZE_MAX;

	for (size_t i = 0; i < a->k; i++) {
		double now = b[a->set[i]], then = now + a->step[i] * *most;

		if (then * a->sign[i] > 0.0 || a->step[i] == 0.0)
			continue;
		*most = -now / a->step[i];
		first = i;
	}
	if (!isfinite(*most))
		return false;
	for (size_t i = 0; i < a->k; i++) {
		double *at = &b[a->set[i]];

		*at += a->step[i] * *most;
		if (i == first || *at * a->sign[i] < 0.0)
			*at = 0.0;
	}
	return first != SIZE_MAX;
}

/* A column that is a sum of those that are there takes the place of one of them: the fit stays, and the price falls. */
static bool exchange(struct active *a, size_t j, double sign, double *b)
{
	double most = HUGE_VAL;

	for (size_t i = 0; i < a->k; i++)
		a->step[i] = -sign * a->x[i];
	if (!move(a, b, &most))
		return false;
	thin(a, b);
	if (!append(a, j, sign))
		return false;
	b[j] = sign * most;
	return true;
}

static bool enter(struct active *a, size_t j, double sign, double *b)
{
	return append(a, j, sign) || exchange(a, j, sign, b);
}

/* ---- solving ---- */

static void leave_of(const struct active *a, const double *b, double *rest)
{
	memcpy(rest, a->y, a->of->n * sizeof(*rest));
	for (size_t i = 0; i < a->k; i++) {
		const double *z = column(a, a->set[i]);

		for (size_t k = 0; k < a->of->n; k++)
			rest[k] -= b[a->set[i]] * z[k];
	}
}

/* By how much the set's coefficients would have to change. */
static void solve_step(struct active *a, const double *b, double *rest)
{
	leave_of(a, b, rest);
	for (size_t i = 0; i < a->k; i++)
		a->step[i] = active_set_dot(column(a, a->set[i]), rest, a->of->n) - a->of->lambda * a->sign[i];
	forward(a, a->step);
	backward(a, a->step);
}

/* The minimum with the columns and signs of the set. False: one of them has left it. */
static bool descend(struct active *a, size_t last, double *b, double *rest)
{
	bool whole = true;

	for (int again = 0; again < 2 && whole; again++) { /* the second time for what rounding has left */
		double most = 1.0;

		solve_step(a, b, rest);
		whole = !move(a, b, &most);
	}
	if (!whole && last != SIZE_MAX && b[last] == 0.0)
		a->barred[last] = true;
	if (!whole)
		thin(a, b);
	return whole;
}

/* Whose pull exceeds lambda most; SIZE_MAX: none does. */
static size_t next_of(const struct active *a, const double *b, const double *rest, double *sign)
{
	double most = a->of->lambda + a->of->enough;
	size_t found = SIZE_MAX;

	for (size_t j = 0; j < a->of->p; j++) {
		double pull;

		if (b[j] != 0.0 || !a->of->allowed[j] || a->barred[j])
			continue;
		pull = active_set_dot(column(a, j), rest, a->of->n);
		if ((a->of->any_sign ? fabs(pull) : pull) > most) {
			most = fabs(pull);
			*sign = copysign(1.0, pull);
			found = j;
		}
	}
	return found;
}

static struct active begin(const struct active_problem *problem, double *b, const double *rest)
{
	size_t n = problem->n, p = problem->p, room = n < p ? n : p;
	struct active a = { .of = problem,
			    .y = mem_new(n, sizeof(double)),
			    .set = mem_new(room, sizeof(size_t)),
			    .room = room,
			    .sign = mem_new(room, sizeof(double)),
			    .factor = mem_new(room * room, sizeof(double)),
			    .x = mem_new(room, sizeof(double)),
			    .step = mem_new(room, sizeof(double)),
			    .barred = mem_new(p, sizeof(bool)) };

	memcpy(a.y, rest, n * sizeof(*rest));
	for (size_t j = 0; j < p; j++) {
		for (size_t i = 0; i < n && b[j] != 0.0; i++)
			a.y[i] += b[j] * problem->z[j * n + i];
	}
	for (size_t j = 0; j < p; j++) {
		if (b[j] != 0.0 && (!problem->allowed[j] || !append(&a, j, copysign(1.0, b[j]))))
			b[j] = 0.0;
	}
	return a;
}

void active_set_solve(const struct active_problem *problem, double *b, double *rest)
{
	struct active a = begin(problem, b, rest);
	size_t last = SIZE_MAX;
	double sign = 1.0;

	for (size_t step = 0; step < STEPS * (problem->n + problem->p); step++) {
		if (!descend(&a, last, b, rest)) {
			last = SIZE_MAX;
			continue;
		}
		leave_of(&a, b, rest);
		last = next_of(&a, b, rest, &sign);
		if (last == SIZE_MAX)
			break;
		a.barred[last] = !enter(&a, last, sign, b);
	}
	leave_of(&a, b, rest);
	free(a.y);
	free(a.set);
	free(a.sign);
	free(a.factor);
	free(a.x);
	free(a.step);
	free(a.barred);
}

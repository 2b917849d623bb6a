#include "model/anomaly/expect.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "model/lapack.h"

#include <math.h>
#include <string.h>

#define COEFFICIENTS	     (EXPECT_NUMBERS_USED + 1)
#define ERROR_RATIO_MAX	     .9 /* maximum error after an addition, relative to the error before; smaller improvements are chance */
#define RUNS_PER_COEFFICIENT 6	/* minimum number of runs per coefficient */
#define INPUT_RUNS	     2	/* minimum number of runs of an input for a median */
#define EXTRAPOLATION_MAX    .5 /* maximum distance outside the range of a number, relative to the range, for which the line is used */
#define HUBER		     1.345 /* limit of full weight, in standard deviations: 95 % of the efficiency of least squares with normal errors */
#define NORMAL_MAD	     1.4826
#define ROUNDS		     8
#define SAME_RATIO	     1e-9

/* Runs in use, and buffers of one fit. */
struct fit_state {
	const struct expect_inputs *runs;
	const double *y;
	size_t *run;			  /* [n] index of each used run */
	double *weight, *residual, *work; /* [n] per used run: weight, residual, buffer */
	size_t n;
};

void expect_release(struct expect *e)
{
	free(e->median);
	*e = (struct expect){ .by = EXPECT_BY_NOTHING };
}

static double fitting_design_value(const struct fit_state *f, const struct expect *e, size_t run, size_t k)
{
	return k ? mat_get(&f->runs->numbers, run, e->number[k - 1]) - e->low[k - 1] : 1.0;
}

/* Fits by weighted least squares; computes residuals. inverse [m x m], m = e->n + 1, gets (X' W X)^-1. Returns false if singular. */
static bool fitting_solve_weighted(struct fit_state *f, struct expect *e, double *inverse)
{
	double right[COEFFICIENTS] = { 0 }, c[COEFFICIENTS] = { 0 };
	size_t m = e->n + 1;

	memset(inverse, 0, m * m * sizeof(*inverse));
	for (size_t i = 0; i < f->n; i++) {
		for (size_t k = 0; k < m; k++) {
			double x = f->weight[i] * fitting_design_value(f, e, f->run[i], k);

			right[k] += x * f->y[f->run[i]];
			for (size_t j = 0; j < m; j++)
				inverse[k * m + j] += x * fitting_design_value(f, e, f->run[i], j);
		}
	}
	if (!lapack_invert(inverse, m, SAME_RATIO, NULL))
		return false;
	for (size_t k = 0; k < m; k++) {
		for (size_t j = 0; j < m; j++)
			c[k] += inverse[k * m + j] * right[j];
	}
	for (size_t i = 0; i < f->n; i++) {
		f->residual[i] = f->y[f->run[i]];
		for (size_t k = 0; k < m; k++)
			f->residual[i] -= c[k] * fitting_design_value(f, e, f->run[i], k);
	}
	e->intercept = c[0];
	memcpy(e->slope, &c[1], sizeof(e->slope));
	return true;
}

/* Returns the mean absolute error of predictions of each run from the other runs. Sets f->work to each run's error: the residual divided by
 * 1 - leverage of the run. */
static double fitting_leave_one_out_error(const struct fit_state *f, const struct expect *e, const double *inverse)
{
	size_t m = e->n + 1;
	double sum = 0.0;

	for (size_t i = 0; i < f->n; i++) {
		double own = 0.0;

		for (size_t k = 0; k < m; k++) {
			for (size_t j = 0; j < m; j++)
				own += inverse[k * m + j] * fitting_design_value(f, e, f->run[i], k) *
				       fitting_design_value(f, e, f->run[i], j);
		}
		f->work[i] = fabs(f->residual[i]) / fmax(1.0 - f->weight[i] * own, SAME_RATIO);
		sum += f->work[i];
	}
	return sum / (double)f->n;
}

/* Fits a robust line; with `rounds` 1, by least squares. Returns the error on held-out runs; INFINITY if numbers are collinear. */
static double fitting_fit_line(struct fit_state *f, struct expect *e, size_t rounds)
{
	double inverse[COEFFICIENTS * COEFFICIENTS];

	for (size_t i = 0; i < f->n; i++)
		f->weight[i] = 1.0;
	for (size_t round = 0; round < rounds; round++) {
		double unit;

		if (!fitting_solve_weighted(f, e, inverse))
			return (double)INFINITY;
		for (size_t i = 0; i < f->n; i++)
			f->work[i] = fabs(f->residual[i]);
		unit = HUBER * NORMAL_MAD * stats_median(f->work, f->n);
		if (!(unit > SAME_RATIO) || round + 1 == rounds)
			break;
		for (size_t i = 0; i < f->n; i++)
			f->weight[i] = f->work[i] <= unit ? 1.0 : unit / f->work[i];
	}
	return fitting_leave_one_out_error(f, e, inverse);
}

static void expect_add_number(const struct fit_state *f, struct expect *e, size_t number)
{
	size_t k = e->n++;

	e->number[k] = number;
	e->low[k] = (double)INFINITY;
	e->high[k] = -(double)INFINITY;
	for (size_t i = 0; i < f->n; i++) {
		e->low[k] = fmin(e->low[k], mat_get(&f->runs->numbers, f->run[i], number));
		e->high[k] = fmax(e->high[k], mat_get(&f->runs->numbers, f->run[i], number));
	}
}

/* Returns the maximum error after a useful addition, relative to the error before. With few runs, the best of many numbers, such as seeds
 * and dates, helps by chance. The bound lets this happen in 1 of 200 cases (12 to 40 runs of noise, up to 16 numbers). */
static double fitting_min_error(const struct fit_state *f)
{
	return fmin(ERROR_RATIO_MAX, 1.0 - .5 * sqrt(2.0 * log(20.0 * (double)(f->runs->numbers.cols + 1)) / (double)f->n));
}

/* Adds `more` numbers, one or two, with which the error is smallest, if that is at most `worth` * *error. Reports whether it added them. */
static bool fitting_add(struct fit_state *f, size_t more, double worth, struct expect *e, double *error)
{
	size_t numbers = f->runs->numbers.cols;
	struct expect best = *e;
	double least = (double)INFINITY;

	if (e->n + more > EXPECT_NUMBERS_USED || f->n < RUNS_PER_COEFFICIENT * (e->n + more + 1))
		return false;
	for (size_t i = 0; i < numbers; i++) {
		for (size_t j = i + more - 1; j < (more == 2 ? numbers : i + 1); j++) {
			struct expect trial = *e;
			double own;

			expect_add_number(f, &trial, i);
			if (more == 2)
				expect_add_number(f, &trial, j);
			own = fitting_fit_line(f, &trial, more == 2 ? 1 : ROUNDS); /* one round, because there are many pairs */
			if (own < least) {
				best = trial;
				least = own;
			}
		}
	}
	least = isfinite(least) && more == 2 ? fitting_fit_line(f, &best, ROUNDS) : least;
	if (!(least <= worth * *error))
		return false;
	*e = best;
	*error = least;
	return true;
}

/* Adds numbers while the error falls and is above rounding errors. Two at once must help as much as two in turn. Example: if larger sizes
 * have more threads, neither number predicts the work per thread, but both together do. *error gets the final error. */
static void fitting_choose_size_and_threads(struct fit_state *f, struct expect *e, double *error)
{
	double worth = fitting_min_error(f);

	*error = fitting_fit_line(f, e, ROUNDS);
	while (*error > SAME_RATIO && (fitting_add(f, 1, worth, e, error) || fitting_add(f, 2, worth * worth, e, error)))
		;
}

/* ---- by input ---- */

struct value {
	size_t input;
	double y, left_out; /* left_out: error of a constant for all runs that was fitted without this run */
};

ORDER_BY(compare_values, struct value, BY_ASC(input) BY_ASC(y))

/* Returns the median of sorted v[n] without element i, n > 1; of all elements if i is n. */
static double values_median_without(const struct value *v, size_t n, size_t i)
{
	size_t left = n - (i < n), low = (left - 1) / 2, high = left / 2;

	return (v[low + (low >= i)].y + v[high + (high >= i)].y) / 2.0;
}

/* Fits a median per input. Returns the error on held-out runs. For rare inputs, uses f->work of a fitting_fit_line() without numbers. */
static double fitting_fit_medians(const struct fit_state *f, struct expect *e)
{
	struct value *v = mem_new(f->n, sizeof(*v));
	double sum = 0.0;

	e->by = EXPECT_BY_INPUT;
	e->median = mem_new(e->inputs + 1, sizeof(*e->median));
	for (size_t i = 0; i < e->inputs; i++)
		e->median[i] = (double)NAN;
	for (size_t i = 0; i < f->n; i++)
		v[i] = (struct value){ f->runs->input[f->run[i]], f->y[f->run[i]], f->work[i] };
	qsort(v, f->n, sizeof(*v), compare_values);
	for (size_t first = 0, n; first < f->n; first += n) {
		for (n = 1; first + n < f->n && v[first + n].input == v[first].input && v[first].input < e->inputs;)
			n++;
		for (size_t i = 0; i < n; i++)
			sum += n > INPUT_RUNS ? fabs(v[first + i].y - values_median_without(&v[first], n, i)) : v[first + i].left_out;
		if (n >= INPUT_RUNS && v[first].input < e->inputs)
			e->median[v[first].input] = values_median_without(&v[first], n, n);
	}
	free(v);
	return sum / (double)f->n;
}

/* ---- choice ---- */

static void fitting_choose(struct fit_state *f, struct expect *out)
{
	struct expect line = { .by = EXPECT_BY_NOTHING }, input = { .inputs = f->runs->inputs };
	double without = fitting_fit_line(f, &line, ROUNDS), by_numbers, by_input;

	*out = line;
	if (!(without > SAME_RATIO)) /* the quantity never varies */
		return;
	by_input = fitting_fit_medians(f, &input);
	fitting_choose_size_and_threads(f, &line, &by_numbers);
	line.by = line.n ? EXPECT_BY_NUMBERS : EXPECT_BY_NOTHING;
	if (by_input <= ERROR_RATIO_MAX * without && by_input < by_numbers) {
		*out = input;
		return;
	}
	expect_release(&input);
	*out = line;
}

void expect_fit(const struct expect_inputs *runs, const double *y, const bool *use, struct expect *out)
{
	size_t all = runs->numbers.rows;
	struct fit_state f = { .runs = runs, .y = y };

	f.run = mem_new(all + 1, sizeof(*f.run));
	f.weight = mem_new(3 * all + 1, sizeof(*f.weight));
	f.residual = f.weight + all;
	f.work = f.residual + all;
	for (size_t r = 0; r < all; r++) {
		if (use[r])
			f.run[f.n++] = r;
	}
	*out = (struct expect){ .by = EXPECT_BY_NOTHING };
	if (f.n >= RUNS_PER_COEFFICIENT)
		fitting_choose(&f, out);
	mem_free(f.run, f.weight);
}

bool expect_predict(const struct expect *e, const struct expect_inputs *runs, size_t run, double *out)
{
	bool known = true;

	if (e->by == EXPECT_BY_INPUT) {
		*out = runs->input[run] < e->inputs ? e->median[runs->input[run]] : (double)NAN;
		return !isnan(*out);
	}
	*out = e->intercept;
	for (size_t k = 0; k < e->n; k++) {
		double x = mat_get(&runs->numbers, run, e->number[k]), range = e->high[k] - e->low[k];

		*out += e->slope[k] * (x - e->low[k]);
		known = known && x >= e->low[k] - EXTRAPOLATION_MAX * range && x <= e->high[k] + EXTRAPOLATION_MAX * range;
	}
	return known && e->by == EXPECT_BY_NUMBERS;
}

#include "model/anomaly/scale.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>

#define NORMAL_MAD   1.4826 /* standard deviations a MAD, of a normal distribution */
#define NORMAL_WIDTH 3.2897 /* and of the middle nine tenths */
#define WITHIN_LEAST 4	    /* samples in runs with several: below, the spread is that of all */
#define SAME	     1e-9   /* units: what is left of equal values */

double scale_stretch(double material, double tolerance)
{
	return material / sinh(tolerance);
}

static struct scale scale_new(size_t functions, size_t columns)
{
	struct scale s = { .functions = functions, .columns = columns };

	s.known = mem_new(functions, sizeof(*s.known));
	s.center = mem_new(functions * columns, sizeof(*s.center));
	s.unit = mem_new(functions * columns, sizeof(*s.unit));
	s.low = mem_new(functions * columns, sizeof(*s.low));
	s.high = mem_new(functions * columns, sizeof(*s.high));
	for (size_t i = 0; i < functions * columns; i++)
		s.unit[i] = 1.0;
	return s;
}

void scale_release(struct scale *s)
{
	free(s->known);
	free(s->center);
	free(s->unit);
	free(s->low);
	free(s->high);
	*s = (struct scale){ 0 };
}

static void swap(double *a, double *b)
{
	double t = *a;

	*a = *b;
	*b = t;
}

/* x[k] becomes what it would be if x were sorted, smaller ones before it, larger ones behind (Hoare, "Algorithm 65: find", Communications of the ACM
 * 4(7), 1961), with the middle of three as the pivot. */
static void select_rank(double *x, size_t n, size_t k)
{
	size_t low = 0, high = n - 1;

	while (low < high) {
		size_t i = low, j = high, middle = low + (high - low) / 2;
		double pivot;

		if (x[middle] < x[low])
			swap(&x[middle], &x[low]);
		if (x[high] < x[middle])
			swap(&x[high], &x[middle]);
		if (x[middle] < x[low])
			swap(&x[middle], &x[low]);
		pivot = x[middle];
		while (i <= j) {
			while (x[i] < pivot)
				i++;
			while (x[j] > pivot)
				j--;
			if (i > j)
				break;
			swap(&x[i++], &x[j]);
			if (j-- == 0)
				break;
		}
		if (k <= j && j < high)
			high = j;
		else if (k >= i)
			low = i;
		else
			return;
	}
}

/* Type 7 of Hyndman and Fan, as stats_quantile, in O(n); n > 0. The order of x changes. */
static double quantile(double *x, size_t n, double p)
{
	double at = p * (double)(n - 1), next;
	size_t k = (size_t)at;

	select_rank(x, n, k);
	if (k + 1 >= n)
		return x[k];
	next = x[k + 1];
	for (size_t i = k + 2; i < n; i++)
		next = fmin(next, x[i]);
	return x[k] + (at - (double)k) * (next - x[k]);
}

/* The order of x changes, and its values. */
static double spread_of(double *x, size_t n)
{
	double width, middle;

	if (n < 2)
		return 0.0;
	middle = quantile(x, n, .5);
	width = quantile(x, n, .95) - quantile(x, n, .05);
	for (size_t i = 0; i < n; i++)
		x[i] = fabs(x[i] - middle);
	return fmax(NORMAL_MAD * quantile(x, n, .5), width / NORMAL_WIDTH);
}

/* Appends the distances of x[n] to their median, as wide as those of many would be. The order of x changes. */
static size_t add_distances(double *x, size_t n, double *out, size_t used)
{
	double middle, wider;

	if (n < 2)
		return used;
	middle = quantile(x, n, .5);
	wider = sqrt((double)n / (double)(n - 1));
	for (size_t i = 0; i < n; i++)
		out[used++] = wider * (x[i] - middle);
	return used;
}

struct column {
	double *all, *part, *within; /* [samples of the function] */
};

/* One function's column; groups[n] are its own. */
static void learn_column(const struct mat *z, const struct scale_group *groups, size_t n, const bool *use, size_t j, double tolerance,
			 struct column *work, struct scale *out)
{
	size_t at = groups[0].function * out->columns + j, samples = 0, within = 0;
	double spread;

	for (size_t g = 0; g < n; g++) {
		if (!use[groups[g].run])
			continue;
		for (size_t i = 0; i < groups[g].n; i++)
			work->part[i] = work->all[samples + i] = mat_get(z, groups[g].first + i, j);
		samples += groups[g].n;
		within = add_distances(work->part, groups[g].n, work->within, within);
	}
	if (!samples)
		return;
	out->known[groups[0].function] = true;
	out->low[at] = out->high[at] = work->all[0];
	for (size_t i = 1; i < samples; i++) {
		out->low[at] = fmin(out->low[at], work->all[i]);
		out->high[at] = fmax(out->high[at], work->all[i]);
	}
	out->center[at] = quantile(work->all, samples, .5);
	spread = within >= WITHIN_LEAST ? spread_of(work->within, within) : spread_of(work->all, samples);
	out->unit[at] = fmax(spread, tolerance);
	out->low[at] = (out->low[at] - out->center[at]) / out->unit[at];
	out->high[at] = (out->high[at] - out->center[at]) / out->unit[at];
}

void scale_learn(const struct mat *z, const struct scale_group *groups, size_t n_groups, const bool *use, size_t functions,
		 double tolerance, struct scale *out)
{
	struct scale s = scale_new(functions, z->cols);
	struct column work = { .all = mem_new(z->rows, sizeof(double)) };

	work.part = mem_new(z->rows, sizeof(double));
	work.within = mem_new(z->rows, sizeof(double));
	for (size_t g = 0, n; g < n_groups; g += n) {
		for (n = 1; g + n < n_groups && groups[g + n].function == groups[g].function;)
			n++;
		for (size_t j = 0; j < z->cols; j++)
			learn_column(z, &groups[g], n, use, j, tolerance, &work, &s);
	}
	free(work.all);
	free(work.part);
	free(work.within);
	*out = s;
}

void scale_learn_range(const struct mat *z, const struct scale_group *groups, size_t n_groups, const bool *use, size_t functions,
		       struct scale *out)
{
	struct scale s = scale_new(functions, z->cols);

	for (size_t j = 0; j < z->cols; j++) {
		double low = (double)INFINITY, high = -(double)INFINITY;

		for (size_t g = 0; g < n_groups; g++) {
			for (size_t i = 0; use[groups[g].run] && i < groups[g].n; i++) {
				low = fmin(low, mat_get(z, groups[g].first + i, j));
				high = fmax(high, mat_get(z, groups[g].first + i, j));
				s.known[groups[g].function] = true;
			}
		}
		for (size_t f = 0; f < functions; f++) {
			s.center[f * z->cols + j] = low;
			s.unit[f * z->cols + j] = high > low ? fmax(high - low, SCALE_UNIT_LEAST) : 1.0;
			s.high[f * z->cols + j] = high > low ? 1.0 : 0.0;
		}
	}
	*out = s;
}

bool scale_constant(const struct scale *s, size_t function, size_t j)
{
	size_t at = function * s->columns + j;

	return s->high[at] - s->low[at] <= SAME;
}

void scale_row(const struct scale *s, size_t function, const double *row, double *units)
{
	size_t at = function * s->columns;

	for (size_t j = 0; j < s->columns; j++)
		units[j] = (row[j] - s->center[at + j]) / s->unit[at + j];
}

#include "model/profile/stand_ins.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <stdbool.h>

/* The weights a, b > 0 of the least squares of a x + b y = 1; with y NULL, of a x = 1. */
static bool weights_of(const double *x, const double *y, size_t n, double *a, double *b)
{
	double xx = 0.0, xy = 0.0, yy = 0.0, x1 = 0.0, y1 = 0.0, left;

	for (size_t t = 0; t < n; t++) {
		xx += x[t] * x[t];
		x1 += x[t];
		xy += y ? x[t] * y[t] : 0.0;
		yy += y ? y[t] * y[t] : 0.0;
		y1 += y ? y[t] : 0.0;
	}
	*a = x1 / xx;
	*b = 0.0;
	left = xx * yy - xy * xy;
	if (y && left > 1e-10 * xx * yy) {
		*a = (x1 * yy - y1 * xy) / left;
		*b = (y1 * xx - x1 * xy) / left;
	}
	return *a > 0.0 && isfinite(*a) && (!y || *b > 0.0) && isfinite(*b);
}

/* Whether they are as good as the column of which x and y [n] are multiples; *part as in struct stand_in. */
static bool stands_in(const double *x, const double *y, size_t n, double *part)
{
	double a, b, squares = 0.0, free_types = (double)n - (y ? 2.0 : 1.0);

	if (free_types < 1.0 || !weights_of(x, y, n, &a, &b))
		return false;
	*part = 0.0;
	for (size_t t = 0; t < n; t++) {
		double first = a * x[t], sum = first + (y ? b * y[t] : 0.0);

		squares += (sum - 1.0) * (sum - 1.0);
		*part += first / sum / (double)n;
	}
	return stats_round(sqrt(squares / free_types)) < STAND_INS_MISS;
}

/* All others' times in parts of column k's: ratio [columns x types]. */
static void ratios_of(const struct features *f, size_t k, struct mat *ratio)
{
	for (size_t j = 0; j < f->n; j++)
		for (size_t t = 0; t < ratio->cols; t++)
			mat_set(ratio, j, t, exp(mat_get(&f->type_logs, t, k) - mat_get(&f->type_logs, t, j)));
}

void stand_ins_of(const struct features *f, struct stand_ins *out)
{
	struct stand_ins s = { .first = mem_new(f->n + 1, sizeof(*s.first)), .n = f->n };
	size_t types = f->type_logs.rows, n = 0, capacity = 0;
	struct mat ratio = mat_new(f->n, types);

	for (size_t k = 0; k < f->n; k++) {
		ratios_of(f, k, &ratio);
		for (size_t i = 0; i < f->n; i++) {
			for (size_t j = i; i != k && j < f->n; j++) {
				struct stand_in one = { i, j, 1.0 };

				if (j == k || !stands_in(&ratio.at[i * types], j == i ? NULL : &ratio.at[j * types], types, &one.part))
					continue;
				mem_append(s.items, n, &capacity, one);
			}
		}
		s.first[k + 1] = n;
	}
	mat_release(&ratio);
	*out = s;
}

void stand_ins_release(struct stand_ins *s)
{
	mem_free(s->items, s->first);
	*s = (struct stand_ins){ 0 };
}

#include "gate/detect/missing.h"

#include "base/mem.h"

#include <math.h>

/* Means of what was counted, of each run, and of the runs. */
struct counted {
	struct observed *observed;
	double *sum, *n; /* [functions x runs x columns] */
	double *mean;	 /* [functions x columns] NaN: in less than half of the function's runs */
};

static size_t counted_at(const struct counted *c, size_t row)
{
	const struct observed *o = c->observed;

	return (o->function[row] * o->observations.runs + o->run[row]) * o->observations.values.cols;
}

static void counted_find_means(struct counted *c, size_t function, const bool *there)
{
	size_t runs = c->observed->observations.runs, columns = c->observed->observations.values.cols;

	for (size_t j = 0; j < columns; j++) {
		double sum = 0, n = 0, all = 0;

		for (size_t r = 0; r < runs; r++) {
			size_t at = (function * runs + r) * columns + j;

			all += there[function * runs + r];
			n += c->n[at] > 0;
			sum += c->n[at] > 0 ? c->sum[at] / c->n[at] : 0;
		}
		c->mean[function * columns + j] = n > 0 && 2 * n >= all ? sum / n : (double)NAN;
	}
}

static struct counted counted_of(struct observed *o)
{
	size_t functions = o->observations.functions, runs = o->observations.runs, columns = o->observations.values.cols;
	struct counted c = { .observed = o,
			     .sum = mem_new(functions * runs * columns + 1, sizeof(double)),
			     .n = mem_new(functions * runs * columns + 1, sizeof(double)),
			     .mean = mem_new(functions * columns + 1, sizeof(double)) };
	bool *there = mem_new(functions * runs + 1, sizeof(there[0]));

	for (size_t i = 0; i < o->observations.values.rows; i++) {
		there[o->function[i] * runs + o->run[i]] = true;
		for (size_t j = 0; j < columns; j++) {
			double value = mat_get(&o->observations.values, i, j);

			c.sum[counted_at(&c, i) + j] += isnan(value) ? 0 : value;
			c.n[counted_at(&c, i) + j] += !isnan(value);
		}
	}
	for (size_t f = 0; f < functions; f++)
		counted_find_means(&c, f, there);
	free(there);
	return c;
}

static void counted_fill(const struct counted *c, const struct missing *missing)
{
	struct observed *o = c->observed;

	for (size_t i = 0; i < o->observations.values.rows; i++)
		for (size_t j = 0; j < missing->columns; j++) {
			size_t at = counted_at(c, i) + j, of = o->function[i] * missing->columns + j;

			if (missing->is[of])
				mat_set(&o->observations.values, i, j, 0);
			else if (isnan(mat_get(&o->observations.values, i, j)))
				mat_set(&o->observations.values, i, j, c->n[at] > 0 ? c->sum[at] / c->n[at] : c->mean[of]);
		}
}

static void counted_release(struct counted *c)
{
	free(c->sum);
	free(c->n);
	free(c->mean);
}

void missing_fill(struct observed *normal, struct observed *seen, struct missing *out)
{
	struct counted sides[2] = { counted_of(normal), counted_of(seen) };

	ASSAY_BUG_IF(normal->observations.functions != seen->observations.functions ||
		     normal->observations.values.cols != seen->observations.values.cols);
	*out = (struct missing){ .functions = seen->observations.functions, .columns = seen->observations.values.cols };
	out->is = mem_new(out->functions * out->columns + 1, sizeof(out->is[0]));
	for (size_t i = 0; i < out->functions * out->columns; i++)
		out->is[i] = isnan(sides[0].mean[i]) || isnan(sides[1].mean[i]);
	for (int s = 0; s < 2; s++) {
		counted_fill(&sides[s], out);
		counted_release(&sides[s]);
	}
}

void missing_release(struct missing *missing)
{
	free(missing->is);
	*missing = (struct missing){ .is = NULL };
}

#include "model/anomaly/cause.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>

#define PART_LEAST .01

static void add_vote(const double *parts, size_t p, struct detection_column *columns)
{
	size_t leading = 0;

	for (size_t j = 0; j < p; j++) {
		columns[j].part += parts[j];
		if (stats_round(parts[j]) > stats_round(parts[leading]))
			leading = j;
	}
	columns[leading].votes += 1.0;
}

/* Where the median has moved by what matters, that is the direction; else where the samples lie of what was expected. */
static int direction_of(const struct detection_column *c, double moved, double toward)
{
	double by = c->now - c->normal;

	if (fabs(by) > moved)
		return by > 0.0 ? 1 : -1;
	return toward < 0.0 ? -1 : 1;
}

static int compare_columns(const void *a, const void *b)
{
	const struct detection_column *x = a, *y = b;
	double votes = stats_round(y->votes) - stats_round(x->votes), part = stats_round(y->part) - stats_round(x->part);

	if (votes != 0.0)
		return votes > 0.0 ? 1 : -1;
	if (part != 0.0)
		return part > 0.0 ? 1 : -1;
	return (x->column > y->column) - (x->column < y->column);
}

void cause_sort(struct detection_column *columns, size_t n)
{
	qsort(columns, n, sizeof(*columns), compare_columns);
}

size_t cause_columns(const struct mat *parts, const struct mat *toward, const struct mat *values, const double *normal, const double *moved,
		const bool *anomalous, struct detection_column **columns)
{
	size_t p = parts->cols, samples = 0, n = 0;
	struct detection_column *all = mem_new(p, sizeof(*all));
	double *now = mem_new(parts->rows + 1, sizeof(*now)), total = 0.0;

	for (size_t i = 0; i < parts->rows; i++) {
		if (anomalous[i])
			add_vote(&parts->at[i * p], p, all);
		samples += anomalous[i];
	}
	for (size_t j = 0; j < p; j++)
		total += all[j].part;
	for (size_t j = 0; samples && j < p; j++) {
		double side = 0.0;
		size_t k = 0;

		for (size_t i = 0; i < parts->rows; i++) {
			side += anomalous[i] ? mat_get(toward, i, j) : 0.0;
			if (anomalous[i])
				now[k++] = mat_get(values, i, j);
		}
		all[j] = (struct detection_column){ .column = j, .votes = all[j].votes / (double)samples,
						    .part = total > 0.0 ? all[j].part / total : 0.0, .normal = normal[j],
						    .now = stats_median(now, samples) };
		all[j].direction = direction_of(&all[j], moved[j], side);
		if (all[j].votes > 0.0 || all[j].part >= PART_LEAST)
			all[n++] = all[j];
	}
	free(now);
	if (n)
		cause_sort(all, n);
	else
		free(all);
	*columns = n ? all : NULL;
	return n;
}

#include "gate/detect/totals.h"

#include "base/mem.h"

#include <math.h>

void totals_release(struct totals_run *totals)
{
	free(totals->sums);
	*totals = (struct totals_run){ .sums = NULL };
}

/* NaN: not known. */
static double total_work(const struct samples *samples, const struct samples_total *total)
{
	size_t counters[SAMPLES_WORK_MAX], n = samples_work(samples, counters);
	double work = n && total->known && total->calls ? 0 : (double)NAN;

	for (size_t k = 0; k < n; k++)
		work += total->sums[counters[k]];
	return work;
}

bool totals_known(const struct samples *samples, size_t function)
{
	struct samples_total total;
	bool known;

	samples_total_find(samples, function, &total);
	known = total_work(samples, &total) > 0;
	samples_total_release(&total);
	return known;
}

void totals_add(struct totals_run *totals, const struct samples *samples, size_t function, char *const *columns, size_t n)
{
	struct samples_total total;

	if (!totals->sums)
		*totals = (struct totals_run){ .sums = mem_new(n, sizeof(double)), .columns = n };
	samples_total_find(samples, function, &total);
	totals->work += total_work(samples, &total);
	totals->calls += (double)total.calls;
	for (size_t c = 0; c < n; c++) {
		size_t counter = samples_counter(samples, columns[c]);

		totals->sums[c] += counter == SIZE_MAX || isnan(totals->work) ? (double)NAN : total.sums[counter];
	}
	samples_total_release(&total);
}

/* The mean of a column's rows as totals have it: over calls, or over work; NaN: it was counted in none. */
static double rows_mean(const struct pool_rows *rows, size_t column, bool per_call)
{
	double sum = 0, base = 0;

	for (size_t i = 0; i < rows->n; i++) {
		double weight = rows->items[i].weight * (per_call ? 1 : rows->items[i].ns), value = rows->items[i].values[column];

		sum += isnan(value) ? 0 : weight * value;
		base += isnan(value) ? 0 : weight;
	}
	return base > 0 ? sum / base : (double)NAN;
}

static void column_apply(struct pool_rows *rows, size_t column, double mean, double total)
{
	for (size_t i = 0; i < rows->n; i++) {
		double *value = &rows->items[i].values[column];

		*value = isnan(*value) || !(mean > 0) ? total : *value * (total / mean);
	}
}

static void rows_collapse(struct pool_rows *rows)
{
	struct pool_row row = { .values = mem_new(rows->columns, sizeof(double)), .weight = 1, .ns = 1 };
	size_t left_out = rows->left_out, columns = rows->columns;

	for (size_t c = 0; c < columns; c++)
		row.values[c] = (double)NAN;
	for (size_t i = 0; i < rows->n; i++)
		row.samples += rows->items[i].samples;
	pool_rows_release(rows);
	*rows = (struct pool_rows){ .items = mem_new(1, sizeof(row)), .n = 1, .capacity = 1, .columns = columns, .left_out = left_out };
	rows->items[0] = row;
}

void totals_apply(const struct totals_run *totals, const struct pool_shape *shape, bool collapse, struct pool_rows *rows)
{
	double weight = 0, work = 0;

	if (!totals->sums || !(totals->work > 0))
		return;
	rows->columns = shape->columns;
	if (collapse || !rows->n)
		rows_collapse(rows);
	for (size_t c = 0; c < shape->columns; c++) {
		double total = totals->sums[c] / (shape->per_call[c] ? totals->calls : totals->work);

		if (!isnan(total))
			column_apply(rows, c, rows_mean(rows, c, shape->per_call[c]), total);
	}
	for (size_t i = 0; i < rows->n; i++) {
		weight += rows->items[i].weight;
		work += rows->items[i].weight * rows->items[i].ns;
	}
	for (size_t i = 0; i < rows->n; i++) {
		rows->items[i].ns *= work > 0 ? totals->work / totals->calls / (work / weight) : 1;
		rows->items[i].weight *= totals->calls / weight;
	}
}

/* Observations in an order that does not depend on how they came: by function, run, values. */
#include "base/mem.h"
#include "model/anomaly/detector_internal.h"

#include <math.h>
#include <string.h>

void rows_release(struct rows *r)
{
	mat_release(&r->z);
	free(r->weight);
	free(r->origin);
	free(r->groups);
	*r = (struct rows){ 0 };
}

static int compare_names(const void *a, const void *b, void *names)
{
	const char *const *all = *(const char *const **)names;
	const char *x = all[*(const size_t *)a], *y = all[*(const size_t *)b];

	return strcmp(x, y);
}

size_t names_order(const char *const *names, size_t n, size_t *order)
{
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	if (n)
		qsort_r(order, n, sizeof(*order), compare_names, &names);
	for (size_t i = 1; i < n; i++) {
		if (!strcmp(names[order[i - 1]], names[order[i]]))
			return i;
	}
	return n;
}

size_t names_find(char *const *sorted, size_t n, const char *name)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(sorted[middle], name);

		if (order == 0)
			return middle;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return n;
}

struct ordering {
	const struct observations *observations;
	const size_t *columns, *functions;
	const bool *used;
	size_t p;
};

static double value_of(const struct ordering *o, size_t row, size_t j)
{
	return mat_get(&o->observations->values, row, o->columns[j]);
}

static int compare_sizes(size_t x, size_t y)
{
	return (x > y) - (x < y);
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct ordering *o = context;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	int order = compare_sizes(o->functions[o->observations->function[x]], o->functions[o->observations->function[y]]);

	if (!order)
		order = compare_sizes(o->observations->run[x], o->observations->run[y]);
	for (size_t j = 0; !order && j < o->p; j++) {
		if (o->used[j])
			order = (value_of(o, x, j) > value_of(o, y, j)) - (value_of(o, x, j) < value_of(o, y, j));
	}
	if (!order)
		order = (o->observations->weight[x] > o->observations->weight[y]) -
			(o->observations->weight[x] < o->observations->weight[y]);
	return order ? order : compare_sizes(x, y);
}

static bool is_whole(const struct ordering *o, size_t row)
{
	for (size_t j = 0; j < o->p; j++) {
		if (o->used[j] && !isfinite(value_of(o, row, j)))
			return false;
	}
	return true;
}

static void group(const struct ordering *o, struct rows *r)
{
	size_t capacity = 0;

	for (size_t i = 0; i < r->z.rows; i++) {
		size_t function = o->functions[o->observations->function[r->origin[i]]], run = o->observations->run[r->origin[i]];
		struct scale_group *last = r->n_groups ? &r->groups[r->n_groups - 1] : NULL;

		if (last && last->function == function && last->run == run) {
			last->n++;
			continue;
		}
		r->groups = mem_grow(r->groups, r->n_groups, &capacity, sizeof(*r->groups));
		r->groups[r->n_groups++] = (struct scale_group){ .function = function, .run = run, .first = i, .n = 1 };
	}
}

void rows_of(const struct observations *observations, const size_t *columns, size_t p, const bool *used, const size_t *functions,
	     const double *stretch, struct rows *out)
{
	struct ordering o = { .observations = observations, .columns = columns, .functions = functions, .used = used, .p = p };
	struct rows r = { .origin = mem_new(observations->values.rows, sizeof(*r.origin)) };
	size_t n = 0;

	for (size_t i = 0; i < observations->values.rows; i++) {
		if (!is_whole(&o, i))
			r.left_out++;
		else if (functions[observations->function[i]] != SIZE_MAX)
			r.origin[n++] = i;
	}
	if (n)
		qsort_r(r.origin, n, sizeof(*r.origin), compare_rows, &o);
	r.z = mat_new(n, p);
	r.weight = mem_new(n, sizeof(*r.weight));
	for (size_t i = 0; i < n; i++) {
		r.weight[i] = observations->weight[r.origin[i]];
		for (size_t j = 0; j < p; j++) {
			double x = used[j] ? value_of(&o, r.origin[i], j) : 0.0;

			mat_set(&r.z, i, j, fmax(-DETECTOR_FARTHEST, fmin(DETECTOR_FARTHEST, stretch ? asinh(x / stretch[j]) : x)));
		}
	}
	group(&o, &r);
	*out = r;
}

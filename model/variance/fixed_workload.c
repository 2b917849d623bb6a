#include "model/variance/fixed_workload.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/order.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct vector {
	double norm;
	const double *at; /* [p] */
	size_t row, p;
};

/* By norm, then by components: equal vectors are equal wherever they stand. */
static int vectors_by_norm(const void *a, const void *b)
{
	const struct vector *x = a, *y = b;

	if (x->norm != y->norm)
		return x->norm < y->norm ? -1 : 1;
	for (size_t j = 0; j < x->p; j++)
		if (x->at[j] != y->at[j])
			return x->at[j] < y->at[j] ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static double vectors_distance(const struct vector *a, const struct vector *b)
{
	double sum = 0;

	for (size_t j = 0; j < a->p; j++)
		sum += (a->at[j] - b->at[j]) * (a->at[j] - b->at[j]);
	return sqrt(sum);
}

size_t fixed_workload_clusters(const struct mat *X, double distance, size_t *cluster)
{
	size_t n = X->rows, p = X->cols, clusters = 0;
	struct vector *v = mem_new(n, sizeof(*v));

	for (size_t i = 0; i < n; i++) {
		double sum = 0;

		for (size_t j = 0; j < p; j++)
			sum += mat_get(X, i, j) * mat_get(X, i, j);
		v[i] = (struct vector){ .norm = sqrt(sum), .at = X->at + i * p, .row = i, .p = p };
		cluster[i] = SIZE_MAX;
	}
	order_sort(v, n, vectors_by_norm);
	for (size_t first = 0; first < n; first++) {
		double limit = distance * v[first].norm;

		if (cluster[v[first].row] != SIZE_MAX)
			continue;
		/* A vector whose norm is further away is further away itself. */
		for (size_t i = first; i < n && v[i].norm - v[first].norm <= limit; i++)
			if (cluster[v[i].row] == SIZE_MAX && vectors_distance(&v[first], &v[i]) <= limit)
				cluster[v[i].row] = clusters;
		clusters++;
	}
	free(v);
	return clusters;
}

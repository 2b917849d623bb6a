/* Measures the quality of clusters when the truth is known. Source: V-measure, Rosenberg and Hirschberg, EMNLP-CoNLL 2007, with beta 1. */
#ifndef TESTS_V_MEASURE_H
#define TESTS_V_MEASURE_H

#include "base/mem.h"
#include "base/order.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

struct label {
	size_t a, b;
};

ORDER_BY(labels_order, struct label, BY_ASC(a) BY_ASC(b))

static double plogp(size_t count, size_t n)
{
	double p = (double)count / (double)n;

	return -p * log(p);
}

/* Computes the entropy of the labels `a`, and the joint entropy of `a` and `b`. */
static void entropies(struct label *labels, size_t n, double *first, double *joint)
{
	size_t a = 0, both = 0;

	*first = *joint = 0;
	qsort(labels, n, sizeof(*labels), labels_order);
	for (size_t i = 0; i < n; i++) {
		bool last = i + 1 == n || labels[i + 1].a != labels[i].a;

		a++;
		both++;
		if (last || labels[i + 1].b != labels[i].b) {
			*joint += plogp(both, n);
			both = 0;
		}
		if (last) {
			*first += plogp(a, n);
			a = 0;
		}
	}
}

/* Returns the V-measure of the labels found[n] given truth[n]: 1 if both are the same partition, 0 if they are independent, 1 if n is 0.
 * O(n log n). */
static double v_measure(const size_t *truth, const size_t *found, size_t n)
{
	struct label *labels = mem_new(n, sizeof(*labels));
	double of_truth = 0, of_found = 0, joint = 0, homogeneity, completeness;

	for (size_t i = 0; i < n; i++)
		labels[i] = (struct label){ truth[i], found[i] };
	if (n)
		entropies(labels, n, &of_truth, &joint);
	for (size_t i = 0; i < n; i++)
		labels[i] = (struct label){ found[i], truth[i] };
	if (n)
		entropies(labels, n, &of_found, &joint);
	free(labels);
	homogeneity = of_truth > 0 ? 1 - (joint - of_found) / of_truth : 1;
	completeness = of_found > 0 ? 1 - (joint - of_truth) / of_found : 1;
	return homogeneity + completeness > 0 ? 2 * homogeneity * completeness / (homogeneity + completeness) : 0;
}

#endif

/* k-means: Lloyd's algorithm from k-means++ (Arthur and Vassilvitskii, SODA 2007; each first center the best of a few draws), best of
 * several starts. O(starts * iterations * n * k * p). Deterministic for a seed, same bits with any number of threads. */
#ifndef MODEL_ANOMALY_KMEANS_H
#define MODEL_ANOMALY_KMEANS_H

#include "base/mat.h"

#include <stdint.h>

struct kmeans {
	struct mat centers; /* [k x p] */
	size_t n;	    /* rows */
	size_t *cluster;    /* [n] */
	double within;	    /* sum of squared distances to the centers */
	size_t iterations;
};

/* rows [n x p], finite; 1 <= k <= n. Fewer distinct rows than k: some clusters are empty, their centers are those of others.
 * *out is overwritten; kmeans_release() it. */
void kmeans_fit(const struct mat *rows, size_t k, size_t starts, uint64_t seed, size_t threads, struct kmeans *out);
void kmeans_release(struct kmeans *kmeans); /* accepts zeroed */

#endif

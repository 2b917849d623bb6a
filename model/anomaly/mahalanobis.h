/* The inside of scorer_mahalanobis (model/anomaly/scorer.h): centers that share one covariance. */
#ifndef MODEL_ANOMALY_MAHALANOBIS_H
#define MODEL_ANOMALY_MAHALANOBIS_H

#include "model/anomaly/scorer.h"

struct mahalanobis {
	struct scorer scorer;
	size_t p;
	struct mat centers;   /* [k x p] */
	struct mat precision; /* [p x p] inverse of the covariance of differences from the own center, with what is added to it */
	double log_det;       /* of that covariance; not kept */
	double *share;        /* [k] of the rows; not kept */
	double shrinkage;
};

void mahalanobis_free(struct scorer *scorer); /* accepts NULL */

/* With k centers by k-means; 1 <= k <= rows. */
struct mahalanobis *mahalanobis_fit_with(const struct mat *rows, size_t k, uint64_t seed);

/* The squared distance of a row [p] from the center that is nearest by it; of equally near ones the first. d [p] becomes the difference from that
 * center, pull [p] the precision times it; place [2 * p]. Returns the center. */
size_t mahalanobis_nearest(const struct mahalanobis *m, const double *row, double *d, double *pull, double *place, double *squares);

/* How many centers tell runs that were left out best (mahalanobis_choose.c). */
size_t mahalanobis_choose(const struct mat *rows, const size_t *run, uint64_t seed);

#endif

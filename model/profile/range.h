/* The smallest and the largest share that each group has over all non-negative fits that are nearly as good as the best one.
 *
 * A fit is nearly as good when T log(its mean squared relative error / the least) is at most the chi-square quantile with one
 * degree of freedom: a profile likelihood interval (Venzon and Moolgavkar, Applied Statistics 37(1), 1988) for the share, which
 * is a linear function of the weights. Both ends are convex problems: the share times a multiplier is added to the error, each
 * step is one non-negative least squares, and the multiplier is found by bisection. */
#ifndef MODEL_PROFILE_RANGE_H
#define MODEL_PROFILE_RANGE_H

#include "model/profile/blend.h"

/* noise: relative error below which a fit is as good as can be. least, most [features.groups] are filled, within [0, 1]. */
void range_of(const struct blend_data *data, double noise, size_t threads, double *least, double *most);

#endif

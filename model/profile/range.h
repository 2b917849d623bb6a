/* Computes the range of each part's share of the time, over all non-negative fits that are nearly as good as the best one.
 *
 * A fit is nearly as good if T log(its mean squared relative error / the least such error) is at most a limit. T is the number of types;
 * the limit is the chi-squared quantile with one degree of freedom. This range is a profile likelihood interval (Venzon and Moolgavkar,
 * Applied Statistics 37(1), 1988) of the share, a linear function of the weights. Each end of the interval is a convex problem: minimise
 * the error plus a multiplier times the share. Bisection finds the multiplier; each step is a non-negative least squares problem. */
#ifndef MODEL_PROFILE_RANGE_H
#define MODEL_PROFILE_RANGE_H

#include "model/profile/blend.h"

#define SHARES_LEVEL .90 /* level of the intervals low to high and least to most */

/* Computes the ranges. least_of, most_of [columns with the constant x parts]: limits of each part's share of a column's time, 0 to 1.
 * noise: relative error below which fits are equally good. Fills least and most [parts], within [0, 1]. */
void range_compute(const struct blend_data *data, const struct mat *least_of, const struct mat *most_of, double noise, size_t threads,
		   double *least, double *most);

#endif

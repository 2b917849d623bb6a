/* How much one more machine would sharpen the shares: before it is measured.
 *
 * The models that were averaged disagree about the shares, and about the time on a machine. Where they disagree about the time in
 * the way they disagree about the shares, measuring it tells which of them are right. With the models for the posterior, and to
 * second order, the variance of a share falls by Cov(share, log time)^2 / (Var(log time) + noise^2): linear Bayesian experimental
 * design (Chaloner and Verdinelli, Statistical Science 10(3), 1995), summed over the groups. */
#ifndef MODEL_PROFILE_DESIGN_H
#define MODEL_PROFILE_DESIGN_H

#include "model/profile/blend.h"

/* logs   [features.n] of the machine, in the form of features.logs.
 * noise  > 0, of a measured log time beside any model: what the models miss.
 * gain   [features.groups] or NULL: by how much the standard deviation of each share falls, 0 to 1.
 * Returns that of all shares together (root of the sum of variances). 0 where the models agree already. */
double design_gain(const struct blend_data *data, const struct additive *fit, const double *logs, double noise, double *gain);

#endif

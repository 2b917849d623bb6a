/* Predicts how much the measurement of one more machine would reduce the uncertainty of the shares.
 *
 * The averaged models disagree about the shares and about the time on a machine. If both correlate, the measured time shows which models
 * are right. With the models as posterior, to second order, a share's variance falls by Cov(share, log time)^2 / (Var(log time) + noise^2),
 * summed over groups: linear Bayesian experimental design (Chaloner and Verdinelli, Statistical Science 10(3), 1995). */
#ifndef MODEL_PROFILE_DESIGN_H
#define MODEL_PROFILE_DESIGN_H

#include "model/profile/blend.h"

/* Computes the gain by one more machine.
 * logs   [features.n] log rates of the machine, in the form of features.logs.
 * noise  > 0, standard deviation of a measured log time from any model: the models' error.
 * gain   gets, for each of [features.groups], the relative decrease of the share's standard deviation, 0 to 1; may be NULL.
 * Returns the decrease for all shares together (root of the sum of variances); 0 if the models already agree. */
double design_gain(const struct blend_data *data, const struct additive *fit, const double *logs, double noise, double *gain);

#endif

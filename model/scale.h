/* Columns to zero mean and unit variance, as scikit-learn's StandardScaler: variance with n in the denominator, a column without
 * variance is divided by 1. */
#ifndef MODEL_SCALE_H
#define MODEL_SCALE_H

#include "base/mat.h"

/* mean and scale are [cols], filled; X [rows x cols], rows > 0, is changed in place. */
void scale_standardise(struct mat *X, double *mean, double *scale);

#endif

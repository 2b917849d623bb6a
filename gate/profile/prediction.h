/* Predicts the cost of a version on a machine on which it never ran, from the machine's fingerprint and the costs on other machines. */
#ifndef GATE_PROFILE_PREDICTION_H
#define GATE_PROFILE_PREDICTION_H

#include "gate/profile/profile.h"

#define PREDICTION_LEVEL     .90
#define PREDICTION_TYPES_MIN 2 /* minimum number of hardware types, because a single type has no spread */
#define PREDICTION_MODEL_TYPES                                                                                                             \
	4 /* minimum number of hardware types for models; with fewer, no type can be held out to estimate the error */

struct prediction {
	double log_cost, half; /* natural logs; the interval is log_cost - half to log_cost + half */
	bool modelled;	       /* false if the prediction is the mean of the types, which does not depend on the machine's fingerprint */
	double mape, q2;       /* errors on held-out types; NaN if there are no models */
	size_t stressors;      /* number of stressors that the models use */
};

/* Predicts the cost on a machine with these rates[rows->rates.cols], from rows of at least PREDICTION_TYPES_MIN types. Stressors without a
 * rate (NaN or 0) are removed from the rows. `half` is a t quantile times the root mean square error on held-out types. Without models, it
 * is a t quantile times the error of predicting another type by the mean. Returns false if no stressor is left for the models. */
bool prediction_compute(struct profile_rows *rows, const double *rates, struct prediction *out);

/* Sets *out to the machine's latest fingerprint that is comparable with `kind`. Returns ASSAY_E_NOTFOUND if the machine has no fingerprint,
 * and ASSAY_E_NODATA if none is comparable. */
enum assay_status prediction_find_fingerprint(const struct fingerprint_set *set, const char *machine, const struct fingerprint *kind,
					      const struct fingerprint **out, struct assay_error *err);

#endif

/* Predicts the cost of a version on a machine on which it never ran, from the machine's fingerprint and the costs on other machines. */
#ifndef GATE_PROFILE_PREDICTION_H
#define GATE_PROFILE_PREDICTION_H

#include "gate/profile/profile.h"

#define PREDICTION_LEVEL       .90
#define PREDICTION_TYPES_MIN   2 /* minimum number of hardware types: a single type has no spread */
#define PREDICTION_MODEL_TYPES 4 /* minimum number of hardware types for models: with fewer, none can be held out to estimate the error */

struct prediction {
	double log_cost, half; /* natural logs; the interval is log_cost +- half */
	bool modelled;	       /* false: the mean of the types, which does not depend on the machine's fingerprint */
	double mape, q2;       /* on held-out types; NaN: no models */
	size_t stressors;      /* number of stressors that the models use */
};

/* Predicts a machine's cost from rows of at least PREDICTION_TYPES_MIN types. Columns that are missing in rates[rows->rates.cols] (NaN or
 * 0) are removed from the rows. Half an interval is the t quantile times the root mean square error on held-out types; without models,
 * times the error of predicting one more type by the mean of the others. Returns false if models have no columns. */
bool prediction_of(struct profile_rows *rows, const double *rates, struct prediction *out);

/* Finds the machine's latest fingerprint comparable with `kind`. ASSAY_E_NOTFOUND: no fingerprint; ASSAY_E_NODATA: none is comparable. */
enum assay_status prediction_fingerprint(const struct fingerprint_set *set, const char *machine, const struct fingerprint *kind,
					 const struct fingerprint **out, struct assay_error *err);

#endif

/* Predicts the cost of a version on a machine on which it never ran, from the machine's fingerprint and its cost on other machines. */
#ifndef GATE_PROFILE_PREDICTION_H
#define GATE_PROFILE_PREDICTION_H

#include "gate/profile/profile.h"

#define PREDICTION_LEVEL       .90
#define PREDICTION_TYPES_MIN   2 /* hardware types: one has no spread */
#define PREDICTION_MODEL_TYPES 4 /* least types for models: fewer allow no held-out type to estimate their error */

struct prediction {
	double log_cost, half; /* natural log; the interval is log_cost +- half */
	bool modelled;	       /* false: the mean of the types, whatever the machine's fingerprint says */
	double mape, q2;       /* on held-out types; NaN: no models */
	size_t stressors;      /* number of stressors that the models use */
};

/* Predicts a machine's cost from rows of PREDICTION_TYPES_MIN types or more. Columns that rates[rows->rates.cols] lacks (NaN or 0) are
 * removed from the rows. Half an interval is the t quantile times the root mean square error on held-out types; without models, of
 * predicting one more type from the others' mean and standard deviation. Returns false if models have no columns. */
bool prediction_of(struct profile_rows *rows, const double *rates, struct prediction *out);

/* Finds the machine's latest fingerprint comparable with `kind`. ASSAY_E_NOTFOUND: it has none; ASSAY_E_NODATA: none of that kind. */
enum assay_status prediction_fingerprint(const struct fingerprint_set *set, const char *machine, const struct fingerprint *kind,
					 const struct fingerprint **out, struct assay_error *err);

#endif

/* What a version should cost on a machine on which it never ran, from the machine's fingerprint and what it cost on others. */
#ifndef GATE_PROFILE_PREDICTION_H
#define GATE_PROFILE_PREDICTION_H

#include "gate/profile/profile.h"

#define PREDICTION_LEVEL       .90
#define PREDICTION_TYPES_MIN   2 /* hardware types: one has no spread */
#define PREDICTION_MODEL_TYPES 4 /* with fewer nothing can be excluded to see how far models err */

struct prediction {
	double log_cost, half; /* natural log; the interval is log_cost +- half */
	bool modelled;	       /* false: the mean of the types, whatever the machine's fingerprint says */
	double mape, q2;       /* of the models, on types excluded; NaN without any */
	size_t stressors;      /* that they use */
};

/* Rows of at least PREDICTION_TYPES_MIN types; rates [rows->rates.cols] of the machine (NaN or 0: not measured), whose missing columns are
 * taken out of the rows. Half an interval is the t quantile times the root mean square error on types excluded; without models, that of the
 * prediction of one more type from the mean and standard deviation of the others. False: no stressor was measured on all. */
bool prediction_of(struct profile_rows *rows, const double *rates, struct prediction *out);

/* The machine's latest fingerprint for one model with `kind`. ASSAY_E_NOTFOUND: it has none at all; ASSAY_E_NODATA: none of that kind. */
enum assay_status prediction_fingerprint(const struct fingerprint_set *set, const char *machine, const struct fingerprint *kind,
					 const struct fingerprint **out, struct assay_error *err);

#endif

/* The metric of a version on a machine on which it never ran. */
#ifndef GATE_PROFILE_PREDICT_H
#define GATE_PROFILE_PREDICT_H

#include "runs/running/evidence.h"

#include <stdbool.h>

#define PREDICT_TYPES_MIN 10  /* hardware types that ran it; fewer say too little of how wrong a prediction is */
#define PREDICT_LEVEL     .90

struct predict {
	const char *machine;     /* borrowed */
	const char *fingerprint; /* id under which it was predicted; borrowed */
	const char *type;        /* hardware type of the machine, NULL when not known; borrowed */
	double value, low, high; /* in the unit of the metric; high may be infinite */
	double mape, q2;         /* on types left out */
	size_t types, rows, stressors; /* on which it rests */
	bool type_ran;           /* machines of the same type ran it */
};

/* ASSAY_E_NOTFOUND when the machine has no fingerprint at all; ASSAY_E_NODATA when none of the kind that the results have, when
 * fewer than PREDICT_TYPES_MIN types ran the version, no stressor was measured on all of them, or the results are too far apart.
 * The arguments must outlive *out. */
enum assay_status predict_of(const struct evidence *evidence, const struct run_set *runs, const char *machine,
                             struct predict *out, struct assay_error *err);

#endif

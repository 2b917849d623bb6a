/* Counters of stressors, as functions have them: events per unit of time, from the fingerprints of machines like those on which
 * the functions were measured. */
#ifndef GATE_DETECT_STRESSOR_RATES_H
#define GATE_DETECT_STRESSOR_RATES_H

#include "base/mat.h"
#include "fleet/lab/lab.h"
#include "runs/inside/record/record.h"
#include "runs/running/evidence.h"

#define STRESSOR_EVENTS_MIN 100 /* a counter that comes to no more in any stressor's run says nothing of them */

/* What to look for. */
struct stressor_rates_query {
	const char *const *counters; /* [n_counters] of the functions, COUNTERS_TIME among them where durations are known */
	size_t n_counters;
	enum record_back_end back_end;	/* of the functions */
	const char *hardware_type;	/* of the machines; "": any */
	const struct fingerprint *kind; /* only those comparable with it; NULL: any */
};

struct stressor_rates {
	char *missing;		      /* why there are none: a sentence without its end; NULL: there are */
	const char *const *stressors; /* [log_rates.rows], as in the evidence; borrowed */
	struct mat log_rates;	      /* [stressors x n_counters] of events per unit, median over fingerprints; NaN: not counted */
	size_t unit;		      /* the counter that is the unit: cycles, time on a processor, or time */
	size_t fingerprints;	      /* with counters */
};

/* Of all fingerprints that are asked for and have counters. The evidence must outlive *out, which is overwritten;
 * stressor_rates_release() it. */
enum assay_status stressor_rates_load(struct lab *lab, const struct evidence *evidence, const struct stressor_rates_query *query,
				      struct stressor_rates *out, struct assay_error *err);
void stressor_rates_release(struct stressor_rates *rates); /* accepts zeroed */

#endif

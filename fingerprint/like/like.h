/* Which knobs make this machine as dear as another one, stressor by stressor: what each knob moves is measured by a host with it alone,
 * and what several of them move adds up. */
#ifndef FINGERPRINT_LIKE_LIKE_H
#define FINGERPRINT_LIKE_LIKE_H

#include "fleet/emulate/emulate_profile.h"

#include <stddef.h>

#define LIKE_KNOBS 14
#define LIKE_MOVED .15 /* of the cost: what moves a stressor less than that is taken for noise */

/* The built-in profile that has this knob alone; knob < LIKE_KNOBS. */
const char *like_probe(size_t knob);

/* The cost of an operation of each stressor, relative to this machine as it is. */
struct like_costs {
	const double *target;		  /* [n], above 0; NaN: not measured */
	const double *probed[LIKE_KNOBS]; /* [n] each; NaN: not measured */
	size_t n;
};

/* The doses, as multiples of those of the probes and within what the profiles allow, for which the squared log of the costs' ratio is
 * smallest, found knob by knob until none of them gives more. A knob that gives nearly nothing stays off. Deterministic. */
void like_fit(const struct like_costs *costs, const struct emulate_profile *probes, double doses[LIKE_KNOBS]);

/* What the doses should make of a stressor's cost. */
double like_predicted(const struct like_costs *costs, size_t stressor, const double doses[LIKE_KNOBS]);

/* Mean squared log of target / costs over what both measured; NaN where that is nothing. */
double like_distance(const double *target, const double *costs, size_t n);

/* The profile with these doses, without a name. */
struct emulate_profile like_profile(const struct emulate_profile *probes, const double doses[LIKE_KNOBS]);

#endif

/* What versions that did not take turns may differ by for no reason of theirs: a machine is faster in one session than in another, and the
 * sessions of one version say by how much. A session is one `assay run`.
 *
 * With d the mean difference of the logs of costs between two sessions of the baseline (of inputs that both ran where these are
 * COST_SIDE_INPUTS_MIN or more, else each less what the model expects), J sessions have a variance of
 *
 *	s^2 = sum of d^2 over their pairs / (J (J - 1)), with J - 1 degrees of freedom,
 *
 * which is that of their means: the one-way random-effects model with the session as the unit (Cochran, Biometrics 10(1), 1954). The log of
 * the ratio of a candidate of K sessions to that baseline has the variance s^2 (1 / J + 1 / K), sessions counting by their inputs. What
 * inputs differ by within sessions is in s, too: so an interval by sessions is no part of that by inputs, but the wider of the two counts.
 */
#ifndef GATE_COST_COST_DRIFT_H
#define GATE_COST_COST_DRIFT_H

#include "gate/cost/cost_side.h"

#define COST_DRIFT_SESSIONS_MAX 32

struct cost_drift {
	size_t sessions;  /* of the baseline, with COST_SIDE_INPUTS_MIN inputs or more: of many the latest */
	double spread;	  /* s; NaN with fewer than two sessions */
	double error, df; /* standard error of log_ratio by it, and its degrees of freedom */
};

/* Zeroed where the two took turns, or too few inputs count. */
struct cost_drift cost_drift_of(const struct cost_side *side);

#endif

/* Other runs against what a model of the cost expects of their inputs: another version's on the model's machine, or the same version's on
 * another machine. By how much they are dearer for the same work. */
#ifndef GATE_COST_COST_SIDE_H
#define GATE_COST_COST_SIDE_H

#include "gate/cost/cost_model.h"

#define COST_SIDE_INPUTS_MIN 5 /* that must count */

struct cost_side {
	const struct cost_model *model; /* borrowed */
	struct costs costs;		/* of the other runs; of those alone that took turns with the model's, where they are enough */
	struct costs turns;		/* of the model's version, the runs that took turns with them; no inputs: too few of either */
	double *expected, *ratio; /* [n] of the inputs that count: by the model, and the log of what they cost over what they should */
	size_t *input;		  /* [n] of costs.inputs */
	size_t n, unlike, unlike_column;
	bool paired;		     /* ratio is over what the same inputs cost in the model's runs: most were run there */
	double usual;		     /* mean of ratio where nothing has changed */
	double log_ratio, noise, df; /* only with COST_SIDE_INPUTS_MIN */
};

/* Where one `assay run` made runs of both versions, of at least COST_SIDE_INPUTS_MIN inputs and half of those that it ran with the other,
 * these are compared with each other alone: whatever the machine did meanwhile, both had it.
 * The model must outlive *out, which is overwritten; cost_side_release() it. ASSAY_E_NODATA: of an input features are not known that the
 * model needs; else as costs_load(). */
enum assay_status cost_side_of(struct store *store, const struct cost_model *model, const struct costs_asked *asked, struct cost_side *out,
			       struct assay_error *err);
void cost_side_release(struct cost_side *side); /* accepts zeroed */

/* One of costs.inputs as a row of the model's features: [model->costs.p]. */
void cost_side_row(const struct cost_side *side, size_t input, double *row);
/* Those that count, as the model's fit of all features has them: [n x fit.n]. mat_release() it. */
struct mat cost_side_rows(const struct cost_side *side);

/* ---- sessions ---- */

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
#define COST_DRIFT_SESSIONS_MAX 32

struct cost_drift {
	size_t sessions;  /* of the baseline, with COST_SIDE_INPUTS_MIN inputs or more: of many the latest */
	double spread;	  /* s; NaN with fewer than two sessions */
	double error, df; /* standard error of log_ratio by it, and its degrees of freedom */
};

/* Zeroed where the two took turns, or too few inputs count. */
struct cost_drift cost_drift_of(const struct cost_side *side);

/* Mean and its standard error. */
double cost_side_mean(const double *x, size_t n, double *error);

#endif

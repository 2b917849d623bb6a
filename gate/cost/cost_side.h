/* Compares other runs with the cost that a model expects for their inputs. The runs are of another version on the model's machine, or of
 * the same version on another machine. The result is the cost ratio of the same work. */
#ifndef GATE_COST_COST_SIDE_H
#define GATE_COST_COST_SIDE_H

#include "gate/cost/cost_model.h"
#include "gate/decide/effect.h"

#define COST_SIDE_INPUTS_MIN 5 /* minimum number of inputs that count */

struct cost_side {
	const struct cost_model *model; /* borrowed */
	struct costs costs;		/* the other runs; if enough of them took turns with the model's version, only these */
	struct costs paired_costs;	/* runs of the model's version that took turns with `costs`; has no inputs if there are too few */
	double *expected, *ratio; /* [n] for each input that counts: the cost that the model expects; log(measured cost / expected cost), or
				     the log ratio of the medians if `paired` */
	size_t *input;		  /* [n] indexes of the inputs in costs.inputs */
	size_t n, n_dissimilar, unlike_column;
	bool paired;  /* true if the model's version also ran at least half of these inputs; `ratio` is then relative to its runs */
	double usual; /* mean of `ratio` that is expected if nothing changed */
	struct effect_pair effect; /* set if at least COST_SIDE_INPUTS_MIN inputs count; its `type` is not set */
};

/* Compares the runs and overwrites *out; the caller calls cost_side_release(). The model must outlive *out. If one `assay run` ran both
 * versions on at least COST_SIDE_INPUTS_MIN common inputs, at least half of the other version's, only these runs are compared, because both
 * versions met the same conditions. Returns ASSAY_E_NODATA if an input lacks features that the model needs; other errors are those of
 * costs_load(). */
enum assay_status cost_side_compare(struct store *store, const struct cost_model *model, const struct costs_request *asked,
				    struct cost_side *out, struct assay_error *err);
void cost_side_release(struct cost_side *side); /* accepts a zeroed struct */

/* Returns the inputs that count as a matrix [n x fit.n], in the columns of the model's fit of all features; mat_release() it. */
struct mat cost_side_rows(const struct cost_side *side);

#endif

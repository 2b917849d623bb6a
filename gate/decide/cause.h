/* Is a change more of the same work, or of another resource? Two questions: did the mean over the types change (the interval of the
 * ratio), and does the ratio differ from type to type by more than noise; and where it does, is there a part that is the same on all
 * types beside it? docs/evidence/statistics.md, "Uniform, or another resource?", has the rule and how often it is right. */
#ifndef GATE_DECIDE_CAUSE_H
#define GATE_DECIDE_CAUSE_H

#include "base/rows.h"
#include "gate/decide/effect.h"

#define CAUSE_LEVEL     .05 /* of the test whether the ratio differs by type */
#define CAUSE_TYPES_MIN 4   /* fewer have too few permutations, and nothing left over beside a line */

/* Word in output and JSON, sentence. */
#define CAUSE_ROWS(X)                                                                                                               \
	X(CAUSE_NOT_TESTED, "not_tested", "too few hardware types or repetitions to tell")                                          \
	X(CAUSE_NEITHER, "neither", "no change shows, neither of the mean nor from one hardware type to another")                     \
	X(CAUSE_UNIFORM, "uniform", "the ratio is the same on all hardware types within the noise: more or less of the same work")     \
	X(CAUSE_OTHER_RESOURCE, "other_resource", "the ratio differs between hardware types: a resource is used more or less than before") \
	X(CAUSE_BOTH, "both", "a resource is used more or less than before, and beside it all of the work changed")

enum cause_word { CAUSE_ROWS(ROWS_ENUM) };

const char *cause_text(enum cause_word word);
const char *cause_sentence(enum cause_word word);

struct cause {
	enum cause_word word;
	double p;               /* that the ratio is the same on all types; NaN: not tested */
	double uniform;         /* relative change of all work beside one resource, .05 = 5 %; NaN where the ratio does not differ by type */
	double low, high;       /* its 95 % interval, over all resources that explain the rest nearly as well */
	size_t feature;         /* the resource that explains the rest best; SIZE_MAX: none was looked for */
	size_t as_well;         /* how many explain it nearly as well, with itself */
};

/* By type: log_ratio and log_cost (of the baseline) [types], log_rate [types x features]; resources [features] as of effect_resources of
 * them. The effect is that of the same machines. */
struct cause cause_of(const struct effect *effect, const double *log_ratio, const double *log_cost, const struct mat *log_rate,
		      const struct effect_resource *resources);

#endif

/* How much longer one of two commands takes than the other, by runs in turn, and how much more processor time. */
#ifndef GATE_HERE_HERE_EFFECT_H
#define GATE_HERE_HERE_EFFECT_H

#include "base/rows.h"
#include "gate/profile/levels.h"

#include <stdbool.h>
#include <stddef.h>

/* By an interval alone. Constant, word for programs. */
#define HERE_DECISION_ROWS(X)                                                                                                              \
	X(HERE_UNKNOWN, "unknown")                                                                                                         \
	X(HERE_MORE, "more")                                                                                                               \
	X(HERE_LESS, "less")                                                                                                               \
	X(HERE_ALIKE, "alike") /* within 3 % */

enum here_decision { HERE_DECISION_ROWS(ROWS_ENUM) };

struct here_effect {
	double ratio, low, high; /* of B to A; 95 % interval: NaN for a single run; all NaN where it is not known */
	enum here_decision decision;
};

struct here_effects {
	struct here_effect wall, processor;
	bool withheld; /* B takes longer, or less long, by the clock, but neither without what others kept it waiting for nor by processor
			* time: that is no decision, and wall's is unknown */
	bool computes; /* a tenth of the time or more: else processor time hardly matters */
};

/* Runs a[n] and b[n], of which the i-th are a pair: they followed one another, in an order that was drawn. Hodges, Lehmann, Annals of
 * Mathematical Statistics 34(2), 1963, on the logs of their ratios, with the interval of Wilcoxon's signed ranks, which holds for runs of
 * any distribution, in which neighbours may resemble each other; of fewer than six pairs Student's. */
void here_effects_of(const struct level_run *a, const struct level_run *b, size_t n, struct here_effects *out);

const char *here_decision_text(enum here_decision decision);

/* The sentence. causes: what the difference is made of, or, where none is seen in time, what is done more and less instead; ": ..." or "".
 * free() it. */
char *here_effects_text(const struct here_effects *effects, size_t runs, const char *causes);

#endif

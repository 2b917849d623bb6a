/* What stands beside the metric of two versions: processor and wall-clock time of the same runs, and whether machines were busy with
 * something else while they ran. */
#ifndef GATE_DECIDE_TIMES_H
#define GATE_DECIDE_TIMES_H

#include "gate/decide/pairing.h"
#include "gate/decide/rules.h"

/* Constant, code, for people. */
#define TIME_ROWS(X)                                                                                                                       \
	X(TIME_PROCESSOR, "processor", "processor time")                                                                                   \
	X(TIME_WALL, "wall", "wall-clock time")                                                                                            \
	X(TIME_OWN, "own", "without waiting for a processor")

enum time { TIME_ROWS(ROWS_ENUM) TIMES };

/* How long the runs of a machine were kept waiting for a processor, in parts of their wall-clock time. */
struct times_machine {
	const char *machine; /* borrowed from the runs */
	size_t runs[2];	     /* of the baseline and the candidate, of which it is known */
	size_t disturbed[2]; /* of these, that waited longer than the quietest run there, by enough to matter */
	double waited[2];    /* mean */
};

struct times {
	struct effect of[TIMES];	/* as if each were the metric; 0 types where it is not known */
	struct times_machine *machines; /* [n_machines], of which it is known, by name */
	size_t n_machines;
	bool disturbed;	     /* more than a quarter of the baseline's runs were */
	bool metric_is_wall; /* then rules look at the times */
	double share;	     /* of the baseline's own wall-clock time that it had a processor, at most 1 */
};

/* All arguments must outlive *out; times_release() it. */
void times_of(const struct evidence *evidence, const struct lab_config *config, const struct run_set *baseline,
	      const struct run_set *candidate, const struct effect_asked *asked, struct times *out);
void times_release(struct times *times); /* accepts zeroed */

/* What rules look at beside the metric's decision. */
struct rule_input times_input(const struct times *times, enum decision performance, double min_effect);

/* The tables of times, `decided` with what each decides by itself, and of conditions. */
void times_answer(const struct times *times, bool decided, struct document *d);

#endif

/* Time per group of stressors: how much more or less of the time each group explains in the candidate than in the baseline. It uses the
 * machines that ran both versions (model/profile/shares.h) and the groups of a profile. */
#ifndef GATE_DECIDE_CONTRIBUTIONS_H
#define GATE_DECIDE_CONTRIBUTIONS_H

#include "fingerprint/battery/stressor.h"
#include "gate/decide/verdict.h"

#define CONTRIBUTIONS_SHOWN   5	 /* groups that users see */
#define CONTRIBUTIONS_LEADING .9 /* probability that the leading groups include the one that changed most */

/* One group of stressors. Its values are shares of the baseline's time (1 = all of it), mean over hardware types. */
struct contribution {
	char *name;
	const char **members; /* [n], names of stressors; borrowed from the evidence */
	size_t n;
	enum category category; /* main category of most members */
	double before, after;
	double change, low, high; /* after - before, and its 90 % interval */
	double first;		  /* probability that it changed most, not counting a change of all of the work */
};

struct contributions {
	const char *missing;	     /* why there are no groups (a sentence without full stop); else NULL */
	struct contribution *groups; /* [n_groups], the largest change first */
	size_t n_groups;
	struct contribution unexplained;     /* has no name and no members; `first` is the probability that no group changed */
	const struct contribution **leading; /* [n_leading] the fewest groups that include the one that changed most with probability
					      * CONTRIBUTIONS_LEADING, the most probable first. None if perhaps no group changed, or if
					      * `resource` is false */
	size_t n_leading;
	bool resource;			     /* the kind of change is SHAPE_BY_TYPE: the use of a resource changed */
	double total, total_low, total_high; /* mean ratio minus 1, and its 95 % interval over types */
	size_t types, machines;
};

/* Computes the contributions into *out, which the verdict must outlive; contributions_release() it. Takes as long as two profiles without
 * validation. threads 0: one per CPU; the result does not depend on their number. */
void contributions_of(const struct evidence *evidence, const struct verdict *verdict, size_t threads, struct contributions *out);
void contributions_release(struct contributions *contributions); /* accepts zeroed */

/* Adds a section, the object of the answer, and the table of the `shown` groups that changed most, or the reason why there are none. */
void contributions_answer(const struct contributions *contributions, size_t shown, struct document *d);

#endif

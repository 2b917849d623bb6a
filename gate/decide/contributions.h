/* Contributions: how much more or less of the time each group of stressors explains in the candidate than in the baseline. Data: the
 * machines that ran both versions (model/profile/shares.h), and the groups of a profile. */
#ifndef GATE_DECIDE_CONTRIBUTIONS_H
#define GATE_DECIDE_CONTRIBUTIONS_H

#include "fingerprint/battery/stressor.h"
#include "gate/decide/verdict.h"

#define CONTRIBUTIONS_SHOWN   5	 /* number of groups in the table for users */
#define CONTRIBUTIONS_LEADING .9 /* probability that the leading groups include the group that changed most */

/* One group of stressors. Its values are shares of the baseline's time (1 = all of it), means over hardware types. */
struct contribution {
	char *name;
	const char **members; /* [n] names of the group's stressors; borrowed from the evidence */
	size_t n;
	enum category category; /* the most frequent main category of the group's stressors */
	double before, after;
	double change, low, high; /* `after` minus `before`, and the 90 % interval of this difference */
	double first;		  /* probability that this group changed most, apart from a factor common to the whole work */
};

struct contributions {
	const char *missing;	     /* reason why there are no groups, a sentence without full stop; NULL: there are groups */
	struct contribution *groups; /* [n_groups] sorted by change, the largest first */
	size_t n_groups;
	struct contribution unexplained; /* time that no group explains: no name or members; `first`: probability that no group changed */
	/* [n_leading] the most probable groups, the most probable first: with probability CONTRIBUTIONS_LEADING they include the group that
	 * changed most. n_leading is 0 if perhaps no group changed, or if `resource` is false */
	const struct contribution **leading;
	size_t n_leading;
	bool resource;			     /* true if the kind of change is SHAPE_BY_TYPE: the use of a resource changed */
	double total, total_low, total_high; /* mean ratio minus 1, and the 95 % interval of this value over hardware types */
	size_t types, machines;
};

/* Computes the contributions into *out; contributions_release() it. The verdict must outlive *out. Takes as long as two profiles without
 * validation. threads 0: one per CPU; the result does not depend on the number of threads. */
void contributions_of(const struct evidence *evidence, const struct verdict *verdict, size_t threads, struct contributions *out);
void contributions_release(struct contributions *contributions); /* accepts zeroed */

/* Adds a section, the object `contributions`, and a table of the `shown` groups that changed most, or the reason for having none. */
void contributions_answer(const struct contributions *contributions, size_t shown, struct document *d);

#endif

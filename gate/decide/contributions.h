/* Contributions: the part of the time that each group of stressors explains, in the candidate compared with the baseline. The data are the
 * machines that ran both versions (model/profile/shares.h) and the stressor groups of a profile. */
#ifndef GATE_DECIDE_CONTRIBUTIONS_H
#define GATE_DECIDE_CONTRIBUTIONS_H

#include "fingerprint/battery/stressor.h"
#include "gate/decide/verdict.h"

#define CONTRIBUTIONS_SHOWN   5	 /* number of groups in the table for users */
#define CONTRIBUTIONS_LEADING .9 /* probability that the leading groups include the group with the largest change */

/* One group of stressors. All shares are means over hardware types, relative to the baseline's time (1 = all of it). */
struct contribution {
	char *name;
	const char **members; /* [n] names of the group's stressors; the evidence owns the strings */
	size_t n;
	enum category category; /* most frequent category among the group's stressors */
	double before, after;
	double change, low, high; /* `after` minus `before`, and its 90 % interval */
	double first;		  /* probability that this group changed most, apart from a factor that is common to the whole time */
};

struct contributions {
	const char *missing;	     /* reason why there are no groups, a sentence without full stop; NULL if there are groups */
	struct contribution *groups; /* [n_groups] sorted by the size of `change`, the largest first */
	size_t n_groups;
	struct contribution
	    unexplained; /* time that no group explains, without name and members; its `first` is the probability that no group changed */
	/* [n_leading] the groups with the highest probability of having changed most, the most probable first. Together they reach the
	 * probability CONTRIBUTIONS_LEADING. n_leading is 0 if possibly no group changed, or if `resource` is false. */
	const struct contribution **leading;
	size_t n_leading;
	bool resource;			     /* true if the kind of change is PATTERN_OTHER_RESOURCE: the use of a resource changed */
	double total, total_low, total_high; /* mean ratio minus 1, and its 95 % interval over hardware types */
	size_t types, machines;
};

/* Computes the contributions and sets *out; the caller calls contributions_release(). The verdict must outlive *out. Takes as long as two
 * profiles without validation. `threads` 0 means one thread per CPU; the result does not depend on the number of threads. */
void contributions_compute(const struct evidence *evidence, const struct verdict *verdict, size_t threads, struct contributions *out);
void contributions_release(struct contributions *contributions); /* accepts a zeroed struct */

/* Adds a section and the object `contributions`: a table of the `shown` groups that changed most, or the reason why there are none. */
void contributions_describe(const struct contributions *contributions, size_t shown, struct document *d);

#endif

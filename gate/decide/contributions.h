/* Where the time went: how much more or less of it each group of stressors explains in the candidate than in the baseline, on the machines
 * that ran both (model/profile/shares.h). The groups are those of a profile. */
#ifndef GATE_DECIDE_CONTRIBUTIONS_H
#define GATE_DECIDE_CONTRIBUTIONS_H

#include "base/buf.h"
#include "fingerprint/battery/stressor.h"
#include "gate/decide/verdict.h"
#include "model/profile/shares.h"

#define CONTRIBUTIONS_SHOWN   5	 /* groups, to people */
#define CONTRIBUTIONS_LEADING .9 /* probability that the group that changed most is among those named */

/* In parts of the baseline's time, mean over hardware types. */
struct contribution {
	char *name;
	const char **members; /* [n], names of stressors; borrowed from the evidence */
	size_t n;
	enum category category; /* the main one of most members */
	double before, after;
	double change, low, high; /* after - before, and its 90 % interval */
	double first;		  /* probability that it changed most, apart from a change of all of the work */
};

struct contributions {
	const char *missing;	     /* why there are none (a sentence without its end), else NULL */
	struct contribution *groups; /* [n_groups], the largest change first */
	size_t n_groups;
	struct contribution unexplained;     /* without name and members; first is the probability that no group changed */
	const struct contribution **leading; /* [n_leading] the fewest groups of which one changed most with CONTRIBUTIONS_LEADING, the most
					      * probable first; none where perhaps no group changed, or unless the kind of change says
					      * that the use of a resource did */
	size_t n_leading;
	bool resource;			     /* the kind of change says that the use of a resource did */
	double total, total_low, total_high; /* mean ratio less one, its 95 % interval over types */
	size_t types, machines;
};

/* The verdict must outlive *out; contributions_release() it. Cost: that of two profiles without validation. threads 0: as many as there
 * are CPUs; the result does not depend on them. */
void contributions_of(const struct evidence *evidence, const struct verdict *verdict, size_t threads, struct contributions *out);
void contributions_release(struct contributions *contributions); /* accepts zeroed */

/* A section, the object of the answer, and the table of the `shown` groups that changed most, or why there is nothing to show. */
void contributions_answer(const struct contributions *contributions, size_t shown, struct document *d);

#endif

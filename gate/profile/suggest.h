/* Which machine, on which a version has not run, would sharpen its profile most. */
#ifndef GATE_PROFILE_SUGGEST_H
#define GATE_PROFILE_SUGGEST_H

#include "base/buf.h"
#include "base/json.h"
#include "gate/profile/profile.h"

/* One hardware type that has not run it, by the machine of it that is first in name order. */
struct suggest_machine {
	const char *machine, *type; /* borrowed from the evidence; type NULL when not known */
	size_t machines;            /* of this type */
	double gain; /* by how much the shares' standard deviation would fall, 0 to 1; NaN when nothing was fitted */
	double leading;             /* the same of the leading group's share */
	double distance;            /* root mean square of the log features from the nearest type that ran it; NaN without any */
};

/* A machine like the mean of those that ran it, but half as fast in one group. */
struct suggest_kind {
	const struct profile_group *group; /* borrowed from the profile */
	double gain;
};

struct suggest {
	const struct profile *profile;   /* borrowed */
	struct suggest_machine *machines; /* [n], most useful first */
	size_t n, capacity;
	struct suggest_kind *kinds;      /* [n_kinds], most useful first; none when nothing was fitted */
	size_t n_kinds;
};

/* Machines in use (not retired) whose latest fingerprint is of the kind that the results have. All arguments must outlive *out;
 * suggest_release() it. */
void suggest_of(const struct evidence *evidence, const struct run_set *runs, const struct dataset *dataset,
                const struct profile *profile, struct suggest *out);
void suggest_release(struct suggest *suggest); /* accepts zeroed */

void suggest_print(const struct suggest *suggest, const struct run_set *runs, size_t shown, struct buf *out);
cJSON *suggest_json(const struct suggest *suggest, const struct run_set *runs);

#endif

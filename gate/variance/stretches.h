/* Stretches of time in which one process was slow in one activity; those of several processes are joined into regions later. */
#ifndef GATE_VARIANCE_STRETCHES_H
#define GATE_VARIANCE_STRETCHES_H

#include "gate/variance/variance.h"

struct stretch {
	enum activity activity;
	struct region_member member;
	bool waits;	       /* of messages: its loss is a consequence of what others did */
	bool spins;	       /* of messages: it may have waited for them by polling or yielding */
	size_t waited_for;     /* process; VARIANCE_NONE: it did not wait, or that is not known */
	enum loss_cause cause; /* of most of its loss */
	double own_s;	       /* the part of its loss that was not waiting for others */
};

struct stretches {
	struct stretch *items; /* [n]; free() it */
	size_t n, capacity;
	struct stretch chance; /* the costliest that chance may have made; member.fragments is 0: there is none */
};

/* The stretches of all maps. O(fragments * stretches considered). */
void stretches_find(const struct variance *v, struct stretches *out);
void stretch_add(struct stretches *stretches, const struct stretch *stretch);
/* Whether its loss is large enough to be reported. */
bool stretch_matters(const struct variance *v, const struct region_member *member);
/* Fills the member's sums: what its process lost from from_s to to_s. */
void stretch_measure(const struct variance *v, enum activity activity, struct region_member *member);
/* The part of a fragment's recorded time that lies in [from_s, to_s). */
double stretch_part(const struct fragment *f, double from_s, double to_s);
/* Seconds that two intervals have in common. */
double stretch_overlap(double a_from, double a_to, double b_from, double b_to);

/* Stops of processes, seen from outside, that no map shows. Waits are not judged, because they last as long as what is waited for; but
 * while a process is stopped no wait of it can end: a server that was stopped while it waited for the next request has lost that time. */

/* Adds the stops that no stretch of their process covers. O(fragments log stops). */
void stopped_find(const struct variance *v, struct stretches *all);

#endif

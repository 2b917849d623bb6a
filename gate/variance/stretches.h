/* Stretches of time in which one process was slow in one activity, before those of several processes are joined to regions. */
#ifndef GATE_VARIANCE_STRETCHES_H
#define GATE_VARIANCE_STRETCHES_H

#include "gate/variance/variance.h"

struct stretch {
	enum activity activity;
	struct region_member member;
	bool waits;	       /* messages, whose loss is a consequence of what others did */
	bool spins;	       /* messages, for which it may have waited by using a processor, or asking for one, again and again */
	size_t waited_for;     /* process; VARIANCE_NONE: it did not wait, or that is not known */
	enum loss_cause cause; /* of most of its loss */
	double own_s;	       /* of its loss, what it did not wait for others */
};

struct stretches {
	struct stretch *items; /* [n]; free() it */
	size_t n, capacity;
	struct stretch chance; /* of what chance may have made, what cost most; member.fragments is 0: there is none */
};

/* Of all maps. O(fragments * what is looked at). */
void stretches_find(const struct variance *v, struct stretches *out);
void stretch_add(struct stretches *stretches, const struct stretch *stretch);
/* What it costs is enough to be told. */
bool stretch_matters(const struct variance *v, const struct region_member *member);
/* What the member's process lost from from_s to to_s: fills the sums. */
void stretch_measure(const struct variance *v, enum activity activity, struct region_member *member);
/* How much of a fragment's recorded time lies in [from_s, to_s). */
double stretch_part(const struct fragment *f, double from_s, double to_s);
/* Seconds that two of them have in common. */
double stretch_overlap(double a_from, double a_to, double b_from, double b_to);

#endif

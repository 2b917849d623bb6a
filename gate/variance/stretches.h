/* Stretches of time in which one process was slow in one activity; those of several processes are joined into regions later. */
#ifndef GATE_VARIANCE_STRETCHES_H
#define GATE_VARIANCE_STRETCHES_H

#include "gate/variance/variance.h"

#define STRETCH_THROUGHOUT .9 /* of a process's repeated work, or of its time: it is slow as long as it ran */

struct stretch {
	enum activity activity;
	struct region_member member;
	size_t first, end;     /* its columns [first, end) */
	bool rest;	       /* it stands out from nothing: all of its process's time was so */
	bool condition;	       /* the kernel's counters alone tell of it, and of its cause (conditions.h) */
	bool waits;	       /* of messages: its loss is a consequence of what others did */
	bool spins;	       /* of messages: it may have waited for them by polling or yielding */
	size_t waited_for;     /* process; VARIANCE_NONE: it did not wait, or that is not known */
	enum loss_cause cause; /* of most of its loss */
	double own_s;	       /* the part of its loss that was not waiting for others */
};

struct stretches {
	struct stretch *items; /* [n]; free() it */
	size_t n, capacity;
};

/* Adds the stretches of all maps. O(fragments * stretches considered). */
void stretches_find(const struct variance *v, struct stretches *out);
/* Those of one row of times, [columns] seconds and as many as are usual, that stand out from the rest of it. joined[c]: the column is one
 * piece with the one before it. free() their items. */
void stretches_of_row(const struct variance *v, size_t process, const double *time, const double *expected, const bool *joined,
		      struct stretches *out);
void stretch_add(struct stretches *stretches, const struct stretch *stretch);
/* Fills the member's sums: what its process lost from from_s to to_s, without what conditions took. */
void stretch_measure(const struct variance *v, enum activity activity, struct region_member *member);
/* The part of a fragment's recorded time that lies in [from_s, to_s). */
double stretch_part(const struct fragment *f, double from_s, double to_s);
/* Seconds that two intervals have in common. */
double stretch_overlap(double a_from, double a_to, double b_from, double b_to);

#endif

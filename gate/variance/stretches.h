/* Finds stretches of time in which one process was slow in one activity; variance.c joins those of several processes. */
#ifndef GATE_VARIANCE_STRETCHES_H
#define GATE_VARIANCE_STRETCHES_H

#include "gate/variance/variance.h"

#define STRETCH_THROUGHOUT .9 /* part of a process's repeated work, or time: from this on, it is slow as long as it ran */

struct stretch {
	enum activity activity;
	struct region_member member;
	size_t first, end;     /* columns [first, end) */
	bool rest;	       /* it stands out from nothing: all of its process's time was like this */
	bool condition;	       /* a condition, known from the kernel's counters only, with its cause (conditions.h) */
	bool waits;	       /* messages: its loss is a consequence of what other processes did */
	bool spins;	       /* messages: it may have waited by polling or yielding */
	size_t waited_for;     /* process waited for; VARIANCE_NONE: none, or not known */
	enum loss_cause cause; /* cause of most of its loss */
	double own_s;	       /* part of its loss that was not waiting for others, s */
};

struct stretches {
	struct stretch *items; /* [n]; free() it */
	size_t n, capacity;
};

/* Adds the stretches of all maps. O(fragments * stretches considered). */
void stretches_find(const struct variance *v, struct stretches *out);
/* Adds the stretches of one row of times that stand out from the rest of it. time, expected: [columns] seconds, and the usual seconds.
 * joined[c]: the column is one piece with the one before it. free() out->items. */
void stretches_of_row(const struct variance *v, size_t process, const double *time, const double *expected, const bool *joined,
		      struct stretches *out);
void stretch_add(struct stretches *stretches, const struct stretch *stretch);
/* Fills the member's sums: the loss of its process from from_s to to_s, excluding conditions. */
void stretch_measure(const struct variance *v, enum activity activity, struct region_member *member);
/* Returns the part of a fragment's recorded time that lies in [from_s, to_s). */
double stretch_part(const struct fragment *f, double from_s, double to_s);
/* Returns the seconds that two intervals have in common. */
double stretch_overlap(double a_from, double a_to, double b_from, double b_to);

#endif

/* Finds stretches: intervals in which one process was slow in one activity. variance.c joins several processes' stretches to regions. */
#ifndef GATE_VARIANCE_STRETCHES_H
#define GATE_VARIANCE_STRETCHES_H

#include "gate/variance/variance.h"

#define STRETCH_THROUGHOUT .9 /* least share of a process's repeated work, or time, in a stretch that counts as throughout */

struct stretch {
	enum activity activity;
	struct region_member member;
	size_t first, end;     /* columns [first, end) of the maps */
	bool rest;	       /* condition that does not stand out: all of the process's time was like this condition */
	bool condition;	       /* condition, known only from the kernel's counters, with its cause (conditions.h) */
	bool waits;	       /* communication: the loss is a consequence of other processes */
	bool spins;	       /* communication: may have waited by polling or yielding */
	size_t waited_for;     /* index of the process that this process waited for; VARIANCE_NONE: none, or unknown */
	enum loss_cause cause; /* cause of most of the loss */
	double own_s;	       /* part of the loss that is not waiting for other processes, s */
};

struct stretches {
	struct stretch *items; /* [n]; freed by the caller */
	size_t n, capacity;
};

/* Adds the stretches of all maps. O(fragments * candidate stretches). */
void stretches_find(const struct variance *v, struct stretches *out);
/* Adds the stretches in which a row of times stands out. time, expected: [columns] seconds and usual seconds. joined[c]: columns c - 1 and
 * c are one piece. The caller frees out->items. */
void stretches_of_row(const struct variance *v, size_t process, const double *time, const double *expected, const bool *joined,
		      struct stretches *out);
void stretch_add(struct stretches *stretches, const struct stretch *stretch);
/* Fills the sums of `member`: the loss of the member's process in [from_s, to_s), without conditions. */
void stretch_measure(const struct variance *v, enum activity activity, struct region_member *member);
/* Returns the share of a fragment's time that lies in [from_s, to_s). */
double stretch_part(const struct fragment *f, double from_s, double to_s);
/* Returns the seconds that two intervals have in common. */
double stretch_overlap(double a_from, double a_to, double b_from, double b_to);

#endif

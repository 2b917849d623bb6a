/* Finds stretches: intervals in which one process was slow in one activity. variance.c joins stretches of several processes to regions. */
#ifndef GATE_VARIANCE_STRETCHES_H
#define GATE_VARIANCE_STRETCHES_H

#include "gate/variance/variance.h"

#define STRETCH_THROUGHOUT .9 /* minimum fraction of a process's repeated work, or time, in a stretch that lasts as long as the process */

struct stretch {
	enum activity activity;
	struct region_member member;
	size_t first, end;     /* columns [first, end) of the maps */
	bool is_remainder;     /* a condition that does not stand out: the process was in this condition all the time */
	bool condition;	       /* a condition: the kernel's counters show it, with its cause (conditions.h) */
	bool waits;	       /* communication: the loss is a consequence of other processes */
	bool may_be_polling;   /* communication: the process may have waited by polling or yielding */
	size_t waited_for;     /* index of the process that this process waited for; VARIANCE_NONE if there is none or it is unknown */
	enum loss_cause cause; /* cause of most of the loss */
	double own_s;	       /* loss without waiting for other processes, s */
};

struct stretches {
	struct stretch *items; /* [n]; the caller frees it */
	size_t n, capacity;
};

/* Adds the stretches of all maps. Costs O(fragments * candidate stretches). */
void stretches_find(const struct variance *v, struct stretches *out);
/* Adds the stretches in which a process stands out. time[columns] and expected[columns] are its actual and usual seconds. joined[c] is true
 * if columns c - 1 and c are one piece. The caller frees out->items. */
void stretches_find_in_row(const struct variance *v, size_t process, const double *time, const double *expected, const bool *joined,
			   struct stretches *out);
void stretch_add(struct stretches *stretches, const struct stretch *stretch);
/* Fills the sums of `member`: the loss of its process in [from_s, to_s), without conditions. */
void stretch_measure(const struct variance *v, enum activity activity, struct region_member *member);
/* Returns the fraction of a fragment's time that is in [from_s, to_s). */
double stretch_overlap_share(const struct fragment *f, double from_s, double to_s);
/* Returns the overlap of two intervals, s. */
double stretch_overlap(double a_from, double a_to, double b_from, double b_to);

#endif

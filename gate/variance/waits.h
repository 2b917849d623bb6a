/* Finds the process for which another one waited in communication. */
#ifndef GATE_VARIANCE_WAITS_H
#define GATE_VARIANCE_WAITS_H

#include "gate/variance/variance.h"

/* Cache of earlier results: the rank of a communicator that came last in an interval, since many calls ask about the same time. */
struct waits {
	struct waits_last {
		uint32_t comm;
		double from_s, to_s;
		uint32_t run;
		size_t process;
	} * items; /* [n] */
	size_t n, capacity;
	struct waits_calls {
		struct waits_call {
			double begin;
			int32_t peer;
			size_t partner; /* process at the other end of its pipe or connection, or END_... */
		} * items;		/* [n] in order: calls that communicate */
		size_t n;
		double weight; /* number of calls that they represent */
	} * calls;	       /* [processes]; NULL: not filled yet */
};

void waits_release(struct waits *waits, const struct variance *v); /* initialize `waits` with zeros */

/* Returns the process for which another one's calls in [from_s, to_s) waited most, by their partners; SIZE_MAX: unknown, or none for half
 * of the time. *nobody: for most of that time, it was no recorded process. O(fragments) at the first question about a process. */
size_t waited_for(const struct variance *v, struct waits *known, size_t process, double from_s, double to_s, bool *nobody);

/* Returns the part of a loss in communication that was not waiting for others of the run. For MPI calls, it is the time after the partner,
 * or the last rank, arrived (a late sender is never the receiver's loss: Wolf and others). For a pipe or a connection, it is the time after
 * its other end ended the wait. If that is not known, it is everything. named: only calls that say for whom they wait. O(fragments). */
double waits_own_loss(const struct variance *v, struct waits *known, const struct region_member *m, bool named);

#endif

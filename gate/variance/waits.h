/* Which process another one waited for in communication. */
#ifndef GATE_VARIANCE_WAITS_H
#define GATE_VARIANCE_WAITS_H

#include "gate/variance/variance.h"

/* What was looked up before: which rank of a communicator came last in some interval, because many ask at about the same time. */
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
			size_t partner; /* at the other end of its pipe or connection: process, or END_ */
		} * items;		/* [n] in order: its calls that communicate */
		size_t n;
		double weight; /* calls that they represent */
	} * calls;	       /* [processes]; NULL: not looked at yet */
};

void waits_release(struct waits *waits, const struct variance *v); /* begin with zeroes */

/* The process that another one's calls in [from_s, to_s) waited for most, by what they say of their partners; SIZE_MAX: unknown, or none
 * for half of the time. *nobody: for most of that time it was no recorded process. O(fragments) when first asked about a process. */
size_t waited_for(const struct variance *v, struct waits *known, size_t process, double from_s, double to_s, bool *nobody);

/* The part of a loss in communication that was not waiting for others of the run: of MPI calls, the time after the partner, or the last
 * rank, arrived (a late sender is never the receiver's loss: Wolf and others); of a pipe or a connection, the time after its other end did.
 * Everything, if that is not known. named: only of calls that say for whom
 * they wait. O(fragments). */
double waits_own_loss(const struct variance *v, struct waits *known, const struct region_member *m, bool named);

#endif

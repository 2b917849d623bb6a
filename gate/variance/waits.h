/* Finds the process that another process waited for in communication. */
#ifndef GATE_VARIANCE_WAITS_H
#define GATE_VARIANCE_WAITS_H

#include "gate/variance/variance.h"

/* Cache of earlier results, initially zeroed. Many calls ask for the last rank of a communicator in the same interval. */
struct waits {
	struct waits_last {
		uint32_t comm;
		double from_s, to_s;
		uint32_t run;
		size_t process;
	} * items; /* [n], earlier results */
	size_t n, capacity;
	struct waits_calls {
		struct waits_call {
			double begin;
			int32_t peer;
			size_t partner; /* index of the process at the other end of a pipe or connection, END_NOT_RECORDED or END_UNKNOWN */
		} * items;		/* [n], communicating calls, sorted by time */
		size_t n;
		double weight; /* number of calls that the recorded ones represent */
	} * calls;	       /* [processes]; NULL until needed */
};

void waits_release(struct waits *waits, const struct variance *v); /* Accepts a zeroed `waits`. */

/* Returns the process that `process` waited for most in [from_s, to_s), by the partners of its calls. Returns SIZE_MAX if unknown, or if no
 * process has half of the time. Sets *nobody if the partner was not recorded for most of the time. Costs O(fragments) at the first call. */
size_t waited_for(const struct variance *v, struct waits *known, size_t process, double from_s, double to_s, bool *nobody);

/* Returns the part of a loss in communication that was not spent waiting for other processes of the run, s. For MPI calls, this is the time
 * after the partner or the last rank arrived: a late sender is not the receiver's loss (Wolf and others). For pipes and connections, it is
 * the time after the other end ended the wait. If neither is known, it is the whole loss. If `named`, only calls with a known partner
 * count. Costs O(fragments). */
double waits_own_loss(const struct variance *v, struct waits *known, const struct region_member *m, bool named);

#endif

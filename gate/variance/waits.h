/* Whom a process waited for. */
#ifndef GATE_VARIANCE_WAITS_H
#define GATE_VARIANCE_WAITS_H

#include "gate/variance/variance.h"

/* Which rank came last, of a communicator in some time: many wait for the same one at about the same time, and looking takes long. */
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
		double weight; /* calls that they stand for */
	} * calls;	       /* [processes]; NULL: not looked at yet */
};

void waits_release(struct waits *waits, const struct variance *v); /* begin with zeroes */

/* The process for which another one's calls in [from_s, to_s) waited most; SIZE_MAX: that is not known, or none had half of the time. Where
 * calls do not say with whom they are (sockets of one host, pipes of several processes), it is who began a call just before one that took
 * longer than usual ended: whoever was in one call all the time did not end it. *nobody: it was none of the recorded processes for most of
 * that time. O(fragments), for what was not asked for before. */
size_t waited_for(const struct variance *v, struct waits *known, size_t process, double from_s, double to_s, bool *nobody);

/* Of what a process lost in communication, what it did not wait for others of its run: of calls of MPI, the time from when the partner, or
 * the last one of all, came to it (a sender that is late is the receiver's loss in no case: Wolf and others' "late sender"); of others, all
 * of those that none of the recorded processes ended. Where that is not known, all. O(fragments). */
double waits_own_loss(const struct variance *v, struct waits *known, const struct region_member *m);

#endif

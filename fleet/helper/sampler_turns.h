/* Windows of turns.h: all processors tell of their changes in the rings of the sampler. */
#ifndef FLEET_HELPER_SAMPLER_TURNS_H
#define FLEET_HELPER_SAMPLER_TURNS_H

#include "fleet/helper/turns.h"

#define TURNS_BORN 64 /* that may wait for a first processor at once */

struct sampler_turns {
	struct turns turns;
	struct sampler_turns_ring {
		int processor, ring_fd;
		int fd;		      /* below 0: it does not tell now */
		int64_t wanted, told; /* changes in this window */
		uint32_t left;	      /* the thread of the last change, */
		enum turns_who left_who;
		uint64_t left_ns;
		uint64_t came_ns;
		bool left_known; /* of which it is not told yet: nobody has come since */
	} rings[TURNS_PROCESSORS];
	struct {
		uint32_t thread;
		uint64_t time_ns;
	} born[TURNS_BORN]; /* the last n_born of them */
	size_t n_born;
	size_t n;
	bool known; /* of all processors */
	bool open;  /* a window, since begun_ns; else the next one begins at next_ns */
	uint64_t begun_ns, next_ns, after_ns;
};

/* Zeroed before. The next ring, of this processor, into which the event ring_fd writes at each period_ns. */
void sampler_turns_add(struct sampler_turns *turns, int processor, int ring_fd, uint64_t period_ns);
void sampler_turns_close(struct sampler_turns *turns);

void sampler_turns_begin(struct sampler_turns *turns);

/* A record of the ring: until then this thread of `who` was at work there, and with `change` left. */
void sampler_turns_take(struct sampler_turns *turns, size_t ring, uint64_t time_ns, uint32_t thread, enum turns_who who, bool change);

/* This thread has told of its leaving until then: a change is told before it happens, and to tell it takes some 1.5 us, which are no
 * waiting. */
void sampler_turns_left(struct sampler_turns *turns, size_t ring, uint64_t time_ns, uint32_t thread);

/* A thread was made then. While an idle processor wakes up for it, the kernel's accounts charge it (Linux 6.18), beside who has made it. */
void sampler_turns_born(struct sampler_turns *turns, uint64_t time_ns, uint32_t thread);

/* Then thread `comes` came there after this one of `who`, of whose leaving nothing may have been told. */
void sampler_turns_came(struct sampler_turns *turns, size_t ring, uint64_t time_ns, uint32_t thread, enum turns_who who, uint32_t comes);

/* All up to end_ns was taken, with so many records lost since the beginning. Ends a window that was long enough; with `last` any. */
void sampler_turns_drain(struct sampler_turns *turns, uint64_t end_ns, uint64_t lost, bool last);

#endif

/* Of a command with several threads and processes: for how long none of them had a processor. The accounts do not say it: the time of two
 * that are at work at once is in them twice. The kernel tells of each change of a processor, for a while now and then, for it costs; so
 * long is a window. Without knowledge of where that comes from. */
#ifndef FLEET_HELPER_TURNS_H
#define FLEET_HELPER_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TURNS_CHANGES	 4096 /* of each processor in a window, at most: what follows is not told */
#define TURNS_PROCESSORS 256  /* more are not looked at, for each takes a file */

enum turns_who { TURNS_IDLE, TURNS_OTHER, TURNS_SELF, TURNS_OURS }; /* SELF: who looks, which is why a window begins when it leaves */

struct turns_event {
	uint64_t time_ns;
	uint32_t processor;
	uint8_t who;
	bool change, last;
};

/* Zeroed is empty. */
struct turns {
	struct turns_event *items; /* [n] of the window, in the order of time */
	size_t n, capacity;
	size_t processors;
	uint64_t span_ns;	       /* a window takes at most so long */
	uint64_t begun_ns, covered_ns; /* this window, to be told of; up to when windows stand for the time */
	/* Of all windows, each for the time since the end of what the one before has told: */
	double seen_ns, idle_ns; /* of the time; none was at work */
	double beside_ns;	 /* of all that were at work but one */
	double shut_out_ns;	 /* none was at work, and no processor was idle */
};

/* The first window, or after turns_end() the next one: from now on all is told of so many processors. */
void turns_begin(struct turns *turns, size_t processors, uint64_t now_ns);

/* Until time_ns `who` had this processor; with `change` it left then, else it stayed. `last`: of this processor nothing more is told until
 * the window ends. */
void turns_add(struct turns *turns, uint32_t processor, uint64_t time_ns, enum turns_who who, bool change, bool last);

/* The window ends: all up to then was told. Who is at work on a processor is told at least after_ns later, once more; 0: the command has
 * ended, and nobody of it is any more. */
void turns_end(struct turns *turns, uint64_t end_ns, uint64_t after_ns);

void turns_release(struct turns *turns);

/* Of the whole run, which took so long, and by the accounts so much of processors' time. Some kernels (Linux 6.18) charge who is woken
 * while an idle processor wakes up for it: what is charged is no waiting. What was seen in a part of the time differs by what was not: so
 * where they were at work beside each other, or shut out, for less than they waited, waiting is what the accounts leave. */
struct turns_told {
	int64_t idle_ns; /* -1: not known */
	int64_t shut_out_ns;
};
struct turns_told turns_of(const struct turns *turns, int64_t wall_ns, int64_t cpu_ns);

#endif

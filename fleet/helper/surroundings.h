/* What is slower around a command: the processors and the node of memory that it gets, the network that it sees, pages that the kernel
 * forgets were used, neighbours that keep processors busy, and the machine (machine.h). Control groups are the helper's (descendants.h).
 * Plain C with the C library only. */
#ifndef FLEET_HELPER_SURROUNDINGS_H
#define FLEET_HELPER_SURROUNDINGS_H

#include "fleet/helper/machine.h"

#include <pthread.h>
#include <sched.h>
#include <sys/types.h>

struct surroundings {
	cpu_set_t own, busy; /* where it runs; what threads of ours keep at work meanwhile */
	int node;	     /* of its memory; -1: as it is */
	unsigned forgets_per_s, network_ns_per_byte;
	bool network; /* its own */
	struct machine machine;

	pthread_t *threads; /* [n_threads] */
	size_t n_threads;
	pid_t command;
	bool end;
};

/* For shaped[n]. False with the reason: it cannot be; then nothing was changed. surroundings_end() it, in whatever process. */
bool surroundings_take(const char *root, const struct shaped *shaped, size_t n, struct surroundings *out, char why[SHAPE_WHY_BYTES]);
void surroundings_end(struct surroundings *s);

/* Brings this process into all of shaped[n], before it becomes the command; filters and libraries, too: 0 or an error number, and what that
 * means, and where it can be changed how. */
int surroundings_enter(const struct surroundings *s, const struct shaped *shaped, size_t n);
void surroundings_explain(const struct shaped *shaped, size_t n, int errnum, char why[SHAPE_WHY_BYTES]);

/* Threads of this process that disturb it, from now until surroundings_quiet(), which comes before surroundings_end(). An error number
 * where they cannot be started. */
int surroundings_disturb(struct surroundings *s, pid_t command);
void surroundings_quiet(struct surroundings *s);

/* This process and what it starts get a network of their own: a loopback interface that passes no more than that, if it is not 0. */
int network_own(unsigned ns_per_byte);

/* What goes out by this interface passes no more than that; 0: as fast as it can, again. Where somebody has given it a queueing discipline,
 * nothing is changed: EEXIST. 0 or an error number. */
int network_slow(const char *interface, unsigned ns_per_byte);

/* "exercise SHAPE TIMES" of the helper: does so many times what the shape makes dearer, in a place where nothing else does. An exit status.
 */
int shape_exercise(const char *name, const char *times);

#endif

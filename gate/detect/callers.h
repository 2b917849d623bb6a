/* Counts the work of functions that only one of two versions has as work of their callers. Such functions have no counterpart to compare
 * with; but if a version divided, joined or renamed functions, their callers do the same work. The counts of such a function are passed to
 * its callers, each counter in proportion to the counts of sampled calls from each caller (as gprof shares time by calls: Graham, Kessler
 * and McKusick, SIGPLAN 1982), up to functions that both versions have. Counts of a thread's first function go to main(). The call itself
 * may take two blocks and three accesses on each side. A caller's additional counts up to that limit are neither worse nor improved; they
 * enter only the balance of saved and added cost, as the time of calls and returns does. Functions of the C++ library with which threads
 * started are passed on too; the emulation counts other library functions as work of their callers. */
#ifndef GATE_DETECT_CALLERS_H
#define GATE_DETECT_CALLERS_H

#include "gate/detect/side.h"

/* The work that a function of only one version did for a function that both have. */
struct callers_part {
	char *function, *part; /* symbols: `function` is in both versions, `part` in one */
	double cost_ns; /* estimated cost in all runs of the new version, ns (counters.h); below 0: of the old version, for as many runs */
};

struct callers {
	bool there; /* counts were passed to callers; false: callers or totals are unknown, or both versions have the same functions */
	struct side sides[2];	    /* old, new: the given sides, with their own functions and totals; other members are borrowed */
	struct stems moved[2];	    /* functions whose counts were passed to their callers, per side */
	struct callers_part *parts; /* [n_parts] by function, then by cost, largest first */
	size_t n_parts, parts_capacity;
	struct stems names; /* functions of the old version */
	double *calling_ns; /* [names.n] estimated change of the cost of calling, ns per call, which is not counted; below 0: less */
};

/* Passes counts to callers. *out is overwritten; callers_release() it before the sides. O(samples log samples). */
void callers_find(const struct side *old, const struct side *new, struct callers *out);
void callers_release(struct callers *callers); /* accepts zeroed */

/* Returns the most expensive part of the new version in a function; NULL: there is none. *gained: its cost minus that of old parts, ns. */
const struct callers_part *callers_part_of(const struct callers *callers, const char *function, double *gained);

/* Returns the estimated change of the cost of calling functions that only one version has, ns per call of `function`; 0: not known. */
double callers_calling_ns(const struct callers *callers, const char *function);

#endif

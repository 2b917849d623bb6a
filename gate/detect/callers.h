/* Adds the work of functions that only one of two versions has to the work of their callers. Such functions have no counterpart to compare
 * with. But if a new version splits, joins or renames functions, their callers still do the same work in total.
 *
 * The counts of such a function go to its callers, up to functions that both versions have. Each counter is divided in proportion to the
 * counts of the sampled calls from each caller, as gprof divides time by calls (Graham, Kessler and McKusick, SIGPLAN 1982). Counts of a
 * thread's first function go to main(). Functions of the C++ library that a thread starts with are treated in the same way; the emulation
 * counts all other library functions as work of their callers.
 *
 * A call itself costs up to two blocks and three accesses on each side. Additional counts of a caller up to this limit do not make the
 * caller worse or improved. They count only in the balance of saved and added cost, like the time of calls and returns. */
#ifndef GATE_DETECT_CALLERS_H
#define GATE_DETECT_CALLERS_H

#include "gate/detect/side.h"

/* Work that a function of only one version did for a function that both versions have. */
struct callers_part {
	char *function, *part; /* symbols: both versions have `function`, only one version has `part` */
	double cost_ns; /* estimated cost in all runs of the new version, ns (counters.h); negative if only the old version has `part` */
};

struct callers {
	bool is_known; /* counts were added to callers; false if callers or totals are unknown, or if both versions have the same functions
			*/
	struct side sides[2];	    /* old and new side, with their own copies of functions and totals; other members are borrowed */
	struct stems moved[2];	    /* functions whose counts were added to their callers, per side */
	struct callers_part *parts; /* [n_parts], sorted by function, then by cost, largest first */
	size_t n_parts, parts_capacity;
	struct stems names;   /* functions of the old version */
	double *call_cost_ns; /* [names.n], estimated change of the uncounted cost of calling, ns per call; negative if it fell */
};

/* Adds counts to callers. Overwrites *out; the caller calls callers_release() before releasing the sides. Costs O(samples log samples). */
void callers_find(const struct side *old, const struct side *new, struct callers *out);
void callers_release(struct callers *callers); /* Accepts a zeroed struct. */

/* Returns the most expensive part of `function` that only the new version has; NULL if there is none. Sets *gained to its cost minus the
 * cost of the parts that only the old version has, ns. */
const struct callers_part *callers_find_part(const struct callers *callers, const char *function, double *gained);

/* Returns the estimated change of the cost of calling functions that only one version has, ns per call of `function`; 0 if unknown. */
double callers_call_cost_change_ns(const struct callers *callers, const char *function);

#endif

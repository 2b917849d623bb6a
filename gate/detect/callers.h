/* What functions do that only one of two versions has. They have nothing to be compared with; but somebody called them, and where a version
 * has divided, joined or renamed functions, it is their callers that do what they did. So what such a function did is counted as that of
 * the functions that called it, each counter in proportion to what sampled calls from each of them counted (as gprof shares out time by
 * calls: Graham, Kessler and McKusick, SIGPLAN 1982), up to functions that both versions have; what a thread started with, as that of
 * main(). Calling them may have taken two blocks and three accesses each: so much of what a caller does more than in the other version is
 * not counted, nor, of what the old version did more, as improved; but it is saved, where all that became worse is weighed against that,
 * and so is what calls and returns take themselves. The same with functions of the C++ library with which threads started; what the others
 * did the emulation has counted as their callers'. */
#ifndef GATE_DETECT_CALLERS_H
#define GATE_DETECT_CALLERS_H

#include "gate/detect/side.h"

/* Of a function that both versions have: what one that only one version has did for it. */
struct callers_part {
	char *function, *part; /* symbols */
	double cost_ns;	       /* in all runs of the new version, about (counters.h); below 0: the old version has it, in as many runs */
};

struct callers {
	bool there; /* false: callers or totals are not known, or both versions have the same functions: nothing is counted otherwise */
	struct side sides[2];	    /* old, new: as they were, but for functions and totals; they borrow the rest */
	struct stems moved[2];	    /* that count as their callers' */
	struct callers_part *parts; /* [n_parts] by function, then cost, largest first */
	size_t n_parts, parts_capacity;
	struct stems names; /* of the old version's functions */
	double *calling_ns; /* [names.n] what calling takes more a call than it did, about, and is not counted; below 0: less */
};

/* *out is overwritten; callers_release() it, before the sides. O(samples log samples). */
void callers_find(const struct side *old, const struct side *new, struct callers *out);
void callers_release(struct callers *callers); /* accepts zeroed */

/* The part of the new version that costs most in a function; NULL: there is none. *gained: less what parts of the old version cost. */
const struct callers_part *callers_part_of(const struct callers *callers, const char *function, double *gained);

/* What calls of others that only one version has take more in each call of the function, about; 0 where nothing is known of that. */
double callers_calling_ns(const struct callers *callers, const char *function);

#endif

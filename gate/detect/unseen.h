/* What the emulation does not count: time in libraries that were not built for it, by the clock that runs beside it, and in the C library,
 * whose calls count at a fixed price. It says nothing of a function, but how much there is, and whether it grew. */
#ifndef GATE_DETECT_UNSEEN_H
#define GATE_DETECT_UNSEEN_H

#include "gate/detect/side.h"

#define UNSEEN_GREW  1.2  /* times, at the least, what it was: natively, beside whatever else the machine does */
#define UNSEEN_OF    .05  /* of all time: what comes on top */
#define UNSEEN_LEVEL .005 /* how likely it is by chance, at the most */

struct unseen {
	char *text; /* how much time it is in the version that has more, and what to do; NULL: little, or not known */
	/* The library in which the new version takes longer; NULL: none. */
	char *library, *function; /* function: from where most of it is called; NULL: from none that is known */
	double times;		  /* as long */
};

/* Nothing is found where nothing is known: other back ends, no clock. *out is overwritten; unseen_release() it.
 * O(lines of the clock x libraries). */
void unseen_find(const struct side *old, const struct side *new, struct unseen *out);
void unseen_release(struct unseen *unseen); /* accepts zeroed */

#endif

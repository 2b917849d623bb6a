/* Division of a stressor's time: the part that is computing, of which kind, and the kernel's work in the rest. It comes from the samples of
 * the stressor's run if a fingerprint has them; else from a table, measured once. */
#ifndef FINGERPRINT_BATTERY_MADE_OF_H
#define FINGERPRINT_BATTERY_MADE_OF_H

#include <stddef.h>

#define MADE_OF_CLASSES_MAX 16
#define MADE_OF_UNKNOWN	    "other"

/* Zeroed: unknown. */
struct made_of {
	const char *kind; /* kind of computing, by stress-ng's manual; "other computing"; NULL: unknown */
	double computing; /* part of its time, 0 to 1 */
	struct {
		const char *class;     /* class of the kernel's work, as for an application (gate/profile/sampled.c) */
		double part;	       /* part of the stressor's time */
	} kernel[MADE_OF_CLASSES_MAX]; /* [n]; the rest is the kernel's "other work" */
	size_t n;
};

/* Returns the table's division. */
struct made_of made_of_stressor(const char *name);
/* Returns the kind of computing only; never NULL. */
const char *made_of_kind(const char *name);

#endif

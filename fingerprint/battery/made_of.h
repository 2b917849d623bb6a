/* Where the time of a stressor goes: how much of it is computing, of which kind, and what the kernel does in the rest. By the samples of
 * its run where a fingerprint has them; else by a table, measured once. */
#ifndef FINGERPRINT_BATTERY_MADE_OF_H
#define FINGERPRINT_BATTERY_MADE_OF_H

#include <stddef.h>

#define MADE_OF_CLASSES_MAX 16
#define MADE_OF_UNKNOWN	    "other"

/* Zeroed: nothing is known. */
struct made_of {
	const char *kind; /* of computing, by what stress-ng's manual says of it; "other computing"; NULL: not known */
	double computing; /* of its time, 0 to 1 */
	struct {
		const char *class;     /* of the kernel's work, as of an application's (gate/profile/sampled.c) */
		double part;	       /* of its time */
	} kernel[MADE_OF_CLASSES_MAX]; /* [n]; what is in none of them is the kernel's "other work" */
	size_t n;
};

/* By the table. */
struct made_of made_of_stressor(const char *name);
/* The kind of computing alone; never NULL. */
const char *made_of_kind(const char *name);

#endif

/* Division of a stressor's time into computing and classes of kernel work. The division comes from samples of the stressor's run if a
 * fingerprint has them; otherwise from a table that was measured once. */
#ifndef FINGERPRINT_BATTERY_MADE_OF_H
#define FINGERPRINT_BATTERY_MADE_OF_H

#include <stddef.h>

#define MADE_OF_CLASSES_MAX 16
#define MADE_OF_UNKNOWN	    "other"

/* Division of one stressor's time; zeroed if unknown. */
struct made_of {
	const char *kind; /* kind of computing by stress-ng's manual, or "other computing"; NULL if unknown */
	double computing; /* computing as a part of the stressor's time, 0 to 1 */
	struct {
		const char *class;     /* class of kernel work, named as for applications (gate/profile/sampled.c) */
		double part;	       /* part of the stressor's time */
	} kernel[MADE_OF_CLASSES_MAX]; /* [n] classes of kernel work; the remaining kernel time is the class "other work" */
	size_t n;
};

/* Returns the division from the table; zeroed if the table lacks the stressor. */
struct made_of composition_of_stressor(const char *name);
/* Returns only the kind of computing, from the table; never NULL. */
const char *composition_kind(const char *name);

#endif

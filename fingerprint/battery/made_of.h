/* Division of a stressor's time into computing and classes of kernel work. It comes from samples of the stressor's run if the fingerprint
 * has them; otherwise from a table, which was measured once. */
#ifndef FINGERPRINT_BATTERY_MADE_OF_H
#define FINGERPRINT_BATTERY_MADE_OF_H

#include <stddef.h>

#define COMPOSITION_CLASSES_MAX 16
#define COMPOSITION_UNKNOWN	"other"

/* Division of one stressor's time; all zero if unknown. */
struct composition {
	const char *kind; /* kind of computing according to stress-ng's manual, or "other computing"; NULL if unknown */
	double computing; /* part of the stressor's time spent computing, 0 to 1 */
	struct {
		const char *class;	   /* class of kernel work; applications have the same names (gate/profile/sampled.c) */
		double part;		   /* part of the stressor's time, 0 to 1 */
	} kernel[COMPOSITION_CLASSES_MAX]; /* [n] classes of kernel work; the rest of the kernel time has the class "other work" */
	size_t n;
};

/* Returns the division of a stressor from the table; all zero if the table lacks the stressor. */
struct composition composition_find(const char *name);
/* Returns the kind of computing of a stressor from the table; never NULL. */
const char *composition_find_kind(const char *name);

#endif

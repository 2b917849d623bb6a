/* What was counted in some calls only, as what is simulated in some windows: a function is judged by what there is. */
#ifndef GATE_DETECT_MISSING_H
#define GATE_DETECT_MISSING_H

#include "gate/detect/observe.h"

/* Counters that say nothing of a function: known in less than half of the runs of either side. */
struct missing {
	bool *is; /* [functions x columns] of `seen` */
	size_t functions, columns;
};

/* Both have the same functions and columns. A value that was not counted becomes what it was in its run, or in the other runs; of counters
 * that are missing all become 0, on both sides. *out is overwritten; missing_release() it. O(values). */
void missing_fill(struct observed *normal, struct observed *seen, struct missing *out);
void missing_release(struct missing *missing); /* accepts zeroed */

#endif

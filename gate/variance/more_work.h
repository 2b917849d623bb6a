/* Who had more to do than the others, where that is counted: no variance, and not the environment's doing. */
#ifndef GATE_VARIANCE_MORE_WORK_H
#define GATE_VARIANCE_MORE_WORK_H

#include "gate/variance/variance.h"

/* Of each run [n_runs], or of each rank [n_processes]: how much more work its computation was than the median one's; 0: no more than 5 %,
 * or it is not counted, or there are no three. free() it. O(fragments). */
double *more_work(const struct variance *v, bool of_runs);

#endif

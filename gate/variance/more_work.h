/* Which rank or run had more work than the others, by count: that is neither variance nor the environment's doing. */
#ifndef GATE_VARIANCE_MORE_WORK_H
#define GATE_VARIANCE_MORE_WORK_H

#include "gate/variance/variance.h"

/* For each run [n_runs], or each process [n_processes]: how much more work its computation had than the median run's or rank's, as a part
 * of that; 0: at most 5 %, not counted, or fewer than three have counts. free() it. O(fragments). */
double *more_work(const struct variance *v, bool of_runs);

#endif

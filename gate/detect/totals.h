/* What a function did in all of its calls in a run, where sample files tell (runs/inside/samples/samples.h): the rows of its samples are
 * brought to that, so that which calls were samples makes no difference to any mean. Within a run rows keep their proportions. */
#ifndef GATE_DETECT_TOTALS_H
#define GATE_DETECT_TOTALS_H

#include "gate/detect/pool.h"

struct totals_run {
	double calls, work; /* of all of its threads and processes; 0 calls: not known */
	double *sums;	    /* [columns] in the function itself; NaN: not known */
	size_t columns;
};

/* Does the file know what the function did in all calls? */
bool totals_known(const struct samples *samples, size_t function);

/* Adds a file's; one that does not know makes all unknown. columns[n] are names of counters. */
void totals_add(struct totals_run *totals, const struct samples *samples, size_t function, char *const *columns, size_t n);

/* Changes values, weights and work of a function's rows in a run; what was not counted in a row is what it is in the mean. collapse: one
 * row takes the place of all, as where what single calls did is an estimate only. */
void totals_apply(const struct totals_run *totals, const struct pool_shape *shape, bool collapse, struct pool_rows *rows);
void totals_release(struct totals_run *totals); /* accepts zeroed */

#endif

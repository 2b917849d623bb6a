/* After the results of a host: each version and input with one thing after the other dearer, and without in between. */
#ifndef RUNS_RUNNING_EXECUTE_SHAPES_H
#define RUNS_RUNNING_EXECUTE_SHAPES_H

#include "runs/running/execute_host.h"

/* What the store has already is not measured again. False: the session ended, and said why. */
bool execute_shapes(struct execute_host *h);

/* How many versions with an input are left to be measured so on a host. */
enum assay_status execute_shapes_left(const struct execute *x, const struct host *host, size_t *out, struct assay_error *err);

#endif

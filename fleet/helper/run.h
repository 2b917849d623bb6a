/* Runs a command and reports how it went. */
#ifndef FLEET_HELPER_RUN_H
#define FLEET_HELPER_RUN_H

#include "fleet/helper/group.h"
#include "fleet/helper/request.h"

#include <stdint.h>

struct run_task {
	struct request *request;
	struct frames_out *out;
	int in;               /* the controller's end: closed means: stop everything */
	int lock;             /* -1: none */
	int64_t lock_wait_ns;
	struct group group;   /* empty: none */
};

/* For guard_run(): a struct run_task. Sends BEGUN, the output and RESULT, or REFUSED. 0 when the command was run to its end. */
int run_task(void *task);

#endif

/* The lock of a box: flock(2) on a file that every user of the machine can open. */
#ifndef FLEET_HELPER_LOCK_H
#define FLEET_HELPER_LOCK_H

#include "fleet/helper/request.h"

#include <stdint.h>

enum lock_got { LOCK_HELD, LOCK_REFUSED, LOCK_HUNG_UP };

/* Takes request->lock, waiting in turn with others for request->lock_wait_ms at most and watching the controller on `in`
 * meanwhile, which is told on `out` that we wait (HELPER_WAITING). *fd is never inherited by a program. LOCK_REFUSED:
 * request->refusal says why. */
enum lock_got lock_take(struct request *request, int in, struct frames_out *out, int *fd, int64_t *waited_ns);

#endif

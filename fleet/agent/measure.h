/* What everything that measures on hosts has in common: the box's lock is held around each measurement, and commands get the environment
 * that lab.yaml gives the host. */
#ifndef FLEET_MEASURE_H
#define FLEET_MEASURE_H

#include "fleet/agent/helper_client.h"
#include "fleet/inventory/inventory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Held on the host while something is measured: in a directory that all users and, on one kernel, all emulated hosts share. */
#define MEASURE_LOCK	     "/dev/shm/assay-box.lock"
#define MEASURE_LOCK_WAIT_MS (30 * 60 * 1000)

/* A request "run" of the words with the host's environment, without core dumps. helper_request_release() it. */
void measure_request(struct helper_request *out, const struct host *host, const char *const *words, size_t n, int64_t timeout_ms);
/* It waits for the box's lock and holds it while it runs. */
void measure_request_lock(struct helper_request *request);

#endif

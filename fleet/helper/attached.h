/* Resource usage of processes that already run, and of their descendants, during a period. Reads /proc; changes nothing in the processes.
 * Usage of a process that ends during the period counts if its parent is among them and waits for it. */
#ifndef FLEET_HELPER_ATTACHED_H
#define FLEET_HELPER_ATTACHED_H

#include "fleet/helper/accounts.h"
#include "fleet/helper/sampler.h"

struct attached;

/* Starts the period. `ids` (borrowed): decimal process ids, separated by commas. Tells `sampler` about the processes; NULL: no sampler. */
struct attached *attached_begin(const char *ids, struct sampler *sampler);

/* Ends the period. Sets the usage, and in *counters the run-queue delay and the I/O. */
void attached_end(const struct attached *attached, struct rusage *usage, struct usage_counters *counters);

void attached_free(struct attached *attached); /* accepts NULL */

#endif

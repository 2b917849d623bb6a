/* Processes of this machine that users name by their ids. */
#ifndef FLEET_LOCAL_PROCESSES_H
#define FLEET_LOCAL_PROCESSES_H

#include "base/error.h"

#include <stddef.h>

struct local_processes {
	size_t n;
	struct process *items; /* [n] */
	char *ids;	       /* "12,345" */
	char *program;	       /* path of the first process's program; "?" if not readable */
};

/* Finds the processes with the decimal ids texts[n]. local_processes_release() *out even after an error. ASSAY_E_NODATA: one does not
 * exist. */
enum assay_status local_processes_find(char *const *texts, size_t n, struct local_processes *out, struct assay_error *err);

/* Checks that all of them still run. ASSAY_E_NODATA: one has ended. */
enum assay_status local_processes_check(const struct local_processes *processes, struct assay_error *err);

void local_processes_release(struct local_processes *processes);

#endif

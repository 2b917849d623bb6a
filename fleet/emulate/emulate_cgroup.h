/* Memory and process limits of emulated hosts, by control groups of version 1 or 2, whichever the machine has. */
#ifndef FLEET_EMULATE_CGROUP_H
#define FLEET_EMULATE_CGROUP_H

#include "base/error.h"

#include <stddef.h>
#include <sys/types.h>

#define EMULATE_MEMORY_BYTES (1024ull << 20)
#define EMULATE_PROCESSES    1024

/* Where hosts get their groups. NULL: this machine has no such controller that we may use. In version 2 both are the same. */
struct emulate_cgroups {
	char *memory, *pids; /* directories: <controller's mount>/assay-TAG */
};

/* Looks at the machine; in version 2 it may have the root group hand controllers on. */
void emulate_cgroups_find(const char *tag, struct emulate_cgroups *out);
void emulate_cgroups_release(struct emulate_cgroups *groups);

/* The directory of one controller, and in it one for a host with its limits. Where it is there already, nothing. */
enum assay_status emulate_cgroup_make(const char *directory, struct assay_error *err);
enum assay_status emulate_cgroup_limit(const char *directory, struct assay_error *err);
enum assay_status emulate_cgroup_join(const char *directory, pid_t pid, struct assay_error *err);

/* Its processes: pids[*n], free() it. A group that is not there has none. */
void emulate_cgroup_members(const char *directory, pid_t **pids, size_t *n);
/* Waits shortly for the kernel to see it empty. One that is not there is no error. */
enum assay_status emulate_cgroup_remove(const char *directory, struct assay_error *err);

#endif

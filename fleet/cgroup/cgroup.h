/* Cgroups, versions 1 and 2. This module uses only the C library, because the helper (fleet/helper/) and the emulated fleet
 * (fleet/emulate/) include it. Functions that can fail return 0 or an errno. */
#ifndef FLEET_CGROUP_H
#define FLEET_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Files of the kernel that describe cgroups. Tests use other files. */
struct cgroup_sources {
	const char *mounts; /* "/proc/mounts" */
	/* "/proc/self/cgroup". In version 1, new cgroups are made below the caller's. In version 2, they are made beside it, because a
	 * cgroup with processes cannot pass controllers on. So limits around the caller stay in force. NULL: they are made at the root. */
	const char *self;
};

/* Directories in which this user may make cgroups with a limit; NULL if there is none. In version 2 both are usually the same. */
struct cgroup_parents {
	char *memory, *pids;
	int version; /* cgroup version of `memory` or, if that is NULL, of `pids`; 0 if both are NULL */
};

/* Finds the directories. In version 2, may enable controllers for a cgroup's children. Call cgroup_parents_release(). */
void cgroup_parents_find(const struct cgroup_sources *sources, struct cgroup_parents *out);
void cgroup_parents_release(struct cgroup_parents *places); /* accepts a zeroed struct */

/* Set a limit in the controller's files of both versions, and ignore missing files. A value of 0 sets no limit. ENOENT: no file for the
 * limit exists. */
int cgroup_limit_memory(const char *directory, unsigned long long bytes); /* the limit includes swap */
int cgroup_limit_processes(const char *directory, unsigned long long n);
/* Version 2: enables the memory and pids controllers for the children of the cgroup, if the cgroup has these controllers. */
void cgroup_enable_controllers(const char *directory);
int cgroup_join(const char *directory, pid_t pid); /* moves a process into the cgroup; pid 0 is the caller */

/* Lists the processes of the cgroup and its descendants in *pids, *n of them. free(*pids). A missing cgroup has no processes. */
void cgroup_list_processes(const char *directory, pid_t **pids, size_t *n);

/* Return the number of processes of the cgroup that the kernel killed for lack of memory, or refused to create. -1 if unknown. */
long long cgroup_oom_kills(const char *directory);
long long cgroup_refused_processes(const char *directory);

/* Kills all processes of the cgroup. Sets pids.max to 0 if it exists. Uses cgroup.kill if it exists, else SIGKILL for each process. Call it
 * again until cgroup_remove() succeeds. Returns the number of processes. */
size_t cgroup_kill(const char *directory);
/* Removes the cgroup and its descendants. Waits up to patience_ms until no process is in it. A missing cgroup is no error. */
int cgroup_remove(const char *directory, int patience_ms);

/* Makes a cgroup with an owner: `fd` holds a lock on its directory. Processes that inherit `fd` share the lock until the last of them ends.
 * The name is `prefix` and numbers. free(*directory). */
int cgroup_create_owned(const char *place, const char *prefix, char **directory, int *fd);
/* Kills the processes of cgroups with this prefix that have no owner any more, and removes these cgroups. Returns the number removed. */
size_t cgroup_remove_orphans(const char *place, const char *prefix);

#endif

/* Cgroups, versions 1 and 2. Uses only the C library, because both the helper (fleet/helper/) and the emulated fleet (fleet/emulate/)
 * include it. Functions that can fail return 0 or an errno. */
#ifndef FLEET_CGROUP_H
#define FLEET_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The kernel's files that describe cgroups; tests use other files. */
struct cgroup_sources {
	const char *mounts; /* "/proc/mounts" */
	/* "/proc/self/cgroup". New cgroups are made below the caller's own in version 1, and beside it in version 2, where a cgroup with
	 * processes cannot pass controllers on. So limits around the caller stay in force. NULL: at the root of each hierarchy. */
	const char *self;
};

/* Directories in which this user may make cgroups with a limit; NULL: none. In version 2 both directories are usually the same. */
struct cgroup_places {
	char *memory, *pids;
	int version; /* version of `memory`, else of `pids`; 0: both members are NULL */
};

/* Finds the directories. In version 2, may enable controllers for a cgroup's children. cgroup_places_release() it. */
void cgroup_places_find(const struct cgroup_sources *sources, struct cgroup_places *out);
void cgroup_places_release(struct cgroup_places *places); /* accepts a zeroed struct */

/* Set a limit in the controller's files of either version; files of the other version are missing. 0: no limit. ENOENT: there is no file
 * for the limit. */
int cgroup_limit_memory(const char *directory, unsigned long long bytes); /* including swap */
int cgroup_limit_processes(const char *directory, unsigned long long n);
/* Version 2: enables both controllers for the children of the cgroup, if it has them. */
void cgroup_hand_on(const char *directory);
int cgroup_join(const char *directory, pid_t pid); /* moves a process into the cgroup; 0: this process */

/* Lists the processes of the cgroup and of those below it: pids[*n], free() it. A missing cgroup has none. */
void cgroup_members(const char *directory, pid_t **pids, size_t *n);

/* Return how often the kernel killed a process of the cgroup for lack of memory, or refused a new process. -1: unknown. */
long long cgroup_oom_kills(const char *directory);
long long cgroup_refused_processes(const char *directory);

/* Kills all processes of the cgroup: sets pids.max to 0 if it exists, then uses cgroup.kill if it exists, else SIGKILL per process.
 * Repeat until cgroup_remove() succeeds. Returns the number of processes. */
size_t cgroup_kill(const char *directory);
/* Removes the cgroup and those below it. Waits up to patience_ms until it is empty. A missing cgroup is no error. */
int cgroup_remove(const char *directory, int patience_ms);

/* Makes a cgroup with an owner: `fd` holds a lock on its directory. Processes that inherit `fd` share the lock, which ends with the last
 * of them. The name is PREFIX and numbers. *directory: free() it. */
int cgroup_claim(const char *place, const char *prefix, char **directory, int *fd);
/* Kills the processes of cgroups with this prefix whose owner is gone, and removes the cgroups. Returns the number of removed cgroups. */
size_t cgroup_sweep(const char *place, const char *prefix);

#endif

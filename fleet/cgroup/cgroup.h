/* Cgroups of version 1 and 2, whichever a machine has. Plain C with the C library only: the helper on a host
 * (fleet/helper/) and the emulated fleet (fleet/emulate/) both use it. Functions that can fail return 0 or an error number. */
#ifndef FLEET_CGROUP_H
#define FLEET_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Where the kernel says what there is; tests give files of their own. */
struct cgroup_sources {
	const char *mounts; /* "/proc/mounts" */
	const char *self;   /* "/proc/self/cgroup": groups are made below the one that we are in (version 1), or beside it (version
			     * 2: a group with processes in it hands no controller on), so that the limits around us go on to hold.
			     * NULL: at the root of each hierarchy */
};

/* Directories in which this user may make groups with a limit. NULL: none. In version 2 both are mostly the same. */
struct cgroup_places {
	char *memory, *pids;
	int version; /* of memory, else of pids; 0: neither */
};

/* In version 2 it may have a group hand controllers on. cgroup_places_release() it. */
void cgroup_places_find(const struct cgroup_sources *sources, struct cgroup_places *out);
void cgroup_places_release(struct cgroup_places *places); /* accepts zeroed */

/* Each controller's files in both versions: those of other controllers and of the other version are not there. 0: no limit.
 * ENOENT when no file took a limit that was asked for. */
int cgroup_limit_memory(const char *directory, unsigned long long bytes); /* swap is not on top of it */
int cgroup_limit_processes(const char *directory, unsigned long long n);
/* Version 2: groups below this one get both controllers, where it has them itself. */
void cgroup_hand_on(const char *directory);
int cgroup_join(const char *directory, pid_t pid); /* 0: this process */

/* Its processes and those of groups below it: pids[*n], free() it. A group that is not there has none. */
void cgroup_members(const char *directory, pid_t **pids, size_t *n);

/* How often the kernel has killed a process of it for want of memory; refused it a new process. -1: it does not say. */
long long cgroup_oom_kills(const char *directory);
long long cgroup_refused_processes(const char *directory);

/* One stroke: no new process is let in (pids.max, where it is), then cgroup.kill where there is one, else SIGKILL to each. Again
 * until cgroup_remove() succeeds. Returns how many were there. */
size_t cgroup_kill(const char *directory);
/* Removes it with the groups below it; waits up to patience_ms for the kernel to see it empty. A missing one is not an error. */
int cgroup_remove(const char *directory, int patience_ms);

/* A group with an owner: a lock on its directory that is held by `fd` and every process that inherits it, and dies with them. The
 * name is PREFIX and numbers. *directory: free() it. */
int cgroup_claim(const char *place, const char *prefix, char **directory, int *fd);
/* Groups of that name whose owner is dead are emptied and removed. Returns how many. */
size_t cgroup_sweep(const char *place, const char *prefix);

#endif

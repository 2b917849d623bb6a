/* Cgroups of versions 1 and 2. Plain C with the C library only, because the helper on a host (fleet/helper/) and the emulated fleet
 * (fleet/emulate/) both use it. Functions that can fail return 0 or an errno. */
#ifndef FLEET_CGROUP_H
#define FLEET_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The kernel's files that describe cgroups; tests give their own. */
struct cgroup_sources {
	const char *mounts; /* "/proc/mounts" */
	/* self: "/proc/self/cgroup". Version 1 makes groups below the caller's own, version 2 beside it, because a group with processes
	 * passes no controllers on. So the limits around the caller stay in force. NULL: groups are made at the root of each hierarchy. */
	const char *self;
};

/* Directories in which this user may make groups with a limit. NULL: none. In version 2 both are usually the same. */
struct cgroup_places {
	char *memory, *pids;
	int version; /* version of `memory`, else of `pids`; 0: neither */
};

/* Finds them. In version 2 it may make a group pass controllers on. cgroup_places_release() it. */
void cgroup_places_find(const struct cgroup_sources *sources, struct cgroup_places *out);
void cgroup_places_release(struct cgroup_places *places); /* accepts zeroed */

/* Set a limit by each controller's files of both versions; files of other controllers and of the other version are absent. 0: no limit.
 * ENOENT: no file accepted the requested limit. */
int cgroup_limit_memory(const char *directory, unsigned long long bytes); /* including swap */
int cgroup_limit_processes(const char *directory, unsigned long long n);
/* Enables, for version 2, both controllers for the groups below, if the group has them itself. */
void cgroup_hand_on(const char *directory);
int cgroup_join(const char *directory, pid_t pid); /* 0: this process */

/* Lists its processes and those of groups below it: pids[*n], free() it. An absent group has none. */
void cgroup_members(const char *directory, pid_t **pids, size_t *n);

/* Return how often the kernel killed a process of the group for lack of memory, or refused it a new process. -1: not reported. */
long long cgroup_oom_kills(const char *directory);
long long cgroup_refused_processes(const char *directory);

/* Kills the group at once: lets no new process in (pids.max, if present), then uses cgroup.kill if present, else SIGKILL for each process.
 * Repeat it until cgroup_remove() succeeds. Returns how many processes there were. */
size_t cgroup_kill(const char *directory);
/* Removes it with the groups below it; waits up to patience_ms until the kernel reports it empty. An absent group is no error. */
int cgroup_remove(const char *directory, int patience_ms);

/* Makes a group with an owner: a lock on its directory, held by `fd` and every process that inherits it. The lock ends with these
 * processes. The name is PREFIX and numbers. *directory: free() it. */
int cgroup_claim(const char *place, const char *prefix, char **directory, int *fd);
/* Kills the processes of groups with that prefix that have no living owner, and removes the groups. Returns how many groups. */
size_t cgroup_sweep(const char *place, const char *prefix);

#endif

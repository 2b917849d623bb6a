/* Control groups of version 1 and 2, whichever a machine has. Plain C with the C library only: the helper on a host
 * (fleet/helper/) and the emulated fleet (fleet/emulate/) both use it. Functions that can fail return 0 or an error number. */
#ifndef FLEET_CGROUP_H
#define FLEET_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

/* Removes it with the groups below it; waits up to patience_ms for the kernel to see it empty. A missing one is not an error. */
int cgroup_remove(const char *directory, int patience_ms);

/* ---- the group of a command: limits of all its processes together, and a certain end of them ---- */

struct group_limits {
	bool wanted;
	uint64_t memory_bytes, processes; /* 0: no limit */
};

/* Where this user can have no group, or not with all the limits, the command runs without. */
struct group {
	char *directories[2]; /* [n]: one a controller; in version 2 one for both */
	int owner[2];	      /* [n]: locks that say whose it is; never inherited by a program */
	size_t n;
	int version; /* with every limit that was asked for; else 0 */
};

/* Also sweeps groups whose owners are dead. Call it before the guard is there, so that the guard can end it when the worker is killed. */
void group_open(const struct group_limits *wanted, struct group *out);
/* Moves this process into it, before it becomes the command. False: not into all of it. */
bool group_enter(const struct group *group);
bool group_has_members(const struct group *group);
/* Sends SIGKILL to all; none of them can start another one any more. */
void group_kill(const struct group *group);
/* Writes lines of the result; before anything is killed. */
void group_say(const struct group *group, char *text, size_t n);
/* Kills what is left and removes the group; may be called again. */
void group_end(struct group *group);

#endif

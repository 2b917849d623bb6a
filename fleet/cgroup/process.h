/* One process of this machine, as /proc knows it. Plain C with the C library only, like cgroup.h. */
#ifndef FLEET_CGROUP_PROCESS_H
#define FLEET_CGROUP_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
	pid_t id, parent, group, session;
	uint64_t start_ticks;	 /* since boot: with the id it names one process for good */
	uint64_t children_ticks; /* of CPU time: of those that it has waited for */
	char state;		 /* as the kernel says: 'R', 'S', 'T' (stopped), 'Z'... */
	bool alive;		 /* not a zombie; its threads may go on after the first one's end */
	bool ours;		 /* for the caller; false */
};

/* False when there is no such process. */
bool process_read(long id, struct process *out);

/* Reads the first n - 1 bytes of a small file, such as those of /proc and /sys, and a NUL into `text`; fmt: its path. Returns how many; 0:
 * it is empty, or cannot be read. */
size_t process_text(char *text, size_t n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif

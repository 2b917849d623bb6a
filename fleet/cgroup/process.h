/* A process of this machine, read from /proc. Plain C with the C library only, like cgroup.h. */
#ifndef FLEET_CGROUP_PROCESS_H
#define FLEET_CGROUP_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
	pid_t id, parent, group, session;
	uint64_t start_ticks;	 /* since boot; with the id it identifies a process uniquely */
	uint64_t children_ticks; /* CPU time of the children it has waited for */
	char state;		 /* the kernel's letter: 'R', 'S', 'T' (stopped), 'Z'... */
	bool alive;		 /* not a zombie; its threads may continue after the first one's end */
	bool ours;		 /* for the caller; false at first */
};

/* Reads a process. False: there is none with this id. */
bool process_read(long id, struct process *out);

/* Reads the first n - 1 bytes of a small file, such as one of /proc, and a NUL into `text`. fmt: its path. Returns how many; 0: none. */
size_t process_text(char *text, size_t n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif

/* Reads processes of this machine from /proc. Uses only the C library, like cgroup.h. */
#ifndef FLEET_CGROUP_PROCESS_H
#define FLEET_CGROUP_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
	pid_t id, parent, group, session;
	uint64_t start_ticks;	 /* start time, ticks since boot; identifies a process together with the id */
	uint64_t children_ticks; /* CPU time of children that the process has waited for */
	char state;		 /* the kernel's letter: 'R', 'S', 'T' (stopped), 'Z' ... */
	bool alive;		 /* false for a zombie without running threads */
	bool ours;		 /* free for the caller; process_read() sets it to false */
};

/* Reads a process. Returns false if there is none with this id. */
bool process_read(long id, struct process *out);

/* Reads up to n - 1 bytes of a small file into `text`, NUL-terminated. fmt: path of the file. Returns the number of bytes; 0: no file. */
size_t process_text(char *text, size_t n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif

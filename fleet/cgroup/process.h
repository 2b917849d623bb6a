/* Reads the state of processes of this machine from /proc. Uses only the C library, as cgroup.h does. */
#ifndef FLEET_CGROUP_PROCESS_H
#define FLEET_CGROUP_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
	pid_t id, parent, group, session;
	uint64_t start_ticks;	 /* start time, ticks since boot; `id` and this time identify a process */
	uint64_t children_ticks; /* CPU time of the children for which the process has waited, ticks */
	char state;		 /* state letter of /proc/PID/stat: 'R', 'S', 'T' (stopped), 'Z' ... */
	bool alive;		 /* false if the process is a zombie without running threads */
	bool is_marked;		 /* for use by the caller; process_read() sets it to false */
};

/* Reads the process with this id. Returns false if there is none. */
bool process_read(long id, struct process *out);

/* Reads up to n - 1 bytes of the file with path `fmt` into `text`, NUL-terminated. Returns the number of bytes; 0 if there is no file. */
size_t process_text(char *text, size_t n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif

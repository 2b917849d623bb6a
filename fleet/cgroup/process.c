#include "fleet/cgroup/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "ID (name, with any bytes) STATE PARENT GROUP SESSION ...", the start being field 22. A process whose first thread has ended while others
 * go on has the state of a zombie, too. */
bool process_read(const char *id, struct process *out)
{
	char path[32], text[1024], *at;
	uint64_t threads = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.12s/stat", id);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	at = strrchr(text, ')');
	if (!at || strlen(at) < 4)
		return false;
	*out = (struct process){ .id = (pid_t)strtol(id, NULL, 10), .state = at[2] };
	out->parent = (pid_t)strtol(at + 3, &at, 10);
	out->group = (pid_t)strtol(at, &at, 10);
	out->session = (pid_t)strtol(at, &at, 10);
	for (int field = 7; field < 22; field++) {
		uint64_t value = strtoull(at, &at, 10);

		out->children_ticks += field == 16 || field == 17 ? value : 0; /* in user mode, in the kernel */
		threads = field == 20 ? value : threads;
	}
	out->start_ticks = strtoull(at, &at, 10);
	out->alive = out->state != 'X' && (out->state != 'Z' || threads > 1);
	return true;
}

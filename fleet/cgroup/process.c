#include "fleet/cgroup/process.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t process_text(char *text, size_t n, const char *fmt, ...)
{
	char path[PATH_MAX];
	size_t done = 0;
	va_list args;
	ssize_t got;
	int fd;

	va_start(args, fmt);
	vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	while (fd >= 0 && done < n - 1 && (got = read(fd, text + done, n - 1 - done)) > 0) /* /proc may return the file in pieces */
		done += (size_t)got;
	if (fd >= 0)
		close(fd);
	text[done] = '\0';
	return done;
}

/* Parses "ID (NAME) STATE PARENT GROUP SESSION ...", where NAME may have any bytes. Field 22 is the start time. If the first thread has
 * ended while other threads run, the state is 'Z', too. */
bool process_read(long id, struct process *out)
{
	char text[1024], *at;
	uint64_t threads = 0;

	process_text(text, sizeof(text), "/proc/%ld/stat", id);
	at = strrchr(text, ')');
	if (!at || strlen(at) < 4)
		return false;
	*out = (struct process){ .id = (pid_t)id, .state = at[2] };
	out->parent = (pid_t)strtol(at + 3, &at, 10);
	out->group = (pid_t)strtol(at, &at, 10);
	out->session = (pid_t)strtol(at, &at, 10);
	for (int field = 7; field < 22; field++) {
		uint64_t value = strtoull(at, &at, 10);

		out->children_ticks += field == 16 || field == 17 ? value : 0; /* fields 16 and 17: user and kernel */
		threads = field == 20 ? value : threads;
	}
	out->start_ticks = strtoull(at, &at, 10);
	out->alive = out->state != 'X' && (out->state != 'Z' || threads > 1);
	return true;
}

#include "fleet/helper/delays.h"

#include "base/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APART_NS   INT64_C(40000000)
#define COST_MOST  200 /* a look takes one part in so many, at most */
#define PROCESSES  256 /* that are looked at, at once */
#define TEXT_BYTES 4096

struct look {
	struct delays *delays;
	pid_t processes[PROCESSES]; /* [n], children behind their parents */
	size_t n;
	uint64_t gained_ns; /* of what has waited the longest since the last look */
};

/* A small file below a process's directory; false: it is gone, or the kernel has none. */
static bool read_of(pid_t process, pid_t thread, const char *name, char text[TEXT_BYTES])
{
	char path[80];
	ssize_t n;
	int file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)process, (int)thread, name);
	file = open(path, O_RDONLY | O_CLOEXEC);
	n = file < 0 ? -1 : read(file, text, TEXT_BYTES - 1);
	if (file >= 0)
		close(file);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* What this thread had waited for at the last look; NULL: there are too many. */
static uint64_t *seen_of(struct delays *delays, pid_t thread)
{
	for (size_t i = 0; i < DELAYS_THREADS; i++) {
		size_t at = ((size_t)thread + i) % DELAYS_THREADS;

		if (delays->ids[at] == 0)
			delays->ids[at] = thread;
		if (delays->ids[at] == thread)
			return &delays->seen_ns[at];
	}
	return NULL;
}

static void look_at_delay(struct look *look, pid_t process, pid_t thread)
{
	char text[TEXT_BYTES], *delay;
	uint64_t now_ns, gained, *seen;

	if (!read_of(process, thread, "schedstat", text) || !(delay = strchr(text, ' ')) || !(seen = seen_of(look->delays, thread)))
		return;
	now_ns = strtoull(delay, NULL, 10);
	gained = now_ns < *seen ? now_ns : now_ns - *seen; /* its number was another's before */
	*seen = now_ns;
	look->gained_ns = gained > look->gained_ns ? gained : look->gained_ns;
}

static void look_for_children(struct look *look, pid_t process, pid_t thread)
{
	char text[TEXT_BYTES], *at = text, *end;

	if (!read_of(process, thread, "children", text))
		return;
	for (long id; look->n < PROCESSES && (id = strtol(at, &end, 10)) > 0 && *end; at = end)
		look->processes[look->n++] = (pid_t)id;
}

/* Of those that this process waits for, the first thread is counted when it ends. */
static void look_at_process(struct look *look, pid_t process, bool ours)
{
	char path[32];
	struct dirent *entry;
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	threads = opendir(path);
	while (threads && (entry = readdir(threads))) {
		pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

		if (thread <= 0)
			continue;
		if (!ours || thread != process)
			look_at_delay(look, process, thread);
		look_for_children(look, process, thread);
	}
	if (threads)
		closedir(threads);
}

void delays_begin(struct delays *delays, pid_t command, int64_t begun_ns)
{
	*delays = (struct delays){ .command = command, .begun_ns = begun_ns, .next_ns = begun_ns + APART_NS };
}

void delays_look(struct delays *delays, int64_t now_ns)
{
	struct look look = { .delays = delays };
	int64_t pause_ns;
	size_t ours;

	if (now_ns < delays->next_ns)
		return;
	look_for_children(&look, getpid(), getpid());
	if (look.n == 0) /* the kernel does not tell of children */
		look.processes[look.n++] = delays->command;
	ours = look.n;
	for (size_t i = 0; i < look.n; i++)
		look_at_process(&look, look.processes[i], i < ours);
	delays->sum_ns += look.gained_ns;
	delays->last_ns = now_ns;
	pause_ns = COST_MOST * (clock_monotonic_ns() - now_ns);
	delays->next_ns = now_ns + (pause_ns > APART_NS ? pause_ns : APART_NS);
}

int64_t delays_of(const struct delays *delays, int64_t ended_ns)
{
	int64_t known_ns = delays->last_ns - delays->begun_ns;

	if (delays->last_ns == 0 || known_ns <= 0)
		return -1;
	return (int64_t)((double)delays->sum_ns / (double)known_ns * (double)(ended_ns - delays->begun_ns));
}

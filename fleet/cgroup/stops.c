#include "fleet/cgroup/stops.h"

#include "base/clock.h"
#include "fleet/cgroup/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PERIOD_NS INT64_C(50000000) /* minimum time between two polls */
#define POLL_TIME_SHARE_INVERSE                                                                                                            \
	250 /* polls take at most 1/POLL_TIME_SHARE_INVERSE of a CPU; with many processes, they become less frequent */
#define FILE_SUFFIX ".samples"
#define UNIT_NS	    100000u /* unit of the times in a reading */

struct watched_process {
	char *name;
	pid_t pid; /* 0 until the record file is complete */
	uint64_t stopped_ns;
	bool was_stopped, ended;
	uint64_t run_delay_ns, run_delay_at_poll; /* total of all threads since the start; sum over the threads at the last poll */
	struct process_monitor_reading
	    *readings;			   /* [MONITOR_READINGS] elements, of which n_readings are used; NULL until the first reading */
	size_t n_readings, n_polls, every; /* looks: number of polls; every: a reading is added at every `every`-th poll */
};

struct member {
	pid_t pid;
	bool alive; /* false if the process has ended, or started before the run */
	bool stopped;
	uint64_t cpu_ns, run_delay_ns; /* sums over the threads that exist */
};

struct process_monitor {
	char *directory;
	struct process_monitor_offsets words;
	uint64_t run_start_ticks;      /* start of the run, ticks since boot */
	int64_t last, due;	       /* monotonic times of the last and the next poll, ns */
	struct watched_process *items; /* [n] processes with record files, sorted by name of the file */
	size_t n, items_capacity;
	struct member *tree; /* [n_tree] processes of the run at the last poll */
	size_t n_tree, tree_capacity;
	uint64_t used_ns, used_at_last_poll_ns; /* CPU time of the run; sum of its processes and their ended children at the last poll */
	bool decreased; /* the sum fell at the last poll, because a process just ended or its parent ignores its end */
};

static int64_t read_clock_ns(clockid_t clock)
{
	struct timespec t = { 0, 0 };

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Returns `array`, enlarged if it has no room for another element. Aborts if memory is short. */
static void *ensure_capacity(void *array, size_t n, size_t *capacity, size_t bytes)
{
	if (n < *capacity)
		return array;
	*capacity = *capacity ? 2 * *capacity : 16;
	array = realloc(array, *capacity * bytes);
	if (!array)
		abort();
	return array;
}

/* ---- processes of the run ---- */

/* Reads the state of a process. Returns the CPU time of its threads and of the children for which it has waited, ns. */
static uint64_t member_read(struct member *m, uint64_t run_start_ticks)
{
	const clockid_t clock = (clockid_t)(~(unsigned)m->pid << 3 | 2); /* formula of the C library's clock_getcpuclockid() */
	struct process p;

	m->alive = m->stopped = false;
	m->cpu_ns = 0;
	if (!process_read(m->pid, &p) || p.start_ticks < run_start_ticks)
		return 0;
	m->alive = p.alive;
	m->stopped = p.state == 'T';
	m->cpu_ns = (uint64_t)read_clock_ns(clock);
	return m->cpu_ns + p.children_ticks * (uint64_t)(1000000000 / sysconf(_SC_CLK_TCK));
}

static struct member *tree_find(struct process_monitor *s, pid_t pid)
{
	for (size_t i = 0; i < s->n_tree; i++)
		if (s->tree[i].pid == pid)
			return &s->tree[i];
	return NULL;
}

static void tree_add(struct process_monitor *s, pid_t pid)
{
	if (tree_find(s, pid))
		return;
	s->tree = ensure_capacity(s->tree, s->n_tree, &s->tree_capacity, sizeof(*s->tree));
	s->tree[s->n_tree++] = (struct member){ .pid = pid };
}

static void thread_children_add(struct process_monitor *s, pid_t pid, const char *thread)
{
	char path[80], text[4096], *at = text, *end;
	size_t kept = 0;
	ssize_t n;
	int file;

	snprintf(path, sizeof(path), "/proc/%d/task/%.12s/children", (int)pid, thread);
	file = open(path, O_RDONLY | O_CLOEXEC);
	while (file >= 0 && (n = read(file, text + kept, sizeof(text) - 1 - kept)) > 0) {
		text[kept + (size_t)n] = '\0';
		for (long child; (child = strtol(at, &end, 10)) > 0 && *end; at = end)
			tree_add(s, (pid_t)child);
		kept = strlen(at); /* keep an incomplete number, which the next read completes */
		memmove(text, at, kept + 1);
		at = text;
	}
	if (file >= 0)
		close(file);
}

static uint64_t thread_run_delay(pid_t pid, const char *thread)
{
	char text[80], *at;

	process_text(text, sizeof(text), "/proc/%d/task/%.12s/schedstat", (int)pid, thread);
	strtoull(text, &at, 10);
	return strtoull(at, NULL, 10);
}

/* Adds the children of all threads of the process to the tree. Returns the sum of the threads' run-queue delays, ns. */
static uint64_t threads_poll(struct process_monitor *s, pid_t pid)
{
	uint64_t run_delay_ns = 0;
	struct dirent *one;
	char path[32];
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	threads = opendir(path);
	while (threads && (one = readdir(threads)))
		if (one->d_name[0] != '.') {
			thread_children_add(s, pid, one->d_name);
			run_delay_ns += thread_run_delay(pid, one->d_name);
		}
	if (threads)
		closedir(threads);
	return run_delay_ns;
}

static void tree_poll(struct process_monitor *s)
{
	uint64_t used = 0;

	s->n_tree = 0;
	threads_poll(s, getpid());
	for (size_t i = 0; i < s->n; i++)
		if (!s->items[i].ended && s->items[i].pid)
			tree_add(s, s->items[i].pid);
	for (size_t i = 0; i < s->n_tree; i++) {
		uint64_t run_delay_ns = 0;

		used += member_read(&s->tree[i], s->run_start_ticks);
		if (s->tree[i].alive)
			run_delay_ns = threads_poll(s, s->tree[i].pid);
		s->tree[i].run_delay_ns = run_delay_ns;
	}
	s->used_ns += used > s->used_at_last_poll_ns ? used - s->used_at_last_poll_ns : 0;
	if (used >= s->used_at_last_poll_ns || s->decreased)
		s->used_at_last_poll_ns = used;
	s->decreased = used < s->used_at_last_poll_ns;
}

/* ---- record files ---- */

static int watched_order(const void *a, const void *b)
{
	const struct watched_process *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Adds record files that have appeared since the last poll. */
static void files_poll(struct process_monitor *s)
{
	DIR *all = opendir(s->directory);
	size_t before = s->n;
	struct dirent *one;

	while (all && (one = readdir(all))) {
		const struct watched_process key = { .name = one->d_name };
		size_t n = strlen(one->d_name);

		if (n < sizeof(FILE_SUFFIX) || strcmp(one->d_name + n - (sizeof(FILE_SUFFIX) - 1), FILE_SUFFIX) != 0 ||
		    (before && bsearch(&key, s->items, before, sizeof(key), watched_order)))
			continue;
		s->items = ensure_capacity(s->items, s->n, &s->items_capacity, sizeof(*s->items));
		s->items[s->n] = (struct watched_process){ .name = strdup(one->d_name) };
		if (!s->items[s->n++].name)
			abort();
	}
	if (all)
		closedir(all);
	if (s->n > before)
		qsort(s->items, s->n, sizeof(*s->items), watched_order);
}

static int file_open(const struct process_monitor *s, const struct watched_process *w)
{
	char path[4096 + 256];

	snprintf(path, sizeof(path), "%s/%s", s->directory, w->name);
	return open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

/* Returns the 8-byte word at offset `at`; 0 if it cannot be read. */
static uint64_t word_read(int file, int64_t at)
{
	uint64_t word = 0;

	return pread(file, &word, sizeof(word), at) == sizeof(word) ? word : 0;
}

/* Writes an 8-byte word. Ignores errors, because the file's blocks are already allocated and the disk cannot become full. */
static void word_write(int file, int64_t at, uint64_t word)
{
	(void)!pwrite(file, &word, sizeof(word), at);
}

/* Reads the pid from a record file, unless it is known. */
static void watched_begin(const struct process_monitor *s, struct watched_process *w)
{
	int file = w->pid ? -1 : file_open(s, w);

	if (file < 0)
		return;
	w->pid = (pid_t)word_read(file, s->words.pid);
	close(file);
}

/* Drops every second reading to make room. The first call allocates the array. */
static void drop_every_second_reading(const struct process_monitor *s, struct watched_process *w, int file)
{
	if (!w->readings)
		w->readings = calloc(MONITOR_READINGS, sizeof(*w->readings));
	if (!w->readings)
		abort();
	for (size_t i = 0; i < w->n_readings / 2; i++)
		w->readings[i] = w->readings[2 * i + 1];
	w->every = w->n_readings ? 2 * w->every : 1;
	w->n_readings /= 2;
	memset(w->readings + w->n_readings, 0, (MONITOR_READINGS - w->n_readings) * sizeof(*w->readings));
	(void)!pwrite(file, w->readings, MONITOR_READINGS * sizeof(*w->readings), s->words.readings);
}

static void reading_add(const struct process_monitor *s, struct watched_process *w, const struct member *m, int file)
{
	struct process_monitor_reading *now;

	w->run_delay_ns += m->run_delay_ns > w->run_delay_at_poll ? m->run_delay_ns - w->run_delay_at_poll : 0;
	w->run_delay_at_poll = m->run_delay_ns;
	if (!w->readings || w->n_readings == MONITOR_READINGS)
		drop_every_second_reading(s, w, file);
	if (++w->n_polls % w->every)
		return;
	now = &w->readings[w->n_readings++];
	*now = (struct process_monitor_reading){ .at_ns = (uint64_t)read_clock_ns(CLOCK_REALTIME),
						 .cpu = (uint32_t)(m->cpu_ns / UNIT_NS),
						 .run_delay = (uint32_t)(w->run_delay_ns / UNIT_NS),
						 .stopped = (uint32_t)(w->stopped_ns / UNIT_NS) };
	(void)!pwrite(file, now, sizeof(*now), s->words.readings + (int64_t)((size_t)(now - w->readings) * sizeof(*now)));
}

/* Updates the record file of a process. `since` is the time since the last poll, ns. If the process was stopped at only one of the two
 * polls, half of `since` counts as stopped time. */
static void watched_poll(struct process_monitor *s, struct watched_process *w, uint64_t since)
{
	int file = file_open(s, w);
	const struct member *m = file < 0 || word_read(file, s->words.finished) ? NULL : tree_find(s, w->pid);
	bool stopped = m && m->stopped;

	w->ended = !m || !m->alive; /* the record file of a zombie no longer changes */
	w->stopped_ns += (stopped ? since / 2 : 0) + (w->was_stopped ? since / 2 : 0);
	w->was_stopped = stopped;
	if (!w->ended) {
		word_write(file, s->words.stopped_ns, w->stopped_ns + 1);
		word_write(file, s->words.run_ns, s->used_ns + 1);
		reading_add(s, w, m, file);
	}
	if (file >= 0)
		close(file);
}

/* ---- interface ---- */

struct process_monitor *process_monitor_new(const char *directory, const struct process_monitor_offsets *words)
{
	struct process_monitor *s = calloc(1, sizeof(*s));
	char *copy = strdup(directory);

	if (!s || !copy) {
		free(s);
		free(copy);
		return NULL;
	}
	s->directory = copy;
	s->words = *words;
	s->run_start_ticks = (uint64_t)(read_clock_ns(CLOCK_BOOTTIME) / (1000000000 / sysconf(_SC_CLK_TCK)));
	s->last = clock_monotonic_ns();
	s->due = s->last + PERIOD_NS;
	return s;
}

int64_t process_monitor_poll(struct process_monitor *s)
{
	int64_t now = clock_monotonic_ns(), cost;

	if (now < s->due)
		return s->due - now;
	cost = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	files_poll(s);
	for (size_t i = 0; i < s->n; i++)
		watched_begin(s, &s->items[i]);
	tree_poll(s);
	for (size_t i = 0; i < s->n; i++)
		if (s->items[i].pid && !s->items[i].ended)
			watched_poll(s, &s->items[i], (uint64_t)(now - s->last));
	s->last = now;
	cost = POLL_TIME_SHARE_INVERSE * (read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cost);
	s->due = now + (cost > PERIOD_NS ? cost : PERIOD_NS);
	return s->due - now;
}

void process_monitor_free(struct process_monitor *s)
{
	for (size_t i = 0; s && i < s->n; i++) {
		free(s->items[i].name);
		free(s->items[i].readings);
	}
	if (!s)
		return;
	free(s->items);
	free(s->tree);
	free(s->directory);
	free(s);
}

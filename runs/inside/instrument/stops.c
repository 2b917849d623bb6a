#include "runs/inside/instrument/stops.h"

#include "base/file.h"
#include "base/mem.h"
#include "runs/inside/record/record.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS INT64_C(50000000) /* between two looks, at least */
#define COST_PART 250		    /* of the time, one in so many at most: with many processes they are looked at more rarely */
/* Fields of /proc/PID/stat behind the program's name: what children that were waited for have used, in user mode and in the kernel; when it
 * began; all in ticks, the last since the machine began. */
#define CHILDREN_USER	14
#define CHILDREN_SYSTEM 15
#define STARTED		20

struct watched {
	char *path;
	struct record_header *header; /* NULL: it has ended, or is none of ours */
	bool was_stopped;
};

struct process {
	uint64_t pid;
	char state; /* 0: there is none that has begun since */
};

struct stops {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ending;
	bool end;
	char *directory;
	unsigned long long began; /* ticks since the machine began */
	struct watched *items;	  /* [n], by path */
	size_t n;
	struct process *tree; /* [n_tree] of the run, at this look */
	size_t n_tree, capacity;
	uint64_t used_ns, used_then_ns; /* by all of the run; by those that were there at the last look, with children that had ended */
	bool fell;			/* the latter is more than now: one ended just then, or its parent does not want to know */
};

static int64_t now_ns(clockid_t clock)
{
	struct timespec t = { 0, 0 };

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Fills its state. Returns the processor time of its threads, and of the children that it has waited for. */
static uint64_t process_read(struct process *p, unsigned long long began)
{
	const clockid_t clock = (clockid_t)(~(unsigned)p->pid << 3 | 2); /* as clock_getcpuclockid() says */
	unsigned long long fields[STARTED + 1] = { 0 };
	char path[64], text[1024], *at;
	ssize_t n;
	int file;

	p->state = 0;
	snprintf(path, sizeof(path), "/proc/%llu/stat", (unsigned long long)p->pid);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return 0;
	n = read(file, text, sizeof(text) - 1);
	close(file);
	text[n > 0 ? n : 0] = '\0';
	n = 1;
	at = strrchr(text, ')'); /* names of programs may have any characters */
	if (!at || at[1] != ' ')
		return 0;
	at += 2;
	for (char *word = at, *next; word && n <= STARTED; word = next) {
		next = strchr(word, ' ');
		next = next ? next + 1 : NULL;
		fields[n++] = strtoull(word, NULL, 10);
	}
	if (fields[STARTED] < began)
		return 0;
	p->state = *at;
	return (uint64_t)now_ns(clock) + (fields[CHILDREN_USER] + fields[CHILDREN_SYSTEM]) * (uint64_t)(1000000000 / sysconf(_SC_CLK_TCK));
}

static struct process *tree_find(struct stops *s, uint64_t pid)
{
	for (size_t i = 0; i < s->n_tree; i++)
		if (s->tree[i].pid == pid)
			return &s->tree[i];
	return NULL;
}

static void tree_add(struct stops *s, uint64_t pid)
{
	if (tree_find(s, pid))
		return;
	mem_append(s->tree, s->n_tree, &s->capacity, (struct process){ .pid = pid });
}

/* Each thread has those that it has started. */
static void children_add(struct stops *s, uint64_t pid)
{
	char *threads = mem_format("/proc/%llu/task", (unsigned long long)pid);
	DIR *all = opendir(threads);
	struct dirent *one;

	while (all && (one = readdir(all))) {
		char *path = one->d_name[0] != '.' ? mem_format("%s/%s/children", threads, one->d_name) : NULL;
		FILE *children = path ? fopen(path, "re") : NULL;
		unsigned long long child;

		while (children && fscanf(children, "%llu", &child) == 1)
			tree_add(s, child);
		if (children)
			fclose(children);
		free(path);
	}
	if (all)
		closedir(all);
	free(threads);
}

/* Of the run are this process's children, those that have record files, and all that these have started. */
static void tree_look(struct stops *s)
{
	uint64_t used = 0;

	s->n_tree = 0;
	children_add(s, (uint64_t)getpid());
	for (size_t i = 0; i < s->n; i++)
		if (s->items[i].header && !s->items[i].header->finished)
			tree_add(s, s->items[i].header->pid);
	for (size_t i = 0; i < s->n_tree; i++) {
		used += process_read(&s->tree[i], s->began);
		if (s->tree[i].state)
			children_add(s, s->tree[i].pid);
	}
	s->used_ns += used > s->used_then_ns ? used - s->used_then_ns : 0;
	if (used >= s->used_then_ns || s->fell)
		s->used_then_ns = used;
	s->fell = used < s->used_then_ns;
}

static struct record_header *header_of(const char *path)
{
	int file = open(path, O_RDWR | O_CLOEXEC);
	struct record_header *h = file < 0 ? MAP_FAILED : mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	off_t size = file < 0 ? 0 : lseek(file, 0, SEEK_END);

	if (file >= 0)
		close(file);
	if (h == MAP_FAILED)
		return NULL;
	if (size >= (off_t)sizeof(*h) && memcmp(h->magic, RECORD_MAGIC, sizeof(h->magic)) == 0)
		return h;
	munmap(h, sizeof(*h));
	return NULL;
}

static void watched_release(struct watched *w)
{
	free(w->path);
	if (w->header)
		munmap(w->header, sizeof(*w->header));
}

/* Files that came since; those that were known stay what they are. */
static void files_look(struct stops *s)
{
	struct watched *now;
	struct assay_error ignored;
	char **names = NULL;
	size_t n = 0, k = 0;

	if (file_names(s->directory, ".samples", &names, &n, &ignored) != ASSAY_OK)
		return;
	now = mem_new(n, sizeof(*now));
	for (size_t i = 0; i < n; i++) {
		char *path = mem_format("%s/%s", s->directory, names[i]);

		while (k < s->n && strcmp(s->items[k].path, path) < 0)
			watched_release(&s->items[k++]);
		if (k < s->n && strcmp(s->items[k].path, path) == 0) {
			now[i] = s->items[k++];
			free(path);
			continue;
		}
		now[i] = (struct watched){ .path = path, .header = header_of(path) };
	}
	for (; k < s->n; k++)
		watched_release(&s->items[k]);
	free(s->items);
	s->items = now;
	s->n = n;
	file_names_free(names, n);
}

/* `since`: the time since the last look. One that was stopped at this look alone was for half of it, about. */
static void process_look(struct stops *s, struct watched *w, uint64_t since)
{
	struct record_header *h = w->header;
	const struct process *p = h->finished ? NULL : tree_find(s, h->pid);
	char state = p ? p->state : 0;
	bool stopped = state == 'T';
	uint64_t told = h->stopped_ns ? h->stopped_ns : 1;

	if (!state) {
		munmap(h, sizeof(*h));
		w->header = NULL;
		return;
	}
	__atomic_store_n(&h->stopped_ns, told + (stopped ? since / 2 : 0) + (w->was_stopped ? since / 2 : 0), __ATOMIC_RELAXED);
	__atomic_store_n(&h->run_ns, s->used_ns + 1, __ATOMIC_RELAXED);
	w->was_stopped = stopped;
}

static void *stops_run(void *of)
{
	struct stops *s = of;
	int64_t last = now_ns(CLOCK_MONOTONIC), pause = PERIOD_NS;

	pthread_mutex_lock(&s->lock);
	while (!s->end) {
		int64_t wake = now_ns(CLOCK_REALTIME) + pause, now, cost;
		struct timespec at = { .tv_sec = wake / 1000000000, .tv_nsec = wake % 1000000000 };

		pthread_cond_timedwait(&s->ending, &s->lock, &at);
		now = now_ns(CLOCK_MONOTONIC);
		cost = now_ns(CLOCK_THREAD_CPUTIME_ID);
		files_look(s);
		tree_look(s);
		for (size_t i = 0; i < s->n; i++)
			if (s->items[i].header)
				process_look(s, &s->items[i], (uint64_t)(now - last));
		last = now;
		cost = COST_PART * (now_ns(CLOCK_THREAD_CPUTIME_ID) - cost);
		pause = cost > PERIOD_NS ? cost : PERIOD_NS;
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

struct stops *stops_watch(const char *directory)
{
	struct stops *s = mem_new(1, sizeof(*s));

	s->directory = mem_string(directory);
	s->began = (unsigned long long)(now_ns(CLOCK_BOOTTIME) / (1000000000 / sysconf(_SC_CLK_TCK)));
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->ending, NULL);
	if (pthread_create(&s->thread, NULL, stops_run, s) == 0)
		return s;
	mem_free(s->directory, s);
	return NULL;
}

void stops_end(struct stops *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->end = true;
	pthread_cond_signal(&s->ending);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	mem_release_all(s->items, s->n, watched_release);
	mem_free(s->tree, s->directory, s);
}

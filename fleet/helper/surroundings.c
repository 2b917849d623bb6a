#include "fleet/helper/surroundings.h"

#include "fleet/counting/refused.h"
#include "fleet/shape/calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PATH_BYTES    4096
#define LIST_BYTES    4096
#define FAMILY_MAX    4096 /* processes */
#define FAMILY_ROUNDS 16   /* of forgetting: then it is looked which there are */
#define MEMORY_BIND   2	   /* MPOL_BIND of set_mempolicy(2), for which the C library has no header */
#define NODES_MAX     1024

/* ---- processors and nodes, as sysfs tells them ---- */

static bool refuse(char why[SHAPE_WHY_BYTES], const char *text)
{
	snprintf(why, SHAPE_WHY_BYTES, "cannot make it dearer: %s", text);
	return false;
}

/* "0-3,8" of a file below `root`; false: it is not there, or says none. */
__attribute__((format(printf, 2, 3))) static bool read_list(cpu_set_t *out, const char *fmt, ...)
{
	char path[PATH_BYTES], text[LIST_BYTES], *at = text;
	ssize_t n;
	va_list args;
	int fd;

	va_start(args, fmt);
	vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	CPU_ZERO(out);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	while (*at >= '0' && *at <= '9') {
		unsigned long from = strtoul(at, &at, 10), to = *at == '-' ? strtoul(at + 1, &at, 10) : from;

		for (unsigned long cpu = from; cpu <= to && cpu < CPU_SETSIZE; cpu++)
			CPU_SET(cpu, out);
		at += *at == ',';
	}
	return CPU_COUNT(out) > 0;
}

static bool take_cores(unsigned level, struct surroundings *s, char why[SHAPE_WHY_BYTES])
{
	int n = CPU_COUNT(&s->own), left = n * (int)(100 - level) / 100;

	if (n < 2)
		return refuse(why, "there is one processor alone here");
	for (size_t cpu = CPU_SETSIZE; n > (left > 1 ? left : 1);) {
		n -= CPU_ISSET(--cpu, &s->own) != 0;
		CPU_CLR(cpu, &s->own);
	}
	return true;
}

/* The command keeps to the first thread of each core. */
static bool take_siblings(const char *root, unsigned level, struct surroundings *s, char why[SHAPE_WHY_BYTES])
{
	cpu_set_t others, of_core;

	CPU_ZERO(&others);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &s->own) ||
		    !read_list(&of_core, "%s/sys/devices/system/cpu/cpu%zu/topology/thread_siblings_list", root, cpu))
			continue;
		for (size_t other = cpu + 1; other < CPU_SETSIZE; other++)
			if (CPU_ISSET(other, &of_core) && CPU_ISSET(other, &s->own))
				CPU_SET(other, &others);
	}
	if (CPU_COUNT(&others) == 0)
		return refuse(why, "no core has two threads here that a command may run on");
	CPU_XOR(&s->own, &s->own, &others);
	if (level > 0)
		s->busy = others;
	return true;
}

/* It runs on the first node that has processors for it; without a dose its memory is there as well. */
static bool take_nodes(const char *root, unsigned level, struct surroundings *s, char why[SHAPE_WHY_BYTES])
{
	cpu_set_t memory, of_node;
	size_t home = 0, away = 0;

	if (!read_list(&memory, "%s/sys/devices/system/node/has_memory", root))
		return refuse(why, "this machine says nothing of nodes (NUMA)");
	while (home < NODES_MAX) {
		bool there = CPU_ISSET(home, &memory) && read_list(&of_node, "%s/sys/devices/system/node/node%zu/cpulist", root, home);

		CPU_AND(&of_node, &of_node, &s->own);
		if (there && CPU_COUNT(&of_node) > 0)
			break;
		home++;
	}
	while (away < NODES_MAX && (away == home || !CPU_ISSET(away, &memory)))
		away++;
	if (home == NODES_MAX || away == NODES_MAX)
		return refuse(why, "the memory of this machine is of one node (NUMA)");
	s->own = of_node;
	s->node = (int)(level > 0 ? away : home);
	return true;
}

static bool take_forgetting(unsigned level, struct surroundings *s, char why[SHAPE_WHY_BYTES])
{
	char children[64];

	snprintf(children, sizeof(children), "/proc/self/task/%d/children", (int)getpid());
	if (access("/proc/self/clear_refs", W_OK) || access(children, R_OK))
		return refuse(why, "this kernel has no /proc/PID/clear_refs, or no lists of children (CONFIG_PROC_PAGE_MONITOR, "
				   "CONFIG_PROC_CHILDREN)");
	s->forgets_per_s = level;
	return true;
}

static bool take_one(const char *root, const struct shaped *shaped, struct surroundings *s, char why[SHAPE_WHY_BYTES])
{
	const enum shape_means means = shapes[shaped->shape].means;
	const bool part = means == SHAPE_AFFINITY || (means >= SHAPE_CPUFREQ && means <= SHAPE_RESCTRL_L3) || means == SHAPE_GROUP_CPU;

	if (part && shaped->level > 99)
		return refuse(why, "no more than 99 per cent can be taken away");
	switch (means) {
	case SHAPE_FORGETTING:
		return take_forgetting(shaped->level, s, why);
	case SHAPE_AFFINITY:
		return take_cores(shaped->level, s, why);
	case SHAPE_SIBLINGS:
		return take_siblings(root, shaped->level, s, why);
	case SHAPE_NODES:
		return take_nodes(root, shaped->level, s, why);
	case SHAPE_NAMESPACE:
		s->network = true;
		s->network_ns_per_byte = shaped->level;
		return true;
	default:
		return true;
	}
}

bool surroundings_take(const char *root, const struct shaped *shaped, size_t n, struct surroundings *out, char why[SHAPE_WHY_BYTES])
{
	*out = (struct surroundings){ .node = -1, .machine = { .file = -1, .alive = -1 } };
	if (sched_getaffinity(0, sizeof(out->own), &out->own))
		return refuse(why, "the kernel does not say on which processors this process may run");
	for (size_t i = 0; i < n; i++)
		if (!take_one(root, &shaped[i], out, why))
			return false;
	return machine_take(root, shaped, n, &out->machine, why);
}

void surroundings_end(struct surroundings *s)
{
	machine_give_back(&s->machine);
}

static int enter_places(const struct surroundings *s)
{
	unsigned long nodes[NODES_MAX / (8 * sizeof(unsigned long))] = { 0 };
	cpu_set_t now;

	if (sched_getaffinity(0, sizeof(now), &now) || (!CPU_EQUAL(&now, &s->own) && sched_setaffinity(0, sizeof(s->own), &s->own)))
		return errno;
	if (s->node >= 0) {
		nodes[(size_t)s->node / (8 * sizeof(*nodes))] = 1ul << (size_t)s->node % (8 * sizeof(*nodes));
		if (syscall(SYS_set_mempolicy, MEMORY_BIND, nodes, NODES_MAX))
			return errno;
	}
	return s->network ? network_own(s->network_ns_per_byte) : 0;
}

int surroundings_enter(const struct surroundings *s, const struct shaped *shaped, size_t n)
{
	int failed = n > 0 ? enter_places(s) : 0;

	for (size_t i = 0; !failed && i < n; i++) {
		unsigned shape = shaped[i].shape, level = shaped[i].level;
		char steps[24];

		snprintf(steps, sizeof(steps), "%u", 10 * level);
		if (shapes[shape].means == SHAPE_FILTER)
			failed = calls_filter(shape, level);
		else if (shapes[shape].means == SHAPE_INTERRUPTS)
			failed = events_start(7 * level, 0);
		else if (shapes[shape].means == SHAPE_LIBRARY)
			failed = setenv(shape_variable(shape, false), steps, 1);
	}
	return failed;
}

void surroundings_explain(const struct shaped *shaped, size_t n, int errnum, char why[SHAPE_WHY_BYTES])
{
	enum shape_means means = n > 0 ? shapes[shaped[n - 1].shape].means : SHAPE_FILTER;

	if (means == SHAPE_NAMESPACE)
		snprintf(why, SHAPE_WHY_BYTES, "a network of its own with a token bucket (tbf): %s%s", strerror(errnum),
			 errnum == EPERM ? " (it needs root)" : "");
	else if (errnum == ENOMEM)
		snprintf(why, SHAPE_WHY_BYTES, "no room for a filter of system calls: this process runs under others already");
	else if (means == SHAPE_INTERRUPTS)
		refused_here(errnum, REFUSED_USER, why, SHAPE_WHY_BYTES);
	else if (means == SHAPE_FILTER && errnum == EPERM)
		snprintf(why, SHAPE_WHY_BYTES,
			 "filters of system calls are forbidden here: a container or a service has to allow seccomp(2) ('docker run "
			 "--security-opt seccomp=PROFILE', SystemCallFilter=)");
	else
		snprintf(why, SHAPE_WHY_BYTES, "%s", strerror(errnum));
}

/* ---- threads that disturb ---- */

struct family {
	pid_t ids[FAMILY_MAX]; /* [n] */
	size_t n;
};

static void add_family(pid_t id, struct family *all);

static void add_children(const char *path, struct family *all)
{
	FILE *stream = fopen(path, "re");
	int child;

	while (stream && fscanf(stream, "%d", &child) == 1)
		add_family(child, all);
	if (stream)
		fclose(stream);
}

static void add_family(pid_t id, struct family *all)
{
	char path[64];
	DIR *tasks;

	if (all->n == FAMILY_MAX)
		return;
	all->ids[all->n++] = id;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)id);
	tasks = opendir(path);
	for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
		char children[96];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(children, sizeof(children), "/proc/%d/task/%.12s/children", (int)id, entry->d_name);
		add_children(children, all);
	}
	if (tasks)
		closedir(tasks);
}

static void forget_pages(pid_t id)
{
	char path[40];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/clear_refs", (int)id);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, "1", 1) < 0 && errno != ESRCH)
		errno = 0; /* a program with rights of its own remembers */
	close(fd);
}

static void *forget(void *argument)
{
	struct surroundings *s = argument;
	const struct timespec pause = { s->forgets_per_s == 1, s->forgets_per_s == 1 ? 0 : 1000000000 / (long)s->forgets_per_s };
	struct family *all = malloc(sizeof(*all));

	for (unsigned round = 0; all && !__atomic_load_n(&s->end, __ATOMIC_ACQUIRE); round++) {
		if (round % FAMILY_ROUNDS == 0) {
			all->n = 0;
			add_family(s->command, all);
		}
		for (size_t i = 0; i < all->n; i++)
			forget_pages(all->ids[i]);
		nanosleep(&pause, NULL);
	}
	free(all);
	return NULL;
}

static void *be_busy(void *argument)
{
	struct surroundings *s = argument;

	for (volatile unsigned long long x = 1; !__atomic_load_n(&s->end, __ATOMIC_ACQUIRE);)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return NULL;
}

static int start_thread(struct surroundings *s, void *(*work)(void *), const cpu_set_t *where)
{
	pthread_attr_t attributes;
	int failed = pthread_attr_init(&attributes);

	if (failed)
		return failed;
	if (where)
		failed = pthread_attr_setaffinity_np(&attributes, sizeof(*where), where);
	if (!failed)
		failed = pthread_create(&s->threads[s->n_threads], &attributes, work, s);
	s->n_threads += !failed;
	pthread_attr_destroy(&attributes);
	return failed;
}

int surroundings_disturb(struct surroundings *s, pid_t command)
{
	int failed = 0;

	s->command = command;
	if (!s->forgets_per_s && CPU_COUNT(&s->busy) == 0)
		return 0;
	s->threads = calloc((size_t)CPU_COUNT(&s->busy) + 1, sizeof(*s->threads));
	if (!s->threads)
		return ENOMEM;
	if (s->forgets_per_s)
		failed = start_thread(s, forget, NULL);
	for (size_t cpu = 0; !failed && cpu < CPU_SETSIZE; cpu++) {
		cpu_set_t one;

		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (CPU_ISSET(cpu, &s->busy))
			failed = start_thread(s, be_busy, &one);
	}
	return failed;
}

void surroundings_quiet(struct surroundings *s)
{
	__atomic_store_n(&s->end, true, __ATOMIC_RELEASE);
	for (size_t i = 0; i < s->n_threads; i++)
		pthread_join(s->threads[i], NULL);
	free(s->threads);
	s->threads = NULL;
	s->n_threads = 0;
}

/* What the kernel says of the calling thread, and of its process's control groups and machine. Nothing here is a cancellation point or
 * changes errno. */
#include "runs/inside/interpose/interpose.h"
#include "runs/inside/record/record_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <time.h>

#define WITHHELD_TICKS 50000000u		     /* about 20 milliseconds between two looks at what was withheld */
#define STAT_PART      4000u			     /* of a thread's time, at most: one in so many */
#define GROUP_PART     2000u			     /* of all threads' */
#define TICK_NS	       10000000u		     /* of /proc/stat; its unit is the same on all x86-64 and aarch64 */
#define IDLE_WORDS     (1u << 4 | 1u << 5 | 1u << 8) /* idle, also while something waits for a disk, or stolen */
#define LOOP_TURNS     500
#define LOOP_TRIES     2 /* of which the shorter one was hardly interrupted */
#define GROUPS_BYTES   4096
#define PATH_BYTES     1024

/* A file that is read from its beginning on. */
struct text {
	long file, at, bytes;
	char part[512];
};

static struct text text_open(const char *path)
{
	struct text t;

	t.at = t.bytes = 0;
	t.file = interpose_ask(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0);
	return t;
}

static void text_close(const struct text *t)
{
	if (t->file >= 0)
		interpose_ask(SYS_close, t->file, 0, 0, 0);
}

static bool text_next(struct text *t, char *c)
{
	if (t->at == t->bytes) {
		t->bytes = t->file >= 0 ? interpose_ask(SYS_read, t->file, (long)t->part, sizeof(t->part), 0) : 0;
		t->at = 0;
	}
	if (t->bytes <= 0)
		return false;
	*c = t->part[t->at++];
	return true;
}

/* In lines of words: of the next line that begins with the word `line` (NULL: of the first one), the sum of the words whose bits are set in
 * `wanted`, counted from 0. UINT64_MAX: the kernel does not tell. */
static uint64_t number_next(struct text *t, const char *line, uint64_t wanted)
{
	unsigned word = 0, at = 0;
	bool here = !t->bytes; /* else within the line of the number before */
	uint64_t value = 0, sum = 0;
	char c, before = here ? '\n' : '0';

	while (text_next(t, &c)) {
		char last = before;

		before = c = c == '\t' ? ' ' : c;
		if (c == ' ' && last == ' ')
			continue;
		if (c != ' ' && c != '\n') {
			here = here && (word || !line || line[at++] == c);
			value = c >= '0' && c <= '9' ? value * 10 + (uint64_t)(c - '0') : 0;
			continue;
		}
		here = here && (word || !line || !line[at]);
		if (here && wanted >> word & 1)
			sum += value;
		if (here && wanted >> word == 1)
			return sum;
		value = 0;
		word = c == '\n' ? 0 : word < 63 ? word + 1 : 63;
		if (!word) {
			here = true;
			at = 0;
			sum = 0;
		}
	}
	return UINT64_MAX;
}

static uint64_t number_in(const char *path, const char *line, uint64_t wanted)
{
	struct text t = text_open(path);
	uint64_t number = number_next(&t, line, wanted);

	text_close(&t);
	return number;
}

/* Kernels before 5.9 do not count them: then 2 of any number. */
static uint64_t filters_of(const char *status)
{
	uint64_t n = number_in(status, "Seccomp_filters:", 1 << 1);

	return n == UINT64_MAX ? number_in(status, "Seccomp:", 1 << 1) : n;
}

/* With what the C library's own start asks for, and nothing else: a program that is started where more is forbidden would be killed. */
bool interpose_is_free(uint64_t filters)
{
	uint64_t own = filters_of("/proc/self/status"), usual;

	if (!own || own == UINT64_MAX)
		return !own;
	usual = filters == UINT64_MAX ? filters_of("/proc/1/status") : filters;
	return usual != UINT64_MAX && own <= usual;
}

/* UINT64_MAX: the kernel does not tell. */
static uint64_t cpu_time(clockid_t clock)
{
	struct timespec t = { 0, 0 };

	return interpose_ask(SYS_clock_gettime, clock, (long)&t, 0, 0) == 0 ? (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec
									    : UINT64_MAX;
}

bool interpose_accounts_read(struct interpose_accounts *out, uint64_t *turns, enum record_level level)
{
	struct rusage usage = { .ru_nvcsw = -1 };
	uint64_t before = *turns;

	out->minor_faults = out->major_faults = out->voluntary = out->involuntary = UINT64_MAX;
	out->cpu_ns = cpu_time(CLOCK_THREAD_CPUTIME_ID);
	interpose_ask(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0, 0);
	*turns = (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
	if (level >= RECORD_LEVEL_CAUSES && usage.ru_nvcsw >= 0) {
		out->minor_faults = (uint64_t)usage.ru_minflt;
		out->major_faults = (uint64_t)usage.ru_majflt;
		out->voluntary = (uint64_t)usage.ru_nvcsw;
		out->involuntary = (uint64_t)usage.ru_nivcsw;
	}
	if (out->run_delay_ns != UINT64_MAX && *turns == before && usage.ru_nvcsw >= 0)
		return false; /* it has not left its processor, and so has not waited for one */
	out->run_delay_ns =
	    number_in("/proc/thread-self/schedstat", NULL, 1 << 1); /* the first number is that of the last tick of the kernel's clock */
	return true;
}

uint64_t interpose_loop_ticks(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < LOOP_TRIES; i++) {
		uint64_t start = record_ticks(), took;
		uint32_t x = (uint32_t)start;

		for (int k = 0; k < LOOP_TURNS; k++)
			x = x * 1664525u + 1013904223u;
		__asm__ volatile("" ::"r"(x));
		took = record_ticks() - start;
		least = took < least ? took : least;
	}
	return least;
}

/* ---- what was withheld from the thread ---- */

/* Of all threads of the process: they are in the same control groups. */
static struct {
	bool busy; /* a thread is reading */
	struct interpose_pace pace;
	struct grown {
		uint64_t ns;   /* UINT64_MAX: not known */
		uint64_t told; /* by the group, at last */
	} throttled, io, memory;
	uint64_t id; /* a hash of which they are */
	char groups[GROUPS_BYTES], path[PATH_BYTES];
} own_group = { .throttled = { .ns = UINT64_MAX }, .io = { .ns = UINT64_MAX }, .memory = { .ns = UINT64_MAX } };

/* What a group was told to have had before the process came to it is not the process's. */
static void grow(struct grown *g, uint64_t told, bool same_group)
{
	if (told == UINT64_MAX)
		return;
	if (g->ns == UINT64_MAX)
		__atomic_store_n(&g->ns, 0, __ATOMIC_RELAXED);
	else if (same_group && told > g->told)
		__atomic_store_n(&g->ns, g->ns + (told - g->told), __ATOMIC_RELAXED);
	g->told = told;
}

/* In "2:cpu,cpuacct:/a/b\n0::/c\n" the path of the first hierarchy that is of that controller (""); 0: none. *bytes: its length. */
static const char *group_of(const char *groups, const char *controller, size_t *bytes)
{
	size_t n = strlen(controller);

	for (const char *line = groups; *line;) {
		const char *end = strchrnul(line, '\n'), *at = memchr(line, ':', (size_t)(end - line));
		const char *path = at ? memchr(at + 1, ':', (size_t)(end - at - 1)) : NULL;

		for (const char *name = at ? at + 1 : NULL, *next; path && name <= path; name = next + 1) {
			next = memchr(name, ',', (size_t)(path - name));
			next = next ? next : path;
			if ((size_t)(next - name) == n && memcmp(name, controller, n) == 0) {
				*bytes = (size_t)(end - path - 1);
				return path + 1;
			}
		}
		line = *end ? end + 1 : end;
	}
	return NULL;
}

/* Of the group and all above it. */
static uint64_t throttled_below(const char *root, const char *of, size_t bytes, const char *name, uint64_t unit_ns)
{
	uint64_t sum = UINT64_MAX;
	size_t start = strlen(root), n = start + bytes;

	if (n + sizeof("/cpu.stat") > PATH_BYTES)
		return UINT64_MAX;
	memcpy(own_group.path, root, start);
	memcpy(own_group.path + start, of, bytes);
	for (;; n--) {
		uint64_t one;

		while (n > start && own_group.path[n - 1] == '/')
			n--;
		memcpy(own_group.path + n, "/cpu.stat", sizeof("/cpu.stat"));
		one = number_in(own_group.path, name, 1 << 1);
		if (one != UINT64_MAX)
			sum = (sum == UINT64_MAX ? 0 : sum) + one * unit_ns;
		while (n > start && own_group.path[n - 1] != '/')
			n--;
		if (n <= start)
			return sum;
	}
}

/* Of the group, else of the machine. */
static uint64_t pressure_of(const char *root, const char *name, size_t bytes, const char *file, const char *machine)
{
	size_t start = strlen(root), n = start + bytes;
	uint64_t us = UINT64_MAX;

	if (n + strlen(file) < PATH_BYTES) {
		memcpy(own_group.path, root, start);
		memcpy(own_group.path + start, name, bytes);
		memcpy(own_group.path + n, file, strlen(file) + 1);
		us = number_in(own_group.path, "some", 1 << 4);
	}
	if (us == UINT64_MAX)
		us = number_in(machine, "some", 1 << 4);
	return us == UINT64_MAX ? us : us * 1000;
}

static void group_read(enum record_level level)
{
	long file = interpose_ask(SYS_openat, AT_FDCWD, (long)"/proc/thread-self/cgroup", O_RDONLY | O_CLOEXEC, 0), n = 0;
	size_t bytes = 0, cpu_bytes;
	const char *name, *cpu;
	uint64_t id;
	bool same;

	if (file < 0)
		return;
	n = interpose_ask(SYS_read, file, (long)own_group.groups, GROUPS_BYTES - 1, 0);
	interpose_ask(SYS_close, file, 0, 0, 0);
	own_group.groups[n > 0 ? n : 0] = '\0';
	name = group_of(own_group.groups, "", &bytes);
	cpu = group_of(own_group.groups, "cpu", &cpu_bytes);
	id = interpose_text_hash(own_group.groups);
	same = id == own_group.id;
	own_group.id = id;
	if (cpu)
		grow(&own_group.throttled, throttled_below("/sys/fs/cgroup/cpu", cpu, cpu_bytes, "throttled_time", 1), same);
	else if (name)
		grow(&own_group.throttled, throttled_below("/sys/fs/cgroup", name, bytes, "throttled_usec", 1000), same);
	if (level < RECORD_LEVEL_RESOURCES)
		return;
	grow(&own_group.io, pressure_of("/sys/fs/cgroup", name ? name : "", bytes, "/io.pressure", "/proc/pressure/io"), same);
	grow(&own_group.memory, pressure_of("/sys/fs/cgroup", name ? name : "", bytes, "/memory.pressure", "/proc/pressure/memory"), same);
}

/* All of the time but what was idle, which the kernel times: as using a processor it only counts what its clock's ticks meet there, and
 * so hardly anything of what sleeps at those moments, as one does that waits for others who take turns. UINT64_MAX: not now. */
static uint64_t busy_read(struct text *stat)
{
	static int processors;
	uint64_t now = cpu_time(CLOCK_MONOTONIC), start = record_ticks(), idle = number_next(stat, "cpu", IDLE_WORDS);
	int before = errno, n = __atomic_load_n(&processors, __ATOMIC_RELAXED);

	if (!n)
		__atomic_store_n(&processors, n = get_nprocs(), __ATOMIC_RELAXED);
	errno = before;
	if (idle == UINT64_MAX || now == UINT64_MAX || record_ticks() - start > INTERPOSE_LONG)
		return UINT64_MAX;
	now *= (uint64_t)n;
	return now > idle * TICK_NS ? now - idle * TICK_NS : UINT64_MAX; /* a container may have a clock of its own */
}

/* What the machine does, and what was stolen from the processor on which the thread is, as far as it has been there since the last time. */
static void stat_read(struct interpose_accounts *out, struct interpose_withheld *w)
{
	struct text stat = text_open("/proc/stat");
	uint64_t busy = busy_read(&stat), ticks;
	uint32_t processor = 0;
	char name[32] = "cpu", digits[24];
	const char *number;

	if (busy != UINT64_MAX)
		out->busy_ns = busy;
	interpose_ask(SYS_getcpu, (long)&processor, 0, 0, 0);
	number = record_number(processor, 10, digits);
	memcpy(name + 3, number, strlen(number) + 1);
	ticks = number_next(&stat, name, 1 << 8);
	text_close(&stat);
	if (ticks == UINT64_MAX)
		return;
	if (out->steal_ns == UINT64_MAX)
		out->steal_ns = 0;
	else if (processor == w->processor && ticks > w->ticks)
		out->steal_ns += (ticks - w->ticks) * TICK_NS;
	w->processor = processor;
	w->ticks = ticks;
}

/* Has begun at `start`. */
static void pace_follow(struct interpose_pace *pace, uint64_t start, uint32_t part)
{
	uint64_t usual = interpose_usual(pace->usual, record_ticks() - start, INTERPOSE_LONG), pause = usual * part;

	pace->usual = usual;
	__atomic_store_n(&pace->due, start + (pause > WITHHELD_TICKS ? pause : WITHHELD_TICKS), __ATOMIC_RELAXED);
}

void interpose_withheld_read(struct interpose_accounts *out, struct interpose_withheld *w, enum record_level level, uint64_t now)
{
	stat_read(out, w);
	pace_follow(&w->pace, now, STAT_PART);
	if (now >= __atomic_load_n(&own_group.pace.due, __ATOMIC_RELAXED) &&
	    !__atomic_exchange_n(&own_group.busy, true, __ATOMIC_ACQUIRE)) {
		now = record_ticks();
		group_read(level);
		pace_follow(&own_group.pace, now, GROUP_PART);
		__atomic_store_n(&own_group.busy, false, __ATOMIC_RELEASE);
	}
	out->throttled_ns = __atomic_load_n(&own_group.throttled.ns, __ATOMIC_RELAXED);
	out->own_ns = cpu_time(CLOCK_PROCESS_CPUTIME_ID);
	if (level < RECORD_LEVEL_RESOURCES)
		return;
	out->io_pressure_ns = __atomic_load_n(&own_group.io.ns, __ATOMIC_RELAXED);
	out->memory_pressure_ns = __atomic_load_n(&own_group.memory.ns, __ATOMIC_RELAXED);
}

void interpose_withheld_forked(void)
{
	own_group.busy = false;
	own_group.pace.due = 0;
}

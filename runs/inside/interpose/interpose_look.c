/* Reads facts about a call that its arguments do not contain: the name of its site, the kind of its descriptor, and the kernel's counters
 * for the thread, the process's cgroups and the machine. No function here is a cancellation point or changes errno. */
#include "runs/inside/interpose/interpose.h"
#include "runs/inside/record/record_writer.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <time.h>

#define SITES_LOG2		  12 /* log2 of the maximum number of sites per process */
#define SITES_MAX		  (1u << SITES_LOG2)
#define MODULES_MAX		  32u
#define NAME_BYTES		  (64u + INTERPOSE_PATH_MAX * 17u)
#define FILES_MAX		  1024u
#define FILE_BYTES		  512u /* maximum length of a path */
#define ENDS_MAX		  63u
#define END_BYTES		  128u
#define LOOK_TICKS		  2000000u /* age at which a descriptor is read again, ticks; libc opens and closes some descriptors without a wrapper */
#define LOOK_MASK		  UINT64_C(0xffff)
#define WITHHELD_READ_TICKS_MIN	  50000000u /* minimum time between two readings of withheld time, ticks; about 20 ms */
#define STAT_TIME_SHARE_INVERSE	  4000u	    /* reading /proc/stat takes at most 1/4000 of a thread's time */
#define CGROUP_TIME_SHARE_INVERSE 2000u	    /* reading cgroups takes at most 1/2000 of the time of all threads... */
#define RUN_DELAY_SHARE_INVERSE                                                                                                            \
	200u /* ...or 1/200 of their run-queue delay since the last reading, because a quota may have caused the delay */
#define TICK_NS			   10000000u			 /* unit of /proc/stat on x86-64 and aarch64, ns */
#define IDLE_WORDS		   (1u << 4 | 1u << 5 | 1u << 8) /* columns of /proc/stat with idle time: idle, iowait, steal */
#define LOOP_ITERATIONS		   500
#define LOOP_TRIES		   2 /* the shorter of two tries is rarely interrupted */
#define GROUPS_BYTES		   4096
#define PATH_BYTES		   1024
#define THREAD_TICKS		   50000000u /* age of a thread at its first reading of withheld time, ticks */
#define READING_TIME_SHARE_INVERSE 1000u     /* readings take at most 1/1000 of the time... */
#define PERIOD_MAX		   50000000u /* ...but happen at least every 20 ms; value in ticks */
#define IDLE_LOG2_MAX		   2u
#define LOOP_PERIOD		   12500000u /* time between two readings of the CPU's clock rate, ticks; about 5 ms */

void *interpose_find(const char *name, uintptr_t caller)
{
	struct dl_find_object found;
	void *at = dlsym(RTLD_NEXT, name);

	if (!at && _dl_find_object((void *)caller, &found) == 0)
		at = dlsym(found.dlfo_link_map, name);
	return at;
}

/* Appends a number and the character `behind`. Returns the end of the text. */
static char *number_text(char *at, uint64_t number, unsigned base, char behind)
{
	char digits[24];
	const char *text = record_format_number(number, base, digits);
	size_t n = strlen(text);

	memcpy(at, text, n);
	at[n] = behind;
	return at + n + 1;
}

/* Adds a fact about the process. The key consists of a name and a number, such as "end:3". */
static void interpose_report(struct record_writer *writer, const char *beginning, uint64_t number, const char *value)
{
	char key[64];
	size_t n = strlen(beginning);

	memcpy(key, beginning, n);
	number_text(key + n, number, 10, '\0');
	record_add_info(writer, key, value);
}

/* ---- numbers of sites, shared by all threads ---- */

/* Entry of the table of sites. A thread claims it by setting the key. Other threads use the entry once its number is set. */
struct shared_site {
	uint64_t key;
	uint32_t number_and_2;
};

static struct shared_site shared_sites[SITES_MAX];

/* The first function of a module is written with the build-id. Later functions have "~" and the number of the first one instead. */
static struct named_module {
	uint64_t id; /* hash of the build-id; 0 if the entry is free */
	uint32_t number_and_1;
} modules[MODULES_MAX];

/* Adds a function to the file and returns its number. `file` is the path of the function's library, which is written once per library. */
static uint32_t find_function(struct record_writer *writer, uintptr_t address, const char *id, const char *name, const char *file)
{
	uint64_t hash = interpose_text_hash(id), none = 0;
	char digits[24], short_id[26] = "~";
	struct named_module *m = modules;
	uint32_t number;

	while (m < modules + MODULES_MAX && __atomic_load_n(&m->id, __ATOMIC_ACQUIRE) && m->id != hash)
		m++;
	number = m < modules + MODULES_MAX ? __atomic_load_n(&m->number_and_1, __ATOMIC_ACQUIRE) : 0;
	if (number && m->id == hash) {
		const char *text = record_format_number(number - 1, 10, digits);

		memcpy(short_id + 1, text, strlen(text) + 1);
		return record_add_function(writer, address, short_id, name);
	}
	number = record_add_function(writer, address, id, name);
	if (number != UINT32_MAX && m < modules + MODULES_MAX &&
	    __atomic_compare_exchange_n(&m->id, &none, hash, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		__atomic_store_n(&m->number_and_1, number + 1, __ATOMIC_RELEASE);
		if (*file)
			interpose_report(writer, "module:", number, file);
	}
	return number;
}

/* Writes `name` and, for each call of the path, "<" and the return address relative to its module. */
__attribute__((noinline)) static void path_name(const char *name, const struct interpose_path *path, char out[NAME_BYTES])
{
	size_t at = strnlen(name, 63);

	memcpy(out, name, at);
	for (uint32_t i = 0; i < path->n; i++) {
		struct dl_find_object found;
		uintptr_t base = _dl_find_object((void *)path->at[i], &found) == 0 ? found.dlfo_link_map->l_addr : 0;
		char digits[24];
		const char *text = record_format_number(path->at[i] - base, 16, digits);
		size_t n = strlen(text);

		out[at++] = '<';
		memcpy(out + at, text, n);
		at += n;
	}
	out[at] = '\0';
}

/* Writes "=NAME", the id of a module without a build-id. NAME is the file name of the library `path`, or of the program if `path` is "". */
__attribute__((noinline)) static void file_id(const char *path, char out[RECORD_BUILD_ID_BYTES])
{
	char self[FILE_BYTES];
	const char *slash;
	size_t n;

	if (!*path) {
		long length = interpose_system_call(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)self, sizeof(self) - 1);

		self[length > 0 && length < (long)sizeof(self) - 1 ? length : 0] = '\0';
		path = self;
	}
	slash = strrchr(path, '/');
	path = slash ? slash + 1 : path;
	n = strcspn(path, " \n");
	if (!n || path[n] || n + 2 > RECORD_BUILD_ID_BYTES)
		return;
	*out = '=';
	memcpy(out + 1, path, n + 1);
}

/* Adds a site with its address in the module's file and the module's id. Returns the site's number. */
static uint32_t site_name(struct record_writer *writer, uint64_t key, const char *name)
{
	uintptr_t address = key & ((1ull << INTERPOSE_ADDRESS_BITS) - 1), base = 0;
	char id[RECORD_BUILD_ID_BYTES] = "";
	struct dl_find_object found;

	if (_dl_find_object((void *)address, &found) == 0) {
		const Elf64_Ehdr *elf = found.dlfo_map_start;

		base = found.dlfo_link_map->l_addr;
		if (memcmp(elf->e_ident, ELFMAG, SELFMAG) == 0)
			record_module_id(base, (const Elf64_Phdr *)(const void *)((const char *)elf + elf->e_phoff), elf->e_phnum, id);
		if (!*id)
			file_id(found.dlfo_link_map->l_name, id);
	}
	return *id ? find_function(writer, address - base, id, name, found.dlfo_link_map->l_name)
		   : record_add_function(writer, address - base, "-", name);
}

uint32_t interpose_site_number(struct record_writer *writer, uint64_t key, const char *name, const struct interpose_path *path)
{
	uint64_t id = path ? path->hash : key;
	uint32_t at = (uint32_t)((id * 0x9e3779b97f4a7c15u) >> (64 - SITES_LOG2));

	for (uint32_t i = 0; i < SITES_MAX; i++, at = (at + 1) & (SITES_MAX - 1)) {
		struct shared_site *s = &shared_sites[at];
		uint64_t there = 0;

		if (__atomic_compare_exchange_n(&s->key, &there, id, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			char text[NAME_BYTES];

			if (path)
				path_name(name, path, text);
			__atomic_store_n(&s->number_and_2, site_name(writer, key, path ? text : name) + 2, __ATOMIC_RELEASE);
			return s->number_and_2 - 2;
		}
		if (there == id)
			return __atomic_load_n(&s->number_and_2, __ATOMIC_ACQUIRE) - 2;
	}
	return INTERPOSE_NO_SITE;
}

/* ---- descriptors ---- */

/* Cached reading per descriptor: the counter `kind` in the bits of LOOK_MASK, the ticks of the reading in the others; 0 if never read. */
static uint64_t classified_files[FILES_MAX];

/* Hashes of the device and inode of known pipes and connections. The number of an end is its index + 1. */
static struct {
	uint64_t keys[ENDS_MAX];
	uint32_t n; /* number of entries in use */
} known_ends;

static enum interpose_kind kind_classify(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return INTERPOSE_FILE;
	case S_IFIFO:
		return INTERPOSE_PIPE;
	case S_IFSOCK:
		return INTERPOSE_SOCKET;
	case S_IFCHR:
		return INTERPOSE_CHARACTER;
	case S_IFBLK:
		return INTERPOSE_BLOCK;
	default:
		return INTERPOSE_OTHER;
	}
}

/* Appends " ADDRESS:PORT". IPv6 addresses are in brackets, with all their zeroes. Returns the end; NULL for other address families. */
static char *address_text(char *at, const struct sockaddr_in6 *six)
{
	const struct sockaddr_in *four = (const void *)six;
	const unsigned char *bytes = (const void *)&four->sin_addr;

	*at++ = ' ';
	if (six->sin6_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
		bytes = six->sin6_addr.s6_addr + 12;
	else if (six->sin6_family == AF_INET6) {
		*at++ = '[';
		for (int i = 0; i < 16; i += 2)
			at = number_text(at, (uint64_t)six->sin6_addr.s6_addr[i] << 8 | six->sin6_addr.s6_addr[i + 1], 16,
					 i < 14 ? ':' : ']');
		*at++ = ':';
		return number_text(at, ntohs(six->sin6_port), 10, '\0') - 1;
	} else if (six->sin6_family != AF_INET)
		return NULL;
	for (int i = 0; i < 4; i++)
		at = number_text(at, bytes[i], 10, i < 3 ? '.' : ':');
	return number_text(at, ntohs(six->sin6_port), 10, '\0') - 1; /* both families have the port at the same offset */
}

/* Writes "PID pipe DEVICE:INODE" or "PID inet LOCAL PEER", from which the two ends can be matched. The PID is needed because a child
 * process inherits its parent's lines but numbers its own ends. Returns false if the other end is unknown. */
static bool format_end(int file, const struct stat *now, char out[END_BYTES])
{
	char *at = number_text(out, (uint64_t)interpose_system_call(SYS_getpid, 0, 0, 0, 0), 10, ' ');

	if (S_ISFIFO(now->st_mode)) {
		memcpy(at, "pipe ", 5);
		at = number_text(at + 5, now->st_dev, 10, ':');
		number_text(at, now->st_ino, 10, '\0');
		return true;
	}
	memcpy(at, "inet", 4);
	at += 4;
	for (int peer = 0; at && peer < 2; peer++) {
		struct sockaddr_in6 address = { .sin6_family = AF_UNSPEC };
		socklen_t n = sizeof(address);

		if (interpose_system_call(peer ? SYS_getpeername : SYS_getsockname, file, (long)&address, (long)&n, 0) != 0)
			return false;
		at = address_text(at, &address);
	}
	return at != NULL;
}

static uint32_t end_number(struct record_writer *writer, int file, const struct stat *now)
{
	uint64_t key = interpose_hash_argument(interpose_hash_argument(1, now->st_dev), now->st_ino) | 1;
	uint32_t n = __atomic_load_n(&known_ends.n, __ATOMIC_ACQUIRE), at = 0;
	char text[END_BYTES];

	while (at < n && __atomic_load_n(&known_ends.keys[at], __ATOMIC_RELAXED) != key)
		at++;
	if (at < n || n == ENDS_MAX || !format_end(file, now, text))
		return at < n ? at + 1 : 0;
	at = __atomic_fetch_add(&known_ends.n, 1, __ATOMIC_ACQ_REL); /* another thread may give the same end a second number */
	if (at >= ENDS_MAX) {
		__atomic_store_n(&known_ends.n, ENDS_MAX, __ATOMIC_RELEASE);
		return 0;
	}
	interpose_report(writer, "end:", at + 1, text);
	__atomic_store_n(&known_ends.keys[at], key, __ATOMIC_RELEASE);
	return at + 1;
}

static uint32_t file_inspect(struct record_writer *writer, int file)
{
	struct stat now;
	enum interpose_kind kind;

	if (interpose_system_call(SYS_fstat, file, (long)&now, 0, 0) != 0)
		return INTERPOSE_OTHER;
	kind = kind_classify(now.st_mode);
	return kind | (kind == INTERPOSE_PIPE || kind == INTERPOSE_SOCKET ? end_number(writer, file, &now) << INTERPOSE_KIND_BITS : 0);
}

uint32_t interpose_find_kind(struct record_writer *writer, int file, uint64_t now)
{
	uint64_t known;

	if (file < 0)
		return (uint32_t)(file == INTERPOSE_NO_FILE ? INTERPOSE_NONE : (enum interpose_kind) - file);
	if ((uint32_t)file >= FILES_MAX)
		return file_inspect(writer, file);
	known = __atomic_load_n(&classified_files[file], __ATOMIC_RELAXED);
	if (!known || now - (known & ~LOOK_MASK) > LOOK_TICKS) {
		known = (now & ~LOOK_MASK) | file_inspect(writer, file);
		__atomic_store_n(&classified_files[file], known, __ATOMIC_RELAXED);
	}
	return known & LOOK_MASK;
}

/* ---- the kernel's counters for the thread ---- */

/* State of reading a text file from its start to its end. */
struct text {
	long file, at, bytes;
	char part[512];
};

static struct text text_open(const char *path)
{
	struct text t;

	t.at = t.bytes = 0;
	t.file = interpose_system_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0);
	return t;
}

static void text_close(const struct text *t)
{
	if (t->file >= 0)
		interpose_system_call(SYS_close, t->file, 0, 0, 0);
}

static bool text_next(struct text *t, char *c)
{
	if (t->at == t->bytes) {
		t->bytes = t->file >= 0 ? interpose_system_call(SYS_read, t->file, (long)t->part, sizeof(t->part), 0) : 0;
		t->at = 0;
	}
	if (t->bytes <= 0)
		return false;
	*c = t->part[t->at++];
	return true;
}

/* Returns the sum of some words of the next line whose first word is `line`, or of the first line if `line` is NULL. Bit n of `wanted`
 * selects word n, from 0. Returns UINT64_MAX if there is no such line. */
static uint64_t number_next(struct text *t, const char *line, uint64_t wanted)
{
	unsigned word = 0, at = 0;
	bool here = !t->bytes; /* false if reading continues in a line, after the previous number */
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

static uint64_t read_status_number(const char *path, const char *line, uint64_t wanted)
{
	struct text t = text_open(path);
	uint64_t number = number_next(&t, line, wanted);

	text_close(&t);
	return number;
}

/* Returns the number of seccomp filters. Kernels before 5.9 do not report the number; then returns 2 if there is any filter. */
static uint64_t count_filters(const char *status)
{
	uint64_t n = read_status_number(status, "Seccomp_filters:", 1 << 1);

	return n == UINT64_MAX ? read_status_number(status, "Seccomp:", 1 << 1) : n;
}

static int processors; /* number of CPUs; read at the start, because get_nprocs() needs more stack than some threads have */

/* Uses only system calls that libc makes at its start. A stricter filter would kill the program at the first other call. */
bool interpose_may_call(uint64_t filters)
{
	uint64_t own = count_filters("/proc/self/status"), usual;

	processors = get_nprocs();
	if (!own || own == UINT64_MAX)
		return !own;
	usual = filters == UINT64_MAX ? count_filters("/proc/1/status") : filters;
	return usual != UINT64_MAX && own <= usual;
}

/* Returns the time of a clock, ns; UINT64_MAX if unknown. */
static uint64_t cpu_time(clockid_t clock)
{
	struct timespec t = { 0, 0 };

	return interpose_system_call(SYS_clock_gettime, clock, (long)&t, 0, 0) == 0 ? (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec
										    : UINT64_MAX;
}

/* Reads the members up to `involuntary` by system calls. Updates *turns, the thread's number of context switches. If that number is
 * unchanged, run-queue delay is unchanged too: then skips its reading, which takes 6 of 7 microseconds, and returns false. */
static bool usage_read(struct interpose_usage *out, uint64_t *turns, enum record_level level)
{
	struct rusage usage = { .ru_nvcsw = -1 };
	uint64_t before = *turns;

	out->minor_faults = out->major_faults = out->voluntary = out->involuntary = UINT64_MAX;
	out->cpu_ns = cpu_time(CLOCK_THREAD_CPUTIME_ID);
	interpose_system_call(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0, 0);
	*turns = (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
	if (level >= RECORD_LEVEL_CAUSES && usage.ru_nvcsw >= 0) {
		out->minor_faults = (uint64_t)usage.ru_minflt;
		out->major_faults = (uint64_t)usage.ru_majflt;
		out->voluntary = (uint64_t)usage.ru_nvcsw;
		out->involuntary = (uint64_t)usage.ru_nivcsw;
	}
	if (out->run_delay_ns != UINT64_MAX && *turns == before && usage.ru_nvcsw >= 0)
		return false; /* no context switch, so no run-queue delay */
	out->run_delay_ns = read_status_number("/proc/thread-self/schedstat", NULL,
					       1 << 1); /* the first number, CPU time, is not used because it changes only at timer ticks */
	return true;
}

/* Returns the duration of LOOP_ITERATIONS dependent operations, which take about 2000 CPU cycles, in ticks. */
static uint64_t loop_ticks(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < LOOP_TRIES; i++) {
		uint64_t start = record_ticks(), took;
		uint32_t x = (uint32_t)start;

		for (int k = 0; k < LOOP_ITERATIONS; k++)
			x = x * 1664525u + 1013904223u;
		__asm__ volatile("" ::"r"(x));
		took = record_ticks() - start;
		least = took < least ? took : least;
	}
	return least;
}

/* ---- time withheld from the thread ---- */

/* Values of the process's cgroups, shared by all its threads. */
static struct {
	bool busy; /* true while a thread reads them */
	struct interpose_schedule pace;
	uint64_t waited_ns; /* run-queue delay of all threads since the last reading, ns */
	struct growing_counter {
		uint64_t ns;		 /* increase while the process was in the cgroup; UINT64_MAX if unknown */
		uint64_t reported_value; /* last value that the cgroup reported */
	} throttled, io, memory;
	uint64_t topdown[INTERPOSE_TOPDOWN];
	uint64_t id; /* hash of the process's list of cgroups */
	char groups[GROUPS_BYTES], path[PATH_BYTES];
} own_group = { .throttled = { .ns = UINT64_MAX }, .io = { .ns = UINT64_MAX }, .memory = { .ns = UINT64_MAX } };

/* Adds the increase of a cgroup's value since the last reading, unless the process has joined the cgroup meanwhile. */
static void add_growth(struct growing_counter *g, uint64_t reported_value, bool same_group)
{
	if (reported_value == UINT64_MAX)
		return;
	if (g->ns == UINT64_MAX)
		__atomic_store_n(&g->ns, 0, __ATOMIC_RELAXED);
	else if (same_group && reported_value > g->reported_value)
		__atomic_store_n(&g->ns, g->ns + (reported_value - g->reported_value), __ATOMIC_RELAXED);
	g->reported_value = reported_value;
}

/* Returns the process's path, of length *bytes, in a controller's hierarchy ("": version 2), from /proc/self/cgroup; NULL if none. */
static const char *find_group(const char *groups, const char *controller, size_t *bytes)
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

/* Returns the total throttled time of the cgroup and its ancestors, ns; UINT64_MAX if unknown. */
static uint64_t throttled_ns_with_ancestors(const char *root, const char *of, size_t bytes, const char *name, uint64_t unit_ns)
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
		one = read_status_number(own_group.path, name, 1 << 1);
		if (one != UINT64_MAX)
			sum = (sum == UINT64_MAX ? 0 : sum) + one * unit_ns;
		while (n > start && own_group.path[n - 1] != '/')
			n--;
		if (n <= start)
			return sum;
	}
}

/* Returns the pressure of the cgroup or, if that is unknown, of the machine, ns; UINT64_MAX if both are unknown. */
static uint64_t read_pressure(const char *root, const char *name, size_t bytes, const char *file, const char *machine)
{
	size_t start = strlen(root), n = start + bytes;
	uint64_t us = UINT64_MAX;

	if (n + strlen(file) < PATH_BYTES) {
		memcpy(own_group.path, root, start);
		memcpy(own_group.path + start, name, bytes);
		memcpy(own_group.path + n, file, strlen(file) + 1);
		us = read_status_number(own_group.path, "some", 1 << 4);
	}
	if (us == UINT64_MAX)
		us = read_status_number(machine, "some", 1 << 4);
	return us == UINT64_MAX ? us : us * 1000;
}

static void group_read(enum record_level level)
{
	long file = interpose_system_call(SYS_openat, AT_FDCWD, (long)"/proc/thread-self/cgroup", O_RDONLY | O_CLOEXEC, 0), n = 0;
	size_t bytes = 0, cpu_bytes;
	const char *name, *cpu;
	uint64_t id;
	bool same;

	if (file < 0)
		return;
	n = interpose_system_call(SYS_read, file, (long)own_group.groups, GROUPS_BYTES - 1, 0);
	interpose_system_call(SYS_close, file, 0, 0, 0);
	own_group.groups[n > 0 ? n : 0] = '\0';
	name = find_group(own_group.groups, "", &bytes);
	cpu = find_group(own_group.groups, "cpu", &cpu_bytes);
	id = interpose_text_hash(own_group.groups);
	same = id == own_group.id;
	own_group.id = id;
	if (cpu)
		add_growth(&own_group.throttled, throttled_ns_with_ancestors("/sys/fs/cgroup/cpu", cpu, cpu_bytes, "throttled_time", 1),
			   same);
	else if (name)
		add_growth(&own_group.throttled, throttled_ns_with_ancestors("/sys/fs/cgroup", name, bytes, "throttled_usec", 1000), same);
	if (level < RECORD_LEVEL_RESOURCES)
		return;
	interpose_topdown_read(own_group.topdown);
	add_growth(&own_group.io, read_pressure("/sys/fs/cgroup", name ? name : "", bytes, "/io.pressure", "/proc/pressure/io"), same);
	add_growth(&own_group.memory, read_pressure("/sys/fs/cgroup", name ? name : "", bytes, "/memory.pressure", "/proc/pressure/memory"),
		   same);
}

/* Returns the total time of all CPUs minus their idle time, ns; UINT64_MAX if unknown at the moment. The kernel measures idle time exactly,
 * but samples busy time at timer ticks and so misses programs that sleep at those ticks. */
static uint64_t busy_read(struct text *stat)
{
	uint64_t now = cpu_time(CLOCK_MONOTONIC), start = record_ticks(), idle = number_next(stat, "cpu", IDLE_WORDS);

	if (idle == UINT64_MAX || now == UINT64_MAX || record_ticks() - start > INTERPOSE_WITHHELD_MAX_TICKS)
		return UINT64_MAX;
	now *= (uint64_t)processors;
	return now > idle * TICK_NS ? now - idle * TICK_NS : UINT64_MAX; /* a container may have its own clock */
}

/* Reads the machine's busy time. Adds the current CPU's steal time since the last reading, if the thread was on the same CPU then. */
__attribute__((noinline)) static void stat_read(struct interpose_usage *out, struct interpose_withheld_time *w)
{
	struct text stat = text_open("/proc/stat");
	uint64_t busy = busy_read(&stat), ticks;
	uint32_t processor = 0;
	char name[32] = "cpu", digits[24];
	const char *number;

	if (busy != UINT64_MAX)
		out->busy_ns = busy;
	interpose_system_call(SYS_getcpu, (long)&processor, 0, 0, 0);
	number = record_format_number(processor, 10, digits);
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

/* Returns the updated moving average of durations; `before` is 0 for the first one. A duration above `most`, or above four times the
 * average, was interrupted and is cut to that limit. A minimum would be too short, because the caches rarely hold this code. */
static uint64_t update_usual_duration(uint64_t before, uint64_t took, uint64_t most)
{
	if (!before)
		return took < most ? took : most;
	took = took < 4 * before ? took : 4 * before;
	return before + (took < most ? took : most) / 8 - before / 8;
}

/* Schedules the next reading after a reading that started at `start`. Readings may take 1 / `part` of the time. */
static void update_schedule(struct interpose_schedule *pace, uint64_t start, uint32_t part)
{
	uint64_t usual = update_usual_duration(pace->usual, record_ticks() - start, INTERPOSE_WITHHELD_MAX_TICKS), pause = usual * part;

	pace->usual = usual;
	__atomic_store_n(&pace->due, start + (pause > WITHHELD_READ_TICKS_MIN ? pause : WITHHELD_READ_TICKS_MIN), __ATOMIC_RELAXED);
}

/* Reads the cgroups if that is due, unless another thread is reading them. */
static void group_poll(enum record_level level, uint64_t now)
{
	if (now < __atomic_load_n(&own_group.pace.due, __ATOMIC_RELAXED) || __atomic_exchange_n(&own_group.busy, true, __ATOMIC_ACQUIRE))
		return;
	now = record_ticks();
	__atomic_store_n(&own_group.waited_ns, 0, __ATOMIC_RELAXED);
	group_read(level);
	update_schedule(&own_group.pace, now, CGROUP_TIME_SHARE_INVERSE);
	__atomic_store_n(&own_group.busy, false, __ATOMIC_RELEASE);
}

/* Adds run-queue delay. If it is large enough to justify reading the cgroups, makes that reading due and returns true. */
static bool group_is_due(const struct record_writer *writer, uint64_t more_ns, uint64_t now)
{
	uint64_t waited = __atomic_add_fetch(&own_group.waited_ns, more_ns, __ATOMIC_RELAXED) / 1000u;
	bool due =
	    own_group.pace.usual && waited * (writer->options.ticks_per_s / 1000000u) > own_group.pace.usual * RUN_DELAY_SHARE_INVERSE;

	if (due)
		__atomic_store_n(&own_group.pace.due, now, __ATOMIC_RELAXED);
	return due;
}

/* Reads withheld time and pressure. Takes about 20 microseconds, or more on large machines. Reading the cgroups adds about 50 sometimes. */
static void withheld_read(struct interpose_usage *out, struct interpose_withheld_time *w, enum record_level level, uint64_t now)
{
	stat_read(out, w);
	update_schedule(&w->pace, now, STAT_TIME_SHARE_INVERSE);
	group_poll(level, now);
	out->throttled_ns = __atomic_load_n(&own_group.throttled.ns, __ATOMIC_RELAXED);
	out->own_ns = cpu_time(CLOCK_PROCESS_CPUTIME_ID);
	if (level < RECORD_LEVEL_RESOURCES)
		return;
	out->io_pressure_ns = __atomic_load_n(&own_group.io.ns, __ATOMIC_RELAXED);
	out->memory_pressure_ns = __atomic_load_n(&own_group.memory.ns, __ATOMIC_RELAXED);
	memcpy(out->topdown, own_group.topdown, sizeof(out->topdown));
}

/* ---- resource usage ---- */

/* Returns the requested level. If the level has changed, all values become unknown, and their next reading becomes due. */
static enum record_level update_level(const struct record_writer *writer, struct interpose_readings *l)
{
	uint64_t level = __atomic_load_n(&writer->header->level, __ATOMIC_RELAXED);

	if (level == RECORD_LEVEL_ALL || level > RECORD_LEVEL_RESOURCES)
		level = RECORD_LEVEL_RESOURCES;
	if (level != l->level) {
		memset(&l->accounts, 0xff, sizeof(l->accounts));
		l->withheld.pace.due = l->loop_read_ticks = 0;
		l->level = (enum record_level)level;
	}
	return l->level;
}

/* Returns idle_log2 for `ticks` since the previous reading, which read `cpu_ns`. It scales the share for readings to CPU time. */
static uint32_t idle_log2_of_thread(const struct record_writer *writer, const struct interpose_readings *l, uint64_t ticks, uint64_t cpu_ns)
{
	uint64_t used = (l->accounts.cpu_ns - cpu_ns) * (writer->options.ticks_per_s / 1000000u) / 1000u;
	uint32_t log2 = 0;

	if (cpu_ns != UINT64_MAX && l->accounts.cpu_ns != UINT64_MAX && l->usage_read_ticks)
		while (log2 < IDLE_LOG2_MAX && ticks > used << (log2 + 1))
			log2++;
	return log2;
}

uint64_t interpose_read_usage(const struct record_writer *writer, struct interpose_readings *l, uint64_t now)
{
	uint64_t stopped_ns = __atomic_load_n(&writer->header->stopped_ns, __ATOMIC_RELAXED), most = INTERPOSE_READING_MAX_TICKS, took;
	enum record_level level = update_level(writer, l);
	uint64_t cpu_ns = l->accounts.cpu_ns, delay_ns = l->accounts.run_delay_ns;
	bool left;

	l->accounts.stopped_ns = stopped_ns - 1; /* UINT64_MAX if no other process observes stops */
	l->accounts.run_ns = level < RECORD_LEVEL_CAUSES ? UINT64_MAX : __atomic_load_n(&writer->header->run_ns, __ATOMIC_RELAXED) - 1;
	if (level >= RECORD_LEVEL_RESOURCES && now - l->loop_read_ticks > LOOP_PERIOD) {
		l->accounts.loop_ticks = loop_ticks();
		l->loop_read_ticks = now;
	}
	if (!l->withheld.pace.due) /* skips this reading in threads that end soon */
		l->withheld.pace.due = now + THREAD_TICKS;
	if (level >= RECORD_LEVEL_CAUSES && now >= l->withheld.pace.due) {
		withheld_read(&l->accounts, &l->withheld, level, now);
		most = INTERPOSE_WITHHELD_MAX_TICKS;
		now = record_ticks();
	}
	left = usage_read(&l->accounts, &l->turns, level);
	took = record_ticks() - now;
	if (left)
		l->usual = update_usual_duration(l->usual, took, INTERPOSE_READING_MAX_TICKS);
	if (level >= RECORD_LEVEL_CAUSES && delay_ns != UINT64_MAX && l->accounts.run_delay_ns != UINT64_MAX &&
	    group_is_due(writer, l->accounts.run_delay_ns - delay_ns, now)) {
		group_poll(level, record_ticks());
		l->accounts.throttled_ns = __atomic_load_n(&own_group.throttled.ns, __ATOMIC_RELAXED);
		most = INTERPOSE_WITHHELD_MAX_TICKS;
	}
	l->idle_log2 = idle_log2_of_thread(writer, l, now - l->usage_read_ticks, cpu_ns);
	l->period = l->usual * READING_TIME_SHARE_INVERSE << l->idle_log2;
	if (l->period > PERIOD_MAX)
		l->period = PERIOD_MAX;
	if (l->period < INTERPOSE_READING_PERIOD_TICKS)
		l->period = INTERPOSE_READING_PERIOD_TICKS;
	return most;
}

void interpose_after_fork(void)
{
	own_group.busy = false;
	own_group.pace.due = 0;
	memset(classified_files, 0, sizeof(classified_files));
	memset(&known_ends, 0, sizeof(known_ends));
}

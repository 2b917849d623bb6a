#include "fleet/helper/sampler.h"

#include "fleet/helper/protocol.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROCESSORS_MAX 1000 /* each needs a file and 132 KiB */
#define RING_PAGES     32   /* of data, a power of two: half a second of deep stacks */
#define PLACES_MAX     2048
#define MAPS_MAX       65536
#define FORKS_MAX      65536
#define ENTRIES_MAX    2048
#define NAME_BYTES     256
#define LINE_BYTES     512

/* ---- what is known ---- */

/* A file, or what led into the kernel, and how often it was met. */
struct place {
	char *name;
	bool kernel;
	uint64_t count;
};

struct map {
	uint32_t pid, place;
	uint64_t begin, end;
};

struct parent {
	uint32_t pid, of;
};

/* A function of the kernel by which it is entered. */
struct entry {
	uint64_t begin, end;
	uint32_t place;
};

struct ring {
	int fd;
	struct perf_event_mmap_page *page; /* RING_PAGES of data follow */
};

struct sampler {
	char refused[LINE_BYTES];
	struct ring rings[PROCESSORS_MAX];
	size_t n_rings, page_bytes;
	struct place places[PLACES_MAX];
	size_t n_places;
	struct map *maps;
	size_t n_maps, maps_capacity;
	struct parent *parents;
	size_t n_parents, parents_capacity;
	struct entry entries[ENTRIES_MAX]; /* ascending */
	size_t n_entries;
	uint64_t lost, processes; /* `processes` beside the command's own */
};

enum { PLACE_UNKNOWN, PLACE_OTHER }; /* of user space, of the kernel: for what is not known, or has no room */

static uint32_t place_of(struct sampler *s, const char *name, bool kernel)
{
	for (size_t i = 0; i < s->n_places; i++)
		if (s->places[i].kernel == kernel && strcmp(s->places[i].name, name) == 0)
			return (uint32_t)i;
	if (s->n_places == PLACES_MAX || !(s->places[s->n_places].name = strdup(name)))
		return kernel ? PLACE_OTHER : PLACE_UNKNOWN;
	s->places[s->n_places].kernel = kernel;
	return (uint32_t)s->n_places++;
}

/* Room for one more; false: there is none. */
static bool grow(void **items, size_t n, size_t *capacity, size_t max, size_t bytes)
{
	size_t wanted = *capacity ? 2 * *capacity : 256;
	void *more;

	if (n < *capacity)
		return true;
	if (n >= max || !(more = realloc(*items, wanted * bytes)))
		return false;
	*items = more;
	*capacity = wanted;
	return true;
}

/* ---- the kernel's entries ---- */

/* What a function of the kernel is an entry of; NULL: of nothing. An entry that ends by jumping to the function which does its work has
 * left no trace among the callers: then that one's name tells. */
static const char *entry_name(char *symbol)
{
	static const char *const prefixes[] = { "__x64_sys_", "__do_sys_", "__se_sys_", "ksys_", "do_sys_", "__sys_" };
	static const struct {
		const char *symbol, *entry;
	} rows[] = {
		{ "asm_exc_page_fault", "page_fault" },
		{ "exc_page_fault", "page_fault" },
		{ "asm_common_interrupt", "interrupt" },
		{ "common_interrupt", "interrupt" },
		{ "vm_mmap_pgoff", "mmap" },
		{ "__vm_munmap", "munmap" },
		{ "do_mprotect_pkey", "mprotect" },
		{ "do_madvise", "madvise" },
		{ "vfs_fstatat", "newfstatat" },
		{ "do_statx", "statx" },
		{ "do_faccessat", "faccessat" },
		{ "do_readlinkat", "readlinkat" },
		{ "do_unlinkat", "unlinkat" },
		{ "do_mkdirat", "mkdirat" },
		{ "do_renameat2", "renameat2" },
		{ "do_linkat", "linkat" },
		{ "do_symlinkat", "symlinkat" },
		{ "iterate_dir", "getdents64" },
		{ "kernel_clone", "clone" },
		{ "do_execveat_common", "execve" },
		{ "do_group_exit", "exit_group" },
		{ "do_wait", "wait4" },
		{ "kernel_wait4", "wait4" },
		{ "do_futex", "futex" },
		{ "do_epoll_wait", "epoll_wait" },
		{ "do_epoll_ctl", "epoll_ctl" },
		{ "do_select", "select" },
		{ "do_writev", "writev" },
		{ "do_readv", "readv" },
		{ "do_sendfile", "sendfile" },
		{ "hrtimer_nanosleep", "nanosleep" },
		{ "__schedule", "schedule" },
		{ "schedule_tail", "schedule" },
		{ "do_syscall_64", "boundary" },
		{ "x64_sys_call", "boundary" },
		{ "entry_SYSCALL_64", "boundary" },
		{ "entry_SYSCALL_64_after_hwframe", "boundary" },
		{ "entry_SYSRETQ_unsafe_stack", "boundary" },
		{ "syscall_exit_to_user_mode", "boundary" },
	};

	/* What the compiler has made of it, such as ".isra.0", is no part of the name. */
	symbol[strcspn(symbol, ".")] = '\0';
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(symbol, prefixes[i], strlen(prefixes[i])) == 0)
			return symbol + strlen(prefixes[i]);
	if (strncmp(symbol, "asm_sysvec_", 11) == 0 || strncmp(symbol, "sysvec_", 7) == 0)
		return "interrupt";
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(symbol, rows[i].symbol) == 0)
			return rows[i].entry;
	return NULL;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* From /proc/kallsyms, whose lines ascend; an entry ends where the next symbol begins. */
static void entries_read(struct sampler *s)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	struct entry *open = NULL;
	char line[LINE_BYTES];

	while (file && fgets(line, sizeof(line), file)) {
		char name[NAME_BYTES], kind;
		unsigned long long at;
		const char *entry;

		if (sscanf(line, "%llx %c %255s", &at, &kind, name) != 3 || (kind != 't' && kind != 'T'))
			continue;
		if (open && at > open->begin) {
			open->end = at;
			open = NULL;
		}
		entry = at && !open && s->n_entries < ENTRIES_MAX ? entry_name(name) : NULL;
		if (!entry)
			continue;
		open = &s->entries[s->n_entries++];
		*open = (struct entry){ at, at + 1, place_of(s, entry, true) };
	}
	if (file)
		fclose(file);
	qsort(s->entries, s->n_entries, sizeof(s->entries[0]), compare_entries);
}

static const struct entry *entry_at(const struct sampler *s, uint64_t at)
{
	size_t low = 0, high = s->n_entries;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (s->entries[middle].begin <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && at < s->entries[low - 1].end ? &s->entries[low - 1] : NULL;
}

/* By whom the kernel was entered, among the callers from the innermost on: the outermost system call, for those do work for each other; but
 * a page fault or an interrupt in one is what it is. Every system call passes the boundary; its time is that of no function called there.
 */
static uint32_t entry_of(struct sampler *s, const uint64_t *chain, uint64_t n)
{
	uint32_t place = PLACE_OTHER;

	for (uint64_t i = 0; i < n && chain[i] != (uint64_t)PERF_CONTEXT_USER; i++) {
		const struct entry *entry = entry_at(s, chain[i]);

		if (!entry || (i > 1 && strcmp(s->places[entry->place].name, "boundary") == 0)) /* [0]: PERF_CONTEXT_KERNEL */
			continue;
		place = entry->place;
		if (strcmp(s->places[place].name, "page_fault") == 0 || strcmp(s->places[place].name, "interrupt") == 0)
			return place;
	}
	return place;
}

/* ---- user space ---- */

static uint32_t parent_of(const struct sampler *s, uint32_t pid)
{
	for (size_t i = s->n_parents; i > 0; i--)
		if (s->parents[i - 1].pid == pid)
			return s->parents[i - 1].of;
	return 0;
}

/* The file that the process has mapped there last, or that its parent had before it was forked. */
static uint32_t file_of(struct sampler *s, uint32_t pid, uint64_t at)
{
	for (int depth = 0; pid && depth < 64; depth++) {
		for (size_t i = s->n_maps; i > 0; i--) {
			const struct map *map = &s->maps[i - 1];

			if (map->pid == pid && map->begin <= at && at < map->end)
				return map->place;
		}
		pid = parent_of(s, pid);
	}
	return PLACE_UNKNOWN;
}

/* ---- records ---- */

/* The name that ends a record, without what would end a line of sampler_say(). */
static uint32_t place_of_file(struct sampler *s, char *name)
{
	for (char *c = name; *c; c++)
		*c = (unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c;
	return place_of(s, name, false);
}

static void take_map(struct sampler *s, struct perf_event_header *record)
{
	/* pid, tid, addr, len, pgoff, then 24 bytes of what it is, prot, flags, name */
	char *bytes = (char *)(record + 1);
	struct map map;
	uint64_t length;

	if (record->size < sizeof(*record) + 64 || record->misc & PERF_RECORD_MISC_MMAP_DATA ||
	    !grow((void **)&s->maps, s->n_maps, &s->maps_capacity, MAPS_MAX, sizeof(*s->maps)))
		return;
	memcpy(&map.pid, bytes, sizeof(map.pid));
	memcpy(&map.begin, bytes + 8, sizeof(map.begin));
	memcpy(&length, bytes + 16, sizeof(length));
	map.end = map.begin + length;
	map.place = place_of_file(s, bytes + 64);
	s->maps[s->n_maps++] = map;
}

static void take_fork(struct sampler *s, const struct perf_event_header *record)
{
	uint32_t ids[2]; /* pid, ppid */

	memcpy(ids, record + 1, sizeof(ids));
	s->processes += ids[0] != ids[1];
	if (ids[0] != ids[1] && grow((void **)&s->parents, s->n_parents, &s->parents_capacity, FORKS_MAX, sizeof(*s->parents)))
		s->parents[s->n_parents++] = (struct parent){ ids[0], ids[1] };
}

/* IP, PID and TID, the callers in the kernel. */
static void take_sample(struct sampler *s, const struct perf_event_header *record)
{
	const uint64_t *words = (const uint64_t *)(const void *)(record + 1);
	uint64_t room = (record->size - sizeof(*record)) / sizeof(*words), n;
	uint32_t place = PLACE_UNKNOWN; /* also a virtual machine's code */

	if (room < 3)
		return;
	n = words[2] < room - 3 ? words[2] : room - 3;
	if ((record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
		place = entry_of(s, words + 3, n);
	else if ((record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER)
		place = file_of(s, (uint32_t)words[1], words[0]);
	s->places[place].count++;
}

static void take_lost(struct sampler *s, const struct perf_event_header *record)
{
	uint64_t lost;

	memcpy(&lost, (const char *)(record + 1) + 8, sizeof(lost));
	s->lost += lost;
}

/* Records from the tail to `head`; of two passes the first one takes maps and forks, for samples of other processors rest on them. */
static uint64_t take_ring(struct sampler *s, const struct ring *ring, uint64_t head, bool samples)
{
	const unsigned char *data = (const unsigned char *)ring->page + s->page_bytes;
	uint64_t size = RING_PAGES * s->page_bytes, at = ring->page->data_tail;
	static uint64_t whole[65536 / sizeof(uint64_t)];

	while (head - at >= sizeof(struct perf_event_header)) {
		struct perf_event_header *record = (struct perf_event_header *)(void *)whole;

		memcpy(record, data + at % size, sizeof(*record)); /* records are multiples of 8 bytes, as large as this */
		if (record->size < sizeof(*record) || head - at < record->size)
			break;
		for (uint64_t i = 0; i < record->size; i += sizeof(uint64_t))
			memcpy((char *)whole + i, data + (at + i) % size, sizeof(uint64_t));
		if (record->type == PERF_RECORD_SAMPLE && samples)
			take_sample(s, record);
		else if (record->type == PERF_RECORD_MMAP2 && !samples)
			take_map(s, record);
		else if (record->type == PERF_RECORD_FORK && !samples)
			take_fork(s, record);
		else if (record->type == PERF_RECORD_LOST && !samples)
			take_lost(s, record);
		at += record->size;
	}
	return at;
}

void sampler_drain(struct sampler *s)
{
	uint64_t heads[PROCESSORS_MAX];

	for (size_t i = 0; i < s->n_rings; i++) {
		heads[i] = __atomic_load_n(&s->rings[i].page->data_head, __ATOMIC_ACQUIRE);
		take_ring(s, &s->rings[i], heads[i], false);
	}
	for (size_t i = 0; i < s->n_rings; i++) {
		uint64_t tail = take_ring(s, &s->rings[i], heads[i], true);

		__atomic_store_n(&s->rings[i].page->data_tail, tail, __ATOMIC_RELEASE);
	}
}

/* ---- from the beginning to the end ---- */

static void sampler_refuse(struct sampler *s, int error)
{
	snprintf(s->refused, sizeof(s->refused), "%s perf_event_open: %s", error == EACCES || error == EPERM ? "forbidden" : "refused",
		 strerror(error));
}

/* One processor. Inherited events are counted for each, and begin with the exec() of who inherits them; ours never begins. */
static bool ring_open(struct sampler *s, int processor, bool kernel)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = SAMPLER_PERIOD_NS,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN,
		.disabled = 1,
		.enable_on_exec = 1,
		.inherit = 1,
		.mmap = 1,
		.mmap2 = 1,
		.task = 1,
		.exclude_callchain_user = 1,
		.exclude_kernel = !kernel,
		.exclude_hv = 1,
	};
	struct ring *ring = &s->rings[s->n_rings];

	ring->fd = (int)syscall(SYS_perf_event_open, &attr, 0, processor, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0)
		return false;
	ring->page = mmap(NULL, (1 + RING_PAGES) * s->page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (ring->page == MAP_FAILED) {
		int error = errno;

		close(ring->fd);
		errno = error;
		return false;
	}
	s->n_rings++;
	return true;
}

static void rings_open(struct sampler *s)
{
	long processors = sysconf(_SC_NPROCESSORS_CONF);
	bool kernel = true;

	for (int i = 0; i < processors && i < PROCESSORS_MAX; i++) {
		if (ring_open(s, i, kernel) || errno == ENODEV) /* that is off */
			continue;
		if (kernel && s->n_rings == 0 && (errno == EACCES || errno == EPERM)) {
			kernel = false;
			i--;
			continue;
		}
		sampler_refuse(s, errno);
		return;
	}
	if (processors > PROCESSORS_MAX)
		snprintf(s->refused, sizeof(s->refused), "refused %ld processors are more than %d", processors, PROCESSORS_MAX);
	else if (s->n_rings == 0)
		sampler_refuse(s, ENODEV);
	else if (!kernel)
		place_of(s, "not_allowed", true);
}

struct sampler *sampler_open(void)
{
	struct sampler *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	s->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	if (place_of(s, "?", false) != PLACE_UNKNOWN || place_of(s, "other", true) != PLACE_OTHER)
		abort();
	rings_open(s);
	if (!*s->refused)
		entries_read(s);
	if (s->n_entries == 0)
		place_of(s, "not_named", true);
	return s;
}

void sampler_say(struct sampler *s, struct frames_out *out)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		abort();
	if (*s->refused)
		fprintf(file, "0 %s\n", s->refused);
	else
		fprintf(file, "%d period ns\n%llu processes -\n", SAMPLER_PERIOD_NS, 1 + (unsigned long long)s->processes);
	for (size_t i = 0; i < s->n_places && !*s->refused; i++) {
		const struct place *place = &s->places[i];

		if (place->count > 0 || (place->kernel && strncmp(place->name, "not_", 4) == 0))
			fprintf(file, "%llu %s %s\n", (unsigned long long)place->count, place->kernel ? "kernel" : "user", place->name);
	}
	if (s->lost > 0)
		fprintf(file, "%llu lost -\n", (unsigned long long)s->lost);
	if (fclose(file))
		abort();
	frames_put(out, HELPER_FILE, SAMPLER_FILE_NAME, sizeof(SAMPLER_FILE_NAME), text, size);
	free(text);
}

void sampler_close(struct sampler *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_rings; i++) {
		munmap(s->rings[i].page, (1 + RING_PAGES) * s->page_bytes);
		close(s->rings[i].fd);
	}
	for (size_t i = 0; i < s->n_places; i++)
		free(s->places[i].name);
	free(s->maps);
	free(s->parents);
	free(s);
}

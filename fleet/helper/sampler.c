#include "fleet/helper/sampler.h"

#include "base/clock.h"
#include "base/order.h"
#include "fleet/counting/refused.h"
#include "fleet/helper/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROCESSORS_MAX	     1000 /* maximum number of CPUs, each of which needs a file and 132 KiB */
#define RING_PAGES	     32 /* data pages per ring, a power of two: half a second of deep stacks, and the most that every user may have */
#define RING_PAGES_ALL	     128 /* data pages per ring if the rings have records of all processes of the host */
#define PLACES_MAX	     2048
#define SPOTS_MAX	     32768   /* size of the hash table of addresses, a power of two; each is a line of at most 28 bytes */
#define REORDER_WINDOW_NS    1000000 /* all records that are older than this have been written by their CPUs */
#define ENTRIES_MAX	     2048
#define NAME_BYTES	     48
#define CACHE_PATH_BYTES     48 /* maximum length of the path of the cache file */
#define LINE_BYTES	     512
#define SLICES		     SAMPLER_SLICES
#define SLICE_PERIODS	     4	 /* number of sampling periods per slice at first; it is doubled when there are too many slices */
#define SLICED_SHARE_INVERSE 100 /* a place with at least 1/SLICED_SHARE_INVERSE of all samples is reported per slice and per program */
#define PROGRAMS_MAX	     SAMPLER_PROGRAMS
#define PROGRAM_BYTES	     16 /* the kernel's limit for the name of a program */
#define RANK_MAX	     9999999
#define BUCKETS		     1024  /* number of hash buckets for processes, by pid; a power of two */
#define MAPS_MAX	     65536 /* maximum number of code mappings per process */
#define PROCESSES_MAX	     65536 /* maximum number of live processes */
#define ENDED_MAX	     256   /* number of ended processes that are remembered */

/* Returns `memory`. Aborts if it is NULL. */
static void *require_memory(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

/* ---- kernel entries: system calls, and other ways into the kernel ---- */

/* A kernel function that identifies the way by which the CPU entered the kernel. */
struct entry {
	uint64_t begin, end;
	char name[NAME_BYTES];
};

struct sampler_entries {
	struct entry items[ENTRIES_MAX]; /* [n] entries in ascending order of address */
	size_t n;
};

static const char *const entry_prefixes[] = { "__x64_sys_", "__do_sys_", "__se_sys_", "ksys_", "do_sys_", "__sys_" };

/* More functions that identify an entry. If an entry function ends with a jump to its worker function, it is not among the callers. In that
 * case, the worker function identifies the entry. */
static const struct {
	const char *symbol, *entry;
} entry_rows[] = {
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
	{ "pipe_read", "pipe" },
	{ "pipe_write", "pipe" },
	{ "anon_pipe_read", "pipe" },
	{ "anon_pipe_write", "pipe" },
	{ "fifo_pipe_read", "pipe" },
	{ "fifo_pipe_write", "pipe" },
	{ "sock_read_iter", "socket" },
	{ "sock_write_iter", "socket" },
	{ "vfs_read", "transfer" }, /* shared by files, pipes and sockets */
	{ "vfs_write", "transfer" },
	{ "fdget_pos", "permission" },
	{ "__fdget_pos", "permission" },
	{ "rw_verify_area", "permission" },
	{ "security_file_permission", "permission" },
	{ "__schedule", "schedule" },
	{ "schedule_tail", "schedule" },
	{ "____fput", "close" }, /* runs on the way out of the kernel */
	{ "__seccomp_filter", "filter" },
	{ "seccomp_run_filters", "filter" },
	{ "__secure_computing", "filter" },
	{ "populate_seccomp_data", "filter" },
	{ "syscall_trace_enter", "crossing" }, /* work at the boundary that is not the system call: tracing, auditing, signals */
	{ "syscall_exit_work", "crossing" },
	{ "syscall_slow_exit_work", "crossing" },
	{ "exit_to_user_mode_loop", "crossing" },
	{ "exit_to_user_mode_prepare", "crossing" },
	{ "do_syscall_64", "boundary" },
	{ "x64_sys_call", "boundary" },
	{ "entry_SYSCALL_64", "boundary" },
	{ "entry_SYSCALL_64_after_hwframe", "boundary" },
	{ "entry_SYSRETQ_unsafe_stack", "boundary" },
	{ "syscall_exit_to_user_mode", "boundary" },
	{ "pvm_irq_enable", "boundary" },	 /* pending interrupts arrive here in guests that ask their host to enable interrupts */
	{ "xen_irq_enable_direct", "boundary" }, /* in Xen guests, pending interrupts arrive after this call */
};

/* Returns the name of the entry that a kernel function identifies; NULL if it identifies none. Cuts the symbol at its first dot. */
static const char *entry_name(char *symbol)
{
	/* The compiler adds suffixes such as ".isra.0". */
	symbol[strcspn(symbol, ".")] = '\0';
	for (size_t i = 0; i < sizeof(entry_prefixes) / sizeof(entry_prefixes[0]); i++)
		if (strncmp(symbol, entry_prefixes[i], strlen(entry_prefixes[i])) == 0)
			return symbol + strlen(entry_prefixes[i]);
	if (strncmp(symbol, "asm_sysvec_", 11) == 0 || strncmp(symbol, "sysvec_", 7) == 0)
		return "interrupt";
	for (size_t i = 0; i < sizeof(entry_rows) / sizeof(entry_rows[0]); i++)
		if (strcmp(symbol, entry_rows[i].symbol) == 0)
			return entry_rows[i].entry;
	return NULL;
}

ORDER_BY(compare_entries, struct entry, BY_ASC(begin))

/* ---- cache file of kernel entries ---- */

/* The kernel has about 100,000 symbols. Reading them takes 50 ms, and fills the caches of a CPU before the command starts. So a cache file
 * in memory keeps the needed entries for this user until the machine restarts. */

/* Head of the cache file. The file is valid only for this boot of the kernel and for this program, whose tables select the entries. */
struct cache_header {
	char boot[40], program[256];
};

static void cache_path(char name[CACHE_PATH_BYTES])
{
	snprintf(name, CACHE_PATH_BYTES, "/dev/shm/assay-%u.kernel", (unsigned)geteuid());
}

static bool switch_file(struct cache_header *now)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t boot = -1, program;

	*now = (struct cache_header){ .boot = "" };
	if (fd >= 0) {
		boot = read(fd, now->boot, sizeof(now->boot) - 1);
		close(fd);
	}
	program = readlink("/proc/self/exe", now->program, sizeof(now->program));
	return boot > 0 && program > 0 && (size_t)program < sizeof(now->program);
}

/* Reports whether the addresses ascend and all names are NUL-terminated. */
static bool stored_is_valid(const struct sampler_entries *e)
{
	for (size_t i = 0; i < e->n; i++)
		if (e->items[i].begin >= e->items[i].end || (i > 0 && e->items[i].begin < e->items[i - 1].begin) ||
		    !memchr(e->items[i].name, '\0', NAME_BYTES))
			return false;
	return e->n > 0;
}

/* Reads the cache file. Returns false if there is none, if it is not valid for `now`, or if another user may have written it. */
static bool stored_read(const struct cache_header *now, struct sampler_entries *e)
{
	char name[CACHE_PATH_BYTES];
	struct cache_header then;
	struct stat is;
	ssize_t bytes = -1;
	int fd;

	cache_path(name);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY); /* another user may have put any kind of file there */
	if (fd < 0)
		return false;
	if (fstat(fd, &is) == 0 && S_ISREG(is.st_mode) && is.st_uid == geteuid() && (is.st_mode & 077) == 0 &&
	    read(fd, &then, sizeof(then)) == (ssize_t)sizeof(then) && memcmp(&then, now, sizeof(then)) == 0)
		bytes = read(fd, e->items, sizeof(e->items));
	close(fd);
	e->n = bytes > 0 && (size_t)bytes % sizeof(e->items[0]) == 0 ? (size_t)bytes / sizeof(e->items[0]) : 0;
	return stored_is_valid(e);
}

/* Writes the cache file. If this fails, leaves no file. */
static void stored_write(const struct cache_header *now, const struct sampler_entries *e)
{
	char name[CACHE_PATH_BYTES], new[CACHE_PATH_BYTES + 24];
	size_t bytes = e->n * sizeof(e->items[0]);
	bool whole;
	int fd;

	cache_path(name);
	snprintf(new, sizeof(new), "%s.%ld", name, (long)getpid());
	unlink(new);
	fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	whole = write(fd, now, sizeof(*now)) == (ssize_t)sizeof(*now) && write(fd, e->items, bytes) == (ssize_t)bytes;
	whole = !close(fd) && whole;
	if (!whole || rename(new, name))
		unlink(new);
}

/* ---- reading symbols ---- */

static void entries_read(struct sampler_entries *e)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	struct entry *open = NULL;
	char line[LINE_BYTES];

	while (file && fgets(line, sizeof(line), file)) { /* symbols are in ascending order; an entry ends at the next symbol */
		char *kind, *name; /* "ffffffff81000000 T _stext" or "... t name\t[module]"; the file has hundreds of thousands of lines */
		unsigned long long at = strtoull(line, &kind, 16);
		const char *entry;

		if (*kind != ' ' || (kind[1] != 't' && kind[1] != 'T') || kind[2] != ' ')
			continue;
		name = kind + 3;
		name[strcspn(name, "\t\n")] = '\0';
		if (open && at > open->begin) {
			open->end = at;
			open = NULL;
		}
		entry = at && !open && e->n < ENTRIES_MAX ? entry_name(name) : NULL;
		if (!entry)
			continue;
		open = &e->items[e->n++];
		*open = (struct entry){ .begin = at, .end = at + 1 };
		snprintf(open->name, sizeof(open->name), "%s", entry);
	}
	if (file)
		fclose(file);
	qsort(e->items, e->n, sizeof(e->items[0]), compare_entries);
}

/* Returns the entries from the cache file if it is valid, else from /proc/kallsyms. Returns NULL if the kernel hides its addresses. Aborts
 * if memory is short. */
static struct sampler_entries *sampler_entries_read(void)
{
	struct sampler_entries *e = require_memory(calloc(1, sizeof(*e)));
	struct cache_header now;
	bool known = switch_file(&now);

	if (known && stored_read(&now, e))
		return e;
	memset(e, 0, sizeof(*e));
	entries_read(e);
	if (e->n > 0 && known)
		stored_write(&now, e);
	if (e->n > 0)
		return e;
	free(e);
	return NULL;
}

ORDER_LOWER_BOUND(entry_upper_bound, struct entry, x->begin <= at, uint64_t at)

static const struct entry *entry_at(const struct sampler_entries *e, uint64_t at)
{
	size_t n = entry_upper_bound(e->items, e->n, at);

	return n > 0 && at < e->items[n - 1].end ? &e->items[n - 1] : NULL;
}

static bool is_one_of(const char *name, const char *a, const char *b, const char *c, const char *d)
{
	return strcmp(name, a) == 0 || strcmp(name, b) == 0 || strcmp(name, c) == 0 || strcmp(name, d) == 0;
}

/* Reports whether the kernel had not yet distinguished files, pipes and sockets. `first` is the innermost known caller, element n. */
static bool is_before_transfer(const char *first, uint64_t n, const char *call)
{
	return is_one_of(call, "read", "write", "readv", "writev") &&
	       (strcmp(first, "permission") == 0 || (n == 1 && (strcmp(first, "transfer") == 0 || strcmp(first, call) == 0)));
}

/* Returns the name of the entry for a sample. chain[n] has the callers of PERF_SAMPLE_CALLCHAIN, innermost first. The outermost system call
 * is returned, because system calls use each other. But page faults and interrupts in a system call are returned as such. Pipes and sockets
 * are distinguished from files; "transfer" means not yet. All system calls pass the boundary, so only its functions that trace, audit or
 * end a call are "boundary". Filters of system calls are "filter". "other" means no known caller. */
static const char *sampler_entries_find(const struct sampler_entries *e, const uint64_t *chain, uint64_t n)
{
	const char *place = "other", *first = NULL;
	uint64_t at = 0;

	for (uint64_t i = 0; e && i < n && chain[i] != (uint64_t)PERF_CONTEXT_USER; i++) {
		const struct entry *entry = entry_at(e, chain[i]);

		if (!entry)
			continue;
		at = first ? at : i;
		first = first ? first : entry->name;
		if (is_one_of(entry->name, "transfer", "permission", "", "") ||
		    (i > 1 && strcmp(entry->name, "boundary") == 0)) /* element 0 is PERF_CONTEXT_KERNEL */
			continue;
		if (strcmp(entry->name, "crossing") == 0) {
			place = strcmp(place, "other") == 0 ? "boundary" : place;
			continue;
		}
		place = entry->name;
		if (is_one_of(place, "page_fault", "interrupt", "pipe", "socket") || strcmp(place, "filter") == 0)
			return place;
	}
	return first && is_before_transfer(first, at, place) ? "transfer" : place;
}

/* ---- ranks ---- */

/* On one host, all ranks of a parallel program have the same program name. Environment variables of the launcher distinguish them. */

/* Returns the variables by which this launcher passes ranks to processes, NULL-terminated. NULL if the program is not a launcher. */
static const char *const *rank_variables(const char *program)
{
	static const char *const mpi[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", NULL }, *const slurm[] = { "SLURM_PROCID",
														       NULL };
	static const char *const launchers[] = { "mpirun", "mpiexec", "orterun", "prterun" };

	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (strncmp(program, launchers[i], strlen(launchers[i])) == 0) /* also "mpirun.openmpi" etc. */
			return mpi;
	return strcmp(program, "srun") == 0 ? slurm : NULL;
}

/* Returns the rank in "NAME=VALUE"; -1 if the variable is another one, or the value is not a rank. */
static int64_t rank_in(const char *entry, const char *name)
{
	size_t n = strlen(name);
	char *end;
	long long rank;

	if (strncmp(entry, name, n) != 0 || entry[n] != '=')
		return -1;
	rank = strtoll(entry + n + 1, &end, 10);
	return end == entry + n + 1 || *end || rank < 0 || rank > RANK_MAX ? -1 : rank;
}

/* Returns the rank from the first of `variables` that is set in the process's environment; -1 if none is set or the process has ended. */
static int64_t read_process_rank(uint32_t pid, const char *const *variables)
{
	char path[40], *entry = NULL;
	int64_t rank = -1;
	size_t capacity = 0, first = SIZE_MAX;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	file = fopen(path, "re");
	while (file && getdelim(&entry, &capacity, '\0', file) > 0) {
		for (size_t i = 0; variables[i] && i < first; i++) {
			int64_t found = rank_in(entry, variables[i]);

			if (found >= 0) {
				rank = found;
				first = i;
			}
		}
	}
	if (file)
		fclose(file);
	free(entry);
	return rank;
}

/* ---- mapped files of processes ---- */

/* The mappings of each process follow from the records of fork(), exec() and mmap(), in order of time. */

struct sampler_map {
	uint64_t begin, end, offset; /* offset: position in the file of the address `begin` */
	uint32_t place;		     /* index of the file in sampler.places */
};

/* Mappings that a process shares with the processes that it has forked, until one of them changes its mappings. */
struct shared_mappings {
	size_t users, n, capacity;
	struct sampler_map *items; /* [n] mappings in order of address, without overlap */
};

struct process {
	uint32_t pid, threads; /* threads: number of live threads; 0 if the process has ended */
	uint32_t program;
	struct shared_mappings *space; /* mappings; NULL if there are none */
	struct process *next;
};

struct sampler_maps {
	struct process *buckets[BUCKETS];
	size_t n;
	uint32_t ended[ENDED_MAX]; /* ring buffer of the last ended processes; n_ended is their total number */
	size_t n_ended;
};

static struct sampler_maps *sampler_maps_new(void)
{
	return require_memory(calloc(1, sizeof(struct sampler_maps)));
}

static void space_leave(struct shared_mappings *space)
{
	if (!space || --space->users > 0)
		return;
	free(space->items);
	free(space);
}

/* Returns the pointer that refers to the process. If it is unknown, returns the pointer at the end of its bucket. */
static struct process **process_link(const struct sampler_maps *maps, uint32_t pid)
{
	struct process *const *link = &maps->buckets[pid % BUCKETS];

	while (*link && (*link)->pid != pid)
		link = &(*link)->next;
	return (struct process **)(uintptr_t)link;
}

/* Returns the process, after adding it if it is new. NULL if there are too many. */
static struct process *find_process(struct sampler_maps *maps, uint32_t pid)
{
	struct process **link = process_link(maps, pid);

	if (!*link && maps->n < PROCESSES_MAX) {
		*link = require_memory(calloc(1, sizeof(**link)));
		(*link)->pid = pid;
		(*link)->threads = 1;
		maps->n++;
	}
	return *link;
}

static void process_remove(struct sampler_maps *maps, struct process **link)
{
	struct process *gone = *link;

	*link = gone->next;
	space_leave(gone->space);
	free(gone);
	maps->n--;
}

static void sampler_maps_free(struct sampler_maps *maps)
{
	for (size_t i = 0; maps && i < BUCKETS; i++)
		while (maps->buckets[i])
			process_remove(maps, &maps->buckets[i]);
	free(maps);
}

/* Gives a new process the mappings of its parent. Replaces an earlier process with this pid. If pid == parent, adds a thread instead. */
static void sampler_maps_fork(struct sampler_maps *maps, uint32_t pid, uint32_t parent)
{
	struct process *process = find_process(maps, pid), *of = *process_link(maps, parent);

	if (!process)
		return;
	if (pid == parent) {
		process->threads++;
		return;
	}
	space_leave(process->space);
	process->threads = 1;
	process->program = of ? of->program : 0;
	process->space = of ? of->space : NULL;
	if (process->space)
		process->space->users++;
}

/* Removes all mappings of the process. */
static void sampler_maps_exec(struct sampler_maps *maps, uint32_t pid)
{
	struct process *process = *process_link(maps, pid);

	if (!process)
		return;
	space_leave(process->space);
	process->space = NULL;
}

/* Ends a thread. At the end of its last thread, a process loses its mappings but stays known: the kernel reports the end before it frees
 * the memory, which uses CPU time of the process. Only the last ENDED_MAX ended processes stay known. */
static void sampler_maps_exit(struct sampler_maps *maps, uint32_t pid)
{
	struct process *process = *process_link(maps, pid), **oldest;
	uint32_t *ended = &maps->ended[maps->n_ended % ENDED_MAX];

	if (!process || process->threads == 0 || --process->threads > 0)
		return;
	space_leave(process->space);
	process->space = NULL;
	oldest = process_link(maps, *ended);
	if (maps->n_ended++ >= ENDED_MAX && *oldest && (*oldest)->threads == 0)
		process_remove(maps, oldest);
	*ended = pid;
}

/* Removes a process whose pid has been reused. */
static void sampler_maps_forget(struct sampler_maps *maps, uint32_t pid)
{
	struct process **link = process_link(maps, pid);

	if (*link)
		process_remove(maps, link);
}

/* Sets the index of the process's program, which is initially 0. Forked processes inherit it. */
static void sampler_maps_name(struct sampler_maps *maps, uint32_t pid, uint32_t program)
{
	struct process *process = find_process(maps, pid);

	if (process)
		process->program = program;
}

static uint32_t sampler_maps_find_program(const struct sampler_maps *maps, uint32_t pid)
{
	const struct process *process = *process_link(maps, pid);

	return process ? process->program : 0;
}

static bool sampler_maps_has(const struct sampler_maps *maps, uint32_t pid)
{
	return *process_link(maps, pid) != NULL;
}

/* Returns the index of the first mapping that ends above the address. */
ORDER_LOWER_BOUND(map_upper_bound, struct sampler_map, x->end <= address, uint64_t address)

/* Returns the process's mappings for a change: as its own copy if they are shared, and with room for two more. */
static struct shared_mappings *make_space_private(struct process *process)
{
	struct shared_mappings *shared = process->space, *own = shared;

	if (!shared || shared->users > 1) {
		own = require_memory(calloc(1, sizeof(*own)));
		own->users = 1;
		own->n = shared ? shared->n : 0;
		own->capacity = own->n + 16;
		own->items = require_memory(calloc(own->capacity, sizeof(*own->items)));
		if (own->n)
			memcpy(own->items, shared->items, own->n * sizeof(*own->items));
		space_leave(shared);
		process->space = own;
	}
	if (own->n + 2 > own->capacity) {
		own->capacity *= 2;
		own->items = require_memory(realloc(own->items, own->capacity * sizeof(*own->items)));
	}
	return own;
}

static void space_replace(struct shared_mappings *space, size_t at, size_t removed, const struct sampler_map *with, size_t n)
{
	memmove(space->items + at + n, space->items + at + removed, (space->n - at - removed) * sizeof(*space->items));
	if (n)
		memcpy(space->items + at, with, n * sizeof(*with));
	space->n += n - removed;
}

/* Adds a mapping. It replaces the parts of other mappings that it covers. Returns false if there are too many mappings or processes. */
static bool sampler_maps_add(struct sampler_maps *maps, uint32_t pid, const struct sampler_map *map)
{
	struct process *process = find_process(maps, pid);
	struct sampler_map with[3];
	struct shared_mappings *space;
	size_t first, last, n = 0;
	bool room;

	if (!process || map->end <= map->begin)
		return process != NULL;
	space = make_space_private(process);
	first = map_upper_bound(space->items, space->n, map->begin);
	last = first;
	while (last < space->n && space->items[last].begin < map->end)
		last++;
	if (first < last && space->items[first].begin < map->begin) {
		with[n] = space->items[first];
		with[n++].end = map->begin;
	}
	room = space->n + n + 2 - (last - first) <= MAPS_MAX;
	if (room)
		with[n++] = *map;
	if (first < last && space->items[last - 1].end > map->end) {
		with[n] = space->items[last - 1];
		with[n].offset += map->end - with[n].begin;
		with[n++].begin = map->end;
	}
	space_replace(space, first, last - first, with, n);
	return room;
}

/* Returns the mapping at the address, valid until the next change; NULL if it is unknown. */
static const struct sampler_map *sampler_maps_find(const struct sampler_maps *maps, uint32_t pid, uint64_t address)
{
	const struct process *process = *process_link(maps, pid);
	const struct shared_mappings *space = process ? process->space : NULL;
	size_t at = space ? map_upper_bound(space->items, space->n, address) : 0;

	return space && at < space->n && space->items[at].begin <= address ? &space->items[at] : NULL;
}

/* ---- counts ---- */

/* A file or a kernel entry, with the number of its samples. */
struct place {
	char *name;
	bool kernel;
	uint64_t count, inode; /* inode 0: not a file */
};

/* A code address in a file. */
struct address_count {
	uint64_t offset, count; /* offset in the file; number of samples, 0 if the element is free */
	uint32_t place;
};

struct ring {
	int fd;
	struct perf_event_mmap_page *page; /* start of the ring, followed by ring_bytes of data */
	uint64_t at, head;		   /* read position; end of the records to read */
	uint64_t next_ns;		   /* time of the record at position `at`; UINT64_MAX if there is none */
	bool ours_ended;		   /* true if the last process that ended on this CPU belonged to the command */
	uint32_t last_ended;		   /* pid of that process */
};

/* A program that processes have executed, or a rank that a launcher has started. */
struct program {
	char name[PROGRAM_BYTES];
	uint64_t count;
};

struct sampler {
	char refused[LINE_BYTES];
	struct ring rings[PROCESSORS_MAX];
	size_t n_rings, page_bytes, ring_bytes;
	struct place places[PLACES_MAX];
	size_t n_places;
	uint32_t slices[PLACES_MAX][SLICES];   /* number of samples per place and slice */
	struct program programs[PROGRAMS_MAX]; /* [n_programs]; element 0 has samples before any program, and those that did not fit */
	size_t n_programs;
	const char *const *ranks;		       /* variables that distinguish ranks; NULL if no launcher has run */
	uint32_t by_program[PLACES_MAX][PROGRAMS_MAX]; /* number of samples per place and program */
	uint64_t slice_ns, first_ns, last_ns;	       /* length of a slice; times of the first and the last sample, 0 if there is none */
	struct address_count spots[SPOTS_MAX];
	size_t n_spots;
	struct sampler_maps *maps;
	uint64_t period_ns;
	bool wants_addresses;	       /* count addresses in all files */
	const char *address_directory; /* count addresses in files below this directory; NULL for none */
	bool attached;		       /* the command is not sampled */
	bool whole; /* the rings have records of the whole host; processes that are not in `maps` are not the command's */
	uint32_t command;
	struct sampler_entries *entries;
	uint64_t lost, maps_lost;
	uint64_t processes, threads; /* number of processes and of threads, each without the first one */
};

enum { PLACEHOLDER_UNKNOWN, PLACE_OTHER }; /* places in user space and in the kernel, for samples that are unknown or did not fit */

static uint32_t find_place(struct sampler *s, const char *name, uint64_t inode, bool kernel)
{
	for (size_t i = 0; i < s->n_places; i++)
		if (s->places[i].kernel == kernel && s->places[i].inode == inode && strcmp(s->places[i].name, name) == 0)
			return (uint32_t)i;
	if (s->n_places == PLACES_MAX || !(s->places[s->n_places].name = strdup(name)))
		return kernel ? PLACE_OTHER : PLACEHOLDER_UNKNOWN;
	s->places[s->n_places].kernel = kernel;
	s->places[s->n_places].inode = inode;
	return (uint32_t)s->n_places++;
}

/* ---- user space ---- */

/* Counts an address in a file. If the table is full, does nothing, so that only the file is counted. */
static void address_add(struct sampler *s, uint32_t place, uint64_t offset)
{
	uint64_t hash = (offset + ((uint64_t)place << 40)) * UINT64_C(0x9e3779b97f4a7c15);

	for (uint64_t i = hash >> 32;; i++) {
		struct address_count *address_count = &s->spots[i % SPOTS_MAX];

		if (address_count->count == 0 && s->n_spots == SPOTS_MAX / 2)
			return;
		if (address_count->count == 0) {
			*address_count = (struct address_count){ .offset = offset, .place = place };
			s->n_spots++;
		}
		if (address_count->offset == offset && address_count->place == place) {
			address_count->count++;
			return;
		}
	}
}

static bool is_below(const struct sampler *s, const char *path)
{
	size_t n = s->address_directory ? strlen(s->address_directory) : 0;

	return n > 0 && strncmp(path, s->address_directory, n) == 0 && path[n] == '/';
}

static uint32_t user_place(struct sampler *s, uint32_t pid, uint64_t address)
{
	const struct sampler_map *map = sampler_maps_find(s->maps, pid, address);

	if (map && s->places[map->place].inode && (s->wants_addresses || is_below(s, s->places[map->place].name)))
		address_add(s, map->place, address - map->begin + map->offset);
	return map ? map->place : PLACEHOLDER_UNKNOWN;
}

/* ---- records ---- */

static bool is_sampled_process(const struct sampler *s, uint32_t pid)
{
	return !s->whole || sampler_maps_has(s->maps, pid);
}

/* Replaces bytes that would break a line of sampler_write(). */
static void make_printable(char *name)
{
	for (; *name; name++)
		*name = (unsigned char)*name < ' ' || *name == 0x7f ? '?' : *name;
}

static uint32_t map_place(struct sampler *s, const char *name, uint64_t inode)
{
	return find_place(s, name, *name == '/' && name[1] != '/' ? inode : 0, false);
}

/* Handles a record: pid, tid, address, length, offset, device, inode, its generation, prot, flags, name; then, as in all records, pid,
 * tid, time. */
static void take_map(struct sampler *s, struct perf_event_header *record)
{
	char *bytes = (char *)(record + 1), *name = bytes + 64;
	struct sampler_map map;
	uint64_t length, inode;
	uint32_t pid;

	memcpy(&pid, bytes, sizeof(pid));
	if (record->size < sizeof(*record) + 64 + 24 || record->misc & PERF_RECORD_MISC_MMAP_DATA || !is_sampled_process(s, pid))
		return;
	memcpy(&map.begin, bytes + 8, sizeof(map.begin));
	memcpy(&length, bytes + 16, sizeof(length));
	memcpy(&map.offset, bytes + 24, sizeof(map.offset));
	memcpy(&inode, bytes + 40, sizeof(inode));
	map.end = map.begin + length;
	make_printable(name);
	map.place = map_place(s, name, inode);
	s->maps_lost += !sampler_maps_add(s->maps, pid, &map);
}

/* Returns the index of a program, after adding it if it is new. 0 if there are too many. */
static uint32_t find_program(struct sampler *s, const char *name)
{
	for (size_t i = 1; i < s->n_programs; i++)
		if (strcmp(s->programs[i].name, name) == 0)
			return (uint32_t)i;
	if (s->n_programs == PROGRAMS_MAX)
		return 0;
	snprintf(s->programs[s->n_programs].name, PROGRAM_BYTES, "%s", name);
	return (uint32_t)s->n_programs++;
}

/* Handles the record of an exec(): pid, tid, name. */
static void take_program(struct sampler *s, const struct perf_event_header *record)
{
	char name[PROGRAM_BYTES] = "";
	const char *const *ranks;
	int64_t rank = -1;
	uint32_t pid;

	memcpy(&pid, record + 1, sizeof(pid));
	sampler_maps_exec(s->maps, pid);
	if (record->size < sizeof(*record) + 2 * sizeof(pid) + 1 || !is_sampled_process(s, pid))
		return;
	snprintf(name, sizeof(name), "%.*s", (int)(record->size - sizeof(*record) - 2 * sizeof(pid)),
		 (const char *)(record + 1) + 2 * sizeof(pid));
	make_printable(name);
	ranks = rank_variables(name);
	if (ranks)
		s->ranks = ranks;
	else if (s->ranks)
		rank = read_process_rank(pid, s->ranks);
	if (rank >= 0)
		snprintf(name, sizeof(name), "rank %d", (int)rank);
	sampler_maps_name(s->maps, pid, find_program(s, *name ? name : "?"));
}

/* Handles the record of an exec(), exit or fork: pid, parent's pid, thread, parent's thread, time, ... */
static void take_process(struct sampler *s, struct ring *ring, const struct perf_event_header *record)
{
	uint32_t ids[3];

	memcpy(ids, record + 1, sizeof(ids));
	if (record->type == PERF_RECORD_COMM && record->misc & PERF_RECORD_MISC_COMM_EXEC) {
		take_program(s, record);
	} else if (record->type == PERF_RECORD_EXIT) {
		ring->ours_ended = is_sampled_process(s, ids[0]);
		ring->last_ended = ids[0];
		sampler_maps_exit(s->maps, ids[0]);
	} else if (record->type == PERF_RECORD_FORK && is_sampled_process(s, ids[1])) {
		s->processes += ids[0] != ids[1];
		s->threads++;
		sampler_maps_fork(s->maps, ids[0], ids[1]);
	} else if (record->type == PERF_RECORD_FORK && ids[0] != s->command) {
		sampler_maps_forget(s->maps, ids[0]);
	}
}

static void slices_join(struct sampler *s)
{
	for (size_t i = 0; i < s->n_places; i++) {
		uint32_t *of = s->slices[i];

		for (size_t k = 0; k < SLICES; k++)
			of[k] = k < SLICES / 2 ? of[2 * k] + of[2 * k + 1] : 0;
	}
	s->slice_ns *= 2;
}

static void slice_add(struct sampler *s, uint32_t place, uint64_t time_ns)
{
	s->first_ns = s->first_ns ? s->first_ns : time_ns;
	s->last_ns = time_ns > s->last_ns ? time_ns : s->last_ns; /* records of two CPUs may be slightly out of order */
	time_ns = time_ns > s->first_ns ? time_ns - s->first_ns : 0;
	while (time_ns / s->slice_ns >= SLICES)
		slices_join(s);
	s->slices[place][time_ns / s->slice_ns]++;
}

/* Handles a sample: IP, PID and TID, time, callers in the kernel. While the kernel frees an ended process, samples have no pid. They belong
 * to the last process whose end this CPU reported. */
static void take_sample(struct sampler *s, const struct ring *ring, const struct perf_event_header *record)
{
	const uint64_t *words = (const uint64_t *)(const void *)(record + 1);
	uint64_t room = (record->size - sizeof(*record)) / sizeof(*words), n;
	uint32_t place = PLACEHOLDER_UNKNOWN /* also for code of a virtual machine */, program;

	if (room < 4 || !((uint32_t)words[1] == UINT32_MAX ? ring->ours_ended : is_sampled_process(s, (uint32_t)words[1])))
		return;
	n = words[3] < room - 4 ? words[3] : room - 4;
	if ((record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
		place = find_place(s, sampler_entries_find(s->entries, words + 4, n), 0, true);
	else if ((record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER)
		place = user_place(s, (uint32_t)words[1], words[0]);
	s->places[place].count++;
	program = sampler_maps_find_program(s->maps, (uint32_t)words[1] == UINT32_MAX ? ring->last_ended : (uint32_t)words[1]);
	s->programs[program].count++;
	s->by_program[place][program]++;
	slice_add(s, place, words[2]);
}

static void take_record(struct sampler *s, struct ring *ring, struct perf_event_header *record)
{
	switch (record->type) {
	case PERF_RECORD_SAMPLE:
		take_sample(s, ring, record);
		break;
	case PERF_RECORD_MMAP2:
		take_map(s, record);
		break;
	case PERF_RECORD_LOST:
		s->lost += ((const uint64_t *)(const void *)(record + 1))[1];
		break;
	default:
		take_process(s, ring, record);
	}
}

void sampler_attach(struct sampler *s, pid_t process, size_t threads)
{
	char text[LINE_BYTES * 16], path[64], *at;
	unsigned long long begin, end, offset, inode;
	FILE *maps;
	int name;

	if (!s->whole && !*s->refused)
		snprintf(s->refused, sizeof(s->refused), "forbidden running processes need kernel.perf_event_paranoid 0 or CAP_PERFMON");
	s->processes += s->attached;
	s->threads += threads - !s->attached;
	s->attached = true;
	sampler_maps_fork(s->maps, (uint32_t)process, 0);
	for (size_t i = 1; i < threads; i++)
		sampler_maps_fork(s->maps, (uint32_t)process, (uint32_t)process);
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)process);
	maps = fopen(path, "re");
	if (maps && fgets(text, PROGRAM_BYTES, maps)) {
		text[strcspn(text, "\n")] = '\0';
		make_printable(text);
		sampler_maps_name(s->maps, (uint32_t)process, find_program(s, *text ? text : "?"));
	}
	if (maps)
		fclose(maps);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)process);
	maps = fopen(path, "re");
	while (maps && fgets(text, sizeof(text), maps)) {
		if (sscanf(text, "%llx-%llx %*2c%*[x]%*c %llx %*s %llu %n", &begin, &end, &offset, &inode, &name) < 4)
			continue;
		at = text + name;
		at[strcspn(at, "\n")] = '\0';
		make_printable(at);
		s->maps_lost += !sampler_maps_add(s->maps, (uint32_t)process,
						  &(struct sampler_map){ begin, end, offset, map_place(s, *at ? at : "//anon", inode) });
	}
	if (maps)
		fclose(maps);
}

/* ---- ring buffers ---- */

static void ring_bytes(const struct sampler *s, const struct ring *ring, uint64_t at, void *out, size_t n)
{
	const unsigned char *data = (const unsigned char *)ring->page + s->page_bytes;
	uint64_t size = s->ring_bytes;

	for (size_t i = 0; i < n; i += sizeof(uint64_t)) /* record sizes are multiples of 8, so the end of the ring does not split a word */
		memcpy((char *)out + i, data + (at + i) % size, sizeof(uint64_t));
}

/* Sets next_ns to the time of the next record. */
static void ring_peek(const struct sampler *s, struct ring *ring)
{
	struct perf_event_header record;
	uint64_t left = ring->head - ring->at;

	ring->next_ns = UINT64_MAX;
	if (left < sizeof(record))
		return;
	ring_bytes(s, ring, ring->at, &record, sizeof(record));
	if (record.size < sizeof(record) + 3 * sizeof(uint64_t) || left < record.size)
		ring->at = ring->head; /* damaged record (never seen): skip the rest */
	else if (record.type == PERF_RECORD_SAMPLE)
		ring_bytes(s, ring, ring->at + sizeof(record) + 2 * sizeof(uint64_t), &ring->next_ns, sizeof(uint64_t));
	else
		ring_bytes(s, ring, ring->at + record.size - sizeof(uint64_t), &ring->next_ns, sizeof(uint64_t));
}

static void ring_take(struct sampler *s, struct ring *ring)
{
	static uint64_t whole[65536 / sizeof(uint64_t)];
	struct perf_event_header *record = (struct perf_event_header *)(void *)whole;

	ring_bytes(s, ring, ring->at, record, sizeof(*record));
	ring_bytes(s, ring, ring->at, whole, record->size);
	take_record(s, ring, record);
	ring->at += record->size;
	ring_peek(s, ring);
}

static struct ring *ring_earliest(struct sampler *s)
{
	struct ring *earliest = NULL;

	for (size_t i = 0; i < s->n_rings; i++)
		if (s->rings[i].next_ns != UINT64_MAX && (!earliest || s->rings[i].next_ns < earliest->next_ns))
			earliest = &s->rings[i];
	return earliest;
}

/* Reads the records of all CPUs in order of time, up to end_ns, because a sample depends on earlier records on other CPUs. */
static void rings_take(struct sampler *s, uint64_t end_ns)
{
	struct ring *ring;

	for (size_t i = 0; i < s->n_rings; i++) {
		ring = &s->rings[i];
		ring->at = ring->page->data_tail;
		ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
		ring_peek(s, ring);
	}
	while ((ring = ring_earliest(s)) && ring->next_ns <= end_ns)
		ring_take(s, ring);
	for (size_t i = 0; i < s->n_rings; i++)
		__atomic_store_n(&s->rings[i].page->data_tail, s->rings[i].at, __ATOMIC_RELEASE);
}

void sampler_drain(struct sampler *s, pid_t command)
{
	if (s->command == 0 && s->whole && !s->attached)
		sampler_maps_fork(s->maps, (uint32_t)command, 0);
	s->command = (uint32_t)command;
	rings_take(s, (uint64_t)clock_monotonic_ns() - REORDER_WINDOW_NS);
}

/* ---- start and end ---- */

static void sampler_refuse(struct sampler *s, int error)
{
	char why[LINE_BYTES - 16];

	refusal_explain_process(error, PARANOID_MAX_KERNEL_EVENTS, why, sizeof(why));
	snprintf(s->refused, sizeof(s->refused), "%s %s", error == EACCES || error == EPERM ? "forbidden" : "refused", why);
}

/* Opens the ring of one CPU, for all processes or for those of the command. In the second case, each process inherits its own event, which
 * starts with that process's exec(). The helper's own event never starts. */
static bool ring_open(struct sampler *s, int processor, bool kernel)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = s->period_ns,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
		.disabled = !s->whole,
		.enable_on_exec = !s->whole,
		.inherit = !s->whole,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.exclude_callchain_user = 1,
		.exclude_kernel = !kernel,
		.exclude_hv = 1,
		.exclude_idle = 1,
	};
	struct ring *ring = &s->rings[s->n_rings];

	ring->fd = (int)syscall(SYS_perf_event_open, &attr, s->whole ? -1 : 0, processor, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0)
		return false;
	ring->page = mmap(NULL, s->page_bytes + s->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (ring->page == MAP_FAILED) {
		int error = errno;

		close(ring->fd);
		errno = error;
		return false;
	}
	s->n_rings++;
	return true;
}

/* Opens the rings. A clock per CPU is used if it is permitted, because it also samples short processes. A clock per process starts again in
 * each process, and misses processes with less CPU time than a period. */
static void rings_open(struct sampler *s)
{
	long processors = sysconf(_SC_NPROCESSORS_CONF);
	bool kernel = true;

	s->whole = true;
	s->ring_bytes = RING_PAGES_ALL * s->page_bytes;
	for (int i = 0; i < processors && i < PROCESSORS_MAX; i++) {
		if (ring_open(s, i, kernel) || errno == ENODEV) /* ENODEV: the CPU is offline */
			continue;
		if (s->whole && s->n_rings == 0 && (errno == EACCES || errno == EPERM)) {
			s->whole = false;
			s->ring_bytes = RING_PAGES * s->page_bytes;
			i--;
			continue;
		}
		if (kernel && s->n_rings == 0 && (errno == EACCES || errno == EPERM)) {
			kernel = false;
			i--;
			continue;
		}
		sampler_refuse(s, errno);
		return;
	}
	if (processors > PROCESSORS_MAX)
		snprintf(s->refused, sizeof(s->refused), "refused %ld CPUs are more than %d", processors, PROCESSORS_MAX);
	else if (s->n_rings == 0)
		sampler_refuse(s, ENODEV);
	else if (!kernel)
		find_place(s, "not_allowed", 0, true);
}

struct sampler *sampler_open(bool places, const char *below, uint64_t period_ns)
{
	struct sampler *s = require_memory(calloc(1, sizeof(*s)));

	s->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	s->maps = sampler_maps_new();
	s->wants_addresses = places;
	s->address_directory = below;
	s->period_ns = period_ns ? period_ns : SAMPLER_PERIOD_NS;
	s->slice_ns = SLICE_PERIODS * s->period_ns;
	s->programs[0] = (struct program){ "?", 0 };
	s->n_programs = 1;
	if (find_place(s, "?", 0, false) != PLACEHOLDER_UNKNOWN || find_place(s, "other", 0, true) != PLACE_OTHER)
		abort();
	rings_open(s);
	s->entries = *s->refused ? NULL : sampler_entries_read();
	if (!s->entries)
		find_place(s, "not_named", 0, true);
	return s;
}

ORDER_BY(compare_addresses, struct address_count, BY_ASC(place) BY_ASC(offset))

/* Sorts the addresses. First moves the used elements to the front, because most elements are free. */
static void spots_sort(struct sampler *s)
{
	size_t n = 0;

	for (size_t i = 0; i < SPOTS_MAX && n < s->n_spots; i++)
		if (s->spots[i].count > 0)
			s->spots[n++] = s->spots[i];
	qsort(s->spots, n, sizeof(s->spots[0]), compare_addresses);
}

/* Writes counts as "12,,3": zeros are empty, and trailing zeros are omitted. `left` is the sum of the counts. */
static void write_counts(const char *what, const uint32_t *counts, size_t n, uint64_t left, FILE *file)
{
	fprintf(file, "0 %s ", what);
	for (size_t k = 0; k < n && left > 0; k++) {
		uint32_t count = counts[k];

		left -= count < left ? count : left;
		if (count > 0)
			fprintf(file, "%u", count);
		if (left > 0)
			fputc(',', file);
	}
	fputc('\n', file);
}

/* Writes the programs in order of their indices. */
static void write_programs(const struct sampler *s, FILE *file)
{
	for (size_t i = 0; i < s->n_programs; i++)
		fprintf(file, "%llu program %s\n", (unsigned long long)s->programs[i].count, s->programs[i].name);
}

/* Writes the place's counts per slice and, if there are several programs, per program. */
static void write_rate(const struct sampler *s, size_t place, FILE *file)
{
	write_counts("slices", s->slices[place], SLICES, s->places[place].count, file);
	if (s->n_programs > 2)
		write_counts("programs", s->by_program[place], s->n_programs, s->places[place].count, file);
}

static void write_places(struct sampler *s, FILE *file)
{
	size_t at = 0;
	uint64_t all = 0;

	for (size_t i = 0; i < s->n_places; i++)
		all += s->places[i].count;
	if (all > 0)
		fprintf(file, "%llu slice %llu\n", (unsigned long long)s->slice_ns,
			(unsigned long long)(s->last_ns - s->first_ns + s->period_ns));
	if (all > 0)
		write_programs(s, file);
	for (size_t i = 0; i < s->n_places; i++) {
		const struct place *place = &s->places[i];

		if (place->count > 0 || (place->kernel && strncmp(place->name, "not_", 4) == 0))
			fprintf(file, "%llu %s %s\n", (unsigned long long)place->count, place->kernel ? "kernel" : "user", place->name);
		if (place->count > 0 && place->count >= all / SLICED_SHARE_INVERSE)
			write_rate(s, i, file);
		if (place->count > 0 && place->inode && s->wants_addresses)
			fprintf(file, "%llu inode -\n", (unsigned long long)place->inode);
		for (; at < s->n_spots && s->spots[at].place <= i; at++)
			if (s->spots[at].count > 0 && place->count > 0)
				fprintf(file, "%llu at %llx\n", (unsigned long long)s->spots[at].count,
					(unsigned long long)s->spots[at].offset);
	}
}

/* Returns the text of the result, and its size in *size. The caller frees it. */
static char *write_text(struct sampler *s, size_t *size)
{
	char *text = NULL;
	FILE *file = open_memstream(&text, size);

	if (!file)
		abort();
	if (*s->refused)
		fprintf(file, "0 %s\n", s->refused);
	else
		fprintf(file, "%llu period ns\n%llu processes %s\n%llu threads -\n", (unsigned long long)s->period_ns,
			1 + (unsigned long long)s->processes, s->whole ? "whole" : "-", 1 + (unsigned long long)s->threads);
	if (!*s->refused)
		write_places(s, file);
	if (s->lost > 0)
		fprintf(file, "%llu lost -\n", (unsigned long long)s->lost);
	if (s->maps_lost > 0)
		fprintf(file, "%llu maps_lost -\n", (unsigned long long)s->maps_lost);
	if (fclose(file))
		abort();
	return text;
}

/* Merges the rarest places into "?" or "other" until the removed lines have `bytes` bytes. Returns false if there is nothing to merge. */
static bool merge_rare_places(struct sampler *s, size_t bytes)
{
	for (size_t gone = 0; gone < bytes;) {
		size_t least = s->n_places, to;

		for (size_t i = PLACE_OTHER + 1; i < s->n_places; i++)
			if (s->places[i].count && (least == s->n_places || s->places[i].count < s->places[least].count))
				least = i;
		if (least == s->n_places)
			return gone > 0;
		to = s->places[least].kernel ? PLACE_OTHER : PLACEHOLDER_UNKNOWN;
		for (size_t k = 0; k < SLICES; k++)
			s->slices[to][k] += s->slices[least][k];
		for (size_t k = 0; k < PROGRAMS_MAX; k++)
			s->by_program[to][k] += s->by_program[least][k];
		s->places[to].count += s->places[least].count;
		s->places[least].count = 0;
		gone += sizeof("1 user \n") - 1 + strlen(s->places[least].name);
	}
	return true;
}

/* Removes the rarest addresses until the remaining lines fit in SAMPLER_ADDRESSES_BYTES. */
static void drop_rare_addresses(struct sampler *s)
{
	size_t bytes = SAMPLER_ADDRESSES_BYTES + 1;

	for (uint64_t least = 1; bytes > SAMPLER_ADDRESSES_BYTES; least++) {
		bytes = 0;
		for (size_t i = 0; i < s->n_spots; i++) {
			struct address_count *address_count = &s->spots[i];

			address_count->count = address_count->count < least ? 0 : address_count->count;
			if (address_count->count > 0)
				bytes += (size_t)snprintf(NULL, 0, "%llu at %llx\n", (unsigned long long)address_count->count,
							  (unsigned long long)address_count->offset);
		}
	}
}

void sampler_write(struct sampler *s, struct frames_out *out)
{
	size_t size, most;
	char *text;

	rings_take(s, UINT64_MAX);
	spots_sort(s); /* sorting destroys the hash table, but no sample follows */
	if (!s->wants_addresses)
		drop_rare_addresses(s);
	most = SAMPLER_SUMMARY_BYTES + (s->address_directory ? SAMPLER_ADDRESSES_BYTES : 0);
	while (text = write_text(s, &size), !s->wants_addresses && size > most && merge_rare_places(s, size - most))
		free(text);
	frames_put(out, HELPER_FILE, SAMPLER_FILE_NAME, sizeof(SAMPLER_FILE_NAME), text, size);
	free(text);
}

void sampler_close(struct sampler *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_rings; i++) {
		munmap(s->rings[i].page, s->page_bytes + s->ring_bytes);
		close(s->rings[i].fd);
	}
	for (size_t i = 0; i < s->n_places; i++)
		free(s->places[i].name);
	sampler_maps_free(s->maps);
	free(s->entries);
	free(s);
}

#include "fleet/helper/sampler_entries.h"

#include "base/order.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRIES_MAX 2048
#define LINE_BYTES  512
#define NAME_BYTES  48
#define KEPT_BYTES  48 /* of the name of the file in which they are kept */

/* A function of the kernel by which it is entered. */
struct entry {
	uint64_t begin, end;
	char name[NAME_BYTES];
};

struct sampler_entries {
	struct entry items[ENTRIES_MAX]; /* [n], ascending */
	size_t n;
};

static const char *const entry_prefixes[] = { "__x64_sys_", "__do_sys_", "__se_sys_", "ksys_", "do_sys_", "__sys_" };

/* Beside them: an entry that ends by jumping to the function which does its work has left no trace among the callers, then that one's name
 * tells. */
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
	{ "vfs_read", "transfer" }, /* what is common to files, pipes and sockets: before it is known which */
	{ "vfs_write", "transfer" },
	{ "fdget_pos", "permission" },
	{ "__fdget_pos", "permission" },
	{ "rw_verify_area", "permission" },
	{ "security_file_permission", "permission" },
	{ "__schedule", "schedule" },
	{ "schedule_tail", "schedule" },
	{ "____fput", "close" }, /* on the way out of the kernel */
	{ "__seccomp_filter", "filter" },
	{ "seccomp_run_filters", "filter" },
	{ "__secure_computing", "filter" },
	{ "populate_seccomp_data", "filter" },
	{ "syscall_trace_enter", "crossing" }, /* what the boundary calls beside the system call: tracing, auditing, signals */
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
	{ "pvm_irq_enable", "boundary" },	 /* of guests whose kernel asks its host for this: interrupts that waited come here */
	{ "xen_irq_enable_direct", "boundary" }, /* and when it has returned */
};

/* What a function of the kernel is an entry of; NULL: of nothing. */
static const char *entry_name(char *symbol)
{
	/* What the compiler has made of it, such as ".isra.0", is no part of the name. */
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

ORDER_BY(compare_entries, struct entry, BY_UP(begin))

/* ---- kept ---- */

/* The kernel has a hundred thousand names: to read them takes 50 ms, and leaves a processor's caches full of them to the command that
 * begins then. So those that are wanted are kept until the machine is started anew, in memory, by this user for this user. */

/* What they hold for: this start of the kernel, and this program, whose tables say what is wanted. */
struct kept {
	char boot[40], program[256];
};

static void kept_name(char name[KEPT_BYTES])
{
	snprintf(name, KEPT_BYTES, "/dev/shm/assay-%u.kernel", (unsigned)geteuid());
}

static bool kept_now(struct kept *now)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t boot = -1, program;

	*now = (struct kept){ .boot = "" };
	if (fd >= 0) {
		boot = read(fd, now->boot, sizeof(now->boot) - 1);
		close(fd);
	}
	program = readlink("/proc/self/exe", now->program, sizeof(now->program));
	return boot > 0 && program > 0 && (size_t)program < sizeof(now->program);
}

/* Ascending, and named to their ends. */
static bool kept_is_sound(const struct sampler_entries *e)
{
	for (size_t i = 0; i < e->n; i++)
		if (e->items[i].begin >= e->items[i].end || (i > 0 && e->items[i].begin < e->items[i - 1].begin) ||
		    !memchr(e->items[i].name, '\0', NAME_BYTES))
			return false;
	return e->n > 0;
}

/* False: there is none for now, or it is not this user's own. */
static bool kept_read(const struct kept *now, struct sampler_entries *e)
{
	char name[KEPT_BYTES];
	struct kept then;
	struct stat is;
	ssize_t bytes = -1;
	int fd;

	kept_name(name);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY); /* anybody may have put anything there */
	if (fd < 0)
		return false;
	if (fstat(fd, &is) == 0 && S_ISREG(is.st_mode) && is.st_uid == geteuid() && (is.st_mode & 077) == 0 &&
	    read(fd, &then, sizeof(then)) == (ssize_t)sizeof(then) && memcmp(&then, now, sizeof(then)) == 0)
		bytes = read(fd, e->items, sizeof(e->items));
	close(fd);
	e->n = bytes > 0 && (size_t)bytes % sizeof(e->items[0]) == 0 ? (size_t)bytes / sizeof(e->items[0]) : 0;
	return kept_is_sound(e);
}

/* Whole, or not at all. */
static void kept_write(const struct kept *now, const struct sampler_entries *e)
{
	char name[KEPT_BYTES], new[KEPT_BYTES + 24];
	size_t bytes = e->n * sizeof(e->items[0]);
	bool whole;
	int fd;

	kept_name(name);
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

/* ---- read ---- */

static void entries_read(struct sampler_entries *e)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	struct entry *open = NULL;
	char line[LINE_BYTES];

	while (file && fgets(line, sizeof(line), file)) { /* lines ascend; an entry ends where the next symbol begins */
		char *kind, *name; /* "ffffffff81000000 T _stext" or "... t name\t[module]"; there are hundreds of thousands */
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

struct sampler_entries *sampler_entries_read(void)
{
	struct sampler_entries *e = calloc(1, sizeof(*e));
	struct kept now;
	bool known = kept_now(&now);

	if (!e)
		abort();
	if (known && kept_read(&now, e))
		return e;
	memset(e, 0, sizeof(*e));
	entries_read(e);
	if (e->n > 0 && known)
		kept_write(&now, e);
	if (e->n > 0)
		return e;
	free(e);
	return NULL;
}

void sampler_entries_free(struct sampler_entries *entries)
{
	free(entries);
}

ORDER_FIRST(entry_behind, struct entry, x->begin <= at, uint64_t at)

static const struct entry *entry_at(const struct sampler_entries *e, uint64_t at)
{
	size_t n = entry_behind(e->items, e->n, at);

	return n > 0 && at < e->items[n - 1].end ? &e->items[n - 1] : NULL;
}

static bool is_one_of(const char *name, const char *a, const char *b, const char *c, const char *d)
{
	return strcmp(name, a) == 0 || strcmp(name, b) == 0 || strcmp(name, c) == 0 || strcmp(name, d) == 0;
}

/* The sample met what comes before it is known what is read or written: `first` is the innermost caller that is known, the n-th. */
static bool is_before_transfer(const char *first, uint64_t n, const char *call)
{
	return is_one_of(call, "read", "write", "readv", "writev") &&
	       (strcmp(first, "permission") == 0 || (n == 1 && (strcmp(first, "transfer") == 0 || strcmp(first, call) == 0)));
}

const char *sampler_entries_of(const struct sampler_entries *e, const uint64_t *chain, uint64_t n)
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
		    (i > 1 && strcmp(entry->name, "boundary") == 0)) /* [0]: PERF_CONTEXT_KERNEL */
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

/* What is known about a call besides its arguments: its site's name, its descriptor's kind, the kernel's accounts of its thread. Nothing
 * here is a cancellation point or changes errno. */
#include "runs/inside/interpose/interpose.h"
#include "runs/inside/record/record_writer.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#define SITES_LOG2 12 /* of a process */
#define SITES_MAX  (1u << SITES_LOG2)
#define KINDS_MAX  1024u
#define KIND_TICKS 2000000u /* after which a descriptor is looked at again: libc closes and opens some unseen */

/* The result, or -errno. */
static inline long ask(long number, long a, long b, long c, long d)
{
	long result;
	register long r10 __asm__("r10") = d;

	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return result;
}

void interpose_next(void **kept, const char *name, const char *version)
{
	int before = errno;
	void *found = version ? dlvsym(RTLD_NEXT, name, version) : NULL;

	if (!found)
		found = dlsym(RTLD_NEXT, name);
	if (!found)
		abort(); /* the program could not have been linked */
	errno = before;
	__atomic_store_n(kept, found, __ATOMIC_RELAXED);
}

/* ---- numbers of sites, the same ones for all threads ---- */

/* A place is taken by its key, and of use once its number is there. */
struct shared_site {
	uint64_t key;
	uint32_t number_and_1;
};

static struct shared_site shared_sites[SITES_MAX];

/* The site's address in the module's file, and the module's build-id. */
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
	}
	return record_function(writer, address - base, *id ? id : "-", name);
}

uint32_t interpose_site_number(struct record_writer *writer, uint64_t key, const char *name)
{
	uint32_t at = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> (64 - SITES_LOG2));

	for (uint32_t i = 0; i < SITES_MAX; i++, at = (at + 1) & (SITES_MAX - 1)) {
		struct shared_site *s = &shared_sites[at];
		uint64_t there = 0;

		if (__atomic_compare_exchange_n(&s->key, &there, key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			__atomic_store_n(&s->number_and_1, site_name(writer, key, name) + 1, __ATOMIC_RELEASE);
			return s->number_and_1 - 1;
		}
		if (there == key) /* 0, until its number is there */
			return __atomic_load_n(&s->number_and_1, __ATOMIC_ACQUIRE) - 1;
	}
	return INTERPOSE_NO_SITE;
}

/* ---- descriptors ---- */

static uint64_t kinds[KINDS_MAX]; /* ticks << 3 | kind */

static enum interpose_kind kind_look(int file)
{
	struct stat now;

	if (ask(SYS_fstat, file, (long)&now, 0, 0) != 0)
		return INTERPOSE_OTHER;
	switch (now.st_mode & S_IFMT) {
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

enum interpose_kind interpose_kind_of(int file, uint64_t now)
{
	uint64_t known;

	if (file < 0)
		return file == INTERPOSE_NO_FILE ? INTERPOSE_NONE : (enum interpose_kind) - file;
	if ((uint32_t)file >= KINDS_MAX)
		return kind_look(file);
	known = __atomic_load_n(&kinds[file], __ATOMIC_RELAXED);
	if (!known || now - (known >> 3) > KIND_TICKS) {
		known = now << 3 | kind_look(file);
		__atomic_store_n(&kinds[file], known, __ATOMIC_RELAXED);
	}
	return known & 7;
}

/* ---- the kernel's accounts ---- */

/* The second of the numbers: the first one is that of the last tick of the kernel's clock. UINT64_MAX: the kernel does not tell. */
static uint64_t run_delay(void)
{
	char text[96];
	long file = ask(SYS_openat, AT_FDCWD, (long)"/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC, 0), n = -1;
	uint64_t value = 0;
	long i = 0;

	if (file >= 0) {
		n = ask(SYS_read, file, (long)text, sizeof(text), 0);
		ask(SYS_close, file, 0, 0, 0);
	}
	while (i < n && text[i] != ' ')
		i++;
	if (i + 1 >= n)
		return UINT64_MAX;
	while (++i < n && text[i] >= '0' && text[i] <= '9')
		value = value * 10 + (uint64_t)(text[i] - '0');
	return value;
}

void interpose_accounts_read(struct interpose_accounts *out)
{
	struct timespec cpu = { 0, 0 };
	struct rusage usage;

	*out = (struct interpose_accounts){ UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX };
	if (ask(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)&cpu, 0, 0) == 0)
		out->cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
	out->run_delay_ns = run_delay();
	if (ask(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0, 0) != 0)
		return;
	out->minor_faults = (uint64_t)usage.ru_minflt;
	out->major_faults = (uint64_t)usage.ru_majflt;
	out->voluntary = (uint64_t)usage.ru_nvcsw;
	out->involuntary = (uint64_t)usage.ru_nivcsw;
}

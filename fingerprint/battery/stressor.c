#include "fingerprint/battery/stressor.h"

#define CPU		 CATEGORY_CPU
#define CACHE		 CATEGORY_CPU_CACHE
#define MEMORY		 CATEGORY_MEMORY
#define VM		 CATEGORY_VM
#define OS		 CATEGORY_OS
#define DEVICE		 CATEGORY_DEVICE
#define PIPE		 CATEGORY_PIPE
#define FILESYSTEM	 CATEGORY_FILESYSTEM
#define IO		 CATEGORY_IO
#define NETWORK		 CATEGORY_NETWORK
#define SCHEDULER	 CATEGORY_SCHEDULER
#define INTERRUPT	 CATEGORY_INTERRUPT
#define ONE(a)		 { a }, 1
#define TWO(a, b)	 { a, b }, 2
#define THREE(a, b, c)	 { a, b, c }, 3
#define FOUR(a, b, c, d) { a, b, c, d }, 4

/* Table of stressors, sorted by name. The steady ones are of class cpu, except af-alg (uses the kernel's cryptography), branch, hash and
 * numa (moves pages). The rates of steady stressors repeat within 1.8 % in the median over recorded machines. */
static const struct stressor stressors[] = {
	{ "af-alg", TWO(OS, CPU), false },
	{ "atomic", TWO(CPU, MEMORY), true },
	{ "bigheap", TWO(VM, OS), false },
	{ "branch", ONE(CPU), false },
	{ "brk", TWO(VM, OS), false },
	{ "bsearch", THREE(CPU, CACHE, MEMORY), true },
	{ "cache", ONE(CACHE), false },
	{ "clock", TWO(INTERRUPT, OS), false },
	{ "cpu", ONE(CPU), true },
	{ "crypt", ONE(CPU), true },
	{ "fault", THREE(INTERRUPT, SCHEDULER, OS), false },
	{ "fork", TWO(SCHEDULER, OS), false },
	{ "full", THREE(DEVICE, MEMORY, OS), false },
	{ "futex", TWO(SCHEDULER, OS), false },
	{ "get", ONE(OS), false },
	{ "hash", ONE(CPU), false },
	{ "hdd", THREE(IO, FILESYSTEM, OS), false },
	{ "heapsort", THREE(CPU, CACHE, MEMORY), true },
	{ "hsearch", THREE(CPU, CACHE, MEMORY), true },
	{ "icache", ONE(CACHE), false },
	{ "io", TWO(FILESYSTEM, OS), false },
	{ "lockbus", TWO(CACHE, MEMORY), false },
	{ "longjmp", ONE(CPU), true },
	{ "lsearch", THREE(CPU, CACHE, MEMORY), true },
	{ "malloc", FOUR(MEMORY, CACHE, OS, VM), false },
	{ "matrix", THREE(CPU, CACHE, MEMORY), true },
	{ "memcpy", TWO(MEMORY, CACHE), false },
	{ "memfd", TWO(OS, MEMORY), false },
	{ "mincore", TWO(OS, MEMORY), false },
	{ "mmap", TWO(VM, OS), false },
	{ "mremap", TWO(VM, OS), false },
	{ "msync", TWO(VM, OS), false },
	{ "mutex", TWO(OS, SCHEDULER), false },
	{ "nanosleep", THREE(INTERRUPT, SCHEDULER, OS), false },
	{ "nop", ONE(CPU), true },
	{ "null", THREE(DEVICE, MEMORY, OS), false },
	{ "numa", THREE(MEMORY, CPU, OS), false },
	{ "oom-pipe", TWO(OS, MEMORY), false },
	{ "opcode", TWO(CPU, OS), true },
	{ "pipe", THREE(PIPE, MEMORY, OS), false },
	{ "poll", TWO(SCHEDULER, OS), false },
	{ "pthread", TWO(SCHEDULER, OS), false },
	{ "qsort", THREE(CPU, CACHE, MEMORY), true },
	{ "remap", TWO(MEMORY, OS), false },
	{ "rename", TWO(FILESYSTEM, OS), false },
	{ "resources", TWO(OS, MEMORY), false },
	{ "rmap", TWO(MEMORY, OS), false },
	{ "seek", TWO(IO, OS), false },
	{ "sem", TWO(OS, SCHEDULER), false },
	{ "shm", TWO(VM, OS), false },
	{ "shm-sysv", TWO(VM, OS), false },
	{ "sock", TWO(NETWORK, OS), false },
	{ "stack", TWO(VM, MEMORY), false },
	{ "stackmmap", TWO(VM, MEMORY), false },
	{ "str", THREE(CPU, CACHE, MEMORY), true },
	{ "stream", THREE(MEMORY, CPU, CACHE), true },
	{ "switch", TWO(SCHEDULER, OS), false },
	{ "timer", TWO(INTERRUPT, OS), false },
	{ "tsearch", THREE(CPU, CACHE, MEMORY), true },
	{ "udp", TWO(NETWORK, OS), false },
	{ "urandom", TWO(DEVICE, OS), false },
	{ "utime", TWO(FILESYSTEM, OS), false },
	{ "vecmath", TWO(CPU, CACHE), true },
	{ "vfork", TWO(SCHEDULER, OS), false },
	{ "vm", THREE(VM, MEMORY, OS), false },
	{ "vm-rw", THREE(VM, MEMORY, OS), false },
	{ "vm-splice", THREE(PIPE, VM, OS), false },
	{ "zero", THREE(DEVICE, MEMORY, OS), false },
};

static int compare_name(const void *name, const void *stressor)
{
	return strcmp(name, ((const struct stressor *)stressor)->name);
}

const struct stressor *stressor_find(const char *name)
{
	return bsearch(name, stressors, sizeof(stressors) / sizeof(stressors[0]), sizeof(stressors[0]), compare_name);
}

enum category stressor_category(const char *name)
{
	const struct stressor *stressor = stressor_find(name);

	return stressor ? stressor->categories[0] : CATEGORY_UNKNOWN;
}

const char *category_name(enum category category)
{
	static const char *const names[] = { CATEGORY_ROWS(ROWS_WORD) };

	return names[category];
}

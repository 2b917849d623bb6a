#include "fingerprint/battery/made_of.h"

#include <stdlib.h>
#include <string.h>

#define TABLE_CLASSES 4

/* Table of stressors, sorted by name. The numbers are percentages of samples in one run of the battery `paper`, 1 to 3 s and 17 to 254
 * samples per stressor (stress-ng 0.15.06, Linux 6.18, a virtual machine). Classes below 8 % are omitted. The kinds of computing are from
 * stress-ng's manual. Missing stressors could not run or had too few samples. */
static const struct row {
	const char *name;
	int computing;
	const char *kind;
	struct {
		const char *class;
		int part;
	} kernel[TABLE_CLASSES];
} rows[] = {
	{ "atomic", 98, "other computing", { { NULL, 0 } } },
	{ "bigheap", 14, "other computing", { { "page faults", 51 }, { "mapping memory", 33 } } },
	{ "brk", 12, "other computing", { { "mapping memory", 68 }, { "page faults", 15 } } },
	{ "bsearch", 95, "sorting and searching", { { NULL, 0 } } },
	{ "cache", 73, "memory", { { "page faults", 25 } } },
	{ "cpu", 98, "arithmetic", { { NULL, 0 } } },
	{ "crypt", 96, "cryptography", { { NULL, 0 } } },
	{ "fault", 2, "other computing", { { "mapping memory", 38 }, { "page faults", 22 }, { "file metadata", 17 } } },
	{ "fork", 14, "other computing", { { "processes and signals", 58 }, { "page faults", 23 } } },
	{ "full", 12, "other computing", { { "mapping memory", 45 }, { "page faults", 18 }, { "file metadata", 18 } } },
	{ "futex",
	  10,
	  "other computing",
	  { { "synchronisation", 61 }, { "switching between processes", 13 }, { "entering and leaving the kernel", 11 } } },
	{ "get", 6, "other computing", { { "file metadata", 63 }, { "processes and signals", 10 } } },
	{ "hash", 100, "arithmetic", { { NULL, 0 } } },
	{ "hdd", 27, "other computing", { { "file data", 58 }, { "file metadata", 12 } } },
	{ "heapsort", 96, "sorting and searching", { { NULL, 0 } } },
	{ "hsearch", 97, "sorting and searching", { { NULL, 0 } } },
	{ "icache", 2, "other computing", { { "mapping memory", 94 } } },
	{ "io", 5, "other computing", { { "file data", 84 } } },
	{ "lockbus", 93, "other computing", { { NULL, 0 } } },
	{ "longjmp", 95, "other computing", { { NULL, 0 } } },
	{ "lsearch", 96, "sorting and searching", { { NULL, 0 } } },
	{ "malloc", 14, "other computing", { { "mapping memory", 67 }, { "entering and leaving the kernel", 10 } } },
	{ "matrix", 99, "arithmetic", { { NULL, 0 } } },
	{ "memcpy", 97, "memory", { { NULL, 0 } } },
	{ "memfd", 1, "other computing", { { "mapping memory", 81 }, { "file data", 12 } } },
	{ "mincore", 5, "other computing", { { "mapping memory", 62 }, { "page faults", 21 }, { "entering and leaving the kernel", 11 } } },
	{ "mmap", 16, "other computing", { { "mapping memory", 71 }, { "page faults", 11 } } },
	{ "mremap", 0, "other computing", { { "mapping memory", 97 } } },
	{ "msync", 32, "other computing", { { "mapping memory", 42 }, { "file data", 16 } } },
	{ "mutex", 7, "other computing", { { "synchronisation", 86 } } },
	{ "nop", 98, "other computing", { { NULL, 0 } } },
	{ "null", 9, "other computing", { { "mapping memory", 49 }, { "page faults", 32 } } },
	{ "numa", 2, "other computing", { { NULL, 0 } } },
	{ "opcode", 6, "other computing", { { "processes and signals", 48 }, { "page faults", 21 }, { "mapping memory", 8 } } },
	{ "pipe", 19, "other computing", { { "network and pipes", 53 }, { "switching between processes", 14 } } },
	{ "poll", 17, "other computing", { { "file data", 19 }, { "network and pipes", 19 }, { "time", 14 } } },
	{ "pthread", 10, "other computing", { { "processes and signals", 74 } } },
	{ "qsort", 96, "sorting and searching", { { NULL, 0 } } },
	{ "remap", 5, "other computing", { { "mapping memory", 29 } } },
	{ "resources", 29, "other computing", { { "file metadata", 33 }, { "entering and leaving the kernel", 21 } } },
	{ "rmap", 75, "other computing", { { "mapping memory", 15 } } },
	{ "sem", 22, "other computing", { { "time", 54 }, { "synchronisation", 14 } } },
	{ "shm", 7, "other computing", { { "page faults", 28 }, { "file data", 28 }, { "file metadata", 17 } } },
	{ "shm-sysv", 0, "other computing", { { "mapping memory", 53 }, { "processes and signals", 18 } } },
	{ "sock", 0, "other computing", { { "network and pipes", 76 }, { "file metadata", 11 } } },
	{ "stackmmap", 17, "other computing", { { "processes and signals", 50 }, { "page faults", 24 } } },
	{ "str", 98, "string functions", { { NULL, 0 } } },
	{ "stream", 91, "memory", { { NULL, 0 } } },
	{ "switch", 4, "other computing", { { "network and pipes", 64 }, { "switching between processes", 14 }, { "file data", 9 } } },
	{ "timer", 1, "other computing", { { "time", 47 } } },
	{ "tsearch", 99, "sorting and searching", { { NULL, 0 } } },
	{ "udp", 2, "other computing", { { "network and pipes", 76 }, { "switching between processes", 11 } } },
	{ "urandom", 0, "other computing", { { "file data", 47 }, { "mapping memory", 35 } } },
	{ "vecmath", 99, "arithmetic", { { NULL, 0 } } },
	{ "vm", 60, "memory", { { "mapping memory", 23 }, { "page faults", 16 } } },
	{ "vm-rw", 0, "other computing", { { NULL, 0 } } },
	{ "vm-splice", 19, "other computing", { { "file data", 74 } } },
	{ "zero", 23, "other computing", { { "mapping memory", 42 }, { "file data", 17 } } },
};

static int compare_name(const void *name, const void *row)
{
	return strcmp(name, ((const struct row *)row)->name);
}

static const struct row *row_find(const char *name)
{
	return bsearch(name, rows, sizeof(rows) / sizeof(rows[0]), sizeof(rows[0]), compare_name);
}

const char *composition_find_kind(const char *name)
{
	const struct row *row = row_find(name);

	return row ? row->kind : "other computing";
}

struct composition composition_find(const char *name)
{
	const struct row *row = row_find(name);
	struct composition m = { .kind = row ? row->kind : NULL, .computing = row ? .01 * row->computing : 0.0 };

	while (row && m.n < TABLE_CLASSES && row->kernel[m.n].class) {
		m.kernel[m.n].class = row->kernel[m.n].class;
		m.kernel[m.n].part = .01 * row->kernel[m.n].part;
		m.n++;
	}
	return m;
}

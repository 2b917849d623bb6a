/* Format of sample files. Libraries inside the measured program write them (runs/inside/probe, runs/inside/emulate, runs/inside/interpose).
 * runs/inside/samples/samples.h reads them. A sample contains the counts of one invocation of one selected function.
 *
 * Each process, including each child of fork(), has one file, DIRECTORY/PID-N.samples. The process maps it and writes in place, so complete
 * samples survive if it is killed. Numbers are little-endian. The sizes of all structs are multiples of 8 bytes.
 *
 *   record_header, then the names (text), then chunks of chunk_bytes each, the first at header_bytes + names_bytes_max
 *
 * The names are lines. "c NAME\n" is a counter. Counters have the order of a sample's values and precede the first sample. "f ADDRESS
 * MODULE NAME\n" is a function. Its number is its position among the "f" lines, from 0. ADDRESS is hexadecimal and relative to the module's
 * file. MODULE is a build-id, "~N" (the module of function N) or "-". "i KEY VALUE\n" is a fact about the process, such as its program. In
 * version 3, two hexadecimal check digits follow the first letter: record_check_byte() of the rest of the line without "\n". */
#ifndef RUNS_RECORD_H
#define RUNS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RECORD_MAGIC		 "assayrec" /* magic number of a sample file: 8 bytes, without the NUL */
#define RECORD_MAGIC_PRE_RELEASE "assaysmp" /* magic number of pre-release files, which are refused */
#define RECORD_VERSION		 1u
#define RECORD_VERSION_BRIEF	 2u	     /* version whose samples are struct record_brief, without counters */
#define RECORD_VERSION_PACKED	 3u	     /* version with packed samples (record_pack.h) and with checksums of the constant parts */
#define RECORD_CHECKED_BYTES	 56u	     /* size of the first part of the header, which `check` covers */
#define RECORD_CHUNK_MAGIC	 0x4b4e4843u /* "CHNK" */
#define RECORD_COUNTERS_MAX	 64u
#define RECORD_FUNCTIONS_MAX	 65536u
#define RECORD_NAMES_BYTES_MAX	 (8u << 20)
#define RECORD_CHUNK_BYTES_MAX	 (16u << 20)

enum record_back_end {
	RECORD_TIME,	 /* time stamps, no counters */
	RECORD_PAPI,	 /* CPU counters, read by PAPI */
	RECORD_SOFTWARE, /* kernel counters, and PAPI's software counters */
	RECORD_EMULATED, /* counters of runs/inside/emulate/; not comparable with other back ends */
	RECORD_CALLS,	 /* recorded calls of runs/inside/interpose/; the headers of these files have RECORD_TIME */
};

/* Sets of operating system counters that a process reads (runs/inside/interpose/). Apart from ALL, each includes the previous one. */
enum record_level {
	RECORD_LEVEL_ALL,      /* all counters; cannot be changed from outside */
	RECORD_LEVEL_TIMES,    /* CPU time and run-queue delay of threads */
	RECORD_LEVEL_CAUSES,   /* also: time in which threads could not run, by cause; page faults, context switches */
	RECORD_LEVEL_RESOURCES /* also: pressure on disks and memory, CPU clock rate */
};

struct record_header {
	char magic[8];
	uint32_t version, back_end;
	uint32_t header_bytes, names_bytes_max; /* sizes, multiples of 4096 */
	uint32_t chunk_bytes;			/* size of a chunk, a multiple of 4096 */
	uint32_t n_counters;
	uint64_t pid, started_ns; /* started_ns: start of the file, ns since 1970 */
	uint64_t started_ticks;	  /* start of the file, ticks of the time stamps */
	uint64_t ticks_per_s;	  /* rate of the time stamps, ticks per second */
	uint64_t names_bytes;	  /* size of the names so far; updated after the text is written */
	uint64_t chunks;	  /* number of chunks so far */
	uint64_t dropped;	  /* number of samples that were dropped while their thread had no chunk */
	uint64_t finished;	  /* 1 if the process ended normally, otherwise 0 */
	uint64_t stopped_ns; /* 1 + ns for which the process was stopped; 0 if unknown. Written by another process (fleet/cgroup/stops.h) */
	uint64_t level;	     /* enum record_level; another process may change it, unless it is RECORD_LEVEL_ALL */
	uint64_t run_ns;     /* 1 + CPU time of all processes of the run on this host, ns; 0 if unknown. Written by another process */
	/* Only in version 3: first value of ticks_per_s, and the checksum of the constant part (record_header_check()). */
	uint64_t ticks_per_s_first, check;
};

#define RECORD_READINGS_OFFSET 256u /* offset in the header's first 4096 bytes at which another process writes its readings */
/* Initializer of struct process_monitor_offsets (fleet/cgroup/stops.h): offsets of the fields that the other process reads and writes. */
#define RECORD_MONITOR_OFFSETS                                                                                                             \
	{                                                                                                                                  \
		offsetof(struct record_header, pid), offsetof(struct record_header, finished), offsetof(struct record_header, stopped_ns), \
		    offsetof(struct record_header, run_ns), RECORD_READINGS_OFFSET                                                         \
	}

/* Head of a chunk, which contains samples of one thread. If it is full, the thread takes another. `magic` is 0 if the chunk is unused. */
struct record_chunk {
	uint32_t magic, thread; /* thread: number of the thread, from 0, in the order in which threads took their first chunk */
	uint64_t samples;	/* number of complete samples in the chunk; updated after each sample is written */
	uint64_t dropped;	/* number of samples that the thread dropped while this was its chunk */
};

/* Flags of a sample. They say how the invocation ended, and whether the sample is a total instead of an invocation. */
#define RECORD_UNWOUND	 1u  /* ended by longjmp(), an exception or the thread's end; the duration lasts until this was noticed */
#define RECORD_ESTIMATED 2u  /* time of nested calls is an estimate, because some functions were sampled at a fraction of their calls */
#define RECORD_TOTAL	 4u  /* not an invocation, but the total of the thread's calls of the function; see below */
#define RECORD_ERROR	 8u  /* RECORD_TOTAL only: contains the standard errors of the total instead of its sums */
#define RECORD_NESTED	 32u /* RECORD_TOTAL only: the sums include nested calls */
#define RECORD_NO_CALLER UINT32_MAX
#define RECORD_LATE	 16u /* RECORD_UNWOUND only: the end was noticed so late that time and counts are unknown */

/* Fields of a total (RECORD_TOTAL): `ordinal` is the number of calls of the function in the thread. `counters` are sums over these calls,
 * without nested calls of selected functions; UINT64_MAX if unknown. Simulated counters are estimates. Duration and weight are 0. With
 * RECORD_NESTED, the sums include nested calls. A recursive call counts again in each call around it, as in samples. If the file has "i
 * totals nested", a function without a nested total called no selected function. With RECORD_ERROR, `ordinal` is 0 and `counters` are
 * standard errors. `weight` is then the number of bursts of simulated windows from which the errors were computed. */

/* A sample. Samples of a thread are in the order in which their invocations ended, so a nested invocation precedes the outer one.
 * runs/inside/samples/samples.c needs this order to compute the time in the function itself. */
struct record_sample {
	uint32_t function;	  /* number of the function, from 0 */
	uint32_t weight;	  /* number of calls that the sample represents: one of `weight` calls was sampled */
	uint64_t ordinal;	  /* number of the call among the thread's calls of the function, from 0 */
	uint64_t start, duration; /* start and duration, ticks */
	uint32_t depth;		  /* number of sampled invocations of this thread that were active around this one */
	uint32_t threads;	  /* number of living threads of the process at the end of the call; 0 if unknown */
	uint32_t flags;		  /* RECORD_UNWOUND and other flags */
	uint32_t caller;     /* 1 + number of the selected function that called this one; RECORD_NO_CALLER if there is none; 0 if unknown */
	uint64_t counters[]; /* [n_counters] counts, including nested calls; UINT64_MAX if not counted */
};

/* A sample in files without counters. It has two thirds of the size, because storing is the main cost of a sample. */
struct record_brief {
	uint16_t function;
	uint8_t weight_log2; /* log2 of the weight; 0 with RECORD_TOTAL */
	uint8_t flags;
	uint16_t depth, threads; /* threads: 65535 represents 65535 or more */
	uint64_t ordinal, start, duration;
};

/* Reports whether a symbol belongs to the C++ library. Templates of the library that are instantiated with a lambda of the program belong
 * to the program. The emulation attributes the costs of library functions to their callers. */
static inline bool record_is_library(const char *symbol)
{
	const char *name = symbol + 2;

	if (strncmp(symbol, "_Z", 2) != 0 || strstr(symbol, "Ul"))
		return false;
	name += strspn(name, "NKVRO");
	return (name[0] == 'S' && name[1] >= 'a' && name[1] <= 'z') || strncmp(name, "9__gnu_cxx", 10) == 0;
}

/* Returns the FNV-1a hash (Fowler, Noll and Vo) of bytes[n], continued from `hash`. `hash` is 0 at the start. */
static inline uint64_t record_hash(uint64_t hash, const void *bytes, size_t n)
{
	const unsigned char *at = (const unsigned char *)bytes;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ 0xcbf29ce484222325u ^ at[i]) * 0x100000001b3u;
	return hash;
}

/* Returns the check byte of a hash, which is never 0. Damaged data passes the check in 1 of 255 cases. */
static inline unsigned char record_check_byte(uint64_t hash)
{
	return (unsigned char)((hash >> 32) % 255 + 1);
}

static inline uint64_t record_header_check(const struct record_header *h)
{
	return record_hash(record_hash(0, h, RECORD_CHECKED_BYTES), &h->ticks_per_s_first, sizeof(h->ticks_per_s_first));
}

_Static_assert(offsetof(struct record_header, ticks_per_s) == RECORD_CHECKED_BYTES, "what may change comes after what is checked");
_Static_assert(sizeof(struct record_header) == 136, "the file's layout");
_Static_assert(sizeof(struct record_chunk) == 24, "the file's layout");
_Static_assert(sizeof(struct record_sample) == 48, "the file's layout");
_Static_assert(sizeof(struct record_brief) == 32, "the file's layout");

#endif

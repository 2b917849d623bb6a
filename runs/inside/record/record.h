/* The format of sample files. Libraries in users' processes write them (runs/inside/probe, runs/inside/emulate, runs/inside/interpose), and
 * runs/inside/samples/samples.h reads them. A sample holds the counts of one dynamic invocation of one selected function.
 *
 * A file is mapped and written in place, so samples are complete if the process is killed. Each process has one file
 * (DIRECTORY/PID-N.samples), also a child of fork(). Little-endian; the sizes of all structs are multiples of 8 bytes.
 *
 *   record_header, then the names (text), then chunks of chunk_bytes each, the first at header_bytes + names_bytes_max
 *
 * Names are appended lines. "c NAME\n": a counter, in the order of the samples' values; all come before the first sample. "f ADDRESS MODULE
 * NAME\n": a function, numbered by its position among the "f" lines, from 0. ADDRESS: hexadecimal, in the module's file. MODULE: build-id,
 * "~N" (that of function N) or "-". "i KEY VALUE\n": a fact about the process, such as program and arguments. In version 3, two hexadecimal
 * digits follow the first letter: record_check_byte() of the line's record_check(), without them and the line end. */
#ifndef RUNS_RECORD_H
#define RUNS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RECORD_MAGIC		 "assayrec" /* 8 bytes, without the NUL */
#define RECORD_MAGIC_PRE_RELEASE "assaysmp" /* magic of files that are refused */
#define RECORD_VERSION		 1u
#define RECORD_VERSION_BRIEF	 2u	     /* samples have no counters: struct record_brief */
#define RECORD_VERSION_PACKED	 3u	     /* samples are packed (record_pack.h); constant parts have checks */
#define RECORD_CHECKED_BYTES	 56u	     /* size of the first part of the header, which its check covers */
#define RECORD_CHUNK_MAGIC	 0x4b4e4843u /* "CHNK" */
#define RECORD_COUNTERS_MAX	 64u
#define RECORD_FUNCTIONS_MAX	 65536u
#define RECORD_NAMES_BYTES_MAX	 (8u << 20)
#define RECORD_CHUNK_BYTES_MAX	 (16u << 20)

enum record_back_end {
	RECORD_TIME,	 /* time stamps only */
	RECORD_PAPI,	 /* CPU counters through PAPI */
	RECORD_SOFTWARE, /* kernel counters and PAPI's software counters */
	RECORD_EMULATED, /* runs/inside/emulate/: not comparable with other back ends */
	RECORD_CALLS,	 /* runs/inside/interpose/; its files have RECORD_TIME */
};

/* Levels of the operating system's counters that a process reads; each includes the previous levels (runs/inside/interpose/). */
enum record_level {
	RECORD_LEVEL_ALL,      /* all counters, whatever is requested later */
	RECORD_LEVEL_TIMES,    /* CPU time and run-queue delay of threads */
	RECORD_LEVEL_CAUSES,   /* also: time withheld from threads, by cause; page faults, context switches */
	RECORD_LEVEL_RESOURCES /* also: pressure on disks and memory, clock rate of the CPU */
};

struct record_header {
	char magic[8];
	uint32_t version, back_end;
	uint32_t header_bytes, names_bytes_max; /* multiples of 4096 */
	uint32_t chunk_bytes;			/* multiple of 4096 */
	uint32_t n_counters;
	uint64_t pid, started_ns; /* started_ns: real time since 1970 */
	uint64_t started_ticks;	  /* the start in ticks of the time stamps */
	uint64_t ticks_per_s;	  /* rate of the time stamps */
	uint64_t names_bytes;	  /* bytes in use; grows, stored after the text */
	uint64_t chunks;	  /* number of chunks in use; grows */
	uint64_t dropped;	  /* number of samples that were lost without a chunk */
	uint64_t finished;	  /* 1: the process ended in order */
	uint64_t stopped_ns; /* written from outside: 1 + time for which the process was stopped; 0: not observed (fleet/cgroup/stops.h) */
	uint64_t level;	     /* enum record_level; the process follows changes from outside, unless it is RECORD_LEVEL_ALL */
	uint64_t run_ns;     /* written from outside: 1 + CPU time of all processes of the run on this host; 0: not observed */
	/* Version 3: first value of ticks_per_s, and record_header_check(). */
	uint64_t ticks_per_s_first, check;
};

#define RECORD_READINGS 256u /* offset of the readings from outside, in the header's first 4096 bytes */
/* Initializer of struct stops_words (fleet/cgroup/stops.h). */
#define RECORD_STOPS                                                                                                                       \
	{                                                                                                                                  \
		offsetof(struct record_header, pid), offsetof(struct record_header, finished), offsetof(struct record_header, stopped_ns), \
		    offsetof(struct record_header, run_ns), RECORD_READINGS                                                                \
	}

/* A chunk has samples of one thread, which takes a new chunk when it is full. magic 0: the chunk was never started. */
struct record_chunk {
	uint32_t magic, thread; /* threads are numbered from 0 in the order of their first sample */
	uint64_t samples;	/* number of complete samples that follow; stored after the sample */
	uint64_t dropped;	/* number of samples that the thread has dropped since the chunk started */
};

/* Flags: how an invocation ended, and how reliable its nested calls are. */
#define RECORD_UNWOUND	 1u  /* left by longjmp(), an exception or the thread's end; the duration ends when that was noticed */
#define RECORD_ESTIMATED 2u  /* some nested selected functions were not sampled at every call, so their time is an estimate */
#define RECORD_TOTAL	 4u  /* not an invocation, but the total of the function's calls in the thread; see below */
#define RECORD_ERROR	 8u  /* RECORD_TOTAL with the standard errors of its estimates */
#define RECORD_NESTED	 32u /* RECORD_TOTAL that includes nested calls */
#define RECORD_NO_CALLER UINT32_MAX
#define RECORD_LATE	 16u /* RECORD_UNWOUND noticed later: time and counts are unknown */

/* Total: `ordinal` is the number of calls of the function by the thread. counters[] are sums over these calls in the function itself,
 * without other selected functions that it called; UINT64_MAX: unknown. Simulated counters are estimates. Duration and weight are 0. With
 * RECORD_NESTED the sums include called functions, once for each call that contains the event, as in samples. In files with "i totals
 * nested", a function without such a total has called no selected function. With RECORD_ERROR `ordinal` is 0, counters[] are standard
 * errors of the estimates, and `weight` is the number of bursts of simulated windows that they come from. */

/* Samples of a thread are in the order in which invocations ended: a nested invocation comes before the outer one, which started earlier.
 * So runs/inside/samples/samples.c can compute the time in the function itself. */
struct record_sample {
	uint32_t function;	  /* number of the function */
	uint32_t weight;	  /* number of calls that it represents: one in that many was sampled */
	uint64_t ordinal;	  /* number of the call among all calls of the function in this thread, from 0 */
	uint64_t start, duration; /* ticks */
	uint32_t depth;		  /* number of sampled invocations around it in this thread */
	uint32_t threads;	  /* number of living threads of the process at its end; 0: unknown */
	uint32_t flags;		  /* RECORD_UNWOUND... */
	uint32_t caller;	  /* number of the selected function that called it, from 1; RECORD_NO_CALLER: none; 0: unknown */
	uint64_t counters[];	  /* [n_counters], including nested calls; UINT64_MAX: not counted */
};

/* Sample in files without counters: two thirds of the size, because storing a sample is most of its cost. */
struct record_brief {
	uint16_t function;
	uint8_t weight_log2; /* weights are powers of 2; 0 with RECORD_TOTAL */
	uint8_t flags;
	uint16_t depth, threads; /* threads: 65535 means at least that many */
	uint64_t ordinal, start, duration;
};

/* Reports whether a function belongs to the C++ library. A library template that the compiler instantiated for a function of the user
 * belongs to the user. The emulation counts costs of library functions as their caller's. */
static inline bool record_is_library(const char *symbol)
{
	const char *name = symbol + 2;

	if (strncmp(symbol, "_Z", 2) != 0 || strstr(symbol, "Ul"))
		return false;
	name += strspn(name, "NKVRO");
	return (name[0] == 'S' && name[1] >= 'a' && name[1] <= 'z') || strncmp(name, "9__gnu_cxx", 10) == 0;
}

/* Returns `hash` continued with these bytes; the first `hash` is 0 (FNV-1a, Fowler, Noll and Vo). */
static inline uint64_t record_check(uint64_t hash, const void *bytes, size_t n)
{
	const unsigned char *at = (const unsigned char *)bytes;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ 0xcbf29ce484222325u ^ at[i]) * 0x100000001b3u;
	return hash;
}

/* Returns a check byte, never 0. Damaged data matches it by chance in 1 of 255 cases. */
static inline unsigned char record_check_byte(uint64_t hash)
{
	return (unsigned char)((hash >> 32) % 255 + 1);
}

static inline uint64_t record_header_check(const struct record_header *h)
{
	return record_check(record_check(0, h, RECORD_CHECKED_BYTES), &h->ticks_per_s_first, sizeof(h->ticks_per_s_first));
}

_Static_assert(offsetof(struct record_header, ticks_per_s) == RECORD_CHECKED_BYTES, "what may change comes after what is checked");
_Static_assert(sizeof(struct record_header) == 136, "the file's layout");
_Static_assert(sizeof(struct record_chunk) == 24, "the file's layout");
_Static_assert(sizeof(struct record_sample) == 48, "the file's layout");
_Static_assert(sizeof(struct record_brief) == 32, "the file's layout");

#endif

/* The sample file. Libraries inside users' processes write it (runs/inside/probe, runs/inside/emulate, runs/inside/interpose), and
 * runs/inside/samples/samples.h reads it. A sample holds the counts of one dynamic invocation of one selected function.
 *
 * The file is mapped and written in place: samples written before the process was killed are complete. One file per process
 * (DIRECTORY/PID-N.samples; a child of fork() starts its own). Little-endian; the sizes of all structs are multiples of 8 bytes.
 *
 *   record_header, then the names (text), then chunks of chunk_bytes each, the first at header_bytes + names_bytes_max
 *
 * Names are lines, appended: "c NAME\n" a counter, in the order of the samples' values, all before the first sample. "f ADDRESS MODULE
 * NAME\n" a function: hexadecimal address in the module's file; build-id of the module, "~N" (the same as in function N, an earlier one) or
 * "-"; symbol name. Its number is its position among the "f" lines, from 0. "i KEY VALUE\n" a fact about the process (program, arguments,
 * window sampling...). In version 3 two hexadecimal digits follow the first letter: record_check_byte() of the line's record_check(),
 * without them and the line end. */
#ifndef RUNS_RECORD_H
#define RUNS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RECORD_MAGIC		 "assayrec" /* 8 bytes, without the NUL */
#define RECORD_MAGIC_PRE_RELEASE "assaysmp" /* magic of files that are refused */
#define RECORD_VERSION		 1u
#define RECORD_VERSION_BRIEF	 2u	     /* no counters; each sample is a struct record_brief */
#define RECORD_VERSION_PACKED	 3u	     /* samples are packed (record_pack.h); unchanging parts have checks */
#define RECORD_CHECKED_BYTES	 56u	     /* first bytes of the header, covered by its check */
#define RECORD_CHUNK_MAGIC	 0x4b4e4843u /* "CHNK" */
#define RECORD_COUNTERS_MAX	 64u
#define RECORD_FUNCTIONS_MAX	 65536u
#define RECORD_NAMES_BYTES_MAX	 (8u << 20)
#define RECORD_CHUNK_BYTES_MAX	 (16u << 20)

enum record_back_end {
	RECORD_TIME,	 /* only time stamps: no counter was available */
	RECORD_PAPI,	 /* counters of the CPU, through PAPI */
	RECORD_SOFTWARE, /* counters of the kernel and of software, through PAPI */
	RECORD_EMULATED, /* runs/inside/emulate/: not comparable with any other */
	RECORD_CALLS,	 /* runs/inside/interpose/; never in a file, where it is RECORD_TIME */
};

/* Levels of the operating system's counters that a process takes; each includes the previous ones (runs/inside/interpose/). */
enum record_level {
	RECORD_LEVEL_ALL,      /* all, whatever is requested */
	RECORD_LEVEL_TIMES,    /* time of threads on a CPU, and run-queue delay */
	RECORD_LEVEL_CAUSES,   /* time withheld from them, by cause; page faults, context switches */
	RECORD_LEVEL_RESOURCES /* pressure on disks and memory, clock rate of the CPU */
};

struct record_header {
	char magic[8];
	uint32_t version, back_end;
	uint32_t header_bytes, names_bytes_max; /* both multiples of 4096 */
	uint32_t chunk_bytes;			/* multiple of 4096 */
	uint32_t n_counters;
	uint64_t pid, started_ns; /* started_ns: real time since 1970 */
	uint64_t started_ticks;	  /* the same moment in ticks of the time stamps */
	uint64_t ticks_per_s;	  /* rate of the time stamps */
	uint64_t names_bytes;	  /* in use; grows, stored after the text */
	uint64_t chunks;	  /* in use; grows */
	uint64_t dropped;	  /* samples for which there was no chunk */
	uint64_t finished;	  /* 1 if the process ended in order */
	uint64_t stopped_ns;	  /* written from outside: 1 + time for which it was stopped; 0: not observed (fleet/cgroup/stops.h) */
	uint64_t level;	 /* enum record_level; unless RECORD_LEVEL_ALL, others may change it from outside, and the process follows */
	uint64_t run_ns; /* written from outside: 1 + CPU time of all processes of the run on this host; 0: not observed */
	/* Version 3: initial value of ticks_per_s, and record_header_check(). */
	uint64_t ticks_per_s_first, check;
};

#define RECORD_READINGS 256u /* offset of the readings, within the header's first 4096 bytes */
/* Initializer of a struct stops_words (fleet/cgroup/stops.h). */
#define RECORD_STOPS                                                                                                                       \
	{                                                                                                                                  \
		offsetof(struct record_header, pid), offsetof(struct record_header, finished), offsetof(struct record_header, stopped_ns), \
		    offsetof(struct record_header, run_ns), RECORD_READINGS                                                                \
	}

/* A chunk belongs to one thread; when it is full, the thread takes a new one. If the magic is 0, the chunk was never started. */
struct record_chunk {
	uint32_t magic, thread; /* threads are numbered from 0 in the order of their first sample */
	uint64_t samples;	/* complete ones that follow; stored after the sample */
	uint64_t dropped;	/* samples of this thread since the chunk started */
};

/* Flags: how an invocation ended, and how reliable its nested calls are. */
#define RECORD_UNWOUND	 1u  /* left by longjmp(), an exception or the thread's end; the duration is until that was noticed */
#define RECORD_ESTIMATED 2u  /* some nested selected functions were not sampled at every call: their time is an estimate */
#define RECORD_TOTAL	 4u  /* not an invocation, but all calls of the function in the thread, see below */
#define RECORD_ERROR	 8u  /* a RECORD_TOTAL of standard errors of its estimates */
#define RECORD_NESTED	 32u /* a RECORD_TOTAL that includes nested calls */
#define RECORD_NO_CALLER UINT32_MAX
#define RECORD_LATE	 16u /* a RECORD_UNWOUND noticed later: time and counts are unknown */

/* A total: `ordinal` is the number of calls of the function by the thread. counters[] are the sums over these calls in the function itself,
 * without other selected functions that it called; UINT64_MAX: unknown. Simulated counters are estimates. Duration and weight are 0. With
 * RECORD_NESTED the sums include called functions, once for each of these calls that contains the event, as in samples. In files with "i
 * totals nested", a function without such a total has called no selected function. With RECORD_ERROR `ordinal` is 0, counters[] are
 * standard errors of these estimates, and `weight` is the number of bursts of simulated windows from which they come. */

/* Samples of a thread are in the order in which invocations ended: a nested one before the one around it, which started earlier. From this
 * runs/inside/samples/samples.c derives the time in the function itself. */
struct record_sample {
	uint32_t function;	  /* number, see above */
	uint32_t weight;	  /* calls that it represents: one in that many was sampled */
	uint64_t ordinal;	  /* number of the call among all of this function in this thread, from 0 */
	uint64_t start, duration; /* ticks */
	uint32_t depth;		  /* sampled invocations around it in this thread */
	uint32_t threads;	  /* alive in the process when it ended; 0: unknown */
	uint32_t flags;		  /* RECORD_UNWOUND... */
	uint32_t caller;	  /* number of the selected function that called it, from 1; RECORD_NO_CALLER: none; 0: unknown */
	uint64_t counters[];	  /* [n_counters], with nested calls; UINT64_MAX: not counted */
};

/* The same in files without counters: two thirds of the size. Storing a sample is most of its cost. */
struct record_brief {
	uint16_t function;
	uint8_t weight_log2; /* weights are powers of 2; 0 with RECORD_TOTAL */
	uint8_t flags;
	uint16_t depth, threads; /* threads: 65535 means that or more */
	uint64_t ordinal, start, duration;
};

/* Reports whether a function belongs to the C++ library. A template of the library that the compiler instantiated for a function of the
 * user belongs to the user. Costs of the library's functions are seen by their callers; the emulation counts them as the caller's. */
static inline bool record_is_library(const char *symbol)
{
	const char *name = symbol + 2;

	if (strncmp(symbol, "_Z", 2) != 0 || strstr(symbol, "Ul"))
		return false;
	name += strspn(name, "NKVRO");
	return (name[0] == 'S' && name[1] >= 'a' && name[1] <= 'z') || strncmp(name, "9__gnu_cxx", 10) == 0;
}

/* Returns a hash continued with these bytes; it starts with 0 (FNV-1a, Fowler, Noll and Vo). */
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

/* The sample file, as libraries inside other people's processes write it (runs/inside/probe, runs/inside/emulate) and
 * runs/inside/samples/samples.h reads it. A sample is what one dynamic invocation of one selected function counted.
 *
 * The file is mapped and written in place: what was there when the process was killed is whole. One file a process
 * (DIRECTORY/PID-N.samples; a child of fork() starts its own). Little-endian; all structs are multiples of 8 bytes.
 *
 *   record_header, then the names (text), then chunks of chunk_bytes each, the first at header_bytes + names_bytes_max
 *
 * Names are lines, appended: "c NAME\n" a counter, in the order of the samples' values, all before the first sample; "f ADDRESS MODULE
 * NAME\n" a function (hexadecimal address in the module's file, build-id of the module, "~N": that of function N, which is before it, or
 * "-"; symbol name), whose number is its place among the "f" lines, from 0; "i KEY VALUE\n" something about the process (program,
 * arguments, window sampling...). In version 3 two hexadecimal digits follow the first letter: record_check_byte() of the line's
 * record_check() without them and without its end. */
#ifndef RUNS_RECORD_H
#define RUNS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RECORD_MAGIC		 "assayrec" /* 8 bytes, without the NUL */
#define RECORD_MAGIC_PRE_RELEASE "assaysmp" /* of files that are refused */
#define RECORD_VERSION		 1u
#define RECORD_VERSION_BRIEF	 2u	     /* no counters, and each sample is a struct record_brief */
#define RECORD_VERSION_PACKED	 3u	     /* samples are packed (record_pack.h), and what stays is checked */
#define RECORD_CHECKED_BYTES	 56u	     /* of the header, from its start on */
#define RECORD_CHUNK_MAGIC	 0x4b4e4843u /* "CHNK" */
#define RECORD_COUNTERS_MAX	 64u
#define RECORD_FUNCTIONS_MAX	 65536u
#define RECORD_NAMES_BYTES_MAX	 (8u << 20)
#define RECORD_CHUNK_BYTES_MAX	 (16u << 20)

enum record_back_end {
	RECORD_TIME,	 /* time stamps alone: no counter was available */
	RECORD_PAPI,	 /* counters of the CPU, through PAPI */
	RECORD_SOFTWARE, /* counters of the kernel and of software, through PAPI */
	RECORD_EMULATED, /* runs/inside/emulate/: never comparable with any other */
	RECORD_CALLS,	 /* runs/inside/interpose/; no file says so itself, for it is one of RECORD_TIME */
};

/* Which of the operating system's counters a process takes, each level with those before it (runs/inside/interpose/). */
enum record_level {
	RECORD_LEVEL_ALL,      /* all, whatever is asked */
	RECORD_LEVEL_TIMES,    /* how long threads were on a CPU, and waited for one */
	RECORD_LEVEL_CAUSES,   /* what was withheld from them, by whom; page faults, switches */
	RECORD_LEVEL_RESOURCES /* pressure on disks and memory, the CPU's clock */
};

struct record_header {
	char magic[8];
	uint32_t version, back_end;
	uint32_t header_bytes, names_bytes_max; /* both multiples of 4096 */
	uint32_t chunk_bytes;			/* multiple of 4096 */
	uint32_t n_counters;
	uint64_t pid, started_ns; /* real time since 1970 */
	uint64_t started_ticks;	  /* the same moment by the time stamps */
	uint64_t ticks_per_s;	  /* of the time stamps */
	uint64_t names_bytes;	  /* in use; grows, stored after the text is there */
	uint64_t chunks;	  /* in use; grows */
	uint64_t dropped;	  /* samples for which there was not even a chunk */
	uint64_t finished;	  /* 1 when the process ended in order */
	uint64_t stopped_ns;	  /* written from outside: for how long it was stopped, and 1; 0: nobody looks (fleet/cgroup/stops.h) */
	uint64_t level;	 /* enum record_level; but for RECORD_LEVEL_ALL another one may be written from outside: it is taken from then on */
	uint64_t run_ns; /* written from outside: CPU time of all processes of the run on this host, and 1; 0: nobody looks */
	/* In version 3: what ticks_per_s was to start with, and record_header_check(). */
	uint64_t ticks_per_s_first, check;
};

#define RECORD_READINGS 256u /* their place, within the header's first 4096 bytes */
/* The places of a struct stops_words (fleet/cgroup/stops.h). */
#define RECORD_STOPS                                                                                                                       \
	{                                                                                                                                  \
		offsetof(struct record_header, pid), offsetof(struct record_header, finished), offsetof(struct record_header, stopped_ns), \
		    offsetof(struct record_header, run_ns), RECORD_READINGS                                                                \
	}

/* A chunk belongs to one thread; a thread takes a new one when it is full. One whose magic is 0 was never begun. */
struct record_chunk {
	uint32_t magic, thread; /* threads count from 0 in the order of their first sample */
	uint64_t samples;	/* whole ones that follow; stored after the sample is there */
	uint64_t dropped;	/* samples of this thread since the chunk started */
};

/* How an invocation ended, and what is known about what it called. */
#define RECORD_UNWOUND	 1u  /* by longjmp(), an exception or the thread's end: the duration is until that was noticed */
#define RECORD_ESTIMATED 2u  /* some selected functions were not sampled at every call: what nested calls took is an estimate */
#define RECORD_TOTAL	 4u  /* not an invocation, but all calls of the function in the thread, see below */
#define RECORD_ERROR	 8u  /* with RECORD_TOTAL: how far off its estimates may be */
#define RECORD_NESTED	 32u /* with RECORD_TOTAL: with all that these calls called */
#define RECORD_NO_CALLER UINT32_MAX
#define RECORD_LATE	 16u /* with RECORD_UNWOUND: noticed later; what it took and counted is not known */

/* A total: `ordinal` is how often the thread called the function, counters[] are the sums over all of these calls, of what happened in the
 * function itself, without other selected functions that it called; UINT64_MAX: not known. Simulated counters are estimates. Duration and
 * weight are 0. With RECORD_NESTED they include what these calls called, once for each of them that it happened in, as samples do; in files
 * with "i totals nested", a function without such a total has called none that is selected. With RECORD_ERROR `ordinal` is 0, counters[]
 * are standard errors of these estimates, and `weight` is how many bursts of simulated windows they rest on. */

/* Samples of a thread are in the order in which invocations ended: nested ones before the one around them, which started earlier. From that
 * follows what was spent in the function itself (runs/inside/samples/samples.c). */
struct record_sample {
	uint32_t function;	  /* number, see above */
	uint32_t weight;	  /* calls that it represents: 1 in so many was sampled */
	uint64_t ordinal;	  /* of the call, among all of this function in this thread, from 0 */
	uint64_t start, duration; /* ticks */
	uint32_t depth;		  /* sampled invocations around it in this thread: 0, 1... */
	uint32_t threads;	  /* alive in the process when it ended; 0: not known */
	uint32_t flags;		  /* RECORD_UNWOUND... */
	uint32_t caller;	  /* number of the selected function that called it, from 1; RECORD_NO_CALLER: none did; 0: not known */
	uint64_t counters[];	  /* [n_counters], of this invocation with what it called; UINT64_MAX: not counted */
};

/* The same in files without counters: two thirds of the size, and storing it is most of its cost. */
struct record_brief {
	uint16_t function;
	uint8_t weight_log2; /* a weight is a power of 2, or, with RECORD_TOTAL, 0 */
	uint8_t flags;
	uint16_t depth, threads; /* threads: 65535 is that or more */
	uint64_t ordinal, start, duration;
};

/* Is it the C++ library's? What the compiler made of a function of the user's in a template of the library is the user's. What the others
 * do is looked at by who called them; the emulation counts it as the caller's. */
static inline bool record_is_library(const char *symbol)
{
	const char *name = symbol + 2;

	if (strncmp(symbol, "_Z", 2) != 0 || strstr(symbol, "Ul"))
		return false;
	name += strspn(name, "NKVRO");
	return (name[0] == 'S' && name[1] >= 'a' && name[1] <= 'z') || strncmp(name, "9__gnu_cxx", 10) == 0;
}

/* Continues a hash, from 0 (FNV-1a, Fowler, Noll and Vo). */
static inline uint64_t record_check(uint64_t hash, const void *bytes, size_t n)
{
	const unsigned char *at = (const unsigned char *)bytes;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ 0xcbf29ce484222325u ^ at[i]) * 0x100000001b3u;
	return hash;
}

/* Of which a damaged one is right by chance in 1 of 255 cases; 0 never is. */
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

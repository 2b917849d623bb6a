/* Reads the records of a run (runs/inside/interpose) as fragments: its calls into the outside, and the computation between two calls of a
 * thread. Call sites are the vertices of a state transition graph, and the computation from one to the next its edges (VAPRO; Zheng and
 * others, PPoPP 2022). */
#ifndef GATE_VARIANCE_FRAGMENTS_H
#define GATE_VARIANCE_FRAGMENTS_H

#include "base/error.h"
#include "base/rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAGMENTS_MAX	      (8u << 20) /* most fragments analysed at once; about 100 bytes each */
#define FRAGMENTS_FILES_MAX   8192u
#define FRAGMENTS_THREADS_MAX 65536u
#define FRAGMENT_NO_SITE      UINT32_MAX

/* The activities of a run. name for programs, text for users. */
#define ACTIVITY_ROWS(X)                                                                                                                   \
	X(ACTIVITY_COMPUTATION, "computation", "computation")                                                                              \
	X(ACTIVITY_COMMUNICATION, "communication", "communication")                                                                        \
	X(ACTIVITY_IO, "io", "input and output")                                                                                           \
	X(ACTIVITY_WAITING, "waiting", "waiting")                                                                                          \
	X(ACTIVITY_OTHER, "other", "other calls")

enum activity { ACTIVITY_ROWS(ROWS_ENUM) ACTIVITIES };
#define ACTIVITY_MAPS 3 /* the first ones have a map: waiting has no usual length */

const char *activity_name(enum activity activity);
const char *activity_text(enum activity activity);

/* Returns the activity of a call, by its name and the kind of its descriptor (enum interpose_kind of runs/inside/interpose). *moves: the
 * call's result is the number of bytes that it moved, which is its work. */
enum activity call_activity(const char *name, uint64_t kind, bool *moves);

/* A call site. */
struct fragment_site {
	char *module, *name; /* build-id, "=FILE" or "-"; name of the called function */
	uint64_t address;    /* return address in the module's file */
	char *file;	     /* path of the module's file (is_file), */
	bool is_file;	     /* or of the program that made the record; "": not known */
	char *place;	     /* "main, sort.c:88"; NULL: site_places_find() did not find it */
};

/* Evidence that fragments did the same work: instructions counted by the CPU, statements counted by the program, arguments of the calls, or
 * only their place in the program (unverified). name for programs. */
#define BASIS_ROWS(X)                                                                                                                      \
	X(BASIS_INSTRUCTIONS, "instructions")                                                                                              \
	X(BASIS_STATEMENTS, "statements")                                                                                                  \
	X(BASIS_ARGUMENTS, "arguments")                                                                                                    \
	X(BASIS_UNVERIFIED, "unverified")
enum basis { BASIS_ROWS(ROWS_ENUM) BASES };
const char *basis_name(enum basis basis);

struct fragment {
	double start_s, time_s;	  /* since the run's start; start_s >= 0 */
	double work;		  /* instructions, statements or bytes; 0: not known */
	uint64_t arguments;	  /* hash of other evidence of its work */
	uint32_t process, thread; /* thread: as in the process's file */
	uint32_t from, to;	  /* sites; `from` is FRAGMENT_NO_SITE for the call at `to` itself */
	uint32_t weight;	  /* number of fragments that it represents, at least 1 */
	uint16_t activity, basis;
	uint32_t cluster;   /* set by fragment_clusters_find() */
	int32_t peer;	    /* rank of the partner or root of an MPI call; -1: none, or not known */
	uint32_t comm : 31; /* hash of the ranks of its communicator; 0: none */
	uint32_t collective : 1;
	uint32_t end; /* 1 + index in ends[] of its pipe or connection; 0: not known */
};

/* One process's end of a pipe or connection. */
#define END_NOBODY  (SIZE_MAX - 1) /* no recorded process is at the other end */
#define END_UNKNOWN SIZE_MAX	   /* not known, or several are */
struct fragment_end {
	char *key, *peer; /* peer: "ADDRESS:PORT"; "": a pipe */
	uint32_t process;
	size_t partner; /* index of the process, or one of these */
};

/* Counters of the kernel since the start, for a thread or its host. name in the file; factor to the units used here. */
#define ACCOUNT_ROWS(X)                                                                                                                    \
	X(ACCOUNT_CPU, "cpu_ns", 1e-9)                                                                                                     \
	X(ACCOUNT_QUEUE, "run_delay_ns", 1e-9)                                                                                             \
	X(ACCOUNT_MINOR, "minor_faults", 1)                                                                                                \
	X(ACCOUNT_MAJOR, "major_faults", 1)                                                                                                \
	X(ACCOUNT_INVOLUNTARY, "involuntary", 1)                                                                                           \
	X(ACCOUNT_THROTTLED, "throttled_ns", 1e-9)                                                                                         \
	X(ACCOUNT_STEAL, "steal_ns", 1e-9)                                                                                                 \
	X(ACCOUNT_BUSY, "busy_ns", 1e-9) /* of all CPUs of its host, by any program; */                                                    \
	X(ACCOUNT_OWN, "own_ns", 1e-9)	 /* of that, by all threads of the process, */                                                     \
	X(ACCOUNT_RUN, "run_ns", 1e-9)	 /* and by all processes of the run, recorded or not */                                            \
	X(ACCOUNT_STOPPED, "stopped_ns", 1e-9)                                                                                             \
	X(ACCOUNT_IO_PRESSURE, "io_pressure_ns", 1e-9)	       /* time in which any program of its cgroup or host waited for a disk, */    \
	X(ACCOUNT_MEMORY_PRESSURE, "memory_pressure_ns", 1e-9) /* or for memory */                                                         \
	/* Counted in the CPU's pipeline for all threads of the process. A segment has seconds of its thread instead (breakdown.c). */     \
	X(ACCOUNT_CORE, "slots", 1)                                                                                                        \
	X(ACCOUNT_L3, "cycles", 1)                                                                                                         \
	X(ACCOUNT_FRONT_END, "front_slots", 1)                                                                                             \
	X(ACCOUNT_BACK_END, "back_slots", 1)                                                                                               \
	X(ACCOUNT_RETIRING, "retired", 1)                                                                                                  \
	X(ACCOUNT_SPECULATION, "lost_slots", 1)                                                                                            \
	X(ACCOUNT_DATA, "memory_slots", 1)                                                                                                 \
	X(ACCOUNT_L1, "l1_miss_cycles", 1)                                                                                                 \
	X(ACCOUNT_L2, "l2_miss_cycles", 1)                                                                                                 \
	X(ACCOUNT_DRAM, "l3_miss_cycles", 1)                                                                                               \
	X(ACCOUNT_LOOP, "loop_ticks", 1) /* not summed: duration of a loop of fixed length at that time */
enum account { ACCOUNT_ROWS(ROWS_ENUM) ACCOUNTS };

/* Adds a word to the hash of several words; the first hash is 0. */
static inline uint64_t fragment_hash(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

struct snapshot {
	double at_s;
	double value[ACCOUNTS]; /* times in seconds; NaN: not in the file */
	uint32_t process, thread;
};

/* A reading of a process from outside: CPU time and run-queue delay of all of its threads until then, and how long it was stopped. */
struct fragment_reading {
	double at_s, cpu_s, queue_s, stopped_s;
};

struct fragment_process {
	char *name;			  /* "rank 3", or "process 4711 (sort)" */
	char *program, *arguments, *host; /* arguments of the command line; "": none, or not known */
	char *clock;			  /* equal for all processes under one kernel; "": not known */
	uint64_t *children;		  /* [n_children] process ids that it forked or waited for, as far as known */
	size_t n_children;
	int64_t rank;	    /* -1: none */
	size_t ranks;	    /* number of ranks of the program; 0: not known */
	uint64_t recording; /* equal for all processes of one 'assay record'; 0: not known */
	uint64_t pid, started_ns, started_ticks;
	double tick_s;
	double start_s, end_s; /* since the run's start; end of its last fragment */
	double thread_s;       /* sum over its threads of the time from the start of the first fragment to the end of the last */
	size_t first, n;       /* its fragments: items[first], ... */
	size_t first_snapshot, n_snapshots;
	struct fragment_reading *readings; /* [n_readings] in order of time */
	size_t n_readings;
	uint32_t was; /* index of its file, in the order of reading */
	uint32_t run; /* run among those that are analysed together, from 0 */
	uint64_t dropped;
	char *dropped_why; /* reason; "": not known, or none was dropped */
	bool finished, truncated;
};

struct fragments {
	struct fragment_process *processes; /* [n_processes], by run and rank, then by start and process id */
	size_t n_processes;
	struct fragment_site *sites; /* [n_sites], by module, address, name */
	size_t n_sites;
	struct fragment *items; /* [n], by process, thread, start */
	size_t n;
	struct snapshot *snapshots; /* [n_snapshots], by process, thread, time */
	size_t n_snapshots;
	struct fragment_end *ends; /* [n_ends] */
	size_t n_ends, ends_capacity;
	size_t gone;	/* number of files that cannot be read or are no record files, */
	char *gone_why; /* and the reason for the first one; NULL: all can be read */
	char **runs;	/* [n_runs] names of runs of the same task, each with times since its own start; NULL: one run */
	size_t n_runs;
	double span_s; /* from the first process's start to the last one's end; of several runs, the longest */
	double from_s; /* window: zero of its times, since the run's start */
	double next_s; /* window: end of the first fragment that ended after it, since the run's start; INFINITY: none */
	bool one_host; /* all processes ran on one host; else clocks may differ */
};

/* A moment by real time since 1970, and by ticks (0: not known) of a clock (NULL: not known). */
struct fragments_moment {
	uint64_t ns, ticks;
	double tick_s;
	const char *clock;
};

/* Returns the seconds from one moment to another: by real time or, if ticks of the same clock disagree, by these, since real time may be
 * set during the run. */
double fragments_since(const struct fragments_moment *from, const struct fragments_moment *to);

/* A part of a run: fragments that ended in (from_s, to_s]. Its times start at from_s, or earlier if the first fragment does, by the
 * window's length at most. */
struct fragments_window {
	struct fragments_moment began; /* start of the run */
	double from_s, to_s;
	unsigned thin_log2; /* one of 2^thin_log2 records is used, and represents all of them */
};

/* Reads record files in any order. run: [n], the run (from 0) of each file; NULL: all are of one. A process in two of the files counts
 * once. ASSAY_E_FORMAT: not a record file, or one without calls; ASSAY_E_LIMIT: too many fragments; ASSAY_E_CONFLICT: files of one run come
 * from several recordings; ASSAY_E_NODATA: no file has a fragment. *out is overwritten; fragments_release() it. */
enum assay_status fragments_read(const char *const *paths, const uint32_t *run, size_t n, struct fragments *out, struct assay_error *err);
/* A record file in memory. */
struct fragments_file {
	const char *name;
	const void *bytes;
	size_t n;
	enum assay_status st; /* not 0: the file cannot be read; fragments_parse() sets it if it is no record file */
	char *why;	      /* reason, if st is not 0; free() it */
};
/* Does the same as fragments_read() with files in memory. window: NULL: the whole run; a window may have no fragment. */
enum assay_status fragments_parse(struct fragments_file *files, size_t n, const struct fragments_window *window, struct fragments *out,
				  struct assay_error *err);
void fragments_release(struct fragments *fragments); /* accepts zeroed */

#endif

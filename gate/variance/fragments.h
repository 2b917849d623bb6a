/* Reads the records of a run (runs/inside/interpose) as fragments: recorded calls, and the computation of a thread between two calls.
 * Call sites are the vertices of a state transition graph; the computation between two sites is an edge (VAPRO; Zheng and others, PPoPP
 * 2022). */
#ifndef GATE_VARIANCE_FRAGMENTS_H
#define GATE_VARIANCE_FRAGMENTS_H

#include "base/error.h"
#include "base/rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAGMENTS_MAX	      (8u << 20) /* most fragments analysed together; each takes about 100 bytes */
#define FRAGMENTS_FILES_MAX   8192u
#define FRAGMENTS_THREADS_MAX 65536u
#define FRAGMENT_NO_SITE      UINT32_MAX

/* Activities of a run: name in JSON, text for users. */
#define ACTIVITY_ROWS(X)                                                                                                                   \
	X(ACTIVITY_COMPUTATION, "computation", "computation")                                                                              \
	X(ACTIVITY_COMMUNICATION, "communication", "communication")                                                                        \
	X(ACTIVITY_IO, "io", "input and output")                                                                                           \
	X(ACTIVITY_WAITING, "waiting", "waiting")                                                                                          \
	X(ACTIVITY_OTHER, "other", "other calls")

enum activity { ACTIVITY_ROWS(ROWS_ENUM) ACTIVITIES };
#define ACTIVITY_MAPS 3 /* number of activities with a map, the first ones; waiting has no usual duration */

const char *activity_name(enum activity activity);
const char *activity_text(enum activity activity);

/* Returns the activity of a call from its name and the kind of its descriptor (enum interpose_kind of runs/inside/interpose). *moves: the
 * call returns the number of bytes that it moved, which is its work. */
enum activity call_activity(const char *name, uint64_t kind, bool *moves);

/* A call site. */
struct fragment_site {
	char *module, *name; /* module: build-id, "=FILE" or "-"; name: called function */
	uint64_t address;    /* return address in the module's file */
	char *file;	     /* path of the module (is_file) or of the recorded program; "": unknown */
	bool is_file;	     /* `file` is the path of the module */
	char *place;	     /* "main, sort.c:88"; NULL: site_places_find() found no place */
};

/* Evidence that fragments did the same work, with its name in JSON: instructions counted by the CPU, statements counted by the program, the
 * arguments of calls, or only the place in the program (unverified). */
#define BASIS_ROWS(X)                                                                                                                      \
	X(BASIS_INSTRUCTIONS, "instructions")                                                                                              \
	X(BASIS_STATEMENTS, "statements")                                                                                                  \
	X(BASIS_ARGUMENTS, "arguments")                                                                                                    \
	X(BASIS_UNVERIFIED, "unverified")
enum basis { BASIS_ROWS(ROWS_ENUM) BASES };
const char *basis_name(enum basis basis);

struct fragment {
	double start_s, time_s;	  /* start_s: since the run's start, at least 0 */
	double work;		  /* instructions, statements or bytes; 0: unknown */
	uint64_t arguments;	  /* hash of other evidence of the same work */
	uint32_t process, thread; /* thread: number in the process's record file */
	uint32_t from, to;	  /* indices of sites; from: FRAGMENT_NO_SITE for the call at `to` itself */
	uint32_t weight;	  /* number of fragments that this one represents, at least 1 */
	uint16_t activity, basis;
	uint32_t cluster;   /* index of the cluster; set by fragment_clusters_find() */
	int32_t peer;	    /* rank of the partner or root of an MPI call; -1: none, or unknown */
	uint32_t comm : 31; /* hash of the ranks of the MPI communicator; 0: none */
	uint32_t collective : 1;
	uint32_t end; /* 1 + index in fragments.ends of the pipe or connection; 0: unknown */
};

/* The end of a pipe or connection that one process uses. */
#define END_NOBODY  (SIZE_MAX - 1) /* no recorded process has the other end */
#define END_UNKNOWN SIZE_MAX	   /* the process at the other end is unknown, or there are several */
struct fragment_end {
	char *key, *peer; /* peer: "ADDRESS:PORT"; "" for a pipe */
	uint32_t process;
	size_t partner; /* index of the process at the other end, END_NOBODY or END_UNKNOWN */
};

/* Counters of a thread, process or host since its start: name in the record file, and factor to seconds or events. */
#define ACCOUNT_ROWS(X)                                                                                                                    \
	X(ACCOUNT_CPU, "cpu_ns", 1e-9)                                                                                                     \
	X(ACCOUNT_QUEUE, "run_delay_ns", 1e-9)                                                                                             \
	X(ACCOUNT_MINOR, "minor_faults", 1)                                                                                                \
	X(ACCOUNT_MAJOR, "major_faults", 1)                                                                                                \
	X(ACCOUNT_INVOLUNTARY, "involuntary", 1)                                                                                           \
	X(ACCOUNT_THROTTLED, "throttled_ns", 1e-9)                                                                                         \
	X(ACCOUNT_STEAL, "steal_ns", 1e-9)                                                                                                 \
	X(ACCOUNT_BUSY, "busy_ns", 1e-9) /* CPU time of all programs on the host */                                                        \
	X(ACCOUNT_OWN, "own_ns", 1e-9)	 /* CPU time of all threads of the process */                                                      \
	X(ACCOUNT_RUN, "run_ns", 1e-9)	 /* CPU time of all processes of the run */                                                        \
	X(ACCOUNT_STOPPED, "stopped_ns", 1e-9)                                                                                             \
	X(ACCOUNT_IO_PRESSURE, "io_pressure_ns", 1e-9)	       /* time in which a program of the cgroup or host waited for a disk */       \
	X(ACCOUNT_MEMORY_PRESSURE, "memory_pressure_ns", 1e-9) /* the same for memory */                                                   \
	/* Pipeline counters of all threads of a process. Segments replace them by seconds of a thread (breakdown.c). */                   \
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
	X(ACCOUNT_LOOP, "loop_ticks", 1) /* duration of a loop of fixed length; not a sum */
enum account { ACCOUNT_ROWS(ROWS_ENUM) ACCOUNTS };

/* Returns a hash of `hash` and `word`; the first `hash` is 0. */
static inline uint64_t fragment_hash(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

struct snapshot {
	double at_s;
	double value[ACCOUNTS]; /* times in s; NaN: not in the file */
	uint32_t process, thread;
};

/* Reading by an observer outside the process: CPU time, run-queue delay and stopped time of all threads until at_s. */
struct fragment_reading {
	double at_s, cpu_s, queue_s, stopped_s;
};

struct fragment_process {
	char *name;			  /* "rank 3", or "process 4711 (sort)" */
	char *program, *arguments, *host; /* arguments: command line after the program; "": none, or unknown */
	char *clock;			  /* id of the kernel, whose clock all its processes share; "": unknown */
	uint64_t *children;		  /* [n_children] process ids of known child processes */
	size_t n_children;
	int64_t rank;	    /* -1: none */
	size_t ranks;	    /* number of ranks of the program; 0: unknown */
	uint64_t recording; /* id of the 'assay record' that made the file; 0: unknown */
	uint64_t pid, started_ns, started_ticks;
	double tick_s;
	double start_s, end_s; /* since the run's start; end_s: end of the last fragment */
	double thread_s;       /* sum over the threads of the time from the first fragment to the end of the last */
	size_t first, n;       /* fragments of the process: items[first], ..., items[first + n - 1] */
	size_t first_snapshot, n_snapshots;
	struct fragment_reading *readings; /* [n_readings] in order of time */
	size_t n_readings;
	uint32_t was; /* index of the process's file, in order of reading */
	uint32_t run; /* index of the run, if several are analysed together */
	uint64_t dropped;
	char *dropped_why; /* reason for dropped records; "": unknown, or none was dropped */
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
	size_t gone;	/* number of files that cannot be read as record files */
	char *gone_why; /* reason for the first of those files; NULL: none */
	char **runs;	/* [n_runs] names of runs of the same task, each with times since its own start; NULL: one run */
	size_t n_runs;
	double span_s; /* time from the first start to the last end of a process; of several runs, the longest */
	double from_s; /* window: origin of its times, since the run's start */
	double next_s; /* window: end of the first fragment that ends later, since the run's start; INFINITY: none */
	bool one_host; /* all processes ran on one host; otherwise clocks may differ */
};

/* Moment by real time since 1970 and by ticks of a clock. ticks 0 or clock NULL: unknown. */
struct fragments_moment {
	uint64_t ns, ticks;
	double tick_s;
	const char *clock;
};

/* Returns the seconds between two moments. Uses ticks instead of real time if both have the same clock and the two disagree, because real
 * time may be set during a run. */
double fragments_since(const struct fragments_moment *from, const struct fragments_moment *to);

/* Part of a run: fragments that ended in (from_s, to_s]. Times are relative to from_s or to the start of the first fragment, whichever is
 * earlier, but at most one window's length before from_s. */
struct fragments_window {
	struct fragments_moment began; /* start of the run */
	double from_s, to_s;
	unsigned thin_log2; /* one of 2^thin_log2 records is used, and represents the others */
};

/* Reads record files in any order. run: [n], index of each file's run; NULL: all are of one run. A process that is in two files counts
 * once. ASSAY_E_FORMAT: no file is a record of calls; ASSAY_E_LIMIT: too many fragments; ASSAY_E_CONFLICT: the files of a run come from
 * several recordings; ASSAY_E_NODATA: no file has a fragment. *out is overwritten; the caller releases it. */
enum assay_status fragments_read(const char *const *paths, const uint32_t *run, size_t n, struct fragments *out, struct assay_error *err);
/* A record file in memory. */
struct fragments_file {
	const char *name;
	const void *bytes;
	size_t n;
	enum assay_status st; /* not ASSAY_OK: the file cannot be read; fragments_parse() also sets it for other formats */
	char *why;	      /* reason for `st`, NULL for ASSAY_OK; freed by the caller */
};
/* Does the same as fragments_read() for files in memory. window: NULL for the whole run; a window without fragments is no error. */
enum assay_status fragments_parse(struct fragments_file *files, size_t n, const struct fragments_window *window, struct fragments *out,
				  struct assay_error *err);
void fragments_release(struct fragments *fragments); /* accepts a zeroed struct */

#endif

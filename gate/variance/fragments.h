/* Reads the records of a run (runs/inside/interpose) as fragments. A fragment is a recorded call, or the computation of a thread between
 * two calls. The call sites are the vertices of a state transition graph; the computation between two sites is an edge (VAPRO; Zheng and
 * others, PPoPP 2022). */
#ifndef GATE_VARIANCE_FRAGMENTS_H
#define GATE_VARIANCE_FRAGMENTS_H

#include "base/error.h"
#include "base/rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAGMENTS_MAX	      (8u << 20) /* maximum number of fragments analysed together; each takes about 100 bytes */
#define FRAGMENTS_FILES_MAX   8192u
#define FRAGMENTS_THREADS_MAX 65536u
#define FRAGMENT_NO_SITE      UINT32_MAX

/* Activities of a run. Columns: constant, name in JSON, text for users. */
#define ACTIVITY_ROWS(X)                                                                                                                   \
	X(ACTIVITY_COMPUTATION, "computation", "computation")                                                                              \
	X(ACTIVITY_COMMUNICATION, "communication", "communication")                                                                        \
	X(ACTIVITY_IO, "io", "input and output")                                                                                           \
	X(ACTIVITY_WAITING, "waiting", "waiting")                                                                                          \
	X(ACTIVITY_OTHER, "other", "other calls")

enum activity { ACTIVITY_ROWS(ROWS_ENUM) ACTIVITIES };
#define ACTIVITY_MAPS 3 /* number of activities that have a map, from the first one on; waiting has no usual duration */

const char *activity_name(enum activity activity);
const char *activity_text(enum activity activity);

/* Returns the activity of a call from its name and the kind of its descriptor (enum interpose_kind of runs/inside/interpose). Sets *moves
 * if the call returns the number of bytes that it moved; this is its work. */
enum activity call_activity(const char *name, uint64_t kind, bool *moves);

/* A call site. */
struct fragment_site {
	char *module, *name; /* `module`: build-id, "=FILE" or "-"; `name`: the called function */
	uint64_t address;    /* return address, as an address in the module's file */
	char *file;	     /* path of the module if is_file, otherwise of the recorded program; "" if unknown */
	bool is_file;	     /* `file` is the path of the module */
	char *place;	     /* function, file and line, such as "main, sort.c:88"; NULL if site_places_find() found none */
};

/* Evidence that fragments did the same work, with its name in JSON: instructions that the CPU counted, statements that the program counted,
 * the arguments of calls, or only the place in the program (unverified). */
#define BASIS_ROWS(X)                                                                                                                      \
	X(BASIS_INSTRUCTIONS, "instructions")                                                                                              \
	X(BASIS_STATEMENTS, "statements")                                                                                                  \
	X(BASIS_ARGUMENTS, "arguments")                                                                                                    \
	X(BASIS_UNVERIFIED, "unverified")
enum basis { BASIS_ROWS(ROWS_ENUM) BASES };
const char *basis_name(enum basis basis);

struct fragment {
	double start_s, time_s;	  /* start, s since the run's start, at least 0; duration, s */
	double work;		  /* number of instructions, statements or bytes; 0 if unknown */
	uint64_t arguments;	  /* hash of other evidence of the same work */
	uint32_t process, thread; /* `thread` is the number in the process's record file */
	uint32_t from, to;	  /* indices of sites; `from` is FRAGMENT_NO_SITE for the call at `to` itself */
	uint32_t weight;	  /* number of fragments that this one represents, at least 1 */
	uint16_t activity, basis;
	uint32_t cluster;   /* index of the cluster; fragment_clusters_find() sets it */
	int32_t peer;	    /* rank of the partner or root of an MPI call; -1 if there is none or it is unknown */
	uint32_t comm : 31; /* hash of the ranks of the MPI communicator; 0 if there is none */
	uint32_t collective : 1;
	uint32_t end; /* 1 + index of the pipe or connection in fragments.ends; 0 if unknown */
};

/* The end of a pipe or connection that one process uses. */
#define END_NOT_RECORDED (SIZE_MAX - 1) /* no recorded process has the other end */
#define END_UNKNOWN	 SIZE_MAX	/* the process at the other end is unknown, or there are several */
struct fragment_end {
	char *key, *peer; /* `peer` is "ADDRESS:PORT"; "" for a pipe */
	uint32_t process;
	size_t partner; /* index of the process at the other end, END_NOT_RECORDED or END_UNKNOWN */
};

/* Counters of a thread, process or host since its start. Columns: constant, name in the record file, factor to seconds or events. */
#define USAGE_ROWS(X)                                                                                                                      \
	X(USAGE_CPU, "cpu_ns", 1e-9)                                                                                                       \
	X(USAGE_QUEUE, "run_delay_ns", 1e-9)                                                                                               \
	X(USAGE_MINOR, "minor_faults", 1)                                                                                                  \
	X(USAGE_MAJOR, "major_faults", 1)                                                                                                  \
	X(USAGE_INVOLUNTARY, "involuntary", 1)                                                                                             \
	X(USAGE_THROTTLED, "throttled_ns", 1e-9)                                                                                           \
	X(USAGE_STEAL, "steal_ns", 1e-9)                                                                                                   \
	X(USAGE_BUSY, "busy_ns", 1e-9) /* CPU time of all programs on the host */                                                          \
	X(USAGE_OWN, "own_ns", 1e-9)   /* CPU time of all threads of the process */                                                        \
	X(USAGE_RUN, "run_ns", 1e-9)   /* CPU time of all processes of the run */                                                          \
	X(USAGE_STOPPED, "stopped_ns", 1e-9)                                                                                               \
	X(USAGE_IO_PRESSURE, "io_pressure_ns", 1e-9)	     /* time in which a program of the cgroup or host waited for a disk */         \
	X(USAGE_MEMORY_PRESSURE, "memory_pressure_ns", 1e-9) /* the same for memory */                                                     \
	/* Pipeline counters of all threads of a process; in segments, seconds of one thread instead (breakdown.c). */                     \
	X(USAGE_CORE, "slots", 1)                                                                                                          \
	X(USAGE_L3, "cycles", 1)                                                                                                           \
	X(USAGE_FRONT_END, "front_slots", 1)                                                                                               \
	X(USAGE_BACK_END, "back_slots", 1)                                                                                                 \
	X(USAGE_RETIRING, "retired", 1)                                                                                                    \
	X(USAGE_SPECULATION, "lost_slots", 1)                                                                                              \
	X(USAGE_DATA, "memory_slots", 1)                                                                                                   \
	X(USAGE_L1, "l1_miss_cycles", 1)                                                                                                   \
	X(USAGE_L2, "l2_miss_cycles", 1)                                                                                                   \
	X(USAGE_DRAM, "l3_miss_cycles", 1)                                                                                                 \
	X(USAGE_LOOP, "loop_ticks", 1) /* duration of a loop of fixed length, ticks; not a sum */
enum usage_counter { USAGE_ROWS(ROWS_ENUM) USAGE_COUNTERS };

/* Returns a hash of `hash` and `word`. The first `hash` is 0. */
static inline uint64_t fragment_hash(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

struct snapshot {
	double at_s;
	double value[USAGE_COUNTERS]; /* times in s; NaN if not in the file */
	uint32_t process, thread;
};

/* Reading by an observer outside the process: CPU time, run-queue delay and stopped time of all threads up to at_s. */
struct fragment_reading {
	double at_s, cpu_s, queue_s, stopped_s;
};

struct fragment_process {
	char *name;			  /* name for users, such as "rank 3" or "process 4711 (sort)" */
	char *program, *arguments, *host; /* `arguments` is the command line after the program; "" if there is none or it is unknown */
	char *clock;			  /* id of the kernel, whose processes all use the same clock; "" if unknown */
	uint64_t *children;		  /* [n_children], process ids of known child processes */
	size_t n_children;
	int64_t rank;	    /* MPI rank; -1 if there is none */
	size_t ranks;	    /* number of ranks of the program; 0 if unknown */
	uint64_t recording; /* id of the 'assay record' that made the file; 0 if unknown */
	uint64_t pid, started_ns, started_ticks;
	double tick_s;
	double start_s, end_s; /* s since the run's start; end_s is the end of the last fragment */
	double thread_s;       /* sum over the threads of the time from the first fragment to the end of the last, s */
	size_t first, n;       /* the process's fragments are items[first], ..., items[first + n - 1] */
	size_t first_snapshot, n_snapshots;
	struct fragment_reading *readings; /* [n_readings], sorted by time */
	size_t n_readings;
	uint32_t file_index; /* index of the process's file in the order of reading */
	uint32_t run;	     /* index of the run, if several runs are analysed together */
	uint64_t dropped;
	char *dropped_reason; /* reason for dropped records; "" if unknown, or if none were dropped */
	bool finished, truncated;
};

struct fragments {
	struct fragment_process *processes; /* [n_processes], sorted by run and rank, then by start and process id */
	size_t n_processes;
	struct fragment_site *sites; /* [n_sites], sorted by module, address and name */
	size_t n_sites;
	struct fragment *items; /* [n], sorted by process, thread and start */
	size_t n;
	struct snapshot *snapshots; /* [n_snapshots], sorted by process, thread and time */
	size_t n_snapshots;
	struct fragment_end *ends; /* array of n_ends elements */
	size_t n_ends, ends_capacity;
	size_t n_unreadable_files; /* number of files that cannot be read as record files */
	char *unreadable_reason;   /* reason for the first of these files; NULL if there is none */
	char **runs;		   /* [n_runs], names of runs of the same task, each with times since its own start; NULL for one run */
	size_t n_runs;
	double span_s;	  /* time from the first start to the last end of a process, s; for several runs, the longest */
	double from_s;	  /* if this is a window: origin of its times, s since the run's start */
	double next_s;	  /* end of the first fragment that ends after a window, s since the run's start; INFINITY if there is none */
	bool is_one_host; /* all processes ran on one host; if not, clocks may differ */
};

/* A moment by real time since 1970 and by ticks of a clock. If `ticks` is 0 or `clock` is NULL, the ticks are unknown. */
struct fragments_clock {
	uint64_t ns, ticks;
	double tick_s;
	const char *clock;
};

/* Returns the time between two moments, s. If ticks of the same clock and real time disagree, uses ticks: real time can be set during a
 * run. */
double fragments_since(const struct fragments_clock *from, const struct fragments_clock *to);

/* A part of a run: fragments that ended in (from_s, to_s]. Times are relative to from_s, or to the start of the first fragment if this is
 * earlier. The origin is at most one window's length before from_s. */
struct fragments_window {
	struct fragments_clock run_start; /* start of the run */
	double from_s, to_s;
	unsigned thin_log2; /* one of 2^thin_log2 records is used and represents the others */
};

/* Reads record files in any order. run[n] has the index of each file's run; NULL if all files are of one run. A process that is in two
 * files counts once. Overwrites *out; the caller calls fragments_release(). Returns ASSAY_E_FORMAT if no file is a record of calls,
 * ASSAY_E_LIMIT if there are too many fragments, ASSAY_E_CONFLICT if the files of a run are from several recordings, ASSAY_E_NODATA if no
 * file has a fragment. */
enum assay_status fragments_read(const char *const *paths, const uint32_t *run, size_t n, struct fragments *out, struct assay_error *err);
/* A record file in memory. */
struct fragments_file {
	const char *name;
	const void *bytes;
	size_t n;
	enum assay_status st; /* not ASSAY_OK if the file cannot be read; fragments_parse() also sets it for other formats */
	char *reason;	      /* reason for `st`; NULL if ASSAY_OK; the caller frees it */
};
/* Does the same as fragments_read() for files in memory. `window` is NULL for the whole run. A window without fragments is no error. */
enum assay_status fragments_parse(struct fragments_file *files, size_t n, const struct fragments_window *window, struct fragments *out,
				  struct assay_error *err);
void fragments_release(struct fragments *fragments); /* Accepts a zeroed struct. */

#endif

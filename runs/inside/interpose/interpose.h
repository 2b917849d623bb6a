/* Preloaded library that records a program's calls to functions outside it. A record has the call, its site, the requested amount of work,
 * the duration, and the time that the thread computed since its previous call. The library records if ASSAY_INTERPOSE_DIRECTORY names a
 * directory. Each process writes one file (runs/inside/record/record.h). A "function" of the file is a call site, a vertex of the state
 * transition graph: the return address of the call in the module with that build-id, and the called function's name. A record has these
 * counters (UINT64_MAX if unknown):
 *
 *   size         requested amount: bytes, number of descriptors of a poll, or ns of a sleep
 *   kind         enum interpose_kind of the descriptor, in the low INTERPOSE_KIND_BITS. For a pipe or connection, the higher bits are the N
 *                of "i end:N PID pipe DEVICE:INODE" or "i end:N PID inet LOCAL PEER" with this process's id; 0 if unknown
 *   result       result of the call; UINT64_MAX if the call failed
 *   args         hash of the other arguments that determine the work; 0 if none
 *   from         number of the site of the thread's previous call; from -> this site is an edge of the graph
 *   since        duration of the edge, ticks: from the end of the previous call to the start of this one. Includes the reading of the
 *                resource usage counters below if the thread was interrupted meanwhile
 *   work         work on the edge: user-mode instructions if the CPU can count them ("i work instructions"), otherwise executed statements
 *                of programs built by 'assay build --for work' ("i work statements")
 *   from_weight  number of passages of the edge that the record represents; 0 if none, or if `from` is unknown
 *   cpu_ns, run_delay_ns, minor_faults, major_faults, voluntary, involuntary   counters of the thread up to the start of the call, read at
 *                most once per INTERPOSE_READING_PERIOD_TICKS. The following counters are read together with them, some less often:
 *   throttled_ns throttled time of the process's cgroups, while the process was in them
 *   steal_ns     steal time of the CPUs that the thread was on
 *   busy_ns      CPU time of all programs on the machine
 *   loop_ticks   duration of a loop with a constant number of operations, ticks; shows the CPU's clock rate
 *   stopped_ns   time for which the process was stopped, observed by another process (fleet/cgroup/stops.h)
 *   io_pressure_ns, memory_pressure_ns   time in which a task of the process's cgroup (version 2), or else of the machine, waited for a
 *                disk, and for memory
 *   own_ns       CPU time of the process, including threads without recorded calls
 *   run_ns       CPU time of all processes of the run on this host, recorded or not, observed by another process
 *   slots, cycles, front_slots, back_slots, retired, lost_slots, memory_slots, l1_miss_cycles, l2_miss_cycles, l3_miss_cycles
 *                pipeline events of all threads of the process, if the CPU can count them (interpose_topdown.c)
 *
 * The level in the file header determines which of these are read. Another process may change the level at any time (record.h). If
 * ASSAY_INTERPOSE_CONTEXT is set, a vertex is a call site with the path of calls to it: "write<1a2f<3b4c". The path has at most
 * INTERPOSE_PATH_MAX return addresses, of the site's function and of its callers, each relative to its module.
 *
 * The recorder chooses calls in two random steps, so that sums stay unbiased (interpose_record.c). A record's weight is the number of the
 * site's calls that it represents. With weight 0, the record exists only for its edge or for the thread's counters. The library leaves
 * errno, results and signals unchanged. It needs Linux, x86-64 and glibc 2.35. Source of the graph: VAPRO (Zheng et al., PPoPP 2022). */
#ifndef RUNS_INTERPOSE_H
#define RUNS_INTERPOSE_H

#include "runs/inside/record/record.h"
#include "runs/inside/record/record_system.h"

#include <stdbool.h>
#include <stdint.h>

enum interpose_kind {
	INTERPOSE_NONE,
	INTERPOSE_OTHER,
	INTERPOSE_FILE,
	INTERPOSE_PIPE,
	INTERPOSE_SOCKET,
	INTERPOSE_CHARACTER,
	INTERPOSE_BLOCK,
	INTERPOSE_MESSAGE,    /* MPI call with one partner */
	INTERPOSE_COLLECTIVE, /* MPI call that all ranks of a communicator make */
	INTERPOSE_FUNCTION    /* start or end of a function named by --call, without a descriptor; `size` is its chosen argument */
};

#define INTERPOSE_KIND_BITS 8

/* Fields of `args` of MPI calls, from the lowest bits: 1 + the partner's rank in MPI_COMM_WORLD (in a collective call, the root's rank),
 * the tag, and a hash of the communicator's ranks. The hash is equal in all ranks. Unknown fields and fields that do not apply are 0. */
#define INTERPOSE_PEER_BITS 20
#define INTERPOSE_TAG_BITS  15
#define INTERPOSE_COMM_BITS 15

#define INTERPOSE_NO_SIZE      UINT64_MAX
#define INTERPOSE_NO_FILE      (-1) /* no descriptor; smaller values are negated values of enum interpose_kind */
#define INTERPOSE_NO_SITE      UINT32_MAX
#define INTERPOSE_SITE_PENDING (UINT32_MAX - 1) /* another thread is assigning the site's number */
#define INTERPOSE_SITES_LOG2   11 /* log2 of the size of a thread's site table; a program that prints reports has hundreds of sites */
#define INTERPOSE_ADDRESS_BITS 48

/* State of a call site in one thread. Fills one cache line. */
struct interpose_site {
	uint64_t key;		    /* result of interpose_key(); 0 if the entry is free */
	uint32_t calls_until_timed; /* number of calls until the next timed call */
	uint32_t after;		    /* number of calls in the current block after its timed call */
	uint64_t next;		    /* ordinal of the next timed call */
	uint64_t last;		    /* time of the last timed call, ticks */
	uint64_t second;	    /* start of the site's current one-second interval, ticks */
	uint32_t number;	    /* number of the site in the file; INTERPOSE_NO_SITE if the site is never recorded */
	uint32_t block_log2;	    /* log2 of the block size; one call per block is timed */
	uint32_t free;		    /* number of calls still to come in this second that are all timed */
} __attribute__((aligned(64)));

/* Part of a thread's state that the wrappers use. */
struct interpose_thread_state {
	struct interpose_site *sites; /* [1 << INTERPOSE_SITES_LOG2], never NULL; empty while `from` is known, so that no call is skipped */
	uint32_t from; /* site of the previous call if that was timed, so that this call is timed, too; else INTERPOSE_NO_SITE */
	bool busy;     /* true while the recorder runs or is hidden; calls that signal handlers or libraries make then are not recorded */
};
extern _Thread_local struct interpose_thread_state interpose_thread_state __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* State of a call that is being timed. */
struct interpose_call {
	struct interpose_site *site;
	uint64_t key, ordinal, start, since, work, accounts;
	uint32_t from, number;
	uint8_t turn, block_log2, from_log2;
};

/* Returns the key of a call site, which combines the return address and the number of the called function. */
static inline uint64_t interpose_key(const void *address, uint64_t function)
{
	return (uint64_t)(uintptr_t)address | function << INTERPOSE_ADDRESS_BITS;
}

static inline uint32_t interpose_slot(uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15u) >> (64 - INTERPOSE_SITES_LOG2));
}

/* Counts a call. Returns true if this call is not timed. False means that interpose_enter() decides. */
__attribute__((always_inline)) static inline bool interpose_skip_timing(uint64_t key)
{
	struct interpose_site *s = &interpose_thread_state.sites[interpose_slot(key)];

	if (s->key != key || !s->calls_until_timed)
		return false;
	s->calls_until_timed--;
	return true;
}

/* interpose_disabled: nothing is recorded any more. interpose_threads_hidden: threads whose first call happens now are never recorded. */
extern bool interpose_disabled __attribute__((visibility("hidden"))), interpose_threads_hidden __attribute__((visibility("hidden")));

/* True if the wrapper can jump to the real function `next` at once, which is known then. A jump costs less than a call. */
#define INTERPOSE_CAN_JUMP(key, next) (interpose_skip_timing(key) || (interpose_disabled && (next)))

/* Starts a call for which interpose_skip_timing() returned false. `name` is a static string. Returns true if the call is timed. The wrapper
 * then calls interpose_leave() after the call. No lock is held between the two, so the thread may end, fork or longjmp() in the meantime.
 */
bool interpose_enter(struct interpose_call *call, uint64_t key, const char *name);
void interpose_leave(const struct interpose_call *call, int file, uint64_t size, uint64_t args, int64_t result);
/* Reports whether the process has an open file. A child process has none before its first recorded call. */
bool interpose_has_file(void);
/* Finishes the file, because the process ends. If `why` is not NULL, the recorder stops for this reason instead. It then makes no more
 * system calls, because the program's seccomp filter may kill the program for them. */
void interpose_stop(const char *why);
/* Prepares the recorder for a limit of the address space, `bytes`, before the program sets that limit. */
void interpose_prepare_limit(uint64_t bytes);
/* Prepares the recorder for a clone(2) with `flags` by this thread. A new thread without its own thread-local storage is not recorded. */
void interpose_prepare_clone(uint64_t flags);
/* Returns the function `name` of the libraries after this one or else of the libraries of the module with `caller`; NULL if none has it. */
void *interpose_find(const char *name, uintptr_t caller);
/* Hides the thread's next calls, or shows them again. Returns the previous state. The hidden section must not be left by longjmp(). */
static inline bool interpose_hide(bool hidden)
{
	bool before = interpose_thread_state.busy;

	interpose_thread_state.busy = hidden;
	return before;
}
/* Reports whether the address is in an MPI library. Calls by such libraries are never recorded. */
bool interpose_is_mpi(uintptr_t address);

/* Returns the hash `args` extended by `one`. The hash of no arguments is 0. */
static inline uint64_t interpose_hash_argument(uint64_t args, uint64_t one)
{
	return (args ^ one ^ args >> 29) * 0x9e3779b97f4a7c15u;
}

/* ---- private to the library ---- */

/* Makes a system call. Returns its result, or -errno. */
static inline long interpose_system_call(long number, long a, long b, long c, long d)
{
	return record_system_call(number, a, b, c, d, 0, 0);
}

static inline uint64_t interpose_text_hash(const char *text)
{
	uint64_t hash = 0;

	for (; *text; text++)
		hash = interpose_hash_argument(hash, (unsigned char)*text);
	return hash | 1;
}

#define INTERPOSE_TOPDOWN 10
/* Starts counting pipeline events of the calling thread and of the threads that it will start. Returns false if that is impossible. */
bool interpose_topdown_begin(void);
/* Stores the current counts in `out`; UINT64_MAX if unknown. */
void interpose_topdown_read(uint64_t out[INTERPOSE_TOPDOWN]);
void interpose_topdown_end(void);

struct interpose_usage {
	uint64_t cpu_ns, run_delay_ns, minor_faults, major_faults, voluntary, involuntary;
	uint64_t throttled_ns, steal_ns, busy_ns, stopped_ns, loop_ticks, io_pressure_ns, memory_pressure_ns, own_ns, run_ns;
	uint64_t topdown[INTERPOSE_TOPDOWN];
};

/* Schedule of an expensive reading. It limits the share of time that readings take. */
struct interpose_schedule {
	uint64_t due;	/* earliest time of the next reading, ticks; 0 if the reading is due now */
	uint64_t usual; /* usual duration of the reading, ticks; 0 if unknown */
};

/* State of a thread between two readings of withheld time, which is time in which the thread could not run. */
struct interpose_withheld_time {
	struct interpose_schedule pace;
	uint32_t processor;
	uint64_t ticks; /* steal time of the CPU `processor` in /proc/stat, in units of TICK_NS */
};

/* State of a thread between two readings of its resource usage. Initially, all bits of `accounts` are set, and the rest is zero. */
struct interpose_readings {
	struct interpose_usage accounts;
	struct interpose_withheld_time withheld;
	uint64_t usage_read_ticks, loop_read_ticks; /* time of the last reading of resource usage, and of the CPU's clock rate, ticks */
	uint64_t usual, period;			    /* usual duration of a reading, and minimum time until the next one, ticks */
	uint64_t turns;				    /* number of the thread's context switches at the last reading */
	uint32_t idle_log2;			    /* log2 of elapsed time / CPU time since the previous reading */
	enum record_level level;		    /* level at which `accounts` was read */
};

#define INTERPOSE_READING_PERIOD_TICKS 2500000u /* minimum time between two readings, ticks; about 1 ms */
#define INTERPOSE_READING_MAX_TICKS    125000u /* ticks; a longer reading was interrupted, for instance by a quota at a system call's end */
#define INTERPOSE_WITHHELD_MAX_TICKS   1250000u /* ticks; a longer reading of withheld time was interrupted */

struct record_writer;
/* Reads the calling thread's resource usage into `looks`. Returns the maximum duration of an uninterrupted reading of this kind, ticks. */
uint64_t interpose_read_usage(const struct record_writer *writer, struct interpose_readings *looks, uint64_t now);
/* Reports whether the recorder may make system calls. It may if the process has at most `filters` seccomp filters, as many as 'assay
 * record' has. If `filters` is UINT64_MAX, process 1 of the container or machine is used instead. Returns false if a number is unknown. */
bool interpose_may_call(uint64_t filters);
/* Reports whether the program, or a library loaded at its start, has instructions of its own that set seccomp filters. */
bool interpose_has_own_seccomp_filter(void);
/* Resets the caches of descriptors and of ends of pipes and connections in a child process. */
void interpose_after_fork(void);
/* Returns the counter `kind` of the descriptor `file`, with the number of a pipe's or connection's end. Caches it for LOOK_TICKS. */
uint32_t interpose_find_kind(struct record_writer *writer, int file, uint64_t now);
#define INTERPOSE_PATH_MAX 8u
struct interpose_path {
	uint64_t hash; /* hash of `at` and the call site's key */
	uint32_t n;
	uintptr_t at[INTERPOSE_PATH_MAX];
};
/* Returns the number of a call site in the file. If `path` is not NULL, each path to the site has its own number. Returns INTERPOSE_NO_SITE
 * if there is no space, or INTERPOSE_SITE_PENDING while another thread is assigning the number. */
uint32_t interpose_site_number(struct record_writer *writer, uint64_t key, const char *name, const struct interpose_path *path);

#endif

/* Records a program's calls to the outside: the call, its site, the amount of work requested, its duration, and the time that the thread
 * computed since its previous call. A preloaded library; it records if ASSAY_INTERPOSE_DIRECTORY names a directory, one file per process
 * (runs/inside/record/record.h). A "function" of the file is a call site, a vertex of the state transition graph: the return address of the
 * call in the module with that build-id, and the name of the called function. The counters, UINT64_MAX if unknown:
 *
 *   size         amount requested: bytes, descriptors of a poll, nanoseconds of a sleep
 *   kind         of the descriptor: an enum interpose_kind. Above these INTERPOSE_KIND_BITS, for a pipe or a connection: N of the line
 *                "i end:N PID pipe DEVICE:INODE" or "i end:N PID inet LOCAL PEER" with this process's id; 0: unknown
 *   result       result of the call; UINT64_MAX: it failed
 *   args         hash of the other arguments that determine the work; 0: none
 *   from         number of the site of the thread's previous call; from -> this site is an edge of the graph
 *   since        duration of the edge, ticks, from the end of that call to the start of this one. Includes the reading of the kernel's
 *                resource usage counters if that took so long that the thread cannot have been running
 *   work         work on the edge: instructions in user mode if the CPU counts them for us ("i work instructions"), otherwise statements
 *                if these are counted (assay build --for work; "i work statements")
 *   cpu_ns, run_delay_ns, minor_faults, major_faults, voluntary, involuntary
 *                of the thread, from its start to the start of the call; read at most once in INTERPOSE_LOOK_PERIOD
 *   throttled_ns, steal_ns, busy_ns
 *                read with these, but more rarely: of the thread's cgroups, while it was in them; of the CPUs that it was on; time of all
 *                CPUs of the machine in use
 *   loop_ticks   with these: ticks of a loop with a constant number of operations, a few milliseconds ago at most: shows the CPU's clock
 *   rate
 *   stopped_ns   with these: time for which the process was stopped, as reported from outside (fleet/cgroup/stops.h)
 *   io_pressure_ns, memory_pressure_ns
 *                with these: time for which any task of the process's cgroup (version 2), or of the machine, waited for a disk, or
 *                because memory was short
 *   own_ns       with these: CPU time of the process, including threads that make no calls
 *   run_ns       with these: CPU time of all processes of the run on this host, recorded or not, as reported from outside
 *   slots, cycles, front_slots, back_slots, retired, lost_slots, memory_slots, l1_miss_cycles, l2_miss_cycles, l3_miss_cycles
 *                with these, if the CPU counts them: what all threads of the process did with its pipeline (interpose_topdown.c)
 *   from_weight  number of passages of the edge that this record represents; 0: none, or from is unknown
 *
 * The level in the header determines which of these are taken. It may change at any time (record.h).
 *
 * With ASSAY_INTERPOSE_CONTEXT a vertex is a call site and the path of calls that led to it: "write<1a2f<3b4c", the return addresses of its
 * function and of those above it, each relative to its module; at most INTERPOSE_PATH.
 *
 * Records are chosen in two steps, so that sums stay unbiased (interpose_record.c). A record's weight is the number of calls of the site
 * that it represents; 0: it exists only for its edge, or for the thread's values. Nothing here changes errno, results or signals. Linux,
 * x86-64, glibc 2.35. Source of the graph: VAPRO (Zheng and others, PPoPP 2022). */
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
	INTERPOSE_MESSAGE,    /* MPI, two ranks */
	INTERPOSE_COLLECTIVE, /* MPI, all ranks of a communicator */
	INTERPOSE_FUNCTION    /* no descriptor: start or end of a function named by the user; `size` is its chosen argument, if any */
};

#define INTERPOSE_KIND_BITS 8

/* `args` of MPI calls, from the low bits up: 1 + the partner's rank in the whole program (in a collective call the root's), the tag, and a
 * hash of the communicator's ranks, equal in all of them. 0: unknown or none. */
#define INTERPOSE_PEER_BITS 20
#define INTERPOSE_TAG_BITS  15
#define INTERPOSE_COMM_BITS 15

#define INTERPOSE_NO_SIZE      UINT64_MAX
#define INTERPOSE_NO_FILE      (-1) /* values below: an enum interpose_kind, negated */
#define INTERPOSE_NO_SITE      UINT32_MAX
#define INTERPOSE_LATER	       (UINT32_MAX - 1) /* another thread is assigning the site's number */
#define INTERPOSE_SITES_LOG2   11 /* size of a thread's table: a program that prints a report by itself has hundreds of sites */
#define INTERPOSE_ADDRESS_BITS 48

/* A call site in one thread: one cache line. */
struct interpose_site {
	uint64_t key;	     /* 0: free */
	uint32_t left;	     /* calls before the next one to be timed */
	uint32_t after;	     /* calls of that one's block after it */
	uint64_t next;	     /* ordinal of the next one to be timed */
	uint64_t last;	     /* ticks of the last timed one */
	uint64_t second;     /* ticks at the start of its current second */
	uint32_t number;     /* number of the file's function; INTERPOSE_NO_SITE: never recorded */
	uint32_t block_log2; /* log2 of the block size: one call per block is timed */
	uint32_t free;	     /* calls in this second that are still all timed */
} __attribute__((aligned(64)));

/* Fields of a thread that wrappers need. */
struct interpose_hot {
	struct interpose_site
	    *sites;    /* [1 << INTERPOSE_SITES_LOG2], never NULL; an empty table while `from` is known, so that no call is skipped */
	uint32_t from; /* site of the previous call if that was timed: then this one is timed as well */
	bool busy;     /* inside the recorder, or hidden: calls of signal handlers or libraries meanwhile are not recorded */
};
extern _Thread_local struct interpose_hot interpose_hot __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* A call that is being timed. */
struct interpose_call {
	struct interpose_site *site;
	uint64_t key, ordinal, start, since, work, accounts;
	uint32_t from, number;
	uint8_t turn, block_log2, from_log2;
};

/* Returns the key of a call site. function: number of the called function. */
static inline uint64_t interpose_key(const void *address, uint64_t function)
{
	return (uint64_t)(uintptr_t)address | function << INTERPOSE_ADDRESS_BITS;
}

static inline uint32_t interpose_place(uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15u) >> (64 - INTERPOSE_SITES_LOG2));
}

/* Counts a call. Returns true if it is certainly not timed. */
__attribute__((always_inline)) static inline bool interpose_skips(uint64_t key)
{
	struct interpose_site *s = &interpose_hot.sites[interpose_place(key)];

	if (s->key != key || !s->left)
		return false;
	s->left--;
	return true;
}

/* interpose_off: nothing is recorded any more. interpose_threads_hidden: threads that make their first call now are never recorded. */
extern bool interpose_off __attribute__((visibility("hidden"))), interpose_threads_hidden __attribute__((visibility("hidden")));

/* True if it suffices to call `next`, which is known. Wrappers do so by a jump, which is cheap for the caller. */
#define INTERPOSE_JUMPS(key, next) (interpose_skips(key) || (interpose_off && (next)))

/* Called after that. Returns true if the call is timed: then the caller ends it by interpose_leave(). `name` is static. In between the
 * thread may end, fork or jump away: nothing is held. */
bool interpose_enter(struct interpose_call *call, uint64_t key, const char *name);
void interpose_leave(const struct interpose_call *call, int file, uint64_t size, uint64_t args, int64_t result);
/* Reports whether the process has a file: false in a child that has not started one, and after a stop. */
bool interpose_has_file(void);
/* Ends the file, since the process ends in order. If `why` is not NULL: nothing is recorded from now on, and only the program makes system
 * calls, because forbidden ones would kill it. */
void interpose_stop(const char *why);
/* Called before the program limits its address space. */
void interpose_limit(uint64_t bytes);
/* Called before the calling thread starts one by clone(2) with these flags. A new thread without thread-local storage of its own uses this
 * thread's, and is not recorded. */
void interpose_share(uint64_t flags);
/* Returns the function NAME of the libraries after this one, otherwise of the libraries of the module that contains `caller`. NULL:
 * none. */
void *interpose_find(const char *name, uintptr_t caller);
/* Hides the thread's following calls from the recorder, or shows them again. Returns the state before. Must not be left by a jump. */
static inline bool interpose_hide(bool hidden)
{
	bool before = interpose_hot.busy;

	interpose_hot.busy = hidden;
	return before;
}
/* Reports whether the address is in one of MPI's libraries. Their calls are never recorded. */
bool interpose_is_mpi(uintptr_t address);

/* Returns the hash of arguments `args`, extended by one more; it starts with 0. */
static inline uint64_t interpose_mix(uint64_t args, uint64_t one)
{
	return (args ^ one ^ args >> 29) * 0x9e3779b97f4a7c15u;
}

/* ---- private to the library ---- */

/* Makes a system call. Returns its result or -errno. */
static inline long interpose_ask(long number, long a, long b, long c, long d)
{
	return record_system_call(number, a, b, c, d, 0, 0);
}

static inline uint64_t interpose_text_hash(const char *text)
{
	uint64_t hash = 0;

	for (; *text; text++)
		hash = interpose_mix(hash, (unsigned char)*text);
	return hash | 1;
}

#define INTERPOSE_TOPDOWN 10
/* Starts to count the CPU's pipeline for the calling thread and those that it starts. Returns false if the CPU or the kernel does not. */
bool interpose_topdown_begin(void);
/* Fills what has been counted so far; UINT64_MAX: unknown. */
void interpose_topdown_read(uint64_t out[INTERPOSE_TOPDOWN]);
void interpose_topdown_end(void);

struct interpose_accounts {
	uint64_t cpu_ns, run_delay_ns, minor_faults, major_faults, voluntary, involuntary;
	uint64_t throttled_ns, steal_ns, busy_ns, stopped_ns, loop_ticks, io_pressure_ns, memory_pressure_ns, own_ns, run_ns;
	uint64_t topdown[INTERPOSE_TOPDOWN];
};

/* Schedule of an expensive reading, which may take only a part of the time. */
struct interpose_pace {
	uint64_t due;	/* ticks at which it is due; 0: now */
	uint64_t usual; /* its usual duration, ticks; 0: not measured yet */
};

/* State of a thread between two readings of the time withheld from it. */
struct interpose_withheld {
	struct interpose_pace pace;
	uint32_t processor;
	uint64_t ticks; /* steal time of that CPU in /proc/stat, in its unit */
};

/* State of a thread between two readings of its resource usage. At the start all bits of `accounts` are set, and the rest is zero. */
struct interpose_looks {
	struct interpose_accounts accounts;
	struct interpose_withheld withheld;
	uint64_t looked, looped; /* ticks of the last reading of resource usage, of the CPU's clock rate */
	uint64_t usual, period;	 /* ticks: usual duration of a reading; time until the next one */
	uint64_t turns;		 /* context switches by then */
	uint32_t idle_log2;	 /* it has run in one of 1 << n parts of the time */
	enum record_level level; /* level of `accounts` */
};

#define INTERPOSE_LOOK_PERIOD 2500000u /* ticks: about a millisecond, at least, between two readings */
#define INTERPOSE_LOOK	      125000u  /* ticks; in a longer one the thread did not run: quotas end turns in system calls */
#define INTERPOSE_LONG	      1250000u /* the same for a reading that includes withheld time */

struct record_writer;
/* Reads the calling thread's resource usage. Returns its longest duration without an interruption: INTERPOSE_LOOK or INTERPOSE_LONG. */
uint64_t interpose_accounts_look(const struct record_writer *writer, struct interpose_looks *looks, uint64_t now);
/* Reports whether this process may make system calls other than the program's. Not if it has more seccomp filters than `filters`, the
 * number of its recorder, or if that is unknown. UINT64_MAX: not given; compares with the first process of the machine or the container. */
bool interpose_is_free(uint64_t filters);
/* Reports whether code of the program, or of a library with which it starts, restricts its system calls by its own instructions. */
bool interpose_restricts_itself(void);
/* Called in a child: resets the numbers of ends. */
void interpose_look_forked(void);
/* Returns the counter `kind` of a descriptor, with the number of the end of a pipe or connection. Caches it for LOOK_TICKS. */
uint32_t interpose_kind_of(struct record_writer *writer, int file, uint64_t now);
#define INTERPOSE_PATH 8u
struct interpose_path {
	uint64_t hash; /* includes the key of the call site */
	uint32_t n;
	uintptr_t at[INTERPOSE_PATH];
};
/* Returns the number of a call site, or (path not NULL) of it with the path, in the file. INTERPOSE_NO_SITE: no room. INTERPOSE_LATER:
 * another thread is assigning one. */
uint32_t interpose_site_number(struct record_writer *writer, uint64_t key, const char *name, const struct interpose_path *path);

#endif

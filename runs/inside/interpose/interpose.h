/* Records a program's calls to the outside: the call, its site, the requested amount of work, its duration, and the time that the thread
 * computed since its previous call. A preloaded library, which records if ASSAY_INTERPOSE_DIRECTORY names a directory, in one file per
 * process (runs/inside/record/record.h). A "function" of the file is a call site, a vertex of the state transition graph: the return
 * address of the call in the module with that build-id, and the name of the called function. The counters, UINT64_MAX if unknown:
 *
 *   size         requested amount: bytes, descriptors of a poll, nanoseconds of a sleep
 *   kind         kind of the descriptor, an enum interpose_kind in the low INTERPOSE_KIND_BITS. Above them, for a pipe or a connection: N
 * of the line "i end:N PID pipe DEVICE:INODE" or "i end:N PID inet LOCAL PEER" with this process's id; 0: unknown result       result of
 * the call; UINT64_MAX: the call failed args         hash of the other arguments that determine the work; 0: none from         number of
 * the site of the thread's previous call; from -> this site is an edge of the graph since        duration of the edge, ticks: from the end
 * of the previous call to the start of this one. Includes the reading of the resource usage counters below if that took so long that the
 * thread was interrupted work         work on the edge: instructions in user mode if the CPU can count them ("i work instructions"),
 * otherwise statements of programs built by 'assay build --for work' ("i work statements") cpu_ns, run_delay_ns, minor_faults,
 * major_faults, voluntary, involuntary counters of the thread from its start to the start of the call; read at most once per
 * INTERPOSE_LOOK_PERIOD. The following counters are read together with them, some more rarely: throttled_ns throttled time of the process's
 * cgroups, while it was in them steal_ns     steal time of the CPUs that the thread was on busy_ns      CPU time of all programs on the
 * machine loop_ticks   duration of a loop with a constant number of operations, ticks: shows the CPU's clock rate stopped_ns   time for
 * which the process was stopped, observed from outside (fleet/cgroup/stops.h) io_pressure_ns, memory_pressure_ns time in which a task of
 * the process's cgroup (version 2), or of the machine, waited for a disk, or for memory own_ns       CPU time of the process, including
 * threads without calls run_ns       CPU time of all processes of the run on this host, recorded or not, observed from outside slots,
 * cycles, front_slots, back_slots, retired, lost_slots, memory_slots, l1_miss_cycles, l2_miss_cycles, l3_miss_cycles pipeline events of all
 * threads of the process, if the CPU can count them (interpose_topdown.c) from_weight  number of passages of the edge that the record
 * represents; 0: none, or `from` is unknown
 *
 * The level in the header determines which of these are read. It may change at any time (record.h).
 *
 * With ASSAY_INTERPOSE_CONTEXT, a vertex is a call site and the path of calls to it: "write<1a2f<3b4c". The path is the return addresses
 * of the function with the site and of its callers, each relative to its module; at most INTERPOSE_PATH.
 *
 * Records are chosen in two steps, so that sums stay unbiased (interpose_record.c). A record's weight is the number of calls of the site
 * that it represents; 0: the record exists only for its edge, or for the thread's counters. The library changes no errno, result or
 * signal. Linux, x86-64, glibc 2.35. Source of the graph: VAPRO (Zheng and others, PPoPP 2022). */
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
	INTERPOSE_COLLECTIVE, /* MPI call of all ranks of a communicator */
	INTERPOSE_FUNCTION    /* no descriptor: start or end of a function named by --call; `size` is its chosen argument, if any */
};

#define INTERPOSE_KIND_BITS 8

/* `args` of MPI calls, from the low bits up: 1 + the partner's rank in the whole program (in a collective call, the root's rank), the tag,
 * and a hash of the communicator's ranks, equal in all ranks. 0: unknown or none. */
#define INTERPOSE_PEER_BITS 20
#define INTERPOSE_TAG_BITS  15
#define INTERPOSE_COMM_BITS 15

#define INTERPOSE_NO_SIZE      UINT64_MAX
#define INTERPOSE_NO_FILE      (-1) /* smaller values: an enum interpose_kind, negated */
#define INTERPOSE_NO_SITE      UINT32_MAX
#define INTERPOSE_LATER	       (UINT32_MAX - 1) /* another thread is assigning the site's number */
#define INTERPOSE_SITES_LOG2   11		/* log2 of the size of a thread's table; a program with reports has hundreds of sites */
#define INTERPOSE_ADDRESS_BITS 48

/* State of a call site in one thread; fills one cache line. */
struct interpose_site {
	uint64_t key;	     /* key of the site (interpose_key()); 0: the entry is free */
	uint32_t left;	     /* number of calls before the next timed call */
	uint32_t after;	     /* number of calls after the next timed call in its block */
	uint64_t next;	     /* ordinal of the next timed call */
	uint64_t last;	     /* ticks of the last timed call */
	uint64_t second;     /* ticks at the start of the current second of the site */
	uint32_t number;     /* number of the site in the file; INTERPOSE_NO_SITE: never recorded */
	uint32_t block_log2; /* log2 of the block size; one call per block is timed */
	uint32_t free;	     /* number of calls in this second that are all timed */
} __attribute__((aligned(64)));

/* Members of a thread's state that wrappers need. */
struct interpose_hot {
	struct interpose_site *sites; /* [1 << INTERPOSE_SITES_LOG2], never NULL; empty while `from` is known, so that no call is skipped */
	uint32_t from;		      /* site of the previous call if that call was timed, which causes this call to be timed, too */
	bool busy;		      /* in the recorder, or hidden: calls by signal handlers or libraries are not recorded */
};
extern _Thread_local struct interpose_hot interpose_hot __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* State of a call that is being timed. */
struct interpose_call {
	struct interpose_site *site;
	uint64_t key, ordinal, start, since, work, accounts;
	uint32_t from, number;
	uint8_t turn, block_log2, from_log2;
};

/* Returns the key of a call site: its address and the number of the called function. */
static inline uint64_t interpose_key(const void *address, uint64_t function)
{
	return (uint64_t)(uintptr_t)address | function << INTERPOSE_ADDRESS_BITS;
}

static inline uint32_t interpose_place(uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15u) >> (64 - INTERPOSE_SITES_LOG2));
}

/* Counts a call. Returns true if the call is certainly not timed. */
__attribute__((always_inline)) static inline bool interpose_skips(uint64_t key)
{
	struct interpose_site *s = &interpose_hot.sites[interpose_place(key)];

	if (s->key != key || !s->left)
		return false;
	s->left--;
	return true;
}

/* interpose_off: nothing is recorded any more. interpose_threads_hidden: threads whose first call comes now are never recorded. */
extern bool interpose_off __attribute__((visibility("hidden"))), interpose_threads_hidden __attribute__((visibility("hidden")));

/* True if the wrapper can just jump to `next`, which is known. A jump is cheap for the caller. */
#define INTERPOSE_JUMPS(key, next) (interpose_skips(key) || (interpose_off && (next)))

/* Starts a call after interpose_skips() was false. Returns true if the call is timed; then the caller calls interpose_leave() after it.
 * `name` is static. No lock is held in between: the thread may end, fork or jump away. */
bool interpose_enter(struct interpose_call *call, uint64_t key, const char *name);
void interpose_leave(const struct interpose_call *call, int file, uint64_t size, uint64_t args, int64_t result);
/* Reports whether the process has a file. A child has none before its first call, and a stopped recorder has none. */
bool interpose_has_file(void);
/* Ends the file, because the process ends. If `why` is not NULL, the recorder stops for this reason and makes no more system calls, because
 * forbidden ones would kill the program. */
void interpose_stop(const char *why);
/* Prepares for a limit of the address space, before the program sets it. */
void interpose_limit(uint64_t bytes);
/* Prepares for a clone(2) with these flags by the calling thread. A new thread without its own thread-local storage uses that of its
 * creator, and is not recorded. */
void interpose_share(uint64_t flags);
/* Returns the function NAME of the libraries after this one, or else of the libraries of the module that contains `caller`. NULL: none. */
void *interpose_find(const char *name, uintptr_t caller);
/* Hides the thread's next calls from the recorder, or shows them again. Returns the previous state. No jump may leave the hidden
 * section. */
static inline bool interpose_hide(bool hidden)
{
	bool before = interpose_hot.busy;

	interpose_hot.busy = hidden;
	return before;
}
/* Reports whether the address is in a library of MPI, whose own calls are never recorded. */
bool interpose_is_mpi(uintptr_t address);

/* Returns the hash `args` of arguments, extended by `one`; the first hash is 0. */
static inline uint64_t interpose_mix(uint64_t args, uint64_t one)
{
	return (args ^ one ^ args >> 29) * 0x9e3779b97f4a7c15u;
}

/* ---- private to the library ---- */

/* Makes a system call. Returns the result or -errno. */
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
/* Starts to count pipeline events of the calling thread and the threads that it will start. Returns false if that is impossible. */
bool interpose_topdown_begin(void);
/* Fills the current counts; UINT64_MAX: unknown. */
void interpose_topdown_read(uint64_t out[INTERPOSE_TOPDOWN]);
void interpose_topdown_end(void);

struct interpose_accounts {
	uint64_t cpu_ns, run_delay_ns, minor_faults, major_faults, voluntary, involuntary;
	uint64_t throttled_ns, steal_ns, busy_ns, stopped_ns, loop_ticks, io_pressure_ns, memory_pressure_ns, own_ns, run_ns;
	uint64_t topdown[INTERPOSE_TOPDOWN];
};

/* Schedule of an expensive reading, which limits its share of the time. */
struct interpose_pace {
	uint64_t due;	/* ticks at which the reading is due; 0: now */
	uint64_t usual; /* usual duration of the reading, ticks; 0: unknown */
};

/* State of a thread between two readings of the time withheld from it. */
struct interpose_withheld {
	struct interpose_pace pace;
	uint32_t processor;
	uint64_t ticks; /* steal time of `processor` in /proc/stat, in the unit of that file */
};

/* State of a thread between two readings of its resource usage. Initially, all bits of `accounts` are set, and the rest is zero. */
struct interpose_looks {
	struct interpose_accounts accounts;
	struct interpose_withheld withheld;
	uint64_t looked, looped; /* ticks of the last reading of resource usage, and of the CPU's clock rate */
	uint64_t usual, period;	 /* ticks: usual duration of a reading; time until the next reading */
	uint64_t turns;		 /* number of context switches at the last reading */
	uint32_t idle_log2;	 /* log2 of elapsed time / CPU time since the previous reading */
	enum record_level level; /* level of counters in `accounts` */
};

#define INTERPOSE_LOOK_PERIOD 2500000u /* ticks: least time between two readings, about a millisecond */
#define INTERPOSE_LOOK	      125000u  /* ticks; a longer reading was interrupted, because quotas act at the end of system calls */
#define INTERPOSE_LONG	      1250000u /* ticks; a longer reading of withheld time was interrupted */

struct record_writer;
/* Reads the calling thread's resource usage. Returns the longest duration without an interruption: INTERPOSE_LOOK or INTERPOSE_LONG. */
uint64_t interpose_accounts_look(const struct record_writer *writer, struct interpose_looks *looks, uint64_t now);
/* Reports whether the recorder may make system calls: the process has no more seccomp filters than `filters`, their number in 'assay
 * record'. UINT64_MAX: not given; the first process of the machine or container is used. False if a number is unknown. */
bool interpose_is_free(uint64_t filters);
/* Reports whether the program, or a library that it starts with, has code that sets seccomp filters by its own instructions. */
bool interpose_restricts_itself(void);
/* Resets the numbers of ends in a child process. */
void interpose_after_fork(void);
/* Returns the counter `kind` of a descriptor, with the number of a pipe's or connection's end. Caches it for LOOK_TICKS. */
uint32_t interpose_kind_of(struct record_writer *writer, int file, uint64_t now);
#define INTERPOSE_PATH 8u
struct interpose_path {
	uint64_t hash; /* hash of `at` and the key of the call site */
	uint32_t n;
	uintptr_t at[INTERPOSE_PATH];
};
/* Returns the number in the file of a call site or, if `path` is not NULL, of the site with the path. INTERPOSE_NO_SITE: no space.
 * INTERPOSE_LATER: another thread is assigning a number. */
uint32_t interpose_site_number(struct record_writer *writer, uint64_t key, const char *name, const struct interpose_path *path);

#endif

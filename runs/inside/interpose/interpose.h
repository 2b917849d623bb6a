/* Records a program's calls into the outside: which call, from where, with how much to do, how long it took, and how long the thread
 * computed since the call before it. A library to be preloaded; it records when ASSAY_INTERPOSE_DIRECTORY names a directory, one file a
 * process (runs/inside/record/record.h). A "function" of the file is a call site, a vertex of the state transition graph: the address that
 * the call returns to in the module with that build-id, and the name of what was called. The counters, UINT64_MAX where not known:
 *
 *   size         what was asked for: bytes, descriptors of a poll, nanoseconds of a sleep
 *   kind         of the descriptor, one of enum interpose_kind; above these INTERPOSE_KIND_BITS, of a pipe or a connection, N of the line
 *                "i end:N PID pipe DEVICE:INODE" or "i end:N PID inet LOCAL PEER" with this process's id; 0: not known
 *   result       what the call returned; UINT64_MAX: it failed
 *   args         a hash of the other arguments that determine the work; 0: there are none
 *   from         number of the call site of the thread's call just before this one: from -> this site is an edge of the graph
 *   since        ticks from the end of that call to the start of this one, which the edge took; with looking at the
 *                kernel's accounts where that took so long that the thread cannot have been running
 *   work         instructions in between, outside of the kernel, if the processor counts them for us: then "i work instructions" is
 *                there; else statements, if these are counted (assay build --for work): "i work statements"
 *   cpu_ns, run_delay_ns, minor_faults, major_faults, voluntary, involuntary
 *                of the thread since it started, when the call started; at most once in PERIOD_TICKS
 *   throttled_ns, steal_ns, busy_ns
 *                with these: of the cgroups that it was in, as long as it was; of the CPUs that it was on; time of all
 *                CPUs of the machine that anybody used. Looked at more rarely
 *   loop_ticks   with these: ticks that a loop of always as many operations took, a few milliseconds ago at most: the processor's clock
 *   stopped_ns   with these: for how long the process was stopped, as it is told from outside (fleet/cgroup/stops.h)
 *   io_pressure_ns, memory_pressure_ns
 *                with these: for how long any task of the process's cgroup (version 2), or of the machine, waited for a disk, or
 *                for memory that was short
 *   own_ns       with these: CPU time of the process, whether its threads call anything or not
 *   run_ns       with these: of all processes of the run on this host, whether they are recorded or not, as it is told from outside
 *   from_weight  how many passages of the edge this record represents; 0: none, or from is not known
 *
 * Which of these are taken the header's level says, which may change at any time (record.h).
 *
 * With ASSAY_INTERPOSE_CONTEXT a vertex is a call site and the path of calls that led to it: "write<1a2f<3b4c", the addresses that its
 * function and those above it return to, each in its module's file; at most INTERPOSE_PATH.
 *
 * What is recorded is chosen in two steps, so that sums stay unbiased (interpose_record.c). A record's weight is how many calls of the site
 * it represents; 0: it is there for its edge, or for the thread's values. Nothing here changes errno, results or signals. Linux, x86-64,
 * glibc 2.35. Source of the graph: VAPRO (Zheng and others, PPoPP 2022). */
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
	INTERPOSE_MESSAGE,    /* of MPI, of two ranks */
	INTERPOSE_COLLECTIVE, /* of MPI, of all ranks of a communicator */
	INTERPOSE_FUNCTION /* no descriptor: where a function that the user names starts or ends; `size` is its argument's, if one is named
			    */
};

#define INTERPOSE_KIND_BITS 8

/* `args` of calls of MPI, from the low bits on: the partner's rank in the whole program (of a collective call, the root's) and 1, the tag,
 * and a hash of the communicator's ranks, which is the same in all of them. 0: not known, or there is none. */
#define INTERPOSE_PEER_BITS 20
#define INTERPOSE_TAG_BITS  15
#define INTERPOSE_COMM_BITS 15

#define INTERPOSE_NO_SIZE      UINT64_MAX
#define INTERPOSE_NO_FILE      (-1) /* below that: an enum interpose_kind with the sign changed */
#define INTERPOSE_NO_SITE      UINT32_MAX
#define INTERPOSE_LATER	       (UINT32_MAX - 1) /* another thread is giving the site its number */
#define INTERPOSE_SITES_LOG2   11		/* places of a thread's table: what prints a report by itself has hundreds */
#define INTERPOSE_ADDRESS_BITS 48

/* A call site in a thread: one line of the processor's cache. */
struct interpose_site {
	uint64_t key;	     /* 0: the place is free */
	uint32_t left;	     /* calls before the next one whose turn it is to be timed */
	uint32_t after;	     /* calls of its block behind that one */
	uint64_t next;	     /* ordinal of that one */
	uint64_t last;	     /* ticks of the last one */
	uint64_t second;     /* ticks: when its present second started */
	uint32_t number;     /* of the file's function; INTERPOSE_NO_SITE: it is never recorded */
	uint32_t block_log2; /* one call of so many is timed: of that block */
	uint32_t free;	     /* calls that are all timed in this second */
} __attribute__((aligned(64)));

/* What a wrapper needs of its thread. */
struct interpose_hot {
	struct interpose_site
	    *sites;    /* [1 << INTERPOSE_SITES_LOG2], never NULL; an empty one while `from` is known, so that none is skipped */
	uint32_t from; /* site of the call just before, if that was timed: this one is timed as well */
	bool busy;     /* within the recorder, or hidden: what a signal's handler or a library calls meanwhile is not recorded */
};
extern _Thread_local struct interpose_hot interpose_hot __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* A call that is being timed. */
struct interpose_call {
	struct interpose_site *site;
	uint64_t key, ordinal, start, since, work, accounts;
	uint32_t from, number;
	uint8_t turn, block_log2, from_log2;
};

/* `function`: a number of the function that is called. */
static inline uint64_t interpose_key(const void *address, uint64_t function)
{
	return (uint64_t)(uintptr_t)address | function << INTERPOSE_ADDRESS_BITS;
}

static inline uint32_t interpose_place(uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15u) >> (64 - INTERPOSE_SITES_LOG2));
}

/* True: this call is surely not timed. */
__attribute__((always_inline)) static inline bool interpose_skips(uint64_t key)
{
	struct interpose_site *s = &interpose_hot.sites[interpose_place(key)];

	if (s->key != key || !s->left)
		return false;
	s->left--;
	return true;
}

/* Nothing is recorded, for good; nor, as long as the second is set, ever the threads that make their first call meanwhile. */
extern bool interpose_off __attribute__((visibility("hidden"))), interpose_threads_hidden __attribute__((visibility("hidden")));

/* True: all that is to be done is to call `next`, which is known; asked by a jump to it, for the caller's sake. */
#define INTERPOSE_JUMPS(key, next) (interpose_skips(key) || (interpose_off && (next)))

/* After that. True: this call is timed, and the caller ends it by interpose_leave(). `name`: static. In between the thread may end, fork
 * or jump away: nothing is held. */
bool interpose_enter(struct interpose_call *call, uint64_t key, const char *name);
void interpose_leave(const struct interpose_call *call, int file, uint64_t size, uint64_t args, int64_t result);
/* Not in a child that has not started its file, and not once it has stopped. */
bool interpose_has_file(void);
/* The process ends here, in order. With a reason: from now on nothing is recorded, and no system call made that is not the program's, for
 * what it may not call would kill it. */
void interpose_stop(const char *why);
/* The program is about to limit its address space. */
void interpose_limit(uint64_t bytes);
/* The calling thread is about to start one by clone(2) with these flags. One that gets no thread-local storage of its own uses this
 * thread's: it is not recorded. */
void interpose_share(uint64_t flags);
/* The function behind this library, or, where only a part of the program has loaded what has it, where that part looks; NULL: there is
 * none. */
void *interpose_find(const char *name, uintptr_t caller);
/* What the thread calls from now on is not recorded, or is again; what was so before. Not to be left by a jump. */
static inline bool interpose_hide(bool hidden)
{
	bool before = interpose_hot.busy;

	interpose_hot.busy = hidden;
	return before;
}
/* Is that in one of the libraries that MPI is made of? What these call is not recorded, wherever they are called from. */
bool interpose_is_mpi(uintptr_t address);

/* Of several arguments, one after the other, from 0. */
static inline uint64_t interpose_mix(uint64_t args, uint64_t one)
{
	return (args ^ one ^ args >> 29) * 0x9e3779b97f4a7c15u;
}

/* ---- private to the library ---- */

/* The result, or -errno. */
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

struct interpose_accounts {
	uint64_t cpu_ns, run_delay_ns, minor_faults, major_faults, voluntary, involuntary;
	uint64_t throttled_ns, steal_ns, busy_ns, stopped_ns, loop_ticks, io_pressure_ns, memory_pressure_ns, own_ns, run_ns;
};

/* What takes long is looked at again later: it shall take no more than a part of the time. */
struct interpose_pace {
	uint64_t due;	/* ticks; 0: now */
	uint64_t usual; /* that it takes; 0: it never has */
};

/* What a thread keeps between two looks. */
struct interpose_withheld {
	struct interpose_pace pace;
	uint32_t processor;
	uint64_t ticks; /* stolen from that, of /proc/stat */
};

/* What a thread keeps between two looks at its accounts. All bits of `accounts` set, the rest zeroed, to start with. */
struct interpose_looks {
	struct interpose_accounts accounts;
	struct interpose_withheld withheld;
	uint64_t looked, looped; /* ticks: at the accounts, at the processor's clock */
	uint64_t usual, period;	 /* ticks: that a look takes; until the next one */
	uint64_t turns;		 /* that it had left its processor by then */
	uint32_t idle_log2;	 /* it has run in one of 1 << n parts of the time */
	enum record_level level; /* of the accounts */
};

#define INTERPOSE_LOOK_PERIOD 2500000u /* ticks: about a millisecond between two looks, at least */
#define INTERPOSE_LOOK	      125000u /* ticks; a look that takes longer, the thread did not run: a quota ends threads' turns in system calls */
#define INTERPOSE_LONG	      1250000u /* the same of one at what was withheld, too */

struct record_writer;
/* Looks at the calling thread's accounts. Returns how long that takes at most, unless the thread does not run meanwhile: one of these two.
 */
uint64_t interpose_accounts_look(const struct record_writer *writer, struct interpose_looks *looks, uint64_t now);
/* May this process make system calls that are not the program's? Not where it was given more filters (seccomp) than what records it has, or
 * where that is not known. UINT64_MAX: that is not told; then than the machine's, or the container's, first process. */
bool interpose_is_free(uint64_t filters);
/* Does code of the program, or of a library with which it starts, restrict its system calls by instructions of its own? */
bool interpose_restricts_itself(void);
/* In a child, which numbers ends again. */
void interpose_look_forked(void);
/* Something about the process, with a number behind the key: "thread:3". */
void interpose_say(struct record_writer *writer, const char *beginning, uint64_t number, const char *value);
/* The counter `kind` of a descriptor, which is looked at again after a while. */
uint32_t interpose_kind_of(struct record_writer *writer, int file, uint64_t now);
#define INTERPOSE_PATH 8u
struct interpose_path {
	uint64_t hash; /* with the call site's key */
	uint32_t n;
	uintptr_t at[INTERPOSE_PATH];
};
/* Number of a call site for the file's function, or (path is not NULL) of it and the path; INTERPOSE_NO_SITE: there is no room, or another
 * thread is just giving it one. */
uint32_t interpose_site_number(struct record_writer *writer, uint64_t key, const char *name, const struct interpose_path *path);

#endif

/* libassay-probe.so counts calls of selected functions in another program's process, and measures a part of these calls. While the program
 * runs, the library does not allocate, lock or print. Its hooks use no vector registers.
 *
 *   list file --list--> functions in the modules of this process --patch--> a jump to a stub at the start of each function
 *   stub: counts down in thread-local storage; at the sampled call: probe_entry --> probe_enter: pushes a frame on the thread's shadow
 *         stack, and replaces the function's return address by probe_return
 *   probe_return --> probe_leave: pops the frame, writes the sample, continues at the original return address
 *
 * Code is patched only on x86-64. On other architectures, only functions compiled with -finstrument-functions are measured. There,
 * probe_unpatched.c and probe_dlopen.c replace probe_trampoline.c, probe_hook.c and probe_interpose.c. Private to runs/inside/probe/. */
#ifndef RUNS_PROBE_PROBE_H
#define RUNS_PROBE_PROBE_H

#include "runs/inside/record/record_writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_VERSION	    "1" /* version of the environment variables and the list, which must match the command that loads the library */
#define PROBE_DEPTH_MAX	    16384u /* maximum number of frames of a thread; calls nested deeper are not measured */
#define PROBE_LEVEL_MAX	    16u	   /* maximum sampling level: at least one call in 2^16 is sampled */
#define PROBE_SOFTWARE_MAX  8u
#define PROBE_TLS_FUNCTIONS 256u /* number of functions whose countdown is in thread-local storage, where it takes one instruction */
#define PROBE_EXPORT	    __attribute__((visibility("default")))
#define PROBE_TLS	    __attribute__((tls_model("initial-exec")))

/* Frame of the shadow stack: an invocation that is being measured. */
struct probe_frame {
	uintptr_t *slot; /* stack slot with the return address; with -finstrument-functions, an address below the function's frame */
	uintptr_t return_address; /* original return address; 0 if the slot is not changed */
	uint32_t function;
	uint32_t level;		   /* log2 of the number of calls that the invocation represents */
	bool shows_return_address; /* the slot holds the original return address for now, because an unwinder may read it */
	bool is_unrecorded;	   /* no sample is written, because the invocation started before a fork() or its end was not measured */
	uint32_t inner, outer; /* -finstrument-functions: number of active recursive calls without a frame; 1 + index of the outer frame */
	uint64_t ordinal, start;
	uint64_t paused;     /* value of the thread's `paused` at the start */
	uint64_t nested;     /* ticks in selected functions that this invocation called, as far as they are known */
	uint64_t counters[]; /* [n_counters] values of the counters at the start of the invocation */
};

/* State of a function in one thread. */
struct probe_state {
	uint64_t next;		      /* ordinal of the next sampled call */
	uint64_t mean;		      /* moving mean of an invocation's ticks without nested invocations */
	uint64_t mean_low, mean_high; /* the level does not change while mean_low <= mean < mean_high */
	uint64_t last, last_ordinal;  /* start and ordinal of the last call that level_bound() used; 0 if none */
	uint32_t level;		      /* one call in 2^level is sampled */
	uint32_t open;		      /* -finstrument-functions: 1 + index of the function's uppermost frame; 0 if none */
};

/* Group of kernel events, the leader first. `ids` show whether the program has closed a descriptor and reused its number. */
struct probe_software {
	int files[PROBE_SOFTWARE_MAX];
	uint64_t ids[PROBE_SOFTWARE_MAX];
};

/* A thread's stack or a part of it, which stays mapped until the thread ends. Both fields are 0 if unknown. */
struct probe_stack {
	uintptr_t low, bytes;
};

struct probe_thread {
	volatile uintptr_t busy; /* slot of the active hook, or of one that longjmp() left; 0 if none; UINTPTR_MAX if hooks only count */
	uint32_t depth;
	uint32_t n_functions_called; /* 1 + highest number of the functions that the thread has called */
	struct probe_stack stack;    /* the thread's own stack; calls on other stacks are counted, not measured */
	struct probe_state *states;  /* [RECORD_FUNCTIONS_MAX] states, by number of the function */
	unsigned char *frames;	     /* [PROBE_DEPTH_MAX] frames of probe.frame_bytes bytes each */
	uint64_t paused;	     /* ticks that the probe spent on long work; excluded from all invocations */
	int32_t *near, *far;	     /* [PROBE_TLS_FUNCTIONS], [RECORD_FUNCTIONS_MAX]: countdown to the sampled call, by number */
	struct record_thread record;
	uint32_t n_sampled_functions;	/* number of functions with a level above 0 */
	uint32_t unused;		/* 1 if the thread has ended, so that another thread may use the struct */
	uint32_t ended_rounds;		/* number of rounds of destructors of thread-specific data so far */
	struct probe_thread *next;	/* next element of probe_threads */
	bool counting;			/* the thread has counters */
	int event_set;			/* event set of PAPI */
	struct probe_software software; /* events of the kernel */
};

/* A selected function in this process. */
struct probe_function {
	uint64_t seed; /* hash of the run's seed and the address; seed and ordinal determine whether a call is sampled */
	uintptr_t address;
};

struct probe {
	struct record_writer writer;
	struct probe_function *functions; /* [RECORD_FUNCTIONS_MAX] functions, by number */
	uint32_t n_functions;
	uint32_t frame_bytes;
	uint32_t n_counters;
	uint32_t threads;		     /* number of living threads */
	uintptr_t stack_limit;		     /* limit of the first thread's stack at the start, bytes */
	uintptr_t first_thread;		     /* thread pointer of the first thread */
	uint64_t seed;			     /* seed of the run; random by default, so that the means of several runs vary */
	uint64_t budget_ppm;		     /* allowed overhead, millionths of the time */
	uint64_t cost_sampled, cost_counted; /* ticks that a sampled call costs, and a call that is only counted */
	uint64_t cost_inside;		     /* apparent duration of an empty function, ticks; 0 if unknown */
	bool calibrated;
	int patching_refused; /* errno of the failure to make code writable; 0 if none */
};

extern struct probe probe;
extern struct probe_thread *probe_threads;
extern __thread struct probe_thread *probe_self PROBE_TLS;
extern __thread int32_t probe_near[PROBE_TLS_FUNCTIONS] PROBE_TLS;
extern __thread int32_t *probe_far PROBE_TLS;
extern int32_t probe_far_empty[RECORD_FUNCTIONS_MAX]; /* table for threads that do not have their own */

/* Returns the thread's countdown for a function: the number of calls before the sampled one. */
static inline int32_t *probe_countdown(const struct probe_thread *t, uint32_t function)
{
	return function < PROBE_TLS_FUNCTIONS ? &t->near[function] : &t->far[function];
}

static inline struct probe_frame *probe_frame_at(const struct probe_thread *t, uint32_t depth)
{
	return (struct probe_frame *)(void *)(t->frames + (size_t)depth * probe.frame_bytes);
}

static inline bool probe_on_stack(const struct probe_thread *t, const void *at)
{
	return (uintptr_t)at - t->stack.low < t->stack.bytes;
}

static inline void probe_barrier(void)
{
	__asm__ volatile("" ::: "memory");
}

/* probe_trampoline.c: the code between the program and the hooks. */
void probe_entry(void);
void probe_return(void);
extern const char probe_in_enter[], probe_in_enter_slowly[], probe_in_leave[], probe_in_leave_slowly[];
uint64_t probe_saved(uint64_t (*function)(void *, void *), void *a, void *b); /* calls `function`; preserves vector and x87 registers */
void probe_saved_init(void);

/* Corrects the slot of a call that is starting. A signal handler may have run after the call stored probe_return there. The handler may
 * have ended an older, dead frame at the same slot, and restored that frame's return address. */
static inline void probe_slot_check(uintptr_t *slot, uintptr_t return_address)
{
	if (*(volatile uintptr_t *)slot != (uintptr_t)probe_return && return_address != (uintptr_t)probe_return)
		*slot = return_address;
}

/* Attribute of functions that call no others: they save all registers that they use, except %rax. */
#if defined(__x86_64__)
#define PROBE_SAVE_REGISTERS __attribute__((no_caller_saved_registers))
#else
#define PROBE_SAVE_REGISTERS
#endif
/* probe_hook.c: fast hooks, which use only general registers. If one fails, it has changed nothing, and the slow hook does the work. */
PROBE_SAVE_REGISTERS bool probe_enter(uint32_t function, uintptr_t *slot,
				      uintptr_t return_address); /* *slot is probe_return, not `return_address`; false on failure */
PROBE_SAVE_REGISTERS uint64_t probe_leave(uintptr_t *slot);	 /* returns 0 if *slot was restored, else the ticks now */

/* probe_frames.c: slow hooks for all cases, which use only general registers. */
void probe_enter_slowly(uint32_t function, uintptr_t *slot, uintptr_t return_address);
void probe_leave_slowly(uintptr_t *slot, uint64_t now);
/* Ends frames that seem dead if the stack has reached `slot`: frames below `slot`, with `inclusive` the frame at `slot`, and overwritten
 * frames. Restores return addresses that still are probe_return. Functions on a stack within this stack then return without the probe. */
void probe_end_dead_frames(struct probe_thread *t, const uintptr_t *slot, bool inclusive);
bool probe_is_overwritten(const struct probe_frame *frame); /* reports whether the slot was overwritten, because longjmp() left the frame */
/* Returns the original return address of the invocation with this slot, in any thread; 0 if unknown. */
uintptr_t probe_find_return_address(const struct probe_thread *t, const uintptr_t *slot);
/* Reports whether the hook at t->busy is still active, judged by its stack. If so, this call interrupted it, or came after a longjmp() out
 * of it. The shadow stack must then not change: calls are only counted, and return addresses only looked up. */
bool probe_is_hook_active(const struct probe_thread *t, const uintptr_t *slot);

/* Work on the shadow stack that is done outside the trampolines, on the thread's own stack. Other hooks take it for an active hook. */
struct probe_work {
	uintptr_t before;
	volatile uintptr_t place[7];
};
static inline void probe_work_begin(struct probe_thread *t, struct probe_work *work)
{
	work->before = t->busy;
	work->place[0] = (uintptr_t)probe_in_enter;
	probe_barrier();
	t->busy = (uintptr_t)&work->place[6]; /* where a trampoline's slot would be */
	probe_barrier();
}
static inline void probe_work_end(struct probe_thread *t, const struct probe_work *work)
{
	probe_barrier();
	t->busy = work->before;
}

bool probe_instrumented_add(uintptr_t address, uint32_t number); /* adds to the table of -finstrument-functions; false if full */

uint64_t probe_next_sampled(uint64_t seed, uint32_t level, uint64_t from); /* returns the lowest sampled ordinal that is not below `from` */

/* Returns the moving mean after one more invocation of `alone` ticks. A long, interrupted invocation counts as at most eight usual ones. */
static inline uint64_t probe_update_mean(uint64_t mean, uint64_t alone)
{
	uint64_t most = 8 * mean + 64;

	return mean + (uint64_t)((int64_t)((alone < most ? alone : most) - mean) >> 3);
}

/* probe_thread.c: threads and their counters. */
struct probe_thread *probe_thread_begin(struct probe_stack stack); /* starts the calling thread; NULL if already started, or on failure */
void probe_thread_start(void);	      /* starts a thread that probe.threads includes already; not for signal handlers */
struct probe_stack probe_stack(void); /* returns the stack of a thread that was created without the probe */
void probe_threads_end(void);
void probe_thread_init(void);
void probe_child_begin(void); /* starts a new file in a child of fork(); does nothing in other processes */

/* Chooses the counters of all threads from `wanted`, "KIND:NAME,NAME...". Stores their names in names[*n]. Returns their back end. */
enum record_back_end probe_counters_init(const char *wanted, const char **names, uint32_t *n);
void probe_counters_read(struct probe_thread *t, uint64_t *values);
void probe_report_no_counters(void); /* records the reason why there are no counters */

/* probe_list.c: the list of selected functions. */
struct probe_entry {
	uint64_t address; /* address in the module's file */
	const char *module, *name;
	uint32_t number; /* number of the function; UINT32_MAX while no module with it has been found */
};
struct probe_list {
	struct probe_entry *items; /* [n] selected functions */
	size_t n;
};
bool probe_list_read(const char *path, struct probe_list *out); /* prints the reason before it returns false */

/* probe_module.c: finds the listed functions in loaded modules and patches them. At the first ones, calibrates and writes three facts:
 * "cost_inside", the apparent duration of an empty function; "cost_around", the cost of a measured call for its caller; "cost_around_rare",
 * the same if only one of many calls is measured. Each has "MEDIAN SPREAD" of the ticks, then of each counter. The spread is half the
 * distance of the quartiles. Takes 125,000 instructions without counters. */
void probe_modules_scan(const struct probe_list *list);

/* In probe_interpose.c or probe_dlopen.c. */
void *probe_load_library(const char *file, int mode); /* dlopen() for the probe's own libraries, which are not searched for functions */

/* probe_start.c: start and end. */
bool probe_open_file(void);   /* opens the sample file when the first function is found; false on failure */
void probe_scan_loaded(void); /* searches modules that were loaded since the last call */
void probe_report(const char *text, const char *more, int errnum);

#endif

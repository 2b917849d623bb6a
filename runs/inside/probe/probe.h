/* libassay-probe.so: counts calls of selected functions and measures a part of them, in another program's process. While the program runs,
 * the library does not allocate, lock or print, and its hooks use no vector register.
 *
 *   list file --list--> functions in the modules of this process --patch--> a jump to a stub at each entry
 *   stub: counts down in the thread's storage; at the sampled call: probe_entry --> probe_enter: pushes a frame on the thread's shadow
 *         stack, and replaces the function's return address by probe_return
 *   probe_return --> probe_leave: pops the frame, writes the sample, continues at the original return address
 *
 * Only x86-64 code is patched. On other architectures, probe_unpatched.c and probe_dlopen.c replace probe_trampoline.c, probe_hook.c and
 * probe_interpose.c, and only functions compiled with -finstrument-functions are found. This header is private to runs/inside/probe/. */
#ifndef RUNS_PROBE_PROBE_H
#define RUNS_PROBE_PROBE_H

#include "runs/inside/record/record_writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_VERSION	   "1"	  /* version of the environment variables and the list, passed by the command that loads the library */
#define PROBE_DEPTH_MAX	   16384u /* maximum number of sampled invocations active in a thread; deeper invocations are not sampled */
#define PROBE_LEVEL_MAX	   16u	  /* maximum of `level`: at least one call in 2^16 is sampled */
#define PROBE_SOFTWARE_MAX 8u
#define PROBE_NEAR	   256u /* number of functions whose calls are counted in thread-local storage directly, by one instruction */
#define PROBE_EXPORT	   __attribute__((visibility("default")))
#define PROBE_TLS	   __attribute__((tls_model("initial-exec")))

/* Frame of the shadow stack: an invocation that is being measured. */
struct probe_frame {
	uintptr_t *slot; /* place of the return address on the stack; with -finstrument-functions: below the function's frame */
	uintptr_t back;	 /* original return address; 0: the slot is unchanged */
	uint32_t function;
	uint32_t level;	       /* log2 of the number of calls that the invocation represents */
	bool bare;	       /* the slot holds the original return address, so that exceptions can pass */
	bool silent;	       /* the invocation is not recorded, because it started before a fork() */
	uint32_t inner, outer; /* -finstrument-functions: unmeasured calls of the function inside it; 1 + index of its previous frame */
	uint64_t ordinal, start;
	uint64_t paused;     /* value of the thread's `paused` at the start */
	uint64_t nested;     /* ticks in selected functions that this invocation called, as far as known */
	uint64_t counters[]; /* [n_counters] values of the counters at the start of the invocation */
};

/* State of a function in one thread. */
struct probe_state {
	uint64_t next;		      /* ordinal of the next sampled call */
	uint64_t mean;		      /* moving mean of the ticks of an invocation without nested invocations */
	uint64_t mean_low, mean_high; /* the level stays while mean_low <= mean < mean_high */
	uint64_t last, last_ordinal;  /* start and ordinal of the last call that level_bound() used; 0: none */
	uint32_t level;		      /* one call in 2^level is sampled */
	uint32_t open;		      /* -finstrument-functions: 1 + index of the function's uppermost frame; 0: none */
};

/* Group of kernel events, the leader first. The program may have closed a descriptor and reused its number; ids show that. */
struct probe_software {
	int files[PROBE_SOFTWARE_MAX];
	uint64_t ids[PROBE_SOFTWARE_MAX];
};

/* A thread's own stack or a part of it, mapped until the thread ends; 0, 0: unknown. */
struct probe_stack {
	uintptr_t low, bytes;
};

struct probe_thread {
	volatile uintptr_t busy; /* slot of the active hook, or of a hook that was left by a jump; 0: none */
	uint32_t depth;
	uint32_t begun;		    /* numbers of functions called so far are below this */
	struct probe_stack stack;   /* calls on other stacks are counted, not measured */
	struct probe_state *states; /* [RECORD_FUNCTIONS_MAX] */
	unsigned char *frames;	    /* [PROBE_DEPTH_MAX] frames of probe.frame_bytes each */
	uint64_t paused;	    /* ticks of long work of the probe, which is part of no invocation */
	int32_t *near, *far;	    /* [PROBE_NEAR], [RECORD_FUNCTIONS_MAX]: number of calls before the sampled call */
	struct record_thread record;
	uint32_t sparse;		/* number of functions with a level above 0 */
	uint32_t unused;		/* 1: the thread has ended, and another thread may take over the struct */
	uint32_t ended_rounds;		/* number of rounds of destructors of thread-specific data so far */
	struct probe_thread *next;	/* next in probe_threads */
	bool counting;			/* the thread has counters */
	int event_set;			/* PAPI's event set */
	struct probe_software software; /* the kernel's events */
};

/* A selected function in this process. */
struct probe_function {
	uint64_t seed; /* hash of the run's seed and the address; hash and ordinal determine which calls are sampled */
	uintptr_t address;
};

struct probe {
	struct record_writer writer;
	struct probe_function *functions; /* [RECORD_FUNCTIONS_MAX], by number */
	uint32_t n_functions;
	uint32_t frame_bytes;
	uint32_t n_counters;
	uint32_t threads;		     /* number of living threads */
	uintptr_t stack_limit;		     /* limit of the first thread's stack at the start, bytes */
	uintptr_t first_thread;		     /* thread pointer of the first thread */
	uint64_t seed;			     /* seed of the run; random by default, so that means of runs vary */
	uint64_t budget_ppm;		     /* allowed overhead, millionths of the time */
	uint64_t cost_sampled, cost_counted; /* ticks of a sampled call, and of a call that is only counted */
	uint64_t cost_inside;		     /* apparent duration of an empty function, ticks; 0: unknown */
	bool calibrated;
	int patching_refused; /* errno of the refusal to patch code; 0: not refused */
};

extern struct probe probe;
extern struct probe_thread *probe_threads;
extern __thread struct probe_thread *probe_self PROBE_TLS;
extern __thread int32_t probe_near[PROBE_NEAR] PROBE_TLS;
extern __thread int32_t *probe_far PROBE_TLS;
extern int32_t probe_far_none[RECORD_FUNCTIONS_MAX]; /* far table of threads without a table */

/* Returns the thread's countdown of calls of the function before its sampled call. */
static inline int32_t *probe_countdown(const struct probe_thread *t, uint32_t function)
{
	return function < PROBE_NEAR ? &t->near[function] : &t->far[function];
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
uint64_t probe_saved(uint64_t (*function)(void *, void *), void *a, void *b); /* calls `function`, and saves all vector and x87 registers */
void probe_saved_init(void);

/* Corrects the slot. A signal handler that ran after the call had stored probe_return there may have taken it for the address of an older,
 * dead frame at the same slot, and restored that frame's address. */
static inline void probe_slot_check(uintptr_t *slot, uintptr_t back)
{
	if (*(volatile uintptr_t *)slot != (uintptr_t)probe_return && back != (uintptr_t)probe_return)
		*slot = back;
}

/* Attribute of functions that call nothing: they save all registers that they use except %rax. */
#if defined(__x86_64__)
#define PROBE_KEEPS __attribute__((no_caller_saved_registers))
#else
#define PROBE_KEEPS
#endif
/* probe_hook.c: fast hooks, which use only general registers. If they fail, they have done nothing, and the slow hook must do it. */
PROBE_KEEPS bool probe_enter(uint32_t function, uintptr_t *slot, uintptr_t back); /* false: failed; slot: holds probe_return, not `back` */
PROBE_KEEPS uint64_t probe_leave(uintptr_t *slot);				  /* 0: has restored the return address; otherwise failed */

/* probe_frames.c: slow hooks for all cases, which use only general registers. */
void probe_enter_slowly(uint32_t function, uintptr_t *slot, uintptr_t back);
void probe_leave_slowly(uintptr_t *slot, uint64_t now);
/* Ends frames that seem dead when the stack is at `slot`: frames below it, the frame at it if `inclusive`, and overwritten frames. Restores
 * their return addresses where probe_return still is: a function on a stack within the stack then returns without the probe. */
void probe_prune(struct probe_thread *t, const uintptr_t *slot, bool inclusive);
bool probe_overwritten(const struct probe_frame *frame); /* reports whether the slot has changed, because the frame was left by longjmp() */
/* Returns the return address of the invocation with this slot, of whichever thread; 0: unknown. */
uintptr_t probe_address_at(const struct probe_thread *t, const uintptr_t *slot);
/* Reports whether the hook at t->busy is still active, judged by its stack: it was interrupted, or just left by a jump. Then the shadow
 * stack must not change: calls are only counted, and return addresses looked up. */
bool probe_hook_lives(const struct probe_thread *t, const uintptr_t *slot);

/* Work on the shadow stack outside the trampolines, on the thread's own stack. The work looks like a hook. */
struct probe_work {
	uintptr_t before;
	volatile uintptr_t place[7];
};
static inline void probe_work_begin(struct probe_thread *t, struct probe_work *work)
{
	work->before = t->busy;
	work->place[0] = (uintptr_t)probe_in_enter;
	probe_barrier();
	t->busy = (uintptr_t)&work->place[6]; /* as far above as a trampoline's slot */
	probe_barrier();
}
static inline void probe_work_end(struct probe_thread *t, const struct probe_work *work)
{
	probe_barrier();
	t->busy = work->before;
}

bool probe_instrumented_add(uintptr_t address, uint32_t number); /* for -finstrument-functions; false: no space */

uint64_t probe_level_next(uint64_t seed, uint32_t level, uint64_t from); /* returns the first sampled ordinal that is at least `from` */

/* Returns the moving mean after one more invocation. An invocation that was interrupted for long counts at most as eight usual ones. */
static inline uint64_t probe_mean(uint64_t mean, uint64_t alone)
{
	uint64_t most = 8 * mean + 64;

	return mean + (uint64_t)((int64_t)((alone < most ? alone : most) - mean) >> 3);
}

/* probe_thread.c: threads and their counters. */
struct probe_thread *probe_thread_begin(struct probe_stack stack); /* starts the calling thread; NULL: was started, or no memory */
void probe_thread_start(void);	      /* starts a thread that probe.threads includes; not in a signal handler */
struct probe_stack probe_stack(void); /* returns the stack of a thread that was created without the probe */
void probe_threads_end(void);
void probe_thread_init(void);
void probe_child_begin(void); /* first action in a child of fork(); does nothing in other processes */

/* Chooses the counters of all threads. wanted: "KIND:NAME,NAME..."; names[*n]: the counters. Returns their back end. */
enum record_back_end probe_counters_init(const char *wanted, const char **names, uint32_t *n);
void probe_counters_read(struct probe_thread *t, uint64_t *values);
void probe_counters_why(void); /* records the reason why counters are unavailable */

/* probe_list.c: the list of selected functions. */
struct probe_entry {
	uint64_t address; /* address in the module's file */
	const char *module, *name;
	uint32_t number; /* number of the function; UINT32_MAX: found in no module so far */
};
struct probe_list {
	struct probe_entry *items; /* [n] */
	size_t n;
};
bool probe_list_read(const char *path, struct probe_list *out); /* false: the function has printed the reason */

/* probe_module.c: finds the listed functions in loaded modules and patches them. At the first functions, it writes the lines "cost_inside",
 * the apparent duration of an empty function, and "cost_around", the cost of a measured call for its caller ("cost_around_rare": if one of
 * many calls is measured). Each has "MEDIAN SPREAD" of the ticks, then of each counter; the spread is half the distance of the quartiles.
 * Takes 125,000 instructions without counters. */
void probe_modules_scan(const struct probe_list *list);

/* probe_interpose.c or probe_dlopen.c */
void *probe_library(const char *file, int mode); /* dlopen() for the probe itself: the library is not searched for functions */

/* probe_start.c: start and end. */
bool probe_begin(void);	 /* opens the sample file when the first function is found; false: failed */
void probe_loaded(void); /* called after modules were loaded */
void probe_report(const char *text, const char *more, int errnum);

#endif

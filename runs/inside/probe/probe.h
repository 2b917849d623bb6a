/* libassay-probe.so: calls of selected functions are counted, one in so many is measured. Inside another program's process: nothing here
 * allocates, locks or prints once the program runs, and the hooks touch no vector register.
 *
 *   list file --list--> functions of this process's modules --patch--> a jump to a stub at each entry
 *   stub: counts down in the thread's storage; at the sampled call: probe_entry --> probe_enter: pushes a frame on the thread's shadow
 *         stack; probe_return is where the function's return address was
 *   probe_return --> probe_leave: pops it, writes the sample, goes where the function would have gone
 *
 * Code is patched on x86-64 alone: elsewhere probe_unpatched.c and probe_dlopen.c take the place of probe_trampoline.c, probe_hook.c and
 * probe_interpose.c, and functions are found that were compiled with -finstrument-functions.
 *
 * Private to runs/inside/probe/. */
#ifndef RUNS_PROBE_PROBE_H
#define RUNS_PROBE_PROBE_H

#include "runs/inside/record/record_writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_VERSION	   "1"	  /* of the environment variables and the list; the command that starts us says which version it speaks */
#define PROBE_DEPTH_MAX	   16384u /* sampled invocations that are active in a thread; deeper ones are not sampled */
#define PROBE_LEVEL_MAX	   16u	  /* at least 1 call in 2^16 */
#define PROBE_SOFTWARE_MAX 8u
#define PROBE_NEAR	   256u /* functions whose calls are counted in thread-local storage itself: one instruction */
#define PROBE_EXPORT	   __attribute__((visibility("default")))
#define PROBE_TLS	   __attribute__((tls_model("initial-exec")))

/* An invocation that is being measured. */
struct probe_frame {
	uintptr_t *slot; /* where its return address was on the stack; with -finstrument-functions: below its frame */
	uintptr_t back;	 /* the return address; 0: the slot was not touched */
	uint32_t function;
	uint32_t level;	       /* it represents 2^level calls */
	bool bare;	       /* the return address is in its place: an exception may pass */
	bool silent;	       /* not to be recorded: it started before a fork() */
	uint32_t inner, outer; /* with -finstrument-functions: calls of the function in it that are not measured; its frame below, + 1 */
	uint64_t ordinal, start;
	uint64_t paused;     /* the thread's value at the start */
	uint64_t nested;     /* ticks in selected functions that it called, as far as is known */
	uint64_t counters[]; /* [n_counters], at its start */
};

/* What a thread knows about a function. */
struct probe_state {
	uint64_t next;		      /* ordinal of the call that is sampled next */
	uint64_t mean;		      /* ticks of an invocation without nested ones, moving */
	uint64_t mean_low, mean_high; /* the level stays as long as mean_low <= mean < mean_high */
	uint64_t last, last_ordinal;  /* where the latest call whose length was weighed started; 0: none */
	uint32_t level;		      /* 1 call in 2^level is sampled */
	uint32_t open;		      /* with -finstrument-functions: the function's uppermost frame, + 1 */
};

/* Events of the kernel in one group, the leader first. The program may have closed a descriptor, and opened another file at that number;
 * the id tells. */
struct probe_software {
	int files[PROBE_SOFTWARE_MAX];
	uint64_t ids[PROBE_SOFTWARE_MAX];
};

/* Exactly a thread's own stack, or less; 0, 0: not known. What lies there stays mapped until the thread ends. */
struct probe_stack {
	uintptr_t low, bytes;
};

struct probe_thread {
	volatile uintptr_t busy; /* the slot of the hook that is at work, or was when it was left by a jump; 0: none */
	uint32_t depth;
	uint32_t begun;		    /* functions that were called at all are below this number */
	struct probe_stack stack;   /* calls on other stacks are counted, not measured */
	struct probe_state *states; /* [RECORD_FUNCTIONS_MAX] */
	unsigned char *frames;	    /* [PROBE_DEPTH_MAX] of probe.frame_bytes */
	uint64_t paused;	    /* ticks that the probe itself took for long work: no invocation's */
	int32_t *near, *far;	    /* [PROBE_NEAR], [RECORD_FUNCTIONS_MAX]: calls until the one that is sampled */
	struct record_thread record;
	uint32_t sparse;		/* functions with a level above 0 */
	uint32_t unused;		/* the thread has ended, and another one may have this */
	uint32_t ended_rounds;		/* of destructors of thread-specific data */
	struct probe_thread *next;	/* in probe_threads */
	bool counting;			/* it has an event set */
	int event_set;			/* PAPI's */
	struct probe_software software; /* the kernel's events */
};

/* A function of the list in this process. */
struct probe_function {
	uint64_t seed; /* the run's and its address: which of its calls are sampled follows from this and the ordinal alone */
	uintptr_t address;
};

struct probe {
	struct record_writer writer;
	struct probe_function *functions; /* [RECORD_FUNCTIONS_MAX], by number */
	uint32_t n_functions;
	uint32_t frame_bytes;
	uint32_t n_counters;
	uint32_t threads;		     /* alive */
	uintptr_t stack_limit;		     /* of the first thread's stack, in bytes, when the program started */
	uintptr_t first_thread;		     /* its thread pointer */
	uint64_t seed;			     /* another one in each run, so that means vary among runs as samples do */
	uint64_t budget_ppm;		     /* overhead that is allowed, in millionths */
	uint64_t cost_sampled, cost_counted; /* in ticks: of a sampled call, of a call that is only counted */
	uint64_t cost_inside;		     /* ticks that an empty function seems to take; 0: not known */
	bool calibrated;
	int patching_refused; /* errno */
};

extern struct probe probe;
extern struct probe_thread *probe_threads;
extern __thread struct probe_thread *probe_self PROBE_TLS;
extern __thread int32_t probe_near[PROBE_NEAR] PROBE_TLS;
extern __thread int32_t *probe_far PROBE_TLS;
extern int32_t probe_far_none[RECORD_FUNCTIONS_MAX]; /* the far table of threads that have none yet */

/* Calls of the function in that thread until the one that is sampled. */
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

/* probe_trampoline.c */
void probe_entry(void);
void probe_return(void);
extern const char probe_in_enter[], probe_in_enter_slowly[], probe_in_leave[], probe_in_leave_slowly[];
uint64_t probe_saved(uint64_t (*function)(void *, void *), void *a, void *b); /* calls it with all vector and x87 registers saved */
void probe_saved_init(void);

/* A handler that came between the call that put our address there and the hook may have taken it for that of an older, dead frame at the
 * same slot, and have put back the address of that one. */
static inline void probe_slot_check(uintptr_t *slot, uintptr_t back)
{
	if (*(volatile uintptr_t *)slot != (uintptr_t)probe_return && back != (uintptr_t)probe_return)
		*slot = back;
}

/* For functions that call nothing: they save what they use, all but %rax. */
#if defined(__x86_64__)
#define PROBE_KEEPS __attribute__((no_caller_saved_registers))
#else
#define PROBE_KEEPS
#endif
/* probe_hook.c, general registers only. False, or the time at which the function returned: nothing was done, the slow ones are to do it. */
PROBE_KEEPS bool probe_enter(uint32_t function, uintptr_t *slot, uintptr_t back); /* probe_return is in the slot, `back` was */
PROBE_KEEPS uint64_t probe_leave(uintptr_t *slot);				  /* 0: done, the return address is back */

/* probe_frames.c, general registers only: the same in every case. */
void probe_enter_slowly(uint32_t function, uintptr_t *slot, uintptr_t back);
void probe_leave_slowly(uintptr_t *slot, uint64_t now);
/* Ends frames that seem dead when the stack is at `slot`: those below it, with `inclusive` the one at it, and overwritten ones. Where our
 * address still is, the real one is put back: should the function be alive on a stack within the stack, it returns without us. */
void probe_prune(struct probe_thread *t, const uintptr_t *slot, bool inclusive);
bool probe_overwritten(const struct probe_frame *frame); /* something else is at its slot: left by a long jump */
/* Where the invocation whose return address is at this slot goes on, whichever thread has called it; 0: nobody knows. */
uintptr_t probe_address_at(const struct probe_thread *t, const uintptr_t *slot);
/* The hook at t->busy has not ended, as far as its stack tells: it was interrupted, or left by a jump a moment ago. Then the shadow stack
 * is not to be changed: calls are counted, and return addresses looked up. */
bool probe_hook_lives(const struct probe_thread *t, const uintptr_t *slot);

/* Work at the shadow stack on the thread's own stack other than by the trampolines: it looks like a hook. */
struct probe_work {
	uintptr_t before;
	volatile uintptr_t place[7];
};
static inline void probe_work_begin(struct probe_thread *t, struct probe_work *work)
{
	work->before = t->busy;
	work->place[0] = (uintptr_t)probe_in_enter;
	probe_barrier();
	t->busy = (uintptr_t)&work->place[6]; /* as far above as a slot */
	probe_barrier();
}
static inline void probe_work_end(struct probe_thread *t, const struct probe_work *work)
{
	probe_barrier();
	t->busy = work->before;
}

bool probe_instrumented_add(uintptr_t address, uint32_t number); /* for -finstrument-functions; false: no room */

uint64_t probe_level_next(uint64_t seed, uint32_t level, uint64_t from); /* the first sampled ordinal from this one on */

/* The moving mean, one invocation later; one that was interrupted for long counts no more than eight usual ones. */
static inline uint64_t probe_mean(uint64_t mean, uint64_t alone)
{
	uint64_t most = 8 * mean + 64;

	return mean + (uint64_t)((int64_t)((alone < most ? alone : most) - mean) >> 3);
}

/* probe_thread.c */
struct probe_thread *probe_thread_begin(struct probe_stack stack); /* the calling thread; NULL: begun already, or no memory */
void probe_thread_start(void);	      /* the same, for a thread that is counted in probe.threads; not in a signal handler */
struct probe_stack probe_stack(void); /* of a thread that started without us */
void probe_threads_end(void);
void probe_thread_init(void);
void probe_child_begin(void); /* before anything else in a forked child; does nothing in other processes */

/* Counters of threads. */
enum record_back_end probe_counters_init(const char *wanted, const char **names, uint32_t *n);
void probe_counters_read(struct probe_thread *t, uint64_t *values);
void probe_counters_why(void); /* writes what is not available into the file, and why */

/* probe_list.c */
struct probe_entry {
	uint64_t address; /* in the module's file */
	const char *module, *name;
	uint32_t number; /* UINT32_MAX: not in any module so far */
};
struct probe_list {
	struct probe_entry *items; /* [n] */
	size_t n;
};
bool probe_list_read(const char *path, struct probe_list *out); /* false: it has said why */

/* probe_module.c: looks for functions of the list in what is loaded, and patches them. With the first ones, into the file: "cost_inside",
 * what an empty function seems to take, and "cost_around", what a measured call adds to its caller ("_rare": where one in many calls is
 * measured). Each is "MEDIAN SPREAD" of the time, in ticks, then of each counter; the spread is half the distance of the quartiles. That
 * takes 125,000 instructions without counters. */
void probe_modules_scan(const struct probe_list *list);

/* probe_interpose.c */
void *probe_library(const char *file, int mode); /* dlopen() for ourselves: nothing is looked for in it */

/* probe_start.c */
bool probe_begin(void);	 /* opens the sample file when the first function is found; false: it cannot be written */
void probe_loaded(void); /* modules have come */
void probe_say(const char *text, const char *more, int errnum);

#endif

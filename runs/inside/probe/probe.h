/* libassay-probe.so: counts calls of selected functions and measures a part of them. Inside another program's process: nothing here
 * allocates, locks or prints once the program runs, and the hooks touch no vector register.
 *
 *   list file --list--> functions of this process's modules --patch--> a jump to a stub at each entry
 *   stub: counts down in the thread's storage; at the sampled call: probe_entry --> probe_enter: pushes a frame on the thread's shadow
 *         stack, and replaces the function's return address by probe_return
 *   probe_return --> probe_leave: pops it, writes the sample, continues at the original return address
 *
 * Only x86-64 code is patched. Elsewhere probe_unpatched.c and probe_dlopen.c replace probe_trampoline.c, probe_hook.c and
 * probe_interpose.c, and only functions compiled with -finstrument-functions are found.
 *
 * Private to runs/inside/probe/. */
#ifndef RUNS_PROBE_PROBE_H
#define RUNS_PROBE_PROBE_H

#include "runs/inside/record/record_writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_VERSION	   "1"	  /* version of the environment variables and the list, passed by the command that starts us */
#define PROBE_DEPTH_MAX	   16384u /* sampled invocations active in a thread; deeper ones are not sampled */
#define PROBE_LEVEL_MAX	   16u	  /* samples 1 call in 2^16 or more */
#define PROBE_SOFTWARE_MAX 8u
#define PROBE_NEAR	   256u /* functions whose calls are counted in thread-local storage directly: one instruction */
#define PROBE_EXPORT	   __attribute__((visibility("default")))
#define PROBE_TLS	   __attribute__((tls_model("initial-exec")))

/* An invocation that is being measured. */
struct probe_frame {
	uintptr_t *slot; /* place of its return address on the stack; with -finstrument-functions: below its frame */
	uintptr_t back;	 /* the return address; 0: the slot is unchanged */
	uint32_t function;
	uint32_t level;	       /* it represents 2^level calls */
	bool bare;	       /* the original return address is in its place: an exception may pass */
	bool silent;	       /* not to be recorded: it started before a fork() */
	uint32_t inner, outer; /* -finstrument-functions: unmeasured calls of the function inside it; its previous frame + 1 */
	uint64_t ordinal, start;
	uint64_t paused;     /* the thread's `paused` at the start */
	uint64_t nested;     /* ticks in selected functions that it called, as far as known */
	uint64_t counters[]; /* [n_counters], at its start */
};

/* State of a function in one thread. */
struct probe_state {
	uint64_t next;		      /* ordinal of the next sampled call */
	uint64_t mean;		      /* moving mean, ticks, of an invocation without nested ones */
	uint64_t mean_low, mean_high; /* the level stays as long as mean_low <= mean < mean_high */
	uint64_t last, last_ordinal;  /* start and ordinal of the last call that level_bound() used; 0: none */
	uint32_t level;		      /* 1 call in 2^level is sampled */
	uint32_t open;		      /* -finstrument-functions: the function's uppermost frame + 1; 0: none */
};

/* Events of the kernel in one group, the leader first. The program may have closed a descriptor and reused its number; the id reveals
 * that. */
struct probe_software {
	int files[PROBE_SOFTWARE_MAX];
	uint64_t ids[PROBE_SOFTWARE_MAX];
};

/* A thread's own stack, or a part of it; 0, 0: unknown. It stays mapped until the thread ends. */
struct probe_stack {
	uintptr_t low, bytes;
};

struct probe_thread {
	volatile uintptr_t busy; /* slot of the active hook, or of one that was left by a jump; 0: none */
	uint32_t depth;
	uint32_t begun;		    /* functions called so far have numbers below this */
	struct probe_stack stack;   /* calls on other stacks are counted, not measured */
	struct probe_state *states; /* [RECORD_FUNCTIONS_MAX] */
	unsigned char *frames;	    /* [PROBE_DEPTH_MAX] of probe.frame_bytes */
	uint64_t paused;	    /* ticks of the probe's own long work, which belong to no invocation */
	int32_t *near, *far;	    /* [PROBE_NEAR], [RECORD_FUNCTIONS_MAX]: calls before the sampled one */
	struct record_thread record;
	uint32_t sparse;		/* functions with a level above 0 */
	uint32_t unused;		/* the thread has ended, and another one may take over the struct */
	uint32_t ended_rounds;		/* rounds of destructors of thread-specific data */
	struct probe_thread *next;	/* in probe_threads */
	bool counting;			/* it has counters */
	int event_set;			/* PAPI's */
	struct probe_software software; /* the kernel's events */
};

/* A listed function in this process. */
struct probe_function {
	uint64_t seed; /* from the run's seed and its address; with the ordinal, it determines which calls are sampled */
	uintptr_t address;
};

struct probe {
	struct record_writer writer;
	struct probe_function *functions; /* [RECORD_FUNCTIONS_MAX], by number */
	uint32_t n_functions;
	uint32_t frame_bytes;
	uint32_t n_counters;
	uint32_t threads;		     /* alive */
	uintptr_t stack_limit;		     /* limit of the first thread's stack, bytes, at the program's start */
	uintptr_t first_thread;		     /* its thread pointer */
	uint64_t seed;			     /* different in each run, so that means vary between runs like samples */
	uint64_t budget_ppm;		     /* allowed overhead, millionths */
	uint64_t cost_sampled, cost_counted; /* ticks: of a sampled call, of a call that is only counted */
	uint64_t cost_inside;		     /* apparent duration of an empty function, ticks; 0: unknown */
	bool calibrated;
	int patching_refused; /* errno */
};

extern struct probe probe;
extern struct probe_thread *probe_threads;
extern __thread struct probe_thread *probe_self PROBE_TLS;
extern __thread int32_t probe_near[PROBE_NEAR] PROBE_TLS;
extern __thread int32_t *probe_far PROBE_TLS;
extern int32_t probe_far_none[RECORD_FUNCTIONS_MAX]; /* far table of threads that do not have one yet */

/* Returns the thread's countdown of calls of the function before the sampled one. */
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
uint64_t probe_saved(uint64_t (*function)(void *, void *), void *a, void *b); /* calls it, saves all vector and x87 registers */
void probe_saved_init(void);

/* Corrects the slot. A handler between the call that stored our address there and the hook may have taken it for that of an older, dead
 * frame at the same slot, and restored the address of that one. */
static inline void probe_slot_check(uintptr_t *slot, uintptr_t back)
{
	if (*(volatile uintptr_t *)slot != (uintptr_t)probe_return && back != (uintptr_t)probe_return)
		*slot = back;
}

/* For functions that call nothing: they save all registers that they use except %rax. */
#if defined(__x86_64__)
#define PROBE_KEEPS __attribute__((no_caller_saved_registers))
#else
#define PROBE_KEEPS
#endif
/* probe_hook.c, only general registers. false, or the time of the return: nothing was done, and the slow function must do it. */
PROBE_KEEPS bool probe_enter(uint32_t function, uintptr_t *slot, uintptr_t back); /* slot: now has probe_return, before `back` */
PROBE_KEEPS uint64_t probe_leave(uintptr_t *slot);				  /* 0: done, the return address is restored */

/* probe_frames.c, using only general registers: the same in all cases. */
void probe_enter_slowly(uint32_t function, uintptr_t *slot, uintptr_t back);
void probe_leave_slowly(uintptr_t *slot, uint64_t now);
/* Ends frames that seem dead when the stack is at `slot`: lower ones, the one at it if `inclusive`, and overwritten ones. Restores the
 * return address where ours still is: if the function lives on a stack within the stack, it returns without us. */
void probe_prune(struct probe_thread *t, const uintptr_t *slot, bool inclusive);
bool probe_overwritten(const struct probe_frame *frame); /* reports whether its slot has another content: left by longjmp() */
/* Returns the return address of the invocation with this slot, whichever thread called it; 0: unknown. */
uintptr_t probe_address_at(const struct probe_thread *t, const uintptr_t *slot);
/* Reports whether the hook at t->busy has not ended, judged by its stack: it was interrupted, or left by a jump a moment ago. Then the
 * shadow stack must not change: calls are counted, and return addresses looked up. */
bool probe_hook_lives(const struct probe_thread *t, const uintptr_t *slot);

/* Work on the shadow stack, on the thread's own stack, other than by the trampolines. It looks like a hook. */
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

uint64_t probe_level_next(uint64_t seed, uint32_t level, uint64_t from); /* the first sampled ordinal, not before `from` */

/* Returns the moving mean after one more invocation. An invocation that was interrupted for long counts at most as eight usual ones. */
static inline uint64_t probe_mean(uint64_t mean, uint64_t alone)
{
	uint64_t most = 8 * mean + 64;

	return mean + (uint64_t)((int64_t)((alone < most ? alone : most) - mean) >> 3);
}

/* probe_thread.c */
struct probe_thread *probe_thread_begin(struct probe_stack stack); /* the calling thread; NULL: started already, or no memory */
void probe_thread_start(void);	      /* the same for a thread that probe.threads already includes; not in a signal handler */
struct probe_stack probe_stack(void); /* the stack of a thread that started without us */
void probe_threads_end(void);
void probe_thread_init(void);
void probe_child_begin(void); /* first action in a forked child; does nothing in other processes */

/* Counters of threads. */
enum record_back_end probe_counters_init(const char *wanted, const char **names, uint32_t *n);
void probe_counters_read(struct probe_thread *t, uint64_t *values);
void probe_counters_why(void); /* writes to the file which counters are unavailable, and why */

/* probe_list.c */
struct probe_entry {
	uint64_t address; /* in the module's file */
	const char *module, *name;
	uint32_t number; /* UINT32_MAX: in no module so far */
};
struct probe_list {
	struct probe_entry *items; /* [n] */
	size_t n;
};
bool probe_list_read(const char *path, struct probe_list *out); /* false: it has printed the reason */

/* probe_module.c: searches loaded modules for listed functions and patches them. When it finds the first ones, it writes "cost_inside", the
 * apparent duration of an empty function, and "cost_around", the cost that a measured call adds to its caller ("_rare": if one of many
 * calls is measured). Each is "MEDIAN SPREAD" of the time, ticks, then of each counter; the spread is half the distance of the quartiles.
 * Takes 125,000 instructions without counters. */
void probe_modules_scan(const struct probe_list *list);

/* probe_interpose.c */
void *probe_library(const char *file, int mode); /* dlopen() for ourselves: the library is not searched */

/* probe_start.c */
bool probe_begin(void);	 /* opens the sample file when the first function is found; false: cannot be written */
void probe_loaded(void); /* modules have been loaded */
void probe_say(const char *text, const char *more, int errnum);

#endif

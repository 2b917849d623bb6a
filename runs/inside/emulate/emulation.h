/* The emulated back end: what lives inside a program that was built by `assay build --for counters`. The compiler calls it at every
 * access to memory, every basic block, every entry and exit of a function; it simulates caches, a coherence directory and more
 * (docs/emulation.md) and writes samples (runs/inside/record/record.h). Nothing here allocates from the program's heap, prints
 * after the start, or includes another header of this project than those of runs/inside/record.
 *
 *   hooks.c                     atomic operations, which the compiler calls; what programs may call themselves
 *   wrap*.c, wrapped.h          what the program calls in the C library
 *   threads.c                   threads from creation to end; where clocks pass between them: also barriers and OpenMP
 *   waiting.c                   loops around sched_yield() and atomic operations, which are no work
 *   simulate.c                  what happens in a simulated window; numbers of basic blocks; pages, their nodes, and where blocks of
 *                               memory begin and end; what the compiler calls at each access and basic block
 *   windows.c                   logical time, which windows are simulated; potential HITM: what threads did in the same window; samples and
 *                               totals, when all of it is known
 *   frames.c                    functions that a thread calls: active ones, whose what happens is, which calls are samples
 *   emulate_functions.c         names of functions; time in libraries that do not count
 *   runtime.c                   start, options, end, counters for PAPI
 *
 * Private to runs/inside/emulate/. */
#ifndef RUNS_EMULATE_EMULATION_H
#define RUNS_EMULATE_EMULATION_H

#include "runs/inside/record/record_writer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT	    __attribute__((visibility("default")))
#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

#define LINE_BITS	    6
#define PAGE_BITS	    12
#define ADDRESS_BITS	    47
#define BESIDE_BITS	    3
#define WAYS		    8u /* of caches and TLBs */
#define PATH_BLOCKS	    8u /* that a prediction of the next one rests on */
#define RECENT		    32u
#define BLOCKS_GRANTED	    (INT64_C(1) << 62) /* basic blocks until the next look, while windows are skipped: never so many */
#define WINDOW_ACCESSES	    1024u	       /* with more, threads meet that never do */
#define WINDOWS_A_SIMULATED 16u		       /* in long runs one of so many windows is simulated, and weighs as much */
#define GROUP_WINDOWS	    128u	       /* a burst of them in so many */
#define THREADS		    256u	       /* at a time; more are counted, not simulated */
#define INVOCATIONS	    1024u	       /* of a thread, waiting for their windows to be evaluated */
#define NONE		    UINT32_MAX

#define GRANULES 4u /* of 16 bytes, in a line: what belongs to two blocks of memory is never in one */
#define GAPS	 7u /* kinds of gaps between two accesses to a line */
#define BASES	 2u /* accesses, blocks: what simulated counters are relative to */
#define SPREADS	 (COUNTERS - COUNT_HITM_SEEN)

/* real_NAME(): the library's function NAME, which one of ours replaces. Needs dlfcn.h. */
#define REAL(name)                                                                                                                         \
	static __typeof__(name) *real_##name(void)                                                                                         \
	{                                                                                                                                  \
		static void *found;                                                                                                        \
                                                                                                                                           \
		if (!__atomic_load_n(&found, __ATOMIC_RELAXED))                                                                            \
			__atomic_store_n(&found, dlsym(RTLD_NEXT, #name), __ATOMIC_RELAXED);                                               \
		return (__typeof__(name) *)(uintptr_t)found;                                                                               \
	}

/* What is counted, in the order of the samples' values. Exact counters count always; simulated ones in simulated windows, scaled
 * to all. */
#define COUNTER_ROWS(X)                                                                                                                    \
	X(ACCESSES, "emulated:accesses")	 /* reads and writes of memory, exact as all up to WAITED */                               \
	X(BLOCKS, "emulated:blocks")		 /* basic blocks */                                                                        \
	X(ATOMICS, "emulated:atomics")		 /* atomic accesses, which are among the accesses */                                       \
	X(SYSTEM_CALLS, "emulated:system_calls") /* calls of the C library's functions that are one system call */                         \
	X(ALLOCATIONS, "emulated:allocations")                                                                                             \
	X(ALLOCATED_BYTES, "emulated:allocated_bytes")                                                                                     \
	X(COPIED_BYTES, "emulated:copied_bytes")   /* written by mem* and str* functions */                                                \
	X(WAITED, "emulated:waited")		   /* accesses and blocks of loops that wait, which are in no other counter */             \
	X(SIMULATED, "emulated:simulated")	   /* accesses in simulated windows: what the following rest on */                         \
	X(HITM_TRUE, "emulated:hitm_true_milli")   /* potential HITM by true sharing, thousandths */                                       \
	X(HITM_FALSE, "emulated:hitm_false_milli") /* by false sharing */                                                                  \
	X(HITM_SEEN, "emulated:hitm_seen")	   /* in the directory, as threads happened to run */                                      \
	X(L1_MISSES, "emulated:l1_misses")                                                                                                 \
	X(L2_MISSES, "emulated:l2_misses")                                                                                                 \
	X(REMOTE, "emulated:remote")		   /* L2 misses on a page that another node wrote first */                                 \
	X(TLB_MISSES, "emulated:tlb_misses")	   /* of the second level */                                                               \
	X(BRANCH_MISSES, "emulated:branch_misses") /* basic blocks that followed unexpectedly */

#define COUNTER_ENUM(symbol, name) COUNT_##symbol,
enum counter { COUNTER_ROWS(COUNTER_ENUM) COUNTERS };
#undef COUNTER_ENUM

/* In places of counts.weighed[] that events do not use: of each level of caches and TLBs hits, then misses that may be the other in truth,
 * since it depends on what was done in windows that were skipped. */
enum unknown { UNKNOWN_L1 = COUNT_ATOMICS, UNKNOWN_L2 = UNKNOWN_L1 + 2, UNKNOWN_TLB = UNKNOWN_L2 + 2, UNKNOWN_STLB = UNKNOWN_TLB + 2 };

/* What a thread has counted so far. A simulated event weighs as many windows as its own represents. */
struct counts {
	uint64_t exact[COUNT_SIMULATED + 1];
	uint64_t weighed[COUNTERS]; /* [COUNT_HITM_SEEN...] events; [COUNT_ACCESSES], [COUNT_BLOCKS] what they are relative to */
};
_Static_assert(UNKNOWN_STLB + 2 <= (int)COUNT_HITM_SEEN, "there is room for what is not known");

/* One function's run in one thread, while it is active and until all windows that it took part in are evaluated. A thread's first
 * invocation represents the thread. */
struct invocation {
	uint32_t function, weight;
	uint64_t ordinal, start, duration;
	uint32_t depth, flags;
	uint32_t threads;     /* alive when it ended */
	uint32_t parent;      /* the invocation that it is part of */
	uint32_t caller;      /* the selected function that called it; NONE: none did */
	uint64_t last_window; /* in which it was active */
	struct counts counts; /* while it runs: at its start; then: what it counted */
	double hitm[2];	      /* potential HITM, weighed: true, false */
};

/* A line that one invocation touched in one window; or, in the log, the window that n_touches of them follow. Visits are accesses close
 * together. */
struct touch {
	union {
		uint64_t line, window;
	};
	union {
		uint32_t invocation, n_touches;
	};
	uint32_t owner;		    /* the function that touched it (frames.c) */
	uint32_t stamp;		    /* the window's; in the log: the window's weight */
	uint16_t first, last;	    /* accesses that the window had left at the first and the last one to this line */
	uint64_t lives;		    /* of its granules (simulate.c) */
	uint16_t n[2], words[2];    /* reads and writes: how often; which of 16 words of 4 bytes, in visits that have ended */
	uint16_t gaps[GAPS];	    /* accesses, by how long ago the thread's last one to the line was */
	uint16_t visits, spread[2]; /* words touched, and written, in each visit: their sums */
	uint16_t now[2];	    /* words of this visit */
};
_Static_assert(sizeof(struct touch) == 64, "logs have the size that they are said to have");

/* A number of a touch, of the window with that stamp. */
struct touch_at {
	uint32_t stamp, touch;
};

/* Granules in which these words lie. */
static inline uint32_t granules_of(uint32_t words)
{
	uint32_t any = (words | words >> 1 | words >> 2 | words >> 3) & 0x1111; /* the first word of each */

	return (any | any >> 3 | any >> 6 | any >> 9) & 15;
}

static inline uint32_t words_number(uint32_t words)
{
	words -= words >> 1 & 0x5555;
	words = (words & 0x3333) + (words >> 2 & 0x3333);
	return ((words + (words >> 4)) & 0x0f0f) * 0x0101 >> 8 & 31;
}

/* Where a table by lines starts to look for one: a few lines that follow each other are beside each other. */
static inline uint32_t line_hash(uint64_t line, uint64_t salt)
{
	uint64_t x = ((line >> BESIDE_BITS) * 0x9e3779b97f4a7c15u ^ salt) * 0xff51afd7ed558ccdu;

	return (uint32_t)(x >> 40) << BESIDE_BITS | ((uint32_t)line + (uint32_t)(x >> 32)) % (1u << BESIDE_BITS);
}

/* A line in the window: its last touch. */
struct latest {
	uint64_t line;
	uint32_t stamp, births; /* of the thread at that time: since then nothing has begun or ended in memory by its own doing */
	struct touch *touch;
	uint32_t last; /* accesses that the window had left at the last one */
};

/* A line that was just read, or written, in the same window by the same invocation: it is in the first cache, and nothing else
 * about it is new. */
struct recent {
	uint64_t key; /* line << 1 | write, + 2; 0: none */
	struct touch *touch;
	struct latest *latest;
};

/* Between one writer and one reader. */
struct queue {
	uint64_t head, tail; /* read up to, written up to; never wrap */
};

static inline bool queue_is_empty(const struct queue *q)
{
	return __atomic_load_n(&q->head, __ATOMIC_ACQUIRE) == __atomic_load_n(&q->tail, __ATOMIC_ACQUIRE);
}

#define WAITING_PLACES	64u
#define WAITING_LOOPS	4u
#define WAITING_CALLEES 8u
#define WAITING_LOOKS	8u

/* By where it calls sched_yield(), or has its atomic operation: what the last look that failed came to; the functions that looks call, and
 * how often that one did. */
struct waiting_loop {
	uintptr_t site;
	bool polls;		   /* it has no sched_yield() */
	uint32_t in_vain, skipped; /* polls: so often in a row that was no waiting; looks that were not tried since */
	bool failed;		   /* a look has: usual and so on are known */
	uint32_t owed;		   /* looks that succeeded before that, and first ones in vain with each of them */
	uint64_t usual[COUNT_SIMULATED];
	uint32_t callees[WAITING_CALLEES], usual_calls[WAITING_CALLEES], n;
	uint64_t calls; /* of these all together, when it last ended */
};

/* What an atomic operation at this site has found there; the thread had then changed something by so many others. */
struct look {
	uintptr_t site, at;
	uint64_t value, changes;
};

/* A thread that waits (waiting.c): what hot has without that, and what the look that it takes now has come to. */
struct waiting {
	int64_t left, blocks_left;
	uint64_t library;
	uint64_t held[COUNT_SIMULATED - COUNT_ATOMICS];
	uint64_t look[COUNT_SIMULATED], less[COUNT_SIMULATED], waited; /* less: to be taken off */
	uint64_t failed[COUNT_SIMULATED];			       /* all looks that failed */
	uint32_t calls[WAITING_CALLEES], failed_calls[WAITING_CALLEES];
	struct look looks[WAITING_LOOKS]; /* by hash of the site */
	bool in_place;			  /* what counts is the first look, which was in vain, in place of the one that succeeds */
	bool learns;			  /* what its looks call has just become known: where they read is not yet */
	bool seen;			  /* another thread has changed what the loop polls */
	bool interrupted;		  /* a handler runs, and all of this stays as it is until it has ended */
	uint64_t changes;		  /* hot's, when the handler started */
	uint32_t lowest, n_failed;	  /* frames that were active at the least in the first look; looks that failed */
	uint32_t owner;			  /* when it started to wait */
	struct waiting_loop loops[WAITING_LOOPS], *loop;
	uint32_t n_loops, went_on_in;	  /* the callee, 0: none, with which it has gone on... */
	uint64_t went_on_at;		  /* ...after so many blocks */
	uint64_t went_on_calls;		  /* ...and so many calls of it */
	uintptr_t places[WAITING_PLACES]; /* that it has looked at */
	uint32_t n_places, bytes;	  /* bytes: of the last write, 0: there was none */
	uintptr_t written;		  /* where, and what was there before */
	uint64_t value;
};

enum thread_state {
	THREAD_FREE,
	THREAD_LIVE,
	THREAD_WAITING, /* at a barrier or for another's end: it will go on no earlier than those that it waits for */
	THREAD_ENDED,	/* its windows are still to be evaluated */
};

struct thread {
	/* Owned by threads.c, changed under its lock. */
	uint32_t state, number; /* numbers in the order of creation */
	uint64_t resume;	/* window with which it starts or goes on */
	struct thread *joiner;	/* goes on when this one has ended */
	pthread_t handle;
	bool has_handle;
	size_t stack_bytes;
	void *(*start)(void *);	  /* what pthread_create() is to run */
	int (*start_c11)(void *); /* the same for thrd_create() */
	void *argument;
	uint32_t rounds;       /* of destructors at its end */
	uint32_t id;	       /* the kernel's; 0: not begun */
	bool pauses;	       /* until others have caught up */
	bool waits;	       /* for what another one does: by others */
	const struct hot *hot; /* its thread-local storage, while it lives */
	const uint64_t *system_calls;

	/* Logical time (windows.c). */
	uint64_t window;     /* simulated now, or the next one that will be */
	uint64_t at;	     /* the earliest one that can still get touches: read by others */
	uint64_t stalled_at; /* value of `at` with which others no longer wait for it, + 1 */
	uint64_t granted;    /* accesses of the window, window_left still to come; or of the stretch that is skipped: hot.left */
	int64_t blocks_granted;
	int32_t window_left; /* 0 while windows are skipped; below where a handler has ended one while an access was counted */
	uint32_t weight, stamp;
	uint64_t window_blocks; /* basic blocks when the window started */
	bool records;		/* touches of this window: there are other threads */

	/* Functions (frames.c). */
	uintptr_t stack_low, stack_high;
	uint32_t n_frames, lost_frames, depth, invocation;
	struct frame *frames;
	struct invocation *invocations;
	uint32_t *free_ones, *ended_ones; /* numbers of invocations */
	struct queue free_queue, ended_queue;

	/* What happened in which function (frames.c). */
	struct place *places;
	struct callee *callees;
	uint32_t n_callees, owner; /* owner: what happens now is this one's; 0: no selected function's */
	uint32_t changing;	   /* a call of it starts or ends; 0: of none */
	uint32_t samples;	   /* calls that were chosen */
	struct counts accounted;   /* what has been added to callees */
	uint64_t accounted_rare;   /* atomics and so on, together */
	uint32_t accounted_events; /* of the simulation */
	uint32_t changes;	   /* so many times something else than accesses and blocks has changed in what is accounted for */
	uint32_t burst;		   /* of windows that represent others, the latest that was simulated; 0: none */

	/* What is simulated (simulate.c). */
	struct counts counts;
	uint32_t events; /* so many times a simulated counter has changed */
	struct recent recent[RECENT];
	struct touch ignored;			/* for windows that no other thread can be in */
	struct latest nowhere;			/* the same */
	uint32_t block, path;			/* last basic block; hash of the last ones, whatever functions they are in */
	uint32_t blocks[PATH_BLOCKS], n_blocks; /* these, in a ring */
	uintptr_t turn;				/* 0, or the place of the only block that they all are: another one changes nothing */
	uint32_t turn_block, turns;		/* its number; how often it has followed itself as it was expected for sure */
	uint32_t n_touches;
	uint32_t (*sets)[WAYS]; /* of caches and TLBs */
	uint8_t *fresh;		/* of each set: entries used since the burst started */
	uint32_t fresh_burst;	/* that one */
	struct prediction *predictions;
	struct touch *touches;	    /* [n_touches] of this window, in the order in which they started */
	struct latest *latest;	    /* the last one of each line, by hash */
	uint32_t births;	    /* of blocks of memory, by this thread */
	struct touch_at *touch_ats; /* where a touch is, by hash */

	struct waiting waiting;

	/* Windows to evaluate (windows.c). */
	struct touch *log;
	uint64_t log_mask; /* its length - 1 */
	struct queue log_queue;
	struct record_thread record;
};

/* What the hooks need first, in initial-exec thread-local storage. */
struct hot {
	uint64_t library; /* blocks that work of the C library counts as (wrap_calls.c), not yet among the others */
	int64_t left;	  /* accesses until the thread has to look up; 0 or less, and no number, while it simulates */
	uint64_t written_page;
	int64_t blocks_left; /* the same for basic blocks, from BLOCKS_GRANTED down while it skips, and from 0 while it simulates */
	uint64_t allocations, allocated_bytes, copied_bytes, atomics, waited, changes;
	struct thread *thread; /* NULL: not known (yet), or not simulated */
	uint32_t simulating;
	uint32_t waits; /* nothing counts (waiting.c): then there is a thread */
	uint64_t
	    busy; /* we are at work, so many times BUSY_ONCE, and where that started: hooks in handlers and in what we call do nothing */
};
extern __thread struct hot hot;

/* One less of what hooks count down; is it below 0 now? One instruction, whatever the compiler adds to a subtraction: a handler that came
 * between reading and writing would count, or begin a window, in vain. */
static inline bool count_down(int64_t *left)
{
	bool below;

	__asm__ volatile("subq $1, %1" : "=@ccs"(below), "+m"(*left));
	return below;
}

#define BUSY_ONCE   (UINT64_C(1) << 48)
#define BUSY_ALWAYS (BUSY_ONCE - 1) /* no place on a stack: it ends in any case */

#define BUSY_FOREVER (BUSY_ONCE << 12 | BUSY_ALWAYS)

/* From here on, up to busy_end(), we are at work. `at` is its place on the stack, for a handler may jump out of it. One word, written once:
 * a handler that came between two would leave the place of its own work, which lies below, and the next one would take this for left. */
static inline void busy_begin(uint64_t at)
{
	uint64_t busy = __atomic_load_n(&hot.busy, __ATOMIC_RELAXED);

	__atomic_store_n(&hot.busy, busy ? busy + BUSY_ONCE : BUSY_ONCE | at, __ATOMIC_RELAXED);
	__asm__ volatile("" ::: "memory");
}
#define BUSY_HERE() busy_begin((uintptr_t)__builtin_frame_address(0))

static inline uintptr_t busy_at(void)
{
	return hot.busy & BUSY_ALWAYS;
}

/* Where a handler has taken it for left, it has ended already. */
static inline void busy_end(void)
{
	uint64_t busy = __atomic_load_n(&hot.busy, __ATOMIC_RELAXED);

	__asm__ volatile("" ::: "memory");
	__atomic_store_n(&hot.busy, busy < 2 * BUSY_ONCE ? 0 : busy - BUSY_ONCE, __ATOMIC_RELAXED);
}
extern __thread uint64_t system_calls;

/* What a thread has counted so far; exact for the calling one, whose `hot` it is. */
static inline uint64_t counts_blocks(const struct thread *t, const struct hot *of)
{
	return t->counts.exact[COUNT_BLOCKS] + (uint64_t)(t->blocks_granted - of->blocks_left) + of->library;
}

static inline uint64_t counts_accesses(const struct thread *t, const struct hot *of)
{
	return t->counts.exact[COUNT_ACCESSES] + t->granted - (of->simulating ? 0 : (uint64_t)of->left) - (uint64_t)(int64_t)t->window_left;
}

struct runtime {
	struct record_writer writer;
	uint8_t *owners; /* of pages: node + 1 */
	uint64_t *directory;
	uint32_t nodes, alive;	      /* alive: threads */
	bool on, full;		      /* full: every window is simulated */
	bool several;		      /* there has been a second thread */
	uint64_t shared_bytes;	      /* mapped for writing, and for other processes, too */
	uint32_t not_simulated;	      /* threads */
	uint64_t forced, dropped;     /* windows evaluated before all threads had come to them; touches dropped */
	double hitm[2], rest_hitm[2]; /* of threads that have ended; of that, in no selected function */
	struct counts counts, rest;
	uint64_t last_end; /* the latest window in which a thread has ended */
	struct thread *threads[THREADS];
};
extern struct runtime runtime;

/* [THREADS], NULL: never in use */
static inline struct thread *thread_at(size_t i)
{
	return __atomic_load_n(&runtime.threads[i], __ATOMIC_ACQUIRE);
}

/* runtime.c: zeroed memory, not from the heap; NULL when there is none. */
void *pages_map(size_t bytes);
void runtime_finish(void);

/* simulate.c */
enum access { ACCESS_READ, ACCESS_WRITE };
bool simulate_init(struct thread *t); /* false: no memory */
/* An atomic access, which is counted in hot.left; elsewhere: on another page than the write before, and not counted yet. */
void simulate_atomic(uintptr_t address, size_t bytes, enum access access, bool elsewhere);
void simulate_range(uintptr_t address, size_t bytes, enum access access);
void simulate_anew(struct thread *t);	 /* the window or the invocation has changed */
void touch_visited(struct touch *touch); /* the visit has ended */

/* simulate.c: memory that is written, starts and ends */
void memory_begins(uintptr_t address, size_t bytes); /* a block of memory starts here, or ends: nothing is known of it */

/* emulate_functions.c */
struct function {
	uint32_t number; /* NONE: not selected */
	bool library;	 /* record_is_library() */
};
struct function function_at(uintptr_t site);
/* Where a function's code is, and a hash of its name. Without a symbol: an empty range from the module's base on. */
struct code {
	uintptr_t start, end;
	uint64_t name;
};
struct code function_code(uintptr_t pc);
int functions_select(const char *list); /* "name,name" or "@FILE", NULL: all of them; the text must stay. 0, or why not: an errno */

/* Calls that begin in simulated windows, or those that do not: one of each `step` is a sample, at a place that follows from a hash. */
struct stratum {
	uint64_t seen, next, begin; /* calls; the next sample; the first call of those that it represents */
	uint32_t step, sampled;	    /* since the step was last changed */
};

/* How simulated counters varied from burst to burst: sums of squares and of products with their base, of what is weighed. */
struct spread {
	uint32_t bursts, burst; /* ended ones; the one that is active */
	double square[SPREADS], product[SPREADS], base[BASES];
	uint64_t begun[SPREADS], base_begun[BASES]; /* weighed[] when the burst started */
};

/* What happened in the function and in all that it called, summed over its calls. Of what changes all the time: each call's end less its
 * start, so that of calls that are active the end is missing. Of the rest: what it has grown by, times the calls that were active. */
struct nested {
	uint32_t active, changes; /* calls; the thread's when the rest was last added up */
	bool lost;		  /* a handler jumped away while a call started or ended: nothing is known */
	uint64_t calls;		  /* when a burst last ended */
	struct counts sum, seen;  /* seen: the thread's counts when the rest was last added up */
	struct spread spread;
};

/* Potential HITM, as windows are evaluated. */
struct callee_meetings {
	uint32_t bursts, burst;
	double all[2], sum[2], square[2], now[2]; /* all; of bursts: of ended ones, and of the active one */
};

/* A function that the thread calls; the first one is the thread itself. */
struct callee {
	uint64_t calls;
	struct function function;
	uint32_t salt; /* of the hash: the same wherever the program lies */
	struct stratum strata[2];
	struct counts own; /* in the function itself */
	struct spread spread;
	struct nested nested;
	struct callee_meetings meetings;
};

/* frames.c; functions by number in the thread, from 1 */
bool frames_init(struct thread *t);	  /* false: no memory */
void frames_unwind_all(struct thread *t); /* at the thread's end: everything that is active ends, the thread itself too */
void frames_forget(struct thread *t);	  /* after fork(): what is active started in another process */
void callees_account(struct thread *t);	  /* by the thread itself: what has happened is the owner's */
/* A burst of simulated windows has ended, and all that happened in it is accounted for. `last`: so has the thread, or the process. */
void callees_burst_end(struct thread *t, bool last);
/* What happened in the function itself, and (NULL: not asked for) with all that it called, when the thread has counted `now`. */
void callee_sum(struct thread *t, uint32_t callee, const struct counts *now, struct counts *own, struct counts *nested);
void callee_pretend(struct thread *t, uint32_t callee, void (*happens)(struct thread *t)); /* it happens as if in a call of the function */
void counts_end(const struct thread *t, struct counts *c); /* from the counts at its start to what it counted */

/* windows.c */
void threads_lock(void); /* hooks in signal handlers do nothing while it is held */
void threads_unlock(void);
uint64_t window_next_simulated(uint64_t window); /* this one, or the next that is simulated */
uint64_t window_after(const struct thread *t);	 /* the first window that is wholly in its future */
/* The window that the calling thread is in. True: it has hardly begun, and other threads may touch something in it. */
bool window_is_shared(const struct thread *t, uint64_t *window);
void window_begin(struct thread *t, uint64_t window);
void window_close(struct thread *t);			     /* ends what is simulated now; window_begin() follows */
void counts_now(const struct thread *t, struct counts *out); /* of another thread: about so many */
void evaluate_init(void);
bool evaluate_now(void);				/* what no thread can touch any more; false: another thread is at it */
void evaluate_wait(struct thread *t, uint64_t touches); /* until there is room for so many touches and for an invocation */
/* At the end: everything, threads that have not ended as far as they came, and the sums of all; names: [COUNTERS]. */
void evaluate_all(const char *const *names);

/* threads.c */
void threads_init(void);
void threads_finish(void);
void threads_stop(void);
uint64_t threads_horizon(void);	    /* no thread can touch an earlier window any more */
struct thread *thread_attach(void); /* the calling thread, if it can be simulated */

/* waiting.c; waiting_goes_on(): false, the thread has gone on, and what it comes to counts. */
bool waiting_goes_on(uintptr_t address, size_t bytes, enum access access);
bool waiting_goes_on_in_block(void);
bool waiting_goes_on_in_call(struct thread *t, uint32_t callee);
bool waiting_is_interrupted(struct thread *t); /* by a handler that starts; true: waiting_continues() follows when it has ended */
void waiting_continues(struct thread *t);
void waiting_hold(struct thread *t);				       /* while it waits: what has been counted since does not count */
void waiting_leaves(struct thread *t);				       /* it waits, or has, and has left a function's frame */
void waiting_looks(uintptr_t site, uintptr_t address, uint64_t value); /* an atomic operation has found that */
void waiting_stop(void);					       /* the calling thread goes on, if it has waited */

#endif

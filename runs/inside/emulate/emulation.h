/* The emulated back end: code linked into programs that `assay build --for counters` builds. The compiler adds calls of it at every memory
 * access, every basic block, and every function entry and exit. It simulates caches, a coherence directory and more (docs/emulation.md) and
 * writes samples (runs/inside/record/record.h). Nothing here allocates from the program's heap or prints after the start. Of the project's
 * other headers, it includes only those of runs/inside/record.
 *
 *   hooks.c                     atomic operations, which the compiler calls; functions that programs may call themselves
 *   wrap*.c, wrapped.h          functions of the C library that the program calls
 *   threads.c                   threads from creation to end; passing of clocks between them, also at barriers and in OpenMP
 *   waiting.c                   loops around sched_yield() and atomic operations that only wait: not counted as work
 *   simulate.c                  simulated windows; numbers of basic blocks; pages and their nodes; start and end of memory blocks; the
 *                               hooks that the compiler calls at each access and basic block
 *   windows.c                   logical time; choice of simulated windows; potential HITM, evaluated per window; samples and
 *                               totals, written once their windows are evaluated
 *   frames.c                    function calls: active calls, the owner of each event, the choice of samples
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
#define WAYS		    8u /* per set of a cache or TLB */
#define PATH_BLOCKS	    8u /* blocks on which the prediction of the next one depends */
#define RECENT		    32u
#define BLOCKS_GRANTED	    (INT64_C(1) << 62) /* basic blocks until the next check while windows are skipped: never reached */
#define WINDOW_ACCESSES	    1024u	       /* in longer windows threads would meet that never do */
#define WINDOWS_A_SIMULATED 16u		       /* in long runs one window in 16 is simulated, with weight 16 */
#define GROUP_WINDOWS	    128u	       /* windows per group; in long runs one burst per group is simulated */
#define THREADS		    256u	       /* simulated at a time; the others are reported as not simulated */
#define INVOCATIONS	    1024u	       /* per thread, active or waiting for the evaluation of their windows */
#define NONE		    UINT32_MAX

#define GRANULES 4u /* per line, of 16 bytes each: two blocks of memory never share one */
#define GAPS	 7u /* kinds of gaps between two accesses to a line */
#define BASES	 2u /* accesses, blocks: the bases of the ratios of simulated counters */
#define SPREADS	 (COUNTERS - COUNT_HITM_SEEN)

/* real_NAME() returns the library's function NAME, which a function of ours replaces. Needs dlfcn.h. */
#define REAL(name)                                                                                                                         \
	static __typeof__(name) *real_##name(void)                                                                                         \
	{                                                                                                                                  \
		static void *found;                                                                                                        \
                                                                                                                                           \
		if (!__atomic_load_n(&found, __ATOMIC_RELAXED))                                                                            \
			__atomic_store_n(&found, dlsym(RTLD_NEXT, #name), __ATOMIC_RELAXED);                                               \
		return (__typeof__(name) *)(uintptr_t)found;                                                                               \
	}

/* The counters, in the order of the samples' values. Exact counters always count. Simulated counters count in simulated windows and are
 * scaled to all windows. */
#define COUNTER_ROWS(X)                                                                                                                    \
	X(ACCESSES, "emulated:accesses")	 /* reads and writes of memory; exact, as all rows up to WAITED */                         \
	X(BLOCKS, "emulated:blocks")		 /* basic blocks */                                                                        \
	X(ATOMICS, "emulated:atomics")		 /* atomic accesses, included in ACCESSES */                                               \
	X(SYSTEM_CALLS, "emulated:system_calls") /* calls of C library functions that make one system call */                              \
	X(ALLOCATIONS, "emulated:allocations")                                                                                             \
	X(ALLOCATED_BYTES, "emulated:allocated_bytes")                                                                                     \
	X(COPIED_BYTES, "emulated:copied_bytes")   /* written by mem* and str* functions */                                                \
	X(WAITED, "emulated:waited")		   /* accesses and blocks of waiting loops, in no other counter */                         \
	X(SIMULATED, "emulated:simulated")	   /* accesses in simulated windows, the base of all rows below */                         \
	X(HITM_TRUE, "emulated:hitm_true_milli")   /* potential HITM by true sharing, in thousandths */                                    \
	X(HITM_FALSE, "emulated:hitm_false_milli") /* the same by false sharing */                                                         \
	X(HITM_SEEN, "emulated:hitm_seen")	   /* in the directory; depends on how threads happened to run */                          \
	X(L1_MISSES, "emulated:l1_misses")                                                                                                 \
	X(L2_MISSES, "emulated:l2_misses")                                                                                                 \
	X(REMOTE, "emulated:remote")		   /* L2 misses on a page that another node wrote first */                                 \
	X(TLB_MISSES, "emulated:tlb_misses")	   /* misses of the second level */                                                        \
	X(BRANCH_MISSES, "emulated:branch_misses") /* basic blocks that followed unexpectedly */

#define COUNTER_ENUM(symbol, name) COUNT_##symbol,
enum counter { COUNTER_ROWS(COUNTER_ENUM) COUNTERS };
#undef COUNTER_ENUM

/* Slots of counts.weighed[] that no event uses. For each level of caches and TLBs: uncertain hits, then uncertain misses. Each may have
 * been the other, depending on accesses in skipped windows. */
enum unknown { UNKNOWN_L1 = COUNT_ATOMICS, UNKNOWN_L2 = UNKNOWN_L1 + 2, UNKNOWN_TLB = UNKNOWN_L2 + 2, UNKNOWN_STLB = UNKNOWN_TLB + 2 };

/* Counts of a thread so far. A simulated event counts with the weight of its window: the number of windows that it represents. */
struct counts {
	uint64_t exact[COUNT_SIMULATED + 1];
	uint64_t weighed[COUNTERS]; /* [COUNT_HITM_SEEN...] events; [COUNT_ACCESSES], [COUNT_BLOCKS] their bases */
};
_Static_assert(UNKNOWN_STLB + 2 <= (int)COUNT_HITM_SEEN, "there is room for what is not known");

/* One call of a function in one thread. Kept while active and until all windows in which it was active are evaluated. A thread's first
 * invocation represents the thread. */
struct invocation {
	uint32_t function, weight;
	uint64_t ordinal, start, duration;
	uint32_t depth, flags;
	uint32_t threads;     /* threads alive when it ended */
	uint32_t parent;      /* the sampled invocation that contains it; NONE: it is the thread */
	uint32_t caller;      /* the selected function that called it; NONE: none */
	uint64_t last_window; /* the last window in which it was active */
	struct counts counts; /* while active: the thread's counts at its start; afterwards: its own counts */
	double hitm[2];	      /* potential HITM, weighed: true sharing, false sharing */
};

/* The accesses of one invocation to one line in one window. In the log also a header: a window and the number of touches that follow. A
 * visit is a group of accesses close together. */
struct touch {
	union {
		uint64_t line, window;
	};
	union {
		uint32_t invocation, n_touches;
	};
	uint32_t owner;		    /* callee that owned the accesses (frames.c) */
	uint32_t stamp;		    /* the window's; in a log header: the weight of the window */
	uint16_t first, last;	    /* window_left at the first and at the last access to this line */
	uint64_t lives;		    /* lives of the line's granules (simulate.c) */
	uint16_t n[2], words[2];    /* [enum access]: accesses; bit mask of 16 words of 4 bytes, of ended visits */
	uint16_t gaps[GAPS];	    /* accesses, by the gap since the thread's previous access to the line */
	uint16_t visits, spread[2]; /* visits; sums over them of words touched, and of words written */
	uint16_t now[2];	    /* [enum access]: words of the current visit */
};
_Static_assert(sizeof(struct touch) == 64, "logs have the size that they are said to have");

/* Index of a touch; valid if the stamp is that of the current window. */
struct touch_at {
	uint32_t stamp, touch;
};

/* Returns the bit mask of the granules that contain these words. */
static inline uint32_t granules_of(uint32_t words)
{
	uint32_t any = (words | words >> 1 | words >> 2 | words >> 3) & 0x1111; /* the first word of each granule */

	return (any | any >> 3 | any >> 6 | any >> 9) & 15;
}

static inline uint32_t words_number(uint32_t words)
{
	words -= words >> 1 & 0x5555;
	words = (words & 0x3333) + (words >> 2 & 0x3333);
	return ((words + (words >> 4)) & 0x0f0f) * 0x0101 >> 8 & 31;
}

/* Returns the place where the search for a line starts in a hash table of lines. Consecutive lines of a group of 8 get adjacent places. */
static inline uint32_t line_hash(uint64_t line, uint64_t salt)
{
	uint64_t x = ((line >> BESIDE_BITS) * 0x9e3779b97f4a7c15u ^ salt) * 0xff51afd7ed558ccdu;

	return (uint32_t)(x >> 40) << BESIDE_BITS | ((uint32_t)line + (uint32_t)(x >> 32)) % (1u << BESIDE_BITS);
}

/* The last touch of a line in the window. */
struct latest {
	uint64_t line;
	uint32_t stamp, births; /* births of the thread at that time; if unchanged, it has started or ended no memory block since */
	struct touch *touch;
	uint32_t last; /* window_left at the last access */
};

/* A line that the same invocation has just read, or written, in the same window. It is in the first-level cache, and another such access
 * changes nothing but the touch. */
struct recent {
	uint64_t key; /* line << 1 | write, + 2; 0: none */
	struct touch *touch;
	struct latest *latest;
};

/* Positions in a ring with one writer and one reader. */
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

/* A waiting loop, identified by the site of its sched_yield() call or atomic operation. Keeps the counts of its last failed look, the
 * functions that looks call, and the calls of them in that look. */
struct waiting_loop {
	uintptr_t site;
	bool polls;		   /* has no sched_yield() */
	uint32_t in_vain, skipped; /* if it polls: waits in a row that were work; looks since then that were not tried */
	bool failed;		   /* a look has failed: usual and usual_calls are valid */
	uint32_t owed;		   /* successful looks before any failed; each counted a first look in vain as well */
	uint64_t usual[COUNT_SIMULATED];
	uint32_t callees[WAITING_CALLEES], usual_calls[WAITING_CALLEES], n;
	uint64_t calls; /* calls of all these callees when the loop last ended */
};

/* The value that an atomic operation at this site found at an address, and hot.changes at that time. */
struct look {
	uintptr_t site, at;
	uint64_t value, changes;
};

/* State of a waiting thread (waiting.c): values of hot that were put aside, and the counts of the current look. */
struct waiting {
	int64_t left, blocks_left;
	uint64_t library;
	uint64_t held[COUNT_SIMULATED - COUNT_ATOMICS];
	uint64_t look[COUNT_SIMULATED], less[COUNT_SIMULATED], waited; /* less: to be subtracted */
	uint64_t failed[COUNT_SIMULATED];			       /* sums over all failed looks */
	uint32_t calls[WAITING_CALLEES], failed_calls[WAITING_CALLEES];
	struct look looks[WAITING_LOOKS]; /* table by hash of the site */
	bool in_place;			  /* the first look, which was in vain, is counted in place of the successful one */
	bool learns;			  /* a callee of its looks has just become known; the places that it reads are not yet */
	bool seen;			  /* another thread has changed the polled value */
	bool interrupted;		  /* a handler runs; all of this stays as it is until the handler ends */
	uint64_t changes;		  /* hot.changes when the handler started */
	uint32_t lowest, n_failed;	  /* fewest frames active in the first look; failed looks */
	uint32_t owner;			  /* the thread's owner when it started to wait */
	struct waiting_loop loops[WAITING_LOOPS], *loop;
	uint32_t n_loops, went_on_in;	  /* callee whose call ended the last wait; 0: none */
	uint64_t went_on_at;		  /* basic blocks counted by then */
	uint64_t went_on_calls;		  /* calls of it before that one */
	uintptr_t places[WAITING_PLACES]; /* addresses accessed while waiting, in a ring */
	uint32_t n_places, bytes;	  /* bytes: of the last write; 0: none */
	uintptr_t written;		  /* address of the last write, and the value before it */
	uint64_t value;
};

enum thread_state {
	THREAD_FREE,
	THREAD_LIVE,
	THREAD_WAITING, /* waits at a barrier or for another's end; resumes no earlier than the threads that it waits for */
	THREAD_ENDED,	/* its windows are still to be evaluated */
};

struct thread {
	/* Owned by threads.c, changed under its lock. */
	uint32_t state, number; /* number: in the order of creation */
	uint64_t resume;	/* window with which it starts or resumes */
	struct thread *joiner;	/* thread that resumes when this one has ended; NULL: none */
	pthread_t handle;
	bool has_handle;
	size_t stack_bytes;
	void *(*start)(void *);	  /* argument of pthread_create() */
	int (*start_c11)(void *); /* the same for thrd_create() */
	void *argument;
	uint32_t rounds;       /* rounds of destructors at its end */
	uint32_t id;	       /* the kernel's thread id; 0: not started */
	bool pauses;	       /* waits until other threads have caught up */
	bool waits;	       /* waits for another thread (waiting.c); read by others */
	const struct hot *hot; /* its thread-local storage; valid while it lives */
	const uint64_t *system_calls;

	/* Logical time (windows.c). */
	uint64_t window;     /* simulated now, or the next one to be simulated */
	uint64_t at;	     /* the earliest window that can still get touches; read by others */
	uint64_t stalled_at; /* value of `at`, + 1, for which others have given up waiting */
	uint64_t granted;    /* accesses: of the window, window_left of them remaining; or of the skipped stretch, hot.left remaining */
	int64_t blocks_granted;
	int32_t window_left; /* 0 while windows are skipped; negative if a handler ended one while an access was counted */
	uint32_t weight, stamp;
	uint64_t window_blocks; /* basic blocks when the window started */
	bool records;		/* whether touches of this window are kept: other threads may be in it */

	/* Functions (frames.c). */
	uintptr_t stack_low, stack_high;
	uint32_t n_frames, lost_frames, depth, invocation;
	struct frame *frames;
	struct invocation *invocations;
	uint32_t *free_ones, *ended_ones; /* indexes of invocations */
	struct queue free_queue, ended_queue;

	/* Events by function (frames.c). */
	struct place *places;
	struct callee *callees;
	uint32_t n_callees, owner; /* owner: callee that owns the next events; 0: no selected function */
	uint32_t changing;	   /* callee whose call is starting or ending; 0: none */
	uint32_t samples;	   /* calls that were chosen as samples */
	struct counts accounted;   /* counts that have been added to callees */
	uint64_t accounted_rare;   /* rare_number() at that time */
	uint32_t accounted_events; /* events at that time */
	uint32_t changes;	   /* how often accounted counts other than accesses and blocks have changed */
	uint32_t burst;		   /* the last simulated burst of windows that represent others; 0: none */

	/* Simulation (simulate.c). */
	struct counts counts;
	uint32_t events; /* how often a simulated counter has changed */
	struct recent recent[RECENT];
	struct touch ignored;			/* receives touches that are not kept */
	struct latest nowhere;			/* refers to it */
	uint32_t block, path;			/* last basic block; hash of the last PATH_BLOCKS ones, in all functions */
	uint32_t blocks[PATH_BLOCKS], n_blocks; /* these blocks, in a ring */
	uintptr_t turn;				/* address of the only block in the ring: one more changes nothing; 0: none */
	uint32_t turn_block, turns;		/* its number; how often in a row it followed itself with full trust */
	uint32_t n_touches;
	uint32_t (*sets)[WAYS]; /* sets of caches and TLBs */
	uint8_t *fresh;		/* per set: entries used since the burst started */
	uint32_t fresh_burst;	/* the burst of `fresh` */
	struct prediction *predictions;
	struct touch *touches;	    /* [n_touches] of this window, in the order of their starts */
	struct latest *latest;	    /* last touch of each line, by hash */
	uint32_t births;	    /* starts and ends of memory blocks by this thread */
	struct touch_at *touch_ats; /* indexes of touches, by hash */

	struct waiting waiting;

	/* Windows that wait for evaluation (windows.c). */
	struct touch *log;
	uint64_t log_mask; /* its length - 1 */
	struct queue log_queue;
	struct record_thread record;
};

/* The fields that hooks need first, in initial-exec thread-local storage. */
struct hot {
	uint64_t library; /* basic blocks that represent work of the C library (wrap_calls.c), not yet added to the others */
	int64_t left;	  /* accesses until the next check; 0 or negative, with no meaning as a number, while the thread simulates */
	uint64_t written_page;
	int64_t blocks_left; /* the same for basic blocks; starts at BLOCKS_GRANTED while windows are skipped, at 0 while simulating */
	uint64_t allocations, allocated_bytes, copied_bytes, atomics, waited, changes;
	struct thread *thread; /* NULL: not known (yet), or not simulated */
	uint32_t simulating;
	uint32_t waits; /* nothing counts (waiting.c); implies thread != NULL */
	uint64_t busy;	/* our work: depth * BUSY_ONCE + its stack address; hooks in handlers, and in functions we call, do nothing */
};
extern __thread struct hot hot;

/* Decrements a counter and reports whether it is now negative. One instruction, whatever the compiler adds to a subtraction: a handler
 * between its read and its write would count, or start a window, in vain. */
static inline bool count_down(int64_t *left)
{
	bool below;

	__asm__ volatile("subq $1, %1" : "=@ccs"(below), "+m"(*left));
	return below;
}

#define BUSY_ONCE   (UINT64_C(1) << 48)
#define BUSY_ALWAYS (BUSY_ONCE - 1) /* not a stack address: such work always reaches busy_end() */

#define BUSY_FOREVER (BUSY_ONCE << 12 | BUSY_ALWAYS)

/* Marks the start of our own work, up to busy_end(). `at` is its stack address: a handler may jump out of it. One word, written once:
 * between two writes a handler would leave its own, lower address, and the next hook would take this work for abandoned. */
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

/* Ends our own work. Does nothing if a handler took it for abandoned and ended it. */
static inline void busy_end(void)
{
	uint64_t busy = __atomic_load_n(&hot.busy, __ATOMIC_RELAXED);

	__asm__ volatile("" ::: "memory");
	__atomic_store_n(&hot.busy, busy < 2 * BUSY_ONCE ? 0 : busy - BUSY_ONCE, __ATOMIC_RELAXED);
}
extern __thread uint64_t system_calls;

/* counts_blocks(), counts_accesses(): return the counts of a thread so far; exact only for the calling thread. of: its `hot`. */
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
	uint8_t *owners; /* per page: node + 1; 0: not written yet */
	uint64_t *directory;
	uint32_t nodes, alive;	      /* alive: threads */
	bool on, full;		      /* full: every window is simulated */
	bool several;		      /* a second thread was created */
	uint64_t shared_bytes;	      /* mapped for writing and shared with other processes */
	uint32_t not_simulated;	      /* threads */
	uint64_t forced, dropped;     /* evaluations before all threads had come that far; touches dropped */
	double hitm[2], rest_hitm[2]; /* true, false sharing: of finished threads; the part in no selected function */
	struct counts counts, rest;
	uint64_t last_end; /* the latest window in which a thread ended */
	struct thread *threads[THREADS];
};
extern struct runtime runtime;

/* Returns the thread in place i < THREADS, NULL if the place was never used. */
static inline struct thread *thread_at(size_t i)
{
	return __atomic_load_n(&runtime.threads[i], __ATOMIC_ACQUIRE);
}

/* runtime.c: pages_map() returns zeroed memory that is not from the heap, NULL if there is none. */
void *pages_map(size_t bytes);
void runtime_finish(void);

/* simulate.c */
enum access { ACCESS_READ, ACCESS_WRITE };
bool simulate_init(struct thread *t); /* false: no memory */
/* Simulates an atomic access that hot.left counts. elsewhere: a write to another page than the last one, not counted yet. */
void simulate_atomic(uintptr_t address, size_t bytes, enum access access, bool elsewhere);
void simulate_range(uintptr_t address, size_t bytes, enum access access);
void simulate_anew(struct thread *t);	 /* forgets recent lines: the window or the invocation has changed */
void touch_visited(struct touch *touch); /* ends a visit */

/* simulate.c: start and end of memory blocks */
void memory_begins(uintptr_t address, size_t bytes); /* a block of memory starts or ends here: forgets what is known of it */

/* emulate_functions.c */
struct function {
	uint32_t number; /* NONE: not selected */
	bool library;	 /* record_is_library() */
};
struct function function_at(uintptr_t site);
/* Address range of a function's code, and a hash of its name. Without a symbol: an empty range at the module's base. */
struct code {
	uintptr_t start, end;
	uint64_t name;
};
struct code function_code(uintptr_t pc);
int functions_select(const char *list); /* "name,name" or "@FILE", NULL: all; the text must stay valid. Returns 0 or an errno */

/* Calls that start in simulated windows, or the other calls. One of each `step` calls is a sample, at a position derived from a hash. */
struct stratum {
	uint64_t seen, next, begin; /* calls; the next sample; the first call of its step */
	uint32_t step, sampled;	    /* samples since the last change of step */
};

/* Variation of simulated counters between bursts: sums of squares, and of products with their base, of weighed counts. */
struct spread {
	uint32_t bursts, burst; /* ended bursts; the active one, 0: none */
	double square[SPREADS], product[SPREADS], base[BASES];
	uint64_t begun[SPREADS], base_begun[BASES]; /* weighed[] when the burst started */
};

/* Counts of the function and all functions that it called, summed over its calls. Accesses and blocks: each call's end minus its start; the
 * end of active calls is missing. Other counters: their growth times the number of active calls. */
struct nested {
	uint32_t active, changes; /* active calls; the thread's `changes` when other counters were last added */
	bool lost;		  /* a handler jumped away while a call started or ended: the sums are unknown */
	uint64_t calls;		  /* calls when a burst last ended */
	struct counts sum, seen;  /* seen: the thread's counts when other counters were last added */
	struct spread spread;
};

/* Potential HITM (true sharing, false sharing), added as windows are evaluated. */
struct callee_meetings {
	uint32_t bursts, burst;
	double all[2], sum[2], square[2], now[2]; /* all: total; sum, square: over ended bursts; now: in the active burst */
};

/* A function that the thread calls. The first one represents the thread itself. */
struct callee {
	uint64_t calls;
	struct function function;
	uint32_t salt; /* for the hash: independent of the program's load address */
	struct stratum strata[2];
	struct counts own; /* without the functions that it called */
	struct spread spread;
	struct nested nested;
	struct callee_meetings meetings;
};

/* frames.c. Callees are numbered per thread, from 1. */
bool frames_init(struct thread *t);	  /* false: no memory */
void frames_unwind_all(struct thread *t); /* ends all active calls and the thread itself */
void frames_forget(struct thread *t);	  /* after fork(): active calls started in another process */
void callees_account(struct thread *t);	  /* adds new counts to the owner; only for the calling thread */
/* Ends a burst of simulated windows whose counts are all added to callees. `last`: the thread, or the process, ends as well. */
void callees_burst_end(struct thread *t, bool last);
/* Computes the counts of the function itself and (NULL: not wanted) with all that it called. now: the thread's counts. */
void callee_sum(struct thread *t, uint32_t callee, const struct counts *now, struct counts *own, struct counts *nested);
void callee_pretend(struct thread *t, uint32_t callee, void (*happens)(struct thread *t)); /* calls happens() as in a call of it */
void counts_end(const struct thread *t, struct counts *c); /* replaces the counts at a start by the counts since then */

/* windows.c */
void threads_lock(void); /* while it is held, hooks in signal handlers do nothing */
void threads_unlock(void);
uint64_t window_next_simulated(uint64_t window); /* this one, or the next that is simulated */
uint64_t window_after(const struct thread *t);	 /* the first window that is wholly in its future */
/* Reports whether the calling thread's window, stored in *window, has hardly started and other threads may touch something in it. */
bool window_is_shared(const struct thread *t, uint64_t *window);
void window_begin(struct thread *t, uint64_t window);
void window_close(struct thread *t);			     /* ends the simulated window or skipped stretch; window_begin() follows */
void counts_now(const struct thread *t, struct counts *out); /* counts of another thread: approximate */
void evaluate_init(void);
bool evaluate_now(void); /* evaluates windows that no thread can touch any more; false: another thread is doing so */
void evaluate_wait(struct thread *t, uint64_t touches); /* until there is room for that many touches and for an invocation */
/* Evaluates all windows at the end. Writes threads that have not ended as far as they came, and the sums of all. names: [COUNTERS]. */
void evaluate_all(const char *const *names);

/* threads.c */
void threads_init(void);
void threads_finish(void);
void threads_stop(void);
uint64_t threads_horizon(void);	    /* the earliest window that a thread can still touch */
struct thread *thread_attach(void); /* the calling thread; NULL: it cannot be simulated */

/* waiting.c. waiting_goes_on*() return false if the wait has ended and the access, block or call counts. */
bool waiting_goes_on(uintptr_t address, size_t bytes, enum access access);
bool waiting_goes_on_in_block(void);
bool waiting_goes_on_in_call(struct thread *t, uint32_t callee);
bool waiting_is_interrupted(struct thread *t); /* a handler starts; true: waiting_continues() follows at its end */
void waiting_continues(struct thread *t);
void waiting_hold(struct thread *t);				       /* puts aside counts made since the wait started */
void waiting_leaves(struct thread *t);				       /* a waiting thread has left a function's frame */
void waiting_looks(uintptr_t site, uintptr_t address, uint64_t value); /* an atomic operation found this value */
void waiting_stop(void);					       /* ends a wait of the calling thread, if there is one */

#endif

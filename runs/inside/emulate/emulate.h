/* The emulated back end: what lives inside a program that was built by `assay emulate build`. The compiler calls it at every
 * access to memory, every basic block, every entry and exit of a function; it simulates caches, a coherence directory and more
 * (docs/emulation.md) and writes samples (runs/inside/record/record.h). Nothing here allocates from the program's heap, prints
 * after the start, or includes another header of this project than those of runs/inside/record.
 *
 *   hooks.c                     what the compiler calls
 *   wrap*.c, wrapped.h          what the program calls in the C library
 *   threads.c                   threads from creation to end, logical time, which windows are simulated
 *   meetings.c                  barriers and OpenMP: where clocks pass between threads
 *   simulate.c                  what happens in a simulated window
 *   frames.c, functions.c       active functions, potential HITM in their windows, their samples; names
 *   runtime.c                   start, options, end, counters for PAPI
 *
 * Private to runs/inside/emulate/. */
#ifndef RUNS_EMULATE_EMULATE_H
#define RUNS_EMULATE_EMULATE_H

#include "runs/inside/record/record_writer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT	    __attribute__((visibility("default")))
#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

#define PAGE_BITS      12
#define ADDRESS_BITS   47
#define WAYS	       8u /* of caches and TLBs */
#define RECENT	       32u
#define BLOCKS_GRANTED (INT64_C(1) << 62) /* basic blocks until the next look, while windows are skipped: never so many */
#define THREADS	       256u		  /* at a time; more are counted, not simulated */
#define NONE	       UINT32_MAX

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
	X(ACCESSES, "emulated:accesses")	 /* reads and writes of memory, exact as all up to COPIED_BYTES */                         \
	X(BLOCKS, "emulated:blocks")		 /* basic blocks */                                                                        \
	X(ATOMICS, "emulated:atomics")		 /* atomic accesses, which are among the accesses */                                       \
	X(SYSTEM_CALLS, "emulated:system_calls") /* calls of the C library's functions that are one system call */                         \
	X(ALLOCATIONS, "emulated:allocations")                                                                                             \
	X(ALLOCATED_BYTES, "emulated:allocated_bytes")                                                                                     \
	X(COPIED_BYTES, "emulated:copied_bytes")   /* written by mem* and str* functions */                                                \
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

/* What a thread has counted so far. A simulated event weighs as many windows as its own stands for. */
struct counts {
	uint64_t exact[COUNT_SIMULATED + 1];
	uint64_t weighed[COUNTERS]; /* [COUNT_HITM_SEEN...] events; [COUNT_ACCESSES], [COUNT_BLOCKS] what they are relative to */
};

/* One function's run in one thread, while it is active and until all windows that it took part in are evaluated. A thread's first
 * invocation stands for the thread. */
struct invocation {
	uint32_t function, weight;
	uint64_t ordinal, start, duration;
	uint32_t depth, flags;
	uint32_t threads;     /* alive when it ended */
	uint32_t parent;      /* the invocation that it is part of */
	bool keep;	      /* becomes a sample */
	uint64_t last_window; /* in which it was active */
	struct counts counts; /* while it runs: at its start; then: what it counted */
	double hitm[2];	      /* potential HITM, weighed: true, false */
};

/* A line that one invocation touched in one window; or, in the log, the window that n_touches of them follow. */
struct touch {
	union {
		uint64_t line, window;
	};
	union {
		uint32_t invocation, n_touches;
	};
	uint32_t stamp;		 /* the window's; in the log: the window's weight */
	uint16_t n[2], words[2]; /* reads and writes: how often; which of 16 words of 4 bytes */
};

/* A line that was just read, or written, in the same window by the same invocation: it is in the first cache, and nothing else
 * about it is new. */
struct recent {
	uint64_t key; /* line << 1 | write, + 2; 0: none */
	struct touch *touch;
};

/* Between one writer and one reader. */
struct queue {
	uint64_t head, tail; /* read up to, written up to; never wrap */
};

static inline bool queue_is_empty(const struct queue *q)
{
	return __atomic_load_n(&q->head, __ATOMIC_ACQUIRE) == __atomic_load_n(&q->tail, __ATOMIC_ACQUIRE);
}

enum thread_state {
	THREAD_FREE,
	THREAD_LIVE,
	THREAD_WAITING, /* at a barrier or for another's end: it will go on no earlier than those that it waits for */
	THREAD_ENDED,	/* its windows are still to be evaluated */
};

struct thread {
	/* Owned by threads.c, changed under its lock. */
	uint32_t state, number; /* numbers in the order of creation */
	uint64_t resume;	/* window with which it begins or goes on */
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
	const struct hot *hot; /* its thread-local storage, while it lives */
	const uint64_t *system_calls;

	/* Logical time (threads.c). */
	uint64_t window;     /* simulated now, or the next one that will be */
	uint64_t at;	     /* the earliest one that can still get touches: read by others */
	uint64_t stalled_at; /* value of `at` with which others no longer wait for it, + 1 */
	uint64_t granted;    /* accesses that were skipped, of which hot.left are still to come */
	uint32_t window_left, weight, stamp;
	bool records; /* touches of this window: there are other threads */

	/* Functions (frames.c). */
	uintptr_t stack_low, stack_high;
	uint32_t n_frames, lost_frames, depth, invocation;
	struct frame *frames;
	struct callee *callees;
	struct invocation *invocations;
	uint32_t *free_ones, *ended_ones; /* numbers of invocations */
	struct queue free_queue, ended_queue;
	uint32_t n_callees;

	/* What is simulated (simulate.c). */
	struct counts counts;
	struct recent recent[RECENT];
	struct touch ignored;	 /* for windows that no other thread can be in */
	uint32_t block, history; /* last basic block, and the path to it */
	uint32_t n_touches;
	uint32_t (*l1)[WAYS], (*l2)[WAYS], (*tlb)[WAYS], (*stlb)[WAYS];
	struct prediction *predictions;
	struct touch *touches; /* of this window, by hash */
	uint32_t *touched;     /* [n_touches] places in touches, in the order of the first touch */

	/* Windows to evaluate (frames.c). */
	struct touch *log;
	uint64_t log_mask; /* its length - 1 */
	struct queue log_queue;
	struct record_thread record;
};

/* What the hooks need first, in initial-exec thread-local storage. */
struct hot {
	int64_t left; /* accesses until the thread has to look up; 0 while it simulates */
	uint64_t written_page;
	int64_t blocks_left; /* the same for basic blocks, from BLOCKS_GRANTED down while it skips */
	uint64_t allocations, allocated_bytes, copied_bytes, atomics;
	struct thread *thread; /* NULL: not known (yet), or not simulated */
	uint32_t simulating;
	uint32_t busy;	   /* we are at work: hooks in signal handlers and in what we call do nothing */
	uintptr_t busy_at; /* where on the stack that began; UINTPTR_MAX: it ends in any case */
};
extern __thread struct hot hot;

static inline void busy_begin(uintptr_t at)
{
	hot.busy_at = hot.busy ? hot.busy_at : at;
	__asm__ volatile("" ::: "memory");
	hot.busy++;
}
#define BUSY_HERE() busy_begin((uintptr_t)__builtin_frame_address(0)) /* a handler may jump out of it */
extern __thread uint64_t system_calls;

struct runtime {
	struct record_writer writer;
	uint8_t *owners; /* of pages: node + 1 */
	uint64_t *directory;
	uint32_t nodes, alive;	  /* alive: threads */
	bool on, full;		  /* full: every window is simulated */
	uint32_t not_simulated;	  /* threads */
	uint64_t forced, dropped; /* windows evaluated before all threads had come to them; touches dropped */
	double hitm[2];		  /* of threads that have ended */
	struct counts counts;
};
extern struct runtime runtime;

/* A lock that is held for a short time, with signals blocked: a handler that jumps away would leave it held. Zeroed: free. */
struct spin {
	uint32_t held;
	uint64_t signals; /* the holder's, before */
};
bool spin_try(struct spin *s);
void spin_lock(struct spin *s);
void spin_unlock(struct spin *s);

/* runtime.c: zeroed memory, not from the heap; NULL when there is none. */
void *pages_map(size_t bytes);
void runtime_start(void);
void runtime_finish(void);

/* simulate.c */
enum access { ACCESS_READ, ACCESS_WRITE };
bool simulate_init(struct thread *t); /* false: no memory */
void simulate_access(uintptr_t address, size_t bytes, enum access access);
void simulate_range(uintptr_t address, size_t bytes, enum access access);
void simulate_block(uintptr_t pc);
void simulate_anew(struct thread *t); /* the window or the invocation has changed */
void page_written(uintptr_t page);
void pages_forget(uintptr_t address, size_t bytes);

/* frames.c */
bool frames_init(struct thread *t); /* false: no memory */
void frames_enter(struct thread *t, uintptr_t site, uintptr_t stack);
void frames_leave(struct thread *t, uintptr_t stack, uintptr_t back, uintptr_t hook); /* return address of the hook, the hook */
void frames_unwind_all(struct thread *t); /* at the thread's end: everything that is active ends, the thread itself too */
void counts_values(const struct counts *c, const double hitm[2], uint64_t *values); /* [COUNTERS], scaled to all accesses */

/* functions.c */
uint32_t function_number(uintptr_t site); /* NONE: not selected */
int functions_select(const char *list);	  /* "name,name" or "@FILE", NULL: all of them; the text must stay. 0, or why not: an errno */

void evaluate_init(void);
void evaluate_append(struct thread *t); /* the window ends: its touches wait in the log */
bool evaluate_now(void);		/* what no thread can touch any more; false: another thread is at it */
void evaluate_all(void);		/* at the end: everything, and threads that have not ended as far as they came */

/* threads.c */
void threads_init(void);
void threads_finish(void);
void threads_lock(void); /* hooks in signal handlers do nothing while it is held */
void threads_unlock(void);
struct thread *thread_at(size_t i); /* [THREADS], NULL: never in use */
uint64_t threads_horizon(void);	    /* no thread can touch an earlier window any more */
/* Is a thread behind that has not been given up; at_work: one that the kernel runs, or is about to? */
bool threads_behind(const struct thread *self, bool at_work);
void threads_give_up(const struct thread *self); /* waiting for those that are behind, until they move */
struct thread *thread_attach(void);		 /* the calling thread, if it can be simulated */
/* Clocks have met: the thread goes on with that window or its own next one, whichever is later; returns which. */
uint64_t thread_advance(struct thread *t, uint64_t window);
void thread_wait_begin(struct thread *t); /* while it waits, its windows are not waited for */
void thread_wait_end(struct thread *t);
void thread_resume(struct thread *t, uint64_t window); /* under the lock: it may go on with that window, or its own later one */

uint64_t window_after(const struct thread *t); /* the first window that is wholly in its future */
void window_begin(struct thread *t, uint64_t window);
void window_close(struct thread *t);			     /* ends what is simulated now; window_begin() follows */
void counts_now(const struct thread *t, struct counts *out); /* of another thread: about so many */

/* meetings.c */
uint64_t meetings_horizon(void); /* under the lock of threads.c: earliest window of a team that not all have entered */
void meetings_fork(void);

#endif

/* The emulated back end: what lives inside a program that was built by `assay emulate build`. The compiler calls it at every access to
 * memory, every basic block, every entry and exit of a function; it simulates caches, a coherence directory and more (docs/emulation.md)
 * and writes samples (runs/inside/record/record.h). Nothing here allocates from the program's heap, prints after the start, or includes
 * another header of this project than those of runs/inside/record.
 *
 *   hooks.c, atomics.c, annotations.c   what the compiler calls
 *   wrap_*.c, wrapped.h, openmp.c       what the program calls in libraries
 *   threads.c, thread.c, meetings.c     threads and how clocks pass between them
 *   window.c                            logical time, which windows are simulated
 *   simulate.c                          what happens in a simulated window
 *   frames.c, functions.c               invocations of functions, their names
 *   evaluate.c, settle.c                potential HITM from the windows of all threads, samples
 *   events.c                            exact counters for PAPI
 *   runtime.c                           start, options, end
 */
#ifndef RUNS_EMULATE_EMULATE_H
#define RUNS_EMULATE_EMULATE_H

#include "runs/inside/record/record_writer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT       __attribute__((visibility("default")))
#define LIKELY(x)    __builtin_expect(!!(x), 1)
#define UNLIKELY(x)  __builtin_expect(!!(x), 0)

#define LINE_BITS        6
#define PAGE_BITS        12
#define ADDRESS_BITS     47
#define WINDOW_ACCESSES  1024u   /* of logical time: with more, threads meet that never do */
#define WAYS             8u
#define L1_SETS          64u     /* 32 KiB */
#define L2_SETS          1024u   /* 512 KiB */
#define TLB_SETS         8u      /* 64 entries */
#define STLB_SETS        128u    /* 1024 entries */
#define PREDICTIONS      8192u
#define TOUCHES          4096u   /* of one window; an access makes two at most */
#define RECENT           32u
#define BLOCKS_GRANTED   (INT64_C(1) << 62)
#define FRAMES           (1u << 18)
#define INVOCATIONS      1024u   /* of a thread that wait for their windows to be evaluated */
#define CALLEES          16384u  /* functions that one thread calls */
#define THREADS          256u    /* at a time; more are not simulated, and counted */
#define NONE             UINT32_MAX

/* What is counted, in the order of the samples' values. Exact ones count always; simulated ones in simulated windows, for all. */
#define COUNTER_ROWS(X)                                                                                                                  \
	X(ACCESSES, "emulated:accesses")               /* reads and writes of memory, exact as all up to COPIED_BYTES */                 \
	X(BLOCKS, "emulated:blocks")                   /* basic blocks */                                                                \
	X(ATOMICS, "emulated:atomics")                 /* atomic accesses, among the accesses */                                         \
	X(SYSTEM_CALLS, "emulated:system_calls")       /* calls of the C library's functions that are one */                             \
	X(ALLOCATIONS, "emulated:allocations")                                                                                           \
	X(ALLOCATED_BYTES, "emulated:allocated_bytes")                                                                                   \
	X(COPIED_BYTES, "emulated:copied_bytes")       /* that mem* and str* functions wrote */                                          \
	X(SIMULATED, "emulated:simulated")             /* accesses in simulated windows: what the following rest on */                   \
	X(HITM_TRUE, "emulated:hitm_true_milli")       /* potential HITM by true sharing, thousandths */                                 \
	X(HITM_FALSE, "emulated:hitm_false_milli")     /* by false sharing */                                                            \
	X(HITM_SEEN, "emulated:hitm_seen")             /* in the directory, as threads happened to run */                                \
	X(L1_MISSES, "emulated:l1_misses")                                                                                               \
	X(L2_MISSES, "emulated:l2_misses")                                                                                               \
	X(REMOTE, "emulated:remote")                   /* L2 misses on a page that another node wrote first */                           \
	X(TLB_MISSES, "emulated:tlb_misses")           /* of the second level */                                                         \
	X(BRANCH_MISSES, "emulated:branch_misses")     /* basic blocks that followed unexpectedly */

#define COUNTER_ENUM(symbol, name) COUNT_##symbol,
enum counter { COUNTER_ROWS(COUNTER_ENUM) COUNTERS };
#undef COUNTER_ENUM

/* What a thread has counted so far. Simulated events weigh as many windows as theirs stands for. */
struct counts {
	uint64_t exact[COUNT_SIMULATED + 1];
	uint64_t weighed[COUNTERS]; /* [COUNT_HITM_SEEN...] events; [COUNT_ACCESSES], [COUNT_BLOCKS] what they are relative to */
};

/* One function's run in one thread, while it is active and until all windows that it took part in are evaluated. The first one of a
 * thread stands for the thread. */
struct invocation {
	uint32_t function, weight;
	uint64_t ordinal, start, duration;
	uint32_t depth, flags;
	uint32_t threads;          /* alive when it ended */
	uint32_t parent;           /* what it is part of */
	bool keep;                 /* becomes a sample */
	uint64_t last_window;      /* in which it was active */
	struct counts counts;      /* at its start, then what it counted */
	double hitm[2];            /* potential, weighed: true, false */
};

/* A function that is active. */
struct frame {
	uintptr_t stack;           /* where: deeper is lower */
	uint32_t invocation;       /* that accesses belonged to before it */
	uint32_t block;            /* that called it */
	uint32_t callee;           /* NONE: not selected */
	bool sampled;
};

/* What a thread knows of a function that it calls. */
struct callee {
	uintptr_t site;            /* return address of __tsan_func_entry() in it; 0: free */
	uint32_t function;         /* NONE: not selected */
	uint32_t step;             /* one call of so many is sampled */
	uint32_t sampled;          /* since the step was last changed */
	bool large;                /* so many accesses that it meets simulated windows wherever it begins */
	uint64_t ordinal, next;    /* of the next call, of the next one that is sampled */
	uint64_t accounted;        /* calls for which samples stand */
};

/* A line that one invocation touched in one window; or, with n_touches, the window that so many of them follow. */
struct touch {
	union {
		uint64_t line, window;
	};
	union {
		uint32_t invocation, n_touches;
	};
	uint32_t stamp;            /* of the window; of a window: its weight */
	uint16_t n[2], words[2];   /* reads and writes: how often; which of 16 words of 4 bytes */
};

/* A line that was read, or written, a moment ago in the same window by the same invocation: it is in the first cache, and nothing else
 * is new about it. */
struct recent {
	uint64_t key;              /* line << 1 | write, + 2; 0: none */
	struct touch *touch;
};

/* Between one writer and one reader. */
struct queue {
	uint64_t head, tail;       /* read up to, written up to; never wrap */
};

enum thread_state {
	THREAD_FREE,
	THREAD_LIVE,
	THREAD_WAITING,            /* at a barrier or for another's end: it will go on no earlier than those that it waits for */
	THREAD_ENDED,              /* its windows are still to be evaluated */
};

struct thread {
	/* Owned by threads.c, changed under its lock. */
	uint32_t state, number;    /* in the order of creation */
	uint64_t resume;           /* window with which it begins or goes on */
	struct thread *joiner;     /* goes on when this one has ended */
	pthread_t handle;
	bool has_handle;
	size_t stack_bytes;
	void *(*start)(void *);    /* wrap_threads.c */
	int (*start_c11)(void *);
	void *argument;
	uint32_t rounds;           /* of destructors at its end */
	uint32_t id;               /* of the kernel; 0: not begun */
	bool pauses;               /* until others have caught up */
	const struct hot *hot;     /* its thread-local storage, while it lives */
	const uint64_t *system_calls;

	/* Logical time (window.c). */
	uint64_t window;           /* simulated now, or the next one that will be */
	uint64_t at;               /* the earliest one that can still get touches: read by others */
	uint64_t stalled_at;       /* value of `at` with which others no longer wait for it, + 1 */
	uint64_t granted;          /* accesses that were skipped, hot.left of them are still to come */
	uint32_t window_left, weight, stamp;
	bool records;              /* touches of this window: there are other threads */

	/* Functions (frames.c). */
	uintptr_t stack_low, stack_high;
	uint32_t n_frames, lost_frames, depth, invocation;
	struct frame *frames;
	struct callee *callees;
	struct invocation *invocations;
	uint32_t *free_ones, *ended_ones; /* [INVOCATIONS] numbers of invocations */
	struct queue free_queue, ended_queue;
	uint32_t n_callees;

	/* What is simulated (simulate.c). */
	struct counts counts;
	struct recent recent[RECENT];
	struct touch ignored;      /* of windows in which nobody else can be */
	uint32_t block, history;   /* last basic block, and the path to it */
	uint32_t n_touches;
	uint32_t (*l1)[WAYS], (*l2)[WAYS], (*tlb)[WAYS], (*stlb)[WAYS];
	struct prediction *predictions;
	struct touch *touches;     /* [TOUCHES], by hash */
	uint32_t *touched;         /* [TOUCHES] in the order of the first touch */

	/* Windows to evaluate (evaluate.c). */
	struct touch *log;
	uint64_t log_mask;         /* its length - 1 */
	struct queue log_queue;
	struct record_thread record;
};

struct prediction {
	uint32_t block, trust;
};

/* What the hooks need first, in initial-exec thread-local storage. */
struct hot {
	int64_t left;              /* accesses until the thread has to look up; 0 while it simulates */
	uint64_t written_page;
	int64_t blocks_left;       /* the same of basic blocks, from BLOCKS_GRANTED down while it skips */
	uint64_t allocations, allocated_bytes, copied_bytes, atomics;
	struct thread *thread;     /* NULL: not known (yet), or not simulated */
	uint32_t simulating;
	uint32_t busy;             /* inside: hooks of signal handlers and of what is called from here do nothing */
};
extern __thread struct hot hot;
extern __thread uint64_t system_calls;

struct runtime {
	struct record_writer writer;
	uint8_t *owners;           /* of pages: node + 1 */
	uint64_t *directory;
	uint32_t nodes, alive;     /* alive: threads */
	bool on, full;             /* full: every window is simulated */
	uint32_t not_simulated;    /* threads */
	uint64_t forced, dropped;  /* windows evaluated before all threads had come to them, touches dropped */
	double hitm[2];            /* of threads that have ended */
	struct counts counts;
};
extern struct runtime runtime;

/* A lock that is held for a short time and never by a thread that is interrupted by itself (hot.busy). */
struct spin {
	uint32_t held;
};
bool spin_try(struct spin *s);
void spin_take(struct spin *s);
void spin_release(struct spin *s);

/* runtime.c. Zeroed memory, not from the heap; NULL when there is none. */
void *pages_take(size_t bytes);
void pages_give(void *at, size_t bytes);
void runtime_start(void);
void runtime_finish(void);

/* window.c */
uint64_t window_next_simulated(uint64_t window);
uint32_t window_weight(uint64_t window);
uint64_t window_after(const struct thread *t);  /* the first one that is wholly in its future */
uint64_t window_now(const struct thread *t, uint32_t *used); /* the one that it is in, and how many accesses it made there */
void window_begin(struct thread *t, uint64_t window);
void window_close(struct thread *t);            /* ends what is simulated now: then window_begin() */
uint32_t window_used(const struct thread *t);     /* accesses of the window that is simulated now */
uint64_t window_blocks(const struct thread *t);
uint64_t window_accesses(const struct thread *t); /* of the thread, so far; of another one: about so many */

/* simulate.c. `n` accesses to a line, at words of the mask. */
enum access { ACCESS_READ, ACCESS_WRITE };
void simulate_access(uintptr_t address, size_t bytes, enum access access);
void simulate_range(uintptr_t address, size_t bytes, enum access access);
void simulate_block(uintptr_t pc);
void simulate_anew(struct thread *t);       /* the window or the invocation has changed */
void page_written(uintptr_t page);
void pages_forgotten(uintptr_t address, size_t bytes);

/* frames.c */
bool frames_init(struct thread *t);
void frames_enter(struct thread *t, uintptr_t site, uintptr_t stack);
void frames_leave(struct thread *t, uintptr_t stack, uintptr_t back, uintptr_t hook); /* return address of the hook, the hook */
void frames_unwind_all(struct thread *t);   /* at its end: everything that is active ends, the thread itself too */
void frames_forget(struct thread *t);       /* after fork: what is active began in another process */
void counts_now(const struct thread *t, struct counts *out);
void counts_end(const struct thread *t, struct counts *c); /* from what stood there at the start to the difference */

/* events.c */
void events_register(void);                 /* with PAPI, if the program has it */

/* functions.c. The function's number, or NONE when it is not selected. */
uint32_t function_number(uintptr_t site);
int functions_select(const char *list);     /* "name,name" or "@FILE"; NULL: all of them. The text must stay. 0, or why not: an errno */
void functions_fork(void);                  /* in the child, where numbers stay as they are */

/* wrap_threads.c */
void barriers_fork(void);

/* evaluate.c */
void evaluate_append(struct thread *t);     /* touches of the window that ends */
bool evaluate_now(void);                    /* what no thread can touch any more; false: somebody is at it */
void evaluate_if_due(struct thread *t);     /* now and then */
/* Until there is room for so many touches, and for an invocation: a thread is behind. If it is at work, or waits for a processor, it will
 * come; if not, it is not waited for again until it moves. */
void evaluate_wait(struct thread *t, uint64_t touches);
void evaluate_all(void);                    /* at the end: everything, and threads that have not ended as far as they came */
void evaluate_hold(void);                   /* around fork() */
void evaluate_release(void);
void evaluate_fork(void);

/* settle.c, under the evaluation's lock */
void settle_until(struct thread *t, uint64_t horizon); /* samples whose windows are all before it, in the order in which they ended */
void settle_unfinished(struct thread *t);   /* the thread has not ended: what it counted so far */
void values_of(const struct counts *c, const double hitm[2], uint64_t *values); /* [COUNTERS], for all accesses what was seen in some */

/* threads.c */
struct thread *thread_at(size_t i);         /* [THREADS], NULL: never in use */
void threads_put(size_t i, struct thread *t);
uint64_t threads_earliest(void);            /* under the lock: the horizon */
void threads_ended_with(uint64_t window);   /* under the lock: one has */
uint64_t threads_horizon(void);             /* no thread can touch an earlier window any more */
bool threads_come(const struct thread *self);    /* one that is behind is at work, or wants to be */
void threads_give_up(const struct thread *self); /* waiting for those that are behind, until they move */
bool threads_meet_in(uint64_t window);      /* other threads than the calling one may touch something in it */
void threads_hold(void);                    /* the lock; around fork(), too */
void threads_release(void);
void threads_fork(void);

/* thread.c */
void thread_init(void);                     /* of the first one */
void thread_finish(void);
void thread_fork(void);
struct thread *thread_attach(void);         /* the calling thread, if it can be simulated */
struct thread *thread_create_begin(size_t stack_bytes); /* NULL: it will not be simulated; 0 bytes: the default */
void thread_create_failed(struct thread *t);
void thread_known(struct thread *t, uint32_t number, pthread_t handle);
void thread_created(struct thread *t);      /* in the new thread */
bool thread_join_begin(pthread_t handle);   /* false: no end */
void thread_join_end(pthread_t handle, bool joined);

/* What was begun before clocks met is over: the thread goes on with that window, or the next one of its own; which it is, is the result. */
uint64_t thread_advance(struct thread *t, uint64_t window);
void thread_wait_begin(struct thread *t);   /* while it waits, it keeps nobody from being evaluated */
void thread_wait_end(struct thread *t);
void thread_release(struct thread *t, uint64_t window); /* under the lock: it may go on with that window, or its own later one */

/* meetings.c */
uint64_t teams_horizon(void);
void teams_fork(void);

/* A place where threads wait for each other, and go on with the latest one's clock. */
struct meeting {
	uint64_t window;
	uint32_t n;
	struct thread *waiting[THREADS];
};
bool meeting_arrive(struct meeting *m, uint32_t count); /* before the calling thread waits; count: how many meet; false: do not leave */
void meeting_leave(struct meeting *m);                  /* after */

/* Threads of a pool that work together for a while: they begin with the master's clock, the master goes on with their latest. */
struct team {
	struct thread *master;
	uint64_t begin, end;       /* windows */
	uint32_t size, started;    /* size 0: not known yet */
	struct team *next;         /* of those that not all have started: nobody may be ahead of them */
	struct meeting meeting;
};
void team_open(struct team *team);                      /* by the master */
void team_enter(struct team *team, uint32_t size);      /* by each, the master too */
void team_leave(struct team *team);
void team_close(struct team *team);

#endif

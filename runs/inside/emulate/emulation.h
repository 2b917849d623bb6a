/* The emulated back end: a library that `assay build --for counters` links into programs. The compiler inserts calls of its hooks at every
 * memory access, every basic block, and every function entry and exit. The library simulates caches, a coherence directory and more
 * (docs/emulation.md) and writes samples (runs/inside/record/record.h). It allocates no memory from the program's heap and prints only at
 * the start. Of the project's other headers, it includes only those of runs/inside/record.
 *
 * - hooks.c: atomic operations, for which the compiler also inserts calls; functions that programs may call themselves
 * - wrap*.c, wrapped.h: functions of the C library that the program calls
 * - threads.c: life of threads; exchange of clocks between threads, also at barriers and in OpenMP
 * - waiting.c: loops around sched_yield() or atomic operations that only wait and do not count as work
 * - simulate.c: simulated windows; numbers of basic blocks; pages and their nodes; start and end of memory blocks; hooks for accesses and
 *   basic blocks
 * - windows.c: logical time; choice of simulated windows; potential HITM, evaluated per window; output of samples and totals
 * - frames.c: function calls: active calls, the owner of each event, the choice of samples
 * - emulate_functions.c: names of functions
 * - runtime.c: start, options, end of the emulation
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

#define LINE_BITS	      6
#define PAGE_BITS	      12
#define ADDRESS_BITS	      47
#define NEIGHBOUR_BITS	      3
#define CACHE_WAYS	      8u /* number of entries in each set of a cache or TLB */
#define PATH_BLOCKS	      8u /* number of blocks in the path that predicts the next block */
#define RECENT_ENTRIES	      32u
#define BLOCKS_GRANTED	      (INT64_C(1) << 62) /* basic blocks granted while windows are skipped: more than a program can execute */
#define WINDOW_ACCESSES	      1024u /* number of accesses in a window; in a longer one, threads would seem to meet that never do */
#define WINDOWS_PER_SIMULATED 16u   /* in long runs, one window in 16 is simulated and has weight 16 */
#define GROUP_WINDOWS	      128u /* number of windows in a group; in long runs, one burst of consecutive windows per group is simulated */
#define EMULATED_THREADS_MAX                                                                                                               \
	256u		      /* maximum number of threads that are simulated at a time; further threads are reported as not simulated */
#define INVOCATIONS_MAX 1024u /* maximum number of a thread's invocations that are active or have windows to be evaluated */
#define NONE		UINT32_MAX

#define GRANULES_PER_LINE 4u /* number of 16-byte granules in a line; two memory blocks never share a granule */
#define GAP_KINDS	  7u /* number of kinds of gaps, which are distances between two accesses of a thread to one line */
#define DENOMINATORS	  2u /* number of denominators of rates: accesses, and basic blocks */
#define SPREAD_COUNTERS	  (COUNTERS - COUNT_HITM_SEEN)

/* Defines real_NAME(), which returns the library's function NAME. The emulation has its own function of that name. Requires dlfcn.h. */
#define REAL(name)                                                                                                                         \
	static __typeof__(name) *real_##name(void)                                                                                         \
	{                                                                                                                                  \
		static void *found;                                                                                                        \
                                                                                                                                           \
		if (!__atomic_load_n(&found, __ATOMIC_RELAXED))                                                                            \
			__atomic_store_n(&found, dlsym(RTLD_NEXT, #name), __ATOMIC_RELAXED);                                               \
		return (__typeof__(name) *)(uintptr_t)found;                                                                               \
	}

/* The counters, in the order of a sample's values. Exact counters count in all windows. Simulated counters count only in simulated windows,
 * and their values are scaled to all windows. */
#define COUNTER_ROWS(X)                                                                                                                    \
	X(ACCESSES, "emulated:accesses")	 /* memory reads and writes; exact, like all rows up to WAITED */                          \
	X(BLOCKS, "emulated:blocks")		 /* basic blocks */                                                                        \
	X(ATOMICS, "emulated:atomics")		 /* atomic accesses, also counted in ACCESSES */                                           \
	X(SYSTEM_CALLS, "emulated:system_calls") /* calls of C library functions that make one system call each */                         \
	X(ALLOCATIONS, "emulated:allocations")                                                                                             \
	X(ALLOCATED_BYTES, "emulated:allocated_bytes")                                                                                     \
	X(COPIED_BYTES, "emulated:copied_bytes")   /* bytes written by mem* and str* functions */                                          \
	X(WAITED, "emulated:waited")		   /* accesses and blocks in waiting loops, which no other counter includes */             \
	X(SIMULATED, "emulated:simulated")	   /* accesses in simulated windows; the rows below are scaled from these windows */       \
	X(HITM_TRUE, "emulated:hitm_true_milli")   /* potential hits on modified lines (HITM) by true sharing, in thousandths */           \
	X(HITM_FALSE, "emulated:hitm_false_milli") /* potential HITM by false sharing, in thousandths */                                   \
	X(HITM_SEEN, "emulated:hitm_seen")	   /* HITM events in the directory; their number depends on the actual order of threads */ \
	X(L1_MISSES, "emulated:l1_misses")                                                                                                 \
	X(L2_MISSES, "emulated:l2_misses")                                                                                                 \
	X(REMOTE, "emulated:remote")		   /* L2 misses on pages that a thread of another node wrote first */                      \
	X(TLB_MISSES, "emulated:tlb_misses")	   /* misses of the second-level TLB */                                                    \
	X(BRANCH_MISSES, "emulated:branch_misses") /* basic blocks that the simulated branch predictor did not expect */

#define COUNTER_ENUM(symbol, name) COUNT_##symbol,
enum counter { COUNTER_ROWS(COUNTER_ENUM) COUNTERS };
#undef COUNTER_ENUM

/* Slots of counts.weighed[] that no event uses. Each level of caches and TLBs has two: uncertain hits, then uncertain misses. An uncertain
 * hit would perhaps be a miss if skipped windows were simulated, and an uncertain miss a hit. */
enum uncertain_slot {
	UNKNOWN_L1 = COUNT_ATOMICS,
	UNKNOWN_L2 = UNKNOWN_L1 + 2,
	UNKNOWN_TLB = UNKNOWN_L2 + 2,
	UNKNOWN_STLB = UNKNOWN_TLB + 2
};

/* Counts of a thread so far. An event in a simulated window counts with the window's weight: the number of windows that it represents. */
struct counts {
	uint64_t exact[COUNT_SIMULATED + 1];
	uint64_t weighed[COUNTERS]; /* [COUNT_HITM_SEEN...]: events; [COUNT_ACCESSES], [COUNT_BLOCKS]: denominators of the events' rates */
};
_Static_assert(UNKNOWN_STLB + 2 <= (int)COUNT_HITM_SEEN, "slots of enum unknown are unused");

/* One call of a function in one thread. The entry is kept until all windows in which the call was active are evaluated. A thread's first
 * invocation represents the whole thread. */
struct invocation {
	uint32_t function, weight;
	uint64_t ordinal, start, duration;
	uint32_t depth, flags;
	uint32_t threads;     /* number of live threads when the call ended */
	uint32_t parent;      /* sampled invocation around this one; NONE for the thread's first invocation */
	uint32_t caller;      /* number of the selected function that made the call; NONE if there is none */
	uint64_t last_window; /* last window in which the call was active */
	struct counts counts; /* while the call is active: the thread's counts at its start; later: counts of the call */
	double hitm[2];	      /* weighted potential HITM by true sharing, and by false sharing */
};

/* The accesses of one invocation to one line in one window. A visit is a group of accesses close together. In a log, a touch may instead be
 * a header with a window and the number of touches that follow. */
struct touch {
	union {
		uint64_t line, window;
	};
	union {
		uint32_t invocation, n_touches;
	};
	uint32_t owner;		    /* callee to which the accesses are attributed (frames.c) */
	uint32_t stamp;		    /* stamp of the window; in a log header, weight of the window */
	uint16_t first, last;	    /* values of window_left at the first and at the last access to the line */
	uint64_t lives;		    /* lives of the line's granules (simulate.c) */
	uint16_t n[2], words[2];    /* [enum access] number of accesses, and bit mask of the 4-byte words touched in ended visits */
	uint16_t gaps[GAP_KINDS];   /* [kind of gap] number of accesses, by the gap since the thread's previous access to the line */
	uint16_t visits, spread[2]; /* number of visits; sums over all visits of the words touched, and of the words written */
	uint16_t now[2];	    /* [enum access] bit mask of the words touched in the current visit */
};
_Static_assert(sizeof(struct touch) == 64, "sizes of logs assume this");

/* Reference to a touch. It is valid only if `stamp` is that of the current window. */
struct touch_index {
	uint32_t stamp, touch;
};

/* Returns the bit mask of the granules that contain the words in the bit mask `words`. */
static inline uint32_t granules_touched(uint32_t words)
{
	uint32_t any = (words | words >> 1 | words >> 2 | words >> 3) & 0x1111; /* lowest bit of each touched granule */

	return (any | any >> 3 | any >> 6 | any >> 9) & 15;
}

static inline uint32_t words_count(uint32_t words)
{
	words -= words >> 1 & 0x5555;
	words = (words & 0x3333) + (words >> 2 & 0x3333);
	return ((words + (words >> 4)) & 0x0f0f) * 0x0101 >> 8 & 31;
}

/* Returns the index in a hash table at which the search for a line starts. Lines in an aligned group of 8 get adjacent indexes. */
static inline uint32_t line_hash(uint64_t line, uint64_t salt)
{
	uint64_t x = ((line >> NEIGHBOUR_BITS) * 0x9e3779b97f4a7c15u ^ salt) * 0xff51afd7ed558ccdu;

	return (uint32_t)(x >> 40) << NEIGHBOUR_BITS | ((uint32_t)line + (uint32_t)(x >> 32)) % (1u << NEIGHBOUR_BITS);
}

/* Last touch of a line in the current window. */
struct latest_touch {
	uint64_t line;
	uint32_t stamp, n_block_changes; /* value of the thread's `n_block_changes` then; if unchanged, the thread has neither allocated nor
					    freed memory since */
	struct touch *touch;
	uint32_t last; /* value of window_left at the last access to the line */
};

/* A line that the same invocation has just read, or written, in the same window. The line is in the first-level cache. So another access of
 * the same kind changes only the touch. */
struct recent_access {
	uint64_t key; /* result of recent_key() in simulate.c; 0 if the entry is empty */
	struct touch *touch;
	struct latest_touch *latest_touch;
};

/* Positions in a ring buffer that has one writer and one reader. */
struct queue {
	uint64_t head, tail; /* position of the next read, and of the next write; positions never wrap */
};

static inline bool queue_is_empty(const struct queue *q)
{
	return __atomic_load_n(&q->head, __ATOMIC_ACQUIRE) == __atomic_load_n(&q->tail, __ATOMIC_ACQUIRE);
}

#define WAITING_PLACES	64u
#define WAITING_LOOPS	4u
#define WAITING_CALLEES 8u
#define WAITING_LOOKS	8u

/* A waiting loop, identified by the site of its sched_yield() call or atomic operation. A look is one iteration of the loop. A look fails
 * if the loop goes on after it. The struct keeps counts of the last failed look, and the calls of each callee in it. */
struct waiting_loop {
	uintptr_t site;
	bool polls; /* true if the loop has no sched_yield() */
	uint32_t n_failed_waits,
	    skipped;	       /* polling loop: number of consecutive waits that turned out to be work, and iterations since then */
	bool failed;	       /* true after the first failed look, from which usual and usual_calls are known */
	uint32_t n_owed_polls; /* number of successful waits before any known failed look; in each, a first failed look was counted, too */
	uint64_t usual[COUNT_SIMULATED];
	uint32_t callees[WAITING_CALLEES], usual_calls[WAITING_CALLEES], n;
	uint64_t calls; /* sum of the calls of these callees when the loop last ended */
};

/* The value that an atomic operation at `site` found at address `at`, and the value of hot.changes at that time. */
struct atomic_read {
	uintptr_t site, at;
	uint64_t value, changes;
};

/* State of a waiting thread (waiting.c): saved fields of `hot`, and the counts of the current look. */
struct waiting {
	int64_t left, blocks_left;
	uint64_t library;
	uint64_t held[COUNT_SIMULATED - COUNT_ATOMICS];
	uint64_t look[COUNT_SIMULATED], counts_to_subtract[COUNT_SIMULATED],
	    waited;			  /* counts of the look; counts to subtract; accesses and blocks of failed looks */
	uint64_t failed[COUNT_SIMULATED]; /* sums over all failed looks of this wait */
	uint32_t calls[WAITING_CALLEES], failed_calls[WAITING_CALLEES];
	struct atomic_read polled_values[WAITING_LOOKS]; /* hash table, by site */
	bool counts_first_poll;				 /* true if the first, failed look is counted instead of the successful one */
	bool is_learning_callee;   /* true if a callee of the loop has just become known, but not yet the addresses that it reads */
	bool seen;		   /* true if another thread has changed the polled value, or a waiting call followed */
	bool interrupted;	   /* true while a signal handler runs; the struct does not change until the handler ends */
	uint64_t changes;	   /* value of hot.changes when the handler started */
	uint32_t lowest, n_failed; /* minimum number of active frames during the first look; number of failed looks */
	uint32_t owner;		   /* the thread's owner when the wait started */
	struct waiting_loop loops[WAITING_LOOPS], *loop;
	uint32_t n_loops, resumed_callee; /* number of loops added so far; callee whose call ended the last wait, 0 if none */
	uint64_t resumed_at_block;	  /* number of basic blocks counted when that call started */
	uint64_t resumed_calls;		  /* number of calls of that callee before that call */
	uintptr_t places[WAITING_PLACES]; /* ring buffer of addresses accessed while waiting */
	uint32_t n_places, bytes;	  /* number of addresses recorded so far; size of the last write, bytes, 0 if none */
	uintptr_t written;		  /* address of the last write; `value` is the value before that write */
	uint64_t value;
};

enum thread_state {
	THREAD_FREE,
	THREAD_LIVE,
	THREAD_WAITING, /* waits at a barrier or for the end of a thread; resumes no earlier than the threads it waits for */
	THREAD_ENDED,	/* has ended, but some of its windows are not evaluated yet */
};

struct thread {
	/* Fields of threads.c, changed under threads_lock(). */
	uint32_t state, number; /* `number`: position in the order of creation, from 0 */
	uint64_t resume;	/* window in which the thread starts or resumes */
	struct thread *joiner;	/* thread that resumes when this thread has ended; NULL if none */
	pthread_t handle;
	bool has_handle;
	size_t stack_bytes;
	void *(*start)(void *);	  /* start function passed to pthread_create() */
	int (*start_c11)(void *); /* start function passed to thrd_create() */
	void *argument;
	uint32_t rounds;       /* number of rounds of destructors that were run at the end of the thread */
	uint32_t id;	       /* the kernel's thread id; 0 until the thread starts */
	bool is_paused;	       /* true while the thread waits until slower threads catch up */
	bool waits;	       /* true while the thread waits for another thread (waiting.c); read by other threads */
	const struct hot *hot; /* the thread's `hot`, in its thread-local storage; valid while the thread lives */
	const uint64_t *system_calls;

	/* Logical time (windows.c). */
	uint64_t window;     /* window that is being simulated, or else the next one to be simulated */
	uint64_t at;	     /* earliest window that this thread can still touch; read by other threads */
	uint64_t stalled_at; /* 1 + value of `at` at which other threads stopped waiting for this thread */
	uint64_t granted;    /* number of granted accesses; window_left of them remain in a window, hot.left in a skipped stretch */
	int64_t blocks_granted;
	int32_t window_left; /* accesses left in the window; 0 while windows are skipped; negative for a moment after the window's end */
	uint32_t weight, stamp;
	uint64_t window_blocks; /* number of basic blocks counted when the window started */
	bool records;		/* true if touches of this window are kept, because other threads may be in the same window */

	/* Functions (frames.c). */
	uintptr_t stack_low, stack_high;
	uint32_t n_frames, n_lost_frames, depth, invocation;
	struct frame *frames;
	struct invocation *invocations;
	uint32_t *free_invocations, *ended_invocations; /* indexes of free invocations, and of ended invocations */
	struct queue free_queue, ended_queue;

	/* Events by function (frames.c). */
	struct place *places;
	struct callee *callees;
	uint32_t n_callees, owner;  /* `owner`: callee to which the next events are attributed; 0 if no selected function is active */
	uint32_t changing;	    /* callee whose call is just starting or ending; 0 if none */
	uint32_t samples;	    /* number of calls chosen as samples so far */
	struct counts counts_added; /* counts that have been added to callees */
	uint64_t rare_counts_added; /* result of rare_number() when the rare counts were last added */
	uint32_t events_added;	    /* value of `events` when the simulated counts were last added */
	uint32_t changes;	    /* number of changes of `counts_added` in counters other than accesses and blocks */
	uint32_t burst;		    /* latest burst of simulated windows that also represent skipped ones; 0 if none */

	/* Simulation (simulate.c). */
	struct counts counts;
	uint32_t events; /* number of changes of simulated counters */
	struct recent_access recent[RECENT_ENTRIES];
	struct touch ignored;			/* touch for accesses that are not recorded */
	struct latest_touch ignored_index;	/* entry of `latest_touch` that refers to `ignored` */
	uint32_t block, path;			/* last basic block, and hash of the last PATH_BLOCKS blocks, also across functions */
	uint32_t blocks[PATH_BLOCKS], n_blocks; /* ring buffer of the last PATH_BLOCKS blocks; number of blocks added so far */
	uintptr_t ring_block; /* address of the only block in the ring, 0 if it has several; repeating this block changes nothing */
	uint32_t turn_block,
	    block_repetitions; /* number of the block at `ring_block`, and of its consecutive repetitions with full trust */
	uint32_t n_touches;
	uint32_t (*sets)[CACHE_WAYS]; /* sets of all caches and TLBs */
	uint8_t *used_entries;	      /* [set] number of entries used since the burst started */
	uint32_t used_burst;	      /* burst for which `used_entries` is valid */
	struct prediction *predictions;
	struct touch *touches;		   /* [n_touches] touches of this window, in the order of first access */
	struct latest_touch *latest_touch; /* hash table by line of each line's last touch */
	uint32_t n_block_changes;	   /* number of memory blocks that this thread has allocated or freed */
	struct touch_index *touch_indexes; /* hash table by line, invocation and owner of indexes of touches */

	struct waiting waiting;

	/* Windows that are not evaluated yet (windows.c). */
	struct touch *log;
	uint64_t log_mask; /* number of touches that the log can hold, minus 1 */
	struct queue log_queue;
	struct record_thread record;
};

/* Fields that hooks need first, in thread-local storage (initial-exec). */
struct hot {
	uint64_t library; /* number of basic blocks for work of the C library (wrap_calls.c) that are not yet added to the other blocks */
	int64_t left;	  /* number of accesses until the next check; at most 0, and not a count, while simulating */
	uint64_t written_page;
	int64_t blocks_left; /* number of blocks until the next check; starts at BLOCKS_GRANTED in skipped windows, otherwise at 0 */
	uint64_t allocations, allocated_bytes, copied_bytes, atomics, waited, changes;
	struct thread *thread; /* NULL if not known yet, or if the thread is not simulated */
	uint32_t simulating;
	uint32_t waits; /* 1 while the thread waits, so that nothing counts (waiting.c); implies thread != NULL */
	uint64_t busy;	/* depth * BUSY_ONCE + stack address of the emulation's own work, during which hooks do nothing; 0 if none */
};
extern __thread struct hot hot;

/* Decrements `*left` and reports whether the result is negative. The decrement is a single instruction. With several, a signal handler
 * could run between the read and the write, and the write would undo the handler's change of `*left`. */
static inline bool count_down(int64_t *left)
{
	bool below;

	__asm__ volatile("subq $1, %1" : "=@ccs"(below), "+m"(*left));
	return below;
}

#define BUSY_ONCE   (UINT64_C(1) << 48)
#define BUSY_ALWAYS (BUSY_ONCE - 1) /* replaces the stack address for work that no jump can leave, so that it always reaches busy_end() */

#define BUSY_FOREVER (BUSY_ONCE << 12 | BUSY_ALWAYS)

/* Marks the start of the emulation's own work, until busy_end(). `at` is its stack address: a signal handler may jump out of the work.
 * hot.busy is written only once. Between two writes, a handler could leave a lower address, and the next hook would abandon this work. */
static inline void busy_begin(uint64_t at)
{
	uint64_t busy = __atomic_load_n(&hot.busy, __ATOMIC_RELAXED);

	__atomic_store_n(&hot.busy, busy ? busy + BUSY_ONCE : BUSY_ONCE | at, __ATOMIC_RELAXED);
	__asm__ volatile("" ::: "memory");
}
#define BUSY_BEGIN() busy_begin((uintptr_t)__builtin_frame_address(0))

static inline uintptr_t busy_stack_address(void)
{
	return hot.busy & BUSY_ALWAYS;
}

/* Ends the emulation's own work. Does nothing if a hook has ended the work already, because it seemed abandoned. */
static inline void busy_end(void)
{
	uint64_t busy = __atomic_load_n(&hot.busy, __ATOMIC_RELAXED);

	__asm__ volatile("" ::: "memory");
	__atomic_store_n(&hot.busy, busy < 2 * BUSY_ONCE ? 0 : busy - BUSY_ONCE, __ATOMIC_RELAXED);
}
extern __thread uint64_t system_calls;

/* Returns a thread's number of basic blocks; counts_read_accesses() that of accesses. `of` is its `hot`. Exact only for the calling thread.
 */
static inline uint64_t counts_read_blocks(const struct thread *t, const struct hot *of)
{
	return t->counts.exact[COUNT_BLOCKS] + (uint64_t)(t->blocks_granted - of->blocks_left) + of->library;
}

static inline uint64_t counts_read_accesses(const struct thread *t, const struct hot *of)
{
	return t->counts.exact[COUNT_ACCESSES] + t->granted - (of->simulating ? 0 : (uint64_t)of->left) - (uint64_t)(int64_t)t->window_left;
}

struct runtime {
	struct record_writer writer;
	uint8_t *owners; /* [page] 1 + node of the first write; 0 if the page was never written */
	uint64_t *directory;
	uint32_t nodes, alive;	  /* number of nodes; number of live threads */
	bool is_active, full;	  /* the emulation is on; every window is simulated */
	bool is_multithreaded;	  /* true once a second thread has been created */
	uint64_t shared_bytes;	  /* size of mappings that are writable and shared with other processes, bytes */
	uint32_t not_simulated;	  /* number of threads that are not simulated */
	uint64_t forced, dropped; /* number of evaluations that did not wait for slow threads, and of dropped touches */
	double hitm[2],
	    other_hitm[2]; /* [true, false sharing] potential HITM of ended threads; potential HITM outside selected functions */
	struct counts counts, rest;
	uint64_t last_end; /* last window in which a thread ended */
	struct thread *threads[EMULATED_THREADS_MAX];
};
extern struct runtime runtime;

/* Returns the thread in slot i < EMULATED_THREADS_MAX; NULL if the slot was never used. */
static inline struct thread *thread_at(size_t i)
{
	return __atomic_load_n(&runtime.threads[i], __ATOMIC_ACQUIRE);
}

/* Functions of runtime.c. pages_map() returns zeroed memory that is not from the heap, or NULL if there is none. */
void *pages_map(size_t bytes);
void runtime_finish(void);

/* Functions of simulate.c. */
enum access { ACCESS_READ, ACCESS_WRITE };
bool simulate_init(struct thread *t); /* returns false if memory is exhausted */
/* Simulates an atomic access that hot.left already counts. `elsewhere`: a write to another page than the last write, not yet counted. */
void simulate_atomic(uintptr_t address, size_t bytes, enum access access, bool elsewhere);
void simulate_range(uintptr_t address, size_t bytes, enum access access);
void simulate_clear_recent(struct thread *t); /* clears the recent lines, because the window or the invocation has changed */
void touch_end_visit(struct touch *touch);    /* ends the current visit */

/* Functions of simulate.c: start and end of memory blocks. */
void memory_record_boundary(uintptr_t address, size_t bytes); /* records that a memory block starts or ends here */

/* Functions of emulate_functions.c. */
struct function {
	uint32_t number; /* NONE if the function is not selected */
	bool library;	 /* result of record_is_library() */
};
struct function function_find_at(uintptr_t site);
/* Address range of a function's code, and a hash of its name. Without a symbol, the range is empty and lies at the module's base. */
struct code {
	uintptr_t start, end;
	uint64_t name;
};
struct code function_find_code(uintptr_t pc);
int functions_select(const char *list); /* list: "name,name", "@FILE", or NULL for all; must stay valid. Returns 0 or an errno */

/* Sampling of calls, separate for calls that start in simulated windows. A hash chooses one sample among each `step` calls. */
struct stratum {
	uint64_t seen, next, begin; /* number of calls so far; ordinal of the next sample; first call of the current step */
	uint32_t step, sampled;	    /* number of calls per sample; number of samples since `step` last changed */
};

/* Variation of simulated counters between bursts: sums of squared counts, and of counts times accesses or blocks (`base`). */
struct spread {
	uint32_t bursts, burst; /* number of ended bursts; active burst, 0 if none */
	double square[SPREAD_COUNTERS], product[SPREAD_COUNTERS], base[DENOMINATORS];
	uint64_t begun[SPREAD_COUNTERS], base_begun[DENOMINATORS]; /* values of counts.weighed[] when the active burst started */
};

/* Counts of a function and of all functions that it called, summed over its calls. For accesses and blocks, the sum is the end minus the
 * start of each call; the ends of active calls are missing. For other counters, it is their growth times the number of active calls. */
struct callee_totals {
	uint32_t active, changes; /* number of active calls; the thread's `changes` when other counters were last added */
	bool lost;		  /* true if a handler jumped away while a call started or ended, so that the sums are unknown */
	uint64_t calls;		  /* number of calls when a burst last ended */
	struct counts sum, seen;  /* counts of all calls so far; counts of the thread when `sum` was last updated */
	struct spread spread;
};

/* Potential HITM of a function (true sharing, false sharing), added when windows are evaluated. */
struct callee_sharing {
	uint32_t bursts, burst;
	double all[2], sum[2], square[2], now[2]; /* total; sum, and sum of squares, over ended bursts; value in the active burst */
};

/* A function that the thread calls. The first entry represents the thread itself. */
struct callee {
	uint64_t calls;
	struct function function;
	uint32_t salt; /* seed of the sampling hash, independent of the program's load address */
	struct stratum strata[2];
	struct counts own; /* counts of the function without those of selected functions that it called */
	struct spread spread;
	struct callee_totals nested;
	struct callee_sharing meetings;
};

/* Functions of frames.c. Callees are numbered per thread, from 1. */
bool frames_init(struct thread *t);	      /* returns false if memory is exhausted */
void frames_unwind_all(struct thread *t);     /* ends all active calls and the thread's first invocation */
void frames_drop_inherited(struct thread *t); /* after fork(): drops invocations that started in the parent */
void callees_add_counts(struct thread *t);    /* adds new counts to the current owner; only for the calling thread */
/* Ends a burst of simulated windows. All counts must have been added to callees. Pass `last` if the thread or the process ends as well. */
void callees_burst_end(struct thread *t, bool last);
/* Computes a callee's counts: `own` without the functions that it called, `callee_totals` (may be NULL) with them. `now`: the thread's
 * counts. */
void callee_sum(struct thread *t, uint32_t callee, const struct counts *now, struct counts *own, struct counts *nested);
void callee_run_as(struct thread *t, uint32_t callee, void (*happens)(struct thread *t)); /* calls happens() as if the callee did so */
void counts_subtract_start(const struct thread *t, struct counts *c); /* replaces `c`, the counts at a start, by the growth since then */

/* Functions of windows.c. */
void threads_lock(void); /* hooks in signal handlers do nothing while the lock is held */
void threads_unlock(void);
uint64_t window_next_simulated(uint64_t window);      /* returns `window` if it is simulated, else the next simulated one */
uint64_t window_first_future(const struct thread *t); /* returns the first window that is wholly in the thread's future */
/* Reports whether the calling thread's window has just started and other threads may touch lines in it. Stores that window in *window. */
bool window_is_shared(const struct thread *t, uint64_t *window);
void window_begin(struct thread *t, uint64_t window);
void window_close(struct thread *t); /* ends the simulated window or skipped stretch; window_begin() must follow */
void counts_snapshot(const struct thread *t, struct counts *out); /* reads a thread's counts; those of other threads are approximate */
void evaluate_init(void);
bool evaluate_windows(void); /* evaluates windows that no thread can touch any more; returns false if another thread is doing so */
void evaluate_wait(struct thread *t, uint64_t touches); /* waits for space in the log for `touches`, and for a free invocation */
/* Evaluates all remaining windows. Writes the current counts of threads that have not ended, and totals. `names` has COUNTERS elements. */
void evaluate_all(const char *const *names);

/* Functions of threads.c. */
void threads_init(void);
void threads_finish(void);
void threads_stop(void);
uint64_t threads_earliest_window(void); /* returns the earliest window that a thread can still touch */
struct thread *thread_attach(void);	/* attaches the calling thread; returns NULL if it cannot be simulated */

/* Functions of waiting.c. The first three return true while the wait continues; otherwise, the access, block or call counts as work. */
bool waiting_continues_in_access(uintptr_t address, size_t bytes, enum access access);
bool waiting_continues_in_block(void);
bool waiting_continues_in_call(struct thread *t, uint32_t callee);
bool waiting_is_interrupted(struct thread *t); /* a signal handler starts; if true, call waiting_resume() at its end */
void waiting_resume(struct thread *t);
void waiting_move_counts(struct thread *t);				  /* moves the counts since the start of the wait into the look */
void waiting_leave_frame(struct thread *t);				  /* a waiting thread has left a function's frame */
void waiting_add_poll(uintptr_t site, uintptr_t address, uint64_t value); /* an atomic operation has found `value` */
void waiting_stop(void);						  /* ends the calling thread's wait, if any */

#endif

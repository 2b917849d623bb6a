/* Threads, from creation to end, and the exchange of their clocks (windows.c). Threads exchange clocks only at creation, end and barriers,
 * and always advance to the next whole window. So ordered accesses never share a window. Locks exchange no clocks, because the order in
 * which threads get a lock is random. pthread_create() and similar functions are replaced for the program and all its libraries, because
 * the C++ and OpenMP libraries create threads. gcc's OpenMP library is wrapped at its entry points; clang's calls the tool interface OMPT,
 * of which only the used parts are declared. OpenMP tasks use the clock of the thread that runs them. */
#include "runs/inside/emulate/emulation.h"

#include <dlfcn.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define ENDED_THREADS_MAX      1024u	  /* maximum number of ended threads whose last window is kept, until other threads join them */
#define STACK_BYTES	       (8u << 20) /* size of a stack that no limit defines */
#define THREAD_BYTES	       0x900u	  /* approximate size of glibc's struct pthread */
#define MAIN_STACK_ABOVE_BYTES (1u << 20) /* size of the first thread's stack above the frame in which the emulation starts */
#define STOP_PAUSE_NS	       100000	  /* pause between two checks whether the other threads have stopped */
#define STOP_TRIES	       1000u
#define STOP_QUIET_TRIES       3u
#define BARRIERS	       1024u /* maximum number of barriers at the same time; threads exchange no clocks at further barriers */

struct ended_thread_record {
	pthread_t handle;
	uint64_t window;
};

/* A point at which threads wait for each other. `window` is the latest clock of the threads that have arrived. */
struct thread_barrier {
	uint64_t window;
	uint32_t n;
	struct thread *waiting[EMULATED_THREADS_MAX];
};

/* Threads of a pool that work together for a time. They start with the master's clock. The master resumes with the team's latest clock. */
struct team {
	struct thread *master;
	uint64_t begin, end;	  /* first window of the team; latest window in which a thread left the team */
	uint32_t size, n_entered; /* number of threads, 0 if not known yet; number of threads that have entered */
	struct team *next;	  /* next element of `teams`; NULL at the end */
	struct thread_barrier thread_barrier;
};

struct barrier {
	const pthread_barrier_t *at;
	uint32_t count;
	struct thread_barrier *thread_barrier;
};

static pthread_key_t at_end;
/* Variables protected by threads_lock(): */
static struct ended_thread_record ended_threads[ENDED_THREADS_MAX];
static uint32_t n_ended_threads, n_created;
static struct team *teams; /* teams that some threads have not entered yet; the windows of these threads are not evaluated */
static struct barrier barriers[BARRIERS];

/* ---- all threads ---- */

/* Returns the earliest window that a thread or a listed team can still touch. The caller holds the lock. */
static uint64_t threads_earliest(void)
{
	uint64_t first = UINT64_MAX;

	for (const struct team *team = teams; team; team = team->next)
		first = team->begin < first ? team->begin : first;
	for (size_t i = 0; i < EMULATED_THREADS_MAX; i++) {
		const struct thread *t = runtime.threads[i];
		uint64_t at;

		if (!t || t->state != THREAD_LIVE)
			continue;
		at = __atomic_load_n(&t->at, __ATOMIC_ACQUIRE);
		if (t->stalled_at != at + 1)
			first = at < first ? at : first;
	}
	return first;
}

uint64_t threads_earliest_window(void)
{
	uint64_t first;

	threads_lock();
	first = threads_earliest();
	threads_unlock();
	return first;
}

/* ---- one thread ---- */

static bool thread_is_evaluated(const struct thread *t)
{
	return t->state == THREAD_ENDED && queue_is_empty(&t->log_queue) && queue_is_empty(&t->ended_queue);
}

/* Resets a thread but keeps its tables. */
static void thread_clear(struct thread *t)
{
	struct thread old = *t;

	*t = (struct thread){
		.frames = old.frames,
		.places = old.places,
		.callees = old.callees,
		.n_callees = old.n_callees,
		.invocations = old.invocations,
		.sets = old.sets,
		.predictions = old.predictions,
		.touches = old.touches,
		.latest_touch = old.latest_touch,
		.log = old.log,
		.log_mask = old.log_mask,
	};
}

/* Returns a new thread that will start with `window`; NULL if there are too many threads. The caller holds the lock. */
static struct thread *thread_new(uint64_t window)
{
	struct thread *t = NULL;
	size_t i;

	for (i = 0; i < EMULATED_THREADS_MAX && thread_at(i) && thread_at(i)->state != THREAD_FREE && !thread_is_evaluated(thread_at(i));
	     i++)
		;
	if (i < EMULATED_THREADS_MAX)
		t = thread_at(i) ? thread_at(i) : pages_map(sizeof(*t));
	if (!t)
		return NULL;
	thread_clear(t);
	if (!simulate_init(t) || !frames_init(t))
		return NULL;
	t->number = n_created++;
	runtime.is_multithreaded = n_created > 1;
	t->resume = window;
	t->at = window_next_simulated(window);
	t->state = THREAD_LIVE;
	__atomic_fetch_add(&runtime.alive, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&runtime.threads[i], t, __ATOMIC_RELEASE);
	return t;
}

static size_t stack_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return STACK_BYTES;
	return limit.rlim_cur;
}

/* Makes the calling thread run as `t`. */
static void thread_enter(struct thread *t, uintptr_t stack_low, uintptr_t stack_high)
{
	t->stack_low = stack_low;
	t->stack_high = stack_high;
	hot = (struct hot){ .thread = t, .busy = BUSY_ONCE | BUSY_ALWAYS, .blocks_left = BLOCKS_GRANTED };
	system_calls = 0;
	t->hot = &hot;
	t->blocks_granted = BLOCKS_GRANTED;
	t->id = (uint32_t)syscall(SYS_gettid);
	t->system_calls = &system_calls;
	pthread_setspecific(at_end, t);
	window_begin(t, t->resume);
	t->invocations[0].start = record_ticks();
	hot.busy = 0;
}

/* Makes a waiting thread live again. It resumes with `window`, or with its own window if that is later. The caller holds the lock. */
static void thread_resume(struct thread *t, uint64_t window)
{
	t->resume = window > t->resume ? window : t->resume;
	__atomic_store_n(&t->at, window_next_simulated(t->resume), __ATOMIC_RELEASE);
	t->state = THREAD_LIVE;
}

/* Records that `joiner` no longer waits for the end of any thread. The caller holds the lock. */
static void clear_join_waits(const struct thread *joiner)
{
	for (size_t i = 0; i < EMULATED_THREADS_MAX; i++) {
		struct thread *t = thread_at(i);

		if (t && t->joiner == joiner)
			t->joiner = NULL;
	}
}

/* Starts new lives in the thread's stack, because stacks are reused, and in the thread-local storage that glibc keeps above the stack. */
static void stack_start_lives(const struct thread *t)
{
	uintptr_t page = 1u << PAGE_BITS, end = ((uintptr_t)pthread_self() + THREAD_BYTES + page - 1) / page * page;

	if (t->stack_bytes)
		memory_record_boundary(end - t->stack_bytes, t->stack_bytes);
}

/* Ends the simulation of the calling thread. */
static void thread_leave(struct thread *t)
{
	uint64_t window;

	waiting_stop();
	busy_begin(BUSY_ALWAYS);
	window = window_first_future(t);
	window_close(t);
	frames_unwind_all(t);
	hot = (struct hot){ .left = INT64_MAX, .blocks_left = BLOCKS_GRANTED };
	stack_start_lives(t);
	threads_lock();
	t->state = THREAD_ENDED;
	if (window > runtime.last_end)
		__atomic_store_n(&runtime.last_end, window, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&runtime.alive, 1, __ATOMIC_RELAXED);
	ended_threads[n_ended_threads++ % ENDED_THREADS_MAX] = (struct ended_thread_record){ pthread_self(), window };
	clear_join_waits(t);
	if (t->joiner)
		thread_resume(t->joiner, window);
	t->joiner = NULL;
	threads_unlock();
	evaluate_windows();
}

/* Ends the thread in the last round of destructors, because destructors of other keys may still run code of the program. */
static void thread_on_end(void *thread)
{
	struct thread *t = thread;

	if (hot.thread != t || !runtime.is_active)
		return;
	if (++t->rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(at_end, t);
	else
		thread_leave(t);
}

/* Attaches the calling thread, which no wrapper created: a library created it, or it existed before the emulation's start. */
struct thread *thread_attach(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	struct thread *t;

	if (!runtime.is_active)
		return NULL;
	threads_lock();
	t = thread_new(n_created == 0 ? 0 : threads_earliest());
	if (!t)
		runtime.not_simulated++;
	threads_unlock();
	if (t)
		thread_enter(t, here - stack_limit(), here + MAIN_STACK_ABOVE_BYTES);
	return t;
}

/* ---- clocks ---- */

/* Ends the thread's window. Starts `window` or, if that is later, the thread's next window. Returns the started window. */
static uint64_t thread_advance(struct thread *t, uint64_t window)
{
	uint64_t own, next;

	waiting_stop();
	own = window_first_future(t);
	next = own > window ? own : window;
	busy_begin(BUSY_ALWAYS);
	window_close(t);
	window_begin(t, next);
	busy_end();
	return next;
}

/* Starts a wait. While it lasts, other threads do not wait for this thread's windows. */
static void thread_wait_begin(struct thread *t)
{
	waiting_stop();
	busy_begin(BUSY_ALWAYS);
	t->resume = window_first_future(t);
	window_close(t);
}

static void thread_wait_end(struct thread *t)
{
	window_begin(t, t->resume);
	busy_end();
}

/* ---- creation and joining ---- */

/* Prepares a new thread. Threads created immediately one after the other work in parallel, so they start in the same window. `stack_bytes`
 * 0 means the default size. Returns NULL if the new thread will not be simulated. */
static struct thread *thread_create_begin(size_t stack_bytes)
{
	struct thread *t, *self = hot.thread;
	uint64_t window;
	bool stays;

	if (!self || hot.busy)
		return NULL;
	waiting_stop();
	busy_begin(BUSY_ALWAYS);
	stays = window_is_shared(self, &window);
	if (!stays) {
		window = window_first_future(self);
		window_close(self);
	}
	threads_lock();
	t = thread_new(window);
	if (t)
		t->stack_bytes = stack_bytes ? stack_bytes : stack_limit();
	else
		runtime.not_simulated++;
	threads_unlock();
	if (!stays)
		window_begin(self, window); /* from here, the window is shared with one more thread */
	busy_end();
	return t;
}

static void thread_create_failed(struct thread *t)
{
	threads_lock();
	t->state = THREAD_FREE;
	__atomic_fetch_sub(&runtime.alive, 1, __ATOMIC_RELAXED);
	threads_unlock();
}

/* Stores a thread's handle. The creator and the thread itself call this function, in either order. The creator may come so late that the
 * struct already belongs to another thread with another number. */
static void thread_store_handle(struct thread *t, uint32_t number, pthread_t handle)
{
	threads_lock();
	if (t->number == number && !t->has_handle) {
		t->handle = handle;
		t->has_handle = true;
	}
	threads_unlock();
}

/* Initializes the new thread from within, before its start function runs. */
static void thread_created(struct thread *t)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	thread_store_handle(t, t->number, pthread_self());
	stack_start_lives(t);
	thread_enter(t, here - t->stack_bytes, here + (1u << PAGE_BITS));
}

/* Returns the window in which the thread with this handle ended; 0 if unknown. The caller holds the lock. */
static uint64_t thread_ended_in(pthread_t handle)
{
	for (uint32_t i = n_ended_threads; i > 0 && i + ENDED_THREADS_MAX > n_ended_threads; i--)
		if (pthread_equal(ended_threads[(i - 1) % ENDED_THREADS_MAX].handle, handle))
			return ended_threads[(i - 1) % ENDED_THREADS_MAX].window;
	return 0;
}

static struct thread *thread_find_live(pthread_t handle)
{
	for (size_t i = 0; i < EMULATED_THREADS_MAX; i++) {
		struct thread *t = thread_at(i);

		if (t && t->has_handle && (t->state == THREAD_LIVE || t->state == THREAD_WAITING) && pthread_equal(t->handle, handle))
			return t;
	}
	return NULL;
}

/* Starts waiting for the end of a thread. Returns false if thread_join_end() must not follow. */
static bool thread_join_begin(pthread_t handle)
{
	struct thread *self = hot.thread, *other;

	if (!self || hot.busy)
		return false;
	thread_wait_begin(self);
	threads_lock();
	other = thread_find_live(handle);
	if (other && other != self) {
		other->joiner = self;
		self->state = THREAD_WAITING;
	}
	threads_unlock();
	return true;
}

static void thread_join_end(pthread_t handle, bool joined)
{
	struct thread *self = hot.thread;

	threads_lock();
	clear_join_waits(self);
	thread_resume(self, joined ? thread_ended_in(handle) : 0);
	threads_unlock();
	thread_wait_end(self);
}

REAL(pthread_create)
REAL(pthread_join)
REAL(thrd_create)
REAL(thrd_join)

static void *thread_run_posix(void *thread)
{
	struct thread *t = thread;

	thread_created(t);
	return t->start(t->argument);
}

static int thread_run_c11(void *thread)
{
	struct thread *t = thread;

	thread_created(t);
	return t->start_c11(t->argument);
}

EXPORT int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*run)(void *),
			  void *restrict argument)
{
	size_t stack_bytes = 0;
	uint32_t number;
	struct thread *t;
	int failed;

	if (attributes)
		pthread_attr_getstacksize(attributes, &stack_bytes);
	t = thread_create_begin(stack_bytes);
	if (!t)
		return real_pthread_create()(thread, attributes, run, argument);
	number = t->number;
	t->start = run;
	t->argument = argument;
	failed = real_pthread_create()(thread, attributes, thread_run_posix, t);
	if (failed)
		thread_create_failed(t);
	else
		thread_store_handle(t, number, *thread);
	return failed;
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t run, void *argument)
{
	struct thread *t = thread_create_begin(0);
	uint32_t number;
	int failed;

	if (!t)
		return real_thrd_create()(thread, run, argument);
	number = t->number;
	t->start_c11 = run;
	t->argument = argument;
	failed = real_thrd_create()(thread, thread_run_c11, t);
	if (failed != thrd_success)
		thread_create_failed(t);
	else
		thread_store_handle(t, number, *thread);
	return failed;
}

EXPORT int pthread_join(pthread_t thread, void **result)
{
	bool met = thread_join_begin(thread);
	int failed = real_pthread_join()(thread, result);

	if (met)
		thread_join_end(thread, failed == 0);
	return failed;
}

EXPORT int thrd_join(thrd_t thread, int *result)
{
	bool met = thread_join_begin(thread);
	int failed = real_thrd_join()(thread, result);

	if (met)
		thread_join_end(thread, failed == thrd_success);
	return failed;
}

/* ---- the first thread, the end of the process, fork ---- */

/* Resets the state in a child of fork(), where only the calling thread exists. */
static void threads_fork(void)
{
	struct thread *self = hot.thread;

	threads_unlock(); /* this thread locked it before fork() */
	n_ended_threads = 0;
	runtime.last_end = 0;
	if (self)
		self->handle = pthread_self();
	for (size_t i = 0; i < EMULATED_THREADS_MAX; i++) {
		if (runtime.threads[i] && runtime.threads[i] != self)
			runtime.threads[i]->state = THREAD_FREE;
	}
	runtime.alive = self ? 1 : 0;
	teams = NULL;
}

void threads_init(void)
{
	pthread_atfork(threads_lock, threads_unlock, threads_fork);
	pthread_key_create(&at_end, thread_on_end);
}

/* Makes the hooks of all other threads do nothing from now on. A thread inside a hook would undo that when the hook ends. So this function
 * waits for such threads, but at most STOP_TRIES rounds, because a waiting thread is inside a hook all the time. */
void threads_stop(void)
{
	const struct timespec pause = { 0, STOP_PAUSE_NS };

	for (unsigned tries = 0, quiet = 0; tries < STOP_TRIES && quiet < STOP_QUIET_TRIES; tries++) {
		quiet++;
		threads_lock();
		for (size_t i = 0; i < EMULATED_THREADS_MAX; i++) {
			struct thread *t = thread_at(i);

			if (!t || t == hot.thread || !t->hot || t->state == THREAD_ENDED || t->hot->busy >= BUSY_FOREVER / 2)
				continue;
			quiet = 0;
			if (!t->hot->busy || tries == STOP_TRIES - 1)
				__atomic_store_n((uint64_t *)(uintptr_t)&t->hot->busy, BUSY_FOREVER, __ATOMIC_RELAXED);
		}
		threads_unlock();
		record_system_call(SYS_nanosleep, (long)&pause, 0, 0, 0, 0, 0);
	}
}

void threads_finish(void)
{
	if (hot.thread)
		thread_leave(hot.thread);
}

/* ---- meetings ---- */

/* Adds the calling thread to a meeting of `count` threads before its wait. Returns false if thread_barrier_leave() must not follow. */
static bool thread_barrier_arrive(struct thread_barrier *m, uint32_t count)
{
	struct thread *t = hot.thread;

	if (!t || hot.busy)
		return false;
	thread_wait_begin(t);
	threads_lock();
	t->state = THREAD_WAITING;
	m->window = t->resume > m->window ? t->resume : m->window;
	if (m->n < EMULATED_THREADS_MAX)
		m->waiting[m->n++] = t;
	if (m->n == count) {
		for (uint32_t i = 0; i < count; i++)
			thread_resume(m->waiting[i], m->window);
		m->n = 0;
		m->window = 0;
	}
	threads_unlock();
	return true;
}

/* Resumes the calling thread after its wait. If some threads of the meeting are not simulated, each thread resumes by itself. */
static void thread_barrier_leave(struct thread_barrier *m)
{
	struct thread *t = hot.thread;

	threads_lock();
	if (t->state == THREAD_WAITING) {
		thread_resume(t, m->window);
		m->n = 0;
	}
	threads_unlock();
	thread_wait_end(t);
}

/* ---- barriers ---- */

REAL(pthread_barrier_init)
REAL(pthread_barrier_wait)

/* Returns the barrier's entry. If there is none, adds one if the last argument is true, otherwise returns NULL. */
static struct barrier *barrier_at(const pthread_barrier_t *at, bool start_new)
{
	size_t first = ((uintptr_t)at >> 4) % BARRIERS;
	struct barrier *found = NULL;

	threads_lock();
	for (size_t i = 0; i < BARRIERS && !found; i++) {
		struct barrier *b = &barriers[(first + i) % BARRIERS];

		if (b->at == at || (start_new && !b->at))
			found = b;
		else if (!b->at)
			break;
	}
	if (found && start_new)
		found->at = at;
	if (found && !found->thread_barrier)
		found->thread_barrier = pages_map(sizeof(*found->thread_barrier));
	threads_unlock();
	return found && found->thread_barrier ? found : NULL;
}

EXPORT int pthread_barrier_init(pthread_barrier_t *restrict barrier, const pthread_barrierattr_t *restrict attributes, unsigned count)
{
	struct barrier *b = hot.thread ? barrier_at(barrier, true) : NULL;

	if (b) {
		b->count = count;
		*b->thread_barrier = (struct thread_barrier){ 0 };
	}
	return real_pthread_barrier_init()(barrier, attributes, count);
}

EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	struct barrier *b = hot.thread ? barrier_at(barrier, false) : NULL;
	bool met = b && thread_barrier_arrive(b->thread_barrier, b->count);
	int result = real_pthread_barrier_wait()(barrier);

	if (met)
		thread_barrier_leave(b->thread_barrier);
	return result;
}

/* ---- teams ---- */

/* Removes the team from the list. The caller holds the lock. */
static void team_unlink(const struct team *team)
{
	struct team **at = &teams;

	while (*at && *at != team)
		at = &(*at)->next;
	if (*at)
		*at = team->next;
}

/* Starts a team. The calling thread is its master. */
static void team_open(struct team *team)
{
	struct thread *t = hot.thread;

	*team = (struct team){ .master = t };
	if (!t || hot.busy)
		return;
	team->begin = team->end = thread_advance(t, 0);
	threads_lock();
	team->next = teams;
	teams = team;
	threads_unlock();
}

/* Adds the calling thread, which may be the master, to the team. */
static void team_enter(struct team *team, uint32_t size)
{
	struct thread *t = hot.thread ? hot.thread : thread_attach();

	if (!team->master)
		return;
	if (t && t != team->master) {
		busy_begin(BUSY_ALWAYS);
		window_close(t);
	}
	threads_lock();
	team->size = size;
	if (t && t != team->master) {
		t->resume = 0;
		thread_resume(t, team->begin);
	}
	if (++team->n_entered == size)
		team_unlink(team);
	threads_unlock();
	if (t && t != team->master)
		thread_wait_end(t);
}

static void team_leave(struct team *team)
{
	struct thread *t = hot.thread;
	uint64_t window;

	if (!team->master || !t)
		return;
	window = window_first_future(t);
	if (t != team->master) {
		busy_begin(BUSY_ALWAYS);
		window_close(t);
		busy_end();
	}
	threads_lock();
	team->end = window > team->end ? window : team->end;
	if (t != team->master)
		t->state = THREAD_WAITING;
	threads_unlock();
}

static void team_close(struct team *team)
{
	if (!team->master)
		return;
	threads_lock();
	team_unlink(team);
	threads_unlock();
	thread_advance(team->master, team->end);
}

/* ---- gcc's OpenMP library ---- */

/* The linker and clang's library call the following functions. No header declares them, and some of their parameters are unused. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused-parameter"

typedef void body(void *data); /* body of a parallel region */

int omp_get_num_threads(void) __attribute__((weak));

struct region {
	body *run;
	void *data;
	struct team team;
};

static __thread struct team *here; /* team of the innermost region that the thread is in; NULL if none */

static void run_region(void *argument)
{
	struct region *region = argument;
	struct team *outer = here;

	here = &region->team;
	team_enter(here, omp_get_num_threads ? (uint32_t)omp_get_num_threads() : 1);
	region->run(region->data);
	team_leave(here);
	here = outer;
}

/* Defines a wrapper of an OpenMP function that starts a parallel region. It passes run_region() and the struct region to the library. */
#define PARALLEL_REGION(name, parameters, arguments)                                                                                       \
	void __real_##name parameters __attribute__((weak));                                                                               \
	EXPORT void __wrap_##name parameters                                                                                               \
	{                                                                                                                                  \
		struct region region = { run, data, { 0 } };                                                                               \
                                                                                                                                           \
		team_open(&region.team);                                                                                                   \
		__real_##name arguments;                                                                                                   \
		team_close(&region.team);                                                                                                  \
	}
#define LOOP_CHUNKED(name)                                                                                                                 \
	PARALLEL_REGION(name, (body * run, void *data, unsigned threads, long from, long to, long step, long chunk, unsigned flags),       \
			(run_region, &region, threads, from, to, step, chunk, flags))
#define LOOP_RUNTIME(name)                                                                                                                 \
	PARALLEL_REGION(name, (body * run, void *data, unsigned threads, long from, long to, long step, unsigned flags),                   \
			(run_region, &region, threads, from, to, step, flags))
PARALLEL_REGION(GOMP_parallel, (body * run, void *data, unsigned threads, unsigned flags), (run_region, &region, threads, flags))
PARALLEL_REGION(GOMP_parallel_sections, (body * run, void *data, unsigned threads, unsigned n, unsigned flags),
		(run_region, &region, threads, n, flags))
LOOP_CHUNKED(GOMP_parallel_loop_static)
LOOP_CHUNKED(GOMP_parallel_loop_dynamic)
LOOP_CHUNKED(GOMP_parallel_loop_guided)
LOOP_CHUNKED(GOMP_parallel_loop_nonmonotonic_dynamic)
LOOP_CHUNKED(GOMP_parallel_loop_nonmonotonic_guided)
LOOP_RUNTIME(GOMP_parallel_loop_runtime)
LOOP_RUNTIME(GOMP_parallel_loop_nonmonotonic_runtime)
LOOP_RUNTIME(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

#define BARRIER(name)                                                                                                                      \
	void __real_##name(void) __attribute__((weak));                                                                                    \
	EXPORT void __wrap_##name(void)                                                                                                    \
	{                                                                                                                                  \
		struct team *team = here;                                                                                                  \
		bool met = team && team->master && thread_barrier_arrive(&team->thread_barrier, team->size);                               \
                                                                                                                                           \
		__real_##name();                                                                                                           \
		if (met)                                                                                                                   \
			thread_barrier_leave(&team->thread_barrier);                                                                       \
	}
BARRIER(GOMP_barrier)
BARRIER(GOMP_loop_end)
BARRIER(GOMP_sections_end)

/* ---- OMPT, the tool interface of OpenMP 5.1 (chapter 4) ---- */

union ompt_data {
	uint64_t value;
	void *pointer;
};

typedef void ompt_function(void);
typedef ompt_function *ompt_lookup(const char *name);
typedef int ompt_set_callback(int event, ompt_function *callback);

enum { EVENT_PARALLEL_BEGIN = 3, EVENT_PARALLEL_END = 4, EVENT_IMPLICIT_TASK = 7, EVENT_SYNC_REGION = 16 };
enum { ENDPOINT_BEGIN = 1, ENDPOINT_END = 2 };
enum { SYNC_BARRIER = 1, SYNC_IMPLICIT = 2, SYNC_EXPLICIT = 3, SYNC_IMPLEMENTATION = 4, SYNC_WORKSHARE = 8, SYNC_PARALLEL = 9 };

static __thread bool is_in_barrier;

static void on_parallel_begin(union ompt_data *task, const void *frame, union ompt_data *parallel, unsigned threads, int flags,
			      const void *code)
{
	struct team *team = pages_map(sizeof(*team));

	parallel->pointer = team;
	if (team)
		team_open(team);
}

static void on_parallel_end(union ompt_data *parallel, union ompt_data *task, int flags, const void *code)
{
	struct team *team = parallel->pointer;

	if (!team)
		return;
	team_close(team);
	munmap(team, sizeof(*team));
}

/* Handles only the start of a task. A worker's task may end as late as in the next region, so on_sync_region() handles the end. */
static void on_implicit_task(int endpoint, union ompt_data *parallel, union ompt_data *task, unsigned threads, unsigned index, int flags)
{
	if (endpoint != ENDPOINT_BEGIN || !parallel || !parallel->pointer)
		return;
	task->pointer = here;
	here = parallel->pointer;
	team_enter(here, threads);
}

static void on_sync_region(int kind, int endpoint, union ompt_data *parallel, union ompt_data *task, const void *code)
{
	struct team *team = here;

	if (!team ||
	    (kind != SYNC_BARRIER && kind != SYNC_IMPLICIT && kind != SYNC_EXPLICIT && kind != SYNC_WORKSHARE && kind != SYNC_PARALLEL))
		return;
	if (endpoint == ENDPOINT_BEGIN && kind == SYNC_PARALLEL) {
		team_leave(team);
		here = task ? task->pointer : NULL;
	} else if (endpoint == ENDPOINT_BEGIN) {
		is_in_barrier = team->master && thread_barrier_arrive(&team->thread_barrier, team->size);
	} else if (is_in_barrier) {
		thread_barrier_leave(&team->thread_barrier);
		is_in_barrier = false;
	}
}

static int on_initialize(ompt_lookup *lookup, int device, union ompt_data *tool)
{
	union {
		ompt_function *any;
		ompt_set_callback *set;
	} found = { lookup("ompt_set_callback") };

	if (!found.any)
		return 0;
	found.set(EVENT_PARALLEL_BEGIN, (ompt_function *)on_parallel_begin);
	found.set(EVENT_PARALLEL_END, (ompt_function *)on_parallel_end);
	found.set(EVENT_IMPLICIT_TASK, (ompt_function *)on_implicit_task);
	found.set(EVENT_SYNC_REGION, (ompt_function *)on_sync_region);
	return 1;
}

static void on_finalize(union ompt_data *tool)
{
}

struct ompt_start {
	int (*initialize)(ompt_lookup *lookup, int device, union ompt_data *tool);
	void (*finalize)(union ompt_data *tool);
	union ompt_data tool;
};

EXPORT struct ompt_start *ompt_start_tool(unsigned version, const char *library)
{
	static struct ompt_start start = { on_initialize, on_finalize, { 0 } };

	return runtime.is_active ? &start : NULL;
}

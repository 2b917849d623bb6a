/* Where threads meet: barriers, and the teams of OpenMP's parallel regions. They go on with the latest one's clock. All state is
 * under the lock of threads.c. Of OpenMP, gcc's library is seen by its entry points, clang's by the interface for tools (OMPT),
 * of which only what is used here is declared. Tasks keep the clock of the thread that runs them. */
#include "runs/inside/emulate/emulation.h"

#include <dlfcn.h>
#include <sys/mman.h>

#define BARRIERS 1024u /* that exist at the same time; others pass no clocks */

/* A place where threads wait for each other. */
struct meeting {
	uint64_t window;
	uint32_t n;
	struct thread *waiting[THREADS];
};

/* Threads of a pool that work together for a while: they begin with the master's clock, the master goes on with their latest. */
struct team {
	struct thread *master;
	uint64_t begin, end;	/* windows */
	uint32_t size, started; /* size 0: not known yet */
	struct team *next;	/* in `teams`: no thread may be ahead of them */
	struct meeting meeting;
};

struct barrier {
	const pthread_barrier_t *at;
	uint32_t count;
	struct meeting *meeting;
};

static struct team *teams; /* those that not all have entered */
static struct barrier barriers[BARRIERS];

uint64_t meetings_horizon(void)
{
	uint64_t first = UINT64_MAX;

	for (const struct team *team = teams; team; team = team->next)
		first = team->begin < first ? team->begin : first;
	return first;
}

void meetings_fork(void)
{
	teams = NULL;
}

/* ---- meetings ---- */

/* Before the calling thread waits; count: how many meet. False: meeting_leave() must not follow. */
static bool meeting_arrive(struct meeting *m, uint32_t count)
{
	struct thread *t = hot.thread;

	if (!t || hot.busy)
		return false;
	thread_wait_begin(t);
	threads_lock();
	t->state = THREAD_WAITING;
	m->window = t->resume > m->window ? t->resume : m->window;
	if (m->n < THREADS)
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

/* After it has waited. If not all threads that meet are simulated, the meeting is never complete here: then each goes on by
 * itself. */
static void meeting_leave(struct meeting *m)
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

/* The barrier at this address, or with `anew` a place for it. NULL: there is none. */
static struct barrier *barrier_at(const pthread_barrier_t *at, bool anew)
{
	size_t first = ((uintptr_t)at >> 4) % BARRIERS;
	struct barrier *found = NULL;

	threads_lock();
	for (size_t i = 0; i < BARRIERS && !found; i++) {
		struct barrier *b = &barriers[(first + i) % BARRIERS];

		if (b->at == at || (anew && !b->at))
			found = b;
		else if (!b->at)
			break;
	}
	if (found && anew)
		found->at = at;
	if (found && !found->meeting)
		found->meeting = pages_map(sizeof(*found->meeting));
	threads_unlock();
	return found && found->meeting ? found : NULL;
}

EXPORT int pthread_barrier_init(pthread_barrier_t *restrict barrier, const pthread_barrierattr_t *restrict attributes, unsigned count)
{
	struct barrier *b = hot.thread ? barrier_at(barrier, true) : NULL;

	if (b) {
		b->count = count;
		*b->meeting = (struct meeting){ 0 };
	}
	return real_pthread_barrier_init()(barrier, attributes, count);
}

EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	struct barrier *b = hot.thread ? barrier_at(barrier, false) : NULL;
	bool met = b && meeting_arrive(b->meeting, b->count);
	int result = real_pthread_barrier_wait()(barrier);

	if (met)
		meeting_leave(b->meeting);
	return result;
}

/* ---- teams ---- */

/* Under the lock. */
static void team_unlink(const struct team *team)
{
	struct team **at = &teams;

	while (*at && *at != team)
		at = &(*at)->next;
	if (*at)
		*at = team->next;
}

/* By the master. */
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

/* By each thread, the master too. */
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
	if (++team->started == size)
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
	window = window_after(t);
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

/* ---- gcc's OpenMP ---- */

/* The linker and clang's library call what follows: no header declares it, and not all parameters are used. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused-parameter"

typedef void body(void *data); /* of a region */

int omp_get_num_threads(void) __attribute__((weak));

struct region {
	body *run;
	void *data;
	struct team team;
};

static __thread struct team *here; /* the team of the innermost region that the thread is in */

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

/* The library's entry point is given the region as its data. */
#define REGION(name, parameters, arguments)                                                                                                \
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
	REGION(name, (body * run, void *data, unsigned threads, long from, long to, long step, long chunk, unsigned flags),                \
	       (run_region, &region, threads, from, to, step, chunk, flags))
#define LOOP_RUNTIME(name)                                                                                                                 \
	REGION(name, (body * run, void *data, unsigned threads, long from, long to, long step, unsigned flags),                            \
	       (run_region, &region, threads, from, to, step, flags))
REGION(GOMP_parallel, (body * run, void *data, unsigned threads, unsigned flags), (run_region, &region, threads, flags))
REGION(GOMP_parallel_sections, (body * run, void *data, unsigned threads, unsigned n, unsigned flags),
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
		bool met = team && team->master && meeting_arrive(&team->meeting, team->size);                                             \
                                                                                                                                           \
		__real_##name();                                                                                                           \
		if (met)                                                                                                                   \
			meeting_leave(&team->meeting);                                                                                     \
	}
BARRIER(GOMP_barrier)
BARRIER(GOMP_loop_end)
BARRIER(GOMP_sections_end)

/* ---- OMPT (OpenMP 5.1, chapter 4) ---- */

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

static __thread bool meets;

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

/* A worker's end of the task comes late, perhaps with the next region: its last barrier has told us before. */
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
		meets = team->master && meeting_arrive(&team->meeting, team->size);
	} else if (meets) {
		meeting_leave(&team->meeting);
		meets = false;
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

	return runtime.on ? &start : NULL;
}

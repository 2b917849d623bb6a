/* OpenMP: clocks pass at the begin and end of a parallel region and at its barriers. gcc's library by its entry points, clang's by the
 * interface for tools (OMPT), of which only what is used here is declared. Tasks keep the clock of the thread that runs them. */
#include "runs/inside/emulate/emulate.h"

typedef void body(void *data); /* of a region */

int omp_get_num_threads(void) __attribute__((weak));

struct region {
	body *run;
	void *data;
	struct team team;
};

static __thread struct team *here; /* of the innermost region that the thread is in */

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

/* `call` is the library's entry point, to which the region is given as data. */
#define REGION(call)                             \
	struct region region = { run, data, { 0 } }; \
	team_open(&region.team);                 \
	call;                                    \
	team_close(&region.team)

void __real_GOMP_parallel(body *run, void *data, unsigned threads, unsigned flags) __attribute__((weak));
EXPORT void __wrap_GOMP_parallel(body *run, void *data, unsigned threads, unsigned flags);
void __wrap_GOMP_parallel(body *run, void *data, unsigned threads, unsigned flags)
{
	REGION(__real_GOMP_parallel(run_region, &region, threads, flags));
}

void __real_GOMP_parallel_sections(body *run, void *data, unsigned threads, unsigned n, unsigned flags) __attribute__((weak));
EXPORT void __wrap_GOMP_parallel_sections(body *run, void *data, unsigned threads, unsigned n, unsigned flags);
void __wrap_GOMP_parallel_sections(body *run, void *data, unsigned threads, unsigned n, unsigned flags)
{
	REGION(__real_GOMP_parallel_sections(run_region, &region, threads, n, flags));
}

#define LOOP_CHUNKED(name)                                                                                                     \
	void __real_##name(body *run, void *data, unsigned threads, long from, long to, long step, long chunk, unsigned flags) \
	    __attribute__((weak));                                                                                             \
	EXPORT void __wrap_##name(body *run, void *data, unsigned threads, long from, long to, long step, long chunk, unsigned flags); \
	void __wrap_##name(body *run, void *data, unsigned threads, long from, long to, long step, long chunk, unsigned flags) \
	{                                                                                                                      \
		REGION(__real_##name(run_region, &region, threads, from, to, step, chunk, flags));                             \
	}
#define LOOP_RUNTIME(name)                                                                                                          \
	void __real_##name(body *run, void *data, unsigned threads, long from, long to, long step, unsigned flags) __attribute__((weak)); \
	EXPORT void __wrap_##name(body *run, void *data, unsigned threads, long from, long to, long step, unsigned flags);          \
	void __wrap_##name(body *run, void *data, unsigned threads, long from, long to, long step, unsigned flags)                  \
	{                                                                                                                           \
		REGION(__real_##name(run_region, &region, threads, from, to, step, flags));                                         \
	}
LOOP_CHUNKED(GOMP_parallel_loop_static)
LOOP_CHUNKED(GOMP_parallel_loop_dynamic)
LOOP_CHUNKED(GOMP_parallel_loop_guided)
LOOP_CHUNKED(GOMP_parallel_loop_nonmonotonic_dynamic)
LOOP_CHUNKED(GOMP_parallel_loop_nonmonotonic_guided)
LOOP_RUNTIME(GOMP_parallel_loop_runtime)
LOOP_RUNTIME(GOMP_parallel_loop_nonmonotonic_runtime)
LOOP_RUNTIME(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

#define BARRIER(name)                                                                     \
	void __real_##name(void) __attribute__((weak));                                   \
	EXPORT void __wrap_##name(void);                                                  \
	void __wrap_##name(void)                                                          \
	{                                                                                 \
		struct team *team = here;                                                 \
		bool met = team && team->master && meeting_arrive(&team->meeting, team->size); \
                                                                                          \
		__real_##name();                                                          \
		if (met)                                                                  \
			meeting_leave(&team->meeting);                                    \
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
	struct team *team = pages_take(sizeof(*team));

	(void)task;
	(void)frame;
	(void)threads;
	(void)flags;
	(void)code;
	parallel->pointer = team;
	if (team)
		team_open(team);
}

static void on_parallel_end(union ompt_data *parallel, union ompt_data *task, int flags, const void *code)
{
	struct team *team = parallel->pointer;

	(void)task;
	(void)flags;
	(void)code;
	if (!team)
		return;
	team_close(team);
	pages_give(team, sizeof(*team));
}

/* A worker's end of the task comes late, perhaps with the next region: its last barrier has told us before. */
static void on_implicit_task(int endpoint, union ompt_data *parallel, union ompt_data *task, unsigned threads, unsigned index, int flags)
{
	(void)index;
	(void)flags;
	if (endpoint != ENDPOINT_BEGIN || !parallel || !parallel->pointer)
		return;
	task->pointer = here;
	here = parallel->pointer;
	team_enter(here, threads);
}

static void on_sync_region(int kind, int endpoint, union ompt_data *parallel, union ompt_data *task, const void *code)
{
	struct team *team = here;

	(void)parallel;
	(void)code;
	if (!team || (kind != SYNC_BARRIER && kind != SYNC_IMPLICIT && kind != SYNC_EXPLICIT && kind != SYNC_WORKSHARE &&
		      kind != SYNC_PARALLEL))
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

	(void)device;
	(void)tool;
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
	(void)tool;
}

struct ompt_start {
	int (*initialize)(ompt_lookup *lookup, int device, union ompt_data *tool);
	void (*finalize)(union ompt_data *tool);
	union ompt_data tool;
};

EXPORT struct ompt_start *ompt_start_tool(unsigned version, const char *library);
struct ompt_start *ompt_start_tool(unsigned version, const char *library)
{
	static struct ompt_start start = { on_initialize, on_finalize, { 0 } };

	(void)version;
	(void)library;
	return runtime.on ? &start : NULL;
}

/* Creation, end and barriers of threads: replaced for the program and all its libraries, since C++'s threads and OpenMP's are begun in
 * theirs. */
#include "runs/inside/emulate/emulate.h"

#include <dlfcn.h>
#include <threads.h>

#define BARRIERS 1024u /* that exist at the same time; others pass no clocks */

struct barrier {
	const pthread_barrier_t *at;
	uint32_t count;
	struct meeting *meeting;
};

static struct barrier barriers[BARRIERS];
static struct spin lock;

/* The library's own function of that name, behind ours. */
#define REAL(name, type)                                                            \
	static type *real_##name(void)                                              \
	{                                                                           \
		static union {                                                      \
			void *object;                                               \
			type *function;                                             \
		} found;                                                            \
                                                                                    \
		if (!__atomic_load_n(&found.object, __ATOMIC_RELAXED))              \
			__atomic_store_n(&found.object, dlsym(RTLD_NEXT, #name), __ATOMIC_RELAXED); \
		return found.function;                                              \
	}

typedef void *run_posix(void *argument);
typedef int create_posix(pthread_t *thread, const pthread_attr_t *attributes, run_posix *run, void *argument);
typedef int join_posix(pthread_t thread, void **result);
typedef int create_c11(thrd_t *thread, thrd_start_t run, void *argument);
typedef int join_c11(thrd_t thread, int *result);
typedef int init_barrier(pthread_barrier_t *barrier, const pthread_barrierattr_t *attributes, unsigned count);
typedef int wait_barrier(pthread_barrier_t *barrier);
REAL(pthread_create, create_posix)
REAL(pthread_join, join_posix)
REAL(thrd_create, create_c11)
REAL(thrd_join, join_c11)
REAL(pthread_barrier_init, init_barrier)
REAL(pthread_barrier_wait, wait_barrier)

/* ---- threads ---- */

static void *begin_posix(void *thread)
{
	struct thread *t = thread;

	thread_created(t);
	return t->start(t->argument);
}

static int begin_c11(void *thread)
{
	struct thread *t = thread;

	thread_created(t);
	return t->start_c11(t->argument);
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, run_posix *run, void *argument);
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, run_posix *run, void *argument)
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
	failed = real_pthread_create()(thread, attributes, begin_posix, t);
	if (failed)
		thread_create_failed(t);
	else
		thread_known(t, number, *thread);
	return failed;
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t run, void *argument);
int thrd_create(thrd_t *thread, thrd_start_t run, void *argument)
{
	struct thread *t = thread_create_begin(0);
	uint32_t number;
	int failed;

	if (!t)
		return real_thrd_create()(thread, run, argument);
	number = t->number;
	t->start_c11 = run;
	t->argument = argument;
	failed = real_thrd_create()(thread, begin_c11, t);
	if (failed != thrd_success)
		thread_create_failed(t);
	else
		thread_known(t, number, *thread);
	return failed;
}

EXPORT int pthread_join(pthread_t thread, void **result);
int pthread_join(pthread_t thread, void **result)
{
	bool met = thread_join_begin(thread);
	int failed = real_pthread_join()(thread, result);

	if (met)
		thread_join_end(thread, failed == 0);
	return failed;
}

EXPORT int thrd_join(thrd_t thread, int *result);
int thrd_join(thrd_t thread, int *result)
{
	bool met = thread_join_begin(thread);
	int failed = real_thrd_join()(thread, result);

	if (met)
		thread_join_end(thread, failed == thrd_success);
	return failed;
}

/* ---- barriers ---- */

/* The one at this address, or with `anew` a place for it. NULL: there is none. */
static struct barrier *barrier_at(const pthread_barrier_t *at, bool anew)
{
	size_t first = ((uintptr_t)at >> 4) % BARRIERS;
	struct barrier *found = NULL;

	spin_take(&lock);
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
		found->meeting = pages_take(sizeof(*found->meeting));
	spin_release(&lock);
	return found && found->meeting ? found : NULL;
}

/* In the child of fork(): who held it is not there. */
void barriers_fork(void)
{
	lock = (struct spin){ 0 };
}

EXPORT int pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attributes, unsigned count);
int pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attributes, unsigned count)
{
	struct barrier *b = hot.thread ? barrier_at(barrier, true) : NULL;

	if (b) {
		b->count = count;
		*b->meeting = (struct meeting){ 0 };
	}
	return real_pthread_barrier_init()(barrier, attributes, count);
}

EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier);
int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	struct barrier *b = hot.thread ? barrier_at(barrier, false) : NULL;
	bool met = b && meeting_arrive(b->meeting, b->count);
	int result = real_pthread_barrier_wait()(barrier);

	if (met)
		meeting_leave(b->meeting);
	return result;
}

/* One thread: what it needs, its beginning, its end, and how its clock passes to those that it creates or waits for; never by locks, for
 * whom they let pass first follows from how threads happened to run. */
#include "runs/inside/emulate/emulate.h"

#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALIGNED_ACCESSES 256u           /* of who creates threads, between one and the next */
#define OBITUARIES     1024u            /* threads whose end is remembered until somebody joins them */
#define STACK_BYTES    (8u << 20)       /* when no limit says how large a stack is */
#define MAIN_ABOVE     (1u << 20)       /* of the first thread's stack, above where we begin */

struct obituary {
	pthread_t handle;
	uint64_t window;
};

static struct obituary obituaries[OBITUARIES];
static uint32_t n_obituaries, n_created;
static pthread_key_t at_end;

static bool simulation_take(struct thread *t)
{
	size_t sets = L1_SETS + L2_SETS + TLB_SETS + STLB_SETS;

	if (!t->l1)
		t->l1 = pages_take(sets * sizeof(*t->l1));
	if (!t->predictions)
		t->predictions = pages_take(PREDICTIONS * sizeof(*t->predictions));
	if (!t->touches)
		t->touches = pages_take(TOUCHES * (sizeof(*t->touches) + sizeof(*t->touched)));
	if (!t->l1 || !t->predictions || !t->touches)
		return false;
	t->l2 = t->l1 + L1_SETS;
	t->tlb = t->l2 + L2_SETS;
	t->stlb = t->tlb + TLB_SETS;
	t->touched = (uint32_t *)(void *)(t->touches + TOUCHES);
	memset(t->l1, 0, sets * sizeof(*t->l1));
	memset(t->predictions, 0, PREDICTIONS * sizeof(*t->predictions));
	memset(t->touches, 0, TOUCHES * sizeof(*t->touches));
	return true;
}

static bool is_settled(const struct thread *t)
{
	return t->state == THREAD_ENDED && t->log_queue.head == t->log_queue.tail &&
	       __atomic_load_n(&t->ended_queue.head, __ATOMIC_ACQUIRE) == t->ended_queue.tail;
}

/* Its tables stay, everything else begins anew. */
static void thread_clear(struct thread *t)
{
	struct thread old = *t;

	*t = (struct thread){
		.frames = old.frames,
		.callees = old.callees,
		.invocations = old.invocations,
		.l1 = old.l1,
		.predictions = old.predictions,
		.touches = old.touches,
		.log = old.log,
		.log_mask = old.log_mask,
	};
}

/* Under the lock: a thread that will begin with that window. NULL when there are too many. */
static struct thread *thread_new(uint64_t window)
{
	struct thread *t = NULL;
	size_t i;

	for (i = 0; i < THREADS && thread_at(i) && thread_at(i)->state != THREAD_FREE && !is_settled(thread_at(i)); i++)
		;
	if (i < THREADS)
		t = thread_at(i) ? thread_at(i) : pages_take(sizeof(*t));
	if (!t)
		return NULL;
	thread_clear(t);
	if (!simulation_take(t) || !frames_init(t))
		return NULL;
	t->number = n_created++;
	t->resume = window;
	t->at = window_next_simulated(window);
	t->state = THREAD_LIVE;
	__atomic_fetch_add(&runtime.alive, 1, __ATOMIC_RELAXED);
	threads_put(i, t);
	return t;
}

static size_t stack_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return STACK_BYTES;
	return limit.rlim_cur;
}

/* In the new thread. */
static void thread_enter(struct thread *t, uintptr_t stack_low, uintptr_t stack_high)
{
	t->stack_low = stack_low;
	t->stack_high = stack_high;
	hot = (struct hot){ .thread = t, .busy = 1, .blocks_left = BLOCKS_GRANTED };
	system_calls = 0;
	t->hot = &hot;
	t->id = (uint32_t)syscall(SYS_gettid);
	t->system_calls = &system_calls;
	pthread_setspecific(at_end, t);
	window_begin(t, t->resume);
	t->invocations[0].start = record_ticks();
	hot.busy = 0;
}

/* Under the lock: the thread goes on with that window, or its own later one. */
void thread_release(struct thread *t, uint64_t window)
{
	t->resume = window > t->resume ? window : t->resume;
	__atomic_store_n(&t->at, window_next_simulated(t->resume), __ATOMIC_RELEASE);
	t->state = THREAD_LIVE;
}

/* Under the lock: nobody waits for another's end on its behalf any more. */
static void joins_forget(const struct thread *joiner)
{
	for (size_t i = 0; i < THREADS; i++) {
		struct thread *t = thread_at(i);

		if (t && t->joiner == joiner)
			t->joiner = NULL;
	}
}

/* The calling thread will not come back. */
static void thread_leave(struct thread *t)
{
	uint64_t window;

	hot.busy++;
	window = window_after(t);
	window_close(t);
	frames_unwind_all(t);
	hot = (struct hot){ .left = INT64_MAX, .blocks_left = BLOCKS_GRANTED };
	threads_hold();
	t->state = THREAD_ENDED;
	threads_ended_with(window);
	__atomic_fetch_sub(&runtime.alive, 1, __ATOMIC_RELAXED);
	obituaries[n_obituaries++ % OBITUARIES] = (struct obituary){ pthread_self(), window };
	joins_forget(t);
	if (t->joiner)
		thread_release(t->joiner, window);
	t->joiner = NULL;
	threads_release();
	evaluate_now();
}

/* Destructors of other keys may still run the program's code: ours is the last. */
static void on_end(void *thread)
{
	struct thread *t = thread;

	if (hot.thread != t)
		return;
	if (++t->rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(at_end, t);
	else
		thread_leave(t);
}

/* A thread that somebody began without us: in a library, before the start. */
struct thread *thread_attach(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	struct thread *t;

	if (!runtime.on)
		return NULL;
	hot.busy++;
	threads_hold();
	t = thread_new(n_created == 0 ? 0 : threads_earliest());
	if (!t)
		runtime.not_simulated++;
	threads_release();
	hot.busy--;
	if (t)
		thread_enter(t, here - stack_limit(), here + MAIN_ABOVE);
	return t;
}

/* ---- creation and end ---- */

/* What was begun before the clocks met is over. Gives the window with which the thread goes on. */
uint64_t thread_advance(struct thread *t, uint64_t window)
{
	uint64_t own = window_after(t), next = own > window ? own : window;

	hot.busy++;
	window_close(t);
	window_begin(t, next);
	hot.busy--;
	return next;
}

/* Threads that are begun one right after the other work side by side: they get the same window. */
struct thread *thread_create_begin(size_t stack_bytes)
{
	struct thread *t, *self = hot.thread;
	uint64_t window;
	uint32_t used;
	bool stays;

	if (!self || hot.busy)
		return NULL;
	hot.busy++;
	window = window_now(self, &used);
	stays = used <= ALIGNED_ACCESSES && threads_meet_in(window);
	if (!stays) {
		window = window_after(self);
		window_close(self);
	}
	threads_hold();
	t = thread_new(window);
	if (t)
		t->stack_bytes = stack_bytes ? stack_bytes : stack_limit();
	else
		runtime.not_simulated++;
	threads_release();
	if (!stays)
		window_begin(self, window); /* with one more to meet */
	hot.busy--;
	return t;
}

void thread_create_failed(struct thread *t)
{
	threads_hold();
	t->state = THREAD_FREE;
	__atomic_fetch_sub(&runtime.alive, 1, __ATOMIC_RELAXED);
	threads_release();
}

/* By the creator and by the thread itself, whoever comes first; for the creator it may be another thread's by now. */
void thread_known(struct thread *t, uint32_t number, pthread_t handle)
{
	hot.busy++;
	threads_hold();
	if (t->number == number && !t->has_handle) {
		t->handle = handle;
		t->has_handle = true;
	}
	threads_release();
	hot.busy--;
}

void thread_created(struct thread *t)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	thread_known(t, t->number, pthread_self());
	thread_enter(t, here - t->stack_bytes, here + (1u << PAGE_BITS));
}

/* Under the lock. False when nothing is known of a thread with that handle, which then has not begun. */
static bool find_ended(pthread_t handle, uint64_t *window)
{
	for (uint32_t i = n_obituaries; i > 0 && i + OBITUARIES > n_obituaries; i--) {
		if (pthread_equal(obituaries[(i - 1) % OBITUARIES].handle, handle)) {
			*window = obituaries[(i - 1) % OBITUARIES].window;
			return true;
		}
	}
	return false;
}

static struct thread *find_live(pthread_t handle)
{
	for (size_t i = 0; i < THREADS; i++) {
		struct thread *t = thread_at(i);

		if (t && t->has_handle && (t->state == THREAD_LIVE || t->state == THREAD_WAITING) && pthread_equal(t->handle, handle))
			return t;
	}
	return NULL;
}

/* While it waits, the thread keeps nobody from being evaluated. */
void thread_wait_begin(struct thread *t)
{
	hot.busy++;
	t->resume = window_after(t);
	window_close(t);
}

void thread_wait_end(struct thread *t)
{
	window_begin(t, t->resume);
	hot.busy--;
}

bool thread_join_begin(pthread_t handle)
{
	struct thread *self = hot.thread, *other;

	if (!self || hot.busy)
		return false;
	thread_wait_begin(self);
	threads_hold();
	other = find_live(handle);
	if (other && other != self) {
		other->joiner = self;
		self->state = THREAD_WAITING;
	}
	threads_release();
	return true;
}

void thread_join_end(pthread_t handle, bool joined)
{
	struct thread *self = hot.thread;
	uint64_t window = 0;

	threads_hold();
	joins_forget(self);
	if (joined)
		find_ended(handle, &window);
	thread_release(self, window);
	threads_release();
	thread_wait_end(self);
}

/* ---- the first one, and the process's end ---- */

void thread_init(void)
{
	pthread_key_create(&at_end, on_end);
	thread_attach();
}

void thread_finish(void)
{
	if (hot.thread)
		thread_leave(hot.thread);
}

void thread_fork(void)
{
	n_obituaries = 0;
	if (hot.thread)
		hot.thread->handle = pthread_self();
}

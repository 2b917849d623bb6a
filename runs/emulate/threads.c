/* Threads, and how clocks pass between them: at creation, at the end, at barriers; never by locks, for whom they let pass first follows
 * from how threads happened to run. */
#include "runs/emulate/emulate.h"

#include <fcntl.h>
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

static struct thread *threads[THREADS];
static struct obituary obituaries[OBITUARIES];
static uint32_t n_obituaries, n_created;
static uint64_t last_end; /* window in which the last one of those that have ended has */
static struct spin lock;
static pthread_key_t at_end;

/* ---- locks ---- */

bool spin_try(struct spin *s)
{
	return __atomic_exchange_n(&s->held, 1, __ATOMIC_ACQUIRE) == 0;
}

void spin_take(struct spin *s)
{
	while (!spin_try(s))
		syscall(SYS_sched_yield);
}

void spin_release(struct spin *s)
{
	__atomic_store_n(&s->held, 0, __ATOMIC_RELEASE);
}

/* ---- all of them ---- */

struct thread *thread_at(size_t i)
{
	return __atomic_load_n(&threads[i], __ATOMIC_ACQUIRE);
}

/* Under the lock. */
static uint64_t horizon(void)
{
	uint64_t first = teams_horizon();

	for (size_t i = 0; i < THREADS; i++) {
		const struct thread *t = threads[i];
		uint64_t at;

		if (!t || t->state != THREAD_LIVE)
			continue;
		at = __atomic_load_n(&t->at, __ATOMIC_ACQUIRE);
		if (t->stalled_at != at + 1)
			first = at < first ? at : first;
	}
	return first;
}

uint64_t threads_horizon(void)
{
	uint64_t first;

	spin_take(&lock);
	first = horizon();
	spin_release(&lock);
	return first;
}

/* What the kernel says of a thread: 'R' when it runs or waits for a processor. */
static char state_of(uint32_t id)
{
	char path[64] = "/proc/self/task/", text[128], digits[12], *at = digits + sizeof(digits) - 1;
	long file, n;

	*at = '\0';
	do
		*--at = (char)('0' + id % 10);
	while ((id /= 10) != 0);
	memcpy(path + 16, at, strlen(at) + 1);
	memcpy(path + 16 + strlen(at), "/stat", 6);
	file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (file < 0)
		return '\0';
	n = syscall(SYS_read, (int)file, text, sizeof(text) - 1);
	syscall(SYS_close, (int)file);
	while (n > 0 && text[n - 1] != ')')
		n--;
	return n > 0 ? text[n + 1] : '\0'; /* ") R"; there are more than two bytes behind it */
}

bool threads_come(const struct thread *self)
{
	bool any = false;

	for (size_t i = 0; i < THREADS && !any; i++) {
		const struct thread *t = thread_at(i);
		uint64_t at;

		if (!t || t == self || __atomic_load_n(&t->state, __ATOMIC_RELAXED) != THREAD_LIVE)
			continue;
		at = __atomic_load_n(&t->at, __ATOMIC_ACQUIRE);
		if (at < self->at && t->stalled_at != at + 1)
			any = t->id == 0 || __atomic_load_n(&t->pauses, __ATOMIC_RELAXED) || state_of(t->id) == 'R';
	}
	return any;
}

void threads_give_up(const struct thread *self)
{
	spin_take(&lock);
	for (size_t i = 0; i < THREADS; i++) {
		struct thread *t = threads[i];

		if (t && t != self && t->state == THREAD_LIVE && __atomic_load_n(&t->at, __ATOMIC_ACQUIRE) < self->at)
			t->stalled_at = t->at + 1;
	}
	spin_release(&lock);
}

/* Not whether others happen to be alive: those that have ended may have been ahead. */
bool threads_meet_in(uint64_t window)
{
	return __atomic_load_n(&runtime.alive, __ATOMIC_ACQUIRE) > 1 || window < __atomic_load_n(&last_end, __ATOMIC_RELAXED);
}

/* ---- one of them ---- */

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

	for (i = 0; i < THREADS && threads[i] && threads[i]->state != THREAD_FREE && !is_settled(threads[i]); i++)
		;
	if (i < THREADS)
		t = threads[i] ? threads[i] : pages_take(sizeof(*t));
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
	__atomic_store_n(&threads[i], t, __ATOMIC_RELEASE);
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

/* The calling thread will not come back. */
static void thread_leave(struct thread *t)
{
	uint64_t window;

	hot.busy++;
	window = window_after(t);
	window_close(t);
	frames_unwind_all(t);
	hot = (struct hot){ .left = INT64_MAX, .blocks_left = BLOCKS_GRANTED };
	spin_take(&lock);
	t->state = THREAD_ENDED;
	if (window > last_end)
		__atomic_store_n(&last_end, window, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&runtime.alive, 1, __ATOMIC_RELAXED);
	obituaries[n_obituaries++ % OBITUARIES] = (struct obituary){ pthread_self(), window };
	for (size_t i = 0; i < THREADS; i++) {
		if (threads[i] && threads[i]->joiner == t)
			threads[i]->joiner = NULL;
	}
	if (t->joiner)
		thread_release(t->joiner, window);
	t->joiner = NULL;
	spin_release(&lock);
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
	spin_take(&lock);
	t = thread_new(n_created == 0 ? 0 : horizon());
	if (!t)
		runtime.not_simulated++;
	spin_release(&lock);
	hot.busy--;
	if (t)
		thread_enter(t, here - stack_limit(), here + MAIN_ABOVE);
	return t;
}

void threads_start(void)
{
	pthread_key_create(&at_end, on_end);
	thread_attach();
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
	spin_take(&lock);
	t = thread_new(window);
	if (t)
		t->stack_bytes = stack_bytes ? stack_bytes : stack_limit();
	else
		runtime.not_simulated++;
	spin_release(&lock);
	if (!stays)
		window_begin(self, window); /* with one more to meet */
	hot.busy--;
	return t;
}

void thread_create_failed(struct thread *t)
{
	spin_take(&lock);
	t->state = THREAD_FREE;
	__atomic_fetch_sub(&runtime.alive, 1, __ATOMIC_RELAXED);
	spin_release(&lock);
}

/* By the creator and by the thread itself, whoever comes first; for the creator it may be another thread's by now. */
void thread_known(struct thread *t, uint32_t number, pthread_t handle)
{
	hot.busy++;
	spin_take(&lock);
	if (t->number == number && !t->has_handle) {
		t->handle = handle;
		t->has_handle = true;
	}
	spin_release(&lock);
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
		struct thread *t = threads[i];

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
	spin_take(&lock);
	other = find_live(handle);
	if (other && other != self) {
		other->joiner = self;
		self->state = THREAD_WAITING;
	}
	spin_release(&lock);
	return true;
}

void thread_join_end(pthread_t handle, bool joined)
{
	struct thread *self = hot.thread;
	uint64_t window = 0;

	spin_take(&lock);
	for (size_t i = 0; i < THREADS; i++) {
		if (threads[i] && threads[i]->joiner == self)
			threads[i]->joiner = NULL;
	}
	if (joined)
		find_ended(handle, &window);
	thread_release(self, window);
	spin_release(&lock);
	thread_wait_end(self);
}

/* ---- fork, end ---- */

void threads_hold(void)
{
	spin_take(&lock);
}

void threads_release(void)
{
	spin_release(&lock);
}

/* In the child: only the calling thread is there. */
void threads_fork(void)
{
	struct thread *self = hot.thread;

	lock = (struct spin){ 0 };
	teams_fork();
	n_obituaries = 0;
	last_end = 0;
	for (size_t i = 0; i < THREADS; i++) {
		if (threads[i] && threads[i] != self)
			threads[i]->state = THREAD_FREE;
	}
	runtime.alive = self ? 1 : 0;
	if (self)
		self->handle = pthread_self();
}

void threads_finish(void)
{
	if (hot.thread)
		thread_leave(hot.thread);
}

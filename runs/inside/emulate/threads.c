/* Threads, from creation to end, and logical time: a thread's clock counts its accesses, in windows. Clocks pass between threads at
 * creation, end and barriers only, always up to the next whole window, so that what is ordered never shares one; never by locks, for which
 * thread gets one first follows from how threads happened to run. Which windows are simulated follows from their number alone: all threads
 * skip the same ones. pthread_create() and the like are replaced for the program and all its libraries, since C++'s threads and OpenMP's
 * are created in theirs. */
#include "runs/inside/emulate/emulation.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#define ALIGNED_ACCESSES 256u	    /* of a thread that creates others, between one and the next */
#define OBITUARIES	 1024u	    /* threads whose end is remembered until they are joined */
#define STACK_BYTES	 (8u << 20) /* when no limit says how large a stack is */
#define THREAD_BYTES	 0x900u	    /* glibc's struct pthread, about */
#define MAIN_ABOVE	 (1u << 20) /* of the first thread's stack, above where we begin */

#define ALL_WINDOWS   8192u /* the first ones are all simulated, which costs a quarter of a second: short runs are seen whole */
#define BURST_WINDOWS (GROUP_WINDOWS / WINDOWS_A_SIMULATED) /* long enough for caches, at a place that no loop keeps step with */

struct obituary {
	pthread_t handle;
	uint64_t window;
};

static struct thread *threads[THREADS];
static uint64_t last_end; /* the latest window in which a thread has ended */
static struct spin lock;
static struct obituary obituaries[OBITUARIES];
static uint32_t n_obituaries, n_created;
static pthread_key_t at_end;

/* ---- locks ---- */

bool spin_try(struct spin *s)
{
	uint64_t signals = record_signals_block();

	if (__atomic_exchange_n(&s->held, 1, __ATOMIC_ACQUIRE) == 0) {
		s->signals = signals;
		return true;
	}
	record_signals_restore(signals);
	return false;
}

void spin_lock(struct spin *s)
{
	while (!spin_try(s))
		syscall(SYS_sched_yield);
}

void spin_unlock(struct spin *s)
{
	uint64_t signals = s->signals;

	__atomic_store_n(&s->held, 0, __ATOMIC_RELEASE);
	record_signals_restore(signals);
}

void threads_lock(void)
{
	spin_lock(&lock);
	busy_begin(BUSY_ALWAYS);
}

void threads_unlock(void)
{
	busy_end();
	spin_unlock(&lock);
}

/* ---- all threads ---- */

struct thread *thread_at(size_t i)
{
	return __atomic_load_n(&threads[i], __ATOMIC_ACQUIRE);
}

/* Under the lock: the horizon. */
static uint64_t threads_earliest(void)
{
	uint64_t first = meetings_horizon();

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

	threads_lock();
	first = threads_earliest();
	threads_unlock();
	return first;
}

/* The kernel's letter for a thread's state: 'R' when it runs or waits for a processor. */
static char thread_kernel_state(uint32_t id)
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
	return n > 0 ? text[n + 1] : '\0'; /* ") R"; more than two bytes follow */
}

bool threads_behind(const struct thread *self, bool at_work)
{
	bool any = false;

	for (size_t i = 0; i < THREADS && !any; i++) {
		const struct thread *t = thread_at(i);
		uint64_t at;

		if (!t || t == self || __atomic_load_n(&t->state, __ATOMIC_RELAXED) != THREAD_LIVE)
			continue;
		at = __atomic_load_n(&t->at, __ATOMIC_ACQUIRE);
		if (at < self->at && t->stalled_at != at + 1)
			any = !at_work ||
			      (!__atomic_load_n(&t->waits, __ATOMIC_RELAXED) &&
			       (t->id == 0 || __atomic_load_n(&t->pauses, __ATOMIC_RELAXED) || thread_kernel_state(t->id) == 'R'));
	}
	return any;
}

void threads_give_up(const struct thread *self)
{
	threads_lock();
	for (size_t i = 0; i < THREADS; i++) {
		struct thread *t = threads[i];

		if (t && t != self && t->state == THREAD_LIVE && __atomic_load_n(&t->at, __ATOMIC_ACQUIRE) < self->at)
			t->stalled_at = t->at + 1;
	}
	threads_unlock();
}

/* ---- logical time ---- */

static uint64_t burst_begin(uint64_t group)
{
	uint64_t x = group * 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
	return group * GROUP_WINDOWS + (x >> 60) * BURST_WINDOWS;
}

_Static_assert(GROUP_WINDOWS / BURST_WINDOWS == WINDOWS_A_SIMULATED && WINDOWS_A_SIMULATED == 1u << (64 - 60), "the place is as many bits");

/* What happens in it is counted. */
static bool window_counts(uint64_t window)
{
	uint64_t begin = burst_begin(window / GROUP_WINDOWS);

	return runtime.full || window < ALL_WINDOWS || (window >= begin && window < begin + BURST_WINDOWS);
}

/* One window before each burst brings the caches up to date, and does not count. */
static uint64_t window_next_simulated(uint64_t window)
{
	uint64_t group = window / GROUP_WINDOWS, begin = burst_begin(group);

	if (window_counts(window) || window_counts(window + 1))
		return window;
	return (window < begin ? begin : burst_begin(group + 1)) - 1;
}

uint32_t window_burst(uint64_t window)
{
	return runtime.full || window < ALL_WINDOWS ? 0 : (uint32_t)(window / GROUP_WINDOWS + 1);
}

/* ---- how far the thread is ---- */

static uint32_t window_used(const struct thread *t)
{
	return t->hot->simulating ? WINDOW_ACCESSES - (uint32_t)t->window_left : 0;
}

static void counts_read(const struct thread *t, struct counts *out)
{
	uint64_t blocks = counts_blocks(t, t->hot);

	*out = t->counts;
	out->exact[COUNT_ACCESSES] = counts_accesses(t, t->hot);
	out->exact[COUNT_SIMULATED] += t->weight ? window_used(t) : 0;
	out->weighed[COUNT_ACCESSES] += (uint64_t)window_used(t) * t->weight;
	out->weighed[COUNT_BLOCKS] += t->hot->simulating ? (blocks - t->window_blocks) * t->weight : 0;
	out->exact[COUNT_BLOCKS] = blocks;
	out->exact[COUNT_ATOMICS] = t->hot->atomics;
	out->exact[COUNT_SYSTEM_CALLS] = *t->system_calls;
	out->exact[COUNT_ALLOCATIONS] = t->hot->allocations;
	out->exact[COUNT_ALLOCATED_BYTES] = t->hot->allocated_bytes;
	out->exact[COUNT_COPIED_BYTES] = t->hot->copied_bytes;
	out->exact[COUNT_WAITED] = t->hot->waited;
	__asm__ volatile("" ::: "memory");
}

void counts_now(const struct thread *t, struct counts *out)
{
	uint64_t window;

	do {
		window = __atomic_load_n(&t->window, __ATOMIC_ACQUIRE);
		counts_read(t, out);
	} while (t == hot.thread && t->window != window); /* a handler has begun another one */
}

/* Accesses of the stretch that is being skipped that are still to come. */
static uint64_t skipped_left(void)
{
	return hot.simulating || hot.left < 0 ? 0 : (uint64_t)hot.left;
}

uint64_t window_after(const struct thread *t)
{
	return hot.simulating ? t->window + 1 : t->window - skipped_left() / WINDOW_ACCESSES;
}

/* The window that the thread is in, and how many accesses it made there. */
static uint64_t window_now(const struct thread *t, uint32_t *used)
{
	uint64_t left = skipped_left();

	*used = hot.simulating ? window_used(t) : (uint32_t)(-left % WINDOW_ACCESSES);
	return hot.simulating ? t->window : t->window - (left + WINDOW_ACCESSES - 1) / WINDOW_ACCESSES;
}

/* ---- from window to window ---- */

/* Other threads than the calling one may touch something in the window. It is not enough to ask which threads are alive: those that have
 * ended may have been ahead. */
static bool threads_meet_in(uint64_t window)
{
	return __atomic_load_n(&runtime.alive, __ATOMIC_ACQUIRE) > 1 || window < __atomic_load_n(&last_end, __ATOMIC_RELAXED);
}

static void burst_enter(struct thread *t, uint32_t burst)
{
	if (t->burst == burst)
		return;
	callees_burst_end(t, false);
	simulate_burst(t);
	t->burst = burst;
}

void window_begin(struct thread *t, uint64_t window)
{
	uint64_t simulated = window_next_simulated(window);

	t->window = simulated;
	__atomic_store_n(&t->at, simulated, __ATOMIC_RELEASE);
	if (simulated == window) {
		burst_enter(t, window_burst(window_counts(window) ? window : window + 1));
		t->window_left = WINDOW_ACCESSES;
		t->granted = WINDOW_ACCESSES;
		t->blocks_granted = 0;
		t->window_blocks = t->counts.exact[COUNT_BLOCKS];
		t->weight = !window_counts(window) ? 0 : t->burst ? WINDOWS_A_SIMULATED : 1;
		t->stamp++;
		t->records = t->weight > 0 && threads_meet_in(window);
		simulate_anew(t);
		hot.left = 0;
		hot.blocks_left = 0;
		hot.simulating = 1;
		return;
	}
	t->granted = (simulated - window) * WINDOW_ACCESSES;
	hot.blocks_left = BLOCKS_GRANTED;
	hot.left = (int64_t)t->granted;
	hot.simulating = 0;
}

void window_close(struct thread *t)
{
	bool simulated = hot.simulating;

	if (simulated) {
		callees_account(t);
		t->counts.exact[COUNT_SIMULATED] += t->weight ? window_used(t) : 0;
		t->counts.weighed[COUNT_ACCESSES] += (uint64_t)window_used(t) * t->weight;
		t->counts.weighed[COUNT_BLOCKS] += (counts_blocks(t, &hot) - t->window_blocks) * t->weight;
	}
	t->counts.exact[COUNT_ACCESSES] = counts_accesses(t, &hot);
	t->counts.exact[COUNT_BLOCKS] = counts_blocks(t, &hot);
	hot.library = 0;
	hot.simulating = 0;
	t->granted = 0;
	t->window_left = 0;
	hot.left = 0;
	t->blocks_granted = hot.blocks_left = BLOCKS_GRANTED;
	if (simulated)
		evaluate_append(t);
}

/* ---- one thread ---- */

static bool thread_is_evaluated(const struct thread *t)
{
	return t->state == THREAD_ENDED && queue_is_empty(&t->log_queue) && queue_is_empty(&t->ended_queue);
}

/* Its tables stay, everything else begins anew. */
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
		.latest = old.latest,
		.log = old.log,
		.log_mask = old.log_mask,
		.clock = old.clock,
		.clock_places = old.clock_places,
	};
}

/* Under the lock: a thread that will begin with that window. NULL: there are too many. */
static struct thread *thread_new(uint64_t window)
{
	struct thread *t = NULL;
	size_t i;

	for (i = 0; i < THREADS && thread_at(i) && thread_at(i)->state != THREAD_FREE && !thread_is_evaluated(thread_at(i)); i++)
		;
	if (i < THREADS)
		t = thread_at(i) ? thread_at(i) : pages_map(sizeof(*t));
	if (!t)
		return NULL;
	thread_clear(t);
	if (!simulate_init(t) || !frames_init(t))
		return NULL;
	t->number = n_created++;
	runtime.several = n_created > 1;
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
	hot = (struct hot){ .thread = t, .busy = BUSY_ONCE | BUSY_ALWAYS, .blocks_left = BLOCKS_GRANTED };
	system_calls = 0;
	t->hot = &hot;
	t->blocks_granted = BLOCKS_GRANTED;
	t->id = (uint32_t)syscall(SYS_gettid);
	t->system_calls = &system_calls;
	pthread_setspecific(at_end, t);
	clock_begin(t);
	window_begin(t, t->resume);
	t->invocations[0].start = record_ticks();
	hot.busy = 0;
}

void thread_resume(struct thread *t, uint64_t window)
{
	t->resume = window > t->resume ? window : t->resume;
	__atomic_store_n(&t->at, window_next_simulated(t->resume), __ATOMIC_RELEASE);
	t->state = THREAD_LIVE;
}

/* Under the lock: the thread no longer waits for another's end. */
static void joins_forget(const struct thread *joiner)
{
	for (size_t i = 0; i < THREADS; i++) {
		struct thread *t = thread_at(i);

		if (t && t->joiner == joiner)
			t->joiner = NULL;
	}
}

/* Stacks are used again, with the thread-local storage that glibc keeps above them. */
static void stack_begins(const struct thread *t)
{
	uintptr_t page = 1u << PAGE_BITS, end = ((uintptr_t)pthread_self() + THREAD_BYTES + page - 1) / page * page;

	if (t->stack_bytes)
		memory_begins(end - t->stack_bytes, t->stack_bytes);
}

/* The calling thread ends. */
static void thread_leave(struct thread *t)
{
	uint64_t window;

	waiting_stop();
	busy_begin(BUSY_ALWAYS);
	window = window_after(t);
	window_close(t);
	frames_unwind_all(t);
	clock_end(t);
	hot = (struct hot){ .left = INT64_MAX, .blocks_left = BLOCKS_GRANTED };
	stack_begins(t);
	threads_lock();
	t->state = THREAD_ENDED;
	if (window > last_end)
		__atomic_store_n(&last_end, window, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&runtime.alive, 1, __ATOMIC_RELAXED);
	obituaries[n_obituaries++ % OBITUARIES] = (struct obituary){ pthread_self(), window };
	joins_forget(t);
	if (t->joiner)
		thread_resume(t->joiner, window);
	t->joiner = NULL;
	threads_unlock();
	evaluate_now();
}

/* Destructors of other keys may still run the program's code: ours comes last. */
static void thread_on_end(void *thread)
{
	struct thread *t = thread;

	if (hot.thread != t)
		return;
	if (++t->rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(at_end, t);
	else
		thread_leave(t);
}

/* A thread that was created without us: in a library, before the start. */
struct thread *thread_attach(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	struct thread *t;

	if (!runtime.on)
		return NULL;
	threads_lock();
	t = thread_new(n_created == 0 ? 0 : threads_earliest());
	if (!t)
		runtime.not_simulated++;
	threads_unlock();
	if (t)
		thread_enter(t, here - stack_limit(), here + MAIN_ABOVE);
	return t;
}

/* ---- clocks ---- */

uint64_t thread_advance(struct thread *t, uint64_t window)
{
	uint64_t own, next;

	waiting_stop();
	own = window_after(t);
	next = own > window ? own : window;
	busy_begin(BUSY_ALWAYS);
	window_close(t);
	window_begin(t, next);
	busy_end();
	return next;
}

void thread_wait_begin(struct thread *t)
{
	waiting_stop();
	busy_begin(BUSY_ALWAYS);
	t->resume = window_after(t);
	window_close(t);
}

void thread_wait_end(struct thread *t)
{
	window_begin(t, t->resume);
	busy_end();
}

/* ---- creation and joining ---- */

/* Threads that are created one right after the other work side by side: they get the same window. NULL: the new thread will not
 * be simulated. stack_bytes 0: the default. */
static struct thread *thread_create_begin(size_t stack_bytes)
{
	struct thread *t, *self = hot.thread;
	uint64_t window;
	uint32_t used;
	bool stays;

	if (!self || hot.busy)
		return NULL;
	waiting_stop();
	busy_begin(BUSY_ALWAYS);
	window = window_now(self, &used);
	stays = used <= ALIGNED_ACCESSES && threads_meet_in(window);
	if (!stays) {
		window = window_after(self);
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
		window_begin(self, window); /* with one more to meet */
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

/* Called by the creator and by the thread itself, in either order; by the time the creator comes, the struct may be another
 * thread's. */
static void thread_known(struct thread *t, uint32_t number, pthread_t handle)
{
	threads_lock();
	if (t->number == number && !t->has_handle) {
		t->handle = handle;
		t->has_handle = true;
	}
	threads_unlock();
}

/* In the new thread. */
static void thread_created(struct thread *t)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	thread_known(t, t->number, pthread_self());
	stack_begins(t);
	thread_enter(t, here - t->stack_bytes, here + (1u << PAGE_BITS));
}

/* Under the lock: the window in which the thread with that handle ended; 0: none is known. */
static uint64_t thread_ended_in(pthread_t handle)
{
	for (uint32_t i = n_obituaries; i > 0 && i + OBITUARIES > n_obituaries; i--)
		if (pthread_equal(obituaries[(i - 1) % OBITUARIES].handle, handle))
			return obituaries[(i - 1) % OBITUARIES].window;
	return 0;
}

static struct thread *thread_find_live(pthread_t handle)
{
	for (size_t i = 0; i < THREADS; i++) {
		struct thread *t = thread_at(i);

		if (t && t->has_handle && (t->state == THREAD_LIVE || t->state == THREAD_WAITING) && pthread_equal(t->handle, handle))
			return t;
	}
	return NULL;
}

/* False: thread_join_end() must not follow. */
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
	joins_forget(self);
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
		thread_known(t, number, *thread);
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
		thread_known(t, number, *thread);
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

/* In the child: only the calling thread is there. */
static void threads_fork(void)
{
	struct thread *self = hot.thread;

	threads_unlock(); /* which this thread has locked */
	n_obituaries = 0;
	last_end = 0;
	if (self)
		self->handle = pthread_self();
	for (size_t i = 0; i < THREADS; i++) {
		if (threads[i] && threads[i] != self)
			threads[i]->state = THREAD_FREE;
	}
	runtime.alive = self ? 1 : 0;
	clock_fork(self);
	meetings_fork();
}

void threads_init(void)
{
	pthread_atfork(threads_lock, threads_unlock, threads_fork);
	pthread_key_create(&at_end, thread_on_end);
}

void threads_finish(void)
{
	if (hot.thread)
		thread_leave(hot.thread);
}

/* All threads: which there are, and how far each has come. */
#include "runs/inside/emulate/emulate.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct thread *threads[THREADS];
static uint64_t last_end; /* window in which the last one of those that have ended has */
static struct spin lock;

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

void threads_put(size_t i, struct thread *t)
{
	__atomic_store_n(&threads[i], t, __ATOMIC_RELEASE);
}

uint64_t threads_earliest(void)
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
	first = threads_earliest();
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

void threads_ended_with(uint64_t window)
{
	if (window > last_end)
		__atomic_store_n(&last_end, window, __ATOMIC_RELAXED);
}

/* ---- fork ---- */

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
	thread_fork();
	last_end = 0;
	for (size_t i = 0; i < THREADS; i++) {
		if (threads[i] && threads[i] != self)
			threads[i]->state = THREAD_FREE;
	}
	runtime.alive = self ? 1 : 0;
}

/* Potential HITM: what threads that touch a line in the same window of logical time may cost each other, whatever the order in
 * which they happened to run. Of N accesses to the line, thread t made n and thread u r reads and w writes: in a random order,
 * before an access of t the last one that was not a read of u is a write of u with probability (w / N) / (1 - r / N); summed over
 * t's accesses and the other threads. It is true sharing when u wrote words that t touched, else false sharing.
 *
 * A window is evaluated once no thread can touch it any more; then samples whose windows are all evaluated are written
 * (frames.c). */
#include "runs/inside/emulate/emulate.h"

#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOG_TOUCHES      (1u << 18) /* of one thread: 8 MiB... */
#define LOG_TOUCHES_LESS (1u << 14) /* ...or, after the first LARGE_LOGS threads, 512 KiB */
#define LARGE_LOGS       32u
#define DUE_WINDOWS      64u        /* windows that a thread closes between one evaluation and the next */
#define WAIT_NS          1000000    /* for threads that are behind, when the log is full */
#define WAITS_MAX        20000u     /* so often at most... */
#define WAITS_IDLE       20u        /* ...and so often in a row when none of them is at work */
#define SHARERS          (1u << 18) /* (line, thread) pairs of one window */

/* What one thread did to a line in the window. */
struct sharer {
	uint32_t thread, next;
	uint32_t reads, writes, write_words;
};

struct line {
	uint64_t line;
	uint32_t stamp, accesses, first; /* of sharers, NONE ends */
	uint32_t n_sharers;
};

static struct line *lines;     /* [SHARERS], by hash */
static struct sharer *sharers; /* [SHARERS / 2] */
static uint32_t n_sharers, stamp;
static struct spin lock;

/* ---- the log of a thread ---- */

static void log_put(struct thread *t, const struct touch *touch)
{
	t->log[t->log_queue.tail & t->log_mask] = *touch;
}

static uint64_t log_room(const struct thread *t)
{
	return t->log_mask + 1 - (t->log_queue.tail - __atomic_load_n(&t->log_queue.head, __ATOMIC_ACQUIRE));
}

static bool log_ready(struct thread *t)
{
	uint64_t touches = t->number < LARGE_LOGS ? LOG_TOUCHES : LOG_TOUCHES_LESS;

	if (t->log)
		return true;
	t->log = pages_map(touches * sizeof(*t->log));
	t->log_mask = touches - 1;
	return t->log != NULL;
}

/* The window at the head of the log, UINT64_MAX: empty. */
static uint64_t log_window(const struct thread *t)
{
	uint64_t head = t->log_queue.head;

	return t->log && head != __atomic_load_n(&t->log_queue.tail, __ATOMIC_ACQUIRE) ? t->log[head & t->log_mask].window
	                                                                               : UINT64_MAX;
}

/* ---- one window ---- */

/* The line's place in the table; its stamp is another one as long as it is not there. */
static struct line *line_at(uint64_t number)
{
	uint32_t i = (uint32_t)((number * 0x9e3779b97f4a7c15u) >> 40) % SHARERS;

	while (lines[i].stamp == stamp && lines[i].line != number)
		i = (i + 1) % SHARERS;
	return &lines[i];
}

static void line_add(uint32_t thread, const struct touch *touch)
{
	struct line *line = line_at(touch->line);
	struct sharer *s;

	if (n_sharers == SHARERS / 2) {
		runtime.dropped++;
		return;
	}
	if (line->stamp != stamp)
		*line = (struct line){.line = touch->line, .stamp = stamp, .first = NONE};
	s = line->first == NONE ? NULL : &sharers[line->first];
	if (!s || s->thread != thread) { /* threads come one after the other */
		s = &sharers[n_sharers];
		*s = (struct sharer){.thread = thread, .next = line->first};
		line->first = n_sharers++;
		line->n_sharers++;
	}
	s->reads += touch->n[ACCESS_READ];
	s->writes += touch->n[ACCESS_WRITE];
	s->write_words |= touch->words[ACCESS_WRITE];
	line->accesses += (uint32_t)touch->n[ACCESS_READ] + touch->n[ACCESS_WRITE];
}

/* What the others may cost the thread at this line. */
static void touch_evaluate(struct thread *t, uint32_t thread, const struct touch *touch, uint32_t weight)
{
	const struct line *line = line_at(touch->line);
	double n = (double)touch->n[ACCESS_READ] + touch->n[ACCESS_WRITE], all = line->accesses;
	uint32_t words = (uint32_t)(touch->words[ACCESS_READ] | touch->words[ACCESS_WRITE]);

	if (line->stamp != stamp || line->n_sharers < 2)
		return;
	for (uint32_t i = line->first; i != NONE; i = sharers[i].next) {
		const struct sharer *s = &sharers[i];

		if (s->thread != thread && s->writes > 0)
			t->invocations[touch->invocation].hitm[words & s->write_words ? 0 : 1] +=
			    weight * n * s->writes / (all - s->reads);
	}
}

/* Every thread's touches of this window: sums first, then what follows. */
static void window_evaluate(uint64_t window, bool alone)
{
	stamp++;
	n_sharers = 0;
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t k = 0; k < THREADS; k++) {
			struct thread *t = thread_at(k);
			uint64_t head;
			struct touch w;

			if (!t || log_window(t) != window)
				continue;
			head = t->log_queue.head;
			w = t->log[head & t->log_mask];
			for (uint32_t i = 1; i <= w.n_touches && !alone; i++) {
				const struct touch *touch = &t->log[(head + i) & t->log_mask];

				if (pass == 0)
					line_add(k, touch);
				else
					touch_evaluate(t, k, touch, w.stamp);
			}
			if (pass == 1)
				__atomic_store_n(&t->log_queue.head, head + 1 + w.n_touches, __ATOMIC_RELEASE);
		}
	}
}

/* ---- all windows ---- */

static void evaluate_to(uint64_t horizon)
{
	for (;;) {
		uint64_t first = UINT64_MAX;
		unsigned n = 0;

		for (size_t i = 0; i < THREADS; i++) {
			struct thread *t = thread_at(i);
			uint64_t window = t ? log_window(t) : UINT64_MAX;

			n = window < first ? 1 : n + (window == first);
			first = window < first ? window : first;
		}
		if (first >= horizon)
			break;
		window_evaluate(first, n == 1);
	}
	for (size_t i = 0; i < THREADS; i++) {
		struct thread *t = thread_at(i);

		if (t)
			frames_write_samples(t, horizon);
	}
}

static bool tables_ready(void)
{
	if (!lines)
		lines = pages_map(SHARERS * sizeof(*lines));
	if (!sharers)
		sharers = pages_map(SHARERS / 2 * sizeof(*sharers));
	return lines && sharers;
}

bool evaluate_now(void)
{
	if (!spin_try(&lock))
		return false;
	if (tables_ready())
		evaluate_to(threads_horizon());
	spin_unlock(&lock);
	return true;
}

void evaluate_all(void)
{
	spin_lock(&lock);
	if (tables_ready())
		evaluate_to(UINT64_MAX);
	for (size_t i = 0; i < THREADS; i++) {
		struct thread *t = thread_at(i);

		if (t && (t->state == THREAD_LIVE || t->state == THREAD_WAITING) && t->hot)
			frames_write_unfinished(t);
	}
	spin_unlock(&lock);
}

static bool has_room(const struct thread *t, uint64_t touches)
{
	return log_room(t) >= touches && !queue_is_empty(&t->free_queue);
}

void evaluate_wait(struct thread *t, uint64_t touches)
{
	static const struct timespec pause = {0, WAIT_NS};
	unsigned idle = 0;

	__atomic_store_n(&t->pauses, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < WAITS_MAX && idle < WAITS_IDLE; i++) {
		bool evaluated = evaluate_now();

		if (has_room(t, touches))
			break;
		idle = !evaluated || threads_come(t) ? 0 : idle + 1;
		syscall(SYS_nanosleep, &pause, NULL);
	}
	__atomic_store_n(&t->pauses, false, __ATOMIC_RELAXED);
	if (has_room(t, touches))
		return;
	threads_give_up(t);
	spin_lock(&lock);
	if (tables_ready())
		evaluate_to(threads_horizon());
	runtime.forced++;
	spin_unlock(&lock);
}

static void log_window_end(struct thread *t)
{
	struct touch head = {.window = t->window, .n_touches = t->n_touches, .stamp = t->weight};
	uint64_t n = t->n_touches;

	t->n_touches = 0;
	if (!log_ready(t))
		return;
	if (log_room(t) < n + 1)
		evaluate_wait(t, n + 1);
	if (log_room(t) < n + 1) {
		__atomic_fetch_add(&runtime.dropped, n, __ATOMIC_RELAXED);
		return;
	}
	log_put(t, &head);
	for (uint64_t i = 0; i < n; i++)
		t->log[(t->log_queue.tail + 1 + i) & t->log_mask] = t->touches[t->touched[i]];
	__atomic_store_n(&t->log_queue.tail, t->log_queue.tail + 1 + n, __ATOMIC_RELEASE);
}

void evaluate_append(struct thread *t)
{
	if (t->n_touches > 0)
		log_window_end(t);
	if (t->stamp % DUE_WINDOWS == 0)
		evaluate_now();
}

void evaluate_lock(void)
{
	spin_lock(&lock);
}

void evaluate_unlock(void)
{
	spin_unlock(&lock);
}

/* In the child: what was not evaluated is the parent's. */
void evaluate_fork(void)
{
	lock = (struct spin){0};
	for (size_t i = 0; i < THREADS; i++) {
		struct thread *t = thread_at(i);

		if (!t)
			continue;
		t->log_queue = (struct queue){0, 0};
		t->n_touches = 0;
		t->ended_queue = (struct queue){0, 0};
		t->record = (struct record_thread){0}; /* its chunk is in the parent's file */
	}
}

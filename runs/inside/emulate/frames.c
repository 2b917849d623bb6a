/* Functions that are active, which of their invocations become samples, and the samples. Whatever happens in a call that is not
 * sampled belongs to the innermost one that is. longjmp() and frames of other stacks are noticed by the stack's address. */
#include "runs/inside/emulate/emulate.h"

#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FRAMES		 (1u << 18)
#define INVOCATIONS	 1024u	/* of a thread, waiting for their windows to be evaluated */
#define CALLEES		 16384u /* functions that one thread calls */
#define ALWAYS_SAMPLED	 64u	/* first calls of a function, simulated or not */
#define SAMPLES_A_STEP	 512u	/* after so many, half as many calls are sampled */
#define LARGE_ACCESSES	 8192u	/* in an invocation: it need not wait for a simulated window */
#define FEW_ACCESSES	 100u	/* simulated: what rests on fewer is not counted */
#define VALUE_MAX	 1e18
#define LOG_TOUCHES	 (1u << 18) /* of one thread: 8 MiB... */
#define LOG_TOUCHES_LESS (1u << 14) /* ...or, after the first LARGE_LOGS threads, 512 KiB */
#define LARGE_LOGS	 32u
#define DUE_WINDOWS	 64u	    /* windows that a thread closes between one evaluation and the next */
#define WAIT_NS		 1000000    /* for threads that are behind, when the log is full */
#define WAITS_MAX	 20000u	    /* so often at most... */
#define WAITS_IDLE	 20u	    /* ...and so often in a row when none of them is at work */
#define SHARERS		 (1u << 18) /* (line, thread) pairs of one window */

/* An active function. */
struct frame {
	uintptr_t stack;     /* its stack pointer: deeper is lower */
	uint32_t invocation; /* that accesses belonged to before it */
	uint32_t block;	     /* that called it */
	uint32_t callee;     /* NONE: not selected */
	bool sampled;
};

/* What a thread knows about a function that it calls. */
struct callee {
	uintptr_t site;		/* return address of __tsan_func_entry() in it; 0: free */
	uint32_t function;	/* NONE: not selected */
	uint32_t step;		/* one call in so many is sampled */
	uint32_t sampled;	/* since the step was last changed */
	bool large;		/* so many accesses that it meets simulated windows wherever it begins */
	uint64_t ordinal, next; /* of the next call, of the next sampled one */
	uint64_t accounted;	/* calls for which samples stand */
};

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

/* ---- counts ---- */

/* From the counts at its start to what it counted. */
static void counts_end(const struct thread *t, struct counts *c)
{
	struct counts now;

	counts_now(t, &now);
	for (size_t i = 0; i < sizeof(now.exact) / sizeof(now.exact[0]); i++)
		c->exact[i] = now.exact[i] - c->exact[i];
	for (size_t i = 0; i < COUNTERS; i++)
		c->weighed[i] = now.weighed[i] - c->weighed[i];
}

/* ---- invocations ---- */

static void evaluate_wait(struct thread *t, uint64_t touches);

/* All invocations are at work, or ended in the window that this thread itself has not ended: no other thread can free one. */
static bool window_has_all(const struct thread *t)
{
	const struct queue *ended = &t->ended_queue;
	uint64_t oldest = __atomic_load_n(&ended->head, __ATOMIC_ACQUIRE);

	return oldest == ended->tail || t->invocations[t->ended_ones[oldest % INVOCATIONS]].last_window >= t->window;
}

static uint32_t invocation_new(struct thread *t)
{
	struct queue *q = &t->free_queue;
	uint32_t i;

	if (queue_is_empty(q) && !window_has_all(t))
		evaluate_wait(t, 0); /* which calls are samples must not depend on which thread happens to be behind */
	if (queue_is_empty(q))
		return NONE;
	i = t->free_ones[q->head % INVOCATIONS];
	__atomic_store_n(&q->head, q->head + 1, __ATOMIC_RELEASE);
	return i;
}

static void invocation_end(struct thread *t, struct invocation *invocation)
{
	invocation->duration = record_ticks() - invocation->start;
	invocation->threads = __atomic_load_n(&runtime.alive, __ATOMIC_RELAXED);
	invocation->last_window = t->granted > 0 ? t->window - 1 : t->window; /* in a stretch that is skipped, it is the next one */
	counts_end(t, &invocation->counts);
}

/* From here on it belongs to the thread that evaluates. */
static void invocation_give(struct thread *t, uint32_t i)
{
	struct queue *q = &t->ended_queue;

	t->ended_ones[q->tail % INVOCATIONS] = i;
	__atomic_store_n(&q->tail, q->tail + 1, __ATOMIC_RELEASE); /* there are never more than places */
}

/* It stands for all calls since the last sample. */
static void sample_begin(struct thread *t, struct frame *f, struct callee *callee, uint64_t ordinal)
{
	struct invocation *invocation;
	uint32_t i;

	BUSY_HERE();
	i = invocation_new(t);
	hot.busy--;
	if (i == NONE)
		return;
	invocation = &t->invocations[i];
	*invocation = (struct invocation){
		.function = callee->function,
		.weight = (uint32_t)(ordinal + 1 - callee->accounted),
		.ordinal = ordinal,
		.depth = t->depth++,
		.parent = t->invocation,
		.keep = true,
	};
	callee->accounted = ordinal + 1;
	f->sampled = true;
	t->invocation = i;
	simulate_anew(t);
	counts_now(t, &invocation->counts);
	invocation->start = record_ticks();
}

/* The more calls there are, the fewer of them are sampled. */
static void callee_sampled(struct callee *callee, uint64_t ordinal)
{
	if (++callee->sampled == SAMPLES_A_STEP) {
		callee->sampled = 0;
		callee->step *= 2;
	}
	if (callee->next < ordinal + callee->step)
		callee->next = ordinal + callee->step;
}

/* An invocation that was never simulated says little, unless calls are few. */
static void sample_end(struct thread *t, const struct frame *f, uint32_t flags)
{
	struct invocation *invocation = &t->invocations[t->invocation];
	struct callee *callee = &t->callees[f->callee];

	invocation_end(t, invocation);
	invocation->flags |= flags;
	invocation->keep = invocation->counts.exact[COUNT_SIMULATED] > 0 || invocation->ordinal < ALWAYS_SAMPLED;
	callee->large = invocation->counts.exact[COUNT_ACCESSES] >= LARGE_ACCESSES;
	if (invocation->keep)
		callee_sampled(callee, invocation->ordinal);
	else if (callee->accounted > invocation->weight)
		callee->accounted -= invocation->weight; /* the next sample stands for these calls, too */
	invocation_give(t, t->invocation);
}

/* ---- callees ---- */

static uint32_t callee_hash(uintptr_t site)
{
	return (uint32_t)((site * 0x9e3779b97f4a7c15u) >> 40) % CALLEES;
}

/* NONE: there are too many. */
static uint32_t callee_new(struct thread *t, uintptr_t site)
{
	uint32_t i = callee_hash(site);

	while (t->callees[i].site != 0 && t->callees[i].site != site)
		i = (i + 1) % CALLEES;
	if (t->callees[i].site == site)
		return i;
	if (t->n_callees >= CALLEES / 2)
		return NONE;
	t->n_callees++;
	BUSY_HERE();
	t->callees[i] = (struct callee){ .site = site, .function = function_number(site), .step = 1 };
	hot.busy--;
	return i;
}

static inline uint32_t callee_of(struct thread *t, uintptr_t site)
{
	uint32_t i = callee_hash(site);

	return LIKELY(t->callees[i].site == site) ? i : callee_new(t, site);
}

/* ---- frames ---- */

static inline bool on_own_stack(const struct thread *t, uintptr_t stack)
{
	return stack >= t->stack_low && stack < t->stack_high;
}

/* A handler may run at any moment, and a coroutine that it switches to may leave frames or take some: each reads their number once. */
static inline uint32_t frames_number(const struct thread *t)
{
	return __atomic_load_n(&t->n_frames, __ATOMIC_RELAXED);
}

static void frame_drop(struct thread *t, uint32_t flags)
{
	uint32_t n = frames_number(t);
	struct frame *f;

	if (n == 0)
		return;
	f = &t->frames[n - 1];
	t->n_frames = n - 1;
	if (f->sampled) {
		t->depth--;
		sample_end(t, f, flags);
		simulate_anew(t);
	}
	t->invocation = f->invocation;
	t->block = f->block;
}

/* longjmp() left the top frame: a function's frame lies below its caller's. */
static inline bool top_is_below(const struct thread *t, uintptr_t stack)
{
	uint32_t n = frames_number(t);
	uintptr_t top = n > 0 ? t->frames[n - 1].stack : UINTPTR_MAX;

	return top < stack && on_own_stack(t, stack) && on_own_stack(t, top);
}

/* We are at work; not if a handler has jumped out of that: the stack would be below. The window that was at work begins anew. */
static bool is_busy(struct thread *t, uintptr_t stack)
{
	if (!on_own_stack(t, stack) || !on_own_stack(t, hot.busy_at) || stack <= hot.busy_at)
		return true;
	hot.busy = 0;
	__atomic_store_n(&t->pauses, false, __ATOMIC_RELAXED);
	return false;
}

void frames_enter(struct thread *t, uintptr_t site, uintptr_t stack)
{
	struct callee *callee;
	struct frame *f;
	uint64_t ordinal;
	uint32_t n;

	if (UNLIKELY(hot.busy) && is_busy(t, stack))
		return;
	while (UNLIKELY(top_is_below(t, stack + 1)))
		frame_drop(t, RECORD_UNWOUND);
	n = frames_number(t);
	if (UNLIKELY(n == FRAMES)) {
		t->lost_frames++;
		return;
	}
	f = &t->frames[n];
	*f = (struct frame){ stack, t->invocation, t->block, callee_of(t, site), false };
	__asm__ volatile("" ::: "memory"); /* whole before it counts: a handler may jump away */
	t->n_frames = n + 1;
	t->block = 0;
	if (f->callee == NONE)
		return;
	callee = &t->callees[f->callee];
	if (callee->function == NONE) {
		f->callee = NONE;
		return;
	}
	ordinal = callee->ordinal++;
	if (UNLIKELY(ordinal >= callee->next && (hot.simulating || callee->large || ordinal < ALWAYS_SAMPLED)))
		sample_begin(t, f, callee, ordinal);
	if (!f->sampled)
		t->invocations[t->invocation].flags |= RECORD_ESTIMATED;
}

/* Whether the hook was called from the function, or jumped to by its last instruction, when its stack was already given back. */
static bool is_called(uintptr_t back, uintptr_t hook)
{
	const unsigned char *instruction = (const unsigned char *)back - 5;
	int32_t distance;

	memcpy(&distance, instruction + 1, sizeof(distance));
	return instruction[0] == 0xe8 && back + (uintptr_t)(intptr_t)distance == hook;
}

/* What lies below the hook's own frame has ended: by longjmp(), but for the function itself, where the hook was jumped to. */
void frames_leave(struct thread *t, uintptr_t stack, uintptr_t back, uintptr_t hook)
{
	bool ended = false;

	if (UNLIKELY(hot.busy) && is_busy(t, stack))
		return;
	if (UNLIKELY(t->lost_frames > 0)) {
		t->lost_frames--;
		return;
	}
	if (top_is_below(t, stack)) {
		bool called = is_called(back, hook);

		while (top_is_below(t, stack)) {
			uint32_t n = frames_number(t);
			bool is_last = n < 2 || t->frames[n - 2].stack >= stack;

			ended = is_last && !called;
			frame_drop(t, ended ? 0 : RECORD_UNWOUND);
		}
	}
	if (!ended)
		frame_drop(t, 0);
}

/* ---- the thread itself ---- */

static void invocations_reset(struct thread *t)
{
	for (uint32_t i = 0; i < INVOCATIONS - 1; i++)
		t->free_ones[i] = i + 1; /* 0 is the thread */
	t->free_queue = (struct queue){ 0, INVOCATIONS - 1 };
	t->ended_queue = (struct queue){ 0, 0 };
	t->invocation = 0;
	t->invocations[0] = (struct invocation){ .function = NONE, .parent = NONE };
}

bool frames_init(struct thread *t)
{
	if (!t->frames)
		t->frames = pages_map(FRAMES * sizeof(*t->frames));
	if (t->callees)
		memset(t->callees, 0, CALLEES * sizeof(*t->callees));
	else
		t->callees = pages_map(CALLEES * sizeof(*t->callees));
	if (!t->invocations)
		t->invocations = pages_map(INVOCATIONS * (sizeof(*t->invocations) + 2 * sizeof(uint32_t)));
	if (!t->frames || !t->callees || !t->invocations)
		return false;
	t->free_ones = (uint32_t *)(void *)(t->invocations + INVOCATIONS);
	t->ended_ones = t->free_ones + INVOCATIONS;
	t->n_frames = t->lost_frames = t->depth = t->n_callees = 0;
	invocations_reset(t);
	return true;
}

void frames_unwind_all(struct thread *t)
{
	while (t->n_frames > 0)
		frame_drop(t, RECORD_UNWOUND);
	t->lost_frames = 0;
	invocation_end(t, &t->invocations[0]);
	invocation_give(t, 0);
}

/* After fork(): what is active began in another process. */
static void frames_forget(struct thread *t)
{
	for (uint32_t i = 0; i < t->n_frames; i++) {
		t->frames[i].sampled = false;
		t->frames[i].invocation = 0;
		t->frames[i].callee = NONE;
	}
	t->depth = 0;
	memset(t->callees, 0, CALLEES * sizeof(*t->callees));
	t->n_callees = 0;
	simulate_anew(t);
	invocations_reset(t);
	counts_now(t, &t->invocations[0].counts);
}

/* ---- samples ---- */

static uint64_t counts_round(double x)
{
	return x < VALUE_MAX ? (uint64_t)(x + .5) : UINT64_MAX - 1;
}

void counts_values(const struct counts *c, const double hitm[2], uint64_t *values)
{
	double accesses = (double)c->exact[COUNT_ACCESSES], blocks = (double)c->exact[COUNT_BLOCKS];
	double per_access = c->weighed[COUNT_ACCESSES] ? accesses / (double)c->weighed[COUNT_ACCESSES] : 0;
	double per_block = c->weighed[COUNT_BLOCKS] ? blocks / (double)c->weighed[COUNT_BLOCKS] : 0;
	bool counted = c->exact[COUNT_SIMULATED] >= FEW_ACCESSES || c->exact[COUNT_SIMULATED] == c->exact[COUNT_ACCESSES];

	memcpy(values, c->exact, sizeof(c->exact));
	for (size_t i = COUNT_HITM_SEEN; i < COUNTERS; i++)
		values[i] = counts_round((double)c->weighed[i] * (i == COUNT_BRANCH_MISSES ? per_block : per_access));
	values[COUNT_HITM_TRUE] = counts_round(1000 * hitm[0] * per_access);
	values[COUNT_HITM_FALSE] = counts_round(1000 * hitm[1] * per_access);
	for (size_t i = COUNT_SIMULATED + 1; i < COUNTERS && !counted; i++)
		values[i] = UINT64_MAX;
}

static void sample_write(struct thread *t, const struct invocation *invocation)
{
	struct record_sample *sample = record_begin(&runtime.writer, &t->record);

	if (!sample)
		return;
	*sample = (struct record_sample){
		.function = invocation->function,
		.weight = invocation->weight,
		.ordinal = invocation->ordinal,
		.start = invocation->start,
		.duration = invocation->duration,
		.depth = invocation->depth,
		.threads = invocation->threads,
		.flags = invocation->flags,
	};
	counts_values(&invocation->counts, invocation->hitm, sample->counters);
	record_commit(&runtime.writer, &t->record);
}

/* How often the thread called each function. */
static void calls_write(struct thread *t)
{
	for (uint32_t i = 0; i < CALLEES; i++) {
		const struct callee *callee = &t->callees[i];
		struct record_sample *sample;

		if (callee->site == 0 || callee->function == NONE || callee->ordinal == 0)
			continue;
		sample = record_begin(&runtime.writer, &t->record);
		if (!sample)
			return;
		*sample = (struct record_sample){ .function = callee->function, .ordinal = callee->ordinal, .flags = RECORD_TOTAL };
		memset(sample->counters, 0xff, COUNTERS * sizeof(sample->counters[0]));
		record_commit(&runtime.writer, &t->record);
	}
}

/* Potential HITM in an invocation is its parent's, too. */
static void hitm_add(double to[2], const double from[2])
{
	to[0] += from[0];
	to[1] += from[1];
}

static void totals_add(const struct invocation *root)
{
	for (size_t i = 0; i <= COUNT_SIMULATED; i++)
		runtime.counts.exact[i] += root->counts.exact[i];
	for (size_t i = 0; i < COUNTERS; i++)
		runtime.counts.weighed[i] += root->counts.weighed[i];
	hitm_add(runtime.hitm, root->hitm);
}

/* Under the lock: writes the samples whose windows are all before the horizon, in the order in which they ended. */
static void frames_write_samples(struct thread *t, uint64_t horizon)
{
	struct queue *ended = &t->ended_queue, *free_ones = &t->free_queue;

	while (!queue_is_empty(ended)) {
		uint32_t i = t->ended_ones[ended->head % INVOCATIONS];
		struct invocation *invocation = &t->invocations[i];

		if (invocation->last_window >= horizon)
			return;
		if (invocation->parent != NONE) {
			struct invocation *parent = &t->invocations[invocation->parent];

			hitm_add(parent->hitm, invocation->hitm);
			parent->flags |= invocation->keep ? invocation->flags & RECORD_ESTIMATED : RECORD_ESTIMATED;
		} else {
			totals_add(invocation);
			calls_write(t);
		}
		if (invocation->keep)
			sample_write(t, invocation);
		ended->head++;
		if (i == 0)
			return;
		t->free_ones[free_ones->tail % INVOCATIONS] = i;
		__atomic_store_n(&free_ones->tail, free_ones->tail + 1, __ATOMIC_RELEASE);
	}
}

/* Under the lock, of a thread that has not ended: what it counted so far. Functions that are still active have potential HITM, too. */
static void frames_write_unfinished(struct thread *t)
{
	struct invocation sum = t->invocations[0];

	counts_end(t, &sum.counts);
	for (uint32_t i = t->invocation, n = 0; i != 0 && n < INVOCATIONS; i = t->invocations[i].parent, n++)
		hitm_add(sum.hitm, t->invocations[i].hitm);
	totals_add(&sum);
	calls_write(t);
}

/* ---- potential HITM ---- */

/* What threads that touch a line in the same window of logical time may cost each other, whatever the order in
 * which they happened to run. Of N accesses to the line, thread t made n and thread u r reads and w writes: in a random order,
 * before an access of t the last one that was not a read of u is a write of u with probability (w / N) / (1 - r / N); summed over
 * t's accesses and the other threads. It is true sharing when u wrote words that t touched, else false sharing.
 *
 * A window is evaluated once no thread can touch it any more; then samples whose windows are all evaluated are written. */

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

	return t->log && head != __atomic_load_n(&t->log_queue.tail, __ATOMIC_ACQUIRE) ? t->log[head & t->log_mask].window : UINT64_MAX;
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
		*line = (struct line){ .line = touch->line, .stamp = stamp, .first = NONE };
	s = line->first == NONE ? NULL : &sharers[line->first];
	if (!s || s->thread != thread) { /* threads come one after the other */
		s = &sharers[n_sharers];
		*s = (struct sharer){ .thread = thread, .next = line->first };
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
			t->invocations[touch->invocation].hitm[words & s->write_words ? 0 : 1] += weight * n * s->writes / (all - s->reads);
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

/* Waits until there is room for so many touches and for an invocation, since another thread is behind. If that thread is at work, or waits
 * for a processor, it will come; if not, it is not waited for again until it moves. */
static void evaluate_wait(struct thread *t, uint64_t touches)
{
	static const struct timespec pause = { 0, WAIT_NS };
	unsigned idle = 0;

	__atomic_store_n(&t->pauses, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < WAITS_MAX && idle < WAITS_IDLE; i++) {
		bool evaluated = evaluate_now();

		if (has_room(t, touches) || (evaluated && !threads_behind(t, false)))
			break;
		idle = !evaluated || threads_behind(t, true) ? 0 : idle + 1;
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
	struct touch head = { .window = t->window, .n_touches = t->n_touches, .stamp = t->weight };
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
	t->log[t->log_queue.tail & t->log_mask] = head;
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

/* ---- fork ---- */

static void evaluate_lock(void)
{
	spin_lock(&lock);
}

static void evaluate_unlock(void)
{
	spin_unlock(&lock);
}

/* In the child: what was not evaluated is the parent's. */
static void evaluate_fork(void)
{
	evaluate_unlock();
	for (size_t i = 0; i < THREADS; i++) {
		struct thread *t = thread_at(i);

		if (!t)
			continue;
		t->log_queue = (struct queue){ 0, 0 };
		t->n_touches = 0;
		t->ended_queue = (struct queue){ 0, 0 };
		t->record = (struct record_thread){ 0 }; /* its chunk is in the parent's file */
	}
	if (hot.thread)
		frames_forget(hot.thread);
}

void evaluate_init(void)
{
	pthread_atfork(evaluate_lock, evaluate_unlock, evaluate_fork);
}

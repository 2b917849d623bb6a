/* Functions that are active, which of their invocations become samples, and the samples. Whatever happens in a call that is not
 * sampled belongs to the innermost one that is. longjmp() and frames of other stacks are noticed by the stack's address. */
#include "runs/inside/emulate/callees.h"
#include "runs/inside/record/record_system.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FRAMES	     (1u << 18)
#define INVOCATIONS  1024u /* of a thread, waiting for their windows to be evaluated */
#define FEW_ACCESSES 100u  /* simulated: what rests on fewer is not counted */
#define VALUE_MAX    1e18
#define HANDLED	     (_NSIG - 1) /* any signal: its disposition stays as it is */

/* An active function. */
struct frame {
	uintptr_t stack;     /* its stack pointer: deeper is lower */
	uint32_t invocation; /* that accesses belonged to before it */
	uint32_t block;	     /* that called it */
	uint32_t owner;	     /* before it: whose what happened was (callees.c) */
	uint32_t callee;     /* its own number there, if it is selected */
	uint32_t kind;	     /* FRAME_... */
};

enum { FRAME_SELECTED = 1, FRAME_SAMPLED = 2, FRAME_INTERRUPTS = 4 /* a handler's: the thread has waited, and will when it has ended */ };

static uintptr_t handlers_return; /* the place to which the kernel lets all handlers return; 0: not known */

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
	invocation->last_window =
	    !hot.simulating && t->granted > 0 ? t->window - 1 : t->window; /* in a stretch that is skipped, it is the next one */
	counts_end(t, &invocation->counts);
}

/* From here on it belongs to the thread that evaluates. */
static void invocation_give(struct thread *t, uint32_t i)
{
	struct queue *q = &t->ended_queue;

	BUSY_HERE(); /* two would take the same place */
	t->ended_ones[q->tail % INVOCATIONS] = i;
	__atomic_store_n(&q->tail, q->tail + 1, __ATOMIC_RELEASE); /* there are never more than places */
	busy_end();
}

static void sample_begin(struct thread *t, struct frame *f, uint64_t ordinal, uint32_t weight)
{
	struct invocation *invocation;
	uint32_t i;

	BUSY_HERE();
	i = invocation_new(t);
	busy_end();
	if (i == NONE)
		return;
	invocation = &t->invocations[i];
	*invocation = (struct invocation){
		.function = t->callees[t->owner].function.number,
		.weight = weight,
		.ordinal = ordinal,
		.depth = t->depth++,
		.parent = t->invocation,
		.caller = t->callees[f->owner].function.number,
	};
	f->kind |= FRAME_SAMPLED;
	t->invocation = i;
	simulate_anew(t);
	counts_now(t, &invocation->counts);
	invocation->start = record_ticks();
}

static void sample_end(struct thread *t, uint32_t flags)
{
	struct invocation *invocation = &t->invocations[t->invocation];

	invocation_end(t, invocation);
	invocation->flags |= flags;
	invocation_give(t, t->invocation);
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

/* Whole before it counts: a handler may jump away. One that comes back may have had its own frame there before this one counted. */
static inline void frame_add(struct thread *t, uint32_t n, struct frame frame)
{
	struct frame *f = &t->frames[n];

	*f = frame;
	__asm__ volatile("" ::: "memory");
	t->n_frames = n + 1;
	__asm__ volatile("" ::: "memory");
	if (UNLIKELY(f->stack != frame.stack))
		*f = frame;
	t->block = 0;
}

static inline void frame_drop(struct thread *t, uint32_t flags)
{
	uint32_t n = frames_number(t), before = 0;
	struct frame f;

	if (n == 0)
		return;
	f = t->frames[n - 1];
	if (f.kind & FRAME_SELECTED)
		callee_changes(t, f.callee, &before);
	t->n_frames = n - 1; /* from here on a handler's frames take its place */
	if (UNLIKELY(hot.waits))
		waiting_leaves(t);
	if (f.kind & FRAME_SAMPLED) {
		t->depth--;
		sample_end(t, flags);
		simulate_anew(t);
	}
	if (f.kind & FRAME_SELECTED) {
		callees_account(t);
		callee_end(&t->callees[f.callee], t);
		t->owner = f.owner;
		callee_changed(t, before);
	}
	t->invocation = f.invocation;
	t->block = f.block;
	if (UNLIKELY(f.kind & FRAME_INTERRUPTS))
		waiting_continues(t);
}

/* longjmp() left the top frame: a function's frame lies below its caller's. */
static inline bool top_is_below(const struct thread *t, uintptr_t stack)
{
	uint32_t n = frames_number(t);
	uintptr_t top = n > 0 ? t->frames[n - 1].stack : UINTPTR_MAX;

	return top < stack && on_own_stack(t, stack) && on_own_stack(t, top);
}

/* Functions that longjmp() left for a caller, or for one that it calls now. Returns how many are active. */
static __attribute__((noinline, cold)) uint32_t frames_unwind(struct thread *t, uintptr_t stack)
{
	if (t->changing && top_is_below(t, stack + 1))
		callees_left(t);
	while (top_is_below(t, stack + 1))
		frame_drop(t, RECORD_UNWOUND);
	return frames_number(t);
}

/* A handler's own stack may lie within the thread's, above what it has interrupted. */
static bool on_alternate_stack(void)
{
	stack_t now = { .ss_flags = 0 };

	return syscall(SYS_sigaltstack, NULL, &now) == 0 && (now.ss_flags & SS_ONSTACK);
}

/* We are at work; not if a handler has jumped out of that: the stack would be below. The window that was at work begins anew. */
static __attribute__((noinline, cold)) bool is_busy(struct thread *t, uintptr_t stack)
{
	if (!on_own_stack(t, stack) || !on_own_stack(t, busy_at()) || stack <= busy_at() || on_alternate_stack())
		return true;
	hot.busy = 0;
	__atomic_store_n(&t->pauses, false, __ATOMIC_RELAXED);
	return false;
}

static __attribute__((noinline)) void frames_enter(struct thread *t, uintptr_t site, uintptr_t stack, uintptr_t caller)
{
	uint32_t n, callee, weight, before = 0, kind = 0;
	struct frame *f;
	uint64_t ordinal;
	bool waits;

	if (UNLIKELY(hot.busy) && is_busy(t, stack))
		return;
	n = frames_number(t);
	if (UNLIKELY(n > 0 && t->frames[n - 1].stack <= stack))
		n = frames_unwind(t, stack);
	if (UNLIKELY(n == FRAMES)) {
		t->lost_frames++;
		return;
	}
	callee = callee_at(t, site);
	f = &t->frames[n];
	if (UNLIKELY(hot.waits) && caller == handlers_return && waiting_is_interrupted(t))
		kind |= FRAME_INTERRUPTS;
	if (callee != NONE && callee_owns(t, &t->callees[callee]))
		kind |= FRAME_SELECTED;
	if (kind & FRAME_SELECTED)
		callee_changes(t, callee, &before);
	frame_add(t, n, (struct frame){ stack, t->invocation, t->block, t->owner, callee, kind });
	if (!(kind & FRAME_SELECTED))
		return;
	waits = UNLIKELY(hot.waits) && waiting_goes_on_in_call(t, callee);
	callees_account(t);
	t->owner = callee;
	callee_begin(&t->callees[callee], t);
	callee_changed(t, before);
	weight = waits ? 0 : callee_call(&t->callees[callee], &ordinal);
	if (UNLIKELY(weight))
		sample_begin(t, f, ordinal, weight);
	if (!(f->kind & FRAME_SAMPLED))
		t->invocations[t->invocation].flags |= RECORD_ESTIMATED;
}

/* Nothing is simulated, and nothing else is at work. */
static inline bool is_plain(const struct thread *t)
{
	return t && !(hot.busy | hot.simulating | hot.waits) && rare_number() == t->accounted_rare;
}

/* The argument, the caller's return address, does not tell the function; the place of the call does; it tells a handler. The usual way, of
 * a call that is not a sample while windows are skipped, has no call in it. */
EXPORT void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller)
{
	uintptr_t site = (uintptr_t)__builtin_return_address(0), stack = (uintptr_t)__builtin_frame_address(0);
	struct thread *t = hot.thread;
	uint32_t n, before;

	if (LIKELY(is_plain(t) && (n = frames_number(t)) - 1 < FRAMES - 1 && t->frames[n - 1].stack > stack)) {
		const struct place *place = &t->places[place_hash(site)];
		struct callee *c = &t->callees[place->callee];

		if (place->site == site && c->function.library && t->owner) {
			frame_add(t, n, (struct frame){ stack, t->invocation, t->block, t->owner, place->callee, 0 });
			return;
		}
		if (LIKELY(place->site == site && callee_owns(t, c) && c->strata[0].seen < c->strata[0].next)) {
			callee_changes(t, place->callee, &before);
			frame_add(t, n, (struct frame){ stack, t->invocation, t->block, t->owner, place->callee, FRAME_SELECTED });
			callees_account_plain(t);
			t->owner = place->callee;
			callee_begin(c, t);
			callee_changed(t, before);
			c->calls++;
			c->strata[0].seen++;
			t->invocations[t->invocation].flags |= RECORD_ESTIMATED;
			return;
		}
	}
	if (LIKELY(t != NULL))
		frames_enter(t, site, stack, (uintptr_t)caller);
}

/* Whether the hook was called from the function, or jumped to by its last instruction, when its stack was already given back. */
static bool is_called(uintptr_t back, uintptr_t hook)
{
	const unsigned char *instruction = (const unsigned char *)back - 5;
	int32_t distance;

	memcpy(&distance, instruction + 1, sizeof(distance));
	return instruction[0] == 0xe8 && back + (uintptr_t)(intptr_t)distance == hook;
}

/* It is the top frame's function that ends, and no other: that lies above, or is the only one below, where the hook was jumped to. */
static inline bool is_last(const struct thread *t, uint32_t n, uintptr_t stack, uintptr_t back, uintptr_t hook)
{
	const struct frame *f = &t->frames[n - 1];

	return n > 0 && (f->stack >= stack || ((n == 1 || f[-1].stack >= stack) && !is_called(back, hook)));
}

/* What lies below the hook's own frame has ended: by longjmp(), but for the function itself, where the hook was jumped to. */
static __attribute__((noinline, cold)) void frames_leave_several(struct thread *t, uintptr_t stack, uintptr_t back, uintptr_t hook)
{
	bool called = top_is_below(t, stack) && is_called(back, hook), ended = false;

	if (t->changing)
		callees_left(t);
	while (top_is_below(t, stack)) {
		uint32_t n = frames_number(t);
		ended = (n < 2 || t->frames[n - 2].stack >= stack) && !called;
		frame_drop(t, ended ? 0 : RECORD_UNWOUND);
	}
	if (!ended)
		frame_drop(t, 0);
}

static __attribute__((noinline)) void frames_leave(struct thread *t, uintptr_t stack, uintptr_t back, uintptr_t hook)
{
	if (UNLIKELY(hot.busy) && is_busy(t, stack))
		return;
	if (UNLIKELY(t->lost_frames > 0)) {
		t->lost_frames--;
		return;
	}
	if (LIKELY(is_last(t, frames_number(t), stack, back, hook)))
		frame_drop(t, 0);
	else
		frames_leave_several(t, stack, back, hook);
}

EXPORT void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
	uintptr_t stack = (uintptr_t)__builtin_frame_address(0), back = (uintptr_t)__builtin_return_address(0);
	struct thread *t = hot.thread;
	uint32_t n, before;

	if (LIKELY(is_plain(t) && t->lost_frames == 0 && is_last(t, n = frames_number(t), stack, back, (uintptr_t)__tsan_func_exit))) {
		const struct frame f = t->frames[n - 1];

		if (LIKELY(f.kind == FRAME_SELECTED)) {
			callee_changes(t, f.callee, &before);
			t->n_frames = n - 1; /* from here on a handler's frames take its place */
			callees_account_plain(t);
			callee_end(&t->callees[f.callee], t);
			t->owner = f.owner;
			callee_changed(t, before);
			t->invocation = f.invocation;
			t->block = f.block;
			return;
		}
		if (LIKELY(f.kind == 0)) {
			t->n_frames = n - 1;
			t->block = f.block;
			return;
		}
	}
	if (LIKELY(t != NULL))
		frames_leave(t, stack, back, (uintptr_t)__tsan_func_exit);
}

/* glibc has one such place, and gives it to the kernel with each signal's disposition. */
void handlers_find(void)
{
	struct {
		uintptr_t handler, flags, restorer;
		uint64_t mask;
	} kept;
	struct sigaction same;

	if (sigaction(HANDLED, NULL, &same) == 0 && sigaction(HANDLED, &same, NULL) == 0 &&
	    record_system_call(SYS_rt_sigaction, HANDLED, 0, (long)&kept, sizeof(kept.mask), 0, 0) == 0)
		handlers_return = kept.restorer;
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
	if (!t->invocations)
		t->invocations = pages_map(INVOCATIONS * (sizeof(*t->invocations) + 2 * sizeof(uint32_t)));
	if (!t->frames || !t->invocations || !callees_init(t))
		return false;
	t->free_ones = (uint32_t *)(void *)(t->invocations + INVOCATIONS);
	t->ended_ones = t->free_ones + INVOCATIONS;
	t->n_frames = t->lost_frames = t->depth = 0;
	invocations_reset(t);
	return true;
}

void frames_unwind_all(struct thread *t)
{
	while (t->n_frames > 0)
		frame_drop(t, RECORD_UNWOUND);
	t->lost_frames = 0;
	callees_account(t);
	invocation_end(t, &t->invocations[0]);
	invocation_give(t, 0);
}

/* After fork(): what is active began in another process. */
void frames_forget(struct thread *t)
{
	for (uint32_t i = 0; i < t->n_frames; i++) {
		t->frames[i].kind &= FRAME_INTERRUPTS;
		t->frames[i].invocation = 0;
	}
	t->depth = 0;
	callees_fork(t);
	simulate_anew(t);
	invocations_reset(t);
	counts_now(t, &t->invocations[0].counts);
}

/* ---- samples ---- */

uint64_t counts_round(double x)
{
	return x < VALUE_MAX ? (uint64_t)(x + .5) : UINT64_MAX - 1;
}

void counts_add(struct counts *to, const struct counts *from)
{
	for (size_t i = 0; i <= COUNT_SIMULATED; i++)
		to->exact[i] += from->exact[i];
	for (size_t i = 0; i < COUNTERS; i++)
		to->weighed[i] += from->weighed[i];
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
		.caller = invocation->caller == NONE ? RECORD_NO_CALLER : invocation->caller + 1,
	};
	counts_values(&invocation->counts, invocation->hitm, sample->counters);
	record_commit(&runtime.writer, &t->record);
}

/* Potential HITM in an invocation is its parent's, too. */
static void hitm_add(double to[2], const double from[2])
{
	to[0] += from[0];
	to[1] += from[1];
}

static void totals_add(const struct invocation *root)
{
	counts_add(&runtime.counts, &root->counts);
	hitm_add(runtime.hitm, root->hitm);
}

/* Under the lock: writes the samples whose windows are all before the horizon, in the order in which they ended. */
void frames_write_samples(struct thread *t, uint64_t horizon)
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
			parent->flags |= invocation->flags & RECORD_ESTIMATED;
			sample_write(t, invocation);
		} else {
			totals_add(invocation);
			callees_write(t);
		}
		ended->head++;
		if (i == 0)
			return;
		t->free_ones[free_ones->tail % INVOCATIONS] = i;
		__atomic_store_n(&free_ones->tail, free_ones->tail + 1, __ATOMIC_RELEASE);
	}
}

/* Under the lock, of a thread that has not ended: what it counted so far. Functions that are still active have potential HITM, too. */
void frames_write_unfinished(struct thread *t)
{
	struct invocation sum = t->invocations[0];

	counts_end(t, &sum.counts);
	for (uint32_t i = t->invocation, n = 0; i != 0 && n < INVOCATIONS; i = t->invocations[i].parent, n++)
		hitm_add(sum.hitm, t->invocations[i].hitm);
	totals_add(&sum);
	callees_write(t);
}

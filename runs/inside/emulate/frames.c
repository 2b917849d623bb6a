/* Functions that are active, and which of their invocations become samples. Whatever happens in one that is not sampled belongs to the
 * innermost one that is. longjmp() and other stacks' frames are noticed by the stack's address. */
#include "runs/inside/emulate/emulate.h"

#include <string.h>

#define ALWAYS_SAMPLED  64u   /* first calls of a function, simulated or not */
#define SAMPLES_A_STEP  512u  /* after so many, half as many calls are sampled */
#define LARGE_ACCESSES  8192u /* of an invocation: it need not wait for a simulated window */

/* ---- counts ---- */

void counts_now(const struct thread *t, struct counts *out)
{
	*out = t->counts;
	out->exact[COUNT_ACCESSES] = window_accesses(t);
	out->exact[COUNT_SIMULATED] += window_used(t);
	out->weighed[COUNT_ACCESSES] += (uint64_t)window_used(t) * t->weight;
	out->exact[COUNT_BLOCKS] = window_blocks(t);
	out->exact[COUNT_ATOMICS] = t->hot->atomics;
	out->exact[COUNT_SYSTEM_CALLS] = *t->system_calls;
	out->exact[COUNT_ALLOCATIONS] = t->hot->allocations;
	out->exact[COUNT_ALLOCATED_BYTES] = t->hot->allocated_bytes;
	out->exact[COUNT_COPIED_BYTES] = t->hot->copied_bytes;
}

void counts_end(const struct thread *t, struct counts *c)
{
	struct counts now;

	counts_now(t, &now);
	for (size_t i = 0; i < sizeof(now.exact) / sizeof(now.exact[0]); i++)
		c->exact[i] = now.exact[i] - c->exact[i];
	for (size_t i = 0; i < COUNTERS; i++)
		c->weighed[i] = now.weighed[i] - c->weighed[i];
}

/* ---- invocations ---- */

static uint32_t invocation_take(struct thread *t)
{
	struct queue *q = &t->free_queue;
	uint32_t i;

	if (q->head == __atomic_load_n(&q->tail, __ATOMIC_ACQUIRE))
		evaluate_wait(t, 0); /* which calls are samples must not depend on who happens to be behind */
	if (q->head == __atomic_load_n(&q->tail, __ATOMIC_ACQUIRE))
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

/* From here on it belongs to who evaluates. */
static void invocation_give(struct thread *t, uint32_t i)
{
	struct queue *q = &t->ended_queue;

	t->ended_ones[q->tail % INVOCATIONS] = i;
	__atomic_store_n(&q->tail, q->tail + 1, __ATOMIC_RELEASE); /* there are no more of them than places */
}

/* It stands for all calls since the last sample. */
static void sample_begin(struct thread *t, struct frame *f, struct callee *callee, uint64_t ordinal)
{
	struct invocation *invocation;
	uint32_t i;

	hot.busy++;
	i = invocation_take(t);
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

/* When there are many, fewer and fewer are sampled. */
static void callee_sampled(struct callee *callee, uint64_t ordinal)
{
	if (++callee->sampled == SAMPLES_A_STEP) {
		callee->sampled = 0;
		callee->step *= 2;
	}
	if (callee->next < ordinal + callee->step)
		callee->next = ordinal + callee->step;
}

/* What was never simulated says little, unless calls are few. */
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
		callee->accounted -= invocation->weight; /* the next one stands for these calls, too */
	invocation_give(t, t->invocation);
}

/* ---- callees ---- */

static uint32_t callee_hash(uintptr_t site)
{
	return (uint32_t)((site * 0x9e3779b97f4a7c15u) >> 40) % CALLEES;
}

/* NONE: not selected, or too many of them. */
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
	hot.busy++;
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

static void frame_drop(struct thread *t, uint32_t flags)
{
	struct frame *f = &t->frames[--t->n_frames];

	if (f->sampled) {
		t->depth--;
		sample_end(t, f, flags);
		simulate_anew(t);
	}
	t->invocation = f->invocation;
	t->block = f->block;
}

/* The top frame is one that longjmp() left: a function's frame lies below that of its caller. */
static inline bool top_is_below(const struct thread *t, uintptr_t stack)
{
	uintptr_t top = t->n_frames > 0 ? t->frames[t->n_frames - 1].stack : UINTPTR_MAX;

	return top < stack && on_own_stack(t, stack) && on_own_stack(t, top);
}

void frames_enter(struct thread *t, uintptr_t site, uintptr_t stack)
{
	struct callee *callee;
	struct frame *f;
	uint64_t ordinal;

	if (UNLIKELY(hot.busy))
		return;
	while (UNLIKELY(top_is_below(t, stack + 1)))
		frame_drop(t, RECORD_UNWOUND);
	if (UNLIKELY(t->n_frames == FRAMES)) {
		t->lost_frames++;
		return;
	}
	f = &t->frames[t->n_frames++];
	*f = (struct frame){ stack, t->invocation, t->block, callee_of(t, site), false };
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

	if (UNLIKELY(hot.busy))
		return;
	if (UNLIKELY(t->lost_frames > 0)) {
		t->lost_frames--;
		return;
	}
	if (top_is_below(t, stack)) {
		bool called = is_called(back, hook);

		while (top_is_below(t, stack)) {
			bool is_last = t->n_frames == 1 || t->frames[t->n_frames - 2].stack >= stack;

			ended = is_last && !called;
			frame_drop(t, ended ? 0 : RECORD_UNWOUND);
		}
	}
	if (!ended && t->n_frames > 0)
		frame_drop(t, 0);
}

/* ---- the thread itself ---- */

static void root_begin(struct thread *t)
{
	t->invocation = 0;
	t->invocations[0] = (struct invocation){ .function = NONE, .parent = NONE };
}

bool frames_init(struct thread *t)
{
	if (!t->frames)
		t->frames = pages_take(FRAMES * sizeof(*t->frames));
	if (t->callees)
		memset(t->callees, 0, CALLEES * sizeof(*t->callees));
	else
		t->callees = pages_take(CALLEES * sizeof(*t->callees));
	if (!t->invocations)
		t->invocations = pages_take(INVOCATIONS * (sizeof(*t->invocations) + 2 * sizeof(uint32_t)));
	if (!t->frames || !t->callees || !t->invocations)
		return false;
	t->free_ones = (uint32_t *)(void *)(t->invocations + INVOCATIONS);
	t->ended_ones = t->free_ones + INVOCATIONS;
	for (uint32_t i = 0; i < INVOCATIONS - 1; i++)
		t->free_ones[i] = i + 1; /* 0 is the thread */
	t->free_queue = (struct queue){ 0, INVOCATIONS - 1 };
	t->ended_queue = (struct queue){ 0, 0 };
	t->n_frames = t->lost_frames = t->depth = t->n_callees = 0;
	root_begin(t);
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

void frames_forget(struct thread *t)
{
	for (uint32_t i = 0; i < t->n_frames; i++) {
		t->frames[i].sampled = false;
		t->frames[i].invocation = 0;
		t->frames[i].callee = NONE;
	}
	t->depth = 0;
	memset(t->callees, 0, CALLEES * sizeof(*t->callees));
	t->n_callees = 0;
	for (uint32_t i = 0; i < INVOCATIONS - 1; i++)
		t->free_ones[i] = i + 1;
	t->free_queue = (struct queue){ 0, INVOCATIONS - 1 };
	t->ended_queue = (struct queue){ 0, 0 };
	simulate_anew(t);
	root_begin(t);
	counts_now(t, &t->invocations[0].counts);
}

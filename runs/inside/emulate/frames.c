/* Function calls of a thread: active calls, the number of calls and the counts of each function, and the choice of samples. An event
 * belongs to the innermost active selected function, its owner. Counts are added to the owner when the owner changes, not at each access.
 * Events in a call that is not sampled belong to the innermost active sample. Stack addresses reveal longjmp() and frames on other stacks.
 *
 * A signal handler may run between any two instructions here, call functions itself, and return or jump away. So each count is first added
 * to the accounted counts and then to a function, with one instruction each. Thus nothing is added twice, and the sum over all functions is
 * the count of the thread. If a handler jumps away while a call starts or ends, the nested sums of the called function become unknown. */
#include "runs/inside/emulate/emulation.h"
#include "runs/inside/record/record_system.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FRAMES		(1u << 18)
#define SIGNALS_HANDLED (_NSIG - 1) /* any signal; its disposition is not changed */
#define PLACES_BITS	14
#define PLACES		(1u << PLACES_BITS)
#define CALLEES		(PLACES / 2) /* maximum number of functions that one thread calls; events of others are attributed to their callers */
#define CALLEES_SPARE	16	     /* number of spare callees for handlers that interrupt the allocation of the last callee */
#define STEP_SIMULATED	512u	     /* number of samples in simulated windows after which half as many calls are sampled */
#define STEP_SKIPPED	128u	     /* number of samples in skipped windows after which half as many calls are sampled */
#define STEP_MAX	(1u << 30)
/* Number of samples of the first thread after which these two limits halve; 1/n of it for the n-th thread. This keeps files small. */
#define SAMPLES_BEFORE_HALVING 256u

/* An active function call. */
struct frame {
	uintptr_t stack;     /* stack pointer of the call; deeper calls have lower values */
	uint32_t invocation; /* the caller's invocation, which is active again after the return */
	uint32_t block;	     /* the caller's last basic block */
	uint32_t owner;	     /* owner of events before the call */
	uint32_t callee;     /* number of the callee; valid only with FRAME_SELECTED */
	uint32_t kind;	     /* bit mask of FRAME_... */
};

enum { FRAME_SELECTED = 1, FRAME_SAMPLED = 2, FRAME_INTERRUPTS = 4 /* call of a signal handler that interrupted a wait */ };

static uintptr_t handlers_return; /* address to which signal handlers return; 0 if unknown */

/* Entry of the hash table from sites to callees. Entries stay valid when another thread takes over the tables. */
struct place {
	uintptr_t site; /* return address of __tsan_func_entry() in the function; 0 if the entry is free */
	uint32_t callee;
};

/* ---- counts ---- */

void counts_subtract_start(const struct thread *t, struct counts *c)
{
	struct counts now;

	counts_snapshot(t, &now);
	for (size_t i = 0; i < sizeof(now.exact) / sizeof(now.exact[0]); i++)
		c->exact[i] = now.exact[i] - c->exact[i];
	for (size_t i = 0; i < COUNTERS; i++)
		c->weighed[i] = now.weighed[i] - c->weighed[i];
}

/* ---- callees ---- */

static void callees_clear(struct thread *t)
{
	t->n_callees = t->n_callees ? t->n_callees : 1; /* callee 0 represents the thread itself and is no function */
	t->callees[0].function.number = NONE;
	for (uint32_t i = 0; i < t->n_callees; i++) {
		struct callee *c = &t->callees[i];

		*c = (struct callee){ .function = c->function, .salt = c->salt, .strata = { { .step = 1 }, { .step = 1 } } };
	}
	t->owner = t->changing = t->samples = 0;
}

static bool callees_init(struct thread *t)
{
	if (!t->places)
		t->places = pages_map(PLACES * sizeof(*t->places));
	if (!t->callees)
		t->callees = pages_map(CALLEES * sizeof(*t->callees));
	if (!t->places || !t->callees)
		return false;
	callees_clear(t);
	return true;
}

static void callees_fork(struct thread *t)
{
	callees_clear(t);
	counts_snapshot(t, &t->counts_added);
	t->rare_counts_added = UINT64_MAX;
}

static inline uint32_t place_hash(uintptr_t site)
{
	return (uint32_t)((site * 0x9e3779b97f4a7c15u) >> 40) % PLACES;
}

/* Adds a callee and returns its number; NONE if there are too many. A signal handler may interrupt this function and add a callee, too.
 * Each of the two takes its own number, and a callee can be found only once it is complete. */
static __attribute__((noinline)) uint32_t callee_new(struct thread *t, uintptr_t site)
{
	uint32_t i = place_hash(site), n;

	while (t->places[i].site != 0 && t->places[i].site != site)
		i = (i + 1) % PLACES;
	if (t->places[i].site == site)
		return t->places[i].callee;
	if (t->n_callees >= CALLEES - CALLEES_SPARE)
		return NONE;
	BUSY_BEGIN();
	n = __atomic_fetch_add(&t->n_callees, 1, __ATOMIC_RELAXED);
	t->callees[n] = (struct callee){
		.function = function_find_at(site),
		.salt = site % (1u << PAGE_BITS),
		.strata = { { .step = 1 }, { .step = 1 } },
	};
	while (t->places[i].site != 0)
		i = (i + 1) % PLACES;
	t->places[i].callee = n;
	__atomic_store_n(&t->places[i].site, site, __ATOMIC_RELEASE);
	busy_end();
	return n;
}

static inline uint32_t callee_find(struct thread *t, uintptr_t site)
{
	const struct place *place = &t->places[place_hash(site)];

	return LIKELY(place->site == site) ? place->callee : callee_new(t, site);
}

/* Reports whether the callee owns its events: it is selected, and is not a C++ library function that a selected function called. */
static inline bool callee_is_owner(const struct thread *t, const struct callee *c)
{
	return c->function.number != NONE && !(c->function.library && t->owner);
}

/* ---- the owner of events ---- */

/* Ends the active burst of simulated windows in `s` and starts `burst`. `counts` has the counts at that time. */
static void spread_end(struct spread *s, const struct counts *counts, uint32_t burst)
{
	const uint64_t now[DENOMINATORS] = { counts->weighed[COUNT_ACCESSES], counts->weighed[COUNT_BLOCKS] };
	double base[DENOMINATORS];

	for (size_t i = 0; i < DENOMINATORS; i++) {
		base[i] = (double)(now[i] - s->base_begun[i]);
		s->base[i] += s->burst ? base[i] * base[i] : 0;
		s->base_begun[i] = now[i];
	}
	for (size_t i = 0; i < SPREAD_COUNTERS; i++) {
		uint64_t count = counts->weighed[COUNT_HITM_SEEN + i];
		double n = (double)(count - s->begun[i]);

		s->square[i] += s->burst ? n * n : 0;
		s->product[i] += s->burst ? n * base[COUNT_HITM_SEEN + i == COUNT_BRANCH_MISSES] : 0;
		s->begun[i] = count;
	}
	s->bursts += s->burst != 0;
	s->burst = burst;
}

static void begin_own_burst(struct thread *t, struct callee *c)
{
	BUSY_BEGIN();
	if (c->spread.burst != t->burst)
		spread_end(&c->spread, &c->own, t->burst);
	busy_end();
}

static uint64_t window_accesses_used(const struct thread *t)
{
	return hot.simulating ? (uint64_t)(int64_t)((int32_t)WINDOW_ACCESSES - t->window_left)
			      : 0; /* a handler may have ended the window */
}

/* add_once() and replace_once() are one instruction each, so that no handler can run between the read and the write. */
static inline void add_once(uint64_t *to, uint64_t n)
{
	__asm__ volatile("addq %1, %0" : "+m"(*to) : "er"(n) : "cc");
}

static inline bool replace_once(uint64_t *at, uint64_t before, uint64_t now)
{
	bool same;

	__asm__ volatile("cmpxchgq %3, %1" : "=@ccz"(same), "+m"(*at), "+a"(before) : "r"(now) : "memory");
	return same;
}

/* Adds the growth of the expression `now` since the last accounting to the owner's count `own`. A handler may meanwhile have accounted for
 * a part of it, or started another window, whose numbers do not match those read before. The macro then reads again. */
#define ACCOUNT(t, now, counts_added, own)                                                                                                 \
	do {                                                                                                                               \
		uint64_t window_, before_, now_;                                                                                           \
                                                                                                                                           \
		do {                                                                                                                       \
			window_ = __atomic_load_n(&(t)->window, __ATOMIC_ACQUIRE);                                                         \
			before_ = __atomic_load_n(counts_added, __ATOMIC_ACQUIRE);                                                         \
			now_ = (now);                                                                                                      \
			__asm__ volatile("" ::: "memory");                                                                                 \
		} while (UNLIKELY((t)->window != window_) || UNLIKELY(!replace_once(counts_added, before_, now_)));                        \
		add_once(own, now_ - before_);                                                                                             \
	} while (0)

/* Returns a number that changes at each rare event. */
static inline uint64_t count_rare_events(void)
{
	return hot.atomics + system_calls + hot.allocations + hot.copied_bytes;
}

/* Accounts for the counts of simulated windows. */
static __attribute__((noinline)) void callees_account_simulated(struct thread *t, struct callee *c)
{
	struct counts *own = &c->own, *counts_added = &t->counts_added;

	if (UNLIKELY(c->spread.burst != t->burst))
		begin_own_burst(t, c);
	ACCOUNT(t, t->counts.exact[COUNT_SIMULATED] + (t->weight ? window_accesses_used(t) : 0), &counts_added->exact[COUNT_SIMULATED],
		&own->exact[COUNT_SIMULATED]);
	ACCOUNT(t, t->counts.weighed[COUNT_ACCESSES] + window_accesses_used(t) * t->weight, &counts_added->weighed[COUNT_ACCESSES],
		&own->weighed[COUNT_ACCESSES]);
	ACCOUNT(t,
		t->counts.weighed[COUNT_BLOCKS] + (hot.simulating ? counts_added->exact[COUNT_BLOCKS] - t->window_blocks : 0) * t->weight,
		&counts_added->weighed[COUNT_BLOCKS], &own->weighed[COUNT_BLOCKS]);
	if (LIKELY(t->events_added == t->events))
		return;
	t->events_added = t->events;
	t->changes++;
	for (size_t i = UNKNOWN_L1; i < COUNTERS; i++)
		ACCOUNT(t, t->counts.weighed[i], &counts_added->weighed[i], &own->weighed[i]);
}

static __attribute__((noinline)) void callees_account_rare(struct thread *t, struct callee *c)
{
	const uint64_t *now[] = { &hot.atomics, &system_calls, &hot.allocations, &hot.allocated_bytes, &hot.copied_bytes, &hot.waited };

	if (hot.waits) {
		waiting_move_counts(t);
		return;
	}
	for (size_t i = 0; i < sizeof(now) / sizeof(now[0]); i++)
		ACCOUNT(t, *now[i], &t->counts_added.exact[COUNT_ATOMICS + i], &c->own.exact[COUNT_ATOMICS + i]);
	t->rare_counts_added = count_rare_events();
	t->changes++;
}

_Static_assert(COUNT_ATOMICS + 6 == COUNT_SIMULATED, "now[] has all rare counters");

/* Adds new accesses and blocks to the owner. Skipped windows without rare events have no other counts. Only for the calling thread. */
static inline void callees_add_accesses(struct thread *t)
{
	struct callee *c = &t->callees[t->owner];

	ACCOUNT(t, counts_read_accesses(t, &hot), &t->counts_added.exact[COUNT_ACCESSES], &c->own.exact[COUNT_ACCESSES]);
	ACCOUNT(t, counts_read_blocks(t, &hot), &t->counts_added.exact[COUNT_BLOCKS], &c->own.exact[COUNT_BLOCKS]);
}

/* Adds all new counts to the owner. Called whenever the owner changes, and at the end of a window. */
static inline void callees_account_all(struct thread *t)
{
	struct callee *c = &t->callees[t->owner];

	callees_add_accesses(t);
	if (UNLIKELY(count_rare_events() != t->rare_counts_added))
		callees_account_rare(t, c);
	if (hot.simulating)
		callees_account_simulated(t, c);
}

void callees_add_counts(struct thread *t)
{
	callees_account_all(t);
}

/* ---- counts that include called functions ---- */

static __attribute__((noinline)) void callee_update_nested(struct callee *c, const struct thread *t, const struct counts *now)
{
	struct callee_totals *n = &c->nested;

	BUSY_BEGIN();
	for (size_t i = COUNT_ATOMICS; i < COUNT_SIMULATED; i++)
		n->sum.exact[i] += n->active * (now->exact[i] - n->seen.exact[i]);
	for (size_t i = UNKNOWN_L1; i < COUNTERS; i++)
		n->sum.weighed[i] += n->active * (now->weighed[i] - n->seen.weighed[i]);
	n->seen = *now;
	n->changes = t->changes;
	busy_end();
}

/* Marks the nested sums of the callee `t->changing` as unknown, because a handler jumped away during the change. */
static void callee_lose_sums(struct thread *t)
{
	t->callees[t->changing].nested.lost = true;
	t->changing = 0;
}

/* Returns the nested sums that would result if all active calls ended now. */
static struct counts nested_counts(struct callee *c, const struct thread *t, const struct counts *now)
{
	static const enum counter exact[] = { COUNT_ACCESSES, COUNT_BLOCKS, COUNT_SIMULATED };
	struct counts sum;

	callee_update_nested(c, t, now);
	sum = c->nested.sum;
	for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++)
		sum.exact[exact[i]] += c->nested.active * now->exact[exact[i]];
	for (size_t i = 0; i < DENOMINATORS; i++)
		sum.weighed[i] += c->nested.active * now->weighed[i];
	return sum;
}

void callees_burst_end(struct thread *t, bool last)
{
	if (last && t->changing)
		callee_lose_sums(t);
	for (uint32_t i = 1; i < t->n_callees; i++) {
		struct callee *c = &t->callees[i];
		struct callee_totals *n = &c->nested;
		struct counts now;

		if ((!n->active && n->calls == c->calls) || i == t->changing)
			continue;
		now = nested_counts(c, t, &t->counts_added);
		n->calls = c->calls;
		n->spread.burst =
		    now.weighed[COUNT_ACCESSES] + now.weighed[COUNT_BLOCKS] != n->spread.base_begun[0] + n->spread.base_begun[1] ? t->burst
																 : 0;
		spread_end(&n->spread, &now, 0);
	}
}

/* Returns the callee's own counts. For the current owner, these include the counts since the last accounting. */
static struct counts own_counts(const struct thread *t, uint32_t callee, const struct counts *now)
{
	struct counts own = t->callees[callee].own;

	if (callee != t->owner)
		return own;
	for (size_t i = 0; i <= COUNT_SIMULATED; i++)
		own.exact[i] += now->exact[i] - t->counts_added.exact[i];
	for (size_t i = 0; i < COUNTERS; i++)
		own.weighed[i] += now->weighed[i] - t->counts_added.weighed[i];
	return own;
}

void callee_sum(struct thread *t, uint32_t callee, const struct counts *now, struct counts *own, struct counts *nested)
{
	struct callee *c = &t->callees[callee];

	*own = own_counts(t, callee, now);
	if (!nested)
		return;
	*nested = nested_counts(c, t, now);
	spread_end(&c->spread, own, 0);
}

/* Subtracts the accounted counts at the start of a call (sign -1), or adds them at its end (sign 1). */
static inline void nested_add(struct callee *c, const struct thread *t, int64_t sign)
{
	struct counts *sum = &c->nested.sum;
	const struct counts *now = &t->counts_added;

	sum->exact[COUNT_ACCESSES] += (uint64_t)sign * now->exact[COUNT_ACCESSES];
	sum->exact[COUNT_BLOCKS] += (uint64_t)sign * now->exact[COUNT_BLOCKS];
	sum->exact[COUNT_SIMULATED] += (uint64_t)sign * now->exact[COUNT_SIMULATED];
	sum->weighed[COUNT_ACCESSES] += (uint64_t)sign * now->weighed[COUNT_ACCESSES];
	sum->weighed[COUNT_BLOCKS] += (uint64_t)sign * now->weighed[COUNT_BLOCKS];
}

static inline void callee_begin(struct callee *c, const struct thread *t)
{
	if (UNLIKELY(c->nested.changes != t->changes))
		callee_update_nested(c, t, &t->counts_added);
	nested_add(c, t, -1);
	__asm__ volatile("" ::: "memory");
	c->nested.active++;
}

static inline void callee_end(struct callee *c, const struct thread *t)
{
	if (UNLIKELY(c->nested.changes != t->changes))
		callee_update_nested(c, t, &t->counts_added);
	c->nested.active--;
	__asm__ volatile("" ::: "memory");
	nested_add(c, t, 1);
}

void callee_run_as(struct thread *t, uint32_t callee, void (*happens)(struct thread *t))
{
	uint32_t owner = t->owner;

	callee_begin(&t->callees[callee], t);
	t->owner = callee;
	happens(t);
	t->owner = owner;
	callee_end(&t->callees[callee], t);
}

/* Marks that a call of the callee starts or ends, so that handlers do not read its nested sums. Pass *before to callee_change_end(). */
static inline void callee_change_begin(struct thread *t, uint32_t callee, uint32_t *before)
{
	*before = t->changing;
	t->changing = callee;
	__asm__ volatile("" ::: "memory");
}

static inline void callee_change_end(struct thread *t, uint32_t before)
{
	__asm__ volatile("" ::: "memory");
	t->changing = before;
}

/* ---- sampling of calls ---- */

/* Returns the result of splitmix64's finalizer for x. */
static uint64_t mix_hash(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* Chooses a sample among the next `step` calls (a power of two), by a hash of their ordinals, so that no loop keeps in step with it. */
static void stratum_next(struct stratum *s, uint32_t salt, uint32_t samples_a_step)
{
	s->begin += s->step;
	if (++s->sampled >= samples_a_step && s->step < STEP_MAX) {
		s->sampled = 0;
		s->step *= 2;
	}
	s->next = s->begin + (mix_hash(s->begin ^ (uint64_t)salt << 52) & (s->step - 1));
}

/* Returns the number of calls that this sample represents, and chooses the next sample. */
static __attribute__((noinline)) uint32_t callee_sample(struct thread *t, struct callee *c, bool simulating)
{
	struct stratum *s = &c->strata[simulating];
	uint32_t weight = s->step, halved = t->samples++ * (t->number + 1) / SAMPLES_BEFORE_HALVING,
		 most = simulating ? STEP_SIMULATED : STEP_SKIPPED;

	stratum_next(s, c->salt, halved < 32 ? most >> halved : 0);
	return weight;
}

/* Counts a call and stores its ordinal. Returns the number of calls that its sample represents; 0 if the call is not sampled. */
static inline uint32_t callee_call(struct thread *t, struct callee *c, uint64_t *ordinal)
{
	struct stratum *s = &c->strata[hot.simulating];

	*ordinal = c->calls++;
	return LIKELY(s->seen++ < s->next) ? 0 : callee_sample(t, c, s != c->strata);
}

/* ---- invocations ---- */

/* Reports whether no other thread can free an invocation, because all are active or ended in the window that this thread is still in. */
static bool window_has_all(const struct thread *t)
{
	const struct queue *ended = &t->ended_queue;
	uint64_t oldest = __atomic_load_n(&ended->head, __ATOMIC_ACQUIRE);

	return oldest == ended->tail || t->invocations[t->ended_invocations[oldest % INVOCATIONS_MAX]].last_window >= t->window;
}

static uint32_t invocation_new(struct thread *t)
{
	struct queue *q = &t->free_queue;
	uint32_t i;

	if (queue_is_empty(q) && !window_has_all(t))
		evaluate_wait(t, 0); /* otherwise the choice of samples would depend on which thread is slow */
	if (queue_is_empty(q))
		return NONE;
	i = t->free_invocations[q->head % INVOCATIONS_MAX];
	__atomic_store_n(&q->head, q->head + 1, __ATOMIC_RELEASE);
	return i;
}

static void invocation_end(struct thread *t, struct invocation *invocation)
{
	invocation->duration = record_ticks() - invocation->start;
	invocation->threads = __atomic_load_n(&runtime.alive, __ATOMIC_RELAXED);
	invocation->last_window =
	    !hot.simulating && t->granted > 0 ? t->window - 1 : t->window; /* in a skipped stretch, t->window is the next simulated one */
	counts_subtract_start(t, &invocation->counts);
}

/* Passes an ended invocation to the evaluation. */
static void invocation_hand_over(struct thread *t, uint32_t i)
{
	struct queue *q = &t->ended_queue;

	BUSY_BEGIN(); /* otherwise a handler's call could take the same place */
	t->ended_invocations[q->tail % INVOCATIONS_MAX] = i;
	__atomic_store_n(&q->tail, q->tail + 1, __ATOMIC_RELEASE); /* the ring has space for every invocation */
	busy_end();
}

static void sample_begin(struct thread *t, struct frame *f, uint64_t ordinal, uint32_t weight)
{
	struct invocation *invocation;
	uint32_t i;

	BUSY_BEGIN();
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
	simulate_clear_recent(t);
	counts_snapshot(t, &invocation->counts);
	invocation->start = record_ticks();
}

static void sample_end(struct thread *t, uint32_t flags)
{
	struct invocation *invocation = &t->invocations[t->invocation];

	invocation_end(t, invocation);
	invocation->flags |= flags;
	invocation_hand_over(t, t->invocation);
}

/* ---- frames ---- */

static inline bool on_own_stack(const struct thread *t, uintptr_t stack)
{
	return stack >= t->stack_low && stack < t->stack_high;
}

/* Returns the number of frames, by one read. A handler, or a coroutine that it switches to, may change the number at any moment. */
static inline uint32_t frames_read_count(const struct thread *t)
{
	return __atomic_load_n(&t->n_frames, __ATOMIC_RELAXED);
}

/* Adds a frame. It is complete before it counts, because a handler may jump away. Writes it again if a handler has overwritten it. */
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
	uint32_t n = frames_read_count(t), before = 0;
	struct frame f;

	if (n == 0)
		return;
	f = t->frames[n - 1];
	if (f.kind & FRAME_SELECTED)
		callee_change_begin(t, f.callee, &before);
	t->n_frames = n - 1; /* from here on, a handler's frames overwrite this frame */
	if (UNLIKELY(hot.waits))
		waiting_leave_frame(t);
	if (f.kind & FRAME_SAMPLED) {
		t->depth--;
		sample_end(t, flags);
		simulate_clear_recent(t);
	}
	if (f.kind & FRAME_SELECTED) {
		callees_account_all(t);
		callee_end(&t->callees[f.callee], t);
		t->owner = f.owner;
		callee_change_end(t, before);
	}
	t->invocation = f.invocation;
	t->block = f.block;
	if (UNLIKELY(f.kind & FRAME_INTERRUPTS))
		waiting_resume(t);
}

/* Reports whether longjmp() has left the top frame. This is so if that frame is below `stack`. */
static inline bool top_is_below(const struct thread *t, uintptr_t stack)
{
	uint32_t n = frames_read_count(t);
	uintptr_t top = n > 0 ? t->frames[n - 1].stack : UINTPTR_MAX;

	return top < stack && on_own_stack(t, stack) && on_own_stack(t, top);
}

/* Drops frames that longjmp() has left. `stack` is the caller's frame or that of its callee. Returns the number of active frames. */
static __attribute__((noinline, cold)) uint32_t frames_unwind(struct thread *t, uintptr_t stack)
{
	if (t->changing && top_is_below(t, stack + 1))
		callee_lose_sums(t);
	while (top_is_below(t, stack + 1))
		frame_drop(t, RECORD_UNWOUND);
	return frames_read_count(t);
}

/* Reports whether a handler runs on an alternate stack, which may lie in the thread's stack, above the interrupted frames. */
static bool on_alternate_stack(void)
{
	stack_t now = { .ss_flags = 0 };

	return syscall(SYS_sigaltstack, NULL, &now) == 0 && (now.ss_flags & SS_ONSTACK);
}

/* Reports whether the emulation's own work is active. If `stack` is above that work, a handler has jumped out of it; then ends the work. */
static __attribute__((noinline, cold)) bool is_busy(struct thread *t, uintptr_t stack)
{
	if (!on_own_stack(t, stack) || !on_own_stack(t, busy_stack_address()) || stack <= busy_stack_address() || on_alternate_stack())
		return true;
	hot.busy = 0;
	__atomic_store_n(&t->is_paused, false, __ATOMIC_RELAXED);
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
	n = frames_read_count(t);
	if (UNLIKELY(n > 0 && t->frames[n - 1].stack <= stack))
		n = frames_unwind(t, stack);
	if (UNLIKELY(n == FRAMES)) {
		t->n_lost_frames++;
		return;
	}
	callee = callee_find(t, site);
	f = &t->frames[n];
	if (UNLIKELY(hot.waits) && caller == handlers_return && waiting_is_interrupted(t))
		kind |= FRAME_INTERRUPTS;
	if (callee != NONE && callee_is_owner(t, &t->callees[callee]))
		kind |= FRAME_SELECTED;
	if (kind & FRAME_SELECTED)
		callee_change_begin(t, callee, &before);
	frame_add(t, n, (struct frame){ stack, t->invocation, t->block, t->owner, callee, kind });
	if (!(kind & FRAME_SELECTED))
		return;
	waits = UNLIKELY(hot.waits) && waiting_continues_in_call(t, callee);
	callees_account_all(t);
	t->owner = callee;
	callee_begin(&t->callees[callee], t);
	callee_change_end(t, before);
	weight = waits ? 0 : callee_call(t, &t->callees[callee], &ordinal);
	if (UNLIKELY(weight))
		sample_begin(t, f, ordinal, weight);
	if (!(f->kind & FRAME_SAMPLED))
		t->invocations[t->invocation].flags |= RECORD_ESTIMATED;
}

/* Reports whether the fast path is possible: windows are skipped, no rare event has happened, and the thread neither works nor waits. */
static inline bool is_fast_path(const struct thread *t)
{
	return t && !(hot.busy | hot.simulating | hot.waits) && count_rare_events() == t->rare_counts_added;
}

/* Enters a function. The return address of this hook identifies the function. `caller` is the function's own return address, which
 * identifies signal handlers. The fast path is for calls in skipped windows that are not sampled. It calls no function. */
EXPORT void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller)
{
	uintptr_t site = (uintptr_t)__builtin_return_address(0), stack = (uintptr_t)__builtin_frame_address(0);
	struct thread *t = hot.thread;
	uint32_t n, before;

	if (LIKELY(is_fast_path(t) && (n = frames_read_count(t)) - 1 < FRAMES - 1 && t->frames[n - 1].stack > stack)) {
		const struct place *place = &t->places[place_hash(site)];
		struct callee *c = &t->callees[place->callee];

		if (place->site == site && c->function.library && t->owner) {
			frame_add(t, n, (struct frame){ stack, t->invocation, t->block, t->owner, place->callee, 0 });
			return;
		}
		if (LIKELY(place->site == site && callee_is_owner(t, c) && c->strata[0].seen < c->strata[0].next)) {
			callee_change_begin(t, place->callee, &before);
			frame_add(t, n, (struct frame){ stack, t->invocation, t->block, t->owner, place->callee, FRAME_SELECTED });
			callees_add_accesses(t);
			t->owner = place->callee;
			callee_begin(c, t);
			callee_change_end(t, before);
			c->calls++;
			c->strata[0].seen++;
			t->invocations[t->invocation].flags |= RECORD_ESTIMATED;
			return;
		}
	}
	if (LIKELY(t != NULL))
		frames_enter(t, site, stack, (uintptr_t)caller);
}

/* Reports whether the function called the hook. Otherwise its last instruction was a jump to the hook, after its frame was released. */
static bool is_called(uintptr_t back, uintptr_t hook)
{
	const unsigned char *instruction = (const unsigned char *)back - 5;
	int32_t distance;

	memcpy(&distance, instruction + 1, sizeof(distance));
	return instruction[0] == 0xe8 && back + (uintptr_t)(intptr_t)distance == hook;
}

/* Reports whether only the top frame's function ends. Its frame is above the hook's, or is the only one below and jumped to the hook. */
static inline bool is_last(const struct thread *t, uint32_t n, uintptr_t stack, uintptr_t back, uintptr_t hook)
{
	const struct frame *f = &t->frames[n - 1];

	return n > 0 && (f->stack >= stack || ((n == 1 || f[-1].stack >= stack) && !is_called(back, hook)));
}

/* Drops the frames below the hook's frame. longjmp() left them, except the frame of the function itself if it jumped to the hook. */
static __attribute__((noinline, cold)) void frames_leave_several(struct thread *t, uintptr_t stack, uintptr_t back, uintptr_t hook)
{
	bool called = top_is_below(t, stack) && is_called(back, hook), ended = false;

	if (t->changing)
		callee_lose_sums(t);
	while (top_is_below(t, stack)) {
		uint32_t n = frames_read_count(t);
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
	if (UNLIKELY(t->n_lost_frames > 0)) {
		t->n_lost_frames--;
		return;
	}
	if (LIKELY(is_last(t, frames_read_count(t), stack, back, hook)))
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

	if (LIKELY(is_fast_path(t) && t->n_lost_frames == 0 &&
		   is_last(t, n = frames_read_count(t), stack, back, (uintptr_t)__tsan_func_exit))) {
		const struct frame f = t->frames[n - 1];

		if (LIKELY(f.kind == FRAME_SELECTED)) {
			callee_change_begin(t, f.callee, &before);
			t->n_frames = n - 1; /* from here on, a handler's frames overwrite this frame */
			callees_add_accesses(t);
			callee_end(&t->callees[f.callee], t);
			t->owner = f.owner;
			callee_change_end(t, before);
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

/* Finds the return address of signal handlers. glibc uses a single one and passes it to the kernel with each signal's disposition. */
static void handlers_find(void)
{
	struct {
		uintptr_t handler, flags, restorer;
		uint64_t mask;
	} kept;
	struct sigaction same;

	if (sigaction(SIGNALS_HANDLED, NULL, &same) == 0 && sigaction(SIGNALS_HANDLED, &same, NULL) == 0 &&
	    record_system_call(SYS_rt_sigaction, SIGNALS_HANDLED, 0, (long)&kept, sizeof(kept.mask), 0, 0) == 0)
		handlers_return = kept.restorer;
}

/* ---- the thread's first invocation ---- */

static void invocations_reset(struct thread *t)
{
	for (uint32_t i = 0; i < INVOCATIONS_MAX - 1; i++)
		t->free_invocations[i] = i + 1; /* invocation 0 represents the thread itself */
	t->free_queue = (struct queue){ 0, INVOCATIONS_MAX - 1 };
	t->ended_queue = (struct queue){ 0, 0 };
	t->invocation = 0;
	t->invocations[0] = (struct invocation){ .function = NONE, .parent = NONE };
}

bool frames_init(struct thread *t)
{
	if (!handlers_return)
		handlers_find();
	if (!t->frames)
		t->frames = pages_map(FRAMES * sizeof(*t->frames));
	if (!t->invocations)
		t->invocations = pages_map(INVOCATIONS_MAX * (sizeof(*t->invocations) + 2 * sizeof(uint32_t)));
	if (!t->frames || !t->invocations || !callees_init(t))
		return false;
	t->free_invocations = (uint32_t *)(void *)(t->invocations + INVOCATIONS_MAX);
	t->ended_invocations = t->free_invocations + INVOCATIONS_MAX;
	t->n_frames = t->n_lost_frames = t->depth = 0;
	invocations_reset(t);
	return true;
}

void frames_unwind_all(struct thread *t)
{
	while (t->n_frames > 0)
		frame_drop(t, RECORD_UNWOUND);
	t->n_lost_frames = 0;
	callees_add_counts(t);
	invocation_end(t, &t->invocations[0]);
	invocation_hand_over(t, 0);
}

/* Drops the invocations of active calls in a child of fork(), because they started in the parent. */
void frames_drop_inherited(struct thread *t)
{
	for (uint32_t i = 0; i < t->n_frames; i++) {
		t->frames[i].kind &= FRAME_INTERRUPTS;
		t->frames[i].invocation = 0;
	}
	t->depth = 0;
	callees_fork(t);
	simulate_clear_recent(t);
	invocations_reset(t);
	counts_snapshot(t, &t->invocations[0].counts);
}

/* Waiting for another thread in a loop around sched_yield(), or around atomic operations alone: how often a thread looks before it can go
 * on is chance, and no work. So from sched_yield() on nothing counts, and no logical time passes, until the thread goes on: until it comes
 * to a place in memory where it has not looked before while it waited, changes what is there, calls a function that no look in this loop
 * has called, or takes more steps than a look has. The first look is counted, in place of the one that succeeds; what that one takes more
 * than one that fails is added. So each look that succeeds counts, and no other. As long as no look has failed after sched_yield() in a
 * loop, all that happens there counts, and what was too much is taken off when one has. Where the loop calls nothing between a look that
 * succeeds and the next sched_yield(), there was no first look in vain.
 *
 * Without sched_yield() a loop is known by an atomic operation that finds at the same place what it found there the last time, while the
 * thread has changed nothing by another one. That may be work all the same, which looks whether it is to stop. So what was put aside is
 * counted after all unless the loop ends, having changed nothing, when another thread has changed what it looks at, or the thread goes on
 * with sched_yield() or with waiting in the library. A wait that ends with the second look cannot be told from work, and counts.
 *
 * A signal's handler that comes while the thread waits is no look, and what it does counts: the wait goes on when it has ended. One may
 * also come between any two instructions here; it finds that we are at work, and what it does counts nowhere. */
#include "runs/inside/emulate/emulation.h"

#include <sched.h>
#include <string.h>
#include <threads.h>

#define BLOCKS_MOST  256u /* of a look: more is work */
#define VAIN_MOST    8u	  /* where so many loops in a row have been work, one... */
#define VAIN_SKIPPED 64u  /* ...of so many looks is tried */

/* What is counted where it happens, also while the thread waits. */
#define RARE (COUNT_SIMULATED - COUNT_ATOMICS)
static void rare_find(uint64_t *at[RARE])
{
	at[0] = &hot.atomics;
	at[1] = &system_calls;
	at[2] = &hot.allocations;
	at[3] = &hot.allocated_bytes;
	at[4] = &hot.copied_bytes;
	at[5] = &hot.waited;
}
_Static_assert(RARE == 6, "all of them");

static void hold(struct waiting *w)
{
	uint64_t *at[RARE];

	rare_find(at);
	for (size_t i = 0; i < RARE; i++) {
		w->look[COUNT_ATOMICS + i] += *at[i] - w->held[i];
		*at[i] = w->held[i];
	}
	w->look[COUNT_BLOCKS] += hot.library - w->library;
	hot.library = w->library;
}

void waiting_hold(struct thread *t)
{
	BUSY_HERE();
	if (hot.waits)
		hold(&t->waiting);
	busy_end();
}

/* These much more, or less, has happened. */
static void counts_more(struct thread *t, const uint64_t *more)
{
	uint64_t *at[RARE];

	rare_find(at);
	for (size_t i = 0; i < RARE; i++)
		*at[i] += more[COUNT_ATOMICS + i];
	t->counts.exact[COUNT_ACCESSES] += more[COUNT_ACCESSES];
	t->counts.exact[COUNT_BLOCKS] += more[COUNT_BLOCKS];
	if (hot.simulating && t->weight) {
		t->counts.exact[COUNT_SIMULATED] += more[COUNT_ACCESSES];
		t->counts.weighed[COUNT_ACCESSES] += more[COUNT_ACCESSES] * t->weight;
	}
}

/* What looks that succeeded took less than one that failed is taken off where that has waited: at once, or, where a look ends in a callee,
 * by the next time that it waits. */
static void counts_less(struct thread *t)
{
	const struct counts *own = &t->callees[t->owner].own;
	uint64_t more[COUNT_SIMULATED], weight = hot.simulating ? t->weight : 0;

	for (size_t i = 0; i < COUNT_SIMULATED; i++) {
		uint64_t most =
		    weight && i <= COUNT_BLOCKS && own->weighed[i] / weight < own->exact[i] ? own->weighed[i] / weight : own->exact[i];

		more[i] = -(t->waiting.less[i] < most ? t->waiting.less[i] : most);
		t->waiting.less[i] = 0;
	}
	counts_more(t, more);
	t->accounted_rare = UINT64_MAX;
	callees_account(t);
}

/* Of several that a thread waits in, the one that it has found longest ago makes room. */
static struct waiting_loop *loop_at(struct waiting *w, uintptr_t site, bool polls)
{
	struct waiting_loop *loop;

	for (size_t i = 0; i < WAITING_LOOPS; i++)
		if (w->loops[i].site == site)
			return &w->loops[i];
	loop = &w->loops[w->n_loops++ % WAITING_LOOPS];
	*loop = (struct waiting_loop){ .site = site, .polls = polls };
	return loop;
}

/* The last time the thread went on with the call of a function; it was part of a look if another sched_yield() followed soon. */
static void callee_learn(struct thread *t, struct waiting_loop *loop)
{
	struct waiting *w = &t->waiting;

	w->learns = false;
	if (w->went_on_in && loop == w->loop && loop->n < WAITING_CALLEES && counts_blocks(t, &hot) - w->went_on_at < BLOCKS_MOST) {
		struct callee *c = &t->callees[w->went_on_in];

		loop->callees[loop->n++] = w->went_on_in;
		w->learns = true;
		if (c->calls == w->went_on_calls + 1) { /* that look has failed */
			c->calls--;
			loop->owed -= loop->owed != 0;
		}
	}
	w->went_on_in = 0;
}

static uint64_t loop_calls(const struct thread *t, const struct waiting_loop *loop)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < loop->n; i++)
		calls += t->callees[loop->callees[i]].calls;
	return calls;
}

static void calls_less(struct callee *c, uint64_t n)
{
	c->calls -= n < c->calls ? n : c->calls;
}

/* First looks that were counted beside those that succeeded are taken off, as if a call of what they call took so much less. Of several
 * functions nobody knows which had how much. */
static void looks_owed(struct thread *t, struct waiting_loop *loop)
{
	for (size_t i = 0; i < loop->n; i++)
		calls_less(&t->callees[loop->callees[i]], (uint64_t)loop->owed * loop->usual_calls[i]);
	if (loop->n == 1) {
		for (size_t i = 0; i < COUNT_SIMULATED; i++)
			t->waiting.less[i] = loop->owed * loop->usual[i];
		callee_pretend(t, loop->callees[0], counts_less);
	}
	loop->owed = 0;
}

static void counting_ends(struct thread *t)
{
	struct waiting *w = &t->waiting;
	uint64_t *at[RARE];

	rare_find(at);
	for (size_t i = 0; i < RARE; i++)
		w->held[i] = *at[i];
	w->left = hot.simulating ? 0 : hot.left;
	w->blocks_left = hot.blocks_left;
	w->library = hot.library;
	t->granted -= (uint64_t)w->left;
	t->blocks_granted -= w->blocks_left;
	hot.left = hot.blocks_left = 0;
	__atomic_store_n(&t->waits, true, __ATOMIC_RELAXED);
	hot.waits = 1;
}

static void counting_begins(struct thread *t)
{
	struct waiting *w = &t->waiting;

	hot.waits = 0;
	__atomic_store_n(&t->waits, false, __ATOMIC_RELAXED);
	hot.left = w->left;
	hot.blocks_left = w->blocks_left;
	t->granted += (uint64_t)w->left;
	t->blocks_granted += w->blocks_left;
	hold(w);
}

static void waiting_begin(struct thread *t, struct waiting_loop *loop)
{
	struct waiting *w = &t->waiting;

	callees_account(t);
	counts_less(t);
	w->in_place = loop->polls || loop->n == 0 || loop_calls(t, loop) != loop->calls;
	callee_learn(t, loop);
	if (loop->failed && loop->owed && loop->n)
		looks_owed(t, loop);
	w->loop = loop;
	w->owner = t->owner;
	memset(w->look, 0, sizeof(w->look));
	memset(w->calls, 0, sizeof(w->calls));
	memset(w->failed, 0, sizeof(w->failed));
	memset(w->failed_calls, 0, sizeof(w->failed_calls));
	w->seen = false;
	w->lowest = t->n_frames;
	w->n_failed = 0;
	w->bytes = 0;
	counting_ends(t);
}

/* The loop has been work. */
static void was_work(struct waiting *w)
{
	for (size_t i = 0; i < COUNT_SIMULATED; i++)
		w->look[i] += w->failed[i];
	for (size_t i = 0; i < w->loop->n; i++)
		w->calls[i] += w->failed_calls[i];
	w->waited = 0;
}

/* What a look that failed took has been counted in place of this one, if it was a look; and another one, before the second operation of a
 * loop that polls has told that it is one. */
static void waiting_end(struct thread *t, bool looked)
{
	struct waiting *w = &t->waiting;
	struct waiting_loop *loop = w->loop;
	uint64_t times = loop->polls ? 2 : w->in_place;

	counting_begins(t);
	looked = looked && (!loop->polls || w->seen);
	loop->in_vain = looked ? 0 : loop->in_vain + 1;
	if (loop->polls && !looked)
		was_work(w);
	for (size_t i = 0; i < COUNT_SIMULATED && looked; i++) {
		uint64_t usual = times * loop->usual[i];

		w->less[i] += w->look[i] < usual ? usual - w->look[i] : 0;
		w->look[i] -= w->look[i] < usual ? w->look[i] : usual;
	}
	for (size_t i = 0; i < loop->n; i++) {
		struct callee *c = &t->callees[loop->callees[i]];

		c->calls += w->calls[i];
		calls_less(c, looked ? times * loop->usual_calls[i] : 0);
	}
	loop->owed += looked && !loop->polls && !loop->failed && w->in_place;
	loop->calls = loop_calls(t, loop);
	w->look[COUNT_WAITED] = w->waited;
	w->waited = 0;
	counts_more(t, w->look);
	t->accounted_rare = UINT64_MAX;
	if (looked && t->owner == w->owner) {
		callees_account(t);
		counts_less(t);
	}
}

/* Where all of a look was in a function that ends now, the loop has ended, too. */
void waiting_leaves(struct thread *t)
{
	struct waiting *w = &t->waiting;

	BUSY_HERE();
	if (hot.waits && w->loop->polls && w->n_failed && t->n_frames < w->lowest)
		waiting_end(t, true);
	else if (hot.waits)
		hold(w);
	if (!w->n_failed && t->n_frames < w->lowest)
		w->lowest = t->n_frames;
	busy_end();
}

/* The last write has changed what was there. */
static bool has_changed(const struct waiting *w)
{
	return w->bytes && memcmp((const void *)w->written, &w->value, w->bytes) != 0;
}

/* It has looked there before; then it has now. The place that it looked at longest ago is forgotten. */
static bool place_is_known(struct waiting *w, uintptr_t place)
{
	for (size_t i = 0; i < WAITING_PLACES; i++)
		if (w->places[i] == place)
			return true;
	w->places[w->n_places++ % WAITING_PLACES] = place;
	return false;
}

void waiting_stop(void)
{
	if (LIKELY(!hot.waits || hot.busy))
		return; /* a handler in the midst of our work stops nothing */
	BUSY_HERE();
	if (hot.waits) {
		hot.thread->waiting.seen = true;
		waiting_end(hot.thread, true);
	}
	busy_end();
}

static bool goes_on(uintptr_t address, size_t bytes, enum access access)
{
	struct waiting *w = &hot.thread->waiting;

	if (has_changed(w) || !(place_is_known(w, address) || (w->learns && access == ACCESS_READ)) ||
	    (access == ACCESS_WRITE && bytes > sizeof(w->value))) {
		waiting_end(hot.thread, true);
		return false;
	}
	w->look[COUNT_ACCESSES]++;
	w->bytes = access == ACCESS_WRITE ? (uint32_t)bytes : 0;
	memcpy(&w->value, (const void *)address, w->bytes);
	w->written = address;
	return true;
}

bool waiting_goes_on(uintptr_t address, size_t bytes, enum access access)
{
	bool waits;

	if (hot.busy) {
		hot.left = 0;
		return true;
	}
	BUSY_HERE();
	hot.left = hot.waits ? 0 : hot.left;
	waits = hot.waits && goes_on(address, bytes, access);
	busy_end();
	return waits;
}

static bool goes_on_in_call(struct thread *t, uint32_t callee)
{
	struct waiting *w = &t->waiting;

	for (size_t i = 0; i < w->loop->n; i++) {
		if (w->loop->callees[i] == callee) {
			w->calls[i]++;
			return true;
		}
	}
	waiting_end(t, true);
	w->went_on_in = callee;
	w->went_on_calls = t->callees[callee].calls;
	w->went_on_at = counts_blocks(t, &hot);
	return false;
}

bool waiting_goes_on_in_call(struct thread *t, uint32_t callee)
{
	bool waits;

	BUSY_HERE();
	waits = hot.waits && goes_on_in_call(t, callee);
	busy_end();
	return waits;
}

bool waiting_is_interrupted(struct thread *t)
{
	struct waiting *w = &t->waiting;

	BUSY_HERE();
	if (hot.waits) {
		counting_begins(t);
		w->interrupted = true;
		w->changes = hot.changes;
	}
	busy_end();
	return w->interrupted;
}

void waiting_continues(struct thread *t)
{
	struct waiting *w = &t->waiting;

	BUSY_HERE();
	if (w->interrupted) {
		hot.changes = w->changes;
		w->interrupted = false;
		counting_ends(t);
	}
	busy_end();
}

static bool goes_on_in_block(void)
{
	struct waiting *w = &hot.thread->waiting;

	if (has_changed(w)) {
		waiting_end(hot.thread, true);
		return false;
	}
	if (++w->look[COUNT_BLOCKS] >= BLOCKS_MOST)
		waiting_end(hot.thread, false);
	return true;
}

bool waiting_goes_on_in_block(void)
{
	bool waits;

	if (hot.busy) {
		hot.blocks_left = 0;
		return true;
	}
	BUSY_HERE();
	hot.blocks_left = hot.waits ? 0 : hot.blocks_left;
	waits = hot.waits && goes_on_in_block();
	busy_end();
	return waits;
}

static void look_failed(struct waiting *w)
{
	hold(w);
	w->n_failed++;
	w->loop->failed = true;
	for (size_t i = 0; i < COUNT_SIMULATED; i++)
		w->failed[i] += w->look[i];
	for (size_t i = 0; i < WAITING_CALLEES; i++)
		w->failed_calls[i] += w->calls[i];
	memcpy(w->loop->usual, w->look, sizeof(w->look));
	memcpy(w->loop->usual_calls, w->calls, sizeof(w->calls));
	memset(w->look, 0, sizeof(w->look));
	memset(w->calls, 0, sizeof(w->calls));
	w->waited += w->loop->usual[COUNT_ACCESSES] + w->loop->usual[COUNT_BLOCKS];
	w->bytes = 0;
}

/* The thread has looked in vain. With one thread alone there is nothing to wait for here. */
static void looked_in_vain(struct thread *t, uintptr_t site)
{
	struct waiting *w = &t->waiting;

	if (hot.waits && (has_changed(w) || w->loop->site != site)) {
		w->seen = !has_changed(w);
		waiting_end(t, true);
	}
	if (!hot.waits) {
		waiting_begin(t, loop_at(w, site, false));
		return;
	}
	look_failed(w);
}

static void yields(uintptr_t site)
{
	struct thread *t = hot.thread;

	if (!t || hot.busy || !runtime.several || t->waiting.interrupted)
		return;
	BUSY_HERE();
	hot.changes++; /* looks on both sides of this are not those of a loop without it */
	looked_in_vain(t, site);
	busy_end();
}

/* ---- without sched_yield() ---- */

static void polls_again(struct thread *t, uintptr_t site)
{
	struct waiting *w = &t->waiting;
	struct waiting_loop *loop;

	if (hot.waits) {
		if (w->loop->site == site)
			look_failed(w);
		return;
	}
	loop = loop_at(w, site, true);
	if (loop->in_vain < VAIN_MOST || ++loop->skipped % VAIN_SKIPPED == 0)
		waiting_begin(t, loop);
}

static void polls(struct thread *t, uintptr_t site, uintptr_t address, uint64_t value)
{
	struct waiting *w = &t->waiting;
	struct look *look = &w->looks[(site * 0x9e3779b97f4a7c15u) >> 61];
	bool known = look->site == site && look->at == address && look->changes == hot.changes, same = known && look->value == value;

	*look = (struct look){ site, address, value, hot.changes };
	if (hot.waits && !w->loop->polls)
		return;
	if (hot.waits && w->written == address)
		w->bytes = 0; /* what it has found is what it leaves there, or has changed before */
	if (same) {
		polls_again(t, site);
	} else if (hot.waits && known) {
		w->seen = !has_changed(w);
		waiting_end(t, true);
	}
}

_Static_assert(WAITING_LOOKS == 1 << (64 - 61), "a look's place is as many bits");

void waiting_looks(uintptr_t site, uintptr_t address, uint64_t value)
{
	struct thread *t = hot.thread;

	if (!t || hot.busy || t->waiting.interrupted)
		return;
	BUSY_HERE();
	polls(t, site, address, value);
	busy_end();
}

/* ---- sched_yield() ---- */

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* the linker calls what follows by its --wrap */

int __real_sched_yield(void);
EXPORT int __wrap_sched_yield(void)
{
	yields((uintptr_t)__builtin_return_address(0));
	return __real_sched_yield();
}

void __real_thrd_yield(void);
EXPORT void __wrap_thrd_yield(void)
{
	yields((uintptr_t)__builtin_return_address(0));
	__real_thrd_yield();
}

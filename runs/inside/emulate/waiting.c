/* Recognizes waiting for another thread, in a loop around sched_yield() or around atomic operations only. A look is one iteration of such a
 * loop. The number of looks until the thread can go on is random and is not work. So after sched_yield() nothing counts, and no logical
 * time passes, until the thread goes on. A thread goes on if it accesses an address for the first time while waiting, changes a value in
 * memory, calls a function that no look has called, or executes too many basic blocks. The first, failed look is counted in place of the
 * successful one, and then corrected by the difference between the two. So only successful looks count. Until a look of a loop has failed
 * after sched_yield(), that difference is unknown, and all events of the loop count. They are corrected once a look has failed. If the loop
 * calls no function between a successful look and the next sched_yield(), there was no first failed look.
 *
 * Without sched_yield(), a polling loop is recognized by its atomic operation. The operation finds the same value at the same address
 * again, and the thread has changed nothing by atomic operations in between. Such a loop may also be work that checks whether to stop. So
 * its counts are added after all, with two exceptions. One is a loop that ends without a change of its own after another thread has changed
 * the polled value. The other is a loop followed by sched_yield() or a wait in the library. A wait that ends with the second look counts.
 *
 * A signal handler that interrupts a wait is not a look. Its work counts, and the wait continues when the handler ends. If a handler runs
 * between two instructions of this file, its work does not count. */
#include "runs/inside/emulate/emulation.h"

#include <sched.h>
#include <string.h>
#include <threads.h>

#define BLOCKS_MAX	   256u /* maximum number of basic blocks of a look; a longer one is work */
#define VAIN_WAITS_MAX	   8u	/* number of consecutive polling waits that turned out to be work, after which... */
#define VAIN_WAITS_SKIPPED 64u	/* ...only one look in 64 may start a wait */

/* Number of counters that hooks increment even while the thread waits. rare_addresses() stores the addresses of these counters in `at`. */
#define RARE_COUNTERS (COUNT_SIMULATED - COUNT_ATOMICS)
static void rare_addresses(uint64_t *at[RARE_COUNTERS])
{
	at[0] = &hot.atomics;
	at[1] = &system_calls;
	at[2] = &hot.allocations;
	at[3] = &hot.allocated_bytes;
	at[4] = &hot.copied_bytes;
	at[5] = &hot.waited;
}
_Static_assert(RARE_COUNTERS == 6, "rare_addresses() stores all rare counters");

static void hide_waiting_counts(struct waiting *w)
{
	uint64_t *at[RARE_COUNTERS];

	rare_addresses(at);
	for (size_t i = 0; i < RARE_COUNTERS; i++) {
		w->look[COUNT_ATOMICS + i] += *at[i] - w->held[i];
		*at[i] = w->held[i];
	}
	w->look[COUNT_BLOCKS] += hot.library - w->library;
	hot.library = w->library;
}

void waiting_move_counts(struct thread *t)
{
	BUSY_BEGIN();
	if (hot.waits)
		hide_waiting_counts(&t->waiting);
	busy_end();
}

/* Adds the changes `more`, which may be negative, to the thread's counts. */
static void counts_add_signed(struct thread *t, const uint64_t *more)
{
	uint64_t *at[RARE_COUNTERS];

	rare_addresses(at);
	for (size_t i = 0; i < RARE_COUNTERS; i++)
		*at[i] += more[COUNT_ATOMICS + i];
	t->counts.exact[COUNT_ACCESSES] += more[COUNT_ACCESSES];
	t->counts.exact[COUNT_BLOCKS] += more[COUNT_BLOCKS];
	if (hot.simulating && t->weight) {
		t->counts.exact[COUNT_SIMULATED] += more[COUNT_ACCESSES];
		t->counts.weighed[COUNT_ACCESSES] += more[COUNT_ACCESSES] * t->weight;
	}
}

/* Subtracts the excess of failed looks over successful ones from the owner's counts. After a look in a callee, the next wait does this. */
static void counts_subtract_excess(struct thread *t)
{
	const struct counts *own = &t->callees[t->owner].own;
	uint64_t more[COUNT_SIMULATED], weight = hot.simulating ? t->weight : 0;

	for (size_t i = 0; i < COUNT_SIMULATED; i++) {
		uint64_t most =
		    weight && i <= COUNT_BLOCKS && own->weighed[i] / weight < own->exact[i] ? own->weighed[i] / weight : own->exact[i];

		more[i] = -(t->waiting.counts_to_subtract[i] < most ? t->waiting.counts_to_subtract[i] : most);
		t->waiting.counts_to_subtract[i] = 0;
	}
	counts_add_signed(t, more);
	t->rare_counts_added = UINT64_MAX;
	callees_add_counts(t);
}

/* Returns the loop at this site. If it is unknown, it replaces the loop that was added first. */
static struct waiting_loop *loop_find(struct waiting *w, uintptr_t site, bool polls)
{
	struct waiting_loop *loop;

	for (size_t i = 0; i < WAITING_LOOPS; i++)
		if (w->loops[i].site == site)
			return &w->loops[i];
	loop = &w->loops[w->n_loops++ % WAITING_LOOPS];
	*loop = (struct waiting_loop){ .site = site, .polls = polls };
	return loop;
}

/* Adds to the loop the callee whose call ended its last wait, if another sched_yield() followed soon. The call was then part of a look. */
static void callee_learn(struct thread *t, struct waiting_loop *loop)
{
	struct waiting *w = &t->waiting;

	w->is_learning_callee = false;
	if (w->resumed_callee && loop == w->loop && loop->n < WAITING_CALLEES &&
	    counts_read_blocks(t, &hot) - w->resumed_at_block < BLOCKS_MAX) {
		struct callee *c = &t->callees[w->resumed_callee];

		loop->callees[loop->n++] = w->resumed_callee;
		w->is_learning_callee = true;
		if (c->calls == w->resumed_calls + 1) { /* the call belongs to a failed look */
			c->calls--;
			loop->n_owed_polls -= loop->n_owed_polls != 0;
		}
	}
	w->resumed_callee = 0;
}

static uint64_t count_loop_calls(const struct thread *t, const struct waiting_loop *loop)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < loop->n; i++)
		calls += t->callees[loop->callees[i]].calls;
	return calls;
}

static void calls_subtract(struct callee *c, uint64_t n)
{
	c->calls -= n < c->calls ? n : c->calls;
}

/* Subtracts first failed looks that were counted in addition to successful ones, as if calls of the callee were shorter. With several
 * callees, subtracts only numbers of calls, because the share of each callee is unknown. */
static void subtract_polls(struct thread *t, struct waiting_loop *loop)
{
	for (size_t i = 0; i < loop->n; i++)
		calls_subtract(&t->callees[loop->callees[i]], (uint64_t)loop->n_owed_polls * loop->usual_calls[i]);
	if (loop->n == 1) {
		for (size_t i = 0; i < COUNT_SIMULATED; i++)
			t->waiting.counts_to_subtract[i] = loop->n_owed_polls * loop->usual[i];
		callee_run_as(t, loop->callees[0], counts_subtract_excess);
	}
	loop->n_owed_polls = 0;
}

static void pause_counting(struct thread *t)
{
	struct waiting *w = &t->waiting;
	uint64_t *at[RARE_COUNTERS];

	rare_addresses(at);
	for (size_t i = 0; i < RARE_COUNTERS; i++)
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

static void resume_counting(struct thread *t)
{
	struct waiting *w = &t->waiting;

	hot.waits = 0;
	__atomic_store_n(&t->waits, false, __ATOMIC_RELAXED);
	hot.left = w->left;
	hot.blocks_left = w->blocks_left;
	t->granted += (uint64_t)w->left;
	t->blocks_granted += w->blocks_left;
	hide_waiting_counts(w);
}

static void waiting_begin(struct thread *t, struct waiting_loop *loop)
{
	struct waiting *w = &t->waiting;

	callees_add_counts(t);
	counts_subtract_excess(t);
	w->counts_first_poll = loop->polls || loop->n == 0 || count_loop_calls(t, loop) != loop->calls;
	callee_learn(t, loop);
	if (loop->failed && loop->n_owed_polls && loop->n)
		subtract_polls(t, loop);
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
	pause_counting(t);
}

/* Adds the counts of failed looks, because the loop turned out to be work. */
static void failed_polls_add(struct waiting *w)
{
	for (size_t i = 0; i < COUNT_SIMULATED; i++)
		w->look[i] += w->failed[i];
	for (size_t i = 0; i < w->loop->n; i++)
		w->calls[i] += w->failed_calls[i];
	w->waited = 0;
}

/* Ends a wait. `looked` is true if a look succeeded. A failed look was then counted in its place. In a polling loop, another failed look
 * was counted before the loop was recognized. */
static void waiting_end(struct thread *t, bool looked)
{
	struct waiting *w = &t->waiting;
	struct waiting_loop *loop = w->loop;
	uint64_t times = loop->polls ? 2 : w->counts_first_poll;

	resume_counting(t);
	looked = looked && (!loop->polls || w->seen);
	loop->n_failed_waits = looked ? 0 : loop->n_failed_waits + 1;
	if (loop->polls && !looked)
		failed_polls_add(w);
	for (size_t i = 0; i < COUNT_SIMULATED && looked; i++) {
		uint64_t usual = times * loop->usual[i];

		w->counts_to_subtract[i] += w->look[i] < usual ? usual - w->look[i] : 0;
		w->look[i] -= w->look[i] < usual ? w->look[i] : usual;
	}
	for (size_t i = 0; i < loop->n; i++) {
		struct callee *c = &t->callees[loop->callees[i]];

		c->calls += w->calls[i];
		calls_subtract(c, looked ? times * loop->usual_calls[i] : 0);
	}
	loop->n_owed_polls += looked && !loop->polls && !loop->failed && w->counts_first_poll;
	loop->calls = count_loop_calls(t, loop);
	w->look[COUNT_WAITED] = w->waited;
	w->waited = 0;
	counts_add_signed(t, w->look);
	t->rare_counts_added = UINT64_MAX;
	if (looked && t->owner == w->owner) {
		callees_add_counts(t);
		counts_subtract_excess(t);
	}
}

/* Ends the wait of a polling loop if the function that returns now contained the whole loop. */
void waiting_leave_frame(struct thread *t)
{
	struct waiting *w = &t->waiting;

	BUSY_BEGIN();
	if (hot.waits && w->loop->polls && w->n_failed && t->n_frames < w->lowest)
		waiting_end(t, true);
	else if (hot.waits)
		hide_waiting_counts(w);
	if (!w->n_failed && t->n_frames < w->lowest)
		w->lowest = t->n_frames;
	busy_end();
}

/* Reports whether the thread's last write changed the value in memory. */
static bool has_changed(const struct waiting *w)
{
	return w->bytes && memcmp((const void *)w->written, &w->value, w->bytes) != 0;
}

/* Reports whether the thread has accessed this address before while waiting. If not, records it in place of the oldest address. */
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
		return; /* a handler that interrupts the emulation's own work does not end the wait */
	BUSY_BEGIN();
	if (hot.waits) {
		hot.thread->waiting.seen = true;
		waiting_end(hot.thread, true);
	}
	busy_end();
}

static bool is_same_loop(uintptr_t address, size_t bytes, enum access access)
{
	struct waiting *w = &hot.thread->waiting;

	if (has_changed(w) || !(place_is_known(w, address) || (w->is_learning_callee && access == ACCESS_READ)) ||
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

bool waiting_continues_in_access(uintptr_t address, size_t bytes, enum access access)
{
	bool waits;

	if (hot.busy) {
		hot.left = 0;
		return true;
	}
	BUSY_BEGIN();
	hot.left = hot.waits ? 0 : hot.left;
	waits = hot.waits && is_same_loop(address, bytes, access);
	busy_end();
	return waits;
}

static bool is_same_loop_in_call(struct thread *t, uint32_t callee)
{
	struct waiting *w = &t->waiting;

	for (size_t i = 0; i < w->loop->n; i++) {
		if (w->loop->callees[i] == callee) {
			w->calls[i]++;
			return true;
		}
	}
	waiting_end(t, true);
	w->resumed_callee = callee;
	w->resumed_calls = t->callees[callee].calls;
	w->resumed_at_block = counts_read_blocks(t, &hot);
	return false;
}

bool waiting_continues_in_call(struct thread *t, uint32_t callee)
{
	bool waits;

	BUSY_BEGIN();
	waits = hot.waits && is_same_loop_in_call(t, callee);
	busy_end();
	return waits;
}

bool waiting_is_interrupted(struct thread *t)
{
	struct waiting *w = &t->waiting;

	BUSY_BEGIN();
	if (hot.waits) {
		resume_counting(t);
		w->interrupted = true;
		w->changes = hot.changes;
	}
	busy_end();
	return w->interrupted;
}

void waiting_resume(struct thread *t)
{
	struct waiting *w = &t->waiting;

	BUSY_BEGIN();
	if (w->interrupted) {
		hot.changes = w->changes;
		w->interrupted = false;
		pause_counting(t);
	}
	busy_end();
}

static bool is_same_loop_in_block(void)
{
	struct waiting *w = &hot.thread->waiting;

	if (has_changed(w)) {
		waiting_end(hot.thread, true);
		return false;
	}
	if (++w->look[COUNT_BLOCKS] >= BLOCKS_MAX)
		waiting_end(hot.thread, false);
	return true;
}

bool waiting_continues_in_block(void)
{
	bool waits;

	if (hot.busy) {
		hot.blocks_left = 0;
		return true;
	}
	BUSY_BEGIN();
	hot.blocks_left = hot.waits ? 0 : hot.blocks_left;
	waits = hot.waits && is_same_loop_in_block();
	busy_end();
	return waits;
}

static void poll_failed(struct waiting *w)
{
	hide_waiting_counts(w);
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

/* Accounts for a failed look in a loop with sched_yield(), or starts a wait. */
static void on_failed_poll(struct thread *t, uintptr_t site)
{
	struct waiting *w = &t->waiting;

	if (hot.waits && (has_changed(w) || w->loop->site != site)) {
		w->seen = !has_changed(w);
		waiting_end(t, true);
	}
	if (!hot.waits) {
		waiting_begin(t, loop_find(w, site, false));
		return;
	}
	poll_failed(w);
}

static void on_yield(uintptr_t site)
{
	struct thread *t = hot.thread;

	if (!t || hot.busy || !runtime.is_multithreaded || t->waiting.interrupted)
		return;
	BUSY_BEGIN();
	hot.changes++; /* looks before and after sched_yield() belong to different polling loops */
	on_failed_poll(t, site);
	busy_end();
}

/* ---- loops without sched_yield() ---- */

static void on_repeated_poll(struct thread *t, uintptr_t site)
{
	struct waiting *w = &t->waiting;
	struct waiting_loop *loop;

	if (hot.waits) {
		if (w->loop->site == site)
			poll_failed(w);
		return;
	}
	loop = loop_find(w, site, true);
	if (loop->n_failed_waits < VAIN_WAITS_MAX || ++loop->skipped % VAIN_WAITS_SKIPPED == 0)
		waiting_begin(t, loop);
}

static void on_poll(struct thread *t, uintptr_t site, uintptr_t address, uint64_t value)
{
	struct waiting *w = &t->waiting;
	struct atomic_read *look = &w->polled_values[(site * 0x9e3779b97f4a7c15u) >> 61];
	bool known = look->site == site && look->at == address && look->changes == hot.changes, same = known && look->value == value;

	*look = (struct atomic_read){ site, address, value, hot.changes };
	if (hot.waits && !w->loop->polls)
		return;
	if (hot.waits && w->written == address)
		w->bytes = 0; /* the thread wrote the same value back, or has changed it before */
	if (same) {
		on_repeated_poll(t, site);
	} else if (hot.waits && known) {
		w->seen = !has_changed(w);
		waiting_end(t, true);
	}
}

_Static_assert(WAITING_LOOKS == 1 << (64 - 61), "the hash shift fits WAITING_LOOKS");

void waiting_add_poll(uintptr_t site, uintptr_t address, uint64_t value)
{
	struct thread *t = hot.thread;

	if (!t || hot.busy || t->waiting.interrupted)
		return;
	BUSY_BEGIN();
	on_poll(t, site, address, value);
	busy_end();
}

/* ---- loops with sched_yield() ---- */

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* the linker's option --wrap redirects calls to these functions */

int __real_sched_yield(void);
EXPORT int __wrap_sched_yield(void)
{
	on_yield((uintptr_t)__builtin_return_address(0));
	return __real_sched_yield();
}

void __real_thrd_yield(void);
EXPORT void __wrap_thrd_yield(void)
{
	on_yield((uintptr_t)__builtin_return_address(0));
	__real_thrd_yield();
}

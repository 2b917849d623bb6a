/* Logical time: a thread's clock counts its accesses, in windows. Clocks pass between threads at creation, end and barriers only,
 * always up to the next whole window, so that what is ordered never shares one. Which windows are simulated follows from their
 * number alone: all threads skip the same ones. */
#include "runs/inside/emulate/emulate.h"

#define WINDOW_ACCESSES 1024u /* with more, threads meet that never do */
#define ALL_WINDOWS     128u  /* the first ones are all simulated: small programs are seen whole */
#define GROUP_WINDOWS   128u  /* after that, one burst in so many windows... */
#define BURST_WINDOWS   8u    /* ...long enough for caches, at a place in the group that no loop keeps step with */

static uint64_t burst_begin(uint64_t group)
{
	uint64_t x = group * 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
	return group * GROUP_WINDOWS + (x >> 60) * BURST_WINDOWS;
}

_Static_assert(GROUP_WINDOWS / BURST_WINDOWS == 1u << (64 - 60), "the place is as many bits");

uint64_t window_next_simulated(uint64_t window)
{
	uint64_t group = window / GROUP_WINDOWS, begin = burst_begin(group);

	if (runtime.full || window < ALL_WINDOWS || (window >= begin && window < begin + BURST_WINDOWS))
		return window;
	return window < begin ? begin : burst_begin(group + 1);
}

/* ---- how far the thread is ---- */

static uint32_t window_used(const struct thread *t)
{
	return t->hot->simulating ? WINDOW_ACCESSES - t->window_left : 0;
}

static uint64_t window_blocks(const struct thread *t)
{
	return t->counts.exact[COUNT_BLOCKS] + (t->hot->simulating ? 0 : (uint64_t)(BLOCKS_GRANTED - t->hot->blocks_left));
}

static uint64_t window_accesses(const struct thread *t)
{
	int64_t left = t->hot->left;

	return t->counts.exact[COUNT_ACCESSES] +
	       (t->hot->simulating ? window_used(t) : t->granted - (uint64_t)(left < 0 ? 0 : left));
}

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

/* Accesses of the stretch that is being skipped that are still to come. */
static uint64_t skipped_left(void)
{
	return hot.simulating || hot.left < 0 ? 0 : (uint64_t)hot.left;
}

uint64_t window_after(const struct thread *t)
{
	return hot.simulating ? t->window + 1 : t->window - skipped_left() / WINDOW_ACCESSES;
}

uint64_t window_now(const struct thread *t, uint32_t *used)
{
	uint64_t left = skipped_left();

	*used = hot.simulating ? window_used(t) : (uint32_t)(-left % WINDOW_ACCESSES);
	return hot.simulating ? t->window : t->window - (left + WINDOW_ACCESSES - 1) / WINDOW_ACCESSES;
}

/* ---- from window to window ---- */

void window_begin(struct thread *t, uint64_t window)
{
	uint64_t simulated = window_next_simulated(window);

	t->window = simulated;
	__atomic_store_n(&t->at, simulated, __ATOMIC_RELEASE);
	if (simulated == window) {
		t->window_left = WINDOW_ACCESSES;
		t->weight = runtime.full || window < ALL_WINDOWS ? 1 : GROUP_WINDOWS / BURST_WINDOWS;
		t->stamp++;
		t->records = threads_meet_in(window);
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
		t->counts.exact[COUNT_SIMULATED] += window_used(t);
		t->counts.weighed[COUNT_ACCESSES] += (uint64_t)window_used(t) * t->weight;
	}
	t->counts.exact[COUNT_ACCESSES] = window_accesses(t);
	t->counts.exact[COUNT_BLOCKS] = window_blocks(t);
	hot.simulating = 0;
	t->granted = 0;
	hot.left = 0;
	hot.blocks_left = BLOCKS_GRANTED;
	if (simulated)
		evaluate_append(t);
}

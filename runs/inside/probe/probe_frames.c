/* Slow hooks, which handle the shadow stack in all cases: new threads, child processes, dead frames, counters, new chunks of the file. Also
 * the hooks of -finstrument-functions. This file is compiled for general registers only, so that arguments and results in vector registers
 * are preserved. Code that may change vector registers is called by probe_saved(). */
#include "runs/inside/probe/probe.h"

#include <errno.h>
#include <stdlib.h>

#define NO_SANITIZER	   __attribute__((no_sanitize_address)) /* for functions that read any part of the stack */
#define INSTRUMENTED_SLOTS (2 * RECORD_FUNCTIONS_MAX)		/* size of the hash table; a power of two */
#define FRACTIONS	   256u					/* resolution of the costs: fractions per tick */

/* ---- choice of sampled calls ---- */

/* One call in 2^level is sampled. Only the function and the ordinal determine which one. A call that is sampled at a level is also sampled
 * at every lower level. So two runs with the same seed measure the same invocations, as far as their levels allow. */
static uint64_t hash_mix(uint64_t x)
{
	/* Finalizer of MurmurHash3. */
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdu;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53u;
	return x ^ x >> 33;
}

/* Returns the sampled ordinal in a block of 2^level calls. A hash chooses one half of the block, one half of that half, and so on. */
static uint64_t level_choose_call(uint64_t seed, uint32_t level, uint64_t block)
{
	while (level) {
		block = 2 * block + (hash_mix(seed + level * 0x9e3779b97f4a7c15u + block) & 1);
		level--;
	}
	return block;
}

uint64_t probe_next_sampled(uint64_t seed, uint32_t level, uint64_t from)
{
	uint64_t block = from >> level, ordinal = level_choose_call(seed, level, block);

	return ordinal >= from ? ordinal : level_choose_call(seed, level, block + 1);
}

/* Returns the lowest level at which measuring stays within the budget minus the cost of counting. If a function is too short for that,
 * measuring may cost a sixteenth of the budget. `mean` includes the apparent duration of an empty function. */
static uint32_t level_for_mean(uint64_t mean)
{
	uint64_t itself = mean > probe.cost_inside ? mean - probe.cost_inside : 1;
	uint64_t budget = itself * probe.budget_ppm * FRACTIONS / 1000000, counted = probe.cost_counted * FRACTIONS;
	uint64_t allowed = budget > counted + budget / 16 ? budget - counted : budget / 16;
	uint32_t level = 0;

	while (level < PROBE_LEVEL_MAX && probe.cost_sampled * FRACTIONS >> level > allowed)
		level++;
	return level;
}

/* Returns the lowest mean for which level_for_mean() returns at most `level`. */
static uint64_t least_mean(uint32_t level)
{
	uint64_t low = 0, high = 1ull << 40; /* ticks, some minutes */

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (level_for_mean(middle) <= level)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Returns the duration of an invocation, but at most the mean time between calls. A measured call waits for the clock and disturbs the
 * CPU's predictions, so a call of 8 ns seems to take 60 ns. */
static uint64_t limit_call_duration(struct probe_state *s, const struct probe_frame *frame, uint64_t alone)
{
	uint64_t began = frame->start - frame->paused, since = began - s->last, most;

	if (s->last && frame->ordinal <= s->last_ordinal) /* a call of the function that was nested in this one is already used */
		return alone;
	if (s->last && since > probe.cost_sampled) {
		most = (since - probe.cost_sampled) / (frame->ordinal - s->last_ordinal) + probe.cost_inside;
		alone = most < alone ? most : alone;
	}
	s->last = began;
	s->last_ordinal = frame->ordinal;
	return alone;
}

/* Returns the ordinal from which a changed level applies, after a call that was measured at level `before`. A lower level starts after the
 * block of that call. The call represents the whole block, so more samples in the block would count twice. Levels fall after long calls, so
 * these would get too much weight (with periodic durations, the weights added up to 1.04 times the calls). */
static uint64_t level_first_call(const struct probe_state *s, uint32_t before, uint64_t ordinal)
{
	uint64_t block = s->next >> before << before;

	return s->level < before && block > ordinal ? block : ordinal + 1;
}

/* Updates the mean and the level after an invocation of `alone` ticks, without nested ones. Returns true if the level changed. */
static bool level_update(struct probe_thread *t, struct probe_state *s, uint64_t alone)
{
	bool first = !s->mean_high;
	uint32_t level, old = s->level;

	s->mean = first ? alone : probe_update_mean(s->mean, alone);
	if (!first && s->mean >= s->mean_low && s->mean < s->mean_high)
		return false;
	level = probe.budget_ppm ? level_for_mean(s->mean) : 0;
	s->mean_low = probe.budget_ppm && level < PROBE_LEVEL_MAX ? least_mean(level) : 0;
	s->mean_high = probe.budget_ppm && level ? least_mean(level - 1) : UINT64_MAX;
	if (level == old)
		return false;
	if (!old || !level)
		t->n_sampled_functions += level ? 1u : -1u;
	s->level = level;
	return true;
}

/* ---- calls of other files, which preserve the program's errno ---- */

static uint64_t call_begin(void *unused, void *unused2)
{
	int kept = errno;

	(void)unused, (void)unused2;
	probe_child_begin(); /* if a thread created without the probe has forked, the counters must belong to the child */
	if (probe_thread_begin(probe_stack()))
		__atomic_fetch_add(&probe.threads, 1, __ATOMIC_RELAXED);
	errno = kept;
	return (uintptr_t)probe_self;
}

static uint64_t call_child(void *t, void *unused)
{
	int kept = errno;

	(void)t, (void)unused;
	probe_child_begin();
	errno = kept;
	return 0;
}

static uint64_t call_take(void *t, void *unused)
{
	(void)unused;
	return record_extend_chunk(&probe.writer, &((struct probe_thread *)t)->record);
}

static uint64_t call_read(void *t, void *values)
{
	int kept = errno;

	probe_counters_read(t, values);
	errno = kept;
	return 0;
}

/* Calls a function, and excludes its time from all invocations. */
static uint64_t call_paused(struct probe_thread *t, uint64_t (*function)(void *, void *), void *argument)
{
	uint64_t before = record_ticks(), result = probe_saved(function, t, argument);

	t->paused += record_ticks() - before;
	return result;
}

static void counters_read(struct probe_thread *t, uint64_t *values)
{
	if (t->counting)
		call_paused(t, call_read, values);
	else
		for (uint32_t i = 0; i < probe.n_counters; i++)
			values[i] = UINT64_MAX;
}

/* Sets the countdown to the first sampled call that is not before `from`. `ordinal` is the latest call. */
static void call_schedule(struct probe_thread *t, uint32_t function, uint64_t ordinal, uint64_t from)
{
	struct probe_state *s = &t->states[function];

	s->next = probe_next_sampled(probe.functions[function].seed, s->level, from);
	*probe_countdown(t, function) = (int32_t)(s->next - ordinal - 1);
}

/* Returns the ordinal of the latest call. The countdown is below -1 if calls occurred while a hook of this thread was active. */
static uint64_t call_ordinal(const struct probe_thread *t, uint32_t function)
{
	return t->states[function].next + (uint64_t)(-1 - (int64_t)*probe_countdown(t, function));
}

/* ---- end of an invocation ---- */

static struct record_sample *sample_room(struct probe_thread *t)
{
	if ((size_t)(t->record.end - t->record.next) < probe.writer.sample_bytes &&
	    (record_must_drop(&probe.writer, &t->record) || !call_paused(t, call_take, NULL)))
		return NULL;
	return record_begin(&probe.writer, &t->record);
}

/* Stores the increase of each counter since the start. A counter that decreased is unknown: PAPI may estimate a shared register between two
 * readings, or a new thread may reset PAPI's software-defined counters. If the first reading failed, the start is UINT64_MAX: also
 * unknown. */
static void counters_store(struct probe_thread *t, const struct probe_frame *frame, struct record_sample *sample)
{
	counters_read(t, sample->counters);
	for (uint32_t i = 0; i < probe.n_counters; i++)
		if (sample->counters[i] == UINT64_MAX || sample->counters[i] < frame->counters[i])
			sample->counters[i] = UINT64_MAX;
		else
			sample->counters[i] -= frame->counters[i];
}

/* Stores the sample of a frame that t->depth no longer includes. */
static void sample_store(struct probe_thread *t, const struct probe_frame *frame, uint64_t duration, uint32_t flags)
{
	const struct record_sample head = {
		.function = frame->function,
		.weight = 1u << frame->level,
		.ordinal = frame->ordinal,
		.start = frame->start,
		.duration = duration,
		.depth = t->depth,
		.threads = __atomic_load_n(&probe.threads, __ATOMIC_RELAXED),
		.flags = flags | (t->n_sampled_functions ? RECORD_ESTIMATED : 0),
	};
	struct record_sample *sample = sample_room(t);

	if (!sample)
		return;
	if (probe.writer.options.brief) {
		record_to_brief(&head, (struct record_brief *)sample);
	} else {
		*sample = head;
		counters_store(t, frame, sample);
	}
	record_commit(&probe.writer, &t->record);
}

static void frame_pop(struct probe_thread *t, uint64_t now, uint32_t flags)
{
	struct probe_frame *frame = probe_frame_at(t, t->depth - 1);
	struct probe_state *s = &t->states[frame->function];
	uint64_t lost = frame->start + (t->paused - frame->paused), duration = now > lost ? now - lost : 0;
	uint64_t alone = duration > frame->nested ? duration - frame->nested : 0;
	uint32_t level;

	t->depth--;
	probe_barrier();
	s->open = frame->outer;
	if (frame->is_unrecorded)
		return;
	sample_store(t, frame, duration, flags);
	if (t->depth && !(flags & RECORD_LATE))
		probe_frame_at(t, t->depth - 1)->nested += (alone << frame->level) + frame->nested;
	level = s->level;
	if (level_update(t, s, limit_call_duration(s, frame, alone)))
		call_schedule(t, frame->function, call_ordinal(t, frame->function),
			      level_first_call(s, level, call_ordinal(t, frame->function)));
}

bool probe_is_overwritten(const struct probe_frame *frame)
{
	return frame->return_address && *frame->slot != (frame->shows_return_address ? frame->return_address : (uintptr_t)probe_return);
}

static void end_frames_below(struct probe_thread *t, const uintptr_t *slot, bool inclusive, uint32_t flags)
{
	while (t->depth) {
		const struct probe_frame *top = probe_frame_at(t, t->depth - 1);
		bool overwritten = probe_is_overwritten(top);

		if ((top->slot > slot || (top->slot == slot && !inclusive)) && !overwritten)
			return;
		if (top->return_address && !overwritten && top->slot != slot)
			*top->slot = top->return_address;
		probe_barrier();
		frame_pop(t, record_ticks(), flags);
	}
}

void probe_end_dead_frames(struct probe_thread *t, const uintptr_t *slot, bool inclusive)
{
	end_frames_below(t, slot, inclusive, RECORD_UNWOUND);
}

/* Ends frames whose functions were left some time ago. */
static void end_frames_late(struct probe_thread *t, const uintptr_t *slot, bool inclusive)
{
	end_frames_below(t, slot, inclusive, RECORD_UNWOUND | RECORD_LATE);
}

/* ---- return addresses ---- */

/* Searches the thread's frames at `slot`, the latest first, because only the latest can be alive. The frame of a tail call has probe_return
 * as its address; then the frame of the call before it is used. */
static uintptr_t find_return_address(const struct probe_thread *t, const uintptr_t *slot)
{
	for (uint32_t i = t->depth; i-- > 0;) {
		const struct probe_frame *frame = probe_frame_at(t, i);

		if (frame->slot == slot && frame->return_address && frame->return_address != (uintptr_t)probe_return)
			return frame->return_address;
	}
	return 0;
}

/* Also searches other threads, because a coroutine may continue in a thread that does not own its stack. */
uintptr_t probe_find_return_address(const struct probe_thread *t, const uintptr_t *slot)
{
	uintptr_t found = t ? find_return_address(t, slot) : 0;

	for (t = __atomic_load_n(&probe_threads, __ATOMIC_ACQUIRE); t && !found; t = t->next)
		if (!t->unused && probe_on_stack(t, slot))
			found = find_return_address(t, slot);
	return found;
}

/* ---- start of an invocation ---- */

/* Reads the return address that a trampoline's call of a hook leaves at a fixed distance below the slot. A hook that longjmp() left seems
 * active until the program overwrites that address, or another function runs at the same slot. */
NO_SANITIZER bool probe_is_hook_active(const struct probe_thread *t, const uintptr_t *slot)
{
	const uintptr_t *busy = (const uintptr_t *)t->busy;

	if (!busy || busy == slot)
		return false;
	return t->busy == UINTPTR_MAX || busy[-6] == (uintptr_t)probe_in_enter || busy[-12] == (uintptr_t)probe_in_enter_slowly ||
	       busy[-3] == (uintptr_t)probe_in_leave || busy[-10] == (uintptr_t)probe_in_leave_slowly;
}

/* Starts to measure a call of the function. */
static void frame_push(struct probe_thread *t, uint32_t function, uintptr_t *slot, uintptr_t return_address)
{
	struct probe_state *s = &t->states[function];
	struct probe_frame *frame;

	frame = probe_frame_at(t, t->depth);
	frame->slot = slot;
	frame->return_address = return_address;
	frame->function = function;
	frame->level = s->level;
	frame->shows_return_address = frame->is_unrecorded = false;
	frame->nested = 0;
	frame->ordinal = call_ordinal(t, function);
	frame->inner = 0;
	frame->outer = s->open;
	call_schedule(t, function, frame->ordinal, frame->ordinal + 1);
	if (probe.n_counters)
		counters_read(t, frame->counters);
	frame->paused = t->paused;
	frame->start = record_ticks_done();
	probe_barrier(); /* if a signal handler leaves the hook by longjmp() at any point, the frame is either complete or not in use */
	t->depth++;
	probe_barrier();
	if (!return_address)
		s->open = t->depth;
}

/* Counts a sampled call that cannot be measured, and chooses the next sampled call. */
static void skip_call(struct probe_thread *t, uint32_t function)
{
	if (!t->states)
		return; /* the thread has ended */
	if (function >= t->n_functions_called)
		t->n_functions_called = function + 1;
	call_schedule(t, function, call_ordinal(t, function), call_ordinal(t, function) + 1);
}

/* Starts a thread at its first call. That call was counted in probe_far_empty, so it is now counted in the thread's own table. */
static struct probe_thread *thread_first_call(uint32_t function)
{
	struct probe_thread *t =
	    (struct probe_thread *)(uintptr_t)probe_saved(call_begin, NULL, NULL); /* NOLINT: the trampoline passes the thread on */

	if (t->far && function >= PROBE_TLS_FUNCTIONS)
		--*probe_countdown(t, function);
	return t;
}

/* Returns the thread's state, and makes other hooks of the thread only count. Returns NULL if this call, too, can only be counted: another
 * hook is active, the stack is not the thread's own, or there are too many frames. */
static struct probe_thread *hook_begin(uint32_t function, uintptr_t *slot)
{
	struct probe_thread *t = probe_self ? probe_self : thread_first_call(function);
	bool passes = probe_is_hook_active(t, slot);

	if (!passes && !*probe.writer.alive)
		probe_saved(call_child, t, NULL);
	if (passes || !probe_on_stack(t, slot) || t->depth >= PROBE_DEPTH_MAX) {
		skip_call(t, function);
		return NULL;
	}
	t->busy = (uintptr_t)slot;
	probe_barrier();
	if (function >= t->n_functions_called)
		t->n_functions_called = function + 1;
	return t;
}

static void hook_end(struct probe_thread *t)
{
	probe_barrier();
	t->busy = 0;
}

void probe_enter_slowly(uint32_t function, uintptr_t *slot, uintptr_t return_address)
{
	struct probe_thread *t = hook_begin(function, slot);

	if (!t) {
		if (return_address != (uintptr_t)probe_return) /* otherwise the slot may hold an address that a handler restored */
			*slot = return_address;
		return;
	}
	/* A tail call finds probe_return in its slot, and is nested in the frame there. For other calls, the frame at the slot is dead. */
	end_frames_late(t, slot, return_address != (uintptr_t)probe_return);
	frame_push(t, function, slot, return_address);
	probe_slot_check(slot, return_address);
	hook_end(t);
}

/* Ends the program, because a return address is lost. The program has copied a part of a stack away, reused it, and copied it back. */
static _Noreturn void abort_lost(void)
{
	probe_report(
	    "this program copies its stacks away and back, which the probe cannot follow: do not select functions that call what does", "",
	    0);
	abort();
}

/* Only restores the return address, because another hook is active, or the uppermost frame is on a stack within this stack. The frame ends
 * when it is the uppermost one. */
static void leave_unmeasured(struct probe_thread *t, uintptr_t *slot)
{
	uintptr_t return_address = *slot;

	if (return_address == (uintptr_t)probe_return) /* otherwise a handler has restored the address since the call */
		return_address = probe_find_return_address(t, slot);
	if (!return_address)
		abort_lost();
	for (uint32_t i = 0; t && i < t->depth; i++)
		if (probe_frame_at(t, i)->slot == slot)
			probe_frame_at(t, i)->is_unrecorded = true;
	*slot = return_address;
}

void probe_leave_slowly(uintptr_t *slot, uint64_t now)
{
	struct probe_thread *t = probe_self;
	const struct probe_frame *top;
	uint64_t paused;

	if (!t || !probe_on_stack(t, slot) || probe_is_hook_active(t, slot)) {
		uint64_t signals = record_signals_block(); /* because signal handlers may change the shadow stack */

		leave_unmeasured(t, slot);
		record_signals_restore(signals);
		return;
	}
	t->busy = (uintptr_t)slot;
	probe_barrier();
	if (!*probe.writer.alive)
		probe_saved(call_child, t, NULL);
	paused = t->paused;
	end_frames_late(t, slot, false);
	now += t->paused - paused; /* excludes the time of end_frames_late() */
	top = t->depth ? probe_frame_at(t, t->depth - 1) : NULL;
	if (top && top->slot == slot) {
		*slot = top->return_address;
		probe_barrier();
		frame_pop(t, now, 0);
	} else {
		leave_unmeasured(t, slot);
	}
	hook_end(t);
}

/* ---- -finstrument-functions: the compiler adds calls at both ends of every function; return addresses stay unchanged ---- */

/* Hash table by address, with open addressing. One thread at a time fills it, the one that loads modules. All threads read it. */
static struct {
	uintptr_t address;
	uint32_t number;
} instrumented[INSTRUMENTED_SLOTS];
static uint32_t n_instrumented; /* number of slots in use; at most three quarters, so that searches end */

static size_t instrumented_slot(uintptr_t address)
{
	return (size_t)((address >> 2) * 0x9e3779b97f4a7c15u >> 47) & (INSTRUMENTED_SLOTS - 1);
}

bool probe_instrumented_add(uintptr_t address, uint32_t number)
{
	size_t at = instrumented_slot(address);

	while (instrumented[at].address && instrumented[at].address != address)
		at = (at + 1) & (INSTRUMENTED_SLOTS - 1);
	if (!instrumented[at].address && n_instrumented >= INSTRUMENTED_SLOTS / 4 * 3)
		return false;
	n_instrumented += !instrumented[at].address;
	instrumented[at].number = number;
	__atomic_store_n(&instrumented[at].address, address, __ATOMIC_RELEASE);
	return true;
}

static inline uint32_t instrumented_find(uintptr_t address)
{
	for (size_t at = instrumented_slot(address); instrumented[at].address; at = (at + 1) & (INSTRUMENTED_SLOTS - 1))
		if (instrumented[at].address == address)
			return instrumented[at].number;
	return UINT32_MAX;
}

static void instrumented_inner(struct probe_thread *t, uint32_t function)
{
	if (t && t->states && t->states[function].open)
		probe_frame_at(t, t->states[function].open - 1)->inner++;
}

static void instrumented_enter(uint32_t function, uintptr_t *slot)
{
	struct probe_thread *t;
	struct probe_work work;

	if (--*(function < PROBE_TLS_FUNCTIONS ? &probe_near[function] : &probe_far[function]) >= 0) {
		instrumented_inner(probe_self, function);
		return;
	}
	t = hook_begin(function, slot);
	if (!t) {
		instrumented_inner(probe_self, function);
		return;
	}
	probe_work_begin(t, &work);
	end_frames_late(t, slot, true);
	frame_push(t, function, slot, 0);
	hook_end(t);
}

static void instrumented_leave(uint32_t function, uintptr_t *slot)
{
	uint64_t now = record_ticks_done();
	struct probe_thread *t = probe_self;
	struct probe_frame *frame;
	struct probe_work work;

	if (!t || !t->states || !t->states[function].open)
		return;
	frame = probe_frame_at(t, t->states[function].open - 1);
	if (frame->inner) {
		frame->inner--;
		return;
	}
	if (!probe_on_stack(t, slot) || probe_is_hook_active(t, slot))
		return;
	probe_work_begin(t, &work);
	if (!*probe.writer.alive)
		probe_saved(call_child, t, NULL);
	while (t->states[function].open < t->depth)
		frame_pop(t, record_ticks(), RECORD_UNWOUND | RECORD_LATE);
	if (t->depth)
		frame_pop(t, now, 0);
	hook_end(t);
}

PROBE_EXPORT void __cyg_profile_func_enter(void *function, void *site);
PROBE_EXPORT void __cyg_profile_func_exit(void *function, void *site);

void __cyg_profile_func_enter(void *function, void *site)
{
	uint32_t number = n_instrumented ? instrumented_find((uintptr_t)function) : UINT32_MAX;

	(void)site;
	if (number != UINT32_MAX)
		instrumented_enter(number, __builtin_dwarf_cfa());
}

void __cyg_profile_func_exit(void *function, void *site)
{
	uint32_t number = n_instrumented ? instrumented_find((uintptr_t)function) : UINT32_MAX;

	(void)site;
	if (number != UINT32_MAX)
		instrumented_leave(number, __builtin_dwarf_cfa());
}

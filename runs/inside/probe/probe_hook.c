/* Start and end of a measured call in the usual case. Every call is measured, the stack is the thread's own, and there is space for the
 * sample. No signal handler intervened, and longjmp() left no function. In other cases, probe_trampoline.c calls probe_frames.c. These
 * functions determine the cost of measuring. They call no others, and save the general registers that they use (PROBE_SAVE_REGISTERS). */
#include "runs/inside/probe/probe.h"

/* Reports whether no hook of the thread is active, this process opened the file, and there are no counters to read. */
static inline bool is_common_case(const struct probe_thread *t)
{
	return t && !t->busy && *probe.writer.alive && !probe.n_counters;
}

/* Reports whether there is no frame, or the uppermost frame is alive and above `slot`. */
static inline bool is_nested(const struct probe_thread *t, const uintptr_t *slot)
{
	const struct probe_frame *top;

	if (!t->depth)
		return true;
	top = probe_frame_at(t, t->depth - 1);
	return top->slot > slot && *top->slot == (uintptr_t)probe_return;
}

PROBE_SAVE_REGISTERS bool probe_enter(uint32_t function, uintptr_t *slot, uintptr_t return_address)
{
	struct probe_thread *t = probe_self;
	struct probe_frame *frame;
	struct probe_state *s;

	if (!is_common_case(t) || !probe_on_stack(t, slot))
		return false;
	t->busy = (uintptr_t)slot;
	probe_barrier(); /* keeps the compiler from moving later accesses before this point */
	s = &t->states[function];
	if (s->level || function >= t->n_functions_called || t->depth >= PROBE_DEPTH_MAX || !is_nested(t, slot)) {
		t->busy = 0;
		return false;
	}
	frame = probe_frame_at(t, t->depth);
	*frame = (struct probe_frame){
		.slot = slot,
		.return_address = return_address,
		.function = function,
		.ordinal = s->next + (uint64_t)(-1 - (int64_t)*probe_countdown(t, function)),
		.paused = t->paused,
	};
	*probe_countdown(t, function) = 0;
	probe_barrier(); /* if a handler leaves the hook by longjmp() here, the call is not counted */
	s->next = frame->ordinal + 1;
	frame->start = record_ticks_done();
	probe_barrier(); /* if a handler leaves the hook by longjmp(), the frame is either complete or not in use */
	t->depth++;
	probe_barrier();
	probe_slot_check(slot, return_address);
	t->busy = 0;
	return true;
}

static inline void hook_store(struct probe_thread *t, const struct probe_frame *frame, uint64_t duration)
{
	struct record_brief *sample = (struct record_brief *)(void *)t->record.next;
	uint32_t threads = __atomic_load_n(&probe.threads, __ATOMIC_RELAXED);

	*sample = (struct record_brief){
		.function = (uint16_t)frame->function,
		.weight_log2 = (uint8_t)frame->level,
		.flags = t->n_sampled_functions ? RECORD_ESTIMATED : 0,
		.depth = (uint16_t)t->depth,
		.threads = (uint16_t)(threads < UINT16_MAX ? threads : UINT16_MAX),
		.ordinal = frame->ordinal,
		.start = frame->start,
		.duration = duration,
	};
	record_commit(&probe.writer, &t->record);
}

PROBE_SAVE_REGISTERS uint64_t probe_leave(uintptr_t *slot)
{
	uint64_t now = record_ticks_done(), lost, duration, alone, mean;
	struct probe_thread *t = probe_self;
	struct probe_frame *frame;
	struct probe_state *s;

	if (!is_common_case(t))
		return now;
	t->busy = (uintptr_t)slot;
	probe_barrier();
	frame = probe_frame_at(t, t->depth) - 1; /* an empty page precedes the first frame; frames have no counters here */
	if (frame->slot != slot || frame->is_unrecorded || frame->level ||
	    (size_t)(t->record.end - t->record.next) < sizeof(struct record_brief)) {
		t->busy = 0;
		return now;
	}
	lost = frame->start + (t->paused - frame->paused);
	duration = now > lost ? now - lost : 0;
	alone = duration > frame->nested ? duration - frame->nested : 0;
	s = &t->states[frame->function];
	mean = probe_update_mean(s->mean, alone);
	if (mean - s->mean_low >= s->mean_high - s->mean_low) {
		t->busy = 0;
		return now;
	}
	*slot = frame->return_address;
	probe_barrier();
	s->mean = mean;
	t->depth--;
	probe_barrier();
	hook_store(t, frame, duration);
	if (t->depth)
		probe_frame_at(t, t->depth - 1)->nested += (alone << frame->level) + frame->nested;
	probe_barrier();
	t->busy = 0;
	return 0;
}

/* From what an invocation counted to a sample: once all windows that it took part in are evaluated, what was simulated in some of them is
 * scaled to all. */
#include "runs/inside/emulate/emulate.h"

#include <string.h>

#define FEW_ACCESSES 100u /* simulated: what rests on fewer is not said */
#define VALUE_MAX    1e18

static uint64_t to_value(double x)
{
	return x < VALUE_MAX ? (uint64_t)(x + .5) : UINT64_MAX - 1;
}

void values_of(const struct counts *c, const double hitm[2], uint64_t *values)
{
	double accesses = (double)c->exact[COUNT_ACCESSES], blocks = (double)c->exact[COUNT_BLOCKS];
	double per_access = c->weighed[COUNT_ACCESSES] ? accesses / (double)c->weighed[COUNT_ACCESSES] : 0;
	double per_block = c->weighed[COUNT_BLOCKS] ? blocks / (double)c->weighed[COUNT_BLOCKS] : 0;
	bool counted = c->exact[COUNT_SIMULATED] >= FEW_ACCESSES || c->exact[COUNT_SIMULATED] == c->exact[COUNT_ACCESSES];

	memcpy(values, c->exact, sizeof(c->exact));
	for (size_t i = COUNT_HITM_SEEN; i < COUNTERS; i++)
		values[i] = to_value((double)c->weighed[i] * (i == COUNT_BRANCH_MISSES ? per_block : per_access));
	values[COUNT_HITM_TRUE] = to_value(1000 * hitm[0] * per_access);
	values[COUNT_HITM_FALSE] = to_value(1000 * hitm[1] * per_access);
	for (size_t i = COUNT_SIMULATED + 1; i < COUNTERS && !counted; i++)
		values[i] = UINT64_MAX;
}

static void sample_write(struct thread *t, const struct invocation *invocation)
{
	struct record_sample *sample = record_begin(&runtime.writer, &t->record);

	if (!sample)
		return;
	sample->function = invocation->function;
	sample->weight = invocation->weight;
	sample->ordinal = invocation->ordinal;
	sample->start = invocation->start;
	sample->duration = invocation->duration;
	sample->depth = invocation->depth;
	sample->threads = invocation->threads;
	sample->flags = invocation->flags;
	sample->reserved = 0;
	values_of(&invocation->counts, invocation->hitm, sample->counters);
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

static void totals_add(const struct invocation *root)
{
	for (size_t i = 0; i <= COUNT_SIMULATED; i++)
		runtime.counts.exact[i] += root->counts.exact[i];
	for (size_t i = 0; i < COUNTERS; i++)
		runtime.counts.weighed[i] += root->counts.weighed[i];
	runtime.hitm[0] += root->hitm[0];
	runtime.hitm[1] += root->hitm[1];
}

/* Samples whose windows are all before the horizon, in the order in which they ended: what they caused is their parent's, too. */
void settle_until(struct thread *t, uint64_t horizon)
{
	struct queue *ended = &t->ended_queue, *free_ones = &t->free_queue;

	while (ended->head != __atomic_load_n(&ended->tail, __ATOMIC_ACQUIRE)) {
		uint32_t i = t->ended_ones[ended->head % INVOCATIONS];
		struct invocation *invocation = &t->invocations[i];

		if (invocation->last_window >= horizon)
			return;
		if (invocation->parent != NONE) {
			t->invocations[invocation->parent].hitm[0] += invocation->hitm[0];
			t->invocations[invocation->parent].hitm[1] += invocation->hitm[1];
			t->invocations[invocation->parent].flags |= invocation->keep ? invocation->flags & RECORD_ESTIMATED : RECORD_ESTIMATED;
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

/* Its root has not ended: what it counted so far, and what was caused in functions that are still active. */
void settle_unfinished(struct thread *t)
{
	struct invocation sum = t->invocations[0];

	counts_end(t, &sum.counts);
	for (uint32_t i = t->invocation, n = 0; i != 0 && n < INVOCATIONS; i = t->invocations[i].parent, n++) {
		sum.hitm[0] += t->invocations[i].hitm[0];
		sum.hitm[1] += t->invocations[i].hitm[1];
	}
	totals_add(&sum);
	calls_write(t);
}

/* Which calls are sampled: one in 2^level. Which one in each block of so many calls follows from the function and the ordinal alone, such
 * that calls sampled at a level are sampled at every lower one, too: two runs measure the same invocations, whatever their levels were, as
 * far as both measure any. */
#include "runs/inside/probe/probe.h"

#define FRACTIONS 256u /* in a tick */

static uint64_t hash_mix(uint64_t x)
{
	/* The finalizer of MurmurHash3. */
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdu;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53u;
	return x ^ x >> 33;
}

/* The sampled ordinal in a block of 2^level calls: one half of the block, one half of that and so on, by a coin each time. */
static uint64_t level_chosen(uint64_t seed, uint32_t level, uint64_t block)
{
	while (level) {
		block = 2 * block + (hash_mix(seed + level * 0x9e3779b97f4a7c15u + block) & 1);
		level--;
	}
	return block;
}

uint64_t probe_level_next(uint64_t seed, uint32_t level, uint64_t from)
{
	uint64_t block = from >> level, ordinal = level_chosen(seed, level, block);

	return ordinal >= from ? ordinal : level_chosen(seed, level, block + 1);
}

/* The smallest level at which measuring costs no more than the budget leaves after what counting costs anyway. For functions that are too
 * short even for that, measuring adds a sixteenth of the budget. The mean has a look at the clock in it. */
static uint32_t level_for(uint64_t mean)
{
	uint64_t itself = mean > probe.cost_clock ? mean - probe.cost_clock : 1;
	uint64_t budget = itself * probe.budget_ppm * FRACTIONS / 1000000, counted = probe.cost_counted * FRACTIONS;
	uint64_t allowed = budget > counted + budget / 16 ? budget - counted : budget / 16;
	uint32_t level = 0;

	while (level < PROBE_LEVEL_MAX && probe.cost_sampled * FRACTIONS >> level > allowed)
		level++;
	return level;
}

/* The least mean at which the level is no more than that one. */
static uint64_t least_mean(uint32_t level)
{
	uint64_t low = 0, high = 1ull << 40; /* ticks: minutes */

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (level_for(middle) <= level)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* What an invocation took, bounded by what is possible: all calls of a function together take no longer than the time in which they came. A
 * measured call waits for the clock, and the processor predicted another way: a call of eight nanoseconds looks like sixty. */
uint64_t probe_level_bound(struct probe_state *s, const struct probe_frame *frame, uint64_t alone)
{
	uint64_t began = frame->start - frame->paused, since = began - s->last, most;

	if (s->last && frame->ordinal <= s->last_ordinal) /* it began before one that was called in it */
		return alone;
	if (s->last && since > probe.cost_sampled) {
		most = (since - probe.cost_sampled) / (frame->ordinal - s->last_ordinal) + probe.cost_clock;
		alone = most < alone ? most : alone;
	}
	s->last = began;
	s->last_ordinal = frame->ordinal;
	return alone;
}

/* An invocation took so many ticks without nested ones: moves the mean and the level. */
bool probe_level_adapt(struct probe_thread *t, struct probe_state *s, uint64_t alone)
{
	bool first = !s->mean_high;
	uint32_t level, old = s->level;

	s->mean = first ? alone : probe_mean(s->mean, alone);
	if (!first && s->mean >= s->mean_low && s->mean < s->mean_high)
		return false;
	level = probe.budget_ppm ? level_for(s->mean) : 0;
	s->mean_low = probe.budget_ppm && level < PROBE_LEVEL_MAX ? least_mean(level) : 0;
	s->mean_high = probe.budget_ppm && level ? least_mean(level - 1) : UINT64_MAX;
	if (level == old)
		return false;
	if (!old || !level)
		t->sparse += level ? 1u : -1u;
	s->level = level;
	return true;
}

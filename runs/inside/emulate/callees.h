/* What frames.c does at each call and end of a function: which function it is, whose what happened was. callees.c has the rest.
 *
 * A signal's handler may run between any two instructions here, switch functions itself, and come back or jump away: what is added to a
 * function is first added to what is accounted for, each in one instruction. So nothing is ever added twice, and the sum over all functions
 * is what the thread counted; and a call that begins also ends, or its function has no nested sums. Private to runs/inside/emulate/. */
#ifndef RUNS_EMULATE_CALLEES_H
#define RUNS_EMULATE_CALLEES_H

#include "runs/inside/emulate/emulation.h"

#define PLACES_BITS 14
#define PLACES	    (1u << PLACES_BITS)
#define BASES	    2u /* accesses, blocks: what simulated counters are relative to */
#define SPREADS	    (COUNTERS - COUNT_HITM_SEEN)

/* Where a callee is, by hash of its site. It stays when another thread takes over the tables. */
struct place {
	uintptr_t site; /* return address of __tsan_func_entry() in it; 0: free */
	uint32_t callee;
};

/* Calls that begin in simulated windows, or those that do not: one of each `step` is a sample, at a place that follows from a hash. */
struct stratum {
	uint64_t seen, next, begin; /* calls; the next sample; the first call of those that it stands for */
	uint32_t step, sampled;	    /* since the step was last changed */
};

/* How simulated counters varied from burst to burst: sums of squares and of products with their base, of what is weighed. */
struct spread {
	uint32_t bursts, burst; /* ended ones; the one that is active */
	double square[SPREADS], product[SPREADS], base[BASES];
	uint64_t begun[SPREADS], base_begun[BASES]; /* weighed[] when the burst began */
};

/* What happened in the function and in all that it called, summed over its calls. Of what changes all the time: each call's end less its
 * beginning, so that of calls that are active the end is missing. Of the rest: what it has grown by, times the calls that were active. */
struct nested {
	uint32_t active, changes; /* calls; the thread's when the rest was last added up */
	bool lost;		  /* a handler jumped away while a call began or ended: nothing is known */
	uint64_t calls;		  /* when a burst last ended */
	struct counts sum, seen;  /* seen: the thread's counts when the rest was last added up */
	struct spread spread;
};

/* Potential HITM, as windows are evaluated. */
struct meeting {
	uint32_t bursts, burst;
	double all[2], sum[2], square[2], now[2]; /* all; of bursts: of ended ones, and of the active one */
};

struct callee {
	uint64_t calls;
	struct function function;
	uint32_t salt; /* of the hash: the same wherever the program lies */
	struct stratum strata[2];
	struct counts own; /* in the function itself */
	struct spread spread;
	struct nested nested;
	struct meeting meeting;
};

/* The slow ways. callee_new(): NONE, there are too many. */
uint32_t callee_new(struct thread *t, uintptr_t site);
void callees_account_simulated(struct thread *t, struct callee *c);
void callees_account_rare(struct thread *t, struct callee *c);
void callee_nested_changed(struct callee *c, const struct thread *t, const struct counts *now);
void callees_burst_end(struct thread *t);
void callees_left(struct thread *t);			   /* a handler may have jumped out of a change */
uint32_t callee_sample(struct callee *c, bool simulating); /* it is a sample: how many calls that stands for; then chooses the next */

static inline uint32_t place_hash(uintptr_t site)
{
	return (uint32_t)((site * 0x9e3779b97f4a7c15u) >> 40) % PLACES;
}

static inline uint32_t callee_at(struct thread *t, uintptr_t site)
{
	const struct place *place = &t->places[place_hash(site)];

	return LIKELY(place->site == site) ? place->callee : callee_new(t, site);
}

/* One instruction each: no handler comes between its reading and its writing. */
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

/* What `now`, an expression, has grown by since it was last accounted for becomes the owner's. A handler that has come in between has
 * accounted for that, and may have begun another window, whose numbers do not go together with those read before: then once more. */
#define ACCOUNT(t, now, accounted, own)                                                                                                    \
	do {                                                                                                                               \
		uint64_t window_, before_, now_;                                                                                           \
                                                                                                                                           \
		do {                                                                                                                       \
			window_ = __atomic_load_n(&(t)->window, __ATOMIC_ACQUIRE);                                                         \
			before_ = __atomic_load_n(accounted, __ATOMIC_ACQUIRE);                                                            \
			now_ = (now);                                                                                                      \
			__asm__ volatile("" ::: "memory");                                                                                 \
		} while (UNLIKELY((t)->window != window_) || UNLIKELY(!replace_once(accounted, before_, now_)));                           \
		add_once(own, now_ - before_);                                                                                             \
	} while (0)

/* It changes when one of what rarely happens does. */
static inline uint64_t rare_number(void)
{
	return hot.atomics + system_calls + hot.allocations + hot.copied_bytes;
}

/* What has happened is the owner's: while windows are skipped, and of what rarely happens nothing has. By the thread itself. */
static inline void callees_account_plain(struct thread *t)
{
	struct callee *c = &t->callees[t->owner];
	const uint64_t *clock = t->clock->head;

	if (clock && UNLIKELY(*clock != t->clock->taken))
		clock_take(t);
	ACCOUNT(t, counts_accesses(t, &hot), &t->accounted.exact[COUNT_ACCESSES], &c->own.exact[COUNT_ACCESSES]);
	ACCOUNT(t, counts_blocks(t, &hot), &t->accounted.exact[COUNT_BLOCKS], &c->own.exact[COUNT_BLOCKS]);
}

/* The same at any time: wherever the owner changes, and where a window ends. */
static inline void callees_account(struct thread *t)
{
	struct callee *c = &t->callees[t->owner];

	callees_account_plain(t);
	if (UNLIKELY(rare_number() != t->accounted_rare))
		callees_account_rare(t, c);
	if (hot.simulating)
		callees_account_simulated(t, c);
}

/* A call begins (sign -1) or ends (1), of what has just been accounted for. */
static inline void nested_add(struct callee *c, const struct thread *t, int64_t sign)
{
	struct counts *sum = &c->nested.sum;
	const struct counts *now = &t->accounted;

	sum->exact[COUNT_ACCESSES] += (uint64_t)sign * now->exact[COUNT_ACCESSES];
	sum->exact[COUNT_BLOCKS] += (uint64_t)sign * now->exact[COUNT_BLOCKS];
	sum->exact[COUNT_SIMULATED] += (uint64_t)sign * now->exact[COUNT_SIMULATED];
	sum->weighed[COUNT_ACCESSES] += (uint64_t)sign * now->weighed[COUNT_ACCESSES];
	sum->weighed[COUNT_BLOCKS] += (uint64_t)sign * now->weighed[COUNT_BLOCKS];
}

static inline void callee_begin(struct callee *c, const struct thread *t)
{
	if (UNLIKELY(c->nested.changes != t->changes))
		callee_nested_changed(c, t, &t->accounted);
	nested_add(c, t, -1);
	__asm__ volatile("" ::: "memory");
	c->nested.active++;
}

static inline void callee_end(struct callee *c, const struct thread *t)
{
	if (UNLIKELY(c->nested.changes != t->changes))
		callee_nested_changed(c, t, &t->accounted);
	c->nested.active--;
	__asm__ volatile("" ::: "memory");
	nested_add(c, t, 1);
}

/* What a handler does while a call of the function begins or ends, and the sums are half made, does not look at them. *before: for
 * callee_changed(). */
static inline void callee_changes(struct thread *t, uint32_t callee, uint32_t *before)
{
	*before = t->changing;
	t->changing = callee;
	__asm__ volatile("" ::: "memory");
}

static inline void callee_changed(struct thread *t, uint32_t before)
{
	__asm__ volatile("" ::: "memory");
	t->changing = before;
}

/* What happens in it is its own. What a function of the C++ library does is its caller's, if that is selected. */
static inline bool callee_owns(const struct thread *t, const struct callee *c)
{
	return c->function.number != NONE && !(c->function.library && t->owner);
}

/* It is called: *ordinal is the call's number. Returns how many calls a sample of it stands for; 0: it is not sampled. */
static inline uint32_t callee_call(struct callee *c, uint64_t *ordinal)
{
	struct stratum *s = &c->strata[hot.simulating];

	*ordinal = c->calls++;
	return LIKELY(s->seen++ < s->next) ? 0 : callee_sample(c, s != c->strata);
}

#endif

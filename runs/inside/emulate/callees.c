/* The functions that a thread calls: how often, what happened in each of them itself, which calls are samples. What happens belongs to the
 * function that is active (the owner), and is added up where that changes, not at each access.
 *
 * A signal's handler may run between any two instructions here, switch functions itself, and come back or jump away: each addition is one
 * instruction, and what is added to a function is first added to what is accounted for. So nothing is ever added twice, and the sum over
 * all functions is what the thread counted. */
#include "runs/inside/emulate/emulate.h"

#include <string.h>

#define PLACES	       16384u
#define CALLEES	       (PLACES / 2) /* functions that one thread calls; more belong to their callers */
#define STEP_SIMULATED 512u	    /* samples of calls that begin in simulated windows, after which half as many calls are sampled */
#define STEP_SKIPPED   128u	    /* of other calls */
#define STEP_MOST      (1u << 30)
#define BASES	       2u /* accesses, blocks: what simulated counters are relative to */
#define SPREADS	       (COUNTERS - COUNT_HITM_SEEN)

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
	uint64_t begun[SPREADS], base_begun[BASES]; /* own.weighed[] when the burst began */
};

/* Potential HITM, as windows are evaluated. */
struct meeting {
	uint32_t bursts, burst;
	double all[2], sum[2], square[2], now[2]; /* all; of bursts: of ended ones, and of the active one */
};

struct callee {
	uint64_t calls;
	uint32_t function; /* NONE: not selected */
	uint32_t salt;	   /* of the hash: the same wherever the program lies */
	struct stratum strata[2];
	struct counts own; /* in the function itself */
	struct spread spread;
	struct meeting meeting;
};

static void callees_forget(struct thread *t)
{
	t->n_callees = t->n_callees ? t->n_callees : 1; /* the first one is the thread itself, without a function */
	t->callees[0].function = NONE;
	for (uint32_t i = 0; i < t->n_callees; i++) {
		struct callee *c = &t->callees[i];

		*c = (struct callee){ .function = c->function, .salt = c->salt, .strata = { { .step = 1 }, { .step = 1 } } };
	}
	t->owner = 0;
	t->accounted_stamp = UINT32_MAX;
}

bool callees_init(struct thread *t)
{
	if (!t->places)
		t->places = pages_map(PLACES * sizeof(*t->places));
	if (!t->callees)
		t->callees = pages_map(CALLEES * sizeof(*t->callees));
	if (!t->places || !t->callees)
		return false;
	callees_forget(t);
	return true;
}

void callees_fork(struct thread *t)
{
	callees_forget(t);
	counts_now(t, &t->accounted);
	t->accounted_rare = UINT64_MAX;
}

/* ---- which function ---- */

static uint32_t place_hash(uintptr_t site)
{
	return (uint32_t)((site * 0x9e3779b97f4a7c15u) >> 40) % PLACES;
}

/* NONE: there are too many. */
static __attribute__((noinline, cold)) uint32_t callee_new(struct thread *t, uintptr_t site)
{
	uint32_t i = place_hash(site), n = t->n_callees;

	while (t->places[i].site != 0 && t->places[i].site != site)
		i = (i + 1) % PLACES;
	if (t->places[i].site == site)
		return t->places[i].callee;
	if (n >= CALLEES)
		return NONE;
	BUSY_HERE();
	t->callees[n] = (struct callee){
		.function = function_number(site),
		.salt = site % (1u << PAGE_BITS),
		.strata = { { .step = 1 }, { .step = 1 } },
	};
	t->n_callees = n + 1;
	t->places[i] = (struct place){ site, n };
	hot.busy--;
	return n;
}

static inline uint32_t callee_at(struct thread *t, uintptr_t site)
{
	const struct place *place = &t->places[place_hash(site)];

	return LIKELY(place->site == site) ? place->callee : callee_new(t, site);
}

uint32_t callee_find(struct thread *t, uintptr_t site)
{
	uint32_t i = callee_at(t, site);

	return i == NONE || t->callees[i].function == NONE ? NONE : i;
}

uint32_t callee_function(const struct thread *t, uint32_t callee)
{
	return t->callees[callee].function;
}

/* ---- whose it is ---- */

/* One instruction: no handler comes between its reading and its writing. */
static inline void add_once(uint64_t *to, uint64_t n)
{
	__asm__ volatile("addq %1, %0" : "+m"(*to) : "er"(n) : "cc");
}

static inline void account_one(uint64_t now, uint64_t *accounted, uint64_t *own)
{
	uint64_t n = now - *accounted;

	add_once(accounted, n);
	add_once(own, n);
}

/* The burst of simulated windows that was active for this function has ended. */
static __attribute__((noinline, cold)) void spread_end(struct callee *c, uint32_t burst)
{
	struct spread *s = &c->spread;
	const uint64_t now[BASES] = { c->own.weighed[COUNT_ACCESSES], c->own.weighed[COUNT_BLOCKS] };
	double base[BASES];

	for (size_t i = 0; i < BASES; i++) {
		base[i] = (double)(now[i] - s->base_begun[i]);
		s->base[i] += s->burst ? base[i] * base[i] : 0;
		s->base_begun[i] = now[i];
	}
	for (size_t i = 0; i < SPREADS; i++) {
		uint64_t *count = &c->own.weighed[COUNT_HITM_SEEN + i];
		double n = (double)(*count - s->begun[i]);

		s->square[i] += s->burst ? n * n : 0;
		s->product[i] += s->burst ? n * base[COUNT_HITM_SEEN + i == COUNT_BRANCH_MISSES] : 0;
		s->begun[i] = *count;
	}
	s->bursts += s->burst != 0;
	s->burst = burst;
}

/* Since the last time there was none, the thread has simulated something. */
static __attribute__((noinline, cold)) void account_simulated(struct thread *t, struct callee *c)
{
	struct counts now;

	counts_now(t, &now);
	if (c->spread.burst != t->burst)
		spread_end(c, t->burst);
	account_one(now.exact[COUNT_SIMULATED], &t->accounted.exact[COUNT_SIMULATED], &c->own.exact[COUNT_SIMULATED]);
	account_one(now.weighed[COUNT_ACCESSES], &t->accounted.weighed[COUNT_ACCESSES], &c->own.weighed[COUNT_ACCESSES]);
	account_one(now.weighed[COUNT_BLOCKS], &t->accounted.weighed[COUNT_BLOCKS], &c->own.weighed[COUNT_BLOCKS]);
	for (size_t i = COUNT_HITM_SEEN; i < COUNTERS; i++)
		account_one(now.weighed[i], &t->accounted.weighed[i], &c->own.weighed[i]);
	t->accounted_stamp = hot.simulating ? UINT32_MAX : t->stamp;
}

static __attribute__((noinline, cold)) void account_rare(struct thread *t, struct callee *c)
{
	const uint64_t now[] = { hot.atomics, system_calls, hot.allocations, hot.allocated_bytes, hot.copied_bytes };

	for (size_t i = 0; i < sizeof(now) / sizeof(now[0]); i++)
		account_one(now[i], &t->accounted.exact[COUNT_ATOMICS + i], &c->own.exact[COUNT_ATOMICS + i]);
	t->accounted_rare = now[0] + now[1] + now[2] + now[4];
}

_Static_assert(COUNT_ATOMICS + 5 == COUNT_SIMULATED, "all of them");

void callees_account(struct thread *t)
{
	struct callee *c = &t->callees[t->owner];

	account_one(counts_accesses(t), &t->accounted.exact[COUNT_ACCESSES], &c->own.exact[COUNT_ACCESSES]);
	account_one(counts_blocks(t), &t->accounted.exact[COUNT_BLOCKS], &c->own.exact[COUNT_BLOCKS]);
	if (UNLIKELY(hot.atomics + system_calls + hot.allocations + hot.copied_bytes != t->accounted_rare))
		account_rare(t, c);
	if (hot.simulating || UNLIKELY(t->accounted_stamp != t->stamp))
		account_simulated(t, c);
}

uint32_t callees_own(struct thread *t, uint32_t callee)
{
	uint32_t before = t->owner;

	callees_account(t);
	t->owner = callee;
	return before;
}

/* ---- which calls are samples ---- */

/* The finalizer of splitmix64. */
static uint64_t hash_of(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* Of the next `step` calls, a power of two, one that follows from their ordinals: no loop keeps step with that. */
static __attribute__((noinline, cold)) void stratum_next(struct stratum *s, uint32_t salt, uint32_t samples_a_step)
{
	s->begin += s->step;
	if (++s->sampled >= samples_a_step && s->step < STEP_MOST) {
		s->sampled = 0;
		s->step *= 2;
	}
	s->next = s->begin + hash_of(s->begin ^ (uint64_t)salt << 52) % s->step;
}

uint32_t callee_call(struct thread *t, uint32_t callee, uint64_t *ordinal)
{
	struct callee *c = &t->callees[callee];
	bool simulating = hot.simulating;
	struct stratum *s = &c->strata[simulating];
	uint32_t weight;

	*ordinal = c->calls++;
	if (LIKELY(s->seen++ < s->next))
		return 0;
	weight = s->step;
	stratum_next(s, c->salt, simulating ? STEP_SIMULATED : STEP_SKIPPED);
	return weight;
}

/* ---- potential HITM ---- */

static void meeting_end(struct meeting *m, uint32_t burst)
{
	for (size_t i = 0; i < 2; i++) {
		m->sum[i] += m->now[i];
		m->square[i] += m->now[i] * m->now[i];
		m->now[i] = 0;
	}
	m->burst = burst;
}

void callee_meet(struct thread *t, uint32_t callee, unsigned kind, double hitm, uint32_t burst)
{
	struct meeting *m = &t->callees[callee].meeting;

	m->all[kind] += hitm;
	if (!burst)
		return;
	if (m->burst != burst)
		meeting_end(m, burst);
	m->now[kind] += hitm;
}

/* ---- totals ---- */

static double root_of(double x)
{
	double root;

	__asm__("sqrtsd %1, %0" : "=x"(root) : "x"(x)); /* sqrt() would ask programs for libm */
	return root;
}

/* Of n bursts with that sum of squared residuals, one of each 16 that there may be; no less than one event that none of them saw.
 * UINT64_MAX: of one burst nothing is known. */
static uint64_t error_from(double squares, double n, double scale)
{
	double part = 1 - 1. / WINDOWS_A_SIMULATED, unseen = (double)WINDOWS_A_SIMULATED * WINDOWS_A_SIMULATED;

	if (n < 2)
		return UINT64_MAX;
	return counts_round(scale * root_of((squares > 0 ? squares * part * n / (n - 1) : 0) + unseen));
}

/* Standard errors of what counts_values() estimates: of ratios to accesses, or blocks, whose sums are known (Cochran, Sampling Techniques,
 * 3rd ed., 6.4), with bursts as clusters; potential HITM as a sum. */
static void errors_of(struct callee *c, const struct counts *own, uint64_t *values)
{
	static const enum counter bases[BASES] = { COUNT_ACCESSES, COUNT_BLOCKS };
	const struct spread *s = &c->spread;
	const struct meeting *m = &c->meeting;
	double n = s->bursts, scale[BASES];

	memset(values, 0, COUNTERS * sizeof(values[0]));
	for (size_t b = 0; b < BASES; b++)
		scale[b] = own->weighed[bases[b]] ? (double)own->exact[bases[b]] / (double)own->weighed[bases[b]] : 0;
	for (size_t i = 0; i < SPREADS; i++) {
		size_t counter = COUNT_HITM_SEEN + i, b = counter == COUNT_BRANCH_MISSES;
		double all = (double)own->weighed[bases[b]], ratio = all > 0 ? (double)own->weighed[counter] / all : 0;

		values[counter] = error_from(s->square[i] - 2 * ratio * s->product[i] + ratio * ratio * s->base[b], n, scale[b]);
	}
	for (size_t i = 0; i < 2; i++)
		values[COUNT_HITM_TRUE + i] = error_from(m->square[i] - (n > 0 ? m->sum[i] * m->sum[i] / n : 0), n, 1000 * scale[0]);
}

static bool total_write(struct thread *t, const struct record_sample *head, const uint64_t *values)
{
	struct record_sample *sample = record_begin(&runtime.writer, &t->record);

	if (!sample)
		return false;
	*sample = *head;
	memcpy(sample->counters, values, COUNTERS * sizeof(values[0]));
	record_commit(&runtime.writer, &t->record);
	return true;
}

/* What has happened since the last time is the owner's. */
static struct counts counts_of(const struct thread *t, uint32_t callee)
{
	struct counts own = t->callees[callee].own, now;

	if (t->state == THREAD_ENDED || callee != t->owner)
		return own;
	counts_now(t, &now);
	for (size_t i = 0; i <= COUNT_SIMULATED; i++)
		own.exact[i] += now.exact[i] - t->accounted.exact[i];
	for (size_t i = 0; i < COUNTERS; i++)
		own.weighed[i] += now.weighed[i] - t->accounted.weighed[i];
	return own;
}

/* All of it was simulated: nothing is estimated. */
static bool is_exact(const struct callee *c, const struct counts *own)
{
	return runtime.full || (c->spread.bursts == 0 && own->exact[COUNT_SIMULATED] >= own->exact[COUNT_ACCESSES] &&
				own->weighed[COUNT_BLOCKS] >= own->exact[COUNT_BLOCKS]);
}

static bool callee_write(struct thread *t, uint32_t i)
{
	struct callee *c = &t->callees[i];
	struct record_sample head = { .function = c->function, .ordinal = c->calls, .flags = RECORD_TOTAL };
	struct counts own = counts_of(t, i);
	uint64_t values[COUNTERS];

	spread_end(c, 0);
	meeting_end(&c->meeting, 0);
	counts_values(&own, c->meeting.all, values);
	if (!total_write(t, &head, values))
		return false;
	if (is_exact(c, &own))
		return true;
	errors_of(c, &own, values);
	head.ordinal = 0;
	head.weight = c->spread.bursts;
	head.flags |= RECORD_ERROR;
	return total_write(t, &head, values);
}

void callees_write(struct thread *t)
{
	struct counts rest = counts_of(t, 0);

	counts_add(&runtime.rest, &rest);
	for (size_t i = 0; i < 2; i++)
		runtime.rest_hitm[i] += t->callees[0].meeting.all[i];
	t->record.final = true;
	for (uint32_t i = 1; i < t->n_callees; i++)
		if (t->callees[i].function != NONE && t->callees[i].calls && !callee_write(t, i))
			return;
}

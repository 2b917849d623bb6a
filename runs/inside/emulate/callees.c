/* The functions that a thread calls: how often, what happened in each of them itself, which calls are samples. What happens belongs to the
 * function that is active (the owner), and is added up where that changes, not at each access.
 *
 * Where a signal's handler may come in between, see callees.h. */
#include "runs/inside/emulate/callees.h"

#include <string.h>

#define CALLEES	       (PLACES / 2) /* functions that one thread calls; more belong to their callers */
#define CALLEES_SPARE  16	    /* for handlers that interrupt the one who takes the last */
#define STEP_SIMULATED 512u	    /* samples of calls that begin in simulated windows, after which half as many calls are sampled */
#define STEP_SKIPPED   128u	    /* of other calls */
#define STEP_MOST      (1u << 30)
#define UNTRAINED      .02 /* of branch misses: by as much a table errs that was not trained in skipped windows */

static void callees_forget(struct thread *t)
{
	t->n_callees = t->n_callees ? t->n_callees : 1; /* the first one is the thread itself, without a function */
	t->callees[0].function.number = NONE;
	for (uint32_t i = 0; i < t->n_callees; i++) {
		struct callee *c = &t->callees[i];

		*c = (struct callee){ .function = c->function, .salt = c->salt, .strata = { { .step = 1 }, { .step = 1 } } };
	}
	t->owner = t->changing = 0;
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

/* A handler may come here as well, in the middle: each takes a callee of its own, which can be found only once it is whole. */
uint32_t callee_new(struct thread *t, uintptr_t site)
{
	uint32_t i = place_hash(site), n;

	while (t->places[i].site != 0 && t->places[i].site != site)
		i = (i + 1) % PLACES;
	if (t->places[i].site == site)
		return t->places[i].callee;
	if (t->n_callees >= CALLEES - CALLEES_SPARE)
		return NONE;
	BUSY_HERE();
	n = __atomic_fetch_add(&t->n_callees, 1, __ATOMIC_RELAXED);
	t->callees[n] = (struct callee){
		.function = function_at(site),
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

/* ---- whose it is ---- */

/* The burst of simulated windows that was active has ended; now: what had been counted by then. */
static void spread_end(struct spread *s, const struct counts *counts, uint32_t burst)
{
	const uint64_t now[BASES] = { counts->weighed[COUNT_ACCESSES], counts->weighed[COUNT_BLOCKS] };
	double base[BASES];

	for (size_t i = 0; i < BASES; i++) {
		base[i] = (double)(now[i] - s->base_begun[i]);
		s->base[i] += s->burst ? base[i] * base[i] : 0;
		s->base_begun[i] = now[i];
	}
	for (size_t i = 0; i < SPREADS; i++) {
		uint64_t count = counts->weighed[COUNT_HITM_SEEN + i];
		double n = (double)(count - s->begun[i]);

		s->square[i] += s->burst ? n * n : 0;
		s->product[i] += s->burst ? n * base[COUNT_HITM_SEEN + i == COUNT_BRANCH_MISSES] : 0;
		s->begun[i] = count;
	}
	s->bursts += s->burst != 0;
	s->burst = burst;
}

static void own_burst(struct thread *t, struct callee *c)
{
	BUSY_HERE();
	if (c->spread.burst != t->burst)
		spread_end(&c->spread, &c->own, t->burst);
	busy_end();
}

static uint64_t used_now(const struct thread *t)
{
	return hot.simulating ? (uint64_t)(int64_t)((int32_t)WINDOW_ACCESSES - t->window_left)
			      : 0; /* a handler may have ended the window */
}

/* The thread simulates. */
void callees_account_simulated(struct thread *t, struct callee *c)
{
	struct counts *own = &c->own, *accounted = &t->accounted;

	if (UNLIKELY(c->spread.burst != t->burst))
		own_burst(t, c);
	ACCOUNT(t, t->counts.exact[COUNT_SIMULATED] + (t->weight ? used_now(t) : 0), &accounted->exact[COUNT_SIMULATED],
		&own->exact[COUNT_SIMULATED]);
	ACCOUNT(t, t->counts.weighed[COUNT_ACCESSES] + used_now(t) * t->weight, &accounted->weighed[COUNT_ACCESSES],
		&own->weighed[COUNT_ACCESSES]);
	ACCOUNT(t, t->counts.weighed[COUNT_BLOCKS] + (hot.simulating ? accounted->exact[COUNT_BLOCKS] - t->window_blocks : 0) * t->weight,
		&accounted->weighed[COUNT_BLOCKS], &own->weighed[COUNT_BLOCKS]);
	if (LIKELY(t->accounted_events == t->events))
		return;
	t->accounted_events = t->events;
	t->changes++;
	for (size_t i = UNKNOWN_L1; i < COUNTERS; i++)
		ACCOUNT(t, t->counts.weighed[i], &accounted->weighed[i], &own->weighed[i]);
}

void callees_account_rare(struct thread *t, struct callee *c)
{
	const uint64_t *now[] = { &hot.atomics, &system_calls, &hot.allocations, &hot.allocated_bytes, &hot.copied_bytes, &hot.waited };

	if (hot.waits) {
		waiting_hold(t);
		return;
	}
	for (size_t i = 0; i < sizeof(now) / sizeof(now[0]); i++)
		ACCOUNT(t, *now[i], &t->accounted.exact[COUNT_ATOMICS + i], &c->own.exact[COUNT_ATOMICS + i]);
	t->accounted_rare = rare_number();
	t->changes++;
}

_Static_assert(COUNT_ATOMICS + 6 == COUNT_SIMULATED, "all of them");

/* ---- with what it called ---- */

void callee_nested_changed(struct callee *c, const struct thread *t, const struct counts *now)
{
	struct nested *n = &c->nested;

	BUSY_HERE();
	for (size_t i = COUNT_ATOMICS; i < COUNT_SIMULATED; i++)
		n->sum.exact[i] += n->active * (now->exact[i] - n->seen.exact[i]);
	for (size_t i = UNKNOWN_L1; i < COUNTERS; i++)
		n->sum.weighed[i] += n->active * (now->weighed[i] - n->seen.weighed[i]);
	n->seen = *now;
	n->changes = t->changes;
	busy_end();
}

/* Nobody knows how far the change has come. */
void callees_left(struct thread *t)
{
	t->callees[t->changing].nested.lost = true;
	t->changing = 0;
}

/* As if the calls that are active ended now. */
static struct counts nested_now(struct callee *c, const struct thread *t, const struct counts *now)
{
	static const enum counter exact[] = { COUNT_ACCESSES, COUNT_BLOCKS, COUNT_SIMULATED };
	struct counts sum;

	callee_nested_changed(c, t, now);
	sum = c->nested.sum;
	for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++)
		sum.exact[exact[i]] += c->nested.active * now->exact[exact[i]];
	for (size_t i = 0; i < BASES; i++)
		sum.weighed[i] += c->nested.active * now->weighed[i];
	return sum;
}

/* When all that happened in it is accounted for. */
void callees_burst_end(struct thread *t)
{
	for (uint32_t i = 1; i < t->n_callees; i++) {
		struct callee *c = &t->callees[i];
		struct nested *n = &c->nested;
		struct counts now;

		if ((!n->active && n->calls == c->calls) || i == t->changing)
			continue;
		now = nested_now(c, t, &t->accounted);
		n->calls = c->calls;
		n->spread.burst =
		    now.weighed[COUNT_ACCESSES] + now.weighed[COUNT_BLOCKS] != n->spread.base_begun[0] + n->spread.base_begun[1] ? t->burst
																 : 0;
		spread_end(&n->spread, &now, 0);
	}
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
static void stratum_next(struct stratum *s, uint32_t salt, uint32_t samples_a_step)
{
	s->begin += s->step;
	if (++s->sampled >= samples_a_step && s->step < STEP_MOST) {
		s->sampled = 0;
		s->step *= 2;
	}
	s->next = s->begin + (hash_of(s->begin ^ (uint64_t)salt << 52) & (s->step - 1));
}

uint32_t callee_sample(struct callee *c, bool simulating)
{
	struct stratum *s = &c->strata[simulating];
	uint32_t weight = s->step;

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
 * `unknown` is no chance, and about as much as two standard errors. UINT64_MAX: of one burst nothing is known. */
static uint64_t error_from(double squares, double unknown, double n, double scale)
{
	double part = 1 - 1. / WINDOWS_A_SIMULATED, unseen = (double)WINDOWS_A_SIMULATED * WINDOWS_A_SIMULATED;

	if (n < 2)
		return UINT64_MAX;
	return counts_round(scale * (root_of((squares > 0 ? squares * part * n / (n - 1) : 0) + unseen) + unknown / 2));
}

/* How far off the counter may be because windows were skipped: as many hits, there or in the level above, may be misses, or misses hits. */
static double unknown_of(const struct counts *counts, size_t counter)
{
	static const enum unknown levels[COUNTERS][2] = { [COUNT_L1_MISSES] = { UNKNOWN_L1 },
							  [COUNT_L2_MISSES] = { UNKNOWN_L2, UNKNOWN_L1 },
							  [COUNT_REMOTE] = { UNKNOWN_L2, UNKNOWN_L1 },
							  [COUNT_TLB_MISSES] = { UNKNOWN_STLB, UNKNOWN_TLB } };
	const enum unknown *level = levels[counter];
	uint64_t hits = counts->weighed[level[0]] + (level[1] ? counts->weighed[level[1]] : 0), misses = counts->weighed[level[0] + 1];

	if (counter == COUNT_BRANCH_MISSES)
		return UNTRAINED * (double)counts->weighed[counter];
	return level[0] ? (double)(hits > misses ? hits : misses) : 0;
}

/* Standard errors of what counts_values() estimates: of ratios to accesses, or blocks, whose sums are known (Cochran, Sampling Techniques,
 * 3rd ed., 6.4), with bursts as clusters; potential HITM as a sum. */
static void errors_of(const struct spread *s, const struct meeting *m, const struct counts *counts, uint64_t *values)
{
	static const enum counter bases[BASES] = { COUNT_ACCESSES, COUNT_BLOCKS };
	double n = s->bursts, scale[BASES];

	memset(values, 0, COUNTERS * sizeof(values[0]));
	for (size_t b = 0; b < BASES; b++)
		scale[b] = counts->weighed[bases[b]] ? (double)counts->exact[bases[b]] / (double)counts->weighed[bases[b]] : 0;
	for (size_t i = 0; i < SPREADS; i++) {
		size_t counter = COUNT_HITM_SEEN + i, b = counter == COUNT_BRANCH_MISSES;
		double all = (double)counts->weighed[bases[b]], ratio = all > 0 ? (double)counts->weighed[counter] / all : 0;

		values[counter] = error_from(s->square[i] - 2 * ratio * s->product[i] + ratio * ratio * s->base[b],
					     unknown_of(counts, counter), n, scale[b]);
	}
	for (size_t i = 0; i < 2; i++) {
		double mean = m && n > 0 ? m->sum[i] / n : 0,
		       ends = 2 * mean / GROUP_WINDOWS; /* a window in which it begins, and one more */

		values[COUNT_HITM_TRUE + i] = m ? error_from(m->square[i] - mean * m->sum[i], ends, n, 1000 * scale[0]) : UINT64_MAX;
	}
}

/* All of it was simulated: nothing is estimated. */
static bool is_exact(const struct spread *s, const struct counts *counts)
{
	return runtime.full || (s->bursts == 0 && counts->exact[COUNT_SIMULATED] >= counts->exact[COUNT_ACCESSES] &&
				counts->weighed[COUNT_BLOCKS] >= counts->exact[COUNT_BLOCKS]);
}

/* A row with these counts, after one with their errors if they are estimates: what comes last may have no room; meeting: NULL, potential
 * HITM are not known. */
static bool total_write(struct thread *t, const struct callee *c, const struct counts *counts, const struct spread *spread,
			const struct meeting *meeting)
{
	static const double none[2];
	bool exact = is_exact(spread, counts);

	for (unsigned row = exact ? 1 : 2; row-- > 0;) {
		struct record_sample *sample = record_begin(&runtime.writer, &t->record);

		if (!sample)
			return false;
		*sample = (struct record_sample){
			.function = c->function.number,
			.ordinal = row ? 0 : c->calls,
			.weight = row ? spread->bursts : 0,
			.flags = RECORD_TOTAL | (row ? RECORD_ERROR : 0) | (meeting ? 0 : RECORD_NESTED),
		};
		if (row)
			errors_of(spread, meeting, counts, sample->counters);
		else
			counts_values(counts, meeting ? meeting->all : none, sample->counters);
		if (!row && !meeting)
			sample->counters[COUNT_HITM_TRUE] = sample->counters[COUNT_HITM_FALSE] = UINT64_MAX;
		record_commit(&runtime.writer, &t->record);
	}
	return true;
}

/* What has happened since the last time is the owner's. */
static struct counts own_now(const struct thread *t, uint32_t callee, const struct counts *now)
{
	struct counts own = t->callees[callee].own;

	if (callee != t->owner)
		return own;
	for (size_t i = 0; i <= COUNT_SIMULATED; i++)
		own.exact[i] += now->exact[i] - t->accounted.exact[i];
	for (size_t i = 0; i < COUNTERS; i++)
		own.weighed[i] += now->weighed[i] - t->accounted.weighed[i];
	return own;
}

/* If it called no other function that is selected, the second total would be the first. */
static bool callee_write(struct thread *t, uint32_t i, const struct counts *now)
{
	struct callee *c = &t->callees[i];
	struct counts own = own_now(t, i, now), nested = nested_now(c, t, now);

	spread_end(&c->spread, &own, 0);
	meeting_end(&c->meeting, 0);
	return (c->nested.lost || memcmp(&own, &nested, sizeof(own)) == 0 || total_write(t, c, &nested, &c->nested.spread, NULL)) &&
	       total_write(t, c, &own, &c->spread, &c->meeting);
}

void callees_write(struct thread *t)
{
	struct counts now = t->accounted, rest;

	if (t->state != THREAD_ENDED)
		counts_now(t, &now);
	rest = own_now(t, 0, &now);
	counts_add(&runtime.rest, &rest);
	for (size_t i = 0; i < 2; i++)
		runtime.rest_hitm[i] += t->callees[0].meeting.all[i];
	t->record.final = true;
	if (t->changing)
		callees_left(t);
	clock_add(t);
	callees_burst_end(t);
	for (uint32_t i = 1; i < t->n_callees; i++)
		if (t->callees[i].function.number != NONE && t->callees[i].calls && !callee_write(t, i, &now))
			return;
}

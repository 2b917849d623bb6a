/* Logical time, the accesses of several threads in the same window, and the output that depends on them. A thread's clock counts its
 * accesses, in windows. Only the number of a window determines whether it is simulated, so all threads skip the same windows.
 *
 * Potential HITM is the cost that threads may cause each other by touching a line in the same window, in whatever order they actually ran.
 * It depends on the distances between the accesses of each thread, not on their times. Let a line be in use for T accesses of the window,
 * and let a thread access it g accesses after its previous access. That access is treated as one of T / g accesses, in a random order with
 * those of other threads. The other threads make m accesses to the line. One of them, u, makes r reads and w writes. If reads by u are
 * ignored, the access before the thread's own is a write by u with probability w / (T / g + m - r). These probabilities are summed over the
 * thread's accesses, each with its own gap, and over the other threads. So consecutive accesses cost little, unless other threads access
 * the line as often. Memory blocks that never existed at the same time do not count (simulate.c).
 *
 * A part of this cost is true sharing: the probability that a word of one thread's visit is written in a visit of the other thread. For
 * this, all words that a thread touches in the window are equally likely, and the larger visit contains the smaller one.
 *
 * A window is evaluated once no thread can touch it any more. Samples are written once all their windows are evaluated. */
#include "runs/inside/emulate/emulation.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ALIGNED_ACCESSES 256u  /* a thread created in the first 256 accesses of a window starts in this window, else in the next */
#define ALL_WINDOWS	 8192u /* number of windows at the start that are all simulated (about 0.25 s), so that short runs are exact */
#define BURST_WINDOWS                                                                                                                      \
	(GROUP_WINDOWS / WINDOWS_PER_SIMULATED) /* long enough to fill caches; a hash places it, out of step with any loop                 \
						 */
#define LOG_TOUCHES	       (1u << 17)	/* capacity of a thread's log, touches; 8 MiB */
#define LOG_TOUCHES_SMALL      (1u << 14)	/* capacity of the logs after the first LARGE_LOGS threads, touches; 1 MiB */
#define LARGE_LOGS	       32u
#define DUE_WINDOWS	       64u	  /* number of windows that a thread closes between two evaluations */
#define WAIT_NS		       1000000	  /* pause between two checks for slow threads when the log is full, ns */
#define WAITS_MAX	       20000u	  /* maximum number of such checks */
#define WAITS_IDLE	       20u	  /* maximum number of consecutive checks in which no slow thread is running */
#define SHARER_TABLE_SIZE      (1u << 18) /* number of entries in the table of lines: twice the number of (line, thread) pairs in a window */
#define SIMULATED_ACCESSES_MIN 100u	  /* minimum number of simulated accesses; with fewer, simulated counters are unknown */
#define VALUE_MAX	       1e18
#define UNTRAINED_ACCESSES     .02 /* relative error of branch misses, because skipped windows do not train the table */

/* A lock that is held only briefly, with signals blocked: a handler that jumps away would never release it. A zeroed lock is free. */
struct held_lock {
	uint32_t held;
	uint64_t signals; /* the holder's signal mask before locking */
};

/* The accesses of one thread to one line in the window while the lives of the line's granules stay the same. */
struct sharer {
	uint64_t lives;
	uint32_t thread, next;
	uint32_t reads, writes, words, write_words;
	uint32_t visits, written; /* number of visits; sum over visits of words written */
};

struct line {
	uint64_t line;
	uint32_t stamp, writes, accesses, n_sharers, first; /* `first`: index of the first element in `sharers`, whose list NONE ends */
	uint16_t from, to;				    /* values of window_left at the start and at the end of the line's use */
	bool lives;					    /* true if sharers have different lives */
};

/* Representative length of each kind of gap (simulate.c): its middle. The last kind represents the whole time of the line's use. */
static const double gaps[GAP_KINDS] = { 1, 2, 3.5, 8, 45, 350, WINDOW_ACCESSES };

static struct line *lines;     /* [SHARER_TABLE_SIZE] hash table by line */
static struct sharer *sharers; /* [SHARER_TABLE_SIZE / 2] */
static uint32_t n_sharers, stamp, lines_mask;
static struct held_lock threads_held, evaluation; /* lock of threads_lock(); lock of the evaluation */

/* ---- locks ---- */

static bool spin_try(struct held_lock *s)
{
	uint64_t signals = record_signals_block();

	if (__atomic_exchange_n(&s->held, 1, __ATOMIC_ACQUIRE) == 0) {
		s->signals = signals;
		return true;
	}
	record_signals_restore(signals);
	return false;
}

static void spin_lock(struct held_lock *s)
{
	while (!spin_try(s))
		syscall(SYS_sched_yield);
}

static void spin_unlock(struct held_lock *s)
{
	uint64_t signals = s->signals;

	__atomic_store_n(&s->held, 0, __ATOMIC_RELEASE);
	record_signals_restore(signals);
}

void threads_lock(void)
{
	spin_lock(&threads_held);
	busy_begin(BUSY_ALWAYS);
}

void threads_unlock(void)
{
	busy_end();
	spin_unlock(&threads_held);
}

/* ---- logical time ---- */

static uint64_t burst_begin(uint64_t group)
{
	uint64_t x = group * 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
	return group * GROUP_WINDOWS + (x >> 60) * BURST_WINDOWS;
}

_Static_assert(GROUP_WINDOWS / BURST_WINDOWS == WINDOWS_PER_SIMULATED && WINDOWS_PER_SIMULATED == 1u << (64 - 60),
	       "4 bits select the burst");

/* Reports whether events in the window count. They do in the first windows, and later only in bursts. */
static bool window_counts(uint64_t window)
{
	uint64_t begin = burst_begin(window / GROUP_WINDOWS);

	return runtime.full || window < ALL_WINDOWS || (window >= begin && window < begin + BURST_WINDOWS);
}

/* Returns `window` if it is simulated, else the next simulated one. The window before each burst updates the caches and does not count. */
uint64_t window_next_simulated(uint64_t window)
{
	uint64_t group = window / GROUP_WINDOWS, begin = burst_begin(group);

	if (window_counts(window) || window_counts(window + 1))
		return window;
	return (window < begin ? begin : burst_begin(group + 1)) - 1;
}

/* Returns the number of the burst that represents the group of this window; 0 if all windows there are simulated. */
static uint32_t window_burst(uint64_t window)
{
	return runtime.full || window < ALL_WINDOWS ? 0 : (uint32_t)(window / GROUP_WINDOWS + 1);
}

/* ---- progress of a thread ---- */

static uint32_t window_accesses_done(const struct thread *t)
{
	return t->hot->simulating ? WINDOW_ACCESSES - (uint32_t)t->window_left : 0;
}

static void counts_read(const struct thread *t, struct counts *out)
{
	uint64_t blocks = counts_read_blocks(t, t->hot);

	*out = t->counts;
	out->exact[COUNT_ACCESSES] = counts_read_accesses(t, t->hot);
	out->exact[COUNT_SIMULATED] += t->weight ? window_accesses_done(t) : 0;
	out->weighed[COUNT_ACCESSES] += (uint64_t)window_accesses_done(t) * t->weight;
	out->weighed[COUNT_BLOCKS] += t->hot->simulating ? (blocks - t->window_blocks) * t->weight : 0;
	out->exact[COUNT_BLOCKS] = blocks;
	out->exact[COUNT_ATOMICS] = t->hot->atomics;
	out->exact[COUNT_SYSTEM_CALLS] = *t->system_calls;
	out->exact[COUNT_ALLOCATIONS] = t->hot->allocations;
	out->exact[COUNT_ALLOCATED_BYTES] = t->hot->allocated_bytes;
	out->exact[COUNT_COPIED_BYTES] = t->hot->copied_bytes;
	out->exact[COUNT_WAITED] = t->hot->waited;
	__asm__ volatile("" ::: "memory");
}

void counts_snapshot(const struct thread *t, struct counts *out)
{
	uint64_t window;

	do {
		window = __atomic_load_n(&t->window, __ATOMIC_ACQUIRE);
		counts_read(t, out);
	} while (t == hot.thread && t->window != window); /* a handler has started another window, so reads again */
}

/* Returns the number of accesses that remain in the skipped stretch; 0 while simulating. */
static uint64_t remaining_skipped_accesses(void)
{
	return hot.simulating || hot.left < 0 ? 0 : (uint64_t)hot.left;
}

uint64_t window_first_future(const struct thread *t)
{
	return hot.simulating ? t->window + 1 : t->window - remaining_skipped_accesses() / WINDOW_ACCESSES;
}

/* ---- logs ---- */

static uint64_t log_room(const struct thread *t)
{
	return t->log_mask + 1 - (t->log_queue.tail - __atomic_load_n(&t->log_queue.head, __ATOMIC_ACQUIRE));
}

static bool log_ready(struct thread *t)
{
	uint64_t touches = t->number < LARGE_LOGS ? LOG_TOUCHES : LOG_TOUCHES_SMALL;

	if (t->log)
		return true;
	t->log = pages_map(touches * sizeof(*t->log));
	t->log_mask = touches - 1;
	return t->log != NULL;
}

/* Returns the first window in the log; UINT64_MAX if the log is empty. */
static uint64_t log_window(const struct thread *t)
{
	uint64_t head = t->log_queue.head;

	return t->log && head != __atomic_load_n(&t->log_queue.tail, __ATOMIC_ACQUIRE) ? t->log[head & t->log_mask].window : UINT64_MAX;
}

/* ---- evaluation of one window ---- */

/* Returns the line's entry in the table. If there is none yet, returns a free entry, whose stamp is not the current one. */
static struct line *line_at(uint64_t number)
{
	uint32_t i = line_hash(number, 0) & lines_mask;

	while (lines[i].stamp == stamp && lines[i].line != number)
		i = (i + 1) & lines_mask;
	return &lines[i];
}

static void line_add(uint32_t thread, const struct touch *touch)
{
	struct line *line = line_at(touch->line);
	struct sharer *s;

	if (n_sharers == SHARER_TABLE_SIZE / 2) {
		runtime.dropped++;
		return;
	}
	if (line->stamp != stamp)
		*line = (struct line){ .line = touch->line, .stamp = stamp, .first = NONE, .from = touch->first, .to = touch->last };
	s = line->first == NONE ? NULL : &sharers[line->first];
	if (!s || s->thread != thread || s->lives != touch->lives) { /* all touches of a thread come one after the other */
		s = &sharers[n_sharers];
		*s = (struct sharer){ .thread = thread, .lives = touch->lives, .next = line->first };
		line->first = n_sharers++;
		line->n_sharers++;
	}
	s->reads += touch->n[ACCESS_READ];
	s->writes += touch->n[ACCESS_WRITE];
	s->words |= touch->words[ACCESS_READ] | touch->words[ACCESS_WRITE];
	s->write_words |= touch->words[ACCESS_WRITE];
	s->visits += touch->visits;
	s->written += touch->spread[1];
	line->from = touch->first > line->from ? touch->first : line->from;
	line->to = touch->last < line->to ? touch->last : line->to;
	line->writes += touch->n[ACCESS_WRITE];
	line->accesses += (uint32_t)touch->n[ACCESS_READ] + touch->n[ACCESS_WRITE];
	line->lives |= s->next != NONE && sharers[s->next].lives != s->lives;
}

/* Reports whether a granule touched by `s`, or in `words`, has the same life in both. Its memory block then existed for both. */
static bool has_common_life(const struct sharer *s, uint64_t lives, uint32_t words)
{
	uint64_t differ = s->lives ^ lives;
	uint32_t granules = granules_touched(words | s->words);

	if (LIKELY(differ == 0))
		return true;
	for (uint32_t i = 0; i < GRANULES_PER_LINE; i++) {
		if ((granules >> i & 1) && !(differ >> 16 * i & 0xffff))
			return true;
	}
	return false;
}

static double true_sharing_part(const struct sharer *s, const struct touch *touch, uint32_t words)
{
	double own = touch->visits ? (double)touch->spread[0] / touch->visits : touch->spread[0];
	double other = s->visits ? (double)s->written / s->visits : s->written, larger = own > other ? own : other;
	double part = larger * words_count(words & s->write_words) / (words_count(words) * words_count(s->write_words));

	return part < 1 ? part : 1;
}

/* Returns the number of accesses to the line by other threads that matter for this touch. */
static uint32_t count_other_accesses(const struct line *line, uint32_t thread, const struct touch *touch, uint32_t words)
{
	uint32_t others = line->accesses;

	for (uint32_t i = line->first; i != NONE; i = sharers[i].next) {
		const struct sharer *s = &sharers[i];

		if (s->thread == thread || (line->lives && !has_common_life(s, touch->lives, words)))
			others -= s->reads + s->writes;
	}
	return others;
}

/* Returns the sum of 1 / (T / g + rest) over the touch's accesses (see above). `length` is T; `rest` is other threads' accesses, m - r. */
static double paces_sum(const struct touch *touch, double length, double rest)
{
	double sum = 0;

	for (size_t k = 0; k < GAP_KINDS; k++) {
		if (touch->gaps[k])
			sum += touch->gaps[k] / ((gaps[k] < length ? length / gaps[k] : 1) + rest);
	}
	return sum;
}

/* Ends the active burst and starts `burst`. */
static void meeting_end(struct callee_sharing *m, uint32_t burst)
{
	for (size_t i = 0; i < 2; i++) {
		m->sum[i] += m->now[i];
		m->square[i] += m->now[i] * m->now[i];
		m->now[i] = 0;
	}
	m->burst = burst;
}

static void callee_add_overlap(struct thread *t, uint32_t callee, unsigned kind, double hitm, uint32_t burst)
{
	struct callee_sharing *m = &t->callees[callee].meetings;

	m->all[kind] += hitm;
	if (!burst)
		return;
	if (m->burst != burst)
		meeting_end(m, burst);
	m->now[kind] += hitm;
}

/* Adds the potential HITM that other threads may cause to this thread at the line. */
static void touch_evaluate(struct thread *t, uint32_t thread, const struct touch *touch, uint32_t weight, uint32_t burst)
{
	const struct line *line = line_at(touch->line);
	uint32_t words = (uint32_t)(touch->words[ACCESS_READ] | touch->words[ACCESS_WRITE]), others, rest, before = NONE;
	double hitm[2] = { 0, 0 }, sum = 0;

	if (line->stamp != stamp || line->n_sharers < 2 || line->writes == 0)
		return;
	others = count_other_accesses(line, thread, touch, words);
	for (uint32_t i = line->first; i != NONE; i = sharers[i].next) {
		const struct sharer *s = &sharers[i];
		double cost, part;

		if (s->thread == thread || s->writes == 0 || (line->lives && !has_common_life(s, touch->lives, words)))
			continue;
		rest = others - s->reads;
		if (rest != before)
			sum = paces_sum(touch, line->from - line->to + 1, rest);
		before = rest;
		cost = sum * weight * s->writes;
		part = words & s->write_words ? true_sharing_part(s, touch, words) : 0;
		hitm[0] += cost * part;
		hitm[1] += cost * (1 - part);
	}
	for (unsigned kind = 0; kind < 2; kind++) {
		t->invocations[touch->invocation].hitm[kind] += hitm[kind];
		if (hitm[kind] > 0)
			callee_add_overlap(t, touch->owner, kind, hitm[kind], burst);
	}
}

/* The earliest window in any log, and the slots of the threads with touches in it. */
struct earliest_window {
	uint64_t window, touches;
	uint32_t n, threads[EMULATED_THREADS_MAX];
};

static void next_find(struct earliest_window *next)
{
	struct thread *t;

	next->window = UINT64_MAX;
	for (uint32_t i = 0; i < EMULATED_THREADS_MAX && (t = thread_at(i)); i++) { /* slots are used in order */
		uint64_t window = log_window(t);

		if (window > next->window || window == UINT64_MAX)
			continue;
		if (window < next->window) {
			next->window = window;
			next->touches = next->n = 0;
		}
		next->threads[next->n++] = i;
		next->touches += t->log[t->log_queue.head & t->log_mask].n_touches;
	}
}

/* Clears a table of lines, of a size that these touches fill at most by half. A small table stays in the CPU's caches. */
static void lines_clear(uint64_t touches)
{
	lines_mask = 1023;
	while (lines_mask < 2 * touches && lines_mask < SHARER_TABLE_SIZE - 1)
		lines_mask = 2 * lines_mask + 1;
	stamp++;
	n_sharers = 0;
}

/* Evaluates the touches of all threads in a window: first sums per line, then potential HITM. Skips windows with only one thread. */
static void window_evaluate(const struct earliest_window *next)
{
	lines_clear(next->touches);
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t k = 0; k < next->n; k++) {
			struct thread *t = thread_at(next->threads[k]);
			uint64_t head = t->log_queue.head;
			struct touch w = t->log[head & t->log_mask];

			for (uint32_t i = 1; i <= w.n_touches && next->n > 1; i++) {
				const struct touch *touch = &t->log[(head + i) & t->log_mask];

				if (pass == 0)
					line_add(next->threads[k], touch);
				else
					touch_evaluate(t, next->threads[k], touch, w.stamp, window_burst(next->window));
			}
			if (pass == 1)
				__atomic_store_n(&t->log_queue.head, head + 1 + w.n_touches, __ATOMIC_RELEASE);
		}
	}
}

/* ---- counts ---- */

static uint64_t counts_round(double x)
{
	return x < VALUE_MAX ? (uint64_t)(x + .5) : UINT64_MAX - 1;
}

static void counts_add(struct counts *to, const struct counts *from)
{
	for (size_t i = 0; i <= COUNT_SIMULATED; i++)
		to->exact[i] += from->exact[i];
	for (size_t i = 0; i < COUNTERS; i++)
		to->weighed[i] += from->weighed[i];
}

/* Stores the counts in values[COUNTERS], scaled to all accesses or blocks. Unknown values are UINT64_MAX. */
static void counts_values(const struct counts *c, const double hitm[2], uint64_t *values)
{
	double accesses = (double)c->exact[COUNT_ACCESSES], blocks = (double)c->exact[COUNT_BLOCKS];
	double per_access = c->weighed[COUNT_ACCESSES] ? accesses / (double)c->weighed[COUNT_ACCESSES] : 0;
	double per_block = c->weighed[COUNT_BLOCKS] ? blocks / (double)c->weighed[COUNT_BLOCKS] : 0;
	bool counted = c->exact[COUNT_SIMULATED] >= SIMULATED_ACCESSES_MIN || c->exact[COUNT_SIMULATED] == c->exact[COUNT_ACCESSES];

	memcpy(values, c->exact, sizeof(c->exact));
	for (size_t i = COUNT_HITM_SEEN; i < COUNTERS; i++)
		values[i] = counts_round((double)c->weighed[i] * (i == COUNT_BRANCH_MISSES ? per_block : per_access));
	values[COUNT_HITM_TRUE] = counts_round(1000 * hitm[0] * per_access);
	values[COUNT_HITM_FALSE] = counts_round(1000 * hitm[1] * per_access);
	for (size_t i = COUNT_SIMULATED + 1; i < COUNTERS && !counted; i++)
		values[i] = UINT64_MAX;
}

/* ---- totals ---- */

static double square_root(double x)
{
	double root;

	__asm__("sqrtsd %1, %0" : "=x"(root) : "x"(x)); /* sqrt() would make programs depend on libm */
	return root;
}

/* Returns the standard error of a sum from n bursts, one in 16 of all windows, with this sum of squared residuals. Includes one event that
 * no burst saw, and half of the possible error `unknown`, which is not random. Returns UINT64_MAX if n < 2. */
static uint64_t standard_error(double squares, double unknown, double n, double scale)
{
	double part = 1 - 1. / WINDOWS_PER_SIMULATED, unseen = (double)WINDOWS_PER_SIMULATED * WINDOWS_PER_SIMULATED;

	if (n < 2)
		return UINT64_MAX;
	return counts_round(scale * (square_root((squares > 0 ? squares * part * n / (n - 1) : 0) + unseen) + unknown / 2));
}

/* Returns the largest error that skipped windows may cause: the uncertain hits, also of the level above, or the uncertain misses. */
static double largest_error(const struct counts *counts, size_t counter)
{
	static const enum uncertain_slot levels[COUNTERS][2] = { [COUNT_L1_MISSES] = { UNKNOWN_L1 },
								 [COUNT_L2_MISSES] = { UNKNOWN_L2, UNKNOWN_L1 },
								 [COUNT_REMOTE] = { UNKNOWN_L2, UNKNOWN_L1 },
								 [COUNT_TLB_MISSES] = { UNKNOWN_STLB, UNKNOWN_TLB } };
	const enum uncertain_slot *level = levels[counter];
	uint64_t hits = counts->weighed[level[0]] + (level[1] ? counts->weighed[level[1]] : 0), misses = counts->weighed[level[0] + 1];

	if (counter == COUNT_BRANCH_MISSES)
		return UNTRAINED_ACCESSES * (double)counts->weighed[counter];
	return level[0] ? (double)(hits > misses ? hits : misses) : 0;
}

/* Computes the standard errors of the estimates of counts_values(). These are ratio estimates with known sums of accesses or blocks
 * (Cochran, Sampling Techniques, 3rd ed., 6.4), with bursts as clusters. Potential HITM is a sum. */
static void standard_errors(const struct spread *s, const struct callee_sharing *m, const struct counts *counts, uint64_t *values)
{
	static const enum counter bases[DENOMINATORS] = { COUNT_ACCESSES, COUNT_BLOCKS };
	double n = s->bursts, scale[DENOMINATORS];

	memset(values, 0, COUNTERS * sizeof(values[0]));
	for (size_t b = 0; b < DENOMINATORS; b++)
		scale[b] = counts->weighed[bases[b]] ? (double)counts->exact[bases[b]] / (double)counts->weighed[bases[b]] : 0;
	for (size_t i = 0; i < SPREAD_COUNTERS; i++) {
		size_t counter = COUNT_HITM_SEEN + i, b = counter == COUNT_BRANCH_MISSES;
		double all = (double)counts->weighed[bases[b]], ratio = all > 0 ? (double)counts->weighed[counter] / all : 0;

		values[counter] = standard_error(s->square[i] - 2 * ratio * s->product[i] + ratio * ratio * s->base[b],
						 largest_error(counts, counter), n, scale[b]);
	}
	for (size_t i = 0; i < 2; i++) {
		double mean = m && n > 0 ? m->sum[i] / n : 0,
		       ends = 2 * mean / GROUP_WINDOWS; /* the window in which a call starts, and the one after it */

		values[COUNT_HITM_TRUE + i] = m ? standard_error(m->square[i] - mean * m->sum[i], ends, n, 1000 * scale[0]) : UINT64_MAX;
	}
}

/* Reports whether all windows were simulated, so that nothing is estimated. */
static bool is_exact(const struct spread *s, const struct counts *counts)
{
	return runtime.full || (s->bursts == 0 && counts->exact[COUNT_SIMULATED] >= counts->exact[COUNT_ACCESSES] &&
				counts->weighed[COUNT_BLOCKS] >= counts->exact[COUNT_BLOCKS]);
}

/* Writes a total with these counts. The row with an estimate's standard errors comes first: if space runs out, no estimate lacks them.
 * Returns false if there is no space. If `meetings` is NULL, potential HITM is unknown. */
static bool total_write(struct thread *t, const struct callee *c, const struct counts *counts, const struct spread *spread,
			const struct callee_sharing *meetings)
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
			.flags = RECORD_TOTAL | (row ? RECORD_ERROR : 0) | (meetings ? 0 : RECORD_NESTED),
		};
		if (row)
			standard_errors(spread, meetings, counts, sample->counters);
		else
			counts_values(counts, meetings ? meetings->all : none, sample->counters);
		if (!row && !meetings)
			sample->counters[COUNT_HITM_TRUE] = sample->counters[COUNT_HITM_FALSE] = UINT64_MAX;
		record_commit(&runtime.writer, &t->record);
	}
	return true;
}

/* Writes a function's totals: the nested total, unless it called no selected function, then its own. Returns false if there is no space. */
static bool callee_write(struct thread *t, uint32_t i, const struct counts *now)
{
	struct callee *c = &t->callees[i];
	struct counts own, nested;

	callee_sum(t, i, now, &own, &nested);
	meeting_end(&c->meetings, 0);
	return (c->nested.lost || memcmp(&own, &nested, sizeof(own)) == 0 || total_write(t, c, &nested, &c->nested.spread, NULL)) &&
	       total_write(t, c, &own, &c->spread, &c->meetings);
}

static void callees_write(struct thread *t)
{
	struct counts now = t->counts_added, rest;

	if (t->state != THREAD_ENDED)
		counts_snapshot(t, &now);
	callee_sum(t, 0, &now, &rest, NULL);
	counts_add(&runtime.rest, &rest);
	for (size_t i = 0; i < 2; i++)
		runtime.other_hitm[i] += t->callees[0].meetings.all[i];
	t->record.final = true;
	callees_burst_end(t, true);
	for (uint32_t i = 1; i < t->n_callees; i++)
		if (t->callees[i].function.number != NONE && t->callees[i].calls && !callee_write(t, i, &now))
			return;
}

/* ---- samples ---- */

static void sample_write(struct thread *t, const struct invocation *invocation)
{
	struct record_sample *sample = record_begin(&runtime.writer, &t->record);

	if (!sample)
		return;
	*sample = (struct record_sample){
		.function = invocation->function,
		.weight = invocation->weight,
		.ordinal = invocation->ordinal,
		.start = invocation->start,
		.duration = invocation->duration,
		.depth = invocation->depth,
		.threads = invocation->threads,
		.flags = invocation->flags,
		.caller = invocation->caller == NONE ? RECORD_NO_CALLER : invocation->caller + 1,
	};
	counts_values(&invocation->counts, invocation->hitm, sample->counters);
	record_commit(&runtime.writer, &t->record);
}

/* Adds the potential HITM of an invocation to that of its parent. */
static void hitm_add(double to[2], const double from[2])
{
	to[0] += from[0];
	to[1] += from[1];
}

static void totals_add(const struct invocation *root)
{
	counts_add(&runtime.counts, &root->counts);
	hitm_add(runtime.hitm, root->hitm);
}

/* Writes the samples whose windows are all before the horizon, in the order in which they ended. The caller holds the evaluation's lock. */
static void samples_write(struct thread *t, uint64_t horizon)
{
	struct queue *ended = &t->ended_queue, *free_invocations = &t->free_queue;

	while (!queue_is_empty(ended)) {
		uint32_t i = t->ended_invocations[ended->head % INVOCATIONS_MAX];
		struct invocation *invocation = &t->invocations[i];

		if (invocation->last_window >= horizon)
			return;
		if (invocation->parent != NONE) {
			struct invocation *parent = &t->invocations[invocation->parent];

			hitm_add(parent->hitm, invocation->hitm);
			parent->flags |= invocation->flags & RECORD_ESTIMATED;
			sample_write(t, invocation);
		} else {
			totals_add(invocation);
			callees_write(t);
		}
		ended->head++;
		if (i == 0)
			return;
		t->free_invocations[free_invocations->tail % INVOCATIONS_MAX] = i;
		__atomic_store_n(&free_invocations->tail, free_invocations->tail + 1, __ATOMIC_RELEASE);
	}
}

/* Writes the current counts of a live thread, with the potential HITM of active calls. The caller holds the evaluation's lock. */
static void unfinished_write(struct thread *t)
{
	struct invocation sum = t->invocations[0];

	counts_subtract_start(t, &sum.counts);
	for (uint32_t i = t->invocation, n = 0; i != 0 && n < INVOCATIONS_MAX; i = t->invocations[i].parent, n++)
		hitm_add(sum.hitm, t->invocations[i].hitm);
	totals_add(&sum);
	callees_write(t);
}

/* ---- evaluation of all windows ---- */

static void evaluate_to(uint64_t horizon)
{
	struct earliest_window next;
	struct thread *t;

	for (next_find(&next); next.window < horizon; next_find(&next))
		window_evaluate(&next);
	for (size_t i = 0; i < EMULATED_THREADS_MAX && (t = thread_at(i)); i++)
		samples_write(t, horizon);
}

static bool tables_ready(void)
{
	if (!lines)
		lines = pages_map(SHARER_TABLE_SIZE * sizeof(*lines));
	if (!sharers)
		sharers = pages_map(SHARER_TABLE_SIZE / 2 * sizeof(*sharers));
	return lines && sharers;
}

bool evaluate_windows(void)
{
	if (!spin_try(&evaluation))
		return false;
	if (tables_ready())
		evaluate_to(threads_earliest_window());
	spin_unlock(&evaluation);
	return true;
}

/* Writes "prefix:NAME VALUE" for each counter. */
static void sums_write(const char *prefix, const char *const *names, const struct counts *counts, const double hitm[2])
{
	uint64_t values[COUNTERS];
	size_t n = strlen(prefix);
	char key[64];

	counts_values(counts, hitm, values);
	memcpy(key, prefix, n);
	for (size_t i = 0; i < COUNTERS; i++) {
		memcpy(key + n, names[i], strlen(names[i]) + 1);
		record_add_info_number(&runtime.writer, key, values[i]);
	}
}

void evaluate_all(const char *const *names)
{
	spin_lock(&evaluation);
	if (tables_ready())
		evaluate_to(UINT64_MAX);
	for (size_t i = 0; i < EMULATED_THREADS_MAX; i++) {
		struct thread *t = thread_at(i);

		if (t && (t->state == THREAD_LIVE || t->state == THREAD_WAITING) && t->hot)
			unfinished_write(t);
	}
	spin_unlock(&evaluation);
	sums_write("total:", names, &runtime.counts, runtime.hitm);
	sums_write("rest:", names, &runtime.rest, runtime.other_hitm);
}

/* ---- slow threads ---- */

/* Returns the kernel's letter for the state of thread `id` ('R' if it runs or waits for a CPU); '\0' if it cannot be read. */
static char thread_kernel_state(uint32_t id)
{
	char path[64] = "/proc/self/task/", text[128], digits[12], *at = digits + sizeof(digits) - 1;
	long file, n;

	*at = '\0';
	do
		*--at = (char)('0' + id % 10);
	while ((id /= 10) != 0);
	memcpy(path + 16, at, strlen(at) + 1);
	memcpy(path + 16 + strlen(at), "/stat", 6);
	file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (file < 0)
		return '\0';
	n = syscall(SYS_read, (int)file, text, sizeof(text) - 1);
	syscall(SYS_close, (int)file);
	while (n > 0 && text[n - 1] != ')')
		n--;
	return n > 0 ? text[n + 1] : '\0'; /* the text continues with ") R ...", and more bytes follow the letter */
}

/* Reports whether other threads wait for a thread that is behind `self`. With `at_work`, counts only threads that run or are about to. */
static bool has_slow_threads(const struct thread *self, bool at_work)
{
	bool any = false;

	for (size_t i = 0; i < EMULATED_THREADS_MAX && !any; i++) {
		const struct thread *t = thread_at(i);
		uint64_t at;

		if (!t || t == self || __atomic_load_n(&t->state, __ATOMIC_RELAXED) != THREAD_LIVE)
			continue;
		at = __atomic_load_n(&t->at, __ATOMIC_ACQUIRE);
		if (at < self->at && t->stalled_at != at + 1)
			any = !at_work ||
			      (!__atomic_load_n(&t->waits, __ATOMIC_RELAXED) &&
			       (t->id == 0 || __atomic_load_n(&t->is_paused, __ATOMIC_RELAXED) || thread_kernel_state(t->id) == 'R'));
	}
	return any;
}

/* Marks the threads that are behind `self`. Other threads do not wait for them until they move. */
static void mark_late_threads(const struct thread *self)
{
	threads_lock();
	for (size_t i = 0; i < EMULATED_THREADS_MAX; i++) {
		struct thread *t = runtime.threads[i];

		if (t && t != self && t->state == THREAD_LIVE && __atomic_load_n(&t->at, __ATOMIC_ACQUIRE) < self->at)
			t->stalled_at = t->at + 1;
	}
	threads_unlock();
}

static bool has_room(const struct thread *t, uint64_t touches)
{
	return log_room(t) >= touches && !queue_is_empty(&t->free_queue);
}

/* Waits for space for `touches` and for an invocation, which a slow thread delays. A slow thread that runs, or waits for a CPU, will catch
 * up. If it does neither, other threads do not wait for it until it moves. */
void evaluate_wait(struct thread *t, uint64_t touches)
{
	static const struct timespec pause = { 0, WAIT_NS };
	unsigned idle = 0;

	__atomic_store_n(&t->is_paused, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < WAITS_MAX && idle < WAITS_IDLE; i++) {
		bool evaluated = evaluate_windows();

		if (has_room(t, touches) || (evaluated && !has_slow_threads(t, false)))
			break;
		idle = !evaluated || has_slow_threads(t, true) ? 0 : idle + 1;
		syscall(SYS_nanosleep, &pause, NULL);
	}
	__atomic_store_n(&t->is_paused, false, __ATOMIC_RELAXED);
	if (has_room(t, touches))
		return;
	mark_late_threads(t);
	spin_lock(&evaluation);
	if (tables_ready())
		evaluate_to(threads_earliest_window());
	runtime.forced++;
	spin_unlock(&evaluation);
}

/* ---- from window to window ---- */

static void log_window_end(struct thread *t)
{
	struct touch head = { .window = t->window, .n_touches = t->n_touches, .stamp = t->weight };
	uint64_t n = t->n_touches;

	t->n_touches = 0;
	if (!log_ready(t))
		return;
	if (log_room(t) < n + 1)
		evaluate_wait(t, n + 1);
	if (log_room(t) < n + 1) {
		__atomic_fetch_add(&runtime.dropped, n, __ATOMIC_RELAXED);
		return;
	}
	t->log[t->log_queue.tail & t->log_mask] = head;
	for (uint64_t i = 0; i < n; i++) {
		touch_end_visit(&t->touches[i]);
		t->log[(t->log_queue.tail + 1 + i) & t->log_mask] = t->touches[i];
	}
	__atomic_store_n(&t->log_queue.tail, t->log_queue.tail + 1 + n, __ATOMIC_RELEASE);
}

/* Appends the touches of the ended window to the log. */
static void evaluate_append(struct thread *t)
{
	if (t->n_touches > 0)
		log_window_end(t);
	if (t->stamp % DUE_WINDOWS == 0)
		evaluate_windows();
}

/* Reports whether other threads may touch lines in the window. Threads that have ended count, too, because they may have been ahead. */
static bool may_threads_overlap(uint64_t window)
{
	return __atomic_load_n(&runtime.alive, __ATOMIC_ACQUIRE) > 1 || window < __atomic_load_n(&runtime.last_end, __ATOMIC_RELAXED);
}

bool window_is_shared(const struct thread *t, uint64_t *window)
{
	uint64_t left = remaining_skipped_accesses();
	uint32_t used = hot.simulating ? window_accesses_done(t) : (uint32_t)(-left % WINDOW_ACCESSES);

	*window = hot.simulating ? t->window : t->window - (left + WINDOW_ACCESSES - 1) / WINDOW_ACCESSES;
	return used <= ALIGNED_ACCESSES && may_threads_overlap(*window);
}

static void burst_enter(struct thread *t, uint32_t burst)
{
	if (t->burst == burst)
		return;
	callees_burst_end(t, false);
	t->burst = burst;
}

void window_begin(struct thread *t, uint64_t window)
{
	uint64_t simulated = window_next_simulated(window);

	t->window = simulated;
	__atomic_store_n(&t->at, simulated, __ATOMIC_RELEASE);
	if (simulated == window) {
		burst_enter(t, window_burst(window_counts(window) ? window : window + 1));
		t->window_left = WINDOW_ACCESSES;
		t->granted = WINDOW_ACCESSES;
		t->blocks_granted = 0;
		t->window_blocks = t->counts.exact[COUNT_BLOCKS];
		t->weight = !window_counts(window) ? 0 : t->burst ? WINDOWS_PER_SIMULATED : 1;
		t->stamp++;
		t->records = t->weight > 0 && may_threads_overlap(window);
		simulate_clear_recent(t);
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
		callees_add_counts(t);
		t->counts.exact[COUNT_SIMULATED] += t->weight ? window_accesses_done(t) : 0;
		t->counts.weighed[COUNT_ACCESSES] += (uint64_t)window_accesses_done(t) * t->weight;
		t->counts.weighed[COUNT_BLOCKS] += (counts_read_blocks(t, &hot) - t->window_blocks) * t->weight;
	}
	t->counts.exact[COUNT_ACCESSES] = counts_read_accesses(t, &hot);
	t->counts.exact[COUNT_BLOCKS] = counts_read_blocks(t, &hot);
	hot.library = 0;
	hot.simulating = 0;
	t->granted = 0;
	t->window_left = 0;
	hot.left = 0;
	t->blocks_granted = hot.blocks_left = BLOCKS_GRANTED;
	if (simulated)
		evaluate_append(t);
}

/* ---- fork ---- */

static void evaluate_lock(void)
{
	spin_lock(&evaluation);
}

static void evaluate_unlock(void)
{
	spin_unlock(&evaluation);
}

/* Drops the parent's windows and samples that were not evaluated yet, in a child of fork(). */
static void evaluate_fork(void)
{
	evaluate_unlock();
	for (size_t i = 0; i < EMULATED_THREADS_MAX; i++) {
		struct thread *t = thread_at(i);

		if (!t)
			continue;
		t->log_queue = (struct queue){ 0, 0 };
		t->n_touches = 0;
		t->ended_queue = (struct queue){ 0, 0 };
		t->record = (struct record_thread){ 0 }; /* its chunk is in the parent's file */
	}
	if (hot.thread)
		frames_drop_inherited(hot.thread);
}

void evaluate_init(void)
{
	pthread_atfork(evaluate_lock, evaluate_unlock, evaluate_fork);
}

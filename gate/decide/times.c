#include "gate/decide/times.h"

#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"

#include <math.h>

#define DISTURBED_SHARE .25 /* of the baseline's runs; fewer are the exception that medians see to */

/* ---- of one run ---- */

static double cpu_s(const struct run *run)
{
	return ((double)run->usage.user_us + (double)run->usage.sys_us) / 1e6;
}

/* How much of the wall-clock time the run had no processor although it could have used one; NaN: not known. The kernel counts it for each
 * process: where several compute at once it is not longer than their mean. */
static double waited_s(const struct run *run)
{
	double wall = (double)run->usage.wall_ns / 1e9, delay = (double)run->withheld_ns[RUN_WAITED] / 1e9;
	double at_once = fmax(1, (cpu_s(run) + delay) / wall);

	if (run->usage.wall_ns <= 0 || run->withheld_ns[RUN_WAITED] < 0)
		return (double)NAN;
	return delay / at_once;
}

static double time_of(const struct run *run, enum time time)
{
	double wall = (double)run->usage.wall_ns / 1e9;

	if (run->usage.wall_ns <= 0)
		return 0;
	return time == TIME_PROCESSOR ? cpu_s(run) : time == TIME_WALL ? wall : wall - waited_s(run);
}

/* ---- effects ---- */

/* The same runs, those of which it is known, with a time for their metric; it borrows all but its items. */
static struct run_set timed(const struct run_set *runs, enum time time)
{
	struct run_set set = *runs;

	set.higher_is_better = false;
	set.items = mem_new(runs->n, sizeof(*set.items));
	set.n = 0;
	for (size_t i = 0; i < runs->n; i++) {
		double metric = time_of(&runs->items[i], time);

		if (metric > 0) { /* neither 0 nor NaN */
			set.items[set.n] = runs->items[i];
			set.items[set.n++].metric = metric;
		}
	}
	return set;
}

static bool is_wall(const struct run_set *runs)
{
	for (size_t i = 0; i < runs->n; i++) {
		double wall = time_of(&runs->items[i], TIME_WALL);

		if (!(wall > 0) || fabs(runs->items[i].metric - wall) > 1e-9 * wall)
			return false;
	}
	return runs->n > 0;
}

/* What a busy machine withholds makes processor time no smaller a part of the program's own. */
static double share_of(const struct run_set *runs)
{
	double *shares = mem_new(runs->n, sizeof(*shares)), share = 1;
	size_t n = 0;

	for (size_t i = 0; i < runs->n; i++) {
		double own = time_of(&runs->items[i], TIME_OWN);

		own = isnan(own) ? time_of(&runs->items[i], TIME_WALL) : own;
		if (own > 0)
			shares[n++] = fmin(1, cpu_s(&runs->items[i]) / own);
	}
	if (n)
		share = stats_median(shares, n);
	free(shares);
	return share;
}

/* ---- conditions ---- */

/* The quietest run of a machine; NaN where nothing is known. Returns how many runs it has from `at` on. */
static size_t quietest_of(const struct run_set *set, size_t at, double *quietest)
{
	size_t n = 0;

	while (at + n < set->n && strcmp(set->items[at + n].machine, set->items[at].machine) == 0) {
		const struct run *run = &set->items[at + n++];

		*quietest = fmin(*quietest, waited_s(run) / time_of(run, TIME_WALL)); /* fmin passes NaN over */
	}
	return n;
}

static void add_runs(const struct run_set *set, size_t at, size_t n, int side, double limit, struct times_machine *m)
{
	for (size_t i = at; i < at + n; i++) {
		double waited = waited_s(&set->items[i]) / time_of(&set->items[i], TIME_WALL);

		if (isnan(waited))
			continue;
		m->runs[side]++;
		m->disturbed[side] += stats_round(waited) >= stats_round(limit);
		m->waited[side] += waited;
	}
	if (m->runs[side])
		m->waited[side] /= (double)m->runs[side];
}

/* The runs of both are sorted by machine. */
static void conditions_of(const struct run_set *a, const struct run_set *b, double min_effect, struct times *t)
{
	size_t at[2] = { 0, 0 }, runs = 0, disturbed = 0;

	t->machines = mem_new(a->n, sizeof(*t->machines));
	while (at[0] < a->n) {
		struct times_machine m = { .machine = a->items[at[0]].machine };
		double quietest = (double)NAN;
		size_t n[2] = { quietest_of(a, at[0], &quietest), 0 };

		while (at[1] < b->n && strcmp(b->items[at[1]].machine, m.machine) < 0)
			at[1]++;
		if (at[1] < b->n && strcmp(b->items[at[1]].machine, m.machine) == 0)
			n[1] = quietest_of(b, at[1], &quietest);
		add_runs(a, at[0], n[0], 0, quietest + min_effect, &m);
		add_runs(b, at[1], n[1], 1, quietest + min_effect, &m);
		runs += m.runs[0];
		disturbed += m.disturbed[0];
		if (m.runs[0] + m.runs[1])
			t->machines[t->n_machines++] = m;
		at[0] += n[0];
		at[1] += n[1];
	}
	t->disturbed = disturbed > 0 && (double)disturbed > DISTURBED_SHARE * (double)runs;
}

/* ---- all ---- */

void times_of(const struct evidence *evidence, const struct lab_config *config, const struct run_set *baseline,
	      const struct run_set *candidate, const struct effect_asked *asked, struct times *out)
{
	struct times t = { .metric_is_wall = is_wall(baseline) && is_wall(candidate), .share = share_of(baseline) };

	for (int time = 0; time < TIMES; time++) {
		struct run_set a = timed(baseline, (enum time)time), b = timed(candidate, (enum time)time);
		struct pairing pairing = { .n = 0 };

		if (a.n && b.n) {
			pairing_of(evidence, config, &a, &b, &pairing);
			t.of[time] = pairing_effect(&pairing, asked);
		}
		pairing_release(&pairing);
		free(a.items);
		free(b.items);
	}
	conditions_of(baseline, candidate, asked->min_effect, &t);
	*out = t;
}

void times_release(struct times *times)
{
	free(times->machines);
	*times = (struct times){ .n_machines = 0 };
}

/* Twice as much of what is a hundredth of the time does not matter. */
static double part_of_wall(double ratio, double share)
{
	return 1 + share * (ratio - 1);
}

struct rule_input times_input(const struct times *t, enum decision performance, double min_effect)
{
	struct rule_input in = { .performance = performance, .processor = RULE_UNKNOWN, .own = RULE_UNKNOWN };
	const struct effect *cpu = &t->of[TIME_PROCESSOR], *own = &t->of[TIME_OWN];

	in.disturbed = t->metric_is_wall && t->disturbed && !isnan(t->of[TIME_WALL].low);
	if (t->metric_is_wall && cpu->types)
		in.processor = effect_decide(part_of_wall(cpu->ratio, t->share), part_of_wall(cpu->low, t->share),
					     part_of_wall(cpu->high, t->share), min_effect);
	if (t->metric_is_wall && own->types)
		in.own = own->decision;
	return in;
}

/* ---- answer ---- */

static void answer_times(const struct times *t, bool decided, struct document *d)
{
	static const char *const codes[] = { TIME_ROWS(ROWS_CODE) }, *const texts[] = { TIME_ROWS(ROWS_TEXT) };
	bool any = false;

	for (int i = 0; i < TIMES; i++)
		any = any || t->of[i].types;
	if (any)
		doc_line(d, "%s", "");
	doc_table(d, "times");
	for (int i = 0; i < TIMES; i++) {
		const struct effect *e = &t->of[i];

		if (!e->types)
			continue;
		doc_row(d);
		doc_set(d, "time", codes[i]);
		doc_show(d, NULL, "time", texts[i]);
		doc_showf(d, "ratio", "ratio", e->ratio, "%s", text_fixed(e->ratio, 4).text);
		doc_set(d, "low", e->low);
		doc_set(d, "high", e->high);
		doc_set(d, "level", e->level);
		doc_showf(d, NULL, "interval", e->low, "%s", effect_span(e->low, e->high, e->level, 4).text);
		if (decided)
			doc_show(d, "decision", "by itself", decision_text(e->decision));
	}
	doc_end(d);
}

static void answer_conditions(const struct times *t, struct document *d)
{
	if (t->disturbed)
		doc_line(d, "%s", "");
	doc_table(d, "conditions");
	if (!t->disturbed)
		doc_hide(d);
	for (size_t i = 0; i < t->n_machines; i++) {
		const struct times_machine *m = &t->machines[i];

		doc_row(d);
		doc_show(d, "machine", "machine", m->machine);
		doc_set(d, "runs", m->runs[0] + m->runs[1]);
		doc_set(d, "disturbed", m->disturbed[0] + m->disturbed[1]);
		doc_showf(d, NULL, "disturbed runs", m->runs[0] + m->runs[1], "%zu of %zu", m->disturbed[0] + m->disturbed[1],
			  m->runs[0] + m->runs[1]);
		doc_showf(d, "baseline_waited", "baseline waited", m->runs[0] ? m->waited[0] : (double)NAN, "%s %%",
			  text_fixed(100 * m->waited[0], 1).text);
		doc_showf(d, "candidate_waited", "candidate waited", m->runs[1] ? m->waited[1] : (double)NAN, "%s %%",
			  text_fixed(100 * m->waited[1], 1).text);
	}
	doc_end(d);
	if (t->disturbed)
		doc_line(d, "waited: for a processor that something else had, in parts of the wall-clock time");
}

void times_answer(const struct times *t, bool decided, struct document *d)
{
	answer_times(t, decided, d);
	answer_conditions(t, d);
}

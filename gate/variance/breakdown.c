#include "gate/variance/breakdown.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "gate/variance/conditions.h"
#include "gate/variance/processors.h"
#include "model/variance/factors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_MIN     .1   /* minimum fraction of a process's time outside regions for using its own usual values, not those of all */
#define NOTHING_S     1e-6 /* parts smaller than this are dropped, s */
#define OUTSIDE_SHARE .5   /* minimum fraction of a wait for a CPU that the CPU time of its cause must cover */

/* Changes of a thread's counters between two readings. */
struct segment {
	uint32_t process, thread;
	double from_s, to_s;
	double usage_counter[USAGE_COUNTERS]; /* differences; for USAGE_LOOP the mean; NaN if unknown */
	double calls_s;			      /* time in calls, s, including calls that recorded ones represent */
	double time_s, expected_s;	      /* time of repeated computation, and its usual time, s */
	double stopped_s;		      /* time neither on a CPU, nor runnable, nor in a call, s */
};

struct segments {
	struct segment *items; /* [n], sorted by process, thread and time */
	size_t n, capacity;
	size_t *first; /* [processes + 1], index of each process's first segment */
	double *loop;  /* [processes], usual duration of the timing loop on the process's host, ticks; NaN if unknown */
};

/* Sums over an interval of a process. */
struct sums {
	double wall_s, stopped_s;
	double usage_counter[USAGE_COUNTERS]; /* sums; for USAGE_LOOP, the sum of ticks * CPU time */
	double known_s[USAGE_COUNTERS];	      /* part of wall_s in which the counter is known, s */
	double loop_weight_s;		      /* CPU time in which the duration of the timing loop is known, s */
};

/* Finds the first segment of a thread, in order of time, that ends after at_s. */
ORDER_LOWER_BOUND(segment_at, struct segment, x->to_s <= at_s, double at_s)

static void segments_fill(const struct variance *v, const struct fragment *f, struct segment *seg, size_t n)
{
	const struct cluster *c = &v->clusters[f->cluster];
	double end = f->start_s + f->time_s;

	for (size_t k = segment_at(seg, n, f->start_s); k < n && seg[k].from_s < end; k++) {
		double part = f->time_s > 0 ? fmax(fmin(end, seg[k].to_s) - fmax(f->start_s, seg[k].from_s), 0) / f->time_s : 0;

		if (f->activity != ACTIVITY_COMPUTATION) {
			seg[k].calls_s += part * f->weight * f->time_s;
		} else if (c->repeated) {
			seg[k].time_s += part * f->weight * f->time_s;
			seg[k].expected_s += part * f->weight * c->usual_s;
		}
	}
}

/* Returns `all` - `part`, but at least 0; NaN if either is unknown. */
static double rest_value(double all, double part)
{
	return all < part ? 0 : all - part;
}

/* Converts pipeline slots and cycles of the process to seconds of the thread's CPU time, as published (Yasin, 2014). Slots that waited for
 * nothing were retired or lost. Waiting for data that missed in one cache is waiting for the next level. */
static void pipeline_divide(double a[USAGE_COUNTERS])
{
	double slot = a[USAGE_CPU] / a[USAGE_CORE], cycle = a[USAGE_CPU] / a[USAGE_L3];
	double done = rest_value(a[USAGE_CORE], a[USAGE_FRONT_END] + a[USAGE_BACK_END]) / (a[USAGE_RETIRING] + a[USAGE_SPECULATION]);
	double data = a[USAGE_DATA] * slot, l1 = a[USAGE_L1] * cycle, l2 = a[USAGE_L2] * cycle, l3 = a[USAGE_DRAM] * cycle;

	if (!isfinite(slot)) /* both readings are the same */
		slot = cycle = done = data = l1 = l2 = l3 = (double)NAN;
	a[USAGE_FRONT_END] *= slot;
	a[USAGE_BACK_END] *= slot;
	a[USAGE_RETIRING] *= slot * done;
	a[USAGE_SPECULATION] *= slot * done;
	a[USAGE_CORE] = rest_value(a[USAGE_BACK_END], data);
	a[USAGE_DATA] = data;
	a[USAGE_L1] = rest_value(data, l1);
	a[USAGE_L2] = rest_value(l1, l2);
	a[USAGE_L3] = rest_value(l2, l3);
	a[USAGE_DRAM] = l3;
}

static void thread_segments(const struct variance *v, size_t first, size_t n, struct segments *out)
{
	const struct snapshot *s = v->fragments.snapshots + first;

	for (size_t i = 0; i + 1 < n; i++) {
		struct segment seg = { .process = s[i].process, .thread = s[i].thread, .from_s = s[i].at_s, .to_s = s[i + 1].at_s };

		if (!(seg.to_s > seg.from_s))
			continue;
		for (size_t a = 0; a < USAGE_COUNTERS; a++)
			seg.usage_counter[a] = rest_value(s[i + 1].value[a], s[i].value[a]);
		pipeline_divide(seg.usage_counter);
		seg.usage_counter[USAGE_LOOP] = (s[i].value[USAGE_LOOP] + s[i + 1].value[USAGE_LOOP]) / 2;
		mem_append(out->items, out->n, &out->capacity, seg);
	}
}

static double zero_if_unknown(double x)
{
	return isnan(x) ? 0 : x;
}

static void process_segments(const struct variance *v, size_t process, struct segments *out)
{
	const struct fragment_process *p = &v->fragments.processes[process];
	size_t begin = out->n;

	for (size_t i = p->first_snapshot, n; i < p->first_snapshot + p->n_snapshots; i += n) {
		for (n = 1; i + n < p->first_snapshot + p->n_snapshots &&
			    v->fragments.snapshots[i + n].thread == v->fragments.snapshots[i].thread;)
			n++;
		thread_segments(v, i, n, out);
	}
	for (size_t i = p->first, seg = begin, n = 0; i < p->first + p->n; i++) {
		const struct fragment *f = &v->fragments.items[i];

		if (i == p->first || f->thread != f[-1].thread) { /* segments and fragments are sorted by thread */
			for (seg += n; seg < out->n && out->items[seg].thread < f->thread;)
				seg++;
			for (n = 0; seg + n < out->n && out->items[seg + n].thread == f->thread;)
				n++;
		}
		if (n)
			segments_fill(v, f, out->items + seg, n);
	}
	for (size_t k = begin; k < out->n; k++) {
		struct segment *s = &out->items[k];

		s->stopped_s = fmax(s->to_s - s->from_s - zero_if_unknown(s->usage_counter[USAGE_CPU]) -
					zero_if_unknown(s->usage_counter[USAGE_QUEUE]) - s->calls_s,
				    0);
		if (isnan(s->usage_counter[USAGE_CPU]))
			s->stopped_s = 0;
	}
}

/* Returns the usual duration of the timing loop on a host, ticks: the lower quartile; NaN if unknown. `process` is the first process of
 * the host. loops[segments] is scratch memory. */
static double usual_loop_ticks(const struct variance *v, const struct segments *all, size_t process, double *loops)
{
	const struct fragment_process *p = v->fragments.processes;
	size_t n = 0;

	for (size_t i = process; i < v->fragments.n_processes; i++) {
		if (strcmp(p[i].host, p[process].host) != 0)
			continue;
		for (size_t k = all->first[i]; k < all->first[i + 1]; k++)
			if (all->items[k].usage_counter[USAGE_LOOP] > 0)
				loops[n++] = all->items[k].usage_counter[USAGE_LOOP];
	}
	return n ? stats_quantile(loops, n, .25) : (double)NAN;
}

static void loops_find(const struct variance *v, struct segments *all)
{
	const struct fragment_process *p = v->fragments.processes;
	size_t n = v->fragments.n_processes;
	double *loops = mem_new(all->n, sizeof(*loops));

	all->loop = mem_new(n, sizeof(*all->loop));
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < i && strcmp(p[k].host, p[i].host) != 0)
			k++;
		all->loop[i] = k < i ? all->loop[k] : usual_loop_ticks(v, all, i, loops);
	}
	free(loops);
}

static void segments_find(const struct variance *v, struct segments *out)
{
	size_t n = v->fragments.n_processes;

	*out = (struct segments){ .first = mem_new(n + 1, sizeof(size_t)) };
	for (size_t p = 0; p < n; p++) {
		out->first[p] = out->n;
		process_segments(v, p, out);
	}
	out->first[n] = out->n;
	loops_find(v, out);
}

static void sums_add(struct sums *to, const struct segment *s, double part)
{
	to->wall_s += part * (s->to_s - s->from_s);
	to->stopped_s += part * s->stopped_s;
	for (size_t a = 0; a < USAGE_LOOP; a++) {
		to->usage_counter[a] += part * zero_if_unknown(s->usage_counter[a]);
		to->known_s[a] += isnan(s->usage_counter[a]) ? 0 : part * (s->to_s - s->from_s);
	}
	if (s->usage_counter[USAGE_LOOP] > 0) {
		to->loop_weight_s += part * zero_if_unknown(s->usage_counter[USAGE_CPU]);
		to->usage_counter[USAGE_LOOP] += part * zero_if_unknown(s->usage_counter[USAGE_CPU]) * s->usage_counter[USAGE_LOOP];
	}
}

/* Returns the fraction of a segment that is in [from_s, to_s) and in no condition. */
static double segment_share(const struct variance *v, const struct segment *s, double from_s, double to_s)
{
	double begin = fmax(s->from_s, from_s), end = fmin(s->to_s, to_s);

	return end > begin ? (end - begin - conditions_overlap(v, s->process, begin, end)) / (s->to_s - s->from_s) : 0;
}

/* Returns the fraction of a segment that is in no region of its process. */
static double share_outside_regions(const struct variance *v, const struct segment *s)
{
	double part = segment_share(v, s, s->from_s, s->to_s), least = part;

	for (size_t r = 0; r < v->n_regions; r++)
		for (size_t i = 0; i < v->regions[r].n; i++)
			if (v->regions[r].members[i].process == s->process &&
			    !(v->regions[r].condition && v->regions[r].members[i].throughout))
				least =
				    fmin(least, part - segment_share(v, s, v->regions[r].members[i].from_s, v->regions[r].members[i].to_s));
	return least;
}

/* Returns sums outside of regions [processes + 1]: first those of each process, last those of all processes. The caller frees them. */
static struct sums *usual_sums(const struct variance *v, const struct segments *all)
{
	size_t n = v->fragments.n_processes;
	struct sums *out = mem_new(n + 1, sizeof(*out));

	for (size_t p = 0; p < n; p++)
		for (size_t k = all->first[p]; k < all->first[p + 1]; k++) {
			double part = share_outside_regions(v, &all->items[k]);

			sums_add(&out[p], &all->items[k], part);
			sums_add(&out[n], &all->items[k], part);
		}
	return out;
}

static struct breakdown_part *part_add(struct breakdown *b, enum loss_cause cause, double impact, bool is_measured)
{
	struct breakdown_part *part;
	size_t i = 0;

	while (i < b->n && b->parts[i].cause != cause)
		i++;
	if (i == b->n) {
		b->parts = mem_resize(b->parts, ++b->n, sizeof(*b->parts));
		b->parts[i] =
		    (struct breakdown_part){ .cause = cause, .is_measured = is_measured, .count = (double)NAN, .duration_s = (double)NAN };
	}
	part = &b->parts[i];
	part->impact_s += impact;
	part->low_s += impact;
	part->high_s += impact;
	return part;
}

/* Subtracts up to `amount_s` from *left, which stays at least 0. Returns the subtracted amount. */
static double take_seconds(double *left, double amount_s)
{
	double taken = fmin(fmax(amount_s, 0), fmax(*left, 0));

	*left -= taken;
	return taken;
}

/* Adds a part of up to `amount_s` seconds to the breakdown. Subtracts it from *first, and then from *then. */
static void part_take(struct breakdown *b, enum loss_cause cause, double amount_s, double *first, double *then)
{
	double taken = take_seconds(first, amount_s);

	part_add(b, cause, taken + take_seconds(then, amount_s - taken), true);
}

/* Returns by how much an amount exceeds the usual amount in the expected time. */
static double excess_over_usual(double in, double usual, const struct sums *window, const struct sums *normal, double loss)
{
	double expected = fmax(window->wall_s - loss, 0);

	return in - (normal->wall_s > 0 ? usual / normal->wall_s * expected : 0);
}

/* Returns the sum of a counter. If the counter is known only for a part of the time, extrapolates to all of it. */
static double window_total(const struct sums *s, enum usage_counter a)
{
	return s->known_s[a] > 0 ? s->usage_counter[a] * (s->wall_s / s->known_s[a]) : 0;
}

/* Returns the usual sum of a counter. Extrapolates only from at least half of the time: some threads may have just started. */
static double usual_total(const struct sums *s, enum usage_counter a)
{
	return s->known_s[a] >= s->wall_s / 2 ? window_total(s, a) : s->usage_counter[a];
}

static double excess_events(enum usage_counter a, const struct sums *window, const struct sums *normal, double loss)
{
	return excess_over_usual(window_total(window, a), usual_total(normal, a), window, normal, loss);
}

/* Estimates the costs of a page fault and of a context switch by least squares, over those segments of a process that are mostly repeated
 * computation. Uses rates, because all counts grow with the length of a segment, without a loss. */
static void counted_costs(const struct segment *s, size_t n, const enum usage_counter *accounts, size_t p, struct factors *out)
{
	struct mat X = mat_new(n, p);
	double *y = mem_new(n, sizeof(*y));
	size_t rows = 0;

	for (size_t k = 0; k < n; k++) {
		double wall = s[k].to_s - s[k].from_s, other = wall - s[k].calls_s - s[k].time_s;
		bool whole = s[k].time_s > 0 && other < .2 * wall;

		for (size_t j = 0; j < p; j++)
			whole &= !isnan(s[k].usage_counter[accounts[j]]);
		if (!whole)
			continue;
		for (size_t j = 0; j < p; j++)
			X.at[rows * p + j] = s[k].usage_counter[accounts[j]] / wall;
		y[rows++] = (s[k].time_s - s[k].expected_s - zero_if_unknown(s[k].usage_counter[USAGE_QUEUE]) - s[k].stopped_s) / wall;
	}
	X.rows = rows;
	factors_fit(&X, y, out);
	X.rows = n;
	mat_release(&X);
	free(y);
}

/* Returns `amount_s`, limited to the range from 0 to `left`. */
static double clamp_amount(double amount_s, double left)
{
	return fmin(fmax(amount_s, 0), left);
}

/* Adds the parts of the loss on the CPU that page faults and context switches explain. Returns the rest, s. */
static double refine_counted(const struct segments *all, size_t process, const struct sums *window, const struct sums *normal, double left,
			     struct breakdown *b)
{
	static const enum usage_counter accounts[] = { USAGE_MINOR, USAGE_INVOLUNTARY };
	static const enum loss_cause causes[] = { LOSS_MINOR, LOSS_SWITCHES };
	struct factors fit;

	counted_costs(all->items + all->first[process], all->first[process + 1] - all->first[process], accounts, 2, &fit);
	for (size_t j = 0; fit.fitted && j < 2; j++) {
		double more = excess_events(accounts[j], window, normal, 0);
		const struct factor *f = &fit.results[j];
		struct breakdown_part *part;
		double impact;

		if (!f->is_in_fit || stats_round(f->p) >= FACTORS_LEVEL || f->coefficient <= 0 || more <= 0)
			continue;
		impact = clamp_amount(f->coefficient * more, left);
		part = part_add(b, causes[j], impact, false);
		part->low_s -= impact - clamp_amount(f->low * more, left);
		part->high_s += clamp_amount(f->high * more, left) - impact;
		part->count = zero_if_unknown(part->count) + more;
		left -= impact;
	}
	return left;
}

/* Returns the amount that is usual in time_s, from the amount `whole` - `in` that belongs to the other time, rest_s. */
static double usual_compute(double whole, double in, double rest_s, double time_s)
{
	return (whole - in) / rest_s * time_s;
}

/* Finds the user of the CPUs by CPU time. A user must have used enough time to explain the wait. If both the run itself and other programs
 * did, the cause is the one that used more than usual; the run only if others cannot explain the whole wait. Old records only have the
 * recorded threads of the run. */
enum loss_cause breakdown_queue_cause(const struct variance *v, size_t process, double from_s, double to_s, double queue)
{
	const double span = v->fragments.span_s, time = fmin(to_s, span) - from_s, rest = span - time, least = OUTSIDE_SHARE * queue;
	struct processors_usage in = processors_usage(&v->fragments, process, from_s, from_s + time), whole;
	double others = in.busy_s - in.own_s, others_more, own_more;

	if (isnan(others))
		return LOSS_WAITING;
	if (in.other_threads_s < least) /* the run used too little CPU time to delay itself */
		return others < least ? LOSS_WAITING : LOSS_QUEUE;
	if (others < least)
		return LOSS_OWN_QUEUE;
	if (rest < USUAL_MIN * time)
		return LOSS_QUEUE;
	whole = processors_usage(&v->fragments, process, 0, span);
	own_more = in.own_s - in.self_s - usual_compute(whole.own_s - whole.self_s, in.own_s - in.self_s, rest, time);
	others_more = others - usual_compute(whole.busy_s - whole.own_s, others, rest, time);
	if (own_more < least)
		return LOSS_QUEUE;
	return others_more < least && others < queue ? LOSS_OWN_QUEUE : LOSS_WAITING;
}

/* Returns the CPU time that the usual clock would have saved, s. */
static double slow_clock_loss(const struct sums *window, double loop)
{
	double mean = window->loop_weight_s > 0 ? window->usage_counter[USAGE_LOOP] / window->loop_weight_s : 0;

	return mean > loop ? window->usage_counter[USAGE_CPU] * (1 - loop / mean) : 0;
}

/* Parts `cause` of each pipeline cause `of`, with their counters. */
static const struct stage {
	enum loss_cause of, cause;
	enum usage_counter usage_counter;
} stages[] = {
	{ LOSS_PROCESSOR, LOSS_FRONT_END, USAGE_FRONT_END },
	{ LOSS_PROCESSOR, LOSS_SPECULATION, USAGE_SPECULATION },
	{ LOSS_PROCESSOR, LOSS_RETIRING, USAGE_RETIRING },
	{ LOSS_PROCESSOR, LOSS_BACK_END, USAGE_BACK_END },
	{ LOSS_BACK_END, LOSS_CORE, USAGE_CORE },
	{ LOSS_BACK_END, LOSS_DATA, USAGE_DATA },
	{ LOSS_DATA, LOSS_L1, USAGE_L1 },
	{ LOSS_DATA, LOSS_L2, USAGE_L2 },
	{ LOSS_DATA, LOSS_L3, USAGE_L3 },
	{ LOSS_DATA, LOSS_DRAM, USAGE_DRAM },
};
#define STAGES (sizeof(stages) / sizeof(stages[0]))

/* Returns the time in which a member had more of a counter per CPU time than usual, s. */
static double pipeline_duration_s(const struct variance *v, const struct segments *all, const struct region_member *m,
				  const struct sums *normal, enum usage_counter a)
{
	double usual = normal->usage_counter[USAGE_CPU] > 0 ? window_total(normal, a) / normal->usage_counter[USAGE_CPU] : 0, sum = 0,
	       known_s = 0;

	for (size_t k = all->first[m->process]; k < all->first[m->process + 1]; k++) {
		const struct segment *s = &all->items[k];
		double time = (s->to_s - s->from_s) * segment_share(v, s, m->from_s, m->to_s);

		known_s += isnan(s->usage_counter[a]) ? 0 : time;
		sum += s->usage_counter[a] > usual * s->usage_counter[USAGE_CPU] ? time : 0;
	}
	return known_s > 0 ? sum / known_s * (m->to_s - m->from_s) : 0;
}

/* Divides `left` seconds of a member's loss in proportion to the growth of its pipeline parts. Divides major parts further, as published.
 * Returns false if no counter has grown. */
static bool refine_pipeline(const struct variance *v, const struct segments *all, const struct region_member *m, const struct sums *window,
			    const struct sums *normal, enum loss_cause of, double left, struct breakdown *b)
{
	double more[STAGES], sum = 0, loss = fmax(m->estimated_s, 0);

	for (size_t k = 0; k < STAGES; k++) {
		more[k] = stages[k].of == of ? fmax(excess_events(stages[k].usage_counter, window, normal, loss), 0) : 0;
		sum += more[k];
	}
	for (size_t k = 0; sum > 0 && left > BREAKDOWN_MAJOR * loss && k < STAGES; k++) {
		double impact = left * more[k] / sum;

		if (impact > 0 && !refine_pipeline(v, all, m, window, normal, stages[k].cause, impact, b))
			part_add(b, stages[k].cause, impact, false)->duration_s =
			    pipeline_duration_s(v, all, m, normal, stages[k].usage_counter);
	}
	return sum > 0 && left > BREAKDOWN_MAJOR * loss;
}

/* Divides a member's loss by cause, starting with the times that the kernel measures. */
static void member_explain(const struct variance *v, const struct segments *all, const struct region *r, const struct region_member *m,
			   const struct sums *usual, struct breakdown *b)
{
	const struct sums *normal = &usual[m->process];
	struct sums window = { .wall_s = 0 };
	double loss = fmax(m->estimated_s, 0), left = loss, seen, queue, stopped;

	for (size_t k = all->first[m->process]; k < all->first[m->process + 1]; k++)
		sums_add(&window, &all->items[k], segment_share(v, &all->items[k], m->from_s, m->to_s));
	if (normal->wall_s < USUAL_MIN * window.wall_s)
		normal = &usual[v->fragments.n_processes];
	if (!(window.wall_s > 0)) {
		part_add(b, LOSS_UNKNOWN, loss, false);
		return;
	}
	/* `seen` is stopped time that an observer saw from outside, in calls or not. It is subtracted from the unexplained time below. */
	seen = take_seconds(&left, excess_events(USAGE_STOPPED, &window, normal, loss));
	part_add(b, LOSS_STOPPED, seen, true);
	queue = take_seconds(&left, excess_events(USAGE_QUEUE, &window, normal, loss));
	stopped = r->activity == ACTIVITY_COMPUTATION
		      ? take_seconds(&left, excess_over_usual(window.stopped_s, normal->stopped_s, &window, normal, loss) - seen)
		      : 0;
	part_take(b, LOSS_THROTTLED, excess_events(USAGE_THROTTLED, &window, normal, loss), &queue, &stopped);
	part_take(b, LOSS_STEAL, excess_events(USAGE_STEAL, &window, normal, loss), &stopped, &left);
	part_add(b,
		 window.known_s[USAGE_MINOR] > 0 ? breakdown_queue_cause(v, m->process, m->from_s, m->to_s, queue)
						 : LOSS_WAITING, /* counters of a coarse level only have times */
		 queue, true);
	if (r->activity == ACTIVITY_COMPUTATION)
		part_take(b, LOSS_MEMORY, excess_events(USAGE_MEMORY_PRESSURE, &window, normal, loss), &stopped, &left);
	part_add(b, excess_events(USAGE_MAJOR, &window, normal, loss) > 0 ? LOSS_PAGES : LOSS_STOPPED, stopped, true);
	part_add(b, LOSS_CLOCK, take_seconds(&left, slow_clock_loss(&window, all->loop[m->process])), true);
	if (r->activity == ACTIVITY_COMPUTATION && left > BREAKDOWN_MAJOR * loss)
		left = refine_counted(all, m->process, &window, normal, left, b);
	if (r->activity == ACTIVITY_IO)
		part_add(b, LOSS_DISK, take_seconds(&left, excess_events(USAGE_IO_PRESSURE, &window, normal, loss)), true);
	if (r->activity != ACTIVITY_COMPUTATION || !refine_pipeline(v, all, m, &window, normal, LOSS_PROCESSOR, left, b))
		part_add(b, r->activity == ACTIVITY_COMPUTATION ? LOSS_PROCESSOR : LOSS_CALLS, left, false);
}

ORDER_BY(parts_order, struct breakdown_part, BY_ROUNDED_DESC(impact_s) BY_ASC(cause))

static void region_explain(const struct variance *v, const struct segments *all, const struct sums *usual, struct region *r)
{
	struct breakdown b = { .n = 0 };
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		b.loss_s += fmax(r->members[i].estimated_s, 0);
		if (r->condition)
			part_add(&b, r->cause, r->members[i].estimated_s, true);
		else
			member_explain(v, all, r, &r->members[i], usual, &b);
	}
	order_sort(b.parts, b.n, parts_order);
	while (n < b.n && b.parts[n].impact_s > NOTHING_S)
		n++;
	b.n = n;
	r->breakdown = b;
}

void breakdowns_find(struct variance *v)
{
	struct segments all;
	struct sums *usual;

	if (!v->n_regions)
		return;
	segments_find(v, &all);
	usual = usual_sums(v, &all);
	for (size_t r = 0; r < v->n_regions; r++) {
		size_t n_conditions = v->n_conditions;

		v->n_conditions = v->regions[r].marked ? 0 : n_conditions; /* the user marked this time, including its conditions */
		region_explain(v, &all, usual, &v->regions[r]);
		v->n_conditions = n_conditions;
	}
	mem_free(usual, all.items, all.first, all.loop);
}

void breakdown_release(struct breakdown *b)
{
	free(b->parts);
	*b = (struct breakdown){ .n = 0 };
}

ROWS_FUNCTION(loss_cause_name, enum loss_cause, LOSS_ROWS, ROWS_CODE)
ROWS_FUNCTION(loss_cause_text, enum loss_cause, LOSS_ROWS, ROWS_TEXT)

bool loss_cause_is_pipeline(enum loss_cause cause)
{
	return cause >= LOSS_FRONT_END && cause <= LOSS_DRAM;
}

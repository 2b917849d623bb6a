/* Regions of the maps in which work was slow: stretches of one process, joined with those of others at the same time. */
#include "gate/variance/waits.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "model/variance/slow_spans.h"

#include <math.h>
#include <stdlib.h>

#define THROUGHOUT    .9  /* of the time of a process's repeated work: it is slow as long as it ran */
#define SURE	      3	  /* standard errors by which a loss must be more than the least that is told: there are many places to look at */
#define COLUMN_MOST   3	  /* columns that are as usual, which a slow one outweighs */
#define ORDERS	      999 /* of a row's columns, by chance */
#define ORDERS_BETTER 1	  /* of these may have as slow a stretch: so it is with two rows of a thousand in which nothing happened */
#define BESIDE	      1.2 /* times a piece: with what may stand beside it by chance */
#define TOGETHER      .5  /* of the time in which either was slow, in which both were: one region */
#define FOLLOWED      .5  /* of a region's time, in which another process was slow: they waited for it */

struct stretch {
	enum activity activity;
	struct region_member member;
	bool waits;	       /* messages, whose loss is a consequence of what others did */
	bool spins;	       /* messages, for which it may have waited by using a processor, or asking for one, again and again */
	size_t waited_for;     /* process, by its calls of MPI; VARIANCE_NONE: it did not wait, or they do not say */
	enum loss_cause cause; /* of most of its loss */
};

struct stretches {
	struct stretch *items; /* [n] */
	size_t n, capacity;
};

/* ---- within a process ---- */

/* How much of a fragment's recorded time lies in [from, to). */
static double part_within(const struct fragment *f, double from_s, double to_s)
{
	double begin = fmax(f->start_s, from_s), end = fmin(f->start_s + f->time_s, to_s);

	if (f->time_s <= 0)
		return f->start_s >= from_s && f->start_s < to_s;
	return fmax(end - begin, 0) / f->time_s;
}

/* Sums of a process's fragments of that activity; and the time of what is not repeated computation, with what was not recorded, as long as
 * threads were there. */
static void member_measure(const struct variance *v, enum activity activity, struct region_member *m)
{
	const struct fragment_process *p = &v->fragments.processes[m->process];
	double calls = 0, threads = 0, repeated = 0, first = 0, last = 0;

	m->time_s = m->expected_s = m->error_s = 0;
	m->fragments = 0;
	for (size_t i = p->first; i < p->first + p->n; i++) {
		const struct fragment *f = &v->fragments.items[i];
		double part = part_within(f, m->from_s, m->to_s), time = f->weight * f->time_s * part;
		const struct cluster *c = &v->clusters[f->cluster];

		if (i == p->first || f->thread != f[-1].thread) {
			threads += fmax(fmin(last, m->to_s) - fmax(first, m->from_s), 0);
			first = last = f->start_s;
		}
		last = fmax(last, f->start_s + f->time_s);
		if (part <= 0)
			continue;
		if (f->activity != ACTIVITY_COMPUTATION)
			calls += time;
		else if (c->repeated)
			repeated += time;
		if (f->activity != activity || !c->repeated)
			continue;
		m->time_s += time;
		m->expected_s += f->weight * c->usual_s * part;
		m->error_s += (double)f->weight * (f->weight - 1.0) * pow((f->time_s - c->usual_s) * part, 2);
		m->fragments++;
	}
	threads += fmax(fmin(last, m->to_s) - fmax(first, m->from_s), 0);
	m->loss_s = m->time_s - m->expected_s;
	m->error_s = sqrt(m->error_s); /* Horvitz and Thompson's, of records that were chosen independently */
	m->estimated_s = m->loss_s;
	if (activity == ACTIVITY_COMPUTATION && repeated > 0)
		m->estimated_s *= fmax(threads - calls, repeated) / repeated;
}

/* From -1, as usual, to COLUMN_MOST, slow: however long one stop is, it does not outweigh more columns than that between it and another
 * one. 0: there was no such work. */
static double score_of(double time, double expected, double allowed, double threshold)
{
	return expected > 0 ? fmin(fmax((time - allowed) / ((1 / threshold - 1) * expected), -1), COLUMN_MOST) : 0;
}

/* For a row of a map: [columns], of the spans [columns / 2 + 1]. */
struct scan {
	double *score, *pieces;
	bool *joined; /* to the column before, by a fragment that is longer than a column */
	struct slow_span *spans, *others;
};

/* Scores of columns as far as there are some, with those of one long fragment as one piece: in whatever order, it stays whole. Returns how
 * many there are. */
static size_t pieces_of(const struct scan *scan, size_t from, size_t to, double *out)
{
	bool before = false;
	size_t n = 0;

	for (size_t c = from; c < to; c++) {
		if (scan->score[c] != 0 && before && scan->joined[c])
			out[n - 1] += scan->score[c];
		else if (scan->score[c] != 0)
			out[n++] = scan->score[c];
		before = scan->score[c] != 0;
	}
	return n;
}

/* Is a stretch more than what chance makes of the same pieces in another order? One that is hardly more than a single piece must be more
 * than that piece with others beside it. */
static bool beyond_chance(const struct scan *scan, size_t columns, const struct slow_span *found)
{
	double least = found->score, *piece = scan->pieces;
	size_t n = pieces_of(scan, found->from, found->to, piece), better = 0, good = 0;
	struct rng rng;

	for (size_t i = 0; i < n; i++)
		least = fmax(least, BESIDE * piece[i]);
	n = pieces_of(scan, 0, columns, piece);
	for (size_t i = 0; i < n; i++)
		good += piece[i] < 0;
	rng_seed(&rng, 1);
	for (size_t order = 0; good && order < ORDERS && better <= ORDERS_BETTER; order++) {
		double most = 0;
		size_t k;

		for (size_t i = n - 1; i > 0; i--) {
			size_t other = rng_below(&rng, i + 1);
			double kept = piece[i];

			piece[i] = piece[other];
			piece[other] = kept;
		}
		k = slow_spans(piece, n, scan->others);
		while (k-- > 0)
			most = fmax(most, scan->others[k].score);
		better += stats_round(most) >= stats_round(least);
	}
	return better <= ORDERS_BETTER;
}

static int spans_by_score(const void *a, const void *b)
{
	const struct slow_span *x = a, *y = b;
	double p = stats_round(x->score), q = stats_round(y->score);

	return p != q ? (p > q ? -1 : 1) : (x->from > y->from) - (x->from < y->from);
}

/* What it cost is enough to be told, and no chance of what was recorded. */
static bool matters(const struct variance *v, const struct region_member *m)
{
	return stats_round(m->loss_s - SURE * m->error_s) >= stats_round(v->least_s) &&
	       stats_round(m->expected_s) < stats_round(v->threshold * m->time_s);
}

static void scan_row(const struct variance *v, size_t m, size_t process, const struct scan *scan)
{
	const struct fragment_process *p = &v->fragments.processes[process];
	const struct map *map = &v->maps[m];

	for (size_t c = 0; c < v->columns; c++) {
		scan->score[c] = score_of(mat_get(&map->time, process, c), mat_get(&map->expected, process, c),
					  mat_get(&map->allowed, process, c), v->threshold);
		scan->joined[c] = false;
	}
	for (size_t i = p->first; i < p->first + p->n; i++) {
		const struct fragment *f = &v->fragments.items[i];

		if (f->activity != m || f->time_s < v->column_s)
			continue;
		for (size_t c = variance_column(v, f->start_s) + 1; c <= variance_column(v, f->start_s + f->time_s); c++)
			scan->joined[c] = true;
	}
}

/* The slowest stretches first: one that was found is no part of what chance makes of the rest. */
static void process_scan(const struct variance *v, size_t m, size_t process, const struct scan *scan, struct stretches *out)
{
	const struct map *map = &v->maps[m];
	double whole = 0;
	size_t n;

	for (size_t c = 0; c < v->columns; c++)
		whole += mat_get(&map->time, process, c);
	scan_row(v, m, process, scan);
	n = slow_spans(scan->score, v->columns, scan->spans);
	if (n)
		qsort(scan->spans, n, sizeof(*scan->spans), spans_by_score);
	for (size_t k = 0; k < n; k++) {
		struct stretch s = { .activity = (enum activity)m,
				     .member = { .process = process,
						 .from_s = (double)scan->spans[k].from * v->column_s,
						 .to_s = (double)scan->spans[k].to * v->column_s } };

		member_measure(v, s.activity, &s.member);
		if (!matters(v, &s.member))
			continue;
		if (!beyond_chance(scan, v->columns, &scan->spans[k]))
			break;
		for (size_t c = scan->spans[k].from; c < scan->spans[k].to; c++)
			scan->score[c] = 0;
		s.member.throughout = s.member.time_s >= THROUGHOUT * whole;
		out->items = mem_grow(out->items, out->n, &out->capacity, sizeof(s));
		out->items[out->n++] = s;
	}
}

/* ---- between processes ---- */

static double overlap(double a_from, double a_to, double b_from, double b_to)
{
	return fmax(fmin(a_to, b_to) - fmax(a_from, b_from), 0);
}

static bool together(const struct region *r, const struct region_member *m)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct region_member *o = &r->members[i];
		double both = overlap(o->from_s, o->to_s, m->from_s, m->to_s);
		double either = fmax(o->to_s, m->to_s) - fmin(o->from_s, m->from_s);

		if (o->process != m->process && both >= TOGETHER * either)
			return true;
	}
	return false;
}

static bool has_process(const struct region *r, size_t process)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->members[i].process == process)
			return true;
	return false;
}

static void region_sum(const struct variance *v, struct region *r)
{
	double verified = 0, all = 0;

	r->from_s = (double)INFINITY;
	r->to_s = r->time_s = r->expected_s = r->loss_s = r->estimated_s = 0;
	r->fragments = 0;
	for (size_t i = 0; i < r->n; i++) {
		const struct region_member *m = &r->members[i];
		const struct fragment_process *p = &v->fragments.processes[m->process];

		r->from_s = fmin(r->from_s, m->from_s);
		r->to_s = fmax(r->to_s, m->to_s);
		r->time_s += m->time_s;
		r->expected_s += m->expected_s;
		r->loss_s += m->loss_s;
		r->estimated_s += m->estimated_s;
		r->fragments += m->fragments;
		for (size_t k = p->first; k < p->first + p->n; k++) {
			const struct fragment *f = &v->fragments.items[k];
			double time = f->weight * f->time_s * part_within(f, m->from_s, m->to_s);

			if (f->activity != r->activity || !v->clusters[f->cluster].repeated)
				continue;
			all += time;
			verified += f->basis != BASIS_UNVERIFIED ? time : 0;
		}
	}
	r->verified = all > 0 ? verified / all : 0;
}

static struct region *region_new(struct variance *v, enum activity activity, size_t *capacity)
{
	struct region *r;

	v->regions = mem_grow(v->regions, v->n_regions, capacity, sizeof(*v->regions));
	r = &v->regions[v->n_regions++];
	*r = (struct region){ .activity = activity, .caused_by = VARIANCE_NONE, .waited_for = VARIANCE_NONE };
	return r;
}

static void region_take(struct region *r, const struct region_member *m)
{
	r->members = mem_resize(r->members, r->n + 1, sizeof(*m));
	r->members[r->n++] = *m;
}

/* Most of its loss was inside of calls: whoever it waited for may be the cause. */
static bool blocked(const struct region *r)
{
	return !r->why.n || r->why.parts[0].cause == LOSS_CALLS || r->why.parts[0].cause == LOSS_UNKNOWN;
}

/* Or so it may be: who yields the processor until a message is there waits for that processor most of the time. */
static bool spun(const struct region *r)
{
	return r->why.n && (r->why.parts[0].cause == LOSS_QUEUE || r->why.parts[0].cause == LOSS_CROWDED);
}

/* Of one that waits: was that process slow itself? Two that may both only have waited are not each other's cause. */
static bool slow_then(const struct stretches *all, size_t process, const struct stretch *waits)
{
	double from = waits->member.from_s, to = waits->member.to_s;

	for (size_t i = 0; i < all->n; i++) {
		const struct stretch *s = &all->items[i];

		if (s->member.process == process && !s->waits && !s->spins &&
		    overlap(from, to, s->member.from_s, s->member.to_s) >= FOLLOWED * (to - from))
			return true;
	}
	return false;
}

/* From one that waits itself to the next, until one was slow itself; else the first. */
static size_t stretch_follow(const struct variance *v, const struct stretches *all, const struct stretch *s, struct waits *known)
{
	size_t process = s->member.process, first = VARIANCE_NONE;

	for (size_t steps = 0; steps < v->fragments.n_processes; steps++) {
		process = waited_for(v, known, process, s->member.from_s, s->member.to_s);
		if (process == VARIANCE_NONE || process == s->member.process)
			break;
		if (slow_then(all, process, s))
			return process;
		first = first == VARIANCE_NONE ? process : first;
	}
	return first;
}

/* What took the time of each by itself: one that waited is not joined with the one that it waited for, nor with one that waited for
 * another. */
static void stretches_explain(struct variance *v, struct stretches *all)
{
	struct waits known = { .n = 0 };
	size_t capacity = 0;

	for (size_t i = 0; i < all->n; i++)
		region_take(region_new(v, all->items[i].activity, &capacity), &all->items[i].member);
	breakdowns_find(v);
	for (size_t i = 0; i < all->n; i++) {
		bool messages = all->items[i].activity == ACTIVITY_COMMUNICATION;

		all->items[i].waits = messages && blocked(&v->regions[i]);
		all->items[i].spins = messages && spun(&v->regions[i]);
		all->items[i].cause = v->regions[i].why.n ? v->regions[i].why.parts[0].cause : LOSS_UNKNOWN;
	}
	regions_release(v);
	for (size_t i = 0; i < all->n; i++) {
		struct stretch *s = &all->items[i];

		s->waited_for = s->waits || s->spins ? stretch_follow(v, all, s, &known) : VARIANCE_NONE;
		if (s->spins && (s->waited_for == VARIANCE_NONE || !slow_then(all, s->waited_for, s))) {
			s->waited_for = VARIANCE_NONE; /* it was the processor that it waited for */
			continue;
		}
		s->waits |= s->spins;
	}
	free(known.items);
}

static uint32_t run_of(const struct variance *v, size_t process)
{
	return v->fragments.processes[process].run;
}

/* Whose the processor was that a process waited for is only roughly known. */
static enum loss_cause roughly(enum loss_cause cause)
{
	return cause == LOSS_CROWDED ? LOSS_QUEUE : cause;
}

static bool same_reason(const struct variance *v, const struct stretch *a, const struct stretch *b)
{
	return run_of(v, a->member.process) == run_of(v, b->member.process) && a->activity == b->activity && a->waits == b->waits &&
	       a->waited_for == b->waited_for && (a->waits || roughly(a->cause) == roughly(b->cause));
}

/* Each stretch to the first region with which it is together; which[]: a stretch of each region. */
static void stretches_join(struct variance *v, const struct stretches *all, size_t *capacity)
{
	const struct stretch **which = mem_new(v->n_regions + all->n, sizeof(*which));

	for (size_t i = 0; i < all->n; i++) {
		const struct stretch *s = &all->items[i];
		struct region *to = NULL;

		for (size_t r = 0; r < v->n_regions && !to; r++)
			if (which[r] && same_reason(v, which[r], s) && !has_process(&v->regions[r], s->member.process) &&
			    together(&v->regions[r], &s->member))
				to = &v->regions[r];
		if (!to) {
			to = region_new(v, s->activity, capacity);
			to->waited_for = s->waited_for;
			to->waits = s->waits;
			which[v->n_regions - 1] = s;
		}
		region_take(to, &s->member);
	}
	free(which);
}

static int regions_order(const void *a, const void *b)
{
	const struct region *x = a, *y = b;
	double p = stats_round(x->estimated_s), q = stats_round(y->estimated_s);

	if (x->marked != y->marked)
		return x->marked ? -1 : 1;
	if (p != q)
		return p > q ? -1 : 1;
	if (x->from_s != y->from_s)
		return x->from_s < y->from_s ? -1 : 1;
	if (x->activity != y->activity)
		return x->activity < y->activity ? -1 : 1;
	return (x->members[0].process > y->members[0].process) - (x->members[0].process < y->members[0].process);
}

/* The region of others that were slow themselves for most of the time of this one: of `process`, or (VARIANCE_NONE) of any that are not in
 * it, the one with the longest common time. */
static size_t slow_meanwhile(const struct variance *v, const struct region *waits, size_t process)
{
	double most = 0;
	size_t found = VARIANCE_NONE;

	for (size_t c = 0; c < v->n_regions; c++) {
		const struct region *slow = &v->regions[c];
		double both = overlap(waits->from_s, waits->to_s, slow->from_s, slow->to_s);
		bool others = slow->n > 0 && run_of(v, slow->members[0].process) == run_of(v, waits->members[0].process);

		for (size_t i = 0; i < slow->n; i++)
			others &= !has_process(waits, slow->members[i].process);
		if (slow->waits || slow->marked || !(process == VARIANCE_NONE ? others : has_process(slow, process)) || both <= most ||
		    both < FOLLOWED * (waits->to_s - waits->from_s))
			continue;
		most = both;
		found = c;
	}
	return found;
}

/* A region of messages that were waited for belongs to that of the process for which they waited; where the calls do not say for whom, to
 * those who were slow themselves at the same time. */
static void causes_follow(struct variance *v)
{
	for (size_t r = 0; r < v->n_regions; r++)
		if (v->regions[r].waits)
			v->regions[r].caused_by = slow_meanwhile(v, &v->regions[r], v->regions[r].waited_for);
}

/* What is the consequence of another region stands behind those that are not. */
static void causes_first(struct variance *v)
{
	struct region *sorted = mem_new(v->n_regions, sizeof(*sorted));
	size_t *now = mem_new(v->n_regions, sizeof(*now)), n = 0;

	for (int consequences = 0; consequences < 2; consequences++)
		for (size_t r = 0; r < v->n_regions; r++)
			if ((v->regions[r].caused_by != VARIANCE_NONE) == consequences) {
				now[r] = n;
				sorted[n++] = v->regions[r];
			}
	for (size_t r = 0; r < n; r++)
		if (sorted[r].caused_by != VARIANCE_NONE)
			sorted[r].caused_by = now[sorted[r].caused_by];
	free(now);
	free(v->regions);
	v->regions = sorted;
}

static enum assay_status marked_add(struct variance *v, const struct variance_options *o, size_t *capacity, struct assay_error *err)
{
	const struct fragments *f = &v->fragments;
	struct region_member m = { .process = SIZE_MAX, .from_s = o->marked_from_s, .to_s = o->marked_to_s };
	struct region *r;

	for (size_t p = 0; p < f->n_processes; p++)
		if (f->processes[p].rank == o->marked_rank || (f->processes[p].rank < 0 && (int64_t)p == o->marked_rank))
			m.process = p;
	if (m.process == SIZE_MAX)
		return assay_fail(err, ASSAY_E_NOTFOUND, "there is no process %lld: they are counted from 0, and there are %zu",
				  (long long)o->marked_rank, f->n_processes);
	member_measure(v, ACTIVITY_COMPUTATION, &m);
	r = region_new(v, ACTIVITY_COMPUTATION, capacity);
	r->marked = true;
	region_take(r, &m);
	return ASSAY_OK;
}

enum assay_status regions_find(struct variance *v, const struct variance_options *options, struct assay_error *err)
{
	struct scan scan = { mem_new(v->columns, sizeof(double)), mem_new(v->columns, sizeof(double)), mem_new(v->columns, sizeof(bool)),
			     mem_new(v->columns / 2 + 1, sizeof(struct slow_span)), mem_new(v->columns / 2 + 1, sizeof(struct slow_span)) };
	struct stretches all = { .n = 0 };
	enum assay_status st = ASSAY_OK;
	size_t capacity = 0;

	for (size_t m = 0; m < ACTIVITY_MAPS; m++)
		for (size_t p = 0; p < v->fragments.n_processes; p++)
			process_scan(v, m, p, &scan, &all);
	stretches_explain(v, &all);
	if (options->marked_from_s < options->marked_to_s)
		st = marked_add(v, options, &capacity, err);
	stretches_join(v, &all, &capacity);
	for (size_t r = 0; r < v->n_regions; r++)
		region_sum(v, &v->regions[r]);
	if (v->n_regions)
		qsort(v->regions, v->n_regions, sizeof(*v->regions), regions_order);
	free(all.items);
	free(scan.score);
	free(scan.pieces);
	free(scan.joined);
	free(scan.spans);
	free(scan.others);
	return st;
}

void regions_follow(struct variance *v)
{
	causes_follow(v);
	causes_first(v);
}

void regions_release(struct variance *v)
{
	for (size_t r = 0; r < v->n_regions; r++) {
		free(v->regions[r].members);
		breakdown_release(&v->regions[r].why);
	}
	free(v->regions);
	v->regions = NULL;
	v->n_regions = 0;
}

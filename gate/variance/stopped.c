#include "gate/variance/stopped.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>

#define EXPLAINED .5 /* of what something took longer than usual, that its process was stopped for */
#define FOUND	  .5 /* of a stop, in stretches that were found before */

/* Between two moments at which it was known for how long the process had been stopped. */
struct stop {
	double from_s, to_s, stopped_s;
	const struct fragment *slowed; /* what it slowed most; NULL: nothing */
	double loss_s;
	double covered_s; /* of it, in one call or computation, slowed or not */
};

ORDER_POINTERS_BY(by_time, struct snapshot, BY_UP(at_s) BY_PLACE)

/* In order, free() them. */
static struct stop *stops_of(const struct fragments *f, const struct fragment_process *p, size_t *n)
{
	const struct snapshot **at = mem_new(p->n_snapshots, sizeof(*at)), *before = NULL;
	struct stop *stops = NULL;
	size_t known = 0, capacity = 0;

	*n = 0;
	for (size_t i = p->first_snapshot; i < p->first_snapshot + p->n_snapshots; i++)
		if (!isnan(f->snapshots[i].value[ACCOUNT_STOPPED]))
			at[known++] = &f->snapshots[i];
	order_sort(at, known, by_time);
	for (size_t i = 0; i < known; i++) {
		double more = before ? at[i]->value[ACCOUNT_STOPPED] - before->value[ACCOUNT_STOPPED] : 0;

		if (more > 0)
			mem_append(stops, *n, &capacity, (struct stop){ before->at_s, at[i]->at_s, more, NULL, 0, 0 });
		if (more >= 0)
			before = at[i];
	}
	free(at);
	return stops;
}

/* The first that ends behind this moment. */
ORDER_FIRST(stop_at, struct stop, x->to_s <= at_s, double at_s)

static double in_stop(const struct fragment *f, const struct stop *s)
{
	return fmin(stretch_overlap(f->start_s, f->start_s + f->time_s, s->from_s, s->to_s), s->stopped_s);
}

/* What calls of each site usually take, of those kinds that repeat the longest; NaN: none does. [sites], free() it. */
static double *sites_usual(const struct variance *v)
{
	double *usual = mem_new(v->fragments.n_sites, sizeof(*usual));

	for (size_t s = 0; s < v->fragments.n_sites; s++)
		usual[s] = (double)NAN;
	for (size_t c = 0; c < v->n_clusters; c++) {
		const struct cluster *one = &v->clusters[c];

		if (one->repeated && one->from == FRAGMENT_NO_SITE)
			usual[one->to] = fmax(one->usual_s, usual[one->to]); /* which is a number */
	}
	return usual;
}

/* What it took longer than usual. A call that a stop has interrupted returns as no other does: it is as long as others of its site.
 * Computation that does not repeat has lost what it was stopped for. */
static double longer_s(const struct variance *v, const double *usual, const struct fragment *f)
{
	const struct cluster *c = &v->clusters[f->cluster];

	if (c->repeated)
		return f->time_s - c->usual_s;
	if (f->activity == ACTIVITY_COMPUTATION)
		return f->time_s;
	return f->from == FRAGMENT_NO_SITE && !isnan(usual[f->to]) ? f->time_s - usual[f->to] : 0;
}

/* A wait that went on long after the stop was not for it. */
static void stops_blame(const struct variance *v, const double *usual, const struct fragment *f, struct stop *stops, size_t n)
{
	double longer = longer_s(v, usual, f), stopped = 0, end = f->start_s + f->time_s;
	size_t first = stop_at(stops, n, f->start_s);

	for (size_t k = first; k < n && stops[k].from_s < end; k++) {
		stops[k].covered_s = fmax(stops[k].covered_s, in_stop(f, &stops[k]));
		stopped += in_stop(f, &stops[k]);
	}
	if (!(longer > 0) || (f->activity != ACTIVITY_COMPUTATION && stopped < EXPLAINED * longer))
		return;
	for (size_t k = first; k < n && stops[k].from_s < end; k++) {
		double loss = fmin(in_stop(f, &stops[k]), longer);

		if (loss > stops[k].loss_s) {
			stops[k].loss_s = loss;
			stops[k].slowed = f;
		}
	}
}

/* Where nothing was recorded there were more calls than each is recorded of: it was not waiting. */
static bool is_unseen(const struct stop *s)
{
	return s->covered_s < EXPLAINED * s->stopped_s;
}

static struct stretch stretch_of(const struct stop *s, size_t process)
{
	const struct fragment *f = is_unseen(s) ? NULL : s->slowed;
	struct stretch out = { .activity = f ? (enum activity)f->activity : ACTIVITY_COMPUTATION,
			       .member = { .process = process,
					   .from_s = f ? fmax(f->start_s, s->from_s) : s->from_s,
					   .to_s = f ? fmin(f->start_s + f->time_s, s->to_s) : s->to_s,
					   .loss_s = f ? s->loss_s : s->stopped_s,
					   .beside = 1,
					   .fragments = 1 } };

	out.member.loss_s = fmin(out.member.loss_s, out.member.to_s - out.member.from_s);
	out.member.estimated_s = out.member.loss_s;
	out.member.time_s = out.member.to_s - out.member.from_s;
	out.member.expected_s = out.member.time_s - out.member.loss_s;
	return out;
}

/* What makes a process slow as long as it ran says nothing of when, and is no stretch of its own where the stop did most of that. */
static void throughout_drop(const struct stretch *s, struct stretches *all)
{
	size_t kept = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct region_member *m = &all->items[i].member;

		if (!(m->throughout && m->process == s->member.process && s->member.loss_s * m->beside >= EXPLAINED * m->loss_s))
			all->items[kept++] = all->items[i];
	}
	all->n = kept;
}

static bool is_found(const struct stretches *all, const struct stretch *s)
{
	double both = 0;

	for (size_t i = 0; i < all->n; i++)
		if (all->items[i].member.process == s->member.process && !all->items[i].member.throughout)
			both += stretch_overlap(all->items[i].member.from_s, all->items[i].member.to_s, s->member.from_s, s->member.to_s);
	return both >= FOUND * (s->member.to_s - s->member.from_s);
}

static void stretch_join(struct stretch *to, const struct stretch *s)
{
	to->member.to_s = s->member.to_s;
	to->member.time_s += s->member.time_s;
	to->member.expected_s += s->member.expected_s;
	to->member.loss_s += s->member.loss_s;
	to->member.estimated_s += s->member.estimated_s;
	to->member.fragments++;
}

static void found_add(const struct variance *v, const struct stretch *s, struct stretches *all)
{
	if (!s->member.fragments || stats_round(s->member.loss_s) < stats_round(v->least_s) || is_found(all, s))
		return;
	throughout_drop(s, all);
	stretch_add(all, s);
}

/* Those that are no further apart than what is between them are one: who is stopped again and again. */
static void process_stops(const struct variance *v, const double *usual, size_t process, struct stretches *all)
{
	const struct fragment_process *p = &v->fragments.processes[process];
	size_t n;
	struct stop *stops = stops_of(&v->fragments, p, &n);
	struct stretch s = { .member.fragments = 0 };

	for (size_t i = p->first; n && i < p->first + p->n; i++)
		stops_blame(v, usual, &v->fragments.items[i], stops, n);
	for (size_t k = 0; k < n; k++) {
		struct stretch one;

		if (!stops[k].slowed && !is_unseen(&stops[k]))
			continue;
		one = stretch_of(&stops[k], process);
		if (s.member.fragments && one.activity == s.activity &&
		    one.member.from_s - s.member.to_s <= fmax(s.member.to_s - s.member.from_s, v->column_s)) {
			stretch_join(&s, &one);
			continue;
		}
		found_add(v, &s, all);
		s = one;
	}
	found_add(v, &s, all);
	free(stops);
}

void stopped_find(const struct variance *v, struct stretches *all)
{
	double *usual = sites_usual(v);

	for (size_t p = 0; p < v->fragments.n_processes; p++)
		process_stops(v, usual, p, all);
	free(usual);
}

/* Finds the process that a call waited for. For an MPI message, this is the partner. For a collective MPI call, it is the rank that came
 * last, which spent the least time in communication. For pipes and connections, it is the process at the other end. */
#include "gate/variance/waits.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "gate/variance/stretches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define QUERY_OVERLAP_MIN .8 /* minimum common fraction of two intervals for assuming that the same rank came last */
#define MOST_SHARE	  .5 /* minimum fraction of the time, of calls with known partners, that the chosen partner must have */
#define PARTNERS	  .8 /* minimum fraction of recorded calls of a partner; the next recorded call replaces a missing one */

struct window {
	double from_s, to_s;
};

/* Returns the partner of a call on a pipe or connection; END_UNKNOWN if it is unknown or there are several. */
static size_t end_partner(const struct variance *v, const struct fragment *f)
{
	return f->end ? v->fragments.ends[f->end - 1].partner : END_UNKNOWN;
}

static double overlap_s(const struct fragment *f, struct window w)
{
	return fmax(fmin(f->start_s + f->time_s, w.to_s) - fmax(f->start_s, w.from_s), 0);
}

ORDER_LOWER_BOUND(rank_at, struct fragment_process, x->run < run || (x->run == run && x->rank < rank), uint32_t run, int64_t rank)

static size_t process_of_rank(const struct variance *v, uint32_t run, int64_t rank)
{
	const struct fragment_process *p = v->fragments.processes;
	size_t n = v->fragments.n_processes, at = rank_at(p, n, run, rank);

	return at < n && p[at].run == run && p[at].rank == rank ? at : SIZE_MAX;
}

/* Returns the process that came last to a communicator, among the other processes of the run that use it. */
static size_t find_last_rank(const struct variance *v, uint32_t comm, size_t process, struct window w)
{
	size_t last = SIZE_MAX;
	double least = (double)INFINITY;

	for (size_t p = 0; p < v->fragments.n_processes; p++) {
		const struct fragment_process *other = &v->fragments.processes[p];
		double calls = 0;
		bool member = false;

		if (other->run != v->fragments.processes[process].run)
			continue;
		for (size_t i = other->first; p != process && i < other->first + other->n; i++) {
			const struct fragment *f = &v->fragments.items[i];

			member |= f->comm == comm;
			calls += f->activity == ACTIVITY_COMMUNICATION ? overlap_s(f, w) : 0;
		}
		if (member && calls < least) {
			least = calls;
			last = p;
		}
	}
	return last;
}

static bool is_same_query(struct window w, const struct waits_last *last)
{
	double both = fmin(w.to_s, last->to_s) - fmax(w.from_s, last->from_s),
	       either = fmax(w.to_s, last->to_s) - fmin(w.from_s, last->from_s);

	return both >= QUERY_OVERLAP_MIN * either;
}

static size_t last_completed(const struct variance *v, struct waits *known, uint32_t comm, size_t process, struct window w)
{
	uint32_t run = v->fragments.processes[process].run;

	for (size_t i = 0; i < known->n; i++)
		if (known->items[i].run == run && known->items[i].comm == comm && known->items[i].process != process &&
		    is_same_query(w, &known->items[i]))
			return known->items[i].process;
	known->items = mem_grow(known->items, known->n, &known->capacity, sizeof(*known->items));
	known->items[known->n] = (struct waits_last){ comm, w.from_s, w.to_s, run, find_last_rank(v, comm, process, w) };
	return known->items[known->n++].process;
}

ORDER_BY(calls_order, struct waits_call, BY_ASC(begin) BY_ASC(peer))

static void calls_find(const struct variance *v, size_t process, struct waits_calls *out)
{
	const struct fragment_process *p = &v->fragments.processes[process];

	*out = (struct waits_calls){ .items = mem_new(p->n, sizeof(*out->items)) };
	for (size_t i = p->first; i < p->first + p->n; i++) {
		const struct fragment *f = &v->fragments.items[i];

		if (f->activity != ACTIVITY_COMMUNICATION)
			continue;
		out->items[out->n++] = (struct waits_call){ f->start_s, f->peer, end_partner(v, f) };
		out->weight += f->weight;
	}
	qsort(out->items, out->n, sizeof(*out->items), calls_order);
}

static void waits_begin(const struct variance *v, struct waits *known)
{
	if (known->calls)
		return;
	known->calls = mem_new(v->fragments.n_processes, sizeof(*known->calls));
	for (size_t i = 0; i < v->fragments.n_processes; i++)
		calls_find(v, i, &known->calls[i]);
}

ORDER_LOWER_BOUND(call_after, struct waits_call, x->begin <= at_s, double at_s)

/* Returns the number of calls that started up to to_s. */
static size_t count_calls_started_until(const struct waits_calls *calls, double to_s)
{
	return call_after(calls->items, calls->n, to_s);
}

void waits_release(struct waits *waits, const struct variance *v)
{
	for (size_t p = 0; waits->calls && p < v->fragments.n_processes; p++)
		free(waits->calls[p].items);
	mem_free(waits->calls, waits->items);
	*waits = (struct waits){ .n = 0 };
}

size_t waited_for(const struct variance *v, struct waits *known, size_t process, double from_s, double to_s, bool *nobody)
{
	const struct fragment_process *p = &v->fragments.processes[process];
	double *votes = mem_new(v->fragments.n_processes, sizeof(*votes)), all = 0, outside = 0;
	const struct window w = { from_s, to_s };
	size_t most = SIZE_MAX;

	waits_begin(v, known);
	for (size_t i = p->first; i < p->first + p->n; i++) {
		const struct fragment *f = &v->fragments.items[i];
		double time = f->weight * overlap_s(f, w), more = f->time_s - v->clusters[f->cluster].usual_s;
		size_t other = SIZE_MAX;

		if (time <= 0 || f->activity == ACTIVITY_COMPUTATION)
			continue;
		if (f->peer >= 0 && f->peer != p->rank)
			other = process_of_rank(v, p->run, f->peer);
		else if (f->comm && f->collective)
			other = last_completed(v, known, f->comm, process, w);
		else if (f->activity == ACTIVITY_COMMUNICATION && f->peer < 0 && !f->comm && more > 0) {
			time *= more / f->time_s;
			other = end_partner(v, f);
			if (other == END_NOT_RECORDED)
				outside += time;
		}
		if (other >= v->fragments.n_processes || other == process)
			continue;
		all += time;
		votes[other] += time;
	}
	for (size_t i = 0; i < v->fragments.n_processes; i++)
		if (votes[i] > 0 && (most == SIZE_MAX || votes[i] > votes[most]))
			most = i;
	all += outside;
	*nobody = outside > MOST_SHARE * all;
	if (most != SIZE_MAX && votes[most] < MOST_SHARE * all)
		most = SIZE_MAX;
	free(votes);
	return most;
}

/* Returns how long a call waited until `other` started its first call with this process, s. `peer` is the rank of this process; -1 means
 * any call of `other`. Returns 0 if `other` came earlier. */
static double wait_until_start(const struct waits_calls *other, const struct fragment *f, int64_t peer)
{
	size_t i = count_calls_started_until(other, f->start_s), end = count_calls_started_until(other, f->start_s + f->time_s);

	while (i < end && peer >= 0 && other->items[i].peer != peer)
		i++;
	return i < end ? other->items[i].begin - f->start_s : 0;
}

/* Returns how long a call waited until the last call of `other` with `partner` ended the wait, s. */
static double wait_until_end(const struct waits_calls *other, const struct fragment *f, size_t partner)
{
	size_t end = count_calls_started_until(other, f->start_s + f->time_s);

	while (end && other->items[end - 1].partner != partner)
		end--;
	return end ? fmax(other->items[end - 1].begin - f->start_s, 0) : 0;
}

/* Reports whether most calls of a partner were recorded. */
static bool has_known_partner(const struct waits_calls *calls)
{
	return calls->n && (double)calls->n >= PARTNERS * calls->weight;
}

/* Returns how long the process waited in a call, s; NaN if unknown. */
static double waited_s(const struct variance *v, struct waits *known, const struct region_member *m, const struct fragment *f)
{
	const struct fragment_process *p = &v->fragments.processes[m->process];
	size_t other = end_partner(v, f);
	bool named = f->peer >= 0 || (f->comm && f->collective);

	if (other == END_NOT_RECORDED)
		return 0;
	if (f->peer >= 0 && !f->collective)
		other = process_of_rank(v, p->run, f->peer);
	else if (f->comm && f->collective)
		other = last_completed(v, known, f->comm, m->process, (struct window){ m->from_s, m->to_s });
	if (other == SIZE_MAX || other == m->process || !has_known_partner(&known->calls[other]))
		return (double)NAN;
	return named ? wait_until_start(&known->calls[other], f, f->collective ? -1 : p->rank)
		     : wait_until_end(&known->calls[other], f, m->process);
}

/* Reports whether the call names its partner or communicator. */
static bool is_named(const struct fragment *f)
{
	return f->peer >= 0 || f->comm;
}

/* Reports whether the call names its partner or communicator, or reads from a pipe or connection of another recorded process. */
static bool is_known(const struct variance *v, const struct fragment *f)
{
	const char *name = v->fragments.sites[f->to].name;

	return is_named(f) || (end_partner(v, f) < END_NOT_RECORDED && (strncmp(name, "read", 4) == 0 || strncmp(name, "recv", 4) == 0));
}

/* Returns the own loss of items[n], which are of one cluster: their time without waits, minus the usual time. The usual time is the median
 * at other times. */
static double cluster_loss_without_waits(const struct variance *v, struct waits *known, const struct region_member *m,
					 const struct fragment *const *items, size_t n)
{
	size_t others = 0;
	double *usual = mem_new(n, sizeof(*usual)), own = 0, weight = 0, loss = 0;

	for (size_t i = 0; i < n; i++) {
		const struct fragment *f = items[i];
		double part = stretch_overlap_share(f, m->from_s, m->to_s), waited = waited_s(v, known, m, f);

		loss += f->weight * part * (f->time_s - v->clusters[f->cluster].usual_s);
		if (part <= 0 && !isnan(waited))
			usual[others++] = f->time_s - waited;
		weight += f->weight * part;
		own += f->weight * part * (f->time_s - waited);
	}
	if (!isnan(own))
		loss = fmin(loss, own); /* if the process was always slow, there are no other times */
	if (!isnan(own) && others >= VARIANCE_REPEATED_MIN)
		loss = own - weight * stats_median(usual, others);
	free(usual);
	return loss;
}

ORDER_POINTERS_BY(clusters_order, struct fragment, BY_ASC(cluster) BY_ADDRESS)

double waits_own_loss(const struct variance *v, struct waits *known, const struct region_member *m, bool named)
{
	const struct fragment_process *p = &v->fragments.processes[m->process];
	const struct fragment **items;
	double loss = 0;
	size_t n = 0;

	waits_begin(v, known);
	if (!v->fragments.is_one_host)
		return named ? 0 : m->loss_s;
	items = mem_new(p->n, sizeof(*items));
	for (size_t i = p->first; i < p->first + p->n; i++)
		if (v->fragments.items[i].activity == ACTIVITY_COMMUNICATION && v->clusters[v->fragments.items[i].cluster].repeated)
			items[n++] = &v->fragments.items[i];
	qsort(items, n, sizeof(*items), clusters_order);
	for (size_t i = 0, k; i < n; i += k) {
		for (k = 1; i + k < n && items[i + k]->cluster == items[i]->cluster;)
			k++;
		loss += named && !is_known(v, items[i]) ? 0 : cluster_loss_without_waits(v, known, m, items + i, k);
	}
	free(items);
	return fmin(fmax(loss, 0), m->loss_s);
}

/* Whom calls waited for. Those of MPI: the partner of a message; in a collective call the rank that came last, which is the one that spent
 * the least time in communication meanwhile. Others: whoever began a call just before they ended. */
#include "gate/variance/waits.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALIKE	 .8    /* of the time in either of two windows, in both: the same rank came last */
#define MOST	 .5    /* of the time of calls whose partners can be known, for one of them */
#define NOBODY	 .25   /* of that time, less than which is no one's */
#define RECORDED .95   /* of the calls of the others: hardly any was not looked at */
#define JUST	 .05   /* of a call's time: what began so shortly before its end may have ended it, */
#define LEAST_S	 50e-6 /* or so shortly */

struct window {
	double from_s, to_s;
};

static double within(const struct fragment *f, struct window w)
{
	return fmax(fmin(f->start_s + f->time_s, w.to_s) - fmax(f->start_s, w.from_s), 0);
}

/* They are in order of their runs and ranks. */
static size_t process_of_rank(const struct variance *v, uint32_t run, int64_t rank)
{
	const struct fragment_process *p = v->fragments.processes;
	size_t from = 0, to = v->fragments.n_processes;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (p[middle].run < run || (p[middle].run == run && p[middle].rank < rank))
			from = middle + 1;
		else
			to = middle;
	}
	return from < v->fragments.n_processes && p[from].run == run && p[from].rank == rank ? from : SIZE_MAX;
}

/* Of those of its run that ever call with these ranks, but not `process`. */
static size_t last_of(const struct variance *v, uint32_t comm, size_t process, struct window w)
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
			calls += f->activity == ACTIVITY_COMMUNICATION ? within(f, w) : 0;
		}
		if (member && calls < least) {
			least = calls;
			last = p;
		}
	}
	return last;
}

static bool alike(struct window w, const struct waits_last *last)
{
	double both = fmin(w.to_s, last->to_s) - fmax(w.from_s, last->from_s),
	       either = fmax(w.to_s, last->to_s) - fmin(w.from_s, last->from_s);

	return both >= ALIKE * either;
}

static size_t last_known(const struct variance *v, struct waits *known, uint32_t comm, size_t process, struct window w)
{
	uint32_t run = v->fragments.processes[process].run;

	for (size_t i = 0; i < known->n; i++)
		if (known->items[i].run == run && known->items[i].comm == comm && known->items[i].process != process &&
		    alike(w, &known->items[i]))
			return known->items[i].process;
	known->items = mem_grow(known->items, known->n, &known->capacity, sizeof(*known->items));
	known->items[known->n] = (struct waits_last){ comm, w.from_s, w.to_s, run, last_of(v, comm, process, w) };
	return known->items[known->n++].process;
}

static int times_order(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void calls_find(const struct variance *v, size_t process, struct waits_calls *out)
{
	const struct fragment_process *p = &v->fragments.processes[process];

	*out = (struct waits_calls){ .begin = mem_new(p->n, sizeof(double)) };
	for (size_t i = p->first; i < p->first + p->n; i++)
		if (v->fragments.items[i].activity == ACTIVITY_COMMUNICATION) {
			out->begin[out->n++] = v->fragments.items[i].start_s;
			out->weight += v->fragments.items[i].weight;
		}
	qsort(out->begin, out->n, sizeof(*out->begin), times_order);
}

/* How many of them began until then. */
static size_t began_until(const struct waits_calls *calls, double to_s)
{
	size_t from = 0, to = calls->n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (calls->begin[middle] <= to_s)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Did a process end that call, for it began one of its own just before: 1, less the chance that one of those that it began meanwhile was
 * there anyway, or less than 0. */
static double ended_by(const struct waits_calls *calls, const struct fragment *f)
{
	double end = f->start_s + f->time_s, just = fmin(fmax(JUST * f->time_s, LEAST_S), f->time_s);
	size_t before = began_until(calls, f->start_s), last = began_until(calls, end - just), all = began_until(calls, end);

	return (all > last) - (1 - pow(1 - just / f->time_s, (double)(all - before)));
}

/* Of a call that does not say with whom it is, and took so much longer than usual: everybody who may have ended it. Returns `more_s`. */
static double unnamed_vote(const struct variance *v, const struct waits *known, size_t process, const struct fragment *f, double more_s,
			   double *votes)
{
	const struct fragment_process *p = v->fragments.processes;

	for (size_t other = 0; other < v->fragments.n_processes; other++)
		if (other != process && p[other].run == p[process].run && strcmp(p[other].host, p[process].host) == 0)
			votes[other] += more_s * ended_by(&known->calls[other], f);
	return more_s;
}

/* Nearly every call of the others that may have ended one of this process was recorded. */
static bool all_known(const struct variance *v, const struct waits *known, size_t process)
{
	double recorded = 0, all = 0;

	for (size_t other = 0; other < v->fragments.n_processes; other++)
		if (other != process && v->fragments.processes[other].run == v->fragments.processes[process].run) {
			recorded += (double)known->calls[other].n;
			all += known->calls[other].weight;
		}
	return v->fragments.one_host && recorded > 0 && recorded >= RECORDED * all;
}

void waits_release(struct waits *waits, const struct variance *v)
{
	for (size_t p = 0; waits->calls && p < v->fragments.n_processes; p++)
		free(waits->calls[p].begin);
	free(waits->calls);
	free(waits->items);
	*waits = (struct waits){ .n = 0 };
}

size_t waited_for(const struct variance *v, struct waits *known, size_t process, double from_s, double to_s, bool *nobody)
{
	const struct fragment_process *p = &v->fragments.processes[process];
	double *votes = mem_new(v->fragments.n_processes, sizeof(*votes)), all = 0, unnamed = 0;
	const struct window w = { from_s, to_s };
	size_t most = SIZE_MAX;

	if (!known->calls) {
		known->calls = mem_new(v->fragments.n_processes, sizeof(*known->calls));
		for (size_t i = 0; i < v->fragments.n_processes; i++)
			calls_find(v, i, &known->calls[i]);
	}
	for (size_t i = p->first; i < p->first + p->n; i++) {
		const struct fragment *f = &v->fragments.items[i];
		double time = f->weight * within(f, w), more = f->time_s - v->clusters[f->cluster].usual_s;
		size_t other = SIZE_MAX;

		if (time <= 0 || f->activity == ACTIVITY_COMPUTATION)
			continue;
		if (f->peer >= 0 && f->peer != p->rank)
			other = process_of_rank(v, p->run, f->peer);
		else if (f->comm && f->collective)
			other = last_known(v, known, f->comm, process, w);
		else if (f->activity == ACTIVITY_COMMUNICATION && f->peer < 0 && !f->comm && more > 0)
			unnamed += unnamed_vote(v, known, process, f, time * more / f->time_s, votes);
		if (other == SIZE_MAX || other == process)
			continue;
		all += time;
		votes[other] += time;
	}
	for (size_t i = 0; i < v->fragments.n_processes; i++)
		if (votes[i] > 0 && (most == SIZE_MAX || votes[i] > votes[most]))
			most = i;
	all += unnamed;
	*nobody = unnamed > MOST * all && (most == SIZE_MAX || votes[most] < NOBODY * all) && all_known(v, known, process);
	if (most != SIZE_MAX && votes[most] < MOST * all)
		most = SIZE_MAX;
	free(votes);
	return most;
}

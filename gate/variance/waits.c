/* Whom calls of MPI waited for: the partner of a message; in a collective call the rank that came last, which is the one that spent the
 * least time in communication meanwhile. */
#include "gate/variance/waits.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

#define ALIKE .8 /* of the time in either of two windows, in both: the same rank came last */
#define MOST  .5 /* of the time of calls with a known partner, for one of them */

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

size_t waited_for(const struct variance *v, struct waits *known, size_t process, double from_s, double to_s)
{
	const struct fragment_process *p = &v->fragments.processes[process];
	double *votes = mem_new(v->fragments.n_processes, sizeof(*votes)), all = 0;
	const struct window w = { from_s, to_s };
	size_t most = SIZE_MAX;

	for (size_t i = p->first; i < p->first + p->n; i++) {
		const struct fragment *f = &v->fragments.items[i];
		double time = f->weight * within(f, w);
		size_t other = SIZE_MAX;

		if (time <= 0 || f->activity == ACTIVITY_COMPUTATION)
			continue;
		if (f->peer >= 0 && f->peer != p->rank)
			other = process_of_rank(v, p->run, f->peer);
		else if (f->comm && f->collective)
			other = last_known(v, known, f->comm, process, w);
		if (other == SIZE_MAX || other == process)
			continue;
		all += time;
		votes[other] += time;
		if (most == SIZE_MAX || votes[other] > votes[most])
			most = other;
	}
	if (most != SIZE_MAX && votes[most] < MOST * all)
		most = SIZE_MAX;
	free(votes);
	return most;
}

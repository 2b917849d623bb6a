#include "gate/variance/weights.h"

#include "base/mem.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>

#define FEW_STOOD_FOR	  8
#define LIKE_IT		  8 /* on either side, or a quarter of that */
#define NEIGHBOURS_LOOKED 10000u
#define LEFT_LEAST	  .05 /* of a thread's time, for what stands for many */

ORDER_POINTERS_BY(places_order, struct fragment, BY_UP(thread) BY_UP(from) BY_UP(to) BY_PLACE)

static bool same_place(const struct fragment *x, const struct fragment *y)
{
	return x->thread == y->thread && x->from == y->from && x->to == y->to;
}

static bool stand_alone(const struct fragment *items, size_t n)
{
	size_t i = 0;

	while (i < n && items[i].weight <= 1)
		i++;
	return i == n;
}

/* How many neighbours on either side tell how much time there was. Where most are recorded, chance evens out within some dozens: a long one
 * among short ones that stands for two must weigh as two, for of two such ones, one is recorded. */
static size_t neighbours_of(uint32_t weight)
{
	return weight <= FEW_STOOD_FOR ? FEW_STOOD_FOR * (size_t)weight : 1;
}

/* Of at[n], which are of one place: the k-th on one side of at[i] (step: 1 or -1) that is at least half as long; n: there is none near. */
static size_t as_long(struct fragment *const *at, size_t n, size_t i, int step, size_t k)
{
	double least = at[i]->time_s / 2;

	for (size_t looked = 0; looked < NEIGHBOURS_LOOKED && (step > 0 ? i + 1 < n : i > 0); looked++) {
		i = step > 0 ? i + 1 : i - 1;
		if (at[i]->time_s >= least && --k == 0)
			return i;
	}
	return n;
}

/* The most that at[i] can stand for, of at[n] at one place. */
static double most_of_place(const struct fragment_process *p, struct fragment *const *at, size_t n, size_t i)
{
	size_t k = neighbours_of(at[i]->weight);
	bool alike = k == 1 && at[i]->from != FRAGMENT_NO_SITE;
	double from, to;

	for (size_t like = LIKE_IT; alike && like > 1; like /= 4) {
		size_t before = as_long(at, n, i, -1, like), after = as_long(at, n, i, 1, like);

		if (before < n && after < n)
			return (at[after]->start_s - at[before]->start_s) / (2 * (double)like);
	}
	from = i >= k ? at[i - k]->start_s : p->start_s;
	to = i + k < n ? at[i + k]->start_s : p->end_s;
	return fmax(to - from, 0) / 2;
}

/* A fragment stands for others of its place halfway to its neighbours there, and they can have taken no more time than there was: where one
 * of thousands is recorded, one that had to wait for a processor would weigh as if all had. But where others are as long, it stands for
 * such ones: computation that comes after a burst of calls is between many that are short. at[n]: of one place. */
static void place_bound(const struct fragment_process *p, struct fragment *const *at, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double most = most_of_place(p, at, n, i);

		if (at[i]->weight * at[i]->time_s > most)
			at[i]->weight = (uint32_t)fmax(most / at[i]->time_s, 1);
	}
}

/* All that a thread did took no more time than it lived, or little more, for sums are off by chance: timing makes calls longer that take
 * next to nothing. at[n]: of one thread. */
static void thread_bound(struct fragment *const *at, size_t n)
{
	double from = (double)INFINITY, to = 0, few = 0, many = 0, part;

	for (size_t i = 0; i < n; i++) {
		double time = at[i]->weight * at[i]->time_s;

		*(at[i]->weight <= FEW_STOOD_FOR ? &few : &many) += time;
		from = fmin(from, at[i]->start_s);
		to = fmax(to, at[i]->start_s + at[i]->time_s);
	}
	part = fmax(to - from - few, LEFT_LEAST * (to - from)) / many;
	for (size_t i = 0; many > 0 && part < 1 && i < n; i++)
		if (at[i]->weight > FEW_STOOD_FOR)
			at[i]->weight = (uint32_t)fmax(at[i]->weight * part, 1);
}

/* at [p->n]: room to work in. */
static void process_bound(struct fragments *f, const struct fragment_process *p, struct fragment **at)
{
	if (stand_alone(f->items + p->first, p->n))
		return;
	for (size_t i = 0; i < p->n; i++)
		at[i] = &f->items[p->first + i];
	order_sort(at, p->n, places_order);
	for (size_t first = 0, n; first < p->n; first += n) {
		for (n = 1; first + n < p->n && same_place(at[first], at[first + n]);)
			n++;
		place_bound(p, at + first, n);
	}
	for (size_t first = 0, n; first < p->n; first += n) {
		for (n = 1; first + n < p->n && at[first]->thread == at[first + n]->thread;)
			n++;
		thread_bound(at + first, n);
	}
}

void weights_bound(struct fragments *f)
{
	struct fragment **at = mem_new(f->n, sizeof(struct fragment *));

	for (size_t p = 0; p < f->n_processes; p++)
		process_bound(f, &f->processes[p], at);
	free(at);
}

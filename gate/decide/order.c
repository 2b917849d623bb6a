/* The order of repetitions. */
#include "gate/decide/pairing.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TYPES_MIN 3 /* for a standard error over types that means something */

void order_add(struct order_list *list, size_t type, bool turns, const size_t n[2], const int64_t *const repetition[2],
	       const double *const cost[2], bool higher_is_better)
{
	struct order_series *s;

	list->items = mem_grow(list->items, list->n, &list->capacity, sizeof(*list->items));
	s = &list->items[list->n++];
	*s = (struct order_series){ .type = type, .turns = turns };
	for (int side = 0; side < 2; side++) {
		ASSAY_BUG_IF(n[side] == 0);
		s->n[side] = n[side];
		s->repetition[side] = mem_new(n[side], sizeof(int64_t));
		s->log_cost[side] = mem_new(n[side], sizeof(double));
		memcpy(s->repetition[side], repetition[side], n[side] * sizeof(int64_t));
		for (size_t i = 0; i < n[side]; i++)
			s->log_cost[side][i] = higher_is_better ? -log(cost[side][i]) : log(cost[side][i]);
	}
}

void order_release(struct order_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		for (int side = 0; side < 2; side++) {
			free(list->items[i].repetition[side]);
			free(list->items[i].log_cost[side]);
		}
	}
	free(list->items);
	*list = (struct order_list){ 0 };
}

/* ---- the same places? ---- */

static size_t count_of(const struct order_series *s, int side, int64_t repetition)
{
	size_t count = 0;

	for (size_t i = 0; i < s->n[side]; i++)
		count += s->repetition[side][i] == repetition;
	return count;
}

/* Sum over the repetitions of the squared difference of their parts in both sides: 0 when both have the same ones, 1/n + 1/m when none
 * is in both. */
static double imbalance(const struct order_series *s)
{
	double sum = 0;

	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < s->n[side]; i++) {
			int64_t r = s->repetition[side][i];
			double own = (double)count_of(s, side, r) / (double)s->n[side];
			double other = (double)count_of(s, !side, r) / (double)s->n[!side];

			/* Each repetition is met once for every result that has its number, on either side. */
			sum += (own - other) * (own - other) / (double)(count_of(s, side, r) + count_of(s, !side, r));
		}
	}
	return s->turns ? 0 : sum;
}

static int direction_of(const struct order_series *s)
{
	int64_t low[2] = { INT64_MAX, INT64_MAX }, high[2] = { INT64_MIN, INT64_MIN };

	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < s->n[side]; i++) {
			low[side] = s->repetition[side][i] < low[side] ? s->repetition[side][i] : low[side];
			high[side] = s->repetition[side][i] > high[side] ? s->repetition[side][i] : high[side];
		}
	}
	if (s->turns)
		return 0;
	return low[1] > high[0] ? 1 : low[0] > high[1] ? -1 : 0;
}

/* ---- what repetitions of one side do on all types together ---- */

static int order_ascending(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The numbers of a side's repetitions over all series, each once, in ascending order. free() *out. */
static size_t numbers_of(const struct order_list *list, int side, int64_t **out)
{
	size_t all = 0, n = 0;
	int64_t *numbers;

	for (size_t i = 0; i < list->n; i++)
		all += list->items[i].n[side];
	*out = numbers = mem_new(all, sizeof(*numbers));
	for (size_t i = 0, at = 0; i < list->n; at += list->items[i++].n[side])
		memcpy(numbers + at, list->items[i].repetition[side], list->items[i].n[side] * sizeof(*numbers));
	qsort(numbers, all, sizeof(*numbers), order_ascending);
	for (size_t i = 0; i < all; i++) {
		if (i == 0 || numbers[i] != numbers[n - 1])
			numbers[n++] = numbers[i];
	}
	return n;
}

/* How far the repetition's log cost is from the mean of its side in this series; false when the series lacks one of the side's
 * `repetitions`. */
static bool deviation(const struct order_series *s, int side, int64_t repetition, size_t repetitions, double *out)
{
	double own = 0;

	if (s->n[side] != repetitions || count_of(s, side, repetition) != 1)
		return false;
	for (size_t i = 0; i < s->n[side]; i++)
		own += s->repetition[side][i] == repetition ? s->log_cost[side][i] : 0;
	*out = own - stats_mean(s->log_cost[side], s->n[side]);
	return true;
}

/* The mean of a repetition's deviations over the types, squared, and the square of its standard error; false with few types. */
static bool order_common(const struct order_list *list, size_t n_types, int side, int64_t repetition, size_t repetitions, double *squared,
			 double *noise)
{
	double *sum = mem_new(n_types, sizeof(*sum)), *count = mem_new(n_types, sizeof(*count)), d;
	size_t types = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (deviation(&list->items[i], side, repetition, repetitions, &d)) {
			sum[list->items[i].type] += d;
			count[list->items[i].type]++;
		}
	}
	for (size_t t = 0; t < n_types; t++) {
		if (count[t] > 0)
			sum[types++] = sum[t] / count[t];
	}
	if (types >= TYPES_MIN) {
		*squared = stats_mean(sum, types) * stats_mean(sum, types);
		*noise = stats_sd(sum, types) * stats_sd(sum, types) / (double)types;
	}
	free(sum);
	free(count);
	return types >= TYPES_MIN;
}

/* Adds one side's sums of squares, and of what noise alone explains of them; returns the degrees of freedom. */
static double add_side(const struct order_list *list, size_t n_types, int side, double *squares, double *explained)
{
	int64_t *numbers;
	size_t repetitions = numbers_of(list, side, &numbers), used = 0;

	for (size_t k = 0; k < repetitions; k++) {
		double squared, noise;

		if (!order_common(list, n_types, side, numbers[k], repetitions, &squared, &noise))
			continue;
		*squares += squared;
		*explained += noise;
		used++;
	}
	free(numbers);
	return used > 1 ? (double)used - 1 : 0;
}

struct order order_of(const struct order_list *list, size_t n_types)
{
	struct order o = { .series = list->n };
	double unlike = 0, squares = 0, explained = 0, df, variance;
	long direction = 0;

	for (size_t i = 0; i < list->n; i++) {
		double here = imbalance(&list->items[i]);

		o.apart += here > 0;
		unlike += here / (double)list->n;
		direction += direction_of(&list->items[i]);
	}
	o.apart_mostly = 2 * o.apart > list->n;
	if (2 * labs(direction) > (long)list->n)
		o.direction = direction > 0 ? 1 : -1;
	if (!o.apart_mostly)
		return o;
	df = add_side(list, n_types, 0, &squares, &explained) + add_side(list, n_types, 1, &squares, &explained);
	variance = df > 0 ? stats_round((squares - explained) / df) : 0;
	if (variance > 0) {
		o.spread = sqrt(variance);
		o.error = sqrt(variance * unlike);
		o.df = df;
	}
	return o;
}

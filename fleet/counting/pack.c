#include "fleet/counting/pack.h"

#include "base/order.h"

#include <stdlib.h>
#include <string.h>

#define QUESTIONS_MAX 20000

struct bin {
	size_t events[PACK_EVENTS_MAX];
	size_t n;
};

struct search {
	const struct pack_table *table;
	size_t order[PACK_EVENTS_MAX]; /* [n]: those that can be counted, but the base; what conflicts most comes first */
	size_t n;
	size_t base;
	struct bin bins[PACK_EVENTS_MAX];
	size_t n_bins;
	size_t choice[PACK_EVENTS_MAX]; /* bin of order[i] */
	size_t best[PACK_EVENTS_MAX];
	size_t n_best;
	long questions;
};

static bool bin_fits(struct search *s, struct bin *bin, size_t event)
{
	s->questions++;
	bin->events[bin->n] = event; /* not yet its own: n stays */
	return s->table->fits(s->table, bin->events, bin->n + 1);
}

static void open_bin(struct search *s)
{
	struct bin *bin = &s->bins[s->n_bins++];

	bin->n = 0;
	if (s->base != PACK_NONE)
		bin->events[bin->n++] = s->base;
}

static void bin_put(struct search *s, size_t at, size_t bin)
{
	s->bins[bin].events[s->bins[bin].n++] = s->order[at];
	s->choice[at] = bin;
}

static void keep_best(struct search *s)
{
	memcpy(s->best, s->choice, sizeof(s->best));
	s->n_best = s->n_bins;
}

static void first_fit(struct search *s)
{
	for (size_t i = 0; i < s->n; i++) {
		size_t bin = 0;

		while (bin < s->n_bins && !bin_fits(s, &s->bins[bin], s->order[i]))
			bin++;
		if (bin == s->n_bins)
			open_bin(s);
		bin_put(s, i, bin);
	}
	keep_best(s);
}

/* Everything from order[at] on, in fewer bins than the best so far. New bins are opened in order, so no arrangement is tried twice under
 * other numbers. */
static void search_fewer(struct search *s, size_t at)
{
	if (at == s->n) {
		keep_best(s);
		return;
	}
	for (size_t bin = 0; bin <= s->n_bins && bin + 1 < s->n_best; bin++) {
		bool opened = bin == s->n_bins;

		if (s->questions >= QUESTIONS_MAX)
			return;
		if (opened)
			open_bin(s);
		if (bin_fits(s, &s->bins[bin], s->order[at])) {
			bin_put(s, at, bin);
			search_fewer(s, at + 1);
			s->bins[bin].n--;
		}
		if (opened) {
			s->n_bins--;
			return;
		}
	}
}

struct weight {
	size_t event, conflicts;
};

ORDER_BY(by_conflicts, struct weight, BY_DOWN(conflicts) BY_UP(event))

static void find_order(struct search *s, size_t n)
{
	struct weight weights[PACK_EVENTS_MAX];
	struct bin bin;

	for (size_t i = 0; i < n; i++) {
		bin.n = 0;
		if (s->base != PACK_NONE)
			bin.events[bin.n++] = s->base;
		if (i != s->base && bin_fits(s, &bin, i))
			weights[s->n++] = (struct weight){ i, 0 };
	}
	for (size_t i = 0; i < s->n; i++) {
		for (size_t k = i + 1; k < s->n; k++) {
			bin.n = s->base != PACK_NONE; /* still its first event */
			bin.events[bin.n++] = weights[i].event;
			if (!bin_fits(s, &bin, weights[k].event)) {
				weights[i].conflicts++;
				weights[k].conflicts++;
			}
		}
	}
	qsort(weights, s->n, sizeof(weights[0]), by_conflicts);
	for (size_t i = 0; i < s->n; i++)
		s->order[i] = weights[i].event;
}

static bool base_counts(const struct pack_table *table, size_t base)
{
	return base == PACK_NONE || table->fits(table, &base, 1);
}

void pack_events(const struct pack_table *table, size_t n, size_t base, struct pack *out)
{
	struct search *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	*out = (struct pack){ .fewest = true };
	if (base_counts(table, base)) {
		*s = (struct search){ .table = table, .base = base };
		find_order(s, n);
		first_fit(s);
		s->questions = 0;
		s->n_bins = 0;
		if (s->n_best > 1)
			search_fewer(s, 0);
		out->fewest = s->questions < QUESTIONS_MAX;
		for (size_t i = 0; i < s->n; i++)
			out->run[s->order[i]] = s->best[i] + 1;
		out->runs = s->n_best;
		if (base != PACK_NONE) {
			out->run[base] = 1;
			out->runs = out->runs ? out->runs : 1;
		}
	}
	free(s);
}

#include "gate/detect/observe_internal.h"

#include "base/mem.h"
#include "gate/detect/counters.h"
#include "runs/inside/changes/functions.h"

#include <math.h>
#include <string.h>

/* ---- names of functions ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void observe_names_add(struct observe_names *names, const char *symbol)
{
	names->items = mem_grow(names->items, names->n, &names->capacity, sizeof(names->items[0]));
	names->items[names->n++] = mem_bytes(symbol, functions_stem(symbol));
}

void observe_names_sort(struct observe_names *names)
{
	size_t kept = 0;

	if (names->n)
		qsort(names->items, names->n, sizeof(names->items[0]), by_text);
	for (size_t i = 0; i < names->n; i++) {
		if (kept && strcmp(names->items[kept - 1], names->items[i]) == 0)
			free(names->items[i]);
		else
			names->items[kept++] = names->items[i];
	}
	names->n = kept;
}

/* SIZE_MAX: not there. */
size_t observe_names_find(const struct observe_names *names, const char *symbol)
{
	char *stem = mem_bytes(symbol, functions_stem(symbol));
	const char *key = stem;
	char **found = names->n ? bsearch(&key, names->items, names->n, sizeof(names->items[0]), by_text) : NULL;

	free(stem);
	return found ? (size_t)(found - names->items) : SIZE_MAX;
}

void observe_names_release(struct observe_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->items[i]);
	free(names->items);
	*names = (struct observe_names){ .items = NULL };
}

/* Functions that a side has samples of. */
void observe_names_of(const struct side *side, struct observe_names *out)
{
	for (size_t r = 0; r < side->n; r++) {
		for (size_t f = 0; f < side->runs[r].n_files; f++) {
			const struct samples *s = &side->runs[r].files[f];

			for (size_t k = 0; k < s->n_functions; k++)
				if (s->functions[k].n)
					observe_names_add(out, s->functions[k].name);
		}
		observe_names_sort(out); /* of each run, so that the list stays short */
	}
}

static bool any_estimated(const struct samples *s, const struct samples_function *function)
{
	for (size_t i = function->first; i < function->first + function->n; i++)
		if (s->items[i].estimated)
			return true;
	return false;
}

void observe_names_of_estimated(const struct side *side, struct observe_names *out)
{
	for (size_t r = 0; r < side->n; r++) {
		for (size_t f = 0; f < side->runs[r].n_files; f++) {
			const struct samples *s = &side->runs[r].files[f];

			for (size_t k = 0; k < s->n_functions; k++)
				if (any_estimated(s, &s->functions[k]))
					observe_names_add(out, s->functions[k].name);
		}
		observe_names_sort(out);
	}
}

/* ---- how much each does ---- */

/* About how long work takes, and waiting for lines that other threads have changed (counters.h), so that little work with much contention is not little;
 * 0 for all else: what a thread misses, allocates and asks the system for once, at its beginning, would count in short runs. costs[n_counters]. */
static double *costs_of(const struct samples *s)
{
	double *costs = mem_new(s->n_counters, sizeof(double));

	for (size_t c = 0; c < s->n_counters; c++) {
		struct counter_about about = counter_about(s->back_end, s->counters[c]);
		bool shares = about.trouble == TROUBLE_FALSE_SHARING || about.trouble == TROUBLE_TRUE_SHARING || about.trouble == TROUBLE_SHARING;

		costs[c] = about.role == COUNTER_WORK || shares ? about.cost_ns : 0;
	}
	return costs;
}

/* By what it costs (costs), or by time where there is no work (NULL). */
static struct observe_share done_by(const struct samples *s, size_t item, const double *costs)
{
	const double *alone = s->alone + item * s->n_counters, *nested = s->values + item * s->n_counters;
	struct observe_share done = { costs ? 0 : s->items[item].alone_ns, costs ? 0 : s->items[item].ns };

	for (size_t c = 0; costs && c < s->n_counters; c++) {
		done.alone += isnan(alone[c]) ? 0 : costs[c] * fmax(alone[c], 0);
		done.nested += isnan(nested[c]) ? 0 : costs[c] * fmax(nested[c], 0);
	}
	done.alone = isnan(done.alone) ? 0 : done.alone * s->items[item].weight;
	done.nested = isnan(done.nested) ? 0 : done.nested * s->items[item].weight;
	return done;
}

static bool has_work(const struct side *side)
{
	size_t counters[SAMPLES_WORK_MAX];

	for (size_t f = 0; f < side->runs[0].n_files; f++)
		if (samples_work(&side->runs[0].files[f], counters))
			return true;
	return false;
}

/* Adds a file to share[names->n]; returns what it did. */
static double shares_add(const struct samples *s, bool by_work, const struct observe_names *names, struct observe_share *share)
{
	double *costs = by_work ? costs_of(s) : NULL, all = 0;

	for (size_t k = 0; k < s->n_functions; k++) {
		size_t name = s->functions[k].n ? observe_names_find(names, s->functions[k].name) : SIZE_MAX;

		for (size_t i = s->functions[k].first; i < s->functions[k].first + s->functions[k].n; i++) {
			struct observe_share done = done_by(s, i, costs);

			all += done.alone;
			if (name == SIZE_MAX)
				continue;
			share[name].alone += done.alone;
			share[name].nested += done.nested;
		}
	}
	free(costs);
	return all;
}

/* share[names->n] is overwritten. */
void observe_shares(const struct side *side, const struct observe_names *names, struct observe_share *share)
{
	bool by_work = has_work(side);
	double all = 0;

	memset(share, 0, names->n * sizeof(share[0]));
	for (size_t r = 0; r < side->n; r++)
		for (size_t f = 0; f < side->runs[r].n_files; f++)
			all += shares_add(&side->runs[r].files[f], by_work, names, share);
	for (size_t i = 0; i < names->n && all > 0; i++) {
		share[i].alone /= all;
		share[i].nested /= all;
	}
}

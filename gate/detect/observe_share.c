/* Computes the part of each function in the work of a side. */
#include "gate/detect/observe.h"

#include "base/mem.h"
#include "gate/detect/counters.h"

#include <math.h>
#include <string.h>

/* Returns the approximate cost of each counter, ns (counters.h): of work, of waiting for lines that other threads changed, and of system
 * calls, so that little work with many of these is not little. Others are 0: first misses and allocations of a thread would count too much
 * in short runs. costs[2 * n_counters]: these, then those of all counters that cost anything. */
static double *shares_costs(const struct samples *s)
{
	double *costs = mem_new(2 * s->n_counters, sizeof(double));

	for (size_t c = 0; c < s->n_counters; c++) {
		struct counter_about about = counter_about(s->back_end, s->counters[c]);
		bool counts = about.role == COUNTER_WORK || about.trouble == TROUBLE_FALSE_SHARING ||
			      about.trouble == TROUBLE_TRUE_SHARING || about.trouble == TROUBLE_SHARING ||
			      about.trouble == TROUBLE_SYSTEM_CALLS;

		costs[c] = counts ? about.cost_ns : 0;
		costs[s->n_counters + c] = about.role == COUNTER_EFFECT ? 0 : about.cost_ns;
	}
	return costs;
}

/* Returns x, or 0 if it is below 0 or not counted. */
static double above_zero(double x)
{
	return x > 0 ? x : 0;
}

/* Returns the work of a sample: by `costs`, or by time if costs is NULL. */
static struct observe_share shares_done(const struct samples *s, size_t item, const double *costs)
{
	const double *alone = s->alone + item * s->n_counters, *nested = s->values + item * s->n_counters;
	double time_ns = s->items[item].alone_ns, weight = s->items[item].weight;
	struct observe_share done = { costs ? 0 : time_ns, costs ? 0 : s->items[item].ns, costs ? 0 : time_ns };

	for (size_t c = 0; costs && c < s->n_counters; c++) {
		done.alone += costs[c] * above_zero(alone[c]);
		done.nested += costs[c] * above_zero(nested[c]);
		done.own_ns += costs[s->n_counters + c] * above_zero(alone[c]);
	}
	done.alone = isnan(done.alone) ? 0 : done.alone * weight;
	done.nested = isnan(done.nested) ? 0 : done.nested * weight;
	done.own_ns = isnan(done.own_ns) ? 0 : done.own_ns * weight;
	return done;
}

/* Returns the work of a function in a file: its own by all its calls, if that is known, else by the samples. */
static struct observe_share shares_function(const struct samples *s, size_t function, const double *costs)
{
	const struct samples_function *f = &s->functions[function];
	struct observe_share done = { 0, 0, 0 };
	struct samples_total total;
	double alone = 0;

	for (size_t i = f->first; i < f->first + f->n; i++) {
		struct observe_share one = shares_done(s, i, costs);

		done.alone += one.alone;
		done.nested += one.nested;
		done.own_ns += one.own_ns;
	}
	if (!costs || !observe_total_known(s, function))
		return done;
	samples_total_find(s, function, &total);
	for (size_t c = 0; c < s->n_counters; c++)
		alone += isnan(total.sums[c]) ? 0 : costs[c] * total.sums[c];
	samples_total_release(&total);
	return (struct observe_share){ alone, fmax(alone, done.nested), done.own_ns };
}

/* Adds a file to share[names->n]; returns the work of the file. */
static double shares_add(const struct samples *s, bool by_work, const struct stems *names, struct observe_share *share)
{
	double *costs = by_work ? shares_costs(s) : NULL, all = 0;

	for (size_t k = 0; k < s->n_functions; k++) {
		size_t name = stems_find(names, s->functions[k].name);
		struct observe_share done = shares_function(s, k, costs);

		all += done.alone;
		if (name == SIZE_MAX)
			continue;
		share[name].alone += done.alone;
		share[name].nested += done.nested;
		share[name].own_ns += done.own_ns;
	}
	free(costs);
	return all;
}

double observe_shares(const struct side *side, const struct stems *names, struct observe_share *share)
{
	bool by_work = side_has_work(side);
	double all = 0;

	memset(share, 0, names->n * sizeof(share[0]));
	for (size_t r = 0; r < side->n; r++)
		for (size_t f = 0; f < side->runs[r].n_files; f++)
			all += shares_add(&side->runs[r].files[f], by_work, names, share);
	for (size_t i = 0; i < names->n && all > 0; i++) {
		share[i].alone /= all;
		share[i].nested /= all;
	}
	return all;
}

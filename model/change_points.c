#include "model/change_points.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NOISE_MIN	   1e-6 /* lower limit of the noise; smaller values are rounding errors */
#define POWER_Z		   .84	/* quantile of the standard normal distribution at 0.8, for power 0.8 */
#define MODES_POINTS	   8	/* minimum number of points, or groups, of a segment with two modes */
#define MODES_PART	   .2	/* minimum share of points on each of two levels; fewer points are spikes */
#define MODES_DISTANCE	   5.0	/* minimum distance between two levels, in standard deviations of either */
#define MODES_ALTERNATIONS .5	/* minimum number of switches between two levels, relative to chance */
#define MODES_RETURNS	   3	/* minimum number of switches; two switches are a change that was undone */

/* ---- the penalty ---- */

/* Simulated quantiles, over series of n independent normal points, of the largest penalty at which a change is found. The unit is the
 * squared noise. The quantiles vary slowly with n. `bench_change_points --calibrate` computed them. */
static const struct {
	double n, at_100, at_1000; /* quantiles that one series in 100, and one in 1000, exceeds */
} penalties[] = {
	{ 6, 26.9, 96.6 },  { 7, 23.9, 67.6 },	{ 8, 23.9, 58.7 },  { 10, 19.9, 42.0 }, { 12, 17.8, 33.4 },
	{ 16, 15.5, 25.8 }, { 24, 14.1, 21.9 }, { 40, 13.3, 19.9 }, { 80, 13.0, 18.2 }, { 200, 13.3, 17.3 },
};

/* ---- best partition ---- */

struct finder {
	const double *x; /* [n] points of the series */
	size_t n;
	const struct change_points_options *options;
	bool *spike; /* [n] true for spikes, which the search ignores */
	size_t n_kept;
	double noise;
	size_t *changes; /* [n_changes] index of each segment's first point, except the first segment's; ascending */
	size_t n_changes;
};

static bool in_one_group(const struct finder *f, size_t i, size_t j)
{
	return f->options->groups && f->options->groups[i] == f->options->groups[j];
}

static bool is_known(const struct finder *f, size_t i)
{
	return f->options->known && f->options->known[i];
}

/* Sets n_kept and the noise, the standard deviation of one point. It comes from the median difference of neighbours, because a few changes
 * or spikes hardly affect a median. */
static void find_noise(struct finder *f)
{
	double *steps = mem_new(f->n + 1, sizeof(*steps)), last = 0;

	f->n_kept = 0;
	for (size_t i = 0; i < f->n; i++) {
		if (f->spike[i])
			continue;
		steps[f->n_kept++] = fabs(f->x[i] - last); /* steps[0] is not a difference, and is not used */
		last = f->x[i];
	}
	f->noise = NOISE_MIN;
	if (f->n_kept > 1)
		f->noise = fmax(f->noise, 1.4826 * stats_median(steps + 1, f->n_kept - 1) / sqrt(2.0));
	free(steps);
}

/* Returns the penalty per change, in squares of the noise: the option, or a number from the table, interpolated in log n and log level. */
static double choose_penalty(const struct finder *f)
{
	double n = (double)f->n_kept, level = f->options->level > 0 ? f->options->level : CHANGE_POINTS_LEVEL;
	double log_level = log(CHANGE_POINTS_LEVEL / level) / log(10), part, quantiles[2];
	size_t i = 1, last = sizeof(penalties) / sizeof(penalties[0]) - 1;

	if (f->options->penalty > 0 || f->n_kept < CHANGE_POINTS_MIN)
		return f->n_kept < CHANGE_POINTS_MIN ? (double)INFINITY : f->options->penalty;
	while (i < last && penalties[i].n < n)
		i++;
	part = fmin(log(n / penalties[i - 1].n) / log(penalties[i].n / penalties[i - 1].n), 1);
	quantiles[0] = penalties[i - 1].at_100 * pow(penalties[i].at_100 / penalties[i - 1].at_100, part);
	quantiles[1] = penalties[i - 1].at_1000 * pow(penalties[i].at_1000 / penalties[i - 1].at_1000, part);
	return quantiles[0] * pow(quantiles[1] / quantiles[0], log_level);
}

/* Finds the best changes for the present noise; with `groups`, none within a group. Returns the standard deviation of the points from the
 * levels; 0 if there are too few points. */
static double partition_at(struct finder *f, bool groups)
{
	size_t n = f->n, *from = mem_new(n + 1, sizeof(*from)), *kept = mem_new(n + 1, sizeof(*kept)), i = 0;
	double *best = mem_new(n + 1, sizeof(*best)), *sum = mem_new(n + 1, sizeof(*sum)), *squares = mem_new(n + 1, sizeof(*squares));
	double penalty = choose_penalty(f) * f->noise * f->noise, middle = stats_median(f->x, n), left;

	for (size_t t = 1; t <= n; t++) {
		double y = f->spike[t - 1] ? 0 : f->x[t - 1] - middle;

		kept[t] = kept[t - 1] + !f->spike[t - 1];
		sum[t] = sum[t - 1] + y;
		squares[t] = squares[t - 1] + y * y;
		best[t] = (double)INFINITY;
		if (groups && t < n && in_one_group(f, t - 1, t))
			continue;
		for (size_t s = t; s-- > 0;) {
			bool known = s > 0 && is_known(f, s);
			double total = sum[t] - sum[s], cost = best[s] + (s == 0 || known ? 0 : penalty) + squares[t] - squares[s];

			if (kept[t] > kept[s])
				cost -= total * total / (double)(kept[t] - kept[s]);
			if (cost < best[t]) {
				best[t] = cost;
				from[t] = s;
			}
			if (known)
				break;
		}
	}
	f->n_changes = 0;
	left = best[n];
	for (size_t t = from[n]; t > 0; t = from[t]) {
		f->n_changes++;
		left -= is_known(f, t) ? 0 : penalty;
	}
	for (size_t t = from[n]; t > 0; t = from[t])
		f->changes[f->n_changes - ++i] = t;
	mem_free(from, kept, best, sum, squares);
	return f->n_kept > f->n_changes + 1 && left > 0 ? sqrt(left / (double)(f->n_kept - f->n_changes - 1)) : 0;
}

/* Finds the changes. Raises the noise to the deviation from the levels until it is stable: slow waves hardly change neighbours'
 * differences. */
static void partition(struct finder *f, bool groups)
{
	find_noise(f);
	for (double left; (left = partition_at(f, groups)) > f->noise * (1 + 1e-9);)
		f->noise = left;
}

static size_t segment_end(const struct finder *f, size_t segment, size_t n)
{
	return segment < f->n_changes ? f->changes[segment] : n;
}

/* ---- spikes ---- */

static size_t first_unignored_point(const struct finder *f, size_t i)
{
	while (i < f->n && f->spike[i])
		i++;
	return i;
}

/* Marks the only point of a segment as a spike if it is above, or below, the points on both sides; at the start of the series, always.
 * Skips the last segment. Reports whether it marked any. */
static bool find_spikes(struct finder *f)
{
	bool any = false;

	for (size_t k = 0, begin = 0; k < f->n_changes; begin = f->changes[k++]) {
		size_t i = first_unignored_point(f, begin), end = f->changes[k], before = begin;

		if (first_unignored_point(f, i + 1) < end || is_known(f, i))
			continue;
		while (before > 0 && f->spike[before - 1])
			before--;
		if (before == 0 || (f->x[i] - f->x[before - 1]) * (f->x[i] - f->x[end]) > 0)
			any = f->spike[i] = true;
	}
	return any;
}

/* ---- modes ---- */

/* Reports whether x alternates across `between` from group to group, or from point to point if a group has points on both sides. */
static bool is_alternating(const struct finder *f, size_t begin, size_t end, double between, bool groups)
{
	size_t n = 0, high = 0, switches = 0;
	double k;

	for (size_t i = begin; i < end; i++) {
		bool is_high = f->x[i] > between, switched = i > begin && is_high != (f->x[i - 1] > between);

		if (groups && i > begin && in_one_group(f, i - 1, i)) {
			if (switched)
				return is_alternating(f, begin, end, between, false);
			continue;
		}
		n++;
		high += is_high;
		switches += switched;
	}
	k = (double)high;
	return n >= MODES_POINTS && fmin(k, (double)n - k) >= MODES_PART * (double)n && switches >= MODES_RETURNS &&
	       (double)switches >= MODES_ALTERNATIONS * 2.0 * k * ((double)n - k) / (double)n;
}

bool change_points_find_clusters(const double *x, size_t n, double heaps[2], double *between)
{
	size_t least = (size_t)ceil(MODES_PART * (double)n), gap = 0;
	double *sorted = mem_new(n + 1, sizeof(*sorted)), widest = -1;
	bool found = false;

	memcpy(sorted, x, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), stats_compare);
	for (size_t i = least; n >= MODES_POINTS && i + least <= n; i++) {
		if (sorted[i] - sorted[i - 1] > widest) {
			widest = sorted[i] - sorted[i - 1];
			gap = i;
		}
	}
	if (gap > 0) {
		double within = fmax(stats_sd(sorted, gap), stats_sd(sorted + gap, n - gap));

		heaps[0] = stats_median(sorted, gap);
		heaps[1] = stats_median(sorted + gap, n - gap);
		*between = sorted[gap - 1] + widest / 2.0;
		found = heaps[1] - heaps[0] > MODES_DISTANCE * within && widest > within;
	}
	free(sorted);
	return found;
}

/* Finds the two levels between which the points of a segment alternate. If they do not alternate, returns false and sets `modes` to NaN. */
static bool find_modes(const struct finder *f, size_t begin, size_t end, double modes[2])
{
	double between;

	if (change_points_find_clusters(f->x + begin, end - begin, modes, &between) && is_alternating(f, begin, end, between, true))
		return true;
	modes[0] = modes[1] = (double)NAN;
	return false;
}

static void drop_changes(struct finder *f, size_t first, size_t n)
{
	memmove(f->changes + first, f->changes + first + n, (f->n_changes - first - n) * sizeof(*f->changes));
	f->n_changes -= n;
}

/* Removes the changes within alternating stretches. Of the stretches that start at one segment, the longest counts. */
static void join_modes(struct finder *f)
{
	double modes[2];

	for (size_t k = 0, begin = 0; k < f->n_changes; begin = segment_end(f, k++, f->n)) {
		size_t longest = 0;

		for (size_t n = 1; k + n <= f->n_changes && !is_known(f, f->changes[k + n - 1]); n++)
			if (find_modes(f, begin, segment_end(f, k + n, f->n), modes))
				longest = n;
		drop_changes(f, k, longest);
	}
}

/* ---- levels ---- */

/* Returns the median of the points of a segment, excluding spikes. If all points are spikes, returns the median of all. */
static double segment_median(const struct finder *f, size_t begin, size_t end)
{
	double *y = mem_new(end - begin + 1, sizeof(*y)), median;
	size_t n = 0;

	for (size_t i = begin; i < end; i++)
		if (!f->spike[i])
			y[n++] = f->x[i];
	median = n ? stats_median(y, n) : stats_median(f->x + begin, end - begin);
	free(y);
	return median;
}

/* Removes changes smaller than min_effect, smallest first. Never joins levels that differ by more, so that a slow drift remains. */
static void join_levels(struct finder *f)
{
	struct level {
		double low, high, median;
	} *levels = mem_new(f->n_changes + 1, sizeof(*levels)), *l;

	for (size_t k = 0, begin = 0; k <= f->n_changes; begin = segment_end(f, k++, f->n))
		levels[k].low = levels[k].high = levels[k].median = segment_median(f, begin, segment_end(f, k, f->n));
	for (;;) {
		size_t best = SIZE_MAX;
		double size = (double)INFINITY;

		for (size_t k = 0; k < f->n_changes; k++) {
			l = &levels[k];
			if (!is_known(f, f->changes[k]) && fabs(l[1].median - l[0].median) < size &&
			    fmax(l[0].high, l[1].high) - fmin(l[0].low, l[1].low) < f->options->min_effect) {
				size = fabs(l[1].median - l[0].median);
				best = k;
			}
		}
		if (best == SIZE_MAX)
			break;
		drop_changes(f, best, 1);
		l = &levels[best];
		*l = (struct level){ fmin(l[0].low, l[1].low), fmax(l[0].high, l[1].high),
				     segment_median(f, best ? f->changes[best - 1] : 0, segment_end(f, best, f->n)) };
		memmove(l + 1, l + 2, (f->n_changes - best) * sizeof(*l));
	}
	free(levels);
}

/* ---- the whole search ---- */

/* Turns a change at the last point into a spike, because later points must confirm the change. Reports whether there was one. */
static bool mark_open(struct finder *f)
{
	size_t last = f->n - 1;

	if (!f->n_changes || f->changes[f->n_changes - 1] < last || is_known(f, last))
		return false;
	f->n_changes--;
	return f->spike[last] = true;
}

static void fill_result(const struct finder *f, size_t skipped, struct change_points *out)
{
	out->n = f->n_changes;
	out->items = mem_new(f->n_changes + 1, sizeof(*out->items));
	out->segments = mem_new(f->n_changes + 1, sizeof(*out->segments));
	out->spikes = mem_new(f->n + 1, sizeof(*out->spikes));
	for (size_t k = 0, begin = 0; k <= f->n_changes; k++) {
		size_t end = segment_end(f, k, f->n);
		struct change_points_segment *s = &out->segments[k];
		bool modes = find_modes(f, begin, end, s->modes);

		s->begin = begin + skipped;
		s->end = end + skipped;
		s->median = end > begin ? segment_median(f, begin, end) : 0;
		if (k > 0)
			out->items[k - 1] = (struct change_point){ s->begin, out->segments[k - 1].median, s->median };
		for (; begin < end; begin++)
			if (f->spike[begin] && (!modes || (out->last_is_spike && begin + 1 == f->n)))
				out->spikes[out->n_spikes++] = begin + skipped;
	}
}

void change_points_find(const double *x, size_t n, const struct change_points_options *options, struct change_points *out)
{
	size_t skipped = n > CHANGE_POINTS_MAX ? n - CHANGE_POINTS_MAX : 0;
	struct change_points_options rest = *options;
	struct finder f = { .x = x + skipped, .n = n - skipped, .options = &rest };
	double modes[2];
	bool known = false;

	*out = (struct change_points){ .n = 0 };
	if (options->groups)
		rest.groups += skipped;
	if (options->known)
		rest.known += skipped;
	f.spike = mem_new(f.n + 1, sizeof(*f.spike));
	f.changes = mem_new(f.n + 1, sizeof(*f.changes));
	for (size_t i = 0; i < f.n; i++)
		known = known || is_known(&f, i);
	if (f.n > 0) {
		find_noise(&f);
		if (known || !find_modes(&f, 0, f.n, modes)) {
			do
				partition(&f, false);
			while (find_spikes(&f));
			partition(&f, true);
		}
		join_modes(&f);
		join_levels(&f);
		out->last_is_spike = mark_open(&f);
	}
	out->detectable_difference = (double)INFINITY;
	if (f.n_kept >= CHANGE_POINTS_MIN)
		out->detectable_difference = f.noise * (sqrt(choose_penalty(&f)) + POWER_Z) * 2.0 / sqrt((double)f.n_kept);
	fill_result(&f, skipped, out);
	mem_free(f.spike, f.changes);
}

void change_points_release(struct change_points *changes)
{
	mem_free(changes->items, changes->spikes, changes->segments);
	*changes = (struct change_points){ 0 };
}

#include "model/change_points.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PERMUTATIONS	999
#define LEVEL		.01
#define SPIKE_REACH	3   /* points on either side that a spike is compared with */
#define SPIKE_DEVIATION 5.0 /* as many times the median deviation of neighbours, brought to that of a normal distribution */
#define MODES_POINTS	8   /* that two modes take at least, */
#define MODES_PART	.2  /* so much of them each, */
#define MODES_APART	5.0 /* as many times the deviation within either, */
#define MODES_MIXED	.5  /* and so much as chance would change between them */

/* ---- one division ---- */

/* Sums of distances, kept while the border moves. */
struct border {
	double within[2], between;
};

/* The distance of two samples by their distances: what their union has more between them than within them, by their sizes. */
static double energy(const struct border *b, size_t left, size_t n)
{
	double m = (double)left, k = (double)(n - left);

	return m * k / (m + k) * (2.0 * b->between / (m * k) - b->within[0] / (m * (m - 1.0) / 2.0) - b->within[1] / (k * (k - 1.0) / 2.0));
}

/* The best border of x[n] in this order; its value in *best. Sorting would make it O(n log n); series are short. */
static size_t divide(const double *x, const size_t *order, size_t n, double *best)
{
	struct border b = { { 0, 0 }, 0 };
	size_t at = 0;

	*best = -(double)INFINITY;
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			b.within[1] += fabs(x[order[i]] - x[order[j]]);
	for (size_t left = 1; left + CHANGE_POINTS_SEGMENT_MIN <= n; left++) {
		double moved = x[order[left - 1]], to_left = 0, to_right = 0, value;

		for (size_t i = 0; i + 1 < left; i++)
			to_left += fabs(x[order[i]] - moved);
		for (size_t i = left; i < n; i++)
			to_right += fabs(x[order[i]] - moved);
		b.within[0] += to_left;
		b.within[1] -= to_right;
		b.between += to_right - to_left;
		if (left < CHANGE_POINTS_SEGMENT_MIN)
			continue;
		value = energy(&b, left, n);
		if (value > *best * (1 + 1e-12) || *best < 0) {
			*best = value;
			at = left;
		}
	}
	return at;
}

/* How often chance divides as well; stops when that is more often than the level allows. */
static double test(const double *x, size_t n, double found, double level, struct rng *rng)
{
	size_t *order = mem_new(n, sizeof(*order)), as_well = 0, tried = 0;

	for (size_t i = 0; i < n; i++)
		order[i] = i;
	while (tried < PERMUTATIONS && (double)(as_well + 1) <= level * (PERMUTATIONS + 1)) {
		double value;

		rng_shuffle(rng, order, n);
		divide(x, order, n, &value);
		as_well += value >= found * (1 - 1e-12);
		tried++;
	}
	free(order);
	return (double)(as_well + 1) / (double)(tried + 1);
}

/* ---- all of them ---- */

struct search {
	const double *x; /* without spikes */
	const struct change_points_options *options;
	double level;
	struct change_point *found;
	size_t n;
};

static double median_of(const double *x, size_t n)
{
	double *sorted = mem_new(n, sizeof(*sorted)), median;

	memcpy(sorted, x, n * sizeof(*sorted));
	median = stats_median(sorted, n);
	free(sorted);
	return median;
}

/* The seed is the place's, so that a division does not depend on what was found before it. */
static void search(struct search *s, size_t begin, size_t end)
{
	size_t n = end - begin, *order, at;
	struct rng rng;
	double value, p;

	if (n < 2 * CHANGE_POINTS_SEGMENT_MIN)
		return;
	order = mem_new(n, sizeof(*order));
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	at = divide(s->x + begin, order, n, &value);
	free(order);
	rng_seed(&rng, s->options->seed ^ ((uint64_t)begin << 32) ^ end);
	if (!(value > 0) || (p = test(s->x + begin, n, value, s->level, &rng)) > s->level)
		return;
	search(s, begin, begin + at);
	s->found[s->n++] = (struct change_point){ .at = begin + at, .p = p };
	search(s, begin + at, end);
}

static size_t end_of(const struct search *s, size_t i, size_t n)
{
	return i < s->n ? s->found[i].at : n;
}

static void levels(struct search *s, size_t n)
{
	for (size_t i = 0, begin = 0; i < s->n; begin = s->found[i++].at) {
		s->found[i].before = median_of(s->x + begin, s->found[i].at - begin);
		s->found[i].after = median_of(s->x + s->found[i].at, end_of(s, i + 1, n) - s->found[i].at);
	}
}

/* The smallest change that does not matter goes first, for what it divided is one then. */
static void join(struct search *s, size_t n)
{
	for (;;) {
		size_t smallest = SIZE_MAX;

		levels(s, n);
		for (size_t i = 0; i < s->n; i++) {
			double size = fabs(s->found[i].after - s->found[i].before);

			if (size < s->options->min_effect &&
			    (smallest == SIZE_MAX || size < fabs(s->found[smallest].after - s->found[smallest].before)))
				smallest = i;
		}
		if (smallest == SIZE_MAX)
			return;
		memmove(s->found + smallest, s->found + smallest + 1, (s->n - smallest - 1) * sizeof(*s->found));
		s->n--;
	}
}

/* ---- modes ---- */

static double deviation(const double *x, size_t n)
{
	double mean = 0, squares = 0;

	for (size_t i = 0; i < n; i++)
		mean += x[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (x[i] - mean) * (x[i] - mean);
	return n > 1 ? sqrt(squares / (double)(n - 1)) : 0.0;
}

/* Two heaps, by the widest gap in the middle, between which the series goes back and forth. */
static void modes_of(const double *x, struct change_points_segment *segment)
{
	size_t n = segment->end - segment->begin, least = (size_t)ceil(MODES_PART * (double)n), gap = 0, switches = 0;
	double *sorted = mem_new(n + 1, sizeof(*sorted)), widest = -1, between;

	segment->modes[0] = segment->modes[1] = (double)NAN;
	memcpy(sorted, x + segment->begin, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), stats_order);
	for (size_t i = least; n >= MODES_POINTS && i + least <= n; i++) {
		if (sorted[i] - sorted[i - 1] > widest) {
			widest = sorted[i] - sorted[i - 1];
			gap = i;
		}
	}
	if (gap > 0) {
		double low = stats_median(sorted, gap), high = stats_median(sorted + gap, n - gap);
		double k = (double)gap, by_chance = 2.0 * k * ((double)n - k) / (double)n,
		       within = fmax(deviation(sorted, gap), deviation(sorted + gap, n - gap));

		between = sorted[gap - 1] + widest / 2.0;
		for (size_t i = segment->begin + 1; i < segment->end; i++)
			switches += (x[i] > between) != (x[i - 1] > between);
		if (high - low > MODES_APART * within && widest > within && (double)switches >= MODES_MIXED * by_chance) {
			segment->modes[0] = low;
			segment->modes[1] = high;
		}
	}
	free(sorted);
}

/* ---- spikes ---- */

/* Neighbours of i within the series, without itself. */
static size_t neighbours(const double *x, size_t n, size_t i, double *out)
{
	size_t from = i > SPIKE_REACH ? i - SPIKE_REACH : 0, to = i + SPIKE_REACH < n ? i + SPIKE_REACH : n - 1, k = 0;

	for (size_t j = from; j <= to; j++)
		if (j != i)
			out[k++] = x[j];
	return k;
}

/* Far from those before and from those behind, on the same side: at a change, one of the two is near. */
static bool is_spike(const double *x, size_t n, size_t i, double noise)
{
	double side, before = i > 0 ? x[i] - x[i - 1] : x[i] - x[i + 1], behind = i + 1 < n ? x[i] - x[i + 1] : before;

	if (n < 2 * CHANGE_POINTS_SEGMENT_MIN || i == 0 || i + 1 == n || before * behind <= 0)
		return false;
	side = fmin(fabs(before), fabs(behind));
	return side > SPIKE_DEVIATION * noise && side > 0;
}

/* The deviation of a point from its predecessor, by the median, which neither changes nor spikes move; as of one point. */
static double noise_of(const double *x, size_t n)
{
	double *steps = mem_new(n, sizeof(*steps)), noise;

	for (size_t i = 1; i < n; i++)
		steps[i - 1] = fabs(x[i] - x[i - 1]);
	noise = n > 1 ? 1.4826 * stats_median(steps, n - 1) / sqrt(2.0) : 0.0;
	free(steps);
	return noise;
}

/* What stands in a spike's place is the median of those around it. */
static double *without_spikes(const double *x, size_t n, struct change_points *out)
{
	struct change_points_segment whole = { .end = n };
	double *clean = mem_new(n + 1, sizeof(*clean)), noise = noise_of(x, n), around[2 * SPIKE_REACH];

	modes_of(x, &whole);
	out->spikes = mem_new(n + 1, sizeof(*out->spikes));
	for (size_t i = 0; i < n; i++) {
		clean[i] = x[i];
		if (!isnan(whole.modes[0]) || !is_spike(x, n, i, noise))
			continue;
		out->spikes[out->n_spikes++] = i;
		clean[i] = stats_median(around, neighbours(x, n, i, around));
	}
	return clean;
}

/* What goes back and forth has no spikes. */
static void spikes_in_modes(struct change_points *out)
{
	size_t kept = 0, k = 0;

	for (size_t i = 0; i < out->n_spikes; i++) {
		while (out->spikes[i] >= out->segments[k].end)
			k++;
		if (isnan(out->segments[k].modes[0]))
			out->spikes[kept++] = out->spikes[i];
	}
	out->n_spikes = kept;
}

void change_points_find(const double *x, size_t n, const struct change_points_options *options, struct change_points *out)
{
	size_t skipped = n > CHANGE_POINTS_MAX ? n - CHANGE_POINTS_MAX : 0;
	struct search s = { .options = options, .level = options->level > 0 ? options->level : LEVEL };
	double *clean;

	*out = (struct change_points){ .n = 0 };
	x += skipped;
	n -= skipped;
	clean = without_spikes(x, n, out);
	s.x = clean;
	s.found = mem_new(n + 1, sizeof(*s.found));
	search(&s, 0, n);
	join(&s, n);
	out->items = s.found;
	out->n = s.n;
	out->segments = mem_new(s.n + 1, sizeof(*out->segments));
	for (size_t i = 0, begin = 0; i <= s.n; begin = end_of(&s, i++, n)) {
		out->segments[i] = (struct change_points_segment){ .begin = begin, .end = end_of(&s, i, n) };
		if (out->segments[i].end > begin)
			out->segments[i].median = median_of(clean + begin, out->segments[i].end - begin);
		modes_of(x, &out->segments[i]);
	}
	spikes_in_modes(out);
	for (size_t i = 0; i <= out->n; i++) {
		out->segments[i].begin += skipped;
		out->segments[i].end += skipped;
	}
	for (size_t i = 0; i < out->n; i++)
		out->items[i].at += skipped;
	for (size_t i = 0; i < out->n_spikes; i++)
		out->spikes[i] += skipped;
	free(clean);
}

void change_points_release(struct change_points *changes)
{
	mem_free(changes->items, changes->spikes, changes->segments);
	*changes = (struct change_points){ 0 };
}

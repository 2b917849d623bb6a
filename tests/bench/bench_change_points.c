/* Measures how well the search for change points works on simulated series: found changes, false ones, and their positions. Compares
 * with the method of Apache Otava (Fleming et al., "Hunter: Using Change Point Detection to Hunt for Performance Regressions", ICPE
 * 2023), implemented here from that description. It finds weak change points by E-divisive means within windows and accepts them by
 * Student's t test at ten times the level. Then it removes the weakest one and tests its neighbours again, until each has p <= 0.001.
 * Usage: bench_change_points RECORD.csv. The record has runs of one program, as for bench_nightly; points are medians of four runs.
 * bench_change_points --calibrate prints the penalties of model/change_points.c. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "model/change_points.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERIES 1000
#define POINTS 60
#define NOISE  .01

static const struct kind {
	const char *name;
	size_t at; /* position of the change; POINTS: no change */
	double step;
	double spikes; /* probability per point */
	double modes;  /* probability, per point, of a second level 20 % higher */
	double memory; /* autocorrelation of the noise */
	double drift;  /* total over all points */
	enum { DRAWN, WALL, PROCESSOR } noise;
} kinds[] = {
	{ .name = "nothing", .at = POINTS },
	{ .name = "nothing, a spike of 10 to 50 % in 5 % of the points", .at = POINTS, .spikes = .05 },
	{ .name = "nothing, a third of the points 20 % higher", .at = POINTS, .modes = .33 },
	{ .name = "nothing, noise that remembers .3", .at = POINTS, .memory = .3 },
	{ .name = "nothing, noise that remembers .6", .at = POINTS, .memory = .6 },
	{ .name = "+1 % in the middle", .at = 30, .step = .01 },
	{ .name = "+2 % in the middle", .at = 30, .step = .02 },
	{ .name = "+3 % in the middle", .at = 30, .step = .03 },
	{ .name = "+5 % in the middle", .at = 30, .step = .05 },
	{ .name = "+3 %, 10 points before the end", .at = 50, .step = .03 },
	{ .name = "+3 %, 5 points before the end", .at = 55, .step = .03 },
	{ .name = "+3 %, 3 points before the end", .at = 57, .step = .03 },
	{ .name = "+5 %, spikes as above", .at = 30, .step = .05, .spikes = .05 },
	{ .name = "+10 %, a third of the points 20 % higher", .at = 30, .step = .1, .modes = .33 },
	{ .name = "a creep of 5 % over all points", .at = POINTS, .drift = .05 },
	{ .name = "recorded processor time, nothing", .at = POINTS, .noise = PROCESSOR },
	{ .name = "recorded processor time, +3 % in the middle", .at = 30, .step = .03, .noise = PROCESSOR },
	{ .name = "recorded processor time, +5 % in the middle", .at = 30, .step = .05, .noise = PROCESSOR },
	{ .name = "recorded wall-clock time, nothing", .at = POINTS, .noise = WALL },
	{ .name = "recorded wall-clock time, +5 % in the middle", .at = 30, .step = .05, .noise = WALL },
	{ .name = "recorded wall-clock time, +20 % in the middle", .at = 30, .step = .2, .noise = WALL },
};

struct outcome {
	double any, near, exact, more; /* shares of the series */
};

#define RECORDED 150

static double record[PROCESSOR + 1][RECORDED]; /* logarithms; index DRAWN is unused */

static void load(const char *path)
{
	FILE *file = fopen(path, "r");
	double runs[PROCESSOR + 1][4], user, kernel;

	for (size_t i = 0; file && i < 4 * RECORDED; i++) {
		if (fscanf(file, "%lf,%lf,%lf%*[^\n]", &runs[WALL][i % 4], &user, &kernel) != 3)
			break;
		runs[PROCESSOR][i % 4] = user + kernel;
		for (int of = WALL; i % 4 == 3 && of <= PROCESSOR; of++)
			record[of][i / 4] = log(stats_median(runs[of], 4));
	}
	if (!file || !(record[WALL][RECORDED - 1] > 0)) {
		fprintf(stderr, "bench_change_points: no 600 runs in '%s'\n", path);
		exit(1);
	}
	fclose(file);
}

/* Draws a series. Recorded noise is a random stretch of the record, forwards or backwards. */
static void draw(const struct kind *k, double *x, struct rng *rng)
{
	double noise = 0;
	size_t from = k->noise ? (size_t)rng_below(rng, RECORDED - POINTS + 1) : 0;
	bool back = k->noise && rng_below(rng, 2);

	for (size_t i = 0; i < POINTS; i++) {
		noise = k->memory * noise + sqrt(1 - k->memory * k->memory) * NOISE * rng_normal(rng);
		if (k->noise)
			noise = record[k->noise][from + (back ? POINTS - 1 - i : i)];
		x[i] = noise + (i >= k->at ? log1p(k->step) : 0) + log1p(k->drift) * (double)i / POINTS;
		if (rng_double(rng) < k->spikes)
			x[i] += .1 + .4 * rng_double(rng);
		if (rng_double(rng) < k->modes)
			x[i] += log(1.2);
	}
}

static void count(struct outcome *o, const struct kind *k, const size_t *at, size_t n)
{
	bool near = false, exact = false;

	for (size_t i = 0; i < n; i++) {
		near |= at[i] + 2 >= k->at && at[i] <= k->at + 2;
		exact |= at[i] == k->at;
	}
	o->any += (n > 0) / (double)SERIES;
	o->near += near / (double)SERIES;
	o->exact += exact / (double)SERIES;
	o->more += (n > 1) / (double)SERIES;
}

/* ---- Otava's method ---- */

#define WINDOW	 50
#define P_MAX	 .001
#define P_WEAK	 (10 * P_MAX)
#define AT_LEAST 2 /* minimum number of points on either side */

/* Returns the p-value of Student's t test that x[begin, at) and x[at, end) have equal means. */
static double p_of_t(const double *x, size_t begin, size_t at, size_t end)
{
	size_t n = at - begin, m = end - at;
	double ma = stats_mean(x + begin, n), mb = stats_mean(x + at, m), sa = stats_sd(x + begin, n), sb = stats_sd(x + at, m);
	double pooled = (((double)n - 1) * sa * sa + ((double)m - 1) * sb * sb) / (double)(n + m - 2);

	if (!(pooled > 0))
		return ma < mb || ma > mb ? 0 : 1;
	return 2 * stats_t_cdf(-fabs(ma - mb) / sqrt(pooled * (1.0 / (double)n + 1.0 / (double)m)), (double)(n + m - 2));
}

static size_t best(const double *x, size_t n)
{
	double most = -(double)INFINITY;
	size_t at = 0;

	for (size_t m = AT_LEAST; m + AT_LEAST <= n; m++) {
		double between = 0, left = 0, right = 0, k = (double)(n - m), l = (double)m, value;

		for (size_t i = 0; i < n; i++)
			for (size_t j = i + 1; j < n; j++)
				*(j < m ? &left : i >= m ? &right : &between) += fabs(x[i] - x[j]);
		value = l * k / (l + k) * (2 * between / (l * k) - 2 * left / (l * (l - 1)) - 2 * right / (k * (k - 1)));
		if (value > most) {
			most = value;
			at = m;
		}
	}
	return at;
}

/* Marks the weak change points of x[begin, end). Sets *last to the last one. */
static void divide(const double *x, size_t begin, size_t end, bool *weak, size_t *last)
{
	size_t m = end - begin >= 2 * AT_LEAST ? begin + best(x + begin, end - begin) : 0;

	if (!m || p_of_t(x, begin, m, end) > P_WEAK)
		return;
	weak[m] = true;
	*last = m > *last ? m : *last;
	divide(x, begin, m, weak, last);
	divide(x, m, end, weak, last);
}

/* Finds change points of exp(logs[n]) and writes them to at[]. Returns their number. */
static size_t peer(const double *logs, size_t n, size_t *at)
{
	double x[POINTS];
	bool weak[POINTS] = { false };
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		x[i] = exp(logs[i]);
	for (size_t start = 0, last = 0; start < n; last = 0) {
		divide(x, start, start + WINDOW < n ? start + WINDOW : n, weak, &last);
		start = last > start + WINDOW / 2 ? last : start + WINDOW / 2;
	}
	for (size_t i = 1; i < n; i++)
		if (weak[i])
			at[found++] = i;
	while (found) {
		size_t weakest = 0;
		double most = -1;

		for (size_t i = 0; i < found; i++) {
			double p = p_of_t(x, i ? at[i - 1] : 0, at[i], i + 1 < found ? at[i + 1] : n);

			if (p > most) {
				most = p;
				weakest = i;
			}
		}
		if (most <= P_MAX)
			break;
		found--;
		memmove(at + weakest, at + weakest + 1, (found - weakest) * sizeof(*at));
	}
	return found;
}

/* ---- one row per kind ---- */

static size_t ours_of(const double *x, size_t n, double min_effect, size_t *at)
{
	const struct change_points_options options = { .min_effect = log1p(min_effect) };
	struct change_points found;
	size_t k;

	change_points_find(x, n, &options, &found);
	for (k = 0; k < found.n; k++)
		at[k] = found.items[k].first_after;
	change_points_release(&found);
	return k;
}

static void row(const struct kind *k)
{
	struct outcome ours = { 0 }, theirs = { 0 };
	struct rng rng;

	rng_seed(&rng, 4711);
	for (int s = 0; s < SERIES; s++) {
		size_t at[POINTS];
		double x[POINTS];

		draw(k, x, &rng);
		count(&ours, k, at, ours_of(x, POINTS, .01, at));
		count(&theirs, k, at, peer(x, POINTS, at));
	}
	printf("| %s | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |\n", k->name, ours.any, ours.near, ours.exact, ours.more,
	       theirs.any, theirs.near, theirs.exact, theirs.more);
}

/* ---- histories: nights on three machines ---- */

#define NIGHTS	 40
#define MACHINES 3

enum { NOTHING, STEPS, PULSES, ENDS, MISSING, CREEP, SPIKES, MODES, HISTORIES };

static const char *const histories[HISTORIES] = {
	[NOTHING] = "nothing, in every other series a third of the nights missing",
	[STEPS] = "steps: one or two of 5 to 30 % up or down, 5 nights from each other and the ends at least",
	[PULSES] = "pulses: 3 to 10 nights x 1.1, x 1.3 or x 3, then fixed",
	[ENDS] = "ends: 10 to 30 % in the last two nights, the first two, or from two nights before another step on",
	[MISSING] = "missing nights: a third is missing, on others one machine; a step as above",
	[CREEP] = "creep: 10 to 20 % over all nights",
	[SPIKES] = "spikes: 10 to 50 % in 5 % of the nights",
	[MODES] = "modes: a third of the nights 20 % higher",
};

struct drawn {
	double x[NIGHTS]; /* [n] */
	size_t n;
	size_t at[2], changes; /* true positions of the changes */
};

static double signed_log(double low, double high, struct rng *rng)
{
	double size = log1p(low + (high - low) * rng_double(rng));

	return rng_below(rng, 2) ? size : -size;
}

static void plant(int kind, double *level, struct rng *rng)
{
	static const double factors[] = { 1.1, 1.3, 3 };
	size_t from = 5 + (size_t)rng_below(rng, NIGHTS - 19), to = NIGHTS, second = NIGHTS;
	double size = signed_log(.05, .3, rng), then = 0;

	if (kind == STEPS && rng_below(rng, 2)) {
		second = from + 5 + (size_t)rng_below(rng, NIGHTS - 9 - from);
		then = signed_log(.05, .3, rng);
	} else if (kind == PULSES) {
		to = from + 3 + (size_t)rng_below(rng, 8);
		size = log(factors[rng_below(rng, 3)]);
	} else if (kind == ENDS) {
		unsigned where = (unsigned)rng_below(rng, 3);

		size = log1p(.1 + .2 * rng_double(rng));
		from = where == 0 ? NIGHTS - 2 : where == 1 ? 0 : from;
		to = where == 1 ? 2 : NIGHTS;
		second = where == 2 ? from + 2 : NIGHTS;
		then = log1p(.1 + .2 * rng_double(rng));
	}
	for (size_t i = 0; i < NIGHTS; i++)
		level[i] += (i >= from && i < to ? size : 0) + (i >= second ? then : 0);
}

static void draw_history(int kind, bool thin, struct drawn *d, struct rng *rng)
{
	double level[NIGHTS] = { 0 }, creep = log1p(.1 + .1 * rng_double(rng)), before = 0;

	if (kind == STEPS || kind == PULSES || kind == ENDS || kind == MISSING)
		plant(kind, level, rng);
	d->n = d->changes = 0;
	for (size_t i = 0; i < NIGHTS; i++) {
		double on[MACHINES], cost = level[i] + (kind == CREEP ? creep * (double)i / (NIGHTS - 1) : 0);
		size_t machines = MACHINES;

		if (kind == SPIKES && rng_double(rng) < .05)
			cost += .1 + .4 * rng_double(rng);
		if (kind == MODES && rng_double(rng) < .33)
			cost += log(1.2);
		if (kind == MISSING || thin) {
			if (rng_below(rng, 3) == 0)
				continue;
			machines -= rng_below(rng, 5) == 0;
		}
		for (size_t m = 0; m < machines; m++)
			on[m] = cost + NOISE * rng_normal(rng);
		if (d->n && fabs(level[i] - before) > 0)
			d->at[d->changes++] = d->n;
		before = level[i];
		d->x[d->n++] = stats_median(on, machines);
	}
}

struct tally {
	size_t series, any, exact, wrong,
	    gone; /* exact: all changes at their positions; wrong: a change where there is none; gone: a change that vanished later */
};

static bool is_near(size_t at, const size_t *places, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (at + 2 >= places[i] && at <= places[i] + 2)
			return true;
	return false;
}

static void judge(const struct drawn *d, bool creeps, const size_t *at, size_t n, struct tally *t)
{
	size_t exact = 0, wrong = 0;

	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < d->changes; k++)
			exact += at[i] == d->at[k];
		wrong += !is_near(at[i], d->at, d->changes);
	}
	t->series++;
	t->any += n > 0;
	t->exact += exact == d->changes;
	t->wrong += wrong > 0 && !creeps;
}

/* Reports whether one night's history has a change point that is missing, within two points, in the next night's history. */
static bool vanishes(const struct drawn *d)
{
	size_t before[NIGHTS], now[NIGHTS], n_before = 0, n_now;

	for (size_t n = CHANGE_POINTS_MIN; n <= d->n; n++) {
		n_now = ours_of(d->x, n, .03, now);
		for (size_t i = 0; i < n_before; i++)
			if (!is_near(before[i], now, n_now))
				return true;
		memcpy(before, now, sizeof(before));
		n_before = n_now;
	}
	return false;
}

static void history_row(const char *name, const struct tally *ours, const struct tally *theirs)
{
	double n = (double)ours->series;

	printf("| %s | %zu | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |\n", name, ours->series, (double)ours->any / n,
	       (double)ours->exact / n, (double)ours->wrong / n, (double)ours->gone / n, (double)theirs->any / n, (double)theirs->exact / n,
	       (double)theirs->wrong / n);
}

static void add(struct tally *to, const struct tally *t)
{
	to->series += t->series;
	to->any += t->any;
	to->exact += t->exact;
	to->wrong += t->wrong;
	to->gone += t->gone;
}

static void history_rows(size_t each, uint64_t seed)
{
	struct tally ours[HISTORIES] = { { 0 } }, theirs[HISTORIES] = { { 0 } }, sums[3][2] = { { { 0 } } };
	struct rng rng;

	puts("| series | n | found or false | all exact | false | gone | Otava: found or false | all exact | false |");
	puts("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
	rng_seed(&rng, seed);
	for (int kind = 0; kind < HISTORIES; kind++) {
		for (size_t s = 0; s < each; s++) {
			struct drawn d;
			size_t at[POINTS];

			draw_history(kind, kind == NOTHING && s % 2, &d, &rng);
			judge(&d, kind == CREEP, at, ours_of(d.x, d.n, .03, at), &ours[kind]);
			judge(&d, kind == CREEP, at, peer(d.x, d.n, at), &theirs[kind]);
			ours[kind].gone += vanishes(&d);
		}
		history_row(histories[kind], &ours[kind], &theirs[kind]);
		for (int k = 0; k < 2; k++) {
			const struct tally *t = k ? &theirs[kind] : &ours[kind];

			if (kind == STEPS || kind == PULSES || kind == ENDS || kind == MISSING)
				add(&sums[0][k], t);
			if (kind == PULSES || kind == ENDS)
				add(&sums[1][k], t);
			if (kind == NOTHING || kind == SPIKES || kind == MODES)
				add(&sums[2][k], t);
		}
	}
	history_row("**all with changes at places** (steps, pulses, ends, missing nights)", &sums[0][0], &sums[0][1]);
	history_row("**pulses and ends**", &sums[1][0], &sums[1][1]);
	history_row("**without a change** (nothing, spikes, modes)", &sums[2][0], &sums[2][1]);
}

/* ---- calibration ---- */

static bool changes_at(const double *x, size_t n, double penalty)
{
	const struct change_points_options options = { .penalty = penalty };
	struct change_points found;
	bool any;

	change_points_find(x, n, &options, &found);
	any = found.n || found.last_is_spike;
	change_points_release(&found);
	return any;
}

/* Returns the largest penalty, to within 2 %, at which normally distributed points have a change or an open end. */
static double largest_penalty(size_t n, struct rng *rng)
{
	double *x = mem_new(n, sizeof(*x)), low = 1, high = 4;

	for (size_t i = 0; i < n; i++)
		x[i] = rng_normal(rng);
	while (changes_at(x, n, high)) {
		low = high;
		high *= 2;
	}
	while (high > 1.02 * low) {
		double middle = sqrt(low * high);

		*(changes_at(x, n, middle) ? &low : &high) = middle;
	}
	free(x);
	return low;
}

static void calibrate(void)
{
	static const size_t sizes[][2] = { { 6, 200000 },  { 7, 200000 },  { 8, 200000 }, { 10, 200000 }, { 12, 100000 },
					   { 16, 100000 }, { 24, 100000 }, { 40, 50000 }, { 80, 20000 },  { 200, 5000 } };
	struct rng rng;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t draws = sizes[i][1];
		double *penalties = mem_new(draws, sizeof(*penalties));

		rng_seed(&rng, sizes[i][0]);
		for (size_t k = 0; k < draws; k++)
			penalties[k] = largest_penalty(sizes[i][0], &rng);
		printf("\t{ %zu, %.1f, %.1f },\n", sizes[i][0], stats_quantile(penalties, draws, .99),
		       stats_quantile(penalties, draws, .999));
		fflush(stdout);
		free(penalties);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	if (strcmp(argv[1], "--calibrate") == 0) {
		calibrate();
		return 0;
	}
	load(argv[1]);
	puts("| series | found or false | within 2 points | exact | more than one | Otava: found or false | within 2 | exact | more than "
	     "one |");
	puts("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		row(&kinds[i]);
	puts("\nHistories.\n");
	history_rows(200 / HISTORIES, 46);
	puts("\nThe same kinds, a thousand series each:\n");
	history_rows(SERIES, 47);
	return 0;
}

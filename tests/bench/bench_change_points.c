/* Change points of drawn series: found, false, at their place; beside the rule of Apache Otava (Hunter, ICPE 2023) in its plainest form:
 * the same division by energy statistics, accepted where Student's t test of its two sides has p at most .001. 60 points, noise of 1 %.
 * Usage: bench_change_points RECORD.csv; the record is of one program's runs, as bench_nightly has it: its points are medians of four. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "model/change_points.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define SERIES 1000
#define POINTS 60
#define NOISE  .01

static const struct kind {
	const char *name;
	size_t at; /* POINTS: there is no change */
	double step;
	double spikes; /* chance of each point */
	double modes;  /* chance of the other level, 20 % higher */
	double memory; /* of the noise: autocorrelation */
	double drift;  /* over all points */
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
	double any, near, exact, more; /* parts of the series */
};

#define RECORDED 150

static double record[PROCESSOR + 1][RECORDED]; /* logs; none of DRAWN */

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

/* Recorded noise is a stretch of the record from a place that is drawn, forwards or backwards. */
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

/* ---- the peer ---- */

static double p_of_t(const double *a, size_t n, const double *b, size_t m)
{
	double ma = stats_mean(a, n), mb = stats_mean(b, m), sa = stats_sd(a, n), sb = stats_sd(b, m);
	double pooled = (((double)n - 1) * sa * sa + ((double)m - 1) * sb * sb) / (double)(n + m - 2);

	return pooled > 0 ? 2 * stats_t_cdf(-fabs(ma - mb) / sqrt(pooled * (1.0 / (double)n + 1.0 / (double)m)), (double)(n + m - 2)) : 1;
}

static size_t best(const double *x, size_t n)
{
	double most = -(double)INFINITY;
	size_t at = 0;

	for (size_t m = 2; m + 2 <= n; m++) {
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

static void peer(const double *x, size_t begin, size_t end, size_t *at, size_t *n)
{
	size_t m = end - begin >= 6 ? best(x + begin, end - begin) : 0;

	if (!m || p_of_t(x + begin, m, x + begin + m, end - begin - m) > .001)
		return;
	peer(x, begin, begin + m, at, n);
	at[(*n)++] = begin + m;
	peer(x, begin + m, end, at, n);
}

static void row(const struct kind *k)
{
	const struct change_points_options options = { .min_effect = log1p(.01), .seed = 17 };
	struct outcome ours = { 0 }, theirs = { 0 };
	struct rng rng;

	rng_seed(&rng, 4711);
	for (int s = 0; s < SERIES; s++) {
		struct change_points found;
		size_t at[POINTS], n = 0;
		double x[POINTS];

		draw(k, x, &rng);
		change_points_find(x, POINTS, &options, &found);
		for (size_t i = 0; i < found.n; i++)
			at[i] = found.items[i].at;
		count(&ours, k, at, found.n);
		change_points_release(&found);
		peer(x, 0, POINTS, at, &n);
		count(&theirs, k, at, n);
	}
	printf("| %s | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |\n", k->name, ours.any, ours.near, ours.exact, ours.more,
	       theirs.any, theirs.near, theirs.exact, theirs.more);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	load(argv[1]);
	puts("| series | found or false | within 2 points | exact | more than one | t test: found or false | within 2 | exact | more than "
	     "one |");
	puts("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		row(&kinds[i]);
	return 0;
}

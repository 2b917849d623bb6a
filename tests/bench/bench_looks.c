/* Compares ways to divide a 5 % error rate among five interim analyses: how often the final interval contains the truth, how often a
 * change of 5 % is found, and after how many repetitions. Normal noise of 8 % per run, types that differ by 0.5 %, 3000 nights each. */
#include "base/rng.h"
#include "base/stats.h"
#include "gate/decide/effect.h"

#include <math.h>
#include <stdio.h>

#define NIGHTS	3000
#define TYPES	6
#define MATTERS .03

static const struct way {
	const char *name;
	double spend[ANALYSES_MAX]; /* share of the error rate per interim analysis; 0: no analysis */
} ways[] = {
	{ "one look at the end", { 0, 0, 0, 0, .05 } },
	{ "five looks, not corrected", { .05, .05, .05, .05, .05 } },
	{ "five equal parts (Bonferroni)", { .01, .01, .01, .01, .01 } },
	{ "parts 1/(k (k + 1)), without an end", { .025, .05 / 6, .05 / 12, .0025, .05 / 30 } },
	{ "Pocock's constant", { .0158, .0158, .0158, .0158, .0158 } },
	{ "like O'Brien and Fleming", { 1e-5, .0001, .0023, .015, .041 } },
	{ "**in proportion to what a look adds**", { .05 / 16, .05 / 16, .05 / 8, .05 / 4, .05 / 2 } },
};

struct outcome {
	double holds, found, repetitions;
};

static void night(const struct way *way, int types, double effect, struct rng *rng, struct outcome *out)
{
	double type[TYPES], sum[TYPES] = { 0 }, mean = 0, half = 0;
	bool done = false;
	int64_t n = 0;

	for (int t = 0; t < types; t++)
		type[t] = effect + .005 * rng_normal(rng);
	for (int look = 1; look <= ANALYSES_MAX && !done; look++) {
		for (; n < analysis_repetitions(4, look); n++)
			for (int t = 0; t < types; t++)
				sum[t] += .08 * (rng_normal(rng) - rng_normal(rng));
		if (!(way->spend[look - 1] > 0))
			continue;
		double means[TYPES];

		for (int t = 0; t < types; t++)
			means[t] = type[t] + sum[t] / (double)n;
		mean = stats_mean(means, (size_t)types);
		half = stats_t_quantile(1 - way->spend[look - 1] / 2, types - 1) * stats_sd(means, (size_t)types) / sqrt(types);
		done = (mean - half > 0 && mean >= log1p(MATTERS)) || (mean + half < 0 && mean <= -log1p(MATTERS)) ||
		       mean + half < log1p(MATTERS);
	}
	out->holds += (mean - half <= effect && effect <= mean + half) / (double)NIGHTS;
	out->found += (mean - half > 0 && mean >= log1p(MATTERS)) / (double)NIGHTS;
	out->repetitions += (double)n / NIGHTS;
}

static struct outcome nights(const struct way *way, int types, double effect)
{
	struct outcome out = { 0 };
	struct rng rng;

	rng_seed(&rng, 77);
	for (int i = 0; i < NIGHTS; i++)
		night(way, types, log1p(effect), &rng, &out);
	return out;
}

int main(void)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct outcome same3 = nights(&ways[i], 3, 0), same6 = nights(&ways[i], 6, 0), three = nights(&ways[i], 3, .05),
			       six = nights(&ways[i], 6, .05);

		printf("| %s | %.3f | %.3f | %.3f | %.3f | %.1f |\n", ways[i].name, same3.holds, same6.holds, three.found, six.found,
		       six.repetitions);
	}
	return 0;
}

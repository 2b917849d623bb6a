/* False alarms and power of the gate's decision, simulated: versions that take turns, unchanged and 10 % slower, over kinds of noise,
 * numbers of machines and of repetitions. Times are those of a data set: repetition numbers are shared. */
#include "base/mem.h"
#include "base/rng.h"
#include "gate/decide/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MACHINES_MAX 10

/* The cost of a run without a change: 1 on average, at place 0 to 1 of the session. */
static double noise_normal(struct rng *rng, double place)
{
	(void)place;
	return exp(.03 * rng_normal(rng));
}

static double noise_ticks(struct rng *rng, double place)
{
	(void)place;
	return 1 + .05 * rng_normal(rng);
}

/* Student's t with two degrees of freedom. */
static double noise_tails(struct rng *rng, double place)
{
	double chi2 = -2 * log(1 - rng_double(rng));

	(void)place;
	return exp(.01 * rng_normal(rng) / sqrt(chi2 / 2));
}

static double noise_groups(struct rng *rng, double place)
{
	return (rng_double(rng) < .5 ? .015 : 1) * exp(.01 * rng_normal(rng) + 0 * place);
}

static double noise_drift(struct rng *rng, double place)
{
	return (1.2 - .2 * exp(-3 * place)) * exp(.005 * rng_normal(rng));
}

static const struct kind {
	const char *name;
	double (*noise)(struct rng *rng, double place);
} kinds[] = {
	{ "normal", noise_normal },	{ "ticks", noise_ticks }, { "heavy tails", noise_tails },
	{ "two groups", noise_groups }, { "drift", noise_drift },
};

/* The metric as it is recorded: of the second kind in ticks of .1. */
static double on_tick(const struct kind *kind, double cost)
{
	return kind == &kinds[1] ? .1 * round(10 * cost) : cost;
}

static enum decision decide(const struct kind *kind, int machines, int repetitions, double slower, struct rng *rng)
{
	const struct evidence evidence = { 0 };
	const struct lab_config config = { .min_effect = .03 };
	struct run_set sides[2];
	struct assay_error err;
	enum decision decision;
	struct verdict v;

	for (int side = 0; side < 2; side++) {
		sides[side] = (struct run_set){ .application = mem_string("app"), .version = mem_string(side ? "new" : "old") };
		sides[side].items = mem_new((size_t)(machines * repetitions), sizeof(struct run));
		for (int m = 0; m < machines; m++) {
			for (int r = 0; r < repetitions; r++) {
				double place = (2 * r + (side ^ (r & 1))) / (2.0 * repetitions); /* ABBA */

				sides[side].items[sides[side].n++] = (struct run){
					.machine = mem_format("m%d", m),
					.taken_ms = 1000,
					.repetition = r + 1,
					.metric = on_tick(kind, kind->noise(rng, place) * (side ? slower : 1)),
					.recorded = 1,
				};
			}
		}
	}
	if (verdict_of(&evidence, &config, &sides[0], &sides[1], .03, &v, &err))
		abort();
	decision = v.effect.decision;
	verdict_release(&v);
	for (int side = 0; side < 2; side++)
		run_set_release(&sides[side]);
	return decision;
}

int main(int argc, char **argv)
{
	static const int machines[] = { 1, 2, 3, 10 }, repetitions[] = { 1, 3, 20 };
	int draws = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 2000;

	printf("| noise | machines | repetitions | unchanged: regression | unchanged: improved | 10 %% slower: regression |\n"
	       "| --- | ---: | ---: | ---: | ---: | ---: |\n");
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (int cell = 0; cell < 12; cell++) {
			int worse = 0, better = 0, found = 0;
			struct rng rng;

			rng_seed(&rng, 47 + (uint64_t)cell);
			for (int i = 0; i < draws; i++) {
				enum decision d = decide(&kinds[k], machines[cell / 3], repetitions[cell % 3], 1, &rng);

				worse += d == DECISION_REGRESSION;
				better += d == DECISION_IMPROVED;
				found += decide(&kinds[k], machines[cell / 3], repetitions[cell % 3], 1.1, &rng) == DECISION_REGRESSION;
			}
			printf("| %s | %d | %d | %.4f | %.4f | %.3f |\n", kinds[k].name, machines[cell / 3], repetitions[cell % 3],
			       worse / (double)draws, better / (double)draws, found / (double)draws);
			fflush(stdout);
		}
	}
	return 0;
}

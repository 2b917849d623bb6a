/* Measures false alarms and power of the gate's decision by simulation. Versions alternate; the candidate is unchanged or 10 % slower.
 * Varies the noise, the number of machines, and the number of repetitions. Runs are either a data set with common repetition numbers, or
 * one plan whose repetitions are pairs. A plan may have interim analyses until there is a decision. */
#include "base/mem.h"
#include "base/rng.h"
#include "gate/comparison/comparison.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MACHINES_MAX	10
#define REPETITIONS_MAX 96
#define LOOK_FIRST	3 /* repetitions at the first interim analysis */

/* Each returns the cost of an unchanged run, 1 on average; `place` is the position in the session, from 0 to 1. */
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

/* Draws from Student's t distribution with two degrees of freedom. */
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

/* Simulates a machine that other users load for several runs in a row. 70 % of the runs then take 4 times as long, otherwise 30 %. */
static double noise_busy(struct rng *rng, double place)
{
	static bool busy;

	busy = place > 0 && (rng_double(rng) < .1 ? !busy : busy);
	return rng_double(rng) < (busy ? .7 : .3) ? 4 : 1 + .1 * rng_double(rng);
}

static const struct noise {
	const char *name;
	double (*noise)(struct rng *rng, double place);
} kinds[] = {
	{ "normal", noise_normal },	{ "ticks", noise_ticks }, { "heavy tails", noise_tails },
	{ "two groups", noise_groups }, { "drift", noise_drift }, { "busy", noise_busy },
};

/* Returns the metric as recorded: in steps of 0.1 for the noise "ticks". */
static double on_tick(const struct noise *kind, double cost)
{
	return kind == &kinds[1] ? .1 * round(10 * cost) : cost;
}

/* How versions are measured: as runs of a data set, as one plan, as a plan with the CPU time of each run (like `assay diff`), or as a
 * plan with samples of the functions. */
enum way { DATA_SET, PLAN, PLAN_TIMES, PLAN_FUNCTIONS };

/* Share of each function in the run time. The first function becomes slower. The rest of the time is waiting. */
static const double functions[] = { .3, .2, .15, .1, .05 };
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))
static double spent[2][MACHINES_MAX][REPETITIONS_MAX][FUNCTIONS];
static size_t confirmed; /* number of decisions based on functions */

/* Which version comes first on each machine. turn_of() returns the position of a run in the order A B B A. */
static int first_on[MACHINES_MAX];

static int turn_of(int machine, int side, int repetition)
{
	return 2 * repetition + ((side ^ repetition ^ first_on[machine]) & 1);
}

static struct run_set set_of(int side, double cost[MACHINES_MAX][REPETITIONS_MAX], double cpu[MACHINES_MAX][REPETITIONS_MAX], int machines,
			     int repetitions, enum way way, double level)
{
	struct run_set set = { .application = mem_string("app"), .version = mem_string("version"), .level = level };

	set.items = mem_new((size_t)(machines * repetitions), sizeof(struct run));
	for (int m = 0; m < machines; m++) {
		for (int r = 0; r < repetitions; r++) {
			struct run *run = &set.items[set.n++];

			*run = (struct run){ .machine = mem_format("m%d", m),
					     .taken_ms = way ? 1000 * turn_of(m, side, r) : 1000,
					     .repetition = r + 1,
					     .metric = cost[m][r],
					     .recorded = 1 };
			snprintf(run->plan, sizeof(run->plan), "%s", way ? "plan" : "");
			if (way >= PLAN_TIMES) {
				run->usage = (struct metric_usage){ llround(1e9 * cost[m][r]), llround(1e6 * cpu[m][r]), 0 };
				run->metric = (double)run->usage.wall_ns / 1e9;
				run->withheld_ns[RUN_WAITED] = 0;
			}
		}
	}
	return set;
}

/* Returns the samples of a run as text, at one sample per ms. */
static char *samples_of(const double *of, struct rng *rng)
{
	struct buf text = BUF_INIT, lines = BUF_INIT;
	int all = 0;

	for (size_t f = 0; f < FUNCTIONS; f++) {
		int met = (int)fmax(0, round(1000 * of[f] + sqrt(1000 * of[f]) * rng_normal(rng)));

		if (met)
			buf_format(&lines, "%d line w.c:%zu:1 f%zu\n", met, f + 1, f);
		all += met;
	}
	buf_format(&text, "1000000 period ns\n1 processes -\n%d user /d/run\n%s", all, lines.bytes ? lines.bytes : "");
	buf_release(&lines);
	return buf_take(&text);
}

static struct measured_side measured_of_set(const struct run_set *set, int side, int repetitions, const struct parts *parts,
					    struct rng *rng)
{
	struct measured_side out = { "run", mem_new(set->n, sizeof(*out.runs)), set->n, parts };

	for (size_t i = 0; i < set->n; i++) {
		const struct run *run = &set->items[i];

		out.runs[i] = (struct measured_run){ run->machine,
						     0,
						     run->repetition,
						     { .wall = (double)run->usage.wall_ns / 1e9, .user = (double)run->usage.user_us / 1e6 },
						     samples_of(spent[side][i / (size_t)repetitions][i % (size_t)repetitions], rng),
						     NULL };
	}
	return out;
}

static enum decision decide_compared(struct run_set sides[2], int repetitions, struct rng *rng)
{
	const struct evidence evidence = { 0 };
	struct sampled *sampled = mem_new(1, sizeof(*sampled));
	struct levels levels = { .runs = 1 };
	const struct parts parts = { .levels = &levels, .sampled = sampled };
	struct measured_side measured[] = { measured_of_set(&sides[0], 0, repetitions, &parts, rng),
					    measured_of_set(&sides[1], 1, repetitions, &parts, rng) };
	struct comparison c;
	struct assay_error err;
	enum decision decision;

	if (comparison_compute(NULL,
			       &(struct comparison_request){ .evidence = &evidence,
							     .baseline = &sides[0],
							     .candidate = &sides[1],
							     .min_effect = .03,
							     .last = COMPARISON_MEASURED,
							     .sides = measured },
			       &c, &err))
		abort();
	decision = c.verdict.effect.decision;
	confirmed += c.confirmed;
	comparison_release(&c);
	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < measured[side].n; i++)
			mem_free((void *)(uintptr_t)measured[side].runs[i].samples);
		free(measured[side].runs);
	}
	free(sampled);
	return decision;
}

static enum decision decide(struct rng *rng, double cost[2][MACHINES_MAX][REPETITIONS_MAX], double cpu[2][MACHINES_MAX][REPETITIONS_MAX],
			    int machines, int repetitions, enum way way, double level)
{
	const struct evidence evidence = { 0 };
	const struct lab_config config = { .min_effect = .03 };
	struct run_set sides[2] = { set_of(0, cost[0], cpu[0], machines, repetitions, way, level),
				    set_of(1, cost[1], cpu[1], machines, repetitions, way, level) };
	struct assay_error err;
	enum decision decision;
	struct verdict v;

	if (way == PLAN_FUNCTIONS) {
		decision = decide_compared(sides, repetitions, rng);
	} else {
		if (verdict_compute(&evidence, &config, &sides[0], &sides[1], .03, &v, &err))
			abort();
		decision = v.effect.decision;
		verdict_release(&v);
	}
	for (int side = 0; side < 2; side++)
		run_set_release(&sides[side]);
	return decision;
}

/* Draws the CPU time of each function of a run into of[]. The first function gets the slowdown and 1 % noise. The others take 0.5 to 1.5
 * times their usual time, as if input or other threads determined their work. Returns the sum. */
static double spend(double *of, double slower, struct rng *rng)
{
	double all = 0;

	for (size_t f = 0; f < FUNCTIONS; f++) {
		of[f] = functions[f] * (f ? .5 + rng_double(rng) : exp(.01 * rng_normal(rng))) + (f ? 0 : slower - 1);
		all += of[f];
	}
	return all;
}

/* Simulates one comparison. repetitions 0: interim analyses, each with twice as many repetitions, until there is a decision. */
static enum decision draw(const struct noise *kind, int machines, int repetitions, enum way way, double slower, struct rng *rng)
{
	static double cost[2][MACHINES_MAX][REPETITIONS_MAX], cpu[2][MACHINES_MAX][REPETITIONS_MAX];
	int first = way >= PLAN_TIMES ? EFFECT_PAIRS_MIN : LOOK_FIRST;
	int all = repetitions ? repetitions : (int)analysis_repetitions(first, ANALYSES_MAX);
	enum decision decision = DECISION_INCONCLUSIVE;

	for (int m = 0; m < machines; m++) {
		first_on[m] = (int)rng_below(rng, 2);
		for (int r = 0; r < all; r++) {
			for (int turn = 0; turn < 2; turn++) {
				int side = turn ^ ((r ^ first_on[m]) & 1);
				double place = turn_of(m, side, r) / (2.0 * all);

				cost[side][m][r] = on_tick(kind, kind->noise(rng, place) * (side ? slower : 1));
				cpu[side][m][r] = .9 * noise_normal(rng, place) * (side ? slower : 1);
				if (way == PLAN_FUNCTIONS) { /* plus waiting, which takes 0.2 */
					cpu[side][m][r] = spend(spent[side][m][r], side ? slower : 1, rng);
					cost[side][m][r] = on_tick(kind, cpu[side][m][r] + .2 * kind->noise(rng, place));
				}
			}
		}
	}
	if (repetitions)
		return decide(rng, cost, cpu, machines, repetitions, way, 0);
	for (int look = 1; look <= ANALYSES_MAX && decision == DECISION_INCONCLUSIVE; look++)
		decision = decide(rng, cost, cpu, machines, (int)analysis_repetitions(first, look), way,
				  analysis_level(look, look == ANALYSES_MAX));
	return decision;
}

static void row(const struct noise *kind, int machines, int repetitions, enum way way, int draws, int found_draws)
{
	static const char *const ways[] = { "data set", "one plan", "one plan, with processor time", "functions" };
	int worse = 0, better = 0, found = 0;
	size_t by_functions = 0, wrongly = 0;
	struct rng rng;

	rng_seed(&rng, 47 + (uint64_t)(machines * 100 + repetitions));
	for (int i = 0; i < draws; i++) {
		enum decision d;

		confirmed = 0;
		d = draw(kind, machines, repetitions, way, 1, &rng);
		wrongly += confirmed;
		confirmed = 0;
		worse += d == DECISION_REGRESSION;
		better += d == DECISION_IMPROVED;
		found += i < found_draws &&
			 draw(kind, machines, repetitions, way, way == PLAN_FUNCTIONS ? 1.06 : 1.1, &rng) == DECISION_REGRESSION;
		by_functions += confirmed;
	}
	printf("| %s | %s | %d | ", kind->name, ways[way], machines);
	printf(repetitions ? "%d" : "looks", repetitions);
	printf(" | %.4f | %.4f | %.3f |", worse / (double)draws, better / (double)draws, found / (double)found_draws);
	if (way == PLAN_FUNCTIONS)
		printf(" %.4f | %.3f |", (double)wrongly / draws, (double)by_functions / found_draws);
	printf("\n");
	fflush(stdout);
}

/* bench_decisions DRAWS prints all rows. bench_decisions DRAWS KIND MACHINES REPETITIONS [functions] prints one row of a plan, with a
 * fifth of the draws for the power. `functions` adds the shares of decisions based on functions, unchanged and slower. */
int main(int argc, char **argv)
{
	static const int machines[] = { 1, 2, 3, 10 }, repetitions[] = { 1, 3, 20 }, planned[] = { 3, 6, 20, 60, 0 };
	int draws = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 2000;

	if (argc >= 5) {
		row(&kinds[strtol(argv[2], NULL, 10)], (int)strtol(argv[3], NULL, 10), (int)strtol(argv[4], NULL, 10),
		    argc > 5 ? PLAN_FUNCTIONS : PLAN, draws, draws / 5);
		return 0;
	}
	printf("| noise | runs of | machines | repetitions | unchanged: regression | unchanged: improved | 10 %% slower: regression |\n"
	       "| --- | --- | ---: | ---: | ---: | ---: | ---: |\n");
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (size_t m = 0; m < sizeof(machines) / sizeof(machines[0]); m++)
			for (size_t r = 0; r < sizeof(repetitions) / sizeof(repetitions[0]); r++)
				row(&kinds[k], machines[m], repetitions[r], DATA_SET, draws, draws);
		for (int m = 1; m <= 3; m++)
			for (size_t r = 0; r < sizeof(planned) / sizeof(planned[0]); r++)
				row(&kinds[k], m, planned[r], PLAN, draws, draws);
		row(&kinds[k], 1, EFFECT_PAIRS_MIN, PLAN_TIMES, draws, draws);
		row(&kinds[k], 1, 0, PLAN_TIMES, draws, draws);
	}
	return 0;
}

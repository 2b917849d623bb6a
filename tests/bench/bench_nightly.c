/* Replays nights from recorded noise. Pairs of versions are identical, or one version computes more. The code of the nightly command
 * decides and confirms (gate/comparison/calibration.h). Usage: bench_nightly RECORD.csv PAIRS EFFECT... A line of the record starts with
 * "wall_ns,user_us,sys_us,run_delay_ns"; lines are in order of time. Each host uses the whole record from a different offset. A pair
 * uses a stretch of each host's record, and versions alternate as in a plan (A B B A). Options before RECORD.csv: --designs also
 * evaluates fixed numbers of repetitions; --detectable checks the minimum detectable effect; --improved measures how often a pair is
 * reported faster, on separate hosts and on hosts that share a computer; --improved-own does the same with the program's own metric
 * instead of the wall-clock time. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "base/text.h"
#include "gate/decide/effect.h"
#include "gate/nightly/replay.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTS 6
#define FIRST 4 /* repetitions at the first interim analysis */

struct recorded {
	int64_t wall_ns, user_us, sys_us, delay_ns;
};

static struct recorded *record;
static size_t n_record;

static void load(const char *path)
{
	FILE *file = fopen(path, "r");
	size_t capacity = 0;
	struct recorded r;
	char line[200];

	if (!file) {
		fprintf(stderr, "bench_nightly: cannot read '%s'\n", path);
		exit(1);
	}
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%" SCNd64, &r.wall_ns, &r.user_us, &r.sys_us, &r.delay_ns) < 4)
			break;
		record = mem_grow(record, n_record, &capacity, sizeof(*record));
		record[n_record++] = r;
	}
	fclose(file);
	if (n_record < 4 * (size_t)analysis_repetitions(FIRST, ANALYSES_MAX)) {
		fprintf(stderr, "bench_nightly: too few runs in '%s'\n", path);
		exit(1);
	}
}

/* Source of random noise per run for --detectable, so that pairs share no noise. The injected slowdown then scales all of a run, waiting
 * included. NULL: noise in recorded order, and a slowdown of the CPU time only, which lengthens the wall-clock time by the same amount. */
static struct rng *drawn;

/* True: all hosts share a computer, and half of the disturbance is common. Each run is the mean of a line of the record for all hosts
 * and a line of its own. False: each host uses the whole record from a different offset. */
static bool together;

/* True: the metric is the program's own (the wall-clock time in other units), not covered by resource usage counters. */
static bool own_metric;

static struct run run_of(const struct recorded *r, size_t host, int64_t repetition, double factor)
{
	double cpu = (double)r->user_us + (double)r->sys_us, more = (factor - 1) * (drawn ? (double)r->wall_ns : cpu * 1e3);
	struct run run = { .machine = mem_format("h%zu", host), .repetition = repetition, .recorded = 1, .plan = "p" };
	struct helper_result counters;

	run.usage = (struct metric_usage){ r->wall_ns + (int64_t)more, (int64_t)(factor * cpu), 0 };
	run.metric = (double)run.usage.wall_ns / (own_metric ? 1e6 : 1e9);
	memset(&counters, 0xff, sizeof(counters)); /* every number is -1: not measured */
	counters.run_delay_ns = drawn && r->delay_ns > 0 ? (int64_t)(factor * (double)r->delay_ns) : r->delay_ns;
	run_set_withheld(&run, &counters);
	return run;
}

static struct recorded mean_of(const struct recorded *a, const struct recorded *b)
{
	return (struct recorded){ (a->wall_ns + b->wall_ns) / 2, (a->user_us + b->user_us) / 2, (a->sys_us + b->sys_us) / 2,
				  (a->delay_ns + b->delay_ns) / 2 };
}

/* Makes the runs of both sides; each side gets every second run of the record. */
static void sides_of(double factor, struct run_set sides[2])
{
	int64_t repetitions = (int64_t)n_record / 2;

	for (int side = 0; side < 2; side++)
		sides[side] = (struct run_set){ .application = mem_string("app"),
						.version = mem_string(side ? "new" : "old"),
						.items = mem_new(HOSTS * (size_t)repetitions, sizeof(struct run)) };
	for (size_t h = 0; h < HOSTS; h++) {
		for (int64_t r = 0; r < repetitions; r++) {
			for (int place = 0; place < 2; place++) {
				int side = (r + place) % 2 != 0;
				size_t run = (size_t)(2 * r + place), own = h * n_record / HOSTS + run;
				struct recorded line = record[drawn ? rng_below(drawn, n_record) : own % n_record];

				if (together)
					line = mean_of(&record[run], &line);
				sides[side].items[sides[side].n++] = run_of(&line, h, r + 1, side ? factor : 1);
			}
		}
	}
}

/* Replays pairs. at_once: number of repetitions if there is only one analysis; 0: interim analyses. */
static struct replay_counts replayed(double effect, size_t pairs, int64_t at_once, struct rng *rng)
{
	static const struct evidence evidence;
	static const struct lab_config config;
	struct run_set sides[2];
	struct replay_counts c;
	struct replay replay = { .sides = { &sides[0], &sides[1] },
				 .repetitions = (int64_t)n_record / 2,
				 .first = FIRST,
				 .min_effect = .03,
				 .identical = !(fabs(effect) > 0),
				 .together = together,
				 .at_once = at_once };

	sides_of(1 + effect, sides);
	if (!replay_pairs(&evidence, &config, &replay, pairs, rng, &c))
		exit(1);
	run_set_release(&sides[0]);
	run_set_release(&sides[1]);
	return c;
}

static void print_counts(double effect, size_t pairs, bool at_once, struct rng *rng)
{
	struct replay_counts c = replayed(effect, pairs, at_once ? analysis_repetitions(FIRST, ANALYSES_MAX) : 0, rng);

	printf("| %s | %+.0f %% | %zu |", at_once ? "all at once" : "looks", 100 * effect, pairs);
	for (int d = 0; d <= DECISION_ENVIRONMENT; d++)
		printf(" %zu |", c.decision[d]);
	printf(" %zu | %zu, %zu | %.1f |\n", c.confirmed[DECISION_REGRESSION], c.by_wall_time[DECISION_REGRESSION],
	       c.by_wall_time[DECISION_INCONCLUSIVE], c.mean_repetitions);
	fflush(stdout);
}

/* Prints a row: how many unchanged pairs pass, how many injected slowdowns are found. */
static void print_design(int64_t at_once, const double *effects, size_t n, size_t pairs)
{
	double repetitions[8];
	struct rng rng;

	rng_seed(&rng, 17);
	if (at_once)
		printf("| %" PRId64 " |", at_once);
	else
		printf("| looks |");
	for (size_t i = 0; i < n; i++) {
		struct replay_counts c = replayed(effects[i], pairs, at_once, &rng);

		printf(" %zu |", c.decision[effects[i] > 0 ? DECISION_REGRESSION : DECISION_PASS]);
		repetitions[i] = c.mean_repetitions;
	}
	for (size_t i = 0; i < n; i++)
		printf(" %.1f%s", repetitions[i], i + 1 < n ? "," : " |\n");
	fflush(stdout);
}

static void print_designs(const double *effects, size_t n, size_t pairs)
{
	static const int64_t fixed[] = { 4, 8, 12, 16, 20, 24, 32, 40, 48, 64 };

	print_design(0, effects, n, pairs);
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		print_design(fixed[i], effects, n, pairs);
}

/* Prints rows for separate hosts, then for hosts that share a computer. */
static void print_improved(const double *effects, size_t n, size_t pairs)
{
	for (size_t i = 0; i < 2 * n; i++) {
		struct replay_counts c;
		struct rng rng;

		rng_seed(&rng, 17);
		together = i / n;
		c = replayed(effects[i % n], pairs, 0, &rng);
		printf("| %s | %s | %+.0f %% | %zu | %zu | %zu | %zu | %zu | %zu | %zu | %zu | %.1f |\n",
		       together ? "of one computer" : "apart", own_metric ? "its own" : "wall-clock", 100 * effects[i % n], pairs,
		       c.decision[DECISION_IMPROVED], c.confirmed[DECISION_IMPROVED], c.decision[DECISION_REGRESSION],
		       c.confirmed[DECISION_REGRESSION], c.decision[DECISION_PASS], c.decision[DECISION_INCONCLUSIVE],
		       c.decision[DECISION_ENVIRONMENT], c.mean_repetitions);
		fflush(stdout);
	}
}

/* Takes the minimum detectable effect that each unchanged pair reports, and injects it into another pair. */
static void print_detectable(int64_t at_once, size_t pairs)
{
	double *said = mem_new(pairs, sizeof(*said));
	size_t found = 0;
	struct rng rng;

	rng_seed(&rng, 17);
	drawn = &rng;
	for (size_t i = 0; i < pairs; i++) {
		said[i] = replayed(0, 1, at_once, &rng).detectable;
		found += replayed(said[i], 1, at_once, &rng).decision[DECISION_REGRESSION];
	}
	if (at_once)
		printf("| %" PRId64 " |", at_once);
	else
		printf("| looks |");
	printf(" %.1f %% (%.1f to %.1f) | %zu of %zu |\n", 100 * stats_median(said, pairs), 100 * stats_quantile(said, pairs, .05),
	       100 * stats_quantile(said, pairs, .95), found, pairs);
	fflush(stdout);
	free(said);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 && strncmp(argv[1], "--", 2) == 0 ? argv[1] : "";
	double effects[8] = { 0 };
	struct rng rng;
	int64_t pairs;
	size_t n = 0;

	argc -= *how != 0;
	argv += *how != 0;
	if (argc < 3 || argc > 11 || !text_parse_int64(argv[2], &pairs) || pairs < 1)
		return 2;
	for (int i = 3; i < argc; i++)
		if (!text_parse_double(argv[i], &effects[n++]))
			return 2;
	load(argv[1]);
	rng_seed(&rng, 17);
	own_metric = strcmp(how, "--improved-own") == 0;
	if (own_metric || strcmp(how, "--improved") == 0) {
		print_improved(effects, n, (size_t)pairs);
	} else if (strcmp(how, "--designs") == 0) {
		print_designs(effects, n, (size_t)pairs);
	} else if (strcmp(how, "--detectable") == 0) {
		for (int look = 1; look <= ANALYSES_MAX; look++)
			print_detectable(analysis_repetitions(FIRST, look), (size_t)pairs);
		print_detectable(0, (size_t)pairs);
	} else {
		for (size_t i = 0; i < n; i++) {
			print_counts(effects[i], (size_t)pairs, false, &rng);
			print_counts(effects[i], (size_t)pairs, true, &rng);
		}
	}
	free(record);
	return 0;
}

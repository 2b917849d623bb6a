/* Simulates a laboratory of six machines over 26 weeks and runs the code of `host drift`. Measures how often it reports an unchanged
 * machine, and how soon it detects a machine that became 10 % slower. Usage: bench_drift RECORD.csv [REPETITIONS [SCENARIO]]. The record
 * has sessions of unchanged machines: machine, round, load, stressor, rate of each pass. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "fingerprint/compare/compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define HOSTS	      6
#define WEEKS	      26
#define PASSES	      3
#define STRESSORS_MAX 40
#define RECORDED_MAX  400 /* sessions */
#define SOONEST	      4	  /* minimum number of weeks before the slowdown */
#define WITHIN	      3	  /* number of weeks within which the slowdown has to be detected */

/* ---- the record ---- */

static char names[STRESSORS_MAX][32], *stressors[STRESSORS_MAX];
static size_t n_stressors, n_recorded, hosts_recorded, rounds_recorded;
static double recorded[RECORDED_MAX][STRESSORS_MAX][PASSES]; /* logarithms minus the machine's own level; [round * hosts + host] */
static double session_sd[STRESSORS_MAX], pass_sd[STRESSORS_MAX], common_sd;

static size_t stressor_index(const char *name)
{
	size_t j = 0;

	while (j < n_stressors && strcmp(names[j], name) != 0)
		j++;
	if (j == n_stressors) {
		snprintf(names[j], sizeof(names[j]), "%s", name);
		stressors[j] = names[j];
		n_stressors++;
	}
	return j;
}

static void load(const char *path)
{
	FILE *file = fopen(path, "r");
	char machine[64], first[64] = "", stressor[32], line[512];
	double load1, rates[PASSES];
	size_t round;

	for (size_t i = 0; i < RECORDED_MAX; i++) {
		for (size_t j = 0; j < STRESSORS_MAX * PASSES; j++)
			recorded[i][j / PASSES][j % PASSES] = (double)NAN;
	}
	while (file && fgets(line, sizeof(line), file)) {
		static char machines[HOSTS][64];
		size_t host = 0, j;

		if (sscanf(line, "%63[^,],%zu,%lf,%31[^,],%lf,%lf,%lf", machine, &round, &load1, stressor, &rates[0], &rates[1],
			   &rates[2]) != 7)
			continue;
		while (host < hosts_recorded && strcmp(machines[host], machine) != 0)
			host++;
		if (host == hosts_recorded)
			snprintf(machines[hosts_recorded++], sizeof(first), "%s", machine);
		j = stressor_index(stressor);
		rounds_recorded = round > rounds_recorded ? round : rounds_recorded;
		for (size_t i = 0; i < PASSES; i++)
			recorded[(round - 1) * HOSTS + host][j][i] = log(rates[i]);
	}
	if (!file || hosts_recorded != HOSTS) {
		fprintf(stderr, "drift_weeks: no sessions of %d machines in '%s'\n", HOSTS, path);
		exit(1);
	}
	fclose(file);
	n_recorded = rounds_recorded * HOSTS;
}

/* Returns the median of the numbers in x[n] that are not NaN (NaN if none). Sets *sd to their standard deviation. */
static double middle(const double *x, size_t n, double *sd)
{
	double known[RECORDED_MAX] = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		if (!isnan(x[i]))
			known[count++] = x[i];
	}
	*sd = stats_sd(known, count);
	return count ? stats_median(known, count) : (double)NAN;
}

/* Subtracts the level of each machine and computes the standard deviations of the residuals. */
static void center(void)
{
	double medians[RECORDED_MAX], commons[RECORDED_MAX], unbiased = sqrt((double)rounds_recorded / (double)(rounds_recorded - 1)), sd;

	for (size_t j = 0; j < n_stressors; j++) {
		double within = 0, between = 0;

		for (size_t host = 0; host < HOSTS; host++) {
			double level;

			for (size_t r = 0; r < rounds_recorded; r++) {
				medians[r] = middle(recorded[r * HOSTS + host][j], PASSES, &sd);
				within += sd * sd / (double)n_recorded;
			}
			level = middle(medians, rounds_recorded, &sd);
			between += sd * sd / HOSTS;
			for (size_t r = 0; r < rounds_recorded; r++) {
				for (size_t i = 0; i < PASSES; i++)
					recorded[r * HOSTS + host][j][i] += unbiased * (medians[r] - level) - medians[r];
			}
		}
		pass_sd[j] = sqrt(within);
		session_sd[j] = sqrt(fmax(between - 1.16 * 1.16 * within / PASSES, 0)); /* minus the contribution of the passes */
	}
	for (size_t s = 0; s < n_recorded; s++) {
		for (size_t j = 0; j < n_stressors; j++)
			medians[j] = middle(recorded[s][j], PASSES, &sd);
		commons[s] = middle(medians, n_stressors, &sd);
	}
	common_sd = stats_sd(commons, n_recorded);
}

/* ---- weeks ---- */

static const struct scenario {
	const char *name;
	enum { TOGETHER, APART, DRAWN } how; /* recorded sessions of one round for all hosts; of any round; normal noise */
	double size;			     /* factor on all noise; 0 means 1 */
	double common;			     /* standard deviation of the noise common to all stressors; 0: as recorded */
	bool heavy;			     /* true: t distribution with 3 degrees of freedom and the same median deviation */
	double memory;			     /* correlation of a host's common noise from week to week */
	double noisy;			     /* noise of the first host relative to the others; 0 means 1 */
	double busy;			     /* share of weeks in which the second host is 20 % slower and reports a load */
	size_t passes;			     /* passes per session; 0: as recorded */
} scenarios[] = {
	{ .name = "recorded, a round for all hosts", .how = TOGETHER },
	{ .name = "recorded, each host drawn", .how = APART },
	{ .name = "normal, as large as recorded", .how = DRAWN },
	{ .name = "normal, a third of that", .how = DRAWN, .size = .333 },
	{ .name = "heavy tails", .how = DRAWN, .heavy = true },
	{ .name = "normal, 4 % in common", .how = DRAWN, .common = .04 },
	{ .name = "normal, 4 % in common, correlation .3", .how = DRAWN, .common = .04, .memory = .3 },
	{ .name = "normal, one host three times as noisy", .how = DRAWN, .noisy = 3 },
	{ .name = "normal, one host busy in 0.3 of the weeks", .how = DRAWN, .busy = .3 },
	{ .name = "recorded, one host busy in 0.3 of the weeks", .how = APART, .busy = .3 },
	{ .name = "recorded, each host drawn, 2 passes", .how = APART, .passes = 2 },
	{ .name = "recorded, each host drawn, 1 pass", .how = APART, .passes = 1 },
};

static double noise(struct rng *rng, bool heavy)
{
	double z = rng_normal(rng), a, b, c;

	if (!heavy)
		return z;
	a = rng_normal(rng), b = rng_normal(rng), c = rng_normal(rng);
	return z / sqrt((a * a + b * b + c * c) / 3);
}

static char battery[] = "b", hash[] = "0123456789abcdef", version[] = "0.15.06", architecture[] = "x86_64", origin[] = "measured",
	    host_names[HOSTS][8], idle[] = "{\"load1\":0.05,\"cpus_online\":4}", busy[] = "{\"load1\":3.9,\"cpus_online\":4}";
static double rates[HOSTS * WEEKS][PASSES * STRESSORS_MAX];
static int64_t passes[PASSES] = { 1, 2, 3 };
static struct fingerprint items[HOSTS * WEEKS];
static struct fingerprint_set set;

static void draw_session(struct rng *rng, const struct scenario *s, size_t host, size_t round, double *common, double shift, double *out)
{
	double size = (s->size > 0 ? s->size : 1) * (s->noisy > 0 && host == 0 ? s->noisy : 1);
	double(*session)[PASSES] = recorded[s->how == TOGETHER ? round * HOSTS + rng_below(rng, HOSTS) : rng_below(rng, n_recorded)];

	*common = s->memory * *common + sqrt(1 - s->memory * s->memory) * noise(rng, s->heavy);
	for (size_t j = 0; j < n_stressors; j++) {
		double between = noise(rng, s->heavy) * session_sd[j] + *common * (s->common > 0 ? s->common : common_sd);

		for (size_t i = 0; i < PASSES; i++)
			out[i * n_stressors + j] =
			    1000 * exp(shift + size * (s->how == DRAWN ? between + noise(rng, s->heavy) * pass_sd[j] : session[j][i]));
	}
}

/* Draws all weeks. The third host is 10 % slower from week `slow` on. */
static void draw_weeks(struct rng *rng, const struct scenario *s, size_t slow)
{
	double common[HOSTS] = { 0 };

	for (size_t week = 0; week < WEEKS; week++) {
		size_t round = rng_below(rng, rounds_recorded);

		for (size_t host = 0; host < HOSTS; host++) {
			size_t at = host * WEEKS + week;
			bool is_busy = host == 1 && rng_double(rng) < s->busy;

			items[at] = (struct fingerprint){ .machine = host_names[host],
							  .battery = battery,
							  .battery_hash = hash,
							  .stress_ng = version,
							  .architecture = architecture,
							  .origin = origin,
							  .taken_ms = (int64_t)week + 1,
							  .passes = passes,
							  .n_passes = s->passes ? s->passes : PASSES,
							  .rates = rates[at],
							  .conditions = is_busy ? busy : idle };
			snprintf(items[at].id, sizeof(items[at].id), "%016zx", at);
			draw_session(rng, s, host, round, &common[host],
				     (host == 2 && week >= slow ? log(.9) : 0) + (is_busy ? log(.8) : 0), rates[at]);
		}
	}
}

/* ---- results of `host drift` ---- */

struct outcome {
	double host_weeks, weeks, found, ever; /* shares */
};

static void look(size_t slow, struct outcome *o, double weight)
{
	struct lab_config config = { 0 };
	struct catalog catalog = { .directory = mem_string("") };
	struct types types;
	double wrong = 0, any = 0, found = 0, ever = 0;
	size_t unchanged = 0;

	for (size_t i = 0; i < HOSTS * WEEKS; i++)
		machine_put_fingerprint(catalog_ensure_machine(&catalog, items[i].machine), &set, &items[i]);
	for (size_t i = 0; i < catalog.n; i++) {
		for (size_t k = 0; k < WEEKS; k++) {
			catalog.machines[i].fingerprints[k].type = mem_string("t");
			catalog.machines[i].fingerprints[k].type_given_by = mem_string("bench");
		}
	}
	types_compute(&catalog, &config, &types);
	for (size_t week = 1; week < WEEKS; week++) {
		struct drift drift;
		size_t differ = 0;

		drift_find(&catalog, &set, &types, (int64_t)week + 1, &drift);
		for (size_t i = 0; i < drift.n; i++) {
			bool flagged = drift.past[i].compare.n_differing > 0 || drift.peers[i].n > 0;

			if (i == 2 && week >= slow) {
				found = flagged && week < slow + WITHIN ? 1 : found;
				ever = flagged ? 1 : ever;
				continue;
			}
			unchanged++;
			differ += flagged;
		}
		wrong += (double)differ;
		any += (double)(differ > 0) / (WEEKS - 1);
		drift_release(&drift);
	}
	o->host_weeks += weight * wrong / (double)unchanged;
	o->weeks += weight * any;
	o->found += weight * found;
	o->ever += weight * ever;
	types_release(&types);
	catalog_release(&catalog);
}

int main(int argc, char **argv)
{
	size_t times = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : 200;

	if (argc < 2)
		return 2;
	load(argv[1]);
	center();
	if (argc < 4) {
		printf("| stressor | between sessions | between passes |\n| --- | --- | --- |\n");
		for (size_t j = 0; j < n_stressors; j++)
			printf("| %s | %.1f %% | %.1f %% |\n", names[j], 100 * session_sd[j], 100 * pass_sd[j]);
		printf("| all, in common | %.1f %% | |\n\n", 100 * common_sd);
		printf("| noise | unchanged hosts | weeks with one | found in three weeks | ever |\n| --- | --- | --- | --- | --- |\n");
	}
	for (size_t i = 0; i < HOSTS; i++)
		snprintf(host_names[i], sizeof(host_names[i]), "h%zu", i + 1);
	set = (struct fingerprint_set){ stressors, n_stressors, items, HOSTS * WEEKS };
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		struct outcome o = { 0 };
		struct rng rng;

		if (argc > 3 && strtoul(argv[3], NULL, 10) != i)
			continue;
		rng_seed(&rng, 46);
		for (size_t k = 0; k < times; k++) {
			size_t slow = SOONEST + rng_below(&rng, WEEKS - WITHIN + 1 - SOONEST);

			draw_weeks(&rng, &scenarios[i], slow);
			look(slow, &o, 1 / (double)times);
		}
		printf("| %s | %.3f | %.3f | %.2f | %.2f |\n", scenarios[i].name, o.host_weeks, o.weeks, o.found, o.ever);
		fflush(stdout);
	}
	return 0;
}

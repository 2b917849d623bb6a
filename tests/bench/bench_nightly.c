/* Nights replayed from recorded noise: pairs of versions that are one and the same, or of which one computes more, decided as `assay gate
 * --run` decides. Usage: bench_nightly RECORD.csv PAIRS EFFECT...; the record is "wall_ns,user_us,sys_us,run_delay_ns" in the order of
 * time. Each host of a night is a stretch of it from a place that is drawn; versions take turns on it as in a plan (A B B A). */
#include "base/mem.h"
#include "base/rng.h"
#include "base/text.h"
#include "gate/decide/looks.h"
#include "gate/decide/verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define HOSTS 6
#define FIRST 3 /* repetitions at the first look */

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

	if (!file) {
		fprintf(stderr, "bench_nightly: cannot read '%s'\n", path);
		exit(1);
	}
	while (fscanf(file, "%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%" SCNd64 " ", &r.wall_ns, &r.user_us, &r.sys_us, &r.delay_ns) == 4) {
		record = mem_grow(record, n_record, &capacity, sizeof(*record));
		record[n_record++] = r;
	}
	fclose(file);
	if (n_record < 4 * (size_t)looks_repetitions(FIRST, LOOKS_MAX)) {
		fprintf(stderr, "bench_nightly: too few runs in '%s'\n", path);
		exit(1);
	}
}

static struct run run_of(const struct recorded *r, size_t host, int64_t repetition, double factor)
{
	double cpu = (double)r->user_us + (double)r->sys_us;
	struct run run = { .machine = mem_format("h%zu", host), .repetition = repetition, .recorded = 1, .plan = "p" };

	run.usage = (struct metric_usage){ r->wall_ns + (int64_t)((factor - 1) * cpu * 1e3), (int64_t)(factor * cpu), 0 };
	run.metric = (double)run.usage.wall_ns / 1e9;
	run.withheld_ns[RUN_WAITED] = r->delay_ns;
	return run;
}

/* Both sides with `repetitions` on each host. */
static void sides_of(const size_t start[HOSTS], int64_t repetitions, double factor, struct run_set sides[2])
{
	for (int side = 0; side < 2; side++)
		sides[side] = (struct run_set){ .application = mem_string("app"),
						.version = mem_string(side ? "new" : "old"),
						.items = mem_new(HOSTS * (size_t)repetitions, sizeof(struct run)) };
	for (size_t h = 0; h < HOSTS; h++) {
		for (int64_t r = 0; r < repetitions; r++) {
			for (int place = 0; place < 2; place++) {
				int side = (r + place) % 2 != 0;

				sides[side].items[sides[side].n++] =
				    run_of(&record[(start[h] + (size_t)(2 * r + place)) % n_record], h, r + 1, side ? factor : 1);
			}
		}
	}
}

struct count {
	size_t decision[DECISIONS], by_wall[DECISIONS];
	double repetitions;
};

static bool settled(enum decision d)
{
	return d == DECISION_REGRESSION || decision_exit(d) == 0;
}

/* One pair, from look `first` on. */
static void night(const size_t start[HOSTS], double factor, int first, struct count *count)
{
	static const struct evidence evidence;
	static const struct lab_config config;
	enum decision decision = DECISION_INCONCLUSIVE, by_wall = decision;
	int look = first;

	for (; look <= LOOKS_MAX && !settled(decision); look++) {
		struct run_set sides[2];
		struct assay_error err;
		struct verdict v;

		sides_of(start, looks_repetitions(FIRST, look), factor, sides);
		sides[0].level = first == LOOKS_MAX ? EFFECT_LEVEL : looks_level(look, false);
		if (verdict_of(&evidence, &config, &sides[0], &sides[1], .03, &v, &err))
			exit(1);
		decision = v.effect.decision;
		by_wall = v.by_interval;
		verdict_release(&v);
		run_set_release(&sides[0]);
		run_set_release(&sides[1]);
	}
	count->decision[decision]++;
	count->by_wall[by_wall]++;
	count->repetitions += (double)looks_repetitions(FIRST, look - 1);
}

static void print(const char *design, double effect, size_t pairs, const struct count *c)
{
	printf("| %s | %+.0f %% | %zu |", design, 100 * effect, pairs);
	for (int d = 0; d <= DECISION_ENVIRONMENT; d++)
		printf(" %zu |", c->decision[d]);
	printf(" %zu, %zu | %.1f |\n", c->by_wall[DECISION_REGRESSION], c->by_wall[DECISION_INCONCLUSIVE], c->repetitions / (double)pairs);
}

int main(int argc, char **argv)
{
	struct rng rng;
	int64_t pairs;

	if (argc < 4 || !text_int64(argv[2], &pairs) || pairs < 1)
		return 2;
	load(argv[1]);
	rng_seed(&rng, 17);
	for (int i = 3; i < argc; i++) {
		struct count looked = { .repetitions = 0 }, once = looked;
		double effect;

		if (!text_double(argv[i], &effect))
			return 2;
		for (int64_t p = 0; p < pairs; p++) {
			size_t start[HOSTS];

			for (size_t h = 0; h < HOSTS; h++)
				start[h] = rng_below(&rng, n_record);
			night(start, 1 + effect, 1, &looked);
			night(start, 1 + effect, LOOKS_MAX, &once);
		}
		print("looks", effect, (size_t)pairs, &looked);
		print("all at once", effect, (size_t)pairs, &once);
	}
	free(record);
	return 0;
}

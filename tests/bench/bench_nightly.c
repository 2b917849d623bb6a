/* Nights replayed from recorded noise: pairs of versions that are one and the same, or of which one computes more, decided and confirmed as
 * a night does (gate/nightly/replay.h). Usage: bench_nightly [--blind] RECORD.csv PAIRS EFFECT...; the record is
 * "wall_ns,user_us,sys_us,run_delay_ns", and where it has them ",pulse_compute_ns,pulse_memory_ns", which --blind does not look at, in the
 * order of time. Each host has all of it, from another place on; a pair has a stretch of each; versions take turns as in a plan (A B B A).
 */
#include "base/mem.h"
#include "base/rng.h"
#include "base/text.h"
#include "gate/decide/effect.h"
#include "gate/nightly/replay.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTS 6
#define FIRST 4 /* repetitions at the first look */

struct recorded {
	int64_t wall_ns, user_us, sys_us, delay_ns, pulse_ns[2];
};

static struct recorded *record;
static size_t n_record;

static void load(const char *path, bool blind)
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
		int known = sscanf(line, "%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%" SCNd64, &r.wall_ns, &r.user_us,
				   &r.sys_us, &r.delay_ns, &r.pulse_ns[0], &r.pulse_ns[1]);

		if (known < 4)
			break;
		if (known < 6 || blind)
			r.pulse_ns[0] = r.pulse_ns[1] = -1;
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
	for (int i = RUN_THROTTLED; i < RUN_WITHHELD; i++)
		run.withheld_ns[i] = -1;
	run.withheld_ns[RUN_PULSE_COMPUTE] = r->pulse_ns[0];
	run.withheld_ns[RUN_PULSE_MEMORY] = r->pulse_ns[1];
	return run;
}

/* Every second run of the record is one side's. */
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

				sides[side].items[sides[side].n++] = run_of(
				    &record[(h * n_record / HOSTS + (size_t)(2 * r + place)) % n_record], h, r + 1, side ? factor : 1);
			}
		}
	}
}

static void replay_and_print(double effect, size_t pairs, bool at_once, struct rng *rng)
{
	static const struct evidence evidence;
	static const struct lab_config config;
	struct run_set sides[2];
	struct replay_counts c;
	struct replay replay = { .sides = { &sides[0], &sides[1] },
				 .repetitions = (int64_t)n_record / 2,
				 .first = FIRST,
				 .min_effect = .03,
				 .identical = effect <= 0,
				 .at_once = at_once };

	sides_of(1 + effect, sides);
	if (!replay_pairs(&evidence, &config, &replay, pairs, rng, &c))
		exit(1);
	printf("| %s | %+.0f %% | %zu |", at_once ? "all at once" : "looks", 100 * effect, pairs);
	for (int d = 0; d <= DECISION_ENVIRONMENT; d++)
		printf(" %zu |", c.decision[d]);
	printf(" %zu | %zu, %zu | %.1f |\n", c.seen_again, c.by_wall[DECISION_REGRESSION], c.by_wall[DECISION_INCONCLUSIVE], c.looked_at);
	fflush(stdout);
	run_set_release(&sides[0]);
	run_set_release(&sides[1]);
}

int main(int argc, char **argv)
{
	struct rng rng;
	int64_t pairs;
	bool blind = argc > 1 && strcmp(argv[1], "--blind") == 0;

	argc -= blind;
	argv += blind;
	if (argc < 4 || !text_int64(argv[2], &pairs) || pairs < 1)
		return 2;
	load(argv[1], blind);
	rng_seed(&rng, 17);
	for (int i = 3; i < argc; i++) {
		double effect;

		if (!text_double(argv[i], &effect))
			return 2;
		replay_and_print(effect, (size_t)pairs, false, &rng);
		replay_and_print(effect, (size_t)pairs, true, &rng);
	}
	free(record);
	return 0;
}

#include "fingerprint/like/like.h"

#include <math.h>

#define SWEEPS_MAX 200
#define GRID	   160 /* doses tried in a row, by equal factors */
#define GAIN_MIN   .01 /* of the sum of squares, for a knob that is off to come on */

/* The profile that has the knob alone, the knob, its highest level. */
static const struct {
	const char *probe;
	size_t offset;
	unsigned high;
	unsigned none; /* the level that is as the machine is */
} knobs[LIKE_KNOBS] = {
	{ "io", offsetof(struct emulate_profile, divisions[SHAPE_DATA]), SHAPE_LEVEL_MAX, 0 },
	{ "meta", offsetof(struct emulate_profile, divisions[SHAPE_METADATA]), SHAPE_LEVEL_MAX, 0 },
	{ "vm", offsetof(struct emulate_profile, divisions[SHAPE_MAPPING]), SHAPE_LEVEL_MAX, 0 },
	{ "process", offsetof(struct emulate_profile, divisions[SHAPE_PROCESSES]), SHAPE_LEVEL_MAX, 0 },
	{ "sync", offsetof(struct emulate_profile, divisions[SHAPE_SYNCHRONISATION]), SHAPE_LEVEL_MAX, 0 },
	{ "net", offsetof(struct emulate_profile, divisions[SHAPE_SOCKETS]), SHAPE_LEVEL_MAX, 0 },
	{ "time", offsetof(struct emulate_profile, divisions[SHAPE_TIME]), SHAPE_LEVEL_MAX, 0 },
	{ "str", offsetof(struct emulate_profile, strings), 64, 0 },
	{ "sort", offsetof(struct emulate_profile, compare), 1000, 1 },
	{ "malloc", offsetof(struct emulate_profile, malloc_steps), 100000, 0 },
	{ "clock", offsetof(struct emulate_profile, interrupts), 30000, 0 },
	{ "fault", offsetof(struct emulate_profile, page_faults), 32, 0 },
	{ "walk", offsetof(struct emulate_profile, page_walks), 2000, 0 },
	{ "bw", offsetof(struct emulate_profile, hog_percent), 100, 0 },
};

const char *like_probe(size_t knob)
{
	return knobs[knob].probe;
}

static unsigned *level_of(struct emulate_profile *profile, size_t knob)
{
	return (unsigned *)(void *)((char *)profile + knobs[knob].offset);
}

/* What a dose of 1 adds to the level. */
static double unit_of(const struct emulate_profile *probes, size_t knob)
{
	return *(const unsigned *)(const void *)((const char *)&probes[knob] + knobs[knob].offset) - (double)knobs[knob].none;
}

double like_predicted(const struct like_costs *costs, size_t stressor, const double doses[LIKE_KNOBS])
{
	double cost = 1;

	for (size_t k = 0; k < LIKE_KNOBS; k++) {
		double added = costs->probed[k][stressor] - 1;

		if (added > LIKE_MOVED)
			cost += added * doses[k];
	}
	return cost;
}

static double error_of(const struct like_costs *costs, const double doses[LIKE_KNOBS])
{
	double sum = 0;

	for (size_t i = 0; i < costs->n; i++) {
		double off = log(costs->target[i] / like_predicted(costs, i, doses));

		if (!isnan(off))
			sum += off * off;
	}
	return sum;
}

/* Moves one knob to the best of its doses; true when that gains enough. */
static bool improve(const struct like_costs *costs, size_t knob, double high, double doses[LIKE_KNOBS], double *error)
{
	double best = doses[knob], before = *error;

	for (int i = 0; i <= GRID; i++) {
		double now;

		doses[knob] = i ? high * pow(.97, GRID - i) : 0;
		now = error_of(costs, doses) + (i ? GAIN_MIN : 0);
		if (now < *error - 1e-9) {
			*error = now;
			best = doses[knob];
		}
	}
	doses[knob] = best;
	return *error < before;
}

void like_fit(const struct like_costs *costs, const struct emulate_profile *probes, double doses[LIKE_KNOBS])
{
	bool better = true;

	for (size_t k = 0; k < LIKE_KNOBS; k++)
		doses[k] = 0;
	for (int sweep = 0; better && sweep < SWEEPS_MAX; sweep++) {
		better = false;
		for (size_t k = 0; k < LIKE_KNOBS; k++) {
			double error = error_of(costs, doses) + (doses[k] > 0 ? GAIN_MIN : 0);

			better |= improve(costs, k, (knobs[k].high - (double)knobs[k].none) / unit_of(probes, k), doses, &error);
		}
	}
}

double like_distance(const double *target, const double *costs, size_t n)
{
	double sum = 0;
	size_t both = 0;

	for (size_t i = 0; i < n; i++) {
		double off = log(target[i] / costs[i]);

		if (isnan(off))
			continue;
		sum += off * off;
		both++;
	}
	return both ? sum / (double)both : (double)NAN;
}

struct emulate_profile like_profile(const struct emulate_profile *probes, const double doses[LIKE_KNOBS])
{
	struct emulate_profile profile = { 0 };

	for (size_t k = 0; k < LIKE_KNOBS; k++)
		*level_of(&profile, k) = doses[k] > 0 ? knobs[k].none + (unsigned)lround(doses[k] * unit_of(probes, k)) : 0;
	if (profile.hog_percent)
		profile.hog_mib = probes[LIKE_KNOBS - 1].hog_mib;
	return profile;
}

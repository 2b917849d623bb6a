/* Synthetic applications whose cost is a weighted sum of recorded stressors, for bench_irup.c. */
#ifndef TESTS_BENCH_IRUP_PLANTED_H
#define TESTS_BENCH_IRUP_PLANTED_H

#include "base/mem.h"
#include "base/rng.h"
#include "gate/profile/profile.h"

#include <math.h>
#include <string.h>

/* Fills `*out` with all fingerprints taken at `taken_ms` (0: at any time), one row per pass, one column per stressor. Leaves the cost 0. */
static void fingerprints(const struct evidence *evidence, int64_t taken_ms, struct profile_rows *out)
{
	const struct fingerprint_set *set = &evidence->fingerprints;
	struct profile_rows r = { .features = mem_new(set->n_stressors, sizeof(char *)),
				  .type_names = mem_new(evidence->types.n, sizeof(char *)) };
	size_t passes = 0, *seen = mem_new(evidence->types.n, sizeof(*seen));

	for (size_t i = 0; i < set->n; i++)
		passes += set->items[i].n_passes;
	r.rates = mat_new(passes, set->n_stressors);
	r.cost = mem_new(passes, sizeof(*r.cost));
	r.type = mem_new(passes, sizeof(*r.type));
	memcpy(r.features, set->stressors, set->n_stressors * sizeof(char *));
	r.rates.rows = 0;
	for (size_t i = 0; i < set->n; i++) {
		size_t type = types_find(&evidence->types, set->items[i].id);

		if (taken_ms && set->items[i].taken_ms != taken_ms)
			continue;
		for (size_t pass = 0; pass < set->items[i].n_passes; pass++) {
			for (size_t j = 0; j < set->n_stressors; j++)
				mat_set(&r.rates, r.rates.rows, j, fingerprint_rate(set, &set->items[i], pass, j));
			r.type[r.rates.rows++] = type;
			seen[type] = 1;
		}
	}
	for (size_t t = 0; t < evidence->types.n; t++) {
		if (seen[t]) {
			seen[t] = r.types;
			r.type_names[r.types++] = evidence->types.types[t].name;
		}
	}
	for (size_t i = 0; i < r.rates.rows; i++)
		r.type[i] = seen[r.type[i]];
	free(seen);
	*out = r;
}

struct plant {
	size_t column[4], n;
	double weight[4], noise;
};

/* Draws `n` columns of different groups at random, with random weights that sum to 1. */
static struct plant plant_of(const struct features *f, size_t n, struct rng *rng)
{
	struct plant plant = { .n = n, .noise = .01 + .04 * rng_double(rng) };
	double sum = 0.0;

	for (size_t k = 0; k < n;) {
		size_t j = rng_below(rng, f->p);
		bool fresh = f->distinct[j] != FEATURES_NONE;

		for (size_t i = 0; fresh && i < k; i++)
			fresh = f->group[f->distinct[plant.column[i]]] != f->group[f->distinct[j]];
		if (!fresh)
			continue;
		plant.column[k] = j;
		plant.weight[k] = .05 - log(1.0 - rng_double(rng));
		sum += plant.weight[k++];
	}
	for (size_t k = 0; k < n; k++)
		plant.weight[k] /= sum;
	return plant;
}

/* Fills the cost of `r`. Adds to truth[features] the share of each feature in the cost, averaged over types. */
static void grow(const struct plant *plant, const struct features *f, struct rng *rng, struct profile_rows *r, double *truth)
{
	double *machine = mem_new(r->types, sizeof(*machine)), *rows = mem_new(r->types, sizeof(*rows));

	for (size_t t = 0; t < r->types; t++)
		machine[t] = exp(plant->noise * rng_normal(rng));
	for (size_t i = 0; i < r->rates.rows; i++)
		rows[r->type[i]] += 1.0;
	for (size_t i = 0; i < r->rates.rows; i++) {
		double part[4], time = 0.0;

		for (size_t k = 0; k < plant->n; k++) {
			part[k] = plant->weight[k] * exp(f->centre[plant->column[k]]) / mat_get(&r->rates, i, plant->column[k]);
			time += part[k];
		}
		for (size_t k = 0; k < plant->n; k++)
			truth[plant->column[k]] += part[k] / time / rows[r->type[i]] / (double)r->types;
		r->cost[i] = time * machine[r->type[i]] * exp(plant->noise * rng_normal(rng));
	}
	free(machine);
	free(rows);
}

#endif

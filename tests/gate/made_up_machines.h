/* Synthetic fingerprints. The rates of a group of columns rise and fall together across types of machines; each type has a few rows. */
#ifndef TESTS_MADE_UP_MACHINES_H
#define TESTS_MADE_UP_MACHINES_H

#include "base/mem.h"
#include "base/rng.h"
#include "gate/profile/profile.h"

#include <math.h>
#include <string.h>

#define MADE_FEATURES 12
#define MADE_REPEATS  3

/* The group of each column: columns 0-3, 4-6 and 7-8 rise and fall together; each of the others is independent. */
static const size_t made_group[MADE_FEATURES] = { 0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5 };
static const char *const made_names[MADE_FEATURES] = { "bsearch", "cpu",   "crypt", "hsearch", "memcpy", "stream",
						       "vm",	  "msync", "mmap",  "cache",   "malloc", "null" };
static const char *const made_types[] = { "t01", "t02", "t03", "t04", "t05", "t06", "t07", "t08", "t09", "t10",
					  "t11", "t12", "t13", "t14", "t15", "t16", "t17", "t18", "t19", "t20" };

/* Makes fingerprints with costs: the sum of weight[j] / (rate_j / typical rate_j), with relative noise `noise`. */
static inline struct profile_rows made_rows(size_t types, const double *weight, double noise, uint64_t seed)
{
	struct profile_rows r = { .features = mem_new(MADE_FEATURES, sizeof(char *)),
				  .rates = mat_new(types * MADE_REPEATS, MADE_FEATURES),
				  .cost = mem_new(types * MADE_REPEATS, sizeof(double)),
				  .type = mem_new(types * MADE_REPEATS, sizeof(size_t)),
				  .types = types,
				  .type_names = mem_new(types, sizeof(char *)),
				  .noise = noise };
	struct rng rng;

	rng_seed(&rng, seed);
	memcpy(r.features, made_names, sizeof(made_names));
	memcpy(r.type_names, made_types, types * sizeof(char *));
	for (size_t t = 0; t < types; t++) {
		double speed[6], own[MADE_FEATURES];

		for (size_t g = 0; g < 6; g++)
			speed[g] = .6 * rng_normal(&rng);
		for (size_t j = 0; j < MADE_FEATURES; j++)
			own[j] = speed[made_group[j]] + .02 * rng_normal(&rng);
		for (size_t k = 0; k < MADE_REPEATS; k++) {
			size_t i = t * MADE_REPEATS + k;

			r.type[i] = t;
			for (size_t j = 0; j < MADE_FEATURES; j++) {
				mat_set(&r.rates, i, j, 100.0 * (double)(j + 1) * exp(own[j] + .005 * rng_normal(&rng)));
				r.cost[i] += weight[j] * exp(-own[j]);
			}
			r.cost[i] *= exp(noise * rng_normal(&rng));
		}
	}
	return r;
}

#endif

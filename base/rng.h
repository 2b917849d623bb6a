/* Pseudo-random numbers with an explicit seed: xoshiro256** seeded by splitmix64 (Blackman and Vigna, ACM TOMS 47(4), 2021). The same seed
 * gives the same numbers on every machine. Do not use them for secrets. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng {
	uint64_t s[4];
};

void rng_seed(struct rng *rng, uint64_t seed);
uint64_t rng_next(struct rng *rng);
uint64_t rng_below(struct rng *rng, uint64_t n); /* returns a uniform integer in [0, n), without bias; n > 0 */
double rng_double(struct rng *rng);		 /* returns a uniform number in [0, 1) */
double rng_normal(struct rng *rng);		 /* returns a normal number with mean 0 and variance 1 */
void rng_shuffle(struct rng *rng, size_t *items, size_t n);
/* Deals n items in shuffled order to `parts` groups, whose sizes differ by at most one. part[i] gets the index of item i's group. */
void rng_deal(struct rng *rng, size_t n, size_t parts, size_t *part);

#endif

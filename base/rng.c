#include "base/rng.h"

#include "base/error.h"
#include "base/mem.h"

#include <math.h>

static uint64_t rotate(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

/* Makes a step of splitmix64 (Steele, Lea and Flood, OOPSLA 2014). It maps a counter bijectively: four outputs in a row are never all 0. */
static uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

void rng_seed(struct rng *rng, uint64_t seed)
{
	for (size_t i = 0; i < 4; i++)
		rng->s[i] = splitmix64(&seed);
}

/* Makes one step of xoshiro256** (Blackman and Vigna, ACM Transactions on Mathematical Software 47(4), 2021, section 5). */
uint64_t rng_next(struct rng *rng)
{
	uint64_t *s = rng->s;
	uint64_t result = rotate(s[1] * 5, 7) * 9;
	uint64_t shifted = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= shifted;
	s[3] = rotate(s[3], 45);
	return result;
}

/* Returns the high 64 bits of the product of a random number and n (Lemire, ACM Transactions on Modeling and Computer Simulation 29(1),
 * 2019). Draws again if the low 64 bits are one of the 2^64 mod n values that would make some results more likely. */
uint64_t rng_below(struct rng *rng, uint64_t n)
{
	__extension__ unsigned __int128 product;

	ASSAY_BUG_IF(n == 0);
	product = rng_next(rng);
	product *= n;
	if ((uint64_t)product < n) {
		uint64_t unfair = -n % n;

		while ((uint64_t)product < unfair) {
			product = rng_next(rng);
			product *= n;
		}
	}
	return (uint64_t)(product >> 64);
}

double rng_double(struct rng *rng)
{
	return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

/* Uses the polar method (Marsaglia and Bray, SIAM Review 6(3), 1964). Drops the pair's second number, so that the state stays four
 * words. */
double rng_normal(struct rng *rng)
{
	double u, v, s;

	do {
		u = 2 * rng_double(rng) - 1;
		v = 2 * rng_double(rng) - 1;
		s = u * u + v * v;
	} while (s >= 1 || s == 0);
	return u * sqrt(-2 * log(s) / s);
}

/* Uses algorithm 235 (Durstenfeld, Communications of the ACM 7(7), 1964). */
void rng_shuffle(struct rng *rng, size_t *items, size_t n)
{
	for (size_t left = n; left > 1; left--) {
		size_t j = (size_t)rng_below(rng, left);
		size_t kept = items[left - 1];

		items[left - 1] = items[j];
		items[j] = kept;
	}
}

void rng_deal(struct rng *rng, size_t n, size_t parts, size_t *part)
{
	size_t *order = mem_new(n, sizeof(*order));

	for (size_t i = 0; i < n; i++)
		order[i] = i;
	rng_shuffle(rng, order, n);
	for (size_t i = 0; i < n; i++)
		part[order[i]] = i % parts;
	free(order);
}

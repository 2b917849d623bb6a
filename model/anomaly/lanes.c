#include "model/anomaly/lanes.h"

#include <stdint.h>
#include <string.h>

/* Compiles a function for several widths of vector registers. The program selects a version before main(), too early for sanitizers. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define VECTOR_ATTRIBUTES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define VECTOR_ATTRIBUTES
#endif

#define TILE  8 /* number of rows of a product that one step computes */
#define WIDTH 4 /* number of columns of a product that one step computes */

typedef double lane __attribute__((vector_size(8 * WIDTH), aligned(8), may_alias));

/* Computes `rows` by WIDTH elements of a product. `rows` is a constant, at most TILE. */
static inline __attribute__((always_inline)) void product_tile(size_t rows, size_t columns, size_t depth, const double *a, size_t a_row,
							       size_t a_depth, const double *b, const double *start, double *c)
{
	lane sum[TILE];

	for (size_t r = 0; r < rows; r++)
		sum[r] = start ? *(const lane *)start : (lane){ 0 };
	for (size_t k = 0; k < depth; k++)
		for (size_t r = 0; r < rows; r++)
			sum[r] += a[r * a_row + k * a_depth] * *(const lane *)(b + k * columns);
	for (size_t r = 0; r < rows; r++)
		*(lane *)(c + r * columns) = sum[r];
}

VECTOR_ATTRIBUTES void lanes_product(size_t rows, size_t columns, size_t depth, const double *a, size_t a_row, size_t a_depth,
				     const double *b, const double *start, double *c)
{
	for (size_t j = 0; j < columns; j += WIDTH) {
		const double *from = start ? start + j : NULL;
		size_t r = 0;

		for (; r + TILE <= rows; r += TILE)
			product_tile(TILE, columns, depth, a + r * a_row, a_row, a_depth, b + j, from, c + r * columns + j);
		for (; r < rows; r++)
			product_tile(1, columns, depth, a + r * a_row, a_row, a_depth, b + j, from, c + r * columns + j);
	}
}

/* Returns exp(-|x| factor), at least exp(-700); relative error below 4e-16. The exponent is t = n ln 2 + r, |r| <= ln 2 / 2. Changing the
 * exponent bits multiplies by 2^n. e^r is 1 + r + r^2 q(r); q is nearly the minimax polynomial of degree 9 (Chebyshev interpolation;
 * Muller, Elementary Functions, 3rd edition, chapter 3), so that the error of e^r is 1.3e-17 in exact arithmetic. */
static inline double decay(double x, double factor)
{
	const double magic = 0x1.8p52; /* adding this number rounds to an integer, which is then in the lowest bits */
	double t = -__builtin_fabs(x) * factor, shifted, n, r, q;
	uint64_t bits, power;

	t = t < -700.0 ? -700.0 : t;
	shifted = t * 0x1.71547652b82fep+0 + magic;
	n = shifted - magic;
	r = (t - n * 0x1.62e42fee00000p-1) - n * 0x1.a39ef35793c76p-33; /* ln 2 is the sum of two constants; n times the first is exact */
	q = r * 0x1.af38d53857513p-26 + 0x1.2891a8c1d838dp-22;
	q = q * r + 0x1.71de0d9c145d0p-19;
	q = q * r + 0x1.a019b8ef67c6cp-16;
	q = q * r + 0x1.a01a01a7c8d47p-13;
	q = q * r + 0x1.6c16c17893833p-10;
	q = q * r + 0x1.11111111109adp-7;
	q = q * r + 0x1.5555555553d4fp-5;
	q = q * r + 0x1.5555555555556p-3;
	q = q * r + 0x1.0000000000001p-1;
	q = q * r * r + r + 1.0;
	memcpy(&bits, &q, sizeof(bits));
	memcpy(&power, &shifted, sizeof(power));
	bits += power << 52;
	memcpy(&q, &bits, sizeof(q));
	return q;
}

VECTOR_ATTRIBUTES void lanes_activation(enum lanes_activation curve, double *x, size_t n)
{
	if (curve == LANES_TANH)
		for (size_t i = 0; i < n; i++) {
			double e = decay(x[i], 2.0);

			x[i] = __builtin_copysign((1.0 - e) / (1.0 + e), x[i]);
		}
	if (curve == LANES_SIGMOID)
		for (size_t i = 0; i < n; i++) {
			double e = decay(x[i], 1.0);

			x[i] = (x[i] < 0.0 ? e : 1.0) / (1.0 + e);
		}
}

/* The bodies of lanes.h for one width: lanes.c includes this with LANES (numbers at a time), TILE (rows of a product at a time), TARGET
 * (attribute of functions), ROOT (of a vector), SUFFIX and NAME (what a symbol is called) defined. No include guard for that reason. */

typedef double NAME(vec) __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef int64_t NAME(bits) __attribute__((vector_size(8 * LANES), aligned(8), may_alias));

#define VEC	NAME(vec)
#define BITS	NAME(bits)
#define AT(x)	(*(VEC *)(x))
#define FROM(x) (*(const VEC *)(x))
#define ALWAYS	static inline __attribute__((always_inline)) TARGET

/* `rows` (at most TILE) by `width` (1 or 2) vectors of a product; both constant where this is called, so that all sums stay in
 * registers. */
ALWAYS void NAME(tile)(size_t rows, size_t width, size_t columns, size_t depth, const double *a, size_t a_row, size_t a_depth,
		       const double *b, const double *start, double *c)
{
	VEC sum[TILE][2];

	for (size_t r = 0; r < rows; r++)
		for (size_t v = 0; v < width; v++)
			sum[r][v] = start ? FROM(start + v * LANES) : (VEC){ 0 };
	for (size_t k = 0; k < depth; k++)
		for (size_t v = 0; v < width; v++) {
			VEC factor = FROM(b + k * columns + v * LANES);

			for (size_t r = 0; r < rows; r++)
				sum[r][v] += a[r * a_row + k * a_depth] * factor;
		}
	for (size_t r = 0; r < rows; r++)
		for (size_t v = 0; v < width; v++)
			AT(c + r * columns + v * LANES) = sum[r][v];
}

ALWAYS void NAME(strip)(size_t width, size_t rows, size_t columns, size_t depth, const double *a, size_t a_row, size_t a_depth,
			const double *b, const double *start, double *c)
{
	size_t r = 0;

	for (; r + TILE <= rows; r += TILE)
		NAME(tile)(TILE, width, columns, depth, a + r * a_row, a_row, a_depth, b, start, c + r * columns);
	for (; r + TILE / 2 <= rows; r += TILE / 2)
		NAME(tile)(TILE / 2, width, columns, depth, a + r * a_row, a_row, a_depth, b, start, c + r * columns);
	for (; r < rows; r++)
		NAME(tile)(1, width, columns, depth, a + r * a_row, a_row, a_depth, b, start, c + r * columns);
}

TARGET static void NAME(product)(size_t rows, size_t columns, size_t depth, const double *a, size_t a_row, size_t a_depth, const double *b,
				 const double *start, double *c)
{
	size_t j = 0;

	for (; j + 2 * LANES <= columns; j += 2 * LANES)
		NAME(strip)(2, rows, columns, depth, a, a_row, a_depth, b + j, start ? start + j : NULL, c + j);
	for (; j < columns; j += LANES)
		NAME(strip)(1, rows, columns, depth, a, a_row, a_depth, b + j, start ? start + j : NULL, c + j);
}

TARGET static void NAME(sum_rows)(size_t rows, size_t columns, const double *x, double *sum)
{
	for (size_t j = 0; j < columns; j += LANES) {
		VEC total = { 0 };

		for (size_t r = 0; r < rows; r++)
			total += FROM(x + r * columns + j);
		AT(sum + j) = total;
	}
}

/* exp(x), -700 <= x <= 0, off by less than 4e-16 relatively: x = n ln 2 + r with |r| <= ln 2 / 2, 2^n by its exponent's bits and e^r
 * as 1 + r + r^2 q(r). q is nearly the minimax polynomial of degree 9 on that interval (Chebyshev interpolation; Muller, Elementary
 * Functions, 3rd edition, chapter 3): in exact arithmetic e^r is off by 1.3e-17. */
ALWAYS VEC NAME(exp)(VEC x)
{
	const double magic = 0x1.8p52; /* adding it rounds to an integer, which are then the lowest bits */
	VEC shifted = x * 0x1.71547652b82fep+0 + magic;
	VEC n = shifted - magic;
	VEC r = (x - n * 0x1.62e42fee00000p-1) - n * 0x1.a39ef35793c76p-33; /* ln 2 in two parts, the first with room for n */
	VEC q = r * 0x1.af38d53857513p-26 + 0x1.2891a8c1d838dp-22;

	q = q * r + 0x1.71de0d9c145d0p-19;
	q = q * r + 0x1.a019b8ef67c6cp-16;
	q = q * r + 0x1.a01a01a7c8d47p-13;
	q = q * r + 0x1.6c16c17893833p-10;
	q = q * r + 0x1.11111111109adp-7;
	q = q * r + 0x1.5555555553d4fp-5;
	q = q * r + 0x1.5555555555556p-3;
	q = q * r + 0x1.0000000000001p-1;
	q = q * r * r + r + 1.0;
	return (VEC)((BITS)q + ((BITS)shifted << 52));
}

/* Of -|x|, but not below what NAME(exp) can do. */
ALWAYS VEC NAME(decay)(VEC x, double factor)
{
	VEC t = (VEC)((BITS)x & INT64_MAX) * -factor;
	BITS low = t < -700.0;

	t = (VEC)(((BITS)t & ~low) | ((BITS)((VEC){ 0 } - 700.0) & low));
	return NAME(exp)(t);
}

TARGET static void NAME(curve)(enum lanes_curve curve, double *x, size_t n)
{
	if (curve == LANES_TANH)
		for (size_t i = 0; i < n; i += LANES) {
			VEC e = NAME(decay)(FROM(x + i), 2.0);
			BITS sign = (BITS)FROM(x + i) & INT64_MIN;

			AT(x + i) = (VEC)((BITS)((1.0 - e) / (1.0 + e)) | sign);
		}
	if (curve == LANES_SIGMOID)
		for (size_t i = 0; i < n; i += LANES) {
			VEC e = NAME(decay)(FROM(x + i), 1.0);
			BITS negative = FROM(x + i) < 0.0;

			AT(x + i) = (VEC)(((BITS)e & negative) | ((BITS)((VEC){ 0 } + 1.0) & ~negative)) / (1.0 + e);
		}
}

TARGET static void NAME(slope)(enum lanes_curve curve, const double *y, double *x, size_t n)
{
	if (curve == LANES_TANH)
		for (size_t i = 0; i < n; i += LANES)
			AT(x + i) *= 1.0 - FROM(y + i) * FROM(y + i);
	if (curve == LANES_SIGMOID)
		for (size_t i = 0; i < n; i += LANES)
			AT(x + i) *= FROM(y + i) * (1.0 - FROM(y + i));
}

TARGET static void NAME(miss)(const double *target, double factor, double *y, size_t n)
{
	for (size_t i = 0; i < n; i += LANES)
		AT(y + i) = (FROM(y + i) - FROM(target + i)) * factor;
}

TARGET static void NAME(adam)(const struct lanes_adam *adam, const double *slope, double *first, double *second, double *x, size_t n)
{
	const struct lanes_adam a = *adam;

	for (size_t i = 0; i < n; i += LANES) {
		VEC g = FROM(slope + i);
		VEC m = FROM(first + i) * a.first + g * (1.0 - a.first);
		VEC v = FROM(second + i) * a.second + g * g * (1.0 - a.second);

		AT(first + i) = m;
		AT(second + i) = v;
		AT(x + i) -= m * a.rate / (ROOT(v) * a.root + a.floor);
	}
}

TARGET static void NAME(descend)(double rate, const double *slope, double *x, size_t n)
{
	for (size_t i = 0; i < n; i += LANES)
		AT(x + i) -= FROM(slope + i) * rate;
}

#define TEXT_OF(name) #name
#define TEXT(name)    TEXT_OF(name)

static const struct lanes NAME(lanes) = {
	TEXT(SUFFIX), NAME(product), NAME(sum_rows), NAME(curve), NAME(slope), NAME(miss), NAME(adam), NAME(descend),
};

#undef VEC
#undef BITS
#undef AT
#undef FROM
#undef ALWAYS
#undef TEXT_OF
#undef TEXT
#undef LANES
#undef TILE
#undef TARGET
#undef ROOT
#undef SUFFIX

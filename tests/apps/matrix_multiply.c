/* Multiplies two matrices. With BAD, each thread computes every n-th column, so that threads write to the same cache lines. */
#include "app.h"

static volatile uint32_t *product;
static uint32_t *a, *b;

static inline void cell(long n, long row, long column)
{
	for (long k = 0; k < n; k++)
		product[row * n + column] += a[row * n + k] * b[column * n + k]; /* b is transposed */
}

FUNCTION void multiply_part(unsigned thread)
{
	long n = app.size;

#ifdef BAD
	for (long row = 0; row < n; row++) {
		for (long column = thread; column < n; column += app.threads)
			cell(n, row, column);
	}
#else
	for (long row = app_from(thread, n); row < app_to(thread, n); row++) {
		for (long column = 0; column < n; column++)
			cell(n, row, column);
	}
#endif
}

int main(int argc, char **argv)
{
	uint64_t total = 0;

	app_begin(argc, argv, 400);
	product = app_lines((size_t)(app.size * app.size) * sizeof(*product));
	a = app_lines((size_t)(app.size * app.size) * sizeof(*a));
	b = app_lines((size_t)(app.size * app.size) * sizeof(*b));
	for (long i = 0; i < app.size * app.size; i++) {
		a[i] = (uint32_t)i % 7;
		b[i] = (uint32_t)i % 11;
	}
	app_run(multiply_part);
	for (long i = 0; i < app.size * app.size; i++)
		total += product[i];
	app_end(total);
	return 0;
}

/* Adds two vectors. With BAD, each thread computes every n-th element, so that threads write to the same cache lines. */
#include "app.h"

static volatile uint32_t *sum;
static uint32_t *a, *b;

FUNCTION void add_part(unsigned thread)
{
#ifdef BAD
	for (long i = thread; i < app.size; i += app.threads)
		sum[i] = a[i] + b[i];
#else
	for (long i = app_from(thread, app.size); i < app_to(thread, app.size); i++)
		sum[i] = a[i] + b[i];
#endif
}

int main(int argc, char **argv)
{
	uint64_t total = 0;

	app_begin(argc, argv, 8000000);
	sum = app_lines((size_t)app.size * sizeof(*sum));
	a = app_lines((size_t)app.size * sizeof(*a));
	b = app_lines((size_t)app.size * sizeof(*b));
	for (long i = 0; i < app.size; i++) {
		a[i] = (uint32_t)i;
		b[i] = (uint32_t)i * 3;
	}
	app_run(add_part);
	for (long i = 0; i < app.size; i += 101)
		total += sum[i];
	app_end(total);
	return 0;
}

/* Computes the dot product of two vectors. With BAD, the threads' partial sums are adjacent. */
#include "app.h"

static struct app_counter *sums;
static uint32_t *a, *b;

FUNCTION void multiply_part(unsigned thread)
{
	for (long i = app_from(thread, app.size); i < app_to(thread, app.size); i++)
		sums[thread].value += (uint64_t)a[i] * b[i];
}

int main(int argc, char **argv)
{
	app_begin(argc, argv, 30000000);
	sums = app_lines(app.threads * sizeof(*sums));
	a = app_lines((size_t)app.size * sizeof(*a));
	b = app_lines((size_t)app.size * sizeof(*b));
	for (long i = 0; i < app.size; i++) {
		a[i] = (uint32_t)i % 97;
		b[i] = (uint32_t)i % 89;
	}
	app_run(multiply_part);
	app_end(app_total(sums));
	return 0;
}

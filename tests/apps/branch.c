/* Counts values above a limit. The values are sorted; with BAD, they are in random order, so that branches are unpredictable. */
#include "app.h"

#define ROUNDS 20

static uint8_t *values;
static volatile uint64_t above, below, last;

FUNCTION void count_values(long n)
{
	for (long i = 0; i < n; i++) {
		if (values[i] >= 128) {
			above++;
			last = (uint64_t)i; /* keeps the compiler from removing the branch */
		} else {
			below++;
		}
	}
}

#ifndef BAD
static int compare(const void *a, const void *b)
{
	return *(const uint8_t *)a - *(const uint8_t *)b;
}
#endif

int main(int argc, char **argv)
{
	uint64_t state;

	app_begin(argc, argv, 1000000);
	state = app.seed;
	values = app_lines((size_t)app.size);
	for (long i = 0; i < app.size; i++)
		values[i] = (uint8_t)(app_random(&state) >> 5);
#ifndef BAD
	qsort(values, (size_t)app.size, 1, compare);
#endif
	for (int round = 0; round < ROUNDS; round++)
		count_values(app.size);
	app_end(above * 3 + below);
	return 0;
}

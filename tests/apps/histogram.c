/* Counts how often each of 256 values occurs. With BAD, the threads' counts of the same value are adjacent. */
#include "app.h"

#define VALUES 256

static volatile uint32_t *counts;
static uint8_t *bytes;

static inline volatile uint32_t *count_of(unsigned value, unsigned thread)
{
#ifdef BAD
	return &counts[value * app.threads + thread];
#else
	return &counts[thread * VALUES + value];
#endif
}

FUNCTION void count_part(unsigned thread)
{
	for (long i = app_from(thread, app.size); i < app_to(thread, app.size); i++)
		(*count_of(bytes[i], thread))++;
}

int main(int argc, char **argv)
{
	uint64_t state, total = 0;

	app_begin(argc, argv, 60000000);
	state = app.seed;
	counts = app_lines(VALUES * app.threads * sizeof(*counts));
	bytes = app_lines((size_t)app.size);
	for (long i = 0; i < app.size; i++)
		bytes[i] = (uint8_t)((uint8_t)app_random(&state) >> (app.seed - 1) % 3); /* inputs differ in contrast */
	app_run(count_part);
	for (unsigned value = 0; value < VALUES; value++) {
		for (unsigned thread = 0; thread < app.threads; thread++)
			total += (uint64_t)value * *count_of(value, thread);
	}
	app_end(total);
	return 0;
}

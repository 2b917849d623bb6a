/* Threads read their parts of an array several times. With BAD, the first thread initializes the whole array, so that it is all on this
 * thread's NUMA node. */
#include "app.h"

#define ROUNDS 32

static volatile uint64_t *array;
static struct {
	uint64_t sum;
	char apart[LINE - sizeof(uint64_t)];
} *results;

FUNCTION void initialise(unsigned thread)
{
	for (long i = app_from(thread, app.size); i < app_to(thread, app.size); i++)
		array[i] = (uint64_t)i;
}

FUNCTION void use(unsigned thread)
{
	uint64_t sum = 0;

	for (int round = 0; round < ROUNDS; round++) {
		for (long i = app_from(thread, app.size); i < app_to(thread, app.size); i++)
			sum += array[i];
	}
	results[thread].sum = sum;
}

static void both(unsigned thread)
{
#ifndef BAD
	initialise(thread);
#endif
	use(thread);
}

int main(int argc, char **argv)
{
	uint64_t total = 0;

	app_begin(argc, argv, 4000000);
	array = aligned_alloc(4096, ((size_t)app.size * sizeof(*array) + 4095) / 4096 * 4096);
	if (!array)
		abort();
	results = app_lines(app.threads * sizeof(*results));
#ifdef BAD
	for (unsigned i = 0; i < app.threads; i++)
		initialise(i);
#endif
	app_run(both);
	for (unsigned i = 0; i < app.threads; i++)
		total += results[i].sum;
	app_end(total);
	return 0;
}

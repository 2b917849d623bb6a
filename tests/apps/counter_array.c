/* How many requests were served? Good: each thread counts for itself, and adds to the common counter at the end. Bad: the counter has
 * become an array, with one for each thread, that is always up to date. */
#include "app.h"

#include <stdatomic.h>

static _Atomic uint64_t served;
static volatile uint64_t *served_by;

FUNCTION void serve(unsigned thread)
{
	volatile uint64_t own = 0;

	(void)thread;
	for (long i = 0; i < app.size; i++) {
#ifdef BAD
		served_by[thread]++;
#else
		own++;
#endif
	}
	atomic_fetch_add(&served, own);
}

int main(int argc, char **argv)
{
	uint64_t total = 0;

	app_begin(argc, argv, 40000000);
	served_by = app_lines(app.threads * sizeof(*served_by));
	app_run(serve);
	for (unsigned i = 0; i < app.threads; i++)
		total += served_by[i];
	app_end(total + served);
	return 0;
}

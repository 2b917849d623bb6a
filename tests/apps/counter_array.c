/* Counts served requests. Each thread counts in a local variable and adds the result to a common counter at the end. With BAD, the
 * counter is an array with an element per thread, which is updated at each request. */
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

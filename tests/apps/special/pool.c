/* A pool of locks with a number each. Every thread uses all locks in random order, without waiting if a lock is held, because the number
 * of waits would be random. -DAPART puts each lock on its own cache line. */
#include "../app.h"

#include <stdatomic.h>

#define LOCKS 64

struct guarded {
	atomic_int held;
	volatile int number;
#ifdef APART
	char apart[LINE - 2 * sizeof(int)];
#endif
};

static struct guarded *pool;

FUNCTION void use_locks(unsigned thread)
{
	uint64_t random = app.seed + thread;

	for (long i = 0; i < app.size; i++) {
		struct guarded *one = &pool[app_random(&random) % LOCKS];

		atomic_exchange_explicit(&one->held, 1, memory_order_acquire);
		one->number = one->number + 1;
		atomic_store_explicit(&one->held, 0, memory_order_release);
	}
}

int main(int argc, char **argv)
{
	app_begin(argc, argv, 100000);
	pool = app_lines(LOCKS * sizeof(*pool));
	app_run(use_locks);
	app_end((uint64_t)pool[0].held);
	return 0;
}

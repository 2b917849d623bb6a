/* A pool of spin locks, each used by one thread. With BAD, the locks are adjacent. */
#include "app.h"

#include <stdatomic.h>

struct spin {
	atomic_int held;
#ifndef BAD
	char apart[LINE - sizeof(atomic_int)];
#endif
};

struct guarded {
	volatile uint64_t value;
	char apart[LINE - sizeof(uint64_t)];
};

static struct spin *locks;
static struct guarded *guarded;

FUNCTION void use_lock(unsigned thread)
{
	struct spin *lock = &locks[thread];

	for (long i = 0; i < app.size; i++) {
		while (atomic_exchange_explicit(&lock->held, 1, memory_order_acquire))
			;
		guarded[thread].value += (uint64_t)i;
		atomic_store_explicit(&lock->held, 0, memory_order_release);
	}
}

int main(int argc, char **argv)
{
	uint64_t total = 0;

	app_begin(argc, argv, 4000000);
	locks = app_lines(app.threads * sizeof(*locks));
	guarded = app_lines(app.threads * sizeof(*guarded));
	app_run(use_lock);
	for (unsigned i = 0; i < app.threads; i++)
		total += guarded[i].value;
	app_end(total);
	return 0;
}

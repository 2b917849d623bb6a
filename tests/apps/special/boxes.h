/* A box that one thread fills and another empties, and neither waits. */
#include <stdatomic.h>

static atomic_int full;
static long box;

#define FUNCTION static __attribute__((noinline, noclone))

FUNCTION int put(long item)
{
	if (atomic_load(&full))
		return 0;
	box = item;
	atomic_store(&full, 1);
	return 1;
}

FUNCTION int get(long *sum)
{
	if (!atomic_load(&full))
		return 0;
	*sum += box;
	atomic_store(&full, 0);
	return 1;
}

/* A box that one thread fills and another one empties; neither function waits. */
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

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

/* Excludes a function from instrumentation: in_vain() notes a failed look; let_it_look() waits for ten by the other thread. */
#define UNSEEN __attribute__((no_sanitize("thread"), no_sanitize_coverage, noinline))

static volatile int looks;

UNSEEN static void in_vain(void)
{
	looks = looks + 1;
#ifdef SIGNALS
	raise(SIGUSR1);
#endif
}

UNSEEN static void let_it_look(void)
{
	for (int before = looks; looks < before + 10;)
		usleep(1000);
}

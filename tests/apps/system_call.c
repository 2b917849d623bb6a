/* Work that has to stop when its parent exits. With BAD, it asks the kernel for the parent at every step. */
#include "app.h"

#include <sched.h>
#include <unistd.h>

static volatile uint64_t done;

FUNCTION void work(long n)
{
	pid_t parent = getppid();

	for (long i = 0; i < n; i++) {
		if (i % 1000 == 0)
			sched_yield(); /* gives up the CPU, which is not work */
#ifdef BAD
		if (getppid() != parent)
			return;
#else
		if (i % 1000 == 0 && getppid() != parent)
			return;
#endif
		for (int k = 0; k < 100; k++)
			done++;
	}
}

int main(int argc, char **argv)
{
	app_begin(argc, argv, 1000000);
	work(app.size);
	app_end(done);
	return 0;
}

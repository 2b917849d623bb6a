/* The library for `features library FILE`. It counts its own loops and calls and prints the numbers at the end. */
#include <stdio.h>

static unsigned long loops, calls;

unsigned count(unsigned n) { calls++;
	unsigned sum = 0;

	for (volatile unsigned i = 0; i < n; i = i + 1) { loops++;
		sum += i;
	}
	return sum;
}

static __attribute__((destructor)) void say(void)
{
	printf("call %d %lu\nloop %d %lu\n", 6, calls, 9, loops);
	fflush(stdout);
}

/* work() is the whole program. It calls a function with two accesses at its end, when windows are skipped. With a stride of 1024, each
 * access misses the cache and the TLB. */
#include <stdio.h>
#include <stdlib.h>

#define N (1 << 23)

static int a[N];
static long total;

__attribute__((noinline)) static void note(long x)
{
	total += x;
}

__attribute__((noinline)) static void work(long stride)
{
	long s = 0;

	for (long k = 0; k < stride; k++)
		for (long i = k; i < N; i += stride)
			s += a[i]++;
	note(s);
}

int main(int argc, char **argv)
{
	work(argc > 1 ? atol(argv[1]) : 1);
	printf("%ld\n", total);
	return 0;
}

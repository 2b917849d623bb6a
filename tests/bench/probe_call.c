/* Measures the CPU time of one call of an empty function, ns: the minimum of 40 batches. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCHES 40

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

__attribute__((noinline)) int selected(int x)
{
	__asm__ volatile("");
	return x + 1;
}

__attribute__((noinline)) int another(int x)
{
	__asm__ volatile("");
	return x + 2;
}

static double least(int (*function)(int), long calls)
{
	double best = 1e18;
	int x = 0;

	for (int batch = 0; batch < BATCHES; batch++) {
		double began = now_ns(), ns;

		for (long i = 0; i < calls; i++)
			x = function(x);
		ns = (now_ns() - began) / (double)calls;
		best = ns < best ? ns : best;
	}
	return x == -1 ? 0 : best;
}

int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 50000;

	printf("%.2f %.2f\n", least(selected, calls), least(another, calls));
	return 0;
}

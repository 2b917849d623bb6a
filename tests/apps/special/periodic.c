/* Makes CALLS calls of f(): each PERIOD-th is LONG, the others SHORT. Estimates from samples must not depend on the period. */
#include <stdio.h>
#include <stdlib.h>

static int cells[1 << 16];

__attribute__((noinline)) static void f(long n)
{
	for (long i = 0; i < n; i++)
		cells[i & 1023]++;
}

int main(int argc, char **argv)
{
	long calls = atol(argv[1]), period = atol(argv[2]), length_short = atol(argv[3]), length_long = atol(argv[4]);

	for (long i = 0; i < calls; i++)
		f(i % period ? length_short : length_long);
	printf("%d %d\n", argc, cells[0]);
	return 0;
}

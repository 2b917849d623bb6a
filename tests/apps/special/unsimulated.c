/* Calls f() with the same work whatever runs before it. PRE steps of pre() decide which calls of f() are in simulated windows. */
#include <stdio.h>
#include <stdlib.h>

static int a[1 << 16];

__attribute__((noinline)) static void pre(long n)
{
	for (long i = 0; i < n; i++)
		a[i & 1023]++;
}

__attribute__((noinline)) static void f(long n)
{
	for (long i = 0; i < n; i++)
		a[i & 65535]++;
}

int main(int argc, char **argv)
{
	for (long i = 0; i < 200; i++) {
		pre(argc > 1 ? atol(argv[1]) : 150000);
		f(4000 + i * 7919 % 40 * 1000);
	}
	printf("%d\n", a[0]);
	return 0;
}

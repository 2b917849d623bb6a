/* Makes known numbers of calls: 21891 of fib() for fib(20). The argument gives the number of calls of the other functions. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) long fib(long n)
{
	long a, b;

	if (n < 2)
		return n;
	a = fib(n - 1);
	__asm__ volatile("" : "+r"(a)); /* prevents the compiler from turning half of the calls into a loop */
	b = fib(n - 2);
	__asm__ volatile("" : "+r"(b));
	return a + b;
}

__attribute__((noinline)) double work(double x)
{
	for (int i = 0; i < 5000; i++)
		x = x * 1.0000001 + 1e-9;
	return x;
}

__attribute__((noinline)) int tiny(int x)
{
	__asm__ volatile("");
	return x + 1;
}

struct big {
	long values[10];
};

__attribute__((noinline)) struct big structure(long x)
{
	struct big b = { { x } };

	return b;
}

__attribute__((noinline)) long double extended(long double x, double a, double b, double c, double d, double e, double f, double g, double h, double i)
{
	__asm__ volatile("");
	return x + (long double)(a + b + c + d + e + f + g + h + i);
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 10, sum = 0, calls = 0;
	double x = 1;

	for (long i = 0; i < n; i++) {
		x = work(x);
		for (int k = 0; k < 1000; k++, calls++)
			sum += tiny((int)i);
		sum += structure(i).values[0] + (long)extended(i, 1, 2, 3, 4, 5, 6, 7, 8, 9);
	}
	sum += fib(20);
	printf("%ld %ld %.6f\n", sum, calls, x);
	return 0;
}

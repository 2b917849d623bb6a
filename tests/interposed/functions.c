/* A library (if built with IN_LIBRARY) whose functions take and return values of many types, and a program that prints their results. The
 * output must be the same whether or not the functions are recorded by name. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct large {
	long a, b, c;
};
struct pair {
	double x;
	long y;
};

double many(int a, int b, int c, int d, int e, int f, int g, long h, double x, float y, double z, const char *text);
struct large large_of(long a, long b);
struct pair pair_of(double x, long y);
long double precise(long double x);
int print_all(char *to, size_t n, const char *format, ...);
int fails(int with);
void leaves(jmp_buf *to, int value);
long nested(long depth, long (*again)(long, void *), void *of);
unsigned long work(const void *unused, unsigned long rounds);

#ifdef IN_LIBRARY
double many(int a, int b, int c, int d, int e, int f, int g, long h, double x, float y, double z, const char *text)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8. * (double)h + x * (double)y - z + text[0];
}

struct large large_of(long a, long b)
{
	return (struct large){ a, b, a * b };
}

struct pair pair_of(double x, long y)
{
	return (struct pair){ x / 3, y / 3 };
}

long double precise(long double x)
{
	return x / 3;
}

int print_all(char *to, size_t n, const char *format, ...)
{
	va_list list;
	int r;

	va_start(list, format);
	r = vsnprintf(to, n, format, list);
	va_end(list);
	return r;
}

int fails(int with)
{
	errno = with;
	return -1;
}

void leaves(jmp_buf *to, int value)
{
	longjmp(*to, value);
}

long nested(long depth, long (*again)(long, void *), void *of)
{
	return depth ? depth + again(depth - 1, of) : 0;
}

unsigned long work(const void *unused, unsigned long rounds)
{
	unsigned long x = unused ? 1 : 2;

	for (unsigned long i = 0; i < rounds; i++)
		__asm__ volatile("" : "+r"(x));
	return x;
}
#else
static long again(long depth, void *of)
{
	return nested(depth, again, of);
}

int main(void)
{
	char text[200];
	jmp_buf here;
	int value, before;

	for (volatile int i = 0; i < 300; i++) {
		struct large l = large_of(i, i + 1);
		struct pair p = pair_of(i, 3L * i);

		print_all(text, sizeof(text), "%d %s %.3f %ld %Lg %c %.1f", i, "text", i / 7., 1L << 40, precise(i), 'x', 2.5);
		printf("%s %.6f %ld %.6f %ld", text, many(1, 2, 3, 4, 5, 6, i, 8, 9.5, 10.5F, 11.5, "A"), l.a + l.b + l.c, p.x, p.y);
		value = setjmp(here);
		if (!value)
			leaves(&here, i + 1);
		before = fails(i) == -1 ? errno : -1;
		printf(" %d %d %ld %lu\n", value, before, nested(i % 20, again, NULL), work(text, i % 2 ? 300000 : 600000));
	}
	return 5;
}
#endif

/* Calls mathematical functions of the C library, a known number of times in each function of this program. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TIMES 1000

#define FUNCTION static __attribute__((noinline, noclone))

FUNCTION double powers(double by)
{
	double sum = 0;

	for (int i = 0; i < TIMES; i++)
		sum += pow(i, by);
	return sum;
}

FUNCTION int texts(int from)
{
	char text[40];
	int sum = 0;

	for (int i = 0; i < TIMES; i++)
		sum += snprintf(text, sizeof(text), "%d %d", i, from);
	return sum;
}

FUNCTION int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

FUNCTION int sorted(int from)
{
	static int numbers[TIMES];

	for (int i = 0; i < TIMES; i++)
		numbers[i] = i * 7919 % 1009 + from;
	qsort(numbers, TIMES, sizeof(numbers[0]), compare);
	return numbers[TIMES / 2];
}

int main(int argc, char **argv)
{
	(void)argv;
	printf("%.3f %d %d\n", powers(1.5 + argc), texts(argc), sorted(argc));
	return 0;
}

/* A function in a shared library, for uses_library.c. */
#include "library.h"

static volatile long counter;

long library_count(long n)
{
	for (long i = 0; i < n; i++)
		counter++;
	return counter;
}

#include "elsewhere.h"

unsigned elsewhere_work(unsigned steps)
{
	unsigned x = steps;

	for (unsigned i = 0; i < steps; i++)
		x = x * 1664525 + (x >> 7);
	return x;
}

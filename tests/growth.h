/* Checks how the CPU time of a function grows with the size of its input. Absolute times are not checked. */
#ifndef TESTS_GROWTH_H
#define TESTS_GROWTH_H

#include "tests/scratch.h"

#include <stdint.h>
#include <time.h>

/* Returns the CPU time of function(context, n) in ns: the shortest of five calls, because other programs may disturb some of them. */
static inline double growth_work(void (*function)(void *context, size_t n), void *context, size_t n)
{
	double least = 0;

	for (int i = 0; i < 5; i++) {
		struct timespec a, b;
		double took;

		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
		function(context, n);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
		took = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
		least = i == 0 || took < least ? took : least;
	}
	return least;
}

/* Checks that 16 times the input takes at most 64 times the CPU time. Linear functions need 16 times, quadratic ones 256 times. */
static inline void growth_check(const char *what, void (*function)(void *context, size_t n), void *context, size_t n)
{
	double one = growth_work(function, context, n), sixteen = growth_work(function, context, 16 * n);

	if (sixteen > 64 * one)
		fail_msg("%s: %zu need %.0f ns, 16 times as much needs %.0f times as long", what, n, one, sixteen / one);
}

#endif

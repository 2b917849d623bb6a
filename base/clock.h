/* Reads the wall clock and the monotonic clock. The header needs only the C library, so that programs on hosts can include it. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Returns the wall-clock time, in ms since 1970 UTC. */
static inline int64_t clock_real_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Returns the time of the monotonic clock, in ns, for durations and deadlines. The system never sets this clock back. */
static inline int64_t clock_monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif

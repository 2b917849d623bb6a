/* The statistics of a worker. With BAD, several workers share a cache line. */
#ifndef TESTS_APPS_WHOLE_WORKER_STATS_H
#define TESTS_APPS_WHOLE_WORKER_STATS_H
#include <stdint.h>

struct worker_stats {
	volatile uint64_t packets, bytes;
#ifndef BAD
	uint64_t spare[6];
#endif
};

#endif

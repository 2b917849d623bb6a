/* What a worker counts. Bad: no longer a line of its own. */
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

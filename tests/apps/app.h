/* Common code of the programs in this directory. Each is built with and without -DBAD; both variants print the same result.
 * truth.csv has, for each program, the fault of the BAD variant, its function, and the counter that shows it.
 *
 *   PROGRAM [THREADS [SIZE [SEED]]]        SEED: seed of the random input */
#ifndef TESTS_APPS_APP_H
#define TESTS_APPS_APP_H

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE        64 /* size of a cache line, bytes */
#define THREADS_MAX 64
#define FUNCTION    static __attribute__((noinline)) /* keeps the compiler from inlining the function */

struct app {
	unsigned threads;
	long size;
	uint64_t seed;
};
static struct app app;

static void app_begin(int argc, char **argv, long size)
{
	app.threads = argc > 1 ? (unsigned)atoi(argv[1]) : 4;
	app.size = argc > 2 ? atol(argv[2]) : size;
	app.seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	if (app.threads < 1 || app.threads > THREADS_MAX || app.size < 1) {
		fprintf(stderr, "usage: %s [THREADS [SIZE [SEED]]]\n", argv[0]);
		exit(2);
	}
}

static void app_end(uint64_t result)
{
	printf("%" PRIu64 "\n", result);
}

/* Allocates zeroed memory that starts at a cache line. Aborts on failure. The caller frees it. */
static inline void *app_lines(size_t bytes)
{
	void *at = aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);

	if (!at)
		abort();
	return memset(at, 0, bytes);
}

/* app_from() and app_to() return the part [from, to) of n items that a thread processes. */
static inline long app_from(unsigned thread, long n)
{
	return n * thread / app.threads;
}

static inline long app_to(unsigned thread, long n)
{
	return n * (thread + 1) / app.threads;
}

static inline uint64_t app_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void (*app_work)(unsigned thread);

static inline void *app_thread(void *number)
{
	app_work((unsigned)(uintptr_t)number);
	return NULL;
}

/* Runs work(0), work(1), ... each in its own thread. Returns when all threads have ended. */
static inline void app_run(void (*work)(unsigned thread))
{
	pthread_t threads[THREADS_MAX];

	app_work = work;
	for (unsigned i = 0; i < app.threads; i++) {
		if (pthread_create(&threads[i], NULL, app_thread, (void *)(uintptr_t)i))
			abort();
	}
	for (unsigned i = 0; i < app.threads; i++)
		pthread_join(threads[i], NULL);
}

/* A counter per thread, in memory at every step. Each has its own cache line; with BAD, the counters are adjacent. */
struct app_counter {
	volatile uint64_t value;
#ifndef BAD
	char apart[LINE - sizeof(uint64_t)];
#endif
};

static inline uint64_t app_total(const struct app_counter *counters)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < app.threads; i++)
		total += counters[i].value;
	return total;
}

#endif

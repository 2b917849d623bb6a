/* Measures the cost of a call: variance_calls CALL ROUNDS prints ns per call. CALL: lock (locks and unlocks a mutex), write (a byte to
 * /dev/null), read (a byte of /dev/zero), pipe (a byte in and out), poll (of no descriptor). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int null, zero, ends[2];
static char byte;

static void lock(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void write_byte(void)
{
	if (write(null, &byte, 1) != 1)
		abort();
}

static void read_byte(void)
{
	if (read(zero, &byte, 1) != 1)
		abort();
}

static void through_pipe(void)
{
	if (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1)
		abort();
}

static void poll_nothing(void)
{
	if (poll(NULL, 0, 0) != 0)
		abort();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*call)(void);
	} calls[] = {
		{ "lock", lock }, { "write", write_byte }, { "read", read_byte }, { "pipe", through_pipe }, { "poll", poll_nothing }
	};
	struct timespec from, to;
	long rounds = argc > 2 ? atol(argv[2]) : 0;

	null = open("/dev/null", O_WRONLY);
	zero = open("/dev/zero", O_RDONLY);
	if (rounds < 1 || null < 0 || zero < 0 || pipe(ends))
		return 2;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(calls[i].name, argv[1]) != 0)
			continue;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
		for (long k = 0; k < rounds; k++)
			calls[i].call();
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
		printf("%.3f\n", ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / (double)rounds);
		return 0;
	}
	return 2;
}

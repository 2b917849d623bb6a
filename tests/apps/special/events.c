/* What the emulation counts, read by the program itself through PAPI: known accesses, each thread its own, while another one starts to read. */
#include <papi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define N 20000

static const char *const names[] = { "sde:::assay::accesses", "sde:::assay::allocations", "sde:::assay::atomics", "sde:::assay::system_calls" };
static volatile int cells[64];
static int atomic_cell;
static void *volatile kept;

static void work(int times)
{
	for (int i = 0; i < times * N; i++)
		cells[i % 64] = i; /* one access */
	for (int i = 0; i < 10 * times; i++)
		__atomic_fetch_add(&atomic_cell, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 3 * times; i++)
		free(kept = malloc(100 + (size_t)cells[i]));
}

static void *measured(void *argument)
{
	int set = PAPI_NULL, times = *(int *)argument, three = 3;
	long long before[4], values[4];
	pthread_t thread;

	if (PAPI_register_thread() || PAPI_create_eventset(&set))
		exit(3);
	for (int i = 0; i < 4; i++)
		if (PAPI_add_named_event(set, names[i]))
			exit(77);
	work(times);
	if (PAPI_start(set) || PAPI_read(set, before))
		exit(4);
	if (times != three) {
		pthread_create(&thread, NULL, measured, &three);
		pthread_join(thread, NULL);
	}
	work(times);
	if (PAPI_stop(set, values))
		exit(5);
	for (int i = 0; i < 4; i++)
		values[i] -= before[i];
	printf("%d: accesses %s, allocations %lld, atomics %lld, system calls %lld\n", times,
	       values[0] >= times * N && values[0] < times * N + 1000 ? "as many" : "others", values[1], values[2], values[3]);
	return NULL;
}

int main(void)
{
	int one = 1;

	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT || PAPI_thread_init(pthread_self))
		return 2;
	measured(&one);
	return 0;
}

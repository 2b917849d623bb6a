#include "model/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

struct thread_pool {
	size_t n;
	atomic_size_t next;
	void (*work)(void *context, size_t i);
	void *context;
};

static void *run(void *argument)
{
	struct thread_pool *thread_pool = argument;

	for (;;) {
		size_t i = atomic_fetch_add(&thread_pool->next, 1);

		if (i >= thread_pool->n)
			return NULL;
		thread_pool->work(thread_pool->context, i);
	}
}

void parallel_for(size_t n, size_t threads, void (*work)(void *context, size_t i), void *context)
{
	struct thread_pool thread_pool = { .n = n, .work = work, .context = context };
	pthread_t ids[PARALLEL_THREADS_MAX];
	size_t started = 0;

	if (threads > PARALLEL_THREADS_MAX)
		threads = PARALLEL_THREADS_MAX;
	atomic_init(&thread_pool.next, 0);
	while (started + 1 < threads && started + 1 < n && pthread_create(&ids[started], NULL, run, &thread_pool) == 0)
		started++;
	run(&thread_pool);
	for (size_t i = 0; i < started; i++)
		pthread_join(ids[i], NULL);
}

size_t parallel_threads(void)
{
	cpu_set_t set;
	int n;

	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return 1;
	n = CPU_COUNT(&set);
	return n < 1 ? 1 : n > PARALLEL_THREADS_MAX ? PARALLEL_THREADS_MAX : (size_t)n;
}

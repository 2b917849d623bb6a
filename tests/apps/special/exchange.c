/* Two threads, each with its own array. With -DBAD, they exchange the arrays at every barrier, so that each finds data of the other
 * thread. Barriers order the accesses, so that nothing is shared within a window. */
#include <pthread.h>

#define ITEMS  2000 /* both arrays fit into the L1 cache */
#define PHASES 400

static long data[2][ITEMS] __attribute__((aligned(4096)));
static pthread_barrier_t barrier;

__attribute__((noinline)) static void work(long *items)
{
	for (int i = 0; i < ITEMS; i++)
		items[i] += i;
}

static void *thread(void *number)
{
	for (long phase = 0; phase < PHASES; phase++) {
#ifdef BAD
		work(data[((long)number + phase) % 2]);
#else
		work(data[(long)number]);
#endif
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	pthread_barrier_init(&barrier, NULL, 2);
	for (long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, thread, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

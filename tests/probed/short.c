/* Threads that make many short calls. One window of the emulated clock contains more calls than a thread has room for. */
#include <pthread.h>
#include <stdio.h>

__attribute__((noinline)) long leaf(long x)
{
	__asm__ volatile("" : "+r"(x));
	return 3 * x + 1;
}

__attribute__((noinline)) long deep(long n)
{
	return n ? deep(n - 1) + leaf(n) : leaf(n);
}

static void *work(void *unused)
{
	long sum = 0;

	(void)unused;
	for (long i = 0; i < 3000; i++)
		sum += deep(i % 30);
	return (void *)sum;
}

int main(void)
{
	pthread_t threads[3];
	long all = 0;
	void *sum;

	for (int i = 0; i < 3; i++)
		pthread_create(threads + i, NULL, work, NULL);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], &sum);
		all += (long)sum;
	}
	printf("%ld\n", all);
	return 0;
}

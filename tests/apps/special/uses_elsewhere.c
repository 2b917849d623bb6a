/* STEPS OWN: a function that does nothing but call a library, which takes STEPS, and one that does OWN steps itself; in a child process
 * once more, and in a thread. */
#include "elsewhere.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned table[1024];
static unsigned long steps, own;

static __attribute__((noinline, noclone)) unsigned asks(unsigned n)
{
	unsigned sum = 0;

	for (int i = 0; i < 100; i++)
		sum += elsewhere_work(n / 100 + i);
	return sum;
}

static __attribute__((noinline, noclone)) unsigned does(unsigned n)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += table[i % 1024]++;
	return sum;
}

static void *in_thread(void *result)
{
	*(unsigned *)result = asks(steps);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	unsigned of_thread;

	if (argc != 3)
		return 2;
	steps = strtoul(argv[1], NULL, 10);
	own = strtoul(argv[2], NULL, 10);
	printf("%u %u\n", asks(steps), does(own));
	fflush(stdout);
	if (fork() == 0)
		return asks(steps) == 1;
	wait(NULL);
	if (pthread_create(&thread, NULL, in_thread, &of_thread) || pthread_join(thread, NULL))
		return 1;
	printf("%u\n", of_thread);
	return 0;
}

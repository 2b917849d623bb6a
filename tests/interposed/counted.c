/* Computes one of four known amounts before each write, in turn, in two threads and then in a child. If built in two parts, work() is in a
 * library. With an argument the program only recurses, so deeply that the compiler must have made jumps of the calls. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

unsigned work(unsigned rounds);

#ifndef IN_PROGRAM
unsigned work(unsigned rounds)
{
	unsigned x = rounds;

	for (unsigned i = 0; i < rounds; i++)
		x = x & 1 ? x * 3 + 1 : x / 2 + i;
	return x;
}
#endif

#ifndef IN_LIBRARY
static int to;

static void *compute(void *unused)
{
	static const unsigned rounds[] = { 10000, 12000, 15000, 20000 };
	unsigned sum = 0;

	for (unsigned i = 0; i < 200; i++) {
		sum += work(rounds[i % 4]);
		(void)!write(to, &sum, sizeof(sum));
	}
	return unused;
}

__attribute__((noinline)) static long even(long n);
__attribute__((noinline)) static long odd(long n)
{
	return n == 0 ? to : even(n - 1);
}
static long even(long n)
{
	return n == 0 ? 0 : odd(n - 1);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc > 1)
		return even(strtol(argv[1], NULL, 10)) != 0;
	to = open("/dev/null", O_WRONLY);
	pthread_create(&thread, NULL, compute, NULL);
	compute(NULL);
	pthread_join(thread, NULL);
	if (fork() == 0) {
		compute(NULL);
		exit(0);
	}
	return wait(NULL) < 0;
}
#endif

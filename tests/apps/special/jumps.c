/* Leaves functions and threads in other ways than by returning. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define FUNCTION static __attribute__((noinline))

static jmp_buf place;
static volatile long steps;

FUNCTION void descend(int n)
{
	steps++;
	if (n == 0)
		longjmp(place, 1);
	descend(n - 1);
	steps--;
}

FUNCTION void rest(void)
{
	steps++;
}

FUNCTION void jump(int n)
{
	steps++;
	if (setjmp(place) == 0)
		descend(n);
	rest();
	steps++;
}

FUNCTION long fibonacci(int n)
{
	steps++;
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

FUNCTION void *leave(void *argument)
{
	steps++;
	fibonacci(10);
	pthread_exit(argument);
}

FUNCTION void on_signal(int number)
{
	(void)number;
	steps++;
}

int main(void)
{
	pthread_t thread;
	void *result;

	signal(SIGUSR1, on_signal);
	for (int i = 0; i < 40; i++) {
		jump(i % 7);
		raise(SIGUSR1);
	}
	pthread_create(&thread, NULL, leave, &thread);
	pthread_join(thread, &result);
	printf("%ld %d %ld\n", fibonacci(15), result == &thread, steps);
	exit(0);
}

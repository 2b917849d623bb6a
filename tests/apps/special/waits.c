/* A thread passes boxes to another one; each waits for the other in a loop with sched_yield(). Then it works and calls sched_yield(),
 * too. Each has to wait at the start. -DSIGNALS: each failed look raises a signal, whose handler works. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>

#include "boxes.h"

#define BOXES  100
#define YIELDS 100
#define STEPS  1000 /* between two calls of sched_yield() */

static _Thread_local long handled[4];

FUNCTION void on_signal(int number)
{
	for (int i = 0; i < 4; i++)
		handled[i] += number;
}

static long numbers[YIELDS * 10];

/* Reads a different address at each step. */
FUNCTION long reads(void)
{
	long sum = 0;

	for (int i = 0; i < YIELDS * 10; i++) {
		sum += numbers[i];
		if (i % 10 == 9)
			sched_yield();
	}
	return sum;
}

/* Computes in registers only. */
FUNCTION uint64_t computes(uint64_t x)
{
	for (int i = 0; i < YIELDS * STEPS; i++) {
		if (i % STEPS == 0)
			sched_yield();
		x = x * 6364136223846793005u + 1442695040888963407u;
	}
	return x;
}

static void *gets(void *sum)
{
	for (int i = 0; i < BOXES; i++) {
		while (!get(sum)) {
			in_vain();
			sched_yield();
		}
		if (i == 0)
			let_it_look();
	}
	return (void *)(handled[0] / SIGUSR1);
}

int main(void)
{
	long sum = 0;
	pthread_t t;
	void *signals;

	signal(SIGUSR1, on_signal);
	if (pthread_create(&t, NULL, gets, &sum) != 0)
		return 1;
	let_it_look();
	for (int i = 0; i < BOXES; i++) {
		while (!put(i)) {
			in_vain();
			sched_yield();
		}
	}
	for (int i = 0; i < YIELDS * 10; i++)
		numbers[i] = i;
	sum += reads() + (computes(1) == 0);
	pthread_join(t, &signals);
	printf("%ld %ld\n", sum, handled[0] / SIGUSR1 + (long)signals);
	return 0;
}

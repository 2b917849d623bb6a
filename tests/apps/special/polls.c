/* A thread passes boxes to another one. Each waits for the other in a loop of atomic loads and `pause`, and takes a spin lock that only
 * uses atomic_exchange(). Then one works and checks at each step whether to stop. Each has to wait at the start. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define BOXES 100
#define STEPS 20000

/* Excludes a function from instrumentation; here, a wait for the other thread. */
#define UNSEEN __attribute__((no_sanitize("thread"), no_sanitize_coverage, noinline))

UNSEEN static void let_it_look(void)
{
	usleep(20000);
}

atomic_int full, lock, stop;
static long box, locked, numbers[16];

#define FUNCTION static __attribute__((noinline, noclone))

FUNCTION int put(long item)
{
	if (atomic_load(&full))
		return 0;
	box = item;
	atomic_store(&full, 1);
	return 1;
}

/* Waits within the function itself. */
FUNCTION long get(void)
{
	long item;

	while (!atomic_load(&full))
		__builtin_ia32_pause();
	item = box;
	atomic_store(&full, 0);
	return item;
}

FUNCTION void locks(void)
{
	while (atomic_exchange(&lock, 1))
		__builtin_ia32_pause();
	locked++;
	atomic_store(&lock, 0);
}

/* Computes only in registers. */
FUNCTION uint64_t computes(uint64_t x)
{
	for (int i = 0; i < STEPS && !atomic_load(&stop); i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

/* Accesses the same addresses all the time; one element changes per step. */
FUNCTION long adds(void)
{
	for (int i = 0; i < STEPS && !atomic_load(&stop); i++)
		numbers[i % 16] += i;
	return numbers[3];
}

static void *gets(void *sum)
{
	for (int i = 0; i < BOXES; i++) {
		*(long *)sum += get();
		if (i == 0)
			let_it_look();
	}
	for (int i = 0; i < BOXES; i++)
		locks();
	return NULL;
}

int main(void)
{
	long sum = 0;
	pthread_t t;

	atomic_store(&lock, 1);
	if (pthread_create(&t, NULL, gets, &sum) != 0)
		return 1;
	let_it_look();
	for (int i = 0; i < BOXES; i++) {
		while (!put(i))
			__builtin_ia32_pause();
	}
	let_it_look();
	atomic_store(&lock, 0);
	for (int i = 0; i < BOXES; i++)
		locks();
	sum += (computes(1) == 0) + (adds() == 0);
	pthread_join(t, NULL);
	printf("%ld %ld\n", sum, locked);
	return 0;
}

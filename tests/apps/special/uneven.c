/* Eight threads process all rows, ROUNDS times. Each thread has an equal share of fixed rows; with -DTAKEN, each takes eight rows at a
 * time. The total work is the same. With -DTAKEN, the work per call varies, and a thread's rows belonged to another thread before. */
#include <pthread.h>
#include <stdlib.h>

#define ROWS	240
#define CELLS	4096
#define THREADS 8

static int cells[ROWS][CELLS], next;

static inline void go_through(int row)
{
	for (int i = 0; i < CELLS; i++)
		cells[row][i] += i;
}

__attribute__((noinline)) void part(int rank)
{
#ifdef TAKEN
	for (int first; (first = __atomic_fetch_add(&next, 8, __ATOMIC_SEQ_CST)) < ROWS;)
		for (int row = first; row < first + 8; row++)
			go_through(row);
#else
	for (int row = rank * ROWS / THREADS; row < (rank + 1) * ROWS / THREADS; row++)
		go_through(row);
#endif
}

static void *run(void *rank)
{
	part((int)(long)rank);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	for (int rounds = argc > 1 ? atoi(argv[1]) : 1; rounds > 0; rounds--) {
		next = 0;
		for (long i = 0; i < THREADS; i++)
			if (pthread_create(&threads[i], NULL, run, (void *)i) != 0)
				return 1;
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	return 0;
}

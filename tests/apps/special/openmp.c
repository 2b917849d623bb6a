/* Uses OpenMP regions, loops, barriers and reductions. With -DBAD, the threads' counters are adjacent. */
#include <omp.h>
#include <stdio.h>

#define STEPS 20000
#define CELLS 4096

static struct {
	volatile long value;
#ifndef BAD
	char apart[64 - sizeof(long)];
#endif
} counters[64] __attribute__((aligned(64)));
static double cells[CELLS];

int main(void)
{
	double sum = 0;
	long total = 0;

	omp_set_num_threads(4);
	for (int round = 0; round < 4; round++) {
#pragma omp parallel
		{
			for (long i = 0; i < STEPS; i++)
				counters[omp_get_thread_num()].value++;
#pragma omp for
			for (int i = 0; i < CELLS; i++)
				cells[i] += i;
#pragma omp barrier
#pragma omp for schedule(static, 256) reduction(+ : sum)
			for (int i = 0; i < CELLS; i++)
				sum += cells[i];
		}
#pragma omp parallel for reduction(+ : sum)
		for (int i = 0; i < CELLS; i++)
			sum += cells[i];
	}
	for (int i = 0; i < 4; i++)
		total += counters[i].value;
	printf("%ld %.0f\n", total, sum);
	return 0;
}

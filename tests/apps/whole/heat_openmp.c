/* Simulates heat on a plate. Rows with sources take longer; OpenMP assigns rows dynamically. With BAD, the threads' sums of changes are
 * adjacent in an array. */
#include "../app.h"

#include <omp.h>

#define WIDE 130
#define HIGH 96

static double plates[2][HIGH][WIDE];
static struct {
	volatile double sum;
#ifndef BAD
	char apart[LINE - sizeof(double)];
#endif
} *changed;

FUNCTION double source(int row, int column)
{
	volatile double heat = 0;

	for (int i = 0; i < row % 3 * 2; i++)
		heat += (double)(column % 7) * .125;
	return heat;
}

FUNCTION double cell(double (*from)[WIDE], int row, int column)
{
	return .25 * (from[row - 1][column] + from[row + 1][column] + from[row][column - 1] + from[row][column + 1]);
}

FUNCTION void one_row(double (*from)[WIDE], double (*to)[WIDE], int row, int thread)
{
	for (int i = 1; i < WIDE - 1; i++) {
		double now = cell(from, row, i);

		if (row % 8 == 0 && i % 4 == 0)
			now += source(row, i);
		changed[thread].sum += now > from[row][i] ? 1 : 0;
		to[row][i] = now;
	}
}

FUNCTION void step(double (*from)[WIDE], double (*to)[WIDE])
{
#pragma omp parallel for schedule(dynamic, 2)
	for (int row = 1; row < HIGH - 1; row++)
		one_row(from, to, row, omp_get_thread_num());
}

FUNCTION void begin(void)
{
	uint64_t state = app.seed;

	for (int row = 0; row < HIGH; row++)
		for (int i = 0; i < WIDE; i++)
			plates[0][row][i] = plates[1][row][i] = (double)(app_random(&state) % 100);
}

int main(int argc, char **argv)
{
	double total = 0;

	app_begin(argc, argv, 12);
	omp_set_num_threads((int)app.threads);
	changed = app_lines(app.threads * sizeof(*changed));
	begin();
	for (long i = 0; i < app.size; i++)
		step(plates[i % 2], plates[1 - i % 2]);
	for (unsigned i = 0; i < app.threads; i++)
		total += changed[i].sum;
	app_end((uint64_t)total);
	return 0;
}

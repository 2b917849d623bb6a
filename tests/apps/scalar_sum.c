/* Sums up numbers, with a partial sum per thread. With BAD, the partial sums are adjacent. */
#include "app.h"

static struct app_counter *sums;

FUNCTION void sum_part(unsigned thread)
{
	for (long i = app_from(thread, app.size); i < app_to(thread, app.size); i++)
		sums[thread].value += (uint64_t)i;
}

int main(int argc, char **argv)
{
	app_begin(argc, argv, 100000000);
	sums = app_lines(app.threads * sizeof(*sums));
	app_run(sum_part);
	app_end(app_total(sums));
	return 0;
}

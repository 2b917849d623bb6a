/* Fits a line to points. With BAD, the five sums of several threads share cache lines. */
#include "app.h"

struct sums {
	volatile uint64_t x, y, xx, yy, xy;
#ifndef BAD
	char apart[LINE - 5 * sizeof(uint64_t)];
#endif
};

struct point {
	uint8_t x, y;
};

static struct sums *sums;
static struct point *points;

FUNCTION void add_points(unsigned thread)
{
	struct sums *s = &sums[thread];

	for (long i = app_from(thread, app.size); i < app_to(thread, app.size); i++) {
		uint64_t x = points[i].x, y = points[i].y;

		s->x += x;
		s->y += y;
		s->xx += x * x;
		s->yy += y * y;
		s->xy += x * y;
	}
}

int main(int argc, char **argv)
{
	uint64_t state, total = 0;

	app_begin(argc, argv, 20000000);
	state = app.seed;
	sums = app_lines(app.threads * sizeof(*sums));
	points = app_lines((size_t)app.size * sizeof(*points));
	for (long i = 0; i < app.size; i++) {
		points[i].x = (uint8_t)app_random(&state);
		points[i].y = (uint8_t)(points[i].x / 2 + app_random(&state) % 9);
	}
	app_run(add_points);
	for (unsigned i = 0; i < app.threads; i++)
		total += sums[i].x + sums[i].y + sums[i].xx + sums[i].yy + sums[i].xy;
	app_end(total);
	return 0;
}

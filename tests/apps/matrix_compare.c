/* Counts the elements in which two matrices differ. With BAD, the threads' counters are adjacent. */
#include "app.h"

static struct app_counter *different;
static uint32_t *a, *b;

FUNCTION void compare_part(unsigned thread)
{
	long n = app.size;

	for (long row = app_from(thread, n); row < app_to(thread, n); row++) {
		for (long column = 0; column < n; column++)
			different[thread].value += a[row * n + column] != b[row * n + column];
	}
}

int main(int argc, char **argv)
{
	app_begin(argc, argv, 4000);
	different = app_lines(app.threads * sizeof(*different));
	a = app_lines((size_t)(app.size * app.size) * sizeof(*a));
	b = app_lines((size_t)(app.size * app.size) * sizeof(*b));
	for (long i = 0; i < app.size * app.size; i++) {
		a[i] = (uint32_t)i % 13;
		b[i] = (uint32_t)i % 17;
	}
	app_run(compare_part);
	app_end(app_total(different));
	return 0;
}

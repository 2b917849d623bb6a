/* Draws consecutive numbers, 256 at once from a shared counter. With BAD, one number at a time. */
#include "app.h"

#include <stdatomic.h>

#define BATCH 256

struct drawn {
	uint64_t sum;
	char apart[LINE - sizeof(uint64_t)];
};

static struct drawn *drawn;
static struct {
	_Alignas(LINE) atomic_ulong next;
} dispenser;

FUNCTION void draw(unsigned thread)
{
	uint64_t sum = 0;

	for (long i = 0; i < app.size; i += BATCH) {
#ifdef BAD
		for (unsigned k = 0; k < BATCH; k++)
			sum += atomic_fetch_add(&dispenser.next, 1);
#else
		volatile uint64_t number = atomic_fetch_add(&dispenser.next, BATCH);

		for (unsigned k = 0; k < BATCH; k++)
			sum += number++;
#endif
	}
	drawn[thread].sum = sum;
}

int main(int argc, char **argv)
{
	uint64_t total = 0;

	app_begin(argc, argv, 5000000);
	drawn = app_lines(app.threads * sizeof(*drawn));
	app_run(draw);
	for (unsigned i = 0; i < app.threads; i++)
		total += drawn[i].sum;
	app_end(total);
	return 0;
}

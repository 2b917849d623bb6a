/* A function in which faults of seven kinds can be enabled, one or two at once: -DFAULTS=27 enables the second and the seventh, numbered
 * as in tests/apps/seven.c. */
#include "../apps/app.h"

#include <stdatomic.h>
#include <unistd.h>

#ifndef FAULTS
#define FAULTS 0
#endif
#define FAULTY(n) (FAULTS / 10 == (n) || FAULTS % 10 == (n))
#define ITEMS	  4096
#define PAGE	  1024 /* numbers per page; a number has 4 bytes */

static struct {
	volatile uint64_t value;
#if !FAULTY(1)
	char apart[LINE - sizeof(uint64_t)];
#endif
} * tallies;
static struct own {
	_Alignas(LINE) volatile uint64_t odd, even, last, sum;
	_Alignas(LINE) char buffer[ITEMS];
} * owns;
static uint8_t *items;
static uint32_t *following; /* index of the next item */

FUNCTION void work_on(unsigned thread)
{
	struct own *own = &owns[thread];
	const uint8_t *from = items;
	uint32_t at = 0;

#if FAULTY(3)
	memcpy(own->buffer, items, ITEMS);
	from = (const uint8_t *)own->buffer;
#endif
	for (int i = 0; i < ITEMS; i++) {
#if FAULTY(2)
		static _Alignas(LINE) atomic_ulong number;

		atomic_fetch_add(&number, 1);
#endif
#if FAULTY(5)
		if (i % 16 == 0)
			own->sum += getppid() == 0;
#endif
#if FAULTY(6)
		if (i % 16 == 0) {
			volatile char *there = malloc(64);

			there[0] = 1;
			free((char *)(uintptr_t)there);
		}
#endif
#if FAULTY(4)
		if (from[i] & 1) {
#else
		if (i & 1) {
#endif
			own->odd++;
			own->last = (uint64_t)i; /* keeps the compiler from removing the branch */
		} else {
			own->even++;
		}
		tallies[thread].value += from[i];
		at = following[(size_t)(FAULTY(7) ? at * PAGE : (uint32_t)i)];
		own->sum += at != ITEMS;
	}
}

static void work(unsigned thread)
{
	for (long i = 0; i < app.size; i++)
		work_on(thread);
}

/* Links all items in a circle, each on a page of its own if FAULTY(7), otherwise in one array. */
static void prepare(void)
{
	uint64_t state = app.seed;

	items = app_lines(ITEMS);
	for (int i = 0; i < ITEMS; i++)
		items[i] = (uint8_t)(app_random(&state) >> 7);
	following = app_lines(sizeof(*following) * ITEMS * (FAULTY(7) ? PAGE : 1));
	for (uint32_t i = 0; i < ITEMS; i++)
		following[(size_t)i * (FAULTY(7) ? PAGE : 1)] = (i * 1021 + 1) % ITEMS;
}

int main(int argc, char **argv)
{
	uint64_t total = 0;

	app_begin(argc, argv, 100);
	tallies = app_lines(app.threads * sizeof(*tallies));
	owns = app_lines(app.threads * sizeof(*owns));
	prepare();
	app_run(work);
	for (unsigned i = 0; i < app.threads; i++)
		total += tallies[i].value + owns[i].odd + owns[i].even + owns[i].sum;
	app_end(total);
	return 0;
}

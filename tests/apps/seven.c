/* Seven functions with one possible fault each: -DFAULT=1 to 7, or two at once: -DFAULT=27. The functions do the same work with and
 * without faults. */
#include "app.h"

#include <stdatomic.h>
#include <unistd.h>

#ifndef FAULT
#define FAULT 0
#endif
#define FAULTY(n) (FAULT / 10 == (n) || FAULT % 10 == (n))

#define ITEMS 4096
#define PAGE  1024 /* numbers per page; a number has 4 bytes */

/* Data of the threads, each on its own cache line, except with fault 1. */
static struct {
	volatile uint64_t value;
#if !FAULTY(1)
	char apart[LINE - sizeof(uint64_t)];
#endif
} *tallies;
static struct own {
	_Alignas(LINE) volatile uint64_t drawn, odd, even, last, answers, sum;
	_Alignas(LINE) char buffer[ITEMS];
} *owns;
static uint8_t *items;
static uint32_t *following; /* index of the next item */

/* Fault 1: false sharing. */
FUNCTION void tally(unsigned thread)
{
	for (int i = 0; i < ITEMS; i++)
		tallies[thread].value += items[i];
}

/* Fault 2: true sharing. */
FUNCTION void draw(struct own *own)
{
#if FAULTY(2)
	static _Alignas(LINE) atomic_ulong number;
#endif

	for (int i = 0; i < ITEMS; i++) {
#if FAULTY(2)
		atomic_fetch_add(&number, 1);
#endif
		own->drawn++;
	}
}

/* Fault 3: an extra copy. */
FUNCTION void parse(struct own *own)
{
	const uint8_t *from = items;

#if FAULTY(3)
	memcpy(own->buffer, items, ITEMS);
	from = (const uint8_t *)own->buffer;
#endif
	for (int i = 0; i < ITEMS; i++)
		own->sum += from[i];
}

/* Fault 4: an unpredictable branch, because it depends on random items. Without the fault, the branch alternates. */
FUNCTION void choose(struct own *own)
{
	for (int i = 0; i < ITEMS; i++) {
#if FAULTY(4)
		if (items[i] & 1) {
#else
		if (i & 1) {
#endif
			own->odd++;
			own->last = (uint64_t)i; /* keeps the compiler from removing the branch */
		} else {
			own->even++;
		}
	}
}

/* Fault 5: a system call in the loop. */
FUNCTION void ask(struct own *own)
{
	for (int i = 0; i < ITEMS; i++) {
#if FAULTY(5)
		if (i % 16 == 0)
			own->answers += getppid() == 0;
#endif
		own->answers += items[i] / 128;
	}
}

/* Fault 6: an allocation in the loop. */
FUNCTION void store(struct own *own)
{
	for (int i = 0; i < ITEMS; i += 16) {
#if FAULTY(6)
		volatile char *at = malloc(64);
#else
		volatile char *at = own->buffer;
#endif
		for (int k = 0; k < 16; k++)
			at[k] = (char)items[i + k];
		own->sum += (uint8_t)at[5];
#if FAULTY(6)
		free((char *)(uintptr_t)at);
#endif
	}
}

/* Fault 7: a pointer chase through memory instead of an array. */
FUNCTION void walk(struct own *own)
{
	uint32_t at = 0;

	for (int i = 0; i < ITEMS; i++) {
#if FAULTY(7)
		at = following[(size_t)at * PAGE];
#else
		at = following[i];
#endif
		own->sum += at != ITEMS;
	}
}

static void work(unsigned thread)
{
	struct own *own = &owns[thread];

	for (long i = 0; i < app.size; i++) {
		tally(thread);
		draw(own);
		parse(own);
		choose(own);
		ask(own);
		store(own);
		walk(own);
	}
}

/* Links all items in a circle, each on a page of its own with fault 7, otherwise in one array. */
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

	app_begin(argc, argv, 500);
	tallies = app_lines(app.threads * sizeof(*tallies));
	owns = app_lines(app.threads * sizeof(*owns));
	prepare();
	app_run(work);
	for (unsigned i = 0; i < app.threads; i++)
		total += tallies[i].value + owns[i].drawn + owns[i].odd + owns[i].even + owns[i].answers + owns[i].sum;
	app_end(total);
	return 0;
}

/* Collects orders in books of 256, sorts them and filters them. With BAD, the sorting is omitted, because the result is the same. The
 * filter is unchanged, but its branches become unpredictable. */
#include "../app.h"

#define ORDERS 256
#define PASSES 12

struct order {
	uint32_t price, amount;
};

static struct own {
	_Alignas(LINE) uint64_t state;
	volatile uint64_t cheap, dear, last;
	struct order orders[ORDERS], sorted[ORDERS];
	uint32_t starts[257];
} *owns;

FUNCTION void gather(struct own *own)
{
	for (int i = 0; i < ORDERS; i++) {
		own->orders[i].price = (uint32_t)app_random(&own->state) % 256;
		own->orders[i].amount = (uint32_t)i;
	}
}

FUNCTION void arrange(struct own *own)
{
#ifdef BAD
	memcpy(own->sorted, own->orders, sizeof(own->sorted));
#else
	memset(own->starts, 0, sizeof(own->starts));
	for (int i = 0; i < ORDERS; i++)
		own->starts[own->orders[i].price + 1]++;
	for (int i = 0; i < 256; i++)
		own->starts[i + 1] += own->starts[i];
	for (int i = 0; i < ORDERS; i++)
		own->sorted[own->starts[own->orders[i].price]++] = own->orders[i];
#endif
}

FUNCTION void note_cheap(struct own *own, const struct order *o)
{
	own->cheap += o->price;
}

FUNCTION void note_dear(struct own *own, const struct order *o)
{
	own->dear += o->amount;
	own->last = o->price;
}

FUNCTION void filter(struct own *own, uint32_t limit)
{
	for (int i = 0; i < ORDERS; i++) {
		if (own->sorted[i].price < limit)
			note_cheap(own, &own->sorted[i]);
		else
			note_dear(own, &own->sorted[i]);
	}
}

FUNCTION void one_book(struct own *own)
{
	gather(own);
	arrange(own);
	for (uint32_t i = 0; i < PASSES; i++)
		filter(own, 64 + i * 12);
}

static void work(unsigned thread)
{
	owns[thread].state = app.seed + thread;
	for (long i = app_from(thread, app.size); i < app_to(thread, app.size); i++)
		one_book(&owns[thread]);
}

int main(int argc, char **argv)
{
	uint64_t total = 0;

	app_begin(argc, argv, 120);
	owns = app_lines(app.threads * sizeof(*owns));
	app_run(work);
	for (unsigned i = 0; i < app.threads; i++)
		total += owns[i].cheap + owns[i].dear;
	app_end(total);
	return 0;
}

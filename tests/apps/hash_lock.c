/* Counts keys in a table. Each thread has its own table, added up at the end; with BAD, all threads share one table and its lock. */
#include "app.h"

#define SLOTS 64

struct slot {
	_Alignas(LINE) uint64_t seen; /* a line per slot: only the intended sharing matters here */
};

struct table {
	_Alignas(LINE) pthread_mutex_t lock;
	_Alignas(LINE) volatile uint64_t entries;
	struct slot slots[SLOTS];
};

static struct table *tables;

static struct table *table_of(unsigned thread)
{
#ifdef BAD
	return &tables[0 * thread];
#else
	return &tables[thread];
#endif
}

FUNCTION void count_keys(unsigned thread)
{
	struct table *table = table_of(thread);
	uint64_t state = app.seed + thread;

	for (long i = 0; i < app.size; i++) {
		uint64_t key = app_random(&state);

		pthread_mutex_lock(&table->lock);
		table->slots[key % SLOTS].seen++;
		table->entries++;
		pthread_mutex_unlock(&table->lock);
	}
}

int main(int argc, char **argv)
{
	uint64_t total = 0;

	app_begin(argc, argv, 1000000);
	tables = app_lines(app.threads * sizeof(*tables));
	for (unsigned i = 0; i < app.threads; i++)
		pthread_mutex_init(&tables[i].lock, NULL);
	app_run(count_keys);
	for (unsigned i = 0; i < app.threads; i++) {
		for (unsigned k = 0; k < SLOTS; k++)
			total += (uint64_t)k * tables[i].slots[k].seen;
	}
	app_end(total);
	return 0;
}

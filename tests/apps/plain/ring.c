/* Pairs of producer and consumer threads, each pair with its own ring buffer; all share a table of counters. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SIZE 256

struct ring {
#if FAULT == 1
	_Alignas(64) _Atomic uint32_t head;
	_Atomic uint32_t tail;
	uint64_t put_sum, got_sum;
#else
	_Alignas(128) _Atomic uint32_t head;
	uint64_t put_sum;
	_Alignas(128) _Atomic uint32_t tail;
	uint64_t got_sum;
#endif
	_Alignas(128) uint64_t items[SIZE];
};

static struct ring *rings;
static long n_items;
#if FAULT == 2
static struct { _Atomic uint64_t kinds[8]; } counts[64];
#else
static struct { _Alignas(128) _Atomic uint64_t kinds[8]; } counts[64];
#endif

static int ring_put(struct ring *r, uint64_t item)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	if (head - atomic_load_explicit(&r->tail, memory_order_acquire) == SIZE)
		return 0;
	r->items[head % SIZE] = item;
	r->put_sum += item;
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
	return 1;
}

static int ring_get(struct ring *r, uint64_t *item)
{
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	if (tail == atomic_load_explicit(&r->head, memory_order_acquire))
		return 0;
	*item = r->items[tail % SIZE];
	r->got_sum += *item;
	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
	return 1;
}

static uint64_t make_item(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 20;
}

static void *producer(void *argument)
{
	intptr_t i = (intptr_t)argument;
	uint64_t state = (uint64_t)i + 1;

	for (long k = 0; k < n_items; k++) {
		uint64_t item = make_item(&state);

		while (!ring_put(&rings[i], item))
			sched_yield();
	}
	return NULL;
}

#if TIDY
static void count_item(intptr_t who, uint64_t item)
{
	atomic_fetch_add_explicit(&counts[who].kinds[item % 8], 1, memory_order_relaxed);
}
#endif

static uint64_t digest(uint64_t item)
{
	for (int i = 0; i < 6; i++)
		item = (item ^ item >> 29) * 0xbf58476d1ce4e5b9u;
	return item;
}

static void *consumer(void *argument)
{
	intptr_t i = (intptr_t)argument;
	uint64_t sum = 0;

	for (long k = 0; k < n_items; k++) {
		uint64_t item;

		while (!ring_get(&rings[i], &item))
			sched_yield();
		sum += digest(item);
#if TIDY
		count_item(i, item);
#elif FAULT == 2
		atomic_fetch_add_explicit(&counts[0].kinds[i % 8], 1, memory_order_relaxed);
#else
		atomic_fetch_add_explicit(&counts[i].kinds[item % 8], 1, memory_order_relaxed);
#endif
	}
	return (void *)(uintptr_t)sum;
}

int main(int argc, char **argv)
{
	int pairs = argc > 2 ? atoi(argv[2]) : 2;
	pthread_t t[128];
	uintptr_t sum = 0;

	n_items = argc > 1 ? atol(argv[1]) : 5000;
	rings = aligned_alloc(128, (size_t)pairs * sizeof(*rings));
	for (int i = 0; i < pairs; i++)
		rings[i] = (struct ring){ .put_sum = 0 };
	for (intptr_t i = 0; i < pairs; i++) {
		pthread_create(&t[2 * i], NULL, producer, (void *)i);
		pthread_create(&t[2 * i + 1], NULL, consumer, (void *)i);
	}
	for (int i = 0; i < 2 * pairs; i++) {
		void *result;

		pthread_join(t[i], &result);
		sum += (uintptr_t)result;
	}
	printf("%lx\n", (unsigned long)sum);
	return 0;
}

/* Small programs in pairs: the second one of each does what its counters are about, the first one does not. */
#include "runs/inside/instrument/countable.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define LINE_BYTES     64u
#define THREADS        2u
#define INCREMENTS     2000000u
#define NODES          (1u << 19) /* of 64 bytes: 32 MiB, more than most caches hold */
#define STEPS          2000000u
#define BRANCHES       4000000u
#define PAGES          16384u
#define PAUSES         200u

static const struct countable_pair pairs[] = {
	{ COUNTABLE_COHERENCE, NULL, "padded", "shared", "two threads that count in one cache line, against two lines" },
	{ COUNTABLE_CACHE, NULL, "array", "chase", "a chase through 32 MiB, against going through it in order" },
	{ COUNTABLE_TLB, NULL, "array", "chase", "a chase through 32 MiB, against going through it in order" },
	{ COUNTABLE_BRANCH, "PAPI_BR_MSP", "steady", "random", "branches on random bits, against the same ones in order" },
	{ COUNTABLE_FLOAT, NULL, "integers", "floats", "a sum of floating-point numbers, against one of integers" },
	{ COUNTABLE_STALL, NULL, "array", "chase", "a chase through 32 MiB, against going through it in order" },
	{ COUNTABLE_CYCLES, NULL, "little", "much", "work a hundred times as long" },
	{ COUNTABLE_WORK, NULL, "little", "much", "work a hundred times as long" },
	{ COUNTABLE_SOFTWARE, "perf::TASK-CLOCK", "little", "much", "work a hundred times as long" },
	{ COUNTABLE_SOFTWARE, "perf::PAGE-FAULTS", "little", "pages", "64 MiB of memory that is touched for the first time" },
	{ COUNTABLE_SOFTWARE, "perf::CONTEXT-SWITCHES", "little", "pauses", "200 pauses" },
};

const struct countable_pair *countable_pairs(size_t *n)
{
	*n = sizeof(pairs) / sizeof(pairs[0]);
	return pairs;
}

/* ---- two threads ---- */

static _Alignas(2 * LINE_BYTES) volatile uint64_t counts[THREADS * 2 * LINE_BYTES / sizeof(uint64_t)];

static void *increment(void *at)
{
	volatile uint64_t *count = at;

	for (unsigned i = 0; i < INCREMENTS; i++)
		++*count;
	return NULL;
}

static void increments(size_t distance)
{
	pthread_t threads[THREADS];
	size_t started = 0;

	while (started < THREADS && pthread_create(&threads[started], NULL, increment, (void *)(uintptr_t)&counts[started * distance]) == 0)
		started++;
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
}

static void padded(void)
{
	increments(2 * LINE_BYTES / sizeof(uint64_t));
}

static void shared(void)
{
	increments(1);
}

/* ---- memory ---- */

struct node {
	uint32_t next;
	char rest[LINE_BYTES - sizeof(uint32_t)];
};

static uint32_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)(*state >> 16);
}

/* One circle through all nodes: in order, or in a random one (Sattolo's algorithm). */
static void walk(bool in_order)
{
	struct node *nodes = mem_new(NODES, sizeof(*nodes));
	uint64_t state = 88172645463325252u;
	volatile uint32_t at = 0;

	for (uint32_t i = 0; i < NODES; i++)
		nodes[i].next = in_order ? (i + 1) % NODES : i;
	for (uint32_t i = NODES - 1; i > 0; i--) {
		uint32_t other = random_next(&state) % i, next = nodes[i].next;

		if (in_order)
			continue;
		nodes[i].next = nodes[other].next;
		nodes[other].next = next;
	}
	for (unsigned i = 0; i < STEPS; i++)
		at = nodes[at].next;
	free(nodes);
}

static void array(void)
{
	walk(true);
}

static void chase(void)
{
	walk(false);
}

/* ---- the processor ---- */

static void branches(bool at_random)
{
	uint64_t state = 88172645463325252u;
	volatile uint64_t sum = 0;

	for (uint32_t i = 0; i < BRANCHES; i++) {
		uint32_t bit = random_next(&state) & 1;

		if ((at_random ? bit : i & 1) != 0)
			sum = sum + i;
		else
			sum = sum ^ i;
	}
}

static void steady(void)
{
	branches(false);
}

static void at_random(void)
{
	branches(true);
}

static void integers(void)
{
	volatile uint64_t sum = 0;

	for (uint32_t i = 0; i < BRANCHES; i++)
		sum = sum + i;
}

static void floats(void)
{
	volatile double sum = 0;

	for (uint32_t i = 0; i < BRANCHES; i++)
		sum = sum + 1.5;
}

static void little(void)
{
	integers();
}

static void much(void)
{
	for (int i = 0; i < 100; i++)
		integers();
}

/* ---- the kernel ---- */

static void pages(void)
{
	volatile char *memory = mmap(NULL, PAGES * 4096u, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return;
	madvise((void *)(uintptr_t)memory, PAGES * 4096u, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < PAGES; i++)
		memory[i * 4096u] = 1;
	munmap((void *)(uintptr_t)memory, PAGES * 4096u);
}

static void pauses(void)
{
	const struct timespec pause = { 0, 20000 };

	for (unsigned i = 0; i < PAUSES; i++)
		nanosleep(&pause, NULL);
}

bool countable_work(const char *name)
{
	static const struct {
		const char *name;
		void (*work)(void);
	} rows[] = {
		{ "padded", padded },     { "shared", shared }, { "array", array },   { "chase", chase },
		{ "steady", steady },     { "random", at_random }, { "integers", integers }, { "floats", floats },
		{ "little", little },     { "much", much },     { "pages", pages },   { "pauses", pauses },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].name, name) != 0)
			continue;
		rows[i].work();
		return true;
	}
	return false;
}

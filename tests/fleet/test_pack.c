/* Tests the packing of events into runs with tables of simulated CPUs: events for any counter, for some counters, events that need two
 * counters, and fixed counters. An exhaustive search gives the expected result. */
#include "fleet/counting/pack.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define PARTS_MAX   2

/* An event of a simulated CPU. Each part needs its own counter from a set. A part with an empty set makes the event impossible. */
struct fake_event {
	unsigned parts[PARTS_MAX]; /* bit sets of counters */
	size_t n;
};

struct fake {
	struct pack_table table; /* the first member, so that a pointer to it can be cast */
	const struct fake_event *events;
	long questions;
};

static bool place(const unsigned *parts, size_t n, unsigned used)
{
	if (n == 0)
		return true;
	for (unsigned counter = 1; counter <= parts[0]; counter <<= 1) {
		if ((parts[0] & counter) && !(used & counter) && place(parts + 1, n - 1, used | counter))
			return true;
	}
	return false;
}

static bool fake_fits(const struct pack_table *table, const size_t *events, size_t n)
{
	struct fake *fake = (struct fake *)(uintptr_t)table; /* the table itself is not const */
	unsigned parts[PACK_EVENTS_MAX * PARTS_MAX];
	size_t n_parts = 0;

	fake->questions++;
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(events[i], events[k]);
		for (size_t k = 0; k < fake->events[events[i]].n; k++)
			parts[n_parts++] = fake->events[events[i]].parts[k];
	}
	return place(parts, n_parts, 0);
}

static struct fake fake_of(const struct fake_event *events)
{
	return (struct fake){ { fake_fits }, events, 0 };
}

/* Checks that each event that fits beside the base is in exactly one run, and that each run fits with the base. */
static void check_pack(const struct fake *fake, size_t n, size_t base, const struct pack *pack)
{
	struct fake again = *fake;
	size_t events[PACK_EVENTS_MAX];

	for (size_t run = 1; run <= pack->runs; run++) {
		size_t count = 0;

		if (base != PACK_NONE)
			events[count++] = base;
		for (size_t i = 0; i < n; i++) {
			if (i != base && pack->run[i] == run)
				events[count++] = i;
		}
		assert_true(count > 0);
		assert_true(fake_fits(&again.table, events, count));
	}
	for (size_t i = 0; i < n; i++) {
		size_t both[2] = { base, i };
		bool can = base == PACK_NONE || i == base ? fake_fits(&again.table, &i, 1) : fake_fits(&again.table, both, 2);

		if (base != PACK_NONE && !fake_fits(&again.table, &base, 1))
			can = false;
		assert_true(pack->run[i] <= pack->runs);
		assert_int_equal(pack->run[i] > 0, can);
	}
}

#define ANY 0xf

static void test_tables(void **state)
{
	static const struct fake_event four[] = { { { ANY }, 1 }, { { ANY }, 1 }, { { ANY }, 1 }, { { ANY }, 1 }, { { ANY }, 1 },
						  { { ANY }, 1 }, { { ANY }, 1 }, { { ANY }, 1 }, { { ANY }, 1 }, { { ANY }, 1 } };
	/* Instructions and cycles have their own counters (bits 4 and 5). */
	static const struct fake_event fixed[] = { { { 0x10 | ANY }, 1 }, { { 0x20 | ANY }, 1 }, { { ANY }, 1 },
						   { { ANY }, 1 },	  { { ANY }, 1 },	 { { ANY }, 1 } };
	/* Three events for the first counter only, and three for the first two counters. */
	static const struct fake_event picky[] = { { { 0x10 }, 1 }, { { 0x1 }, 1 }, { { 0x1 }, 1 }, { { 0x1 }, 1 },
						   { { 0x3 }, 1 },  { { 0x3 }, 1 }, { { 0x3 }, 1 } };
	static const struct fake_event derived[] = {
		{ { ANY }, 1 }, { { ANY, ANY }, 2 }, { { ANY, ANY }, 2 }, { { ANY }, 1 }, { { 0 }, 1 }
	};
	static const struct fake_event one[] = { { { 0x1 }, 1 }, { { 0x1 }, 1 }, { { 0x1 }, 1 } };
	static const struct fake_event none[] = { { { 0 }, 1 }, { { ANY }, 1 } };
	static const struct {
		const char *what;
		const struct fake_event *events;
		size_t n, base, runs;
	} rows[] = {
		{ "nothing", four, 0, PACK_NONE, 0 },
		{ "one event", four, 1, PACK_NONE, 1 },
		{ "the base alone", four, 1, 0, 1 },
		{ "four counters, ten events", four, 10, PACK_NONE, 3 },
		{ "four counters, one for the base", four, 10, 0, 3 },
		{ "counters of their own", fixed, 6, 0, 1 },
		{ "first fit would do with three, too", picky, 7, 0, 3 },
		{ "two counters for an event, one that is impossible", derived, 5, 0, 2 },
		{ "one counter", one, 3, PACK_NONE, 3 },
		{ "one counter, and the base needs it", one, 3, 0, 1 },
		{ "the base cannot be counted: nothing can", none, 2, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct fake fake = fake_of(rows[i].events);
		struct pack pack;

		pack_events(&fake.table, rows[i].n, rows[i].base, &pack);
		if (pack.runs != rows[i].runs)
			fail_msg("%s: %zu runs, not %zu", rows[i].what, pack.runs, rows[i].runs);
		check_pack(&fake, rows[i].n, rows[i].base, &pack);
	}
}

/* Returns the smallest number of runs. best[set] is one more than the best of the set without a subset that fits into one run. */
static size_t fewest(struct fake *fake, size_t n, size_t base)
{
	size_t *best = mem_new((size_t)1 << n, sizeof(*best)), answer;

	for (size_t set = 1; set < (size_t)1 << n; set++) {
		best[set] = n + 1;
		for (size_t part = set; part > 0; part = (part - 1) & set) {
			size_t events[PACK_EVENTS_MAX], count = 0;

			if (best[set & ~part] + 1 >= best[set])
				continue;
			if (base != PACK_NONE)
				events[count++] = base;
			for (size_t i = 0; i < n; i++) {
				if (part >> i & 1)
					events[count++] = i;
			}
			if (fake_fits(&fake->table, events, count))
				best[set] = best[set & ~part] + 1;
		}
	}
	answer = best[((size_t)1 << n) - 1];
	free(best);
	return answer;
}

/* Checks that first fit sometimes needs one run more than the smallest number, and never two. */
static void test_few_runs(void **state)
{
	size_t more = 0;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 20261120);
	for (int round = 0; round < 150; round++) {
		struct fake_event events[9];
		size_t n = 1 + (size_t)rng_below(&rng, 8);
		struct pack pack;
		struct fake fake;

		/* The last event is the base. In half of the rounds it has its own counter. */
		for (size_t i = 0; i < n; i++) {
			events[i].n = 1 + (size_t)rng_below(&rng, PARTS_MAX);
			for (size_t k = 0; k < events[i].n; k++)
				events[i].parts[k] = 1 + (unsigned)rng_below(&rng, 15);
		}
		events[n] = (struct fake_event){ { round % 2 ? 0x10 : 0x1f }, 1 };
		for (size_t i = 0; i < n; i++) { /* replaces impossible events */
			size_t both[2] = { n, i };

			fake = fake_of(events);
			if (!fake_fits(&fake.table, both, 2))
				events[i] = (struct fake_event){ { ANY }, 1 };
		}
		fake = fake_of(events);
		pack_events(&fake.table, n + 1, n, &pack);
		check_pack(&fake, n + 1, n, &pack);
		more += pack.runs - fewest(&fake, n, n);
		if (pack.runs > fewest(&fake, n, n) + 1)
			fail_msg("round %d: %zu runs for %zu events, and %zu are enough", round, pack.runs, n, fewest(&fake, n, n));
	}
	assert_in_range(more, 0, 7);
}

static void test_many_events(void **state)
{
	struct fake_event events[PACK_EVENTS_MAX];
	struct fake fake = fake_of(events);
	struct pack pack, again;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 7);
	for (size_t i = 0; i < PACK_EVENTS_MAX; i++) {
		events[i] = (struct fake_event){ { 1 + (unsigned)rng_below(&rng, 15), ANY }, 1 + (size_t)rng_below(&rng, 2) };
		if (events[i].n == 2)
			events[i].parts[0] = ANY;
	}
	pack_events(&fake.table, PACK_EVENTS_MAX, PACK_NONE, &pack);
	assert_true(fake.questions < 5000);
	check_pack(&fake, PACK_EVENTS_MAX, PACK_NONE, &pack);
	assert_true(pack.runs >= PACK_EVENTS_MAX / 4);
	pack_events(&fake.table, PACK_EVENTS_MAX, PACK_NONE, &again);
	assert_memory_equal(&pack, &again, sizeof(pack));
}

int suite_pack(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_few_runs),
		cmocka_unit_test(test_many_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

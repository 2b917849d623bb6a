/* Compares the table of events with libpfm4, and tests CPU models and the packing and joining of runs on a simulated CPU. */
#include "fleet/counting/pack.h"
#include "fleet/counters/countable.h"

#include <perfmon/pfmlib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- names ---- */

static bool has_umask(int event, pfm_event_info_t *info, const char *name)
{
	for (int a = 0; a < info->nattrs; a++) {
		pfm_event_attr_info_t attribute = { .size = sizeof(attribute) };

		if (pfm_get_event_attr_info(event, a, PFM_OS_NONE, &attribute) == PFM_SUCCESS && attribute.type == PFM_ATTR_UMASK &&
		    strcmp(attribute.name, name) == 0)
			return true;
	}
	return false;
}

static bool pmu_has(const char *pmu, const char *name)
{
	const char *colon = strchr(name, ':');
	size_t n = colon ? (size_t)(colon - name) : strlen(name);

	for (int p = 0; p < PFM_PMU_MAX; p++) {
		pfm_pmu_info_t info = { .size = sizeof(info) };

		if (pfm_get_pmu_info((pfm_pmu_t)p, &info) != PFM_SUCCESS || strcmp(info.name, pmu) != 0)
			continue;
		for (int e = info.first_event; e >= 0; e = pfm_get_event_next(e)) {
			pfm_event_info_t event = { .size = sizeof(event) };

			if (pfm_get_event_info(e, PFM_OS_NONE, &event) == PFM_SUCCESS && strlen(event.name) == n &&
			    !memcmp(event.name, name, n) && (!colon || has_umask(e, &event, colon + 1)))
				return true;
		}
	}
	return false;
}

static void test_events_exist(void **state)
{
	const struct countable_row *rows;
	size_t n, natives = 0;

	(void)state;
#if !defined(__x86_64__)
	skip(); /* libpfm4 has only the tables of its own architecture */
#endif
	assert_int_equal(pfm_initialize(), PFM_SUCCESS);
	assert_true(pmu_has("skx", "MEM_LOAD_L3_HIT_RETIRED:XSNP_HITM"));
	assert_false(pmu_has("skx", "MEM_LOAD_L3_HIT_RETIRED:NO_SUCH")); /* checks that pmu_has() can fail */
	rows = countable_rows(&n);
	for (size_t i = 0; i < n; i++) {
		assert_true(counting_is_name(rows[i].event, strlen(rows[i].event)));
		if (!rows[i].pmu)
			continue;
		natives++;
		if (!pmu_has(rows[i].pmu, rows[i].event))
			fail_msg("libpfm4 has no %s::%s", rows[i].pmu, rows[i].event);
	}
	assert_true(natives >= 20);
}

/* ---- CPUs ---- */

static void test_processors(void **state)
{
	static const struct {
		bool amd;
		unsigned family, model, stepping;
		const char *pmu;
	} rows[] = {
		{ false, 6, 63, 2, "hsw_ep" },
		{ false, 6, 79, 1, "bdw_ep" },
		{ false, 6, 85, 4, "skx" },
		{ false, 6, 85, 7, "clx" },
		{ false, 6, 106, 6, "icx" },
		{ false, 6, 143, 8, "spr" },
		{ true, 0x17, 0x31, 0, "amd64_fam17h_zen2" },
		{ true, 0x19, 0x01, 1, "amd64_fam19h_zen3" },
		{ true, 0x19, 0x11, 1, "amd64_fam19h_zen4" },
		{ true, 6, 85, 4, NULL },
		{ false, 6, 1, 0, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *pmu = countable_find_pmu(rows[i].amd, rows[i].family, rows[i].model, rows[i].stepping);

		if (rows[i].pmu)
			assert_string_equal(pmu, rows[i].pmu);
		else
			assert_null(pmu);
	}
}

static bool list_has(const struct counting_events *events, enum countable_kind kind)
{
	for (size_t i = 0; i < events->n; i++)
		if (countable_find_kind(events->names[i]) == kind)
			return true;
	return false;
}

/* Checks the default list on each CPU in the table: every kind of event, no event twice, and no more than fit into a request. */
static void test_default_list(void **state)
{
	static const char *const pmus[] = {
		"hsw_ep", "bdw_ep", "skx", "clx", "icx", "spr", "amd64_fam17h_zen2", "amd64_fam19h_zen3", "amd64_fam19h_zen4"
	};

	(void)state;
	for (size_t p = 0; p < sizeof(pmus) / sizeof(pmus[0]); p++) {
		struct counting_events events;

		countable_add_default_events(pmus[p], &events);
		assert_true(events.n <= COUNTING_EVENTS_MAX);
		for (int kind = 0; kind < COUNTABLE_OTHER; kind++)
			if (!list_has(&events, (enum countable_kind)kind))
				fail_msg("%s: nothing of kind %s", pmus[p], countable_kind_code((enum countable_kind)kind));
		for (size_t i = 0; i < events.n; i++)
			for (size_t k = 0; k < i; k++)
				assert_string_not_equal(events.names[i], events.names[k]);
		counting_events_release(&events);
	}
}

/* ---- a simulated CPU: four counters, only two of them for native events, and one fixed counter for instructions ---- */

struct fake {
	struct pack_table table;
	const struct counting_events *events;
};

static bool fake_fits(const struct pack_table *table, const size_t *events, size_t n)
{
	const struct fake *fake = (const struct fake *)table;
	size_t general = 0, restricted = 0;

	for (size_t i = 0; i < n; i++) {
		const char *name = fake->events->names[events[i]];

		if (strcmp(name, "PAPI_TOT_INS") == 0)
			continue;
		if (strncmp(name, "perf::", 6) == 0) /* kernel events are never in one run with CPU events */
			return false;
		general++;
		restricted += strncmp(name, "PAPI_", 5) != 0;
	}
	return general <= 4 && restricted <= 2;
}

static void test_packing(void **state)
{
	struct counting_events events;
	struct fake fake = { { fake_fits }, &events };
	size_t in_run[PACK_EVENTS_MAX + 1][2] = { { 0 } }, counted = 0;
	struct pack pack;

	(void)state;
	countable_add_default_events("skx", &events);
	assert_string_equal(events.names[0], "PAPI_TOT_INS");
	pack_events(&fake.table, events.n, 0, &pack);
	for (size_t i = 1; i < events.n; i++) {
		bool native = strncmp(events.names[i], "PAPI_", 5) != 0;

		if (strncmp(events.names[i], "perf::", 6) == 0) {
			assert_int_equal(pack.run[i], 0);
			continue;
		}
		assert_in_range(pack.run[i], 1, pack.runs);
		in_run[pack.run[i]][native]++;
		counted++;
	}
	for (size_t run = 1; run <= pack.runs; run++)
		assert_true(in_run[run][0] + in_run[run][1] <= 4 && in_run[run][1] <= 2);
	assert_int_equal(pack.runs, (counted + 3) / 4); /* the smallest possible number of runs */
	counting_events_release(&events);
}

int suite_countable(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events_exist),
		cmocka_unit_test(test_processors),
		cmocka_unit_test(test_default_list),
		cmocka_unit_test(test_packing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

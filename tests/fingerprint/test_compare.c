/* Tests comparisons of fingerprints: which must not be compared, which differences exceed the noise between sessions, and drift against the
 * past and against the hardware type. tests/bench/bench_drift.c measures the error rates. */
#include "base/mem.h"
#include "base/rng.h"
#include "fingerprint/compare/compare.c"
#include "tests/scratch.h"

#include <math.h>

#define STRESSORS_MAX 38
#define PASSES_MAX    5
#define MACHINES_MAX  60 /* fingerprints */

/* A set of fingerprints in memory. The fingerprints share names, and own only rates and passes. */
struct made {
	struct fingerprint_set set;
	struct fingerprint items[MACHINES_MAX];
	char *names[STRESSORS_MAX];
	char texts[STRESSORS_MAX][24];
	double rates[MACHINES_MAX][PASSES_MAX * STRESSORS_MAX];
	int64_t passes[PASSES_MAX];
};

static char battery[] = "b", hash[] = "0123456789abcdef", version[] = "0.15.06", architecture[] = "x86_64", origin[] = "measured";

static void make(struct made *m, size_t fingerprints, size_t stressors, size_t passes)
{
	*m = (struct made){ 0 };
	for (size_t j = 0; j < stressors; j++) {
		snprintf(m->texts[j], sizeof(m->texts[j]), "s%02zu", j);
		m->names[j] = m->texts[j];
	}
	for (size_t i = 0; i < passes; i++)
		m->passes[i] = (int64_t)i + 1;
	for (size_t i = 0; i < fingerprints; i++) {
		m->items[i] = (struct fingerprint){ .machine = m->texts[i % stressors],
						    .battery = battery,
						    .battery_hash = hash,
						    .stress_ng = version,
						    .architecture = architecture,
						    .origin = origin,
						    .taken_ms = (int64_t)i,
						    .passes = m->passes,
						    .n_passes = passes,
						    .rates = m->rates[i] };
		snprintf(m->items[i].id, sizeof(m->items[i].id), "%016zx", i);
	}
	m->set = (struct fingerprint_set){ m->names, stressors, m->items, fingerprints };
}

/* Draws the rates of a fingerprint. The noise of passes grows from `low` to `high` over the stressors; each session has noise, too. */
static void draw(struct made *m, size_t index, struct rng *rng, double low, double high, double shift)
{
	size_t n = m->set.n_stressors;

	for (size_t j = 0; j < n; j++) {
		double noise = low * pow(high / low, ((double)j + .5) / (double)n), session = .025 * rng_normal(rng);

		for (size_t i = 0; i < m->items[index].n_passes; i++)
			m->rates[index][i * n + j] =
			    1000 * (double)(j + 1) * exp(session + (j == n / 4 ? shift : 0) + noise * rng_normal(rng));
	}
}

static void test_refused(void **state)
{
	static char other[] = "other";
	static struct made m;
	struct fingerprint changed;
	const struct {
		const char *what;
		char **text; /* text that differs */
		const char *part;
	} rows[] = {
		{ "battery", &changed.battery_hash, "different batteries" },
		{ "stress-ng", &changed.stress_ng, "different versions of stress-ng" },
		{ "architecture", &changed.architecture, "different architectures" },
	};
	struct assay_error err;
	struct compare c;

	(void)state;
	make(&m, 2, 3, 3);
	assert_int_equal(compare_check_allowed(&m.items[0], &m.items[1], &err), ASSAY_OK);
	for (size_t i = 0; i < COUNT(rows); i++) {
		changed = m.items[1];
		*rows[i].text = other;
		check_fails(rows[i].what, compare_fingerprints(&m.set, &m.items[0], &changed, &c, &err), ASSAY_E_USAGE, &err, rows[i].part);
		assert_non_null(strstr(err.text, "other"));
		assert_null(c.rows);
	}
}

/* ---- sessions ---- */

/* Makes fingerprints of three machines. Each stressor varies by `noise` from session to session, in a pattern that differs between machines
 * and stressors, and by as much between passes. */
static void weave(struct made *m, size_t sessions, size_t stressors, size_t passes, double noise)
{
	make(m, 3 * sessions, stressors, passes);
	for (size_t i = 0; i < 3 * sessions; i++) {
		size_t machine = i / sessions, week = i % sessions;

		m->items[i].machine = m->texts[machine];
		m->items[i].taken_ms = (int64_t)week + 1;
		for (size_t j = 0; j < stressors; j++) {
			double level = (double)((week * 7 + j * 5 + machine * 3 + week * j) % 5) / 2 - 1;

			for (size_t k = 0; k < passes; k++)
				m->rates[i][k * stressors + j] = 1000 * exp(noise * (level + (double)k - (double)(passes - 1) / 2));
		}
	}
}

static void scale(struct made *m, size_t item, size_t stressor, double factor)
{
	for (size_t k = 0; k < m->items[item].n_passes; k++)
		m->rates[item][k * m->set.n_stressors + stressor] *= factor;
}

static void scale_all(struct made *m, size_t item, double factor)
{
	for (size_t j = 0; j < m->set.n_stressors; j++)
		scale(m, item, j, factor);
}

/* Compares the sessions of the first of the three machines. */
static void inspect(struct made *m, size_t sessions, size_t looks, struct compare *c)
{
	struct compare_series series[3], *all[3];
	struct compare_noise noise;

	for (size_t i = 0; i < 3; i++) {
		const struct fingerprint *of[MACHINES_MAX];

		for (size_t t = 0; t < sessions; t++)
			of[t] = &m->items[i * sessions + t];
		compare_series_init(&m->set, of, sessions, &series[i]);
		all[i] = &series[i];
	}
	compare_noise_estimate(&m->set, all, 3, &noise);
	compare_sessions(&series[0], &noise, looks, c);
	compare_noise_release(&noise);
	for (size_t i = 0; i < 3; i++)
		compare_series_release(&series[i]);
}

/* Checks which changes are reported, for changes in the last sessions of the first machine. */
static void test_sessions(void **state)
{
	static const struct {
		const char *what;
		size_t sessions;
		double noise;
		size_t slow;  /* number of last sessions that are slower */
		double all;   /* factor of all stressors in these sessions */
		double third; /* factor of the third stressor */
		size_t looks, n_differing;
		bool whole, single;
	} rows[] = {
		{ "nothing, little noise", 12, .01, 0, 1, 1, 1, 0, false, false },
		{ "nothing, much noise", 12, .1, 0, 1, 1, 1, 0, false, false },
		{ "10 % in three sessions", 12, .01, 3, .9, 1, 1, 1, true, false },
		{ "10 % in two of three sessions", 12, .01, 2, .9, 1, 1, 1, true, false },
		{ "10 %, more noise", 12, .03, 3, .9, 1, 1, 1, true, false },
		{ "10 %, more noise, among very many", 12, .04, 3, .9, 1, 1000000, 0, false, false },
		{ "10 % in the noise", 12, .1, 3, .9, 1, 1, 0, false, false },
		{ "half, in the latest", 12, .01, 1, .5, 1, 1, 1, true, false },
		{ "one odd session of one stressor", 12, .01, 1, 1, .5, 1, 0, false, false },
		{ "one stressor in two of three", 12, .01, 2, 1, .5, 1, 1, false, true },
		{ "too small to matter", 12, .0001, 6, .995, 1, 1, 0, false, false },
		{ "one stressor, three sessions in all", 3, .01, 1, 1, .3, 1, 1, false, true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t n = rows[i].sessions;
		static struct made m;
		struct compare c;

		weave(&m, n, 8, 3, rows[i].noise);
		for (size_t t = n - rows[i].slow; t < n; t++) {
			scale_all(&m, t, rows[i].all);
			scale(&m, t, 2, rows[i].third);
		}
		inspect(&m, n, rows[i].looks, &c);
		assert_true(c.has_noise);
		if (rows[i].whole != c.rows[8].differs || (rows[i].single && !c.rows[2].differs) ||
		    (c.n_differing > 0) != (rows[i].n_differing > 0))
			fail_msg("%s: %zu differ, all by %g +- %g, the third by %g +- %g", rows[i].what, c.n_differing, c.rows[8].ratio,
				 c.rows[8].noise, c.rows[2].ratio, c.rows[2].noise);
		if (rows[i].whole)
			if (c.rows[8].since_ms < (int64_t)(n - 2) || fabs(log(c.rows[8].ratio / rows[i].all)) > .05)
				fail_msg("%s: all by %g, since %d", rows[i].what, c.rows[8].ratio, (int)c.rows[8].since_ms);
		free(c.rows);
	}
}

/* Checks that a change is reported, with its start, until it is accepted. A machine that was slow for only some weeks is not reported. */
static void test_long_ago(void **state)
{
	static struct made m;
	struct compare c;

	(void)state;
	weave(&m, 20, 8, 3, .01);
	for (size_t t = 9; t < 20; t++)
		scale_all(&m, t, .9);
	inspect(&m, 20, 6, &c);
	if (!c.rows[8].differs || c.rows[8].since_ms < 9 || c.rows[8].since_ms > 11)
		fail_msg("all by %g, since %d", c.rows[8].ratio, (int)c.rows[8].since_ms);
	free(c.rows);
	weave(&m, 20, 8, 3, .01);
	for (size_t t = 8; t < 12; t++)
		scale_all(&m, t, .9);
	inspect(&m, 20, 6, &c);
	assert_int_equal(c.n_differing, 0);
	free(c.rows);
}

/* Checks a machine four times as noisy as the others: its own change of 8 % is not reported, but that of a quiet machine is. */
static void test_own_noise(void **state)
{
	static struct made m;

	(void)state;
	for (size_t noisy = 0; noisy < 3; noisy += 2) {
		struct compare c;

		weave(&m, 12, 8, 3, .01);
		for (size_t t = 0; t < 12; t++) {
			for (size_t j = 0; j < 8; j++)
				scale(&m, noisy * 12 + t, j, pow(m.rates[noisy * 12 + t][8 + j] / 1000, 3));
		}
		scale(&m, 10, 2, .92);
		scale(&m, 11, 2, .92);
		inspect(&m, 12, 1, &c);
		assert_true(c.rows[2].differs == (noisy > 0));
		free(c.rows);
	}
}

/* Checks sessions of one pass: the noise of a stressor is known only from its own sessions, not from other stressors. A noisy stressor
 * among quiet ones does not differ, however few the sessions. A real change is found. */
static void test_one_pass(void **state)
{
	static struct made m;

	(void)state;
	for (size_t n = 2; n <= 12; n++) {
		for (int slow = 0; slow < 2; slow++) {
			struct compare c;

			weave(&m, n, 8, 1, .005);
			for (size_t i = 0; i < 3 * n; i++)
				scale(&m, i, 2, pow(m.rates[i][2] / 1000, 60));
			for (size_t t = n - n / 3; slow && t < n; t++)
				scale(&m, t, 5, .5);
			inspect(&m, n, 1, &c);
			if (c.rows[2].differs || (n >= 9 && c.rows[5].differs != (slow > 0)) || (!slow && c.n_differing))
				fail_msg("%zu sessions, slow %d: noisy %g +- %g, slow %g +- %g, %zu differ", n, slow, c.rows[2].ratio,
					 c.rows[2].noise, c.rows[5].ratio, c.rows[5].noise, c.n_differing);
			free(c.rows);
		}
	}
}

/* Checks two fingerprints without a history. Passes give the noise of each stressor, but not of all stressors together. With one pass there
 * are only ratios, and no judgment of differences. */
static void test_two(void **state)
{
	static struct made m;
	struct assay_error err;
	struct compare c;

	(void)state;
	for (size_t passes = 1; passes <= 3; passes += 2) {
		weave(&m, 2, 8, passes, .01);
		scale_all(&m, 1, .9);
		scale(&m, 1, 2, .3);
		check(compare_fingerprints(&m.set, &m.items[0], &m.items[1], &c, &err), &err);
		assert_int_equal(c.has_noise, passes > 1);
		assert_int_equal(c.compared, 8);
		assert_int_equal(c.n_differing, passes > 1);
		assert_true(passes == 1 || c.rows[2].differs);
		assert_true(isnan(c.rows[8].low) && isnan(c.rows[0].low) == (passes == 1));
		assert_int_equal(c.rows[2].since_ms, 0);
		free(c.rows);
	}
	/* A stressor that one of them did not measure. */
	weave(&m, 2, 4, 3, .01);
	scale(&m, 1, 1, 0);
	inspect(&m, 2, 1, &c);
	assert_int_equal(c.compared, 3);
	assert_true(isnan(c.rows[1].ratio));
	assert_string_equal(c.rows[1].reasons[1], "recorded 0");
	free(c.rows);
}

/* ---- drift ---- */

static struct catalog catalog_of(struct made *m, const size_t *machine_of)
{
	struct catalog catalog = { .directory = mem_string("") };

	for (size_t i = 0; i < m->set.n; i++) {
		char id[24];

		snprintf(id, sizeof(id), "m%zu", machine_of[i]);
		machine_put_fingerprint(catalog_ensure_machine(&catalog, id), &m->set, &m->items[i]);
	}
	return catalog;
}

/* Checks drift: m0 changed since its first fingerprint, m1 did not, and m2 has only one fingerprint and differs from its type. */
static void test_drift(void **state)
{
	static const size_t machine_of[] = { 0, 0, 1, 1, 2, 3 };
	static struct made m;
	struct lab_config config = { 0 };
	struct catalog catalog;
	struct types types;
	struct drift drift;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 5);
	make(&m, 6, 16, 3);
	for (size_t i = 0; i < 6; i++)
		draw(&m, i, &rng, .01, .03, i == 0 ? 1.5 : 0);
	scale(&m, 4, 7, 4.5);
	catalog = catalog_of(&m, machine_of);
	for (size_t i = 0; i < catalog.n; i++) {
		for (size_t k = 0; k < catalog.machines[i].n_fingerprints; k++) {
			catalog.machines[i].fingerprints[k].type = mem_string("t");
			catalog.machines[i].fingerprints[k].type_given_by = mem_string("test");
		}
	}
	types_compute(&catalog, &config, &types);
	drift_find(&catalog, &m.set, &types, INT64_MAX, &drift);
	assert_int_equal(drift.n, 4);
	assert_int_equal(drift.past[0].state, DRIFT_COMPARED);
	assert_int_equal(drift.past[0].compare.n_differing, 1);
	assert_true(drift.past[0].compare.rows[4].differs && drift.past[0].compare.rows[4].ratio < .3);
	assert_int_equal(drift.past[1].compare.n_differing, 0);
	assert_int_equal(drift.past[2].state, DRIFT_NOTHING_TO_COMPARE);
	assert_int_equal(drift.peers[0].n, 0); /* like two of the three others */
	assert_int_equal(drift.peers[2].n, 1);
	assert_string_equal(drift.peers[2].stressors[0].name, "s07");
	assert_int_equal(drift.peers[2].stressors[0].differ, 3);
	assert_int_equal(drift.peers[2].stressors[0].others, 3);
	assert_true(drift.peers[2].stressors[0].ratio > 4);
	drift_release(&drift);
	/* An accepted fingerprint has no newer one. A retired machine is excluded. */
	machine_accept(&catalog.machines[0], catalog.machines[0].fingerprints[1].id, 7, "new memory");
	machine_retire(&catalog.machines[2], true, 8, NULL);
	drift_find(&catalog, &m.set, &types, INT64_MAX, &drift);
	assert_int_equal(drift.n, 3);
	assert_int_equal(drift.retired, 1);
	assert_int_equal(drift.past[0].state, DRIFT_IS_REFERENCE);
	for (size_t i = 0; i < drift.n; i++)
		assert_int_equal(drift.peers[i].n, 0);
	drift_release(&drift);
	types_release(&types);
	catalog_release(&catalog);
}

/* Checks fingerprints that were taken while the clock was ahead: they are neither the latest nor the first. Acceptances from that time do
 * not count longer than others. */
static void test_drift_future(void **state)
{
	static const size_t machine_of[] = { 0, 0, 0 };
	static struct made m;
	struct lab_config config = { 0 };
	struct catalog catalog;
	struct machine *machine;
	struct types types;
	const struct machine_acceptance *acceptance;
	struct drift drift;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 6);
	make(&m, 3, 8, 3);
	m.items[1].taken_ms = 1000;
	for (size_t i = 0; i < 3; i++)
		draw(&m, i, &rng, .01, .03, 0);
	catalog = catalog_of(&m, machine_of); /* in order of time: 0, 2, and the one in the future */
	machine = &catalog.machines[0];
	types_compute(&catalog, &config, &types);
	drift_find(&catalog, &m.set, &types, 999, &drift);
	assert_int_equal(drift.n, 1);
	assert_string_equal(drift.past[0].latest->id, m.items[2].id);
	assert_string_equal(drift.past[0].reference->id, m.items[0].id);
	assert_int_equal(drift.n_ahead, 1);
	assert_string_equal(drift.ahead[0].fingerprint->id, m.items[1].id);
	drift_release(&drift);
	assert_false(drift_is_latest(machine, &machine->fingerprints[2], 999));
	machine_accept(machine, m.items[1].id, 2000, "under the wrong clock");
	machine_accept(machine, m.items[2].id, 500, "after it");
	assert_string_equal(drift_reference(machine, &machine->fingerprints[1], &acceptance)->id, m.items[2].id);
	drift_find(&catalog, &m.set, &types, 1000, &drift);
	assert_int_equal(drift.n_ahead, 0);
	assert_string_equal(drift.past[0].latest->id, m.items[1].id);
	drift_release(&drift);
	types_release(&types);
	catalog_release(&catalog);
}

/* Checks the history of a machine: it starts at the reference and has one version of stress-ng. A newer stress-ng starts another history at
 * its first fingerprint; older results are no longer compared. */
static void test_drift_history(void **state)
{
	static char newer[] = "0.17.08";
	static const size_t machine_of[28];
	static struct made m;
	struct lab_config config = { 0 };
	struct catalog catalog;
	struct types types;
	struct drift drift;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 8);
	make(&m, 28, 16, 1);
	for (size_t i = 0; i < 28; i++) {
		for (size_t j = 0; j < 16; j++)
			m.rates[i][j] = 1000 * exp(.01 * rng_normal(&rng) - (j < 2 && i >= 18 ? .2 : 0));
	}
	m.items[26].stress_ng = m.items[27].stress_ng = newer; /* the last two */
	for (size_t n = 26; n <= 28; n++) {
		m.set.n = n;
		catalog = catalog_of(&m, machine_of);
		types_compute(&catalog, &config, &types);
		drift_find(&catalog, &m.set, &types, INT64_MAX, &drift);
		assert_int_equal(drift.n, 1);
		assert_string_equal(drift.past[0].latest->id, m.items[n - 1].id);
		assert_int_equal(drift.past[0].series.n, n == 26 ? 26 : n == 27 ? 1 : 2);
		assert_int_equal(drift.past[0].compare.n_differing, n == 26 ? 2 : 0);
		if (n == 26 && llabs(drift.past[0].compare.rows[1].since_ms - 18) > 2)
			fail_msg("since %d", (int)drift.past[0].compare.rows[1].since_ms);
		if (n == 27)
			assert_string_equal(drift_previous_version(drift.past[0].machine, drift.past[0].latest), version);
		else
			assert_null(drift_previous_version(drift.past[0].machine, drift.past[0].latest));
		drift_release(&drift);
		/* Accepted after the change: the remaining history shows none. */
		machine_accept(&catalog.machines[0], m.items[20].id, 30, "known");
		drift_find(&catalog, &m.set, &types, INT64_MAX, &drift);
		assert_int_equal(drift.past[0].compare.n_differing, 0);
		assert_true(n != 26 || drift.past[0].series.n == 6);
		drift_release(&drift);
		types_release(&types);
		catalog_release(&catalog);
	}
}

/* Checks a machine that was busier than usual at its latest fingerprint. The load is reported, not taken for drift, and the rest of the
 * history is compared. A load that is always there is not reported. Without another fingerprint nothing can be compared. */
static void test_drift_busy(void **state)
{
	static const struct {
		const char *loads[4], *latest; /* report about the latest fingerprint; NULL: none */
		enum drift_state state;
		size_t history;
	} rows[] = {
		{ { "0.1", "0.2", "0.1", "7.5" }, "a load of 7.5 on 4 CPUs at its start, usually 0.1", DRIFT_COMPARED, 3 },
		{ { "7.1", "7.2", "7.4", "7.3" }, NULL, DRIFT_COMPARED, 4 },
		{ { "2", "9", "4", "8" }, NULL, DRIFT_COMPARED, 4 },
		{ { NULL, NULL, NULL, "7.5" }, "a load of 7.5", DRIFT_NOTHING_TO_COMPARE, 1 },
		{ { NULL, NULL, "0.1", "7.5" }, "usually 0.1", DRIFT_BUSY, 1 },
		{ { NULL, NULL, "7.5", "0.1" }, NULL, DRIFT_BUSY, 1 },
	};
	static const size_t machine_of[4];
	static char emulated[] = "emulated";

	(void)state;
	for (size_t i = 0; i < 2 * COUNT(rows); i++) {
		size_t first = rows[i / 2].loads[0] ? 0 : rows[i / 2].loads[2] ? 2 : 3;
		bool says = rows[i / 2].latest && (first < 3 || i % 2 == 0); /* an emulated host's load alone proves nothing */
		struct lab_config config = { 0 };
		char texts[4][64] = { "" };
		const char *busy;
		static struct made m;
		struct catalog catalog;
		struct types types;
		struct drift drift;

		make(&m, 4 - first, 8, 3);
		for (size_t k = 0; k < m.set.n; k++) {
			snprintf(texts[k], sizeof(texts[k]), "{\"load1\":%s,\"cpus_online\":4}", rows[i / 2].loads[first + k]);
			m.items[k].conditions = texts[k];
			m.items[k].origin = i % 2 ? emulated : origin;
			for (size_t j = 0; j < 24; j++)
				m.rates[k][j] = (k + 1 == m.set.n && rows[i / 2].latest ? 200 : 1000) * exp(.01 * (double)((k + j) % 3));
		}
		catalog = catalog_of(&m, machine_of);
		types_compute(&catalog, &config, &types);
		drift_find(&catalog, &m.set, &types, INT64_MAX, &drift);
		busy = drift_other_work_at(&drift.past[0], drift.past[0].latest);
		if (drift.past[0].state != rows[i / 2].state || drift.past[0].series.n != rows[i / 2].history ||
		    drift.past[0].compare.n_differing > 0 || !busy != !says || (busy && !strstr(busy, rows[i / 2].latest)))
			fail_msg("row %zu: state %s, %zu in the history, %zu differ, busy: %s", i / 2,
				 drift_state_code(drift.past[0].state), drift.past[0].series.n, drift.past[0].compare.n_differing,
				 busy ? busy : "no");
		drift_release(&drift);
		types_release(&types);
		catalog_release(&catalog);
	}
}

/* Checks that the users' marks survive writing and reading, and that impossible marks are refused. */
static void test_marks(void **state)
{
	static const struct {
		const char *what, *key, *part;
	} rows[] = {
		{ "not a list", "\"accepted\":{}", "accepted" },
		{ "without a reason", "\"accepted\":[{\"fingerprint\":\"x\",\"at_ms\":1}]", "reason" },
		{ "an empty reason", "\"accepted\":[{\"fingerprint\":\"x\",\"at_ms\":1,\"reason\":\"\"}]", "reason" },
		{ "not in order",
		  "\"accepted\":[{\"fingerprint\":\"x\",\"at_ms\":2,\"reason\":\"r\"},{\"fingerprint\":\"x\",\"at_ms\":1,\"reason\":\"r\"}"
		  "]",
		  "order" },
		{ "date changed by hand", "\"retired\":{\"at\":\"2020-01-01T00:00:00Z\",\"at_ms\":1}", "at_ms" },
		{ "unknown key", "\"retired\":{\"at_ms\":1,\"resaon\":\"r\"}", "did you mean 'reason'" },
		{ "a number", "\"accepted\":[1]", "not an object" },
		{ "control character", "\"retired\":{\"at_ms\":1,\"reason\":\"a\\nb\"}", "control" },
	};
	struct machine machine = { .id = mem_string("m") }, again;
	struct assay_error err;
	char *text, *second;

	(void)state;
	machine_accept(&machine, "0000000000000001", 20, "first");
	machine_accept(&machine, "0000000000000002", 10, "by an earlier clock");
	machine_retire(&machine, true, 30, "sold");
	assert_string_equal(machine.accepted[1].reason, "by an earlier clock");
	assert_int_equal(machine.accepted[1].accepted_ms, 20);
	text = machine_to_json(&machine);
	check(machine_parse("m", text, strlen(text), &again, &err), &err);
	assert_int_equal(again.n_accepted, 2);
	assert_true(again.retired);
	assert_string_equal(again.retired_reason, "sold");
	second = machine_to_json(&again);
	assert_string_equal(text, second);
	machine_retire(&again, false, 40, NULL);
	free(second);
	second = machine_to_json(&again);
	assert_null(strstr(second, "retired"));
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *bad = mem_format("{\"format\":\"assay machine\",\"version\":1,\"id\":\"m\",%s,\"fingerprints\":[]}", rows[i].key);
		struct machine none;

		check_fails(rows[i].what, machine_parse("m", bad, strlen(bad), &none, &err), ASSAY_E_FORMAT, &err, rows[i].part);
		free(bad);
	}
	free(text);
	free(second);
	machine_release(&machine);
	machine_release(&again);
}

int suite_compare(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),	     cmocka_unit_test(test_sessions),	   cmocka_unit_test(test_long_ago),
		cmocka_unit_test(test_own_noise),    cmocka_unit_test(test_two),	   cmocka_unit_test(test_drift),
		cmocka_unit_test(test_drift_future), cmocka_unit_test(test_drift_history), cmocka_unit_test(test_drift_busy),
		cmocka_unit_test(test_marks),	     cmocka_unit_test(test_one_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

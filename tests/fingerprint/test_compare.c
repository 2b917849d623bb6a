/* Comparing fingerprints: what must not be compared, false alarms and power by simulation, drift against the past and the type. */
#include "base/mem.h"
#include "base/rng.h"
#include "fingerprint/compare/compare.c"
#include "fingerprint/commands/cmd_catalog_drift.c" /* what stands in its answer */
#include "tests/scratch.h"

#include <math.h>

#define STRESSORS_MAX 38
#define PASSES_MAX    5
#define MACHINES_MAX  60 /* fingerprints */

/* A set in memory: the fingerprints share names; nothing is owned but rates and passes. */
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

/* Draws a fingerprint: noise of a pass, and of a session as COMPARE_FLOOR says; noises from low to high over the stressors. */
static void draw(struct made *m, size_t index, struct rng *rng, double low, double high, double shift)
{
	size_t n = m->set.n_stressors;

	for (size_t j = 0; j < n; j++) {
		double noise = low * pow(high / low, ((double)j + .5) / (double)n), session = COMPARE_FLOOR * rng_normal(rng);

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
		char **text; /* that differs */
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
	assert_int_equal(compare_allowed(&m.items[0], &m.items[1], &err), ASSAY_OK);
	for (size_t i = 0; i < COUNT(rows); i++) {
		changed = m.items[1];
		*rows[i].text = other;
		check_fails(rows[i].what, compare_fingerprints(&m.set, &m.items[0], &changed, 1, &c, &err), ASSAY_E_USAGE, &err,
			    rows[i].part);
		assert_non_null(strstr(err.text, "other"));
		assert_null(c.rows);
	}
}

/* Without noise between the passes the floor is what is left: 2 * .025^2, and the quantile is the normal one. */
static void test_numbers(void **state)
{
	static struct made m;
	struct assay_error err;
	struct compare c;

	(void)state;
	make(&m, 2, 4, 3);
	for (size_t k = 0; k < 2; k++) {
		for (size_t i = 0; i < 12; i++)
			m.rates[k][i] = 100;
	}
	for (size_t i = 0; i < 3; i++) {
		m.rates[1][i * 4 + 1] = 110; /* log ratio .0953; the limit is .0846 */
		m.rates[1][i * 4 + 2] = 108; /* .0770 */
		m.rates[0][i * 4 + 3] = 0;   /* recorded 0, not measured */
	}
	check(compare_fingerprints(&m.set, &m.items[0], &m.items[1], 1, &c, &err), &err);
	assert_int_equal(c.n, 4);
	assert_int_equal(c.compared, 3);
	assert_true(fabs(c.rows[1].noise - sqrt(2) * .025) < 1e-12);
	/* z(1 - .05 / 6) = 2.3939797998 */
	assert_true(fabs(c.rows[1].low / (1.1 * exp(-2.3939797998 * sqrt(2) * .025)) - 1) < 1e-6);
	assert_true(fabs(c.rows[1].high * c.rows[1].low - 1.1 * 1.1) < 1e-9);
	assert_true(c.rows[1].differs);
	assert_false(c.rows[2].differs);
	assert_int_equal(c.differing, 1);
	assert_true(isnan(c.rows[3].ratio));
	assert_string_equal(c.rows[3].reasons[0], "recorded 0");
	compare_release(&c);
	/* The more one looks, the more is needed. */
	check(compare_fingerprints(&m.set, &m.items[0], &m.items[1], 50, &c, &err), &err);
	assert_int_equal(c.differing, 0);
	compare_release(&c);
}

/* One pass has no noise: ratios, but no word on what differs. A stressor with one pass among others gets theirs. */
static void test_few_passes(void **state)
{
	static struct made m;
	struct assay_error err;
	struct compare c;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 3);
	make(&m, 2, 3, 1);
	draw(&m, 0, &rng, .01, .01, 0);
	draw(&m, 1, &rng, .01, .01, 2);
	check(compare_fingerprints(&m.set, &m.items[0], &m.items[1], 1, &c, &err), &err);
	assert_false(c.has_noise);
	assert_int_equal(c.compared, 3);
	assert_int_equal(c.differing, 0);
	assert_true(isnan(c.rows[0].low));
	compare_release(&c);
	make(&m, 2, 3, 3);
	draw(&m, 0, &rng, .01, .01, 0);
	draw(&m, 1, &rng, .01, .01, 2);
	for (size_t i = 1; i < 3; i++)
		m.rates[0][i * 3] = (double)NAN;
	check(compare_fingerprints(&m.set, &m.items[0], &m.items[1], 1, &c, &err), &err);
	assert_true(c.has_noise);
	assert_true(c.rows[0].differs && c.rows[0].df >= 1);
	compare_release(&c);
}

static double share(size_t stressors, size_t passes, double low, double high, double shift, size_t times, uint64_t seed)
{
	static struct made m;
	struct assay_error err;
	size_t hits = 0;
	struct rng rng;

	rng_seed(&rng, seed);
	make(&m, 2, stressors, passes);
	for (size_t i = 0; i < times; i++) {
		struct compare c;

		draw(&m, 0, &rng, low, high, 0);
		draw(&m, 1, &rng, low, high, shift);
		check(compare_fingerprints(&m.set, &m.items[0], &m.items[1], 1, &c, &err), &err);
		hits += shift > 0 ? c.rows[stressors / 4].differs : c.differing > 0;
		compare_release(&c);
	}
	return (double)hits / (double)times;
}

/* The table of docs/evidence/statistics.md; COMPARE_TIMES=5000 draws it in full. */
static void test_simulated(void **state)
{
	static const struct {
		double low, high;
	} noises[] = { { .01, .01 }, { .03, .03 }, { .1, .1 }, { .01, .1 }, { .01, .3 } };
	const char *given = getenv("COMPARE_TIMES");
	size_t times = given ? (size_t)strtoul(given, NULL, 10) : 250;
	double margin = 4 * sqrt(.05 * .95 / (double)times);

	(void)state;
	for (size_t p = 3; p <= 5; p += 2) {
		for (size_t k = 0; k < 3; k++) {
			size_t stressors = (const size_t[]){ 3, 16, 38 }[k];

			for (size_t i = 0; i < COUNT(noises); i++) {
				double wrong = share(stressors, p, noises[i].low, noises[i].high, 0, times, 1 + i);
				double found = share(stressors, p, noises[i].low, noises[i].high, .2, times, 11 + i);

				if (given)
					print_message("%zu passes, %2zu stressors, noise %g to %g: false alarms %.4f, 22 %% found %.3f\n",
						      p, stressors, noises[i].low, noises[i].high, wrong, found);
				if (wrong > .05 + margin)
					fail_msg("%zu passes, %zu stressors, noise %g to %g: false alarms %.3f", p, stressors,
						 noises[i].low, noises[i].high, wrong);
				if (i == 0 && found < .93)
					fail_msg("%zu passes, %zu stressors: 22 %% were found in %.2f only", p, stressors, found);
			}
		}
	}
}

/* ---- a history ---- */

/* Coefficients of variation of `quick` from round to round: docs/evidence/fingerprints.md. */
static const double recorded[] = { .050, .047, .028, .042, .065, .056, .054, .034, .054, .043, .081, .091, .255, .026, .041, .039 };

enum weather { NORMAL, HEAVY, BUSY };

/* n weeks of 16 stressors, one pass each: noise of `size`, or as recorded when that is 0; two stressors slower by `shift` in the last
 * `late` weeks. Heavy: t with 3 degrees of freedom; busy: everything is 15 % slower one week in 25. */
static void draw_weeks(struct made *m, struct rng *rng, size_t n, double size, enum weather weather, double shift, size_t late)
{
	make(m, n, 16, 1);
	for (size_t i = 0; i < n; i++) {
		double busy = weather == BUSY && rng_double(rng) < .04 ? .15 : 0;

		for (size_t j = 0; j < 16; j++) {
			double z = rng_normal(rng);

			if (weather == HEAVY) {
				double a = rng_normal(rng), b = rng_normal(rng), c = rng_normal(rng);

				z /= sqrt(a * a + b * b + c * c);
			}
			m->rates[i][j] = 1000 * exp(z * (size > 0 ? size : recorded[j]) - busy - (j < 2 && i + late >= n ? shift : 0));
		}
	}
}

/* How many of 16 stressors have changed; *found: of the two that did. */
static size_t look_back(struct made *m, size_t n, size_t looks, size_t *found)
{
	const struct fingerprint *weeks[MACHINES_MAX];
	struct assay_error err;
	struct compare c;
	size_t differing;

	for (size_t i = 0; i < n; i++)
		weeks[i] = &m->items[i];
	check(compare_fingerprints(&m->set, weeks[0], weeks[n - 1], 2 * looks, &c, &err), &err);
	compare_history(&m->set, weeks, n, 2 * looks, &c);
	differing = c.differing;
	*found = (size_t)(c.rows[0].differs + c.rows[1].differs);
	compare_release(&c);
	return differing;
}

/* A year of weeks, 1 % noise, two stressors 10 % slower for 21 weeks: they are named, with the week, and nothing else. */
static void test_history(void **state)
{
	const struct fingerprint *weeks[MACHINES_MAX];
	static struct made m;
	struct assay_error err;
	struct compare c;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 7);
	draw_weeks(&m, &rng, 52, .01, NORMAL, .1, 21);
	for (size_t i = 0; i < 52; i++)
		weeks[i] = &m.items[i];
	check(compare_fingerprints(&m.set, weeks[0], weeks[51], 12, &c, &err), &err);
	assert_int_equal(c.differing, 0); /* two fingerprints do not show it */
	compare_history(&m.set, weeks, 52, 12, &c);
	assert_int_equal(c.differing, 2);
	for (size_t j = 0; j < 2; j++) {
		assert_true(c.rows[j].differs && c.rows[j].since_ms >= 29 && c.rows[j].since_ms <= 33); /* of 31 */
		assert_true(fabs(log(c.rows[j].ratio) + .1) < .01 && c.rows[j].low < c.rows[j].ratio && c.rows[j].high < 1);
	}
	assert_int_equal(c.rows[2].since_ms, 0);
	compare_release(&c);
	/* What was slower for some weeks, and is not any more, is no change. */
	draw_weeks(&m, &rng, 52, .01, NORMAL, 0, 0);
	for (size_t i = 20; i < 30; i++)
		m.rates[i][0] *= .85;
	check(compare_fingerprints(&m.set, weeks[0], weeks[51], 2, &c, &err), &err);
	compare_history(&m.set, weeks, 52, 2, &c);
	assert_int_equal(c.differing, 0);
	compare_release(&c);
}

static double share_of_histories(size_t n, double size, enum weather weather, double shift, size_t late, size_t times, uint64_t seed)
{
	static struct made m;
	size_t hits = 0, found;
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t i = 0; i < times; i++) {
		draw_weeks(&m, &rng, n, size, weather, shift, late);
		hits += shift > 0 ? (look_back(&m, n, 6, &found), found) : look_back(&m, n, 1, &found) > 0;
	}
	return (double)hits / (double)(shift > 0 ? 2 * times : times);
}

/* The tables of docs/evidence/statistics.md; HISTORY_TIMES=2000 draws them in full. */
static void test_histories(void **state)
{
	static const size_t weeks[] = { 6, 8, 12, 26, 52 };
	static const struct {
		const char *what;
		double size;
		enum weather weather;
		double limit;
	} still[] = { { "1 %", .01, NORMAL, .05 },
		      { "recorded", 0, NORMAL, .05 },
		      { "recorded, heavy", 0, HEAVY, .1 },
		      { "1 %, busy", .01, BUSY, .1 } };
	static const struct {
		double size;
		size_t weeks, late;
		double least;
	} moved[] = { { .01, 52, 21, .99 }, { .01, 26, 8, .8 }, { .01, 12, 4, 0 },  { .01, 8, 3, 0 },
		      { .02, 52, 21, .95 }, { .02, 26, 8, 0 },	{ .03, 52, 21, 0 }, { .05, 52, 21, 0 } };
	const char *given = getenv("HISTORY_TIMES");
	size_t times = given ? (size_t)strtoul(given, NULL, 10) : 60;

	(void)state;
	for (size_t i = 0; i < COUNT(still); i++) {
		for (size_t k = 0; k < COUNT(weeks); k++) {
			double wrong = share_of_histories(weeks[k], still[i].size, still[i].weather, 0, 0, times, 1 + k);

			if (given)
				print_message("%s, %zu weeks: false alarms %.4f\n", still[i].what, weeks[k], wrong);
			if (wrong > still[i].limit + 4 * sqrt(.05 * .95 / (double)times))
				fail_msg("%s, %zu weeks: false alarms %.3f", still[i].what, weeks[k], wrong);
		}
	}
	for (size_t i = 0; i < COUNT(moved); i++) {
		double found = share_of_histories(moved[i].weeks, moved[i].size, NORMAL, .1, moved[i].late, given ? times / 4 : 10, 9 + i);

		if (given)
			print_message("noise %g, %zu of %zu weeks 10 %% slower: found %.3f\n", moved[i].size, moved[i].late, moved[i].weeks,
				      found);
		if (found < moved[i].least)
			fail_msg("noise %g, %zu of %zu weeks: found in %.2f only", moved[i].size, moved[i].late, moved[i].weeks, found);
	}
}

/* ---- drift ---- */

static struct catalog catalog_of(struct made *m, const size_t *machine_of)
{
	struct catalog catalog = { .directory = mem_string("") };

	for (size_t i = 0; i < m->set.n; i++) {
		char id[24];

		snprintf(id, sizeof(id), "m%zu", machine_of[i]);
		machine_put(catalog_machine(&catalog, id), &m->set, &m->items[i]);
	}
	return catalog;
}

/* m0 has changed since its first fingerprint, m1 not, m2 has only one and is the odd one of its type. */
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
		draw(&m, i, &rng, .01, .03, i == 0 || i == 4 ? .7 : 0);
	catalog = catalog_of(&m, machine_of);
	for (size_t i = 0; i < catalog.n; i++) {
		for (size_t k = 0; k < catalog.machines[i].n_fingerprints; k++) {
			catalog.machines[i].fingerprints[k].type = mem_string("t");
			catalog.machines[i].fingerprints[k].type_given_by = mem_string("test");
		}
	}
	types_of(&catalog, &config, &types);
	drift_of(&catalog, &m.set, &types, INT64_MAX, &drift);
	assert_int_equal(drift.n, 4);
	assert_int_equal(drift.past[0].state, DRIFT_COMPARED);
	assert_int_equal(drift.past[0].compare.differing, 1);
	assert_true(drift.past[0].compare.rows[4].differs && drift.past[0].compare.rows[4].ratio < .6);
	assert_int_equal(drift.past[1].compare.differing, 0);
	assert_int_equal(drift.past[2].state, DRIFT_ALONE);
	assert_int_equal(drift.peers[0].n, 0); /* like two of three others */
	assert_int_equal(drift.peers[2].n, 1);
	assert_string_equal(drift.peers[2].stressors[0].name, "s04");
	assert_int_equal(drift.peers[2].stressors[0].differ, 3);
	assert_int_equal(drift.peers[2].stressors[0].others, 3);
	assert_true(drift.peers[2].stressors[0].ratio > 1.8);
	drift_release(&drift);
	/* Accepted: nothing newer. Retired: left out. */
	machine_accept(&catalog.machines[0], catalog.machines[0].fingerprints[1].id, 7, "new memory");
	machine_retire(&catalog.machines[2], true, 8, NULL);
	drift_of(&catalog, &m.set, &types, INT64_MAX, &drift);
	assert_int_equal(drift.n, 3);
	assert_int_equal(drift.retired, 1);
	assert_int_equal(drift.past[0].state, DRIFT_REFERENCE);
	for (size_t i = 0; i < drift.n; i++)
		assert_int_equal(drift.peers[i].n, 0);
	drift_release(&drift);
	types_release(&types);
	catalog_release(&catalog);
}

/* A clock was wrong once: what was taken then is neither the latest nor the first, and what was accepted under it counts no longer than any
 * other. */
static void test_drift_future(void **state)
{
	static const size_t machine_of[] = { 0, 0, 0 };
	static struct made m;
	struct lab_config config = { 0 };
	struct catalog catalog;
	struct machine *machine;
	struct types types;
	struct drift drift;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 6);
	make(&m, 3, 8, 3);
	m.items[1].taken_ms = 1000;
	for (size_t i = 0; i < 3; i++)
		draw(&m, i, &rng, .01, .03, 0);
	catalog = catalog_of(&m, machine_of); /* by time: 0, 2 and the one of the future */
	machine = &catalog.machines[0];
	types_of(&catalog, &config, &types);
	drift_of(&catalog, &m.set, &types, 999, &drift);
	assert_int_equal(drift.n, 1);
	assert_string_equal(drift.past[0].latest->id, m.items[2].id);
	assert_string_equal(drift.past[0].reference->id, m.items[0].id);
	assert_int_equal(drift.n_ahead, 1);
	assert_string_equal(drift.ahead[0].fingerprint->id, m.items[1].id);
	drift_release(&drift);
	assert_false(drift_is_latest(machine, &machine->fingerprints[2], 999));
	machine_accept(machine, m.items[1].id, 2000, "under the wrong clock");
	machine_accept(machine, m.items[2].id, 500, "after it");
	assert_string_equal(drift_reference(machine, &machine->fingerprints[1], NULL)->id, m.items[2].id);
	drift_of(&catalog, &m.set, &types, 1000, &drift);
	assert_int_equal(drift.n_ahead, 0);
	assert_string_equal(drift.past[0].latest->id, m.items[1].id);
	drift_release(&drift);
	types_release(&types);
	catalog_release(&catalog);
}

/* The history counts from the reference on, of one kind; another stress-ng begins anew, is said with its first fingerprint, and what was
 * under the older one is not what the machine is. */
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
	draw_weeks(&m, &rng, 28, .01, NORMAL, .2, 10); /* the last two under another version */
	m.items[26].stress_ng = m.items[27].stress_ng = newer;
	for (size_t n = 26; n <= 28; n++) {
		m.set.n = n;
		catalog = catalog_of(&m, machine_of);
		types_of(&catalog, &config, &types);
		drift_of(&catalog, &m.set, &types, INT64_MAX, &drift);
		assert_int_equal(drift.n, 1);
		assert_string_equal(drift.past[0].latest->id, m.items[n - 1].id);
		assert_int_equal(drift.past[0].history, n == 26 ? 26 : n == 27 ? 0 : 2);
		assert_int_equal(drift.past[0].compare.differing, n == 26 ? 2 : 0);
		assert_true(n != 26 || llabs(drift.past[0].compare.rows[1].since_ms - 18) <= 2);
		if (n == 27)
			assert_string_equal(drift_version_before(drift.past[0].machine, drift.past[0].latest), version);
		else
			assert_null(drift_version_before(drift.past[0].machine, drift.past[0].latest));
		drift_release(&drift);
		/* Accepted after the change: what is left shows none. */
		machine_accept(&catalog.machines[0], m.items[20].id, 30, "known");
		drift_of(&catalog, &m.set, &types, INT64_MAX, &drift);
		assert_int_equal(drift.past[0].compare.differing, 0);
		assert_true(n != 26 || drift.past[0].history == 6);
		drift_release(&drift);
		types_release(&types);
		catalog_release(&catalog);
	}
}

/* What people decided survives writing and reading; what cannot be is refused. */
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
	text = machine_text(&machine);
	check(machine_parse("m", text, strlen(text), &again, &err), &err);
	assert_int_equal(again.n_accepted, 2);
	assert_true(again.retired);
	assert_string_equal(again.retired_reason, "sold");
	second = machine_text(&again);
	assert_string_equal(text, second);
	machine_retire(&again, false, 40, NULL);
	free(second);
	second = machine_text(&again);
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
		cmocka_unit_test(test_refused),	      cmocka_unit_test(test_numbers), cmocka_unit_test(test_few_passes),
		cmocka_unit_test(test_simulated),     cmocka_unit_test(test_drift),   cmocka_unit_test(test_drift_future),
		cmocka_unit_test(test_drift_history), cmocka_unit_test(test_history), cmocka_unit_test(test_histories),
		cmocka_unit_test(test_marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests labelled pairs, clusters of applications, and rates and areas with their intervals. */
#include "base/mem.h"
#include "base/rng.h"
#include "tests/bench/evaluate.c" /* static functions are tested, too */
#include "tests/bench/evaluate_rates.c"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- PAIRS.json ---- */

#define PAIR(baseline, candidate, rest) "[{\"baseline\": " baseline ", \"candidate\": " candidate ", \"changed\": false" rest "}]"

static void test_pairs_refused(void **state)
{
	static const struct {
		const char *what, *text, *error;
		enum assay_status status;
	} rows[] = {
		{ "not JSON", "[{", "f:1: ", ASSAY_E_FORMAT },
		{ "not a list", "{}", "a list of pairs", ASSAY_E_FORMAT },
		{ "no pair", "[]", "a list of pairs", ASSAY_E_FORMAT },
		{ "not an object", "[1]", "pair 1", ASSAY_E_FORMAT },
		{ "no candidate", "[{\"baseline\": \"a\", \"changed\": true}]", "pair 1, candidate", ASSAY_E_FORMAT },
		{ "no truth", "[{\"baseline\": \"a\", \"candidate\": \"b\"}]", "'changed' must be true or false", ASSAY_E_FORMAT },
		{ "truth as a string", "[{\"baseline\": \"a\", \"candidate\": \"b\", \"changed\": \"no\"}]", "'changed'", ASSAY_E_FORMAT },
		{ "unknown key", PAIR("\"a\"", "\"b\"", ", \"lable\": \"x\""), "did you mean 'label'?", ASSAY_E_FORMAT },
		{ "unknown key of a side", PAIR("{\"application\": \"a\", \"repetition\": [1]}", "\"b\"", ""),
		  "did you mean 'repetitions'?", ASSAY_E_FORMAT },
		{ "bad selector", PAIR("\"a@\"", "\"b\"", ""), "pair 1, baseline", ASSAY_E_USAGE },
		{ "no application", PAIR("\"a\"", "{\"version\": \"1\"}", ""), "pair 1, candidate", ASSAY_E_FORMAT },
		{ "version twice", PAIR("{\"application\": \"a@1\", \"version\": \"1\"}", "\"b\"", ""), "version is given twice",
		  ASSAY_E_FORMAT },
		{ "one repetition without its list", PAIR("{\"application\": \"a\", \"repetitions\": 1}", "\"b\"", ""), "repetitions",
		  ASSAY_E_FORMAT },
		{ "no repetition", PAIR("{\"application\": \"a\", \"repetitions\": []}", "\"b\"", ""), "leave it out", ASSAY_E_FORMAT },
		{ "half a repetition", PAIR("{\"application\": \"a\", \"repetitions\": [1, 1.5]}", "\"b\"", ""),
		  "element 2 of 'repetitions'", ASSAY_E_FORMAT },
		{ "a time stamp as text", PAIR("{\"application\": \"a\", \"timestamps\": [\"1\"]}", "\"b\"", ""),
		  "element 1 of 'timestamps'", ASSAY_E_FORMAT },
		{ "past the year 9999", PAIR("{\"application\": \"a\", \"timestamps\": [900000000000000]}", "\"b\"", ""), "9999",
		  ASSAY_E_FORMAT },
		{ "an empty label", PAIR("\"a\"", "\"b\"", ", \"label\": \"\""), "'label'", ASSAY_E_FORMAT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct evaluate_pairs pairs;
		struct assay_error err = { .text = "" };

		print_message("%s\n", rows[i].what);
		assert_int_equal(evaluate_pairs_parse("f", rows[i].text, strlen(rows[i].text), &pairs, &err), rows[i].status);
		print_message("    %s\n", err.text);
		assert_non_null(strstr(err.text, rows[i].error));
		assert_true(strncmp(err.text, "f:", 2) == 0);
		assert_true(pairs.n == 0 && !pairs.items);
	}
}

static void expect_side(const struct evaluate_side *side, const char *text)
{
	char *got = evaluate_side_text(side);

	assert_string_equal(got, text);
	free(got);
}

static void test_pairs_read(void **state)
{
	static const char text[] =
	    "[{\"baseline\": \"x/a@1.0\", \"candidate\": \"x/a\", \"changed\": true, \"label\": \"l\", \"cluster\": \"c\"},\n"
	    " {\"baseline\": {\"application\": \"b\", \"repetitions\": [3, 1, 3]}, \"changed\": false,\n"
	    "  \"candidate\": {\"application\": \"b\", \"version\": \"2\", \"timestamps\": [1498013938000, 1498013938, 1512873230]}}]";
	struct evaluate_pairs pairs;
	struct assay_error err;

	(void)state;
	assert_int_equal(evaluate_pairs_parse("f", text, strlen(text), &pairs, &err), ASSAY_OK);
	assert_int_equal(pairs.n, 2);
	assert_true(pairs.items[0].changed && !pairs.items[1].changed);
	assert_string_equal(pairs.items[0].label, "l");
	assert_string_equal(pairs.items[0].cluster, "c");
	assert_null(pairs.items[1].label);
	expect_side(&pairs.items[0].sides[0], "x/a@1.0");
	expect_side(&pairs.items[0].sides[1], "x/a");
	expect_side(&pairs.items[1].sides[0], "b; repetitions 1,3");
	/* time stamps in seconds and in milliseconds are equal */
	expect_side(&pairs.items[1].sides[1], "b@2; time stamps 1498013938000,1512873230000");
	evaluate_pairs_release(&pairs);
}

/* ---- rates ---- */

/* Checks the Clopper-Pearson limits against scipy 1.10 (beta.ppf). */
static void test_exact_limits(void **state)
{
	static const struct {
		double k, n, low, high;
	} rows[] = {
		{ 0, 10, 0, .3084971078187608 },
		{ 0, 100, 0, .03621669264517641 },
		{ 3, 243, .002553248080597163, .035653374905906816 },
		{ 10, 10, .6915028921812392, 1 },
		{ 50, 100, .3983211295033008, .6016788704966992 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double low = exact_low(rows[i].k, rows[i].n), high = exact_high(rows[i].k, rows[i].n);

		print_message("%g of %g: %.12f to %.12f\n", rows[i].k, rows[i].n, low, high);
		assert_true(fabs(low - rows[i].low) < 1e-9);
		assert_true(fabs(high - rows[i].high) < 1e-9);
	}
}

#define PAIRS 60

/* Labelled pairs; pair i is in cluster i % clusters. */
struct made {
	size_t cluster[PAIRS];
	bool counts[PAIRS], flagged[PAIRS], changed[PAIRS];
	double score[PAIRS];
	struct evaluate_sample sample;
};

static void make(struct made *m, size_t clusters)
{
	*m = (struct made){ 0 };
	for (size_t i = 0; i < PAIRS; i++) {
		m->cluster[i] = i % clusters;
		m->counts[i] = true;
		m->changed[i] = i >= PAIRS / 2;
		m->score[i] = (double)i;
	}
	m->sample = (struct evaluate_sample){ m->cluster, PAIRS, clusters, 500, 1 };
}

/* Checks a rate of zero: a cluster is one trial, whatever the number of its pairs, and pairs that do not count are ignored. */
static void test_no_false_positive(void **state)
{
	struct evaluate_rate r;
	struct made m;

	(void)state;
	make(&m, 10);
	r = evaluate_rate_of(&m.sample, m.counts, m.flagged);
	assert_true(r.flagged == 0 && r.n == PAIRS && r.clusters == 10);
	assert_true(r.rate == 0 && r.low == 0);
	assert_true(fabs(r.high - exact_high(0, 10)) < 1e-12);
	assert_true(fabs(r.independent_high - exact_high(0, PAIRS)) < 1e-12);
	for (size_t i = 0; i < PAIRS; i++) {
		m.counts[i] = m.cluster[i] < 4;
		m.flagged[i] = true;
	}
	r = evaluate_rate_of(&m.sample, m.counts, m.flagged);
	assert_true(r.n == 24 && r.clusters == 4 && r.rate == 1 && r.high == 1);
	assert_true(fabs(r.low - exact_low(4, 4)) < 1e-12);
	for (size_t i = 0; i < PAIRS; i++)
		m.counts[i] = false;
	r = evaluate_rate_of(&m.sample, m.counts, m.flagged);
	assert_true(r.n == 0 && isnan(r.rate) && isnan(r.low) && isnan(r.high));
}

/* Checks that half of the pairs give a wider interval if they are whole clusters than if they are spread over all clusters. */
static void test_clusters_widen(void **state)
{
	struct evaluate_rate spread, whole;
	struct made m;

	(void)state;
	make(&m, 10);
	for (size_t i = 0; i < PAIRS; i++)
		m.flagged[i] = i / 10 % 2 == 0;
	spread = evaluate_rate_of(&m.sample, m.counts, m.flagged);
	for (size_t i = 0; i < PAIRS; i++)
		m.flagged[i] = m.cluster[i] % 2 == 0;
	whole = evaluate_rate_of(&m.sample, m.counts, m.flagged);
	assert_true(spread.flagged == PAIRS / 2 && whole.flagged == PAIRS / 2);
	/* all clusters are equal, so only chance within them is left */
	assert_true(fabs(spread.low - spread.independent_low) < 1e-12 && fabs(spread.high - spread.independent_high) < 1e-12);
	assert_true(whole.low < spread.low - .05 && whole.high > spread.high + .05);
}

/* ---- areas ---- */

static void test_area(void **state)
{
	struct evaluate_area a;
	struct made m;
	double wins = 0;

	(void)state;
	make(&m, 6);
	a = evaluate_area_of(&m.sample, m.changed, m.score);
	assert_true(a.area == 1 && a.low == 1 && a.high == 1);
	for (size_t i = 0; i < PAIRS; i++)
		m.score[i] = 3;
	a = evaluate_area_of(&m.sample, m.changed, m.score);
	assert_true(a.area == .5);
	for (size_t i = 0; i < PAIRS; i++)
		m.score[i] = i % 7 == 0 ? (double)NAN : (double)((i * 37) % 11 + 5 * m.changed[i]);
	/* the area by its definition; pairs without a score rank lowest */
	for (size_t i = PAIRS / 2; i < PAIRS; i++) {
		for (size_t k = 0; k < PAIRS / 2; k++) {
			double x = isnan(m.score[i]) ? -1 : m.score[i], y = isnan(m.score[k]) ? -1 : m.score[k];

			wins += x > y ? 1 : (x < y ? 0 : .5);
		}
	}
	a = evaluate_area_of(&m.sample, m.changed, m.score);
	assert_true(fabs(a.area - wins / (PAIRS * PAIRS / 4)) < 1e-12);
	assert_true(a.low < a.area && a.area < a.high);
	for (size_t i = 0; i < PAIRS; i++)
		m.changed[i] = true;
	a = evaluate_area_of(&m.sample, m.changed, m.score);
	assert_true(isnan(a.area) && isnan(a.low));
}

static void test_same_bits(void **state)
{
	struct evaluate_area a, b;
	struct made m;

	(void)state;
	make(&m, 6);
	for (size_t i = 0; i < PAIRS; i++)
		m.score[i] = (double)((i * 37) % 11 + 3 * m.changed[i]);
	a = evaluate_area_of(&m.sample, m.changed, m.score);
	/* reverses the order of the pairs */
	for (size_t i = 0; i < PAIRS / 2; i++) {
		size_t k = PAIRS - 1 - i, cluster = m.cluster[i];
		double score = m.score[i];

		m.cluster[i] = m.cluster[k];
		m.cluster[k] = cluster;
		m.score[i] = m.score[k];
		m.score[k] = score;
		m.changed[i] = true;
		m.changed[k] = false;
	}
	b = evaluate_area_of(&m.sample, m.changed, m.score);
	assert_memory_equal(&a, &b, sizeof(a));
	m.sample.seed++;
	b = evaluate_area_of(&m.sample, m.changed, m.score);
	assert_true(a.low != b.low || a.high != b.high);
}

/* Checks the share of 95 % intervals that contain the truth, if all pairs of a cluster have the same outcome. */
static void test_coverage(void **state)
{
	struct rng rng;
	int inside = 0, naive = 0;

	(void)state;
	rng_seed(&rng, 5);
	for (int k = 0; k < 300; k++) {
		struct evaluate_rate r;
		struct made m;

		make(&m, 20);
		for (size_t i = 0; i < 20; i++)
			m.flagged[i] = m.flagged[i + 20] = m.flagged[i + 40] = rng_double(&rng) < .3;
		r = evaluate_rate_of(&m.sample, m.counts, m.flagged);
		inside += r.low <= .3 && .3 <= r.high;
		naive += r.independent_low <= .3 && .3 <= r.independent_high;
	}
	print_message("inside: %d of 300; as if independent: %d\n", inside, naive);
	assert_true(inside >= 265);
	assert_true(naive < inside - 30);
}

/* ---- whole evaluations in memory ---- */

#define MACHINES 6

static struct run_set make_runs(const char *application, const char *version, double factor)
{
	struct run_set set = { mem_string(application), mem_string(version), .items = mem_new((size_t)MACHINES * 3, sizeof(struct run)) };

	for (size_t i = 0; i < (size_t)MACHINES * 3; i++) {
		size_t machine = i / 3;

		set.items[set.n++] = (struct run){ .machine = mem_format("m%zu", machine),
						   .taken_ms = 1000,
						   .repetition = (int64_t)(i % 3) + 1,
						   .metric = (10 + (double)machine) * factor * (1 + .01 * ((double)((i * 7) % 5) - 2)),
						   .recorded = 1 };
	}
	return set;
}

static const struct evaluate_options quick = { .min_effect = .03, .epsilon = 10, .resamples = 100, .seed = 1, .threads = 2 };

/* Checks clusters: a is compared with b, b with c, e with d, and d has the label of c's cluster, so a to e are one; f and g are another. */
static void test_evaluation(void **state)
{
	static const char text[] =
	    "[{\"baseline\": \"b\", \"candidate\": \"a\", \"changed\": false},"
	    "{\"baseline\": \"c\", \"candidate\": \"b\", \"changed\": true, \"label\": \"slow\", \"cluster\": \"program\"},"
	    "{\"baseline\": \"d\", \"candidate\": \"d\", \"changed\": false, \"cluster\": \"program\"},"
	    "{\"baseline\": \"e\", \"candidate\": \"d\", \"changed\": false, \"label\": \"other\"},"
	    "{\"baseline\": \"f\", \"candidate\": \"g\", \"changed\": true, \"label\": \"fast\"}]";
	static const size_t of[5][2] = { { 1, 0 }, { 2, 1 }, { 3, 3 }, { 4, 3 }, { 5, 6 } };
	struct evaluation e = { .options = quick, .runs = { .sets = mem_new(7, sizeof(struct run_set)), .n = 7 } },
			  wrong = { .options = quick };
	struct evidence evidence = { 0 };
	struct lab_config config = { .min_effect = .03 };
	struct assay_error err;

	(void)state;
	assert_int_equal(evaluate_pairs_parse("f", text, strlen(text), &e.pairs, &err), ASSAY_OK);
	for (size_t i = 0; i < 7; i++) {
		char name[2] = { (char)('a' + (int)i), '\0' };

		e.runs.sets[i] = make_runs(name, "1", i == 2 || i == 6 ? 1 : 1.2); /* c and g are faster than all others */
	}
	for (size_t i = 0; i < 10; i++)
		e.pairs.items[i / 2].sides[i % 2].runs = of[i / 2][i % 2];
	assert_int_equal(evaluation_judge(&evidence, &config, &e, &err), ASSAY_OK);
	assert_int_equal(e.n_clusters, 2);
	assert_string_equal(e.clusters[0], "a");
	assert_string_equal(e.clusters[1], "f");
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(e.outcomes[i].cluster, 0);
	assert_int_equal(e.outcomes[4].cluster, 1);
	assert_int_equal(e.outcomes[0].effect.decision, DECISION_PASS);
	assert_int_equal(e.outcomes[1].effect.decision, DECISION_REGRESSION);
	assert_true(e.outcomes[1].flagged[METHOD_GATE] && e.outcomes[1].score[METHOD_GATE] > 1);
	assert_true(!e.outcomes[0].flagged[METHOD_GATE] && e.outcomes[0].score[METHOD_GATE] < 1);
	assert_true(fabs(e.outcomes[1].score[METHOD_MEAN] - log(1.2)) < 1e-9 && e.outcomes[1].flagged[METHOD_MEAN]);
	assert_true(isnan(e.outcomes[1].score[METHOD_WALK]) && !e.outcomes[1].flagged[METHOD_WALK]); /* no fingerprints */
	assert_int_equal(e.outcomes[2].shared, 3 * MACHINES);
	assert_int_equal(e.outcomes[0].shared, 0);
	assert_true(e.outcomes[4].effect.decision == DECISION_IMPROVED && e.outcomes[4].flagged[METHOD_GATE]);
	assert_int_equal(e.n_kinds, 4);
	assert_string_equal(e.kinds[0].label, "");
	assert_string_equal(e.kinds[1].label, "other");
	assert_true(e.kinds[0].pairs == 2 && !e.kinds[0].changed && e.kinds[1].pairs == 1 && !e.kinds[1].changed);
	assert_string_equal(e.kinds[2].label, "fast");
	assert_true(e.kinds[2].pairs == 1 && e.kinds[2].changed && e.kinds[2].decisions[DECISION_IMPROVED] == 1);
	assert_true(e.kinds[2].rates[METHOD_GATE].flagged == 1 && e.kinds[0].rates[METHOD_GATE].flagged == 0);
	assert_true(e.total[0].pairs == 3 && e.total[1].pairs == 2);
	assert_true(e.total[1].rates[METHOD_GATE].flagged == 2 && e.total[0].rates[METHOD_GATE].flagged == 0);
	assert_int_equal(e.total[1].decisions[DECISION_REGRESSION], 1);
	assert_true(e.scored[METHOD_WALK] == 0 && e.scored[METHOD_GATE] == 5);
	e.runs.sets[0].higher_is_better = true;
	wrong.pairs = e.pairs;
	wrong.runs = e.runs;
	assert_int_equal(evaluation_judge(&evidence, &config, &wrong, &err), ASSAY_E_USAGE);
	assert_true(strncmp(err.text, "pair 1: ", 8) == 0);
	free(wrong.outcomes);
	evaluation_release(&e);
}

int suite_evaluate(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs_refused),	  cmocka_unit_test(test_pairs_read),	 cmocka_unit_test(test_exact_limits),
		cmocka_unit_test(test_no_false_positive), cmocka_unit_test(test_clusters_widen), cmocka_unit_test(test_area),
		cmocka_unit_test(test_same_bits),	  cmocka_unit_test(test_coverage),	 cmocka_unit_test(test_evaluation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

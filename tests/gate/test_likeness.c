/* Tests matches of functions with stressors: stressor counters of a simulated CPU from the store, and synthetic functions. */
#include "gate/detect/likeness.c" /* the static function for rates of stressors */

#include "fingerprint/counters/stressor_counters.h"
#include "gate/page/document_html.h"
#include "tests/fingerprint/begun.h"
#include "tests/scratch.h"

#include <math.h>

#define STRESSORS 10
#define COUNTERS  4
#define RUNS	  3
#define PLAN                                                                                                                               \
	COUNTING_MAGIC                                                                                                                     \
	"\nrun 1 hardware user PAPI_TOT_INS PAPI_TOT_CYC PAPI_L2_TCM\nrun 2 hardware user PAPI_TOT_INS PAPI_BR_MSP\n"                      \
	"run 3 software all perf::PAGE-FAULTS\n"

static const char *const names[STRESSORS] = { "brk", "cache", "cpu", "crypt", "memcpy", "hsearch", "qsort", "str", "stream", "vm" };
static const char *const columns[COUNTERS] = { "PAPI_BR_MSP", "PAPI_L2_TCM", "PAPI_TOT_CYC", "PAPI_TOT_INS" };

/* Events of each stressor per 1000 instructions: cache, memcpy and stream have cache misses, qsort and hsearch branch mispredictions. */
static double cycles_of(size_t s)
{
	return s == 1 || s == 4 || s == 8 ? 4000 : s == 5 || s == 6 ? 1500 : 500;
}

static double misses_of(size_t s)
{
	return s == 1 || s == 4 || s == 8 ? 60 : .1;
}

static double branches_of(size_t s)
{
	return s == 5 || s == 6 ? 40 : .2;
}

/* ---- the store ---- */

static struct lab lab;
static struct battery battery;
static char session[FINGERPRINT_ID_BYTES];
static struct evidence evidence;

static void put_run(const struct counting_plan *plan, size_t run, size_t stressor, double factor)
{
	const struct counting_events *events = &plan->runs[run].events;
	struct stressor_count counted = { (int64_t)run + 1, names[stressor], NULL, 1000 * factor, 300000000, NULL };
	int64_t values[COUNTING_EVENTS_MAX];
	struct assay_error err;

	for (size_t k = 0; k < events->n; k++) {
		const char *event = events->names[k];
		double each = strcmp(event, "PAPI_TOT_CYC") == 0  ? cycles_of(stressor)
			      : strcmp(event, "PAPI_L2_TCM") == 0 ? misses_of(stressor)
			      : strcmp(event, "PAPI_BR_MSP") == 0 ? branches_of(stressor)
								  : 1000;

		values[k] = (int64_t)(1e5 * factor * each);
	}
	counted.values = values;
	check(stressor_counters_put(&lab.store, session, events, &counted, &err), &err);
}

static void put_counters(void)
{
	struct counting_plan plan;
	struct assay_error err;

	check(counting_plan_parse(PLAN, strlen(PLAN), &plan, &err), &err);
	check(stressor_counters_put_plan(&lab.store, session, &plan, &err), &err);
	for (size_t s = 0; s < STRESSORS; s++) {
		put_run(&plan, 0, s, 1);
		put_run(&plan, 1, s, .5); /* the second run made half as many operations */
	}
	counting_plan_release(&plan);
}

static int enter(void **state)
{
	struct buf text = BUF_INIT;
	struct fingerprint *f;
	struct assay_error err;
	struct fingerprint_key key;

	if (scratch_enter(state))
		return 1;
	lab = scratch_lab("lab");
	buf_text(&text, "name: made\nstressors:\n");
	for (size_t s = 0; s < STRESSORS; s++)
		buf_format(&text, "  - { stressor: %s }\n", names[s]);
	check(battery_parse("made", text.bytes, text.size, &battery, &err), &err);
	buf_release(&text);
	key = (struct fingerprint_key){ "m", battery.name, battery.hash, "0.15.06", "x86_64", 1000 };
	begin_fingerprint(&lab.store, &key, session);
	/* The evidence that is usually loaded from the store. */
	evidence = (struct evidence){ .fingerprints = { .n_stressors = STRESSORS, .n = 1 } };
	evidence.fingerprints.stressors = mem_new(STRESSORS, sizeof(char *));
	for (size_t s = 0; s < STRESSORS; s++)
		evidence.fingerprints.stressors[s] = mem_string(names[s]);
	f = evidence.fingerprints.items = mem_new(1, sizeof(*f));
	memcpy(f->id, session, sizeof(f->id));
	f->machine = mem_string("m");
	return 0;
}

static int leave(void **state)
{
	for (size_t s = 0; s < STRESSORS; s++)
		free(evidence.fingerprints.stressors[s]);
	free(evidence.fingerprints.stressors);
	free(evidence.fingerprints.items[0].machine);
	free(evidence.fingerprints.items);
	battery_release(&battery);
	lab_close(&lab);
	return scratch_leave(state);
}

static struct stressor_rates load(enum record_back_end back_end, const char *type)
{
	const struct stressor_rates_query query = { columns, COUNTERS, back_end, type, NULL };
	struct stressor_rates rates;
	struct assay_error err;

	check(stressor_rates_load(&lab, &evidence, &query, &rates, &err), &err);
	return rates;
}

static void test_rates(void **state)
{
	struct stressor_rates rates;

	(void)state;
	put_counters();
	rates = load(RECORD_PAPI, "");
	assert_null(rates.missing);
	assert_int_equal(rates.fingerprints, 1);
	assert_string_equal(columns[rates.unit], "PAPI_TOT_CYC");
	assert_int_equal(rates.log_rates.rows, STRESSORS);
	for (size_t s = 0; s < STRESSORS; s++) { /* including counters of the other run */
		assert_true(fabs(mat_get(&rates.log_rates, s, 0) - log(branches_of(s) / cycles_of(s))) < 1e-3);
		assert_true(fabs(mat_get(&rates.log_rates, s, 1) - log(misses_of(s) / cycles_of(s))) < 1e-3);
		assert_true(fabs(mat_get(&rates.log_rates, s, 3) - log(1000 / cycles_of(s))) < 1e-3);
	}
	stressor_rates_release(&rates);
}

static void test_why_not(void **state)
{
	struct stressor_rates rates = load(RECORD_PAPI, "");

	(void)state;
	assert_non_null(strstr(rates.missing, "take them with 'assay host measure --counters'"));
	stressor_rates_release(&rates);
	put_counters();
	rates = load(RECORD_PAPI, "another");
	assert_non_null(strstr(rates.missing, "hardware type 'another'"));
	stressor_rates_release(&rates);
	rates = load(RECORD_SOFTWARE, ""); /* never the counters of the CPU */
	assert_non_null(strstr(rates.missing, "(software)"));
	stressor_rates_release(&rates);
	rates = load(RECORD_EMULATED, "");
	assert_non_null(strstr(rates.missing, "emulated"));
	stressor_rates_release(&rates);
	rates = load(RECORD_TIME, "");
	assert_non_null(strstr(rates.missing, "only time was measured"));
	stressor_rates_release(&rates);
}

/* ---- functions ---- */

enum { MISSES, BRANCHES, SAME, FUNCTIONS };
static const char *const functions[FUNCTIONS] = { "misses", "branches", "same" };

/* Fills a row for a call of 10,000 instructions and 8,000 cycles, as events per instruction. `bad` adds the events of a stressor in 40,000
 * cycles. */
static void call(size_t f, bool bad, double *row)
{
	size_t stressor = f == MISSES ? 4 : 5;
	double more = bad && f != SAME ? 40000 / cycles_of(stressor) : 0, work = 10000 + 1000 * more;

	row[0] = (5 + more * branches_of(stressor)) / work;
	row[1] = (3 + more * misses_of(stressor)) / work;
	row[2] = (8000 + more * cycles_of(stressor)) / work;
	row[3] = work;
}

/* Makes the observations of a side. One of the bad runs was disturbed: it took longer without more events. */
static struct observed observed_of(bool bad)
{
	struct observed o = { .observations = { .values = mat_new(RUNS * FUNCTIONS, COUNTERS), .functions = FUNCTIONS, .runs = RUNS } };

	o.function = mem_new(RUNS * FUNCTIONS, sizeof(size_t));
	o.run = mem_new(RUNS * FUNCTIONS, sizeof(size_t));
	o.weight = mem_new(RUNS * FUNCTIONS, sizeof(double));
	o.functions = mem_new(FUNCTIONS, sizeof(char *));
	o.columns = mem_new(COUNTERS, sizeof(char *));
	for (size_t f = 0; f < FUNCTIONS; f++)
		o.functions[f] = mem_string(functions[f]);
	for (size_t c = 0; c < COUNTERS; c++)
		o.columns[c] = mem_string(columns[c]);
	for (size_t i = 0; i < RUNS * FUNCTIONS; i++) {
		o.function[i] = i % FUNCTIONS;
		o.run[i] = i / FUNCTIONS;
		o.weight[i] = 100;
		double *row = o.observations.values.at + i * COUNTERS;

		call(i % FUNCTIONS, bad && i / FUNCTIONS > 0, row);
		row[2] *= bad && i / FUNCTIONS == 0 ? 1000 : 1;
	}
	return o;
}

/* Makes evidence about functions that became worse, or better if `improved`, in this order. */
static struct function_evidence evidence_of(bool improved)
{
	struct function_evidence e = { .has_result = true };
	struct detected *d = &e.detected;

	d->back_end = RECORD_PAPI;
	d->normal = observed_of(improved);
	d->seen = observed_of(!improved);
	d->n = FUNCTIONS;
	*(improved ? &d->n_improved : &d->n_worse) = FUNCTIONS;
	d->functions = mem_new(FUNCTIONS, sizeof(d->functions[0]));
	for (size_t f = 0; f < FUNCTIONS; f++)
		d->functions[f] = (struct detected_function){ .name = mem_string(functions[f]), .symbol = d->seen.functions[f] };
	return e;
}

/* Checks added events per added cycle. To each count is added half an event, divided by the calls of the side with fewer calls. */
static void test_added_rates(void **state)
{
	struct function_evidence e = evidence_of(false);
	double more = 40000 / cycles_of(4), calls = RUNS * 100, rates[COUNTERS];
	const double added[COUNTERS] = { more * branches_of(4), more * misses_of(4), 40000, 1000 * more };

	(void)state;
	for (size_t i = 0; i < RUNS * FUNCTIONS; i++)
		e.detected.seen.weight[i] = 200; /* the other side has fewer calls */
	assert_null(likeness_added_rates(&e.detected, functions[MISSES], false, 2, rates));
	for (size_t c = 0; c < COUNTERS; c++)
		assert_true(fabs(rates[c] - log((added[c] + .5 / calls) / 40000)) < 1e-9);
	assert_non_null(likeness_added_rates(&e.detected, functions[SAME], false, 2, rates));
	assert_non_null(likeness_added_rates(&e.detected, "never called", false, 2, rates));
	function_evidence_release(&e);
}

/* Two groups. Their order tells which of them grew (or shrank) most. */
static const char *missing_ones[] = { "cache", "stream", "memcpy" }, *branching_ones[] = { "qsort", "hsearch" }, *others[] = { "nothing" };

static struct contribution group_of(char *name, const char **members, size_t n, double change)
{
	return (struct contribution){ name, members, n, CATEGORY_UNKNOWN, .2, .2 + change, change, change - .05, change + .05, 0 };
}

static void test_match(void **state)
{
	char first[] = "missing", second[] = "branching";
	struct contribution groups[] = { group_of(first, missing_ones, 3, .5), group_of(second, branching_ones, 2, -.2) };
	const struct contributions contributions = { .groups = groups, .n_groups = 2 };
	struct function_evidence e = evidence_of(false);
	struct stressor_rates rates;
	struct likeness l;
	struct buf text = BUF_INIT;
	const struct html_page page = { .title = "t", .class = "c", .kind = "k", .first = "f", .about = "a" };
	struct document d;

	(void)state;
	put_counters();
	rates = load(RECORD_PAPI, "");
	document_init(&d);
	likeness_compare(&rates, DECISION_REGRESSION, &contributions, &e, &l);
	assert_null(l.missing);
	assert_ptr_equal(l.group, &groups[0]);
	assert_int_equal(l.members, 3);
	assert_int_equal(l.n_counters, 3); /* cycles are the unit */
	assert_int_equal(l.n, FUNCTIONS);
	assert_true(l.functions[MISSES].is_match && l.functions[MISSES].group.similarity > .95 && l.functions[MISSES].group.p < .02);
	assert_true(!l.functions[BRANCHES].is_match && l.functions[BRANCHES].group.similarity < .1);
	assert_true(strcmp(l.functions[BRANCHES].most_similar, "qsort") == 0 || strcmp(l.functions[BRANCHES].most_similar, "hsearch") == 0);
	assert_non_null(strstr(l.functions[SAME].missing, "hardly higher"));
	likeness_describe(&l, &d);
	document_human(&d, &(struct doc_style){ .columns = 80 }, &text);
	document_release(&d);
	assert_non_null(strstr(text.bytes, "misses looks like the group that grew: missing"));
	assert_non_null(strstr(text.bytes, "not compared: its CPU time is hardly higher"));
	assert_null(strstr(text.bytes, "cosine"));
	buf_clear(&text);
	document_init(&d);
	likeness_describe(&l, &d);
	html_page(&page, &d, &text);
	document_release(&d);
	assert_non_null(strstr(text.bytes, "<tr role=\"row\" data-matches=\"true\">"));
	assert_non_null(strstr(text.bytes, "misses looks like the group that grew: missing"));
	assert_non_null(strstr(text.bytes, "cosine"));
	assert_non_null(strstr(text.bytes, "not compared: its CPU time is hardly higher"));
	likeness_release(&l);

	groups[0].change = groups[0].low = -.1; /* no group certainly grew */
	likeness_compare(&rates, DECISION_REGRESSION, &contributions, &e, &l);
	assert_null(l.group);
	assert_non_null(strstr(l.no_group_reason, "certainly grew"));
	assert_true(isnan(l.functions[MISSES].group.p) && !l.functions[MISSES].is_match);
	assert_true(l.functions[MISSES].most_similarity > .95);
	likeness_release(&l);
	groups[0] = group_of(first, others, 1, .5); /* a group without counters */
	likeness_compare(&rates, DECISION_REGRESSION, &contributions, &e, &l);
	assert_non_null(strstr(l.no_group_reason, "no counters"));
	likeness_release(&l);
	likeness_compare(&rates, DECISION_INCONCLUSIVE, &contributions, &e, &l);
	assert_non_null(strstr(l.no_group_reason, "decision"));
	likeness_release(&l);
	buf_release(&text);
	stressor_rates_release(&rates);
	detected_release(&e.detected);
}

/* Checks the opposite case: time that was saved, and the group that shrank. */
static void test_improved(void **state)
{
	char first[] = "missing", second[] = "branching";
	struct contribution groups[] = { group_of(first, missing_ones, 3, .5), group_of(second, branching_ones, 2, -.2) };
	const struct contributions contributions = { .groups = groups, .n_groups = 2 };
	struct function_evidence e = evidence_of(true);
	struct stressor_rates rates;
	struct likeness l;
	struct document d;
	cJSON *json;

	(void)state;
	put_counters();
	rates = load(RECORD_PAPI, "");
	likeness_compare(&rates, DECISION_IMPROVED, &contributions, &e, &l);
	assert_ptr_equal(l.group, &groups[1]);
	assert_true(l.functions[BRANCHES].group.similarity > .95 && l.functions[MISSES].group.similarity < .1);
	assert_true(l.functions[BRANCHES].is_match); /* p = 1/45, for two functions that were compared */
	assert_non_null(strstr(l.functions[SAME].missing, "hardly lower"));
	likeness_release(&l);
	e.detected.functions[SAME].symbol = functions[MISSES]; /* p = 1/45 does not suffice for one of three functions */
	likeness_compare(&rates, DECISION_IMPROVED, &contributions, &e, &l);
	assert_true(!l.functions[BRANCHES].is_match && l.functions[BRANCHES].group.similarity > .95);
	document_init(&d);
	likeness_describe(&l, &d);
	json = document_cjson(&d);
	document_release(&d);
	assert_string_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(json, "signatures"), "group")->valuestring, "branching");
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(cJSON_GetObjectItem(json, "signatures"), "functions")), FUNCTIONS);
	cJSON_Delete(json);
	likeness_release(&l);
	stressor_rates_release(&rates);
	detected_release(&e.detected);
}

/* Checks that too few common stressors give no match. */
static void test_too_few(void **state)
{
	const struct contributions contributions = { .missing = "fewer than 4 hardware types" };
	struct function_evidence e = evidence_of(false);
	struct stressor_rates rates;
	struct likeness l;

	(void)state;
	put_counters();
	rates = load(RECORD_PAPI, "");
	for (size_t s = 0; s < STRESSORS; s++)
		for (size_t c = 1; c < COUNTERS; c++)
			mat_set(&rates.log_rates, s, c, (double)NAN);
	likeness_compare(&rates, DECISION_REGRESSION, &contributions, &e, &l);
	assert_non_null(strstr(l.missing, "1 counter in common that differs"));
	assert_int_equal(l.n, 0);
	likeness_release(&l);
	stressor_rates_release(&rates);
	rates = load(RECORD_PAPI, "");
	for (size_t s = 3; s < STRESSORS; s++)
		for (size_t c = 0; c < COUNTERS; c++)
			mat_set(&rates.log_rates, s, c, (double)NAN);
	likeness_compare(&rates, DECISION_REGRESSION, &contributions, &e, &l);
	assert_non_null(strstr(l.missing, "only 3 stressors have"));
	likeness_release(&l);
	stressor_rates_release(&rates);
	detected_release(&e.detected);
}

/* ---- points and their similarity ---- */

#define POINTS 20
#define RATES  5

/* Makes rates of stressors. Stressors 0-3 have many events of counter 1, 4-6 of counters 2 and 3. Counter 4 is equal for all. */
static struct mat stressors(uint64_t seed)
{
	struct mat m = mat_new(POINTS, RATES);
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t i = 0; i < POINTS; i++) {
		for (size_t c = 0; c < RATES - 1; c++)
			mat_set(&m, i, c, -10 + .3 * rng_normal(&rng));
		mat_set(&m, i, 4, -3 + .01 * rng_normal(&rng));
		m.at[i * RATES + 1] += i < 4 ? 6 : 0;
		m.at[i * RATES + 2] += i >= 4 && i < 7 ? 4 : 0;
		m.at[i * RATES + 3] += i >= 4 && i < 7 ? 5 : 0;
	}
	return m;
}

static struct likeness_match match(const struct space *s, const double *rates, size_t first, size_t last)
{
	double similarity[POINTS];
	bool member[POINTS] = { false };

	space_similarities(s, rates, similarity);
	for (size_t i = 0; i < s->n; i++)
		member[i] = s->row[i] >= first && s->row[i] <= last;
	return match_compute(similarity, member, s->n);
}

static void test_groups(void **state)
{
	const double like_first[RATES] = { -10, -3, -10, -10, 7 }, like_second[RATES] = { -10, -10, -6, -5, -3 },
		     beyond[RATES] = { -10, 9, -10, -10, -3 };
	struct mat m = stressors(1);
	struct space s;
	struct likeness_match found;

	(void)state;
	space_build(&m, &s);
	assert_int_equal(s.n, POINTS);
	assert_int_equal(s.p, RATES - 1); /* a counter that is equal for all distinguishes nothing */
	found = match(&s, like_first, 0, 3);
	assert_true(found.similarity > .8 && found.p < .002 && found.n_as_similar == 0);
	found = match(&s, beyond, 0, 3);
	assert_true(found.similarity > .8 && found.p < .002);
	found = match(&s, like_first, 4, 6);
	assert_true(found.similarity < .3 && found.p > .3 && found.n_as_similar >= 4);
	found = match(&s, like_second, 4, 6);
	assert_true(found.similarity > .8 && found.p < .005);
	found = match(&s, like_second, 4, 4); /* one stressor of three that are similar */
	assert_true(found.p > .04 && found.p < .2);
	space_release(&s);
	mat_release(&m);
}

/* Checks that the counters' units and the order of rows and columns do not matter. */
static void test_invariants(void **state)
{
	double rates[RATES] = { -9, -5, -10, -8, -3 }, turned[RATES], one[POINTS], other[POINTS];
	struct mat m = stressors(2), t = mat_new(POINTS, RATES);
	struct space a, b;

	(void)state;
	for (size_t c = 0; c < RATES; c++) {
		turned[RATES - 1 - c] = rates[c] + (double)c;
		for (size_t i = 0; i < POINTS; i++)
			mat_set(&t, POINTS - 1 - i, RATES - 1 - c, mat_get(&m, i, c) + (double)c);
	}
	space_build(&m, &a);
	space_build(&t, &b);
	space_similarities(&a, rates, one);
	space_similarities(&b, turned, other);
	for (size_t i = 0; i < POINTS; i++)
		assert_true(fabs(one[i] - other[POINTS - 1 - i]) < 1e-8 && fabs(one[i]) <= 1);
	space_release(&a);
	space_release(&b);
	mat_release(&m);
	mat_release(&t);
}

static void test_what_is_missing(void **state)
{
	const double nan = (double)NAN, rates[RATES] = { -10, -3, nan, -10, -3 }, nothing[RATES] = { nan, nan, nan, nan, nan };
	struct mat m = stressors(3), empty = mat_new(POINTS, RATES);
	double similarity[POINTS];
	struct space s;

	(void)state;
	for (size_t i = 0; i < POINTS; i++) {
		if (i % 2)
			mat_set(&m, i, 0, nan); /* half of the stressors lack this counter, so it is dropped */
		for (size_t c = 0; c < RATES; c++)
			mat_set(&empty, i, c, nan);
	}
	mat_set(&m, 9, 1, nan); /* one stressor lacks this counter, so the stressor is dropped */
	space_build(&m, &s);
	assert_int_equal(s.p, 3);
	assert_int_equal(s.column[0], 1);
	assert_int_equal(s.n, POINTS - 1);
	assert_int_equal(s.row[9], 10);
	space_similarities(&s, rates, similarity);
	assert_true(similarity[0] > .8);
	space_similarities(&s, nothing, similarity);
	assert_true(similarity[0] == 0);
	space_release(&s);
	space_build(&empty, &s);
	assert_int_equal(s.n, 0);
	assert_int_equal(s.p, 0);
	space_release(&s);
	mat_release(&m);
	mat_release(&empty);
}

/* Checks that rates unrelated to any group match as often as `p` predicts. */
static void test_chance(void **state)
{
	const size_t trials = 400;
	size_t small = 0;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 9);
	for (size_t t = 0; t < trials; t++) {
		double similarity[POINTS];
		bool member[POINTS] = { [3] = true, [8] = true, [15] = true };

		for (size_t i = 0; i < POINTS; i++)
			similarity[i] = 2 * rng_double(&rng) - 1;
		small += match_compute(similarity, member, POINTS).p <= .05;
	}
	assert_in_range(small, 8, 34); /* 20 are expected, with a standard deviation of 4.4 */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int suite_likeness(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_rates),
		TEST(test_why_not),
		TEST(test_added_rates),
		TEST(test_match),
		TEST(test_improved),
		TEST(test_too_few),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_invariants),
		cmocka_unit_test(test_what_is_missing),
		cmocka_unit_test(test_chance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests runs with inputs of different sizes: slowdowns are found all the same, other runs are called anomalous at the requested rate, and
 * inputs that the baseline does not have are not judged. */
#include "gate/detect/detect.h"

#include "base/rng.h"
#include "base/stats.h"
#include "tests/bench/rivals.h"
#include "tests/gate/made_samples.h"
#include "tests/scratch.h"

#include <math.h>

#define TRAIN 39
#define SEEN  10

static const char *const functions[] = { "work", NULL };
static const char *const counters[] = { "perf::PAGE-FAULTS", NULL };

/* Adds a run with a call that takes 1 us per unit of `size`, with random deviations of a twentieth. */
static void add_run(struct side *side, const char *input, const char *arguments, double size, double slower, struct rng *rng)
{
	struct made row = { .ns = 1000 * size * slower * exp(.05 * rng_normal(rng)) };
	struct samples samples = made_samples(RECORD_SOFTWARE, counters, functions, &row, 1);
	char *name = mem_format("%03zu", side->n);

	samples.infos = mem_new(1, sizeof(samples.infos[0]));
	samples.infos[samples.n_infos++] = (struct samples_info){ mem_string("arguments"), mem_string(arguments) };
	side_add_run(side, name, input, "");
	side_add_samples(side, &samples);
	free(name);
}

/* Makes runs whose arguments are threads, a size from `low` to `high`, and a seed. */
static struct side sized(const char *what, size_t n, double low, double high, double slower, struct rng *rng)
{
	struct side side = made_side(what);
	struct assay_error err;

	for (size_t r = 0; r < n; r++) {
		double size = floor(low * pow(high / low, rng_double(rng)));
		char *arguments = mem_format("--threads=%d %.0f %d", 2 + (int)rng_below(rng, 11), size, (int)rng_below(rng, 100000));

		add_run(&side, "", arguments, size, slower, rng);
		free(arguments);
	}
	check(side_check(&side, &err), &err);
	return side;
}

/* Makes runs with named inputs, whose costs have no order. */
static struct side named(const char *what, size_t n, const char *const *inputs, const double *sizes, size_t n_inputs, double slower,
			 struct rng *rng)
{
	struct side side = made_side(what);
	struct assay_error err;

	for (size_t r = 0; r < n; r++)
		add_run(&side, inputs[r % n_inputs], "", sizes[r % n_inputs], slower, rng);
	check(side_check(&side, &err), &err);
	return side;
}

static void judge(struct side *old, const struct side *new, struct detected *out)
{
	struct detect_options options = { .detector = detector_defaults, .observe = observe_defaults };
	struct detect_input *input = mem_new(1, sizeof(*input));
	struct assay_error err;

	*input = (struct detect_input){ .old = old, .new = new };
	options.detector.scorer = &scorer_mahalanobis;
	check(detect(input, &options, out, &err), &err);
}

static void release(struct detected *d)
{
	const struct detect_input *input = d->input;

	detected_release(d);
	free((struct detect_input *)(uintptr_t)input);
}

static const char *reason(const struct detected *d, const char *code)
{
	for (size_t i = 0; i < d->n_reasons; i++)
		if (strcmp(d->reasons[i].code, code) == 0)
			return d->reasons[i].text;
	return NULL;
}

/* Checks sizes that differ by a factor of ten, if the program is 30 % slower. */
static void slower_at_any_size(void **state)
{
	struct detected d;
	struct rng rng;
	struct side old, new;

	(void)state;
	rng_seed(&rng, 1);
	old = sized("old", TRAIN, 1e3, 1e4, 1, &rng);
	new = sized("new", SEEN, 1e3, 1e4, 1.3, &rng);
	judge(&old, &new, &d);
	assert_int_equal(d.decision, DECISION_REGRESSION);
	assert_in_range(d.detection.runs_anomalous, 9, SEEN);
	assert_string_equal(reason(&d, "like_inputs"), "1 function takes compared at equal inputs (by number 2 of 3)");
	assert_true(fabs(log(d.functions[0].found->columns[0].now / d.functions[0].found->columns[0].normal / 1.3)) < .05);
	release(&d);
	side_release(&new);

	new = sized("new", SEEN, 2e3, 4e3, 1, &rng); /* other inputs of similar size */
	judge(&old, &new, &d);
	assert_int_equal(d.decision, DECISION_PASS);
	release(&d);
	side_release(&new);
	side_release(&old);
}

/* Checks 300 blocks of few runs, each with its own fit: at most 75 of 1500 runs may be called anomalous. Runs of one size give about 51,
 * with one sample per run, of which not all matter. */
static void normal_runs_are_called_so(void **state)
{
	size_t blocks = 300, each = 5, anomalous = 0;

	(void)state;
	for (size_t b = 0; b < blocks; b++) {
		struct detected d;
		struct rng rng;
		struct side old, new;

		rng_seed(&rng, b);
		old = sized("old", 19, 1e3, 1e4, 1, &rng);
		new = sized("new", each, 1e3, 1e4, 1, &rng);
		judge(&old, &new, &d);
		anomalous += d.detection.runs_anomalous;
		release(&d);
		side_release(&old);
		side_release(&new);
	}
	assert_in_range(anomalous, 25, 58); /* 43 here; it was 67 when fits measured runs that they had seen */
}

static void runs_of_the_same_input(void **state)
{
	static const char *const inputs[] = { "small", "large", "odd" }, *const others[] = { "large", "other" };
	static const double sizes[] = { 1e3, 8e4, 2e4 }, of_others[] = { 8e4, 3e5 };
	struct detected d;
	struct rng rng;
	struct side old, new;

	(void)state;
	rng_seed(&rng, 1);
	old = named("old", TRAIN, inputs, sizes, 3, 1, &rng);
	new = named("new", SEEN, inputs, sizes, 3, 1.3, &rng);
	judge(&old, &new, &d);
	assert_int_equal(d.decision, DECISION_REGRESSION);
	assert_string_equal(reason(&d, "like_inputs"), "1 function takes compared at equal inputs (by runs of the same input)");
	release(&d);
	side_release(&new);

	new = named("new", SEEN, others, of_others, 2, 1, &rng);
	judge(&old, &new, &d);
	assert_int_equal(d.decision, DECISION_PASS);
	assert_int_equal(d.like.runs_unlike, SEEN / 2);
	assert_string_equal(reason(&d, "inputs_unlike"),
			    "5 runs had inputs unlike those of normal runs: counts that depend on the input were not judged there");
	release(&d);
	side_release(&new);
	side_release(&old);
}

/* Checks many inputs by turns with few runs each: the runs that are held out together must not be all runs of an input. */
static void many_inputs_in_turn(void **state)
{
	enum { INPUTS = 20, EACH = 3 };
	char *inputs[INPUTS];
	double sizes[INPUTS];
	struct detected d;
	struct rng rng;
	struct side old, new;

	(void)state;
	rng_seed(&rng, 1);
	for (size_t i = 0; i < INPUTS; i++) {
		inputs[i] = mem_format("input-%c", 'a' + (int)i);
		sizes[i] = exp(rng_double(&rng) * 6 + 6);
	}
	old = named("old", INPUTS * EACH, (const char *const *)inputs, sizes, INPUTS, 1, &rng);
	new = named("new", INPUTS, (const char *const *)inputs, sizes, INPUTS, 1.4, &rng);
	judge(&old, &new, &d);
	assert_int_equal(d.decision, DECISION_REGRESSION);
	release(&d);
	side_release(&old);
	side_release(&new);
	for (size_t i = 0; i < INPUTS; i++)
		free(inputs[i]);
}

/* Checks arguments that name the build, which both versions do not share: a slowdown by a factor of two is found all the same. */
static void arguments_that_name_the_build(void **state)
{
	struct side sides[2];
	struct detected d;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1);
	for (int i = 0; i < 2; i++) {
		sides[i] = made_side(i ? "new" : "old");
		for (size_t r = 0; r < (i ? SEEN : TRAIN); r++)
			add_run(&sides[i], "", i ? "/new/data" : "/old/data", 1e4, i ? 2 : 1, &rng);
		sides[i].back_end = RECORD_SOFTWARE;
	}
	judge(&sides[0], &sides[1], &d); /* if the program is the same, these are only other inputs */
	assert_int_equal(d.decision, DECISION_INCONCLUSIVE);
	assert_non_null(reason(&d, "other_work"));
	release(&d);
	for (size_t r = 0; r < SEEN; r++) {
		free(sides[1].runs[r].files[0].functions[0].module);
		sides[1].runs[r].files[0].functions[0].module = mem_string("another build");
	}
	judge(&sides[0], &sides[1], &d);
	assert_int_equal(d.decision, DECISION_REGRESSION);
	assert_int_equal(d.like.runs_unlike, 0);
	assert_non_null(reason(&d, "inputs_differ"));
	release(&d);
	side_release(&sides[0]);
	side_release(&sides[1]);
}

/* Checks a side whose emulation counted in another way. */
static void built_by_an_earlier_assay(void **state)
{
	struct detected d;
	struct rng rng;
	struct side old, new;

	(void)state;
	rng_seed(&rng, 1);
	old = sized("old", TRAIN, 1e3, 1e4, 1, &rng);
	new = sized("new", SEEN, 1e3, 1e4, 1.3, &rng);
	for (size_t r = 0; r < SEEN; r++) {
		struct samples *s = &new.runs[r].files[0];

		s->infos = mem_resize(s->infos, s->n_infos + 1, sizeof(s->infos[0]));
		s->infos[s->n_infos++] = (struct samples_info){ mem_string("counting"), mem_string("2") };
	}
	judge(&old, &new, &d);
	assert_int_equal(d.decision, DECISION_INCONCLUSIVE);
	assert_string_equal(
	    reason(&d, "counted_otherwise"),
	    "old was built by an earlier assay, which counted work differently: build it again with 'assay build --for counters'");
	release(&d);
	side_release(&new);
	side_release(&old);
}

/* Checks an input ten times as large as all of the baseline's: no judgment is possible. */
static void unlike_all(void **state)
{
	struct detected d;
	struct rng rng;
	struct side old, new;

	(void)state;
	rng_seed(&rng, 1);
	old = sized("old", TRAIN, 1e3, 1e4, 1, &rng);
	new = sized("new", SEEN, 1e5, 1e5, 1, &rng);
	judge(&old, &new, &d);
	assert_int_equal(d.decision, DECISION_NOTHING_MEASURED);
	assert_int_equal(d.like.runs_unlike, SEEN);
	assert_int_equal(d.n_skipped, 1);
	assert_string_equal(d.skipped[0].code, "unlike_input");
	release(&d);
	side_release(&new);

	new = made_side("new"); /* other arguments: times are not scaled */
	for (size_t r = 0; r < SEEN; r++)
		add_run(&new, "", "5000", 5e3, 1, &rng);
	new.back_end = RECORD_SOFTWARE;
	judge(&old, &new, &d);
	assert_int_equal(d.like.runs_unlike, 0);
	assert_null(reason(&d, "like_inputs"));
	assert_non_null(reason(&d, "inputs_differ"));
	release(&d);
	side_release(&new);
	side_release(&old);
}

int suite_like_inputs(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slower_at_any_size),
		cmocka_unit_test(normal_runs_are_called_so),
		cmocka_unit_test(runs_of_the_same_input),
		cmocka_unit_test(many_inputs_in_turn),
		cmocka_unit_test(arguments_that_name_the_build),
		cmocka_unit_test(built_by_an_earlier_assay),
		cmocka_unit_test(unlike_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

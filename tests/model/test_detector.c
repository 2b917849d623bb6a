/* Checks the detector: it finds and names injected faults, accepts normal runs, and does not depend on the order of its input. */
#include "model/published/published.h"
#include "tests/bench/rivals.h"
#include "tests/model/made_up_runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct detector_options quick(void)
{
	struct detector_options o = detector_defaults;

	o.scorer = &scorer_mahalanobis;
	o.clusters = 1;
	o.threads = 2;
	return o;
}

static struct detector *fit(const struct observations *normal, const struct detector_options *o)
{
	struct detector *d;
	struct assay_error err;

	if (detector_fit(normal, o, &d, &err))
		fail_msg("%s", err.text);
	return d;
}

static struct detection judge(const struct detector *d, const struct observations *seen)
{
	struct detection out;
	struct assay_error err;

	if (detector_judge(d, seen, &out, &err))
		fail_msg("%s", err.text);
	return out;
}

/* ---- injected faults ---- */

static void faults_are_found_and_named(void **state)
{
	static const struct {
		const char *what;
		enum kind kind;
		size_t fault, column;
		double factor, add, part;
		int direction;
	} rows[] = {
		{ "a constant counter jumps, two samples a run", EXACT, 0, 2, 1, 188, 1, 1 },
		{ "a constant counter jumps in some samples", EXACT, 2, 3, 1, 20, .3, 1 },
		{ "in exact data, a tenth more", EXACT, 1, 0, 1.1, 0, 1, 1 },
		{ "less, which is an improvement", EXACT, 1, 0, .8, 0, 1, -1 },
		{ "noise, twice as much", NOISE, 2, 4, 2, 0, 1, 1 },
		{ "noise, half", NOISE, 1, 4, .4, 0, 1, -1 },
		{ "heavy tails, four times", HEAVY, 2, 1, 4, 0, 1, 1 },
		{ "inputs vary, a counter from 0", INPUTS, 1, 3, 1, 30, 1, 1 },
		{ "inputs vary, half more", INPUTS, 2, 0, 1.6, 0, 1, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world w = { .kind = rows[i].kind, .functions = 3, .runs = 20, .fault = SIZE_MAX, .seed = i };
		struct made normal = make(&w), seen;
		struct detector_options o = quick();
		struct detector *d = fit(&normal.o, &o);
		struct detection got;

		w = (struct world){ .kind = rows[i].kind,
				    .functions = 3,
				    .runs = 3,
				    .fault = rows[i].fault,
				    .column = rows[i].column,
				    .factor = rows[i].factor,
				    .add = rows[i].add,
				    .part = rows[i].part,
				    .seed = 100 + i };
		seen = make(&w);
		got = judge(d, &seen.o);
		print_message("%s: %zu of %zu runs\n", rows[i].what, got.runs_anomalous, got.runs);
		assert_int_equal(got.runs_anomalous, 3);
		for (size_t f = 0; f < 3; f++) {
			const struct detection_function *c = &got.functions[f];

			assert_true(c->known);
			assert_int_equal(c->anomalous, f == rows[i].fault);
			assert_true(f != rows[i].fault || (c->runs == 3 && c->runs_anomalous == 3 && c->score > c->threshold));
			if (f != rows[i].fault)
				continue;
			assert_int_equal(c->columns[0].column, rows[i].column);
			assert_int_equal(c->columns[0].direction, rows[i].direction);
			assert_true(c->columns[0].votes > .5 && c->excess > 0);
			assert_int_equal(c->columns[0].now > c->columns[0].normal, rows[i].direction > 0);
		}
		detection_release(&got);
		detector_free(d);
		made_release(&normal);
		made_release(&seen);
	}
}

/* Checks that an irrelevant difference is reported as small, however certain it is. A jump of a constant column is reported only with
 * the option check_constant_columns. */
static void what_is_immaterial_is_small(void **state)
{
	struct world w = { .kind = EXACT, .functions = 3, .runs = 20, .fault = SIZE_MAX, .seed = 1 };
	struct made normal = make(&w), seen, jump;
	struct detector_options o = quick();
	struct detector *d = fit(&normal.o, &o);
	struct detection got;

	(void)state;
	w = (struct world){ .kind = EXACT, .functions = 3, .runs = 4, .fault = 1, .column = 0, .factor = 1.03, .part = 1, .seed = 2 };
	seen = make(&w);
	got = judge(d, &seen.o);
	print_message("a counter 3 %% more: %zu of 4 runs, %zu small\n", got.runs_anomalous, got.n_runs_negligible);
	assert_int_equal(got.functions[1].runs_anomalous, got.functions[1].n_runs_negligible);
	assert_int_equal(got.functions[1].is_negligible, got.functions[1].anomalous);
	for (size_t r = 0; r < 4; r++)
		assert_true(got.run_anomalous[r] || !got.run_negligible[r]);
	detection_release(&got);
	detector_free(d);

	w = (struct world){
		.kind = EXACT, .functions = 3, .runs = 4, .fault = 1, .column = 2, .factor = 1, .add = 50, .part = 1, .seed = 2
	};
	jump = make(&w);
	for (int watch = 0; watch < 2; watch++) {
		o.check_constant_columns = watch;
		d = fit(&normal.o, &o);
		assert_int_equal(detector_info(d)->dropped[2], DETECTOR_CONSTANT);
		assert_int_equal(detector_info(d)->dropped[4], DETECTOR_USED);
		got = judge(d, &jump.o);
		assert_int_equal(got.functions[1].runs_anomalous, watch ? 4 : 0);
		detection_release(&got);
		detector_free(d);
	}
	made_release(&normal);
	made_release(&seen);
	made_release(&jump);
}

/* Checks that a jump is found in constant data, from which no scorer can learn. */
static void constant_data_are_watched(void **state)
{
	double values[12 * 2] = { 0 };
	size_t function[12] = { 0 }, run[12];
	double weight[12];
	struct observations o = { .values = { 12, 2, values },
				  .function = function,
				  .run = run,
				  .weight = weight,
				  .functions = 1,
				  .runs = 12,
				  .functions_names = functions,
				  .columns = columns,
				  .min_relevant_delta = min_relevant_delta };
	struct detector_options options = quick();
	struct detection got;
	struct detector *d;

	(void)state;
	options.rate = .1;
	for (size_t i = 0; i < 12; i++) {
		run[i] = i;
		weight[i] = 1;
		values[2 * i] = 7;
	}
	d = fit(&o, &options);
	assert_true(detector_info(d)->is_sufficient);
	got = judge(d, &o);
	assert_int_equal(got.runs_anomalous, 0);
	detection_release(&got);
	values[2 * 5 + 1] = 40;
	got = judge(d, &o);
	assert_int_equal(got.runs_anomalous, 1);
	assert_true(got.run_anomalous[5]);
	assert_int_equal(got.functions[0].columns[0].column, 1);
	detection_release(&got);
	detector_free(d);
}

/* ---- rates ---- */

/* Checks the rate of false positives on normal runs, with a new detector per block; docs/evidence/statistics.md has a longer test. */
static void normal_runs_keep_the_rate(void **state)
{
	static const struct {
		enum kind kind;
		size_t runs;
		double rate, missing;
	} rows[] = {
		{ NOISE, 9, .1, 0 },
		{ HEAVY, 9, .1, .1 },
		{ EXACT, 9, .1, 0 },
		{ INPUTS, 19, .1, .2 },
	};
	size_t blocks = 60;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		size_t hits = 0;
		double rate, sd = sqrt(rows[i].rate * (1 - rows[i].rate) / (double)blocks);

		for (size_t b = 0; b < blocks; b++) {
			struct world w = { .kind = rows[i].kind,
					   .functions = 3,
					   .runs = rows[i].runs,
					   .fault = SIZE_MAX,
					   .missing = rows[i].missing,
					   .seed = 2 * b + 1000 };
			struct made normal = make(&w), seen;
			struct detector_options o = quick();
			struct detection got;
			struct detector *d;

			o.rate = rows[i].rate;
			w.runs = 1;
			w.seed++;
			seen = make(&w);
			d = fit(&normal.o, &o);
			got = judge(d, &seen.o);
			hits += got.runs_anomalous;
			detection_release(&got);
			detector_free(d);
			made_release(&normal);
			made_release(&seen);
		}
		rate = (double)hits / (double)blocks;
		print_message("%zu runs, kind %d: asked %g, measured %.3f\n", rows[i].runs, (int)rows[i].kind, rows[i].rate, rate);
		assert_true(rate <= rows[i].rate + 3.5 * sd);
	}
}

/* ---- bit-identical results ---- */

static void shuffle_observations(const struct made *from, struct made *to, const char **names, uint64_t seed)
{
	size_t n = from->o.values.rows, *order = mem_new(n, sizeof(*order));
	struct rng rng;

	rng_seed(&rng, seed);
	*to = (struct made){ .o = from->o,
			     .capacity = n,
			     .function = mem_new(n, sizeof(size_t)),
			     .run = mem_new(n, sizeof(size_t)),
			     .weight = mem_new(n, sizeof(double)) };
	to->o.values = mat_new(n, COLUMNS);
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	rng_shuffle(&rng, order, n);
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < COLUMNS; j++)
			mat_set(&to->o.values, i, COLUMNS - 1 - j, mat_get(&from->o.values, order[i], j));
		to->function[i] = from->o.functions - 1 - from->function[order[i]];
		to->run[i] = from->run[order[i]];
		to->weight[i] = from->weight[order[i]];
	}
	for (size_t j = 0; j < COLUMNS; j++)
		names[j] = columns[COLUMNS - 1 - j];
	for (size_t f = 0; f < from->o.functions; f++)
		names[COLUMNS + f] = functions[from->o.functions - 1 - f];
	to->o.columns = names;
	to->o.functions_names = names + COLUMNS;
	to->o.function = to->function;
	to->o.run = to->run;
	to->o.weight = to->weight;
	free(order);
}

/* Checks that both detectors have learned bit-identical data. */
static void assert_same_detector(const struct detector *a, const struct detector *b)
{
	size_t n = a->about.functions, p = a->about.columns;

	assert_int_equal(n, b->about.functions);
	assert_int_equal(p, b->about.columns);
	assert_int_equal(a->about.clusters, b->about.clusters);
	assert_string_equal(a->about.topology, b->about.topology);
	assert_memory_equal(&a->about.rate_measured, &b->about.rate_measured, sizeof(double));
	assert_memory_equal(a->about.cluster, b->about.cluster, n * sizeof(*a->about.cluster));
	assert_memory_equal(a->known, b->known, n * sizeof(*a->known));
	assert_memory_equal(a->threshold, b->threshold, n * sizeof(*a->threshold));
	assert_memory_equal(a->means, b->means, n * (p + 1) * sizeof(*a->means));
	for (size_t f = 0; f < n; f++)
		assert_string_equal(a->names.functions[f], b->names.functions[f]);
	assert_int_equal(a->models.n, b->models.n);
	for (size_t m = 0; m < a->models.n; m++) {
		assert_memory_equal(a->models.items[m].scale.center, b->models.items[m].scale.center, n * p * sizeof(double));
		assert_memory_equal(a->models.items[m].scale.unit, b->models.items[m].scale.unit, n * p * sizeof(double));
	}
}

/* Checks that both detections are bit-identical, except for the order of functions and columns. */
static void assert_same_detection(const struct detection *a, const struct detection *b, bool turned)
{
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->runs, b->runs);
	assert_memory_equal(a->run_p, b->run_p, a->runs * sizeof(double));
	assert_memory_equal(a->run_anomalous, b->run_anomalous, a->runs * sizeof(bool));
	for (size_t f = 0; f < a->n; f++) {
		const struct detection_function *x = &a->functions[f], *y = &b->functions[turned ? a->n - 1 - f : f];

		assert_int_equal(x->anomalous, y->anomalous);
		assert_int_equal(x->n_columns, y->n_columns);
		assert_int_equal(x->samples_anomalous, y->samples_anomalous);
		assert_memory_equal(&x->score, &y->score, sizeof(double));
		assert_memory_equal(&x->error, &y->error, sizeof(double));
		assert_memory_equal(&x->excess, &y->excess, sizeof(double));
		for (size_t c = 0; c < x->n_columns; c++) {
			assert_int_equal(x->columns[c].column, turned ? COLUMNS - 1 - y->columns[c].column : y->columns[c].column);
			assert_memory_equal(&x->columns[c].part, &y->columns[c].part, sizeof(double));
			assert_memory_equal(&x->columns[c].now, &y->columns[c].now, sizeof(double));
		}
	}
}

static void order_and_threads_change_nothing(void **state)
{
	struct world w = { .kind = NOISE, .functions = 5, .runs = 20, .fault = SIZE_MAX, .seed = 9, .missing = .1 };
	struct world bad = { .kind = NOISE, .functions = 5, .runs = 4, .fault = 2, .column = 1, .factor = 3, .part = .5, .seed = 10 };
	struct made normal = make(&w), seen = make(&bad), normal2, seen2;
	const char *names[COLUMNS + FUNCTIONS_MAX], *names2[COLUMNS + FUNCTIONS_MAX];
	struct detector_options o = quick();
	struct detector *d, *d2;
	struct detection got, got2;

	(void)state;
	o.clusters = 0;
	o.threads = 1;
	shuffle_observations(&normal, &normal2, names, 4);
	shuffle_observations(&seen, &seen2, names2, 5);
	d = fit(&normal.o, &o);
	o.threads = 3;
	d2 = fit(&normal2.o, &o);
	assert_same_detector(d, d2);
	got = judge(d, &seen.o);
	got2 = judge(d2, &seen2.o);
	assert_true(got.functions[2].anomalous);
	assert_same_detection(&got, &got2, true);
	detection_release(&got);
	detection_release(&got2);
	detector_free(d);
	detector_free(d2);
	made_release(&normal);
	made_release(&normal2);
	made_release(&seen);
	made_release(&seen2);
}

/* ---- the paper's detector ---- */

static void published_thresholds(void **state)
{
	struct world w = { .kind = NOISE, .functions = 2, .runs = 10, .fault = SIZE_MAX, .seed = 31 };
	struct world bad = { .kind = NOISE, .functions = 2, .runs = 5, .fault = 1, .column = 0, .factor = 10, .part = .2, .seed = 32 };
	struct made normal = make(&w), seen = make(&bad);
	size_t flagged[2] = { 0 };

	(void)state;
	for (int t = 0; t <= 3; t++) {
		struct detector_options o = detector_paper;
		struct detection got, own;
		struct detector *d;

		o.scorer = &scorer_mahalanobis;
		o.t = t;
		d = fit(&normal.o, &o);
		got = judge(d, &seen.o);
		own = judge(d, &normal.o);
		assert_true(t == 0 || flagged[0] >= own.runs_anomalous); /* a higher threshold does not flag more runs */
		flagged[0] = own.runs_anomalous;
		assert_true(isnan(got.run_p[0]));
		assert_int_equal(got.runs_anomalous, 5);
		assert_true(fabs(detector_info(d)->rate_measured - (double)own.runs_anomalous / 10) < 1e-12);
		detection_release(&got);
		detection_release(&own);
		detector_free(d);
	}
	for (int share = 0; share < 2; share++) { /* training runs are normal by their share of anomalous samples */
		struct detector_options o = detector_paper;
		struct detection own;
		struct detector *d;

		o.scorer = &scorer_mahalanobis;
		o.t = 1;
		o.single_sample = !share;
		d = fit(&normal.o, &o);
		own = judge(d, &normal.o);
		assert_int_equal(own.runs_anomalous == 0, share);
		detection_release(&own);
		detector_free(d);
	}
	made_release(&normal);
	made_release(&seen);
}

/* ---- clusters ---- */

static void functions_that_look_alike_share_a_scorer(void **state)
{
	struct world w = { .kind = NOISE, .functions = 6, .runs = 20, .fault = SIZE_MAX, .seed = 41 };
	struct made normal = make(&w);
	struct detector_options o = quick();
	const struct detector_info *about;
	struct detector *d;

	(void)state;
	for (size_t i = 0; i < normal.o.values.rows; i++) { /* odd functions have counters of another magnitude */
		for (size_t j = 0; normal.function[i] % 2 && j < COLUMNS; j++)
			normal.o.values.at[i * COLUMNS + j] *= 1000;
	}
	o.clusters = 2;
	d = fit(&normal.o, &o);
	about = detector_info(d);
	assert_int_equal(about->clusters, 2);
	for (size_t f = 0; f < 6; f++)
		assert_int_equal(about->cluster[f] == about->cluster[0], f % 2 == 0);
	detector_free(d);
	o.clusters = DETECTOR_ONE_PER_FUNCTION;
	d = fit(&normal.o, &o);
	assert_int_equal(detector_info(d)->clusters, 6);
	detector_free(d);
	for (int paper = 0; paper < 2; paper++) {
		o.clusters = 0;
		o.choose_clusters = paper ? detector_paper.choose_clusters : NULL;
		d = fit(&normal.o, &o);
		assert_true(detector_info(d)->clusters >= 1 && detector_info(d)->clusters <= 6);
		detector_free(d);
	}
	made_release(&normal);
}

/* ---- bad input ---- */

static void assert_refused(const struct observations *o, const struct detector_options *options, enum assay_status status, const char *text)
{
	struct assay_error err = { .text = "" };
	struct detector *d;

	assert_int_equal(detector_fit(o, options, &d, &err), status);
	assert_null(d);
	if (!strstr(err.text, text))
		fail_msg("'%s' does not say '%s'", err.text, text);
}

static void bad_training_data_are_refused(void **state)
{
	struct world w = { .kind = NOISE, .functions = 3, .runs = 19, .fault = SIZE_MAX, .seed = 51 };
	struct made m = make(&w);
	struct observations o = m.o;
	struct detector_options options = quick();
	const char *twice[COLUMNS] = { "accesses", "branches", "hitm_false", "branches", "misses", "remote" };
	struct detector *d;

	(void)state;
	options.rate = .04;
	assert_refused(&o, &options, ASSAY_E_USAGE, "it needs 24, 5 more; the smallest possible rate is 0.05");
	options.rate = .05;
	o.columns = twice;
	assert_refused(&o, &options, ASSAY_E_USAGE, "the column 'branches' occurs twice");
	o = m.o;
	o.functions_names = (const char *const[]){ "a", "b", "a" };
	assert_refused(&o, &options, ASSAY_E_USAGE, "the function 'a' occurs twice");
	o = m.o;
	for (size_t i = 0; i < o.values.rows; i++) { /* one run has all counters; then no sample has any; then there are no samples */
		if (m.run[i] != 3)
			mat_set(&o.values, i, 1, (double)NAN);
	}
	assert_refused(&o, &options, ASSAY_E_NODATA,
		       "1 normal run with usable samples (others lack counters): at least 3 are needed, 2 more");
	for (size_t i = 0; i < o.values.rows * COLUMNS; i++)
		o.values.at[i] = (double)NAN;
	assert_refused(&o, &options, ASSAY_E_NODATA, "nothing was counted in any of 798 samples");
	o.values.rows = 0;
	assert_refused(&o, &options, ASSAY_E_NODATA, "nothing was counted in any of 0 samples");
	made_release(&m);

	/* Sets NaN in some samples, infinities, a column that is NaN in all samples, and a function without a complete sample. */
	m = make(&w);
	for (size_t i = 0; i < m.o.values.rows; i++) {
		mat_set(&m.o.values, i, 5, (double)NAN);
		if (i % 50 == 0)
			mat_set(&m.o.values, i, 1, i % 100 ? (double)NAN : (double)INFINITY);
		if (m.function[i] == 0)
			mat_set(&m.o.values, i, 0, (double)NAN);
	}
	d = fit(&m.o, &options);
	assert_true(detector_info(d)->n_excluded > 19 * 2 && detector_info(d)->n_excluded <= 19 * 2 + 798 / 50 + 1);
	assert_int_equal(detector_info(d)->n_excluded + detector_info(d)->samples, 798);
	assert_int_equal(detector_info(d)->dropped[5], DETECTOR_NOT_COUNTED);
	detector_free(d);
	made_release(&m);
}

static void bad_samples_are_refused_or_left_out(void **state)
{
	struct world w = { .kind = NOISE, .functions = 3, .runs = 19, .fault = SIZE_MAX, .seed = 61 };
	struct made normal = make(&w), seen;
	struct detector_options options = quick();
	struct detector *d = fit(&normal.o, &options);
	const char *other[COLUMNS] = { "accesses", "branches", "cycles", "hitm_true", "misses", "remote" };
	struct observations o;
	struct detection got;
	struct assay_error err;

	(void)state;
	w.functions = 4;
	w.runs = 3;
	seen = make(&w);
	o = seen.o;
	o.columns = other;
	assert_int_equal(detector_judge(d, &o, &got, &err), ASSAY_E_USAGE);
	assert_non_null(strstr(err.text, "do not have the column 'cycles'"));
	o.columns = columns;
	o.values.cols = 5; /* the last column is missing; the row length no longer matters */
	assert_int_equal(detector_judge(d, &o, &got, &err), ASSAY_E_USAGE);
	assert_non_null(strstr(err.text, "'remote'"));
	o = seen.o;
	got = judge(d, &o); /* has a function that the normal runs do not have */
	assert_true(got.functions[0].known && !got.functions[3].known && !got.functions[3].anomalous);
	detection_release(&got);
	for (size_t i = 0; i < o.values.rows; i++) {
		if (i == 0)
			mat_set(&o.values, i, 2, (double)NAN);
		if (seen.run[i] == 2)
			mat_set(&o.values, i, 0, (double)INFINITY);
	}
	got = judge(d, &o);
	assert_true(isnan(got.errors[0]) && isnan(got.run_p[2]) && !got.run_anomalous[2]);
	assert_int_equal(got.functions[1].runs, 2);
	assert_true(got.n_excluded > 40);
	detection_release(&got);
	for (size_t i = 0; i < o.values.rows; i++)
		mat_set(&o.values, i, 1, (double)NAN);
	assert_int_equal(detector_judge(d, &o, &got, &err), ASSAY_E_USAGE);
	assert_non_null(strstr(err.text, "'branches' was counted in the normal runs"));
	detector_free(d);
	made_release(&normal);
	made_release(&seen);
}

int suite_detector(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_are_found_and_named),
		cmocka_unit_test(what_is_immaterial_is_small),
		cmocka_unit_test(constant_data_are_watched),
		cmocka_unit_test(normal_runs_keep_the_rate),
		cmocka_unit_test(order_and_threads_change_nothing),
		cmocka_unit_test(published_thresholds),
		cmocka_unit_test(functions_that_look_alike_share_a_scorer),
		cmocka_unit_test(bad_training_data_are_refused),
		cmocka_unit_test(bad_samples_are_refused_or_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

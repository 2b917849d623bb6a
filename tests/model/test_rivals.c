/* Checks methods without a scorer against scipy 1.10.1 and scikit-learn 1.2.1, and properties for any data. */
#include "base/mem.h"
#include "base/rng.h"
#include "tests/bench/mannwhitney.c" /* for access to the rank tests */
#include "tests/bench/tree.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static void assert_near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-10 * (1.0 + fabs(b))))
		fail_msg("%.17g is not %.17g", a, b);
}

/* ---- ranks ---- */

/* Checks against the two-sided scipy.stats.mannwhitneyu: exact, and asymptotic with ties or many values. */
static void test_ranktest(void **state)
{
	static const struct {
		double x[8], y[8];
		size_t n, m;
		double p;
	} rows[] = {
		{ { 1.1, 2.2, 3.3, 4.4 }, { 5.5, 6.6, 7.7, 8.8 }, 4, 4, 0.02857142857142857 },
		{ { 19, 22, 16, 29, 24 }, { 20, 11, 17, 12 }, 5, 4, 0.1111111111111111 },
		{ { 1, 3, 5, 7, 9, 11.5 }, { 2, 4, 6, 8, 10, 12, 14, 16 }, 6, 8, 0.2823842823842824 },
		{ { 1, 2, 2, 3, 4 }, { 2, 4, 5, 5, 6, 7 }, 5, 6, 0.041722710069543374 },
		{ { 3, 3, 3 }, { 3, 3 }, 3, 2, 1.0 },
		{ { 1 }, { 2 }, 1, 1, 1.0 },
	};
	double x[25], y[25];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_near(ranktest_p(rows[i].x, rows[i].n, rows[i].y, rows[i].m), rows[i].p);
		assert_near(ranktest_p(rows[i].y, rows[i].m, rows[i].x, rows[i].n), rows[i].p);
	}
	for (size_t i = 0; i < 25; i++) {
		x[i] = (double)i;
		y[i] = 1.17 + 1.3 * (double)i;
	}
	assert_near(ranktest_p(x, 19, y, 19), 0.10253287061334651);
	for (size_t i = 0; i < 22; i++)
		y[i] = 3.17 + 1.3 * (double)i;
	assert_near(ranktest_p(x, 25, y, 22), 0.05918368713748144);
	assert_near(ranktest_least(4, 4), 2.0 / 70.0);
	assert_near(ranktest_least(10, 10), 2.0 / 184756.0);
	assert_near(ranktest_least(19, 19), 2.0 / 35345263800.0);
	assert_true(ranktest_least(20, 20) > 0.0 && ranktest_least(20, 20) < 1e-6);
}

/* Checks the first table of Benjamini and Hochberg 1995: of 15 p-values, the first four are discoveries at 0.05. */
static void test_discoveries(void **state)
{
	static const double p[] = { .0298, .0001, .0278, .0004, .0344, .0095, .0201, .0019, .0459, .3240, .4262, .5719, .6528, .7590, 1.0 };
	static const double none[] = { .2, .9, .04 };

	(void)state;
	assert_near(ranktest_discoveries(p, COUNT(p), .05), .0095);
	assert_near(ranktest_discoveries(p, COUNT(p), .005), .0004);
	assert_near(ranktest_discoveries(none, COUNT(none), .05), 0.0);
	assert_near(ranktest_discoveries(none, COUNT(none), .12), .04);
	assert_near(ranktest_discoveries(none, COUNT(none), .95), .9);
}

/* Samples of functions in runs, in the form that the judge gets. */
struct made {
	struct observations o;
	size_t *function, *run;
	double *weight;
};

enum { COLUMNS = 3, SAMPLES = 5 };
static const char *const columns[] = { "cycles", "hitm", "misses" };
static const char *const functions[] = { "f", "g", "h" };
static const double min_relevant_delta[] = { 1000.0, 1.0, 10.0 };

static struct made make(size_t n_functions, size_t runs, uint64_t seed)
{
	static const double level[] = { 1e6, 0.0, 500.0 };
	size_t n = n_functions * runs * SAMPLES;
	struct made m = { .function = mem_new(n, sizeof(size_t)), .run = mem_new(n, sizeof(size_t)), .weight = mem_new(n, sizeof(double)) };
	struct rng rng;

	rng_seed(&rng, seed);
	m.o = (struct observations){ .values = mat_new(n, COLUMNS),
				     .function = m.function,
				     .run = m.run,
				     .weight = m.weight,
				     .functions = n_functions,
				     .runs = runs,
				     .functions_names = functions,
				     .columns = columns,
				     .min_relevant_delta = min_relevant_delta };
	for (size_t i = 0; i < n; i++) {
		m.function[i] = i / SAMPLES % n_functions;
		m.run[i] = i / SAMPLES / n_functions;
		m.weight[i] = 1.0 + (double)(i % 3);
		for (size_t j = 0; j < COLUMNS; j++)
			mat_set(&m.o.values, i, j, level[j] * (1.0 + .02 * rng_normal(&rng)) + fabs(.01 * rng_normal(&rng)));
	}
	return m;
}

static void made_release(struct made *m)
{
	mat_release(&m->o.values);
	free(m->function);
	free(m->run);
	free(m->weight);
}

static void scale_column(struct made *m, size_t function, size_t column, double by, double plus)
{
	for (size_t i = 0; i < m->o.values.rows; i++)
		if (m->function[i] == function)
			mat_set(&m->o.values, i, column, by * mat_get(&m->o.values, i, column) + plus);
}

static void test_judge(void **state)
{
	struct made normal = make(3, 10, 1), seen = make(3, 8, 2);
	struct detection d;
	struct assay_error err;

	(void)state;
	scale_column(&seen, 1, 1, 1.0, 40.0); /* g: 40 times the smallest relevant difference */
	scale_column(&seen, 1, 2, .8, 0.0);
	assert_int_equal(mannwhitney_judge(&normal.o, &seen.o, .05, &d, &err), ASSAY_OK);
	assert_int_equal(d.n, 3);
	assert_int_equal(d.runs, 8);
	assert_int_equal(d.runs_anomalous, 8);
	assert_int_equal(d.n_excluded, 0);
	for (size_t f = 0; f < 3; f++) {
		const struct detection_function *g = &d.functions[f];

		assert_int_equal(g->function, f);
		assert_true(g->known && g->anomalous == (f == 1));
		assert_int_equal(g->runs, 8);
		assert_int_equal(g->samples, 40);
		assert_int_equal(g->runs_anomalous, f == 1 ? 8 : 0);
		assert_int_equal(g->samples_anomalous, f == 1 ? 40 : 0);
		assert_true((g->score >= g->threshold) == g->anomalous);
		assert_true((g->excess > 0.0) == g->anomalous);
		assert_true((g->error > g->error_threshold) == g->anomalous);
		assert_int_equal(g->n_columns, f == 1 ? 2 : 0);
	}
	assert_near(d.functions[1].score, -log10(2.0 / 43758.0)); /* 43758 is the number of ways to choose 8 runs of 18 */
	assert_int_equal(d.functions[1].columns[0].column, 1);
	assert_int_equal(d.functions[1].columns[0].direction, 1);
	assert_true(d.functions[1].columns[0].votes > .99 && d.functions[1].columns[0].part > .9);
	assert_true(d.functions[1].columns[0].normal < .1 && fabs(d.functions[1].columns[0].now - 40.0) < .1);
	assert_int_equal(d.functions[1].columns[1].column, 2);
	assert_int_equal(d.functions[1].columns[1].direction, -1);
	assert_true(fabs(d.functions[1].columns[1].normal - 500.0) < 15.0 && fabs(d.functions[1].columns[1].now - 400.0) < 15.0);
	for (size_t i = 0; i < seen.o.values.rows; i++)
		assert_true((d.errors[i] > 0.0) == (seen.function[i] == 1));
	for (size_t r = 0; r < 8; r++)
		assert_true(d.run_anomalous[r] && isnan(d.run_p[r]));
	detection_release(&d);
	made_release(&normal);
	made_release(&seen);
}

/* Checks that a decrease is anomalous, too, and reported as a decrease. */
static void test_judge_less(void **state)
{
	struct made normal = make(1, 10, 7), seen = make(1, 10, 8);
	struct detection d;
	struct assay_error err;

	(void)state;
	scale_column(&seen, 0, 2, .7, 0.0);
	assert_int_equal(mannwhitney_judge(&normal.o, &seen.o, .05, &d, &err), ASSAY_OK);
	assert_int_equal(d.functions[0].runs_anomalous, 10);
	assert_int_equal(d.functions[0].columns[0].column, 2);
	assert_int_equal(d.functions[0].columns[0].direction, -1);
	detection_release(&d);
	made_release(&normal);
	made_release(&seen);
}

static void assert_same(const struct detection *a, const struct detection *b)
{
	for (size_t f = 0; f < 2; f++) {
		assert_memory_equal(&a->functions[f].score, &b->functions[1 - f].score, sizeof(double));
		assert_memory_equal(&a->functions[f].excess, &b->functions[1 - f].excess, sizeof(double));
		assert_int_equal(a->functions[f].n_columns, b->functions[1 - f].n_columns);
		for (size_t k = 0; k < a->functions[f].n_columns; k++) {
			assert_int_equal(a->functions[f].columns[k].column, COLUMNS - 1 - b->functions[1 - f].columns[k].column);
			assert_memory_equal(&a->functions[f].columns[k].part, &b->functions[1 - f].columns[k].part, sizeof(double));
		}
	}
}

/* Checks that the order of rows, columns and functions does not matter. */
static void test_judge_order(void **state)
{
	static const char *const turned[] = { "misses", "hitm", "cycles" }, *const swapped[] = { "g", "f" };
	struct made normal = make(2, 9, 3), seen = make(2, 9, 4), other = make(2, 9, 4);
	size_t n = seen.o.values.rows;
	struct detection a, b;
	struct assay_error err;

	(void)state;
	scale_column(&seen, 0, 0, 1.5, 0.0);
	for (size_t i = 0; i < n; i++) {
		other.function[i] = 1 - seen.function[n - 1 - i];
		other.run[i] = seen.run[n - 1 - i];
		other.weight[i] = seen.weight[n - 1 - i];
		for (size_t j = 0; j < COLUMNS; j++)
			mat_set(&other.o.values, i, j, mat_get(&seen.o.values, n - 1 - i, COLUMNS - 1 - j));
	}
	other.o.columns = turned;
	other.o.functions_names = swapped;
	assert_int_equal(mannwhitney_judge(&normal.o, &seen.o, .05, &a, &err), ASSAY_OK);
	assert_int_equal(mannwhitney_judge(&normal.o, &other.o, .05, &b, &err), ASSAY_OK);
	assert_true(a.functions[0].anomalous && !a.functions[1].anomalous);
	assert_same(&a, &b);
	detection_release(&a);
	detection_release(&b);
	made_release(&normal);
	made_release(&seen);
	made_release(&other);
}

/* Checks unknown functions, columns that were not counted, and incomplete samples. */
static void test_judge_gaps(void **state)
{
	struct made normal = make(2, 9, 5), seen = make(3, 9, 6);
	struct detection d;
	struct assay_error err;

	(void)state;
	scale_column(&seen, 2, 0, 9.0, 0.0); /* h is not in the normal runs */
	scale_column(&seen, 0, 1, 1.0, 100.0);
	for (size_t i = 0; i < normal.o.values.rows; i++)
		mat_set(&normal.o.values, i, 1, (double)NAN); /* not counted in the normal runs, therefore ignored */
	mat_set(&seen.o.values, 0, 0, (double)NAN);
	assert_int_equal(mannwhitney_judge(&normal.o, &seen.o, .05, &d, &err), ASSAY_OK);
	assert_int_equal(d.n_excluded, 1);
	assert_true(isnan(d.errors[0]));
	assert_int_equal(d.functions[0].samples, 9 * SAMPLES - 1);
	assert_false(d.functions[2].known);
	assert_int_equal(d.functions[2].runs, 0);
	for (size_t f = 0; f < 3; f++)
		assert_false(d.functions[f].anomalous);
	detection_release(&d);
	made_release(&normal);
	made_release(&seen);
}

static void test_judge_refuses(void **state)
{
	static const char *const more[] = { "cycles", "hitm", "tlb" };
	struct made normal = make(3, 3, 1), seen = make(3, 5, 2), five = make(3, 5, 3), six = make(3, 6, 4), six_too = make(3, 6, 5);
	struct detection d;
	struct assay_error err;

	(void)state;
	assert_int_equal(mannwhitney_judge(&normal.o, &seen.o, .05, &d, &err), ASSAY_E_NODATA);
	assert_non_null(strstr(err.text, "at least 4 normal runs, there are 3"));
	assert_int_equal(mannwhitney_judge(&five.o, &seen.o, .01, &d, &err), ASSAY_E_NODATA); /* because 2 / 252 > 0.01 / 3 */
	assert_non_null(strstr(err.text, "about 6 runs of each would do"));
	assert_int_equal(mannwhitney_judge(&six.o, &six_too.o, .01, &d, &err), ASSAY_OK); /* because 2 / 924 is small enough */
	detection_release(&d);
	seen.o.columns = more;
	assert_int_equal(mannwhitney_judge(&five.o, &seen.o, .05, &d, &err), ASSAY_E_USAGE);
	assert_non_null(strstr(err.text, "do not have the column 'tlb'"));
	seen.o.columns = columns;
	seen.o.values.cols = 2;
	assert_int_equal(mannwhitney_judge(&five.o, &seen.o, .05, &d, &err), ASSAY_E_USAGE);
	assert_non_null(strstr(err.text, "have the column 'misses'"));
	made_release(&normal);
	made_release(&seen);
	made_release(&five);
	made_release(&six);
	made_release(&six_too);
}

/* Checks that without any difference, at most the share `rate` of comparisons has a discovery, even with dependent columns. */
static void test_judge_level(void **state)
{
	size_t found = 0, rounds = 400;
	struct assay_error err;

	(void)state;
	for (size_t i = 0; i < rounds; i++) {
		struct made normal = make(3, 8, 1000 + i), seen = make(3, 8, 5000 + i);
		struct detection d;
		size_t any = 0;

		assert_int_equal(mannwhitney_judge(&normal.o, &seen.o, .1, &d, &err), ASSAY_OK);
		for (size_t f = 0; f < 3; f++)
			any += d.functions[f].anomalous;
		found += any > 0;
		detection_release(&d);
		made_release(&normal);
		made_release(&seen);
	}
	print_message("false discoveries in %zu of %zu comparisons at .1\n", found, rounds);
	assert_true(found > 4);
	assert_true(found <= 58); /* three standard errors above the expected number */
}

/* ---- tree ---- */

static const short tree_rows[][4] = {
	{ 869, 691, 167, 2 }, { 820, 888, 424, 2 }, { 795, 951, 555, 2 }, { 17, 185, 352, 2 },	{ 164, 64, 533, 0 },  { 14, 889, 248, 1 },
	{ 585, 657, 180, 2 }, { 836, 472, 680, 1 }, { 113, 662, 403, 1 }, { 252, 894, 257, 1 }, { 364, 89, 431, 0 },  { 245, 629, 255, 0 },
	{ 291, 615, 578, 1 }, { 153, 915, 264, 1 }, { 933, 630, 653, 2 }, { 714, 981, 164, 2 }, { 44, 393, 748, 0 },  { 748, 260, 647, 1 },
	{ 944, 312, 599, 1 }, { 270, 992, 235, 1 }, { 121, 62, 491, 0 },  { 76, 400, 386, 0 },	{ 2, 817, 220, 1 },   { 840, 813, 256, 2 },
	{ 263, 198, 952, 0 }, { 443, 156, 432, 0 }, { 187, 687, 656, 0 }, { 289, 365, 866, 1 }, { 339, 611, 242, 1 }, { 105, 267, 756, 0 },
	{ 381, 419, 427, 1 }, { 283, 736, 911, 0 }, { 155, 506, 328, 1 }, { 438, 229, 320, 0 }, { 174, 769, 83, 1 },  { 441, 108, 933, 0 },
	{ 393, 330, 497, 0 }, { 863, 539, 212, 2 }, { 434, 608, 325, 1 }, { 293, 724, 941, 0 },
};

static const short tree_asked[][3] = {
	{ 383, 95, 70 },   { 542, 901, 252 }, { 988, 293, 495 }, { 746, 636, 651 }, { 374, 28, 9 },    { 137, 617, 376 }, { 557, 46, 639 },
	{ 199, 746, 246 }, { 104, 620, 122 }, { 854, 215, 937 }, { 327, 591, 439 }, { 662, 664, 79 },  { 325, 921, 234 }, { 467, 917, 835 },
	{ 487, 723, 886 }, { 700, 261, 478 }, { 110, 536, 360 }, { 88, 550, 67 },   { 619, 703, 994 }, { 746, 9, 969 },	  { 762, 827, 70 },
	{ 903, 903, 570 }, { 672, 721, 787 }, { 323, 621, 749 }, { 129, 207, 393 }, { 233, 886, 92 },  { 63, 827, 47 },	  { 677, 740, 793 },
	{ 902, 12, 508 },  { 873, 743, 879 }, { 588, 756, 112 }, { 641, 21, 12 },   { 828, 216, 920 }, { 530, 276, 543 }, { 70, 25, 336 },
	{ 746, 287, 569 }, { 615, 629, 594 }, { 59, 527, 993 },	 { 682, 779, 52 },  { 320, 828, 994 }, { 30, 477, 646 },  { 82, 639, 735 },
	{ 332, 757, 186 }, { 898, 755, 70 },  { 942, 296, 345 }, { 948, 804, 984 }, { 676, 7, 366 },   { 416, 114, 35 },  { 964, 876, 600 },
	{ 153, 517, 836 }, { 18, 493, 788 },  { 124, 16, 898 },	 { 570, 884, 97 },  { 330, 185, 44 },  { 914, 254, 373 }, { 350, 49, 35 },
	{ 167, 873, 523 }, { 936, 40, 377 },  { 482, 350, 730 }, { 827, 690, 175 },
};

/* Checks against DecisionTreeClassifier(max_depth, min_samples_leaf), whose predictions are equal for 30 random states. */
static void test_tree(void **state)
{
	static const struct {
		size_t depth, leaf;
		const char *labels;
	} trees[] = {
		{ 1, 1, "022200200202000200222220000222222202202000022220200020200202" },
		{ 2, 1, "021201111112111111212221011212211101212111121210211020101102" },
		{ 3, 3, "021201111112100111212220011212211101202000121210200020101102" },
		{ 20, 1, "021201111112100111212220011212211101202000121210200020101112" },
	};
	struct mat rows = mat_new(COUNT(tree_rows), 3);
	size_t label[COUNT(tree_rows)];

	(void)state;
	for (size_t i = 0; i < rows.rows; i++) {
		label[i] = (size_t)tree_rows[i][3];
		for (size_t j = 0; j < 3; j++)
			mat_set(&rows, i, j, tree_rows[i][j]);
	}
	for (size_t t = 0; t < COUNT(trees); t++) {
		struct tree *tree;

		tree_fit(&rows, label, 3, trees[t].depth, trees[t].leaf, &tree);
		for (size_t i = 0; i < COUNT(tree_asked); i++) {
			double row[] = { tree_asked[i][0], tree_asked[i][1], tree_asked[i][2] };

			assert_int_equal(tree_label(tree, row), (size_t)(trees[t].labels[i] - '0'));
		}
		tree_free(tree);
	}
	tree_free(NULL);
	mat_release(&rows);
}

/* Checks that identical rows form one leaf with the most frequent label, the first of equal ones, and equal splits use the first column. */
static void test_tree_ties(void **state)
{
	static double same[] = { 1, 1, 1, 1 }, both[] = { 0, 0, 1, 1, 2, 2, 3, 3 }, second[] = { 5, 0, 5, 0, 5, 1, 5, 1 };
	static const size_t label[] = { 1, 0, 0, 1 }, halves[] = { 0, 0, 1, 1 };
	struct mat rows = { 4, 1, same };
	struct tree *tree;

	(void)state;
	tree_fit(&rows, label, 2, 5, 1, &tree);
	assert_int_equal(tree_label(tree, same), 0);
	tree_free(tree);
	rows = (struct mat){ 4, 2, both };
	tree_fit(&rows, halves, 2, 5, 1, &tree);
	assert_int_equal(tree_label(tree, (double[]){ 1.0, 9.0 }), 0);
	assert_int_equal(tree_label(tree, (double[]){ 2.0, -9.0 }), 1);
	tree_free(tree);
	rows.at = second;
	tree_fit(&rows, halves, 2, 5, 1, &tree); /* equal values are not separated, even if that would be the best split */
	assert_int_equal(tree_label(tree, (double[]){ 5.0, 1.0 }), 1);
	tree_free(tree);
	rows.at = both;
	tree_fit(&rows, halves, 2, 5, 3, &tree); /* four rows cannot be divided into leaves of at least three */
	assert_int_equal(tree_label(tree, (double[]){ 3.0, 3.0 }), 0);
	tree_free(tree);
}

int suite_rivals(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranktest),    cmocka_unit_test(test_discoveries),	  cmocka_unit_test(test_judge),
		cmocka_unit_test(test_judge_less),  cmocka_unit_test(test_judge_order),	  cmocka_unit_test(test_judge_gaps),
		cmocka_unit_test(test_judge_level), cmocka_unit_test(test_judge_refuses), cmocka_unit_test(test_tree),
		cmocka_unit_test(test_tree_ties),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

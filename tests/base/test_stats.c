/* Reference numbers are from scipy 1.10 (numpy 1.24) unless a comment says otherwise. "exact": computed with rational numbers or 60 digits
 * (binomial and Poisson tails, the algebraic form of t for even degrees of freedom), since scipy has only 9 to 13 correct digits there. */
#include "base/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static void assert_near(const char *what, double got, double expected, double tolerance)
{
	if (fabs(got - expected) <= tolerance)
		return;
	fail_msg("%s: %.17g, expected %.17g (off by %.3g)", what, got, expected, got - expected);
}

static void assert_relative(const char *what, double got, double expected, double tolerance)
{
	assert_near(what, got, expected, tolerance * fabs(expected));
}

static const double sample_x[] = { 3.1, -1, 4.25, 1.5, 9, 2.5, 6 };
static const double sample_y[] = { 2, 7, 1, 8, 2.5, 8, 1 };

static void test_summaries(void **state)
{
	static const struct {
		double p, expected;
	} quantiles[] = { { 0, -1 }, { .1, .5 }, { .333, 2.498 }, { .5, 3.1 }, { .95, 8.1 }, { 1, 9 } };
	const double same[] = { .1, .1, .1 }, even[] = { 4, 1, 3, 2 };

	(void)state;
	assert_near("mean", stats_mean(sample_x, 7), 3.6214285714285714, 1e-15);
	assert_near("sd", stats_sd(sample_x, 7), 3.224109326989541, 1e-14);
	assert_near("median", stats_median(sample_x, 7), 3.1, 0);
	assert_near("mad", stats_mad(sample_x, 7), 1.6, 1e-15);
	for (size_t i = 0; i < COUNT(quantiles); i++)
		assert_near("quantile", stats_quantile(sample_x, 7, quantiles[i].p), quantiles[i].expected, 1e-14);
	assert_near("x is not changed", sample_x[0], 3.1, 0);
	assert_near("median of an even number", stats_median(even, 4), 2.5, 0);
	assert_near("mean of equal numbers", stats_mean(same, 3), .1, 0); /* .1 + .1 + .1 differs from .3 */
	assert_near("sd of equal numbers", stats_sd(same, 3), 0, 0);
	assert_near("sd of one", stats_sd(sample_x, 1), 0, 0);
	assert_near("median of one", stats_median(sample_x, 1), 3.1, 0);
}

static void test_sd_far_from_zero(void **state)
{
	const double x[] = { 1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16 }; /* NIST's test for one-pass formulas: variance 30 */

	(void)state;
	assert_near("variance", stats_sd(x, 4) * stats_sd(x, 4), 30, 1e-12);
}

static void test_correlation(void **state)
{
	const double line[] = { 1, 2, 3 }, down[] = { .3, .2, .1 }, flat[] = { .1, .1, .1 };

	(void)state;
	assert_near("pearson", stats_correlation(sample_x, sample_y, 7), -0.6738654194191915, 1e-15);
	assert_near("falling line", stats_correlation(line, down, 3), -1, 1e-15);
	assert_near("constant y", stats_correlation(line, flat, 3), 0, 0);
	assert_near("constant x", stats_correlation(flat, line, 3), 0, 0);
	assert_near("one", stats_correlation(line, down, 1), 0, 0);
}

static void test_ranks(void **state)
{
	const double expected[] = { 3, 5, 1.5, 6.5, 4, 6.5, 1.5 };
	double ranks[7];

	(void)state;
	stats_ranks(sample_y, 7, ranks);
	for (size_t i = 0; i < 7; i++)
		assert_near("rank", ranks[i], expected[i], 0);
}

static void test_beta(void **state)
{
	static const struct {
		double x, a, b, expected;
	} rows[] = {
		{ 0.5, 2, 3, 0.6875 }, /* exact */
		{ 0.1, 0.5, 0.5, 0.2048327646991335 },
		{ 0.99, 20, 0.3, 0.34460634045771921 },
		{ 0.3, 150, 300, 0.06479071470557474483 }, /* exact */
		{ 0.9, 1, 1, 0.9 },
		{ 1e-08, 0.2, 4, 0.03536736077881808 },
		{ 0.4999, 50000, 50000, 0.47478554827595071956 }, /* exact */
		{ 0, 2, 3, 0 },
		{ 1, 2, 3, 1 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_relative("beta", stats_beta_inc(rows[i].x, rows[i].a, rows[i].b), rows[i].expected, 2e-13);
}

static void test_normal(void **state)
{
	static const struct {
		double z, p;
	} cdf[] = {
		{ -8, 6.2209605742717405e-16 }, { -1.96, 0.024997895148220435 }, { 0, 0.5 },
		{ 0.5, 0.69146246127401312 },   { 5, 0.99999971334842808 },
	}, quantile[] = {
		{ -37.047096299361201, 1e-300 }, { -6.3613409024040557, 1e-10 }, { -1.9599639845400545, .025 },
		{ -0.52440051270804089, .3 },    { 0, .5 },                      { 3.0902323061678132, .999 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cdf); i++)
		assert_relative("normal cdf", stats_normal_cdf(cdf[i].z), cdf[i].p, 1e-14);
	for (size_t i = 0; i < COUNT(quantile); i++)
		assert_relative("normal quantile", stats_normal_quantile(quantile[i].p), quantile[i].z, 1e-14);
}

static void test_t(void **state)
{
	static const struct {
		double t, df, p;
	} cdf[] = {
		{ 0, 3, .5 },
		{ 1.5, 2, 0.86380343755449962 },
		{ -2.3, 7, 0.027495547602185769 },
		{ 12.706204736, 1, 0.9749999999996577 },
		{ -40, 3, 1.719034039457927e-05 },
		{ 1e-05, 5, 0.50000379606689815 },
		{ 3, 100000, 0.99864976955796758 },
	};
	static const struct {
		double t, df, p, tolerance;
	} quantile[] = {
		{ 12.706204736174704, 1, .975, 1e-14 },	 /* tan(.475 pi) */
		{ 4.30265272974946189, 2, .975, 1e-14 }, /* this row and the next three: exact */
		{ 2.30600413520416611, 8, .975, 1e-14 },   { 2.04227245630123778, 30, .975, 1e-14 },
		{ -416.175140329604124, 4, 1e-10, 1e-14 }, { 1.5765766039594717, 3.5, .9, 1e-9 },
		{ 2.5758342201053339, 1e6, .995, 1e-9 },   { -1.5537739732668501, .5, .25, 1e-9 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cdf); i++)
		assert_relative("t cdf", stats_t_cdf(cdf[i].t, cdf[i].df), cdf[i].p, 1e-13);
	for (size_t i = 0; i < COUNT(quantile); i++)
		assert_relative("t quantile", stats_t_quantile(quantile[i].p, quantile[i].df), quantile[i].t, quantile[i].tolerance);
	assert_near("t quantile of one half", stats_t_quantile(.5, 3), 0, 0);
	assert_near("infinite df is normal", stats_t_cdf(.5, HUGE_VAL), 0.69146246127401312, 1e-15);
	assert_near("infinite df is normal", stats_t_quantile(.975, HUGE_VAL), 1.959963984540054, 1e-14);
}

static void test_f(void **state)
{
	static const struct {
		double f, df1, df2, p;
	} rows[] = {
		{ 1, 1, 1, 0.5 },
		{ 3.88529, 2, 12, 0.94999988362538335 },
		{ 2.5, 7, 3.5, 0.78273924415209284 },
		{ .01, 5, 8, 4.3314811665475749e-05 },
		{ 10, 3, 200, 0.99999640517955546 },
		{ 1.05, 4000, 6000, 0.9549292177843110915 }, /* exact */
		{ 0, 2, 3, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_relative("f cdf", stats_f_cdf(rows[i].f, rows[i].df1, rows[i].df2), rows[i].p, 2e-13);
}

static void test_chi2(void **state)
{
	static const struct {
		double x, df, p;
	} cdf[] = {
		{ .001, 1, 0.025227120630039609 },
		{ 3.841458820694124, 1, .95 },
		{ 5, 2, 0.91791500137610116 },
		{ 11.1, 12.5, 0.43796796484167749 },
		{ 150, 100, 0.99909606795764599091 }, /* exact */
		{ 10200, 10000, 0.92067111892238102324 }, /* exact */
		{ 60, 20, 0.99999287824913718 },
		{ 1997000, 2000000, 0.06675317283160987129 }, /* exact */
		{ 0, 3, 0 },
	}, quantile[] = {
		{ 3.841458820694124, 1, .95 },       { 30.143527205646159, 19, .95 }, { 1.5707963267948959e-20, 1, 1e-10 },
		{ 2.3659738843753377, 3, .5 },       { 15.082186971981955, 2.5, .999 }, { 168.27855443662838, 200, .05 },
		{ 18.158844005869739, 50, .00001 },  { 55.451774444795625, 2, 1 - 0x1p-40 }, /* the last is 80 log 2 */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cdf); i++)
		assert_relative("chi2 cdf", stats_chi2_cdf(cdf[i].x, cdf[i].df), cdf[i].p, 1e-13);
	for (size_t i = 0; i < COUNT(quantile); i++)
		assert_relative("chi2 quantile", stats_chi2_quantile(quantile[i].p, quantile[i].df), quantile[i].x, 1e-13);
}

/* Checks that quantiles and distribution functions are inverses over the whole range; for 1 and 2 degrees of freedom, by closed forms. */
static void test_round_trip(void **state)
{
	static const double dfs[] = { .7, 1, 2, 3, 7.5, 30, 1000 };
	static const double ps[] = { 1e-12, 1e-4, .025, .2, .4999, .5001, .8, .975, .9999 };

	(void)state;
	for (size_t k = 0; k < COUNT(ps); k++) {
		double p = ps[k];

		assert_relative("normal", stats_normal_cdf(stats_normal_quantile(p)), p, 1e-13);
		assert_relative("t, df 1", stats_t_quantile(p, 1), tan(M_PI * (p - .5)), p < 1e-4 ? 1e-3 : 1e-11);
		assert_relative("t, df 2", stats_t_quantile(p, 2), (2 * p - 1) / sqrt(2 * p * (1 - p)), 1e-11);
		assert_relative("chi2, df 2", stats_chi2_quantile(p, 2), -2 * log1p(-p), 1e-12);
		for (size_t d = 0; d < COUNT(dfs); d++) {
			assert_relative("t", stats_t_cdf(stats_t_quantile(p, dfs[d]), dfs[d]), p, 1e-12);
			assert_relative("chi2", stats_chi2_cdf(stats_chi2_quantile(p, dfs[d]), dfs[d]), p, 1e-12);
		}
	}
}

/* Checks that F with 1 and n degrees of freedom is the square of t with n. */
static void test_f_is_t_squared(void **state)
{
	(void)state;
	for (double t = .1; t < 6; t += .7)
		assert_near("F(1, n)", stats_f_cdf(t * t, 1, 6), 2 * stats_t_cdf(t, 6) - 1, 1e-14);
}

static void test_round(void **state)
{
	static const struct {
		const char *what;
		double x, expected;
	} rows[] = {
		{ "last bits go", 1.03 + 4e-16, 1.03 },
		{ "up", 1.0000000006, 1.000000001 },
		{ "down", 1.0000000004, 1 },
		{ "negative", -1.0000000006, -1.000000001 },
		{ "large ones stay", 123456789.123456789, 123456789.123456789 },
		{ "too large to be multiplied", 1e302, 1e302 },
		{ "infinity", HUGE_VAL, HUGE_VAL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (stats_round(rows[i].x) < rows[i].expected || stats_round(rows[i].x) > rows[i].expected)
			fail_msg("%s: %.17g", rows[i].what, stats_round(rows[i].x));
	assert_true(isnan(stats_round((double)NAN)));
	assert_false(signbit(stats_round(-1e-12)));
}

int suite_stats(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_summaries),
		cmocka_unit_test(test_sd_far_from_zero),
		cmocka_unit_test(test_correlation),
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_beta),
		cmocka_unit_test(test_normal),
		cmocka_unit_test(test_t),
		cmocka_unit_test(test_f),
		cmocka_unit_test(test_chi2),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_f_is_t_squared),
		cmocka_unit_test(test_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

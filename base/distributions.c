/* Distribution functions and quantiles of the normal, t, F and chi-square distributions, from the incomplete beta and gamma functions.
 *
 * Each of the two incomplete functions is a factor such as x^a y^b / B(a, b), times a continued fraction or a series. Computed as
 * exp(a log x + b log y - log B(a, b)), the factor would lose digits for large a and b, because large terms cancel. This file computes the
 * factor from the remainder of Stirling's formula (Loader, "Fast and accurate computation of binomial probabilities", 2000) instead. */
#include "base/error.h"
#include "base/stats.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#define HALF_LOG_2PI .91893853320467274178 /* log(2 pi) / 2 */
#define TERMS_MAX    1000000		   /* limit of iterations; the number needed grows as the square root of the parameters */

/* Returns the remainder of Stirling's formula, log Gamma(z) - ((z - 1/2) log z - z + log(2 pi) / 2), by DLMF 5.11.1. */
static double stirling_remainder(double z)
{
	static const double c[] = { 1. / 12, -1. / 360, 1. / 1260, -1. / 1680, 1. / 1188, -691. / 360360, 1. / 156 };
	double sum = 0, power = 1 / z;
	int sign;

	if (z < 12)
		return lgamma_r(z, &sign) - ((z - .5) * log(z) - z + HALF_LOG_2PI);
	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++, power /= z * z)
		sum += c[i] * power;
	return sum;
}

/* Returns log(ratio) - u. The caller passes ratio = 1 + u in both forms: `u` is more precise near 0, `ratio` elsewhere. */
static double log_remainder(double ratio, double u)
{
	return (fabs(u) < .5 ? log1p(u) : log(ratio)) - u;
}

/* Returns x^a y^b / B(a, b), where y = 1 - x. */
static double beta_factor(double x, double y, double a, double b)
{
	double u = (x * b - a * y) / a, v = (a * y - x * b) / b; /* a u + b v = 0, so the linear terms cancel */
	double deviance = a * log_remainder(x * (a + b) / a, u) + b * log_remainder(y * (a + b) / b, v);

	return sqrt(a / (a + b) * b) / sqrt(2 * M_PI) *
	       exp(deviance + stirling_remainder(a + b) - stirling_remainder(a) - stirling_remainder(b));
}

/* Returns x^a e^-x / Gamma(a). */
static double gamma_factor(double x, double a)
{
	return sqrt(a) / sqrt(2 * M_PI) * exp(a * log_remainder(x / a, (x - a) / a) - stirling_remainder(a));
}

static double clamp_away_from_zero(double x)
{
	return fabs(x) < 1e-300 ? 1e-300 : x;
}

/* Evaluates the continued fraction of DLMF 8.17.22 by the modified Lentz method (Thompson and Barnett, J. Computational Physics 64, 1986).
 * The fraction converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double x, double a, double b)
{
	double c = 1, d = 1 / clamp_away_from_zero(1 - (a + b) * x / (a + 1)), value = d;

	for (size_t i = 1; i <= TERMS_MAX; i++) {
		double m = (double)i, step;
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 / clamp_away_from_zero(1 + even * d);
		c = clamp_away_from_zero(1 + even / c);
		value *= c * d;
		d = 1 / clamp_away_from_zero(1 + odd * d);
		c = clamp_away_from_zero(1 + odd / c);
		step = c * d;
		value *= step;
		if (fabs(step - 1) <= DBL_EPSILON)
			break;
	}
	return value;
}

/* Returns I_x(a, b), where y = 1 - x. The caller passes y, because it may know y more precisely than the subtraction gives it. */
static double beta_lower(double x, double y, double a, double b)
{
	if (x <= 0)
		return 0;
	if (y <= 0)
		return 1;
	if (x < (a + 1) / (a + b + 2))
		return beta_factor(x, y, a, b) * beta_fraction(x, a, b) / a;
	return 1 - beta_factor(y, x, b, a) * beta_fraction(y, b, a) / b;
}

double stats_beta_inc(double x, double a, double b)
{
	ASSAY_BUG_IF(!(x >= 0 && x <= 1 && a > 0 && b > 0));
	return beta_lower(x, 1 - x, a, b);
}

/* Returns the lower incomplete gamma function, divided by gamma_factor(), from the series of DLMF 8.7.1 (as 8.11.4). */
static double gamma_series(double x, double a)
{
	double term = 1 / a, sum = term;

	for (size_t i = 1; i <= TERMS_MAX; i++) {
		term *= x / (a + (double)i);
		sum += term;
		if (term <= sum * DBL_EPSILON / 4)
			break;
	}
	return sum;
}

/* Returns the upper incomplete gamma function, divided by gamma_factor(), from the even part of the continued fraction of DLMF 8.9.2. */
static double gamma_fraction(double x, double a)
{
	double b = x + 1 - a, c = 1e300, d = 1 / clamp_away_from_zero(b), value = d;

	for (size_t i = 1; i <= TERMS_MAX; i++) {
		double m = (double)i, numerator = m * (a - m), step;

		b += 2;
		d = 1 / clamp_away_from_zero(numerator * d + b);
		c = clamp_away_from_zero(b + numerator / c);
		step = c * d;
		value *= step;
		if (fabs(step - 1) <= DBL_EPSILON)
			break;
	}
	return value;
}

/* Returns the regularised incomplete gamma function P(a, x); 1 - P(a, x) if `upper`. */
static double gamma_inc(double a, double x, bool upper)
{
	double lower;

	if (x <= 0)
		return upper ? 1 : 0;
	if (isinf(x))
		return upper ? 0 : 1;
	if (x >= a + 1) {
		double rest = gamma_factor(x, a) * gamma_fraction(x, a);

		return upper ? rest : 1 - rest;
	}
	lower = gamma_factor(x, a) * gamma_series(x, a);
	return upper ? 1 - lower : lower;
}

double stats_normal_cdf(double z)
{
	return .5 * erfc(-z * M_SQRT1_2);
}

/* Returns P(T > t) for t >= 0, where T has the t distribution with df degrees of freedom. */
static double t_upper(double t, double df)
{
	double square = t * t; /* infinite if it overflows, which makes the result 0 */

	if (isinf(df))
		return stats_normal_cdf(-t);
	return .5 * beta_lower(1 / (1 + square / df), square / (df + square), df / 2, .5);
}

double stats_t_cdf(double t, double df)
{
	ASSAY_BUG_IF(!(df > 0));
	if (isinf(t))
		return t > 0 ? 1 : 0;
	return t > 0 ? 1 - t_upper(t, df) : t_upper(-t, df);
}

double stats_f_cdf(double f, double df1, double df2)
{
	ASSAY_BUG_IF(!(f >= 0 && df1 > 0 && df2 > 0));
	if (isinf(f))
		return 1;
	return beta_lower(df1 * f / (df1 * f + df2), df2 / (df1 * f + df2), df1 / 2, df2 / 2);
}

double stats_chi2_cdf(double x, double df)
{
	ASSAY_BUG_IF(!(x >= 0 && df > 0));
	return gamma_inc(df / 2, x / 2, false);
}

/* One tail of a distribution, for x > 0. */
enum tail_kind { NORMAL_UPPER, T_UPPER, CHI2_LOWER, CHI2_UPPER };

static double tail_probability(enum tail_kind tail, double x, double df)
{
	switch (tail) {
	case NORMAL_UPPER:
		return stats_normal_cdf(-x);
	case T_UPPER:
		return t_upper(x, df);
	default:
		return gamma_inc(df / 2, x / 2, tail == CHI2_UPPER);
	}
}

static double tail_density(enum tail_kind tail, double x, double df)
{
	switch (tail) {
	case NORMAL_UPPER:
		return exp(-x * x / 2) / sqrt(2 * M_PI);
	case T_UPPER: /* density from x^a y^b / B(a, b) with the arguments that t_upper() passes */
		return beta_factor(1 / (1 + x * x / df), x * x / (df + x * x), df / 2, .5) / x;
	default:
		return gamma_factor(x / 2, df / 2) / x;
	}
}

/* Returns x with tail_probability(x) = p. Finds a bracket by doubling and halving `start`. Then uses Newton's method on the logarithm of
 * the probability as a function of log x, which is nearly straight in the tails. Bisects if a step would leave the bracket. */
static double tail_quantile(enum tail_kind tail, double p, double df, double start)
{
	bool falls = tail != CHI2_LOWER;
	double low = start, high = start, x;

	while ((tail_probability(tail, high, df) > p) == falls && high < DBL_MAX / 4)
		high *= 2;
	while ((tail_probability(tail, low, df) > p) != falls && low > DBL_MIN * 4)
		low /= 2;
	x = sqrt(low) * sqrt(high);
	for (size_t i = 0; i < 200 && high - low > low * DBL_EPSILON; i++) {
		double q = tail_probability(tail, x, df), slope = x * tail_density(tail, x, df) / q, next;

		if ((q > p) == falls)
			low = x;
		else
			high = x;
		next = x * exp((falls ? 1 : -1) * log(q / p) / slope);
		if (!(next > low && next < high))
			next = low + (high - low) / 2;
		if (fabs(next - x) <= x * DBL_EPSILON)
			return next;
		x = next;
	}
	return x;
}

double stats_normal_quantile(double p)
{
	ASSAY_BUG_IF(!(p > 0 && p < 1));
	if (fabs(p - .5) < DBL_EPSILON / 4)
		return 0;
	return p < .5 ? -tail_quantile(NORMAL_UPPER, p, 1, 1) : tail_quantile(NORMAL_UPPER, 1 - p, 1, 1);
}

double stats_t_quantile(double p, double df)
{
	ASSAY_BUG_IF(!(p > 0 && p < 1 && df > 0));
	if (isinf(df))
		return stats_normal_quantile(p);
	if (fabs(p - .5) < DBL_EPSILON / 4)
		return 0;
	return p < .5 ? -tail_quantile(T_UPPER, p, df, 1) : tail_quantile(T_UPPER, 1 - p, df, 1);
}

double stats_chi2_quantile(double p, double df)
{
	ASSAY_BUG_IF(!(p > 0 && p < 1 && df > 0));
	return p < .5 ? tail_quantile(CHI2_LOWER, p, df, df) : tail_quantile(CHI2_UPPER, 1 - p, df, df);
}

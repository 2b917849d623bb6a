/* The minimum detectable effect of the decision rule. */
#include "base/stats.h"
#include "gate/decide/effect.h"

#include <math.h>

/* Positive nodes and weights of the Gauss-Legendre rule with 10 points on [-1, 1]: Abramowitz and Stegun, table 25.4. */
static const struct {
	double node, weight;
} legendre[] = {
	{ .148874338981631, .295524224714753 }, { .433395394129247, .269266719309996 }, { .679409568299024, .219086362515982 },
	{ .865063366688985, .149451349150581 }, { .973906528517172, .066671344308688 },
};

/* Everything in units of the mean's standard error, sd / sqrt(types). */
struct design {
	double df;
	double t;         /* quantile of the interval */
	double threshold; /* log(1 + min_effect) */
};

/* Density of the mean, u above its expectation, times P(S < mean / t): that the interval lies above zero. S^2 df / sd^2 is
 * chi-square and independent of the mean. */
static double integrand(const struct design *design, double effect, double u)
{
	double s = fmax(0, effect + u) / design->t;

	return exp(-u * u / 2) / sqrt(2 * M_PI) * stats_chi2_cdf(design->df * s * s, design->df);
}

static double panel(const struct design *design, double effect, double from, double to)
{
	double middle = (from + to) / 2, half = (to - from) / 2, sum = 0;

	for (size_t i = 0; i < sizeof(legendre) / sizeof(legendre[0]); i++) {
		double away = half * legendre[i].node;

		sum += legendre[i].weight * (integrand(design, effect, middle - away) + integrand(design, effect, middle + away));
	}
	return sum * half;
}

/* P(regression) when the log ratio is `effect`: integral over the means at or above the threshold. A panel is at most one
 * standard error wide, and six standard deviations of t S where S varies little. */
static double power_at(const struct design *design, double effect)
{
	double from = fmax(-7, design->threshold - effect), width, sum = 0;
	size_t panels;

	if (from >= 7)
		return 0;
	width = fmin(1, 6 * design->t / sqrt(2 * design->df));
	panels = (size_t)ceil((7 - from) / width);
	width = (7 - from) / (double)panels;
	for (size_t i = 0; i < panels; i++)
		sum += panel(design, effect, from + (double)i * width, from + (double)(i + 1) * width);
	return sum;
}

/* Power grows with the effect: a bracket by doubling, then false position in the Illinois variant (Dowell and Jarratt, BIT 11,
 * 1971), which keeps the bracket. */
static double effect_with_power(const struct design *design, double power)
{
	double low = design->threshold, low_value = power_at(design, low) - power;
	double step = 1, high = low + step, high_value = power_at(design, high) - power;

	while (high_value < 0) {
		low = high;
		low_value = high_value;
		step *= 2;
		high += step;
		high_value = power_at(design, high) - power;
	}
	for (int i = 0, side = 0; i < 100 && high - low > 1e-12 * high; i++) {
		double x = (low * high_value - high * low_value) / (high_value - low_value), value = power_at(design, x) - power;

		if (fabs(value) < 1e-13)
			return x;
		if (value < 0) {
			low = x;
			low_value = value;
			if (side < 0)
				high_value /= 2;
			side = -1;
		} else {
			high = x;
			high_value = value;
			if (side > 0)
				low_value /= 2;
			side = 1;
		}
	}
	return low + (high - low) / 2;
}

double effect_minimum_detectable_of(double error, double df, double min_effect)
{
	struct design design = { .df = df };

	ASSAY_BUG_IF(!(df >= 1) || !(error >= 0) || !(min_effect >= 0));
	if (error <= 1e-12 * log1p(min_effect)) /* the interval is a point: what matters is seen */
		return min_effect;
	design.t = stats_t_quantile((1 + EFFECT_LEVEL) / 2, df);
	design.threshold = log1p(min_effect) / error;
	return expm1(effect_with_power(&design, EFFECT_POWER) * error);
}

double effect_minimum_detectable(double sd, size_t types, double min_effect)
{
	ASSAY_BUG_IF(types < 2);
	return effect_minimum_detectable_of(sd / sqrt((double)types), (double)types - 1, min_effect);
}

#include "gate/decide/effect.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <string.h>

/* Constants of the shape test; pattern_p() explains them. */
#define NOISE_FLOOR                                                                                                                        \
	.01 /* added in quadrature to the standard error of a type's log ratio, for variation that repetitions on one day do not show */
#define NOISE_SHRINK	 .5  /* weight of the mean variance of all types in the variance of each type */
#define WITHIN_DF_MIN	 4.0 /* minimum degrees of freedom, summed over machines, for an interval from the noise within machines */
#define NOISE_DF_MACHINE 4.0 /* assumed degrees of freedom of a machine's noise: three repetitions of each version */

#define DECISION_TEXT(constant, text, exit_status) text,
#define DECISION_EXIT(constant, text, exit_status) exit_status,
ROWS_FUNCTION(decision_text, enum decision, DECISION_ROWS, DECISION_TEXT)
ROWS_FINDER(decision_parse, enum decision, DECISION_ROWS, DECISION_TEXT)

int decision_exit_status(enum decision decision)
{
	static const int statuses[DECISIONS] = { DECISION_ROWS(DECISION_EXIT) };

	ASSAY_BUG_IF(decision >= DECISIONS);
	return statuses[decision];
}

enum answer_tone decision_tone(enum decision decision)
{
	if (decision == DECISION_REGRESSION)
		return DOC_BAD;
	return decision_exit_status(decision) == 0 ? DOC_GOOD : DOC_DOUBTFUL;
}

bool decision_is_finding(enum decision decision)
{
	return decision == DECISION_REGRESSION || decision == DECISION_IMPROVED;
}

int decision_rank(enum decision decision)
{
	static const int places[DECISIONS] = { [DECISION_REGRESSION] = 0,   [DECISION_NOTHING_MEASURED] = 1, [DECISION_ENVIRONMENT] = 2,
					       [DECISION_INCONCLUSIVE] = 3, [DECISION_IMPROVED] = 4,	     [DECISION_PASS] = 5 };

	return places[decision];
}

char *decision_first_reason(enum decision decision, const char *code, const char *text)
{
	static const char *const of_interval[] = { "interval_too_wide", "around_min_effect", "too_few_types", "architectures_apart" };
	size_t n = strcspn(text, ":(");

	if (decision != DECISION_INCONCLUSIVE && decision != DECISION_ENVIRONMENT)
		n = 0;
	for (size_t i = 0; i < sizeof(of_interval) / sizeof(of_interval[0]); i++)
		n = strcmp(of_interval[i], code) == 0 ? 0 : n;
	return mem_bytes(text, n && text[n] == '(' ? n - 1 : n);
}

enum decision effect_decide(double ratio, double low, double high, double min_effect)
{
	double matters = stats_round(1 + min_effect), mirror = stats_round(1 / (1 + min_effect));

	if (isnan(ratio) || isnan(low) || isnan(high))
		return DECISION_INCONCLUSIVE;
	ratio = stats_round(ratio);
	low = stats_round(low);
	high = stats_round(high);
	if (low > 1 && ratio >= matters)
		return DECISION_REGRESSION;
	if (high < 1 && ratio <= mirror)
		return DECISION_IMPROVED;
	return high < matters ? DECISION_PASS : DECISION_INCONCLUSIVE;
}

/* Positive nodes and their weights of the Gauss-Legendre rule with 10 points on [-1, 1]: Abramowitz and Stegun, table 25.4. */
static const struct {
	double node, weight;
} legendre[] = {
	{ .148874338981631, .295524224714753 }, { .433395394129247, .269266719309996 }, { .679409568299024, .219086362515982 },
	{ .865063366688985, .149451349150581 }, { .973906528517172, .066671344308688 },
};

/* Parameters of the power function. Log ratios are in units of the mean's standard error, sd / sqrt(types). */
struct power_design {
	double df;
	double t;	  /* quantile of Student's t for the interval */
	double threshold; /* log(1 + min_effect) */
};

/* Returns the integrand of the power: the density of the mean at `effect` + u, times the probability that the interval is above 0 for this
 * mean. This is P(S < mean / t), where S^2 df / sd^2 is chi-square and independent of the mean. */
static double power_integrand(const struct power_design *design, double effect, double u)
{
	double s = fmax(0, effect + u) / design->t;

	return exp(-u * u / 2) / sqrt(2 * M_PI) * stats_chi2_cdf(design->df * s * s, design->df);
}

static double integrate_power_panel(const struct power_design *design, double effect, double from, double to)
{
	double middle = (from + to) / 2, half = (to - from) / 2, sum = 0;

	for (size_t i = 0; i < sizeof(legendre) / sizeof(legendre[0]); i++) {
		double away = half * legendre[i].node;

		sum +=
		    legendre[i].weight * (power_integrand(design, effect, middle - away) + power_integrand(design, effect, middle + away));
	}
	return sum * half;
}

/* Returns P(regression) for the true log ratio `effect`: the integral over all means at or above the threshold. The integration panels are
 * at most one standard error wide. If S varies little, they are at most six standard deviations of t S wide. */
static double power_at(const struct power_design *design, double effect)
{
	double from = fmax(-7, design->threshold - effect), width, sum = 0;
	size_t panels;

	if (from >= 7)
		return 0;
	width = fmin(1, 6 * design->t / sqrt(2 * design->df));
	panels = (size_t)ceil((7 - from) / width);
	width = (7 - from) / (double)panels;
	for (size_t i = 0; i < panels; i++)
		sum += integrate_power_panel(design, effect, from + (double)i * width, from + (double)(i + 1) * width);
	return sum;
}

/* Returns the effect for which power_at() returns `power`. The power grows with the effect, so doubling the step brackets the solution. The
 * Illinois variant of false position then narrows the bracket (Dowell and Jarratt, BIT 11, 1971). */
static double effect_with_power(const struct power_design *design, double power)
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

/* Returns the relative slowdown that effect_decide() calls a regression with probability EFFECT_POWER. Assumes a normal estimate of the log
 * ratio with the standard error `error`, which has df >= 1 degrees of freedom. */
static double effect_minimum_detectable(double error, double df, const struct effect_request *asked)
{
	struct power_design design = { .df = df };

	ASSAY_BUG_IF(!(df >= 1) || !(error >= 0) || !(asked->min_effect >= 0));
	if (error <= 1e-12 * log1p(asked->min_effect)) /* the interval has no width */
		return asked->min_effect;
	design.t = stats_t_quantile((1 + asked->level) / 2, df);
	design.threshold = log1p(asked->min_effect) / error;
	return expm1(effect_with_power(&design, EFFECT_POWER) * error);
}

#define PAIRS_RANKED_MAX 1000 /* maximum number of pairs for ranks; with more, the mean is as good, and ranks take too much memory */

void effect_estimate_pair(const double *logs, size_t n, struct effect_pair *out)
{
	size_t all = n * (n + 1) / 2, k = 0, cut;
	double *means, middle = (double)all / 2, sd = sqrt((double)all * (2.0 * (double)n + 1) / 12);

	out->noise_df = (double)n - 1;
	out->log_ratio = stats_mean(logs, n);
	out->noise = stats_sd(logs, n) / sqrt((double)n);
	if (n <= EFFECT_PAIRS_MIN || n > PAIRS_RANKED_MAX)
		return;
	means = mem_new(all, sizeof(*means));
	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n; j++)
			means[k++] = (logs[i] + logs[j]) / 2;
	qsort(means, all, sizeof(*means), stats_compare);
	cut = (size_t)fmax(floor(middle - stats_normal_quantile((1 + EFFECT_LEVEL) / 2) * sd) - 1, 0);
	out->log_ratio = stats_median(means, all);
	out->noise = fmax(means[all - 1 - cut] - out->log_ratio, out->log_ratio - means[cut]) /
		     stats_t_quantile((1 + EFFECT_LEVEL) / 2, out->noise_df);
	free(means);
}

/* One hardware type, averaged over its machines. */
struct type_mean {
	double log_ratio;
	double variance; /* variance of log_ratio from the noise within machines */
	size_t machines;
	size_t noisy; /* number of machines with known noise */
};

/* Averages the pairs of each type into types[n_types], which must be zeroed. Types that have machines come first; returns their number. */
static size_t types_compute(const struct effect_pair *pairs, size_t n, struct type_mean *types, size_t n_types)
{
	size_t present = 0;

	for (size_t i = 0; i < n; i++) {
		struct type_mean *type = &types[pairs[i].type];

		ASSAY_BUG_IF(pairs[i].type >= n_types || !isfinite(pairs[i].log_ratio) || !(pairs[i].noise >= 0));
		type->log_ratio += pairs[i].log_ratio;
		type->variance += pairs[i].noise * pairs[i].noise;
		type->machines++;
		type->noisy += pairs[i].noise > 0;
	}
	for (size_t t = 0; t < n_types; t++) {
		struct type_mean type = types[t];

		if (!type.machines)
			continue;
		type.log_ratio /= (double)type.machines;
		/* A machine of unknown noise counts with the mean variance of the other machines of its type. */
		type.variance = type.noisy ? type.variance / (double)type.noisy / (double)type.machines : 0;
		types[present++] = type;
	}
	return present;
}

/* Returns Cochran's Q (Biometrics 10(1), 1954): the sum of (log ratio - weighted mean)^2 / variance. The weights are 1 / variance. */
static double cochran_q(const struct type_mean *types, size_t n)
{
	double weights = 0, mean = 0, q = 0;

	for (size_t t = 0; t < n; t++) {
		weights += 1 / types[t].variance;
		mean += types[t].log_ratio / types[t].variance;
	}
	mean /= weights;
	for (size_t t = 0; t < n; t++)
		q += (types[t].log_ratio - mean) * (types[t].log_ratio - mean) / types[t].variance;
	return q;
}

/* Returns the p-value of the hypothesis that all T types have the same ratio; NaN if a type's noise is not known. First replaces each
 * variance by its average with the mean variance of all types, plus NOISE_FLOOR^2. Then compares Q / (T - 1) with the F distribution with
 * NOISE_DF_MACHINE denominator degrees of freedom per machine. Chi-square would reject too often, because the variances come from few
 * repetitions. docs/evidence/statistics.md has the error rates; tests/gate/test_effect.c repeats them. */
static double pattern_p(struct type_mean *types, size_t n)
{
	double pooled = 0, df = (double)n - 1, machines = 0;

	for (size_t t = 0; t < n; t++) {
		if (!types[t].noisy)
			return nan("");
		pooled += types[t].variance / (double)n;
		machines += (double)types[t].noisy;
	}
	for (size_t t = 0; t < n; t++)
		types[t].variance = (1 - NOISE_SHRINK) * types[t].variance + NOISE_SHRINK * pooled + NOISE_FLOOR * NOISE_FLOOR;
	return 1 - stats_f_cdf(cochran_q(types, n) / df, df, NOISE_DF_MACHINE * machines);
}

static void set_interval(struct effect *e, double mean, double error, double df, const struct effect_request *asked)
{
	double half = stats_t_quantile((1 + asked->level) / 2, df) * error;

	e->low = exp(fmin(mean, fmax(mean - half, -log(EFFECT_RATIO_MAX))));
	e->high = exp(fmax(mean, fmin(mean + half, log(EFFECT_RATIO_MAX))));
	e->minimum_detectable = fmin(effect_minimum_detectable(error, df, asked), EFFECT_RATIO_MAX);
}

/* Sets the interval if all types may share an error, which averaging does not reduce. Adds the variance of that error to the variance of
 * the mean. Satterthwaite's formula gives the degrees of freedom. */
static void common_interval(struct effect *e, double mean, double sd, const struct effect_common *common,
			    const struct effect_request *asked)
{
	double df = (double)e->types - 1, own = sd * sd / (double)e->types, more = common->error * common->error;
	double variance = own + more;

	df = variance * variance / (own * own / df + more * more / common->df);
	set_interval(e, mean, sqrt(variance), df, asked);
}

/* Sets the mean ratio. With at least EFFECT_TYPES_MIN types, also sets Student's interval over their log ratios. */
static void effect_interval(struct effect *e, const struct type_mean *types, const struct effect_request *asked,
			    const struct effect_common *common)
{
	double *logs = mem_new(e->types, sizeof(*logs));
	double mean, sd;

	for (size_t t = 0; t < e->types; t++)
		logs[t] = types[t].log_ratio;
	mean = stats_mean(logs, e->types);
	sd = stats_sd(logs, e->types);
	e->ratio = exp(mean);
	if (e->types >= EFFECT_TYPES_MIN && common && common->error > 0)
		common_interval(e, mean, sd, common, asked);
	else if (e->types >= EFFECT_TYPES_MIN)
		set_interval(e, mean, sd / sqrt((double)e->types), (double)e->types - 1, asked);
	free(logs);
}

/* Widens the interval over types at least to the interval from the noise within machines, because types that agree better do so by chance
 * (Knapp and Hartung, Statistics in Medicine 22, 2003). Uses the median variance: one noisy type already widens the interval over types. */
static void use_noise_floor(struct effect *e, const struct type_mean *types, const struct effect_pair *pairs, size_t n,
			    const struct effect_request *asked)
{
	double *variances = mem_new(e->types, sizeof(*variances)), df = 0, variance;
	struct effect within = *e;

	for (size_t t = 0; t < e->types; t++)
		variances[t] = types[t].variance;
	for (size_t i = 0; i < n; i++)
		df += pairs[i].noise_df;
	variance = stats_median(variances, e->types);
	if (variance > 0 && df >= 1) {
		set_interval(&within, log(e->ratio), sqrt(variance / (double)e->types), df, asked);
		if (stats_round(within.high) > stats_round(e->high))
			*e = within;
	}
	free(variances);
}

/* Widens the interval to include 1 if the rank statistics do not exclude equal versions, because Student's interval is too narrow for few
 * results in two groups. With too few results for this level, the interval excludes 1 only if all results of the candidate are above, or
 * all below, the baseline's. From three results per version on, the normal approximation with continuity correction is within 0.003 of the
 * exact level. */
static void use_rank_test(struct effect *e, const struct effect_ranks *ranks, const struct effect_request *asked)
{
	double least = fmin(stats_normal_quantile((1 + asked->level) / 2) * sqrt(ranks->variance) + .5, ranks->most);

	if (stats_round(ranks->ahead) < stats_round(least))
		e->low = fmin(e->low, 1);
	if (stats_round(-ranks->ahead) < stats_round(least))
		e->high = fmax(e->high, 1);
}

/* Sets the interval from the noise within machines. One or two types cannot represent other types (Student's t is 12.7 at one degree of
 * freedom), but repetitions are valid for these machines. Adds NOISE_FLOOR for machines on which the versions did not take turns. Welch's
 * formula gives the degrees of freedom (Biometrika 34, 1947). Does nothing if a machine's noise is unknown or the degrees are too few. */
static void within_interval(struct effect *e, const struct effect_pair *pairs, size_t n, size_t n_types, const struct effect_request *asked)
{
	double *machines = mem_new(n_types, sizeof(*machines));
	double variance = 0, uncertain = 0, df = 0;
	bool known = true;

	for (size_t i = 0; i < n; i++)
		machines[pairs[i].type]++;
	for (size_t i = 0; i < n; i++) {
		double weight = 1 / ((double)e->types * machines[pairs[i].type]), own = weight * weight * pairs[i].noise * pairs[i].noise;

		known = known && pairs[i].noise > 0 && pairs[i].noise_df >= 1;
		variance += own + (pairs[i].is_interleaved ? 0 : weight * weight * NOISE_FLOOR * NOISE_FLOOR);
		uncertain += known ? own * own / pairs[i].noise_df : 0;
		df += pairs[i].noise_df;
	}
	if (known && df >= WITHIN_DF_MIN) {
		df = fmin(variance * variance / uncertain, 1e6);
		e->within = true;
		set_interval(e, log(e->ratio), sqrt(variance), df, asked);
	}
	free(machines);
}

struct effect effect_compute(const struct effect_pair *pairs, size_t n, size_t n_types, const struct effect_request *asked,
			     const struct effect_common *common)
{
	struct effect e = { .decision = DECISION_NOTHING_MEASURED };
	struct type_mean *types;

	ASSAY_BUG_IF(!(asked->min_effect > 0) || !(asked->level > 0 && asked->level < 1));
	e.level = asked->level;
	e.ratio = e.low = e.high = e.minimum_detectable = e.pattern_p = nan("");
	if (n == 0)
		return e;
	types = mem_new(n_types, sizeof(*types));
	e.types = types_compute(pairs, n, types, n_types);
	effect_interval(&e, types, asked, common);
	if (e.types < EFFECT_TYPES_MIN)
		within_interval(&e, pairs, n, n_types, asked);
	if (e.within && common && common->ranks.variance > 0)
		use_rank_test(&e, &common->ranks, asked);
	if (e.types >= EFFECT_TYPES_MIN)
		use_noise_floor(&e, types, pairs, n, asked);
	if (e.types >= 2)
		e.pattern_p = pattern_p(types, e.types);
	e.decision = effect_decide(e.ratio, e.low, e.high, asked->min_effect);
	free(types);
	return e;
}

#define COMMON_MIN   4	 /* minimum number of findings in the same direction */
#define COMMON_SHARE .75 /* minimum share, among the comparisons with a ratio, of those that changed in the same direction */

enum decision effects_find_common_direction(const struct effect_finding *all, size_t n, double min_effect)
{
	size_t known = 0, lean[DECISIONS] = { 0 }, findings[DECISIONS] = { 0 };

	for (size_t i = 0; i < n; i++) {
		if (isnan(all[i].ratio))
			continue;
		known++;
		lean[DECISION_REGRESSION] += all[i].ratio > 1 + min_effect / 2;
		lean[DECISION_IMPROVED] += 1 / all[i].ratio > 1 + min_effect / 2;
		findings[all[i].finding]++;
	}
	for (enum decision d = 0; d < DECISIONS; d++)
		if (decision_is_finding(d) && findings[d] >= COMMON_MIN && (double)lean[d] >= COMMON_SHARE * (double)known)
			return d;
	return DECISIONS;
}

ROWS_FUNCTION(effect_pattern_code, enum effect_pattern, PATTERN_ROWS, ROWS_CODE)
ROWS_FUNCTION(effect_pattern_text, enum effect_pattern, PATTERN_ROWS, ROWS_TEXT)

enum effect_pattern effect_pattern_classify(const struct effect *e)
{
	if (isnan(e->pattern_p) || isnan(e->low))
		return PATTERN_NOT_TESTED;
	if (stats_round(e->pattern_p) < PATTERN_LEVEL)
		return PATTERN_OTHER_RESOURCE;
	return stats_round(e->low) > 1 || stats_round(e->high) < 1 ? PATTERN_UNIFORM : PATTERN_NO_CHANGE;
}

struct text_number effect_format_level(double level)
{
	struct text_number out;

	snprintf(out.text, sizeof(out.text), "%.4g %%", 100 * level);
	return out;
}

struct effect_text effect_format_interval(double low, double high, double level, int decimals)
{
	struct effect_text out;

	snprintf(out.text, sizeof(out.text), level > 0 ? "%s to %s (%s)" : "%s to %s", text_fixed(low, decimals).text,
		 text_fixed(high, decimals).text, effect_format_level(level).text);
	return out;
}

int64_t analysis_repetitions(int64_t first, int look)
{
	ASSAY_BUG_IF(look < 1 || look > ANALYSES_MAX || first < 1);
	return first << (look - 1);
}

double analysis_level(int look, bool last)
{
	double all = 1 - EFFECT_LEVEL, whole = 1 << (ANALYSES_MAX - 1);

	ASSAY_BUG_IF(look < 1 || look > ANALYSES_MAX);
	if (look == 1)
		return 1 - (last ? all : all / whole);
	/* The earlier looks spent all * 2^(look - 2) / whole in total. This look spends the same amount, the last look the rest. */
	return 1 - (last || look == ANALYSES_MAX ? all - all * (1 << (look - 2)) / whole : all * (1 << (look - 2)) / whole);
}

#include "gate/decide/cause.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <stdint.h>

#define SPREAD_MIN .01 /* of the log ratios over types: what is less than repetitions on one day do not show follows nothing (effect.c) */
#define SINGULAR 1e-9 /* spread of a regressor, relative to its mean */

ROWS_FUNCTION(cause_text, enum cause_word, CAUSE_ROWS, ROWS_CODE)
ROWS_FUNCTION(cause_sentence, enum cause_word, CAUSE_ROWS, ROWS_TEXT)

/* ---- does the ratio differ by type? ---- */

/* Both tests look at the same question: the spread against the noise of repetitions, and whether it follows a stressor. Either may be
 * impossible. Bonferroni where both are possible. */
static double shape_of(const struct effect *e, const double *log_ratio, const struct mat *log_rate, const struct effect_resource *resources)
{
	double moves = log_rate->rows >= CAUSE_TYPES_MIN && log_rate->cols > 0 ? resources[0].p : (double)NAN;

	if (!isnan(moves) && stats_round(stats_sd(log_ratio, log_rate->rows)) < SPREAD_MIN)
		moves = 1;
	if (isnan(e->shape_p) || isnan(moves))
		return fmin(e->shape_p, moves); /* of one that is NaN: the other */
	return fmin(1, 2 * fmin(e->shape_p, moves));
}

/* ---- what is the same on all types beside one resource? ---- */

/* ratio_t = a + b x_t, x the time that a machine needs for work on the resource, relative to what it needed for everything. Always of the
 * version that costs more over the one that costs less: what was added, or what was taken away. */
struct types {
	double *log_ratio, *log_cost; /* [log_rate->rows] of the version that costs more / of the one that costs less */
	const struct mat *log_rate;
};

struct line {
	double a, error; /* the part that is the same everywhere, with its standard error */
	double residual; /* sum of squares, in units of the largest ratio's; infinite when x does not vary */
};

/* x and the ratio are fitted in units of their largest, so that no square of them is infinite. */
static struct line line_of(const struct types *types, size_t feature)
{
	const double *log_ratio = types->log_ratio, *log_cost = types->log_cost;
	const struct mat *log_rate = types->log_rate;
	size_t n = log_rate->rows;
	double *x = mem_new(2 * n, sizeof(*x)), *y = x + n, mean_x, mean_y, xx = 0, xy = 0, yy = 0;
	double top_x = -HUGE_VAL, top_y = -HUGE_VAL;
	struct line line = { .residual = HUGE_VAL };

	for (size_t t = 0; t < n; t++) {
		top_x = fmax(top_x, -log_cost[t] - mat_get(log_rate, t, feature));
		top_y = fmax(top_y, log_ratio[t]);
	}
	for (size_t t = 0; t < n; t++) {
		x[t] = exp(-log_cost[t] - mat_get(log_rate, t, feature) - top_x);
		y[t] = exp(log_ratio[t] - top_y);
	}
	mean_x = stats_mean(x, n);
	mean_y = stats_mean(y, n);
	for (size_t t = 0; t < n; t++) {
		xx += (x[t] - mean_x) * (x[t] - mean_x);
		xy += (x[t] - mean_x) * (y[t] - mean_y);
		yy += (y[t] - mean_y) * (y[t] - mean_y);
	}
	if (xx > SINGULAR * mean_x * mean_x) {
		line.a = (mean_y - xy / xx * mean_x) * exp(top_y);
		line.residual = fmax(yy - xy * xy / xx, 0);
		line.error = sqrt(line.residual / ((double)n - 2) * (1 / (double)n + mean_x * mean_x / xx)) * exp(top_y);
	}
	free(x);
	return line;
}

/* The interval of `a` over all resources whose line leaves nearly as little as the best one: T log(residual / least) at most the
 * chi-square quantile with one degree of freedom, as for the shares of a profile. */
static void find_uniform(const struct types *types, struct cause *out)
{
	size_t n = types->log_rate->rows, features = types->log_rate->cols;
	struct line *lines = mem_new(features, sizeof(*lines));
	double t = stats_t_quantile((1 + EFFECT_LEVEL) / 2, (double)n - 2), limit, floor = 1e-18;

	for (size_t j = 0; j < features; j++) {
		lines[j] = line_of(types, j);
		if (out->feature == SIZE_MAX || lines[j].residual < lines[out->feature].residual)
			out->feature = j;
	}
	limit = fmax(lines[out->feature].residual, floor) * exp(stats_chi2_quantile(EFFECT_LEVEL, 1) / (double)n);
	out->uniform = lines[out->feature].a - 1;
	out->low = HUGE_VAL;
	out->high = -HUGE_VAL;
	for (size_t j = 0; j < features; j++) {
		if (isinf(lines[j].residual) || !(lines[j].residual <= limit))
			continue;
		out->as_well++;
		out->low = fmin(out->low, lines[j].a - 1 - t * lines[j].error);
		out->high = fmax(out->high, lines[j].a - 1 + t * lines[j].error);
	}
	if (!out->as_well || !isfinite(out->low) || !isfinite(out->high)) { /* no stressor varies, or no number is large enough */
		out->uniform = out->low = out->high = (double)NAN;
		out->feature = SIZE_MAX;
		out->as_well = 0;
	}
	free(lines);
}

/* The older one in units of the newer one, where that costs less, has to be turned round again. */
static void turn_round(struct cause *c)
{
	double low = c->low;

	c->uniform = 1 / (1 + c->uniform) - 1;
	c->low = 1 / (1 + c->high) - 1;
	c->high = 1 / (1 + low) - 1;
}

static void find_part(bool faster, const double *log_ratio, const double *log_cost, const struct mat *log_rate, struct cause *c)
{
	size_t n = log_rate->rows;
	struct types types = { mem_new(n, sizeof(double)), mem_new(n, sizeof(double)), log_rate };

	for (size_t t = 0; t < n; t++) {
		types.log_ratio[t] = faster ? -log_ratio[t] : log_ratio[t];
		types.log_cost[t] = faster ? log_cost[t] + log_ratio[t] : log_cost[t];
	}
	find_uniform(&types, c);
	if (faster && c->feature != SIZE_MAX && c->low > -1)
		turn_round(c);
	else if (faster)
		c->uniform = c->low = c->high = (double)NAN; /* all of it may be gone */
	free(types.log_ratio);
	free(types.log_cost);
}

/* ---- the word ---- */

struct cause cause_of(const struct effect *e, const double *log_ratio, const double *log_cost, const struct mat *log_rate,
		      const struct effect_resource *resources)
{
	struct cause c = { CAUSE_NOT_TESTED, (double)NAN, (double)NAN, (double)NAN, (double)NAN, SIZE_MAX, 0 };
	bool slower = stats_round(e->low) > 1, faster = stats_round(e->high) < 1;

	c.p = shape_of(e, log_ratio, log_rate, resources);
	if (isnan(c.p) || isnan(e->low))
		return c;
	if (!(stats_round(c.p) < CAUSE_LEVEL)) {
		/* Without the noise of repetitions little would be found: what is not found says nothing. */
		if (!isnan(e->shape_p))
			c.word = slower || faster ? CAUSE_UNIFORM : CAUSE_NEITHER;
		return c;
	}
	if (log_rate->rows >= CAUSE_TYPES_MIN && log_rate->cols > 0)
		find_part(faster, log_ratio, log_cost, log_rate, &c);
	c.word = CAUSE_OTHER_RESOURCE;
	if ((slower && stats_round(c.low) > 0) || (faster && stats_round(c.high) < 0))
		c.word = CAUSE_BOTH;
	return c;
}

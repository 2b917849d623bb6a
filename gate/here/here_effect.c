#include "gate/here/here_effect.h"

#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>

#define ALIKE	     .03 /* as --min-effect is by default */
#define COMPUTES_MIN .1
#define RANKED_MIN   6 /* pairs: of fewer, all of one sign are no 95 % */
#define Z	     1.959963984540054

ROWS_FUNCTION(here_decision_text, enum here_decision, HERE_DECISION_ROWS, ROWS_WORD)

static enum here_decision decide(double low, double high)
{
	if (isnan(low))
		return HERE_UNKNOWN;
	if (stats_round(low) > 1)
		return HERE_MORE;
	if (stats_round(high) < 1)
		return HERE_LESS;
	return stats_round(low) >= 1 / (1 + ALIKE) && stats_round(high) <= 1 + ALIKE ? HERE_ALIKE : HERE_UNKNOWN;
}

/* Of logs[n]: the median of all means of two, and as many of these from either end as ranks allow. */
static void ranked(const double *logs, size_t n, struct here_effect *out)
{
	size_t all = n * (n + 1) / 2, k = 0, cut;
	double *means = mem_new(all, sizeof(*means)), middle = (double)all / 2, sd = sqrt((double)all * (2.0 * (double)n + 1) / 12);

	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n; j++)
			means[k++] = (logs[i] + logs[j]) / 2;
	qsort(means, all, sizeof(*means), stats_order);
	cut = (size_t)fmax(floor(middle - Z * sd) - 1, 0);
	out->ratio = exp(stats_median(means, all));
	out->low = exp(means[cut]);
	out->high = exp(means[all - 1 - cut]);
	free(means);
}

static void by_t(const double *logs, size_t n, struct here_effect *out)
{
	double mean = stats_mean(logs, n),
	       reach = n > 1 ? stats_t_quantile(.975, (double)n - 1) * stats_sd(logs, n) / sqrt((double)n) : (double)NAN;

	out->ratio = exp(mean);
	out->low = exp(mean - reach);
	out->high = exp(mean + reach);
}

enum { WALL, OWN, PROCESSOR };

/* Of what the machine's clocks count in such a run. */
static double time_of(const struct level_run *run, int time)
{
	return time == WALL ? run->wall : time == OWN ? run->wall - run->delay : run->user + run->sys;
}

static struct here_effect effect_of(const struct level_run *a, const struct level_run *b, size_t n, int time)
{
	struct here_effect effect = { (double)NAN, (double)NAN, (double)NAN, HERE_UNKNOWN };
	double *logs = mem_new(n, sizeof(*logs));
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		double x = time_of(&a[i], time), y = time_of(&b[i], time);

		if (x > 0 && y > 0)
			logs[known++] = log(y) - log(x);
	}
	if (known >= RANKED_MIN)
		ranked(logs, known, &effect);
	else if (known > 0)
		by_t(logs, known, &effect);
	effect.decision = decide(effect.low, effect.high);
	free(logs);
	return effect;
}

/* Of all runs, how much of their time they had a processor. */
static double share_of(const struct level_run *a, const struct level_run *b, size_t n)
{
	double processor = 0, own = 0;

	for (size_t i = 0; i < n; i++) {
		processor += time_of(&a[i], PROCESSOR) + time_of(&b[i], PROCESSOR);
		own += time_of(&a[i], OWN) + time_of(&b[i], OWN);
	}
	return processor / own;
}

void here_effects_of(const struct level_run *a, const struct level_run *b, size_t n, struct here_effects *out)
{
	struct here_effect own = effect_of(a, b, n, OWN);

	*out = (struct here_effects){ .wall = effect_of(a, b, n, WALL), .processor = effect_of(a, b, n, PROCESSOR) };
	out->computes = share_of(a, b, n) >= COMPUTES_MIN;
	out->withheld = (out->wall.decision == HERE_MORE || out->wall.decision == HERE_LESS) && own.decision != out->wall.decision &&
			out->processor.decision != out->wall.decision;
	if (out->withheld)
		out->wall.decision = HERE_UNKNOWN;
}

/* ---- in a sentence ---- */

static int decimals_of(const struct here_effect *e)
{
	return e->ratio < .5 || fabs(e->ratio - 1) < .1 ? 3 : 2;
}

/* "0.97 to 1.12"; free() it. */
static char *interval_text(const struct here_effect *e)
{
	int decimals = decimals_of(e);

	return isnan(e->low) ? mem_string("too few runs for an interval")
			     : mem_format("%s to %s", text_fixed(e->low, decimals).text, text_fixed(e->high, decimals).text);
}

/* "1.04 times as long as A (0.97 to 1.12; 20 runs each, in turn)"; free() it. */
static char *wall_text(const struct here_effects *e, size_t runs)
{
	char *interval = interval_text(&e->wall), *text;

	text = mem_format("%s times as long as A (%s; %zu run%s each, in turn)", text_fixed(e->wall.ratio, decimals_of(&e->wall)).text,
			  interval, runs, text_plural(runs));
	free(interval);
	return text;
}

char *here_effects_text(const struct here_effects *e, size_t runs, const char *causes)
{
	enum here_decision wall = e->wall.decision, processor = e->processor.decision;
	char *takes = wall_text(e, runs), *interval = interval_text(&e->processor), *text;

	if (wall == HERE_MORE || wall == HERE_LESS)
		text = mem_format("B is %s: it takes %s%s", wall == HERE_MORE ? "slower" : "faster", takes, causes);
	else if (e->computes && (processor == HERE_MORE || processor == HERE_LESS))
		text = mem_format("B takes %s times as much processor time as A (%s)%s; %s %s",
				  text_fixed(e->processor.ratio, decimals_of(&e->processor)).text, interval, causes,
				  wall == HERE_ALIKE ? "it takes about as long:" : "how long it takes is not known well enough:", takes);
	else if (*causes)
		text = mem_format("B is not seen to differ from A in time, but in its work%s; it takes %s", causes, takes);
	else
		text = mem_format("B is not seen to differ from A: it takes %s%s", takes,
				  e->withheld ? ", but not without what others kept it waiting for" : "");
	mem_free(interval, takes);
	return text;
}

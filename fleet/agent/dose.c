#include "fleet/agent/dose.h"

#include "base/stats.h"

#include <math.h>
#include <stdio.h>

#define TIMES	     20000  /* at the usual dose; fewer of a larger one */
#define MICROSECONDS 150000 /* of computing, about */
#define SYSTEMATIC   .01    /* of the dose: calls of one class stand at different places of the filter, and caches differ */
#define MAD_TO_SD    1.4826

double dose_cpu_s(const struct helper_result *result)
{
	return (double)(result->user_us + result->sys_us) / 1e6;
}

enum assay_status dose_pair(dose_runner *run, void *context, const struct shaped *shaped, double *ns, struct assay_error *err)
{
	bool relative = shape_is_slowdown(shaped->shape), wall = relative && shapes[shaped->shape].means > SHAPE_FORGETTING;
	unsigned long times = relative ? MICROSECONDS : shaped->level > shape_usual(shaped->shape) ? TIMES / 4 : TIMES;
	const struct shaped sides[2] = { { shaped->shape, 0 }, *shaped };
	double time_s[2];
	char text[24];
	const char *const words[] = { "/proc/self/exe", "exercise", shapes[shaped->shape].name, text };

	snprintf(text, sizeof(text), "%lu", times);
	for (int side = 0; side < 2; side++) {
		struct helper_result result;
		enum assay_status st = run(context, words, sizeof(words) / sizeof(*words), &sides[side], 1, &result, err);

		if (st)
			return st;
		time_s[side] = wall ? (double)result.wall_ns / 1e9 : dose_cpu_s(&result);
	}
	*ns = relative ? 1000 * (time_s[1] / time_s[0] - 1) : 1e9 * (time_s[1] - time_s[0]) / (double)times;
	return ASSAY_OK;
}

struct dose dose_of(const double *ns, size_t n)
{
	struct dose dose = { .ns = stats_median(ns, n) };

	dose.spread = (n > DOSE_PAIRS ? MAD_TO_SD * stats_mad(ns, n) : stats_sd(ns, n)) / dose.ns;
	dose.error_ns = hypot(dose.spread / sqrt((double)n), SYSTEMATIC) * dose.ns;
	return dose;
}

enum assay_status dose_possible(dose_runner *run, void *context, unsigned shape, struct assay_error *err)
{
	const char *const words[] = { "/proc/self/exe", "exercise", shapes[shape].name, "1" };
	struct helper_result result;

	return run(context, words, sizeof(words) / sizeof(*words), &(struct shaped){ shape, 0 }, 1, &result, err);
}

enum assay_status dose_measure(dose_runner *run, void *context, const struct shaped *shaped, struct dose *out, struct assay_error *err)
{
	double ns[DOSE_PAIRS];
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < DOSE_PAIRS; i++)
		st = dose_pair(run, context, shaped, &ns[i], err);
	if (st)
		return st;
	*out = dose_of(ns, DOSE_PAIRS);
	if (!(out->ns > 3 * out->error_ns))
		return assay_fail(err, ASSAY_E_NODATA, "its dose cannot be told from nothing here: %.0f ns, standard error %.0f ns",
				  out->ns, out->error_ns);
	return ASSAY_OK;
}

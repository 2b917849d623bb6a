#include "runs/inside/samples/samples_mean.h"

#include "base/stats.h"

#include <math.h>

#define LEVEL .975

/* The samples of a function, and a counter of them. */
struct reading {
	const struct samples *samples;
	size_t first, n, counter;
	size_t accesses, simulated; /* counters of the emulation; SIZE_MAX: it is another back end */
	const double *own, *errors; /* a call, over all calls, in the function itself; NULL: not known */
	double bursts;		    /* that the errors rest on */
};

static double value_at(const struct reading *r, size_t i, size_t counter)
{
	const struct samples *s = r->samples;

	if (counter == SAMPLES_MEAN_NS)
		return s->items[i].ns;
	return counter == SAMPLES_MEAN_ALONE_NS ? s->items[i].alone_ns : s->values[i * s->n_counters + counter];
}

static double weight_at(const struct reading *r, size_t i)
{
	return r->samples->items[i].weight;
}

void samples_interval(double estimate, double error, double bursts, double *low, double *high)
{
	double away = error > 0 ? error * stats_t_quantile(LEVEL, fmax(bursts - 1, 1)) : 0;

	*low = fmax(estimate - away, 0);
	*high = estimate + away;
	if (isnan(estimate) || isnan(error))
		*low = *high = (double)NAN;
}

static bool own_is_known(const struct reading *r, size_t counter)
{
	return r->own && counter < r->samples->n_counters && !isnan(r->own[counter]) && !isnan(r->errors[counter]);
}

/* Where it is known what all calls did in the function itself, samples only say what their nested calls did. */
static double unknown_at(const struct reading *r, size_t i, size_t counter)
{
	double value = value_at(r, i, counter);

	return own_is_known(r, counter) ? value - r->samples->alone[i * r->samples->n_counters + counter] : value;
}

/* Of exact values: the weighted mean, and the variance that comes from calls that are not samples. */
static double mean_exact(const struct reading *r, size_t counter, double *variance, double *n)
{
	double sum = 0, weight = 0, squares = 0, mean;

	*n = 0;
	for (size_t i = r->first; i < r->first + r->n; i++) {
		double value = unknown_at(r, i, counter);

		sum += isnan(value) ? 0 : weight_at(r, i) * value;
		weight += isnan(value) ? 0 : weight_at(r, i);
		*n += !isnan(value);
	}
	mean = weight > 0 ? sum / weight : (double)NAN;
	for (size_t i = r->first; i < r->first + r->n; i++) {
		double w = weight_at(r, i), away = unknown_at(r, i, counter) - mean;

		squares += isnan(away) ? 0 : w * (w - 1) * away * away;
	}
	*variance = *n > 1 ? squares / (weight * weight) * *n / (*n - 1) : squares > 0 ? (double)INFINITY : 0;
	return mean;
}

/* Samples up to the next whose simulated counters are known, or the thread's end. Those of others are taken to be like the one known. */
struct stretch {
	size_t next;	      /* the first sample after it */
	size_t known;	      /* SIZE_MAX: none */
	double base, counted; /* accesses, weighted: of all, and those that all of them have been simulated for, in samples of one call */
};

static struct stretch stretch_find(const struct reading *r, size_t first)
{
	struct stretch out = { .next = first, .known = SIZE_MAX };
	size_t end = r->first + r->n;

	for (size_t i = first; i < end && r->samples->items[i].thread == r->samples->items[first].thread; i++) {
		bool known = !isnan(value_at(r, i, r->counter));
		double accesses = value_at(r, i, r->accesses);

		if (known && out.known != SIZE_MAX)
			break;
		out.known = known ? i : out.known;
		out.base += weight_at(r, i) * accesses;
		out.counted += known && weight_at(r, i) <= 1 && value_at(r, i, r->simulated) >= accesses ? accesses : 0;
		out.next = i + 1;
	}
	return out;
}

/* Of a simulated counter: its ratio to accesses. What was simulated as a whole, in each call, is no estimate. */
static double ratio_simulated(const struct reading *r, double *variance, double *n)
{
	double sum = 0, base = 0, counted = 0, squares = 0, ratio = 0;

	*n = 0;
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = r->first; i < r->first + r->n;) {
			struct stretch s = stretch_find(r, i);
			double accesses = s.known == SIZE_MAX ? 0 : value_at(r, s.known, r->accesses), here;

			i = s.next;
			if (!(accesses > 0))
				continue;
			here = unknown_at(r, s.known, r->counter) / accesses;
			sum += pass ? 0 : s.base * here;
			base += pass ? 0 : s.base;
			counted += pass ? 0 : s.counted;
			squares += pass ? (s.base - s.counted) * s.base * (here - ratio) * (here - ratio) : 0;
			*n += pass;
		}
		ratio = base > 0 ? sum / base : (double)NAN;
	}
	*variance = counted >= base ? 0 : *n > 1 ? squares / (base * base) * *n / (*n - 1) : (double)NAN;
	return ratio;
}

static bool any_estimated(const struct reading *r)
{
	for (size_t i = r->first; i < r->first + r->n; i++)
		if (r->samples->items[i].estimated)
			return true;
	return false;
}

static void mean_find(const struct reading *r, struct samples_mean *out)
{
	bool simulated = r->simulated != SIZE_MAX && r->counter > r->simulated && r->counter < r->samples->n_counters;
	double variance, n, some, ratio = (double)NAN, ratio_variance = 0;

	if (simulated)
		ratio = ratio_simulated(r, &ratio_variance, &n);
	if (!isnan(ratio)) { /* else it made no access */
		struct reading accesses = *r;

		accesses.counter = r->accesses;
		accesses.own = own_is_known(r, r->counter) ? NULL : r->own;
		mean_find(&accesses, out);
		variance = out->mean * out->mean * ratio_variance;
		out->mean *= ratio;
	} else {
		out->mean = mean_exact(r, r->counter, &variance, &n);
	}
	if (own_is_known(r, r->counter)) {
		out->mean += r->own[r->counter];
		some = r->errors[r->counter];
		n = some > 0 && !(variance > 0) ? r->bursts : some > 0 ? fmin(n, r->bursts) : n;
		variance += some * some;
	}
	samples_interval(out->mean, sqrt(variance), n, &out->low, &out->high);
}

struct samples_mean samples_mean(const struct samples *samples, size_t function, size_t counter)
{
	const struct samples_function *f = &samples->functions[function];
	struct reading r = {
		.samples = samples, .first = f->first, .n = f->n, .counter = counter, .accesses = SIZE_MAX, .simulated = SIZE_MAX
	};
	struct samples_total total;
	struct samples_mean out;

	samples_total_find(samples, function, &total);
	if (samples->back_end == RECORD_EMULATED && samples_counter(samples, "emulated:accesses") < samples->n_counters) {
		r.simulated = samples_counter(samples, "emulated:simulated");
		r.accesses = samples_counter(samples, "emulated:accesses");
	}
	for (size_t c = 0; c < samples->n_counters && total.calls; c++) {
		total.sums[c] /= (double)total.calls;
		total.errors[c] /= (double)total.calls;
	}
	if (r.simulated != SIZE_MAX && total.known && !isnan(total.sums[r.accesses]) && !any_estimated(&r)) {
		r.own = total.sums;
		r.errors = total.errors;
		r.bursts = total.bursts;
	}
	mean_find(&r, &out);
	samples_total_release(&total);
	return out;
}

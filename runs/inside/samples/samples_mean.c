#include "runs/inside/samples/samples.h"

#include "base/stats.h"

#include <math.h>

#define LEVEL	      .975
#define RULE_OF_THREE 3.0 /* rule of three: if no sample of n is of a kind, at most 3 / n of all are (95 % confidence) */

/* The samples of a function, and the counter to read. */
struct reading {
	const struct samples *samples;
	size_t first, n, counter;
	size_t accesses, simulated; /* index of the counters of accesses and of simulated accesses; SIZE_MAX if not emulated */
};

static double reading_value(const struct reading *r, size_t i, size_t counter)
{
	const struct samples *s = r->samples;

	if (counter == SAMPLES_MEAN_NS)
		return s->items[i].ns;
	return counter == SAMPLES_MEAN_SELF_NS ? s->items[i].self_ns : s->values[i * s->n_counters + counter];
}

static double weight_at(const struct reading *r, size_t i)
{
	return r->samples->items[i].weight;
}

void samples_compute_interval(double estimate, double error, double bursts, double *low, double *high)
{
	double away = error > 0 ? error * stats_t_quantile(LEVEL, fmax(bursts - 1, 1)) : 0;

	*low = fmax(estimate - away, 0);
	*high = estimate + away;
	if (isnan(estimate) || isnan(error))
		*low = *high = (double)NAN;
}

/* Weighted mean of a counter whose values are exact, its standard error, and the largest value. */
struct exact_mean {
	double mean, error, most;
	double n; /* effective number of samples (samples_effective_number()) */
};

static struct exact_mean compute_exact_mean(const struct reading *r, size_t counter)
{
	struct exact_mean out = { .most = 0 };
	double sum = 0, weight = 0, squares = 0, rest = 0;

	for (size_t i = r->first; i < r->first + r->n; i++) {
		double value = reading_value(r, i, counter), w = isnan(value) ? 0 : weight_at(r, i);

		sum += w > 0 ? w * value : 0;
		weight += w;
		rest += w * (w - 1);
		out.most = w > 0 ? fmax(out.most, value) : out.most;
	}
	out.mean = weight > 0 ? sum / weight : (double)NAN;
	out.n = samples_effective_number(weight, rest);
	for (size_t i = r->first; i < r->first + r->n; i++) {
		double w = weight_at(r, i), away = reading_value(r, i, counter) - out.mean;

		squares += isnan(away) ? 0 : w * (w - 1) * away * away;
	}
	out.error = squares > 0 ? sqrt(squares / (1 - 1 / out.n)) / weight : 0;
	return out;
}

/* A sample with known simulated counters, and its neighbors without. These are assumed to have the same ratio of counters to accesses. */
struct stretch {
	size_t next;	  /* index of the first sample after the stretch */
	size_t known;	  /* index of the sample with known counters; SIZE_MAX if there is none */
	double base;	  /* weighted sum of the accesses */
	bool is_complete; /* all accesses of the stretch were simulated */
};

static struct stretch stretch_find(const struct reading *r, size_t first)
{
	struct stretch out = { .next = first, .known = SIZE_MAX, .is_complete = true };
	size_t end = r->first + r->n;

	for (size_t i = first; i < end && r->samples->items[i].thread == r->samples->items[first].thread; i++) {
		bool known = !isnan(reading_value(r, i, r->counter));
		double accesses = reading_value(r, i, r->accesses);

		if (known && out.known != SIZE_MAX)
			break;
		out.known = known ? i : out.known;
		out.base += weight_at(r, i) * accesses;
		out.is_complete = out.is_complete && known && weight_at(r, i) <= 1 && reading_value(r, i, r->simulated) >= accesses;
		out.next = i + 1;
	}
	return out;
}

/* Returns the ratio of a simulated counter to accesses; NaN if there was no access. *is_complete: all accesses were simulated. */
static double simulated_ratio(const struct reading *r, bool *is_complete)
{
	double sum = 0, base = 0;

	*is_complete = true;
	for (size_t i = r->first; i < r->first + r->n;) {
		struct stretch s = stretch_find(r, i);
		double accesses = s.known == SIZE_MAX ? 0 : reading_value(r, s.known, r->accesses);

		*is_complete = *is_complete && s.is_complete;
		i = s.next;
		if (!(accesses > 0))
			continue;
		sum += s.base * reading_value(r, s.known, r->counter) / accesses;
		base += s.base;
	}
	return base > 0 ? sum / base : (double)NAN;
}

static void mean_find(const struct reading *r, struct samples_estimate_mean *out)
{
	bool simulated = r->simulated != SIZE_MAX && r->counter > r->simulated && r->counter < r->samples->n_counters, is_complete;
	double ratio = simulated ? simulated_ratio(r, &is_complete) : (double)NAN;

	if (!isnan(ratio)) { /* NaN: there was no access, or the counter is not simulated */
		struct reading accesses = *r;

		accesses.counter = r->accesses;
		mean_find(&accesses, out);
		out->mean *= ratio;
		out->low = out->high = is_complete ? out->mean : (double)NAN;
	} else {
		struct exact_mean exact = compute_exact_mean(r, r->counter);

		out->mean = exact.mean;
		samples_compute_interval(exact.mean, exact.n < SAMPLES_MEAN_MIN ? (double)NAN : exact.error, exact.n, &out->low,
					 &out->high);
		out->high += RULE_OF_THREE / exact.n * (exact.most - exact.mean);
	}
}

struct samples_estimate_mean samples_estimate_mean(const struct samples *samples, size_t function, size_t counter)
{
	const struct samples_function *f = &samples->functions[function];
	struct reading r = {
		.samples = samples, .first = f->first, .n = f->n, .counter = counter, .accesses = SIZE_MAX, .simulated = SIZE_MAX
	};
	struct samples_total total;
	struct samples_estimate_mean out;

	samples_total_find(samples, function, &total);
	if (counter < samples->n_counters && total.known && total.calls && !isnan(total.nested_sums[counter])) {
		double calls = (double)total.calls;

		out.mean = total.nested_sums[counter] / calls;
		samples_compute_interval(out.mean, total.nested_errors[counter] / calls, total.nested_bursts, &out.low, &out.high);
	} else {
		if (samples->back_end == RECORD_EMULATED && samples_find_counter(samples, "emulated:accesses") < samples->n_counters) {
			r.simulated = samples_find_counter(samples, "emulated:simulated");
			r.accesses = samples_find_counter(samples, "emulated:accesses");
		}
		mean_find(&r, &out);
	}
	samples_total_release(&total);
	return out;
}

/* What is published: runs are added one by one, until two averages, ave_piece and ave_half, differ by less than eps for `goal` times, or
 * until there are `max` runs; it is called a termination by variance. The listing itself was not at hand, so what is averaged over what is
 * our reading of these names: after each run the standard deviation of the errors of all runs so far; ave_piece is its average over the
 * last quarter of the runs, ave_half over the last half. Runs that bring nothing new leave both the same; a run unlike the earlier ones,
 * and errors that drift, move the shorter average first. The difference is ours, too, in being relative to mean + t standard deviations:
 * what is asked is by which part that, the published threshold, still moves, in any unit. */
#include "model/anomaly/termination.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>

#define RUNS_MIN 4   /* a quarter is one run */
#define T	 2.0 /* standard deviations above the mean: the published threshold */

const struct termination_options termination_defaults = { .eps = .02, .goal = 3, .max = 100 };

/* deviation [n]: of the first 1, 2, ... errors (Welford, Technometrics 4(3), 1962); mean [n] likewise. */
static void deviations_of(const double *error, size_t n, double *deviation, double *mean)
{
	double squares = 0.0, m = 0.0;

	for (size_t i = 0; i < n; i++) {
		double d = error[i] - m;

		m += d / (double)(i + 1);
		squares += d * (error[i] - m);
		deviation[i] = i ? sqrt(squares / (double)i) : 0.0;
		mean[i] = m;
	}
}

/* |ave_piece - ave_half| after r runs, relative to mean + t standard deviations. */
static double difference_after(const double *deviation, const double *mean, size_t r, double least)
{
	double ave_piece = stats_mean(deviation + r - r / 4, r / 4), ave_half = stats_mean(deviation + r - r / 2, r / 2);
	double scale = fmax(mean[r - 1] + T * deviation[r - 1], least);

	return scale > 0.0 ? stats_round(fabs(ave_piece - ave_half) / scale) : 0.0;
}

/* The standard deviation of r independent errors moves by about 1 / sqrt(r), so that a difference d after n runs is eps after n (d /
 * eps)^2. The difference itself is noise: the median of those of the last quarter of the runs stands for it. At least what is left to the
 * goal. */
static size_t runs_more(const double *difference, size_t n, const struct termination_options *o, size_t reached)
{
	size_t last = n / 4 > 0 ? n / 4 : 1, left = o->goal - reached, most = o->max - n;
	double d, more;

	if (n < RUNS_MIN)
		left = RUNS_MIN - 1 + o->goal - n;
	if (n < RUNS_MIN || left > most)
		return left < most ? left : most;
	if (last > n - RUNS_MIN + 1)
		last = n - RUNS_MIN + 1;
	d = stats_median(difference + n - last, last);
	more = ceil((double)n * ((d / o->eps) * (d / o->eps) - 1.0));
	if (!(more < (double)most))
		return most;
	return more > (double)left ? (size_t)more : left;
}

void termination_of(const double *error, size_t n, const struct termination_options *options, struct termination *out)
{
	double *deviation = mem_new(3 * n, sizeof(*deviation)), *mean = deviation + n, *difference = mean + n;
	size_t reached = 0;

	*out = (struct termination){ .chosen = n < options->max ? n : options->max };
	deviations_of(error, n, deviation, mean);
	for (size_t r = RUNS_MIN; r <= out->chosen && !out->sufficient; r++) {
		difference[r - 1] = difference_after(deviation, mean, r, options->least);
		reached = difference[r - 1] <= options->eps ? reached + 1 : 0;
		if (reached >= options->goal) {
			out->sufficient = true;
			out->chosen = r;
		}
	}
	if (!out->sufficient && n < options->max)
		out->runs_more = runs_more(difference, n, options, reached);
	free(deviation);
}

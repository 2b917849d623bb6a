/* Compares how well scorers detect injected shifts at the same rate of false positives: bench_scorers samples|runs REPEATS [SCORER]
 *
 * samples: only the scorers. They learn from 24 runs of 40 samples. The threshold is at 1 % of the normal samples of 100 runs; 50 runs
 * are shifted. runs: within the detector. It learns from 40 runs of 10 samples, at a rate of 0.05; 50 runs are normal, 50 shifted.
 * Prints a line of JSON per kind of normal rows and shift: the share of shifted samples (runs) above the threshold, that of other normal
 * ones, and how often a shifted column leads. Values are means over the repeats; each repeat draws everything again. */
#include "base/mem.h"
#include "base/stats.h"
#include "model/published/published.h"
#include "model/anomaly/detector.h"
#include "more_scorers.h"
#include "planted_rows.h"

#include <time.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { SAMPLES = 40, RUNS_TRAIN = 24, RUNS_LIMIT = 100, RUNS_SHIFTED = 50, REPEATS_MAX = 500, SHIFTS = 5 };
enum { LEARN_RUNS = 40, LEARN_SAMPLES = 10, JUDGED_RUNS = 50 };
#define FALSE_POSITIVES .01

_Static_assert(COUNT(shifts_of_samples) == SHIFTS && COUNT(shifts_of_runs) == SHIFTS, "as many of both");

static const struct scorer_kind *const scorers[] = { &scorer_mahalanobis, &scorer_autoencoder, &scorer_paper,
						     &scorer_som,	  &scorer_components,  &scorer_heaps };

struct result {
	double found[REPEATS_MAX], column[REPEATS_MAX];
};

struct results {
	struct result of[SHIFTS];
	double false_positives[REPEATS_MAX], seconds[REPEATS_MAX];
};

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- samples ---- */

static void errors_of(const struct scorer *scorer, const struct mat *rows, double *error, struct mat *parts)
{
	scorer->kind->parts(scorer, rows, parts, NULL);
	for (size_t i = 0; i < rows->rows; i++)
		error[i] = row_sum(parts, i);
}

static double share_above(const double *error, size_t n, double limit)
{
	size_t above = 0;

	for (size_t i = 0; i < n; i++)
		above += error[i] > limit;
	return (double)above / (double)n;
}

/* Returns, of the rows above the limit, the share whose leading column is a shifted one. */
static double share_right(const struct mat *parts, const double *error, double limit, const struct shift *shift, size_t moved)
{
	size_t right = 0, above = 0;

	for (size_t i = 0; i < parts->rows; i++) {
		size_t lead = 0;

		if (error[i] <= limit)
			continue;
		for (size_t j = 1; j < P; j++)
			if (mat_get(parts, i, j) > mat_get(parts, i, lead))
				lead = j;
		right += is_moved(shift, moved, lead);
		above++;
	}
	return above ? (double)right / (double)above : 0.0;
}

static struct scorer *learn(struct world *w, const struct kind *kind, const struct scorer_kind *with, size_t repeat, double *seconds)
{
	struct mat rows = rows_make(w, kind, RUNS_TRAIN, SAMPLES);
	size_t run[RUNS_TRAIN * SAMPLES];
	struct scorer *scorer;

	for (size_t i = 0; i < rows.rows; i++)
		run[i] = i / SAMPLES;
	*seconds = cpu_seconds();
	scorer = with->fit(&rows, run, repeat);
	*seconds = cpu_seconds() - *seconds;
	mat_release(&rows);
	return scorer;
}

static void measure_samples(const struct kind *kind, const struct scorer_kind *with, size_t repeat, struct results *results)
{
	struct world w;
	struct mat normal, other, parts = mat_new(RUNS_LIMIT * SAMPLES, P);
	double *error = mem_new(RUNS_LIMIT * SAMPLES, sizeof(*error)), limit;
	struct scorer *scorer;

	world_init(&w, 100 + repeat);
	scorer = learn(&w, kind, with, repeat, &results->seconds[repeat]);
	normal = rows_make(&w, kind, RUNS_LIMIT, SAMPLES);
	errors_of(scorer, &normal, error, &parts);
	limit = stats_quantile(error, normal.rows, 1.0 - FALSE_POSITIVES);
	other = rows_make(&w, kind, RUNS_LIMIT, SAMPLES);
	errors_of(scorer, &other, error, &parts);
	results->false_positives[repeat] = share_above(error, other.rows, limit);
	for (size_t s = 0; s < SHIFTS; s++) {
		const struct shift *shift = &shifts_of_samples[s];
		struct mat shifted = rows_make(&w, kind, RUNS_SHIFTED, SAMPLES);
		size_t moved = moved_draw(&w);

		shift->apply(&w, &shifted, shift, moved);
		parts.rows = shifted.rows;
		errors_of(scorer, &shifted, error, &parts);
		results->of[s].found[repeat] = share_above(error, shifted.rows, limit);
		results->of[s].column[repeat] = share_right(&parts, error, limit, shift, moved);
		mat_release(&shifted);
	}
	with->free(scorer);
	mat_release(&normal);
	mat_release(&other);
	mat_release(&parts);
	free(error);
}

/* ---- runs ---- */

static const char *const columns[P] = {
	"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"
};
static const char *const function = "f";
static double min_relevant_delta[P];

/* Converts rows to counts of about a million, 5 % per unit. Columns with bursts are 0 or multiples of the smallest relevant difference. */
static struct observations observations_of(struct world *w, const struct kind *kind, size_t runs, const struct shift *shift, size_t moved)
{
	struct mat rows = rows_make(w, kind, runs, LEARN_SAMPLES);
	struct observations o = { .values = rows,
				  .functions = 1,
				  .runs = runs,
				  .functions_names = &function,
				  .columns = columns,
				  .min_relevant_delta = min_relevant_delta };
	size_t *of = mem_new(rows.rows, sizeof(*of)), *run = mem_new(rows.rows, sizeof(*run));
	double *weight = mem_new(rows.rows, sizeof(*weight));

	if (shift)
		shift->apply(w, &rows, shift, moved);
	for (size_t i = 0; i < rows.rows; i++) {
		run[i] = i / LEARN_SAMPLES;
		weight[i] = 1.0;
		for (size_t j = 0; j < P; j++) {
			double x = mat_get(&rows, i, j);

			min_relevant_delta[j] = 1.0;
			mat_set(&rows, i, j, kind->bursts && j % 4 == 0 ? x : 1e6 * exp(.05 * x));
		}
	}
	o.function = of;
	o.run = run;
	o.weight = weight;
	return o;
}

static void observations_release(struct observations *o)
{
	mat_release(&o->values);
	free((void *)(uintptr_t)o->function);
	free((void *)(uintptr_t)o->run);
	free((void *)(uintptr_t)o->weight);
}

/* Returns the share of anomalous runs. Sets *right to whether the leading column is a shifted one. */
static double judge(const struct detector *detector, struct world *w, const struct kind *kind, const struct shift *shift, double *right)
{
	size_t moved = moved_draw(w);
	struct observations seen = observations_of(w, kind, JUDGED_RUNS, shift, moved);
	struct detection d;
	struct assay_error err;
	double share = 0.0;

	if (detector_judge(detector, &seen, &d, &err) == ASSAY_OK) {
		share = (double)d.runs_anomalous / (double)d.runs;
		*right = shift && d.functions[0].n_columns && is_moved(shift, moved, d.functions[0].columns[0].column);
		detection_release(&d);
	} else {
		fprintf(stderr, "bench_scorers: %s\n", err.text);
	}
	observations_release(&seen);
	return share;
}

static void measure_runs(const struct kind *kind, const struct scorer_kind *with, size_t repeat, struct results *results)
{
	struct detector_options options = detector_defaults;
	struct detector *detector = NULL;
	struct observations normal;
	struct assay_error err;
	struct world w;
	double none;

	world_init(&w, 100 + repeat);
	normal = observations_of(&w, kind, LEARN_RUNS, NULL, 0);
	options.scorer = with;
	options.clusters = 1;
	results->seconds[repeat] = cpu_seconds();
	if (detector_fit(&normal, &options, &detector, &err)) {
		fprintf(stderr, "bench_scorers: %s\n", err.text);
		exit(1);
	}
	results->seconds[repeat] = cpu_seconds() - results->seconds[repeat];
	results->false_positives[repeat] = judge(detector, &w, kind, NULL, &none);
	for (size_t s = 0; s < SHIFTS; s++)
		results->of[s].found[repeat] = judge(detector, &w, kind, &shifts_of_runs[s], &results->of[s].column[repeat]);
	detector_free(detector);
	observations_release(&normal);
}

/* ---- output ---- */

static void print(const char *mode, const char *normal, const struct shift *shifts, const char *scorer, const struct results *r, size_t n)
{
	for (size_t s = 0; s < SHIFTS; s++)
		printf(
		    "{\"of\":\"%s\",\"normal\":\"%s\",\"shift\":\"%s\",\"scorer\":\"%s\",\"repeats\":%zu,\"found\":%.3f,\"found_se\":%.3f,"
		    "\"column_right\":%.3f,\"false_positives\":%.4f,\"false_positives_se\":%.4f,\"fit_cpu_s\":%.4f}\n",
		    mode, normal, shifts[s].name, scorer, n, stats_mean(r->of[s].found, n), stats_sd(r->of[s].found, n) / sqrt((double)n),
		    stats_mean(r->of[s].column, n), stats_mean(r->false_positives, n), stats_sd(r->false_positives, n) / sqrt((double)n),
		    stats_median(r->seconds, n));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	size_t repeats = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : 0;
	bool samples = argc > 1 && !strcmp(argv[1], "samples");
	static struct results results;

	if (repeats == 0 || repeats > REPEATS_MAX || (!samples && strcmp(argv[1], "runs") != 0)) {
		fprintf(stderr, "usage: bench_scorers samples|runs REPEATS [SCORER]\n");
		return 2;
	}
	for (size_t k = 0; k < COUNT(kinds); k++) {
		for (size_t s = 0; s < COUNT(scorers); s++) {
			if (argc > 3 && strcmp(argv[3], scorers[s]->name) != 0)
				continue;
			for (size_t i = 0; i < repeats; i++)
				(samples ? measure_samples : measure_runs)(&kinds[k], scorers[s], i, &results);
			print(argv[1], kinds[k].name, samples ? shifts_of_samples : shifts_of_runs, scorers[s]->name, &results, repeats);
		}
	}
	return 0;
}

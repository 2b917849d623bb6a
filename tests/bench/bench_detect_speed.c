/* Measures the time of a whole detection (clusters, thresholds, judgement): 50 functions with 2,000 samples of 16 counters on either
 * side. Injects a fault into one function and fails if the detector does not find it. Prints each time. */
#include "base/mem.h"
#include "base/rng.h"
#include "model/anomaly/detector.h"
#include "model/parallel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define FUNCTIONS 50
#define RUNS	  40
#define SAMPLES	  50 /* samples per function and run */
#define COLUMNS	  16
#define FAULTY	  17
#define REPEATS	  3

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct side {
	struct observations observations;
	size_t *function, *run;
	double *weight;
};

static const char *functions[FUNCTIONS], *columns[COLUMNS];
static double min_relevant_delta[COLUMNS], base[FUNCTIONS][COLUMNS];

static void world(void)
{
	struct rng rng;

	rng_seed(&rng, 7);
	for (size_t f = 0; f < FUNCTIONS; f++) {
		functions[f] = mem_format("function_%02zu", f);
		for (size_t j = 0; j < COLUMNS; j++)
			base[f][j] = j < 3 ? 0.0 : exp(3.0 * rng_normal(&rng));
	}
	for (size_t j = 0; j < COLUMNS; j++) {
		columns[j] = mem_format("counter_%02zu", j);
		min_relevant_delta[j] = .01;
	}
}

/* Makes samples: one of three inputs per run, which affects half of the counters, and 1 % noise, partly common to several counters. */
static struct side make(size_t runs, uint64_t seed, double fault)
{
	size_t n = FUNCTIONS * runs * SAMPLES, i = 0;
	struct side s = { .function = mem_new(n, sizeof(size_t)), .run = mem_new(n, sizeof(size_t)), .weight = mem_new(n, sizeof(double)) };
	struct rng rng;

	rng_seed(&rng, seed);
	s.observations.values = mat_new(n, COLUMNS);
	for (size_t r = 0; r < runs; r++) {
		for (size_t k = 0; k < FUNCTIONS * SAMPLES; k++, i++) {
			size_t f = k % FUNCTIONS;
			double common = rng_normal(&rng);

			s.function[i] = f;
			s.run[i] = r;
			s.weight[i] = 1.0;
			for (size_t j = 0; j < COLUMNS; j++) {
				double x = base[f][j] * exp(.2 * (double)(r % 3) * (double)(j % 2) + .1 * common + .02 * rng_normal(&rng));

				mat_set(&s.observations.values, i, j, x + (f == FAULTY && j == 0 ? fault : 0.0));
			}
		}
	}
	s.observations.function = s.function;
	s.observations.run = s.run;
	s.observations.weight = s.weight;
	s.observations.functions = FUNCTIONS;
	s.observations.runs = runs;
	s.observations.functions_names = functions;
	s.observations.columns = columns;
	s.observations.min_relevant_delta = min_relevant_delta;
	return s;
}

static int detect(const struct side *normal, const struct side *seen, size_t threads, size_t i)
{
	struct detector_options options = detector_defaults;
	struct detection detection;
	struct detector *detector;
	struct assay_error err;
	double start = now_s(), fitted, end, cpu_s;
	clock_t cpu = clock();
	int failed;

	options.threads = threads;
	if (detector_fit(&normal->observations, &options, &detector, &err)) {
		fprintf(stderr, "bench_detect_speed: %s\n", err.text);
		return 1;
	}
	fitted = now_s();
	if (detector_judge(detector, &seen->observations, &detection, &err)) {
		fprintf(stderr, "bench_detect_speed: %s\n", err.text);
		detector_free(detector);
		return 1;
	}
	end = now_s();
	cpu_s = (double)(clock() - cpu) / CLOCKS_PER_SEC;
	failed = !detection.functions[FAULTY].anomalous || detection.functions[FAULTY].columns[0].column != 0 ||
		 !strchr(detector_info(detector)->topology, '-');
	printf("{\"sample\": %zu, \"threads\": %zu, \"fit_s\": %.3f, \"judge_s\": %.3f, \"total_s\": %.3f, \"cpu_s\": %.3f, \"topology\": "
	       "\"%s\", \"clusters\": %zu, "
	       "\"samples\": %zu, \"found\": %s}\n",
	       i, threads, fitted - start, end - fitted, end - start, cpu_s, detector_info(detector)->topology,
	       detector_info(detector)->clusters, detector_info(detector)->samples, failed ? "false" : "true");
	fflush(stdout);
	detection_release(&detection);
	detector_free(detector);
	return failed;
}

static void side_release(struct side *s)
{
	mat_release(&s->observations.values);
	free(s->function);
	free(s->run);
	free(s->weight);
}

int main(void)
{
	struct side normal, seen;
	int failed = 0;

	world();
	normal = make(RUNS, 1, 0.0);
	seen = make(RUNS, 2, 5.0);
	for (size_t i = 0; i < REPEATS; i++)
		failed |= detect(&normal, &seen, parallel_threads(), i);
	side_release(&normal);
	side_release(&seen);
	for (size_t f = 0; f < FUNCTIONS; f++)
		free((void *)(uintptr_t)functions[f]);
	for (size_t j = 0; j < COLUMNS; j++)
		free((void *)(uintptr_t)columns[j]);
	return failed;
}

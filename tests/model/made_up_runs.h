/* Synthetic runs of synthetic functions, for tests of the detector: counters with several kinds of noise, and an optional fault. */
#ifndef TESTS_MADE_UP_RUNS_H
#define TESTS_MADE_UP_RUNS_H

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "model/anomaly/detector.h"

#include <math.h>
#include <string.h>

#define COLUMNS	      6
#define FUNCTIONS_MAX 8

static const char *const columns[COLUMNS] = { "accesses", "branches", "hitm_false", "hitm_true", "misses", "remote" };
static const char *const functions[FUNCTIONS_MAX] = { "f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7" };
static const double min_relevant_delta[COLUMNS] = { 1, 1, 1, 1, 1, 1 };

enum kind {
	NOISE,	/* lognormal noise, partly common to all samples of the function in the run */
	HEAVY,	/* noise with tails of Student's t with 3 degrees of freedom */
	EXACT,	/* identical samples, except that one counter differs in one sample of 30 */
	INPUTS, /* each run has one of three inputs, which changes most counters and the number of samples */
};

struct world {
	enum kind kind;
	size_t functions, runs;
	size_t fault, column;	  /* faulty function (SIZE_MAX: no fault) and faulty column */
	double factor, add, part; /* factor and addend of the faulty column, in the share `part` of the samples */
	double missing;		  /* probability that a function, except the first, is not called in a run */
	uint64_t seed;
};

struct made {
	struct observations o;
	size_t *function, *run;
	double *weight;
	size_t capacity;
};

static void made_release(struct made *m)
{
	mat_release(&m->o.values);
	free(m->function);
	free(m->run);
	free(m->weight);
}

/* Returns a number distributed approximately as Student's t with 3 degrees of freedom. */
static double heavy(struct rng *rng)
{
	double squares = 0;

	for (size_t i = 0; i < 3; i++)
		squares += pow(rng_normal(rng), 2);
	return rng_normal(rng) / sqrt(squares / 3);
}

/* Returns column j of function f in one sample. The base value of the two hitm columns is 0. */
static double value_of(const struct world *w, size_t f, size_t j, double common, size_t input, struct rng *rng)
{
	double base = j == 2 || j == 3 ? 0 : 20 + 37 * (double)((f * 5 + j * 11) % 13);

	switch (w->kind) {
	case NOISE:
		return (base + 5) * exp(.1 * common + .1 * rng_normal(rng));
	case HEAVY:
		return (base + 5) * exp(.05 * common + .1 * heavy(rng));
	case EXACT:
		return j == 4 && rng_below(rng, 30) == 0 ? 1.5 * base : base;
	default:
		return base * (1 + (double)(input * (j % 3))) * exp(.05 * rng_normal(rng));
	}
}

static void add_sample(struct made *m, size_t f, size_t run, const double *row, double weight)
{
	size_t n = m->o.values.rows++;

	ASSAY_BUG_IF(n >= m->capacity);
	memcpy(&m->o.values.at[n * COLUMNS], row, COLUMNS * sizeof(*row));
	m->function[n] = f;
	m->run[n] = run;
	m->weight[n] = weight;
}

static struct made make(const struct world *w)
{
	static const size_t samples[] = { 2, 10, 30 };
	struct made m = { .capacity = w->runs * w->functions * 60 };
	struct rng rng;

	rng_seed(&rng, w->seed);
	m.o = (struct observations){ .functions = w->functions,
				     .runs = w->runs,
				     .functions_names = functions,
				     .columns = columns,
				     .min_relevant_delta = min_relevant_delta };
	m.o.values = mat_new(m.capacity, COLUMNS);
	m.o.values.rows = 0;
	m.function = mem_new(m.capacity, sizeof(size_t));
	m.run = mem_new(m.capacity, sizeof(size_t));
	m.weight = mem_new(m.capacity, sizeof(double));
	for (size_t run = 0; run < w->runs; run++) {
		size_t input = rng_below(&rng, 3);

		for (size_t f = 0; f < w->functions; f++) {
			double of_run = rng_normal(&rng);
			bool there = !(rng_double(&rng) < w->missing) || f == 0;

			for (size_t i = 0; there && i < samples[f % 3] * (w->kind == INPUTS ? 1 + input % 2 : 1); i++) {
				double row[COLUMNS];

				for (size_t j = 0; j < COLUMNS; j++)
					row[j] = value_of(w, f, j, of_run, input, &rng);
				if (f == w->fault && rng_double(&rng) < w->part)
					row[w->column] = row[w->column] * w->factor + w->add;
				add_sample(&m, f, run, row, 1 + (double)rng_below(&rng, 3));
			}
		}
	}
	m.o.function = m.function;
	m.o.run = m.run;
	m.o.weight = m.weight;
	return m;
}

#endif

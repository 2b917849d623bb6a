/* Compares settings of the autoencoder on synthetic samples; the default was chosen by the results. Prints a Markdown table. World A:
 * four functions, 20 counters on a logarithmic scale, three hidden causes of which one has two modes, 2 to 22 % noise, and a small
 * offset per run. World B: nine counters, three per cause, on lines and curves, 2 % noise. Injected fault: one counter of each sample is
 * off by 1, 2 or 5 standard deviations (within functions). "Found" is the share of samples with an error above the 98 % quantile of
 * unmodified samples. "Right" is the share of found samples in which the modified counter has the largest part. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "model/anomaly/autoencoder.c" /* for access to its internals */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RUNS  20
#define SEEDS 3
#define SIZES 3
#define STEPS 4000
#define BATCH 32

static const double sizes[SIZES] = { 1.0, 2.0, 5.0 };

struct world {
	const char *name;
	size_t columns, functions, rows;
	double rate[4][20], load[4][20][3], noise[20];
};

static void world_a(struct world *w, struct rng *rng)
{
	*w = (struct world){ "A", 20, 4, 4096, { { 0 } }, { { { 0 } } }, { 0 } };
	for (size_t f = 0; f < 4; f++)
		for (size_t j = 0; j < 20; j++) {
			w->rate[f][j] = 4.0 + 2.0 * rng_normal(rng);
			w->load[f][j][0] = .3 + .7 * rng_double(rng);
			for (size_t k = 1; k < 3; k++)
				w->load[f][j][k] = rng_double(rng) < .4 ? .5 * rng_normal(rng) : 0.0;
		}
	for (size_t j = 0; j < 20; j++)
		w->noise[j] = .02 + .2 * rng_double(rng) * rng_double(rng);
}

static void row_a(const struct world *w, size_t f, const double *off, double *x, struct rng *rng)
{
	double z[3] = { (rng_double(rng) < .3 ? 2.0 : 0.0) + .5 * rng_normal(rng), rng_normal(rng), fabs(rng_normal(rng)) };

	for (size_t j = 0; j < 20; j++) {
		double sum = w->rate[f][j] + off[j] + w->noise[j] * rng_normal(rng);

		for (size_t k = 0; k < 3; k++)
			sum += w->load[f][j][k] * z[k] * (k == 2 && z[0] > 1.0 ? 2.0 : 1.0);
		x[j] = asinh(exp(sum) / 10.0);
	}
}

static void world_b(struct world *w, struct rng *rng)
{
	(void)rng;
	*w = (struct world){ "B", 9, 1, 600, { { 0 } }, { { { 0 } } }, { 0 } };
}

static void row_b(double *x, struct rng *rng)
{
	double z[3] = { rng_normal(rng), rng_normal(rng), rng_normal(rng) };

	for (size_t j = 0; j < 9; j++)
		x[j] = (j < 3 ? z[j] : j < 6 ? sin(z[j - 3]) : .7 * z[j - 6]) + .02 * rng_normal(rng);
}

static struct mat rows_of(const struct world *w, struct rng *rng)
{
	struct mat m = mat_new(w->rows, w->columns);

	for (size_t r = 0; r < RUNS; r++) {
		double off[20];

		for (size_t j = 0; j < w->columns; j++)
			off[j] = .02 * rng_normal(rng);
		for (size_t i = r * w->rows / RUNS; i < (r + 1) * w->rows / RUNS; i++)
			if (w->functions > 1)
				row_a(w, i % w->functions, off, m.at + i * m.cols, rng);
			else
				row_b(m.at + i * m.cols, rng);
	}
	return m;
}

/* Divides columns by their standard deviation within functions, then all values by one number, as the scorer does. Returns that number. */
static double standardise(const struct world *w, struct mat *train, struct mat *held)
{
	double squares = 0.0;

	for (size_t j = 0; j < w->columns; j++) {
		double mean = 0.0, variance = 0.0, sd;

		for (size_t f = 0; f < w->functions; f++) {
			double total = 0.0, about = 0.0, n = 0.0;

			for (size_t i = f; i < w->rows; i += w->functions, n += 1.0)
				total += mat_get(train, i, j);
			for (size_t i = f; i < w->rows; i += w->functions)
				about += pow(mat_get(train, i, j) - total / n, 2.0);
			variance += about / n / (double)w->functions;
			mean += total / (double)w->rows;
		}
		sd = fmax(sqrt(variance), .05);
		for (size_t i = 0; i < w->rows; i++) {
			mat_set(train, i, j, (mat_get(train, i, j) - mean) / sd);
			mat_set(held, i, j, (mat_get(held, i, j) - mean) / sd);
			squares += pow(mat_get(train, i, j), 2.0);
		}
	}
	squares = sqrt(squares / (double)(w->rows * w->columns));
	for (size_t i = 0; i < w->rows * w->columns; i++) {
		train->at[i] /= squares;
		held->at[i] /= squares;
	}
	return squares;
}

struct variant {
	bool curved; /* true: world B, false: world A */
	enum lanes_activation hidden;
	size_t depth, width[AUTOENCODER_DEPTH_MAX];
	double swapped;
};

static const struct variant variants[] = {
	{ false, LANES_LINEAR, 1, { 10 }, 0 },	   { false, LANES_SIGMOID, 1, { 10 }, 0 },     { false, LANES_TANH, 1, { 3 }, 0 },
	{ false, LANES_TANH, 1, { 5 }, 0 },	   { false, LANES_TANH, 1, { 10 }, 0 },	       { false, LANES_TANH, 1, { 15 }, 0 },
	{ false, LANES_LINEAR, 2, { 20, 10 }, 0 }, { false, LANES_SIGMOID, 2, { 20, 10 }, 0 }, { false, LANES_TANH, 2, { 20, 5 }, 0 },
	{ false, LANES_TANH, 2, { 20, 10 }, 0 },   { false, LANES_TANH, 2, { 40, 10 }, 0 },    { false, LANES_TANH, 2, { 40, 14 }, 0 },
	{ false, LANES_TANH, 2, { 20, 10 }, .2 },  { false, LANES_TANH, 2, { 40, 10 }, .2 },   { false, LANES_TANH, 2, { 20, 10 }, 1 },
	{ false, LANES_TANH, 2, { 40, 10 }, 1 },   { true, LANES_TANH, 1, { 3 }, 0 },	       { true, LANES_TANH, 1, { 3 }, .2 },
	{ true, LANES_TANH, 1, { 5 }, 0 },	   { true, LANES_TANH, 1, { 5 }, .2 },	       { true, LANES_TANH, 2, { 18, 5 }, 0 },
	{ true, LANES_TANH, 2, { 18, 5 }, .2 },	   { true, LANES_TANH, 2, { 18, 5 }, 1 },
};

struct result {
	double held, milliseconds, found[SIZES], right[SIZES];
};

static void errors_of(const struct autoencoder *ae, const struct mat *rows, double *error, size_t *largest)
{
	struct mat made = mat_new(rows->rows, rows->cols);

	autoencoder_reconstruct(ae, rows, &made);
	for (size_t i = 0; i < rows->rows; i++) {
		double most = -1.0;

		error[i] = 0.0;
		for (size_t j = 0; j < rows->cols; j++) {
			double part = pow(mat_get(rows, i, j) - mat_get(&made, i, j), 2.0);

			error[i] += part;
			if (part > most) {
				most = part;
				largest[i] = j;
			}
		}
	}
	mat_release(&made);
}

/* Injects a fault of size `by` into each held-out row. */
static void plant(const struct autoencoder *ae, const struct mat *held, double threshold, double by, struct rng *rng, double *found,
		  double *right)
{
	struct mat off = mat_new(held->rows, held->cols);
	double *error = mem_new(held->rows, sizeof(*error)), n_found = 0.0, n_right = 0.0;
	size_t *column = mem_new(held->rows, sizeof(*column)), *largest = mem_new(held->rows, sizeof(*largest));

	memcpy(off.at, held->at, held->rows * held->cols * sizeof(double));
	for (size_t i = 0; i < held->rows; i++) {
		column[i] = rng_below(rng, held->cols);
		off.at[i * held->cols + column[i]] += rng_below(rng, 2) ? by : -by;
	}
	errors_of(ae, &off, error, largest);
	for (size_t i = 0; i < held->rows; i++)
		if (error[i] > threshold) {
			n_found += 1.0;
			n_right += largest[i] == column[i] ? 1.0 : 0.0;
		}
	*found += n_found / (double)held->rows / SEEDS;
	*right += n_found > 0.0 ? n_right / n_found / SEEDS : 0.0;
	mat_release(&off);
	free(error);
	free(column);
	free(largest);
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void try(const struct variant *v, uint64_t seed, struct result *out)
{
	struct world w;
	struct rng rng;
	struct mat train, held;
	struct autoencoder_shape shape = { .depth = v->depth, .hidden = v->hidden, .output = LANES_LINEAR };
	struct autoencoder_training how = { .rule = AUTOENCODER_ADAM, .rate = .02, .cooling = true, .batch = BATCH, .swapped = v->swapped };
	struct autoencoder *ae;
	double scale, *error, threshold, started;
	size_t *largest;

	rng_seed(&rng, seed);
	(v->curved ? world_b : world_a)(&w, &rng);
	train = rows_of(&w, &rng);
	held = rows_of(&w, &rng);
	scale = standardise(&w, &train, &held);
	shape.columns = w.columns;
	memcpy(shape.width, v->width, sizeof(shape.width));
	how.epochs = STEPS / ((w.rows + BATCH - 1) / BATCH);
	ae = autoencoder_new(&shape, seed);
	started = cpu_seconds();
	autoencoder_train(ae, &train, &how, seed);
	out->milliseconds += (cpu_seconds() - started) * 1e3 / SEEDS;
	out->held += autoencoder_error(ae, &held) / SEEDS;
	error = mem_new(w.rows, sizeof(*error));
	largest = mem_new(w.rows, sizeof(*largest));
	errors_of(ae, &held, error, largest);
	threshold = stats_quantile(error, w.rows, .98);
	for (size_t k = 0; k < SIZES; k++)
		plant(ae, &held, threshold, sizes[k] / scale, &rng, &out->found[k], &out->right[k]);
	free(error);
	free(largest);
	autoencoder_free(ae);
	mat_release(&train);
	mat_release(&held);
}

int main(void)
{
	static const char *const names[] = { "linear", "tanh", "sigmoid" };

	printf("| world | neurons | curve | rows swapped | held-out error | found: 1 sd | 2 sd | 5 sd | right counter: 1 sd | 2 "
	       "sd | 5 sd | CPU ms |\n"
	       "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		const struct variant *v = &variants[i];
		struct result r = { 0 };

		for (uint64_t seed = 0; seed < SEEDS; seed++)
			try(v, 10 + seed, &r);
		printf("| %s | %zu", v->curved ? "B" : "A", v->width[0]);
		for (size_t d = 1; d < v->depth; d++)
			printf("-%zu", v->width[d]);
		printf(" | %s | %g | %.4f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.0f |\n", names[v->hidden], v->swapped, r.held,
		       r.found[0], r.found[1], r.found[2], r.right[0], r.right[1], r.right[2], r.milliseconds);
	}
	return 0;
}

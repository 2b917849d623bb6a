/* Measures the training of a 32-16-8-16-32 network by Adam on 10,000 rows, in batches of 100, for 100 epochs (tests/evidence).
 *   bench_autoencoder data FILE         writes synthetic rows: 12,000 x 32 doubles, the last 2,000 of them held out
 *   bench_autoencoder start SEED        prints the weights before training, as JSON
 *   bench_autoencoder fit FILE SEED N   trains N networks in N threads; prints one line of JSON
 *   bench_autoencoder products          times the matrix products of a step by OpenBLAS and by model/anomaly/lanes.h; prints JSON */
#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "model/anomaly/autoencoder.c" /* for access to the weights */
#include "model/parallel.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COLUMNS		 32
#define ROWS		 ((size_t)10000)
#define HELD		 ((size_t)2000)
#define HIDDEN		 6
#define SIDE_BY_SIDE_MAX 16

static const struct autoencoder_shape shape = { COLUMNS, 2, { 16, 8 }, LANES_TANH, LANES_LINEAR, false };
static const struct autoencoder_training how = { .rule = AUTOENCODER_ADAM, .rate = 1e-3, .batch = 100, .epochs = 100 };

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Fills rows whose columns are a nonlinear function of a few hidden numbers, plus noise. */
static void make_rows(double *out)
{
	double load[HIDDEN][COLUMNS];
	struct rng rng;

	rng_seed(&rng, 1);
	for (size_t k = 0; k < HIDDEN; k++)
		for (size_t j = 0; j < COLUMNS; j++)
			load[k][j] = rng_normal(&rng);
	for (size_t i = 0; i < ROWS + HELD; i++) {
		double z[HIDDEN];

		for (size_t k = 0; k < HIDDEN; k++)
			z[k] = rng_normal(&rng);
		for (size_t j = 0; j < COLUMNS; j++) {
			double sum = 0.0;

			for (size_t k = 0; k < HIDDEN; k++)
				sum += z[k] * load[k][j];
			*out++ = tanh(sum) + .1 * rng_normal(&rng);
		}
	}
}

static int data(const char *path)
{
	double *rows = mem_new((ROWS + HELD) * COLUMNS, sizeof(*rows));
	FILE *file = fopen(path, "wb");
	bool ok;

	make_rows(rows);
	ok = file && fwrite(rows, sizeof(*rows), (ROWS + HELD) * COLUMNS, file) == (ROWS + HELD) * COLUMNS;
	if ((file && fclose(file) != 0) || !ok) {
		fprintf(stderr, "bench_autoencoder: cannot write '%s'\n", path);
		return 1;
	}
	free(rows);
	return 0;
}

/* Prints the elements of a block as one list, row by row, without the padding. */
static void print_block(const double *at, size_t rows, size_t columns)
{
	putchar('[');
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < columns; j++)
			printf("%s%.17g", i + j ? "," : "", at[i * lanes_padded(columns) + j]);
	putchar(']');
}

static int start(uint64_t seed)
{
	struct autoencoder *ae = autoencoder_new(&shape, seed);

	fputs("{\"layers\":[", stdout);
	for (size_t l = 0; l < ae->layers; l++) {
		printf("%s{\"weights\":", l ? "," : "");
		print_block(ae->values.at + ae->weights_at[l], ae->width[l], ae->width[l + 1]);
		fputs(",\"biases\":", stdout);
		print_block(ae->values.at + ae->biases_at[l], 1, ae->width[l + 1]);
		putchar('}');
	}
	puts("]}");
	autoencoder_free(ae);
	return 0;
}

struct fits {
	struct mat rows, held;
	uint64_t seed;
	double loss[SIDE_BY_SIDE_MAX];
};

static void fit_one(void *context, size_t i)
{
	struct fits *fits = context;
	struct autoencoder *ae = autoencoder_new(&shape, fits->seed);

	autoencoder_train(ae, &fits->rows, &how, fits->seed + 1000 * i);
	fits->loss[i] = autoencoder_error(ae, &fits->held);
	autoencoder_free(ae);
}

static int fit(const char *path, uint64_t seed, size_t n)
{
	double *rows = mem_new((ROWS + HELD) * COLUMNS, sizeof(*rows)), wall, cpu;
	struct fits fits = { .rows = { ROWS, COLUMNS, rows }, .held = { HELD, COLUMNS, rows + ROWS * COLUMNS }, .seed = seed };
	FILE *file = fopen(path, "rb");

	if (!file || fread(rows, sizeof(*rows), (ROWS + HELD) * COLUMNS, file) != (ROWS + HELD) * COLUMNS) {
		fprintf(stderr, "bench_autoencoder: cannot read '%s'\n", path);
		return 1;
	}
	fclose(file);
	wall = seconds(CLOCK_MONOTONIC);
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	parallel_for(n, n, fit_one, &fits);
	wall = seconds(CLOCK_MONOTONIC) - wall;
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	printf("{\"program\":\"assay\",\"fits\":%zu,\"threads\":%zu,\"wall_s\":%.6f,\"cpu_s\":%.6f,\"held_out\":%.9g}\n", n, n, wall, cpu,
	       fits.loss[0]);
	free(rows);
	return 0;
}

/* ---- products ---- */

static const struct {
	int rows, columns, depth;
	bool transposed,
	    other; /* whether the first / second factor is transposed; our code transposes the second factor before the measurement */
} products[] = {
	{ 100, 16, 32, false, false }, { 100, 8, 16, false, false }, { 100, 16, 8, false, false }, { 100, 32, 16, false, false },
	{ 16, 32, 100, true, false },  { 8, 16, 100, true, false },  { 16, 8, 100, true, false },  { 32, 16, 100, true, false },
	{ 100, 16, 32, false, true },  { 100, 8, 16, false, true },  { 100, 16, 8, false, true },
};

static void by_blas(double *a, double *b, double *c)
{
	for (size_t i = 0; i < sizeof(products) / sizeof(products[0]); i++) {
		int m = products[i].rows, n = products[i].columns, k = products[i].depth;

		cblas_dgemm(CblasRowMajor, products[i].transposed ? CblasTrans : CblasNoTrans,
			    products[i].other ? CblasTrans : CblasNoTrans, m, n, k, 1.0, a, products[i].transposed ? m : k, b,
			    products[i].other ? k : n, 0.0, c, n);
	}
}

static void by_lanes(double *a, double *b, double *c)
{
	for (size_t i = 0; i < sizeof(products) / sizeof(products[0]); i++) {
		size_t m = (size_t)products[i].rows, n = (size_t)products[i].columns, k = (size_t)products[i].depth;
		double turned[COLUMNS * COLUMNS];

		for (size_t r = 0; products[i].other && r < k; r++)
			for (size_t j = 0; j < n; j++)
				turned[r * n + j] = b[j * k + r];
		lanes_product(m, n, k, a, products[i].transposed ? 1 : k, products[i].transposed ? m : 1, products[i].other ? turned : b,
			      NULL, c);
	}
}

/* Returns the CPU time of one step, us: the minimum of 20 measurements, because disturbances only add time. */
static double microseconds(void (*work)(double *a, double *b, double *c), double *a, double *b, double *c)
{
	double least = HUGE_VAL;

	for (int k = 0; k < 20; k++) {
		double started = seconds(CLOCK_PROCESS_CPUTIME_ID);

		for (int i = 0; i < 200; i++)
			work(a, b, c);
		least = fmin(least, (seconds(CLOCK_PROCESS_CPUTIME_ID) - started) / 200 * 1e6);
	}
	return least;
}

static int times_of_products(void)
{
	double *x = mem_new(3 * 4096, sizeof(*x));

	openblas_set_num_threads(1);
	for (size_t i = 0; i < (size_t)2 * 4096; i++)
		x[i] = .01 * (double)(i % 7);
	printf("{\"openblas\":\"%s\",\"openblas_us\":%.3f,\"lanes_us\":%.3f}\n", openblas_get_corename(),
	       microseconds(by_blas, x, x + 4096, x + 8192), microseconds(by_lanes, x, x + 4096, x + 8192));
	free(x);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "data"))
		return data(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "start"))
		return start(strtoull(argv[2], NULL, 10));
	if (argc == 5 && !strcmp(argv[1], "fit")) {
		size_t n = strtoul(argv[4], NULL, 10);

		if (n >= 1 && n <= SIDE_BY_SIDE_MAX)
			return fit(argv[2], strtoull(argv[3], NULL, 10), n);
	}
	if (argc == 2 && !strcmp(argv[1], "products"))
		return times_of_products();
	fprintf(stderr, "usage: bench_autoencoder data FILE | start SEED | fit FILE SEED N | products\n");
	return 2;
}

/* Dense linear algebra: multiplies, transposes, computes norms, iterates. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TILE 32

struct matrix {
	int n;
	double *v;
};

static struct matrix matrix_new(int n)
{
	return (struct matrix){ n, calloc((size_t)n * n, sizeof(double)) };
}

static void matrix_fill(struct matrix *m, unsigned seed)
{
	for (int i = 0; i < m->n * m->n; i++) {
		seed = seed * 1103515245u + 12345u;
		m->v[i] = (double)(seed >> 16 & 1023) / 1024 - .5;
	}
}

#if TIDY
static void tile_multiply(const struct matrix *a, const struct matrix *b, struct matrix *c, int ii, int kk, int jj)
{
	int n = a->n;

	for (int i = ii; i < ii + TILE && i < n; i++)
		for (int k = kk; k < kk + TILE && k < n; k++) {
			double x = a->v[i * n + k];

			for (int j = jj; j < jj + TILE && j < n; j++)
				c->v[i * n + j] += x * b->v[k * n + j];
		}
}
#endif

static void matrix_multiply(const struct matrix *a, const struct matrix *b, struct matrix *c)
{
	int n = a->n;

	memset(c->v, 0, (size_t)n * n * sizeof(double));
#if FAULT == 1
	for (int j = 0; j < n; j++)
		for (int k = 0; k < n; k++) {
			double x = b->v[k * n + j];

			for (int i = 0; i < n; i++)
				c->v[i * n + j] += x * a->v[i * n + k];
		}
#else
	for (int ii = 0; ii < n; ii += TILE)
		for (int kk = 0; kk < n; kk += TILE)
			for (int jj = 0; jj < n; jj += TILE)
#if TIDY
				tile_multiply(a, b, c, ii, kk, jj);
#else
				for (int i = ii; i < ii + TILE && i < n; i++)
					for (int k = kk; k < kk + TILE && k < n; k++) {
						double x = a->v[i * n + k];

						for (int j = jj; j < jj + TILE && j < n; j++)
							c->v[i * n + j] += x * b->v[k * n + j];
					}
#endif
#endif
}

static void matrix_transpose(const struct matrix *a, struct matrix *out)
{
	int n = a->n;

	for (int ii = 0; ii < n; ii += TILE)
		for (int jj = 0; jj < n; jj += TILE)
			for (int i = ii; i < ii + TILE && i < n; i++)
				for (int j = jj; j < jj + TILE && j < n; j++)
					out->v[j * n + i] = a->v[i * n + j];
}

static double matrix_norm(const struct matrix *a)
{
	double sum = 0;

#if FAULT == 2
	for (int j = 0; j < a->n; j++)
		for (int i = 0; i < a->n; i++)
			sum += a->v[i * a->n + j] * a->v[i * a->n + j];
#else
	for (int i = 0; i < a->n; i++)
		for (int j = 0; j < a->n; j++)
			sum += a->v[i * a->n + j] * a->v[i * a->n + j];
#endif
	return sqrt(sum);
}

static void matrix_scale(struct matrix *a, double by)
{
	for (int i = 0; i < a->n * a->n; i++)
		a->v[i] *= by;
}

static double power_step(struct matrix *a, struct matrix *t, struct matrix *c)
{
	double norm;

	matrix_transpose(a, t);
	matrix_multiply(a, t, c);
	norm = matrix_norm(c);
	matrix_scale(c, 1 / norm);
	memcpy(a->v, c->v, (size_t)a->n * a->n * sizeof(double));
	return norm;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 96;
	struct matrix a = matrix_new(n), t = matrix_new(n), c = matrix_new(n);
	double norm = 0;

	matrix_fill(&a, argc > 2 ? (unsigned)atoi(argv[2]) : 1);
	for (int i = 0; i < 2; i++)
		norm = power_step(&a, &t, &c);
	printf("%.6f\n", norm);
	free(a.v);
	free(t.v);
	free(c.v);
	return 0;
}

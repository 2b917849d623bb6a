/* A dense matrix of doubles in row-major order. */
#ifndef BASE_MAT_H
#define BASE_MAT_H

#include <stddef.h>

struct mat {
	size_t rows, cols;
	double *at; /* [rows x cols]; element (i, j) is at[i * cols + j] */
};

struct mat mat_new(size_t rows, size_t cols); /* returns a zeroed matrix; exits if memory runs out */
void mat_release(struct mat *m);	      /* frees the elements; accepts a zeroed struct */

static inline double mat_get(const struct mat *m, size_t i, size_t j)
{
	return m->at[i * m->cols + j];
}

static inline void mat_set(struct mat *m, size_t i, size_t j, double value)
{
	m->at[i * m->cols + j] = value;
}

#endif

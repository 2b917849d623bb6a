/* What the training of small networks spends its time in. Nothing is fused, a sum is taken in the order of its rows, and an element of a
 * product depends on its row and column alone, whatever else is in the matrix: the same bits on every machine. A library's dgemm is not
 * used: its bits are those of the CPU, and at these shapes (100 x 32 x 16) it is no faster. */
#ifndef MODEL_ANOMALY_LANES_H
#define MODEL_ANOMALY_LANES_H

#include <stddef.h>

/* Rows of what is written, and `columns` of lanes_product, are multiples of this many numbers. */
#define LANES_PAD 8

static inline size_t lanes_padded(size_t n)
{
	return (n + LANES_PAD - 1) / LANES_PAD * LANES_PAD;
}

/* What neurons do with their sum. */
enum lanes_curve { LANES_LINEAR, LANES_TANH, LANES_SIGMOID };

/* c [rows x columns] = a [rows x depth] b [depth x columns], plus `start` [columns] in each row when not NULL. Element (r, k) of a is
 * a[r * a_row + k * a_depth], so that it can be a transposed one; b and c are dense. */
void lanes_product(size_t rows, size_t columns, size_t depth, const double *a, size_t a_row, size_t a_depth, const double *b,
		   const double *start, double *c);

void lanes_curve(enum lanes_curve curve, double *x, size_t n); /* in place; off by less than 5e-16 */

#endif

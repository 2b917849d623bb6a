/* Inner loops of the training of small networks. To give the same bits on all machines, the loops use no fused multiply-add, and add in the
 * order of rows. An element of a product depends only on its row and column, not on the rest of the matrix. A library's dgemm would give
 * bits that depend on the CPU, and is no faster for these sizes (100 x 32 x 16). */
#ifndef MODEL_ANOMALY_LANES_H
#define MODEL_ANOMALY_LANES_H

#include <stddef.h>

/* Rows of outputs, and `columns` of lanes_product(), are padded to a multiple of this number. */
#define LANES_PAD 8

static inline size_t lanes_padded(size_t n)
{
	return (n + LANES_PAD - 1) / LANES_PAD * LANES_PAD;
}

/* Activation functions of neurons. */
enum lanes_activation { LANES_LINEAR, LANES_TANH, LANES_SIGMOID };

/* Computes c = a b, where c is [rows x columns], a is [rows x depth] and b is [depth x columns]; adds start [columns] to each row unless it
 * is NULL. Element (r, k) of a is a[r * a_row + k * a_depth], so that a can be transposed. b and c are dense. */
void lanes_product(size_t rows, size_t columns, size_t depth, const double *a, size_t a_row, size_t a_depth, const double *b,
		   const double *start, double *c);

void lanes_activation(enum lanes_activation curve, double *x, size_t n); /* applies the function in place; absolute error below 5e-16 */

#endif

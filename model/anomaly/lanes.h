/* What the training of small networks spends its time in, several numbers at a time. No operation depends on how many: a sum is taken in
 * the same order by every variant and nothing is fused, so that all of them, on every machine, give the same bits; and an element of a
 * product depends on its row and column alone, whatever else is in the matrix. A library's dgemm is not used: at these shapes (100 x 32 x
 * 16) it takes two to five times as long (docs/evidence/autoencoder.md), and its bits are those of the processor. */
#ifndef MODEL_ANOMALY_LANES_H
#define MODEL_ANOMALY_LANES_H

#include <stdbool.h>
#include <stddef.h>

/* Rows of what is written, and `columns` of product and sum_rows, are multiples of this many numbers. */
#define LANES_PAD 8

static inline size_t lanes_padded(size_t n)
{
	return (n + LANES_PAD - 1) / LANES_PAD * LANES_PAD;
}

/* What neurons do with their sum. */
enum lanes_curve { LANES_LINEAR, LANES_TANH, LANES_SIGMOID };

/* Adam (Kingma and Ba, ICLR 2015, algorithm 1), both corrections for the start folded into two numbers. */
struct lanes_adam {
	double first, second; /* beta 1 and 2 */
	double rate;	      /* alpha / (1 - beta1^t) */
	double root, floor;   /* 1 / sqrt(1 - beta2^t), epsilon */
};

/* Counts of the element-wise ones are multiples of LANES_PAD, too. */
struct lanes {
	const char *name;
	/* c [rows x columns] = a [rows x depth] b [depth x columns], plus `start` [columns] in each row when not NULL. Element
	 * (r, k) of a is a[r * a_row + k * a_depth], so that it can be a transposed one; b and c are dense. */
	void (*product)(size_t rows, size_t columns, size_t depth, const double *a, size_t a_row, size_t a_depth, const double *b,
			const double *start, double *c);
	void (*sum_rows)(size_t rows, size_t columns, const double *x, double *sum);
	void (*curve)(enum lanes_curve curve, double *x, size_t n); /* in place; off by less than 5e-16 */
	/* x *= slope of the curve where its value is y */
	void (*slope)(enum lanes_curve curve, const double *y, double *x, size_t n);
	void (*miss)(const double *target, double factor, double *y, size_t n); /* y = (y - target) * factor */
	void (*adam)(const struct lanes_adam *adam, const double *slope, double *first, double *second, double *x, size_t n);
	void (*descend)(double rate, const double *slope, double *x, size_t n); /* x -= rate * slope */
};

/* The fastest that this processor can do. Always the same one. */
const struct lanes *lanes_here(void);

/* All that it can do: writes at most `max` of them, returns how many there are. For tests. */
size_t lanes_all(const struct lanes **out, size_t max);

#endif

/* The exact minimum of the LASSO for one lambda, from a point near it: columns that are not zero are an active set, for which the normal
 * equations are solved by Cholesky's factor; on the way to their solution the first coefficient that would change its sign leaves, and
 * where there is none the column with the largest pull that the price does not hold enters. Each step makes the sum smaller, so that no set
 * comes twice. After Lee et al., "Efficient sparse coding algorithms" (NIPS 2006), and for coefficients that are not negative Lawson and
 * Hanson, "Solving Least Squares Problems" (1974), chapter 23. Coordinate descent needs a step for each part in which columns that go
 * together differ; this needs none. */
#ifndef MODEL_SPARSE_ACTIVE_SET_H
#define MODEL_SPARSE_ACTIVE_SET_H

#include <stdbool.h>
#include <stddef.h>

struct active_problem {
	const double *z; /* [p x n] columns, one after the other */
	size_t n, p;
	const bool *allowed; /* [p]; the coefficients of all others are 0 */
	double lambda;	     /* of 1/2 |rest|^2 + lambda sum |b| */
	bool any_sign;	     /* coefficients may be negative */
	double enough;	     /* a pull that exceeds lambda by no more does not enter */
};

/* b [p], whose columns that are not 0 are where it begins, and rest [n], which is what they leave, become those of the minimum. O(n * p)
 * and the square of the columns that are not zero for each that enters, the cube for each that leaves. Where rounding lets nothing more be
 * gained it ends, too. Columns that are sums of others take the place of one of those. */
void active_set_solve(const struct active_problem *problem, double *b, double *rest);

double active_set_dot(const double *x, const double *y, size_t n);

#endif

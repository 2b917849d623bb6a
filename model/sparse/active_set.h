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
	const double *y; /* [n] */
	size_t n, p;
	const double *pull;  /* [p] products of y with the columns */
	double **products;   /* [p] of a column with all; NULL until it is needed. Kept for other problems with the same z: free() each */
	const bool *allowed; /* [p]; the coefficients of all others are 0 */
	bool any_sign;	     /* coefficients may be negative */
	double enough;	     /* a pull that exceeds lambda by no more does not enter */
};

/* The set lasts from one lambda to the next. b [p], whose columns that are not 0 are where it begins, becomes what minimises
 * 1/2 |y - sum b z|^2 + lambda sum |b|; between calls nothing else may change it. All is borrowed until active_set_free(). */
struct active_set *active_set_new(const struct active_problem *problem, double *b);
/* O(n * p) for each column that enters for the first time, O(n) for each that is in the set, and the square of their number. Where rounding
 * lets nothing more be gained it ends, too. Columns that are sums of others take the place of one of those. */
void active_set_solve(struct active_set *set, double lambda);
void active_set_free(struct active_set *set); /* accepts NULL */

double active_set_dot(const double *x, const double *y, size_t n);

#endif

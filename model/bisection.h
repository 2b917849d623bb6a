/* The first of n things in a row that is bad, by answers that are sometimes wrong. A posterior over the places; what is asked next divides
 * it best: probabilistic bisection (Horstein, IEEE Transactions on Information Theory 9(3), 1963; Waeber, Frazier and Henderson, SIAM
 * Journal on Control and Optimization 51(3), 2013). */
#ifndef MODEL_BISECTION_H
#define MODEL_BISECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bisection {
	size_t n;
	double wrong;	   /* chance that an answer is */
	double *posterior; /* [n], that the first bad one is here; sums to 1 */
	size_t *asked;	   /* [n], answers of each */
	bool *skipped;	   /* [n], cannot be asked */
};

/* n > 0 things, of which the last is bad; bisection_release() it. */
void bisection_init(struct bisection *b, size_t n, double wrong);
void bisection_release(struct bisection *b); /* accepts zeroed */

/* Which one to ask about; SIZE_MAX: no answer would tell more. One that was asked about before where it divides nearly as well as a new
 * one, for that costs less. */
size_t bisection_next(const struct bisection *b);
void bisection_tell(struct bisection *b, size_t at, bool bad);
void bisection_skip(struct bisection *b, size_t at);

/* The most probable one, or, where those before it could not be asked, with them: [*from, *to]. Returns how probable they are together. */
double bisection_found(const struct bisection *b, size_t *from, size_t *to);

#endif

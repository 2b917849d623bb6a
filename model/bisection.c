#include "model/bisection.h"

#include "base/mem.h"

#include <math.h>

#define AS_WELL .2 /* of the posterior: what divides it worse by no more than that is as good when it is known already */

void bisection_init(struct bisection *b, size_t n, double wrong)
{
	*b = (struct bisection){ n, wrong, mem_new(n, sizeof(*b->posterior)), mem_new(n, sizeof(*b->asked)),
				 mem_new(n, sizeof(*b->skipped)) };
	for (size_t i = 0; i < n; i++)
		b->posterior[i] = 1.0 / (double)n;
}

void bisection_release(struct bisection *b)
{
	mem_free(b->posterior, b->asked, b->skipped);
	*b = (struct bisection){ 0 };
}

size_t bisection_next(const struct bisection *b)
{
	double before = 0, nearest = .5, known_nearest = .5;
	size_t best = SIZE_MAX, known = SIZE_MAX;

	for (size_t i = 0; i + 1 < b->n; i++) { /* that the last one is bad is known */
		double distance;

		before += b->posterior[i]; /* it is bad with so much */
		distance = fabs(before - .5);
		if (b->skipped[i])
			continue;
		if (distance < nearest) {
			nearest = distance;
			best = i;
		}
		if (b->asked[i] && distance < known_nearest) {
			known_nearest = distance;
			known = i;
		}
	}
	return known != SIZE_MAX && known_nearest <= nearest + AS_WELL && known_nearest < .5 - AS_WELL ? known : best;
}

void bisection_tell(struct bisection *b, size_t at, bool bad)
{
	double sum = 0;

	for (size_t i = 0; i < b->n; i++) {
		b->posterior[i] *= (i <= at) == bad ? 1.0 - b->wrong : b->wrong;
		sum += b->posterior[i];
	}
	for (size_t i = 0; i < b->n; i++)
		b->posterior[i] /= sum;
	b->asked[at]++;
}

void bisection_skip(struct bisection *b, size_t at)
{
	b->skipped[at] = true;
}

double bisection_found(const struct bisection *b, size_t *from, size_t *to)
{
	double best = -1, sum = 0;

	for (size_t end = 0, begin = 0; end < b->n; end++) { /* a run of skipped ones and the one that ends it cannot be told apart */
		sum += b->posterior[end];
		if (b->skipped[end] && end + 1 < b->n)
			continue;
		if (sum > best) {
			best = sum;
			*from = begin;
			*to = end;
		}
		begin = end + 1;
		sum = 0;
	}
	return best;
}

#include "model/variance/slow_spans.h"

#include "base/mem.h"

#include <stdlib.h>

/* A candidate: the sums of all scores before it, and up to its end. */
struct candidate {
	double before, behind;
	size_t from, to;
};

/* Joins the last candidate with those before it that it outweighs; the number of candidates that are left. */
static size_t candidates_join(struct candidate *c, size_t n)
{
	for (;;) {
		size_t j = n - 1;

		while (j > 0 && !(c[j - 1].before < c[n - 1].before))
			j--;
		if (j == 0 || c[j - 1].behind >= c[n - 1].behind)
			return n;
		c[j - 1].behind = c[n - 1].behind;
		c[j - 1].to = c[n - 1].to;
		n = j;
	}
}

size_t slow_spans(const double *score, size_t n, struct slow_span *out)
{
	struct candidate *c = mem_new(n + 1, sizeof(*c));
	double sum = 0;
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		sum += score[i];
		if (!(score[i] > 0))
			continue;
		c[found++] = (struct candidate){ sum - score[i], sum, i, i + 1 };
		found = candidates_join(c, found);
	}
	for (size_t i = 0; i < found; i++)
		out[i] = (struct slow_span){ c[i].from, c[i].to, c[i].behind - c[i].before };
	free(c);
	return found;
}

#include "model/profile/range.h"

#include "base/mem.h"
#include "base/stats.h"
#include "model/profile/nnls.h"
#include "model/parallel.h"
#include "model/profile/shares.h"

#include <math.h>
#include <string.h>

#define STEPS 30 /* of the bisection: the share is known to better than 1e-6 */

struct ranging {
	const struct blend_data *data;
	struct mat G;
	double *h;
	double limit; /* mean squared relative error of a fit that is just good enough */
	double *least, *most;
};

/* The share of a group under the best fit whose error has the share times `multiplier` taken off. *error gets its own error. */
static double share_at(const struct ranging *r, size_t group, double multiplier, struct nnls *nnls, double *h, double *w,
                       double *error)
{
	size_t p = r->G.cols;
	double share = 0.0;

	for (size_t k = 0; k < p; k++)
		h[k] = r->h[k] * (r->data->sums.group[k] == group ? 1.0 + multiplier : 1.0);
	nnls_solve(nnls, &r->G, h, w);
	for (size_t k = 0; k < p; k++)
		share += r->data->sums.group[k] == group ? w[k] * r->h[k] : 0.0;
	*error = 1.0 + nnls_objective(&r->G, r->h, w);
	return share;
}

/* The share at the multiplier of this sign at which the error reaches the limit. */
static double end_of(const struct ranging *r, size_t group, double sign)
{
	size_t p = r->G.cols;
	struct nnls *nnls = nnls_new(p);
	double *h = mem_new(2 * p, sizeof(*h)), low = 0.0, high = 1e-3, error, share, best;

	best = share_at(r, group, 0.0, nnls, h, h + p, &error);
	share = share_at(r, group, sign * high, nnls, h, h + p, &error);
	while (error <= r->limit && high < 1e4) {
		low = high;
		best = share;
		high *= 4.0;
		share = share_at(r, group, sign * high, nnls, h, h + p, &error);
	}
	if (error <= r->limit)
		best = share; /* nothing holds it back */
	for (size_t i = 0; i < STEPS && error > r->limit * (1.0 - 1e-6) && high - low > 1e-6 * high; i++) {
		double middle = .5 * (low + high), at;

		share = share_at(r, group, sign * middle, nnls, h, h + p, &at);
		if (at > r->limit) {
			high = middle;
		} else {
			low = middle;
			best = share;
		}
	}
	nnls_free(nnls);
	free(h);
	return fmin(fmax(best, 0.0), 1.0);
}

static void range_group(void *context, size_t i)
{
	struct ranging *r = context;

	if (i % 2)
		r->most[i / 2] = end_of(r, i / 2, 1.0);
	else
		r->least[i / 2] = end_of(r, i / 2, -1.0);
}

static double best_error(const struct ranging *r)
{
	struct nnls *nnls = nnls_new(r->G.cols);
	double *w = mem_new(r->G.cols, sizeof(*w)), error;

	nnls_solve(nnls, &r->G, r->h, w);
	error = 1.0 + nnls_objective(&r->G, r->h, w);
	nnls_free(nnls);
	free(w);
	return fmax(error, 0.0);
}

void range_of(const struct blend_data *d, double noise, size_t threads, double *least, double *most)
{
	const struct additive_sums *s = &d->sums;
	struct ranging r = {
	    .data = d, .G = mat_new(s->cols, s->cols), .h = mem_new(s->cols, sizeof(double)), .least = least, .most = most};
	double types = (double)s->types;

	for (size_t t = 0; t < s->types; t++) {
		for (size_t k = 0; k < s->cols * s->cols; k++)
			r.G.at[k] += s->G[t].at[k] / types;
		for (size_t k = 0; k < s->cols; k++)
			r.h[k] += mat_get(&s->h, t, k) / types;
	}
	r.limit = fmax(best_error(&r), noise * noise) * exp(stats_chi2_quantile(SHARES_LEVEL, 1.0) / types);
	parallel_for(2 * d->features.groups, threads, range_group, &r);
	mat_release(&r.G);
	free(r.h);
}

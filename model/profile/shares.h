/* How the time divides over groups of features, with error bars of two kinds: from low to high, what changes when other machines
 * had been there (resampled types) and another of the averaged models were true; from least to most, what any fit would say that
 * is nearly as good. */
#ifndef MODEL_PROFILE_SHARES_H
#define MODEL_PROFILE_SHARES_H

#include "base/rng.h"
#include "model/profile/blend.h"
#include "model/profile/range.h"

#include <stdbool.h>
#include <stdint.h>

#define SHARES_RESAMPLES 200
#define SHARES_DRAWS	 5 /* models drawn from the average of each resample */

/* What the columns' time is made of, beside the groups: each part belongs to a level of the answer, and those of a level share the time. */
struct shares_parts {
	struct mat of; /* [features.n x n] of a column's time, in each part; those of a level sum to at most 1 */
	size_t *level; /* [n] */
};

/* A column, or the sum of two, that moves over the machines as another column: what a model says of that one may as well be theirs. On
 * twelve machines that differ in a few ways, vm-splice moved as what reads files and what copies strings together. */
struct stand_in {
	size_t column, other; /* equal where one column represents it alone */
	double part;	      /* mean over the types of the first one's share in the sum, 0 to 1 */
};

struct stand_ins {
	struct stand_in *items; /* [first[n]], those of column k from first[k] */
	size_t *first;		/* [n + 1] */
	size_t n;		/* distinct columns of the features */
};

struct shares_options {
	size_t resamples; /* 0: no error bars (low, high and first are NaN) */
	uint64_t seed;
	size_t threads; /* the result does not depend on them */
};

struct shares_part {
	double share, low, high, least, most, first; /* as of a group, `first` among those of its level */
};

/* Index `groups` is what stays unexplained: the constant time, and what the additive model misses on a type. */
struct shares {
	size_t groups, types;
	struct mat by_type;	    /* [types x groups + 1], each row sums to one */
	double *share;		    /* [groups + 1] their means, which sum to one */
	double *low, *high;	    /* [groups + 1] quantiles over single models drawn from the resamples */
	double *least, *most;	    /* [groups] over all fits that are nearly as good */
	double *first;		    /* [groups] part of these models in which the group's share is the largest */
	double *column;		    /* [features.n] shares of the distinct columns; those of a group sum to its share */
	struct shares_part *part;   /* [parts->of.cols], as parts */
	struct stand_ins stand_ins; /* what a column's share may as well be: in all but `share`, `column` and `by_type` */
};

/* noise: relative error of one measurement, below which a better fit means nothing. At least 3 types. parts: NULL, or others than the
 * groups. */
void shares_of(const struct blend_data *data, const struct blend *blend, const struct shares_parts *parts, double noise,
	       const struct shares_options *options, struct shares *out);
/* The shares of one fit on every type; out [types x groups + 1], rows sum to one. all_explained: the groups share what it misses, too. */
void shares_by_group(const struct blend_data *data, const struct additive *fit, bool all_explained, struct mat *out);

/* For other resampling: how often each type is drawn, with replacement, until there are two of them; count [types]. */
void shares_draw(size_t types, struct rng *rng, double *count);

void shares_release(struct shares *shares); /* accepts zeroed */

/* ---- growth ---- */

/* How much more or less time a version spends on each group of features than an older one, in parts of the older one's time.
 *
 * The older one has an additive model (additive.h). The newer one is taken for the older one times a factor, and up to two resources
 * of which it uses more or less: ratio_t = a + sum of b_k x_tk, x_tk = (1 / rate_tk) / cost_t. All such models are fitted by least
 * squares and averaged, with the error on types excluded for the likelihood as in additive.h, and no resource, one, and two of them as
 * likely as each other beforehand. So what both versions share cancels out: two models fitted apart each choose among many that are
 * as good, and their difference is mostly which ones they chose. Types weigh equally. */

#define GROWTH_TOTAL_LEVEL .95	 /* as the interval of the ratio that decides */
#define GROWTH_RATIO_MAX   1e100 /* squares of what is between it and its inverse are finite, and above 0 */

/* Index `groups` is what stays unexplained. In parts of the mean time of the older version: .1 = 10 % of it. */
struct growth {
	size_t groups;
	double *before, *after;	      /* [groups + 1]; before sums to 1, after to 1 + total */
	double *low, *high;	      /* [groups + 1] interval (SHARES_LEVEL) of after - before; NaN without resamples */
	double *lead;		      /* [groups + 1] probability that this group's time changed most, the factor aside; `groups`: that
				       * none did. Sums to 1 */
	double total;		      /* mean over types of the ratio, less one */
	double total_low, total_high; /* its interval (GROWTH_TOTAL_LEVEL), of Student's t over types */
	double uniform;		      /* a - 1, averaged */
};

/* before  the older version, at least 4 types and one feature.
 * ratio   [types], cost of the newer one / of the older one; below GROWTH_RATIO_MAX, above its inverse.
 * Resampling the types and drawing from the averaged models, of both kinds, gives the intervals of groups. */
void growth_of(const struct blend_data *before, const double *ratio, const struct shares_options *options, struct growth *out);
void growth_release(struct growth *growth); /* accepts zeroed */

#endif

/* Division of the time over groups of features, with two kinds of intervals. low to high: variation if other machines had been measured
 * (resampled types) and another of the averaged models were true. least to most: range over all fits that are nearly as good. */
#ifndef MODEL_PROFILE_SHARES_H
#define MODEL_PROFILE_SHARES_H

#include "base/rng.h"
#include "model/profile/blend.h"
#include "model/profile/range.h"

#include <stdbool.h>
#include <stdint.h>

#define SHARES_RESAMPLES 200
#define SHARES_DRAWS	 5 /* models drawn from the average per resample */

/* Parts of the columns' time, beside the groups. Each part belongs to a level of the answer, and the parts of a level share the time. */
struct shares_parts {
	struct mat of; /* [features.n x n] of a column's time, in each part; sums per level are at most 1 */
	size_t *level; /* [n] */
};

/* A column, or the sum of two, that varies over the machines as another column: the other's share may as well belong to them. On twelve
 * machines that differ in a few ways, vm-splice varied as file reading and string copying together. */
struct stand_in {
	size_t column, other; /* equal: one column represents it */
	double part;	      /* mean over the types of the first one's share in the sum, 0 to 1 */
};

struct stand_ins {
	struct stand_in *items; /* [first[n]], those of column k start at first[k] */
	size_t *first;		/* [n + 1] */
	size_t n;		/* number of distinct columns of the features */
};

struct shares_options {
	size_t resamples; /* 0: no intervals (low, high and first are NaN) */
	uint64_t seed;
	size_t threads; /* they do not affect the result */
};

struct shares_part {
	double share, low, high, least, most, first; /* as for a group; `first` compares with others of its level */
};

/* Index `groups` is the unexplained part: the constant time, and the additive model's error on a type. */
struct shares {
	size_t groups, types;
	struct mat by_type;	    /* [types x groups + 1], rows with sum one */
	double *share;		    /* [groups + 1] their means, with sum one */
	double *low, *high;	    /* [groups + 1] quantiles over single models drawn from the resamples */
	double *least, *most;	    /* [groups] range over all fits that are nearly as good */
	double *first;		    /* [groups] share of these models in which the group's share is the largest */
	double *column;		    /* [features.n] shares of the distinct columns, whose sum over a group is the group's share */
	struct shares_part *part;   /* [parts->of.cols], in the order of `parts` */
	struct stand_ins stand_ins; /* alternatives for a column's share: used in all except `share`, `column` and `by_type` */
};

/* Computes all shares. noise: relative error of one measurement, under which fits are equal. At least 3 types. parts: others, or NULL. */
void shares_of(const struct blend_data *data, const struct blend *blend, const struct shares_parts *parts, double noise,
	       const struct shares_options *options, struct shares *out);
/* Computes the shares of one fit on every type; out [types x groups + 1], rows with sum one. all_explained: the groups share its error. */
void shares_by_group(const struct blend_data *data, const struct additive *fit, bool all_explained, struct mat *out);

/* Draws types with replacement until there are two different ones; count [types]: how often. For other resampling. */
void shares_draw(size_t types, struct rng *rng, double *count);

void shares_release(struct shares *shares); /* accepts zeroed */

/* ---- growth ---- */

/* How much more or less time a version spends on each group of features than an older one, relative to the older one's time.
 *
 * The older version has an additive model (additive.h). The newer one is modelled as the older one times a factor, and up to two resources
 * of which it uses more or less: ratio_t = a + sum of b_k x_tk, x_tk = (1 / rate_tk) / cost_t. All such models are fitted by least squares
 * and averaged, with the error on held-out types as likelihood as in additive.h. No resource, one, and two are equally likely a priori. So
 * the common part of both versions cancels out. Separate models of both would each choose among many equally good ones, and their
 * difference would mostly reflect that choice. Types weigh equally. */

#define GROWTH_TOTAL_LEVEL .95	 /* level of the interval of the ratio that decides */
#define GROWTH_RATIO_MAX   1e100 /* squares of values between it and its inverse are finite, and above 0 */

/* Index `groups` is the unexplained part. Relative to the older version's mean time: 0.1 = 10 %. */
struct growth {
	size_t groups;
	double *before, *after; /* [groups + 1]; before sums to 1, after to 1 + total */
	double *low, *high;	/* [groups + 1] interval (SHARES_LEVEL) of after - before; NaN without resamples */
	double *lead; /* [groups + 1] probability that this group's time changed most, apart from the factor; last: none did. Sum 1 */
	double total; /* mean over types of the ratio, less one */
	double total_low, total_high; /* its interval (GROWTH_TOTAL_LEVEL), by Student's t over types */
	double uniform;		      /* mean of a - 1 */
};

/* Computes the growth.
 * before  the older version, at least 4 types and one feature.
 * ratio   [types], cost of the newer one / of the older one; below GROWTH_RATIO_MAX, above its inverse.
 * The intervals of groups come from resampling types and drawing from the averaged models, of both kinds. */
void growth_of(const struct blend_data *before, const double *ratio, const struct shares_options *options, struct growth *out);
void growth_release(struct growth *growth); /* accepts zeroed */

#endif

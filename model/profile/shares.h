/* Divides the time over groups of features, with two kinds of intervals. low to high: variation with other measured machines (resampled
 * types) and another of the averaged models. least to most: range over all fits that are nearly as good as the best one. */
#ifndef MODEL_PROFILE_SHARES_H
#define MODEL_PROFILE_SHARES_H

#include "base/rng.h"
#include "model/profile/blend.h"
#include "model/profile/range.h"

#include <stdbool.h>
#include <stdint.h>

#define SHARES_RESAMPLES 200
#define SHARES_DRAWS	 5 /* models drawn from the average per resample */

/* Parts of the columns' time, in addition to the groups. Each part belongs to a level of the answer; a level's parts share the time. */
struct shares_parts {
	struct mat of; /* [features.n x n] share of a column's time in each part; the sum per level is at most 1 */
	size_t *level; /* [n] level of each part */
};

/* A column, or the sum of two, that varies over the machines as another column. The share of that column may as well belong to them. On
 * twelve machines that differ in a few ways, vm-splice varied as file reading and string copying together. */
struct stand_in {
	size_t column, other; /* the two columns that vary together as another; equal if one suffices */
	double part;	      /* mean share of the first column in the sum, over the types, 0 to 1 */
};

struct stand_ins {
	struct stand_in *items; /* [first[n]]; those of column k start at first[k] */
	size_t *first;		/* [n + 1] index of each column's first item */
	size_t n;		/* number of distinct columns of the features */
};

struct shares_options {
	size_t resamples; /* 0: no intervals; low, high and first are NaN */
	uint64_t seed;
	size_t threads; /* does not affect the result */
};

struct shares_part {
	double share, low, high, least, most, first; /* as for a group in struct shares; `first` compares with parts of its level */
};

/* Shares of groups of features. Index `groups` is the unexplained part: the constant time, and the additive model's error on a type. */
struct shares {
	size_t groups, types;
	struct mat by_type;	    /* [types x groups + 1] rows have sum one */
	double *share;		    /* [groups + 1] means of by_type over types */
	double *low, *high;	    /* [groups + 1] quantiles over single models drawn from the resamples */
	double *least, *most;	    /* [groups] range over all fits that are nearly as good */
	double *first;		    /* [groups] share of the drawn models in which the group has the largest share */
	double *column;		    /* [features.n] shares of the distinct columns; their sum over a group is the group's share */
	struct shares_part *part;   /* [parts->of.cols], in the order of `parts` */
	struct stand_ins stand_ins; /* alternatives for a column's share; not used in `share`, `column` and `by_type` */
};

/* Computes all shares; types >= 3. noise: relative error of one measurement, below which fits are equal. parts: or NULL. */
void shares_of(const struct blend_data *data, const struct blend *blend, const struct shares_parts *parts, double noise,
	       const struct shares_options *options, struct shares *out);
/* Computes the shares of one fit on each type: out [types x groups + 1], rows with sum one. all_explained: the groups share its error. */
void shares_by_group(const struct blend_data *data, const struct additive *fit, bool all_explained, struct mat *out);

/* Draws types with replacement until two are different; count [types] gets the number of draws of each. For other resampling. */
void shares_draw(size_t types, struct rng *rng, double *count);

void shares_release(struct shares *shares); /* accepts a zeroed struct */

/* ---- growth ---- */

/* Computes by how much a version spends more or less time on each group of features than an older one, relative to the older one's time.
 *
 * The older version has an additive model (additive.h). The newer one is modelled as the older one times a factor, and up to two resources
 * of which it uses more or less: ratio_t = a + sum of b_k x_tk, x_tk = (1 / rate_tk) / cost_t. All such models are fitted by least squares
 * and averaged, with the error on held-out types as likelihood, as in additive.h. No resource, one, and two are equally likely a priori.
 * Separate models of both versions would each choose among many equally good ones; their difference would mostly reflect that choice. Here,
 * the common part cancels out. Types weigh equally. */

#define GROWTH_TOTAL_LEVEL .95	 /* level of the interval of the ratio that decides */
#define GROWTH_RATIO_MAX   1e100 /* limit of ratios: squares of values between its inverse and it are finite and above 0 */

/* Growth per group, relative to the older version's mean time: 0.1 = 10 %. Index `groups` is the unexplained part. */
struct growth {
	size_t groups;
	double *before, *after; /* [groups + 1] times; `before` sums to 1, `after` to 1 + total */
	double *low, *high;	/* [groups + 1] interval (SHARES_LEVEL) of after - before; NaN without resamples */
	double *lead; /* [groups + 1] probability that the group changed most, apart from the factor; last: no group changed. Sum 1 */
	double total; /* mean over types of the ratio, less one */
	double total_low, total_high; /* interval of `total` (GROWTH_TOTAL_LEVEL), by Student's t over types */
	double uniform;		      /* mean over models of a - 1: change common to all resources */
};

/* Computes the growth.
 * before  the older version, at least 4 types and one feature.
 * ratio   [types] cost of the newer version / cost of the older one; between 1 / GROWTH_RATIO_MAX and GROWTH_RATIO_MAX.
 * The intervals of groups come from resampling types and drawing from the averaged models of both kinds. */
void growth_of(const struct blend_data *before, const double *ratio, const struct shares_options *options, struct growth *out);
void growth_release(struct growth *growth); /* accepts a zeroed struct */

#endif

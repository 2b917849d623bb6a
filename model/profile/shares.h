/* Divides the time among groups of features, with two kinds of intervals. `low` to `high`: variation with other machines (resampled types)
 * and with other models of the average. `least` to `most`: range over all fits that are nearly as good as the best one. */
#ifndef MODEL_PROFILE_SHARES_H
#define MODEL_PROFILE_SHARES_H

#include "base/rng.h"
#include "model/profile/blend.h"
#include "model/profile/range.h"

#include <stdbool.h>
#include <stdint.h>

#define SHARES_RESAMPLES 200
#define SHARES_DRAWS	 5 /* number of models drawn from the average, per resample */

/* Parts of the columns' time, in addition to the groups. Each part belongs to a level of the answer, whose parts share the time. */
struct shares_parts {
	struct mat part_shares; /* [features.n x n] share of each part in a column's time; per level, the sum is at most 1 */
	size_t *level;		/* [n] level of each part */
};

/* A column, or the sum of two columns, that varies over the machines like another column, so that this column's share may belong to them.
 * On twelve machines that differ in few ways, vm-splice varied like the sum of file reading and string copying. */
struct share_alternative {
	size_t column, other; /* the two columns; equal if one column suffices */
	double part;	      /* mean share over types of the first column in the sum, 0 to 1 */
};

struct share_alternatives {
	struct share_alternative *items; /* [first[n]] items; those for column k start at first[k] */
	size_t *first;			 /* [n + 1] index of the first item for each column */
	size_t n;			 /* number of distinct columns of the features */
};

struct shares_options {
	size_t resamples; /* 0: no intervals; low, high and first are then NaN */
	uint64_t seed;
	size_t threads; /* does not affect the result */
};

struct shares_part {
	double share, low, high, least, most, first; /* as for a group in struct shares; `first` compares parts of one level */
};

/* Shares of groups of features. Index `groups` is the unexplained part: the constant's time, and the additive model's error on a type. */
struct shares {
	size_t groups, types;
	struct mat by_type;	  /* [types x groups + 1] shares on each type; each row adds up to 1 */
	double *share;		  /* [groups + 1] mean of by_type over types */
	double *low, *high;	  /* [groups + 1] quantiles over single models, which are drawn from the fits of resamples */
	double *least, *most;	  /* [groups] range over all fits that are nearly as good as the best one */
	double *first;		  /* [groups] share of the drawn models in which this group has the largest share */
	double *column;		  /* [features.n] shares of the distinct columns; over a group's columns, they add up to its share */
	struct shares_part *part; /* [parts->of.cols] shares of the parts, in the order of `parts` */
	struct share_alternatives
	    share_alternatives; /* columns that could have another column's share; `share`, `column` and `by_type` ignore these */
};

/* Computes all shares; types >= 3. noise: relative error of one measurement; fits within it are equally good. parts: may be NULL. */
void shares_compute(const struct blend_data *data, const struct blend *blend, const struct shares_parts *parts, double noise,
		    const struct shares_options *options, struct shares *out);
/* Computes one fit's shares on each type: out [types x groups + 1], rows add up to 1. all_explained: the groups share the fit's error. */
void shares_by_group(const struct blend_data *data, const struct additive *fit, bool all_explained, struct mat *out);

/* Draws types with replacement until two types are different. count [types] gets the number of draws of each type. */
void shares_draw_types(size_t types, struct rng *rng, double *count);

void shares_release(struct shares *shares); /* accepts a zeroed struct */

/* ---- growth ---- */

/* Computes the growth of the time that a version spends on each group of features, relative to the time of an older version.
 *
 * The older version has an additive model (additive.h). The newer version is modelled as the older one times a factor, plus more or less
 * use of up to two resources: ratio_t = a + sum of b_k x_tk, x_tk = (1 / rate_tk) / cost_t. All such models are fitted by least squares and
 * averaged, with the error on held-out types as likelihood, as in additive.h. No resource, one, and two are equally likely a priori.
 * Separate models of both versions would each choose among many equally good models, and the difference would mostly reflect that choice.
 * Here, the common part cancels out. Types weigh equally. */

#define GROWTH_TOTAL_LEVEL .95	 /* level of the interval of `total`, on which the decision rests */
#define GROWTH_RATIO_MAX   1e100 /* maximum of ratios, and of their inverses, so that squares are finite and above 0 */

/* Growth per group, relative to the mean time of the older version: 0.1 is 10 %. Index `groups` is the unexplained part. */
struct growth {
	size_t groups;
	double *before, *after; /* [groups + 1] times; `before` adds up to 1, `after` to 1 + total */
	double *low, *high;	/* [groups + 1] interval of after - before (SHARES_LEVEL); NaN without resamples */
	double *lead; /* [groups + 1] probability that the group changed most, apart from the factor; last: that no group changed */
	double total; /* mean over types of the ratio, minus 1 */
	double total_low, total_high; /* interval of `total` (GROWTH_TOTAL_LEVEL), by Student's t over types */
	double uniform;		      /* mean over models of a - 1, the change that all resources have in common */
};

/* Computes the growth.
 * before  data of the older version, with at least 4 types and one feature.
 * ratio   [types] cost of the newer version / cost of the older one; between 1 / GROWTH_RATIO_MAX and GROWTH_RATIO_MAX.
 * For the intervals of groups, resamples types and draws models of both kinds from the averages. */
void growth_compute(const struct blend_data *before, const double *ratio, const struct shares_options *options, struct growth *out);
void growth_release(struct growth *growth); /* accepts a zeroed struct */

#endif

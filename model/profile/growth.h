/* How much more or less time a version spends on each group of features than an older one, in parts of the older one's time.
 *
 * The older one has an additive model (additive.h). The newer one is taken for the older one times a factor, and up to two resources
 * of which it uses more or less: ratio_t = a + sum of b_k x_tk, x_tk = (1 / rate_tk) / cost_t. All such models are fitted by least
 * squares and averaged, with the error on types left out for the likelihood as in additive.h, and no resource, one, and two of them as
 * likely as each other beforehand. So what both versions share cancels out: two models fitted apart each choose among many that are
 * as good, and their difference is mostly which ones they chose. Types weigh equally. */
#ifndef MODEL_PROFILE_GROWTH_H
#define MODEL_PROFILE_GROWTH_H

#include "model/profile/shares.h"

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

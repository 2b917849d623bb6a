/* Which stressors move over these machines as another one, or as the sum of two others: what a model says of the one may as well be theirs.
 * On twelve machines that differ in a few ways, vm-splice moved as what reads files and what copies strings together; a program of these
 * two was said to spend 67 % of its time in it. O(columns^3 * types). Deterministic. */
#ifndef MODEL_PROFILE_STAND_INS_H
#define MODEL_PROFILE_STAND_INS_H

#include "model/profile/features.h"

#define STAND_INS_MISS .05 /* root mean square of the relative error, by which others are as good as a column itself */

struct stand_in {
	size_t column, other; /* equal where one column stands for it alone */
	double part;	      /* mean over the types of the first one's share in the sum, 0 to 1 */
};

struct stand_ins {
	struct stand_in *items; /* [first[n]], those of column k from first[k] */
	size_t *first;		/* [n + 1] */
	size_t n;		/* distinct columns of the features */
};

void stand_ins_of(const struct features *features, struct stand_ins *out);
void stand_ins_release(struct stand_ins *stand_ins); /* accepts zeroed */

#endif

/* Phases of a run: stretches of its time in which it did something else than before, and what each was spent on, as it was sampled. */
#ifndef GATE_PROFILE_PHASES_H
#define GATE_PROFILE_PHASES_H

#include "base/document.h"
#include "gate/profile/sampled.h"

/* From part `from` of the time up to part `to`, of SAMPLED_SLICES; share: of all samples, and in it of each class of sampled->sliced. */
struct phase {
	size_t from, to;
	double share, of[SAMPLED_SLICED];
};

/* phases[SAMPLED_SLICES]; returns how many there are: one where nothing is known to change, 0 without samples. */
size_t phases_of(const struct sampled *sampled, struct phase *phases);

/* Member `phases`, empty where there are none or one; for people a table where there are several. */
void phases_answer(const struct sampled *sampled, struct document *d);

#endif

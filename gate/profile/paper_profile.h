/* The profile as published with quiho (ICPE 2018): importances of boosted trees fitted on fingerprints, all rows in training. It is not
 * validated and tells nothing about how far it can be trusted. */
#ifndef GATE_PROFILE_PAPER_PROFILE_H
#define GATE_PROFILE_PAPER_PROFILE_H

#include "model/published/gbt.h"
#include "runs/running/evidence.h"

struct paper_profile {
	const struct run_set *runs; /* borrowed */
	struct dataset dataset;
	struct gbt *gbt;
};

/* ASSAY_E_NODATA when fewer than two runs have a whole fingerprint. The arguments must outlive *out; paper_profile_release() it. */
enum assay_status paper_profile_of(const struct evidence *evidence, const struct run_set *runs, struct paper_profile *out,
				   struct assay_error *err);
void paper_profile_release(struct paper_profile *profile);

#endif

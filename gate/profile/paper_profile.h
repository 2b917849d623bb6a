/* The profile as the quiho paper has it: importances of boosted trees fitted on fingerprints, all rows in training. Published
 * and unvalidated: it says nothing of how far it can be trusted. */
#ifndef GATE_PROFILE_PAPER_PROFILE_H
#define GATE_PROFILE_PAPER_PROFILE_H

#include "base/buf.h"
#include "base/json.h"
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

/* A bar chart of the `shown` most important stressors, coloured by category. */
struct chart_style {
	bool colours, utf8;
	unsigned columns;
};
void paper_profile_print(const struct paper_profile *profile, size_t shown, const struct chart_style *style, struct buf *out);
cJSON *paper_profile_json(const struct paper_profile *profile);

#endif

#include "gate/profile/paper_profile.h"

#include "base/mem.h"
#include "gate/profile/profile.h"

enum assay_status paper_profile_of(const struct evidence *evidence, const struct run_set *runs, struct paper_profile *out,
				   struct assay_error *err)
{
	struct paper_profile profile = { .runs = runs };
	double *scale = NULL;
	struct mat X;
	enum assay_status st = ASSAY_OK;

	dataset_of(evidence, runs, false, &profile.dataset);
	X = mat_new(profile.dataset.X.rows, profile.dataset.X.cols);
	if (X.rows < 2 || X.cols == 0) {
		st = profile_no_rows(runs, &profile.dataset, "at least two results on machines with a fingerprint", X.rows, err);
	} else {
		memcpy(X.at, profile.dataset.X.at, X.rows * X.cols * sizeof(double));
		scale = mem_new(2 * X.cols, sizeof(double));
		gbt_standardise(&X, scale, scale + X.cols);
		st = gbt_fit(&X, profile.dataset.y, &gbt_paper, &profile.gbt, err);
	}
	free(scale);
	mat_release(&X);
	*out = profile;
	if (st)
		paper_profile_release(out);
	return st;
}

void paper_profile_release(struct paper_profile *profile)
{
	gbt_free(profile->gbt);
	dataset_release(&profile->dataset);
	*profile = (struct paper_profile){ 0 };
}

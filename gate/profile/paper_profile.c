#include "gate/profile/paper_profile.h"

#include "base/mem.h"

/* Says what the runs lack, when they cannot be fitted. */
static enum assay_status too_few(const struct run_set *runs, const struct dataset *d, struct assay_error *err)
{
	struct buf why = BUF_INIT;
	enum assay_status st;

	for (int i = 0; i < LEFT_OUT_COUNT; i++) {
		if (d->left_out[i])
			buf_format(&why, "; %zu: %s", d->left_out[i], left_out_text((enum left_out)i));
	}
	st = assay_fail(err, ASSAY_E_NODATA, "a profile of '%s@%s' needs at least two results on machines with a fingerprint, %zu of %zu have a "
			"usable one%s", runs->application, runs->version, d->X.rows, runs->n, why.bytes ? why.bytes : "");
	buf_release(&why);
	return st;
}

enum assay_status paper_profile_of(const struct evidence *evidence, const struct run_set *runs, struct paper_profile *out,
				   struct assay_error *err)
{
	struct paper_profile profile = { .runs = runs };
	double *scale = NULL;
	struct mat X;
	enum assay_status st = ASSAY_OK;

	dataset_of(evidence, runs, &profile.dataset);
	X = mat_new(profile.dataset.X.rows, profile.dataset.X.cols);
	if (X.rows < 2 || X.cols == 0) {
		st = too_few(runs, &profile.dataset, err);
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

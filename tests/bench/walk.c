#include "walk.h"

#include "base/mem.h"
#include "base/stats.h"
#include "gate/profile/profile.h"

#include <math.h>

enum assay_status walk_profile_of(const struct evidence *evidence, const struct run_set *runs, struct walk_profile *out,
				  struct assay_error *err)
{
	struct walk_profile profile = { 0 };
	struct paper_profile paper;
	const double *importance;
	double most = 0;
	enum assay_status st = paper_profile_fit(evidence, runs, &paper, err);

	*out = profile;
	if (st)
		return st;
	profile.n = paper.dataset.X.cols;
	profile.features = mem_new(profile.n, sizeof(char *));
	profile.points = mem_new(profile.n, sizeof(double));
	importance = gbt_info(paper.gbt).importance_per_tree;
	for (size_t j = 0; j < profile.n; j++)
		most = fmax(most, importance[j]);
	for (size_t j = 0; j < profile.n; j++) {
		profile.features[j] = paper.dataset.features[j];
		profile.points[j] = most > 0 ? 100 * importance[j] / most : 0;
	}
	paper_profile_release(&paper);
	*out = profile;
	return ASSAY_OK;
}

void walk_profile_release(struct walk_profile *profile)
{
	mem_free(profile->features, profile->points);
	*profile = (struct walk_profile){ 0 };
}

/* Merges the two lists of stressors, both sorted by name, into `walk->steps`. */
static void walk_merge(const struct walk_profile *baseline, const struct walk_profile *candidate, struct walk *walk)
{
	size_t i = 0, k = 0;

	walk->steps = mem_new(baseline->n + candidate->n, sizeof(*walk->steps));
	while (i < baseline->n || k < candidate->n) {
		int order = i == baseline->n ? 1 : (k == candidate->n ? -1 : strcmp(baseline->features[i], candidate->features[k]));
		struct walk_step *step = &walk->steps[walk->n++];

		step->feature = order <= 0 ? baseline->features[i] : candidate->features[k];
		if (order <= 0)
			step->baseline = baseline->points[i++];
		if (order >= 0)
			step->candidate = candidate->points[k++];
	}
}

static int compare_steps(const void *a, const void *b)
{
	const struct walk_step *x = a, *y = b;
	double p = stats_round(x->baseline), q = stats_round(y->baseline);

	return p != q ? (p < q) - (p > q) : strcmp(x->feature, y->feature);
}

void walk_of(const struct walk_profile *baseline, const struct walk_profile *candidate, double epsilon, struct walk *out)
{
	struct walk walk = { .epsilon = epsilon, .decision = DECISION_PASS };

	ASSAY_BUG_IF(!(epsilon >= 0));
	walk_merge(baseline, candidate, &walk);
	qsort(walk.steps, walk.n, sizeof(*walk.steps), compare_steps);
	walk.stopped = walk.n;
	for (size_t i = 0; i < walk.n; i++) {
		double away = stats_round(fabs(walk.steps[i].baseline - walk.steps[i].candidate));

		walk.distance = fmax(walk.distance, away);
		if (walk.stopped == walk.n && away > epsilon)
			walk.stopped = i;
	}
	if (walk.stopped < walk.n)
		walk.decision = DECISION_REGRESSION;
	*out = walk;
}

void walk_release(struct walk *walk)
{
	free(walk->steps);
	*walk = (struct walk){ 0 };
}

#include "gate/published/walk.h"

#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "gate/decide/pairing.h"
#include "gate/profile/profile.h"

#include <math.h>

/* ---- the published profile, and its bars ---- */

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

/* ---- the walk ---- */

#define STEPS_SHOWN 8 /* at least; and up to where it stopped */

enum assay_status walk_profile_of(const struct evidence *evidence, const struct run_set *runs, struct walk_profile *out,
				  struct assay_error *err)
{
	struct walk_profile profile = { 0 };
	struct paper_profile paper;
	const double *importance;
	double most = 0;
	enum assay_status st = paper_profile_of(evidence, runs, &paper, err);

	*out = profile;
	if (st)
		return st;
	profile.n = paper.dataset.X.cols;
	profile.features = mem_new(profile.n, sizeof(char *));
	profile.points = mem_new(profile.n, sizeof(double));
	importance = gbt_about(paper.gbt).importance_per_tree;
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

/* Both profiles have their stressors in name order: one pass over both. */
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

/* ---- the answer ---- */

static void walk_reasons(const struct walk *w, struct document *d)
{
	bool stopped = w->stopped < w->n;
	const struct walk_step *step = &w->steps[w->stopped];
	char *text =
	    stopped
		? mem_format("the importance of '%s', number %zu of the baseline's ranking, goes from %.1f to %.1f points: more than %g",
			     step->feature, w->stopped + 1, step->baseline, step->candidate, w->epsilon)
		: mem_format("no stressor's importance differs by more than %g points (the largest difference is %.1f)", w->epsilon,
			     w->distance);

	doc_list(d, "reasons");
	doc_reason(d, stopped ? "profiles_differ" : "profiles_alike", text);
	doc_reason(d, "as_published",
		   "the method of the quiho paper, for comparison: it considers neither noise nor direction, takes most unchanged versions "
		   "for changed, and misses a uniform slowdown");
	doc_end(d);
	free(text);
}

static void walk_steps(const struct walk *w, struct document *d)
{
	doc_line(d, "%s", "");
	doc_table(d, "importances");
	for (size_t i = 0; i < w->n; i++) {
		const struct walk_step *step = &w->steps[i];
		double change = step->candidate - step->baseline;

		doc_row(d);
		if (i >= STEPS_SHOWN && (i > w->stopped || w->stopped == w->n))
			doc_hide(d);
		doc_show(d, "stressor", "stressor", step->feature);
		doc_showf(d, "baseline", "baseline", step->baseline, "%.1f", step->baseline);
		doc_showf(d, "candidate", "candidate", step->candidate, "%.1f", step->candidate);
		doc_showf(d, NULL, "difference", change, "%+.1f", change);
		doc_show(d, NULL, "", i == w->stopped ? "stopped here" : "");
	}
	doc_end(d);
}

void walk_answer(const struct walk *w, const struct run_set *baseline, const struct run_set *candidate, struct document *d)
{
	bool stopped = w->stopped < w->n;

	doc_answer(d, decision_tone(w->decision), decision_text(w->decision),
		   stopped ? "the profile of %s@%s differs from that of %s@%s by more than %g points"
			   : "the profile of %s@%s differs from that of %s@%s by no more than %g points",
		   candidate->application, candidate->version, baseline->application, baseline->version, w->epsilon);
	doc_set(d, "method", "walk");
	doc_set(d, "decision", decision_text(w->decision));
	walk_reasons(w, d);
	pairing_answer_side("baseline", baseline, d);
	pairing_answer_side("candidate", candidate, d);
	doc_set(d, "epsilon", w->epsilon);
	doc_set(d, "distance", w->distance);
	doc_set(d, "stopped_at", stopped ? w->steps[w->stopped].feature : NULL);
	walk_steps(w, d);
}

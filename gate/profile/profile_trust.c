/* How far a profile can be trusted. The thresholds are derived on recorded machines, docs/evidence/statistics.md says how. */
#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "gate/profile/profile.h"

#include <math.h>
#include <stdarg.h>

#define TYPES_TRUSTED 9    /* hardware types */
#define Q2_TRUSTED    .5   /* grouped Q2 */
#define Q2_IDENTIFIED 0.0
#define FIRST_TRUSTED .80  /* probability that the leading group leads */
#define FIRST_IDENTIFIED .4
#define LEAST_TRUSTED .20  /* smallest share of the leading group over the fits that are nearly as good */
#define TIED_TRUSTED  25.0 /* features that tie in a split */
#define UNEXPLAINED_TRUSTED .25

ROWS_FUNCTION(profile_verdict_text, enum profile_verdict, PROFILE_TRUST_ROWS, ROWS_WORD)

__attribute__((format(printf, 4, 5))) static void add_reason(struct profile *p, enum profile_verdict at_least, const char *code,
							      const char *fmt, ...)
{
	struct profile_reason *reason = &p->reasons[p->n_reasons];
	char text[512];
	va_list args;

	ASSAY_BUG_IF(p->n_reasons == PROFILE_REASONS_MAX);
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	*reason = (struct profile_reason){ code, mem_string(text) };
	p->n_reasons++;
	p->verdict = at_least > p->verdict ? at_least : p->verdict;
}

static void judge_types(struct profile *p)
{
	size_t types = p->rows->types;

	if (types < PROFILE_TYPES_MIN)
		add_reason(p, PROFILE_NOT_IDENTIFIABLE, "too_few_types",
		           "%zu hardware type%s: nothing can be told from fewer than %d, and trust needs %d; run it on %zu more",
		           types, text_plural(types), PROFILE_TYPES_MIN, TYPES_TRUSTED, TYPES_TRUSTED - types);
	else if (types < TYPES_TRUSTED)
		add_reason(p, PROFILE_INDICATIVE, "too_few_types", "%zu hardware types: trust needs %d; run it on %zu more",
		           types, TYPES_TRUSTED, TYPES_TRUSTED - types);
}

/* Standard deviation of the types' log costs. */
static double range_over_types(const struct profile *p)
{
	return stats_round(stats_sd(p->data.type_cost, p->data.types));
}

static void judge_fit(struct profile *p)
{
	double spread = range_over_types(p), noise = fmax(p->rows->noise, .01), q2 = stats_round(p->validation.q2);

	if (spread < 2.0 * noise)
		add_reason(p, PROFILE_NOT_IDENTIFIABLE, "range_below_noise",
		           "its cost varies by %.1f %% over the hardware types and by %.1f %% between repetitions: nothing to "
		           "infer from",
		           100 * spread, 100 * noise);
	if (q2 < Q2_TRUSTED)
		add_reason(
		    p, q2 < Q2_IDENTIFIED ? PROFILE_NOT_IDENTIFIABLE : PROFILE_INDICATIVE, "q2_low",
		    "on hardware types left out, the models explain %.0f %% of the variance (trust needs %.0f %%): no measured "
		    "stressor may stand for what it uses, or a machine is unlike all others",
		    100 * fmax(q2, 0), 100 * Q2_TRUSTED);
	if (stats_round(p->shares.share[p->shares.groups]) > UNEXPLAINED_TRUSTED)
		add_reason(p, PROFILE_INDICATIVE, "unexplained", "%.0f %% of the time stay unexplained",
			   100 * p->shares.share[p->shares.groups]);
}

/* The group with the largest importance of the stumps; 0 when nothing was split. */
static size_t leading_by_importance(const struct profile *p)
{
	size_t best = 0;

	for (size_t g = 1; g < p->n_groups; g++)
		best = stats_round(p->groups[g].importance) > stats_round(p->groups[best].importance) ? g : best;
	return best;
}

static void judge_groups(struct profile *p)
{
	const struct profile_group *lead = &p->groups[0];
	double first = stats_round(lead->first), rank = p->data.features.effective_rank;
	size_t other = leading_by_importance(p);

	if (!(first >= FIRST_TRUSTED))
		add_reason(p, first < FIRST_IDENTIFIED ? PROFILE_NOT_IDENTIFIABLE : PROFILE_INDICATIVE, "leading_group_uncertain",
		           "'%s' leads in %.0f %% of the resampled models (trust needs %.0f %%): machines that differ in it, but "
		           "not in the "
		           "groups behind it, would decide",
		           lead->name, 100 * first, 100 * FIRST_TRUSTED);
	if (stats_round(lead->least) < LEAST_TRUSTED)
		add_reason(
		    p, PROFILE_INDICATIVE, "not_separable",
		    "fits that are nearly as good give '%s' between %.0f and %.0f %% of the time (trust needs %.0f %% at least)",
		    lead->name, 100 * lead->least, 100 * lead->most, 100 * LEAST_TRUSTED);
	if (stats_round(rank) + 1.0 < (double)p->n_ranked)
		add_reason(p, PROFILE_INDICATIVE, "rank_too_small",
		           "the machines differ in about %.1f independent ways, and %zu groups are ranked: their shares trade "
		           "against each other",
		           rank, p->n_ranked);
	if (stats_round(p->blend.stumps.tied) > TIED_TRUSTED)
		add_reason(p, PROFILE_INDICATIVE, "features_tied",
		           "%.0f stressors split the machines equally well: none stands out", p->blend.stumps.tied);
	if (other != 0 && p->blend.stumps.tied > 0)
		add_reason(p, PROFILE_INDICATIVE, "models_disagree", "boosted trees put '%s' first, the additive model '%s'",
			   p->groups[other].name, lead->name);
}

void profile_judge(struct profile *p)
{
	p->verdict = PROFILE_TRUSTED;
	judge_types(p);
	if (p->rows->types >= PROFILE_TYPES_MIN && p->data.features.n == 0)
		add_reason(p, PROFILE_NOT_IDENTIFIABLE, "no_features",
		           "no stressor was measured on all of its machines and differs between them");
	if (!p->fitted)
		return;
	judge_fit(p);
	judge_groups(p);
}

/* From the store and the catalog to what the page shows. */
#include "gate/explore/explore.h"

#include "base/linkage.h"
#include "base/mem.h"
#include "base/stats.h"
#include "gate/explore/explore_choose.h"

#include <math.h>

/* ---- fingerprints ---- */

static void take_types(struct explore *e, const struct explore_candidate *chosen)
{
	const struct types *types = &e->evidence->types;
	size_t *index = mem_new(types->n, sizeof(*index));

	e->types = mem_new(types->n, sizeof(*e->types));
	for (size_t i = 0; i < e->n; i++)
		index[chosen[i].type] = 1;
	for (size_t t = 0; t < types->n; t++) {
		if (!index[t])
			continue;
		index[t] = e->n_types;
		e->types[e->n_types++] = types->types[t].name;
	}
	for (size_t i = 0; i < e->n; i++) {
		e->fingerprints[i] = chosen[i].f;
		e->type[i] = index[chosen[i].type];
		e->machines += i == 0 || !explore_same_machine(&chosen[i - 1], &chosen[i]);
	}
	free(index);
}

/* ---- stressors ---- */

static double cv_of(const double *x, size_t n)
{
	return n > 1 ? stats_sd(x, n) / stats_mean(x, n) : (double)NAN;
}

/* Coefficient of variation over the passes in which the stressor was measured; NaN below two. */
static double pass_cv(const struct fingerprint_set *set, const struct fingerprint *f, size_t stressor)
{
	double *rates = mem_new(f->n_passes, sizeof(*rates)), cv;
	size_t n = 0;

	for (size_t pass = 0; pass < f->n_passes; pass++) {
		if (fingerprint_rate(set, f, pass, stressor) > 0)
			rates[n++] = fingerprint_rate(set, f, pass, stressor);
	}
	cv = cv_of(rates, n);
	free(rates);
	return cv;
}

static double median_or_nan(const double *x, size_t n)
{
	return n ? stats_median(x, n) : (double)NAN;
}

/* by_type[types] gets the mean or the median of each type's values that are not NaN; NaN where there is none. */
static void middle_by_type(const struct explore *e, const double *values, bool mean, double *by_type)
{
	double *of_type = mem_new(e->n, sizeof(*of_type));

	for (size_t t = 0; t < e->n_types; t++) {
		size_t n = 0;

		for (size_t i = 0; i < e->n; i++) {
			if (e->type[i] == t && !isnan(values[i]))
				of_type[n++] = values[i];
		}
		by_type[t] = mean && n ? stats_mean(of_type, n) : median_or_nan(of_type, n);
	}
	free(of_type);
}

static size_t close_up(double *x, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (!isnan(x[i]))
			x[kept++] = x[i];
	}
	return kept;
}

/* values[n] is room for one number a fingerprint. */
static void describe(const struct explore *e, size_t stressor, double *values, struct explore_stressor *s)
{
	const struct fingerprint_set *set = &e->evidence->fingerprints;
	double *by_type = mem_new(e->n_types, sizeof(*by_type));
	size_t types;

	for (size_t i = 0; i < e->n; i++)
		values[i] = log(fingerprint_summarise(set, e->fingerprints[i], stressor).median);
	middle_by_type(e, values, true, s->type_rate);
	for (size_t t = 0; t < e->n_types; t++)
		s->type_rate[t] = by_type[t] = exp(s->type_rate[t]);
	types = close_up(by_type, e->n_types);
	s->middle = stats_median(by_type, types);
	s->cv = cv_of(by_type, types);
	for (size_t i = 0; i < e->n; i++)
		values[i] = pass_cv(set, e->fingerprints[i], stressor);
	middle_by_type(e, values, false, by_type);
	types = close_up(by_type, e->n_types);
	s->within = median_or_nan(by_type, types);
	free(by_type);
}

static void take_stressors(struct explore *e)
{
	const struct fingerprint_set *set = &e->evidence->fingerprints;
	size_t *columns = mem_new(set->n_stressors, sizeof(*columns));
	double *values = mem_new(e->n, sizeof(*values));

	e->stressors = mem_new(set->n_stressors, sizeof(*e->stressors));
	for (size_t j = 0; j < set->n_stressors; j++) {
		struct explore_stressor s = { .name = set->stressors[j] };

		for (size_t i = 0; i < e->n; i++)
			s.machines += fingerprint_summarise(set, e->fingerprints[i], j).measured > 0;
		if (!s.machines)
			continue;
		s.type_rate = mem_new(e->n_types, sizeof(double));
		describe(e, j, values, &s);
		columns[e->n_stressors] = j;
		e->stressors[e->n_stressors++] = s;
	}
	e->rates = mat_new(e->n, e->n_stressors);
	for (size_t i = 0; i < e->n; i++) {
		for (size_t j = 0; j < e->n_stressors; j++)
			mat_set(&e->rates, i, j, fingerprint_summarise(set, e->fingerprints[i], columns[j]).median);
	}
	free(columns);
	free(values);
}

/* ---- what moves together ---- */

static void correlate(struct explore *e)
{
	size_t n = e->features.n, types = e->n_types;
	struct mat ranks = mat_new(n, types), distance = mat_new(n, n);
	double *column = mem_new(types, sizeof(*column));

	for (size_t k = 0; k < n; k++) {
		for (size_t t = 0; t < types; t++)
			column[t] = mat_get(&e->features.type_logs, t, k);
		stats_ranks(column, types, &ranks.at[k * types]);
	}
	e->correlation = mat_new(n, n);
	e->order = mem_new(n, sizeof(*e->order));
	for (size_t a = 0; a < n; a++) {
		for (size_t b = 0; b < n; b++) {
			double r = a == b ? 1 : stats_round(stats_correlation(&ranks.at[a * types], &ranks.at[b * types], types));

			mat_set(&e->correlation, a, b, r);
			mat_set(&distance, a, b, stats_round(1 - fabs(r)));
		}
	}
	linkage_order(&distance, e->order);
	mat_release(&ranks);
	mat_release(&distance);
	free(column);
}

/* ---- what is left out of it ---- */

static void omit_unmeasured(struct explore *e)
{
	const struct fingerprint_set *set = &e->evidence->fingerprints;
	struct report_omission *omission = NULL;

	for (size_t j = 0; j < set->n_stressors; j++) {
		bool tried = false, measured = false;

		for (size_t i = 0; i < e->n && !measured; i++) {
			struct fingerprint_summary s = fingerprint_summarise(set, e->fingerprints[i], j);

			measured = s.measured > 0;
			tried = tried || s.zero || (e->fingerprints[i]->reasons && e->fingerprints[i]->reasons[j]);
		}
		if (measured || !tried)
			continue;
		if (!omission)
			omission = report_omit(&e->omissions, "no rate on any of these machines", "tried");
		report_omission_name(omission, "%s", set->stressors[j]);
	}
	if (omission)
		report_omission_count(omission, "stressor");
}

/* Stressors of the first picture that are in none of the others. */
static void omit_state(struct explore *e, enum feature_state state, const char *why)
{
	struct report_omission *omission = NULL;

	for (size_t j = 0; j < e->n_stressors; j++) {
		if (e->features.state[j] != state)
			continue;
		if (!omission)
			omission = report_omit(&e->omissions, why, "features");
		report_omission_name(omission, "%s (on %zu of %zu)", e->stressors[j].name, e->stressors[j].machines, e->n);
	}
	if (omission)
		report_omission_count(omission, "stressor");
}

static void omit_copies(struct explore *e)
{
	struct report_omission *omission = NULL;

	for (size_t j = 0; j < e->n_stressors; j++) {
		size_t k = e->features.distinct[j];

		if (k == FEATURES_NONE || e->features.first[k] == j)
			continue;
		if (!omission)
			omission =
			    report_omit(&e->omissions,
					"another one is the same on all machines, but for a factor, and stands for it", "copies");
		report_omission_name(omission, "%s (as %s)", e->stressors[j].name, e->stressors[e->features.first[k]].name);
	}
	if (omission)
		report_omission_count(omission, "stressor");
}

/* ---- all ---- */

void explore_of(const struct evidence *evidence, struct explore *out)
{
	struct explore e = { .evidence = evidence };
	struct explore_candidate *chosen = mem_new(evidence->fingerprints.n, sizeof(*chosen));

	e.n = explore_choose(evidence, chosen, &e.omissions);
	e.fingerprints = mem_new(e.n, sizeof(*e.fingerprints));
	e.type = mem_new(e.n, sizeof(*e.type));
	take_types(&e, chosen);
	take_stressors(&e);
	if (e.n) {
		features_of(&e.rates, e.type, e.n_types, &e.features);
		correlate(&e);
		pca_of(&e.features.type_logs, &e.pca);
		omit_unmeasured(&e);
		omit_state(&e, FEATURE_MISSING, "not measured on every machine: only in the table of variability");
		omit_state(&e, FEATURE_CONSTANT, "the same on all hardware types: only in the table of variability");
		omit_copies(&e);
	}
	*out = e;
	free(chosen);
}

void explore_release(struct explore *e)
{
	for (size_t j = 0; j < e->n_stressors; j++)
		free(e->stressors[j].type_rate);
	free(e->stressors);
	free(e->fingerprints);
	free(e->type);
	free(e->types);
	free(e->order);
	mat_release(&e->rates);
	mat_release(&e->correlation);
	features_release(&e->features);
	pca_release(&e->pca);
	report_omissions_release(&e->omissions);
	*e = (struct explore){ 0 };
}

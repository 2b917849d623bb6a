/* From the store and the catalog to what the page shows. */
#include "gate/explore/explore.h"

#include "base/linkage.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

/* ---- which fingerprints of a laboratory stand in one picture ---- */

struct candidate {
	const struct fingerprint *f;
	size_t type; /* index into the evidence's types */
};

/* By machine, hardware type and kind (fingerprint_comparable), the latest first. */
ORDER_BY(compare_candidates, struct candidate,
	 BY_TEXT(f->machine) BY_UP(type) BY_TEXT(f->battery_hash) BY_TEXT(f->stress_ng) BY_TEXT(f->architecture) BY_DOWN(f->taken_ms)
	     BY_TEXT(f->id))

/* Keeps the latest of each machine, hardware type and kind, in their order. Returns how many. */
static size_t candidates_latest(struct candidate *all, size_t n, struct omissions *omissions)
{
	size_t kept = 0;

	order_sort(all, n, compare_candidates);
	for (size_t i = 0; i < n; i++) {
		const struct candidate *last = kept ? &all[kept - 1] : NULL;

		if (!last || strcmp(last->f->machine, all[i].f->machine) != 0 || last->type != all[i].type ||
		    !fingerprint_comparable(last->f, all[i].f))
			all[kept++] = all[i];
	}
	if (kept < n)
		omissions_add(omissions, "the latest one of a machine counts", "%zu earlier fingerprint%s", n - kept,
			      text_plural(n - kept));
	return kept;
}

/* Finds the fingerprints of machines that are in use and whose type is known. Returns how many. */
static size_t candidates_find(const struct evidence *evidence, struct candidate *out, struct omissions *omissions)
{
	const char *last = NULL;
	size_t n = 0, untyped = 0;

	for (size_t i = 0; i < evidence->fingerprints.n; i++) {
		const struct fingerprint *f = &evidence->fingerprints.items[i];
		const struct machine *machine = catalog_find(&evidence->catalog, f->machine);
		size_t type = types_find(&evidence->types, f->id);

		if (machine && machine->retired) {
			if (!last || strcmp(last, f->machine) != 0)
				omissions_one(omissions, "no longer in use", "retired machine", "", "%s", f->machine);
			last = f->machine;
		} else if (type == SIZE_MAX) {
			untyped++;
		} else {
			out[n++] = (struct candidate){ f, type };
		}
	}
	if (untyped)
		omissions_add(omissions, "the catalog does not know their hardware type: 'assay catalog check' says more",
			      "%zu fingerprint%s", untyped, text_plural(untyped));
	return candidates_latest(out, n, omissions);
}

static void omit_fingerprint(struct explore *e, const struct fingerprint *f)
{
	const char *why = e->n && fingerprint_comparable(f, e->fingerprints[0])
			      ? "more than half of the stressors have no rate in it"
			      : "of another battery, version of stress-ng or architecture than most machines have";

	omissions_one(&e->omissions, why, "fingerprint", "", "%s (%s, %s, stress-ng %s, %s)", f->machine, f->id, f->battery, f->stress_ng,
		      f->architecture);
}

/* Chooses the fingerprints of the kind that most machines have, by machine, then type. *rates: their medians. */
static void explore_choose(struct explore *e, struct dataset *rates)
{
	struct candidate *all = mem_new(e->evidence->fingerprints.n, sizeof(*all));
	struct run_set runs = { .n = candidates_find(e->evidence, all, &e->omissions) };

	runs.items = mem_new(runs.n, sizeof(*runs.items)); /* a run for each fingerprint, as they make up a matrix */
	for (size_t i = 0; i < runs.n; i++) {
		runs.items[i].machine = all[i].f->machine;
		memcpy(runs.items[i].fingerprint, all[i].f->id, sizeof(all[i].f->id));
	}
	dataset_sparse_of(e->evidence, &runs, rates);
	e->n = rates->X.rows;
	e->machines = rates->machines;
	e->fingerprints = mem_new(e->n, sizeof(*e->fingerprints));
	for (size_t i = 0; i < e->n; i++)
		e->fingerprints[i] = all[rates->run[i]].f;
	for (size_t i = 0, k = 0; i < runs.n; i++) {
		if (k < e->n && rates->run[k] == i)
			k++;
		else
			omit_fingerprint(e, all[i].f);
	}
	mem_free(runs.items, all);
}

static void explore_types(struct explore *e, const struct dataset *rates)
{
	const struct types *types = &e->evidence->types;

	e->types = mem_new(types->n, sizeof(*e->types));
	e->type = mem_new(e->n, sizeof(*e->type));
	for (size_t t = 0; t < types->n; t++) {
		bool here = false;

		for (size_t i = 0; i < e->n; i++) {
			if (rates->types[i] != t)
				continue;
			e->type[i] = e->n_types;
			here = true;
		}
		if (here)
			e->types[e->n_types++] = types->types[t].name;
	}
}

/* ---- stressors ---- */

/* Returns the coefficient of variation; NaN below two values. */
static double cv_of(const double *x, size_t n)
{
	return n > 1 ? stats_sd(x, n) / stats_mean(x, n) : (double)NAN;
}

/* Returns the coefficient of variation over the passes in which the stressor was measured. */
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

/* Summarises the values[n] of each type's fingerprints that are not NaN. by_type [types] gets one for each type that has any. Returns how
 * many. */
static size_t summarise_types(const struct explore *e, const double *values, double (*summary)(const double *, size_t), double *by_type)
{
	double *of_type = mem_new(e->n, sizeof(*of_type));
	size_t types = 0;

	for (size_t t = 0; t < e->n_types; t++) {
		size_t n = 0;

		for (size_t i = 0; i < e->n; i++) {
			if (e->type[i] == t && !isnan(values[i]))
				of_type[n++] = values[i];
		}
		if (n)
			by_type[types++] = summary(of_type, n);
	}
	free(of_type);
	return types;
}

/* Describes the stressor from column j of its rates. values [n] and by_type [types] are scratch. */
static void stressor_describe(const struct explore *e, const struct mat *rates, size_t j, double *values, double *by_type,
			      struct explore_stressor *s)
{
	const struct fingerprint_set *set = &e->evidence->fingerprints;
	size_t stressor = 0, types;

	for (size_t i = 0; i < e->n; i++) {
		double rate = mat_get(rates, i, j);

		s->machines += rate > 0;
		values[i] = rate > 0 ? log(rate) : (double)NAN;
	}
	s->n_types = summarise_types(e, values, stats_mean, s->type_rate);
	for (size_t t = 0; t < s->n_types; t++)
		s->type_rate[t] = exp(s->type_rate[t]);
	s->middle = s->n_types ? stats_median(s->type_rate, s->n_types) : (double)NAN;
	s->cv = cv_of(s->type_rate, s->n_types);
	while (set->stressors[stressor] != s->name)
		stressor++;
	for (size_t i = 0; i < e->n; i++)
		values[i] = pass_cv(set, e->fingerprints[i], stressor);
	types = summarise_types(e, values, stats_median, by_type);
	s->within = types ? stats_median(by_type, types) : (double)NAN;
}

static void explore_stressors(struct explore *e, const struct dataset *rates)
{
	double *values = mem_new(e->n, sizeof(*values)), *by_type = mem_new(e->n_types, sizeof(*by_type));

	e->n_stressors = rates->X.cols;
	e->stressors = mem_new(e->n_stressors, sizeof(*e->stressors));
	for (size_t j = 0; j < e->n_stressors; j++) {
		struct explore_stressor *s = &e->stressors[j];

		s->name = rates->features[j];
		s->type_rate = mem_new(e->n_types, sizeof(double));
		stressor_describe(e, &rates->X, j, values, by_type, s);
		e->measured += s->machines > 0;
	}
	mem_free(values, by_type);
}

/* Names the stressors that the other pictures do not have. */
static void omit_stressors(struct explore *e)
{
	const struct features *f = &e->features;

	for (size_t j = 0; j < e->n_stressors; j++) {
		if (f->state[j] == FEATURE_USED && f->first[f->distinct[j]] == j)
			continue;
		omissions_one(
		    &e->omissions,
		    "only in the table of variability: not measured on every machine, the same on all hardware types, or the same "
		    "as another one but for a factor",
		    "stressor", "", "%s (on %zu of %zu)", e->stressors[j].name, e->stressors[j].machines, e->n);
	}
}

/* Stressors that move together become neighbours. */
static void explore_order(struct explore *e)
{
	size_t n = e->features.n;
	struct mat distance = mat_new(n, n);

	e->order = mem_new(n, sizeof(*e->order));
	for (size_t i = 0; i < n * n; i++)
		distance.at[i] = stats_round(1 - fabs(stats_round(e->features.correlation.at[i])));
	linkage_order(&distance, e->order);
	mat_release(&distance);
}

void explore_of(const struct evidence *evidence, struct explore *out)
{
	struct explore e = { .evidence = evidence };
	struct dataset rates;

	explore_choose(&e, &rates);
	explore_types(&e, &rates);
	explore_stressors(&e, &rates);
	if (e.n) {
		features_of(&rates.X, e.type, e.n_types, &e.features);
		explore_order(&e);
		pca_of(&e.features.type_logs, &e.pca);
		omit_stressors(&e);
	}
	*out = e;
	dataset_release(&rates);
}

void explore_release(struct explore *e)
{
	for (size_t j = 0; j < e->n_stressors; j++)
		free(e->stressors[j].type_rate);
	mem_free(e->stressors, e->fingerprints, e->type, e->types, e->order);
	features_release(&e->features);
	pca_release(&e->pca);
	omissions_release(&e->omissions);
	*e = (struct explore){ 0 };
}

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

/* By machine, then hardware type, the latest first. */
ORDER_BY(compare_candidates, struct candidate, BY_TEXT(f->machine) BY_UP(type) BY_DOWN(f->taken_ms) BY_TEXT(f->id))

static bool candidates_same_machine(const struct candidate *a, const struct candidate *b)
{
	return strcmp(a->f->machine, b->f->machine) == 0;
}

/* Fingerprints of machines that are in use and whose type is known. */
static size_t candidates_find(const struct evidence *evidence, struct candidate *candidates, struct omissions *omissions)
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
			candidates[n++] = (struct candidate){ f, type };
		}
	}
	if (untyped)
		omissions_add(omissions, "the catalog does not know their hardware type: 'assay catalog check' says more",
			      "%zu fingerprint%s", untyped, text_plural(untyped));
	order_sort(candidates, n, compare_candidates);
	return n;
}

/* Machines that have a fingerprint that is comparable to this one. */
static size_t candidates_machines(const struct candidate *all, size_t n, const struct fingerprint *kind)
{
	const struct candidate *last = NULL;
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		if (!fingerprint_comparable(all[i].f, kind))
			continue;
		count += !last || !candidates_same_machine(last, &all[i]);
		last = &all[i];
	}
	return count;
}

/* The kind that most machines have; of equals the one that was taken last. */
static const struct fingerprint *candidates_kind(const struct candidate *all, size_t n)
{
	const struct fingerprint *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < n; i++) {
		size_t count;

		if (best && fingerprint_comparable(all[i].f, best)) {
			best = all[i].f->taken_ms > best->taken_ms ? all[i].f : best;
			continue;
		}
		count = candidates_machines(all, n, all[i].f);
		if (count > most || (count == most && all[i].f->taken_ms > best->taken_ms)) {
			most = count;
			best = all[i].f;
		}
	}
	return best;
}

/* Whether the rates of a fingerprint are fewer than half of those that any fingerprint of this kind has. */
static bool *candidates_gaps(const struct fingerprint_set *set, const struct candidate *all, size_t n, const struct fingerprint *kind)
{
	bool *has = mem_new(set->n_stressors, sizeof(*has)), *gaps = mem_new(n, sizeof(*gaps));
	size_t *measured = mem_new(n, sizeof(*measured)), known = 0;

	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < set->n_stressors && fingerprint_comparable(all[i].f, kind); j++) {
			if (!fingerprint_summarise(set, all[i].f, j).measured)
				continue;
			measured[i]++;
			known += !has[j];
			has[j] = true;
		}
	}
	for (size_t i = 0; i < n; i++)
		gaps[i] = !measured[i] || 2 * measured[i] < known;
	mem_free(has, measured);
	return gaps;
}

static void omit_gaps(const struct candidate *all, size_t n, const struct fingerprint *kind, const bool *gaps, struct omissions *omissions)
{
	for (size_t i = 0; i < n; i++) {
		if (gaps[i] && fingerprint_comparable(all[i].f, kind))
			omissions_one(omissions, "more than half of the stressors have no rate in it", "fingerprint", "", "%s (%s)",
				      all[i].f->machine, all[i].f->id);
	}
}

static void omit_others(const struct candidate *all, size_t n, const struct fingerprint *kind, struct omissions *omissions)
{
	for (size_t i = 0; i < n; i++) {
		if (!fingerprint_comparable(all[i].f, kind))
			omissions_one(omissions, "of another battery, version of stress-ng or architecture than most machines have",
				      "fingerprint", "", "%s (%s, stress-ng %s, %s)", all[i].f->machine, all[i].f->battery,
				      all[i].f->stress_ng, all[i].f->architecture);
	}
}

/* Of the kind (fingerprint_comparable) that most machines have, the latest fingerprint of each machine and hardware type, by machine, then
 * type. out [fingerprints of the evidence]; returns how many were chosen. What was not is added to the omissions. */
static size_t explore_choose(const struct evidence *evidence, struct candidate *out, struct omissions *omissions)
{
	size_t n = candidates_find(evidence, out, omissions), chosen = 0, earlier = 0;
	const struct fingerprint *kind = candidates_kind(out, n);
	bool *gaps = candidates_gaps(&evidence->fingerprints, out, n, kind);

	omit_gaps(out, n, kind, gaps, omissions);
	omit_others(out, n, kind, omissions);
	for (size_t i = 0; i < n; i++) {
		const struct candidate *last = chosen ? &out[chosen - 1] : NULL, this = out[i];

		if (!fingerprint_comparable(this.f, kind) || gaps[i])
			continue;
		if (last && candidates_same_machine(last, &this) && last->type == this.type)
			earlier++;
		else
			out[chosen++] = this;
	}
	if (earlier)
		omissions_add(omissions, "the latest one of a machine counts", "%zu earlier fingerprint%s", earlier, text_plural(earlier));
	free(gaps);
	return chosen;
}

/* ---- fingerprints ---- */

static void explore_types(struct explore *e, const struct candidate *chosen)
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
		e->machines += i == 0 || !candidates_same_machine(&chosen[i - 1], &chosen[i]);
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

static size_t drop_nan(double *x, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (!isnan(x[i]))
			x[kept++] = x[i];
	}
	return kept;
}

/* values[n] is room for one number a fingerprint. */
static void stressor_describe(const struct explore *e, size_t stressor, double *values, struct explore_stressor *s)
{
	const struct fingerprint_set *set = &e->evidence->fingerprints;
	double *by_type = mem_new(e->n_types, sizeof(*by_type));
	size_t types;

	for (size_t i = 0; i < e->n; i++)
		values[i] = log(fingerprint_summarise(set, e->fingerprints[i], stressor).median);
	middle_by_type(e, values, true, s->type_rate);
	for (size_t t = 0; t < e->n_types; t++)
		s->type_rate[t] = by_type[t] = exp(s->type_rate[t]);
	types = drop_nan(by_type, e->n_types);
	s->middle = stats_median(by_type, types);
	s->cv = cv_of(by_type, types);
	for (size_t i = 0; i < e->n; i++)
		values[i] = pass_cv(set, e->fingerprints[i], stressor);
	middle_by_type(e, values, false, by_type);
	types = drop_nan(by_type, e->n_types);
	s->within = median_or_nan(by_type, types);
	free(by_type);
}

static void explore_stressors(struct explore *e)
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
		stressor_describe(e, j, values, &s);
		columns[e->n_stressors] = j;
		e->stressors[e->n_stressors++] = s;
	}
	e->rates = mat_new(e->n, e->n_stressors);
	for (size_t i = 0; i < e->n; i++) {
		for (size_t j = 0; j < e->n_stressors; j++)
			mat_set(&e->rates, i, j, fingerprint_summarise(set, e->fingerprints[i], columns[j]).median);
	}
	mem_free(columns, values);
}

/* ---- what moves together ---- */

static void explore_correlate(struct explore *e)
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

	for (size_t j = 0; j < set->n_stressors; j++) {
		bool tried = false, measured = false;

		for (size_t i = 0; i < e->n && !measured; i++) {
			struct fingerprint_summary s = fingerprint_summarise(set, e->fingerprints[i], j);

			measured = s.measured > 0;
			tried = tried || s.zero || (e->fingerprints[i]->reasons && e->fingerprints[i]->reasons[j]);
		}
		if (!measured && tried)
			omissions_one(&e->omissions, "no rate on any of these machines", "stressor", "", "%s", set->stressors[j]);
	}
}

/* Stressors of the first picture that are in none of the others. */
static void omit_state(struct explore *e, enum feature_state state, const char *why)
{
	for (size_t j = 0; j < e->n_stressors; j++) {
		if (e->features.state[j] == state)
			omissions_one(&e->omissions, why, "stressor", "", "%s (on %zu of %zu)", e->stressors[j].name,
				      e->stressors[j].machines, e->n);
	}
}

static void omit_copies(struct explore *e)
{
	for (size_t j = 0; j < e->n_stressors; j++) {
		size_t k = e->features.distinct[j];

		if (k != FEATURES_NONE && e->features.first[k] != j)
			omissions_one(&e->omissions, "another one is the same on all machines, but for a factor, and stands for it",
				      "stressor", "", "%s (as %s)", e->stressors[j].name, e->stressors[e->features.first[k]].name);
	}
}

/* ---- all ---- */

void explore_of(const struct evidence *evidence, struct explore *out)
{
	struct explore e = { .evidence = evidence };
	struct candidate *chosen = mem_new(evidence->fingerprints.n, sizeof(*chosen));

	e.n = explore_choose(evidence, chosen, &e.omissions);
	e.fingerprints = mem_new(e.n, sizeof(*e.fingerprints));
	e.type = mem_new(e.n, sizeof(*e.type));
	explore_types(&e, chosen);
	explore_stressors(&e);
	if (e.n) {
		features_of(&e.rates, e.type, e.n_types, &e.features);
		explore_correlate(&e);
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
	mem_free(e->stressors, e->fingerprints, e->type, e->types, e->order);
	mat_release(&e->rates);
	mat_release(&e->correlation);
	features_release(&e->features);
	pca_release(&e->pca);
	omissions_release(&e->omissions);
	*e = (struct explore){ 0 };
}

void explore_application_of(const struct evidence *evidence, struct run_set *runs, struct explore_application *out,
			    struct omissions *omissions)
{
	*out = (struct explore_application){ .runs = *runs };
	*runs = (struct run_set){ 0 };
	page_profile_of(evidence, &out->runs, "", &out->shown, omissions);
	omissions_other_builds(omissions, &out->runs);
}

void explore_application_release(struct explore_application *a)
{
	page_profile_release(&a->shown);
	run_set_release(&a->runs);
}

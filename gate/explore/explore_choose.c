/* Which fingerprints of a laboratory stand in one picture. */
#include "base/mem.h"
#include "base/text.h"
#include "gate/explore/explore_choose.h"

/* By machine, then hardware type, the latest first. */
static int compare_candidates(const void *a, const void *b)
{
	const struct explore_candidate *x = a, *y = b;
	int order = strcmp(x->f->machine, y->f->machine);

	if (!order)
		order = (x->type > y->type) - (x->type < y->type);
	if (!order)
		order = (x->f->taken_ms < y->f->taken_ms) - (x->f->taken_ms > y->f->taken_ms);
	return order ? order : strcmp(x->f->id, y->f->id);
}

bool explore_same_machine(const struct explore_candidate *a, const struct explore_candidate *b)
{
	return strcmp(a->f->machine, b->f->machine) == 0;
}

/* Fingerprints of machines that are in use and whose type is known. */
static size_t take_candidates(const struct evidence *evidence, struct explore_candidate *candidates,
			      struct report_omissions *omissions)
{
	struct report_omission *retired = NULL;
	const char *last = NULL;
	size_t n = 0, untyped = 0;

	for (size_t i = 0; i < evidence->fingerprints.n; i++) {
		const struct fingerprint *f = &evidence->fingerprints.items[i];
		const struct machine *machine = catalog_find(&evidence->catalog, f->machine);
		size_t type = types_find(&evidence->types, f->id);

		if (machine && machine->retired) {
			if (!retired)
				retired = report_omit(omissions, "in use no more", "retired");
			if (!last || strcmp(last, f->machine) != 0)
				report_omission_name(retired, "%s", f->machine);
			last = f->machine;
		} else if (type == SIZE_MAX) {
			untyped++;
		} else {
			candidates[n++] = (struct explore_candidate){ f, type };
		}
	}
	if (retired)
		report_omission_count(retired, "retired machine");
	if (untyped)
		report_omit(omissions, "the catalog does not know their hardware type: 'assay catalog check' says more",
			    "%zu fingerprint%s", untyped, text_plural(untyped));
	if (n)
		qsort(candidates, n, sizeof(*candidates), compare_candidates);
	return n;
}

/* Machines that have a fingerprint that is comparable to this one. */
static size_t machines_like(const struct explore_candidate *all, size_t n, const struct fingerprint *kind)
{
	const struct explore_candidate *last = NULL;
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		if (!fingerprint_comparable(all[i].f, kind))
			continue;
		count += !last || !explore_same_machine(last, &all[i]);
		last = &all[i];
	}
	return count;
}

/* The kind that most machines have; of equals the one that was taken last. */
static const struct fingerprint *most_common(const struct explore_candidate *all, size_t n)
{
	const struct fingerprint *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < n; i++) {
		size_t count;

		if (best && fingerprint_comparable(all[i].f, best)) {
			best = all[i].f->taken_ms > best->taken_ms ? all[i].f : best;
			continue;
		}
		count = machines_like(all, n, all[i].f);
		if (count > most || (count == most && all[i].f->taken_ms > best->taken_ms)) {
			most = count;
			best = all[i].f;
		}
	}
	return best;
}

/* Whether the rates of a fingerprint are fewer than half of those that any fingerprint of this kind has. */
static bool *find_gaps(const struct fingerprint_set *set, const struct explore_candidate *all, size_t n,
		       const struct fingerprint *kind)
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
	free(has);
	free(measured);
	return gaps;
}

static void omit_gaps(const struct explore_candidate *all, size_t n, const struct fingerprint *kind, const bool *gaps,
		      struct report_omissions *omissions)
{
	struct report_omission *bare = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!gaps[i] || !fingerprint_comparable(all[i].f, kind))
			continue;
		if (!bare)
			bare = report_omit(omissions, "more than half of the stressors have no rate in it", "gaps");
		report_omission_name(bare, "%s (%s)", all[i].f->machine, all[i].f->id);
	}
	if (bare)
		report_omission_count(bare, "fingerprint");
}

static void omit_others(const struct explore_candidate *all, size_t n, const struct fingerprint *kind,
			struct report_omissions *omissions)
{
	struct report_omission *others = NULL;

	for (size_t i = 0; i < n; i++) {
		if (fingerprint_comparable(all[i].f, kind))
			continue;
		if (!others)
			others = report_omit(omissions,
					     "of another battery, version of stress-ng or architecture than most machines have",
					     "others");
		report_omission_name(others, "%s (%s, stress-ng %s, %s)", all[i].f->machine, all[i].f->battery,
				     all[i].f->stress_ng, all[i].f->architecture);
	}
	if (others)
		report_omission_count(others, "fingerprint");
}

size_t explore_choose(const struct evidence *evidence, struct explore_candidate *out, struct report_omissions *omissions)
{
	size_t n = take_candidates(evidence, out, omissions), chosen = 0, earlier = 0;
	const struct fingerprint *kind = most_common(out, n);
	bool *gaps = find_gaps(&evidence->fingerprints, out, n, kind);

	omit_gaps(out, n, kind, gaps, omissions);
	omit_others(out, n, kind, omissions);
	for (size_t i = 0; i < n; i++) {
		const struct explore_candidate *last = chosen ? &out[chosen - 1] : NULL, this = out[i];

		if (!fingerprint_comparable(this.f, kind) || gaps[i])
			continue;
		if (last && explore_same_machine(last, &this) && last->type == this.type)
			earlier++;
		else
			out[chosen++] = this;
	}
	if (earlier)
		report_omit(omissions, "the latest one of a machine counts", "%zu earlier fingerprint%s", earlier,
			    text_plural(earlier));
	free(gaps);
	return chosen;
}

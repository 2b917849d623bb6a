#include "tests/bench/evaluate.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/text.h"
#include "gate/decide/verdict.h"
#include "walk.h"
#include "model/parallel.h"

#include <math.h>

#define SHAPE_P_LEAST 1e-12 /* smaller values are rounding errors of 1 - p */

/* ---- runs of the pairs ---- */

static bool list_allows(const struct evaluate_list *list, int64_t value)
{
	for (size_t i = 0; i < list->n; i++) {
		if (list->items[i] == value)
			return true;
	}
	return list->n == 0;
}

/* Removes the runs that the side's lists do not allow. Includes runs of earlier builds if there are time stamps. */
static void restrict_runs(const struct evaluate_side *side, struct run_set *set)
{
	size_t n = 0;

	if (side->timestamps.n)
		run_set_add_others(set);
	for (size_t i = 0; i < set->n; i++) {
		if (list_allows(&side->repetitions, set->items[i].repetition) && list_allows(&side->timestamps, set->items[i].taken_ms))
			set->items[n++] = set->items[i];
		else
			free(set->items[i].machine);
	}
	set->n = n;
}

/* Loads the runs of a version. If a named version is not found, run_resolve_version() searches all versions for a good error message. */
static enum assay_status load_version(struct lab *lab, const struct evaluate_side *side, struct run_set *out, struct assay_error *err)
{
	char *version = NULL;
	enum assay_status st = ASSAY_OK;

	if (side->version) {
		st = run_load(&lab->store, side->application, side->version, out, err);
		if (st || out->n || out->n_others)
			return st;
		run_set_release(out);
	}
	st = run_resolve_version(&lab->store, side->application, side->version, &version, err);
	if (!st)
		st = run_load(&lab->store, side->application, version, out, err);
	free(version);
	return st;
}

static enum assay_status load_side(struct lab *lab, const struct evaluate_side *side, struct run_set *out, struct assay_error *err)
{
	enum assay_status st = load_version(lab, side, out, err);
	bool none, others_only;

	if (st)
		return st;
	none = out->n + out->n_others == 0;
	others_only = !out->n && !side->timestamps.n;
	restrict_runs(side, out);
	if (out->n)
		return ASSAY_OK;
	st = assay_fail(err, none || others_only ? ASSAY_E_NODATA : ASSAY_E_NOTFOUND,
			none	      ? "'%s@%s' has no result"
			: others_only ? "'%s@%s' has no result of its latest build ('timestamps' choose those of others)"
				      : "no result of '%s@%s' is of these repetitions and time stamps",
			out->application, out->version);
	run_set_release(out);
	return st;
}

/* Moves the pairs with a side that has no result to the end. */
static enum assay_status pairs_leave_out(struct evaluate_pairs *pairs, struct assay_error *err)
{
	struct evaluate_pair *all = pairs->items;
	size_t n = pairs->n, at = 0;

	pairs->items = mem_new(n, sizeof(*all));
	for (int left_out = 0; left_out < 2; left_out++) {
		for (size_t i = 0; i < n; i++) {
			if ((all[i].left_out != NULL) == left_out)
				pairs->items[at++] = all[i];
		}
		if (!left_out)
			pairs->n = at;
	}
	pairs->n_left_out = n - pairs->n;
	free(all);
	if (pairs->n)
		return ASSAY_OK;
	return assay_fail(err, ASSAY_E_NODATA, "no pair can be judged: pair %zu: %s", pairs->items[0].number, pairs->items[0].left_out);
}

/* A side that was loaded before, found by its text. */
struct known_side {
	char *text;
	char *missing; /* reason why the side has no runs; NULL if it has */
};

static enum assay_status load_once(struct lab *lab, struct evaluate_side *side, struct known_side *known, struct evaluate_runs *runs,
				   struct assay_error *err)
{
	char *text = evaluate_side_text(side);
	enum assay_status st;

	for (side->runs = 0; side->runs < runs->n; side->runs++) {
		if (strcmp(known[side->runs].text, text) == 0) {
			free(text);
			return ASSAY_OK;
		}
	}
	st = load_side(lab, side, &runs->sets[runs->n], err);
	known[runs->n++] = (struct known_side){ text, st == ASSAY_E_NODATA ? mem_string(err->text) : NULL };
	return st == ASSAY_E_NODATA ? ASSAY_OK : st;
}

/* Loads the runs of all pairs. */
static enum assay_status evaluation_load(struct lab *lab, struct evaluation *e, struct assay_error *err)
{
	size_t n = 2 * e->pairs.n;
	struct known_side *known = mem_new(n, sizeof(*known));
	enum assay_status st = ASSAY_OK;

	e->runs.sets = mem_new(n, sizeof(struct run_set));
	for (size_t i = 0; !st && i < n; i++) {
		struct evaluate_pair *pair = &e->pairs.items[i / 2];
		struct evaluate_side *side = &pair->sides[i % 2];

		st = load_once(lab, side, known, &e->runs, err);
		if (st)
			st = assay_add_context(err, "pair %zu, %s", pair->number, i % 2 ? "candidate" : "baseline");
		else if (known[side->runs].missing && !pair->left_out)
			pair->left_out = mem_string(known[side->runs].missing);
	}
	for (size_t i = 0; i < e->runs.n; i++)
		mem_free(known[i].text, known[i].missing);
	free(known);
	return st ? st : pairs_leave_out(&e->pairs, err);
}

/* ---- scores ---- */

/* Returns the gate's score. The score is at least 1 exactly if the decision is regression or improved. */
static double gate_score(const struct effect *e, double min_effect)
{
	if (isnan(e->low))
		return nan("");
	return fabs(log(e->ratio)) / fmax(log1p(min_effect), (log(e->high) - log(e->low)) / 2);
}

static double mean_score(const struct pairing *pairing)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < pairing->n; i++) {
		if (pairing->machines[i].reason != PAIRING_USED)
			continue;
		sum += fabs(pairing->machines[i].log_ratio);
		n++;
	}
	return n ? sum / (double)n : (double)NAN;
}

static double shape_score(const struct effect *e)
{
	return isnan(e->pattern_p) ? e->pattern_p : -log10(fmax(e->pattern_p, SHAPE_P_LEAST));
}

static void judge_verdict(const struct verdict *v, struct evaluate_outcome *o)
{
	double *score = o->score;

	o->effect = v->effect;
	score[METHOD_GATE] = gate_score(&v->effect, v->min_effect);
	score[METHOD_MEAN] = mean_score(&v->pairing);
	score[METHOD_SHAPE] = shape_score(&v->effect);
	score[METHOD_EITHER] = fmax(score[METHOD_GATE], score[METHOD_SHAPE] / -log10(PATTERN_LEVEL)); /* fmax() ignores one NaN */
	o->flagged[METHOD_GATE] = v->effect.decision == DECISION_REGRESSION || v->effect.decision == DECISION_IMPROVED;
	o->flagged[METHOD_MEAN] = stats_round(score[METHOD_MEAN]) >= stats_round(log1p(v->min_effect));
	o->flagged[METHOD_SHAPE] = stats_round(v->effect.pattern_p) < PATTERN_LEVEL; /* false if pattern_p is NaN */
	o->flagged[METHOD_EITHER] = o->flagged[METHOD_GATE] || o->flagged[METHOD_SHAPE];
}

static void judge_walk(const struct walk_profile *baseline, const struct walk_profile *candidate, double epsilon,
		       struct evaluate_outcome *o)
{
	struct walk walk;

	o->score[METHOD_WALK] = nan("");
	if (!baseline->n || !candidate->n)
		return;
	walk_of(baseline, candidate, epsilon, &walk);
	o->score[METHOD_WALK] = walk.distance;
	o->flagged[METHOD_WALK] = walk.decision == DECISION_REGRESSION;
	walk_release(&walk);
}

ORDER_BY(compare_runs, struct run, BY_TEXT(machine) BY_ASC(repetition) BY_ASC(taken_ms))

/* Counts the results that both sets have, if both are the same version. */
static size_t count_shared(const struct run_set *a, const struct run_set *b)
{
	size_t shared = 0, i = 0, k = 0;

	if (strcmp(a->application, b->application) != 0 || strcmp(a->version, b->version) != 0)
		return 0;
	while (i < a->n && k < b->n) {
		int order = compare_runs(&a->items[i], &b->items[k]);

		shared += order == 0;
		i += order <= 0;
		k += order >= 0;
	}
	return shared;
}

/* ---- judging ---- */

/* Data shared by the threads; each thread writes only its own elements. */
struct job {
	const struct evidence *evidence;
	const struct lab_config *config;
	const struct evaluation *evaluation;
	struct walk_profile *profiles; /* [runs->n] */
	enum assay_status *status;     /* [pairs] */
};

/* Computes the profile of set i. If none can be computed, the profile stays empty and the walk gives no answer. */
static void fit_profile(void *context, size_t i)
{
	struct job *job = context;
	const struct run_set *set = &job->evaluation->runs.sets[i];
	struct assay_error ignored;

	if (set->n == 0 || walk_profile_of(job->evidence, set, &job->profiles[i], &ignored))
		job->profiles[i] = (struct walk_profile){ 0 };
}

static enum assay_status pair_verdict(const struct job *job, size_t i, struct verdict *out, struct assay_error *err)
{
	const struct evaluation *e = job->evaluation;
	const struct evaluate_side *sides = e->pairs.items[i].sides;

	return verdict_compute(job->evidence, job->config, &e->runs.sets[sides[0].runs], &e->runs.sets[sides[1].runs],
			       e->options.min_effect, out, err);
}

static void judge_pair(void *context, size_t i)
{
	struct job *job = context;
	const struct evaluation *e = job->evaluation;
	const struct evaluate_side *sides = e->pairs.items[i].sides;
	struct evaluate_outcome *o = &e->outcomes[i];
	struct assay_error ignored;
	struct verdict verdict;

	job->status[i] = pair_verdict(job, i, &verdict, &ignored);
	if (job->status[i])
		return;
	judge_verdict(&verdict, o);
	judge_walk(&job->profiles[sides[0].runs], &job->profiles[sides[1].runs], e->options.epsilon, o);
	o->shared = count_shared(verdict.baseline, verdict.candidate);
	verdict_release(&verdict);
}

/* Judges all pairs in parallel. On errors, judges the first failed pair again, so that the error message is deterministic. */
static enum assay_status judge_all(struct job *job, struct assay_error *err)
{
	const struct evaluation *e = job->evaluation;
	enum assay_status st = ASSAY_OK;
	struct verdict verdict;

	job->profiles = mem_new(e->runs.n, sizeof(*job->profiles));
	job->status = mem_new(e->pairs.n, sizeof(*job->status));
	if (e->options.walk)
		parallel_for(e->runs.n, e->options.threads, fit_profile, job);
	parallel_for(e->pairs.n, e->options.threads, judge_pair, job);
	for (size_t i = 0; !st && i < e->pairs.n; i++) {
		st = job->status[i] ? pair_verdict(job, i, &verdict, err) : ASSAY_OK;
		ASSAY_BUG_IF(st != job->status[i]);
		if (st)
			st = assay_add_context(err, "pair %zu", e->pairs.items[i].number);
	}
	mem_release_all(job->profiles, e->runs.n, walk_profile_release);
	free(job->status);
	return st;
}

/* ---- clusters ---- */

/* Union-find over applications and given cluster names. names[] is sorted; parent[] leads to the name that represents the cluster. */
struct ties {
	const char **names;
	size_t *parent;
	size_t n;
};

static size_t name_find(const struct ties *t, const char *name)
{
	const char *const *found = bsearch(&name, t->names, t->n, sizeof(char *), text_compare);

	return (size_t)(found - (const char *const *)t->names);
}

static size_t root_of(const struct ties *t, size_t i)
{
	while (t->parent[i] != i)
		i = t->parent[i];
	return i;
}

/* Merges the clusters of two names. The smaller name represents both. */
static void ties_join(struct ties *t, const char *a, const char *b)
{
	size_t x = root_of(t, name_find(t, a)), y = root_of(t, name_find(t, b));

	t->parent[x > y ? x : y] = x < y ? x : y;
}

static const char *pair_application(const struct evaluation *e, size_t pair, int side)
{
	return e->runs.sets[e->pairs.items[pair].sides[side].runs].application;
}

static struct ties collect_ties(const struct evaluation *e)
{
	struct ties t = { .names = mem_new(3 * e->pairs.n, sizeof(char *)) };
	size_t n = 0;

	for (size_t i = 0; i < e->pairs.n; i++) {
		t.names[t.n++] = pair_application(e, i, 0);
		t.names[t.n++] = pair_application(e, i, 1);
		if (e->pairs.items[i].cluster)
			t.names[t.n++] = e->pairs.items[i].cluster;
	}
	qsort(t.names, t.n, sizeof(char *), text_compare);
	for (size_t i = 0; i < t.n; i++) {
		if (i == 0 || strcmp(t.names[i], t.names[n - 1]) != 0)
			t.names[n++] = t.names[i];
	}
	t.n = n;
	t.parent = mem_new(n, sizeof(size_t));
	for (size_t i = 0; i < n; i++)
		t.parent[i] = i;
	return t;
}

/* Sets `clusters` and the cluster of every outcome. Pairs that share an application, on either side, or a given name are in one cluster;
 * this relation is transitive. */
static void evaluate_clusters(struct evaluation *e)
{
	struct ties t = collect_ties(e);
	size_t *number = mem_new(t.n, sizeof(size_t));

	for (size_t i = 0; i < e->pairs.n; i++) {
		ties_join(&t, pair_application(e, i, 0), pair_application(e, i, 1));
		if (e->pairs.items[i].cluster)
			ties_join(&t, pair_application(e, i, 0), e->pairs.items[i].cluster);
	}
	e->clusters = mem_new(t.n, sizeof(char *));
	for (size_t i = 0; i < t.n; i++) {
		if (t.parent[i] != i)
			continue;
		number[i] = e->n_clusters;
		e->clusters[e->n_clusters++] = t.names[i];
	}
	for (size_t i = 0; i < e->pairs.n; i++)
		e->outcomes[i].cluster = number[root_of(&t, name_find(&t, pair_application(e, i, 0)))];
	mem_free(number, t.names, t.parent);
}

/* ---- kinds, rates, areas ---- */

static const char *label_of(const struct evaluation *e, size_t pair)
{
	return e->pairs.items[pair].label ? e->pairs.items[pair].label : "";
}

static int compare_kinds(const void *a, const void *b)
{
	const struct evaluate_kind *x = a, *y = b;

	return x->changed != y->changed ? x->changed - y->changed : strcmp(x->label, y->label);
}

static void collect_kinds(struct evaluation *e)
{
	size_t n = 0;

	e->kinds = mem_new(e->pairs.n, sizeof(*e->kinds));
	for (size_t i = 0; i < e->pairs.n; i++)
		e->kinds[i] = (struct evaluate_kind){ .label = label_of(e, i), .changed = e->pairs.items[i].changed };
	qsort(e->kinds, e->pairs.n, sizeof(*e->kinds), compare_kinds);
	for (size_t i = 0; i < e->pairs.n; i++) {
		if (i == 0 || compare_kinds(&e->kinds[i], &e->kinds[n - 1]) != 0)
			e->kinds[n++] = e->kinds[i];
	}
	e->n_kinds = n;
}

/* Columns of the outcomes, for the statistics. */
struct columns {
	struct evaluate_sample sample;
	size_t *cluster;
	bool *counts, *flagged, *changed;
	double *score;
};

static void fill_kind(const struct evaluation *e, struct columns *c, struct evaluate_kind *kind, bool any_label)
{
	for (size_t i = 0; i < e->pairs.n; i++) {
		c->counts[i] = e->pairs.items[i].changed == kind->changed && (any_label || strcmp(label_of(e, i), kind->label) == 0);
		kind->pairs += c->counts[i];
		kind->decisions[e->outcomes[i].effect.decision] += c->counts[i];
	}
	for (int m = 0; m < EVALUATE_METHODS; m++) {
		for (size_t i = 0; i < e->pairs.n; i++)
			c->flagged[i] = e->outcomes[i].flagged[m];
		kind->rates[m] = evaluate_rate_of(&c->sample, c->counts, c->flagged);
	}
}

static void fill_area(struct evaluation *e, struct columns *c, int m)
{
	for (size_t i = 0; i < e->pairs.n; i++) {
		c->score[i] = e->outcomes[i].score[m];
		e->scored[m] += isnan(c->score[i]) ? 0 : 1;
	}
	e->areas[m] = evaluate_area_of(&c->sample, c->changed, c->score);
}

/* Sets `kinds`, `total`, `areas` and `scored` from the outcomes. */
static void evaluate_summary(struct evaluation *e)
{
	size_t n = e->pairs.n;
	struct columns c = { .cluster = mem_new(n, sizeof(size_t)),
			     .counts = mem_new(n, sizeof(bool)),
			     .flagged = mem_new(n, sizeof(bool)),
			     .changed = mem_new(n, sizeof(bool)),
			     .score = mem_new(n, sizeof(double)) };

	c.sample = (struct evaluate_sample){ c.cluster, n, e->n_clusters, e->options.resamples, e->options.seed };
	for (size_t i = 0; i < n; i++) {
		c.cluster[i] = e->outcomes[i].cluster;
		c.changed[i] = e->pairs.items[i].changed;
	}
	collect_kinds(e);
	for (size_t k = 0; k < e->n_kinds; k++)
		fill_kind(e, &c, &e->kinds[k], false);
	for (int changed = 0; changed < 2; changed++) {
		e->total[changed] = (struct evaluate_kind){ .label = "", .changed = changed == 1 };
		fill_kind(e, &c, &e->total[changed], true);
	}
	for (int m = 0; m < EVALUATE_METHODS; m++)
		fill_area(e, &c, m);
	mem_free(c.cluster, c.counts, c.flagged, c.changed, c.score);
}

/* ---- evaluation ---- */

/* Judges all pairs and fills the results. The caller has set pairs, runs and options. */
static enum assay_status evaluation_judge(const struct evidence *evidence, const struct lab_config *config, struct evaluation *e,
					  struct assay_error *err)
{
	struct job job = { .evidence = evidence, .config = config, .evaluation = e };
	enum assay_status st;

	ASSAY_BUG_IF(e->pairs.n == 0 || e->options.resamples == 0);
	e->outcomes = mem_new(e->pairs.n, sizeof(*e->outcomes));
	st = judge_all(&job, err);
	if (!st) {
		evaluate_clusters(e);
		evaluate_summary(e);
	}
	return st;
}

enum assay_status evaluation_of(struct lab *lab, const char *path, const struct evaluate_options *options, struct evaluation *out,
				struct assay_error *err)
{
	struct evidence evidence = { 0 };
	enum assay_status st;

	*out = (struct evaluation){ .options = *options };
	st = evaluate_pairs_read(path, &out->pairs, err);
	if (!st)
		st = evaluation_load(lab, out, err);
	if (!st)
		st = evidence_load(lab, &evidence, err);
	if (!st)
		st = evaluation_judge(&evidence, &lab->config, out, err);
	evidence_release(&evidence);
	return st;
}

void evaluation_release(struct evaluation *e)
{
	mem_release_all(e->runs.sets, e->runs.n, run_set_release);
	evaluate_pairs_release(&e->pairs);
	mem_free(e->outcomes, e->clusters, e->kinds);
	*e = (struct evaluation){ 0 };
}

#include "gate/decide/verdict.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>

static double cpu_s(const struct run *run)
{
	return ((double)run->usage.user_us + (double)run->usage.sys_us) / 1e6;
}

/* Returns a time of a run in seconds; 0 or NaN if it is not known. `at_once` is the number of CPUs that the program used at the same time
 * on this machine. TIME_OWN is at least CPU time / at_once, however long the threads waited for a CPU. */
static double run_time_s(const struct run *run, enum time time, double at_once)
{
	double wall = (double)run->usage.wall_ns / 1e9;

	if (run->usage.wall_ns <= 0)
		return 0;
	if (time == TIME_OWN)
		return run->queued_ns < 0 ? (double)NAN : fmax(wall - (double)run->queued_ns / 1e9, cpu_s(run) / at_once);
	return time == TIME_PROCESSOR ? cpu_s(run) : wall;
}

/* Returns the largest mean number of CPUs that a run of either version used on a machine; at least 1. */
static double parallel_cpus(const char *machine, const struct run_set *const sides[2])
{
	double at_once = 1;

	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < sides[side]->n; i++) {
			const struct run *run = &sides[side]->items[i];

			if (run->usage.wall_ns > 0 && strcmp(run->machine, machine) == 0)
				at_once = fmax(at_once, cpu_s(run) / ((double)run->usage.wall_ns / 1e9));
		}
	}
	return at_once;
}

/* Returns the time `time` of each run of a version, in seconds; 0 or NaN if it is not known. free() the result. */
static double *run_times(const struct run_set *const sides[2], int side, enum time time)
{
	const struct run *runs = sides[side]->items;
	double *times = mem_new(sides[side]->n, sizeof(*times)), at_once = 1;

	for (size_t i = 0; i < sides[side]->n; i++) {
		if (i == 0 || strcmp(runs[i - 1].machine, runs[i].machine) != 0)
			at_once = parallel_cpus(runs[i].machine, sides);
		times[i] = run_time_s(&runs[i], time, at_once);
	}
	return times;
}

/* Returns the runs of a version with known `time` as their metric. The caller frees only `items`; the set borrows the rest. */
static struct run_set runs_with_time(const struct run_set *const sides[2], int side, enum time time)
{
	double *times = run_times(sides, side, time);
	struct run_set set = *sides[side];

	set.higher_is_better = false;
	set.items = mem_new(set.n, sizeof(*set.items));
	set.n = 0;
	for (size_t i = 0; i < sides[side]->n; i++) {
		if (times[i] > 0) { /* false for 0 and NaN */
			set.items[set.n] = sides[side]->items[i];
			set.items[set.n++].metric = times[i];
		}
	}
	free(times);
	return set;
}

static bool is_wall(const struct run_set *runs)
{
	for (size_t i = 0; i < runs->n; i++) {
		double wall = run_time_s(&runs->items[i], TIME_WALL, 1);

		if (!(wall > 0) || fabs(runs->items[i].metric - wall) > 1e-9 * wall)
			return false;
	}
	return runs->n > 0;
}

/* Returns the median, over the baseline's runs, of CPU time / (wall-clock time without run-queue delay); at most 1. */
static double cpu_share(const struct run_set *const sides[2])
{
	double *walls = run_times(sides, 0, TIME_WALL), *shares = run_times(sides, 0, TIME_OWN), share = 1;
	size_t n = 0;

	for (size_t i = 0; i < sides[0]->n; i++) {
		double own = isnan(shares[i]) ? walls[i] : shares[i];

		if (own > 0)
			shares[n++] = fmin(1, cpu_s(&sides[0]->items[i]) / own);
	}
	if (n)
		share = stats_median(shares, n);
	mem_free(walls, shares);
	return share;
}

static void times_compute(const struct evidence *evidence, const struct lab_config *config, const struct run_set *baseline,
			  const struct run_set *candidate, const struct effect_request *asked, struct times *out)
{
	const struct run_set *const sides[] = { baseline, candidate };
	struct times t = { .is_metric_wall_time = is_wall(baseline) && is_wall(candidate), .share = cpu_share(sides) };

	for (int time = 0; time < TIMES; time++) {
		struct run_set a = runs_with_time(sides, 0, (enum time)time), b = runs_with_time(sides, 1, (enum time)time);
		struct pairing pairing = { .n = 0 };

		if (a.n && b.n) {
			pairing_compute(evidence, config, &a, &b, &pairing);
			t.effects[time] = pairing_effect(&pairing, asked);
			if (time == TIME_PROCESSOR && t.share > 0)
				t.effects[time].minimum_detectable =
				    pairing_effect(&pairing, &(struct effect_request){ asked->min_effect / t.share, asked->level })
					.minimum_detectable;
		}
		pairing_release(&pairing);
		mem_free(a.items, b.items);
	}
	t.disturbed = disturbed_is_baseline_busy(sides, asked->min_effect, &t.machines, &t.n_machines);
	*out = t;
}

static void times_release(struct times *times)
{
	free(times->machines);
	*times = (struct times){ .n_machines = 0 };
}

/* Returns the ratio of the whole time if a part with this share of it changes by `ratio`. Doubling a part of 1 % hardly matters. */
static double scale_to_wall_time(double ratio, double share)
{
	return 1 + share * (ratio - 1);
}

static struct rule_input make_rule_input(const struct times *t, enum decision performance, double min_effect)
{
	struct rule_input in = { .performance = performance, .processor = RULE_UNKNOWN, .own = RULE_UNKNOWN };
	const struct effect *cpu = &t->effects[TIME_PROCESSOR], *own = &t->effects[TIME_OWN];

	in.disturbed = t->is_metric_wall_time && t->disturbed && !isnan(t->effects[TIME_WALL].low);
	if (t->is_metric_wall_time && cpu->types)
		in.processor = effect_decide(scale_to_wall_time(cpu->ratio, t->share), scale_to_wall_time(cpu->low, t->share),
					     scale_to_wall_time(cpu->high, t->share), min_effect);
	if (t->is_metric_wall_time && own->types)
		in.own = own->decision;
	return in;
}

/* Returns the first rule that applies. Returns RULES if none applies, so that the interval of the metric decides. */
static enum rule rule_find(const struct rule_input *in)
{
	enum { R = 1u << DECISION_REGRESSION, I = 1u << DECISION_IMPROVED, P = 1u << DECISION_PASS, U = 1u << DECISION_INCONCLUSIVE };
	enum { NONE = 1u << RULE_UNKNOWN, ANY = R | I | P | U };
	unsigned performance = 1u << in->performance, processor = 1u << in->processor, own = 1u << in->own;

	ASSAY_BUG_IF(in->performance >= DECISIONS || in->processor > RULE_UNKNOWN || in->own > RULE_UNKNOWN);
	RULE_ROWS(RULE_WHEN)
	return RULES;
}

ROWS_FUNCTION(rule_code, enum rule, RULE_ROWS, RULE_CODE)
ROWS_FUNCTION(rule_text, enum rule, RULE_ROWS, RULE_TEXT)

static enum decision rule_decision(enum rule rule)
{
	static const enum decision decisions[] = { RULE_ROWS(RULE_DECISION) };

	ASSAY_BUG_IF(rule >= RULES);
	return decisions[rule];
}

/* Reports whether the rule decides by CPU time instead of the metric. */
static bool rule_is_by_cpu_time(enum rule rule)
{
	return rule == RULE_COMPUTES_MORE || rule == RULE_HIDDEN_BY_BUSY || rule == RULE_SAME_CPU_TIME || rule == RULE_LESS_CPU_TIME;
}

bool verdict_is_by_cpu_time(const struct verdict *v)
{
	return rule_is_by_cpu_time(v->rule);
}

const struct effect *verdict_effect(const struct verdict *v)
{
	return verdict_is_by_cpu_time(v) ? &v->times.effects[TIME_PROCESSOR] : &v->effect;
}

bool verdict_always_fails(const struct verdict *v)
{
	const struct run_set *a = v->baseline, *b = v->candidate;

	return b->n_executed && b->failed == b->n_executed && !b->n && a->n && !pairing_compare_terms(a, b);
}

bool verdict_fails_more(const struct verdict *v)
{
	const struct run_set *a = v->baseline, *b = v->candidate;

	return b->failed && (!a->n_executed || b->failed * a->n_executed > a->failed * b->n_executed);
}

bool verdict_never_starts(const struct verdict *v)
{
	const struct run_set *b = v->candidate;

	return b->n_executed && b->not_started == b->n_executed && !b->n;
}

/* Reports whether the candidate ran at least twice, and the time limit ended runs only after at least twice the longest baseline run. */
static bool verdict_has_hang(const struct verdict *v)
{
	const struct run_set *a = v->baseline, *b = v->candidate;
	int64_t longest_ns = 0;

	for (size_t i = 0; i < a->n; i++)
		longest_ns = a->items[i].usage.wall_ns > longest_ns ? a->items[i].usage.wall_ns : longest_ns;
	return b->n_executed > 1 && longest_ns > 0 && longest_ns <= b->hung_ns / 2;
}

bool verdict_crashes(const struct verdict *v)
{
	const struct run_set *a = v->baseline, *b = v->candidate;

	return verdict_always_fails(v) && b->n_crashed == b->n_executed && (!b->hung_ns || verdict_has_hang(v)) && a->n_executed &&
	       !a->failed;
}

/* Reports whether both versions have results, and all results come from the same build. */
static bool verdict_is_same_build(const struct verdict *v)
{
	const struct run_set *a = v->baseline, *b = v->candidate;

	return a != b && a->n && b->n && *a->items[0].build && strcmp(a->items[0].build, b->items[0].build) == 0 &&
	       (strcmp(a->version, b->version) != 0 || !*a->application); /* commands without a laboratory have no application */
}

/* Returns the decision. A run that fails has no cost, and the successful runs may be the easy ones. So a candidate that fails more often
 * never passes, and busy machines do not excuse it. A candidate that always fails is a regression if the baseline never fails. */
static enum decision verdict_decide(struct verdict *v)
{
	bool fails_more = verdict_fails_more(v);
	enum decision decision;

	v->input = make_rule_input(&v->times, v->interval_decision, v->min_effect);
	v->input.same_build = verdict_is_same_build(v);
	v->input.alternation = v->pairing.alternation;
	v->input.has_two_groups = v->pairing.groups.differ;
	v->rule = rule_find(&v->input);
	decision = v->rule < RULES ? rule_decision(v->rule) : v->interval_decision;
	if (v->interval_decision == DECISION_NOTHING_MEASURED && fails_more && verdict_always_fails(v) && !verdict_never_starts(v))
		return v->baseline->failed ? DECISION_INCONCLUSIVE : DECISION_REGRESSION;
	fails_more =
	    fails_more && (decision_exit_status(decision) == 0 || (decision == DECISION_ENVIRONMENT && v->rule != RULE_SAME_BUILD));
	return fails_more ? DECISION_INCONCLUSIVE : decision;
}

enum decision verdict_cost_decision(const struct verdict *v)
{
	return v->effect.types ? v->effect.decision : v->interval_decision;
}

const struct fingerprint *verdict_first_fingerprint(const struct verdict *v)
{
	const struct fingerprint *kind = NULL;

	for (size_t i = 0; i < v->pairing.n && !kind; i++)
		kind = v->pairing.machines[i].reason == PAIRING_USED ? v->pairing.machines[i].fingerprint : NULL;
	return kind;
}

/* Reports whether only one of wall-clock time and CPU time finds a change, if both may decide. */
static bool is_found_by_one_time(const struct verdict *v)
{
	unsigned cpu = make_rule_input(&v->times, v->interval_decision, v->min_effect).processor;

	return cpu != RULE_UNKNOWN && cpu != (unsigned)v->interval_decision &&
	       (decision_is_finding(v->interval_decision) || cpu == DECISION_REGRESSION || cpu == DECISION_IMPROVED);
}

/* Computes the effects on the metric and on the other times. If wall-clock time and CPU time find the same change, `level` is right. If
 * only one finds a change, it must find it with half of the error probability (Hochberg, Biometrika 75(4), 1988), because otherwise two
 * error probabilities would add up. */
static void verdict_effects(const struct evidence *evidence, const struct lab_config *config, double level, struct verdict *v)
{
	for (int stricter = 0; stricter == 0 || (stricter == 1 && is_found_by_one_time(v)); stricter++) {
		const struct effect_request asked = { v->min_effect, stricter ? (1 + level) / 2 : level };

		times_release(&v->times);
		v->effect = pairing_effect(&v->pairing, &asked);
		v->interval_decision = v->effect.decision;
		times_compute(evidence, config, v->baseline, v->candidate, &asked, &v->times);
	}
}

static struct verdict verdict_for_runs(const struct evidence *evidence, const struct lab_config *config, const struct run_set *baseline,
				       const struct run_set *candidate, double min_effect)
{
	struct verdict v = { .baseline = baseline, .candidate = candidate, .min_effect = min_effect };

	pairing_compute(evidence, config, baseline, candidate, &v.pairing);
	verdict_effects(evidence, config, fmax(EFFECT_LEVEL, fmax(baseline->level, candidate->level)), &v);
	v.effect.decision = verdict_decide(&v);
	v.effect_pattern = effect_pattern_classify(&v.effect);
	if (v.effect_pattern == PATTERN_NO_CHANGE && verdict_is_by_cpu_time(&v))
		v.effect_pattern = PATTERN_CPU_TIME;
	return v;
}

/* Reports whether `v` decides rather than `other`: the one with the worse decision decides, but "nothing measured" comes last. */
static bool is_worse_decision(const struct verdict *v, const struct verdict *other)
{
	enum decision a = v->effect.decision, b = other->effect.decision;

	if (a == b)
		return v->pairing.used > other->pairing.used;
	if (a == DECISION_NOTHING_MEASURED || b == DECISION_NOTHING_MEASURED)
		return b == DECISION_NOTHING_MEASURED;
	return decision_rank(a) < decision_rank(b);
}

static struct verdict verdict_architecture(const struct evidence *evidence, const struct lab_config *config,
					   const struct run_set *const sides[2], double min_effect, const char *architecture)
{
	struct run_set *own = mem_new(2, sizeof(*own));
	struct verdict v;

	for (int i = 0; i < 2; i++) {
		run_set_copy(sides[i], &own[i]);
		evidence_keep_architecture(evidence, architecture, &own[i]);
	}
	v = verdict_for_runs(evidence, config, &own[0], &own[1], min_effect);
	v.architecture_runs = own;
	return v;
}

/* Computes a verdict for each architecture in names[n]. Returns the verdict that comes first by is_worse_decision(). */
static struct verdict verdict_per_architecture(const struct evidence *evidence, const struct lab_config *config,
					       const struct run_set *const sides[2], double min_effect, const char *const *names, size_t n)
{
	struct verdict_architecture *within = mem_new(n, sizeof(*within));
	struct verdict v = { .architecture_runs = NULL };

	for (size_t i = 0; i < n; i++) {
		struct verdict one = verdict_architecture(evidence, config, sides, min_effect, names[i]);

		within[i] = (struct verdict_architecture){ names[i], one.effect, one.pairing.used };
		if (i && !is_worse_decision(&one, &v)) {
			verdict_release(&one);
			continue;
		}
		verdict_release(&v);
		v = one;
		v.architecture = names[i];
	}
	v.within = within;
	v.n_architectures = n;
	return v;
}

enum assay_status verdict_compute(const struct evidence *evidence, const struct lab_config *config, const struct run_set *baseline,
				  const struct run_set *candidate, double min_effect, struct verdict *out, struct assay_error *err)
{
	const struct run_set *const sides[] = { baseline, candidate };
	const char **names;
	size_t n;

	*out = (struct verdict){ 0 };
	if (baseline->higher_is_better != candidate->higher_is_better && !pairing_compare_terms(baseline, candidate))
		return assay_fail(err, ASSAY_E_USAGE,
				  "higher is better for '%s' and lower for '%s': they cannot be compared (column 'direction' sets this for "
				  "imported results)",
				  baseline->higher_is_better ? baseline->application : candidate->application,
				  baseline->higher_is_better ? candidate->application : baseline->application);
	n = evidence_architectures(evidence, sides, 2, &names);
	*out = n > 1 ? verdict_per_architecture(evidence, config, sides, min_effect, names, n)
		     : verdict_for_runs(evidence, config, baseline, candidate, min_effect);
	free(names);
	verdict_explain(out);
	return ASSAY_OK;
}

void verdict_add_reason(struct verdict *v, bool first, const char *code, char *text)
{
	size_t at = first ? 0 : v->n_reasons;

	ASSAY_BUG_IF(v->n_reasons == VERDICT_REASONS_MAX);
	memmove(v->reasons + at + 1, v->reasons + at, (v->n_reasons++ - at) * sizeof(*v->reasons));
	v->reasons[at] = (struct verdict_reason){ code, text };
}

void verdict_replace_decision(struct verdict *v, enum decision decision, const char *code, char *text)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n_reasons; i++) { /* remove the reason of the rule that no longer decides */
		if (v->rule < RULES && strcmp(v->reasons[i].code, rule_code(v->rule)) == 0)
			free(v->reasons[i].text);
		else
			v->reasons[n++] = v->reasons[i];
	}
	v->n_reasons = n;
	v->rule = RULES;
	v->effect.decision = decision;
	verdict_add_reason(v, true, code, text);
}

bool verdict_blame_environment(struct verdict *v, const char *code, char *text)
{
	bool own = v->input.processor == (unsigned)v->effect.decision || v->input.own == (unsigned)v->effect.decision;

	if (!decision_is_finding(v->effect.decision) || own || !v->effect.types) {
		free(text);
		return false;
	}
	verdict_replace_decision(v, verdict_fails_more(v) ? DECISION_INCONCLUSIVE : DECISION_ENVIRONMENT, code, text);
	return true;
}

void verdict_release(struct verdict *verdict)
{
	for (size_t i = 0; i < verdict->n_reasons; i++)
		free(verdict->reasons[i].text);
	free(verdict->within);
	for (int i = 0; verdict->architecture_runs && i < 2; i++)
		run_set_release(&verdict->architecture_runs[i]);
	free(verdict->architecture_runs);
	pairing_release(&verdict->pairing);
	times_release(&verdict->times);
	*verdict = (struct verdict){ 0 };
}

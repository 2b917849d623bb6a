#include "gate/decide/verdict.h"

#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"

#include <math.h>
#include <stdarg.h>

#define PERMUTATIONS 9999
#define SEED	     20171

/* ---- measuring and deciding ---- */

bool verdict_always_fails(const struct verdict *v)
{
	const struct run_set *a = v->baseline, *b = v->candidate;

	return b->executed && b->failed == b->executed && !b->n && a->n && !pairing_terms(a, b);
}

/* Do both have results, of one and the same build? */
static bool verdict_same_build(const struct verdict *v)
{
	const struct run_set *a = v->baseline, *b = v->candidate;

	return a != b && a->n && b->n && *a->items[0].build && strcmp(a->items[0].build, b->items[0].build) == 0 &&
	       strcmp(a->version, b->version) != 0;
}

/* A version that fails has no cost, and the runs that are left may be its easy ones: more failures than the baseline's never pass. One
 * that always fails where the other never does is worse by any measure. */
static enum decision verdict_decide(struct verdict *v)
{
	const struct run_set *a = v->baseline, *b = v->candidate;
	struct rule_input input = times_input(&v->times, v->by_interval, v->min_effect);
	bool fails_more = b->failed && (!a->executed || b->failed * a->executed > a->failed * b->executed);
	enum decision decision;

	input.same_build = verdict_same_build(v);
	v->rule = rule_of(&input);
	decision = v->rule < RULES ? rule_decision(v->rule) : v->by_interval;
	if (v->by_interval == DECISION_NOTHING_MEASURED && fails_more && verdict_always_fails(v))
		return a->failed ? DECISION_INCONCLUSIVE : DECISION_REGRESSION;
	return decision_exit(decision) == 0 && fails_more ? DECISION_INCONCLUSIVE : decision;
}

enum decision verdict_of_cost(const struct verdict *v)
{
	return v->effect.types ? v->effect.decision : v->by_interval;
}

/* ---- the stressors that the change follows ---- */

const struct fingerprint *verdict_kind(const struct verdict *v)
{
	const struct fingerprint *kind = NULL;

	for (size_t i = 0; i < v->pairing.n && !kind; i++)
		kind = v->pairing.machines[i].reason == PAIRING_USED ? v->pairing.machines[i].fingerprint : NULL;
	return kind;
}

bool verdict_usable(const struct pairing_machine *m, const struct fingerprint *kind)
{
	return m->reason == PAIRING_USED && m->fingerprint && fingerprint_comparable(m->fingerprint, kind);
}

/* What is known of the types that have machines, by type of the pairing. */
struct by_type {
	struct mat log_rate;	      /* [n_types x stressors] mean log rate, from medians over passes; NaN where a machine lacks it */
	double *log_ratio, *log_cost; /* [n_types] */
	size_t *machines;	      /* [n_types] */
};

static struct by_type by_type_of(const struct evidence *evidence, const struct pairing *p, const struct fingerprint *kind)
{
	size_t n = evidence->fingerprints.n_stressors;
	struct by_type b = { mat_new(p->n_types, n), mem_new(p->n_types, sizeof(double)), mem_new(p->n_types, sizeof(double)),
			     mem_new(p->n_types, sizeof(size_t)) };

	for (size_t i = 0; i < p->n; i++) {
		const struct pairing_machine *m = &p->machines[i];

		if (!verdict_usable(m, kind))
			continue;
		b.machines[m->type]++;
		b.log_ratio[m->type] += m->log_ratio;
		b.log_cost[m->type] += m->log_cost;
		for (size_t j = 0; j < n; j++) {
			struct fingerprint_summary s = fingerprint_summarise(&evidence->fingerprints, m->fingerprint, j);

			b.log_rate.at[m->type * n + j] += log(s.median); /* NaN stays NaN */
		}
	}
	for (size_t t = 0; t < p->n_types; t++) {
		b.log_ratio[t] /= (double)b.machines[t];
		b.log_cost[t] /= (double)b.machines[t];
		for (size_t j = 0; j < n; j++)
			b.log_rate.at[t * n + j] /= (double)b.machines[t];
	}
	return b;
}

static void by_type_release(struct by_type *b)
{
	mat_release(&b->log_rate);
	free(b->log_ratio);
	free(b->log_cost);
	free(b->machines);
}

/* Removes the rows of types without machines and the columns with a gap. Fills v->features. */
static void by_type_compact(const struct evidence *evidence, struct verdict *v, struct by_type *b)
{
	struct mat all = b->log_rate;
	size_t *columns = mem_new(all.cols, sizeof(size_t)), rows = 0;

	for (size_t j = 0; j < all.cols; j++) {
		bool whole = true;

		for (size_t t = 0; whole && t < all.rows; t++)
			whole = !b->machines[t] || isfinite(mat_get(&all, t, j));
		if (whole) {
			v->features[v->n_features] = evidence->fingerprints.stressors[j];
			columns[v->n_features++] = j;
		}
	}
	b->log_rate = mat_new(all.rows, all.cols);
	for (size_t t = 0; t < all.rows; t++) {
		if (!b->machines[t])
			continue;
		for (size_t j = 0; j < v->n_features; j++)
			b->log_rate.at[rows * v->n_features + j] = mat_get(&all, t, columns[j]);
		b->log_ratio[rows] = b->log_ratio[t];
		b->log_cost[rows++] = b->log_cost[t];
	}
	b->log_rate.rows = rows;
	b->log_rate.cols = v->n_features;
	free(columns);
	mat_release(&all);
}

/* Fills features, resources, resource_types and cause, from the pairing and the effect. */
static void verdict_find_cause(const struct evidence *evidence, struct verdict *v)
{
	size_t n = evidence->fingerprints.n_stressors;
	const struct fingerprint *kind = verdict_kind(v);
	struct by_type b = { .log_ratio = NULL };

	v->features = mem_new(n, sizeof(char *));
	v->resources = mem_new(n, sizeof(*v->resources));
	if (kind) {
		b = by_type_of(evidence, &v->pairing, kind);
		by_type_compact(evidence, v, &b);
		v->resource_types = b.log_rate.rows;
		if (v->n_features)
			cause_resources(b.log_ratio, &b.log_rate, PERMUTATIONS, SEED, v->resources);
	}
	v->cause = cause_of(&v->effect, b.log_ratio, b.log_cost, &b.log_rate, v->resources);
	by_type_release(&b);
}

size_t verdict_alike(const struct verdict *v)
{
	size_t alike = 0;

	for (size_t i = 0; i < v->n_features; i++)
		alike += v->resources[i].alike;
	return alike;
}

bool verdict_follows(const struct verdict *v, size_t resource)
{
	return v->cause.by_type && stats_round(v->resources[resource].p) < CAUSE_LEVEL;
}

const char *verdict_no_correlation(const struct verdict *v)
{
	if (!(stats_round(v->resources[0].p) < CAUSE_LEVEL))
		return "No correlation is larger than chance would make it";
	return "The ratio is not shown to differ between hardware types, so these correlations explain nothing";
}

/* ---- explaining: nothing is decided any more ---- */

/* Codes of reasons, except those for machines that are left out (PAIRING_ROWS), and whether they belong to the decision. */
#define VERDICT_REASON_ROWS(X)                                                                                                             \
	X(REASON_NO_COMMON_MACHINE, "no_common_machine", false)                                                                            \
	X(REASON_TOO_FEW_TYPES, "too_few_types", false)                                                                                    \
	X(REASON_SLOWER, "slower", true)                                                                                                   \
	X(REASON_FASTER, "faster", true)                                                                                                   \
	X(REASON_BELOW_MIN_EFFECT, "below_min_effect", true)                                                                               \
	X(REASON_MIN_GAIN, "min_gain", true)                                                                                               \
	X(REASON_SMALL, "detected_but_small", true)                                                                                        \
	X(REASON_AROUND, "around_min_effect", true)                                                                                        \
	X(REASON_WIDE, "interval_too_wide", true)                                                                                          \
	X(REASON_THESE_MACHINES, "these_machines_only", false)                                                                             \
	X(REASON_SHAPE_CHANGED, "shape_changed", false)                                                                                    \
	X(REASON_SHAPE_NOT_TESTED, "shape_not_tested", false)                                                                              \
	X(REASON_UNIFORM_CHANGE, "uniform_change", false)                                                                                  \
	X(REASON_UNIFORM_PART, "uniform_part", false)                                                                                      \
	X(REASON_WHAT_IT_TAKES, "what_it_takes", true)                                                                                     \
	X(REASON_LOOKED_AT, "looked_at", false)                                                                                            \
	X(REASON_RUNS_FAILED, "runs_failed", false)                                                                                        \
	X(REASON_FAILS, "candidate_fails", true)                                                                                           \
	X(REASON_ALWAYS_FAILS, "candidate_always_fails", false)                                                                            \
	X(REASON_RUNS_MISSING, "runs_missing", false)                                                                                      \
	X(REASON_NOT_INTERLEAVED, "not_interleaved", false)                                                                                \
	X(REASON_ORDER, "order_confounded", false)                                                                                         \
	X(REASON_DRIFT, "repetitions_drift", false)                                                                                        \
	X(REASON_EMULATED, VERDICT_EMULATED, false)                                                                                        \
	X(REASON_ARCHITECTURES, "architectures_apart", true)                                                                               \
	X(REASON_UNTYPED, "hardware_type_unknown", false)                                                                                  \
	X(REASON_COMPUTES_MORE, "computes_more", false)                                                                                    \
	X(REASON_WAITS_MORE, "waits_more", false)                                                                                          \
	X(REASON_COMPUTES_ALIKE, "computes_alike", true)

enum reason { VERDICT_REASON_ROWS(ROWS_ENUM) };

static void reason_put(struct verdict *v, const char *code, bool of_decision, const char *fmt, va_list args)
    __attribute__((format(printf, 4, 0)));
static void reason_put(struct verdict *v, const char *code, bool of_decision, const char *fmt, va_list args)
{
	char *text = NULL;

	ASSAY_BUG_IF(v->n_reasons == VERDICT_REASONS_MAX || vasprintf(&text, fmt, args) < 0);
	v->reasons[v->n_reasons++] = (struct verdict_reason){ code, of_decision, text };
}

static void reason_add(struct verdict *v, enum reason reason, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void reason_add(struct verdict *v, enum reason reason, const char *fmt, ...)
{
#define ROW(constant, code, of_decision) { code, of_decision },
	static const struct {
		const char *code;
		bool of_decision;
	} rows[] = { VERDICT_REASON_ROWS(ROW) };
#undef ROW
	va_list args;

	va_start(args, fmt);
	reason_put(v, rows[reason].code, rows[reason].of_decision, fmt, args);
	va_end(args);
}

static void reason_rule(struct verdict *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void reason_rule(struct verdict *v, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	reason_put(v, rule_code(v->rule), true, fmt, args);
	va_end(args);
}

static void reason_left_out(struct verdict *v, enum pairing_reason reason, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void reason_left_out(struct verdict *v, enum pairing_reason reason, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	reason_put(v, pairing_code(reason), false, fmt, args);
	va_end(args);
}

/* Whether machines that ran both give no ratio. */
static bool explain_any_ran_both(const struct pairing *pairing)
{
	for (size_t i = 0; i < pairing->n; i++) {
		if (pairing->machines[i].reason == PAIRING_HARDWARE_CHANGED || pairing->machines[i].reason == PAIRING_NOT_POSITIVE)
			return true;
	}
	return false;
}

static void explain_nothing(struct verdict *v)
{
	bool fails = v->candidate->executed && v->candidate->failed == v->candidate->executed;
	const char *restriction = "";

	if (v->effect.decision != v->by_interval) {
		reason_add(v, REASON_ALWAYS_FAILS,
			   "every run of the candidate failed, and %s of the baseline: there is no cost to compare, %s",
			   v->baseline->failed ? "some" : "none",
			   v->baseline->failed ? "and it need not be the candidate's fault" : "but the candidate is worse by any measure");
		return;
	}
	if (explain_any_ran_both(&v->pairing)) {
		reason_add(v, REASON_NO_COMMON_MACHINE,
			   "no machine that ran both versions gives a ratio of them, so nothing can be compared");
		return;
	}
	if (!fails && pairing_terms(v->baseline, v->candidate))
		restriction = " under the same manifest";
	else if (v->baseline->n_others || v->candidate->n_others)
		restriction = " in their latest builds";
	reason_add(v, REASON_NO_COMMON_MACHINE, "no machine ran both versions%s%s, so nothing can be compared", restriction,
		   fails ? ", because every run of the candidate failed" : "");
}

/* There is one hardware type, and the noise within its machines is unknown. */
static void explain_no_interval(struct verdict *v)
{
	bool alike = false;

	for (size_t i = 0; i < v->pairing.n; i++)
		alike = alike || (v->pairing.machines[i].noise_df > 0 && stats_round(v->pairing.machines[i].noise) <= 0);
	reason_add(v, REASON_TOO_FEW_TYPES, "only one hardware type ran both versions, and %s",
		   alike
		       ? "repetitions on it are exactly alike, which tells nothing about the noise: an interval needs a metric with finer "
			 "steps, or machines of another type"
		       : "too few times to know the noise within its machines: an interval needs two repetitions of each version on two "
			 "machines, or three on one, or machines of another type");
}

bool verdict_around(const struct verdict *v)
{
	return v->by_interval == DECISION_INCONCLUSIVE && stats_round(v->effect.low) > 1;
}

/* The interval shrinks with the square root of what is measured, and is to become shorter than the way from the estimate to the threshold.
 * What the decision would be with another threshold is known already. */
static void explain_around(struct verdict *v)
{
	const struct effect *e = &v->effect;
	double way = log1p(v->min_effect) - log(e->ratio), more = log(e->high / e->ratio) / way;
	double below = floor(1e4 * stats_round(e->ratio - 1)) / 100, above = floor(1e4 * stats_round(e->high - 1)) / 100 + .01;
	struct buf text = BUF_INIT;

	buf_format(&text,
		   "a slowdown is statistically detected, but not on which side of your threshold of %.4g %% it lies (ratio %s, 95 %% "
		   "interval %s to %s): ",
		   100 * v->min_effect, text_fixed(e->ratio, 4).text, text_fixed(e->low, 4).text, text_fixed(e->high, 4).text);
	if (more > 10)
		buf_text(&text, "to tell takes more than a hundred times as many measurements");
	else
		buf_format(&text, "to tell takes about %s times as many measurements", text_fixed(more * more, more < 3 ? 1 : 0).text);
	if (below > 0)
		buf_format(&text, "; with a threshold of %s %% it is a regression, with one of %s %% it passes ('--min-effect')",
			   text_fixed(below, 2).text, text_fixed(above, 2).text);
	reason_add(v, REASON_AROUND, "%s", text.bytes);
	buf_release(&text);
}

/* Standard error of the mean over types, as far as repetitions explain it. */
static double noise_of_mean(const struct pairing *p, size_t types)
{
	double *machines = mem_new(p->n_types, sizeof(*machines)), sum = 0;

	for (size_t i = 0; i < p->n; i++)
		machines[p->machines[i].reason == PAIRING_USED ? p->machines[i].type : 0] += p->machines[i].reason == PAIRING_USED;
	for (size_t i = 0; i < p->n; i++) {
		if (p->machines[i].reason == PAIRING_USED)
			sum += pow(p->machines[i].noise / machines[p->machines[i].type], 2);
	}
	free(machines);
	return sqrt(sum) / (double)types;
}

/* The interval has to end on one side of the threshold, or of 1. Repetitions make the noise within machines smaller, types everything. */
static void explain_what_it_takes(struct verdict *v)
{
	const struct effect *e = &v->effect;
	double mean = log(e->ratio), matters = log1p(v->min_effect), needed = mean >= matters ? mean : matters - mean;
	double factor = pow(log(e->high / e->ratio) / needed, 2), q = e->types > 1 ? stats_t_quantile(.975, (double)e->types - 1) : 2;
	double noise = pow(noise_of_mean(&v->pairing, e->types), 2), all = pow(log(e->high / e->ratio) / q, 2);
	double between = e->within ? 0 : fmax(all - noise, 0), left = all / factor - between;

	if (!(noise > 0) || !isfinite(factor))
		return;
	if (left > .1 * noise)
		reason_add(v, REASON_WHAT_IT_TAKES, "to settle it takes about %s times as many repetitions ('assay gate --run' makes them)",
			   text_fixed(fmax(noise / left, 1.1), noise / left < 3 ? 1 : 0).text);
	else
		reason_add(
		    v, REASON_WHAT_IT_TAKES,
		    "more repetitions will hardly settle it, for hardware types differ by more than their noise: about %s types would, "
		    "instead of %zu",
		    text_fixed(ceil(fmax(factor * (double)e->types, (double)e->types + 1)), 0).text, e->types);
}

static void explain_interval(struct verdict *v)
{
	const struct effect *e = &v->effect;
	struct text_number ratio = text_fixed(e->ratio, 3), low = text_fixed(e->low, 3), high = text_fixed(e->high, 3);

	switch (v->by_interval) {
	case DECISION_REGRESSION:
		reason_add(v, REASON_SLOWER,
			   "the candidate costs %s times as much (95 %% interval %s to %s): a slowdown is statistically detected, and the "
			   "estimate reaches your threshold of %.1f %%",
			   ratio.text, low.text, high.text, 100 * v->min_effect);
		break;
	case DECISION_IMPROVED:
		reason_add(v, REASON_FASTER, "the candidate costs %s times as much (95 %% interval %s to %s)", ratio.text, low.text,
			   high.text);
		break;
	case DECISION_PASS:
		reason_add(v, REASON_BELOW_MIN_EFFECT, "a slowdown of %.1f %% or more is ruled out (ratio %s, 95 %% interval %s to %s)",
			   100 * v->min_effect, ratio.text, low.text, high.text);
		if (stats_round(e->low) > 1)
			reason_add(v, REASON_SMALL, "a slowdown is statistically detected, but it is below your threshold");
		break;
	default:
		if (verdict_around(v)) {
			explain_around(v);
			break;
		}
		reason_add(
		    v, REASON_WIDE,
		    "the 95 %% interval, %s to %s, %sneither shows nor rules out a slowdown of %.1f %%; one of %s %% would be found with "
		    "power .8",
		    low.text, high.text, v->rule < RULES ? "by itself " : "", 100 * v->min_effect,
		    text_fixed(100 * e->minimum_detectable, e->minimum_detectable < 1 ? 1 : 0).text);
		if (v->rule == RULES) /* else something else has settled it, or spoilt it */
			explain_what_it_takes(v);
	}
	if (e->within)
		reason_add(
		    v, REASON_THESE_MACHINES,
		    "fewer than %d hardware types: the interval rests on the repetitions within these machines, and the decision holds "
		    "for these machines only",
		    EFFECT_TYPES_MIN);
}

static void explain_shape(struct verdict *v)
{
	const struct cause *c = &v->cause;
	const char *sign = c->p < 1e-9 ? "<" : "=";
	double p = fmax(c->p, 1e-9);

	if (c->by_type && c->follows)
		reason_add(v, REASON_SHAPE_CHANGED,
			   "the ratio follows how fast the hardware types are at '%s' (p %s %.2g): another resource is used, or used more",
			   v->features[v->resources[0].feature], sign, p);
	else if (c->by_type)
		reason_add(
		    v, REASON_SHAPE_CHANGED,
		    "the ratio differs between hardware types by more than the noise within machines (p %s %.2g): another resource is "
		    "used, or used more",
		    sign, p);
	else if (c->word == CAUSE_NOT_TESTED)
		reason_add(v, REASON_SHAPE_NOT_TESTED,
			   "too few repetitions to tell a uniform change from one that differs between machines");
	else if (c->word == CAUSE_UNIFORM)
		reason_add(v, REASON_UNIFORM_CHANGE,
			   "the ratio is the same on all hardware types within the noise: more or less of the same work");
	if (c->word == CAUSE_BOTH)
		reason_add(v, REASON_UNIFORM_PART,
			   "whichever resource it is, all of the work costs %s %% as well (95 %% interval %s to %s %%)",
			   text_signed(100 * c->uniform, 1).text, text_signed(100 * c->low, 1).text, text_signed(100 * c->high, 1).text);
}

static void explain_failed(struct verdict *v, const struct run_set *side, const char *name)
{
	char *selector = mem_format("%s@%s", side->application, side->version);
	char *command = text_command((const char *const[]){ "runs", "show", selector, "--failed", NULL });

	reason_add(v, REASON_RUNS_FAILED, "%zu of %zu runs of the %s failed and %s not part of the ratio (%s)", side->failed,
		   side->executed, name, side->failed > 1 ? "are" : "is", command);
	free(command);
	free(selector);
}

/* Failures, and what a run that was interrupted, or that did not reach all hosts, leaves open. */
static void explain_runs(struct verdict *v)
{
	const struct run_set *sides[] = { v->baseline, v->candidate };
	static const char *const names[] = { "baseline", "candidate" };

	for (int i = 0; i < 2; i++) {
		if (sides[i]->failed)
			explain_failed(v, sides[i], names[i]);
	}
	if (v->effect.types && v->effect.decision != (v->rule < RULES ? rule_decision(v->rule) : v->by_interval))
		reason_add(v, REASON_FAILS, "the candidate fails more often than the baseline: whatever its cost, this is not a pass");
	for (int i = 0; i < 2; i++) {
		if (sides[i]->missing)
			reason_add(
			    v, REASON_RUNS_MISSING,
			    "%zu of %zu runs of the %s in its latest 'assay run' %s not made: earlier results of the same build replace "
			    "them where there are any ('assay run --resume' makes them, or another 'assay run')",
			    sides[i]->missing, sides[i]->planned, names[i], sides[i]->missing > 1 ? "were" : "was");
	}
}

static void explain_order(struct verdict *v)
{
	const struct order *o = &v->pairing.order;

	if (v->effect.types < EFFECT_TYPES_MIN)
		return;
	if (o->direction)
		reason_add(v, REASON_ORDER,
			   "all repetitions of the candidate come %s those of the baseline, so a change that affected all machines in "
			   "between would look like a change of the version: the interval is as wide as for a single hardware type ('assay "
			   "run' lets versions take turns)",
			   o->direction > 0 ? "after" : "before");
	if (o->error > 0)
		reason_add(
		    v, REASON_DRIFT,
		    "repetitions of the same version differ by about %.1f %% on all hardware types together, and the two versions do "
		    "not have the same repetitions: the interval is wider by that",
		    100 * expm1(o->spread));
}

static void explain_left_out(struct verdict *v, enum pairing_reason reason, size_t n)
{
	const char *stored = v->baseline->application, *a = v->baseline->version, *b = v->candidate->version;
	bool same = strcmp(a, b) == 0, other = reason == PAIRING_OTHER_METRIC || reason == PAIRING_OTHER_TERMS;
	char *application = mem_bytes(stored, strcspn(stored, "/")), *versions = mem_format("%s%s%s", a, same ? "" : ",", same ? "" : b);
	char *command = text_command((const char *const[]){ "run", application, "--versions", versions, NULL });

	reason_left_out(v, reason, "%zu machine%s left out: %s%s%s%s", n, text_plural(n), pairing_text(reason), other ? " (" : "",
			other ? command : "", other ? " makes results that can be compared)" : "");
	free(command);
	free(versions);
	free(application);
}

static void explain_machines(struct verdict *v)
{
	size_t count[PAIRING_REASONS] = { 0 }, apart = 0, emulated = 0, untyped = v->pairing.untyped;

	for (size_t i = 0; i < v->pairing.n; i++) {
		const struct pairing_machine *m = &v->pairing.machines[i];

		count[m->reason]++;
		apart += m->reason == PAIRING_USED && m->turns == PAIRING_TURNS_NOT_TAKEN;
		emulated += m->reason == PAIRING_USED && m->fingerprint && m->fingerprint->profile;
	}
	if (apart)
		reason_add(
		    v, REASON_NOT_INTERLEAVED,
		    "on %zu machine%s the two did not take turns in one 'assay run': what changed there in the meantime looks like a "
		    "change of the version",
		    apart, text_plural(apart));
	explain_order(v);
	if (emulated)
		reason_add(
		    v, REASON_EMULATED,
		    "%zu of %zu machines are hosts emulated on one computer, slowed down in different ways: the results hold for them "
		    "and tell nothing about real hardware",
		    emulated, v->pairing.used);
	for (int i = PAIRING_USED + 1; i < PAIRING_REASONS; i++) {
		if (count[i])
			explain_left_out(v, (enum pairing_reason)i, count[i]);
	}
	if (untyped)
		reason_add(v, REASON_UNTYPED,
			   "%zu machine%s no known hardware type and count%s as one%s: without fingerprints, machines that are alike may "
			   "be counted several times",
			   untyped, untyped > 1 ? "s have" : " has", untyped > 1 ? "" : "s", untyped > 1 ? " each" : "");
}

/* Processor time has the decision of the part of the wall-clock time that it is: where its own interval would have another, the part is
 * told. */
static void explain_rule(struct verdict *v, const struct effect *work)
{
	bool in_part = times_input(&v->times, v->by_interval, v->min_effect).processor != (unsigned)work->decision;
	double percent = 100 * v->times.share;

	reason_rule(v, "%s (processor time %s times, 95 %% interval %s to %s%s%s%s)", rule_text(v->rule), text_fixed(work->ratio, 3).text,
		    text_fixed(work->low, 3).text, text_fixed(work->high, 3).text, in_part ? ", of what is " : "",
		    in_part ? text_fixed(percent, percent < 10 ? 1 : 0).text : "", in_part ? " % of the wall-clock time" : "");
}

/* Which rule decided; else which of the times moved: more work shows in the processor's time, whatever the metric can tell; waiting in the
 * wall-clock time alone. */
static void explain_times(struct verdict *v)
{
	const struct effect *work = &v->times.of[TIME_PROCESSOR], *wall = &v->times.of[TIME_WALL];
	struct text_number ratio = text_fixed(work->ratio, 3), low = text_fixed(work->low, 3), high = text_fixed(work->high, 3);
	bool known = work->types && !isnan(work->low);

	if (v->rule < RULES && known)
		explain_rule(v, work);
	else if (v->rule < RULES)
		reason_rule(v, "%s", rule_text(v->rule));
	else if (known && work->decision == DECISION_REGRESSION)
		reason_add(
		    v, REASON_COMPUTES_MORE,
		    "it takes %s times the processor time (95 %% interval %s to %s): the candidate itself does more, or does it less "
		    "efficiently",
		    ratio.text, low.text, high.text);
	else if (known && work->decision == DECISION_PASS && wall->decision == DECISION_REGRESSION)
		reason_add(
		    v, REASON_WAITS_MORE,
		    "its processor time has not grown (%s to %s times) while its wall-clock time has: it waits more, for input and output, "
		    "locks, other processes, or because machines were busier",
		    low.text, high.text);
	else if (known && work->decision == DECISION_PASS && v->by_interval == DECISION_INCONCLUSIVE)
		reason_add(
		    v, REASON_COMPUTES_ALIKE,
		    "by processor time alone it would pass (%s times, 95 %% interval %s to %s): what is not settled is how long it waits",
		    ratio.text, low.text, high.text);
}

static void explain_looks(struct verdict *v)
{
	double level = fmax(v->baseline->level, v->candidate->level);

	if (level > 0 && !isnan(v->effect.low))
		reason_add(
		    v, REASON_LOOKED_AT,
		    "the results were looked at while they grew: this look counts with an interval of %s %%, so that all looks together "
		    "are wrong in 5 %% at most",
		    text_fixed(100 * level, 2).text);
}

static void explain_architectures(struct verdict *v)
{
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < v->n_within; i++) {
		const struct verdict_within *w = &v->within[i];

		buf_format(&text, "%s%s %s", i ? ", " : "", w->architecture, decision_text(w->effect.decision));
		if (w->effect.types)
			buf_format(&text, " (ratio %s on %zu machine%s)", text_fixed(w->effect.ratio, 3).text, w->machines,
				   text_plural(w->machines));
	}
	if (v->n_within)
		reason_add(v, REASON_ARCHITECTURES, "machines of different architectures are decided apart, and the worst decides: %s",
			   text.bytes);
	buf_release(&text);
}

static void verdict_explain(struct verdict *v)
{
	explain_architectures(v);
	if (v->by_interval == DECISION_NOTHING_MEASURED)
		explain_nothing(v);
	else if (isnan(v->effect.low))
		explain_no_interval(v);
	else
		explain_interval(v);
	if (!isnan(v->effect.low) && v->effect.types > 1)
		explain_shape(v);
	explain_times(v);
	explain_looks(v);
	explain_runs(v);
	explain_machines(v);
}

/* ---- all ---- */

static struct verdict verdict_in(const struct evidence *evidence, const struct lab_config *config, const struct run_set *baseline,
				 const struct run_set *candidate, double min_effect)
{
	struct verdict v = { .baseline = baseline, .candidate = candidate, .min_effect = min_effect };
	const struct effect_asked asked = { min_effect, fmax(EFFECT_LEVEL, fmax(baseline->level, candidate->level)) };

	pairing_of(evidence, config, baseline, candidate, &v.pairing);
	v.effect = pairing_effect(&v.pairing, &asked);
	v.by_interval = v.effect.decision;
	times_of(evidence, config, baseline, candidate, &asked, &v.times);
	v.effect.decision = verdict_decide(&v);
	verdict_find_cause(evidence, &v);
	return v;
}

/* The worst one, but that others were measured where one was not. */
static bool decides_before(const struct verdict *v, const struct verdict *other)
{
	enum decision a = v->effect.decision, b = other->effect.decision;

	if (a == b)
		return v->pairing.used > other->pairing.used;
	if (a == DECISION_NOTHING_MEASURED || b == DECISION_NOTHING_MEASURED)
		return b == DECISION_NOTHING_MEASURED;
	return decision_place(a) < decision_place(b);
}

static struct verdict verdict_within(const struct evidence *evidence, const struct lab_config *config, const struct run_set *const sides[2],
				     double min_effect, const char *architecture)
{
	struct run_set *own = mem_new(2, sizeof(*own));
	struct verdict v;

	for (int i = 0; i < 2; i++) {
		run_set_copy(sides[i], &own[i]);
		evidence_keep(evidence, architecture, &own[i]);
	}
	v = verdict_in(evidence, config, &own[0], &own[1], min_effect);
	v.own = own;
	return v;
}

/* Each of names[n] is decided by itself, and the verdict is that of the one that decides. */
static struct verdict verdict_apart(const struct evidence *evidence, const struct lab_config *config, const struct run_set *const sides[2],
				    double min_effect, const char *const *names, size_t n)
{
	struct verdict_within *within = mem_new(n, sizeof(*within));
	struct verdict v = { .own = NULL };

	for (size_t i = 0; i < n; i++) {
		struct verdict one = verdict_within(evidence, config, sides, min_effect, names[i]);

		within[i] = (struct verdict_within){ names[i], one.effect, one.pairing.used };
		if (i && !decides_before(&one, &v)) {
			verdict_release(&one);
			continue;
		}
		verdict_release(&v);
		v = one;
		v.architecture = names[i];
	}
	v.within = within;
	v.n_within = n;
	return v;
}

enum assay_status verdict_of(const struct evidence *evidence, const struct lab_config *config, const struct run_set *baseline,
			     const struct run_set *candidate, double min_effect, struct verdict *out, struct assay_error *err)
{
	const struct run_set *const sides[] = { baseline, candidate };
	const char **names;
	size_t n;

	*out = (struct verdict){ 0 };
	if (baseline->higher_is_better != candidate->higher_is_better && !pairing_terms(baseline, candidate))
		return assay_fail(err, ASSAY_E_USAGE,
				  "higher is better for '%s' and lower for '%s': they cannot be compared ('assay import' has "
				  "--higher-is-better and --lower-is-better)",
				  baseline->higher_is_better ? baseline->application : candidate->application,
				  baseline->higher_is_better ? candidate->application : baseline->application);
	n = evidence_architectures(evidence, sides, 2, &names);
	*out = n > 1 ? verdict_apart(evidence, config, sides, min_effect, names, n)
		     : verdict_in(evidence, config, baseline, candidate, min_effect);
	free(names);
	verdict_explain(out);
	return ASSAY_OK;
}

void verdict_excuse(struct verdict *v, const char *code, char *text)
{
	bool own =
	    v->rule == RULE_COMPUTES_MORE || v->rule == RULE_HIDDEN || v->rule == RULE_WAITS_MORE || v->rule == RULE_WAITS_FOR_ITSELF;

	if (v->effect.decision != DECISION_REGRESSION || own || !v->effect.types) {
		free(text);
		return;
	}
	ASSAY_BUG_IF(v->n_reasons == VERDICT_REASONS_MAX);
	v->effect.decision = DECISION_ENVIRONMENT;
	memmove(v->reasons + 1, v->reasons, v->n_reasons++ * sizeof(*v->reasons));
	v->reasons[0] = (struct verdict_reason){ code, true, text };
}

void verdict_gain(struct verdict *v, double min_gain)
{
	const struct effect *e = &v->effect;
	bool faster = stats_round(e->high) < 1 && stats_round(e->ratio) <= stats_round(1 / (1 + min_gain));
	enum decision decision = faster ? DECISION_IMPROVED : DECISION_PASS;

	if (v->rule < RULES || (e->decision != DECISION_IMPROVED && e->decision != DECISION_PASS) || e->decision == decision)
		return;
	v->effect.decision = decision;
	reason_add(v, REASON_MIN_GAIN, "improvements are called so from %.1f %% on here", 100 * min_gain);
}

void verdict_release(struct verdict *verdict)
{
	for (size_t i = 0; i < verdict->n_reasons; i++)
		free(verdict->reasons[i].text);
	free(verdict->features);
	free(verdict->resources);
	free(verdict->within);
	for (int i = 0; verdict->own && i < 2; i++)
		run_set_release(&verdict->own[i]);
	free(verdict->own);
	pairing_release(&verdict->pairing);
	times_release(&verdict->times);
	*verdict = (struct verdict){ 0 };
}

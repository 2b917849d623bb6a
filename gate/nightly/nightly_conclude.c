/* From the runs of a night's comparisons to their decisions. */
#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "gate/nightly/baselines.h"
#include "gate/nightly/judge.h"
#include "gate/nightly/night_answer.h"
#include "gate/nightly/nightly.h"
#include "gate/nightly/suite.h"

#include <math.h>

#define FALSE_DISCOVERIES .05
#define ALIKE_MIN	  4   /* findings, of as many comparisons */
#define ALIKE_SHARE	  .75 /* of all comparisons with an interval that lean one way for the night to suspect itself */

/* ---- one comparison ---- */

/* Of an accepted baseline when and why; what cannot be read any more is no reason to lose the decision. */
static char *quote_accepted(const struct nightly *n, const struct night_comparison *c)
{
	const struct baseline *found;
	struct baselines all;
	struct assay_error ignored;
	char *text = NULL;

	if (strcmp(c->against, SUITE_ACCEPTED) != 0 || baselines_read(n->options->directory, &all, &ignored))
		return NULL;
	found = baselines_find(&all, c->application, n->night.started_ms);
	if (found && strncmp(found->version, c->baseline, strlen(found->version)) == 0)
		text = baselines_text(found, baselines_expired(&all, c->application, n->night.started_ms));
	baselines_release(&all);
	return text;
}

/* Borrows from the comparison all but `accepted`, which the caller frees. */
static struct judge_request request_of(const struct nightly *n, const struct night_comparison *c)
{
	struct judge_request q = { .rules = JUDGE_RULES,
				   .application = c->application,
				   .baseline = c->baseline,
				   .candidate = c->candidate,
				   .min_effect = c->min_effect,
				   .min_gain = c->min_gain,
				   .confirm = n->suite.confirm,
				   .machines = n->suite.machines,
				   .control = n->suite.control,
				   .accepted = quote_accepted(n, c),
				   .why = c->detail };

	memcpy(q.plan, c->plan, sizeof(q.plan));
	memcpy(q.fresh_plan, c->fresh_plan, sizeof(q.fresh_plan));
	return q;
}

static enum assay_status keep(struct nightly *n, struct lab *lab, struct night_comparison *c, const struct judge_request *q,
			      const struct judgement *j, struct assay_error *err)
{
	enum assay_status st = night_decide(&lab->store, &n->night, c, q, j, err);

	if (!st)
		nightly_log(n, "decided %s %s: %s (%s)", c->application, c->candidate, decision_text(j->decision), c->decision);
	return st;
}

enum assay_status nightly_judge(struct nightly *n, struct night_comparison *c, struct assay_error *err)
{
	static char cut_off[] = "it was begun, and cut off by the deadline before both versions had a result on a machine";
	struct judge_request q = request_of(n, c);
	struct judgement j = { .document = NULL };
	struct evidence evidence = { 0 };
	struct lab lab = { .lock_fd = -1 };
	enum assay_status st;

	if (*n->options->cancelled && *n->options->cancelled != SIGALRM)
		return ASSAY_OK; /* as it is, to be gone on with */
	st = nightly_open(n, &lab, err);
	if (!st && *c->plan)
		st = evidence_load(&lab, &evidence, err);
	if (!st)
		st = judge(&lab, &evidence, &q, &j, err);
	if (!st && (*q.plan || c->cut) && j.decision == DECISION_NOTHING_MEASURED && *n->options->cancelled == SIGALRM) {
		judgement_release(&j); /* what it has is the deadline's doing */
		*q.plan = '\0';
		q.why = cut_off;
		st = judge(&lab, &evidence, &q, &j, err);
	}
	if (!st && decision_is_finding(j.input.verdict) && !j.input.crashes) {
		c->state = NIGHT_CONFIRMING;
		c->improved = j.input.verdict == DECISION_IMPROVED;
		st = night_update(&lab.store, &n->night, c, err);
	} else if (!st) {
		st = keep(n, &lab, c, &q, &j, err);
	}
	free(q.accepted);
	judgement_release(&j);
	evidence_release(&evidence);
	lab_close(&lab);
	return st;
}

/* ---- the findings among all ---- */

struct finding {
	struct night_comparison *comparison; /* NULL: decided already */
	struct judge_request request;
	struct judgement judgement;
	double p, ratio;
};

/* Benjamini and Hochberg, Journal of the Royal Statistical Society B 57(1), 1995: findings with a larger p may be chance. */
static double largest_p(const struct finding *f, size_t n)
{
	double *p = mem_new(n, sizeof(*p)), limit = 0;
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		if (!isnan(f[i].p))
			p[known++] = f[i].p;
	}
	order_sort(p, known, stats_order);
	for (size_t k = 0; k < known; k++) {
		if (stats_round(p[k]) <= stats_round((double)(k + 1) / (double)known * FALSE_DISCOVERIES))
			limit = p[k];
	}
	free(p);
	return limit;
}

/* The kind of finding whose way nearly everything with an interval leans, if there are enough of that kind: regression or improved;
 * DECISIONS: neither. What fails has no cost, and leans no way. */
static enum decision lean_one_way(const struct finding *f, size_t n, double min_effect_of_all)
{
	size_t known = 0, lean[DECISIONS] = { 0 }, findings[DECISIONS] = { 0 };

	for (size_t i = 0; i < n; i++) {
		if (isnan(f[i].ratio))
			continue;
		known++;
		lean[DECISION_REGRESSION] += f[i].ratio > 1 + min_effect_of_all / 2;
		lean[DECISION_IMPROVED] += 1 / f[i].ratio > 1 + min_effect_of_all / 2;
		findings[f[i].judgement.input.verdict] += f[i].comparison != NULL;
	}
	for (enum decision d = 0; d < DECISIONS; d++)
		if (decision_is_finding(d) && findings[d] >= ALIKE_MIN && (double)lean[d] >= ALIKE_SHARE * (double)known)
			return d;
	return DECISIONS;
}

static bool shares_machine(const struct finding *f, size_t n, size_t i)
{
	const char *machine = f[i].judgement.machine;

	for (size_t k = 0; machine && k < n; k++) {
		if (k != i && f[k].judgement.machine && strcmp(f[k].judgement.machine, machine) == 0 &&
		    strcmp(f[k].request.application, f[i].request.application) != 0)
			return true;
	}
	return false;
}

static enum assay_status load_decided(struct nightly *n, struct lab *lab, struct finding *f, size_t *count, struct assay_error *err)
{
	struct night_decisions decided;
	enum assay_status st = night_decisions_load(&lab->store, NULL, n->night.id, INT64_MAX, &decided, err);

	for (size_t i = 0; !st && i < decided.n && *count < n->comparisons.n; i++)
		f[(*count)++] = (struct finding){ .p = decided.items[i].judged.p, .ratio = decided.items[i].judged.ratio };
	night_decisions_release(&decided);
	return st;
}

/* ---- the end ---- */

static enum assay_status decide_findings(struct nightly *n, struct lab *lab, const struct evidence *evidence, struct finding *f,
					 size_t count, struct assay_error *err)
{
	double limit = largest_p(f, count);
	enum decision lean = lean_one_way(f, count, lab->config.min_effect);
	enum assay_status st = ASSAY_OK;
	bool any = false;

	if (lean < DECISIONS)
		nightly_note(n, "findings_lean",
			     "nearly everything that was measured leans the same way: look at the machines before the code");
	for (size_t i = 0; !st && i < count; i++) {
		bool shares = shares_machine(f, count, i);

		if (!f[i].comparison)
			continue;
		if (shares && !any)
			nightly_note(n, "findings_share_machine", "findings rest on one and the same machine, '%s'",
				     f[i].judgement.machine);
		any = any || shares;
		f[i].request.chance = stats_round(f[i].p) > stats_round(limit);
		f[i].request.alike =
		    shares || (f[i].judgement.input.verdict == lean && !isnan(f[i].ratio) && f[i].judgement.input.fresh != FRESH_SEEN);
	}
	for (size_t i = 0; !st && i < count; i++) {
		if (!f[i].comparison)
			continue;
		if (f[i].request.chance || f[i].request.alike) { /* else it has been made already, and records take long to read */
			judgement_release(&f[i].judgement);
			st = judge(lab, evidence, &f[i].request, &f[i].judgement, err);
		}
		if (!st)
			st = keep(n, lab, f[i].comparison, &f[i].request, &f[i].judgement, err);
	}
	return st;
}

static enum assay_status conclude_findings(struct nightly *n, struct lab *lab, struct assay_error *err)
{
	struct finding *f = mem_new(n->comparisons.n, sizeof(*f));
	struct evidence evidence = { 0 };
	size_t count = 0;
	enum assay_status st = load_decided(n, lab, f, &count, err);

	if (!st)
		st = evidence_load(lab, &evidence, err);
	for (size_t i = 0; !st && i < n->comparisons.n; i++) {
		struct night_comparison *c = &n->comparisons.items[i];

		if (c->state != NIGHT_CONFIRMING || count == n->comparisons.n)
			continue;
		f[count] = (struct finding){ .comparison = c, .request = request_of(n, c) };
		st = judge(lab, &evidence, &f[count].request, &f[count].judgement, err);
		f[count].p = f[count].judgement.p;
		f[count].ratio = f[count].judgement.ratio;
		count++;
	}
	if (!st)
		st = decide_findings(n, lab, &evidence, f, count, err);
	for (size_t i = 0; i < count; i++) {
		free(f[i].request.accepted);
		judgement_release(&f[i].judgement);
	}
	evidence_release(&evidence);
	free(f);
	return st;
}

/* Nothing of it has been run that could be decided about, and something might have been. */
static bool is_unreached(const struct night_comparison *c)
{
	return c->state == NIGHT_WAITING ? *c->baseline && !*c->detail : c->state == NIGHT_MEASURING && !*c->plan;
}

/* Says what the deadline left undone, before the comparisons that it cut off are decided. */
static void note_deadline(struct nightly *n)
{
	size_t unreached = 0, unconfirmed = 0;
	char fresh[96] = "";

	for (size_t i = 0; i < n->comparisons.n; i++) {
		const struct night_comparison *c = &n->comparisons.items[i];

		unreached += c->cut || is_unreached(c) || c->state == NIGHT_MEASURING;
		unconfirmed += c->state == NIGHT_CONFIRMING && n->suite.confirm && !*c->fresh_plan;
	}
	if (!n->night.deadline_ms || !(unreached || unconfirmed))
		return;
	if (unconfirmed)
		snprintf(fresh, sizeof(fresh), ", and %zu finding%s had no time for fresh runs", unconfirmed, text_plural(unconfirmed));
	nightly_note(n, "deadline", "%zu of %zu comparisons %s not reached before the deadline, or cut off by it%s", unreached,
		     n->comparisons.n, unreached == 1 ? "was" : "were", fresh);
}

/* What was begun is decided with what it has, and so is what could not be measured at any time; the rest was not reached. */
static enum assay_status conclude_rest(struct nightly *n, struct assay_error *err)
{
	static const char given_up[] = "this night was given up: it is decided with what it has";
	const char *why = n->given_up ? given_up : n->refused; /* NULL: the deadline */
	enum assay_status st = ASSAY_OK;

	if (n->given_up)
		nightly_note(n, "given_up", given_up);
	else if (!why)
		note_deadline(n);
	for (size_t i = 0; !st && i < n->comparisons.n; i++) {
		struct night_comparison *c = &n->comparisons.items[i];

		if (is_unreached(c)) {
			bool waiting = c->state == NIGHT_WAITING;

			c->state = waiting ? NIGHT_UNREACHED : NIGHT_CUT_OFF;
			if (why) {
				free(c->detail);
				c->detail = mem_format("%s%s", waiting ? "" : "begun, and cut off: ", why);
			}
			st = nightly_store(n, c, err);
		} else if (c->state == NIGHT_WAITING || c->state == NIGHT_MEASURING) {
			st = nightly_judge(n, c, err);
		}
	}
	return st;
}

enum assay_status nightly_conclude(struct nightly *n, struct assay_error *err)
{
	struct lab lab = { .lock_fd = -1 };
	enum assay_status st = conclude_rest(n, err);

	if (!st)
		st = nightly_open(n, &lab, err);
	if (!st)
		st = conclude_findings(n, &lab, err);
	if (!st) {
		struct night_decisions decisions = { NULL, 0 };

		st = night_decisions_load(&lab.store, NULL, n->night.id, INT64_MAX, &decisions, err);
		n->night.exit_status = night_exit(&n->comparisons, &decisions, ~0u);
		night_decisions_release(&decisions);
	}
	if (!st)
		st = night_finish(&lab.store, &n->night, err);
	lab_close(&lab);
	return st;
}

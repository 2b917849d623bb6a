#include "gate/nightly/nightly.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/secret.h"
#include "base/stats.h"
#include "base/text.h"
#include "fingerprint/battery/battery.h"
#include "fingerprint/take/take.h"
#include "fleet/engine/local_command.h"
#include "fleet/engine/reach.h"
#include "fleet/lab/lab.h"
#include "gate/nightly/baselines.h"
#include "gate/nightly/judge.h"
#include "gate/nightly/night_answer.h"
#include "gate/nightly/spend.h"
#include "gate/nightly/why.h"
#include "runs/prune.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define KIB		    1024
#define MIB		    (1024 * KIB)
#define GIB		    (1024. * MIB)
#define QUOTA_WARNING_SHARE .9
#define FREE_WARNING_GIB    .25
#define DAY_MS		    86400000.
#define HOOK_MS		    (60 * 1000)
#define LOG_BYTES_MAX	    (1 << 20)
#define FALSE_DISCOVERIES   .05

/* State of a running night. */
struct nightly {
	const struct nightly_options *options;
	struct suite suite;
	struct night night;
	struct night_comparisons comparisons;
	bool abandoned; /* the user abandoned the night; it ends with the results that exist */
	char *refused;	/* reason why nothing may be measured; NULL if measurement is allowed */
};
static void nightly_note(struct nightly *n, const char *code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Appends a line to .assay/night.log. Replaces control characters by spaces. */
static void nightly_log(const struct nightly *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Opens the laboratory for a short time and stores the night's new notes. The caller calls lab_close(). nightly_store() does the same,
 * stores the comparison `c`, and closes the laboratory. */
static enum assay_status nightly_open(struct nightly *n, struct lab *lab, struct assay_error *err);
static enum assay_status nightly_store(struct nightly *n, const struct night_comparison *c, struct assay_error *err);
static enum assay_status night_begin_or_go_on(struct nightly *n, struct assay_error *err);
static enum assay_status night_work(struct nightly *n, struct assay_error *err);
static enum assay_status night_fingerprints(struct nightly *n, struct assay_error *err);
static void night_hook(struct nightly *n);
static void night_end(struct nightly *n);
static bool is_over(const struct nightly *n);
static bool is_past_deadline(const struct nightly *n);
static enum assay_status night_lock(const char *directory, int *fd, struct assay_error *err);

enum assay_status nightly_run(const struct nightly_options *options, char id[DIGEST_ID_BYTES], struct assay_error *err)
{
	struct nightly n = { .options = options };
	struct lab lab = { .lock_fd = -1 };
	struct assay_error ignored;
	int lock = -1;
	enum assay_status st = night_lock(options->directory, &lock, err);

	file_cache_enable(); /* the night ignores later changes to the laboratory's files */
	if (!st)
		st = night_begin_or_go_on(&n, err);
	if (!st) {
		nightly_log(&n, "%zu comparison%s", n.comparisons.n, text_plural(n.comparisons.n));
		st = night_work(&n, err);
	}
	if (st)
		nightly_log(&n, "stopped: %s", err->text);
	else if (n.night.finished_ms)
		nightly_log(&n, "ended with status %d", n.night.exit_status);
	else
		nightly_log(&n, "interrupted by signal %d; the next 'assay nightly run' continues", (int)*options->cancelled);
	if (*n.night.id && !n.night.finished_ms) {
		(void)nightly_open(&n, &lab, &ignored); /* stores the last notes */
		lab_close(&lab);
	}
	memcpy(id, n.night.id, DIGEST_ID_BYTES);
	night_end(&n);
	if (lock >= 0)
		close(lock);
	return st;
}

/* ---- measuring ---- */

/* Returns the seed for the runs of a comparison. A continued night finds its earlier plan by this seed. */
static uint64_t comparison_seed(const struct nightly *n, const struct night_comparison *c, const char *what)
{
	char *text = mem_format("%s\n%" PRId64 "\n%s", n->night.id, c->number, what);
	uint64_t seed = digest_seed(text);

	free(text);
	return seed;
}

static struct launch_options make_launch_options(const struct nightly *n, struct night_comparison *c, const char *what, char **versions,
						 size_t n_versions)
{
	struct launch_options o = { .directory = n->options->directory,
				    .command = n->options->command,
				    .application = c->manifest,
				    .hosts = { .hosts = *c->hosts ? c->hosts : NULL },
				    .choice = { .versions = { versions, n_versions },
						.inputs = { &c->input, *c->input ? 1 : 0 },
						.has_seed = true,
						.seed = comparison_seed(n, c, what) },
				    .resume = true,
				    .by_seed = true,
				    .wait_s = n->suite.wait_s,
				    .note = n->options->note };

	if (n->options->watch)
		n->options->watch(&o);
	o.cancelled = n->options->cancelled;
	return o;
}

static enum assay_status nightly_store(struct nightly *n, const struct night_comparison *c, struct assay_error *err)
{
	struct lab lab = { .lock_fd = -1 };
	enum assay_status st = nightly_open(n, &lab, err);

	if (!st)
		st = night_update(&lab.store, &n->night, c, err);
	lab_close(&lab);
	return st;
}

/* Reports whether an error affects only one application, so that the night can continue. */
static bool is_application_error(enum assay_status st)
{
	return st == ASSAY_E_USAGE || st == ASSAY_E_NOTFOUND || st == ASSAY_E_FORMAT || st == ASSAY_E_LIMIT || st == ASSAY_E_CONFLICT ||
	       st == ASSAY_E_IO || st == ASSAY_E_NODATA || st == ASSAY_E_BUSY;
}

static void set_detail(struct night_comparison *c, const char *text)
{
	free(c->detail);
	c->detail = mem_bytes(text, strcspn(text, "\n"));
}

static double remaining_s(const struct nightly *n)
{
	return (double)(n->night.deadline_ms - clock_real_ms()) / 1000;
}

/* Context of store_spent(), which stores the time spent on a comparison. A continued night then uses only the rest of the budget. */
struct sequential_context {
	struct nightly *n;
	struct night_comparison *c;
	double before_s;
};

static enum assay_status store_spent(struct sequential_context *s, double seconds, struct assay_error *err)
{
	s->c->seconds = s->before_s + seconds;
	return nightly_store(s->n, s->c, err);
}

/* Estimates the time until the first interim analysis of a comparison. Sets *hosts to the number of its hosts. Makes no run. */
static enum assay_status nightly_estimate(const struct nightly *n, struct night_comparison *c, struct estimate *out, size_t *hosts,
					  struct assay_error *err)
{
	char *again = mem_format("%s" MANIFEST_COPY_SUFFIX, c->baseline), *versions[] = { c->baseline, c->candidate, again };
	struct launch_options o = make_launch_options(n, c, "measure", versions, n->suite.control ? 3 : 2);
	struct launch launch;
	enum assay_status st;

	o.dry_run = true;
	o.resume = o.by_seed = false;
	st = launch_run(&o, &launch, err);
	*hosts = st ? 0 : launch.n;
	*out = st ? (struct estimate){ .runs = 0 } : estimate_total(launch.estimates, launch.hosts, launch.n);
	launch_release(&launch);
	free(again);
	return st;
}

/* Measures a comparison until there is a decision or the budget ends. If an error affects only the application, stores it as detail and
 * returns ASSAY_OK. */
static enum assay_status nightly_measure(struct nightly *n, struct night_comparison *c, struct assay_error *err)
{
	bool limited, missing = c->state == NIGHT_WAITING && *c->detail; /* no usable baseline or host at the night's start */
	struct sequential_context spending = { n, c, c->seconds };
	struct launch_options o;
	struct sequential_result sequential_result;
	char *again, *versions[] = { c->baseline, c->candidate, NULL };
	double budget_s = c->budget_s > 0 ? fmax(c->budget_s - c->seconds, 1) : 0;
	enum assay_status st;

	c->state = NIGHT_MEASURING;
	if (!*c->baseline || missing)
		return ASSAY_OK;
	limited = n->night.deadline_ms && (budget_s <= 0 || remaining_s(n) < budget_s);
	if (limited)
		budget_s = fmax(remaining_s(n), 1);
	st = nightly_store(n, c, err);
	if (st)
		return st;
	nightly_log(n, "measuring %s %s against %s, for %.0f s at most", c->application, c->candidate, c->baseline, budget_s);
	versions[2] = again = mem_format("%s" MANIFEST_COPY_SUFFIX, c->baseline);
	o = make_launch_options(n, c, "measure", versions, n->suite.control ? 3 : 2);
	st = sequential_measure(&o, &(struct sequential_options){ c->min_effect, budget_s, true, store_spent, &spending },
				&sequential_result, err);
	free(again);
	memcpy(c->plan, sequential_result.plan, sizeof(c->plan));
	c->seconds = spending.before_s + sequential_result.seconds;
	c->cut = limited && !sequential_result.decided && (sequential_result.budget || *n->options->cancelled);
	if (sequential_result.lost_hosts)
		set_detail(c, sequential_result.lost_hosts);
	if (st && is_application_error(st)) {
		set_detail(c, err->text);
		st = ASSAY_OK;
	}
	sequential_result_release(&sequential_result);
	nightly_log(n, "measured %s %s in %.1f s%s%s", c->application, c->candidate, c->seconds, *c->detail ? ": " : "", c->detail);
	return st;
}

/* Results so far, loaded and compared again: a continued night has none in memory. The caller calls found_release() even after an error. */
struct night_findings {
	struct lab lab;
	struct evidence evidence;
	struct judge_comparison compared;
};

static enum assay_status compare_again(struct nightly *n, const struct night_comparison *c, enum comparison_part last,
				       struct night_findings *out, struct assay_error *err)
{
	const struct judge_request q = {
		.application = c->application, .baseline = c->baseline, .candidate = c->candidate, .min_effect = c->min_effect
	};
	enum assay_status st;

	*out = (struct night_findings){ .lab = { .lock_fd = -1 } };
	st = nightly_open(n, &out->lab, err);
	if (!st)
		st = evidence_load(&out->lab, &out->evidence, err);
	return st ? st
		  : judge_compare(&out->lab, &out->evidence, &(struct judge_compare_request){ &q, c->plan, .last = last }, &out->compared,
				  err);
}

static void found_release(struct night_findings *found)
{
	judge_comparison_release(&found->compared);
	evidence_release(&found->evidence);
	lab_close(&found->lab);
}

/* Sets *repetitions to those of the finding's plan, for the confirmation runs. If several architectures ran, sets *hosts to the hosts of
 * the finding's architecture, separated by commas; otherwise to NULL. The caller frees *hosts. */
static enum assay_status confirm_with(struct nightly *n, const struct night_comparison *c, int64_t *repetitions, char **hosts,
				      struct assay_error *err)
{
	struct night_findings found;
	const struct verdict *v = &found.compared.comparison.verdict;
	struct buf text = BUF_INIT;
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = compare_again(n, c, COMPARISON_VERDICT, &found, err);

	*repetitions = 0;
	if (!st)
		st = store_query(&found.lab.store, &stmt, err, "SELECT repetitions FROM plan WHERE id = ?", "t", c->plan);
	if (stmt && store_next(&found.lab.store, stmt, &st, err))
		*repetitions = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	for (size_t i = 0; !st && v->architecture && i < v->baseline->n_executed_machines; i++)
		buf_format(&text, "%s%s", i ? "," : "", v->baseline->executed_on[i].machine);
	*hosts = text.size ? buf_take(&text) : NULL;
	found_release(&found);
	return st;
}

/* Adds hosts that failed only in the confirmation runs to the comparison's detail. */
static void add_hosts_lost_in_confirmation(struct night_comparison *c, const struct launch *launch)
{
	char *lost_hosts = NULL, *before = c->detail;

	if (sequential_find_lost_hosts(launch, &lost_hosts) && !strstr(before, lost_hosts)) {
		c->detail = mem_format("%s%sin fresh runs: %s", before, *before ? "; " : "", lost_hosts);
		free(before);
	}
	free(lost_hosts);
}

static enum assay_status nightly_confirm(struct nightly *n, struct night_comparison *c, struct assay_error *err)
{
	char *again = mem_format("%s" MANIFEST_COPY_SUFFIX, c->baseline), *versions[] = { c->baseline, c->candidate, again };
	struct launch_options o = make_launch_options(n, c, "confirm", versions, 3);
	int64_t repetitions, began_ns = clock_monotonic_ns();
	struct launch launch = { .lab = { .lock_fd = -1 } };
	char *hosts = NULL;
	enum assay_status st;

	o.skip_hung = true;
	nightly_log(n, "confirming %s %s by fresh runs", c->application, c->candidate);
	st = confirm_with(n, c, &repetitions, &hosts, err);
	if (hosts)
		o.hosts.hosts = hosts;
	if (!st)
		st = launch_run(&o, &launch, err);
	if (launch.nothing_to_resume) {
		launch_release(&launch);
		o.resume = false;
		o.choice.repetitions = repetitions;
		st = launch_run(&o, &launch, err);
	}
	if (!st && (launch.plan.complete || !*n->options->cancelled)) {
		memcpy(c->confirmation_plan, launch.plan.id, sizeof(c->confirmation_plan));
		add_hosts_lost_in_confirmation(c, &launch);
	}
	launch_release(&launch);
	mem_free(hosts, again);
	c->seconds += (double)(clock_monotonic_ns() - began_ns) / 1e9;
	if (st && is_application_error(st)) {
		nightly_note(n, "not_confirmed", "%s %s could not be confirmed: %s", c->application, c->candidate, err->text);
		st = ASSAY_OK;
	}
	return st ? st : nightly_store(n, c, err);
}

/* Measures the functions of a slower candidate, so that the decision can name causes. If this fails, only adds a note. */
static enum assay_status nightly_explain(struct nightly *n, struct night_comparison *c, struct assay_error *err)
{
	char *versions[] = { c->baseline, c->candidate };
	struct launch_options o = make_launch_options(n, c, "explain", versions, 2);
	struct night_findings found;
	double budget_s = n->night.deadline_ms ? fmin(n->suite.explanation_s, remaining_s(n)) : n->suite.explanation_s;
	struct explanation why = { .is_needed = false };
	enum assay_status st = compare_again(n, c, COMPARISON_FUNCTIONS, &found, err);

	if (!st)
		explanation_plan(&found.compared.comparison, true, &found.lab.config.inventory, &why);
	found_release(&found);
	if (!st && why.is_needed && budget_s > 0) {
		nightly_log(n, "measuring functions of %s %s", c->application, c->candidate);
		st = explanation_measure(&o, budget_s, &why, err);
	}
	if (why.text || (st && is_application_error(st))) {
		nightly_note(n, "functions_not_measured", "%s %s: functions were not measured: %s", c->application, c->candidate,
			     st ? err->text : why.text);
		st = ASSAY_OK;
	}
	explanation_release(&why);
	return st;
}

/* ---- decisions ---- */

/* Returns the date and reason of the baseline's acceptance; NULL if no user accepted it or baselines.yaml is unreadable. */
static char *explain_accepted(const struct nightly *n, const struct night_comparison *c)
{
	const struct baseline *found;
	struct baselines all;
	struct assay_error ignored;
	char *text = NULL;

	if (strcmp(c->baseline_kind, SUITE_ACCEPTED) != 0 || baselines_read(n->options->directory, &all, &ignored))
		return NULL;
	found = baselines_find(&all, c->application, n->night.started_ms);
	if (found && strncmp(found->version, c->baseline, strlen(found->version)) == 0)
		text = baselines_text(found, baselines_find_expired(&all, c->application, n->night.started_ms));
	baselines_release(&all);
	return text;
}

/* Returns the request for a decision. The comparison owns its texts, except `accepted`, which the caller frees. */
static struct judge_request make_request(const struct nightly *n, const struct night_comparison *c)
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
				   .accepted = explain_accepted(n, c),
				   .no_comparison_reason = c->detail };

	memcpy(q.plan, c->plan, sizeof(q.plan));
	memcpy(q.confirmation_plan, c->confirmation_plan, sizeof(q.confirmation_plan));
	return q;
}

static enum assay_status store_judgement(struct nightly *n, struct lab *lab, struct night_comparison *c, const struct judge_request *q,
					 const struct judgement *j, struct assay_error *err)
{
	enum assay_status st = night_decide(&lab->store, &n->night, c, q, j, err);

	if (!st)
		nightly_log(n, "decided %s %s: %s (%s)", c->application, c->candidate, decision_text(j->decision), c->decision);
	return st;
}

/* Decides a comparison. If the runs show a finding, does not decide yet: confirmation runs and the other comparisons come first. */
static enum assay_status nightly_judge(struct nightly *n, struct night_comparison *c, struct assay_error *err)
{
	static char cut_off[] = "it was started, but no machine had results of both versions before the deadline";
	struct judge_request q = make_request(n, c);
	struct judgement j = { .document = NULL };
	struct evidence evidence = { 0 };
	struct lab lab = { .lock_fd = -1 };
	enum assay_status st;

	if (*n->options->cancelled && *n->options->cancelled != SIGALRM)
		return ASSAY_OK; /* leaves the state unchanged, so that the next 'assay nightly run' continues */
	st = nightly_open(n, &lab, err);
	if (!st && *c->plan)
		st = evidence_load(&lab, &evidence, err);
	if (!st)
		st = judge_decide(&lab, &evidence, &q, &j, err);
	if (!st && (*q.plan || c->cut) && j.decision == DECISION_NOTHING_MEASURED && *n->options->cancelled == SIGALRM) {
		judgement_release(&j); /* the deadline is the reason for too few runs */
		*q.plan = '\0';
		q.no_comparison_reason = cut_off;
		st = judge_decide(&lab, &evidence, &q, &j, err);
	}
	if (!st && decision_is_finding(j.input.verdict) && !j.input.crashes) {
		c->state = NIGHT_CONFIRMING;
		c->improved = j.input.verdict == DECISION_IMPROVED;
		st = night_update(&lab.store, &n->night, c, err);
	} else if (!st) {
		st = store_judgement(n, &lab, c, &q, &j, err);
	}
	free(q.accepted);
	judgement_release(&j);
	evidence_release(&evidence);
	lab_close(&lab);
	return st;
}

/* ---- all findings of a night ---- */

struct finding {
	struct night_comparison *comparison; /* NULL if the comparison was decided before */
	struct judge_request request;
	struct judgement judgement;
	double p, ratio;
};

/* Returns the largest p-value that is not attributed to chance, at the false discovery rate FALSE_DISCOVERIES (Benjamini and Hochberg, J.
 * of the Royal Statistical Society B 57(1), 1995). */
static double largest_p(const struct finding *f, size_t n)
{
	double *p = mem_new(n, sizeof(*p)), limit = 0;
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		if (!isnan(f[i].p))
			p[known++] = f[i].p;
	}
	order_sort(p, known, stats_compare);
	for (size_t k = 0; k < known; k++) {
		if (stats_round(p[k]) <= stats_round((double)(k + 1) / (double)known * FALSE_DISCOVERIES))
			limit = p[k];
	}
	free(p);
	return limit;
}

/* Returns the kind of finding that nearly all comparisons lean to; DECISIONS if there is none. A common direction suggests that the
 * machines changed, not the code. */
static enum decision common_direction(const struct finding *f, size_t n, double min_effect_of_all)
{
	struct effect_finding *all = mem_new(n, sizeof(*all));
	enum decision lean;

	for (size_t i = 0; i < n; i++)
		all[i] = (struct effect_finding){ f[i].ratio, f[i].comparison ? f[i].judgement.input.verdict : DECISION_NOTHING_MEASURED };
	lean = effects_find_common_direction(all, n, min_effect_of_all);
	free(all);
	return lean;
}

static bool has_common_machine(const struct finding *f, size_t n, size_t i)
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

/* ---- end of a night ---- */

static enum assay_status decide_findings(struct nightly *n, struct lab *lab, const struct evidence *evidence, struct finding *f,
					 size_t count, struct assay_error *err)
{
	double limit = largest_p(f, count);
	enum decision lean = common_direction(f, count, lab->config.min_effect);
	enum assay_status st = ASSAY_OK;
	bool any = false;

	if (lean < DECISIONS)
		nightly_note(n, "findings_lean",
			     "nearly all comparisons changed in the same direction: check the machines before the code");
	for (size_t i = 0; !st && i < count; i++) {
		bool shares = has_common_machine(f, count, i);

		if (!f[i].comparison)
			continue;
		if (shares && !any)
			nightly_note(n, "findings_share_machine", "findings depend on a single machine, '%s'", f[i].judgement.machine);
		any = any || shares;
		f[i].request.may_be_chance = stats_round(f[i].p) > stats_round(limit);
		f[i].request.follows_night_trend = shares || (f[i].judgement.input.verdict == lean && !isnan(f[i].ratio) &&
							      f[i].judgement.input.confirmation != CONFIRMATION_SEEN);
	}
	for (size_t i = 0; !st && i < count; i++) {
		if (!f[i].comparison)
			continue;
		if (f[i].request.may_be_chance ||
		    f[i].request
			.follows_night_trend) { /* otherwise the earlier judgement stands: reading the records again would be slow */
			judgement_release(&f[i].judgement);
			st = judge_decide(lab, evidence, &f[i].request, &f[i].judgement, err);
		}
		if (!st)
			st = store_judgement(n, lab, f[i].comparison, &f[i].request, &f[i].judgement, err);
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
		f[count] = (struct finding){ .comparison = c, .request = make_request(n, c) };
		st = judge_decide(lab, &evidence, &f[count].request, &f[count].judgement, err);
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

/* Reports whether a comparison that can be measured has no runs to decide on. */
static bool is_unreached(const struct night_comparison *c)
{
	return c->state == NIGHT_WAITING ? *c->baseline && !*c->detail : c->state == NIGHT_MEASURING && !*c->plan;
}

/* Adds a note on the comparisons that the deadline prevented or interrupted. Must run before these comparisons are decided. */
static void note_deadline(struct nightly *n)
{
	bool late = is_past_deadline(n) || *n->options->cancelled == SIGALRM;
	size_t unreached = 0, unconfirmed = 0;
	char fresh[96] = "";

	for (size_t i = 0; i < n->comparisons.n; i++) {
		const struct night_comparison *c = &n->comparisons.items[i];

		unreached += c->cut || is_unreached(c) || c->state == NIGHT_MEASURING;
		unconfirmed += late && c->state == NIGHT_CONFIRMING && n->suite.confirm && !*c->confirmation_plan;
	}
	if (!n->night.deadline_ms || !(unreached || unconfirmed))
		return;
	if (unconfirmed)
		snprintf(fresh, sizeof(fresh), ", and %zu finding%s had no time for confirmation runs", unconfirmed,
			 text_plural(unconfirmed));
	nightly_note(n, "deadline", "%zu of %zu comparisons %s not reached or not finished before the deadline%s", unreached,
		     n->comparisons.n, unreached == 1 ? "was" : "were", fresh);
}

/* Decides the started comparisons with the runs that exist, and comparisons that cannot be measured. Marks the others as not reached. */
static enum assay_status conclude_remaining(struct nightly *n, struct assay_error *err)
{
	static const char abandoned[] = "this night was ended by --anew: it is decided with the results that it has";
	const char *why = n->abandoned ? abandoned : n->refused; /* NULL if the deadline is the reason */
	enum assay_status st = ASSAY_OK;

	if (n->abandoned)
		nightly_note(n, "given_up", abandoned);
	else if (!why)
		note_deadline(n);
	for (size_t i = 0; !st && i < n->comparisons.n; i++) {
		struct night_comparison *c = &n->comparisons.items[i];

		if (is_unreached(c)) {
			bool waiting = c->state == NIGHT_WAITING;

			c->state = waiting ? NIGHT_UNREACHED : NIGHT_CUT_OFF;
			if (why) {
				free(c->detail);
				c->detail = mem_format("%s%s", waiting ? "" : "started, not finished: ", why);
			}
			st = nightly_store(n, c, err);
		} else if (c->state == NIGHT_WAITING || c->state == NIGHT_MEASURING) {
			st = nightly_judge(n, c, err);
		}
	}
	return st;
}

/* Writes the pages into the directory that suite.yaml names. If this fails, the decisions stay valid, but the exit status is not 0. */
static enum assay_status write_pages(struct nightly *n, struct lab *lab, struct assay_error *err)
{
	const char *pages = n->suite.pages;
	char *path = pages && *pages != '/' ? mem_format("%s/%s", n->options->directory, pages) : NULL;
	struct assay_error why;
	size_t written;
	enum assay_status st = pages ? night_write_pages(lab, &n->night, path ? path : pages, &written, &why) : ASSAY_OK;

	free(path);
	if (!st)
		return ASSAY_OK;
	nightly_note(n, "pages_not_written", "the night's pages were not written: %s", why.text);
	n->night.exit_status = n->night.exit_status ? n->night.exit_status : 1;
	return night_finish(&lab->store, &n->night, err);
}

/* Decides the other comparisons, then all findings together. Then ends the night. */
static enum assay_status nightly_conclude(struct nightly *n, struct assay_error *err)
{
	struct lab lab = { .lock_fd = -1 };
	enum assay_status st = conclude_remaining(n, err);

	if (!st)
		st = nightly_open(n, &lab, err);
	if (!st)
		st = conclude_findings(n, &lab, err);
	if (!st) {
		struct night_decisions decisions = { NULL, 0 };

		st = night_decisions_load(&lab.store, NULL, n->night.id, INT64_MAX, &decisions, err);
		n->night.exit_status = night_exit_status(&n->comparisons, &decisions, NIGHT_FAILS_DEFAULT);
		night_decisions_release(&decisions);
	}
	if (!st)
		st = night_finish(&lab.store, &n->night, err);
	if (!st)
		st = write_pages(n, &lab, err);
	lab_close(&lab);
	return st;
}

static void night_end(struct nightly *n)
{
	night_comparisons_release(&n->comparisons);
	night_release(&n->night);
	suite_release(&n->suite);
	free(n->refused);
}

static enum assay_status night_work(struct nightly *n, struct assay_error *err)
{
	enum assay_status st = night_fingerprints(n, err);

	for (size_t i = 0; !st && i < n->comparisons.n && !is_over(n); i++) {
		struct night_comparison *c = &n->comparisons.items[i];

		if (c->state != NIGHT_WAITING && c->state != NIGHT_MEASURING)
			continue;
		st = nightly_measure(n, c, err);
		if (!st)
			st = nightly_judge(n, c, err);
	}
	for (size_t i = 0; !st && n->suite.confirm && i < 2 * n->comparisons.n && !is_over(n); i++) {
		struct night_comparison *c = &n->comparisons.items[i % n->comparisons.n];

		if (c->state == NIGHT_CONFIRMING && c->improved == (i >= n->comparisons.n))
			st = nightly_confirm(n, c, err);
	}
	for (size_t i = 0; !st && n->suite.explanation_s > 0 && i < n->comparisons.n && !is_over(n); i++) {
		struct night_comparison *c = &n->comparisons.items[i];

		if (c->state == NIGHT_CONFIRMING && !c->improved)
			st = nightly_explain(n, c, err);
	}
	if (!st && (!*n->options->cancelled || *n->options->cancelled == SIGALRM)) { /* otherwise the next 'assay nightly run' continues */
		st = nightly_conclude(n, err);
		if (!st)
			night_hook(n);
	}
	return st;
}

/* ---- fingerprints ---- */

/* Lists the night's hosts that have no recent fingerprint in (*out)[*count]. The inventory owns the hosts; the caller frees *out. */
static enum assay_status hosts_without_fingerprint(struct nightly *n, struct lab *lab, const struct host ***out, size_t *count,
						   struct assay_error *err)
{
	const struct inventory *inventory = &lab->config.inventory;
	double days = n->suite.max_age_days > 0 ? n->suite.max_age_days : lab->config.fingerprint_max_age_days;
	int64_t now_ms = clock_real_ms();
	bool *wanted = mem_new(inventory->n, sizeof(*wanted));
	enum assay_status st = catalog_exclude_retired(lab, err);

	for (size_t i = 0; !st && i < n->comparisons.n; i++) {
		const char *set = n->comparisons.items[i].hosts;
		bool *selected = mem_new(inventory->n, sizeof(*selected));

		st = inventory_select(inventory, *set ? set : NULL, NULL, NULL, selected, err);
		for (size_t k = 0; k < inventory->n; k++)
			wanted[k] = wanted[k] || (!st && selected[k] && !inventory->hosts[k].exclusion_reason);
		free(selected);
	}
	*out = mem_new(inventory->n, sizeof(**out));
	*count = 0;
	for (size_t k = 0; !st && k < inventory->n; k++) {
		char id[FINGERPRINT_ID_BYTES] = "";

		if (wanted[k])
			st = fingerprint_find_before(&lab->store, inventory->hosts[k].id, inventory->hosts[k].profile, now_ms,
						     now_ms - (int64_t)(days * DAY_MS), id, err);
		if (wanted[k] && !*id)
			(*out)[(*count)++] = &inventory->hosts[k];
	}
	free(wanted);
	return st;
}

static enum assay_status measure_fingerprints(struct nightly *n, struct lab *lab, const struct host *const *hosts, size_t count,
					      struct assay_error *err)
{
	struct take_result *results = mem_new(count, sizeof(*results));
	struct battery battery = { 0 };
	struct catalog catalog = { 0 };
	struct reach reach = { 0 };
	struct fleet_options fleet;
	enum assay_status st = battery_open(n->suite.battery, &battery, err);

	if (!st)
		st = battery_select(&battery, NULL, 0, err);
	if (!st)
		st = catalog_load(lab->machines, NULL, &catalog, err);
	if (!st)
		st = reach_init(lab, &reach, err);
	if (!st) {
		const struct take_options options = { .battery = &battery, .resume = true, .fleet = &fleet };

		fleet = reach_fleet_options(&reach);
		fleet.cancelled = n->options->cancelled;
		st = take_fingerprints(lab, &catalog, hosts, count, &options, results, err);
	}
	for (size_t i = 0; !st && i < count; i++) {
		if (!results[i].complete)
			nightly_note(n, "no_fingerprint", "no fingerprint of '%s': %s", hosts[i]->name,
				     *results[i].fleet.message ? results[i].fleet.message : "it is not complete");
	}
	take_results_release(results, count);
	free(results);
	reach_release(&reach);
	catalog_release(&catalog);
	battery_release(&battery);
	return st;
}

/* Takes the fingerprints of hosts whose fingerprint is missing or old. Adds a note on each failure. */
static enum assay_status night_fingerprints(struct nightly *n, struct assay_error *err)
{
	const struct host **hosts = NULL;
	struct lab lab = { .lock_fd = -1 };
	enum assay_status st;
	size_t count = 0;

	if (strcmp(n->suite.battery, SUITE_BATTERY_NONE) == 0)
		return ASSAY_OK;
	st = nightly_open(n, &lab, err);
	if (!st)
		st = hosts_without_fingerprint(n, &lab, &hosts, &count, err);
	if (!st && count && !is_over(n))
		st = measure_fingerprints(n, &lab, hosts, count, err);
	free(hosts);
	lab_close(&lab);
	if (st == ASSAY_E_NOTFOUND || st == ASSAY_E_FORMAT || st == ASSAY_E_USAGE) {
		nightly_note(n, "no_fingerprint", "no fingerprints are taken: %s", err->text);
		st = ASSAY_OK;
	}
	return st;
}

/* Runs the hook for one decision. The deadline does not cancel the hook. */
static void report_step(struct nightly *n, const struct night_comparison *c)
{
	static volatile sig_atomic_t none;
	const struct manifest_arguments *hook = &n->suite.hook;
	const char **words = mem_new(hook->n + 1, sizeof(*words));
	const struct local_command command = { .words = words,
					       .n = hook->n + 1,
					       .directory = n->options->directory,
					       .timeout_ms = HOOK_MS,
					       .cancelled = *n->options->cancelled == SIGALRM ? &none : n->options->cancelled };
	struct local_report said = { .ok = false };
	struct assay_error err;
	const char *fault;
	char *text = NULL;

	for (size_t i = 0; i < hook->n; i++)
		words[i] = hook->items[i];
	words[hook->n] = c->decision;
	fault = local_command_run(&command, &said, &err) ? err.text : said.ok ? NULL : said.fault;
	if (fault) {
		text = mem_format("the hook '%s' failed for decision %s: %s", words[0], c->decision, fault);
		n->options->note(text);
		nightly_log(n, "%s", text);
	}
	local_report_release(&said);
	mem_free(text, words);
}

/* Runs the hook of suite.yaml once per decision. Logs a failure of the hook, which has no other effect. */
static void night_hook(struct nightly *n)
{
	for (size_t i = 0; n->suite.hook.n > 0 && i < n->comparisons.n; i++)
		if (*n->comparisons.items[i].decision)
			report_step(n, &n->comparisons.items[i]);
}

/* ---- lock: only one night runs at a time ---- */

static enum assay_status night_lock(const char *directory, int *fd, struct assay_error *err)
{
	char *private = mem_format("%s/.assay", directory), *path = mem_format("%s/night.lock", private);
	enum assay_status st = file_make_directory(private, 0700, err);

	if (!st) {
		*fd = file_open_nofollow(path, O_RDWR | O_CREAT, 0600);
		if (*fd < 0)
			st = assay_fail_errno(err, errno, "cannot write '%s'", path);
		else if (flock(*fd, LOCK_EX | LOCK_NB))
			st = assay_fail(err, ASSAY_E_BUSY,
					"another night of this laboratory is running ('assay nightly show' shows its progress)");
	}
	if (st && st != ASSAY_E_BUSY)
		(void)assay_add_context(err, "a night stores its results in the laboratory '%s', which must be writable", directory);
	mem_free(path, private);
	return st;
}

/* ---- deadline ---- */

static volatile sig_atomic_t *to_cancel;

static void on_deadline(int number)
{
	if (!*to_cancel)
		*to_cancel = number;
}

static void deadline_set(struct nightly *n)
{
	int64_t left_ms = n->night.deadline_ms - clock_real_ms();
	struct sigaction action = { .sa_handler = on_deadline, .sa_flags = SA_RESTART };

	if (!n->night.deadline_ms)
		return;
	to_cancel = n->options->cancelled;
	sigaction(SIGALRM, &action, NULL);
	alarm(left_ms > 1000 ? (unsigned)(left_ms / 1000) : 1);
}

static bool is_past_deadline(const struct nightly *n)
{
	return n->night.deadline_ms && clock_real_ms() >= n->night.deadline_ms;
}

/* Reports whether measurement must stop: the deadline passed, the user cancelled, or measurement is not allowed. */
static bool is_over(const struct nightly *n)
{
	return *n->options->cancelled || n->refused || is_past_deadline(n);
}

/* ---- start of a night ---- */

static enum assay_status nightly_open(struct nightly *n, struct lab *lab, struct assay_error *err)
{
	enum assay_status st = lab_open_wait(n->options->directory, n->options->dry_run ? STORE_READ : STORE_WRITE, n->suite.wait_s,
					     n->options->cancelled, lab, err);

	if (!st)
		lab_record_command(lab, n->options->command);
	if (!st && !n->options->dry_run)
		st = night_store_notes(&lab->store, &n->night, err);
	return st;
}

/* Makes paths of the laboratory in the text relative to it: pages of a night may be published. */
static void shorten_paths(const char *directory, char *text)
{
	char *path = realpath(directory, NULL);
	size_t n = path ? strlen(path) : 0;

	for (char *at = text; n > 1 && (at = strstr(at, path));) {
		if (at[n] == '/')
			memmove(at, at + n + 1, strlen(at + n + 1) + 1);
		else
			at += n;
	}
	free(path);
}

static void nightly_note(struct nightly *n, const char *code, const char *fmt, ...)
{
	char *text;

	mem_format_va(text, fmt);
	shorten_paths(n->options->directory, text);
	reasons_add(&n->night.notes, code, text);
	if (!n->options->dry_run) /* the answer of a dry run contains the notes */
		n->options->note(text);
	nightly_log(n, "%s: %s", code, text);
	free(text);
}

/* Reads suite.yaml, battery and calibration, so that errors in them appear before any measurement. file_cache_enable() caches their
 * contents. */
static enum assay_status read_suite(struct nightly *n, char **text, struct assay_error *err)
{
	struct battery battery = { 0 };
	struct calibration calibration = { NULL, 0 };
	enum assay_status st = suite_read(n->options->directory, &n->suite, text, err);

	if (!st && strcmp(n->suite.battery, SUITE_BATTERY_NONE) != 0 && battery_open(n->suite.battery, &battery, err))
		st = assay_add_context(err, SUITE_FILE ":%zu: 'battery'", n->suite.battery_line);
	battery_release(&battery);
	if (!st)
		st = calibration_read(n->options->directory, &calibration, err);
	calibration_release(&calibration);
	return st;
}

/* Adds a note if the clock is earlier than the start of a stored plan: histories are sorted by time, and a wrong clock disturbs them. */
static enum assay_status note_clock(struct nightly *n, struct lab *lab, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_prepare(&lab->store, "SELECT max(started_ms) FROM plan", &stmt, err);
	int64_t last_ms = store_next(&lab->store, stmt, &st, err) ? sqlite3_column_int64(stmt, 0) : 0;

	if (last_ms > n->night.started_ms)
		nightly_note(n, "clock",
			     "this machine's clock says %s, and runs before this night were made at %s: one of these times is wrong, and "
			     "histories are ordered by time",
			     TEXT_DATE(n->night.started_ms / 1000 * 1000), TEXT_DATE(last_ms / 1000 * 1000));
	return store_finalize(stmt, st);
}

static enum assay_status begin_night(struct nightly *n, struct lab *lab, char *text, struct assay_error *err)
{
	struct nightly_start_notes notes = { .unchanged = { NULL, 0 } };
	const struct {
		const char *code, *before, *between;
		struct manifest_arguments *texts;
	} said[] = { { "not_there", "not measured: ", "; ", &notes.unknown_names },
		     { "unchanged", "nothing has changed since the compared version: ", ", ", &notes.unchanged },
		     { "baseline_expired", "", "; ", &notes.expired },
		     { "baseline_unused", "", "; ", &notes.unused },
		     { "out_of_use", "", "; ", &notes.exclusion_reason },
		     { "commit_gone", "", "; ", &notes.missing_baselines } };
	enum assay_status st = nightly_list_comparisons(lab, &n->suite, n->options, &n->comparisons, &notes, err);

	n->night = (struct night){ .started_ms = clock_real_ms(), .suite = text };
	n->night.deadline_ms = suite_deadline_ms(&n->suite, n->night.started_ms);
	for (size_t i = 0; n->options->budget_s > 0 && i < n->comparisons.n; i++)
		n->comparisons.items[i].budget_s = n->options->budget_s;
	if (!st && !n->options->dry_run)
		st = night_begin(&lab->store, &n->night, &n->comparisons, err);
	if (!st)
		st = note_clock(n, lab, err);
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		struct buf note = BUF_INIT;

		for (size_t k = 0; k < said[i].texts->n; k++)
			buf_format(&note, "%s%s", k ? said[i].between : said[i].before, said[i].texts->items[k]);
		if (!st && note.size)
			nightly_note(n, said[i].code, "%s", note.bytes);
		buf_release(&note);
		manifest_arguments_release(said[i].texts);
	}
	return st;
}

/* Prunes the store to its quota. Adds notes if store or disk is nearly full. Fails if the store stays too large. A dry run only adds notes.
 */
static enum assay_status enforce_quota(struct nightly *n, struct lab *lab, struct assay_error *err)
{
	struct pruned pruned;
	struct store_space space;
	bool dry_run_state = n->options->dry_run;
	enum assay_status st = prune_to_quota(lab, dry_run_state, &pruned, &space, err);
	double gib = (double)space.bytes / GIB, quota = lab->config.quota_gib;

	if (pruned.executions || pruned.samples.files)
		nightly_note(n, "quota",
			     "the store %s larger than its quota of %.4g GiB: %s the output of %lld execution%s before %s, and %zu sample "
			     "file%s",
			     dry_run_state ? "is" : "was", quota, dry_run_state ? "would remove" : "removed", (long long)pruned.executions,
			     text_plural((size_t)pruned.executions), TEXT_DATE(pruned.before_ms / 1000 * 1000), pruned.samples.files,
			     text_plural(pruned.samples.files));
	if (!st && quota > 0 && gib > QUOTA_WARNING_SHARE * quota)
		nightly_note(n, "quota", "the store has %.4g GiB of its quota of %.4g%s", gib, quota,
			     gib > quota ? ": nothing would be measured; raise quota_gib in lab.yaml" : "");
	if (!st && (double)space.free_bytes < FREE_WARNING_GIB * GIB)
		nightly_note(n, "disk", "only %.3g %s are free where the store is: 'assay prune --older-than DAYS' makes room",
			     (double)space.free_bytes / (space.free_bytes < MIB ? KIB : MIB), space.free_bytes < MIB ? "KiB" : "MiB");
	return st;
}

/* Finds the unfinished night and its comparisons. Abandons it if the user asked for that, or if none of its comparisons has started, so
 * that a new night uses the current versions. Keeps it if the current suite is unreadable (suite_now NULL). */
static enum assay_status find_unfinished(struct nightly *n, struct lab *lab, const char *suite_now, struct assay_error *err)
{
	enum assay_status st = night_find_unfinished(&lab->store, &n->night, err);
	bool begun = false;

	if (!st)
		st = night_comparisons_load(&lab->store, n->night.id, &n->comparisons, err);
	for (size_t i = 0; i < n->comparisons.n; i++)
		begun = begun || n->comparisons.items[i].state != NIGHT_WAITING;
	n->abandoned = !st && suite_now && (n->options->start_new || !begun);
	return st;
}

/* Continues a night with the suite that it started with. suite_now is the text of the current suite; NULL if unreadable. */
static enum assay_status continue_or_start(struct nightly *n, const char *suite_now, struct assay_error *err)
{
	bool chosen = n->options->exclude || n->options->selected_applications.n || n->options->budget_s > 0;
	char *text = mem_format("continuing the night of %s%s%s", TEXT_DATE(n->night.started_ms),
				chosen ? ", with its own options: -x, --applications and --budget apply only to a new night" : "",
				suite_now && strcmp(suite_now, n->night.suite) == 0
				    ? ""
				    : ": suite.yaml was changed since, but this night keeps its own copy ('assay nightly run --anew' ends "
				      "it with the results that it has, and starts another)");

	if (!n->abandoned) {
		n->options->note(text);
		nightly_log(n, "%s", text);
	}
	free(text);
	suite_release(&n->suite);
	return suite_parse(SUITE_FILE, n->night.suite, strlen(n->night.suite), &n->suite, err);
}

/* Adds a note on hosts that users excluded after the night started: the night no longer measures on them. */
static void note_excluded_hosts(struct nightly *n, struct lab *lab)
{
	const struct inventory *inventory = &lab->config.inventory;
	bool *all = mem_new(inventory->n, sizeof(*all)), known = false;
	struct buf text = BUF_INIT;
	struct assay_error ignored; /* commands that need the catalog report its errors */

	if (!catalog_exclude_retired(lab, &ignored) && !inventory_select(inventory, NULL, NULL, NULL, all, &ignored))
		host_choice_add_aside(inventory, all, &text);
	for (size_t i = 0; text.size && i < n->night.notes.n; i++)
		known = known || strcmp(n->night.notes.items[i].text, text.bytes) == 0;
	if (text.size && !known)
		nightly_note(n, "out_of_use", "%s", text.bytes);
	buf_release(&text);
	free(all);
}

/* Continues the unfinished night or starts a new one. If the unfinished night is abandoned or past its deadline, first ends it. */
static enum assay_status night_begin_or_go_on(struct nightly *n, struct assay_error *err)
{
	struct lab lab = { .lock_fd = -1 };
	struct assay_error why; /* error of reading the suite; a continued night ignores it */
	char *text = NULL;
	bool again = false, unread = read_suite(n, &text, &why);
	enum assay_status st = nightly_open(n, &lab, err);

	if (!st) {
		st = find_unfinished(n, &lab, unread ? NULL : text, err);
		if (!st && !(unread && n->options->start_new)) {
			if (unread)
				nightly_note(n, "suite_unread", "the next night cannot start: %s", why.text);
			st = continue_or_start(n, unread ? NULL : text, err);
			again = !st && (n->abandoned || is_past_deadline(n));
			if (!st && !again)
				note_excluded_hosts(n, &lab);
		} else if (unread && (!st || st == ASSAY_E_NOTFOUND)) {
			*err = why;
			st = why.status;
		} else if (st == ASSAY_E_NOTFOUND) {
			st = begin_night(n, &lab, text, err);
			text = NULL;
		}
		if (!st && !again && enforce_quota(n, &lab, err)) {
			n->refused = mem_format("nothing is measured: %s", err->text);
			nightly_note(n, "quota", "%s", n->refused);
		}
		if (!st && !again)
			st = night_store_notes(&lab.store, &n->night, err);
	}
	lab_close(&lab);
	free(text);
	if (again) {
		st = nightly_conclude(n, err);
		night_end(n);
		return st ? st : night_begin_or_go_on(n, err);
	}
	if (!st)
		deadline_set(n);
	return st;
}

/* Finds the night that nightly_run() would run; its id is "" if it is new. The caller calls night_end(), even after an error. */
static enum assay_status night_plan(const struct nightly_options *options, struct nightly *out, struct assay_error *err)
{
	struct lab lab = { .lock_fd = -1 };
	struct assay_error none;
	char *text = NULL;
	enum assay_status st;

	*out = (struct nightly){ .options = options };
	st = read_suite(out, &text, err);
	if (!st)
		st = nightly_open(out, &lab, err);
	if (!st && !find_unfinished(out, &lab, text, &none) && !out->abandoned && !is_past_deadline(out)) {
		st = continue_or_start(out, text, err);
	} else if (!st) {
		night_release(&out->night);
		night_comparisons_release(&out->comparisons);
		st = begin_night(out, &lab, text, err);
		text = NULL;
	}
	if (!st)
		st = enforce_quota(out, &lab, err);
	lab_close(&lab);
	free(text);
	return st;
}

/* Plan of one comparison in a dry run. */
struct planned_comparison {
	struct estimate first; /* estimate of the time until the first interim analysis */
	size_t hosts;
	char *detail; /* reason why the night would not measure the comparison; NULL if it would */
};

struct dry_run_state {
	struct nightly night;
	struct planned_comparison *planned_comparison; /* [n], one per comparison */
	struct estimate first;			       /* sum over all comparisons */
	size_t measured;
};

static void estimate_comparison(struct dry_run_state *dry_run_state, struct night_comparison *c, struct planned_comparison *a)
{
	struct assay_error err;

	if (c->state != NIGHT_WAITING && c->state != NIGHT_MEASURING)
		a->detail = mem_string(night_state_text(c));
	else if (!*c->baseline || *c->detail || nightly_estimate(&dry_run_state->night, c, &a->first, &a->hosts, &err))
		a->detail = mem_format("would not be measured: %s", !*c->baseline || *c->detail ? c->detail : err.text);
	if (a->detail)
		return;
	if (dry_run_state->night.night.deadline_ms) /* nightly_describe_plan() limits the sum in the same way */
		a->first.at_most_s = fmin(a->first.at_most_s, remaining_s(&dry_run_state->night));
	dry_run_state->measured++;
	dry_run_state->first.runs += a->first.runs;
	dry_run_state->first.unknown += a->first.unknown;
	dry_run_state->first.seconds += a->first.seconds;
	dry_run_state->first.at_most_s += a->first.at_most_s;
}

static void describe_ahead(const struct night_comparison *c, const struct planned_comparison *a, struct document *d)
{
	char *time = a->detail ? mem_string("-") : estimate_text(&a->first);

	doc_row(d);
	doc_show(d, "application", "application", c->application);
	doc_show(d, "candidate", "candidate", c->candidate);
	doc_show(d, "baseline", "baseline", c->baseline);
	doc_show(d, "against", "which is", c->baseline_kind);
	doc_show(d, "hosts", "hosts", a->hosts);
	estimate_describe(&a->first, d);
	doc_show(d, NULL, "runs", a->first.runs);
	doc_show(d, NULL, "first look", time);
	doc_set_empty(d, "detail", a->detail);
	free(time);
}

static void describe_all_ahead(const struct dry_run_state *dry_run_state, struct document *d)
{
	const struct night_comparisons *all = &dry_run_state->night.comparisons;
	const char *before = "\n";

	doc_table(d, "comparisons");
	for (size_t i = 0; i < all->n; i++)
		describe_ahead(&all->items[i], &dry_run_state->planned_comparison[i], d);
	doc_end(d);
	for (size_t i = 0; i < all->n; i++) {
		if (!dry_run_state->planned_comparison[i].detail)
			continue;
		doc_line(d, "%s%s@%s: %s", before, all->items[i].application, all->items[i].candidate,
			 dry_run_state->planned_comparison[i].detail);
		before = "";
	}
}

static void add_head(const struct dry_run_state *dry_run_state, struct document *d)
{
	const struct night *night = &dry_run_state->night.night;
	char *time = estimate_text(&dry_run_state->first), date[TEXT_DATE_BYTES];

	if (*night->id)
		doc_line(d, "The night of %s would continue.", text_from_ms(night->started_ms / 1000 * 1000, date));
	doc_line(d,
		 "%zu of %zu comparison%s would be measured: %zu run%s to the first interim analysis (time: %s). Findings are measured "
		 "once more. Nothing was run.",
		 dry_run_state->measured, dry_run_state->night.comparisons.n, text_plural(dry_run_state->night.comparisons.n),
		 dry_run_state->first.runs, text_plural(dry_run_state->first.runs), time);
	doc_line(d, "%s", "");
	doc_set_empty(d, "night", night->id);
	doc_set(d, "measured", dry_run_state->measured);
	estimate_describe(&dry_run_state->first, d);
	free(time);
}

enum assay_status nightly_describe_plan(const struct nightly_options *options, struct document *d, struct assay_error *err)
{
	struct dry_run_state dry_run_state = { .measured = 0 };
	enum assay_status st = night_plan(options, &dry_run_state.night, err);
	struct night_comparisons *all = &dry_run_state.night.comparisons;

	dry_run_state.planned_comparison = mem_new(all->n + 1, sizeof(*dry_run_state.planned_comparison));
	for (size_t i = 0; !st && i < all->n; i++)
		estimate_comparison(&dry_run_state, &all->items[i], &dry_run_state.planned_comparison[i]);
	if (!st && dry_run_state.night.night.deadline_ms) /* the deadline also limits runs of unknown duration */
		dry_run_state.first.at_most_s = fmin(dry_run_state.first.at_most_s, remaining_s(&dry_run_state.night));
	if (!st) {
		add_head(&dry_run_state, d);
		describe_all_ahead(&dry_run_state, d);
		reasons_add_member(&dry_run_state.night.night.notes, "notes", d);
	}
	for (size_t i = 0; i < all->n; i++)
		free(dry_run_state.planned_comparison[i].detail);
	free(dry_run_state.planned_comparison);
	night_end(&dry_run_state.night);
	return st;
}

/* The log .assay/night.log has the events of a night with their times, for users to read the next morning. Only the owner can read it. A
 * log larger than LOG_BYTES_MAX is renamed to night.log.1. If the log cannot be written, the night continues. */

/* The night's log, .assay/night.log: events with times, for users to read the next morning. Only the owner can read it. A log above
 * LOG_BYTES_MAX becomes night.log.1. Nights continue if the log cannot be written. */

/* Opens the log for appending. If the log is too large, first renames it to night.log.1. Returns -1 on failure. */
static int log_open(const char *directory)
{
	char *path = mem_format("%s/.assay/night.log", directory), *before = mem_format("%s.1", path);
	int flags = O_WRONLY | O_APPEND | O_CREAT, fd = file_open_nofollow(path, flags, 0600);
	struct stat is;

	if (fd >= 0 && !fstat(fd, &is) && is.st_size > LOG_BYTES_MAX) {
		close(fd);
		fd = rename(path, before) ? -1 : file_open_nofollow(path, flags, 0600);
	}
	mem_free(before, path);
	return fd;
}

static void nightly_log(const struct nightly *n, const char *fmt, ...)
{
	struct buf line = BUF_INIT;
	int fd = n->options->dry_run ? -1 : log_open(n->options->directory);
	char *said, *text;

	mem_format_va(said, fmt);
	text = secrets_copy_masked(said);
	buf_format(&line, "%s %.8s ", TEXT_DATE(clock_real_ms() / 1000 * 1000), *n->night.id ? n->night.id : "-");
	for (const char *at = text; *at;) {
		size_t control = text_control_char_bytes(at);

		buf_char(&line, control ? ' ' : *at);
		at += control ? control : 1;
	}
	buf_char(&line, '\n');
	if (fd >= 0) {
		ssize_t ignored = write(fd, line.bytes, line.size); /* other code reports a full disk */

		(void)ignored;
		close(fd);
	}
	buf_release(&line);
	mem_free(said, text);
}

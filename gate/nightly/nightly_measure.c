/* The runs of one comparison. */
#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "gate/nightly/judge.h"
#include "gate/nightly/nightly.h"
#include "gate/nightly/spend.h"

#include <inttypes.h>

/* The seed by which the runs are found again, whatever has happened in between. */
static uint64_t seed_of(const struct nightly *n, const struct night_comparison *c, const char *what)
{
	char *text = mem_format("%s\n%" PRId64 "\n%s", n->night.id, c->number, what);
	uint64_t seed = digest_seed(text);

	free(text);
	return seed;
}

static struct launch_options launch_of(const struct nightly *n, struct night_comparison *c, const char *what, char **versions,
				       size_t n_versions)
{
	struct launch_options o = { .directory = n->options->directory,
				    .command = n->options->command,
				    .application = c->manifest,
				    .hosts = { .hosts = *c->hosts ? c->hosts : NULL },
				    .choice = { .versions = { versions, n_versions },
						.inputs = { &c->input, *c->input ? 1 : 0 },
						.has_seed = true,
						.seed = seed_of(n, c, what) },
				    .resume = true,
				    .of_seed = true,
				    .repeat = n->suite.repeat,
				    .wait_s = n->suite.wait_s,
				    .note = n->options->note };

	if (n->options->watch)
		n->options->watch(&o);
	o.cancelled = n->options->cancelled;
	return o;
}

static enum assay_status store_state(struct nightly *n, const struct night_comparison *c, struct assay_error *err)
{
	struct lab lab = { .lock_fd = -1 };
	enum assay_status st = nightly_open(n, &lab, err);

	if (!st)
		st = night_update(&lab.store, &n->night, c, err);
	lab_close(&lab);
	return st;
}

/* Of one application, and no reason to give up the night? */
static bool is_its_own(enum assay_status st)
{
	return st == ASSAY_E_USAGE || st == ASSAY_E_NOTFOUND || st == ASSAY_E_FORMAT || st == ASSAY_E_LIMIT || st == ASSAY_E_CONFLICT ||
	       st == ASSAY_E_IO || st == ASSAY_E_NODATA || st == ASSAY_E_BUSY;
}

static void set_detail(struct night_comparison *c, const char *text)
{
	free(c->detail);
	c->detail = mem_bytes(text, strcspn(text, "\n"));
}

static double left_s(const struct nightly *n)
{
	return (double)(n->night.deadline_ms - clock_real_ms()) / 1000;
}

/* What a comparison has spent is stored as it goes on: after an interruption the rest of its budget is left. */
struct spending_night {
	struct nightly *n;
	struct night_comparison *c;
	double before_s;
};

static enum assay_status store_spent(struct spending_night *s, double seconds, struct assay_error *err)
{
	s->c->seconds = s->before_s + seconds;
	return store_state(s->n, s->c, err);
}

enum assay_status nightly_estimate(const struct nightly *n, struct night_comparison *c, struct estimate *out, size_t *hosts,
				   struct assay_error *err)
{
	char *again = mem_format("%s" MANIFEST_AGAIN, c->baseline), *versions[] = { c->baseline, c->candidate, again };
	struct launch_options o = launch_of(n, c, "measure", versions, n->suite.control ? 3 : 2);
	struct launch launch;
	enum assay_status st;

	o.dry_run = true;
	o.resume = o.of_seed = false;
	st = launch_run(&o, &launch, err);
	*hosts = st ? 0 : launch.n;
	*out = st ? (struct estimate){ .runs = 0 } : estimate_total(launch.estimates, launch.hosts, launch.n);
	launch_release(&launch);
	free(again);
	return st;
}

enum assay_status nightly_measure(struct nightly *n, struct night_comparison *c, struct assay_error *err)
{
	char *again = mem_format("%s" MANIFEST_AGAIN, c->baseline), *versions[] = { c->baseline, c->candidate, again };
	struct launch_options o = launch_of(n, c, "measure", versions, n->suite.control ? 3 : 2);
	struct spending_night spending = { n, c, c->seconds };
	double budget_s = c->budget_s;
	struct spend spend;
	bool limited, missing = c->state == NIGHT_WAITING && *c->detail; /* there is no such baseline, as the night began */
	enum assay_status st;

	c->state = NIGHT_MEASURING;
	if (!*c->baseline || missing) {
		free(again);
		return ASSAY_OK;
	}
	if (budget_s > 0)
		budget_s = budget_s - c->seconds > 1 ? budget_s - c->seconds : 1;
	limited = n->night.deadline_ms && (budget_s <= 0 || left_s(n) < budget_s);
	if (limited)
		budget_s = left_s(n) > 1 ? left_s(n) : 1;
	st = store_state(n, c, err);
	if (st) {
		free(again);
		return st;
	}
	nightly_log(n, "measuring %s %s against %s, for %.0f s at most", c->application, c->candidate, c->baseline, budget_s);
	st = spend_until_decided(&o, &(struct spend_asked){ c->min_effect, budget_s, true, store_spent, &spending }, &spend, err);
	free(again);
	memcpy(c->plan, spend.plan, sizeof(c->plan));
	c->seconds = spending.before_s + spend.seconds;
	c->cut = limited && !spend.decided;
	if (spend.lost)
		set_detail(c, spend.lost);
	if (st && is_its_own(st)) {
		set_detail(c, err->text);
		st = ASSAY_OK;
	}
	spend_release(&spend);
	nightly_log(n, "measured %s %s in %.1f s%s%s", c->application, c->candidate, c->seconds, *c->detail ? ": " : "", c->detail);
	return st;
}

/* What a finding is confirmed with: as many repetitions as its plan had, and, where machines of several architectures ran, the machines of
 * the one that it is a finding of, with commas between, else NULL. The decision is made anew for that: a night that was interrupted has
 * nothing else of it. free() *hosts. */
static enum assay_status confirm_with(struct nightly *n, const struct night_comparison *c, int64_t *repetitions, char **hosts,
				      struct assay_error *err)
{
	const struct judge_request q = { .application = c->application, .min_effect = c->min_effect };
	struct judge_compared found = { .sides = { { 0 } } };
	struct evidence evidence = { 0 };
	struct lab lab = { .lock_fd = -1 };
	struct buf text = BUF_INIT;
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = nightly_open(n, &lab, err);

	*repetitions = 0;
	if (!st)
		st = store_ask(&lab.store, &stmt, err, "SELECT repetitions FROM plan WHERE id = ?", "t", c->plan);
	if (stmt && store_next(&lab.store, stmt, &st, err))
		*repetitions = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	if (!st)
		st = evidence_load(&lab, &evidence, err);
	if (!st)
		st = judge_compare(&lab, &evidence, &q, c->plan, (const char *const[]){ c->baseline, c->candidate }, NULL, &found, err);
	for (size_t i = 0; !st && found.verdict.architecture && i < found.verdict.baseline->n_on; i++)
		buf_format(&text, "%s%s", i ? "," : "", found.verdict.baseline->on[i].machine);
	*hosts = text.size ? buf_take(&text) : NULL;
	judge_compared_release(&found);
	evidence_release(&evidence);
	lab_close(&lab);
	return st;
}

enum assay_status nightly_confirm(struct nightly *n, struct night_comparison *c, struct assay_error *err)
{
	char *again = mem_format("%s" MANIFEST_AGAIN, c->baseline), *versions[] = { c->baseline, c->candidate, again };
	struct launch_options o = launch_of(n, c, "confirm", versions, 3);
	int64_t repetitions, began_ns = clock_monotonic_ns();
	struct launch launch = { .lab = { .lock_fd = -1 } };
	char *hosts = NULL;
	enum assay_status st;

	o.hang_once = true;
	nightly_log(n, "confirming %s %s by fresh runs", c->application, c->candidate);
	st = confirm_with(n, c, &repetitions, &hosts, err);
	if (hosts)
		o.hosts.hosts = hosts;
	if (!st)
		st = launch_run(&o, &launch, err);
	if (launch.nothing) {
		launch_release(&launch);
		o.resume = false;
		o.choice.repetitions = repetitions;
		st = launch_run(&o, &launch, err);
	}
	if (!st && (launch.plan.complete || !*n->options->cancelled))
		memcpy(c->fresh_plan, launch.plan.id, sizeof(c->fresh_plan));
	launch_release(&launch);
	mem_free(hosts, again);
	c->seconds += (double)(clock_monotonic_ns() - began_ns) / 1e9;
	if (st && is_its_own(st)) {
		set_detail(c, err->text);
		st = ASSAY_OK;
	}
	return st ? st : store_state(n, c, err);
}

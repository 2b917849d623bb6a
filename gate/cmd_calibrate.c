/* assay calibrate */
#include "base/mem.h"
#include "fleet/lab/lab.h"
#include "gate/cmd.h"
#include "gate/cmd_evidence.h"
#include "gate/nightly/calibrate.h"
#include "runs/cmd_run.h"

#include <math.h>

#define BUDGET_S 600.
#define PAIRS	 120
#define PERCENT	 5

struct arguments {
	const char *selector;
	double min_effect, budget_s;
	int64_t percent, pairs;
	struct cmd_fleet_choice hosts;
};

/* ---- answer ---- */

static void answer_row(const char *what, const struct calibration_planted *p, const struct replay_counts *c, struct document *d)
{
	doc_row(d);
	doc_set(d, "kind", p ? plant_word(p->plant.kind) : "identical");
	doc_show(d, NULL, "planted", what);
	doc_set(d, "percent", p ? doc_value_integer(p->plant.percent) : DOC_NOTHING);
	doc_set(d, "measured", p ? p->measured : (double)NAN);
	doc_showf(d, NULL, "measured", p ? p->measured : (double)NAN, "%+.1f %%", p ? 100 * p->measured : 0.);
	doc_show(d, "pairs", "pairs", c->pairs);
	doc_set(d, "resampled", c->pairs - c->distinct);
	for (int i = 0; i < DECISION_NOTHING_MEASURED; i++)
		doc_show(d, decision_text((enum decision)i), decision_text((enum decision)i), c->decision[i]);
	doc_show(d, "seen_again", "confirmed", c->seen_again);
	doc_showf(d, "repetitions", "repetitions", c->looked_at, "%.1f", c->looked_at);
}

static void answer(const struct calibration_entry *e, struct document *d)
{
	size_t called = e->identical.decision[DECISION_REGRESSION], found = 0, planted = 0;

	for (size_t i = 0; i < e->n_planted; i++) {
		found += e->planted[i].counts.decision[DECISION_REGRESSION];
		planted += e->planted[i].counts.pairs;
	}
	doc_answer(d, called ? DOC_DOUBTFUL : DOC_GOOD, "calibrated",
		   "%zu of %zu identical pairs were called slower; a planted %u %% was found in %zu of %zu", called, e->identical.pairs,
		   e->planted[0].plant.percent, found, planted);
	doc_set(d, "application", e->application);
	doc_set(d, "version", e->version);
	doc_set(d, "plan", e->plan);
	doc_set(d, "taken_ms", e->taken_ms);
	doc_set(d, "min_effect", e->min_effect);
	doc_show(d, "machines", "machines", e->n_machines);
	doc_show(d, "runs_each", "repetitions of each version", e->repetitions);
	doc_showf(d, "waited", "waited for a processor", e->waited, "%.1f %% of their time", 100 * e->waited);
	doc_table(d, "comparisons");
	answer_row("nothing", NULL, &e->identical, d);
	for (size_t i = 0; i < e->n_planted; i++) {
		char *what = mem_format("%u %% %s", e->planted[i].plant.percent, plant_text(e->planted[i].plant.kind));

		answer_row(what, &e->planted[i], &e->planted[i].counts, d);
		free(what);
	}
	doc_end(d);
	doc_line(d, "%zu identical pairs share no run with another one; the others are made of the same runs in other combinations.",
		 e->identical.distinct);
	doc_line(d, "Kept in " CALIBRATION_FILE ", which belongs into git; decisions quote it.");
}

static enum assay_status run(struct lab *none, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct calibrate_options o = { .directory = cli_directory(),
				       .command = cli_command_name(),
				       .percent = (unsigned)a->percent,
				       .budget_s = a->budget_s,
				       .min_effect = a->min_effect,
				       .pairs = a->pairs,
				       .hosts = a->hosts,
				       .cancelled = &cmd_run_cancelled,
				       .watch = cmd_run_watch };
	struct calibration_entry entry = { .plan = "" };
	char *application = NULL, *version = NULL;
	enum assay_status st = run_selector(a->selector, &application, &version, err);

	(void)none;
	if (!st) {
		o.input = strchr(application, '/');
		if (o.input)
			*o.input++ = '\0';
		o.application = application;
		o.version = version;
		st = calibrate_run(&o, &entry, err);
	}
	if (!st)
		answer(&entry, d);
	if (!st)
		st = calibration_put(cli_directory(), &entry, err);
	else
		calibration_entry_release(&entry);
	mem_free(application, version);
	return st;
}

static const struct cli_option words[] = { CLI_WORD("APP[@VERSION]", struct arguments, selector), CLI_END };
static const struct cli_option options[] = {
	CLI_SPAN("budget", struct arguments, budget_s,
		 "Measure for so long, and as long as one comparison takes: 90s, 20m or 2h (default: 10m)"),
	CLI_INTEGER("percent", "N", struct arguments, percent, 1, PLANT_PERCENT_MAX, "Plant slowdowns of N % (default: 5)"),
	CLI_INTEGER("pairs", "N", struct arguments, pairs, 2, 100000,
		    "Compare N identical pairs, and half as many of each slowdown (default: 120)"),
	CMD_MIN_EFFECT(struct arguments, min_effect),
	CMD_FLEET_HOSTS(struct arguments, hosts),
	CLI_END,
};
static const struct arguments defaults = { .budget_s = BUDGET_S, .percent = PERCENT, .pairs = PAIRS };

const struct command calibrate_command = {
	.name = "calibrate",
	.summary = "measure how often decisions on this laboratory are wrong",
	.about =
	    "Runs VERSION (the manifest's last one, if none is named) beside itself and beside itself with planted slowdowns: when it has "
	    "ended, a wrapper spends so many percent of its processor time again, on computing, on memory traffic, or on system calls. "
	    "Then compares, as a night does, pairs that are drawn from these runs: how often identical ones are called slower, and how "
	    "often a slowdown is found. Kept "
	    "in " CALIBRATION_FILE " with its date and conditions; every decision quotes it, and says when it "
	    "is old. One that was killed goes on when the same is asked again; its budget is less by what its programs ran for.",
	.examples = "  assay calibrate myapp --budget 30m\n"
		    "  assay calibrate myapp/large@v2 --percent 3\n",
	.exit_status = "0 calibrated; 1 failure, 2 usage.",
	.words = words,
	.options = options,
	.defaults = &defaults,
	.flags = CLI_PROGRESS,
	CLI_RUN(struct arguments, CLI_LAB_LATER, run),
};

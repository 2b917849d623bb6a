/* The command assay gate. */
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/lab/lab.h"
#include "gate/commands/gate_commands.h"
#include "gate/commands/cmd_evidence.h"
#include "gate/comparison/comparison.h"
#include "gate/cost/cost_gate.h"
#include "gate/nightly/night_answer.h"
#include "gate/nightly/spend.h"
#include "gate/nightly/why.h"
#include "fleet/commands/cmd_fleet.h"
#include "runs/commands/cmd_run.h"

#include <inttypes.h>

enum { METHOD_RATIO, METHOD_COST };

struct arguments {
	const char *selectors[2];
	double min_effect;    /* fraction; 0 if not given */
	double budget_s;      /* seconds; 0 for no limit */
	double explanation_s; /* seconds; 0 to measure no functions; below 0 if not given */
	int64_t top;	      /* number of groups; 0 if not given */
	int method, of;
	const char *counts;
	bool all, run;
	const char *stacks; /* path of the file for folded stacks; NULL to write none */
	struct host_choice hosts;
	struct cli_list fail_on;
	unsigned failures; /* `fail_on` as bits of enum night_failure */
};

/* The applications and versions in both selectors. */
struct version_pair {
	char *applications[2], *versions[2];
};

static void selected_release(struct version_pair *s)
{
	mem_free(s->applications[0], s->applications[1], s->versions[0], s->versions[1]);
}

/* Parses both selectors, which must name two versions of one application. `what` is the option that needs this, for the error. The caller
 * calls selected_release(), also after an error. */
static enum assay_status selected_load(const struct arguments *a, const char *what, struct version_pair *out, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	*out = (struct version_pair){ .versions = { NULL } };
	for (int i = 0; !st && i < 2; i++)
		st = run_parse_selector(a->selectors[i], &out->applications[i], &out->versions[i], err);
	if (!st && (!out->versions[0] || !out->versions[1] || strcmp(out->applications[0], out->applications[1]) != 0))
		st = assay_fail(err, ASSAY_E_USAGE, "%s takes two versions of one application, APP@OLD APP@NEW, not '%s' and '%s'", what,
				a->selectors[0], a->selectors[1]);
	return st;
}

/* Writes folded stacks with the times of both versions, for programs that draw flame graphs. */
static enum assay_status gate_write_stacks(const struct comparison *c, const char *path, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	enum assay_status st;

	if (!c->measured.machines)
		return assay_fail(err, ASSAY_E_NODATA,
				  "--stacks: no machine has timed runs of both versions (imported results have no times)");
	measured_add_folded_stacks(&c->measured, c->verdict.candidate->application, &text);
	st = file_replace(path, text.bytes, text.size, 0644, err);
	buf_release(&text);
	return st;
}

static enum assay_status gate_decide_by_ratio(struct lab *lab, const struct cmd_evidence *e, const struct arguments *a, bool *latent,
					      struct document *d, struct assay_error *err)
{
	const struct comparison_request asked = { .evidence = &e->evidence,
						  .baseline = &e->runs[0],
						  .candidate = &e->runs[1],
						  .min_effect = a->min_effect > 0 ? a->min_effect : lab->config.min_effect,
						  .last = COMPARISON_ALL };
	struct comparison c;
	enum assay_status st = comparison_compute(lab, &asked, &c, err);

	if (!st) {
		comparison_describe(&c, a->all, (size_t)a->top, d);
		d->exit_status = decision_exit_status(c.verdict.effect.decision);
		*latent = c.latent;
	}
	if (!st && a->stacks)
		st = gate_write_stacks(&c, a->stacks, err);
	comparison_release(&c);
	return st;
}

static bool gate_is_same_version(const struct run_set *a, const struct run_set *b)
{
	return strcmp(a->application, b->application) == 0 && strcmp(a->version, b->version) == 0;
}

/* Extends the error if there are only results for each input: adds the command that compares all inputs. */
static enum assay_status gate_fail_without_input(struct lab *lab, const struct arguments *a, enum assay_status st, struct assay_error *err)
{
	char *text = mem_string(err->text), *command = NULL;
	struct assay_error ignored;
	struct version_pair s;

	if (!selected_load(a, "", &s, &ignored) && st == ASSAY_E_NOTFOUND)
		command = cost_gate_command(&lab->store, (const char *const *)s.applications, (const char *const *)s.versions);
	if (command)
		(void)assay_fail(err, st, "%s (%s compares the expected cost of all inputs)", text, command);
	selected_release(&s);
	mem_free(command, text);
	return st;
}

/* Suggests the comparison of all inputs if this input is not decided. */
static void gate_add_advice(struct lab *lab, const struct run_set runs[2], struct document *d)
{
	const char *applications[] = { runs[0].application, runs[1].application }, *versions[] = { runs[0].version, runs[1].version };
	bool settled = d->exit_status != decision_exit_status(DECISION_INCONCLUSIVE) &&
		       d->exit_status != decision_exit_status(DECISION_NOTHING_MEASURED);
	char *command = settled ? NULL : cost_gate_command(&lab->store, applications, versions);

	if (command) {
		doc_set(d, "by_cost", command);
		doc_line(d, "comparing the expected cost of all inputs may show more: %s", command);
	}
	free(command);
}

static enum assay_status gate_decide_stored(struct lab *lab, const struct arguments *a, bool *latent, struct document *d,
					    struct assay_error *err)
{
	struct cmd_evidence e;
	enum assay_status st = cmd_evidence_load(lab, a->selectors, 2, false, &e, err);

	if (!st && gate_is_same_version(&e.runs[0], &e.runs[1]))
		cli_note("%s@%s is compared with itself: that tells nothing about a change", e.runs[0].application, e.runs[0].version);
	if (st)
		st = gate_fail_without_input(lab, a, st, err);
	else
		st = gate_decide_by_ratio(lab, &e, a, latent, d, err);
	if (!st)
		gate_add_advice(lab, e.runs, d);
	cmd_evidence_release(&e);
	return st;
}

static void gate_describe_measurement(const struct sequential_result *spent, struct document *d)
{
	doc_object(d, "spent");
	doc_set(d, "plan", spent->plan);
	doc_set(d, "runs", spent->runs);
	doc_set(d, "repetitions", spent->repetitions);
	doc_set(d, "looks", (size_t)spent->n_analyses);
	doc_set(d, "seconds", spent->seconds);
	doc_set_bool(d, "budget_ended", spent->budget);
	doc_end(d);
	cli_note("%zu runs, %" PRId64 " repetitions of each version on each host, %d look%s, %.0f s%s", spent->runs, spent->repetitions,
		 spent->n_analyses, text_plural((size_t)spent->n_analyses), spent->seconds,
		 spent->decided	 ? ""
		 : spent->budget ? "; the budget ended it"
				 : "; this was the last interim analysis");
}

/* Compares the results so far. If the functions should be measured to explain the decision, measures them. */
static enum assay_status gate_explain(const struct arguments *a, struct launch_options *o, const struct sequential_result *spent,
				      struct explanation *why, struct assay_error *err)
{
	struct lab lab = { .lock_fd = -1 };
	struct cmd_evidence e = { 0 };
	struct comparison c = { .last = COMPARISON_VERDICT };
	struct comparison_request asked = {
		.evidence = &e.evidence, .baseline = &e.runs[0], .candidate = &e.runs[1], .last = COMPARISON_FUNCTIONS
	};
	struct assay_error told_later; /* the final comparison reports the same error */
	enum assay_status st = lab_open(cli_directory(), STORE_READ, &lab, &told_later);

	if (!st)
		st = cmd_evidence_load(&lab, a->selectors, 2, false, &e, &told_later);
	asked.min_effect = a->min_effect > 0 ? a->min_effect : lab.config.min_effect;
	if (!st)
		st = comparison_compute(&lab, &asked, &c, &told_later);
	if (!st)
		explanation_plan(&c, !spent->budget, &lab.config.inventory, why);
	comparison_release(&c);
	cmd_evidence_release(&e);
	lab_close(&lab);
	st = ASSAY_OK;
	if (why->is_needed) {
		double budget_s = a->explanation_s < 0 ? EXPLANATION_BUDGET_S : a->explanation_s;

		cli_note("measuring functions on %zu host%s, %.0f s at most (--why)", why->hosts, text_plural(why->hosts), budget_s);
		o->resume = false;
		st = explanation_measure(o, budget_s, why, err);
	}
	return st;
}

/* Measures until there is a decision, and then measures functions to explain it. If the selector names an input, runs only this input. */
static enum assay_status gate_measure(const struct arguments *a, struct explanation *why, struct document *d, struct assay_error *err)
{
	struct launch_options o = { .directory = cli_directory(), .command = cli_command_name(), .hosts = a->hosts, .resume = true };
	struct sequential_result spent = { .n_analyses = 0 };
	struct version_pair s;
	char *input;
	enum assay_status st = selected_load(a, "--run", &s, err);

	if (!st) {
		input = strchr(s.applications[0], '/');
		if (input)
			*input++ = '\0';
		o.application = s.applications[0];
		o.choice = (struct plan_choice){ .versions = { s.versions, 2 }, .inputs = { &input, input ? 1 : 0 } };
		cmd_run_set_callbacks(&o);
		st = sequential_measure(&o, &(struct sequential_options){ .min_effect = a->min_effect, .budget_s = a->budget_s }, &spent,
					err);
		if (!st)
			gate_describe_measurement(&spent, d);
		if (!st && a->explanation_s != 0 && spent.runs)
			st = gate_explain(a, &o, &spent, why, err);
	}
	sequential_result_release(&spent);
	selected_release(&s);
	return st;
}

/* Compares by the baseline's cost model, so that the two versions may have different inputs. */
static enum assay_status gate_decide_by_cost(struct lab *lab, const struct arguments *a, struct document *d, struct assay_error *err)
{
	struct version_pair s;
	enum assay_status st = selected_load(a, "--method cost", &s, err);

	if (!st) {
		const struct cost_request asked = { .costs = { .application = s.applications[0],
							       .version = s.versions[0],
							       .counts = a->counts,
							       .kind = (enum cost_kind)a->of },
						    .min_runs = COST_RUNS_MIN };

		st = cost_gate(lab, &asked, s.versions[1], a->min_effect > 0 ? a->min_effect : lab->config.min_effect, d, err);
	}
	selected_release(&s);
	return st;
}

static enum assay_status gate_run(struct lab *none, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct lab lab = { .lock_fd = -1 };
	struct explanation why = { .is_needed = false };
	bool latent = false;
	enum assay_status st = ASSAY_OK;

	(void)none;
	if (a->run)
		st = gate_measure(a, &why, d, err);
	if (!st)
		st = lab_open(cli_directory(), STORE_READ, &lab, err);
	if (!st)
		st = a->method == METHOD_COST ? gate_decide_by_cost(&lab, a, d, err) : gate_decide_stored(&lab, a, &latent, d, err);
	d->exit_status = night_decision_exit_status(d->exit_status, latent, a->failures);
	if (!st && why.is_needed)
		explanation_describe(&why, "functions", d);
	explanation_release(&why);
	lab_close(&lab);
	return st;
}

/* Rejects options that do not apply to the selected method. */
static enum assay_status gate_check(void *arguments, struct assay_error *err)
{
	struct arguments *a = arguments;

	if (!a->run && (a->budget_s > 0 || a->explanation_s >= 0 || a->hosts.hosts || a->hosts.exclude))
		return assay_fail(err, ASSAY_E_USAGE, "--budget, --hosts, --exclude and --why belong to --run");
	if (a->run && a->method != METHOD_RATIO)
		return assay_fail(err, ASSAY_E_USAGE, "--run works only with --method ratio");
	if (a->method != METHOD_COST && (a->counts || a->of))
		return assay_fail(err, ASSAY_E_USAGE, "--counts and --of belong to --method cost");
	if (a->method == METHOD_COST && (a->all || a->top || a->stacks))
		return assay_fail(
		    err, ASSAY_E_USAGE,
		    "--all, --top and --stacks do not apply to --method cost, which lists all machines and compares no groups or stacks");
	return cmd_parse_fail_on(&a->fail_on, &a->failures, err);
}

static const char *const methods[] = { [METHOD_RATIO] = "ratio", [METHOD_COST] = "cost", NULL };
/* clang-format off */
#define GATE_COST(constant, word, unit, text) [constant] = word,
static const char *const costs[] = { COST_ROWS(GATE_COST) [COSTS] = NULL };
/* clang-format on */
static const struct cli_option words[] = {
	CLI_ARGUMENT("BASELINE", struct arguments, selectors[0]),
	CLI_ARGUMENT("CANDIDATE", struct arguments, selectors[1]),
	CLI_END,
};
static const struct cli_option options[] = {
	CMD_MIN_EFFECT(struct arguments, min_effect),
	CLI_FLAG("run", struct arguments, run,
		 "First run both versions in turn until there is a decision; repetitions are doubled at most four times"),
	CLI_DURATION("budget", struct arguments, budget_s, "With --run: longest time to measure: 90s, 20m or 2h"),
	CLI_PARSED("why", "TIME", struct arguments, explanation_s, cmd_parse_time_budget,
		   "With --run: longest time to measure functions after a regression, or off (default: 5m)"),
	CMD_FAIL_ON(struct arguments, fail_on),
	CMD_FLEET_HOSTS(struct arguments, hosts),
	CLI_OPTION(TEXT, "stacks", "FILE", struct arguments, stacks,
		   "Write the time of both versions to FILE as folded stacks with two columns, for flame graphs", .required = false),
	CLI_FLAG("all", struct arguments, all, "List all machines, including excluded ones"),
	CMD_TOP(struct arguments, top, "Number of groups of stressors to list, by change (default: 5)"),
	CLI_CHOICE("method", methods, struct arguments, method, "Method: ratio (the default) or cost"),
	CLI_CHOICE("of", costs, struct arguments, of, "With --method cost: cpu, CPU time (the default), wall, or metric"),
	CLI_TEXT("counts", "VERSION", struct arguments, counts, "With --method cost: version whose runs counted the features"),
	CLI_END,
};
static const struct arguments defaults = { .explanation_s = -1 };

const struct command gate_command = {
	.name = "gate",
	.summary = "decide whether a candidate is slower than a baseline",
	.about = "Decides whether CANDIDATE is slower than BASELINE, both APP[@VERSION]. Each machine that ran both is compared with "
		 "itself, and each hardware type has the same weight. The decision follows from the interval of the ratio of costs: "
		 "regression, improved, pass, or inconclusive. For wall-clock times, CPU time and waiting for busy machines are also used; "
		 "if only the machines changed, the decision is environment. --budget, --hosts and --exclude need --run.",
	.more = "Methods:\n  ratio  (default) the interval of the ratio of costs over hardware types\n  cost   for versions with many "
		"inputs that differ: compares the cost of each input with the\n         baseline's model ('assay cost train'); "
		"distinguishes more work from slower code\n",
	.examples = "  assay gate myapp@1.0 myapp@1.1 --min-effect 0.05\n"
		    "  assay gate myapp@main myapp@branch --run --budget 20m\n"
		    "  assay gate mysqlslap/innodb_load mysqlslap/memory_load --format json | jq .decision\n"
		    "  assay gate myapp@1.0 myapp@1.1 --format junit --output assay.xml\n"
		    "  assay gate myapp@1.0 myapp@1.1 --stacks difference.folded && flamegraph.pl difference.folded > difference.svg\n"
		    "  assay gate sorter@1.0 sorter@1.1 --method cost --counts counted\n",
	.exit_status = "0 pass or improved, 3 regression, 4 inconclusive, 5 environment, 6 nothing measured; 1 failure, 2 usage.",
	.words = words,
	.options = options,
	.defaults = &defaults,
	.flags = CLI_PROGRESS | CLI_DECISIONS,
	.check = gate_check,
	CLI_RUN(struct arguments, CLI_LAB_DEFERRED, gate_run),
};

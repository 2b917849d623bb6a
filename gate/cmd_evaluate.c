/* assay evaluate; docs/formats.md has the members of its answer */
#include "base/mem.h"
#include "base/text.h"
#include "fleet/lab/lab.h"
#include "gate/cmd.h"
#include "gate/cmd_evidence.h"
#include "gate/evaluate/evaluate.h"
#include "gate/published/walk.h"
#include "model/parallel.h"

#include <inttypes.h>
#include <math.h>

static const struct {
	const char *name, *changed_when, *score;
} methods[] = {
#define ROW(constant, name, changed_when, score) { name, changed_when, score },
	EVALUATE_METHOD_ROWS(ROW)
#undef ROW
};

static bool method_used(const struct evaluation *e, int m)
{
	return m != METHOD_WALK || e->options.walk;
}

/* ---- rates ---- */

static void answer_rate(const char *key, const struct evaluate_rate *r, struct document *d)
{
	doc_object(d, key);
	doc_set(d, "flagged", r->flagged);
	doc_set(d, "pairs", r->n);
	doc_set(d, "clusters", r->clusters);
	doc_set(d, "rate", r->rate);
	doc_set(d, "low", r->low);
	doc_set(d, "high", r->high);
	doc_set(d, "low_if_independent", r->independent_low);
	doc_set(d, "high_if_independent", r->independent_high);
	doc_end(d);
}

/* "0.125 (0.003 to 0.527)": a rate or an area; free() it. */
static char *interval_text(double value, double low, double high)
{
	if (isnan(value))
		return mem_string("-");
	if (isnan(low))
		return mem_format("%.3f", value);
	return mem_format("%.3f (%.3f to %.3f)", value, low, high);
}

static void cell_interval(const char *label, double value, double low, double high, struct document *d)
{
	char *text = interval_text(value, low, high);

	doc_show(d, NULL, label, text);
	free(text);
}

static void answer_method(const struct evaluation *e, int m, struct document *d)
{
	const struct evaluate_rate *false_positives = &e->total[0].rates[m], *true_positives = &e->total[1].rates[m];
	const struct evaluate_area *area = &e->areas[m];

	doc_row_named(d, methods[m].name);
	doc_show(d, NULL, "method", methods[m].name);
	cell_interval("false positives", false_positives->rate, false_positives->low, false_positives->high, d);
	cell_interval("true positives", true_positives->rate, true_positives->low, true_positives->high, d);
	cell_interval("area under the curve", area->area, area->low, area->high, d);
	doc_show(d, NULL, "no answer", e->pairs.n - e->scored[m]);
	doc_show(d, "changed_when", "changed when", methods[m].changed_when);
	doc_set(d, "score", methods[m].score);
	doc_set(d, "scored", e->scored[m]);
	answer_rate("false_positives", false_positives, d);
	answer_rate("true_positives", true_positives, d);
	doc_object(d, "area");
	doc_set(d, "value", area->area);
	doc_set(d, "low", area->low);
	doc_set(d, "high", area->high);
	doc_end(d);
}

/* ---- kinds of pairs ---- */

static void answer_decisions(const struct evaluate_kind *kind, struct document *d)
{
	struct buf text = BUF_INIT;

	doc_object(d, "decisions");
	for (int i = 0; i < DECISIONS; i++) {
		const char *decision = decision_text((enum decision)i);

		doc_set(d, decision, kind->decisions[i]);
		if (kind->decisions[i])
			buf_format(&text, "%s%zu %s", text.size ? ", " : "", kind->decisions[i], decision);
	}
	doc_end(d);
	doc_show(d, NULL, "gate", text.bytes);
	buf_release(&text);
}

static void answer_kind(const struct evaluation *e, const struct evaluate_kind *kind, struct document *d)
{
	doc_row(d);
	doc_set(d, "label", kind->label);
	doc_show(d, NULL, "label", *kind->label ? kind->label : "-");
	doc_set_bool(d, "changed", kind->changed);
	doc_show(d, NULL, "truth", kind->changed ? "changed" : "unchanged");
	doc_show(d, "pairs", "pairs", kind->pairs);
	doc_show(d, NULL, "clusters", kind->rates[0].clusters);
	answer_decisions(kind, d);
	for (int m = 0; m < EVALUATE_METHODS; m++) {
		char *label = mem_format("%s%s", m ? "" : "flagged by: ", methods[m].name);

		if (method_used(e, m))
			doc_show(d, NULL, label, kind->rates[m].flagged);
		free(label);
	}
	doc_object(d, "flagged");
	for (int m = 0; m < EVALUATE_METHODS; m++) {
		if (method_used(e, m))
			answer_rate(methods[m].name, &kind->rates[m], d);
	}
	doc_end(d);
}

/* ---- pairs ---- */

static void answer_numbers(const char *key, const struct evaluate_list *list, struct document *d)
{
	if (!list->n)
		return;
	doc_list(d, key);
	for (size_t i = 0; i < list->n; i++)
		doc_set(d, NULL, list->items[i]);
	doc_end(d);
}

static void answer_side(const char *key, const struct evaluate_side *side, const struct run_set *runs, struct document *d)
{
	char *text = evaluate_side_text(side);

	doc_show(d, NULL, key, text);
	doc_object(d, key);
	doc_set(d, "application", runs->application);
	doc_set(d, "version", runs->version);
	answer_numbers("repetitions", &side->repetitions, d);
	answer_numbers("timestamps", &side->timestamps, d);
	doc_set(d, "results", runs->n);
	doc_end(d);
	free(text);
}

static void answer_outcome(const struct evaluate_outcome *o, struct document *d)
{
	const struct effect *e = &o->effect;

	doc_show(d, "decision", "decision", decision_text(e->decision));
	doc_showf(d, "ratio", "ratio", e->types ? e->ratio : (double)NAN, "%s", text_fixed(e->ratio, 3).text);
	doc_set(d, "low", e->low);
	doc_set(d, "high", e->high);
	doc_set(d, "shape_p", e->shape_p);
	doc_set(d, "minimum_detectable_effect", e->minimum_detectable);
	doc_set(d, "hardware_types", e->types);
	doc_set(d, "shared_results", o->shared);
}

static void answer_pair(const struct evaluation *e, size_t i, struct document *d)
{
	const struct evaluate_pair *pair = &e->pairs.items[i];
	const struct evaluate_outcome *o = &e->outcomes[i];

	doc_row(d);
	doc_set(d, "pair", pair->number);
	answer_side("baseline", &pair->sides[0], &e->runs.sets[pair->sides[0].runs], d);
	answer_side("candidate", &pair->sides[1], &e->runs.sets[pair->sides[1].runs], d);
	doc_set_bool(d, "changed", pair->changed);
	doc_show(d, NULL, "truth", pair->changed ? "changed" : "unchanged");
	doc_set(d, "label", pair->label);
	doc_set(d, "cluster", e->clusters[o->cluster]);
	answer_outcome(o, d);
	for (int m = 0; m < EVALUATE_METHODS; m++) {
		if (method_used(e, m))
			doc_showf(d, NULL, methods[m].name, o->score[m], "%s", text_fixed(o->score[m], 3).text);
	}
	doc_object(d, "methods");
	for (int m = 0; m < EVALUATE_METHODS; m++) {
		if (!method_used(e, m))
			continue;
		doc_object(d, methods[m].name);
		doc_set_bool(d, "changed", o->flagged[m]);
		doc_set(d, "score", o->score[m]);
		doc_end(d);
	}
	doc_end(d);
}

static void answer_left_out(const struct evaluate_pairs *pairs, struct document *d)
{
	if (pairs->n_left_out)
		doc_line(d, "\n%zu pair%s left out:", pairs->n_left_out, text_plural(pairs->n_left_out));
	doc_list(d, "left_out");
	for (size_t i = pairs->n; i < pairs->n + pairs->n_left_out; i++) {
		const struct evaluate_pair *pair = &pairs->items[i];

		doc_object(d, NULL);
		doc_set(d, "pair", pair->number);
		doc_set_bool(d, "changed", pair->changed);
		doc_set(d, "reason", pair->left_out);
		doc_line(d, "  pair %zu: %s", pair->number, pair->left_out);
		doc_end(d);
	}
	doc_end(d);
}

/* ---- all ---- */

static void answer_sentence(const struct evaluation *e, struct document *d)
{
	const struct evaluate_rate *wrong = &e->total[0].rates[METHOD_GATE], *found = &e->total[1].rates[METHOD_GATE];
	char *right = interval_text(found->rate, found->low, found->high),
	     *false_alarm = interval_text(wrong->rate, wrong->low, wrong->high);

	if (wrong->n && found->n)
		doc_answer(d, DOC_PLAIN, "", "the gate finds %s of the changed pairs and takes %s of the unchanged ones for changed", right,
			   false_alarm);
	else if (found->n)
		doc_answer(d, DOC_PLAIN, "", "the gate finds %s of the changed pairs; there are no unchanged ones", right);
	else
		doc_answer(d, DOC_PLAIN, "", "the gate takes %s of the unchanged pairs for changed; there are no changed ones",
			   false_alarm);
	doc_line(d, "%zu pair%s, %zu changed and %zu unchanged, in %zu cluster%s of applications; min_effect %g, epsilon %g\n", e->pairs.n,
		 text_plural(e->pairs.n), e->total[1].pairs, e->total[0].pairs, e->n_clusters, text_plural(e->n_clusters),
		 e->options.min_effect, e->options.epsilon);
	mem_free(right, false_alarm);
}

static void answer_options(const struct evaluation *e, struct document *d)
{
	char seed[32];

	snprintf(seed, sizeof(seed), "%" PRIu64, e->options.seed);
	doc_set(d, "min_effect", e->options.min_effect);
	doc_set(d, "epsilon", e->options.epsilon);
	doc_set(d, "seed", seed);
	doc_set(d, "resamples", e->options.resamples);
	doc_set(d, "changed", e->total[1].pairs);
	doc_set(d, "unchanged", e->total[0].pairs);
	doc_texts(d, "clusters", e->clusters, e->n_clusters);
}

/* all_pairs: list the pairs for people, too. */
static void evaluation_answer(const struct evaluation *e, bool all_pairs, struct document *d)
{
	answer_sentence(e, d);
	answer_options(e, d);
	doc_table(d, "methods");
	for (int m = 0; m < EVALUATE_METHODS; m++) {
		if (method_used(e, m))
			answer_method(e, m, d);
	}
	doc_end(d);
	doc_line(d, "(95 %% intervals, in which pairs of one cluster may depend on each other)\n");
	doc_table(d, "labels");
	for (size_t k = 0; k < e->n_kinds; k++)
		answer_kind(e, &e->kinds[k], d);
	doc_end(d);
	if (all_pairs)
		doc_line(d, "%s", "");
	doc_table(d, "pairs");
	if (!all_pairs)
		doc_hide(d);
	for (size_t i = 0; i < e->pairs.n; i++)
		answer_pair(e, i, d);
	doc_end(d);
	answer_left_out(&e->pairs, d);
}

struct arguments {
	const char *path;
	double min_effect; /* 0: not given */
	double epsilon;
	int64_t resamples, seed;
	bool no_walk, all;
};

/* Such a pair is decided by results that are compared with themselves. */
static void evaluate_remark_shared(const struct evaluation *e)
{
	size_t pairs = 0, first = 0;

	for (size_t i = e->pairs.n; i-- > 0;) {
		if (e->outcomes[i].shared) {
			pairs++;
			first = e->pairs.items[i].number;
		}
	}
	if (pairs)
		cli_remark("%zu pair%s the same results on both sides (the first is number %zu): they tell nothing about false positives",
			   pairs, pairs == 1 ? " has" : "s have", first);
}

static enum assay_status evaluate_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	const struct evaluate_options how = {
		.min_effect = a->min_effect > 0 ? a->min_effect : lab->config.min_effect,
		.epsilon = a->epsilon,
		.walk = !a->no_walk,
		.resamples = (size_t)a->resamples,
		.seed = (uint64_t)a->seed,
		.threads = parallel_threads(),
	};
	struct evaluation evaluation;
	enum assay_status st = evaluation_of(lab, a->path, &how, &evaluation, err);

	if (!st) {
		evaluate_remark_shared(&evaluation);
		evaluation_answer(&evaluation, a->all, d);
		d->exit_status = evaluation.pairs.n_left_out ? decision_exit(DECISION_NOTHING_MEASURED) : 0;
	}
	evaluation_release(&evaluation);
	return st;
}

static const struct cli_option words[] = { CLI_WORD("PAIRS.json", struct arguments, path), CLI_END };
static const struct cli_option options[] = {
	CMD_MIN_EFFECT(struct arguments, min_effect),
	CMD_EPSILON(struct arguments, epsilon),
	CLI_FLAG("no-walk", struct arguments, no_walk, "Leave out the walk, which takes nearly all of the time"),
	CLI_FLAG("all", struct arguments, all, "List every pair"),
	CMD_RESAMPLES(struct arguments, resamples, "Resamples of the clusters for the intervals (default: 2000)"),
	CMD_SEED(struct arguments, seed),
	CLI_END,
};
static const struct arguments defaults = { .epsilon = WALK_EPSILON, .resamples = EVALUATE_RESAMPLES, .seed = EVALUATE_SEED };

const struct command evaluate_command = {
	.name = "evaluate",
	.summary = "measure the gate's accuracy on labelled pairs",
	.about = "Measures how often the gate is right: compares pairs of versions that are known to have changed or not, by the gate and "
		 "by simpler methods, and says for each method how many unchanged pairs it took for changed, how many changed ones it "
		 "found, and how well its score separates them. Pairs that share an application are not independent, and the intervals "
		 "take that into account.",
	.more = "PAIRS.json is a list:\n"
		"  [{\"baseline\": \"myapp@1.0\", \"candidate\": \"myapp@1.1\", \"changed\": true, \"label\": \"cache removed\"},\n"
		"   {\"baseline\": {\"application\": \"hpccg\", \"repetitions\": [1]},\n"
		"    \"candidate\": {\"application\": \"hpccg\", \"repetitions\": [2, 3]}, \"changed\": false}]\n"
		"A side may also have `version` and `timestamps`; `label` and `cluster` are optional.\n",
	.examples = "  assay evaluate pairs.json\n"
		    "  assay evaluate pairs.json --no-walk --format json | jq .methods.gate\n",
	.exit_status = "0 all pairs were judged; 6 some or all are left out because a version has no result; 1 failure, 2 usage.",
	.words = words,
	.options = options,
	.defaults = &defaults,
	CLI_RUN(struct arguments, CLI_LAB_READ, evaluate_run),
};

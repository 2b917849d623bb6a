/* Measures how often the gate is right: evaluate [-C LABORATORY] [OPTION...] PAIRS.json
 *
 * Compares pairs of versions that are known to have changed or not, by the gate and by simpler methods (tests/bench/evaluate.h describes
 * both). Prints one JSON object. It has, for each method, the number of unchanged pairs flagged, the number of changed pairs found, and
 * how well the score separates them. Then it has the same per label, and every pair. Pairs with a version without result, or without
 * result of its latest build, are in "left_out". Exit status: 0 all pairs were judged; 6 some or all are excluded; 1 failure, 2 usage. */
#include "base/command.h"
#include "base/mem.h"
#include "fleet/lab/lab.h"
#include "gate/commands/cmd_evidence.h"
#include "walk.h"
#include "model/parallel.h"
#include "tests/bench/evaluate.h"

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

static void answer_method(const struct evaluation *e, int m, struct document *d)
{
	const struct evaluate_area *area = &e->areas[m];

	doc_object(d, methods[m].name);
	doc_set(d, "changed_when", methods[m].changed_when);
	doc_set(d, "score", methods[m].score);
	doc_set(d, "scored", e->scored[m]);
	answer_rate("false_positives", &e->total[0].rates[m], d);
	answer_rate("true_positives", &e->total[1].rates[m], d);
	doc_object(d, "area");
	doc_set(d, "value", area->area);
	doc_set(d, "low", area->low);
	doc_set(d, "high", area->high);
	doc_end(d);
	doc_end(d);
}

/* ---- kinds of pairs ---- */

static void answer_kind(const struct evaluation *e, const struct evaluate_kind *kind, struct document *d)
{
	doc_object(d, NULL);
	doc_set(d, "label", kind->label);
	doc_set_bool(d, "changed", kind->changed);
	doc_set(d, "pairs", kind->pairs);
	doc_object(d, "decisions");
	for (int i = 0; i < DECISIONS; i++)
		doc_set(d, decision_text((enum decision)i), kind->decisions[i]);
	doc_end(d);
	doc_object(d, "flagged");
	for (int m = 0; m < EVALUATE_METHODS; m++) {
		if (method_used(e, m))
			answer_rate(methods[m].name, &kind->rates[m], d);
	}
	doc_end(d);
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
	doc_object(d, key);
	doc_set(d, "application", runs->application);
	doc_set(d, "version", runs->version);
	answer_numbers("repetitions", &side->repetitions, d);
	answer_numbers("timestamps", &side->timestamps, d);
	doc_set(d, "results", runs->n);
	doc_end(d);
}

static void answer_outcome(const struct evaluate_outcome *o, struct document *d)
{
	const struct effect *e = &o->effect;

	doc_set(d, "decision", decision_text(e->decision));
	doc_set(d, "ratio", e->types ? e->ratio : (double)NAN);
	doc_set(d, "low", e->low);
	doc_set(d, "high", e->high);
	doc_set(d, "shape_p", e->pattern_p);
	doc_set(d, "minimum_detectable_effect", e->minimum_detectable);
	doc_set(d, "hardware_types", e->types);
	doc_set(d, "shared_results", o->shared);
}

static void answer_pair(const struct evaluation *e, size_t i, struct document *d)
{
	const struct evaluate_pair *pair = &e->pairs.items[i];
	const struct evaluate_outcome *o = &e->outcomes[i];

	doc_object(d, NULL);
	doc_set(d, "pair", pair->number);
	answer_side("baseline", &pair->sides[0], &e->runs.sets[pair->sides[0].runs], d);
	answer_side("candidate", &pair->sides[1], &e->runs.sets[pair->sides[1].runs], d);
	doc_set_bool(d, "changed", pair->changed);
	doc_set(d, "label", pair->label);
	doc_set(d, "cluster", e->clusters[o->cluster]);
	answer_outcome(o, d);
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
	doc_end(d);
}

static void answer_excluded(const struct evaluate_pairs *pairs, struct document *d)
{
	doc_list(d, "left_out");
	for (size_t i = pairs->n; i < pairs->n + pairs->n_left_out; i++) {
		const struct evaluate_pair *pair = &pairs->items[i];

		doc_object(d, NULL);
		doc_set(d, "pair", pair->number);
		doc_set_bool(d, "changed", pair->changed);
		doc_set(d, "reason", pair->left_out);
		doc_end(d);
	}
	doc_end(d);
}

/* ---- the whole answer ---- */

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

static void evaluation_answer(const struct evaluation *e, struct document *d)
{
	answer_options(e, d);
	doc_object(d, "methods");
	for (int m = 0; m < EVALUATE_METHODS; m++) {
		if (method_used(e, m))
			answer_method(e, m, d);
	}
	doc_end(d);
	doc_list(d, "labels");
	for (size_t k = 0; k < e->n_kinds; k++)
		answer_kind(e, &e->kinds[k], d);
	doc_end(d);
	doc_list(d, "pairs");
	for (size_t i = 0; i < e->pairs.n; i++)
		answer_pair(e, i, d);
	doc_end(d);
	answer_excluded(&e->pairs, d);
}

struct arguments {
	const char *path;
	double min_effect; /* 0 if not given */
	double epsilon;
	int64_t resamples, seed;
	bool no_walk;
};

/* Warns of pairs that compare results with themselves. */
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
		cli_note("%zu pair%s the same results on both sides (the first is number %zu): they tell nothing about false positives",
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
		evaluation_answer(&evaluation, d);
		d->exit_status = evaluation.pairs.n_left_out ? decision_exit_status(DECISION_NOTHING_MEASURED) : 0;
	}
	evaluation_release(&evaluation);
	return st;
}

static const struct cli_option words[] = { CLI_ARGUMENT("PAIRS.json", struct arguments, path), CLI_END };
static const struct cli_option options[] = {
	CMD_MIN_EFFECT(struct arguments, min_effect),
	CLI_REAL("epsilon", "POINTS", struct arguments, epsilon, 0, 100,
		 "For the walk: importances that differ by no more are alike; the most important stressor has 100 (default: 10)"),
	CLI_FLAG("no-walk", struct arguments, no_walk, "Exclude the walk, which takes nearly all of the time"),
	CMD_RESAMPLES(struct arguments, resamples, "Resamples of the clusters for the intervals (default: 2000)"),
	CMD_SEED(struct arguments, seed),
	CLI_END,
};
static const struct arguments defaults = { .epsilon = WALK_EPSILON, .resamples = EVALUATE_RESAMPLES, .seed = EVALUATE_SEED };

static const struct command evaluate_command = {
	.name = "evaluate",
	.summary = "measure the gate's accuracy on labelled pairs",
	.about =
	    "Measures how often the gate is right on pairs of versions that are known to have changed or not. This is not a command of "
	    "assay but a program of its own: tests/bench/evaluate.",
	.words = words,
	.options = options,
	.defaults = &defaults,
	CLI_RUN(struct arguments, CLI_LAB_READ, evaluate_run),
};

static enum assay_status open_lab(const char *directory, bool write, const char *command, struct lab **out, struct assay_error *err)
{
	(void)command;
	*out = mem_new(1, sizeof(**out));
	return lab_open(directory, write ? STORE_WRITE : STORE_READ, *out, err);
}

static void close_lab(struct lab *lab)
{
	lab_close(lab);
	free(lab);
}

int main(int argc, char **argv)
{
	static const struct command *const commands[] = { &evaluate_command };
	static const char *const formats[] = { "json", NULL };
	static doc_renderer *const renderers[] = { document_json };
	static const struct program program = {
		.commands = commands,
		.n = 1,
		.formats = formats,
		.decision_formats = formats,
		.renderers = renderers,
		.lab_open = open_lab,
		.lab_close = close_lab,
	};

	argv[0] = (char[]){ "evaluate" };
	return command_main(&program, &evaluate_command, argc, argv, ".");
}

/* assay evaluate */
#include "base/text.h"
#include "fleet/lab/lab.h"
#include "gate/cmd.h"
#include "gate/cmd_evidence.h"
#include "gate/evaluate/evaluate.h"
#include "gate/published/walk.h"
#include "model/parallel.h"

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
		 "by simpler "
		 "methods, and says for each method how many unchanged pairs it took for changed, how many changed ones it found, and how "
		 "well its "
		 "score separates them. Pairs that share an application are not independent, and the intervals take that into account.",
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
	.arguments_bytes = sizeof(struct arguments),
	.lab = CLI_LAB_READ,
	.run = evaluate_run,
};

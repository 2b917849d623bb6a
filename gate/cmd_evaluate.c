#include "base/cli.h"
#include "gate/cmd.h"
#include "gate/cmd_parse.h"
#include "gate/decide/walk.h"
#include "gate/evaluate/evaluate.h"
#include "model/parallel.h"

static const char doc[] =
    "How often is the gate right? Compares pairs of which you know whether they changed, by the gate and by simpler methods, and says for each "
    "method how many unchanged pairs it took for changed and how many changed ones it found, and how well its score tells them apart. Pairs that "
    "share an application are not independent, and the intervals know it."
    "\vPAIRS.json is a list:\n"
    "  [{\"baseline\": \"myapp@1.0\", \"candidate\": \"myapp@1.1\", \"changed\": true, \"label\": \"cache removed\"},\n"
    "   {\"baseline\": {\"application\": \"hpccg\", \"repetitions\": [1]},\n"
    "    \"candidate\": {\"application\": \"hpccg\", \"repetitions\": [2, 3]}, \"changed\": false}]\n"
    "A side may also have `version` and `timestamps`; `label` and `cluster` are optional.\n"
    "\n"
    "Example:\n"
    "  assay evaluate pairs.json\n"
    "  assay evaluate pairs.json --no-walk --format json | jq .methods.gate\n"
    "\n"
    "Exit status: 0 all pairs were judged, whatever the decisions; 6 some or all are left out: a version has no result; 1 failure, 2 usage.";

enum { OPTION_MIN_EFFECT = 256, OPTION_EPSILON, OPTION_NO_WALK, OPTION_ALL, OPTION_RESAMPLES, OPTION_SEED };

#define RESAMPLES_MAX 100000

static const struct argp_option options[] = {
	{ "min-effect", OPTION_MIN_EFFECT, "FRACTION", 0, "The smallest slowdown that matters to you (default: that of lab.yaml, else 0.03)", 1 },
	{ "epsilon", OPTION_EPSILON, "POINTS", 0, "Of the walk: difference of importances that is none (default: 10)", 1 },
	{ "no-walk", OPTION_NO_WALK, NULL, 0, "Leave out the walk, which takes nearly all of the time", 1 },
	{ "all", OPTION_ALL, NULL, 0, "List every pair", 1 },
	{ "resamples", OPTION_RESAMPLES, "N", 0, "Resamples of the clusters for the intervals (default: 2000)", 1 },
	{ "seed", OPTION_SEED, "N", 0, "Seed of the resamples", 1 },
	{ 0 }
};

struct arguments {
	const char *path;
	double min_effect; /* 0: not given */
	double epsilon;
	int64_t resamples, seed;
	bool no_walk, all;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPTION_MIN_EFFECT:
		a->min_effect = cmd_parse_min_effect(arg, state);
		return 0;
	case OPTION_EPSILON:
		a->epsilon = cmd_parse_epsilon(arg, state);
		return 0;
	case OPTION_RESAMPLES:
		a->resamples = cli_number(state, "--resamples", arg, 1, RESAMPLES_MAX);
		return 0;
	case OPTION_SEED:
		a->seed = cli_number(state, "--seed", arg, 0, INT64_MAX);
		return 0;
	case OPTION_NO_WALK:
		a->no_walk = true;
		return 0;
	case OPTION_ALL:
		a->all = true;
		return 0;
	default:
		return cli_words(key, arg, state, &a->path, 1, "PAIRS.json");
	}
}

/* Such a pair is decided by results that are compared with themselves. */
static void note_shared(const struct cli *cli, const struct evaluation *e)
{
	size_t pairs = 0, first = 0;

	for (size_t i = e->pairs->n; i-- > 0;) {
		if (e->outcomes[i].shared) {
			pairs++;
			first = e->pairs->items[i].number;
		}
	}
	if (pairs)
		cli_note(cli, "%zu pair%s compared with results of %s own (the first is number %zu): they say nothing of false positives", pairs,
			 pairs == 1 ? " is" : "s are", pairs == 1 ? "its" : "their", first);
}

int cmd_evaluate(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, "PAIRS.json", doc, NULL, NULL, NULL };
	struct arguments a = { .epsilon = WALK_EPSILON, .resamples = EVALUATE_RESAMPLES, .seed = EVALUATE_SEED };
	struct evaluation evaluation = { 0 };
	struct evaluate_pairs pairs = { 0 };
	struct evaluate_runs runs = { 0 };
	struct evaluate_options how;
	struct evidence evidence = { 0 };
	struct lab lab = { .lock_fd = -1 };
	struct buf out = BUF_INIT;
	struct assay_error err;
	enum assay_status st;
	struct cli cli;
	int status = 0;

	cli_parse(&cli, &argp, argc, argv, directory, &a);
	st = evaluate_pairs_read(a.path, &pairs, &err);
	if (!st)
		st = lab_open(cli.directory, STORE_READ, &lab, &err);
	if (!st)
		st = evaluate_load(&lab, &pairs, &runs, &err);
	if (!st)
		st = evidence_load(&lab, &evidence, &err);
	if (!st) {
		how = (struct evaluate_options){ a.min_effect > 0 ? a.min_effect : lab.config.min_effect, a.epsilon, !a.no_walk,
						 (size_t)a.resamples, (uint64_t)a.seed, parallel_threads() };
		st = evaluate(&evidence, &lab.config, &pairs, &runs, &how, &evaluation, &err);
	}
	if (!st) {
		note_shared(&cli, &evaluation);
		if (cli.format == CLI_JSON)
			json_add(&out, evaluation_json(&evaluation));
		else
			evaluation_print(&evaluation, a.all, &out);
		status = pairs.n_left_out ? decision_exit(DECISION_NOTHING_MEASURED) : 0;
		st = cli_print(&out, &err);
	}
	evaluation_release(&evaluation);
	evidence_release(&evidence);
	evaluate_runs_release(&runs);
	evaluate_pairs_release(&pairs);
	lab_close(&lab);
	buf_release(&out);
	return cli_end(&cli, st, &err, status);
}
